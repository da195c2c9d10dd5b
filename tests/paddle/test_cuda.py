"""Names of programs for CUDA and XPUs: they mean the devices that are there, and refuse the others."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import paddle
from paddle import cuda, device


@pytest.fixture(autouse=True)
def back_to_the_host():
    yield
    device.set_device("cpu")


without_cuda = pytest.mark.skipif(device.is_compiled_with_cuda(), reason="a CUDA backend is installed")
without_xpu = pytest.mark.skipif(device.is_compiled_with_xpu(), reason="a backend for XPUs is installed")

# --- what is there -------------------------------------------------------------------------------------------------


@without_cuda
@without_xpu
def test_answers_without_a_device():
    assert cuda.device_count() == device.xpu.device_count() == 0
    assert cuda.is_available() is False
    assert cuda.is_initialized() is False
    assert cuda.is_current_stream_capturing() is device.is_current_stream_capturing() is False
    assert cuda.current_device() == device.current_device() == 0
    assert paddle.get_cudnn_version() == paddle.device.get_cudnn_version()


@without_cuda
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: cuda.set_device(0), ValueError),
        (lambda: cuda.set_device("cuda"), ValueError),
        (lambda: cuda.mem_get_info(), ValueError),
        (lambda: cuda.mem_get_info("cpu"), ValueError),
        (lambda: cuda.mem_get_info(0), ValueError),
        (lambda: device.device_to_place("cuda:0"), ValueError),
        (lambda: device.device_to_place(1), ValueError),
        (lambda: device.device_to_place(-1), ValueError),
        (lambda: paddle.set_default_device("gpu"), ValueError),
        (lambda: paddle.set_default_device(1), ValueError),
        (lambda: paddle.IPUPlace(), ValueError),
        (lambda: cuda.get_stream_from_external(1), ValueError),
        (lambda: cuda.get_stream_from_external(1, "gpu:0"), ValueError),
        (lambda: cuda.cudart(), RuntimeError),
        (lambda: device.ipc_collect(), RuntimeError),
        (lambda: cuda.check_error(2), cuda.CudaError),
        (lambda: cuda.manual_seed("a"), TypeError),
        (lambda: paddle.get_device_module("foo"), RuntimeError),
        (lambda: paddle.get_device_module(1.5), TypeError),
        (lambda: device.cuda.create_event(device_type="gpu"), ValueError),
        (lambda: device.cuda.create_stream(1), ValueError),
    ],
)
def test_refusals(call, error):
    with pytest.raises(error, match=r"\[\w+\] requires|CUDA error 2"):
        call()


MEMORY = (
    "empty_cache max_memory_allocated max_memory_reserved memory_allocated memory_reserved memory_total memory_used "
    "reset_max_memory_allocated reset_max_memory_reserved set_debug_level"
)


@without_xpu
@pytest.mark.parametrize(
    ("names", "error"),
    [("Event Stream create_event create_stream current_stream synchronize", RuntimeError), (MEMORY, ValueError)],
)
def test_refusals_without_an_xpu(names, error):
    for name in names.split():
        with pytest.raises(error, match="requires an XPU, got none"):
            getattr(device.xpu, name)()


def test_errors_of_the_runtime():
    cuda.check_error(0)
    error = cuda.CudaError(700)
    assert isinstance(error, RuntimeError)
    assert pickle.loads(pickle.dumps(error)).code == error.code == 700


# --- the default device --------------------------------------------------------------------------------------------


def test_the_default_device():
    found = paddle.get_default_device()
    assert isinstance(found, device.Device)
    assert found == "cpu"
    assert paddle.set_default_device("null:1") is None
    assert paddle.get_default_device() == "null:1" == str(device.get_device())
    assert device.current_device() == cuda.current_device() == 1
    assert paddle.ones([1]).place == device.device_to_place("null:1")
    paddle.set_default_device(None)
    assert paddle.get_default_device() == "null:1"
    paddle.set_default_device(0)
    assert paddle.get_default_device() == "null:0"
    cuda.set_device(1)
    assert paddle.get_default_device() == "null:1"
    cuda.set_device(paddle.CPUPlace())
    assert paddle.get_default_device() == "cpu"


def test_devices_by_number_are_of_the_current_type():
    assert device.device_to_place(0) == device.device_to_place() == paddle.CPUPlace()
    device.set_device("null:1")
    assert device.device_to_place(0).device_type == "null"
    assert device.device_to_place().device_id == 1
    with pytest.raises(ValueError, match="a number of 0 or more, got -1"):
        device.device_to_place(-1)


def test_the_module_of_a_device():
    assert paddle.get_device_module("gpu:0") is paddle.get_device_module("cuda") is cuda
    assert paddle.get_device_module("xpu") is device.xpu
    for host in (None, "cpu", 0, paddle.CPUPlace(), "null:1"):
        assert paddle.get_device_module(host) is device


def test_the_guard_is_the_same():
    assert paddle.device_guard is device.device_guard
    with paddle.device_guard("null"), cuda.device("cpu"):
        assert paddle.get_default_device() == "cpu"


# --- seeds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", [cuda, device, device.cuda, device.xpu])
def test_states_of_generators(home):
    state = home.get_rng_state()
    a = paddle.rand([4])
    home.set_rng_state(state)
    assert (paddle.rand([4]) == a).all()
    home.manual_seed(np.int64(7))
    assert home.get_rng_state() == home.get_rng_state("cpu") == home.get_rng_state(0)
    assert home.get_rng_state() != state


def test_a_seed_is_of_one_device_or_of_all():
    cuda.manual_seed_all(1)
    other = device.get_rng_state("null:1")
    device.manual_seed(2)
    assert device.get_rng_state("null:1") == other
    assert device.get_rng_state() != other
    for seed_all in (cuda.device_manual_seed_all, device.manual_seed_all):
        assert seed_all(3) is None
        assert device.get_rng_state("null:1") != other
        assert device.get_rng_state("null:1") == device.get_rng_state()


# --- streams, events, ranges, precision ----------------------------------------------------------------------------


def test_streams_are_those_of_devices():
    assert paddle.Stream is cuda.Stream is device.Stream
    assert paddle.Event is cuda.Event is device.Event
    device.set_device("null:1")
    side = device.cuda.create_stream(1, device_type="null")
    assert side != cuda.current_stream()
    before = side.stream_base.submitted
    with cuda.stream(side), device.stream(None):
        assert cuda.current_stream() == side
        paddle.ones([2])
    assert side.stream_base.submitted == before + 1
    event = device.cuda.create_event(device_type="null", device_id=1)
    event.record(side)
    cuda.synchronize()
    assert event.query()


def test_ranges_end_in_the_reverse_order():
    with paddle.profiler.Profiler() as profiler:
        cuda.nvtx.range_push("outer")
        device.nvtx.range_push("inner")
        cuda.nvtx.range_pop()
        device.nvtx.range_pop()
    inner, outer = sorted(profiler.profiler_result.of("PythonUserDefined"), key=lambda e: e.name)
    assert (inner.name, outer.name) == ("inner", "outer")
    assert outer.start <= inner.start and inner.end <= outer.end
    with pytest.raises(RuntimeError, match="a range that range_push began in this thread"):
        cuda.nvtx.range_pop()


@pytest.mark.parametrize("autocast", [cuda.amp.autocast, device.amp.autocast_mode.autocast])
def test_autocast(autocast):
    x = paddle.ones([2, 2])
    with autocast(dtype=paddle.bfloat16):
        assert (x @ x).dtype == paddle.bfloat16
    with autocast(False):
        assert (x @ x).dtype == paddle.float32
    assert list(inspect.signature(autocast).parameters) == ["enabled", "dtype", "cache_enabled"]


def test_tensors_of_a_dtype():
    assert cuda.FloatTensor is paddle.FloatTensor
    assert cuda.HalfTensor([1, 2]).dtype == paddle.float16
