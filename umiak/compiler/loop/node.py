"""Scalar expressions: a graph of interned nodes, built by functions that fold what they can.

Every node is one number of one type at one point of the iteration space. Equal nodes are the same object, so
expressions are compared by identity and common subexpressions exist once. Nothing here knows of vectors.
"""

from __future__ import annotations

import math
import struct
from _weakref import _remove_dead_weakref
from collections.abc import Callable, Iterable
from typing import Any
from weakref import KeyedRef

from umiak.compiler.loop.expression_text import show
from umiak.compiler.loop.types import BOOL, F32, F64, I64, U32, ScalarType
from umiak.compiler.loop.walk import walk


class Node:
    """``op`` of ``args`` with a static ``attr``; see ``OPS`` for what there is."""

    __slots__ = ("__weakref__", "args", "attr", "axes", "op", "type")
    op: str
    type: ScalarType
    args: tuple[Node, ...]
    attr: Any
    axes: frozenset[Node]  # leaves (axes and variables) that the value depends on

    def __repr__(self) -> str:
        return show(self)


# name -> (number of operands, meaning). Types: operands and result are of one type unless said otherwise.
OPS: dict[str, tuple[int, str]] = {
    # leaves
    "const": (0, "the number `attr` (a Python bool, int or float; floats may be inf and nan)"),
    "dim": (0, "i64: number `attr` of the kernel's integer arguments"),
    "word": (0, "f64 or i64: word `attr` of the scalar pack"),
    "axis": (0, "i64: the index variable named `attr` of an enclosing loop, reduction or scan"),
    "var": (0, "the result named `attr` of a Reduce or Scan, or a carried value"),
    # memory: the element of buffer `attr` at an i64 index; with three operands (index, bool, other) the element is
    # read only where the bool holds and the value is `other` elsewhere
    "load": (-1, "the element of buffer `attr`"),
    # arithmetic; integers wrap
    "add": (2, "a + b"),
    "sub": (2, "a - b"),
    "mul": (2, "a * b"),
    "div": (2, "a / b; integers: towards zero; b = 0 gives 0"),
    "rem": (2, "the remainder of div, sign of a; floats: C's fmod"),
    "mulhi": (2, "u32, u64: high half of the product"),
    "fma": (3, "a * b + c, rounded once (floats)"),
    "neg": (1, "-a"),
    "abs": (1, "|a|"),
    "min": (2, "the smaller; NaN if either is NaN; -0 < +0 is not promised"),
    "max": (2, "the larger; NaN if either is NaN"),
    "floor": (1, "floats"),
    "ceil": (1, "floats"),
    "trunc": (1, "floats"),
    "rint": (1, "floats: to nearest, ties to even"),
    "sqrt": (1, "floats: correctly rounded"),
    "copysign": (2, "floats: |a| with the sign of b"),
    "ldexp": (2, "floats: a * 2**b for an integral float b, |b| <= 4200; underflow and overflow as in IEEE"),
    # bits: integers, bool for the first four
    "and": (2, "a & b"),
    "or": (2, "a | b"),
    "xor": (2, "a ^ b"),
    "not": (1, "~a; bool: not a"),
    "shl": (2, "a << b; b >= bits gives 0"),
    "shr": (2, "a >> b: arithmetic for i, logical for u; b >= bits gives 0 or the sign"),
    # comparisons give bool; with a NaN operand only `ne` holds
    "eq": (2, "a == b"),
    "ne": (2, "a != b"),
    "lt": (2, "a < b"),
    "le": (2, "a <= b"),
    # with `attr` RARE renderers for CPUs compute b only where some lane needs it
    "select": (3, "b where the bool a holds, else c; both are computed"),
    # floats to integers: towards zero; NaN and what is too large are undefined
    "cast": (1, "the value in another type; to bool: a != 0; to narrow floats: to nearest, ties to even"),
    "bitcast": (1, "the same bits in another type of the same size"),
    # functions that compiler/loop/functions expands into the above, for f32 and f64
    **{name: (1, f"{name}(a)") for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
        "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma", "digamma", "logistic", "rsqrt",
        "i0", "i0e", "i1", "i1e")},
    **{name: (2, f"{name}(a, b)") for name in ("pow", "atan2", "nextafter")},
    "denormal": (1, "bool, of f32 and f64: whether a is smaller than normal numbers, but not 0"),
    "philox": (2, "u32: word a (i64) of the Philox4x32-10 stream of key b (i64): its word a % 4 of block a // 4"),
}  # fmt: skip

