"""Empty operands, result dtypes, repeated indices, one triangle: facts recorded from the reference framework."""

import math

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

T = paddle.to_tensor
NAN = math.nan

FACTS = [
    # Integers have a sign, too.
    (lambda: paddle.copysign(T([1, 2]), T([-1, 1])), "int64", [-1, 2]),
    (lambda: paddle.copysign(T([1, 2]), -1.0), "int64", [-1, -2]),
    (lambda: paddle.copysign(T([True]), T([True])), "bool", [True]),
    (lambda: paddle.copysign(T([3], dtype="uint8"), T([1], dtype="uint8")), "uint8", [3]),
    (lambda: paddle.frac(T([1, -2], dtype="int32")), "int32", [0, 0]),
    (lambda: paddle.bincount(T([1, 2]), T([1, 2])), "float64", [0.0, 1.0, 2.0]),
    (lambda: paddle.bincount(T([1, 2]), T([1.0, 2.0])), "float32", [0.0, 1.0, 2.0]),
    (lambda: paddle.median(T([1.0, 2.0], dtype="float16")), "float32", 1.5),
    (lambda: paddle.median(T([1.0, 2.0], dtype="bfloat16"), axis=0), "float32", 1.5),
    (lambda: paddle.matmul(T([[1j]]), T([[2.0]])), "complex64", [[2j]]),
    (lambda: paddle.mm(T([[2.0]]), T([[1j]])), "complex64", [[2j]]),
    (lambda: paddle.kron(T([1j]), T([2.0, 3.0])), "complex64", [2j, 3j]),
    (lambda: paddle.inner(T([2.0]), T([1j])), "complex64", 2j),
    # Nothing to reduce.
    (lambda: paddle.median(paddle.ones([0])), "float32", NAN),
    (lambda: paddle.nanmedian(paddle.ones([0, 2]), axis=0), "float32", [NAN, NAN]),
    (lambda: paddle.median(paddle.ones([0, 2]), axis=0, mode="min")[1], "int64", [0, 0]),
    (lambda: paddle.median(paddle.ones([0, 2]), axis=0, keepdim=True), "float32", [[NAN, NAN]]),
    (lambda: paddle.median(paddle.ones([0], dtype="int64")), "float32", NAN),
    (lambda: paddle.linalg.vector_norm(paddle.ones([0]), p=-math.inf), "float32", 0.0),
    (lambda: paddle.linalg.vector_norm(paddle.ones([2, 0]), p=math.inf, axis=1), "float32", [0.0, 0.0]),
    (lambda: paddle.linalg.norm(paddle.ones([0]), p=math.inf), "float32", 0.0),
    (lambda: paddle.linalg.cov(paddle.ones([0])), "float32", NAN),
    (lambda: paddle.linalg.cov(paddle.ones([2, 0])), "float32", [[NAN, NAN], [NAN, NAN]]),
    (lambda: paddle.cumulative_trapezoid(paddle.ones([2, 0])), "float32", [[], []]),
    (lambda: F.label_smooth(paddle.ones([2, 0])), "float32", [[], []]),
    (lambda: F.softmax(paddle.ones([2, 0])), "float32", [[], []]),
    # Intervals of one number.
    (lambda: paddle.histogram_bin_edges(T([1.0, 2.0]), 2, 1, 1), "float32", [0.5, 1.0, 1.5]),
    (lambda: paddle.histogram_bin_edges(T([3.0, 3.0]), 2), "float32", [2.5, 3.0, 3.5]),
    (lambda: paddle.histogram(T([1.0, 2.0, 1.2]), 4, 1, 1), "int64", [2, 0, 0, 1]),
    (lambda: paddle.histogram(T([1.0, 1.0]), 4), "int64", [0, 0, 2, 0]),
    # A threshold for each of several ranks.
    (lambda: paddle.linalg.matrix_rank(paddle.eye(2), tol=T([0.5])), "int64", [2]),
    (lambda: paddle.linalg.matrix_rank(paddle.ones([5, 1]), tol=paddle.ones([1, 4])), "int64", [[1, 1, 1, 1]]),
    (lambda: paddle.linalg.lstsq(paddle.eye(2), paddle.ones([2, 1]), driver="gels")[2], "int64", []),
]


