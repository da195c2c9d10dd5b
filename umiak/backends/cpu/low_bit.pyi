"""Launching products by integer weights."""

from collections.abc import Mapping, Sequence

class LowBit:
    """A kernel of products for one class of x, weights and scales: the functions of low_bit_kernels.py by name, the
    launch of a product by a transposed matrix (address and ``self``; 0: none), and functions of low_bit_tiles.py."""

    def __init__(
        self,
        functions: Mapping[str, int],
        keep: object,
        *,
        rows: Sequence[int],
        unrolled: Sequence[int],
        halves: int,
        digits: int,
        parts: int,
        group: int,
        itemsize: int,
        scale_itemsize: int,
        matmul: int,
        matmul_self: int,
        tiles: Mapping[str, int] | None = None,
    ) -> None: ...
    @property
    def address(self) -> int: ...
    @property
    def self_pointer(self) -> int: ...
