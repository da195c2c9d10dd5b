"""Control flow of code objects, and the locals that are read on the way.

A local that is dead at a break of the graph is neither computed nor passed to the function that goes on from there.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Generic, NamedTuple, TypeVar

from bytecode import ConcreteBytecode, ConcreteInstr

T = TypeVar("T")

BLOCK_STACK = sys.version_info < (3, 11)
"""Handlers are pushed and popped by instructions, in place of a table of ranges."""

# Instructions of two locals, as the two that they stand for. The first local is in the upper four bits of the argument.
PAIRS = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST_BORROW", "LOAD_FAST_BORROW"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
# A deletion needs a bound local; what is saved around an inlined comprehension is restored after it.
_READS = {"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR", "DELETE_FAST"}
_WRITES = {"STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"}
# Functions that see all locals of their caller. An attribute of such a name is taken for one of them.
_READERS_OF_ALL = {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "breakpoint", "set_trace"}


class PerCode(Generic[T]):
    """A function of code objects that keeps its results as long as these live.

    Code objects that are equal, but of different files, are two.
    """

    def __init__(self, compute: Callable[[CodeType], T]):
        self._compute = compute
        self._results: dict[int, tuple[weakref.ref[CodeType], T]] = {}

    def __call__(self, code: CodeType) -> T:
        key = id(code)
        found = self._results.get(key)
        if found is None:
            # `pop` is bound here: at the end of the process the global names are gone before code objects are.
            forget = self._results.pop
            found = weakref.ref(code, lambda _: forget(key, None)), self._compute(code)
            self._results[key] = found
        return found[1]


class Handler(NamedTuple):
    """The step that an exception goes to; the stack is unwound to a depth and the exception pushed."""

    target: int
    depth: int = -1
    """Of a table of ranges. With a stack of blocks it is that of the step which pushed the block (``setup``)."""
    push_lasti: bool = False
    setup: int = -1


class Step:
    """An instruction with all that belongs to it (``EXTENDED_ARG`` before it, caches after it) and where it leads.

    ``next``: steps that may follow. ``handler``: where an exception goes. ``blocks``: with a stack of blocks, those
    around the step, the innermost last; None stands for that of an exception which is being handled.
    """

    __slots__ = ("blocks", "handler", "instr", "next", "offset", "target")

    def __init__(self, instr: ConcreteInstr, offset: int):
        self.instr = instr
        self.offset = offset
        self.target: int | None = None
        self.next: tuple[int, ...] = ()
        self.handler: Handler | None = None
        self.blocks: tuple[Handler | None, ...] = ()

    @property
    def name(self) -> str:
        return self.instr.name


class ControlFlow:
    """The steps of a code object. ``index`` finds one by the offset, in bytes, of an instruction or its extension."""

    def __init__(self, code: CodeType):
        concrete = ConcreteBytecode.from_code(code)
        self.steps: list[Step] = []
        self.index: dict[int, int] = {}
        jumps: list[tuple[Step, int]] = []
        words = 0
        for instr in concrete:
            assert isinstance(instr, ConcreteInstr)
            size = instr.size // 2
            if instr.name != "CACHE":
                step = Step(instr, 2 * (words + size - 1))
                for word in range(words, words + size):
                    self.index[2 * word] = len(self.steps)
                target = instr.get_jump_target(words)
                if target is not None:
                    jumps.append((step, target))
                self.steps.append(step)
            words += size
        for step, target in jumps:
            step.target = self.index[2 * target]
        for i, step in enumerate(self.steps):
            step.next = () if step.instr.is_final() or i + 1 == len(self.steps) else (i + 1,)
            # With a stack of blocks, the target of a setup is reached by exceptions only.
            if step.target is not None and not step.name.startswith("SETUP_"):
                step.next += (step.target,)
        if BLOCK_STACK:
            self._find_blocks()
        else:
            self._place_handlers(concrete)

    def _place_handlers(self, concrete: ConcreteBytecode) -> None:
        for entry in concrete.exception_table:
            handler = Handler(self.index[2 * entry.target], entry.stack_depth, bool(entry.push_lasti))
            for word in range(entry.start_offset, entry.stop_offset + 1):
                if 2 * word in self.index:
                    self.steps[self.index[2 * word]].handler = handler

    def _find_blocks(self) -> None:
        seen: set[int] = set()
        todo: list[tuple[int, tuple[Handler | None, ...]]] = [(0, ())]
        while todo:
            i, blocks = todo.pop()
            if i in seen:
                continue
            seen.add(i)
            step = self.steps[i]
            step.blocks = blocks
            live = len(blocks)
            while live and blocks[live - 1] is None:
                live -= 1
            if live:
                step.handler = blocks[live - 1]
                assert step.handler is not None
                todo.append((step.handler.target, (*blocks[: live - 1], None)))
            if step.name.startswith("SETUP_"):
                assert step.target is not None
                pushed = Handler(step.target, setup=i)
                blocks = (*blocks, pushed)
            elif step.name in ("POP_BLOCK", "POP_EXCEPT"):
                blocks = blocks[:-1]
            todo += [(following, blocks) for following in step.next]


control_flow = PerCode(ControlFlow)


def fast_locals(code: CodeType) -> tuple[str, ...]:
    """The locals of a code object that are no cells.

    Args:
        code: that of a function.

    Returns:
        Names, in the order of ``co_varnames``.
    """
    return tuple(name for name in code.co_varnames if name not in code.co_cellvars)


def _accesses(instr: ConcreteInstr) -> list[tuple[str, int]]:
    """Uses of slots of locals by an instruction, in order."""
    if instr.name in PAIRS:
        first, second = PAIRS[instr.name]
        return [(first, instr.arg >> 4), (second, instr.arg & 15)]
    return [(instr.name, instr.arg)] if instr.name in _READS or instr.name in _WRITES else []


def _live_sets(code: CodeType) -> list[int]:
    """For each step the slots that are live before it, as bits."""
    steps = control_flow(code).steps
    effects = []
    for step in steps:
        reads = writes = 0
        for name, slot in _accesses(step.instr):
            if name in _READS:
                reads |= 1 << slot & ~writes
            if name in _WRITES:
                writes |= 1 << slot
        effects.append((reads, ~writes))
    live = [0] * (len(steps) + 1)
    changed = True
    while changed:
        changed = False
        for i in range(len(steps) - 1, -1, -1):
            step, (reads, kept) = steps[i], effects[i]
            after = 0
            for following in step.next:
                after |= live[following]
            now = reads | after & kept
            if step.handler is not None:
                # The exception comes before a write as well.
                now |= live[step.handler.target]
            if now != live[i]:
                live[i] = now
                changed = True
    return live


def _lives(code: CodeType) -> list[int]:
    live = _live_sets(code)
    everywhere = 0
    if _READERS_OF_ALL.intersection(code.co_names):
        everywhere = -1
    elif "__class__" in code.co_freevars and code.co_argcount:
        everywhere = 1  # `super()` looks at the first argument of the frame.
    return [now | everywhere for now in live]


_lives_of = PerCode(_lives)


def live_locals(code: CodeType, offset: int) -> frozenset[str]:
    """The locals that may be read before they are written, from an instruction on.

    Cells do not count as locals here: others may read them at any time. Which of the locals are bound is another
    question: ``del`` and an inlined comprehension, which saves what it hides, read locals that may be unbound. Where a
    function could look at all of its locals (``locals()``, ``eval``, …), all of them are live; ``super()`` reads the
    first argument.

    Args:
        code: that of any function.
        offset: of an instruction, in bytes, as ``dis`` gives it.

    Returns:
        Names of locals.

    Raises:
        ValueError: no instruction is at the offset.
    """
    found = control_flow(code).index.get(offset)
    if found is None:
        raise ValueError(f"[live_locals] requires the offset of an instruction of {code.co_name!r}, got {offset}")
    live = _lives_of(code)[found]
    cells = code.co_cellvars
    return frozenset(name for slot, name in enumerate(code.co_varnames) if live >> slot & 1 and name not in cells)