COMPARISONS = ("eq", "ne", "lt", "le", "denormal")  # what gives bool
RARE = "rare"
COUNTED = "counted"  # `attr` of a div of an index by a size: neither is negative, and the size is not 0
LEAVES = ("const", "dim", "word", "axis", "var")

_interned: dict[tuple, KeyedRef] = {}  # what a WeakValueDictionary is, without its calls in Python
_NONE: frozenset[Node] = frozenset()


def _forget(
    reference: KeyedRef,
    table: dict[tuple, KeyedRef] = _interned,
    remove: Callable[[dict, tuple], None] = _remove_dead_weakref,
) -> None:
    """A node is gone; at the end of the process, when globals are, as well.

    In one step, as WeakValueDictionary does it: another thread may have put a new node under the key.
    """
    remove(table, reference.key)


def make(op: str, type: ScalarType, args: tuple[Node, ...] = (), attr: Any = None) -> Node:
    """The node, without any folding."""
    ident = attr
    if op == "const":
        # 0.0, -0.0, 0 and False are different; so that NaN equals itself, floats go by their bits.
        ident = struct.pack("d", attr) if isinstance(attr, float) else (attr.__class__, attr)
    key = (op, type, args, ident)
    reference = _interned.get(key)
    node = None if reference is None else reference()
    if node is None:
        node = Node()
        node.op, node.type, node.args, node.attr = op, type, args, attr
        if op in ("axis", "var"):
            node.axes = frozenset((node,))
        elif not args:
            node.axes = _NONE
        else:
            axes = args[0].axes
            for a in args:
                if a.axes is not axes and a.axes:
                    axes = axes | a.axes if axes else a.axes
            node.axes = axes
        _interned[key] = KeyedRef(node, _forget, key)
    return node


def const(value: Any, type: ScalarType) -> Node:
    """A number of a type: integers wrap, floats are rounded to it."""
    if type.kind == "b":
        return make("const", type, (), bool(value))
    if type.is_integer:
        value = int(value) & ((1 << type.bits) - 1)
        if type.kind == "i" and value >> (type.bits - 1):
            value -= 1 << type.bits
        return make("const", type, (), value)
    value = float(value)
    if type is F32 and math.isfinite(value):
        try:
            value = struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            value = math.copysign(math.inf, value)
    return make("const", type, (), value)


def i64(value: int) -> Node:
    return _FEW.get(value) or const(value, I64)


def dim(k: int) -> Node:
    """Integer argument ``k``."""
    return make("dim", I64, (), k)


def word(k: int, type: ScalarType = F64) -> Node:
    """Word ``k`` of the scalar pack, as f64 or i64."""
    return make("word", type, (), k)


def axis(name: str) -> Node:
    """The index variable of a loop."""
    return make("axis", I64, (), name)


def var(name: str, type: ScalarType) -> Node:
    """A result of a Reduce or Scan."""
    return make("var", type, (), name)


def load(buffer: str, type: ScalarType, index: Node, where: Node | None = None, other: Node | None = None) -> Node:
    """An element of a buffer whose elements have ``type``."""
    if where is None or is_const(where, True):
        return make("load", type, (index,), buffer)
    if other is None:
        other = const(0, type)
    if is_const(where, False):
        return other
    return make("load", type, (index, where, other), buffer)


def is_const(x: Node, value: Any = None) -> bool:
    """Return whether a node is a constant (equal to ``value``, when given)."""
    return x.op == "const" and (value is None or x.attr == value)


def is_negative_zero(x: Node) -> bool:
    """Return whether a node is -0.0, which added changes nothing (0.0 changes -0.0)."""
    return x.op == "const" and x.attr == 0 and math.copysign(1.0, x.attr) < 0


def cast(x: Node, type: ScalarType) -> Node:
    """``x`` in another type."""
    if x.type is type:
        return x
    if x.op == "cast" and x.args[0].type is type and _holds(x.type, type):
        return x.args[0]
    if x.op == "cast" and _widened(x) is not None and (type.bits >= 32 or type is _widened(x).type):
        return cast(_widened(x), type)
    if x.op == "const" and not (type.is_integer and isinstance(x.attr, float) and not math.isfinite(x.attr)):
        if not type.is_storage:
            return const(x.attr, type)
    return make("cast", type, (x,))


