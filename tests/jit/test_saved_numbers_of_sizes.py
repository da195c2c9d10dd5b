"""Numbers computed of open sizes as arguments of functions: saved, loaded and captured, beside eager calls."""

from __future__ import annotations

import math

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.static import InputSpec

# By name, functions of x, n = x.shape[0] and 1 / n.
CALLS = {
    "scale": lambda x, n, r: paddle.scale(x, n, n),
    "scale, bias before": lambda x, n, r: x.scale(r, bias=n, bias_after_scale=False, act="relu"),
    "scale of integers": lambda x, n, r: paddle.scale(x.astype("int64"), n / 2, n),
    "scale of bools": lambda x, n, r: paddle.scale(x > 0, n - 3),
    "scale_": lambda x, n, r: (x * 1).scale_(n),
    "full_like": lambda x, n, r: paddle.full_like(x, n),
    "full": lambda x, n, r: paddle.full([n], r),
    "clip": lambda x, n, r: paddle.clip(x, -n / 2, n - 2),
    "pow": lambda x, n, r: paddle.pow(x.abs(), r) + n**x,
    "remainders": lambda x, n, r: x % n + x // n + (n - x) + n / (x + 10),
    "linspace": lambda x, n, r: paddle.linspace(r, n * 2.5, n + 1),
    "arange": lambda x, n, r: paddle.arange(r, n, n / 7),
    "dropout": lambda x, n, r: F.dropout(x, p=r, training=False, mode="downscale_in_infer"),
    "label_smooth": lambda x, n, r: F.label_smooth(F.one_hot(paddle.arange(2), 2), epsilon=r),
    "leaky_relu": lambda x, n, r: F.leaky_relu(x, r),
    "elu": lambda x, n, r: F.elu(x, n) + F.celu(x, n) + F.selu(x, n + 0.5, n * 1.0),
    "hardtanh": lambda x, n, r: F.hardtanh(x, -n / 2, n / 2) + F.hardsigmoid(x, r, n / 10),
    "shrink": lambda x, n, r: F.hardshrink(x, n / 2) + F.softshrink(x, n / 2),
    "softplus": lambda x, n, r: F.softplus(x, n, n * 2) + F.thresholded_relu(x, n / 3, n),
    "rrelu": lambda x, n, r: F.rrelu(x, r, r, training=False),
    "stanh": lambda x, n, r: paddle.stanh(x, r, n),
    "lerp": lambda x, n, r: paddle.lerp(x, x * 2, r),
    "addmm": lambda x, n, r: paddle.addmm(paddle.ones([2, 2]), paddle.ones([2, 2]), paddle.ones([2, 2]), n, r),
    "where": lambda x, n, r: paddle.where(x > 0, n, x) + paddle.masked_fill(x, x > 1, r),
    "masked_fill of integers": lambda x, n, r: paddle.masked_fill(x.astype("int64"), x > 0, n),
    "nan_to_num": lambda x, n, r: paddle.nan_to_num(x / 0.0, nan=n, posinf=n * 2, neginf=-n),
    "normalised": lambda x, n, r: F.layer_norm(x, 2, epsilon=r) + F.normalize(x, p=2, epsilon=n),
    "local_response_norm": lambda x, n, r: F.local_response_norm(x.reshape([1, 2, -1]), 3, r, n / 10, n),
    "cosine_similarity": lambda x, n, r: F.cosine_similarity(x, x + 1, axis=-1, eps=n),
    "smooth_l1_loss": lambda x, n, r: F.smooth_l1_loss(x, x * 2, delta=r),
    "margins": lambda x, n, r: (
        F.margin_ranking_loss(x, x * 2, paddle.ones_like(x), r)
        + F.hinge_embedding_loss(x, paddle.sign(x), n)
        + F.triplet_margin_loss(x, x * 2, x * 3, n)
    ),
    "losses": lambda x, n, r: (
        F.log_loss(F.sigmoid(x), paddle.ones_like(x), r).mean()
        + F.sigmoid_focal_loss(x, paddle.ones_like(x), alpha=r, gamma=n)
        + F.gaussian_nll_loss(x, x * 2, x.abs() + 1, epsilon=r)
        + F.cross_entropy(x, paddle.zeros([n], "int64"), label_smoothing=r)
    ),
    "isclose": lambda x, n, r: paddle.isclose(x, x + 1, rtol=r / 100, atol=n / 4),
    "logit": lambda x, n, r: paddle.logit(F.sigmoid(x), eps=r / 10),
    "trapezoid": lambda x, n, r: paddle.trapezoid(x, dx=n),
    "norm": lambda x, n, r: paddle.norm(x, p=n, axis=1),
    "norm of all": lambda x, n, r: paddle.linalg.norm(x, p=n / 2) + paddle.linalg.vector_norm(x, r),
    "distances": lambda x, n, r: (
        paddle.dist(x, x * 2, n) + paddle.cdist(x, x * 2, p=n).sum() + F.pairwise_distance(x, x * 2, n, r)
    ),
    "normalised by a norm": lambda x, n, r: F.normalize(x, p=n) + paddle.renorm(x, n, 0, r),
    "quantile": lambda x, n, r: paddle.quantile(x, r, axis=1),
    "quantiles": lambda x, n, r: paddle.quantile(x, [0.5, r]) + paddle.nanquantile(x, [r, r / 2]),
    "histogram": lambda x, n, r: paddle.histogram(x + 0.123, bins=5, min=-r, max=n),
    "histogram of open bins": lambda x, n, r: paddle.histogram(x, bins=n, min=-1, max=1, weight=x, density=True),
    "histogram_bin_edges": lambda x, n, r: paddle.histogram_bin_edges(x, 4, -n, r),
    "uniform": lambda x, n, r: (paddle.uniform([n, 20], min=n, max=n + r) - n - r / 2).abs() <= r / 2,
    "normal": lambda x, n, r: (paddle.normal(n, r / 1000, [20]) - n).abs() < r,
    "renorm": lambda x, n, r: paddle.renorm(x, 2.0, 0, n),
    "math": lambda x, n, r: x / math.sqrt(n * 2) + math.fabs(n - 4),
    "powers and angles": lambda x, n, r: x * math.pow(n, 2) + math.degrees(r) - math.radians(n) + math.isqrt(n * 3),
    "bits": lambda x, n, r: x * (n & 3) + ((n | 6) - (n ^ 5)) * (~n) + ((n + 7) & ~7) + (1 | n),
    "shifts": lambda x, n, r: x[: n >> 1] + (n << 2),
    "kinds of numbers": lambda x, n, r: x * 2 if np.isscalar(n) and not r.is_integer() else x,
    "assign": lambda x, n, r: paddle.assign([[n, 2], [1, n]]),
    "assign fractions": lambda x, n, r: paddle.assign([[n, 2], [r, 1.5]]),
    "assign one": lambda x, n, r: paddle.assign(n),
    "items": lambda x, n, r: _with_items(x, n, r),
}


