"""Sparse tensors: a kind of tensor that stores some elements, and where they stand (docs/design/sparse.md).

``indices`` (COO) or ``crows`` and ``cols`` (CSR) are integer tensors without history; ``values`` is an ordinary tensor.
Whatever is differentiable is an op on the values, so that gradients, casts and higher derivatives need no rules of
their own. Ops that meet a sparse operand in dispatch go through ``sparse_math.call``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, host_values
from umiak.core.context import place_guard
from umiak.core.dtype import DType
from umiak.core.tensor import KIND_SPARSE, KIND_SYMBOLIC, Tensor
from umiak.ir.tracer import DataUnknown
from umiak.util.errors import op_error
from umiak.util.size import Size, size_of

_COPY = F.Copy()


def index_tensor(array: np.ndarray, dtype: DType, place: Any) -> Tensor:
    """Indices as a tensor of their dtype."""
    return from_numpy(np.ascontiguousarray(array, dtype=dtype.numpy), place)


def read(x: Tensor, op: str, arg_name: str) -> np.ndarray:
    """The data of a tensor that positions follow from; refused where a captured function does not know them."""
    if x._kind & KIND_SYMBOLIC:
        raise DataUnknown(
            f"[{op}] requires {arg_name} with data, got a tensor of a captured function. Positions are constants "
            "there: make the sparse tensor outside of the function and give it as an argument."
        )
    return host_values(x.detach())


def refuse(op: str, required: str, x: Tensor, hint: str = "") -> TypeError:
    """The error of a method that another kind of tensor has."""
    got = {SparseCoo: "a sparse COO tensor", SparseCsr: "a sparse CSR tensor"}.get(type(x), "a dense tensor")
    return TypeError(f"{op_error(TypeError, op, required, got)}" + (f". {hint}" if hint else ""))


class SparseTensor(Tensor):
    """Base of COO and CSR: a shape, values, and gradients that are those of the values."""

    __slots__ = ("_kept", "_shape", "_values")

    _shape: list[int]
    _values: Tensor
    _kept: dict[Any, Any]  # what was computed of the positions; tensors of the same positions share it

    def _become(self, values: Tensor, shape: Sequence[int]) -> None:
        self._init_symbolic(values.dtype, len(shape))
        self._kind = KIND_SPARSE
        self._shape = [int(n) for n in shape]
        self._values = values
        self._kept = {}

    def __init__(self, *args: Any) -> None:
        pass

    def with_values(self, values: Tensor) -> Any:
        """The same positions with other values, dense dims included."""
        raise NotImplementedError(f"[{type(self).__name__}] defines no with_values")

    def same_pattern(self, other: Tensor) -> bool:
        """Test for the same positions in the same order."""
        raise NotImplementedError(f"[{type(self).__name__}] defines no same_pattern")

    def coordinates(self) -> np.ndarray:
        """int64 array [sparse_dim, nnz] of the positions, in the order of the values."""
        raise NotImplementedError(f"[{type(self).__name__}] defines no coordinates")

    def to_dense(self) -> Tensor:
        """Tensor that stores every element; values at one position add up.

        Returns:
            Dense tensor of the same shape and dtype.
        """
        return scattered(self._values, self.coordinates(), self._shape)

    # --- what it is ------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:  # type: ignore[override]
        """The sizes of the whole tensor."""
        return size_of(list(self._shape))

    @property
    def place(self) -> Any:  # type: ignore[override]
        """The place of the values."""
        return self._values.place

    @property
    def strides(self) -> list[int]:  # type: ignore[override]
        """No strides."""
        return []

    @property
    def size(self) -> int:
        """The number of elements of the whole tensor."""
        return math.prod(self._shape)

    def numel(self) -> Tensor:  # type: ignore[override]
        """The number of elements of the whole tensor, as a 0-d int64 tensor."""
        return from_numpy(np.array(self.size, np.int64))

    def __len__(self) -> int:
        return self._shape[0]

    def nnz(self) -> int:
        """The number of values that are stored, zeros among them."""
        return self._values.shape[0]

    def values(self) -> Tensor:
        """The values, in their order; the same tensor at every call."""
        return self._values

    def is_dense(self) -> bool:
        """False: only some elements are stored."""
        return False

    def is_sparse(self) -> bool:
        """True: only some elements are stored."""
        return True

    def is_contiguous(self) -> bool:
        """True: the values are kept in their order."""
        return True

    def contiguous(self) -> Any:
        """The tensor itself."""
        return self

    # --- to Python and NumPy ---------------------------------------------------------------------------------------

    def numpy(self, blocking: bool = True) -> np.ndarray:
        """Array of all elements."""
        return host_values(self.to_dense())

    def tolist(self) -> Any:
        """Nested lists of all elements."""
        return self.numpy().tolist()

    def item(self, *args: int) -> Any:
        """An element as a Python scalar: see ``Tensor.item``."""
        return self.to_dense().item(*args)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.numpy().astype(dtype) if dtype is not None else self.numpy()

    def __bool__(self) -> bool:
        raise refuse("bool", "a dense tensor of one element", self, "Use to_dense().")

    __float__ = __int__ = __complex__ = __index__ = __bool__

    def __dlpack__(self, **kwargs: Any) -> Any:
        raise BufferError("[__dlpack__] requires a dense tensor, got a sparse one. Use to_dense() or values().")

    # --- gradients -------------------------------------------------------------------------------------------------

    @property
    def stop_gradient(self) -> bool:
        """Test for values that gradients do not reach."""
        return self._values.stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        self._values.stop_gradient = stop

    @property
    def is_leaf(self) -> bool:  # type: ignore[override]
        """Test for values without history."""
        return self._values.is_leaf

    @property
    def grad_fn(self) -> Any:  # type: ignore[override]
        """The node that made the values."""
        return self._values.grad_fn

    @property
    def grad(self) -> Any:
        """The gradient of the values at the same positions, None where there is none."""
        gradient = self._values.grad
        return None if gradient is None else self.with_values(gradient)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._values.grad = None if value is None else self.aligned_values(value, "grad")

    def aligned_values(self, g: Tensor, op: str) -> Tensor:
        """The values of a gradient at the positions of this tensor; of a dense one, its elements there."""
        if not isinstance(g, Tensor):
            raise op_error(TypeError, op, "a Tensor or None", type(g).__name__)
        if g.shape != self._shape:
            raise op_error(ValueError, op, f"the tensor's shape {self._shape}", g.shape)
        if isinstance(g, SparseTensor):
            if self.same_pattern(g):
                return g._values
            g = g.to_dense()
        return gathered(g, self.coordinates())

    def backward(
        self, grad_tensor: Any = None, retain_graph: bool = False, dump_backward_graph_path: Any = None
    ) -> None:
        """Run gradients back from the values; ``grad_tensor`` is sparse or dense, None means ones at the values."""
        g = None if grad_tensor is None else self.aligned_values(grad_tensor, "backward")
        if g is None:
            with place_guard(self._values.place):
                g = F.full(1, dtype=self._values.dtype, shape=tuple(self._values.shape))
        self._values.backward(g, retain_graph)

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Set the gradient to zeros, or to None with ``set_to_zero=False``."""
        self._values.clear_gradient(set_to_zero)

    def clear_grad(self) -> None:
        """Set the gradient to zeros, if there is one."""
        self._values.clear_grad()

    def gradient(self) -> Any:
        """The gradient as an array of all elements, None where there is none."""
        return None if self.grad is None else self.grad.numpy()

    def retain_grads(self) -> None:
        """Keep the gradient of this tensor in later backward runs, though it has a history."""
        self._values.retain_grads()

    def register_hook(self, hook: Callable) -> Any:
        """``hook(grad)`` gets the complete sparse gradient; a sparse tensor it returns replaces it."""
        pattern = self.detach()

        def on_values(g: Tensor) -> Tensor | None:
            replaced = hook(pattern.with_values(g))
            return None if replaced is None else pattern.aligned_values(replaced, "register_hook")

        return self._values.register_hook(on_values)

    def detach(self) -> Any:
        """The same positions and values without history."""
        return self.with_values(self._values.detach())

    def detach_(self) -> Any:
        """Forget the history of the values."""
        self._values.detach_()
        return self

    # --- copies ----------------------------------------------------------------------------------------------------

    def clone(self) -> Any:  # type: ignore[override]
        """A copy of the values at the same positions; gradients pass through it."""
        return self.with_values(_COPY(self._values))

    def cpu(self) -> Any:
        """The tensor with its values on the host."""
        return self.with_values(self._values.cpu())

    def _share(self, other: Any) -> None:
        raise refuse("set_value", "a dense tensor to write into", self, "Make another sparse tensor.")

    def __copy__(self) -> Any:
        return self.with_values(self._values)

    def __deepcopy__(self, memo: dict) -> Any:
        copied = memo.get(id(self))
        if copied is None:
            if not self.is_leaf:
                raise RuntimeError(
                    "[deepcopy] requires a tensor without history, got one with a grad_fn. Use detach() or clone()."
                )
            copied = memo[id(self)] = self.detach().clone()
            copied.stop_gradient = self.stop_gradient
            if self._values.grad is not None:
                copied._values.grad = _COPY(self._values.grad.detach())
        return copied

    def __reduce__(self) -> tuple:
        return _rebuild, (type(self), self._parts(), self._values.detach(), self._shape, self.stop_gradient)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return self.__reduce__()

    def _parts(self) -> tuple:
        """The index tensors."""
        raise NotImplementedError(f"[{type(self).__name__}] defines no _parts")

    def _lines(self) -> list[tuple[str, Tensor]]:
        raise NotImplementedError(f"[{type(self).__name__}] defines no _lines")

    def __repr__(self) -> str:
        head = (
            f"Tensor(shape={list(self.shape)}, dtype=paddle.{self.dtype.name}, place={self.place}, "
            f"stop_gradient={self.stop_gradient}"
        )
        parts = []
        for name, x in self._lines():
            text = np.array2string(host_values(x.detach()), separator=", ", prefix=" " * (8 + len(name)))
            parts.append(f"       {name}={text}")
        return ", \n".join([head, *parts]) + ")"

    __str__ = __repr__


