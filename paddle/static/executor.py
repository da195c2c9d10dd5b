"""``Executor``: runs of programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from paddle._public import public
from paddle.framework.place import current_place, place_of
from paddle.static.compiled import CompiledProgram
from paddle.static.program import Program, default_main_program, managed, value_in
from paddle.static.scope import Scope, global_scope
from paddle.static.steps import begin, count_in, put_rates
from paddle.tensor._tensor_array import TensorArray
from umiak.core.array import from_numpy
from umiak.core.captured import Stale
from umiak.core.context import no_grad_guard, place_guard
from umiak.core.own_memory import give_own
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.program import Value
from umiak.runtime.program_tracer import ProgramTracer, Run, outside
from umiak.util.errors import op_error

MOST_RUNS = 64  # of one program that are kept, for what is fetched


@dataclass
class _Prepared:
    """A run of a program as it was, and the inputs that it is given: names, and what was declared."""

    state: tuple
    run: Run
    held: tuple  # whose ids are part of the key


@public("paddle.static")
class Executor:
    """Runs programs: it feeds inputs, computes, and fetches results.

    The first run of a program for what is fetched compiles it; later runs take arrays of any sizes that the declared
    inputs allow.

    Args:
        place: where programs run; None: the current place.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     x = paddle.static.data("x", [None, 2])
        ...     loss = paddle.nn.Linear(2, 1)(x).mean()
        ...     _ = paddle.optimizer.SGD(0.1).minimize(loss)
        >>> exe = paddle.static.Executor()
        >>> exe.run(startup)
        []
        >>> feed = {"x": numpy.ones([4, 2], "float32")}
        >>> bool(exe.run(main, feed, [loss])[0] > exe.run(main, feed, [loss])[0])
        True
        >>> paddle.disable_static()
    """

    def __init__(self, place: Any = None) -> None:
        self.place = current_place() if place is None else place_of(place, "Executor")
        self._closed = False

    def close(self) -> None:
        """Let it run nothing more. What a program has compiled goes with the program."""
        self._closed = True

    def run(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Sequence[Any] | None = None,
        feed_var_name: str = "feed",
        fetch_var_name: str = "fetch",
        scope: Scope | None = None,
        return_numpy: bool = True,
        use_program_cache: bool = False,
        use_prune: bool = False,
    ) -> list[Any]:
        """Run a program once.

        Args:
            program: what is run, a ``CompiledProgram`` as well; None: the default main program.
            feed: arrays, tensors or numbers by the names of inputs, or a list of one such dict. Arrays must have the
                declared dtype; lists and numbers are converted. Names that the program has not are ignored.
            fetch_list: variables, or names of them, whose values are returned; of an array
                (:func:`paddle.tensor.create_array`) a list of them.
            feed_var_name: accepted.
            fetch_var_name: accepted.
            scope: where parameters and states are; None: the global scope.
            return_numpy: return arrays; False: tensors.
            use_program_cache: accepted: what was compiled is kept in any case.
            use_prune: accepted: what neither a fetched value nor an update needs is not computed in any case.

        Returns:
            A list with a value for each of ``fetch_list``.

        Raises:
            KeyError: an input that the program needs is not fed.
            ValueError: an input of another shape or dtype, a variable of another program, an unknown name.
            RuntimeError: a parameter has no value in the scope: the startup program has not run there; or the executor
                was closed.
            TypeError: something that is no program, or arguments of other kinds.
        """
        if self._closed:
            raise op_error(RuntimeError, "Executor.run", "an executor that is open", "one after close()")
        program = default_main_program() if program is None else program
        if isinstance(program, CompiledProgram):
            program = program._program
        if not isinstance(program, Program):
            raise op_error(TypeError, "Executor.run", "a Program", type(program).__name__)
        if isinstance(feed, (list, tuple)) and len(feed) == 1:
            (feed,) = feed  # as loaders give it, for each of one place
        if feed is not None and not isinstance(feed, Mapping):
            raise op_error(TypeError, "Executor.run", "a dict as feed", type(feed).__name__)
        asked = _listed(fetch_list)
        has_arrays = TensorArray in map(type, asked)
        fetched = [part for x in asked for part in _parts(x)] if has_arrays else asked
        scope = global_scope() if scope is None else scope
        with outside(), place_guard(self.place), no_grad_guard():
            prepared = self._prepared(program, fetched, scope)
            given = [self._fed(feed or {}, name, declared) for name, declared in prepared.run.feeds]
            for optimizer in program._tracer.optimizers:
                count_in(optimizer, scope)
            put_rates(program._tracer)
            with _seeded(program):
                try:
                    results = prepared.run.run(given)
                except Stale:
                    # The optimizer or a gradient is another one than when the program was prepared.
                    program._runs.clear()
                    prepared = self._prepared(program, fetched, scope)
                    results = prepared.run.run(given)
            begin(program._tracer, scope)
            if return_numpy:
                results = [x.numpy() if isinstance(x, Tensor) else x for x in results]
            else:
                give_own(results)
            return _gathered(asked, results) if has_arrays else results

    def _prepared(self, program: Program, fetched: Sequence[Any], scope: Scope) -> _Prepared:
        tracer = program._tracer
        values = [_value_of(tracer, x) for x in fetched]
        key = (*map(id, values), id(scope), scope._replaced, self.place)
        prepared = program._runs.get(key)
        if prepared is None or prepared.state != tracer.state:
            prepared = self._prepare(program, values, scope)
            program._runs[key] = prepared
            if len(program._runs) > MOST_RUNS:
                del program._runs[next(iter(program._runs))]
        return prepared

    @staticmethod
    def _prepare(program: Program, values: list[Value], scope: Scope) -> _Prepared:
        def held_by(x: Tensor, read: bool) -> Tensor:
            # What is written as a whole needs no value before: that is how the startup program makes them.
            return scope._place_of(x, make=not read, anew=not read) if managed(x) else x

        tracer = program._tracer
        return _Prepared(tracer.state, Run(tracer, values, "program", held_by=held_by), (*values, scope))

    def _fed(self, feed: Mapping[str, Any], name: str, declared: Any) -> Tensor:
        if name not in feed:
            raise KeyError(f"[Executor.run] requires {name!r} to be fed, got only {sorted(feed)}")
        x = feed[name]
        if not isinstance(x, Tensor):
            array = x if isinstance(x, np.ndarray) else _array(name, x)
            if array.dtype.kind not in "biufcV":  # V: such as bfloat16
                raise op_error(TypeError, "Executor.run", f"{name!r} fed with numbers", f"an array of {array.dtype}")
            if array is not x and not array.ndim and len(declared.shape) == 1:
                array = array.reshape(1)
            x = from_numpy(array, self.place) if array is x else from_numpy(array, self.place).astype(declared.dtype)
        if x.dtype is not declared.dtype:
            raise op_error(
                ValueError, "Executor.run", f"{name!r} fed as {declared.dtype.name}, as it was declared", x.dtype.name
            )
        shape = tuple(x.shape)
        if len(shape) != len(declared.shape) or any(
            type(n) is not Sym and n != m for m, n in zip(shape, declared.shape, strict=True)
        ):
            wanted = [-1 if type(n) is Sym else n for n in declared.shape]
            raise op_error(
                ValueError, "Executor.run", f"{name!r} fed with shape {wanted}, as it was declared", list(shape)
            )
        return x


def _array(name: str, x: Any) -> np.ndarray:
    try:
        return np.asarray(x)
    except ValueError as error:  # lists of several lengths
        raise op_error(
            ValueError, "Executor.run", f"{name!r} fed with an array", f"{type(x).__name__}: {error}"
        ) from None


@contextmanager
def _seeded(program: Program) -> Iterator[None]:
    """A run whose random numbers begin with the program's seed, if it has one; others go on as if there were none."""
    generators = [g for g, _ in program._tracer.streams.values()] if program.random_seed else []
    states = [g.get_state() for g in generators]
    try:
        for g in generators:
            g.manual_seed(program.random_seed)
        yield
    finally:
        for g, state in zip(generators, states, strict=True):
            g.set_state(state)


