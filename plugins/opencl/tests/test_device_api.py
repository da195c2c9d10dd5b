"""``paddle.device`` on a device that is no part of the framework."""

from __future__ import annotations

import io

import numpy as np
import pytest
from garbage import without_garbage

import paddle


def test_names(device):
    assert "opencl" in paddle.device.get_all_custom_device_type()
    assert "opencl:0" in paddle.device.get_available_custom_device()
    assert paddle.is_compiled_with_custom_device("opencl")
    assert paddle.get_device() == "opencl:0"
    assert paddle.ones([2]).place == paddle.CustomPlace("opencl", 0)


def test_properties(device):
    properties = paddle.device.get_device_properties("opencl:0")
    assert properties.name == paddle.device.get_device_name("opencl:0") != ""
    assert paddle.device.get_device_capability("opencl:0") >= (1, 2)
    assert properties.total_memory > 1 << 20
    assert properties.multi_processor_count > 0


def test_devices_of_interpreters_come_last(opencl):
    from umiak_opencl import device as of

    names = [d.platform.name for d in of.devices()]
    assert names == ["Portable Computing Language"] * len(names)  # the flag of these tests
    paddle.set_flags({"FLAGS_opencl_platform": ""})
    try:
        interpreted = [d.platform.name in of.INTERPRETERS for d in of.devices()]
    finally:
        paddle.set_flags({"FLAGS_opencl_platform": "Portable Computing Language"})
    assert interpreted == sorted(interpreted) and len(interpreted) >= len(names)


def test_a_device_that_is_not_there(device, opencl):
    count = opencl.backend.device_count()
    with pytest.raises(ValueError, match=rf"\[ones\] requires one of {count} devices of type .opencl., got {count}"):
        paddle.ones([2], device=f"opencl:{count}")


def test_streams_and_events(device):
    side = paddle.device.Stream("opencl:0")
    before = paddle.device.Event("opencl:0")
    x = paddle.ones([1000])
    before.record()
    with paddle.device.stream_guard(side):
        assert paddle.device.current_stream("opencl:0") == side
        side.wait_event(before)
        y = x * 2
        after = side.record_event()
    paddle.device.current_stream("opencl:0").wait_event(after)
    z = y + 1
    after.synchronize()
    assert after.query()
    assert float(z.sum()) == 3000
    paddle.device.synchronize("opencl:0")
    assert side.query()


def test_memory_statistics(device):
    with without_garbage():
        before = paddle.device.memory_allocated("opencl:0")
        x = paddle.zeros([1 << 16])
        assert paddle.device.memory_allocated("opencl:0") - before >= 4 << 16
        assert paddle.device.max_memory_allocated("opencl:0") >= paddle.device.memory_allocated("opencl:0")
        assert paddle.device.memory_reserved("opencl:0") >= paddle.device.memory_allocated("opencl:0")
        del x
        assert paddle.device.memory_allocated("opencl:0") == before
        paddle.device.synchronize("opencl:0")
        paddle.device.empty_cache("opencl:0")


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
    found = other.to("opencl:0")(paddle.to_tensor(x, place="opencl:0"))
    assert found.place == paddle.CustomPlace("opencl", 0)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)


def test_captured_functions(device, opencl):
    layer = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.Tanh(), paddle.nn.Linear(8, 1))
    x = paddle.rand([5, 4])
    captured = paddle.jit.to_static(layer.forward)
    for _ in range(3):
        np.testing.assert_allclose(captured(x).numpy(), layer(x).numpy(), rtol=1e-5, atol=1e-6)
    assert opencl.fallbacks() == {}
