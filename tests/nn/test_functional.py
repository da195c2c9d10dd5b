"""Every function against the peer: values and gradients on generated operands."""

import numpy as np
import pytest
import torch
import torch.nn.functional as T

import paddle
import paddle.nn.functional as F


def f32(rng, *shape, lo=-2.0, hi=2.0):
    return np.asarray(rng.uniform(lo, hi, shape)).astype(np.float32)


def ints(rng, high, *shape):
    return rng.integers(0, high, shape)


ACTIVATIONS = {
    "relu": (F.relu, T.relu),
    "relu6": (lambda x: F.relu6(x * 4), lambda x: T.relu6(x * 4)),
    "elu": (lambda x: F.elu(x, 0.7), lambda x: T.elu(x, 0.7)),
    "selu": (F.selu, T.selu),
    "celu": (lambda x: F.celu(x, 0.7), lambda x: T.celu(x, 0.7)),
    "gelu": (F.gelu, T.gelu),
    "gelu tanh": (lambda x: F.gelu(x, "tanh"), lambda x: T.gelu(x, approximate="tanh")),
    "silu": (F.silu, T.silu),
    "swish": (F.swish, T.silu),
    "mish": (F.mish, T.mish),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), lambda x: T.leaky_relu(x, 0.2)),
    "hardtanh": (lambda x: F.hardtanh(x, -0.5, 1.5), lambda x: T.hardtanh(x, -0.5, 1.5)),
    "hardsigmoid": (lambda x: F.hardsigmoid(x, 1 / 6), T.hardsigmoid),
    "hardswish": (F.hardswish, T.hardswish),
    "hardshrink": (F.hardshrink, T.hardshrink),
    "softshrink": (F.softshrink, T.softshrink),
    "tanhshrink": (F.tanhshrink, T.tanhshrink),
    "thresholded_relu": (lambda x: F.thresholded_relu(x, 0.5, 0.1), lambda x: T.threshold(x, 0.5, 0.1)),
    "softsign": (F.softsign, T.softsign),
    "softplus": (lambda x: F.softplus(x, 2, 1.5), lambda x: T.softplus(x, 2, 1.5)),
    "log_sigmoid": (F.log_sigmoid, T.logsigmoid),
    "sigmoid": (F.sigmoid, torch.sigmoid),
    "tanh": (F.tanh, torch.tanh),
    "softmax": (lambda x: F.softmax(x, 1), lambda x: T.softmax(x, 1)),
    "softmax last": (F.softmax, lambda x: T.softmax(x, -1)),
    "log_softmax": (lambda x: F.log_softmax(x, 0), lambda x: T.log_softmax(x, 0)),
    "glu": (lambda x: F.glu(x, 1), lambda x: T.glu(x, 1)),
    "swiglu": (F.swiglu, lambda x: T.silu(x[..., :3]) * x[..., 3:]),
    "rrelu": (lambda x: F.rrelu(x, training=False), lambda x: T.rrelu(x, training=False)),
    "maxout": (lambda x: F.maxout(x.unsqueeze(3), 2).squeeze(3), lambda x: x.reshape(3, 2, 2, 6).amax(2)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation(name, agree, rng):
    agree(*ACTIVATIONS[name], f32(rng, 3, 4, 6))


def test_activations_with_weights(agree, rng):
    agree(F.prelu, T.prelu, f32(rng, 2, 3, 4), f32(rng, 3))
    agree(F.prelu, T.prelu, f32(rng, 2, 3), f32(rng, 1))
    agree(F.swiglu, lambda x, y: T.silu(x) * y, f32(rng, 2, 3), f32(rng, 2, 3))
    agree(lambda x, w: F.prelu(x, w, "NC"), T.prelu, f32(rng, 2, 3, 3), f32(rng, 3))
    with pytest.raises(ValueError, match=r"\[prelu\] requires data_format 'NC', .*, got 'XX'"):
        F.prelu(paddle.ones([2, 3]), paddle.ones([3]), "XX")
    last = lambda x, w: T.prelu(x.movedim(-1, 1), w).movedim(1, -1)  # noqa: E731
    agree(lambda x, w: F.prelu(x, w, "NHWC"), last, f32(rng, 2, 2, 2, 3), f32(rng, 3))


def test_softmax_forms(rng):
    x = paddle.to_tensor(f32(rng, 2, 3))
    for other in (F.softmax(input=x, dim=1), F.softmax(x, dtype="float64").astype("float32")):
        np.testing.assert_allclose(other.numpy(), F.softmax(x).numpy(), rtol=1e-6)
    assert F.softmax(paddle.to_tensor(3.0)).item() == 1.0
    out = paddle.zeros([2, 3])
    assert F.softmax(x, out=out) is out
    np.testing.assert_array_equal(out.numpy(), F.softmax(x).numpy())
    with pytest.raises((IndexError, ValueError)):
        F.softmax(x, 2)
    with pytest.raises(TypeError):
        F.softmax(paddle.to_tensor([1, 2]))


@pytest.mark.parametrize("name", ["relu_", "elu_", "hardtanh_", "leaky_relu_", "softmax_", "thresholded_relu_"])
def test_in_place(name, rng):
    x = paddle.to_tensor(f32(rng, 2, 3))
    expected = getattr(F, name[:-1])(x).numpy().copy()
    assert getattr(F, name)(x) is x
    np.testing.assert_array_equal(x.numpy(), expected)


def test_gumbel_softmax():
    x = paddle.zeros([100, 5])
    soft, hard = F.gumbel_softmax(x), F.gumbel_softmax(x, hard=True)
    np.testing.assert_allclose(soft.numpy().sum(1), 1, rtol=1e-5)
    assert set(np.unique(hard.numpy().round(5))) == {0.0, 1.0}
    np.testing.assert_allclose(hard.numpy().sum(1), 1, rtol=1e-5)
    assert F.gumbel_softmax(x, hard=True, axis=0).numpy().sum(0).tolist() == pytest.approx([1] * 5)


# --- linear maps ---------------------------------------------------------------------------------------------------


def test_linear(agree, rng):
    theirs = lambda x, w, b=None: T.linear(x, w.T, b)  # noqa: E731
    agree(F.linear, theirs, f32(rng, 2, 3), f32(rng, 3, 4), f32(rng, 4))
    agree(F.linear, theirs, f32(rng, 2, 5, 3), f32(rng, 3, 4))
    ours = lambda x, y, w, b: F.bilinear(x, y, w, b)  # noqa: E731
    peer = lambda x, y, w, b: T.bilinear(x, y, w, b[0])  # noqa: E731
    agree(ours, peer, f32(rng, 4, 2), f32(rng, 4, 3), f32(rng, 5, 2, 3), f32(rng, 1, 5))
    with pytest.raises(ValueError, match="linear"):
        F.linear(paddle.ones([2, 3]), paddle.ones([4, 3]))


def test_embedding(agree, rng):
    index = ints(rng, 6, 3, 4)
    agree(F.embedding, T.embedding, index, f32(rng, 6, 5))
    ours = lambda w: F.embedding(paddle.to_tensor(index), w, padding_idx=-1)  # noqa: E731
    peer = lambda w: T.embedding(torch.from_numpy(index), w) * torch.from_numpy(index != 5)[..., None]  # noqa: E731
    agree(ours, peer, f32(rng, 6, 5))
    by = lambda w: F.embedding(paddle.to_tensor(index), w, scale_grad_by_freq=True)  # noqa: E731
    agree(by, lambda w: T.embedding(torch.from_numpy(index), w, scale_grad_by_freq=True), f32(rng, 6, 5))
    w = paddle.to_tensor(f32(rng, 6, 5) * 10)
    peer_w = torch.from_numpy(w.numpy().copy())
    F.embedding(paddle.to_tensor(index), w, max_norm=2.0)
    T.embedding(torch.from_numpy(index), peer_w, max_norm=2.0)
    np.testing.assert_allclose(w.numpy(), peer_w.numpy(), rtol=1e-5)
    with pytest.raises(TypeError, match="embedding"):
        F.embedding(paddle.ones([2]), w)
    with pytest.raises(ValueError, match="padding_idx"):
        F.embedding(paddle.to_tensor([0]), w, padding_idx=6)


def test_one_hot():
    assert F.one_hot(paddle.to_tensor([[1], [0]]), 3).tolist() == [[[0, 1, 0]], [[1, 0, 0]]]
    assert F.one_hot(paddle.to_tensor([2, 0])).shape == [2, 3]
    with pytest.raises(ValueError, match="classes"):
        F.one_hot(paddle.to_tensor([3]), 3)


# --- convolution ---------------------------------------------------------------------------------------------------

CONV = [
    (1, (2, 4, 9), (6, 4, 3), {}),
    (1, (2, 4, 9), (6, 2, 3), {"groups": 2, "stride": 2, "padding": 1}),
    (2, (2, 3, 6, 7), (4, 3, 3, 2), {"padding": (1, 2), "stride": (2, 1)}),
    (2, (1, 4, 7, 7), (4, 1, 3, 3), {"groups": 4, "dilation": 2}),
    (3, (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), {"padding": 1}),
]


@pytest.mark.parametrize(("n", "x", "w", "kw"), CONV)
def test_conv(n, x, w, kw, agree, rng):
    ours, theirs = getattr(F, f"conv{n}d"), getattr(T, f"conv{n}d")
    agree(
        lambda x, w, b: ours(x, w, b, **kw),
        lambda x, w, b: theirs(x, w, b, **kw),
        f32(rng, *x),
        f32(rng, *w),
        f32(rng, w[0]),
    )
    last = {1: "NLC", 2: "NHWC", 3: "NDHWC"}[n]
    agree(
        lambda x, w: ours(x, w, data_format=last, **kw),
        lambda x, w: theirs(x.movedim(-1, 1), w, **kw).movedim(1, -1),
        np.moveaxis(f32(rng, *x), 1, -1).copy(),
        f32(rng, *w),
    )


@pytest.mark.parametrize(
    ("n", "x", "w", "kw"),
    [
        (1, (2, 4, 5), (4, 3, 3), {"stride": 2, "output_padding": 1}),
        (2, (2, 4, 3, 4), (4, 2, 3, 2), {"groups": 2, "padding": 1, "stride": (2, 3)}),
        (2, (1, 2, 3, 3), (2, 3, 2, 2), {"dilation": 2}),
        (3, (1, 2, 2, 3, 2), (2, 2, 2, 2, 2), {"stride": 2}),
    ],
)
def test_conv_transpose(n, x, w, kw, agree, rng):
    ours, theirs = getattr(F, f"conv{n}d_transpose"), getattr(T, f"conv_transpose{n}d")
    bias = f32(rng, w[1] * kw.get("groups", 1))
    agree(lambda x, w, b: ours(x, w, b, **kw), lambda x, w, b: theirs(x, w, b, **kw), f32(rng, *x), f32(rng, *w), bias)


PADDINGS = [
    ("VALID", (1, 4, 1, 2)),
    ("same", (1, 4, 3, 4)),
    ([1, 2, 0, 1], (1, 4, 4, 3)),
    ([[0, 0], [0, 0], [1, 2], [0, 1]], (1, 4, 4, 3)),
    ([[1, 2], [0, 1]], (1, 4, 4, 3)),
]


@pytest.mark.parametrize(("padding", "shape"), PADDINGS)
def test_forms_of_padding(padding, shape):
    assert tuple(F.conv2d(paddle.ones([1, 2, 3, 4]), paddle.ones([4, 2, 3, 3]), padding=padding).shape) == shape


def test_conv_transpose_sizes():
    x, w = paddle.ones([1, 2, 3, 4]), paddle.ones([2, 4, 3, 3])
    assert F.conv2d_transpose(x, w, stride=2, padding=1, output_size=[6, 8]).shape == [1, 4, 6, 8]
    assert F.conv2d_transpose(x, w, stride=2, padding="SAME").shape == [1, 4, 5, 8]
    with pytest.raises(ValueError, match="output_size"):
        F.conv2d_transpose(x, w, stride=2, output_size=[20, 8])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: F.conv2d(paddle.ones([1, 3, 4, 4]), paddle.ones([4, 2, 3, 3])), "channels"),
        (lambda: F.conv2d(paddle.ones([3, 4, 4]), paddle.ones([4, 3, 3, 3])), "rank 4"),
        (lambda: F.conv2d(paddle.ones([1, 3, 4, 4]), paddle.ones([4, 3, 3, 3]), padding=[1, 2, 3]), "padding"),
        (lambda: F.conv2d(paddle.ones([1, 3, 4, 4]), paddle.ones([4, 3, 3, 3]), data_format="NCX"), "data_format"),
        (lambda: F.conv2d(paddle.ones([1, 3, 2, 2]), paddle.ones([4, 3, 3, 3])), "kernel"),
        (lambda: F.max_pool2d(paddle.ones([1, 1, 2, 2]), 2, 0), "stride"),
        (lambda: F.max_pool2d(paddle.ones([1, 1, 2]), 2), "rank 4"),
        (lambda: F.unfold(paddle.ones([1, 2, 2]), 2), "rank 4"),
        (lambda: F.local_response_norm(paddle.ones([1, 2, 2]), 0), "size of 1"),
        (lambda: F.local_response_norm(paddle.ones([1, 2, 2]), 1, data_format="NCX"), "data_format of NC, NCDHW"),
        (lambda: F.group_norm(paddle.ones([1, 2, 2]), 1, data_format="NCX"), r"^\[group_norm\] requires a data_format"),
        (lambda: paddle.nn.BatchNorm2D(2, data_format="CHWN")(paddle.ones([1, 2, 2, 2])), "got 'CHWN'"),
        (lambda: paddle.nn.InstanceNorm2D(2, data_format="CHWN")(paddle.ones([1, 2, 2, 2])), "got 'CHWN'"),
        (lambda: F.dropout2d(paddle.ones([1, 2, 2, 2]), data_format="NCDHW"), "data_format 'NCHW' or 'NHWC'"),
        (lambda: F.dropout3d(paddle.ones([1, 2, 2, 2, 2]), data_format="NHWC"), "data_format 'NCDHW' or 'NDHWC'"),
    ],
)
def test_windows_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


