"""Gradients that training loops of their own compute and add up."""

from __future__ import annotations

from paddle._public import need_tensor, public
from paddle.tensor.scattering import index_add_
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import op_error

_IGNORED = -100


@public("paddle.incubate.nn.functional", usual=False)
def embedding_grad_add_to_(
    token_indices: Tensor, main_grad_: Tensor, out_grad: Tensor, name: str | None = None
) -> Tensor:
    """Add the gradient of an embedding to ``main_grad_``: each row of out_grad to the row of its token.

    Args:
        token_indices: integer tensor of any shape, the tokens.
        main_grad_: floating tensor ``[vocabulary, H]``, written to.
        out_grad: floating tensor ``[*, H]``, a row for each token.

    Returns:
        ``main_grad_``.

    Raises:
        TypeError: token_indices are no integers, or gradients not floating.
        ValueError: shapes that do not fit.
        IndexError: a token that ``main_grad_`` has no row for.

    Example:
        >>> import paddle
        >>> total = paddle.zeros([3, 1])
        >>> rows = paddle.to_tensor([[1.0], [2.0], [4.0]], "bfloat16")
        >>> paddle.incubate.nn.functional.embedding_grad_add_to_(paddle.to_tensor([0, 2, 0]), total, rows).tolist()
        [[5.0], [0.0], [2.0]]
    """
    op_name = "embedding_grad_add_to_"
    if not need_tensor(token_indices, op_name, "token_indices").dtype.is_integer:
        raise op_error(TypeError, op_name, "integers for token_indices", token_indices.dtype.name)
    for arg_name, v in (("main_grad_", main_grad_), ("out_grad", out_grad)):
        if not need_tensor(v, op_name, arg_name).dtype.is_floating:
            raise op_error(TypeError, op_name, f"a floating {arg_name}", v.dtype.name)
    wanted = [*token_indices.shape, main_grad_.shape[-1]] if main_grad_.ndim == 2 else None
    if wanted is None or len(wanted) != out_grad.ndim or not all(map(dim.eq, wanted, out_grad.shape)):
        required = f"main_grad_ of shape [vocabulary, H] and out_grad of shape [{list(token_indices.shape)}, H]"
        raise op_error(ValueError, op_name, required, f"{list(main_grad_.shape)} and {list(out_grad.shape)}")
    tokens = F.reshape(token_indices, shape=(token_indices._count,))
    rows = F.reshape(cast(out_grad, main_grad_.dtype), shape=(token_indices._count, main_grad_.shape[1]))
    return index_add_(main_grad_, cast(tokens, dt.int64), 0, rows)


@public("paddle.incubate.nn.functional", usual=False)
def cross_entropy_with_softmax_bwd_w_downcast(
    label: Tensor, softmax: Tensor, loss_grad: Tensor, name: str | None = None
) -> Tensor:
    """Gradient of the cross entropy to its logits, in bfloat16: ``(softmax - onehot(label)) * loss_grad``.

    Args:
        label: the classes, integer tensor ``[*, 1]`` or ``[*]``; rows of -100 have the gradient 0.
        softmax: floating tensor ``[*, classes]``, the softmax of the logits.
        loss_grad: floating tensor of label's number of elements, the gradient of each row's loss.

    Returns:
        Tensor of softmax's shape in bfloat16, computed in softmax's compute type and rounded once.

    Raises:
        TypeError: label is not of integers, or softmax or loss_grad not floating.
        ValueError: shapes that do not fit.

    Example:
        >>> import paddle
        >>> softmax = paddle.to_tensor([[0.25, 0.75], [0.5, 0.5]])
        >>> backward = paddle.incubate.nn.functional.cross_entropy_with_softmax_bwd_w_downcast
        >>> backward(paddle.to_tensor([[1], [-100]]), softmax, paddle.ones([2, 1])).tolist()
        [[0.25, -0.25], [0.0, 0.0]]
    """
    op_name = "cross_entropy_with_softmax_bwd_w_downcast"
    if not need_tensor(label, op_name, "label").dtype.is_integer:
        raise op_error(TypeError, op_name, "integers for label", label.dtype.name)
    for arg_name, v in (("softmax", softmax), ("loss_grad", loss_grad)):
        if not need_tensor(v, op_name, arg_name).dtype.is_floating:
            raise op_error(TypeError, op_name, f"a floating {arg_name}", v.dtype.name)
    rows, wide = tuple(softmax.shape[:-1]), softmax.dtype.compute
    label, loss_grad = (_of_rows(op_name, name, v, rows) for name, v in (("label", label), ("loss_grad", loss_grad)))
    onehot = F.one_hot(label, dtype=wide, num_classes=softmax.shape[-1])
    gradient = F.mul(F.sub(cast(softmax, wide), onehot), F.unsqueeze(cast(loss_grad, wide), axes=(len(rows),)))
    ignored = F.unsqueeze(F.eq(label, _IGNORED), axes=(len(rows),))
    return cast(F.where(ignored, 0, gradient), dt.bfloat16)


def _of_rows(op_name: str, arg_name: str, v: Tensor, rows: tuple) -> Tensor:
    """A number for each row; the last dim may be there with size 1."""
    shape = tuple(v.shape)
    if len(shape) - len(rows) not in (0, 1) or not all(map(dim.eq, shape, (*rows, 1))):
        raise op_error(ValueError, op_name, f"{arg_name} of shape {[*rows, 1]} or {[*rows]}", list(shape))
    return F.reshape(v, shape=rows)
