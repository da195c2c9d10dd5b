"""Devices, streams, events and memory; what needs a device with streams of its own runs on the null device."""

from __future__ import annotations

import threading

import pytest

import paddle
from paddle import device


@pytest.fixture(autouse=True)
def back_to_the_host():
    yield
    device.set_device("cpu")
    for i in (0, 1):
        device.synchronize(f"null:{i}")


# --- which devices there are ---------------------------------------------------------------------------------------


def test_current_device():
    assert device.get_device() == "cpu"
    assert device.set_device("cpu") == paddle.CPUPlace()
    assert device.set_device(paddle.CPUPlace()) == paddle.CPUPlace()
    device.set_device("null:1")
    assert device.get_device() == "null:1"
    x = paddle.ones([2])
    assert device.get_device(x) == 1
    assert repr(x.place) == "Place(null:1)"
    device.set_device("cpu")
    assert device.get_device(x) == 1
    assert device.get_device(paddle.ones([2])) == -1


@pytest.mark.parametrize("name", ["CPU", "Cpu:0", "NULL:1"])
def test_names_of_devices_may_have_capitals(name):
    assert device.set_device(name) == device.set_device(name.lower())
    assert paddle.ones([1]).to(name).place == paddle.framework.current_place()


@pytest.mark.parametrize("guard", [device.device, device.device_guard])
def test_another_device_inside_a_block(guard):
    with guard("null"):
        assert device.get_device() == "null:0"
        with guard("cpu"):
            assert paddle.ones([1]).place == paddle.CPUPlace()
        assert device.get_device() == "null:0"
    assert device.get_device() == "cpu"
    with pytest.raises(KeyError), guard("null"):
        raise KeyError
    assert device.get_device() == "cpu"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("foo", r"\[set_device\] requires a device like 'cpu'"),
        ("gpu:x", "requires a device like"),
        ("", "requires a device like"),
        ("xpu", "No backend for it is installed"),
    ],
)
def test_devices_that_are_not_there(name, message):
    with pytest.raises(ValueError, match=message):
        device.set_device(name)
    with pytest.raises(TypeError, match="a place or the name of a device"):
        device.set_device(1.5)


def test_what_there_is():
    assert "cpu" in device.get_all_device_type()
    assert "cpu" in device.get_available_device()
    assert not device.is_compiled_with_custom_device("npu")
    assert device.is_compiled_with_distribute()
    for absent in ("rocm", "ipu", "cinn"):
        assert getattr(device, f"is_compiled_with_{absent}")() is False
    version = device.get_cudnn_version()
    assert version is None or version >= 90000


def test_without_cuda():
    if device.is_compiled_with_cuda():
        pytest.skip("a CUDA backend is installed")
    assert device.cuda.device_count() == 0
    assert device.device_count() == 0
    assert not device.is_available()
    with pytest.raises(ValueError, match=r"No backend for it is installed|There is no NVIDIA driver"):
        device.set_device("gpu")
    with pytest.raises(ValueError, match=r"\[CUDAPlace\]"):
        paddle.CUDAPlace(0)
    device.cuda.synchronize()
    device.cuda.empty_cache()


def test_properties():
    found = device.get_device_properties("cpu")
    assert found.total_memory > 0
    assert found.multi_processor_count > 0
    assert device.get_device_name("cpu") == found.name
    assert device.get_device_capability("cpu") == (found.major, found.minor)


# --- random states -------------------------------------------------------------------------------------------------


def test_random_states():
    state = device.get_rng_state()
    a = paddle.rand([3])
    device.set_rng_state(state)
    assert (paddle.rand([3]) == a).all()
    device.manual_seed(5)
    a = paddle.rand([3])
    device.manual_seed(5)
    assert (paddle.rand([3]) == a).all()


# --- streams and events --------------------------------------------------------------------------------------------


def test_streams_of_the_host():
    stream = device.Stream("cpu")
    with device.stream_guard(stream):
        assert device.current_stream("cpu") == stream
        x = paddle.ones([2]) + 1
    stream.synchronize()
    assert stream.query()
    assert x.tolist() == [2.0, 2.0]
    event = stream.record_event()
    stream.wait_event(event)
    device.current_stream("cpu").wait_stream(stream)
    event.synchronize()
    assert event.query()
    device.synchronize()
    device.synchronize("cpu")


