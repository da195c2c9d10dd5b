"""The driver of the machine, through ``cuda-bindings``."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from umiak.backends.base import Absent
from umiak.backends.cuda.driver import CudaError, DeviceAttribute, FunctionAttribute

LIBRARY = "libcuda.so.1"
LOG_BYTES = 1 << 14
IPC_BYTES = 64  # CU_IPC_HANDLE_SIZE


def load() -> NvidiaDriver:
    """Return the driver of the machine, with a device at least.

    Raises:
        Absent: there is no driver, no device, or no ``cuda-bindings``.
    """
    try:
        # Asked first: on machines without a driver, cuda-bindings takes 0.1 s to say so.
        ctypes.CDLL(LIBRARY)
    except OSError:
        raise Absent(f"There is no NVIDIA driver ({LIBRARY}) on this machine.") from None
    try:
        from cuda.bindings import driver as cuda
    except ImportError as error:
        raise Absent(f"cuda-bindings is not installed ({error}); the extra umiak[cuda] has it.") from error
    driver = NvidiaDriver(cuda)
    try:
        driver.init()
        count = driver.device_get_count()
    except CudaError as error:
        raise Absent(f"The NVIDIA driver does not start: {error}.") from error
    except RuntimeError as error:  # DynamicLibNotFoundError of cuda-pathfinder
        raise Absent(f"cuda-bindings finds no NVIDIA driver: {error}") from error
    if not count:
        raise Absent("The NVIDIA driver has no device.")
    return driver


def _address(name: str) -> int:
    """The address of a function of the driver."""
    try:
        function = getattr(ctypes.CDLL(LIBRARY), name)
    except OSError as error:
        raise RuntimeError(f"[gpu] requires the NVIDIA driver: {error}") from error
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


class NvidiaDriver:
    """:class:`umiak.backends.cuda.driver.Driver` by a module with the names of ``cuda.bindings.driver``."""

    def __init__(self, cuda: Any) -> None:
        self.cuda = cuda

    def check(self, call: str, code: int) -> None:
        if code:
            known = [c for c in self.cuda.CUresult if int(c) == code]
            self.accept(call, known[0] if known else code)

    def accept(self, call: str, code: Any, text: str = "") -> None:
        """Raise for a code of the bindings other than 0."""
        if int(code) == 0:
            return
        name, said = (getattr(self.cuda, f)(code)[1] for f in ("cuGetErrorName", "cuGetErrorString"))
        # Numbers that the bindings do not know have no name.
        name, said = (x.decode() if x else "an unknown error" for x in (name, said))
        raise CudaError(call, int(code), name, text or said)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the driver; its results besides the code: None, one thing, or a list."""
        code, *results = getattr(self.cuda, name)(*arguments)
        self.accept(name, code)
        return results[0] if len(results) == 1 else results or None

    def init(self) -> None:
        self.call("cuInit", 0)

    # --- devices and contexts ---

    def driver_get_version(self) -> int:
        return int(self.call("cuDriverGetVersion"))

    def device_get_count(self) -> int:
        return int(self.call("cuDeviceGetCount"))

    def device_get_name(self, device: int) -> str:
        return self.call("cuDeviceGetName", 256, device).split(b"\0")[0].decode()

    def device_total_mem(self, device: int) -> int:
        return int(self.call("cuDeviceTotalMem", device))

    def device_get_attribute(self, device: int, attribute: DeviceAttribute) -> int:
        return int(self.call("cuDeviceGetAttribute", self.cuda.CUdevice_attribute(int(attribute)), device))

    def device_can_access_peer(self, device: int, peer: int) -> bool:
        return bool(self.call("cuDeviceCanAccessPeer", device, peer))

    def device_primary_ctx_retain(self, device: int) -> int:
        return int(self.call("cuDevicePrimaryCtxRetain", device))

    def device_primary_ctx_release(self, device: int) -> None:
        self.call("cuDevicePrimaryCtxRelease", device)

    def ctx_set_current(self, context: int) -> None:
        self.call("cuCtxSetCurrent", context)

    def ctx_enable_peer_access(self, peer: int) -> None:
        self.call("cuCtxEnablePeerAccess", peer, 0)

    # --- memory ---

    def mem_get_info(self) -> tuple[int, int]:
        free, total = self.call("cuMemGetInfo")
        return int(free), int(total)

    def mem_alloc(self, nbytes: int) -> int:
        return int(self.call("cuMemAlloc", nbytes))

    def mem_free(self, address: int) -> None:
        self.call("cuMemFree", address)

    def mem_host_alloc(self, nbytes: int) -> int:
        return int(self.call("cuMemHostAlloc", nbytes, self.cuda.CU_MEMHOSTALLOC_PORTABLE))

    def mem_free_host(self, address: int) -> None:
        self.call("cuMemFreeHost", address)

    def _physical(self, device: int) -> Any:
        prop = self.cuda.CUmemAllocationProp()
        prop.type = self.cuda.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        prop.location = self._location(device)
        return prop

    def _location(self, device: int) -> Any:
        location = self.cuda.CUmemLocation()
        location.type = self.cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        location.id = device
        return location

    def mem_get_allocation_granularity(self, device: int) -> int:
        least = self.cuda.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        return int(self.call("cuMemGetAllocationGranularity", self._physical(device), least))

    def mem_address_reserve(self, nbytes: int) -> int:
        return int(self.call("cuMemAddressReserve", nbytes, 0, 0, 0))

    def mem_address_free(self, address: int, nbytes: int) -> None:
        self.call("cuMemAddressFree", address, nbytes)

    def mem_create(self, nbytes: int, device: int) -> int:
        return int(self.call("cuMemCreate", nbytes, self._physical(device), 0))

    def mem_release(self, handle: int) -> None:
        self.call("cuMemRelease", handle)

    def mem_map(self, address: int, nbytes: int, handle: int) -> None:
        self.call("cuMemMap", address, nbytes, 0, handle, 0)

    def mem_unmap(self, address: int, nbytes: int) -> None:
        self.call("cuMemUnmap", address, nbytes)

    def mem_set_access(self, address: int, nbytes: int, devices: Sequence[int]) -> None:
        descriptions = []
        for device in devices:
            description = self.cuda.CUmemAccessDesc()
            description.location = self._location(device)
            description.flags = self.cuda.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
            descriptions.append(description)
        self.call("cuMemSetAccess", address, nbytes, descriptions, len(descriptions))

    def ipc_get_mem_handle(self, address: int) -> bytes:
        handle = self.call("cuIpcGetMemHandle", address)
        return ctypes.string_at(handle.getPtr(), IPC_BYTES)

    def ipc_open_mem_handle(self, handle: bytes) -> int:
        opened = self.cuda.CUipcMemHandle()
        ctypes.memmove(opened.getPtr(), handle, IPC_BYTES)
        lazily = self.cuda.CUipcMem_flags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
        return int(self.call("cuIpcOpenMemHandle", opened, int(lazily)))

    def ipc_close_mem_handle(self, address: int) -> None:
        self.call("cuIpcCloseMemHandle", address)

    # --- streams and events ---

    def stream_create(self) -> int:
        return int(self.call("cuStreamCreate", int(self.cuda.CUstream_flags.CU_STREAM_NON_BLOCKING)))

    def stream_destroy(self, stream: int) -> None:
        self.call("cuStreamDestroy", stream)

    def stream_synchronize(self, stream: int) -> None:
        self.call("cuStreamSynchronize", stream)

    def stream_wait_event(self, stream: int, event: int) -> None:
        self.call("cuStreamWaitEvent", stream, event, 0)

    def event_create(self, timing: bool = False) -> int:
        flags = self.cuda.CUevent_flags
        return int(self.call("cuEventCreate", int(flags.CU_EVENT_DEFAULT if timing else flags.CU_EVENT_DISABLE_TIMING)))

    def event_destroy(self, event: int) -> None:
        self.call("cuEventDestroy", event)

    def event_record(self, event: int, stream: int) -> None:
        self.call("cuEventRecord", event, stream)

    def event_query(self, event: int) -> bool:
        (code,) = self.cuda.cuEventQuery(event)
        if code == self.cuda.CUresult.CUDA_ERROR_NOT_READY:
            return False
        self.accept("cuEventQuery", code)
        return True

    def event_synchronize(self, event: int) -> None:
        self.call("cuEventSynchronize", event)

    def event_elapsed_time(self, start: int, end: int) -> float:
        return float(self.call("cuEventElapsedTime", start, end))

    # --- work of a stream ---

    def memcpy_async(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self.call("cuMemcpyAsync", target, source, nbytes, stream)

    def memcpy_peer_async(
        self, target: int, target_context: int, source: int, source_context: int, nbytes: int, stream: int
    ) -> None:
        self.call("cuMemcpyPeerAsync", target, target_context, source, source_context, nbytes, stream)

    def memset_d32_async(self, address: int, value: int, count: int, stream: int) -> None:
        self.call("cuMemsetD32Async", address, value, count, stream)

    def launch_entry(self) -> int:
        return _address("cuLaunchKernel")

    def current_entry(self) -> int:
        return _address("cuCtxSetCurrent")

    def launch_kernel_ex(
        self,
        function: int,
        grid: tuple[int, int, int],
        threads: int,
        cluster: int,
        cooperative: bool,
        overlapping: bool,
        shared: int,
        stream: int,
        arguments: Sequence[int],
    ) -> None:
        attributes = []
        if cluster > 1:
            clustered = self._launch_attribute("CLUSTER_DIMENSION")
            clustered.value.clusterDim.x = cluster
            clustered.value.clusterDim.y = clustered.value.clusterDim.z = 1
            attributes.append(clustered)
        if cooperative:
            attributes.append(self._launch_attribute("COOPERATIVE"))
            attributes[-1].value.cooperative = 1
        if overlapping:
            attributes.append(self._launch_attribute("PROGRAMMATIC_STREAM_SERIALIZATION"))
            attributes[-1].value.programmaticStreamSerializationAllowed = 1
        words = Words(arguments)
        config = self.cuda.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = threads, 1, 1
        config.sharedMemBytes, config.hStream = shared, self.cuda.CUstream(stream)
        config.attrs, config.numAttrs = attributes, len(attributes)
        self.call("cuLaunchKernelEx", config, self.cuda.CUfunction(function), words.address, 0)

    def _launch_attribute(self, name: str) -> Any:
        attribute = self.cuda.CUlaunchAttribute()
        attribute.id = getattr(self.cuda.CUlaunchAttributeID, f"CU_LAUNCH_ATTRIBUTE_{name}")
        return attribute

    # --- modules ---

    def module_load_data(self, image: str | bytes) -> int:
        option = self.cuda.CUjit_option
        log = bytearray(LOG_BYTES)
        options = [option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        data = image if isinstance(image, bytes) else image.encode() + b"\0"
        code, module = self.cuda.cuModuleLoadDataEx(data, 2, options, [log, LOG_BYTES])
        said = log.split(b"\0")[0].decode(errors="replace").strip()
        self.accept("cuModuleLoadDataEx", code, f"{said}\n{image if isinstance(image, str) else ''}".strip())
        return int(module)

    def module_unload(self, module: int) -> None:
        self.call("cuModuleUnload", module)

    def module_get_function(self, module: int, name: str) -> int:
        return int(self.call("cuModuleGetFunction", module, name.encode()))

    def func_set_max_dynamic_shared_size(self, function: int, nbytes: int) -> None:
        attribute = self.cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.call("cuFuncSetAttribute", function, attribute, nbytes)

    def func_get_attribute(self, function: int, attribute: FunctionAttribute) -> int:
        return int(self.call("cuFuncGetAttribute", self.cuda.CUfunction_attribute(int(attribute)), function))

    # --- graphs ---

    def stream_begin_capture(self, stream: int) -> None:
        # Of other threads, the mode for all would refuse allocations.
        mode = self.cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        self.call("cuStreamBeginCapture", stream, mode)

    def stream_end_capture(self, stream: int) -> int:
        return int(self.call("cuStreamEndCapture", stream))

    def stream_captured_node(self, stream: int) -> int:
        # (status, id, graph, nodes that the next one comes behind, their edges from CUDA 13 on, their number)
        _, _, _, nodes, *_ = self.call("cuStreamGetCaptureInfo", stream)
        return int(nodes[-1])

    def graph_instantiate(self, graph: int) -> int:
        return int(self.call("cuGraphInstantiate", graph, 0))

    def graph_exec_kernel_node_set_params(
        self, instance: int, node: int, function: int, blocks: int, threads: int, shared: int, arguments: Sequence[int]
    ) -> None:
        words = Words(arguments)
        given = self.cuda.CUDA_KERNEL_NODE_PARAMS()
        given.func = self.cuda.CUfunction(function)
        given.gridDimX, given.gridDimY, given.gridDimZ = blocks, 1, 1
        given.blockDimX, given.blockDimY, given.blockDimZ = threads, 1, 1
        given.sharedMemBytes, given.kernelParams = shared, words.address
        self.call("cuGraphExecKernelNodeSetParams", instance, node, given)

    def graph_launch(self, instance: int, stream: int) -> None:
        self.call("cuGraphLaunch", instance, stream)

    def graph_exec_destroy(self, instance: int) -> None:
        self.call("cuGraphExecDestroy", instance)

    def graph_destroy(self, graph: int) -> None:
        self.call("cuGraphDestroy", graph)

    def graph_debug_dot_print(self, graph: int, path: str, flags: int) -> None:
        self.call("cuGraphDebugDotPrint", graph, path.encode() + b"\0", flags)


class Words:
    """Arguments of a kernel as the driver wants them: an array of the addresses of words. It is read in the call."""

    def __init__(self, arguments: Sequence[int]) -> None:
        n = len(arguments)
        self.words = (ctypes.c_uint64 * n)(*arguments)  # wraps what is negative
        first = ctypes.addressof(self.words)
        self.pointers = (ctypes.c_void_p * n)(*range(first, first + 8 * n, 8))

    @property
    def address(self) -> int:
        return ctypes.addressof(self.pointers)
