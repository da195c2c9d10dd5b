"""Buckets of gradients on their way: of all of them, as captured functions see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from umiak import ops as F
from umiak.comm.task import Task
from umiak.core.array import from_numpy
from umiak.core.tensor import Tensor
from umiak.observe.collector import now
from umiak.runtime.selected_rows import SelectedRows

if TYPE_CHECKING:
    from umiak.comm.buckets import Bucket, SparseBucket
    from umiak.comm.row_exchange import RowExchange


def part_of(flat: Tensor, bucket: Bucket, k: int) -> Tensor:
    """The gradient of slot ``k`` in a bucket: a view of it."""
    slot = bucket.slots[k]
    part = F.slice(flat, axes=(0,), starts=(bucket.starts[k],), sizes=(slot.size,), steps=(1,))
    return F.reshape(part, shape=tuple(slot.leaf.shape))


class BucketInFlight:
    """Bucket of a run, from its start until somebody asks for it."""

    collective = "all_reduce"

    def __init__(self, bucket: Bucket, flat: Tensor) -> None:
        self.bucket, self.flat = bucket, flat
        self.began, self.arrived, self.nbytes = 0, False, bucket.nbytes
        self.task: Task | None = None

    @classmethod
    def failed(cls, bucket: Bucket) -> BucketInFlight:
        """Return what a rank sends whose run has failed."""
        failed = np.zeros(bucket.size, bucket.dtype.numpy)
        failed[-1] = 1
        return cls(bucket, from_numpy(failed, bucket.place, None))

    def send(self) -> None:
        """Begin."""
        self.began, self.task = now(), self.bucket.group.all_reduce(self.flat, self.flat, "avg")

    @property
    def sent(self) -> bool:
        """State of the message: whether it has begun."""
        return self.began > 0

    def done(self) -> bool:
        """Return whether it has arrived, without waiting."""
        assert self.task is not None
        return self.task.done()

    def wait(self) -> None:
        """Wait until it has arrived."""
        assert self.task is not None
        self.task.wait()

    def gradient(self, k: int) -> Tensor | None:
        """Return the mean for slot ``k``, once it has arrived; None where no rank has one."""
        return F.copy(part_of(self.flat, self.bucket, k)) if self.bucket.said[k] else None

    def hear(self) -> None:
        """Take what the ranks have told each other."""
        count, bucket = len(self.bucket.default_flags), self.bucket
        bucket.hear(F.slice(self.flat, axes=(0,), starts=(bucket.starts[-1],), sizes=(count,), steps=(1,)))


class RowsInFlight(BucketInFlight):
    """The same for a gradient of selected rows."""

    collective = "all_gather"

    def __init__(self, bucket: SparseBucket, rows: SelectedRows | None, unused: bool, failed: bool = False) -> None:
        self.rows, self.unused, self.fails = rows, unused, failed
        self.bucket: Any = bucket
        self.began, self.arrived, self.nbytes = 0, False, 0
        self.exchange: RowExchange | None = None

    @classmethod
    def failed(cls, bucket: Any) -> RowsInFlight:
        return cls(bucket, None, False, True)

    def send(self) -> None:
        self.began, self.exchange = now(), self.bucket.send(self.rows, self.unused, self.fails)
        self.nbytes = self.exchange.nbytes

    def done(self) -> bool:
        assert self.exchange is not None
        return self.exchange.progress()

    def wait(self) -> None:
        assert self.exchange is not None
        self.exchange.wait()

    def mean(self) -> SelectedRows | None:
        """Return the mean, once it has arrived; None where no rank has rows."""
        assert self.exchange is not None
        return self.exchange.mean()

    def gradient(self, k: int) -> Tensor | None:
        mean = self.mean()
        return None if mean is None else mean.to_dense()

    def hear(self) -> None:
        pass  # what was said is in the exchange, where the bucket looks for it
