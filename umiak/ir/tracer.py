"""Tracing: run ordinary tensor code on symbolic tensors and keep the operations.

One tracer serves vjp plans, decompositions, captured functions and static programs. While it is active, dispatch sends
every op to ``slow_path``, which asks the innermost tracer of the thread's context to record it.

Values of a program are immutable, so writes are turned into new values here. A view keeps its parent and its view op; a
write through it makes a ``scatter_view`` of the parent, and so on up to the root; other aliases notice that their
parent has a new value and take their view of it again. What remains of a write to an input is one ``write`` effect.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from umiak.core import context
from umiak.core.context import OBSERVE_TRACE
from umiak.core.node import HookHandle
from umiak.core.tensor import KIND_SYMBOLIC, Tensor
from umiak.ir import sym as dim
from umiak.ir.builder import Builder
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta, Strided, dense
from umiak.ir.overlap import overlapping
from umiak.ir.program import Block, Operand, Operation, Program, Value
from umiak.ir.registry import REGISTRY
from umiak.ir.rewrite import Sweep
from umiak.ir.scope import Scope, usually
from umiak.util.errors import LeafError
from umiak.util.size import Size, count_of, size_of


class DataUnknown(TypeError):
    """The data of a tensor were asked for while the program that computes them is traced."""


class SymTensor(Tensor):
    """A tensor of a program under construction: a dtype, sizes that may be symbolic, and the value it stands for."""

    __slots__ = (
        "_block", "_cut", "_former", "_made", "_own", "_parent", "_parent_shaped", "_quiet", "_seen", "_shaped",
        "_stop", "_strided", "_tracer", "_value", "_view", "_writes",
    )  # fmt: skip

    _value: Value
    _tracer: Tracer | None  # None for a bare stand-in, which has no aliases
    _block: Block | None  # where it was made; a value from inside a region is not kept outside of it
    _parent: SymTensor | None
    _view: tuple[Any, tuple] | None  # view op and params
    _seen: Value | None  # the parent's value that this view was taken of
    _strided: Strided | None
    _stop: bool
    _cut: bool  # whether this shares memory and no history, whatever is written: what detach gives
    _own: bool  # whether this view of a leaf was written to, and has a history apart from the leaf's
    _writes: int  # how many writes its history has seen
    _quiet: int | None  # of a view taken in `no_grad`: the root's count then, until which it is a constant
    _made: bool  # whether its history is that of a value which the program has written to it
    _former: SymTensor | None  # what it was before its shape or dtype was last changed in place
    _shaped: int  # how often that happened
    _parent_shaped: int  # the parent's count when the view was taken

    @property
    def parent(self) -> SymTensor | None:
        """The tensor that this is a view of; where that has another shape by now, its former self."""
        parent = self._parent
        while parent is not None and parent._shaped != self._parent_shaped:
            parent = parent._former
        self._parent = parent
        return parent

    @property
    def value(self) -> Value:
        """The value that the tensor stands for now."""
        if not self.lags():
            return self._value
        assert self.parent is not None
        assert self._tracer is not None
        assert self._view is not None
        base, builder = self.parent.value, self._tracer.builder
        (value,) = builder.append(self._view[0], (base,), self._view[1])
        if self._own:
            value = self._tracer.without_record(self, value)
        value.stop = self.constant()
        if builder.block is self._block:
            self._stop = self.stop_gradient
            self._value, self._seen = value, base
        return value

    def constant(self) -> bool:
        """Return whether it shares memory alone: as what detach gives, or as a view that was taken in ``no_grad``, as
        long as nothing with a history is written to the memory."""
        return self._cut or (self._quiet is not None and self._quiet == self.root()._writes)

    def root(self) -> SymTensor:
        """The tensor whose memory this shares."""
        x = self
        while x.parent is not None and x.shares_memory():
            x = x.parent
        return x

    def lags(self) -> bool:
        """Return whether the parent has another value than when this view was last taken of it."""
        if self._parent is None or not self.shares_memory():
            return False
        assert self.parent is not None
        return self.parent._value is not self._seen or self.parent.lags()

    def shares_memory(self) -> bool:
        """Return whether a view really is one: a reshape of memory with gaps is a copy."""
        return self.strided() is not None and self.parent is not None

    def strided(self) -> Strided | None:
        """The place in the root's memory, roots taken as dense; None for a copy."""
        if self._strided is None:
            parent = self.parent.strided() if self.parent is not None else None
            if self._view is None:
                self._strided = dense(self.meta.shape, self.dtype)
            elif parent is not None:
                self._strided = self._view[0].strides(parent, *self._view[1])
            if self._strided is None:
                # A copy is a root of its own.
                self._parent = self._view = None
        return self._strided

    @property
    def meta(self) -> Meta:
        return self._value.meta

    @property
    def shape(self) -> Size:  # type: ignore[override]
        return size_of(list(self._value.meta.shape))

    @property
    def strides(self) -> list[Any]:  # type: ignore[override]
        """Steps in memory from an element to its neighbour along each dim; arguments are taken as dense."""
        strided = self.strided()
        return list((dense(self.meta.shape) if strided is None else strided).strides)

    @property
    def size(self) -> Any:
        """The number of elements; where it is a known one, ``x.size()`` are the sizes."""
        count = self._count
        return count_of(count, self.shape) if isinstance(count, int) else count

    @property
    def _count(self) -> Any:
        return dim.product(self._value.meta.shape)

    @property
    def place(self) -> Any:  # type: ignore[override]
        """The place where it will be when the program runs."""
        return self._value.place or context.current().place

    @property
    def _base(self) -> SymTensor | None:  # type: ignore[override]
        former, parent = self._former, self.parent
        while parent is not None and former is not None:
            if parent is former:  # only of what it was itself
                return former._base
            parent = parent.parent
        return self.parent

    @property
    def stop_gradient(self) -> bool:
        if self._own or not self.lags():
            return self._stop
        assert self.parent is not None
        return self.constant() or self.parent.stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        if self._tracer is not None and bool(stop) != self.stop_gradient:
            self._tracer.flags(self, bool(stop))
        value = self.value
        self._stop = bool(stop)
        if stop and value.operation is not None:
            value.stop = True

    @property
    def is_leaf(self) -> bool:  # type: ignore[override]
        """Return whether it is what the program is given and no result of it, as far as gradients go."""
        tracer = self._tracer
        return self.stop_gradient or tracer is None or (tracer.given(self) and not self._made) or tracer.makes(self)

    def detach(self) -> SymTensor:
        """The same data, through which no gradient flows; it remains an alias."""
        if self._tracer is None:
            raise RuntimeError("[detach] requires a tensor of a trace, got a bare stand-in of a value")
        return self._tracer.alias(self)

    def detach_(self) -> SymTensor:
        """Forget the history of this tensor."""
        if self._base is not None:
            raise RuntimeError("[detach_] requires a tensor that is not a view of another, got a view. Use detach().")
        if self._tracer is not None and not self._stop:
            self._tracer.flags(self, True)
        if self._tracer is not None and not self._tracer.given(self):
            self._value = self.detach()._value  # what was computed of it before has its history
        self._stop = True
        return self

    def is_contiguous(self) -> bool:
        """Return whether the elements are known to lie dense in memory; arguments are taken as dense."""
        strided = self.strided()
        return strided is None or strided.contiguous

    def register_hook(self, hook: Callable) -> HookHandle:
        """``hook(grad)`` is traced where the gradient of what the tensor stands for now is complete."""
        if self.stop_gradient:
            raise RuntimeError(
                "[register_hook] requires a tensor with stop_gradient=False, got one with stop_gradient=True"
            )
        if self._tracer is None or not self._tracer.captures:
            raise RuntimeError(
                "[register_hook] requires a tensor of a captured function or an eager one, got a bare one"
            )
        if self._tracer.frames and self._block is not self._tracer.builder.block:
            raise RuntimeError(
                "[register_hook] requires a tensor made in the branch or loop body where it gets a hook, got one from "
                "outside. Register the hook there"
            )
        value = self.value
        if value.hooks is None:
            value.hooks = []
        return HookHandle(value.hooks, hook)

    def retain_grads(self) -> None:
        """Have ``.grad`` set by ``backward`` in the captured function."""
        if self.stop_gradient:
            return
        if self._tracer is None or not self._tracer.captures:
            raise RuntimeError(
                "[retain_grads] requires a tensor of a captured function or an eager one, got a bare one"
            )
        if not self.is_leaf:
            self._tracer.retained.append((self, self.value))

    def _refuse(self, *_: Any) -> Any:
        if self._tracer is not None and self._tracer.static:
            raise DataUnknown(
                f"the data of {self!r} are known only while the program runs. Fetch them (Executor.run with "
                "fetch_list), and write a branch or loop on data with paddle.static.nn.cond or while_loop"
            )
        raise DataUnknown(
            f"the data of {self!r} are not known while the program is traced. "
            "Write a branch on data as an op (where, static.nn.cond), and a loop on data as static.nn.while_loop"
        )

    def __len__(self) -> int:
        shape = self._value.meta.shape
        if not shape:
            raise TypeError("len() of a tensor without dims")
        if type(shape[0]) is not int:
            raise DataUnknown(f"the length of {self!r} is not known while the program is traced: use x.shape[0]")
        return shape[0]

    __complex__ = __array__ = _refuse

    def __bool__(self) -> bool:
        # A captured function takes a branch on a tensor as an operation, whatever is known of it.
        return bool(self._number()) if self._tracer is not None and self._tracer.static else self._refuse()

    def _number(self) -> Any:
        """The element as a number that is the same in every run."""
        known = None if self._tracer is None else self._tracer.elements(self)
        number = None if known is None or known.size != 1 else known.item()
        return self._refuse() if number is None or type(number) is Sym else number

    def __float__(self) -> float:
        return float(self._number())

    def numpy(self, blocking: bool = True) -> Any:
        """The elements of a constant of a program; a function that is rewritten does not come here."""
        known = self._tracer.elements(self) if self._tracer is not None and self._tracer.static else None
        if known is None or any(type(n) is Sym for n in known.flat):
            return self._refuse()
        return known.astype(self.dtype.numpy)

    def _elements(self) -> Any:
        """The elements as an array of numbers and symbolic ones, where the tracer knows them; else it is refused."""
        known = None if self._tracer is None else self._tracer.elements(self)
        if known is None and self._tracer is not None:
            known = self._tracer.read(self)
        return self._refuse() if known is None else known

    def item(self, *at: int) -> Any:
        """Return an element, where it is known while the program is recorded: a number, or a symbolic one."""
        return self._elements().item(*at)

    def tolist(self) -> Any:
        """Return the elements, where they are known while the program is recorded."""
        return self._elements().tolist()

    def _int(self) -> int:
        """The element as a Python scalar: not one that the program reads when it runs."""
        known = None if self._tracer is None else self._tracer.elements(self)
        return self._refuse() if known is None else operator.index(known.item())

    __index__ = __int__ = _int

    def __repr__(self) -> str:
        return f"SymTensor({self._value!r})"


