"""A model on its way to runs: passes, constants, a narrow type, and the kernels of a first run."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np

from paddle.amp.auto_cast import op_names
from paddle.device.places import device
from paddle.framework.io import replacing
from paddle.inference import engines, loading
from paddle.inference.config import LOG, Config
from paddle.inference.staged import StagedRun, staged
from paddle.pir.pass_manager import PassManager
from paddle.static.executor import Executor
from paddle.static.formats.graph import Module, is_offsets, owner_of_offsets
from paddle.static.formats.record import input_types, output_names
from paddle.static.program import Program, managed
from paddle.static.saving import save_inference_model
from paddle.static.scope import scope_guard
from paddle.static.variable import data
from umiak import ops as F
from umiak.compiler.passes.registry import PASSES
from umiak.core.array import from_numpy
from umiak.core.captured import Stale
from umiak.core.context import no_grad_guard, place_guard
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.program import Operand, Operation, Value, reads_number
from umiak.ops.base import REGISTRY
from umiak.ops.effects import Require
from umiak.runtime import parallel
from umiak.runtime.program_tracer import Run, outside
from umiak.util.errors import op_error

FOLDING, NARROWING, PACKING = "constant_folding_pass", "auto_mixed_precision_pass", "weight_packing_pass"
RECORDED = 4  # runs: the third writes down its launches at the latest, the fourth plays them over memory of its own
GUESS = 64  # a size that is not known, for the run that has kernels made
# What an operation may raise for sizes and values that were made up.
_UNFIT = ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError


class Prepared:
    """A model as predictors run it. ``feeds`` and ``outputs``: names; ``metas``: what inputs were declared as."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.blamed = 0  # failures that were looked into
        self.packed: frozenset[str] = frozenset()  # inputs that may be packed sequences
        request = config._request(config._threads)
        with device("cpu"), place_guard(Place("cpu")):  # passes read weights
            self.run: Run | StagedRun = self._own() if request is None else self._staged(request)
        self.narrow = config._narrow() if config._flags["low_precision_io"] else None

    def _own(self) -> Run:
        config, names = self.config, self.config._passes()
        kept = config._optimised()
        found = kept + loading.PROGRAMS[0] if kept and config._flags["use_optimised"] else ""
        if kept and os.path.isfile(found):
            model = loading.from_files(found, kept + loading.PARAMETERS)
        else:
            model = loading.load(config, may_be_cut=True)
            # The results of packing are for this processor.
            optimise(config, model, [n for n in names if n != PACKING], config._narrow())
        self.feeds, self.outputs, self.tail, self.packed = list(model.feeds), model.outputs, model.tail, model.packed
        if config._flags["save_optimised"]:
            self._save(model, kept)
        if config._place.is_cpu_place():
            optimise(config, model, [n for n in names if n == PACKING], recurrent=_recurrent(config))
        declared = {name: x._value.meta for name, x in model.program._tracer.feeds}
        self.metas: dict[str, Meta] = {name: declared[name] for name in self.feeds}
        return run_of(model, config._place)

    def _staged(self, request: engines.Request) -> StagedRun:
        config = self.config
        program_file, parameters = loading.sources(config)
        read = loading.read(program_file, parameters)
        if not isinstance(read.program, Module) or config._flags["save_optimised"] or config._flags["use_optimised"]:
            got = "one in Umiak's own" if not isinstance(read.program, Module) else "one that is to be kept optimised"
            raise op_error(
                ValueError, "create_predictor", f"a model in the operators of PaddlePaddle for {request.engine}", got
            )
        types = input_types(read.program)
        program = Program()
        with program._tracer:
            metas = {name: data(name, t.shape, t.dtype)._value.meta for name, t in types.items()}
        self.feeds, self.outputs, self.tail, self.metas = list(types), output_names(read.program), None, metas

        def compiled(model: loading.Model) -> Run:
            optimise(config, model, config._passes(), config._narrow(), _recurrent(config))
            return run_of(model, config._place)

        return staged(config, request, read.program, read.values, metas, compiled)

    @staticmethod
    def _save(model: loading.Model, prefix: str | None) -> None:
        if prefix is None:
            raise op_error(
                ValueError, "create_predictor", "a folder for the optimised model", "a model in memory",
                "Config.set_optim_cache_dir names one.",
            )  # fmt: skip
        if model.tail is not None:
            raise op_error(
                ValueError, "create_predictor", "sizes that are known before the model runs, to save it optimised",
                "a model in which data decide them",
            )  # fmt: skip
        if any(map(is_offsets, model.outputs)):  # files of today would have them as further outputs
            raise op_error(
                ValueError, "create_predictor", "results that are no packed sequences, to save a model optimised",
                f"sequences in {sorted({owner_of_offsets(name) for name in model.outputs if is_offsets(name)})}",
            )  # fmt: skip
        fed = [x for _, x in model.program._tracer.feeds]
        with scope_guard(model.scope):
            save_inference_model(prefix, fed, model.fetched, Executor(), program=model.program)

    # --- kernels of the first run

    def warm(self, run: Run | StagedRun, sizes: Mapping[str, Sequence[int]] = MappingProxyType({})) -> bool:
        """Have the kernels of a run made, by runs over zeros, and over ones where data choose among ways; False where
        sizes could not be guessed, or where what a program keeps or loops over would depend on them. ``sizes``: of
        inputs, by name, where they need no guess."""
        runs = [run] if isinstance(run, Run) else [stage.run for stage in run.stages if stage.run is not None]
        operations = [o for r in runs for o in r.program.walk()]
        required = [o.op for o in operations if isinstance(o.op, Require)]
        if any(r.program.effects for r in runs) or any(
            _repeats_by_data(o) or o.op.random or (o.op.effect and not isinstance(o.op, Require)) for o in operations
        ):
            return False
        if any(is_offsets(name) for name, _ in run.feeds):  # zeros are offsets of no sequence
            return False
        by_data = bool(required) or any(o.regions and not _is_of_sizes(o.operands[0]) for o in operations)
        unfit: tuple[type[BaseException], ...] = *_UNFIT, Stale, *(getattr(builtins, op.kind) for op in required)
        done = [self._done(run, element, sizes, unfit) for element in ((0, 1) if by_data else (0,))]
        return any(done)

    def _done(
        self,
        run: Run | StagedRun,
        element: int,
        sizes: Mapping[str, Sequence[int]],
        unfit: tuple[type[BaseException], ...],
    ) -> bool:
        """Run over inputs of equal elements; False where these do not fit."""
        known = self.config._shapes
        try:
            given = [self._filled(element, meta, known.get(name), sizes.get(name)) for name, meta in run.feeds]
            for _ in range(RECORDED):
                run.run(given)
        except unfit as error:
            LOG.debug("no run before the first one: %s", error)
            return False
        return True

    def _filled(
        self, element: int, meta: Meta, known: Mapping[str, Sequence[int]] | None, given: Sequence[int] | None
    ) -> Tensor:
        sizes = [n if type(n) is int else 1 if i == 0 else GUESS for i, n in enumerate(meta.shape)]
        if given is not None:
            sizes = list(given)
        elif known is not None and len(known["usual"]) == len(sizes):
            sizes = list(known["usual"])
        return from_numpy(np.full(sizes, element, meta.dtype.numpy), self.config._place)  # type: ignore[union-attr]


