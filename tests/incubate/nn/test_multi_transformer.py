"""Several layers as one call: against NumPy from the formulas, and token by token against the call for all tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest

import paddle
from paddle.incubate.nn import FusedMultiTransformer
from paddle.incubate.nn.functional import fused_multi_transformer

EMBED, HEADS, SIZE, HIDDEN, LAYERS = 12, 3, 4, 10, 2
ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "swiglu": lambda x: x / (1 + np.exp(-x)),
}
ACTIVATIONS["geglu"] = ACTIVATIONS["gelu"]
KINDS = "ln_scales ln_biases qkv_weights qkv_biases linear_weights linear_biases".split()
KINDS += "ffn_ln_scales ffn_ln_biases ffn1_weights ffn1_biases ffn2_weights ffn2_biases".split()


def weights(rng, key_heads=HEADS, gate=False, transposed=True):
    """Arrays by the names of their lists."""
    heads = [3, HEADS] if key_heads == HEADS else [HEADS + 2 * key_heads]
    qkv = [*heads, SIZE, EMBED] if transposed else [EMBED, *heads, SIZE]
    between = 2 * HIDDEN if gate else HIDDEN
    shapes = [[EMBED], [EMBED], qkv, [*heads, SIZE], [HEADS * SIZE, EMBED], [EMBED]]
    shapes += [[EMBED], [EMBED], [EMBED, between], [between], [HIDDEN, EMBED], [EMBED]]
    return {name: rng.standard_normal((LAYERS, *shape)) * 0.5 for name, shape in zip(KINDS, shapes)}


def lists(arrays, dtype="float64"):
    return {name: [paddle.to_tensor(a).astype(dtype) for a in rows] for name, rows in arrays.items()}


def normalised(x, scale, bias, rms):
    x = x if rms else x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale + bias


def layers(x, w, added, key_heads=HEADS, before=True, activation="gelu", rms=False, alpha=1.0, transposed=True):
    """The formulas of the docstring; ``added`` is added to scores."""
    for i in range(LAYERS):
        at = {name: rows[i] for name, rows in w.items()}
        y = normalised(x, at["ln_scales"], at["ln_biases"], rms) if before else x
        matrix = at["qkv_weights"].reshape(-1, EMBED).T if transposed else at["qkv_weights"].reshape(EMBED, -1)
        y = (y @ matrix + at["qkv_biases"].reshape(-1)).reshape(*x.shape[:2], -1, SIZE).transpose(0, 2, 1, 3)
        q, k, v = y[:, :HEADS], y[:, HEADS : HEADS + key_heads], y[:, HEADS + key_heads :]
        k, v = (np.repeat(t, HEADS // key_heads, 1) for t in (k, v))
        scores = q @ k.swapaxes(2, 3) / math.sqrt(SIZE) + added
        e = np.exp(scores - scores.max(-1, keepdims=True))
        out = (e / e.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1)
        x = x * alpha + out @ at["linear_weights"] + at["linear_biases"]
        if not before:
            x = normalised(x, at["ln_scales"], at["ln_biases"], rms)
        y = normalised(x, at["ffn_ln_scales"], at["ffn_ln_biases"], rms) if before else x
        y = y @ at["ffn1_weights"] + at["ffn1_biases"]
        gate = activation.endswith("glu")
        y = ACTIVATIONS[activation](y[..., :HIDDEN]) * y[..., HIDDEN:] if gate else ACTIVATIONS[activation](y)
        x = x * alpha + y @ at["ffn2_weights"] + at["ffn2_biases"]
        if not before:
            x = normalised(x, at["ffn_ln_scales"], at["ffn_ln_biases"], rms)
    return x


@pytest.mark.parametrize(
    ("before", "activation", "rms", "alpha", "key_heads", "transposed"),
    [
        (True, "gelu", False, 1.0, HEADS, True),
        (False, "relu", False, 0.5, HEADS, False),
        (True, "swiglu", True, 2.0, 1, True),
        (False, "geglu", True, 1.0, 1, False),
    ],
)
def test_formulas(rng, before, activation, rms, alpha, key_heads, transposed):
    w = weights(rng, key_heads, activation.endswith("glu"), transposed)
    x, added = rng.standard_normal((2, 5, EMBED)), rng.standard_normal((2, 1, 5, 5))
    out = fused_multi_transformer(
        paddle.to_tensor(x),
        **lists(w),
        pre_layer_norm=before,
        activation=activation,
        norm_type="rmsnorm" if rms else "layernorm",
        residual_alpha=alpha,
        gqa_group_size=-1 if key_heads == HEADS else key_heads,
        trans_qkvw=transposed,
        attn_mask=paddle.to_tensor(added),
    )
    want = layers(x, w, added, key_heads, before, activation, rms, alpha, transposed)
    np.testing.assert_allclose(out.numpy(), want, atol=1e-8)


def causal(n, prefix=0):
    return np.where(np.arange(n + prefix) <= np.arange(n)[:, None] + prefix, 0, -1e4)[None, None]


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("bfloat16", 0.15)])
@pytest.mark.parametrize("neox", [False, True])
def test_token_by_token(rng, captured, dtype, tolerance, neox):
    """A prompt and then single tokens are what all tokens give at once, with rotations."""
    function = paddle.jit.to_static(fused_multi_transformer) if captured else fused_multi_transformer
    prompt, n = 3, 8
    w = lists(weights(rng, 1), dtype)
    x = paddle.to_tensor(rng.standard_normal((2, n, EMBED))).astype(dtype)
    angles = rng.standard_normal((2, 1, n, SIZE // 2))
    angles = np.tile(angles, 2) if neox else np.repeat(angles, 2, -1)
    rotary = paddle.to_tensor(np.stack([np.cos(angles), np.sin(angles)]).astype("float32"))
    more = {"rotary_emb_dims": 1, "use_neox_rotary_style": neox, "gqa_group_size": 1}
    mask = paddle.to_tensor(causal(n)).astype(dtype)
    want = fused_multi_transformer(x, **w, rotary_embs=rotary, attn_mask=mask, **more).astype("float64").numpy()
    caches = [paddle.zeros([2, 2, 1, n, SIZE], dtype) for _ in range(LAYERS)]
    memory = [c.data_ptr() for c in caches]
    out, same = function(
        x[:, :prompt],
        **w,
        cache_kvs=caches,
        rotary_embs=rotary[:, :, :, :prompt],
        attn_mask=mask[:, :, :prompt, :prompt],
        **more,
    )
    np.testing.assert_allclose(out.astype("float64").numpy(), want[:, :prompt], atol=tolerance)
    for t in range(prompt, n):
        step = paddle.to_tensor([t])
        out, same = function(
            x[:, t : t + 1], **w, cache_kvs=caches, rotary_embs=rotary[:, :, :, t : t + 1], time_step=step, **more
        )
        np.testing.assert_allclose(out[:, 0].astype("float64").numpy(), want[:, t], atol=tolerance)
    assert all(a is b for a, b in zip(same, caches)) and [c.data_ptr() for c in caches] == memory


def test_sequences_of_different_lengths(rng):
    """Prompts that are padded, then a step for each at its own position, with a mask for what came before."""
    w, n, lengths = weights(rng), 5, np.array([5, 2, 3])
    x = rng.standard_normal((3, n + 1, EMBED))
    given, caches = lists(w), [paddle.zeros([2, 3, HEADS, n + 1, SIZE], "float64") for _ in range(LAYERS)]
    mask = paddle.to_tensor(causal(n))
    held = paddle.to_tensor(lengths.astype("int32"))
    out, _ = fused_multi_transformer(
        paddle.to_tensor(x[:, :n]), **given, cache_kvs=caches, seq_lens=held, attn_mask=mask
    )
    added = rng.standard_normal((3, 1, 1, n + 1))
    last, _ = fused_multi_transformer(
        paddle.to_tensor(x[:, n:]),
        **given,
        cache_kvs=caches,
        seq_lens=held,
        time_step=paddle.to_tensor([n]),
        attn_mask=paddle.to_tensor(added),
    )
    for b, m in enumerate(lengths):
        own = np.concatenate([x[b : b + 1, :m], x[b : b + 1, n:]], 1)
        scores = causal(m + 1).repeat(HEADS, 1)
        scores[:, :, -1] = added[b, :, 0, : m + 1]
        want = layers(own, w, scores)
        np.testing.assert_allclose(out[b, :m].numpy(), want[0, :m], atol=1e-8)
        np.testing.assert_allclose(last[b].numpy(), want[0, m:], atol=1e-8)


def test_a_prefix(rng):
    """Keys and values in front of a prompt: the cache gets them, too."""
    w, x, prefix = weights(rng), rng.standard_normal((2, 4, EMBED)), rng.standard_normal((LAYERS, 2, 2, HEADS, 3, SIZE))
    given = lists(w)
    caches = [paddle.zeros([2, 2, HEADS, 8, SIZE], "float64") for _ in range(LAYERS)]
    pre = [paddle.to_tensor(p) for p in prefix]
    mask = paddle.to_tensor(causal(4, 3))
    alone = fused_multi_transformer(paddle.to_tensor(x), **given, pre_caches=pre, attn_mask=mask)
    out, _ = fused_multi_transformer(
        paddle.to_tensor(x[:, :3]), **given, pre_caches=pre, cache_kvs=caches, attn_mask=mask[:, :, :3, :6]
    )
    step = paddle.to_tensor([6])
    last, _ = fused_multi_transformer(paddle.to_tensor(x[:, 3:]), **given, cache_kvs=caches, time_step=step)
    np.testing.assert_array_equal(caches[0][:, :, :, :3].numpy(), prefix[0])
    np.testing.assert_allclose(np.concatenate([out.numpy(), last.numpy()], 1), alone.numpy(), atol=1e-8)


def test_layer_is_the_function_with_its_parameters(rng):
    attr = paddle.ParamAttr()
    biases = {f"{kind}_bias_attrs": attr for kind in ("ln", "qkv", "linear", "ffn_ln", "ffn1", "ffn2")}
    layer = FusedMultiTransformer(EMBED, HEADS, HIDDEN, 0.0, "swiglu", num_layers=LAYERS, **biases)
    x = paddle.to_tensor(rng.standard_normal((2, 5, EMBED)).astype("float32"))
    out = layer(x)
    parameters = {name: [p.numpy() for p in getattr(layer, name)] for name in KINDS}
    want = layers(x.numpy().astype("float64"), parameters, 0.0, activation="swiglu")
    np.testing.assert_allclose(out.numpy(), want, atol=1e-5)
    out.sum().backward()
    assert len(layer.parameters()) == LAYERS * len(KINDS)
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())
    assert FusedMultiTransformer(EMBED, HEADS, HIDDEN, num_layers=1).qkv_biases is None
    caches = [paddle.zeros([2, 2, HEADS, 6, SIZE]) for _ in range(LAYERS)]
    assert layer(x, caches=caches)[0].stop_gradient


def test_dropout(rng):
    """In training some is dropped; downscaled inference multiplies by what is kept on average."""
    w, x = lists(weights(rng)), paddle.to_tensor(rng.standard_normal((2, 5, EMBED)))
    still = fused_multi_transformer(x, **w, dropout_rate=0.5)
    np.testing.assert_array_equal(still.numpy(), fused_multi_transformer(x, **w).numpy())
    assert (fused_multi_transformer(x, **w, dropout_rate=0.5, training=True) != still).any()
    assert (fused_multi_transformer(x, **w, dropout_rate=0.5, mode="downscale_in_infer") != still).any()


@pytest.mark.parametrize(
    ("error", "text", "changes"),
    [
        (ValueError, "an activation of", {"activation": "tanh"}),
        (ValueError, "norm_type", {"norm_type": "batchnorm"}),
        (ValueError, "ring_id -1", {"ring_id": 0}),
        (ValueError, "each of 2 layers", {"ln_scales": [paddle.ones([EMBED])]}),
        (ValueError, "one token of each sequence", {"time_step": paddle.to_tensor([2])}),
        (ValueError, r"cache_kvs of shape \[2, 1, 3", {"cache_kvs": [paddle.zeros([2, 1, 2, 6, SIZE])] * LAYERS}),
        (TypeError, "cache_kvs of float64", {"cache_kvs": [paddle.zeros([2, 1, HEADS, 6, SIZE])] * LAYERS}),
        (ValueError, r"qkv_weights of sizes \[heads \+ 2", {"gqa_group_size": 1}),
        (ValueError, "no dropout in training", {"dropout_rate": 0.5, "training": True}),
        (
            ValueError,
            "cache_kvs with 3 positions",
            {"cache_kvs": [paddle.zeros([2, 1, HEADS, 2, SIZE], "float64")] * LAYERS},
        ),
        (
            ValueError,
            "one number of positions in all layers",
            {"cache_kvs": [paddle.zeros([2, 1, HEADS, n, SIZE], "float64") for n in (6, 7)]},
        ),
        (
            ValueError,
            "cache_kvs with 7 positions",
            {"pre_caches": [paddle.zeros([2, 1, HEADS, n, SIZE], "float64") for n in (1, 4)]},
        ),
        (ValueError, r"attn_mask of shape \[1, 1 or 3, 3, 3\]", {"attn_mask": paddle.zeros([1, 1, 3, 4])}),
        (ValueError, r"seq_lens of shape \[1\]", {"seq_lens": paddle.to_tensor([3, 3])}),
        (TypeError, "seq_lens of int32", {"seq_lens": paddle.ones([1])}),
        (ValueError, "seq_lens from 0 to 3", {"seq_lens": paddle.to_tensor([4])}),
        (ValueError, "seq_lens from 0 to 3", {"seq_lens": paddle.to_tensor([-1])}),
        (ValueError, "cosines and sines", {"rotary_embs": paddle.ones([2, 1, 1, 2, SIZE]), "rotary_emb_dims": 1}),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(rng, error, text, changes):
    caches = [paddle.zeros([2, 1, HEADS, 6, SIZE], "float64") for _ in range(LAYERS)]
    given = {"x": paddle.ones([1, 3, EMBED], "float64"), **lists(weights(rng)), "cache_kvs": caches} | changes
    with pytest.raises(error, match=text):
        fused_multi_transformer(**given)
    assert not any(c.any() for c in given["cache_kvs"])


@pytest.mark.parametrize("name", KINDS)
def test_weights_of_the_last_layer_are_looked_at_before_the_first_one_writes(rng, name):
    """Of another size, and of another dtype."""
    caches = [paddle.zeros([2, 1, HEADS, 6, SIZE], "float64") for _ in range(LAYERS)]
    x = paddle.ones([1, 3, EMBED], "float64")
    for error, change in ((ValueError, lambda t: t[..., 1:]), (TypeError, lambda t: t.astype("float16"))):
        given = lists(weights(rng, gate=True))
        given[name][-1] = change(given[name][-1])
        with pytest.raises(error, match=name.partition("_")[0] + r"_|ffn2_weights"):
            fused_multi_transformer(x, **given, cache_kvs=caches, activation="swiglu")
        assert not any(c.any() for c in caches)


def test_a_full_cache_is_refused(rng):
    caches = [paddle.zeros([2, 1, HEADS, 6, SIZE], "float64") for _ in range(LAYERS)]
    x, w = paddle.ones([1, 1, EMBED], "float64"), lists(weights(rng))
    for changes in ({}, {"attn_mask": paddle.zeros([1, 1, 1, 6], "float64")}):
        with pytest.raises(ValueError, match=r"at most 6 tokens|a column for each position"):
            fused_multi_transformer(x, **w, cache_kvs=caches, time_step=paddle.to_tensor([6]), **changes)
    assert not any(c.any() for c in caches)


def test_a_layer_of_the_default_dtype():
    paddle.set_default_dtype("float64")
    try:
        layer = paddle.incubate.nn.FusedMultiTransformer(4, 2, 8, num_layers=1)
    finally:
        paddle.set_default_dtype("float32")
    assert {str(p.dtype) for p in layer.qkv_weights} == {"paddle.float64"}
    assert {str(p.dtype) for p in layer.ln_scales} == {"paddle.float32"}
    assert layer(paddle.ones([1, 3, 4], "float64")).dtype == paddle.float64
