"""``to_static``: functions and layers captured as programs, which are compiled as a whole."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paddle._public import public
from paddle.jit.function import StaticFunction
from paddle.jit.sot.function import SymbolicStaticFunction
from paddle.jit.sot.switches import falls_back
from paddle.jit.source import rewriting as source
from paddle.jit.specs import free_axes, positions_of, specs_of
from paddle.jit.state import Draws, State, exactly
from paddle.nn.layer.layers import Layer
from umiak.core.array import from_numpy
from umiak.core.captured import Stale
from umiak.core.context import current
from umiak.core.entries import Entry, StaticCall
from umiak.core.tensor import Tensor
from umiak.runtime.capture import Capture, Captured, CaptureError
from umiak.util import pytree
from umiak.util.errors import op_error

_LOG = logging.getLogger("paddle.jit")
# Of one function. Beyond it the oldest goes: a constant argument that differs in every call would fill memory.
MOST_PROGRAMS = 64
MOST_ALIKE = 4  # for the same arguments
MOST_TENSORS = 64  # of a call that is compared in C


class _Programs:
    """The captures of one function for arguments that differ in sizes only."""

    def __init__(self) -> None:
        self.first: tuple | None = None  # sizes of the first call
        # By sizes; several where the function does other things while gradients are there.
        self.fixed: dict[tuple, list[Captured]] = {}
        # By which sizes are symbols, and which others are 0 or 1; None: cannot be captured so.
        self.dynamic: dict[tuple, list[Captured] | None] = {}


@dataclass
class _Call:
    """A call and the programs for calls like it. ``leaves`` have a :class:`_Repeated` for a tensor that came before."""

    programs: _Programs
    sizes: tuple
    tensors: list[Tensor]
    leaves: list[Any]
    structure: pytree.Structure
    state: tuple


class TracedFunction(StaticFunction, StaticCall):
    """Function that is captured by running it on symbolic tensors, after its source was rewritten.

    It is what ``to_static(function, full_graph=True)`` makes.

    A call is compared in C with the entries that calls before have left (``umiak.core.entries``). What none serves
    comes to :meth:`_general`, which says what a call means.
    """

    __call__ = StaticCall.__call__  # of this class, so that it can be exchanged

    def __init__(self, function: Callable[..., Any], input_spec: Any = None, instance: Any = None) -> None:
        self._describe(function, input_spec, instance)
        self._programs: dict[tuple, _Programs] = {}
        self._state: State | None = None
        self._specs = None if input_spec is None else specs_of(input_spec)

    def _like(self, function: Callable[..., Any], instance: Any) -> StaticFunction:
        return type(self)(function, self._input_spec, instance)

    def _traced_function(self) -> Callable[..., Any]:
        """The function as it is traced: its source is rewritten."""
        return source.traceable(self.dygraph_function)

    @property
    def code(self) -> str:
        """The source text as it was rewritten."""
        return source.text_of(self._function)

    def _captures(self) -> list[Captured]:
        out: list[Captured] = []
        for programs in self._programs.values():
            for captures in (*programs.fixed.values(), *programs.dynamic.values()):
                out += captures or ()
        return out

    def _general(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        ctx = current()
        if not ctx.state.values.get(_SWITCH, True):
            return self.dygraph_function(*args, **kwargs)
        if ctx.trace:
            return self._traced_function()(*args, **kwargs)
        leaves, structure = pytree.flatten((args, kwargs))
        tensors: list[Tensor] = []
        constants: list[Any] = []
        sparse = False
        for i, x in enumerate(leaves):
            if isinstance(x, Tensor):
                if x.is_sparse():
                    sparse, leaves[i] = True, _Sparse(x)
                    x = x.values()
                tensors.append(x)
                constants.append(_TENSOR)
            elif isinstance(x, np.ndarray):
                tensors.append(from_numpy(x, ctx.place))
                constants.append(_TENSOR)
            else:
                constants.append(_constant(x))
        if len(set(map(id, tensors))) < len(tensors):
            tensors = _once(leaves, constants, tensors)
        if sparse:
            constants += [x for x in leaves if isinstance(x, _Sparse)]
        if self._state is None:
            self._state = State(self.dygraph_function)
        state = self._state.now()
        key = (
            structure,
            tuple(constants),
            tuple([(x.dtype, x.ndim, x.stop_gradient, x.place) for x in tensors]),
            state,
            ctx.grad_enabled,
            ctx.amp(),
            ctx.state.default_dtype,
            ctx.place,
        )
        programs = self._programs.get(key)
        if programs is None:
            programs = self._programs[key] = _Programs()
            if len(self._programs) > MOST_PROGRAMS:
                del self._programs[next(iter(self._programs))]
                _LOG.warning("%s has been captured for %d kinds of arguments", self.__name__, MOST_PROGRAMS)
        sizes = tuple([tuple(x.shape) for x in tensors])
        call = _Call(programs, sizes, tensors, leaves, structure, state)
        for captured in programs.fixed.get(sizes, ()):
            try:
                return self._run(call, captured, ())
            except Stale:
                continue
        return self._other(call)

    def _run(self, call: _Call, captured: Captured, axes: Sequence[Iterable[int]]) -> Any:
        """Run a capture for a call, and have calls like it find it at once. Raises ``Stale``."""
        entry = self._entry(call, captured, axes)
        results = captured.run(call.tensors)
        if entry is not None:
            self._enter(entry)
        return captured.out.unflatten(results)

    def _entry(self, call: _Call, captured: Captured, axes: Sequence[Iterable[int]]) -> Entry | None:
        """Return the entry that later calls are compared with; None where C cannot compare."""
        state = self._state
        assert state is not None
        if len(call.tensors) > MOST_TENSORS or any(isinstance(x, (np.ndarray, _Sparse)) for x in call.leaves):
            return None
        if type(captured.out) is _WithSparse:
            return None
        snapshot = state.snapshot()
        if state.now() != call.state or not snapshot.same():
            return None
        free = [frozenset(a) for a in axes] or [frozenset()] * len(call.tensors)
        return Entry(
            captured, call.structure, call.leaves, _Repeated, snapshot, free, call.programs.first, captured.out
        )  # fmt: skip

    def _other(self, call: _Call) -> Any:
        """A call whose sizes are new. The first ones are captured as they are; those that differ then, as symbols."""
        programs, sizes = call.programs, call.sizes
        if programs.first is None and self._specs is None:
            programs.first = sizes
        # What broadcasts or is empty does other things, and has programs of its own.
        axes, special = _without_zero_and_one(self._axes(programs, sizes, call.leaves), sizes)
        kind = axes, special
        if any(axes):
            for captured in programs.dynamic.get(kind) or ():
                try:
                    return self._run(call, captured, axes)
                except Stale:
                    continue
            if programs.dynamic.setdefault(kind, []) is not None:
                try:
                    captured = self._capture(call, axes)
                except (CaptureError, TypeError, ValueError, NotImplementedError) as error:
                    # Something asks for a size as a number: each size then has a program, which raises what is wrong.
                    _LOG.info("%s is captured for each size: %s", self.__name__, error)
                    programs.dynamic[kind] = None
                else:
                    return self._first_run(call, captured, axes, programs.dynamic[kind])
        captured = self._capture(call, tuple(frozenset() for _ in call.tensors))
        if len(programs.fixed) == MOST_PROGRAMS:
            del programs.fixed[next(iter(programs.fixed))]
        return self._first_run(call, captured, (), programs.fixed.setdefault(sizes, []))

    def _first_run(self, call: _Call, captured: Captured, axes: Sequence[Iterable[int]], those: Any) -> Any:
        try:
            results = self._run(call, captured, axes)
        except Stale:
            raise CaptureError(
                f"{self.__name__} changes what it is captured for (a gradient or a flag) in a way that a program cannot"
            ) from None
        those.append(captured)
        del those[:-MOST_ALIKE]
        return results

    def _axes(self, programs: _Programs, sizes: tuple, leaves: list[Any]) -> tuple[frozenset, ...]:
        if self._specs is not None:
            fresh = iter(range(len(sizes)))
            those = [x for x in leaves if isinstance(x, (Tensor, np.ndarray, _Repeated, _Sparse))]
            before = [x.at if isinstance(x, (_Repeated, _Sparse)) else None for x in those]
            at = [next(fresh) if i is None else i for i in before]
            if len(self._specs) > len(at):
                raise op_error(
                    ValueError, self.__name__, f"{len(self._specs)} tensors, as input_spec has", f"{len(at)}"
                )
            axes: list[frozenset | None] = [None] * len(sizes)
            for i, x, spec in zip(at, those, self._specs):
                # A spec of a sparse argument says nothing of its values.
                free = frozenset() if type(x) is _Sparse else free_axes(self.__name__, spec, sizes[i])
                held = axes[i]
                axes[i] = free if held is None else held & free
            return tuple(frozenset() if a is None else a for a in axes)
        assert programs.first is not None
        return tuple(
            frozenset(i for i, (m, n) in enumerate(zip(a, b)) if m != n)
            for a, b in zip(programs.first, sizes, strict=True)
        )

    def _capture(self, call: _Call, axes: Sequence[Iterable[int]]) -> Captured:
        found: list[Any] = []
        function = self._traced_function()
        leaves = call.leaves

        def run(stand_ins: list[Any]) -> list[Any]:
            given = iter(stand_ins)
            filled = []
            for x in leaves:
                if type(x) is _Repeated:
                    x = stand_ins[x.at]
                elif type(x) is _Sparse:
                    x = x.tensor.with_values(next(given) if x.at is None else stand_ins[x.at])
                elif isinstance(x, (Tensor, np.ndarray)):
                    x = next(given)
                filled.append(x)
            args, kwargs = call.structure.unflatten(filled)
            made, form = pytree.flatten(function(*args, **kwargs))
            left, its_structure = pytree.flatten((args, kwargs))
            if its_structure != call.structure or any(a is not b for a, b in zip(left, filled)):
                raise CaptureError(
                    f"{self.__name__} changes a list or dict that it is given: a program would not change it. Return "
                    "what it holds instead"
                )
            sparse = {i: x for i, x in enumerate(made) if isinstance(x, Tensor) and x.is_sparse()}
            found.append(_WithSparse(form, sparse) if sparse else form)
            return [x.values() if i in sparse else x for i, x in enumerate(made)]

        state = self._state
        assert state is not None
        before, draws = state.fresh(), Draws()
        captured = Captured.of(run, call.tensors, axes, self.__name__, state.tensors())
        after = state.fresh()
        if before != after:
            raise CaptureError(
                f"{self.__name__} changes Python state ({state.difference(before, after)}) when it runs: a program "
                "would not change it. Keep it in a tensor (a buffer), or change it outside of the function"
            )
        if draws.made():
            raise CaptureError(
                f"{self.__name__} draws random numbers from Python or NumPy: a program would repeat them. "
                "Draw them with paddle.rand"
            )
        captured.out = found[0].settled() if type(found[0]) is _WithSparse else found[0]
        return captured


_TENSOR = object()
_SWITCH = "enable_to_static"  # of the rank's values


def _constant(x: Any) -> Any:
    """A constant argument as a part of a key: 1, 1.0 and True are three, 0.0 and -0.0 two."""
    try:
        hash(x)
    except TypeError:
        return _Same(x)
    return exactly(x)


@dataclass(frozen=True)
class _Repeated:
    """Placeholder of a tensor argument that occurred before, as number ``at``."""

    at: int


class _Sparse:
    """Placeholder of a sparse argument: its values are a tensor of the call, its positions are constants of programs.

    ``at``: the number of the tensor that the values are, where they occurred before.
    """

    def __init__(self, tensor: Any, at: int | None = None) -> None:
        tensor.coordinates()  # read now: a capture may not
        self.tensor, self.at = positions_of(tensor), at

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Sparse) and self.at == other.at and self.tensor.same_pattern(other.tensor)

    def __hash__(self) -> int:
        return hash((type(self.tensor), tuple(self.tensor.shape), self.at))


class _WithSparse:
    """Structure of results of which some are sparse: their positions are those of the capture."""

    def __init__(self, structure: pytree.Structure, sparse: dict[int, Any]) -> None:
        self._structure, self._sparse = structure, sparse

    def settled(self) -> _WithSparse:
        """Return the same without what the capture computed with."""
        return _WithSparse(self._structure, {i: positions_of(x) for i, x in self._sparse.items()})

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """Put the leaves in their places, values at their positions."""
        made = [self._sparse[i].with_values(x) if i in self._sparse else x for i, x in enumerate(leaves)]
        return self._structure.unflatten(made)


def _once(leaves: list[Any], constants: list[Any], tensors: list[Tensor]) -> list[Tensor]:
    """The tensors without repetitions, for which there is an :class:`_Repeated` from here on."""
    given = iter(tensors)
    first_at: dict[int, int] = {}
    kept: list[Tensor] = []
    for i, c in enumerate(constants):
        if c is _TENSOR:
            x = next(given)
            if id(x) in first_at:
                again = _Repeated(first_at[id(x)])
                leaves[i] = _Sparse(leaves[i].tensor, again.at) if type(leaves[i]) is _Sparse else again
                constants[i] = again
            else:
                first_at[id(x)] = len(kept)
                kept.append(x)
    return kept


def _without_zero_and_one(axes: tuple[frozenset, ...], sizes: tuple) -> tuple[tuple[frozenset, ...], tuple]:
    """The axes of sizes that may be symbols; tensor, axis and size of those that are constants instead."""
    special = tuple((t, a, sizes[t][a]) for t, those in enumerate(axes) for a in sorted(those) if sizes[t][a] in (0, 1))
    if not special:
        return axes, special
    return tuple(frozenset(a for a in those if sizes[t][a] > 1) for t, those in enumerate(axes)), special


class _Same:
    """An object that is equal to itself only."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.x is other.x

    def __hash__(self) -> int:
        return id(self.x)


