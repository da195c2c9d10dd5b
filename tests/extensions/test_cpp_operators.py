"""Operators in C++: eager, with gradients, captured, static and saved they mean the same; errors tell the cause."""

from __future__ import annotations

import inspect
import traceback
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.utils.cpp_extension import parse_op_info
from umiak.ir.meta import Meta


def leaf(rng, *shape, dtype="float32"):
    return paddle.to_tensor(rng.standard_normal(shape).astype(dtype), stop_gradient=False)


def slopes(y, *xs):
    return [g.numpy() for g in paddle.grad((y * y).sum(), xs)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_relu_of_each_dtype(ops, rng, dtype):
    x = paddle.to_tensor(rng.standard_normal([3, 5])).astype(dtype)
    x.stop_gradient = False
    y = ops.test_relu(x)
    assert y.dtype is x.dtype
    np.testing.assert_array_equal(y.astype("float64").numpy(), np.maximum(x.astype("float64").numpy(), 0))
    (g,) = paddle.grad(y.sum(), x)
    np.testing.assert_array_equal(g.astype("float64").numpy(), x.astype("float64").numpy() > 0)


@pytest.mark.parametrize("shape", [[], [0], [0, 3], [1], [4, 1, 2], [70_000]])
def test_relu_of_each_shape(ops, rng, shape):
    x = leaf(rng, *shape)
    np.testing.assert_array_equal(ops.test_relu(x).numpy(), np.maximum(x.numpy(), 0))


def test_gradients_of_the_second_order(ops, rng):
    x = leaf(rng, 4, 3)
    (first,) = paddle.grad((ops.test_relu(x) ** 2).sum(), x, create_graph=True)
    np.testing.assert_allclose(first.numpy(), 2 * np.maximum(x.numpy(), 0))
    (second,) = paddle.grad(first.sum(), x)
    np.testing.assert_array_equal(second.numpy(), 2.0 * (x.numpy() > 0))


def test_second_gradients_reach_results_that_first_ones_were_computed_of(ops, rng):
    x = leaf(rng, 5)
    y, t = ops.test_tanh(x), np.tanh(x.numpy().astype("float64"))
    (first,) = paddle.grad((y * y).sum(), x, create_graph=True)
    np.testing.assert_allclose(first.numpy(), 2 * t * (1 - t**2), rtol=1e-4, atol=1e-6)
    (second,) = paddle.grad(first.sum(), x)
    np.testing.assert_allclose(second.numpy(), 2 * (1 - t**2) * (1 - 3 * t**2), rtol=1e-4, atol=1e-5)


def test_kernels_get_elements_one_after_the_other(ops, rng):
    x = leaf(rng, 4, 6)
    y = ops.test_relu(x.transpose([1, 0])[1::2])
    np.testing.assert_array_equal(y.numpy(), np.maximum(x.numpy().T[1::2], 0))


def test_an_optional_input(ops, rng):
    x, y = leaf(rng, 2, 3), leaf(rng, 2, 3)
    np.testing.assert_allclose(ops.test_add_optional(x, y).numpy(), x.numpy() + 2 * y.numpy(), rtol=1e-6)
    assert ops.test_add_optional(x, y=None).tolist() == (x + x).tolist()
    gx, gy = (g.numpy() for g in paddle.grad(ops.test_add_optional(x, y).sum(), [x, y]))
    assert (gx == 1).all()
    assert (gy == 2).all()
    (alone,) = paddle.grad(ops.test_add_optional(x, None).sum(), x)
    assert (alone.numpy() == 2).all()


@pytest.mark.parametrize("full_graph", [None, False, True])
@pytest.mark.parametrize("given", [False, True])
def test_a_gradient_of_an_input_that_is_none_may_be_undefined(ops, rng, given, full_graph):
    x, scale = leaf(rng, 2, 3), leaf(rng, 2, 3)
    shift = leaf(rng, 2, 3) if given else None
    f = ops.test_shifted
    if full_graph is not None:
        f = paddle.jit.to_static(lambda *args: ops.test_shifted(*args), full_graph=full_graph)
    wanted = [x, scale, shift] if given else [x, scale]
    for g, right in zip(slopes(f(x, shift, scale), *wanted), (scale, x, paddle.ones([2, 3])), strict=False):
        total = x * scale + (shift if given else 0.0)
        np.testing.assert_allclose(g, (2 * total * right).numpy(), rtol=1e-5)


@pytest.mark.parametrize("listed", [None, 0, 2])
def test_a_list_that_may_be_none(ops, rng, listed):
    x = leaf(rng, 2, 3)
    ys = None if listed is None else [leaf(rng, 2, 3) for _ in range(listed)]
    for f in (lambda: ops.test_add_all(x, ys), paddle.jit.to_static(lambda: ops.test_add_all(x, ys), full_graph=True)):
        total = f()
        np.testing.assert_allclose(total.numpy(), x.numpy() + sum(2 * y.numpy() for y in ys or []), rtol=1e-5)
        for g, factor in zip(slopes(total, x, *(ys or [])), (1, 2, 2), strict=False):
            np.testing.assert_allclose(g, 2 * factor * total.numpy(), rtol=1e-5)


def test_contexts_of_devices(ops):
    assert ops.test_numbered(paddle.ones([2, 2])).tolist() == [[0, 1], [2, 3]]


def test_an_operator_without_inputs(ops):
    fill = paddle.jit.to_static(lambda n: ops.test_filled(n, 1.5) * 2, full_graph=True)
    for n in (3, 0, 5):
        assert ops.test_filled(n, 1.5).tolist() == [1.5] * n
        assert fill(n).tolist() == [3.0] * n


@pytest.mark.parametrize("full_graph", [False, True])
def test_sizes_that_are_no_sums(ops, rng, full_graph):
    f = paddle.jit.to_static(lambda x: ops.test_pairs(x * 2.0), full_graph=full_graph)
    for shape in ([3, 4], [5, 4], [5, 7], [6, 6]):
        x = leaf(rng, *shape)
        wanted = 2 * x.numpy().ravel()[: x.size // 2 * 2].reshape(-1, 2).sum(1)
        np.testing.assert_allclose(f(x).numpy(), wanted, rtol=1e-5)
        np.testing.assert_allclose(slopes(f(x), x)[0].ravel()[: len(wanted) * 2 : 2], 4 * wanted, rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_list_of_inputs(ops, rng, axis):
    shapes = ([2, 3], [2, 3]) if axis else ([2, 3], [5, 3])
    xs = [leaf(rng, *shape) for shape in shapes]
    y = ops.test_join(xs, axis=axis)
    np.testing.assert_array_equal(y.numpy(), np.concatenate([x.numpy() for x in xs], axis))
    for g, x in zip(slopes(y, *xs), xs, strict=True):
        np.testing.assert_allclose(g, 2 * x.numpy(), rtol=1e-6)


def test_inputs_that_are_written_to(ops, rng):
    x, y = leaf(rng, 2, 3), leaf(rng, 2, 3)
    w = x * 1.0
    base = w
    assert ops.test_add_(w, y) is base
    np.testing.assert_allclose(w.numpy(), x.numpy() + y.numpy(), rtol=1e-6)
    for g in slopes(w, x, y):
        np.testing.assert_allclose(g, 2 * w.numpy(), rtol=1e-6)
    view = (x * 1.0).detach()
    ops.test_add_(view[0], y[0].detach())  # through a view
    np.testing.assert_allclose(view.numpy()[0], (x.numpy() + y.numpy())[0], rtol=1e-6)
    with pytest.raises(RuntimeError, match=r"leaf"):
        ops.test_add_(x, y)
    twice = paddle.ones([2])
    ops.test_scale_all_([twice, twice], 3.0)
    assert twice.tolist() == [9.0] * 2
    with pytest.raises(RuntimeError, match=r"different tensors to write to, got one twice"):
        paddle.jit.to_static(lambda x: ops.test_scale_all_([x, x], 3.0), full_graph=True)(twice)
    ops.test_scale_by_([twice, twice], None, [1, 2])
    assert twice.tolist() == [36.0] * 2
    with pytest.raises(ValueError, match="where a gradient is wanted, got one twice"):
        ops.test_scale_by_([w, w], None, [1, 2])
    several = [paddle.ones([2]), paddle.ones([3])]
    assert ops.test_scale_all_(several, 3.0)[1] is several[1]
    assert [x.tolist() for x in several] == [[3.0] * 2, [3.0] * 3]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (lambda x: (x[0:2], x[1:3]), [1.0, 2.0, 0.0, 3.0]),  # as in one memory, where the second swap sees the first
        (lambda x: (x[1:3], x[0:2]), [1.0, 2.0, 0.0, 3.0]),
        (lambda x: (x.reshape([2, 2])[1], x[1:3]), [0.0, 2.0, 3.0, 1.0]),
        (lambda x: (x, x), [0.0, 1.0, 2.0, 3.0]),
        (lambda x: (x[0:2], x[2:4]), [2.0, 3.0, 0.0, 1.0]),  # apart
        (lambda x: (x[::2], x[1::2]), [1.0, 0.0, 3.0, 2.0]),
        (lambda x: (x[0:0], x[1:1]), [0.0, 1.0, 2.0, 3.0]),
    ],
)
def test_views_that_overlap_are_written_as_one_memory(ops, parts, expected):
    x = paddle.arange(4, dtype="float32")
    ops.test_swap_(*parts(x))
    assert x.tolist() == expected


def test_views_that_overlap_otherwise_are_refused(ops):
    x = paddle.arange(4, dtype="float32")
    with pytest.raises(ValueError, match=r"\[test_swap_\] requires tensors to write to that are contiguous .* overlap"):
        ops.test_swap_(x[::2], x[0:2])
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_numbers_and_sizes_decide_ranks_and_dtypes(ops, rng):
    array = rng.standard_normal([3, 4]).astype("float32")
    x = paddle.to_tensor(array)
    kinds = paddle.float32, paddle.float64, paddle.int64
    functions = [ops.test_totals, ops.test_converted, ops.test_squeezed, ops.test_doubled_along]
    for way in (lambda f: f, paddle.jit.to_static, lambda f: paddle.jit.to_static(f, full_graph=True)):
        totals, converted, squeezed, doubled = (way(lambda *args, f=f: f(*args)) for f in functions)
        for k in (1, 0, 3, 0, 1):
            np.testing.assert_allclose(totals(x, k).numpy(), array.sum(1, keepdims=k != 0), rtol=1e-5)
        for k in (0, 1, 2, 1, 0):
            assert converted(x, k).dtype is kinds[k]
        for shape in ([2, 1], [2, 3], [1, 1], [4, 5], [2, 1]):
            assert squeezed(paddle.ones(shape)).shape == [n for n in shape if n != 1]
        for axis in (0, 1, 0):
            assert doubled(x, axis).shape == [6 - 3 * axis, 4 + 4 * axis]
        grads = []
        for k in (0, 1):
            y = x.clone().detach()
            y.stop_gradient = False
            (totals(y * 2, k) ** 2).sum().backward()
            grads.append(y.grad.numpy())
        np.testing.assert_allclose(grads[0], np.repeat(8 * array.sum(1, keepdims=True), 4, 1), rtol=1e-5)
        np.testing.assert_array_equal(grads[0], grads[1])


def test_numbers_that_sizes_give_decide_ranks(ops):
    for full_graph in (False, True):
        function = paddle.jit.to_static(lambda x: ops.test_totals(x, x.shape[0] - 2), full_graph=full_graph)
        for n in (2, 3, 4, 5, 2):
            assert function(paddle.ones([n, 3])).ndim == 1 + (n != 2)


def test_programs_have_calls_of_each_rank(ops, tmp_path):
    class Both(paddle.nn.Layer):
        def forward(self, x):
            return ops.test_totals(x * 2, 1) + ops.test_totals(x, 0)

    x = paddle.arange(6, dtype="float32").reshape([2, 3])
    for sizes in ([2, 3], [None, None]):
        paddle.jit.save(Both(), str(tmp_path / "m"), input_spec=[paddle.static.InputSpec(sizes, "float32")])
        assert paddle.jit.load(str(tmp_path / "m"))(x).tolist() == [[9.0, 18.0], [27.0, 36.0]]


def test_gradients_of_what_is_written_to_see_what_was_written(ops, rng):
    x = leaf(rng, 2, 3)
    w = x * 1.0
    assert ops.test_relu_(w) is w
    (g,) = paddle.grad((w**3).sum(), x)
    np.testing.assert_allclose(g.numpy(), 3 * np.maximum(x.numpy(), 0) ** 2, rtol=1e-5)

    @paddle.jit.to_static(full_graph=True)
    def cubes(x):
        return (ops.test_relu_(x * 1.0) ** 3).sum()

    np.testing.assert_allclose(paddle.grad(cubes(x), x)[0].numpy(), g.numpy(), rtol=1e-5)


def test_sizes_that_the_declaration_leaves_open(ops, rng):
    """Eager calls do without them, and programs where -1 was declared; where a guess from the names was wrong, they
    are missing there."""
    x = leaf(rng, 2, 3)
    for _ in range(2):
        np.testing.assert_array_equal(ops.test_turned(x).numpy(), x.numpy().T)
        assert ops.test_joined([x, x], paddle.to_tensor([1])).shape == [2, 6]
    for f in (lambda x: ops.test_turned(x + 1.0), lambda x: ops.test_joined([x, x], paddle.to_tensor([0]) + 1)):
        np.testing.assert_array_equal(paddle.jit.to_static(f)(x).numpy(), f(x).numpy())  # between two graphs
    with pytest.raises(RuntimeError, match=r"a call in a program"):
        paddle.jit.to_static(lambda x: ops.test_turned(x + 1.0), full_graph=True)(x)
    np.testing.assert_array_equal(paddle.jit.to_static(f, full_graph=True)(x).numpy(), f(x).numpy())


def test_sizes_that_data_decide_in_captured_functions(ops, rng):
    """Between two graphs, or as a part of one that goes on with the sizes that the run has given."""

    def squares(x):
        y, at = ops.test_positive(x * 2.0)
        return (y * y).sum() + at.astype("float32").sum() * x.mean()

    for captured in (paddle.jit.to_static(squares), paddle.jit.to_static(squares, full_graph=True)):
        for n in (0, 3, 5, 3):
            x = leaf(rng, n + 1, 3)
            for a, b in zip(measured_of(captured, x), measured_of(squares, x), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def measured_of(f, x):
    loss = f(x)
    return loss.numpy(), paddle.grad(loss, x)[0].numpy()


def test_functions_of_the_library(ops):
    x = paddle.to_tensor([[1.0, -2.0, 3.5, 0.0], [4.0, 2.0, -1.0, 0.5]])
    order = paddle.argsort(x, 1, descending=True)
    begin = [paddle.sort(x, 1, descending=True), order, *paddle.topk(x, 2), (x * (0.5 + x) - x) * 2.0 + 1.0]
    begin[-1] = paddle.clip(begin[-1], -10.0, 10.0)
    begin += [x[:, 2:], x[0], x.argmax(1), x.argmin(0), x.cumsum(1)]
    wanted = np.concatenate([t.astype("float32").numpy().ravel() for t in begin])
    np.testing.assert_allclose(ops.test_functions(x).numpy()[: len(wanted)], wanted, rtol=1e-6)


def test_sums_and_functions_of_an_index(ops, rng):
    x, i = paddle.to_tensor(rng.standard_normal([2, 4])), paddle.to_tensor([1, 0])
    a, column = x.numpy(), i.unsqueeze(1)
    backwards = a[:, ::-1].cumsum(1)[:, ::-1]
    right = [a.cumsum(0) - a, backwards, backwards - a, a.ravel().cumsum(), paddle.logsumexp(x, 1)]
    right += [paddle.put_along_axis(x, column, 1.0, 1, "add"), a + a[::-1], np.minimum(a, 0), a.repeat(2, 1), a[::-1]]
    right += [a[::-1] * [[0], [1]], a + [[1, 0, 0, 0]] * 2, a[::-1, :1], np.where([[0, 1, 0, 0], [1, 0, 0, 0]], 1, a)]
    right += [paddle.nn.functional.swiglu(x), paddle.nn.functional.swiglu(x, x), x, x]
    right += [paddle.nn.functional.swiglu(x), [1, 3, 5]]
    right += [np.roll(a, 1, 1), a[::-1], a + a[::-1]]
    found = ops.test_indexed(x, i).numpy()
    np.testing.assert_allclose(found, np.concatenate([np.asarray(y).ravel() for y in right]), rtol=1e-9, atol=1e-12)


def test_sums_are_of_the_dtype_of_their_elements(ops):
    x = paddle.to_tensor([[1, 2, 3]], "int32")
    assert ops.test_sums(x).dtype is paddle.int32
    assert ops.test_sums(x).tolist() == [[0, 1, 3]]


def test_memory_of_the_library_itself(ops):
    """It is given back when the last tensor over it is gone, and one over no elements gives it back at once."""

    def back():
        return int(ops.test_given_back(x))

    x, before = paddle.zeros([2, 3], "float64"), int(ops.test_given_back(paddle.zeros([2, 3], "float64")))
    y = ops.test_lent(x, 0)
    row = y[1]
    row[0] = 9.0
    assert y.numpy().tolist() == [[0, 1, 2], [9, 4, 5]]
    array = np.from_dlpack(y)
    del y
    assert (row + 1).numpy().tolist() == [10, 5, 6]
    del row
    assert back() == before
    assert array.sum() == 21
    del array
    assert back() == before + 1
    for how, wanted in ((1, [[0, 3], [1, 4], [2, 5]]), (2, [[5], [4], [3], [2], [1], [0]])):
        assert ops.test_lent(x, how).numpy().tolist() == wanted
    assert ops.test_lent(x, 3).shape == [0, 3]
    assert back() == before + 4
    assert ops.test_lent(x, 4).numpy().tolist() == [[7], [8]]
    assert back() == before + 4


def test_memory_of_the_library_itself_in_programs(ops, rng):
    before = int(ops.test_given_back(paddle.zeros([1], "float64")))
    captured = paddle.jit.to_static(lambda x: ops.test_lent(x * 2.0, 0) + x, full_graph=True)
    for shape in ([2, 3], [3, 2], [2, 3]):
        x = paddle.to_tensor(rng.standard_normal(shape))
        np.testing.assert_allclose(captured(x).numpy(), x.numpy() + np.arange(6.0).reshape(shape))
    assert int(ops.test_given_back(paddle.zeros([1], "float64"))) >= before + 3


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (5, r"requires the address of 6 elements, got a null pointer"),
        (6, r"requires an address that is a multiple of 8 for elements of float64, got 0x"),
        (7, r"requires sizes of 0 or more, got \[2, -3\]"),
        (8, r"requires elements that 64 bits can count, got sizes \[1099511627776, 1099511627776\]"),
        (9, r"a dtype is required"),
        (10, r"requires a stride for each of 2 axes, got 1"),
    ],
)
def test_memory_that_no_tensor_can_be_over_stays_the_librarys(ops, how, message):
    x = paddle.zeros([2, 3], "float64")
    before = int(ops.test_given_back(x))
    with pytest.raises((ValueError, TypeError), match=message):
        ops.test_lent(x, how)
    assert int(ops.test_given_back(x)) == before