def _with_items(x, n, r):
    y, z = x * 1, x.astype("int64")
    y[0] = r
    y[y > 1] = n
    z[:, 1] = n / 2
    return y + z.astype("float32")


def inputs(*sizes):
    return [paddle.to_tensor(np.arange(2.0 * n).reshape(n, 2) - 3, "float32") for n in sizes]


def compare(f, given, sizes):
    for x in inputs(*sizes):
        expected, y = f(x), given(x)
        assert y.dtype == expected.dtype
        np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=2e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_saved(call, tmp_path):
    def f(x):
        return call(x, x.shape[0], 1 / x.shape[0])

    paddle.jit.save(f, str(tmp_path / "model"), input_spec=[InputSpec([None, 2], "float32", "x")])
    compare(f, paddle.jit.load(str(tmp_path / "model")), (3, 5, 4))


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_captured(call, full_graph):
    def f(x):
        return call(x, x.shape[0], 1 / x.shape[0])

    compare(f, paddle.jit.to_static(f, full_graph=full_graph), (3, 5, 4, 7))


REFUSED = {
    "math.log": lambda x, n: x * math.log(n),
    "math.sin": lambda x, n: x * math.sin(n / 2),
    "math.comb": lambda x, n: x * math.comb(n, 2),
    "numpy.zeros": lambda x, n: x + np.zeros([n, 2], "float32"),
    "numpy.repeat": lambda x, n: x + np.repeat(2.0, n).reshape(n, 1).astype("float32"),
    "numpy.tile": lambda x, n: x + np.tile(np.ones((1, 2), "float32"), (n, 1)),
    "no fixed number": lambda x, n: (x, f"{n:03d}")[0],
}


@pytest.mark.parametrize("name", REFUSED)
def test_functions_that_need_the_number_say_what_to_write(name, tmp_path):
    def f(x):
        return REFUSED[name](x, x.shape[0])

    with pytest.raises(TypeError, match=rf"{name}.*(paddle\.|Compute it with tensors)"):
        paddle.jit.save(f, str(tmp_path / "model"), input_spec=[InputSpec([None, 2], "float32", "x")])
    compare(f, paddle.jit.to_static(f), (3, 5))


@pytest.mark.parametrize("shape", [[0, -1], [0, -1, 1], [0, 1, -1], [0, 2, -1]])
def test_a_batch_of_none_keeps_its_sizes(shape, tmp_path):
    def f(x):
        return x.reshape(shape) * 2

    paddle.jit.save(f, str(tmp_path / "model"), input_spec=[InputSpec([None, 2], "float32", "x")])
    model = paddle.jit.load(str(tmp_path / "model"))
    for x in inputs(0, 3, 1):
        assert model(x).shape == f(x).shape
