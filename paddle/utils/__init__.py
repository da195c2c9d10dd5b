"""Helpers: unique names, DLPack, optional imports, deprecation, a check of the installation."""

from paddle.framework import unique_name
from paddle.utils import dlpack
from paddle.utils.deprecated import deprecated
from paddle.utils.environment import require_version, run_check, try_import

__all__ = ["deprecated", "dlpack", "require_version", "run_check", "try_import", "unique_name"]
