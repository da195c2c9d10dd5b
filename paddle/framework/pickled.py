"""Pickles that hold only data: an interpreter of their opcodes that cannot do more than make it.

Nothing that a file names is called: some names are known, and stand for functions of this module or make plain objects
of the standard library (``plain_objects.py``); others have to be given by who reads the file. What a file can cost is
bounded by its size, with nothing left to the good will of its writer:

* An opcode costs no more time than the bytes that it takes from the file, and no more memory than some hundred bytes
  for each of them. What one reference to an object can multiply has a budget: bytes of arrays, copies of bytes, the
  work of hashing keys.
* Large bytes stay views of the file until they become arrays.
* Tuples nest to a limit, since hashing and comparing them recurses in C. Keys of a dict or set whose hashes are equal
  are counted, since each of them is compared with all of the others.
"""

from __future__ import annotations

import math
import re
import struct
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from paddle.framework import plain_objects
from paddle.framework.plain_objects import Call, Class, Instance, ReferenceDtype, Value
from paddle.framework.random import GeneratorState
from umiak.util.dtypes import TABLE

DEEPEST_TUPLE = 100
MOST_COLLISIONS = 64
_VIEWED = 4096  # bytes from which an object of bytes stays a view of the file
_WORK = 64  # units of hashing for each byte of a file
_SECONDS, _SECONDS_PER_BYTE = 5.0, 20e-6  # of the processor: far above what any file takes
_ROUND = 4096  # opcodes or keys between two looks at the clock


class Corrupt(ValueError):
    """The content is not a file of this kind."""


def collide(h: int, counts: dict[int, int]) -> None:
    """Count one more key with a hash."""
    n = counts[h] = counts.get(h, 0) + 1
    if n > MOST_COLLISIONS:
        raise Corrupt(f"more than {MOST_COLLISIONS} keys with one hash")


class Unknown(Corrupt):
    """A name of the file, which is the message, stands for nothing that is known."""


# --- what is made while a file is read -------------------------------------------------------------------------------


class Span:
    """Large bytes of the file, kept as a view until an array takes them."""

    __slots__ = ("view",)

    def __init__(self, view: memoryview) -> None:
        self.view = view


_CODE = re.compile(r"[<>|=]?(?:b1|i[1248]|u[1248]|f(?:2|4|8|16)|c(?:8|16|32)|[SUV]\d{1,9}|[Mm]8|O8?)")
_OWN = {row.name: row.numpy for row in TABLE if row.numpy.type.__module__ != "numpy"}


class DType:
    """A ``numpy.dtype``."""

    __slots__ = ("value",)

    def __init__(self, code: Any) -> None:
        if type(code) is not str or not (code in _OWN or _CODE.fullmatch(code)):
            raise Corrupt("a dtype that is not plain")
        try:
            self.value = _OWN.get(code) or np.dtype(code)
        except TypeError:
            raise Corrupt(f"unknown dtype {code!r}") from None

    def build(self, state: Any) -> None:
        if type(state) is not tuple or len(state) < 2:
            raise Corrupt("the state of a dtype")
        if len(state) > 5 and state[3] is not None:
            self._fields(state[3], state[4], state[5])
            return
        order = state[1]
        if self.value.itemsize > 1 and self.value.kind not in "Mm" and order in ("<", ">"):
            ordered = self.value.newbyteorder(order)
            self.value = self.value if ordered.isnative else ordered

    def _fields(self, names: Any, fields: Any, size: Any) -> None:
        """Make it one of records. Fields lie within the size that the code has said, which the bytes must have."""
        if type(names) is not tuple or type(fields) is not dict or type(size) is not int or size != self.value.itemsize:
            raise Corrupt("the fields of a dtype")
        formats, offsets = [], []
        for name in names:
            field = fields.get(name)
            if type(field) is not tuple or len(field) < 2 or not isinstance(field[0], DType):
                raise Corrupt("a field of a dtype")
            kind, offset = field[0].value, field[1]
            if type(offset) is not int or offset < 0 or offset + kind.itemsize > size or kind.fields or kind.hasobject:
                raise Corrupt("a field of a dtype")
            formats.append(kind)
            offsets.append(offset)
        self.value = np.dtype({"names": list(names), "formats": formats, "offsets": offsets, "itemsize": size})


