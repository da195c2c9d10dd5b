"""Sharded = whole: every op on the parts of its operands gives the parts of its results, and of its gradients.

Ranks are simulated (``sharded.py``). Cut is every factor that a sample can split: on two and on three ranks, where
parts may be uneven or empty, and two factors, or one twice, on a mesh of two by two.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import sharded
from checks import check_partial, check_parts, splits
from samples import Case, ShowsNothing, all_cases, assert_close, over_samples, usable
from sharded import Mesh, ShardedArray, arrays, call_of

from umiak import ops as F
from umiak import spmd
from umiak.autodiff import graph, rules
from umiak.backends.ref.evaluate import evaluate, meta_of
from umiak.core import eager
from umiak.ir.tracer import SymTensor, Tracer
from umiak.spmd.propagate import applied

ORDER, NORM = "places what it finds by what came before", "takes the norm of the whole"
REGIONS = "reads channels and elements by numbers among all"
UNCUT = {
    "custom_call": "is not known to be made of parts", "dist": NORM, "labelled_mean": "divides one sum by another",
    "lamb_update": NORM, "lars_update": NORM, "masked_scatter": ORDER, "masked_select_sized": ORDER,
    "nonzero_sized": ORDER, "rand_perm": "mixes all", "psroi_pool": REGIONS, "psroi_pool_spread": REGIONS,
    "roi_max_index": REGIONS, "roi_pool": REGIONS, "suppress_boxes": ORDER,
    "read_number": "is a number", "sized": "has sizes that data decide", "unique_count": ORDER, "unique_sized": ORDER,
    "write_through": "writes into any element",
}  # fmt: skip


@over_samples(quick=1, never=UNCUT)
def test_parts_of_calls(case: Case) -> None:
    """In a few of the ways in which the call can be cut."""
    check_parts(case, quick=True)


@over_samples(quick=0, never=UNCUT)
def test_all_parts_of_calls(case: Case) -> None:
    check_parts(case, quick=False)


# --- gradients -------------------------------------------------------------------------------------------------------


def gradients_of(case: Case) -> tuple[Tracer, list, list, list]:
    """The program of the call and its gradients: what recorded it, its operands, the gradients given, and what it
    gives."""
    operands = arrays(case)
    with Tracer() as tracer:
        inputs = [tracer.input(meta_of(x)) if isinstance(x, np.ndarray) else x for x in operands]
        made = eager.apply(case.op, tuple(inputs), case.params)
        outputs = made if isinstance(made, tuple) else (made,)
        grads = [tracer.input(meta_of_value(y)) if is_continuous(y) else None for y in outputs]
        needs = tuple(i in case.differentiable for i in range(len(inputs)))
        found = graph.vjp(case.op, tuple(inputs), outputs, None, case.params, tuple(grads), needs)
    return tracer, inputs, grads, [None if g is None else g.value for g in found]


def meta_of_value(y: SymTensor) -> Any:
    return y.value.meta


def is_continuous(y: SymTensor) -> bool:
    return y.dtype.is_floating or y.dtype.is_complex


DIFFERENTIABLE = {c.name for c in all_cases() if usable(c) and c.differentiable and rules.differentiable(c.op)}


@over_samples(
    quick=1,
    share=2,  # the ops of derivatives are cut in tests of their own
    where=lambda case: bool(case.differentiable) and rules.differentiable(case.op),
    never={n: why for n, why in UNCUT.items() if n in DIFFERENTIABLE},
)
def test_gradients_of_parts(case: Case) -> None:
    """Operands and the gradients of results are cut as the call cuts them; every op of the derivative follows its own
    rule."""
    call, operands = call_of(case), arrays(case)
    tracer, inputs, grads, wanted = gradients_of(case)
    rng = case.rng
    outputs = [m for m, g in zip(call.results, grads, strict=True) if g is not None]
    given = [rng.uniform(-1, 1, m.shape).astype(m.dtype.numpy) for m in outputs]
    symbols = [*(t for t in inputs if isinstance(t, SymTensor)), *(g for g in grads if g is not None)]
    plain = [*(x for x in operands if isinstance(x, np.ndarray)), *given]
    expected = sharded.replay(tracer, dict(zip((id(t.value) for t in symbols), plain)), wanted, evaluate)
    shown = False
    for mesh, picks in splits(call, True, f"gradients of {case}"):
        shown = True
        found = applied(call, picks)
        # What is partial has the gradient of the whole.
        layouts = [spmd.Layout(r.dims) for r, g in zip(found.results, grads, strict=True) if g is not None]
        cut = [x for x in found.operands if x is not None] + layouts
        spread = {id(t.value): ShardedArray.of(x, y, mesh) for t, x, y in zip(symbols, plain, cut, strict=True)}

        def each(op: Any, xs: list, params: tuple, mesh: Mesh = mesh) -> list[ShardedArray]:
            return sharded.apply(op, xs, params, mesh)[0]

        for i, (y, whole) in enumerate(zip(sharded.replay(tracer, spread, wanted, each), expected, strict=True)):
            if y is not None:
                what = f"{call.rule.operands} -> {call.rule.results}, {picks} on {mesh}: gradient {i}"
                assert_close(y.global_array(), whole, what, factor=16)
    if not shown:
        raise ShowsNothing("nothing can be cut")


# --- partial values --------------------------------------------------------------------------------------------------


@over_samples(quick=1, where=lambda case: bool(case.op.linear or case.op.monotone))
def test_partial_values_pass(case: Case) -> None:
    """What ``linear`` and ``monotone`` promise: the op on parts of values gives parts of its results."""
    check_partial(case, quick=True)


# --- dims of size 1 --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("equation", ["ij,ij->i", "ij,ij->ji", "ij,jk->ik", "ij->ji", "i,j->ij", "bij,bjk->bik"])
def test_einsum_gives_dims_of_size_1_as_it_gets_them(equation):
    """A label of size 1 is no dim that the op makes, whichever layout is wanted of the results."""
    terms, out = equation.split("->")[0].split(","), equation.split("->")[1]
    op = F.Einsum(equation=equation)
    labels = sorted(set("".join(terms)))
    for sizes in product((1, 3), repeat=len(labels)):
        size = dict(zip(labels, sizes, strict=True))
        rng = np.random.default_rng(sum(sizes))
        operands = [rng.standard_normal([size[c] for c in term]) for term in terms]
        (expected,) = evaluate(op, operands, ())
        for d in range(len(out)):
            nothing = [ShardedArray.of(x, spmd.Layout(((),) * x.ndim), (2,)) for x in operands]
            wanted = spmd.Layout.of([spmd.Shard(d)], len(out))
            (made,), _ = sharded.apply(op, nothing, (), (2,), [wanted])
            np.testing.assert_allclose(made.global_array(), expected, rtol=1e-12, atol=1e-12)