def symbolic(value: Value, tracer: Tracer | None = None) -> SymTensor:
    """The tensor that stands for ``value``."""
    out = SymTensor.__new__(SymTensor)
    dtype = value.meta.dtype
    assert dtype is not None
    out._init_symbolic(dtype, len(value.meta.shape))
    out._value = value
    out._tracer = tracer
    out._block = tracer.builder.block if tracer is not None else None
    out._parent = out._view = out._seen = out._strided = out._former = None
    out._shaped = out._parent_shaped = 0
    out._cut = out._made = out._own = False
    out._writes, out._quiet = 0, None
    out._stop = value.stop
    return out


class Frame:
    """Bookkeeping of tensors from outside while a region is traced. ``arguments``: what stands for those of the
    region; ``written``: tensors from outside whose memory was written to."""

    def __init__(self, block: Block, arguments: Sequence[SymTensor]) -> None:
        self.block = block
        self.arguments = arguments
        self.written: dict[int, SymTensor] = {}
        self.used: dict[int, Value] = {}  # results of operations that gradients have gone through for the last time
        self._before: dict[int, tuple] = {}

    def keep(self, x: SymTensor) -> None:
        """Note what a tensor is, to which it goes back."""
        self._before.setdefault(id(x), (x, x._value, x._seen, x._stop, x._made))

    def write(self, target: SymTensor, root: SymTensor) -> None:
        """``target``, a view of ``root`` or itself, is about to be written to."""
        view: SymTensor | None = target
        while view is not None and view is not root:
            self.keep(view)
            view = view.parent
        self.keep(root)
        self.written[id(root)] = root

    def before(self, x: SymTensor) -> Value:
        """The value that a tensor had outside."""
        return self._before[id(x)][1]

    def restore(self) -> None:
        for x, *state in self._before.values():
            x._value, x._seen, x._stop, x._made = state


