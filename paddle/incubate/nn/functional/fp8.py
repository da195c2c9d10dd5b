"""Matrices as numbers of 8 bits with a scale for each block, and their matmul."""

from __future__ import annotations

from typing import Any

from paddle import _lazy
from paddle._public import need_tensor, public
from paddle.amp.auto_cast import auto_cast
from paddle.incubate.nn.functional import _fp8
from paddle.incubate.nn.functional._fp8 import BLOCK, PER_WORD, ROWS, SQUARES, blocks_of
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.dtype import convert
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor
from umiak.fp8 import E4M3, Quantised, matmul, quantise
from umiak.util.errors import ShapeError, op_error


@public("paddle.incubate.nn.functional", usual=False)
def fp8_quant_blockwise(
    x: Tensor,
    epsilon: float = 0.0,
    input_transpose: bool = False,
    output_scale_transpose: bool = True,
    return_transpose_only: bool = False,
    using_pow2_scale: bool = True,
    using_ue8m0_scale: bool = False,
    quant_method: str = "1x128",
    output_type: str = "e4m3",
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """Quantise a matrix to float8_e4m3fn with a scale for each block, and its transpose too.

    A block's numbers are multiplied with ``448 / max(largest magnitude, epsilon)``, rounded to nearest, ties to even;
    its scale is the inverse. The factor of a block of zeros is 1. A block with a NaN is NaN.

    Args:
        x: bfloat16, float16 or float32 ``[M, N]``; the last blocks may be cut short.
        epsilon: the least magnitude that a block is thought to have.
        input_transpose: also give the transpose of x, quantised along its own rows.
        output_scale_transpose: give scales transposed, as ``fp8_gemm_blockwise`` takes those of blocks ``1x128``.
        return_transpose_only: with ``input_transpose``, give the transpose alone.
        using_pow2_scale: factors are the powers of two below.
        using_ue8m0_scale: scales are int32 with four biased exponents each, the first in the lowest 8 bits, of four
            blocks of a row; they are powers of two then.
        quant_method: ``"1x128"``, blocks of 128 numbers of a row; ``"128x128"``, of as many of 128 rows.
        output_type: ``"e4m3"``.

    Returns:
        The codes, float8_e4m3fn ``[M, N]``, and their scales, float32: for ``"1x128"`` ``[M, ⌈N / 128⌉]``, for
        ``"128x128"`` ``[⌈M / 128⌉, ⌈N / 128⌉]``, transposed with ``output_scale_transpose``; with
        ``using_ue8m0_scale`` int32, and ⌈N / 512⌉. With ``input_transpose`` follow codes ``[N, M]`` and scales of the
        transpose. No gradient passes.

    Raises:
        TypeError: x is not a tensor of these dtypes.
        ValueError: x is no matrix, another method or type, ``return_transpose_only`` without ``input_transpose``, or
            a negative epsilon.

    Example:
        >>> import paddle
        >>> codes, scale = paddle.incubate.nn.functional.fp8_quant_blockwise(paddle.ones([2, 256], "bfloat16"))
        >>> codes.dtype, scale.tolist()
        (paddle.float8_e4m3fn, [[0.00390625, 0.00390625], [0.00390625, 0.00390625]])
    """
    op = "fp8_quant_blockwise"
    _fp8.floating(op, x)
    if quant_method not in ("1x128", "128x128"):
        raise op_error(ValueError, op, "a quant_method of '1x128' or '128x128'", repr(quant_method))
    if output_type != "e4m3":
        raise op_error(ValueError, op, "the output_type 'e4m3'", repr(output_type))
    if return_transpose_only and not input_transpose:
        raise op_error(ValueError, op, "input_transpose=True with return_transpose_only=True", False)
    if epsilon < 0:
        raise op_error(ValueError, op, "an epsilon of 0 or above", epsilon)
    block = ROWS if quant_method == "1x128" else SQUARES
    with no_grad_guard(), auto_cast(enable=False):
        matrices = ([] if return_transpose_only else [x]) + ([F.permute(x, (1, 0))] if input_transpose else [])
        results: list[Tensor] = []
        for matrix in matrices:
            q = quantise(
                matrix, E4M3, block, power_of_two=using_pow2_scale or using_ue8m0_scale, epsilon=float(epsilon)
            )
            scale = _fp8.packed_exponents(q.scale) if using_ue8m0_scale else q.scale
            results += [q.codes, F.copy(F.permute(scale, (1, 0))) if output_scale_transpose else scale]
        return tuple(results)


@public("paddle.incubate.nn.functional", usual=False)
def fused_act_dequant(x: Tensor, x_scale: Tensor) -> Tensor:
    """Numbers that a matrix in blocks of ``1x128`` stands for: codes times scales, rounded once to bfloat16.

    Args:
        x: codes, float8_e4m3fn ``[M, N]``.
        x_scale: scales, float32 ``[M, ⌈N / 128⌉]``; or four biased exponents in each int32, ``[M, ⌈N / 512⌉]``.

    Returns:
        bfloat16 ``[M, N]``. No gradient passes.

    Raises:
        TypeError: other dtypes.
        ValueError: other shapes.

    Example:
        >>> import paddle
        >>> import paddle.incubate.nn.functional as F
        >>> codes, scale = F.fp8_quant_blockwise(paddle.full([1, 128], 3.0), output_scale_transpose=False)
        >>> float(F.fused_act_dequant(codes, scale).max())
        3.0
    """
    op = "fused_act_dequant"
    m, n = _fp8.codes(op, x, "x").shape
    with no_grad_guard(), auto_cast(enable=False):
        if need_tensor(x_scale, op, "x_scale").dtype is dt.int32:
            words = _fp8.scales(op, x_scale, "x_scale", [m, blocks_of(n, PER_WORD * BLOCK)], (dt.int32,))
            scale = _fp8.unpacked_exponents(words, blocks_of(n))
        else:
            scale = _fp8.scales(op, x_scale, "x_scale", [m, blocks_of(n)], (dt.float32, dt.int32))
        return Quantised(x, scale, ROWS).dequantise(dt.bfloat16)


@public("paddle.incubate.nn.functional", usual=False, own_out=True)
def fp8_gemm_blockwise(
    a: Tensor,
    a_decode_scale: Tensor,
    b: Tensor,
    b_decode_scale: Tensor,
    out_dtype: Any,
    out: Tensor | None = None,
    bias: Tensor | None = None,
    accumulate: bool = False,
    use_split_accumulator: bool = True,
    is_a_1d_scaled: bool = True,
    is_b_1d_scaled: bool = True,
) -> Tensor:
    """Matmul of two quantised matrices, ``a @ b.T``.

    The products of 128 contracted numbers are exact and added in float32; their sum is multiplied with the scales and
    added to those before, in float32.

    Args:
        a: codes, float8_e4m3fn or float8_e5m2 ``[M, K]``.
        a_decode_scale: float32 ``[⌈K / 128⌉, M]`` of blocks ``1x128``, or ``[⌈M / 128⌉, ⌈K / 128⌉]`` of ``128x128``.
        b: codes ``[N, K]``.
        b_decode_scale: scales of b, of the same forms.
        out_dtype: dtype of the result, bfloat16, float16 or float32; ``out`` has its own.
        out: tensor ``[M, N]`` that is written and returned.
        bias: None; it is not supported.
        accumulate: add the product to what ``out`` has.
        use_split_accumulator: accepted; sums are in float32.
        is_a_1d_scaled: a has blocks of ``1x128``, else of ``128x128``.
        is_b_1d_scaled: b has.

    Returns:
        Tensor ``[M, N]``. No gradient passes.

    Raises:
        TypeError: other dtypes.
        ValueError: shapes that do not fit, or ``accumulate`` without ``out``.
        AssertionError: a bias, or ``out`` of another shape.

    Example:
        >>> import paddle
        >>> import paddle.incubate.nn.functional as F
        >>> a, a_scale = F.fp8_quant_blockwise(paddle.ones([2, 256]))
        >>> F.fp8_gemm_blockwise(a, a_scale, a, a_scale, "float32").tolist()
        [[256.0, 256.0], [256.0, 256.0]]
    """
    op = "fp8_gemm_blockwise"
    if bias is not None:
        raise op_error(ShapeError, op, "no bias", "one", "Add it to the result.")
    left = _operand(op, "a", a, a_decode_scale, is_a_1d_scaled)
    right = _operand(op, "b", b, b_decode_scale, is_b_1d_scaled)
    if a.shape[1] != b.shape[1]:
        raise op_error(ValueError, op, "a.shape[1] == b.shape[1]", f"{list(a.shape)} and {list(b.shape)}")
    shape = [a.shape[0], b.shape[0]]
    if out is not None and list(need_tensor(out, op, "out").shape) != shape:
        raise op_error(ShapeError, op, f"out of shape {shape}", out.shape)
    if accumulate and out is None:
        raise op_error(ValueError, op, "out with accumulate=True", "none")
    dtype = convert(out_dtype) if out is None else out.dtype
    if dtype not in (dt.bfloat16, dt.float16, dt.float32):
        raise op_error(TypeError, op, "a result of bfloat16, float16 or float32", dtype.name)
    with no_grad_guard(), auto_cast(enable=False):
        y = matmul(left, right.T)
        if out is None:
            return F.cast(y, dtype=dtype)
        return assign(out, F.cast(F.cast(out, dtype=dt.float32) + y if accumulate else y, dtype=dtype))


def _operand(op: str, name: str, x: Tensor, scale: Tensor, in_rows: bool) -> Quantised:
    rows, columns = _fp8.codes(op, x, name).shape
    shape = [blocks_of(columns), rows] if in_rows else [blocks_of(rows), blocks_of(columns)]
    _fp8.scales(op, scale, f"{name}_decode_scale", shape)
    return Quantised(x, F.permute(scale, (1, 0)), ROWS) if in_rows else Quantised(x, scale, SQUARES)


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
