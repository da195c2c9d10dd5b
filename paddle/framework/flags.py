"""``FLAGS_*`` under their public functions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from paddle._public import public
from paddle.framework.reference_flags import KNOWN
from umiak.util import flags as _flags
from umiak.util import frames

# Flags of the reference that have a meaning here stand where that meaning is; these are names of switches of ours.
_flags.define(
    "cudnn_deterministic",
    False,
    "the same as FLAGS_cpu_deterministic",
    on_change=lambda on: _flags.lookup("FLAGS_cpu_deterministic").set(on),
)
_flags.define(
    "print_ir",
    False,
    "print the operations of what is compiled: FLAGS_dump=operations",
    on_change=lambda on: _flags.lookup("FLAGS_dump").set("operations" if on else ""),
)
# Those of modules that are loaded when they are used.
_LAZY = {
    "attention_accumulation": "paddle.nn.functional._attention_accumulation",
    "check_nan_inf": "paddle.amp.debugging",
    "check_nan_inf_level": "paddle.amp.debugging",
    "conv_workspace_size_limit": "umiak.backends.cuda.providers.cudnn_flags",
    "cuda_conv": "umiak.backends.cuda.providers.cudnn_flags",
    "cudnn_exhaustive_search": "umiak.backends.cuda.providers.cudnn_flags",
    "dataloader_start_method": "paddle.io.loader",
    "prim_all": "paddle.framework.decomposition",
    "prim_backward": "paddle.framework.decomposition",
    "prim_forward": "paddle.framework.decomposition",
}


def _tell(name: str) -> None:
    from umiak.util import log  # with the first such flag: it loads logging

    log.get("flags").warning("%s is accepted and has no effect: nothing here reads it", name)


_flags.declare_lazy(_LAZY)
_flags.accept(KNOWN, _tell)
frames.show_folded()


def obey_environment() -> None:
    """Load what the environment switches on: checks that nobody need ask for. The package is there by now."""
    for name in ("FLAGS_check_nan_inf", "FLAGS_check_nan_inf_level", "FLAGS_prim_all", "FLAGS_prim_forward"):
        if name in os.environ:
            _flags.lookup(name)


@public("paddle paddle.framework")
def get_flags(flags: str | Sequence[str]) -> dict[str, Any]:
    """Values of one or several switches.

    Args:
        flags: a name, such as ``"FLAGS_log"``, or a list or tuple of names.

    Returns:
        A dict of values by name.

    Raises:
        ValueError: a name that is not known.
        TypeError: a value that is not a name.

    Example:
        >>> import paddle
        >>> paddle.get_flags("FLAGS_log")
        {'FLAGS_log': 'warning'}
    """
    return _flags.get_flags(flags)


@public("paddle paddle.framework")
def set_flags(flags: Mapping[str, Any]) -> None:
    """Set switches by name; where one is refused, none changes.

    Switches of the reference that have no meaning here hold what they are set to; a line in the log says so, once.

    Args:
        flags: a dict of values by name, such as ``{"FLAGS_log": "warning"}``.

    Raises:
        ValueError: a name that is not known, or a value that does not fit.
        TypeError: a value that is not a dict.

    Example:
        >>> import paddle
        >>> paddle.set_flags({"FLAGS_log": "warning"})
    """
    _flags.set_flags(flags)


class Variables:
    """The switches as a mapping by name."""

    def __getitem__(self, name: str) -> Any:
        return _flags.lookup(name).value

    def __setitem__(self, name: str, value: Any) -> None:
        _flags.set_flags({name: value})

    def __contains__(self, name: str) -> bool:
        return name in self.keys()

    def keys(self) -> list[str]:
        """The full names."""
        return sorted({*_flags.REGISTRY, *_flags.LATE, *_flags.ACCEPTED})

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a switch, or ``default`` where there is none of this name."""
        try:
            return self[name]
        except ValueError:
            return default

    def get_default(self, name: str) -> Any:
        """The value of a switch until it is set."""
        return _flags.lookup(name).default


_VARIABLES = Variables()


def variables() -> Variables:
    """All switches."""
    return _VARIABLES
