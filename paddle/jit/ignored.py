"""Modules whose functions captured functions leave as they are."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from paddle._public import public
from umiak.core.context import current
from umiak.util.errors import op_error

KEY = "ignored_modules"  # of the rank's values: the names


@public("paddle.jit")
def ignore_module(modules: Sequence[Any]) -> None:
    """Leave functions of modules as they are: graphs break at them.

    With ``full_graph=True`` they are traced, but not rewritten: a branch or loop on a tensor in one is refused.

    Args:
        modules: a list of modules, which stand for those inside of them, too.

    Raises:
        TypeError: a value that is not a module.

    Example:
        >>> import math, paddle
        >>> paddle.jit.ignore_module([math])
    """
    if not all(inspect.ismodule(m) for m in modules):
        raise op_error(TypeError, "ignore_module", "modules", repr(modules))
    current().state.values.setdefault(KEY, set()).update(m.__name__ for m in modules)


def is_ignored(module: str) -> bool:
    """Return whether a module, or one that it is inside of, was named."""
    return any(module == name or module.startswith(name + ".") for name in current().state.values.get(KEY, ()))
