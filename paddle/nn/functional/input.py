"""From indices to features: embedding and one-hot."""

from __future__ import annotations

import math
from typing import Any

from paddle._public import need_tensor, public
from paddle.tensor._args import create_on, integer, reads_numbers
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import capture_of, current, no_grad_guard
from umiak.core.eager import apply
from umiak.core.inplace import assign
from umiak.core.python_nodes import python_node
from umiak.core.tensor import Tensor
from umiak.ir.tracer import DataUnknown
from umiak.runtime.selected_rows import SelectedRows
from umiak.util.errors import op_error

_EMBEDDING = F.Embedding(False)
_PADDED = F.Embedding(True)


@public("paddle.nn.functional")
def embedding(
    x: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    sparse: bool = False,
    scale_grad_by_freq: bool = False,
    name: str | None = None,
) -> Tensor:
    """Rows of ``weight`` at the indices ``x``.

    Args:
        x: integer tensor of any shape; negative indices count from the end.
        weight: tensor ``[num_embeddings, embedding_dim]`` of any dtype.
        padding_idx: rows for this index are zero and leave no gradient; negative ones count from the end.
        max_norm: rows that are looked up and longer than this are shortened in place first.
        norm_type: order of the norm that ``max_norm`` limits.
        sparse: the weight, if it is a leaf, gets a gradient of selected rows (``is_selected_rows()``): the rows that
            were looked up. Inside of captured programs and under ``create_graph`` gradients are dense; captured steps
            of optimizers leave other rows alone all the same.
        scale_grad_by_freq: divide the gradient of a row by how often the row was looked up.

    Returns:
        Tensor ``[*x.shape, embedding_dim]`` of weight's dtype.

    Raises:
        TypeError: x is not an integer tensor.
        IndexError: an index is out of range.
        ValueError: ``padding_idx`` is out of range, or weight is not of rank 2.

    Example:
        >>> import paddle
        >>> table = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> paddle.nn.functional.embedding(paddle.to_tensor([1, 0]), table).tolist()
        [[3.0, 4.0], [1.0, 2.0]]
    """
    if max_norm is not None:
        embedding_renorm_(x, weight, max_norm, norm_type)
    if scale_grad_by_freq:
        weight = _scaled_by_frequency(x, weight)
    if sparse and (tracer := capture_of()) is not None:
        tracer.looks_up(weight)
    if padding_idx is None:
        if sparse and weight.is_leaf and is_recorded(weight):
            return _sparse(apply(_EMBEDDING, (x, weight.detach()), (-1,)), x, weight, None)
        return apply(_EMBEDDING, (x, weight), (-1,))
    rows = weight.shape[0]
    if not -rows <= padding_idx < rows:
        raise op_error(ValueError, "embedding", f"padding_idx from {-rows} to {rows - 1}", padding_idx)
    padding_idx = padding_idx + rows if padding_idx < 0 else padding_idx
    if sparse and weight.is_leaf and is_recorded(weight):
        return _sparse(apply(_PADDED, (x, weight.detach()), (padding_idx,)), x, weight, padding_idx)
    return apply(_PADDED, (x, weight), (padding_idx,))


def is_recorded(x: Tensor) -> bool:
    """Return whether calls on ``x`` are recorded for gradients, outside of any program."""
    context: Any = current()
    return context.grad_enabled and not x.stop_gradient and not context.trace


def _sparse(y: Tensor, x: Tensor, weight: Tensor, padding_idx: int | None) -> Tensor:
    """``y``, the rows of ``weight`` at ``x``, with a gradient of selected rows."""
    index = F.cast(F.reshape(x, shape=(math.prod(x.shape),)), dtype=dt.int64)
    if index.dtype is x.dtype:
        index = F.copy(index)  # x may be written to before the gradient is computed
    shape = list(weight.shape)

    def backward(g: Tensor) -> Tensor:
        if padding_idx is not None:
            g = F.where(F.unsqueeze(F.eq(x, padding_idx), axes=(x.ndim,)), 0, g)
        values = F.cast(F.reshape(g, shape=(index.shape[0], shape[1])), dtype=weight.dtype)
        if current().grad_enabled:  # create_graph
            zeros = create_on(values.place, F.full, 0.0, weight.dtype, tuple(shape))
            return F.put(zeros, index, values, axis=0, mode="add")
        return SelectedRows(index, values, shape)

    python_node("embedding", [weight], [y], backward)
    return y


