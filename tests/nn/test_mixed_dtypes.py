"""Losses promote floating operands of several dtypes, and every optional tensor gets its gradient."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

PAIRS = [
    F.l1_loss, F.mse_loss, F.square_error_cost, F.smooth_l1_loss, F.poisson_nll_loss, F.cosine_similarity,
    F.pairwise_distance,
]  # fmt: skip


@pytest.mark.parametrize("loss", PAIRS)
@pytest.mark.parametrize(
    ("one", "other", "wide"),
    [("float32", "float64", "float64"), ("float16", "float32", "float32"), ("float16", "bfloat16", "float32")],
)
def test_two_dtypes(loss, one, other, wide):
    x = paddle.to_tensor([[0.25, 0.5], [0.75, 1.0]], dtype=one, stop_gradient=False)
    y = paddle.to_tensor([[0.5, 0.5], [0.25, 0.5]], dtype=other, stop_gradient=False)
    for a, b in ((x, y), (y, x)):
        got = loss(a, b)
        assert got.dtype.name == wide
        np.testing.assert_allclose(got.numpy(), loss(a.astype(wide), b.astype(wide)).numpy())
    loss(x, y).sum().backward()
    assert x.grad.dtype.name == one and y.grad.dtype.name == other


def test_three_dtypes():
    x, y, z = (paddle.full([2, 3], v, d) for v, d in ((0.5, "float32"), (0.25, "float64"), (1.0, "float32")))
    assert F.gaussian_nll_loss(x, y, z).dtype is paddle.float64
    assert F.triplet_margin_loss(x, y, z).dtype is paddle.float64
    assert F.margin_ranking_loss(x, y, z).dtype is paddle.float64


def test_integers_are_refused():
    with pytest.raises(TypeError, match="floating"):
        F.kl_div(paddle.ones([2]), paddle.ones([2], dtype="int64"))


def differences(f, w, step=1e-6):
    found = []
    for i in range(w.size):
        d = np.zeros(w.size)
        d[i] = step
        d = d.reshape(w.shape)
        found.append((float(f(w + d)) - float(f(w - d))) / (2 * step))
    return np.reshape(found, w.shape)


rng = np.random.default_rng(3)
X = paddle.to_tensor(rng.normal(size=(3, 3)))
LOG_P = F.log_softmax(X)
HARD, SOFT = paddle.to_tensor([0, 2, 1]), F.softmax(paddle.to_tensor(rng.normal(size=(3, 3))))
WEIGHTED = {
    "cross_entropy": lambda w, how: F.cross_entropy(X, HARD, weight=w, reduction=how),
    "cross_entropy soft": lambda w, how: F.cross_entropy(X, SOFT, weight=w, soft_label=True, reduction=how),
    "cross_entropy smoothed": lambda w, how: F.cross_entropy(X, HARD, weight=w, label_smoothing=0.1, reduction=how),
    "cross_entropy ignoring": lambda w, how: F.cross_entropy(X, HARD, weight=w, ignore_index=2, reduction=how),
    "nll_loss": lambda w, how: F.nll_loss(LOG_P, HARD, weight=w, reduction=how),
    "multi_margin_loss": lambda w, how: F.multi_margin_loss(X, HARD, weight=w, reduction=how),
    "binary_cross_entropy": lambda w, how: F.binary_cross_entropy(SOFT, SOFT, weight=w, reduction=how),
    "with_logits": lambda w, how: F.binary_cross_entropy_with_logits(X, SOFT, weight=w, reduction=how),
    "pos_weight": lambda w, how: F.binary_cross_entropy_with_logits(X, SOFT, pos_weight=w, reduction=how),
    "multi_label": lambda w, how: F.multi_label_soft_margin_loss(X, (SOFT > 0.3).astype("float64"), w, reduction=how),
}


@pytest.mark.parametrize("how", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_get_their_gradient(name, how):
    def loss(w):
        return WEIGHTED[name](w, how).sum()

    w = np.array([0.5, 1.5, 2.0])
    t = paddle.to_tensor(w, stop_gradient=False)
    loss(t).backward()
    want = differences(lambda v: loss(paddle.to_tensor(v)), w)
    np.testing.assert_allclose(t.grad.numpy(), want, rtol=1e-6, atol=1e-7)
    assert np.any(want)


def test_modes_of_batch_norm():
    x = paddle.to_tensor([[0.0], [1.0], [2.0], [3.0]])
    batch, running = [-1.3416, -0.4472, 0.4472, 1.3416], [0.0, 1.0, 2.0, 3.0]
    for training, globally, want in (
        (False, None, running), (True, None, batch), (False, False, batch),
        (True, False, batch), (False, True, running), (True, True, running),
    ):  # fmt: skip
        mean, var = paddle.zeros([1]), paddle.ones([1])
        got = F.batch_norm(x, mean, var, training=training, use_global_stats=globally)
        np.testing.assert_allclose(got.flatten().numpy(), want, atol=1e-3)
        assert (mean.item() != 0) == (want is batch)


@pytest.mark.parametrize(("first", "last", "rank"), [("NCW", "NWC", 3), ("NCHW", "NHWC", 4), ("NCDHW", "NDHWC", 5)])
@pytest.mark.parametrize("mode", ["linear", "area", "nearest"])
def test_interpolate_of_either_layout(first, last, rank, mode):
    if mode == "nearest" and rank == 3:
        mode = "linear"
    elif mode == "linear":
        mode = {3: "linear", 4: "bilinear", 5: "trilinear"}[rank]
    x = paddle.to_tensor(np.random.normal(size=(1, 2, 3, 4, 5)[:rank]))
    size = [6, 2, 5][: rank - 2]
    want = F.interpolate(x, size, mode=mode, data_format=first)
    there, back = [0, *range(2, rank), 1], [0, rank - 1, *range(1, rank - 1)]
    got = F.interpolate(x.transpose(there), size, mode=mode, data_format=last).transpose(back)
    np.testing.assert_allclose(got.numpy(), want.numpy())
    assert got.shape == [1, 2, *size]


def test_a_negative_label_that_is_ignored_counts_in_the_mean():
    x, label = paddle.to_tensor([[1.0, 2.0], [3.0, 5.0]]), paddle.to_tensor([0, -100])
    np.testing.assert_allclose(F.cross_entropy(x, label).item(), 0.6566308, rtol=1e-6)
    label = paddle.to_tensor([0, 1])
    np.testing.assert_allclose(F.cross_entropy(x, label, ignore_index=1).item(), 1.3132617, rtol=1e-6)


def test_the_epsilon_of_cosines_bounds_the_product_of_lengths():
    x, y = paddle.to_tensor([[0.1, 0.0]]), paddle.to_tensor([[2.0, 0.0]])
    np.testing.assert_allclose(F.cosine_similarity(x, y, eps=0.5).item(), 0.4, rtol=1e-6)


def test_the_epsilon_of_the_default_distance_of_triplets():
    x, near, far = (paddle.to_tensor(v, dtype="float64") for v in ([[0.0, 0.0]], [[0.3, 0.1]], [[0.0, 0.5]]))
    got = F.triplet_margin_with_distance_loss(x, near, far).item()
    np.testing.assert_allclose(got, 0.8162275011054063, rtol=1e-12)
