"""Attention at the positions of a sparse mask."""

from __future__ import annotations

from paddle._public import public
from paddle.tensor._args import need_tensor, op_error
from umiak.core.tensor import Tensor
from umiak.runtime import sparse_math
from umiak.runtime.sparse_tensor import SparseCsr


@public("paddle.sparse.nn.functional", usual=False)
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sparse_mask: Tensor,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Attention ``softmax(query @ key.T / sqrt(d)) @ value`` that looks only where a sparse mask has positions.

    Args:
        query: dense tensor of shape [b, h, n, d], floating.
        key: dense tensor of the same shape.
        value: dense tensor of the same shape.
        sparse_mask: sparse CSR tensor of shape [b * h, n, n], whose values do not matter.
        key_padding_mask: dense tensor of shape [b, n]: keys where it is 0 do not count. None: all count.
        attn_mask: dense tensor of shape [n, n]: pairs where it is 0 do not count. None: all count.

    Returns:
        Dense tensor of query's shape and dtype; zeros for a query that sees no key.

    Raises:
        TypeError: the mask is no sparse CSR tensor, or another operand is no tensor.
        ValueError: shapes that do not fit.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[[[1.0, 0.0], [0.0, 2.0]]]])
        >>> mask = paddle.sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 1.0], [1, 2, 2])
        >>> paddle.sparse.nn.functional.attention(x, x, x, mask).tolist()
        [[[[0.0, 2.0], [1.0, 0.0]]]]
    """
    for x in (query, key, value):
        need_tensor(x, "attention")
    if not isinstance(sparse_mask, SparseCsr):
        raise op_error(TypeError, "attention", "a sparse CSR tensor as sparse_mask", type(sparse_mask).__name__)
    if query.ndim != 4 or query.shape != key.shape or query.shape != value.shape:
        got = f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}"
        raise op_error(ValueError, "attention", "query, key and value of one shape [b, h, n, d]", got)
    b, h, n, _ = query.shape
    if sparse_mask.shape != [b * h, n, n]:
        raise op_error(ValueError, "attention", f"a sparse_mask of shape {[b * h, n, n]}", sparse_mask.shape)
    for arg_name, mask, shape in (("key_padding_mask", key_padding_mask, [b, n]), ("attn_mask", attn_mask, [n, n])):
        if mask is not None and need_tensor(mask, "attention").shape != shape:
            raise op_error(ValueError, "attention", f"{arg_name} of shape {shape}", mask.shape)
    return sparse_math.attention(query, key, value, sparse_mask, key_padding_mask, attn_mask)
