"""Instructions that decide what comes next: jumps, loops, calls, exceptions and contexts, generators, patterns."""

from __future__ import annotations

import collections.abc
import operator
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from paddle.jit.sot.bytecode import VERSION, Instruction
from paddle.jit.sot.control import Uncapturable
from paddle.jit.sot.frame import METHOD_FIRST, NULL, YIELDED, Frame, op

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


@op("CLEANUP_THROW")
def _cleanup_throw(f: Frame, i: Instruction) -> None:
    error = f.pop()
    if not isinstance(error, StopIteration):
        raise error
    f.stack[-2:] = [None, error.value]


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