@pytest.mark.parametrize(("call", "dtype", "values"), FACTS)
def test_fact(call, dtype, values):
    got = call()
    assert got.dtype.name == dtype
    assert got.shape == list(np.shape(values))
    np.testing.assert_allclose(got.numpy(), np.array(values, dtype=got.numpy().dtype), rtol=1e-6)


def test_a_mask_of_no_sequences_is_empty():
    assert F.sequence_mask(paddle.zeros([0], "int64")).shape == [0, 0]
    assert F.sequence_mask(paddle.zeros([2, 0], "int64"), 3).shape == [2, 0, 3]


def test_parts_of_a_factorisation_that_are_not_wanted_are_empty():
    lu, pivots = paddle.linalg.lu(paddle.eye(2))
    for skipped in ("unpack_ludata", "unpack_pivots"):
        parts = paddle.linalg.lu_unpack(lu, pivots, **{skipped: False})
        assert [p.shape == [0] for p in parts] == ([True, False, False] if "pivots" in skipped else [False, True, True])


def test_a_system_with_the_adjoint():
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)) for _ in range(2))
    got = paddle.linalg.lu_solve(T(b), *paddle.linalg.lu(T(a)), trans="H")
    np.testing.assert_allclose(a.conj().T @ got.numpy(), b, atol=1e-12)


def gradient(x, f):
    x = T(x, dtype="float64", stop_gradient=False)
    f(x).backward()
    return x.grad.tolist()


SCATTERS = {
    "put_along_axis": lambda v: paddle.put_along_axis(paddle.zeros([1, 3], "float64"), T([[0, 0, 1]]), v, 1),
    "scatter": lambda v: paddle.scatter(paddle.zeros([3], "float64"), T([2, 2, 0]), v[0]),
    "index_put": lambda v: paddle.index_put(paddle.zeros([3], "float64"), (T([2, 2, 0]),), v[0]),
}


@pytest.mark.parametrize("name", SCATTERS)
def test_an_update_that_is_overwritten_has_gradient_0(name):
    assert gradient([[1.0, 2.0, 3.0]], lambda v: (SCATTERS[name](v) * 5.0).sum()) == [[0, 5, 5]]


def test_a_row_that_is_overwritten_has_gradient_0():
    def written(v):
        x = paddle.zeros([2, 3], "float64")
        x[T([1, 0, 1])] = v
        return (x * x).sum()

    assert gradient([[1.0] * 3, [2.0] * 3, [3.0] * 3], written) == [[0] * 3, [4] * 3, [6] * 3]


def test_overwritten_updates_under_capture():
    @paddle.jit.to_static
    def f(x, v, index):
        return paddle.put_along_axis(x, index, v, 1)

    v = T([[1.0, 2.0]], stop_gradient=False)
    f(paddle.zeros([1, 3]), v, T([[0, 0]])).sum().backward()
    assert v.grad.tolist() == [[0, 1]]


def test_pinv_differentiates_the_triangle_it_reads():
    got = gradient([[2.0, 1.0], [0.0, 3.0]], lambda x: paddle.linalg.pinv(x, hermitian=True).sum())
    np.testing.assert_allclose(got, [[-1 / 4, -1 / 6], [-1 / 6, -1 / 9]])


def test_a_value_of_another_dtype_without_gradient_ends_the_history():
    x = paddle.ones([2])
    x.stop_gradient = False
    y = x.clone()
    y.floor_divide_(paddle.full([2], 2.0, "float64"))
    assert y.dtype is paddle.float64 and y.tolist() == [0, 0]
    (y.sum() + (x * 3.0).sum()).backward()
    assert x.grad.dtype is paddle.float32 and x.grad.tolist() == [3, 3]


