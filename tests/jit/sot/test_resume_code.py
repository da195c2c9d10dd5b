"""Frames that are continued by a function of their own do what they would have done.

The states of frames come from the interpreter itself (``tests/support/frames.py``): at an instruction a copy of the
process goes on by the resumed function, another one is thrown an exception there, a third is thrown it by the
interpreter.
"""

from __future__ import annotations

import dis
import functools
import gc
import inspect
import multiprocessing
import re
import sys
import traceback
import types
import weakref
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from types import CellType, FrameType
from typing import Any

import pytest

from paddle.jit.sot.liveness import live_locals
from paddle.jit.sot.resume_code import CannotResume, ResumeCode, resume_code, resume_function
from tests.support import frame_programs
from tests.support.frame_programs import CASES, Context, Thrown
from tests.support.frames import Copy, State, outcome, state, trace_instructions

SKIPPED = frozenset({"visit", "inside", "outcome", "<lambda>", "check", "entered"})


def depth_of(function: types.FunctionType) -> Callable[[int], int]:
    """Depths of the stack as `ResumeCode` says that it requires them."""

    def depth(offset: int) -> int:
        try:
            ResumeCode(function.__code__, offset, (True,) * 1000, (), "run")
        except ValueError as error:
            return int(re.search(r"a stack of (\d+) entries", str(error)).group(1))
        except CannotResume:
            return 0
        raise AssertionError("no stack is that deep")

    return depth


def can_resume(code: types.CodeType, offset: int, depth: Callable[[int], int]) -> bool:
    try:
        ResumeCode(code, offset, (True,) * depth(offset), (), "run")
    except CannotResume:
        return False
    return True


def resumed(frame: FrameType, function: Any, now: State, mode: str) -> Callable[..., Any]:
    """The rest of a frame as a function without parameters; of the locals all, or only those that are live."""
    names = [n for n in now.locals if n in live_locals(frame.f_code, now.offset)]
    if now.offset % 4:
        names = list(reversed(now.locals))
    made = resume_function(function.__globals__, frame.f_code, now.offset, now.stack, names, mode, now.cells)
    thrown = [Thrown("here")] if mode == "throw" else []
    return functools.partial(made, *now.values, *(now.locals[n] for n in names), *thrown)


def check(
    function: Any, arguments: Callable[[list[Any]], tuple[Any, ...]], chosen: Callable[[int], bool], warmed: int = 0
) -> tuple[int, int]:
    """Continue a call at each instruction that is chosen, and compare; how many there were, how many were refused.

    Calls before that (``warmed``) may have the interpreter replace instructions by special ones.
    """
    depth, places, refused, differences = depth_of(function), 0, 0, []
    expected_log: list[Any] = []
    values = arguments(expected_log)
    expected = outcome(lambda: function(*values), expected_log, frame_programs.__file__, SKIPPED)
    for _ in range(warmed):
        warm: list[Any] = []
        again = arguments(warm)
        assert outcome(lambda again=again: function(*again), warm, frame_programs.__file__, SKIPPED) == expected
    log: list[Any] = []
    values = arguments(log)
    seen: dict[int, int] = {}
    thrown_natively: Copy | None = None

    def visit(frame: FrameType) -> None:
        nonlocal places, refused, thrown_natively
        offset = frame.f_lasti
        if not chosen(offset) or seen.setdefault(offset, 0) == 2:
            return
        seen[offset] += 1
        places += 1
        if not can_resume(frame.f_code, offset, depth):
            refused += 1
            return
        now = state(frame, depth)
        copies = []
        for mode in ("run", "throw"):
            copy = Copy()
            if copy.inside:
                sys.settrace(None)
                copy.send(
                    lambda mode=mode: outcome(
                        resumed(frame, function, now, mode), log, frame_programs.__file__, SKIPPED
                    )
                )
            copies.append(copy.receive())
        copy = Copy()
        if copy.inside:
            thrown_natively = copy
            raise Thrown("here")
        # Not asserted here, where the function could catch it.
        pairs = zip(("run", "throw"), copies, (expected, copy.receive()))
        differences.extend((mode, offset, frame.f_lineno, got, right) for mode, got, right in pairs if got != right)

    sys.settrace(trace_instructions(function.__code__, visit))
    try:
        came = outcome(lambda: function(*values), log, frame_programs.__file__, SKIPPED)
    finally:
        sys.settrace(None)
    if thrown_natively is not None:
        thrown_natively.send(lambda: came)
    assert came == expected, (came, expected)
    assert not differences, differences
    return places, refused