IMAGES = (1, 4, 4, 4)
COUNTS = {
    "maxout": lambda x, n: F.maxout(x, n),
    "group_norm": lambda x, n: F.group_norm(x, n),
    "conv2d": lambda x, n: F.conv2d(x, paddle.ones([4, 4, 3, 3]), groups=n),
    "conv2d_transpose": lambda x, n: F.conv2d_transpose(x, paddle.ones([4, 4, 3, 3]), groups=n),
    "pixel_shuffle": lambda x, n: F.pixel_shuffle(x, n),
    "pixel_unshuffle": lambda x, n: F.pixel_unshuffle(x, n),
    "channel_shuffle": lambda x, n: F.channel_shuffle(x, n),
    "temporal_shift": lambda x, n: F.temporal_shift(x, n),
    "unfold": lambda x, n: F.unfold(x, 3, strides=n),
    "unfold ": lambda x, n: F.unfold(x, 3, dilations=n),
    "fold": lambda x, n: F.fold(x.reshape([1, 16, 4]), [4, 4], 2, strides=n),
    "interpolate": lambda x, n: F.interpolate(x, size=[n, 4]),
    "interpolate ": lambda x, n: F.interpolate(x, scale_factor=n),
    "max_pool2d": lambda x, n: F.max_pool2d(x, 2, stride=n),
    "avg_pool2d": lambda x, n: F.avg_pool2d(x, n),
    "chunk": lambda x, n: paddle.chunk(x, n),
    "split": lambda x, n: paddle.split(x, n),
}