def test_work_goes_to_the_current_stream():
    device.set_device("null")
    side = device.Stream("null")
    assert side != device.current_stream()
    assert device.current_stream() == device.current_stream("null:0")
    assert hash(device.current_stream()) == hash(device.current_stream())
    device.synchronize()
    before = side.stream_base.submitted
    with device.stream_guard(side):
        assert device.current_stream() == side
        paddle.ones([2])
        with device.stream_guard(None):
            assert device.current_stream() == side
    assert side.stream_base.submitted == before + 1
    assert device.current_stream() != side
    former = device.set_stream(side)
    assert device.current_stream() == side
    assert device.set_stream(former) == side


def test_events_cover_what_came_before():
    device.set_device("null")
    stream = device.current_stream()
    assert stream.device == paddle.ones([1]).place
    paddle.ones([2])
    event = device.Event("null")
    assert event.query()  # nothing was recorded yet
    event.record()
    paddle.ones([2])
    assert not event.query()
    assert not stream.query()
    event.synchronize()
    assert event.query()
    assert not stream.query()
    stream.synchronize()
    assert stream.query()


def test_streams_wait_for_each_other():
    device.set_device("null")
    first, second = device.current_stream(), device.Stream("null")
    paddle.ones([2])
    second.wait_stream(first)
    with device.stream_guard(second):
        paddle.ones([2])
    second.synchronize()
    assert first.query()
    event = device.Event("null")
    second.wait_event(event)  # not recorded: nothing to wait for
    second.synchronize()


def test_streams_belong_to_a_thread():
    device.set_device("null")
    side = device.Stream("null")
    seen = []
    with device.stream_guard(side):
        thread = threading.Thread(target=lambda: seen.append(device.current_stream("null") == side))
        thread.start()
        thread.join()
    assert seen == [False]


def test_elapsed_time():
    start, end = device.Event(enable_timing=True), device.Event(enable_timing=True)
    start.record()
    paddle.ones([100]).sum()
    end.record()
    assert 0 < start.elapsed_time(end) < 60_000
    with pytest.raises(RuntimeError, match="enable_timing=True"):
        start.elapsed_time(device.Event())


def test_errors_of_streams():
    with pytest.raises(TypeError, match=r"\[set_stream\] requires a Stream, got int"):
        device.set_stream(1)
    with pytest.raises(ValueError, match="interprocess"):
        device.Event(interprocess=True)
    for kind in (device.Stream, device.Event):
        with pytest.raises(ValueError, match=rf"^\[{kind.__name__}\] requires a device"):
            kind("tape")


# --- memory --------------------------------------------------------------------------------------------------------

MEGABYTE = 1 << 20


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize("home", [device, device.cuda])
@pytest.mark.parametrize("where", ["cpu", "null:1"])
def test_memory(home, where):
    home.empty_cache() if home is device.cuda else device.empty_cache(where)
    home.reset_max_memory_allocated(where)
    before = home.memory_allocated(where)
    assert home.max_memory_allocated(where) == before
    with device.device(where):
        x = paddle.zeros([MEGABYTE], "float32")
    grown = home.memory_allocated(where) - before
    assert 4 * MEGABYTE <= grown <= 4.5 * MEGABYTE
    assert home.memory_reserved(where) >= home.memory_allocated(where)
    del x
    device.synchronize(where)
    assert home.memory_allocated(where) == before
    assert home.max_memory_allocated(where) == before + grown
    assert home.max_memory_reserved(where) >= home.max_memory_allocated(where)
    home.reset_max_memory_reserved(where)
    home.reset_max_memory_allocated(where)
    assert home.max_memory_allocated(where) == before


@pytest.mark.usefixtures("no_garbage")
def test_memory_goes_back():
    with device.device("null:1"):
        x = paddle.zeros([MEGABYTE], "float32")
    del x
    device.synchronize("null:1")
    held = device.memory_reserved("null:1")
    device.empty_cache("null:1")
    assert device.memory_reserved("null:1") < held


