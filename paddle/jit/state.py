"""Python state read by a function that the library calls: scalars, strings and flags in closures, globals, layers.

Hooks and functions of a ``PyLayer`` are not simulated. A captured program holds what they read as constants, which are
looked at again before a run.
"""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from paddle.nn.layer._registry import CHANGES, changes
from paddle.nn.layer.layers import Layer
from umiak.core.dtype import DType
from umiak.core.entries import Snapshot, Watch
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.util.size import Size

# Packages whose functions depend on their arguments, or whose state is a key of its own.
_OWN = ("paddle", "umiak", "numpy", "scipy")
_SIMPLE = (int, float, complex, str, bytes, type(None), enum.Enum, np.generic, DType, Place)


def is_simple(x: Any) -> bool:
    """Return whether a value can be compared by itself."""
    return isinstance(x, _SIMPLE) or (isinstance(x, (tuple, frozenset)) and all(map(is_simple, x)))


def exactly(x: Any) -> tuple:
    """A value that can be compared, of its type, and what is in it: 0.0 and -0.0 are two, and so are 1 and True."""
    kind = type(x)
    if kind is float:
        return float, x.hex()
    if kind is complex:
        return complex, x.real.hex(), x.imag.hex()
    if kind is tuple or kind is frozenset:  # of which programs may read the order
        return kind, *map(exactly, x)
    if kind is range or kind is slice:
        return kind, *map(exactly, (x.start, x.stop, x.step))
    if isinstance(x, np.generic):
        return kind, x.tobytes()
    return kind, x


@dataclass(frozen=True)
class _Read:
    """A place of a value: a cell, where ``key`` is None, or a dict."""

    name: str
    holder: Any
    key: str | None

    def value(self) -> Any:
        if self.key is not None:
            return self.holder.get(self.key)
        try:
            return self.holder.cell_contents
        except ValueError:
            return None


class State:
    """The Python state that ``function`` can be seen to read.

    Followed are its closure and globals, the functions that these name, and of objects the attributes that any of the
    functions names.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        # What is read: a name to tell, and where it is, a cell or the name in a dict.
        self.reads: list[_Read] = []
        self.functions: list[FunctionType] = []  # of the user's, which are called, or may be
        self._defaults: list[Any] = []  # lists, sets and dicts that are defaults of their parameters
        self._containers: list[Any] = []  # those, and others in attributes of layers that a function names
        self.layers: list[Layer] = []
        self._known: set[int] = set()
        self._names: dict[str, None] = {}  # that the functions use, of globals and attributes
        self._objects: list[tuple[str, Any]] = []
        self._held: list[Any] = [function]  # so that ids stay those of these objects
        self._changes = -1
        self._watch: Watch | None = None
        self._function(function)
        self._attributes()

    def _function(self, f: Any) -> None:
        if isinstance(f, MethodType):
            owner = f.__self__
            f = f.__func__
            self._held.append(owner)
            self._visit(f"{f.__name__}.self", owner)
        wrapped = getattr(f, "__wrapped__", None)
        if wrapped is not None:
            self._function(wrapped)
        if not isinstance(f, FunctionType) or not self._hold(f) or _is_own(f.__module__):
            return
        self.functions.append(f)
        for key, x in (*enumerate(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).items()):
            if type(x) in (list, Size, set, dict):
                self._defaults.append(x)
            self._visit(f"{f.__name__}.{key}", x)
        names = list(_names(f.__code__))
        self._names.update(dict.fromkeys(names))
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            self._value(_Read(name, cell, None))
        space = f.__globals__
        for name in names:
            if name in space:
                self._value(_Read(name, space, name))
                if isinstance(space[name], ModuleType):
                    self._module(space[name], names)

    def _hold(self, x: Any) -> bool:
        """Hold ``x``; return False if it was held before."""
        if id(x) in self._known:
            return False
        self._known.add(id(x))
        self._held.append(x)
        return True

    def _module(self, module: ModuleType, names: list[str]) -> None:
        """Settings in a module of the user's."""
        if _is_own(module.__name__) or module.__name__.split(".")[0] in sys.stdlib_module_names:
            return
        for name in names:
            if is_simple(module.__dict__.get(name, self)):
                self.reads.append(_Read(f"{module.__name__}.{name}", module.__dict__, name))

    def _value(self, read: _Read) -> None:
        x = read.value()
        self._held.append(x)
        self.reads.append(read)
        self._visit(read.name, x)

    def _visit(self, name: str, x: Any) -> None:
        if isinstance(x, (FunctionType, MethodType)):
            self._function(x)
        elif not isinstance(x, (ModuleType, Tensor, type)):
            self._object(name, x)

    def _object(self, name: str, x: Any) -> None:
        if isinstance(x, Layer):
            for below in x.sublayers(include_self=True):
                if self._hold(below):
                    self.layers.append(below)
                    self._objects.append((type(below).__name__, below))
                    self._function(type(below).forward)
        elif type(x) in (list, tuple):
            for item in x:
                if isinstance(item, Layer):
                    self._object(name, item)
        elif not is_simple(x) and hasattr(x, "__dict__") and not _is_own(type(x).__module__) and self._hold(x):
            self._objects.append((name, x))

    def _attributes(self) -> None:
        """Visit the attributes that the functions name of the objects; each may lead to more functions and objects."""
        done: set[tuple[int, str]] = set()
        while True:
            todo = [(p, x, n) for p, x in self._objects for n in self._names if (id(x), n) not in done]
            if not todo:
                return
            for prefix, x, name in todo:
                done.add((id(x), name))
                member = getattr(type(x), name, None)
                if isinstance(member, (FunctionType, property)):
                    self._function(member.fget if isinstance(member, property) else member)
                elif name in vars(x):
                    # Attributes of layers are compared with all of the layer's, but what they hold may be read too.
                    if isinstance(x, Layer):
                        self._object(f"{prefix}.{name}", vars(x)[name])
                    else:
                        self._value(_Read(f"{prefix}.{name}", vars(x), name))

    def snapshot(self) -> Snapshot:
        """Return what is there now, for C to compare."""
        if self._changes != changes():
            self._look()
        if self._watch is None:
            self._watch = Watch([(r.holder, r.key) for r in self.reads], CHANGES)
        return self._watch.take(self._containers)

    def _look(self) -> None:
        self._containers = self._defaults + [
            v for layer in self.layers for n, v in layer.__dict__.items()
            if type(v) in (list, Size, set, dict) and n in self._names and n not in _TABLES
        ]  # fmt: skip
        self._changes = changes()


_TABLES = ("_parameters", "_buffers", "_sub_layers")


def _is_own(module: str | None) -> bool:
    return (module or "").split(".")[0] in _OWN


def _names(code: CodeType) -> Iterator[str]:
    """The global and attribute names of a function and of those inside of it."""
    yield from code.co_names
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield from _names(c)


@functools.cache
def attributes_read(f: Any, kind: type) -> tuple[str, ...]:
    """The names of attributes that a method of a class may read, or properties and other methods that it names."""
    names: dict[str, None] = {}
    todo = [f]
    while todo:
        code = getattr(todo.pop(), "__code__", None)
        for name in () if code is None else _names(code):
            if name not in names:
                names[name] = None
                member = getattr(kind, name, None)
                todo.append(member.fget if isinstance(member, property) else member)
    return tuple(names)