@pytest.mark.parametrize("count", [0, -1])
@pytest.mark.parametrize("name", COUNTS)
def test_counts_that_divide_sizes_are_at_least_one(name, count):
    with pytest.raises(ValueError, match=rf"^\[{name.strip()}\] requires "):
        COUNTS[name](paddle.ones(IMAGES), count)


# --- pooling -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    "kw",
    [{}, {"stride": 2, "padding": 1}, {"stride": 2, "padding": 1, "ceil_mode": True}, {"stride": 1}],
    ids=str,
)
def test_pooling(n, kw, agree, rng):
    x = rng.permutation(2 * 3 * 6**n).reshape(2, 3, *(6,) * n).astype(np.float32)
    ours, theirs = getattr(F, f"max_pool{n}d"), getattr(T, f"max_pool{n}d")
    agree(lambda x: ours(x, 3, **kw), lambda x: theirs(x, 3, **kw), x)
    mine, peer = (
        ours(paddle.to_tensor(x), 3, return_mask=True, **kw),
        theirs(torch.from_numpy(x), 3, return_indices=True, **kw),
    )
    np.testing.assert_array_equal(mine[1].numpy(), peer[1].numpy())
    ours, theirs = getattr(F, f"avg_pool{n}d"), getattr(T, f"avg_pool{n}d")
    for exclusive in (True, False):
        agree(
            lambda x, e=exclusive: ours(x, 3, exclusive=e, **kw),
            lambda x, e=exclusive: theirs(x, 3, count_include_pad=not e, **kw),
            x,
        )


@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d])
def test_a_window_larger_than_its_image_changes_nothing_for_others(pool):
    """It has pads of its own, which a later call with the same arguments does not get."""
    assert pool(paddle.ones([1, 1, 2, 2]), 3, 2).tolist() == [[[[1.0]]]]
    assert pool(paddle.ones([1, 1, 8, 7]), 3, 2).shape == [1, 1, 3, 3]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_adaptive_pooling(n, agree, rng):
    x = rng.permutation(2 * 3 * 5**n).reshape(2, 3, *(5,) * n).astype(np.float32)
    for size in (1, 2, 3):
        agree(
            lambda x, s=size: getattr(F, f"adaptive_avg_pool{n}d")(x, s),
            lambda x, s=size: getattr(T, f"adaptive_avg_pool{n}d")(x, s),
            x,
        )
        agree(
            lambda x, s=size: getattr(F, f"adaptive_max_pool{n}d")(x, s),
            lambda x, s=size: getattr(T, f"adaptive_max_pool{n}d")(x, s),
            x,
        )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32"])
