"""Weighted SwiGLU of experts, whose output is quantised, and its gradients."""

from __future__ import annotations

from typing import Any

from paddle._public import need_tensor, public
from paddle.amp.auto_cast import auto_cast
from paddle.incubate.nn.functional import _fp8
from paddle.incubate.nn.functional._fp8 import ROWS
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.fp8 import E4M3, quantise
from umiak.util.errors import OperandError, op_error


@public("paddle.incubate.nn.functional", usual=False)
def fused_weighted_swiglu_act_quant(
    x: Tensor, prob: Tensor | None = None, using_pow2_scaling: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Compute ``silu(x1) · x2 · prob`` in float32 and quantise it in blocks of 128 numbers of a row.

    Args:
        x: bfloat16, float16 or float32 ``[*, 2 N]``; x1 is its first half, x2 its second.
        prob: float32, a number for each row of x, of any shape with as many; None for 1.
        using_pow2_scaling: scales are powers of two.

    Returns:
        Codes, float8_e4m3fn ``[rows, N]``, and scales, float32 ``[rows, ⌈N / 128⌉]``, the leading dims of x being one.
        No gradient passes.

    Raises:
        TypeError: other dtypes.
        ValueError: an odd last dim, or a prob of another size.

    Example:
        >>> import paddle
        >>> x = paddle.ones([4, 3, 512], "bfloat16")
        >>> codes, scale = paddle.incubate.nn.functional.fused_weighted_swiglu_act_quant(x)
        >>> codes.shape, scale.shape
        (paddle.Size([12, 256]), paddle.Size([12, 2]))
    """
    op = "fused_weighted_swiglu_act_quant"
    rows, n = _halves(op, _fp8.floating(op, x, ndim=None), "x")
    with no_grad_guard(), auto_cast(enable=False):
        gate, up = _parts(F.reshape(x, (rows, 2 * n)), n)
        y = F.silu(gate) * up
        if prob is not None:
            y = y * _by_rows(op, prob, "prob", rows)
        q = quantise(y, E4M3, ROWS, power_of_two=using_pow2_scaling)
        return q.codes, q.scale


@public("paddle.incubate.nn.functional", usual=False)
def fused_swiglu_weighted_bwd(
    o1: Tensor, do2_s: Tensor, unzipped_probs: Tensor, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of ``silu(x1) · x2 · prob``, computed in float32, and its value once more.

    Args:
        o1: bfloat16, float16 or float32 ``[*, 2 N]``; x1 is its first half, x2 its second.
        do2_s: gradient of the value, of o1's dtype ``[*, N]``.
        unzipped_probs: float32, the number of each row, of any shape with as many.

    Returns:
        The gradient of o1, of its shape and dtype; that of the probabilities, float32 of their shape; and the value, of
        do2_s's shape and o1's dtype. No gradient passes.

    Raises:
        TypeError: other dtypes.
        ValueError: an odd last dim, or shapes that do not fit.

    Example:
        >>> import paddle
        >>> o1, g, prob = paddle.zeros([3, 8], "bfloat16"), paddle.ones([3, 4], "bfloat16"), paddle.ones([3, 1])
        >>> [y.shape for y in paddle.incubate.nn.functional.fused_swiglu_weighted_bwd(o1, g, prob)]
        [paddle.Size([3, 8]), paddle.Size([3, 1]), paddle.Size([3, 4])]
    """
    op = "fused_swiglu_weighted_bwd"
    rows, n = _halves(op, _fp8.floating(op, o1, "o1", ndim=None), "o1")
    shape = [*o1.shape[:-1], n]
    if need_tensor(do2_s, op, "do2_s").dtype is not o1.dtype:
        raise op_error(OperandError, op, f"do2_s of o1's dtype {o1.dtype.name}", do2_s.dtype.name)
    if list(do2_s.shape) != shape:
        raise op_error(ValueError, op, f"do2_s of shape {shape}", do2_s.shape)
    with no_grad_guard(), auto_cast(enable=False):
        prob = _by_rows(op, unzipped_probs, "unzipped_probs", rows)
        gate, up = _parts(F.reshape(o1, (rows, 2 * n)), n)
        g = F.cast(F.reshape(do2_s, (rows, n)), dtype=dt.float32)
        sigmoid = F.logistic(gate)
        silu = gate * sigmoid
        value, weighted = silu * up, g * prob
        to_gate = weighted * up * sigmoid * (gate + 1.0 - silu)
        to_o1 = F.cast(F.concat((to_gate, weighted * silu), axis=1), dtype=o1.dtype)
        to_prob = F.reshape(F.sum(g * value, axes=(1,)), tuple(unzipped_probs.shape))
        return F.reshape(to_o1, tuple(o1.shape)), to_prob, F.reshape(F.cast(value * prob, dtype=o1.dtype), tuple(shape))


def _halves(op: str, x: Tensor, name: str) -> tuple[int, int]:
    """Rows of ``[*, 2 N]``, and N."""
    if x.ndim == 0 or x.shape[-1] % 2:
        raise op_error(ValueError, op, f"{name} with an even last dim", x.shape)
    rows = 1
    for size in x.shape[:-1]:
        rows = rows * size
    return rows, x.shape[-1] // 2


def _parts(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
    wide = F.cast(x, dtype=dt.float32)
    first, second = (F.slice(wide, (1,), (start,), (n,), (1,)) for start in (0, n))
    return first, second


def _by_rows(op: str, prob: Any, name: str, rows: int) -> Tensor:
    if need_tensor(prob, op, name).dtype is not dt.float32:
        raise op_error(OperandError, op, f"{name} of float32", prob.dtype.name)
    if prob.size != rows:
        raise op_error(ValueError, op, f"{name} of {rows} elements, one for each row", prob.shape)
    return F.reshape(prob, (rows, 1))
