"""Calls that a function cannot answer are refused in its own words, not in those of what it is made of."""

from __future__ import annotations

import numpy as np
import pytest

import paddle

P = paddle
N = paddle.nn.functional


def x():
    return P.to_tensor([[1.0, 2.0], [3.0, 4.0]])


def i():
    return P.to_tensor([0, 1])


def image():
    return P.ones([1, 1, 4, 4])


RANK_4 = r"requires query, key and value of rank 4, \[batch, sequence, heads, dim\], got \(2, 2\)"


REFUSED = {
    "pixel_shuffle, a word": (
        lambda: N.pixel_shuffle(image(), "a"),
        TypeError,
        r"\[pixel_shuffle\] requires an integer for upscale_factor, got str",
    ),
    "channel_shuffle, halves": (
        lambda: N.channel_shuffle(image(), 1.5),
        TypeError,
        r"\[channel_shuffle\] requires an integer for groups, got float",
    ),
    "interpolate, size": (
        lambda: N.interpolate(image(), size="a"),
        TypeError,
        r"\[interpolate\] requires a number for size, got str",
    ),
    "interpolate, scale_factor": (
        lambda: N.interpolate(image(), scale_factor=["a", 1]),
        TypeError,
        r"\[interpolate\] requires a number for scale_factor, got str",
    ),
    "max_pool2d, a word": (
        lambda: N.max_pool2d(image(), "a"),
        TypeError,
        r"\[max_pool2d\] requires kernel_size as one int or 2, got 'a'",
    ),
    "max_pool2d, no size": (
        lambda: N.max_pool2d(image(), None),
        TypeError,
        r"\[max_pool2d\] requires kernel_size as one int or 2, got None",
    ),
    "dice_loss, no last dim": (
        lambda: N.dice_loss(x(), i()),
        ValueError,
        r"\[dice_loss\] requires input \[N, \*, C\] and label \[N, \*, 1\], got \[2, 2\] and \[2\]",
    ),
    "hstack, empty": (lambda: P.hstack([]), ValueError, r"\[hstack\] requires at least one tensor, got none"),
    "hstack, no list": (lambda: P.hstack(3), TypeError, r"\[hstack\] requires a list or tuple of tensors, got int"),
    "vstack, no list": (lambda: P.vstack(3), TypeError, r"\[vstack\] requires a list or tuple of tensors, got int"),
    "dstack, no list": (lambda: P.dstack(3), TypeError, r"\[dstack\] requires a list or tuple of tensors, got int"),
    "column_stack, no list": (lambda: P.column_stack(3), TypeError, r"\[column_stack\] requires a list or tuple"),
    "column_stack, numbers": (lambda: P.column_stack([1]), TypeError, r"\[column_stack\] requires a Tensor for each"),
    "hsplit, no parts": (lambda: P.hsplit(x(), 0), ValueError, r"\[hsplit\] requires at least one part, got 0"),
    "squeeze, 0-d": (lambda: P.squeeze(P.to_tensor(1.0), 7), IndexError, r"\[squeeze\] requires an axis from -1 to 0"),
    "split, 0-d": (
        lambda: P.split(P.to_tensor(1.0), 1),
        IndexError,
        r"\[split\] requires an axis, so a rank of 1 or more",
    ),
    "multiplex, 0-d": (
        lambda: P.multiplex([P.to_tensor(1.0)], P.to_tensor(0)),
        ValueError,
        "requires tensors of rank 1 or more",
    ),
    "shard_index, floats": (lambda: P.shard_index(x(), 20, 2, 0), TypeError, "requires a tensor of integers"),
    "shard_index, no shards": (lambda: P.shard_index(i(), 20, 0, 0), ValueError, "requires at least one shard"),
    "take, nothing": (
        lambda: P.take(P.ones([0]), i(), "wrap"),
        ValueError,
        r"\[take\] requires a tensor with elements",
    ),
    "select_scatter, outside": (
        lambda: P.select_scatter(x(), P.ones([2]), 0, 5),
        IndexError,
        r"\[select_scatter\] requires an index within 2 slices, got 5",
    ),
    "to_tensor, ragged": (
        lambda: P.to_tensor([[1], [1, 2]]),
        ValueError,
        r"\[to_tensor\] requires nested lists of equal",
    ),
    "assign, ragged": (
        lambda: P.assign([[1], [1, 2]]),
        ValueError,
        r"\[assign\] requires nested lists of equal lengths",
    ),
    "full, a word": (lambda: P.full([1], "a"), ValueError, r"\[full\] requires a number, got 'a'"),
    "arange, a word": (lambda: P.arange("a"), TypeError, r"\[arange\] requires real numbers, got str"),
    "arange, small steps": (lambda: P.arange(0, 3, 0.5, "int64"), ValueError, "does not become 0 in int64, got 0.5"),
    "cartesian_prod, no list": (lambda: P.cartesian_prod(3), TypeError, r"\[cartesian_prod\] requires a list or tuple"),
    "cartesian_prod, a number": (
        lambda: P.cartesian_prod([3]),
        TypeError,
        r"\[cartesian_prod\] requires a Tensor for each",
    ),
    "combinations, halves": (
        lambda: P.combinations(i(), 1.5),
        TypeError,
        r"\[combinations\] requires an integer for r",
    ),
    "FloatTensor, two lists": (lambda: P.FloatTensor([1], [2]), TypeError, r"requires data in one argument, or sizes"),
    "asarray, a list": (
        lambda: P.asarray([1], copy=False),
        ValueError,
        r"\[asarray\] requires a tensor or an array to share",
    ),
    "asarray, a cast": (
        lambda: P.asarray(x(), dtype="int32", copy=False),
        ValueError,
        r"\[asarray\] requires a tensor or",
    ),
    "asarray, no place": (lambda: P.asarray(x(), device="nowhere"), ValueError, r"\[asarray\] requires a device"),
    "create_array, no dtype": (lambda: P.tensor.create_array("nothing"), TypeError, "requires a data type"),
    "create_array, no list": (
        lambda: P.tensor.create_array("float32", 3),
        TypeError,
        r"\[create_array\] requires a list",
    ),
    "array_length, no list": (lambda: P.tensor.array_length(3), TypeError, r"\[array_length\] requires a list"),
    "array_read, outside": (
        lambda: P.tensor.array_read([x()], 1),
        IndexError,
        r"\[array_read\] requires an i from -1 to 0, got 1",
    ),
    "array_read, empty": (
        lambda: P.tensor.array_read([], 0),
        IndexError,
        r"\[array_read\] requires an array with tensors",
    ),
    "array_write, before": (
        lambda: P.tensor.array_write(x(), -2, [x()]),
        IndexError,
        r"\[array_write\] requires an i from -1 to 1",
    ),
    "set_printoptions, less than none": (
        lambda: P.set_printoptions(precision=-1),
        ValueError,
        "requires 0 or more for precision",
    ),
    "top_p_sampling, one threshold": (
        lambda: P.tensor.top_p_sampling(x(), P.ones([2]), 0.5),
        TypeError,
        r"\[top_p_sampling\] requires a Tensor for threshold",
    ),
    "top_p_sampling, one seed": (
        lambda: P.tensor.top_p_sampling(x(), P.ones([2]), topp_seed=P.to_tensor([1])),
        ValueError,
        "requires a seed for each of 2 rows",
    ),
    "quantile, outside": (lambda: P.quantile(x(), P.to_tensor(-0.1)), ValueError, "requires fractions from 0 to 1"),
    "histogram_bin_edges, no bins": (lambda: P.histogram_bin_edges(x(), 0), ValueError, "requires at least one bin"),
    "histogramdd, integers": (lambda: P.histogramdd(P.to_tensor([[1, 2]])), TypeError, "requires a floating tensor"),
    "histogramdd, no bins": (lambda: P.histogramdd(x(), 0), ValueError, "requires at least one bin for each dim"),
    "histogramdd, lists": (
        lambda: P.histogramdd(x(), [[0.0, 1.0]] * 2),
        TypeError,
        "an integer for each of bins, got list",
    ),
    "histogramdd, weights": (
        lambda: P.histogramdd(x(), 2, weights=P.ones([3])),
        ValueError,
        "a weight for each of 2 points",
    ),
    "pdist, negative": (lambda: P.pdist(x(), -1), ValueError, "requires a p of 0 or more"),
    "cov, a list": (lambda: P.linalg.cov(x(), fweights=[1, 2]), TypeError, r"\[cov\] requires a Tensor for fweights"),
    "uniform, a negative size": (lambda: P.uniform([-1]), ValueError, r"\[uniform\] requires sizes of 0 or more"),
    "randn, a negative size": (lambda: P.randn([2, -1]), ValueError, r"\[randn\] requires sizes of 0 or more"),
    "randint, too large": (
        lambda: P.randint(0, 1000, [2], "uint8"),
        OverflowError,
        r"\[randint\] requires numbers that uint8",
    ),
    "random_, complex": (lambda: P.to_tensor([1j]).random_(), TypeError, r"\[random_\] requires a real tensor"),
    "normal_, negative": (lambda: x().normal_(0.0, -1.0), ValueError, r"\[normal_\] requires a std of 0 or more"),
    "to, a list": (lambda: x().to([1]), TypeError, r"\[to\] requires a device, a dtype or a Tensor, got list"),
    "is_same_shape, a number": (lambda: x().is_same_shape(3), TypeError, r"\[is_same_shape\] requires a Tensor for y"),
    "repeat_interleave, negative": (
        lambda: P.repeat_interleave(x(), P.to_tensor([2, -1]), 0),
        ValueError,
        r"\[repeat_interleave\] requires repeats of 0 or more, got -1",
    ),
    "repeat_interleave, another sum": (
        lambda: P.repeat_interleave(x(), i(), 0, output_size=5),
        ValueError,
        r"\[repeat_interleave\] requires repeats that add up to 5, got 1",
    ),
    "glu, 0-d": (
        lambda: N.glu(P.to_tensor(1.0)),
        IndexError,
        r"\[glu\] requires an axis, so a rank of 1 or more, got rank 0",
    ),
    "gumbel_softmax, cold": (
        lambda: N.gumbel_softmax(x(), 0),
        ValueError,
        r"\[gumbel_softmax\] requires temperature > 0, got 0.0",
    ),
    "one_hot, negative size": (
        lambda: N.one_hot(i(), -2),
        ValueError,
        r"\[one_hot\] requires num_classes of 0 or more, or -1, got -2",
    ),
    "one_hot, too small": (lambda: N.one_hot(i(), 1), ValueError, "requires classes below num_classes=1, got 0 to 1"),
    "one_hot, negative": (lambda: N.one_hot(i() - 1), ValueError, "requires classes of 0 or more, got -1 to 0"),
    "attention, rank 2": (
        lambda: N.scaled_dot_product_attention(x(), x(), x()),
        ValueError,
        rf"\[scaled_dot_product_attention\] {RANK_4}",
    ),
    "attention, rank 2 with dropout": (
        lambda: N.scaled_dot_product_attention(x(), x(), x(), dropout_p=0.5, scale=1.0),
        ValueError,
        rf"\[scaled_dot_product_attention\] {RANK_4}",
    ),
    "attention, rank 2 of keys": (
        lambda: N.scaled_dot_product_attention(P.ones([1, 2, 1, 2]), x(), x(), enable_gqa=False),
        ValueError,
        r"\[scaled_dot_product_attention\] requires query, key and value of rank 4",
    ),
    "attention, a list": (
        lambda: N.scaled_dot_product_attention(image(), [1.0], image(), is_causal=True),
        TypeError,
        r"\[scaled_dot_product_attention\] requires a Tensor for key, got list",
    ),
    "flash_attention, rank 2": (
        lambda: N.flash_attention.flash_attention(x(), x(), x()),
        ValueError,
        rf"\[flash_attention\] {RANK_4}",
    ),
    "flash_attention, rank 2 with weights": (
        lambda: N.flash_attention.flash_attention(x(), x(), x(), return_softmax=True),
        ValueError,
        rf"\[flash_attention\] {RANK_4}",
    ),
    "flash_attention_v3_varlen, rank 2": (
        lambda: N.flash_attention_v3_varlen(x(), x(), x(), i(), i(), 1, 1),
        ValueError,
        r"\[flash_attention_v3_varlen\] requires query, key and value \[total, heads, dim\]",
    ),
    "unfold, one size": (
        lambda: N.unfold(image(), [2]),
        ValueError,
        r"\[unfold\] requires kernel_sizes as one int or 2, got \[2\]",
    ),
    "unfold, three strides": (
        lambda: N.unfold(image(), 2, [2, 2, 2]),
        ValueError,
        r"\[unfold\] requires strides as one int or 2, got \[2, 2, 2\]",
    ),
    "unfold, nothing": (lambda: N.unfold(image(), None), TypeError, "requires kernel_sizes as one int or 2, got None"),
    "fold, one size": (
        lambda: N.fold(P.ones([1, 4, 9]), [4], 2),
        ValueError,
        r"\[fold\] requires output_sizes as one int or 2, got \[4\]",
    ),
    "fold, rank 1": (lambda: N.fold(P.ones([4]), 4, 2), ValueError, r"\[fold\] requires x of shape"),
    "pad, a format": (
        lambda: N.pad(image(), [1, 1], data_format="CHWN"),
        ValueError,
        r"\[pad\] requires data_format 'NCL', 'NCW', .*, got 'CHWN'",
    ),
    "interpolate, a format": (
        lambda: N.interpolate(image(), 2, data_format="CHWN"),
        ValueError,
        r"\[interpolate\] requires data_format of \('NCHW', 'NHWC'\) for rank 4, got 'CHWN'",
    ),
    "conv2d, negative padding": (
        lambda: N.conv2d(image(), image(), padding=-1),
        ValueError,
        r"\[conv2d\] requires padding of 0 or more, got \(-1, -1\)",
    ),
    "conv2d, no stride": (lambda: N.conv2d(image(), image(), stride=0), ValueError, "requires stride of 1 or more"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        call()


def test_bools_on_a_diagonal():
    both = P.block_diag([P.to_tensor([[True]]), P.to_tensor([[True]])])
    assert both.tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize("axis", [0, -1, [0]])
def test_a_scalar_is_squeezed_along_the_dim_that_it_would_have(axis):
    assert P.squeeze(P.to_tensor(1.0), axis).shape == []


def test_sharing_by_asarray():
    a, b = x(), np.zeros(2, np.float32)
    assert P.asarray(a) is a and P.asarray(a, dtype="float32", copy=False) is a and P.asarray(a, copy=True) is not a
    shared, copied = P.asarray(b, dtype="float32", copy=False), P.asarray(b, dtype="float64")
    b[0] = 5
    assert shared.tolist() == [5.0, 0.0] and copied.tolist() == [0.0, 0.0]


def test_no_choice_at_all():
    assert P.combinations(i(), 0).shape == [0]


def test_correlation_of_complex_variables():
    found = P.linalg.corrcoef(P.to_tensor([[1 + 1j, 2 + 3j, 0j], [2 + 2j, 4 + 6j, 0j]]))
    np.testing.assert_allclose(found.numpy(), np.ones((2, 2)), atol=1e-6)


def test_nucleus_sampling_by_seeds():
    even = P.full([8, 64], 1 / 64)
    one = P.tensor.top_p_sampling(even, P.ones([8]), seed=7)[1]
    assert one.tolist() == P.tensor.top_p_sampling(even, P.ones([8]), seed=7)[1].tolist()
    rows = P.tensor.top_p_sampling(even, P.ones([8]), topp_seed=P.to_tensor([3] * 8))[1].flatten().tolist()
    assert len(set(rows)) == 1 and len(set(one.flatten().tolist())) > 1


def test_the_last_place_of_an_array():
    array = P.tensor.array_write(i(), -1, [x(), x()])
    assert [a.shape for a in array] == [[2, 2], [2]] and P.tensor.array_read(array, -1) is array[1]


def test_numbers_beside_tensors_keep_their_digits():
    assert P.isin(i(), 0.5).tolist() == [False, False] and P.isin(i(), 1.0).tolist() == [False, True]
    assert P.isin(0.5, i()).tolist() is False
    assert P.isclose(i(), 0.5, atol=0.5).tolist() == [True, True] and P.isclose(i(), 1).tolist() == [False, True]


def test_certain_success_takes_one_trial():
    assert P.zeros([3]).geometric_(1.0).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", "equal not_equal less_than add subtract multiply divide pow remainder".split())
@pytest.mark.parametrize("y", ["a", None, [1, 2], {}], ids=repr)
def test_an_operand_that_is_no_number_is_refused_by_name(name, y):
    """``==`` of a tensor and anything is a bool, and an integer tensor times a list repeats it."""
    for x in (paddle.ones([2]), paddle.to_tensor(1), paddle.create_parameter([2], "float32")):
        with pytest.raises(TypeError, match=rf"\[{name}\] requires a tensor or a number for y, got {type(y).__name__}"):
            getattr(paddle, name)(x, y)


CALLS = {
    "softmax": [{}, {"dtype": "float64"}],
    "log_softmax": [{}, {"axis": 0}, {"dtype": "float64"}],
    "gumbel_softmax": [{}],
    "glu": [{}],
    "swiglu": [{}],
    "rrelu": [{}],
    "dropout": [{}, {"axis": 0}],
    "dropout1d": [{}],
    "dropout2d": [{}],
    "dropout3d": [{}],
    "alpha_dropout": [{}],
    "one_hot": [{}, {"num_classes": 3}],
    "sequence_mask": [{}, {"maxlen": 3}],
    "pad": [{"pad": 1}],
    "unfold": [{"kernel_sizes": 2}],
    "fold": [{"output_sizes": 4, "kernel_sizes": 2}],
    "interpolate": [{"size": [2, 2]}, {"scale_factor": 2.0}],
    "upsample": [{"size": [2, 2]}],
    "pixel_shuffle": [{"upscale_factor": 2}],
    "pixel_unshuffle": [{"downscale_factor": 2}],
    "channel_shuffle": [{"groups": 2}],
    "temporal_shift": [{"seg_num": 2}],
    "affine_grid": [{"out_shape": [1, 1, 2, 2]}],
    "label_smooth": [{}],
    "max_pool1d": [{"kernel_size": 2}],
    "max_pool2d": [{"kernel_size": 2}, {"kernel_size": 2, "return_mask": True}],
    "avg_pool3d": [{"kernel_size": 2}],
    "lp_pool2d": [{"norm_type": 2.0, "kernel_size": 2}],
    "adaptive_avg_pool2d": [{"output_size": 2}],
    "adaptive_max_pool1d": [{"output_size": 2}],
    "max_unpool2d": [{"indices": 1, "kernel_size": 2}],
    "fractional_max_pool2d": [{"output_size": 2}],
    "cross_entropy": [{"label": 1}],
    "nll_loss": [{"label": 1}],
    "dice_loss": [{"label": 1}],
    "npair_loss": [{"positive": 1, "labels": 1}],
    "hinge_embedding_loss": [{"label": 1}],
    "soft_margin_loss": [{"label": 1}],
    "multi_margin_loss": [{"label": 1}],
    "multi_label_soft_margin_loss": [{"label": 1}],
    "cosine_embedding_loss": [{"input2": 1, "label": 1}],
    "gaussian_nll_loss": [{"label": 1, "variance": 1}],
}
FIRST = {
    "affine_grid": "theta",
    "label_smooth": "label",
    "npair_loss": "anchor",
    "cosine_embedding_loss": "input1",
    **dict.fromkeys("dropout1d cross_entropy nll_loss dice_loss hinge_embedding_loss".split(), "input"),
    **dict.fromkeys("soft_margin_loss multi_margin_loss multi_label_soft_margin_loss".split(), "input"),
    "gaussian_nll_loss": "input",
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("value", [1.0, [1.0]], ids=repr)
def test_an_operand_that_is_no_tensor_is_refused_by_name(name, value):
    what = FIRST.get(name, "x")
    for more in CALLS[name]:
        with pytest.raises(TypeError, match=rf"\[{name}\] requires a Tensor for {what}, got {type(value).__name__}"):
            getattr(N, name)(value, **more)


FRACTIONS = {
    "dropout": (lambda p: N.dropout(x(), p), "p"),
    "dropout2d": (lambda p: N.dropout2d(image(), p), "p"),
    "dropout3d": (lambda p: N.dropout3d(P.ones([1, 1, 2, 2, 2]), p), "p"),
    "alpha_dropout": (lambda p: N.alpha_dropout(x(), p), "p"),
    "feature_alpha_dropout": (lambda p: N.feature_alpha_dropout(image(), p), "p"),
    "label_smooth": (lambda p: N.label_smooth(x(), epsilon=p), "epsilon"),
    "cross_entropy": (lambda p: N.cross_entropy(x(), i(), label_smoothing=p), "label_smoothing"),
}


@pytest.mark.parametrize("name", FRACTIONS)
def test_a_fraction_is_a_number_from_0_to_1(name):
    call, what = FRACTIONS[name]
    for p in (0.0, 1, 0.5, np.float32(0.5)):
        assert call(p) is not None
    for p in (-0.5, 2, float("nan")):
        with pytest.raises(ValueError, match=rf"\[{name}\] requires {what} between 0 and 1, got"):
            call(p)
    for p in ("a", None, [0.5]):
        with pytest.raises(TypeError, match=rf"\[{name}\] requires a number for {what}, got {type(p).__name__}"):
            call(p)


def scores():
    return P.to_tensor([[0.2, 0.8], [0.5, 0.5]])


LABELLED = {
    "dice_loss": lambda label: N.dice_loss(scores(), label.reshape([2, 1])),
    "multi_margin_loss": lambda label: N.multi_margin_loss(scores(), label),
    "multi_margin_loss, weighted": lambda label: N.multi_margin_loss(scores(), label, weight=P.ones([2])),
    "nll_loss": lambda label: N.nll_loss(scores(), label),
    "cross_entropy": lambda label: N.cross_entropy(scores(), label),
}


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("case", LABELLED)
def test_a_label_is_one_of_the_classes(case, captured):
    call = P.jit.to_static(LABELLED[case]) if captured else LABELLED[case]
    assert call(P.to_tensor([1, 0])).shape == []
    for bad in (2, -1):
        with pytest.raises(IndexError, match=f"requires an index from 0 to 1, got {bad}"):
            call(P.to_tensor([1, bad]))


@pytest.mark.parametrize("captured", [False, True])
def test_binary_cross_entropy_takes_probabilities(captured):
    def loss(p):
        return N.binary_cross_entropy(p, P.ones([3]), reduction="none")

    call = P.jit.to_static(loss) if captured else loss
    np.testing.assert_allclose(call(P.to_tensor([0.0, 1.0, 0.5])).numpy(), [100.0, 0.0, 0.6931472], rtol=1e-6)
    for bad in (1.5, -0.5, float("nan")):
        with pytest.raises(ValueError, match=f"requires probabilities from 0 to 1, got {bad}"):
            call(P.to_tensor([0.5, 0.5, bad]))


D = P.distribution


@pytest.mark.parametrize("make", [D.Bernoulli, D.ContinuousBernoulli, D.Geometric, lambda p: D.Binomial(3, p)])
def test_a_distribution_of_probabilities_refuses_other_numbers(make):
    make(0.5), make([0.25, 1.0]), make(P.to_tensor([0.5]))
    for bad in (2.0, -0.5, [0.5, 2.0], np.array([float("nan")])):
        with pytest.raises(ValueError, match="requires probs from 0 to 1, got"):
            make(bad)


def test_counts_and_degrees_of_freedom_are_not_negative():
    with pytest.raises(ValueError, match=r"\[Binomial\] requires a total_count of 0 or more, got -3"):
        D.Binomial(-3, 0.5)
    for df in (-1.0, 0.0, P.to_tensor([1.0, -1.0])):
        with pytest.raises(ValueError, match=r"\[Chi2\] requires a positive df"):
            D.Chi2(df)
        with pytest.raises(ValueError, match=r"\[StudentT\] requires a positive df"):
            D.StudentT(df, 0.0, 1.0)


@pytest.mark.parametrize("name", ["householder_product", "ormqr"])
def test_reflections_have_one_dtype(name):
    def call(x, tau):
        return getattr(P.linalg, name)(x, tau, *([P.eye(3, dtype=x.dtype)] if name == "ormqr" else []))

    with pytest.raises(ValueError, match=rf"\[{name}\] requires tau of x's dtype float32, got int64"):
        call(P.eye(3), P.to_tensor([1, 1, 1]))
    np.testing.assert_array_equal(call(P.eye(3, dtype="int64"), P.to_tensor([1, 1, 1])).numpy(), np.zeros((3, 3)))