def executed(function: Any, arguments: Callable[[list[Any]], tuple[Any, ...]]) -> list[int]:
    """The instructions that a call comes to."""
    offsets: set[int] = set()
    sys.settrace(trace_instructions(function.__code__, lambda frame: offsets.add(frame.f_lasti)))
    try:
        outcome(lambda: function(*arguments([])), [], frame_programs.__file__, SKIPPED)
    finally:
        sys.settrace(None)
    return sorted(offsets)


named = pytest.mark.parametrize(("function", "arguments"), CASES, ids=[case[0].__name__ for case in CASES])
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


def continue_some(case: int) -> None:
    """Continue a call of a program at a few of its instructions."""
    function, arguments = CASES[case]
    code, depth, offsets = function.__code__, depth_of(function), executed(function, arguments)
    step = max(2, len(offsets) // 5)
    parts = [offsets[i : i + step] for i in range(zlib.crc32(function.__name__.encode()) % 3, len(offsets), step)]
    # Of each part the first instruction that a frame can be continued at: some functions are handlers for the most
    # part.
    first = [next((o for o in part if can_resume(code, o, depth)), None) for part in parts]
    places, refused = check(function, arguments, set(first).__contains__)
    assert places > refused == 0


@pytest.fixture(scope="module")
def small_process() -> Iterator[Executor]:
    """A process that is quick to copy. That of a run of all tests has gigabytes, and copies took 2 s of a test."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("case", range(len(CASES)), ids=[case[0].__name__ for case in CASES])
def test_some_instructions(case, small_process):
    small_process.submit(continue_some, case).result()


@pytest.mark.slow
@forks
@named
def test_every_instruction(function, arguments):
    long = len(function.__code__.co_code) > 4000
    places, refused = check(function, arguments, lambda offset: not long or offset % 37 == 2, warmed=70)
    assert places > refused


# By hand


def offset_of(function: Any, line: str) -> int:
    """The first instruction of the line of a function which has these words."""
    lines = inspect.getsource(function).splitlines()
    number = function.__code__.co_firstlineno + next(i for i, text in enumerate(lines) if line in text)
    return next(offset for offset, starts in dis.findlinestarts(function.__code__) if starts == number)


def statements(a, b):
    c = a + 1
    if b:
        d = c * 2
    e = [c, a]
    return e, d


def test_parameters_are_the_stack_then_locals():
    made = resume_function(globals(), statements.__code__, offset_of(statements, "e = "), (), ("d", "a", "c"))
    assert made("d", "a", "c") == (["c", "a"], "d")
    with pytest.raises(TypeError):
        made("d", "a")


def test_a_local_that_is_not_named_is_unbound():
    offset = offset_of(statements, "e = ")
    with pytest.raises(UnboundLocalError, match="'d'"):
        resume_function(globals(), statements.__code__, offset, (), ("c", "a"))(1, 2)
    # The compiler was sure of this one.
    with pytest.raises(UnboundLocalError, match="'c'"):
        resume_function(globals(), statements.__code__, offset, (), ("a",))(1)


def shown(a):
    b = [a, a]
    return sorted(locals()), b


def test_locals_shows_those_of_the_frame():
    code = shown.__code__
    build = next(i for i in dis.get_instructions(code) if i.opname == "BUILD_LIST")
    made = resume_function(globals(), code, build.offset, (True, True), ("a",))
    assert made(1, 2, 3) == (["a", "b"], [1, 2])


def sharing():
    count = 0

    def add():
        nonlocal count
        count += 1
        return count

    add()
    return add, count


def test_cells_are_shared():
    add, _ = sharing()
    cell = add.__closure__[0]
    code = resume_code(sharing.__code__, offset_of(sharing, "return add, count"), (), ("add",))
    assert code.cell_names == ("count",)
    made = code.bind(globals(), [cell])
    assert made(add) == (add, 1)
    add()
    assert made(add)[1] == 2
    other = code.bind(globals(), [CellType(9)])
    assert other(add)[1] == 9
    with pytest.raises(ValueError, match="requires the cells"):
        code.bind(globals())


def test_a_function_keeps_its_name_and_its_lines():
    code = statements.__code__
    made = resume_function(globals(), code, offset_of(statements, "d = "), (), ("a", "c"))
    new = made.__code__
    for name in ("co_name", "co_filename", "co_firstlineno", "co_names", "co_qualname"):
        assert getattr(new, name, None) == getattr(code, name, None)
    assert made.__name__ == "statements"
    assert made.__globals__ is globals()
    try:
        made(None, None)
    except TypeError as error:
        (last,) = traceback.extract_tb(error.__traceback__)[1:]
    assert last.line == "d = c * 2"
    if sys.version_info >= (3, 11):
        assert (last.colno, last.end_colno) == (12, 17)
        assert set(new.co_positions()) - {(None,) * 4} <= set(code.co_positions())


def stepped(a):
    total = 0
    for i in range(a):
        total += i
    total *= 2
    return total


def test_a_debugger_sees_the_lines_that_are_left():
    def lines(call):
        seen = []

        def trace(frame, event, arg):
            if frame.f_code.co_name == "stepped":
                seen.append((event, frame.f_lineno if event == "line" else None))
                return trace
            return None

        sys.settrace(trace)
        try:
            call()
        finally:
            sys.settrace(None)
        return seen

    whole = lines(lambda: stepped(2))
    for line in ("total = 0", "for i", "total *= 2", "return total"):
        offset = offset_of(stepped, line)
        made = resume_function(globals(), stepped.__code__, offset, (), ("a", "total"))
        number = next(n for o, n in dis.findlinestarts(stepped.__code__) if o == offset)
        assert lines(lambda made=made: made(2, 0)) == [("call", None), *whole[whole.index(("line", number)) :]]


def test_codes_are_made_once_and_forgotten():
    names = {}
    exec("def f(x):\n    y = x\n    return y", names)
    code = names["f"].__code__
    offset = offset = next(i.offset for i in dis.get_instructions(code) if i.opname.startswith("STORE_FAST"))
    made = resume_code(code, offset, [True], ["x"])
    assert resume_code(code, offset, (True,), ("x",), "run") is made
    assert resume_code(code, offset, [True], []) is not made
    assert resume_code(code, offset, [True], ["x"], "throw") is not made
    # An equal code object is another one.
    copy = code.replace(co_filename="elsewhere")
    assert resume_code(copy, offset, [True], ["x"]).code.co_filename == "elsewhere"
    gone = weakref.ref(made)
    del names, code, copy, made
    gc.collect()
    assert gone() is None


def generator():
    yield 1


async def coroutine():
    return 1


def handling(a):
    try:
        a()
    except ValueError:
        a = 2
    finally:
        b = 3
    return a, b


def test_suspended_frames_are_refused():
    for function in (generator, coroutine):
        with pytest.raises(CannotResume, match="a generator or a coroutine"):
            resume_code(function.__code__, 0, (), ())


def test_a_class_body_is_refused():
    code = next(c for c in compile("class C:\n    x = 1", "f", "exec").co_consts if isinstance(c, types.CodeType))
    with pytest.raises(CannotResume, match="is no function"):
        resume_code(code, 0, (), ())


def test_a_frame_that_handles_an_exception_is_refused():
    with pytest.raises(CannotResume, match="handles an exception at offset"):
        resume_code(handling.__code__, offset_of(handling, "a = 2"), (), ())
    assert resume_function(globals(), handling.__code__, offset_of(handling, "b = 3"), (), ("a",))(5) == (5, 3)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older functions begin with their first statement")
def test_a_frame_that_has_not_begun_is_refused():
    code = sharing.__code__
    with pytest.raises(CannotResume, match="has not begun at offset 0"):
        resume_code(code, 0, (), ())
    resume = next(i.offset for i in dis.get_instructions(code) if i.opname == "RESUME")
    add, count = resume_function(globals(), code, resume, (), (), cells=[CellType()])()
    assert (add(), count) == (2, 1)


def test_what_does_not_fit_is_refused():
    code, offset = statements.__code__, offset_of(statements, "e = ")
    with pytest.raises(ValueError, match=f"requires a stack of 0 entries at offset {offset} of 'statements', got 1"):
        resume_code(code, offset, [True], ())
    with pytest.raises(ValueError, match=r"requires the offset of an instruction of 'statements', got 1001"):
        resume_code(code, 1001, (), ())
    for names in (("nothing",), ("a", "a")):
        with pytest.raises(ValueError, match="requires distinct locals of 'statements'"):
            resume_code(code, offset, (), names)
    with pytest.raises(ValueError, match="requires distinct locals of 'sharing' that are no cells"):
        resume_code(sharing.__code__, offset_of(sharing, "return add"), (), ("count",))
    with pytest.raises(ValueError, match="requires mode 'run' or 'throw', got 'raise'"):
        resume_code(code, offset, (), (), "raise")


def test_an_exception_keeps_its_traceback():
    def callee():
        raise Thrown("deep")

    try:
        callee()
    except Thrown as error:
        thrown = error.with_traceback(error.__traceback__.tb_next)
    code = statements.__code__
    made = resume_function(globals(), code, offset_of(statements, "d = "), (), ("a", "c"), "throw")
    with pytest.raises(Thrown) as caught:
        made(1, 2, thrown)
    frames = traceback.extract_tb(caught.value.__traceback__)[1:]
    assert [frame.name for frame in frames] == ["statements", "callee"]
    assert frames[0].line == "d = c * 2"
    assert caught.value.__context__ is None


def holding(value):
    def use(x):
        return weakref.ref(x)

    gone = use(value)
    del value
    return gone()


def test_values_live_no_longer_than_in_the_frame():
    code = holding.__code__
    call = next(i.offset for i in dis.get_instructions(code) if i.opname in ("CALL", "CALL_FUNCTION"))
    below = (True,) if sys.version_info < (3, 11) else (False, True) if sys.version_info < (3, 13) else (True, False)
    made = resume_function(globals(), code, call, (*below, True), ())
    assert "value" in live_locals(code, call)
    gone = weakref.ref(value := Context([], "x"))
    with pytest.raises(UnboundLocalError):
        made(weakref.ref, value)
    del value
    assert gone() is None


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def sum(self):
        return self.x + self.y


def hot(points, table, n):
    total, texts, k = 0.5, [], 0
    for i in range(n):
        for point in points:
            if i % 3 == k:
                continue
            total += point.sum() * table["a"][0] - abs(-i)
            point.x, point.y = point.y, point.x
        texts.append(f"{i}" + str(i > 3))
        table["n"], k = len(texts), (k + 1) % 3
        try:
            [j for j in (1, 2) if j // (i % 50)]
        except ZeroDivisionError:
            k = 0
    return total, len(texts), texts[-1], table["n"], points[0].x


@pytest.mark.parametrize("line", ["for i in", "return total"])
def test_a_resumed_function_becomes_hot(line):
    def arguments():
        return [Point(1, 2.5), Point(3, 4)], {"a": (2,)}, 300

    expected = hot(*arguments())
    names = ("points", "table", "n", "total", "texts", "k")
    code = resume_code(hot.__code__, offset_of(hot, line), (), names)
    # Before 3.12 a comprehension is a function, and `i` a cell.
    made = code.bind(globals(), [CellType() for _ in code.cell_names])
    for _ in range(40):
        points, table, n = arguments()
        if line == "for i in":
            assert made(points, table, n, 0.5, [], 0) == expected
        else:
            table["n"] = 7
            assert made(points, table, n, 0.5, ["a"], 0) == (0.5, 1, "a", 7, 1)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older handlers are no table")
def test_an_interrupt_at_the_beginning_meets_the_handlers():
    code = resume_code(handling.__code__, offset_of(handling, "a()"), (), ("a",)).code
    resume = next(i.offset for i in dis.get_instructions(code) if i.opname == "RESUME")
    assert any(entry.start <= resume < entry.end for entry in dis._parse_exception_table(code))
