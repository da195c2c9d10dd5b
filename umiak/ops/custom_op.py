"""Operators that users bring: each is a class of ops of its own, of a :class:`Definition`.

Whoever registers one, in Python or for a library in C, fills in a definition and calls :func:`make`. The op then stands
in the registry under its name, ``namespace::operator``, and is recorded, saved, differentiated and sharded as others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from umiak import ops as F
from umiak.core import eager
from umiak.core.context import current, no_grad_guard
from umiak.core.custom_calls import GradientContext, OtherClass
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ir.expr import ConditionUnknown, NumberUnknown, Sym
from umiak.ir.meta import Meta
from umiak.ir.registry import REGISTRY
from umiak.ir.scope import Scope, get_scope, symbols_of
from umiak.ir.tracer import DataUnknown, SymTensor, Tracer
from umiak.ops._common import shard_string, zeros
from umiak.ops.arguments import TENSOR, counts, put_together, tensors_in
from umiak.ops.base import Op, OpMeta, param, register
from umiak.ops.schema import Schema
from umiak.util.lazy import loaded

# What code raises that wants data, or a number, where there is a symbol: it cannot be traced.
UNTRACEABLE = (ConditionUnknown, DataUnknown, NumberUnknown)

# What a call is for; the attribute ``use`` of ops.
NODE = "node"  # of a program: gives its results, and new values of what it writes to
CONSTANT = "constant"  # the same, through which no gradient flows
CALL = "call"  # at once: writes into its operands; its gradient is the caller's business
OPEN = "open"  # of a program: a node whose run decides sizes of its results, which are numbers from there on
GRADIENT = "gradient"  # the gradients of operands, of operands, results and gradients of the results; and of these

# What gives the results of a call back, in attributes of ops.
PACKINGS: dict[str, type] = {"none": type(None), "one": Tensor, "list": list, "tuple": tuple}
PACKING_NAMES = {packing: name for name, packing in PACKINGS.items()}

EVERY_DEVICE = ""


class OtherResults(ValueError):
    """Results of a function that are not of the sizes and dtypes that were inferred."""


class SizesOpen(DataUnknown):
    """Rules of an operator that leave sizes of its results to its run."""


class ShapeTracer(Tracer):
    """Traces a function of shapes (``register_fake``), which may ask for sizes that only the data decide."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.sizes: set[Sym] = set()  # that it has asked for
        self._before = len(scope.guards), len(scope.checks), scope.local
        self._forget: Callable[[], None] | None = None  # conditions met since it has asked for a size

    def size_of_data(self, lo: int, hi: int | None) -> Sym:
        """A new size from ``lo`` to ``hi`` that the data decide."""
        self._forget = self._forget or self.scope.met()
        if (local := self._before[2]) is not None:
            self.scope.local = lambda c, message: self.sizes.isdisjoint(symbols_of(c)) and local(c, message)
        size = self.scope.symbol("int", None, lo, hi, f"data{len(self.sizes)}")
        self.scope.bound.add(size)
        self.sizes.add(size)
        return size

    def forget_sizes(self) -> list[Sym]:
        """Take these sizes out of the scope, whose program has no values for them. Return conditions that have asked
        for them, which are forgotten."""
        if self._forget is None:
            return []
        scope, (guards, checks, scope.local) = self.scope, self._before
        scope.bound -= self.sizes
        scope.symbols[:] = [s for s in scope.symbols if s not in self.sizes]
        asked = [*scope.guards[guards:], *(c.condition for c in scope.checks[checks:])]
        asked = [c for c in asked if not self.sizes.isdisjoint(symbols_of(c))]
        if asked:
            self._forget()
        return asked


def shape_tracer() -> ShapeTracer | None:
    """The tracer of the function of shapes that is running, or None outside of one."""
    trace = current().trace
    return trace[-1] if trace and isinstance(trace[-1], ShapeTracer) else None


