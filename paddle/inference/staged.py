"""A model in parts, of which engines compute some: the parts of its module, and their runs one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from paddle.inference import engines, loading
from paddle.inference.config import LOG, Config
from paddle.static.formats.graph import (
    ASSERT,
    COMBINE,
    DATA,
    FETCH,
    PARAMETER,
    SPLIT,
    Attribute,
    Block,
    Module,
    Operation,
    Result,
    TensorType,
    reads,
)
from paddle.static.formats.record import SHADOW_OUTPUT, program_of
from paddle.static.scope import Scope
from umiak.core.array import from_numpy, host_values
from umiak.core.tensor import Tensor
from umiak.ir.meta import Meta
from umiak.runtime.program_tracer import Run

_APART = PARAMETER, DATA, FETCH, SHADOW_OUTPUT  # belong to no part
# What computes with sizes, which each part does for itself: as a tensor that is fed they would be data.
_SIZES = {
    f"pd_op.{name}"
    for name in "shape shape64 slice full full_int_array assign_value_ add subtract multiply floor_divide scale cast "
    "stack concat squeeze unsqueeze reshape gather prod".split()
}


@dataclass
class Part:
    """Operations that follow one another. ``feeds`` and ``gives``: numbers of values that come in and go out."""

    operations: list[Operation]
    engine: bool
    copied: list[Operation] = field(default_factory=list)  # of other parts, that are done here as well
    feeds: dict[int, TensorType] = field(default_factory=dict)
    gives: dict[int, TensorType] = field(default_factory=dict)

    def module(self, model: Module) -> Module:
        """The part as a module of its own."""
        own = {id(o) for o in (*self.copied, *self.operations)}
        inputs = [
            Operation(DATA, attributes=_described(n, type), results=[Result(n, type)]) for n, type in self.feeds.items()
        ]
        fetches = [
            Operation(FETCH, [n], {"name": Attribute("str", _name(n)), "col": Attribute("i32", i)}, [Result(-1 - i, t)])
            for i, (n, t) in enumerate(self.gives.items())
        ]
        between = [o for o in model.block.operations if id(o) in own]
        return Module(Block([], [*inputs, *between, *fetches]), model.version, model.trainable)


def _name(n: int) -> str:
    return f"value_{n}"


def _described(n: int, type: TensorType) -> dict[str, Attribute]:
    return {
        "name": Attribute("str", _name(n)), "shape": Attribute("intarray", type.shape),
        "dtype": Attribute("dtype", type.dtype),
    }  # fmt: skip


def parts_of(module: Module, takes: Callable[[Operation], bool], smallest: int) -> list[Part]:
    """Cut a module where what an engine takes begins and ends.

    Args:
        module: the module.
        takes: whether the engine takes an operation.
        smallest: parts of fewer operations are none of the engine's.
    """
    parts = _joined(_labelled(module, takes), smallest)
    made = {r.number: o for o in module.block.operations for r in o.results}
    types = {r.number: r.type for o in module.block.operations for r in o.results}
    for part in parts:
        _bring(part, made, types)
    wanted = {o.operands[0] for o in module.block.operations if o.name in (FETCH, SHADOW_OUTPUT)}
    for part in reversed(parts):
        own = [r for o in part.operations for r in o.results]
        part.gives = {r.number: r.type for r in own if r.number in wanted and isinstance(r.type, TensorType)}
        if not part.gives and any(o.name == ASSERT for o in part.operations):
            part.gives, part.engine = dict(part.feeds), False  # what is required of them is tested here
        if part.gives:
            wanted.update(part.feeds)
    return [part for part in parts if part.gives]  # what others do for themselves is nobody's


def _labelled(module: Module, takes: Callable[[Operation], bool]) -> Iterator[tuple[bool, list[Operation]]]:
    label, labels = False, []
    inner = [o for o in module.block.operations if o.name not in _APART]
    for o in inner:
        label = label if o.name in (COMBINE, SPLIT) else takes(o)
        labels.append(label)
    for engine, group in groupby(zip(labels, inner, strict=True), key=lambda pair: pair[0]):
        yield engine, [o for _, o in group]


def _joined(groups: Iterator[tuple[bool, list[Operation]]], smallest: int) -> list[Part]:
    parts: list[Part] = []
    for engine, operations in groups:
        mine = engine and sum(o.name not in (COMBINE, SPLIT) for o in operations) >= smallest
        if parts and parts[-1].engine == mine:
            parts[-1].operations += operations
        else:
            parts.append(Part(operations, mine))
    return parts


def _bring(part: Part, made: Mapping[int, Operation], types: Mapping[int, Any]) -> None:
    """Find out what comes into a part, and what it does for itself."""
    own = {id(o) for o in part.operations}
    copied: dict[int, Operation] = {}
    wanted = [n for o in part.operations for n in reads(o)]
    while wanted:
        n = wanted.pop()
        o = made.get(n)
        if o is None or id(o) in own or id(o) in copied or n in part.feeds:
            continue
        type = types[n]
        sizes = isinstance(type, TensorType) and type.dtype.startswith("int") and len(type.shape) <= 1
        if o.name != DATA and (
            o.name == PARAMETER or not isinstance(type, TensorType) or not o.operands or (sizes and o.name in _SIZES)
        ):
            copied[id(o)] = o
            wanted += reads(o)
        else:
            part.feeds[n] = type
    part.copied = list(copied.values())


class Stage:
    """One part that is ready to run: it takes and gives tensors by number."""

    def __init__(self, part: Part, call: Callable[[list[Tensor]], list[Tensor]], run: Run | None) -> None:
        self.part, self.call, self.run = part, call, run

    def twin(self) -> Stage:
        """The same for another thread."""
        return self if self.run is None else _of_run(self.part, self.run.twin())


def _of_run(part: Part, run: Run) -> Stage:
    numbers = list(part.feeds)
    places = [numbers.index(int(name.rpartition("_")[2])) for name, _ in run.feeds]
    return Stage(part, lambda given: run.run([given[i] for i in places]), run)


class StagedRun:
    """Runs of a model in stages, with the face of a ``Run``."""

    program = None  # there are several

    def __init__(self, feeds: list[tuple[str, Meta]], inputs: dict[str, int], fetched: list[int], stages: list[Stage]):
        self.feeds = feeds
        self._inputs = inputs
        self._fetched = fetched
        self.stages = stages
        self.executor = self

    def run(self, given: Sequence[Tensor]) -> list[Tensor]:
        """Run all stages in order."""
        values = {self._inputs[name]: x for (name, _), x in zip(self.feeds, given, strict=True)}
        for stage in self.stages:
            results = stage.call([values[n] for n in stage.part.feeds])
            values.update(zip(stage.part.gives, results, strict=True))
        return [values[n] for n in self._fetched]

    def twin(self) -> StagedRun:
        """The same for another thread."""
        return StagedRun(self.feeds, self._inputs, self._fetched, [stage.twin() for stage in self.stages])

    def shrink(self) -> int:
        """Let go of the memory that is kept between runs; the bytes."""
        return sum(stage.run.executor.shrink() for stage in self.stages if stage.run is not None)


def staged(
    config: Config,
    request: engines.Request,
    module: Module,
    values: Mapping[str, Any],
    metas: Mapping[str, Meta],
    compiled: Callable[[loading.Model], Run],
) -> StagedRun:
    """Make stages of a module.

    Args:
        config: how the model is run.
        request: the engine, and what is asked of it.
        module: the model.
        values: of its parameters, by name.
        metas: its inputs, by name.
        compiled: makes runs of the parts that the engine does not take.
    """
    engine = engines.ENGINES[request.engine]
    stages = []
    for part in parts_of(module, lambda o: o.name not in request.kept and engine.takes(o), request.smallest):
        own = part.module(module)
        function = _compiled(engine, own, values, request) if part.engine else None
        if function is not None:
            stages.append(Stage(part, _over_arrays(function, config), None))
            continue
        scope = Scope()
        made, feeds, fetched = program_of(own, values, scope)
        stages.append(_of_run(part, compiled(loading.Model(made, feeds, list(fetched), scope))))
    taken = sum(len(s.part.operations) for s in stages if s.run is None)
    LOG.info("%s computes %d operations in %d parts", request.engine, taken, sum(s.run is None for s in stages))
    inputs = {o.plain("name"): o.results[0].number for o in module.named(DATA)}
    fetches = [o for o in module.block.operations if o.name in (FETCH, SHADOW_OUTPUT)]
    fetches.sort(key=lambda o: o.plain("col", 0))
    numbers = [o.operands[0] for o in fetches]
    return StagedRun(list(metas.items()), inputs, numbers, stages)  # type: ignore[arg-type]


def _compiled(
    engine: engines.Engine, module: Module, values: Mapping[str, Any], request: engines.Request
) -> engines.Compiled | None:
    try:
        return engine.compile(module, values, request)
    except engines.Refused as error:
        LOG.info("%s leaves a part: %s", request.engine, error)
        return None


def _over_arrays(function: engines.Compiled, config: Config) -> Callable[[list[Tensor]], list[Tensor]]:
    def call(given: list[Tensor]) -> list[Tensor]:
        return [from_numpy(np.asarray(y), config._place) for y in function([host_values(x) for x in given])]

    return call
