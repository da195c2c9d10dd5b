"""Overlap: what a recording shows of buckets and gradients, by events and not by times."""

from __future__ import annotations

import json

import numpy as np
import pytest

import paddle
from paddle import nn
from umiak import comm
from umiak.observe.collector import EventCollector
from umiak.observe.event import BACKWARD, COMMUNICATION, INNER, OPERATOR
from umiak.observe.profile import load


def train(steps):
    paddle.seed(0)
    net = nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(16, 16), nn.Tanh())))
    parallel = paddle.DataParallel(net, comm_buffer_size=0.0015, last_comm_buffer_size=0.0005)
    collector = None
    for i in range(steps):
        comm.world().barrier().wait()
        if i == steps - 1 and comm.world().rank == 0:
            collector = EventCollector()
            collector.start()
        comm.world().barrier().wait()
        parallel(paddle.to_tensor(np.ones((4, 16), "float32"))).mean().backward()
        net.clear_gradients(False)
    comm.world().barrier().wait()
    return len(parallel._reducer.buckets), collector.stop() if collector else None


@pytest.fixture(scope="module")
def recording():
    found = comm.simulate(train, 2, 3, timeout=600.0)
    return found[0]


def test_buckets_are_reduced_while_gradients_are_made(recording):
    count, found = recording
    assert count >= 4
    for thread in found.threads:
        sent = sorted((e for e in found.of(COMMUNICATION) if e.thread == thread), key=lambda e: e.args["bucket"])
        assert [e.args["bucket"] for e in sent] == list(range(count))
        made = [e for e in found.of(OPERATOR, INNER) if e.thread == thread and "grad" in e.name]
        (run,) = (e for e in found.of(BACKWARD) if e.thread == thread)
        last = max(e.start for e in made)
        # The last layer's gradients, of which there are two buckets, come from one node: the others set out before it.
        assert all(e.start < last for e in sent[:-2])
        assert [e.start for e in sent] == sorted(e.start for e in sent)
        assert all(run.start < e.start <= e.end <= run.end for e in sent)
        assert all(e.args["bytes"] > 0 and e.name == f"all_reduce of gradients {i}" for i, e in enumerate(sent))


def test_a_trace_has_rows_of_communication(recording, tmp_path):
    count, found = recording
    path = tmp_path / "trace.json"
    found.save(path)
    events = json.loads(path.read_text())["traceEvents"]
    rows = {e["tid"] for e in events if e["name"] == "thread_name" and e["args"]["name"] == "communication"}
    shown = [e for e in events if e["ph"] == "X" and e["cat"] == COMMUNICATION]
    assert len(shown) == 2 * count and {e["tid"] for e in shown} == rows
    assert all(e["tid"] not in rows for e in events if e["ph"] == "X" and e["cat"] != COMMUNICATION)
    for row in rows:  # on a row nothing overlaps
        spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in shown if e["tid"] == row)
        assert all(end <= start + 2e-3 for (_, end), (start, _) in zip(spans, spans[1:]))


def test_traces_are_read_back(recording, tmp_path):
    _, found = recording
    path = tmp_path / "trace.json"
    found.save(path)
    back = load(path)
    before = [(e.name, e.thread, e.args) for e in found.of(COMMUNICATION)]
    assert sorted(before, key=str) == sorted(((e.name, e.thread, e.args) for e in back.of(COMMUNICATION)), key=str)
    assert back.threads == found.threads
