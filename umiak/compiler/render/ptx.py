"""LLVM IR text of a kernel for NVPTX, and its assembly to PTX.

Arguments are passed by value, which puts them into constant memory: pointers, dims (i64), words of the scalar pack
(i64), then local and global scratch, the error word, ``lo`` and ``hi``. Shared buffers lie in dynamic shared memory.
Variables are stack slots: the backend makes registers of all of them before it selects instructions.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from umiak.compiler.jit import codegen
from umiak.compiler.loop.functions.exponentials import UNDERFLOWING
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tiles import PANEL, PATTERN, Tile, panelled
from umiak.compiler.loop.tree import IN, OUT, SHARED, Buffer, Kernel
from umiak.compiler.loop.types import BOOL, F16, F32, F64, I64, ScalarType
from umiak.compiler.render.basic import expand, expand_ldexp
from umiak.compiler.render.ptx_tiles import PtxTiles
from umiak.compiler.render.ptx_types import cell_of, literal, name_of
from umiak.compiler.render.ptx_warpgroups import REGISTER_STEP
from umiak.compiler.render.scratch import ALIGN, layout
from umiak.compiler.render.spmd import THREADS, Handle, Spmd, Update, words
from umiak.compiler.render.threads import BLOCK, BLOCKS, HI, LANE_OF_WARP, LO, TID, WARP

TRIPLE = "nvptx64-nvidia-cuda"
# Features differ by instructions that LLVM may choose; kernels without tiles are the same text for all. PTX of those
# with a letter has instructions that no other device runs.
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a")
NATIVE = frozenset({"f16"})  # conversions
PARAMETER_BYTES = 4096  # what every driver and architecture accepts
# Versions of PTX: what an architecture needs at least, and the newest that LLVM writes.
OLDEST_VERSION = {
    "sm_80": 70, "sm_86": 71, "sm_89": 78, "sm_90": 78, "sm_90a": 80, "sm_100": 86, "sm_100a": 86,
}  # fmt: skip
NEWEST_VERSION = 90
# Memory of a multiprocessor that its blocks share: CUDA C++ Programming Guide, "Technical Specifications per Compute
# Capability". A block has 1 KiB more than it asks for.
SHARED_BYTES = {
    "sm_80": 164 << 10, "sm_86": 100 << 10, "sm_89": 100 << 10, "sm_90": 228 << 10, "sm_90a": 228 << 10,
    "sm_100": 228 << 10, "sm_100a": 228 << 10,
}  # fmt: skip
SYSTEM_BYTES = 1 << 10
REGISTERS = 1 << 16  # of a multiprocessor
MOST_REGISTERS = 255  # of a thread
TILE_REGISTERS = 64  # for tiles, with which the rest finds room among few
FEW_REGISTERS = 128  # with which two blocks of 256 threads fit

_INTEGER = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}
_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le"}
_MATH = {"abs": "fabs", "fma": "fma", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "roundeven",
         "sqrt": "sqrt", "copysign": "copysign", "min": "minimum", "max": "maximum"}  # fmt: skip
_ATOMIC = {("add", "i"): "add", ("add", "f"): "fadd", ("min", "i"): "min", ("max", "i"): "max", ("min", "u"): "umin",
           ("max", "u"): "umax", ("and", "i"): "and", ("or", "i"): "or", ("and", "u"): "and", ("or", "u"): "or",
           ("add", "u"): "add"}  # fmt: skip


def render(kernel: Kernel, arch: str = "sm_80", threads: int = THREADS) -> str:
    """LLVM IR of a kernel; blocks have ``threads`` threads."""
    if arch not in ARCHITECTURES:
        raise ValueError(f"[{kernel.name}] requires an architecture of {', '.join(ARCHITECTURES)}, got {arch!r}")
    return _Ptx(kernel, arch, threads).text()


def assemble(text: str, arch: str = "sm_80", version: int | None = None) -> str:
    """PTX of LLVM IR text, of the oldest version that the architecture has, or of ``version`` (78 for 7.8)."""
    version = OLDEST_VERSION[arch] if version is None else version
    if not OLDEST_VERSION[arch] <= version <= NEWEST_VERSION:  # LLVM ends the process
        required = f"a version of PTX from {OLDEST_VERSION[arch]} to {NEWEST_VERSION}"
        raise ValueError(f"[assemble] requires {required} for {arch}, got {version}")
    with codegen.LOCK:
        llvm, machine = codegen.binding(), _machine(arch, version)
        context = llvm.create_context()  # a context keeps every type and constant that it has seen
        try:
            with llvm.parse_assembly(text, context=context) as module:
                module.data_layout = str(machine.target_data)
                module.verify()
                return machine.emit_assembly(module)
        except RuntimeError as e:
            raise RuntimeError(f"LLVM refuses the text of a kernel for {arch}: {e}\n{text}") from e
        finally:
            context.close()


@functools.cache
def _machine(arch: str, version: int) -> Any:
    llvm = codegen.binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, features=f"+ptx{version}", opt=3)


# The remainder by subtracting the largest doubling of the divisor that fits, over and over: every step is exact.
_FMOD = """define internal {t} @{name}({t} %a, {t} %b) #2 {{
entry:
  %r0 = call {t} @llvm.fabs.f{bits}({t} %a)
  %d = call {t} @llvm.fabs.f{bits}({t} %b)
  %finite = fcmp olt {t} %r0, 0x7FF0000000000000
  %nonzero = fcmp ogt {t} %d, 0.0
  %valid = and i1 %finite, %nonzero
  br i1 %valid, label %up, label %invalid