@public("paddle.jit")
def to_static(
    function: Any = None, input_spec: Any = None, build_strategy: Any = None, backend: Any = "CINN", **kwargs: Any
) -> Any:
    """Capture a function or a layer: its operations on tensors become programs, which are compiled.

    The first call simulates the bytecode of the function. What cannot be a part of a program (a branch on the values of
    a tensor, ``print``, a conversion to a number or to NumPy, a function in C that is not known) breaks the graph: it
    runs between two programs, as it was written, and so do changes of Python state, after the program. Later calls run
    the programs where all that the function has read of Python is as it was: arguments, attributes, global variables,
    modes such as training, ``auto_cast`` and ``no_grad``. Sizes and numbers that differ in a later call become symbols.

    With ``full_graph=True`` the source of the function is rewritten instead, so that branches and loops on tensors are
    a part of the one program; what cannot be is refused.

    The function may call ``backward`` and the ``step`` and ``clear_grad`` of optimizers: a whole training step is then
    one program. Gradients of a captured layer are otherwise as usual, by ``backward`` on what it returns.

    Args:
        function: a function, a method, or a ``Layer``, whose ``forward`` is captured; None: a decorator.
        input_spec: an ``InputSpec`` for each tensor argument; sizes of None may differ without a new program. None:
            sizes become symbols when they differ.
        build_strategy: accepted; there is nothing to choose.
        backend: accepted; there is one compiler.
        **kwargs: ``full_graph``, False by default: whether the function is one program or refused; ``property``,
            accepted.

    Returns:
        A captured function; the layer itself where one is given. ``graph_breaks`` and ``fallbacks`` of one that is
        captured from bytecode say why graphs broke, and why a function ran without one.

    Raises:
        CaptureError: at a call with ``full_graph=True``, something that cannot be captured.
        TypeError: an unknown keyword, something that cannot be called, or a function marked by ``not_to_static``.
        ValueError: at a call, tensors that ``input_spec`` does not allow.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
        >>> @paddle.jit.to_static
        ... def step(x, y):
        ...     loss = ((layer(x) - y) ** 2).mean()
        ...     loss.backward()
        ...     opt.step()
        ...     opt.clear_grad()
        ...     return loss
        >>> x, y = paddle.ones([4, 2]), paddle.zeros([4, 1])
        >>> bool(step(x, y) > step(x, y))
        True
    """
    unknown = set(kwargs) - {"full_graph", "property"}
    if unknown:
        raise TypeError(f"to_static() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    if function is None:
        return lambda f: to_static(f, input_spec, build_strategy, backend, **kwargs)
    if isinstance(function, StaticFunction):
        return function
    make = TracedFunction if kwargs.get("full_graph", not falls_back()) else SymbolicStaticFunction
    if isinstance(function, Layer):
        forward = function.forward
        if not isinstance(forward, StaticFunction):
            _refuse_kept(forward)
            function.__dict__["forward"] = make(forward, input_spec)
        return function
    if not callable(function):
        raise op_error(TypeError, "to_static", "a function or a Layer", type(function).__name__)
    _refuse_kept(function)
    return make(function, input_spec)


def _refuse_kept(function: Any) -> None:
    if getattr(function, "__not_to_static__", False):
        raise op_error(TypeError, "to_static", "a function that is not marked by not_to_static", repr(function))


@public("paddle.jit")
def not_to_static(func: Any = None) -> Any:
    """Mark a function as one that is no part of graphs.

    A function that is captured from bytecode calls it between two graphs. With ``full_graph=True`` it is called as it
    was written, and must be one that can be traced.

    Args:
        func: the function; None: a decorator.

    Returns:
        A function that does the same and carries the mark.

    Raises:
        CaptureError: at a call from a function that is being traced and was not rewritten.

    Example:
        >>> import paddle
        >>> @paddle.jit.not_to_static
        ... def report(x):
        ...     return float(x)
        >>> report(paddle.ones([1]))
        1.0
    """
    if func is None:
        return not_to_static

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        if current().trace and isinstance(current().trace[-1], Capture):
            raise CaptureError(
                f"{func.__name__} is marked by not_to_static, and cannot be a part of a captured function"
            )
        return func(*args, **kwargs)

    run.__not_to_static__ = True
    return run


@public("paddle.jit")
def enable_to_static(enable_to_static_bool: bool) -> None:
    """Set whether captured functions run as programs; otherwise they run as they were written.

    Args:
        enable_to_static_bool: True, as at first, for programs.

    Raises:
        TypeError: a value that is not a bool.

    Example:
        >>> import paddle
        >>> paddle.jit.enable_to_static(False)
        >>> paddle.jit.enable_to_static(True)
    """
    if not isinstance(enable_to_static_bool, bool):
        raise op_error(TypeError, "enable_to_static", "a bool", type(enable_to_static_bool).__name__)
    current().state.values[_SWITCH] = enable_to_static_bool
