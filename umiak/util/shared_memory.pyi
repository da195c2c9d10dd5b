"""Memory that two processes share and nothing outside them can see.

A segment has no name: its maker passes the descriptor on and both close it once the segment is mapped, so any number
of segments takes no descriptors, and the system frees the memory with the last process that has it mapped, however that
ends.

The maker writes, marks the segment LEASED and tells the other side, which holds a lease while it uses the memory. The
end of the lease marks the segment FREE, for the maker to write again: its pages stay mapped on both sides, where fresh
ones would cost more than a copy. If the holder has forked meanwhile, the child may be reading: then the segment is
RETIRED instead, and the maker drops it.
"""

FREE: int
LEASED: int
RETIRED: int

class Segment:
    """Shared memory mapped into this process: a writable buffer of ``nbytes`` bytes, aligned to 64.

    Raises MemoryError where the system has no more.
    """

    nbytes: int
    state: int  # FREE, LEASED or RETIRED; seen by both sides
    def __init__(self, fd: int, nbytes: int) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def lease(self) -> Lease: ...

class Lease:
    """The same memory, as long as the other side leaves it alone: until the lease is dropped."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

def rounded(nbytes: int) -> int: ...
def create(nbytes: int) -> tuple[Segment, int]:
    """A new segment with room for ``nbytes`` and its descriptor, which the caller closes."""
