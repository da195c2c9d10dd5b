"""Norms beyond a batch of their own: several processes, spectral norm, batch norm with an activation."""

import numpy as np
import pytest

import paddle
from paddle import nn


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_statistics_of_several_processes(layout, rng):
    """Two halves of a batch that exchange their sums give what the whole batch gives, gradients too."""
    x = (rng.standard_normal((6, 3, 4, 5)) * 2 + 30).astype(np.float32)
    x = x if layout == "NCHW" else np.moveaxis(x, 1, -1).copy()
    seed = np.cos(np.arange(x.size)).reshape(x.shape).astype(np.float32)
    whole = nn.BatchNorm2D(3, data_format=layout)
    weight = rng.standard_normal(3).astype(np.float32)
    whole.weight.set_value(paddle.to_tensor(weight))
    t = paddle.to_tensor(x, stop_gradient=False)
    y = whole(t)
    (y * paddle.to_tensor(seed)).sum().backward()

    # What each half adds up, as the other one gets it: twice, the second time around the common mean.
    halves = [paddle.to_tensor(x[i : i + 3], stop_gradient=False) for i in (0, 3)]
    axes = tuple(a for a in range(4) if a != (1 if layout == "NCHW" else 3))
    shape = [3 if a not in axes else 1 for a in range(4)]
    sums = [paddle.concat([half.sum(axes), paddle.full([1], float(half.size // 3))]) for half in halves]
    mean = (sums[0] + sums[1])[:3] / (sums[0] + sums[1])[3]
    squares = [((half - mean.reshape(shape)) ** 2).sum(axes) for half in halves]

    def with_other(i):
        parts = iter((sums[1 - i], squares[1 - i]))
        return lambda v: v + next(parts)

    layers = [nn.SyncBatchNorm(3, data_format=layout) for _ in range(2)]
    results = []
    for i, (layer, half) in enumerate(zip(layers, halves)):
        layer.weight.set_value(paddle.to_tensor(weight))
        layer.total = with_other(i)
        results.append(layer(half))
    np.testing.assert_allclose(np.concatenate([r.numpy() for r in results]), y.numpy(), rtol=1e-4, atol=1e-4)
    sum((r * paddle.to_tensor(seed[3 * i : 3 * i + 3])).sum() for i, r in enumerate(results)).backward()
    gradient = np.concatenate([h.grad.numpy() for h in halves])
    np.testing.assert_allclose(gradient, t.grad.numpy(), rtol=1e-3, atol=1e-4)
    for layer in layers:
        np.testing.assert_allclose(layer._mean.numpy(), whole._mean.numpy(), rtol=1e-5)
        np.testing.assert_allclose(layer._variance.numpy(), whole._variance.numpy(), rtol=1e-4)
    np.testing.assert_allclose(
        sum(layer.weight.grad.numpy() for layer in layers), whole.weight.grad.numpy(), rtol=1e-3, atol=1e-3
    )
    assert layers[0].eval()(halves[0]).shape == halves[0].shape


def test_conversion_to_synchronised():
    inner = nn.Sequential(nn.BatchNorm1D(2, momentum=0.5), nn.BatchNorm(5))
    net = nn.Sequential(nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4, data_format="NHWC"), inner).eval()
    before = dict(net.named_parameters())
    made = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert made is net and isinstance(net[1], nn.SyncBatchNorm) and isinstance(net[2][0], nn.SyncBatchNorm)
    assert type(net[2][1]) is nn.BatchNorm
    assert {name: id(p) for name, p in net.named_parameters()} == {name: id(p) for name, p in before.items()}
    assert not net[1].training and net[2][0]._momentum == 0.5
    assert repr(net[1]) == "SyncBatchNorm(num_features=4, momentum=0.9, epsilon=1e-05, data_format=NHWC)"
    assert nn.SyncBatchNorm.convert_sync_batchnorm(net[1]) is net[1]
    without = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm2D(3, weight_attr=False, bias_attr=False))
    assert list(without.state_dict()) == ["_mean", "_variance"]


def test_batch_norm_with_an_activation(rng):
    x = paddle.to_tensor(rng.standard_normal((4, 3, 2)).astype(np.float32))
    plain = nn.BatchNorm1D(3)(x)
    np.testing.assert_array_equal(nn.BatchNorm(3, act="relu")(x).numpy(), plain.numpy().clip(0))
    np.testing.assert_allclose(nn.BatchNorm(3, act="square")(x).numpy(), plain.numpy() ** 2, rtol=1e-6)
    with pytest.raises(ValueError, match="activation"):
        nn.BatchNorm(3, act="nothing")
    layer = nn.BatchNorm(3, is_test=True, moving_mean_name="m", moving_variance_name="v", param_attr=False)
    assert not layer.training and (layer._mean.name, layer._variance.name) == ("m", "v")
    np.testing.assert_allclose(layer(x).numpy(), x.numpy(), rtol=1e-4)
    always = nn.BatchNorm(3, trainable_statistics=True).eval()
    np.testing.assert_array_equal(always(x).numpy(), plain.numpy())
    assert always._mean.numpy().any()
    assert nn.BatchNorm(3, dtype="float16").weight.dtype is paddle.float32
    assert nn.BatchNorm(3, dtype="float64").weight.dtype is paddle.float64


def test_spectral_norm_of_a_layer(rng):
    layer = nn.utils.spectral_norm(nn.Linear(5, 3), n_power_iterations=1)
    x = paddle.to_tensor(rng.standard_normal((2, 5)).astype(np.float32))
    start = layer.weight_u.numpy().copy()
    for _ in range(50):
        y = layer(x)
    whole = layer.weight_orig.numpy()
    largest = np.linalg.svd(whole, compute_uv=False)[0]
    np.testing.assert_allclose(layer.weight.numpy(), whole / largest, rtol=1e-4, atol=1e-5)
    assert not np.array_equal(layer.weight_u.numpy(), start)
    y.sum().backward()
    assert layer.weight_orig.grad is not None
    kept = layer.eval().weight_u.numpy().copy()
    layer(x)
    np.testing.assert_array_equal(layer.weight_u.numpy(), kept)
    # The vectors are saved and loaded.
    other = nn.utils.spectral_norm(nn.Linear(5, 3))
    other.set_state_dict(layer.state_dict())
    np.testing.assert_allclose(other.eval()(x).numpy(), layer(x).numpy(), rtol=1e-6)
    with pytest.raises(RuntimeError, match="twice"):
        nn.utils.spectral_norm(layer)
    with pytest.raises(ValueError, match="n_power_iterations"):
        nn.utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)
    with pytest.raises(KeyError):
        nn.utils.spectral_norm(nn.Linear(2, 2), name="nothing")
    with pytest.raises(ValueError, match="SpectralNorm"):
        nn.SpectralNorm([3, 4])(paddle.ones([4, 3]))


def test_gradients_of_calls_that_came_before():
    """A call improves the vectors; the gradient of an earlier call needs those of its own."""
    layer = nn.utils.spectral_norm(nn.Linear(4, 4))
    x = paddle.ones([1, 4])
    first = layer(x)
    layer(x)
    first.sum().backward()
    assert layer.weight_orig.grad.numpy().any()


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.BatchNorm1D, [0, 3]), (nn.BatchNorm1D, [2, 3, 0]), (nn.BatchNorm2D, [0, 3, 2, 2]),
        (nn.BatchNorm2D, [2, 3, 2, 0]), (nn.BatchNorm3D, [1, 3, 2, 0, 2]),
    ],
)  # fmt: skip
def test_a_batch_of_nothing_leaves_running_statistics_alone(layer, shape, captured):
    """As in the reference framework; gradients of the parameters are zeros."""
    norm = layer(3)
    before = paddle.full([3], 0.25), paddle.full([3], 4.0)
    norm._mean.set_value(before[0].numpy())
    norm._variance.set_value(before[1].numpy())
    x = paddle.zeros(shape)
    x.stop_gradient = False
    run = paddle.jit.to_static(lambda x: norm(x)) if captured else norm
    y = run(x)
    assert y.shape == shape
    y.sum().backward()
    assert norm._mean.tolist() == before[0].tolist()
    assert norm._variance.tolist() == before[1].tolist()
    assert norm.weight.grad.tolist() == norm.bias.grad.tolist() == [0.0] * 3
    run(paddle.ones([2, *shape[1:]] if shape[0] == 0 else [4 if n == 0 else n for n in shape]))
    assert norm._mean.tolist() != before[0].tolist()  # what has elements still moves them