def _repeats_by_data(o: Operation) -> bool:
    """Return whether data say how often operations run, or on how much: a loop over zeros may have no end. Of a branch
    either way may run."""
    if o.regions:
        return o.name != "cond"
    return reads_number(o) and o.name != "sized"


def _is_of_sizes(x: Operand) -> bool:
    """Return whether a value is computed of numbers alone."""
    if type(x) is not Value:
        return True
    made_by = x.operation
    return made_by is not None and not made_by.regions and all(map(_is_of_sizes, made_by.operands))


def run_of(model: loading.Model, place: Place) -> Run:
    """Make what runs a model at a place, with its parameters as constants and one block of memory for values inside."""
    tracer = model.program._tracer
    values = [tracer.find(x) for x in model.fetched]

    def held_by(x: Tensor, read: bool) -> Tensor:
        held = model.scope._place_of(x, make=not read) if managed(x) else x
        return held if held.place is place else F.transfer(held, source=held.place.name, target=place.name)

    return Run(tracer, values, "model", held_by=held_by, arena=1 << 62)  # type: ignore[arg-type]


def optimise(
    config: Config, model: loading.Model, names: Sequence[str], narrow: str | None = None, recurrent: str = "float32"
) -> None:
    """Run passes over a model; ``narrow``: the type that it shall compute in, beside float32; ``recurrent``: that of
    products in recurrent layers."""
    program = model.program
    before = program.num_ops()
    steps: list[tuple[str, dict[str, Any] | None]] = [
        (name, {"__param_scope__": model.scope} if "scope" in PASSES[name].options else None) for name in names
    ]
    for name, options in steps:
        if name == PACKING and options is not None:
            options["recurrent"] = recurrent
    if narrow is not None:
        at = next((i for i, (name, _) in enumerate(steps) if name == FOLDING), len(steps))
        lists = _lists(config, narrow)
        # Where operators are named, none but these are narrow: a bias, which may be otherwise, is added in float32.
        steps.insert(at, (NARROWING, lists if config._bfloat16 else {**lists, "__param_scope__": model.scope}))
    printed = config._flags["ir_debug"] or config._builder.printing
    for name, options in steps:
        manager = PassManager()
        manager.add_pass(name, options)
        if printed and (not config._debugged or name in config._debugged):
            manager.enable_ir_printing()
        manager.run(program, model.fetched)
    if config._flags["glog"] and steps:
        LOG.info("%d passes: %d operations, %d before", len(steps), program.num_ops(), before)


