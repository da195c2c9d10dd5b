"""Captured functions: the program that a capture has recorded, and what surrounds each of its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from umiak import ops as F
from umiak.autodiff.custom import cut, is_custom, is_given, resolve
from umiak.autodiff.graph import derivative
from umiak.compiler.passes.attention import fuse_plain_attention
from umiak.core import context, leaf_gradients, tape
from umiak.core.captured import Backward, CapturedRun, Part
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.passes import merge_common, remove_dead
from umiak.ir.program import Block, Program, Value, bound_within, uses
from umiak.ir.scope import symbols_of
from umiak.ir.sym import evaluate
from umiak.ir.tracer import SymTensor, Tracer, symbolic
from umiak.ops.effects import OnHost
from umiak.runtime.capture import Capture, CaptureError, Undecided, is_continuous
from umiak.runtime.exchanged_gradients import ExchangedGradients
from umiak.runtime.executor import Executor
from umiak.runtime.output_copies import copy_shared_outputs
from umiak.runtime.paths import Paths
from umiak.runtime.row_gradients import give_rows
from umiak.runtime.selected_rows import SelectedRows

_COPY = F.Copy()


def _has_python(program: Program) -> bool:
    """Return whether gradients of a program are passed through Python functions."""
    return any(v.hooks for v in program.inputs) or any(
        is_custom(o) or any(r.hooks for r in o.results) for o in program.ops
    )


def _leave_out_host(block: Block) -> None:
    """Take away checks and printed texts, on which nothing depends."""
    block.operations = [o for o in block.operations if not isinstance(o.op, OnHost)]
    for o in block.operations:
        for region in o.regions:
            _leave_out_host(region)


class _Pair:
    """The forward and the backward part of a program; ``seeded``: the outputs that have a gradient, ``copies``: those
    that :func:`apart` has made copies of others."""

    def __init__(
        self,
        program: Program,
        wrt: Sequence[int],
        seeded: list[int],
        copies: set[int],
        live: Tracer | None = None,
        inner: Sequence[Value] = (),
    ) -> None:
        sources = [*(program.inputs[i] for i in wrt), *inner]
        self.paths = Paths(program, sources, seeded, copies)
        d = derivative(program, wrt, seeded, live, inner=inner)
        self.seeded = seeded
        self.saved = d.saved
        self.forward, self.backward = d.forward, d.backward


class _Results:
    """Outputs of a function: the tensors and numbers that it returns, and arguments with histories by what was written
    to them.

    ``values`` are the former, ``arguments`` has the number of each argument by the id of what stands for it, and
    ``captured`` the captured tensors likewise.
    """

    def __init__(
        self, capture: Capture, values: Sequence[Any], arguments: dict[int, int], captured: dict[int, Tensor]
    ) -> None:
        self.outputs: list[Any] = [x if type(x) is Sym else capture.tensor(x) for x in values]
        if any(id(x) in capture.undecided for x in self.outputs):
            raise Undecided(
                "a result is a leaf that the function has made, or something else, as data decide: which gradient it "
                "would have is not known. Return x.detach(), or x * 1.0, which has a history on every way"
            )
        # Those that are leaves of the function's own, by their numbers, with the values that gradients are of.
        self.leaves = {
            i: capture.value_of(x) for i, x in enumerate(self.outputs) if type(x) is not Sym and capture.makes(x)
        }
        if any(v.hooks for v in self.leaves.values()):
            raise CaptureError(
                "a leaf that the function has made and given a hook is a result: its hook would be part of the graph "
                "alone. Register the hook outside"
            )
        for i in self.leaves:
            with context.no_grad_guard():
                self.outputs[i] = F.copy(self.outputs[i])
        # Those whose history the function has used up, by their numbers.
        histories = {i: x for i, x in enumerate(self.outputs) if type(x) is not Sym and i not in self.leaves}
        self.ended = {i for i, x in histories.items() if capture.has_ended(x)}
        # Where an input is that the function wrote to and that has a history by that: it is assigned after the run.
        self.assigned: list[Any] = []
        for root in capture.derived():
            if capture.has_ended(root):
                raise CaptureError(
                    "an argument was written to, and gradients have gone through what was written without "
                    "retain_graph=True: its history began outside of the function and has ended inside"
                )
            self.assigned.append(arguments.get(id(root), captured.get(id(root))))
            self.outputs.append(symbolic(root._value, capture))
        self.stops = [type(x) is Sym or x.stop_gradient for x in self.outputs]

    def has_open_ends(self) -> bool:
        """Return whether gradients may begin at one of them."""
        numbered = enumerate(zip(self.stops, self.outputs, strict=True))
        return any(not stop and is_continuous(x) and i not in self.ended for i, (stop, x) in numbered)


class Captured(CapturedRun):
    """A captured function for one class of arguments.

    ``Captured.of(function, tensors, dynamic)`` runs ``function`` on stand-ins of ``tensors``; it returns a list of
    leaves. ``dynamic`` has a set of axes for each tensor, whose sizes may differ between runs; ``owners`` are tensors
    whose ``.grad`` the function may read. ``run(tensors)`` gives the leaves for other tensors of the class, with the
    history that eager calls would have recorded.
    """

    def __init__(
        self,
        capture: Capture,
        leaves: Sequence[Any],
        name: str,
        owners: Iterable[Tensor],
        pinned: dict[int, Tensor],
    ) -> None:
        self._streams = [stream for _, stream in capture.streams.values()]
        # The scalars of a run, in order.
        self._symbols = [s for source in capture.sources for s in source.symbols]
        self._symbols += [s for stream in self._streams for s in (stream.seed, stream.offset)]
        places = [i for i, x in enumerate(leaves) if isinstance(x, (Tensor, Sym))]
        arguments = {id(r): i for i, r in enumerate(capture.arguments)}
        captured = capture.captured()
        exchanged = ExchangedGradients(capture, owners, arguments)
        results = _Results(capture, [leaves[i] for i in places], arguments, captured)
        self.stops, self._ended = results.stops, results.ended
        # Where a tensor with a history outside is, whose gradient goes on there.
        outer: list[Any] = [arguments.get(key, leaf) for key, (leaf, _) in capture.outer.items()]
        made = [*exchanged.made(capture), *(g for _, g in capture.outer.values())]
        # Streams of which a run takes words as data decide: how many is known, and taken, when it has run.
        inside = bound_within(capture.builder.program.ops)
        self._open = [any(s in inside for s in symbols_of(stream.words)) for stream in self._streams]
        counts = [stream.words for stream, is_open in zip(self._streams, self._open) if is_open]
        traced = capture.finish([*results.outputs, *made, *counts], name)
        self._copies = copy_shared_outputs(capture, results.outputs, len(places))
        records = self._differentiated(capture, traced, results, captured)
        # Gradients that the function met are those of the coming run, not those of the first one.
        held = {id(g): at for at, g in enumerate(exchanged.before) if g is not None}
        self._late = {n: held[id(x)] for n, x in self.program.captured.items() if id(x) in held}
        # Whether gradients are any of its business.
        exchanges = bool(capture.differentiated or capture.leaves or self._late)
        own = [x for n, x in self.program.captured.items() if id(x) not in held]
        # What no argument may be: captured tensors, and leaves that the function gives gradients, or asks for them.
        self.known = [leaf for leaf, _ in capture.leaves.values() if not isinstance(leaf, SymTensor)]
        self.known += own if capture.asked or self.program.effects else []
        watched = list({**{id(x): x for x in own}, **capture.left_out}.values())
        self._prepare(
            name=self.program.name or "captured",
            pinned=sorted(pinned.items()),
            apart=set(map(id, self.known)),
            leaves=exchanged.places if exchanges else [],
            absent=[g is None for g in exchanged.before] if exchanges else [],
            inner=[not capture.is_outer_leaf(leaf) for leaf in exchanged.leaves] if exchanges else [],
            hooks=[leaf._hooks for leaf in exchanged.leaves] if exchanges else [],
            kept=watched,
            needs=[x.stop_gradient for x in watched],
            sources=[s.scalars for s in capture.sources],
            streams=[s.stream for s in self._streams],
            open=self._open,
            constants=[None if isinstance(x, (Tensor, Sym)) else x for x in leaves],
            tensors=places,
            replaced=exchanged.replaced,
            assigned=results.assigned,
            outer=outer,
            records=records,
            results=len(self.program.outputs),
            own_leaves=list(results.leaves),
            ended=[places[i] for i in self._ended],
        )
        self._owners = exchanged.leaves
        self._pure: Executor | None = None  # without writes, for gradients of gradients
        self._pair: _Pair | None = None
        if self.custom:
            self._pair = self._pair_in(capture, traced, list(results.leaves.values()))

    def _differentiated(
        self, capture: Capture, traced: Program, results: _Results, captured: dict[int, Tensor]
    ) -> bool:
        """Set the program that runs, and what is known of gradients through it; return whether runs record any."""
        made_leaves = list(results.leaves.values())
        roots = [v for _, v in capture.gradient_roots()]
        fuse_plain_attention(traced, wanted=[*roots, *made_leaves])
        wanted = set(map(id, roots))
        self.wrt = [i for i, v in enumerate(traced.inputs) if id(v) in wanted and is_continuous(v.meta)]
        # Those of them, by their number in `wrt`, whose gradients eager calls would keep as rows, if they are leaves.
        tables = {id(v) for r, v in capture.gradient_roots() if id(captured.get(id(r), r)) in capture.looked_up}
        self._tables = [at for at, i in enumerate(self.wrt) if id(traced.inputs[i]) in tables]
        self._by_rows: list[int] = []
        records = bool(self.wrt or capture.made) and results.has_open_ends()
        # Whether gradients of the program's results need this trace, which alone can call Python functions, and in
        # which two leaves of the same elements are two.
        self.custom = records and (bool(made_leaves) or _has_python(traced))
        # Gradients of regions that were written in Python stand in the program until it is differentiated.
        given = records and not self.custom and any(map(is_given, traced.walk()))
        self._given_gradients = remove_dead(merge_common(traced.copy())) if given else None
        program = resolve(traced.copy() if self.custom else traced)
        merge_common(program, given=program.outputs if records else ())
        self.program = remove_dead(program)
        # Whether a run that fails has done nothing yet that could be seen.
        self.leaves_no_trace = all(type(o.op) is F.Require for o in program.walk() if o.op.effect)
        # Whether runs that are recorded give results with a history.
        self.has_history = records and bool(self._given(program))
        return records

    def _pair_in(self, capture: Capture, traced: Program, made_leaves: list[Value]) -> _Pair:
        """The two parts of a program whose gradients call Python functions, in which casts are not made again."""
        ctx = context.current()
        amp = ctx.amp()
        ctx.set_amp(0, amp[1], 0)
        try:
            return _Pair(traced, self.wrt, self._given(traced), self._copies, capture, made_leaves)
        finally:
            ctx.set_amp(*amp)

    def _given(self, program: Program) -> list[int]:
        """The outputs that have a gradient."""
        return [
            i for i, (y, stop) in enumerate(zip(program.outputs, self.stops, strict=False))  # gradients come behind
            if type(y) is Value and y.operation is not None and not (stop or i in self._ended) and is_continuous(y.meta)
        ]  # fmt: skip

    @classmethod
    def of(
        cls,
        function: Callable[..., list],
        tensors: Sequence[Tensor],
        dynamic: Sequence[Iterable[int]] | None = None,
        name: str = "",
        owners: Iterable[Tensor] = (),
    ) -> Captured:
        axes = [() if dynamic is None else dynamic[i] for i in range(len(tensors))]
        captured = cls._of(function, tensors, axes, name, owners, {})
        # An argument that the function also knows by itself is one tensor there, if it is differentiated or written to.
        known = set(map(id, captured.known))
        pinned = {i: x for i, x in enumerate(tensors) if id(x) in known}
        return cls._of(function, tensors, axes, name, owners, pinned) if pinned else captured

    @classmethod
    def _of(
        cls,
        function: Callable[..., list],
        tensors: Sequence[Tensor],
        axes: Sequence[Iterable[int]],
        name: str,
        owners: Iterable[Tensor],
        pinned: dict[int, Tensor],
    ) -> Captured:
        capture = Capture()
        try:
            with capture:
                given: list[Any] = []
                for i, x in enumerate(tensors):
                    if i not in pinned:
                        x = capture.argument(x, axes[i])
                    given.append(x)
                leaves = function(given)
                for condition in capture.conditions:
                    condition()
                return cls(capture, leaves, name, owners, pinned)
        finally:
            capture.restore()

    def leaves_with_gradients(self) -> list[Tensor]:
        """Return the known tensors whose gradient from before the call the program reads."""
        read = {id(x) for n, x in self.program.captured.items() if n in self._late}
        return [x for x in self._owners if id(leaf_gradients.held_gradient(x)) in read]

    # --- what runs ask for, which are in C

    def _executor_of(self, program: Program) -> Executor:
        return Executor(program, disjoint=True, late=list(self._late))

    def _part(self, executor: Executor, symbols: Sequence[Sym], extras: Sequence[Any] = ()) -> Part:
        places = {s: i for i, s in enumerate(symbols)}
        scalars = [places[s] for s, at in executor.sources.items() if at is None]
        return Part(executor, list(extras), [self._late[n] for n in executor.late], scalars)

    def _plain(self) -> Part:
        """The program without history."""
        return self._part(self._executor_of(self.program), self._symbols, self._words())

    def _words(self) -> list[Any]:
        """Return the number of words that a run takes from each stream; 0 where that is known when it has run."""
        return [0 if is_open else s.words for s, is_open in zip(self._streams, self._open, strict=True)]

    def _recording(self) -> tuple[Part, Backward]:
        """Its forward part, and the backward one."""
        source = self._given_gradients or self.program
        pair = self._pair or _Pair(source, self.wrt, self._given(source), self._copies)
        self._unclear = pair.paths.unclear
        self._by_rows = give_rows(pair.backward, self._tables)
        forward, backward = self._executor_of(pair.forward), Executor(pair.backward)
        # Where a number of the backward part is known from: the forward part's symbols, the run's, or a region.
        known: dict[Sym, Any] = {s: -1 - i for i, s in enumerate(self._symbols)}
        known.update((s, i) for i, s in enumerate(forward.sources))
        symbols = [s for s, at in backward.sources.items() if at is None]
        return (
            self._part(forward, self._symbols, self._words()),
            Backward(
                self._part(backward, symbols),
                pair.saved,
                self.wrt,
                pair.seeded,
                [known.get(s, s) for s in symbols],
                pair.paths.histories,
                pair.paths.reached,
                pair.paths.between,
                self._read(pair.forward),
            ),
        )

    def _read(self, program: Program) -> list[int]:
        """Return the inputs that the forward part reads and does not write to."""
        written = {id(w.target) for w in program.effects}
        return [i for i, v in enumerate(program.inputs) if id(v) not in written]

    def _history_of(self, run: Any, at: int) -> list[Tensor]:
        """The results of a run that have a gradient, with histories between them."""
        required = "gradients with respect to results that others depend on, and hooks on these, to be inside of it"
        if self._unclear >> at & 1:
            raise RuntimeError(
                f"[{self.program.name}] requires {required}, got one whose value is that of another tensor, too. Ask "
                "inside of the captured function"
            )
        if any(o.op.effect and not isinstance(o.op, OnHost) for o in self.program.walk()):
            raise RuntimeError(
                f"[{self.program.name}] requires {required}, where it communicates with other ranks. Ask inside of the "
                "captured function"
            )
        if self._tables:
            raise RuntimeError(
                f"[{self.program.name}] requires {required}, where it looks tables up with sparse=True. Ask inside of "
                "the captured function"
            )
        ctx = context.current()
        amp, enabled = ctx.amp(), ctx.grad_enabled
        ctx.set_amp(0, amp[1], 0)
        ctx.grad_enabled = True
        try:
            ys = self._once_more(run, required)
        finally:
            ctx.set_amp(*amp)
            ctx.grad_enabled = enabled
        return [ys[i] for i in run.seeded]

    def _holds(self, executor: Executor, tensors: Sequence[Tensor], words: Sequence[int]) -> bool:
        """Return whether the guards hold."""
        known = executor.environment(tensors, words)
        return all(evaluate(g, known) for g in self.program.guards)

    def _drawn(self, stream: int, executor: Executor, tensors: Sequence[Tensor], words: Sequence[int]) -> int:
        """Return the number of words that a run takes from a stream."""
        return evaluate(self._words()[stream], executor.environment(tensors, words))

    @staticmethod
    def _zeros(shape: Sequence[int], dtype: Any, place: Any) -> Tensor:
        with context.place_guard(place):
            return F.full(0.0, dtype=dtype, shape=tuple(shape))

    @staticmethod
    def _rows(table: Tensor, index: Tensor, values: Tensor) -> SelectedRows:
        return SelectedRows(index, values, list(table.shape))

    def _with_rows(self, gradients: Sequence[Any], tables: Sequence[Tensor]) -> list[Any]:
        count = len(tables)
        given = list(gradients[:count])
        for at, index in zip(self._by_rows, gradients[count:], strict=True):
            rows = self._rows(tables[at], index, given[at])
            given[at] = rows if tables[at].is_leaf else rows.to_dense()
        return given

    def _differentiable_gradients(self, run: Any, grads: Sequence[Any]) -> tuple:
        """The gradients with a history of their own: through the operations, run one by one."""
        # Sources may depend on each other, and have hooks: both belong to the run that asks, which goes on from them.
        apart = {id(s): apply(_COPY, (s,)) for s in run.sources if not s.is_leaf or s._hooks}
        ys = self._once_more(run, "create_graph=False", apart)
        pairs = [
            (ys[i], g) for i, g in zip(run.seeded, grads, strict=True) if g is not None and not ys[i].stop_gradient
        ]
        return tuple(
            tape.grad(
                [y for y, _ in pairs],
                [apart.get(id(s), s) for s in run.sources],
                [g for _, g in pairs],
                create_graph=True,
                allow_unused=True,
                no_grad_vars=list(apart.values()),
            )
        )

    def _once_more(self, run: Any, required: str, apart: Mapping[int, Tensor] = MappingProxyType({})) -> list[Any]:
        """The outputs of a run, whose operations run one by one, recorded. ``required``: of who asks for that;
        ``apart``: copies that arguments have, by id.
        """
        if self.custom or self._given_gradients is not None:
            raise RuntimeError(
                f"[{self.program.name}] requires {required}: hooks, gradients written in Python, and leaves "
                "that the captured function makes and returns, are differentiated only inside of it. Ask there"
            )
        if self._pure is None:
            program = self.program.copy()
            written = {id(w.target) for w in program.effects}
            program.effects.clear()
            _leave_out_host(program.body)  # which the run has done
            remove_dead(program)
            if any(id(v) in written for o in program.ops for v in uses(o)):
                raise RuntimeError(
                    f"[{self.program.name}] requires {required}: the captured function writes to tensors whose "
                    "values from before its gradient needs, and they are not kept. Ask inside of it"
                )
            self._pure = Executor(cut(program), late=list(self._late))
        scalars = dict(zip(self._symbols, run.scalars, strict=True))
        words = [scalars[s] for s, at in self._pure.sources.items() if at is None]
        return self._pure.from_words([apart.get(id(x), x) for x in run.arguments], words, {})
