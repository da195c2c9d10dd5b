"""Instructions that make, move and combine values: constants, variables, operators, attributes, containers, texts."""

from __future__ import annotations

import dis
import operator
from collections.abc import Callable
from types import CellType
from typing import Any

from paddle.jit.sot.bytecode import VERSION, Instruction
from paddle.jit.sot.control import Uncapturable
from paddle.jit.sot.frame import NULL, RETURNED, Frame, op
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym

# --- constants, variables


@op("NOP", "RESUME", "PRECALL", "NOT_TAKEN", "COPY_FREE_VARS")
def _nothing(f: Frame, i: Instruction) -> None:
    pass


@op("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_CONST_IMMORTAL")
def _load_const(f: Frame, i: Instruction) -> None:
    f.push(i.argval)


@op("RETURN_CONST")
def _return_const(f: Frame, i: Instruction) -> str:
    f.result = i.argval
    return RETURNED


@op("RETURN_VALUE")
def _return_value(f: Frame, i: Instruction) -> str:
    f.result = f.pop()
    return RETURNED


@op("LOAD_COMMON_CONSTANT")
def _load_common(f: Frame, i: Instruction) -> None:
    f.push((AssertionError, NotImplementedError, tuple, all, any, list, set)[i.arg])


@op("LOAD_ASSERTION_ERROR")
def _load_assertion_error(f: Frame, i: Instruction) -> None:
    f.push(AssertionError)


def _load(f: Frame, name: str) -> None:
    f.push(f.cells[name] if name in f.cells and name not in f.variables else f.variable(name))


@op("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_CLOSURE")
def _load_fast(f: Frame, i: Instruction) -> None:
    _load(f, i.argval)


