"""Programs that are written in static mode, and which ones operations are recorded into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from paddle._public import public
from paddle.framework import mode, unique_name
from paddle.framework.dtype import get_default_dtype
from paddle.framework.parameter import KNOWN_VARIABLE, NEW_VARIABLE, Parameter
from paddle.pir.operation import Operation, recorded_in
from paddle.static.scope import Scope, global_scope
from paddle.static.steps import count_in, rates, set_rates
from umiak.core.context import current
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.ir.program import Value
from umiak.ir.tracer import SymTensor
from umiak.runtime.program_tracer import ProgramTracer
from umiak.util.errors import op_error

_DEFAULTS = "static.programs"  # of the rank's values: main and startup program


class Block:
    """The operations and variables of a program; branches and loops have theirs inside of an operation."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.idx = 0

    @property
    def ops(self) -> list[Operation]:
        """The operations, in order."""
        return recorded_in(self.program._tracer)

    @property
    def vars(self) -> dict[str, Tensor]:
        """Inputs, persistable variables, and whatever was given or asked for a name."""
        tracer = self.program._tracer
        kept = {x.name: x for x in tracer.captured().values() if x.persistable}
        return {**kept, **tracer.names}

    def has_var(self, name: str) -> bool:
        """Say whether there is a variable of a name."""
        return name in self.vars

    def var(self, name: str) -> Tensor:
        """Return a variable by its name.

        Args:
            name: the name.

        Raises:
            ValueError: there is none.
        """
        found = self.vars
        if name not in found:
            raise op_error(ValueError, "var", f"the name of a variable of the program: {sorted(found)}", repr(name))
        return found[name]

    def all_parameters(self) -> list[Parameter]:
        """Return the parameters that the program reads or writes."""
        return [x for x in self.program._tracer.captured().values() if isinstance(x, Parameter)]

    def create_var(
        self, name: str | None = None, shape: Any = (), dtype: Any = None, persistable: bool = False, **kwargs: Any
    ) -> Tensor:
        """Declare a variable that a call writes, such as ``out`` of ``py_func``.

        Args:
            name: its name; None: one is made.
            shape: its sizes; -1 for one that is known when it is written.
            dtype: of its elements; None: the default dtype.
            persistable: refused: ``create_global_var`` makes variables that are kept.
            kwargs: ``type``, ``lod_level`` and ``stop_gradient`` are accepted.

        Raises:
            ValueError: a name that another variable has, or a persistable variable.
            TypeError: another keyword.
        """
        if persistable:
            raise op_error(ValueError, "create_var", "persistable=False", True, "Use create_global_var.")
        if unknown := set(kwargs) - {"type", "lod_level", "stop_gradient"}:
            raise op_error(TypeError, "create_var", "name, shape, dtype and persistable", sorted(unknown))
        if name is not None and self.has_var(name):
            raise op_error(ValueError, "create_var", "a name that no other variable of the program has", repr(name))
        shape = [-1 if n is None else int(n) for n in shape]
        made = self.program._tracer.declare(shape, convert(dtype or get_default_dtype()))
        made.name = name or unique_name.generate("_generated_var")
        self.program._tracer.names[made.name] = made
        return made


