"""Time that a fresh interpreter takes to import the package."""

from __future__ import annotations

import subprocess
import sys

from measure import Settings, Spread
from rows import Outcome, add_row, times, with_spread

LIMIT = 0.25  # seconds
CODE = "import time; begin = time.perf_counter(); import {}; print(time.perf_counter() - begin)"


def once(module: str) -> float:
    """Seconds of the import statement, bytecode written."""
    run = subprocess.run([sys.executable, "-c", CODE.format(module)], capture_output=True, text=True, check=True)
    return float(run.stdout)


def measure(settings: Settings) -> Outcome:
    figures: dict[str, list[float]] = {"paddle": [], "torch": []}
    for module in figures:
        once(module)
    for _ in range(max(2, settings.rounds // 2)):
        for module, seen in figures.items():
            seen.append(once(module))
    ours, peer = Spread.of(figures["paddle"]), Spread.of(figures["torch"])
    ratio = Spread.of([b / a for a, b in zip(*figures.values(), strict=True)])
    return Outcome(with_spread(ours), with_spread(peer), times(ratio), ours.median <= LIMIT, ratio.median)


def breakdown(top: int = 25) -> str:
    """The modules that an import spends most time in themselves, as Markdown."""
    once("paddle")
    code = "import paddle"
    run = subprocess.run([sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True)
    rows = []
    for line in run.stderr.splitlines():
        cells = line.removeprefix("import time:").split("|")
        if line.startswith("import time:") and cells[0].strip().isdigit():
            rows.append((int(cells[0]), int(cells[1]), cells[2].strip()))
    lines = ["| module | itself, ms | with what it imports, ms |", "|---|---|---|"]
    for own, whole, name in sorted(rows, reverse=True)[:top]:
        lines.append(f"| {name} | {own / 1e3:.1f} | {whole / 1e3:.1f} |")
    total = sum(own for own, _, _ in rows)
    return "\n".join([*lines, f"| all {len(rows)} | {total / 1e3:.1f} | |"])


add_row("import", "`import paddle` in a fresh interpreter", f"≤ {LIMIT:g} s", measure)
