"""Frames that are captured: a function from its beginning, or what is left of one after a graph break."""

from __future__ import annotations

import collections
import inspect
import logging
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from paddle.jit.concrete import ConcreteProgram, spec_of
from paddle.jit.programs import CapturedProgram
from paddle.jit.sot import report, switches
from paddle.jit.sot.bytecode import VERSION, decode
from paddle.jit.sot.control import (
    AsWritten,
    Control,
    GraphBreak,
    HasHistory,
    Raised,
    Restart,
    Uncapturable,
    UnknownInstruction,
)
from paddle.jit.sot.frame import HANDLERS, NULL, RETURNED, Frame
from paddle.jit.sot.liveness import live_locals
from paddle.jit.sot.models.classes import class_attribute
from paddle.jit.sot.rebuild import InlinedFrames, Rebuilder, compiled
from paddle.jit.sot.resume_code import resume_code
from paddle.jit.sot.simulator import Simulator
from paddle.jit.sot.sources import ArrayTensor, Item, Member, Namespace, Source, fixed
from paddle.jit.sot.trace import Policy, Trace, Unset, argument
from paddle.jit.sot.translation import has_captured_branches
from paddle.jit.source.callees import rewritten
from paddle.nn.layer.layers import Layer
from umiak.core.context import current
from umiak.core.entries import CallScalars, FrameCall, GuardedEntry, Tail
from umiak.core.tensor import Tensor
from umiak.ir.overlap import overlapping
from umiak.ir.program import Program
from umiak.ir.tracer import SymTensor
from umiak.runtime.capture import CaptureError, Undecided
from umiak.runtime.captured_function import Captured
from umiak.runtime.modes import Modes, modes_now, set_modes

_LOG = logging.getLogger("paddle.jit")
SWITCH = "enable_to_static"  # of the rank's values
MOST_ENTRIES = 32  # of one frame, which runs as it was written for further kinds of calls
MOST_RESUMED = 12  # of what is left of one after a graph break, which a loop may come to with ever other numbers
MOST_RESTARTS = 200
SUSPENDING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
_LOCK = threading.RLock()
_ERROR = "error"
_RESULT = "result"


@dataclass
class Position:
    """The point where a frame goes on: in the middle of an instruction, whose operation has been done."""

    code: CodeType
    space: dict[str, Any]
    index: int  # of the instruction
    height: int  # of the stack before it
    stack: tuple[bool, ...]  # below the operands: whether an entry is a value, not NULL
    variables: tuple[str, ...]
    cells: tuple[str, ...]
    blocks: tuple = ()

    def key(self) -> tuple:
        """Return what tells positions of one function apart."""
        return self.code, self.index, self.height, self.stack, self.variables, self.cells, self.blocks


@dataclass
class Reads:
    """Values that a capture has read, for the comparison with a later call that it does not serve."""

    entry: GuardedEntry
    numbers: list[tuple[Source, Any]]
    sizes: list[tuple[Source, tuple[int, ...]]]
    places: dict[tuple[int, Any], tuple[Any, Source | None]] = field(default_factory=dict)


