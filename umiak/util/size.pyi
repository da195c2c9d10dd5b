"""Sizes of a tensor as an object."""

from typing import Any

class Size(list[Any]):
    """List of sizes that knows how many elements they make, and is equal to tuples, too."""

    def numel(self) -> Any: ...

class ElementCount(int):
    """Number of elements of a tensor; called, its sizes, or that of one dim."""

    def __call__(self, dim: int | None = None) -> Any: ...

def size_of(sizes: list) -> Size:
    """Sizes that are known to be some: of a shape that may be symbolic."""

def plain_ints(x: Any, least: int = ...) -> tuple[int, ...] | None:
    """A list or tuple of ints, none of them below ``least``, as a tuple; None of anything else."""

def count_of(numel: int, sizes: Size) -> ElementCount:
    """Number of elements of a tensor of these sizes."""
