"""OpenCL C of a kernel: version 1.2, and fp64 where it computes in f64.

Arguments are passed by value: pointers, dims (long), words of the scalar pack (ulong), then local and global scratch,
the error word, ``lo``, ``hi``, and dynamic shared memory where there is any. Signed arithmetic goes through unsigned
numbers, which wrap.

Hosts of OpenCL name memory by objects, not by addresses: with ``offsets``, the bytes from the beginning of each object
to the first element follow the pointers, and those of scratch and error word follow these, one long each. With
``dims_in_memory`` the dims are one pointer: what a kernel may be passed by value is limited.
"""

from __future__ import annotations

from umiak.compiler.loop.node import Node, is_const
from umiak.compiler.loop.tree import IN, OUT, SHARED, Buffer, Kernel
from umiak.compiler.loop.types import BOOL, F64, ScalarType
from umiak.compiler.render.basic import expand
from umiak.compiler.render.opencl_tiles import OpenCLTiles
from umiak.compiler.render.opencl_types import cell_of, literal, name_of, unsigned_of
from umiak.compiler.render.spmd import THREADS, Handle, Spmd, Update, words
from umiak.compiler.render.threads import BLOCK, BLOCKS, HI, LO, TID

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<="}
_LOGIC = {"and": "&", "min": "&", "or": "|", "max": "|", "xor": "!="}  # of 0 and 1
_MATH = {"abs": "fabs", "fma": "fma", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint",
         "sqrt": "sqrt", "copysign": "copysign", "rem": "fmod"}  # fmt: skip


def render(kernel: Kernel, threads: int = THREADS, offsets: bool = False, dims_in_memory: bool = False) -> str:
    """The text of a kernel; blocks (work-groups) have ``threads`` threads."""
    return _OpenCL(kernel, threads).text(offsets, dims_in_memory)


