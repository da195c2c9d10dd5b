"""Identity of a worker process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paddle._public import public


@dataclass(frozen=True)
class WorkerInfo:
    """Worker process of a ``DataLoader``: its number ``id`` of ``num_workers``, its copy of the dataset, and its
    seed."""

    id: int
    num_workers: int
    dataset: Any
    seed: int


current: WorkerInfo | None = None


@public("paddle.io")
def get_worker_info() -> WorkerInfo | None:
    """Say in a worker process which one it is: an ``IterableDataset`` so gives each worker a part of its stream.

    Returns:
        An object with ``id``, ``num_workers``, ``dataset`` and ``seed``; None in the main process.

    Example:
        >>> import paddle
        >>> class Numbers(paddle.io.IterableDataset):
        ...     def __iter__(self):
        ...         worker = paddle.io.get_worker_info()
        ...         return iter(range(worker.id, 6, worker.num_workers))
        >>> [x.tolist() for x in paddle.io.DataLoader(Numbers(), batch_size=2, num_workers=2)]
        [[0, 2], [1, 3], [4], [5]]
    """
    return current
