"""``python -m tests.fuzz.functions 0 1000``: run the functions of these seeds, print what fails, reduced."""

from __future__ import annotations

import argparse
import traceback
from collections import Counter

from tests.fuzz.functions.check import Failure, check
from tests.fuzz.functions.generate import Program, generate
from tests.fuzz.functions.run import MODES
from tests.fuzz.seeds import parser_of, seeds_of, tell


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--mode", choices=MODES[1:], nargs="+", default=MODES[1:])
    parser.add_argument("--no-shrink", action="store_true", help="print failing programs as they are")
    parser.add_argument("--brief", action="store_true", help="print what is wrong alone")
    parser.add_argument("--show", action="store_true", help="print the programs of these seeds, and run nothing")
    parser.add_argument("--trace", action="store_true", help="print the traceback of errors that a mode alone raises")
    given = parser.parse_args()
    tally: Counter[str] = Counter()
    for seed in seeds_of(given):
        program = generate(seed)
        if given.show:
            print(program)
            continue
        for mode in given.mode:
            try:
                check(program, (mode,), tally)
            except Failure as failure:
                tally["failures"] += 1
                report(program, failure, given)
            except Exception:
                tally["failures"] += 1
                print(f"# the net itself failed\n{program}", flush=True)
                traceback.print_exc()
    tell(tally, "failures")


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
    main()
