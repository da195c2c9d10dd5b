"""Helpers: names, sharing of memory, optional imports, deprecation, versions."""

from __future__ import annotations

import json
import threading
import warnings

import numpy as np
import pytest
import torch

import paddle
from paddle.utils import dlpack, unique_name

# --- names ---------------------------------------------------------------------------------------------------------


def test_names_count_up():
    with unique_name.guard():
        assert [unique_name.generate(key) for key in ("fc", "fc", "a_b", "fc")] == ["fc_0", "fc_1", "a_b_0", "fc_2"]
        with unique_name.guard():
            assert unique_name.generate("fc") == "fc_0"
        with unique_name.guard("left/"):
            assert unique_name.generate("fc").startswith("left/fc_")
            with unique_name.guard(b"right/"):
                assert "right/" in unique_name.generate("fc")
        assert unique_name.generate("fc") == "fc_3"


def test_counters_change_places():
    with unique_name.guard():
        unique_name.generate("fc")
        former, _ = unique_name.switch()
        assert unique_name.generate("fc") == "fc_0"
        unique_name.switch(former)
        assert unique_name.generate("fc") == "fc_1"


def test_names_of_layers():
    with unique_name.guard():
        first, second = paddle.nn.Linear(2, 2), paddle.nn.Linear(2, 2)
        assert first.weight.name == "linear_0.w_0"
        assert first.bias.name == "linear_0.b_0"
        assert second.full_name() == "linear_1"


def test_names_of_threads_differ():
    with unique_name.guard():
        names: list[str] = []
        threads = [
            threading.Thread(target=lambda: names.extend(unique_name.generate("t") for _ in range(50)))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(names) == 100


# --- sharing memory ------------------------------------------------------------------------------------------------

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back(dtype):
    x = paddle.ones([2, 3]).astype(dtype)
    y = dlpack.from_dlpack(dlpack.to_dlpack(x))
    assert (y.dtype, y.shape, y.data_ptr()) == (x.dtype, x.shape, x.data_ptr())
    assert y.stop_gradient


def test_memory_is_one():
    x = paddle.arange(6, dtype="float32").reshape([2, 3])
    peer = torch.from_dlpack(x)
    peer[0, 0] = 7
    assert float(x[0, 0]) == 7.0
    array = np.arange(3.0)
    y = dlpack.from_dlpack(array)
    y.add_(paddle.ones([3], "float64"))
    assert array.tolist() == [1.0, 2.0, 3.0]
    back = dlpack.from_dlpack(torch.arange(4).reshape(2, 2).T)
    assert back.tolist() == [[0, 2], [1, 3]]
    assert dlpack.from_dlpack(array, copy=True).data_ptr() != y.data_ptr()
    assert dlpack.from_dlpack(x, device="cpu").data_ptr() == x.data_ptr()


def test_memory_outlives_its_owner():
    y = dlpack.from_dlpack(dlpack.to_dlpack(paddle.full([1000], 3.0)))
    paddle.zeros([1000])
    assert float(y.sum()) == 3000.0


@pytest.mark.parametrize("shape", [[], [0], [2, 0, 3], [1, 1]])
def test_shapes(shape):
    assert dlpack.from_dlpack(dlpack.to_dlpack(paddle.ones(shape))).shape == shape


def test_errors_of_dlpack():
    capsule = dlpack.to_dlpack(paddle.ones([2]))
    dlpack.from_dlpack(capsule)
    with pytest.raises(ValueError, match="not taken before"):
        dlpack.from_dlpack(capsule)
    with pytest.raises(TypeError, match=r"\[from_dlpack\].*got int"):
        dlpack.from_dlpack(5)
    with pytest.raises(TypeError, match=r"\[to_dlpack\] requires a Tensor for x, got int"):
        dlpack.to_dlpack(5)


# --- imports, deprecation ------------------------------------------------------------------------------------------


def test_try_import():
    assert paddle.utils.try_import("json") is json
    with pytest.raises(ImportError, match="pip install no_such_module"):
        paddle.utils.try_import("no_such_module")
    with pytest.raises(ImportError, match=r"^mine$"):
        paddle.utils.try_import("no_such_module.inner", "mine")


def test_deprecated():
    def old(x):
        """Its doc."""
        return x

    mark = paddle.utils.deprecated
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet = mark(update_to="paddle.new", since="2.0", reason="Because.")(old)
        assert quiet(3) == 3
    assert quiet.__name__ == "old"
    for part in ("2.0", "paddle.new", "Because.", "Its doc."):
        assert part in quiet.__doc__
    with pytest.warns(Warning, match="deprecated since 2.0"):
        assert mark(since="2.0", level=1)(old)(3) == 3
    with pytest.raises(RuntimeError, match="deprecated"):
        mark(level=2)(old)(3)


# --- versions, check -----------------------------------------------------------------------------------------------


def test_version(capsys):
    version = paddle.version
    assert paddle.__version__ == version.full_version == "3.3.1"
    assert (version.major, version.minor, version.patch, version.rc) == ("3", "3", "1", "0")
    assert (version.cuda(), version.cudnn(), version.nccl(), version.xpu()) == ("False", "False", "0", "False")
    version.show()
    printed = capsys.readouterr().out
    assert "full_version: 3.3.1" in printed and "cuda_archs: []" in printed
    assert version.cuda_archs() == version.compiled_cuda_archs == [] and version.hml() == version.with_hml == ""
    assert version.with_pip_cuda_libraries == version.with_pip_tensorrt == "OFF"


@pytest.mark.parametrize("bounds", [("3.3.1",), ("0.1.0",), ("3.0", "4.0"), ("3.3.0", "3.3.1"), ("3.3.1.0",)])
def test_versions_that_fit(bounds):
    assert paddle.utils.require_version(*bounds) is None


@pytest.mark.parametrize(
    ("bounds", "kind", "message"),
    [
        (("9.0",), Exception, "9.0 or higher, got 3.3.1"),
        (("1.0", "2.0"), Exception, "1.0 to 2.0, got 3.3.1"),
        ((1,), TypeError, "a str for min_version, got int"),
        (("1.0", 2), TypeError, "a str for max_version, got int"),
        (("1.a",), ValueError, "a min_version like"),
    ],
)
def test_versions_that_do_not(bounds, kind, message):
    with pytest.raises(kind, match=message):
        paddle.utils.require_version(*bounds)


def test_run_check(capsys):
    paddle.utils.run_check()
    assert "works on cpu" in capsys.readouterr().out
