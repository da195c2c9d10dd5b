"""Samplers: in which order indices are read, and how they are grouped into batches.

Orders come from NumPy's global generator, so ``numpy.random.seed`` fixes them, unless a ``generator`` is given.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any

import numpy as np

from paddle._public import public
from paddle.io.dataset import Dataset, IterableDataset, length_of


@public("paddle.io")
class Sampler:
    """Base of samplers: an iterable of indices. Subclasses define ``__iter__`` and, where known, ``__len__``.

    Args:
        data_source: what is to be read; kept as an attribute.

    Raises:
        NotImplementedError: the subclass defines no ``__iter__``.

    Example:
        >>> import paddle
        >>> class Backward(paddle.io.Sampler):
        ...     def __iter__(self):
        ...         return iter(range(len(self.data_source) - 1, -1, -1))
        >>> list(Backward("abc"))
        [2, 1, 0]
    """

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__")


@public("paddle.io")
class SequenceSampler(Sampler):
    """Indices in order, from 0.

    Args:
        data_source: anything with a length.

    Example:
        >>> import paddle
        >>> list(paddle.io.SequenceSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        super().__init__(data_source)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


@public("paddle.io")
class RandomSampler(Sampler):
    """Indices at random, drawn from NumPy's generator in each pass.

    Args:
        data_source: anything with a length.
        replacement: draw with replacement.
        num_samples: how many; None: as many as there are items.
        generator: an iterator of indices to use instead of drawing; None: drawing.

    Raises:
        ValueError: a ``num_samples`` that is no positive integer, or more samples than items without replacement.
        TypeError: ``replacement`` is no bool.

    Example:
        >>> import paddle
        >>> sorted(paddle.io.RandomSampler("abc"))
        [0, 1, 2]
    """

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        super().__init__(data_source)
        if not isinstance(replacement, bool):
            raise TypeError(f"[RandomSampler] requires a bool replacement, got {replacement!r}")
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples <= 0):
            raise ValueError(f"[RandomSampler] requires a positive integer num_samples, got {num_samples!r}")
        if num_samples is not None and not replacement and num_samples > len(data_source):
            raise ValueError(
                f"[RandomSampler] requires num_samples <= {len(data_source)} without replacement, got {num_samples}"
            )
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator

    @property
    def num_samples(self) -> int:
        """Number of indices of one pass."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        if self.generator is not None:
            return itertools.islice(iter(self.generator), self.num_samples)
        if self.replacement:
            return iter(np.random.choice(n, self.num_samples, replace=True).tolist())
        return iter(np.random.permutation(n)[: self.num_samples].tolist())

    def __len__(self) -> int:
        return self.num_samples


@public("paddle.io")
class WeightedRandomSampler(Sampler):
    """Indices drawn with probability proportional to weights, from NumPy's generator in each pass.

    Args:
        weights: a vector of numbers of 0 or more, as a list, array or tensor; not all 0.
        num_samples: how many indices.
        replacement: draw with replacement.

    Raises:
        ValueError: other weights, a ``num_samples`` that is no positive integer, or, without replacement, more samples
            than weights above 0.

    Example:
        >>> import paddle
        >>> list(paddle.io.WeightedRandomSampler([0.0, 1.0, 0.0], num_samples=3))
        [1, 1, 1]
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True) -> None:
        super().__init__()
        w = np.asarray(weights.numpy() if hasattr(weights, "numpy") else weights, dtype=np.float64)
        if w.ndim != 1 or (w < 0).any() or not w.sum() > 0:
            raise ValueError(
                f"[WeightedRandomSampler] requires a vector of weights >= 0 that are not all 0, got {weights!r}"
            )
        if not isinstance(num_samples, int) or num_samples <= 0:
            raise ValueError(f"[WeightedRandomSampler] requires a positive integer num_samples, got {num_samples!r}")
        if not replacement and num_samples > np.count_nonzero(w):
            raise ValueError(
                f"[WeightedRandomSampler] requires num_samples <= {np.count_nonzero(w)} without replacement, "
                f"got {num_samples}"
            )
        self.weights = w / w.sum()
        self.num_samples = num_samples
        self.replacement = replacement

    def __iter__(self) -> Iterator[int]:
        return iter(np.random.choice(len(self.weights), self.num_samples, self.replacement, self.weights).tolist())

    def __len__(self) -> int:
        return self.num_samples


@public("paddle.io")
class SubsetRandomSampler(Sampler):
    """Given indices in random order, drawn from NumPy's generator in each pass.

    Args:
        indices: a sequence of indices, at least one.

    Raises:
        ValueError: no indices.

    Example:
        >>> import paddle
        >>> sorted(paddle.io.SubsetRandomSampler([5, 7, 9]))
        [5, 7, 9]
    """

    def __init__(self, indices: Sequence[int]) -> None:
        super().__init__()
        if len(indices) == 0:
            raise ValueError("[SubsetRandomSampler] requires at least one index, got none")
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        return (self.indices[i] for i in np.random.permutation(len(self.indices)))

    def __len__(self) -> int:
        return len(self.indices)


