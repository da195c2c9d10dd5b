"""Which operations share a kernel, and that it changes nothing."""

import numpy as np
import pytest

from umiak import ops as F
from umiak.compiler import fuse as module
from umiak.compiler.fuse import MAX_OPERATIONS, fuse
from umiak.compiler.fused import Fused
from umiak.core import array, dtype, eager
from umiak.ir.meta import Meta
from umiak.ir.program import Value
from umiak.ir.tracer import Tracer

F32 = dtype.float32


def traced(function, *metas):
    """(operations, inputs, results) of a function over tensors."""
    with Tracer() as tracer:
        inputs = [tracer.input(m) for m in metas]
        made = function(*inputs)
        made = made if isinstance(made, tuple) else (made,)
    return list(tracer.operations), [t.value for t in inputs], [t.value for t in made]


def names(operations):
    return [o.op.group.__repr__() if type(o.op) is Fused else o.name for o in operations]


def run(operations, inputs, results, arrays):
    values = {id(v): array.from_numpy(x) for v, x in zip(inputs, arrays, strict=True)}
    for o in operations:
        xs = tuple(values[id(x)] if type(x) is Value else x for x in o.operands)
        made = eager.apply(o.op, xs, o.params)
        made = made if isinstance(made, (tuple, list)) else (made,)
        values.update({id(r): y for r, y in zip(o.results, made, strict=True)})
    return [array.to_numpy(values[id(v)]) for v in results]


