"""Which share of the registry's ops runs on the device without a line written for it.

``python -m umiak_opencl.reuse`` calls every op on its own samples (``Op.samples``) on ``opencl:0``, compares the
results with the host's, and prints how each op ran:

* *reused*: by kernels rendered from the loop IR alone, its own or those of its decomposition;
* *written*: with a kernel of this distribution among them;
* *host*: with an op among them that ran on the host;
* *failed*: the call failed, or gave something else than the host;
* *untested*: none of its samples shows anything, as the host refuses them.

What is written for the device (products, convolutions) is left out, so that nothing but the loop IR answers;
``--written`` runs the device as users have it. Ops that no backend is asked for (communication between ranks, copies
between places, calls of Python functions, branches and loops) are not counted, nor are those that plans make for
packed operands of others. Failed and untested ops are an error: the exit status is 1.
"""

from __future__ import annotations

import argparse
import logging
import sys
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

import umiak  # noqa: F401  puts the engine together
from umiak import ops
from umiak.core import array, context, eager
from umiak.core.dtype import convert
from umiak.core.place import Place
from umiak_opencl.backend import WRITTEN_KERNELS
from umiak_opencl.counts import HOST, WRITTEN

CPU, DEVICE = Place("cpu", 0), Place("opencl", 0)
KINDS = ("reused", "written", "host", "failed", "untested")
# Modules of ops that have one kernel for all places, that no kernel runs, or that only plans make.
EVERYWHERE = {
    f"umiak.ops.{name}"
    for name in (
        "collective", "context_parallel", "control", "custom", "effects", "gradient", "gradient_buckets", "packed",
        "places", "python_call",
    )
}  # fmt: skip
TOLERANCE = {1: 0.3, 2: 3e-2, 4: 2e-4, 8: 1e-8, 16: 1e-8}  # by bytes of a real number


def samples(name: str) -> list[Any]:
    """The samples of an op, drawn from its name."""
    return list(ops.REGISTRY[name].samples(np.random.default_rng(zlib.crc32(name.encode()))))


def call(cls: Any, sample: Any, place: Place) -> list[np.ndarray]:
    """The results of a sample's call on a place."""
    arrays = (np.ndarray, np.generic)
    params = tuple(sample.params.get(n, p.default) for n, p in cls.param_fields.items())
    with context.no_grad_guard(), context.place_guard(place):
        given = tuple(array.from_numpy(np.asarray(x), place) if isinstance(x, arrays) else x for x in sample.inputs)
        made = eager.apply(cls(**sample.attrs), given, params)
        return [array.host_values(y) for y in (made if isinstance(made, tuple) else (made,))]


def agrees(found: np.ndarray, expected: np.ndarray) -> bool:
    dtype = convert(found.dtype)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    if not dtype.is_continuous:
        return bool((found == expected).all())
    tolerance = TOLERANCE[dtype.itemsize // (2 if dtype.is_complex else 1)]
    wide = np.complex128 if dtype.is_complex else np.float64
    with np.errstate(all="ignore"):
        return np.allclose(found.astype(wide), expected.astype(wide), tolerance, tolerance, equal_nan=True)


def known(name: str, results: list[np.ndarray]) -> list[np.ndarray]:
    """What is known of an op's results: of eigenvectors and singular vectors all but phases, of values no order."""
    if name in ("eig", "eigvals") and results[0].size:
        order = np.lexsort((np.round(results[0].imag, 5), np.round(results[0].real, 5)), axis=-1)
        results = [np.take_along_axis(results[0], order, -1), *results[1:]]
        if name == "eig":
            results[1] = np.take_along_axis(results[1], order[..., None, :], -1)
    if name in ("eig", "eigh"):
        return [results[0], abs(results[1])]
    if name == "svd":
        u, values, vh = results
        count = values.shape[-1]
        return [abs(u[..., :count]), values, abs(vh[..., :count, :])]
    return results


def how(name: str, most: int) -> tuple[str, str]:
    """How an op runs (of ``KINDS``), and what else is to be said: a worse kind of any sample counts."""
    cls, worst, remark = ops.REGISTRY[name], "", ""
    for sample in samples(name)[:most]:
        try:
            expected = call(cls, sample, CPU)
        except Exception:
            continue  # refused on the host as well: a sample of something else
        HOST.clear()
        WRITTEN.clear()
        try:
            found = call(cls, sample, DEVICE)
            pairs = known(name, found), known(name, expected)
            right = len(found) == len(expected) and all(map(agrees, *pairs))
            kind, said = ("", "") if right else ("failed", "other results than the host's")
        except Exception as error:
            kind, said = "failed", f"{type(error).__name__}: {error}".partition("\n")[0]
        if not kind:
            kind = "host" if HOST.read() else "written" if WRITTEN.read() else "reused"
            said = ", ".join(HOST.read() or WRITTEN.read())
        if not worst or KINDS.index(kind) > KINDS.index(worst):
            worst, remark = kind, said
    return worst or "untested", remark


def asked(name: str) -> bool:
    """Return whether backends are asked for an op of the engine, rather than every place having its kernel."""
    cls = ops.REGISTRY[name]
    own = cls.__module__.startswith("umiak.ops.") and "::" not in name  # others are the compiler's, or users'
    return own and cls.__module__ not in EVERYWHERE and not str(cls.effect or "").startswith("group")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m umiak_opencl.reuse", description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=2, help="samples of each op (2)")
    parser.add_argument("--written", action="store_true", help="with the kernels that are written for the device")
    parser.add_argument("ops", nargs="*", help="names of ops; without any: all")
    options = parser.parse_args(arguments)
    logging.getLogger("umiak_opencl").setLevel(logging.ERROR)  # what runs on the host is printed here
    former = WRITTEN_KERNELS.value
    WRITTEN_KERNELS.set(options.written)
    try:
        return report(options.ops or sorted(filter(asked, ops.REGISTRY)), options.samples)
    finally:
        WRITTEN_KERNELS.set(former)


def report(names: Sequence[str], most: int) -> int:
    """Print how each op runs, and the counts; the exit status."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name in names:
        kind, remark = how(name, most)
        found[kind].append(name)
        print(f"{kind:9}{name}{f'  ({remark})' if remark and remark != name else ''}", flush=True)
    total = sum(map(len, found.values()))
    for kind, names in found.items():
        print(f"{len(names):4} of {total} ops {kind}: {len(names) / max(total, 1):.1%}")
    return 1 if found["failed"] or found["untested"] else 0


if __name__ == "__main__":
    sys.exit(main())
