"""Numbers that data decide, in functions that are saved: sizes, branches, loops and conditions on them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.static import InputSpec

RNG = np.random.default_rng(3)
IMAGES = [
    RNG.standard_normal((3, 5)).astype("float32"), np.ones((3, 5), "float32"), -np.ones((3, 5), "float32"),
    RNG.standard_normal((4, 5)).astype("float32"),
]  # fmt: skip


def lengths(x):
    return (x[:, 0].abs() * 3).astype("int64") + 1


def none_is_left(x):
    kept = paddle.masked_select(x, x > 0)
    if kept.shape[0] == 0:
        return paddle.zeros([1])
    return kept.max().reshape([1])


def number_alone_decides(x):
    n = paddle.nonzero(x[:, 0] > 0).shape[0]
    if n == 0:
        return x
    return x * 2


def ways_of_other_sizes(x):
    kept = x[x[:, 0] > 0]
    return kept if kept.shape[0] > 1 else x


def an_empty_way(x):
    kept = paddle.nonzero(x[:, 0] > 0).flatten()
    if len(kept) == 0 or kept.shape[0] > 100:
        out = paddle.zeros([0, 5])
    else:
        out = paddle.gather(x, kept)
    return out.sum(0), paddle.shape(out)


def counted_loop(x):
    kept, z = x[x[:, 0] > 0], 0
    while z < len(kept):
        z += 1
    return x * z


def every_other(x):
    total = paddle.zeros([5])
    for i in range(len(paddle.nonzero(x[:, 1] > 0))):
        total = total + x[i] if i % 2 == 0 else total - x[i]
    return total


def item_of(x):
    n = (x > 0).astype("int64").sum().item()
    if not n > 3:
        x = x + n
    assert n >= 0
    return x * n


def chained(x):
    n = len(paddle.nonzero(x[:, 0] > 0))
    return x * 2 if 0 < n < 3 else x


def any_of(x):
    n, m = len(paddle.nonzero(x[:, 0] > 0)), len(paddle.nonzero(x[:, 1] > 0))
    return x + 1 if any([n == 0, m == 0]) else x - all([n, m])


def mask_of_lengths(x):
    return F.sequence_mask(lengths(x))


def padded_positions(x):
    n = lengths(x)
    return paddle.arange(n.max()).unsqueeze(0) < n.unsqueeze(1), paddle.arange(0, n[0], 2, dtype="float32")


def regulated(x):
    ends = paddle.cumsum(lengths(x))
    places = paddle.arange(ends[-1]).unsqueeze(1) >= ends.unsqueeze(0)
    return paddle.gather(x, places.astype("int64").sum(1))


def classes(x):
    return F.one_hot((x[:, 0] > 0).astype("int64"), lengths(x).max() + 1)


def most(x):
    return paddle.topk(x, paddle.minimum(lengths(x).min(), paddle.to_tensor(5)))[0]


def counts(x):
    return paddle.bincount(lengths(x)), paddle.bincount(lengths(x), minlength=3)


def segments(x):
    ids = paddle.cumsum((x[:, 1] > 0).astype("int64"))
    of_constants = paddle.geometric.segment_mean(x[:3], paddle.to_tensor([0, 1, 1]))
    return paddle.geometric.segment_sum(x, ids), paddle.geometric.segment_max(x, ids), of_constants


def names_of_one_way(x):
    if x.sum() > 0:
        out = x * 2
    else:
        half = x * 0.5
        if half.sum() > -3:
            more = half + 1
            half = more * more
        out = half.abs()
    return out


def a_size_alone_is_read(x):
    n = len(paddle.nonzero(x[:, 0] > 0))
    rows = x[1:] if n == 0 else paddle.masked_select(x, x > 0)[:2].unsqueeze(1).expand([-1, 5])
    total = x.sum(0)
    for i in range(x.shape[0]):
        total = total * 0.5 + x[i]
    return x if rows.shape[0] != 2 else x + total


def a_number_of_rows_or_all(x):
    if x.sum() > 0:
        rows = paddle.zeros([1, 5])
    else:
        rows = x * 0.5
    ends = x[1:] if x.max() > 1 else paddle.concat([x, x])
    return paddle.concat([x, rows]), ends


def read_where_it_was_taken(x):
    """Names that one way alone assigns, which are read behind it."""
    if x.sum() > -1000:
        kept, words = x[x[:, 0] > 0], paddle.arange(len(x))
    if kept.shape[0] < 2:
        rows = paddle.cumsum(kept, 0)
    else:
        rows = paddle.concat([kept, kept])
    if rows.shape[0] < 3 or x.sum() > -1000:
        ones = paddle.ones([rows.shape[0], 5])
    return ones, words, ones.sum(0) + x[0]


def asked_behind_a_branch(x):
    """Of how many rows there are, the branch's ways have computed with as many; the loop runs whichever was taken."""
    rows = x[::2] if x.sum() > 0 else x
    other = rows[:3] if x.shape[0] % 2 == 1 else paddle.tanh(rows)
    total = paddle.zeros([5])
    for _ in range(rows.shape[0]):
        total = total * 0.5 + 1
    return other, total


SAVED = [
    none_is_left, number_alone_decides, ways_of_other_sizes, an_empty_way, counted_loop, every_other, item_of, chained,
    any_of, mask_of_lengths, padded_positions, regulated, classes, most,
    counts, segments, names_of_one_way, a_size_alone_is_read, a_number_of_rows_or_all,
    read_where_it_was_taken, asked_behind_a_branch,
]  # fmt: skip