class Array:
    """A NumPy array being rebuilt: a view of bytes of the file, which must be as many as its shape and dtype say.

    One of objects has a list of them, which are converted later.
    """

    __slots__ = ("objects", "shape", "value")

    def __init__(self) -> None:
        self.value: np.ndarray | None = None
        self.objects: list[Any] | None = None
        self.shape: tuple[int, ...] = ()

    def fill(self, machine: Machine, data: Any, dtype: Any, shape: Any, fortran: bool) -> None:
        if type(shape) is not tuple or not all(type(n) is int and n >= 0 for n in shape) or len(shape) > 64:
            raise Corrupt("the shape of an array")
        if not isinstance(dtype, DType):
            raise Corrupt("the dtype of an array")
        if dtype.value.hasobject:
            if type(data) is not list or len(data) != math.prod(shape):
                raise Corrupt("an array whose objects do not match its shape")
            machine.copy(len(data))
            self.objects, self.shape = data, shape  # a list is in C's order, whatever the array's was
            return
        raw = _buffer(data)
        if raw is None or len(raw) != math.prod(shape) * dtype.value.itemsize:
            raise Corrupt("an array whose bytes do not match its shape")
        machine.arrays += len(raw)
        if machine.arrays > machine.size:
            raise Corrupt("arrays with more bytes than the file has")
        if dtype.value.itemsize:
            a = np.frombuffer(raw, dtype.value) if len(raw) else np.empty(0, dtype.value)
        else:
            machine.copy(math.prod(shape))
            a = np.empty(math.prod(shape), dtype.value)
        self.value = a.reshape(shape[::-1]).T if fortran else a.reshape(shape)

    def build(self, machine: Machine, state: Any) -> None:
        if type(state) is not tuple or len(state) != 5 or self.value is not None or self.objects is not None:
            raise Corrupt("the state of an array")
        _, shape, dtype, fortran, data = state
        self.fill(machine, data, dtype, shape, bool(fortran is True))


def _buffer(data: Any) -> Any:
    if isinstance(data, Span):
        return data.view
    if type(data) in (bytes, bytearray):
        return data
    if type(data) is str:  # how Python 2 stored bytes
        try:
            return data.encode("latin1")
        except UnicodeEncodeError:
            return None
    return None


class Pair(tuple):
    """A ``(name, array)``."""

    __slots__ = ()


# --- what names stand for ------------------------------------------------------------------------------------------


def _dtype(machine: Machine, code: Any, *flags: Any) -> DType:
    return DType(getattr(code.value, "__name__", None) if type(code) is Value else code)


def _reconstruct(machine: Machine, *args: Any) -> Array:
    return Array()


def _frombuffer(machine: Machine, data: Any, dtype: Any, shape: Any, order: Any) -> Array:
    out = Array()
    out.fill(machine, data, dtype, shape, order == "F")
    return out


def _scalar(machine: Machine, dtype: Any, data: Any = b"") -> Any:
    raw = _buffer(data)
    if not isinstance(dtype, DType) or raw is None or len(raw) != dtype.value.itemsize or not len(raw):
        raise Corrupt("a NumPy scalar")
    machine.copy(len(raw))
    return np.frombuffer(raw, dtype.value)[0]


def _tuple(machine: Machine, items: Any = ()) -> tuple:
    if type(items) is not tuple:
        raise Corrupt("a tuple made by a call of what is none")
    named = len(items) == 2 and type(items[0]) is str and isinstance(items[1], Array)
    return Pair(items) if named else items


def _set(machine: Machine, items: Any = ()) -> set:
    if type(items) not in (list, tuple):
        raise Corrupt("a set made by a call")
    out: set = set()
    machine.insert_all(out, items)
    if type(items) is list:
        items.clear()  # so that one list cannot feed many sets
    return out


def _frozenset(machine: Machine, items: Any = ()) -> frozenset:
    return frozenset(_set(machine, items))