def _listed(fetch_list: Any) -> list[Any]:
    if fetch_list is None:
        return []
    if isinstance(fetch_list, (Tensor, str)):
        return [fetch_list]
    if not isinstance(fetch_list, Iterable):
        raise op_error(
            TypeError, "Executor.run", "a list of variables or names as fetch_list", type(fetch_list).__name__
        )
    flat: list[Any] = []
    for x in fetch_list:
        flat += _listed(x) if isinstance(x, (list, tuple)) else [x]
    return flat


def _parts(x: Any) -> Sequence[Any]:
    """Tensors that are fetched for an entry of a fetch_list: those of an array."""
    if not isinstance(x, TensorArray):
        return (x,)
    return x.items if x.data is None else (x.data,)


def _gathered(asked: Sequence[Any], results: Iterable[Any]) -> list[Any]:
    """One result for each entry of a fetch_list, of those of its parts: of arrays a list."""
    rest = iter(results)
    gathered: list[Any] = []
    for x in asked:
        if not isinstance(x, TensorArray):
            gathered.append(next(rest))
        elif x.data is None:
            gathered.append([next(rest) for _ in x.items])
        else:
            gathered.append(list(next(rest)))
    return gathered


def _value_of(tracer: ProgramTracer, x: Any) -> Value:
    """Return what is fetched, as a value of the program."""
    if isinstance(x, str):
        found = named(tracer, x)
        if found is None:
            raise op_error(ValueError, "Executor.run", "names of variables of the program in fetch_list", repr(x))
        x = found
    if not isinstance(x, Tensor):
        raise op_error(TypeError, "Executor.run", "variables or names in fetch_list", type(x).__name__)
    value = value_in(tracer, x)
    if value is None:
        raise op_error(
            ValueError, "Executor.run", "variables of the program that is run in fetch_list",
            f"{getattr(x, 'name', 'one')!r}, which belongs to another program or to none",
        )  # fmt: skip
    return value


def named(tracer: ProgramTracer | None, name: str) -> Tensor | None:
    """The variable of a name, of a program or of one that it is a copy of."""
    while tracer is not None:
        if name in tracer.names:
            return tracer.names[name]
        for x in tracer.captured().values():
            if x.name == name:
                return x
        tracer = tracer.origin
    return None
