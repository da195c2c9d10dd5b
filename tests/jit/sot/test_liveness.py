"""Live locals, compared with a search of all ways that lead from an instruction to one that reads the local."""

from __future__ import annotations

import dis
import inspect
import sys
from typing import Any

import pytest

from paddle.jit.sot.liveness import control_flow, fast_locals, live_locals
from tests.support.frame_programs import CASES, Context, Derived, many_locals

# Code that reads all locals, or the first, has tests of its own; before 3.11 `dis` does not tell where exceptions go.
CODES = {
    function.__name__: function.__code__
    for function, _ in CASES
    if not {"locals", "__class__"} & {*function.__code__.co_names, *function.__code__.co_freevars}
    and not any(i.opname.startswith("SETUP_") for i in dis.get_instructions(function))
}
FINAL = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_ABSOLUTE")


def uses(instruction: Any) -> list[tuple[str, str]]:
    """Reads and writes of locals, by the text that `dis` prints."""
    name, shown = instruction.opname, instruction.argrepr
    found = []
    if "FAST" in name:
        # `LOAD_FAST_LOAD_FAST (a, b)`, `STORE_FAST_LOAD_FAST (a, b)`
        parts = [part for part in name.split("_") if part in ("LOAD", "STORE", "DELETE")]
        for part, local in zip(parts, shown.split(", ")):
            found += [("read", local)] * (part != "STORE") + [("write", local)] * (part != "LOAD")
        if name == "LOAD_FAST_AND_CLEAR":
            found.append(("write", shown))
    return found


def ways(code: Any) -> tuple[dict[int, Any], dict[int, list[int]], set[int]]:
    """Instructions by offset, and where control may go from each, in terms of `dis`."""
    instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
    # A jump may lead to the extension of an instruction.
    starts: dict[int, int] = {}
    waiting: list[int] = []
    for i in dis.get_instructions(code):
        waiting.append(i.offset)
        if i.opname != "EXTENDED_ARG":
            starts.update((offset, i.offset) for offset in waiting)
            waiting = []
    following: dict[int, list[int]] = {}
    for i, after in zip(instructions, [*instructions[1:], None]):
        backward = "JUMP_BACKWARD" in i.opname and "IF" not in i.opname
        to = [] if i.opname in FINAL or backward or after is None else [after.offset]
        if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs:
            to.append(starts[i.argval])
        following[i.offset] = to
    handlers = set()
    if sys.version_info >= (3, 11):
        for entry in dis._parse_exception_table(code):
            for offset, to in following.items():
                if entry.start <= offset < entry.end:
                    to.append(starts[entry.target])
            handlers.add(starts[entry.target])
    return {i.offset: i for i in instructions}, following, handlers


def may_be_read(
    offset: int, local: str, instructions: dict[int, Any], following: dict[int, list[int]], handlers: set[int]
) -> bool:
    todo, seen = [offset], {offset}
    while todo:
        here = todo.pop()
        first = next((use for use, name in uses(instructions[here]) if name == local), None)
        if first == "read":
            return True
        to = following[here]
        if first == "write":
            # What it raises, it raises before.
            to = [t for t in to if t in handlers]
        todo += [t for t in to if t not in seen]
        seen.update(to)
    return False


@pytest.mark.parametrize("name", CODES)
def test_live_locals_are_those_that_some_way_reads(name):
    code = CODES[name]
    instructions, following, handlers = ways(code)
    step = 1 if len(instructions) < 300 else 101
    some = fast_locals(code)[:: 1 if len(code.co_varnames) < 40 else 50]
    for offset in list(instructions)[::step]:
        expected = {n for n in some if may_be_read(offset, n, instructions, following, handlers)}
        assert live_locals(code, offset) & set(some) == expected, offset


