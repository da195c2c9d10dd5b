"""``python -m tests.fuzz.programs 0 1000``: run the programs of these seeds, print what fails, reduced."""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

import fake
import plugin

from tests.fuzz.programs.check import Failure
from tests.fuzz.programs.kinds import CHECKS, ON_DEVICES, check, generate
from tests.fuzz.seeds import parser_of, seeds_of, tell


def main() -> NoReturn:
    parser = parser_of(__doc__)
    parser.add_argument("--kind", choices=list(CHECKS), default="plain")
    parser.add_argument("--no-shrink", action="store_true", help="print failing programs as they are")
    parser.add_argument("--only", help="a mode of the kind's check, or eager")
    parser.add_argument("--plugin", action="store_true", help="the devices are those of a plug-in in C; needs --only")
    given = parser.parse_args()
    modes = ["eager", *CHECKS[given.kind].modes]
    if given.only is not None and given.only not in modes:
        parser.error(f"--only requires a mode of --kind {given.kind}, got {given.only!r}; these are {'; '.join(modes)}")
    if given.plugin and given.only in (None, "late", "failing"):
        parser.error("--plugin requires --only with a mode other than late and failing, which the fake devices have")
    with tempfile.TemporaryDirectory() as folder, installed(given, Path(folder)):
        run(given)


def installed(given: argparse.Namespace, folder: Path) -> AbstractContextManager:
    """The devices that programs of the kind need, of the type ``fake``."""
    if given.kind not in ON_DEVICES:
        return nullcontext()
    return plugin.loaded(folder, "fake") if given.plugin else fake.installed()


def run(given: argparse.Namespace) -> NoReturn:
    tally: Counter[str] = Counter()
    for seed in seeds_of(given):
        program = generate(seed, given.kind)
        try:
            check(program, tally, given.only)
        except Failure as failure:
            tally["failures"] += 1
            if not given.no_shrink:
                from tests.fuzz.programs.shrink import script, shrink

                program, failure = shrink(program, failure)
                print(script(program, failure), flush=True)
            else:
                print(f"# seed {seed}: {failure}\n{program.ours()}", flush=True)
        except Exception:
            tally["failures"] += 1
            print(f"# seed {seed}: the net itself failed\n{program.ours()}\n{program.judge()}", flush=True)
            traceback.print_exc()
    tell(tally, "failures")


if __name__ == "__main__":
    main()
