"""Fused layers of transformers, with every argument that they take or without."""

from __future__ import annotations

from typing import Any

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.arguments import Arguments, fixed, heads_of, tokens_of
from tests.fuzz.programs.ops.dtypes import always
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op

_I = "paddle.incubate.nn.functional"
MODES = ("upscale_in_train", "downscale_in_infer")


def first(x: str, *others: str) -> str:
    return x


def both(name: str, ours: str, judge: str, propose: Any, **more: Any) -> None:
    """A name that the judge has a formula for, of the same arguments."""
    op(name, f"{_I}.{ours}({{0}}, {{more}}){{pick}}", f"L.{judge}({{0}}, {{more}})", propose, dtype=first, **more)


def wide(d: Draw) -> Arguments:
    """Features of one size."""
    x = d.pick(lambda x: bool(d.shape(x)) and not d.varying(x, -1) and d.shape(x)[-1] in (2, 3, 4, 6, 8))
    return Arguments(d, x)


def activated(d: Draw) -> Proposal:
    a = wide(d)
    n = d.shape(a.operands[0])[-1]
    method = d.choose(("gelu", "relu", "geglu", "swiglu") if n % 2 == 0 else ("gelu", "relu"))
    m = n // 2 if method.endswith("glu") else n
    a.say(act_method=method)
    a.give("bias", [n], 0.5)
    if a.give("smooth", [m], 0.3):
        a.give("shift", [m])
    return a.proposal(pick="")


both("bias_act", "fused_bias_act", "bias_act", activated)


def integers_activated(d: Draw) -> Proposal:
    x = d.pick(lambda x: d.dtypes[x] == "int32" and bool(d.shape(x)) and not d.varying(x, -1), floating=False)
    a = Arguments(d, x)
    n = d.shape(x)[-1]
    a.dtype = "float32"
    a.give("dequant_scales", [n])
    a.give("bias", [n], 0.5)
    a.say(act_method=d.choose(("gelu", "relu")), compute_dtype="fp32")
    return a.proposal(pick="")


op(
    "bias_act_of_integers",
    f"{_I}.fused_bias_act({{0}}, {{more}})",
    "L.bias_act({0}, {more})",
    integers_activated,
    dtype=always("float32"),
    weight=0.2,
)


def normed(centred: bool) -> Any:
    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: len(d.shape(x)) > 1 and not any(d.varying(x, i) for i in range(1, len(d.shape(x)))))
        a = Arguments(d, x)
        shape = d.shape(x)
        begin = d.integer(1, len(shape) - 1)
        n = 1
        for size in shape[begin:]:
            n *= size
        if n < 2:
            raise Refused
        sizes = list(shape[begin:]) if d.chance(0.5) else [n]
        if centred:
            a.give("norm_weight", sizes, 0.7) or a.say(norm_weight=None)
            a.give("norm_bias", sizes, 0.5) or a.say(norm_bias=None)
        else:
            a.give("norm_weight", sizes)
            a.give("norm_bias", sizes, 0.5) or a.say(norm_bias=None)
        a.give("bias", sizes, 0.4)
        summed = d.chance(0.5)
        if summed:
            a.texts.append(f"residual={a.put(d.like(x))}")
            if centred:
                a.say(residual_alpha=0.5)
        a.say(epsilon=0.1, begin_norm_axis=d.choose((begin, begin - len(shape))))
        pick = "(lambda r: r[0] + r[1])" if summed else "(lambda r: r[0])"
        return a.proposal(pick=pick)

    return propose


for _name, _ours, _centred in (("rms_norm_all", "fused_rms_norm", False), ("layer_norm_all", "fused_layer_norm", True)):
    op(
        _name,
        # A sum comes back beside the result where there is a residual; without one it is empty.
        f"{{pick}}({_I}.{_ours}({{0}}, {{more}}))",
        f"L.norm({{0}}, {{more}}centred={_centred})",
        normed(_centred),
        dtype=first,
    )


def scaled(d: Draw) -> Proposal:
    a = wide(d)
    n = d.shape(a.operands[0])[-1]
    a.give("scale", [n])
    return a.proposal(n=n, b=a.input([n]))


