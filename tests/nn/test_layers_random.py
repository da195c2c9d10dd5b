"""What draws numbers: initializers and their functions against bounds and moments, dropouts by expectation."""

import math

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.nn import init
from paddle.nn import initializer as I

MATRIX, KERNEL, CUBE, VECTOR = (200, 300), (20, 30, 5, 5), (20, 30, 40), (50000,)


def fill(initializer, shape):
    return paddle.create_parameter(list(shape), "float32", default_initializer=initializer).numpy()


def truncated(mean, std, a, b):
    """Mean and standard deviation of a normal distribution between a and b."""
    lo, hi = (a - mean) / std, (b - mean) / std
    density = [math.exp(-z * z / 2) / math.sqrt(2 * math.pi) for z in (lo, hi)]
    below = [0.5 * (1 + math.erf(z / math.sqrt(2))) for z in (lo, hi)]
    mass = below[1] - below[0]
    shift = (density[0] - density[1]) / mass
    spread = 1 + (lo * density[0] - hi * density[1]) / mass - shift**2
    return mean + std * shift, std * math.sqrt(spread)


# (initializer, shape, mean, standard deviation, lowest, highest); of uniform ones the bounds give the rest.
def uniform(limit):
    return 0.0, limit / math.sqrt(3), -limit, limit


NORMAL = (-math.inf, math.inf)
MOMENTS = {
    "Uniform": (I.Uniform(2.0, 5.0), MATRIX, 3.5, 3 / math.sqrt(12), 2.0, 5.0),
    "Normal": (I.Normal(2.0, 5.0), MATRIX, 2.0, 5.0, *NORMAL),
    "TruncatedNormal": (I.TruncatedNormal(1.0, 2.0, -3.0, 4.0), MATRIX, *truncated(1, 2, -3, 4), -3.0, 4.0),
    "far from the mean": (I.TruncatedNormal(5.0, 1.0), MATRIX, *truncated(5, 1, -2, 2), -2.0, 2.0),
    "XavierUniform": (I.XavierUniform(), MATRIX, *uniform(math.sqrt(6 / 500))),
    "XavierUniform, kernel": (I.XavierUniform(), KERNEL, *uniform(math.sqrt(6 / (50 * 25)))),
    "XavierUniform, cube": (I.XavierUniform(), CUBE, *uniform(math.sqrt(6 / (50 * 40)))),
    "XavierUniform, vector": (I.XavierUniform(), VECTOR, *uniform(math.sqrt(6 / (2 * 50000)))),
    "XavierUniform, fans": (I.XavierUniform(10, 20, 2.0), MATRIX, *uniform(2 * math.sqrt(6 / 30))),
    "XavierNormal": (I.XavierNormal(), MATRIX, 0.0, math.sqrt(2 / 500), *NORMAL),
    "XavierNormal, kernel": (I.XavierNormal(gain=3.0), KERNEL, 0.0, 3 * math.sqrt(2 / (50 * 25)), *NORMAL),
    "KaimingUniform": (I.KaimingUniform(), MATRIX, *uniform(math.sqrt(6 / 200))),
    "KaimingUniform, kernel": (I.KaimingUniform(), KERNEL, *uniform(math.sqrt(6 / 750))),
    "KaimingUniform, fan_out": (I.KaimingUniform(mode="fan_out"), KERNEL, *uniform(math.sqrt(6 / 500))),
    # A slope counts for leaky ReLU alone.
    "KaimingUniform, relu": (I.KaimingUniform(negative_slope=0.5), MATRIX, *uniform(math.sqrt(6 / 200))),
    "KaimingUniform, leaky": (
        I.KaimingUniform(negative_slope=0.5, nonlinearity="leaky_relu"),
        MATRIX,
        *uniform(math.sqrt(6 / 1.25 / 200)),
    ),
    "KaimingNormal, tanh": (I.KaimingNormal(nonlinearity="tanh"), MATRIX, 0.0, 5 / 3 / math.sqrt(200), *NORMAL),
    "KaimingNormal, fan": (I.KaimingNormal(10, nonlinearity="linear"), KERNEL, 0.0, math.sqrt(0.1), *NORMAL),
    "KaimingNormal, cube": (I.KaimingNormal(), CUBE, 0.0, math.sqrt(2 / 1200), *NORMAL),
}
FILLED = {
    "uniform_": (lambda t: init.uniform_(t), MATRIX, 0.5, 1 / math.sqrt(12), 0.0, 1.0),
    "normal_": (lambda t: init.normal_(t, 1.0, 2.0), MATRIX, 1.0, 2.0, *NORMAL),
    "trunc_normal_": (lambda t: init.trunc_normal_(t), MATRIX, *truncated(0, 1, -2, 2), -2.0, 2.0),
    "xavier_uniform_": (lambda t: init.xavier_uniform_(t, 2.0), MATRIX, *uniform(2 * math.sqrt(6 / 500))),
    "xavier_normal_": (lambda t: init.xavier_normal_(t, 2.0, 100, 50), MATRIX, 0.0, 2 * math.sqrt(2 / 150), *NORMAL),
    "kaiming_uniform_": (lambda t: init.kaiming_uniform_(t), MATRIX, *uniform(math.sqrt(6 / 200))),
    "kaiming_uniform_, slope": (
        lambda t: init.kaiming_uniform_(t, 1.0, "fan_out"),
        MATRIX,
        *uniform(math.sqrt(3 / 300)),
    ),
    "kaiming_normal_": (
        lambda t: init.kaiming_normal_(t, nonlinearity="relu"),
        KERNEL,
        0.0,
        math.sqrt(2 / 750),
        *NORMAL,
    ),
}


