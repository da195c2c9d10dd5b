"""The driver of the machine: what it says where there is none, its errors, and what the bindings accept."""

from __future__ import annotations

import ctypes
import inspect
from types import SimpleNamespace

import extras
import pytest

from umiak.backends.base import Absent
from umiak.backends.cuda import nvidia, targets
from umiak.backends.cuda.driver import CudaError, DeviceAttribute, Driver, FunctionAttribute
from umiak.compiler.render import ptx

try:
    ctypes.CDLL(nvidia.LIBRARY)
except OSError:
    without_driver = pytest.mark.skipif(False, reason="")
else:
    without_driver = pytest.mark.skipif(True, reason="requires a machine without an NVIDIA driver")


@without_driver
def test_a_machine_without_a_driver_says_so():
    with pytest.raises(Absent, match=r"There is no NVIDIA driver \(libcuda\.so\.1\) on this machine"):
        nvidia.load()


def test_both_drivers_have_all_methods():
    from recording_driver import RecordingDriver

    for name, method in inspect.getmembers(Driver, inspect.isfunction):
        if name.startswith("_"):
            continue
        for driver in (nvidia.NvidiaDriver, RecordingDriver):
            parameters = inspect.signature(getattr(driver, name)).parameters
            assert list(parameters) == list(inspect.signature(method).parameters), (driver, name)


class Bindings:
    """A module with the names of ``cuda.bindings.driver`` whose calls give what they are told."""

    CUresult = SimpleNamespace(CUDA_ERROR_NOT_READY=600)

    def __init__(self, **results):
        self.results = results
        self.calls = []

    def __getattr__(self, name):
        if not name.startswith("cu"):
            return lambda *arguments: arguments[0] if arguments else SimpleNamespace()

        def function(*arguments):
            self.calls.append((name, arguments))
            return self.results.get(name, (0, 1))

        return function


def test_errors_name_call_code_and_reason():
    names = {"cuGetErrorName": (0, b"CUDA_ERROR_ILLEGAL_ADDRESS"), "cuGetErrorString": (0, b"an illegal access")}
    driver = nvidia.NvidiaDriver(Bindings(cuMemFree=(700,), **names))
    text = r"\[cuMemFree\] failed with CUDA_ERROR_ILLEGAL_ADDRESS \(700\): an illegal access"
    with pytest.raises(CudaError, match=text) as caught:
        driver.mem_free(4)
    assert (caught.value.call, caught.value.code) == ("cuMemFree", 700)
    unknown = nvidia.NvidiaDriver(Bindings(cuMemFree=(12345,), cuGetErrorName=(1, None), cuGetErrorString=(1, None)))
    with pytest.raises(CudaError, match=r"failed with an unknown error \(12345\)"):
        unknown.mem_free(4)


def test_work_that_is_not_done_is_no_error():
    assert not nvidia.NvidiaDriver(Bindings(cuEventQuery=(600,))).event_query(1)
    assert nvidia.NvidiaDriver(Bindings(cuEventQuery=(0,))).event_query(1)


def test_arguments_of_kernels_are_words_in_memory():
    words = nvidia.Words([1, -1, 1 << 63])
    pointers = (ctypes.c_void_p * 3).from_address(words.address)
    assert [ctypes.c_uint64.from_address(p).value for p in pointers] == [1, (1 << 64) - 1, 1 << 63]


