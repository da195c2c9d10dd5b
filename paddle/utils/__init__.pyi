"""Made by ``tools/public_stubs.py``."""

from paddle.framework import unique_name as unique_name
from paddle.utils import dlpack as dlpack
from paddle.utils.deprecated import deprecated as deprecated
from paddle.utils.environment import require_version as require_version
from paddle.utils.environment import run_check as run_check
from paddle.utils.environment import try_import as try_import

__all__ = [
    "deprecated",
    "dlpack",
    "require_version",
    "run_check",
    "try_import",
    "unique_name",
]
