"""Functions as programs: what a Python function did with tensors, captured once for a class of arguments.

Beyond the tracer's operations, a capture holds what a run of the function changes or asks for outside of them:

* random ops take their place in their generator's stream at every run, as many words as in eager mode;
* scalars that differ between runs (a learning rate, a count of steps) come from *sources*, which are asked before each;
* gradients: ``backward`` inside of the function becomes operations, and ``.grad`` of leaves is exchanged around runs.

What would tie the program to the data of the first run is refused: reading data, gradient functions in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.autodiff.custom import settle
from umiak.autodiff.graph import pullback
from umiak.autodiff.lookups import lookups
from umiak.compiler.amp import with_casts
from umiak.compiler.passes.attention import fuse_plain_attention
from umiak.core import context, leaf_gradients
from umiak.core import dtype as dt
from umiak.core.captured import (
    PythonScalars,
    ScalarSource,
    Stream,
)
from umiak.core.context import OBSERVE_TRACE
from umiak.core.dtype import bool as bool_
from umiak.core.generator import Generator
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.elements import MOST, element_of, known_elements
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.program import Block, Operation, Value, call_identity, order_class
from umiak.ir.scope import symbols_of
from umiak.ir.sym import cdiv
from umiak.ir.tracer import Frame, SymTensor, Tracer, symbolic
from umiak.ops.gradient import WithGradient
from umiak.runtime.used_histories import UsedHistories

_COPY = F.Copy()
BLOCK = 4  # words of a random stream that are given out together


def recorded(value: Value) -> Value:
    """The value whose history this one has: what was written over it in ``no_grad`` has none of its own."""
    while value.operation is not None and type(value.operation.op) is F.Overwritten:
        value = value.operation.operands[0]  # type: ignore[assignment]
    return value


class CaptureError(RuntimeError):
    """The function does what cannot be captured."""


class Undecided(CaptureError):
    """A result is a leaf or none, as data decide."""


class Scalars:
    """Scalars of one origin and the symbols that stand for them."""

    def __init__(self, scalars: ScalarSource, symbols: list[Sym]) -> None:
        self.scalars = scalars
        self.symbols = symbols


class DrawnStream:
    """The random words that are drawn from one generator. ``words``: how many, so far."""

    def __init__(self, stream: Stream, seed: Sym, offset: Sym) -> None:
        self.stream = stream
        self.seed = seed
        self.offset = offset
        self.words: Any = 0

    def copy(self) -> DrawnStream:
        """Another one over the same numbers, from which no more has been drawn."""
        copied = DrawnStream(self.stream, self.seed, self.offset)
        copied.words = self.words
        return copied


class Capture(Tracer):
    """The tracer of one captured function."""

    captures = True

    def __init__(self) -> None:
        super().__init__()
        self.streams: dict[int, tuple[Generator, DrawnStream]] = {}
        self.sources: list[Scalars] = []
        self.casts: dict[tuple[int, Any], tuple[Value, Any]] = {}
        # Leaves whose gradient the function replaced, by id, with the gradient from before.
        self.leaves: dict[int, tuple[Tensor, Tensor | None]] = {}
        # Those that have no part in it, as long as they have `stop_gradient`.
        self.left_out: dict[int, Tensor] = {}
        # Gradients of tensors that have a history outside, into which they go on after the run.
        self.outer: dict[int, tuple[Tensor, Tensor]] = {}
        self.were_cleared: set[int] = set()  # ids of leaves whose gradient was zeros that nobody had looked at
        self.cleared: set[int] = set()  # ids of those that it has replaced by zeros
        # Tables that were looked up with `sparse=True`; those whose gradient has nothing but rows, which eager calls
        # would keep as rows, with whether it has one, for each row.
        self.looked_up: set[int] = set()
        self.rows: dict[int, SymTensor] = {}
        self.differentiated = False
        self.used = UsedHistories()
        # Gradients in Python: functions by operation, tensors whose `.grad` is asked for, and whether what is computed
        # now will be differentiated.
        self.gradients: dict[int, tuple[Operation, Callable]] = {}
        self.retained: list[tuple[SymTensor, Value]] = []
        # Leaves that want a gradient and that the function has made, by id, with the value that gradients are of; what
        # data decide to be one, or something else, by id.
        self.made: dict[int, tuple[SymTensor, Value]] = {}
        self.undecided: dict[int, SymTensor] = {}
        self.creating = False
        self.asked = False  # for gradients
        self.of_numbers: dict[int, Tensor] = {}  # tensors that the function made of numbers of Python, by id
        # Whether gradients go on after a run into histories from before it; what reads gradients inside misses them.
        self.passes_on = True
        # What helpers of rewritten code see of Python, where that code is simulated.
        self.world: Any = None
        # Lists of tensors whose length may be known only while the program runs, with the block that they are made in.
        self.arrays: list[tuple[Block, Any]] = []
        # Lists whose items are in arrays, with these items and the places that held the lists.
        self.moved: list[tuple[list[Any], list[Any], list[Any]]] = []
        # The places that branches and loops of rewritten code may change which are being traced, outermost first.
        self.statements: list[Sequence[Any]] = []
        self.arguments: list[SymTensor] = []  # what stands for the tensors that every run is given
        self.hooks_before: dict[int, int] = {}  # by id of their values, the number of hooks that they came with
        # Whether the program may end after the present backward(); whether it must, as what is there then depends on
        # other ranks.
        self.may_end = self.ended = False
        self._numbers: dict[tuple, Operation] = {}  # what reads a number from data, by what computes that
        # What the function must leave as it was: asked at the end of the capture, each raises CaptureError if not.
        self.conditions: list[Callable[[], None]] = []

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Calls run at once, outside of the program."""
        ctx = context.current()
        held, ctx.observers = ctx.observers, ctx.observers & ~OBSERVE_TRACE
        stack, ctx.trace = ctx.trace, []
        try:
            yield
        finally:
            ctx.observers, ctx.trace = held, stack

    @contextmanager
    def frame(self, arguments: Sequence[SymTensor]) -> Iterator[Frame]:
        casts, self.casts = self.casts, dict(self.casts)  # what is cast inside is not known outside
        try:
            with super().frame(arguments) as frame, self.used.region() as frame.used:
                yield frame
        finally:
            self.casts = casts

    def _refuse_inside(self, op_name: str) -> None:
        """Refuse what a captured function does once, where it stands in a branch or a loop body."""
        if self.frames:
            raise CaptureError(
                f"{op_name} stands in a branch or loop body of paddle.static.nn, whose operations alone "
                "can be captured. Do it in the captured function itself"
            )

    def argument(self, x: Tensor, dynamic: Iterable[int] = ()) -> SymTensor:
        """A tensor that every run is given, with the gradient and the hooks that ``x`` has now."""
        stand_in = self.example(x, dynamic)
        stand_in._grad = x._grad
        hooks = [e for e in x._hooks or () if type(e) is not leaf_gradients.Sink]
        stand_in._grad_hooks().extend(hooks)
        self.hooks_before[id(recorded(stand_in.value))] = len(hooks)
        self.arguments.append(stand_in)
        return stand_in

    # --- leaves that the function makes

    def flags(self, x: SymTensor, stop: bool) -> None:
        if self.frames and x._block is not self.builder.block:
            raise CaptureError(
                "stop_gradient of a tensor from outside is set in a branch or loop body on data, where it would be set "
                "whichever way the program takes. Set it outside, or on a tensor made there"
            )
        if stop:
            self.made.pop(id(x), None)
            self.undecided.pop(id(x), None)
        elif not self.given(x) and is_continuous(x):
            value = x.value
            if not x._cut:  # what else has this value is another tensor
                (value,) = self.builder.append(F.Copy(), (value,), ())
                value.place, x._value = x._value.place, value
            self.begin(x, value)

    def begin(self, x: SymTensor, value: Value) -> None:
        """Let ``x`` be a leaf that wants a gradient, which no other tensor shares ``value`` with."""
        value.stop = True
        x._stop = False
        self.made[id(x)] = x, value

    def makes(self, x: SymTensor) -> bool:
        return id(x) in self.made

    def is_leaf(self, x: SymTensor | None) -> bool:
        return super().is_leaf(x) or (x is not None and self.makes(x))

    def value_of(self, x: SymTensor) -> Value:
        """Return the value that gradients of ``x`` are of."""
        value = recorded(x.value)
        if self.makes(x) and value is not self.made[id(x)][1]:
            raise CaptureError(
                "a leaf that the captured function has made of the memory of another tensor was written to through "
                "that one. Make the leaf of a copy (x.clone().detach())"
            )
        return value

    def has_ended(self, x: SymTensor) -> bool:
        """Return whether gradients of ``x`` have no way left: the function has gone through its history itself."""
        if x.stop_gradient or not is_continuous(x) or self.given(x):
            return False
        crossed = self.used.crossed(x.value)
        if crossed is None:
            raise CaptureError(
                "gradients have gone through the history of a result without retain_graph=True in a branch or loop on "
                "data, which may not have run: whether the result has a history is not known. Pass retain_graph=True "
                "there, or return x.detach()"
            )
        return crossed

    def has_new_hook(self, value: Value) -> bool:
        """Return whether the function has given an argument a hook for its gradient."""
        hooks = len(value.hooks or ())
        return hooks > self.hooks_before.get(id(value), hooks)

    # --- what dispatch, generators, arrays and the tape ask a tracer for

    def record(self, op: Any, operands: Iterable[Any], params: Iterable[Any]) -> Any:
        level, low, lists = context.current().amp()
        if level:
            operands = tuple(self.tensor(x) if isinstance(x, Tensor) else x for x in operands)
            casted: Any = with_casts(
                op, [x.meta if isinstance(x, SymTensor) else None for x in operands], level, low, lists
            )
            if casted is not op:
                operands = tuple(
                    x if d is None else self._cast(x, d) for x, d in zip(operands, casted.dtypes, strict=True)
                )
        return super().record(op, operands, params)

    def _cast(self, x: SymTensor, dtype: Any) -> SymTensor:
        """Each value is cast once."""
        key = id(x.value), dtype
        entry = self.casts.get(key)
        if entry is None or context.current().grad_enabled == entry[1]._stop:
            entry = self.casts[key] = x.value, super().record(F.Cast(dtype), (x,), ())
            self.used.leave_out(entry[1].value)
        return entry[1]

    def reserve(self, generator: Generator, words: Any) -> tuple[Any, Any]:
        """Seed and offset of the words that a random op draws: scalars, read from the generator at every run."""
        held = self.streams.get(id(generator))
        if held is None:
            n = len(self.streams)
            stream = DrawnStream(
                stream_of(generator), self.number("int", name=f"seed{n}"), self.number("int", name=f"offset{n}")
            )
            held = self.streams[id(generator)] = generator, stream
        stream = held[1]
        at = stream.words
        stream.words = at + cdiv(words, BLOCK) * BLOCK
        return stream.seed, stream.offset + at

    @contextmanager
    def region(self, metas: Iterable[Meta] = ()) -> Iterator[tuple[Block, list[SymTensor]]]:
        with self.scope.part(self._require), super().region(metas) as made:
            yield made

    @contextmanager
    def on_one_way(self) -> Iterator[None]:
        with self.scope.part(self._is_local):
            yield

    def _is_local(self, condition: Sym, message: str) -> bool:
        """Do data decide a condition, or whether the program comes where it is required?"""
        return any(map(self.from_data, (condition, *self.scope.ways)))

    def _require(self, condition: Sym, message: str) -> bool:
        """Test what numbers must be where the program comes, which may be on one way of a branch alone; those of sizes
        are checked before all else where data do not decide about the way."""
        if not self._is_local(condition, message) and len(self.frames) == len(self.scope.ways):
            return False
        line = self.scope.locate() if self.scope.locate is not None else None
        place = line if isinstance(line, tuple) else ()
        F.require(F.full(condition, shape=(), dtype=dt.bool), kind="ValueError", args=(message,), place=place)
        return True

    def from_data(self, number: Sym) -> bool:
        return not self.scope.bound.isdisjoint(symbols_of(number))

    def takes_both_ways(self, number: Sym) -> bool:
        if not self.one_program or number.hinted:
            return False
        condition = number if number.kind == "bool" else number != 0
        return type(condition) is not bool and self.scope.decide(condition) is None

    def elements(self, x: SymTensor) -> Any:
        """Sizes, constants and what is computed of them."""
        return known_elements(x.value, self.constant)

    def constant(self, value: Value) -> Any:
        """The elements of a captured tensor that is the same in every run; None of others."""
        program = self.builder.program
        for name, argument in program.constants.items():
            if argument is not value:
                continue
            x = program.captured[name]
            if x.size > MOST or x.dtype.is_packed or not self.keeps(x) or self.is_written(x):
                return None
            with self.paused():
                return x.numpy().astype(object)
        return None

    def keeps(self, x: Tensor) -> bool:
        """Return whether a captured tensor has the same elements in every run, unless the program writes to it."""
        return id(x) in self.of_numbers

    def is_written(self, x: Tensor) -> bool:
        """Return whether the program writes to a tensor that it captured, or to an input."""
        root = x if isinstance(x, SymTensor) else self._captured.get(id(x))
        return root is not None and any(root is r and root._value is not v for r, v in self._roots)

    def varies(self, x: Tensor) -> bool:
        """Return whether the data of a tensor may be others when the program runs; those of constants are known."""
        return isinstance(x, SymTensor) or not self.keeps(x) or self.is_written(x)

    def read(self, x: SymTensor) -> Any:
        """The integer in a tensor of one element."""
        if not self.one_program or not (x.dtype.is_integer and type(x._count) is int and x._count == 1):
            return None
        return np.full(tuple(x.shape), self.number_in(F.reshape(x, ()), None), object)

    def number_in(self, x: Tensor, least: int | None) -> Any:
        """The integer that a tensor will hold when the program runs, as a symbol that is at least ``least``; the number
        itself, where it is known."""
        value, at = element_of(self.tensor(x).value)
        elements = known_elements(value, self.constant)
        if elements is not None:
            return elements.flat[at]
        made = value.operation
        repeats = made is not None and not made.regions and not made.op.random and order_class(made.op) is None
        key = (least, at, value.index, *(call_identity(made) if repeats else (id(value),)))  # type: ignore[arg-type]
        known = self._numbers.get(key)
        blocks = self.builder.block, *self.builder.outer
        if known is not None and any(known is o for b in blocks for o in b.operations):
            return known.params[0]
        n = self.scope.number(least)
        F.read_number(x, n=n)
        self._numbers[key] = self.builder.block.operations[-1]
        return n

    def makes_of_numbers(self, x: Tensor) -> None:
        self.of_numbers[id(x)] = x

    def reads(self, x: Tensor) -> None:
        """Data of a tensor is asked for."""
        raise CaptureError(
            f"the data of a tensor of shape {list(x.shape)} are read while the function is captured: what depends on "
            "them would be the same at every run. Write a branch on data as an op (paddle.where, "
            "paddle.static.nn.cond), and keep conversions to NumPy or Python out of the function"
        )

    def python_node(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any], backward: Callable) -> None:
        """Give the outputs a gradient: ``backward(*gradients of the outputs)``, which is traced when it is asked for.

        ``backward`` says by an attribute ``traceable`` that it computes with tensors alone.
        """
        if not getattr(backward, "traceable", False):
            raise CaptureError(f"{name} has a gradient written in Python, which a captured function cannot hold")
        xs, ys = [self.tensor(x) for x in inputs], [self.tensor(y) for y in outputs]
        if any(x is y for x in xs for y in ys):
            raise CaptureError(
                f"{name} returns an input that it changed in place: a captured function cannot hold that"
            )
        node = self.builder.append(WithGradient(count=len(ys)), [t.value for t in (*xs, *ys)])
        operation = node[0].operation
        assert operation is not None
        metas = [x.meta for x in xs]  # in-place operations may give x another one

        def run(*grads: SymTensor | None) -> list[SymTensor | None]:
            with self._in_backward():
                gradients = backward(*(None if g is None else symbolic(g.value, self) for g in grads))
            return [None if g is None else self._checked(name, g, m) for g, m in zip(gradients, metas, strict=True)]

        self.gradients[id(operation)] = operation, run
        for y, value in zip(ys, node, strict=True):
            # Memory that it shares with others is theirs without a gradient.
            y._parent = y._view = y._strided = None
            y._value, y._block, y._stop = value, self.builder.block, False

    def settled(self) -> dict[int, Value]:
        """At the end of a branch or loop body, gradients in Python become part of it: what stands for values then."""

        def refuse(action: str) -> Exception:
            return CaptureError(
                f"a gradient written in Python (a hook, or the backward of a PyLayer) in a branch or loop body of "
                f"paddle.static.nn {action}, which cannot be captured there. Do it in the captured function itself"
            )

        before = {key: stream.words for key, (_, stream) in self.streams.items()}
        made = settle(self, self.builder.block, refuse)
        if any(not dim.same(stream.words, before.get(key, 0)) for key, (_, stream) in self.streams.items()):
            raise refuse("draws random numbers")
        return made

    @contextmanager
    def given_gradient(self) -> Iterator[None]:
        """A gradient in Python is traced for whoever asks for it later."""
        creating, self.creating, casts = self.creating, True, self.casts
        self.casts = dict(casts)
        try:
            yield
        finally:
            self.creating, self.casts = creating, casts

    def hooked(self, g: SymTensor, hook: Callable) -> SymTensor:
        """A gradient as ``hook`` leaves it."""
        x = symbolic(g.value, self)
        with self._in_backward():
            replacement = hook(x)
        if replacement is None:
            return x  # which may have been written to
        meta = Meta(g.meta.shape, replacement.dtype) if getattr(hook, "changes_dtype", False) else g.meta
        return self._checked("hook", replacement, meta)

    @contextmanager
    def _in_backward(self) -> Iterator[None]:
        """Python code that computes gradients: recorded only where they are differentiated."""
        ctx = context.current()
        enabled, ctx.grad_enabled = ctx.grad_enabled, self.creating
        try:
            yield
        finally:
            ctx.grad_enabled = enabled

    def _checked(self, op_name: str, g: Any, meta: Meta) -> SymTensor:
        if not isinstance(g, Tensor):
            raise TypeError(f"[{op_name}] requires a Tensor or None as gradient, got {type(g).__name__}")
        gradient = self.tensor(g)
        required = f"[{op_name}] requires a gradient of shape {list(meta.shape)} and dtype {meta.dtype.name}"  # type: ignore[union-attr]
        got = f"got shape {list(gradient.shape)} and dtype {gradient.dtype.name}"
        if gradient.dtype is not meta.dtype or gradient.ndim != meta.ndim:
            raise ValueError(f"{required}, {got}")
        for m, n in zip(gradient.shape, meta.shape, strict=True):
            dim.require(dim.eq(m, n), f"{required}, {got}")
        return gradient

    def backward(self, tensors: Sequence[Any], grads: Sequence[Any], retain: bool = False) -> None:
        """Gradients of tensors into ``.grad`` of the leaves. ``retain``: whether their histories may be used again."""
        self._refuse_inside("backward()")
        wanted = [(t, g) for t, g in zip(tensors, grads, strict=True) if not self.tensor(t).stop_gradient]
        if not wanted:
            return
        tensors, grads = [t for t, _ in wanted], [g for _, g in wanted]
        self.differentiated = True
        leaves = self.leaves_inside()
        taken: dict[int, tuple[Any, list]] = {}
        own: list[tuple[SymTensor, Tensor]] = [(symbolic(v, self), t) for t, v in self.retained]
        own += [(x, x) for x, _ in self.made.values() if x._block is self.builder.block]
        gradients = self.gradients_in(tensors, grads, [root for root, _ in (*leaves, *own)], retain=retain)
        for (root, leaf), g in zip((*leaves, *own), gradients, strict=True):
            if g is None:
                continue
            if id(root) in self._inner:
                if not self.passes_on:
                    raise CaptureError(
                        "backward() reaches a tensor whose history began outside of the graph: gradients that go on "
                        "there are not known inside"
                    )
                with context.no_grad_guard():
                    before = self.outer.get(id(root))
                    self.outer[id(root)] = leaf, g if before is None else F.add(before[1], g)
                continue
            sink = leaf_gradients.sink_of(leaf)
            held = leaf_gradients.held_gradient(leaf)
            self._note(leaf, held)
            if sink is not None:
                taken.setdefault(id(sink.owner), (sink.owner, []))[1].append((sink.key, leaf, g))
                continue
            with context.no_grad_guard():
                self._note_rows(leaf, g, held is None)
                leaf._grad = g if held is None else F.add(held, g)
            self.cleared.discard(id(leaf))
        for owner, items in taken.values():
            with context.no_grad_guard():
                owner.captured(self, items)

    def _note_rows(self, leaf: Tensor, g: SymTensor, first: bool) -> None:
        parts = lookups(g.value) if id(leaf) in self.looked_up and (first or id(leaf) in self.rows) else None
        before = self.rows.pop(id(leaf), None)
        if parts is None:
            return
        given = F.full(False, dtype=bool_, shape=tuple(leaf.shape[:1])) if first or before is None else before
        for index, _ in parts:
            given = F.put(given, symbolic(index, self), True, axis=0)
        self.rows[id(leaf)] = given

    def looks_up(self, table: Tensor) -> None:
        """Note a table whose gradient eager calls would keep as rows."""
        self.looked_up.add(id(table))

    def replaces(self, leaf: Tensor) -> None:
        """The function is about to replace the gradient of a leaf, other than by ``backward``."""
        self._note(leaf, leaf_gradients.held_gradient(leaf))
        self.cleared.discard(id(leaf))
        self.rows.pop(id(leaf), None)

    def asks_for_gradients(self, leaves: Iterable[Tensor]) -> None:
        """Note that which leaves have a gradient decides what the function does, also where none has one."""
        for leaf in leaves:
            self._note(leaf, leaf_gradients.held_gradient(leaf))

    def leaves_out(self, tensors: Iterable[Tensor]) -> None:
        """Note that the function passes over tensors because they have ``stop_gradient``."""
        self.left_out.update((id(x), x) for x in tensors if not isinstance(x, SymTensor))

    def _note(self, leaf: Tensor, held: Tensor | None) -> None:
        if isinstance(leaf, SymTensor) and not self.given(leaf):
            return  # of the function's own making, which the result alone may show
        if id(leaf) not in self.leaves:
            self.leaves[id(leaf)] = leaf, held
            if leaf_gradients.is_cleared(leaf):
                self.were_cleared.add(id(leaf))

    def clears(self, leaves: Iterable[Tensor]) -> None:
        """The function replaces gradients by zeros: they are made when somebody looks at them."""
        leaves = list(leaves)
        self.asks_for_gradients(leaves)
        for leaf in leaves:
            if id(leaf) in self.rows:
                self.drops([leaf])
            elif id(leaf) in self.made:
                leaf._grad = None if leaf._grad is None else F.full(0.0, dtype=leaf.dtype, shape=tuple(leaf.shape))
            elif leaf_gradients.held_gradient(leaf) is not None:
                self.replaces(leaf)
                self.cleared.add(id(leaf))
                leaf._grad = None

    def drops(self, leaves: Iterable[Tensor]) -> None:
        """The function sets gradients to None."""
        for leaf in leaves:
            self.replaces(leaf)
            leaf._grad = None

    def leaves_inside(self) -> list[tuple[SymTensor, Tensor]]:
        """The inputs that gradients are kept for: what stands for them, and where ``.grad`` is."""
        captured = self.captured()
        return [(r, captured.get(id(r), r)) for r, _ in self.gradient_roots() if is_continuous(r)]

    def is_outer_leaf(self, x: Tensor) -> bool:
        """Return whether a tensor from outside, or what stands for one, has no history from before."""
        return id(x) not in self._inner if isinstance(x, SymTensor) else x.is_leaf

    def knows(self, x: Tensor) -> bool:
        """Return whether a tensor is one that the program has captured."""
        return id(x) in self._captured

    def count_known(self) -> int:
        """Return the number of tensors that the program has captured."""
        return len(self._captured)

    def wrote_first(self, x: Tensor, known: int) -> bool:
        """Return whether ``x`` was captured after the first ``known`` tensors, and has been written to: what a function
        of the library gives back so is of its own making."""
        root = self._captured.get(id(x))
        if root is None or id(x) in islice(self._captured, known):
            return False
        return root._value is not next(value for other, value in self._roots if other is root)

    def wrote(self) -> bool:
        """Return whether the program writes to a tensor from outside, so far."""
        return any(root._value is not original for root, original in self._roots)

    def forget_write(self, x: Tensor) -> None:
        """Leave a captured tensor as it is: what the program has written to it is another tensor's."""
        root = self._captured[id(x)]
        root._value = next(value for other, value in self._roots if other is root)

    def captured(self) -> dict[int, Tensor]:
        """The captured tensors, by the ids of what stands for them."""
        return {id(self._captured[id(x)]): x for x in self.builder.program.captured.values()}

    def derived(self) -> list[SymTensor]:
        """The inputs that got a history by what was written to them."""
        if self.differentiated or not context.current().grad_enabled:
            return []
        return [
            root for root, original in self._roots
            if root._value is not original and not root.stop_gradient and recorded(root._value) is not original
        ]  # fmt: skip

    def gradients_in(
        self,
        tensors: Sequence[Any],
        grads: Sequence[Any],
        wrt: Sequence[Any],
        create_graph: bool = False,
        retain: bool = True,
    ) -> list[Any]:
        """The gradients of tensors with respect to others, None where there is none. ``retain``: whether the histories
        may be used again."""
        seeds = []
        for t, g in zip(tensors, [None] * len(tensors) if grads is None else grads, strict=True):
            y = self.tensor(t)
            if y.stop_gradient:
                raise RuntimeError(
                    "[backward] requires a tensor with stop_gradient=False, got one with stop_gradient=True"
                )
            if g is None:
                with context.place_guard(y.value.place):
                    g = F.full(1.0, dtype=y.dtype, shape=tuple(y.shape))
            seeds.append((y.value, self.operand(g)))
        self.asked = True
        blocks = [*self.builder.outer, self.builder.block]
        targets = [self.value_of(self.tensor(x)) for x in wrt]
        fuse_plain_attention(self.builder.program, self, (*targets, *(y for y, _ in seeds)))
        operations = [o for b in blocks for o in b.operations]
        hooks = {
            id(recorded(root.value)): [entry for entry in leaf._hooks if type(entry) is not leaf_gradients.Sink]
            for root, leaf in self.leaves_inside() if leaf._hooks and id(root) not in self._inner  # those run outside
        }  # fmt: skip
        ctx = context.current()
        amp, creating, self.creating = ctx.amp(), self.creating, create_graph
        enabled, ctx.grad_enabled = ctx.grad_enabled, True  # decompositions are differentiated on the way
        ctx.set_amp(0, amp[1], 0)  # gradients are not cast
        try:
            wanted_of = [*targets, *self._carried(targets)]
            enter = self.used.passing([y for y, _ in seeds], retain, CaptureError)
            gradients = pullback(self, operations, seeds, wanted_of, hooks, not create_graph, enter)
        finally:
            ctx.set_amp(*amp)
            ctx.grad_enabled, self.creating = enabled, creating
        if any(g is not None for g in gradients[len(targets) :]):
            raise CaptureError(
                "paddle.grad in a loop body is asked for the gradient of what depends on values that the loop carries "
                "with respect to a tensor that these may depend on: their history is that of earlier iterations, which "
                "is not known inside. Ask for it outside of the loop, or detach them"
            )
        wanted = [None if v is None else symbolic(v, self) for v in gradients[: len(targets)]]
        for g in wanted:
            if g is not None:
                g._stop = not create_graph
        return wanted

    def _carried(self, targets: Sequence[Value]) -> list[Value]:
        """Return what loops around carry into here and a gradient may reach, unless all targets are made here, of which
        it cannot depend."""
        if not self.frames:
            return []
        here = set(map(id, self.operations))
        if all(id(v.producer) in here for v in targets):
            return []
        carried = [x for f in self.frames for x in f.arguments if not x._stop and is_continuous(x)]
        return [x._value for x in carried if not any(x._value is v for v in targets)]

    @contextmanager
    def ending_at(self, values: Iterable[Value]) -> Iterator[None]:
        """Gradients that are asked for inside do not flow through these values."""
        stops = [v for v in map(recorded, values) if not v.stop]
        for v in stops:
            v.stop = True
        try:
            yield
        finally:
            for v in stops:
                v.stop = False

    def began_outside(self, root: SymTensor) -> bool:
        """Return whether an input may depend on others."""
        return id(root) in self._inner

    def gradients_of(
        self,
        outputs: Sequence[Any],
        inputs: Sequence[Any],
        grads: Sequence[Any],
        retain: bool,
        create_graph: bool,
        allow_unused: bool,
        blocked: Any,
    ) -> list[Any]:
        """``tape.grad`` inside of the function."""
        # What came in with a history may depend on the inputs that are asked for, which is not known here, unless these
        # are all made inside.
        asked = [self.tensor(x) for x in inputs]
        before = []
        if any(map(self.given, asked)):
            outer = (root for root, _ in self.gradient_roots() if self.began_outside(root))
            before = [root for root in outer if not any(root is x for x in asked)]
        with self.ending_at(self.tensor(x).value for x in blocked or ()):
            retain = retain or self.static  # whose programs are apart from the code that records them
            gradients = self.gradients_in(outputs, grads, [*inputs, *before], create_graph, retain)
        if any(g is not None for g in gradients[len(inputs) :]):
            raise CaptureError(
                "paddle.grad is asked for a gradient through a tensor whose history began outside of the captured "
                "function. Compute it inside, or detach it"
            )
        gradients = gradients[: len(inputs)]
        if None in gradients and not allow_unused:
            raise ValueError(
                "[grad] requires inputs that the outputs depend on, got an unused one at position "
                f"{gradients.index(None)}. Pass allow_unused=True to get None for it."
            )
        return gradients if create_graph else _apart(gradients, grads)

    def scalars(
        self,
        values: Sequence[Any],
        read: Callable[[], Sequence[Any]] | ScalarSource,
        undo: Callable[[], None] | None = None,
    ) -> list[Sym]:
        """Symbols for scalars that ``read()`` gives at every run; ``undo()`` takes back one that failed.

        ``read`` raises ``captured.Stale`` where the program does not fit any more. It may be a ``ScalarSource``.
        """
        self._refuse_inside("the step of an optimizer")
        n = sum(len(s.symbols) for s in self.sources)
        kinds = ["float" if isinstance(v, float) else "int" for v in values]
        symbols = [self.number(kind, name=f"number{n + i}") for i, kind in enumerate(kinds)]
        scalars = read if isinstance(read, ScalarSource) else PythonScalars(kinds, read, undo)
        self.sources.append(Scalars(scalars, symbols))
        return symbols

    def restore(self) -> None:
        """Put back the gradients that tracing has replaced."""
        for leaf, held in self.leaves.values():
            leaf._grad = held  # as it was: the sizes of what stands for it are symbols
            if held is None and id(leaf) in self.were_cleared:
                leaf_gradients.mark_cleared(leaf)


def _apart(gradients: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    """Gradients of which each is a tensor of its own, and none a weight."""
    met = set(map(id, weights))
    made = []
    for g in gradients:
        if g is not None and id(g) in met:
            with context.no_grad_guard():
                g = F.copy(g)
        met.add(id(g))
        made.append(g)
    return made


def stream_of(generator: Generator) -> Stream:
    """The generator at run time: where it is the default one of a place, that of the rank that runs."""
    state = context.current().state
    for place, candidate in state.generators.items():
        if candidate is generator:
            return Stream(place, None)
    return Stream(-1, generator)


def is_continuous(x: Any) -> bool:
    return x.dtype.is_continuous