def _bytearray(machine: Machine, data: Any = b"", encoding: Any = "latin1") -> bytearray:
    if type(data) is str:
        data = machine.encoded(data, encoding)
    raw = _buffer(data)
    if raw is None:
        raise Corrupt("a bytearray made by a call")
    machine.copy(len(raw))
    return bytearray(raw)


def _ordered(machine: Machine, *args: Any) -> OrderedDict:
    if args and not (len(args) == 1 and type(args[0]) is list and not args[0]):
        raise Corrupt("an OrderedDict made from arguments")
    return OrderedDict()


def _complex(machine: Machine, real: Any, imaginary: Any) -> complex:
    if type(real) is not float or type(imaginary) is not float:
        raise Corrupt("a complex number")
    return complex(real, imaginary)


def _evaluated(machine: Machine, text: Any, names: Any) -> Array:
    """The memory of a tensor of a static program, as the reference stores it: ``eval("data", {"data": array})``."""
    if text != "data" or type(names) is not dict or list(names) != ["data"] or not isinstance(names["data"], Array):
        raise Corrupt("a text that is to be evaluated")
    return names["data"]


def _attribute(machine: Machine, of: Any, name: Any) -> Class:
    """A class or function in a class, as protocols before 4 name it, of those that may be called."""
    if type(of) is not Class or type(name) is not str:
        raise Corrupt("an attribute of what is no class")
    module, outer = of.value.__module__, of.value.__qualname__
    found = machine.trusted.get((module, f"{outer}.{name}"))
    if found is None:
        raise Unknown(f"{module}.{outer}.{name[:100]}")
    return found


def _encode(machine: Machine, text: Any, encoding: Any = "latin1") -> Any:
    return machine.encoded(text, encoding)


def _generator(machine: Machine, state: Any) -> GeneratorState:
    if type(state) is not tuple or len(state) != 2 or not all(type(n) is int and 0 <= n < 1 << 64 for n in state):
        raise Corrupt("the state of a generator")
    return GeneratorState(state)


_NAMES: dict[tuple[str, str], Any] = {
    ("numpy", "dtype"): _dtype,
    ("numpy", "ndarray"): Value(np.ndarray),
    ("collections", "OrderedDict"): _ordered,
    ("_codecs", "encode"): _encode,
    (GeneratorState.__module__, "GeneratorState"): _generator,
}
for _builtins in ("builtins", "__builtin__"):
    for _name, _make in (
        ("tuple", _tuple), ("set", _set), ("frozenset", _frozenset), ("bytearray", _bytearray), ("complex", _complex),
        ("eval", _evaluated), ("getattr", _attribute),
    ):  # fmt: skip
        _NAMES[_builtins, _name] = _make
for _core in ("core", "_core"):
    _NAMES[f"numpy.{_core}.multiarray", "_reconstruct"] = _reconstruct
    _NAMES[f"numpy.{_core}.multiarray", "scalar"] = _scalar
    _NAMES[f"numpy.{_core}.numeric", "_frombuffer"] = _frombuffer
for _name, _own in _OWN.items():
    _NAMES["ml_dtypes", _name] = _NAMES["ml_dtypes._ml_dtypes_ext", _name] = Value(_own.type)
for _code in np.typecodes["All"]:
    _scalar_type = np.dtype(_code).type
    _NAMES["numpy", _scalar_type.__name__] = Value(_scalar_type)
# As data a name of a type is the type.
_TYPES = {
    _tuple: tuple,
    _set: set,
    _frozenset: frozenset,
    _bytearray: bytearray,
    _complex: complex,
    _ordered: OrderedDict,
}
_FOUND: dict[tuple[str, str], Any] = {
    key: Call(value, _TYPES.get(value)) if callable(value) else value for key, value in _NAMES.items()
}
_FOUND.update(plain_objects.NAMES)


# --- the interpreter -----------------------------------------------------------------------------------------------