def _widened(x: Node) -> Any:
    """The u32 that a 64-bit integer was made of."""
    return x.args[0] if x.op == "cast" and x.type.is_integer and x.type.bits == 64 and x.args[0].type is U32 else None


def _holds(wide: ScalarType, narrow: ScalarType) -> bool:
    """Return whether every value of a float type goes through another one unchanged."""
    return wide.is_float and narrow.is_float and (wide is F64 or (wide is F32 and narrow is not F64))


def bitcast(x: Node, type: ScalarType) -> Node:
    """The bits of ``x`` as another type."""
    if x.type is type:
        return x
    if x.type.bits != type.bits:
        raise TypeError(f"bitcast requires types of one size, got {x.type} and {type}")
    return make("bitcast", type, (x,))


def call(op: str, *args: Node) -> Node:
    """Any operation of ``OPS`` but leaves, load and casts; its type follows from its operands."""
    count = OPS[op][0]
    if len(args) != count:
        raise TypeError(f"{op} requires {count} operands, got {len(args)}")
    last = args[-1].type
    if op == "select":
        if args[1].type is not last or args[0].type is not BOOL:
            raise _mixed(op, args)
    else:
        for a in args:
            if a.type is not last:
                raise _mixed(op, args)
        if last.is_storage:
            raise TypeError(f"{op} cannot compute in {last}: cast to f32 first")
    folded = _fold(op, args)
    if folded is not None:
        return folded
    return make(op, BOOL if op in COMPARISONS else U32 if op == "philox" else last, args)


def _mixed(op: str, args: tuple[Node, ...]) -> TypeError:
    return TypeError(f"{op} requires operands of one type, got {', '.join(a.type.name for a in args)}")


def _fold(op: str, args: tuple[Node, ...]) -> Node | None:
    """Integers and bools: constants and neutral elements. Floats: only what changes no bit and no NaN."""
    a = args[0]
    t = a.type
    if op == "select":
        if a.op == "const":
            return args[1] if a.attr else args[2]
        return args[1] if args[1] is args[2] else None
    if t.is_float:
        if op == "add" and is_negative_zero(a):
            return args[1]
        if op == "add" and is_negative_zero(args[1]):
            return a
        if op == "mul" and is_const(args[1], 1.0):
            return a
        if op == "mul" and is_const(a, 1.0):
            return args[1]
        if op == "div" and is_const(args[1], 1.0):
            return a
        return None
    b = args[1] if len(args) > 1 else None
    if a.op == "const" and (b is None or b.op == "const"):
        value = _EVALUATE.get(op)
        if value is not None:
            return const(value(*(x.attr for x in args)), BOOL if op in COMPARISONS else t)
    if b is None:
        return None
    if t.is_integer:
        if op == "add":
            return b if is_const(a, 0) else a if is_const(b, 0) else None
        if op == "sub" and is_const(b, 0):
            return a
        if op == "mul":
            if is_const(a, 0) or is_const(b, 0):
                return const(0, t)
            return b if is_const(a, 1) else a if is_const(b, 1) else None
        if op == "div" and is_const(b, 1):
            return a
        if op == "rem" and is_const(b, 1):
            return const(0, t)
        if op in ("shl", "shr", "or", "xor") and is_const(b, 0):
            return a
        if op == "shr" and _widened(a) is not None and b.op == "const" and 0 <= b.attr < 32:
            return cast(call("shr", _widened(a), const(b.attr, U32)), t)
    if t is BOOL and op in ("and", "or"):
        for x, y in ((a, b), (b, a)):
            if x.op == "const":
                return y if x.attr == (op == "and") else x
        return a if a is b else None
    return None


def _divide(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_EVALUATE: dict[str, Any] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": _divide,
    "rem": lambda a, b: a if b == 0 else a - b * _divide(a, b), "neg": lambda a: -a, "abs": abs, "min": min, "max": max,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "not": lambda a: (not a) if isinstance(a, bool) else ~a,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
}  # fmt: skip


_FEW = {value: const(value, I64) for value in range(-1, 129)}  # most numbers in indices


# Short names for writing expressions. Python scalars take the type of the other operand.
def _pair(a: Any, b: Any) -> tuple[Node, Node]:
    if not isinstance(a, Node):
        a = const(a, b.type)
    elif not isinstance(b, Node):
        b = const(b, a.type)
    return a, b


