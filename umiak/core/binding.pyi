"""Binding of a program: the work around its calls at every run. See docs/design/capture.md."""

from collections.abc import Sequence
from typing import Any

from umiak.core.call_program import CallProgram
from umiak.core.scalar import ScalarProgram

class Lowering:
    """One way to run a program."""

    def __init__(self, calls: CallProgram, at: list[int], conditions: ScalarProgram | None = None) -> None: ...

class Binding:
    """The inputs, scalars and conditions of a program, bound to memory at every run."""

    n_inputs: int
    n_arguments: int
    n_symbols: int
    n_scalars: int

    def __init__(
        self,
        owner: Any,
        inputs: list[tuple[int, Any, int, int]],
        symbols: list[tuple[int, int]],
        scalar_program: ScalarProgram,
        sizes: list[int],
        outputs: list[Any],
        extras: list[int],
        targets: list[int],
        donated: bytes,
        disjoint: bool,
        general: bool = False,
        arena: int = ...,
    ) -> None: ...
    def run(self, arguments: tuple, scalars: Sequence[int]) -> list[Any] | None:
        """The outputs; None where the owner has to run it."""
    def shrink(self) -> int:
        """Let go of the memory of all forms that no run is in; the bytes."""

    def frozen(self) -> list[int]:
        """The number of launches of each form of the program that is a list of them."""

    def side_by_side(self) -> list[list[list[list[int]]]]:
        """The groups of launches of each of these forms that run side by side: a list of launches per lane."""

    def accesses(self) -> list[list[tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]]]:
        """By form and launch: what it reads and what it writes, as (memory, first byte, end); -1 is the memory for
        values inside, which all launches of a form share."""
