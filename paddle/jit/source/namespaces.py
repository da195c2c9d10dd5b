"""``vars(x)``, ``x.__dict__``, ``globals()`` and ``dir(x)``, where a branch or loop has set or removed a name on one of
its ways: which names there are is known only while the program runs."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NoReturn

from paddle.jit.source.branches import value_of
from paddle.jit.source.errors import ConversionError, place_of
from paddle.jit.source.join import of_none
from paddle.jit.source.own_attributes import attributes_of
from paddle.jit.source.values import LATE, Conditional, Optional
from paddle.jit.source.world import HELPER_FILES
from umiak import ops as F
from umiak.core.tensor import Tensor


class Namespace(MutableMapping):
    """The names that something has by itself, some of which may be there. What asks for all of them is refused."""

    def __init__(self, names: Any, what: str) -> None:
        self._names, self._what, self._place = names, what, place_of()

    def __getitem__(self, name: str) -> Any:
        value = self._names[name]
        return value.read() if type(value) in LATE else value

    def __setitem__(self, name: str, value: Any) -> None:
        self._names[name] = value

    def __delitem__(self, name: str) -> None:
        self[name]  # is there
        del self._names[name]

    def __iter__(self) -> Iterator[str]:
        self._refuse()

    def __len__(self) -> int:
        return len(list(self))

    def __contains__(self, name: object) -> bool:
        if isinstance(self.has(name), bool):
            return name in self._names
        self._refuse()

    def __repr__(self) -> str:
        self._refuse()

    def has(self, name: object) -> Any:
        """Return whether there is a name: True, False or a tensor."""
        value = self._names.get(name)
        return value.defined if type(value) is Conditional else name in self._names

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or what stands for it."""
        return value_or(self._names.get(name, default), name, default)

    def _refuse(self) -> NoReturn:
        value = next(x for x in self._names.values() if type(x) is Conditional)
        raise ConversionError(
            f"[to_static] requires names that are there on all ways for {self._what} at {self._place}, got "
            f"{value.name!r}, which the statement on a tensor at {value.where} sets only on one of its ways. Set it "
            "before that statement, or ask for one name, by hasattr, getattr or in"
        )


def value_or(value: Any, name: str, default: Any) -> Any:
    """``value``, or ``default`` where it is not there."""
    if type(value) is not Conditional:
        return value
    if default is None:
        none, known = of_none(value.value)
        is_none = F.logical_not(value.defined)
        if none is not False:
            is_none = F.logical_or(is_none, none) if isinstance(none, Tensor) else none
        return Optional(name, known, is_none, value.where) if isinstance(is_none, Tensor) else None
    return value_of(
        value.defined, lambda: value.value, lambda: default, f"the attribute {name!r} or what stands for it"
    )


def namespace(names: Any, what: str = "the names of an object") -> Any:
    """Names and values as they are, or as a :class:`Namespace` where one may be there."""
    is_plain = isinstance(names, Mapping) and type(names) is not Namespace
    if is_plain and any(type(x) is Conditional for x in names.values()):
        return Namespace(names, what)
    return names


def _vars(*args: Any) -> Any:
    return namespace(vars(*args), "vars()") if args else _caller().f_locals


def _globals() -> Any:
    return namespace(_caller().f_globals, "globals()")


def _dir(*args: Any) -> Any:
    if not args:
        return sorted(_caller().f_locals)
    namespace_of = namespace(attributes_of(args[0]), "dir()")
    return list(namespace_of) if type(namespace_of) is Namespace else dir(*args)


def _caller() -> Any:
    """The frame of the user's code that has called a helper."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HELPER_FILES):
        frame = frame.f_back
    return frame


REPLACED = {id(builtins.vars): _vars, id(builtins.globals): _globals, id(builtins.dir): _dir}
