"""Dropout, feed-forward and attention with their residual connections: formulas, draws of the generator, layers."""

import numpy as np
import pytest
import torch

import paddle
import paddle.nn.functional as F
from paddle.incubate import nn
from paddle.incubate.nn import functional as I

N, HEADS, INNER = 8, 2, 6
MODES = ["upscale_in_train", "downscale_in_infer"]


def weights(rng, *shapes):
    return [paddle.to_tensor(rng.standard_normal(shape), stop_gradient=False) for shape in shapes]


def norm(x, scale=None, bias=None):
    return F.layer_norm(x, N, scale, bias)


def calls():
    """A fused name and the plain code that its documentation gives, over the same operands and rates."""

    def add(rate, training, mode, x, y):
        return F.dropout(x, rate, training=training, mode=mode) + y

    def residual_norm(rate, training, mode, x, residual, bias, scale, shift):
        return norm(residual + F.dropout(x + bias, rate, training=training, mode=mode), scale, shift)

    def feedforward(before):
        def plain(rate, training, mode, x, w1, w2, b1, b2, scale, shift):
            y = F.gelu(F.linear(norm(x, scale, shift) if before else x, w1, b1))
            y = F.linear(F.dropout(y, rate, training=training, mode=mode), w2, b2)
            y = x + F.dropout(y, rate / 2, training=training, mode=mode)
            return y if before else norm(y, scale, shift)

        def fused(rate, training, mode, x, w1, w2, b1, b2, scale, shift):
            norms = (scale, shift, None, None) if before else (None, None, scale, shift)
            return I.fused_feedforward(
                x, w1, w2, b1, b2, *norms, rate, rate / 2, "gelu", pre_layer_norm=before, training=training, mode=mode
            )

        return fused, plain, [(2, 3, N), (N, INNER), (INNER, N), (INNER,), (N,), (N,), (N,)]

    x = (2, 3, N)
    yield "add", (lambda r, t, m, *v: I.fused_dropout_add(*v, r, t, m)), add, [x, x]
    yield (
        "norm",
        lambda r, t, m, *v: I.fused_bias_dropout_residual_layer_norm(*v, dropout_rate=r, training=t, mode=m),
        residual_norm,
        [x, x, (N,), (N,), (N,)],
    )
    yield "feedforward", *feedforward(False)
    yield "feedforward, norm first", *feedforward(True)