@op("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _load_fast_twice(f: Frame, i: Instruction) -> None:
    for name in i.argval:
        _load(f, name)


@op("LOAD_FAST_AND_CLEAR")
def _load_and_clear(f: Frame, i: Instruction) -> None:
    x = f.variables.pop(i.argval, NULL)
    f.push(f.cells.pop(i.argval) if x is NULL and i.argval in f.cells else x)


@op("STORE_FAST", "STORE_FAST_MAYBE_NULL")
def _store_fast(f: Frame, i: Instruction) -> None:
    _store(f, i.argval, f.pop())


def _store(f: Frame, name: str, x: Any) -> None:
    if x is NULL:
        f.variables.pop(name, None)
        f.cells.pop(name, None) if name in f.code.co_varnames else None
    elif isinstance(x, CellType) and name in f.code.co_cellvars and name not in f.variables:
        f.cells[name] = x  # put back after a comprehension
    else:
        f.variables[name] = x


@op("STORE_FAST_STORE_FAST")
def _store_twice(f: Frame, i: Instruction) -> None:
    for name in i.argval:
        _store(f, name, f.pop())


@op("STORE_FAST_LOAD_FAST")
def _store_load(f: Frame, i: Instruction) -> None:
    _store(f, i.argval[0], f.pop())
    _load(f, i.argval[1])


@op("DELETE_FAST")
def _delete_fast(f: Frame, i: Instruction) -> None:
    f.variable(i.argval)
    del f.variables[i.argval]


@op("MAKE_CELL")
def _make_cell(f: Frame, i: Instruction) -> None:
    cell = f.trace.made(CellType())
    if i.argval in f.variables:
        cell.cell_contents = f.variables.pop(i.argval)
    f.cells[i.argval] = cell


@op("LOAD_DEREF", "LOAD_CLASSDEREF")
def _load_deref(f: Frame, i: Instruction) -> None:
    try:
        f.push(f.known(f.trace.contents(f.cells[i.argval], i.argval)))
    except ValueError:
        kind = UnboundLocalError if i.argval in f.code.co_cellvars else NameError
        raise kind(f"cannot access variable {i.argval!r} where it is not associated with a value") from None


@op("STORE_DEREF")
def _store_deref(f: Frame, i: Instruction) -> None:
    f.trace.write_cell(f.cells[i.argval], f.pop())


@op("DELETE_DEREF")
def _delete_deref(f: Frame, i: Instruction) -> None:
    cell = f.cells[i.argval]
    if not f.trace.is_fresh(cell):
        raise Uncapturable(f"a variable of an enclosing function is deleted ({f.where()})")
    del cell.cell_contents


@op("LOAD_GLOBAL")
def _load_global(f: Frame, i: Instruction) -> None:
    x = f.known(f.global_variable(i.argval))
    if VERSION >= (3, 11) and i.arg & 1:
        f.push_callable(x)
    else:
        f.push(x)


@op("LOAD_NAME")
def _load_name(f: Frame, i: Instruction) -> None:
    f.push(f.variables[i.argval] if i.argval in f.variables else f.global_variable(i.argval))


@op("STORE_GLOBAL")
def _store_global(f: Frame, i: Instruction) -> None:
    f.trace.globals[id(f.globals), i.argval] = f.globals, f.pop()


# --- the stack


@op("POP_TOP", "POP_ITER")
def _pop_top(f: Frame, i: Instruction) -> None:
    f.stack.pop()


@op("END_FOR")
def _end_for(f: Frame, i: Instruction) -> None:
    f.stack.pop()


@op("PUSH_NULL")
def _push_null(f: Frame, i: Instruction) -> None:
    f.push(NULL)


@op("COPY")
def _copy(f: Frame, i: Instruction) -> None:
    f.push(f.peek(i.arg))


@op("SWAP")
def _swap(f: Frame, i: Instruction) -> None:
    s = f.stack
    s[-1], s[-i.arg] = s[-i.arg], s[-1]


@op("DUP_TOP")
def _dup_top(f: Frame, i: Instruction) -> None:
    f.push(f.peek())


@op("DUP_TOP_TWO")
def _dup_top_two(f: Frame, i: Instruction) -> None:
    f.stack += [f.peek(2), f.peek(1)]


@op("ROT_TWO", "ROT_THREE", "ROT_FOUR", "ROT_N")
def _rot(f: Frame, i: Instruction) -> None:
    n = {"ROT_TWO": 2, "ROT_THREE": 3, "ROT_FOUR": 4}.get(i.opname, i.arg)
    f.stack.insert(len(f.stack) - n, f.stack.pop())


# --- operators

_BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "<<": operator.lshift, ">>": operator.rshift,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
    "%=": operator.imod, "**=": operator.ipow, "@=": operator.imatmul, "<<=": operator.ilshift, ">>=": operator.irshift,
    "&=": operator.iand, "|=": operator.ior, "^=": operator.ixor, "[]": operator.getitem,
}  # fmt: skip
_NAMED = {
    "ADD": "+", "SUBTRACT": "-", "MULTIPLY": "*", "TRUE_DIVIDE": "/", "FLOOR_DIVIDE": "//", "MODULO": "%",
    "POWER": "**", "MATRIX_MULTIPLY": "@", "LSHIFT": "<<", "RSHIFT": ">>", "AND": "&", "OR": "|", "XOR": "^",
}  # fmt: skip
_COMPARE = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@op("BINARY_OP")
def _binary_op(f: Frame, i: Instruction) -> None:
    function = _BINARY[_operator_name(i.arg)]
    if function is operator.getitem:  # from CPython 3.14 on
        _subscript(f, i)
        return
    y, x = f.pop(), f.pop()
    f.push(f.do(function, x, y))


def _operator_name(arg: int) -> str:
    return dis._nb_ops[arg][1]


@op(*(f"{form}_{name}" for form in ("BINARY", "INPLACE") for name in _NAMED))
def _old_binary(f: Frame, i: Instruction) -> None:
    form, _, name = i.opname.partition("_")
    y, x = f.pop(), f.pop()
    f.push(f.do(_BINARY[_NAMED[name] + ("=" if form == "INPLACE" else "")], x, y))


@op("UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT")
def _unary(f: Frame, i: Instruction) -> None:
    functions: dict[str, Callable[..., Any]] = {
        "UNARY_NEGATIVE": operator.neg,
        "UNARY_POSITIVE": operator.pos,
        "UNARY_INVERT": operator.invert,
    }
    f.push(f.do(functions[i.opname], f.pop()))


@op("UNARY_NOT")
def _not(f: Frame, i: Instruction) -> None:
    f.push(not f.truth(f.pop()))