def _rebuild(cls: Any, parts: tuple, values: Tensor, shape: list[int], stop_gradient: bool) -> Any:
    x = cls(*parts, values, shape)
    x.stop_gradient = stop_gradient
    return x


class SparseCoo(SparseTensor):
    """Coordinates: column k of ``indices`` [sparse_dim, nnz] is the position of ``values[k]``, of the other dims."""

    __slots__ = ("_coalesced", "_indices", "_positions")

    _indices: Tensor
    _positions: np.ndarray | None  # the same as an array, once they were read
    _coalesced: bool

    def __new__(
        cls,
        indices: Tensor,
        values: Tensor,
        shape: Sequence[int],
        coalesced: bool = False,
        positions: np.ndarray | None = None,
    ) -> SparseCoo:
        x: SparseCoo = Tensor.__new__(cls)
        x._become(values, shape)
        x._indices = indices
        x._coalesced = coalesced
        x._positions = positions
        return x

    def with_values(self, values: Tensor) -> SparseCoo:
        """The same positions with other values, dense dims included."""
        shape = [*self._shape[: self.sparse_dim()], *values.shape[1:]]
        x = SparseCoo(self._indices, values, shape, self._coalesced, self._positions)
        x._kept = self._kept
        return x

    def same_pattern(self, other: Tensor) -> bool:
        """Test for the same positions in the same order."""
        if not isinstance(other, SparseCoo) or other._shape != self._shape:
            return False
        return self._indices is other._indices or np.array_equal(self.coordinates(), other.coordinates())

    def coordinates(self) -> np.ndarray:
        """int64 array [sparse_dim, nnz] of the positions, in the order of the values."""
        if self._positions is None:
            self._positions = host_values(self._indices).astype(np.int64, copy=False)
        return self._positions

    def indices(self) -> Tensor:
        """The positions [sparse_dim, nnz], in the order of the values."""
        return self._indices

    def crows(self) -> Tensor:
        """Refused: only CSR tensors count their rows."""
        raise refuse("crows", "a sparse CSR tensor", self, "Use to_sparse_csr().")

    def cols(self) -> Tensor:
        """Refused: only CSR tensors have columns."""
        raise refuse("cols", "a sparse CSR tensor", self, "Use to_sparse_csr().")

    def sparse_dim(self) -> int:
        """The number of dims that positions address."""
        return self._indices.shape[0]

    def dense_dim(self) -> int:
        """The number of dims that each value has."""
        return len(self._shape) - self.sparse_dim()

    def is_sparse_coo(self) -> bool:
        """True: positions are stored as coordinates."""
        return True

    def is_sparse_csr(self) -> bool:
        """False: positions are stored as coordinates."""
        return False

    def is_coalesced(self) -> bool:
        """Test for positions that are known to be different and sorted."""
        return self._coalesced

    def coalesce(self, name: Any = None) -> SparseCoo:
        """The tensor with its positions sorted, each once; values at one position add up."""
        if self._coalesced:
            return self
        sizes = self._shape[: self.sparse_dim()]
        where, values = merged(self.coordinates(), self._values, sizes)
        return coo_at(where, self._indices.dtype, values, self._shape, True)

    def to_sparse_coo(self, sparse_dim: int | None = None) -> SparseCoo:
        """The tensor itself."""
        return self

    def to_sparse_csr(self) -> SparseCsr:
        """The same values, sorted by rows. Of a tensor of two dims, or of three, whose first one counts matrices."""
        if self.dense_dim() or len(self._shape) not in (2, 3):
            raise op_error(
                ValueError,
                "to_sparse_csr",
                "a tensor of two or three dims, all of them sparse",
                f"shape {self._shape}, sparse_dim {self.sparse_dim()}",
            )
        where = self.coordinates()
        key = flat_index(where[:-1], self._shape[:-1])
        values = self._values
        if key.size and (key[1:] < key[:-1]).any():
            order = np.argsort(key, kind="stable")
            key, where = key[order], where[:, order]
            values = taken(values, order)
        index = self._indices.dtype
        crows = row_pointers(key, self._shape)
        pointers, cols = (index_tensor(i, index, self.place) for i in (crows, where[-1]))
        return SparseCsr(pointers, cols, values, self._shape, where)

    def _parts(self) -> tuple:
        return (self._indices,)

    def _lines(self) -> list[tuple[str, Tensor]]:
        return [("indices", self._indices), ("values", self._values)]