def has_moments(values, mean, std, low, high):
    spread = 5 * std / math.sqrt(values.size)
    assert abs(values.mean() - mean) < spread
    assert abs(values.std() - std) < 0.02 * std
    assert values.min() >= low - 1e-6 and values.max() <= high + 1e-6
    if math.isfinite(high):  # and the bounds are reached, nearly
        assert max(abs(values.min() - low), 0) < 0.5 * std or max(abs(values.max() - high), 0) < 0.5 * std
    # One half of the numbers is like the other.
    first, second = np.array_split(values.ravel(), 2)
    assert abs(first.mean() - second.mean()) < 2 * spread


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name):
    initializer, shape, *expected = MOMENTS[name]
    has_moments(fill(initializer, shape), *expected)


@pytest.mark.parametrize("name", FILLED)
def test_functions_fill(name):
    function, shape, *expected = FILLED[name]
    tensor = paddle.empty(list(shape))
    assert function(tensor) is tensor
    has_moments(tensor.numpy(), *expected)
    layer = nn.Linear(*MATRIX)
    if shape == MATRIX:
        function(layer.weight)  # a parameter, though it is trained
        assert not layer.weight.stop_gradient


def test_functions_that_draw_nothing():
    t = paddle.empty([2, 3])
    for function, expected in (
        (lambda t: init.constant_(t, 2.5), np.full((2, 3), 2.5)),
        (init.ones_, np.ones((2, 3))),
        (init.zeros_, np.zeros((2, 3))),
        (init.eye_, np.eye(2, 3)),
    ):
        assert function(t) is t
        np.testing.assert_array_equal(t.numpy(), expected)
    with pytest.raises(ValueError, match="rank 2"):
        init.eye_(paddle.empty([2, 2, 2]))
    kernel = init.dirac_(paddle.empty([4, 2, 3]), 2).numpy()
    assert kernel.sum() == 4 and kernel[[0, 1, 2, 3], [0, 1, 0, 1], 1].tolist() == [1.0] * 4
    q = init.orthogonal_(paddle.empty([3, 5]), 2).numpy()
    np.testing.assert_allclose(q @ q.T, 4 * np.eye(3), atol=1e-5)
    assert init.in_dygraph_mode() and not init.in_pir_mode()
    assert init.calculate_gain("leaky_relu", 0.2) == pytest.approx(1.3867504905630728)
    assert init.uniform_(paddle.empty([1000], dtype="float16"), -1, 1).numpy().min() < -0.9
    assert init.normal_(paddle.empty([1000], dtype="float64")).dtype is paddle.float64


def test_gradients_do_not_reach_what_was_there():
    w = paddle.create_parameter([2], "float32")
    init.uniform_(w)
    (w * 2).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


LAYERS = {
    "Linear": (lambda: nn.Linear(200, 300), uniform(math.sqrt(6 / 500))),
    "Conv1D": (lambda: nn.Conv1D(64, 96, 5), (0.0, math.sqrt(2 / 320), *NORMAL)),
    "Conv2D": (lambda: nn.Conv2D(64, 96, 3, groups=2), (0.0, math.sqrt(2 / 576), *NORMAL)),
    "Conv3D": (lambda: nn.Conv3D(16, 96, 3), (0.0, math.sqrt(2 / 432), *NORMAL)),
    "Conv1DTranspose": (lambda: nn.Conv1DTranspose(64, 96, 5), uniform(math.sqrt(6 / 800))),
    "Conv2DTranspose": (lambda: nn.Conv2DTranspose(64, 96, 3, groups=2), uniform(math.sqrt(6 / (112 * 9)))),
    "Conv3DTranspose": (lambda: nn.Conv3DTranspose(16, 32, 3), uniform(math.sqrt(6 / (48 * 27)))),
    "Embedding": (lambda: nn.Embedding(200, 300), uniform(math.sqrt(6 / 500))),
    "Bilinear": (lambda: nn.Bilinear(20, 30, 40), uniform(math.sqrt(6 / (60 * 30)))),
}