@public("paddle.nn.functional", usual=False)
def embedding_renorm_(x: Tensor, weight: Tensor, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Shorten, in place, the rows of ``weight`` at the indices ``x`` whose norm exceeds ``max_norm``.

    Args:
        x: integer tensor of any shape.
        weight: floating tensor ``[num_embeddings, embedding_dim]``, written without a gradient.
        max_norm: longest norm that a row may have.
        norm_type: order of the norm.

    Returns:
        The weight itself.

    Raises:
        TypeError: x is not an integer tensor.
        IndexError: an index is out of range.

    Example:
        >>> import paddle
        >>> table = paddle.to_tensor([[3.0, 4.0], [3.0, 4.0]])
        >>> _ = paddle.nn.functional.embedding_renorm_(paddle.to_tensor([1]), table, 1.0)
        >>> [[round(v, 4) for v in row] for row in table.tolist()]
        [[3.0, 4.0], [0.6, 0.8]]
    """
    with no_grad_guard():
        index = F.reshape(x, shape=(math.prod(x.shape),))
        rows = F.take(weight, index, axis=0)
        norm = F.vector_norm(rows, axes=(1,), keepdim=True, ord="p", p=float(norm_type))
        scale = F.where(F.gt(norm, max_norm), F.div(max_norm, F.add(norm, 1e-7)), 1.0)
        assign(weight, F.put(weight, index, F.mul(rows, scale), axis=0))
    return weight


def _scaled_by_frequency(x: Tensor, weight: Tensor) -> Tensor:
    """``weight``, with gradients divided by how often ``x`` names each row."""
    with no_grad_guard():
        index = F.reshape(x, shape=(math.prod(x.shape),))
        zeros = create_on(weight.place, F.full, 0.0, weight.dtype, (weight.shape[0],))
        ones = create_on(weight.place, F.full, 1.0, weight.dtype, tuple(index.shape))
        count = F.put(zeros, index, ones, axis=0, mode="add")
        inverse = F.unsqueeze(F.div(1.0, F.maximum(count, 1.0)), axes=(1,))
        rest = F.mul(weight, F.sub(1.0, inverse))
    return F.add(F.mul(weight, inverse), rest)


@public("paddle.nn.functional")
def one_hot(x: Tensor, num_classes: int = -1, name: str | None = None) -> Tensor:
    """One-hot code: a new last dim with 1 at the class that ``x`` names and 0 elsewhere.

    Args:
        x: integer tensor of any shape.
        num_classes: size of the new dim; by default one more than the largest class, for which a captured function
            breaks its graph, and one graph (``full_graph=True``) reads it. In graphs a class outside the range gets
            zeros.

    Returns:
        Tensor ``[*x.shape, num_classes]`` of the default dtype.

    Raises:
        TypeError: x is not an integer tensor.
        ValueError: a class outside the range, or a negative ``num_classes`` other than -1.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.one_hot(paddle.to_tensor([1, 0]), 3).tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    size = integer(num_classes, "one_hot", "num_classes")
    if type(size) is int and size < -1:
        raise op_error(ValueError, "one_hot", "num_classes of 0 or more, or -1", size)
    if current().trace:
        if type(size) is int and size == -1:
            if not reads_numbers():
                raise DataUnknown("[one_hot] requires num_classes in a captured function, got -1")
            size = integer(x.max(), "one_hot", "x") + 1
    else:
        try:
            elements = x.size
        except AttributeError:
            need_tensor(x, "one_hot")
            raise
        if elements:
            low, high = int(x.min()), int(x.max())
            size = high + 1 if size == -1 else size
            if low < 0 or high >= size:
                required = "classes of 0 or more" if low < 0 else f"classes below num_classes={size}"
                raise op_error(ValueError, "one_hot", required, f"{low} to {high}")
    return F.one_hot(x, dtype=dt.float32, num_classes=max(size, 0) if type(size) is int else size)
