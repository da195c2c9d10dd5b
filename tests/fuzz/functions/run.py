"""All calls of a random function in one mode: what each gives, changes, prints, draws and raises."""

from __future__ import annotations

import contextlib
import io
import linecache
import logging
import signal
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import paddle
from paddle.distributed.fleet.utils import recompute
from paddle.jit.sot.control import Control
from tests.fuzz.functions.generate import Program
from tests.jit.corpus.registry import Draw
from tests.jit.corpus.snapshot import Snapshot

MODULE = "fuzzed_function"
MODES = ("eager", "bytecode", "source")
LIMIT = 60.0  # seconds of the processor
KEEPING = 3  # one of so many programs asks for the gradients of its results, of which some depend on others


@dataclass
class Call:
    """What one call did. ``where``: ``call``, or where an error came from behind it: ``between``, asking results for
    their gradients, or ``backward``, of the gradients of what it returned."""

    raised: BaseException | None
    where: str
    line: int | None  # of the program, where an exception was raised
    users: bool  # whether the exception is the program's own
    objects: dict[str, Any]
    memory: list[tuple[str, str]]  # tensors that share it
    output: str
    drawn: list[float]


@dataclass
class Run:
    calls: list[Call] = field(default_factory=list)
    programs: int = 0
    breaks: list[str] = field(default_factory=list)
    fallbacks: list[str] = field(default_factory=list)


def module_of(program: Program) -> types.ModuleType:
    """A new module with the program's definitions, whose text can be found."""
    name = f"<function of seed {program.seed}>"
    linecache.cache[name] = len(program.text), None, program.text.splitlines(keepends=True), name
    module = sys.modules[MODULE] = types.ModuleType(MODULE)
    exec(compile(program.text, name, "exec"), module.__dict__)
    return module


def run(program: Program, mode: str, limit: float = LIMIT, writes: bool = True) -> Run:
    """All calls in a mode, on arguments and state of their own. ``writes``: results may be written to in between."""
    with _limited(limit), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paddle.seed(program.seed)
        module = module_of(program)
        function = captured = module.program
        if mode != "eager":
            function = captured = paddle.jit.to_static(function, full_graph=mode == "source")
        if program.setting == "recompute":
            function = lambda *args, **kwargs: recompute(captured, *args, **kwargs)  # noqa: E731
        done = Run()
        names = sorted((n for n in vars(module) if n.startswith("call_")), key=lambda n: int(n[5:]))
        earlier = _Earlier(program, writes)
        for number, name in enumerate(names):
            args, kwargs = getattr(module, name)(Draw(f"function {program.seed}", number))
            done.calls.append(_call(program, module, function, earlier.changed(number, args), kwargs, earlier))
        if mode == "bytecode":
            done.programs = captured.get_traced_count()
            done.breaks, done.fallbacks = captured.graph_breaks, captured.fallbacks
        return done


class _Earlier:
    """The results of calls before, and what happens between these and the next."""

    def __init__(self, program: Program, writes: bool) -> None:
        self.program, self.writes = program, writes
        self.results: list[Any] = []
        self.held: list[Any] = []  # whose gradients are to come
        self.now: tuple[str, ...] = ()

    def changed(self, number: int, args: tuple) -> tuple:
        """What comes before the call of a number; its arguments."""
        self.now = self.program.between[number] if self.program.between else ()
        last = [x for _, x in tensors(self.results[-1:]) if x.is_floating_point()]
        if "written" in self.now and self.writes:
            with paddle.no_grad():
                for x in last:
                    x.add_(paddle.full_like(x, 0.25))
        if "onward" in self.now and self.held:
            fit = [x for x in last if len(x.shape) == 2 and x.shape[1] == 4 and x.dtype == paddle.float32]
            args = (*fit[:1], *args[1:]) if fit else args
        return args

    def settings(self) -> list[str]:
        """What is around this call."""
        around = {self.program.setting} ^ {name for name in self.now if name in ("no_grad", "amp")}
        return sorted(around - {"plain"})

    def due(self, result: Any) -> list[Any]:
        """The results whose gradients are computed now that a call has given another one."""
        if not self.program.between:
            return [result]
        self.results.append(result)
        self.held.append(result)
        if "held" in self.now:
            return []
        due, self.held = self.held, []
        return due