@public("paddle.static")
class Program:
    """Operations that are recorded in static mode, and run by an :class:`Executor`.

    ``program_guard`` chooses the program that operations go to. ``print`` shows them.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> program = paddle.static.Program()
        >>> with paddle.static.program_guard(program):
        ...     y = paddle.static.data("x", [None, 2]) * 2.0
        >>> [op.type for op in program.global_block().ops]
        ['mul']
        >>> paddle.disable_static()
    """

    # Settings that nothing would read are refused.
    __slots__ = ("__weakref__", "_random_seed", "_runs", "_tracer")

    num_blocks = 1

    def __init__(self) -> None:
        self._random_seed = 0
        self._tracer = ProgramTracer()
        self._runs: dict[tuple, Any] = {}  # what executors have prepared

    def global_block(self) -> Block:
        """Return the block of all operations.

        Returns:
            A block, with ``ops``, ``vars``, ``var(name)``, ``has_var(name)`` and ``all_parameters()``.
        """
        return Block(self)

    current_block = global_block

    @property
    def blocks(self) -> list[Block]:
        """All blocks: one, since branches and loops are inside of their operations."""
        return [Block(self)]

    @staticmethod
    def _optimized_guard(param_and_grads: Any) -> AbstractContextManager[None]:
        """Nothing to enter: operations need no mark that says that they update parameters."""
        return nullcontext()

    def num_ops(self) -> int:
        """Return the number of operations.

        Returns:
            An int.
        """
        return len(self._tracer.builder.program.ops)

    def parameters_num(self) -> int:
        """Return the number of parameters that the program reads or writes.

        Returns:
            An int.
        """
        return len(self.all_parameters())

    def block(self, index: int) -> Block:
        """Return a block by number.

        Args:
            index: 0: there is one.

        Returns:
            The block.

        Raises:
            IndexError: another number.
        """
        if index != 0:
            raise op_error(IndexError, "block", "0: branches and loops are inside of their operations", index)
        return Block(self)

    @property
    def random_seed(self) -> int:
        """The seed with which the random numbers of every run begin; 0: runs go on in the streams of random numbers."""
        return self._random_seed

    @random_seed.setter
    def random_seed(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise op_error(ValueError, "random_seed", "an int of 0 or more", repr(seed))
        self._random_seed = seed

    def list_vars(self) -> Iterator[Tensor]:
        """Go through inputs, persistable variables, and whatever was given or asked for a name.

        Returns:
            An iterator of variables.
        """
        return iter(self.global_block().vars.values())

    def all_parameters(self) -> list[Parameter]:
        """Return the parameters that the program reads or writes.

        Returns:
            A list of parameters.
        """
        return self.global_block().all_parameters()

    def clone(self, for_test: bool = False) -> Program:
        """Copy the program; parameters are shared.

        Variables of this program can be fetched from the copy, too.

        Args:
            for_test: without what training does: no updates by optimizers, no dropout, and batch norms that take their
                running statistics and leave them alone.

        Returns:
            A program.

        Example:
            >>> import numpy, paddle
            >>> paddle.enable_static()
            >>> main = paddle.static.Program()
            >>> with paddle.static.program_guard(main):
            ...     y = paddle.nn.functional.dropout(paddle.static.data("x", [2]), 0.5)
            >>> test = main.clone(for_test=True)
            >>> exe = paddle.static.Executor()
            >>> exe.run(test, feed={"x": numpy.ones(2, "float32")}, fetch_list=[y])[0].tolist()
            [1.0, 1.0]
            >>> paddle.disable_static()
        """
        copied = Program()
        copied._tracer = self._tracer.copy(evaluation=for_test)
        copied._random_seed = self._random_seed
        return copied

    def state_dict(self, mode: str = "all", scope: Scope | None = None) -> dict[str, np.ndarray]:
        """Return the values of persistable variables.

        Args:
            mode: ``"param"`` for parameters, ``"opt"`` for the others, ``"all"``.
            scope: where they are; None: the global scope.

        Returns:
            A dict of arrays by name, of those that have a value.

        Raises:
            TypeError: a mode that is no text, or a scope that is none.
            ValueError: another mode.
        """
        if not isinstance(mode, str):
            raise op_error(TypeError, "state_dict", "'all', 'param' or 'opt' as mode", type(mode).__name__)
        if mode not in ("all", "param", "opt"):
            raise op_error(ValueError, "state_dict", "'all', 'param' or 'opt' as mode", repr(mode))
        if scope is not None and not isinstance(scope, Scope):
            raise op_error(TypeError, "state_dict", "a Scope", type(scope).__name__)
        scope = global_scope() if scope is None else scope
        found = {}
        for x in self._tracer.captured().values():
            held = scope.find_var(x.name) if managed(x) else None
            if held is not None and (mode == "all" or isinstance(x, Parameter) == (mode == "param")):
                found[x.name] = np.array(held)
        if mode != "param":
            for optimizer in self._tracer.optimizers:
                count_in(optimizer, scope)
                found.update(optimizer._step_numbers())
            found.update(rates(self._tracer))
        return found

    def _state_names(self) -> set[str]:
        """The names that ``state_dict`` may have."""
        names = {x.name for x in self._tracer.captured().values() if managed(x)}
        names.update(rates(self._tracer))
        return names.union(*(optimizer._step_numbers() for optimizer in self._tracer.optimizers))

    def set_state_dict(self, state_dict: dict[str, Any], scope: Scope | None = None, copy_tensor: bool = True) -> None:
        """Write the values of persistable variables.

        Args:
            state_dict: arrays or tensors by name; names that the program has not are left alone.
            scope: where they are; None: the global scope.
            copy_tensor: accepted: values are copied.

        Raises:
            ValueError: another shape.
        """
        scope = global_scope() if scope is None else scope
        for x in self._tracer.captured().values():
            if managed(x) and x.name in state_dict:
                scope._place_of(x, make=True)
                scope.find_var(x.name).set(state_dict[x.name])  # type: ignore[union-attr]
        for optimizer in self._tracer.optimizers:
            count_in(optimizer, scope)
            optimizer._set_step_numbers(state_dict)
        set_rates(self._tracer, state_dict)

    def to_string(self, throw_on_error: bool = True, with_details: bool = False) -> str:
        """Return the text of the operations.

        Args:
            throw_on_error: accepted.
            with_details: accepted.

        Returns:
            A str.
        """
        return str(self)

    def __str__(self) -> str:
        return repr(self._tracer.program([]))

    __repr__ = __str__


def _defaults() -> tuple[Program, Program]:
    values = current().state.values
    if _DEFAULTS not in values:
        values[_DEFAULTS] = Program(), Program()
    return values[_DEFAULTS]


@public("paddle.static")
def default_main_program() -> Program:
    """Return the program that operations are recorded into in static mode.

    Returns:
        A :class:`Program`.

    Example:
        >>> import paddle
        >>> main = paddle.static.Program()
        >>> with paddle.static.program_guard(main):
        ...     paddle.static.default_main_program() is main
        True
    """
    return _defaults()[0]


@public("paddle.static")
def default_startup_program() -> Program:
    """Return the program that gives parameters their first values.

    Returns:
        A :class:`Program`.

    Example:
        >>> import paddle
        >>> paddle.static.default_startup_program() is paddle.static.default_main_program()
        False
    """
    return _defaults()[1]


def seed_default_programs(seed: int) -> None:
    """Seed what both default programs draw."""
    for program in _defaults():
        program.random_seed = seed


@public("paddle.static")
@contextmanager
def program_guard(main_program: Program, startup_program: Program | None = None) -> Iterator[None]:
    """Record operations into other programs inside a ``with`` block.

    Args:
        main_program: takes the operations.
        startup_program: takes those that give new parameters their values; None: the default one.

    Yields:
        None: it is used in a ``with`` statement.

    Raises:
        TypeError: something that is no program.

    Example:
        >>> import paddle
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     paddle.static.default_startup_program() is startup
        True
    """
    for x in (main_program, startup_program):
        if (not isinstance(x, Program) and x is not None) or main_program is None:
            raise op_error(TypeError, "program_guard", "programs", type(x).__name__)
    values = current().state.values
    before = _defaults()
    values[_DEFAULTS] = main_program, startup_program or before[1]
    try:
        with nullcontext() if mode.in_dynamic_mode() else _recorded(main_program._tracer):
            yield
    finally:
        values[_DEFAULTS] = before
        if (switch := values.get(mode.SWITCH)) is not None:
            switch.follow()


@contextmanager
def _recorded(tracer: ProgramTracer) -> Iterator[None]:
    """Operations go to a tracer, unless static mode is left meanwhile."""
    switch = current().state.values.get(mode.SWITCH)
    if switch is None:
        with tracer:
            yield
        return
    switch.enter(tracer)
    try:
        yield
    finally:
        switch.exit(tracer)


class _StaticMode:
    """Static mode of a thread: the main program is open, and above it those of ``program_guard`` (``mode.SWITCH``)."""

    def __init__(self) -> None:
        self._open: list[ProgramTracer] = []
        self.enter(default_main_program()._tracer)

    def enter(self, tracer: ProgramTracer) -> None:
        tracer.__enter__()
        self._open.append(tracer)

    def exit(self, tracer: ProgramTracer) -> None:
        """Close what a guard has opened, unless :meth:`leave` has done so."""
        if len(self._open) > 1 and self._open[-1] is tracer:
            self._open.pop().__exit__()

    def follow(self) -> None:
        """Record into the default program, where static mode was entered inside of a guard that is left now."""
        tracer = default_main_program()._tracer
        if len(self._open) == 1 and self._open[0] is not tracer and current().trace[-1:] == self._open:
            self._open.pop().__exit__()
            self.enter(tracer)

    def leave(self) -> None:
        if current().trace[-len(self._open) :] != self._open:
            raise op_error(
                RuntimeError, "disable_static", "to be called in the thread in which static mode was enabled, "
                "outside of dygraph.guard and of captured functions", "another place",
            )  # fmt: skip
        while self._open:
            self._open.pop().__exit__()


@public("paddle")
def enable_static() -> None:
    """Record operations into the default main program from now on, instead of running them.

    It holds for the calling thread, until ``disable_static``.

    Raises:
        RuntimeError: a function is being captured.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> paddle.in_dynamic_mode()
        False
        >>> paddle.disable_static()
    """
    values = current().state.values
    if values.get(mode.SWITCH) is not None:
        return
    if current().trace:
        raise op_error(
            RuntimeError, "enable_static", "to be called outside of captured functions", "a call inside of one"
        )
    values[mode.SWITCH] = _StaticMode()
    values[NEW_VARIABLE], values[KNOWN_VARIABLE] = initialized, _known


def initialized(x: Tensor, fill: Callable[[Tensor], Any]) -> None:
    """Make ``x`` a persistable variable, which ``fill`` gives its values in the startup program."""
    x._managed = True
    x.persistable = True
    main, startup = _defaults()
    first = startup._tracer.kept.get(x.name)
    # Programs that share a startup program share variables of one name, which are filled once.
    if first is None or first is x or list(first.shape) != list(x.shape) or first.dtype is not x.dtype:
        with startup._tracer:
            fill(x)
    main._tracer.capture(x)  # it belongs to the program, whether or not that reads it


def _known(name: str | None) -> Parameter | None:
    """The parameter of a name in the main program, which layers of one name share."""
    found = None if name is None else default_main_program()._tracer.kept.get(name)
    return found if isinstance(found, Parameter) and found.name == name else None


def managed(x: Tensor) -> bool:
    """Return whether the values of a tensor are those of the scope in which a program runs."""
    return getattr(x, "_managed", False)


def value_in(tracer: ProgramTracer, x: Tensor) -> Value | None:
    """Find the value of a tensor in a program, also of a constant that nothing there has read yet; None for none."""
    value = tracer.find(x)
    if value is None and not isinstance(x, SymTensor) and not managed(x):
        value = tracer.capture(x)._value
    return value


def tracer_of(op_name: str, x: Any = None) -> ProgramTracer:
    """The tracer that ``x``, or a call in static mode, belongs to."""
    if isinstance(x, SymTensor) and isinstance(x._tracer, ProgramTracer):
        return x._tracer
    tracer = current().trace[-1] if current().trace else None
    if not isinstance(tracer, ProgramTracer):
        raise op_error(RuntimeError, op_name, "static mode", "dynamic mode", "Call paddle.enable_static() first.")
    return tracer