CALLS = {name: rest for name, *rest in calls()}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("training", "mode"), [(True, MODES[0]), (True, MODES[1]), (False, MODES[1])])
def test_plain_code_draws_the_same(rng, name, mode, training):
    """Eager, captured, and plain code, from one seed: values, gradients and the generator's state afterwards."""
    fused, plain, shapes = CALLS[name]
    operands = weights(rng, *shapes)

    def results(function):
        paddle.seed(7)
        y = function(0.5, training, mode, *operands)
        return [v.numpy() for v in (y, *paddle.grad((y**2).sum(), operands), paddle.rand([2]))]

    eager = results(fused)
    for found in (results(plain), results(paddle.jit.to_static(fused))):
        for a, b in zip(eager, found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    paddle.seed(7)
    assert training == (eager[-1] != paddle.rand([2]).numpy()).any()


def attention(x, qkv, qkv_bias, out, out_bias, mask=None):
    """Self-attention in PyTorch; the weight of queries, keys and values is ``[3, heads, size, N]``."""
    projected = torch.einsum("bsn,thdn->tbhsd", x, qkv) + qkv_bias[:, None, :, None]
    y = torch.nn.functional.scaled_dot_product_attention(*projected, attn_mask=mask)
    return y.transpose(1, 2).flatten(2) @ out + out_bias


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("kind", [None, "bool", "int64", "float64"])
def test_attention(rng, before, kind):
    shapes = [(2, 3, N), (3, HEADS, N // HEADS, N), (3, HEADS, N // HEADS), (N, N), (N,), (N,), (N,)]
    ours = weights(rng, *shapes)
    theirs = [torch.from_numpy(v.numpy()).requires_grad_() for v in ours]
    seen = np.tril(np.ones((3, 3)))
    mask, their_mask = None, None
    if kind is not None:
        mask = paddle.to_tensor(np.where(seen, 0.0, -1e9) if kind == "float64" else seen.astype(kind))
        their_mask = torch.from_numpy(seen.astype(bool))

    def fused(x, qkv, qkv_bias, out, out_bias, scale, shift):
        norms = (scale, shift, None, None) if before else (None, None, scale, shift)
        return I.fused_multi_head_attention(
            x, qkv, out, before, *norms, 1e-5, qkv_bias, out_bias, None, mask, training=False
        )

    def judge(x, qkv, qkv_bias, out, out_bias, scale, shift):
        def norm(v):
            return torch.nn.functional.layer_norm(v, (N,), scale, shift)

        y = x + attention(norm(x) if before else x, qkv, qkv_bias, out, out_bias, their_mask)
        return y if before else norm(y)

    y, expected = fused(*ours), judge(*theirs)
    np.testing.assert_allclose(y.numpy(), expected.detach(), rtol=1e-9, atol=1e-9)
    wanted = torch.autograd.grad((expected**2).sum(), theirs)
    for a, b in zip(paddle.grad((y**2).sum(), ours), wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("captured", [False, True])
def test_key_and_value_may_be_copies_of_the_query(rng, captured):
    layer = nn.FusedMultiHeadAttention(N, HEADS, 0.0, 0.0)
    x = rng.standard_normal((2, 3, N)).astype("float32")
    x[0, 1, 2] = np.nan
    call = paddle.jit.to_static(layer.forward) if captured else layer
    query, want, *same = (paddle.to_tensor(x, stop_gradient=False) for _ in range(4))
    for out in (call(query, *same), layer(want)):
        (out[1] ** 3).sum().backward()
    np.testing.assert_allclose(query.grad[1].numpy(), want.grad[1].numpy(), rtol=1e-4, atol=1e-6)
    assert query.grad[1].abs().max() > 1e-3 and all(v.grad is None for v in same)
    x[0, 1, 2] = 0
    with pytest.raises(ValueError, match="requires value None or equal to the query"):
        call(query, same[0], paddle.to_tensor(x))
    for other in (same[0][:1], same[0].astype("float64")):
        with pytest.raises(ValueError, match="requires key None or equal to the query"):
            layer(query, other)


def test_attention_weights_as_a_matrix(rng):
    x, qkv, bias, out = weights(rng, (1, 3, N), (3, HEADS, N // HEADS, N), (3, HEADS, N // HEADS), (N, N))
    one = I.fused_multi_head_attention(x, qkv, out, qkv_bias=bias, training=False)
    two = I.fused_multi_head_attention(
        x, qkv.reshape([-1, N]).T, out, qkv_bias=bias.flatten(), training=False, num_heads=HEADS, transpose_qkv_wb=True
    )
    np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-12)


def test_a_cache_stands_for_earlier_positions(rng):
    """Position by position with a cache as all at once with a causal mask."""
    x, qkv, out = weights(rng, (2, 4, N), (3, HEADS, N // HEADS, N), (N, N))
    mask = paddle.ones([4, 4], "bool").tril()
    expected = I.fused_multi_head_attention(x, qkv, out, attn_mask=mask, training=False)
    cache, found = paddle.zeros([2, 2, HEADS, 0, N // HEADS], "float64"), []
    for i in range(4):
        y, cache = I.fused_multi_head_attention(x[:, i : i + 1], qkv, out, cache_kv=cache, training=False)
        found.append(y)
    assert cache.shape == [2, 2, HEADS, 4, N // HEADS]
    np.testing.assert_allclose(paddle.concat(found, 1).numpy(), expected.numpy(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("training", [True, False])
def test_attention_modes_of_dropout(rng, training):
    """Weights that are not divided by 1 - p in training are those of the other mode times 1 - p; outside they are
    multiplied with it. The norm and the residual are left out of what is compared."""
    x, qkv, out = weights(rng, (1, 3, N), (3, HEADS, N // HEADS, N), (N, N))
    found = []
    for mode in MODES:
        paddle.seed(3)
        y = I.fused_multi_head_attention(
            x,
            qkv,
            out,
            True,
            dropout_rate=0.0,
            attn_dropout_rate=0.25,
            training=training,
            mode=mode,
            add_residual=False,
        )
        found.append(y.numpy())
    np.testing.assert_allclose(found[1], found[0] * 0.75, rtol=1e-12)


def test_encoder_layer_is_its_parts():
    """Of one seed; parameters have the reference's names and shapes."""
    layer = nn.FusedTransformerEncoderLayer(N, HEADS, INNER, 0.3, normalize_before=True)
    assert [(name, p.shape) for name, p in layer.named_parameters()] == [
        ("fused_attn.qkv_weight", [3, HEADS, N // HEADS, N]),
        ("fused_attn.qkv_bias", [3, HEADS, N // HEADS]),
        ("fused_attn.linear_weight", [N, N]),
        ("fused_attn.linear_bias", [N]),
        ("fused_attn.pre_ln_scale", [N]),
        ("fused_attn.pre_ln_bias", [N]),
        ("ffn._linear1_weight", [N, INNER]),
        ("ffn._linear1_bias", [INNER]),
        ("ffn._linear2_weight", [INNER, N]),
        ("ffn._linear2_bias", [N]),
        ("ffn._ln1_scale", [N]),
        ("ffn._ln1_bias", [N]),
    ]
    x, mask = paddle.rand([2, 3, N]), paddle.ones([3, 3], "bool").tril()
    paddle.seed(5)
    one = layer(x, mask)
    paddle.seed(5)
    np.testing.assert_array_equal(one.numpy(), layer.ffn(layer.fused_attn(x, x, x, mask)).numpy())
    layer.eval()
    np.testing.assert_array_equal(layer(x, mask).numpy(), layer(x, mask).numpy())
    y, cache = layer(x, cache=paddle.rand([2, 2, HEADS, 5, N // HEADS]))
    assert (y.shape, cache.shape) == ([2, 3, N], [2, 2, HEADS, 8, N // HEADS])
    assert "embed_dim=8, num_heads=2, dropout_rate=0.3" in repr(layer)


def test_dropout_layers():
    x = paddle.rand([2, 3, N])
    add, residual_norm = nn.FusedDropoutAdd(0.5), nn.FusedBiasDropoutResidualLayerNorm(N, 0.5)
    paddle.seed(1)
    one, two = add(x, x), residual_norm(x, x)
    paddle.seed(1)
    dropped = F.dropout(x, 0.5)
    np.testing.assert_array_equal(one.numpy(), (dropped + x).numpy())
    np.testing.assert_allclose(two.numpy(), norm(F.dropout(x, 0.5) + x).numpy(), rtol=1e-6, atol=1e-6)
    for layer in (add, residual_norm):
        layer.eval()
    np.testing.assert_array_equal(add(x, x).numpy(), (x + x).numpy())
    np.testing.assert_allclose(residual_norm(x, x).numpy(), norm(x + x).numpy(), rtol=1e-6, atol=1e-6)


def test_refusals():
    x, w = paddle.ones([1, 3, N]), paddle.ones([N, N])
    with pytest.raises(ValueError, match=r"\[fused_dropout_add\] requires a mode of .* got 'other'"):
        I.fused_dropout_add(x, x, mode="other")
    with pytest.raises(ValueError, match=r"\[fused_dropout_add\] requires p between 0 and 1, got 2"):
        I.fused_dropout_add(x, x, 2)
    with pytest.raises(ValueError, match=r"\[fused_bias_dropout_residual_layer_norm\] requires bias of shape \[8\]"):
        I.fused_bias_dropout_residual_layer_norm(x, x, w[0, :3])
    with pytest.raises(ValueError, match=r"\[fused_feedforward\] requires an activation of .* got 'tanh'"):
        I.fused_feedforward(x, w, w, activation="tanh")
    with pytest.raises(ValueError, match=r"\[fused_feedforward\] requires ring_id -1 and one rank: .* got ring_id 0"):
        I.fused_feedforward(x, w, w, ring_id=0)
    attend = I.fused_multi_head_attention
    with pytest.raises(ValueError, match=r"\[fused_multi_head_attention\] requires qkv_weight of shape \[3, heads"):
        attend(x, w, w)
    with pytest.raises(ValueError, match=r"requires a positive num_heads with transpose_qkv_wb, got -1"):
        attend(x, w, w, transpose_qkv_wb=True)
    with pytest.raises(ValueError, match=r"requires cache_kv of shape \[2, 1, 2, length, 4\], got \[2, 1, 4, 0, 2\]"):
        attend(x, paddle.ones([3, 2, 4, N]), w, cache_kv=paddle.ones([2, 1, 4, 0, 2]))
    with pytest.raises(ValueError, match=r"\[FusedMultiHeadAttention\] requires a positive embed_dim that num_heads"):
        nn.FusedMultiHeadAttention(8, 3)
    with pytest.raises(ValueError, match="requires key None or equal to the query: this is self-attention"):
        nn.FusedMultiHeadAttention(N, 2)(x, x + 1)
    with pytest.raises(ValueError, match="requires need_weights False"):
        nn.FusedMultiHeadAttention(N, 2, need_weights=True)
