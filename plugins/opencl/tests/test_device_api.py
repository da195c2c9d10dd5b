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


@pytest.mark.parametrize("current", ["cpu", "opencl:0"])
@pytest.mark.parametrize("narrow", [False, True])
def test_predictors(device, tmp_path, current, narrow):
    """Weights are read by passes on the host, and stand on the device when the model runs."""
    from paddle.inference import Config, PrecisionType, create_predictor

    class Model(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = paddle.nn.Conv2D(3, 4, 3), paddle.nn.BatchNorm2D(4)
            self.table, self.out = paddle.nn.Embedding(5, 4), paddle.nn.Linear(4, 2)

        def forward(self, x, ids):
            pooled = paddle.nn.functional.relu(self.norm(self.conv(x))).mean([2, 3])
            return self.out(pooled + self.table(ids)) * paddle.full([2], 0.5)

    paddle.set_device("cpu")
    model = Model()
    model.eval()
    spec = [paddle.static.InputSpec([None, 3, 6, 6]), paddle.static.InputSpec([None], "int64")]
    paddle.jit.save(paddle.jit.to_static(model, input_spec=spec), str(tmp_path / "m"))
    x, ids = np.random.rand(2, 3, 6, 6).astype("float32"), np.array([1, 4])
    wanted = model(paddle.to_tensor(x), paddle.to_tensor(ids)).numpy()
    paddle.set_device(current)
    config = Config(str(tmp_path / "m.json"), str(tmp_path / "m.pdiparams"))
    config.enable_custom_device("opencl", 0, PrecisionType.Bfloat16 if narrow else PrecisionType.Float32)
    first = create_predictor(config)
    for predictor in (first, first.clone()):
        for _ in range(5):
            for name, value in zip(predictor.get_input_names(), (x, ids), strict=True):
                predictor.get_input_handle(name).copy_from_cpu(value)
            predictor.run()
        got = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
        np.testing.assert_allclose(got, wanted, rtol=5e-2 if narrow else 1e-5, atol=2e-2 if narrow else 1e-6)
    assert paddle.get_device() == current


def test_numbers_are_of_the_type_of_the_current_device(device):
    place = paddle.CustomPlace("opencl", 0)
    assert paddle.device.memory_allocated(0) == paddle.device.memory_allocated(place)
    assert paddle.device.get_device_properties(0) == paddle.device.get_device_properties(place)
    assert paddle.device.Stream(0).device == paddle.device.Stream(place).device
    paddle.device.synchronize(0)
