"""Compares the public API with the reference framework, call by call.

    ORACLE_PYTHON=.venv/oracle/bin/python python -m tests.oracle [PATTERN ...]

ORACLE_PYTHON is the Python of an environment that has the reference. A pattern selects calls whose text has it. The
report has, for each family, how many calls give the same (values, dtypes, shapes, gradients, kinds of errors), and the
differences that `known.txt` does not have; if there are any, the exit status is 1. So it is if, of all calls, none
differs in the way that a line of `known.txt` says.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.oracle.calls import Call, all_calls, fits
from tests.oracle.compare import verdict

HERE = Path(__file__).parent
SURFACE = HERE.parent / "data" / "api_surface.txt"
SECONDS_PER_CALL = 40
# The first import of a framework may compile what changed.
SECONDS_TO_BEGIN = 900
NO_ANSWER = "no answer of the reference"
REASONS = ("defect of the reference", NO_ANSWER, "random draw", "last-bit rounding", "by design")


def methods() -> set[str]:
    """The names of the methods of a tensor that the reference documents."""
    found, section = set(), ""
    for line in SURFACE.read_text().splitlines():
        if line.startswith("["):
            section = line
        elif section == "[Tensor]" and "(" in line:
            found.add(line.split("(")[0])
    return found


def known_differences() -> list[tuple[str, str]]:
    """(reason, pattern of calls) of `known.txt`."""
    found = []
    for line in (HERE / "known.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            reason, _, pattern = line.partition(": ")
            if reason not in REASONS or not pattern:
                raise ValueError(f"known.txt: a line is 'REASON: PATTERN' with a reason of {REASONS}, got {line!r}")
            found.append((reason, pattern.split("  # ")[0].strip()))
    return found


def compared_calls() -> list[Call]:
    """All calls; of those that `known.txt` lists, the call of the function alone."""
    return all_calls(methods(), [pattern for _, pattern in known_differences()])


def end_of(process: subprocess.Popen[str], results: Path) -> int | str:
    """The exit status of a worker, which is killed when a call takes too long: a call can hang outside of Python."""
    size, since = -1, time.monotonic()
    while True:
        try:
            return process.wait(0.2)
        except subprocess.TimeoutExpired:
            grown = results.stat().st_size if results.exists() else 0
            allowed = SECONDS_PER_CALL if grown else SECONDS_TO_BEGIN
            if grown != size:
                size, since = grown, time.monotonic()
            elif time.monotonic() - since > allowed:
                process.kill()
                process.wait()
                return f"no end after {allowed} s"


def run_calls(python: str, calls: list[Call], environment: dict[str, str]) -> list[dict[str, Any]]:
    """The records of all calls; a call that ends the process, or has no end, is an error 'crash'."""
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        source, target, log = Path(folder, "calls"), Path(folder, "results"), Path(folder, "log")
        while len(results) < len(calls):
            source.write_text("".join(call.text + "\n" for call in calls[len(results) :]))
            with open(log, "w") as errors:
                process = subprocess.Popen(
                    [python, str(HERE / "worker.py"), str(source), str(target)],
                    env=environment, cwd=folder, stdin=subprocess.DEVNULL, stderr=errors, text=True,
                )  # fmt: skip
                status = end_of(process, target)
            lines = target.read_text().splitlines() if target.exists() else []
            results += [json.loads(line) for line in lines[1::2]]
            if not lines:
                raise RuntimeError(f"the worker of {python} did not begin:\n{log.read_text()[-2000:]}")
            if len(lines) == 1:  # of a process that ended later, what ran before may have spoilt the memory
                results.append({"error": "crash", "kinds": ["crash"], "words": f"exit status {status}"})
            target.unlink()
    return results


def in_parts(python: str, calls: list[Call], environment: dict[str, str], jobs: int) -> list[dict[str, Any]]:
    size = -(-len(calls) // jobs)
    parts = [calls[start : start + size] for start in range(0, len(calls), size)]
    with ThreadPoolExecutor(jobs) as pool:
        return [
            result for part in pool.map(lambda part: run_calls(python, part, environment), parts) for result in part
        ]


def stays(call: Call, difference: tuple[str, str], reason: str, pattern: str) -> bool:
    """Whether a line of `known.txt` has this difference; what is said to be rounding must be so small."""
    return fits(call.text, pattern) and (reason != "last-bit rounding" or "rounding" in difference[1])


def report(calls: list[Call], found: list[tuple[str, str] | None], every: bool, whole: bool) -> int:
    """Print what differs, and return the exit status. ``every``: listed differences, too; ``whole``: all calls ran."""
    known, used = known_differences(), set()
    total, same, reasons = Counter(), Counter(), Counter()
    new: list[str] = []
    for call, difference in zip(calls, found):
        if difference and difference[0] == "nothing to compare":
            reasons["nothing to compare"] += 1
            continue
        listed = difference and next((pair for pair in known if stays(call, difference, *pair)), None)
        if listed:
            used.add(listed)
            reasons[listed[0]] += 1
            if listed[0] == NO_ANSWER:
                continue
        total[call.family] += 1
        if difference is None:
            same[call.family] += 1
            continue
        if not listed or every:
            new.append(f"{call.family}: {call.text}\n    {difference[0]}: {difference[1]}")
    print("\n".join(new))
    for family in total:
        print(f"{family:<24} {same[family]:>5} of {total[family]:>5}  {100 * same[family] / total[family]:6.2f} %")
    print(f"{'all':<24} {same.total():>5} of {total.total():>5}  {100 * same.total() / max(total.total(), 1):6.2f} %")
    for reason, count in reasons.items():
        print(f"    {reason}: {count}")
    print(f"    not listed: {len(new)}" if not every else f"    shown: {len(new)}")
    idle = [f"{reason}: {pattern}" for reason, pattern in known if (reason, pattern) not in used] if whole else []
    for line in idle:
        print(f"    known.txt has it, but nothing differs: {line}")
    return bool(new or idle)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("patterns", nargs="*", help="parts of the texts of calls; by default all calls run")
    parser.add_argument("--family", help="a file of calls/")
    parser.add_argument("--every", action="store_true", help="show listed differences, too")
    parser.add_argument("--jobs", type=int, default=1, help="processes of each framework")
    parser.add_argument("--keep", type=Path, help="a file for what the reference gives; it is read if it exists")
    options = parser.parse_args()
    reference = os.environ.get("ORACLE_PYTHON")
    if not reference:
        parser.error("ORACLE_PYTHON must name the Python of an environment that has the reference (or: make oracle)")
    calls = [
        call
        for call in compared_calls()
        if (not options.patterns or any(part in call.text for part in options.patterns))
        and (not options.family or call.family == options.family)
    ]
    kept: dict[str, Any] = json.loads(options.keep.read_text()) if options.keep and options.keep.exists() else {}
    missing = [call for call in calls if call.text not in kept]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with ThreadPoolExecutor(2) as pool:
        theirs = pool.submit(in_parts, reference, missing, environment, options.jobs) if missing else None
        ours = pool.submit(in_parts, sys.executable, calls, dict(os.environ), options.jobs)
        if theirs:
            kept |= {call.text: result for call, result in zip(missing, theirs.result())}
            if options.keep:
                options.keep.write_text(json.dumps(kept))
        found = [verdict(kept[call.text], mine, call.random) for call, mine in zip(calls, ours.result())]
    return report(calls, found, options.every, whole=not (options.patterns or options.family))


if __name__ == "__main__":
    sys.exit(main())
