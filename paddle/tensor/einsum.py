"""``einsum``: sums of products by labels."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.tensor._args import need_tensor, op_error, same_dtype
from umiak import ops as F
from umiak.core.tensor import Tensor


@public("paddle paddle.tensor")
def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products: labels that occur on the left of ``->`` only are summed over.

    Args:
        equation: labels of each operand, separated by commas, then ``->`` and those of the result; ``...`` stands for
            dims that broadcast. Without ``->`` the result has the labels that occur once, in alphabetical order.
        operands: tensors, or one list of them.

    Raises ValueError where labels and shapes do not fit.

    Example:
        >>> import paddle
        >>> paddle.einsum("ij,jk->ik", paddle.ones([2, 3]), paddle.ones([3, 4])).shape
        [2, 4]
    """
    if not isinstance(equation, str):
        raise op_error(TypeError, "einsum", "an equation in a str", type(equation).__name__)
    given = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
    if not given:
        raise op_error(ValueError, "einsum", "at least one operand", "none")
    for x in given:
        need_tensor(x, "einsum", "each operand")
    if equation.replace(" ", "").split("->")[0].count(",") + 1 != len(given):
        raise op_error(ValueError, "einsum", f"labels for {len(given)} operands", repr(equation))
    for i in range(1, len(given)):
        given[0], given[i] = same_dtype("mul", given[0], given[i])
    d = given[0].dtype
    given = [x if x.dtype is d else F.cast(x, dtype=d) for x in given]
    return F.einsum(given, equation.replace(" ", ""))
