"""Functions of two sparse tensors, and products with dense ones."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.sparse.unary import need_sparse
from paddle.tensor._args import need_tensor, op_error
from umiak.core.tensor import Tensor
from umiak.runtime import sparse_math


@public("paddle.sparse", usual=False)
def add(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Sum of two sparse tensors.

    Args:
        x: sparse COO or CSR tensor.
        y: sparse tensor of x's kind and shape; beside a COO tensor also a dense one of the dims that are not sparse,
            which is added to each value.

    Returns:
        Sparse tensor of x's kind at every position that x or y stores, of the dtype that both promote to.

    Raises:
        TypeError: not two COO or two CSR tensors.
        ValueError: shapes that differ.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [2.0, 3.0], [3])
        >>> y = paddle.sparse.sparse_coo_tensor([[0, 1]], [4.0, 5.0], [3])
        >>> paddle.sparse.add(x, y).to_dense().tolist()
        [6.0, 5.0, 3.0]
    """
    return sparse_math.add(need_sparse(x, "add"), y)


@public("paddle.sparse", usual=False)
def subtract(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Difference of two sparse tensors.

    Args:
        x: sparse COO or CSR tensor.
        y: sparse tensor of x's kind and shape.

    Returns:
        Sparse tensor of x's kind at every position that x or y stores, of the dtype that both promote to.

    Raises:
        TypeError: not two COO or two CSR tensors.
        ValueError: shapes that differ.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [2.0, 3.0], [3])
        >>> y = paddle.sparse.sparse_coo_tensor([[0, 1]], [4.0, 5.0], [3])
        >>> paddle.sparse.subtract(x, y).to_dense().tolist()
        [-2.0, -5.0, 3.0]
    """
    return sparse_math.subtract(need_sparse(x, "subtract"), y)


@public("paddle.sparse", usual=False)
def multiply(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Product of two sparse tensors, element by element.

    Args:
        x: sparse COO or CSR tensor.
        y: sparse tensor of x's kind and shape, a dense tensor of its shape, or a number.

    Returns:
        Sparse tensor of x's kind at every position that x or y stores, of the dtype that both promote to.
        With a dense tensor or a number, at x's positions.

    Raises:
        TypeError: neither two COO or CSR tensors nor one and another operand that it may have.
        ValueError: shapes that differ.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [2.0, 3.0], [3])
        >>> y = paddle.sparse.sparse_coo_tensor([[0, 1]], [4.0, 5.0], [3])
        >>> paddle.sparse.multiply(x, y).to_dense().tolist()
        [8.0, 0.0, 0.0]
    """
    return sparse_math.multiply(need_sparse(x, "multiply"), y)


@public("paddle.sparse", usual=False)
def divide(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Quotient of two sparse tensors, element by element.

    Args:
        x: sparse COO or CSR tensor.
        y: sparse tensor of x's kind and shape, or a number.

    Returns:
        Sparse tensor of x's kind that stores every element, since 0 / 0 is NaN; with a number, x's positions. Integers
        become float32.

    Raises:
        TypeError: neither two COO or CSR tensors nor one and a number.
        ValueError: shapes that differ.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [2.0, 3.0], [3])
        >>> y = paddle.sparse.sparse_coo_tensor([[0, 1]], [4.0, 5.0], [3])
        >>> paddle.sparse.divide(x, y).to_dense().tolist()
        [0.5, 0.0, inf]
    """
    return sparse_math.divide(need_sparse(x, "divide"), y)


@public("paddle.sparse", usual=False)
def is_same_shape(x: Tensor, y: Tensor) -> bool:
    """Test for two tensors of the same shape, sparse or dense.

    Args:
        x: tensor of any kind.
        y: tensor of any kind.

    Returns:
        A bool.

    Raises:
        TypeError: an operand is no tensor.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [2.0, 3.0], [3])
        >>> paddle.sparse.is_same_shape(x, paddle.ones([3]))
        True
    """
    return need_tensor(x, "is_same_shape").shape == need_tensor(y, "is_same_shape").shape


@public("paddle.sparse", usual=False)
def matmul(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Matrix product with a sparse operand.

    Args:
        x: sparse matrix of shape [m, k], or a batch of them, [b, m, k]; or a dense one.
        y: sparse matrix of x's kind, or a dense one of shape [k, n], or a batch of them, or a vector [k]. One of
            both is sparse.

    Returns:
        Dense tensor of shape [m, n], [b, m, n] or [m]; of two sparse matrices a sparse one of their kind.

    Raises:
        TypeError: both are dense, or one is COO and the other CSR.
        ValueError: shapes that do not fit.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [2.0, 3.0], [2, 2])
        >>> paddle.sparse.matmul(x, paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [[6.0, 8.0], [3.0, 6.0]]
    """
    return sparse_math.matmul(need_tensor(x, "matmul"), need_tensor(y, "matmul"))


@public("paddle.sparse", usual=False)
def mv(x: Tensor, vec: Tensor, name: str | None = None) -> Tensor:
    """Product of a sparse matrix and a vector.

    Args:
        x: sparse COO or CSR matrix of shape [m, k].
        vec: dense tensor of shape [k].

    Returns:
        Dense tensor of shape [m].

    Raises:
        TypeError: x is not sparse, or vec is.
        ValueError: shapes that do not fit.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [2.0, 3.0], [2, 2])
        >>> paddle.sparse.mv(x, paddle.to_tensor([1.0, 5.0])).tolist()
        [10.0, 3.0]
    """
    need_sparse(x, "mv")
    if need_tensor(vec, "mv").ndim != 1 or x.ndim != 2:
        raise op_error(ValueError, "mv", "a matrix and a vector", f"shapes {list(x.shape)} and {list(vec.shape)}")
    return sparse_math.matmul(x, vec)


@public("paddle.sparse", usual=False)
def masked_matmul(x: Tensor, y: Tensor, mask: Tensor, name: str | None = None) -> Tensor:
    """Elements of the product of two dense matrices at the positions of a mask.

    Args:
        x: dense tensor of shape [m, k] or [b, m, k].
        y: dense tensor of shape [k, n] or [b, k, n].
        mask: sparse COO or CSR tensor of shape [m, n] or [b, m, n], whose values do not matter.

    Returns:
        Sparse tensor of the mask's kind and positions.

    Raises:
        TypeError: x or y is sparse, or the mask is not.
        ValueError: shapes that do not fit.

    Example:
        >>> import paddle
        >>> mask = paddle.sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 1.0], [2, 2])
        >>> x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> paddle.sparse.masked_matmul(x, x, mask).values().tolist()
        [10.0, 15.0]
    """
    return sparse_math.masked_matmul(need_tensor(x, "masked_matmul"), need_tensor(y, "masked_matmul"), mask)


@public("paddle.sparse", usual=False)
def mask_as(x: Tensor, mask: Tensor, name: str | None = None) -> Tensor:
    """Elements of a dense tensor at the positions of a mask.

    Args:
        x: dense tensor of the mask's shape.
        mask: sparse COO or CSR tensor, whose values do not matter.

    Returns:
        Sparse tensor of the mask's kind and positions, and x's dtype.

    Raises:
        TypeError: x is sparse, or the mask is not.
        ValueError: shapes that differ.

    Example:
        >>> import paddle
        >>> mask = paddle.sparse.sparse_coo_tensor([[0, 2]], [1.0, 1.0], [3])
        >>> paddle.sparse.mask_as(paddle.to_tensor([5.0, 6.0, 7.0]), mask).values().tolist()
        [5.0, 7.0]
    """
    return sparse_math.mask_as(need_tensor(x, "mask_as"), mask)