@dataclass(eq=False)
class Definition:
    """Facts of an operator; rules may be set later, followed by :meth:`changed`.

    ``kernels``: by device type (``EVERY_DEVICE``: for those without one) the function of the arguments that computes
    results. ``fake``: the function of the arguments that makes results of the right shapes and dtypes, without data.
    ``infer``: the same over metas and numbers, which takes its place; it may give sizes of -1, which the data decide.
    ``infer_open``: the same, with -1 also for sizes that it cannot tell by sizes of operands alone.
    ``is_open``: it has given some, so that calls at once do without it. ``varies``: numbers or sizes have decided
    ranks or dtypes of results, so that calls at once ask which op takes them (:meth:`CustomOp.for_results`).
    ``native``: gives a kernel of a class of calls (``compiler.plan.Call`` to ``backends.Kernel``), or None where a
    function is to run. ``backward`` and ``setup``: the gradient, and what it keeps. ``sharding``: a rule in the words
    of docs/design/spmd.md, or a function of shapes that gives one.
    """

    schema: Schema
    kernels: dict[str, Callable[..., Any]] = field(default_factory=dict)
    fake: Callable[..., Any] | None = None
    infer: Callable[..., Any] | None = None
    infer_open: Callable[..., Any] | None = None
    is_open: bool = False
    varies: bool = False
    native: Callable[[Any], Any] | None = None
    backward: Callable[..., Any] | None = None
    setup: Callable[..., Any] | None = None
    sharding: str | Callable[..., str] | None = None
    tags: tuple = ()
    op: Any = None  # the class of ops

    @property
    def name(self) -> str:
        return self.schema.name

    @property
    def is_node(self) -> bool:
        """Return whether the sizes of results are known without computing them, so that it is a call in programs."""
        return self.fake is not None or self.infer is not None

    def body(self, place: Place) -> Callable[..., Any]:
        """The function for tensors of a place. NotImplementedError where there is none."""
        kernel = self.kernels.get(place.device_type) or self.kernels.get(EVERY_DEVICE)
        if kernel is None:
            raise NotImplementedError(
                f"[{self.name}] requires a kernel for {place.device_type!r}, got those for "
                f"{sorted(self.kernels) or 'no device'}. Register one with register_kernel({place.device_type!r})"
            )
        return kernel

    def changed(self) -> None:
        """Plans hold what the rules were, and ops what these gave: make them anew."""
        self.varies = False
        for op in self.op._instances.values():
            op.clear()
            op.seen.clear()
            op.traceable.clear()


def gradients_of(name: str, form: Sequence[Any], returned: Any) -> list[Any]:
    """A gradient, or None, of each operand of a call of this form, of what ``backward`` has returned."""
    given = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    if len(given) == len(form):
        gradients: list[Any] = []
        for entry, g in zip(form, given, strict=True):
            if entry == TENSOR:
                gradients.append(g)
            elif g is None:
                gradients += [None] * counts([entry])[0]
            elif isinstance(g, (list, tuple)) and type(entry) is tuple and len(g) == len(entry) - 1:
                gradients += gradients_of(name, entry[1:], g)
            else:
                raise ValueError(
                    f"[{name}] requires from backward a list of gradients for a list of tensors, and None for what is "
                    f"no tensor, got {type(g).__name__}"
                )
    elif len(given) == counts(form)[0]:
        gradients = given
    else:
        raise ValueError(
            f"[{name}] requires a gradient from backward for each of its {len(form)} arguments (None for what has "
            f"none), got {len(given)}"
        )
    for g in gradients:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"[{name}] requires tensors or None from backward, got {type(g).__name__}")
    return gradients


def listed(result: Any) -> list[Any]:
    """The results of a function: none, one, or several in a tuple or list."""
    return [] if result is None else list(result) if isinstance(result, (tuple, list)) else [result]


def prepared(definition: Definition, args: Sequence[Any], needs: tuple, results: Any) -> GradientContext:
    """The context in which ``setup_context`` has kept what ``backward`` wants."""
    ctx = GradientContext()
    ctx.needs_input_grad = needs
    if definition.setup is not None:
        with no_grad_guard():
            definition.setup(ctx, args, results)
    return ctx


