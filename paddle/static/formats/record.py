"""A module's operations as calls of the public API: into a program of ours, into a captured function, or at once.

What each operator means is in ``operators``; here is what holds them together: values by number, lists, branches and
loops, feeds and fetches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import paddle
from paddle.framework.param_attr import ParamAttr
from paddle.framework.parameter import Parameter
from paddle.framework.place import current_place
from paddle.static.formats.graph import (
    COMBINE,
    DATA,
    FETCH,
    PARAMETER,
    SPLIT,
    YIELD,
    Block,
    Module,
    Operation,
    Result,
    TensorType,
    reads,
)
from paddle.static.formats.operators.custom_op import PREFIX, call_custom, is_custom, is_registered
from paddle.static.formats.operators.known import Known, known_elements, tensor_of
from paddle.static.formats.operators.table import TABLE, FromData
from paddle.static.formats.recompose import Recomposed, recomposed
from paddle.static.program import Program
from paddle.static.scope import Scope, global_scope
from paddle.tensor._args import reads_numbers
from umiak.core.array import from_numpy
from umiak.core.context import no_grad_guard
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor, unfilled
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.ir.registry import NotRegistered
from umiak.ir.scope import symbols_of
from umiak.ir.serialise import FormatError
from umiak.ir.tracer import SymTensor
from umiak.ir.verifier import VerifyError
from umiak.runtime.program_tracer import outside

SHADOW_OUTPUT = "builtin.shadow_output"  # another form of fetch: attribute `output_name`
IF, WHILE, CONCAT = "pd_op.if", "pd_op.while", "pd_op.concat"
PYLAYER = "pd_op.pylayer"  # one region, the forward function; what its backward function was is not in files
SLICE = "builtin.slice"  # one part of a list: attribute `index`
_RULED = {PARAMETER, COMBINE, SPLIT, DATA, FETCH, YIELD, SHADOW_OUTPUT, IF, WHILE, PYLAYER, SLICE}

MOST_UNROLLED = 1 << 13  # operations: files may have loops without end, which would be recorded

# What operators raise for operands that they refuse.
REFUSALS = FormatError, VerifyError, TypeError, ValueError, LookupError, ArithmeticError, RuntimeError, AttributeError


def missing_operators(module: Module) -> list[str]:
    """The names of a module's operators that are not in the table."""
    names = {o.name for o in module.block.walk() if not isinstance(o, Recomposed)}
    return sorted(n for n in names - _RULED - TABLE.keys() if not is_custom(n))


def check_operators(module: Module) -> None:
    """Refuse a module with unknown operators, all of which the error names; NotRegistered for those of users."""
    if missing := missing_operators(module):
        raise FormatError(f"operators that are known here are required, got {', '.join(missing)}")
    users = {o.name for o in module.block.walk() if is_custom(o.name) and not is_registered(o.name)}
    if users:
        raise NotRegistered(sorted(n.removeprefix(PREFIX) for n in users))


