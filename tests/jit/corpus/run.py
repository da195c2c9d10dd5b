"""One run of a program in a mode: what each of its calls gives, changes, prints, draws and raises."""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
import random
import re
import sys
import traceback
import types
import warnings
import weakref
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import paddle
from tests.jit.corpus.registry import FOLDER, Program
from tests.jit.corpus.snapshot import Snapshot, differences

PACKAGE = "tests.jit.corpus.programs"
ROUNDS = 2  # all calls are made again: what was captured serves them
LOGGER = logging.getLogger("corpus")  # programs log here


@dataclass
class Raised:
    """An exception, and the places of the user's that its traceback has."""

    kind: str
    message: str | None  # None: the framework's own words
    frames: list[tuple[str, int, str]]  # file, line, function; the innermost last
    cause: str | None
    context: str | None
    error: BaseException

    def __str__(self) -> str:
        return f"{self.kind} at {self.frames[-1:]}: {str(self.error).strip().splitlines()[:1]}"


@dataclass
class Effects:
    """What one call did."""

    raised: Raised | None
    objects: Any  # result, arguments and state
    output: str
    warned: list[tuple[str, str, int]]
    drawn: dict[str, Any]


@dataclass
class Counts:
    """What became of the captured functions of a program; None where a mode does not count."""

    programs: int | None = None
    breaks: list[str] | None = None  # why graphs broke
    fallbacks: list[str] | None = None  # why frames ran as they were written

    def __str__(self) -> str:
        found = {"programs": self.programs, "breaks": self.breaks, "fallbacks": self.fallbacks}
        sizes = {k: v if v is None or isinstance(v, int) else len(v) for k, v in found.items()}
        return ", ".join(f"{k} {'-' if v is None else v}" for k, v in sizes.items())

    def plus(self, other: Counts) -> Counts:
        """The sum of two."""
        programs = (self.programs or 0) + (other.programs or 0)
        return Counts(
            programs, [*(self.breaks or ()), *(other.breaks or ())], [*(self.fallbacks or ()), *(other.fallbacks or ())]
        )


@dataclass
class Run:
    """All calls of a program in one mode."""

    effects: list[Effects] = field(default_factory=list)
    kept: Any = None  # all results and arguments after the last call
    counts: Counts = field(default_factory=lambda: Counts())


