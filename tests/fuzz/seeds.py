"""Seeds of a kind of random programs, in tests and as the command
``python -m tests.fuzz.KIND FIRST LAST [--only WAY] [--no-shrink]``."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence

import paddle

Check = Callable[[int, "Counter[str]", Sequence[str]], "str | None"]
Reduce = Callable[[int, str, Sequence[str]], str]


def right(check: Callable[[int, Counter[str]], str | None], seeds: Sequence[int]) -> Counter[str]:
    """What the programs of some seeds did, of which none may be wrong."""
    tally: Counter[str] = Counter()
    if wrong := [text for text in (check(seed, tally) for seed in seeds) if text]:
        raise AssertionError("\n\n".join(wrong))
    return tally


def run_seeds(description: str | None, ways: Sequence[str], check: Check, reduce: Reduce) -> None:
    """Check the programs of a range of seeds, and end with the status of the command.

    ``check(seed, tally, only)`` says what is wrong with a program in the ways ``only``, and counts what it did;
    ``reduce(seed, wrong, only)`` says it of a shorter program.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--only", choices=ways)
    parser.add_argument("--no-shrink", action="store_true", help="print programs as they are")
    asked = parser.parse_args()
    paddle.set_flags({"FLAGS_jit_cache": False})
    tally: Counter[str] = Counter()
    only = ways if asked.only is None else (asked.only,)
    for seed in range(asked.first, asked.last):
        wrong = check(seed, tally, only)
        if wrong is not None:
            tally["different"] += 1
            print(f"{wrong if asked.no_shrink else reduce(seed, wrong, only)}\n", flush=True)
    for what, count in sorted(tally.items()):
        print(f"{count:7} {what}")
    raise SystemExit(bool(tally["different"]))
