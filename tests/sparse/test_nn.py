"""Layers over sparse tensors, with dense ones as judge."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as DF
import paddle.sparse as S
import paddle.sparse.nn as SN
import paddle.sparse.nn.functional as SF


def points(n, channels=2, space=(4, 5, 3), stored=9):
    sizes = [2, *space[:n]]
    key = np.sort(np.random.permutation(int(np.prod(sizes)))[:stored])
    x = S.sparse_coo_tensor(
        np.stack(np.unravel_index(key, sizes)), np.random.standard_normal((stored, channels)), [*sizes, channels]
    )
    x.stop_gradient = False
    return x


def weights(n, k=3, inputs=2, outputs=3):
    return paddle.to_tensor(np.random.standard_normal((*[k] * n, inputs, outputs)), stop_gradient=False)


def dense_conv(x, w, n, **settings):
    """The convolution of the dense tensor, channels last."""
    a = paddle.to_tensor(x.to_dense().numpy()).transpose([0, n + 1, *range(1, n + 1)])
    k = paddle.to_tensor(w.numpy()).transpose([n + 1, n, *range(n)])
    a.stop_gradient = k.stop_gradient = False
    y = getattr(DF, f"conv{n}d")(a, k, **settings).transpose([0, *range(2, n + 2), 1])
    return y, a, k


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize(
    "settings",
    [{}, {"padding": 1}, {"stride": 2, "padding": 1}, {"dilation": 1, "padding": "SAME"}, {"padding": [2, 1, 0]}],
)
def test_convolutions(n, settings):
    if isinstance(settings.get("padding"), list):
        settings = {"padding": settings["padding"][:n]}
    x, w = points(n), weights(n)
    if n == 3 and not settings:
        x = points(3, space=(4, 5, 4), stored=20)
    y = getattr(SF, f"conv{n}d")(x, w, **settings)
    want, a, k = dense_conv(x, w, n, **settings)
    np.testing.assert_allclose(y.to_dense().numpy(), want.numpy(), atol=1e-10)
    assert y.is_coalesced() and y.sparse_dim() == n + 1
    g = np.random.standard_normal(want.shape)
    y.to_dense().backward(paddle.to_tensor(g))
    # Positions that are not stored have no gradient; where the kernel meets no value the result is zero in both.
    want.backward(paddle.to_tensor(g))
    np.testing.assert_allclose(w.grad.numpy(), k.grad.numpy().transpose([*range(2, n + 2), 1, 0]), atol=1e-9)
    where = tuple(x.indices().numpy())
    spread = a.grad.numpy().transpose([0, *range(2, n + 2), 1])[where]
    np.testing.assert_allclose(x.grad.values().numpy(), spread, atol=1e-9)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_submanifold_convolutions(n, dilation):
    x, w = points(n, stored=20), weights(n)
    bias = paddle.to_tensor(np.random.standard_normal(3), stop_gradient=False)
    y = getattr(SF, f"subm_conv{n}d")(x, w, bias, dilation=dilation)
    assert y.indices() is x.indices() and y.shape == [*x.shape[:-1], 3]
    want, _, _ = dense_conv(x, w, n, padding=dilation, dilation=dilation)
    where = tuple(x.indices().numpy())
    np.testing.assert_allclose(y.values().numpy(), want.numpy()[where] + bias.numpy(), atol=1e-10)
    y.backward()
    assert bias.grad.tolist() == [20.0] * 3
    again = getattr(SF, f"subm_conv{n}d_igemm")(x, w, bias, dilation=dilation, key="same")
    np.testing.assert_array_equal(again.values().numpy(), y.values().numpy())


def test_second_order_of_a_convolution():
    x, w = points(3), weights(3)
    (g,) = paddle.grad((SF.subm_conv3d(x, w).values() ** 2).sum(), [w], create_graph=True)
    (h,) = paddle.grad(g.sum(), [x])
    step = 1e-5
    v = x.values().detach()
    for k in (0, 5):
        ends = []
        for sign in (1, -1):
            moved = v.numpy().copy()
            moved[k, 1] += sign * step
            z = x.detach().with_values(paddle.to_tensor(moved))
            u = w.detach()
            u.stop_gradient = False
            ends.append(paddle.grad((SF.subm_conv3d(z, u).values() ** 2).sum(), [u])[0].sum().item())
        np.testing.assert_allclose(h.values().numpy()[k, 1], (ends[0] - ends[1]) / (2 * step), rtol=1e-5)


@pytest.mark.parametrize("settings", [{}, {"stride": 1, "padding": 1}, {"ceil_mode": True}])
def test_pooling(settings):
    x = points(3, stored=30)
    kernel = 3 if settings.get("padding") else 2
    y = SF.max_pool3d(x, kernel, **settings)
    # Where nothing is stored the dense tensor is made lower than everything.
    a = np.full(x.shape, -1e9)
    a[tuple(x.indices().numpy())] = x.values().numpy()
    dense = paddle.to_tensor(a.transpose(0, 4, 1, 2, 3), stop_gradient=False)
    want = DF.max_pool3d(dense, kernel, **settings)
    got = y.to_dense().numpy()
    seen = want.numpy().transpose(0, 2, 3, 4, 1)
    assert y.shape == list(seen.shape)
    np.testing.assert_array_equal(got, np.where(seen > -1e8, seen, 0))
    y.backward()
    want.backward()
    spread = dense.grad.numpy().transpose(0, 2, 3, 4, 1)[tuple(x.indices().numpy())]
    np.testing.assert_allclose(x.grad.values().numpy(), spread)


def test_batch_norm():
    x = points(3, stored=12)
    layer, judge = SN.BatchNorm(2), paddle.nn.BatchNorm1D(2)
    x = x.detach().astype("float32")
    for mode in ("train", "eval"):
        getattr(layer, mode)()
        getattr(judge, mode)()
        np.testing.assert_array_equal(layer(x).values().numpy(), judge(x.values()).numpy())
    np.testing.assert_array_equal(layer._mean.numpy(), judge._mean.numpy())
    assert sorted(layer.state_dict()) == sorted(judge.state_dict())
    np.testing.assert_array_equal(SN.SyncBatchNorm(2)(x).values().numpy(), paddle.nn.BatchNorm1D(2)(x.values()).numpy())
    net = SN.SyncBatchNorm.convert_sync_batchnorm(paddle.nn.Sequential(SN.BatchNorm(2), paddle.nn.BatchNorm2D(2)))
    assert type(net[0]) is SN.SyncBatchNorm and type(net[1]) is paddle.nn.SyncBatchNorm
    with pytest.raises(ValueError):
        SN.BatchNorm(2, data_format="NCDHW")


@pytest.mark.parametrize("kind", ["coo", "csr"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_softmax(kind, shape):
    a = np.where(np.random.randint(0, 2, shape) > 0, np.random.standard_normal(shape), 0)
    x = paddle.to_tensor(a)
    x = x.to_sparse_coo(len(shape)) if kind == "coo" else x.to_sparse_csr()
    x.stop_gradient = False
    for axis in (-1, 0) if kind == "coo" else (-1,):
        y = SF.softmax(x, axis)
        powers = np.where(a != 0, np.exp(a), 0)
        total = powers.sum(axis, keepdims=True)
        want = powers / np.where(total == 0, 1, total)
        np.testing.assert_allclose(y.to_dense().numpy(), want, rtol=1e-12)
    g = np.random.standard_normal(shape)
    (got,) = paddle.grad(y.to_dense(), [x], [paddle.to_tensor(g)])
    np.testing.assert_allclose(got.to_dense().numpy(), want * (g - (want * g).sum(axis, keepdims=True)), atol=1e-12)


def test_activations_and_layers():
    v = [-2.0, 3.0, 8.0]
    x = S.sparse_csr_tensor([0, 2, 3], [0, 2, 1], v, [2, 3])
    for layer, want in (
        (SN.ReLU(), [0.0, 3.0, 8.0]), (SN.ReLU6(), [0.0, 3.0, 6.0]), (SN.LeakyReLU(0.5), [-1.0, 3.0, 8.0]),
    ):  # fmt: skip
        assert layer(x).values().tolist() == want and layer(x).is_sparse_csr()
    net = paddle.nn.Sequential(
        SN.SubmConv3D(2, 4, 3, key="a"), SN.BatchNorm(4), SN.ReLU(), SN.MaxPool3D(2), SN.Conv3D(4, 3, 2, padding=1)
    )
    y = net(points(3, stored=30).detach().astype("float32"))
    y.values().sum().backward()
    assert y.shape[-1] == 3 and all(p.grad is not None for p in net.parameters() if not p.stop_gradient)
    assert repr(SN.Conv2D(2, 3, 3)) == "Conv2D(2, 3, kernel_size=[3, 3], data_format=NHWC)"
    assert SN.SubmConv2D(2, 3, 3, backend="igemm")(points(2).astype("float32")).shape[-1] == 3


def test_attention():
    b, h, n, d = 2, 2, 4, 3
    q, k, v = (paddle.to_tensor(np.random.standard_normal((b, h, n, d)), stop_gradient=False) for _ in range(3))
    seen = np.random.randint(0, 2, (b * h, n, n)) + np.eye(n, dtype=int) > 0
    mask = paddle.to_tensor(seen.astype(float)).to_sparse_csr()
    keys, pairs = np.array([[1, 1, 0, 1], [0, 1, 1, 1]]), np.tril(np.ones((n, n)))
    for with_masks in (False, True):
        more = (paddle.to_tensor(keys), paddle.to_tensor(pairs)) if with_masks else (None, None)
        y = SF.attention(q, k, v, mask, *more)
        shown = seen.reshape(b, h, n, n)
        if with_masks:
            shown = shown & (keys[:, None, None, :] != 0) & (pairs != 0)
        scores = q.numpy() @ np.swapaxes(k.numpy(), -1, -2) / np.sqrt(d)
        powers = np.where(shown, np.exp(scores), 0)
        total = powers.sum(-1, keepdims=True)
        np.testing.assert_allclose(y.numpy(), powers / np.where(total == 0, 1, total) @ v.numpy(), atol=1e-12)
    y.sum().backward()
    assert all(np.isfinite(t.grad.numpy()).all() for t in (q, k, v))
    with pytest.raises(TypeError):
        SF.attention(q, k, v, q)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (TypeError, lambda: SF.conv3d(paddle.ones([1, 2, 2, 2, 2]), weights(3))),
        (ValueError, lambda: SF.conv3d(points(3), weights(3), groups=2)),
        (ValueError, lambda: SF.conv3d(points(3), weights(3), data_format="NCDHW")),
        (ValueError, lambda: SF.conv3d(points(3), weights(3, inputs=1))),
        (ValueError, lambda: SF.conv3d(points(3), weights(3, k=9))),
        (ValueError, lambda: SF.subm_conv3d(points(3), weights(3), stride=2)),
        (ValueError, lambda: SN.Conv3D(2, 3, 3, padding_mode="reflect")),
        (ValueError, lambda: SF.max_pool3d(points(3), 2, data_format="NCDHW")),
        (TypeError, lambda: SF.relu(paddle.ones([2]))),
        (TypeError, lambda: SN.BatchNorm(2)(paddle.ones([2, 2]))),
    ],
)
def test_what_does_not_fit_is_refused(error, call):
    with pytest.raises(error, match="requires"):
        call()


def test_attention_of_heads_without_elements():
    x = paddle.zeros([1, 1, 2, 0])
    mask = paddle.sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 1.0], [1, 2, 2])
    assert paddle.sparse.nn.functional.attention(x, x, x, mask).shape == [1, 1, 2, 0]
