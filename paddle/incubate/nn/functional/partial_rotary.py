"""Rotary position embedding of the last features of each head."""

from __future__ import annotations

from paddle._public import need_tensor, public
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import op_error

_OP = "fused_partial_rope"


@public("paddle.incubate.nn.functional", usual=False)
def fused_partial_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding of the last ``pe_head_dim`` features of each head; those before stay as they are.

    Neighbours are a pair, and results are sorted: of pair i, ``(a, b)``, feature i of the ``pe_head_dim`` becomes
    ``a * cos[i] - b * sin[i]``, and feature ``j = i + pe_head_dim / 2`` becomes ``b * cos[j] + a * sin[j]``.

    Args:
        x: floating tensor ``[batch, sequence, heads, head_dim]``.
        cos: floating table ``[1, sequence, 1, pe_head_dim]``; pe_head_dim is even and no more than head_dim.
        sin: a table of the same shape.

    Returns:
        Tensor of x's shape and dtype, computed in float32 where that is float16 or bfloat16. Gradients reach x and the
        tables.

    Raises:
        TypeError: an operand is not floating.
        ValueError: an odd pe_head_dim, or shapes that do not fit.

    Note:
        The reference takes bfloat16 alone.

    References:
        DeepSeek-AI, DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model, 2024.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_partial_rope
        >>> x = paddle.to_tensor([7.0, 1.0, 2.0]).reshape([1, 1, 1, 3])
        >>> zeros, ones = paddle.zeros([1, 1, 1, 2]), paddle.ones([1, 1, 1, 2])
        >>> fused_partial_rope(x, cos=zeros, sin=ones).flatten().tolist()
        [7.0, -2.0, 1.0]
    """
    for name, given in (("x", x), ("cos", cos), ("sin", sin)):
        if not need_tensor(given, _OP, name).dtype.is_floating:
            raise op_error(TypeError, _OP, f"a floating {name}", given.dtype.name)
    if x.ndim != 4:
        raise op_error(ValueError, _OP, "x of shape [batch, sequence, heads, head_dim]", list(x.shape))
    sequence, size = x.shape[1], x.shape[3]
    for name, table in (("cos", cos), ("sin", sin)):
        shape = table.shape
        if len(shape) != 4 or not all(map(dim.eq, shape[:3], (1, sequence, 1))) or not dim.eq(shape[3], cos.shape[3]):
            required = f"{name} of shape [1, {sequence}, 1, pe_head_dim], sin's pe_head_dim the same as cos's"
            raise op_error(ValueError, _OP, required, list(shape))
    rotary_dim = cos.shape[3]
    if not dim.eq(rotary_dim % 2, 0) or rotary_dim > size:
        raise op_error(ValueError, _OP, f"an even pe_head_dim of at most {size}, the head_dim", rotary_dim)
    first, half, wide = size - rotary_dim, rotary_dim // 2, x.dtype.compute

    def features(start: int, step: int, count: int) -> Tensor:
        return F.slice(x, axes=(3,), starts=(start,), sizes=(count,), steps=(step,))

    a, b = (cast(features(first + i, 2, half), wide) for i in (0, 1))
    partners = F.concat([F.neg(b), a], axis=3)
    cosines, sines = cast(cos, wide), cast(sin, wide)
    rotated = cast(F.add(F.mul(F.concat([a, b], axis=3), cosines), F.mul(partners, sines)), x.dtype)
    return F.concat([features(0, 1, first), rotated], axis=3)
