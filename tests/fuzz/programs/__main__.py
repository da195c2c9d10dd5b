"""``python -m tests.fuzz.programs 0 1000``: run the programs of these seeds, print what fails, reduced."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

import fake
import plugin

import paddle
from tests.fuzz.programs.check import Failure
from tests.fuzz.programs.kinds import CHECKS, ON_DEVICES, check, generate
from umiak.compiler.jit import object_cache  # noqa: F401  declares the switch


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz.programs", description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("stop", type=int)
    parser.add_argument("--kind", choices=list(CHECKS), default="plain")
    parser.add_argument("--no-shrink", action="store_true", help="print failing programs as they are")
    parser.add_argument("--only", help="a mode of the kind's check, or eager")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no program after this time")
    parser.add_argument("--plugin", action="store_true", help="the devices are those of a plug-in in C; needs --only")
    given = parser.parse_args()
    modes = ["eager", *CHECKS[given.kind].modes]
    if given.only is not None and given.only not in modes:
        parser.error(f"--only requires a mode of --kind {given.kind}, got {given.only!r}; these are {'; '.join(modes)}")
    if given.plugin and given.only in (None, "late", "failing"):
        parser.error("--plugin requires --only with a mode other than late and failing, which the fake devices have")
    paddle.set_flags({"FLAGS_jit_cache": False})
    with tempfile.TemporaryDirectory() as folder, installed(given, Path(folder)):
        return run(given)


def installed(given: argparse.Namespace, folder: Path) -> AbstractContextManager:
    """The devices that programs of the kind need, of the type ``fake``."""
    if given.kind not in ON_DEVICES:
        return nullcontext()
    return plugin.loaded(folder, "fake") if given.plugin else fake.installed()


def run(given: argparse.Namespace) -> int:
    tally: Counter[str] = Counter()
    failures, start = 0, time.monotonic()
    for seed in range(given.first, given.stop):
        if time.monotonic() - start > given.seconds:
            break
        program = generate(seed, given.kind)
        try:
            check(program, tally, given.only)
        except Failure as failure:
            failures += 1
            if not given.no_shrink:
                from tests.fuzz.programs.shrink import script, shrink

                program, failure = shrink(program, failure)
                print(script(program, failure), flush=True)
            else:
                print(f"# seed {seed}: {failure}\n{program.ours()}", flush=True)
        except Exception:
            failures += 1
            print(f"# seed {seed}: the net itself failed\n{program.ours()}\n{program.judge()}", flush=True)
            traceback.print_exc()
    for what, count in sorted(tally.items()):
        print(f"{count:7} {what}")
    print(f"{failures:7} failures, {time.monotonic() - start:.0f} s")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
