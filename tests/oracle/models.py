"""Every name of `paddle.vision.models` loads weights that the reference has saved, and gives its scores.

    ORACLE_PYTHON=.venv/oracle/bin/python python -m tests.oracle.models [NAME ...]

A few models at a time, since their files take gigabytes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

WORKER = Path(__file__).with_name("models_worker.py")
AT_ONCE = 4
# Relative to the largest score: what rounding comes to in 150 layers.
TOLERANCE = 1e-4


def difference(folder: Path, name: str) -> str | None:
    """What the scores of a model, or the names of its weights, say differently."""
    with np.load(folder / f"{name}.save.npz") as theirs, np.load(folder / f"{name}.load.npz") as ours:
        missing, unexpected = json.loads(str(ours["said"]))
        if missing or unexpected:
            return f"missing {missing}, unexpected {unexpected}"
        if sorted(theirs.files) != sorted(ours.files):
            return f"{len(theirs.files) - 1} results here {len(ours.files) - 1}"
        for key in sorted({*theirs.files} - {"said"}):
            a, b = theirs[key], ours[key]
            if a.shape != b.shape or a.dtype != b.dtype:
                return f"{a.dtype} {a.shape} here {b.dtype} {b.shape}"
            if not np.allclose(a, b, rtol=0, atol=TOLERANCE * np.abs(a).max()):
                return f"scores {np.abs(a - b).max():.3g} apart, of {np.abs(a).max():.3g}"
    return None


def main(names: list[str]) -> int:
    from paddle.vision import models

    reference = os.environ.get("ORACLE_PYTHON")
    if not reference:
        sys.exit("ORACLE_PYTHON must name the Python of an environment that has the reference (or: make oracle)")
    names = names or sorted(models.__all__)
    failed = 0
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    for first in range(0, len(names), AT_ONCE):
        some = names[first : first + AT_ONCE]
        with tempfile.TemporaryDirectory() as folder:
            for python, action in ((reference, "save"), (sys.executable, "load")):
                subprocess.run([python, str(WORKER), action, folder, *some], env=environment, cwd=folder, check=True)
            for name in some:
                said = difference(Path(folder), name)
                failed += said is not None
                if said:
                    print(f"{name}: {said}", flush=True)
    print(f"{len(names) - failed} of {len(names)} models give the scores of the weights that the reference saved")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
