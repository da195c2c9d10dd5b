"""Ranges of seeds through workers. One that dies or hangs is a finding, and another goes on after its file."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]
HANGS, STARTS = 300, 1200  # seconds without a word, and until the first one, before which something may be compiled


@dataclass
class Found:
    """``counts`` of files by what came of them; ``failures`` by seed; the most that a file took."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[int, str] = field(default_factory=dict)
    peak: int = 0
    seconds: float = 0.0


def check(format: str, first: int, last: int) -> Found:
    """Read the files of these seeds."""
    found = Found()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        while first < last:
            first = _worker(format, first, last, folder, found) + 1
    return found


def _worker(format: str, first: int, last: int, folder: str, found: Found) -> int:
    """Returns the last seed that was begun."""
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.files.worker",
        format,
        str(first),
        str(last),
        os.path.join(folder, "f"),
    ]
    environment = {**os.environ, "UMIAK_CACHE_DIR": os.path.join(folder, "cache")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=environment) as p:
        assert p.stdout is not None and p.stderr is not None
        seed, begun = first - 1, False
        while True:
            if not select.select([p.stdout], [], [], HANGS if seed >= first else STARTS)[0]:
                p.kill()
                found.failures[seed] = "no word for long"
                found.counts["failed"] += 1
                return seed
            line = p.stdout.readline()
            if not line:
                break
            if line[:1] != b"{":
                seed, begun = int(line), True
                continue
            row = json.loads(line)
            begun = False
            found.counts[row["state"]] += 1
            found.peak, found.seconds = max(found.peak, row["peak"]), max(found.seconds, row["seconds"])
            if row["why"]:
                found.failures[seed] = row["why"]
        code, said = p.wait(), p.stderr.read().decode()[-2000:]
    if code and not begun:
        raise RuntimeError(f"the worker for {format} ended with {code}: {said}")
    if begun:
        found.failures[seed] = f"the process ended with {code}: {said}"
        found.counts["failed"] += 1
    return seed
