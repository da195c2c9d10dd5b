"""Copies in the memories of peers: one rank is lost, nobody's blocks are."""

import threading

import numpy as np
import pytest
from checkpoints import cut, whole

from umiak import comm
from umiak.checkpoint.box import Box
from umiak.checkpoint.errors import CheckpointError
from umiak.checkpoint.recovery import PeerReplicas

LONG = 600.0


def blocks_of(rank, step):
    w = np.full((6, 4), 10.0 * step + rank, np.float32)
    out = dict(cut("w", w, Box((rank, 0), (1, 4))))
    out |= dict([whole(f"own.{rank}", np.arange(rank) + step)])  # of another size on every rank, none on the first
    return out | dict(cut("f", w, Box((0, 0), (6, 4)), flat=(rank, rank + 3)))


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("missing", [0, 1])
def test_a_lost_rank(ranks, missing):
    def work():
        group = comm.world()
        peers = PeerReplicas(group)
        for step in (1, 2, 3):
            peers.save(step, blocks_of(group.rank, step))
        assert peers.steps == [2, 3]
        if group.rank == missing:
            peers = PeerReplicas(group)  # a new process in its place
        step, arrays = peers.restore(missing)
        expected = blocks_of(group.rank, 3)
        assert step == 3 and list(arrays) == list(expected)
        for block, array in arrays.items():
            np.testing.assert_array_equal(array, expected[block])
        peers.save(4, blocks_of(group.rank, 4))
        assert 4 in peers.steps
        step, arrays = peers.restore((missing + 1) % ranks)
        assert step == 4

    comm.simulate(work, ranks, timeout=LONG)


def test_a_rank_that_is_lost_in_the_middle_of_a_save():
    """Ranks that were further than others go back to what all have."""

    def work():
        group = comm.world()
        peers = PeerReplicas(group)
        for step in (1, 2):
            peers.save(step, blocks_of(group.rank, step))
        if group.rank == 0:  # had not taken step 2 in when rank 2 was lost
            peers.own.pop()
            peers.peer.pop()
        if group.rank == 2:
            peers = PeerReplicas(group)
        step, arrays = peers.restore(2)
        assert step == 1
        for block, array in arrays.items():
            np.testing.assert_array_equal(array, blocks_of(group.rank, 1)[block])

    comm.simulate(work, 3, timeout=LONG)


def test_snapshots_are_of_the_call():
    def work():
        group = comm.world()
        peers = PeerReplicas(group)
        w = np.zeros((3, 4)) + group.rank
        peers.save(0, dict([whole("w", w.T)]))
        w[:] = -1
        _, arrays = peers.restore(1)
        ((_, array),) = arrays.items()
        np.testing.assert_array_equal(array, np.zeros((4, 3)) + group.rank)

    comm.simulate(work, 2, timeout=LONG)


def test_two_lost_ranks_are_too_many():
    def work():
        group = comm.world()
        peers = PeerReplicas(group)
        peers.save(1, blocks_of(group.rank, 1))
        if group.rank in (0, 1):
            peers = PeerReplicas(group)
        with pytest.raises(CheckpointError, match="a step that every rank has"):
            peers.restore(1)

    comm.simulate(work, 3, timeout=LONG)


def test_steps_must_agree():
    def work():
        group = comm.world()
        with pytest.raises(ValueError, match=r"the same step on every rank, got \[0, 1\]"):
            PeerReplicas(group).save(group.rank, {})

    before = set(threading.enumerate())  # of earlier tests, too
    comm.simulate(work, 2, timeout=LONG)
    with pytest.raises(ValueError, match="at least two ranks"):
        PeerReplicas(comm.world())
    assert set(threading.enumerate()) <= before
