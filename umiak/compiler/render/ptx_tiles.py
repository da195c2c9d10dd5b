"""Tiles in the LLVM text for NVPTX: ``mma.sync`` on fragments that ``ldmatrix`` reads, ``cp.async``, named barriers.

Instructions are written as inline assembly, as the PTX ISA has them ("Warp-level matrix instructions",
"Data movement: non-bulk copy").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from umiak.compiler.loop.node import Node, add, div, i64, mul, rem
from umiak.compiler.loop.tiles import CHUNK, COLUMNS, ROWS, Matrix, Panels, Tile, TileProduct
from umiak.compiler.loop.tree import Buffer
from umiak.compiler.loop.types import BF16, F8E4M3FN, F8E5M2, F16, ScalarType
from umiak.compiler.render.ptx_types import cell_of, name_of
from umiak.compiler.render.ptx_warpgroups import PtxWarpgroups

if TYPE_CHECKING:
    from umiak.compiler.render.spmd import Handle, Spmd

# By the type of operands: shape and name in instructions.
_OPERANDS = {BF16: ("m16n8k16", "bf16"), F16: ("m16n8k16", "f16"), F8E4M3FN: ("m16n8k32", "e4m3"),
             F8E5M2: ("m16n8k32", "e5m2")}  # fmt: skip
BEFORE_BYTES = ("sm_80", "sm_86")  # architectures whose tensor cores do not take operands of 8 bits
BYTES_VERSION = 84  # of PTX


class PtxTiles(PtxWarpgroups):
    """The part of the writer for tiles; registers are stack slots, one each."""

    kernel: Any
    arch: str
    unrolled = True
    slots: list[str]
    types: dict[str, ScalarType]

    if TYPE_CHECKING:

        def new(self, value: str, name: str | None = None) -> Handle: ...
        def line(self, text: str) -> None: ...
        def get(self, name: str) -> Handle: ...
        def set(self, name: str, value: Handle) -> None: ...
        def open_if(self, where: Handle) -> None: ...
        def close(self) -> None: ...
        def address(self, b: Buffer, index: Handle) -> str: ...
        def variable(self, type: ScalarType, value: Handle) -> str: ...
        def exchange(self, mode: str, x: Handle, type: ScalarType, by: int, clamp: int) -> Handle: ...
        @staticmethod
        def space(b: Buffer) -> str: ...

    @staticmethod
    def slot(tile: Tile, element: int) -> str:
        return f"%r.{tile.name}.{element}"

    def registers(self, tile: Tile) -> None:
        for k in range(tile.elements):
            name = self.slot(tile, k)
            self.slots.append(f"  {name} = alloca {name_of(tile.type)}")
            self.types[name] = tile.type

    def register(self, tile: Tile, element: int) -> Handle:
        return self.get(self.slot(tile, element))

    def set_register(self, tile: Tile, element: int, value: Handle) -> None:
        self.set(self.slot(tile, element), value)

    def across(self, x: Handle, type: ScalarType, mask: int) -> Handle:
        return self.exchange("bfly", x, type, mask, 31)

    def meet(self, number: Handle, threads: int, wait: bool) -> None:
        verb = "sync" if wait else "arrive"
        narrow = self.new(f"trunc i64 {number} to i32")
        self.assembly(f"barrier.cta.{verb}.aligned", "$0, $1;", (), (("i32", "r", narrow), ("i32", "n", str(threads))))

    def assembly(
        self,
        instruction: str,
        operands: str,
        results: Sequence[tuple[str, str]],
        arguments: Sequence[tuple[str, str, str]],
        pure: bool = False,
    ) -> list[Handle]:
        """An instruction with types and constraints of its results, and of its arguments besides their handles."""
        constraints = [f"={c}" for _, c in results] + [c for _, c, _ in arguments] + ([] if pure else ["~{memory}"])
        types = [t for t, _ in results]
        result = "void" if not types else types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"
        given = ", ".join(f"{t} {x}" for t, _, x in arguments)
        effect = "" if pure else " sideeffect"
        text = f'call {result} asm{effect} "{instruction} {operands}", "{",".join(constraints)}"({given}) #1'
        if not types:
            self.line(text)
            return []
        got = self.new(text)
        return [got] if len(types) == 1 else [self.new(f"extractvalue {result} {got}, {k}") for k in range(len(types))]

    # --- memory ---

    def put(self, b: Buffer, index: Handle, values: Sequence[Handle]) -> None:
        cell, n = cell_of(b.type), len(values)
        vector, packed = f"<{n} x {cell}>", "poison"
        for k, x in enumerate(values):
            packed = self.new(f"insertelement {vector} {packed}, {cell} {x}, i32 {k}")
        self.line(f"store {vector} {packed}, {self.address(b, index)}, align {n * b.type.bytes}")

    def chunk(
        self, target: Buffer, to: Handle, source: Buffer, index: Handle, where: Handle | None, width: int, late: bool
    ) -> None:
        count = width * target.type.bytes
        if where is not None:
            # Nothing is read where the condition does not hold; the address stays one of the source.
            index = self.new(f"select i1 {where}, i64 {index}, i64 0")
        place, origin = self.address(target, to), self.address(source, index)
        if late and count >= 4:
            narrow = self.new(f"ptrtoint {place} to i32")
            far = self.new(f"ptrtoint {origin} to i64")
            kind = "cg" if count == 16 else "ca"
            bytes_ = ("i32", "r", str(count) if where is None else self.new(f"select i1 {where}, i32 {count}, i32 0"))
            given = (("i32", "r", narrow), ("i64", "l", far), ("i32", "n", str(count)), bytes_)
            self.assembly(f"cp.async.{kind}.shared.global", "[$0], [$1], $2, $3;", (), given)
            return
        parts = max(count // 4, 1)
        cell = f"<{parts} x i32>" if parts > 1 else f"i{8 * count}"
        zero = "zeroinitializer" if parts > 1 else "0"
        if where is None:
            x = self.new(f"load {cell}, {origin}, align {count}")
        else:
            kept = self.new_slot(cell)
            self.line(f"store {cell} {zero}, ptr {kept}")
            self.open_if(where)
            self.line(f"store {cell} {self.new(f'load {cell}, {origin}, align {count}')}, ptr {kept}")
            self.close()
            x = self.new(f"load {cell}, ptr {kept}")
        self.line(f"store {cell} {x}, {place}, align {count}")

    def new_slot(self, cell: str) -> str:
        name = f"%c.{len(self.slots)}"
        self.slots.append(f"  {name} = alloca {cell}")
        return name

    def commit(self) -> None:
        self.assembly("cp.async.commit_group", ";", (), ())

    def wait(self, pending: int) -> None:
        self.assembly("cp.async.wait_group", "$0;", (), (("i32", "n", str(pending)),))

    # --- products ---

    def multiply(self, spmd: Spmd, s: TileProduct) -> None:
        """A fragment of 16 rows and one of 8 columns at a time; fragments of a step along the depth are read once."""
        if s.grouped and self.warpgroups:
            self.multiply_together(spmd, s)
            return
        type = spmd.buffers[s.b.buffer].type
        shape, name = _OPERANDS[type]
        if type.bytes == 1 and self.arch in BEFORE_BYTES:
            raise ValueError(f"[{self.kernel.name}] requires sm_89 for products of {type}, got {self.arch}")
        step = 2 * CHUNK // type.bytes
        lane, across, down = spmd.tiles.lane, spmd.tiles.across_of(s.result), spmd.tiles.down_of(s.result)
        half = CHUNK // type.bytes
        low, second, third = rem(lane, i64(8)), rem(div(lane, i64(8)), i64(2)), div(lane, i64(16))
        # Which row or column, and which half of the depth, each lane points to: PTX ISA, "ldmatrix".
        left = add(mul(across, i64(ROWS)), add(low, mul(second, i64(8)))), mul(third, i64(half))
        if not isinstance(s.a, Tile) and s.a.transposed:
            left = add(mul(across, i64(ROWS)), mul(second, i64(8))), add(low, mul(third, i64(half)))
        width = COLUMNS * s.result.column_fragments
        right = add(mul(down, i64(width)), add(low, mul(third, i64(8)))), mul(second, i64(half))
        if not s.b.transposed:
            right = add(mul(down, i64(width)), mul(third, i64(8))), add(low, mul(second, i64(half)))
        of_a = None if isinstance(s.a, Tile) else self.places(spmd, s.a, *left)
        of_b = self.places(spmd, s.b, right[1], right[0])
        rows, columns = s.result.row_fragments, s.result.column_fragments
        for k in range(0, s.depth, step):
            a = []
            for i in range(rows):
                if of_a is not None and not isinstance(s.a, Tile):
                    a.append(self.fragments(of_a(ROWS * s.result.warps[0] * i, k), 4, s.a.transposed))
                else:
                    assert isinstance(s.a, Tile)
                    first = 4 * (i * s.a.column_fragments + k // COLUMNS)
                    a.append([self.pair(s.a, first + 2 * j) for j in range(4)])
            for j in range(0, columns, 2):
                b = self.fragments(of_b(k, COLUMNS * j), 4 if j + 1 < columns else 2, not s.b.transposed)
                for i in range(rows):
                    for c in range(len(b) // 2):
                        self.fragment_product(s.result, i * columns + j + c, a[i], b[2 * c : 2 * c + 2], shape, name)

    def places(self, spmd: Spmd, m: Matrix | Panels, row: Node, column: Node) -> Callable[[int, int], Handle]:
        """The addresses in shared memory of an element, and of what is so many rows and columns further."""
        if isinstance(m, Panels):  # where pieces are follows from the line
            return lambda rows, columns: self.origin(spmd, m, add(row, i64(rows)), add(column, i64(columns)))
        first, bytes_ = self.origin(spmd, m, row, column), spmd.buffers[m.buffer].type.bytes

        def further(rows: int, columns: int) -> Handle:
            line, along = (columns, rows) if m.transposed else (rows, columns)
            at = (line * m.pitch + along) * bytes_
            return self.new(f"add i32 {first}, {at}") if at else first

        return further

    def origin(self, spmd: Spmd, m: Matrix | Panels, row: Node, column: Node) -> Handle:
        """The address in shared memory of an element."""
        at = self.address(spmd.buffers[m.buffer], spmd.value(m.index(row, column)))
        return self.new(f"ptrtoint {at} to i32")

    def fragments(self, address: Handle, count: int, transposed: bool) -> list[Handle]:
        turn = ".trans" if transposed else ""
        operands = ", ".join(f"${k}" for k in range(count))
        return self.assembly(
            f"ldmatrix.sync.aligned.m8n8.x{count}{turn}.shared.b16", f"{{{operands}}}, [${count}];",
            [("i32", "r")] * count, (("i32", "r", address),),
        )  # fmt: skip

    def pair(self, tile: Tile, element: int) -> Handle:
        """Two numbers of 16 bits as a word."""
        low, high = (self.new(f"zext i16 {self.register(tile, element + k)} to i32") for k in range(2))
        return self.new(f"or i32 {low}, {self.new(f'shl i32 {high}, 16')}")

    def fragment_product(
        self, tile: Tile, fragment: int, a: Sequence[Handle], b: Sequence[Handle], shape: str, name: str
    ) -> None:
        total = [self.register(tile, 4 * fragment + k) for k in range(4)]
        given = [("i32", "r", x) for x in (*a, *b)] + [("float", str(k), x) for k, x in enumerate(total)]
        instruction = f"mma.sync.aligned.{shape}.row.col.f32.{name}.{name}.f32"
        operands = "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};"
        result = self.assembly(instruction, operands, [("float", "f")] * 4, given, pure=True)
        for k, x in enumerate(result):
            self.set_register(tile, 4 * fragment + k, x)
