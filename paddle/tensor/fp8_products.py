"""Matmul of 8-bit floats into 16 bits."""

from __future__ import annotations

from typing import Any

from paddle._public import need_tensor, public
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import current, no_grad_guard, place_guard
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.fp8 import E4M3, E5M2, Quantised, matmul
from umiak.util.errors import OperandError, op_error

# By name of an activation, of float32.
_ACTIVATIONS = {
    "identity": lambda y: y,
    "relu": lambda y: F.relu(y),
    "gelu": lambda y: F.gelu(y, approximate=True),
}


@public("paddle.linalg", usual=False)
def fp8_fp8_half_gemm_fused(
    x: Tensor,
    y: Tensor,
    transpose_x: bool = False,
    transpose_y: bool = False,
    bias: Tensor | None = None,
    scale: float = 1.0,
    output_dtype: Any = "float16",
    act: str = "identity",
    name: str | None = None,
) -> Tensor:
    """Matmul of 8-bit floats, ``act(scale · x @ y + bias)``: products are exact, sums are in float32, and the result is
    rounded once.

    Args:
        x: float8_e4m3fn or float8_e5m2 ``[*, M, K]``, with ``transpose_x`` ``[*, K, M]``.
        y: float8_e4m3fn or float8_e5m2 ``[*, K, N]``, with ``transpose_y`` ``[*, N, K]``; of x's rank.
        transpose_x: the last two dims of x are swapped.
        transpose_y: the last two dims of y are swapped.
        bias: ``[N]`` of the output's dtype; None for none.
        scale: number that products are multiplied with: that of x times that of y.
        output_dtype: ``"float16"`` or ``"bfloat16"``.
        act: ``"identity"``, ``"relu"`` or ``"gelu"`` (by tanh).

    Returns:
        Tensor ``[*, M, N]`` of the output's dtype. No gradient passes.

    Raises:
        TypeError: operands of other dtypes.
        ValueError: shapes that do not fit, or another output_dtype or act.

    Example:
        >>> import paddle
        >>> x, y = paddle.ones([2, 16]).astype("float8_e4m3fn"), paddle.ones([3, 16]).astype("float8_e5m2")
        >>> paddle.linalg.fp8_fp8_half_gemm_fused(x, y, transpose_y=True, scale=0.5).tolist()
        [[8.0, 8.0, 8.0], [8.0, 8.0, 8.0]]
    """
    op = "fp8_fp8_half_gemm_fused"
    for operand, value in (("x", x), ("y", y)):
        if need_tensor(value, op, operand).dtype not in (E4M3, E5M2):
            raise op_error(OperandError, op, f"{operand} of float8_e4m3fn or float8_e5m2", value.dtype.name)
    if x.ndim < 2 or x.ndim != y.ndim:
        raise op_error(ValueError, op, "x and y of one rank, 2 or above", f"{list(x.shape)} and {list(y.shape)}")
    low = convert(output_dtype)
    if low not in (dt.float16, dt.bfloat16):
        raise op_error(ValueError, op, "an output_dtype of 'float16' or 'bfloat16'", repr(output_dtype))
    if act not in _ACTIVATIONS:
        raise op_error(ValueError, op, f"an act of {sorted(_ACTIVATIONS)}", repr(act))
    outputs = y.shape[-2 if transpose_y else -1]
    if bias is not None:
        if need_tensor(bias, op, "bias").dtype is not low:
            raise op_error(OperandError, op, f"a bias of the output's dtype {low.name}", bias.dtype.name)
        if list(bias.shape) != [outputs]:
            raise op_error(ValueError, op, f"a bias of shape {[outputs]}", bias.shape)
    context: Any = current()
    modes = context.amp()
    context.set_amp(0, *modes[1:])  # float32 stays float32
    try:
        with no_grad_guard():
            if x.ndim == 2:
                with place_guard(x.place):
                    scales = [F.full(value, dt.float32, (1, 1)) for value in (float(scale), 1.0)]
                one = Quantised(_operand(x, transpose_x), scales[0], (None, None))
                product = matmul(one, Quantised(_operand(y, transpose_y), scales[1], (None, None)))
            else:
                codes = (F.cast(value, dtype=dt.bfloat16) for value in (x, y))  # exact
                product = F.widening_matmul(*codes, transpose_x=transpose_x, transpose_y=transpose_y) * float(scale)
            product = product if bias is None else product + F.cast(bias, dtype=dt.float32)
            return F.cast(_ACTIVATIONS[act](product), dtype=low)
    finally:
        context.set_amp(*modes)


def _operand(x: Tensor, transposed: bool) -> Tensor:
    return F.permute(x, (1, 0)) if transposed else x