def test_adaptive_maxima_of_regions_of_one_size(n, dtype, rng):
    """With indices and without: one result, ties, NaN and gradients included."""
    pool = getattr(F, f"adaptive_max_pool{n}d")
    a = rng.integers(0, 3, (2, 3, *(6,) * n)).astype("float32")
    if dtype != "int32":
        a[0, 1] = np.nan
    for size in (1, 2, 3, 6):
        grads = []
        for mask in (False, True):
            x = paddle.to_tensor(a).astype(dtype)
            x.stop_gradient = dtype == "int32"
            y = pool(x, size, return_mask=mask)
            y = y[0] if mask else y
            assert y.dtype == x.dtype
            grads.append([y.astype("float64").numpy()])
            if not x.stop_gradient:
                (y * paddle.arange(y.size, dtype=dtype).reshape(y.shape)).sum().backward()
                grads[-1].append(x.grad.astype("float64").numpy())
        for plain, with_mask in zip(*grads, strict=True):
            np.testing.assert_array_equal(plain, with_mask)
    assert pool(paddle.zeros([0, 3, *[4] * n]), 2).shape == [0, 3, *[2] * n]


def test_other_pooling(agree, rng):
    x = f32(rng, 2, 3, 6, 6, lo=0.1)
    agree(lambda x: F.lp_pool2d(x, 3, 2), lambda x: T.lp_pool2d(x, 3, 2), x)
    agree(lambda x: F.avg_pool2d(x, 2, divisor_override=3), lambda x: T.avg_pool2d(x, 2, divisor_override=3), x)
    agree(lambda x: F.adaptive_avg_pool2d(x, [None, 2]), lambda x: T.adaptive_avg_pool2d(x, (None, 2)), x)
    last = np.moveaxis(x, 1, -1).copy()
    agree(
        lambda x: F.max_pool2d(x, 2, data_format="NHWC"),
        lambda x: T.max_pool2d(x.movedim(-1, 1), 2).movedim(1, -1),
        last,
    )
    y, where = F.max_pool2d(paddle.to_tensor(x), 2, return_mask=True)
    py, pw = T.max_pool2d(torch.from_numpy(x), 2, return_indices=True)
    np.testing.assert_allclose(F.max_unpool2d(y, where, 2).numpy(), T.max_unpool2d(py, pw, 2).numpy())
    assert F.max_pool2d(paddle.ones([1, 1, 3, 4]), 2, padding="SAME").shape == [1, 1, 2, 2]


# --- normalisation -------------------------------------------------------------------------------------------------


def test_layer_norm(agree, rng):
    agree(
        lambda x, w, b: F.layer_norm(x, 6, w, b),
        lambda x, w, b: T.layer_norm(x, [6], w, b),
        f32(rng, 2, 3, 6),
        f32(rng, 6),
        f32(rng, 6),
        atol=1e-5,
    )
    flat = lambda x, w: F.layer_norm(x, [3, 6], w)  # noqa: E731
    agree(flat, lambda x, w: T.layer_norm(x, [3, 6], w.reshape(3, 6)), f32(rng, 2, 3, 6), f32(rng, 18), atol=1e-5)
    agree(
        lambda x: F.layer_norm(input=x, normalized_shape=[6], eps=1e-3),
        lambda x: T.layer_norm(x, [6], eps=1e-3),
        f32(rng, 2, 6),
        atol=1e-5,
    )
    with pytest.raises(ValueError, match="layer_norm"):
        F.layer_norm(paddle.ones([2, 3]), [2])


def test_rms_norm(agree, rng):
    agree(
        lambda x, w: F.rms_norm(x, [6], w)[0], lambda x, w: T.rms_norm(x, [6], w, 1e-5), f32(rng, 2, 3, 6), f32(rng, 6)
    )
    x = f32(rng, 2, 6)
    rstd = F.rms_norm(paddle.to_tensor(x), 6)[1]
    np.testing.assert_allclose(rstd.numpy(), 1 / np.sqrt((x * x).mean(1) + 1e-5), rtol=1e-5)


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 4, 2), (2, 3, 2, 2, 2)])
def test_batch_norm(shape, agree, rng):
    mean, var = f32(rng, 3), f32(rng, 3, lo=0.5)
    mine = [paddle.to_tensor(v.copy()) for v in (mean, var)]
    peer = [torch.from_numpy(v.copy()) for v in (mean, var)]
    ours = lambda x, w, b: F.batch_norm(x, *mine, w, b, training=True, momentum=0.8)  # noqa: E731
    theirs = lambda x, w, b: T.batch_norm(x, *peer, w, b, True, 0.2)  # noqa: E731
    x = f32(rng, *shape)
    agree(ours, theirs, x, f32(rng, 3), f32(rng, 3), atol=1e-5)
    axes = tuple(i for i in range(x.ndim) if i != 1)
    np.testing.assert_allclose(mine[0].numpy(), 0.8 * mean + 0.2 * x.mean(axes), rtol=1e-5)
    np.testing.assert_allclose(mine[1].numpy(), 0.8 * var + 0.2 * x.var(axes), rtol=1e-5)
    ours = lambda x, w, b: F.batch_norm(x, *mine, w, b)  # noqa: E731
    theirs = lambda x, w, b: T.batch_norm(x, *(torch.from_numpy(v.numpy()) for v in mine), w, b)  # noqa: E731
    agree(ours, theirs, x, f32(rng, 3), f32(rng, 3), atol=1e-5)
    before = mine[0].numpy().copy()
    F.batch_norm(paddle.to_tensor(x), *mine, training=True, use_global_stats=True)
    np.testing.assert_array_equal(mine[0].numpy(), before)


