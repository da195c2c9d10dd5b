"""``fused_moe`` against a loop over tokens in float64."""

import numpy as np
import pytest

import paddle
from paddle.incubate.nn.functional import fused_moe
from paddle.nn.quant import weight_quantize

BATCH, LENGTH, WIDTH, INNER, EXPERTS = 2, 5, 16, 32, 4


def drawn(rng, dtype="float32"):
    shapes = {
        "x": (BATCH, LENGTH, WIDTH), "gate_weight": (WIDTH, EXPERTS), "ffn1_weight": (EXPERTS, WIDTH, 2 * INNER),
        "ffn2_weight": (EXPERTS, INNER, WIDTH), "ffn1_bias": (EXPERTS, 1, 2 * INNER), "ffn2_bias": (EXPERTS, 1, WIDTH),
    }  # fmt: skip
    made = {name: paddle.to_tensor((rng.standard_normal(s) * 0.5).astype("float32")) for name, s in shapes.items()}
    return {name: x if name == "gate_weight" else x.astype(dtype) for name, x in made.items()}


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def expected(given, k=2, normed=True, grouped=False):
    a = {name: x.astype("float64").numpy() for name, x in given.items()}
    x = a["x"].reshape(-1, WIDTH)
    gate = a["gate_weight"]
    scores = x @ gate if gate.ndim == 2 else gate.reshape(-1, EXPERTS)
    groups = scores.reshape(len(x), k, -1) if grouped else scores[:, None]
    probabilities = softmax(groups).reshape(len(x), -1)
    out = np.zeros_like(x)
    for token, p in enumerate(probabilities):
        each = EXPERTS // k
        best = [g * each + int(p[g * each :][:each].argmax()) for g in range(k)] if grouped else np.argsort(-p)[:k]
        for e in best:
            h = x[token] @ a["ffn1_weight"][e] + (a["ffn1_bias"][e, 0] if "ffn1_bias" in a else 0)
            h = h[:INNER] / (1 + np.exp(-h[:INNER])) * h[INNER:]
            y = h @ a["ffn2_weight"][e] + (a["ffn2_bias"][e, 0] if "ffn2_bias" in a else 0)
            out[token] += y * p[e] / (p[best].sum() if normed else 1)
    return out.reshape(BATCH, LENGTH, WIDTH)


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize(
    "words",
    [{}, {"moe_topk": 1, "norm_topk_prob": False}, {"moe_topk": EXPERTS}, {"group_moe": True, "norm_topk_prob": False}],
    ids=str,
)
def test_formula(rng, words, captured):
    call = paddle.jit.to_static(fused_moe, full_graph=True) if captured else fused_moe
    k, normed, grouped = (words.get(n, d) for n, d in (("moe_topk", 2), ("norm_topk_prob", True), ("group_moe", False)))
    for biased in (True, False):
        given = drawn(rng)
        if not biased:
            given = {name: x for name, x in given.items() if "bias" not in name}
        got = call(**given, **words).numpy()
        np.testing.assert_allclose(got, expected(given, k, normed, grouped), rtol=1e-4, atol=1e-5)


def test_scores_that_are_given(rng):
    given = drawn(rng)
    given["gate_weight"] = paddle.to_tensor(rng.standard_normal((BATCH, LENGTH, EXPERTS)).astype("float32"))
    np.testing.assert_allclose(fused_moe(**given).numpy(), expected(given), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("dtype", "tolerance"), [("bfloat16", 5e-2), ("float16", 5e-3), ("float64", 1e-6)])
def test_dtypes(rng, dtype, tolerance):
    given = drawn(rng, dtype)
    got = fused_moe(**given)
    wanted = expected(given)
    assert got.dtype.name == dtype
    np.testing.assert_allclose(got.astype("float64").numpy(), wanted, atol=tolerance * np.abs(wanted).max(), rtol=0)


