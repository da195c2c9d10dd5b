"""Selected rows of all ranks: how one gradient of rows goes over a group."""

from __future__ import annotations

import threading

import numpy as np

from umiak import ops as F
from umiak.backends.transfer import CPU
from umiak.comm.group import Group
from umiak.comm.staging import nbytes
from umiak.comm.task import Task
from umiak.core.array import from_numpy, host_values, to_numpy
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor, empty
from umiak.runtime.selected_rows import SelectedRows


class RowExchange:
    """The rows of all ranks, one after the other, on their way.

    How many there are is said first, and what follows begins when that has arrived, whatever this rank waits for then
    (the others may need it to go on): at another moment on every rank, so over a group of its own, on which one
    exchange follows the other.

    Args:
        group: the ranks.
        leaf: the table.
        held: the rows of this rank; None for none.
        unused: the run gave the table no gradient.
        failed: the run failed.
    """

    def __init__(self, group: Group, leaf: Tensor, held: SelectedRows | None, unused: bool, failed: bool) -> None:
        self.group, self.leaf = group, leaf
        if held is not None and held.shape[0] > leaf.shape[0]:
            held = held.merged()
        self.held = held
        self.mine = np.array([0 if held is None else held.shape[0], unused, failed], np.int64)
        self.all = np.empty((group.size, 3), np.int64)
        self.nbytes = 0 if held is None else nbytes(held.index) + nbytes(held.value())
        self.task: Task = group.all_gather(self.all, self.mine)
        self.parts: tuple[np.ndarray, np.ndarray] | None = None
        self.rest: list[Task] = []
        self.arrived = self.begun = False
        self.lock = threading.Lock()  # any thread of the rank may notice that the counts have arrived
        self.task.then(self.begin)

    def begin(self) -> None:
        """Start the messages with rows, once the counts have arrived."""
        with self.lock:
            if self.begun:
                return
            size, most = self.group.size, int(self.all[:, 0].max())
            if not most:
                self.begun = True
                return
            # Parts of equal length: ranks have about as many rows.
            index = np.zeros(most, np.int64)
            value = to_numpy(empty((most, *self.leaf.shape[1:]), self.leaf.dtype, CPU))
            if self.held is not None:
                n = int(self.mine[0])
                index[:n] = host_values(self.held.index)
                value[:n] = host_values(self.held.value())
            indexes = np.empty((size, most), np.int64)
            values = to_numpy(empty((size, *value.shape), self.leaf.dtype, CPU))
            self.rest = [self.group.all_gather(indexes, index), self.group.all_gather(values, value)]
            self.parts = indexes, values
            self.begun = True  # not before: who asks again after a failure gets it too

    def more(self) -> bool:
        """Go on to the next message, when the present one has arrived; return False when that was the last."""
        self.begin()
        if not self.rest:
            self.arrived = True
            return False
        self.task = self.rest.pop(0)
        return True

    def progress(self) -> bool:
        """Return whether everything has arrived, without waiting."""
        while not self.arrived and self.task.done():
            self.more()
        return self.arrived

    def wait(self) -> None:
        """Wait until everything has arrived."""
        while not self.arrived:
            self.task.wait()
            self.more()

    def mean(self) -> SelectedRows | None:
        """Return the mean over the ranks, once it has arrived; None where no rank has rows."""
        if self.parts is None:
            return None
        indexes, values = self.parts
        counts = self.all[:, 0]
        index = np.concatenate([a[:n] for a, n in zip(indexes, counts)])
        value = np.concatenate([a[:n] for a, n in zip(values, counts)])
        with no_grad_guard():
            place = self.leaf.place
            mean = F.div(from_numpy(value, place), float(self.group.size))
            return SelectedRows(from_numpy(index, place), mean, self.leaf.shape)

    def unused_and_failed(self) -> tuple[np.ndarray, bool]:
        """Return whether a run gave the table no gradient on some rank, and whether some rank's run failed."""
        said = self.all.max(0)
        return said[1:2], bool(said[2])
