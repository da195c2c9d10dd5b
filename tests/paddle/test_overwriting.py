"""Writes of some elements: in the memory of the tensor, as a copy would have them; what fails writes nothing."""

import numpy as np
import pytest

import paddle

DTYPES = ["float32", "bfloat16", "float16", "int64", "bool", "complex64", "uint8"]


def numbers(rng, shape, dtype):
    return paddle.to_tensor(rng.integers(0, 2 if dtype == "bool" else 90, shape).astype("float32")).astype(dtype)


def values(x):
    return x.astype("complex128" if "complex" in str(x.dtype) else "float64").numpy()


def index(*numbers):
    return paddle.to_tensor(list(numbers))


# Name -> (write in place, the same as NumPy writes it), both of x of shape [6, 5, 4] and updates that broadcast.
WRITES = {
    "rows": (lambda x, y: x.__setitem__(index(4, -6), y), lambda x, y: x.__setitem__([4, -6], y)),
    "a later axis": (
        lambda x, y: x.__setitem__((slice(None), index(1, 4)), y[:, None]),
        lambda x, y: x.__setitem__((slice(None), [1, 4]), y[:, None]),
    ),
    "two axes": (
        lambda x, y: x.__setitem__((index(1, 4), index(0, -1)), y[:, 0]),
        lambda x, y: x.__setitem__(([1, 4], [0, -1]), y[:, 0]),
    ),
    "axes apart": (
        lambda x, y: x.__setitem__((index(1), slice(None), index(3)), y[:1, 0, :1]),
        lambda x, y: x.__setitem__(([1], slice(None), [3]), y[:1, 0, :1]),
    ),
    "axes behind": (
        lambda x, y: x.__setitem__((slice(None), index(1), index(3)), y[:1, 0, :1]),
        lambda x, y: x.__setitem__((slice(None), [1], [3]), y[:1, 0, :1]),
    ),
    "of a slice": (
        lambda x, y: x[1:5].__setitem__(index(0, 3), y),
        lambda x, y: x[1:5].__setitem__([0, 3], y),
    ),
    "of every second": (
        lambda x, y: x[::2].__setitem__(index(0, 2), y),
        lambda x, y: x[::2].__setitem__([0, 2], y),
    ),
    "a mask": (
        lambda x, y: x.__setitem__(x == x[0, 0, 0], y[0, 0, 0]),
        lambda x, y: x.__setitem__(x == x[0, 0, 0], y[0, 0, 0]),
    ),
    "scatter_": (
        lambda x, y: x.scatter_(index(3, 0), y.expand([2, x.shape[1], 4])),
        lambda x, y: x.__setitem__([3, 0], y),
    ),
    "index_put_": (
        lambda x, y: x.index_put_((index(2, 3), index(1, 1)), y[:, 0]),
        lambda x, y: x.__setitem__(([2, 3], [1, 1]), y[:, 0]),
    ),
    "index_fill_": (
        lambda x, y: x.index_fill_(index(1, 2), 2, 1),
        lambda x, y: x.__setitem__((slice(None), slice(None), [1, 2]), 1),
    ),
}


def drawn(rng, dtype):
    x, y = numbers(rng, (6, 5, 4), dtype), numbers(rng, (2, 1, 4), dtype)
    return x, y


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WRITES)
def test_as_numpy(rng, name, dtype):
    write, by_numpy = WRITES[name]
    x, y = drawn(rng, dtype)
    want, updates = values(x).copy(), values(y)
    by_numpy(want, updates[:1] if name == "a later axis" else updates)
    view, version = x[2:4, 1], x.inplace_version
    write(x, y[:1] if name == "a later axis" else y)
    np.testing.assert_array_equal(values(x), want)
    np.testing.assert_array_equal(values(view), want[2:4, 1])
    assert x.inplace_version > version


@pytest.mark.parametrize("mode", ["add", "mul", "amin", "amax", "assign"])
def test_combined(rng, mode):
    x = numbers(rng, (5, 4), "float32")
    places, updates = paddle.to_tensor([[0, 2, 0], [1, 1, 4]]), numbers(rng, (2, 3), "float32")
    if mode == "assign":
        places = paddle.to_tensor([[0, 2, 3], [1, 3, 4]])
    want = paddle.put_along_axis(x, places, updates, 0, mode, broadcast=False)
    x.put_along_axis_(places, updates, 0, mode, broadcast=False)
    assert x.tolist() == want.tolist()