def saved(function, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a program that the operators of the format cannot say
        paddle.jit.save(function, str(folder / "m"), [InputSpec([None, 5], "float32", "x")])
    return paddle.jit.load(str(folder / "m"))


@pytest.mark.parametrize("function", SAVED, ids=lambda f: f.__name__)
def test_data_decide(function, tmp_path):
    loaded = saved(function, tmp_path)
    for image in IMAGES:
        x = paddle.to_tensor(image)
        wanted, got = function(x), loaded(x)
        for a, b in zip(*(y if isinstance(y, (list, tuple)) else [y] for y in (wanted, got)), strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)


def test_what_was_not_taken_is_not_read(tmp_path):
    def function(x):
        if x.sum() > 0:
            y = x[x[:, 0] > 0]
        return y * 2

    loaded = saved(function, tmp_path)
    assert loaded(paddle.to_tensor(IMAGES[1])).shape == [3, 5]
    with pytest.raises(ValueError, match="'y' has no value"):  # files know one kind of error
        loaded(paddle.to_tensor(IMAGES[2]))


def test_what_a_way_requires_is_asked_there_alone(tmp_path):
    def function(x):
        kept = paddle.masked_select(x, x > 0)
        if kept.shape[0] > 2:
            return kept[:3] + paddle.ones([3])
        return paddle.zeros([3])

    loaded = saved(function, tmp_path)
    for image in IMAGES:
        np.testing.assert_allclose(loaded(paddle.to_tensor(image)).numpy(), function(paddle.to_tensor(image)).numpy())


SEQUENCES = {"labels": [[1, 2], [1, 3], [2, 2], [3, 1]], "frames": [6, 6, 5, 6], "counts": [2, 2, 1, 2]}


def aligned(x):
    labels = paddle.to_tensor(SEQUENCES["labels"], dtype="int32")
    lengths = [paddle.to_tensor(SEQUENCES[key]) for key in ("frames", "counts")]
    return F.ctc_loss(paddle.tile(x, [6, 1, 1]), labels, *lengths, reduction="none")


def solved(x):
    square = x @ x.T + paddle.eye(4)
    return paddle.linalg.lstsq(square, x)[0], paddle.linalg.qr(x, mode="r"), paddle.linalg.svdvals(x.unsqueeze(0))


@pytest.mark.parametrize("function", [aligned, solved], ids=lambda f: f.__name__)
def test_operators_of_their_own(function, tmp_path):
    loaded = saved(function, tmp_path)
    x = paddle.to_tensor(IMAGES[3])
    wanted, got = function(x), loaded(x)
    for a, b in zip(*(y if isinstance(y, (list, tuple)) else [y] for y in (wanted, got)), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def write_a_column(x):
    x[:, 1] = x[:, 2] * 2
    return x.sum(0)


def write_by_method(x):
    y = F.relu_(x)
    x.add_(paddle.ones([1]))
    return y + x


def write_on_one_way(x):
    if x.sum() > 0:
        x[:, 0] = 1.0
    return x * 2


@pytest.mark.parametrize("function", [write_a_column, write_by_method, write_on_one_way], ids=lambda f: f.__name__)
def test_inputs_may_be_written_to(function, tmp_path):
    loaded = saved(function, tmp_path)
    for image in IMAGES:
        given = paddle.to_tensor(image)
        wanted = function(paddle.to_tensor(image)).numpy()
        np.testing.assert_allclose(loaded(given).numpy(), wanted, rtol=1e-5)
        np.testing.assert_array_equal(given.numpy(), image)  # a run writes to data of its own


def sized_operators():
    flags, boxes = (lambda x: x[:, 0] > 0), (lambda x: paddle.concat([x[:, :2], x[:, :2] + 1.0], axis=1))
    numbers = lambda x: paddle.arange(x.shape[0])  # noqa: E731
    return {
        "nonzero": lambda x: paddle.nonzero(x > 0),
        "masked_select": lambda x: paddle.masked_select(x, x > 0) * 2,
        "rows": lambda x: x[flags(x)] + 1.0,
        "unique": lambda x: paddle.unique(paddle.round(x)),
        "unique_consecutive": lambda x: paddle.unique_consecutive(paddle.round(x).flatten()),
        "bincount": lambda x: paddle.bincount(lengths(x)),
        "segment": lambda x: paddle.geometric.segment_sum(x, paddle.sort(lengths(x))),
        "repeated": lambda x: paddle.repeat_interleave(x, lengths(x), axis=0),
        "nms": lambda x: paddle.vision.ops.nms(boxes(x), 0.3),
        "nms of categories": lambda x: paddle.vision.ops.nms(boxes(x), 0.3, x[:, 3], numbers(x) % 2, [0, 1]),
    }


@pytest.mark.parametrize("name", sized_operators())
def test_loaded_as_one_graph(name, tmp_path):
    """Operators whose sizes data decide leave no rest of the program to calls one by one."""
    prefix, function = str(tmp_path / "m"), sized_operators()[name]
    paddle.jit.save(paddle.jit.to_static(function), prefix, [InputSpec([None, 5], "float32", "x")])
    layer = paddle.jit.load(prefix)
    for image in IMAGES:
        x = paddle.to_tensor(image)
        np.testing.assert_allclose(layer(x).numpy(), function(x).numpy(), rtol=1e-6)
    assert layer.forward.one_graph._captures() and not super(type(layer.forward), layer.forward)._captures()
