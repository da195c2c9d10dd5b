"""Kernels of attention by name: results beside those of the public functions, gradients beside autograd's."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import _C_ops as C
from paddle.autograd import PyLayer
from tests.backends.test_attention import close
from umiak import masks


def draw(rng, *shape, dtype="float32"):
    return paddle.to_tensor(rng.standard_normal(shape), dtype=dtype, stop_gradient=False)


def operands(queries, keys, heads=4, key_heads=2, dtype="float32"):
    rng = np.random.default_rng(queries + keys)
    return [draw(rng, 2, n, h, 16, dtype=dtype) for n, h in ((queries, heads), (keys, key_heads), (keys, key_heads))]


def agree(got, want, dtype="float32"):
    for x, y in zip(got, want, strict=True):
        assert x.dtype == y.dtype
        close(x.astype("float64").numpy(), y.astype("float64").numpy(), dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("queries", "keys"), [(40, 40), (40, 70), (150, 40)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_flash_attn(queries, keys, causal, masked, dtype):
    q, k, v = operands(queries, keys, dtype=dtype)
    mask = draw(np.random.default_rng(0), 2, 1, queries, keys, dtype=dtype).detach() if masked else None
    out, weights, lse, place = C.flash_attn(q, k, v, None, mask, 0.0, causal, False, False, "")
    want = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)
    g = draw(np.random.default_rng(1), *out.shape, dtype=dtype).detach()
    got = C.flash_attn_grad(q, k, v, out, lse, place, mask, g, 0.0, causal)
    agree([out, *got], [want, *paddle.grad([want], [q, k, v], [g])], dtype)
    assert weights is None and place.tolist() == [0, 0] and all(x.stop_gradient for x in got)
    assert lse.shape == [2, 4, -(-queries // 128) * 128] and np.isposinf(lse.numpy()[:, :, queries:]).all()


@pytest.mark.parametrize("causal", [False, True])
def test_weights_are_those_of_the_result(causal):
    q, k, v = operands(20, 30)
    paddle.seed(3)
    out, weights, _, place = C.flash_attn(q, k, v, None, None, 0.4, causal, True, False, "")
    values = v.repeat_interleave(2, 2).transpose([0, 2, 1, 3])
    agree([out], [(weights @ values).transpose([0, 2, 1, 3])])
    same = C.flash_attn(q, k, v, place, None, 0.4, causal, False, False, "")
    agree([out, place], [same[0], same[3]])
    agree(
        [C.flash_attn(q, k, v, None, None, 0.4, causal, False, True, "")[0]],
        [F.flash_attention.flash_attention(q, k, v, causal=causal)[0]],
    )


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("mask", [masks.causal_document([30, 40]), masks.prefix_document([30, 40], [5, 9])], ids=str)
def test_flashmask(mask, dropout):
    q, k, v = operands(70, 70)
    rows = paddle.to_tensor(np.repeat(mask.indices, 2, 0))
    out, weights, lse, place = C.flashmask_attention(q, k, v, rows, None, dropout, mask.causal, False, False, "")
    want = F.flashmask_attention(q, k, v, rows, causal=mask.causal, dropout=dropout, fixed_seed_offset=place)
    g = draw(np.random.default_rng(1), *out.shape).detach()
    got = C.flashmask_attention_grad(q, k, v, rows, out, lse, place, g, dropout, mask.causal)
    agree([out, *got], [want, *paddle.grad([want], [q, k, v], [g])])
    assert weights is None


def test_flashmask_by_blocks():
    q, k, v = operands(200, 200)
    rows = paddle.to_tensor(np.repeat(masks.full(200).indices, 2, 0))
    blocks = paddle.to_tensor(np.tile(np.tri(2, dtype=np.int32), (2, 1, 1, 1)))
    out, lse = C.flashmask_attention_v2(q, k, v, rows, blocks, 0.3, False)
    want = F.flashmask_attention(q, k, v, rows, softmax_scale=0.3, block_mask=blocks)
    g = draw(np.random.default_rng(1), *out.shape).detach()
    got = C.flashmask_attention_v2_grad(q, k, v, out, lse, rows, blocks, g, 0.3, False)
    agree([out, *got], [want, *paddle.grad([want], [q, k, v], [g])])
    with paddle.no_grad():
        ones = C.calc_reduced_attn_scores(q.detach(), k.detach(), C.flash_attn(q, k, v)[2])
    assert ones.shape == [2, 4, 1, 200]
    close(ones.sum(3).numpy(), np.full([2, 4, 1], 200.0))


class InParts(PyLayer):
    """Attention over keys that come part by part, as from one device after another."""

    @staticmethod
    def forward(ctx, q, k, v, parts):
        out, lse = None, None
        for key, value in zip(k.split(parts, 1), v.split(parts, 1), strict=True):
            one, _, sums, _ = C.flash_attn(q, key, value, None, None, 0.0, False, False, False, "")
            sums = sums[:, :, : q.shape[1]].transpose([0, 2, 1]).unsqueeze(-1)
            if out is None:
                out, lse = one, sums
                continue
            out = out - (out - one) * F.sigmoid(sums - lse)
            lse = lse - F.log_sigmoid(lse - sums)
        ctx.parts = parts
        ctx.save_for_backward(q, k, v, out, lse.squeeze(-1).transpose([0, 2, 1]))
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, out, lse = ctx.saved_tensor()
        parts = [
            C.flash_attn_grad(q, key, value, out, lse, None, None, grad, 0.0, False)
            for key, value in zip(k.split(ctx.parts, 1), v.split(ctx.parts, 1), strict=True)
        ]
        of_query, of_key, of_value = zip(*parts, strict=True)
        return sum(of_query[1:], of_query[0]), paddle.concat(of_key, 1), paddle.concat(of_value, 1)


@pytest.mark.parametrize("captured", [False, True])
def test_parts_of_keys_add_up(captured):
    q, k, v = operands(90, 120)
    attend = paddle.jit.to_static(InParts.apply) if captured else InParts.apply
    out, want = attend(q, k, v, 3), F.scaled_dot_product_attention(q, k, v)
    got = paddle.grad([out.square().sum()], [q, k, v])
    agree([out, *got], [want, *paddle.grad([want.square().sum()], [q, k, v])])


def test_refusals():
    q, k, v = operands(20, 20)
    out, _, lse, _ = C.flash_attn(q, k, v)
    with pytest.raises(ValueError, match=r"\[flash_attn\] requires q \[batch, sequence, heads, dim\], got shape"):
        C.flash_attn(q[0], k, v)
    with pytest.raises(ValueError, match=r"softmax_lse \[2, 4\] by 20 rows or more, got \[2, 4, 19\]"):
        C.flash_attn_grad(q, k, v, out, lse[:, :, :19], None, None, out, 0.0, False)
    with pytest.raises(ValueError, match="the seed_offset of a call with dropout, got None"):
        C.flash_attn_grad(q, k, v, out, lse, None, None, out, 0.5, False)
    with pytest.raises(ValueError, match="return_softmax of False"):
        rows = paddle.to_tensor(masks.causal(20).indices)
        C.flashmask_attention(q, k, v, rows, None, 0.0, True, True, False, "")
