"""A plug-in's profiler feeds ours."""

import os
import threading

import numpy as np
import plugin
import pytest

import paddle
from paddle.profiler import Profiler, ProfilerTarget, load_profiler_result
from umiak.backends.plugin.library import PluginError
from umiak.observe.collector import EventCollector

pytestmark = plugin.needs_compiler


def recorded(**options):
    paddle.device.synchronize("loop:0")  # what tests have left there runs when somebody waits
    with Profiler(**options) as profiler:
        x = paddle.to_tensor(np.arange(6, dtype="float32"), place="loop:0")
        x.numpy()
    return profiler


@pytest.mark.parametrize(
    "options", [{"targets": [ProfilerTarget.CUSTOM_DEVICE]}, {"custom_device_types": ["loop"]}], ids=["target", "type"]
)
def test_spans_of_the_device_are_events(loop, options, tmp_path):
    profiler = recorded(**options)
    profile = profiler.profiler_result
    copies = list(profile.of("Memcpy"))
    assert [e.name for e in copies] == ["copy of the device"] * 2
    assert [e.args["bytes"] for e in copies] == [24, 24]
    assert {profile.threads[e.thread] for e in copies} == {"loop:0 stream 7"}
    (thread,) = {profile.threads[e.thread] for e in profile.of("CudaRuntime")}
    assert thread == f"loop runtime, thread {threading.get_native_id()}"
    assert all(profile.start <= e.start <= e.end <= profile.end for e in copies)
    profiler.export(os.fspath(tmp_path / "trace.json"))
    again = load_profiler_result(os.fspath(tmp_path / "trace.json"))
    assert [(e.name, e.args["bytes"]) for e in again.of("Memcpy")] == [("copy of the device", 24)] * 2
    assert again.threads == profile.threads


def test_devices_are_not_recorded_unless_they_are_asked_for(loop):
    assert not list(recorded().profiler_result.of("Memcpy"))


def test_a_profiler_that_does_not_start(loop):
    profiler = Profiler(custom_device_types=["loop"])
    with loop.failing("profiler_start_tracing", 2), pytest.raises(PluginError, match=r"C_FAILED .a resource"):
        profiler.start()
    assert EventCollector.active is None
    assert len(list(recorded(custom_device_types=["loop"]).profiler_result.of("Memcpy"))) == 2


def test_a_type_without_a_profiler_is_refused(loop):
    with pytest.raises(ValueError, match=r"have a profiler, of \['loop'.*\], got custom_device_types=\['npu'\]"):
        Profiler(custom_device_types=["npu"])
