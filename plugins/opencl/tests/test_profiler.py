"""Events of OpenCL's commands are part of the profile."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

import paddle
from paddle.profiler import Profiler, ProfilerTarget
from umiak.observe.tables import Tables


def test_kernels_and_copies_of_the_device_are_recorded(device):
    x = paddle.to_tensor(np.arange(6, dtype="float32"))
    (x * 2).numpy()  # compiled before
    with Profiler(targets=[ProfilerTarget.CUSTOM_DEVICE]) as profiler:
        y = x * 2
        with paddle.device.stream_guard(paddle.device.Stream("opencl:0")):
            y.numpy()
    profile = profiler.profiler_result
    lanes = {number: name for number, name in profile.threads.items() if name.startswith("opencl:0 stream")}
    found = [e for e in profile.events if e.thread in lanes and e.name != "wait"]  # the copy's, if the product is late
    assert [(e.name, e.kind) for e in found] == [("mul", "Kernel"), ("copy", "Memcpy")]
    assert len({e.thread for e in found}) == 2
    assert all(profile.start <= e.start <= e.end <= profile.end for e in found)
    assert found[0].end <= found[1].start


def test_launches_are_counted_once(device):
    x = paddle.ones([64, 64])
    (x * 2).numpy()
    with Profiler(targets=[ProfilerTarget.CPU, ProfilerTarget.CUSTOM_DEVICE]) as profiler:
        for _ in range(3):
            y = x * 2
        y.numpy()
    profile = profiler.profiler_result
    (line,) = [r for r in Tables(profile, "ms").kernel().splitlines() if r.startswith("mul")]
    launches, times = line.split()[1:3]
    spent = sum(e.duration for e in profile.events if e.name == "mul" and e.kind == "Kernel" and e.thread < 0)
    assert launches == "3" and float(times) == pytest.approx(spent / 1e6, abs=2e-3)


def test_nothing_is_recorded_afterwards(device, opencl):
    queue = opencl.backend.device(device).queue(0)
    with Profiler(custom_device_types=["opencl"]):
        assert queue.recorded == []
        paddle.ones([3]) + 1
        assert queue.recorded
    assert queue.recorded is None
    assert (paddle.ones([3]) + 1).tolist() == [2, 2, 2]


def test_spans_are_not_late_because_the_host_was(device, opencl, monkeypatch):
    from umiak_opencl import tracer

    late = iter([10**12])  # the first wait is followed by a thousand seconds in which others compute
    monkeypatch.setattr(tracer, "time", SimpleNamespace(time_ns=lambda: time.time_ns() + next(late, 0)))
    owner = opencl.backend.device(device)
    assert tracer.clock_offset(owner) - tracer.clock_offset(owner) < 10**12 / 2
