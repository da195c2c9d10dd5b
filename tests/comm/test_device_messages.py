"""Single messages by the library of a device: both ranks in one process, moved on in turns."""

from __future__ import annotations

import queue
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from fake import FAKE, OTHER

import paddle
from umiak.comm.device_messages import ANNOUNCEMENT
from umiak.comm.errors import CommError
from umiak.comm.group import Group
from umiak.core import stream
from umiak.core.array import from_numpy, host_values
from umiak.core.dtype import float32
from umiak.core.tensor import empty

PLACES = (FAKE, OTHER)
PATIENCE = 120.0


class Request:
    def __init__(self, test):
        self.Test = test


class Channel:
    """The host's messages between two ranks, and the bytes of each."""

    size = 2

    def __init__(self, rank, boxes):
        self.rank, self.boxes, self.posted = rank, boxes, {}

    def send(self, x, peer, tag):
        self.boxes.setdefault((self.rank, peer, tag), []).append(x.tobytes())
        self.boxes.setdefault("bytes", []).append(x.nbytes)
        return Request(lambda: True)

    def recv(self, x, peer, tag):
        posted = self.posted.setdefault((peer, tag), [])
        posted.append(x)
        done = []

        def arrived():
            box = self.boxes.get((peer, self.rank, tag), [])
            while posted and box:  # messages go to receivers in the order in which these were posted
                data, target = np.frombuffer(box.pop(0), np.uint8), posted.pop(0)
                target[: data.size] = data
                done.append(id(target))
            return not any(t is x for t in posted)

        return Request(arrived)

    def native(self, name, *args):
        return None

    def can_access(self, place):
        return False

    def pause(self, waited, description):
        time.sleep(0.001)

    def close(self):
        pass


class Library:
    """A library whose messages end when both sides have come, as NCCL's do."""

    pairs = True
    ids = 0

    def __init__(self, device, met):
        self.device, self.met = device, met

    def unique_id(self):
        Library.ids += 1
        return Library.ids.to_bytes(128, "little")

    def connect(self, size, id, rank):
        assert size == 2
        ways = self.met.setdefault(id, {"both": threading.Barrier(2), "data": queue.Queue(), "taken": queue.Queue()})
        if "refused" in self.met and rank == 1:
            ways["both"].abort()
            raise RuntimeError("no way")
        ways["both"].wait(PATIENCE)
        return Pair(self.device, ways, self.met)


class Pair:
    def __init__(self, device, ways, met):
        self.device, self.ways, self.met = device, ways, met
        self.closed = False

    def exchange(self, id, messages):
        ((sends, x, peer),) = messages
        span, device, ways = sys.modules["umiak_fake"].Span(x), self.device, self.ways
        assert peer == (1 if sends else 0)
        self.met.setdefault("messages", []).append((sends, id))

        def job():
            if sends:
                ways["data"].put(device.memory.array(span).copy())
                ways["taken"].get(timeout=PATIENCE)
            else:
                device.memory.array(span)[...] = ways["data"].get(timeout=PATIENCE)
                ways["taken"].put(None)

        device.queue(id).put("message", job)
        event = stream.stream(device.place.index, id).record()
        return Request(event.query)

    def close(self):
        self.closed = True


@contextmanager
def opened(fake, monkeypatch):
    """The groups of two ranks with their devices, and what the library has done."""
    met, boxes = {}, {}
    libraries = {place: Library(fake.device(place), met) for place in PLACES}
    monkeypatch.setattr(fake, "collectives", libraries.__getitem__)
    groups = [Group(Channel(r, boxes), "pair", 7, [0, 1], timeout=PATIENCE) for r in range(2)]
    yield groups, met, boxes
    for group in groups:
        group.close()


@pytest.fixture
def ranks(fake, monkeypatch):
    with opened(fake, monkeypatch) as found:
        yield found


def tensors(n=6, k=0):
    return [from_numpy(np.arange(n, dtype=np.float32) + 100 * r + k, p) for r, p in enumerate(PLACES)]


def finished(*tasks):
    end = time.monotonic() + PATIENCE
    while sum(t.done() for t in tasks) < len(tasks):
        assert time.monotonic() < end, [t.description for t in tasks]
        time.sleep(0.001)


