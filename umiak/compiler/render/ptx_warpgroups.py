"""Matmuls from panels by four warps together, in the LLVM text for NVPTX: ``wgmma`` of sm_90a.

Sources: PTX ISA, "Asynchronous warpgroup level matrix multiply-accumulate instructions" (shapes, register fragments,
fences, groups), "Matrix descriptor format", "Async proxy". Registers of a fragment are dealt out as those of ``mma``
are (``loop.tiles.place``), blocks of 16 rows to the four warps in turn. Four warps that copy give registers to those
that compute ("setmaxnreg").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from umiak.compiler.loop.node import Node, div, i64, mul
from umiak.compiler.loop.tiles import CHUNK, COLUMNS, PANEL, PATTERN, ROWS, WARPGROUP, Matrix, Panels, Tile, TileProduct
from umiak.compiler.loop.types import BF16, F8E4M3FN, F8E5M2, F16

if TYPE_CHECKING:
    from umiak.compiler.render.spmd import Handle, Spmd

ARCHITECTURES = ("sm_90a",)
_NAMES = {BF16: "bf16", F16: "f16", F8E4M3FN: "e4m3", F8E5M2: "e5m2"}
_SWIZZLED = 1 << 62  # of a descriptor: pieces are permuted within 128 bytes
_ENCODED = 4  # bits that addresses and distances lose in a descriptor
REGISTER_STEP = 8  # in which threads get them
MOST_SHARED = 248  # registers of a thread that others give theirs to
_LOW = (1 << 18) - 1  # bits of an address that it has


class PtxWarpgroups:
    """The part of the writer for them."""

    arch: str
    late: dict[str, Tile]  # results of asynchronous products that nobody has waited for

    if TYPE_CHECKING:

        @property
        def most_registers(self) -> int | None: ...
        def new(self, value: str, name: str | None = None) -> Handle: ...
        def register(self, tile: Tile, element: int) -> Handle: ...
        def set_register(self, tile: Tile, element: int, value: Handle) -> None: ...
        def pair(self, tile: Tile, element: int) -> Handle: ...
        def origin(self, spmd: Spmd, m: Matrix | Panels, row: Node, column: Node) -> Handle: ...
        def assembly(
            self,
            instruction: str,
            operands: str,
            results: Sequence[tuple[str, str]],
            arguments: Sequence[tuple[str, str, str]],
            pure: bool = False,
        ) -> list[Handle]: ...

    @property
    def warpgroups(self) -> bool:
        return self.arch in ARCHITECTURES

    def may_share(self, computing: int, copying: int) -> bool:
        """Return whether warps can give others of their registers: four at a time."""
        return self.warpgroups and computing % WARPGROUP == 0 and copying % WARPGROUP == 0

    def share_registers(self, computing: int, copying: int, kept: int, computes: bool) -> None:
        if not computes:
            self.assembly("setmaxnreg.dec.sync.aligned.u32", "$0;", (), (("i32", "n", str(kept)),))
            return
        count = computing + copying
        assert self.most_registers is not None
        most = (self.most_registers * count - kept * copying) // computing
        most = min(most // REGISTER_STEP * REGISTER_STEP, MOST_SHARED)
        self.assembly("setmaxnreg.inc.sync.aligned.u32", "$0;", (), (("i32", "n", str(most)),))

    def publish(self) -> None:
        """Writes of this thread come before reads of tensor cores ("Async proxy": copies in groups are generic)."""
        if self.warpgroups:
            self.assembly("fence.proxy.async.shared::cta", ";", (), ())

    def finish(self, pending: int) -> None:
        """Results go through the instruction, so that nothing that uses them comes before it."""
        if not self.late:
            return
        slots = [(t, k) for t in self.late.values() for k in range(t.elements)]
        given = [("float", self.register(*slot)) for slot in slots]
        done = self.through("wgmma.wait_group.sync.aligned", given, (("i32", "n", str(pending)),))
        for slot, x in zip(slots, done):
            self.set_register(*slot, x)
        if not pending:
            self.late.clear()

    def through(
        self, instruction: str, given: Sequence[tuple[str, Handle]], operands: Sequence[tuple[str, str, str]] = ()
    ) -> list[Handle]:
        """An instruction after which registers are what they were, and in the same place: neither what makes them nor
        what uses them can be on its other side."""
        results = [(t, "f" if t == "float" else "r") for t, _ in given]
        named = ", ".join(f"${len(given) + k}" for k in range(len(operands)))
        tied = [(t, str(k), x) for k, (t, x) in enumerate(given)]
        return self.assembly(instruction, f"{named};", results, (*operands, *tied))

    def multiply_together(self, spmd: Spmd, s: TileProduct) -> None:
        """64 rows at a time; a group of instructions for each statement."""
        assert isinstance(s.b, Panels)
        d, type = s.result, spmd.buffers[s.b.buffer].type
        step, columns = 2 * CHUNK // type.bytes, COLUMNS * d.column_fragments
        # The first row of the block that is this warpgroup's, and its first column.
        row = mul(div(spmd.tiles.across_of(d), i64(WARPGROUP)), i64(ROWS * WARPGROUP))
        column = mul(spmd.tiles.down_of(d), i64(columns))
        of_b = self.descriptor(spmd, s.b, i64(0), column, s.b.transposed)
        blocks = range(d.row_fragments)
        words: dict[tuple[int, int], list[Handle]] = {}
        if isinstance(s.a, Tile):
            fragments = s.a.column_fragments
            words = {
                (i, k): [self.pair(s.a, 4 * (i * fragments + k // COLUMNS) + 2 * j) for j in range(4)]
                for i in blocks for k in range(0, s.depth, step)
            }  # fmt: skip
            of_a = ""
        else:
            assert isinstance(s.a, Panels)
            of_a = self.descriptor(spmd, s.a, row, i64(0), not s.a.transposed)
        given = [("float", self.register(d, k)) for k in range(d.elements)]
        given += [("i32", x) for key in words for x in words[key]]
        fenced = self.through("wgmma.fence.sync.aligned", given)
        each = columns // 2
        registers = [fenced[each * i : each * (i + 1)] for i in blocks]
        words = {key: fenced[d.elements + 4 * k : d.elements + 4 * (k + 1)] for k, key in enumerate(words)}
        for k in range(0, s.depth, step):
            b = self.moved(of_b, s.b, k, 0, type.bytes)
            for i in blocks:
                if isinstance(s.a, Tile):
                    a = [("i32", "r", x) for x in words[i, k]]
                else:
                    assert isinstance(s.a, Panels)
                    a = [("i64", "l", self.moved(of_a, s.a, ROWS * d.warps[0] * i, k, type.bytes))]
                transposed = [] if type.bytes == 1 else [not s.b.transposed]
                if transposed and isinstance(s.a, Panels):
                    transposed.insert(0, s.a.transposed)
                registers[i] = self.instruction(f"k{step}", _NAMES[type], registers[i], a, b, transposed)
        self.assembly("wgmma.commit_group.sync.aligned", ";", (), ())
        for i in blocks:
            for k, x in enumerate(registers[i]):
                self.set_register(d, each * i + k, x)
        self.late[d.name] = d
        if not s.asynchronous:
            self.finish(0)

    def descriptor(self, spmd: Spmd, m: Panels, row: Node, column: Node, along_depth: bool) -> Handle:
        """That of a matrix from an element on, a multiple of 8 lines and of a panel.

        From eight lines to the next it is 1024 bytes; from a panel to the next, which counts where lines run across the
        depth, as long as a panel.
        """
        narrow = self.origin(spmd, m, row, column)
        start = self.new(f"lshr i32 {self.new(f'and i32 {narrow}, {_LOW}')}, {_ENCODED}")
        leading = CHUNK if along_depth else m.lines * PANEL
        rest = _SWIZZLED | PANEL * PATTERN >> _ENCODED << 32 | leading >> _ENCODED << 16
        return self.new(f"or i64 {self.new(f'zext i32 {start} to i64')}, {rest}")

    def moved(self, descriptor: Handle, m: Panels, row: int, column: int, bytes_: int) -> Handle:
        """The descriptor some rows and columns further. Within a panel it points into the permuted lines: which piece
        is where follows from bits 7 to 9 of the address that the start and the distance add up to."""
        line, along = (column, row) if m.transposed else (row, column)
        at = (along // m.width * m.lines + line) * PANEL + along % m.width * bytes_
        return self.new(f"add i64 {descriptor}, {at >> _ENCODED}") if at else descriptor

    def instruction(
        self, depth: str, name: str, total: list[Handle], a: list[tuple[str, str, str]], b: Handle,
        transposed: Sequence[bool],
    ) -> list[Handle]:  # fmt: skip
        """``d = a b + d``, neither negated; ``transposed``: lines of ``a``, of ``b``, run across the depth."""
        n = len(total)
        numbers = [("i32", "n", str(int(x))) for x in (1, 1, 1, *transposed)]
        given = [*a, ("i64", "l", b), *numbers, *(("float", str(k), x) for k, x in enumerate(total))]
        left = ", ".join(f"${n + k}" for k in range(len(a)))
        left = left if len(a) == 1 else f"{{{left}}}"
        rest = ", ".join(f"${n + len(a) + k}" for k in range(1 + len(numbers)))
        results = ", ".join(f"${k}" for k in range(n))
        return self.assembly(
            f"wgmma.mma_async.sync.aligned.m64n{2 * n}{depth}.f32.{name}.{name}",
            f"{{{results}}}, {left}, {rest};", [("float", "f")] * n, given,
        )  # fmt: skip
