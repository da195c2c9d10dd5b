"""Errors that the user's text raises, and assertions: on a way that the program may not take, operations of it."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Any

from paddle.jit.source.errors import ConversionError, location, place_of
from paddle.jit.source.values import asked, in_region, is_unknown, truth
from paddle.jit.source.world import world
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym, negate
from umiak.ir.scope import RAISES
from umiak.runtime import regions

_COUNT: ContextVar[int] = ContextVar("operations that raise", default=0)
_MARK = "_raised_at"
_ARGUMENTS = (str, int, float, type(None))  # of exceptions that a program may raise


def raised(error: Any, caught: bool) -> Any:
    """An exception that a ``raise`` statement is about to raise; ``caught``: where a ``try`` of the function may see
    it."""
    if not in_region():
        return error
    if isinstance(error, type) and issubclass(error, BaseException):
        error = world().call(error)
    if not isinstance(error, BaseException):
        return error
    if (caught or world().is_caught() or not _is_plain(error)) and not world().rerun():
        what = "inside of try" if caught else f"of {error!r}"
        raise ConversionError(
            f"[to_static] requires built-in exceptions with texts and numbers, outside of try, in branches and loops "
            f"on tensors of a program that is recorded, got a raise {what} at {place_of()}"
        )
    setattr(error, _MARK, location())
    return error


def sizes_decide(condition: Any) -> bool:
    """Return whether sizes alone decide a condition, and whether the program comes to where it is asked. ``condition``:
    as ``regions.condition_of`` gives it."""
    if type(condition) is not Sym:
        return False
    tracer = current().trace[-1]
    return len(tracer.frames) == len(tracer.scope.ways)  # no branch or loop around it is one on data


def require_sizes(condition: Any, wanted: bool, error: BaseException) -> bool:
    """Require others than those sizes for which an exception is raised, if :func:`sizes_decide` it; this is known from
    here on. Return whether they do. ``wanted``: what the condition is where none is raised."""
    if not sizes_decide(condition):
        return False
    held = condition if wanted else negate(condition)
    scope = current().trace[-1].scope
    scope.check(held, f"{RAISES} {type(error).__name__}({', '.join(map(repr, error.args))}) unless {held}")
    return True


def _is_plain(error: BaseException) -> bool:
    """Return whether a program can raise an exception."""
    known = getattr(builtins, type(error).__name__, None) is type(error)
    return known and error.__cause__ is None and all(isinstance(x, _ARGUMENTS) for x in error.args)


def is_raised(error: BaseException) -> bool:
    """Return whether the user's text has raised an error, in a branch or loop."""
    return getattr(error, _MARK, None) is not None


def count_raised() -> int:
    """Return how many operations that raise an exception were recorded by this thread."""
    return _COUNT.get()


class as_operation:
    """A block whose ``raise`` statements become an operation of the program. ``error``: the one that did.

    ``records``: whether there is to be one; :func:`require_sizes` stands for it where sizes alone decide.
    """

    error: BaseException | None = None

    def __init__(self, records: bool = True) -> None:
        self.records = records

    def __enter__(self) -> as_operation:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> bool:
        place = getattr(error, _MARK, None)
        if error is None or place is None:
            return False
        self.error = error
        _COUNT.set(_COUNT.get() + 1)
        if not self.records:
            return True
        never = F.full(False, shape=(), dtype=dt.bool)
        # Another one is raised by the run as it was written, which follows one whose program has raised.
        name = type(error).__name__
        kind, args = (name, error.args) if _is_plain(error) else ("RuntimeError", (name,))
        F.require(never, kind=kind, args=args, place=place)
        return True


def assert_(test: Any, message: Callable[[], Any] | None = None) -> None:
    """An ``assert`` statement."""
    if not __debug__:
        return
    test = asked(test)
    if is_unknown(test):
        if world().is_caught():
            world().rerun()  # the run as it was written catches it
        said = () if message is None else (message(),)
        args = tuple(x if isinstance(x, _ARGUMENTS) else str(x) for x in said)
        if require_sizes(regions.condition_of(test), True, AssertionError(*args)):
            return
        F.require(truth(test), kind="AssertionError", args=args, place=location())
    elif not test:
        error = AssertionError() if message is None else AssertionError(message())
        raise raised(error, False)


def unpacked(x: Any, targets: tuple[Any, ...]) -> Any:
    """Values that a statement unpacks.

    Of a tensor whose first size is open these are as many elements as there are targets, and the program checks that it
    has no others. ``targets``: None for each, or its own targets.
    """
    if isinstance(x, Tensor) and x.ndim and type(x.shape[0]) is Sym and _requires_length(x, len(targets)):
        x = [x[i] for i in range(len(targets))]
    if any(targets) and type(x) in (tuple, list) and len(x) == len(targets):
        return [v if t is None else unpacked(v, t) for v, t in zip(x, targets, strict=True)]
    return x


def _requires_length(x: Tensor, n: int) -> bool:
    """Return whether the program checks that x has n elements along its first dim, which is open."""
    test = asked(x.shape[0] == n)
    if not is_unknown(test):
        return False
    error = ValueError(f"not as many values to unpack as are expected ({n})")
    if not require_sizes(regions.condition_of(test), True, error):
        F.require(test, kind="ValueError", args=error.args, place=location())
    return True
