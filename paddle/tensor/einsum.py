"""``einsum``: sums of products by labels."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.tensor._args import need_tensor, op_error, same_dtype
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim


@public("paddle paddle.tensor")
def einsum(equation: str, *operands: Any) -> Tensor:
    """Sum of products of tensors whose dims are named by letters.

    Dims with the same letter are multiplied element by element, one of size 1 with each element of the others; letters
    that the result lacks are summed over.

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
    equation = equation.replace(" ", "")
    try:
        return F.einsum(given, equation)
    except ValueError:
        wide = _repeated(equation, given)
        if wide is None:
            raise
    return F.einsum(wide, equation)


def _repeated(equation: str, operands: list[Tensor]) -> list[Tensor] | None:
    """Operands whose dims of size 1 are repeated to the size that others with their letter have; None without such."""
    terms = [t.partition("...") for t in equation.partition("->")[0].split(",")]
    if any(len(before) + len(after) > x.ndim for (before, _, after), x in zip(terms, operands, strict=True)):
        return None
    # By letters, with their axes: those behind the dots are counted from the end.
    places = [
        [*enumerate(before), *((k + x.ndim - len(after), letter) for k, letter in enumerate(after))]
        for (before, _, after), x in zip(terms, operands, strict=True)
    ]
    found: dict[str, Any] = {}
    for x, named in zip(operands, places, strict=True):
        found.update((letter, x.shape[k]) for k, letter in named if dim.known(x.shape[k]) != 1)
    changed, results = False, []
    for x, named in zip(operands, places, strict=True):
        letters = [letter for _, letter in named]
        sizes = list(x.shape)
        for k, letter in named:
            if dim.known(sizes[k]) == 1 and letter in found and letters.count(letter) == 1:
                sizes[k], changed = found[letter], True
        results.append(F.broadcast_to(x, shape=tuple(sizes)))
    return results if changed else None
