"""``paddle.device`` and ``paddle.cuda`` on a CUDA device."""

from __future__ import annotations

import io

import numpy as np
import pytest

import paddle
from umiak.backends.cuda.graphs import Graph


def test_names(device):
    assert "gpu" in paddle.device.get_all_device_type()
    assert paddle.device.get_available_device()[-2:] == ["gpu:0", "gpu:1"]
    assert "gpu" not in paddle.device.get_all_custom_device_type()  # plug-ins of other tests may be there
    assert paddle.is_compiled_with_cuda() and paddle.cuda.is_available() and paddle.cuda.is_initialized()
    assert paddle.device.cuda.device_count() == paddle.device.device_count() == 2
    assert paddle.get_device() == "gpu:0"
    assert paddle.ones([2]).place == paddle.CUDAPlace(0)
    assert isinstance(paddle.ones([2], device="gpu:1").place, paddle.CUDAPlace)
    assert paddle.get_device_module("gpu:0") is paddle.cuda


def test_properties(device):
    properties = paddle.device.cuda.get_device_properties(0)
    assert properties.name == paddle.device.cuda.get_device_name(0) == "recording device 0"
    assert paddle.device.cuda.get_device_capability(0) == (9, 0)
    with paddle.use_compat_guard():
        import torch

        assert torch.version.cuda == "12.8"
    assert properties.total_memory == 1 << 30 and properties.multi_processor_count == 1


def test_a_device_that_is_not_there(device):
    with pytest.raises(ValueError, match=r"\[set_device\] requires one of 2 devices of type 'gpu', got 2"):
        paddle.set_device("gpu:2")
    with pytest.raises(ValueError, match=r"\[CUDAPlace\]"):
        paddle.CUDAPlace(2)


@pytest.mark.usefixtures("no_garbage")
def test_memory(device):
    paddle.zeros([1])  # the first launch of a stream takes memory of its own
    free, total = paddle.cuda.mem_get_info(0)
    before, reserved = paddle.device.cuda.memory_allocated(0), paddle.device.cuda.memory_reserved(0)
    x = paddle.zeros([1 << 20])
    assert paddle.device.cuda.memory_allocated(0) - before >= 4 << 20
    assert paddle.device.cuda.max_memory_allocated(0) >= paddle.device.cuda.memory_allocated(0)
    assert total == 1 << 30
    assert free - paddle.cuda.mem_get_info(0)[0] == paddle.device.cuda.memory_reserved(0) - reserved
    del x
    paddle.device.cuda.synchronize(0)
    paddle.device.cuda.empty_cache()
    assert paddle.device.cuda.memory_allocated(0) == before
    paddle.device.ipc_collect()


def test_streams_and_events(device):
    side = paddle.device.cuda.create_stream(0)
    before = paddle.device.cuda.create_event()
    x = paddle.ones([1000])
    before.record()
    with paddle.device.cuda.stream_guard(side):
        assert paddle.device.cuda.current_stream(0) == side
        side.wait_event(before)
        y = x * 2
        after = side.record_event()
    paddle.device.cuda.current_stream(0).wait_event(after)
    z = y + 1
    assert float(z.sum()) == 3000
    assert after.query() and side.query()


def test_handles_of_streams_are_the_drivers(device, cuda):
    handles = {paddle.device.cuda.create_stream(0).cuda_stream, paddle.cuda.current_stream().cuda_stream}
    assert len(handles) == 2 and handles <= set(cuda.driver.streams)
    with paddle.use_compat_guard(scope=__name__):
        import torch as ours

        assert ours._C._cuda_getCurrentRawStream(0) == paddle.cuda.current_stream().cuda_stream
    with pytest.raises(AttributeError, match=r"\[cuda_stream\] requires a stream of a CUDA device, got one of cpu"):
        paddle.device.Stream("cpu").cuda_stream  # noqa: B018


def test_the_device_notes_the_time_of_events(device, cuda):
    """Nobody waits when an event is recorded; the driver's events are used again."""
    for _ in range(2):
        start, end = (paddle.device.Event(enable_timing=True) for _ in range(2))
        cuda.driver.calls.clear()
        start.record()
        paddle.ones([10]) + 1
        end.record()
        assert not any("Synchronize" in c for c in cuda.driver.calls)
        assert start.elapsed_time(end) == 1.0  # which the recording driver says
        created = cuda.driver.calls.count("cuEventCreate")
        del start, end
    assert created == 0


def test_a_stream_that_is_captured_says_so(device, cuda):
    said = []

    def function(x):
        said.append(paddle.device.is_current_stream_capturing())
        return x + 1

    assert not paddle.cuda.is_current_stream_capturing()
    Graph(cuda.device(device), function, [paddle.ones([2])]).close()
    assert said == [True] and not paddle.cuda.is_current_stream_capturing()


def test_layers_move_and_are_saved(device):
    layer = paddle.nn.Linear(3, 2)
    file = io.BytesIO()
    paddle.save(layer.state_dict(), file)
    file.seek(0)
    paddle.set_device("cpu")
    other = paddle.nn.Linear(3, 2)
    other.set_state_dict(paddle.load(file))
    x = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")
    expected = other(paddle.to_tensor(x))
    got = other.to("gpu:1")(paddle.to_tensor(x).cuda(1))
    assert got.place == paddle.CUDAPlace(1)
    np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-5)


def test_captured_functions(device, cuda):
    layer = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.Tanh(), paddle.nn.Linear(8, 1))
    x = paddle.rand([5, 4])
    captured = paddle.jit.to_static(layer.forward)
    for _ in range(3):
        np.testing.assert_allclose(captured(x).numpy(), layer(x).numpy(), rtol=1e-5)
    assert cuda.host.read() == {}
