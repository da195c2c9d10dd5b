"""Attention and transformers: caches, masks, dropout, packed and unpadded forms, recording."""

import math

import numpy as np
import pytest
from harness import run_traced

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.nn.functional import flash_attention as flash
from umiak.runtime import observe


def normal(rng, *shape):
    return paddle.to_tensor(rng.standard_normal(shape).astype(np.float32), stop_gradient=False)


def same(a, b, tolerance=1e-5):
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance)


# --- caches ----------------------------------------------------------------------------------------------------------


def causal(n):
    return paddle.to_tensor(np.triu(np.full((n, n), -np.inf, np.float32), 1))


def test_decoding_step_by_step_is_attention_at_once(rng):
    layer, x = nn.MultiHeadAttention(8, 2).eval(), normal(rng, 2, 5, 8)
    whole = layer(x, attn_mask=causal(5))
    cache = layer.gen_cache(x)
    assert isinstance(cache, layer.Cache) and cache.k.shape == [2, 2, 0, 4]
    steps = []
    for i in range(5):
        y, cache = layer(x[:, i : i + 1], cache=cache)
        steps.append(y)
    same(paddle.concat(steps, 1), whole)
    assert cache.k.shape == cache.v.shape == [2, 2, 5, 4]


def test_static_cache(rng):
    layer, x, memory = nn.MultiHeadAttention(8, 2, kdim=6, vdim=4), normal(rng, 2, 3, 8), normal(rng, 2, 5, 6)
    value = normal(rng, 2, 5, 4)
    kept = layer.gen_cache(memory, value, type=layer.StaticCache)
    y, after = layer(x, memory, value, cache=kept)
    same(y, layer(x, memory, value))
    assert after is kept and isinstance(kept, nn.MultiHeadAttention.StaticCache)
    with pytest.raises(ValueError, match="StaticCache"):
        layer.gen_cache(memory, type=layer.StaticCache)
    pair = layer.gen_cache(kept.k, kept.v)
    assert isinstance(pair, layer.Cache) and pair.k is kept.k


class DoubledQueries(nn.MultiHeadAttention):
    def _prepare_qkv(self, query, key, value, cache=None):
        q, *rest = super()._prepare_qkv(query, key, value, cache)
        return (2 * q, *rest)


class DoubledValues(nn.MultiHeadAttention):
    def compute_kv(self, key, value):
        k, v = super().compute_kv(key, value)
        return k, 2 * v


@pytest.mark.parametrize(("kind", "part"), [(DoubledQueries, "q_proj"), (DoubledValues, "v_proj")])
@pytest.mark.parametrize("weights", [False, True])
def test_classes_replace_how_heads_are_made(kind, part, weights, rng):
    layer, plain = kind(8, 2, need_weights=weights), nn.MultiHeadAttention(8, 2, need_weights=weights)
    plain.set_state_dict(layer.state_dict())
    for parameter in getattr(plain, part).parameters():
        parameter.set_value(2 * parameter)
    x, mask = normal(rng, 2, 5, 8), normal(rng, 2, 2, 5, 5)
    for arguments in ((x, x, x, mask), (x,), (x, x, x, None, layer.gen_cache(x))):
        results, wanted = (paddle.utils.flatten(f(*arguments)) for f in (layer, plain))
        assert len(results) == len(wanted)
        for got, want in zip(results, wanted, strict=True):
            same(got, want)


@pytest.mark.parametrize("before", [False, True])
def test_stacks_decode_step_by_step(before, rng):
    words = {"dropout": 0.0, "normalize_before": before}
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, **words), 2, nn.LayerNorm(8))
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, **words), 2)
    x, memory = normal(rng, 2, 4, 8), normal(rng, 2, 3, 8)
    for stack, more in ((decoder, (memory,)), (encoder, ())):
        whole = stack(x, *more, causal(4))
        cache, steps = stack.gen_cache(memory if more else x), []
        for i in range(4):
            y, cache = stack(x[:, i : i + 1], *more, None, *(None,) * len(more), cache=cache)
            steps.append(y)
        same(paddle.concat(steps, 1), whole)
    pairs = decoder.gen_cache(memory, do_zip=True)
    assert len(pairs) == 2 and len(pairs[0]) == 2
    assert isinstance(pairs[0][1], nn.MultiHeadAttention.Cache)
    assert isinstance(pairs[1][0], nn.MultiHeadAttention.StaticCache)


