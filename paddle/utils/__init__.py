"""Helpers: unique names, DLPack, optional imports, deprecation, a check of the installation."""

from paddle import _late
from paddle.framework import unique_name
from paddle.utils import dlpack
from paddle.utils.deprecated import deprecated
from paddle.utils.environment import require_version, run_check, try_import

__getattr__, __dir__ = _late.attributes_of(__name__)

__all__ = ["deprecated", "dlpack", "require_version", "run_check", "try_import", "unique_name"]
