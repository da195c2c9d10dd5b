"""Mathematics of sparse tensors, written with ops on their values and NumPy on their positions.

``call`` is what dispatch asks about ops that meet a sparse operand: operators and functions that keep zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.context import place_guard
from umiak.core.dtype import int64 as _INT64
from umiak.core.tensor import Tensor
from umiak.ops.promotion import promote
from umiak.runtime.sparse_matmul import SparsityPattern, sampled_matmul
from umiak.runtime.sparse_tensor import (
    Sparse,
    SparseCoo,
    SparseCsr,
    SparseTensor,
    added,
    coo_at,
    flat_index,
    from_flat,
    gathered,
    index_tensor,
    read,
    row_pointers,
    taken,
)
from umiak.util.errors import op_error

# --- positions of several tensors ----------------------------------------------------------------------------------


def at_positions(like: Sparse, where: np.ndarray, values: Tensor, shape: Sequence[int], ordered: bool) -> Any:
    """A tensor of the same kind with values at coordinates, which a CSR tensor sorts by rows."""
    if isinstance(like, SparseCoo):
        return coo_at(where, like._indices.dtype, values, shape, ordered)
    key = flat_index(where, shape)
    if not ordered and key.size and (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")
        where, values = where[:, order], taken(values, order)
    index = like._cols.dtype
    crows = row_pointers(flat_index(where[:-1], shape[:-1]), shape)
    pointers, cols = (index_tensor(i, index, values.place) for i in (crows, where[-1]))
    return SparseCsr(pointers, cols, values, shape, where)


def _sparse_sizes(x: Sparse) -> list[int]:
    return x.shape[: len(x.coordinates())]


def _distinct(x: Sparse) -> tuple[np.ndarray, Tensor]:
    """Numbers of the positions, each once, in any order, and the values there."""
    key, values = flat_index(x.coordinates(), _sparse_sizes(x)), x._values
    if (isinstance(x, SparseCoo) and x._coalesced) or (key[1:] > key[:-1]).all():
        return key, values
    unique, inverse = np.unique(key, return_inverse=True)
    return (key, values) if unique.size == key.size else (unique, added(values, inverse.reshape(-1), unique.size))


def _check_kinds(op: str, x: Tensor, y: Tensor) -> None:
    if x.shape != y.shape:
        raise op_error(ValueError, op, "sparse tensors of one shape", f"{list(x.shape)} and {list(y.shape)}")
    if type(x) is not type(y):
        raise TypeError(
            f"[{op}] requires two COO or two CSR tensors, got one of each. Use to_sparse_coo() or to_sparse_csr()."
        )
    if x.sparse_dim() != y.sparse_dim():
        raise op_error(
            ValueError, op, "tensors of the same number of sparse dims", f"{x.sparse_dim()} and {y.sparse_dim()}"
        )


def _elementwise(op: str, f: Callable[[Tensor, Tensor], Tensor], x: Sparse, y: Sparse) -> Any:
    """``f`` of two tensors at every position that one of them stores."""
    _check_kinds(op, x, y)
    if x.same_pattern(y) and _is_distinct(x):
        return x.with_values(f(x._values, y._values))
    (kx, vx), (ky, vy) = _distinct(x), _distinct(y)
    both, inverse = np.unique(np.concatenate([kx, ky]), return_inverse=True)
    inverse = inverse.reshape(-1)
    values = f(added(vx, inverse[: kx.size], both.size), added(vy, inverse[kx.size :], both.size))
    return at_positions(x, from_flat(both, _sparse_sizes(x)), values, x.shape, True)


def _is_distinct(x: Sparse) -> bool:
    if isinstance(x, SparseCoo) and x._coalesced:
        return True
    key = flat_index(x.coordinates(), _sparse_sizes(x))
    return bool((key[1:] > key[:-1]).all()) or np.unique(key).size == key.size


# --- operators -----------------------------------------------------------------------------------------------------


def is_sparse(x: Any) -> bool:
    """Test for a sparse tensor."""
    return isinstance(x, SparseTensor)


def _is_number(x: Any) -> bool:
    return not isinstance(x, Tensor) or (not is_sparse(x) and x.ndim == 0)


def _refuse_dense(op: str, x: Any, y: Any) -> TypeError:
    got = " and ".join(
        "a sparse tensor" if is_sparse(v) else "a dense tensor" if isinstance(v, Tensor) else type(v).__name__
        for v in (x, y)
    )
    return TypeError(f"[{op}] requires two sparse tensors, got {got}. Use to_dense() or a to_sparse method.")


def _promoted(op: str, x: Sparse, y: Sparse) -> tuple:
    a, b = promote(op, x._values, y._values)
    return x.with_values(a), y.with_values(b)


def _linear(op: str, x: Any, y: Any, f: Callable[[Any, Any], Any]) -> Any:
    """Sums and differences."""
    if is_sparse(x) and is_sparse(y):
        return _elementwise(op, f, *_promoted(op, x, y))
    if (
        isinstance(x, SparseCoo)
        and isinstance(y, Tensor)
        and 0 < y.ndim == x.dense_dim()
        and y.shape == x.shape[-y.ndim :]
    ):
        return x.with_values(f(x._values, y))  # a bias of the channels
    raise _refuse_dense(op, x, y)


def add(x: Any, y: Any) -> Any:
    """Sum of two sparse tensors, or of a COO tensor's values and a dense tensor of their shape."""
    return _linear("add", x, y, lambda a, b: a + b)


