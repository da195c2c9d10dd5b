"""Values of the persistable variables of programs, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from paddle._public import public
from paddle.framework.dense_tensor import DenseTensor
from paddle.framework.place import current_place
from umiak.core.array import from_numpy, host_values
from umiak.core.context import current, no_grad_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor
from umiak.runtime.program_tracer import outside
from umiak.util.errors import op_error

_CURRENT = "static.scope"  # of the rank's values


class Held(DenseTensor):
    """The value of one variable in a scope."""

    def __init__(self, scope: Scope, name: str) -> None:
        self._scope, self._name = scope, name

    @property
    def _tensor(self) -> Tensor:  # type: ignore[override]
        found = self._scope._held.get(self._name)
        if found is None:
            raise op_error(RuntimeError, "Scope", f"a value for {self._name!r}", "none", "Write one by set(array).")
        return found

    def get_tensor(self) -> Held:
        """The value itself: ``numpy.array(...)`` copies it."""
        return self

    def name(self) -> str:
        """Return the name of the variable."""
        return self._name

    def shape(self) -> list[int]:
        """Return the sizes."""
        return list(self._tensor.shape)

    def set(self, array: Any, place: Any = None, zero_copy: bool = False) -> None:
        """Write an array.

        Args:
            array: an array of the variable's shape; its dtype is converted. A variable without a value takes both.
            place: accepted; the value stays where it is.
            zero_copy: accepted; the value is copied.

        Raises:
            ValueError: another shape.
        """
        array = np.asarray(array)
        if self._name not in self._scope._held:
            with outside():
                made = from_numpy(array, current_place())
            made.name, made.persistable = self._name, True
            self._scope._held[self._name] = made
            self._scope._own_changes += self._scope._parent is not None  # what hid it may have been used before
            return
        if list(array.shape) != self.shape():
            raise op_error(
                ValueError, "set", f"an array of shape {self.shape()} for {self.name()!r}", list(array.shape)
            )
        with outside(), no_grad_guard():
            assign(self._tensor, from_numpy(array, self._tensor.place).astype(self._tensor.dtype))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        with outside():
            array = host_values(self._tensor)
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array if copy is False else array.copy()

    def __repr__(self) -> str:
        return repr(np.asarray(self))


@public("paddle.static")
class Scope:
    """Values of the variables that programs keep between runs (parameters, statistics, states), by name.

    A program that is run in another scope has values of its own there: its startup program makes them. A scope that is
    made inside of another (``new_scope``) sees what that holds, and programs that run in it share those values.

    Example:
        >>> import paddle
        >>> scope = paddle.static.Scope()
        >>> scope.find_var("linear_0.w_0") is None
        True
    """

    def __init__(self) -> None:
        self._held: dict[str, Tensor] = {}
        self._named: set[str] = set()  # that may have no values yet
        self._parent: Scope | None = None
        self._kids: list[Scope] = []
        self._own_changes = 0  # how often the tensor of a name here gave way
        # Steps done here by optimizers that count those of another scope now, by their states.
        self._steps: WeakKeyDictionary[Any, dict[Any, int]] = WeakKeyDictionary()

    def find_var(self, name: str) -> Held | None:
        """Return what is held under a name.

        Args:
            name: of a variable.

        Returns:
            The value, whose ``get_tensor()`` NumPy reads and whose ``set(array)`` writes, also of a scope around this
            one; None where there is none.
        """
        scope: Scope | None = self
        while scope is not None:
            if name in scope._held or name in scope._named:
                return Held(scope, name)
            scope = scope._parent
        return None

    def var(self, name: str) -> Held:
        """Return what is held under a name, which is made if there is nothing.

        Args:
            name: of a variable.

        Returns:
            What :meth:`find_var` gives, of this scope alone; a new variable has no value until ``set(array)``.
        """
        self._named.add(name)
        return Held(self, name)

    def local_var_names(self) -> list[str]:
        """Return the names of what is held."""
        return list(self._held)

    def erase(self, names: Iterable[str]) -> None:
        """Forget what is held here under some names.

        Args:
            names: of variables; others are left alone.
        """
        for name in names:
            self._named.discard(name)
            self._own_changes += self._held.pop(name, None) is not None

    def new_scope(self) -> Scope:
        """Make a scope inside of this one.

        Returns:
            A scope that also finds what this one holds; what it is given by ``var(name)`` is its own.

        Example:
            >>> import numpy, paddle
            >>> scope = paddle.static.Scope()
            >>> scope.var("x").set(numpy.ones(2))
            >>> inner = scope.new_scope()
            >>> inner.find_var("x").shape(), inner.local_var_names()
            ([2], [])
        """
        made = Scope()
        made._parent = self
        self._kids.append(made)
        return made

    def drop_kids(self) -> None:
        """Let go of the scopes that were made inside of this one."""
        self._kids.clear()

    @property
    def _outermost(self) -> Scope:
        """The scope around all: programs make values there."""
        return self if self._parent is None else self._parent._outermost

    @property
    def _replaced(self) -> int:
        """Another number after a name stands for another tensor: what was prepared before may write to the old one."""
        return self._own_changes + (0 if self._parent is None else self._parent._replaced)

    def _owner(self, name: str) -> Scope:
        """The scope that holds what a program here has under a name; for nothing, the one where it will be made."""
        scope = self
        while name not in scope._held and scope._parent is not None:
            scope = scope._parent
        return scope

    def _hold(self, x: Tensor, value: Tensor, kept: bool) -> None:
        """Give ``x`` a value: ``kept``, here, under its name; else in its own memory."""
        with outside(), no_grad_guard():
            self._owner(x.name)._held_as(x, value, kept)

    def _held_as(self, x: Tensor, value: Tensor, kept: bool) -> None:
        held = self._held.get(x.name) if kept else None
        if held is None or _unlike(held, x):
            self._own_changes += held is not None
            if kept and self is not _first():
                held = value.clone()
                held.name = x.name
            else:
                x.storage.fill()
                held = x
        assign(held, value)
        if kept:
            self._held[x.name] = held

    def _value_of(self, x: Tensor) -> Tensor:
        """Return the tensor that holds the values of ``x`` here; ``x`` itself, which has those of its own, for none."""
        held = self._owner(x.name)._held.get(x.name, x)
        return x if _unlike(held, x) else held

    def _place_of(self, x: Tensor, make: bool, anew: bool = False) -> Tensor:
        """Return the tensor that holds the values of ``x``, a persistable variable; ``make``: there may be none yet.

        ``anew``: all of it is written, so that what another program has under its name gives way.
        """
        owner = self._owner(x.name)
        if owner is not self:
            return owner._place_of(x, make, anew)
        held = self._held.get(x.name)
        if held is not None and anew and _unlike(held, x):
            held = None
            self._own_changes += 1
        if held is None:
            if not make:
                raise op_error(
                    RuntimeError, "Executor.run", f"a value for {x.name!r} in the scope", "none",
                    "Run the startup program first: exe.run(paddle.static.default_startup_program()).",
                )  # fmt: skip
            with outside(), no_grad_guard():
                # The first scope has the variable's own memory.
                held = x if self is _first() else x.detach().clone()
            held.name = x.name
            self._held[x.name] = held
        if _unlike(held, x):
            raise op_error(
                ValueError, "Executor.run", f"{x.name!r} of shape {list(x.shape)} and {x.dtype.name} in the scope",
                f"{list(held.shape)} and {held.dtype.name}, of another program", "Run it in a scope of its own.",
            )  # fmt: skip
        return held


def _unlike(x: Tensor, y: Tensor) -> bool:
    return list(x.shape) != list(y.shape) or x.dtype is not y.dtype


def _first() -> Scope:
    return current().state.values.setdefault(_CURRENT + ".first", Scope())


@public("paddle.static")
def global_scope() -> Scope:
    """Return the scope that programs run in.

    Returns:
        A :class:`Scope`.

    Example:
        >>> import paddle
        >>> paddle.static.global_scope() is paddle.static.global_scope()
        True
    """
    return current().state.values.get(_CURRENT) or _first()


@public("paddle.static")
@contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Run programs in another scope inside a ``with`` block.

    Args:
        scope: the scope.

    Yields:
        None: it is used in a ``with`` statement.

    Raises:
        TypeError: something that is no scope.

    Example:
        >>> import paddle
        >>> scope = paddle.static.Scope()
        >>> with paddle.static.scope_guard(scope):
        ...     paddle.static.global_scope() is scope
        True
    """
    if not isinstance(scope, Scope):
        raise op_error(TypeError, "scope_guard", "a Scope", type(scope).__name__)
    values = current().state.values
    before = values.get(_CURRENT)
    values[_CURRENT] = scope
    try:
        yield
    finally:
        values[_CURRENT] = before
