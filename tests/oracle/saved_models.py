"""Models that are saved here and run in the reference, and the other way round: the largest errors.

Each is loaded by ``paddle.jit.load``, and by a predictor with the passes and kernels that it has by default.

    ORACLE_PYTHON=.venv/oracle/bin/python python -m tests.oracle.saved_models [--record] [NAME ...]

``--record`` writes them into ``docs/design/saved_models.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support import saved_models

PAGE = Path(__file__).parents[2] / "docs" / "design" / "saved_models.md"
HEAD = "| model | here → reference | in its predictor | reference → here | in our predictor |\n|---|---|---|---|---|\n"
DIRECTIONS = tuple(
    f"{way}, {how}" for way in ("here to the reference", "the reference to here") for how in ("loaded", "predictor")
)
MOST = 1e-5  # an error beside the largest element of a result


def worked(python: str, do: str, folder: str, names: list[str]) -> dict[str, dict[str, Any]]:
    """What each model came to in the environment of an interpreter. One that ends the process is a failure."""
    found: dict[str, dict[str, Any]] = {}
    while left := [n for n in names if n not in found]:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PYTHONWARNINGS": "ignore"}
        command = [python, saved_models.__file__, do, folder, *left]
        run = subprocess.run(command, env=environment, cwd="/", stdout=subprocess.PIPE, text=True, check=False)
        begun = None
        for row in map(json.loads, (line for line in run.stdout.splitlines() if line.startswith("{"))):
            begun = row.get("begin")
            if begun is None:
                found[row.pop("name")] = row
        if begun is not None:
            found[begun] = {"failed": f"the process ended with {run.returncode}"}
        elif not run.stdout:
            raise RuntimeError(f"{command[:3]} ended with {run.returncode} before the first model")
    return found


def both_ways(reference: str, names: list[str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """For each model what came of it in both directions, loaded as a layer and in a predictor with its defaults."""
    directions = []
    for writer, reader in ((sys.executable, reference), (reference, sys.executable)):
        with tempfile.TemporaryDirectory() as folder:
            saved = worked(writer, "save", folder, names)
            there = [n for n in names if "failed" not in saved[n]]
            directions += [{**saved, **worked(reader, how, folder, there)} for how in saved_models.RUNS]
    for name in names:
        yield name, [found[name] for found in directions]


def table(page: str) -> tuple[int, int]:
    """Where the rows of the table stand on the page."""
    begin = page.index(HEAD) + len(HEAD)
    end = page.find("\n\n", begin)
    return begin, len(page) if end < 0 else end + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="by default all models")
    parser.add_argument("--record", action="store_true", help="write the errors into the docs")
    options = parser.parse_args()
    reference = os.environ.get("ORACLE_PYTHON")
    if not reference:
        parser.error("ORACLE_PYTHON must name the Python of an environment that has the reference (or: make oracle)")
    rows, failed = [], 0
    for name, results in both_ways(reference, options.names or list(saved_models.CASES)):
        for direction, found in zip(DIRECTIONS, results, strict=True):
            if "failed" in found or not found["alike"] or found["error"] > MOST:
                failed += 1
                print(f"{name}, {direction}: {found}")
        rows.append(f"| {name} | " + " | ".join(f"{r.get('error', float('nan')):.1e}" for r in results) + " |\n")
    if options.record and not failed and not options.names:
        page = PAGE.read_text()
        begin, end = table(page)
        PAGE.write_text(page[:begin] + "".join(rows) + page[end:])
    print(f"{len(rows)} models, {failed} failures")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
