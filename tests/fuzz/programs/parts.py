"""Sharded = whole for random programs: what a program and its gradients compute, op by op on the ranks of a mesh.

The program is traced with its gradients. Inputs lie on the mesh in random layouts; each op requires and gives what
propagation says, forward from its operands or backward from layouts that are wanted of its results. Ranks are simulated
(``tests/support/sharded.py``), and what they hold in the end, joined, is what the ops give on whole arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sharded
from sharded import ShardedArray

import paddle
from tests.fuzz.programs import run
from tests.fuzz.programs.check import Check, Failure
from tests.fuzz.programs.record import Program
from umiak import spmd
from umiak.backends.ref.evaluate import evaluate
from umiak.runtime.capture import Capture

MESHES = ((2,), (3,), (2, 2), (3, 2))
TOLERANCE = 1e-7  # of programs in float64, in which rounding is magnified up to 300 times by each of a few statements


class Traced:
    """A program with its gradients as operations on values."""

    def __init__(self, program: Program, n: int, gradients: bool) -> None:
        program = replace(program, how="call")  # operations with regions are no business of ranks
        given = run.arguments(program, n)
        self.capture = Capture()
        try:
            with self.capture:
                symbols = [self.capture.example(t, ()) for t in given]
                self.inputs = [s.value for s in symbols]
                outputs = list(run.function_of(program)(*symbols))
                self.wanted = [(f"output {i}", y.value) for i, y in enumerate(outputs)]
                loss = run.loss_of([*outputs, *run.plain(program, symbols)]) if gradients else None
                leaves = [s for s, x in zip(symbols, program.inputs, strict=True) if x.grad]
                if loss is not None and leaves:
                    found = paddle.grad([loss], leaves, allow_unused=True)
                    self.wanted += [(f"gradient of input {i}", g.value) for i, g in enumerate(found) if g is not None]
                self.wanted += [
                    (f"input {i} after the run", s.value)
                    for i, s in enumerate(symbols)
                    if s.value is not self.inputs[i]
                ]
        finally:
            self.capture.restore()
        # Tensors that the function makes of Python's numbers.
        made = self.capture.builder.program
        self.constants = [(made.constants[name], t) for name, t in made.captured.items()]
        self.arrays = [t.numpy() for t in given]

    def values(self) -> dict[int, np.ndarray]:
        held = {id(v): x for v, x in zip(self.inputs, self.arrays, strict=True)}
        return held | {id(v): t.numpy() for v, t in self.constants}

    def replay(self, values: dict[int, Any], each: Any) -> list[Any]:
        return sharded.replay(self.capture, values, [v for _, v in self.wanted], each)


def layout_of(rng: np.random.Generator, ndim: int, mesh: Sequence[int], partial: bool) -> spmd.Layout:
    """Any layout: along each axis of the mesh a dim is cut, or nothing, or values are partial."""
    placements: list[spmd.Placement] = []
    for _ in mesh:
        kind = rng.random()
        if partial and kind < 0.12:
            placements.append(spmd.Partial("sum"))
        elif ndim and kind < 0.8:
            placements.append(spmd.Shard(int(rng.integers(ndim))))
        else:
            placements.append(spmd.Replicate())
    return spmd.Layout.of(placements, ndim)


class ShardedCheck(Check):
    modes = {"sharded": 0.5, "sharded gradients": 0.8}

    def all(self, modes: list[str]) -> None:
        self.tally["programs"] += 1
        if self.program.invalid:
            return
        for mode in modes:
            getattr(self, mode.replace(" ", "_"))()

    def drawn_modes(self) -> list[str]:
        return super().drawn_modes() or ["sharded"]

    def sharded(self, mode: str = "sharded", gradients: bool = False) -> None:
        for k, n in enumerate(self.program.sizes):
            if k and self.program.seed % 2:
                continue
            try:
                self.on_ranks(mode, n, gradients)
            except Failure:
                raise
            except Exception as error:
                self.refused(mode, error)

    def sharded_gradients(self) -> None:
        self.sharded("sharded gradients", True)

    def on_ranks(self, mode: str, n: int, gradients: bool) -> None:
        traced = Traced(self.program, n, gradients)
        expected = traced.replay(traced.values(), evaluate)
        rng = np.random.default_rng([self.program.seed, n, 13])
        mesh = MESHES[int(rng.integers(len(MESHES)))]
        values = {
            key: ShardedArray.of(x, layout_of(rng, x.ndim, mesh, x.dtype.kind == "f"), mesh)
            for key, x in traced.values().items()
        }

        def each(op: Any, operands: list[Any], params: tuple) -> list[ShardedArray]:
            metas = [x.meta if isinstance(x, ShardedArray) else sharded.meta_of(x) for x in operands]
            wanted = None
            if rng.random() < 0.3:
                call = spmd.call(op, metas, params)
                wanted = [layout_of(rng, len(m.shape), mesh, m.dtype.is_floating) for m in call.results]
            self.tally["ops in parts"] += 1
            return sharded.apply(op, operands, params, mesh, wanted)[0]

        for (what, _), y, whole in zip(traced.wanted, traced.replay(values, each), expected, strict=True):
            same(mode, f"{what}, of size {n} on {mesh},", y.global_array(), whole)
        self.tally[mode] += 1


def same(mode: str, what: str, a: np.ndarray, b: np.ndarray) -> None:
    if a.shape != b.shape or a.dtype != b.dtype:
        raise Failure(mode, f"{what} has shape {a.shape} and dtype {a.dtype}, not {b.shape} and {b.dtype}")
    if b.dtype.kind not in "fc":
        if not np.array_equal(a, b):
            raise Failure(mode, f"{what} is\n{a}\nand not\n{b}")
        return
    if not b.size:
        return
    scale = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0.0)))
    if not np.allclose(a, b, rtol=0, atol=TOLERANCE * scale, equal_nan=True):
        raise Failure(mode, f"{what} is\n{a}\nand not\n{b}")