def test_without_a_name_it_is_the_current_device():
    with device.device("null:1"):
        x = paddle.zeros([MEGABYTE], "float32")
        assert device.memory_allocated() == device.memory_allocated("null:1") >= 4 * MEGABYTE
    del x


def test_summary():
    text = device.memory_summary("cpu")
    for word in ("allocated", "reserved"):
        assert word in text


@pytest.mark.usefixtures("no_garbage")
def test_peaks_of_a_training_step():
    layer = paddle.nn.Linear(64, 64)
    device.reset_peak_memory_stats("cpu")
    before = device.memory_allocated("cpu")
    layer(paddle.ones([8, 64])).sum().backward()
    assert device.max_memory_allocated("cpu") > before


def test_numbers_of_threads():
    before = paddle.get_flags("FLAGS_paddle_num_threads")
    try:
        for n in (1, 2, 3):
            paddle.set_num_threads(n)
            assert paddle.get_num_threads() == device.get_num_threads() == n
            assert paddle.get_flags("FLAGS_paddle_num_threads") == {"FLAGS_paddle_num_threads": n}
        paddle.set_num_threads(0)
        assert paddle.get_num_threads() >= 1
        for bad in (-1, 1 << 16):
            with pytest.raises(ValueError, match=r"set_num_threads\] requires"):
                paddle.set_num_threads(bad)
        with pytest.raises(TypeError, match="an integer, got str"):
            paddle.set_num_threads("two")
        assert paddle.get_num_threads() >= 1
    finally:
        paddle.set_flags(before)


def test_what_tests_run_on_is_no_device_of_a_plug_in():
    assert "null" not in device.get_all_custom_device_type()
    assert not any(name.startswith("null") for name in device.get_available_custom_device())
    assert device.is_bf16_supported("cpu") is True
    with open("/proc/cpuinfo") as file:
        flags = next((line.split() for line in file if line.startswith(("flags", "Features"))), [])
    native = not {"avx512_bf16", "amx_bf16", "bf16"}.isdisjoint(flags)
    assert device.is_bf16_supported(including_emulation=False) is native


def test_statistics_and_generators_by_the_names_of_the_core():
    core = paddle.base.core
    kept = paddle.ones([4096])
    for kind, name in (("Allocated", "memory_allocated"), ("Reserved", "memory_reserved")):
        of_host = getattr(paddle.device, name)("cpu")
        assert core.host_memory_stat_current_value(kind, 0) == of_host >= 4 * kept.size
        assert core.host_memory_stat_peak_value(kind, 0) >= of_host
        gpu = paddle.device.cuda.device_count() > 0
        assert core.device_memory_stat_current_value(kind, 0) == (getattr(paddle.device, name)(0) if gpu else 0)
        assert core.device_memory_stat_peak_value(kind, 0) >= core.device_memory_stat_current_value(kind, 0)
    core.host_memory_stat_reset_peak_value("Allocated", 0)
    core.device_memory_stat_reset_peak_value("Allocated", 0)
    with pytest.raises(ValueError, match=r"one of \['Allocated', 'Reserved'\] as stat_type, got 'Used'"):
        core.host_memory_stat_current_value("Used", 0)
    generator = core.default_cpu_generator()
    state = generator.get_state()
    first = paddle.rand([2]).tolist()
    generator.set_state(state)
    assert paddle.rand([2]).tolist() == first


def test_a_number_is_of_the_current_type():
    """As the reference reads it: beside the host, 0 is the host."""
    with device.device(0):
        assert paddle.get_device() == "cpu"
    assert device.Stream(0).device.name == "cpu"
    for refused in (device.device, device.Stream, device.Event, device.synchronize):
        with pytest.raises(ValueError, match="requires the number 0 while the host is current, got 1"):
            refused(1)
    with device.device("null:0"):
        with device.device(1):
            assert paddle.get_device() == "null:1"
        assert device.Stream(1).device.name == "null:1"