@pytest.mark.parametrize("name", LAYERS)
def test_what_layers_start_with(name):
    make, expected = LAYERS[name]
    layer = make()
    has_moments(layer.weight.numpy(), *expected)
    assert name == "Embedding" or not layer.bias.numpy().any()


# --- dropouts --------------------------------------------------------------------------------------------------------

# name: (layer, input shape, axes along which all is dropped together)
DROPS = {
    "Dropout": (lambda p: nn.Dropout(p), (40, 50), ()),
    "Dropout, axis": (lambda p: nn.Dropout(p, axis=0), (400, 5), (1,)),
    "Dropout2D": (lambda p: nn.Dropout2D(p), (40, 50, 2, 3), (2, 3)),
    "Dropout2D, last": (lambda p: nn.Dropout2D(p, data_format="NHWC"), (40, 2, 3, 50), (1, 2)),
    "Dropout3D": (lambda p: nn.Dropout3D(p), (40, 50, 2, 1, 3), (2, 3, 4)),
    "dropout1d": (lambda p: lambda x: F.dropout1d(x, p), (40, 50, 3), (2,)),
}


@pytest.mark.parametrize("p", [0.2, 0.5])
@pytest.mark.parametrize("name", DROPS)
def test_dropout(name, p):
    make, shape, together = DROPS[name]
    x = paddle.full(list(shape), 3.0)
    x.stop_gradient = False
    y = make(p)(x)
    values = y.numpy()
    assert set(np.unique(values)) <= {0.0, np.float32(3.0) / np.float32(1 - p), np.float32(3.0 / (1 - p))}
    zero = values == 0
    one = zero.any(together) if together else zero
    assert np.array_equal(one, zero.all(together) if together else zero), "dropped together"
    assert abs(one.mean() - p) < 5 * math.sqrt(p * (1 - p) / one.size)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.where(zero, 0.0, 1 / (1 - p)), rtol=1e-6)


def test_downscale_in_infer():
    layer = nn.Dropout(0.4, mode="downscale_in_infer")
    values = layer(paddle.ones([1000])).numpy()
    assert set(np.unique(values)) == {0.0, 1.0}
    assert layer.eval()(paddle.ones([2])).tolist() == pytest.approx([0.6, 0.6])


@pytest.mark.parametrize(
    ("layer", "together"), [(nn.AlphaDropout(0.3), ()), (nn.FeatureAlphaDropout(0.3), (2,))], ids=["each", "channels"]
)
def test_alpha_dropout_keeps_mean_and_variance(layer, together, rng):
    x = rng.standard_normal((200, 300, 4)).astype(np.float32)
    y = layer(paddle.to_tensor(x)).numpy()
    assert abs(y.mean()) < 0.03 and y.std() == pytest.approx(1.0, abs=0.03)
    values, counts = np.unique(y, return_counts=True)
    dropped = y == values[counts.argmax()]
    one = dropped.any(together) if together else dropped
    assert np.array_equal(one, dropped.all(together) if together else dropped)
    assert abs(one.mean() - 0.3) < 5 * math.sqrt(0.21 / one.size)


def test_rrelu_draws_slopes():
    x = paddle.full([100, 100], -2.0)
    x.stop_gradient = False
    y = nn.RReLU(0.1, 0.4)(x)
    has_moments(y.numpy() / -2, 0.25, 0.3 / math.sqrt(12), 0.1, 0.4)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.numpy() / -2, rtol=1e-6)
    assert nn.RReLU()(paddle.ones([2])).tolist() == [1.0, 1.0]


def test_fractional_pooling_draws_borders():
    x = paddle.arange(100.0).reshape([1, 1, 10, 10])
    paddle.seed(0)
    found = {tuple(nn.FractionalMaxPool2D(4)(x).numpy().ravel()) for _ in range(30)}
    assert len(found) > 1
    for bad in ({"random_u": 0.0}, {"random_u": 1.0}, {"output_size": 11}, {"output_size": 8, "kernel_size": 4}):
        with pytest.raises(ValueError, match="fractional_max_pool2d"):
            F.fractional_max_pool2d(x, **{"output_size": 4, **bad})
