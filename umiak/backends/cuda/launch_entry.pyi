"""Launches of one kernel through the driver's function for it, by its address."""

class Entry:
    """A kernel's grid and integers. ``address``: of the driver's function; ``n_words``: what the kernel takes of the
    scalar pack; ``begin``, ``end``: of the parallel range."""

    def __init__(
        self,
        address: int,
        function: int,
        blocks: int,
        threads: int,
        shared: int,
        dims: list[int],
        n_words: int,
        begin: int,
        end: int,
    ) -> None: ...
    def launch(
        self, stream: int, pointers: list[int], words: list[int], local: int, global_scratch: int, error: int
    ) -> int:
        """Launch it; the driver's code."""

def launch(
    address: int, function: int, grid: tuple[int, int, int], threads: int, shared: int, stream: int, words: list[int]
) -> int:
    """Launch a kernel of others once, whose arguments fit into words of 64 bits; the driver's code."""
