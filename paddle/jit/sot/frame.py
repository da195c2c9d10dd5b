"""Simulation of a frame: its instructions one by one, over ordinary Python values.

An instruction does at most one thing that is more than moving values: an :class:`Operation`, by :meth:`Frame.do`. It is
where a graph can break. After a break the frame goes on in the middle of the instruction, with the result of the
operation as ``pending``; the operands below it are not looked at again.
"""

from __future__ import annotations

import builtins
import collections.abc
import dis
import operator
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from paddle.jit.sot.breakpoints import BM
from paddle.jit.sot.bytecode import VERSION, Bytecode, Instruction, decode, describe
from paddle.jit.sot.control import Control, GraphBreak, Operation, Uncapturable
from paddle.jit.sot.trace import Unset
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator

NULL = type("Null", (), {"__repr__": lambda self: "NULL"})()
RETURNED, YIELDED = "returned", "yielded"
HANDLERS: dict[str, Callable[[Frame, Instruction], Any]] = {}
METHOD_FIRST = VERSION >= (3, 13)  # the callable lies below self or NULL


class Frame:
    """A frame that is being simulated.

    ``direct``: the result of the frame is, unchanged, that of the operation of the frame below.
    """

    def __init__(
        self,
        simulator: Simulator,
        code: CodeType,
        space: dict[str, Any],
        variables: dict[str, Any],
        cells: dict[str, CellType],
        direct: bool,
    ) -> None:
        self.simulator = simulator
        self.trace = simulator.trace
        self.code = code
        self.bytecode: Bytecode = decode(code)
        self.globals = space
        held = space.get("__builtins__", builtins)
        self.builtins: dict[str, Any] = held if isinstance(held, dict) else held.__dict__
        self.variables = variables
        self.cells = cells
        self.stack: list[Any] = []
        self.blocks: list[tuple[str, int, int]] = []  # of Python 3.10: kind, handler, depth of the stack
        self.handling: list[BaseException] = []
        self.at = 0  # the next instruction
        self.current = 0  # the one that is being done
        self.operation = -1  # number of its operation
        self.depth = 0  # of the stack below the operands of that
        self.height = 0  # of the stack before the instruction
        self.pending: tuple[Any, BaseException | None] | None = None
        self.keyword_names: tuple[str, ...] = ()
        self.direct = direct
        self.result: Any = None
        if VERSION < (3, 11):
            for name in code.co_cellvars:
                self.cells[name] = simulator.trace.made(CellType())
                if name in variables:
                    self.cells[name].cell_contents = variables.pop(name)

    # --- the stack

    def push(self, x: Any) -> None:
        """Put a value on the stack."""
        self.stack.append(x)

    def pop(self) -> Any:
        """Take the value on top of the stack."""
        x = self.stack.pop()
        return self.trace.wrap(x.value, x.source) if type(x) is Unset else x

    def popn(self, n: int) -> list[Any]:
        """Take n values; the first is the lowest."""
        out = [self.pop() for _ in range(n)]
        out.reverse()
        return out

    def peek(self, n: int = 1) -> Any:
        """Return the n-th value from the top."""
        x = self.stack[-n]
        if type(x) is Unset:
            x = self.stack[-n] = self.trace.wrap(x.value, x.source)
        return x

    # --- running

    @property
    def instruction(self) -> Instruction:
        """The instruction that is being done."""
        return self.bytecode.instructions[self.current]

    def where(self) -> str:
        """Return the place in the user's files."""
        return describe(self.code, self.instruction.line)

    def run(self) -> str:
        """Go on until the frame returns or yields ``result``."""
        instructions = self.bytecode.instructions
        while True:
            self.current = self.at
            self.height = len(self.stack)
            instruction = instructions[self.at]
            self.at += 1
            if BM.breakpoints:
                BM.visit(self)
            handler = HANDLERS.get(instruction.opname)
            if handler is None:
                raise Uncapturable(f"the instruction {instruction.opname} is not known ({self.where()})")
            try:
                done = handler(self, instruction)
            except Control:
                raise
            except BaseException as error:  # the user's, for whose handlers the frame is asked
                if not self.unwind(error):
                    raise
                continue
            if done is not None:
                return done

    def do(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Do the one operation of the instruction, or end the graph before it."""
        trace = self.trace
        number = trace.count
        trace.count += 1
        self.depth = len(self.stack)
        if self.pending is not None:
            (result, error), self.pending = self.pending, None
            if error is not None:
                raise error
            return trace.wrap(result.value, result.source) if type(result) is Unset else result
        self.operation = number
        reason = trace.policy.breaks.get(number)
        if reason is not None:
            BM.on_event("break", self.simulator.frames)
            raise GraphBreak(Operation(function, args, kwargs), list(self.simulator.frames), reason)
        return self.simulator.call(function, args, kwargs, direct=True)

    def unwind(self, error: BaseException) -> bool:
        """Go on at the handler of an exception; return False where there is none."""
        if self.handling and error.__context__ is None and error is not self.handling[-1]:
            error.__context__ = self.handling[-1]
        if VERSION < (3, 11):
            return self._unwind_blocks(error)
        handler = self.bytecode.handler(self.instruction.offset)
        if handler is None:
            return False
        del self.stack[handler.depth :]
        if handler.lasti:
            self.push(self.instruction.offset)
        self.push(error)
        self.at = handler.target
        return True

    def _unwind_blocks(self, error: BaseException) -> bool:
        while self.blocks:
            kind, handler, depth = self.blocks.pop()
            if kind == "handler":
                del self.stack[depth + 3 :]
                self._pop_handling()
                continue
            del self.stack[depth:]
            self.blocks.append(("handler", -1, len(self.stack)))
            before = self.handling[-1] if self.handling else None
            self.stack += [None, before, None if before is None else type(before)]
            self.stack += [error.__traceback__, error, type(error)]
            self.handling.append(error)
            self.at = handler
            return True
        return False

    def _pop_handling(self) -> None:
        del self.stack[-3:]
        self.handling.pop()

    def truth(self, x: Any) -> bool:
        """Return whether a value is true."""
        return x if type(x) is bool else self.do(operator.truth, x)

    def variable(self, name: str) -> Any:
        """Return the value of a local variable."""
        try:
            x = self.variables[name]
        except KeyError:
            raise UnboundLocalError(
                f"cannot access local variable {name!r} where it is not associated with a value"
            ) from None
        if type(x) is Unset:
            read = self.trace.unread(x.value, x.source)
            if type(read) is Unset:
                return x
            x = self.variables[name] = read
        return x

    def load_attribute(self, name: str) -> Any:
        """Return an attribute of the value on top of the stack, which is taken."""
        x = self.stack[-1]
        if type(x) is Unset and name == "append" and type(x.value) is list and id(x.value) not in self.trace.shadows:
            self.stack.pop()
            return self.trace.append_of(x.value, x.source)
        return self.do(getattr, self.pop(), name)

    def push_callable(self, f: Any) -> None:
        """Push what a CALL calls, without self."""
        self.stack += [f, NULL] if METHOD_FIRST else [NULL, f]

    def global_variable(self, name: str) -> Any:
        """Return a global variable, or a built-in one."""
        return self.simulator.global_variable(self.globals, self.builtins, name)

    def jump(self, instruction: Instruction) -> None:
        """Go on at the target of an instruction."""
        self.at = instruction.target


def op(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the meaning of instructions."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        HANDLERS.update(dict.fromkeys(names, f))
        return f

    return register


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
        f.push(f.trace.contents(f.cells[i.argval], i.argval))
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
    x = f.global_variable(i.argval)
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
    y, x = f.pop(), f.pop()
    f.push(f.do(_BINARY[_operator_name(i.arg)], x, y))


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
    key, x = f.pop(), f.pop()
    f.push(f.do(operator.getitem, x, key))


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


# --- jumps


@op("JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def _jump(f: Frame, i: Instruction) -> None:
    f.jump(i)


@op("POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_TRUE")
def _jump_if_true(f: Frame, i: Instruction) -> None:
    if f.truth(f.pop()):
        f.jump(i)


@op("POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_FALSE")
def _jump_if_false(f: Frame, i: Instruction) -> None:
    if not f.truth(f.pop()):
        f.jump(i)


@op("POP_JUMP_IF_NONE", "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NONE")
def _jump_if_none(f: Frame, i: Instruction) -> None:
    if f.pop() is None:
        f.jump(i)


@op("POP_JUMP_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE")
def _jump_if_not_none(f: Frame, i: Instruction) -> None:
    if f.pop() is not None:
        f.jump(i)


@op("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def _jump_or_pop(f: Frame, i: Instruction) -> None:
    if f.truth(f.peek()) == (i.opname == "JUMP_IF_TRUE_OR_POP"):
        f.jump(i)
    else:
        f.stack.pop()


# --- loops


@op("GET_ITER", "GET_YIELD_FROM_ITER")
def _get_iter(f: Frame, i: Instruction) -> None:
    f.push(f.do(iter, f.pop()))


@op("FOR_ITER")
def _for_iter(f: Frame, i: Instruction) -> None:
    try:
        f.push(f.do(next, f.peek()))
    except StopIteration:
        if VERSION < (3, 14):
            f.stack.pop()
        skipped = {(3, 12): 1, (3, 13): 2, (3, 14): 1}.get(VERSION, 0)
        f.at = i.target + skipped


# --- calls


def _call(f: Frame, args: list[Any], keywords: tuple[str, ...], has_null: bool) -> None:
    kwargs = {}
    if keywords:
        n = len(args) - len(keywords)
        kwargs, args = dict(zip(keywords, args[n:], strict=True)), args[:n]
    function = f.pop()
    if has_null:
        below = f.pop()
        if METHOD_FIRST:
            function, below = below, function
        if below is not NULL:
            if METHOD_FIRST:
                args = [below, *args]
            else:
                function, args = below, [function, *args]
    f.push(f.do(function, *args, **kwargs))


@op("CALL")
def _call_311(f: Frame, i: Instruction) -> None:
    names, f.keyword_names = f.keyword_names, ()
    _call(f, f.popn(i.arg), names, True)


@op("KW_NAMES")
def _kw_names(f: Frame, i: Instruction) -> None:
    f.keyword_names = f.code.co_consts[i.arg]


@op("CALL_KW")
def _call_kw(f: Frame, i: Instruction) -> None:
    names = f.pop()
    _call(f, f.popn(i.arg), names, True)


@op("CALL_FUNCTION")
def _call_function(f: Frame, i: Instruction) -> None:
    _call(f, f.popn(i.arg), (), False)


@op("CALL_METHOD")
def _call_method(f: Frame, i: Instruction) -> None:
    _call(f, f.popn(i.arg), (), True)


@op("CALL_FUNCTION_KW")
def _call_function_kw(f: Frame, i: Instruction) -> None:
    names = f.pop()
    _call(f, f.popn(i.arg), names, False)


@op("CALL_FUNCTION_EX")
def _call_function_ex(f: Frame, i: Instruction) -> None:
    kwargs: Any = {}
    if VERSION >= (3, 14) or i.arg & 1:
        kwargs = f.pop()
        kwargs = {} if kwargs is NULL else kwargs
    args = f.pop()
    if METHOD_FIRST:
        f.pop()
    function = f.pop()
    if VERSION in ((3, 11), (3, 12)):
        f.pop()
    f.push(f.do(apply, function, args, kwargs))


def apply(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function with the elements of a sequence and of a mapping."""
    return function(*args, **kwargs)


@op("MAKE_FUNCTION")
def _make_function(f: Frame, i: Instruction) -> None:
    qualname = f.pop() if VERSION < (3, 11) else None
    code = f.pop()
    closure = annotations = kwdefaults = defaults = None
    if VERSION < (3, 13):
        closure = f.pop() if i.arg & 8 else None
        annotations = f.pop() if i.arg & 4 else None
        kwdefaults = f.pop() if i.arg & 2 else None
        defaults = f.pop() if i.arg & 1 else None
    if VERSION >= (3, 13) and code.co_freevars:
        closure = tuple(CellType() for _ in code.co_freevars)  # exchanged by SET_FUNCTION_ATTRIBUTE
    made = FunctionType(code, f.globals, code.co_name, defaults, closure)
    if qualname is not None:
        made.__qualname__ = qualname
    if kwdefaults is not None:
        made.__kwdefaults__ = kwdefaults
    if annotations is not None:
        pairs = annotations if isinstance(annotations, dict) else zip(annotations[::2], annotations[1::2], strict=True)
        made.__annotations__ = dict(pairs)
    f.push(f.trace.made(made))


@op("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(f: Frame, i: Instruction) -> None:
    function, value = f.pop(), f.pop()
    if i.arg == 8:
        made = FunctionType(function.__code__, f.globals, function.__name__, function.__defaults__, value)
        made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
        function = f.trace.made(made)
    elif i.arg == 4:
        pairs = value if isinstance(value, dict) else zip(value[::2], value[1::2], strict=True)
        function.__annotations__ = dict(pairs)
    elif i.arg == 16:
        function.__annotate__ = value
    elif i.arg == 2:
        function.__kwdefaults__ = value
    elif i.arg == 1:
        function.__defaults__ = value
    f.push(function)


@op("LOAD_BUILD_CLASS")
def _load_build_class(f: Frame, i: Instruction) -> None:
    f.push(f.builtins["__build_class__"])


@op("CALL_INTRINSIC_1")
def _intrinsic(f: Frame, i: Instruction) -> None:
    x = f.pop()
    if i.arg == 3:
        f.push(_stop_iteration_error(x))
    elif i.arg == 5:
        f.push(f.do(operator.pos, x))
    elif i.arg == 6:
        f.push(tuple(x))
    else:
        raise Uncapturable(f"the intrinsic function {i.arg} is not known ({f.where()})")


def _stop_iteration_error(error: BaseException) -> BaseException:
    if not isinstance(error, StopIteration):
        return error
    made = RuntimeError("generator raised StopIteration")
    made.__cause__ = made.__context__ = error
    return made


@op("IMPORT_NAME")
def _import_name(f: Frame, i: Instruction) -> None:
    names, level = f.pop(), f.pop()
    f.push(f.do(f.builtins["__import__"], i.argval, f.globals, None, names, level))


@op("IMPORT_FROM")
def _import_from(f: Frame, i: Instruction) -> None:
    x = f.peek()
    f.push(f.do(getattr, x, i.argval))


# --- exceptions and contexts


@op("RAISE_VARARGS")
def _raise(f: Frame, i: Instruction) -> None:
    cause = f.pop() if i.arg == 2 else None
    if i.arg == 0:
        if not f.handling:
            raise RuntimeError("No active exception to reraise")
        raise f.handling[-1]
    error = f.pop()
    if isinstance(error, type) and issubclass(error, BaseException):
        error = error()
    if not isinstance(error, BaseException):
        raise TypeError("exceptions must derive from BaseException")
    if i.arg == 2:
        raise error from cause
    raise error


@op("RERAISE")
def _reraise(f: Frame, i: Instruction) -> None:
    if VERSION < (3, 11):
        _, error, _ = f.pop(), f.pop(), f.pop()
    else:
        error = f.pop()
    raise error


@op("PUSH_EXC_INFO")
def _push_exc_info(f: Frame, i: Instruction) -> None:
    error = f.pop()
    f.push(f.handling[-1] if f.handling else None)
    f.push(error)
    f.handling.append(error)


@op("POP_EXCEPT")
def _pop_except(f: Frame, i: Instruction) -> None:
    if VERSION < (3, 11):
        f.blocks.pop()
        f._pop_handling()
    else:
        f.pop()
        f.handling.pop()


@op("CHECK_EXC_MATCH")
def _check_exc_match(f: Frame, i: Instruction) -> None:
    kind = f.pop()
    f.push(isinstance(f.peek(), kind))


@op("JUMP_IF_NOT_EXC_MATCH")
def _jump_if_not_match(f: Frame, i: Instruction) -> None:
    kind, found = f.pop(), f.pop()
    if not issubclass(found, kind):
        f.jump(i)


@op("SETUP_FINALLY")
def _setup_finally(f: Frame, i: Instruction) -> None:
    f.blocks.append(("try", i.target, len(f.stack)))


@op("POP_BLOCK")
def _pop_block(f: Frame, i: Instruction) -> None:
    f.blocks.pop()


def enter(x: Any) -> Any:
    """Enter a context."""
    return type(x).__enter__(x)


@op("SETUP_WITH")
def _setup_with(f: Frame, i: Instruction) -> None:
    entered = f.do(enter, f.peek())
    f.stack[-1] = f.simulator.special(f.peek(), "__exit__")
    f.blocks.append(("try", i.target, len(f.stack)))
    f.push(entered)


@op("BEFORE_WITH")
def _before_with(f: Frame, i: Instruction) -> None:
    entered = f.do(enter, f.peek())
    f.stack[-1] = f.simulator.special(f.peek(), "__exit__")
    f.push(entered)


@op("LOAD_SPECIAL")
def _load_special(f: Frame, i: Instruction) -> None:
    f.push_callable(f.simulator.special(f.pop(), ("__enter__", "__exit__", "__aenter__", "__aexit__")[i.arg]))


@op("WITH_EXCEPT_START")
def _with_except_start(f: Frame, i: Instruction) -> None:
    if VERSION < (3, 11):
        leave, error = f.peek(7), f.peek(2)
    elif VERSION < (3, 14):
        leave, error = f.peek(4), f.peek(1)
    else:
        leave, error = f.peek(5), f.peek(1)
    f.push(f.do(leave, type(error), error, error.__traceback__))


# --- generators


@op("GEN_START")
def _gen_start(f: Frame, i: Instruction) -> None:
    f.pop()


@op("RETURN_GENERATOR")
def _return_generator(f: Frame, i: Instruction) -> None:
    f.push(None)  # what is sent first


@op("YIELD_VALUE")
def _yield_value(f: Frame, i: Instruction) -> str:
    f.result = f.pop()
    return YIELDED


def send(iterator: Any, x: Any) -> Any:
    """Send a value to a generator, or ask an iterator for its next."""
    return next(iterator) if x is None else iterator.send(x)


@op("SEND")
def _send(f: Frame, i: Instruction) -> None:
    x = f.pop()
    try:
        f.push(f.do(send, f.peek(), x))
    except StopIteration as end:
        if VERSION < (3, 12):
            f.stack.pop()
        f.push(end.value)
        f.jump(i)


@op("END_SEND")
def _end_send(f: Frame, i: Instruction) -> None:
    x = f.pop()
    f.stack[-1] = x


@op("YIELD_FROM")
def _yield_from(f: Frame, i: Instruction) -> str | None:
    x = f.pop()
    try:
        f.result = f.do(send, f.peek(), x)
    except StopIteration as end:
        f.stack[-1] = end.value
        return None
    f.at = f.current  # once more, with what is sent
    return YIELDED


# --- patterns


@op("GET_LEN")
def _get_len(f: Frame, i: Instruction) -> None:
    x = f.peek()
    f.push(f.do(len, x))


@op("MATCH_SEQUENCE")
def _match_sequence(f: Frame, i: Instruction) -> None:
    x = f.peek()
    f.push(isinstance(x, collections.abc.Sequence) and not isinstance(x, (str, bytes, bytearray)))


@op("MATCH_MAPPING")
def _match_mapping(f: Frame, i: Instruction) -> None:
    f.push(isinstance(f.peek(), collections.abc.Mapping))


@op("MATCH_KEYS")
def _match_keys(f: Frame, i: Instruction) -> None:
    keys, x = f.peek(1), f.peek(2)
    found = tuple(x[k] for k in keys) if all(k in x for k in keys) else None
    f.push(found)
    if VERSION < (3, 11):
        f.push(found is not None)


@op("MATCH_CLASS")
def _match_class(f: Frame, i: Instruction) -> None:
    names, kind = f.pop(), f.pop()
    found = f.do(match_class, f.peek(), kind, i.arg, names)
    if VERSION < (3, 11):
        f.stack[-1] = f.peek() if found is None else found
        f.push(found is not None)
    else:
        f.stack[-1] = found


def match_class(x: Any, kind: type, positional: int, names: tuple[str, ...]) -> tuple | None:
    """The attributes that a class pattern asks for; None where x does not match."""
    if not isinstance(x, kind):
        return None
    if positional == 1 and kind in (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple):
        first: tuple = (x,)
    else:
        first = tuple(getattr(x, n) for n in kind.__match_args__[:positional]) if positional else ()
    return (*first, *(getattr(x, n) for n in names)) if all(hasattr(x, n) for n in names) else None


@op("COPY_DICT_WITHOUT_KEYS")
def _copy_without(f: Frame, i: Instruction) -> None:
    keys = f.pop()
    f.push({k: v for k, v in f.peek().items() if k not in keys})