def subtract(x: Any, y: Any) -> Any:
    """Difference of two sparse tensors."""
    return _linear("subtract", x, y, lambda a, b: a - b)


def multiply(x: Any, y: Any) -> Any:
    """Product element by element of two sparse tensors, or of one and a number or a dense tensor of its shape."""
    if is_sparse(x) and is_sparse(y):
        return _elementwise("multiply", lambda a, b: a * b, *_promoted("multiply", x, y))
    sparse, other = (x, y) if is_sparse(x) else (y, x)
    if _is_number(other):
        return sparse.with_values(sparse._values * other)
    if other.shape == sparse.shape:
        return sparse.with_values(sparse._values * gathered(other, sparse.coordinates()))
    raise _refuse_dense("multiply", x, y)


def divide(x: Any, y: Any) -> Any:
    """Quotient of two sparse tensors, which every position has, or of one and a number."""
    if is_sparse(x) and is_sparse(y):
        _check_kinds("divide", x, y)
        sizes = _sparse_sizes(x)
        where = from_flat(np.arange(math.prod(sizes), dtype=np.int64), sizes)
        quotient = x.to_dense() / y.to_dense()
        return at_positions(x, where, gathered(quotient, where), x.shape, True)
    if is_sparse(x) and _is_number(y):
        return x.with_values(x._values / y)
    raise _refuse_dense("divide", x, y)


def matmul(x: Any, y: Any) -> Any:
    """Matmul: sparse for two sparse operands, dense for one."""
    if is_sparse(x) and is_sparse(y):
        return _sparse_matmul(x, y)
    if is_sparse(x) == is_sparse(y) or not all(isinstance(v, Tensor) for v in (x, y)):
        raise _refuse_dense("matmul", x, y)
    if is_sparse(y):
        if x.ndim == 1:
            return matmul(swap_last(y), x)
        return _transposed(matmul(swap_last(y), _transposed(x)))
    _check_matrix("matmul", x)
    vector = y.ndim == 1
    dense = F.unsqueeze(y, axes=(1,)) if vector else y
    if dense.shape[-2] != x.shape[-1] or dense.ndim != x.ndim or dense.shape[:-2] != x.shape[:-2]:
        got = f"{list(x.shape)} and {list(y.shape)}"
        raise op_error(ValueError, "matmul", "x.shape[-1] == y.shape[-2] and the same leading dims", got)
    values, dense = promote("matmul", x._values, dense)
    n = dense.shape[-1]
    if x.ndim == 2 and not vector:
        return _prepared(x)(values, dense)
    out = _prepared(x)(values, F.reshape(dense, shape=(math.prod(dense.shape[:-1]), n)))
    return F.reshape(out, shape=tuple(x.shape[:-1]) if vector else (*x.shape[:-1], n))


