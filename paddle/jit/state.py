"""Python state that a function reads besides its arguments: scalars, strings and flags in closures, globals and layers.

A captured program holds them as constants. They are looked at again before a run, so that a change captures anew, and
after a capture, so that a function which changes them is refused.
"""

from __future__ import annotations

import enum
import random
import sys
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from paddle.nn.layer._hooks import HookTable
from paddle.nn.layer._registry import CHANGES, changes
from paddle.nn.layer.layers import Layer
from umiak.core.entries import Snapshot, Watch
from umiak.core.tensor import Tensor
from umiak.util.size import Size

# Packages whose functions depend on their arguments, or whose state is a key of its own.
_OWN = ("paddle", "umiak", "numpy", "scipy")
_SIMPLE = (int, float, complex, str, bytes, type(None), enum.Enum, np.generic)


def _is_simple(x: Any) -> bool:
    return isinstance(x, _SIMPLE) or (isinstance(x, (tuple, frozenset)) and all(map(_is_simple, x)))


def exactly(x: Any) -> tuple:
    """A value that can be compared, of its type: 0.0 and -0.0 are two."""
    return (float, x.hex()) if type(x) is float else (type(x), x)


def _seen(x: Any) -> Any:
    """Return what is compared of a value: a simple one itself, a container's simple items, otherwise its identity."""
    if _is_simple(x):
        return exactly(x)
    if isinstance(x, HookTable):
        return tuple(map(id, x.order))
    if type(x) in (list, Size, set):
        return type(x), tuple(_seen(i) if _is_simple(i) else id(i) for i in x)
    if type(x) is dict:
        return dict, tuple((k, _seen(v) if _is_simple(v) else id(v)) for k, v in x.items())
    return id(x)


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
        self._containers: list[Any] = []  # lists, sets and dicts in attributes of layers that a function names
        self.layers: list[Layer] = []
        self._known: set[int] = set()
        self._names: dict[str, None] = {}  # that the functions use, of globals and attributes
        self._objects: list[tuple[str, Any]] = []
        self._held: list[Any] = [function]  # so that ids stay those of these objects
        self._changes = self._token = -1
        self._layer_state: tuple = ()
        self._watch: Watch | None = None
        self._tokens: dict[tuple, int] = {}  # a number for each state that the layers have been in
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
            if _is_simple(module.__dict__.get(name, self)):
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
        elif not _is_simple(x) and hasattr(x, "__dict__") and not _is_own(type(x).__module__) and self._hold(x):
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

    def tensors(self) -> list[Tensor]:
        """The tensors among it, those of layers included."""
        own = [x for x in self._held if isinstance(x, Tensor)]
        candidates = [*own, *(p for layer in self.layers for p in layer._parameters.values() if p is not None)]
        return list({id(x): x for x in candidates}.values())

    def now(self) -> tuple:
        """All of it, to compare; layers as a number."""
        if self._changes != changes():
            self._look()
        return tuple([_seen(r.value()) for r in self.reads]), self._token, tuple(map(_seen, self._containers))

    def snapshot(self) -> Snapshot:
        """The same as objects, for C to compare."""
        if self._changes != changes():
            self._look()
        if self._watch is None:
            self._watch = Watch([(r.holder, r.key) for r in self.reads], CHANGES)
        return self._watch.take(self._containers)

    def _look(self) -> None:
        self._containers = [
            v for layer in self.layers for n, v in layer.__dict__.items()
            if type(v) in (list, Size, set, dict) and n in self._names and n not in _TABLES
        ]  # fmt: skip
        self._layer_state = tuple(_layer_state(layer, self._names) for layer in self.layers)
        self._token = self._tokens.setdefault(self._layer_state, len(self._tokens))
        self._changes = changes()

    def fresh(self) -> tuple:
        """Return the same as :meth:`now`, with all of the layers and the items of their containers."""
        self._look()
        return tuple([_seen(r.value()) for r in self.reads]), self._layer_state

    def difference(self, before: tuple, after: tuple) -> str:
        """Describe the difference between two states in words."""
        for read, a, b in zip(self.reads, before[0], after[0]):
            if a != b:
                return read.name
        for layer, a, b in zip(self.layers, before[1], after[1]):
            if a != b:
                changed = [x[0] for x, y in zip(a, b) if x != y] or ["its parameters, buffers or sublayers"]
                return f"{type(layer).__name__}.{changed[0]}"
        return "a layer"


_TABLES = ("_parameters", "_buffers", "_sub_layers")


_READ_BY_LAYERS = frozenset(("forward", "training", "_forward_pre_hooks", "_forward_post_hooks"))


def _layer_state(layer: Layer, named: Container[str]) -> tuple:
    own = layer.__dict__
    tables = {n for t in _TABLES for n in own[t]}.union(_TABLES)
    # Layers of ours read any attribute of theirs.
    every = any(base is not Layer and _is_own(base.__module__) for base in type(layer).__mro__)
    plain = tuple(
        (n, _seen(v)) for n, v in own.items() if n not in tables and (every or n in named or n in _READ_BY_LAYERS)
    )
    return plain + tuple((t, tuple((n, id(x)) for n, x in own[t].items())) for t in _TABLES)


def _is_own(module: str | None) -> bool:
    return (module or "").split(".")[0] in _OWN


def _names(code: CodeType) -> Iterator[str]:
    """The global and attribute names of a function and of those inside of it."""
    yield from code.co_names
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield from _names(c)


class Draws:
    """Notices numbers drawn from Python's and NumPy's generators: they would be the same at every run."""

    def __init__(self) -> None:
        self.before = self._read()

    @staticmethod
    def _read() -> tuple:
        state: Any = np.random.get_state()
        return random.getstate(), state[1].tobytes(), state[2], state[3]

    def made(self) -> bool:
        """Return whether there were any since."""
        return self._read() != self.before
