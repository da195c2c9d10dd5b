"""The interface in C of plug-ins for devices, as one table: names, order and types.

Source: the layout of ``paddle/phi/backends/device_ext.h`` and ``paddle/phi/api/profiler/trace_event.h`` of the
reference framework 3.3.1. ``header.py`` prints the table as headers, ``structures.py`` makes ``ctypes`` of it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

VERSION = (0, 1, 1)
MAX_HOOKS = 1024

# Enumerations: members by value, in order from 0.
ENUMS = {
    "C_DataType": "UNDEFINED BOOL UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FLOAT16 FLOAT32 FLOAT64 BFLOAT16 "
    "COMPLEX64 COMPLEX128",
    "C_DataLayout": "ANY NHWC NCHW NCDHW NDHWC STRIDED NUM_DATA_LAYOUTS",
    "C_Status": "C_SUCCESS C_WARNING C_FAILED C_ERROR C_INTERNAL_ERROR",
    "C_StreamCaptureMode": "C_StreamCaptureModeGlobal C_StreamCaptureModeThreadLocal C_StreamCaptureModeRelaxed",
    "C_StreamCaptureStatus": "C_StreamCaptureStatusNone C_StreamCaptureStatusActive C_StreamCaptureStatusInvalidated",
    "C_CCLReduceOp": "SUM AVG MAX MIN PRODUCT",
}
ALIASES = {"C_DataLayout": {"ALL_LAYOUT": "ANY"}}

# Pointers to what only the plug-in knows, or only the host.
OPAQUE = {
    "C_Stream": "C_Stream_st",
    "C_Event": "C_Event_st",
    "C_Allocator": "C_Allocator_st",
    "C_Place": "C_Place_st",
    "C_EigenDevice": "C_EigenDevice_st",
    "C_BLASHandle": "C_BLASHandle_st",
    "C_BLASLtHandle": "C_BLASLtHandle_st",
    "C_GraphExec": "C_GraphExec_st",
    "C_CudaGraph": "C_CudaGraph_t_st",
    "C_CudaGraphNode": "C_CudaGraphNode_st",
    "C_CCLComm": "C_CCLComm_st",
    "C_Profiler": "C_Profiler_st",
}

CALLBACKS = {
    "C_GraphExecuterSetter": "C_GraphExec exec_graph, void* user_data",
    "C_Callback": "C_Device device, C_Stream stream, void* user_data, C_Status* status",
    "C_GraphExecHook": "C_GraphExec exec",
}


class Field(NamedTuple):
    """A member of a structure: ``type name``, or an array of ``length``."""

    type: str
    name: str
    length: int = 0


class Function(NamedTuple):
    """A member that points to a function which returns a C_Status."""

    name: str
    parameters: tuple[Field, ...]


class Group(NamedTuple):
    """Functions of one purpose, and the slots kept free behind them."""

    title: str
    functions: tuple[Function, ...]
    reserved: Field


def fields(text: str) -> tuple[Field, ...]:
    """The fields of ``const void* src, size_t size, char x[8]``; semicolons and ends of lines separate as well."""
    found = []
    for part in filter(None, map(str.strip, re.split("[,;\n]", text))):
        kind, name, length = re.fullmatch(r"(.*?)\s*(\w+)(?:\[(\d+)\])?", part).groups()  # type: ignore[union-attr]
        found.append(Field(kind, name, int(length or 0)))
    return tuple(found)


def _group(title: str, reserved: str, text: str) -> Group:
    functions = [
        Function(name, fields(parameters.replace("\n", " ")))
        for name, parameters in re.findall(r"(\w+)\(([^)]*)\)", text)
    ]
    (slots,) = fields(reserved)
    return Group(title, tuple(functions), slots)


DEVICE = _group(
    "Devices, streams and events",
    "void* reserved_dev_api[8]",
    """
    initialize()
    finalize()
    init_device(const C_Device device)
    set_device(const C_Device device)
    get_device(const C_Device device)
    deinit_device(const C_Device device)
    create_stream(const C_Device device, C_Stream* stream)
    destroy_stream(const C_Device device, C_Stream stream)
    query_stream(const C_Device device, C_Stream stream)
    stream_add_callback(const C_Device device, C_Stream stream, C_Callback callback, void* user_data)
    create_event(const C_Device device, C_Event* event)
    record_event(const C_Device device, C_Stream stream, C_Event event)
    destroy_event(const C_Device device, C_Event event)
    query_event(const C_Device device, C_Event event)
    synchronize_device(const C_Device device)
    synchronize_stream(const C_Device device, C_Stream stream)
    synchronize_event(const C_Device device, C_Event event)
    stream_wait_event(const C_Device device, C_Stream stream, C_Event event)
    """,
)

MEMORY = _group(
    "Memory",
    "void* reserved_mem_api[8]",
    """
    device_memory_allocate(const C_Device device, void** ptr, size_t size)
    device_memory_deallocate(const C_Device device, void* ptr, size_t size)
    device_memory_set(const C_Device device, void* ptr, unsigned char value, size_t size)
    host_memory_allocate(const C_Device device, void** ptr, size_t size)
    host_memory_deallocate(const C_Device device, void* ptr, size_t size)
    unified_memory_allocate(const C_Device device, void** ptr, size_t size)
    unified_memory_deallocate(const C_Device device, void* ptr, size_t size)
    memory_copy_h2d(const C_Device device, void* dst, const void* src, size_t size)
    memory_copy_d2h(const C_Device device, void* dst, const void* src, size_t size)
    memory_copy_d2d(const C_Device device, void* dst, const void* src, size_t size)
    memory_copy_p2p(const C_Device dst_device, const C_Device src_device, void* dst, const void* src, size_t size)
    async_memory_copy_h2d(const C_Device device, C_Stream stream, void* dst, const void* src, size_t size)
    async_memory_copy_d2h(const C_Device device, C_Stream stream, void* dst, const void* src, size_t size)
    async_memory_copy_d2d(const C_Device device, C_Stream stream, void* dst, const void* src, size_t size)
    async_memory_copy_p2p(const C_Device dst_device, const C_Device src_device, C_Stream stream, void* dst,
                          const void* src, size_t size)
    """,
)

INFO = _group(
    "Properties",
    "void* reserved_info_api[8]",
    """
    get_device_count(size_t* count)
    get_device_list(size_t* devices)
    device_memory_stats(const C_Device device, size_t* total_memory, size_t* free_memory)
    device_min_chunk_size(const C_Device device, size_t* count)
    device_max_chunk_size(const C_Device device, size_t* count)
    device_max_alloc_size(const C_Device device, size_t* count)
    device_extra_padding_size(const C_Device device, size_t* size)
    device_init_alloc_size(const C_Device device, size_t* size)
    device_realloc_size(const C_Device device, size_t* size)
    get_compute_capability(const C_Device device, size_t* compute_capability)
    get_device_properties(const C_Device device, void* device_properties)
    get_runtime_version(const C_Device device, size_t* version)
    get_driver_version(const C_Device device, size_t* version)
    get_multi_process(const C_Device device, size_t* multi_process)
    get_max_threads_per_mp(const C_Device device, size_t* threads_per_mp)
    get_max_threads_per_block(const C_Device device, size_t* threads_per_block)
    get_max_grid_dim_size(const C_Device device, C_GridSize* grid_dim_size)
    is_float16_supported(const C_Device device, bool* supported)
    is_bfloat16_supported(const C_Device device, bool* supported)
    is_dnn_supported(const C_Device device, bool* supported)
    init_eigen_device(C_Place place, C_EigenDevice* eigen_device, C_Stream stream, C_Allocator allocator)
    destroy_eigen_device(const C_Device device, C_EigenDevice* eigen_device)
    """,
)

COLLECTIVES = _group(
    "Collectives",
    "void* reserved_ccl_api[8]",
    """
    xccl_get_comm_name(C_CCLComm comm, char* comm_name)
    xccl_get_unique_id_size(size_t* size)
    xccl_get_unique_id(C_CCLRootId* unique_id)
    xccl_comm_init_rank(size_t ranks, C_CCLRootId* unique_id, size_t rank, C_CCLComm* comm)
    xccl_destroy_comm(C_CCLComm comm)
    xccl_all_reduce(void* send_buf, void* recv_buf, size_t count, C_DataType data_type, C_CCLReduceOp op,
                    C_CCLComm comm, C_Stream stream)
    xccl_broadcast(void* buf, size_t count, C_DataType data_type, size_t root, C_CCLComm comm, C_Stream stream)
    xccl_reduce(void* send_buf, void* recv_buf, size_t count, C_DataType data_type, C_CCLReduceOp op, size_t root,
                C_CCLComm comm, C_Stream stream)
    xccl_all_gather(void* send_buf, void* recv_buf, size_t count, C_DataType data_type, C_CCLComm comm,
                    C_Stream stream)
    xccl_reduce_scatter(void* send_buf, void* recv_buf, size_t count, C_DataType data_type, C_CCLReduceOp op,
                        C_CCLComm comm, C_Stream stream)
    xccl_group_start()
    xccl_group_end()
    xccl_send(void* send_buf, size_t count, C_DataType data_type, size_t dest_rank, C_CCLComm comm, C_Stream stream)
    xccl_recv(void* recv_buf, size_t count, C_DataType data_type, size_t src_rank, C_CCLComm comm, C_Stream stream)
    xccl_all_to_all(const void** send_buf, const size_t* send_count, const C_DataType* send_dtype, void** recv_buf,
                    const size_t* recv_count, const C_DataType* recv_dtype, size_t rank, size_t nranks,
                    C_CCLComm comm, C_Stream stream)
    """,
)

PROFILER = _group(
    "Profiler",
    "void* reserved_profiler_api[8]",
    """
    profiler_initialize(C_Profiler prof, void** user_data)
    profiler_finalize(C_Profiler prof, void* user_data)
    profiler_prepare_tracing(C_Profiler prof, void* user_data)
    profiler_start_tracing(C_Profiler prof, void* user_data)
    profiler_stop_tracing(C_Profiler prof, void* user_data)
    profiler_collect_trace_data(C_Profiler prof, uint64_t start_ns, void* user_data)
    """,
)

# `cuda_stream_end_captrue` and `cuda_thread_exchange_stream_capthure_mode`: that is their spelling.
OTHER = _group(
    "Libraries and graphs",
    "void* reserved_other_api[7]",
    """
    init_blas_handle(const C_Device device, C_BLASHandle* blas_handle, C_Stream stream)
    blas_set_math_mode(const C_Device device, C_BLASHandle blas_handle, int math_mode)
    init_blaslt_handle(const C_Device device, C_BLASLtHandle* blaslt_handle)
    destroy_blas_handle(const C_Device device, C_BLASHandle blas_handle)
    destroy_blaslt_handle(const C_Device device, C_BLASLtHandle blaslt_handle)
    cuda_stream_begin_capture(const C_Device device, C_Stream stream, C_StreamCaptureMode mode)
    cuda_stream_end_captrue(const C_Device device, C_Stream stream, C_CudaGraph* pGraph)
    cuda_graph_launch(const C_Device device, C_GraphExec exec, C_Stream stream)
    cuda_graph_destroy(C_CudaGraph graph)
    cuda_graph_exec_destroy(C_GraphExec exec)
    cuda_graph_instantiate(C_GraphExec* pExec, C_CudaGraph* pGraph, void** pErrorNode, char* pLogBuffer,
                           size_t bufferSize)
    cuda_graph_get_nodes(C_CudaGraph graph, C_CudaGraphNode* pNode, size_t* numNodes)
    cuda_stream_capture_info(const C_Device device, C_Stream stream, C_StreamCaptureStatus* captureStatus_out,
                             unsigned long long* id_out, C_CudaGraph* graph_out, C_CudaGraphNode* dependencies_out,
                             void** edgeData_out, size_t* numDependencies_out)
    get_parameter_setter_for_exec_graph(C_CudaGraph graph, C_GraphHookManager* c_hook)
    cuda_graph_debug_dot_print(C_CudaGraph graph, const char* path, unsigned int flags)
    cuda_thread_exchange_stream_capthure_mode(C_StreamCaptureMode* mode)
    blas_axpby(const C_Device device, C_Stream stream, C_DataType dtype, size_t numel, float alpha, void* x,
               float beta, void* y)
    """,
)

GROUPS = (DEVICE, MEMORY, INFO, COLLECTIVES, PROFILER, OTHER)

# What a device cannot be used without.
REQUIRED = (
    "set_device get_device_count get_device_list device_memory_allocate device_memory_deallocate memory_copy_h2d "
    "memory_copy_d2h"
).split()

# Structures that the two sides share, beside C_DeviceInterface; those with the events of a profiler are C++ in the
# reference: a name there is a `std::string` of libstdc++, which begins with address and length of the text.
STRUCTURES = {
    "C_Device_st": fields("int id"),
    "C_GraphHookManager": fields("size_t size; C_GraphExecuterSetter* hooks; void** user_data"),
    "C_CCLRootId": fields("size_t sz; void* data"),
    "CustomRuntimeVersion": fields("size_t major; size_t minor; size_t patch"),
    "CustomRuntimeParams": fields(
        "size_t size; C_DeviceInterface* interface; CustomRuntimeVersion version; char* device_type; "
        "char* sub_device_type; void* pir_default_passes; char reserved[32]"
    ),
}

EVENT_TYPES = (
    "Operator Dataloader ProfileStep CudaRuntime Kernel Memcpy Memset UserDefined OperatorInner Forward Backward "
    "Optimization Communication PythonOp PythonUserDefined DygraphKernelLaunch StaticKernelLaunch NumTypes"
)

EVENTS = {
    "KernelEventInfo": fields(
        """uint32_t block_x; uint32_t block_y; uint32_t block_z; uint32_t grid_x; uint32_t grid_y; uint32_t grid_z
        uint32_t dynamic_shared_memory; uint32_t static_shared_memory; uint32_t registers_per_thread
        uint32_t local_memory_per_thread; uint32_t local_memory_total
        uint64_t queued; uint64_t submitted; uint64_t completed
        float blocks_per_sm; float warps_per_sm; float occupancy"""
    ),
    "MemcpyEventInfo": fields("uint64_t num_bytes; char copy_kind[50]; char src_kind[50]; char dst_kind[50]"),
    "MemsetEventInfo": fields("uint64_t num_bytes; char memory_kind[50]; uint32_t value"),
    "RuntimeTraceEvent": fields(
        """std::string name; TracerEventType type; uint64_t start_ns; uint64_t end_ns
        uint64_t process_id; uint64_t thread_id; uint32_t correlation_id; uint32_t callback_id"""
    ),
    "DeviceTraceEvent": fields(
        """std::string name; TracerEventType type; uint64_t start_ns; uint64_t end_ns
        uint64_t device_id; uint64_t context_id; uint64_t stream_id; uint32_t correlation_id; EventInfo info"""
    ),
}
# The details of a device's event, by its type: a union of these.
DETAILS = {
    "Kernel": Field("KernelEventInfo", "kernel_info"),
    "Memcpy": Field("MemcpyEventInfo", "memcpy_info"),
    "Memset": Field("MemsetEventInfo", "memset_info"),
}