def test_both_may_send_before_they_receive(ranks):
    groups, met, boxes = ranks
    xs, outs = tensors(), [empty((6,), float32, p) for p in PLACES]
    sent = [g.send(x, 1 - r) for r, (g, x) in enumerate(zip(groups, xs))]
    assert all(t.done() for t in sent)  # whether anybody receives or not
    finished(*[g.recv(o, 1 - r) for r, (g, o) in enumerate(zip(groups, outs))])
    for r, o in enumerate(outs):
        np.testing.assert_array_equal(host_values(o), np.arange(6) + 100 * (1 - r))
    assert sorted(s for s, _ in met["messages"]) == [False, False, True, True]
    assert {*boxes["bytes"]} == {ANNOUNCEMENT.itemsize}  # no element went by the host


def test_messages_come_in_their_order_whatever_is_waited_for(ranks):
    groups, met, _ = ranks
    xs = [tensors(4, k)[0] for k in range(3)]
    outs = [empty((4,), float32, OTHER) for _ in xs]
    tasks = [groups[1].recv(o, 0) for o in outs]
    for x in xs:
        groups[0].send(x, 1)
    finished(*reversed(tasks))
    for k, o in enumerate(outs):
        np.testing.assert_array_equal(host_values(o), np.arange(4) + k)
    assert len({s for sends, s in met["messages"] if sends}) == 1  # one connection


def test_what_is_sent_is_as_it_was_then(ranks):
    groups, _, _ = ranks
    x, out = tensors()[0], empty((6,), float32, OTHER)
    groups[0].send(x, 1).wait()
    paddle.assign(paddle.zeros_like(x), x)
    finished(groups[1].recv(out, 0))
    np.testing.assert_array_equal(host_values(out), np.arange(6))


def test_what_is_received_is_written_behind_the_work_before(ranks, fake):
    """A tensor that work of its stream still reads is not overwritten under it."""
    groups, _, _ = ranks
    out = from_numpy(np.full(6, 2.0, np.float32), OTHER)
    with fake.lazy():
        y = out + 1.0
        task = groups[1].recv(out, 0)
        groups[0].send(tensors()[0], 1)
        task.done()
    finished(task)
    assert host_values(y).tolist() == [3.0] * 6 and host_values(out).tolist() == list(range(6))


def test_messages_that_do_not_fit_are_told(ranks):
    groups, _, _ = ranks
    groups[0].send(tensors(6)[0], 1)
    with pytest.raises(CommError, match=r"\[recv\] requires the 16 bytes of the tensor, got 24 from rank 0"):
        finished(groups[1].recv(empty((4,), float32, OTHER), 0))
    big = np.zeros(ANNOUNCEMENT.itemsize // 4, np.float32)
    groups[1].send(big, 0)
    with pytest.raises(CommError, match=r"got memory of the host from rank 1"):
        finished(groups[0].recv(empty((4,), float32, FAKE), 1))


@pytest.mark.parametrize("why", ["tag", "checked", "no pairs"])
def test_others_go_by_the_host(ranks, why, monkeypatch):
    groups, met, _ = ranks
    if why == "no pairs":
        monkeypatch.setattr(Library, "pairs", False)
    paddle.set_flags({"FLAGS_check_collectives": why == "checked"})
    try:
        x, out, tag = tensors()[0], empty((6,), float32, OTHER), 3 if why == "tag" else 0
        finished(groups[0].send(x, 1, tag), groups[1].recv(out, 0, tag))
    finally:
        paddle.set_flags({"FLAGS_check_collectives": False})
    assert host_values(out).tolist() == list(range(6)) and "messages" not in met


def test_ranks_that_cannot_connect_say_so(ranks):
    groups, met, _ = ranks
    met["refused"] = True
    groups[0].send(tensors()[0], 1)
    with pytest.raises(CommError, match=r"\[comm\] requires a connection between two devices, which failed: no way"):
        finished(groups[1].recv(empty((6,), float32, OTHER), 0))
    for connection in groups[0].device_messages.connections.values():
        connection.thread.join(PATIENCE)
    with pytest.raises(CommError, match=r"\[comm\] requires a connection between two devices, which failed"):
        groups[0].send(tensors()[0], 1)


def test_streams_of_a_group_are_used_by_the_next(fake, monkeypatch):
    used = []
    for _ in range(4):
        with opened(fake, monkeypatch) as (groups, met, _):
            groups[0].send(tensors()[0], 1)
            finished(groups[1].recv(empty((6,), float32, OTHER), 0))
            for place in PLACES:
                stream.synchronize(place.index)
        used.append({id for _, id in met["messages"]})
    assert set.union(*used) == used[0]
