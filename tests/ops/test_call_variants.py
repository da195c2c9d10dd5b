"""One call by several paths: kernel and decomposition, layouts of operands, program and eager, second calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from draw import drawn_order
from harness import CPU, NULL, count_plans, run_traced, tensor, values
from samples import (
    ARRAYS,
    Case,
    ShowsNothing,
    all_cases,
    assert_close,
    assert_same_bits,
    cases_of,
    dtype_of,
    over_samples,
    usable,
    widen,
)

from umiak import backends
from umiak import ops as F
from umiak.autodiff import graph, rules
from umiak.core import array, context, eager, inplace, tape
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


def as_tuple(x: Any) -> tuple:
    return x if isinstance(x, tuple) else (x,)


def has_kernel(case: Case) -> bool:
    return backends.get("ref").supports(case.op)


# --- kernel, decomposition, training form ----------------------------------------------------------------------------


@over_samples(quick=1, where=lambda case: case.op.decompose is not None and has_kernel(case))
def test_kernel_computes_the_decomposition(case: Case) -> None:
    found = case.run()
    expected = as_tuple(case.op.decompose(*case.operands(), *case.params))
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert_close(a, values(b), f"result {i}", factor=4)


@over_samples(quick=1, where=lambda case: case.op.forward_train is not None)
def test_training_form_computes_the_op(case: Case) -> None:
    needs = tuple(i in case.differentiable for i in range(len(case.sample.inputs)))
    outputs, _ = case.op.forward_train(needs, *case.operands(), *case.params)
    for i, (a, b) in enumerate(zip(case.run(), as_tuple(outputs), strict=True)):
        assert_close(a, values(b), f"result {i}", factor=4)


@over_samples(quick=1, where=lambda case: bool(case.differentiable) and rules.differentiable(case.op))
def test_recorded_calls_give_the_same_bits(case: Case) -> None:
    """With and without gradients wanted."""
    plain = case.run()
    operands = case.operands()
    for i in case.differentiable:
        operands[i].stop_gradient = False
    recorded = case.call(*operands)
    for i, (a, b) in enumerate(zip(plain, recorded, strict=True)):
        if case.op.forward_train is None:
            assert_same_bits(values(b), a, f"result {i}")
        else:
            assert_close(values(b), a, f"result {i}", factor=4)


# --- layouts ---------------------------------------------------------------------------------------------------------


def anyhow(change: Callable) -> Callable:
    """0-d arrays have one layout."""
    return lambda x: change(x) if x.ndim else x.copy()


def transposed(x: np.ndarray) -> np.ndarray:
    """The same values, with the first axis running fastest."""
    return np.asfortranarray(x)


def strided(x: np.ndarray) -> np.ndarray:
    """Every second element of a larger buffer, along every axis."""
    out = np.zeros([2 * n for n in x.shape], x.dtype)[tuple(slice(None, None, 2) for _ in x.shape)]
    out[...] = x
    return out


def offset(x: np.ndarray) -> np.ndarray:
    """Contiguous, one element behind the start of its buffer: not aligned."""
    out = np.zeros(x.size + 1, x.dtype)[1:].reshape(x.shape)
    out[...] = x
    return out


def reversed_(x: np.ndarray) -> np.ndarray:
    """Negative strides."""
    return np.ascontiguousarray(np.flip(x))[tuple(slice(None, None, -1) for _ in x.shape)]


LAYOUTS: dict[str, Callable] = {
    "transposed": anyhow(transposed), "strided": anyhow(strided), "offset": anyhow(offset),
    "reversed": anyhow(reversed_),
}  # fmt: skip


def shared(x: np.ndarray) -> Tensor:
    return array.from_numpy(x, copy=False)


def layouts_of(case: Case, change: Callable) -> tuple:
    return tuple(shared(change(np.asarray(x))) if isinstance(x, ARRAYS) else x for x in case.sample.inputs)


# Families that only move, compare or count.
EXACT = {f"umiak.ops.{family}" for family in ("movement", "compare", "index", "sorting", "create")}


# What has a ``share`` here ``tests/modes`` shows of public calls, too, or other properties of the same plans.
@over_samples(quick=1, share=2, where=lambda case: any(x.ndim for x in case.arrays))
def test_layouts_of_operands(case: Case) -> None:
    """Operands that are transposed, strided, reversed or not aligned."""
    expected = case.run()
    for name, change in LAYOUTS.items():
        operands = layouts_of(case, change)
        before = [values(x) if isinstance(x, Tensor) else None for x in operands]
        found = tuple(map(values, case.call(*operands)))
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            # NumPy's loops round in another order, or with other instructions, where strides differ.
            assert_close(a, b, f"{name}: result {i}")
            if case.cls.__module__ in EXACT:
                assert_same_bits(a, b, f"{name}: result {i}")
        for x, old in zip(operands, before, strict=True):
            if old is not None:
                assert_same_bits(values(x), old, f"{name}: the call changed an operand")


@over_samples(
    quick=1,
    share=2,
    turn=1,
    where=lambda case: any(x.ndim and x.shape[0] > 1 for x in case.arrays),
    never={"repeat_interleave_sized": "requires the sum of an operand's elements"},
)
def test_broadcast_operands(case: Case) -> None:
    """Operands that repeat their first slice with stride 0, against the same values laid out."""
    inputs = []
    for x in case.sample.inputs:
        x = np.asarray(x) if isinstance(x, ARRAYS) else x
        repeat = isinstance(x, np.ndarray) and x.ndim and x.shape[0] > 1
        inputs.append(np.ascontiguousarray(np.broadcast_to(x[:1], x.shape)) if repeat else x)
    changed = case.with_inputs(tuple(inputs))
    try:
        expected = changed.run()
    except (ValueError, RuntimeError, RuntimeWarning) as error:
        raise ShowsNothing("equal slices make no valid call") from error
    operands = []
    for x in inputs:
        if isinstance(x, np.ndarray) and x.ndim and x.shape[0] > 1:
            operands.append(F.broadcast_to(tensor(x[:1]), shape=x.shape))
            assert operands[-1].strides[0] == 0
        else:
            operands.append(tensor(x) if isinstance(x, ARRAYS) else x)
    for i, (a, b) in enumerate(zip(changed.call(*operands), expected, strict=True)):
        assert_close(values(a), b, f"result {i}")


@over_samples(quick=1, share=2, where=lambda case: bool(case.differentiable) and rules.differentiable(case.op))
def test_layouts_of_gradients(case: Case) -> None:
    """Operands of another layout, and gradients of the results of another layout.

    In two layouts, which are drawn. Of an op that is differentiated through its decomposition, in one: the gradient is
    a program of others, which have tests of their own, and takes a second or more to make.
    ``test_every_layout_of_gradients`` is slow.
    """
    drawn = case.rng.permutation(list(LAYOUTS))[: 2 if rules.has_vjp(case.op) else 1]
    check_layouts_of_gradients(case, {name: LAYOUTS[name] for name in drawn})


@over_samples(quick=0, where=lambda case: bool(case.differentiable) and rules.differentiable(case.op))
def test_every_layout_of_gradients(case: Case) -> None:
    check_layouts_of_gradients(case, LAYOUTS)


def check_layouts_of_gradients(case: Case, layouts: dict[str, Callable]) -> None:
    def gradients(change: Callable) -> list:
        operands = layouts_of(case, change)
        for i in case.differentiable:
            operands[i].stop_gradient = False
        results = [y for y in case.call(*operands) if not y.stop_gradient]
        if not results:
            raise ShowsNothing("no result has a gradient")
        rng = case.rng
        seeds = [shared(change(np.asarray(rng.standard_normal(y.shape)).astype(y.dtype.numpy))) for y in results]
        return tape.grad(results, [operands[i] for i in case.differentiable], seeds, allow_unused=True)

    expected = gradients(np.array)
    if all(g is None for g in expected):
        raise ShowsNothing("no operand has a gradient")
    for name, change in layouts.items():
        for i, a, b in zip(case.differentiable, gradients(change), expected, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert_close(values(a), values(b), f"{name}: operand {i}", factor=4)


# --- places and memory -----------------------------------------------------------------------------------------------


def with_gradient(case: Case, operands: tuple) -> tuple[tuple, list]:
    """(results, gradients of the differentiable operands)"""
    wanted = [i for i in case.differentiable if rules.differentiable(case.op)]
    for i in wanted:
        operands[i].stop_gradient = False
    results = case.call(*operands)
    live = [y for y in results if not y.stop_gradient]
    inputs = [operands[i] for i in wanted]
    return results, tape.grad(live, inputs, allow_unused=True) if live and inputs else []


@over_samples(quick=1, share=3, where=lambda case: bool(case.arrays))
def test_place_is_that_of_the_operands(case: Case) -> None:
    """Call and gradient stay on the operands' place, whatever the default one is."""
    state = context.current().state
    before = state.place
    expected, expected_grads = with_gradient(case, case.operands())
    operands = case.operands()
    state.place = NULL
    try:
        results, grads = with_gradient(case, operands)
    finally:
        state.place = before
    for i, (a, b) in enumerate(zip([*results, *grads], [*expected, *expected_grads], strict=True)):
        if a is not None:
            assert a.place is CPU, f"result {i} is on {a.place}"
            assert_same_bits(values(a), values(b), f"result {i}")


