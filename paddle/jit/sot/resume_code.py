"""Functions that go on where a frame of another function stands.

A resumed function has the instructions of the original that can still be reached, the same constants, names and lines.
A prologue puts the stack back and jumps to the place. What comes in are values; cells of the frame are the closure, so
that whoever has one of them sees the same variable.

What lies around the place holds on: from Python 3.11 on handlers are a table of ranges, in which the place keeps its
entry; before, the prologue pushes the blocks in which it stands, each where the stack is as deep as it was.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Sequence
from types import CellType, CodeType, FunctionType
from typing import Any, Literal, NamedTuple

from bytecode import ConcreteBytecode, ConcreteInstr
from bytecode.concrete import ExceptionTableEntry
from bytecode.instr import InstrLocation

from paddle.jit.sot.liveness import BLOCK_STACK, PAIRS, Handler, PerCode, Step, control_flow, live_locals

Mode = Literal["run", "throw"]

_VERSION = sys.version_info[:2]
_SUSPENDING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
_NO_LINE = InstrLocation(None, None, None, None)
_LOADS = ("LOAD_FAST", "LOAD_FAST_BORROW")
# What the prologue has on the stack above what the frame had at most.
_MORE_STACK = 2


class CannotResume(Exception):
    """A frame cannot be continued at this place; it has to be run from its beginning."""


class _State(NamedTuple):
    """Depth of the stack before a step, and what exceptions have left on it."""

    depth: int
    handled: int = 0
    """Number of exceptions that are being handled."""
    raised: bool = False
    """Whether one was raised that no PUSH_EXC_INFO has met yet."""
    lasti: int | None = None
    """Where on the stack the offset of an exception lies. A ``with`` that swallows it pops that late; in 3.14 it is no
    object, which could be a parameter."""


def _effect(step: Step, jumps: bool) -> int:
    instr = step.instr
    if step.name == "PRECALL":  # What `dis` says of this one is done by the CALL that follows.
        return 0
    if step.name == "CALL" and _VERSION == (3, 11):
        return -(instr.arg + 1)
    return dis.stack_effect(instr.opcode, instr.arg if instr.require_arg() else None, jump=jumps)


def _states(code: CodeType) -> dict[int, _State]:
    """The state before each step that can be reached."""
    steps = control_flow(code).steps
    states: dict[int, _State] = {}
    todo = [(0, _State(0))]
    while todo:
        i, state = todo.pop()
        if i in states:
            continue
        states[i] = state
        step = steps[i]
        handled = state.handled + (step.name == "PUSH_EXC_INFO") - (step.name == "POP_EXCEPT")
        raised = state.raised and step.name != "PUSH_EXC_INFO"
        for following in step.next:
            depth = state.depth + _effect(step, following == step.target)
            lasti = state.lasti if state.lasti is not None and depth > state.lasti else None
            todo.append((following, _State(depth, handled, raised, lasti)))
        if step.handler is not None and not BLOCK_STACK:
            handler = step.handler
            lasti = state.lasti if state.lasti is not None and state.lasti < handler.depth else None
            if handler.push_lasti and lasti is None:
                lasti = handler.depth
            depth = handler.depth + handler.push_lasti + 1
            todo.append((handler.target, _State(depth, state.handled, True, lasti)))
        elif step.name.startswith("SETUP_"):
            assert step.target is not None
            # Three values each of this exception and of the one that was handled before.
            todo.append((step.target, _State(state.depth + 6, state.handled + 1)))
    return states


_states_of = PerCode(_states)


class _Place(NamedTuple):
    """An instruction of the new code, before its jump is known."""

    instr: ConcreteInstr
    handler: Handler | None
    target: int | None
    """The step that it jumps to."""


class _Assembly:
    """The code of a resumed function, while it is written."""

    def __init__(
        self,
        code: CodeType,
        at: int,
        stack: tuple[bool, ...],
        local_names: tuple[str, ...],
        mode: Mode,
    ):
        self.code = code
        self.steps = control_flow(code).steps
        self.at = at
        self.mode = mode
        self.places: list[_Place] = []
        self.starts: dict[int, int] = {}
        self.consts = list(code.co_consts)
        self.names = list(code.co_names)
        self.cells = code.co_cellvars + code.co_freevars
        self.location = self.steps[at].instr.location
        self._name_slots(stack, local_names)
        self.unsure = live_locals(code, self.steps[at].offset).difference(local_names)
        first = len(self.varnames)
        # Where a slot of the old frame lies in the new one. Until 3.10 cells are counted apart, and keep their places.
        self.slots = [
            first + self.cells.index(name) if name in code.co_cellvars else self.varnames.index(name)
            for name in code.co_varnames
        ]
        unshared = [name for name in code.co_cellvars if name not in code.co_varnames]
        self.slots += [first + self.cells.index(name) for name in unshared]
        self.slots += [first + len(code.co_cellvars) + i for i in range(len(code.co_freevars))]

    def _name_slots(self, stack: tuple[bool, ...], local_names: tuple[str, ...]) -> None:
        """Name the slots of locals: those of the parameters come first, in their order."""
        code = self.code
        self.stack = [f".{i}" if is_value else None for i, is_value in enumerate(stack)]
        self.parameters = [*filter(None, self.stack), *local_names, *([".exception"] if self.mode == "throw" else [])]
        # Pairs (from, to) of slots of values that come in one and belong into the other.
        self.moves: list[tuple[str, str]] = []
        self.first_is_cell = False
        if "__class__" in code.co_freevars and code.co_argcount:
            self._keep_first(code.co_varnames[0])
        others = [*(n for n in code.co_varnames if n not in code.co_cellvars), *(to for _, to in self.moves)]
        self.varnames = list(dict.fromkeys([*self.parameters, *others]))

    def _keep_first(self, first: str) -> None:
        """Let the first slot be that of the first argument of the frame, where ``super()`` looks for it."""
        self.first_is_cell = first in self.code.co_cellvars
        if not self.parameters:
            if self.first_is_cell:  # `super()` refuses a function without parameters.
                self.parameters.append(first)
            return
        came = self.parameters[0]
        if came == first and not self.first_is_cell:
            return
        if first in self.parameters:
            self.parameters[self.parameters.index(first)] = ".first"
            self.moves.append((".first", first))
        self.parameters[0] = first
        if came in self.stack:
            self.stack[self.stack.index(came)] = first
        else:
            self.moves.insert(0, (first, came))

    # Writing

    def emit(
        self,
        name: str,
        arg: int | None = None,
        location: InstrLocation | None = None,
        handler: Handler | None = None,
        target: int | None = None,
    ) -> None:
        if location is None:
            # The line of a call in a trace is that of the first instruction, before 3.11.
            location = self.location if BLOCK_STACK else _NO_LINE
        instr = ConcreteInstr(name, location=location) if arg is None else ConcreteInstr(name, arg, location=location)
        self.places.append(_Place(instr, handler, target))
        if caches := instr.use_cache_opcodes():
            self.places += [_Place(ConcreteInstr("CACHE", 0, location=location), handler, None)] * caches

    def take(self, name: str) -> None:
        """Push the value of a slot and leave the slot unbound."""
        slot = self.varnames.index(name)
        if _VERSION >= (3, 12):
            self.emit("LOAD_FAST_AND_CLEAR", slot)
        else:
            self.emit("LOAD_FAST", slot)
            self.emit("DELETE_FAST", slot)

    def const(self, value: Any) -> int:
        self.consts.append(value)
        return len(self.consts) - 1

    def prologue(self) -> None:
        if self.cells and not BLOCK_STACK:
            self.emit("COPY_FREE_VARS", len(self.cells))
        if BLOCK_STACK:
            self.push_stack_and_blocks()
        else:
            for name in self.stack:
                if name is None:
                    self.emit("PUSH_NULL")
                else:
                    self.take(name)
        for source, _ in self.moves:
            self.take(source)
        for _, name in reversed(self.moves):
            self.emit("STORE_FAST", self.varnames.index(name))
        if self.first_is_cell:
            self.emit("LOAD_DEREF", self.cell_slot(self.varnames[0]))
            self.emit("STORE_FAST", 0)
        step = self.steps[self.at]
        handler = None if BLOCK_STACK else step.handler
        if not BLOCK_STACK:
            # Here signals are handled: an interrupt meets the handlers around the place.
            self.emit("RESUME", 0, self.location, handler)
        if self.mode == "throw":
            self.emit("LOAD_FAST", self.varnames.index(".exception"), self.location, handler)
            self.emit("DELETE_FAST", self.varnames.index(".exception"), self.location, handler)
            self.emit("RAISE_VARARGS", 1, self.location, handler)
            return
        self.keyword_names(handler)
        self.emit("JUMP_FORWARD", 0, handler=handler, target=self.at)

    def cell_slot(self, name: str) -> int:
        return self.cells.index(name) + (0 if BLOCK_STACK else len(self.varnames))

    def keyword_names(self, handler: Handler | None) -> None:
        """Between KW_NAMES and the call the names are in no slot and not on the stack (3.11, 3.12)."""
        before = self.at - 1
        if self.steps[self.at].name not in ("PRECALL", "CALL"):
            return
        if before >= 0 and self.steps[before].name == "PRECALL":
            before -= 1
        if before >= 0 and self.steps[before].name == "KW_NAMES":
            self.emit("KW_NAMES", self.steps[before].instr.arg, handler=handler)

    def push_stack_and_blocks(self) -> None:
        states = _states_of(self.code)
        levels: dict[int, list[Handler]] = {}
        for block in self.steps[self.at].blocks:
            assert block is not None
            levels.setdefault(states[block.setup].depth, []).append(block)
        depth = 0
        while True:
            for block in levels.get(depth, ()):
                self.emit("SETUP_FINALLY", 0, target=block.target)
            if depth == len(self.stack):
                return
            name = self.stack[depth]
            if name is not None:
                self.take(name)
                depth += 1
                continue
            above = self.stack[depth + 1] if depth + 1 < len(self.stack) else None
            if above is None:
                raise CannotResume(
                    f"{self.code.co_name!r}: only below a callable a stack of Python {_VERSION} has a NULL"
                )
            # LOAD_METHOD of an attribute that is no method pushes NULL and the attribute.
            self.emit("LOAD_CONST", self.const(staticmethod))
            self.take(above)
            self.emit("CALL_FUNCTION", 1)
            self.names.append("__func__")
            self.emit("LOAD_METHOD", len(self.names) - 1)
            depth += 2

    def reachable(self) -> list[int]:
        step = self.steps[self.at]
        todo = [] if self.mode == "throw" else [self.at]
        todo += [block.target for block in step.blocks if block is not None]
        todo += [step.handler.target] if step.handler is not None else []
        seen = set(todo)
        while todo:
            step = self.steps[todo.pop()]
            following = [*step.next, *([step.handler.target] if step.handler is not None else [])]
            if step.target is not None:
                following.append(step.target)
            todo += [i for i in following if i not in seen]
            seen.update(following)
        return sorted(seen)

    def copy(self, i: int) -> None:
        step = self.steps[i]
        instr, name = step.instr, step.name
        self.starts[i] = len(self.places)
        location, handler = instr.location or _NO_LINE, None if BLOCK_STACK else step.handler
        if not instr.require_arg():
            self.emit(name, None, location, handler)
            return
        arg = instr.arg
        if name in PAIRS:
            slots = self.slots[arg >> 4], self.slots[arg & 15]
            names = [self.checked(part, old) for part, old in zip(PAIRS[name], (arg >> 4, arg & 15))]
            if max(slots) < 16 and tuple(names) == PAIRS[name]:
                self.emit(name, slots[0] << 4 | slots[1], location, handler)
            else:
                for part, slot in zip(names, slots):
                    self.emit(part, slot, location, handler)
        elif instr.opcode in dis.haslocal or (instr.opcode in dis.hasfree and not BLOCK_STACK):
            self.emit(self.checked(name, arg), self.slots[arg], location, handler)
        else:
            self.emit(name, arg if step.target is None else 0, location, handler, step.target)

    def checked(self, name: str, slot: int) -> str:
        """Look whether a local is bound where the compiler knew it, but the frame at hand says otherwise."""
        unsure = name in _LOADS and slot < len(self.code.co_varnames) and self.code.co_varnames[slot] in self.unsure
        return "LOAD_FAST_CHECK" if unsure and _VERSION >= (3, 12) else name

    def settle_jumps(self) -> list[ConcreteInstr]:
        """The instructions, with the distances that jumps need. Sizes only grow, so this ends."""
        instrs = [place.instr for place in self.places]
        while True:
            offsets = self.offsets(instrs)
            grew = False
            for i, place in enumerate(self.places):
                if place.target is None:
                    continue
                old = instrs[i]
                target, after = offsets[self.starts[place.target]], offsets[i + 1] + old.use_cache_opcodes()
                arg = target
                if not old.is_abs_jump():
                    arg = after - target if old.is_backward_rel_jump() else target - after
                new = ConcreteInstr(old.name, arg, location=old.location)
                if new.size < old.size:
                    new = ConcreteInstr(old.name, arg, location=old.location, extended_args=old.size // 2 - 1)
                grew = grew or new.size > old.size
                instrs[i] = new
            if not grew:
                return instrs

    @staticmethod
    def offsets(instrs: list[ConcreteInstr]) -> list[int]:
        offsets = [0]
        for instr in instrs:
            offsets.append(offsets[-1] + instr.size // 2)
        return offsets

    def exception_table(self, instrs: list[ConcreteInstr]) -> list[ExceptionTableEntry]:
        offsets = self.offsets(instrs)
        table: list[ExceptionTableEntry] = []
        current: Handler | None = None
        for i, place in enumerate(self.places):
            handler = place.handler
            if handler is not None and handler == current:
                table[-1].stop_offset = offsets[i + 1] - 1
            elif handler is not None:
                target = offsets[self.starts[handler.target]]
                table.append(
                    ExceptionTableEntry(offsets[i], offsets[i + 1] - 1, target, handler.depth, handler.push_lasti)
                )
            current = handler
        return table

    def assemble(self) -> CodeType:
        self.prologue()
        for i in self.reachable():
            self.copy(i)
        instrs = self.settle_jumps()
        code = self.code
        concrete = ConcreteBytecode(
            instrs,
            consts=tuple(self.consts),
            names=tuple(self.names),
            varnames=self.varnames,
            exception_table=self.exception_table(instrs),
        )
        concrete.name, concrete.filename = code.co_name, code.co_filename
        concrete.qualname = getattr(code, "co_qualname", code.co_name)
        concrete.first_lineno = code.co_firstlineno
        concrete.argcount = concrete.posonlyargcount = len(self.parameters)
        concrete.freevars = list(self.cells)
        flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
        concrete.flags = flags  # type: ignore[assignment]
        return concrete.to_code(code.co_stacksize + _MORE_STACK, compute_exception_stack_depths=False)


class ResumeCode:
    """The code of a function that continues a frame, without what differs from frame to frame.

    Parameters of the function are the values on the stack, from the bottom up and without NULLs, then the locals, then
    in the mode ``"throw"`` the exception.

    Args:
        code: that of the frame, of a plain function.
        offset: of the instruction to go on with, in bytes, as ``dis`` gives it.
        stack: for each entry of the operand stack, whether it is a value (or a NULL).
        local_names: locals that are bound and may be read; cells do not count.
        mode: ``"run"`` if the instruction runs, ``"throw"`` if it is said to have raised an exception.

    Raises:
        CannotResume: the frame is that of a generator, a coroutine or a class body, or handles an exception there.
        ValueError: the frame cannot look as it is said to.
    """

    def __init__(self, code: CodeType, offset: int, stack: tuple[bool, ...], local_names: tuple[str, ...], mode: Mode):
        if mode not in ("run", "throw"):
            raise ValueError(f"[ResumeCode] requires mode 'run' or 'throw', got {mode!r}")
        at = self._step(code, offset, len(stack))
        unknown = [n for n in local_names if n not in code.co_varnames or n in code.co_cellvars]
        if unknown or len(set(local_names)) < len(local_names):
            raise ValueError(
                f"[ResumeCode] requires distinct locals of {code.co_name!r} that are no cells, got {local_names}"
            )
        assembly = _Assembly(code, at, stack, local_names, mode)
        self.cell_names: tuple[str, ...] = code.co_cellvars + code.co_freevars
        """Names of the cells that ``bind`` takes."""
        self.code = assembly.assemble()
        given = sum(stack) + len(local_names) + (mode == "throw")
        self._defaults = (None,) * (len(assembly.parameters) - given)

    @staticmethod
    def _step(code: CodeType, offset: int, depth: int) -> int:
        name = code.co_name
        if code.co_flags & _SUSPENDING:
            raise CannotResume(
                f"{name!r} is a generator or a coroutine: its frame is suspended and continued by itself"
            )
        if not code.co_flags & inspect.CO_OPTIMIZED:
            raise CannotResume(f"{name!r} is no function: its variables are the items of a dict")
        steps = control_flow(code)
        at = steps.index.get(offset)
        if at is None:
            raise ValueError(f"[ResumeCode] requires the offset of an instruction of {name!r}, got {offset}")
        state = _states_of(code).get(at)
        if state is None:
            raise ValueError(
                f"[ResumeCode] requires an instruction that can be reached, got offset {offset} of {name!r}"
            )
        if state.handled or state.raised or state.lasti is not None:
            raise CannotResume(f"{name!r} handles an exception at offset {offset}, which has a state of its own")
        if steps.steps[at].name == "RESUME":
            at += 1
        elif not BLOCK_STACK and all(step.name != "RESUME" for step in steps.steps[:at]):
            raise CannotResume(f"{name!r} has not begun at offset {offset}: call the function")
        elif steps.steps[at].name == "MAKE_CELL":
            raise CannotResume(f"{name!r} has a variable without a cell at offset {offset}")
        if depth != state.depth:
            raise ValueError(
                f"[ResumeCode] requires a stack of {state.depth} entries at offset {offset} of {name!r}, got {depth}"
            )
        return at

    def bind(self, function_globals: dict[str, Any], cells: Sequence[CellType] = ()) -> FunctionType:
        """The function for one frame.

        Args:
            function_globals: the globals of the frame.
            cells: those of the frame, in the order of ``cell_names``: ``co_cellvars``, then ``co_freevars``.

        Returns:
            A function that does the rest of the frame and returns what it returns.

        Raises:
            ValueError: there are more or fewer cells.
        """
        if len(cells) != len(self.cell_names):
            raise ValueError(f"[ResumeCode.bind] requires the cells {self.cell_names}, got {len(cells)} cells")
        return FunctionType(self.code, function_globals, self.code.co_name, self._defaults, tuple(cells))


_Key = tuple[int, tuple[bool, ...], tuple[str, ...], Mode]
_made: PerCode[dict[_Key, ResumeCode]] = PerCode(lambda code: {})


def resume_code(
    code: CodeType, offset: int, stack: Sequence[bool], local_names: Sequence[str], mode: Mode = "run"
) -> ResumeCode:
    """A ``ResumeCode`` for these parameters, made once."""
    key = offset, tuple(stack), tuple(local_names), mode
    made = _made(code)
    found = made.get(key)
    if found is None:
        found = made[key] = ResumeCode(code, *key)
    return found


def resume_function(
    function_globals: dict[str, Any],
    code: CodeType,
    offset: int,
    stack: Sequence[bool],
    local_names: Sequence[str],
    mode: Mode = "run",
    cells: Sequence[CellType] = (),
) -> FunctionType:
    """The function that continues a frame: ``resume_code`` and ``ResumeCode.bind`` in one.

    Args:
        function_globals: the globals of the frame.
        code, offset, stack, local_names, mode: as for ``ResumeCode``.
        cells: as for ``ResumeCode.bind``.

    Returns:
        Its parameters are values on the stack from the bottom up, locals, in the mode ``"throw"`` an exception.
    """
    return resume_code(code, offset, stack, local_names, mode).bind(function_globals, cells)
