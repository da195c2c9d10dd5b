"""Calls of Python functions that are made when a program runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from umiak.core import dtype as dt
from umiak.core import eager
from umiak.ir.meta import Meta
from umiak.ops.base import Op, param, register

_NUMBERS = itertools.count()


@register
class PythonCall(Op):
    """Call of a Python function. It gets tensors, and returns arrays or tensors of the declared sizes.

    ``number`` stands for the function, which is an attribute of the op in the process that made it: a program that is
    read from a file has the number alone. Each result has a dtype and a number of dims; ``sizes`` are those of all
    results, one after the other. Calls keep their order, and are made whether or not their results are read, if they
    are ``ordered``.
    """

    inputs = ("*xs",)
    number: int
    dtypes: tuple
    ranks: tuple
    ordered: bool = True
    sizes: tuple = param("ints", default=())
    amp = "keep"
    variadic_outputs: ClassVar[bool] = True

    # Of each op, set by `call`; no attributes in the sense of ops. The gradient takes operands, results and gradients
    # of the results; it returns a gradient of each operand, or None.
    function: ClassVar[Callable[..., Any] | None]
    gradient: ClassVar[Callable[..., Any] | None]

    def bind(self) -> None:
        super().bind()
        self.effect = "python" if self.ordered else None  # type: ignore[misc]
        self.function = self.gradient = None  # type: ignore[misc]

    def infer(self, *operands: Any) -> Any:
        sizes = list(operands[-1])
        if len(sizes) != sum(self.ranks):
            self.fail(ValueError, f"{sum(self.ranks)} sizes for results of {list(self.ranks)} dims", len(sizes))
        out, at = [], 0
        for dtype, rank in zip(self.dtypes, self.ranks, strict=True):
            out.append(Meta(tuple(sizes[at : at + rank]), dt.convert(dtype)))
            at += rank
        return tuple(out)

    def vjp(self, s: Any, *grads: Any) -> Any:
        if self.gradient is None:
            return tuple(None for _ in s.inputs)
        wanted = [i for i, x in enumerate(s.inputs) if x.dtype.is_continuous]
        given = [g for g in grads if g is not None]
        results = call(
            _Gradient(self.gradient, len(s.inputs), len(s.outputs), tuple(g is not None for g in grads), tuple(wanted)),
            [*s.inputs, *s.outputs, *given],
            [(s.inputs[i].dtype, s.inputs[i].shape) for i in wanted],
            ordered=False,
        )
        by_operand = dict(zip(wanted, results, strict=True))
        return tuple(by_operand.get(i) for i in range(len(s.inputs)))


# By function, gradient and types. Functions stay: plans of their ops refer to them.
_KNOWN: dict[tuple, PythonCall] = {}


@dataclass(frozen=True)
class _Gradient:
    """The gradient function over what the op of the gradient gets: operands, results, gradients that there are."""

    function: Callable[..., Any]
    operands: int
    results: int
    present: tuple[bool, ...]
    wanted: tuple[int, ...]

    def __call__(self, *xs: Any) -> Any:
        last = iter(xs[self.operands + self.results :])
        grads = [next(last) if there else None for there in self.present]
        results = self.function(xs[: self.operands], xs[self.operands : self.operands + self.results], grads)
        return [results[i] for i in self.wanted]


def call(
    function: Callable[..., Any],
    xs: Sequence[Any],
    types: Sequence[tuple[Any, Sequence[Any]]],
    gradient: Callable[..., Any] | None = None,
    ordered: bool = True,
) -> tuple:
    """The results of ``function`` over tensors, each of a dtype and sizes; now, or when the program runs."""
    dtypes, ranks = tuple(d.name for d, _ in types), tuple(len(s) for _, s in types)
    key = function, gradient, dtypes, ranks, ordered
    op = _KNOWN.get(key)
    if op is None:
        op = _KNOWN[key] = PythonCall(next(_NUMBERS), dtypes, ranks, ordered)
        op.function, op.gradient = function, gradient  # type: ignore[misc]
    return eager.apply(op, tuple(xs), (tuple(n for _, s in types for n in s),))
