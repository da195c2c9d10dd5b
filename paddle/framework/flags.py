"""``FLAGS_*`` under their public functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from umiak.util import flags as _flags
from umiak.util import log  # noqa: F401  (declares FLAGS_log)


def get_flags(flags: str | Sequence[str]) -> dict[str, Any]:
    """The values of one or several switches, by name; ValueError for a name that is not declared.

    Example:
        >>> import paddle
        >>> paddle.get_flags("FLAGS_log")
        {'FLAGS_log': 'warning'}
    """
    return _flags.get_flags(flags)


def set_flags(flags: Mapping[str, Any]) -> None:
    """Set switches by name; where one is unknown or does not fit, ValueError, and none changes.

    Example:
        >>> import paddle
        >>> paddle.set_flags({"FLAGS_log": "warning"})
    """
    _flags.set_flags(flags)
