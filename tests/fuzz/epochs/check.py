"""Training of a case in every mode, against the judge."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.fuzz.epochs.draw import Case, draw, draw_mixed
from tests.fuzz.epochs.judge import Judge
from tests.fuzz.epochs.run import Written, model_of, start_of
from tests.fuzz.epochs.static_run import Programs, without
from tests.fuzz.shrink import reduction
from umiak.runtime.capture import CaptureError

WAYS = ("eager", "captured", "one graph", "static")
MIXED = WAYS[:3]
# What a second derivative of a captured function says that has written over what its gradient reads.
NOT_KEPT = "values from before its gradient needs, and they are not kept"
TOLERANCE = {"float64": 1e-6, "float32": 2e-3, "float16": 2e-2, "bfloat16": 1.5e-1}
# Of mixed precision: what parameters may be off, by how far they have come; and what they are rounded by.
MOVED = {"float16": 0.1, "bfloat16": 0.4}
ROUNDED = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


def train(case: Case, side: Any) -> list[dict[str, Any]]:
    """What there is after each batch and each evaluation."""
    found = []
    done = 0
    side.train(True)
    for epoch in range(case.epochs):
        if case.freeze[0] != "none" and epoch in case.freeze[1:]:
            side.freeze(epoch == case.freeze[1] and case.freeze[1] != case.freeze[2])
        begins = True
        for number, batch in enumerate(side.batches(epoch)):
            updates = case.updates(number)
            factor = float("inf") if done in case.overflows else 1.0
            loss = side.step(batch, updates, begins, factor)
            begins = updates
            if case.each_batch and updates:
                side.scheduled()
            found.append({"": f"epoch {epoch}, batch {number}", "loss": loss, **side.found()})
            if done in case.resumes:
                side.resume()
            done += 1
        if not case.each_batch:
            side.scheduled()
        if case.evaluated:
            found.append({"": f"evaluation after epoch {epoch}", "losses": side.evaluated(epoch)})
    return found


def differs(case: Case, found: Sequence[dict[str, Any]], wanted: Sequence[dict[str, Any]]) -> str | None:
    """Where values are not those of the judge."""
    mixed = case.level != "O0"
    start = _start(case) if mixed else {}
    tolerance = TOLERANCE[case.narrow if mixed else "float64" if case.float64 else "float32"]
    if len(found) != len(wanted):
        return f"{len(found)} batches and evaluations, and not {len(wanted)}"
    for a, b in zip(found, wanted, strict=True):
        for name in {**b, **a}:
            if name not in a and "gradient of " in name:  # of which programs keep none
                continue
            x, y = a.get(name), b.get(name)
            if name == "" or (x is None and y is None):
                continue
            if (x is None) != (y is None):
                return f"{b['']}: {name} is {x}, of the judge {y}"
            x, y = np.asarray(x, "float64"), np.asarray(y, "float64")
            if not np.isfinite(y).all():  # of a loss that is infinite: which gradients are is of no interest
                continue
            near, relative = tolerance, tolerance
            if mixed:
                near *= max(1.0, float(np.abs(y).max(initial=0)))
            if name in start:
                come = float(np.abs(y - start[name]).max(initial=0))
                near, relative = MOVED[case.narrow] * come + 1e-3, ROUNDED[case.narrow] if case.level == "O2" else 0.0
            if x.shape != y.shape or not np.allclose(x, y, relative, near):
                return f"{b['']}: {name} is {x}, of the judge {y}"
    return None


def _start(case: Case) -> dict[str, np.ndarray]:
    """The values that parameters begin with."""
    model = model_of(case)
    named = [name for name, _ in model.named_parameters()]
    return dict(zip(named, start_of(case, model)))


def judged(case: Case) -> list[dict[str, Any]]:
    """What the judge says of a case."""
    model = model_of(case)
    return train(case, Judge(case, model, start_of(case, model)))


def check_case(case: Case, tally: Counter[str], only: Sequence[str] = WAYS) -> str | None:
    """What is wrong in the ways ``only``; None if nothing is."""
    wanted = judged(case) if set(only) - {"static"} else []
    for way in only:
        try:
            if way == "static":
                fewer = without(case)
                text = differs(fewer, train(fewer, Programs(fewer)), judged(fewer))
            else:
                text = differs(case, train(case, Written(case, way != "eager", way == "one graph")), wanted)
        except CaptureError as error:
            if way == "captured":
                return f"{case}\n{way}: {type(error).__name__}: {error}"
            tally[f"{way}, refused: {re.sub('%[0-9]+', '%', str(error))[:80]}"] += 1
            continue
        except Exception as error:
            if way != "eager" and NOT_KEPT in str(error):
                tally[f"{way}, refused: {NOT_KEPT}"] += 1
                continue
            return f"{case}\n{way}: {type(error).__name__}: {error}"
        tally[way] += 1
        if text:
            return f"{case}\n{way}: {text}"
    return None


def check(seed: int, tally: Counter[str], only: Sequence[str] = WAYS) -> str | None:
    """What is wrong with the training of a seed."""
    return check_case(draw(seed), tally, only)


def check_mixed(seed: int, tally: Counter[str], only: Sequence[str] = MIXED) -> str | None:
    """What is wrong with the training of a seed in mixed precision."""
    return check_case(draw_mixed(seed), tally, only)


_PLAIN = {
    "optimizer": "SGD", "decay": "none", "clip": "none", "groups": "none", "attribute": "none", "schedule": "none",
    "accumulated": 1, "clear": "default", "scaled": False, "overflows": (), "hooks": (), "averaged": "none",
    "freeze": ("none", 0, 0), "resumes": (), "evaluated": False, "shuffled": False, "drops_last": False,
    "task": "squares", "epochs": 1, "rows": 5, "batch": 3, "captured": "step", "looks_ahead": False,
}  # fmt: skip


def smaller(case: Case) -> Iterator[Case]:
    """Cases with one thing less."""
    for i in reversed(range(len(case.parts))):
        parts = case.parts[:i] + case.parts[i + 1 :]
        if parts and not any(p.endswith(" again") and p.removesuffix(" again") not in parts for p in parts):
            yield replace(case, parts=parts)
    for name, value in _PLAIN.items():
        if getattr(case, name) != value:
            yield replace(case, **{name: value})
    if not case.float64 and case.level == "O0":
        yield replace(case, float64=True)


def reduction_of(draw: Callable[[int], Case], tries: int) -> Callable[..., str]:
    return reduction(draw, lambda seed, tally, only, case: check_case(case, tally, only), smaller, tries=tries)


reduced, reduced_mixed = reduction_of(draw, 80), reduction_of(draw_mixed, 40)
