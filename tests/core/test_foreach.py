"""One op on many rows: what single calls give, in few launches; checks, order, and what is left behind."""

from __future__ import annotations

import numpy as np
import pytest
from harness import CPU, NULL, backward, count_plans, leaf, run_traced, tensor, values

from umiak import ops as F
from umiak.core import context, eager, inplace
from umiak.core import dtype as dt
from umiak.core.foreach import apply_foreach, apply_foreach_into, elements
from umiak.core.launches import time_launches
from umiak.core.optimizer_step import drop_gradients, gradients
from umiak.core.tensor import Tensor, empty
from umiak.ops.optimizer import Update

MUL, SGD, ADAMW = F.Mul(), F.SgdUpdate(), F.AdamwUpdate(False)
NUMBERS = (0.9, 0.99, 1e-8, 0.5, 0.6, 0.01)
SHAPES = [(3,), (4, 5), (2, 3, 4), (0,), (5, 0), (1,), (), (63,), (64, 1), (65,), (300, 70), (100_000,)]


def adamw_row(shape, rng, dtype=dt.float32, grad=None, lr=0.1, numbers=NUMBERS):
    p, g, m = (F.cast(tensor(rng.standard_normal(shape)), dtype=d) for d in (dtype, grad or dtype, dtype.compute))
    v = F.cast(tensor(rng.random(shape)), dtype=dtype.compute)
    return (p, m, v), (p, g, m, v, lr, None), numbers


def copied(rows):
    """The same rows over other memory; what is shared stays shared."""
    copies = {}

    def copy(x):
        if not isinstance(x, Tensor):
            return x
        return copies.setdefault(id(x), F.copy(x))

    return [(tuple(map(copy, outs)), tuple(map(copy, operands)), params) for outs, operands, params in rows]


def written(rows):
    return [values(F.cast(o, dtype=dt.float64)) for outs, _, _ in rows for o in outs]


def check(op, rows):
    """All at once is one after the other, bit by bit; every output has one more version."""
    single = copied(rows)
    for row in single:
        inplace.apply_into(op, *row)
    before = [o.inplace_version for outs, _, _ in rows for o in outs]
    apply_foreach_into(op, rows)
    for got, want in zip(written(rows), written(single), strict=True):
        np.testing.assert_array_equal(got, want)
    return [o.inplace_version - b for (o, b) in zip((o for outs, _, _ in rows for o in outs), before, strict=True)]


# --- results ---------------------------------------------------------------------------------------------------------


def test_all_shapes_are_one_launch(threads, rng):
    rows = [adamw_row(s, rng, lr=0.1 * i, numbers=(*NUMBERS[:5], 0.01 * i)) for i, s in enumerate(SHAPES)]
    assert set(check(ADAMW, rows)) == {1}
    op = F.AdamwUpdate(True)
    op.clear()
    rows = [((*outs, F.copy(outs[2])), operands, n) for outs, operands, n in rows if outs[0].ndim]
    rows = [(outs, (*operands[:5], outs[3]), n) for outs, operands, n in rows]
    with count_plans() as plans:
        apply_foreach_into(op, rows)
    assert plans["plans"] == 1


def test_more_rows_than_an_op_has_outputs(threads, rng):
    check(ADAMW, [adamw_row((int(rng.integers(1, 900)),), rng) for _ in range(300)])


def test_classes_side_by_side(threads, rng):
    kinds = [(dt.float32, None), (dt.float64, None), (dt.bfloat16, None), (dt.float32, dt.bfloat16), (dt.float16, None)]
    rows = [adamw_row(s, rng, *kinds[i % 5]) for i, s in enumerate(SHAPES * 3)]
    assert set(check(ADAMW, rows)) == {1}


@pytest.mark.parametrize("name", [k for k, c in F.REGISTRY.items() if issubclass(c, Update)])
def test_every_update(name, rng):
    for sample in F.REGISTRY[name].samples(rng):
        op = F.REGISTRY[name](**sample.attrs)
        params = tuple(sample.params.get(k, field.default) for k, field in op.param_fields.items())
        rows = []
        for _ in range(3):
            operands = tuple(tensor(x) if isinstance(x, np.ndarray) else x for x in sample.inputs)
            results = eager.apply(op, operands, params)
            outs = tuple(F.copy(r) for r in (results if isinstance(results, tuple) else (results,)))
            rows.append((outs, operands, params))
        check(op, rows)


