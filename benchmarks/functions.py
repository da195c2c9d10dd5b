"""Functions of the API on small and on large inputs, as users call them, beside PyTorch's of the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import Case, bools, ints, normal, positive, shuffled
from rows import add_section

FUNCTIONS = add_section("functions", "Functions, small and large", mean=2.0, below=1.0)
LOWEST = 0.8
SIZES = {"small": (16, 16), "large": (1024, 1024)}
Inputs = Callable[..., dict[str, Any]]


def function(name: str, ours: str, theirs: str = "", inputs: Inputs | None = None, **more: Any) -> None:
    """Two rows: on ``inputs`` of 256 elements, and of a million. ``sizes``: what else ``inputs`` takes for the two."""
    sizes = more.pop("sizes", SIZES)
    for label, shape in sizes.items():
        given = (lambda shape=shape: inputs(*shape)) if inputs else (lambda shape=shape: {"x": normal(*shape)})
        what = f"`{ours}`, {' × '.join(map(str, shape))}"
        Case(f"{name}-{label}", ours, given, theirs, LOWEST, what=what, **more).add(FUNCTIONS)


def each(
    names: str, inputs: Inputs | None = None, ours: str = "paddle.{}(x)", theirs: str = "torch.{}(x)", **more: Any
) -> None:
    """Functions that are called alike. ``ours:theirs`` where PyTorch names it otherwise."""
    for name in names.split():
        mine, _, other = name.partition(":")
        function(f"fn-{mine}", ours.format(mine), theirs.format(other or mine), inputs, **more)


def two(*shape: int) -> dict[str, Any]:
    return {"x": normal(*shape), "y": normal(*shape, seed=1)}


def two_positive(*shape: int) -> dict[str, Any]:
    return {"x": positive(*shape), "y": positive(*shape, seed=1)}


def two_ints(*shape: int) -> dict[str, Any]:
    return {"x": ints(1000, *shape) + 1, "y": ints(50, *shape, seed=1) + 1}


def two_bools(*shape: int) -> dict[str, Any]:
    return {"x": bools(*shape), "y": bools(*shape, seed=1)}


def one_positive(*shape: int) -> dict[str, Any]:
    return {"x": positive(*shape)}


def one_below_one(*shape: int) -> dict[str, Any]:
    return {"x": positive(*shape) * 0.6}


def distinct(rows: int, columns: int) -> dict[str, Any]:
    return {"x": shuffled(rows, columns)}


def indexed(rows: int, columns: int) -> dict[str, Any]:
    return {
        "x": normal(rows, columns),
        "i": ints(rows, rows),
        "j": ints(columns, rows, columns),
        "v": normal(rows, columns),
    }


def masked(*shape: int) -> dict[str, Any]:
    return {"x": normal(*shape), "y": normal(*shape, seed=1), "m": bools(*shape)}


# --- element by element ----------------------------------------------------------------------------------------------

each(
    "abs atan ceil cos cosh sin sinh tan tanh exp expm1 floor round square sign trunc erf neg frac deg2rad "
    "rad2deg asinh isnan isinf isfinite signbit nan_to_num sinc i0 i0e:special.i0e i1:special.i1 i1e:special.i1e",
    tolerance=1e-4,
)
each("log log1p log2 log10 reciprocal rsqrt sqrt digamma lgamma", one_positive, tolerance=1e-4)
each("acos asin atanh erfinv", one_below_one, tolerance=1e-4)
each("acosh", lambda *s: {"x": positive(*s) + 1}, tolerance=1e-4)
function("fn-logit", "paddle.logit(x, 1e-6)", "torch.logit(x, 1e-6)", one_below_one, tolerance=1e-4)
function("fn-clip", "paddle.clip(x, -0.5, 0.5)", "torch.clamp(x, -0.5, 0.5)")
function("fn-scale", "paddle.scale(x, 2.0, 1.0)", "x * 2.0 + 1.0")
function("fn-lerp", "paddle.lerp(x, y, 0.3)", "torch.lerp(x, y, 0.3)", two, tolerance=1e-5)
function("fn-where", "paddle.where(m, x, y)", "torch.where(m, x, y)", masked)
function("fn-masked_fill", "paddle.masked_fill(x, m, 0.5)", "torch.masked_fill(x, m, 0.5)", masked)
each(
    "sigmoid relu relu6 elu selu celu gelu silu mish softplus softsign hardsigmoid hardswish hardtanh hardshrink "
    "softshrink tanhshrink leaky_relu log_sigmoid:logsigmoid",
    ours="F.{}(x)",
    theirs="F.{}(x)",
    tolerance=1e-5,
)
each("softmax log_softmax glu normalize", ours="F.{}(x, axis=-1)", theirs="F.{}(x, dim=-1)", tolerance=1e-4)

PAIRS = {"ours": "paddle.{}(x, y)", "theirs": "torch.{}(x, y)"}
each(
    "add subtract multiply divide maximum minimum fmax fmin atan2 copysign heaviside nextafter logaddexp hypot "
    "equal:eq not_equal:ne less_than:lt less_equal:le greater_than:gt greater_equal:ge",
    two,
    **PAIRS,
    tolerance=1e-5,
)
each("pow remainder floor_divide", two_positive, **PAIRS, tolerance=1e-4)
each("bitwise_and bitwise_or bitwise_xor gcd lcm", two_ints, **PAIRS)
each("logical_and logical_or logical_xor", two_bools, **PAIRS)
function("fn-logical_not", "paddle.logical_not(x)", "torch.logical_not(x)", two_bools)
for op in ("+", "*", "//", "%"):
    function(f"fn-int{op}", f"x {op} y", inputs=two_ints)
function("fn-isclose", "paddle.isclose(x, y)", "torch.isclose(x, y)", two)
function("fn-allclose", "paddle.allclose(x, x)", "torch.allclose(x, x)", tolerance=None)

# --- reductions and scans --------------------------------------------------------------------------------------------

each(
    "sum mean prod amax amin logsumexp all any argmax argmin nansum nanmean count_nonzero",
    one_positive,
    "paddle.{}(x, axis=-1)",
    "torch.{}(x, dim=-1)",
    tolerance=1e-3,
)
each("var std", ours="paddle.{}(x, axis=-1)", theirs="torch.{}(x, dim=-1)", tolerance=1e-4)
function("fn-max", "paddle.max(x)", "torch.max(x)")
function("fn-min", "paddle.min(x)", "torch.min(x)")
function("fn-sum-all", "paddle.sum(x)", "torch.sum(x)", tolerance=1e-3)
function("fn-mean-0", "paddle.mean(x, 0)", "torch.mean(x, 0)", tolerance=1e-4)
function("fn-median", "paddle.median(x, -1, mode='min')[0]", "torch.median(x, -1)[0]", distinct)
function("fn-nanmedian", "paddle.nanmedian(x, -1, mode='min')[0]", "torch.nanmedian(x, -1)[0]", distinct)
function("fn-quantile", "paddle.quantile(x, 0.3, axis=-1)", "torch.quantile(x, 0.3, dim=-1)", distinct, tolerance=1e-5)
function("fn-kthvalue", "paddle.kthvalue(x, 3)[0]", "torch.kthvalue(x, 3)[0]", distinct)
function("fn-mode", "paddle.mode(x)[0]", "torch.mode(x)[0]", lambda *s: {"x": ints(8, *s)})
function("fn-norm", "paddle.linalg.norm(x, axis=-1)", "torch.linalg.norm(x, dim=-1)", tolerance=1e-4)
function("fn-vector_norm-1", "paddle.linalg.vector_norm(x, 1)", "torch.linalg.vector_norm(x, 1)", tolerance=1e-3)
each("cumsum logcumsumexp", ours="paddle.{}(x, -1)", theirs="torch.{}(x, -1)", tolerance=1e-3)
each("cummax cummin", ours="paddle.{}(x, -1)[0]", theirs="torch.{}(x, -1)[0]")
function(
    "fn-cumprod",
    "paddle.cumprod(x, -1)",
    "torch.cumprod(x, -1)",
    lambda *s: {"x": positive(*s) * 0.5 + 0.75},
    tolerance=1e-2,
)
function("fn-diff", "paddle.diff(x)", "torch.diff(x)")
function("fn-trapezoid", "paddle.trapezoid(x)", "torch.trapezoid(x)", tolerance=1e-4)

# --- shapes, indices, order ------------------------------------------------------------------------------------------

function("fn-transpose", "paddle.transpose(x, [1, 0]).contiguous()", "x.permute(1, 0).contiguous()")
function("fn-clone", "x.clone()")
each("flip roll", ours="paddle.{}(x, 1)", theirs="torch.{}(x, (1,))")
function("fn-rot90", "paddle.rot90(x)", "torch.rot90(x)")
function("fn-tile", "paddle.tile(x, [2, 2])", "torch.tile(x, (2, 2))")
function("fn-expand", "paddle.expand(x, [2, *x.shape]) + 1", "x.expand(2, *x.shape) + 1")
function("fn-repeat_interleave", "paddle.repeat_interleave(x, 2, 0)", "torch.repeat_interleave(x, 2, 0)")
function("fn-concat", "paddle.concat([x, y], 1)", "torch.cat([x, y], 1)", two)
function(
    "fn-concat-of-32",
    "paddle.concat([x] * 32, 0)",
    "torch.cat([x] * 32, 0)",
    sizes={"small": (4, 4), "large": (256, 256)},
)
function(
    "fn-concat-of-64",
    "paddle.concat([x] * 64, 1)",
    "torch.cat([x] * 64, 1)",
    sizes={"small": (4, 4), "large": (256, 64)},
)
function("fn-stack", "paddle.stack([x, y])", "torch.stack([x, y])", two)
function("fn-split", "paddle.split(x, 4)", "torch.chunk(x, 4)")
function("fn-unbind", "paddle.unbind(x)", "torch.unbind(x)", sizes={"small": (16, 16), "large": (64, 16384)})
function("fn-pad", "F.pad(x, [1, 2, 1, 2], pad_from_left_axis=False)", "F.pad(x, [1, 2, 1, 2])")
each("tril triu", ours="paddle.{}(x)", theirs="torch.{}(x)")
function("fn-diagonal", "paddle.diagonal(x) + 1", "torch.diagonal(x) + 1")
function("fn-diag", "paddle.diag(x)", "torch.diag(x)", sizes={"small": (16,), "large": (1024,)})
function("fn-gather", "paddle.gather(x, i)", "x[i]", indexed)
function("fn-index_select", "paddle.index_select(x, i)", "torch.index_select(x, 0, i)", indexed)
function("fn-index", "x[i]", inputs=indexed)
function("fn-take_along_axis", "paddle.take_along_axis(x, j, 1)", "torch.gather(x, 1, j)", indexed)
function(
    "fn-put_along_axis",
    "paddle.put_along_axis(x, j, v, 1, 'add')",
    "torch.scatter_add(x, 1, j, v)",
    indexed,
    tolerance=1e-4,
)
function("fn-index_add", "paddle.index_add(x, i, 0, v)", "torch.index_add(x, 0, i, v)", indexed, tolerance=1e-4)
function("fn-gather_nd", "paddle.gather_nd(x, i.unsqueeze(-1))", "x[i]", indexed)
function("fn-take", "paddle.take(x, j)", "torch.take(x, j)", indexed)
function("fn-masked_select", "paddle.masked_select(x, m)", "torch.masked_select(x, m)", masked)
function("fn-nonzero", "paddle.nonzero(m)", "torch.nonzero(m)", masked)
function("fn-sort", "paddle.sort(x)", "torch.sort(x)[0]", distinct)
function("fn-argsort", "paddle.argsort(x)", "torch.argsort(x)", distinct)
function(
    "fn-sort-flat",
    "paddle.sort(x)",
    "torch.sort(x)[0]",
    lambda n: {"x": normal(n)},
    sizes={"small": (256,), "large": (1 << 20,)},
)
function("fn-topk", "paddle.topk(x, 5)", "torch.topk(x, 5)", distinct)
function("fn-unique", "paddle.unique(x)", "torch.unique(x)", lambda *s: {"x": ints(1000, *s)})
function(
    "fn-searchsorted",
    "paddle.searchsorted(x, v)",
    "torch.searchsorted(x, v)",
    lambda n: {"x": np.sort(normal(n)), "v": normal(n, seed=1)},
    sizes={"small": (256,), "large": (1 << 18,)},
)
function(
    "fn-bincount",
    "paddle.bincount(x)",
    "torch.bincount(x)",
    lambda n: {"x": ints(100, n)},
    sizes={"small": (256,), "large": (1 << 20,)},
)
function(
    "fn-histogram",
    "paddle.histogram(x, 32, -1.0, 1.0).astype('float32')",
    "torch.histc(x, 32, -1.0, 1.0)",
    lambda *s: {"x": positive(*s) - 1},
)
function(
    "fn-one_hot",
    "F.one_hot(x, 64)",
    "F.one_hot(x, 64).to(torch.float32)",
    lambda n: {"x": ints(64, n)},
    sizes={"small": (16,), "large": (1 << 14,)},
)
function(
    "fn-meshgrid",
    "paddle.meshgrid(x, y)[0] + 1",
    "torch.meshgrid(x, y, indexing='ij')[0] + 1",
    lambda n: {"x": normal(n), "y": normal(n)},
    sizes={"small": (16,), "large": (1024,)},
)
for target in ("float64", "float16", "bfloat16", "int32", "int64", "bool"):
    function(f"fn-cast-{target}", f"x.astype('{target}')", f"x.to(torch.{target})")

# --- linear algebra --------------------------------------------------------------------------------------------------

SQUARE = {"small": (16, 16), "large": (512, 512)}
function("fn-matmul", "paddle.matmul(x, y)", "torch.matmul(x, y)", two, sizes=SQUARE, tolerance=1e-4)
function(
    "fn-bmm",
    "paddle.bmm(x, y)",
    "torch.bmm(x, y)",
    two,
    sizes={"small": (4, 8, 8), "large": (64, 128, 128)},
    tolerance=1e-4,
)
function("fn-addmm", "paddle.addmm(x, x, y)", "torch.addmm(x, x, y)", two, sizes=SQUARE, tolerance=1e-4)
function(
    "fn-einsum",
    "paddle.einsum('ij,kj->ik', x, y)",
    "torch.einsum('ij,kj->ik', x, y)",
    two,
    sizes=SQUARE,
    tolerance=1e-4,
)
function("fn-mv", "paddle.mv(x, v)", "torch.mv(x, v)", lambda n, m: {"x": normal(n, m), "v": normal(m)}, tolerance=1e-4)
for name in ("dot", "inner", "outer"):
    large = 2048 if name == "outer" else 1 << 20
    function(
        f"fn-{name}",
        f"paddle.{name}(x, y)",
        f"torch.{name}(x, y)",
        two,
        sizes={"small": (256,), "large": (large,)},
        tolerance=1e-3,
    )
function("fn-kron", "paddle.kron(x, y)", "torch.kron(x, y)", two, sizes={"small": (4, 4), "large": (32, 32)})
function(
    "fn-cross",
    "paddle.cross(x, y, axis=-1)",
    "torch.cross(x, y, dim=-1)",
    two,
    sizes={"small": (64, 3), "large": (1 << 18, 3)},
    tolerance=1e-5,
)
function(
    "fn-cdist",
    "paddle.cdist(x, y)",
    "torch.cdist(x, y)",
    two,
    sizes={"small": (16, 8), "large": (512, 64)},
    tolerance=1e-3,
)
function("fn-trace", "paddle.trace(x)", "torch.trace(x)", tolerance=1e-4)


def definite(*shape: int) -> dict[str, Any]:
    a = normal(*shape, dtype="float64")
    return {
        "x": (a @ np.swapaxes(a, -1, -2) / shape[-1] + np.eye(shape[-1])).astype("float32"),
        "y": normal(*shape, seed=1),
    }


for label, sizes in (
    ("", {"small": (8, 8), "large": (256, 256)}),
    ("-batch", {"small": (16, 4, 4), "large": (1024, 16, 16)}),
):
    for name, ours, theirs in (
        ("cholesky", "paddle.linalg.cholesky(x)", ""),
        ("inv", "paddle.linalg.inv(x)", ""),
        ("det", "paddle.linalg.det(x)", ""),
        ("solve", "paddle.linalg.solve(x, y)", ""),
        ("qr", "paddle.linalg.qr(x)[1].abs()", ""),
        ("svd", "paddle.linalg.svd(x, full_matrices=False)[1]", ""),
        ("eigh", "paddle.linalg.eigh(x)[0]", ""),
        ("eigvalsh", "paddle.linalg.eigvalsh(x)", ""),
        ("lu", "paddle.linalg.lu(x)[0]", "torch.linalg.lu_factor(x)[0]"),
        ("pinv", "paddle.linalg.pinv(x)", ""),
        ("matrix_power", "paddle.linalg.matrix_power(x, 3)", ""),
        ("triangular_solve", "paddle.linalg.triangular_solve(x, y)", "torch.linalg.solve_triangular(x, y, upper=True)"),
    ):
        function(
            f"fn-{name}{label}",
            ours,
            theirs or ours.replace("paddle", "torch"),
            definite,
            sizes=sizes,
            tolerance=2e-2 if name == "triangular_solve" else 2e-3,
        )

# --- FFT -------------------------------------------------------------------------------------------------------------

each("fft rfft fft2 rfft2 fftn", ours="paddle.fft.{}(x)", theirs="torch.fft.{}(x)", tolerance=1e-4)


def spectra(*shape: int) -> dict[str, Any]:
    return {"x": normal(*shape, dtype="complex64")}


each("ifft irfft", spectra, "paddle.fft.{}(x)", "torch.fft.{}(x)", tolerance=1e-4)
function(
    "fn-stft",
    "paddle.signal.stft(x, 256, window=w)",
    "torch.stft(x, 256, 64, window=w, return_complex=True)",
    lambda b, n: {"x": normal(b, n), "w": np.hanning(256).astype("float32")},
    sizes={"small": (1, 512), "large": (8, 32768)},
    tolerance=1e-3,
)

# --- layers ----------------------------------------------------------------------------------------------------------


def images(*shape: int) -> dict[str, Any]:
    c = shape[1]
    return {"x": normal(*shape), "w": normal(c, c, 3, 3, seed=1), "s": positive(c), "b": normal(c, seed=2)}


IMAGES = {"small": (1, 4, 8, 8), "large": (8, 32, 64, 64)}
function(
    "fn-linear",
    "F.linear(x, w, b)",
    "F.linear(x, wt, b)",
    lambda n, m: {"x": normal(n, m), "w": normal(m, m), "b": normal(m)},
    sizes=SQUARE,
    theirs_setup="wt = w.t()",
    setup="pass",
    tolerance=1e-4,
)
function("fn-conv2d", "F.conv2d(x, w, padding=1)", "", images, sizes=IMAGES, tolerance=1e-4)
function(
    "fn-conv2d_transpose", "F.conv2d_transpose(x, w)", "F.conv_transpose2d(x, w)", images, sizes=IMAGES, tolerance=1e-4
)
function(
    "fn-conv1d",
    "F.conv1d(x, w, padding=1)",
    "",
    lambda b, c, n: {"x": normal(b, c, n), "w": normal(c, c, 3)},
    sizes={"small": (1, 4, 32), "large": (8, 64, 1024)},
    tolerance=1e-4,
)
for name, call in (
    ("max_pool2d", "F.max_pool2d(x, 2)"),
    ("avg_pool2d", "F.avg_pool2d(x, 2)"),
    ("adaptive_avg_pool2d", "F.adaptive_avg_pool2d(x, 1)"),
    ("adaptive_max_pool2d", "F.adaptive_max_pool2d(x, 2)"),
    ("group_norm", "F.group_norm(x, 2)"),
    ("pixel_shuffle", "F.pixel_shuffle(x, 2)"),
    ("channel_shuffle", "F.channel_shuffle(x, 2)"),
    ("unfold", "F.unfold(x, 3)"),
    ("interpolate-nearest", "F.interpolate(x, scale_factor=2)"),
    ("interpolate-bilinear", "F.interpolate(x, scale_factor=2, mode='bilinear')"),
    ("interpolate-bicubic", "F.interpolate(x, scale_factor=2, mode='bicubic')"),
):
    theirs = call
    if name in ("channel_shuffle",):
        theirs = "torch.channel_shuffle(x, 2)"
    function(f"fn-{name}", call, theirs, images, sizes=IMAGES, tolerance=1e-4)
function(
    "fn-batch_norm", "F.batch_norm(x, b, s, s, b)", "F.batch_norm(x, b, s, s, b)", images, sizes=IMAGES, tolerance=1e-4
)
function("fn-instance_norm", "F.instance_norm(x)", "", images, sizes=IMAGES, tolerance=1e-4)
function("fn-prelu", "F.prelu(x, s)", "", images, sizes=IMAGES)
function(
    "fn-layer_norm",
    "F.layer_norm(x, [x.shape[-1]], s, b)",
    "F.layer_norm(x, (x.shape[-1],), s, b)",
    lambda n, m: {"x": normal(n, m), "s": positive(m), "b": normal(m)},
    tolerance=1e-4,
)
function("fn-embedding", "F.embedding(i, x)", "", indexed)
function(
    "fn-cosine_similarity",
    "F.cosine_similarity(x, y, axis=-1)",
    "F.cosine_similarity(x, y, dim=-1)",
    two,
    tolerance=1e-4,
)
function("fn-pairwise_distance", "F.pairwise_distance(x, y)", "", two, tolerance=1e-4)
function(
    "fn-grid_sample",
    "F.grid_sample(x, g)",
    "F.grid_sample(x, g, align_corners=True)",
    lambda b, c, h, w: {"x": normal(b, c, h, w), "g": normal(b, h, w, 2) * 0.5},
    sizes=IMAGES,
    tolerance=1e-4,
)
each(
    "mse_loss l1_loss smooth_l1_loss soft_margin_loss",
    lambda *s: {"x": normal(*s), "y": np.sign(normal(*s, seed=1))},
    "F.{}(x, y)",
    "F.{}(x, y)",
    tolerance=1e-4,
)
function(
    "fn-bce",
    "F.binary_cross_entropy(x, y)",
    "",
    lambda *s: {"x": positive(*s) * 0.6, "y": bools(*s).astype("float32")},
    tolerance=1e-4,
)
function(
    "fn-bce_with_logits",
    "F.binary_cross_entropy_with_logits(x, y)",
    "",
    lambda *s: {"x": normal(*s), "y": bools(*s).astype("float32")},
    tolerance=1e-4,
)
function("fn-cross_entropy", "F.cross_entropy(x, i)", "", indexed, tolerance=1e-4)
for dtype in ("float32", "float16"):
    function(f"fn-dropout-{dtype}", "F.dropout(x, 0.5)", "", dtype=dtype, tolerance=None)

# --- creation and random numbers -------------------------------------------------------------------------------------

for label, n in (("small", 256), ("large", 1 << 20)):
    for name, ours, theirs in (
        ("zeros", "paddle.zeros([{n}])", "torch.zeros({n})"),
        ("ones", "paddle.ones([{n}])", "torch.ones({n})"),
        ("full", "paddle.full([{n}], 3.0)", "torch.full(({n},), 3.0)"),
        ("arange", "paddle.arange({n})", "torch.arange({n})"),
        ("linspace", "paddle.linspace(0.0, 1.0, {n})", "torch.linspace(0.0, 1.0, {n})"),
        ("rand", "paddle.rand([{n}])", "torch.rand({n})"),
        ("randn", "paddle.randn([{n}])", "torch.randn({n})"),
        ("randint", "paddle.randint(0, 10, [{n}])", "torch.randint(0, 10, ({n},))"),
        ("randperm", "paddle.randperm({n})", "torch.randperm({n})"),
    ):
        Case(f"fn-{name}-{label}", ours.format(n=n), dict, theirs.format(n=n), LOWEST, tolerance=None).add(FUNCTIONS)
function("fn-bernoulli", "paddle.bernoulli(x)", "torch.bernoulli(x)", one_below_one, tolerance=None)
function(
    "fn-multinomial",
    "paddle.multinomial(x, 8, replacement=True)",
    "torch.multinomial(x, 8, replacement=True)",
    one_positive,
    tolerance=None,
)
