"""Run the programs of this folder in a mode, and print which do what they do eagerly.

    python -m tests.jit.corpus --mode bytecode [--only NAME ...] [--subject FILE ...] [--trace] [--why] [--list]

A line each: the verdict, the name, how many programs were captured, graph breaks, and calls that ran eagerly
(``-`` where the mode does not count them), then the differences.
"""

from __future__ import annotations

import argparse
import faulthandler
import fnmatch
import sys
import traceback

from tests.jit.corpus.check import timed
from tests.jit.corpus.registry import ALL_MODES, load
from tests.jit.corpus.run import Counts

MOST_LINES = 4


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.jit.corpus", description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=ALL_MODES, default="bytecode")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=["*"], help="names or patterns of programs")
    parser.add_argument("--subject", nargs="+", metavar="FILE", help="files of programs, without .py")
    parser.add_argument("--trace", action="store_true", help="print the traceback of errors, and every difference")
    parser.add_argument("--why", action="store_true", help="print why graphs broke and frames were not captured")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a program")
    parser.add_argument("--failed", action="store_true", help="print those that fail only")
    parser.add_argument("--list", action="store_true", help="print names and subjects, and run nothing")
    options = parser.parse_args()
    faulthandler.enable()
    wanted = [
        p
        for p in load().values()
        if any(fnmatch.fnmatch(p.name, pattern) for pattern in options.only)
        and (not options.subject or p.subject in options.subject)
    ]
    if options.list:
        print(*(f"{p.subject}: {p.name}" for p in wanted), sep="\n")
        return 0
    passed, refused, total = 0, 0, Counts(0, [], [])
    for p in wanted:
        verdict, seconds = timed(p, options.mode, options.limit)
        passed += verdict.passed and not verdict.refused
        refused += verdict.refused
        total = total.plus(verdict.counts)
        if verdict.passed and options.failed:
            continue
        result = "refused" if verdict.refused else "pass" if verdict.passed else "FAIL"
        print(f"{result} {p.subject}/{p.name} ({verdict.counts}, {seconds:.1f} s)", flush=True)
        shown = verdict.lines if options.trace else verdict.lines[:MOST_LINES]
        print(*(f"     {line}" for line in shown), sep="\n", end="\n" * bool(shown), flush=True)
        if options.why:
            reasons = [*(verdict.counts.breaks or ()), *(verdict.counts.fallbacks or ())]
            print(*(f"     because {reason}" for reason in reasons), sep="\n", end="\n" * bool(reasons), flush=True)
        if options.trace and verdict.error is not None:
            traceback.print_exception(verdict.error)
    print(
        f"mode {options.mode!r}: of {len(wanted)} programs {passed} do what they do eagerly, {refused} are refused or "
        f"differ as they declare; {total}"
    )
    return passed + refused < len(wanted)


if __name__ == "__main__":
    sys.exit(main())
