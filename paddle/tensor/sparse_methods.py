"""Sparse tensors from dense ones, and what dense tensors answer when they are asked about stored elements.

Sparse tensors override these methods (``umiak/runtime/sparse_tensor.py``), which few programs load.
"""

from __future__ import annotations

from typing import NoReturn

from paddle._public import public
from paddle.tensor._args import integer, op_error
from umiak.core.tensor import Tensor


def _refuse(op: str, required: str) -> Exception:
    return op_error(TypeError, op, required, "a dense tensor")


@public("Tensor")
def is_sparse(self: Tensor) -> bool:
    """Test for a tensor that stores only elements other than zero.

    Returns:
        False, for a dense tensor.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).is_sparse()
        False
    """
    return False


@public("Tensor")
def is_sparse_coo(self: Tensor) -> bool:
    """Test for a sparse tensor that stores the coordinates of its elements.

    Returns:
        False, for a dense tensor.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).is_sparse_coo()
        False
    """
    return False


@public("Tensor")
def is_sparse_csr(self: Tensor) -> bool:
    """Test for a sparse tensor that stores its rows one after another.

    Returns:
        False, for a dense tensor.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).is_sparse_csr()
        False
    """
    return False


@public("Tensor")
def to_dense(self: Tensor) -> Tensor:
    """Tensor that stores every element.

    Returns:
        The tensor itself, or of a sparse tensor a dense one; values at one position add up.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> x.to_dense() is x
        True
    """
    return self


@public("Tensor")
def nnz(self: Tensor) -> NoReturn:
    """Number of values that a sparse tensor stores.

    Returns:
        An int, in which zeros that are stored count, too.

    Raises:
        TypeError: the tensor is not a sparse tensor.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [5.0, 6.0], [2, 3])
        >>> x.nnz()
        2
    """
    raise _refuse("nnz", "a sparse tensor")


@public("Tensor")
def values(self: Tensor) -> NoReturn:
    """Values of a sparse tensor, through which gradients pass.

    Returns:
        Dense tensor of shape [nnz] and of the dims that are not sparse.

    Raises:
        TypeError: the tensor is not a sparse tensor.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [5.0, 6.0], [2, 3])
        >>> x.values().tolist()
        [5.0, 6.0]
    """
    raise _refuse("values", "a sparse tensor")


@public("Tensor")
def indices(self: Tensor) -> NoReturn:
    """Positions of the values of a sparse COO tensor.

    Returns:
        Integer tensor of shape [sparse_dim, nnz].

    Raises:
        TypeError: the tensor is not a sparse COO tensor.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [5.0, 6.0], [2, 3])
        >>> x.indices().tolist()
        [[0, 1], [1, 2]]
    """
    raise _refuse("indices", "a sparse COO tensor")


@public("Tensor")
def crows(self: Tensor) -> NoReturn:
    """Pointers to the rows of a sparse CSR tensor.

    Returns:
        Integer tensor: row i has the values from element i up to element i + 1 of it.

    Raises:
        TypeError: the tensor is not a sparse CSR tensor.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_csr_tensor([0, 1, 2], [1, 2], [5.0, 6.0], [2, 3])
        >>> x.crows().tolist()
        [0, 1, 2]
    """
    raise _refuse("crows", "a sparse CSR tensor")


@public("Tensor")
def cols(self: Tensor) -> NoReturn:
    """Columns of the values of a sparse CSR tensor.

    Returns:
        Integer tensor of shape [nnz].

    Raises:
        TypeError: the tensor is not a sparse CSR tensor.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_csr_tensor([0, 1, 2], [1, 2], [5.0, 6.0], [2, 3])
        >>> x.cols().tolist()
        [1, 2]
    """
    raise _refuse("cols", "a sparse CSR tensor")


