"""What the NumPy of this environment can do: tests run with 1.26, too."""

import numpy as np
import pytest

NUMPY_2 = int(np.__version__.partition(".")[0]) >= 2
MOST_AXES = 64 if NUMPY_2 else 32

needs_numpy_2 = pytest.mark.skipif(
    not NUMPY_2, reason="NumPy 1 has no arrays of 64 axes, and its DLPack neither copies nor hands out read-only memory"
)