class Values:
    """The values of a run through a module, by number."""

    def __init__(self, module: Module, parameters: Mapping[str, Any], inputs: Mapping[str, Any]) -> None:
        self.module = module
        self.parameters = parameters
        self.inputs = inputs
        self.fetched: dict[int, Tensor] = {}  # by column
        self._values: dict[int, Any] = {}
        self._stopped: set[int] = set()  # numbers of values that have no gradient, as the file says
        self._unrolled_operations = 0
        self._writes = False  # whether operations in place write to what they were given, as in older loops
        self._line: list[str] | None = None  # of the source that the operation at hand was written for

    def run(self) -> list[Tensor]:
        """Call all operations; return what is fetched."""
        with self._located():
            self._block(self.module.block)
        return [self.fetched[i] for i in sorted(self.fetched)]

    @contextmanager
    def _located(self) -> Iterator[None]:
        """A program that notes lines of source gets those of the file."""
        scope = dim.get_scope()
        if scope is None or scope.locate is None:
            yield
            return
        before, scope.locate = scope.locate, lambda: self._line
        try:
            yield
        finally:
            scope.locate = before

    def _block(self, block: Block) -> list[Any]:
        """Call the operations of a block; return what it yields: tensors, `Known`, lists."""
        for i, o in enumerate(block.operations):
            if o.name == YIELD:
                return self._operands(o)
            around, self._line = self._line, callstack(o)
            try:
                results = self._stopping(o)
            except REFUSALS as error:
                if not hasattr(error, "operation"):  # the innermost one
                    error.operation, error.place = o, i  # type: ignore[union-attr]
                raise
            finally:
                self._line = around
            for result, value in zip(o.results, results, strict=False):
                self._values[result.number] = value
            if o.name == _ARRAY_WRITE or (self._writes and o.name.endswith("_")):
                at = _WRITTEN.get(o.name, 0)
                if at < len(o.operands) and o.operands[at] is not None and results:
                    self._values[o.operands[at]] = results[0]  # type: ignore[index]
        return []

    def _operands(self, o: Operation) -> list[Any]:
        return [None if n is None else self._value(n) for n in o.operands]

    def _value(self, n: int) -> Any:
        if n not in self._values:
            raise FormatError(f"the value %{n} is required, got none: nothing before makes it")
        return self._values[n]

    def _stopping(self, o: Operation) -> Sequence[Any]:
        """The results of an operation, with gradients where the file says so."""
        said = o.traits.get("stop_gradient", ())
        if not any(said):
            return self._results(o)
        if all(said) and not o.regions and not self._stopped.issuperset(reads(o)):
            with no_grad_guard():
                results = self._results(o)
        else:
            results = self._results(o)
        results = list(results)
        for i, (stop, x) in enumerate(zip(said, results, strict=False)):
            if stop and isinstance(x, Tensor) and not x.stop_gradient and self._stops(o, i):
                results[i] = x.detach()
        self._stopped.update(r.number for r, stop in zip(o.results, said, strict=False) if stop)
        return results

    def _stops(self, o: Operation, i: int) -> bool:
        """Does a result that has no gradient by the file stop one, as behind ``detach`` or under ``no_grad``?

        Where no operand has any, as behind an input of a static program, there is nothing to stop. The reference says
        it of what a loop carries by how it begins, and of a branch by its first way, though the rest may have one.
        """
        if o.name == WHILE:
            return len(o.operands) > i + 1 and o.operands[i + 1] not in self._stopped
        if o.name == IF:
            given = o.regions[0].operations[-1].operands
            return len(given) > i and given[i] not in self._stopped
        return not self._stopped.issuperset(reads(o))

    def _results(self, o: Operation) -> Sequence[Any]:
        rule = _RULES.get(o.name)
        if rule is not None:
            return rule(self, o)
        if is_custom(o.name):
            return call_custom(o, self._operands(o))
        if isinstance(o, Recomposed):
            return [o.call(*map(tensor_of, self._operands(o)))]
        results = TABLE[o.name].call(o, self._operands(o))
        if isinstance(results, tuple):
            return results
        return [results]

    # --- operations with a meaning of their own

    def _parameter(self, o: Operation) -> Sequence[Any]:
        if not is_kept(o):
            return [None]
        name = o.plain("parameter_name")
        if name not in self.parameters:
            raise FormatError(f"a value for {name!r} is required, got those of {sorted(self.parameters)}")
        return [self.parameters[name]]

    def _data(self, o: Operation) -> Sequence[Any]:
        return [self.inputs[o.plain("name")]]

    def _fetch(self, o: Operation) -> Sequence[Any]:
        column = _column(o, len(self.fetched))
        (x,) = self._operands(o)
        self.fetched[column] = tensor_of(x)
        return [self.fetched[column]]

    def _split(self, o: Operation) -> Sequence[Any]:
        (x,) = self._operands(o)
        return list(x)

    def _slice(self, o: Operation) -> Sequence[Any]:
        (x,) = self._operands(o)
        return [x[o.plain("index")]]

    def _pylayer(self, o: Operation) -> Sequence[Any]:
        (forward,) = o.regions
        return self._block(forward)

    def _if(self, o: Operation) -> Sequence[Any]:
        (condition,) = self._operands(o)
        then, other = o.regions
        known = _known_condition(condition)
        if known is not None:
            return self._block(then if known else other)

        if isinstance(condition, SymTensor) and self._writes_lists(o):
            raise FromData("lists that are the same after both branches are required, got branches that write to them")
        ways: list[list[Any]] = []

        def branch(region: Block) -> list[Any]:
            ways.append([tensor_of(x) for x in self._block(region)])
            # In a static program the result has sizes of its own.
            if not reads_numbers() and any(_differ(x, y) for x, y in zip(ways[0], ways[-1], strict=False)):
                raise FromData("sizes that are known before the program runs are required, got others of each branch")
            return ways[-1]

        return paddle.static.nn.cond(tensor_of(condition), lambda: branch(then), lambda: branch(other))

    def _while(self, o: Operation) -> Sequence[Any]:
        (body,) = o.regions
        condition, *carried = self._operands(o)
        if not o.results and not body.arguments:
            return self._loop_of_writes(body, condition)
        if len(body.arguments) != len(carried):
            raise FormatError(f"{len(carried)} arguments of the body are required, got {len(body.arguments)}")
        if any(isinstance(x, list) for x in carried) or self._writes_lists(o) or self._grow(body, condition, carried):
            return self._unrolled(body, condition, carried)
        condition, *carried = [tensor_of(x) for x in (condition, *carried)]
        if not paddle.in_dynamic_mode():
            carried = [_begun(x, r) for x, r in zip(carried, o.results, strict=False)]

        def step(_: Tensor, *now: Any) -> list[Tensor]:
            for argument, value in zip(body.arguments, now, strict=True):
                self._values[argument.number] = value
            condition, *after = [tensor_of(x) for x in self._block(body)]
            if not paddle.in_dynamic_mode() and any(
                len(x.shape) != len(y.shape) for x, y in zip(now, after, strict=False)
            ):
                raise FromData("numbers of dims that are the same in all iterations are required, got others")
            return [condition, *after]

        # Numbers of arguments begin anew in each loop, so an inner loop has those of the outer one.
        numbers = [a.number for a in body.arguments]
        around = {n: self._values[n] for n in numbers if n in self._values}
        _, *results = paddle.static.nn.while_loop(lambda c, *_: c, step, [condition, *carried])
        self._values.update(around)
        return results

    def _writes_lists(self, o: Operation) -> bool:
        """Do regions of an operation write to lists of tensors around it?"""
        return any(isinstance(self._values.get(n), list) for n in written_by(o))

    def _loop_of_writes(self, body: Block, condition: Any) -> list[Any]:
        """A loop that carries nothing, as those of recurrent layers over cells: it writes to values around it."""
        around, self._writes = self._writes, True
        try:
            self._unrolled(body, condition, [])
        finally:
            self._writes = around
        return []

    def _grow(self, body: Block, condition: Any, carried: list[Any]) -> bool:
        """Do tensors that a loop carries change their sizes, in a number of iterations that may be known?

        The body is recorded once to see; nothing reads what that gives.
        """
        if _known_condition(condition) is None or not any(
            isinstance(x, SymTensor) and any(type(n) is Sym for n in x.shape) for x in carried
        ):
            return False
        for argument, value in zip(body.arguments, carried, strict=True):
            self._values[argument.number] = value
        again, *after = self._block(body)
        if _known_condition(again) is None:
            return False
        pairs = [(x, tensor_of(y)) for x, y in zip(carried, after, strict=True) if isinstance(x, SymTensor)]
        return any(len(x.shape) == len(y.shape) and not all(map(dim.same, x.shape, y.shape)) for x, y in pairs)

    def _unrolled(self, body: Block, condition: Any, carried: list[Any]) -> Sequence[Any]:
        """A loop over what grows, lists or tensors: iteration by iteration, while its condition is known."""
        size = sum(1 for _ in body.walk())
        while _truth(condition):
            self._unrolled_operations += size
            if self._unrolled_operations > MOST_UNROLLED and not paddle.in_dynamic_mode():
                raise FormatError(f"at most {MOST_UNROLLED} operations of unrolled loops are required, got more")
            for argument, value in zip(body.arguments, carried, strict=True):
                self._values[argument.number] = value
            condition, *carried = self._block(body)
        return carried


