"""Functions that are called without a frame of Python do what the functions in whose place they stand do."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

import paddle
import paddle.nn.functional as f
from tests.support.harness import python_calls
from umiak.core.direct import Direct
from umiak.runtime.observe import observe

FUNCTIONS = {
    f"{fn.__module__}.{fn.__name__}": fn
    for home in (paddle, f, paddle.Tensor)
    for fn in vars(home).values()
    if isinstance(fn, Direct) and fn.quick
}


def operands():
    """What calls may bring: usual operands, and what is left to the function."""
    x = paddle.to_tensor([[0.25, 0.5, 0.75], [0.125, 1.0, 0.375]])
    ints, flags = paddle.to_tensor([[1, 2, 3], [6, 5, 4]]), paddle.to_tensor([[True, False, True]])
    yield from ((x,), (ints,), (flags,), (paddle.to_tensor(0.5),), (paddle.zeros([0, 3]),), (x.astype("float64"),))
    yield from ((x, x), (x, 0.5), (x, 2), (0.5, x), (x, ints), (ints, ints), (flags, flags), (x, x[0]), (x, x[:, :1]))
    yield from (
        (x, 0),
        (x, -1),
        (x, 1),
        (x, 2),
        (x, -3),
        (x, None),
        (x, True),
        (x, [0, 1]),
        (x, (1, 0)),
        (x, [1, 0, 2]),
        (x, [x]),
        (x, 2**70),
        (x, ints[0, 0]),
    )
    yield from ((x, x.t()), (x, x.t(), x[0, :2]), (x, x.t(), None), (x, x, x), (x, np.ones((2, 3), "float32")))
    yield from ((), (3,), ("text",), (None,), (x, "text"), (x, paddle.ones([5])), (np.ones((2, 3), "float32"), x))


def keywords():
    x = paddle.to_tensor([[0.25, 0.5, 0.75], [0.125, 1.0, 0.375]])
    yield from (((x,), {"axis": 0}), ((x,), {"axis": -1}), ((x,), {"axis": 5}), ((x,), {"name": "y"}), ((), {"x": x}))
    yield from (((), {"x": x, "perm": [1, 0]}), ((x,), {"perm": (-1, 0)}), ((), {"y": x, "x": x}))
    yield from (((), {"x": x, "y": x}), ((x,), {"y": x}), ((), {"input": x, "other": x}), ((x,), {"keepdim": True}))
    yield from (((x,), {"axis": 0, "keepdim": True}), ((x, x), {"out": paddle.zeros([2, 3])}), ((x,), {"nothing": 1}))


def outcome(fn, args, kwargs):
    """A result with all that tells it from others, or the error."""
    try:
        y = fn(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    if not isinstance(y, paddle.Tensor):
        return y
    return y.dtype, y.shape, y.stop_gradient, y.numpy().tobytes()


def test_there_are_many():
    assert len(FUNCTIONS) > 100
    assert {"add", "matmul", "softmax", "relu", "linear", "sum"} <= {name.rpartition(".")[2] for name in FUNCTIONS}


@pytest.mark.parametrize("fn", FUNCTIONS.values(), ids=FUNCTIONS)
def test_it_is_the_function(fn):
    def watched(*args, **kwargs):  # nothing is done without the function while somebody looks on
        with observe(lambda *_: None):
            return fn(*args, **kwargs)

    both = []
    for call in (fn, watched):  # each with operands of its own: some calls write into them
        both.append([outcome(call, args, {}) for args in operands()])
        both[-1] += [outcome(call, args, kwargs) for args, kwargs in keywords()]
    assert both[0] == both[1]


def test_usual_calls_enter_no_function():
    x = paddle.ones([3, 3])
    w, b = paddle.ones([3, 3]), paddle.ones([3])
    w.stop_gradient = False
    calls = [
        lambda: paddle.add(x, w),
        lambda: paddle.multiply(x, 2.0),
        lambda: x.subtract(w),
        lambda: paddle.add(x=x, y=w),
        lambda: paddle.matmul(x, y=w),
        lambda: x.transpose([1, 0]),
        lambda: paddle.transpose(x=w, perm=(1, 0)),
        lambda: paddle.exp(x),
        lambda: x.tanh(),
        lambda: paddle.maximum(x, w),
        lambda: paddle.matmul(x, w),
        lambda: x.matmul(w),
        lambda: f.softmax(x),
        lambda: f.softmax(w, axis=-1),
        lambda: f.softmax(x, 0),
        lambda: f.relu(w),
        lambda: f.linear(x, w, b),
        lambda: f.linear(x, w),
        lambda: x.sum(),
        lambda: x.mean(0),
        lambda: paddle.sum(w, axis=1),
        lambda: w.clear_grad(),
        lambda: paddle.sum(w).backward(),
    ]
    for call in calls:
        call()
        call()
        assert not python_calls(call), call


@pytest.mark.parametrize(
    ("most", "call"),
    [
        (0, "x.size"),
        (0, "x.shape[1:]"),
        (0, "x.shape == (4, 4)"),
        (1, "paddle.arange(8)"),
        (1, "x[i]"),
        (1, "x.reshape([2, 8])"),
        (3, "paddle.grad(s, [g], retain_graph=True)"),
        (3, "paddle.nan_to_num(x)"),
        (3, "f.pad(x, [1, 2, 1, 2])"),
        (4, "x.flatten()"),
        (4, "f.avg_pool2d(im, 2)"),
        (4, "f.max_pool2d(im, 2)"),
        (5, "paddle.take_along_axis(x, j, 1)"),
        (8, "paddle.randn([8])"),
        (13, "f.interpolate(im, scale_factor=2, mode='bilinear')"),
    ],
)
def test_what_arguments_mean_is_found_once(most, call):
    """Functions of Python that a call enters which there was before, itself included."""
    x, g, i, j = paddle.ones([4, 4]), paddle.ones([4, 4]), paddle.arange(4), paddle.zeros([4, 4], "int64")
    im = paddle.ones([1, 4, 8, 8])
    g.stop_gradient = False
    run = eval(f"lambda: {call}", {"paddle": paddle, "f": f, "x": x, "i": i, "j": j, "g": g, "s": g.sum(), "im": im})
    run()
    assert len(python_calls(run)) <= most


def test_windows_of_other_sizes_are_not_those_found_before():
    """A pool whose windows fitted once, on images where they do not fit, by other pads, and on other operands."""
    small, large = paddle.arange(4.0).reshape([1, 1, 2, 2]), paddle.arange(16.0).reshape([1, 1, 4, 4])
    for _ in range(2):
        assert f.max_pool2d(large, 3, 1).tolist() == [[[[10.0, 11.0], [14.0, 15.0]]]]
        assert f.avg_pool2d(large, 3, 1).tolist() == [[[[5.0, 6.0], [9.0, 10.0]]]]
        assert f.max_pool2d(small, 3, 2).tolist() == [[[[3.0]]]]
        assert f.avg_pool2d(small, 2, 2).tolist() == [[[[1.5]]]]
        assert f.avg_pool2d(small, 2, 2, 1).tolist() == [[[[0.0, 1.0], [2.0, 3.0]]]]
        assert f.avg_pool2d(small, 2, 2, 1, exclusive=False).tolist() == [[[[0.0, 0.25], [0.5, 0.75]]]]
        assert f.avg_pool2d(small, (2, 1), [1, 1]).tolist() == [[[[1.0, 2.0]]]]
        values, where = f.max_pool2d(large, 2, return_mask=True)
        assert values.tolist() == [[[[5.0, 7.0], [13.0, 15.0]]]] and where.tolist() == [[[[5, 7], [13, 15]]]]
        with pytest.raises(ValueError):
            f.avg_pool2d(small[0], 2)
        with pytest.raises(TypeError):
            f.avg_pool2d("image", 2)
        with pytest.raises(ValueError):
            f.max_pool2d(large, 0)


def test_resampling_is_told_apart_by_all_that_counts():
    x = paddle.to_tensor([[[[0.0, 4.0]]]])
    double = x.astype("float64")
    for _ in range(2):
        assert f.interpolate(x, [1, 4], mode="bilinear").tolist() == [[[[0.0, 1.0, 3.0, 4.0]]]]
        assert f.interpolate(double, [1, 4], mode="bilinear").dtype == paddle.float64
        assert f.interpolate(x, [1, 4], mode="bilinear", align_mode=1).tolist() == [[[[0.0, 2.0, 4.0, 4.0]]]]
        corners = f.interpolate(x, [1, 5], mode="bilinear", align_corners=True)
        assert corners.tolist() == [[[[0.0, 1.0, 2.0, 3.0, 4.0]]]]
        assert f.interpolate(x, [1, 4]).tolist() == [[[[0.0, 0.0, 4.0, 4.0]]]]
        half = f.interpolate(x.astype("bfloat16"), [1, 4], mode="bilinear")
        assert half.dtype == paddle.bfloat16 and half.astype("float32").tolist() == [[[[0.0, 1.0, 3.0, 4.0]]]]
        captured = paddle.jit.to_static(lambda y: f.interpolate(y, [1, 4], mode="bilinear") * 2)
        assert captured(x).tolist() == [[[[0.0, 2.0, 6.0, 8.0]]]] == captured(x).tolist()


def test_take_names_the_index_that_is_outside():
    x = paddle.arange(6)
    for _ in range(2):
        assert paddle.take(x, paddle.to_tensor([[-6, 5]])).tolist() == [[0, 5]]
        for wrong in (6, -7):
            with pytest.raises(ValueError, match=rf"^\[take\] requires indices from -6 to 5, got {wrong}$"):
                paddle.take(x, paddle.to_tensor([0, wrong]))


def test_ranges_of_far_numbers():
    far = 2**62
    assert paddle.arange(far - 2, far + 2).tolist() == [far - 2, far - 1, far, far + 1]
    assert paddle.arange(-far, far, far).tolist() == [-far, 0] and paddle.arange(3, 3).shape == [0]
    assert paddle.arange(2, -3, -2).tolist() == [2, 0, -2] and paddle.arange(5, 2).shape == [0]
    for wrong in (2**63 + 5, -(2**70)):
        with pytest.raises(OverflowError):
            paddle.arange(wrong - 1, wrong)
    with pytest.raises(ValueError):
        paddle.arange(0, 3, 0)


def test_operators_of_subclasses_are_heard():
    class Loud(paddle.Tensor):
        def __add__(self, other):
            return "loud"

    x = Loud()
    x._share(paddle.ones([2]))
    assert paddle.add(x, paddle.ones([2])) == "loud" == x.add(1.0)


def test_gradients():
    x = paddle.to_tensor([[0.5, -1.0]], stop_gradient=False)
    f.softmax(f.relu(paddle.multiply(x, 3.0)).sum(0)).sum().backward()
    w = paddle.to_tensor([[1.0], [2.0]], stop_gradient=False)
    f.linear(x, w).backward()
    assert w.grad.tolist() == [[0.5], [-1.0]]


@pytest.mark.parametrize("fn", [paddle.add, f.relu, paddle.sum])
def test_it_looks_like_a_function(fn):
    assert callable(fn) and fn.__name__ in repr(fn) and fn.__doc__ and fn.__module__.startswith("paddle.")
    assert next(iter(inspect.signature(fn).parameters)) == "x"
    assert pickle.loads(pickle.dumps(fn)) is fn is copy.deepcopy(fn)
    assert inspect.isroutine(fn)


def test_methods():
    x = paddle.ones([2])
    bound = x.add
    assert bound(x).tolist() == [2, 2]
    assert bound.__self__ is x
    assert paddle.Tensor.add is paddle.add
    assert next(map(paddle.Tensor.exp, [paddle.zeros([1])])).tolist() == [1]
