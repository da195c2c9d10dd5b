"""A call on the ranks of a mesh, simulated: operands sharded by their layouts, local calls by NumPy, results joined.

A value is a :class:`ShardedArray`: the shard of each rank, and the layout. Ranks are computed one after the other, with
the kernels of ``ref``; a change of layout goes over the global tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from samples import ARRAYS, Case

from umiak import spmd
from umiak.backends.ref.evaluate import evaluate, meta_of
from umiak.ir.meta import Meta
from umiak.ir.program import Value
from umiak.ir.tracer import SymTensor, Tracer
from umiak.ops import Box
from umiak.spmd.placement import box, coordinates

Mesh = tuple[int, ...]

COMBINE: dict[str, Callable] = {
    "sum": np.add, "avg": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply,
    "any": np.logical_or, "all": np.logical_and,
}  # fmt: skip


@dataclass(frozen=True)
class ShardedArray:
    """The shards of a tensor on the ranks of a mesh, in the order of their coordinates."""

    parts: tuple[np.ndarray, ...]
    layout: spmd.Layout
    meta: Meta
    mesh: Mesh

    @classmethod
    def of(cls, global_array: np.ndarray, layout: spmd.Layout, mesh: Mesh) -> ShardedArray:
        """A tensor sharded; of partial values, the first rank along the axis holds all."""
        parts = []
        for at in coordinates(mesh):
            part = np.array(global_array[window(box(layout, global_array.shape, mesh, at))])
            for axis, kind in layout.partial:
                if at[axis]:
                    part = neutral(part, kind)
            parts.append(part)
        return cls(tuple(parts), layout, meta_of(global_array), mesh)

    def global_array(self) -> np.ndarray:
        """The tensor joined. Ranks that hold the same must hold the same bits."""
        shape = tuple(self.meta.shape)
        held = dict(zip(coordinates(self.mesh), self.parts, strict=True))
        for axis in reversed(range(len(self.mesh))):
            kind = self.layout.kind(axis)
            groups: dict[tuple, list] = {}
            for at, part in held.items():
                groups.setdefault(at[:axis], []).append(part)
            held = {}
            for at, parts in groups.items():
                held[at] = self._joined(parts, axis, kind)
        (out,) = held.values()
        assert out.shape == shape, f"the parts make up {out.shape}, expected {shape}"
        return out

    def _joined(self, parts: list[np.ndarray], axis: int, kind: str | None) -> np.ndarray:
        if kind is not None:
            with np.errstate(all="ignore"):
                out = np.asarray(functools.reduce(COMBINE[kind], parts), parts[0].dtype)
            return np.asarray(out / len(parts), out.dtype) if kind == "avg" else out
        d = self.layout.dim(axis)
        if d is not None:
            return np.concatenate(parts, d)
        for other in parts[1:]:
            assert other.tobytes() == parts[0].tobytes(), f"ranks along axis {axis} hold other values: {parts}"
        return parts[0]

    def to(self, layout: spmd.Layout) -> ShardedArray:
        return self if layout == self.layout else ShardedArray.of(self.global_array(), layout, self.mesh)


def arrays(case: Case) -> list[Any]:
    """The operands of a case, 0-d ones as arrays too."""
    return [np.asarray(x) if isinstance(x, ARRAYS) else x for x in case.sample.inputs]


def call_of(case: Case) -> spmd.Call:
    """The rule of a case, with sizes."""
    return spmd.call(case.op, [meta_of(x) for x in arrays(case)], case.params)


def window(b: Box) -> tuple[slice, ...]:
    return tuple(slice(start, start + n) for start, n in zip(b.starts, b.sizes, strict=True))


def neutral(x: np.ndarray, kind: str) -> np.ndarray:
    """What changes nothing when it is combined with other parts."""
    if kind in ("avg", "max", "min"):
        return x
    return np.full_like(x, {"sum": 0, "prod": 1, "any": False, "all": True}[kind])


def apply(
    op: Any, operands: Sequence[Any], params: tuple, mesh: Mesh, wanted: Sequence[spmd.Layout | None] | None = None
) -> tuple[list[ShardedArray], spmd.Propagation]:
    """A call on operands that are spread, numbers or None, by propagation from them or from ``wanted`` results."""
    metas = [x.meta if isinstance(x, ShardedArray) else meta_of(x) for x in operands]
    call = spmd.call(op, metas, params)
    if wanted is None:
        found = spmd.forward(call, [x.layout if isinstance(x, ShardedArray) else None for x in operands], mesh)
    else:
        found = spmd.backward(call, wanted, mesh)
    return run(call, found, operands, mesh), found


def run(call: spmd.Call, found: spmd.Propagation, operands: Sequence[Any], mesh: Mesh) -> list[ShardedArray]:
    """A call as propagation has found it: what it requires first, then every rank's part."""
    ready = [
        x.to(layout) if isinstance(x, ShardedArray) else x for x, layout in zip(operands, found.operands, strict=True)
    ]
    ranks = []
    for r, at in enumerate(coordinates(mesh)):
        part = spmd.local_shard(call, found, mesh, at)
        made = on_shard(call, part, [x.parts[r] if isinstance(x, ShardedArray) else x for x in ready])
        for i, (y, b, m) in enumerate(zip(made, part.results, call.results, strict=True)):
            assert y.shape == b.sizes, f"rank {at}: result {i} has shape {y.shape}, the part is {b}"
            assert y.dtype == m.dtype.numpy, f"rank {at}: result {i} has dtype {y.dtype}, expected {m.dtype.name}"
        ranks.append(made)
    return [
        ShardedArray(tuple(parts), layout, m, mesh)
        for parts, layout, m in zip(zip(*ranks, strict=True), found.results, call.results, strict=True)
    ]


def on_shard(call: spmd.Call, part: Any, operands: Sequence[Any]) -> list[np.ndarray]:
    """One rank's part, by the kernels of ``ref``."""
    if call.op.on_shard is None:
        return evaluate(call.op, operands, call.params)
    with Tracer() as tracer:
        inputs = [tracer.input(meta_of(x)) if isinstance(x, np.ndarray) else x for x in operands]
        made = spmd.run_local(call, part, inputs)
    values = {id(t.value): x for t, x in zip(inputs, operands, strict=True) if isinstance(t, SymTensor)}
    return replay(tracer, values, [t.value for t in made], evaluate)


def replay(tracer: Tracer, values: dict[int, Any], wanted: Sequence[Any], each: Callable) -> list:
    """What was recorded, with ``each(op, operands, params)`` for every call."""
    for o in tracer.operations:
        xs = [values[id(x)] if type(x) is Value else x for x in o.operands]
        values.update(zip(map(id, o.results), each(o.op, xs, o.params), strict=True))
    return [None if v is None else values[id(v)] for v in wanted]