def check(function, expected, *shapes, rng):
    metas = [Meta(s, F32) for s in shapes]
    operations, inputs, results = traced(function, *metas)
    fused, made = fuse(operations, results)
    assert names(fused) == expected
    arrays = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    for a, b in zip(run(fused, inputs, made, arrays), run(operations, inputs, results, arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_a_chain(rng):
    check(lambda x, y: F.exp(F.mul(F.add(x, y), y)), ["add+mul+exp"], (3, 4), (4,), rng=rng)


def test_groups_do_not_depend_on_names_of_numbers():
    """A product of numbers is written in the order of their names, which differ from layer to layer."""

    def group(*names):
        with Tracer() as tracer:
            x = tracer.input(Meta((4, 5), F32))
            rate, decay = (tracer.scope.symbol("float", name=n) for n in names)
            y = F.mul(F.sub(x, F.mul(x, rate * decay)), rate)
        (fused,), _ = fuse(tracer.operations, [y.value])
        scalars = [x for x in fused.operands if type(x) is not Value]
        return fused.op.group, ["rate" if x is rate else "decay" for x in scalars]

    assert group("a", "b") == group("b", "a")


def test_a_row_wise_chain_with_results_of_both_kinds(rng):
    def norm(x):
        total = F.sum(x, axes=(1,), keepdim=True)
        y = F.sub(x, total)
        return F.exp(y), total

    check(norm, ["sum+sub+exp"], (3, 5), rng=rng)


def test_reductions_of_different_dims_stay_apart(rng):
    check(lambda x: (F.sum(x, axes=(0,)), F.sum(x, axes=(1,))), ["sum", "sum"], (3, 4), rng=rng)


def test_a_library_call_divides(rng):
    check(lambda x, w: F.exp(F.matmul(F.neg(F.exp(x)), w)), ["exp+neg", "matmul", "exp"], (30, 40), (40, 20), rng=rng)


def test_no_part_waits_for_itself(rng):
    """``a`` feeds a product whose result meets ``a`` again: they cannot be one call around the product."""

    def function(x, w):
        a = F.exp(x)
        b = F.matmul(a, w)
        return F.mul(F.add(a, b), F.neg(a))

    metas = [Meta((4, 4), F32)] * 2
    operations, inputs, results = traced(function, *metas)
    fused, made = fuse(operations, results)
    place = {id(r): i for i, o in enumerate(fused) for r in o.results}
    for i, o in enumerate(fused):
        assert all(place.get(id(v), -1) < i for v in o.values)
    arrays = [rng.standard_normal((4, 4)).astype(np.float32) for _ in metas]
    np.testing.assert_allclose(
        run(fused, inputs, made, arrays)[0], run(operations, inputs, results, arrays)[0], rtol=1e-5
    )


def random_program(rng, count):
    """Random operations over square matrices: sums of rows, products, elementwise ones."""

    def function(*xs):
        values = list(xs)
        for _ in range(count):
            a, b = (values[rng.integers(len(values))] for _ in range(2))
            kind = rng.integers(6)
            if kind == 0:
                made = F.tanh(a)
            elif kind == 1:
                made = F.sub(a, F.max(b, axes=(1,), keepdim=True))
            elif kind == 2:
                made = F.matmul(F.tanh(a), F.tanh(b))
            elif kind == 3:
                made = F.mul(F.tanh(a), F.permute(b, perm=(1, 0)))
            elif kind == 4:
                made = F.add(a, F.sum_to(F.tanh(b), shape=(4,)))
            else:
                made = F.where(F.lt(a, b), a, b)
            values.append(made)
        return tuple(values[-3:])

    return function


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_give_the_same(seed):
    rng = np.random.default_rng(seed)
    operations, inputs, results = traced(random_program(rng, 12), *[Meta((4, 4), F32)] * 3)
    fused, made = fuse(operations, results)
    assert len(fused) < len(operations)
    arrays = [rng.standard_normal((4, 4)).astype(np.float32) for _ in inputs]
    for a, b in zip(run(fused, inputs, made, arrays), run(operations, inputs, results, arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_equal_groups_are_one_op():
    def once(x, y):
        return F.exp(F.mul(x, y))

    found = [fuse(o, r)[0][0].op for o, _, r in (traced(once, *[Meta((n, 4), F32)] * 2) for n in (3, 3))]
    assert found[0] is found[1]


def layer_mean(x):
    """A row-wise operation whose divisor is a size."""
    d = F.sub(x, F.div(F.sum(x, axes=(0,), keepdim=True), x.shape[0]))
    return F.mul(d, F.rsqrt(F.add(F.div(F.sum(F.mul(d, d), axes=(0,), keepdim=True), x.shape[0]), 1e-5)))


def layer_scaled(x):
    return F.tanh(F.mul(F.exp(x), 1.0 / x.shape[1]))


def layer_moved(x):
    """A size that is a product of others, and a start that is one."""
    n, m = x.shape
    y = F.slice(x, axes=(1,), starts=(m // 2,), sizes=(m - m // 2,), steps=(1,))
    return F.exp(F.reshape(F.neg(y), shape=(n * (m - m // 2),)))


def layer_integers(x):
    return F.mul(F.floor_div(F.cast(x, dtype=dtype.int32), x.shape[0]), 3)


def layers(layer, shapes):
    """The groups of a program with a layer for each shape, which gives what the calls one by one give."""
    rng = np.random.default_rng(3)
    operations, inputs, results = traced(lambda *xs: tuple(map(layer, xs)), *[Meta(s, F32) for s in shapes])
    fused, made = fuse(operations, results)
    assert all(type(o.op) is Fused for o in fused)
    arrays = [rng.standard_normal(s).astype(np.float32) * 4 for s in shapes]
    found, expected = run(fused, inputs, made, arrays), run(operations, inputs, results, arrays)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return [o.op.group for o in fused]


@pytest.mark.parametrize("layer", [layer_mean, layer_scaled, layer_moved], ids=lambda f: f.__name__)
def test_layers_that_differ_in_sizes_and_numbers_share_a_group(layer):
    one = layers(layer, [(6, 4)])
    found = layers(layer, [(6, 4), (10, 8), (6, 4), (14, 16)])
    assert len(found) == 4 * len(one)
    assert len({id(g) for g in found}) == len(one)


@pytest.mark.parametrize("layer", [layer_mean, layer_scaled, layer_moved, layer_integers], ids=lambda f: f.__name__)
def test_layers_of_other_patterns_of_sizes_give_the_same(layer):
    """Equal sizes, sizes of 1 and numbers that happen to be sizes are no sizes of their own."""
    shapes = [(6, 4), (4, 4), (1, 4), (2, 4), (4, 2), (8, 16), (16, 8)]
    one = layers(layer, [(6, 4)])
    assert len({id(g) for g in layers(layer, shapes)}) > len(one)


def layer_images(x):
    n, h, w, _ = x.shape
    return F.sub(x, F.div(F.sum(x, axes=(0, 1, 2), keepdim=True), n * h * w))


def test_layers_of_other_patterns_of_sizes_leave_the_same_numbers_open():
    """As many images as rows make a group of its own, whose code is that of the others."""
    found = dict.fromkeys(layers(layer_images, [(4, 6, 6, 8), (4, 4, 4, 16), (4, 3, 3, 32)]))
    assert len(found) == 2
    assert not [x for g in found for o in g.operations for x in o.operands if type(x) is int]


def test_what_is_the_same_in_all_layers_stays_known():
    (group,) = set(layers(layer_mean, [(6, 4), (10, 8)]))
    assert [x for o in group.operations for x in o.operands if type(x) is float] == [1e-5]
    alone = layers(layer_mean, [(6, 4), (6, 4)])
    assert not alone[0].ints
    assert alone[0].arguments[0].meta.shape == (6, 4)


def test_integers_divide_by_numbers_that_are_known():
    found = layers(layer_integers, [(6, 4), (10, 8)])
    assert len({id(g) for g in found}) == 2
    assert [[x for o in g.operations for x in o.operands if type(x) is int] for g in found] == [[6, 3], [10, 3]]


def test_long_chains_are_cut(rng, monkeypatch):
    """Joins of element-by-element operations are not tried as a whole; groups have an end."""
    count = 3 * MAX_OPERATIONS - 10

    def chain(x):
        for i in range(count):
            x = F.mul(x, 1.0 + i / 1000) if i % 2 else F.tanh(x)
        return x

    operations, inputs, results = traced(chain, Meta((3, 5), F32))
    lowered = []
    monkeypatch.setattr(
        module, "is_nest", lambda ops, *more, of=module.is_nest: lowered.append(len(ops)) or of(ops, *more)
    )
    fused, made = fuse(operations, results)
    assert [len(o.op.group.operations) for o in fused] == [MAX_OPERATIONS, MAX_OPERATIONS, MAX_OPERATIONS - 10]
    assert sum(lowered) < 2 * count
    x = rng.standard_normal((3, 5)).astype(np.float32)
    np.testing.assert_allclose(
        run(fused, inputs, made, [x])[0], run(operations, inputs, results, [x])[0], rtol=1e-5, atol=1e-6
    )


def test_effects_are_kept_in_their_order():
    """What nobody reads is made too, and no group brings one effect before another."""

    def function(x, y):
        first = F.all_reduce(F.exp(x), group="world", op="sum", size=1)
        F.all_reduce(F.neg(y), group="world", op="sum", size=1)
        last = F.all_reduce(F.tanh(y), group="world", op="sum", size=1)
        return F.mul(F.exp(last), first)

    operations, _, results = traced(function, *[Meta((4,), F32)] * 2)
    before = [o.values[0].operation.name for o in operations if o.op.effect]
    fused, _ = fuse(operations, results)
    assert [o.values[0].operation.name for o in fused if o.op.effect] == before == ["exp", "neg", "tanh"]
    assert names(fused)[-1] == "exp+mul"


def test_calls_stay_near_their_place():
    """Values live no longer than they did: a call comes when its last operation did, not as soon as it can."""

    def function(x):
        total = x
        for _ in range(4):
            total = F.matmul(total, F.exp(F.matmul(x, x)))
        return total

    operations, _, results = traced(function, Meta((16, 16), F32))
    fused, _ = fuse(operations, results)
    assert names(fused) == ["matmul", "exp", "matmul"] * 4
