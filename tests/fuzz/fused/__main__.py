"""``python -m tests.fuzz.fused FIRST STOP [--only MODE] [--match TEXT]``: random calls; prints what fails."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import paddle
from tests.fuzz.calls.check import Failure
from tests.fuzz.fused.check import MODES, calls_of, check
from umiak.compiler.jit import object_cache  # noqa: F401  declares the switch


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("stop", type=int)
    parser.add_argument("--only", choices=MODES)
    parser.add_argument("--match", default="")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no call after this time")
    options = parser.parse_args()
    paddle.set_flags({"FLAGS_jit_cache": False})
    tally: Counter[str] = Counter()
    start = time.monotonic()
    for seed in range(options.first, options.stop):
        if time.monotonic() - start > options.seconds:
            break
        if options.match not in calls_of(seed, 1)[0].text:
            continue
        try:
            check(seed, tally, options.only)
        except Failure as failure:
            tally["failures"] += 1
            print(str(failure)[:1500], flush=True)
    print(", ".join(f"{what} {n}" for what, n in sorted(tally.items())))
    return bool(tally["failures"])


if __name__ == "__main__":
    sys.exit(main())
