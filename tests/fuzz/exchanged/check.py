"""Whether a captured function does with exchanged arguments what it does as it is written."""

from __future__ import annotations

import linecache
import sys
import types
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import paddle
from tests.fuzz.exchanged.draw import Case, draw
from tests.fuzz.shrink import fewer, reduction
from tests.jit.corpus.snapshot import Snapshot, differences
from umiak.compiler.jit import object_cache  # noqa: F401  declares the switch
from umiak.ir.tracer import DataUnknown
from umiak.runtime.capture import CaptureError

WAYS = ("bytecode", "one graph")
MODULE = "exchanged_arguments"
# Of one graph: numbers may be tensors, and a result that is an argument is a tensor of its own.
ALLOWED = {"bytecode": (), "one graph": ("numbers", "copies", "zeros", "sizes")}


class Done(NamedTuple):
    """Of each call an error or None, and what it gave; how often there was a capture, and why there was none."""

    calls: list[tuple[BaseException | None, Any]]
    captures: int
    fallbacks: list[str]


def module_of(text: str, seed: int) -> types.ModuleType:
    name = f"<exchanged {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    module = sys.modules[MODULE] = types.ModuleType(MODULE)
    paddle.seed(0)
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def run(case: Case, seed: int, way: str) -> Done:
    """All calls of a case, in a module of its own."""
    module = module_of(case.text(), seed)
    model = module.MODEL
    f = model if case.layer else model.program
    if way != "eager":
        f = paddle.jit.to_static(f, full_graph=way == "one graph")
    calls: list[tuple[BaseException | None, Any]] = []
    for i in range(len(case.steps)):
        getattr(module, f"step_{i}")()
        x = paddle.to_tensor([0.5, -1.5, 2.0, 0.25], stop_gradient=False)
        result = raised = None
        try:
            result = f(x, **module.P)
            if result[0].is_floating_point() and not result[0].stop_gradient:
                result[0].astype("float64").sum().backward()
        except Exception as error:  # compared with that of the eager call
            raised = error
        calls.append((raised, Snapshot(MODULE).of((result, x), "")))
    captured = f.forward if case.layer else f
    return Done(calls, 0 if way == "eager" else captured.get_traced_count(), list(getattr(captured, "fallbacks", ())))


def check(
    seed: int, tally: Counter[str] | None = None, only: Sequence[str] = WAYS, case: Case | None = None
) -> str | None:
    """What is wrong; None if nothing is."""
    tally = Counter() if tally is None else tally
    case = draw(seed) if case is None else case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = run(case, seed, "eager")
        for way in only:
            if way == "one graph" and "np.a" in str(case):
                continue  # arrays are tensors there
            found = run(case, seed, way)
            for number, ((e, a), (w, b)) in enumerate(zip(found.calls, wanted.calls, strict=True)):
                if way == "one graph" and isinstance(e, (CaptureError, DataUnknown)):
                    tally["one graph: calls that are refused"] += 1
                    continue
                if type(e) is not type(w):
                    wrong: str | None = f"{type(e).__name__} ({e}) in place of {type(w).__name__} ({w})"
                else:
                    wrong = None if e else next(iter(differences(a, b, "", 5.0, ALLOWED[way])), None)
                if wrong:
                    return f"{case}\n{way}, seed {seed}, call {number}: {wrong}"
                tally[f"{way}: calls"] += 1
                tally[f"{way}: calls that raise"] += w is not None
            tally[f"{way}: captures"] += found.captures
            tally[f"{way}: reasons not to capture"] += len(found.fallbacks)
            tally[f"{way}: captured too often"] += any("has been captured for" in x for x in found.fallbacks)
    return None


def smaller(case: Case) -> Iterator[Case]:
    """Cases without some statements, and without some steps behind the first."""
    for statements in fewer(case.statements):
        yield case._replace(statements=tuple(statements))
    for steps in fewer(case.steps, 1):
        yield case._replace(steps=tuple(steps))


reduced = reduction(draw, check, smaller)