class SparseCsr(SparseTensor):
    """Compressed rows: the values of row i and their ``cols`` lie from ``crows[i]`` up to ``crows[i + 1]``.

    Of three dims the first counts matrices; each has its own ``crows``, which begin at 0.
    """

    __slots__ = ("_cols", "_crows", "_positions")

    _crows: Tensor
    _cols: Tensor
    _positions: np.ndarray | None

    def __new__(
        cls,
        crows: Tensor,
        cols: Tensor,
        values: Tensor,
        shape: Sequence[int],
        positions: np.ndarray | None = None,
    ) -> SparseCsr:
        x: SparseCsr = Tensor.__new__(cls)
        x._become(values, shape)
        x._crows = crows
        x._cols = cols
        x._positions = positions
        return x

    def with_values(self, values: Tensor) -> SparseCsr:
        """The same positions with other values."""
        x = SparseCsr(self._crows, self._cols, values, self._shape, self._positions)
        x._kept = self._kept
        return x

    def same_pattern(self, other: Tensor) -> bool:
        """Test for the same positions in the same order."""
        if not isinstance(other, SparseCsr) or other._shape != self._shape:
            return False
        if self._crows is other._crows and self._cols is other._cols:
            return True
        return np.array_equal(host_values(self._crows), host_values(other._crows)) and np.array_equal(
            host_values(self._cols), host_values(other._cols)
        )

    def coordinates(self) -> np.ndarray:
        """int64 array [sparse_dim, nnz] of the positions, in the order of the values."""
        if self._positions is None:
            self._positions = row_coordinates(host_values(self._crows), host_values(self._cols), self._shape)
        return self._positions

    def indices(self) -> Tensor:
        """Refused: only COO tensors have coordinates."""
        raise refuse("indices", "a sparse COO tensor", self, "Use to_sparse_coo().")

    def crows(self) -> Tensor:
        """The pointers to the rows: rows + 1 of them for each matrix."""
        return self._crows

    def cols(self) -> Tensor:
        """The column of each value."""
        return self._cols

    def sparse_dim(self) -> int:
        """The number of dims that positions address, as the reference counts: 2."""
        return 2

    def dense_dim(self) -> int:
        """0: each value is a number."""
        return 0

    def is_sparse_coo(self) -> bool:
        """False: rows are stored one after another."""
        return False

    def is_sparse_csr(self) -> bool:
        """True: rows are stored one after another."""
        return True

    def is_coalesced(self) -> bool:
        """Refused: only COO tensors are coalesced."""
        raise refuse("is_coalesced", "a sparse COO tensor", self)

    def coalesce(self, name: Any = None) -> Any:
        """Refused: only COO tensors are coalesced."""
        raise refuse("coalesce", "a sparse COO tensor", self, "Use to_sparse_coo().")

    def to_sparse_coo(self, sparse_dim: int | None = None) -> SparseCoo:
        """The same values with their coordinates, in the same order."""
        where = self.coordinates()
        key = flat_index(where, self._shape)
        ordered = bool((key[1:] > key[:-1]).all())
        return coo_at(where, self._cols.dtype, self._values, self._shape, ordered)

    def to_sparse_csr(self) -> SparseCsr:
        """The tensor itself."""
        return self

    def _parts(self) -> tuple:
        return self._crows, self._cols

    def _lines(self) -> list[tuple[str, Tensor]]:
        return [("crows", self._crows), ("cols", self._cols), ("values", self._values)]