# --- masks and weights -----------------------------------------------------------------------------------------------


def test_masks_of_bools_ints_and_floats_agree(rng):
    layer, x = nn.MultiHeadAttention(8, 2), normal(rng, 2, 5, 8)
    visible = np.tri(5, dtype=bool)
    added = np.where(visible, 0.0, -np.inf)
    expected = layer(x, attn_mask=paddle.to_tensor(visible))
    for mask in (visible.astype("int64"), visible.astype("int32"), added.astype("float32"), added):
        same(layer(x, attn_mask=paddle.to_tensor(mask)), expected)
    same(nn.MultiHeadAttention.forward(layer, x, attn_mask=paddle.to_tensor(visible[None, None])), expected)


def test_a_query_that_sees_nothing_weighs_all_alike(rng):
    layer, x = nn.MultiHeadAttention(8, 2), normal(rng, 2, 4, 8)
    hidden = np.ones((2, 1, 4, 4), bool)
    hidden[0, 0, 2] = False
    mask = paddle.to_tensor(hidden)
    y = layer(x, attn_mask=mask)
    same(y[0, 2], layer.out_proj(layer.v_proj(x[0]).mean(0)))
    layer.need_weights = True
    with_weights, weights = layer(x, attn_mask=mask)
    same(y, with_weights)
    np.testing.assert_allclose(weights[0, :, 2].numpy(), 0.25)
    # Its gradient reaches values alone.
    layer.need_weights = False
    layer(x, attn_mask=mask)[0, 2].sum().backward()
    assert layer.q_proj.weight.grad is None or not layer.q_proj.weight.grad.numpy().any()
    assert layer.v_proj.weight.grad.numpy().any()


@pytest.mark.parametrize("training", [True, False])
def test_scores_are_not_formed(training, rng):
    """Without weights to return or to drop, attention is one op, whatever the mask."""
    layer, x = nn.MultiHeadAttention(8, 2, dropout=0.0 if training else 0.5), normal(rng, 2, 5, 8)
    layer.train() if training else layer.eval()
    for mask in (None, causal(5), paddle.to_tensor(np.tri(5, dtype=bool)), paddle.to_tensor(np.tri(5, dtype=int))):
        seen = []
        with observe.observe(lambda op, operands, params, results, seen=seen: seen.append(op.name)):
            layer(x, attn_mask=mask)
        assert seen.count("attention") == 1 and "softmax" not in seen


def test_dropout_drops_weights_and_scales_the_rest(rng):
    layer, x = nn.MultiHeadAttention(8, 2, dropout=0.5, need_weights=True), normal(rng, 4, 16, 8)
    _, weights = layer(x)
    plain = nn.MultiHeadAttention(8, 2, need_weights=True)
    plain.set_state_dict(layer.state_dict())
    _, whole = plain(x)
    w, e = weights.numpy(), whole.numpy()
    kept = w != 0
    assert 0.4 < kept.mean() < 0.6
    np.testing.assert_allclose(w[kept], 2 * e[kept], rtol=1e-5)
    layer.eval()
    same(layer(x)[0], plain(x)[0])
    paddle.seed(3)
    layer.train()
    layer.need_weights = False
    a = layer(x)
    paddle.seed(3)
    layer.need_weights = True
    same(a, layer(x)[0])


def test_errors(rng):
    x = normal(rng, 2, 5, 8)
    for sizes in ((0, 1), (8, 0), (8, 3)):
        with pytest.raises(ValueError, match="MultiHeadAttention"):
            nn.MultiHeadAttention(*sizes)
    with pytest.raises(ValueError, match="batch, queries"):
        nn.MultiHeadAttention(8, 2)(x[0])
    with pytest.raises(ValueError, match="activation"):
        nn.TransformerEncoderLayer(8, 2, 16, activation="foo")
    with pytest.raises(ValueError, match="list of 2"):
        nn.TransformerEncoderLayer(8, 2, 16, weight_attr=[None] * 3)
    with pytest.raises(ValueError, match="list of 3"):
        nn.TransformerDecoderLayer(8, 2, 16, bias_attr=[False] * 2)
    with pytest.raises(ValueError, match="at least one layer"):
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 0)
    with pytest.raises(ValueError, match="positive sizes"):
        nn.TransformerDecoderLayer(8, 2, 0)


