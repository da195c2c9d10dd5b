"""Simulation of a frame: its instructions one by one, over ordinary Python values.

An instruction does at most one thing that is more than moving values: an :class:`Operation`, by :meth:`Frame.do`. It is
where a graph can break. After a break the frame goes on in the middle of the instruction, with the result of the
operation as ``pending``; the operands below it are not looked at again.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from types import CellType, CodeType
from typing import TYPE_CHECKING, Any

from paddle.jit.sot.breakpoints import BM
from paddle.jit.sot.bytecode import VERSION, Bytecode, Instruction, decode, describe
from paddle.jit.sot.control import Control, GraphBreak, Operation, UnknownInstruction
from paddle.jit.sot.trace import Unset
from paddle.jit.source.values import LATE, array_of, read

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
                raise UnknownInstruction(f"the instruction {instruction.opname} is not known ({self.where()})")
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
        if trace.capture.moved:
            args = tuple(map(array_of, args))
        return self.simulator.call(function, args, kwargs, direct=True)

    def inner_iterator(self) -> Any:
        """The iterator that ``yield from`` or ``await`` has the yielded value from; None at a ``yield``."""
        sending = self._sending()
        return None if sending is None else self.peek()

    def leave_inner(self, value: Any) -> None:
        """Go on after ``yield from`` with the value that the inner iterator has returned."""
        sending = self._sending()
        assert sending is not None
        if VERSION >= (3, 12):
            self.push(value)  # END_SEND takes away what lies below
        else:
            self.stack[-1] = value
        if sending.opname == "SEND":
            self.jump(sending)
        else:
            self.at = self.current + 1

    def _sending(self) -> Instruction | None:
        if self.instruction.opname == "YIELD_FROM":
            return self.instruction
        before = self.bytecode.instructions[self.current - 1]
        return before if before.opname == "SEND" else None

    def handler_kind(self) -> str:
        """Return what handles exceptions of the instruction: "try" or "with"; "" for nothing."""
        if VERSION < (3, 11):
            targets = [target for kind, target, _ in self.blocks if kind != "handler"]
        else:
            found = self.bytecode.handler(self.instruction.offset)
            targets = [] if found is None else [found.target]
        instructions = self.bytecode.instructions
        kinds = [
            "with" if any(i.opname == "WITH_EXCEPT_START" for i in instructions[t : t + 2]) else "try" for t in targets
        ]
        return "try" if "try" in kinds else "with" if kinds else ""

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

    def known(self, x: Any) -> Any:
        """Return a value that was read; of one that a branch has left, what reading it gives."""
        return self.simulator.call(read, (x,), {}) if type(x) in LATE else array_of(x)

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