class Mode:
    """Captures functions as a mode says, and counts what became of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._captured: list[weakref.ref[Any]] = []  # which may die

    def capture(self, function: Any) -> Any:
        """``function``, a method or a layer, captured."""
        if self.name == "eager":
            return function
        captured = paddle.jit.to_static(function, full_graph=self.name == "source")
        self._captured.append(weakref.ref(captured.forward if isinstance(captured, paddle.nn.Layer) else captured))
        return captured

    def counts(self) -> Counts:
        """Sums over the captured functions."""
        alive = [f for ref in self._captured if (f := ref()) is not None]
        captured = [bound for f in alive for bound in (f, *_of_instances(f))]
        try:
            programs = sum(f.get_traced_count() for f in captured)
        except (AttributeError, RuntimeError):  # the reference refuses some
            return Counts()
        if not all(hasattr(f, "graph_breaks") for f in captured):
            return Counts(programs)
        breaks = [reason for f in captured for reason in f.graph_breaks]
        return Counts(programs, breaks, [reason for f in captured for reason in f.fallbacks])


def _of_instances(function: Any) -> list[Any]:
    """The functions of the objects that a captured method was called on."""
    return [bound for _, bound in getattr(function, "_bound", {}).values()]


def run(program: Program, mode: Mode) -> Run:
    """All calls of a program, on arguments and state of their own, in rounds."""
    seed = zlib.crc32(program.name.encode()) % 2**31
    random.seed(seed)
    np.random.seed(seed)
    paddle.seed(seed)
    module = vars(sys.modules[program.function.__module__])
    watched, function = _prepare(program, mode)
    done = Run()
    kept = []
    for number in range(ROUNDS * len(program.calls)):
        args, kwargs = program.arguments(number)
        with _observed() as observed:
            raised = result = None
            try:
                result = function(*args, **kwargs)
                if program.backward:
                    _differentiate(result)
            except Exception as error:  # compared below
                raised, result = _raised(error), None
        snapshot = Snapshot(PACKAGE)
        roots = {"arguments": (args, kwargs), "result": result, "state": _state(watched, module)}
        objects = {name: snapshot.of(x, name, closures=name == "state") for name, x in roots.items()}
        done.effects.append(Effects(raised, objects, _normal(observed.output()), observed.warned(), _drawn()))
        kept += [args, kwargs, result]
    last = Snapshot(PACKAGE, last=True)
    done.kept = last.of([*kept, _state(watched, module)], "kept", closures=True)
    done.counts = mode.counts()
    return done


def _prepare(program: Program, mode: Mode) -> tuple[Any, Callable[..., Any]]:
    """What is watched, and what is called."""
    if program.kind == "driver":
        called = program.function(mode.capture)
        return called, called
    function = program.function if program.kind == "program" else program.function()
    return function, mode.capture(function)


def _state(function: Any, module: dict[str, Any]) -> dict[str, Any]:
    """A function or layer, and the data of the module that it is in."""
    return {"function": function} | {k: v for k, v in module.items() if not k.startswith("__") and not _is_code(v)}


def _is_code(x: Any) -> bool:
    return isinstance(x, (type, types.ModuleType)) or callable(x) or type(x).__module__ in ("__future__", "typing")


def _differentiate(result: Any) -> None:
    """Backward from all floating tensors of a result, each element with a weight of its own."""
    total = None
    for x in _tensors(result, set()):
        if x.stop_gradient or not (x.is_floating_point() or x.is_complex()):
            continue
        real = (paddle.real(x) + 2 * paddle.imag(x)) if x.is_complex() else x
        weights = np.cos(np.arange(real.size) + 1).reshape(tuple(real.shape))
        part = (real.astype("float64") * paddle.to_tensor(weights)).sum()
        total = part if total is None else total + part
    if total is not None:
        total.backward()


def _tensors(x: Any, seen: set[int]) -> Iterator[Any]:
    if id(x) in seen:
        return
    seen.add(id(x))
    if isinstance(x, paddle.Tensor):
        yield x
    elif isinstance(x, dict):
        for v in x.values():
            yield from _tensors(v, seen)
    elif isinstance(x, (list, tuple, set, frozenset)):
        for v in x:
            yield from _tensors(v, seen)
    elif type(x).__module__.startswith(PACKAGE) and hasattr(x, "__dict__"):
        for v in vars(x).values():
            yield from _tensors(v, seen)


class _Observed:
    def __init__(self) -> None:
        self.text = io.StringIO()
        self.caught: list[warnings.WarningMessage] = []

    def output(self) -> str:
        return self.text.getvalue()

    def warned(self) -> list[tuple[str, str, int]]:
        own = [w for w in self.caught if w.filename.startswith(str(FOLDER))]
        return [(w.category.__name__, str(w.message), w.lineno) for w in own]


@contextlib.contextmanager
def _observed() -> Iterator[_Observed]:
    """What is printed, logged and warned of, in one text where it is printed or logged."""
    observed = _Observed()
    handler = logging.StreamHandler(observed.text)
    handler.setFormatter(logging.Formatter("%(levelname)s line %(lineno)d: %(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.propagate = False
    LOGGER.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings(record=True) as observed.caught, contextlib.redirect_stdout(observed.text):
            warnings.simplefilter("always")
            yield observed
    finally:
        LOGGER.removeHandler(handler)


def _normal(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def _drawn() -> dict[str, Any]:
    """What the generators would give next; they are left as they are."""
    state = paddle.get_rng_state()
    paddles = paddle.rand([2]).numpy().tolist()
    paddle.set_rng_state(state)
    own, numpys = random.getstate(), np.random.get_state()
    drawn = {"paddle": paddles, "random": random.random(), "numpy": np.random.rand()}
    random.setstate(own)
    np.random.set_state(numpys)
    return drawn


def _is_users(filename: str) -> bool:
    return filename.startswith((str(FOLDER), "<corpus"))


def _raised(error: BaseException) -> Raised:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if _is_users(f.filename)]
    places = [(f.filename.rpartition("/")[2], f.lineno or 0, f.name) for f in own]
    users = bool(frames) and _is_users(frames[-1].filename)
    kind = type(error).__name__
    message = _normal(str(error)) if users else None
    cause, context = (e and type(e).__name__ for e in (error.__cause__, error.__context__))
    return Raised(kind, message, places, cause, context, error)


def run_differences(
    found: Run, wanted: Run, tolerance: float = 1.0, allowed: Collection[str] = (), first: int | None = None
) -> list[str]:
    """What a run, or its ``first`` calls, did otherwise than the eager one, a line each."""
    lines: list[str] = []
    for number, (a, b) in enumerate(zip(found.effects[:first], wanted.effects[:first], strict=True)):
        lines += [f"call {number}: {line}" for line in _effect_differences(a, b, tolerance, allowed)]
    if not lines and first is None:
        lines += [f"at the end: {line}" for line in differences(found.kept, wanted.kept, "kept", tolerance, allowed)]
    return lines


def _effect_differences(found: Effects, wanted: Effects, tolerance: float, allowed: Collection[str]) -> Iterator[str]:
    a, b = found.raised, wanted.raised
    if a is None or b is None or a.kind != b.kind:
        if a is not None or b is not None:
            yield f"{a or 'a result'} in place of {b or 'a result'}"
            return
    else:
        if b.message is not None and _normal(str(a.error)) != b.message:
            yield f"message {str(a.error)!r} in place of {b.message!r}"
        if _places(a, allowed) != _places(b, allowed):
            yield f"{a.kind} at {a.frames} in place of {b.frames}"
        if (a.cause, a.context) != (b.cause, b.context):
            yield f"{a.kind} with {a.cause} and {a.context} before it in place of {b.cause} and {b.context}"
    for name, structure in wanted.objects.items():
        yield from differences(found.objects[name], structure, name, tolerance, allowed)
    if found.output != wanted.output:
        yield f"printed {found.output!r} in place of {wanted.output!r}"
    if found.warned != wanted.warned:
        yield f"warned {found.warned!r} in place of {wanted.warned!r}"
    for name, value in wanted.drawn.items():
        if found.drawn[name] != value:
            yield f"the generator of {name} is elsewhere: {found.drawn[name]} comes next in place of {value}"


def _places(raised: Raised, allowed: Collection[str]) -> Any:
    """What must be the same of a traceback: all frames, or file and line of the innermost."""
    if "frames" in allowed:
        return [frame[:2] for frame in raised.frames[-1:]]
    return [frame for frame, _ in itertools.groupby(raised.frames)]  # how deep a recursion can go is another matter
