"""Helper modules by name, and static mode, for the tests of this folder."""

import sys
from pathlib import Path

from tests.support.static_mode import programs  # noqa: F401  a fixture

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