def _begun(x: Tensor, declared: Result) -> Tensor:
    """Return what a loop begins with. Where Python has no value before, files have a number of the type behind it."""
    if x.shape or not isinstance(declared.type, TensorType) or not declared.type.shape:
        return x
    return paddle.zeros([1] * len(declared.type.shape), declared.type.dtype)


_ARRAY_WRITE, _WRITTEN = "pd_op.array_write_", {"pd_op.assign_out_": 1}  # which operand an operation in place writes to
_RULES: dict[str, Callable[[Values, Operation], Sequence[Any]]] = {
    PARAMETER: Values._parameter, DATA: Values._data, FETCH: Values._fetch, SHADOW_OUTPUT: Values._fetch,
    COMBINE: lambda self, o: [self._operands(o)], SPLIT: Values._split, IF: Values._if, WHILE: Values._while,
    PYLAYER: Values._pylayer, SLICE: Values._slice,
}  # fmt: skip


def written_by(o: Operation) -> set[int]:
    """The numbers of values around an operation that it, or what its regions have, writes to in place."""
    if o.name == _ARRAY_WRITE:
        return {n for n in o.operands[:1] if n is not None}
    everything = o.name == WHILE and not o.results and not o.regions[0].arguments
    found, inside = set(), set()
    for region in o.regions:
        inside |= {a.number for a in region.arguments}
        for p in region.walk():
            inside |= {r.number for r in p.results}
            inside |= {a.number for inner in p.regions for a in inner.arguments}
            if p.name == _ARRAY_WRITE or (everything and p.name.endswith("_")):
                found |= {n for n in p.operands[_WRITTEN.get(p.name, 0) :][:1] if n is not None}
    return found - inside