def test_added(rng):
    x = numbers(rng, (5, 4), "float32")
    want = x.numpy().copy()
    np.add.at(want, [1, 1, 3], 2.0)
    assert x.index_add_(index(1, 1, 3), 0, paddle.full([3, 4], 2.0)) is x
    assert x.tolist() == want.tolist()


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize("name", [n for n in WRITES if n not in ("of every second", "a mask", "index_fill_")])
def test_nothing_is_copied(rng, name):
    """Neither in memory nor elsewhere: a write allocates less than the tensor takes."""
    x = paddle.zeros([600, 500, 4])
    y = numbers(rng, (2, 1, 4), "float32")
    y = y[:1] if name == "a later axis" else y
    write = WRITES[name][0]
    write(x, y)
    paddle.device.reset_max_memory_allocated("cpu")
    before, address = paddle.device.memory_allocated("cpu"), x.data_ptr()
    write(x, y)
    assert x.data_ptr() == address
    assert paddle.device.max_memory_allocated("cpu") - before < x.nbytes // 4


FAILING = {
    "set": lambda x: x.__setitem__(index(0, 6), 1),
    "put": lambda x: x.__setitem__((index(0, 0), index(1, 5)), 1),
    "scatter_": lambda x: x.scatter_(index(0, 6), paddle.ones([2, 5, 4])),
    "index_add_": lambda x: x.index_add_(index(0, -7), 0, paddle.ones([2, 5, 4])),
    "put_along_axis_": lambda x: x.put_along_axis_(paddle.full([6, 5, 4], 6, "int64"), 1.0, 0),
}


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_writes_nothing(rng, name):
    x = numbers(rng, (6, 5, 4), "float32")
    before = x.numpy().copy()
    with pytest.raises(IndexError, match="requires an index"):
        FAILING[name](x)
    np.testing.assert_array_equal(x.numpy(), before)


def test_updates_may_be_of_the_tensor_itself(rng):
    x = numbers(rng, (6, 4), "float32")
    want = x.numpy().copy()
    want[[0, 1]] = want[1:3]
    x[index(0, 1)] = x[1:3]
    assert x.tolist() == want.tolist()
    places = paddle.to_tensor([2, 0, 1])
    places[places] = places * 2
    assert places.tolist() == [0, 2, 4]


def test_gradients_are_kept():
    """What has a history is written as ever."""
    a = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    x = a * 1
    x[index(0, 2)] = a[:2] * 10
    (x * paddle.to_tensor([1.0, 2.0, 4.0])).sum().backward()
    assert a.grad.tolist() == [10.0, 42.0, 0.0]
    x = a * 1
    square = x * x
    with paddle.no_grad():
        x[index(0)] = 7.0
    assert x.tolist() == [7.0, 2.0, 3.0]
    with pytest.raises(RuntimeError, match=r"version|in.place"):
        square.sum().backward()


@pytest.mark.parametrize("full_graph", [False, True])
def test_a_cache_in_a_captured_function(full_graph):
    """Written as the eager function does, also when a view of the cache is what is written."""

    def step(cache, new, at):
        cache[at] = new
        cache[at + 1, :, paddle.to_tensor([0])] = new[:1, :, 0]
        cache[paddle.to_tensor([0])] = cache[2:3]
        return cache.sum()

    captured = paddle.jit.to_static(step, full_graph=full_graph)
    ours, theirs = paddle.zeros([8, 3, 4]), paddle.zeros([8, 3, 4])
    for k in range(4):
        new = paddle.full([2, 3, 4], float(k + 1))
        at = paddle.to_tensor([k, k + 2])
        with paddle.no_grad():
            assert float(captured(ours, new[:, :, :4], at)) == float(step(theirs, new, at))
        assert ours.tolist() == theirs.tolist()


# --- in-place forms of elementwise functions -------------------------------------------------------------------------


@pytest.mark.usefixtures("no_garbage")
def test_results_are_not_copied():
    """The tensor takes the memory of the result, and its views see it."""
    x = paddle.ones([1 << 16])
    view, twice = x[5:9], x.reshape([256, 256])
    x.add_(paddle.ones([1 << 16]))
    assert view.tolist() == [2.0] * 4 and float(twice.sum()) == 2 << 16
    twice.scale_(3.0)
    assert float(x[0]) == 6.0
    x.zero_()
    assert float(twice.sum()) == 0 and view.tolist() == [0.0] * 4
    part = x[1:3]
    part.fill_(4.0)
    assert float(x.sum()) == 8.0


