"""Python functions as regions of the program that is being traced.

``cond``, ``while_loop`` and ``scan`` take functions over lists of leaves (tensors and whatever else) and record one
operation. A function is traced with whatever it reads from around it; that becomes operands. Tensors from around it
that it writes to become results, and carried values of a loop. What a loop carries is known once its body was traced:
it is traced again until nothing is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from umiak import ops as F
from umiak.core import context
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.elements import known_elements
from umiak.ir.expr import Sym, negate
from umiak.ir.meta import Meta
from umiak.ir.program import Block, Operation, Value, bound, bound_within, free, walk
from umiak.ir.rewrite import Sweep
from umiak.ir.scope import EXAMPLE, symbols_of
from umiak.ir.tracer import SymTensor, Tracer, current, symbolic
from umiak.ops.control import Cond, Scan, While, alike
from umiak.ops.create import Full
from umiak.ops.effects import Sized
from umiak.ops.elementwise import Elementwise
from umiak.ops.movement import View
from umiak.ops.reduce import ArgExtremum, Reduction
from umiak.runtime.capture import CaptureError, recorded
from umiak.runtime.modes import changed, modes_now, set_modes
from umiak.runtime.used_histories import outside
from umiak.util.errors import op_error

MOST_ATTEMPTS = 50  # to trace a body: each finds something new that the loop carries


class _Body:
    """One trace of a function as a region. ``leaves``: what it returned, ``stops``: whether gradients stop there.

    The arguments are ``carried`` (types, and whether gradients stop), tensors from outside that are written to, with
    whether gradients stop at the start, and ``more``. The function gets the first and the last of these. ``types``: of
    what is carried, where they are not those of these tensors.
    """

    def __init__(
        self,
        tracer: Tracer,
        call: Callable[[list[SymTensor]], list[Any]],
        carried: Sequence[tuple[SymTensor, bool]] = (),
        roots: Sequence[tuple[SymTensor, bool]] = (),
        sliced: Sequence[SymTensor] = (),
        types: Sequence[Meta] | None = None,
    ) -> None:
        metas = [x.meta for x, _ in carried] if types is None else list(types)
        metas += [x.meta for x, _ in roots]
        metas += [Meta(x.meta.shape[1:], x.meta.dtype) for x in sliced]
        n, m = len(carried), len(carried) + len(roots)
        with tracer.region(metas) as (self.block, arguments), tracer.frame(arguments) as frame:
            for x, like in zip(arguments, (*(x for x, _ in (*carried, *roots)), *sliced), strict=True):
                x._value.place = like._value.place
            for x, (_, stop) in zip(arguments, carried, strict=False):
                x._stop = stop
            for (root, stop), x in zip(roots, arguments[n:m], strict=True):
                frame.keep(root)
                # One that does not want a gradient at first has its wish from what an iteration writes.
                root._made = root._made or (root._stop and not stop)
                root._value, root._stop = x._value, stop
                x._stop = stop
            before = {id(root): root._value for root, _ in roots}
            self.frame = frame
            self.leaves = _in_modes(lambda: call([*arguments[:n], *arguments[m:]]))
            tensors = {i: tracer.tensor(x) for i, x in enumerate(self.leaves) if isinstance(x, Tensor)}
            self.values = {i: x.value for i, x in tensors.items()}
            self.places = {id(self.leaves[i]): i for i in tensors}
            settled = tracer.settled() if tracer.captures else {}
            self.values = {i: settled.get(id(v), v) for i, v in self.values.items()}
            self.stops = {i: x.stop_gradient for i, x in tensors.items()}
            self.kinds = {i: leaf_kind(tracer, x) for i, x in tensors.items()}
            self.written: dict[int, SymTensor] = dict(frame.written)
            self.after = {
                k: (settled.get(id(r._value), r._value), r._stop, r._made) for k, r in self.written.items()
            }  # fmt: skip
            # Those that were written in no_grad only, and so have the history that they had.
            self.quiet = {
                k for k, r in self.written.items()
                if recorded(r._value) is recorded(before[k] if k in before else frame.before(r))
            }  # fmt: skip

    def of(self, root: SymTensor) -> tuple[Value, bool, bool]:
        """Return the state of a tensor from outside at the end: value, whether gradients stop, whether it was
        written."""
        return self.after.get(id(root)) or (root._value, root._stop, root._made)

    def leaf(self, tracer: Tracer, x: Tensor | None) -> tuple[Value | None, bool]:
        """Return the value of a leaf, or of a tensor from outside, and whether gradients stop there."""
        if x is None:
            return None, True
        i = self.places.get(id(x))
        if i is not None:
            return self.values[i], self.stops[i]
        outside = tracer.tensor(x)
        return outside.value, outside.stop_gradient

    def kind(self, tracer: Tracer, x: Tensor | None) -> int | None:
        """Return the ``leaf_kind`` of a leaf, or of a tensor from outside; None where there is none."""
        if x is None:
            return None
        i = self.places.get(id(x))
        return leaf_kind(tracer, tracer.tensor(x)) if i is None else self.kinds[i]

    def is_quiet(self, root: SymTensor) -> bool:
        """Return whether the history of a tensor from outside stays as it was."""
        return id(root) in self.quiet or id(root) not in self.written


def _in_modes(call: Callable[[], list[Any]]) -> list[Any]:
    """Call a function whose modes end with it: it may not run at all."""
    modes = modes_now()
    try:
        leaves = call()
        if different := changed(modes):
            raise CaptureError(
                f"a branch or loop body on data leaves {' and '.join(different)} changed behind it: whether it runs is "
                "known with the data alone. Change that inside of a with statement there, or outside"
            )
    finally:
        set_modes(modes)
    return leaves


HISTORY, LEAF, UNDECIDED = range(3)


def leaf_kind(tracer: Tracer, x: SymTensor) -> int:
    """Return whether ``x`` is a leaf that the function has made; UNDECIDED: as data decide."""
    if tracer.makes(x):
        return LEAF
    return UNDECIDED if id(x) in getattr(tracer, "undecided", ()) else HISTORY


def _settle_kind(tracer: Tracer, x: SymTensor, kinds: Iterable[int | None]) -> None:
    """Let the result of an operation be a leaf where it is one on all ways."""
    those = {k for k in kinds if k is not None}
    if those == {LEAF}:
        tracer.begin(x, x._value)  # type: ignore[attr-defined]
    elif those != {HISTORY} and those:
        tracer.undecided[id(x)] = x  # type: ignore[attr-defined]


class _Into(Sweep):
    in_place = True


def _close(blocks: Sequence[Block]) -> list[Value]:
    """Make what the blocks read from outside their last arguments; returns it."""
    outside = list({id(v): v for b in blocks for v in free(b)}.values())
    for b in blocks:
        into = _Into()
        into.stand(outside, [b.argument(v.meta, v.place) for v in outside])
        into.block(b)
    return outside


def number(x: Any, dtype: DType | None) -> Any:
    """A leaf as a tensor of ``dtype``, where that is asked for."""
    if dtype is None or isinstance(x, Tensor):
        return x
    return F.full(x, shape=(), dtype=dtype)


def dtype_of(x: Any) -> DType | None:
    """The dtype of a Python scalar as a tensor."""
    if isinstance(x, bool):
        return dt.bool
    if isinstance(x, int) or (type(x) is Sym and x.kind == "int"):
        return dt.int64
    return dt.from_id(context.current().state.default_dtype) if isinstance(x, float) else None


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and type(a) is not Sym and bool(a == b))


def _flag(op_name: str, tracer: Tracer, x: Any) -> SymTensor:
    if isinstance(x, bool):
        x = F.full(x, shape=(), dtype=dt.bool)
    if not isinstance(x, Tensor) or x.dtype is not dt.bool:
        got = f"a tensor of {x.dtype.name}" if isinstance(x, Tensor) else repr(x)
        raise op_error(TypeError, op_name, "a bool tensor with one element as condition", got)
    return tracer.tensor(x)


def condition_of(flag: Tensor, guards: bool = False) -> Any:
    """The value of a condition that sizes alone decide in a static program: a bool where they are known, otherwise an
    expression of them. None for another one. ``guards``: a captured function guards what it is."""
    tracer = current()
    if not (tracer.static or (guards and tracer.captures)) or any(type(n) is not int or n != 1 for n in flag.shape):
        return None
    # Elements of tensors may change between runs of a static program.
    constant = (lambda _: None) if tracer.static else tracer.constant  # type: ignore[attr-defined]
    elements = known_elements(tracer.tensor(flag).value, constant)
    if elements is None:
        return None
    x = elements.flat[0]
    if type(x) is Sym:
        x = tracer.scope.simplify(x if x.kind == "bool" else x != 0)
    if type(x) is not Sym or x.hinted:
        return bool(x)
    known = tracer.scope.decide(x)
    return x if known is None else known


def is_never(flag: Tensor) -> bool:
    """Return whether a condition is false in all runs of the program that is traced."""
    tracer = current()
    elements = known_elements(tracer.tensor(flag).value, lambda _: None) if flag._count == 1 else None
    if elements is None or type(elements.flat[0]) is Sym:
        return condition_of(flag) is False
    return not elements.flat[0]


def _on_way(tracer: Tracer, condition: Any, holds: bool) -> AbstractContextManager[Any]:
    """While the way is recorded that a program takes where a condition holds, or does not."""
    if type(condition) is not Sym:
        return nullcontext()
    return tracer.scope.within(condition if holds else negate(condition))  # type: ignore[arg-type]


def _results(tracer: Tracer, values: Sequence[Value], stops: Sequence[bool]) -> list[SymTensor]:
    flows = context.current().grad_enabled
    out = []
    for v, stop in zip(values, stops, strict=True):
        v.stop = not flows
        x = symbolic(v, tracer)
        x._stop = not flows or stop
        out.append(x)
    return out


# --- streams of random numbers: a region draws from where the program stands, and the program goes on behind it ------


def words(tracer: Tracer) -> dict[int, Any]:
    """Return the number of words that were drawn from each stream so far."""
    return {key: stream.words for key, (_, stream) in getattr(tracer, "streams", {}).items()}


def set_words(tracer: Tracer, positions: dict[int, Any]) -> None:
    """Have streams go on from where :func:`words` says."""
    for key, (_, stream) in getattr(tracer, "streams", {}).items():
        stream.words = positions.get(key, 0)


def _drawn(tracer: Tracer, before: dict[int, Any]) -> dict[int, Any]:
    """Return the number of words that were drawn since."""
    now = words(tracer)
    return {key: now[key] - before.get(key, 0) for key in now}


def _steady(op_name: str, drawn: dict[int, Any], inside: set[Sym]) -> None:
    if not inside.isdisjoint(symbols_of(list(drawn.values()))):
        raise op_error(
            CaptureError,
            op_name,
            "as many random numbers in every run of a loop body or branch that stands inside of another one",
            "one whose number depends on data",
            "Draw them before, in the captured function itself",
        )


def _inside(block: Block) -> set[Sym]:
    """The symbols that operations of a region bind."""
    return {s for o in walk(block) for s in bound(o)}


# --- operands that are computed whatever decides --------------------------------------------------------------------

_UNFAILING = (Elementwise, Reduction, ArgExtremum, View, Full)


def inlined(
    call: Callable[[], Any], is_unseen: Callable[[], bool], is_raised: Callable[[BaseException], bool]
) -> tuple[Any] | None:
    """``(call(),)``, recorded where the program stands; None, and nothing is recorded, where a call that is not asked
    for would show: it draws random numbers, writes to a tensor or may fail, or ``is_unseen()`` is false after it.

    ``is_raised``: whether an error is one of the code that is called.
    """
    tracer = current()
    before = words(tracer)
    try:
        body = _Body(tracer, lambda _: [call(), is_unseen()])
    except Exception as error:
        set_words(tracer, before)
        if is_raised(error):
            return None
        raise
    x, unseen = body.leaves
    drawn = any(type(n) is Sym or n for n in _drawn(tracer, before).values())
    if drawn or body.written or not unseen or not all(map(_is_unfailing, body.block.operations)):
        set_words(tracer, before)
        return None
    if tracer.used is not None:
        tracer.used.chosen([body.frame.used])
    tracer.builder.block.operations += body.block.operations
    return (symbolic(body.values[0], tracer) if isinstance(x, Tensor) else x,)


def _is_unfailing(o: Operation) -> bool:
    return isinstance(o.op, _UNFAILING) and not o.op.effect and not o.op.random


# --- branches --------------------------------------------------------------------------------------------------------


def cond(pred: Any, then: Callable[[], list[Any]], other: Callable[[], list[Any]]) -> list[Any]:
    """The leaves that the one function or the other returns, by an operation that decides when the program runs.

    Leaves that are not tensors must be equal, or numbers, of which it makes tensors.
    """
    out: list[Any] = []
    at: list[int] = []

    def paired(a: Sequence[Any], b: Sequence[Any]) -> list[tuple[Any, Any]]:
        if len(a) != len(b):
            raise op_error(TypeError, "cond", f"as many results of both branches ({len(a)})", len(b))
        pairs = []
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            dtype = _common(x, y)
            if dtype is not None or isinstance(x, Tensor):
                pairs.append((number(x, dtype), number(y, dtype)))
                at.append(i)
        out.extend(a)
        return pairs

    for i, x in zip(at, branch(pred, then, other, paired), strict=True):
        out[i] = x
    return out


def branch(
    pred: Any,
    then: Callable[[], list[Any]],
    other: Callable[[], list[Any]],
    paired: Callable[[list[Any], list[Any]], Sequence[tuple[Tensor | None, Tensor | None]]],
) -> list[SymTensor]:
    """A tensor for each of the pairs that ``paired`` makes of the leaves of both functions, by an operation that
    decides when the program runs.

    Pairs are of leaves, or of tensors made outside of both (:func:`number`). None stands for what a branch does not
    have: where that branch runs, nothing may depend on the result.
    """
    tracer = current()
    flag = _flag("cond", tracer, pred)
    condition = condition_of(flag)
    if type(condition) is Sym:
        flag = tracer.tensor(F.full(condition, shape=(), dtype=dt.bool))
    before = words(tracer)
    bodies: list[_Body] = []
    drawn: list[dict[int, Any]] = []
    for holds, function in ((True, then), (False, other)):
        with _on_way(tracer, condition, holds):
            bodies.append(_Body(tracer, lambda _, run=function: list(run())))  # type: ignore[misc]
        drawn.append(_drawn(tracer, before))
        set_words(tracer, before)
        _steady("cond", drawn[-1], _inside(bodies[-1].block))
    a, b = bodies
    begun = len(tracer.builder.block.operations)
    pairs = paired(a.leaves, b.leaves)
    _take_in(tracer.builder.block, begun, bodies)
    ends = [[body.leaf(tracer, x)[0] for body, x in zip(bodies, pair, strict=True)] for pair in pairs]
    sizes = [_sizes_of_both(tracer, x, y) for x, y in ends]
    taken = tracer.scope.number(0, 1)
    roots = list({**a.written, **b.written}.values())
    results_stop = [True] * len(pairs)
    for k, body in enumerate(bodies):
        outputs: list[Any] = []
        for i, pair in enumerate(pairs):
            value, stop = body.leaf(tracer, pair[k])
            if own := sizes[i]:
                sized = tracer.builder.make(Sized(tuple(own)), (value,), (tuple(own.values()),))
                body.block.operations.append(sized)
                (value,) = sized.results
            outputs.append(value)
            results_stop[i] = results_stop[i] and stop
        body.block.outputs = [*outputs, *(body.of(r)[0] for r in roots)]
    if tracer.used is not None:
        tracer.used.chosen([a.frame.used, b.frame.used])
    made = tracer.builder.append(Cond(), (flag.value, *_close([a.block, b.block])), (taken,), (a.block, b.block))
    results = _results(tracer, made, [*results_stop, *(a.of(r)[1] and b.of(r)[1] for r in roots)])
    for pair, x in zip(pairs, results, strict=False):
        _settle_kind(tracer, x, (body.kind(tracer, y) for body, y in zip(bodies, pair, strict=True)))
    for r, x in zip(roots, results[len(pairs) :], strict=True):
        tracer.replaced(r, x, a.of(r)[2] or b.of(r)[2], a.is_quiet(r) and b.is_quiet(r))
    total = {}
    for key in {*before, *drawn[0], *drawn[1]}:
        m, n = drawn[0].get(key, 0), drawn[1].get(key, 0)
        total[key] = before.get(key, 0) + (m if dim.same(m, n) else dim.where(taken == 1, m, n))
    set_words(tracer, total)
    return results[: len(pairs)]


def _take_in(block: Block, begun: int, bodies: Sequence[_Body]) -> None:
    """Move operations from ``begun`` on that take a number to which a body gives its value into that body."""
    for body in bodies:
        inside = bound_within(body.block.operations)
        if inside:
            made = block.operations[begun:]
            block.operations[begun:] = [o for o in made if inside.isdisjoint(_symbols_taken(o))]
            body.block.operations += [o for o in made if not inside.isdisjoint(_symbols_taken(o))]


def _symbols_taken(o: Operation) -> Iterable[Sym]:
    return symbols_of((*o.operands, *o.params))


def joinable(a: Meta, b: Meta) -> bool:
    """Return whether the two ways of a branch may leave these in one place. Sizes may differ
    where data may decide them."""
    if not current().one_program:
        return alike(a, b)
    return a.dtype is b.dtype and a.weak == b.weak and len(a.shape) == len(b.shape)


def _sizes_of_both(tracer: Tracer, a: Value | None, b: Value | None) -> dict[int, Sym]:
    """By axis, the sizes of the result for what two ways leave where these differ: numbers that data decide. None of
    them in what is no static program, which refuses such ways."""
    if a is None or b is None or not tracer.one_program or len(a.meta.shape) != len(b.meta.shape):
        return {}
    known = tracer.scope.simplify
    sizes = enumerate(zip(a.meta.shape, b.meta.shape, strict=True))
    return {axis: tracer.scope.number() for axis, (m, n) in sizes if not dim.same(known(m), known(n))}


def _common(a: Any, b: Any) -> DType | None:
    """The dtype of a tensor in the place of two leaves that differ; None where they need none."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return None
    dtype = None
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        x, y = (a, b) if isinstance(a, Tensor) else (b, a)
        dtype = x.dtype if dtype_of(y) is not None else None
    elif _same(a, b):
        return None
    elif dtype_of(a) is dtype_of(b):
        dtype = dtype_of(a)
    if dtype is None:
        raise op_error(
            TypeError, "cond", "tensors, numbers of one kind or equal values of both branches", f"{a!r} and {b!r}"
        )
    return dtype