@pytest.mark.parametrize("shape", [(1, 3), (1, 3, 1, 1)])
def test_batch_norm_of_one_element(shape, rng):
    """A batch without a deviation passes through and leaves the running values alone: the last one may be such."""
    norm = paddle.nn.BatchNorm(3)
    x = paddle.to_tensor(f32(rng, *shape), stop_gradient=False)
    step = paddle.jit.to_static(norm)
    for call in (norm, step, step):
        x.clear_grad()
        y = call(x)
        (y * y).sum().backward()
        assert y.tolist() == x.tolist() and x.grad.tolist() == (2 * x).tolist()
        assert norm.weight.grad.tolist() == norm.bias.grad.tolist() == norm._mean.tolist() == [0.0] * 3
        assert norm._variance.tolist() == [1.0] * 3
    step(paddle.to_tensor(f32(rng, 4, *shape[1:])))
    assert norm._variance.tolist() != [1.0] * 3


def test_batch_norm_of_open_sizes(rng):
    main, start = paddle.static.Program(), paddle.static.Program()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(main, start):
            norm = paddle.nn.BatchNorm1D(3)
            y = norm(paddle.static.data("x", [None, 3, None]))
        executor = paddle.static.Executor()
        executor.run(start)
        before = np.zeros(3, np.float32)
        for shape, mean in (((1, 3, 1), 0.0), ((2, 3, 1), 0.1), ((1, 3, 2), 0.1), ((1, 3, 1), 0.0)):
            x = f32(rng, *shape)
            got, after = executor.run(main, feed={"x": x}, fetch_list=[y, norm._mean])
            np.testing.assert_allclose(after, before if mean == 0 else 0.9 * before + mean * x.mean((0, 2)), rtol=1e-5)
            before = after
            deviation = np.sqrt(x.var((0, 2), keepdims=True) + 1e-5)
            want = x if mean == 0 else (x - x.mean((0, 2), keepdims=True)) / deviation
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    finally:
        paddle.disable_static()


def test_group_and_instance_norm(agree, rng):
    x, w, b = f32(rng, 2, 6, 3, 4), f32(rng, 6), f32(rng, 6)
    agree(
        lambda x, w, b: F.group_norm(x, 3, 1e-4, w, b),
        lambda x, w, b: T.group_norm(x, 3, w, b, 1e-4),
        x,
        w,
        b,
        atol=1e-5,
    )
    agree(
        lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
        lambda x, w, b: T.instance_norm(x, weight=w, bias=b),
        x,
        w,
        b,
        atol=1e-5,
    )
    agree(lambda x: F.local_response_norm(x, 3), lambda x: T.local_response_norm(x, 3), x)
    agree(lambda x: F.normalize(x, 3.0, 2), lambda x: T.normalize(x, 3.0, 2), x)
    agree(F.normalize, lambda x: T.normalize(x, dim=1), x)
    last = lambda x, w, b: T.group_norm(x.movedim(-1, 1), 3, w, b).movedim(1, -1)  # noqa: E731
    ours = lambda x, w, b: F.group_norm(x, 3, weight=w, bias=b, data_format="NHWC")  # noqa: E731
    agree(ours, last, np.moveaxis(x, 1, -1).copy(), w, b, atol=1e-5)


# --- padding, resampling, rearranging ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "pad", "kw", "expected"),
    [
        ((1, 2, 3, 4), [1, 2], {}, (1, 2, 3, 7)),
        ((1, 2, 3, 4), [1, 2, 3, 4], {}, (1, 2, 10, 7)),
        ((1, 2, 3, 4), [1, 0, 0, 0, 0, 0, 0, 2], {}, (2, 2, 3, 6)),
        ((1, 2, 3, 4), [1, 0, 0, 0, 0, 0, 0, 2], {"pad_from_left_axis": False}, (3, 2, 3, 5)),
        ((1, 2, 3, 4), [1, 2, 3, 4, 1, 1], {}, (1, 4, 10, 7)),
        ((1, 2, 3, 4), [1, 2, 3, 4], {"data_format": "NHWC"}, (1, 9, 6, 4)),
        ((1, 2, 3, 4), [1, 2], {"data_format": "NHWC"}, (1, 2, 3, 7)),
        ((1, 2, 3, 4), [1, 2, 3, 4, 1, 1], {"data_format": "NHWC"}, (1, 4, 10, 7)),
        ((1, 2, 3, 4), [1, 2], {"data_format": "NLC"}, (1, 2, 3, 7)),
        ((2, 3), [1, 2], {}, (2, 6)),
        ((2, 3), [1, 2, 0, 0], {}, (5, 3)),
        ((1, 2, 3, 4), [-1, 0, 0, 0], {}, (1, 2, 3, 3)),
        ((1, 2, 3, 4), 1, {}, (1, 2, 5, 6)),
    ],
)
def test_pad_shapes(shape, pad, kw, expected):
    assert tuple(F.pad(paddle.ones(shape), pad, **kw).shape) == expected


@pytest.mark.parametrize(("rank", "data_format"), [(3, "NCHW"), (4, "NLC"), (4, "NCDHW"), (5, "NHWC")])
def test_formats_of_another_rank_are_refused(rank, data_format):
    x = paddle.ones([2] * rank)
    for pad in (1, [1, 1] * (rank - 2)):
        with pytest.raises(ValueError, match=rf"a data_format of {rank} letters for rank {rank}"):
            F.pad(x, pad, data_format=data_format)
    with pytest.raises(ValueError, match=r"\[BatchNorm3D\] requires a data_format of NCDHW, .*, got 'NCL'"):
        paddle.nn.BatchNorm3D(2, data_format="NCL")(paddle.ones([1, 2, 1, 1, 1]))


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad(mode, agree, rng):
    for shape, pad in (((2, 3, 5), [1, 2]), ((2, 3, 4, 5), [1, 2, 3, 0]), ((1, 2, 3, 4, 5), [1, 0, 2, 1, 0, 2])):
        agree(lambda x, p=pad: F.pad(x, p, mode), lambda x, p=pad: T.pad(x, p, mode), f32(rng, *shape))
    with pytest.raises(ValueError, match="pad"):
        F.pad(paddle.ones([1, 1, 2, 2]), [1, 2, 3], mode)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize(
    ("mode", "shape"),
    [("linear", (2, 3, 5)), ("bilinear", (2, 3, 4, 5)), ("bicubic", (2, 3, 4, 5)), ("trilinear", (1, 2, 3, 4, 3))],
)
def test_interpolate(mode, shape, align, agree, rng):
    size = [7, 6, 5][: len(shape) - 2]
    agree(
        lambda x: F.interpolate(x, size, mode=mode, align_corners=align),
        lambda x: T.interpolate(x, size, mode=mode, align_corners=align),
        f32(rng, *shape),
        atol=1e-5,
    )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "area"])
