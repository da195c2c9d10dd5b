"""``python -m tests.fuzz.functions 0 1000``: run the functions of these seeds, print what fails, reduced."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter

import paddle
from tests.fuzz.functions.check import Failure, check
from tests.fuzz.functions.generate import Program, generate
from tests.fuzz.functions.run import MODES
from umiak.compiler.jit import object_cache  # noqa: F401  declares the switch


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz.functions", description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("stop", type=int)
    parser.add_argument("--mode", choices=MODES[1:], nargs="+", default=MODES[1:])
    parser.add_argument("--no-shrink", action="store_true", help="print failing programs as they are")
    parser.add_argument("--brief", action="store_true", help="print what is wrong alone")
    parser.add_argument("--show", action="store_true", help="print the programs of these seeds, and run nothing")
    parser.add_argument("--trace", action="store_true", help="print the traceback of errors that a mode alone raises")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no program after this time")
    given = parser.parse_args()
    paddle.set_flags({"FLAGS_jit_cache": False})
    tally: Counter[str] = Counter()
    failures, start = 0, time.monotonic()
    for seed in range(given.first, given.stop):
        if time.monotonic() - start > given.seconds:
            break
        program = generate(seed)
        if given.show:
            print(program)
            continue
        for mode in given.mode:
            try:
                check(program, (mode,), tally)
            except Failure as failure:
                failures += 1
                report(program, failure, given)
            except Exception:
                failures += 1
                print(f"# the net itself failed\n{program}", flush=True)
                traceback.print_exc()
    for what, count in sorted(tally.items(), key=lambda pair: (pair[0].partition(":")[0], -pair[1])):
        print(f"{count:7} {what}")
    print(f"{failures:7} failures, {time.monotonic() - start:.0f} s")
    return failures > 0


def report(program: Program, failure: Failure, given: argparse.Namespace) -> None:
    if given.brief:
        print(f"# seed {program.seed}: {failure}"[:400], flush=True)
        return
    if not given.no_shrink:
        from tests.fuzz.functions.shrink import shrink

        program, failure = shrink(program, failure)
    print(f"{program}# {failure}\n", flush=True)
    if given.trace and failure.__cause__ is not None:
        traceback.print_exception(failure.__cause__)


if __name__ == "__main__":
    sys.exit(main())
