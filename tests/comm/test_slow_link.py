"""Emulated links: nothing arrives before its time, and collectives are what they are without."""

from __future__ import annotations

from pathlib import Path

import collectives
import numpy as np
import pytest
from processes import needs_mpi, run_ranks

from umiak import comm
from umiak.comm import slow_link
from umiak.util import flags


@pytest.fixture
def over_slow_link():
    def set_link(text):
        flags.set_flags({"FLAGS_comm_link": text})

    yield set_link
    set_link("")


def test_messages_take_latency_queue_and_bandwidth(over_slow_link):
    over_slow_link("20000:0.001")  # 20 ms, 1 byte/us

    def work():
        group = comm.world()
        x, y = np.zeros(10_000, np.uint8), np.zeros(10_000, np.uint8)
        group.barrier().wait()
        sent = slow_link.now()
        if group.rank == 0:
            tasks = [group.send(x, 1), group.send(y, 1)]
            for task in tasks:
                task.wait()
            return sent, [slow_link.now()]
        got = []
        for array in (x, y):
            group.recv(array, 0).wait()
            got.append(slow_link.now())
        return sent, got

    (sent, left), (_, (first, second)) = comm.simulate(work, 2)
    assert left[0] - sent >= 0.020  # both have left after 10 ms each
    assert first - sent >= 0.030
    assert second - sent >= 0.040


def test_the_line_takes_one_message_after_the_other(monkeypatch):
    monkeypatch.setattr(slow_link, "now", lambda: 5.0)
    line = slow_link.LinkModel(1.0, 100.0)
    assert [line.take(50), line.take(100), line.take(0)] == [5.5, 6.5, 6.5]
    assert line.next() == 0.5
    for time, wait in ((6.0, 0.5), (7.0, None)):
        monkeypatch.setattr(slow_link, "now", lambda time=time: time)
        assert line.next() == 0.0, "one has come since the last look: whoever waits tests again"
        assert line.next() == wait


def test_collectives_over_links(over_slow_link):
    over_slow_link("100:1.5")
    for ranks, seed in ((2, 1), (3, 2), (5, 3)):
        comm.simulate(collectives.check, ranks, seed, 3)


def test_a_deadlock_over_links_is_seen(over_slow_link):
    over_slow_link("100:1")
    with pytest.raises(comm.CommError, match="all wait, and nothing can move"):
        comm.simulate(lambda: comm.world().recv(np.zeros(1), 1 - comm.world().rank).wait(), 2)


@pytest.mark.parametrize("text", ["5", "a:b", "-1:2", "1:0"])
def test_links_that_make_no_sense(over_slow_link, text):
    over_slow_link(text)
    with pytest.raises(ValueError, match=r"^\[FLAGS_comm_link\] requires latency in us"):
        comm.simulate(lambda: None, 2)


@needs_mpi
@pytest.mark.slow
def test_links_over_mpi():
    done = run_ranks(2, Path(collectives.__file__), 6, flags={"comm_link": "200:2"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("fine") == 2
