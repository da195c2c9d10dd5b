"""Values of names behind a branch or loop that was traced: values that are there only if the program took some way,
and values of which no tensor can be made."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from paddle.jit.source import aliases, facts
from paddle.jit.source.errors import ConversionError, location, place_of
from paddle.jit.source.world import ABSENT, world
from paddle.tensor._tensor_array import TensorArray
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.ir.sym import Sym
from umiak.runtime import regions


class Late:
    """Stands for a value that is asked for where it is used. The text of the function with the statement asks by
    ``read``; what others do with it asks here, or fails."""

    def read(self) -> Any:
        """Return the value; each kind says how."""
        raise NotImplementedError(f"{type(self).__name__} must define read()")

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # which Python asks for by itself
            raise AttributeError(attribute)
        return getattr(self.read(), attribute)


def _late(function: Callable[..., Any], swapped: bool) -> Callable[..., Any]:
    def run(self: Late, *args: Any) -> Any:
        return function(*args, self.read()) if swapped else function(self.read(), *args)

    return run


for _name in "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift".split():
    _plain = _name.rstrip("_")
    setattr(Late, f"__{_plain}__", _late(getattr(operator, _name), False))
    setattr(Late, f"__r{_plain}__", _late(getattr(operator, _name), True))
for _name in ("neg", "pos", "abs", "invert", "getitem", "contains", "index", "lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Late, f"__{_name}__", _late(getattr(operator, _name), False))
for _function in (bool, len, iter, int, float, str):
    setattr(Late, f"__{_function.__name__}__", _late(_function, False))


class Conditional(Late):
    """A value that ``name`` has where the tensor ``defined`` is true."""

    def __init__(self, name: str, value: Any, defined: Any, where: str) -> None:
        self.name, self.value, self.defined, self.where = name, value, defined, where

    def check(self) -> None:
        """Have the program check that there is a value when it comes here."""
        text = f"{self.name!r} has no value: the statement at {self.where} assigns it only on one of its ways"
        F.require(self.defined, kind="UnboundLocalError", args=(text,), place=location())

    def read(self) -> Any:
        """Return the value, which the program checks to be there."""
        self.check()
        return read(self.value)


class Optional(Late):
    """A value that ``name`` has unless the tensor ``is_none`` is true: then it is None."""

    def __init__(self, name: str, value: Any, is_none: Any, where: str) -> None:
        self.name, self.value, self.is_none, self.where = name, value, is_none, where

    def read(self) -> Any:
        """Return the value, or None, where the way that is traced knows which; else the program checks that there is
        one."""
        known = facts.known(self.is_none)
        if known is True:
            return None
        if known is None:
            text = f"{self.name!r} is None: the statement at {self.where} assigns it only on one of its ways"
            F.require(F.logical_not(self.is_none), kind="TypeError", args=(text,), place=location())
        return self.value


class Unusable(Late):
    """The value of ``name`` behind the statement at ``where``, whose ways leave values that do not go together."""

    def __init__(self, name: str, reason: str, where: str) -> None:
        self.name, self.reason, self.where = name, reason, where

    @property
    def advice(self) -> str:
        """Advice where structures differ."""
        if not re.search(r"\((\*|$)|\{|\(\)|OrderedDict", self.reason):
            return ""
        return (
            ". Make it of one kind on all ways, a list or a tuple, with the same items or keys in one order; a list "
            "may grow, by append, extend or +"
        )

    def read(self) -> Any:
        """Refuse."""
        here = place_of()
        read = "" if here == self.where else f" and {here} reads"
        raise ConversionError(
            f"[to_static] requires {self.name} to have one structure, shape and dtype on all ways of the statement on "
            f"a tensor that {self.where} has{read}, got {self.reason}{self.advice}"
        )


LATE = (Conditional, Optional, Unusable)


class Moved:
    """The one item of a list whose items are in ``array``, as the statement at ``where`` changes its length: whoever
    has the list under a name that the statement does not see finds the array."""

    def __init__(self, array: TensorArray, name: str, where: str) -> None:
        self._array, self._name, self._where = array, name, where

    def __getattr__(self, attribute: str) -> Any:
        raise ConversionError(
            f"[to_static] requires {self._name!r}, whose length the statement on a tensor at {self._where} decides, to "
            "be read by a name of its own, got it as an item of another object"
        )


def is_moved(x: Any) -> bool:
    """Return whether a list is one whose items are in an array."""
    return type(x) is list and len(x) == 1 and type(x[0]) is Moved


def array_of(x: Any) -> Any:
    """The array that has the items of a list, if one has them; otherwise ``x``."""
    x = x[0]._array if is_moved(x) else x
    if type(x) is TensorArray:
        aliases.check(x)
    return x


def read(x: Any) -> Any:
    """The value of a name that branches or loops assign."""
    return array_of(x.read() if type(x) in LATE else x)


def settled_none(x: Any) -> Any:
    """A value that a branch or loop has left; None, or what it is otherwise, where the way that is traced knows."""
    known = facts.known(x.is_none) if type(x) is Optional else None
    return x if known is None else None if known else x.value


def is_none(x: Any) -> Any:
    """``x is None``, of a value as a branch or loop has left it."""
    if type(x) is Conditional:
        x.check()
        x = x.value
    if type(x) is not Optional:
        return world().call(operator.is_, read(x), None)
    known = facts.known(x.is_none)
    return x.is_none if known is None else known


def is_none_of(owner: Any, name: str) -> Any:
    """``owner.name is None``: the attribute is not read, since a simulation would ask it for what it is."""
    x = world().read_attribute(owner, name)
    return is_none(world().call(getattr, owner, name) if x is ABSENT else x)


def is_none_by(get: Any, name: str) -> Any:
    """``name is None``; ``get``: a function that reads the name alone."""
    if get.__closure__:
        x = world().read_cell(get.__closure__[0], name)
    else:
        x = world().read_global(get.__globals__, name)
    return is_none(get() if x is ABSENT else x)


def tracing() -> bool:
    """Return whether calls are recorded rather than run."""
    return bool(current().trace)


def in_region() -> bool:
    """Return whether what is traced may be run or not, or several times."""
    return tracing() and bool(current().trace[-1].frames)


def is_unknown(x: Any) -> bool:
    """Return whether ``x`` is known only while the program runs."""
    return isinstance(x, Tensor) and tracing()


def asked(x: Any) -> Any:
    """A condition. A number that sizes or data decide in a program for files becomes a tensor: both ways are
    recorded."""
    x = read(x)
    if type(x) is TensorArray:
        x = x.length() > 0
    if type(x) is not Sym or not tracing() or not current().trace[-1].takes_both_ways(x):
        return x
    return F.full(x, shape=(), dtype=dt.bool if x.kind == "bool" else dt.int64 if x.kind == "int" else dt.float64)


def settled(x: Any) -> Any:
    """The condition of a statement that is no loop: a tensor of sizes that are known is a bool."""
    x = asked(x)
    if is_unknown(x):
        condition = regions.condition_of(x, guards=True)
        if type(condition) is bool:
            return condition
    return x


def holds(x: Any) -> bool:
    """Return whether a value that is known is true."""
    return x if type(x) is bool else bool(world().call(bool, x))


def truth(x: Any) -> Any:
    """The truth value of ``x``: a bool tensor without dims where it is unknown, otherwise a bool."""
    x = asked(x)
    if not is_unknown(x):
        return holds(x)
    if any(type(n) is not Sym and n != 1 for n in x.shape):
        raise ConversionError(
            f"[to_static] requires a tensor with one element as condition at {place_of()}, got shape {list(x.shape)}"
        )
    if x.dtype.name != "bool":
        x = F.ne(x, 0)
    return F.reshape(x, shape=()) if x.ndim else x
