"""Errors of long sums: of reductions, statistics and normalisations, whatever the axis, the length and the numbers.

Bounds are those of docs/design/loop_ir.md. What is exact is found in float64, whose sums NumPy takes pairwise.
"""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as nnf
from umiak import ops as F
from umiak.compiler.render.target import Target
from umiak.core import array
from umiak.core.dtype import convert
from umiak.runtime import parallel

T, N = array.from_numpy, array.to_numpy
EPS = 2.0**-23
# Of a sum, as a share of the sum of magnitudes: a quarter of what the additions of one run may come to.
SUM = 16 * EPS * (512 / Target.host().vector_bits)
# A mean is a sum that is rounded once more; what is left of the mean's error is squared in a variance.
VARIANCE = 2 * SUM
# Within its run a running sum waits for one number after the other.
RUNNING = 4 * SUM

VALUES = {
    "mean 1000": lambda rng, n: (1000.3 + 0.1 * rng.standard_normal(n)).astype(np.float32),
    "constant": lambda rng, n: np.full(n, 0.1, np.float32),
    "alternating": lambda rng, n: (np.where(np.arange(n) % 2, -1, 1) * rng.uniform(0.5, 1.5, n)).astype(np.float32),
}
# How n numbers lie, and the axes over which they are reduced.
LAYOUTS = {
    "all": lambda x: (x, (0,)),
    "last": lambda x: (x.reshape(4, -1), (1,)),
    "first": lambda x: (x.reshape(-1, 4), (0,)),
    "wide first": lambda x: (x.reshape(-1, 100), (0,)),
    "middle": lambda x: (x.reshape(2, -1, 2), (1,)),
    "outer": lambda x: (x.reshape(-1, 2, 10), (0, 2)),
    "three": lambda x: (x.reshape(-1, 2, 5, 2, 5), (0, 2, 4)),
    "short rows": lambda x: (np.broadcast_to(x.reshape(-1, 1, 2), (x.size // 2, 2, 2)), (0, 2)),
}
SIZES = [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)]

every_case = pytest.mark.parametrize("n", SIZES)
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
every_value = pytest.mark.parametrize("values", VALUES)


def case(rng, n, layout, values):
    """The array, its axes, and the same in float64."""
    x, axes = LAYOUTS[layout](VALUES[values](rng, n))
    return x, axes, x.astype(np.float64)


def off(got, exact, scale):
    """The largest error as a share of ``scale``."""
    return np.max(np.abs(np.asarray(got, np.float64) - exact) / scale)


SUMS = {
    "sum": (lambda x, a: F.sum(x, axes=a), lambda x, a: x.sum(a), lambda x, a: abs(x).sum(a)),
    "mean": (lambda x, a: F.mean(x, axes=a), lambda x, a: x.mean(a), lambda x, a: abs(x).mean(a)),
    "nansum": (lambda x, a: F.nansum(x, axes=a), lambda x, a: x.sum(a), lambda x, a: abs(x).sum(a)),
    "norm 1": (lambda x, a: F.vector_norm(x, a, False, "1"), lambda x, a: abs(x).sum(a), lambda x, a: abs(x).sum(a)),
    "norm 2": (
        lambda x, a: F.vector_norm(x, a), lambda x, a: np.sqrt((x * x).sum(a)), lambda x, a: np.sqrt((x * x).sum(a))),
    # An error of the sum is one of its logarithm's, wherever that lies.
    "logsumexp": (
        lambda x, a: F.logsumexp(F.div(x, 1000.0), axes=a), lambda x, a: np.log(np.exp(x / 1000).sum(a)),
        lambda x, a: np.log(np.exp(x / 1000).sum(a))),
}  # fmt: skip


@every_case
@every_layout
@every_value
def test_sums(rng, n, layout, values, threads):
    x, axes, exact = case(rng, n, layout, values)
    t = T(np.ascontiguousarray(x))
    for name, (ours, true, scale) in SUMS.items():
        assert off(N(ours(t, axes)), true(exact, axes), scale(exact, axes)) <= SUM, name


@every_case
@every_layout
@every_value
def test_variances(rng, n, layout, values, threads):
    x, axes, exact = case(rng, n, layout, values)
    t = T(np.ascontiguousarray(x))
    var = exact.var(axes, ddof=1)
    # The numbers themselves are known to an ulp: a spread below that is noise.
    scale = var + (EPS * exact.mean(axes)) ** 2
    assert off(N(F.var(t, axes=axes)), var, scale) <= VARIANCE
    assert off(N(F.std(t, axes=axes)) ** 2, var, scale) <= VARIANCE + 2 * EPS


def normalised(x, axes, eps=1e-5):
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + eps), np.sqrt(var + eps), mean


def close(got, x, axes):
    """Normalised values: the mean is rounded to float32, which is a shift of all of them."""
    y, deviation, mean = normalised(x, axes)
    allowed = EPS * np.abs(mean) / deviation + VARIANCE * (1 + np.abs(y))
    assert np.all(np.abs(got - y) <= allowed), np.max(np.abs(got - y) / allowed)


NORMS = {
    "layer_norm": ((2, 2, -1), (1, 2), lambda x, s: nnf.layer_norm(x, s[1:])),
    "instance_norm": ((2, 2, -1), (2,), lambda x, s: nnf.instance_norm(x)),
    "group_norm": ((2, 4, -1), (2,), lambda x, s: nnf.group_norm(x, 4)),
    "batch_norm": ((8, 5, -1), (0, 2), lambda x, s: paddle.nn.BatchNorm1D(5)(x)),
    "batch_norm of columns": ((-1, 10), (0,), lambda x, s: paddle.nn.BatchNorm1D(10)(x)),
    "batch_norm of images": ((-1, 5, 5, 5), (0, 2, 3), lambda x, s: paddle.nn.BatchNorm2D(5)(x)),
    "channels last": (
        (8, -1, 5), (0, 1), lambda x, s: paddle.nn.BatchNorm1D(5, data_format="NLC")(x)),
}  # fmt: skip


@every_case
@pytest.mark.parametrize("norm", NORMS)
@every_value
@pytest.mark.parametrize("captured", [False, True], ids=["eager", "captured"])
def test_norms(rng, n, norm, values, captured, threads):
    shape, axes, function = NORMS[norm]
    x = VALUES[values](rng, n).reshape(shape)
    run = paddle.jit.to_static(lambda t: function(t, x.shape)) if captured else lambda t: function(t, x.shape)
    close(run(paddle.to_tensor(x)).numpy(), x.astype(np.float64), axes)


@pytest.mark.parametrize("layout", ["all", "last", "first", "middle", "outer"])
@every_value
def test_sums_that_share_a_kernel_with_their_readers(rng, layout, values):
    """A mean, a variance and what reads them are one kernel when they are captured."""
    x, axes, exact = case(rng, 100_000, layout, values)

    def whole(t):
        mean = t.mean(axis=list(axes), keepdim=True)
        return (t - mean) / paddle.sqrt(t.var(axis=list(axes), keepdim=True, unbiased=False) + 1e-5)

    for run in (whole, paddle.jit.to_static(whole)):
        y, deviation, mean = normalised(exact, axes)
        got = run(paddle.to_tensor(np.ascontiguousarray(x))).numpy()
        shift = SUM * np.abs(exact).mean(axes, keepdims=True) / deviation  # of a mean that is one sum
        assert np.all(np.abs(got - y) <= shift + VARIANCE * (1 + np.abs(y)))


@every_case
@pytest.mark.parametrize("layout", ["all", "last", "first", "wide first", "middle"])
@pytest.mark.parametrize("how", [{}, {"reverse": True}, {"exclusive": True}], ids=["", "reverse", "exclusive"])
def test_running_sums(rng, n, layout, how, threads):
    for values in ("mean 1000", "constant"):
        x, (axis,), exact = case(rng, n, layout, values)
        y = np.flip(np.cumsum(np.flip(exact, axis), axis), axis) if "reverse" in how else np.cumsum(exact, axis)
        if "exclusive" in how:
            y = y - exact
        got = N(F.cumsum(T(np.ascontiguousarray(x)), axis=axis, **how))
        assert off(got, y, np.maximum(y, 1)) <= RUNNING


@every_case
@pytest.mark.parametrize("layout", ["all", "last", "first", "middle"])
def test_softmax(rng, n, layout):
    """The denominator: all numbers are alike, so that each of its additions errs the same way."""
    x, axes = LAYOUTS[layout](np.full(n, -2.3, np.float32))
    y = N(F.softmax(T(np.ascontiguousarray(x)), axis=axes[0])).astype(np.float64)
    assert off(y * x.shape[axes[0]], 1.0, 1.0) <= SUM
    z = N(F.log_softmax(T(np.ascontiguousarray(x)), axis=axes[0])).astype(np.float64)
    assert off(z, -np.log(x.shape[axes[0]]), np.log(x.shape[axes[0]])) <= SUM


@every_case
@every_value
def test_products_with_vectors(rng, n, values, threads):
    """``dot``, and products of a matrix with a vector from either side, also as sums of products by labels."""
    x, y = VALUES[values](rng, n), VALUES[values](rng, n // 4)
    a, v, w = (paddle.to_tensor(z) for z in (x.reshape(4, -1), y, x))
    wide, y = x.astype(np.float64).reshape(4, -1), y.astype(np.float64)
    scale, whole = abs(wide) @ abs(y), np.sum(wide * wide)
    for got in (a @ v, v @ a.T, paddle.matmul(v, a, transpose_y=True), paddle.mv(a, v), paddle.einsum("ij,j->i", a, v),
                paddle.einsum("j,ij->i", v, a)):  # fmt: skip
        assert off(got.numpy(), wide @ y, scale) <= SUM
    for got in (paddle.dot(w, w), w @ w, paddle.einsum("i,i->", w, w), paddle.einsum("ij,ij->", a, a)):
        assert off(got.numpy(), whole, whole) <= SUM


@pytest.mark.parametrize("keys", [20_000, pytest.param(200_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("queries", [1, 4, 40])
def test_attention(keys, queries):
    """All keys are alike, so weights and weighted values err the same way from key to key."""
    q, k = (paddle.full([1, n, 1, 32], 0.1, dtype="float32") for n in (queries, keys))
    q.stop_gradient = k.stop_gradient = False
    out = nnf.scaled_dot_product_attention(q, k, k)
    tiles = (128 + keys / 128) / 2 * EPS  # what meets in one accumulator: keys of a tile, then tiles
    assert off(out.numpy(), np.float64(np.float32(0.1)), 0.1) <= 2 * tiles


@every_case
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_added_up_in_float32(n, dtype):
    """A sum of ones in their own type ends at 2048 or 256."""
    for shape, axis in (((n,), 0), ((n, 2), 0), ((2, n), 1)):
        x = F.cast(T(np.full(shape, 1 / 64, np.float32)), dtype=convert(dtype))
        np.testing.assert_array_equal(N(F.mean(x, axes=(axis,))).astype(np.float64), 1 / 64)


@every_case
def test_gradients_of_bias_and_weight(rng, n):
    """They are sums over the batch; those of normalisations are two."""
    x = (1.3 + 0.1 * rng.standard_normal((n // 10, 10))).astype(np.float32)
    g = np.full_like(x, 0.1)
    t, bias, weight = paddle.to_tensor(x), paddle.zeros([10]), paddle.ones([10])
    bias.stop_gradient = weight.stop_gradient = False
    (t * weight + bias).backward(paddle.to_tensor(g))
    wide = x.astype(np.float64) * g
    assert off(bias.grad.numpy(), g.astype(np.float64).sum(0), np.abs(g).astype(np.float64).sum(0)) <= SUM
    assert off(weight.grad.numpy(), wide.sum(0), np.abs(wide).sum(0)) <= SUM
    bias.clear_grad(), weight.clear_grad()
    nnf.layer_norm(paddle.to_tensor(x), [10], weight=weight, bias=bias).backward(paddle.to_tensor(g))
    assert off(bias.grad.numpy(), g.astype(np.float64).sum(0), np.abs(g).astype(np.float64).sum(0)) <= SUM


@pytest.mark.parametrize("layout", LAYOUTS)
def test_results_do_not_depend_on_threads(rng, layout):
    x, axes, _ = case(rng, 1_000_000, layout, "mean 1000")
    t, found = T(np.ascontiguousarray(x)), []
    before = parallel.get_num_threads()
    try:
        for count in (1, 2, 3):
            parallel.set_num_threads(count)
            found.append([N(F.sum(t, axes=axes)), N(F.var(t, axes=axes)), N(F.logsumexp(t, axes=axes))])
    finally:
        parallel.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_is_not_finite_stays_so():
    """The error of an infinite sum is no number; it may not reach the result."""
    n = 100_000
    for layout in LAYOUTS:
        for special in ([np.inf], [-np.inf], [np.inf, -np.inf], [np.nan]):
            flat = np.ones(n, np.float32)
            flat[70_000 : 70_000 + len(special)] = special
            x, axes = LAYOUTS[layout](flat)
            with np.errstate(invalid="ignore"):
                true = x.astype(np.float64).sum(axes)
            assert not np.isfinite(true).all()
            np.testing.assert_array_equal(N(F.sum(T(np.ascontiguousarray(x)), axes=axes)), true.astype(np.float32))
    zeros = N(F.sum(T(np.full((2, n), -0.0, np.float32)), axes=(1,)))
    assert not np.signbit(zeros).any()


@pytest.mark.slow
@pytest.mark.parametrize("n", [10_000_000, 100_000_000])
@every_value
def test_many_millions(rng, n, values):
    x = VALUES[values](rng, n)
    exact = x.astype(np.float64)
    magnitude = np.abs(exact).sum()
    for shape, axes in (((-1,), (0,)), ((-1, 2), (0, 1)), ((4, -1), (0, 1))):
        assert off(N(F.sum(T(x.reshape(shape)), axes=axes)), exact.sum(), magnitude) <= SUM
    assert off(N(F.sum(T(x.reshape(-1, 1)), axes=(0,))), exact.sum(), magnitude) <= SUM
    var = exact.var()
    assert off(N(F.var(T(x), (0,), False, 0.0)), var, var + (EPS * exact.mean()) ** 2) <= VARIANCE
    close(N(F.layer_norm(T(x), None, None, axis=0)), exact, (0,))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(),
        lambda x: x.sum(0),
        lambda x: (x * 2).sum(0, keepdim=True),
        lambda x: paddle.mm(x.T, x),
        lambda x: paddle.mv(x.T, x[:, 0]),
        lambda x: x.sum(0).expand([3, 4]),
    ],
    ids=["all", "columns", "fused", "matmul", "vector", "fused_epilogue"],
)
def test_the_sum_of_nothing_is_zero_without_a_sign(function, dtype):
    x = paddle.zeros([0, 4], dtype)
    for y in (function(x), paddle.jit.to_static(function)(x)):
        y = y.astype("float64" if dtype == "bfloat16" else dtype).numpy()
        assert (y == 0).all() and not np.signbit(y.real).any() and not np.signbit(y.imag).any()
