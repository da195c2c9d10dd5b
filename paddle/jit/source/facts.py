"""Conditions that are known on the way that is being traced: in a branch its own, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from umiak.core.context import current
from umiak.core.tensor import Tensor

Fact = tuple[Tensor, bool]


class Facts:
    """Those of one trace. ``followed``: by the id of a tensor and what it is, what follows; each with the tensor, whose
    id stays its own."""

    def __init__(self) -> None:
        self.followed: dict[tuple[int, bool], tuple[Tensor, list[Fact]]] = {}
        self.held: list[dict[int, bool]] = []

    def follows(self, x: Tensor, is_true: bool, *those: Fact) -> None:
        """Note what holds where ``x`` is true, or false."""
        self.followed.setdefault((id(x), is_true), (x, []))[1].extend(those)

    def of(self, x: Tensor, is_true: bool) -> dict[int, bool]:
        """Return all that holds where ``x`` is true, or false, by id."""
        out: dict[int, bool] = {}
        left = [(x, is_true)]
        while left:
            x, is_true = left.pop()
            if id(x) not in out:
                out[id(x)] = is_true
                left += self.followed.get((id(x), is_true), (x, []))[1]
        return out


def _facts() -> Facts:
    """The facts of the trace that is being made."""
    tracer: Any = current().trace[-1]
    found = getattr(tracer, "facts", None)
    if found is None:
        found = tracer.facts = Facts()
    return found


def follows(x: object, is_true: bool, *those: tuple[object, bool]) -> None:
    """Note what holds where ``x`` is true, or false, of what are tensors."""
    tensors = [(y, holds) for y, holds in those if isinstance(y, Tensor)]
    if isinstance(x, Tensor) and tensors:
        _facts().follows(x, is_true, *tensors)


@contextmanager
def assumed(x: object, is_true: bool) -> Iterator[None]:
    """While a way is traced that is taken where ``x`` is so."""
    if not isinstance(x, Tensor):
        yield
        return
    facts = _facts()
    facts.held.append(facts.of(x, is_true))
    try:
        yield
    finally:
        facts.held.pop()


def known(x: object) -> bool | None:
    """Return what a condition is on the way that is traced; None where it is not known."""
    if not isinstance(x, Tensor):
        return bool(x)
    trace = current().trace
    facts = getattr(trace[-1], "facts", None) if trace else None
    return next((held[id(x)] for held in reversed(facts.held) if id(x) in held), None) if facts is not None else None