Sparse = SparseCoo | SparseCsr


def coo_at(where: np.ndarray, index: DType, values: Tensor, shape: Sequence[int], coalesced: bool = False) -> SparseCoo:
    """A COO tensor of positions that are known as an array."""
    return SparseCoo(index_tensor(where, index, values.place), values, shape, coalesced, where)


# --- positions -----------------------------------------------------------------------------------------------------


def flat_index(where: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """One int64 number for each column of coordinates, in the order of rows.

    Raises:
        ValueError: the sizes have more positions than 64 bits count.
    """
    if math.prod(sizes) >= 1 << 63:
        raise op_error(ValueError, "sparse", "fewer than 2**63 positions", list(sizes))
    key = np.zeros(where.shape[1], np.int64)
    for coordinate, n in zip(where, sizes):
        key *= n
        key += coordinate
    return key


def from_flat(key: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """The coordinates that :func:`flat_index` numbers."""
    where = np.empty((len(sizes), key.size), np.int64)
    for i in range(len(sizes) - 1, -1, -1):
        where[i] = key % max(sizes[i], 1)
        key = key // max(sizes[i], 1)
    return where


def row_coordinates(crows: np.ndarray, cols: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """The coordinates of compressed rows."""
    rows = shape[-2]
    counts = np.diff(crows.reshape(-1, rows + 1), axis=1)
    which = np.repeat(np.arange(counts.size, dtype=np.int64), counts.reshape(-1))
    cols = cols.astype(np.int64, copy=False)
    if len(shape) == 2:
        return np.stack([which, cols])
    return np.stack([which // max(rows, 1), which % max(rows, 1), cols])


def row_pointers(key: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """``crows`` of sorted numbers of rows; of three dims, those of each matrix."""
    rows = shape[-2]
    counts = np.bincount(key, minlength=math.prod(shape[:-1])).reshape(math.prod(shape[:-2]), rows)
    pointers = np.zeros((counts.shape[0], rows + 1), np.int64)
    np.cumsum(counts, axis=1, out=pointers[:, 1:])
    return pointers.reshape(-1)


# --- values --------------------------------------------------------------------------------------------------------


def taken(values: Tensor, at: np.ndarray) -> Tensor:
    """Values at an index, along their first dim."""
    return F.take(values, from_numpy(np.ascontiguousarray(at), values.place), axis=0)


def added(values: Tensor, at: np.ndarray, n: int) -> Tensor:
    """``n`` sums: values that have the same index add up."""
    index = from_numpy(np.ascontiguousarray(at), values.place)
    wide = F.cast(values, dtype=dt.int32) if values.dtype.is_bool else values
    with place_guard(values.place):
        zeros = F.full(0, dtype=wide.dtype, shape=(n, *values.shape[1:]))
    sums = F.put(zeros, index, wide, axis=0, mode="add")
    return F.cast(sums, dtype=dt.bool) if values.dtype.is_bool else sums


def merged(where: np.ndarray, values: Tensor, sizes: Sequence[int]) -> tuple[np.ndarray, Tensor]:
    """Positions sorted, each once, and the sums of their values."""
    key = flat_index(where, sizes)
    if (key[1:] > key[:-1]).all():
        return where, values
    unique, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    values = taken(values, first) if unique.size == key.size else added(values, inverse.reshape(-1), unique.size)
    return from_flat(unique, sizes), values


def scattered(values: Tensor, where: np.ndarray, shape: Sequence[int]) -> Tensor:
    """A dense tensor with values at positions; those at one position add up."""
    sizes, dense = list(shape[: len(where)]), list(shape[len(where) :])
    return F.reshape(added(values, flat_index(where, sizes), math.prod(sizes)), shape=(*sizes, *dense))


def gathered(x: Tensor, where: np.ndarray) -> Tensor:
    """The values of a dense tensor at positions."""
    n = len(where)
    flat = F.reshape(x, shape=(math.prod(x.shape[:n]), *x.shape[n:]))
    return taken(flat, flat_index(where, x.shape[:n]))


def from_dense(x: Tensor, sparse_dim: int) -> SparseCoo:
    """Elements of a dense tensor that differ from zero, sorted; values have the dims after the first ``sparse_dim``."""
    a = read(x, "to_sparse", "a dense tensor")
    if sparse_dim < x.ndim:
        a = (a != 0).any(axis=tuple(range(sparse_dim, x.ndim)))
    where = np.stack(np.nonzero(a)).astype(np.int64)
    return coo_at(where, dt.int64, gathered(x, where), x.shape, True)