@over_samples(quick=1, where=lambda case: bool(case.arrays))
def test_call_on_a_place_without_data(case: Case) -> None:
    """On null every op runs, and its gradient, with the sizes and dtypes that infer says."""
    case = case.on(NULL)
    operands = tuple(tensor(x, place=NULL) if isinstance(x, ARRAYS) else x for x in case.sample.inputs)
    results, grads = with_gradient(case, operands)
    metas = as_tuple(case.op.infer(*case.metas(), *case.params))
    assert [(tuple(y.shape), y.dtype.name) for y in results] == [(tuple(m.shape), m.dtype.name) for m in metas]
    assert all(y.place is NULL for y in [*results, *grads] if y is not None)


def like_the_result(case: Case) -> list[int]:
    """Operands of the shape and dtype of the first result."""
    metas = case.metas()
    first = as_tuple(case.op.infer(*metas, *case.params))[0]
    return [i for i, m in enumerate(metas) if m is not None and (m.shape, m.dtype) == (first.shape, first.dtype)]


@over_samples(quick=1, where=lambda case: bool(case.arrays) and bool(like_the_result(case)))
def test_writing_over_an_operand(case: Case) -> None:
    """``apply_into`` whose target is an operand gives what a call into other memory gives."""
    expected = case.call(*case.operands())
    for i in like_the_result(case):
        operands = case.operands()
        x = operands[i]
        others = tuple(tensor(np.zeros(y.shape, y.dtype.numpy)) for y in expected[1:])
        inplace.apply_into(case.op, (x, *others), operands, case.params)
        for k, (a, b) in enumerate(zip((x, *others), expected)):
            assert_close(values(a), values(b), f"over operand {i}: result {k}")


