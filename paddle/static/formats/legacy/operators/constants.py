"""Constants and ranges, and reductions over all axes or some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle.static.formats.graph import Attribute, TensorType
from paddle.static.formats.legacy.operators.renamed import constants
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import rows, rule
from paddle.static.formats.parameters import ELEMENTS
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

rows("""
fill_zeros_like: full_like(X, @value~0.0) -> Out
fill_zeros_like2: full_like(X, @value~0.0; dtype@dtype~-1) -> Out
reduce_amax: amax(X; keepdim=keep_dim~False axis=dim~[0]) -> Out
reduce_amin: amin(X; keepdim=keep_dim~False axis=dim~[0]) -> Out
""")


def element_type(number: Any) -> str:
    """The name of an element type, by its number."""
    if number not in ELEMENTS:
        raise FormatError(f"the number of an element type is required, got {number!r}")
    return ELEMENTS[number]


@rule("fill_constant")
def _fill_constant(t: Translator, o: Operator) -> None:
    """One value everywhere; value and sizes may be tensors, and the value text."""
    dtype = element_type(o.get("dtype", 5))
    text, number = o.get("str_value", ""), o.get("value", 0.0)
    if text:
        try:
            number = int(text) if text.lstrip("-").isdigit() else float(text)
        except ValueError as error:
            raise FormatError(f"a number as its attribute 'str_value' is required, got {text!r}") from error
    value = t.optional(o, "ValueTensor")
    shape = t.optional(o, "ShapeTensor")
    parts = t.inputs(o, "ShapeTensorList")
    if value is None and shape is None and not parts:
        t.finish(o, "Out", t.scalar(number, dtype, o.integers("shape")))
        return
    if shape is None:
        shape = t.combine(parts) if parts else t.constant(o, "shape", [])
    if value is None:
        value = t.scalar(number, dtype)
    t.finish(o, "Out", t.call("full_with_tensor", value, shape, like=value, dtype=Attribute("dtype", dtype)))


@rule("assign_value")
def _assign_value(t: Translator, o: Operator) -> None:
    """A constant tensor, element by element."""
    dtype, shape = element_type(o.get("dtype", -1)), tuple(o.integers("shape"))
    attributes = {
        "shape": Attribute("array", tuple(Attribute("i32", n) for n in shape)), "dtype": Attribute("dtype", dtype),
        "values": Attribute("array", tuple(Attribute("scalar", v) for v in constants(o))),
        "place": Attribute("place", (0, 0, "")),
    }  # fmt: skip
    (made,) = t.emit("pd_op.assign_value", [], attributes, [TensorType(dtype, shape)])
    t.finish(o, "Out", made)


@rule("range", "range_v2")
def _range(t: Translator, o: Operator) -> None:
    limits = [t.input(o, k) for k in ("Start", "End", "Step")]
    type = t.result_type(o, "Out") or t.type(limits[0])
    if not isinstance(type, TensorType):
        raise FormatError("a result of a known element type is required, got none")
    t.finish(o, "Out", t.call("arange", *limits, dtype=Attribute("dtype", type.dtype)))


_CONSTANT_AXES = {
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_mean": "mean",
    "reduce_sum": "sum",
    "reduce_prod": "prod",
}


@rule(*_CONSTANT_AXES, "reduce_all", "reduce_any")
def _reduce(t: Translator, o: Operator) -> None:
    """Axes are an operand, or an attribute of ``all`` and ``any``; none of them means all."""
    x = t.input(o, "X")
    every = bool(o.get("reduce_all", False))
    keep = bool(o.get("keep_dim", False))
    axes = [] if every else o.integers("dim", [0])
    if o.type not in _CONSTANT_AXES:
        axis = Attribute("array", tuple(Attribute("i64", n) for n in axes))
        t.finish(o, "Out", t.call(o.type.removeprefix("reduce_"), x, axis=axis, keepdim=keep))
        return
    found = t.integers([]) if every else t.constant(o, "dim", [0])
    attributes: dict[str, Any] = {"keepdim": keep}
    if o.type == "reduce_prod":
        attributes["reduce_all"] = every
    number = o.get("out_dtype", -1)
    if o.type == "reduce_sum" and number != -1:
        attributes["dtype"] = Attribute("dtype", element_type(number))
    t.finish(o, "Out", t.call(_CONSTANT_AXES[o.type], x, found, **attributes))
