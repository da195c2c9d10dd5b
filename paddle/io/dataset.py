"""Datasets: by index (``Dataset``) or as a stream (``IterableDataset``), and combinations of them."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, SupportsFloat

import paddle
from paddle._public import public
from paddle.tensor._args import number
from umiak.util.arguments import several
from umiak.util.errors import ShapeError, op_error


class NoLengthError(TypeError, ValueError, RuntimeError):
    """A stream was asked for its length. Being a TypeError, it lets ``list(stream)`` do without."""


def length_of(op_name: str, x: Any) -> int:
    """``len(x)``; what has no ``__len__`` is a stream."""
    if not hasattr(type(x), "__len__"):
        raise NoLengthError(f"[{op_name}] requires a length, got a {type(x).__name__} without __len__")
    return len(x)


@public("paddle.io")
class Dataset:
    """Dataset read by index: subclasses define ``__getitem__`` and ``__len__``.

    Raises:
        NotImplementedError: a method that the subclass does not define.

    Example:
        >>> import paddle
        >>> class Squares(paddle.io.Dataset):
        ...     def __getitem__(self, i):
        ...         return i * i
        ...     def __len__(self):
        ...         return 4
        >>> [x.tolist() for x in paddle.io.DataLoader(Squares(), batch_size=2)]
        [[0, 1], [4, 9]]
    """

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} defines no __len__")


@public("paddle.io")
class IterableDataset(Dataset):
    """Dataset read as a stream: subclasses define ``__iter__``.

    Raises:
        NotImplementedError: the subclass defines no ``__iter__``.
        RuntimeError: an item is asked for by index.
        TypeError: the length is asked for (which is also a ValueError and a RuntimeError).

    Example:
        >>> import paddle
        >>> class Countdown(paddle.io.IterableDataset):
        ...     def __iter__(self):
        ...         return iter([3, 2, 1])
        >>> [x.tolist() for x in paddle.io.DataLoader(Countdown(), batch_size=2)]
        [[3, 2], [1]]
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__")

    def __getitem__(self, idx: int) -> Any:
        raise RuntimeError(f"{type(self).__name__} is an IterableDataset: it has no items by index")

    def __len__(self) -> int:
        raise NoLengthError(f"{type(self).__name__} is an IterableDataset: it has no length")


@public("paddle.io")
class TensorDataset(Dataset):
    """Dataset of tensors: item ``i`` is the tuple of ``t[i]`` for every tensor.

    Args:
        tensors: a sequence of tensors or arrays whose first dims are equal, at least one.

    Raises:
        TypeError: something that is no tensor or array.
        ValueError: no tensors, or first dims that differ.

    Example:
        >>> import paddle
        >>> data = paddle.io.TensorDataset([paddle.arange(3), paddle.ones([3, 2])])
        >>> i, x = data[2]
        >>> len(data), int(i), x.shape
        (3, 2, paddle.Size([2]))
    """

    def __init__(self, tensors: Sequence[Any]) -> None:
        required = "a sequence of tensors or arrays"
        for t in several("TensorDataset", required, tensors):
            if not hasattr(t, "shape"):
                raise op_error(TypeError, "TensorDataset", required, f"an item of type {type(t).__name__}")
        if not len(tensors):
            raise ValueError("[TensorDataset] requires at least one tensor, got none")
        sizes = [t.shape[0] for t in tensors]
        if len(set(sizes)) > 1:
            raise op_error(ShapeError, "TensorDataset", "tensors with the same first dim", sizes)
        self.tensors = tensors

    def __getitem__(self, index: int) -> tuple:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


@public("paddle.io")
class ComposeDataset(Dataset):
    """Datasets side by side: item ``i`` is the fields of item ``i`` of every dataset, one after another.

    Args:
        datasets: a sequence of datasets of one length, at least one.

    Raises:
        ValueError: no datasets, or lengths that differ.

    Example:
        >>> import paddle
        >>> x, y = (paddle.io.TensorDataset([paddle.full([3], v)]) for v in (1.0, 2.0))
        >>> [float(field) for field in paddle.io.ComposeDataset([x, y])[0]]
        [1.0, 2.0]
    """

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        self.datasets = several("ComposeDataset", "a sequence of datasets", datasets)
        if not self.datasets:
            raise ValueError("[ComposeDataset] requires at least one dataset, got none")
        sizes = [len(d) for d in self.datasets]
        if len(set(sizes)) > 1:
            raise ValueError(f"[ComposeDataset] requires datasets of one length, got {sizes}")

    def __len__(self) -> int:
        return len(self.datasets[0])

    def __getitem__(self, idx: int) -> tuple:
        fields: list[Any] = []
        for d in self.datasets:
            item = d[idx]
            fields.extend(item if isinstance(item, (list, tuple)) else [item])
        return tuple(fields)


