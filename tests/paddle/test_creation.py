"""Making tensors: where dtypes come from, shapes in every form, grids, errors."""

import numpy as np
import pytest

import paddle


@pytest.fixture
def float64():
    paddle.set_default_dtype("float64")
    yield
    paddle.set_default_dtype("float32")


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1, "int64"),
        (1.0, "float32"),
        (True, "bool"),
        (1j, "complex64"),
        ([1, 2.0], "float32"),
        ([True, 1], "int64"),
        ([], "float32"),
        (np.float64(1), "float64"),
        (np.ones(2), "float64"),
        (np.int32(1), "int32"),
        ([np.float64(1)], "float32"),
        ([np.int32(1)], "int64"),
        ([np.ones(2), np.ones(2)], "float32"),
        ((1, 2), "int64"),
    ],
)
def test_dtype_of_data(data, dtype):
    assert paddle.to_tensor(data).dtype.name == dtype


def test_dtype_of_data_follows_the_default(float64):
    assert paddle.to_tensor(1.0).dtype is paddle.float64
    assert paddle.to_tensor([1j]).dtype is paddle.complex128
    assert paddle.ones([1]).dtype is paddle.rand([1]).dtype is paddle.arange(1.0).dtype is paddle.float64
    assert paddle.to_tensor(np.ones(1, np.float32)).dtype is paddle.float32


def test_to_tensor_copies():
    a = np.zeros(2)
    x = paddle.to_tensor(a)
    y = paddle.to_tensor(x)
    a[0] = x[1] = 5
    assert x.tolist() == [0, 5]
    assert y.tolist() == [0, 0]
    assert paddle.to_tensor(a[::-1]).tolist() == [0, 5]


def test_lists_of_tensors():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    assert paddle.to_tensor([x, x]).shape == [2, 2]
    assert paddle.to_tensor([[x[0], 3.0], [4.0, x[1]]]).tolist() == [[1, 3], [4, 2]]
    assert paddle.to_tensor([x * 2]).stop_gradient


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("a", TypeError),
        (None, TypeError),
        ({1: 2}, TypeError),
        ([[1], [2, 3]], ValueError),
        (np.array(["a"]), ValueError),
        (np.uint32(3), ValueError),
        (2**70, ValueError),
    ],
)
def test_data_that_is_refused(data, kind):
    with pytest.raises(kind):
        paddle.to_tensor(data)


@pytest.mark.parametrize(
    "shape", [[2, 3], (2, 3), np.array([2, 3]), [np.int64(2), 3], "tensor", "mixed"], ids=lambda s: type(s).__name__
)
def test_shapes(shape):
    if isinstance(shape, str):
        shape = paddle.to_tensor([2, 3]) if shape == "tensor" else [paddle.to_tensor(2), 3]
    for make in (paddle.zeros, paddle.ones, paddle.empty, paddle.rand, paddle.randn):
        assert make(shape).shape == [2, 3]
    assert paddle.full(shape, 1).shape == [2, 3]
    assert paddle.zeros([6]).reshape(shape).shape == [2, 3]
    assert paddle.zeros([1]).expand(shape).shape == [2, 3]


def test_keywords_of_creation():
    x = paddle.zeros([2], dtype=int, requires_grad=False, device="cpu", pin_memory=False)
    assert x.dtype is paddle.int64
    assert not paddle.ones([1], requires_grad=True).stop_gradient
    out = paddle.zeros([2])
    assert paddle.full([2], 7.0, out=out) is out
    assert out.tolist() == [7, 7]
    assert paddle.zeros_like(out, dtype="int8").dtype is paddle.int8
    with pytest.raises(ValueError, match="sizes"):
        paddle.zeros([-1])
    with pytest.raises(TypeError, match="integer"):
        paddle.zeros([1.5])
    with pytest.raises(ValueError, match="device"):
        paddle.zeros([1], device="gpu")


@pytest.mark.parametrize(
    "arguments", [(5,), (1, 7, 2), (0, 1, 0.3), (5, 2), (5, 2, -1), (0.0, 1.0, 0.1), (-3, 3), (3.0,), (10, 0, -3)]
)
def test_arange(arguments):
    x = paddle.arange(*arguments)
    expected = np.arange(*arguments)
    assert x.dtype.name == ("float32" if expected.dtype.kind == "f" else "int64")
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-6)


def test_arange_from_tensors():
    assert paddle.arange(paddle.to_tensor(3.0)).dtype is paddle.float32
    assert paddle.arange(paddle.to_tensor(3)).dtype is paddle.int64
    with pytest.raises(ValueError, match="step"):
        paddle.arange(1, 2, 0)


@pytest.mark.parametrize("num", [0, 1, 2, 7])
def test_spaced(num):
    np.testing.assert_allclose(paddle.linspace(-1, 3, num).numpy(), np.linspace(-1, 3, num), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(paddle.logspace(0, 2, num, base=3).numpy(), np.logspace(0, 2, num, base=3), rtol=1e-5)


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_diagonals(offset):
    v, m = np.arange(1, 4), np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(paddle.diag(paddle.to_tensor(v), offset).numpy(), np.diag(v, offset))
    np.testing.assert_array_equal(paddle.diag(paddle.to_tensor(m), offset).numpy(), np.diag(m, offset))
    np.testing.assert_array_equal(paddle.diagflat(paddle.to_tensor(m), offset).numpy(), np.diagflat(m, offset))
    np.testing.assert_array_equal(paddle.tril(paddle.to_tensor(m), offset).numpy(), np.tril(m, offset))
    np.testing.assert_array_equal(paddle.triu(paddle.to_tensor(m), offset).numpy(), np.triu(m, offset))
    np.testing.assert_array_equal(paddle.tril_indices(3, 4, offset).numpy(), np.tril_indices(3, offset, 4))
    np.testing.assert_array_equal(paddle.triu_indices(3, 4, offset).numpy(), np.triu_indices(3, offset, 4))
    padded = paddle.diag(paddle.to_tensor(v), offset, padding_value=9).numpy()
    on = np.diag(np.ones(3), offset) == 1
    np.testing.assert_array_equal(padded, np.where(on, np.diag(v, offset), 9))


@pytest.mark.parametrize("indexing", ["ij", "xy"])
@pytest.mark.parametrize("sizes", [(3,), (3, 2), (3, 2, 4)])
def test_meshgrid(indexing, sizes):
    arrays = [np.arange(n) for n in sizes]
    ours = paddle.meshgrid(*map(paddle.to_tensor, arrays), indexing=indexing)
    for a, b in zip(ours, np.meshgrid(*arrays, indexing=indexing), strict=True):
        np.testing.assert_array_equal(a.numpy(), b)
    with pytest.raises(ValueError, match="indexing"):
        paddle.meshgrid(paddle.ones([1]), indexing="yx")


def test_assign():
    x = paddle.to_tensor([1.0], stop_gradient=False)
    out = paddle.zeros([1])
    paddle.assign(x * 2, out).backward()
    assert x.grad.item() == 2
    assert paddle.assign([1, 2.5]).dtype is paddle.float64
    assert paddle.assign(3).shape == [1]
    with pytest.raises(TypeError, match="assign"):
        paddle.assign("a")


def test_typed_constructors():
    assert paddle.FloatTensor([1, 2]).dtype is paddle.float32
    assert paddle.LongTensor([1.5]).tolist() == [1]
    assert paddle.HalfTensor(2, 3).shape == [2, 3]
    assert paddle.IntTensor().shape == [0]