# --- loops -----------------------------------------------------------------------------------------------------------


class _Loop:
    """The values that a loop carries: leaves (tensors, and numbers that change), and tensors from outside that are
    written to."""

    def __init__(self, tracer: Tracer, op_name: str, leaves: Sequence[Any]) -> None:
        self.tracer, self.op_name = tracer, op_name
        self.first = [tracer.tensor(x) if isinstance(x, Tensor) else x for x in leaves]
        self.stops = {i: x.stop_gradient for i, x in enumerate(self.first) if isinstance(x, Tensor)}
        self.roots: dict[int, tuple[SymTensor, bool]] = {}  # with whether gradients stop at the start of an iteration
        self.index = tracer.scope.number()
        self.before = words(tracer)
        self.drawn: dict[int, Any] = {}  # words in each iteration
        self.grown: dict[tuple[int, int], Sym] = {}  # by leaf and axis, the size that an iteration finds
        self.attempts = 0

    @property
    def at(self) -> list[int]:
        """The leaves that are carried."""
        return sorted(self.stops)

    def stand(self, count: Any) -> dict[int, Any]:
        """Return the positions of streams after ``count`` iterations."""
        return {k: self.before.get(k, 0) + count * self.drawn.get(k, 0) for k in {*self.before, *self.drawn}}

    def trace(self, call: Callable[[list[Any], list[SymTensor]], list[Any]], sliced: Sequence[SymTensor] = ()) -> _Body:
        """``call(leaves, slices)`` as a region, with a slice of each tensor ``sliced``."""
        at = self.at

        def run(arguments: list[SymTensor]) -> list[Any]:
            leaves = list(self.first)
            for i, x in zip(at, arguments, strict=False):
                leaves[i] = x
            return call(leaves, arguments[len(at) :])

        set_words(self.tracer, self.stand(self.index))
        carried = [(self.first[i], self.stops[i]) for i in at]
        types = [self.type(i) for i in at]
        traced = _Body(self.tracer, run, carried, list(self.roots.values()), sliced, types)
        if outside(traced.frame.used.values(), traced.block):
            raise CaptureError(
                "gradients go in a loop on data through what was computed before it, without retain_graph=True, which "
                "the second iteration could not do. Pass retain_graph=True, or compute it in the loop"
            )
        return traced

    def type(self, i: int) -> Meta:
        """The type of a leaf in an iteration."""
        first = self.first[i].meta
        shape = tuple(self.grown.get((i, axis), n) for axis, n in enumerate(first.shape))
        return Meta(shape, first.dtype)

    def grows(self, i: int, after: Meta, inside: set[Sym]) -> bool:
        """Note where the body leaves a leaf of another size, in a static program: for usual sizes, or by numbers that
        it reads itself (``inside``). Other sizes are required to stay."""
        before = self.type(i)
        if not self.tracer.one_program or len(before.shape) != len(after.shape):
            return False
        known = self.tracer.scope.simplify
        found = False
        for axis, (m, n) in enumerate(zip(map(known, before.shape), map(known, after.shape), strict=True)):
            if (i, axis) in self.grown or dim.same(m, n):
                continue
            if not inside.isdisjoint(symbols_of(n)) or not _usually_equal(m, n):
                self.grown[i, axis], found = self.tracer.scope.number(), True
        return found

    def condition(self, call: Callable[[list[Any]], Any]) -> _Body:
        traced = self.trace(lambda leaves, _: [_flag(self.op_name, self.tracer, call(leaves))])
        if traced.written or any(type(n) is Sym or n for n in _drawn(self.tracer, self.stand(self.index)).values()):
            raise op_error(
                RuntimeError, self.op_name, "a condition that only computes", "one that draws random numbers or writes"
            )
        return traced

    def settled(self, traced: _Body) -> bool:
        """Return whether the loop was what the trace took it for; what is new of it is known from here on."""
        steady = True
        self.attempts += 1
        if self.attempts > MOST_ATTEMPTS:
            raise op_error(
                RuntimeError,
                self.op_name,
                "a body that does the same whenever it is traced",
                "one that differs each time",
            )
        drawn = {k: n for k, n in _drawn(self.tracer, self.stand(self.index)).items() if type(n) is Sym or n}
        if not all(dim.same(n, self.drawn.get(k, 0)) for k, n in drawn.items()):
            _steady(self.op_name, drawn, {self.index, *_inside(traced.block)})
            self.drawn, steady = drawn, False
        for k, r in traced.written.items():
            stop = traced.after[k][1] and (r._stop if k not in self.roots else self.roots[k][1])
            if k not in self.roots or stop != self.roots[k][1]:
                self.roots[k], steady = (r, stop), False
        inside = _inside(traced.block)
        for i, x in enumerate(self.first):
            y = traced.leaves[i]
            if i in self.stops:
                if not isinstance(y, Tensor):
                    raise op_error(TypeError, self.op_name, f"a tensor from the body as value {i}", repr(y))
                if self.op_name == "while_loop" and self.grows(i, traced.values[i].meta, inside):
                    steady = False
                if self.stops[i] and not traced.stops[i]:
                    self.stops[i], steady = False, False
            elif isinstance(y, Tensor) or not _same(x, y):
                dtype = y.dtype if isinstance(y, Tensor) else dtype_of(x)
                if dtype_of(x) is None or dtype is None:
                    raise op_error(TypeError, self.op_name, f"{x!r}, which is no tensor, again as value {i}", repr(y))
                self.first[i], self.stops[i], steady = F.full(x, shape=(), dtype=dtype), True, False
        return steady

    def result(self, traced: _Body) -> list[Value]:
        """Return the values that an iteration leaves to the next."""
        out = []
        for i in self.at:
            x = traced.leaves[i]
            out.append(traced.values[i] if isinstance(x, Tensor) else None)
        return [*out, *(traced.of(r)[0] for r, _ in self.roots.values())]  # type: ignore[list-item]

    def start(self) -> list[Value]:
        return [*(self.first[i].value for i in self.at), *(r._value for r, _ in self.roots.values())]

    def done(self, traced: _Body, values: Sequence[Value], count: Any) -> list[Any]:
        """The leaves after the loop, which ran ``count`` times; ``values``: the carried ones."""
        at, flows = self.at, list(self.roots.values())
        stops = [self.stops[i] and traced.stops[i] for i in at]
        stops += [stop and traced.of(r)[1] for r, stop in flows]
        results = _results(self.tracer, values, stops)
        for (r, _), x in zip(flows, results[len(at) :], strict=True):
            self.tracer.replaced(r, x, r._made or traced.of(r)[2], traced.is_quiet(r))
        set_words(self.tracer, self.stand(count))
        out = list(self.first)
        for i, x in zip(at, results, strict=False):
            first = leaf_kind(self.tracer, self.first[i])
            _settle_kind(self.tracer, x, (first, traced.kinds.get(i)))
            out[i] = x
        return out


