"""``symbolic_translate``: capture from bytecode by its own name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle._public import public


@public("paddle.jit.sot")
def symbolic_translate(fn: Callable[..., Any], **kwargs: Any) -> Callable[..., Any]:
    """Capture a function from its bytecode, as ``paddle.jit.to_static`` does with ``full_graph=False``.

    Args:
        fn: a function or a method.
        **kwargs: accepted: ``training`` and ``backend``; a captured function looks at the modes itself.

    Returns:
        A captured function.

    Raises:
        TypeError: an unknown keyword, or something that cannot be called.

    Example:
        >>> import paddle
        >>> paddle.jit.sot.symbolic_translate(lambda x: x + 1)(paddle.ones([2])).tolist()
        [2.0, 2.0]
    """
    from paddle.jit.sot.function import SymbolicStaticFunction

    unknown = set(kwargs) - {"training", "backend", "build_strategy", "full_graph"}
    if unknown:
        raise TypeError(f"symbolic_translate() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    if not callable(fn):
        raise TypeError(f"[symbolic_translate] requires a function, got {type(fn).__name__}")
    return SymbolicStaticFunction(fn)
