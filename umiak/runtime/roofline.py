"""Roofline of kernels: ``python -m umiak.runtime.roofline SCRIPT [ARGUMENTS]``.

Runs the script with its launches timed and prints a row per kernel: launches, milliseconds in all, microseconds each
and at least, GB/s, GF/s, and the share of the roof. The roof of a kernel is the time that its bytes need at the
memory's rate or its flops at the processor's, whichever is longer; over 100 % its data lay in caches.

Both ceilings are measured by kernels of our own with as many threads as launches use: ``a + b`` of arrays that fit no
cache, and a loop of fused multiply-adds of float32 in registers. ``FLAGS_roof_gbs`` and ``FLAGS_roof_gflops`` give them
instead.
"""

from __future__ import annotations

import argparse
import ctypes
import runpy
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from umiak import ops as F
from umiak.compiler import jit, statistics
from umiak.compiler.render.llvm import Target
from umiak.core import dtype as dt
from umiak.core import inplace
from umiak.runtime import parallel
from umiak.util import flags
from umiak.util.errors import op_error


def _positive(value: float) -> None:
    if not value >= 0:
        raise op_error(ValueError, "roofline", "a rate that is not negative", str(value))


GBS = flags.define("roof_gbs", 0.0, "GB/s that the memory gives, for rooflines; 0: measured", on_change=_positive)
GFLOPS = flags.define(
    "roof_gflops", 0.0, "GF/s that the processor does, for rooflines; 0: measured", on_change=_positive
)

STREAMED = 1 << 24  # float32 of each of three arrays: 192 MB in all
ROUNDS = 8
CHAINS = 12  # of multiply-adds: more than latency times units, fewer than registers
STEPS = 1 << 18  # of each chain in a part


class Ceilings(NamedTuple):
    """Bytes and flops per second."""

    bandwidth: float
    flops: float

    def seconds(self, row: statistics.Launches) -> float:
        """The least that the work of a row can take."""
        return max(row.bytes / self.bandwidth, row.flops / self.flops)


_measured: dict[int, Ceilings] = {}  # by number of threads


def ceilings() -> Ceilings:
    """Return the ceilings of the machine, with as many threads as launches have now; measured once."""
    threads = parallel.get_num_threads()
    if not (GBS.value and GFLOPS.value) and threads not in _measured:
        _measured[threads] = Ceilings(_bandwidth(), _flops(threads))
    return Ceilings(
        GBS.value * 1e9 or _measured[threads].bandwidth,
        GFLOPS.value * 1e9 or _measured[threads].flops,
    )


def _best(run: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def _bandwidth() -> float:
    x, y, out = (F.full(1.0, shape=(STREAMED,), dtype=dt.float32) for _ in range(3))
    add = F.REGISTRY["add"]()  # into memory that has been touched
    return 3 * 4 * STREAMED / _best(lambda: inplace.apply_into(add, (out,), (x, y)))


def _flops(threads: int) -> float:
    lanes = Target.host().vector_bits // 32
    library = jit.load(_text(lanes), ["fma_part"])
    result = (ctypes.c_float * (lanes * threads))()
    native = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(parallel.ADDRESS)
    part = library.address("fma_part")
    seconds = _best(lambda: native(part, ctypes.addressof(result), threads))
    return 2.0 * CHAINS * STEPS * lanes * threads / seconds


def _text(lanes: int) -> str:
    """``int fma_part(float* result, int64 part)``: chains of x = x * a + a, one as long as the others."""
    v = f"<{lanes} x float>"
    scale, small = (f"splat (float {x})" for x in ("0.5", "0.25"))
    chains = range(CHAINS)
    lines = [
        f"declare {v} @llvm.fma.v{lanes}f32({v}, {v}, {v})",
        "define i32 @fma_part(ptr %result, i64 %part) {",
        "entry:",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
        *(f"  %x{k} = phi {v} [ splat (float {k}.0), %entry ], [ %y{k}, %loop ]" for k in chains),
        *(f"  %y{k} = call {v} @llvm.fma.v{lanes}f32({v} %x{k}, {v} {scale}, {v} {small})" for k in chains),
        "  %next = add i64 %i, 1",
        f"  %more = icmp ult i64 %next, {STEPS}",
        "  br i1 %more, label %loop, label %done",
        "done:",
        *(f"  %s{k} = fadd {v} %y{k}, {'%s' if k > 1 else '%y'}{k - 1}" for k in chains if k),
        f"  %at = mul i64 %part, {lanes}",
        "  %to = getelementptr float, ptr %result, i64 %at",
        f"  store {v} %s{CHAINS - 1}, ptr %to, align 4",
        "  ret i32 0",
        "}",
    ]
    return "\n".join(lines) + "\n"


def table() -> str:
    """The launches that were timed, with the share of the roof."""
    top = ceilings()
    threads = parallel.get_num_threads()
    title = f"roof: {top.bandwidth / 1e9:.1f} GB/s, {top.flops / 1e9:.1f} GF/s, {threads} thread{'s'[: threads > 1]}"
    return f"{statistics.launch_table(top.seconds)}\n{title}"


def main(arguments: list[str] | None = None) -> int:
    """Run a script with timed launches and print the table of its kernels; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m umiak.runtime.roofline", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("script", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what it gets as sys.argv[1:]")
    chosen = parser.parse_args(arguments)
    before = sys.argv
    sys.argv = [chosen.script, *chosen.arguments]
    try:
        with statistics.timed_launches():
            runpy.run_path(chosen.script, run_name="__main__")
    finally:
        sys.argv = before
        print(table(), file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