def _call(
    program: Program, module: types.ModuleType, f: Callable[..., Any], args: tuple, kwargs: dict, earlier: _Earlier
) -> Call:
    text = io.StringIO()
    before = list(earlier.results)
    result = raised = None
    where = "call"
    with contextlib.redirect_stdout(text):
        try:
            with contextlib.ExitStack() as around:
                for setting in earlier.settings():
                    around.enter_context(_around(setting))
                result = f(*args, **kwargs)
            if program.seed % KEEPING == 0:
                where = "between"
                _keep_gradients(result)
            where = "backward"
            _differentiate(earlier.due(result))
        except (Exception, Control) as error:  # compared with that of the eager call
            raised = error
    state = {k: v for k, v in vars(module).items() if not k.startswith("__") and not _is_code(v)}
    snapshot = Snapshot(MODULE)
    roots = {"arguments": (args, kwargs), "result": result, "state": state, "earlier": before}
    objects = {name: snapshot.of(x, name) for name, x in roots.items()}
    line, users = _line(raised, program)
    return Call(raised, where, line, users, objects, _memory(roots), text.getvalue(), _drawn())


def _around(setting: str) -> Any:
    if setting == "amp":
        return paddle.amp.auto_cast(level="O1", dtype="bfloat16")
    return paddle.no_grad() if setting == "no_grad" else contextlib.nullcontext()


def _is_code(x: Any) -> bool:
    return isinstance(x, (type, types.ModuleType)) or (callable(x) and not isinstance(x, paddle.nn.Layer))


def _keep_gradients(result: Any) -> None:
    """Have the results keep their gradients, and be hooked; some hooks write to what they get."""
    for i, (_, x) in enumerate(tensors(result)):
        if not x.stop_gradient and not x.is_leaf:
            x.retain_grads()
            x.register_hook((lambda g: g * 1.5) if i % 2 else (lambda g: g.scale_(1.5)))


def _differentiate(result: Any) -> None:
    """Backward from all tensors of a result, each element with a weight of its own."""
    total = None
    for _, x in tensors(result):
        if not x.stop_gradient and x.is_floating_point():
            weights = np.cos(np.arange(x.size) + 1).reshape(tuple(x.shape))
            part = (x.astype("float64") * paddle.to_tensor(weights)).sum()
            total = part if total is None else total + part
    if total is not None and not total.stop_gradient:
        total.backward()


def tensors(x: Any, path: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """The tensors in a structure, each once, and where they are."""
    seen = set() if seen is None else seen
    if id(x) in seen:
        return
    seen.add(id(x))
    if isinstance(x, paddle.Tensor):
        yield path, x
    elif isinstance(x, dict):
        for k, v in x.items():
            yield from tensors(v, f"{path}[{k!r}]", seen)
    elif isinstance(x, (list, tuple)):
        for i, v in enumerate(x):
            yield from tensors(v, f"{path}[{i}]", seen)
    elif type(x).__module__ == MODULE and hasattr(x, "__dict__"):
        for k, v in vars(x).items():
            yield from tensors(v, f"{path}.{k}", seen)


def _memory(roots: dict[str, Any]) -> list[tuple[str, str]]:
    """Pairs of tensors that share memory."""
    spans = []
    for path, x in tensors(roots):
        if not hasattr(x, "_value") and x.size:  # not what a trace has left there
            strides, first = x.strides, x.data_ptr()
            ends = [s * (n - 1) * 4 for s, n in zip(strides, x.shape)]
            spans.append((first + sum(min(e, 0) for e in ends), first + sum(max(e, 0) for e in ends), path))
    return [(a, b) for i, (p, q, a) in enumerate(spans) for r, s, b in spans[i + 1 :] if p <= s and r <= q]


def _line(error: BaseException | None, program: Program) -> tuple[int | None, bool]:
    if error is None:
        return None, False
    frames = traceback.extract_tb(error.__traceback__)
    name = f"<function of seed {program.seed}>"
    own = [f for f in frames if f.filename == name]
    return own[-1].lineno if own else None, bool(frames) and frames[-1].filename == name


def _drawn() -> list[float]:
    """What the generator would give next; it is left as it is."""
    state = paddle.get_rng_state()
    found = paddle.rand([2]).numpy().tolist()
    paddle.set_rng_state(state)
    return found


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(signum: int, frame: object) -> None:
        raise TimeoutError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    level = logging.getLogger("paddle.jit").level
    logging.getLogger("paddle.jit").setLevel(logging.ERROR)
    try:
        yield
    finally:
        logging.getLogger("paddle.jit").setLevel(level)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