@op("TO_BOOL")
def _to_bool(f: Frame, i: Instruction) -> None:
    f.push(f.truth(f.pop()))


@op("COMPARE_OP")
def _compare(f: Frame, i: Instruction) -> None:
    y, x = f.pop(), f.pop()
    name = i.argval if i.argval in _COMPARE else str(i.argval).removeprefix("bool(").removesuffix(")")
    result = f.do(_COMPARE[name], x, y)
    if VERSION >= (3, 13) and i.arg & 16 and (f.trace.native or not isinstance(result, (Tensor, Sym))):
        result = bool(result)
    f.push(result)


@op("IS_OP")
def _is(f: Frame, i: Instruction) -> None:
    y, x = f.pop(), f.pop()
    f.push(f.simulator.identical(x, y) != bool(i.arg))


@op("CONTAINS_OP")
def _contains(f: Frame, i: Instruction) -> None:
    y, x = f.pop(), f.pop()
    f.push(f.do(operator.contains, y, x) != bool(i.arg))


@op("BINARY_SUBSCR")
def _subscript(f: Frame, i: Instruction) -> None:
    key = f.pop()
    known = f.trace.appended_at(f.stack[-1], key) if f.pending is None else None
    if known is None:
        f.push(f.do(operator.getitem, f.pop(), key))
        return
    f.trace.count += 1  # as an operation would
    f.stack[-1] = known[0]


@op("STORE_SUBSCR")
def _store_subscript(f: Frame, i: Instruction) -> None:
    key, x, value = f.pop(), f.pop(), f.pop()
    f.do(operator.setitem, x, key, value)


@op("DELETE_SUBSCR")
def _delete_subscript(f: Frame, i: Instruction) -> None:
    key, x = f.pop(), f.pop()
    f.do(operator.delitem, x, key)


@op("BINARY_SLICE")
def _binary_slice(f: Frame, i: Instruction) -> None:
    stop, start, x = f.pop(), f.pop(), f.pop()
    f.push(f.do(operator.getitem, x, slice(start, stop)))


@op("STORE_SLICE")
def _store_slice(f: Frame, i: Instruction) -> None:
    stop, start, x, value = f.pop(), f.pop(), f.pop(), f.pop()
    f.do(operator.setitem, x, slice(start, stop), value)


@op("BUILD_SLICE")
def _build_slice(f: Frame, i: Instruction) -> None:
    f.push(slice(*f.popn(i.arg)))


# --- attributes


@op("LOAD_ATTR")
def _load_attr(f: Frame, i: Instruction) -> None:
    x = f.load_attribute(i.argval)
    if VERSION >= (3, 12) and i.arg & 1:
        f.push_callable(x)
    else:
        f.push(x)


@op("LOAD_METHOD")
def _load_method(f: Frame, i: Instruction) -> None:
    f.push_callable(f.load_attribute(i.argval))


@op("LOAD_SUPER_ATTR")
def _load_super_attr(f: Frame, i: Instruction) -> None:
    owner, kind, maker = f.pop(), f.pop(), f.pop()
    if maker is not super:
        raise Uncapturable(f"super is another function ({f.where()})")
    x = f.do(getattr, super(kind, owner), i.argval)
    if i.arg & 1:
        f.push_callable(x)
    else:
        f.push(x)


@op("STORE_ATTR")
def _store_attr(f: Frame, i: Instruction) -> None:
    x, value = f.pop(), f.pop()
    f.do(setattr, x, i.argval, value)


@op("DELETE_ATTR")
def _delete_attr(f: Frame, i: Instruction) -> None:
    f.do(delattr, f.pop(), i.argval)


# --- containers


@op("BUILD_TUPLE")
def _build_tuple(f: Frame, i: Instruction) -> None:
    f.push(tuple(f.popn(i.arg)))


@op("BUILD_LIST")
def _build_list(f: Frame, i: Instruction) -> None:
    f.push(f.popn(i.arg))


@op("BUILD_SET")
def _build_set(f: Frame, i: Instruction) -> None:
    f.push(set(map(f.trace.number_of, f.popn(i.arg))))


