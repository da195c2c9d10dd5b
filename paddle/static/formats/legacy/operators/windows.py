"""Convolutions, with what the passes of the reference put into them, and other layers that a row cannot say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle.static.formats.graph import Attribute, TensorType
from paddle.static.formats.legacy.operators.broadcasting import activated, matrices
from paddle.static.formats.legacy.operators.renamed import without_last_axis
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import Renamed, rows, rule
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

_WINDOW = (
    Renamed("strides", ("strides",), default=[1, 1]), Renamed("paddings", ("paddings",), default=[0, 0]),
    Renamed("padding_algorithm", ("padding_algorithm",), default="EXPLICIT"),
    Renamed("dilations", ("dilations",), default=[1, 1]), Renamed("groups", ("groups",), default=1),
    Renamed("data_format", ("data_format",), default="NCHW"),
)  # fmt: skip


@rule("conv2d", "depthwise_conv2d", "conv2d_fusion", "fused_conv2d", "fused_conv2d_add_act", "depthwise_conv2d_bias")
def _convolution(t: Translator, o: Operator) -> None:
    """A convolution; then, where passes have fused them, a bias, a residual and an activation."""
    lower = o.type == "depthwise_conv2d_bias"
    x, w = (t.input(o, k.lower() if lower else k) for k in ("Input", "Filter"))
    target = "depthwise_conv2d" if o.type.startswith("depthwise") else "conv2d"
    _finish_convolution(t, o, target, [x, w], _WINDOW)


@rule("conv2d_transpose", "depthwise_conv2d_transpose", "conv2d_transpose_bias")
def _transposed(t: Translator, o: Operator) -> None:
    size = t.constant(o, "output_size", [])
    target = "depthwise_conv2d_transpose" if o.type.startswith("depthwise") else "conv2d_transpose"
    padding = Renamed("output_padding", ("output_padding",), default=[])
    _finish_convolution(t, o, target, [t.input(o, "Input"), t.input(o, "Filter"), size], (*_WINDOW, padding))


def _finish_convolution(
    t: Translator, o: Operator, target: str, operands: list[int | None], given: tuple[Renamed, ...]
) -> None:
    attributes = {a.name: found for a in given if (found := t.attribute(o, a)) is not None}
    slot = "out" if "out" in o.outputs else "Output"
    made = t.emit(f"pd_op.{target}", operands, attributes, [t.result_type(o, slot)])[0]
    bias = next((b for k in ("Bias", "bias") if (b := t.optional(o, k)) is not None), None)
    if bias is not None:
        last = o.get("data_format", "NCHW").endswith("C")
        made = t.call("add", made, bias if last else t.call("reshape", bias, t.integers([1, -1, 1, 1])))
    residual = t.optional(o, "ResidualData")
    if residual is not None:
        made = t.call("add", made, residual)
    name = o.get("fuse_activation", "") or o.get("activation", "")
    if o.get("fuse_relu", False):
        name = "relu"
    if o.type in ("conv2d_fusion", "fused_conv2d_add_act") and "activation" not in o.attributes:
        name = "relu"
    t.finish(o, slot, activated(t, made, name, o))


@rule("dropout")
def _dropout(t: Translator, o: Operator) -> None:
    """Files for inference say ``is_test``; in the older way, numbers are then made smaller by what would be kept."""
    probability = t.constant(o, "dropout_prob", 0.5)
    attributes = {
        "is_test": bool(o.get("is_test", False)), "seed": o.get("seed", 0),
        "mode": o.get("dropout_implementation", "downgrade_in_infer"),
        "fix_seed": bool(o.get("fix_seed", False)),
    }  # fmt: skip
    x = t.input(o, "X")
    made = {k: Attribute({bool: "bool", int: "i32", str: "str"}[type(v)], v) for k, v in attributes.items()}
    types = [t.type(x), t.result_type(o, "Mask")]
    out, mask = t.emit("pd_op.dropout", [x, t.optional(o, "Seed"), probability], made, types)
    t.define(o, "Mask", mask)
    t.finish(o, "Out", out)


@rule("lookup_table")
def _lookup_table(t: Translator, o: Operator) -> None:
    """The first version: numbers stand in a last axis of size 1, in whose place those of the result come."""
    index = without_last_axis(t, t.input(o, "Ids"))
    padding = Attribute("i64", o.get("padding_idx", -1))
    table = t.input(o, "W")
    t.finish(o, "Out", t.call("embedding", index, table, like=table, padding_idx=padding, sparse=False))


@rule("bilinear_interp", "nearest_interp", "bicubic_interp", "linear_interp", "trilinear_interp")
def _resize(t: Translator, o: Operator) -> None:
    """The first versions: one scale for all axes, 0 for none."""
    kind = o.type.removesuffix("_interp")
    scale = o.get("scale", 0.0)
    x = t.input(o, "X")
    scales = [float(scale)] * (t.rank(x) - 2) if isinstance(scale, float) and scale > 0 else []
    parts = t.inputs(o, "SizeTensor")
    operands = [x, t.optional(o, "OutSize"), t.combine(parts) if parts else None, t.optional(o, "Scale")]
    attributes = {
        "data_format": o.get("data_layout", "NCHW"),
        **{k: o.get(k, 0) for k in ("out_d", "out_h", "out_w")},
        "scale": scales, "interp_method": o.get("interp_method", kind),
        "align_corners": bool(o.get("align_corners", True)), "align_mode": o.get("align_mode", 1),
    }  # fmt: skip
    t.finish(o, "Out", t.call(o.type, *operands, **attributes))


@rule("pad2d")
def _pad2d(t: Translator, o: Operator) -> None:
    """Rows, then columns, where ``pad3d`` has columns first."""
    form = o.get("data_format", "NCHW")
    pads = t.optional(o, "Paddings")
    given = o.integers("paddings", [0, 0, 0, 0])
    if pads is not None or len(given) != 4:
        raise FormatError(f"four constants as its attribute 'paddings' are required, got {given}")
    top, bottom, left, right = given
    mode = o.get("mode", "constant")
    mode = "replicate" if mode == "edge" else mode
    x = t.input(o, "X")
    depth = 2 if form == "NCHW" else 1
    type = t.type(x)
    if not isinstance(type, TensorType) or len(type.shape) != 4:
        raise FormatError(f"an operand of four axes is required, got {type}")
    deep = t.call("unsqueeze", x, t.integers([depth]))
    t.retype(deep, TensorType(type.dtype, (*type.shape[:depth], 1, *type.shape[depth:])))
    value = float(o.get("pad_value", 0.0))
    made = t.call(
        "pad3d", deep, t.integers([left, right, top, bottom, 0, 0]), mode=mode, pad_value=value,
        data_format="NCDHW" if form == "NCHW" else "NDHWC",
    )  # fmt: skip
    t.finish(o, "Out", t.call("squeeze", made, t.integers([depth])))


@rule("affine_channel")
def _affine_channel(t: Translator, o: Operator) -> None:
    x, scale, bias = (t.input(o, k) for k in ("X", "Scale", "Bias"))
    if o.get("data_layout", "AnyLayout") != "NHWC" and t.rank(x) > 2:
        sizes = [1, -1, *[1] * (t.rank(x) - 2)]
        scale, bias = (t.call("reshape", v, t.integers(sizes)) for v in (scale, bias))
    t.finish(o, "Out", t.call("add", t.call("multiply", x, scale), bias))


@rule("fc")
def _fc(t: Translator, o: Operator) -> None:
    if o.get("padding_weights", False):
        raise FormatError("weights without padding are required, got some with it ('padding_weights')")
    made = matrices(t, t.input(o, "Input"), t.input(o, "W"), o.get("in_num_col_dims", 1))
    bias = t.optional(o, "Bias")
    if bias is not None:
        made = t.call("add", made, bias)
    t.finish(o, "Out", activated(t, made, o.get("activation_type", ""), o))


# Batch norm of several processes uses, in a saved model, the same statistics as one.
rows("""
sync_batch_norm: batch_norm(X, Mean, Variance, Scale?, Bias?; trainable_statistics~False use_global_stats~False
    data_format=data_layout~"NCHW" epsilon~1e-05 momentum~0.9 is_test~False)
    -> Y MeanOut VarianceOut SavedMean SavedVariance ReserveSpace
""")
