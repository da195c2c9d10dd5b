"""One token over a cache, padded sequences of different lengths, lengths: against NumPy from the formulas."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.incubate.nn.functional import (
    blha_get_max_len,
    masked_multihead_attention,
    variable_length_memory_efficient_attention,
)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rotated(x, angles, neighbours):
    """``[..., size]`` as complex numbers, times ``exp(i * angle)``."""
    half = x.shape[-1] // 2
    z = x[..., ::2] + 1j * x[..., 1::2] if neighbours else x[..., :half] + 1j * x[..., half:]
    z = z * np.exp(1j * angles)
    return np.stack([z.real, z.imag], -1).reshape(x.shape) if neighbours else np.concatenate([z.real, z.imag], -1)


def features(pairs, neighbours):
    return np.repeat(pairs, 2, -1) if neighbours else np.concatenate([pairs, pairs], -1)


BATCH, POSITIONS, SIZE = 4, 9, 8


def attend(x, cache, before, mask=None, rows=None):
    """Of x, ``[batch, heads + 2 * key heads, size]``, what the query sees in the cache, which gets key and value."""
    key_heads = cache.shape[2]
    heads = x.shape[1] - 2 * key_heads
    out = np.zeros((BATCH, heads, SIZE))
    for b, n in enumerate(before):
        cache[0, b, :, n], cache[1, b, :, n] = x[b, heads : heads + key_heads], x[b, heads + key_heads :]
    for b, n in enumerate(before):
        at = [b if rows is None or t == n else rows[b, t] for t in range(n + 1)]
        k, v = (np.stack([cache[i, r, :, t] for t, r in enumerate(at)], 1) for i in (0, 1))
        k, v = (np.repeat(y, heads // key_heads, 0) for y in (k, v))
        scores = np.einsum("hd,htd->ht", x[b, :heads], k) / np.sqrt(SIZE)
        if mask is not None:
            scores = scores + mask[b, :, 0, : n + 1]
        out[b] = np.einsum("ht,htd->hd", softmax(scores), v)
    return out.reshape(BATCH, -1)


@pytest.mark.parametrize(
    ("dtype", "heads", "key_heads", "tolerance"),
    [("float32", 4, 4, 1e-5), ("float32", 4, 2, 1e-5), ("bfloat16", 4, 2, 3e-2), ("float16", 2, 1, 4e-3)],
)
@pytest.mark.parametrize("captured", [False, True])
def test_one_token_over_a_cache(rng, dtype, heads, key_heads, tolerance, captured):
    function = paddle.jit.to_static(masked_multihead_attention) if captured else masked_multihead_attention
    cache = paddle.to_tensor(rng.standard_normal((2, BATCH, key_heads, POSITIONS, SIZE))).astype(dtype)
    memory = cache.data_ptr()
    bias = paddle.to_tensor(rng.standard_normal((heads + 2 * key_heads, SIZE))).astype(dtype)
    mask = paddle.to_tensor(rng.standard_normal((BATCH, 1, 1, POSITIONS))).astype(dtype)
    want_cache = cache.astype("float64").numpy()
    before = np.array([3, 0, 5, 2])
    for _ in range(3):
        x = paddle.to_tensor(rng.standard_normal((BATCH, (heads + 2 * key_heads) * SIZE))).astype(dtype)
        lengths = paddle.to_tensor(before.astype("int32")).unsqueeze(1)
        out, same = function(x, cache, bias, mask, None, lengths)
        own = (x.reshape([BATCH, -1, SIZE]) + bias).astype("float64").numpy()
        want = attend(own, want_cache, before, mask.astype("float64").numpy())
        np.testing.assert_allclose(out.astype("float64").numpy(), want, atol=tolerance)
        np.testing.assert_array_equal(cache.astype("float64").numpy(), want_cache)
        assert same is cache and cache.data_ptr() == memory
        before += 1


def test_the_mask_tells_the_position(rng):
    cache = rng.standard_normal((2, BATCH, 2, POSITIONS, SIZE)).astype("float32")
    x, mask = rng.standard_normal((BATCH, 6 * SIZE)), rng.standard_normal((BATCH, 2, 1, 6))
    held = paddle.to_tensor(cache)
    out = masked_multihead_attention(paddle.to_tensor(x.astype("float32")), held, src_mask=paddle.to_tensor(mask))[0]
    want = attend(x.reshape(BATCH, 6, SIZE), cache.astype("float64"), [5] * BATCH, mask)
    np.testing.assert_allclose(out.numpy(), want, atol=1e-5)


@pytest.mark.parametrize("neox", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_rotations(rng, neox, parts):
    """Query and key are rotated, value is not; with two parts each by its own angles."""
    angles = rng.standard_normal((BATCH, 1, parts, SIZE // 2 // parts))
    table = np.stack([features(f(angles), not neox).reshape(BATCH, 1, 1, SIZE) for f in (np.cos, np.sin)])
    x, cache = rng.standard_normal((BATCH, 6, SIZE)), rng.standard_normal((2, BATCH, 2, POSITIONS, SIZE))
    lengths = np.array([3, 0, 5, 2])
    out = masked_multihead_attention(
        paddle.to_tensor(x.reshape(BATCH, -1)),
        paddle.to_tensor(cache),
        sequence_lengths=paddle.to_tensor(lengths),
        rotary_tensor=paddle.to_tensor(table.astype("float32")),
        rotary_emb_dims=parts,
        use_neox_rotary_style=neox,
    )[0]
    own = rotated(x.reshape(BATCH, 6, parts, -1), angles, not neox).reshape(x.shape)
    want = attend(np.concatenate([own[:, :4], x[:, 4:]], 1), cache, lengths)
    np.testing.assert_allclose(out.numpy(), want, atol=1e-6)


def test_beams_attend_to_what_their_ancestors_wrote(rng):
    cache, x = rng.standard_normal((2, BATCH, 2, POSITIONS, SIZE)), rng.standard_normal((BATCH, 6, SIZE))
    offsets, lengths = rng.integers(0, 2, (2, 2, POSITIONS + 3)), np.array([3, 3, 6, 6])
    cache[:, :2, :, 3:], cache[:, 2:, :, 6:] = np.nan, np.nan  # what no token has written is not read
    given = paddle.to_tensor(offsets.astype("int32"))
    out, _, same = masked_multihead_attention(
        paddle.to_tensor(x.reshape(BATCH, -1)),
        paddle.to_tensor(cache),
        sequence_lengths=paddle.to_tensor(lengths),
        beam_cache_offset=given,
    )
    rows = np.arange(BATCH)[:, None] // 2 * 2 + offsets.reshape(BATCH, -1)
    np.testing.assert_allclose(out.numpy(), attend(x, cache, lengths, rows=rows), atol=1e-6)
    assert same is given


@pytest.mark.parametrize("round_type", [0, 1])
def test_levels_in_and_out(rng, round_type):
    """x of int32 with a factor for each feature; an output of int8."""
    x, factor = rng.integers(-50, 50, (BATCH, 6 * SIZE)), rng.uniform(0.01, 0.02, (3, 2, SIZE))
    shift, smooth = rng.standard_normal(2 * SIZE), rng.uniform(0.5, 1, 2 * SIZE)
    cache, lengths = rng.standard_normal((2, BATCH, 2, POSITIONS, SIZE)).astype("float32"), np.array([3, 0, 5, 2])
    out = masked_multihead_attention(
        paddle.to_tensor(x.astype("int32")),
        paddle.to_tensor(cache),
        sequence_lengths=paddle.to_tensor(lengths),
        qkv_out_scale=paddle.to_tensor(factor.astype("float32")),
        out_shift=paddle.to_tensor(shift.astype("float32")),
        out_smooth=paddle.to_tensor(smooth.astype("float32")),
        compute_dtype="fp32",
        out_scale=0.3,
        quant_round_type=round_type,
    )[0]
    want = attend((x * factor.reshape(-1)).reshape(BATCH, 6, SIZE), cache.astype("float64"), lengths)
    level = np.clip(127 * 0.3 * (want + shift) * smooth, -127, 127)
    assert out.dtype == paddle.int8
    assert np.abs(out.numpy() - level).max() < 0.51


@pytest.mark.parametrize(
    ("error", "text", "changes"),
    [
        (ValueError, "neither", {"sequence_lengths": None}),
        (ValueError, "at most 9 tokens", {"sequence_lengths": [1, 9, 2, 3]}),
        (ValueError, "at least 0", {"sequence_lengths": [1, -1, 2, 3]}),
        (ValueError, r"cache_kv of shape \[2, 4, heads", {"cache_kv": paddle.zeros([2, 3, 2, 9, 8])}),
        (ValueError, r"\* 8 features", {"x": paddle.zeros([4, 40])}),
        (TypeError, "a cache of their dtype", {"x": paddle.zeros([4, 48], "float64")}),
        (ValueError, "a column for each position", {"src_mask": paddle.zeros([4, 1, 1, 3])}),
        (ValueError, "bias with 48 elements", {"bias": paddle.zeros([4, 8])}),
        (
            ValueError,
            "cosines and sines of shape",
            {"rotary_emb_dims": 1, "rotary_tensor": paddle.zeros([2, 4, 1, 9, 4])},
        ),
        (ValueError, "beams below 2", {"beam_cache_offset": paddle.full([2, 2, 9], 2, "int32")}),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(error, text, changes):
    given = {"x": paddle.ones([4, 48]), "cache_kv": paddle.zeros([2, 4, 2, 9, 8]), "sequence_lengths": [1, 7, 2, 3]}
    given |= changes
    if given["sequence_lengths"] is not None:
        given["sequence_lengths"] = paddle.to_tensor(np.array(given["sequence_lengths"], np.int32))
    with pytest.raises(error, match=text):
        masked_multihead_attention(**given)
    assert not given["cache_kv"].any()


def test_no_sequence_is_refused():
    x, cache = paddle.zeros([0, 30]), paddle.zeros([2, 0, 2, 8, 5])
    with pytest.raises(ValueError, match=r"\[masked_multihead_attention\] requires at least one sequence"):
        masked_multihead_attention(x, cache, src_mask=paddle.zeros([0, 1, 1, 4]))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("with_mask", [False, True])
@pytest.mark.parametrize("prefix", [0, 2])
def test_padded_sequences(rng, causal, with_mask, prefix):
    """Rows beyond a length are 0, and have no gradient; so have keys."""
    queries, keys, lengths, key_lengths = 5, 9, np.array([5, 2, 0]), np.array([7, 3, 4])
    q, k, v = (rng.standard_normal((3, h, n, 4)) for h, n in ((4, queries), (2, keys), (2, keys)))
    mask = rng.standard_normal((3, 1, queries, keys)) if with_mask else None
    given = [paddle.to_tensor(x, stop_gradient=False) for x in (q, k, v)]
    out = variable_length_memory_efficient_attention(
        *given,
        *(paddle.to_tensor(n.astype("int32")).unsqueeze(1) for n in (lengths, key_lengths)),
        None if mask is None else paddle.to_tensor(mask),
        0.7,
        causal,
        prefix,
    )
    out.sum().backward()
    want = np.zeros((3, 4, queries, 4))
    for b, (n, m) in enumerate(zip(lengths, np.minimum(key_lengths + prefix, keys))):
        scores = 0.7 * np.einsum("hqd,hkd->hqk", q[b, :, :n], np.repeat(k[b], 2, 0)[:, :m])
        if with_mask:
            scores = scores + mask[b, :, :n, :m]
        if causal:
            scores = np.where(np.arange(m) <= np.arange(n)[:, None] + prefix, scores, -np.inf)
        want[b, :, :n] = softmax(scores) @ np.repeat(v[b], 2, 0)[:, :m]
        assert not given[1].grad[b, :, m:].any() and not given[0].grad[b, :, n:].any()
    np.testing.assert_allclose(out.numpy(), want, atol=1e-6)


def test_the_largest_lengths(rng):
    encoder, decoder = (rng.integers(0, 99, 7).astype("int32") for _ in range(2))
    got = blha_get_max_len(paddle.to_tensor(encoder).unsqueeze(1), paddle.to_tensor(decoder), paddle.ones([5]))
    assert [x.tolist() for x in got] == [[encoder[:5].max()], [decoder[:5].max()]]
    assert [x.dtype for x in got] == [paddle.int32] * 2
    with pytest.raises(ValueError, match="at least 9 lengths"):
        blha_get_max_len(paddle.to_tensor(encoder), paddle.to_tensor(decoder), paddle.ones([9]))
    none = paddle.zeros([0], "int32")
    assert [x.tolist() for x in blha_get_max_len(none, none, paddle.ones([0]))] == [[0], [0]]


def test_the_largest_of_lengths_in_a_saved_model(tmp_path):
    """How many sequences count is open, and how many lengths there are is not."""
    sizes = [
        paddle.static.InputSpec([3], "int32"),
        paddle.static.InputSpec([3], "int32"),
        paddle.static.InputSpec([None]),
    ]
    paddle.jit.save(paddle.jit.to_static(blha_get_max_len, input_spec=sizes, full_graph=True), str(tmp_path / "m"))
    loaded = paddle.jit.load(str(tmp_path / "m"))
    encoder, decoder = paddle.to_tensor([3, 0, 7], "int32"), paddle.to_tensor([0, 9, 0], "int32")
    for n, wanted in ((3, [7, 9]), (1, [3, 0])):
        assert [x.item() for x in loaded(encoder, decoder, paddle.ones([n]))] == wanted
    with pytest.raises(ValueError):
        loaded(encoder, decoder, paddle.ones([4]))