def test_attributes_of_parts():
    one, two, three = (nn.initializer.Constant(v) for v in (1.0, 2.0, 3.0))
    layer = nn.TransformerDecoderLayer(8, 2, 16, weight_attr=[one, two, three], bias_attr=[False, None, False])
    found = [p.mean().item() for p in (layer.self_attn.q_proj.weight, layer.cross_attn.out_proj.weight)]
    assert [*found, layer.linear2.weight.mean().item()] == [1.0, 2.0, 3.0]
    assert layer.self_attn.q_proj.bias is None and layer.cross_attn.q_proj.bias is not None
    for attrs, expected in (([one, two], (1, 2, 1, 1, 2)), ([one, two, three], (1, 3, 1, 2, 3))):
        model = nn.Transformer(8, 2, 1, 1, 16, weight_attr=attrs)
        first, second = model.encoder.layers[0], model.decoder.layers[0]
        parts = (first.self_attn.q_proj, first.linear1, second.self_attn.q_proj, second.cross_attn.q_proj)
        assert tuple(p.weight.mean().item() for p in (*parts, second.linear1)) == expected
    assert model.encoder.norm is not None and model.decoder.norm is not None


def test_custom_parts_and_copies():
    first = nn.TransformerEncoderLayer(8, 2, 16)
    encoder = nn.TransformerEncoder(first, 3)
    assert encoder.layers[0] is first and len(encoder.layers) == 3
    assert not np.array_equal(first.linear1.weight.numpy(), encoder.layers[1].linear1.weight.numpy())
    model = nn.Transformer(8, 2, custom_encoder=encoder, custom_decoder=nn.Identity())
    assert model.encoder is encoder and isinstance(model.decoder, nn.Identity)
    mask = model.generate_square_subsequent_mask(3)
    assert mask.tolist() == [[0.0, -math.inf, -math.inf], [0.0, 0.0, -math.inf], [0.0, 0.0, 0.0]]


# --- recording -------------------------------------------------------------------------------------------------------


def test_layers_are_recorded_as_they_run(rng):
    """Nothing depends on values: a recorded program gives what the call gives."""
    x, memory = normal(rng, 2, 4, 8).detach(), normal(rng, 2, 3, 8).detach()
    mask, at = paddle.to_tensor(np.tri(4, dtype=bool)), ends([0, 2, 5])
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, activation="gelu"), 2).eval()
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 1).eval()
    qkv, image = normal(rng, 5, 3, 2, 4).detach(), normal(rng, 2, 4, 3, 3).detach()
    sync, norm = nn.SyncBatchNorm(4).eval(), nn.SpectralNorm([2, 4, 8], 1, 2)
    for f, operands in (
        (lambda x, m: encoder(x, m), (x, mask)),
        (lambda x, m: decoder(x, m, cache=decoder.gen_cache(m))[0], (x, memory)),
        (
            lambda x, a: flash.flash_attn_varlen_qkvpacked(x, a, a, 3, 3, 0.4, causal=True, varlen_padded=False)[0],
            (qkv, at),
        ),
        (lambda x: F.grid_sample(x, F.affine_grid(x[:, :2, :, 0], [2, 4, 5, 2])), (image,)),
        (lambda x: F.fractional_max_pool2d(x, 2, random_u=0.3), (image,)),
        (lambda x: F.temporal_shift(x, 2), (image,)),
        (sync, (image,)),
        (norm, (paddle.stack([x[0], x[1]]),)),
    ):
        (found,) = run_traced(f, *operands)
        same(found, f(*operands))


# --- forms of flash attention ----------------------------------------------------------------------------------------

ENDS = [0, 2, 2, 7, 8]  # of sequences of 2, 0, 5 and 1
KEY_ENDS = [0, 3, 4, 9, 13]


