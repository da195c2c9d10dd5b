"""Dtypes, places, names, parameters, switches, devices, helpers."""

import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import paddle
from paddle.framework.place import place_of
from umiak.core.context import new_rank


def test_version():
    assert paddle.__version__ == paddle.version.full_version == "3.3.1"
    assert (paddle.version.major, paddle.version.minor, paddle.version.patch) == ("3", "3", "1")
    assert paddle.version.cuda() == "False"


def test_import_loads_nothing_heavy():
    code = "import sys, paddle; print([m for m in ('scipy', 'llvmlite', 'torch', 'pandas') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# --- dtypes --------------------------------------------------------------------------------------------------------


def test_dtypes():
    assert repr(paddle.float32) == str(paddle.float32) == "paddle.float32"
    assert paddle.half is paddle.float16
    assert paddle.double is paddle.float64
    assert paddle.uint16 is paddle.bfloat16
    assert isinstance(paddle.int8, paddle.dtype)
    assert {paddle.int8: 1}[paddle.int8] == 1


def test_limits():
    for name in ("float16", "float32", "float64"):
        ours, numpys = paddle.finfo(name), np.finfo(name)
        for field in ("min", "max", "eps", "tiny", "smallest_normal", "bits"):
            assert getattr(ours, field) == pytest.approx(float(getattr(numpys, field)))
        assert ours.resolution == 10.0**-numpys.precision
    assert paddle.finfo("bfloat16").resolution == 0.01
    assert paddle.finfo("float8_e4m3fn").resolution == paddle.finfo("float8_e5m2").resolution == 1.0
    assert paddle.finfo(paddle.bfloat16).eps == 0.0078125
    assert paddle.finfo("complex64").dtype == "float32"
    assert (paddle.iinfo("uint8").max, paddle.iinfo(paddle.int64).bits) == (255, 64)
    assert repr(paddle.iinfo("int8")) == "paddle.iinfo(min=-128, max=127, bits=8, dtype=int8)"
    with pytest.raises(ValueError, match="floating"):
        paddle.finfo("int32")
    with pytest.raises(ValueError, match="integer"):
        paddle.iinfo("float32")


def test_default_dtype():
    assert paddle.get_default_dtype() == "float32"
    with pytest.raises(TypeError, match="set_default_dtype"):
        paddle.set_default_dtype("int32")


# --- places and devices --------------------------------------------------------------------------------------------


def test_places():
    place = paddle.CPUPlace()
    assert place == paddle.ones([1]).place
    assert isinstance(place, paddle.CPUPlace)
    assert not isinstance(place, paddle.CUDAPlace)
    assert repr(place) == "Place(cpu)"
    with pytest.raises(ValueError, match="device"):
        paddle.CUDAPlace(0)
    with pytest.raises(ValueError, match="0 or more"):
        paddle.CUDAPlace(-1)
    assert place_of(paddle.ones([1])) is place


def test_devices():
    assert paddle.set_device("cpu") == paddle.CPUPlace()
    assert paddle.get_device() == "cpu"
    for bad in ("xyz", "gpu:0", "cpu:"):
        with pytest.raises(ValueError, match="set_device"):
            paddle.set_device(bad)
    d = paddle.device
    assert "cpu" in d.get_all_device_type()
    assert "cpu" in d.get_available_device()
    assert (d.cuda.device_count(), d.is_compiled_with_cuda(), d.is_compiled_with_rocm()) == (0, False, False)
    assert d.get_device_properties("cpu").total_memory > 0
    with d.device("null:1"):
        assert paddle.get_device() == "null:1"
    assert paddle.get_device() == "cpu"


def test_memory():
    d = paddle.device
    x = paddle.zeros([1 << 18])
    assert d.memory_allocated() >= x.nbytes
    assert d.max_memory_allocated() >= d.memory_allocated()
    assert d.memory_reserved() <= d.max_memory_reserved()
    d.reset_peak_memory_stats()
    d.cuda.empty_cache()
    assert "allocated" in d.memory_summary()


def test_streams_and_events():
    d = paddle.device
    s = d.Stream("null:0")
    before = d.current_stream("null:0")
    with d.stream_guard(s):
        assert d.current_stream("null:0") == s
    assert d.current_stream("null:0") == before != s
    e = s.record_event()
    assert e.query()
    s.wait_event(e)
    s.wait_stream(before)
    s.synchronize()
    a, b = (d.Event("cpu", enable_timing=True) for _ in range(2))
    a.record()
    b.record()
    assert a.elapsed_time(b) >= 0
    with pytest.raises(RuntimeError, match="enable_timing"):
        d.Event().elapsed_time(b)
    d.synchronize()
    d.cuda.synchronize("cpu")


# --- names, parameters ---------------------------------------------------------------------------------------------


