"""Made by ``tools/public_stubs.py``."""

from paddle.cuda.runtime import CudaError as CudaError
from paddle.cuda.runtime import check_error as check_error
from paddle.cuda.runtime import cudart as cudart
from paddle.cuda.runtime import is_initialized as is_initialized
from paddle.cuda.runtime import mem_get_info as mem_get_info
from paddle.cuda.runtime import set_device as set_device
from paddle.device.default import current_device as current_device
from paddle.device.generators import device_manual_seed_all as device_manual_seed_all
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
from paddle.device.memory import reset_max_memory_allocated as reset_max_memory_allocated
from paddle.device.memory import reset_max_memory_reserved as reset_max_memory_reserved
from paddle.device.memory import reset_peak_memory_stats as reset_peak_memory_stats
from paddle.device.mixed_precision import amp as amp
from paddle.device.places import device as device
from paddle.device.places import device_count as device_count
from paddle.device.places import get_device_capability as get_device_capability
from paddle.device.places import get_device_name as get_device_name
from paddle.device.places import get_device_properties as get_device_properties
from paddle.device.places import is_available as is_available
from paddle.device.places import is_bf16_supported as is_bf16_supported
from paddle.device.ranges import nvtx as nvtx
from paddle.device.streams import Event as Event
from paddle.device.streams import Stream as Stream
from paddle.device.streams import StreamContext as StreamContext
from paddle.device.streams import current_stream as current_stream
from paddle.device.streams import get_stream_from_external as get_stream_from_external
from paddle.device.streams import is_current_stream_capturing as is_current_stream_capturing
from paddle.device.streams import set_stream as set_stream
from paddle.device.streams import stream as stream
from paddle.device.streams import synchronize as synchronize
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
    "CudaError",
    "DoubleTensor",
    "Event",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "Stream",
    "StreamContext",
    "amp",
    "check_error",
    "cudart",
    "current_device",
    "current_stream",
    "device",
    "device_count",
    "device_manual_seed_all",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_stream_from_external",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "nvtx",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "reset_peak_memory_stats",
    "set_device",
    "set_rng_state",
    "set_stream",
    "stream",
    "synchronize",
]