class CapturedFrame(FrameCall):
    """A frame whose calls run as graphs. What cannot be captured runs as it was written."""

    most = MOST_ENTRIES
    begins_without_gradients = False  # though it is called with them
    # The frame that does so, where calls without gradients give results with a history.
    recording: CapturedFrame | None = None

    def __init__(self, family: Family, name: str, code: CodeType, parameters: list[inspect.Parameter]) -> None:
        self.family = family
        self.name = name
        self.code_object = code
        self.parameters = parameters
        self.policy = Policy()
        self.records: list[Reads] = []
        self._readers = Readers()
        self.captures: list[Captured] = []
        self.concrete: list[ConcreteProgram] = []  # the same for users
        self.abandoned: str | None = None
        family.frames.append(self)

    # --- what subclasses say

    def original(self) -> Any:
        """Return the function that the frame is one of."""
        return self.code_object

    def begin(self, simulator: Simulator, variables: dict[str, Any]) -> Frame:
        """Return the frame, about to begin."""
        raise NotImplementedError

    def native(self, args: tuple, kwargs: dict[str, Any] | None) -> Any:
        """Run the frame as it was written."""
        raise NotImplementedError

    def input_name(self, source: Source) -> str:
        """Return the name of an input of its programs."""
        return str(source)

    # --- calls

    def _general(self, args: tuple, kwargs: dict[str, Any] | None) -> Any:
        ctx = current()
        if ctx.trace or not ctx.state.values.get(SWITCH, True) or self.abandoned is not None:
            return self._run_as_written(args, kwargs)
        if self.recording is not None and not ctx.grad_enabled:
            return self._record(args, kwargs)
        bound = self.bind(args, kwargs)
        if bound is None:
            return self._run_as_written(args, kwargs)
        for again in (True, False):
            with _LOCK:
                try:
                    entry = self._capture(bound)
                except (Uncapturable, HasHistory) as error:
                    stopped: Uncapturable | HasHistory | None = error
                else:
                    stopped = None
            if isinstance(stopped, HasHistory):
                return self._record(args, kwargs)
            if stopped is not None:
                return self._give_up(stopped, args, kwargs)
            result = self._attempt(entry, args, kwargs)
            if result is not None:
                return result[0]
            why = entry.why_not(args, kwargs)
            if not (again and why == "places"):  # which another thread may have changed since
                break
        return self._unserved(why, args, kwargs)

    def _unserved(self, why: str, args: tuple, kwargs: dict[str, Any] | None) -> Any:
        """Run a call that its own graph does not serve: it changes what it was captured for, or memory is shared."""
        _LOG.info("%s: the graph does not serve the call that it was captured for (%s)", self.name, why)
        return self._run_as_written(args, kwargs)

    def _failed(self, run: Captured, error: Exception, args: tuple, kwargs: dict[str, Any] | None) -> Any:
        """A run has raised an error. One that the user's text raises is shown, or caught, by a run as it was written,
        which does what comes before it, too. So is one of numbers that data decide, if it is one: for other data code
        of the library may go another way than the one that was recorded."""
        check = getattr(error, "check", None)
        if check is not None and run.leaves_no_trace:
            result = self._run_as_written(args, kwargs)
            if check.message not in self.family.fallbacks:
                self.family.fall_back(check.message)
            return result
        if getattr(error, "of_the_text", False) and run.leaves_no_trace:
            try:
                return self._run_as_written(args, kwargs)
            except Exception as shown:
                if type(shown) is not type(error) or shown.__cause__ or shown.__context__:
                    raise
        raise error

    def _give_up(self, error: Uncapturable, args: tuple, kwargs: dict[str, Any] | None) -> Any:
        """Run a call without a graph, and note why."""
        if error.lasting:
            self.abandoned = error.reason
        report.say(1, "%s runs without a graph: %s", self.name, error.reason)
        if isinstance(error, UnknownInstruction):
            warnings.warn(f"{self.name} runs without a graph: {error.reason}", RuntimeWarning, stacklevel=2)
        self.family.fall_back(error.reason)
        return self._run_as_written(args, kwargs)

    def _run_as_written(self, args: tuple, kwargs: dict[str, Any] | None) -> Any:
        if self.begins_without_gradients:
            current().grad_enabled = False
        return self.native(args, kwargs)

    def _record(self, args: tuple, kwargs: dict[str, Any] | None) -> Any:
        """Run a call without gradients that gives results with a history.

        A run is recorded in the mode that it is called in. So it is called with gradients, which the frame disables
        before it begins.
        """
        ctx = current()
        ctx.grad_enabled = True
        try:
            return FrameCall.__call__(self._frame_that_records(), *args, **(kwargs or {}))
        except BaseException:
            ctx.grad_enabled = False
            raise

    def _frame_that_records(self) -> CapturedFrame:
        """Return this frame once more: with entries of its own, and what this one has learned."""
        with _LOCK:
            if self.recording is None:
                frame = type(self).__new__(type(self))
                frame.__dict__.update(self.__dict__, begins_without_gradients=True)
                self.recording = frame
            return self.recording

    def bind(self, args: tuple, kwargs: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return the values of the parameters; None where a call does not fit them."""
        try:
            bound = inspect.Signature(self.parameters).bind(*args, **(kwargs or {}))
        except TypeError:
            return None
        bound.apply_defaults()
        return dict(bound.arguments)

    # --- capturing

    def _capture(self, bound: dict[str, Any]) -> GuardedEntry:
        family = self.family
        switches.warn_of_unread()
        limit = switches.time_limit()
        if family.spent > limit:
            raise Uncapturable(f"captures have taken more than {limit:.0f} s")
        if switches.sizes_vary():
            self._learn(bound)
        self.policy.breaks.clear()
        begun = time.monotonic()
        try:
            for _ in range(MOST_RESTARTS):
                try:
                    entry = self._attempt_capture(bound)
                except Restart:
                    continue
                if not self.policy.single:
                    self._enter(entry, self.most)
                report.captured(self, entry, self.captures[-1] if self.captures else None)
                if len(self.records) >= self.most:
                    self.abandoned = f"{self.name} has been captured for {self.most} kinds of calls"
                    self.family.fallbacks.append(self.abandoned)
                    _LOG.warning("%s: others run without a graph", self.abandoned)
                return entry
        finally:
            family.spent += time.monotonic() - begun
        raise Uncapturable(f"the graph breaks more than {MOST_RESTARTS} times")

    def _attempt_capture(self, bound: dict[str, Any]) -> GuardedEntry:
        ctx = current()
        modes = modes_now()
        if ctx.saved_hooks is not None:
            raise AsWritten("hooks of saved tensors are called at every call", lasting=False)
        trace = Trace(self.policy, self.name)
        simulator = Simulator(trace)
        capture = trace.capture
        try:
            with capture:
                if self.begins_without_gradients:
                    ctx.grad_enabled = False
                variables = {n: Unset(x, argument(n)) for n, x in bound.items()}
                frame = self.begin(simulator, variables)
                broken: GraphBreak | None = None
                try:
                    done = simulator.run(frame)
                except GraphBreak as stop:
                    broken, done = stop, RETURNED
                except Control:
                    raise
                except Exception as error:
                    if switches.strict():
                        raise
                    if trace.of_library is not None and trace.of_library.error is error:
                        raise trace.of_library from error
                    raise Raised(f"{type(error).__name__}: {error} is raised", lasting=False) from error
                if done is not RETURNED:
                    raise Uncapturable("a generator")
                return self._finish(trace, frame, broken, modes, modes_now())
        finally:
            capture.world = capture.builder.locate = capture.scope.locate = None  # which lead back to it
            capture.restore()
            set_modes(modes)

    def _once(self, trace: Trace, captured: Captured) -> None:
        """A tensor that is given and that the function knows by itself, too, is one tensor: capture anew."""
        known = set(map(id, captured.known))
        leaves = {id(leaf._grad): leaf for leaf in captured.leaves_with_gradients()}
        policy, learned = self.policy, False
        for item in trace.inputs:
            leaf = leaves.get(id(item.tensor))
            if leaf is not None and item.source not in policy.gradients:
                policy.gradients[item.source] = leaf
                learned = True
            elif id(item.tensor) in known and item.source not in policy.constants:
                policy.constants.add(item.source)
                learned = True
        if learned:
            raise Restart

    def _keep_histories(self, trace: Trace, outputs: list[Any]) -> None:
        """A graph that calls ``backward`` gives results without a history. One that ``backward`` has not used up is
        kept by a call outside of the graph: capture anew."""
        capture = trace.capture
        if not capture.differentiated or self.policy.keeps_histories or self.policy.full_graph:
            return
        for x in outputs:
            if isinstance(x, SymTensor) and not x.stop_gradient and x.dtype.is_floating and not capture.given(x):
                if not capture.used.crossed(x.value):
                    self.policy.keeps_histories = True
                    raise Restart

    def _refuse_overlap(self, trace: Trace, program: Program) -> None:
        """Tensors that share memory are of their own in a graph, which must not write to them then."""
        if not program.effects:
            return
        if any(type(i.source) is ArrayTensor and i.stand_in._writes for i in trace.inputs):
            raise Uncapturable("an array that is given is written to")
        tensors = [i.tensor for i in trace.inputs]
        if overlapping([*tensors, *program.captured.values()], range(len(tensors))) is not None:
            raise Uncapturable("tensors that share memory are written to", lasting=False)

    def _finish(
        self, trace: Trace, frame: Frame, broken: GraphBreak | None, before: Modes, after: Modes
    ) -> GuardedEntry:
        rebuilder = Rebuilder(trace)
        line = frame.instruction.line if broken is None else broken.frames[-1].instruction.line
        if broken is None:
            ending = [(f"return {rebuilder.value(frame.result)}", line)]
        else:
            ending = self._ending(rebuilder, broken)
        effects, told = rebuilder.effects(), rebuilder.told()
        trace.keep_apart()
        if after != before:
            name = rebuilder.names.name(set_modes)
            effects.append(f"{name}({rebuilder.names.name(after)})")
        self.policy.single = trace.single
        numbers = trace.scalars() if trace.numbers else None
        for condition in trace.capture.conditions:
            condition()
        self._keep_histories(trace, rebuilder.outputs)
        set_modes(before)  # of the calls that the entry is for
        captured = self._captured(trace, rebuilder.outputs, before)
        if broken is not None and broken.reason is not None:
            self.family.break_graph(broken.reason)
            report.say(1, "%s: graph break: %s", self.name, broken.reason)
        run = self._run(trace, captured, rebuilder.outputs)
        finish = None
        simple = (
            broken is None
            and not (effects or told)
            and rebuilder.outputs
            and ending[0][0] == "return r[0]"
            and not rebuilder.loads
        )
        if not simple:
            lines = [(text, line) for text in (*rebuilder.making, *rebuilder.filling, *effects)]
            lines += [*told, *ending]
            finish = compiled(
                lines, ["r", *(f"l{i}" for i in range(len(rebuilder.loads)))], rebuilder.names, self.code_object
            )
        return self._entry(trace, rebuilder.loads, run, numbers, finish)

    def _captured(self, trace: Trace, outputs: list[Any], before: Modes) -> Captured:
        """The program of a trace; raises what says how the call runs, where there can be none."""
        try:
            captured = Captured(trace.capture, outputs, self.name, trace.owners, {})
        except Undecided as error:
            raise AsWritten(str(error)) from error
        except (CaptureError, RuntimeError) as error:
            raise Uncapturable(str(error), lasting=False) from error
        if captured.has_history and not before.gradients:
            raise HasHistory
        if trace.reruns and not captured.leaves_no_trace:
            raise AsWritten("an exception that data decide may be caught, or is the user's own, after a print")
        self._once(trace, captured)
        self._refuse_overlap(trace, captured.program)
        return captured

    def _run(self, trace: Trace, captured: Captured, outputs: list[Any]) -> Captured | None:
        """Return the program that calls run, and keep it to be shown; None where it does nothing."""
        capture, program = trace.capture, captured.program
        size = len(program.ops)
        asked = program.guards or program.effects or capture.leaves or capture.outer or capture.streams
        if not (size or outputs or asked):
            return None
        if size < switches.least_operations() and not self.policy.full_graph:
            raise Uncapturable(f"the graph has {size} operations, fewer than MIN_GRAPH_SIZE")
        self.captures.append(captured)
        inputs = [spec_of(i.stand_in, self.input_name(i.source)) for i in trace.inputs]
        given = [spec_of(x) for x in outputs if isinstance(x, Tensor)]
        shown = CapturedProgram(program, [str(x.name) for x in inputs])
        owner = getattr(self, "owner", None)
        taken = [owner, *inputs] if isinstance(owner, Layer) else inputs
        self.concrete.append(ConcreteProgram(self.original(), shown, taken, given, list(program.captured.values())))
        return captured

    def _entry(
        self,
        trace: Trace,
        loads: list[Source],
        run: Captured | None,
        numbers: CallScalars | None,
        finish: FunctionType | None,
    ) -> GuardedEntry:
        """The entry that serves calls for which the guards hold, and the record of what it has read."""
        guards = trace.guards
        sources = [i.source for i in trace.inputs]
        entry = GuardedEntry(
            guards.function(self.parameters, sources, [n.source for n in trace.numbers], loads, self.name),
            guards.watch(),
            [i.tensor for i in trace.inputs],
            [i.axes for i in trace.inputs],
            run,
            numbers,
            finish,
        )
        self.records.append(
            Reads(
                entry,
                [(s, v) for kind, s, v in guards.rows if kind == "equal" and type(v) in (int, float)],
                [(i.source, tuple(i.tensor.shape)) for i in trace.inputs],
                {(id(h), k): (h, s) for (h, k, _), s in zip(guards.places, guards.place_sources, strict=True)},
            )
        )
        return entry

    def _ending(self, rebuilder: Rebuilder, broken: GraphBreak) -> list[tuple[str, int]]:
        """The statements after a graph break: the operation, then the rest of each frame, from the innermost one."""
        names = rebuilder.names
        operation, frames = broken.operation, broken.frames
        if any(f.handling for f in frames):
            raise Uncapturable(f"a graph break in a handler of exceptions: {broken.reason}")
        resumes = [(self._resume(f), f) for f in frames]
        calls = []
        for resume, f in resumes:
            position = resume.position
            values = [rebuilder.value(x) for x in f.stack[: f.depth] if x is not NULL]
            values += [rebuilder.value(f.variables[n]) for n in position.variables]
            values += [rebuilder.value(f.cells[n]) for n in position.cells]
            calls.append((names.name(resume), values, f))
        function = operation.function
        text = f"{rebuilder.value(function)}({', '.join(rebuilder.given(operation.args, operation.kwargs))})"
        out: list[tuple[str, int]] = []
        names["Tail"] = Tail
        called, failed = len(frames), False  # the frame whose rest is called; whether `e` may be an error by then
        for k, (name, values, f) in reversed(list(enumerate(calls))):
            if f is not frames[0] and _only_returns(f):
                continue
            # What fails passes through the frames down to the one that handles it, which puts its own entry on top.
            handling = [i for i in range(k + 1) if _is_guarded(frames[i])]
            passed = frames[handling[-1] + 1 if handling else 1 : called]
            text = f"x, e = {text}, None"
            if handling or passed:
                below = InlinedFrames([(f.code.co_filename, f.instruction.line, f.code.co_name) for f in passed])
                error = f"{names.name(below)}(caught)"
                ending = f"x, e = None, {error}" if handling else f"raise {error}"
                text = f"try:\n {text}\nexcept BaseException as caught:\n {ending}"
            if failed and not _is_guarded(frames[called]):  # has no handler of it
                text = "if e is None:\n" + textwrap.indent(text, " ")
            out.append((text, frames[0].instruction.line))
            called, failed = k, bool(handling)
            values = [*values, "x", "e"]
            if f is frames[0]:
                out.append((f"return Tail({name}, ({', '.join(values)}))", f.instruction.line))
            text = f"{name}({', '.join(values)})"
        return out

    def _resume(self, f: Frame) -> ResumedFrame:
        live = live_locals(f.code, f.instruction.offset)
        names = tuple(n for n in f.variables if n in live)
        if (
            (VERSION < (3, 11) or f.instruction.opname != "LOAD_FAST_AND_CLEAR")
            and any(x is NULL for x in f.stack[: f.depth])
            and VERSION < (3, 11)
        ):
            raise Uncapturable("a NULL on the stack")
        position = Position(
            f.code,
            f.globals,
            f.current,
            f.height,
            tuple(x is not NULL for x in f.stack[: f.depth]),
            names,
            tuple(f.cells),
            tuple(f.blocks),
        )
        key = position.key()
        known = self.family.resumed.get(key)
        if known is None:
            known = self.family.resumed[key] = self.family.rest(self.family, position)
        return known

    # --- learning

    def _learn(self, bound: dict[str, Any]) -> None:
        """Compare a call with those that were captured: what differs between them differs at later calls, too."""
        policy, read = self.policy, self._readers.read
        for record in self.records:
            for source, value in record.numbers:
                now = read(source, bound)
                if type(now) is type(value) and now != value and type(now) in (int, float):
                    policy.symbolic.add(source)
            for source, sizes in record.sizes:
                now = read(source, bound)
                if isinstance(now, Tensor) and now.ndim == len(sizes):
                    fixed_axes = policy.steering_axes.get(source, set())
                    differing = {a for a, (m, n) in enumerate(zip(sizes, now.shape)) if m != n}
                    policy.free.setdefault(source, set()).update(differing - fixed_axes)
            for holder, key, now in record.entry.places.different():
                _, place = record.places[id(holder), key]
                if place is None:
                    continue
                if isinstance(now, Tensor):
                    policy.inputs.add(place)
                elif type(now) in (int, float):
                    policy.symbolic.add(place)
                else:
                    policy.structural.add(place)


def parameters_of(function: FunctionType) -> list[inspect.Parameter]:
    """Return the parameters of a function as it is, whatever it wraps."""
    return list(inspect.signature(function, follow_wrapped=False).parameters.values())


class FunctionFrame(CapturedFrame):
    """A function from its beginning."""

    def __init__(self, family: Family, function: FunctionType, owner: Any) -> None:
        self.function = function
        self.owner = owner
        parameters = parameters_of(function)
        super().__init__(
            family, function.__name__, function.__code__, parameters[1:] if owner is not None else parameters
        )
        self._self = parameters[0].name if owner is not None else None
        if function.__code__.co_flags & SUSPENDING:
            self.abandoned = f"{function.__name__} is a generator or a coroutine"

    def bind(self, args: tuple, kwargs: dict[str, Any] | None) -> dict[str, Any] | None:
        self._renew()
        return super().bind(args, kwargs)

    def _renew(self) -> None:
        """Take the function as it is now: its code and its defaults may have been exchanged."""
        f = self.function
        self.parameters = parameters_of(f)[self._self is not None :]
        if self.code_object is not f.__code__:
            self.code_object = f.__code__
            self.policy = Policy(full_graph=self.policy.full_graph)
            self.entries.clear()
            self.records.clear()

    def begin(self, simulator: Simulator, variables: dict[str, Any]) -> Frame:
        trace = simulator.trace
        trace.guards.called(fixed(self.function), self.function)
        trace.guards.named_defaults(self.function)
        if self._self is not None:
            trace.know_fixed(self.owner)
            variables = {self._self: self.owner, **variables}
        cells = simulator.cells_of(self.function)
        code = self.code_object
        if self.policy.full_graph or has_captured_branches(self.function):
            f = rewritten(self.function)
            code, cells = f.__code__, dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        return Frame(simulator, code, self.function.__globals__, variables, cells, False)

    def original(self) -> Any:
        return self.function

    def native(self, args: tuple, kwargs: dict[str, Any] | None) -> Any:
        if self.owner is not None:
            return self.function(self.owner, *args, **(kwargs or {}))
        return self.function(*args, **(kwargs or {}))


class ResumedFrame(CapturedFrame):
    """The rest of a frame after a graph break.

    Its parameters are the stack, the variables, the cells, and how the operation ended: a result or an exception.
    """

    most = MOST_RESUMED

    def __init__(self, family: Family, position: Position) -> None:
        self.position = position
        self._stack = [f"s{i}" for i, held in enumerate(position.stack) if held]
        self._variables = [f"v{i}" for i in range(len(position.variables))]
        self._cells = [f"c{i}" for i in range(len(position.cells))]
        names = [*self._stack, *self._variables, *self._cells, _RESULT, _ERROR]
        parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names]
        line = decode(position.code).instructions[position.index].line
        super().__init__(family, f"{position.code.co_name} from line {line}", position.code, parameters)

    def begin(self, simulator: Simulator, variables: dict[str, Any]) -> Frame:
        position, trace = self.position, simulator.trace
        cells = {}
        for name, parameter in zip(position.cells, self._cells, strict=True):
            cells[name] = trace.know_argument(variables[parameter])
        frame = Frame(simulator, position.code, position.space, {}, {}, False)
        frame.cells = cells
        frame.variables = {n: variables[p] for n, p in zip(position.variables, self._variables, strict=True)}
        self._place(frame, [variables[s] for s in self._stack])
        error = variables[_ERROR]
        if error.value is None:
            trace.guards.equal(error.source, None)
            frame.pending = variables[_RESULT], None
        else:
            trace.guards.kind(error.source, type(error.value))
            frame.pending = None, trace.know_argument(error)
        return frame

    def _place(self, frame: Frame, stack: Sequence[Any]) -> None:
        position = self.position
        values = iter(stack)
        frame.stack = [next(values) if held else NULL for held in position.stack]
        frame.stack += [None] * (position.height - len(frame.stack))
        frame.blocks = list(position.blocks)
        frame.at = position.index

    def native(self, args: tuple, kwargs: dict[str, Any] | None) -> Any:
        """Finish the instruction, and run the rest of the bytecode."""
        position = self.position
        n, v, c = len(self._stack), len(self._variables), len(self._cells)
        stack, variables, cells = (
            args[:n],
            dict(zip(position.variables, args[n : n + v], strict=True)),
            args[n + v : n + v + c],
        )
        result, error = args[-2:]
        frame = Frame(_NATIVE, position.code, position.space, {}, {}, False)
        frame.cells, frame.variables = dict(zip(position.cells, cells, strict=True)), variables
        self._place(frame, stack)
        frame.pending = result, error
        instruction = frame.bytecode.instructions[frame.at]
        frame.current, frame.height = frame.at, len(frame.stack)
        frame.at += 1
        try:
            done = HANDLERS[instruction.opname](frame, instruction)
        except BaseException as caught:
            if not _is_guarded(frame):
                raise
            del frame.stack[len(position.stack) :]
            return self._go_on(frame, instruction.offset, position.height, "throw", caught)
        if done is RETURNED:
            return frame.result
        return self._go_on(frame, frame.bytecode.instructions[frame.at].offset, len(frame.stack), "run", None)

    def _go_on(self, frame: Frame, offset: int, height: int, mode: Any, error: BaseException | None) -> Any:
        code = frame.code
        live = live_locals(code, offset)
        names = tuple(n for n in frame.variables if n in live)
        frame.stack += [None] * (height - len(frame.stack))
        resumed = resume_code(code, offset, tuple(x is not NULL for x in frame.stack), names, mode)
        cells = [frame.cells[n] if n in frame.cells else CellType() for n in resumed.cell_names]
        function = resumed.bind(frame.globals, cells)
        values = [x for x in frame.stack if x is not NULL] + [frame.variables[n] for n in names]
        return function(*values, *([] if error is None else [error]))


@dataclass
class Family:
    """The frames of one captured function: its own, and those after graph breaks. ``rest``: the class of these."""

    rest: type[ResumedFrame] = ResumedFrame
    frames: list[CapturedFrame] = field(default_factory=list)
    resumed: dict[tuple, ResumedFrame] = field(default_factory=dict)
    breaks: list[str] = field(default_factory=list)  # why graphs broke
    fallbacks: list[str] = field(default_factory=list)  # why frames ran as they were written
    spent: float = 0.0
    checks: set[str] = field(default_factory=set)  # "breaks", "fallbacks": what is an error

    def break_graph(self, reason: str) -> None:
        """Note a graph break."""
        self.breaks.append(reason)
        if "breaks" in self.checks:
            raise RuntimeError(f"[check_no_breakgraph] requires a function whose graph does not break: {reason}")

    def fall_back(self, reason: str) -> None:
        """Note a run without a graph."""
        self.fallbacks.append(reason)
        if "fallbacks" in self.checks:
            raise RuntimeError(f"[check_no_fallback] requires a function that can be captured: {reason}")


class _NativeTrace:
    """In place of a trace, where an instruction is done with the real values."""

    native = True
    count = 0
    policy = Policy()

    def wrap(self, x: Any, source: Any) -> Any:
        return x

    number_of = made = staticmethod(lambda x: x)

    def is_fresh(self, x: Any) -> bool:
        return True

    def contents(self, cell: CellType, name: str) -> Any:
        return cell.cell_contents

    def write_cell(self, cell: CellType, value: Any) -> None:
        cell.cell_contents = value


class _NativeSimulator:
    """In place of a simulator: operations are done at once."""

    trace = _NativeTrace()
    frames: list[Frame] = []

    def call(self, f: Callable[..., Any], args: tuple, kwargs: dict[str, Any], direct: bool = False) -> Any:
        return f(*args, **kwargs)

    def special(self, x: Any, name: str) -> Any:
        return getattr(x, name)

    def identical(self, x: Any, y: Any) -> bool:
        return x is y


_NATIVE: Any = _NativeSimulator()


def _is_guarded(f: Frame) -> bool:
    """Return whether the frame has a handler of exceptions at its instruction."""
    if f.instruction.opname in ("FOR_ITER", "SEND", "YIELD_FROM"):
        return True
    if VERSION < (3, 11):
        return any(kind == "try" for kind, _, _ in f.blocks)
    return f.bytecode.handler(f.instruction.offset) is not None


def _only_returns(f: Frame) -> bool:
    """Return whether a frame returns what the call that it is at gives."""
    following = f.bytecode.instructions[f.current + 1]
    return f.instruction.opname.startswith("CALL") and following.opname == "RETURN_VALUE" and not _is_guarded(f)


def item_of(x: Any, key: Any) -> Any:
    """Return an item of a built-in container as it stands there: no method of the user's is called, none is made."""
    if isinstance(x, dict):
        return dict.__getitem__(x, key) if dict.__contains__(x, key) else None
    kind = next((kind for kind in (list, tuple, collections.deque) if isinstance(x, kind)), None)
    return None if kind is None else kind.__getitem__(x, key)


def member_of(x: Any, name: str) -> Any:
    """Return what a slot holds, or what a class in C gives: no property is called."""
    found, _ = class_attribute(type(x), name)
    return found.__get__(x) if type(found) in (MemberDescriptorType, GetSetDescriptorType) else None


class Readers(dict[Source, tuple[CodeType, Namespace]]):
    """Code that reads sources for the arguments of a call."""

    def __missing__(self, source: Source) -> tuple[CodeType, Namespace]:
        names = Namespace()
        text = ""
        for part in source.path():
            # Nothing is known of the class yet, which may have methods and properties of the user's.
            if type(part) is Item:
                text = f"{names.name(item_of)}({text}, {names.name(part.key)})"
            elif type(part) is Member:
                text = f"{names.name(member_of)}({text}, {part.name!r})"
            else:
                text = part.expression(text, names)
        made = self[source] = compile(text, "<source>", "eval"), names
        return made

    def read(self, source: Source, bound: dict[str, Any]) -> Any:
        """Return what a source gives; None where there is nothing."""
        code, names = self[source]
        try:
            return eval(code, names, bound)
        except (KeyError, IndexError, AttributeError, ValueError, TypeError):
            return None
