"""Modules of kernels: PTX for the device and the driver, kept on disk, loaded once, unloaded when nobody runs them; a
device that is lost."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from recording_driver import RecordingDriver, Violation

from umiak import ops as F
from umiak.backends import strided
from umiak.backends.cuda import copies, modules
from umiak.backends.cuda.device import Device
from umiak.backends.cuda.driver import CudaError
from umiak.backends.cuda.launches import Given, prepare
from umiak.compiler.loop.node import axis, const, dim, i64
from umiak.compiler.loop.tree import LANE, OUT, SHARED, Axis, Buffer, Kernel, Loop, Store
from umiak.compiler.loop.types import F32
from umiak.core import array, stream
from umiak.core.array import from_numpy
from umiak.core.buffer import Buffer as TensorBuffer

REAL_PTX_OF = modules.ptx_of
I = axis("i")  # noqa: E741


def fill(value, name="fill", scratch=()):
    body = (Store("o", I, const(value, F32)),)
    loop = Loop(Axis(I, dim(0), kind=LANE), body, parallel=True)
    return Kernel(name, (Buffer("o", F32, OUT), *scratch), 1, (loop,))


def put(launch, queue, address):
    queue.put("fill", lambda stream: launch.put(queue, Given([address], [])))


@pytest.fixture
def alone(cuda, monkeypatch):
    monkeypatch.setattr(modules, "ptx_of", REAL_PTX_OF)
    device = Device(RecordingDriver(capability=(8, 6), version=11040), 0)
    yield device
    device.close()
    assert device.driver.left() == []


def test_ptx_is_for_the_device_and_its_driver(alone):
    module = alone.modules.load(fill(1.0), 256)
    image = alone.driver.modules[module.handle].image
    assert ".version 7.4" in image and ".target sm_86" in image and ".entry fill(" in image


def test_a_text_is_loaded_once_and_unloaded_when_nobody_runs_it(alone):
    queue = alone.queue(0)
    launch = prepare(alone, fill(2.0), (5,))
    assert prepare(alone, fill(2.0), (7,)).module is launch.module
    address = alone.memory.take(64)
    handle = launch.module.handle
    put(launch, queue, address)
    del launch
    gc.collect()
    alone.modules.sweep()  # the stream has not run it yet
    assert handle in alone.driver.modules
    queue.wait(queue.stream.submitted)
    alone.modules.sweep()
    assert handle not in alone.driver.modules
    alone.memory.give(address, 64)


def test_the_recording_driver_sees_a_module_that_is_unloaded_in_use(alone):
    queue = alone.queue(0)
    launch = prepare(alone, fill(3.0), (5,))
    address = alone.memory.take(64)
    put(launch, queue, address)
    with pytest.raises(Violation, match="unloaded that stream"):
        alone.driver.module_unload(launch.module.handle)
    with pytest.raises(Violation, match=f"{address:#x}, which fill on stream"):
        alone.driver.mem_free(address)
    queue.wait(queue.stream.submitted)
    alone.memory.give(address, 64)


@pytest.mark.parametrize("kib", [32, 100, 300])
def test_shared_memory_beyond_48_kib_is_asked_for(alone, kib):
    kernel = fill(4.0, scratch=(Buffer("h", F32, SHARED, i64(kib << 8)),))
    if kib > 227:
        with pytest.raises(
            ValueError, match=r"\[fill\] requires at most 232448 bytes of shared memory on gpu:0, got 307200"
        ):
            prepare(alone, kernel, (5,))
        return
    launch = prepare(alone, kernel, (5,))
    assert launch.shared == kib << 10
    assert alone.driver.calls.count("cuFuncSetAttribute") == (kib > 48)


def test_arrays_of_a_kernel_count_among_shared_memory(alone, monkeypatch):
    """What a launch may have without asking is less by them, and so is what it may have at all."""
    monkeypatch.setattr(type(alone.driver), "fixed_shared", lambda self, function: 2 << 10)
    sizes = {kib: fill(6.0, scratch=(Buffer("h", F32, SHARED, i64(kib << 8)),)) for kib in (46, 47, 226)}
    queue, address = alone.queue(0), alone.memory.take(64)
    for kib in (46, 47):
        launch = prepare(alone, sizes[kib], (5,))
        assert alone.driver.calls.count("cuFuncSetAttribute") == (kib == 47)
        put(launch, queue, address)
    with pytest.raises(ValueError, match="at most 232448 bytes of shared memory on gpu:0, got 233472"):
        prepare(alone, sizes[226], (5,))
    queue.wait(queue.stream.submitted)
    alone.memory.give(address, 64)


def test_ptx_that_the_driver_refuses_is_shown(alone):
    alone.driver.fail("cuModuleLoadDataEx", 218, "CUDA_ERROR_INVALID_PTX")
    with pytest.raises(CudaError, match="CUDA_ERROR_INVALID_PTX"):
        prepare(alone, fill(5.0), (5,))


# --- copies of strided elements ---


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "complex64", "complex128"])
def test_elements_of_all_sizes_are_copied_however_they_lie(device, dtype):
    x = np.arange(60).reshape(3, 4, 5).astype(dtype)
    y = from_numpy(x, device)
    moved = F.permute(y, perm=(2, 0, 1))[::-1, :, 1::2] if dtype != "bool" else F.permute(y, perm=(2, 0, 1))
    expected = x.transpose(2, 0, 1)[::-1, :, 1::2] if dtype != "bool" else x.transpose(2, 0, 1)
    np.testing.assert_array_equal(array.host_values(moved), expected)


def test_neighbouring_axes_are_merged():
    assert strided.merged((2, 1, 3, 4), (12, 99, 4, 1), (24, 7, 8, 2)) == ([24], [[1], [2]])
    assert strided.merged((2, 3, 4), (12, 4, 1), (1, 2, 6)) == ([2, 3, 4], [[12, 4, 1], [1, 2, 6]])
    assert strided.merged((1, 1), (5, 5)) == ([1], [[0]])


def test_dense_elements_are_copied_by_the_driver(device, cuda):
    x = from_numpy(np.arange(6, dtype=np.float32), device)
    out = from_numpy(np.zeros(6, np.float32), device)
    cuda.driver.calls.clear()
    copies.copy(cuda.device(device), TensorBuffer(out), TensorBuffer(x))
    assert "cuLaunchKernel" not in cuda.driver.calls
    assert array.host_values(out).tolist() == list(range(6))


# --- a device that is lost ---


def test_a_lost_device_is_an_error_and_nothing_is_freed_twice(cuda):
    """Whoever waits is told by the driver's words, once; later work is refused; nothing waits for ever."""
    device = Device(RecordingDriver(), 0)
    queue, other = device.queue(0), device.queue(1)
    address = device.memory.take(64)
    queue.put("first", lambda s: device.driver.memset_d32_async(address, 1, 1, s))
    device.driver.fail("cuEventQuery")
    device.driver.fail("cuEventSynchronize")
    queue.wait(queue.stream.submitted)
    failures = queue.failures.take()
    assert [name for name, _ in failures] == ["device"]
    assert "CUDA_ERROR_LAUNCH_FAILED" in str(failures[0][1])
    assert queue.poll() == queue.stream.submitted and queue.failures.take() == []
    other.put("later", lambda s: None)
    other.wait(other.stream.submitted)
    assert [name for name, _ in other.failures.take()] == ["device"]
    freed = device.driver.calls.count("cuMemFree")
    device.memory.give(address, 64)  # its memory went with it
    assert device.driver.calls.count("cuMemFree") == freed
    device.close()


def test_an_error_of_a_launch_names_the_call(device, cuda):
    x = from_numpy(np.ones(4, np.float32), device)
    F.add(x, 1.0)
    cuda.driver.fail("cuLaunchKernel", 1, "CUDA_ERROR_INVALID_VALUE")
    try:
        with pytest.raises(CudaError, match=r"\[cuLaunchKernel\] failed with CUDA_ERROR_INVALID_VALUE"):
            F.add(x, 2.0)
    finally:
        cuda.driver.failing.clear()
    stream.synchronize(device.index)
    assert array.host_values(F.add(x, 2.0)).tolist() == [3.0] * 4
