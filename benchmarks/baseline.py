"""Ratios of an earlier day, by processor: ``python -m run --against`` compares today's with them.

A file maps processors to rows, and rows to ratios: the other side's time ÷ ours. Ratios of one processor say nothing of
another, so each has its own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STORED = Path(__file__).with_name("baseline.json")
LEAST = 0.9  # of a stored ratio: less is worth a warning
ROUNDS, ROW_S = 15, 3.0  # of a comparison, which is to take less than a minute

# A row of each kind: calls, gradients, training, captured calls, kernels, libraries, the import.
ROWS = (
    "cpu-add",
    "cpu-matmul",
    "cpu-softmax",
    "cpu-backward",
    "cleared",
    "tutorial-mse-sgd",
    "captured-relu",
    "captured-mlp",
    "sum-256k",
    "softmax-256x1024",
    "gemm-square-256",
    "conv-one-image",
    "attention-1024-64",
    "import",
)

Ratios = dict[str, float]


def read(path: Path) -> dict[str, Ratios]:
    """The ratios of a file by processor; there are none where there is no file."""
    if not path.exists():
        return {}
    text = path.read_text()
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(map(_are_ratios, found.values())):
        raise ValueError(
            f"[baseline] requires {path} to be JSON that maps processors to rows, and rows to ratios above 0, "
            f"got {text[:200]!r}"
        )
    return found


def _are_ratios(rows: Any) -> bool:
    return isinstance(rows, dict) and all(type(x) in (int, float) and 0 < x < math.inf for x in rows.values())


def store(path: Path, processor: str, measured: Mapping[str, float]) -> None:
    """Put the ratios of a processor into a file. Other rows and other processors stay as they are."""
    found = read(path)
    rows = found.setdefault(processor, {})
    rows.update((name, float(f"{ratio:.3g}")) for name, ratio in measured.items())
    path.write_text(json.dumps(found, indent=2) + "\n")


def fell(name: str, stored: Mapping[str, float], ratio: float) -> bool:
    """Return whether a ratio is worth a warning. A ratio without a stored one cannot fall."""
    return name in stored and ratio < LEAST * stored[name]


def report(
    processor: str, known: Mapping[str, Mapping[str, float]], names: Sequence[str], measured: Mapping[str, float]
) -> tuple[list[str], list[str]]:
    """(all rows as lines of text, what is worth a warning) of rows that ran or should have."""
    stored = known.get(processor)
    if stored is None:
        others = ", ".join(known) or "none"
        return [], [f"there are no stored ratios of {processor} (there are of: {others}); `--store` makes some"]
    lines, warnings = [], []
    for name in names:
        before = f"{stored[name]:.3g}×" if name in stored else "nothing"
        if name not in measured:
            warnings.append(f"{name} did not run; {before} is stored")
            continue
        share = f", {measured[name] / stored[name]:.2f} of it" if name in stored else ""
        line = f"{name}: {measured[name]:.3g}×, stored {before}{share}"
        lines.append(line)
        if fell(name, stored, measured[name]):
            warnings.append(f"{line}; at least {LEAST:g} is expected")
    return lines, warnings