def callstack(o: Operation) -> list[str] | None:
    """The line of the user's source that an operation was written for, as tracebacks show it, if the file has it."""
    lines = o.plain("op_callstack")
    return [str(line) for line in lines] if isinstance(lines, (list, tuple)) and lines else None


def _differ(x: Any, y: Any) -> bool:
    """Have two tensors of one rank other sizes, as far as is known: numbers, or expressions of the same symbols?"""
    if isinstance(x, list) or isinstance(y, list):  # of one way, which is all that runs
        return False
    pairs = zip(x.shape, y.shape, strict=True) if len(x.shape) == len(y.shape) else ()
    return any(
        not dim.same(m, n) and (type(m) is int or type(n) is int or set(symbols_of(m)) == set(symbols_of(n)))
        for m, n in pairs
    )


def _known_condition(condition: Any) -> bool | None:
    """The value of a condition that is known while the program is recorded, in a captured function by a guard."""
    if not isinstance(condition, Known):
        return None
    (x,) = condition.elements()
    if type(x) is not Sym:
        return bool(x)
    x = x if x.kind == "bool" else x != 0
    scope = dim.get_scope()
    if type(x) is not Sym or x.hinted:
        return bool(x)
    return None if scope is None else scope.decide(x)


def _truth(condition: Any) -> bool:
    if (known := _known_condition(condition)) is not None:
        return known
    found = known_elements(condition)
    if found is None or any(isinstance(x, Sym) for x in found):
        raise FromData("a number of iterations that is known before the program runs is required, got one from data")
    return bool(found[0])


def located(error: Exception) -> str:
    """The text of an error, with its operation."""
    o: Operation | None = getattr(error, "operation", None)
    return str(error) if o is None else f"operation {error.place}, {o.name}: {error}"


def has_growing_loops(module: Module) -> bool:
    """Return whether loops join tensors to others, so that these may be larger in each iteration."""
    loops = (o for o in module.block.walk() if o.name == WHILE)
    return any(inner.name == CONCAT for o in loops for region in o.regions for inner in region.walk())


# Operators whose results have as many elements as data say; and one whose operand has the sizes.
_OF_DATA = frozenset({
    "masked_select", "multiclass_nms3", "nms", "nonzero", "repeat_interleave_with_tensor_index", "segment_pool",
    "unique", "unique_consecutive",
})  # fmt: skip
_OF_SIZES, _SHAPE = "pd_op.full_with_tensor", "pd_op.shape64"


def has_sizes_of_data(module: Module) -> bool:
    """Return whether data decide how many elements there are."""
    data: set[int] = set()  # values that are computed of inputs or parameters, not of their sizes alone
    for o in module.block.walk():
        if o.name.removeprefix("pd_op.") in _OF_DATA or (o.name == _OF_SIZES and o.operands[1] in data):
            return True
        if o.name in (DATA, PARAMETER) or (o.name != _SHAPE and not data.isdisjoint(reads(o))):
            data.update(r.number for r in o.results)
    return False


def input_types(module: Module) -> dict[str, TensorType]:
    """Names and types of what a run of the module is fed, in order."""
    found: dict[str, TensorType] = {}
    for o in module.named(DATA):
        name = o.plain("name")
        type = o.results[0].type if len(o.results) == 1 else None
        if not isinstance(name, str) or not isinstance(type, TensorType) or name in found:
            raise FormatError(f"inputs with a name and a type each are required, got {name!r}")
        found[name] = type
    return found


