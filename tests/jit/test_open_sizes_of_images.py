"""Layers over images and sequences whose sizes are open: one saved program for all of them."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import inference
from paddle.static import InputSpec

FILTERS = paddle.to_tensor(np.random.default_rng(1).standard_normal((4, 4, 3, 3)).astype("float32"))


def same_pads(x):
    return F.conv2d(x, FILTERS, stride=2, padding="SAME")


def enlarged_to(x):
    return F.conv2d_transpose(x, FILTERS, stride=2, padding=1, output_size=[x.shape[2] * 2, x.shape[3] * 2 - 1])


def grown_or_cut(x):
    """Pads of either sign: to 7 rows and 7 columns."""
    rows, columns = 7 - x.shape[2], 7 - x.shape[3]
    return F.pad(x, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2], value=1.5)


def reflected(x):
    return F.pad(x, [0, -x.shape[3] % 4, 0, -x.shape[2] % 4], mode="reflect")


def repeated(x):
    return F.pad(x, [0, 2 * x.shape[3], x.shape[2] // 2, 0], mode="replicate")


def pooled_to(x):
    return F.adaptive_avg_pool2d(F.interpolate(x, scale_factor=2), x.shape[2:])


def strips(x):
    return F.adaptive_avg_pool2d(x, (None, 1)) + F.adaptive_avg_pool2d(x, (1, None))


def folded(x):
    parts = F.unfold(x, 3, paddings=1)
    return F.fold(parts, x.shape[2:], 3, paddings=1), F.fold(F.unfold(x, 2), [x.shape[2], x.shape[3]], 2)


def one_window(x):
    return F.avg_pool2d(x, x.shape[2:]) + F.max_pool2d(x, (x.shape[2], x.shape[3]))


def positions(x):
    """A table of 3 rows and columns, brought to the sizes, one of which is 3 as well."""
    return F.interpolate(paddle.arange(9.0).reshape([1, 1, 3, 3]), size=x.shape[2:], mode="bicubic") + x


def divergence(x):
    return F.kl_div(F.log_softmax(x, 1), F.softmax(2 * x, 1), reduction="batchmean")


def counts(x):
    return paddle.arange(0.5, x.shape[2]), paddle.arange(0, x.shape[3], 0.75), paddle.tril_indices(x.shape[2], 4, -1)


def upper(x):
    return paddle.triu_indices(x.shape[2], x.shape[3], 1, dtype="int32")


def histogram(x):
    """Data tell the range; elements of one number have one about it."""
    least = paddle.histogram(x, bins=4), paddle.histogram(x, bins=5, density=True), paddle.histogram(0 * x, bins=3)
    return *least, paddle.histogram(x, bins=4, weight=x.abs())


def boxes(x):
    sizes = paddle.full([x.shape[0], 2], 64, "int32")
    return paddle.vision.ops.yolo_box(paddle.concat([x, x], 1)[:, :7], sizes, [10, 13], 2, 0.01, 8)


def priors(x):
    image = F.interpolate(x, scale_factor=8)
    return paddle.vision.ops.prior_box(x, image, [4.0], [9.0], aspect_ratios=[2.0], flip=True, clip=True)


def largest_same(x):
    return F.max_pool2d(x, 3, 2, padding="SAME")


def largest_ceil(x):
    return F.max_pool2d(x, 3, 2, 1, ceil_mode=True)


def largest_ceil_and_places(x):
    row = F.max_pool1d(x[:, :, 0], 3, 2, 1, ceil_mode=True, return_mask=True)
    return *row, *F.max_pool2d(x, 2, 2, ceil_mode=True, return_mask=True), *F.max_pool2d(x, 3, 2, 1, True)


def means_ceil(x):
    return F.avg_pool2d(x, 2, 2, ceil_mode=True) * 2 + F.avg_pool2d(x, 2, 2, ceil_mode=True, exclusive=False)


def means_same(x):
    return F.avg_pool2d(x, 3, 2, padding="SAME")


def enlarged_same(x):
    return F.conv2d_transpose(x, FILTERS, stride=3, padding="SAME")


def enlarged_row_and_volume(x):
    row = F.conv1d_transpose(x[:, :, 0], FILTERS[:, :, 0], stride=2, padding="SAME")
    volume = F.conv3d_transpose(x.unsqueeze(2), FILTERS.unsqueeze(2), stride=2, padding="SAME")
    return row, volume, F.conv3d_transpose(x.unsqueeze(2), FILTERS.unsqueeze(2), stride=2, padding="VALID")


def enlarged_to_another(x):
    """As a decoder does, whose skipped connection has the sizes."""
    y = F.max_pool2d(x, 2, 2, ceil_mode=True)
    sizes, given = x.shape[2:], {"stride": 2, "padding": 1}
    own = F.conv2d_transpose(y, FILTERS[:, :1], groups=4, output_size=sizes, **given)
    volume = F.conv3d_transpose(y.unsqueeze(2), FILTERS.unsqueeze(2), None, 2, [0, 1, 1], output_size=[1, *sizes])
    return F.conv2d_transpose(y, FILTERS, output_size=sizes, **given) + x, own, volume


def largest_to(x):
    """Equal elements too, of which the first has the place."""
    sizes = [x.shape[2] // 2 + 1, x.shape[3] - 1]
    return *F.adaptive_max_pool2d(x, sizes, True), *F.adaptive_max_pool2d(paddle.floor(x), sizes, return_mask=True)


def largest_strips(x):
    y, place = F.adaptive_max_pool2d(x, (2, None), return_mask=True)
    return F.adaptive_max_pool2d(x, (None, 1)), y, place, F.adaptive_max_pool1d(x[:, :, 0], x.shape[3] // 2, True)[1]


def volumes_to(x):
    volume, sizes = paddle.stack([x, 2 - x], 2), [2, x.shape[2] // 2 + 1, x.shape[3]]
    return *F.adaptive_max_pool3d(volume, sizes, True), F.adaptive_avg_pool3d(volume, sizes)


POOLS = [largest_same, largest_ceil, means_ceil, means_same]
FUNCTIONS = [*POOLS, same_pads, enlarged_to, grown_or_cut, reflected, repeated, pooled_to, strips, one_window]
FUNCTIONS += [
    largest_ceil_and_places,
    enlarged_same,
    enlarged_row_and_volume,
    enlarged_to_another,
    largest_to,
    largest_strips,
    volumes_to,
]
FUNCTIONS += [folded, positions, divergence, counts, upper, histogram, boxes, priors]
SIZES = ((2, 4, 6, 5), (1, 4, 8, 8), (3, 4, 3, 9), (2, 4, 7, 3))


def drawn(shape):
    return paddle.to_tensor(np.random.default_rng(shape[0]).standard_normal(shape).astype("float32"))


def several(y):
    return y if isinstance(y, (list, tuple)) else [y]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_saved_models_keep_sizes_of_images_open(function, tmp_path):
    path = str(tmp_path / "model")
    spec = [InputSpec([None, 4, None, None], name="x")]
    paddle.jit.save(paddle.jit.to_static(function, input_spec=spec, full_graph=True), path)
    loaded = paddle.jit.load(path)
    predictor = inference.create_predictor(inference.Config(path + ".json", path + ".pdiparams"))
    for shape in SIZES:
        x = drawn(shape)
        for want, got, made in zip(several(function(x)), several(loaded(x)), predictor.run([x]), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(made, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", [same_pads, enlarged_to, one_window, grown_or_cut, divergence])
def test_no_break_where_sizes_of_images_change(function):
    graph = paddle.jit.to_static(function)
    for shape in SIZES:
        x, y = (drawn(shape) for _ in range(2))
        x.stop_gradient = y.stop_gradient = False
        made, want = graph(x), function(y)
        np.testing.assert_allclose(made, want, rtol=1e-5, atol=1e-5)
        made.sum().backward()
        want.sum().backward()
        np.testing.assert_allclose(x.grad, y.grad, rtol=1e-4, atol=1e-5)
    assert not graph.graph_breaks


def test_an_output_size_out_of_reach_is_refused():
    with pytest.raises(ValueError, match="output_size within"):
        F.conv2d_transpose(drawn((1, 4, 5, 5)), FILTERS, stride=2, padding=1, output_size=[11, 9])