def test_attributes_of_all_types(ops):
    x = paddle.zeros([1])
    y = ops.test_attributes(x, True, 2, 0.5, 2**40, "abc", [1, 2], [0.25, 1], [2**33], ["é", ""])
    assert float(y.astype("float64")) == pytest.approx(1 + 2 + 0.5 + 2**40 + 3 + 3 + 1.25 + 2**33 + 2)
    empty = ops.test_attributes(x, flag=False, i=-1, f=1, l=0, text="", ints=[], floats=[], longs=[], texts=[])
    assert float(empty) == 0.0
    with pytest.raises(TypeError, match=r"requires int for argument 'i', got str"):
        ops.test_attributes(x, True, "2", 0.5, 0, "", [], [], [], [])
    with pytest.raises(OverflowError, match=r"\[test_attributes\] an attribute int is too narrow for 1099511627776"):
        ops.test_attributes(x, True, 2**40, 0.5, 0, "", [], [], [], [])
    with pytest.raises(TypeError, match=r"requires argument 'texts'"):
        ops.test_attributes(x, True, 2, 0.5, 0, "", [], [], [])


def test_attributes_may_be_numbers_of_numpy(ops):
    integers, floats = [np.int8(1), 2], [np.float32(0.25), np.float64(1.5)]
    numbers = np.bool_(True), np.int64(2), np.float32(0.5), np.int32(7), "abc", integers, floats, [np.uint8(9)], []
    for gradient in (False, True):
        x = paddle.to_tensor([1.0], stop_gradient=not gradient)
        assert float(ops.test_attributes(x, *numbers)) == 1 + 1 + 2 + 0.5 + 7 + 3 + 3 + 1.75 + 9