def _usually_equal(m: Any, n: Any) -> bool:
    """Are two sizes equal where all sizes are usual?"""
    usual = dict.fromkeys(symbols_of((m, n)), EXAMPLE)
    return bool(dim.evaluate(m, usual) == dim.evaluate(n, usual))


def while_loop(
    condition: Callable[[list[Any]], Any], body: Callable[[list[Any]], list[Any]], leaves: Sequence[Any]
) -> list[Any]:
    """``leaves`` after ``body`` was applied to them as long as ``condition`` held.

    Dtypes of tensors stay, and shapes do except in static programs. Numbers that the body changes become tensors; what
    else is no tensor stays.
    """
    tracer = current()
    loop = _Loop(tracer, "while_loop", leaves)
    while True:
        forget, sizes_before = tracer.scope.met(), len(loop.grown)
        test = loop.condition(condition)
        traced = loop.trace(lambda leaves, _: _converted(tracer, loop, body(leaves)))
        if len(traced.leaves) != len(leaves):
            raise op_error(TypeError, "while_loop", f"{len(leaves)} values from the body", len(traced.leaves))
        if loop.settled(traced):
            break
        if len(loop.grown) > sizes_before:
            forget()  # what was required of sizes that the loop does not have
    trips = tracer.scope.number()
    test.block.outputs = [test.values[0]]
    traced.block.outputs = [*loop.result(traced)]
    start = loop.start()
    n = len(start)
    operands = (*start, *_close([test.block, traced.block]))
    grown = sorted((loop.at.index(i), axis, size) for (i, axis), size in loop.grown.items())
    op = While(carried=n, grown=tuple(i for i, _, _ in grown), axes=tuple(axis for _, axis, _ in grown))
    sizes = (*(size for _, _, size in grown), *(tracer.scope.number() for _ in grown))
    results = tracer.builder.append(op, operands, (trips, loop.index, sizes), (test.block, traced.block))
    return loop.done(traced, results[:n], trips)


