"""Sixty-odd further ops, on a million elements where it is not said otherwise."""

from __future__ import annotations

from typing import Any

from cases import Case, bools, ints, normal, positive, shuffled
from rows import add_section

OPS = add_section("ops", "Further ops", mean=1.3)
LOWEST = 0.8
STRIDED = "x = x[:, ::2]"


def case(name: str, ours: str, theirs: str = "", inputs: Any = None, **more: Any) -> None:
    Case(f"op-{name}", ours, inputs or (lambda: {"x": normal(1024, 1024)}), theirs, LOWEST, **more).add(OPS)


def cube() -> dict[str, Any]:
    return {"x": normal(64, 128, 128)}


# --- reductions over every axis pattern ------------------------------------------------------------------------------

for axes in ("0", "1", "2", "(0, 1)", "(0, 2)", "(1, 2)"):
    label = "".join(c for c in axes if c.isdigit())
    case(f"sum-{label}", f"x.sum({axes})", inputs=cube, tolerance=1e-4)
case("max-1", "paddle.max(x, axis=1)", "torch.amax(x, dim=1)", cube)
case("min-all", "paddle.min(x)", "torch.min(x)")
case("prod", "paddle.prod(x, axis=-1)", "torch.prod(x, -1)", lambda: {"x": positive(8192, 128)}, tolerance=1e-4)
case("mean-0", "x.mean(0)", tolerance=1e-5)
case("var", "paddle.var(x, axis=-1)", "torch.var(x, -1)", tolerance=1e-4)
case("std-0", "paddle.std(x, axis=0)", "torch.std(x, 0)", tolerance=1e-4)
case("norm", "paddle.linalg.norm(x, axis=-1)", "torch.linalg.norm(x, dim=-1)", tolerance=1e-4)
case("logsumexp", "paddle.logsumexp(x, axis=-1)", "torch.logsumexp(x, -1)")
case("argmax", "paddle.argmax(x, axis=-1)", "torch.argmax(x, -1)")
case("argmin-0", "paddle.argmin(x, axis=0)", "torch.argmin(x, 0)")
case("any", "paddle.any(x, axis=-1)", "torch.any(x, -1)", lambda: {"x": bools(1024, 1024, share=1e-4)})

# --- scans -----------------------------------------------------------------------------------------------------------

case("cumsum", "paddle.cumsum(x, axis=-1)", "torch.cumsum(x, -1)", tolerance=1e-4)
case("cumsum-0", "paddle.cumsum(x, axis=0)", "torch.cumsum(x, 0)", tolerance=1e-4)
case("cumprod", "paddle.cumprod(x, dim=-1)", "torch.cumprod(x, -1)", lambda: {"x": positive(8192, 128)}, tolerance=1e-4)
case("cummax", "paddle.cummax(x, axis=-1)[0]", "torch.cummax(x, -1)[0]")
case("logcumsumexp", "paddle.logcumsumexp(x, axis=-1)", "torch.logcumsumexp(x, -1)")

# --- gather and scatter ----------------------------------------------------------------------------------------------


def rows() -> dict[str, Any]:
    return {"x": normal(4096, 256), "i": ints(4096, 4096), "v": normal(4096, 256, seed=1)}


def points() -> dict[str, Any]:
    return {"x": normal(1024, 1024), "i": ints(1024, 1024, 256), "v": normal(1024, 256, seed=1)}


case("index-select", "paddle.index_select(x, i, 0)", "torch.index_select(x, 0, i)", rows)
case("index-select-1", "paddle.index_select(x, i, 1)", "torch.index_select(x, 1, i)",
     lambda: {"x": normal(1024, 1024), "i": ints(1024, 1024)})  # fmt: skip
case("index", "x[i]", inputs=rows)
case("take-along-axis", "paddle.take_along_axis(x, i, 1)", "torch.take_along_dim(x, i, 1)", points)
case("put-along-axis", "paddle.put_along_axis(x, i, v, 1, 'add')", "x.scatter_add(1, i, v)", points)
case("index-add", "paddle.index_add(x, i, 0, v)", "torch.index_add(x, 0, i, v)", rows)
case("masked-fill", "paddle.masked_fill(x, m, 0.5)", "torch.masked_fill(x, m, 0.5)",
     lambda: {"x": normal(1024, 1024), "m": bools(1024, 1024)})  # fmt: skip
case("where", "paddle.where(m, x, y)", "torch.where(m, x, y)",
     lambda: {"x": normal(1024, 1024), "y": normal(1024, 1024, seed=1), "m": bools(1024, 1024)})  # fmt: skip
