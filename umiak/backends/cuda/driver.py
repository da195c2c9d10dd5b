"""The part of the CUDA driver API that the backend uses, and its errors.

Methods have the names of the driver's functions without the prefix: ``mem_alloc`` is ``cuMemAlloc``. Handles and
addresses are integers. :mod:`nvidia <umiak.backends.cuda.nvidia>` implements it by the driver of the machine; the
tests by a driver that checks the order of calls and lifetimes, and runs kernels on the processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol

OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
PEER_ACCESS_ALREADY_ENABLED = 704


class CudaError(RuntimeError):
    """A call of the driver that failed.

    Attributes:
        call: the function of the driver, ``cuMemAlloc``.
        code: the number of the error.
        name: the name of the error, ``CUDA_ERROR_OUT_OF_MEMORY``.
    """

    def __init__(self, call: str, code: int, name: str, text: str = "") -> None:
        self.call, self.code, self.name = call, code, name
        super().__init__(f"[{call}] failed with {name} ({code}){f': {text}' if text else ''}")


class DeviceAttribute(IntEnum):
    """Attributes of a device, by the driver's numbers."""

    MULTIPROCESSOR_COUNT = 16
    COMPUTE_CAPABILITY_MAJOR = 75
    COMPUTE_CAPABILITY_MINOR = 76
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
    VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102


class FunctionAttribute(IntEnum):
    """Attributes of a kernel, by the driver's numbers."""

    MAX_THREADS_PER_BLOCK = 0
    SHARED_SIZE_BYTES = 1  # beside what a launch asks for
    LOCAL_SIZE_BYTES = 3
    NUM_REGS = 4


class Driver(Protocol):
    """The driver. Calls that concern memory, streams, events, modules and graphs need a current context.

    Every method raises :class:`CudaError` where the driver refuses.
    """

    def check(self, call: str, code: int) -> None:
        """Raise :class:`CudaError` for a code other than 0 of a function that was called by its address."""

    # --- devices and contexts ---

    def driver_get_version(self) -> int:
        """Return the newest version of CUDA that the driver knows: 1000 * major + 10 * minor."""

    def device_get_count(self) -> int: ...
    def device_get_name(self, device: int) -> str: ...
    def device_total_mem(self, device: int) -> int: ...
    def device_get_attribute(self, device: int, attribute: DeviceAttribute) -> int: ...
    def device_can_access_peer(self, device: int, peer: int) -> bool: ...
    def device_primary_ctx_retain(self, device: int) -> int: ...
    def device_primary_ctx_release(self, device: int) -> None: ...
    def ctx_set_current(self, context: int) -> None: ...
    def ctx_enable_peer_access(self, peer: int) -> None: ...

    # --- memory ---

    def mem_get_info(self) -> tuple[int, int]:
        """Return the free and the total memory of the device, in bytes."""

    def mem_alloc(self, nbytes: int) -> int: ...
    def mem_free(self, address: int) -> None: ...
    def mem_host_alloc(self, nbytes: int) -> int:
        """Return the address of new pinned memory of the host."""

    def mem_free_host(self, address: int) -> None: ...

    def mem_get_allocation_granularity(self, device: int) -> int: ...
    def mem_address_reserve(self, nbytes: int) -> int: ...
    def mem_address_free(self, address: int, nbytes: int) -> None: ...
    def mem_create(self, nbytes: int, device: int) -> int:
        """Return the handle of new physical memory, which has no address yet."""

    def mem_release(self, handle: int) -> None: ...
    def mem_map(self, address: int, nbytes: int, handle: int) -> None: ...
    def mem_unmap(self, address: int, nbytes: int) -> None: ...
    def mem_set_access(self, address: int, nbytes: int, devices: Sequence[int]) -> None:
        """Let devices read and write mapped memory."""

    def ipc_get_mem_handle(self, address: int) -> bytes: ...
    def ipc_open_mem_handle(self, handle: bytes) -> int: ...
    def ipc_close_mem_handle(self, address: int) -> None: ...

    # --- streams and events ---

    def stream_create(self) -> int:
        """Return a new stream, which the default stream does not wait for."""

    def stream_destroy(self, stream: int) -> None: ...
    def stream_synchronize(self, stream: int) -> None: ...
    def stream_wait_event(self, stream: int, event: int) -> None: ...
    def event_create(self, timing: bool = False) -> int: ...
    def event_destroy(self, event: int) -> None: ...
    def event_record(self, event: int, stream: int) -> None: ...
    def event_query(self, event: int) -> bool:
        """Return whether the work in front of the event is done."""

    def event_synchronize(self, event: int) -> None: ...
    def event_elapsed_time(self, start: int, end: int) -> float:
        """Return the time between two events, in milliseconds."""

    # --- work of a stream ---

    def memcpy_async(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy between addresses of the device, or of the device and the host."""

    def memcpy_peer_async(
        self, target: int, target_context: int, source: int, source_context: int, nbytes: int, stream: int
    ) -> None: ...
    def memset_d32_async(self, address: int, value: int, count: int, stream: int) -> None: ...
    def launch_entry(self) -> int:
        """Return the address of ``cuLaunchKernel``, which launches call without Python."""

    def current_entry(self) -> int:
        """Return the address of ``cuCtxSetCurrent``, which they call before."""

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
        """Launch a kernel with attributes: ``cluster`` blocks beside each other share memory, all blocks of a
        ``cooperative`` grid are there at once, an ``overlapping`` one may begin before the work in front of it ends."""

    # --- modules ---

    def module_load_data(self, image: str | bytes) -> int:
        """Load PTX, which the driver assembles for the device of the current context, or machine code (bytes)."""

    def module_unload(self, module: int) -> None: ...
    def module_get_function(self, module: int, name: str) -> int: ...
    def func_set_max_dynamic_shared_size(self, function: int, nbytes: int) -> None: ...
    def func_get_attribute(self, function: int, attribute: FunctionAttribute) -> int: ...

    # --- graphs ---

    def stream_begin_capture(self, stream: int) -> None: ...
    def stream_captured_node(self, stream: int) -> int:
        """Return the node that a stream that is captured has recorded last."""

    def stream_end_capture(self, stream: int) -> int:
        """Return the graph of what was handed to the stream since the capture began."""

    def graph_instantiate(self, graph: int) -> int: ...
    def graph_exec_kernel_node_set_params(
        self, instance: int, node: int, function: int, blocks: int, threads: int, shared: int, arguments: Sequence[int]
    ) -> None: ...
    def graph_launch(self, instance: int, stream: int) -> None: ...
    def graph_exec_destroy(self, instance: int) -> None: ...
    def graph_destroy(self, graph: int) -> None: ...
    def graph_debug_dot_print(self, graph: int, path: str, flags: int) -> None:
        """Write a graph in the language of Graphviz; ``flags`` are those of ``CUgraphDebugDot_flags``."""
