"""The statements of random programs: for each what it means in ``paddle`` and to the judge, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.programs.draw import FLOATS, Draw, Proposal, Refused
from tests.fuzz.programs.record import Op

OPS: dict[str, Op] = {}


def op(name: str, ours: str, judge: str, propose: Callable[[Draw], Proposal], form: str = "compute", **kw: Any) -> None:
    assert name not in OPS, name
    kw["tags"] = frozenset(kw.get("tags", "").split())
    OPS[name] = Op(name, ours, judge, form, propose, **kw)


# --- dtypes ----------------------------------------------------------------------------------------------------------


def promoted(*dtypes: str) -> str:
    floats = [d for d in dtypes if d in FLOATS]
    if floats:
        return max(floats, key=FLOATS.index)
    for d in ("int64", "int32"):
        if d in dtypes:
            return d
    return "bool"


def always(dtype: str) -> Callable[..., str]:
    return lambda *dtypes: dtype


def floats_of(*dtypes: str) -> str:
    """Of true division and the like: integers become the default float."""
    found = promoted(*dtypes)
    return found if found in FLOATS else "float32"


def summed(*dtypes: str) -> str:
    found = promoted(*dtypes)
    return found if found in FLOATS else "int64"


# --- proposals -------------------------------------------------------------------------------------------------------


def any_float(d: Draw) -> Proposal:
    return Proposal((d.pick(),), {})


def not_of(dtype: str) -> Callable[[Draw], Proposal]:
    return lambda d: Proposal((d.pick(lambda x: d.dtypes[x] != dtype),), {})


def pair(d: Draw) -> Proposal:
    x = d.pick()
    y = d.broadcastable(x)
    return Proposal((x, y) if d.chance(0.5) else (y, x), {})


def different(d: Draw) -> Proposal:
    """Not twice the same value: where the derivative of a tie is a matter of choice."""
    found = pair(d)
    if found.operands[0] == found.operands[1]:
        raise Refused
    return found


def scalar(d: Draw) -> Proposal:
    return Proposal((d.pick(),), {"s": d.number()})


def with_axis(least: int = 1, **more: Any) -> Callable[[Draw], Proposal]:
    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: len(d.shape(x)) >= least)
        return Proposal((x,), {"axis": d.axis(x), **more})

    return propose


def reduced(d: Draw) -> Proposal:
    x = d.pick()
    axis, keep = d.axes(x), d.chance(0.4)
    n = len(d.shape(x))
    every = tuple(range(n)) if axis is None else axis
    return Proposal((x,), {"axis": axis, "all": tuple(every) if isinstance(every, list) else every, "keep": keep})


# --- elementwise -----------------------------------------------------------------------------------------------------

UNARY = {
    # name: ours, judge, has an in-place form of that name
    "exp": ("paddle.exp({0})", "torch.exp({0})"),
    "expm1": ("paddle.expm1({0})", "torch.expm1({0})"),
    "sin": ("paddle.sin({0})", "torch.sin({0})"),
    "cos": ("paddle.cos({0})", "torch.cos({0})"),
    "tan": ("paddle.tan({0})", "torch.tan({0})"),
    "tanh": ("paddle.tanh({0})", "torch.tanh({0})"),
    "sinh": ("paddle.sinh({0})", "torch.sinh({0})"),
    "cosh": ("paddle.cosh({0})", "torch.cosh({0})"),
    "asinh": ("paddle.asinh({0})", "torch.asinh({0})"),
    "atan": ("paddle.atan({0})", "torch.atan({0})"),
    "asin": ("paddle.asin({0})", "torch.asin({0})"),
    "acos": ("paddle.acos({0})", "torch.acos({0})"),
    "atanh": ("paddle.atanh({0})", "torch.atanh({0})"),
    "acosh": ("paddle.acosh({0})", "torch.acosh({0})"),
    "sigmoid": ("F.sigmoid({0})", "torch.sigmoid({0})"),
    "abs": ("paddle.abs({0})", "torch.abs({0})"),
    "square": ("paddle.square({0})", "torch.square({0})"),
    "sqrt": ("paddle.sqrt({0})", "torch.sqrt({0})"),
    "rsqrt": ("paddle.rsqrt({0})", "torch.rsqrt({0})"),
    "log": ("paddle.log({0})", "torch.log({0})"),
    "log2": ("paddle.log2({0})", "torch.log2({0})"),
    "log10": ("paddle.log10({0})", "torch.log10({0})"),
    "log1p": ("paddle.log1p({0})", "torch.log1p({0})"),
    "erf": ("paddle.erf({0})", "torch.erf({0})"),
    "neg": ("paddle.neg({0})", "torch.neg({0})"),
    "reciprocal": ("paddle.reciprocal({0})", "torch.reciprocal({0})"),
    "lgamma": ("paddle.lgamma({0})", "torch.lgamma({0})"),
    "digamma": ("paddle.digamma({0})", "torch.digamma({0})"),
    "floor": ("paddle.floor({0})", "torch.floor({0})"),
    "ceil": ("paddle.ceil({0})", "torch.ceil({0})"),
    "trunc": ("paddle.trunc({0})", "torch.trunc({0})"),
    "frac": ("paddle.frac({0})", "torch.frac({0})"),
    "i0": ("paddle.i0({0})", "torch.special.i0({0})"),
    "erfinv": ("paddle.erfinv({0})", "torch.erfinv({0})"),
    "nan_to_num": ("paddle.nan_to_num({0})", "torch.nan_to_num({0})"),
    "logit": ("paddle.logit({0})", "torch.logit({0})"),
    "sinc": ("paddle.sinc({0})", "torch.sinc({0})"),
}
for _name, (_ours, _judge) in UNARY.items():
    # PyTorch's polygamma is exact to ten digits only.
    _tags = "loose" if _name in ("digamma", "lgamma") else "cancels" if _name == "sinc" else ""
    op(_name, _ours, _judge, any_float, weight=0.25, tags=_tags)
    op(_name + "_", f"{{0}}.{_name}_()", _judge, any_float, "write", results=0, weight=0.14, tags=_tags)
ACTIVATIONS = {
    "relu": ("F.relu({0})", "F.relu({0})"),
    "relu6": ("F.relu6({0})", "F.relu6({0})"),
    "elu": ("F.elu({0}, 0.7)", "F.elu({0}, 0.7)"),
    "selu": ("F.selu({0})", "F.selu({0})"),
    # PyTorch takes the derivative with a float32 of 1 / 1.3.
    "celu": ("F.celu({0}, 1.3)", "torch.where({0} > 0, {0}, 1.3 * torch.expm1({0} / 1.3))"),
    "gelu": ("F.gelu({0})", "F.gelu({0})"),
    "gelu_tanh": ("F.gelu({0}, approximate=True)", "F.gelu({0}, approximate='tanh')"),
    "silu": ("F.silu({0})", "F.silu({0})"),
    "mish": ("F.mish({0})", "F.mish({0})"),
    "softplus": ("F.softplus({0})", "F.softplus({0})"),
    "softsign": ("F.softsign({0})", "F.softsign({0})"),
    # Its slope at 0 is 1, in PyTorch the lower one.
    "leaky_relu": ("F.leaky_relu({0}, 0.1)", "torch.where({0} < 0, 0.1 * {0}, {0})"),
    "hardtanh": ("F.hardtanh({0})", "F.hardtanh({0})"),
    "hardswish": ("F.hardswish({0})", "F.hardswish({0})"),
    "hardshrink": ("F.hardshrink({0})", "F.hardshrink({0})"),
    "softshrink": ("F.softshrink({0})", "F.softshrink({0})"),
    "tanhshrink": ("F.tanhshrink({0})", "F.tanhshrink({0})"),
    "log_sigmoid": ("F.log_sigmoid({0})", "F.logsigmoid({0})"),
    "sqrt_of_squares": ("paddle.sqrt({0} * {0} + 0.5)", "torch.sqrt({0} * {0} + 0.5)"),
    "log_of_abs": ("paddle.log(paddle.abs({0}) + 0.5)", "torch.log(at_least({0}, 0.5))"),
    "clone": ("{0}.clone()", "{0}.clone()"),
    "assign": ("paddle.assign({0})", "{0}.clone()"),
    "zeros_like": ("paddle.zeros_like({0})", "torch.zeros_like({0})"),
    "full_like": ("paddle.full_like({0}, 1.5)", "torch.full_like({0}, 1.5)"),
}
for _name, (_ours, _judge) in ACTIVATIONS.items():
    op(_name, _ours, _judge, any_float, weight=0.2)
for _name in ("relu", "elu", "softmax"):
    if _name != "softmax":
        op(_name + "_", f"F.{_name}_({{0}})", f"F.{_name}({{0}})", any_float, "write", results=0, weight=0.2)

op("add", "{0} + {1}", "{0} + {1}", pair, weight=2, refused=True)
op("subtract", "{0} - {1}", "{0} - {1}", pair, refused=True)
op("multiply", "{0} * {1}", "{0} * {1}", pair, weight=2, refused=True)
op("divide", "{0} / ({1} * {1} + 0.5)", "{0} / ({1} * {1} + 0.5)", pair, dtype=floats_of)
op("maximum", "paddle.maximum({0}, {1})", "torch.maximum({0}, {1})", different, weight=0.5)
op("minimum", "paddle.minimum({0}, {1})", "torch.minimum({0}, {1})", different, weight=0.5)
op("fmax", "paddle.fmax({0}, {1})", "torch.fmax({0}, {1})", different, weight=0.3)
op("atan2", "paddle.atan2({0}, {1})", "torch.atan2({0}, {1})", different, weight=0.3)
op(
    "hypot",
    "paddle.hypot({0}, {1})",
    "torch.hypot({0}, {1})",
    lambda d: Proposal((x := d.pick(), d.like(x)), {}),
    weight=0.3,
)
op("pow", "(paddle.abs({0}) + 0.3) ** {1}", "at_least({0}, 0.3) ** {1}", pair, weight=0.3)
op(
    "lerp",
    "paddle.lerp({0}, {1}, {2})",
    "torch.lerp({0}, {1}, {2})",
    lambda d: Proposal((x := d.pick(), d.like(x), d.like(x)), {}),
    weight=0.7,
)
op(
    "add_n",
    "paddle.add_n([{0}, {1}, {0}])",
    "{0} + {1} + {0}",
    lambda d: Proposal((x := d.pick(), d.like(x)), {}),
    weight=0.4,
)
for _name, _text in {
    "add_scalar": "{0} + {s}",
    "from_scalar": "{s} - {0}",
    "times": "{0} * {s}",
    "over": "{0} / {s}",
}.items():
    op(_name, _text, _text, scalar, weight=0.5)
op("into", "{s} / ({0} * {0} + 0.5)", "{s} / ({0} * {0} + 0.5)", scalar, weight=0.4)
op("power", "{0} ** {p}", "{0} ** {p}", lambda d: Proposal((d.pick(),), {"p": d.choose((2, 3, 2.0, 1, 0))}), weight=0.5)
op("scale", "paddle.scale({0}, {s}, 0.5)", "{0} * {s} + 0.5", scalar, weight=0.4)
op(
    "clip",
    "paddle.clip({0}, {a}, {b})",
    "torch.clip({0}, {a}, {b})",
    lambda d: Proposal((d.pick(),), {"a": d.choose((-1.0, -0.5)), "b": d.choose((0.5, 1.0))}),
    weight=0.5,
)


def alike(d: Draw) -> Proposal:
    """Of one dtype: a sum without dims would not widen the other."""
    found = pair(d)
    if len({d.dtypes[x] for x in found.operands}) > 1:
        raise Refused
    return found


op("augmented", "{0} + {1}.sum()", "{0} + {1}.sum()", alike, weight=0.4)


def in_place(d: Draw) -> Proposal:
    """A value that is written to, and one that broadcasts to it."""
    x = d.pick()
    shape = d.shape(x)

    def fits(y: str) -> bool:
        try:
            return all(
                np.broadcast_shapes(v[x].shape, v[y].shape) == v[x].shape and d.dtypes[x] == d.dtypes[y]
                for v in d.values
            )
        except ValueError:
            return False

    if d.chance(0.25):
        sizes = d.sizes(x)[d.integer(0, len(shape)) :]
        return Proposal((x, d.input(sizes, dtype=d.dtypes[x])), {})
    return Proposal((x, d.beside(x, fits, d.sizes(x))), {})


for _name, _text in {
    "add_": "{0} + {1}",
    "subtract_": "{0} - {1}",
    "multiply_": "{0} * {1}",
    "copy_": "{1}",
    "lerp_": "{0}",
}.items():
    if _name != "lerp_":
        op(_name, f"{{0}}.{_name}({{1}})", _text, in_place, "write", results=0, weight=0.6)
op(
    "lerp_",
    "{0}.lerp_({1}, 0.25)",
    "torch.lerp({0}, {1}, 0.25)",
    lambda d: Proposal((x := d.pick(), d.like(x)), {}),
    "write",
    results=0,
    weight=0.2,
)
op("divide_", "{0}.divide_({1} * {1} + 0.5)", "{0} / ({1} * {1} + 0.5)", in_place, "write", results=0, weight=0.3)
op("scale_", "{0}.scale_({s}, 0.5)", "{0} * {s} + 0.5", scalar, "write", results=0, weight=0.4)
op("clip_", "{0}.clip_(-0.75, 0.75)", "torch.clip({0}, -0.75, 0.75)", any_float, "write", results=0, weight=0.3)
op("pow_", "{0}.pow_(2)", "{0} ** 2", any_float, "write", results=0, weight=0.3)
op("fill_", "{0}.fill_({s})", "torch.full_like({0}, {s})", scalar, "write", results=0, weight=0.2)
op("zero_", "{0}.zero_()", "torch.zeros_like({0})", any_float, "write", results=0, weight=0.15)
op("cumsum_", "{0}.cumsum_({axis})", "torch.cumsum({0}, {axis})", with_axis(), "write", results=0, weight=0.2)
op("tril_", "{0}.tril_()", "torch.tril({0})", lambda d: Proposal((d.rank(2, 3),), {}), "write", results=0, weight=0.2)

COMPARISONS = {"less": "<", "greater": ">", "less_equal": "<=", "not_equal": "!="}
for _name, _sign in COMPARISONS.items():
    op(_name, f"{{0}} {_sign} {{1}}", f"{{0}} {_sign} {{1}}", different, dtype=always("bool"), weight=0.25)
op("above", "{0} > {s}", "{0} > {s}", scalar, dtype=always("bool"), weight=0.4)


def masked(d: Draw) -> Proposal:
    m = d.pick(lambda x: d.dtypes[x] == "bool", floating=False)
    x = d.pick(lambda x: all(v[x].shape == v[m].shape for v in d.values))
    return Proposal((m, x, d.like(x)), {})


op("where", "paddle.where({0}, {1}, {2})", "torch.where({0}, {1}, {2})", masked, dtype=lambda m, x, y: promoted(x, y))
op(
    "masked_fill",
    "paddle.masked_fill({1}, {0}, 0.5)",
    "torch.masked_fill({1}, {0}, 0.5)",
    masked,
    dtype=lambda m, x, y: x,
    weight=0.4,
)
op("mask_as_number", "{0}.astype({1}.dtype) * {1}", "{0}.to({1}.dtype) * {1}", masked, dtype=lambda m, x, y: x)
op(
    "where_above",
    "paddle.where({0} > {s}, {0}, {1})",
    "torch.where({0} > {s}, {0}, {1})",
    lambda d: Proposal((x := d.pick(), d.like(x)), {"s": d.number()}),
    weight=0.5,
)
op("to_int", "({0} * 2).astype('int64')", "({0} * 2).long()", any_float, dtype=always("int64"), weight=0.3)
op("to_int32", "({0} * 2).astype('int32')", "({0} * 2).long()", any_float, dtype=always("int32"), weight=0.2)
op(
    "to_double",
    "{0}.astype('float64')",
    "{0}.clone()",
    not_of("float64"),
    dtype=always("float64"),
    weight=0.3,
    tags="cast",
)
op(
    "to_single",
    "{0}.astype('float32')",
    "{0}.clone()",
    not_of("float32"),
    dtype=always("float32"),
    weight=0.3,
    tags="cast",
)


def integers(d: Draw) -> Proposal:
    x = d.pick(lambda x: d.dtypes[x] != "bool", floating=False)
    return Proposal((x, d.broadcastable(x)), {})


def integer(d: Draw) -> Proposal:
    return Proposal((d.pick(lambda x: d.dtypes[x] != "bool", floating=False),), {"s": d.integer(1, 4)})


op("int_add", "{0} + {1}", "{0} + {1}", integers, weight=0.4)
op("int_times", "{0} * {1}", "{0} * {1}", integers, weight=0.3)
op("int_floor", "{0} // {s}", "torch.div({0}, {s}, rounding_mode='floor')", integer, weight=0.3)
op("int_mod", "{0} % {s}", "torch.remainder({0}, {s})", integer, weight=0.3)
op("int_divide", "{0} / {s}", "{0}.double() / {s}", integer, dtype=floats_of, weight=0.3)
op("int_float", "{0} * 0.5", "{0}.double() * 0.5", integer, dtype=floats_of, weight=0.3)
op("int_sum", "paddle.sum({0})", "torch.sum({0})", integer, dtype=summed, weight=0.2)

# --- views -----------------------------------------------------------------------------------------------------------


def sliced(d: Draw) -> Proposal:
    x = d.pick(floating=None if d.chance(0.1) else True)
    return Proposal((x,), {"index": d.index(x)[0]})


op("slice", "{0}[{index}]", "{0}[{index}]", sliced, "view", weight=4)
op(
    "reversed",
    "{0}[::-1]",
    "{0}[::-1]",
    lambda d: Proposal((d.pick(lambda x: bool(d.shape(x))),), {}),
    "view",
    weight=0.7,
)
op(
    "transpose",
    "{0}.transpose({perm})",
    "{0}.transpose({perm})",
    lambda d: Proposal((x := d.rank(2, 3, 4),), {"perm": d.permutation(len(d.shape(x)))}),
    "view",
    weight=1.2,
)
op("T", "{0}.T", "{0}.T", lambda d: Proposal((d.rank(2),), {}), "view", weight=0.5)
op(
    "unsqueeze",
    "paddle.unsqueeze({0}, {axis})",
    "np.expand_dims({0}, {axis})",
    lambda d: Proposal((x := d.rank(0, 1, 2, 3),), {"axis": d.integer(-len(d.shape(x)) - 1, len(d.shape(x)))}),
    "view",
    weight=0.6,
)


def squeezable(d: Draw) -> Proposal:
    def ones(x: str) -> list[int]:
        return [a for a, n in enumerate(d.shape(x)) if n == 1 and not d.varying(x, a)]

    x = d.pick(lambda x: bool(ones(x)))
    return Proposal((x,), {"axis": d.choose(ones(x))})


op("squeeze", "{0}.squeeze({axis})", "np.squeeze({0}, {axis})", squeezable, "view", weight=0.5)


def expanded(d: Draw) -> Proposal:
    x = d.rank(0, 1, 2, 3)
    sizes = [
        str(d.integer(1, 3)) if n == 1 and not d.varying(x, a) else d.text(0, x, a) for a, n in enumerate(d.shape(x))
    ]
    front = [str(d.integer(1, 3))] if d.chance(0.5) else []
    return Proposal((x,), {"shape": f"[{', '.join(front + sizes)}]"})


op("expand", "{0}.expand({shape})", "np.broadcast_to({0}, {shape})", expanded, "view", weight=2)
op("swapaxes", "paddle.swapaxes({0}, 0, {axis})", "np.swapaxes({0}, 0, {axis})", with_axis(2), "view", weight=0.3)
op("moveaxis", "paddle.moveaxis({0}, 0, {axis})", "np.moveaxis({0}, 0, {axis})", with_axis(2), "view", weight=0.3)
op("diagonal", "paddle.diagonal({0})", "np.diagonal({0})", lambda d: Proposal((d.rank(2),), {}), "view", weight=0.4)


def reshaped(d: Draw) -> Proposal:
    """One size may be -1; the others are fixed, or those of the operand."""
    x = d.rank(1, 2, 3, 4)
    shape = d.shape(x)
    kind = d.integer(0, 3)
    if kind == 0 or 0 in shape:
        return Proposal((x,), {"shape": "[-1]"})
    fixed = [n for a, n in enumerate(shape) if not d.varying(x, a)]
    total = int(np.prod(fixed))
    divisors = [k for k in range(1, total + 1) if total % k == 0]
    k = d.choose(divisors)
    if kind == 1:
        return Proposal((x,), {"shape": f"[{k}, -1]" if d.chance(0.5) else f"[-1, {k}]"})
    if kind == 2 and len(shape) > 1:
        return Proposal((x,), {"shape": f"[{d.text(0, x, 0)}, -1]"})
    return Proposal((x,), {"shape": f"[-1, 1, {k}]"})


op("reshape", "{0}.reshape({shape})", "{0}.reshape({shape})", reshaped, "view", weight=1.5, tags="unclear")
op(
    "flatten",
    "paddle.flatten({0}, {a}, {b})",
    "{0}.reshape(*{0}.shape[:{a}], -1)",
    lambda d: Proposal((d.rank(2, 3),), {"a": d.integer(0, 1), "b": -1}),
    "view",
    weight=0.4,
    tags="unclear",
)


def parts_of(how: Callable[[Draw, str, int], tuple[dict[str, Any], int]]) -> Callable[[Draw], Proposal]:
    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: any(n > 1 and not d.varying(x, a) for a, n in enumerate(d.shape(x))))
        axis = d.choose([a for a, n in enumerate(d.shape(x)) if n > 1 and not d.varying(x, a)])
        attributes, count = how(d, x, axis)
        return Proposal((x,), {"axis": axis, **attributes}, count)

    return propose


def _sections(d: Draw, x: str, axis: int) -> tuple[dict[str, Any], int]:
    n = d.shape(x)[axis]
    first = d.integer(1, n - 1)
    return {"sections": [first, n - first]}, 2


def _parts(d: Draw, x: str, axis: int) -> tuple[dict[str, Any], int]:
    n = d.shape(x)[axis]
    if n > 4:
        raise Refused
    return {}, n


# Copies, as in the reference framework; unbind gives views.
op(
    "split",
    "paddle.split({0}, {sections}, {axis})",
    "torch.split({0}, {sections}, {axis})",
    parts_of(_sections),
    weight=0.8,
)
op("unbind", "paddle.unbind({0}, {axis})", "unbound({0}, {axis})", parts_of(_parts), "view", weight=0.8)
op(
    "chunk",
    "paddle.chunk({0}, {count}, {axis})",
    "torch.chunk({0}, {count}, {axis})",
    parts_of(lambda d, x, axis: ({"count": d.shape(x)[axis]}, _parts(d, x, axis)[1])),
    weight=0.4,
)

# In place of shape.
op(
    "transpose_",
    "{0}.transpose_({perm})",
    "{0}.transpose({perm})",
    lambda d: Proposal((x := d.rank(2, 3),), {"perm": d.permutation(len(d.shape(x)))}),
    "turn",
    results=0,
    weight=0.8,
)
op("t_", "{0}.t_()", "{0}.T", lambda d: Proposal((d.rank(2),), {}), "turn", results=0, weight=0.4)
op(
    "unsqueeze_",
    "{0}.unsqueeze_({axis})",
    "np.expand_dims({0}, {axis})",
    lambda d: Proposal((x := d.rank(0, 1, 2, 3),), {"axis": d.integer(0, len(d.shape(x)))}),
    "turn",
    results=0,
    weight=0.6,
)
op("squeeze_", "{0}.squeeze_({axis})", "np.squeeze({0}, {axis})", squeezable, "turn", results=0, weight=0.4)
op("reshape_", "{0}.reshape_({shape})", "{0}.reshape({shape})", reshaped, "turn", results=0, weight=0.4, tags="unclear")
op(
    "flatten_",
    "{0}.flatten_()",
    "{0}.reshape(-1)",
    lambda d: Proposal((d.rank(1, 2, 3),), {}),
    "turn",
    results=0,
    weight=0.3,
    tags="unclear",
)

# --- writes by index -------------------------------------------------------------------------------------------------


def shares(d: Draw, x: str) -> bool:
    """Whether elements share memory: such a value cannot be written to by arrays of indices."""
    places = d.values[0][x].at.positions
    return len(np.unique(places)) < places.size


def assigned(advanced: bool, value: str) -> Callable[[Draw], Proposal]:
    """``x[index] = ...``: a number, or a value that broadcasts to what the index selects."""

    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: bool(d.shape(x)) and not (advanced and shares(d, x)))
        index, tensors = d.index(x, advanced)
        if value == "number":
            return Proposal((x, *tensors), {"index": index, "s": d.number()})
        y = d.pick(lambda y: d.dtypes[y] == d.dtypes[x] and len(d.shape(y)) <= len(d.shape(x)))
        return Proposal((x, *tensors, y), {"index": index, "y": f"{{{len(tensors) + 1}}}"})

    return propose


for _name, _advanced in (("put", False), ("put_many", True)):
    op(
        f"{_name}_number",
        "{0}[{index}] = {s}",
        "{s}",
        assigned(_advanced, "number"),
        "write",
        region="{0}[{index}]",
        results=0,
        weight=0.8,
    )
    op(
        _name,
        "{0}[{index}] = {y}",
        "{y}",
        assigned(_advanced, "value"),
        "write",
        region="{0}[{index}]",
        results=0,
        weight=1.2,
    )
op(
    "put_part",
    "{0}[0] = {0}[-1]",
    "{0}[-1]",
    lambda d: Proposal((d.rank(1, 2, 3),), {}),
    "write",
    region="{0}[0]",
    results=0,
    weight=0.4,
)
op(
    "put_expression",
    "{0}[{index}] = {0}[{index}] * {s}",
    "{0}.view(lambda i: i[{index}]).t * {s}",
    lambda d: Proposal((x := d.rank(1, 2, 3),), {"index": d.index(x)[0], "s": d.number()}),
    "rewrite",
    region="{0}[{index}]",
    results=0,
    weight=0.5,
)


def overlapping(d: Draw) -> Proposal:
    """A part without overlap of a value whose elements share memory."""

    x = d.pick(lambda x: bool(d.shape(x)) and d.shape(x)[0] > 1 and shares(d, x))
    index = ", ".join([d.choose(("0", "-1")), *(["1:"] if d.chance(0.3) and len(d.shape(x)) > 1 else [])])
    y = d.pick(lambda y: d.dtypes[y] == d.dtypes[x] and len(d.shape(y)) < len(d.shape(x)))
    return Proposal((x, y), {"index": index})


op(
    "put_overlapping", "{0}[{index}] = {1}", "{1}", overlapping, "write", region="{0}[{index}]", results=0, weight=8.0
)  # rarely there is such a value


def masked_put(d: Draw) -> Proposal:
    m = d.pick(lambda x: d.dtypes[x] == "bool" and bool(d.shape(x)), floating=False)
    x = d.pick(lambda x: all(v[x].shape == v[m].shape for v in d.values))
    return Proposal((x, m), {"s": d.number()})


op("put_mask", "{0}[{1}] = {s}", "{s}", masked_put, "write", region="{0}[{1}]", results=0, weight=0.6, tags="mask")

# --- indexing that copies --------------------------------------------------------------------------------------------


def indexed(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)))
    index, tensors = d.index(x, advanced=True)
    if "[" not in index and not tensors:
        raise Refused
    return Proposal((x, *tensors), {"index": index})


op("take", "{0}[{index}]", "made({0}.view(lambda i: i[{index}]).t.clone())", indexed, "take", weight=1.5)
op(
    "take_mask",
    "{0}[{1}]",
    "{0}[{1}]",
    lambda d: Proposal(masked_put(d).operands, {}),
    weight=0.5,
    dtype=lambda x, m: x,
    tags="mask",
)


def rows_of(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)))
    axis = d.axis(x, fixed=True)
    n = d.shape(x)[axis]
    if not n:
        raise Refused
    return Proposal((x, d.input([d.choose((1, 2, 3))], "int64", f"index:{n}")), {"axis": axis, "n": n})


op(
    "index_select",
    "paddle.index_select({0}, {1}, {axis})",
    "torch.index_select({0}, {axis}, {1})",
    rows_of,
    dtype=lambda x, i: x,
    weight=0.5,
)
op(
    "gather",
    "paddle.gather({0}, {1}, {axis})",
    "torch.index_select({0}, {axis}, {1})",
    rows_of,
    dtype=lambda x, i: x,
    weight=0.4,
)
op(
    "index_fill",
    "paddle.index_fill({0}, {1}, {axis}, 0.5)",
    "torch.index_fill({0}, {axis}, {1}, 0.5)",
    rows_of,
    dtype=lambda x, i: x,
    weight=0.2,
)
op("one_hot", "F.one_hot({1}, {n})", "F.one_hot({1}, {n}).double()", rows_of, dtype=always("float32"), weight=0.3)
op("embedding", "F.embedding({1}, {0})", "F.embedding({1}, {0})", lambda d: _table(d), dtype=lambda w, i: w, weight=0.4)


def _table(d: Draw) -> Proposal:
    w = d.pick(lambda x: len(d.shape(x)) == 2 and not d.varying(x, 0) and d.shape(x)[0] > 0)
    return Proposal((w, d.input(["n", 2] if d.chance(0.5) else ["n"], "int64", f"index:{d.shape(w)[0]}")), {})


# --- reductions ------------------------------------------------------------------------------------------------------

op("sum", "paddle.sum({0}, {axis}, keepdim={keep})", "torch.sum({0}, {all}, {keep})", reduced, weight=1.2)
op("mean", "paddle.mean({0}, {axis}, {keep})", "torch.mean({0}, {all}, {keep})", reduced, weight=1.2)
op("max", "paddle.max({0}, {axis}, {keep})", "torch.amax({0}, {all}, {keep})", reduced, weight=0.6)
op("min", "paddle.min({0}, {axis}, {keep})", "torch.amin({0}, {all}, {keep})", reduced, weight=0.4)
op("amax", "paddle.amax({0}, {axis}, {keep})", "torch.amax({0}, {all}, {keep})", reduced, weight=0.2)
op("logsumexp", "paddle.logsumexp({0}, {axis}, {keep})", "torch.logsumexp({0}, {all}, {keep})", reduced, weight=0.5)
op(
    "var",
    "paddle.var({0}, {axis}, True, {keep})",
    "torch.var({0}, {all}, correction=1, keepdim={keep})",
    reduced,
    weight=0.5,
)
op(
    "std",
    "paddle.std({0}, {axis}, False, {keep})",
    "torch.std({0}, {all}, correction=0, keepdim={keep})",
    reduced,
    weight=0.4,
)
op("norm", "paddle.linalg.norm({0})", "torch.linalg.vector_norm({0})", any_float, weight=0.3)
op("prod", "paddle.prod({0}, {axis})", "torch.prod({0}, {axis})", with_axis(), weight=0.4)
op("cumsum", "paddle.cumsum({0}, {axis})", "torch.cumsum({0}, {axis})", with_axis(), weight=0.5)
op("cumprod", "paddle.cumprod({0}, {axis})", "torch.cumprod({0}, {axis})", with_axis(), weight=0.3)
op("logcumsumexp", "paddle.logcumsumexp({0}, {axis})", "torch.logcumsumexp({0}, {axis})", with_axis(), weight=0.3)
op("argmax", "paddle.argmax({0}, {axis})", "torch.argmax({0}, {axis})", with_axis(), dtype=always("int64"), weight=0.3)
op("any", "paddle.any({0} > {s})", "torch.any({0} > {s})", scalar, dtype=always("bool"), weight=0.1)
op("sort", "paddle.sort({0}, {axis})", "torch.sort({0}, {axis})[0]", with_axis(), weight=0.4)
op("topk", "paddle.topk({0}, 1, axis={axis})[0]", "torch.topk({0}, 1, {axis})[0]", with_axis(), weight=0.3)
op("softmax", "F.softmax({0}, {axis})", "torch.softmax({0}, {axis})", with_axis(), weight=1)
op("log_softmax", "F.log_softmax({0}, {axis})", "torch.log_softmax({0}, {axis})", with_axis(), weight=0.5)
op("normalize", "F.normalize({0}, axis={axis})", "F.normalize({0}, dim={axis})", with_axis(), weight=0.3)
op("tril", "paddle.tril({0})", "torch.tril({0})", lambda d: Proposal((d.rank(2, 3),), {}), weight=0.2)
op("triu", "paddle.triu({0}, 1)", "torch.triu({0}, 1)", lambda d: Proposal((d.rank(2, 3),), {}), weight=0.2)


def normed(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) > 1 and not d.varying(x, -1) and d.shape(x)[-1] > 1)
    n = d.shape(x)[-1]
    return Proposal((x, d.input([n], dtype=d.dtypes[x]), d.input([n], dtype=d.dtypes[x])), {"n": n})


op(
    "layer_norm",
    "F.layer_norm({0}, [{n}], {1}, {2}, 1e-2)",
    "F.layer_norm({0}, [{n}], {1}, {2}, 1e-2)",
    normed,
    weight=0.5,
)


def channels(d: Draw) -> Proposal:
    """Of at least one element: statistics of none are NaN, where PyTorch leaves them alone."""
    x = d.pick(
        lambda x: len(d.shape(x)) in (2, 3, 4) and not d.varying(x, 1) and all(0 not in v[x].shape for v in d.values)
    )
    n = d.shape(x)[1]
    names = [d.input([n], dtype=d.dtypes[x]) for _ in range(2)]
    names += [d.input([n], dtype=d.dtypes[x], grad=False), d.input([n], dtype=d.dtypes[x], fill="positive", grad=False)]
    return Proposal((x, *names), {})


op(
    "batch_norm",
    "F.batch_norm({0}, {3}.clone(), {4}.clone(), {1}, {2}, training=True, epsilon=1e-2)",
    "F.batch_norm({0}, None, None, {1}, {2}, training=True, eps=1e-2)",
    channels,
    weight=0.3,
    tags="norm",
)
op(
    "batch_norm_eval",
    "F.batch_norm({0}, {3}, {4}, {1}, {2}, epsilon=1e-2)",
    "F.batch_norm({0}, {3}, {4}, {1}, {2}, eps=1e-2)",
    channels,
    weight=0.2,
    tags="norm",
)
op(
    "group_norm",
    "F.group_norm({0}, 1, 1e-2, {1}, {2})",
    "F.group_norm({0}, 1, {1}, {2}, 1e-2)",
    channels,
    weight=0.3,
    tags="norm",
)
op(
    "instance_norm",
    "F.instance_norm({0}, weight={1}, bias={2}, eps=1e-2)",
    "F.instance_norm({0}, weight={1}, bias={2}, eps=1e-2)",
    channels,
    weight=0.2,
    tags="norm",
)

# --- products --------------------------------------------------------------------------------------------------------


def product(d: Draw) -> Proposal:
    x = d.rank(1, 2, 3)
    inner = d.size(x, -1)

    def fits(y: str) -> bool:
        shape = d.shape(y)
        at = -2 if len(shape) > 1 else -1
        return 0 < len(shape) < 4 and all(v[y].shape[at] == v[x].shape[-1] for v in d.values)

    shape = [inner] if d.chance(0.2) else [inner, d.integer(1, 4)]
    return Proposal((x, d.beside(x, fits, shape)), {})


def vectors(d: Draw) -> Proposal:
    x = d.rank(1)
    return Proposal((x, d.like(x)), {})


def any_vectors(d: Draw) -> Proposal:
    x = d.rank(1)
    return Proposal((x, d.beside(x, lambda y: len(d.shape(y)) == 1, [2])), {})


def square_of(*ranks: int) -> Callable[[Draw], Proposal]:
    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: len(d.shape(x)) in ranks and all(v[x].shape[-1] == v[x].shape[-2] for v in d.values))
        return Proposal((x, d.like(x), d.like(x)), {"b": d.number()})

    return propose


op("matmul", "paddle.matmul({0}, {1})", "torch.matmul({0}, {1})", product, weight=1.5, refused=True)
op("at", "{0} @ {1}", "{0} @ {1}", product, weight=0.5, refused=True)
op(
    "gram",
    "paddle.matmul({0}, {0}, transpose_y=True)",
    "{0} @ {0}.mT",
    lambda d: Proposal((d.rank(2, 3),), {}),
    weight=0.6,
)
op("dot", "paddle.dot({0}, {1})", "torch.dot({0}, {1})", vectors, weight=0.7)
op("outer", "paddle.outer({0}, {1})", "torch.outer({0}, {1})", any_vectors, weight=0.5)
op(
    "inner",
    "paddle.inner({0}, {1})",
    "torch.inner({0}, {1})",
    lambda d: Proposal((x := d.rank(1, 2), d.like(x)), {}),
    weight=0.4,
)
op(
    "kron",
    "paddle.kron({0}, {1})",
    "torch.kron({0}, {1})",
    lambda d: Proposal((x := d.rank(1, 2), d.like(x)), {}),
    weight=0.3,
)
op("bmm", "paddle.bmm({0}, {1})", "torch.bmm({0}, {1})", square_of(3), weight=0.4, dtype=lambda *d: d[0])
op("mm", "paddle.mm({0}, {1})", "torch.mm({0}, {1})", square_of(2), weight=0.3)
op(
    "addmm",
    "paddle.addmm({0}, {1}, {2}, beta={b}, alpha=0.5)",
    "torch.addmm({0}, {1}, {2}, beta={b}, alpha=0.5)",
    square_of(2),
    weight=0.6,
)
op(
    "baddbmm",
    "paddle.baddbmm({0}, {1}, {2}, beta={b})",
    "torch.baddbmm({0}, {1}, {2}, beta={b})",
    square_of(3),
    weight=0.3,
)
EINSUMS = {
    2: ("ij,ij->i", "ij,kj->ik", "ij,ij->", "ij,ij->ji"),
    3: ("bij,bij->bi", "bij,bkj->bik"),
    1: ("i,i->", "i,j->ij"),
}
op(
    "einsum",
    "paddle.einsum('{eq}', {0}, {1})",
    "torch.einsum('{eq}', {0}, {1})",
    lambda d: Proposal((x := d.rank(1, 2, 3), d.like(x)), {"eq": d.choose(EINSUMS[len(d.shape(x))])}),
    weight=0.8,
)
op(
    "tensordot",
    "paddle.tensordot({0}, {1}, [[0], [0]])",
    "torch.tensordot({0}, {1}, ([0], [0]))",
    lambda d: Proposal((x := d.rank(1, 2), d.like(x)), {}),
    weight=0.3,
)
op(
    "vecdot",
    "paddle.linalg.vecdot({0}, {1})",
    "torch.linalg.vecdot({0}, {1})",
    lambda d: Proposal((x := d.rank(1, 2, 3), d.like(x)), {}),
    weight=0.2,
)


def layer(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) in (2, 3) and not d.varying(x, -1) and d.shape(x)[-1] > 0)
    n, m = d.shape(x)[-1], d.integer(1, 4)
    return Proposal((x, d.input([n, m], dtype=d.dtypes[x]), d.input([m], dtype=d.dtypes[x])), {})


op("linear", "F.linear({0}, {1}, {2})", "{0} @ {1} + {2}", layer, weight=1.2)


def convolution(n: int) -> Callable[[Draw], Proposal]:
    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: len(d.shape(x)) == n + 2 and not any(d.varying(x, a) for a in range(1, n + 2)))
        c = d.shape(x)[1]
        if not c or min(d.shape(x)[2:]) < 2:
            raise Refused
        w = d.input([d.integer(1, 3), c, *[2] * n], dtype=d.dtypes[x])
        return Proposal((x, w), {"stride": d.integer(1, 2), "pad": d.integer(0, 1)})

    return propose


op(
    "conv1d",
    "F.conv1d({0}, {1}, None, {stride}, {pad})",
    "F.conv1d({0}, {1}, None, {stride}, {pad})",
    convolution(1),
    weight=0.5,
)
op(
    "conv2d",
    "F.conv2d({0}, {1}, None, {stride}, {pad})",
    "F.conv2d({0}, {1}, None, {stride}, {pad})",
    convolution(2),
    weight=0.5,
)
op("avg_pool1d", "F.avg_pool1d({0}, 2, 1)", "F.avg_pool1d({0}, 2, 1)", lambda d: Proposal((d.rank(3),), {}), weight=0.2)
op("max_pool2d", "F.max_pool2d({0}, 2, 1)", "F.max_pool2d({0}, 2, 1)", lambda d: Proposal((d.rank(4),), {}), weight=0.3)

# --- joining and moving ----------------------------------------------------------------------------------------------


def joined(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)))
    return Proposal((x, d.like(x), d.like(x)), {"axis": d.axis(x)})


op("concat", "paddle.concat([{0}, {1}, {2}], {axis})", "torch.cat([{0}, {1}, {2}], {axis})", joined, weight=0.8)
op("concat_two", "paddle.concat([{0}, {1}])", "torch.cat([{0}, {1}])", joined, weight=0.6)
op("stack", "paddle.stack([{0}, {1}], {axis})", "torch.stack([{0}, {1}], {axis})", joined, weight=0.8)
op("stack_three", "paddle.stack([{0}, {1}, {0}])", "torch.stack([{0}, {1}, {0}])", joined, weight=0.3)
op("tile", "paddle.tile({0}, [2])", "torch.tile({0}, [2])", lambda d: Proposal((d.rank(1, 2),), {}), weight=0.3)
op("flip", "paddle.flip({0}, [{axis}])", "torch.flip({0}, [{axis}])", with_axis(), weight=0.4)
op(
    "roll",
    "paddle.roll({0}, {k}, {axis})",
    "torch.roll({0}, {k}, {axis})",
    lambda d: Proposal((x := d.rank(1, 2, 3),), {"k": d.integer(-2, 2), "axis": d.axis(x)}),
    weight=0.4,
)
op(
    "pad",
    "F.pad({0}, [1, 2], value=0.5)",
    "F.pad({0}, [1, 2], value=0.5)",
    lambda d: Proposal((d.rank(3),), {}),
    weight=0.3,
)
op(
    "repeat",
    "paddle.repeat_interleave({0}, 2, {axis})",
    "torch.repeat_interleave({0}, 2, {axis})",
    with_axis(),
    weight=0.3,
)
op(
    "gather_along",
    "paddle.take_along_axis({0}, paddle.argsort({0}, {axis}), {axis})",
    "torch.take_along_dim({0}, torch.argsort({0}, {axis}), {axis})",
    with_axis(),
    weight=0.3,
)
op("diff", "paddle.diff({0}, axis={axis})", "torch.diff({0}, dim={axis})", with_axis(), weight=0.2)
op(
    "count",
    "paddle.arange({0}.shape[0], dtype='float64') + {0}.sum().astype('float64')",
    "torch.arange({0}.shape[0], dtype=torch.float64) + {0}.sum()",
    lambda d: Proposal((d.rank(1, 2),), {}),
    dtype=always("float64"),
    weight=0.3,
    tags="cast",
)

# --- losses ----------------------------------------------------------------------------------------------------------


def like_pair(d: Draw) -> Proposal:
    return Proposal((x := d.pick(), d.like(x)), {"r": d.choose(("mean", "sum", "none"))})


def unaveraged_pair(d: Draw) -> Proposal:
    """PyTorch warns of the mean of a divergence."""
    return Proposal((x := d.pick(), d.like(x)), {"r": d.choose(("none", "sum"))})


for _name in ("mse_loss", "l1_loss", "smooth_l1_loss", "kl_div"):
    op(
        _name,
        f"F.{_name}({{0}}, {{1}}, reduction='{{r}}')",
        f"F.{_name}({{0}}, {{1}}, reduction='{{r}}')",
        like_pair if _name != "kl_div" else unaveraged_pair,
        weight=0.4,
    )
op(
    "kl_of_log_softmax",
    "F.kl_div(F.log_softmax({0}, -1), F.softmax({1}, -1), reduction='{r}')",
    "F.kl_div(F.log_softmax({0}, -1), F.softmax({1}, -1), reduction='{r}')",
    lambda d: Proposal((x := d.rank(1, 2, 3), d.like(x)), {"r": d.choose(("none", "sum"))}),
    weight=0.4,
)
op(
    "bce_with_logits",
    "F.binary_cross_entropy_with_logits({0}, F.sigmoid({1}), reduction='{r}')",
    "F.binary_cross_entropy_with_logits({0}, F.sigmoid({1}), reduction='{r}')",
    like_pair,
    weight=0.3,
)


def compared(d: Draw) -> Proposal:
    """Two values: of one with itself the derivatives cancel, and what is left is the rounding of large numbers."""
    x = d.rank(1, 2, 3)
    y = d.like(x)
    if x == y:
        raise Refused
    return Proposal((x, y), {"axis": d.axis(x)})


op(
    "cosine_similarity",
    "F.cosine_similarity({0}, {1}, axis={axis})",
    "F.cosine_similarity({0}, {1}, dim={axis})",
    compared,
    weight=0.3,
)


def classified(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) == 2 and not d.varying(x, 1) and d.shape(x)[1] > 1)
    label = d.input([d.size(x, 0)], "int64", f"index:{d.shape(x)[1]}")
    return Proposal((x, label), {"r": d.choose(("mean", "sum", "none"))})


op(
    "cross_entropy",
    "F.cross_entropy({0}, {1}, reduction='{r}')",
    "F.cross_entropy({0}, {1}, reduction='{r}')",
    classified,
    dtype=lambda x, i: x,
    weight=0.6,
    tags="labels",
)

# --- gradients within ------------------------------------------------------------------------------------------------


def settled(d: Draw) -> str:
    """A value that wants a gradient and whose memory nothing has written to."""
    return d.pick(
        lambda x: all(v[x].t.requires_grad and v[x].cell.version == 0 and v[x].at.parent is None for v in d.values)
    )


op(
    "hook",
    "{0}.register_hook(lambda g: g * {s})",
    "{0}.t.register_hook(lambda g: None if g is None else g * {s})",  # None: no gradient
    lambda d: Proposal((settled(d),), {"s": d.number()}),
    "statement",
    results=0,
    weight=0.7,
    tags="hook",
)
op(
    "grad",
    "paddle.grad([({1} * {1}).sum()], [{0}], create_graph=True)[0]",
    "made(torch.autograd.grad(({1}.t * {1}.t).sum(), {0}.t, create_graph=True)[0])",
    lambda d: Proposal((settled(d), d.pick()), {}),
    "statement",
    dtype=lambda x, y: x,
    weight=0.7,
    tags="grad",
)
op("detach", "{0}.detach()", "made({0}.unclear().t.detach()).unclear()", any_float, "statement", weight=0.4, tags="cut")

# --- random numbers --------------------------------------------------------------------------------------------------

op(
    "dropout",
    "dropout({0}, {p})",
    "{0} * draw({0}.shape, 'mask') / (1 - {p})",
    lambda d: Proposal((d.pick(),), {"p": d.choose((0.3, 0.5))}),
    weight=0.5,
    tags="random",
)
op(
    "rand",
    "drawn(paddle.rand({shape}, dtype={0}.dtype)) * {0}",
    "draw({shape}, 'uniform') * {0}",
    lambda d: Proposal((x := d.pick(),), {"shape": f"[{', '.join(d.text(0, x, a) for a in range(len(d.shape(x))))}]"}),
    weight=0.3,
    tags="random",
)
op(
    "randn",
    "drawn(paddle.randn({shape}, dtype={0}.dtype)) + {0}",
    "draw({shape}, 'normal') + {0}",
    lambda d: Proposal((x := d.pick(),), {"shape": f"[{', '.join(d.text(0, x, a) for a in range(len(d.shape(x))))}]"}),
    weight=0.3,
    tags="random",
)