@public("paddle.io")
class BatchSampler(Sampler):
    """Lists of indices, each for a batch.

    Args:
        dataset: what to read, in order or shuffled; None where ``sampler`` is given.
        sampler: an iterable of indices; None where ``dataset`` is given.
        shuffle: read the dataset in an order drawn for each pass, from NumPy's generator.
        batch_size: how many indices form a batch.
        drop_last: leave out a last batch that is not full.

    Raises:
        ValueError: not exactly one of dataset and sampler, ``shuffle`` with a sampler, or a ``batch_size`` that is no
            positive integer.
        TypeError: an ``IterableDataset``, or a ``shuffle`` or ``drop_last`` that is no bool.

    Example:
        >>> import paddle
        >>> list(paddle.io.BatchSampler(sampler=range(5), batch_size=2))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Any = None,
        sampler: Iterable[int] | None = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        super().__init__()
        if (dataset is None) == (sampler is None):
            raise ValueError(
                f"[BatchSampler] requires dataset or sampler, got {'neither' if dataset is None else 'both'}"
            )
        if isinstance(dataset, IterableDataset):
            raise TypeError("[BatchSampler] requires a dataset with indices, got an IterableDataset")
        if sampler is not None and shuffle:
            raise ValueError("[BatchSampler] requires shuffle=False with a sampler, got True")
        _check_batch("BatchSampler", batch_size, shuffle, drop_last)
        self.sampler = (
            sampler if sampler is not None else RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        )
        self.shuffle = shuffle
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n = length_of("BatchSampler", self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


def _check_batch(op_name: str, batch_size: int, shuffle: bool, drop_last: bool) -> None:
    if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
        raise ValueError(f"[{op_name}] requires a positive integer batch_size, got {batch_size!r}")
    if not isinstance(shuffle, bool) or not isinstance(drop_last, bool):
        raise TypeError(f"[{op_name}] requires bools shuffle and drop_last, got {shuffle!r} and {drop_last!r}")


@public("paddle.io")
class DistributedBatchSampler(BatchSampler):
    """Batches of one of several processes; together they read every item once (a few twice, to come out even).

    Args:
        dataset: anything with a length.
        batch_size: how many indices form a batch of one process.
        num_replicas: how many processes there are; None: ``paddle.distributed.get_world_size()``.
        rank: the number of this one; None: ``paddle.distributed.get_rank()``.
        shuffle: in an order that depends on the epoch alone, and so is the same in every process.
        drop_last: leave out a last batch that is not full.

    Raises:
        ValueError: a rank that is not below num_replicas, or a ``batch_size`` that is no positive integer.
        TypeError: a ``shuffle`` or ``drop_last`` that is no bool.

    Example:
        >>> import paddle
        >>> for rank in range(2):
        ...     print(list(paddle.io.DistributedBatchSampler(range(7), 2, num_replicas=2, rank=rank)))
        [[0, 1], [4, 5]]
        [[2, 3], [6, 0]]
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        drop_last: bool = False,
    ) -> None:
        _check_batch("DistributedBatchSampler", batch_size, shuffle, drop_last)
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.drop_last = drop_last
        from paddle.distributed.parallel import get_rank, get_world_size  # which in the end imports this module

        self.nranks = get_world_size() if num_replicas is None else num_replicas
        self.local_rank = get_rank() if rank is None else rank
        if self.nranks <= 0 or not 0 <= self.local_rank < self.nranks:
            raise ValueError(
                f"[DistributedBatchSampler] requires 0 <= rank < num_replicas, got {self.local_rank} and {self.nranks}"
            )
        self.epoch = 0
        self.num_samples = math.ceil(len(dataset) / self.nranks)
        self.total_size = self.num_samples * self.nranks

    def __iter__(self) -> Iterator[list[int]]:
        order = np.resize(np.arange(len(self.dataset)), self.total_size)  # repeats from the front
        if self.shuffle:
            np.random.RandomState(self.epoch).shuffle(order)
            self.epoch += 1
        block = self.batch_size * self.nranks
        in_full_blocks = self.total_size // block * block
        # Rank r takes the r-th batch of every block of batches; the rest is dealt out evenly.
        mine = order[:in_full_blocks].reshape(-1, self.nranks, self.batch_size)[:, self.local_rank].tolist()
        rest = order[in_full_blocks:].reshape(self.nranks, -1)[self.local_rank].tolist()
        if rest and not self.drop_last:
            mine.append(rest)
        return iter(mine)

    def __len__(self) -> int:
        return self.num_samples // self.batch_size if self.drop_last else math.ceil(self.num_samples / self.batch_size)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch that the next shuffled order depends on.

        Args:
            epoch: its number; each pass adds 1 to it.
        """
        self.epoch = epoch
