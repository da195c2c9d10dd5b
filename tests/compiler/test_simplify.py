"""Programs say things once, and views belong to who reads them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.programs import groups, one_by_one, ops_of, same, tensors, traced
from umiak import ops as F
from umiak.autodiff import graph
from umiak.compiler import fuse, simplify
from umiak.core import array
from umiak.core.dtype import convert
from umiak.ops import movement
from umiak.runtime.executor import Executor

F32, F64 = convert("float32"), convert("float64")


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def simplified(program):
    """Names of the operations that are left, and the results."""
    operations, results = simplify.simplify(program.ops, program.outputs)
    return [o.name for o in fuse.live(operations, results)], results


def gradients(program, *wrt):
    """The program with the gradients of its first output as further outputs."""
    made = graph.backward(program, [program.inputs[i] for i in wrt])
    program.outputs = [*program.outputs, *made]
    return program


def halves(x):
    a, b = F.split(x, axis=1, sections=(4, 4))
    return F.sum(F.mul(F.logistic(a), b), axes=(0, 1))


def test_calls_that_change_nothing(rng):
    (x,) = tensors(rng, (4, 8))

    def f(x):
        y = F.sum_to(F.reshape(F.tanh(x), shape=(4, 8)), shape=(4, 8))
        y = F.cast(F.pow(F.broadcast_to(y, shape=(4, 8)), 1), dtype=y.dtype)
        return F.reshape(F.reshape(F.exp(y), shape=(2, 16)), shape=(32,))

    program = traced(f, x, dynamic=())
    assert simplified(program)[0] == ["tanh", "exp", "reshape"]
    same(Executor(program)(x), one_by_one(program, x))


def test_a_result_is_never_an_input(rng):
    (x,) = tensors(rng, (4, 8))
    program = traced(lambda x: F.reshape(x, shape=(4, 8)), x, dynamic=())
    names, (y,) = simplified(program)
    assert names == ["reshape"]
    assert y is not program.inputs[0]


def test_equal_calls(rng):
    """Elementwise ones only among neighbours: behind a matmul they are recomputed."""
    x, w = tensors(rng, (4, 8), (8, 8))

    def f(x, w):
        a = F.add(F.tanh(x), F.tanh(x))
        return F.add(F.matmul(a, w), F.tanh(x)), F.sum(x, axes=(1,)), F.sum(x, axes=(1,))

    program = traced(f, x, w, dynamic=())
    names, (_, one, two) = simplified(program)
    assert names.count("tanh") == 2
    assert names.count("sum") == 2, "two results may not be one tensor"
    assert one is not two
    same(Executor(program)(x, w), one_by_one(program, x, w))


def test_random_numbers_are_not_merged(rng):
    (x,) = tensors(rng, (4, 8))

    def f(x):
        return F.add(
            *(F.uniform_random(dtype=x.dtype, shape=(4, 8), seed=3, offset=0, low=0.0, high=1.0) for _ in range(2))
        )

    assert simplified(traced(f, x, dynamic=()))[0].count("uniform_random") == 2


def test_gradients_of_parts_are_concatenated(rng):
    (x,) = tensors(rng, (6, 8))
    program = gradients(traced(halves, x, dynamic=()), 0)
    names, _ = simplified(program)
    assert "scatter_view" not in names
    executor = Executor(program)
    same(executor(x), one_by_one(program, x))
    assert len(ops_of(executor)) <= 3, groups(executor)


def test_three_parts_out_of_order(rng):
    (x,) = tensors(rng, (6, 9))

    def f(x):
        a, b, c = (F.slice(x, axes=(1,), starts=(s,), sizes=(3,), steps=(1,)) for s in (6, 0, 3))
        return F.sum(F.add(F.mul(F.exp(a), b), F.square(c)), axes=(0, 1))

    program = gradients(traced(f, x, dynamic=()), 0)
    assert "concat" in simplified(program)[0]
    same(Executor(program)(x), one_by_one(program, x))


def test_parts_that_leave_gaps_or_overlap(rng):
    (x,) = tensors(rng, (6, 9))
    for places in ((0, 5), (0, 2), (0, 3)):

        def f(x, places=places):
            a, b = (F.slice(x, axes=(1,), starts=(s,), sizes=(4,), steps=(1,)) for s in places)
            return F.sum(F.mul(F.exp(a), b), axes=(0, 1))

        program = gradients(traced(f, x, dynamic=()), 0)
        assert "concat" not in simplified(program)[0]
        same(Executor(program)(x), one_by_one(program, x))


def test_parts_of_a_concatenation(rng):
    x, y = tensors(rng, (4, 3), (4, 5))

    def f(x, y):
        z = F.concat([x, y], axis=1)
        a, b = F.split(z, axis=1, sections=(3, 5))
        return F.exp(b), F.tanh(a), F.exp(F.slice(z, axes=(1,), starts=(2,), sizes=(2,), steps=(1,)))

    program = traced(f, x, y, dynamic=())
    names, _ = simplified(program)
    assert names.count("slice") == 1, "two are the operands themselves"
    same(Executor(program)(x, y), one_by_one(program, x, y))


def rotated(x, cos, sin):
    """Rotary positions: two halves, rotated, put together, and parted along another axis."""
    a, b = F.split(x, axis=3, sections=(2, 2))
    y = F.concat([F.sub(F.mul(a, cos), F.mul(b, sin)), F.add(F.mul(b, cos), F.mul(a, sin))], axis=3)
    q, k = F.split(y, axis=2, sections=(3, 3))
    return F.sum(F.mul(F.exp(q), k), axes=(0, 1, 2, 3))


def test_views_go_into_kernels(rng):
    x, cos, sin = tensors(rng, (2, 5, 6, 4), (5, 1, 2), (5, 1, 2))
    program = gradients(traced(rotated, x, cos, sin, dynamic=()), 0)
    executor = Executor(program)
    same(executor(x, cos, sin), one_by_one(program, x, cos, sin))
    assert not any(o.view for o in ops_of(executor)), groups(executor)


def test_a_transposed_operand_of_several_kernels_is_laid_out_once(rng):
    x, w = tensors(rng, (3, 6, 8), (3, 8, 6))

    def f(x, w):
        y = F.permute(x, perm=(0, 2, 1))
        z = F.mul(y, w)
        return F.sum(z, axes=(2,)), F.sum(y, axes=(0,)), F.matmul(y, x)

    program = traced(f, x, w, dynamic=())
    executor = Executor(program)
    same(executor(x, w), one_by_one(program, x, w))
    names = groups(executor)
    assert sum("relayout" in name for name in names) == 1, names
    assert sum("permute" in name for name in names) == 1, "the product reads the view"


def test_views_of_one_number_are_that_number(rng):
    """Two layers' first states, parts of zeros for all, are alike then; what the caller gets stays a view's copy."""
    (x,) = tensors(rng, (4, 8))

    def f(x):
        zeros = F.full(0.5, shape=(2, 4, 8), dtype=x.dtype)
        first, second = (F.slice(zeros, axes=(0,), starts=(i,), sizes=(1,), steps=(1,)) for i in (0, 1))
        both = [F.exp(F.add(x, F.squeeze(y, axes=(0,)))) for y in (first, second)]
        return (*both, F.permute(F.unsqueeze(zeros, axes=(0,)), perm=(3, 0, 1, 2)))

    program = traced(f, x, dynamic=())
    names, results = simplified(program)
    assert names.count("full") == 2, "one of each shape"
    assert not any(o in names for o in ("slice", "squeeze"))
    assert results[0].operation.operands[0].operation is results[1].operation.operands[0].operation
    same(Executor(program)(x), one_by_one(program, x))


def test_a_copy_of_what_is_transposed_is_made_for_libraries(rng):
    """Who transposes before a matmul means to multiply faster; what a kernel computes needs no such copy."""
    x, w = tensors(rng, (40, 30), (40, 50))

    def f(x, w):
        y = F.copy(F.permute(F.mul(x, 2.0), perm=(1, 0)))
        return F.matmul(F.reshape(y, shape=(30, 40)), w), F.exp(F.copy(F.permute(x, perm=(1, 0))))

    program = traced(f, x, w, dynamic=())
    names, _ = simplified(program)
    assert (names.count("relayout"), names.count("copy"), names.count("permute")) == (1, 0, 1)
    same(Executor(program)(x, w), one_by_one(program, x, w))


def test_a_matrix_taken_transposed_is_laid_out_where_the_backend_wants_it(rng):
    """Once for all products by it, and never where rows are few or operands are no matrices."""
    x, few, w, v = tensors(rng, (2, 600, 96), (7, 96), (64, 96), (2, 64, 96))

    def f(x, few, w, v):
        y = F.matmul(x, w, transpose_y=True)
        again = F.matmul(F.add(x, x), w, transpose_y=True)
        return y, again, F.matmul(few, w, transpose_y=True), F.matmul(x, v, transpose_y=True), F.matmul(y, w)

    program = traced(f, x, few, w, v, dynamic=())
    asked = []

    def lays_out(op, metas):
        asked.append(metas)
        return metas[0].shape[0] == 2

    operations, _ = simplify.simplify(program.ops, program.outputs, lays_out)
    assert [o.name for o in operations].count("relayout") == 1
    assert [o.op.transpose_y for o in operations if o.name == "matmul"] == [False, False, True, True, False]
    assert all(len(metas[1].shape) == 2 for metas in asked)
    same(Executor(program)(x, few, w, v), one_by_one(program, x, few, w, v))


@pytest.mark.parametrize("nested", [False, True])
def test_a_concatenation_at_the_end_of_a_group(nested, rng):
    x, y, z = tensors(rng, (3, 4, 2), (3, 4, 2), (3, 4, 6))

    def f(x, y, z):
        inner = F.concat([F.mul(F.tanh(x), y), F.sub(F.tanh(x), y)], axis=1 if nested else 2)
        if nested:
            first = F.slice(z, axes=(2,), starts=(0,), sizes=(1,), steps=(1,))
            return F.concat([F.exp(inner), F.broadcast_to(first, shape=(3, 4, 2))], axis=1)
        return F.concat([inner, F.exp(z)], axis=2)

    program = traced(f, x, y, z, dynamic=())
    executor = Executor(program)
    same(executor(x, y, z), one_by_one(program, x, y, z))
    assert len(ops_of(executor)) == 1, groups(executor)


def test_sizes_that_are_symbols(rng):
    (x,) = tensors(rng, (6, 8))
    program = gradients(traced(halves, x), 0)
    executor = Executor(program)
    for rows in (6, 3, 11):
        (given,) = tensors(rng, (rows, 8))
        same(executor(given), one_by_one(program, given))


def test_parts_whose_sizes_are_symbols(rng):
    """Along the axis of the parts too: what is not known to fit is left as it is."""
    x, y = tensors(rng, (6, 3), (6, 5))

    def f(x, y):
        z = F.concat([x, y], axis=1)
        a, b = F.split(z, axis=1, sections=(x.shape[1], y.shape[1]))
        return F.sum(F.mul(F.exp(a), 2.0), axes=(0, 1)), F.sum(F.square(b), axes=(0, 1))

    program = gradients(traced(f, x, y), 0, 1)
    executor = Executor(program)
    for n, m in ((3, 5), (2, 7)):
        given = tensors(rng, (4, n), (4, m))
        same(executor(*given), one_by_one(program, *given))


def test_random_bits_are_made_where_they_are_read(rng):
    (x,) = tensors(rng, (6, 8))

    def f(x):
        bits = F.philox((6, 8), 3, 16)
        y = F.mul(x, F.cast(F.bitwise_and(bits, 7), dtype=x.dtype))
        return F.matmul(y, x, transpose_y=True), F.cast(bits, dtype=x.dtype), bits

    program = traced(f, x, dynamic=())
    executor = Executor(program)
    same(executor(x), one_by_one(program, x))
    assert any("philox" in name and "mul" in name for name in groups(executor)), groups(executor)


@pytest.mark.parametrize("wide", ["no", "a part", "the whole", "a result"])
def test_narrowed_parts_of_a_concatenation(wide, rng):
    """Where all of it is narrowed, it is concatenated narrow; nothing is done twice where somebody reads it wide."""
    (x,) = tensors(rng, (4, 8))
    low = convert("bfloat16")

    def f(x):
        whole = F.concat([F.tanh(x), F.exp(x)], axis=1)
        a, b = F.split(whole, axis=0, sections=(2, 2))
        c = F.slice(whole, axes=(0,), starts=(1,), sizes=(2,), steps=(1,))
        made = [F.matmul(y, y, transpose_y=True) for y in (F.cast(v, dtype=low) for v in (a, b, c))]
        if wide == "no":
            return tuple(made)
        return (
            *made,
            F.sum(b, axes=(1,)) if wide == "a part" else F.sum(whole, axes=(0,)) if wide == "the whole" else a,
        )

    program = traced(f, x, dynamic=())
    operations, results = simplify.simplify(program.ops, program.outputs)
    joined = [o for o in fuse.live(operations, results) if type(o.op) is movement.Concat]
    assert [o.results[0].meta.dtype for o in joined] == [low if wide == "no" else F32]
    executor = Executor(program)
    same(executor(x), one_by_one(program, x))


def test_what_a_library_made_narrow_is_concatenated_narrow(rng):
    """The cast between is not memory."""
    x, w = tensors(rng, (4, 8), (8, 8))
    low = convert("bfloat16")

    def f(x, w):
        a = F.cast(F.matmul(F.cast(x, dtype=low), F.cast(w, dtype=low)), dtype=F32)
        b = F.cast(F.matmul(F.cast(x, dtype=low), F.cast(w, dtype=low), transpose_y=True), dtype=F32)
        first, second = F.split(F.concat([a, b], axis=0), axis=1, sections=(4, 4))
        return F.sub(F.mul(first, 2.0), second)

    program = traced(f, x, w, dynamic=())
    executor = Executor(program)
    same(executor(x, w), one_by_one(program, x, w))
    assert "cast(dtype=paddle.float32)" not in groups(executor), groups(executor)


def test_trials_that_promise_too_much(rng, monkeypatch):
    """A group that turns out not to be a kernel runs one by one."""
    x, y = tensors(rng, (4, 8), (4, 8))

    def f(x, y):
        a = F.exp(F.add(x, y))
        return F.sum(F.mul(a, y), axes=(1,)), F.tanh(a)

    program = traced(f, x, y, dynamic=())
    expected = one_by_one(program, x, y)
    # As if other sizes had been tried, and these turn out to be different.
    monkeypatch.setattr(fuse._Fusion, "holds", lambda self, operations: False)
    executor = Executor(program)
    same(executor(x, y), expected)
    assert [name for name in groups(executor) if name.startswith("fused")] == []


def random_calls(rng, count):
    """Calls that the rules look at, with params for which they hold and others for which they almost do."""

    def slice_of(x):
        axes, starts, sizes, steps = [], [], [], []
        for axis in rng.permutation(x.ndim)[: rng.integers(1, x.ndim + 1)]:
            n, step = x.shape[axis], int(rng.choice([1, 1, -1, 2, -2]))
            most = -(-n // abs(step))
            size = most if rng.random() < 0.6 else int(rng.integers(0, most + 1))
            room = n - 1 - (size - 1) * abs(step) if size else 0
            start = int(rng.integers(0, room + 1)) if size and rng.random() < 0.5 else 0
            axes.append(int(axis))
            starts.append(start if step > 0 or not size else start + (size - 1) * -step)
            sizes.append(size)
            steps.append(step)
        return F.slice(x, axes=tuple(axes), starts=tuple(starts), sizes=tuple(sizes), steps=tuple(steps))

    def cut(n):
        """Up to three sizes, zero among them, that make up ``n``."""
        ends = sorted(int(e) for e in rng.integers(0, n + 1, size=rng.integers(0, 3)))
        return tuple(b - a for a, b in zip([0, *ends], [*ends, n]))

    def of_parts(x, y):
        """Parts of a concatenation of ``y`` and ``x``, at its seams or beside them."""
        axis = int(rng.integers(x.ndim))
        fits = [n for a, n in enumerate(x.shape) if a != axis] == [n for a, n in enumerate(y.shape) if a != axis]
        whole = F.concat([x, y if fits and x.ndim == y.ndim else x], axis=axis)
        n = whole.shape[axis]
        if rng.random() < 0.5:
            at = int(rng.choice([0, x.shape[axis], rng.integers(0, n + 1)]))
            size = min(int(rng.choice([x.shape[axis], n - x.shape[axis], rng.integers(0, n + 1)])), n - at)
            step = int(rng.choice([1, 1, 1, -1])) if size else 1
            start = at if step == 1 else at + size - 1
            return F.slice(whole, axes=(axis,), starts=(start,), sizes=(size,), steps=(step,))
        sections = (x.shape[axis], n - x.shape[axis]) if rng.random() < 0.5 else cut(n)
        parts = F.split(whole, axis=axis, sections=sections)
        return parts[rng.integers(len(parts))] if isinstance(parts, tuple) else parts

    def scattered(x):
        """Zeros (or almost) with parts of x, and other parts of it added."""
        axis = int(rng.integers(x.ndim))
        total, at = None, 0
        for n in cut(x.shape[axis]):
            step = int(rng.choice([1, 1, 1, -1])) if n else 1
            start, region = at if step == 1 else at + n - 1, movement.Slice(axes=(axis,))
            part = F.slice(x, axes=(axis,), starts=(at,), sizes=(n,), steps=(1,))
            base = F.full(float(rng.choice([0, 0, 0, 1])), dtype=x.dtype, shape=tuple(x.shape))
            made = F.scatter_view(base, F.tanh(part), region=region, args=(start, n, step))
            total = made if total is None else F.add(total, made)
            at += n
        return total

    def broadcast(x):
        return tuple(3 if n == 1 and rng.random() < 0.5 else n for n in x.shape)

    def summed(x):
        return tuple(1 if rng.random() < 0.3 else n for n in x.shape)[int(rng.random() < 0.2) :]

    def function(*xs):
        values = list(xs)
        for _ in range(count):
            x, y = (values[rng.integers(len(values))] for _ in range(2))
            if not x.ndim:
                x = F.reshape(x, shape=(1, 1))
            kind = rng.integers(10)
            if kind == 0:
                made = slice_of(x)
            elif kind == 1:
                made = of_parts(x, y)
            elif kind == 2:
                made = scattered(x)
            elif kind == 3:
                n = int(np.prod(x.shape))
                made = F.reshape(x, shape=(tuple(x.shape), (n,), (1, n), tuple(x.shape[::-1]))[rng.integers(4)])
            elif kind == 4:
                made = F.broadcast_to(x, shape=broadcast(x))
            elif kind == 5:
                made = F.sum_to(x, shape=summed(x))
            elif kind == 6:
                made = F.cast(F.cast(x, dtype=F64 if rng.random() < 0.5 else F32), dtype=F32)
            elif kind == 7:
                made = F.pow(x, (1, 1.0, 2, 1.5)[rng.integers(4)])
            elif kind == 8:
                made = F.copy(x)
            else:
                made = F.add(x, F.tanh(F.sum_to(x, shape=summed(x))))
            values.append(F.tanh(made) if rng.random() < 0.3 else made)
        return tuple(values[i] for i in rng.integers(len(xs), len(values), size=4))

    return function


@pytest.mark.parametrize("seed", [*range(40), *(pytest.param(s, marks=pytest.mark.slow) for s in range(40, 400))])
def test_random_calls_of_what_the_rules_look_at(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.choice([1, 2, 3, 4, 6], size=2))
    xs = [array.from_numpy(np.abs(array.to_numpy(x)) + np.float32(0.5)) for x in tensors(rng, shape, shape)]
    program = traced(random_calls(rng, 8), *xs, dynamic=())
    found = Executor(program)(*xs)
    same(found, one_by_one(program, *xs))
    if not any(o.op.view or o.name == "sum_to" for o in program.ops):
        assert not {id(y.storage) for y in found} & {id(x.storage) for x in xs}
    made = graph.backward(program, program.inputs, [1.0 for _ in program.outputs])
    program.outputs = [*program.outputs, *made]
    same(
        *([y for y in ys if y is not None] for ys in (Executor(program)(*xs), one_by_one(program, *xs))), tolerance=1e-4
    )


def test_a_reversed_part_is_not_the_whole(rng):
    (x,) = tensors(rng, (5, 4))
    for steps in ((-1, 1), (1, -1), (-1, -1)):
        starts = tuple(0 if s > 0 else n - 1 for s, n in zip(steps, (5, 4)))

        def f(x, starts=starts, steps=steps):
            return F.add(F.slice(F.tanh(x), axes=(0, 1), starts=starts, sizes=(5, 4), steps=steps), x)

        program = traced(f, x, dynamic=())
        assert "slice" in simplified(program)[0]
        same(Executor(program)(x), one_by_one(program, x))


def test_results_are_memory_of_their_own(rng):
    (x,) = tensors(rng, (4, 8))

    def f(x):
        y = F.tanh(x)
        return y, F.pow(y, 1), F.cast(y, dtype=F32), F.copy(F.reshape(x, shape=(8, 4))), F.copy(F.exp(x))

    program = traced(f, x, dynamic=())
    names, _ = simplified(program)
    assert names.count("copy") == 1, "one of what nobody else has is left out"
    found = Executor(program)(x)
    same(found, one_by_one(program, x))
    assert len({id(y.storage) for y in (*found, x)}) == 6


def test_numbers_that_are_symbols(rng):
    """Exponents, steps and fillings that are sizes are no numbers yet."""
    (x,) = tensors(rng, (4, 8))

    def f(x):
        n = x.shape[0]
        rows = F.slice(F.tanh(x), axes=(0,), starts=(0,), sizes=(1,), steps=(n,))
        base = F.full(n - 4, dtype=F32, shape=tuple(x.shape))
        made = F.scatter_view(base, rows, region=movement.Slice(axes=(0,)), args=(0, 1, n))
        return F.add(
            F.add(F.pow(x, n), made), F.scatter_view(base, rows, region=movement.Slice(axes=(0,)), args=(1, 1, 1))
        )

    program = traced(f, x)
    same(Executor(program)(x), one_by_one(program, x))


def test_sums_of_parts_that_broadcast_are_no_concatenation(rng):
    (x,) = tensors(rng, (3, 4))

    def f(x):
        left = F.slice(F.tanh(x), axes=(1,), starts=(0,), sizes=(2,), steps=(1,))
        right = F.slice(F.exp(x), axes=(0, 1), starts=(0, 2), sizes=(1, 2), steps=(1, 1))
        region = movement.Slice(axes=(1,))
        whole = F.scatter_view(F.full(0.0, dtype=F32, shape=(3, 4)), left, region=region, args=(0, 2, 1))
        row = F.scatter_view(F.full(0.0, dtype=F32, shape=(1, 4)), right, region=region, args=(2, 2, 1))
        return F.add(whole, row)

    program = traced(f, x, dynamic=())
    assert "concat" not in simplified(program)[0]
    same(Executor(program)(x), one_by_one(program, x))


def put(value, shape, axis, start):
    """Zeros with a part along one axis."""
    region, args = movement.Slice(axes=(axis,)), (start, value.shape[axis], 1)
    return F.scatter_view(F.full(0.0, dtype=F32, shape=shape), value, region=region, args=args)


ODD_SUMS = {
    "a row for all": lambda x, rows, columns: F.add(put(rows(0, 1), (1, 4), 0, 0), put(rows(1, 1), (3, 4), 0, 1)),
    "a row of less rank": lambda x, rows, columns: F.add(
        put(F.reshape(columns(0, 1), shape=(3,)), (4,), 0, 0), put(rows(1, 1), (3, 4), 0, 1)
    ),
    "a number": lambda x, rows, columns: F.add(put(rows(0, 2), (3, 4), 0, 0), 2.0),
    "empty rows, and columns": lambda x, rows, columns: F.add(
        put(rows(0, 0), (3, 4), 0, 0), put(columns(0, 2), (3, 4), 1, 0)
    ),
    "columns, and empty rows": lambda x, rows, columns: F.add(
        put(columns(0, 2), (3, 4), 1, 0), put(rows(0, 0), (3, 4), 0, 0)
    ),
}


@pytest.mark.parametrize("last", [(0, 2, 1), (0, 3, 0), (1, 2, 2)], ids="axis {0[0]} from {0[1]}".format)
@pytest.mark.parametrize("name", ODD_SUMS)
def test_sums_of_sums_that_are_no_parts(name, last, rng):
    """The inner sum looks like parts along one axis, which the outer one completes."""
    (x,) = tensors(rng, (3, 4))
    axis, start, size = last

    def f(x):
        def cut(axis, start, size):
            return F.exp(F.slice(x, axes=(axis,), starts=(start,), sizes=(size,), steps=(1,)))

        inner = ODD_SUMS[name](x, lambda start, size: cut(0, start, size), lambda start, size: cut(1, start, size))
        return F.add(inner, put(cut(axis, start, size), (3, 4), axis, start))

    program = traced(f, x, dynamic=())
    assert "concat" not in simplified(program)[0]
    same(Executor(program)(x), one_by_one(program, x))


def scattered(rng, x, y):
    """Sums of parts put into zeros, and of what is nearly so: a partition along one axis, and some of it spoilt."""

    def part(axis, start, size, step=1, base=0.0):
        n = x.shape[axis]
        value = F.exp(F.slice(x if rng.random() < 0.5 else y, axes=(axis,), starts=(0,), sizes=(size,), steps=(1,)))
        into = y if base is None else F.full(base, shape=tuple(x.shape), dtype=x.dtype)
        assert 0 <= start < n
        args = (start, size, step)
        return F.scatter_view(into, value, region=movement.Slice(axes=(axis,)), args=args)

    axis = int(rng.integers(2))
    cuts = sorted({0, *(int(c) for c in rng.integers(1, x.shape[axis], 3)), x.shape[axis]})
    parts = [(axis, a, b - a, 1, 0.0) for a, b in zip(cuts, cuts[1:])]
    kind = int(rng.integers(9))
    i = int(rng.integers(len(parts)))
    if kind == 1:  # a part along the other axis
        parts[i] = (1 - axis, int(rng.integers(3)), 2, 1, 0.0)
    elif kind == 2:  # backwards
        _, a, n, _, _ = parts[i]
        parts[i] = (axis, a + n - 1, n, -1, 0.0)
    elif kind == 3:  # into other numbers
        parts[i] = (*parts[i][:4], 1.0 if rng.random() < 0.5 else None)
    elif kind == 4:  # a gap
        del parts[i]
    elif kind == 5:  # twice
        parts.append(parts[i])
    elif kind == 6:  # every second
        parts[i] = (axis, 0, 2, 2, 0.0)
    terms = [part(*parts[k]) for k in rng.permutation(len(parts))] or [F.exp(x)]
    if kind == 7:
        terms.append(F.tanh(x))
    while len(terms) > 1:  # in any nesting
        k = int(rng.integers(len(terms) - 1))
        terms[k : k + 2] = [F.add(terms[k], terms[k + 1])]
    if kind == 8:
        terms.append(F.add(terms[0], 2.0))
    return F.mul(terms[-1], 2.0), *terms[:-1], *(F.sum(terms[0], axes=(0,)) for _ in range(int(rng.integers(2))))


@pytest.mark.parametrize("seed", range(24))
def test_sums_of_scattered_parts(seed, rng):
    x, y = tensors(rng, (6, 7), (6, 7))
    program = traced(lambda x, y: scattered(np.random.default_rng(seed), x, y), x, y, dynamic=())
    expected = one_by_one(program, x, y)
    same(Executor(program)(x, y), expected)


def test_scattered_parts_are_concatenated_where_they_make_up_the_whole(rng):
    """Counted over the random sums above."""
    x, y = tensors(rng, (6, 7), (6, 7))
    counts = {"concat": 0, "scatter_view": 0}
    for seed in range(24):
        names = simplified(traced(lambda x, y: scattered(np.random.default_rng(seed), x, y), x, y, dynamic=()))[0]  # noqa: B023
        for name in counts:
            counts[name] += name in names
    assert counts["concat"] >= 6, counts
    assert counts["scatter_view"] >= 6, counts