def test_operands_without_dims(rng):
    """A rate or a factor that is a tensor goes with all elements of its row."""
    lr = tensor(np.float32(0.3))
    rows = [adamw_row(s, rng, lr=lr) for s in ((4, 3), (5,), (), (100,))]
    check(ADAMW, rows)
    x = [tensor(rng.standard_normal(s)) for s in ((4, 3), (5,), ())]
    check(MUL, [((a,), (a, f), ()) for a, f in zip(x, elements(tensor(rng.standard_normal(3))), strict=True)])


def transposed(x):
    """The same values in the other order of memory."""
    return F.permute(F.copy(F.permute(x, perm=(1, 0))), perm=(1, 0))


def test_not_contiguous(threads, rng):
    def row(shape, *swapped):
        outs, (p, g, m, v, lr, top), params = adamw_row(shape, rng)
        g = transposed(g) if "g" in swapped else g
        p = transposed(p) if "p" in swapped else p
        return (p, *outs[1:]), (p, g, m, v, lr, top), params

    rows = [row((5, 7)), row((5, 7), "g"), row((300, 300)), row((5, 7), "p"), row((8, 3), "p", "g")]
    rows.append(row((300, 400), "g"))
    assert not rows[1][1][1].is_contiguous() and not rows[3][0][0].is_contiguous()
    wanted = []
    for _, operands, params in rows:
        wanted += [values(r) for r in eager.apply(ADAMW, operands, params)]
    apply_foreach_into(ADAMW, rows)
    for got, want in zip((values(o) for outs, _, _ in rows for o in outs), wanted, strict=True):
        np.testing.assert_array_equal(got, want)


def test_slices_of_one_buffer(threads, rng):
    flat = tensor(rng.standard_normal(200_000).astype("f4"))
    ends = [0, 10, 50_010, 50_011, 200_000]

    def part(i):
        return F.slice(flat, axes=(0,), starts=(ends[i],), sizes=(ends[i + 1] - ends[i],), steps=(1,))

    parts = [part(i) for i in range(4)]
    grads = [tensor(rng.standard_normal(p.shape).astype("f4")) for p in parts]
    want = values(flat) - np.concatenate([values(g) for g in grads]) * np.float32(0.5)
    before = flat.inplace_version
    apply_foreach_into(SGD, [((p,), (p, g, 0.5), ()) for p, g in zip(parts, grads, strict=True)])
    np.testing.assert_allclose(values(flat), want, rtol=1e-6)
    assert flat.inplace_version == before + 4