op(
    "fast_rms_norm",
    f"(lambda y, r: y * r.reshape([*y.shape[:-1], 1]).astype(y.dtype))(*{_I}.fast_rms_norm({{0}}, {{more}}"
    "epsilon=0.1))",
    "(lambda x, scale: x / ((x * x).mean(-1, keepdim=True) + 0.1) * scale)({0}, {more})",
    scaled,
    dtype=first,
    weight=0.4,
)
op(
    "fast_layer_norm",
    f"(lambda y, m, r: y + (m * r).reshape([*y.shape[:-1], 1]).astype(y.dtype))(*{_I}.fast_ln({{0}}, {{more}}"
    "bias={b}, epsilon=0.1))",
    "(lambda x, scale: (lambda m, r: (x - m) * r * scale + {b} + m * r)(x.mean(-1, keepdim=True), "
    "1 / torch.sqrt(x.var(-1, keepdim=True, correction=0) + 0.1)))({0}, {more})",
    scaled,
    dtype=first,
    weight=0.4,
)


def residual(d: Draw) -> Proposal:
    a = wide(d)
    n = d.shape(a.operands[0])[-1]
    a.texts.append(f"residual={a.put(d.like(a.operands[0]))}")
    for name in ("bias", "ln_scale", "ln_bias"):
        a.give(name, [n], 0.5)
    a.say(dropout_rate=0.25, ln_epsilon=0.1, mode=d.choose(MODES), training=False)
    return a.proposal(pick="")


both("residual_norm", "fused_bias_dropout_residual_layer_norm", "residual_norm", residual)


def feedforward(d: Draw) -> Proposal:
    a = Arguments(d, tokens_of(d, 2, 4, 8))
    n, m = d.shape(a.operands[0])[2], d.integer(1, 5)
    a.give("linear1_weight", [n, m])
    a.give("linear2_weight", [m, n])
    a.give("linear1_bias", [m], 0.5)
    for name in ("linear2_bias", "ln1_scale", "ln1_bias", "ln2_scale", "ln2_bias"):
        a.give(name, [n], 0.5)
    a.say(pre_layer_norm=d.chance(0.5), activation=d.choose(("relu", "gelu")), add_residual=d.chance(0.7))
    a.say(ln1_epsilon=0.1, ln2_epsilon=0.2, dropout1_rate=0.25, dropout2_rate=0.5, mode=d.choose(MODES), training=False)
    return a.proposal(pick="")


both("feedforward", "fused_feedforward", "feedforward", feedforward)


def attention(d: Draw) -> Proposal:
    x = tokens_of(d, 4, 8)
    a = Arguments(d, x)
    (_, _, n), heads, size = d.shape(x), d.choose((1, 2)), d.choose((1, 2, 4))
    batch, rows = d.size(x, 0), d.size(x, 1)
    matrix = d.chance(0.4)
    a.give("qkv_weight", [n, 3 * heads * size] if matrix else [3, heads, size, n])
    a.give("linear_weight", [heads * size, n])
    a.give("qkv_bias", [3 * heads * size] if matrix else [3, heads, size], 0.5)
    for name in ("linear_bias", "pre_ln_scale", "pre_ln_bias", "ln_scale", "ln_bias"):
        a.give(name, [n], 0.5)
    cached = isinstance(rows, int) and d.chance(0.3)
    past = d.integer(0, 3)
    if cached:
        a.give("cache_kv", [2, batch, heads, past, size])
    keys = rows + past if cached and isinstance(rows, int) else rows
    if d.chance(0.5):
        shape = [d.choose((1, batch)), d.choose((1, heads)), rows, keys]
        kind = d.choose(("bool", "int64", "float"))
        fill = {"bool": "bool", "int64": "index:2", "float": "normal"}[kind]
        a.give("attn_mask", shape, dtype=None if kind == "float" else kind, fill=fill)
    a.say(pre_layer_norm=d.chance(0.5), add_residual=d.chance(0.7), dropout_rate=0.25, attn_dropout_rate=0.5)
    a.say(mode=d.choose(MODES), ln_epsilon=0.1, pre_ln_epsilon=0.2, training=False)
    if matrix:
        a.say(num_heads=heads, transpose_qkv_wb=True)
    return a.proposal(pick="[0]" if cached else "")


op(
    "multi_head_attention",
    f"{_I}.fused_multi_head_attention({{0}}, {{more}}){{pick}}",
    "L.multi_head({0}, {more}){pick}",
    attention,
    dtype=first,
    weight=1.2,
)


