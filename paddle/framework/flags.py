"""``FLAGS_*`` under their public functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddle.framework.reference_flags import KNOWN
from umiak.backends.cpu.providers import DETERMINISTIC
from umiak.compiler import dump
from umiak.util import flags as _flags
from umiak.util import (
    frames,
    log,  # noqa: F401  (declares FLAGS_log)
)

# Flags of the reference that have a meaning here stand where that meaning is (FLAGS_check_nan_inf in paddle.amp); these
# are other names of switches of ours.
_flags.define(
    "cudnn_deterministic", False, "the same as FLAGS_cpu_deterministic", on_change=lambda on: DETERMINISTIC.set(on)
)
_flags.define(
    "print_ir",
    False,
    "print the operations of what is compiled: FLAGS_dump=operations",
    on_change=lambda on: dump.FLAG.set("operations" if on else ""),
)
_flags.accept(KNOWN)
frames.show_folded()


def get_flags(flags: str | Sequence[str]) -> dict[str, Any]:
    """The values of one or several switches, by name; ValueError for a name that is not known.

    Example:
        >>> import paddle
        >>> paddle.get_flags("FLAGS_log")
        {'FLAGS_log': 'warning'}
    """
    return _flags.get_flags(flags)


def set_flags(flags: Mapping[str, Any]) -> None:
    """Set switches by name; where one is unknown or does not fit, ValueError, and none changes.

    Switches of the reference that have no meaning here hold what they are set to; a line in the log says so, once.

    Example:
        >>> import paddle
        >>> paddle.set_flags({"FLAGS_log": "warning"})
    """
    _flags.set_flags(flags)
