"""Attention in float64 for operands of other dtypes, against plain tensor code in float64."""

import math

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.incubate.nn.functional import variable_length_memory_efficient_attention as variable_length

FLAG = "FLAGS_attention_accumulation"
BATCH, LENGTH, HEADS, KEY_HEADS, SIZE = 2, 150, 4, 2, 16


@pytest.fixture
def wide():
    """Ask for float64 until the test ends."""
    paddle.set_flags({FLAG: "float64"})
    yield
    paddle.set_flags({FLAG: "auto"})


def operands(rng, dtype="float32"):
    shapes = ([BATCH, LENGTH, heads, SIZE] for heads in (HEADS, KEY_HEADS, KEY_HEADS))
    drawn = [paddle.to_tensor(2 * rng.standard_normal(shape)).astype(dtype) for shape in shapes]
    for x in drawn:
        x.stop_gradient = False
    return drawn


def plain(q, k, v, added=0.0):
    """Attention in float64, with its scores formed."""
    q, k, v = (x.astype("float64").transpose([0, 2, 1, 3]) for x in (q, k, v))
    k, v = (x.repeat_interleave(HEADS // KEY_HEADS, 1) for x in (k, v))
    weights = F.softmax(q @ k.transpose([0, 1, 3, 2]) / math.sqrt(SIZE) + added, axis=-1)
    return (weights @ v).transpose([0, 2, 1, 3])


# Calls of one meaning: the function, and what is added to scores in it.
CALLS = {
    "no mask": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), 0.0),
    "causal": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), "causal"),
    "bools": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, paddle.to_tensor(np.tri(LENGTH) > 0)),
        "causal",
    ),
    "added": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, paddle.full([LENGTH], 0.5, q.dtype)),
        0.5,
    ),
    "columns": (
        lambda q, k, v: F.flashmask_attention(q, k, v, paddle.full([1, 1, LENGTH, 1], LENGTH, "int32"), causal=True),
        "causal",
    ),
    "weights": (
        lambda q, k, v: F.flash_attention.flash_attention(q, k, v, causal=True, return_softmax=True)[0],
        "causal",
    ),
}


def ulps(found, exact):
    """The largest error, in units of the last place of the dtype at the exact number."""
    digits = {"float32": 23, "float16": 10, "bfloat16": 7}[found.dtype.name]
    exact = exact.numpy()
    unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(exact), 1e-4))) - digits)
    return (np.abs(found.astype("float64").numpy() - exact) / unit).max()


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_results_and_gradients_are_rounded_once(rng, wide, name, dtype):
    """Half a unit of the last place, and what the order of sums in float64 leaves."""
    call, added = CALLS[name]
    added = paddle.to_tensor(np.where(np.tri(LENGTH) > 0, 0.0, -np.inf)) if added == "causal" else added
    given = operands(rng, dtype)
    y = call(*given)
    assert y.dtype.name == dtype
    leaves = [x.astype("float64").detach() for x in given]
    for x in leaves:
        x.stop_gradient = False
    exact = plain(*leaves, added)
    cotangent = paddle.to_tensor(rng.standard_normal(y.shape)).astype(dtype)
    gradients = paddle.grad(y, given, cotangent)
    expected = paddle.grad(exact, leaves, cotangent.astype("float64"))
    for found, want in zip((y, *gradients), (exact, *expected), strict=True):
        assert found.dtype.name == dtype
        assert ulps(found, want) <= 0.501

    if dtype == "float32" and name != "weights":
        paddle.set_flags({FLAG: "auto"})
        assert ulps(call(*given), exact) > 1  # what the switch is for


def test_sums_dropout_and_lengths(rng, wide):
    """The log-sum-exp keeps its dtype; the same weights are dropped; other calls ask the switch too."""
    q, k, v = operands(rng)
    q64, k64, v64 = (x.astype("float64") for x in (q, k, v))
    kw = {"causal": True, "return_softmax_lse": True, "dropout": 0.3, "fixed_seed_offset": paddle.to_tensor([5, 8])}
    found, exact = F.flashmask_attention(q, k, v, **kw), F.flashmask_attention(q64, k64, v64, **kw)
    for a, b in zip(found, exact, strict=True):
        assert (a.dtype.name, b.dtype.name) == ("float32", "float64")
        np.testing.assert_array_equal(a.numpy(), b.astype("float32").numpy())
    lengths = paddle.to_tensor([LENGTH, LENGTH // 2], "int32")
    found, exact = (
        variable_length(*(x.transpose([0, 2, 1, 3]) for x in given), lengths, lengths)
        for given in ((q, k, v), (q64, k64, v64))
    )
    np.testing.assert_array_equal(found.numpy(), exact.astype("float32").numpy())


def test_without_the_switch_nothing_changes(rng):
    """The bits before it was set and after it was reset; float64 has nothing to gain."""
    given = operands(rng)
    before = [call(*given).numpy() for call, _ in CALLS.values()]
    of_float64 = [x.astype("float64") for x in given]
    exact = F.scaled_dot_product_attention(*of_float64).numpy()
    paddle.set_flags({FLAG: "float64"})
    try:
        for old, (call, _) in zip(before, CALLS.values(), strict=True):
            assert (old != call(*given).numpy()).any()
        np.testing.assert_array_equal(F.scaled_dot_product_attention(*of_float64).numpy(), exact)
    finally:
        paddle.set_flags({FLAG: "auto"})
    for old, (call, _) in zip(before, CALLS.values(), strict=True):
        np.testing.assert_array_equal(call(*given).numpy(), old)


def test_captured_functions_keep_what_they_were_captured_with(rng):
    def step(q, k, v):
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y, *paddle.grad((y * y).sum(), [q, k, v])

    given = operands(rng)
    narrow = paddle.jit.to_static(step)
    first = [y.numpy() for y in narrow(*given)]
    paddle.set_flags({FLAG: "float64"})
    try:
        for old, y in zip(first, narrow(*given), strict=True):
            np.testing.assert_array_equal(y.numpy(), old)
        for a, b in zip(paddle.jit.to_static(step)(*given), step(*given), strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    finally:
        paddle.set_flags({FLAG: "auto"})


def test_mixed_precision_decides_on_the_dtype_first(rng, wide):
    given = operands(rng)
    with paddle.amp.auto_cast(dtype="bfloat16"):
        y = F.scaled_dot_product_attention(*given)
    assert y.dtype.name == "bfloat16"
    exact = plain(*(x.astype("bfloat16") for x in given))
    assert ulps(y, exact) <= 0.501


def test_refusals(rng, wide):
    """What is refused without the switch is refused with it."""
    q, k, v = operands(rng)
    with pytest.raises(TypeError, match=r"one dtype|same dtype"):
        F.scaled_dot_product_attention(q, k.astype("float64"), v)
    with pytest.raises(TypeError, match=r"requires a mask of bool, int32 or float32, got float64"):
        F.scaled_dot_product_attention(q, k, v, paddle.zeros([LENGTH], "float64"))
    with pytest.raises(
        ValueError, match=r"\[FLAGS_attention_accumulation\] requires one of \('auto', 'float64'\), got"
    ):
        paddle.set_flags({FLAG: "float16"})
    assert paddle.get_flags(FLAG) == {FLAG: "float64"}
