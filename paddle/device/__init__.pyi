"""Made by ``tools/public_stubs.py``."""

from paddle.device import cuda as cuda
from paddle.device import xpu as xpu
from paddle.device.default import current_device as current_device
from paddle.device.default import device_to_place as device_to_place
from paddle.device.default import get_default_device as get_default_device
from paddle.device.default import get_device_module as get_device_module
from paddle.device.default import set_default_device as set_default_device
from paddle.device.generators import get_rng_state as get_rng_state
from paddle.device.generators import manual_seed as manual_seed
from paddle.device.generators import manual_seed_all as manual_seed_all
from paddle.device.generators import set_rng_state as set_rng_state
from paddle.device.memory import empty_cache as empty_cache
from paddle.device.memory import ipc_collect as ipc_collect
from paddle.device.memory import max_memory_allocated as max_memory_allocated
from paddle.device.memory import max_memory_reserved as max_memory_reserved
from paddle.device.memory import memory_allocated as memory_allocated
from paddle.device.memory import memory_reserved as memory_reserved
from paddle.device.memory import memory_summary as memory_summary
from paddle.device.memory import reset_max_memory_allocated as reset_max_memory_allocated
from paddle.device.memory import reset_max_memory_reserved as reset_max_memory_reserved
from paddle.device.memory import reset_peak_memory_stats as reset_peak_memory_stats
from paddle.device.mixed_precision import amp as amp
from paddle.device.places import Device as Device
from paddle.device.places import device as device
from paddle.device.places import device_count as device_count
from paddle.device.places import device_guard as device_guard
from paddle.device.places import get_all_custom_device_type as get_all_custom_device_type
from paddle.device.places import get_all_device_type as get_all_device_type
from paddle.device.places import get_available_custom_device as get_available_custom_device
from paddle.device.places import get_available_device as get_available_device
from paddle.device.places import get_cudnn_version as get_cudnn_version
from paddle.device.places import get_device as get_device
from paddle.device.places import get_device_capability as get_device_capability
from paddle.device.places import get_device_name as get_device_name
from paddle.device.places import get_device_properties as get_device_properties
from paddle.device.places import is_available as is_available
from paddle.device.places import is_bf16_supported as is_bf16_supported
from paddle.device.places import is_compiled_with_cinn as is_compiled_with_cinn
from paddle.device.places import is_compiled_with_cuda as is_compiled_with_cuda
from paddle.device.places import is_compiled_with_custom_device as is_compiled_with_custom_device
from paddle.device.places import is_compiled_with_distribute as is_compiled_with_distribute
from paddle.device.places import is_compiled_with_ipu as is_compiled_with_ipu
from paddle.device.places import is_compiled_with_rocm as is_compiled_with_rocm
from paddle.device.places import is_compiled_with_xpu as is_compiled_with_xpu
from paddle.device.places import set_device as set_device
from paddle.device.ranges import nvtx as nvtx
from paddle.device.streams import Event as Event
from paddle.device.streams import Stream as Stream
from paddle.device.streams import StreamContext as StreamContext
from paddle.device.streams import current_stream as current_stream
from paddle.device.streams import get_stream_from_external as get_stream_from_external
from paddle.device.streams import is_current_stream_capturing as is_current_stream_capturing
from paddle.device.streams import set_stream as set_stream
from paddle.device.streams import stream as stream
from paddle.device.streams import stream_guard as stream_guard
from paddle.device.streams import synchronize as synchronize
from paddle.device.threads import get_num_threads as get_num_threads
from paddle.device.threads import set_num_threads as set_num_threads
from paddle.framework.place import IPUPlace as IPUPlace
from paddle.framework.place import XPUPlace as XPUPlace
from paddle.tensor.typed_tensors import BFloat16Tensor as BFloat16Tensor
from paddle.tensor.typed_tensors import BoolTensor as BoolTensor
from paddle.tensor.typed_tensors import ByteTensor as ByteTensor
from paddle.tensor.typed_tensors import CharTensor as CharTensor
from paddle.tensor.typed_tensors import DoubleTensor as DoubleTensor
from paddle.tensor.typed_tensors import FloatTensor as FloatTensor
from paddle.tensor.typed_tensors import HalfTensor as HalfTensor
from paddle.tensor.typed_tensors import IntTensor as IntTensor
from paddle.tensor.typed_tensors import LongTensor as LongTensor
from paddle.tensor.typed_tensors import ShortTensor as ShortTensor

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "Device",
    "DoubleTensor",
    "Event",
    "FloatTensor",
    "HalfTensor",
    "IPUPlace",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "Stream",
    "StreamContext",
    "XPUPlace",
    "amp",
    "cuda",
    "current_device",
    "current_stream",
    "device",
    "device_count",
    "device_guard",
    "device_to_place",
    "empty_cache",
    "get_all_custom_device_type",
    "get_all_device_type",
    "get_available_custom_device",
    "get_available_device",
    "get_cudnn_version",
    "get_default_device",
    "get_device",
    "get_device_capability",
    "get_device_module",
    "get_device_name",
    "get_device_properties",
    "get_num_threads",
    "get_rng_state",
    "get_stream_from_external",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_custom_device",
    "is_compiled_with_distribute",
    "is_compiled_with_ipu",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "is_current_stream_capturing",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_summary",
    "nvtx",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "reset_peak_memory_stats",
    "set_default_device",
    "set_device",
    "set_num_threads",
    "set_rng_state",
    "set_stream",
    "stream",
    "stream_guard",
    "synchronize",
    "xpu",
]