def gated(d: Draw) -> Proposal:
    found = [x for x in d.names() if len(d.shape(x)) == 4 and fixed(d, x, 1, 3) and d.shape(x)[3] in (2, 3, 4)]
    x = d.choose(found) if found and d.chance(0.7) else d.input([1, d.choose((1, 2)), d.choose((3, "n")), 3])
    a = Arguments(d, x)
    batch, rows, (_, table, _, n) = d.size(x, 0), d.size(x, 2), d.shape(x)
    heads, size, merged = d.choose((1, 2)), d.choose((1, 2, 4)), d.chance(0.5)
    keys = rows if merged or d.chance(0.5) else 4
    if merged:
        a.give("qkv_weight", [3, heads, size, n])
    else:
        a.give("key", [batch, table, keys, 3])
        a.give("query_weight", [n, heads, size])
        a.give("key_weight", [3, heads, size])
        a.give("value_weight", [3, heads, size])
    gating = d.chance(0.6)
    if gating:
        a.give("gate_linear_weight", [n, heads, size])
        a.give("gate_linear_bias", [heads, size], 0.7)
    a.give("out_linear_weight", [heads, size, d.choose((2, n))])
    a.give("out_linear_bias", [d.shape(a.operands[-1])[-1]], 0.6)
    a.give("nonbatched_bias", [batch, 1, heads, rows, keys], 0.4)
    a.give("attn_mask", [batch, table, 1, 1, keys], 0.4)
    a.say(has_gating=gating, merge_qkv=merged)
    return a.proposal(pick="")


both("gate_attention", "fused_gate_attention", "gate_attention", gated)


def rotated(d: Draw) -> Proposal:
    x = heads_of(d)
    size = d.shape(x)[3]
    if size % 2 or 0 in d.shape(x):
        raise Refused
    a = Arguments(d, x)
    major = d.chance(0.3)
    rows, batch = d.size(x, 0 if major else 1), d.size(x, 1 if major else 0)
    placed = isinstance(rows, int) and isinstance(batch, int) and d.chance(0.4)
    if d.chance(0.7):
        shape: list[int | str] = [7 if placed else rows, size]
        shape = [1, shape[0], 1, size] if d.chance(0.5) else shape
        a.give("sin", shape)
        a.give("cos", shape)
    if placed:
        a.give("position_ids", [batch, rows], dtype="int64", fill="index:7")
    a.say(use_neox_rotary_style=d.chance(0.5), time_major=major, rotary_emb_base=d.choose((10.0, 10000.0)))
    return a.proposal(which=d.choose(("{0}, None, None", "{0}, {0}, None", "{0}, {0} * 2, {0}")))


op(
    "rotary_all",
    f"(lambda r: sum(y for y in r if y is not None))({_I}.fused_rotary_position_embedding({{which}}, {{more}}))",
    "(lambda *q: sum(L.rotary(x, {more}) for x in q if x is not None))({which})",
    rotated,
    dtype=first,
)


def partly_rotated(d: Draw) -> Proposal:
    x = heads_of(d)
    a = Arguments(d, x)
    rows, size = d.size(x, 1), d.shape(x)[3]
    if size < 2 or 0 in d.shape(x):
        raise Refused
    part = d.choose([n for n in (2, 4) if n <= size])
    a.give("cos", [1, rows, 1, part])
    a.give("sin", [1, rows, 1, part])
    return a.proposal(pick="")


both("partial_rope", "fused_partial_rope", "partial_rope", partly_rotated, weight=0.6)


def product(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) == 2 and fixed(d, x, 0, 1) and 0 not in d.shape(x))
    a = Arguments(d, x)
    transposed, y_transposed = d.chance(0.4), d.chance(0.4)
    n, m = d.shape(x)[0 if transposed else 1], d.integer(1, 4)
    y = a.input([m, n] if y_transposed else [n, m])
    b = a.input([m]) if d.chance(0.6) else "None"
    of = f"({{0}}{'.mT' if transposed else ''} @ {y}{'.mT' if y_transposed else ''})"
    of += "" if b == "None" else f" + {b}"
    call = d.choose(("fused_matmul_bias", "fused_linear_activation", "fused_linear"))
    activation = "none"
    if call == "fused_linear_activation" and b != "None":
        activation = d.choose(("relu", "gelu", "none"))
        text = f"fused_linear_activation({{0}}, {y}, {b}, {transposed}, {y_transposed}, '{activation}')"
    elif call == "fused_linear" and not transposed:
        text = f"fused_linear({{0}}, {y}, {b}, {y_transposed})"
    else:
        text = f"fused_matmul_bias({{0}}, {y}, {b}, {transposed}, {y_transposed})"
    judge = {"none": of, "relu": f"torch.relu({of})", "gelu": f"F.gelu({of}, approximate='tanh')"}[activation]
    return a.proposal(text=text, judge=judge)


