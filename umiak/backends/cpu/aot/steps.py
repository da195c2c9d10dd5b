"""The steps of a program and the memory that they use: one or a few for each operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from umiak.backends.cpu.aot import images
from umiak.backends.cpu.aot.epilogue import NOTHING, Epilogue, epilogue_of
from umiak.backends.cpu.aot.errors import uncompilable
from umiak.backends.cpu.aot.kernels import Kernels, PhaseCode
from umiak.backends.cpu.aot.matmul import matrix_product
from umiak.backends.cpu.aot.memory import (
    ARENA,
    FIRST_INPUT,
    Memory,
    Place,
    Ref,
    arrange,
    itemsize,
    place_of,
    scratch,
    weight,
)
from umiak.backends.cpu.aot.step import Step, numbers
from umiak.backends.cpu.nests import NS_PER_BYTE, NS_PER_OPERATION, make_launcher, work_per_point
from umiak.compiler import codes
from umiak.compiler.epilogue import FusedEpilogue
from umiak.compiler.fused import Fused
from umiak.compiler.layout import ChannelsLast, Relayout
from umiak.compiler.lower.builder import NotANest
from umiak.compiler.lower.group import nest_of
from umiak.compiler.nest import Chain, Nest, Variant
from umiak.compiler.plan import plain_modes
from umiak.core import array, eager
from umiak.ir.meta import Meta
from umiak.ir.program import Operation, Program, Value
from umiak.ir.registry import REGISTRY
from umiak.ir.tracer import Tracer
from umiak.ops import convolution, effects, linalg, movement, sorting

MOST_POINTERS = 64  # of a kernel: UM_MAX_POINTERS
MOST_JOINED = 16  # tensors that one kernel joins
NS_PER_COMPARISON = 3.0

# As umiak_inference.h numbers them.
DTYPES = ("float32", "int64", "int32", "uint8", "int8", "float16", "bfloat16", "bool", "float64", "int16")

Space = tuple[int, int, tuple[int, ...], int, int]  # of NestLauncher.decide


@dataclass
class Plan:
    """A program for one set of sizes. ``arena``: bytes."""

    inputs: list[Place]
    outputs: list[Place]
    steps: list[Step]
    arena: int


def plan(operations: Sequence[Operation], program: Program, results: Sequence[Value], kernels: Kernels) -> Plan:
    """The steps of operations, and places for what they make."""
    planner = _Planner(kernels)
    inputs = planner.take_inputs(program)
    for o in operations:
        planner.operation(o)
    outputs = [planner.dense(planner.places[v]) for v in results]
    for i, step in enumerate(planner.steps):
        for m in step.memories:
            m.use(i)
    for p in outputs:
        p.memory.use(len(planner.steps))
    blocks = dict.fromkeys([m for s in planner.steps for m in s.memories] + [p.memory for p in outputs])
    return Plan(inputs, outputs, planner.steps, arrange(m for m in blocks if m.base == ARENA))


def dtype_number(dtype: Any) -> int:
    if dtype.name not in DTYPES:
        raise uncompilable(f"tensors of {', '.join(DTYPES)}", dtype.name)
    return DTYPES.index(dtype.name)


class _Planner:
    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self.steps: list[Step] = []
        self.places: dict[Value, Place] = {}

    # --- values

    def take_inputs(self, program: Program) -> list[Place]:
        self.take_constants(program)
        inputs: list[Place] = []
        for v in program.arguments():
            shape = _ints(v.meta.shape)
            memory = Memory(FIRST_INPUT + len(inputs), prod(shape) * itemsize(v.meta.dtype))  # type: ignore[arg-type]
            inputs.append(place_of(memory, v.meta.dtype, shape))  # type: ignore[arg-type]
            self.places[v] = inputs[-1]
        return inputs

    def take_constants(self, program: Program) -> None:
        for name, v in program.constants.items():
            x = array.to_numpy(program.captured[name])
            self.places[v] = place_of(weight(x), v.meta.dtype, x.shape)  # type: ignore[arg-type]

    def made(self, v: Value) -> Place:
        """A new place for a result."""
        assert v.meta.dtype is not None
        self.places[v] = scratch(v.meta.dtype, _ints(v.meta.shape))
        return self.places[v]

    def dense(self, place: Place) -> Place:
        """The place, or a dense copy."""
        if place.contiguous:
            return place
        source = Value(Meta(place.shape, place.dtype), None, 0)  # type: ignore[arg-type]
        self.places[source] = place
        copy = Operation(REGISTRY["copy"](), [source], (), [source.meta])
        self.nest("copy", [copy], [source], copy.results)
        return self.places[copy.results[0]]

    # --- operations

    def operation(self, o: Operation) -> None:
        """The steps of one operation."""
        op = o.op
        if op.view:
            self.view(o)
        elif type(op) is ChannelsLast or isinstance(_inner(op), convolution.Convolution):
            self.convolution(o)
        elif _product(op) is not None and o.results[0].meta.dtype.name == "float32":  # type: ignore[union-attr]
            x, y = (self.places[v] for v in o.operands[:2])  # type: ignore[index]
            after = self.epilogue(op, o.operands[2:])
            flags = _product(op).flags(x, y)
            self.add(matrix_product(o.name, x, y, self.made(o.results[0]), flags, after))
        elif type(op) in (sorting.Sort, sorting.TopK):
            self.sort(o)
        elif type(op) in (movement.Concat, movement.Stack) and len(o.operands) > MOST_JOINED:
            self.joined(o)
        elif type(op) is effects.Require:
            self.flag(o)
        elif type(op) is Relayout:
            inner = Operation(movement.Permute(perm=op.perm), o.operands, (), [o.results[0].meta])
            self.kernel(o, [inner], list(o.values), inner.results)
        elif type(op) is Fused:
            self.group(o)
        else:
            self.kernel(o, [o], list(dict.fromkeys(o.values)), o.results)

    def epilogue(self, op: Any, extras: Sequence[Any]) -> Epilogue:
        """The epilogue that the step does, too."""
        if type(op) is not FusedEpilogue:
            return NOTHING
        return epilogue_of(op.steps, [self.dense(self.places[v]) for v in extras])

    def add(self, product: Any) -> None:
        step = product.step(self.kernels)
        if step is not None:
            self.steps.append(step)

    def view(self, o: Operation) -> None:
        source, result = self.places[o.operands[0]], o.results[0]  # type: ignore[index]
        strided = o.op.strides(source.strided, *o.params)
        if strided is None:  # a reshape of memory with gaps
            source = self.dense(source)
            strided = o.op.strides(source.strided, *o.params)
        assert strided is not None
        assert result.meta.dtype is not None
        if itemsize(result.meta.dtype) != itemsize(source.dtype):
            raise uncompilable("views with elements of one size", f"the operation {o.name}")
        shape, strides = _ints(strided.shape), _ints(strided.strides)
        self.places[result] = Place(source.memory, result.meta.dtype, shape, strides, int(strided.offset))

    def group(self, o: Operation) -> None:
        g = o.op.group
        count = len(g.arguments)
        operands: list[Any] = list(o.operands[:count])
        env = g.bind([v.meta.shape for v in operands], o.params[0])
        env.update(zip(g.scalars, o.operands[count:], strict=True))
        operations, arguments, results = g.instantiate(env)
        self.places.update((a, self.places[v]) for a, v in zip(arguments, operands, strict=True))
        self.nest("+".join(x.name for x in operations), operations, arguments, results)
        self.places.update((v, self.places[r]) for v, r in zip(o.results, results, strict=True))

    def kernel(
        self, o: Operation, operations: Sequence[Operation], inputs: Sequence[Value], results: Sequence[Value]
    ) -> None:
        """One operation as a kernel, else as what it means."""
        try:
            self.nest(o.name, operations, inputs, results)
        except NotANest as refused:
            if o.op.decompose is None:
                of = ", ".join(str(v.meta) for v in o.values)
                raise uncompilable("operations that can be compiled", f"{o.name} of {of}: {refused}") from None
            self.decomposed(o)
            return
        self.places.update((v, self.places[r]) for v, r in zip(o.results, results, strict=True))

    def decomposed(self, o: Operation) -> None:
        with plain_modes(), Tracer() as tracer:
            stands = {v: tracer.input(v.meta) for v in o.values}
            operands = [stands[x] if type(x) is Value else x for x in o.operands]
            made = o.op.decompose(*operands, *o.params)
            inner = tracer.finish(made if isinstance(made, tuple) else (made,))
        self.take_constants(inner)
        self.places.update((v, self.places[x]) for v, x in zip(inner.arguments(), stands, strict=True))
        for each in inner.ops:
            self.operation(each)
        self.places.update((v, self.places[r]) for v, r in zip(o.results, inner.outputs, strict=True))  # type: ignore[index]

    def joined(self, o: Operation) -> None:
        """Many tensors that become one: in groups, then the groups."""
        xs, axis = list(o.values), o.op.axis
        if type(o.op) is movement.Stack:
            xs = [self.unsqueezed(x, axis) for x in xs]
        while len(xs) > 1:
            groups = [xs[i : i + MOST_JOINED] for i in range(0, len(xs), MOST_JOINED)]
            xs = [self.concat(g, axis) if len(g) > 1 else g[0] for g in groups]
        self.places[o.results[0]] = self.places[xs[0]]

    def unsqueezed(self, x: Value, axis: int) -> Value:
        shape = (*x.meta.shape[:axis], 1, *x.meta.shape[axis:])
        o = Operation(movement.Unsqueeze(axes=(axis,)), [x], (), [Meta(shape, x.meta.dtype)])
        self.operation(o)
        return o.results[0]

    def concat(self, xs: Sequence[Value], axis: int) -> Value:
        shape = list(xs[0].meta.shape)
        shape[axis] = sum(x.meta.shape[axis] for x in xs)
        o = Operation(movement.Concat(axis=axis), list(xs), (), [Meta(tuple(shape), xs[0].meta.dtype)])
        self.operation(o)
        return o.results[0]

    # --- kernels of nests

    def nest(
        self, name: str, operations: Sequence[Operation], inputs: Sequence[Value], results: Sequence[Value]
    ) -> None:
        """Kernels that compute ``results``."""
        try:
            lowered = self.lowered(name, operations, inputs, results)
        except NotANest:
            if all(self.places[v].contiguous for v in inputs):
                raise
            # What is a nest over dense tensors may be none over views of others.
            self.places.update((v, self.dense(self.places[v])) for v in inputs)
            lowered = self.lowered(name, operations, inputs, results)
        chain = lowered.nests if isinstance(lowered, Chain) else (lowered,)
        temporaries = lowered.temporaries if isinstance(lowered, Chain) else ()
        refs: list[Ref] = [self.places[v].ref for v in inputs]
        refs += [self.made(v).ref for v in results]
        refs += [(Memory(ARENA, int(t.size) * t.type.bytes), 0) for t in temporaries]
        if len(refs) > MOST_POINTERS:
            raise NotANest(f"{len(refs)} tensors")
        for each in chain:
            self.launch(name, each, tuple(refs))

    def lowered(
        self, name: str, operations: Sequence[Operation], inputs: Sequence[Value], results: Sequence[Value]
    ) -> Any:
        return nest_of(name, operations, [(v, self.places[v].strides) for v in inputs], results, {})

    def launch(self, name: str, nest: Nest, refs: tuple[Ref, ...]) -> None:
        operations, moved = work_per_point(nest)
        given = [int(x) for x in (*nest.sizes, *(s for a in nest.accesses for s in a.strides), *nest.extras)]
        decision = make_launcher(nest, stream_bytes=0).decide(given)
        if decision is None:
            return
        fields, dims, space = decision
        work = prod(space[2]) * (NS_PER_OPERATION * operations + NS_PER_BYTE * moved)
        for phase in self.kernels.phases(nest, Variant(*fields)):
            text = {
                "kernel": phase.name,
                "local": f"{phase.name}_local" if phase.local else "NULL",
                "shared": f"{phase.name}_global" if phase.shared else "NULL",
            }
            count = _count_of(phase, space)
            self.steps.append(
                Step("um_run_nest", "um_nest", name, text, {}, count, work, pointers=refs, arrays={"dims": dims})
            )

    # --- images

    def convolution(self, o: Operation) -> None:
        op, marked, last = o.op, (False, False), False
        if type(op) is ChannelsLast:
            op, marked, last = op.inner, op.images, op.image
        inner = _inner(op)
        forward = type(inner) is convolution.Conv
        known = forward or type(inner) is convolution.ConvInputGrad
        if not known or not last or tuple(marked[:2]) != (True, False):
            raise uncompilable("convolutions of float32", f"{o.name} of {o.results[0].meta.dtype}")
        x, y = self.dense(self.places[o.operands[0]]), self.made(o.results[0])  # type: ignore[index]
        w = self.taps_apart(o.operands[1], forward)
        if forward:
            after = self.epilogue(op, o.operands[2:])
            self.steps += images.convolution(inner.name, x, w, y, o.params, self.kernels, after)
        else:
            self.steps += images.transposed(inner.name, x, w, y, o.params, self.kernels)

    def taps_apart(self, v: Any, forward: bool) -> Place:
        """Weights ``[o, c, *kernel]`` as convolutions take them: ``[*kernel, c, o]``, those of transposed ones
        ``[o, *kernel, c]``."""
        place, known = self.places[v], self.known(v)
        rank = len(place.shape)
        perm = (*range(2, rank), 1, 0) if forward else (0, *range(2, rank), 1)
        if known is not None:
            data = known.transpose(perm)
            return place_of(weight(data), place.dtype, data.shape)
        strides = tuple(place.strides[a] for a in perm)
        permuted = Place(place.memory, place.dtype, tuple(place.shape[a] for a in perm), strides, place.offset)
        return self.dense(permuted)

    def known(self, v: Value) -> np.ndarray | None:
        """A value that depends on no input."""
        if (data := self.places[v].data) is not None or v.operation is None:
            return data
        o = v.operation
        operands = [self.known(x) if type(x) is Value else x for x in o.operands]
        if any(x is None for x in operands):
            return None
        made = eager.apply(
            o.op, tuple(array.from_numpy(x) if isinstance(x, np.ndarray) else x for x in operands), o.params
        )
        return array.to_numpy(made[o.results.index(v)] if isinstance(made, tuple) else made)

    # --- conditions

    def flag(self, o: Operation) -> None:
        place = self.dense(self.places[o.operands[0]])  # type: ignore[index]
        said = " ".join(map(str, o.op.args)) or o.name
        self.steps.append(Step("um_run_flag", "um_flag", said, {}, {"flag": place.ref}, 1, 1.0))
        self.places[o.results[0]] = Place(place.memory, place.dtype, (), (), place.offset)

    # --- order

    def sort(self, o: Operation) -> None:
        op, x = o.op, self.dense(self.places[o.operands[0]])  # type: ignore[index]
        values, places = (self.made(v) for v in o.results)
        axis = op.axis % len(x.shape)
        n, outer, inner, kept = x.shape[axis], prod(x.shape[:axis]), prod(x.shape[axis + 1 :]), values.shape[axis]
        if not outer * inner * kept:
            return
        descending = op.descending if type(op) is sorting.Sort else op.largest
        text = numbers(
            {
                "type": dtype_number(x.dtype), "descending": int(descending), "outer": outer, "n": n, "inner": inner,
                "kept": kept, "outer_stride": n * inner, "stride": inner, "inner_stride": 1,
            }
        )  # fmt: skip
        refs = {"x": x.ref, "values": values.ref, "places": places.ref}
        work = outer * inner * n * n.bit_length() * NS_PER_COMPARISON
        self.steps.append(Step("um_run_sort", "um_sort", o.name, text, refs, outer * inner, work, local=32 * n))


def _count_of(phase: PhaseCode, space: Space) -> int:
    """The length of a phase's parallel range: as ``count_of`` of the launcher has it."""
    p, _, sizes, tile, blocks = space
    points, inner = prod(sizes[:p]), sizes[p - 1]
    rows = points // inner
    return {
        codes.ROWS: lambda: points,
        codes.OUTER: lambda: rows,
        codes.INNER: lambda: inner,
        codes.ONE: lambda: 1,
        codes.ROW_BLOCKS: lambda: points * blocks,
        codes.OUTER_BLOCKS: lambda: rows * blocks,
        codes.COLUMN_BLOCKS: lambda: rows * -(-inner // phase.block),
        codes.TILE_BLOCKS: lambda: rows // sizes[tile] * -(-sizes[tile] // phase.block),
    }[phase.range]()


def _inner(op: Any) -> Any:
    return op.inner if type(op) is FusedEpilogue else op


def _product(op: Any) -> Any:
    """The matmul that an operation is, or begins with."""
    inner = _inner(op)
    return inner if type(inner) is linalg.Matmul else None


def _ints(xs: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(x) for x in xs)