def test_integers_are_resampled_by_nearest_only(mode):
    x = paddle.arange(4).reshape([1, 1, 2, 2])
    with pytest.raises(TypeError, match=rf"^\[interpolate\] requires a floating x for mode '{mode}', got int64"):
        F.interpolate(x, size=[4, 4], mode=mode)
    assert F.interpolate(x, size=[1, 2]).flatten().tolist() == [0, 1]


def test_nearest(agree, rng):
    x = f32(rng, 2, 3, 4, 5)
    agree(lambda x: F.interpolate(x, scale_factor=2), lambda x: T.interpolate(x, scale_factor=2), x)
    agree(lambda x: F.interpolate(x, [3, 7]), lambda x: T.interpolate(x, [3, 7]), x)
    agree(lambda x: F.upsample(x, [3, 3], mode="area"), lambda x: T.interpolate(x, [3, 3], mode="area"), x)
    with pytest.raises(ValueError, match="size or scale_factor"):
        F.interpolate(paddle.to_tensor(x))
    with pytest.raises(ValueError, match="mode"):
        F.interpolate(paddle.to_tensor(x), [3, 3], mode="linear")


def test_windows_of_integers():
    x = paddle.arange(4).reshape([1, 1, 2, 2])
    columns = F.unfold(x, 2, paddings=1)
    assert columns.dtype is paddle.int64 and columns[0, 0].tolist() == [0, 0, 0, 0, 0, 1, 0, 2, 3]
    assert F.fold(F.unfold(x, 2), [2, 2], 2).flatten().tolist() == [0, 1, 2, 3]


def test_windows_as_columns(agree, rng):
    kw = {"kernel_sizes": [2, 3], "strides": [1, 2], "paddings": 1, "dilations": [2, 1]}
    peer = {"kernel_size": [2, 3], "stride": [1, 2], "padding": 1, "dilation": [2, 1]}
    x = f32(rng, 2, 3, 5, 6)
    agree(lambda x: F.unfold(x, **kw), lambda x: T.unfold(x, **peer), x)
    columns = F.unfold(paddle.to_tensor(x), **kw).numpy()
    agree(lambda c: F.fold(c, [5, 6], **kw), lambda c: T.fold(c, [5, 6], **peer), columns, atol=1e-5)


def test_rearranging(agree, rng):
    x = f32(rng, 2, 8, 4, 6)
    agree(lambda x: F.pixel_shuffle(x, 2), lambda x: T.pixel_shuffle(x, 2), x)
    agree(lambda x: F.pixel_unshuffle(x, 2), lambda x: T.pixel_unshuffle(x, 2), x)
    agree(lambda x: F.channel_shuffle(x, 4), lambda x: torch.nn.ChannelShuffle(4)(x), x)


def test_similarities(agree, rng):
    a, b = f32(rng, 3, 4), f32(rng, 3, 4)
    agree(F.cosine_similarity, T.cosine_similarity, a, b)
    agree(F.pairwise_distance, T.pairwise_distance, a, b)
    agree(lambda x: F.pdist(x, 3.0), lambda x: T.pdist(x, 3.0), a, atol=1e-5)
    assert F.label_smooth(paddle.to_tensor([[1.0, 0.0]]), epsilon=0.2).tolist()[0] == pytest.approx([0.9, 0.1])
    assert F.sequence_mask(paddle.to_tensor([2, 0]), 3).tolist() == [[1, 1, 0], [0, 0, 0]]


# --- losses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(reduction, agree, rng):
    for shape in ((5, 4), (2, 4, 3)):
        label = ints(rng, 4, shape[0], *shape[2:])
        label.flat[0] = -100
        for weight in (None, f32(rng, 4, lo=0.1)):
            for smoothing in (0.0, 0.2):
                if smoothing and weight is not None:
                    continue  # the peer divides by something else

                # Without weights, rows of an ignored negative class count in the mean, as in the reference.
                counted = (label.size - 1) / label.size if reduction == "mean" and weight is None else 1.0

                def ours(x, y, w, s=smoothing, counted=counted):
                    return F.cross_entropy(x, y, w, reduction=reduction, axis=1, label_smoothing=s) / counted

                def theirs(x, y, w, s=smoothing):
                    loss = T.cross_entropy(x, y, w, reduction=reduction, label_smoothing=s)
                    return loss.unsqueeze(1) if s and reduction == "none" else loss

                agree(ours, theirs, f32(rng, *shape), label, weight, frozen=[2], atol=1e-5)
    soft = np.exp(f32(rng, 5, 4))
    soft /= soft.sum(1, keepdims=True)
    ours = lambda x, y: F.cross_entropy(x, y, soft_label=True, reduction=reduction)  # noqa: E731
    theirs = lambda x, y: T.cross_entropy(x, y, reduction=reduction)  # noqa: E731
    if reduction == "none":
        theirs = lambda x, y: T.cross_entropy(x, y, reduction=reduction).unsqueeze(1)  # noqa: E731
    agree(ours, theirs, f32(rng, 5, 4), soft, frozen=[1])