def pulled(
    definition: Definition, form: Sequence[Any], ctx: GradientContext, grads: Sequence[Any], packing: Any
) -> list[Any]:
    """Gradients of the operands, from those of the results, of ``backward``."""
    assert definition.backward is not None
    # Of a list of results, the gradients are one list.
    given = (list(grads),) if packing is list else grads
    return gradients_of(definition.name, form, definition.backward(ctx, *given))


def of_dtypes(gradients: list[Any], dtypes: Sequence[Any]) -> list[Any]:
    """Gradients in the dtypes of the operands; of complex ones for real operands the real part."""
    for i, (g, dtype) in enumerate(zip(gradients, dtypes, strict=True)):
        if g is not None and g.dtype is not dtype and dtype.is_continuous:
            gradients[i] = F.cast(F.real(g) if g.dtype.is_complex and not dtype.is_complex else g, dtype=dtype)
    return gradients


def run_backward(
    definition: Definition, form: Sequence[Any], args: Sequence[Any], results: Any, grads: Sequence[Any]
) -> list[Any]:
    """Gradients of the operands, from those of the results (None for absent ones)."""
    needs = tuple(isinstance(x, Tensor) and not x.stop_gradient for x in args)
    ctx = prepared(definition, tuple(args), needs, results)
    if ctx.materialize_grads:
        ys = listed(results)
        grads = [zeros(y) if g is None and y.dtype.is_continuous else g for y, g in zip(ys, grads, strict=True)]
    gradients = pulled(definition, form, ctx, grads, type(results))
    return of_dtypes(gradients, [x.dtype for x in tensors_in(args)])


def gives_constants(definition: Definition, ctx: GradientContext, kept: Sequence[Any], grads: Sequence[Any]) -> bool:
    """Return whether ``backward`` computes with tensors alone, so that what has no history there is a constant."""
    assert definition.backward is not None
    with Tracer(Scope()) as tracer:

        def traced(x: Any) -> Any:
            return tracer.input(Meta(tuple(x.shape), x.dtype)) if isinstance(x, Tensor) else x

        own = GradientContext()
        own.kept, own.needs_input_grad = tuple(map(traced, kept)), ctx.needs_input_grad
        vars(own).update({name: traced(value) for name, value in vars(ctx).items()})
        try:
            definition.backward(own, *([traced(x) for x in g] if isinstance(g, list) else traced(g) for g in grads))
        except UNTRACEABLE:
            return False
    return True


def refuse_constants(name: str, given: Sequence[Tensor]) -> None:
    """Refuse to differentiate gradients that have no history, where gradients other than 0 have come for them."""
    if any(bool(F.any(F.ne(g, zeros(g)), tuple(range(g.ndim)))) for g in given):
        raise RuntimeError(
            f"[{name}] requires gradients that backward computes with tensors, to differentiate them again, got some "
            "with stop_gradient=True. Detach them where they are constants, or compute them without NumPy."
        )


