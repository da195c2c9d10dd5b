"""Tiles in OpenCL C: registers are private arrays, and copies are done where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from umiak.compiler.loop.tiles import Tile
from umiak.compiler.loop.tree import Buffer
from umiak.compiler.loop.types import ScalarType
from umiak.compiler.render.opencl_types import cell_of, name_of

if TYPE_CHECKING:
    from umiak.compiler.render.spmd import Handle


class OpenCLTiles:
    """The part of the writer for tiles."""

    unrolled = False

    if TYPE_CHECKING:

        def new(self, t: ScalarType, value: str) -> Handle: ...
        def line(self, text: str) -> None: ...

    def registers(self, tile: Tile) -> None:
        self.line(f"{name_of(tile.type)} r_{tile.name}[{tile.elements}];")

    def register(self, tile: Tile, element: Any) -> Handle:
        return self.new(tile.type, f"r_{tile.name}[{element}]")

    def set_register(self, tile: Tile, element: Any, value: Handle) -> None:
        self.line(f"r_{tile.name}[{element}] = {value};")

    def put(self, b: Buffer, index: Handle, values: Sequence[Handle]) -> None:
        for k, x in enumerate(values):
            self.line(f"{b.name}[{index} + {k}] = {x};")

    def chunk(
        self, target: Buffer, to: Handle, source: Buffer, index: Handle, where: Handle | None, width: int, late: bool
    ) -> None:
        for k in range(width):
            value = f"{source.name}[{index} + {k}]"
            other = "" if where is None else f"{where} ? "
            rest = "" if where is None else f" : ({cell_of(target.type)})0"
            self.line(f"{target.name}[{to} + {k}] = {other}{value}{rest};")

    def commit(self) -> None:
        """Copies are done where they stand."""

    def wait(self, pending: int) -> None:
        """They have arrived."""

    def publish(self) -> None:
        """Barriers do."""

    def finish(self, pending: int) -> None:
        """Products are done where they stand."""
