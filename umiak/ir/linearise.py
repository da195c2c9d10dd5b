"""Lowering of symbolic expressions to straight-line code over 64-bit registers, which C evaluates per call.

Registers are laid out as ``umiak.core.scalar.ScalarProgram`` wants them: first the inputs (the symbols), then the
constants, then one per instruction. A register holds an int64 or a double; the opcode says which; booleans are 0 and 1.
Equal subexpressions are computed once. Division by zero gives 0, because both sides of a choice are computed: an op
whose divisor may be zero requires it positive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from umiak.ir.expr import EVALUATE, DimError, Sym, kind_of
from umiak.ir.scope import Check


class Opcode(IntEnum):
    """The names are the interface with ``umiak.core.scalar``; the numbers are not."""

    ADD = 0
    SUB = 1
    MUL = 2
    FLOORDIV = 3  # rounds down, as Python's //
    MOD = 4  # sign of the divisor, as Python's %
    CDIV = 5  # rounds up
    MIN = 6
    MAX = 7
    NEG = 8
    EQ = 9
    NE = 10
    LE = 11
    LT = 12
    SELECT = 13  # r[a] ? r[b] : r[c]; copies 64 bits of either kind
    AND = 14
    OR = 15
    NOT = 16
    BROADCAST = 17  # a == b or b == 1 → a; a == 1 → b; otherwise the check fails
    CHECK_EQ = 18  # the checks have a register too, which nothing reads
    CHECK_LE = 19
    CHECK_TRUE = 20
    ITOF = 21
    FTOI = 22  # towards zero
    FADD = 23
    FSUB = 24
    FMUL = 25
    FDIV = 26
    FNEG = 27
    FPOW = 28
    FMIN = 29  # a < b ? a : b
    FMAX = 30  # a > b ? a : b
    FEQ = 31
    FNE = 32
    FLE = 33
    FLT = 34


class Instruction(NamedTuple):
    opcode: Opcode
    dst: int
    a: int
    b: int = 0
    c: int = 0


class Linear(NamedTuple):
    """Code, the register of each output, and what a caller needs to run it and to explain a failed check."""

    inputs: int
    constants: tuple[int | float, ...]
    code: tuple[Instruction, ...]
    outputs: tuple[int, ...]
    kinds: tuple[str, ...]  # of the outputs: "int", "float" or "bool"
    messages: dict[int, str]  # by position in the code

    def named_code(self) -> list[tuple[str, int, int, int, int]]:
        """The code as ``ScalarProgram(inputs, constants, named_code)`` takes it."""
        return [(i.opcode.name, i.dst, i.a, i.b, i.c) for i in self.code]

    def run(self, values: Sequence[Any]) -> tuple:
        """Evaluate in Python as C does: the definition for tests, and the fallback without C. ``values`` follows the
        symbols."""
        r: list[Any] = [*values, *self.constants]
        for at, (op, _, a, b, c) in enumerate(self.code):
            if op is Opcode.SELECT:
                out = r[b] if r[a] else r[c]
            elif op in _UNARY:
                out = _UNARY[op](r[a])
            elif op in _CHECKS:
                out = _CHECKS[op](r[a], r[b])
                if out is None:
                    raise DimError(self.messages[at])
            else:
                out = _BINARY[op](r[a], r[b])
            r.append(out)
        return tuple(bool(r[i]) if kind == "bool" else r[i] for i, kind in zip(self.outputs, self.kinds, strict=True))


def _or_zero(divide: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: divide(a, b) if b else 0


def _broadcast(a: int, b: int) -> int | None:
    if a == b or b == 1:
        return a
    return b if a == 1 else None


_CHECKS: dict[Opcode, Callable[[Any, Any], Any]] = {
    Opcode.CHECK_EQ: lambda a, b: True if a == b else None,
    Opcode.CHECK_LE: lambda a, b: True if a <= b else None,
    Opcode.CHECK_TRUE: lambda a, b: True if a else None,
    Opcode.BROADCAST: _broadcast,
}

# Sym op → opcode; nodes with more than two arguments become chains.
_OPCODES = {
    "floordiv": Opcode.FLOORDIV,
    "mod": Opcode.MOD,
    "cdiv": Opcode.CDIV,
    "min": Opcode.MIN,
    "max": Opcode.MAX,
    "eq": Opcode.EQ,
    "ne": Opcode.NE,
    "le": Opcode.LE,
    "lt": Opcode.LT,
    "and": Opcode.AND,
    "or": Opcode.OR,
    "fadd": Opcode.FADD,
    "fsub": Opcode.FSUB,
    "fmul": Opcode.FMUL,
    "fdiv": Opcode.FDIV,
    "fpow": Opcode.FPOW,
    "fmin": Opcode.FMIN,
    "fmax": Opcode.FMAX,
    "not": Opcode.NOT,
    "itof": Opcode.ITOF,
    "ftoi": Opcode.FTOI,
    "fneg": Opcode.FNEG,
}
_FLOAT_COMPARISONS = {"eq": Opcode.FEQ, "ne": Opcode.FNE, "le": Opcode.FLE, "lt": Opcode.FLT}
_COMMUTATIVE = {Opcode.ADD, Opcode.MUL, Opcode.MIN, Opcode.MAX, Opcode.EQ, Opcode.NE, Opcode.BROADCAST, Opcode.CHECK_EQ}

_UNARY: dict[Opcode, Callable[[Any], Any]] = {
    Opcode.NEG: lambda a: -a,
    Opcode.NOT: EVALUATE["not"],
    Opcode.ITOF: EVALUATE["itof"],
    Opcode.FTOI: EVALUATE["ftoi"],
    Opcode.FNEG: EVALUATE["fneg"],
}
_BINARY: dict[Opcode, Callable[[Any, Any], Any]] = (
    {code: EVALUATE[op] for op, code in (_OPCODES | _FLOAT_COMPARISONS).items() if code not in _UNARY}
    | {code: EVALUATE[op] for op, code in _OPCODES.items() if code not in _UNARY}
    | {
        Opcode.ADD: lambda a, b: a + b,
        Opcode.SUB: lambda a, b: a - b,
        Opcode.MUL: lambda a, b: a * b,
        Opcode.FLOORDIV: _or_zero(EVALUATE["floordiv"]),
        Opcode.MOD: _or_zero(EVALUATE["mod"]),
        Opcode.CDIV: _or_zero(EVALUATE["cdiv"]),
    }
)


class _Lowering:
    """Registers have symbolic names here (``("input", i)``, ``("const", k)``, ``("code", n)``) until ``finish``."""

    def __init__(self, symbols: Sequence[Sym]) -> None:
        self.index = {s: i for i, s in enumerate(symbols)}
        self.constants: dict[Any, int | float] = {}
        self.code: list[tuple] = []
        self.messages: dict[int, str] = {}
        self.done: dict[Any, tuple] = {}

    def emit(
        self, opcode: Opcode, a: tuple, b: tuple | None = None, c: tuple | None = None, message: str = ""
    ) -> tuple:
        if b is not None and opcode in _COMMUTATIVE and b < a:
            a, b = b, a
        key = (opcode, a, b, c)
        source = self.done.get(key)
        if source is None:
            source = self.done[key] = ("code", len(self.code))
            if message:
                self.messages[len(self.code)] = message
            self.code.append(key)
        return source

    def lower(self, x: Any) -> tuple:
        if type(x) is not Sym:
            value = float(x) if kind_of(x) == "float" else int(x)
            key = value.hex() if type(value) is float else str(value)
            self.constants.setdefault(key, value)
            return ("const", key)
        source = self.done.get(x)
        if source is None:
            source = self.done[x] = self._node(x)
        return source

    def _node(self, x: Sym) -> tuple:
        if x.op == "symbol":
            if x not in self.index:
                raise KeyError(f"{x} is not among the symbols {tuple(self.index)}")
            return ("input", self.index[x])
        if x.op == "add":
            return self._sum(x)
        if x.op == "mul":
            return self._chain(Opcode.MUL, x.args)
        if x.op == "select":
            condition, a, b = map(self.lower, x.args)
            return self.emit(Opcode.SELECT, condition, a, b)
        if x.op == "broadcast":
            return self._broadcast(x.args, f"sizes {', '.join(map(str, x.args))} do not broadcast")
        opcode = _OPCODES[x.op]
        if x.op in _FLOAT_COMPARISONS and any(kind_of(a) == "float" for a in x.args):
            opcode = _FLOAT_COMPARISONS[x.op]
        return self.emit(opcode, self.lower(x.args[0])) if len(x.args) == 1 else self._chain(opcode, x.args)

    def _chain(self, opcode: Opcode, args: Sequence[Any]) -> tuple:
        out = self.lower(args[0])
        for arg in args[1:]:
            out = self.emit(opcode, out, self.lower(arg))
        return out

    def _sum(self, x: Sym) -> tuple:
        """A sum with its negative terms subtracted, starting from a positive one where there is any."""
        positive: list[Any] = []
        negative: list[Any] = []
        for arg in x.args:
            coefficient = arg if type(arg) is not Sym else (arg.args[0] if arg.op == "mul" else 1)
            (negative if type(coefficient) is int and coefficient < 0 else positive).append(arg)
        if not positive:
            return self.emit(Opcode.NEG, self.lower(-x))
        out = self._chain(Opcode.ADD, positive)
        for arg in negative:
            out = self.emit(Opcode.SUB, out, self.lower(-arg))
        return out

    def _broadcast(self, args: Sequence[Any], message: str) -> tuple:
        out = self.lower(args[0])
        for arg in args[1:]:
            out = self.emit(Opcode.BROADCAST, out, self.lower(arg), message=message)
        return out

    def check(self, condition: Any, message: str) -> None:
        if type(condition) is not Sym:
            if not condition:
                raise DimError(message)
        elif condition.op == "and":
            for part in condition.args:
                self.check(part, message)
        elif (sizes := broadcast_condition(condition)) is not None:
            self._broadcast(sizes, message)
        elif condition.op in ("eq", "le") and all(kind_of(a) != "float" for a in condition.args):
            opcode = Opcode.CHECK_EQ if condition.op == "eq" else Opcode.CHECK_LE
            a, b = map(self.lower, condition.args)
            self.emit(opcode, a, b, message=message)
        else:
            self.emit(Opcode.CHECK_TRUE, self.lower(condition), message=message)

    def finish(self, outputs: Iterable[tuple], kinds: Iterable[str]) -> Linear:
        """Number the registers and return the program; ``outputs`` are names of registers, ``kinds`` their kinds."""
        inputs = len(self.index)
        position = {key: inputs + i for i, key in enumerate(self.constants)}
        first = inputs + len(position)

        def register(name: tuple | None) -> int:
            if name is None:
                return 0
            where, at = name
            return at if where == "input" else position[at] if where == "const" else first + at

        code = tuple(
            Instruction(op, first + i, register(a), register(b), register(c))
            for i, (op, a, b, c) in enumerate(self.code)
        )
        return Linear(
            inputs, tuple(self.constants.values()), code, tuple(map(register, outputs)), tuple(kinds), self.messages
        )


def broadcast_condition(condition: Sym) -> tuple | None:
    """The two sizes of ``a == b or a == 1 or b == 1``, which one BROADCAST instruction tests."""
    if condition.op != "or" or len(condition.args) != 3 or any(c.op != "eq" for c in condition.args):
        return None
    ones = [c.args[0] for c in condition.args if type(c.args[1]) is int and c.args[1] == 1]
    pairs = [c.args for c in condition.args if type(c.args[1]) is Sym]
    if len(ones) != 2 or len(pairs) != 1 or any(type(a) is not Sym for a in pairs[0]):
        return None
    return pairs[0] if {id(a) for a in ones} == {id(a) for a in pairs[0]} else None


def linearise(exprs: Iterable[Any], symbols: Sequence[Sym], checks: Iterable[Check] = ()) -> Linear:
    """Code that computes ``exprs`` from the values of ``symbols``, after testing ``checks`` in their order."""
    lowering = _Lowering(symbols)
    for check in checks:
        lowering.check(check.condition, check.message)
    wanted = tuple(exprs)
    outputs = [lowering.lower(x) for x in wanted]
    return lowering.finish(outputs, map(kind_of, wanted))
