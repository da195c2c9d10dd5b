"""``DataLoader``: from a dataset to batches of tensors."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import paddle
from paddle.framework.place import current_place
from paddle.io.dataset import Dataset, IterableDataset, NoLengthError
from paddle.io.sampler import BatchSampler
from umiak.core.array import from_numpy
from umiak.core.tensor import Tensor


def default_collate_fn(batch: Sequence[Any]) -> Any:
    """Stack samples field by field: arrays, tensors and numbers become arrays with a new first dim; strings become
    lists;
    tuples, lists and dicts are collated inside.
    """
    first = batch[0]
    if isinstance(first, np.ndarray):
        return np.stack(batch)
    if isinstance(first, Tensor):
        return paddle.stack(list(batch))
    if isinstance(first, (numbers.Number, np.generic)):
        return np.array(batch)
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, Mapping):
        return {k: default_collate_fn([b[k] for b in batch]) for k in first}
    if isinstance(first, Sequence):
        if any(len(b) != len(first) for b in batch):
            raise RuntimeError(
                f"[DataLoader] requires samples with the same number of fields, got {sorted({len(b) for b in batch})}"
            )
        return [default_collate_fn(list(field)) for field in zip(*batch, strict=True)]
    raise TypeError(
        f"[DataLoader] requires samples of arrays, tensors, numbers, strings, dicts or sequences, got {type(first)}"
    )


def default_convert_fn(batch: Any) -> Any:
    """One sample as it is (``batch_size=None``), numbers as arrays."""
    return np.asarray(batch) if isinstance(batch, (numbers.Number, np.generic)) else batch


def _to_tensors(batch: Any, fresh: bool) -> Any:
    """Arrays anywhere in a batch become tensors on the current place; those that nobody else holds are adopted."""
    if isinstance(batch, (np.ndarray, np.generic)):
        return from_numpy(np.asarray(batch), current_place(), copy=None if fresh else True)
    if isinstance(batch, Mapping):
        return {k: _to_tensors(v, fresh) for k, v in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [_to_tensors(v, fresh) for v in batch]
    return batch


class DataLoader:
    """Iterates over batches of a dataset; every ``iter()`` is one pass.

    Args:
        dataset: a ``Dataset``, an ``IterableDataset`` or a sequence.
        batch_size: items per batch, or None for single items without a batch dim.
        shuffle, drop_last: as in ``BatchSampler``.
        batch_sampler: an iterable of lists of indices, instead of the three above.
        collate_fn: makes a batch from a list of samples; arrays in its result become tensors.
        num_workers: 0, samples are read in this process.
        feed_list, places, return_list, use_buffer_reader, reader_buffer_size, prefetch_factor, use_shared_memory,
        timeout,
            worker_init_fn, persistent_workers: accepted; they tune worker processes and do nothing without any.

    Raises:
        ValueError: options that contradict each other, or ``num_workers`` above 0.

    Example:
        >>> import numpy as np, paddle
        >>> data = paddle.io.TensorDataset([paddle.arange(4), paddle.ones([4, 2])])
        >>> for i, x in paddle.io.DataLoader(data, batch_size=2):
        ...     print(i.tolist(), x.shape)
        [0, 1] [2, 2]
        [2, 3] [2, 2]
    """

    def __init__(
        self,
        dataset: Dataset,
        feed_list: Any = None,
        places: Any = None,
        return_list: bool = True,
        batch_sampler: Any = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable[[list], Any] | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        reader_buffer_size: int = 2,
        prefetch_factor: int = 2,
        use_shared_memory: bool = True,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        persistent_workers: bool = False,
    ) -> None:
        if num_workers != 0:
            raise ValueError(
                f"[DataLoader] requires num_workers=0 (worker processes are not available yet), got {num_workers}"
            )
        stream = isinstance(dataset, IterableDataset)
        if stream and shuffle:
            raise ValueError("[DataLoader] requires shuffle=False with an IterableDataset, got True")
        if stream and batch_sampler is not None:
            raise ValueError("[DataLoader] requires no batch_sampler with an IterableDataset, got one")
        if batch_sampler is not None and (batch_size != 1 or shuffle or drop_last):
            raise ValueError(
                "[DataLoader] requires batch_size, shuffle and drop_last unset when batch_sampler is given"
            )
        if batch_size is not None and batch_size <= 0:
            raise ValueError(f"[DataLoader] requires a positive batch_size or None, got {batch_size}")
        self.dataset = dataset
        self.feed_list = feed_list
        self.places = places
        self.return_list = return_list
        self.num_workers = num_workers
        self.use_buffer_reader = use_buffer_reader
        self.prefetch_factor = prefetch_factor
        self.use_shared_memory = use_shared_memory
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.drop_last = drop_last
        self.batch_size = getattr(batch_sampler, "batch_size", None) if batch_sampler is not None else batch_size
        if batch_sampler is None and batch_size is not None and not stream:
            batch_sampler = BatchSampler(dataset, shuffle=shuffle, batch_size=batch_size, drop_last=drop_last)
        self.batch_sampler = batch_sampler
        batched = batch_sampler is not None or batch_size is not None
        self.collate_fn = collate_fn or (default_collate_fn if batched else default_convert_fn)

    def _samples(self) -> Iterator[Any]:
        """Lists of samples, or samples where nothing is batched."""
        dataset = self.dataset
        if self.batch_sampler is not None:
            for indices in self.batch_sampler:
                yield [dataset[i] for i in indices]
        elif isinstance(dataset, IterableDataset) and self.batch_size is not None:
            items = iter(dataset)
            while batch := list(itertools.islice(items, self.batch_size)):
                if len(batch) == self.batch_size or not self.drop_last:
                    yield batch
        elif isinstance(dataset, IterableDataset):
            yield from dataset
        else:
            yield from (dataset[i] for i in range(len(dataset)))

    def __iter__(self) -> Iterator[Any]:
        collate = self.collate_fn
        fresh = collate is default_collate_fn
        return (_to_tensors(collate(samples), fresh) for samples in self._samples())

    def __call__(self) -> Iterator[Any]:
        """The same as ``iter(loader)``."""
        return iter(self)

    def __len__(self) -> int:
        """The number of batches of one pass. Raises ValueError for a stream."""
        if isinstance(self.dataset, IterableDataset):
            raise NoLengthError("[DataLoader] requires a dataset with a length, got an IterableDataset")
        return len(self.dataset) if self.batch_sampler is None else len(self.batch_sampler)


def get_worker_info() -> None:
    """Which worker process this is: None, because samples are read in the main process."""
    return None
