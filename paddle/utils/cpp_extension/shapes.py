"""Shapes and dtypes of results: by the functions of a library, or by its declaration alone.

A function in C++ wants numbers. Where sizes are symbols it is asked about several sets of numbers, and what it gives
must be one of the symbols, or a sum of them with fixed factors: that is the answer then. Eager calls ask it anew for
each set of sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from paddle.utils.cpp_extension.variables import Variable, flattened
from umiak.core.context import is_tracing
from umiak.core.extension import Declaration, Facts
from umiak.ir.expr import NumberUnknown, Sym
from umiak.ir.meta import Meta
from umiak.ir.scope import get_scope, symbols_of
from umiak.ir.sym import evaluate

# Sizes that symbols stand for: small, odd, large, so that a function with cases gives itself away.
_PROBES = ((1, 1), (2, 3), (3, 2), (7, 5), (64, 48), (97, 1009), (1021, 89), (4099, 2053))

# Those that symbols among attributes stand for, to see whether dtypes depend on them.
_NUMBERS = (0, 1, 2, 3, 5, 6, 7, 9)


def _replaced(x: Any, number: Callable[[Any], Any]) -> Any:
    """An argument with its numbers replaced, and with facts in place of metas."""
    if isinstance(x, Meta):
        assert x.dtype is not None
        return Facts(tuple(int(number(n)) for n in x.shape), x.dtype)
    if isinstance(x, (list, tuple)):
        return tuple(_replaced(item, number) for item in x)
    return number(x)


def _symbols(x: Any) -> Iterator[Sym]:
    if isinstance(x, Meta):
        yield from (n for n in x.shape if type(n) is Sym)
    elif isinstance(x, (list, tuple)):
        for item in x:
            yield from _symbols(item)
    elif type(x) is Sym:
        yield x


def _has_symbols(args: Sequence[Any]) -> bool:
    return next(_symbols(args), None) is not None  # `any` would ask a size whether it is 0


def _hashed(x: Any) -> Any:
    if isinstance(x, Meta):
        return "meta", x.shape, x.dtype
    if isinstance(x, (list, tuple)):
        return tuple(map(_hashed, x))
    return type(x), x


class _Arguments(tuple):
    """Arguments without symbols, which are equal where their types and values are."""

    def __hash__(self) -> int:
        return hash(_hashed(self[0]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Arguments) and bool(_hashed(self[0]) == _hashed(other[0]))


@lru_cache(4096)
def _fixed_shapes(declaration: Declaration, args: _Arguments) -> tuple[tuple[int, ...], ...]:
    return tuple(declaration.shapes(_replaced(args[0], lambda n: n)))


@lru_cache(4096)
def _fixed_dtypes(declaration: Declaration, args: _Arguments) -> tuple[Any, ...]:
    return tuple(declaration.dtypes(_replaced(args[0], lambda n: n)))


def shapes_of(declaration: Declaration, args: Sequence[Any], leave: bool = False) -> Sequence[Sequence[Any]]:
    """Shapes that the library's function gives for these arguments, metas in place of tensors.

    ``leave``: sizes that are no sums of symbols are -1.
    """
    if not _has_symbols(args):
        return _fixed_shapes(declaration, _Arguments((tuple(args),)))

    def ask(values: Sequence[Any]) -> Sequence[Sequence[int]]:
        return declaration.shapes(_replaced(values, lambda n: n))

    return learned_or_asked(declaration.label, args, ask, leave)


def learned_or_asked(
    label: str, args: Sequence[Any], ask: Callable[[Sequence[Any]], Sequence[Sequence[int]]], leave: bool = False
) -> Sequence[Sequence[Any]]:
    """Shapes that ``ask`` gives; where there are symbols, what they are of these, or NumberUnknown."""
    symbols = list({id(s): s for s in _symbols(args)}.values())
    if not symbols:
        return ask(args)
    scope = get_scope()
    if not is_tracing() and scope is not None and scope.of_plan:
        raise NumberUnknown(symbols[0], f"[{label}] its function of shapes requires numbers")
    # A number that is no size is asked for as it is: it may choose an axis, or decide a rank.
    sizes = [n for x in args if not _is_plain(x) for n in _symbols(x)]
    leaves, known = set(symbols_of(sizes)), {id(n) for n in sizes}
    values: dict[int, int] = {}
    for n in _numbers_among(args):
        if n.kind == "int" and id(n) not in known and (n.hinted or not leaves.issuperset(symbols_of(n))):
            values[id(n)] = _fixed(label, n)
    if values:
        args = [_with_numbers(x, values) for x in args]
        symbols = [n for n in symbols if id(n) not in values]
        if not symbols:
            return ask(args)
    return _learned(label, args, symbols, ask, leave)


def _is_plain(x: Any) -> bool:
    """Return whether no tensor is in an argument."""
    return all(map(_is_plain, x)) if isinstance(x, (list, tuple)) else not isinstance(x, Meta)


def dtypes_of(declaration: Declaration, args: Sequence[Any]) -> Sequence[Any]:
    """Dtypes that the library's function gives. NumberUnknown where a number that is a symbol decides them."""
    if not _has_symbols(args):
        return _fixed_dtypes(declaration, _Arguments((tuple(args),)))
    symbols = [n for n in _numbers_among(args) if n.kind == "int"]  # it sees no sizes

    def asked(number: Callable[[Any], Any]) -> tuple[Any, ...]:
        return tuple(declaration.dtypes(_replaced(args, number)))

    first = asked(lambda n: (n.hint if n.hinted else 1) if type(n) is Sym else n)
    if not symbols or all(_answers(asked, k) in (first, None) for k in _NUMBERS):
        return first
    values = {id(n): _fixed(declaration.label, n) for n in symbols}
    return asked(lambda n: values.get(id(n), 1) if type(n) is Sym else n)


