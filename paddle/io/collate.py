"""Collation of samples into batches: how values are stacked, and what becomes a tensor."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import paddle
from umiak.core.array import from_numpy, host_values
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.util.pytree import is_namedtuple


def default_collate_fn(batch: Sequence[Any]) -> Any:
    """Stack samples field by field: arrays, tensors and numbers get a new first dim; strings become lists.

    Dicts and namedtuples are collated inside and keep their form; other tuples become lists.

    Raises:
        TypeError: samples of another type.
        ValueError: arrays of different shapes.
        RuntimeError: samples with different numbers of fields.
    """
    return collate(batch, stack)


def default_convert_fn(batch: Any) -> Any:
    """One sample as it is (``batch_size=None``), numbers as arrays."""
    return np.asarray(batch) if isinstance(batch, (numbers.Number, np.generic)) else batch


class Stack:
    """Arrays to be stacked, once it is known where."""

    __slots__ = ("arrays", "dtype", "shape")

    def __init__(self, arrays: Sequence[np.ndarray]) -> None:
        first = arrays[0]
        shape, dtype = first.shape, first.dtype
        for i, a in enumerate(arrays):
            if a.shape != shape:
                raise ValueError(
                    f"[DataLoader] requires arrays of one shape in a batch, got {shape} in its first sample and "
                    f"{a.shape} in sample {i}. Pad or crop them in the dataset, or give a collate_fn that does"
                )
            if a.dtype is not dtype and a.dtype != dtype:
                dtype = np.result_type(dtype, a.dtype)
        self.arrays = arrays
        self.shape = (len(arrays), *shape)
        self.dtype = dtype

    def write(self, out: np.ndarray) -> None:
        if len(self.shape) == 1:
            np.stack(self.arrays, out=out)
        else:  # the same, without a view of each array
            np.concatenate(self.arrays, out=out.reshape(self.shape[0] * self.shape[1], *self.shape[2:]))


def stack(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Stacked in memory of NumPy's."""
    pending = Stack(arrays)
    out = np.empty(pending.shape, pending.dtype)
    pending.write(out)
    return out


_STACKED = frozenset("bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split())


def stack_tensor(arrays: Sequence[np.ndarray]) -> Any:
    """Stacked in memory of the engine, whose pages have been used before; in NumPy's if the engine lacks the type."""
    pending = Stack(arrays)
    dtype = pending.dtype
    if dtype.name not in _STACKED:
        return stack(arrays)
    out = paddle.empty(pending.shape, dtype.name)
    pending.write(host_values(out))
    return out


def collate(batch: Sequence[Any], stack: Callable[[Sequence[np.ndarray]], Any]) -> Any:
    """``default_collate_fn`` with ``stack`` for arrays."""
    first = batch[0]
    if isinstance(first, np.ndarray):
        return stack(batch)
    if isinstance(first, Tensor):
        return stack([host_values(t) for t in batch]) if stack is Stack else paddle.stack(list(batch))
    if isinstance(first, (str, bytes)):  # before numbers: numpy.str_ is a generic too
        return list(batch)
    if isinstance(first, (numbers.Number, np.generic)):
        return np.array(batch)
    if isinstance(first, Mapping):
        return {k: collate([b[k] for b in batch], stack) for k in first}
    if isinstance(first, Sequence):
        if any(len(b) != len(first) for b in batch):
            raise RuntimeError(
                f"[DataLoader] requires samples with the same number of fields, got {sorted({len(b) for b in batch})}"
            )
        fields = [collate(field, stack) for field in zip(*batch)]
        return type(first)(*fields) if is_namedtuple(type(first)) else fields
    raise TypeError(
        f"[DataLoader] requires samples of arrays, tensors, numbers, strings, dicts or sequences, got {type(first)}. "
        "Convert them in the dataset, or give a collate_fn"
    )


def to_tensors(batch: Any, place: Place, fresh: bool) -> Any:
    """Arrays anywhere in a batch become tensors on ``place``; ``fresh`` ones, which nobody else holds, are adopted.

    Tensors of a dataset have no history in a batch, as they have none where workers read them.
    """
    if isinstance(batch, (np.ndarray, np.generic)):
        return from_numpy(np.asarray(batch), place, copy=None if fresh else True)
    if isinstance(batch, Mapping):
        return {k: to_tensors(v, place, fresh) for k, v in batch.items()}
    if isinstance(batch, (list, tuple)):
        fields = [to_tensors(v, place, fresh) for v in batch]
        return type(batch)(*fields) if is_namedtuple(type(batch)) else fields
    if isinstance(batch, Tensor) and not batch.stop_gradient:
        return batch.detach()
    return batch