@over_samples(quick=1, where=lambda case: bool(case.arrays))
def test_moving_operands(case: Case) -> None:
    """Memory that was moved or offloaded since the plan was made."""
    expected = case.run()
    operands = case.operands()
    for x in operands:
        if isinstance(x, Tensor) and 0 not in x.shape:
            x.storage.relocate()
    for a, b in zip(case.call(*operands), expected, strict=True):
        assert_same_bits(values(a), b, "moved")
    for x in operands:
        if isinstance(x, Tensor) and 0 not in x.shape:
            x.storage.offload()
    for a, b in zip(case.call(*operands), expected, strict=True):
        assert_same_bits(values(a), b, "offloaded")


# --- dtypes ----------------------------------------------------------------------------------------------------------

LOW = (dt.bfloat16, dt.float16, dt.float8_e5m2, dt.float8_e4m3fn)


def in_dtype(case: Case, d: Any) -> Case:
    def cast(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(x).astype(d.numpy) if isinstance(x, ARRAYS) and dtype_of(x).is_floating else x

    return case.with_inputs(tuple(map(cast, case.sample.inputs)))


# Ops whose results depend on the operands' own type.
STEPS = {"nextafter"}

# Ops that take or give float32, float64 and complex numbers alone.
WIDE = (
    "as_complex cholesky cholesky_solve complex det eig eigh eigvals eigvalsh fft finite_probe full "
    "householder_product ihfft inverse label_weights linspace lstsq lu lu_unpack matrix_exp matrix_power pinv "
    "polar qr rfft scaled_matmul slogdet solve square_sum svd svdvals triangular_solve widening_matmul"
).split()


@over_samples(
    quick=1,
    share=2,
    where=lambda case: (
        not case.cls.random
        and case.name not in STEPS
        and any(dtype_of(x) in (dt.float32, dt.float64) for x in case.arrays)
        and not any(dtype_of(x).is_complex for x in case.arrays)
    ),
    never=dict.fromkeys(WIDE, "requires a low type"),
)
def test_low_precision_is_near_float32(case: Case) -> None:
    """Operands rounded to a low type: the results are those of float32, rounded. A type that the op refuses is
    none, nor is one that lacks an operand's values: a logarithm of 0 in a type without infinities."""
    compared = 0
    for d in LOW:
        low = in_dtype(case, d)
        if any(np.any(np.isnan(widen(a)) & ~np.isnan(b)) for a, b in zip(low.arrays, case.arrays, strict=True)
               if dtype_of(b).is_floating):  # fmt: skip
            continue
        try:
            metas = as_tuple(low.op.infer(*low.metas(), *low.params))
        except (TypeError, ValueError):
            continue
        wide = low.with_inputs(tuple(widen(np.asarray(x)) if isinstance(x, ARRAYS) else x for x in low.sample.inputs))
        found, expected = low.run(), wide.run()
        for i, (a, b, m) in enumerate(zip(found, expected, metas, strict=True)):
            assert dtype_of(a) is m.dtype
            if m.dtype is d:
                compared += 1
                if d.name == "float8_e4m3fn":  # which has no infinities, and takes its largest number for them
                    b = np.clip(b, -448, 448)
                with np.errstate(all="ignore"):
                    assert_close(a, b.astype(a.dtype), f"{d.name}: result {i}", factor=2)
            elif not m.dtype.is_floating:
                compared += 1
                assert_close(a, b, f"{d.name}: result {i}")
    if not compared:
        raise ShowsNothing("the op takes no low type, or gives no result of it")


# --- programs --------------------------------------------------------------------------------------------------------


# Eager calls have a kernel of their own, where a program is expanded into other calls.
OTHER_KERNELS = {"matrix_power"}


@over_samples(quick=1)
def test_program_gives_the_bits_of_the_eager_call(case: Case) -> None:
    """Recorded by the tracer, and replayed as a call program."""
    eager = case.run()
    found = run_traced(lambda *operands: case.call(*operands), *case.operands())
    for i, (a, b) in enumerate(zip(found, eager, strict=True)):
        if case.op.name in OTHER_KERNELS:
            assert_close(values(a), b, f"result {i}")
        else:
            assert_same_bits(values(a), b, f"result {i}")


@over_samples(quick=1, share=2, turn=1, where=lambda case: bool(case.differentiable) and rules.differentiable(case.op))
def test_program_of_the_gradient_gives_what_the_tape_gives(case: Case) -> None:
    """The op's vjp recorded in a program, against the tape over the eager call: the same up to the order of sums, since
    the tape's operations share kernels."""
    operands = case.operands()
    for i in case.differentiable:
        operands[i].stop_gradient = False
    results = case.call(*operands)
    chosen = [k for k, y in enumerate(results) if not y.stop_gradient]
    if not chosen:
        raise ShowsNothing("no result has a gradient")
    rng = case.rng
    seeds = [tensor(np.asarray(rng.standard_normal(results[k].shape)).astype(results[k].dtype.numpy)) for k in chosen]
    expected = tape.grad(
        [results[k] for k in chosen], [operands[i] for i in case.differentiable], seeds, allow_unused=True
    )
    if any(g is None for g in expected):
        raise ShowsNothing("an operand has no gradient")
    plain = case.operands()
    needs = tuple(i in case.differentiable for i in range(len(plain)))
    n = len(plain)

    def program(*given: Any) -> tuple:
        inputs, grads = given[:n], iter(given[n:])
        outputs, residuals = case.call(*inputs), ()
        if case.op.forward_train is not None:
            made, residuals = case.op.forward_train(needs, *inputs, *case.params)
            outputs = as_tuple(made)
        present = tuple(next(grads) if k in chosen else None for k in range(len(outputs)))
        made = graph.vjp(case.op, inputs, outputs, tuple(residuals), case.params, present, needs)
        return tuple(made[i] for i in case.differentiable)

    found = run_traced(program, *plain, *seeds)
    for i, a, b in zip(case.differentiable, found, expected, strict=True):
        x, y = values(a), values(b)
        eps = 2.0 ** -(
            52 if b.dtype.name in ("float64", "complex128") else 23 if b.dtype.name in ("float32", "complex64") else 7
        )
        scale = np.abs(y[np.isfinite(y)]).max(initial=0.0)
        np.testing.assert_allclose(x, y, rtol=16 * eps, atol=8 * eps * scale, err_msg=f"gradient of operand {i}")


# --- plans -----------------------------------------------------------------------------------------------------------


@over_samples(quick=1, share=2)
def test_second_call_makes_no_plan(case: Case) -> None:
    """Neither the call itself nor its gradient."""

    def call() -> None:
        operands = case.operands()
        wanted = [i for i in case.differentiable if rules.differentiable(case.op)]
        for i in wanted:
            operands[i].stop_gradient = False
        results = [y for y in case.call(*operands) if not y.stop_gradient]
        if results:
            tape.backward(results)

    call()
    with count_plans() as counts:
        call()
    assert not counts, dict(counts)


def nudged(p: Any, kind: str, by: int) -> Any:
    """Another value of a param, of the same class."""
    if kind == "float":
        return p * 0.97 + 0.001
    return tuple(n + by for n in p) if kind == "ints" else p + by


# Ops that take only the sizes that their operands have or imply.
SIZED = ("repeat_interleave_sized", "reshape", "sized", "split", "sum_to", "unique_sized", "write_through")


@over_samples(
    quick=1, where=lambda case: bool(case.cls.param_fields), never=dict.fromkeys(SIZED, "requires other operands")
)
def test_params_are_no_identity(case: Case) -> None:
    """Other numbers make no new plan of the op."""
    op = case.op
    case.call(*case.operands())
    size = op.table_size()
    taken = 0
    kinds = [p.kind for p in case.cls.param_fields.values()]
    # Numbers of a stream are reserved by fours. Each number alone, so that others stay what fits with it.
    changes = [(i, by) for i, k in enumerate(kinds) for by in ((4,) if k == "float" else (4, 1, -1))]
    for changed, by in changes:
        params = tuple(nudged(p, k, by) if i == changed else p for i, (p, k) in enumerate(zip(case.params, kinds)))
        try:
            eager.apply(op, case.operands(), params)
        except (ValueError, IndexError, RuntimeError):
            continue  # refused, which makes no plan either
        taken += params != case.params
    assert op.table_size() == size
    if not taken:
        raise ShowsNothing("all other numbers are refused")


def class_of(case: Case) -> tuple:
    """What the key of a plan holds of a call on contiguous tensors of one place."""

    def one(x: Any) -> Any:
        if isinstance(x, ARRAYS):
            return dtype_of(x).name, np.ndim(x)
        return type(x).__name__

    params = tuple(len(p) if isinstance(p, (tuple, list)) else None for p in case.params)
    return case.op, tuple(map(one, case.sample.inputs)), params


@pytest.mark.parametrize("most", [4, pytest.param(None, marks=pytest.mark.slow)], ids=["a few samples", "all samples"])
def test_plans_are_as_many_as_classes(most: int | None) -> None:
    """Sizes, values and params of the samples add nothing."""
    wrong = []
    compared = 0
    for name in sorted(F.REGISTRY):
        cases = drawn_order([c for c in cases_of(name) if usable(c)], name, name=lambda c: c.index)[:most]
        for op in {c.op for c in cases}:
            if op.decompose is not None:
                continue  # composites may call their own op on other classes
            op.clear()
            mine = [c for c in cases if c.op is op]
            classes = set()
            for case in mine:
                case.call(*case.operands())
                classes.add(class_of(case))
            compared += 1
            if op.table_size() != len(classes):
                wrong.append(f"{op}: {op.table_size()} plans of {len(classes)} classes")
    assert not wrong, "\n".join(wrong)
    assert compared > 100


def test_number_operands_share_a_plan() -> None:
    calls: Counter[str] = Counter()
    for case in all_cases():
        numbers = [i for i, x in enumerate(case.sample.inputs) if type(x) is float]
        if not numbers or not usable(case):
            continue
        case.call(*case.operands())
        size = case.op.table_size()
        for factor in (0.5, 0.9):
            operands = list(case.operands())
            for i in numbers:
                operands[i] *= factor
            try:
                case.call(*operands)
            except (ValueError, IndexError):
                continue
            calls[case.name] += 1
        assert case.op.table_size() == size, str(case)
    assert len(calls) > 20, sorted(calls)