case("masked-select", "paddle.masked_select(x, m)", "torch.masked_select(x, m)",
     lambda: {"x": normal(1024, 1024), "m": bools(1024, 1024)})  # fmt: skip
case("one-hot", "F.one_hot(i, 256)", "F.one_hot(i, 256)", lambda: {"i": ints(256, 4096)})

# --- writes in place -------------------------------------------------------------------------------------------------


def cache() -> dict[str, Any]:
    """Pages of keys, and what is new for three of them."""
    new = {"b": ints(1000, 3), "o": ints(16, 3), "v": normal(3, 8, 64), "w": normal(3, 8, 16, 64)}
    return {"x": normal(1000, 8, 16, 64), **new}


case("write-pages", "(x.__setitem__(b, w), x)[1]", inputs=cache, what="`x[b] = w`, 3 of 1,000 pages of 32 kB")
case("write-places", "(x.__setitem__((b, slice(None), o), v), x)[1]", inputs=cache,
     what="`x[b, :, o] = v`, a place in 3 of 1,000 pages of 32 kB")  # fmt: skip
case(
    "scatter_", "x.scatter_(b, w)", "x.index_copy_(0, b, w)", cache, what="`x.scatter_(b, w)`, 3 of 1,000 rows of 32 kB"
)
for name, theirs in (("add_", "add_"), ("multiply_", "mul_")):
    case(name, f"x.{name}(y)", f"x.{theirs}(y)",
         lambda: {"x": normal(1024, 1024), "y": normal(1024, 1024, seed=1) * 0 + 1})  # fmt: skip
case("scale_", "x.scale_(1.0)", "x.mul_(1.0)")
case("clip_", "x.clip_(-1.0, 1.0)", "x.clamp_(-1.0, 1.0)")
case("exp_", "F.relu_(x).exp_().clip_(0.0, 1.0)", "F.relu_(x).exp_().clamp_(0.0, 1.0)")
case("masked-fill_", "x.masked_fill_(m, 0.5)", inputs=lambda: {"x": normal(1024, 1024), "m": bools(1024, 1024)})

# --- sort and top-k --------------------------------------------------------------------------------------------------

case("sort", "paddle.sort(x, axis=-1)", "torch.sort(x, -1)[0]")
case("argsort", "paddle.argsort(x, axis=-1)", "torch.argsort(x, -1)", lambda: {"x": shuffled(1024, 1024)})
case("sort-ints", "paddle.sort(x)", "torch.sort(x)[0]", lambda: {"x": ints(1 << 40, 1 << 18)})
case("topk", "paddle.topk(x, 32)", "torch.topk(x, 32)")
case("searchsorted", "paddle.searchsorted(x, v)", "torch.searchsorted(x, v)",
     lambda: {"x": positive(4096).cumsum(), "v": positive(1 << 16) * 4000})  # fmt: skip

# --- pad, concat, slice ----------------------------------------------------------------------------------------------


def pair() -> dict[str, Any]:
    return {"x": normal(1024, 512), "y": normal(1024, 512, seed=1)}


case("pad", "F.pad(x, [1, 2, 3, 4])", "F.pad(x, [1, 2, 3, 4])", lambda: {"x": normal(4, 16, 128, 128)})
case("pad-reflect", "F.pad(x, [1, 2, 3, 4], mode='reflect')", inputs=lambda: {"x": normal(4, 16, 128, 128)})
case("concat-0", "paddle.concat([x, y], 0)", "torch.cat([x, y], 0)", pair)
case("concat-1", "paddle.concat([x, y], 1)", "torch.cat([x, y], 1)", pair)
case("stack", "paddle.stack([x, y], -1)", "torch.stack([x, y], -1)", pair)
case("slice", "x[3:, ::2].contiguous()")
case("flip", "paddle.flip(x, [1])", "torch.flip(x, [1])")
case("roll", "paddle.roll(x, 7, 1)", "torch.roll(x, 7, 1)")
case("tile", "paddle.tile(x, [2, 3])", "torch.tile(x, [2, 3])", lambda: {"x": normal(512, 512)})
case("repeat", "paddle.repeat_interleave(x, 3, 0)", "torch.repeat_interleave(x, 3, 0)", lambda: {"x": normal(512, 512)})
case("tril", "paddle.tril(x)", "torch.tril(x)")

# --- strided inputs --------------------------------------------------------------------------------------------------

case("add-transposed", "x.t() + y", inputs=lambda: {"x": normal(1024, 1024), "y": normal(1024, 1024, seed=1)})
case("exp-strided", "paddle.exp(x)", "torch.exp(x)", lambda: {"x": normal(1024, 2048)}, setup=STRIDED,
     what="`paddle.exp(x[:, ::2])`")  # fmt: skip
