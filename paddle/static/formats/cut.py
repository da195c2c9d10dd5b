"""Programs that cannot be recorded for all data, in two parts: a program, and the operations behind it, which are
called one by one. Sizes that data decide can be recorded; not so the number of steps of a loop that carries lists of
tensors, nor an operation that does something else where nothing is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import paddle
from paddle.static.formats.graph import (
    DATA,
    FETCH,
    PARAMETER,
    Attribute,
    Block,
    Module,
    Operation,
    Result,
    TensorType,
    reads,
)
from paddle.static.formats.operators.known import Known, tensor_of
from paddle.static.formats.operators.table import FromData
from paddle.static.formats.record import (
    REFUSALS,
    SHADOW_OUTPUT,
    Values,
    input_types,
    located,
    output_names,
    parameters_of,
    written_by,
)
from paddle.static.program import Program
from umiak.core.array import from_numpy
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.ir.serialise import FormatError
from umiak.ir.tracer import DataUnknown
from umiak.runtime.program_tracer import ProgramTracer, outside

_FETCHES = FETCH, SHADOW_OUTPUT


class Tail:
    """The operations of a model that are called one by one, over results of its head. ``outputs``: names of results."""

    def __init__(self, module: Module, values: Mapping[str, Any]) -> None:
        self.module = module
        self.outputs = output_names(module)
        self.inputs = list(input_types(module))
        names = {o.plain("parameter_name") for o in module.named(PARAMETER)}
        with outside(), no_grad_guard():
            self.values = {
                n: from_numpy(v) if isinstance(v, np.ndarray) else v for n, v in values.items() if n in names
            }

    def run(self, given: Sequence[Tensor]) -> list[Tensor]:
        """The results, of what the head has fetched."""
        with outside(), no_grad_guard():
            try:
                return Values(self.module, self.values, dict(zip(self.inputs, given, strict=True))).run()
            except FormatError as error:  # of operands that an operator does not take in this form
                raise FormatError(f"[run] requires a program whose operations go together: {located(error)}") from error


class Cut(NamedTuple):
    """A module in two. The head fetches what the tail is fed, in order."""

    head: Module
    tail: Tail


def from_data(error: BaseException | None) -> bool:
    """Is it, or does it come from, an operation whose sizes data decide?"""
    while error is not None:
        if isinstance(error, (DataUnknown, FromData)):
            return True
        error = error.__cause__
    return False


class _Finder(Values):
    """Values of a module while ``tracer`` records it; operations that ask for data, or branch on them, are left, with
    all that follows them."""

    def __init__(
        self,
        module: Module,
        parameters: Mapping[str, Any],
        inputs: Mapping[str, Any],
        tracer: ProgramTracer,
        written: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__(module, parameters, inputs)
        self.tracer = tracer
        self.late: list[Operation] = []
        self._late_values = set(written)  # numbers

    def find(self) -> None:
        """Call the operations of the outermost block that can be called."""
        scope = self.tracer.scope
        for o in self.module.block.operations:
            steered = scope.steered
            numbers = [*reads(o), *(r.number for r in o.results)]
            if o.name in _FETCHES or any(n in self._late_values for n in numbers):
                self._leave(o)
                continue
            try:
                self._block(Block([], [o]))
                if scope.steered > steered:
                    self._leave(o)
            except REFUSALS as error:
                if not from_data(error):
                    raise
                self._leave(o)

    def _leave(self, o: Operation) -> None:
        self.late.append(o)
        self._late_values.update(r.number for r in o.results)
        self._late_values |= written_by(o)

    def value(self, n: int) -> Any:
        """The value of a number."""
        return self._value(n)


def cut(module: Module, values: Mapping[str, Any]) -> Cut:
    """Cut a module where data decide what is called.

    Args:
        module: a module that cannot be recorded as a whole.
        values: arrays or tensors by the names of its parameters.
    """
    held = parameters_of(module, values)
    fixed = {r.number for name in (DATA, PARAMETER) for o in module.named(name) for r in o.results}
    written: frozenset[int] = frozenset()
    while True:
        tracer = Program()._tracer
        with outside(), tracer, no_grad_guard():
            inputs = {name: paddle.static.data(name, t.shape, t.dtype) for name, t in input_types(module).items()}
            finder = _Finder(module, held, inputs, tracer, written)
            finder.find()
            # What the tail writes to in place, and all that was written there before, is its own.
            more = written.union(*map(written_by, finder.late)) - fixed
            if more == written:
                head, tail = _parts(module, finder)
                return Cut(head, Tail(tail, values))
        written = more


def _parts(module: Module, finder: _Finder) -> tuple[Module, Module]:
    made = {r.number: o for o in module.block.operations for r in o.results}
    late = {id(o) for o in finder.late}
    fed: dict[int, TensorType] = {}  # by the number of the value that crosses
    copied: dict[int, Operation] = {}  # operations of the tail that the head has, too, by what is fed to them
    wanted = [n for o in finder.late for n in reads(o)]
    while wanted:
        n = wanted.pop()
        o = made.get(n)
        if o is None or id(o) in late or id(o) in copied or n in fed:
            continue
        type = _tensor_type(finder.value(n))
        if o.name == PARAMETER or type is None or not (o.operands or o.regions or o.name == DATA):
            copied[id(o)] = o  # parameters, lists and constants are there as well
            wanted += reads(o)
        else:
            fed[n] = type
    inputs, fetches = [], []
    for i, (n, type) in enumerate(fed.items()):
        attributes = {
            "name": Attribute("str", f"cut_{i}"), "shape": Attribute("intarray", type.shape),
            "dtype": Attribute("dtype", type.dtype),
        }  # fmt: skip
        inputs.append(Operation(DATA, attributes=attributes, results=[Result(n, type)]))
        fetched = {"name": Attribute("str", f"cut_{i}"), "col": Attribute("i32", i)}
        fetches.append(Operation(FETCH, [n], fetched, [Result(-1 - i, type)]))
    kept = [o for o in module.block.operations if id(o) not in late]
    behind = [o for o in module.block.operations if id(o) in late or id(o) in copied]
    head = Module(Block(module.block.arguments, kept + fetches), module.version, module.trainable)
    return head, Module(Block([], inputs + behind), module.version, module.trainable)


def _tensor_type(value: Any) -> TensorType | None:
    """The type of a value that can be fetched; None for lists and for what is absent."""
    if not isinstance(value, (Tensor, Known)):
        return None
    x = tensor_of(value)
    return TensorType(x.dtype.name, tuple(n if isinstance(n, int) else -1 for n in x.shape))