class _OpenCL(OpenCLTiles):
    warp = 0

    def __init__(self, kernel: Kernel, threads: int) -> None:
        self.kernel, self.threads = kernel, kernel.threads or threads
        self.lines: list[str] = []
        self.shared: list[str] = []
        self.depth = 1
        self.meets: list[bool] = []  # of each open block, whether threads meet in it
        self.count = 0
        self.f64 = False
        self.atomics64 = False
        self.types: dict[str, ScalarType] = {}

    def text(self, offsets: bool, dims_in_memory: bool) -> str:
        k = self.kernel
        names = {
            TID: "tid", BLOCK: "block", BLOCKS: "blocks", LO: "lo", HI: "hi",
        }  # fmt: skip
        Spmd(k, self, expand, self.threads).run(names)
        given = {
            b.name: f"__global {'const ' if b.space == IN else ''}{cell_of(b.type)}*"
            for b in k.buffers
            if b.space in (IN, OUT)
        }
        scratch = {"local_": "__global uchar*", "global_": "__global uchar*", "error": "__global uint*"}
        args = [f"{type} {name}" for name, type in given.items()]
        first = []
        if offsets:
            args += [f"long {name}_at" for name in given]
            for name, type in (given | scratch).items():
                constant = "const " if "const" in type else ""
                first.append(f"    {name} = ({type})((__global {constant}uchar*){name} + {name}_at);")
        if dims_in_memory:
            args.append("__global const long* dims")
            first += [f"    const long d{i} = dims[{i}];" for i in range(k.dims)]
        else:
            args += [f"long d{i}" for i in range(k.dims)]
        args += [f"ulong w{i}" for i in range(words(k))]
        args += [f"{type} {name}" for name, type in scratch.items()]
        args += [f"long {name}_at" for name in scratch] if offsets else []
        args += ["long lo", "long hi"]
        if any(b.space == SHARED for b in k.buffers):
            args.append("__local uchar* shared_")
        head = ["#pragma OPENCL FP_CONTRACT OFF"]
        if self.f64:
            head.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
        if self.atomics64:
            head.append("#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable")
        return "\n".join(
            [
                *head,
                f"__kernel __attribute__((reqd_work_group_size({self.threads}, 1, 1)))",
                f"void {k.name}({', '.join(args)}) {{",
                *self.shared,
                *first,
                "    const long tid = get_local_id(0), block = get_group_id(0), blocks = get_num_groups(0);",
                *self.lines,
                "}",
                "",
            ]
        )

    # --- statements ---

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def new(self, t: ScalarType, value: str) -> Handle:
        self.count += 1
        self.f64 |= t is F64
        self.line(f"const {name_of(t)} t_{self.count} = {value};")
        return f"t_{self.count}"

    def variable(self, type: ScalarType, value: Handle) -> str:
        self.count += 1
        self.f64 |= type is F64
        self.line(f"{name_of(type)} v_{self.count} = {value};")
        self.types[f"v_{self.count}"] = type
        return f"v_{self.count}"

    def get(self, name: str) -> Handle:
        return self.new(self.types[name], name)

    def set(self, name: str, value: Handle) -> None:
        self.line(f"{name} = {value};")

    def open_if(self, where: Handle) -> None:
        self.open(f"if ({where})")

    def open_for(self, lo: Handle, hi: Handle, step: Handle) -> Handle:
        self.count += 1
        i = f"i_{self.count}"  # an underscore: buffers may be called t0 and so on
        self.open(f"for (long {i} = {lo}; {i} < {hi}; {i} += {step})")
        return i

    def open_while(self, name: str, hi: Handle) -> Handle:
        """A loop as long as a variable, which its body sets, is below ``hi``."""
        self.open(f"while ({name} < {hi})")
        return self.get(name)

    def open(self, head: str) -> None:
        self.line(f"{head} {{")
        self.depth += 1
        self.meets.append(False)

    def close(self) -> None:
        self.depth -= 1
        self.line("}")
        if self.meets.pop():
            self.meet_within()
            # PoCL 3.0 drops what threads write behind a loop with barriers where another barrier is the next that it
            # sees when it has optimised; what is here may not be optimised.
            self.line("{ volatile int between = 0; }")

    def meet_within(self) -> None:
        if self.meets:
            self.meets[-1] = True

    def barrier(self) -> None:
        self.meet_within()
        self.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")

    def fail(self, code: int) -> None:
        self.line(f"atomic_max(error, {code}u);")

    # --- memory ---

    def pointer(self, b: Buffer, offset: Handle) -> None:
        space = "__local" if b.space == SHARED else "__global"
        self.line(f"{space} {cell_of(b.type)}* {b.name} = ({space} {cell_of(b.type)}*)({b.space}_ + {offset});")

    def array(self, name: str, type: ScalarType, count: int) -> Buffer:
        self.shared.append(f"    __local {cell_of(type)} {name}[{count}];")
        return Buffer(name, type, SHARED)

    def read(self, b: Buffer, index: Handle) -> str:
        return f"{b.name}[{index}]" + (" != 0" if b.type is BOOL else "")

    def load(self, b: Buffer, index: Handle) -> Handle:
        return self.new(b.type, self.read(b, index))

    def load_where(self, b: Buffer, index: Handle, where: Handle, other: Handle) -> Handle:
        return self.new(b.type, f"{where} ? ({self.read(b, index)}) : {other}")

    def store(self, b: Buffer, index: Handle, value: Handle, streaming: bool = False) -> None:
        self.line(f"{b.name}[{index}] = {value};")

    def fetch(self, b: Buffer, index: Handle, op: str, value: Handle) -> Handle:
        return self.new(b.type, f"atomic_{op}({b.name} + {index}, {value})")

    def atomic(self, b: Buffer, index: Handle, op: str, value: Handle, update: Update) -> None:
        if b.type.is_integer and b.type.bits == 32:
            self.line(f"atomic_{op}({b.name} + {index}, {value});")
            return
        # Anything else by comparing and exchanging the word that holds the element.
        self.count += 1
        n, space = self.count, "__local" if b.space == SHARED else "__global"
        wide = b.type.bits == 64
        self.atomics64 |= wide
        w, cell = "ulong" if wide else "uint", f"({b.name} + {index})"
        self.line("{")
        self.depth += 1
        self.line(f"volatile {space} {w}* word{n} = (volatile {space} {w}*)((ulong){cell} & ~{7 if wide else 3}ul);")
        if b.type.bits < 32:
            self.line(f"const uint shift{n} = (uint)((ulong){cell} & 3ul) * 8u;")
        self.line(f"{w} seen{n}, held{n} = *word{n};")
        self.line("do {")
        self.depth += 1
        self.line(f"seen{n} = held{n};")
        t = b.type
        if t.bits < 32:
            part = f"({unsigned_of(t)})(seen{n} >> shift{n})"
            old = self.new(t, f"{part} != 0" if t is BOOL else f"({name_of(t)}){part}")
        else:
            old = self.new(t, f"as_{name_of(t)}(seen{n})")
        new = update(old)
        if t.bits < 32:
            mask = (1 << (8 * t.bytes)) - 1
            bits = f"((uint)({unsigned_of(t)}){new} << shift{n})"
            self.line(f"const {w} next{n} = (seen{n} & ~({mask:#x}u << shift{n})) | {bits};")
        else:
            self.line(f"const {w} next{n} = as_{w}({new});")
        self.line(f"held{n} = {'atom' if wide else 'atomic'}_cmpxchg(word{n}, seen{n}, next{n});")
        self.depth -= 1
        self.line(f"}} while (held{n} != seen{n});")
        self.depth -= 1
        self.line("}")

    # --- expressions ---

    def leaf(self, x: Node) -> Handle:
        if x.op == "const":
            self.f64 |= x.type is F64
            return literal(x.attr, x.type)
        if x.op == "dim":
            return f"d{x.attr}"
        self.f64 |= x.type is F64
        return f"as_double(w{x.attr})" if x.type is F64 else f"(long)w{x.attr}"

    def operation(self, x: Node, args: list[Handle]) -> Handle:
        return self.new(x.type, self.formula(x, args))

    def formula(self, x: Node, args: list[Handle]) -> str:
        op, t = x.op, x.args[0].type
        if op in _COMPARE:
            return f"{args[0]} {_COMPARE[op]} {args[1]}"
        if op == "select":
            return f"{args[0]} ? {args[1]} : {args[2]}"
        if op == "cast":
            return f"{args[0]} != 0" if x.type is BOOL else f"({name_of(x.type)}){args[0]}"
        if op == "bitcast":
            same = name_of(t) == name_of(x.type)
            return args[0] if same else f"as_{name_of(x.type)}({args[0]})"
        a, b = args[0], args[-1]
        if t is BOOL:
            if op == "not":
                return f"!{a}"
            return f"{a} {_LOGIC[op]} {b}"
        if t.is_float:
            if op in _MATH:
                return f"{_MATH[op]}({', '.join(args)})"
            if op == "neg":
                return f"-{a}"
            if op == "ldexp":
                return f"ldexp({a}, (int){b})"
            if op in ("min", "max"):
                return f"({a} {'<' if op == 'min' else '>'} {b} || {a} != {a}) ? {a} : {b}"
            return f"{a} {_BINARY[op]} {b}"
        return f"({name_of(t)})({self.integer(x, t, a, b)})"

    def integer(self, x: Node, t: ScalarType, a: str, b: str) -> str:
        op, u = x.op, unsigned_of(t)
        if op in ("min", "max"):
            return f"{op}({a}, {b})"
        if op == "abs":
            return f"abs({a})" if t.kind == "i" else a
        if op == "mulhi":
            return f"mul_hi({a}, {b})"
        if op == "not":
            return f"~{a}"
        if op == "neg":
            return f"({u})0 - ({u}){a}"
        if op in ("div", "rem"):
            if is_const(x.args[1]) and x.args[1].attr not in (0, -1):
                return f"{a} {'/' if op == 'div' else '%'} {b}"
            # x / -1 wraps, x / 0 is 0 and x % 0 is x; a processor may stop at any of them.
            one, number = f"({name_of(t)})1", name_of(t)
            special = f"{b} == 0 || {b} == -1" if t.kind == "i" else f"{b} == 0"
            safe = f"({special} ? {one} : {b})"
            if op == "rem":
                return f"{b} == 0 ? {a} : ({number})({a} % {safe})"
            minus = f"{b} == -1 ? ({number})(({u})0 - ({u}){a}) : " if t.kind == "i" else ""
            return f"{b} == 0 ? ({number})0 : {minus}({number})({a} / {safe})"
        if op == "shl":
            return f"({u}){b} < {t.bits} ? ({u})(({u}){a} << (({u}){b} & {t.bits - 1})) : ({u})0"
        if op == "shr":
            if t.kind == "i":
                return f"{a} >> (({u}){b} < {t.bits} ? ({u}){b} : ({u}){t.bits - 1})"
            return f"{b} < {t.bits} ? ({u})({a} >> ({b} & {t.bits - 1})) : ({u})0"
        wide = u if t.bits >= 32 else "uint"  # narrower ones would be multiplied as int
        return f"({wide}){a} {_BINARY[op]} ({wide}){b}"

    def down(self, x: Handle, type: ScalarType, by: int) -> Handle:
        raise NotImplementedError("threads exchange numbers through local memory")

    up = down