class CustomOp(Op):
    """A call of a user's operator: base of the classes that :func:`make` makes.

    ``form`` says how operands, ints and floats are put together (``ops/arguments.py``), ``use`` what the call is for.
    ``given`` is of gradients: how results were given back, and which of them have a gradient, for each order; of open
    nodes: for each result the axes whose sizes its run decides. Those sizes stand behind the ints of the form.
    ``results`` has dtype and rank of each result where the classes of operands do not decide them, ``container``
    what gives them back where that is not the same for all calls.
    """

    inputs = ("*xs",)
    form: tuple
    use: str = NODE
    given: tuple = ()
    results: tuple = ()
    container: str = ""
    ints: tuple = param("ints", default=())
    floats: tuple = param("floats", default=())
    amp = "keep"
    random = True  # it may draw, so that no two calls are one
    variadic_outputs: ClassVar[bool] = True
    binds: ClassVar[tuple] = ()

    definition: ClassVar[Definition]

    def bind(self) -> None:
        super().bind()
        uses = NODE, CONSTANT, OPEN, CALL, GRADIENT
        if self.use not in uses:
            raise ValueError(f"{self.use!r} is no use of {self.name}: they are {', '.join(uses)}")
        self.is_node = self.use in (NODE, CONSTANT, OPEN)
        self.tensors, self.n_ints, self.n_floats = counts(self.form)
        self.binds = (("ints", self.n_ints),) if self.use == OPEN else ()  # type: ignore[misc]
        if self.use not in (NODE, GRADIENT) and not (self.use == OPEN and self.definition.backward is not None):
            self.vjp = None  # type: ignore[assignment, method-assign]
        schema = self.definition.schema
        # Where the operands of each argument begin, and the operands that are written to.
        self.starts = [counts(self.form[:i])[0] for i in range(len(self.form) + 1)]
        self.written = [at for i in schema.written for at in range(self.starts[i], self.starts[i + 1])]
        # What gives nothing is called for what it does.
        self.effect = "python" if self.is_node and schema.count == 0 and not self.written else None  # type: ignore[misc]
        # What gives results back, once they were inferred; of one op always the same, as others may be calling it.
        self.packing: type | None = PACKINGS.get(self.container)
        # By classes of operands, those of results in the first such call; by None, its packing.
        self.seen: dict[Any, Any] = {}
        self.traceable: dict[tuple, bool] = {}  # by class of calls, whether gradients flow through the function

    def fail(self, kind: type[Exception], required: str, got: Any, hint: str = "") -> Any:
        """Raise ``kind`` in the name of the operator: users know it, whatever function calls it."""
        raise kind(f"[{self.name}] requires {required}, got {got}" + (f". {hint}" if hint else ""))

    def arguments(self, tensors: Sequence[Any], ints: Sequence[Any], floats: Sequence[Any]) -> list[Any]:
        """The arguments of a call of these parts."""
        if (len(tensors), len(ints), len(floats)) != (self.tensors, self.n_ints, self.n_floats):
            self.fail(
                ValueError,
                f"{self.tensors} tensors, {self.n_ints} ints and {self.n_floats} floats for the form {self.form}",
                f"{len(tensors)}, {len(ints)} and {len(floats)}",
            )
        return put_together(self.form, tensors, ints, floats)

    def infer(self, *parts: Any) -> Any:
        *metas, ints, floats = parts
        if any(m is None or m.weak is not None for m in metas):
            self.fail(TypeError, "tensors as operands", metas)
        if self.use == GRADIENT:
            before = metas[: len(metas) - sum(self.given[-1])] if len(self.given) > 2 else metas[: self.tensors]
            return tuple(Meta(tuple(m.shape), m.dtype) for m in before if m.dtype.is_continuous)
        outputs, packing = self._inferred(metas, ints[: self.n_ints], floats)
        if self.use == OPEN:
            outputs = self._with_sizes(outputs, ints[self.n_ints :])
        elif axes := open_axes(outputs):
            raise SizesOpen(
                f"[{self.name}] requires sizes of its results that are known before it runs to be a call in a program, "
                f"got data that decide those along axes {list(axes)} of its results"
            )
        self._check_class(metas, outputs, packing)
        if self.is_node:
            outputs += [Meta(tuple(metas[i].shape), metas[i].dtype) for i in self.written]
        return tuple(outputs)

    def _check_class(self, metas: Sequence[Meta], outputs: Sequence[Meta], packing: type) -> None:
        """Plans are of one class of results for each of operands: others are for another op."""
        classes = tuple((m.dtype, len(m.shape)) for m in outputs)
        known = self.results or self.seen.setdefault(tuple((m.dtype, len(m.shape)) for m in metas), classes)
        name, own = PACKING_NAMES[packing], PACKING_NAMES[self._packing_of(packing)]
        if (classes, name) != (known, own):
            raise OtherClass(
                f"[{self.name}] requires results of dtypes and ranks {_shown(known)} ({own}) in this call of a "
                f"program, got {_shown(classes)} ({name}) from its rules for other numbers or sizes",
                (classes, name),
            )

    def _packing_of(self, packing: type) -> type:
        """The packing of all calls of this op: that of the first one, of several at once of any."""
        self.packing = known = PACKINGS[self.container] if self.container else self.seen.setdefault(None, packing)
        return known

    def for_results(self, metas: Sequence[Meta], ints: Sequence[Any], floats: Sequence[Any]) -> CustomOp:
        """The op that takes a call at once, of an operator whose ranks or dtypes of results vary."""
        try:
            self.infer(*metas, ints, floats)
        except OtherClass as error:
            return self.with_results(error)
        return self

    def with_results(self, error: OtherClass) -> CustomOp:
        """The op of the same calls, where they have the results that an error tells."""
        return type(self)(self.form, self.use, self.given, *error.results)

    def _with_sizes(self, outputs: Sequence[Meta], sizes: Sequence[Any]) -> list[Meta]:
        """Results with the sizes that a run decides."""
        given, axes_now = self.given or ((),) * len(outputs), open_axes(outputs) or ((),) * len(outputs)
        fits = len(given) == len(outputs) and all(set(a) <= set(b) for a, b in zip(axes_now, given, strict=True))
        if not fits or len(sizes) != sum(map(len, given)):
            self.fail(
                ValueError, f"results of which data decide the sizes along axes {list(self.given)}, as in the program",
                f"{list(axes_now)} from its rules, and {len(sizes)} sizes",
            )  # fmt: skip
        rest = iter(sizes)
        results = []
        for m, axes in zip(outputs, given, strict=True):
            own = {d: next(rest) for d in axes}
            results.append(Meta(tuple(own.get(d, n) for d, n in enumerate(m.shape)), m.dtype))
        return results

    def open_axes(self, metas: Sequence[Meta], ints: Sequence[Any], floats: Sequence[Any]) -> tuple:
        """For each result of an open call the axes whose sizes its run decides; none where the rules tell all."""
        return open_axes(self._inferred(metas, ints, floats)[0])

    def _inferred(self, metas: Sequence[Meta], ints: Sequence[Any], floats: Sequence[Any]) -> tuple[list[Meta], type]:
        """The results, and what gives them back."""
        definition = self.definition
        if definition.infer is not None:
            infer = (self.use == OPEN and definition.infer_open) or definition.infer
            result = infer(*self.arguments(metas, ints, floats))
            outputs = listed(result)
        elif definition.fake is None:
            self.fail(TypeError, "a function of shapes", "none", "Register one with register_fake.")
        else:
            result, outputs = self._faked(metas, ints, floats)
        count = definition.schema.count
        if count is not None and len(outputs) != count:
            self.fail(ValueError, f"{count} results from register_fake, as its schema says", len(outputs))
        kinds = (k for k in (list, tuple) if isinstance(result, k))
        return outputs, type(None) if result is None else next(kinds, Tensor)

    def _faked(self, metas: Sequence[Meta], ints: Sequence[Any], floats: Sequence[Any]) -> tuple[Any, list[Meta]]:
        """Results of the function of shapes, and their metas: -1 for sizes that it has left to the data."""
        definition = self.definition
        assert definition.fake is not None
        with ShapeTracer(get_scope() or Scope()) as tracer:
            xs = [tracer.input(m, stop_gradient=True) for m in metas]
            asked: list[Any] = []
            result = None
            try:
                result = definition.fake(*self.arguments(xs, ints, floats))
            except DataUnknown as error:
                raise DataUnknown(
                    f"[{self.name}] requires a function of shapes (register_fake) that reads no data: {error}"
                ) from error
            except ConditionUnknown as error:
                if tracer.sizes.isdisjoint(symbols_of(error.condition)):
                    raise
                asked = [error.condition]
            finally:
                asked += tracer.forget_sizes()
        if asked:
            self.fail(
                SizesOpen, "a function of shapes (register_fake) that does not branch on sizes that data decide",
                f"one that asks for {asked[0]}", "Say between which numbers they are: new_dynamic_size(min=1).",
            )  # fmt: skip
        for x in listed(result):
            if not isinstance(x, Tensor):
                self.fail(TypeError, "tensors from register_fake", type(x).__name__)
        sizes = tracer.sizes
        return result, [
            Meta(tuple(-1 if sizes and not sizes.isdisjoint(symbols_of(n)) else n for n in x.shape), x.dtype)
            for x in listed(result)
        ]

    def packed_up(self, results: Sequence[Any]) -> Any:
        """Results as the operator gives them back: one, a tuple or a list; without new values of what it writes to."""
        if self.packing is type(None):
            return None
        if self.packing is Tensor:
            return results[0]
        results = results[: len(results) - (len(self.written) if self.is_node else 0)]
        return list(results) if self.packing is list else tuple(results)

    # --- what it computes

    def run(self, operands: Sequence[Tensor], ints: Sequence[int], floats: Sequence[float], place: Place) -> tuple:
        """The results over tensors with data."""
        if self.use == GRADIENT:
            return self._gradients(operands, ints, floats)
        args = self.arguments(operands, ints, floats)
        if self.use == CALL:
            return tuple(listed(self.definition.body(place)(*args)))
        return tuple(self.functional(args, place))

    def measured(
        self, operands: Sequence[Tensor], ints: Sequence[Any], floats: Sequence[Any]
    ) -> tuple[list[Any], list[int]]:
        """The results of an open node for the ints and floats of its form, and the sizes of their open axes."""
        place = operands[0].place if operands else current().place
        with no_grad_guard(), _amp_off():
            results = self.functional(self.arguments(operands, ints, floats), place)
        metas = [Meta(tuple(x.shape), x.dtype) for x in operands]
        self._compare(results, self._inferred(metas, ints, floats)[0], place, "its declaration")
        return results, [y.shape[d] for y, axes in zip(results, self.given, strict=False) for d in axes]

    def refuse(self, operands: tuple, params: tuple, results: tuple, written: int) -> None:
        """Raise the error for results that are not those that were inferred, or for an operand that was written to."""
        if written >= 0:
            at = next(i for i in range(len(self.form)) if self.starts[i + 1] > written)
            self.fail(
                RuntimeError, "a function that writes to its mutates_args alone",
                f"one that writes to {self.definition.schema.arguments[at].name!r}", "Name it in mutates_args.",
            )  # fmt: skip
        wanted = self.infer(*(Meta(tuple(x.shape), x.dtype) for x in operands), *params)
        shapes = "register_fake" if self.definition.infer is None else "its declaration"
        self._compare(
            results, wanted, operands[0].place, "the gradients' arguments" if self.use == GRADIENT else shapes
        )
        self.fail(TypeError, "dense tensors as results", [type(r).__name__ for r in results])

    def _compare(self, results: Sequence[Any], wanted: Sequence[Meta], place: Place, rule: str) -> None:
        """Raise the error for results that are not as ``rule`` says; sizes of -1 are any."""
        if len(results) != len(wanted):
            self.fail(OtherResults, f"{len(wanted)} results, as {rule} says", len(results))
        for i, (r, m) in enumerate(zip(results, wanted, strict=True)):
            if not isinstance(r, Tensor):
                self.fail(TypeError, f"a tensor as result {i}", type(r).__name__)
            same = len(r.shape) == len(m.shape) and all(b in (a, -1) for a, b in zip(r.shape, m.shape, strict=True))
            if not same or r.dtype is not m.dtype:
                assert m.dtype is not None
                self.fail(
                    OtherResults, f"result {i} to be {m.dtype.name} of shape {list(m.shape)}, as {rule} says",
                    f"{r.dtype.name} of shape {list(r.shape)} from its function",
                )  # fmt: skip
            if r.place is not place:
                self.fail(ValueError, f"result {i} on the place of its operands, {place.name}", r.place.name)

    def functional(self, args: Sequence[Any], place: Place) -> list[Any]:
        """The results, and new values of what the function writes to, which is left as it is."""
        args = list(args)
        for i in self.definition.schema.written:
            x = args[i]
            args[i] = type(x)(map(_copied, x)) if isinstance(x, (list, tuple)) else _copied(x)
        return [
            *listed(self.definition.body(place)(*args)),
            *tensors_in([args[i] for i in self.definition.schema.written]),
        ]

    def _gradients(self, operands: Sequence[Tensor], ints: Sequence[int], floats: Sequence[float]) -> tuple:
        """``backward`` over data: what cannot be traced runs in this way. So do its gradients."""
        if len(self.given) == 2:
            slopes = self._pulled(2, operands, ints, floats)
        else:
            with _recorded():
                operands = [_leaf(x) for x in operands]
                slopes = self._pulled(len(self.given), operands, ints, floats)
        # Gradients of gradients are of all but the newest gradients, those of results of the operands alone.
        before = operands[: self.tensors if len(self.given) == 2 else len(operands) - sum(self.given[-1])]
        xs = [x for x in before if x.dtype.is_continuous]
        return tuple(zeros(x) if g is None else g for x, g in zip(xs, slopes, strict=True))

    def _pulled(self, depth: int, operands: Sequence[Tensor], ints: Sequence[int], floats: Sequence[float]) -> list:
        """Gradients of operands that can have one, None where there is none."""
        if depth == 2:
            xs, rest = operands[: self.tensors], operands[self.tensors :]
            kind, present = self.given[:2]
            ys, present_grads = rest[: len(present)], iter(rest[len(present) :])
            grads = [next(present_grads) if there else None for there in present]
            outputs = run_backward(self.definition, self.form, self.arguments(xs, ints, floats), _as(kind, ys), grads)
            return [g for x, g in zip(xs, outputs, strict=True) if x.dtype.is_continuous]
        present = self.given[depth - 1]
        before, given = operands[: len(operands) - sum(present)], operands[len(operands) - sum(present) :]
        results = [y for y, there in zip(self._pulled(depth - 1, before, ints, floats), present, strict=True) if there]
        pairs = [(y, g) for y, g in zip(results, given, strict=True) if y is not None]
        refuse_constants(self.name, [g for y, g in pairs if y.stop_gradient])
        pairs = [(y, g) for y, g in pairs if not y.stop_gradient]
        xs = [x for x in before if x.dtype.is_continuous]
        return list(GRADIENTS([y for y, _ in pairs], xs, [g for _, g in pairs])) if pairs else [None] * len(xs)

    # --- rules

    def vjp(self, s: Any, *grads: Any) -> Any:
        definition = self.definition
        ints, floats = s.params.ints[: self.n_ints], s.params.floats
        if self.use == GRADIENT:
            op = type(self)(self.form, GRADIENT, (*self.given, tuple(g is not None for g in grads)))
            rest = iter(eager.apply(op, (*s.inputs, *(g for g in grads if g is not None)), (ints, floats)))
            return tuple(next(rest) if x.dtype.is_continuous else None for x in s.inputs)
        args = self.arguments(s.inputs, ints, floats)
        if definition.backward is None:
            return self._through(s, args, grads)
        packing = self.packing
        if packing is None:  # of a program that was read from a file
            metas = [Meta(tuple(x.shape), x.dtype) for x in s.inputs]
            packing = self._packing_of(self._inferred(metas, ints, floats)[1])
        try:
            return tuple(run_backward(definition, self.form, args, self.packed_up(s.outputs), grads))
        except UNTRACEABLE:
            pass
        op = type(self)(self.form, GRADIENT, (PACKING_NAMES[packing], tuple(g is not None for g in grads)))
        outputs = eager.apply(op, (*s.inputs, *s.outputs, *(g for g in grads if g is not None)), (ints, floats))
        rest = iter(outputs)
        return tuple(next(rest) if x.dtype.is_continuous else None for x in s.inputs)

    def _through(self, s: Any, args: Sequence[Any], grads: Sequence[Any]) -> Any:
        try:
            return THROUGH(lambda: tuple(self.functional(args, s.inputs[0].place)), s.inputs, grads)
        except UNTRACEABLE as error:
            raise RuntimeError(
                f"[{self.name}] requires a gradient (register_autograd), or a function that computes with tensors "
                f"alone, to be differentiated in a program, got one that reads data: {error}"
            ) from error

    def shard(self, *parts: Any) -> str:
        *metas, ints, floats = parts
        rule = self.definition.sharding
        if rule is not None and self.is_node and self.use != OPEN:
            return rule if isinstance(rule, str) else rule(*self.arguments(metas, ints, floats))
        results = self.infer(*parts)
        names = [[f"x{i}_{d}" for d in range(len(m.shape))] for i, m in enumerate(metas)]
        return shard_string(
            names, [["1"] * len(m.shape) for m in results], **{f: "replicated" for own in names for f in own}
        )