def test_addresses_that_others_know_stay():
    x = paddle.zeros([64])
    array = np.from_dlpack(x)
    address = x.data_ptr()
    x.add_(paddle.ones([64]))
    assert x.data_ptr() == address
    assert array.tolist() == [1.0] * 64


def test_results_that_others_hold_are_copied():
    x, y = paddle.zeros([64]), paddle.ones([64])
    assert paddle.assign(y, output=x) is x
    x.add_(y)
    y.add_(y)
    assert x.tolist() == [2.0] * 64
    a = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    b = a * 1
    b.exp_()  # the derivative is the result itself
    b.sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), np.exp([1.0, 2.0]), rtol=1e-6)


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch):
    """Small tensors take the way of large ones, too."""
    monkeypatch.setattr("paddle.tensor.overwriting._QUICKLY_COPIED", 0)


ELEMENTWISE = {
    "add_": lambda x, y: x.add_(y),
    "subtract_": lambda x, y: x.subtract_(y),
    "multiply_": lambda x, y: x.multiply_(2),
    "divide_": lambda x, y: x.divide_(y),
    "exp_": lambda x, y: x.exp_(),
    "relu_": lambda x, y: paddle.nn.functional.relu_(x),
    "scale_": lambda x, y: x.scale_(2.0, bias=-1.0),
    "clip_": lambda x, y: x.clip_(-0.5, 0.5),
    "masked_fill_": lambda x, y: x.masked_fill_(y > 1, -1.0),
    "sigmoid_": lambda x, y: x.sigmoid_(),
    "lerp_": lambda x, y: x.lerp_(y, 0.25),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(rng, name, dtype):
    """In place as apart, of tensors, of views with gaps, and where an operand overlaps the target."""
    write = ELEMENTWISE[name]
    y = paddle.to_tensor(rng.random((4, 6)) + 0.5).astype(dtype)
    for part in (lambda x: x, lambda x: x[:, 1:4], lambda x: x[1:3], lambda x: x.t()):
        x = paddle.to_tensor(rng.standard_normal((4, 6))).astype(dtype)
        version, other = x.inplace_version, part(y).contiguous()
        want = write(part(x).clone(), other)
        all_of_it = x.clone()
        part(all_of_it).copy_(want)
        target = part(x)
        assert write(target, other) is target
        assert values(x).tolist() == values(all_of_it).tolist()
        assert x.inplace_version > version


def test_operands_that_overlap(rng):
    x = paddle.to_tensor(rng.standard_normal(8).astype("float32"))
    want = x.clone()
    want[1:] = want[1:] + want[:-1]
    x[1:].add_(x[:-1])
    assert x.tolist() == want.tolist()
    x.add_(x)
    assert x.tolist() == (want * 2).tolist()


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda x: x.add_(paddle.ones([2, 3])), r"\[add_\] requires a result of the tensor's shape"),
        (lambda x: x.unfold(0, 2, 1).exp_(), "memory of their own"),
        (lambda x: x.multiply_(1j), r"multiply_"),
    ],
)
def test_refusals(write, message):
    x = paddle.ones([3])
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        write(x)
    assert x.tolist() == [1.0] * 3


def test_other_dtypes_and_broadcasts():
    x = paddle.ones([2, 3])
    x.add_(paddle.to_tensor([1.0, 2.0, 3.0]))
    assert x.tolist() == [[2.0, 3.0, 4.0]] * 2
    assert x.add_(paddle.ones([2, 3], "float64").sum()).tolist() == [[8.0, 9.0, 10.0]] * 2
    n = paddle.to_tensor([1, 2, 3])
    assert n.add_(paddle.to_tensor([1, 1, 1])).tolist() == [2, 3, 4] and n.dtype is paddle.int64
    assert paddle.ones([3]).logical_not_().tolist() == [False] * 3


def test_mixed_precision():
    """A context that asks for other dtypes changes no target."""
    x, y = paddle.ones([4, 4]), paddle.full([4, 4], 2.0)
    with paddle.amp.auto_cast(level="O2", dtype="bfloat16"):
        x.add_(y).scale_(2.0)
        x[paddle.to_tensor([0])] = 1.0
    assert x.dtype is paddle.float32 and x.numpy()[1].tolist() == [6.0] * 4 and x.numpy()[0].tolist() == [1.0] * 4
