"""Made by ``tools/public_stubs.py``."""

from paddle.device.cuda import cuda_graphed_layer as cuda_graphed_layer
from paddle.device.cuda import graphs as graphs
from paddle.device.cuda.functions import create_event as create_event
from paddle.device.cuda.functions import create_stream as create_stream
from paddle.device.cuda.functions import device_count as device_count
from paddle.device.generators import get_rng_state as get_rng_state
from paddle.device.generators import manual_seed as manual_seed
from paddle.device.generators import set_rng_state as set_rng_state
from paddle.device.memory import empty_cache as empty_cache
from paddle.device.memory import max_memory_allocated as max_memory_allocated
from paddle.device.memory import max_memory_reserved as max_memory_reserved
from paddle.device.memory import memory_allocated as memory_allocated
from paddle.device.memory import memory_reserved as memory_reserved
from paddle.device.memory import memory_summary as memory_summary
from paddle.device.memory import reset_max_memory_allocated as reset_max_memory_allocated
from paddle.device.memory import reset_max_memory_reserved as reset_max_memory_reserved
from paddle.device.memory import reset_peak_memory_stats as reset_peak_memory_stats
from paddle.device.places import get_device_capability as get_device_capability
from paddle.device.places import get_device_name as get_device_name
from paddle.device.places import get_device_properties as get_device_properties
from paddle.device.streams import Event as Event
from paddle.device.streams import Stream as Stream
from paddle.device.streams import current_stream as current_stream
from paddle.device.streams import stream_guard as stream_guard
from paddle.device.streams import synchronize as synchronize

__all__ = [
    "Event",
    "Stream",
    "create_event",
    "create_stream",
    "cuda_graphed_layer",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "graphs",
    "manual_seed",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "reset_peak_memory_stats",
    "set_rng_state",
    "stream_guard",
    "synchronize",
]
