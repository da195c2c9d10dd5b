"""``python -m tests.modes [--mode M] [--family F] [--part I/N] [PATTERN...]``: every call in every mode."""

from __future__ import annotations

import argparse
import os
import pickle
import signal
import sys
import time
import traceback

import paddle
from tests.modes.modes import IDENTITIES, MODES, findings
from tests.oracle.__main__ import methods
from tests.oracle.calls import Call, all_calls

SECONDS = 60


def chunk_of(calls: list[tuple[Call, str]]) -> list[list[str]] | str:
    """The findings of some calls, made in a child that may end; then how it ended."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        out = os.fdopen(write, "wb")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        for call, mode in calls:
            signal.alarm(SECONDS)
            try:
                found = findings(call, mode)
            except Exception:
                found = ["net: " + traceback.format_exc()[-600:]]
            pickle.dump(found, out)
            out.flush()
        out.close()
        os._exit(0)
    os.close(write)
    found = []
    with os.fdopen(read, "rb") as source:
        while True:
            try:
                found.append(pickle.load(source))
            except EOFError:
                break
    _, status = os.waitpid(child, 0)
    if status:
        found.append([f"crash: status {status}"])
    return found


def main() -> int:
    eye = paddle.eye(3)
    eye @ eye  # libraries with threads of their own are loaded before there are children
    parser = argparse.ArgumentParser()
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--mode", action="append")
    parser.add_argument("--family")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--methods", action="store_true", help="calls by methods and in place, too")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    total = 0
    for mode in options.mode or MODES:
        made = methods() if options.methods or mode == "in_place" else set()
        calls = [
            call
            for call in [*all_calls(made), *IDENTITIES]
            if (not options.patterns or any(p in call.text for p in options.patterns))
            and (not options.family or call.family == options.family)
        ][part::parts]
        start, jobs, count = time.monotonic(), [(call, mode) for call in calls], 0
        while jobs:
            found = chunk_of(jobs[:200])
            for (call, _), said in zip(jobs, found):
                count += bool(said)
                for line in said:
                    print(f"{mode} | {call.family} | {call.text} | {line}", flush=True)
            jobs = jobs[len(found) :]
        total += count
        print(f"# {mode}: {count} of {len(calls)} calls, {time.monotonic() - start:.0f} s", flush=True)
    return bool(total)


if __name__ == "__main__":
    sys.exit(main())
