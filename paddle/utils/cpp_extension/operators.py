"""Operators that a library in C++ declares, as operators of users like any other (``umiak/ops/custom_op.py``).

``PD_BUILD_OP(relu)`` becomes ``cpp::relu``. The kernel is the operator's function on every device. Inputs that it
writes to are copied first: the operator gives new values, and the function of the module assigns them to what was
passed; so gradients and programs need nothing more.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from paddle.library.custom_op import CustomOpDef
from paddle.library.registry import PYTHON_OP_REGISTRY
from paddle.utils.cpp_extension.overlaps import copies_of, sharing
from paddle.utils.cpp_extension.placement import rule
from paddle.utils.cpp_extension.shapes import default_sources, dtypes_of, like, shapes_of
from paddle.utils.cpp_extension.variables import Variable, attribute, count, flattened, grouped, variable
from umiak import ops as F
from umiak.core import python_nodes
from umiak.core.context import is_tracing, no_grad_guard
from umiak.core.custom_calls import GradientContext
from umiak.core.extension import Declaration
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor
from umiak.ir.meta import Meta
from umiak.ir.tracer import DataUnknown, SymTensor
from umiak.ops.custom_op import EVERY_DEVICE, OtherResults, SizesOpen, take_out
from umiak.ops.schema import Argument, Schema

NAMESPACE = "cpp"

OPERATORS: dict[str, CppOperator] = {}  # those of loaded libraries


class CppOperator:
    """An operator, its gradient where there is one, and the function that programs call."""

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self.name = declaration.name
        try:
            self.inputs = tuple(map(variable, declaration.inputs))
            self.outputs = tuple(map(variable, declaration.outputs))
            attributes = [attribute(text) for text in declaration.attributes]
        except ValueError as error:
            raise self._refused(str(error)) from None
        self.attributes = tuple(a[0] for a in attributes)
        pairs = declaration.inplace
        names, results = [v.text for v in self.inputs], [v.text for v in self.outputs]
        # For an output, the input that the kernel writes it to.
        self.inplace = {results.index(y): names.index(x) for x, y in zip(pairs[::2], pairs[1::2], strict=True)}
        arguments = [
            Argument(v.argument, "Tensor", v.vector, v.optional, v.vector and v.optional) for v in self.inputs
        ] + [Argument(name, word, listed) for name, word, listed in attributes]
        if len({a.name for a in arguments}) != len(arguments):
            raise self._refused(f"arguments of different names are required, got {[a.name for a in arguments]}")
        if not self.outputs or not declaration.runs:
            raise self._refused("Outputs and a kernel (SetKernelFn) are required, got none")
        self.is_fixed = not any(v.vector or v.optional for v in self.outputs)
        written = [self.inputs[i] for i in self.inplace.values()]
        self._is_flat = self.is_fixed and not any(v.vector or v.optional for v in written)  # one tensor each
        self._ones = (1,) * len(self.outputs)
        self._writes_several = len(written) > 1 or any(v.vector for v in written)
        self.schema = Schema(
            f"{NAMESPACE}::{self.name}", tuple(arguments), ("Tensor",) * len(self.outputs) if self.is_fixed else None
        )
        self.sources = default_sources(self.inputs, self.outputs, self.inplace)
        self.operator: CustomOpDef = CustomOpDef.__new__(CustomOpDef)

    def _refused(self, text: str) -> ImportError:
        d = self.declaration
        return ImportError(f"[{d.name}] {text} ({d.file}:{d.line})")

    def register(self, gradient: CppOperator | None) -> None:
        """Enter the operator in the registry. ``gradient``: its gradient operator, registered before."""
        self.operator._enter(self.schema, None, None, ())
        definition = self.operator.definition
        definition.kernels[EVERY_DEVICE] = self.compute
        if self.declaration.infers_shape or self.sources is not None:
            definition.infer = self.infer
            definition.infer_open = functools.partial(self.infer, leave=True)
        if self.declaration.places:
            definition.sharding = lambda *args: rule(self.declaration, args, self.infer)
        if gradient is not None:
            link = GradientLink(self, gradient)
            definition.setup, definition.backward = link.keep, link.pull

    # --- what it computes

    def counts(self, args: Sequence[Any]) -> tuple[int, ...]:
        """The number of tensors of each output."""
        if self.is_fixed:
            return self._ones
        counts = []
        for j, y in enumerate(self.outputs):
            at = self.inplace.get(j)
            if at is None and self.sources is not None:
                at = self.sources[j]
            if at is None:
                at = next((i for i, x in enumerate(self.inputs) if x.base == y.base and x.vector == y.vector), None)
            if at is None and (y.vector or y.optional):
                raise ValueError(
                    f"[{self.name}] requires an input that says how many tensors the output {y.text!r} is: one that it "
                    "is written to (SetInplaceMap), or of which it is the gradient"
                )
            counts.append(1 if at is None else count(args[at]))
        return tuple(counts)

    def compute(self, *args: Any, copies: dict[int, Tensor] | None = None) -> Any:
        """The results of the kernel. ``copies``: by identity, where equal operands are one tensor to the caller."""
        counts = self._ones if self.is_fixed else self.counts(args)
        if self.inplace:
            given = list(args)
            for i in self.inplace.values():
                given[i] = _copied(args[i], copies)
            args = tuple(given)
        if self.operator.definition.backward is None:  # what the kernel calls of the library is no gradient of it
            with no_grad_guard():
                results = self.declaration.run(args, counts)
            results = [x if x is None or x.stop_gradient else x.detach() for x in results]  # an input as it was
        else:
            results = self.declaration.run(args, counts)
        if len(results) == 1 and self.is_fixed and results[0] is not None:
            return results[0]
        for i, x in enumerate(results):
            if x is None:
                raise ValueError(
                    f"[{self.name}] requires tensors as results of its kernel, got an undefined one as result {i}"
                )
        return tuple(results)

    def infer(self, *args: Any, leave: bool = False) -> Any:
        """Metas of the results. ``leave``: with -1 for sizes that are no sums of sizes of inputs."""
        counts = self.counts(args)
        if not self.declaration.infers_shape:
            assert self.sources is not None
            metas = like(args, self.sources)
        else:
            metas = self._inferred(args, counts, leave)
        if self.declaration.infers_dtype:
            plain = self._plain(counts)
            dtypes = list(dtypes_of(self.declaration, args))
            if len(dtypes) != len(plain):
                raise ValueError(f"[{self.name}] requires {len(plain)} dtypes from its InferDtypeFn, got {len(dtypes)}")
            for i, dtype in zip(plain, dtypes, strict=True):
                metas[i] = Meta(metas[i].shape, dtype)
        return metas[0] if self.is_fixed and len(metas) == 1 else tuple(metas)

    def _plain(self, counts: Sequence[int]) -> list[int]:
        """Results that are written to no input, by their place among all."""
        plain: list[int] = []
        at = 0
        for j, n in enumerate(counts):
            if j not in self.inplace:
                plain += range(at, at + n)
            at += n
        return plain

    def _inferred(self, args: Sequence[Any], counts: Sequence[int], leave: bool) -> list[Meta]:
        shapes = list(shapes_of(self.declaration, args, leave))
        if len(shapes) != len(self._plain(counts)):
            raise ValueError(
                f"[{self.name}] requires {len(self._plain(counts))} shapes from its InferShapeFn, got {len(shapes)}"
            )
        tensors = flattened(args[: len(self.inputs)])
        if not tensors and not self.declaration.infers_dtype:
            raise ValueError(f"[{self.name}] requires an InferDtypeFn where it gets no tensor, got none")
        dtype = tensors[0].dtype if tensors else None
        rest = iter(shapes)
        metas = []
        for j, n in enumerate(counts):
            if j in self.inplace:
                metas += like(args, [self.inplace[j]])
            else:
                metas += [Meta(tuple(next(rest)), dtype) for _ in range(n)]
        return metas

    def _sizes_are_open(self, got: Any) -> DataUnknown:
        return DataUnknown(f"[{self.name}] requires sizes from its InferShapeFn to be a call in a program, got {got}")

    def leaves_sizes_open(self, error: Exception) -> bool:
        """Was a call refused because a rule that was guessed does not say what the results are like?

        Eager calls can do without: the rule is dropped.
        """
        if (
            is_tracing()
            or self.operator.definition.infer is None
            or not str(error).startswith((f"[{self.name}]", f"[{self.schema.name}]"))
        ):
            return False
        self.operator.definition.infer = None
        self.operator.changed()
        return True

    # --- what programs call

    def function(self) -> Callable[..., Any]:
        """The function of the module."""
        operator = self.operator
        if self.inplace or not self.is_fixed:
            call = self._called
        elif len(self.outputs) == 1:
            call = operator.__call__
        else:

            def call(*args: Any, **kwargs: Any) -> Any:
                return list(operator(*args, **kwargs))

        guessed = not self.declaration.infers_shape

        def function(*args: Any, **kwargs: Any) -> Any:
            try:
                return call(*args, **kwargs)
            except OtherResults as error:
                if not guessed or not self.leaves_sizes_open(error):
                    raise
            except DataUnknown as error:
                if is_tracing():
                    if self.operator.definition.infer is None or isinstance(error, SizesOpen):
                        raise self._sizes_are_open("sizes that its data decide") from error
                    raise
                if isinstance(error, SizesOpen):
                    self.operator.opened()
                elif not self.leaves_sizes_open(error):
                    raise
            return call(*args, **kwargs)

        function.__name__ = function.__qualname__ = self.name
        function.__doc__ = f"The operator {self.schema}, in C++ ({self.declaration.file}:{self.declaration.line})."
        function.__signature__ = inspect.Signature(
            [inspect.Parameter(a.name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for a in self.schema.arguments]
        )
        return function

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        bound = self.schema.bound(args, kwargs)
        if self._writes_several and (shared := self._shared(bound)):
            result = self._called_with_shared_memory(bound, shared)
        else:
            result = self.operator(*bound)
        if self._is_flat:
            results = [result] if isinstance(result, Tensor) else list(result)
        else:
            results = grouped([result] if isinstance(result, Tensor) else result, self.outputs, self.counts(bound))
        for j, i in self.inplace.items():
            if self._is_flat:
                assign(bound[i], results[j])
            else:
                for x, y in zip(flattened([bound[i]]), flattened([results[j]]), strict=True):
                    assign(x, y)
            results[j] = bound[i]
        return results[0] if len(results) == 1 else results

    def _shared(self, bound: Sequence[Any]) -> list[Tensor]:
        """Tensors to write to whose memory is that of others among them, too."""
        written = [bound[i] for i in self.inplace.values()]
        if not self._is_flat:
            written = flattened(written)
        if is_tracing():
            return [x for x in written if sum(x is y for y in written) > 1]
        return sharing(written)

    def _called_with_shared_memory(self, bound: Sequence[Any], shared: Sequence[Tensor]) -> Any:
        """A call that writes to some memory as two arguments, which a program has as two values."""
        tensors = flattened(bound[: len(self.inputs)])
        if is_tracing():
            raise DataUnknown(f"[{self.name}] requires different tensors to write to, got one twice, in a program")
        if self.operator.definition.backward is not None and python_nodes.wants_gradient(tuple(tensors)):
            raise ValueError(
                f"[{self.name}] requires different tensors to write to where a gradient is wanted, got one twice, or "
                "views that overlap"
            )
        with no_grad_guard():
            return self.compute(*bound, copies=copies_of(self.name, shared))


def _copied(x: Any, copies: dict[int, Tensor] | None) -> Any:
    if isinstance(x, Tensor):
        if isinstance(x, SymTensor):
            raise DataUnknown("a kernel in C++ reads data")
        return F.copy(x.detach()) if copies is None or id(x) not in copies else copies[id(x)]
    return [_copied(item, copies) for item in x] if isinstance(x, (list, tuple)) else x


class GradientLink:
    """From an operator to its gradient operator: what is kept for it, and where its results go."""

    def __init__(self, forward: CppOperator, gradient: CppOperator) -> None:
        self.forward, self.gradient = forward, gradient
        self.kept: list[tuple[str, int]] = []  # for each input of the gradient, where it comes from
        for v in gradient.inputs:
            self.kept.append(self._source(v))
        # Of two gradients of one name, that of the variable with fewer is the new one: New(Grad("Out")) is that of Out.
        wanted = {(v.base, v.order + 1, new): i for i, v in enumerate(forward.inputs) for new in (False, True)}
        self.targets: list[int] = []  # for each output of the gradient, the input that it is the gradient of
        for v in gradient.outputs:
            if v.key not in wanted:
                raise gradient._refused(
                    f"outputs that are gradients of {forward.name}'s inputs are required, got {v.text!r}"
                )
            self.targets.append(wanted[v.key])
        missing = [a for a in gradient.attributes if a not in forward.attributes]
        if missing:
            raise gradient._refused(
                f"attributes of {forward.name} ({list(forward.attributes)}) are required, got {missing}"
            )
        self.attributes = [len(forward.inputs) + forward.attributes.index(a) for a in gradient.attributes]

    def _source(self, v: Variable) -> tuple[str, int]:
        f = self.forward
        for place, variables, key in (
            ("gradient", f.outputs, lambda x: (x.base, x.order + 1, x.new)),
            ("input", f.inputs, lambda x: x.key),
            ("output", f.outputs, lambda x: x.key),
        ):
            for i, x in enumerate(variables):
                if key(x) == v.key:
                    return place, i
        raise self.gradient._refused(
            f"inputs and outputs of {f.name}, and gradients of its outputs, are required as inputs, got {v.text!r}"
        )

    def keep(self, ctx: GradientContext, inputs: Sequence[Any], output: Any) -> None:
        """Keep what the gradient operator is called with."""
        f: Any = self.forward
        counts = f.counts(inputs)
        results = grouped([output] if isinstance(output, Tensor) else output, f.outputs, counts)
        # What the kernel writes to is kept as it is afterwards.
        given = list(inputs)
        for j, i in f.inplace.items():
            given[i] = results[j]
        values = [
            None if place == "gradient" else given[i] if place == "input" else results[i] for place, i in self.kept
        ]
        kept: Any = ctx
        kept.sizes = [len(x) if isinstance(x, (list, tuple)) else None if x is None else -1 for x in values]
        kept.counts, kept.numbers = counts, [inputs[i] for i in self.attributes]
        kept.forms = [count(x) if isinstance(x, (list, tuple)) else None for x in inputs]
        ctx.save_for_backward(*flattened(values))

    def pull(self, ctx: Any, *grads: Any) -> Any:
        """The gradients of the operator's arguments."""
        saved = iter(ctx.saved_tensors)
        groups = grouped(grads, self.forward.outputs, ctx.counts)
        args: list[Any] = []
        for (place, i), size in zip(self.kept, ctx.sizes, strict=True):
            if place == "gradient":
                args.append(groups[i])
            else:
                args.append(None if size is None else next(saved) if size < 0 else [next(saved) for _ in range(size)])
        args += ctx.numbers
        result = self.gradient.operator(*args)
        counts = self.gradient.counts(args)
        results = grouped([result] if isinstance(result, Tensor) else result, self.gradient.outputs, counts)
        gradients: list[Any] = [[None] * n if n is not None else None for n in ctx.forms]
        for i, g in zip(self.targets, results, strict=True):
            gradients[i] = None if ctx.forms[i] is None and isinstance(g, list) else g  # of None for a list
        return tuple(gradients)


def registered(declarations: Sequence[Declaration]) -> dict[str, Callable[..., Any]]:
    """Enter operators in the registry, gradients first: the functions of those that programs call."""
    operators = {d.name: CppOperator(d) for d in declarations}
    links = {name: operators.get(f"{name}_grad") for name in operators}
    entered: list[CppOperator] = []
    try:
        for name in sorted(operators, key=len, reverse=True):
            operators[name].register(links[name])
            entered.append(operators[name])
    except BaseException:
        for op in entered:
            take_out(PYTHON_OP_REGISTRY.remove(op.schema.name).definition)
        raise
    OPERATORS.update(operators)
    gradients = {g.name for g in links.values() if g is not None}
    return {name: op.function() for name, op in operators.items() if name not in gradients}
