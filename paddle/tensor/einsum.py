"""``einsum``: sums of products by labels."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.tensor._args import need_tensor, op_error, same_dtype
from umiak import ops as F
from umiak.core.tensor import Tensor


@public("paddle paddle.tensor")
def einsum(equation: str, *operands: Any) -> Tensor:
    """Sum of products of tensors whose dims are named by letters.

    Dims with the same letter are multiplied element by element; letters that the result lacks are summed over.

    Args:
        equation: the letters of each operand, separated by commas, then ``->`` and the letters of the result, as in
            ``"ij,jk->ik"``. ``...`` stands for further dims, which broadcast. Without ``->`` the result has the letters
            that occur once, in alphabetical order.
        *operands: numeric tensors, or one list of them, of one dtype; floating and complex dtypes are promoted to one.
            A letter that an operand has twice stands for its diagonal.

    Returns:
        Tensor of the promoted dtype.

    Raises:
        TypeError: the equation is not a str, an operand is not a tensor or is bool, or dtypes do not mix.
        ValueError: letters and shapes do not fit, or there are more or fewer operands than the equation has.

    Example:
        >>> import paddle
        >>> a, b = paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([1, 10])
        >>> paddle.einsum("ij,j->i", a, b).tolist()
        [21, 43]
        >>> int(paddle.einsum("ii->", a))
        5
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