def add(a: Any, b: Any) -> Node:
    return call("add", *_pair(a, b))


def sub(a: Any, b: Any) -> Node:
    return call("sub", *_pair(a, b))


def mul(a: Any, b: Any) -> Node:
    return call("mul", *_pair(a, b))


def div(a: Any, b: Any) -> Node:
    return call("div", *_pair(a, b))


def rem(a: Any, b: Any) -> Node:
    return call("rem", *_pair(a, b))


def minimum(a: Any, b: Any) -> Node:
    return call("min", *_pair(a, b))


def maximum(a: Any, b: Any) -> Node:
    return call("max", *_pair(a, b))


def eq(a: Any, b: Any) -> Node:
    return call("eq", *_pair(a, b))


def ne(a: Any, b: Any) -> Node:
    return call("ne", *_pair(a, b))


def lt(a: Any, b: Any) -> Node:
    return call("lt", *_pair(a, b))


def le(a: Any, b: Any) -> Node:
    return call("le", *_pair(a, b))


def conjunction(*conditions: Node | None) -> Node | None:
    """Return the ``and`` of conditions; None stands for true."""
    result = None
    for c in conditions:
        if c is not None:
            result = c if result is None else call("and", result, c)
    return result


def select(where: Node, a: Any, b: Any) -> Node:
    return call("select", where, *_pair(a, b))


def rarely(where: Node, a: Node, b: Node) -> Node:
    """``select`` for an ``a`` that is costly and seldom needed."""
    plain = select(where, a, b)
    return make("select", plain.type, plain.args, RARE) if plain.op == "select" and plain.args[0] is where else plain


def counted(index: Node, size: Node) -> Node:
    """``index / size`` where the size is that of an axis that has points: renderers count instead of dividing."""
    plain = div(index, size)
    return make("div", I64, plain.args, COUNTED) if plain.op == "div" and plain.args == (index, size) else plain


def fma(a: Node, b: Any, c: Any) -> Node:
    t = a.type
    return call("fma", a, *(x if isinstance(x, Node) else const(x, t) for x in (b, c)))


def exact_product(a: Node, b: Node) -> Node:
    """``a * b`` of floats, to which a sum may add without rounding it first."""
    return fma(a, b, -0.0)


def is_exact_product(x: Node) -> bool:
    return x.op == "fma" and is_negative_zero(x.args[2])


def neg(a: Node) -> Node:
    return call("neg", a)


def total(items: Iterable[Node]) -> Node:
    """The sum of i64 nodes."""
    result = i64(0)
    for x in items:
        result = add(result, x)
    return result


def replace(roots: Iterable[Node], table: dict[Node, Node]) -> list[Node]:
    """The roots with nodes exchanged (whole subtrees); what is above them is folded anew."""
    roots = list(roots)
    replaced: dict[Node, Node] = dict(table)
    for x in walk(roots):
        if x in replaced:
            continue
        args = tuple([replaced[a] for a in x.args])
        replaced[x] = x if args == x.args else rebuild(x, args)  # nodes are equal where they are the same
    return [replaced[r] for r in roots]


def rebuild(x: Node, args: tuple[Node, ...]) -> Node:
    """``x`` over other operands."""
    if x.op == "load":
        return load(x.attr, x.type, *args)
    if x.op == "cast":
        return cast(args[0], x.type)
    if x.op == "bitcast":
        return bitcast(args[0], x.type)
    if x.attr is not None:
        return rarely(*args) if x.attr is RARE else counted(*args)
    return call(x.op, *args)


def linear(index: Node, over: Node) -> tuple[Node, Node] | None:
    """``(coefficient, rest)`` with ``index = coefficient * over + rest`` and neither containing the axis ``over``.

    None where the index is not of that form.
    """
    if over not in index.axes:
        return i64(0), index
    if index is over:
        return i64(1), i64(0)
    if index.op in ("add", "sub"):
        p, q = (linear(a, over) for a in index.args)
        if p is None or q is None:
            return None
        return call(index.op, p[0], q[0]), call(index.op, p[1], q[1])
    if index.op == "mul":
        a, b = index.args
        if over in a.axes and over in b.axes:
            return None
        if over in b.axes:
            a, b = b, a
        p = linear(a, over)
        return None if p is None else (mul(p[0], b), mul(p[1], b))
    return None