class Machine:
    """Carries out the opcodes of one pickle, which begins at the first byte of ``data``.

    ``trusted``: names that the file may call besides (``plain_objects.trusted_names``).
    """

    def __init__(self, data: memoryview, trusted: Mapping[tuple[str, str], Class] | None = None) -> None:
        self.data = data
        self.trusted = trusted or {}
        self.size = len(data)
        self.at = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: list[Any] = []
        self.sparse: dict[int, Any] = {}  # what was put under other numbers than the next
        self.arrays = 0
        self.copies = 0
        self.work = 0
        self.texts: dict[int, tuple[str, Any]] = {}
        self.nested: dict[int, tuple[tuple, int]] = {}
        self.hashes: dict[int, tuple[Any, dict[int, int]]] = {}
        self.until = time.thread_time() + _SECONDS + _SECONDS_PER_BYTE * self.size

    def run(self) -> Any:
        """The value of the pickle. ``at`` is then its end."""
        data, size = self.data, self.size
        while True:
            self.look_at_the_clock()
            for _ in range(_ROUND):
                if self.at >= size:
                    raise Corrupt("it ends before its end")
                opcode = data[self.at]
                self.at += 1
                if opcode == 0x2E:
                    return self.pop()
                step = _STEPS[opcode]
                if step is None:
                    raise Corrupt(f"the opcode {bytes([opcode])!r}, which data do not need")
                step(self)

    # Budgets

    def look_at_the_clock(self) -> None:
        if time.thread_time() > self.until:
            raise Corrupt("content that takes far longer than its size can")

    def copy(self, n: int) -> None:
        self.copies += n
        if self.copies > self.size:
            raise Corrupt("the same bytes many times")

    def spend(self, n: int) -> None:
        self.work += n
        if self.work > _WORK * self.size:
            raise Corrupt("keys that take too long to compare")

    def hash_of(self, key: Any) -> int:
        """The hash of a key, once it is sure that it can be had."""
        left = [key]
        while left:
            x = left.pop()
            kind = type(x)
            if kind is str or kind is bytes:
                self.spend(1 + (len(x) >> 6))
            elif kind is int:
                self.spend(1 + (x.bit_length() >> 9))
            elif kind is tuple:
                self.spend(1 + len(x))
                left.extend(x)
            elif kind is frozenset:
                self.spend(1 + len(x))  # its elements were hashed when it was made
            elif x is None or kind in (float, bool, complex):
                self.spend(1)
            elif isinstance(x, np.generic):
                self.spend(1 + (x.nbytes >> 6))
            elif kind is Instance or isinstance(x, plain_objects.HASHABLE):  # one that is made later has its own then
                self.spend(16)
            else:
                raise Corrupt(f"a key that is a {kind.__name__.lower()}")
        return hash(key)

    def _counts(self, container: Any) -> dict[int, int]:
        hashed = self.hashes.get(id(container))
        if hashed is None:
            hashed = self.hashes[id(container)] = (container, {})
        return hashed[1]

    def insert_all(self, container: set, items: Any) -> None:
        counts = self._counts(container)
        for number, key in enumerate(items):
            if not number % _ROUND:
                self.look_at_the_clock()
            if type(key) is Span:
                key = bytes(key.view)
            collide(self.hash_of(key), counts)
            container.add(key)

    def set_items(self, table: Any, items: list[Any]) -> None:
        if len(items) % 2:
            raise Corrupt("a key without a value")
        if type(table) not in (dict, OrderedDict, Instance):
            raise Corrupt("items of what is no dict")
        counts = self._counts(table)
        for i in range(0, len(items), 2):
            if not i % _ROUND:
                self.look_at_the_clock()
            key = items[i]
            if type(key) is Span:
                self.copy(len(key.view))
                key = bytes(key.view)
            collide(self.hash_of(key), counts)
            if type(table) is Instance:
                table.items.append((key, items[i + 1]))
            else:
                table[key] = items[i + 1]

    def encoded(self, text: Any, encoding: Any) -> Any:
        """Bytes that were stored as text. A text is encoded once, however often it is asked for."""
        if type(text) is not str or encoding not in ("latin1", "latin-1"):
            raise Corrupt("encoded text")
        data = self.texts.get(id(text))
        if data is None:
            try:
                raw = text.encode("latin1")
            except UnicodeEncodeError:
                raise Corrupt("encoded text of other characters") from None
            data = self.texts[id(text)] = (text, raw if len(raw) < _VIEWED else Span(memoryview(raw)))
        return data[1]

    # Bytes of the file

    def take(self, n: int) -> memoryview:
        end = self.at + n
        if n < 0 or end > self.size:
            raise Corrupt("it ends before its end")
        out = self.data[self.at : end]
        self.at = end
        return out

    def byte(self) -> int:
        if self.at >= self.size:
            raise Corrupt("it ends before its end")
        self.at += 1
        return self.data[self.at - 1]

    def number(self, n: int) -> int:
        return int.from_bytes(self.take(n), "little")

    def line(self, most: int = 4096) -> bytes:
        rest = bytes(self.data[self.at : self.at + most])
        end = rest.find(b"\n")
        if end < 0:
            raise Corrupt("a line without an end")
        self.at += end + 1
        return rest[:end]

    # The stack

    def pop(self) -> Any:
        stack = self.stack
        if not stack or (self.marks and self.marks[-1] >= len(stack)):
            raise Corrupt("nothing where something is used")
        return stack.pop()

    def top(self) -> Any:
        if not self.stack or (self.marks and self.marks[-1] >= len(self.stack)):
            raise Corrupt("nothing where something is used")
        return self.stack[-1]

    def pop_to_mark(self) -> list[Any]:
        if not self.marks:
            raise Corrupt("the end of what has no beginning")
        begin = self.marks.pop()
        out = self.stack[begin:]
        del self.stack[begin:]
        return out

    def push_tuple(self, items: tuple) -> None:
        deepest = 0
        for x in items:
            if type(x) is tuple:
                known = self.nested.get(id(x))
                deepest = max(deepest, 1 if known is None else known[1])
        if deepest:
            if deepest >= DEEPEST_TUPLE:
                raise Corrupt(f"tuples more than {DEEPEST_TUPLE} deep")
            self.nested[id(items)] = (items, deepest + 1)
        self.stack.append(items)

    def push_bytes(self, n: int) -> None:
        view = self.take(n)
        self.stack.append(bytes(view) if n < _VIEWED else Span(view))

    def push_text(self, n: int, encoding: str = "utf-8") -> None:
        try:
            self.stack.append(str(self.take(n), encoding, "surrogatepass" if encoding == "utf-8" else "strict"))
        except UnicodeDecodeError:
            raise Corrupt("text that is not UTF-8") from None

    def remember(self, number: int, value: Any) -> None:
        if number == len(self.memo) and number not in self.sparse:
            self.memo.append(value)
        elif number < len(self.memo):
            self.memo[number] = value
        else:
            self.sparse[number] = value

    def recall(self, number: int) -> None:
        if number < len(self.memo):
            self.stack.append(self.memo[number])
        elif number in self.sparse:
            self.stack.append(self.sparse[number])
        else:
            raise Corrupt("a reference to nothing")

    def push_name(self, module: Any, name: Any) -> None:
        if type(module) is not str or type(name) is not str:
            raise Corrupt("a name that is no text")
        value = _FOUND.get((module, name)) or self.trusted.get((module, name))
        if value is None:
            raise Unknown(f"{module[:100]}.{name[:100]}")
        self.stack.append(value)


