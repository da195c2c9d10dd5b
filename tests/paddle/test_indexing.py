"""``x[...]`` and ``x[...] = v`` against NumPy; views, gradients, errors."""

import numpy as np
import pytest

import paddle

A = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
K = np.array([1, 0])
J = np.array([[0, 1], [1, -1]])
M3 = np.array([True, False, True])
M2 = np.array([[True, False, True], [False, False, True]])

BASIC = [
    0,
    -1,
    slice(None),
    slice(1, None),
    slice(None, None, -1),
    slice(-1, 0, -1),
    slice(3, 1),
    slice(0, 100, 2),
    slice(-(10**30), 10**30),
    slice(10**30, None),
    slice(None, None, 10**30),
    slice(None, None, -(10**30)),
    slice(1, None, 2**63 - 1),
    (slice(None), slice(1, 3, 2**63), ..., slice(None, None, -(2**63))),
    slice(True, None),
    slice(np.int64(1), np.int32(3)),
    ...,
    None,
    (0, 1),
    (0, slice(1, 3), ..., -1),
    (..., 0),
    (slice(None), slice(None, None, -2)),
    (None, 0, ..., None),
    (slice(1, 2), None, slice(None, None, 2), ..., slice(None, None, -3)),
    (0, 1, 2, 3),
    (np.int64(1), np.int32(2)),
    np.array(1),
]
ADVANCED = [
    K,
    J,
    [0, 1],
    [[0, 1], [1, 0]],
    [],
    (slice(None), K),
    (..., K),
    (K, K),
    (K, slice(None), K),
    (slice(None), K, slice(None), K),
    (slice(None), K, K),
    (slice(None), J, K),
    (slice(None, None, -1), [2, 0], ..., [4, 1]),
    M2,
    M3[:2],
    (slice(None), M3),
    (0, M3),
    (slice(None), M3, K),
    (M2, K.repeat(2)[:3]),
    (slice(None), slice(None), slice(1, 3), [0, 0, 1]),
    True,
    False,
    (None, K),
    (K, None),
    A > 50,
    range(2),
]


def to_ours(index, tensors):
    """The index with arrays as tensors."""
    if isinstance(index, tuple):
        return tuple(to_ours(i, tensors) for i in index)
    return paddle.to_tensor(index) if tensors and isinstance(index, np.ndarray) else index


def to_numpy(index):
    return (
        tuple(np.array(i) if isinstance(i, range) else i for i in index)
        if isinstance(index, tuple)
        else (
            np.array(index)
            if isinstance(index, range)
            else np.array(index, int)
            if isinstance(index, list) and not index
            else index
        )
    )


@pytest.mark.parametrize("index", BASIC, ids=str)
def test_basic_is_a_view(index):
    x = paddle.to_tensor(A)
    y = x[index]
    expected = A[index]
    assert y.shape == list(expected.shape)
    np.testing.assert_array_equal(y.numpy(), expected)
    if expected.size:
        y.fill_(-1.0)
        changed = A.copy()
        changed[index] = -1.0
        np.testing.assert_array_equal(x.numpy(), changed)


@pytest.mark.parametrize("tensors", [False, True])
@pytest.mark.parametrize("k", range(len(ADVANCED)))
def test_advanced(k, tensors):
    index = ADVANCED[k]
    x = paddle.to_tensor(A)
    got, expected = x[to_ours(index, tensors)], A[to_numpy(index)]
    assert got.shape == list(expected.shape)
    np.testing.assert_array_equal(got.numpy(), expected)


def test_ints_come_before_arrays():
    """Unlike in NumPy, an int does not count as an array that stands apart."""
    x = paddle.to_tensor(A)
    assert x[0, :, paddle.to_tensor(K)].shape == [3, 2, 5]
    np.testing.assert_array_equal(x[0, :, K].numpy(), A[0][:, K])


@pytest.mark.parametrize("k", range(len(BASIC) + len(ADVANCED)))
def test_set(k):
    index = (BASIC + ADVANCED)[k]
    where = to_numpy(index)
    shape = A[where].shape
    for value in (7.0, np.arange(np.prod(shape), dtype=np.float32).reshape(shape)):
        x, expected = paddle.to_tensor(A), A.copy()
        expected[where] = value
        x[to_ours(index, True)] = value if isinstance(value, float) else paddle.to_tensor(value)
        np.testing.assert_array_equal(x.numpy(), expected)