@contextmanager
def _amp_off() -> Iterator[None]:
    ctx = current()
    level, dtype, lists = ctx.amp()
    ctx.set_amp(0, dtype, 0)
    try:
        yield
    finally:
        ctx.set_amp(level, dtype, lists)


def _shown(classes: Sequence[tuple]) -> str:
    return ", ".join(f"{dtype.name} of rank {rank}" for dtype, rank in classes) or "none"


@contextmanager
def _recorded() -> Iterator[None]:
    ctx = current()
    former, ctx.grad_enabled = ctx.grad_enabled, True
    try:
        yield
    finally:
        ctx.grad_enabled = former


def open_axes(metas: Sequence[Meta]) -> tuple:
    """For each result the axes whose sizes are -1; nothing where none is."""
    axes = tuple(tuple(d for d, n in enumerate(m.shape) if type(n) is int and n < 0) for m in metas)
    return axes if any(axes) else ()


def _copied(x: Any) -> Any:
    if not isinstance(x, Tensor):
        return x
    return F.copy(x.detach() if x.stop_gradient else x)


def _as(kind: str, ys: Sequence[Any]) -> Any:
    return ys[0] if kind == "one" else list(ys) if kind == "list" else tuple(ys)


def _leaf(x: Tensor) -> Tensor:
    x = x.detach()
    x.stop_gradient = not x.dtype.is_continuous
    return x