def test_cross_entropy_forms():
    x, y = paddle.to_tensor([[1.0, 2.0, 3.0], [1.0, 5.0, 2.0]]), paddle.to_tensor([2, 0])
    assert F.cross_entropy(x, y).item() == pytest.approx(2.236745)
    column = F.cross_entropy(x, y.reshape([2, 1]), reduction="none")
    assert column.shape == [2, 1] and column.numpy().ravel().tolist() == pytest.approx([0.40760598, 4.065884])
    w = paddle.to_tensor([1.0, 2.0, 3.0])
    assert F.cross_entropy(x, y, w).item() == pytest.approx(1.3221755)
    assert F.cross_entropy(x, y, w, label_smoothing=0.1).item() == pytest.approx(1.4402992)
    assert F.cross_entropy(F.softmax(x), y, use_softmax=False).item() == pytest.approx(2.236745)
    assert F.cross_entropy(x, paddle.to_tensor([-100, -100])).item() == 0.0
    assert F.cross_entropy(x, y.astype("float32")).item() == pytest.approx(2.236745)
    loss, p = F.softmax_with_cross_entropy(x, y.reshape([2, 1]), return_softmax=True)
    assert loss.shape == [2, 1] and p.shape == [2, 3]
    with pytest.raises(ValueError, match="reduction"):
        F.cross_entropy(x, y, reduction="x")
    with pytest.raises(ValueError, match="labels"):
        F.cross_entropy(x, paddle.to_tensor([0, 1, 2]))


LOSSES = {
    "mse_loss": ((3, 4), (3, 4)),
    "l1_loss": ((3, 4), (3, 4)),
    "smooth_l1_loss": ((3, 4), (3, 4)),
    "soft_margin_loss": ((3, 4), "sign"),
    "hinge_embedding_loss": ((3, 4), "sign"),
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_pairwise_losses(name, reduction, agree, rng):
    shape, other = LOSSES[name]
    y = np.sign(f32(rng, *shape)) if other == "sign" else f32(rng, *shape)
    ours = lambda x, y: getattr(F, name)(x, y, reduction=reduction)  # noqa: E731
    theirs = lambda x, y: getattr(T, name)(x, y, reduction=reduction)  # noqa: E731
    agree(ours, theirs, f32(rng, *shape), y, frozen=[1] if other == "sign" else [])


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_other_losses(reduction, agree, rng):
    kw = {"reduction": reduction}
    p, q, w = f32(rng, 3, 4, lo=0.1, hi=0.9), f32(rng, 3, 4, lo=0.1, hi=0.9), f32(rng, 3, 4, lo=0.1)
    agree(
        lambda x, y, w: F.binary_cross_entropy(x, y, w, **kw),
        lambda x, y, w: T.binary_cross_entropy(x, y, w, **kw),
        p,
        q,
        w,
        frozen=[1, 2],
    )
    x = f32(rng, 3, 4)
    agree(
        lambda x, y, w, v: F.binary_cross_entropy_with_logits(x, y, w, pos_weight=v, **kw),
        lambda x, y, w, v: T.binary_cross_entropy_with_logits(x, y, w, pos_weight=v, **kw),
        x,
        q,
        w,
        f32(rng, 4, lo=0.5),
        frozen=[2, 3],
    )
    agree(lambda x, y: F.kl_div(x, y, **kw), lambda x, y: T.kl_div(x, y, **kw), np.log(p), q)
    agree(
        lambda x, y: F.kl_div(x, y, log_target=True, **kw),
        lambda x, y: T.kl_div(x, y, log_target=True, **kw),
        np.log(p),
        np.log(q),
    )
    label = ints(rng, 4, 3)
    agree(
        lambda x, w: F.nll_loss(x, paddle.to_tensor(label), w, **kw),
        lambda x, w: T.nll_loss(x, torch.from_numpy(label), w, **kw),
        np.log(p),
        f32(rng, 4, lo=0.1),
        frozen=[1],
    )
    agree(
        lambda x, y: F.poisson_nll_loss(x, y, full=True, **kw),
        lambda x, y: T.poisson_nll_loss(x, y, full=True, **kw),
        x,
        f32(rng, 3, 4, lo=1.5, hi=4.0),
        frozen=[1],
    )
    agree(
        lambda x, y, v: F.gaussian_nll_loss(x, y, v, **kw), lambda x, y, v: T.gaussian_nll_loss(x, y, v, **kw), x, q, w
    )
    sign = np.sign(f32(rng, 3))
    agree(
        lambda a, b, y: F.margin_ranking_loss(a, b, y, 0.1, **kw),
        lambda a, b, y: T.margin_ranking_loss(a, b, y, 0.1, **kw),
        f32(rng, 3),
        f32(rng, 3),
        sign,
        frozen=[2],
    )
    agree(
        lambda a, b, y: F.cosine_embedding_loss(a, b, y, 0.1, **kw),
        lambda a, b, y: T.cosine_embedding_loss(a, b, y, 0.1, **kw),
        x,
        q,
        sign,
        frozen=[2],
    )
    agree(
        lambda x, y: F.multi_label_soft_margin_loss(x, y, **kw),
        lambda x, y: T.multilabel_soft_margin_loss(x, y, **kw),
        x,
        (q > 0.5).astype(np.float32),
        frozen=[1],
    )
    agree(
        lambda x: F.multi_margin_loss(x, paddle.to_tensor(label), 2, **kw),
        lambda x: T.multi_margin_loss(x, torch.from_numpy(label), 2, **kw),
        x,
    )
    agree(
        lambda a, b, c: F.triplet_margin_loss(a, b, c, swap=True, **kw),
        lambda a, b, c: T.triplet_margin_loss(a, b, c, swap=True, **kw),
        x,
        p,
        q,
        atol=1e-5,
    )
    agree(
        lambda a, b, c: F.triplet_margin_with_distance_loss(a, b, c, **kw),
        lambda a, b, c: T.triplet_margin_with_distance_loss(
            a, b, c, distance_function=lambda u, v: (u - v).norm(dim=1), **kw
        ),
        x,
        p,
        q,
        atol=1e-5,
    )


# --- attention -----------------------------------------------------------------------------------------------------


def their_attention(q, k, v, mask=None, causal=False, scale=None, gqa=False):
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return T.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=scale, enable_gqa=gqa).transpose(1, 2)


