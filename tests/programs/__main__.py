"""Run the programs of this folder here and in the reference framework, and compare what they give.

    ORACLE_PYTHON=.venv/oracle/bin/python python -m tests.programs [--record] [PROGRAM[:CASE] ...]

``--record`` writes what the reference gives into ``tests/data/programs.jsonl``, which the tests compare with.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.programs import common, record
from tests.support import results

DATA = Path(__file__).parents[1] / "data" / "programs.jsonl"


def kept(path: Path = DATA) -> dict[tuple[str, str], Any]:
    """Results in a file, by program and case."""
    rows = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
    return {(row["program"], row["case"]): row["result"] for row in rows}


def differences(name: str, ours: Any, theirs: Any) -> list[str]:
    """What two results of a program say differently; numbers may differ by the program's tolerance."""
    return results.differences(ours, theirs, getattr(record.program(name), "TOLERANCE", 1e-4))


def run(python: str, wanted: list[str]) -> dict[tuple[str, str], Any]:
    """The results of programs in the environment of an interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        data, target = Path(folder, "digits.npz"), Path(folder, "results")
        images, labels = common.digits()
        np.savez(data, images=images, labels=labels)
        script = Path(record.__file__)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"DIGITS": str(data)}
        subprocess.run([python, str(script), str(target), *wanted], env=environment, cwd=folder, check=True)
        return kept(target)


def write(found: dict[tuple[str, str], Any]) -> None:
    """Keep results for the tests: those of programs that are still there, in order."""
    every = {(name, case) for name in record.names() for case in record.cases(name)}
    rows = [
        {"program": name, "case": case, "result": result}
        for (name, case), result in sorted((kept() | found).items())
        if (name, case) in every
    ]
    DATA.write_text("".join(json.dumps(row) + "\n" for row in rows))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", help="by default all")
    parser.add_argument("--record", action="store_true", help="keep what the reference gives for the tests")
    options = parser.parse_args()
    reference = os.environ.get("ORACLE_PYTHON")
    if not reference:
        parser.error("ORACLE_PYTHON must name the Python of an environment that has the reference (or: make oracle)")
    theirs = run(reference, options.programs)
    if options.record:
        write(theirs)
    ours = run(sys.executable, options.programs)
    failed = 0
    for (name, case), result in theirs.items():
        found = differences(name, ours[name, case], result)
        failed += bool(found)
        for line in found:
            print(f"{name} {case}: {line}")
    print(f"{len(theirs) - failed} of {len(theirs)} programs give the same")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