def test_set_broadcasts_and_casts():
    x = paddle.zeros([2, 3])
    x[:] = paddle.to_tensor([1, 2, 3])
    x[0] = np.ones((1, 1, 3))
    assert x.tolist() == [[1, 1, 1], [1, 2, 3]]
    i = paddle.to_tensor([1, 2])
    i[0] = 1.7
    assert i.tolist() == [1, 2]
    b = paddle.to_tensor([True, False])
    b[1] = 3
    assert b.tolist() == [True, True]


def test_set_overlapping():
    x = paddle.arange(6)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "index", [(slice(None), 1), K, (K, slice(None), K), A[..., 0] > 20, (..., None, slice(None, None, -1))], ids=str
)
def test_gradient_of_get(index):
    x = paddle.to_tensor(A, stop_gradient=False)
    y = x[to_ours(index, True)]
    (y * y).sum().backward()
    expected = np.zeros_like(A)
    np.add.at(expected, index, 2 * A[index])
    np.testing.assert_allclose(x.grad.numpy(), expected)


@pytest.mark.parametrize(
    "index", [(slice(None), 1), K, (slice(None), M3), A[..., 0] > 20, (K, slice(None), K)], ids=str
)
def test_gradient_of_set(index):
    x = paddle.to_tensor(A, stop_gradient=False)
    v = paddle.to_tensor(np.ones(A[index].shape, np.float32), stop_gradient=False)
    y = x * 2
    y[to_ours(index, True)] = v * 3
    (y * paddle.to_tensor(A)).sum().backward()
    gx = 2 * A
    gx[index] = 0
    np.testing.assert_allclose(x.grad.numpy(), gx)
    np.testing.assert_allclose(v.grad.numpy(), 3 * A[index])


def test_set_on_a_leaf_is_refused():
    x = paddle.ones([2])
    x.stop_gradient = False
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 2.0
    with paddle.no_grad():
        x[0] = 2.0
    assert x.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("index", "kind", "match"),
    [
        ((0, 5), IndexError, "from -3 to 2 on axis 1"),
        ((0,) * 5, IndexError, "at most 4"),
        ((..., ...), IndexError, "one ellipsis"),
        (1.5, IndexError, "float"),
        ("a", IndexError, "str"),
        (slice(None, None, 0), ValueError, "step"),
        (np.array([True, False, True]), IndexError, "mask of shape"),
        (np.array([9]), IndexError, "9"),
        (np.array([0.5]), IndexError, "getitem"),
    ],
)
def test_errors(index, kind, match):
    with pytest.raises(kind, match=match):
        paddle.to_tensor(A)[index]


def test_iteration():
    x = paddle.to_tensor([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    a, b = x
    assert b.tolist() == [3, 4]
    assert 3 in x
    with pytest.raises(TypeError, match="0-d"):
        iter(paddle.to_tensor(1))


MASKS = [
    [True, False],
    (slice(None), [True, False, True]),
    (slice(None), M3),
    ([False, False], 0),
    ([1, 0], [True, False, True]),
    (0, [True, False, True], None, [0, 1]),
    M2,
    (..., [True, True, False, False, True]),
]


@pytest.mark.parametrize("item", MASKS, ids=str)
def test_masks_of_python_are_captured(item):
    """Where they hold is known before the data are: a list of bools is a list of places."""

    def function(x):
        y = x * 1.0
        y[item] = y[item] * 2.0 + 1.0
        return x[item], y

    expected = A.astype("float64").copy()
    part = expected[item].copy()
    expected[item] = part * 2 + 1
    grads = []
    for f in (function, paddle.jit.to_static(function)):
        x = paddle.to_tensor(A.astype("float64"), stop_gradient=False)
        got, whole = f(x)
        np.testing.assert_array_equal(got.numpy(), part)
        np.testing.assert_array_equal(whole.numpy(), expected)
        ((got * got).sum() + (whole * whole).sum()).backward()
        grads.append(x.grad.numpy())
    np.testing.assert_array_equal(*grads)


def test_masks_of_python_have_the_shape_of_what_they_select_from():
    captured = paddle.jit.to_static(lambda x: x[[True, False, True]])
    for n in (3, 3):
        assert captured(paddle.arange(float(n))).tolist() == [0.0, 2.0]
    for f in (captured, lambda x: x[[True, False, True]]):
        with pytest.raises(IndexError, match=r"requires a mask of shape .*, got \[3\]"):
            f(paddle.ones([4]))