@public("paddle.io")
class ChainDataset(IterableDataset):
    """Streams of several datasets, one after another.

    Args:
        datasets: a sequence of :class:`IterableDataset`, at least one.

    Raises:
        ValueError: no datasets.

    Example:
        >>> import paddle
        >>> class Upto(paddle.io.IterableDataset):
        ...     def __init__(self, n):
        ...         self.n = n
        ...     def __iter__(self):
        ...         return iter(range(self.n))
        >>> list(paddle.io.ChainDataset([Upto(2), Upto(3)]))
        [0, 1, 0, 1, 2]
    """

    def __init__(self, datasets: Sequence[IterableDataset]) -> None:
        self.datasets = several("ChainDataset", "a sequence of datasets", datasets)
        if not self.datasets:
            raise ValueError("[ChainDataset] requires at least one dataset, got none")

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)


@public("paddle.io")
class ConcatDataset(Dataset):
    """Items of several datasets, one after another.

    Args:
        datasets: an iterable of datasets with lengths, at least one.

    Raises:
        ValueError: no datasets.
        IndexError: an index beyond the last item.

    Example:
        >>> import paddle
        >>> x, y = (paddle.io.TensorDataset([paddle.full([3], v)]) for v in (1.0, 2.0))
        >>> both = paddle.io.ConcatDataset([x, y])
        >>> len(both), float(both[3][0])
        (6, 2.0)
    """

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Running sums of the lengths of datasets.

        Args:
            sequence: an iterable of datasets.

        Returns:
            A list of ints.
        """
        return list(itertools.accumulate(len(d) for d in sequence))

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = several("ConcatDataset", "an iterable of datasets", datasets)
        if not self.datasets:
            raise ValueError("[ConcatDataset] requires at least one dataset, got none")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        if not -len(self) <= idx < len(self):
            kind = ValueError if idx < 0 else IndexError  # as in the reference; an iteration ends by the latter
            raise kind(f"[ConcatDataset] requires an index below {len(self)}, got {idx}")
        idx %= len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


@public("paddle.io")
class Subset(Dataset):
    """Items of a dataset at given indices.

    Args:
        dataset: a dataset read by index.
        indices: a sequence of indices of it.

    Raises:
        TypeError: a text for indices.
        IndexError: an index beyond the last item.

    Example:
        >>> import paddle
        >>> part = paddle.io.Subset(["a", "b", "c"], [2, 0])
        >>> len(part), part[0]
        (2, 'c')
    """

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        if isinstance(indices, str):
            raise op_error(TypeError, "Subset", "a sequence of ints as indices", repr(indices))
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: int) -> Any:
        return self.dataset[self.indices[idx]]

    def __len__(self) -> int:
        return len(self.indices)


@public("paddle.io")
def random_split(dataset: Dataset, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Split a dataset at random into parts that do not overlap.

    Args:
        dataset: a dataset with a length.
        lengths: sizes that sum to ``len(dataset)``, or fractions that sum to 1 (what rounding leaves goes to the
            first parts).
        generator: an iterator that gives an order; None: a permutation drawn from ``paddle``'s generator.

    Returns:
        A list of one :class:`Subset` for each length.

    Raises:
        TypeError: lengths that are no numbers.
        ValueError: the lengths do not sum to the whole, or one is negative.

    Example:
        >>> import paddle
        >>> train, test = paddle.io.random_split(range(10), [0.8, 0.2])
        >>> len(train), len(test), sorted([*train, *test]) == list(range(10))
        (8, 2, True)
    """
    total = len(dataset)
    lengths = several("random_split", "a list of numbers as lengths", lengths, SupportsFloat)
    sums_to_one = bool(lengths) and abs(number(sum(lengths)) - 1) < 1e-9  # as their dtype rounds it
    lengths = [number(n) for n in lengths]
    if sums_to_one and all(0 <= n <= 1 for n in lengths) and total != 1:
        sizes: list[Any] = [int(total * n) for n in lengths]
        for i in range(total - sum(sizes)):
            sizes[i % len(sizes)] += 1
    else:
        sizes = lengths
    if sum(sizes) != total or min(sizes, default=0) < 0:
        raise ValueError(
            f"[random_split] requires lengths that sum to {total} or fractions that sum to 1, got {list(lengths)}"
        )
    order = (
        list(itertools.islice(generator, total)) if generator is not None else paddle.randperm(total).numpy().tolist()
    )
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
