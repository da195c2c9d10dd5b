"""Operators that passes of the reference fuse, in those that they were made of; files of optimised models have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle.static.formats.graph import Attribute, TensorType
from paddle.static.formats.legacy.operators.broadcasting import activated, matrices, typed
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import rows, rule
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator


rows("""
fused_dropout_add: fused_dropout_add(x, y, seed_tensor?; fix_seed~False mode seed~0 is_test p) -> out seed_offset
fused_bias_dropout_residual_layer_norm: fused_bias_dropout_residual_layer_norm(X, Residual, Bias?, LnScale?, LnBias?;
    ln_epsilon~1e-05 dropout_implementation~"downgrade_in_infer" dropout_seed~1 dropout_fix_seed~True is_test~False
    dropout_rate~0.5) -> Y BiasDropoutResidualOut DropoutMaskOut LnMean LnVariance
""")


def _norm(t: Translator, x: int, scale: int | None, bias: int | None, axis: int, epsilon: float) -> int:
    attributes = {"epsilon": Attribute("f32", epsilon), "begin_norm_axis": Attribute("i32", axis)}
    types = [t.type(x), None, None]
    return t.emit("pd_op.layer_norm", [x, scale, bias], attributes, types)[0]


def _last_axis(t: Translator, x: int) -> int:
    """The last axis of a value."""
    return t.rank(x) - 1


@rule("skip_layernorm")
def _skip_layernorm(t: Translator, o: Operator) -> None:
    x, y, scale, bias = (t.input(o, k) for k in ("X", "Y", "Scale", "Bias"))
    axis, epsilon = o.get("begin_norm_axis", 2), o.get("epsilon", 1e-5)
    t.finish(o, "Out", _norm(t, t.call("add", x, y), scale, bias, axis, epsilon))


@rule("fused_embedding_eltwise_layernorm")
def _embeddings(t: Translator, o: Operator) -> None:
    """The norm of a sum of embeddings, of words, positions and segments."""
    total = None
    for index, table in zip(t.inputs(o, "Ids"), t.inputs(o, "Embs")):
        type, rows = t.type(index), t.type(table)
        if not isinstance(type, TensorType) or not isinstance(rows, TensorType):
            raise FormatError("numbers and embeddings of known types are required, got none")
        if type.shape and type.shape[-1] == 1:
            index = t.call("squeeze", index, t.integers([-1]))
            t.retype(index, TensorType(type.dtype, type.shape[:-1]))
        padding = Attribute("i64", -1)
        found = t.call("embedding", index, table, like=table, padding_idx=padding, sparse=False)
        t.retype(found, TensorType(rows.dtype, (-1, -1, rows.shape[-1])))
        total = found if total is None else t.call("add", total, found)
    if total is None:
        raise FormatError("embeddings are required, got none")
    made = _norm(t, total, t.input(o, "Scale"), t.input(o, "Bias"), _last_axis(t, total), o.get("epsilon", 1e-5))
    t.finish(o, "Out", made)


@rule("fused_fc_elementwise_layernorm")
def _fc_norm(t: Translator, o: Operator) -> None:
    made = matrices(t, t.input(o, "X"), t.input(o, "W"), o.get("x_num_col_dims", 1))
    bias = t.optional(o, "Bias0")
    if bias is not None:
        made = t.call("add", made, bias)
    made = t.call("add", activated(t, made, o.get("activation_type", ""), o), t.input(o, "Y"))
    axis, epsilon = o.get("begin_norm_axis", 1), o.get("epsilon", 1e-5)
    t.finish(o, "Out", _norm(t, made, t.optional(o, "Scale"), t.optional(o, "Bias1"), axis, epsilon))


@rule("multihead_matmul")
def _attention(t: Translator, o: Operator) -> None:
    """Attention of one input: weights (width, 3, width) and a bias (3, width) of queries, keys and values."""
    x, w, bias = t.input(o, "Input"), t.input(o, "W"), t.input(o, "Bias")
    heads, shape = o.get("head_number", 1), t.type(w)
    if not isinstance(shape, TensorType) or len(shape.shape) != 3 or heads < 1 or shape.shape[2] % heads:
        raise FormatError(f"weights of (width, 3, heads * size) are required, got {shape} for {heads} heads")
    width = shape.shape[2]
    flat = t.call("reshape", w, t.integers([shape.shape[0], 3 * width]))
    t.retype(flat, TensorType(shape.dtype, (shape.shape[0], 3 * width)))
    made = t.call("matmul", x, flat, transpose_x=False, transpose_y=False)
    made = t.call("add", made, t.call("reshape", bias, t.integers([3 * width])))
    size = width // heads
    made = typed(t, t.call("reshape", made, t.integers([0, 0, 3, heads, size])), x, [-1, -1, 3, heads, size])
    made = typed(t, t.call("transpose", made, perm=[2, 0, 3, 1, 4]), x, [3, -1, heads, -1, size])

    def part(i: int) -> int:
        limits = t.integers([i]), t.integers([i + 1])
        found = t.call("slice", made, *limits, axes=[0], infer_flags=[1], decrease_axis=[0])
        return typed(t, found, x, [-1, heads, -1, size])

    q, k, v = (part(i) for i in range(3))
    scores = typed(t, t.call("matmul", q, k, transpose_x=False, transpose_y=True), x, [-1, heads, -1, -1])
    scores = t.call("scale", scores, t.scalar(o.get("alpha", 1.0)), bias=0.0, bias_after_scale=True)
    mask = t.optional(o, "BiasQK")
    if mask is not None:
        scores = t.call("add", scores, mask)
    made = t.call("matmul", t.call("softmax", scores, axis=-1), v, like=q, transpose_x=False, transpose_y=False)
    made = typed(t, t.call("transpose", made, perm=[0, 2, 1, 3]), x, [-1, -1, heads, size])
    t.finish(o, "Out", t.call("reshape", made, t.integers([0, 0, width])))


@rule("fusion_squared_mat_sub")
def _squared_products(t: Translator, o: Operator) -> None:
    """The square of a product, less the product of squares, times a number."""
    x, y = t.input(o, "X"), t.input(o, "Y")
    both = t.call("square", t.call("matmul", x, y, transpose_x=False, transpose_y=False))
    each = t.call("matmul", t.call("square", x), t.call("square", y), transpose_x=False, transpose_y=False)
    scale = t.scalar(o.get("scalar", 1.0))
    t.finish(o, "Out", t.call("scale", t.call("subtract", both, each), scale, bias=0.0, bias_after_scale=True))


@rule("fusion_repeated_fc_relu")
def _layers(t: Translator, o: Operator) -> None:
    made = t.input(o, "X")
    for w, bias in zip(t.inputs(o, "W"), t.inputs(o, "Bias"), strict=False):
        made = t.call("relu", t.call("add", matrices(t, made, w, 1), bias))
    t.finish(o, "Out", made)


@rule("fusion_transpose_flatten_concat")
def _transposed(t: Translator, o: Operator) -> None:
    parts = []
    for x in t.inputs(o, "X"):
        x = t.call("transpose", x, perm=o.integers("trans_axis"))
        axis, rank = o.get("flatten_axis", 1), t.rank(x)
        if not 0 < axis < rank:
            raise FormatError(f"an axis inside of {rank} is required, got {axis}")
        x = t.call("flatten", x, start_axis=axis, stop_axis=-1)
        parts.append(t.call("flatten", x, start_axis=0, stop_axis=axis - 1))
    if not parts:
        raise FormatError("tensors are required, got none")
    t.finish(o, "Out", t.call("concat", t.combine(parts), t.scalar(o.get("concat_axis", 1)), like=parts[0]))


@rule("fused_softplus")
def _softplus(t: Translator, o: Operator) -> None:
    made = t.call("softplus", t.input(o, "x"), beta=o.get("beta", 1.0), threshold=o.get("threshold", 20.0))
    t.finish(o, "out", activated(t, made, o.get("fuse_activation", ""), o))


@rule("fused_matmul")
def _matmul(t: Translator, o: Operator) -> None:
    """A product with a number, a residual and an activation; with reshaped operands it is refused."""
    if any(o.integers(f"fused_{w}_{v}") for w in ("reshape", "transpose") for v in ("X", "Y", "Out")):
        raise FormatError("operands as they are are required, got some that the operator reshapes")
    made = t.call(
        "matmul",
        t.input(o, "X"),
        t.input(o, "Y"),
        transpose_x=o.get("trans_x", False),
        transpose_y=o.get("trans_y", False),
    )
    alpha = o.get("matmul_alpha", 1.0)
    if alpha != 1.0:
        made = t.call("scale", made, t.scalar(alpha), bias=0.0, bias_after_scale=True)
    residual = t.optional(o, "ResidualData")
    if residual is not None:
        made = t.call("add", made, residual)
    t.finish(o, "Out", activated(t, made, o.get("fuse_activation", ""), o))


@rule("fused_elemwise_activation", "fused_elemwise_add_activation")
def _composed(t: Translator, o: Operator) -> None:
    """A function of two tensors after one of the second, or a function of the first after both."""
    functors = [str(x).replace("elementwise_", "") for x in o.get("functor_list", [])]
    if len(functors) != 2 or o.get("axis", -1) != -1:
        raise FormatError(f"two functions of operands of one shape are required, got {functors}")
    binary = {"add": "add", "mul": "multiply", "sub": "subtract"}
    x, y = t.input(o, "X"), t.input(o, "Y")
    outer, inner = functors

    def one(n: int, name: str) -> int:
        if name == "scale":
            return t.call("scale", n, t.scalar(o.get("scale", 0.0)), bias=0.0, bias_after_scale=True)
        return activated(t, n, name, o)

    if outer in binary:
        made = t.call(binary[outer], x, one(y, inner))
    elif inner in binary:
        made = one(t.call(binary[inner], x, y), outer)
    else:
        raise FormatError(f"one of two functions is required to be of {sorted(binary)}, got {functors}")
    t.finish(o, "Out", made)


@rule("quantize")
def _quantize(t: Translator, o: Operator) -> None:
    """Numbers of eight bits, or bfloat16, which the next operator of the library takes."""
    x = t.input(o, "Input")
    if o.get("bfloat16", False):
        t.finish(o, "Output", t.call("cast", x, dtype=Attribute("dtype", "bfloat16")))
        return
    scale, shift = o.get("Scale", 1.0), o.get("Shift", 0.0)
    signed = o.get("is_negative_input", False) and not shift
    x = t.call("round", t.call("scale", x, t.scalar(scale), bias=shift, bias_after_scale=True), decimals=0)
    x = t.call("clip", x, t.scalar(-128.0 if signed else 0.0), t.scalar(127.0 if signed else 255.0))
    t.finish(o, "Output", t.call("cast", x, dtype=Attribute("dtype", "int8" if signed else "uint8")))


@rule("dequantize")
def _dequantize(t: Translator, o: Operator) -> None:
    scale = o.get("Scale", 1.0)
    if scale == 0.0:
        raise FormatError("a scale that is not 0 is required, got 0")
    x = t.call("cast", t.input(o, "Input"), dtype=Attribute("dtype", "float32"))
    made = t.call("scale", x, t.scalar(1.0 / scale), bias=-o.get("Shift", 0.0), bias_after_scale=False)
    t.finish(o, "Output", made)