def before(function: Any, line: str) -> frozenset[str]:
    """Live locals before the line of a function which has these words."""
    lines = inspect.getsource(function).splitlines()
    number = function.__code__.co_firstlineno + next(i for i, text in enumerate(lines) if line in text)
    return live_locals(function.__code__, next(o for o, n in dis.findlinestarts(function.__code__) if n == number))


def assigning(a, b):
    c = a + b
    a = c * 2
    b = a
    return b


def branching(a, b, c):
    if a:
        d = b
    else:
        d = c
    while d:
        d -= b
        c = 1
    return d


def trying(a, b, c, d, log):
    try:
        x = a
        log(x)
        x = 2
        c = 3
    except ValueError:
        log(x)
        return b, c
    finally:
        log(d)
    return a


def within(a, b, log):
    with Context(log, "c") as name:
        a = 1
        b = name
        log.append(name)
    return a, b


def deleting(a, b):
    b = 1
    del a
    a = b
    return a


def closing(a, b):
    c = 1

    def inner():
        return a, c

    c = b
    return inner


def looking(a, b):
    c = b
    return locals()


def comprehending(a, x):
    y = [-x for x in a]
    x = y
    return x


def test_a_write_ends_a_life():
    assert before(assigning, "c = a + b") == {"a", "b"}
    assert before(assigning, "a = c * 2") == {"c"}
    assert before(assigning, "b = a") == {"a"}
    assert before(assigning, "return b") == {"b"}


def test_branches_and_loops():
    assert before(branching, "if a") == {"a", "b", "c"}
    assert before(branching, "d = b") == {"b"}
    assert before(branching, "d = c") == {"b", "c"}
    assert before(branching, "d -= b") == {"b", "d"}
    assert before(branching, "return d") == {"d"}


def test_what_handlers_read_is_live():
    # `x` is unbound where the first statement fails.
    assert before(trying, "x = a") == {"a", "b", "c", "d", "log", "x"}
    assert before(trying, "x = 2") == {"a", "b", "c", "d", "log", "x"}
    assert before(trying, "return b, c") == {"b", "c", "d", "log"}
    assert before(trying, "return a") == {"a"}


def test_a_context_may_swallow_an_exception():
    assert before(within, "b = name") == {"a", "b", "name", "log"}
    assert before(within, "with Context") == {"a", "b", "log"}
    assert before(within, "return a, b") == {"a", "b"}


def test_a_deletion_needs_the_local():
    assert before(deleting, "b = 1") == {"a"}
    assert before(deleting, "del a") == {"a", "b"}
    assert before(deleting, "a = b") == {"b"}


def test_cells_do_not_count():
    assert fast_locals(closing.__code__) == ("b", "inner")
    assert before(closing, "c = 1") == {"b"}


def test_functions_that_look_at_all_locals():
    assert before(looking, "c = b") == {"a", "b", "c"}


def test_a_comprehension_saves_what_it_hides():
    inlined = sys.version_info >= (3, 12)
    assert before(comprehending, "y = [-x") == ({"a", "x"} if inlined else {"a"})
    assert before(comprehending, "x = y") == {"y"}


def test_super_reads_the_first_argument():
    last = [i.offset for i in dis.get_instructions(Derived.looping) if i.opname == "RETURN_VALUE"][-1]
    assert live_locals(Derived.looping.__code__, last) == {"self"}


def test_variables_and_jumps_with_long_arguments():
    code = many_locals(262).__code__
    assert len(fast_locals(code)) == 264
    extended = [i for i in dis.get_instructions(code) if i.opname == "EXTENDED_ARG"]
    for i in extended[::50]:
        target = control_flow(code).steps[control_flow(code).index[i.offset]]
        assert live_locals(code, i.offset) == live_locals(code, target.offset)


def test_other_offsets_are_refused():
    for offset in (-2, 1, len(assigning.__code__.co_code)):
        with pytest.raises(ValueError, match=rf"\[live_locals\] requires the offset .* of 'assigning', got {offset}"):
            live_locals(assigning.__code__, offset)