def output_names(module: Module) -> list[str]:
    """Names of what a run of the module gives, in order."""
    fetches = [o for o in module.block.operations if o.name in (FETCH, SHADOW_OUTPUT)]
    fetches.sort(key=lambda o: _column(o, 0))
    columns = [o.plain("col") for o in fetches if "col" in o.attributes]
    if len(set(columns)) < len(columns):
        raise FormatError(f"results at different places are required, got columns {columns}")
    names = [o.plain("name", o.plain("output_name", f"fetch_name_{i}")) for i, o in enumerate(fetches)]
    if any(not isinstance(n, str) for n in names):
        raise FormatError(f"names of results are required, got {names}")
    return names


def _column(o: Operation, default: int) -> int:
    """At which place a fetch stands among the results."""
    column = o.plain("col", default)
    if type(column) is not int:
        raise FormatError(f"a number as place of a result is required, got {column!r}")
    return column


def is_kept(o: Operation) -> bool:
    """Has a parameter a value in files? Recurrent layers have one without, in which training would keep a state."""
    return bool(o.traits.get("persistable", [True])[0])


def parameter_names(module: Module) -> list[str]:
    """The names of the parameters that a module reads."""
    names = [o.plain("parameter_name") for o in module.named(PARAMETER) if is_kept(o)]
    if any(not isinstance(n, str) for n in names):
        raise FormatError(f"names of parameters are required, got {names}")
    return names


def trainable(o: Operation) -> bool:
    """Do gradients flow to a parameter?"""
    return bool(o.traits.get("trainable", [True])[0]) and not o.traits.get("stop_gradient", [False])[0]


def parameters_of(module: Module, values: Mapping[str, Any] | None) -> dict[str, Parameter]:
    """Parameters, without values yet, of the shapes and dtypes of ``values``; None: of those that the module says."""
    place = current_place()
    found = {}
    for o in filter(is_kept, module.named(PARAMETER)):
        name = o.plain("parameter_name")
        if values is None:
            said = o.results[0].type
            if not isinstance(said, TensorType) or -1 in said.shape:
                raise FormatError(f"sizes of the parameter {name!r} are required, got {said}")
            shape, dtype = said.shape, convert(said.dtype)
        elif name not in values:
            raise FormatError(f"a value for {name!r} is required, got those of {sorted(values)}")
        else:
            shape, dtype = tuple(values[name].shape), convert(values[name].dtype)
        made = Parameter(
            unfilled(shape, dtype, place, f"{name!r} of a program that was read has no value yet"), name=name
        )
        made._describe(name, ParamAttr(trainable=trainable(o)))
        made.name, made.stop_gradient = name, not trainable(o)
        made._managed = made.persistable = True
        found[name] = made
    return found


def program_of(
    module: Module, parameters: Mapping[str, Any] | None, scope: Scope | None = None
) -> tuple[Program, list[str], list[SymTensor]]:
    """A program that computes what a module says.

    Args:
        module: the module.
        parameters: arrays or tensors by the names of parameters; None: they get values later.
        scope: where their values go; None: the global scope.

    Returns:
        The program, the names of its inputs, and the variables that are its results.

    Raises:
        FormatError: operators that are not known, which the error names; operations that do not go together.
    """
    check_operators(module)
    held = parameters_of(module, parameters)
    program, feeds, outputs = program_over(module, held)
    if parameters is not None:
        give(held, parameters, global_scope() if scope is None else scope)
    return program, feeds, outputs


def program_over(module: Module, held: Mapping[str, Parameter]) -> tuple[Program, list[str], list[SymTensor]]:
    """The same over parameters that are there."""
    module = recomposed(module)
    types, names = input_types(module), output_names(module)
    program = Program()
    tracer = program._tracer
    with outside(), tracer:
        inputs = {name: paddle.static.data(name, t.shape, t.dtype) for name, t in types.items()}
        try:
            outputs = [tracer.tensor(y) for y in Values(module, held, inputs).run()]
        except REFUSALS as error:
            raise FormatError(located(error)) from error
        # Two results of one value are two variables, and so are an input and a result that is nothing else.
        taken = {id(x) for x in inputs.values()}
        for i, (y, name) in enumerate(zip(outputs, names, strict=True)):
            if id(y) in taken:
                outputs[i] = y = tracer.tensor(paddle.assign(y))
            taken.add(id(y))
            y.name = name
            tracer.names.setdefault(name, y)
    return program, list(types), outputs


def give(held: Mapping[str, Parameter], values: Mapping[str, Any], scope: Scope) -> None:
    """Give parameters their values, in a scope."""
    with outside(), no_grad_guard():
        for name, x in held.items():
            value = values[name]
            scope._hold(x, from_numpy(value) if isinstance(value, np.ndarray) else value, kept=True)
