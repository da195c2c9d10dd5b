"""NumPy kernels of the ops in ``umiak.ops.linalg``."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import linalg as ops


@kernel(ops.Matmul, returns=True)
def matmul(op, x, y):
    tx, ty = op.flags(x, y)
    return np.matmul(np.swapaxes(x, -1, -2) if tx else x, np.swapaxes(y, -1, -2) if ty else y)
