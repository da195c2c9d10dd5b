"""Launching concat and stack of many contiguous tensors."""

class Joining:
    """Runs of bytes, one after the other.

    Pointers of a launch: the operands, the result, all dense. Its dims: how often each operand comes, and how many of
    its elements lie together in the result.
    """

    def __init__(self, operands: int, itemsize: int) -> None: ...
    @property
    def address(self) -> int:
        """``int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream)``."""

    @property
    def self_pointer(self) -> int: ...