Step = Callable[[Machine], None]
_STEPS: list[Step | None] = [None] * 256


def _on(opcode: bytes) -> Callable[[Step], Step]:
    def enter(step: Step) -> Step:
        _STEPS[opcode[0]] = step
        return step

    return enter


def _constant(opcode: bytes, value: Any) -> None:
    _STEPS[opcode[0]] = lambda m: m.stack.append(value)


for _opcode, _value in ((b"N", None), (b"\x88", True), (b"\x89", False), (b")", ())):
    _constant(_opcode, _value)
_STEPS[b"]"[0]] = lambda m: m.stack.append([])
_STEPS[b"}"[0]] = lambda m: m.stack.append({})
_STEPS[b"\x8f"[0]] = lambda m: m.stack.append(set())
_STEPS[b"("[0]] = lambda m: m.marks.append(len(m.stack))
_STEPS[b"K"[0]] = lambda m: m.stack.append(m.byte())
_STEPS[b"M"[0]] = lambda m: m.stack.append(m.number(2))
_STEPS[b"J"[0]] = lambda m: m.stack.append(int.from_bytes(m.take(4), "little", signed=True))
_STEPS[b"\x8a"[0]] = lambda m: m.stack.append(int.from_bytes(m.take(m.byte()), "little", signed=True))
_STEPS[b"\x8b"[0]] = lambda m: m.stack.append(int.from_bytes(m.take(m.number(4)), "little", signed=True))
_STEPS[b"G"[0]] = lambda m: m.stack.append(struct.unpack(">d", m.take(8))[0])
_STEPS[b"C"[0]] = lambda m: m.push_bytes(m.byte())
_STEPS[b"B"[0]] = lambda m: m.push_bytes(m.number(4))
_STEPS[b"\x8e"[0]] = lambda m: m.push_bytes(m.number(8))
_STEPS[b"\x96"[0]] = lambda m: m.stack.append(bytearray(m.take(m.number(8))))
_STEPS[b"\x8c"[0]] = lambda m: m.push_text(m.byte())
_STEPS[b"X"[0]] = lambda m: m.push_text(m.number(4))
_STEPS[b"\x8d"[0]] = lambda m: m.push_text(m.number(8))
_STEPS[b"U"[0]] = lambda m: m.push_text(m.byte(), "latin1")
_STEPS[b"T"[0]] = lambda m: m.push_text(m.number(4), "latin1")
_STEPS[b"V"[0]] = lambda m: m.stack.append(str(m.line(1 << 16), "raw-unicode-escape"))
_STEPS[b"q"[0]] = lambda m: m.remember(m.byte(), m.top())
_STEPS[b"r"[0]] = lambda m: m.remember(m.number(4), m.top())
_STEPS[b"\x94"[0]] = lambda m: m.remember(len(m.memo) + len(m.sparse), m.top())
_STEPS[b"h"[0]] = lambda m: m.recall(m.byte())
_STEPS[b"j"[0]] = lambda m: m.recall(m.number(4))
_STEPS[b"c"[0]] = lambda m: m.push_name(str(m.line(), "utf-8"), str(m.line(), "utf-8"))
_STEPS[b"2"[0]] = lambda m: m.stack.append(m.top())
_STEPS[b"t"[0]] = lambda m: m.push_tuple(tuple(m.pop_to_mark()))
_STEPS[b"\x85"[0]] = lambda m: m.push_tuple((m.pop(),))
_STEPS[b"l"[0]] = lambda m: m.stack.append(m.pop_to_mark())