up:
  %u = phi {t} [ %d, %entry ], [ %v, %double ]
  %rest = fsub {t} %r0, %u
  %fits = fcmp ole {t} %u, %rest
  br i1 %fits, label %double, label %down
double:
  %v = fadd {t} %u, %u
  br label %up
down:
  %w = phi {t} [ %u, %up ], [ %half, %down ]
  %r = phi {t} [ %r0, %up ], [ %s, %down ]
  %less = fsub {t} %r, %w
  %over = fcmp oge {t} %r, %w
  %s = select i1 %over, {t} %less, {t} %r
  %half = fmul {t} %w, 5.0e-01
  %more = fcmp ogt {t} %w, %d
  br i1 %more, label %down, label %done
done:
  %result = call {t} @llvm.copysign.f{bits}({t} %s, {t} %a)
  ret {t} %result
invalid:
  %p = fmul {t} %a, %b
  %nan = fdiv {t} %p, %p
  ret {t} %nan
}}"""


class _Ptx(PtxTiles):
    warp = 32

    def __init__(self, kernel: Kernel, arch: str, threads: int) -> None:
        self.kernel, self.arch, self.threads = kernel, arch, kernel.threads or threads
        self.slots: list[str] = []
        self.lines: list[str] = []
        self.globals: list[str] = []
        self.declared: dict[str, str] = {}
        self.types: dict[str, ScalarType] = {}
        self.ends: list[list[str]] = []  # what closes each open block
        self.helpers: dict[str, str] = {}
        self.late: dict[str, Tile] = {}
        self.count = 0

    def text(self) -> str:
        k = self.kernel
        for name in ("tid", "ctaid", "nctaid"):
            self.new(f"call i32 @{self.intrinsic(f'nvvm.read.ptx.sreg.{name}.x', 'i32')}()", f"%{name}32")
            self.new(f"zext i32 %{name}32 to i64", f"%{name}")
        self.new("and i64 %tid, 31", "%lane")
        self.new("lshr i64 %tid, 5", "%warp")
        names = {
            TID: "%tid", BLOCK: "%ctaid", BLOCKS: "%nctaid", LO: "%lo", HI: "%hi", LANE_OF_WARP: "%lane", WARP: "%warp",
        }  # fmt: skip
        Spmd(k, self, lambda roots: expand_ldexp(expand(roots, NATIVE, UNDERFLOWING)), self.threads).run(names)
        args = [f"ptr addrspace(1) align {b.type.bytes} %{b.name}" for b in k.buffers if b.space in (IN, OUT)]
        args += [f"i64 %d{i}" for i in range(k.dims)] + [f"i64 %w{i}" for i in range(words(k))]
        args += [f"ptr addrspace(1) align 64 %{x}_" for x in ("local", "global")]
        args += ["ptr addrspace(1) align 4 %error", "i64 %lo", "i64 %hi"]
        if 8 * len(args) > PARAMETER_BYTES:
            raise ValueError(f"[{k.name}] requires at most {PARAMETER_BYTES // 8} arguments, got {len(args)}")
        if any(b.space == SHARED for b in k.buffers):
            # The assembler makes memory of fixed size, which lies before, a multiple of it.
            align = PANEL * PATTERN if panelled(k) else ALIGN
            self.globals.append(f"@{k.name}_shared = external addrspace(3) global [0 x i8], align {align}")
        most = f' "nvvm.maxnreg"="{self.most_registers}"' if self.most_registers else ""
        return "\n".join(
            [
                f'target triple = "{TRIPLE}"',
                *self.globals,
                *self.declared.values(),
                *self.helpers.values(),
                f"define ptx_kernel void @{k.name}({', '.join(args)}) #0 {{",
                "entry:",
                *self.slots,
                *self.lines,
                "  ret void",
                "}",
                f'attributes #0 = {{ nounwind "nvvm.reqntid"="{self.threads}"{most} "target-cpu"="{self.arch}" }}',
                "attributes #1 = { nounwind convergent }",
                "attributes #2 = { nounwind }",
                "",
            ]
        )

    @property
    def most_registers(self) -> int | None:
        """Registers that a thread may have; None: the assembler chooses. It chooses for several blocks on a
        multiprocessor, and spills: where tiles take many, or memory leaves no room for a third block anyway. Half of
        what there is leaves room for two, and keeps it from unrolling loops until all are used.
        """
        if self.kernel.tiles:
            held = sum(t.elements * t.type.bits // 32 for t in self.kernel.tiles)
            fitting = REGISTERS // self.threads // REGISTER_STEP * REGISTER_STEP
            return min(MOST_REGISTERS if held > TILE_REGISTERS else FEW_REGISTERS, fitting)
        size = layout(self.kernel, SHARED)[1]
        if size.op == "const" and 3 * (size.attr + SYSTEM_BYTES) > SHARED_BYTES[self.arch]:
            return REGISTERS // (2 * self.threads)
        return None

    # --- statements ---

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def new(self, value: str, name: str | None = None) -> Handle:
        if name is None:
            self.count += 1
            name = f"%t.{self.count}"  # no buffer has a dot
        self.line(f"{name} = {value}")
        return name

    def label(self, kind: str) -> str:
        self.count += 1
        return f"{kind}.{self.count}"

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def intrinsic(self, name: str, result: str, *args: str) -> str:
        full = f"llvm.{name}"
        extra = " #1" if "barrier" in name or "shfl" in name else ""
        self.declared.setdefault(full, f"declare {result} @{full}({', '.join(args)}){extra}")
        return full

    def variable(self, type: ScalarType, value: Handle) -> str:
        self.count += 1
        name = f"%v.{self.count}"
        self.slots.append(f"  {name} = alloca {name_of(type)}")
        self.types[name] = type
        self.set(name, value)
        return name

    def get(self, name: str) -> Handle:
        return self.new(f"load {name_of(self.types[name])}, ptr {name}")

    def set(self, name: str, value: Handle) -> None:
        self.line(f"store {name_of(self.types[name])} {value}, ptr {name}")

    def open_if(self, where: Handle) -> None:
        then, after = self.label("then"), self.label("after")
        self.line(f"br i1 {where}, label %{then}, label %{after}")
        self.start(then)
        self.ends.append([f"  br label %{after}", f"{after}:"])

    def open_for(self, lo: Handle, hi: Handle, step: Handle) -> Handle:
        index = self.variable(I64, lo)
        head, body, after = self.label("head"), self.label("body"), self.label("after")
        self.line(f"br label %{head}")
        self.start(head)
        i = self.get(index)
        go = self.new(f"icmp slt i64 {i}, {hi}")
        self.line(f"br i1 {go}, label %{body}, label %{after}")
        self.start(body)
        following = self.label("%n")
        self.ends.append(
            [
                f"  {following} = add i64 {i}, {step}",
                f"  store i64 {following}, ptr {index}",
                f"  br label %{head}",
                f"{after}:",
            ]
        )
        return i

    def open_while(self, name: str, hi: Handle) -> Handle:
        """A loop as long as a variable, which its body sets, is below ``hi``."""
        head, body, after = self.label("head"), self.label("body"), self.label("after")
        self.line(f"br label %{head}")
        self.start(head)
        i = self.get(name)
        self.line(f"br i1 {self.new(f'icmp slt i64 {i}, {hi}')}, label %{body}, label %{after}")
        self.start(body)
        self.ends.append([f"  br label %{head}", f"{after}:"])
        return i

    def close(self) -> None:
        self.lines += self.ends.pop()

    def barrier(self) -> None:
        self.line(f"call void @{self.intrinsic('nvvm.barrier.cta.sync.aligned.all', 'void', 'i32')}(i32 0)")

    def fail(self, code: int) -> None:
        self.new(f'atomicrmw umax ptr addrspace(1) %error, i32 {code} syncscope("device") monotonic')

    def exchange(self, mode: str, x: Handle, type: ScalarType, by: int, clamp: int) -> Handle:
        """A number of the thread ``by`` further in the warp; words of 32 bits travel."""
        name = self.intrinsic(f"nvvm.shfl.sync.{mode}.i32", "i32", "i32", "i32", "i32", "i32")

        def word(y: Handle) -> Handle:
            return self.new(f"call i32 @{name}(i32 -1, i32 {y}, i32 {by}, i32 {clamp})")

        n = name_of(type)
        if type.bits < 32:
            return self.new(f"trunc i32 {word(self.new(f'zext {n} {x} to i32'))} to {n}")
        bits = self.new(f"bitcast {n} {x} to i{type.bits}") if type.is_float else x
        if type.bits == 64:
            low = word(self.new(f"trunc i64 {bits} to i32"))
            high = word(self.new(f"trunc i64 {self.new(f'lshr i64 {bits}, 32')} to i32"))
            shifted = self.new(f"shl i64 {self.new(f'zext i32 {high} to i64')}, 32")
            bits = self.new(f"or i64 {shifted}, {self.new(f'zext i32 {low} to i64')}")
        else:
            bits = word(bits)
        return self.new(f"bitcast i{type.bits} {bits} to {n}") if type.is_float else bits

    def down(self, x: Handle, type: ScalarType, by: int) -> Handle:
        return self.exchange("down", x, type, by, 31)

    def up(self, x: Handle, type: ScalarType, by: int) -> Handle:
        return self.exchange("up", x, type, by, 0)

    # --- memory ---

    @staticmethod
    def space(b: Buffer) -> str:
        return f"ptr addrspace({3 if b.space == SHARED else 1})"

    def pointer(self, b: Buffer, offset: Handle) -> None:
        base = f"@{self.kernel.name}_shared" if b.space == SHARED else f"%{b.space}_"
        self.new(f"getelementptr i8, {self.space(b)} {base}, i64 {offset}", f"%{b.name}")

    def array(self, name: str, type: ScalarType, count: int) -> Buffer:
        full = f"{self.kernel.name}_{name}"
        self.globals.append(f"@{full} = internal addrspace(3) global [{count} x {cell_of(type)}] poison, align 16")
        return Buffer("@" + full, type, SHARED)

    def address(self, b: Buffer, index: Handle) -> str:
        base = b.name if b.name.startswith("@") else f"%{b.name}"
        at = self.new(f"getelementptr {cell_of(b.type)}, {self.space(b)} {base}, i64 {index}")
        return f"{self.space(b)} {at}"

    def load(self, b: Buffer, index: Handle) -> Handle:
        x = self.new(f"load {cell_of(b.type)}, {self.address(b, index)}, align {b.type.bytes}")
        return self.new(f"icmp ne i8 {x}, 0") if b.type is BOOL else x

    def load_where(self, b: Buffer, index: Handle, where: Handle, other: Handle) -> Handle:
        result = self.variable(b.type, other)
        self.open_if(where)
        self.set(result, self.load(b, index))
        self.close()
        return self.get(result)

    def store(self, b: Buffer, index: Handle, value: Handle, streaming: bool = False) -> None:
        if b.type is BOOL:
            value = self.new(f"zext i1 {value} to i8")
        last = ", !nontemporal !{i32 1}" if streaming else ""
        self.line(f"store {cell_of(b.type)} {value}, {self.address(b, index)}, align {b.type.bytes}{last}")

    def fetch(self, b: Buffer, index: Handle, op: str, value: Handle) -> Handle:
        native, where = _ATOMIC[op, b.type.kind], self.address(b, index)
        return self.new(f'atomicrmw {native} {where}, {name_of(b.type)} {value} syncscope("device") monotonic')

    def atomic(self, b: Buffer, index: Handle, op: str, value: Handle, update: Update) -> None:
        where, t = self.address(b, index), b.type
        native = _ATOMIC.get((op, t.kind)) if t.bits >= 32 else None
        if native:
            self.new(f'atomicrmw {native} {where}, {name_of(t)} {value} syncscope("device") monotonic')
            return
        cell = f"i{8 * t.bytes}"
        held = self.new(f"load {cell}, {where}, align {t.bytes}")
        kept = self.label("%seen")
        self.slots.append(f"  {kept} = alloca {cell}")
        self.line(f"store {cell} {held}, ptr {kept}")
        again, done = self.label("again"), self.label("done")
        self.line(f"br label %{again}")
        self.start(again)
        seen = self.new(f"load {cell}, ptr {kept}")
        old = seen
        if t is BOOL:
            old = self.new(f"icmp ne i8 {seen}, 0")
        elif t is F32 or t is F64:
            old = self.new(f"bitcast {cell} {seen} to {name_of(t)}")
        new = update(old)
        if t is BOOL:
            new = self.new(f"zext i1 {new} to i8")
        elif t is F32 or t is F64:
            new = self.new(f"bitcast {name_of(t)} {new} to {cell}")
        pair = self.new(f'cmpxchg {where}, {cell} {seen}, {cell} {new} syncscope("device") monotonic monotonic')
        self.line(f"store {cell} {self.new(f'extractvalue {{ {cell}, i1 }} {pair}, 0')}, ptr {kept}")
        swapped = self.new(f"extractvalue {{ {cell}, i1 }} {pair}, 1")
        self.line(f"br i1 {swapped}, label %{done}, label %{again}")
        self.start(done)

    # --- expressions ---

    def leaf(self, x: Node) -> Handle:
        if x.op == "const":
            return literal(x.attr, x.type)
        if x.op == "dim":
            return f"%d{x.attr}"
        return self.new(f"bitcast i64 %w{x.attr} to double") if x.type is F64 else f"%w{x.attr}"

    def operation(self, x: Node, args: list[Handle]) -> Handle:
        op, t = x.op, x.args[0].type
        n = name_of(t)
        a, b = args[0], args[-1]
        if op in _COMPARE:
            if t.is_float:
                return self.new(f"fcmp {'une' if op == 'ne' else 'o' + op} {n} {a}, {b}")
            sign = "" if op in ("eq", "ne") else "s" if t.kind == "i" else "u"
            return self.new(f"icmp {sign}{op} {n} {a}, {b}")
        if op == "select":
            m = name_of(x.type)
            return self.new(f"select i1 {a}, {m} {args[1]}, {m} {b}")
        if op == "cast":
            return self.cast(a, t, x.type)
        if op == "bitcast":
            return self.new(f"bitcast {n} {a} to {name_of(x.type)}") if n != name_of(x.type) else a
        return self.float(op, t, args) if t.is_float else self.integer(op, t, a, b)

    def cast(self, a: Handle, old: ScalarType, new: ScalarType) -> Handle:
        n, m = name_of(old), name_of(new)
        if new is BOOL:
            return self.new(f"fcmp une {n} {a}, 0.0" if old.is_float else f"icmp ne {n} {a}, 0")
        signed = "s" if old.kind == "i" else "u"
        if old is F16:
            return self.new(f"fpext half {self.new(f'bitcast i16 {a} to half')} to float")
        if new is F16:
            return self.new(f"bitcast half {self.new(f'fptrunc float {a} to half')} to i16")
        if old.is_float and new.is_float:
            return self.new(f"{'fpext' if new.bits > old.bits else 'fptrunc'} {n} {a} to {m}")
        if old.is_float:
            return self.new(f"fpto{'s' if new.kind == 'i' else 'u'}i {n} {a} to {m}")
        if new.is_float:
            return self.new(f"{signed}itofp {n} {a} to {m}")
        if new.bits == old.bits:
            return a
        instruction = "trunc" if new.bits < old.bits else "sext" if signed == "s" else "zext"
        return self.new(f"{instruction} {n} {a} to {m}")

    def float(self, op: str, t: ScalarType, args: list[Handle]) -> Handle:
        n = name_of(t)
        if op in _FLOAT:
            return self.new(f"{_FLOAT[op]} {n} {args[0]}, {args[1]}")
        if op == "neg":
            return self.new(f"fneg {n} {args[0]}")
        if op == "rem":
            name = f"fmod_{t}"
            self.helpers[name] = _FMOD.format(name=name, t=n, bits=t.bits)
            self.intrinsic(f"copysign.f{t.bits}", n, n, n)
            self.intrinsic(f"fabs.f{t.bits}", n, n)
            return self.new(f"call {n} @{name}({n} {args[0]}, {n} {args[1]})")
        if op not in _MATH:
            raise TypeError(f"[{self.kernel.name}] requires operations on numbers to be expanded, got {op} of {t}")
        name = self.intrinsic(f"{_MATH[op]}.f{t.bits}", n, *(n for _ in args))
        return self.new(f"call {n} @{name}({', '.join(f'{n} {x}' for x in args)})")

    def integer(self, op: str, t: ScalarType, a: Handle, b: Handle) -> Handle:
        n, s = name_of(t), "s" if t.kind == "i" else "u"
        if op in _INTEGER:
            return self.new(f"{_INTEGER[op]} {n} {a}, {b}")
        if op == "not":
            return self.new(f"xor {n} {a}, {'true' if t is BOOL else -1}")
        if op == "neg":
            return self.new(f"sub {n} 0, {a}")
        if op in ("min", "max"):
            name = self.intrinsic(f"{'u' if t is BOOL else s}{op}.{n}", n, n, n)
            return self.new(f"call {n} @{name}({n} {a}, {n} {b})")
        if op == "abs":
            negative = self.new(f"icmp slt {n} {a}, 0")
            minus = self.new(f"sub {n} 0, {a}")
            return a if s == "u" else self.new(f"select i1 {negative}, {n} {minus}, {n} {a}")
        if op == "mulhi":
            wide = f"i{2 * t.bits}"
            p = self.new(f"mul {wide} {self.new(f'zext {n} {a} to {wide}')}, {self.new(f'zext {n} {b} to {wide}')}")
            return self.new(f"trunc {wide} {self.new(f'lshr {wide} {p}, {t.bits}')} to {n}")
        if op in ("div", "rem"):
            return self.division(op, t, a, b)
        if op in ("shl", "shr"):
            inside = self.new(f"icmp ult {n} {b}, {t.bits}")
            if op == "shr" and s == "s":
                by = self.new(f"select i1 {inside}, {n} {b}, {n} {t.bits - 1}")
                return self.new(f"ashr {n} {a}, {by}")
            by = self.new(f"select i1 {inside}, {n} {b}, {n} 0")
            shifted = self.new(f"{'shl' if op == 'shl' else 'lshr'} {n} {a}, {by}")
            return self.new(f"select i1 {inside}, {n} {shifted}, {n} 0")
        raise TypeError(f"[{self.kernel.name}] requires an operation of OPS on {t}, got {op}")

    def division(self, op: str, t: ScalarType, a: Handle, b: Handle) -> Handle:
        """x / 0 is 0 and x / -1 wraps; both are undefined in LLVM."""
        n, s = name_of(t), "s" if t.kind == "i" else "u"
        if re.fullmatch(r"[1-9]\d*", b):
            return self.new(f"{s}{op} {n} {a}, {b}")
        zero = self.new(f"icmp eq {n} {b}, 0")
        special = zero
        if s == "s":
            minus = self.new(f"icmp eq {n} {b}, -1")
            special = self.new(f"or i1 {zero}, {minus}")
        safe = self.new(f"select i1 {special}, {n} 1, {n} {b}")
        result = self.new(f"{s}{op} {n} {a}, {safe}")
        if op == "rem":
            return self.new(f"select i1 {zero}, {n} {a}, {n} {result}")
        if s == "s":
            negated = self.new(f"sub {n} 0, {a}")
            result = self.new(f"select i1 {minus}, {n} {negated}, {n} {result}")
        return self.new(f"select i1 {zero}, {n} 0, {n} {result}")