@op("BUILD_MAP")
def _build_map(f: Frame, i: Instruction) -> None:
    items = f.popn(2 * i.arg)
    f.push(dict(zip(map(f.trace.number_of, items[::2]), items[1::2], strict=True)))


@op("BUILD_CONST_KEY_MAP")
def _build_const_key_map(f: Frame, i: Instruction) -> None:
    keys = f.pop()
    f.push(dict(zip(keys, f.popn(i.arg), strict=True)))


@op("BUILD_STRING")
def _build_string(f: Frame, i: Instruction) -> None:
    f.push("".join(f.popn(i.arg)))


@op("LIST_APPEND")
def _list_append(f: Frame, i: Instruction) -> None:
    x = f.pop()
    f.peek(i.arg).append(x)


@op("SET_ADD")
def _set_add(f: Frame, i: Instruction) -> None:
    x = f.trace.number_of(f.pop())
    f.peek(i.arg).add(x)


@op("MAP_ADD")
def _map_add(f: Frame, i: Instruction) -> None:
    value, key = f.pop(), f.trace.number_of(f.pop())
    f.peek(i.arg)[key] = value


@op("LIST_EXTEND")
def _list_extend(f: Frame, i: Instruction) -> None:
    items = f.do(list, f.pop())
    f.peek(i.arg).extend(items)


@op("SET_UPDATE")
def _set_update(f: Frame, i: Instruction) -> None:
    items = f.do(list, f.pop())
    f.peek(i.arg).update(map(f.trace.number_of, items))


@op("DICT_UPDATE", "DICT_MERGE")
def _dict_update(f: Frame, i: Instruction) -> None:
    items = f.do(dict, f.pop())
    target = f.peek(i.arg)
    if i.opname == "DICT_MERGE" and (twice := next((k for k in items if k in target), None)) is not None:
        raise TypeError(f"got multiple values for keyword argument {twice!r}")
    target.update(items)


@op("LIST_TO_TUPLE")
def _list_to_tuple(f: Frame, i: Instruction) -> None:
    f.push(tuple(f.pop()))


def unpack(x: Any, n: int) -> list[Any]:
    """The elements of x, of which there must be n."""
    items = list(x)
    if len(items) > n:
        raise ValueError(f"too many values to unpack (expected {n})")
    if len(items) < n:
        raise ValueError(f"not enough values to unpack (expected {n}, got {len(items)})")
    return items


@op("UNPACK_SEQUENCE")
def _unpack_sequence(f: Frame, i: Instruction) -> None:
    x = f.pop()
    items = unpack(x, i.arg) if type(x) in (tuple, list) else f.do(unpack, x, i.arg)
    f.stack += reversed(items)


@op("UNPACK_EX")
def _unpack_ex(f: Frame, i: Instruction) -> None:
    first, last = i.arg & 0xFF, i.arg >> 8
    items = f.do(list, f.pop())
    if len(items) < first + last:
        raise ValueError(f"not enough values to unpack (expected at least {first + last}, got {len(items)})")
    middle = items[first : len(items) - last]
    f.stack += reversed([*items[:first], middle, *items[len(items) - last :]])


# --- texts


@op("FORMAT_VALUE")
def _format_value(f: Frame, i: Instruction) -> None:
    spec = f.pop() if i.arg & 4 else ""
    f.push(f.do(formatted, f.pop(), (None, str, repr, ascii)[i.arg & 3], spec))


@op("CONVERT_VALUE")
def _convert_value(f: Frame, i: Instruction) -> None:
    functions: tuple[Any, ...] = (None, str, repr, ascii)
    f.push(f.do(functions[i.arg], f.pop()))


@op("FORMAT_SIMPLE")
def _format_simple(f: Frame, i: Instruction) -> None:
    f.push(f.do(formatted, f.pop(), None, ""))


@op("FORMAT_WITH_SPEC")
def _format_with_spec(f: Frame, i: Instruction) -> None:
    spec, x = f.pop(), f.pop()
    f.push(f.do(formatted, x, None, spec))


def formatted(x: Any, conversion: Callable[[Any], str] | None, spec: str) -> str:
    """The text of a value in an f-string."""
    return format(x if conversion is None else conversion(x), spec)
