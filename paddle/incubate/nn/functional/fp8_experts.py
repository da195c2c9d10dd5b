"""Matrices of experts as numbers of 8 bits: stacked, or split by the tokens of each."""

from __future__ import annotations

from collections.abc import Sequence

from paddle._public import public
from paddle.amp.auto_cast import auto_cast
from paddle.incubate.nn.functional import _fp8
from paddle.incubate.nn.functional._fp8 import ROWS, SQUARES, blocks_of
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.fp8 import E4M3, Quantised, quantise
from umiak.util.errors import op_error


@public("paddle.incubate.nn.functional", usual=False)
def fused_stack_transpose_quant(x: Sequence[Tensor], transpose: bool = True) -> tuple[Tensor, Tensor]:
    """Quantise matrices of one shape in blocks of 128 × 128, each transposed, and put them below each other.

    Args:
        x: N matrices ``[M, K]`` of bfloat16, float16 or float32.
        transpose: False leaves them as they are.

    Returns:
        Codes, float8_e4m3fn ``[N · K, M]``, and scales, float32 ``[N · ⌈K / 128⌉, ⌈M / 128⌉]``; not transposed
        ``[N · M, K]`` and ``[N · ⌈M / 128⌉, ⌈K / 128⌉]``. No gradient passes.

    Raises:
        TypeError: x is no sequence of tensors of one of these dtypes.
        ValueError: no matrices, or of several shapes.

    Example:
        >>> import paddle
        >>> weights = [paddle.ones([256, 128], "bfloat16") for _ in range(3)]
        >>> codes, scale = paddle.incubate.nn.functional.fused_stack_transpose_quant(weights)
        >>> codes.shape, scale.shape
        (paddle.Size([384, 256]), paddle.Size([3, 2]))
    """
    op = "fused_stack_transpose_quant"
    if not isinstance(x, (list, tuple)) or not x:
        raise op_error(TypeError if not isinstance(x, (list, tuple)) else ValueError, op, "a list of matrices", x)
    for i, matrix in enumerate(x):
        _fp8.floating(op, matrix, f"x[{i}]")
        if matrix.shape != x[0].shape or matrix.dtype is not x[0].dtype:
            got = f"{matrix.dtype.name} {list(matrix.shape)}"
            raise op_error(ValueError, op, f"x[{i}] of {x[0].dtype.name} {list(x[0].shape)}, as x[0] is", got)
    with no_grad_guard(), auto_cast(enable=False):
        parts = [quantise(F.permute(matrix, (1, 0)) if transpose else matrix, E4M3, SQUARES) for matrix in x]
        return F.concat(tuple(q.codes for q in parts), axis=0), F.concat(tuple(q.scale for q in parts), axis=0)


