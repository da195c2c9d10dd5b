"""Rules of real operators over complex numbers: what is linear is applied to real and imaginary parts."""

from __future__ import annotations

from typing import Any

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.elements import PARTS
from paddle.onnx.shapes import known, unsqueeze
from paddle.onnx.table import Call, Rule

# Operators that move, add or scale elements, linear in all of their complex operands together.
LINEAR = {
    "assign_out", "broadcast_tensors", "cumsum", "diag", "diag_embed", "diagonal", "expand", "expand_as", "flatten",
    "flip", "full_with_tensor", "gather", "gather_nd", "index_add", "index_put", "index_sample", "index_select",
    "masked_select", "mean", "meshgrid", "pad", "repeat_interleave", "reshape", "roll", "scatter", "scatter_nd_add",
    "set_value_with_tensor", "split", "split_with_num", "squeeze", "stack", "strided_slice", "sum", "take_along_axis",
    "tile", "trace", "tril", "triu", "tril_triu", "unbind", "unsqueeze", "where",
}  # fmt: skip
# Products, linear in each of two operands.
BILINEAR = {"bmm", "dot", "einsum", "kron", "matmul", "mv"}


def by_parts(g: Builder, rule: Rule, call: Call) -> Any:
    """The results of a rule of real numbers for complex ones."""
    count = len(call.operands[0]) if isinstance(call.operands[0], list) else 2
    if call.name.removesuffix("_") in LINEAR or count == 1:
        return _joined(g, *(rule(g, _call(call, [_part(g, x, i) for x in call.operands])) for i in range(2)))
    if count > 2:
        raise Unsayable("products of at most two operands where they are complex")
    # Operands of a product may come as one list.
    listed = isinstance(call.operands[0], list)
    x, y = call.operands[0] if listed else call.operands[:2]

    def product(i: int, j: int) -> Any:
        pair = [_part(g, x, i), _part(g, y, j)]
        return rule(g, _call(call, [pair] if listed else [*pair, *call.operands[2:]]))

    if not x.complex or not y.complex:
        return _joined(g, *(product(i, i) for i in range(2)))
    return _joined(g, product(0, 0) - product(1, 1), product(0, 1) + product(1, 0))


def _call(call: Call, operands: list[Any]) -> Call:
    return Call(call.operation, operands, call.converter)


def _part(g: Builder, x: Any, i: int) -> Any:
    """The real (0) or the imaginary part of what is complex; all else stays."""
    if isinstance(x, list):
        return [_part(g, y, i) for y in x]
    if not isinstance(x, Value) or not x.complex:
        return x
    return known(g.node("Gather", x, i, axis=-1, made=PARTS[x.dtype]), x.shape)


def _joined(g: Builder, real: Any, imaginary: Any) -> Any:
    """Complex results of their parts."""
    if isinstance(real, (list, tuple)):
        return type(real)(_joined(g, a, b) for a, b in zip(real, imaginary, strict=True))
    kind = next(k for k, v in PARTS.items() if v == real.dtype)
    y = g.node("Concat", unsqueeze(g, real, [-1]), unsqueeze(g, imaginary, [-1]), axis=-1)
    return Value(g, y.name, kind, real.shape)