def one_by_one(q, k, v, ends, key_ends, scale, causal=False, window=(-1, -1), softcap=0.0):
    """Each sequence for itself, the last query at the last key."""
    parts = []
    for (a, b), (c, d) in zip(zip(ends, ends[1:]), zip(key_ends, key_ends[1:])):
        if a == b:
            continue
        qs, ks, vs = q[a:b], k[c:d], v[c:d]
        group = q.shape[1] // k.shape[1]
        ks, vs = (t.repeat_interleave(group, 1) for t in (ks, vs))
        s = paddle.einsum("ihd,jhd->hij", qs, ks) * scale
        if softcap:
            s = softcap * paddle.tanh(s / softcap)
        i, j = np.arange(b - a)[:, None] + (d - c) - (b - a), np.arange(d - c)
        seen = np.ones((b - a, d - c), bool)
        left, right = window
        seen &= (j <= i) if causal else True
        seen &= (j >= i - left) if left >= 0 else True
        seen &= (j <= i + right) if right >= 0 else True
        s = paddle.where(paddle.to_tensor(seen), s, paddle.full([], -1e30))
        p = F.softmax(s, -1) * paddle.to_tensor(seen.any(1)[:, None].astype("float32"))
        parts.append(paddle.einsum("hij,jhd->ihd", p, vs))
    return paddle.concat(parts)


def ends(values):
    return paddle.to_tensor(np.array(values, np.int32))


