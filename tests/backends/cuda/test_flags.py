"""``FLAGS_*`` that name GPUs: each changes what it says."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from umiak import memory
from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.place import Place


@pytest.fixture
def flag(device):
    """Set a flag for a test."""
    before = {}

    def put(name, value):
        before.setdefault(name, paddle.get_flags(name)[name])
        paddle.set_flags({name: value})

    yield put
    paddle.set_flags(before)


def test_the_first_selected_device_is_the_default_one(flag):
    former = paddle.get_device()
    flag("FLAGS_selected_gpus", "1,0")
    try:
        assert paddle.set_device("gpu") == paddle.CUDAPlace(1)
        assert paddle.ones([1]).place == paddle.CUDAPlace(1) and paddle.get_device() == "gpu:1"
        assert paddle.ones([1]).cpu().to("gpu:0").place == paddle.CUDAPlace(0)
    finally:
        paddle.set_device(former)
    assert paddle.static.cuda_places() == [paddle.CUDAPlace(1), paddle.CUDAPlace(0)]
    with pytest.raises(ValueError, match=r"\[FLAGS_selected_gpus\] requires numbers of devices .* got '0;1'"):
        flag("FLAGS_selected_gpus", "0;1")
    flag("FLAGS_selected_gpus", "7")
    with pytest.raises(ValueError, match=r"\[set_device\] requires one of 2 devices of type 'gpu', got 7"):
        paddle.set_device("gpu")


@pytest.mark.usefixtures("no_garbage")
def test_a_device_holds_at_most_the_limit(device, flag):
    memory.empty_cache(device)
    held = memory.stats(device)["reserved"]
    flag("FLAGS_gpu_memory_limit_mb", (held >> 20) + 8)
    assert memory.get_limit(device) == ((held >> 20) + 8) << 20
    x = paddle.zeros([1 << 20])  # 4 MiB
    with pytest.raises(MemoryError, match="limit"):
        paddle.zeros([1 << 22])
    flag("FLAGS_gpu_memory_limit_mb", 0)
    paddle.zeros([1 << 22])
    assert float(x[0]) == 0
    with pytest.raises(ValueError, match=r"\[FLAGS_gpu_memory_limit_mb\] requires 0 MiB or more, got -1"):
        flag("FLAGS_gpu_memory_limit_mb", -1)


@pytest.mark.parametrize("name", ["FLAGS_benchmark", "FLAGS_check_cuda_error"])
def test_work_is_done_when_a_call_returns(device, cuda, flag, name):
    """A failure that only data tell is that of the call."""
    table, at = from_numpy(np.arange(4.0), device), from_numpy(np.array([1, 9]), device)
    x = F.add(table, 1.0)
    assert cuda.driver.streams[cuda.device(device).queue(0).handle].work
    flag(name, True)
    F.add(x, 1.0)
    assert not cuda.driver.streams[cuda.device(device).queue(0).handle].work
    with pytest.raises(RuntimeError, match=r"\[take\] failed on gpu:0 .* got 9"):
        F.take(table, at, axis=0)
    paddle.device.synchronize(Place("gpu", 0))


def test_nothing_waits_within_a_capture(device, flag):
    flag("FLAGS_benchmark", True)
    x = paddle.ones([4])
    graph = paddle.device.cuda.graphs.CUDAGraph()
    graph.capture_begin()
    y = x + 1.0
    graph.capture_end()
    graph.replay()
    assert y.tolist() == [2.0] * 4
    graph.reset()