def test_gradients_reach_all_and_are_those_of_programs(rng):
    given = drawn(rng, "float64")
    found = []
    for call in (fused_moe, paddle.jit.to_static(fused_moe, full_graph=True)):
        own = {name: paddle.to_tensor(x.numpy(), stop_gradient=False) for name, x in given.items()}
        (call(**own) ** 2).sum().backward()
        found.append({name: x.grad.numpy() for name, x in own.items()})
    for name, wanted in found[0].items():
        assert np.abs(wanted).max() > 0
        np.testing.assert_allclose(found[1][name], wanted, rtol=1e-5, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("method", ["weight_only_int8", "weight_only_int4"])
def test_stored_matrices(rng, method):
    given = drawn(rng)
    stored, near = dict(given), dict(given)
    for n in (1, 2):
        pairs = [weight_quantize(w, method) for w in given[f"ffn{n}_weight"]]
        stored[f"ffn{n}_weight"], stored[f"ffn{n}_scale"] = (paddle.stack(list(x)) for x in zip(*pairs))
        restored = [paddle.nn.quant.weight_dequantize(*pair, method, "float32") for pair in pairs]
        near[f"ffn{n}_weight"] = paddle.stack(restored)
    got = fused_moe(**stored, quant_method=method).numpy()
    np.testing.assert_allclose(got, expected(near), rtol=1e-3, atol=1e-4)


def test_no_tokens(rng):
    given = drawn(rng)
    given["x"] = given["x"][:, :0]
    assert fused_moe(**given).shape == [BATCH, 0, WIDTH]


def test_a_saved_model_takes_any_number_of_tokens(rng, tmp_path):
    given = drawn(rng)
    x = given.pop("x")
    layer = paddle.nn.Layer()
    layer.forward = lambda x: fused_moe(x, **given)
    spec = [paddle.static.InputSpec([None, None, WIDTH])]
    paddle.jit.save(paddle.jit.to_static(layer, input_spec=spec), str(tmp_path / "m"))
    loaded = paddle.jit.load(str(tmp_path / "m"))
    for part in (x, x[:1], x[:, :3]):
        np.testing.assert_allclose(loaded(part).numpy(), fused_moe(part, **given).numpy(), rtol=1e-4, atol=1e-5)


WRONG = {
    "rank": ({"x": [2, 16]}, r"a floating x \[batch, length, H\]"),
    "gate": ({"gate_weight": [15, 4]}, r"gate_weight of shape \[16, …\]"),
    "first": ({"ffn1_weight": [4, 15, 64]}, r"ffn1_weight of shape \[4, 16, …\]"),
    "halves": ({"ffn1_weight": [4, 16, 63], "ffn1_bias": [4, 1, 63]}, "two halves"),
    "second": ({"ffn2_weight": [4, 31, 16]}, r"ffn2_weight of shape \[4, 32, 16\]"),
    "bias": ({"ffn2_bias": [4, 16]}, r"ffn2_bias of shape \[4, 1, 16\]"),
    "scales alone": ({"ffn1_scale": [4, 64]}, "scales beside a quant_method"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refusals(rng, name):
    shapes, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        fused_moe(**{**drawn(rng), **{n: paddle.ones(s) for n, s in shapes.items()}})


def test_refusals_of_numbers_and_dtypes(rng):
    given = drawn(rng)
    for words, message in (
        ({"moe_topk": 5}, "moe_topk from 1 to 4"),
        ({"moe_topk": 0}, "moe_topk from 1 to 4"),
        ({"moe_topk": 3, "group_moe": True}, "3 groups of equal size"),
        ({"quant_method": "int8"}, "a quant_method of"),
    ):
        with pytest.raises(ValueError, match=message):
            fused_moe(**given, **words)
    with pytest.raises(TypeError, match="ffn2_weight of float32, as x"):
        fused_moe(**{**given, "ffn2_weight": given["ffn2_weight"].astype("float16")})
