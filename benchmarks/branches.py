"""Launches of a program that run side by side, each on one thread, against one after the other on two."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from measure import Settings
from models.branching import MODELS
from rows import Outcome, add_row, add_section, duration
from training import HERE

BRANCHES = add_section("branches", "Branches side by side, two threads", figure="one after the other ÷ side by side")
REPEATS, SECONDS = 5, 1.0
TARGETS = {"inception-14": 1.1, "inception-28": 1.0, "googlenet": 1.0, "gru": 1.4, "heads": 1.3}


def speed(model: str, settings: Settings) -> Outcome:
    """The fastest run of several processes, which all decide for themselves."""
    if len(settings.cores) < 2 and not settings.check:
        raise RuntimeError(f"[branches] requires two cores, got {settings.cores}")
    took = []
    for _ in range(1 if settings.check else REPEATS):
        cores = ",".join(map(str, settings.cores[:2]))
        command = [sys.executable, "-m", "models.branching", model, "0" if settings.check else str(SECONDS), cores]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"[branches] requires a run of {model}, got\n{done.stderr}")
        took.append([float(x) for x in done.stdout.split()])
    ours, other = (min(x) for x in zip(*took, strict=True))
    ratio = other / ours
    return Outcome(duration(ours), duration(other), f"{ratio:.3g}×", ratio >= TARGETS[model], ratio)


for _name, (_what, _, _) in MODELS.items():
    add_row(
        f"branches-{_name}", _what, f"one after the other takes ≥ {TARGETS[_name]:g}×", partial(speed, _name), BRANCHES
    )
