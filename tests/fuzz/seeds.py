"""Seeds of a kind of random programs, in tests and as the command
``python -m tests.fuzz.KIND FIRST LAST [--only WAY] [--no-shrink] [--seconds N]``."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import NoReturn

import paddle
from umiak.compiler.jit import object_cache  # noqa: F401  declares the switch

Check = Callable[[int, "Counter[str]", Sequence[str]], "str | None"]
Reduce = Callable[[int, str, Sequence[str]], str]


def right(check: Callable[[int, Counter[str]], str | None], seeds: Sequence[int]) -> Counter[str]:
    """What the programs of some seeds did, of which none may be wrong."""
    tally: Counter[str] = Counter()
    if wrong := [text for text in (check(seed, tally) for seed in seeds) if text]:
        raise AssertionError("\n\n".join(wrong))
    return tally


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """What the commands of all nets take."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no seed after this time")
    return parser


def seeds_of(asked: argparse.Namespace) -> Iterator[int]:
    """The seeds that a command asks for, as long as there is time."""
    paddle.set_flags({"FLAGS_jit_cache": False})
    start = time.monotonic()
    return takewhile(lambda _: time.monotonic() - start <= asked.seconds, range(asked.first, asked.last))


def tell(tally: Counter[str], wrong: str) -> NoReturn:
    """Print the counts of a command, and end it with its status: whether any are of what is ``wrong``."""
    for what, count in sorted(tally.items()):
        print(f"{count:7} {what}")
    raise SystemExit(bool(tally[wrong]))


def run_seeds(description: str | None, ways: Sequence[str], check: Check, reduce: Reduce | None = None) -> None:
    """Check the programs of a range of seeds, and end with the status of the command.

    ``check(seed, tally, only)`` says what is wrong with a program in the ways ``only``, and counts what it did;
    ``reduce(seed, wrong, only)`` says it of a shorter program, where there is one.
    """
    parser = parser_of(description)
    if ways:
        parser.add_argument("--only", choices=ways)
    if reduce is not None:
        parser.add_argument("--no-shrink", action="store_true", help="print programs as they are")
    asked = parser.parse_args()
    tally: Counter[str] = Counter()
    only = (asked.only,) if ways and asked.only is not None else ways
    for seed in seeds_of(asked):
        tally["seeds"] += 1
        wrong = check(seed, tally, only)
        if wrong:
            tally["different"] += 1
            print(f"{wrong if reduce is None or asked.no_shrink else reduce(seed, wrong, only)}\n", flush=True)
    tell(tally, "different")