@_on(b"\x80")
def _protocol(m: Machine) -> None:
    if m.byte() > 5:
        raise Corrupt("a later protocol than 5")


@_on(b"\x95")
def _frame(m: Machine) -> None:
    if m.number(8) > m.size - m.at:
        raise Corrupt("it ends before its end")


@_on(b"I")
def _int_line(m: Machine) -> None:
    text = m.line()
    m.stack.append(text == b"01" if text in (b"00", b"01") else int(text))


@_on(b"L")
def _long_line(m: Machine) -> None:
    m.stack.append(int(m.line().rstrip(b"L")))


@_on(b"F")
def _float_line(m: Machine) -> None:
    m.stack.append(float(m.line()))


@_on(b"p")
def _put_line(m: Machine) -> None:
    m.remember(_index(m.line()), m.top())


@_on(b"g")
def _get_line(m: Machine) -> None:
    m.recall(_index(m.line()))


def _index(text: bytes) -> int:
    if not text.isdigit() or len(text) > 18:
        raise Corrupt("a number of a reference")
    return int(text)


@_on(b"0")
def _pop(m: Machine) -> None:
    if m.marks and m.marks[-1] == len(m.stack):
        m.marks.pop()
    else:
        m.pop()


@_on(b"1")
def _pop_to_mark(m: Machine) -> None:
    m.pop_to_mark()