def _prepared(x: Sparse) -> SparsityPattern:
    """The sparsity pattern of ``x`` for matmuls, kept with its positions.

    A batch of matrices is one whose blocks lie on the diagonal.
    """
    pattern = x._kept.get(SparsityPattern)
    if pattern is None:
        where = x.coordinates()
        rows, cols = flat_index(where[:-1], x.shape[:-1]), where[-1]
        if x.ndim == 3:
            cols = where[0] * x.shape[-1] + cols
        shape = math.prod(x.shape[:-1]), math.prod(x.shape[:-2]) * x.shape[-1]
        pattern = x._kept[SparsityPattern] = SparsityPattern(rows, cols, shape, x.place)
    return pattern


def _check_matrix(op: str, x: Any) -> None:
    if x.ndim not in (2, 3) or len(x.coordinates()) != x.ndim:
        raise op_error(ValueError, op, "a sparse matrix, or a batch of them", f"shape {list(x.shape)}")


def _transposed(x: Tensor) -> Tensor:
    axes = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return F.permute(x, perm=axes)


def swap_last(x: Any) -> Any:
    """Each matrix transposed."""
    _check_matrix("matmul", x)
    return transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _sparse_matmul(x: Sparse, y: Sparse) -> Any:
    """Every pair of a value of x and one of y whose inner positions are equal; products at one position add up."""
    if type(x) is not type(y):
        raise TypeError("[matmul] requires two COO or two CSR tensors, got one of each. Use to_sparse_coo().")
    _check_matrix("matmul", x)
    _check_matrix("matmul", y)
    if x.shape[-1] != y.shape[-2] or x.shape[:-2] != y.shape[:-2]:
        got = f"{list(x.shape)} and {list(y.shape)}"
        raise op_error(ValueError, "matmul", "x.shape[-1] == y.shape[-2] and the same leading dims", got)
    x, y = _promoted("matmul", x, y)
    wx, wy = x.coordinates(), y.coordinates()
    left = flat_index(np.concatenate([wx[:-2], wx[-1:]]), [*x.shape[:-2], x.shape[-1]])
    right = flat_index(wy[:-1], y.shape[:-1])
    order = np.argsort(right, kind="stable")
    first = np.searchsorted(right[order], left, "left")
    counts = np.searchsorted(right[order], left, "right") - first
    from_x = np.repeat(np.arange(left.size), counts)
    within = np.arange(from_x.size) - np.repeat(np.cumsum(counts) - counts, counts)
    from_y = order[np.repeat(first, counts) + within]
    shape = [*x.shape[:-1], y.shape[-1]]
    key = flat_index(np.concatenate([wx[:-1][:, from_x], wy[-1:][:, from_y]]), shape)
    unique, inverse = np.unique(key, return_inverse=True)
    terms = taken(x._values, from_x) * taken(y._values, from_y)
    values = added(terms, inverse.reshape(-1), unique.size)
    return at_positions(x, from_flat(unique, shape), values, shape, True)


def masked_matmul(x: Tensor, y: Tensor, mask: Any) -> Any:
    """The elements of ``x @ y`` at the positions of the mask."""
    if is_sparse(x) or is_sparse(y) or not is_sparse(mask):
        raise TypeError("[masked_matmul] requires dense x and y and a sparse mask, got another kind. Use to_dense().")
    _check_matrix("masked_matmul", mask)
    shape = [*x.shape[:-1], y.shape[-1]]
    if x.ndim != mask.ndim or y.ndim != mask.ndim or x.shape[-1] != y.shape[-2] or shape != mask.shape:
        got = f"{list(x.shape)}, {list(y.shape)} and {list(mask.shape)}"
        raise op_error(ValueError, "masked_matmul", "matrices whose product has the shape of the mask", got)
    x, y = promote("masked_matmul", x, y)
    rows, cols = _flat_positions(mask)
    left, right = (F.reshape(v, shape=(math.prod(v.shape[:-1]), v.shape[-1])) for v in (x, _transposed(y)))
    return mask.with_values(sampled_matmul(rows, cols, left, right))


def _flat_positions(x: Sparse) -> tuple[Tensor, Tensor]:
    """Rows and columns of the values, counted through all matrices of a batch; kept with the positions."""
    found = x._kept.get(sampled_matmul)
    if found is None:
        where = x.coordinates()
        rows = flat_index(where[:-1], x.shape[:-1])
        cols = flat_index(np.concatenate([where[:-2], where[-1:]]), [*x.shape[:-2], x.shape[-1]])
        found = x._kept[sampled_matmul] = from_numpy(rows, x.place), from_numpy(cols, x.place)
    return found