@public("paddle.incubate.nn.functional", usual=False)
def fused_transpose_split_quant(
    x: Tensor, input_scales: Tensor | None, tokens_per_expert: Sequence[int], pow_2_scales: bool = False
) -> tuple[list[Tensor], list[Tensor]]:
    """Quantise the transposed tokens of each expert, in blocks of 128 tokens of a feature.

    Args:
        x: tokens ``[M, K]``, sorted by expert, of bfloat16, float16 or float32; or float8_e4m3fn codes.
        input_scales: scales of codes, float32 ``[M, ⌈K / 128⌉]``; None otherwise. What they stand for is rounded to
            bfloat16 first.
        tokens_per_expert: the tokens of each expert, M in all; 0 is allowed. No block has tokens of two experts.
        pow_2_scales: scales are powers of two.

    Returns:
        For each expert of n tokens: codes, float8_e4m3fn ``[K, n]``; and scales, float32 ``[⌈n / 128⌉, K]``. Two empty
        lists where x has no elements. No gradient passes.

    Raises:
        TypeError: other dtypes, or codes without scales.
        ValueError: other shapes, scales of what is not codes, or tokens that are negative or not M in all.

    Example:
        >>> import paddle
        >>> x = paddle.ones([384, 512], "bfloat16")
        >>> codes, scales = paddle.incubate.nn.functional.fused_transpose_split_quant(x, None, [128, 256])
        >>> [c.shape for c in codes], [s.shape for s in scales]
        ([paddle.Size([512, 128]), paddle.Size([512, 256])], [paddle.Size([1, 512]), paddle.Size([2, 512])])
    """
    op = "fused_transpose_split_quant"
    is_codes = isinstance(x, Tensor) and x.dtype is E4M3
    if is_codes and input_scales is None:
        raise op_error(TypeError, op, "input_scales of codes", None)
    if not is_codes and input_scales is not None:
        raise op_error(ValueError, op, "input_scales of None for tokens that are not codes", "scales")
    m, k = (_fp8.codes(op, x, "x") if is_codes else _fp8.floating(op, x)).shape
    counts = _counts(op, tokens_per_expert, m)
    if input_scales is not None:
        _fp8.scales(op, input_scales, "input_scales", [m, blocks_of(k)])
    if 0 in x.shape:
        return [], []
    with no_grad_guard(), auto_cast(enable=False):
        tokens = x if input_scales is None else Quantised(x, input_scales, ROWS).dequantise(dt.bfloat16)
        return _split_quantised(tokens, counts, pow_2_scales)


@public("paddle.incubate.nn.functional", usual=False)
def fused_transpose_wlch_split_quant(
    x: Tensor, tokens_per_expert: Sequence[int], pow_2_scales: bool = False
) -> tuple[list[Tensor], list[Tensor]]:
    """Quantise the transposed tokens of each expert, that come from several ranks.

    Args:
        x: bfloat16, float16 or float32 ``[W, L, C, H]``: by rank, expert of the rank, place and feature. Tokens are
            taken in the order of ``[L, W, C]``.
        tokens_per_expert: the tokens of each expert, ``W · L · C`` in all.
        pow_2_scales: scales are powers of two.

    Returns:
        For each expert of n tokens: codes, float8_e4m3fn ``[H, n]``; and scales, float32 ``[⌈n / 128⌉, H]``. No
        gradient passes.

    Raises:
        TypeError: another dtype.
        ValueError: other shapes, or tokens that are negative or not ``W · L · C`` in all.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2, 2, 64, 16], "bfloat16")
        >>> codes, scales = paddle.incubate.nn.functional.fused_transpose_wlch_split_quant(x, [128, 128])
        >>> [c.shape for c in codes], [s.shape for s in scales]
        ([paddle.Size([16, 128]), paddle.Size([16, 128])], [paddle.Size([1, 16]), paddle.Size([1, 16])])
    """
    op = "fused_transpose_wlch_split_quant"
    w, n, c, h = _fp8.floating(op, x, ndim=4).shape
    counts = _counts(op, tokens_per_expert, w * n * c)
    with no_grad_guard(), auto_cast(enable=False):
        return _split_quantised(F.reshape(F.permute(x, (1, 0, 2, 3)), (w * n * c, h)), counts, pow_2_scales)


def _counts(op: str, tokens_per_expert: Sequence[int], m: int) -> list[int]:
    counts = [int(n) for n in tokens_per_expert]
    if min(counts, default=0) < 0 or sum(counts) != m:
        raise op_error(ValueError, op, f"tokens_per_expert of 0 or above, {m} in all", counts)
    return counts


def _split_quantised(tokens: Tensor, counts: list[int], power_of_two: bool) -> tuple[list[Tensor], list[Tensor]]:
    codes, scales, start = [], [], 0
    for n in counts:
        part = F.slice(tokens, (0,), (start,), (n,), (1,))
        code, scale = _fp8.transposed_quantised(part, power_of_two)
        codes.append(code)
        scales.append(scale)
        start += n
    return codes, scales
