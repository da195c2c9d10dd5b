"""Accuracy of compiled functions: the largest distance from the exact value, as a Markdown table.

    python accuracy.py [--function NAME]... [--step 257] [--samples 2000] [--interpret] [--write]

f32: one argument out of every ``step`` floats, all exponents and both signs, against NumPy and SciPy in f64. f64:
random arguments against mpmath. The unit is the last place of the exact result (denormal results: the smallest
number). Functions run as machine code of this processor; with ``--interpret`` their expansion is evaluated by NumPy.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from umiak.compiler import jit
from umiak.compiler.loop.evaluate import evaluate, ulps
from umiak.compiler.loop.functions import expand
from umiak.compiler.loop.node import OPS, axis, call, dim, load, var, walk
from umiak.compiler.loop.tree import IN, LANE, OUT, Axis, Buffer, Kernel, Loop, Store
from umiak.compiler.loop.types import F32, F64, ScalarType
from umiak.compiler.render import llvm

Evaluate = Callable[[str, ScalarType, list[np.ndarray]], np.ndarray]  # function, type, arguments

FUNCTIONS = [name for name, (_, meaning) in OPS.items() if meaning in (f"{name}(a)", f"{name}(a, b)")]
CHUNK = 1 << 16


@dataclass(frozen=True)
class Range:
    """Arguments from ``lo`` to ``hi``. ``near_zeros``: the unit is at least that of 1."""

    label: str
    lo: float = -math.inf
    hi: float = math.inf
    near_zeros: bool = False


EVERYWHERE = [Range("all")]
RANGES = {
    "sin": [Range("-2^15 < x < 2^15", -(2.0**15), 2.0**15), Range("all")],
    "cos": [Range("-2^15 < x < 2^15", -(2.0**15), 2.0**15), Range("all")],
    "lgamma": [Range("x > 0", 0), Range("-100 < x < 0, unit ≥ that of 1", -100, 0, near_zeros=True)],
    "digamma": [Range("x > 0", 0), Range("-100 < x < 0, unit ≥ that of 1", -100, 0, near_zeros=True)],
}  # fmt: skip

# Where f64 samples lie besides exponents of all sizes.
CENTRES = {
    "erfc": (-6, 27), "erfinv": (-1, 1), "lgamma": (0, 20), "digamma": (0, 20), "acosh": (1, 3), "exp": (-745, 710),
    "exp2": (-1075, 1024), "expm1": (-40, 710), "sinh": (-711, 711), "cosh": (-711, 711), "logistic": (-745, 40),
    "i0": (-30, 30), "i1": (-30, 30), "i0e": (-30, 30), "i1e": (-30, 30), "asin": (-1, 1), "acos": (-1, 1),
    "atanh": (-1, 1), "erf": (-6, 6),
}  # fmt: skip

EXACT: dict[str, Callable] = {
    "exp2": lambda x: mpmath.mpf(2) ** x, "log2": lambda x: mpmath.log(x, 2),
    "lgamma": lambda x: mpmath.re(mpmath.loggamma(x)), "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x), "pow": lambda x, y: x**y,
    "i0": lambda x: mpmath.besseli(0, x), "i1": lambda x: mpmath.besseli(1, x),
    "i0e": lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)),
    "i1e": lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)),
}  # fmt: skip


@dataclass
class Row:
    name: str
    type: ScalarType
    range: str
    count: int
    worst: float
    where: tuple[float, ...]
    operations: int


def operations(name: str, t: ScalarType) -> int:
    """Nodes of the expansion, without constants and arguments."""
    args = [var(f"x{k}", t) for k in range(OPS[name][0])]
    return sum(x.op != "const" and x not in args for x in walk(expand([call(name, *args)])))


def interpreted(name: str, t: ScalarType, inputs: list[np.ndarray]) -> np.ndarray:
    args = [var(f"x{k}", t) for k in range(len(inputs))]
    return evaluate(expand([call(name, *args)]), dict(zip(args, inputs)))[0]


@functools.cache
def machine_code(name: str, t: ScalarType) -> Any:
    """``f(pointers, dims, words, context, lo, hi)`` that computes the function of arrays."""
    i, count = axis("i"), OPS[name][0]
    buffers = [*(Buffer(f"x{k}", t, IN) for k in range(count)), Buffer("y", t, OUT)]
    value = call(name, *(load(f"x{k}", t, i) for k in range(count)))
    loop = Loop(Axis(i, dim(0), kind=LANE), (Store("y", i, value),), parallel=True)
    kernel = Kernel(f"{name}_{t}", tuple(buffers), 1, (loop,))
    library = jit.load(llvm.render_module([kernel], llvm.Target.host()), [kernel.name])
    function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 2)
    made = function(library.address(kernel.name))
    made.library = library  # lives as long
    return made


def compiled(name: str, t: ScalarType, inputs: list[np.ndarray]) -> np.ndarray:
    inputs = [np.ascontiguousarray(x) for x in inputs]
    out, n = np.empty_like(inputs[0]), inputs[0].size
    pointers = (ctypes.c_void_p * (len(inputs) + 1))(*(x.ctypes.data for x in (*inputs, out)))
    code = machine_code(name, t)(pointers, (ctypes.c_int64 * 1)(n), None, (ctypes.c_void_p * 2)(), 0, n)
    if code:
        raise RuntimeError(f"[accuracy] requires a kernel of {name} that succeeds, got code {code}")
    return out


def distance(name: str, t: ScalarType, inputs: list[np.ndarray], how: Evaluate, r: Range, high: Any, low: Any) -> Any:
    got = how(name, t, inputs)
    if r.near_zeros:
        with np.errstate(all="ignore"):
            far = np.abs(got - high - low) / np.maximum(np.abs(high), 1) / np.finfo(got.dtype).eps
            return np.where(got == high.astype(got.dtype), 0, far)  # both may be infinite
    return ulps(got, high, low)


def singles(name: str, r: Range, step: int, rng: np.random.Generator) -> Iterator[list[np.ndarray]]:
    """f32 arguments in pieces."""
    if OPS[name][0] == 2:
        for _ in range(2**32 // step // CHUNK // 8 + 1):
            yield pairs(name, np.dtype(np.float32), CHUNK, rng)
        return
    for start in range(0, 2**32, step * CHUNK):
        x = np.arange(start, min(start + step * CHUNK, 2**32), step, np.uint64).astype(np.uint32).view(np.float32)
        x = x[(x > r.lo) & (x < r.hi)]  # NaN, infinity and ends belong to the tests
        if x.size:
            yield [x]


def pairs(name: str, dtype: np.dtype, n: int, rng: np.random.Generator) -> list[np.ndarray]:
    info = np.finfo(dtype)
    if name == "pow":
        x = np.exp(rng.uniform(math.log(info.tiny), math.log(info.max), n) * rng.choice([1e-6, 1e-3, 0.1, 1], n))
        y = rng.uniform(-1.05, 1.05, n) * math.log(info.max) / np.abs(np.log(x))
        y = np.where(rng.random(n) < 0.5, y, rng.uniform(-10, 10, n))
    else:
        x, y = (rng.standard_normal(n) * np.exp(rng.uniform(-10, 10, n)) for _ in range(2))
    return [x.astype(dtype), y.astype(dtype)]


def doubles(name: str, r: Range, n: int, rng: np.random.Generator) -> list[np.ndarray]:
    if OPS[name][0] == 2:
        return pairs(name, np.dtype(np.float64), n, rng)
    lo, hi = CENTRES.get(name, (-4, 4))
    wide = np.exp(rng.uniform(-700, 700, n // 4)) * rng.choice([-1, 1], n // 4)
    x = np.concatenate([rng.uniform(max(lo, r.lo), min(hi, r.hi), n // 2), rng.uniform(-1, 1, n // 4) * 2, wide])
    return [x[(x > r.lo) & (x < r.hi)]]


def exact(name: str, inputs: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    f = EXACT.get(name) or getattr(mpmath, name)
    high, low = [], []
    with mpmath.workprec(160):
        for point in zip(*(x.tolist() for x in inputs)):
            value = reals(f, point)
            high.append(float(value))
            low.append(float(value - mpmath.mpf(high[-1])) if math.isfinite(high[-1]) else 0.0)
    return np.array(high), np.array(low)


def reals(f: Callable, point: tuple[float, ...]) -> Any:
    """The value, NaN where it is complex, a pole, or beyond what mpmath computes."""
    try:
        value = f(*map(mpmath.mpf, point))
    except (ValueError, OverflowError, ZeroDivisionError, mpmath.libmp.NoConvergence):
        return mpmath.nan
    return mpmath.nan if isinstance(value, mpmath.mpc) else value


def rows(names: list[str], how: Evaluate, step: int, samples: int) -> Iterator[Row]:
    for name in names:
        if name == "nextafter":
            continue  # exact: compared bit for bit in the tests
        args = [var(f"x{k}", F64) for k in range(OPS[name][0])]
        for t in (F32, F64):
            for r in RANGES.get(name, EVERYWHERE):
                rng = np.random.default_rng(1)
                row = Row(name, t, r.label, 0, 0.0, (), operations(name, t))
                pieces = singles(name, r, step, rng) if t is F32 else [doubles(name, r, samples, rng)]
                for inputs in pieces:
                    if t is F32:
                        (high,), low = evaluate([call(name, *args)], dict(zip(args, inputs))), 0.0
                    else:
                        high, low = exact(name, inputs)
                    known = ~np.isnan(high)
                    inputs = [x[known] for x in inputs]
                    if not known.any():
                        continue
                    d = distance(name, t, inputs, how, r, high[known], low if t is F32 else low[known])
                    row.count += d.size
                    k = int(d.argmax())
                    if d[k] > row.worst:
                        row.worst, row.where = float(d[k]), tuple(float(x[k]) for x in inputs)
                yield row


README = Path(__file__).with_name("README.md")


def write(table: str) -> None:
    """Put the table into README.md."""
    text, count = re.subn(
        r"(<!-- table accuracy -->\n).*?(<!-- end of table -->)",
        lambda found: f"{found[1]}{table}\n\n{found[2]}",
        README.read_text(),
        flags=re.DOTALL,
    )
    if count != 1:
        raise ValueError(f"{README.name} requires the markers of table 'accuracy', got {count}")
    README.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--function", action="append", choices=FUNCTIONS)
    parser.add_argument("--step", type=int, default=257)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--interpret", action="store_true", help="evaluate expansions by NumPy")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    options = parser.parse_args()
    if options.write and options.function:
        parser.error("--write requires all functions, got --function")
    lines = [
        "| function | type | arguments | how many | largest distance, ulp | at | operations |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    how = interpreted if options.interpret else compiled
    for r in rows(options.function or FUNCTIONS, how, options.step, options.samples):
        where = ", ".join(f"{x:.9g}" for x in r.where)
        lines.append(f"| `{r.name}` | {r.type} | {r.range} | {r.count:,} | {r.worst:.2f} | {where} | {r.operations} |")
        print(lines[-1], flush=True)
    if options.write:
        write("\n".join(lines))


if __name__ == "__main__":
    main()
