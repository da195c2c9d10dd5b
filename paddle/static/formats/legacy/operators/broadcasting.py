"""Functions of two tensors, the second of which may have fewer axes, and products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle.static.formats.graph import TensorType
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import rule
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

# Targets by older names.
_TARGETS = {
    "elementwise_add": "add", "elementwise_sub": "subtract", "elementwise_mul": "multiply",
    "elementwise_div": "divide", "elementwise_floordiv": "floor_divide", "elementwise_mod": "remainder",
    "elementwise_max": "maximum", "elementwise_min": "minimum", "elementwise_pow": "elementwise_pow",
    "grad_add": "add", "fused_elementwise_add": "add", "fused_elementwise_sub": "subtract",
    "fused_elementwise_mul": "multiply", "fused_elementwise_div": "divide",
    **{x: x for x in ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal")},
}  # fmt: skip


@rule(*_TARGETS)
def _broadcast(t: Translator, o: Operator) -> None:
    x, y = broadcast(t, t.input(o, "X"), t.input(o, "Y"), o.get("axis", -1))
    made = t.call(_TARGETS[o.type], x, y, like=x if t.rank(x) >= t.rank(y) else y)
    if o.type.startswith("fused_"):
        made = activated(t, made, o.get("fuse_activation", ""), o)
    t.finish(o, "Out", made)


def broadcast(t: Translator, x: int, y: int, axis: int) -> tuple[int, int]:
    """Both operands, so that axes are matched from the last one.

    The operand with fewer axes begins at ``axis`` of the other one; axes of size 1 at its end do not count.
    """
    if axis == -1 or t.rank(x) == t.rank(y):
        return x, y
    low, high = (y, x) if t.rank(x) > t.rank(y) else (x, y)
    sizes = list(_sizes(t, low))
    rest = t.rank(high) - axis - len(sizes)
    while rest < 0 and sizes and sizes[-1] == 1:
        sizes.pop()
        rest += 1
    if axis < 0 or rest < 0:
        raise FormatError(f"an axis at which {t.type(low)} begins in {t.type(high)} is required, got {axis}")
    if len(sizes) < t.rank(low):
        made = t.call("squeeze", low, t.integers(range(len(sizes), t.rank(low))))
        low = typed(t, made, low, sizes)
    if rest:
        low = typed(
            t, t.call("unsqueeze", low, t.integers(range(len(sizes), len(sizes) + rest))), low, [*sizes, *[1] * rest]
        )
    return (x, low) if high == x else (low, y)


def _sizes(t: Translator, n: int) -> tuple[int, ...]:
    type = t.type(n)
    if not isinstance(type, TensorType):
        raise FormatError("a tensor of known type is required, got none")
    return type.shape


def typed(t: Translator, made: int, like: int, sizes: list[int]) -> int:
    """A value that was just made, of the dtype of another one and other sizes."""
    type = t.type(like)
    assert isinstance(type, TensorType)
    t.retype(made, TensorType(type.dtype, tuple(sizes)))
    return made


def activated(t: Translator, n: int, name: str, o: Operator) -> int:
    """An activation of a value; none where the name is empty."""
    simple = {
        "relu": "relu", "relu6": "relu6", "sigmoid": "sigmoid", "tanh": "tanh", "swish": "swish", "silu": "silu",
        "hard_swish": "hardswish", "hard_sigmoid": "hardsigmoid", "mish": "mish", "abs": "abs", "sqrt": "sqrt",
    }  # fmt: skip
    if name in ("", "identity", "linear"):
        return n
    if name in ("gelu", "gelu_erf", "gelu_tanh"):
        return t.call("gelu", n, approximate=name == "gelu_tanh")
    if name == "leaky_relu":
        return t.call("leaky_relu", n, negative_slope=float(o.get("fuse_alpha", 0.02)))
    if name not in simple:
        raise FormatError(f"an activation of {sorted(simple)} is required, got {name!r}")
    return t.call(simple[name], n)


@rule("mul")
def _mul(t: Translator, o: Operator) -> None:
    """Matrices of flattened axes: the first ones of X are rows, the first ones of Y are summed over."""
    t.finish(
        o,
        "Out",
        matrices(t, t.input(o, "X"), t.input(o, "Y"), *(o.get(f"{v}_num_col_dims", 1) for v in "xy")),
    )


def matrices(t: Translator, x: int, y: int, x_rows: int, y_rows: int = 1) -> int:
    """The product of x and y as matrices, with the axes of x in front and those of y behind."""
    if not (0 < x_rows < t.rank(x) and 0 < y_rows < t.rank(y)):
        raise FormatError(
            f"rows of {x_rows} and {y_rows} axes are required to leave columns, got {t.type(x)}, {t.type(y)}"
        )
    sizes = [*_sizes(t, x)[:x_rows], *_sizes(t, y)[y_rows:]]
    left, right = t.rank(x) - x_rows, t.rank(y) - y_rows
    if left > 1:
        x = typed(t, t.call("flatten", x, start_axis=x_rows, stop_axis=-1), x, [*_sizes(t, x)[:x_rows], -1])
    if y_rows > 1:
        y = typed(t, t.call("flatten", y, start_axis=0, stop_axis=y_rows - 1), y, [-1, *_sizes(t, y)[y_rows:]])
    if right > 1:
        y = typed(t, t.call("flatten", y, start_axis=1, stop_axis=-1), y, [-1, -1])
    made = typed(t, t.call("matmul", x, y, transpose_x=False, transpose_y=False), x, [*_sizes(t, x)[:-1], -1])
    if right > 1:
        if sizes.count(-1) > 1:
            raise FormatError(f"at most one unknown size of a product is required, got {sizes}")
        made = t.call("reshape", made, t.integers(sizes))
    return typed(t, made, x, sizes)


@rule("matmul")
def _matmul(t: Translator, o: Operator) -> None:
    x, y = t.input(o, "X"), t.input(o, "Y")
    transposed = {f"transpose_{v}": bool(o.get(f"transpose_{v.upper()}", False)) for v in "xy"}
    made = t.call("matmul", x, y, **transposed)
    alpha = o.get("alpha", 1.0)
    if alpha != 1.0:
        t.finish(o, "Out", made)  # the type of the product
        made = t.call("scale", made, t.scalar(alpha), bias=0.0, bias_after_scale=True)
    t.finish(o, "Out", made)


@rule("isfinite", "isinf", "isnan")
def _is_all(t: Translator, o: Operator) -> None:
    """Of a whole tensor: are all finite, is any infinite, any not a number?"""
    found = t.call(o.type, t.input(o, "X"))
    t.finish(o, "Out", t.call("all" if o.type == "isfinite" else "any", found, axis=[], keepdim=False))


@rule("isclose", "allclose")
def _is_close(t: Translator, o: Operator) -> None:
    """Tolerances were floats before they were text, and may be tensors."""
    tolerances = []
    for name, default in (("rtol", "1e-5"), ("atol", "1e-8")):
        given = t.optional(o, name.capitalize())
        if given is None:
            text = o.attributes.get(name, default)
            try:
                given = t.scalar(float(text), "float64")
            except (TypeError, ValueError) as error:
                raise FormatError(f"a number as its attribute {name!r} is required, got {text!r}") from error
        tolerances.append(given)
    nan = bool(o.get("equal_nan", False))
    t.finish(o, "Out", t.call(o.type, t.input(o, "Input"), t.input(o, "Other"), *tolerances, equal_nan=nan))