def test_unique_names():
    u = paddle.utils.unique_name
    with u.guard():
        assert [u.generate("a"), u.generate("a"), u.generate("b")] == ["a_0", "a_1", "b_0"]
        with u.guard():
            assert u.generate("a") == "a_0"
        assert u.generate("a") == "a_2"
        with u.guard("p/"):
            assert u.generate("a") == "p/a_0"
        old, _ = u.switch({"a": 7})
        assert u.generate("a") == "a_7"
        u.switch(old)
        assert u.generate("a") == "a_3"


def test_ranks_have_names_and_dtypes_of_their_own():
    seen = []

    def run():
        new_rank(1).activate()
        paddle.set_default_dtype("float64")
        seen.append((paddle.utils.unique_name.generate("rank_test"), paddle.get_default_dtype()))

    paddle.utils.unique_name.generate("rank_test")
    for _ in range(2):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert seen == [("rank_test_0", "float64")] * 2
    assert paddle.get_default_dtype() == "float32"


def test_param_attr():
    make = paddle.ParamAttr._to_attr
    assert make(None).name is None
    assert make(False) is False
    assert make("w").name == "w"
    attr = paddle.ParamAttr(learning_rate=0.5, trainable=False)
    assert make(attr) is attr
    assert make(paddle.nn.initializer.Constant(2.0)).initializer is not None
    assert make(paddle.regularizer.L2Decay(0.1)).regularizer is not None
    assert [a.name for a in make(["a", "b"])] == ["a", "b"]
    for bad in ({"name": 3}, {"trainable": 1}, {"learning_rate": "x"}, {"initializer": 3}):
        with pytest.raises(TypeError, match="ParamAttr"):
            paddle.ParamAttr(**bad)
    with pytest.raises(TypeError, match="ParamAttr"):
        make(3)


def test_create_parameter():
    p = paddle.create_parameter([2, 3], "float32")
    assert p.is_leaf
    assert p.trainable
    assert p.persistable
    assert not p.stop_gradient
    assert p.name.startswith("create_parameter_")
    assert repr(p).startswith("Parameter containing:\nTensor(shape=[2, 3]")
    b = paddle.create_parameter([2], "float32", is_bias=True, attr=paddle.ParamAttr("b", learning_rate=2.0))
    assert b.tolist() == [0, 0]
    assert b.name == "b"
    assert b.optimize_attr == {"learning_rate": 2.0}
    c = paddle.create_parameter([1], "float64", default_initializer=paddle.nn.initializer.Constant(3.0))
    assert c.item() == 3
    c.trainable = False
    assert c.stop_gradient
    with pytest.raises(ValueError, match="attr"):
        paddle.create_parameter([1], "float32", attr=False)


# --- switches, modes, helpers --------------------------------------------------------------------------------------


def test_flags():
    assert paddle.get_flags("FLAGS_log") == {"FLAGS_log": "warning"}
    assert paddle.get_flags(["FLAGS_log"]) == {"FLAGS_log": "warning"}
    with pytest.raises(ValueError, match="FLAGS_nope"):
        paddle.set_flags({"FLAGS_nope": 1})
    with pytest.raises(ValueError, match="FLAGS_nope"):
        paddle.get_flags("FLAGS_nope")


def test_dynamic_mode():
    assert paddle.in_dynamic_mode()
    paddle.disable_static()
    paddle.disable_signal_handler()


def test_size():
    s = paddle.Size([2, 3, 4])
    assert s == [2, 3, 4] == s
    assert s == (2, 3, 4)
    assert s.numel() == 24
    assert isinstance(s[1:], paddle.Size)
    assert s[0] == 2
    with pytest.raises(TypeError, match="integers"):
        paddle.Size([1.5])


def test_try_import_and_versions():
    assert paddle.utils.try_import("json").__name__ == "json"
    with pytest.raises(ImportError, match="pip install nothing_here"):
        paddle.utils.try_import("nothing_here.sub")
    paddle.utils.require_version("3.0", "3.9.9")
    with pytest.raises(Exception, match="requires version"):
        paddle.utils.require_version("4.0")
    with pytest.raises(ValueError, match="min_version"):
        paddle.utils.require_version("x")


def test_deprecated():
    @paddle.utils.deprecated(update_to="new", since="3.0", reason="Slow.", level=1)
    def old():
        """Doc."""
        return 1

    with pytest.warns(DeprecationWarning, match="use new"):
        assert old() == 1
    assert "Doc." in old.__doc__

    @paddle.utils.deprecated(level=2)
    def gone(): ...

    with pytest.raises(RuntimeError, match="deprecated"):
        gone()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paddle.utils.deprecated()(lambda: 3)() == 3


def test_batch():
    reader = paddle.batch(lambda: iter(range(5)), 2, drop_last=True)
    assert list(reader()) == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="batch_size"):
        paddle.batch(lambda: iter(()), 0)


def test_run_check(capsys):
    paddle.utils.run_check()
    assert "works on cpu" in capsys.readouterr().out