class Tracer:
    """Records calls into a program. Use as a context manager: ops run inside are recorded here.

    ``expand(op)`` says which composites are recorded as their decomposition.
    """

    # What the tracer of a captured function does about gradients, random streams and reads of data: see
    # umiak/runtime/capture.py. Others leave them alone.
    captures = False
    static = False  # whether it is static mode's, whose program runs later and apart from the code that records it
    entire = False  # whether a captured function is one program or refused: none of it may run apart, with data known
    hooked: Any = None
    gradients: dict[int, tuple[Operation, Callable]] = {}  # by operation: see umiak/autodiff/custom.py
    reserve: Any = None
    reads: Any = None
    used: Any = None
    retained: Any = None
    settled: Any = None
    given_gradient: Any = None

    def __init__(
        self,
        scope: Scope | None = None,
        program: Program | None = None,
        expand: Callable[[Any], bool] | None = None,
    ) -> None:
        self.builder = Builder(program, scope)
        self.scope = self.builder.scope
        self.expand = expand
        self._observers: list[int] = []  # a tracer may be entered again while it is active
        self.home: Any = None  # where the program runs what has no operands
        # Inputs and captured tensors by what stands for them, with the value they came in with.
        self._roots: list[tuple[SymTensor, Value]] = []
        self._captured: dict[int, SymTensor] = {}
        self.frames: list[Frame] = []  # of the regions that are being traced from functions
        self._inner: set[int] = set()  # ids of inputs whose tensors are no leaves: eager calls may write to them
        self._copied: dict[int, tuple[SymTensor, str]] = {}  # by id; see `refuse_writes`
        for name, tensor in self.builder.program.captured.items():
            self._captured[id(tensor)] = self._root(self.builder.program.constants[name])

    @property
    def one_program(self) -> bool:
        """Does all that is recorded become one program? Numbers that it reads from data are symbols there."""
        return self.static or self.entire

    def elements(self, x: SymTensor) -> Any:
        """The elements of a tensor as an array of numbers and symbolic ones, where they are known; else None."""
        return None

    def makes_of_numbers(self, x: Tensor) -> None:
        """Note that a tensor has been made of numbers of Python, which are the same in every run."""

    def makes_of_data(self, x: Tensor) -> None:
        """Note that a tensor has been made of data of Python: of numbers, or of an array."""

    def makes_state(self, x: Tensor) -> None:
        """Note that a layer keeps a tensor as its buffer, or that an optimizer updates it: what is written stays."""

    def from_data(self, number: Sym) -> bool:
        """Do data decide a symbolic number, rather than sizes of inputs?"""
        return False

    def takes_both_ways(self, number: Sym) -> bool:
        """Are both ways of a branch of the user's on a symbolic number recorded, rather than one that is guarded?"""
        return False

    def on_one_way(self) -> AbstractContextManager[Any]:
        """While the gradient of one way of a branch, or of an iteration, is recorded: what it requires of numbers that
        data decide was required there."""
        return nullcontext()

    def read(self, x: SymTensor) -> Any:
        """The elements of a tensor as an array of symbolic numbers that the program reads when it runs; None where it
        cannot."""
        return None

    def __enter__(self) -> Tracer:
        ctx = context.current()
        ctx.trace.append(self)
        if not self._observers:
            self.home = ctx.place
        self._observers.append(ctx.observers)
        # Calls without a symbolic operand belong to the program too: a captured weight may change between runs.
        ctx.observers |= OBSERVE_TRACE
        self.scope.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.scope.__exit__(*exc)
        ctx = context.current()
        ctx.observers = self._observers.pop()
        ctx.trace.pop()

    @property
    def operations(self) -> list[Operation]:
        return self.builder.block.operations

    # --- what comes in

    def _root(self, value: Value) -> SymTensor:
        out = symbolic(value, self)
        out._block = self.builder.program.body
        self._roots.append((out, value))
        return out

    def input(self, meta: Meta, stop_gradient: bool = False) -> SymTensor:
        """A new input of the program."""
        out = self._root(self.builder.input(meta))
        out._block = self.builder.program.body  # also where a region is being traced
        out._stop = stop_gradient
        return out

    def example(self, x: Tensor, dynamic: Iterable[int] | None = None) -> SymTensor:
        """An input like ``x``. The sizes on the axes ``dynamic`` (default: all) are symbols with ``x``'s as hints."""
        axes = range(x.ndim) if dynamic is None else set(dynamic)
        shape = tuple(self.scope.size(hint=n) if axis in axes else n for axis, n in enumerate(x.shape))
        symbolic_input = self._at(self.input(Meta(shape, x.dtype), x.stop_gradient), x)
        self._note_history(symbolic_input, x)
        return symbolic_input

    def _note_history(self, root: SymTensor, x: Tensor) -> None:
        if not x.is_leaf:
            self._inner.add(id(root))

    def _at(self, stand_in: SymTensor, x: Tensor) -> SymTensor:
        """Give the symbolic tensor the place of ``x``."""
        if x.place is not context.current().place:
            stand_in._value.place = x.place
        return stand_in

    def number(self, kind: str = "float", hint: Any = None, name: str | None = None) -> Sym:
        """A number that the caller passes at every run: a learning rate, a random offset."""
        return self.scope.symbol(kind, hint=hint, name=name)

    def capture(self, x: Tensor) -> SymTensor:
        """A concrete tensor met while tracing becomes an input that is bound to it by name."""
        captured = self._captured.get(id(x))
        if captured is None:
            program = self.builder.program
            name = f"c{len(program.captured)}"
            # Held by the program, so that the id stays that of this tensor.
            program.captured[name] = x
            value = self.builder.input(Meta(tuple(x.shape), x.dtype), constant=name)
            captured = self._captured[id(x)] = self._at(self._root(value), x)
            captured._stop = x.stop_gradient
            self._note_history(captured, x)
        return captured

    def tensor(self, x: Tensor) -> SymTensor:
        """Return the symbolic tensor that stands for a tensor in this trace."""
        if not isinstance(x, SymTensor):
            return self.capture(x)
        if x._tracer is not None and x._tracer is not self:
            raise RuntimeError(
                f"{x!r} belongs to another trace. "
                "Pass tensors to a traced function as arguments, and return its results"
            )
        block = x._block
        if block is not None and block is not self.builder.block and not any(block is b for b in self.builder.outer):
            raise RuntimeError(
                f"{x!r} was made inside of a branch or loop body, and is not known outside. Return it from there"
            )
        return x

    def given(self, x: SymTensor) -> bool:
        """Return whether ``x`` is an input or a captured tensor."""
        return any(x is root for root, _ in self._roots)

    def has_owner(self, x: SymTensor) -> bool:
        """Return whether ``x`` stands for a tensor that somebody outside has, who would not see another shape."""
        return self.given(x)

    def gradient_roots(self) -> list[tuple[SymTensor, Value]]:
        """Inputs and captured tensors that gradients are wanted of, with the value they came in with."""
        return [(x, value) for x, value in self._roots if not (x._stop or x._made)]

    def operand(self, x: Any) -> Any:
        """Return the program operand that stands for ``x``."""
        return self.tensor(x).value if isinstance(x, Tensor) else x

    def flags(self, x: SymTensor, stop: bool) -> None:
        """``stop_gradient`` of ``x`` is about to change."""

    def makes(self, x: SymTensor) -> bool:
        """Return whether ``x`` is a leaf, wanting a gradient, that the traced function has made."""
        return False

    # --- calls

    def record(self, op: Any, operands: Iterable[Any], params: Iterable[Any]) -> Any:
        """Append a call; its results as symbolic tensors (a tuple of them where ``infer`` gives a tuple)."""
        operands = tuple(self.tensor(x) if isinstance(x, Tensor) else x for x in operands)
        params = tuple(map(_param, params))
        if self.expand is not None and self.expand(op):
            return op.decompose(*operands, *params)
        op.refuse_absent(operands)
        op.refuse_packed(x.meta for x in operands if isinstance(x, SymTensor))
        results = self.builder.append(op, (x.value if isinstance(x, SymTensor) else x for x in operands), params)
        op.refuse_packed(x.meta for x in results)
        if not any(isinstance(x, SymTensor) for x in operands) and self.home not in (None, context.current().place):
            results = self._elsewhere(results)
        flows = context.current().grad_enabled
        tensors = tuple(self._result(v, flows, operands) for v in results)
        if op.declares_none and not op.other_gradient:
            for x in tensors:
                x._stop = True
        if op.view and len(tensors) == 1 and op.shares(tensors[0].dtype):
            self._link(tensors[0], operands[0], op, params)
            if not flows:
                tensors[0]._quiet = tensors[0].root()._writes
        return tensors if op.multiple(len(tensors)) else tensors[0]

    def repeat(self, operation: Operation, operands: Iterable[Any]) -> tuple[SymTensor, ...]:
        """Append an operation with closed regions once more, over other operands."""
        copied = operation.replace(operands=[x.value if isinstance(x, SymTensor) else x for x in operands])
        for value in copied.results:
            self.builder.number(value)
        self.operations.append(copied)
        return tuple(symbolic(v, self) for v in copied.results)

    def _elsewhere(self, results: Iterable[Value]) -> tuple[Value, ...]:
        """Move a result without tensor operands to the place where it is wanted: the program makes it where it runs."""
        move = REGISTRY["transfer"](source=self.home.name, target=context.current().place.name)
        return tuple(self.builder.append(move, (v,))[0] for v in results)

    def _result(self, value: Value, flows: bool, operands: tuple) -> SymTensor:
        value.stop = not flows
        out = symbolic(value, self)
        out._stop = (
            not flows
            or not out.dtype.is_continuous
            or all(x.stop_gradient for x in operands if isinstance(x, SymTensor))
        )
        return out

    def _link(self, view: SymTensor, parent: SymTensor, op: Any, params: tuple) -> None:
        if parent._tracer is not self:
            return
        view._parent, view._parent_shaped, view._view = parent, parent._shaped, (op, params)
        operation = view._value.operation
        assert operation is not None
        view._seen = operation.operands[0]  # type: ignore[assignment]

    def alias(self, x: SymTensor) -> SymTensor:
        """Another tensor over the same memory, through which no gradient flows."""
        out = self.record(REGISTRY["reshape"](), (x,), (tuple(x.shape),))
        out.stop_gradient = out._cut = True
        return out

    def set_apart(self, view: SymTensor) -> None:
        """Make a view that was just taken a tensor of its own, as a copy is.

        Values do not change, so that nothing needs to be copied but results that have the memory of something else.
        """
        view._parent = view._view = view._seen = view._strided = view._quiet = None

    # --- writes

    def assign(self, x: Tensor, value: Tensor) -> None:
        """``x`` holds ``value`` from here on, and so do its aliases."""
        target, source = self.tensor(x), self.tensor(value)
        new = source.value
        if new.meta.dtype is not target.dtype or len(new.meta.shape) != target.ndim:
            raise ValueError(f"[assign] requires a value of {target.meta}, got {new.meta}")
        for m, n in zip(new.meta.shape, target.meta.shape, strict=True):
            dim.require(dim.eq(m, n), f"[assign] requires a value of {target.meta}, got {new.meta}")
        root = target.root()
        self._check_copied(root)
        if root._block is not self.builder.block:
            if not self.frames or self.frames[-1].block is not self.builder.block:
                raise RuntimeError(
                    f"[in-place] requires a tensor made inside the branch or loop body, got {root!r} from outside. "
                    "Return the new value from the branch instead"
                )
            self.frames[-1].write(target, root)
        flows = context.current().grad_enabled
        if flows and (self.is_leaf(root) or self.makes(target)):
            self._check_leaf(target, target if self.makes(target) else root)
            flows = not (target.stop_gradient and source.stop_gradient)
        if overlaps(target):
            raise RuntimeError(
                "[assign] requires a tensor whose elements have memory of their own, "
                f"got a view of shape {target.shape} that shows some several times. Write into a copy of it instead."
            )
        apart = target._own or self.is_leaf(target.parent)
        if flows and (target is root or apart) and source.stop_gradient and self._needs_grad(target):
            # It still wants a gradient, which what it was before gets zeros of.
            write = REGISTRY["scatter_view"](region=REGISTRY["slice"](axes=()))
            (new,) = self.builder.append(write, (target.value, new), ((),))
        self._write(target, new, flows)
        if flows and not source.stop_gradient:
            fresh, target._stop = root._stop, False
            while target.parent is not None and target.shares_memory() and not (target._cut or target._own):
                target = target.parent
                target._stop = False
            root._made = root._made or (fresh and not root._stop)

    def refuse_writes(self, x: Tensor, reason: str) -> None:
        """Refuse writes to the memory of ``x`` from here on: what shares it in eager mode is a copy here."""
        root = self.tensor(x).root()
        self._copied[id(root)] = root, reason

    def allow_writes(self, x: Tensor) -> None:
        """Undo :meth:`refuse_writes`."""
        self._copied.pop(id(self.tensor(x).root()), None)

    def _check_copied(self, root: SymTensor) -> None:
        if id(root) in self._copied:
            raise RuntimeError(
                f"[in-place] requires a tensor whose memory nothing else shares, got one of shape {list(root.shape)} "
                f"that is {self._copied[id(root)][1]}. Write to a clone of it, or compute a new tensor"
            )

    def is_leaf(self, x: SymTensor | None) -> bool:
        """Return whether ``x`` is a leaf of eager mode that a gradient is wanted of."""
        return id(x) not in self._inner and any(x is leaf for leaf, _ in self.gradient_roots())

    def _check_leaf(self, target: SymTensor, leaf: SymTensor) -> None:
        """A leaf that wants a gradient is not written to: nobody could tell what it was. A view of one is, unless what
        is written appears in other elements of the view's parent, or outside of a branch or loop body."""
        view, apart = target, True
        while view is not leaf and not view._cut:
            assert view.parent is not None
            view = view.parent
            while view is not leaf and overlaps(view):
                assert view.parent is not None
                view, apart = view.parent, False
            if not apart:
                break
        if view is leaf and (target is leaf or not apart or bool(self.frames)):
            raise LeafError(
                "[in-place] requires a tensor that is no leaf, or no_grad, got a leaf with stop_gradient=False"
                + (" (through a view of it)" if leaf is not target else "")
                + ". Use paddle.no_grad() to update parameters."
            )

    def _write(self, x: SymTensor, value: Value, records: bool) -> None:
        if x.parent is None or not x.shares_memory():
            x._writes += records
            x._value = value if records else self.without_record(x, value)
            return
        regions, base, cut = [x._view], x.parent, x._cut
        while overlaps(base):  # what is written through this parent appears in other elements of it, too
            assert base.parent is not None
            regions.append(base._view)
            cut = cut or base._cut
            base = base.parent
        views, ends, args = flat_regions(list(reversed(regions)))
        if len(views) == 1:
            write = REGISTRY["scatter_view"](region=views[0])
        else:
            write = REGISTRY["write_through"](views=views, ends=ends)
        (new_base,) = self.builder.append(write, (base.value, value), (args,))
        if records and not cut and self.is_leaf(base):
            x._own = True  # the leaf stays one, with other elements
        if x._own and not records:
            value = self.without_record(x, value)
        records = records and not cut and not x._own
        new_base.stop = not records
        self._write(base, new_base, records)
        if len(views) == 1 and (base.value is new_base or x._cut or x._own):
            x._value, x._seen = value, base.value

    @staticmethod
    def _needs_grad(x: SymTensor) -> bool:
        """Return whether ``x`` is to have a gradient."""
        return not x._stop and x.dtype.is_continuous

    def without_record(self, x: SymTensor, value: Value) -> Value:
        """A value that is written in ``no_grad``, or through what is detached: history stays as it was."""
        if not self._needs_grad(x):
            return value
        (kept,) = self.builder.append(REGISTRY["overwritten"](), (x._value, value), ())
        return kept

    def rebind(self, x: Tensor, value: Tensor) -> None:
        """``x`` is ``value`` from here on, of another shape or dtype; its views are views of what it was."""
        target, source = self.tensor(x), self.tensor(value)
        if target is source:
            return
        self._check_copied(target.root())
        if self.has_owner(target):
            raise RuntimeError(
                "[in-place] requires a tensor made inside of the captured function to change its shape or dtype, got "
                f"{target!r} from outside, whose owner would not see it. Use the form that returns a new tensor"
            )
        if target._block is not self.builder.block:
            raise RuntimeError(
                f"[in-place] requires a tensor made inside the branch or loop body, got {target!r} from outside. "
                "Return the new value from the branch instead"
            )
        before = symbolic(target._value, self)
        for name in (
            "_block",
            "_cut",
            "_former",
            "_own",
            "_parent",
            "_parent_shaped",
            "_quiet",
            "_seen",
            "_shaped",
            "_stop",
            "_strided",
            "_view",
            "_writes",
        ):
            setattr(before, name, getattr(target, name))
        links, last = [source], source
        while last.parent is not None and last.parent is not target and last.shares_memory():
            last = last.parent
            links.append(last)
        view = last.parent is target and last.shares_memory()
        flows = context.current().grad_enabled
        if view:
            last._parent = before
            for link in links:
                link._value.stop = link._value.stop and flows  # in no_grad the history stays
        target._init_symbolic(source.dtype, source.ndim)
        target._stop = source._stop if flows or not view else target._stop
        target._former, target._shaped = before, target._shaped + 1
        for name in ("_value", "_cut", "_own", "_parent", "_parent_shaped", "_quiet", "_seen", "_strided", "_view"):
            setattr(target, name, getattr(source, name))

    # --- control flow

    @contextmanager
    def recompute(self) -> Iterator[None]:
        """Calls made inside are recomputed in the backward part of the program: only what they read is kept.

        A region inside of a region belongs to it.
        """
        outer = self.builder.recompute
        self.builder.recompute = outer or 1 + max((o.recompute for o in self.builder.program.walk()), default=0)
        try:
            yield
        finally:
            self.builder.recompute = outer

    @contextmanager
    def region(self, metas: Iterable[Meta] = ()) -> Iterator[tuple[Block, list[SymTensor]]]:
        """A block for an operation with regions, and the tensors that stand for its arguments."""
        with self.builder.region(metas) as block:
            yield block, [symbolic(v, self) for v in block.arguments]

    @contextmanager
    def frame(self, arguments: Sequence[SymTensor]) -> Iterator[Frame]:
        """Tensors from outside of the region that is being traced may be written to inside; afterwards they are what
        they were."""
        frame = Frame(self.builder.block, arguments)
        self.frames.append(frame)
        try:
            yield frame
        finally:
            self.frames.pop()
            frame.restore()

    def replaced(self, root: SymTensor, x: SymTensor, made: bool, quiet: bool) -> None:
        """``root`` is from here on what ``x`` is, the result of an operation whose regions write to it; ``quiet``: they
        do so in no_grad."""
        if root._block is not self.builder.block:
            self.frames[-1].write(root, root)
        if quiet:
            root._value = self.without_record(root, x._value)
        else:
            root._value, root._stop, root._made = x._value, x._stop, made

    # --- the end

    def finish(self, outputs: Iterable[Any], name: str = "") -> Program:
        """The program with these outputs (tensors, numbers, None), and a write for every input that changed."""
        results: list[Operand] = [self.operand(x) for x in outputs]
        for root, original in self._roots:
            if root._value is not original:
                self.builder.write(original, root._value)
        refuse_overlap(self.builder.program)
        program = self.builder.finish(results)
        program.name = name or program.name
        return program


