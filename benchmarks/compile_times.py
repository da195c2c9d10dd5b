"""Latency of code: compiled for the first time, loaded from the disk, and in a script that starts anew."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from measure import Settings, Spread
from rows import Outcome, add_row, add_section, duration, with_spread

COMPILE = add_section("compile", "Compilation", figure="by stage, or part")
SCRIPT = Path(__file__).with_name("first_calls.py")
COLD, WARM, FIRST = 15e-3, 0.3e-3, 1.0  # seconds
MADE, LOADED = ("nest", "schedule", "render", "codegen", "link", "disk", "load"), ("disk", "load")
RUNS = 5


def run(folder: str, clock: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, str(SCRIPT), folder, clock], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"[compile] requires {SCRIPT.name} to run, got\n{done.stderr}")
    return json.loads(done.stdout)


@cache
def runs(count: int, clock: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Run the script in an empty folder, then again, and return its reports."""
    cold, warm = [], []
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(run(folder, clock))
            warm.append(run(folder, clock))
    return cold, warm


def of(settings: Settings) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return runs(1 if settings.check else RUNS, "cpu" if settings.fastest else "")


def kernels(said: dict[str, Any], event: str) -> dict[str, dict[str, float]]:
    """Seconds by stage of the kernels that were met by ``event``.

    A nest is made before its kernels have names, and is counted under the op's: its kernels share its time.
    """
    found = {row["name"]: dict(row) for row in said["kernels"] if row[event]}
    nests = [(row["name"], row["nest"]) for row in said["kernels"] if "nest" in row]
    for op, seconds in nests:
        own = [name for name in found if name.startswith(f"{op}_") and max(
            (other for other, _ in nests if name.startswith(f"{other}_")), key=len) == op]  # fmt: skip
        for name in own:
            found[name]["nest"] = seconds / len(own)
    return found


def per_kernel(
    said: list[dict[str, Any]], event: str, stages: tuple[str, ...], settings: Settings
) -> list[list[float]]:
    """Seconds of each kernel by stage, over all runs of the script."""
    pick = min if settings.fastest else statistics.median
    tables = [kernels(one, event) for one in said]
    names = set(tables[0]).intersection(*tables)
    return [[pick([t[name].get(stage, 0.0) for t in tables]) for stage in stages] for name in sorted(names)]


def stages(settings: Settings, cold: bool) -> Outcome:
    said = of(settings)[0 if cold else 1]
    names, limit = (MADE, COLD) if cold else (LOADED, WARM)
    table = per_kernel(said, "compiled" if cold else "from_disk", names, settings)
    if len(table) < 50:
        raise RuntimeError(f"[compile] requires over 50 kernels of the script, got {len(table)}")
    whole = sorted(map(sum, table))
    high = whole[int(0.9 * len(whole))]
    parts = [f"{name} {duration(statistics.median(column))}" for name, column in zip(names, zip(*table))]
    text = f"median {duration(statistics.median(whole))}, 9 in 10 ≤ {duration(high)}, all ≤ {duration(whole[-1])}"
    return Outcome(text, f"{len(table)} kernels", ", ".join(parts), high <= limit)


def script(settings: Settings, cold: bool) -> Outcome:
    said = of(settings)[0 if cold else 1]
    whole = [sum(one[part] for part in ("import", "data", "calls")) for one in said]
    best = min(range(len(said)), key=whole.__getitem__)
    spread = Spread.of([whole[best]] if settings.fastest else whole)
    parts = [f"{part} {duration(said[best][part])}" for part in ("import", "data", "calls")]
    return Outcome(with_spread(spread), "", ", ".join(parts), not cold or spread.median <= FIRST)


add_row(
    "compile-cold", "a kernel that nobody has compiled yet", f"≤ {duration(COLD)} for 9 in 10",
    lambda settings: stages(settings, True), COMPILE,
)  # fmt: skip
add_row(
    "compile-warm", "machine code of a kernel from the disk", f"≤ {duration(WARM)} for 9 in 10",
    lambda settings: stages(settings, False), COMPILE,
)  # fmt: skip
add_row(
    "script-first", "script of 60 different ops, nothing on disk, with its import", f"≤ {duration(FIRST)}",
    lambda settings: script(settings, True), COMPILE,
)  # fmt: skip
add_row(
    "script-again", "the same script once more", "for comparison",
    lambda settings: script(settings, False), COMPILE,
)  # fmt: skip
