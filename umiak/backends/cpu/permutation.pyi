"""Random permutations: the order of keys that are drawn by Philox4x32-10."""

class Permutation:
    """A kernel that writes integers of so many bytes."""

    def __init__(self, itemsize: int) -> None: ...
    @property
    def address(self) -> int:
        """``int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream)``."""

    @property
    def self_pointer(self) -> int: ...