def _answers(asked: Callable[..., Any], number: int) -> Any:
    """The answer of a function to a number in place of each symbol; None where it refuses it."""
    try:
        return asked(lambda n: number if type(n) is Sym else n)
    except Exception:  # the library's, of a number that no call has
        return None


def _numbers_among(args: Sequence[Any]) -> Iterator[Sym]:
    """The symbols among numbers, which are no sizes of tensors."""
    for x in args:
        if isinstance(x, (list, tuple)):
            yield from _numbers_among(x)
        elif type(x) is Sym:
            yield x


def _fixed(label: str, number: Sym) -> int:
    """The number that a symbol stands for, as a fact that the trace guards. NumberUnknown where nobody knows it."""
    hint = number.hint
    if hint is None or not bool(number == hint):
        raise NumberUnknown(number, f"[{label}] its functions of shapes and dtypes require a number")
    return int(hint)


def _with_numbers(x: Any, values: dict[int, int]) -> Any:
    if isinstance(x, Meta):
        return Meta(tuple(values.get(id(n), n) for n in x.shape), x.dtype)
    if isinstance(x, (list, tuple)):
        return tuple(_with_numbers(item, values) for item in x)
    return values.get(id(x), x) if type(x) is Sym else x


def _learned(
    label: str, args: Sequence[Any], symbols: Sequence[Sym], ask: Callable[..., Any], leave: bool
) -> list[list[Any]]:
    """Sizes of results as expressions of symbols."""
    rows: list[list[int]] = []
    seen: list[Sequence[Sequence[int]]] = []
    sizes = {id(n) for x in args if not _is_plain(x) for n in _symbols(x)}
    numbers = [n for n in symbols if id(n) not in sizes and n.kind == "int"]  # which are computed of sizes
    columns = list(symbols_of(symbols)) if numbers else symbols
    for together in (False, True):  # dims of two inputs may have to be equal
        rows, seen = [], []
        try:
            for k, (a, b) in enumerate(_PROBES):
                row = [a if together else a + b * i + k * i * i for i in range(len(columns))]
                values = {id(s): n for s, n in zip(columns, row, strict=True)}
                if numbers:
                    env = dict(zip(columns, row, strict=True))
                    values.update((id(n), evaluate(n, env)) for n in symbols)
                seen.append(ask(_with_numbers(tuple(args), values)))
                rows.append(row[:1] if together else row)
            break
        except Exception:
            if together:
                raise
    known = columns[: len(rows[0])]
    if len({tuple(map(len, shapes)) for shapes in seen}) != 1:
        raise NumberUnknown(symbols[0], f"[{label}] the ranks that its function of shapes gives depend on sizes")
    return [
        [_size(label, [shapes[i][d] for shapes in seen], rows, known, leave) for d in range(len(shape))]
        for i, shape in enumerate(seen[0])
    ]


def _size(label: str, sizes: list[int], rows: list[list[int]], symbols: Sequence[Sym], leave: bool) -> Any:
    size = _expression(sizes, rows, symbols)
    if size is not None:
        return size
    if leave:
        return -1
    raise NumberUnknown(
        symbols[0],
        f"[{label}] requires sizes that are fixed, or sums of sizes, from its function of shapes where sizes of "
        "inputs are not known. Give the sizes in InputSpec",
    )


def _expression(sizes: list[int], rows: list[list[int]], symbols: Sequence[Sym]) -> Any:
    """A fixed number, or a sum of symbols; None where they are neither."""
    if len(set(sizes)) == 1:
        return sizes[0]
    for i, s in enumerate(symbols):
        if all(size == row[i] for size, row in zip(sizes, rows, strict=True)):
            return s
    table = np.array([[1, *row] for row in rows], float)
    factors = np.rint(np.linalg.lstsq(table, np.array(sizes, float), rcond=None)[0]).astype(int)
    if (table.astype(int) @ factors != sizes).any():
        return None
    total: Any = int(factors[0])
    for f, s in zip(factors[1:], symbols, strict=True):
        total = total + s * int(f) if f else total
    return total


# --- by the declaration alone


def default_sources(
    inputs: Sequence[Variable], outputs: Sequence[Variable], inplace: dict[int, int]
) -> list[int] | None:
    """For each output the input that it is like; None where the declaration does not say it."""
    sources: list[int] = []
    for j, y in enumerate(outputs):
        if j in inplace:
            sources.append(inplace[j])
            continue
        at = next((i for i, x in enumerate(inputs) if _is_gradient_of(y, x)), None)
        if at is None and len(inputs) == len(outputs) == 1:
            at = 0
        if at is None:
            at = next((i for i, x in enumerate(inputs) if x.base == y.base and y.order and x.vector == y.vector), None)
        if at is None and y.order and sum(x.order > 0 for x in inputs) == 1:
            at = next(i for i, x in enumerate(inputs) if x.order)
        if at is None or inputs[at].vector != y.vector:
            return None
        sources.append(at)
    return sources


def _is_gradient_of(y: Variable, x: Variable) -> bool:
    return x.base == y.base and x.vector == y.vector and y.order == x.order + 1


def like(args: Sequence[Any], sources: Sequence[int]) -> list[Meta]:
    """Metas of the inputs that outputs are like, one after the other."""
    return [Meta(tuple(m.shape), m.dtype) for m in flattened([args[i] for i in sources])]
