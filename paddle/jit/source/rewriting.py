"""Rewritten functions for whoever traces them."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from paddle.jit.source import runtime  # noqa: F401 it enters the helpers that rewritten code calls
from paddle.jit.source.callees import converted, is_kept
from paddle.jit.source.convert import code_of, convert
from paddle.jit.source.errors import ConversionError, UserTraceback
from paddle.jit.source.recorded import recorded
from paddle.jit.source.values import Optional
from umiak.util import pytree


def traceable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` as one whose branches and loops on tensors are traced; errors show the user's frames."""
    inner = getattr(function, "__func__", function)
    if isinstance(inner, FunctionType) and not is_kept(inner):
        convert(inner)  # raises, where what is asked for itself cannot be rewritten
    made = converted(function)

    def run(*args: Any, **kwargs: Any) -> Any:
        with UserTraceback(), recorded((function, args, kwargs)):
            try:
                return _with_values(made(*args, **kwargs))
            except RecursionError as error:
                raise ConversionError(
                    f"[to_static] requires a recursion whose depth is known when {function.__qualname__} is captured, "
                    "got one deeper than Python allows: both ways of a branch on a tensor are traced, and with them "
                    "the calls in both. Write it as a loop"
                ) from error

    return run


def _with_values(result: Any) -> Any:
    """The result of a function, with values in the place of those that may be None: the program checks them."""
    if not any(type(x) is Optional for x in pytree.leaves(result)):
        return result
    return pytree.map(lambda x: x.read() if type(x) is Optional else x, result)


def text_of(function: Callable[..., Any]) -> str:
    """Return the rewritten source of a function or method."""
    inner: Any = getattr(function, "__func__", function)
    while not isinstance(inner, FunctionType) and hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    return code_of(inner)
