"""Work of devices in profiles: what CUPTI records, and the order in which it is asked."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import pytest

import paddle
from paddle.device import ranges
from umiak.backends.cuda import tracer


class Cupti:
    """The functions of ``cupti.cupti``; ``buffer()`` is what it has to tell when it is flushed."""

    def __init__(self, driver, buffer):
        self.driver, self.buffer, self.kinds, self.complete = driver, buffer, set(), None

    def get_timestamp(self):
        return time.time_ns() - 5_000_000

    def activity_register_callbacks(self, requested, completed):
        size, records = requested()
        assert size > 0 and records == 0
        self.complete = completed

    def activity_enable(self, kind):
        assert self.complete is not None and kind not in self.kinds
        self.kinds.add(kind)

    def activity_flush_all(self, flag):
        assert flag == 1 and self.kinds
        assert not any(s.work for s in self.driver.streams.values()), "work that is not done has no times"
        self.complete([x for x in self.buffer() if x.kind in self.kinds or x.kind > 40])

    def activity_disable(self, kind):
        self.kinds.remove(kind)


def activity(kind, **fields):
    start = time.time_ns() - 5_000_000
    return SimpleNamespace(
        kind=kind, start=start, end=start + 700, device_id=0, stream_id=13, correlation_id=5, **fields
    )


@pytest.fixture
def cupti(cuda, device, monkeypatch):
    grid = {f"{part}_{axis}": 1 for part in ("grid", "block") for axis in "xyz"} | {"grid_x": 4, "block_x": 256}
    kernel = {"name": "softmax_row", "registers_per_thread": 40, "static_shared_memory": 0, **grid}

    def told():
        return [
            activity(10, dynamic_shared_memory=512, **kernel), activity(1, copy_kind=1, bytes=64),
            activity(2, bytes=4), activity(46),
        ]  # fmt: skip

    double = Cupti(cuda.driver, told)
    monkeypatch.setattr(tracer, "load", lambda: double)
    return double


def test_work_of_devices_is_in_profiles(cupti):
    before = time.time_ns()
    with paddle.profiler.Profiler(targets=[paddle.profiler.ProfilerTarget.GPU]) as profiler:
        paddle.ones([2, 3]) + 1.0
    told = [e for e in profiler.profiler_result.events if e.kind in ("Memcpy", "Memset") or e.name == "softmax_row"]
    assert [(e.name, e.kind) for e in told] == [
        ("softmax_row", "Kernel"), ("host to device", "Memcpy"), ("fill", "Memset"),
    ]  # fmt: skip
    assert not cupti.kinds and time.time_ns() > before


def test_spans_say_where_and_what(cupti, cuda):
    recording = cuda.tracer()
    before = time.time_ns()
    recording.start()
    kernel, copied, filled = recording.stop()
    after = time.time_ns()
    assert kernel.end - kernel.start == 700
    assert 2 * before - after <= kernel.start <= 2 * after - before  # clocks were compared meanwhile
    assert kernel.lane == "gpu:0 stream 13"
    assert kernel.args == {
        "correlation": 5, "grid": [4, 1, 1], "block": [256, 1, 1], "registers": 40, "shared": 512,
    }  # fmt: skip
    assert copied.args["bytes"] == 64 and filled.args["bytes"] == 4


def test_devices_without_cupti_say_so_once(cuda, device, monkeypatch, caplog):
    monkeypatch.setattr(cuda, "said", set())
    monkeypatch.setitem(sys.modules, "cupti", None)
    assert cuda.tracer() is None and cuda.tracer() is None
    (said,) = [r for r in caplog.records if "profiles have no work of devices" in r.getMessage()]
    assert "CUPTI is not installed (cupti-python has it)" in said.getMessage()


def test_ranges_are_those_of_nvtx_where_it_is_installed(monkeypatch):
    calls = []
    package = SimpleNamespace(push_range=lambda name: calls.append(name), pop_range=lambda: calls.append(None))
    monkeypatch.setattr(ranges, "_package", lambda: package)
    paddle.cuda.nvtx.range_push("outer")
    paddle.cuda.nvtx.range_push("inner")
    paddle.cuda.nvtx.range_pop()
    paddle.cuda.nvtx.range_pop()
    assert calls == ["outer", "inner", None, None]
