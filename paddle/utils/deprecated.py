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
    """Mark a function as on its way out: its doc says so, and calls warn.

    Args:
        update_to: what to use instead.
        since: the version that said so first.
        reason: why.
        level: 0 only documents; 1 warns at each call; 2 raises RuntimeError.

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