def mask_as(x: Tensor, mask: Any) -> Any:
    """The elements of a dense tensor at the positions of the mask."""
    if is_sparse(x) or not is_sparse(mask):
        raise TypeError("[mask_as] requires a dense x and a sparse mask, got another kind. Use to_dense().")
    if x.shape != mask.shape:
        raise op_error(ValueError, "mask_as", f"x of the mask's shape {list(mask.shape)}", x.shape)
    return mask.with_values(gathered(x, mask.coordinates()))


# --- shapes --------------------------------------------------------------------------------------------------------


def transpose(x: Any, perm: Sequence[int]) -> Any:
    """Dims in another order; sparse dims stay before dense ones."""
    where = x.coordinates()
    n, shape = len(where), [x.shape[p] for p in perm]
    if any(p >= n for p in perm[:n]):
        got = f"perm {list(perm)} with sparse_dim {n}"
        raise op_error(ValueError, "transpose", "sparse dims that stay before the dense ones", got)
    values = x._values
    if list(perm[n:]) != list(range(n, len(perm))):
        values = F.permute(values, perm=(0, *(p - n + 1 for p in perm[n:])))
    return at_positions(x, where[list(perm[:n])], values, shape, False)


def reshape(x: Any, shape: Sequence[int]) -> Any:
    """The same elements, in the order of rows, in another shape; dense dims keep theirs."""
    where = x.coordinates()
    n = len(where)
    dense = x.shape[n:]
    m = len(shape) - len(dense)
    if m < 1 or list(shape[m:]) != dense:
        raise op_error(ValueError, "reshape", f"a shape that ends with the dense dims {dense}", list(shape))
    if isinstance(x, SparseCsr) and len(shape) not in (2, 3):
        raise op_error(ValueError, "reshape", "two or three dims for a CSR tensor", list(shape))
    if where.shape[1]:
        where = from_flat(flat_index(where, x.shape[:n]), shape[:m])
    else:
        where = np.zeros((m, 0), np.int64)
    return at_positions(x, where, x._values, shape, isinstance(x, SparseCoo) and x._coalesced)


def slice(x: Any, bounds: dict[int, tuple[int, int]]) -> Any:
    """The part between bounds (first, end) of some axes."""
    where, values = x.coordinates(), x._values
    n, shape = len(where), x.shape
    here = np.ones(where.shape[1], np.bool_)
    shift = np.zeros((n, 1), np.int64)
    for axis, (first, end) in bounds.items():
        shape[axis] = max(end - first, 0)
        if axis < n:
            here &= (where[axis] >= first) & (where[axis] < end)
            shift[axis] = first
        else:
            values = F.slice(values, axes=(axis - n + 1,), starts=(first,), sizes=(shape[axis],), steps=(1,))
    selected = np.flatnonzero(here)
    ordered = isinstance(x, SparseCoo) and x._coalesced
    return at_positions(x, where[:, selected] - shift, taken(values, selected), shape, ordered)


# --- sums and rows -------------------------------------------------------------------------------------------------


def sum(x: Any, axes: Sequence[int], keepdim: bool) -> Any:
    """Sums over axes. A COO tensor that has no axis left has one of size 1; a CSR tensor keeps two dims at least."""
    where, values = x.coordinates(), x._values
    n, shape = len(where), x.shape
    inner = tuple(a - n + 1 for a in axes if a >= n)
    if inner:
        values = F.sum(values, axes=inner, keepdim=keepdim)
    left = [a for a in range(n) if a not in axes]
    if isinstance(x, SparseCsr):
        # Summed rows and columns keep their axes; the axis of matrices goes, unless it is to stay.
        remaining = [a for a in range(n) if a in left or keepdim or a >= n - 2]
        if len(left) == 0 and not keepdim:
            remaining = [n - 2, n - 1]
    else:
        remaining = list(range(n)) if keepdim else left
    sizes = [shape[a] if a in left else 1 for a in remaining] or [1]
    target = np.zeros((len(sizes), where.shape[1]), np.int64)
    for i, a in enumerate(remaining):
        if a in left:
            target[i] = where[a]
    key, count = np.unique(flat_index(target, sizes), return_inverse=True)
    summed = added(values, count.reshape(-1), key.size)
    return at_positions(x, from_flat(key, sizes), summed, [*sizes, *summed.shape[1:]], True)