def test_methods_that_take_what_they_do_not_need():
    x = paddle.ones([2])
    assert x.retain_grads() is None
    assert x.numpy(False).tolist() == [1, 1]


REDUCED = "sum mean prod max min amax amin nansum nanmean logsumexp nanmedian all any count_nonzero".split()


@pytest.mark.parametrize("name", REDUCED)
def test_axes_of_a_tensor_without_dims(name):
    """0 and -1, in a sequence too; no other, and none twice."""
    x = paddle.to_tensor(True) if name in ("all", "any") else paddle.to_tensor(3.0)
    f = getattr(paddle, name)
    for axis in (0, -1, [0], (-1,)):
        y = f(x, axis=axis)
        assert y.shape == [] and float(y) == (1.0 if name in ("all", "any", "count_nonzero") else 3.0)
    for axis in (1, -2, [1], [0, 0]):
        with pytest.raises(ValueError):
            f(x, axis=axis)


def test_softmax_without_dims():
    for f, value in ((paddle.nn.functional.softmax, 1.0), (paddle.nn.functional.log_softmax, 0.0)):
        assert f(paddle.to_tensor(2.0), axis=0).item() == f(paddle.to_tensor(2.0)).item() == value
        for axis in (1, -2):
            with pytest.raises(IndexError, match="an axis from -1 to 0"):
                f(paddle.to_tensor(2.0), axis=axis)


def test_nansum_in_integers():
    x = paddle.to_tensor([[1.5, float("nan")], [2.5, 1.0]])
    assert paddle.nansum(x, dtype="int64").tolist() == 4
    assert paddle.nansum(x, axis=1, dtype="int32").tolist() == [1, 3]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_a_float_in_where_counts_as_a_tensor_of_its_dtype(dtype):
    x, mask = paddle.ones([2], dtype=dtype), paddle.to_tensor([True, False])
    for number in (0.5, np.float32(0.5), np.float64(0.5)):
        y = paddle.full([2], number, "float64" if isinstance(number, np.float64) else "float32")
        for got in (paddle.where(mask, x, number), paddle.where(~mask, number, x)):
            assert got.dtype is (x + y).dtype and got.tolist() == [1, 0.5]
    assert paddle.where(mask, x, 1).dtype is x.dtype
    assert paddle.where(mask, np.float64(1), 0.5).dtype is paddle.float64


@pytest.mark.parametrize(
    ("x", "y", "dtype"),
    [
        (0.5, 2, "float32"), (0.5, np.float16(2), "float32"), (np.float16(1), np.float16(2), "float16"),
        (np.float32(1), np.float64(2), "float64"), (2, np.int64(3), "int64"), (np.int32(2), np.int32(3), "int32"),
        (True, False, "bool"), (1j, np.float32(2), "complex64"), (1j, np.float64(2), "complex128"), (True, 2, "int64"),
    ],
)  # fmt: skip
def test_two_numbers_in_where(x, y, dtype):
    """Those of NumPy have a width of their own, as in PaddlePaddle."""
    mask = paddle.to_tensor([True, False])
    for got, want in ((paddle.where(mask, x, y), [x, y]), (paddle.where(mask, y, x), [y, x])):
        assert (got.dtype.name, got.tolist()) == (dtype, want)
    with pytest.raises(TypeError, match=r"\[where\] requires tensors or numbers as operands, got str"):
        paddle.where(mask, x, "a")


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
def test_open_sizes_in_where(dtype, tmp_path):
    def f(x):
        n, mask = x.shape[0], x > 0
        return (
            paddle.where(mask, x, n), paddle.where(mask, n, x), paddle.where(mask, n * 0.5, 1),
            paddle.where(mask, n * 0.5, n), paddle.where(mask, x.astype("float16"), n * 0.5),
        )  # fmt: skip

    spec = [paddle.static.InputSpec([None, 2], dtype)]
    paddle.jit.save(paddle.jit.to_static(f, spec), str(tmp_path / "m"))
    for n in (3, 1, 0):
        x = paddle.to_tensor(np.arange(2 * n).reshape(n, 2) % 2, dtype=dtype)
        for form in (paddle.jit.to_static(f, spec, full_graph=True), paddle.jit.load(str(tmp_path / "m"))):
            for got, want in zip(form(x), f(x), strict=True):
                assert (got.dtype, got.shape, got.tolist()) == (want.dtype, want.shape, want.tolist())