def test_attention(agree, rng):
    q, k, v = f32(rng, 2, 3, 4, 8), f32(rng, 2, 5, 4, 8), f32(rng, 2, 5, 4, 8)
    ours = F.scaled_dot_product_attention
    agree(ours, their_attention, q, k, v)
    agree(lambda q, k, v: ours(q, k, v, is_causal=True), lambda q, k, v: their_attention(q, k, v, causal=True), q, k, v)
    agree(lambda q, k, v: ours(k, q, q, is_causal=True), lambda q, k, v: their_attention(k, q, q, causal=True), q, k, v)
    agree(lambda q, k, v: ours(k, k, v, is_causal=True), lambda q, k, v: their_attention(k, k, v, causal=True), q, k, v)
    agree(lambda q, k, v, m: ours(q, k, v, m), their_attention, q, k, v, f32(rng, 2, 1, 3, 5))
    seen = rng.random((2, 1, 3, 5)) < 0.7
    seen[..., 0] = True
    agree(lambda q, k, v, m: ours(q, k, v, m), their_attention, q, k, v, seen)
    agree(
        lambda q, k, v: ours(q, k[:, :, :2], v[:, :, :2], scale=0.3),
        lambda q, k, v: their_attention(q, k[:, :, :2], v[:, :, :2], scale=0.3, gqa=True),
        q,
        k,
        v,
    )
    with pytest.raises(ValueError, match="enable_gqa"):
        ours(*(paddle.to_tensor(t) for t in (q, k[:, :, :2], v[:, :, :2])), enable_gqa=False)


def test_attention_dropout():
    q = paddle.ones([1, 4, 2, 8])
    v = paddle.ones([1, 50, 2, 8])
    k = paddle.ones([1, 50, 2, 8])
    y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5).numpy()
    assert 0.5 < y.mean() < 1.5 and np.unique(y.round(4)).size > 1
    assert F.scaled_dot_product_attention(q, k, v, dropout_p=0.5, training=False).numpy() == pytest.approx(1.0)


# --- dropout -------------------------------------------------------------------------------------------------------


def test_dropout():
    x = paddle.ones([200, 50])
    y = F.dropout(x, 0.25).numpy()
    assert set(np.unique(y.round(5))) == {0.0, np.float32(1 / 0.75).round(5)}
    assert abs((y == 0).mean() - 0.25) < 0.02
    np.testing.assert_array_equal(F.dropout(x, 0.25, training=False).numpy(), x.numpy())
    assert F.dropout(x, 0.0) is x
    assert F.dropout(x, 0.25, training=False, mode="downscale_in_infer").numpy() == pytest.approx(0.75)
    assert set(np.unique(F.dropout(x, 0.25, mode="downscale_in_infer").numpy())) == {0.0, 1.0}
    rows = F.dropout(x, 0.5, axis=0).numpy()
    assert (rows == rows[:, :1]).all() and len(np.unique(rows)) == 2
    channels = F.dropout2d(paddle.ones([4, 10, 3, 3]), 0.5).numpy()
    assert (channels == channels[:, :, :1, :1]).all() and len(np.unique(channels)) == 2
    assert F.dropout(x, 1.0).numpy().max() == 0.0
    alpha = F.alpha_dropout(paddle.randn([20000]), 0.3).numpy()
    assert abs(alpha.mean()) < 0.05 and abs(alpha.std() - 1) < 0.05
    for bad in (1.5, -0.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            F.dropout(x, bad)
    with pytest.raises(ValueError, match="mode"):
        F.dropout(x, mode="x")
    with pytest.raises(ValueError, match="axes"):
        F.dropout(x, axis=5)


def test_dropout_gradient_and_seed():
    x = paddle.ones([100])
    x.stop_gradient = False
    paddle.seed(3)
    y = F.dropout(x, 0.5)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.numpy())
    paddle.seed(3)
    np.testing.assert_array_equal(F.dropout(x, 0.5).numpy(), y.numpy())


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["silu", "softplus", "log_sigmoid", "softsign"])
def test_activations_of_large_complex_numbers(name, dtype):
    """No power overflows, in values or gradients; far out each of them is x, 0 or a number of size 1."""
    x = paddle.to_tensor(np.array([1000 + 1j, -1000 + 1j, 100 + 4j, -100 + 2j], dtype), stop_gradient=False)
    y = getattr(paddle.nn.functional, name)(x)
    (g,) = paddle.grad(y, x, paddle.ones_like(y))
    a = x.numpy()
    value, slope = {
        "silu": (np.where(a.real > 0, a, 0), a.real > 0),
        "softplus": (np.where(a.real > 0, a, 0), a.real > 0),
        "log_sigmoid": (np.where(a.real > 0, 0, a), a.real < 0),
        "softsign": (a / (1 + np.abs(a)), 0),
    }[name]
    np.testing.assert_allclose(y.numpy(), value, rtol=1e-5, atol=1e-20)
    np.testing.assert_allclose(g.numpy(), np.broadcast_to(slope, a.shape).astype(dtype), rtol=1e-5, atol=1e-2)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_sizes_that_a_pooling_can_have_had(n):
    y = paddle.ones([1, 1] + [2] * n)
    pooled, where = getattr(F, f"max_pool{n}d")(paddle.ones([1, 1] + [4] * n), 2, return_mask=True)
    unpool = getattr(F, f"max_unpool{n}d")
    for size in (4, 5):
        for sizes in ([size] * n, [1, 1] + [size] * n):
            assert unpool(pooled, where, 2, output_size=sizes).shape == [1, 1] + [size] * n
    for size in (2, 6, 9):
        with pytest.raises(ValueError, match=r"requires an output_size less than a stride from \[4"):
            unpool(y, where, 2, output_size=[size] * n)
    for sizes in ([4] * (n + 1), [], *([4] if n > 1 else [])):
        with pytest.raises(ValueError, match=f"requires an output_size of {n} spatial dims"):
            unpool(y, where, 2, output_size=sizes)