def _recurrent(config: Config) -> str:
    """The type of products in recurrent layers, whose states stay wide."""
    narrow = config._narrow()
    if narrow is None:
        return "float32"
    lists = _lists(config, narrow)
    named = "rnn" in lists["custom_white_list"] or not config._bfloat16
    return narrow if named and "rnn" not in lists["custom_black_list"] else "float32"


def _lists(config: Config, narrow: str) -> dict[str, Any]:
    """Options of the pass that narrows: which ops, by the names that they have here."""

    def ours(names: Any) -> set[str]:
        return set(op_names(name.rpartition(".")[2] for name in names))  # pd_op.conv2d is conv2d

    white, black = ours(config._mixed or ()), ours(config._unmixed)
    if config._bfloat16:
        only = ours(config._bfloat16)
        white |= only
        black |= {name for name, op in REGISTRY.items() if getattr(op, "amp", None) == "allow"} - only
    return {"dtype": narrow, "custom_white_list": white - black, "custom_black_list": black}


@contextmanager
def around_runs(config: Config) -> Iterator[None]:
    """Settings around a run: no capture, no gradients, the model's place and its number of threads."""
    before = parallel.own_threads(config._threads)
    try:
        with outside(), place_guard(config._place), no_grad_guard():
            yield
    finally:
        parallel.own_threads(before)


class ShapeRecord:
    """Sizes that inputs had, which are written to a file in the end."""

    def __init__(self) -> None:
        self.seen: dict[str, dict[tuple[int, ...], int]] = {}

    def note(self, name: str, shape: Sequence[int]) -> None:
        """Count the sizes of an input."""
        counts = self.seen.setdefault(name, {})
        counts[tuple(shape)] = counts.get(tuple(shape), 0) + 1

    def write(self, path: str) -> None:
        """Write least, largest and usual sizes."""
        document = {
            name: {
                "min": [min(sizes) for sizes in zip(*counts, strict=True)],
                "max": [max(sizes) for sizes in zip(*counts, strict=True)],
                "usual": list(max(counts.items(), key=lambda counted: counted[1])[0]),
            }
            for name, counts in self.seen.items()
        }
        with replacing(path) as file:
            file.write(json.dumps(document, indent=1).encode())


def declared(meta: Meta) -> list[int]:
    """Sizes, with -1 for those that are not declared."""
    return [-1 if type(n) is Sym else n for n in meta.shape]  # type: ignore[misc]
