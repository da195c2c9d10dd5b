"""Marking functions that will go."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from paddle._public import public


@public("paddle.utils")
def deprecated(
    update_to: str = "", since: str = "", reason: str = "", level: int = 0
) -> Callable[[Callable], Callable]:
    """Mark a function as on its way out: its docstring says so, and calls warn.

    Args:
        update_to: name of what to use instead; empty: nothing is named.
        since: the version that said so first; empty: none is named.
        reason: why; empty: no reason is given.
        level: 0 only documents; 1 warns at each call (DeprecationWarning); 2 refuses each call.

    Returns:
        A decorator.

    Raises:
        RuntimeError: at a call of a function marked with level 2.

    Example:
        >>> import paddle
        >>> @paddle.utils.deprecated(update_to="new", level=0)
        ... def old():
        ...     return 1
        >>> old()
        1
    """

    def mark(fn: Callable) -> Callable:
        text = f"{fn.__module__}.{fn.__name__} is deprecated"
        text += f" since {since}" if since else ""
        text += f"; use {update_to}" if update_to else ""
        text += f". {reason}" if reason else ""

        @functools.wraps(fn)
        def run(*args: Any, **kwargs: Any) -> Any:
            if level == 2:
                raise RuntimeError(text)
            if level == 1:
                warnings.warn(text, DeprecationWarning, stacklevel=2)
            return fn(*args, **kwargs)

        run.__doc__ = f"Deprecated: {text}.\n\n{fn.__doc__ or ''}"
        return run

    return mark
