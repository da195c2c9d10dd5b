"""A program, its weights and sizes as one shared library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from umiak.backends.cpu.aot.errors import uncompilable
from umiak.backends.cpu.aot.kernels import Kernels
from umiak.backends.cpu.aot.link import link
from umiak.backends.cpu.aot.lowering import Shapes, lowered
from umiak.backends.cpu.aot.memory import WEIGHTS, joined_weights
from umiak.backends.cpu.aot.steps import plan
from umiak.backends.cpu.aot.tables import Ports, tables
from umiak.backends.cpu.aot.targets import processor
from umiak.backends.cpu.aot.weights_file import file_of
from umiak.core.tensor import Tensor
from umiak.ir.program import Program

MOST_INSIDE = 1 << 30  # bytes of weights: code and data of a library lie within 2 GB of each other


def build(
    program: Program, ports: Ports, values: Mapping[str, Tensor], sizes: Sequence[Shapes], *, name: str, target: str,
    library: Path, weights_file: Path | None, cc: str | None, include: Path, version: str,
) -> None:  # fmt: skip
    """Compile a program for the given sets of sizes of its arguments.

    ``values``: tensors that stand for its constants, by name. ``weights_file``: where the weights go; without it they
    are inside of the library.
    """
    kernels = Kernels(processor(target))
    plans = []
    for shapes in sizes:
        operations, known, results = lowered(program, shapes, values)
        plans.append(plan(operations, known, results, kernels))
    steps = [s for p in plans for s in p.steps] + [s for _, s in kernels.prepare.values()]
    blocks = [m for s in steps for m in s.memories] + [o.memory for p in plans for o in p.outputs]
    weights = joined_weights(dict.fromkeys(m for m in blocks if m.base == WEIGHTS))
    embedded = weights_file is None
    if embedded and len(weights) > MOST_INSIDE:
        raise uncompilable(
            "a folder to write to, where weights have more than 1 GB", f"{len(weights)} bytes and a library"
        )
    source = tables(name, ports, plans, kernels, weights, embedded)
    objects = kernels.finish()
    link(
        library,
        objects,
        source,
        weights if embedded else None,
        {s.run for s in steps},
        kernels.processor,
        cc,
        include,
        version,
    )
    if weights_file is not None:
        weights_file.write_bytes(file_of(weights))