@public("Tensor")
def rows(self: Tensor) -> NoReturn:
    """Numbers of the rows that a gradient of selected rows stores.

    Returns:
        A list of ints, in the order of the values.

    Raises:
        TypeError: the tensor is not a tensor of selected rows.

    Example:
        >>> import paddle
        >>> table = paddle.nn.Embedding(4, 2, sparse=True)
        >>> table(paddle.to_tensor([3, 1])).sum().backward()
        >>> table.weight.grad.rows()
        [3, 1]
    """
    raise _refuse("rows", "a tensor of selected rows")


@public("Tensor")
def is_coalesced(self: Tensor) -> NoReturn:
    """Test for a sparse COO tensor whose positions are known to be sorted and different.

    Returns:
        A bool.

    Raises:
        TypeError: the tensor is not a sparse COO tensor.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [5.0, 6.0], [2, 3])
        >>> x.is_coalesced(), x.coalesce().is_coalesced()
        (False, True)
    """
    raise _refuse("is_coalesced", "a sparse COO tensor")


@public("Tensor")
def coalesce(self: Tensor, name: str | None = None) -> NoReturn:
    """Sparse COO tensor with its positions sorted, each once; values at one position add up.

    Returns:
        Sparse COO tensor of the same shape and dtype.

    Raises:
        TypeError: the tensor is not a sparse COO tensor.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], [2])
        >>> x.coalesce().values().tolist()
        [2.0, 4.0]
    """
    raise _refuse("coalesce", "a sparse COO tensor")


@public("Tensor")
def sparse_dim(self: Tensor) -> int:
    """Number of dims that positions of a sparse tensor address.

    Returns:
        An int: 0 of a dense tensor, 2 of a CSR tensor.

    Example:
        >>> import paddle
        >>> paddle.ones([2, 3]).sparse_dim(), paddle.ones([2, 3]).to_sparse_coo(1).sparse_dim()
        (0, 1)
    """
    return 0


@public("Tensor")
def dense_dim(self: Tensor) -> int:
    """Number of dims that each value of a sparse tensor has.

    Returns:
        An int: the rank of a dense tensor, 0 of a CSR tensor.

    Example:
        >>> import paddle
        >>> paddle.ones([2, 3]).dense_dim(), paddle.ones([2, 3]).to_sparse_coo(1).dense_dim()
        (2, 1)
    """
    return self.ndim


@public("Tensor")
def to_sparse_coo(self: Tensor, sparse_dim: int) -> Tensor:
    """Sparse COO tensor of what differs from zero; gradients pass through it.

    Args:
        sparse_dim: number of dims that positions address; slices of the other dims are values.

    Returns:
        Sparse COO tensor of the same shape and dtype, with its positions sorted. A tensor that is COO is returned as
        it is.

    Raises:
        ValueError: the tensor has fewer dims, or ``sparse_dim`` is below 1.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[0.0, 5.0], [6.0, 0.0]])
        >>> x.to_sparse_coo(2).indices().tolist()
        [[0, 1], [1, 0]]
    """
    from umiak.runtime.sparse_tensor import from_dense

    n = integer(sparse_dim, "to_sparse_coo", "sparse_dim")
    if not 1 <= n <= self.ndim:
        raise op_error(ValueError, "to_sparse_coo", f"a sparse_dim from 1 to the rank, {self.ndim}", n)
    return from_dense(self, n)


@public("Tensor")
def to_sparse_csr(self: Tensor) -> Tensor:
    """Sparse CSR tensor of what differs from zero; gradients pass through it.

    Returns:
        Sparse CSR tensor of the same shape and dtype. A tensor that is CSR is returned as it is.

    Raises:
        ValueError: the tensor has not two dims, nor three, whose first one counts matrices.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[0.0, 5.0], [6.0, 0.0]])
        >>> x.to_sparse_csr().crows().tolist()
        [0, 1, 2]
    """
    from umiak.runtime.sparse_tensor import from_dense

    if self.ndim not in (2, 3):
        raise op_error(ValueError, "to_sparse_csr", "a tensor of two or three dims", self.shape)
    return from_dense(self, self.ndim).to_sparse_csr()