@pytest.mark.parametrize("n", [10, 200_000])
def test_rows_that_use_each_other_run_in_order(threads, n, rng):
    x, y, z = (tensor(rng.standard_normal(n)) for _ in range(3))
    columns = F.permute(F.reshape(y, shape=(2, n // 2)), perm=(1, 0))
    rows = [
        ((x,), (x, 2.0), ()), ((y,), (x, x), ()), ((x,), (y, 3.0), ()), ((z,), (z, x), ()), ((x,), (x, z), ()),
        ((F.reshape(z, shape=(n // 2, 2)),), (columns, -1.0), ()),
    ]  # fmt: skip
    a, b, c = (values(t).copy() for t in (x, y, z))
    a = a * 2
    b = a * a
    a = b * 3
    c = c * a
    a = a * c
    c = (b.reshape(2, -1).T * -1).ravel()
    apply_foreach_into(MUL, rows)
    for got, want in zip((x, y, z), (a, b, c), strict=True):
        np.testing.assert_array_equal(values(got), want)


@pytest.mark.parametrize("n", [10, 200_000])
def test_outputs_that_overlap_operands(threads, n):
    """Shifted memory is read before it is overwritten."""
    x = tensor(np.arange(float(n)))

    def part(start):
        return F.slice(x, axes=(0,), starts=(start,), sizes=(n - 1,), steps=(1,))

    other = tensor(np.ones(n))
    apply_foreach_into(MUL, [((other,), (other, 3.0), ()), ((part(1),), (part(0), 2.0), ())])
    np.testing.assert_array_equal(values(x)[1:], 2 * np.arange(n - 1.0))
    assert (values(other) == 3).all()


def test_other_kinds_of_plans(rng):
    """Ops without a kernel that writes straight: chains, views, Python kernels."""
    arrays = [rng.standard_normal(s) for s in ((3, 3), (4, 4), (3, 3))]
    for op, params, f in (
        (F.REGISTRY["softmax"](1), (), None), (F.REGISTRY["permute"]((1, 0)), (), np.transpose),
        (F.REGISTRY["sort"](axis=1), (), None),
    ):  # fmt: skip
        x = [tensor(a) for a in arrays]
        results = [eager.apply(op, (t,), params) for t in x]
        results = [r if isinstance(r, tuple) else (r,) for r in results]
        rows = [(tuple(F.copy(F.mul(r, 0)) for r in rs), (t,), params) for rs, t in zip(results, x, strict=True)]
        apply_foreach_into(op, rows)
        for (outs, _, _), rs, a in zip(rows, results, arrays, strict=True):
            for out, r in zip(outs, rs, strict=True):
                np.testing.assert_array_equal(values(out), values(r))
            if f is not None:
                np.testing.assert_array_equal(values(outs[0]), f(a))


def test_a_place_without_kernels_for_many():
    x = [empty(s, dt.float32, NULL) for s in ((3,), (4, 5))]
    before = [t.inplace_version for t in x]
    apply_foreach_into(MUL, [((t,), (t, 2.0), ()) for t in x])
    assert [t.inplace_version for t in x] == [b + 1 for b in before]
    assert [t.place for t in apply_foreach(MUL, [((t, 2.0), ()) for t in x])] == [NULL, NULL]


def test_two_places_at_once():
    x = [empty((3,), dt.float32, NULL), tensor([1.0, 2.0]), empty((3,), dt.float32, NULL)]
    apply_foreach_into(MUL, [((t,), (t, 2.0), ()) for t in x])
    np.testing.assert_array_equal(values(x[1]), [2, 4])
    assert [t.inplace_version for t in x] == [1, 1, 1]


# --- checks ----------------------------------------------------------------------------------------------------------


def bad_row(what, rng):
    (p, m, v), operands, params = adamw_row((2, 2), rng)
    other = tensor(np.ones(3, "f4"))
    return {
        "gradient of another shape": ((p, m, v), (p, other, m, v, 0.1, None), params),
        "integer gradient": ((p, m, v), (p, tensor(np.ones((2, 2), "i4")), m, v, 0.1, None), params),
        "state of another dtype": ((p, tensor(np.ones((2, 2))), v), operands, params),
        "output of another shape": ((p, m, tensor(np.ones((2, 3), "f4"))), operands, params),
        "output elsewhere": ((p, m, empty((2, 2), dt.float32, NULL)), operands, params),
        "gradient elsewhere": ((p, m, v), (p, empty((2, 2), dt.float32, NULL), m, v, 0.1, None), params),
        "too few outputs": ((p, m), operands, params),
        "too few operands": ((p, m, v), operands[:4], params),
        "too few params": ((p, m, v), operands, params[:3]),
        "no tensor": ((p, m, v), (p, "x", m, v, 0.1, None), params),
        "no gradient": ((p, m, v), (p, None, m, v, 0.1, None), params),
        "no param": ((p, m, v), operands, (*params[:5], "x")),
    }[what]


@pytest.mark.parametrize(
    "what",
    ["gradient of another shape", "integer gradient", "state of another dtype", "output of another shape",
     "output elsewhere", "gradient elsewhere", "too few outputs", "too few operands", "too few params", "no tensor",
     "no gradient", "no param"],
)  # fmt: skip
def test_a_bad_row_is_named_and_nothing_is_written(what, rng):
    rows = [adamw_row(s, rng) for s in ((3,), (2, 2), (4,))]
    rows[1] = bad_row(what, rng)
    before = written([rows[0], rows[2]])
    versions = [o.inplace_version for outs, _, _ in rows for o in outs]
    with pytest.raises((TypeError, ValueError), match=r"^\[adamw_update\] requires .*\(row 1 of 3\)$"):
        apply_foreach_into(ADAMW, rows)
    for got, want in zip(written([rows[0], rows[2]]), before, strict=True):
        np.testing.assert_array_equal(got, want)
    assert [o.inplace_version for outs, _, _ in rows for o in outs] == versions


def test_rows_of_another_form(rng):
    row = adamw_row((2,), rng)
    for rows in ([row[:2]], [list(row)], [row, 3], [(*row[:2], None)], [(list(row[0]), *row[1:])]):
        with pytest.raises(TypeError, match=r"^\[adamw_update\] requires rows \(outs, operands, params\) of tuples"):
            apply_foreach_into(ADAMW, rows)
    apply_foreach_into(ADAMW, [])
    assert apply_foreach(MUL, []) == []


def test_overlapping_elements_are_refused():
    x = F.broadcast_to(tensor([1.0]), shape=(4,))
    with pytest.raises(RuntimeError, match="memory of their own"):
        apply_foreach_into(MUL, [((x,), (tensor(np.ones(4)), 2.0), ())])


# --- history ---------------------------------------------------------------------------------------------------------


def test_leaves_stay_leaves_and_saved_values_are_guarded():
    w = leaf([1.0, 2.0])
    y = F.sum(F.mul(w, w), axes=(0,))
    g = tensor([1.0, 1.0])
    apply_foreach_into(SGD, [((w,), (w, g, 0.5), ())])
    assert w.is_leaf and not w.stop_gradient
    np.testing.assert_array_equal(values(w), [0.5, 1.5])
    with pytest.raises(RuntimeError, match=r"version|in place|in-place"):
        backward(y)


def test_views_of_what_was_written():
    base = leaf(np.ones(4))
    x = F.mul(base, 2.0)
    view = F.slice(x, axes=(0,), starts=(1,), sizes=(2,), steps=(1,))
    inplace.assign(x, F.mul(base, 3.0))
    apply_foreach_into(MUL, [((view,), (view, 2.0), ())])  # refreshed first
    np.testing.assert_array_equal(values(x), [3, 6, 6, 3])


def test_a_tracer_records_the_calls(rng):
    def f(x, y):
        with context.no_grad_guard():
            apply_foreach_into(MUL, [((x,), (x, 2.0), ()), ((y,), (x, y), ())])
            return tuple(apply_foreach(MUL, [((x, 2.0), ()), ((y, 3.0), ())]))

    a, b = rng.standard_normal(3), rng.standard_normal(3)
    got = run_traced(f, tensor(a), tensor(b))
    for value, want in zip(got, (4 * a, 6 * a * b), strict=True):
        np.testing.assert_allclose(values(value), want, rtol=1e-12)


def test_a_timer_hears_of_every_row(rng):
    class Timer:
        told = []

        def start(self):
            return None

        def stop(self, token, seconds, plan, operands, outputs, dims):
            self.told.append(operands[0].shape)

    x = [tensor(rng.standard_normal(s)) for s in ((3,), (4, 5))]
    wanted = [3 * values(t) for t in x]
    time_launches(Timer())
    try:
        apply_foreach_into(MUL, [((t,), (t, 3.0), ()) for t in x])
    finally:
        time_launches(None)
    assert Timer.told == [[3], [4, 5]]
    for t, w in zip(x, wanted, strict=True):
        np.testing.assert_array_equal(values(t), w)


# --- new outputs, elements -------------------------------------------------------------------------------------------


def test_results_in_new_memory(threads, rng):
    x = [tensor(rng.standard_normal(s)) for s in ((3,), (4, 5), (0, 2), (), (70, 900))]
    x += [F.permute(tensor(rng.standard_normal((6, 4))), perm=(1, 0)), leaf(np.ones((2, 2)))]
    with context.no_grad_guard():
        wanted = [eager.apply(MUL, (t, 1.0 + i)) for i, t in enumerate(x)]
    got = apply_foreach(MUL, [((t, 1.0 + i), ()) for i, t in enumerate(x)])
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(values(a), values(b))
        assert a.stop_gradient and a.is_contiguous() and a.inplace_version == 0
    sums = apply_foreach(F.SquareSum(), [((t,), ()) for t in x])
    for s, t in zip(sums, x, strict=True):
        np.testing.assert_array_equal(values(s), values(F.square_sum(t)))
    assert [values(t).tolist() for t in apply_foreach(F.REGISTRY["permute"]((1, 0)), [((x[1],), ())])] == [
        values(x[1]).T.tolist()
    ]
    with pytest.raises(ValueError, match="requires 2 tensors to write into"):
        apply_foreach(F.MomentumUpdate(False), [((x[0], x[0], x[0], 0.1), (0.9, 0.0))])


def test_elements(rng):
    x = tensor(rng.standard_normal(5))
    parts = elements(x)
    assert [p.shape for p in parts] == [[]] * 5
    np.testing.assert_array_equal([values(p) for p in parts], values(x))
    apply_foreach_into(MUL, [((p,), (p, 2.0), ()) for p in parts])
    assert x.inplace_version == 5
    for bad in (tensor(np.ones((2, 2))), F.slice(x, axes=(0,), starts=(0,), sizes=(2,), steps=(2,))):
        with pytest.raises(ValueError, match=r"^\[elements\] requires"):
            elements(bad)
    assert CPU == x.place


def test_gradients_of_many_tensors():
    a, b, c = (tensor(value) for value in (1.0, 2.0, 3.0))
    a.stop_gradient = b.stop_gradient = False
    a.grad = tensor(4.0)
    c.grad = tensor(5.0)
    found = gradients([a, b, c])
    assert found[0] is a.grad
    assert found[1:] == [None, None]
    drop_gradients([a, b, c])
    assert a.grad is b.grad is c.grad is None
    for f in (gradients, drop_gradients):
        with pytest.raises(TypeError):
            f([a, 1])