case("permute", "x.transpose([2, 0, 1]).contiguous()", "x.permute(2, 0, 1).contiguous()", cube)
case("sum-transposed", "x.t().sum(-1)", tolerance=1e-4)
case("softmax-1", "F.softmax(x, 1)", inputs=cube)

# --- casts -----------------------------------------------------------------------------------------------------------

for source, target in (
    ("float32", "bfloat16"), ("bfloat16", "float32"), ("float32", "float16"), ("float32", "int32"),
    ("int64", "float32"), ("float32", "float64"), ("bool", "float32"),
):  # fmt: skip

    def inputs(source: str = source) -> dict[str, Any]:
        if source == "bool":
            return {"x": bools(1024, 1024)}
        return {"x": ints(1000, 1024, 1024)} if source == "int64" else {"x": normal(1024, 1024) * 100}

    case(f"cast-{source}-{target}", f"x.astype('{target}')", f"x.to(torch.{target})", inputs,
         dtype="bfloat16" if source == "bfloat16" else "", what=f"`x.astype('{target}')` of {source}")  # fmt: skip

# --- f64, bf16, complex ----------------------------------------------------------------------------------------------

for dtype in ("float64", "bfloat16"):
    for name, ours, theirs in (
        ("add", "x + x", ""),
        ("exp", "paddle.exp(x)", "torch.exp(x)"),
        ("softmax", "F.softmax(x, -1)", ""),
        ("sum", "x.sum(-1)", ""),
    ):
        case(f"{name}-{dtype}", ours, theirs, dtype=dtype, what=f"`{ours}` of {dtype}")
case("layer-norm-bfloat16", "F.layer_norm(x, [1024])", "F.layer_norm(x, [1024])", dtype="bfloat16",
     what="`F.layer_norm` of bfloat16")  # fmt: skip


def complexes() -> dict[str, Any]:
    return {"x": normal(512, 1024, dtype="complex64"), "y": normal(512, 1024, dtype="complex64", seed=5)}


case("mul-complex", "x * y", inputs=complexes, what="`x * y` of complex64")
case("abs-complex", "paddle.abs(x)", "torch.abs(x)", complexes, what="`paddle.abs(x)` of complex64")
case("exp-complex", "paddle.exp(x)", "torch.exp(x)", complexes, what="`paddle.exp(x)` of complex64")
case("sum-complex", "x.sum(0)", inputs=complexes, tolerance=1e-4, what="`x.sum(0)` of complex64")

# --- what models use besides -----------------------------------------------------------------------------------------


def images() -> dict[str, Any]:
    return {"x": normal(8, 32, 64, 64)}


case("log", "paddle.log(x)", "torch.log(x)", lambda: {"x": positive(1024, 1024)})
case("sin", "paddle.sin(x)", "torch.sin(x)")
case("tanh", "paddle.tanh(x)", "torch.tanh(x)")
case("silu", "F.silu(x)")
case("pow", "paddle.pow(x, 2.5)", "torch.pow(x, 2.5)", lambda: {"x": positive(1024, 1024)})
case("clip", "paddle.clip(x, -0.5, 0.5)", "torch.clamp(x, -0.5, 0.5)")
case("floor-divide", "x // 7", inputs=lambda: {"x": ints(1 << 30, 1024, 1024, dtype="int32")},
     what="`x // 7` of int32")  # fmt: skip
case("less", "x < y", inputs=pair)
case("log-softmax", "F.log_softmax(x, -1)")
case("cross-entropy", "F.cross_entropy(x, i)", inputs=lambda: {"x": normal(1024, 1024), "i": ints(1024, 1024)})
case("max-pool", "F.max_pool2d(x, 3, 2, 1)", inputs=images)
case("avg-pool", "F.avg_pool2d(x, 2)", inputs=images)
case("batch-norm", "F.batch_norm(x, m, v)", "F.batch_norm(x, m, v)",
     lambda: {**images(), "m": normal(32, seed=1), "v": positive(32)})  # fmt: skip
case("group-norm", "F.group_norm(x, 8)", inputs=images, tolerance=1e-4)
case("rms-norm", "F.rms_norm(x, [1024], w)[0]", "F.rms_norm(x, [1024], w, 1e-6)",
     lambda: {"x": normal(1024, 1024), "w": normal(1024, seed=1)})  # fmt: skip
case("dropout", "F.dropout(x, 0.1)", tolerance=None)
case("randn", "paddle.randn([1024, 1024])", "torch.randn([1024, 1024])", dict, tolerance=None)
