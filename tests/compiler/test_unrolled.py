"""Kernels of few points without loops: the meaning of their nests, whatever sizes, types and forms operands have."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.programs import tensors
from umiak import ops as F
from umiak.backends.cpu import nests
from umiak.compiler import schedule
from umiak.compiler.fuse import fuse
from umiak.compiler.fused import Fused
from umiak.compiler.loop import interpreter
from umiak.compiler.loop.verifier import verify
from umiak.compiler.render.unrolled import parts
from umiak.core import array, dtype, eager
from umiak.ir.meta import Meta
from umiak.ir.program import Value
from umiak.ir.tracer import Tracer

DTYPES = (dtype.float32, dtype.float64, dtype.bfloat16, dtype.float16)
WIDTHS = (1, 2, 3, 5, 8, 13, 16, 17, 33)


def traced(function, *metas):
    with Tracer() as tracer:
        inputs = [tracer.input(m) for m in metas]
        made = function(*inputs)
    made = made if isinstance(made, tuple) else (made,)
    return list(tracer.operations), [t.value for t in inputs], [t.value for t in made]


def run(operations, inputs, results, tensors):
    values = dict(zip(map(id, inputs), tensors, strict=True))
    for o in operations:
        xs = tuple(values[id(x)] if type(x) is Value else x for x in o.operands)
        made = eager.apply(o.op, xs, o.params)
        values.update(zip(map(id, o.results), made if isinstance(made, tuple) else (made,), strict=True))
    return [array.to_numpy(values[id(v)]).astype("f8") for v in results]


@pytest.fixture
def seen(monkeypatch):
    """What was asked for a kernel without loops, and whether there was one."""
    found = []
    make = nests.make_unrolled

    def spy(nest):
        made = make(nest)
        found.append((nest, made is not None))
        return made

    monkeypatch.setattr(nests, "make_unrolled", spy)
    return found


def check(function, shapes, type_, seen, calls=1, unrolled=True):
    """A function as ``calls`` kernels, compared with its operations one by one."""
    rng = np.random.default_rng(0)
    operations, inputs, results = traced(function, *(Meta(s, type_) for s in shapes))
    fused, made = fuse(operations, results)
    assert len(fused) == calls, fused
    given = [F.cast(x, dtype=type_) for x in tensors(rng, *shapes)]
    got, expected = run(fused, inputs, made, given), run(operations, inputs, results, given)
    tolerance = {dtype.float64: 1e-12, dtype.float32: 1e-5}.get(type_, 2e-2)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, tolerance, tolerance)
    for o in fused:
        if type(o.op) is Fused:
            o.op.clear()  # so that the next test asks anew
    assert [there for nest, there in seen if "fused" in nest.name] == [unrolled] * sum(
        type(o.op) is Fused for o in fused
    )


@pytest.mark.parametrize("type_", DTYPES, ids=str)
@pytest.mark.parametrize("width", WIDTHS)
def test_element_by_element(width, type_, seen):
    def function(x, y, b):
        z = F.add(F.mul(x, y), b)
        return F.where(F.gt(z, 0), z, F.sqrt(F.abs(y))), F.gt(z, x)

    check(function, [(3, width), (3, width), (width,)], type_, seen)


@pytest.mark.parametrize("type_", DTYPES, ids=str)
@pytest.mark.parametrize("width", WIDTHS)
def test_sums_of_columns(width, type_, seen):
    check(
        lambda x, y: F.tanh(F.sum(F.mul(x, y), axes=(0,))), [(4, width), (4, width)], type_, seen, unrolled=width >= 4
    )


@pytest.mark.parametrize("type_", DTYPES[:2], ids=str)
@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)], ids=str)
@pytest.mark.parametrize("sizes", [(8, 8, 8), (3, 17, 5), (1, 2, 7), (4, 33, 2), (5, 1, 3)], ids=str)
def test_small_matmuls_and_epilogues(sizes, flags, type_, seen):
    m, n, k = sizes

    def function(x, y, b):
        z = F.add(F.matmul(x, y, *flags), b)
        return F.maximum(z, 0.0), F.gt(z, 0)

    x, y = (k, m) if flags[0] else (m, k), (n, k) if flags[1] else (k, n)
    check(function, [x, y, (n,)], type_, seen)


def test_matmuls_begin_kernels_of_their_own(seen):
    """Nothing that is computed before is computed for each element of the result again."""
    check(lambda x, y: F.add(F.matmul(F.tanh(x), y), 1.0), [(4, 4), (4, 4)], dtype.float32, seen, calls=2)


def test_a_sum_of_products(seen):
    def function(x, y, z):
        return F.add(F.matmul(x, y), F.matmul(x, z))

    check(function, [(4, 6), (6, 8), (6, 8)], dtype.float32, seen)


def test_larger_matmuls_are_a_library_s(seen):
    check(lambda x, y: F.tanh(F.matmul(x, y)), [(16, 16), (16, 16)], dtype.float32, seen, calls=2)


def test_many_points_are_loops(seen):
    check(lambda x, y: F.tanh(F.mul(x, y)), [(64, 65), (64, 65)], dtype.float32, seen, unrolled=False)


def test_places_that_are_computed_are_loops(seen):
    check(
        lambda x, y: F.mul(F.roll(x, shifts=(1,), axes=(1,)), y), [(2, 5), (2, 5)], dtype.float32, seen, unrolled=False
    )


def test_nothing_is_known_of_symbolic_sizes(seen):
    op = F.Softmax(axis=1)
    op.clear()
    op(F.full(1.0, dtype=dtype.float32, shape=(3, 5)))
    assert seen and not any(there for _, there in seen)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_loop_that_stands_for_it(width, seen):
    """As the interpreter runs it, which is what a loop means."""
    check(lambda x, y: F.add(F.matmul(x, y), 0.5), [(3, 4), (4, width)], dtype.float64, seen)
    kernel = schedule.unrolled_kernel([nest for nest, there in seen if there][-1], 8)
    verify(kernel)
    rng = np.random.default_rng(1)
    x, y, z = rng.standard_normal((3, 4)), rng.standard_normal((4, width)), np.empty((3, width))
    interpreter.run(kernel, [x.reshape(-1), y.reshape(-1), z.reshape(-1)], [], [])
    np.testing.assert_allclose(z, x @ y + 0.5, 1e-12)


def test_parts_of_lanes():
    assert list(parts(33, 16)) == [(0, 16), (16, 16), (32, 1)]
    assert list(parts(13, 16)) == [(0, 8), (8, 4), (12, 1)]
    assert [w for _, w in parts(1, 2)] == [1]


def test_results_take_the_memory_of_what_is_read_in_place():
    """Of a reduction's kernel those operands whose elements are read where the results have theirs."""
    meta = Meta((4, 8), dtype.float32)

    def group(function, *metas):
        operations, _, results = traced(function, *metas)
        (o,), _ = fuse(operations, results)
        return o.op.overwritable

    product = Meta((4, 3), dtype.float32), Meta((3, 8), dtype.float32)
    assert group(lambda x, y, p: F.sub(p, F.matmul(x, y)), *product, meta) == 0b100
    assert group(lambda p, g: F.sub(p, F.sum(g, axes=(0,))), Meta((8,), dtype.float32), meta) == 0b10
    square = Meta((8, 8), dtype.float32)
    assert group(lambda x, y: F.sub(x, F.matmul(x, y)), square, square) == 0