def scan(
    body: Callable[[list[Any], list[SymTensor]], tuple[list[Any], list[Any]]],
    leaves: Sequence[Any],
    sliced: Sequence[Tensor],
    length: Any,
    reverse: bool = False,
) -> tuple[list[Any], list[Any]]:
    """``leaves, made = body(leaves, slices)`` for each of ``length`` slices of the tensors ``sliced`` along their first
    axes: the leaves at the end, and the stacks of what was made. With ``reverse`` from the last slice to the first."""
    tracer = current()
    loop = _Loop(tracer, "scan", leaves)
    n = len(leaves)
    xs = [tracer.tensor(x) for x in sliced]

    def call(leaves: list[Any], slices: list[SymTensor]) -> list[Any]:
        for s, x in zip(slices, xs, strict=True):
            s._stop = x.stop_gradient
        carried, body_traced = body(leaves, slices)
        if len(carried) != n:
            raise op_error(TypeError, "scan", f"{n} values from the body", len(carried))
        return [*_converted(tracer, loop, carried), *body_traced]

    while True:
        made = loop.trace(call, xs)
        if loop.settled(made):
            break
    count = len(made.leaves) - n
    stacked = [made.values[n + k] for k in range(count)]
    made.block.outputs = [*loop.result(made), *stacked]
    start = loop.start()
    op = Scan(carried=len(start), sliced=len(xs), reverse=reverse)
    operands = (*start, *(x.value for x in xs), *_close([made.block]))
    scanned = tracer.builder.append(op, operands, (length, loop.index), (made.block,))
    out = loop.done(made, scanned[: len(start)], length)
    return out, _results(tracer, scanned[len(start) :], [made.stops[n + k] for k in range(count)])


def _converted(tracer: Tracer, loop: _Loop, leaves: list[Any]) -> list[Any]:
    """Return the body's results, with tensors where the loop carries some."""
    return [
        number(x, loop.first[i].dtype if i in loop.stops and dtype_of(x) is not None else None)
        for i, x in enumerate(leaves)
    ]