@_on(b"\x86")
def _tuple2(m: Machine) -> None:
    b, a = m.pop(), m.pop()
    m.push_tuple((a, b))


@_on(b"\x87")
def _tuple3(m: Machine) -> None:
    c, b, a = m.pop(), m.pop(), m.pop()
    m.push_tuple((a, b, c))


@_on(b"d")
def _dict(m: Machine) -> None:
    out: dict = {}
    m.set_items(out, m.pop_to_mark())
    m.stack.append(out)


@_on(b"a")
def _append(m: Machine) -> None:
    value, out = m.pop(), m.top()
    _elements(out).append(value)


@_on(b"e")
def _appends(m: Machine) -> None:
    values, out = m.pop_to_mark(), m.top()
    _elements(out).extend(values)


def _elements(of: Any) -> list[Any]:
    if type(of) is Instance:
        return of.elements
    if type(of) is not list:
        raise Corrupt("elements of what is no list")
    return of


@_on(b"s")
def _set_item(m: Machine) -> None:
    value, key = m.pop(), m.pop()
    m.set_items(m.top(), [key, value])


@_on(b"u")
def _set_items(m: Machine) -> None:
    items = m.pop_to_mark()
    m.set_items(m.top(), items)


@_on(b"\x90")
def _add_items(m: Machine) -> None:
    items, out = m.pop_to_mark(), m.top()
    if type(out) is not set:
        raise Corrupt("elements of what is no set")
    m.insert_all(out, items)


@_on(b"\x91")
def _make_frozenset(m: Machine) -> None:
    m.stack.append(_frozenset(m, m.pop_to_mark()))


@_on(b"\x93")
def _stack_name(m: Machine) -> None:
    name, module = m.pop(), m.pop()
    m.push_name(module, name)


@_on(b"R")
def _reduce(m: Machine) -> None:
    arguments, call = m.pop(), m.pop()
    if type(arguments) is not tuple or type(call) not in (Call, Class):
        raise Corrupt("a call of a name that makes no data")
    m.stack.append(_called(m, call, arguments))


def _called(m: Machine, call: Call | Class, arguments: tuple) -> Any:
    if isinstance(call, Class):
        return _instance(call, call.value, arguments, {})
    try:
        return call.make(m, *arguments)
    except (TypeError, ArithmeticError):
        raise Corrupt("a call with other arguments") from None


def _instance(of: Class, make: Callable[..., Any], arguments: tuple, keywords: dict[str, Any]) -> Instance:
    given = (*arguments, *keywords.values())
    if of.takes is not None and not all(type(x) in of.takes for x in given):
        raise Corrupt("an instance of other arguments")
    return Instance(make, arguments, keywords)


@_on(b"\x81")
def _new(m: Machine) -> None:
    arguments, kind = m.pop(), m.pop()
    _push_new(m, kind, arguments, {})


@_on(b"\x92")
def _new_with_keywords(m: Machine) -> None:
    keywords, arguments, kind = m.pop(), m.pop(), m.pop()
    _push_new(m, kind, arguments, keywords)


def _push_new(m: Machine, kind: Any, arguments: Any, keywords: Any) -> None:
    if type(arguments) is not tuple or type(kind) not in (Call, Class) or type(keywords) is not dict:
        raise Corrupt("an instance of what is no class")
    if type(kind) is Class and isinstance(kind.value, type):
        if not all(type(name) is str for name in keywords):
            raise Corrupt("an instance that is made with keywords that are no names")
        m.stack.append(_instance(kind, partial(kind.value.__new__, kind.value), arguments, dict(keywords)))
    elif keywords:
        raise Corrupt("an instance that is made with keywords")
    else:
        m.stack.append(_called(m, kind, arguments))


@_on(b"b")
def _build(m: Machine) -> None:
    state, instance = m.pop(), m.top()
    if isinstance(instance, Array):
        instance.build(m, state)
    elif isinstance(instance, (DType, ReferenceDtype)):
        try:
            instance.build(state)
        except TypeError as error:
            raise Corrupt(str(error)) from None
    elif type(instance) is Instance and not instance.has_state:
        instance.state = state
    else:
        raise Corrupt("a state of what has none")