def _unset(function: Any, inputs: Any, grads: Sequence[Any]) -> tuple:
    raise RuntimeError("gradients of functions require the engine, got umiak.ops alone. Import umiak")


# Gradients of recorded tensors, None of those that have none: (results, operands, gradients of the results). Likewise.
GRADIENTS: Callable[..., Any] = _unset

# Gradients through the operations of a function: (function, inputs, gradients of its results). The layer above sets it.
THROUGH: Callable[..., tuple] = _unset


def traceable(op: CustomOp, metas: Sequence[Meta], ints: Sequence[Any], floats: Sequence[Any], place: Place) -> bool:
    """Return whether gradients flow through operations of the function: it computes with tensors alone."""
    try:
        with Tracer(Scope()) as tracer:
            xs = [tracer.input(Meta(tuple(m.shape), m.dtype)) for m in metas]
            results = op.functional(op.arguments(xs, ints, floats), place)
    except UNTRACEABLE:
        return False
    return all(isinstance(x, SymTensor) for x in results) and any(not x.stop_gradient for x in results)


def make(definition: Definition) -> Any:
    """Enter an operator in the registry: its class of ops."""
    if definition.name in REGISTRY:
        raise ValueError(
            f"[custom_op] requires a name that is free, got {definition.name!r}, which is registered already"
        )
    fields = {"definition": definition, "__doc__": f"The operator {definition.schema}.", "__module__": __name__}
    cls = OpMeta("Custom", (CustomOp,), fields)
    cls.name = definition.name
    definition.op = register(cls)
    return cls


def take_out(definition: Definition) -> None:
    """Take an operator out of the registry; programs that have it keep it."""
    REGISTRY.pop(definition.name, None)


loaded(__name__)
