"""Functions that a captured function calls to steer or to look at its capture."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def assert_true(input: bool) -> None:
    """Refuse a condition that does not hold while the function is captured.

    Args:
        input: the condition.

    Raises:
        AssertionError: it is false.
    """
    if not input:
        raise AssertionError("[assert_true] requires a condition that holds, got False")


def breakgraph() -> None:
    """Break the graph here."""


def fallback(recursive: bool = False) -> None:
    """Have the function that calls this run without a graph.

    Args:
        recursive: accepted; the functions that it calls run without graphs as well.
    """


def breakpoint() -> None:
    """Stop the simulation here, in the debugger."""


def in_sot() -> bool:
    """Return whether the function is being captured; False where it runs as it was written."""
    return False


def print(*args: Any, **kwargs: Any) -> None:
    """Print while the function is captured, and at runs without a graph.

    Args:
        *args: as for the built-in function.
        **kwargs: as for the built-in function.
    """
    builtins.print(*args, **kwargs)


def check_no_breakgraph(fn: F) -> F:
    """Have a captured function raise an error where its graph breaks.

    Args:
        fn: a captured function.

    Returns:
        ``fn``.

    Raises:
        TypeError: it is not captured from bytecode.
    """
    _family(fn, "check_no_breakgraph").checks.add("breaks")
    return fn


def check_no_fallback(fn: F) -> F:
    """Have a captured function raise an error where it would run without a graph.

    Args:
        fn: a captured function.

    Returns:
        ``fn``.

    Raises:
        TypeError: it is not captured from bytecode.
    """
    _family(fn, "check_no_fallback").checks.add("fallbacks")
    return fn


def _family(fn: Any, op_name: str) -> Any:
    family = getattr(fn, "family", None)
    if family is None:
        raise TypeError(f"[{op_name}] requires a function captured from bytecode, got {type(fn).__name__}")
    return family
