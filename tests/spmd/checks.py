"""The checks that tests of this folder make of a case: parts of calls, and partial values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sharded
from samples import Case, ShowsNothing, assert_close, assert_same_bits, seed_of
from sharded import Mesh, ShardedArray, arrays, call_of

from umiak import spmd
from umiak.backends.ref.evaluate import evaluate, meta_of
from umiak.spmd.propagate import Choice, applied, groups

LINE: tuple[Mesh, ...] = ((2,), (3,))
SQUARE: Mesh = (2, 2)
EXACT = {f"umiak.ops.{family}" for family in ("movement", "compare", "random", "create")}


def splits(call: spmd.Call, quick: bool = False, key: str = "") -> Iterator[tuple[Mesh, tuple[Choice, ...]]]:
    """Meshes and the factor that each axis cuts; with ``quick``, a few that ``key`` draws."""
    names = [f for f in call.rule.factors if max(call.sizes[f], default=0) > 1 or call.sizes[f] == (0,)]
    line = [(mesh, (f,)) for mesh in LINE for f in names if call.allows(f, *mesh)]
    square = [
        (SQUARE, (f, g))
        for f in names
        for g in names
        if (call.allows(f, 2, 2) if f == g else call.allows(f, 2) and call.allows(g, 2))
    ]
    if quick:
        line, square = drawn(line, 2, key), drawn(square, 1, key)
    yield from (*line, *square)


def drawn(items: list, n: int, key: str) -> list:
    order = np.random.default_rng(seed_of(key)).permutation(len(items))
    return [items[i] for i in sorted(order[:n])]


def check_parts(case: Case, quick: bool) -> None:
    """The parts of a call, joined, are what the call gives."""
    call, operands = call_of(case), arrays(case)
    expected = evaluate(case.op, operands, case.params)
    shown = False
    for mesh, picks in splits(call, quick, str(case)):
        shown = True
        found = applied(call, picks)
        what = f"{call.rule.operands} -> {call.rule.results} {call.rule.reduction}, {picks} on {mesh}"
        if not any(call.rule.factors[f].is_new for f in picks):
            assert spmd.forward(call, found.operands, mesh) == found, what
        if all(call.rule.factors[f].results for f in picks):
            assert spmd.backward(call, found.results, mesh).results == found.results, what
        spread = [
            x if layout is None else ShardedArray.of(x, layout, mesh) for x, layout in zip(operands, found.operands)
        ]
        for i, (y, whole) in enumerate(zip(sharded.run(call, found, spread, mesh), expected, strict=True)):
            if case.cls.__module__ in EXACT and not y.layout.partial:
                assert_same_bits(y.global_array(), whole, f"{what}: result {i}")
            assert_close(y.global_array(), whole, f"{what}: result {i}", factor=8)
    if not shown:
        raise ShowsNothing("nothing can be cut")


# --- partial values --------------------------------------------------------------------------------------------------


def in_parts(x: np.ndarray, kind: str, rng: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays that combine to ``x``, exactly."""
    turn, signed = rng.integers(0, 4, x.shape), x.dtype.kind not in "bu"
    with np.errstate(all="ignore"):
        if kind in ("max", "min"):
            # What does not count may be anything beyond, whatever the op is defined for.
            if signed:
                other = x - x.dtype.type(3 if kind == "max" else -3)
            else:
                other = np.full_like(x, 0 if kind == "max" else 255)
            return np.where(turn % 2, x, other), np.where(turn % 2, other, x)
        whole = x if kind == "sum" else x + x
        # Twice and less once; two halves; all and nothing, also of what has no halves.
        zero = np.zeros_like(x)
        first = np.where(turn == 0, whole + whole, whole / 2 if is_real(x) else zero)
        plain = (turn > 1) | ~np.isfinite(x) | (not signed)
        first = np.where(plain, np.where(turn % 2, whole, zero), first).astype(x.dtype)
        return first, np.where(plain, np.where(turn % 2, zero, whole), whole - first).astype(x.dtype)


def is_real(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


def partial_calls(case: Case) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Kinds of partial values that the case may be given, and the operands that hold them."""
    call = call_of(case)
    for kind in ("sum", "avg", "max", "min"):
        for group in groups(case.op, kind, call.operands):
            dtypes = [call.operands[i].dtype for i in group]
            if kind in ("sum", "avg") and not all(np.isfinite(x).all() for x in arrays(case) if is_real(x)):
                continue  # the parts of an infinity do not add up
            if kind in ("sum", "avg") and any(d.is_bool or (kind == "avg" and d.is_integer) for d in dtypes):
                continue
            if kind in ("max", "min") and any(d.is_complex or d.is_bool for d in dtypes):
                continue
            yield kind, group


def check_partial(case: Case, quick: bool) -> None:
    """What ``linear`` and ``monotone`` promise of a case."""
    operands = arrays(case)
    expected = evaluate(case.op, operands, case.params)
    mesh, shown = (2,), False
    for kind, group in partial_calls(case):
        shown = True
        spread = list(operands)
        for i, x in enumerate(operands):
            if isinstance(x, np.ndarray):
                parts = in_parts(x, kind, case.rng) if i in group else (x, x)
                layout = spmd.Layout(((),) * x.ndim, ((0, kind),) if i in group else ())
                spread[i] = ShardedArray(parts, layout, meta_of(x), mesh)
        made, found = sharded.apply(case.op, spread, case.params, mesh)
        assert found.choices == (spmd.PassPartial(kind, group),), f"{kind} of {group}: {found.choices}"
        for i, (y, whole) in enumerate(zip(made, expected, strict=True)):
            assert y.layout.partial == ((0, kind),)
            assert_close(y.global_array(), whole, f"{kind} of operands {group}: result {i}", factor=16)
    if not shown:
        raise ShowsNothing("no operand has partial values")
