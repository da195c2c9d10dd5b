"""Gradients of selected rows over a group, while ranks wait for other things."""

from __future__ import annotations

import numpy as np

import paddle
from umiak import comm
from umiak.comm import groups
from umiak.comm.buckets import duplicate
from umiak.comm.row_exchange import RowExchange
from umiak.runtime.selected_rows import SelectedRows


def rows_of(rank: int) -> SelectedRows:
    index = paddle.to_tensor(np.array([rank, 3], np.int64))
    return SelectedRows(index, paddle.to_tensor(np.full((2, 2), rank + 1.0, "float32")), [4, 2])


def test_goes_on_while_its_rank_waits_for_another_operation():
    """One rank waits for the rows at once, the other one after an operation for which it needs the first."""

    def train():
        rank = comm.world().rank
        group = duplicate(comm.world())
        exchange = RowExchange(group, paddle.zeros([4, 2]), rows_of(rank), False, False)
        x = np.ones(3, "float32")
        if rank == 0:
            comm.world().all_reduce(x, x).wait()
            exchange.wait()
        else:
            exchange.wait()
            comm.world().all_reduce(x, x).wait()
        mean = exchange.mean()
        assert mean is not None
        groups.destroy(group)
        return x.tolist(), mean.to_dense().numpy().tolist()

    wanted = [3 * [2.0], [[0.5, 0.5], [1.0, 1.0], [0.0, 0.0], [1.5, 1.5]]]
    for _ in range(10):
        assert [list(found) for found in comm.simulate(train, 2, timeout=600.0)] == [wanted, wanted]


def test_no_rows_on_any_rank():
    def train():
        group = duplicate(comm.world())
        exchange = RowExchange(group, paddle.zeros([4, 2]), None, True, comm.world().rank == 1)
        exchange.wait()
        unused, failed = exchange.unused_and_failed()
        groups.destroy(group)
        return exchange.mean(), unused.tolist(), failed

    assert comm.simulate(train, 2, timeout=600.0) == [(None, [1], True)] * 2