def test_scale_of_bools_is_in_bools():
    """A factor is "and" with whether it is not 0, and an addend "or"."""
    x = paddle.to_tensor([True, False])
    for factor in (0.0, 0.5, -1, paddle.to_tensor(2.0)):
        for addend in (0.0, 0.25, -1):
            for last in (True, False):
                got = paddle.scale(x, factor, addend, last)
                assert got.dtype is paddle.bool
                f, a = bool(factor), bool(addend)
                assert got.tolist() == [(v and f) or a if last else (v or a) and f for v in (True, False)]


def test_a_complex_number_is_true_unless_it_is_0():
    assert paddle.full([], 1j, "bool").item() and paddle.to_tensor([1j, 0], "bool").tolist() == [True, False]


def test_no_axes_where_they_are_all():
    x = paddle.arange(6.0).reshape([2, 3])
    assert paddle.roll(x, 1, axis=[]).tolist() == paddle.roll(x, 1).tolist() == [[5, 0, 1], [2, 3, 4]]
    for keepdim in (True, False):
        want = paddle.linalg.norm(x, keepdim=keepdim)
        got = paddle.linalg.norm(x, axis=[], keepdim=keepdim)
        assert got.shape == want.shape and got.tolist() == want.tolist()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_list_of_numbers_is_one_array_of_some_rank(n):
    raise_rank = getattr(paddle, f"atleast_{n}d")
    for numbers in ([1.0, 2.0], (1, 2), [[1, 2], [3, 4]], [True]):
        y = raise_rank(numbers)
        assert y.dtype is paddle.to_tensor(numbers).dtype
        np.testing.assert_array_equal(y.numpy(), getattr(np, f"atleast_{n}d")(np.array(numbers)))
    first, second = raise_rank([paddle.ones([2]), 3.0])
    assert first.ndim == second.ndim == n


def test_no_sizes_to_expand_to():
    x = paddle.ones([2, 3])
    for y in (x.expand([]), paddle.broadcast_to(x, [])):
        assert y.shape == [2, 3]


def test_sums_of_nothing_have_gradients():
    x, y = (paddle.zeros([0, 3]) for _ in "xy")
    x.stop_gradient = y.stop_gradient = False
    paddle.add_n([x, y]).sum().backward()
    assert x.grad.shape == y.grad.shape == [0, 3]


def test_tolerances_as_texts():
    x = paddle.to_tensor([1.0, 2.0])
    assert bool(paddle.allclose(x, x * 1.01, rtol="0.1", atol="0"))
    assert paddle.isclose(x, x * 1.01, "1e-3").tolist() == [False, False]


def test_convolutions_without_channels():
    assert paddle.nn.Conv2D(0, 3, 3).weight.shape == [3, 0, 3, 3]


@pytest.mark.parametrize("dtype", ["float16", "float64", "bool"])
@pytest.mark.parametrize("default", ["float32", "float64"])
def test_numbers_in_tensors_leave_the_dtype_to_the_default(dtype, default):
    one = paddle.ones([], dtype)
    paddle.set_default_dtype(default)
    try:
        made = [paddle.full([2], one), paddle.range(0, 2.0), paddle.linspace(0, 1, 3)]
        if dtype != "bool":
            made += [
                paddle.arange(one),
                paddle.arange(0, 3, one),
                paddle.linspace(one, 3, 3),
                paddle.logspace(0, one, 3),
            ]
        assert [x.dtype.name for x in made] == [default] * len(made)
        assert paddle.full([2], one).tolist() == [1.0, 1.0]
    finally:
        paddle.set_default_dtype("float32")
