"""Fourier transforms along some axes, on vectors; a library in Python has the rest."""

from collections.abc import Callable, Sequence

USABLE: bool  # on this processor
KINDS: dict[str, int]

class Fourier:
    """A kernel of transforms of one kind along ``axes``.

    ``kind``: "complex"; of real numbers "to_half" of the points or "to_whole"; "from_half" of the points to real ones,
    along the last of the axes. ``power``: of the root of the number of points, by which results are divided.
    ``library(x, out, sizes, strides, n)`` serves launches that have no kernel, by addresses, the sizes and strides of x
    and the number of points of the last axis.
    """

    def __init__(
        self,
        kind: str,
        inverse: bool,
        doubles: bool,
        power: int,
        rank: int,
        axes: Sequence[int],
        library: Callable[[int, int, list[int], list[int], int], None],
    ) -> None: ...
    @property
    def address(self) -> int:
        """The address of the launch."""

    @property
    def self_pointer(self) -> int:
        """What the launch gets as ``self``."""
