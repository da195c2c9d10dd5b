"""One process that reads damaged files: ``python -m tests.fuzz.files.worker FORMAT FIRST LAST FOLDER``.

Says each seed before it reads its file, and what came of it after, a line of JSON each. A file has budgets of processor
time and of memory.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
import traceback

from tests.fuzz.files import formats

SECONDS = 20.0  # of the processor, for a file
MEMORY = 192 << 20, 400  # bytes beside those of the process, and for each byte of the file
ADDRESSES = 3 << 30  # bytes of address space beside those of the process


class Late(BaseException):
    """The time for a file is over."""


def late(number: int, frame: object) -> None:
    raise Late


def of_process(field: str) -> int:
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith(field))


def reset_peak() -> int:
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    return of_process("VmRSS")


def main(name: str, first: int, last: int, folder: str) -> None:
    format = formats.make(name, folder)
    limit = of_process("VmSize") + ADDRESSES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, late)
    out = sys.stdout
    for seed in range(first, last):
        print(seed, file=out, flush=True)
        before, start = reset_peak(), time.process_time()
        why = ""
        state, size = "failed", 0
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            sample, data = format.mutated(random.Random(seed))
            before, start = reset_peak(), time.process_time()  # what making the file took is not the reader's
            state, size = format.run(sample, data)
        except Late:
            why = f"more than {SECONDS} s: " + "".join(traceback.format_exc()[-1500:])
        except BaseException:
            why = traceback.format_exc()[-3000:]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        peak = of_process("VmHWM") - before
        if not why and peak > MEMORY[0] + MEMORY[1] * size:
            state, why = "failed", f"{peak >> 20} MiB for a file of {size} bytes"
        row = {"state": state, "why": why, "peak": peak, "seconds": time.process_time() - start, "size": size}
        print(json.dumps(row), file=out, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    os._exit(0)