def test_results_of_other_shapes_and_dtypes(ops, rng):
    x = leaf(rng, 4, 3)
    head, sizes = ops.test_ends(x, count=2)
    np.testing.assert_array_equal(head.numpy(), x.numpy()[:2])
    assert sizes.tolist() == [3] * 4
    assert sizes.dtype is paddle.int64


def step(ops, x, y):
    """Operators of each kind in one function."""
    joined = ops.test_join([ops.test_relu(x * 1.0), y], 0)
    head = ops.test_ends(joined, 1)[0]
    total = x * 2.0
    ops.test_add_(total, y)
    return ops.test_add_optional(total, None).sum() + (head * head).sum() + (ops.test_relu(joined) ** 2).sum()


def measured(f, x, y):
    loss = f(x, y)
    return [loss.numpy(), *(g.numpy() for g in paddle.grad(loss, [x, y]))]


@pytest.mark.parametrize("full_graph", [False, True])
def test_captured(ops, rng, full_graph):
    captured = paddle.jit.to_static(lambda x, y: step(ops, x, y), full_graph=full_graph)
    for n in (2, 3, 2, 5):
        x, y = leaf(rng, n, 3), leaf(rng, n, 3)
        want = measured(lambda x, y: step(ops, x, y), x, y)
        for a, b in zip(measured(captured, x, y), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_static_and_saved(ops, rng, tmp_path):
    class Model(paddle.nn.Layer):
        def forward(self, x, y):
            return ops.test_join([x, ops.test_relu(y)], 0), *ops.test_ends(x, 2), step(ops, x, y)

    path = str(tmp_path / "model")
    paddle.jit.save(Model(), path, [paddle.static.InputSpec([None, 3]), paddle.static.InputSpec([None, 3])])
    loaded = paddle.jit.load(path)
    for n, m in ((3, 3), (5, 5)):
        x, y = leaf(rng, n, 3), leaf(rng, m, 3)
        for a, b in zip(loaded(x, y), Model()(x, y), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            x = paddle.static.data("x", [None, 3])
            x.stop_gradient = False
            y = ops.test_relu(x)
            (g,) = paddle.static.gradients([(y * y).sum()], [x])
            fed = rng.standard_normal([4, 3]).astype("float32")
            got = paddle.static.Executor().run(feed={"x": fed}, fetch_list=[y, g])
    finally:
        paddle.disable_static()
    np.testing.assert_allclose(got[0], np.maximum(fed, 0))
    np.testing.assert_allclose(got[1], 2 * np.maximum(fed, 0), rtol=1e-6)


def test_sharding_rules_are_understood(ops):
    x, y = Meta((4, 6), paddle.float32), Meta((4, 3), paddle.float32)
    relu = paddle.ops.cpp.test_relu.definition.op(("x",), "node")
    assert relu.shard(x, (), ()) == "x0_0 x0_1 -> x0_0 x0_1"
    join = paddle.ops.cpp.test_join.definition.op((("[", "x", "x"), "i"), "node")
    assert join.shard(x, y, (1,), ()) == "x0_0 x0_1, x0_0 x1_1 -> x0_0 1 ; x0_1=replicated x1_1=replicated"


ERRORS = [
    (0, OSError, r"\[test_refused\] refused, with 6 elements \(.*operators\.cc:\d+\)"),
    (1, ValueError, r"\[test_refused\] an argument that is invalid \(of the operator at .*operators\.cc:\d+\)"),
    (2, IndexError, r"\[test_refused\] an index"),
    (3, RuntimeError, r"\[test_refused\] something"),
    (4, RuntimeError, r"\[test_refused\] an exception that is no std::exception"),
    (5, MemoryError, r"\[test_refused\] std::bad_alloc"),
    (6, ValueError, r"\[test_refused\] its kernel requires 1 results, as its Outputs say, got 0"),
    (7, ValueError, r"\[test_refused\] requires tensors as results of its kernel, got an undefined one as result 0"),
    (8, ValueError, r"test_refused\] requires result 0 to be float32 .* as its declaration says, got int32"),
    (9, ValueError, r"test_refused\] requires result 0 to be float32 of shape \[2, 3\], .* of shape \[1\]"),
    (10, ValueError, r"\[test_refused\] \[matmul\] requires"),
    (11, RuntimeError, r"\[test_refused\] Tensor::dtype\(\) requires a tensor with data, got an undefined one"),
    (12, RuntimeError, r"\[test_refused\] Tensor::data<int64>\(\) requires a tensor of this dtype, got float32"),
    (13, ValueError, r"\[test_refused\] \[empty\] requires sizes of 0 or more, got \[-3\]"),
]


@pytest.mark.parametrize(("which", "kind", "message"), ERRORS)
def test_kernels_that_fail(ops, which, kind, message):
    with pytest.raises(kind, match=message) as caught:
        ops.test_refused(paddle.ones([2, 3]), which)
    assert __file__ in "".join(traceback.format_exception(caught.value))  # where the user has called it
    assert ops.test_refused(paddle.ones([2, 3]), 99).shape == [2, 3]  # and the next call is right


ENFORCED = [
    (
        0,
        ValueError,
        r"\[test_enforced\] 2 of op, 100%:  1.50\|7  \|007\|ff: it is required that rank == 3, got 2 and 3 \(.*c:\d+",
    ),
    (1, RuntimeError, r"\[test_enforced\] nothing: it is required that nothing != nullptr, got 0 and nullptr"),
    (2, IndexError, r"\[test_enforced\] null: nothing must not be null"),
    (3, TypeError, r"\[test_enforced\] dtype float32: .*, got float32 and int32"),
    (4, NotImplementedError, r"\[test_enforced\] op is not there \("),
    (5, SystemError, r"\[test_enforced\] no device"),
    (6, MemoryError, r"\[test_enforced\] dims \[2, 3\]"),
    (7, OSError, r"\[test_enforced\] outside"),
    (8, RuntimeError, r"\[test_enforced\] before"),
    (9, ValueError, r"\[test_enforced\] flag 1: it is required that x.is_gpu\(\)"),
    (10, OSError, r"\[test_enforced\] place"),
]


@pytest.mark.parametrize(("which", "kind", "message"), ENFORCED)
def test_requirements_in_the_words_of_the_reference(ops, which, kind, message):
    with pytest.raises(kind, match=message):
        ops.test_enforced(paddle.ones([2, 3]), which)
    assert ops.test_enforced(paddle.ones([2]), 99).tolist() == [2.0, 2.0]


def test_arguments_that_are_none(ops):
    with pytest.raises(TypeError, match=r"test_relu\] requires Tensor for argument 'x', got NoneType"):
        ops.test_relu(None)
    with pytest.raises(TypeError, match=r"requires Tensor for argument 'x', got ndarray"):
        ops.test_relu(np.ones(2))
    with pytest.raises(TypeError, match=r"relu has no kernel for int64"):
        ops.test_relu(paddle.ones([2], "int64"))
    with pytest.raises(RuntimeError, match=r"\[test_join\] at least one tensor is required \(.*operators.cc:\d+\)"):
        ops.test_join([], 0)


def test_headers_are_where_flags_of_compilers_name_them():
    root = Path(paddle.sysconfig.get_include())
    assert (root / "paddle" / "extension.h").is_file()
    assert (root / "compat" / "torch" / "library.h").is_file()


def test_functions_tell_what_they_are(ops):
    assert str(inspect.signature(ops.test_join)) == "(x, axis)"
    assert "cpp::test_add_optional(Tensor x, Tensor? y) -> Tensor" in ops.test_add_optional.__doc__
    assert parse_op_info("test_ends") == (["X"], ["count"], ["Head", "Sizes"])
    assert not hasattr(ops, "test_relu_grad")


def test_operators_by_name(ops, rng):
    x = leaf(rng, 2, 3)
    run = paddle.base.core.eager._run_custom_op
    (y,) = run("test_relu", x)
    assert y.tolist() == ops.test_relu(x).tolist() and slopes(y, x)[0].any()
    with pytest.raises(ValueError, match=r"\[_run_custom_op\] requires the name of an operator .*'test_relu'"):
        run("nothing", x)


def test_memory_of_devices_is_not_read_by_kernels_of_the_processor(ops, fake):
    """Addresses of the fake device are no addresses of the processor: who reads one crashes."""
    x = paddle.to_tensor([-1.0, 2.0], place="fake:0")
    with pytest.raises(RuntimeError, match=r"\[test_relu_\] .*the processor can read, got that of Place\(fake:0\)"):
        ops.test_relu_(x)
    assert ops.test_relu_(x.cpu()).tolist() == [0.0, 2.0]