# What each method is called with, for the bindings' own checks of arguments.
CALLS = {
    "driver_get_version": (), "device_get_count": (), "device_get_name": (0,), "device_total_mem": (0,),
    "device_get_attribute": (0, DeviceAttribute.MULTIPROCESSOR_COUNT), "device_can_access_peer": (0, 1),
    "device_primary_ctx_retain": (0,), "device_primary_ctx_release": (0,), "ctx_set_current": (5,),
    "ctx_enable_peer_access": (5,), "mem_get_info": (), "mem_alloc": (64,), "mem_free": (64,), "mem_host_alloc": (64,),
    "mem_free_host": (64,), "mem_get_allocation_granularity": (0,), "mem_address_reserve": (4096,),
    "mem_address_free": (4096, 4096), "mem_create": (4096, 0), "mem_release": (5,), "mem_map": (4096, 4096, 5),
    "mem_unmap": (4096, 4096), "mem_set_access": (4096, 4096, [0, 1]), "ipc_get_mem_handle": (64,),
    "ipc_open_mem_handle": (b"x" * 64,), "ipc_close_mem_handle": (64,), "stream_create": (), "stream_destroy": (5,),
    "stream_synchronize": (5,), "stream_wait_event": (5, 6), "event_create": (True,), "event_destroy": (5,),
    "event_record": (5, 6), "event_query": (5,), "event_synchronize": (5,), "event_elapsed_time": (5, 6),
    "memcpy_async": (64, 128, 8, 5), "memcpy_peer_async": (64, 5, 128, 6, 8, 7), "memset_d32_async": (64, 0, 2, 5),
    "launch_entry": (), "current_entry": (), "launch_kernel_ex": (5, (4, 2, 1), 128, 2, True, True, 64, 6, [1, 2]),
    "check": ("cuLaunchKernel", 1), "module_load_data": (b"code",), "module_unload": (5,),
    "module_get_function": (5, "name"), "func_set_max_dynamic_shared_size": (5, 1 << 16),
    "func_get_attribute": (5, FunctionAttribute.NUM_REGS), "stream_begin_capture": (5,),
    "stream_end_capture": (5,), "stream_captured_node": (5,), "graph_debug_dot_print": (5, "graph.dot", 1),
    "graph_instantiate": (5,),
    "graph_exec_kernel_node_set_params": (5, 6, 7, 1, 256, 0, [1]), "graph_launch": (5, 6), "graph_exec_destroy": (5,),
    "graph_destroy": (5,),
}  # fmt: skip


def test_every_method_has_a_call():
    assert set(CALLS) == {n for n, _ in inspect.getmembers(Driver, inspect.isfunction) if not n.startswith("_")}


@without_driver
@pytest.mark.parametrize("name", CALLS)
def test_the_bindings_take_what_they_are_given(name):
    """They convert arguments first; then they miss the driver."""
    cuda = extras.module("cuda.bindings.driver", "cuda-bindings")
    with pytest.raises(RuntimeError, match="NVIDIA driver"):
        getattr(nvidia.NvidiaDriver(cuda), name)(*CALLS[name])


# --- targets ---


@pytest.mark.parametrize(
    ("capability", "driver", "arch"),
    [
        ((8, 0), 13000, "sm_80"), ((8, 7), 13000, "sm_86"), ((9, 0), 12000, "sm_90a"), ((9, 0), 11080, "sm_90"),
        ((10, 0), 12070, "sm_100a"), ((10, 0), 12060, "sm_100"), ((10, 3), 13000, "sm_100"),
        ((12, 1), 13000, "sm_100"),
    ],
)  # fmt: skip
def test_a_device_gets_the_newest_ptx_that_runs_on_it(capability, driver, arch):
    """That of one capability alone where the driver takes it."""
    assert targets.architecture(capability, driver) == arch


def test_devices_that_are_too_old_are_refused():
    with pytest.raises(ValueError, match=r"requires a device of compute capability 8\.0 at least, got one of 7\.5"):
        targets.architecture((7, 5), 13000)


def test_the_driver_chooses_the_version_of_ptx():
    assert targets.version(12060, "sm_90") == 85
    assert targets.version(12080, "sm_100a") == 87
    assert targets.version(13050, "sm_90") == ptx.NEWEST_VERSION
    assert all(targets.version(13000, arch) >= ptx.OLDEST_VERSION[arch] for arch in ptx.ARCHITECTURES)
    with pytest.raises(ValueError, match=r"requires a driver of CUDA 12\.7 at least for sm_100, got 12\.4"):
        targets.version(12040, "sm_100")
