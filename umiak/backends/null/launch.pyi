"""The launch that does nothing, and streams that complete only when they are told to."""

from umiak.core.stream import StreamDriver

ADDRESS: int  # of ``int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream)``

def self_pointer(place: int) -> int: ...

class NullDriver(StreamDriver): ...
