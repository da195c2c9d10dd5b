"""Statements on tensors of narrow dtypes: making, casting, moving, writing, keeping.

The judge's text is that of ``model``. Statements tagged ``host`` look at data or leave the engine, so they cannot be
captured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.storage.model import NARROW, OPAQUE

family = Family()


def op(name: str, ours: str, model: str, propose: Callable[[Draw], Proposal], **kw: Any) -> None:
    family.op(name, ours, model, propose, "statement", **kw)


def value(d: Draw, ok: Callable[[str], bool] = lambda x: True) -> str:
    """Mostly of a narrow dtype."""
    narrow = d.chance(0.85)
    return d.pick(lambda x: ok(x) and (not narrow or d.dtypes[x] in NARROW), None)


def one(d: Draw) -> Proposal:
    return Proposal((value(d),), {})


def with_dims(d: Draw) -> str:
    return value(d, lambda x: bool(d.shape(x)))


def some(d: Draw) -> Proposal:
    return Proposal((with_dims(d),), {})


def along(d: Draw) -> Proposal:
    x = with_dims(d)
    return Proposal((x,), {"axis": d.axis(x)})


def alike(d: Draw) -> tuple[str, str]:
    """Two values of one dtype and shape."""
    x = value(d)
    return x, d.pick(
        lambda y: d.dtypes[y] == d.dtypes[x] and all(v[y].shape == v[x].shape for v in d.values), floating=None
    )


def two(d: Draw) -> Proposal:
    return Proposal(alike(d), {})


def few(d: Draw) -> int:
    """A number that all these dtypes have, but for zero and float8_e8m0fnu."""
    return d.choose((0, 1, 2, 1, 4))


def one_and_number(d: Draw) -> Proposal:
    return Proposal((value(d),), {"s": few(d)})


# --- making ----------------------------------------------------------------------------------------------------------


def made(d: Draw) -> Proposal:
    shape = [d.choose((1, 2, 3, 5, 7)) for _ in range(d.integer(0, 2))]
    return Proposal((), {"shape": shape, "dtype": repr(d.choose(NARROW)), "s": few(d)})


op("full", "paddle.full({shape}, {s}, {dtype})", "zeros({shape}, {dtype}, {s})", made, weight=0.5)
op("zeros", "paddle.zeros({shape}, {dtype})", "zeros({shape}, {dtype})", made, weight=0.2)
op("full_like", "paddle.full_like({0}, {s})", "zeros({0}.shape, {0}.dtype.name, {s})", one_and_number, weight=0.3)

# --- casts -----------------------------------------------------------------------------------------------------------


def casting(d: Draw) -> Proposal:
    return Proposal((d.pick(floating=None),), {"dtype": repr(d.choose(NARROW if d.chance(0.6) else OPAQUE))})


def scaling(d: Draw) -> Proposal:
    return Proposal((d.pick(floating=None),), {"dtype": repr(d.choose(NARROW)), "s": d.choose((0.75, 1.125, 3.0))})


op("cast", "{0}.astype({dtype})", "cast({0}, {dtype})", casting, weight=3)
op(
    "scaled",
    "({0}.astype('float32') * {s}).astype({dtype})",
    "cast(np.asarray(cast({0}, 'float32') * np.float32({s})), {dtype})",
    scaling,
    weight=1,
)

# --- views, or copies of packed elements -----------------------------------------------------------------------------


def sliced(d: Draw) -> Proposal:
    x = with_dims(d)
    index = d.index(x)[0]
    return Proposal((x,), {"index": index, "all": index if "..." in index else f"{index}, ..."})


def permuted(d: Draw) -> Proposal:
    x = with_dims(d)
    return Proposal((x,), {"perm": d.permutation(len(d.shape(x)))})


def reshaped(d: Draw) -> Proposal:
    x = with_dims(d)
    shape = d.shape(x)
    if d.chance(0.4) or 0 in shape or len(shape) < 2:
        return Proposal((x,), {"shape": "[-1]"})
    return Proposal((x,), {"shape": f"[{shape[-1]}, -1]" if not d.varying(x, -1) else f"[-1, {d.text(0, x, 0)}]"})


def expanded(d: Draw) -> Proposal:
    x = value(d)
    sizes = [
        str(d.integer(1, 3)) if n == 1 and not d.varying(x, a) else d.text(0, x, a) for a, n in enumerate(d.shape(x))
    ]
    return Proposal((x,), {"shape": f"[{', '.join([str(d.integer(1, 3)), *sizes])}]"})


def squeezable(d: Draw) -> Proposal:
    def ones(x: str) -> list[int]:
        return [a for a, n in enumerate(d.shape(x)) if n == 1 and not d.varying(x, a)]

    x = value(d, lambda x: bool(ones(x)))
    return Proposal((x,), {"axis": d.choose(ones(x))})


def unbound(d: Draw) -> Proposal:
    def axes(x: str) -> list[int]:
        return [a for a, n in enumerate(d.shape(x)) if 1 < n < 4 and not d.varying(x, a)]

    x = value(d, lambda x: bool(axes(x)))
    axis = d.choose(axes(x))
    return Proposal((x,), {"axis": axis}, d.shape(x)[axis])


def matrix(d: Draw) -> Proposal:
    return Proposal((value(d, lambda x: len(d.shape(x)) == 2),), {})


op("slice", "{0}[{index}]", "view({0}, lambda x: x[{all}])", sliced, weight=4)
op("transpose", "{0}.transpose({perm})", "view({0}, lambda x: x.transpose({perm}))", permuted, weight=1)
op("reshape", "{0}.reshape({shape})", "reshape({0}, lambda x: x.reshape({shape}))", reshaped, weight=1.5)
op("unsqueeze", "{0}.unsqueeze({axis})", "reshape({0}, lambda x: np.expand_dims(x, {axis}))", along, weight=0.5)
op("squeeze", "{0}.squeeze({axis})", "reshape({0}, lambda x: np.squeeze(x, {axis}))", squeezable, weight=0.5)
op("expand", "{0}.expand({shape})", "copied(np.broadcast_to({0}, {shape}))", expanded, weight=1)
op("unbind", "paddle.unbind({0}, {axis})", "parts({0}, {axis})", unbound, weight=0.6)
op("diagonal", "paddle.diagonal({0})", "view({0}, np.diagonal)", matrix, weight=0.4)

# --- copies ----------------------------------------------------------------------------------------------------------


def joined(d: Draw) -> Proposal:
    x, y = alike(d)
    if not d.shape(x):
        raise Refused
    return Proposal((x, y), {"axis": d.axis(x)})


def chosen(d: Draw) -> Proposal:
    x = with_dims(d)
    index, tensors = d.index(x, advanced=True)
    if "[" not in index and not tensors:
        raise Refused
    return Proposal((x, *tensors), {"index": index})


def rows(d: Draw) -> Proposal:
    x = with_dims(d)
    axis = d.axis(x, fixed=True)
    if not d.shape(x)[axis]:
        raise Refused
    return Proposal((x, d.input([d.choose((1, 2, 3))], "int64", f"index:{d.shape(x)[axis]}")), {"axis": axis})


def rolled(d: Draw) -> Proposal:
    x = with_dims(d)
    return Proposal((x,), {"k": d.integer(-2, 2), "axis": d.axis(x)})


def masked(d: Draw) -> tuple[str, str, str]:
    x, y = alike(d)
    m = d.pick(lambda m: d.dtypes[m] == "bool" and all(v[m].shape == v[x].shape for v in d.values), floating=None)
    return m, x, y


def under_mask(d: Draw) -> Proposal:
    m, x, _ = masked(d)
    return Proposal((x, m), {"s": few(d)})


op("clone", "{0}.clone()", "copied({0})", one, weight=0.5)
op("contiguous", "{0}.contiguous().clone()", "copied({0})", one, weight=0.3)
op("concat", "paddle.concat([{0}, {1}, {0}], {axis})", "np.concatenate([{0}, {1}, {0}], {axis})", joined, weight=1.5)
op("stack", "paddle.stack([{0}, {1}], {axis})", "np.stack([{0}, {1}], {axis})", joined, weight=1)
op(
    "split",
    "paddle.split({0}, [1, -1], {axis})",
    "halves({0}, {axis})",
    along,
    results=2,
    weight=0.8,
)
op("flip", "paddle.flip({0}, [{axis}])", "copied(np.flip({0}, {axis}))", along, weight=0.6)
op("roll", "paddle.roll({0}, {k}, {axis})", "np.roll({0}, {k}, {axis})", rolled, weight=0.6)
op("tile", "paddle.tile({0}, [3])", "np.tile({0}, [3])", some, weight=0.4)
op("repeat", "paddle.repeat_interleave({0}, 2, {axis})", "np.repeat({0}, 2, {axis})", along, weight=0.4)
op(
    "pad",
    "F.pad({0}.reshape([1, 1, -1]), [1, 2], value={s})",
    "np.concatenate([zeros((1, 1, 1), {0}.dtype.name, {s}), {0}.reshape(1, 1, -1), "
    "zeros((1, 1, 2), {0}.dtype.name, {s})], 2)",
    one_and_number,
    weight=0.4,
)
op("take", "{0}[{index}]", "copied({0}[{index}])", chosen, weight=1.5)
op("index_select", "paddle.index_select({0}, {1}, {axis})", "np.take({0}, {1}, {axis})", rows, weight=0.7)
op(
    "where",
    "paddle.where({0}, {1}, {2})",
    "np.where({0}, {1}, {2})",
    lambda d: Proposal(masked(d), {}),
    weight=1,
)
op("take_mask", "{0}[{1}]", "{0}[{1}]", under_mask, weight=0.5, tags="host")
for _name, _sign in (("equal", "=="), ("not_equal", "!="), ("less", "<"), ("at_least", ">=")):
    op(_name, f"{{0}} {_sign} {{1}}", f"compare({{0}}, {{1}}, {_sign!r})", two, weight=0.3)

# --- writes ----------------------------------------------------------------------------------------------------------


def written(what: str, advanced: bool) -> Callable[[Draw], Proposal]:
    def propose(d: Draw) -> Proposal:
        x = with_dims(d)
        index, tensors = d.index(x, advanced)
        if what == "number":
            return Proposal((x, *tensors), {"index": index, "y": few(d)})
        y = d.pick(lambda y: d.dtypes[y] == d.dtypes[x] and len(d.shape(y)) <= len(d.shape(x)), floating=None)
        return Proposal((x, *tensors, y), {"index": index, "y": f"{{{len(tensors) + 1}}}"})

    return propose


for _what, _advanced in (("number", False), ("value", False), ("number", True), ("value", True)):
    op(
        f"put_{_what}{'_many' if _advanced else ''}",
        "{0}[{index}] = {y}",
        "put({0}, np.s_[{index}], {y})",
        written(_what, _advanced),
        results=0,
        weight=1.2,
    )
op("put_part", "{0}[0] = {0}[-1]", "put({0}, 0, {0}[-1])", some, results=0, weight=0.6)
op("put_mask", "{0}[{1}] = {s}", "put({0}, {1}, {s})", under_mask, results=0, weight=0.6, tags="host")
op("fill_", "{0}.fill_({s})", "put({0}, ..., {s})", one_and_number, results=0, weight=0.4)
op("zero_", "{0}.zero_()", "put({0}, ..., 0)", one, results=0, weight=0.3)
op("copy_", "{0}.copy_({1})", "put({0}, ..., {1})", two, results=0, weight=0.5)
op("set_value", "{0}.set_value({1}.numpy())", "put({0}, ..., {1})", two, results=0, weight=0.4, tags="host")

# --- quantised matrices ----------------------------------------------------------------------------------------------

_FUSED = "paddle.incubate.nn.functional"


def wide_matrix(d: Draw) -> Proposal:
    """A matrix, of a single block or, repeated, of several."""
    x = value(d, lambda x: len(d.shape(x)) == 2 and 0 not in d.shape(x))
    return Proposal((x,), {"k": d.choose((1, 1, 60)), "rows": d.choose((1, 128)), "p": d.chance(0.5)})


op(
    "quantised",
    _FUSED + ".fp8_quant_blockwise({0}.astype('float32').tile([1, {k}]), 0.0, False, False, False, {p}, "
    "quant_method='{rows}x128')",
    "quantised(np.tile(cast({0}, 'float32'), (1, {k})), {rows}, {p})",
    wide_matrix,
    results=2,
    weight=0.6,
)
op(
    "requantised",
    f"{_FUSED}.fused_act_dequant(*{_FUSED}.fp8_quant_blockwise({{0}}.astype('float32').tile([1, {{k}}]), 0.0, False, "
    "False, False, {p}))",
    "dequantised(*quantised(np.tile(cast({0}, 'float32'), (1, {k})), 1, {p}))",
    wide_matrix,
    weight=0.6,
)

# --- keeping ---------------------------------------------------------------------------------------------------------

WAYS = ("pdparams", "bytes", "pickle", "deepcopy", "numpy", "dlpack", "checkpoint", "device", "devices", "copy streams")


def keeping(d: Draw) -> Proposal:
    return Proposal((value(d),), {"way": repr(d.choose(WAYS))})


op("kept", "kept({0}, {way})", "copied({0})", keeping, weight=2, tags="host")