def softmax(x: Any, axis: int) -> Any:
    """Softmax along a sparse axis of the values that are stored."""
    where = x.coordinates()
    others = [a for a in range(len(where)) if a != axis]
    key = flat_index(where[others], [x.shape[a] for a in others])
    rows, which = np.unique(key, return_inverse=True)
    return x.with_values(softmax_of_groups(x._values, which.reshape(-1), rows.size))


def softmax_of_groups(values: Tensor, which: np.ndarray, n: int) -> Tensor:
    """Softmax over values of the same group."""
    with place_guard(values.place):
        low = F.full(-math.inf, dtype=values.dtype, shape=(n, *values.shape[1:]))
    index = index_tensor(which, _INT64, values.place)
    highest = F.put(low, index, values.detach(), axis=0, mode="max")
    powers = F.exp(values - F.take(highest, index, axis=0))
    return powers / F.take(added(powers, which, n), index, axis=0)


def attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Sparse, of_keys: Tensor | None, of_pairs: Tensor | None
) -> Tensor:
    """``softmax(query @ key.T / sqrt(d)) @ value`` at the positions of a mask with one matrix for each batch and head.

    Positions where another mask is zero do not count; a row without any position gives zeros.
    """
    b, h, n, d = query.shape
    flat = [F.reshape(t, shape=(b * h, t.shape[2], t.shape[3])) for t in (query, key, value)]
    scores = masked_matmul(flat[0], _transposed(flat[1]), mask)._values * (
        1.0 / math.sqrt(d or 1)
    )  # of no elements: zeros
    where = mask.coordinates()
    seen = np.ones(where.shape[1], np.bool_)
    if of_keys is not None:
        seen &= read(of_keys, "attention", "key_padding_mask")[where[0] // h, where[2]] != 0
    if of_pairs is not None:
        seen &= read(of_pairs, "attention", "attn_mask")[where[1], where[2]] != 0
    rows = flat_index(where[:-1], mask.shape[:-1])
    if not seen.all():
        at = np.flatnonzero(seen)
        where, rows, scores = where[:, at], rows[at], taken(scores, at)
    weights = softmax_of_groups(scores, rows, b * h * n)
    picked = coo_at(where, _INT64, weights, mask.shape)
    return F.reshape(matmul(picked, flat[2]), shape=(b, h, n, value.shape[3]))


# --- dispatch ------------------------------------------------------------------------------------------------------

_KEEPS_ZERO = (
    F.Sin, F.Tan, F.Asin, F.Atan, F.Sinh, F.Tanh, F.Asinh, F.Atanh, F.Sqrt, F.Square, F.Log1p, F.Expm1, F.Neg, F.Abs,
    F.Relu, F.Cast, F.Copy, F.Sign, F.Floor, F.Ceil, F.Round, F.Trunc,
)  # fmt: skip


def _on_values(op: Any, operands: tuple, params: tuple) -> Any:
    x = operands[0]
    return x.with_values(op(x._values, *operands[1:], *params))


def _power(op: Any, operands: tuple, params: tuple) -> Any:
    x, y = operands
    if not is_sparse(x) or isinstance(y, (Tensor, complex)) or y <= 0:
        return None
    return x.with_values(op(x._values, y))


RULES: dict[type, Callable[[Any, tuple, tuple], Any]] = {
    **dict.fromkeys(_KEEPS_ZERO, _on_values),
    F.Add: lambda op, operands, params: add(*operands),
    F.Sub: lambda op, operands, params: subtract(*operands),
    F.Mul: lambda op, operands, params: multiply(*operands),
    F.Div: lambda op, operands, params: divide(*operands),
    F.Matmul: lambda op, operands, params: None if op.transpose_x or op.transpose_y else matmul(*operands),
    F.Pow: _power,
}


def call(op: Any, operands: tuple, params: tuple) -> Any:
    """An op on operands among which there are sparse tensors.

    Raises:
        TypeError: it has no meaning for them.
    """
    rule = RULES.get(type(op))
    result = None if rule is None else rule(op, operands, params)
    if result is None:
        raise TypeError(
            f"[{op.name}] requires dense tensors, got a sparse one. Use a function of paddle.sparse, to_dense() or "
            "values()."
        )
    return result
