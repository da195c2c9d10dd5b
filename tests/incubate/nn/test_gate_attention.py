"""Gated attention, against its formula in NumPy; gradients against those of the formula in plain tensor code."""

import numpy as np
import pytest

import paddle
from paddle.incubate.nn.functional import fused_gate_attention as gate_attention

B, ROWS, S, KEYS, N, KV, H, C, OUT = 2, 3, 4, 5, 6, 3, 2, 4, 7


def formula(query, source, wq, wk, wv, out, gate=None, added=(), lib=np):
    """``added``: arrays that broadcast to scores ``[B, ROWS, H, S, KEYS]``; ``gate``: weight and bias."""
    q, k, v = (lib.einsum("nbqa,ahc->nbqhc", x, w) for x, w in ((query, wq), (source, wk), (source, wv)))
    s = lib.einsum("nbqhc,nbkhc->nbhqk", q, k) * C**-0.5 + sum(added)
    p = lib.exp(s)
    y = lib.einsum("nbhqk,nbkhc->nbqhc", p / p.sum(-1)[..., None], v)
    if gate is not None:
        y = y / (1 + lib.exp(-(lib.einsum("nbqa,ahc->nbqhc", query, gate[0]) + gate[1])))
    return lib.einsum("nbqhc,hco->nbqo", y, out[0]) + out[1]


def operands(rng, batch, merged):
    """Arguments by name as arrays, without what is added to scores."""
    kv, keys = (N, S) if merged else (KV, KEYS)
    shapes = {
        "query": (batch, ROWS, S, N),
        "gate_linear_weight": (N, H, C),
        "gate_linear_bias": (H, C),
        "out_linear_weight": (H, C, OUT),
        "out_linear_bias": (OUT,),
    }
    if merged:
        shapes["qkv_weight"] = (3, H, C, N)
    else:
        shapes |= {"key": (batch, ROWS, keys, kv), "query_weight": (N, H, C)}
        shapes |= {"key_weight": (kv, H, C), "value_weight": (kv, H, C)}
    return {name: rng.standard_normal(shape) for name, shape in shapes.items()}


def expected(given, gated, added, lib=np):
    query = given["query"]
    if "qkv_weight" in given:
        weights, source = [given["qkv_weight"][i].transpose([2, 0, 1]) for i in range(3)], query
    else:
        weights, source = [given[f"{name}_weight"] for name in ("query", "key", "value")], given["key"]
    out, gate = ([given[f"{name}_linear_{part}"] for part in ("weight", "bias")] for name in ("out", "gate"))
    return formula(query, source, *weights, out, gate if gated else None, added, lib)


@pytest.mark.parametrize("batch", [1, B])
@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize("added", ["none", "bias", "mask", "both"])
def test_formula(rng, batch, merged, added):
    """With and without gates; gradients of every operand, of what is added to scores as well."""
    given, keys, gated = operands(rng, batch, merged), S if merged else KEYS, added != "mask"
    more = {}
    if added in ("bias", "both"):
        more["nonbatched_bias"] = rng.standard_normal((batch, 1, H, S, keys))
    if added in ("mask", "both"):
        more["attn_mask"] = rng.standard_normal((batch, ROWS, 1, 1, keys))
    tensors = {name: paddle.to_tensor(x, stop_gradient=False) for name, x in (given | more).items()}
    y = gate_attention(**tensors, has_gating=gated, merge_qkv=merged)
    want = expected(given, gated, more.values())
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-11, atol=1e-12)

    plain = expected(tensors, gated, [tensors[name] for name in more], paddle)
    used = [t for name, t in tensors.items() if gated or "gate" not in name]
    cotangent = paddle.to_tensor(rng.standard_normal(y.shape))
    for a, b in zip(paddle.grad(y, used, cotangent), paddle.grad(plain, used, cotangent), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-11)


def test_hidden_keys_captured_and_low_precision(rng):
    """-inf hides a key, also in a captured call; float16 is that of float32 up to its own rounding."""
    given = operands(rng, B, True)
    mask = np.where(np.arange(S) == 1, -np.inf, 0.0) * np.ones((B, ROWS, 1, 1, 1))
    tensors = {name: paddle.to_tensor(x) for name, x in (given | {"attn_mask": mask}).items()}
    found = paddle.jit.to_static(gate_attention)(**tensors)
    np.testing.assert_allclose(found.numpy(), expected(given, True, [mask]), rtol=1e-11, atol=1e-12)
    low = {name: t.astype("float16") for name, t in tensors.items()}
    found, wide = gate_attention(**low), gate_attention(**{name: t.astype("float32") for name, t in low.items()})
    assert found.dtype.name == "float16"
    np.testing.assert_allclose(found.astype("float32").numpy(), wide.numpy(), rtol=2e-2, atol=2e-2)


def test_biases_may_be_missing(rng):
    given = operands(rng, 1, True)
    zero = given | {name: np.zeros_like(given[name]) for name in ("gate_linear_bias", "out_linear_bias")}
    tensors = {name: paddle.to_tensor(x) for name, x in given.items() if not name.endswith("bias")}
    np.testing.assert_allclose(gate_attention(**tensors).numpy(), expected(zero, True, []), rtol=1e-11, atol=1e-12)


def test_refusals(rng):
    given = {name: paddle.to_tensor(x) for name, x in operands(rng, 1, False).items()}
    merged = {name: paddle.to_tensor(x) for name, x in operands(rng, 1, True).items()}

    def refused(error, match, base, **changes):
        with pytest.raises(error, match=match):
            gate_attention(**(base | changes), merge_qkv=base is merged)

    refused(TypeError, r"\[fused_gate_attention\] requires a floating query", merged, query=paddle.ones([1], "int64"))
    refused(ValueError, r"query of shape \[batch, rows, sequence, q_dim\], got \[1\]", merged, query=paddle.ones([1]))
    refused(ValueError, r"qkv_weight, with merge_qkv, of shape \[3, \*, \*, 6\], got None", merged, qkv_weight=None)
    refused(ValueError, r"key, without merge_qkv, of shape \[1, 3, \*, \*\], got None", given, key=None)
    refused(ValueError, r"value_weight, .* \[3, 2, 4\], got \[6, 2, 4\]", given, value_weight=given["query_weight"])
    refused(ValueError, r"gate_linear_weight of shape \[6, 2, 4\], got None", merged, gate_linear_weight=None)
    refused(ValueError, r"out_linear_weight of shape \[2, 4, \*\], got None", merged, out_linear_weight=None)
    mask = paddle.ones([1, ROWS, 1, 1, S])
    refused(TypeError, r"a floating attn_mask, which is added to scores, got bool", merged, attn_mask=mask > 0)
    refused(
        ValueError, r"nonbatched_bias of a shape that broadcasts to \[1, 1, 2, 4, 4\]", merged, nonbatched_bias=mask
    )
