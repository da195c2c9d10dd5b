"""``paddle.io.reader.use_pinned_memory``: the flag of that name as a function."""

from __future__ import annotations

from typing import Any

from paddle.framework.flags import get_flags, set_flags
from umiak.util.errors import op_error

_FLAG = "FLAGS_use_pinned_memory"


def use_pinned_memory(*args: Any) -> bool | None:
    """Return whether batches go to a GPU through pinned memory, or set ``FLAGS_use_pinned_memory`` by a bool."""
    if not args:
        return get_flags(_FLAG)[_FLAG]
    if len(args) != 1 or not isinstance(args[0], bool):
        raise op_error(TypeError, "use_pinned_memory", "no argument, or a bool", list(args))
    set_flags({_FLAG: args[0]})
    return None