def with_gradients(f, *tensors):
    for t in tensors:
        t.clear_gradient()
    y = f()
    weights = np.cos(np.arange(y.size)).reshape(y.shape).astype(np.float32)
    (y * paddle.to_tensor(weights)).sum().backward()
    return [y, *(t.grad.clone() for t in tensors)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("heads", [2, 4])
def test_unpadded(causal, heads, rng):
    q, k, v = normal(rng, 8, heads, 4), normal(rng, 13, 2, 4), normal(rng, 13, 2, 4)
    args = (ends(ENDS), ends(KEY_ENDS), 5, 5, 0.4)
    found = with_gradients(lambda: flash.flash_attn_unpadded(q, k, v, *args, causal=causal)[0], q, k, v)
    expected = with_gradients(lambda: one_by_one(q, k, v, ENDS, KEY_ENDS, 0.4, causal), q, k, v)
    for a, b in zip(found, expected):
        same(a, b, 1e-4)
    same(flash.flash_attn_unpadded(q, k, v, *args, dropout=0.5, causal=causal, training=False)[0], found[0], 1e-4)
    out, weights = flash.flash_attn_unpadded(q, k, v, *args, causal=causal, return_softmax=True)
    same(out, found[0], 1e-4)
    assert weights.shape == [4, heads, 5, 5]
    np.testing.assert_allclose(weights[2].numpy().sum(-1), 1, rtol=1e-5)
    assert not weights[0, :, :2, 3:].numpy().any()


@pytest.mark.parametrize("causal", [False, True])
def test_packed(causal, rng):
    qkv = normal(rng, 8, 3, 2, 4)
    q, k, v = (qkv[:, i] for i in range(3))
    at = ends(ENDS)
    found = flash.flash_attn_varlen_qkvpacked(qkv, at, at, 5, 5, 0.4, causal=causal, varlen_padded=False)[0]
    expected = one_by_one(q, k, v, ENDS, ENDS, 0.4, causal)
    same(found, expected, 1e-4)
    # With each sequence in five rows of its own; what stands behind its end must not matter.
    rows = np.full((4, 5, 3, 2, 4), 7.0, np.float32)
    for i, (a, b) in enumerate(zip(ENDS, ENDS[1:])):
        rows[i, : b - a] = qkv[a:b].numpy()
    padded = paddle.to_tensor(rows.reshape(20, 3, 2, 4))
    wide = flash.flash_attn_varlen_qkvpacked(padded, at, at, 5, 5, 0.4, causal=causal)[0].numpy().reshape(4, 5, 2, 4)
    np.testing.assert_allclose(
        np.concatenate([wide[i, : b - a] for i, (a, b) in enumerate(zip(ENDS, ENDS[1:]))]),
        expected.numpy(),
        rtol=1e-4,
        atol=1e-5,
    )
    assert all(not wide[i, b - a :].any() for i, (a, b) in enumerate(zip(ENDS, ENDS[1:])))
    batch = normal(rng, 2, 5, 3, 2, 4)
    out, weights = flash.flash_attn_qkvpacked(batch, causal=causal, return_softmax=True)
    direct = F.scaled_dot_product_attention(*(batch[:, :, i] for i in range(3)), is_causal=causal)
    same(out, direct)
    same(flash.flash_attn_qkvpacked(batch, causal=causal)[0], direct)
    np.testing.assert_allclose(weights.numpy().sum(-1), 1, rtol=1e-5)


def test_grouped_heads_are_packed_group_by_group(rng):
    qkv = normal(rng, 2, 5, 4, 2, 4)
    q = paddle.concat([qkv[:, :, 0], qkv[:, :, 1]], 2)
    same(flash.flash_attn_qkvpacked(qkv)[0], F.scaled_dot_product_attention(q, qkv[:, :, 2], qkv[:, :, 3]))


@pytest.mark.parametrize(
    "words", [{}, {"causal": True}, {"window_size": (1, 0)}, {"window_size": (2, -1), "causal": True}, {"softcap": 0.8}]
)
def test_variable_lengths_with_windows(words, rng):
    q, k, v = normal(rng, 8, 4, 4), normal(rng, 13, 2, 4), normal(rng, 13, 2, 4)
    settings = {"causal": False, "window": words.get("window_size", (-1, -1)), **words}
    settings.pop("window_size", None)
    call = lambda: F.flash_attention_v3_varlen(q, k, v, ends(ENDS), ends(KEY_ENDS), 5, 5, **words)  # noqa: E731
    found = with_gradients(lambda: call()[0], q, k, v)
    expected = with_gradients(lambda: one_by_one(q, k, v, ENDS, KEY_ENDS, 0.5, **settings), q, k, v)
    for a, b in zip(found, expected):
        same(a, b, 1e-4)
    assert call()[1].shape == [4, 8]
    if not words:
        scores = np.einsum("ihd,jhd->hij", q[2:7].numpy(), np.repeat(k[4:9].numpy(), 2, 1)) * 0.5
        np.testing.assert_allclose(call()[1].numpy()[:, 2:7], np.log(np.exp(scores).sum(-1)), rtol=1e-4)
    at = ends(ENDS)
    alike = F.flash_attention_v3_varlen(q, k[:8], v[:8], at, at, 5, 5, **words)[0]
    same(alike, one_by_one(q, k[:8], v[:8], ENDS, ENDS, 0.5, **settings), 1e-4)


def test_used_rows(rng):
    q, k, v = (normal(rng, 6, 2, 4) for _ in range(3))
    used = ends([2, 1])
    out, _ = F.flash_attention_v3_varlen(q, k, v, ends([0, 3, 6]), ends([0, 3, 6]), 3, 3, used, used)
    rows = [0, 1, 3]
    picked = (paddle.to_tensor(t.numpy()[rows]) for t in (q, k, v))
    np.testing.assert_allclose(
        out.numpy()[rows], one_by_one(*picked, [0, 2, 3], [0, 2, 3], 0.5).numpy(), rtol=1e-4, atol=1e-5
    )
    assert not out.numpy()[[2, 4, 5]].any()


def test_dropout_in_forms_of_flash_attention(rng):
    x = normal(rng, 2, 6, 2, 4)
    paddle.seed(1)
    a, weights = flash.flash_attention(x, x, x, 0.5, return_softmax=True)
    assert 0.3 < (weights.numpy() == 0).mean() < 0.7
    paddle.seed(1)
    same(flash.flash_attention(x, x, x, 0.5)[0], a)
    for f, args in ((flash.flash_attention, (x, x, x)), (flash.flash_attn_qkvpacked, (paddle.stack([x] * 3, 2),))):
        with pytest.raises(ValueError, match="fixed_seed_offset"):
            f(*args, 0.5, fixed_seed_offset=paddle.to_tensor([1, 2, 3]))
        with pytest.raises(ValueError, match="set_random_seed_generator"):
            f(*args, 0.5, rng_name="local")


def test_errors_of_flash_attention(rng):
    x, at = normal(rng, 5, 2, 4), ends([0, 2, 5])
    with pytest.raises(ValueError, match="total, heads, dim"):
        flash.flash_attn_unpadded(x[0], x[0], x[0], at, at, 3, 3, 1.0)
    with pytest.raises(ValueError, match="cumulative lengths"):
        flash.flash_attn_unpadded(x, x, x, at.astype("float32"), at, 3, 3, 1.0)
    with pytest.raises(ValueError, match="padded sequences"):
        flash.flash_attn_varlen_qkvpacked(normal(rng, 5, 3, 2, 4), at, at, 3, 3, 1.0)
    with pytest.raises(ValueError, match="heads/key heads"):
        flash.flash_attn_qkvpacked(normal(rng, 2, 5, 2, 2, 4))
    with pytest.raises(ValueError, match="qv"):
        F.flash_attention_v3_varlen(x, x, x, at, at, 3, 3, qv=x)