op("fused_products", f"{_I}.{{text}}", "{judge}", product, dtype=first)


def two(d: Draw) -> Proposal:
    x = d.pick()
    return Proposal((x, d.like(x)), {"mode": repr(d.choose(MODES))})


op("swiglu_two", _I + ".swiglu({0}, {1})", "F.silu({0}) * {1}", two, weight=0.6)
op(
    "dropout_add",
    _I + ".fused_dropout_add({0}, {1}, 0.25, False, {mode})",
    "L._kept({0}, 0.25, {mode}) + {1}",
    two,
    weight=0.5,
)


def layers(d: Draw) -> Proposal:
    """One layer or two; all tokens at once, or a prompt and the others one by one over caches."""
    cached = d.chance(0.4)
    x = tokens_of(d, 4)
    if 0 in d.shape(x) or (cached and d.varying(x, 1)):
        raise Refused
    a = Arguments(d, x)
    batch, rows, width = d.size(x, 0), d.size(x, 1), 4
    heads, size, hidden = d.choose((1, 2)), d.choose((2, 4)), d.choose((2, 3))
    count = d.integer(1, 2)
    key_heads = d.choose((-1, 1))
    transposed = d.chance(0.6)
    activation = d.choose(("relu", "gelu", "swiglu", "geglu"))
    norm = d.choose(("layernorm", "rmsnorm"))
    qkv = [3, heads, size] if key_heads < 0 else [heads + 2 * key_heads, size]
    between = 2 * hidden if activation.endswith("glu") else hidden
    a.give_each("ln_scales", [[width]] * count)
    a.give_each("ln_biases", [[width]] * count, 0.5)
    a.give_each("qkv_weights", [[*qkv, width] if transposed else [width, *qkv]] * count)
    a.give_each("qkv_biases", [qkv] * count, 0.5)
    a.give_each("linear_weights", [[heads * size, width]] * count)
    a.give_each("linear_biases", [[width]] * count, 0.5)
    a.give_each("ffn_ln_scales", [[width]] * count)
    a.give_each("ffn_ln_biases", [[width]] * count, 0.5)
    a.give_each("ffn1_weights", [[width, between]] * count)
    a.give_each("ffn1_biases", [[between]] * count, 0.5)
    a.give_each("ffn2_weights", [[hidden, width]] * count)
    a.give_each("ffn2_biases", [[width]] * count, 0.5)
    a.say(pre_layer_norm=d.chance(0.5), epsilon=0.2, residual_alpha=d.choose((1.0, 0.5)), trans_qkvw=transposed)
    a.say(activation=activation, norm_type=norm, gqa_group_size=key_heads)
    tokens = d.shape(x)[1]
    prompt = d.integer(1, tokens) if cached else 0
    if d.chance(0.5):
        neox = d.chance(0.5)
        a.give("rotary_embs", [2, batch, 1, rows, size], dtype="float32", grad=False)
        a.say(rotary_emb_dims=1, use_neox_rotary_style=neox)
    mask, judged = "", ""
    if cached:
        causal = "{lib}.triu({lib}.full(({rows}, {rows}), -1e4, dtype={dtype}), 1)[None, None]"
        mask = "attn_mask=" + causal.format(lib="paddle", rows=tokens, dtype="{0}.dtype")
        judged = "causal=True"
    else:
        a.give("attn_mask", [batch, d.choose((1, heads)), rows, rows], 0.5, grad=False)
    return a.proposal(prompt=prompt, tokens=tokens, heads=heads, mask=mask, judged=judged,
                      end=".detach()" if cached else "")  # fmt: skip


op(
    "transformer_layers",
    "models.transformer({0}, {prompt}, {tokens}, {heads}, {more}{mask})",
    "L.multi_transformer({0}, heads={heads}, {more}{judged}){end}",
    layers,
    dtype=first,
    weight=1.5,
)