def refuse_overlap(program: Program) -> None:
    """A write to one captured tensor must not change another: their values would go apart here."""
    written = {id(w.target) for w in program.effects}
    names = list(program.captured)
    chosen = [i for i, name in enumerate(names) if id(program.constants[name]) in written]
    pair = overlapping(list(program.captured.values()), chosen)
    if pair is not None:
        raise RuntimeError(
            "[trace] requires captured tensors that are written to to share no memory with other captured "
            f"tensors, got {names[pair[0]]} and {names[pair[1]]} over one storage. Make the view inside of the "
            "traced function"
        )


class Retrace(Sweep):
    """A pass whose operations ``tracer`` records anew, so that composites may come out as their parts, with types that
    are inferred again. ``table``: by identity the tensors that stand for values."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self.tracer = tracer

    def visit(self, o: Operation) -> None:
        operands = [self.current(x) for x in o.operands]
        made = self.tracer.repeat(o, operands) if o.regions else self.tracer.record(o.op, operands, o.params)
        self.stand(o.results, made if isinstance(made, tuple) else (made,))

    def result(self, v: Value) -> SymTensor:
        return self.table[id(v)]


def alias(view: SymTensor, value: SymTensor) -> SymTensor:
    """``view``, whose elements are those of ``value``: what reads it reads that."""
    view._value = value._value
    return view


def overlaps(x: SymTensor) -> bool:
    """Return whether elements of ``x`` share memory."""
    view: SymTensor | None = x
    while view is not None and (view._view is None or getattr(view._view[0], "injective", True)):
        view = view.parent
    layout = x.strided() if view is not None else None
    if layout is None or any(usually(n <= 0) for n in layout.shape):
        return False
    axes: list[tuple[Any, Any]] = []  # size and stride, the smallest stride first
    for n, stride in zip(layout.shape, layout.strides, strict=True):
        if usually(1 < n):
            step = stride if usually(0 <= stride) else -stride
            k = sum(1 for _, other in axes if usually(other <= step))
            axes.insert(k, (n, step))
    span: Any = 0
    for n, step in axes:
        if usually(step <= span):
            return True
        span = span + step * (n - 1)
    return False


def flat_regions(regions: list) -> tuple[tuple, tuple[int, ...], tuple]:
    """View ops, where the params of each end, and all params in one tuple."""
    args: list[Any] = []
    ends = []
    for _, params in regions:
        args.extend(_flat(params))
        ends.append(len(args))
    return tuple(op for op, _ in regions), tuple(ends), tuple(args)


def _param(x: Any) -> Any:
    return tuple(x) if isinstance(x, list) else x


def _flat(params: tuple) -> tuple:
    return tuple(n for p in params for n in (p if type(p) is tuple else (p,)))


def trace(function: Callable[..., Any], metas: Iterable[Any], scope: Scope | None = None, name: str = "") -> Program:
    """The program of ``function`` over inputs of these metas; what is not a Meta is passed as it is.

    The function returns a tensor, a number, None, or a tuple or list of these.
    """
    with Tracer(scope) as tracer:
        results = function(*(tracer.input(m) if isinstance(m, Meta) else m for m in metas))
        return tracer.finish(results if isinstance(results, (tuple, list)) else (results,), name)


def current() -> Tracer:
    """The innermost tracer of this thread."""
    stack = context.current().trace
    if not stack:
        raise RuntimeError(
            "a symbolic tensor was used outside of its trace. Keep results of a traced function inside of it"
        )
    return stack[-1]


def slow_path(op: Any, operands: tuple, params: tuple) -> Any:
    """Dispatch's slot for whatever is not a plain call on dense tensors."""
    if _is_symbolic(operands) or any(map(_is_symbolic_param, params)) or context.current().observers & OBSERVE_TRACE:
        return current().record(op, operands, params)
    raise TypeError(f"[{op.name}] requires dense tensors, got {', '.join(type(x).__name__ for x in operands)}")


def slow_assign(x: Tensor, value: Tensor) -> Tensor:
    """Dispatch's slot for a write that involves a symbolic tensor."""
    if not _is_symbolic((x, value)) and not context.current().observers & OBSERVE_TRACE:
        raise TypeError(f"[assign] requires dense tensors, got {type(x).__name__} and {type(value).__name__}")
    current().assign(x, value)
    return x


def slow_rebind(x: Tensor, value: Tensor) -> Tensor:
    """Dispatch's slot for a change of shape or dtype in place that involves a symbolic tensor."""
    if not _is_symbolic((x, value)) and not context.current().observers & OBSERVE_TRACE:
        raise TypeError(f"[rebind] requires dense tensors, got {type(x).__name__} and {type(value).__name__}")
    current().rebind(x, value)
    return x


def _is_symbolic(operands: tuple) -> bool:
    return any(type(x) is Sym or (isinstance(x, Tensor) and x._kind & KIND_SYMBOLIC) for x in operands)


def _is_symbolic_param(p: Any) -> bool:
    return type(p) is Sym or (isinstance(p, (tuple, list)) and any(type(i) is Sym for i in p))
