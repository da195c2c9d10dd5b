"""What a function reads from Python besides its arguments: numbers, texts and flags in closures, globals and layers.

A captured program holds them as constants. They are looked at again before a run, so that a change captures anew, and
after a capture, so that a function which changes them is refused.
"""

from __future__ import annotations

import enum
import inspect
import random
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from paddle.nn.layer.layers import Layer, changes
from umiak.core.tensor import Tensor

# Packages whose functions depend on their arguments, or whose state is a key of its own.
_OWN = ("paddle", "umiak", "numpy", "scipy")
_SIMPLE = (int, float, complex, str, bytes, type(None), enum.Enum, np.generic)
_DEPTH = 4


def _is_simple(x: Any) -> bool:
    return isinstance(x, _SIMPLE) or (isinstance(x, (tuple, frozenset)) and all(map(_is_simple, x)))


def _seen(x: Any) -> Any:
    """What is compared of a value: itself where it is simple, a container's simple items, otherwise its identity."""
    if _is_simple(x):
        return type(x), x
    if hasattr(x, "order"):  # a table of hooks
        return tuple(map(id, x.order))
    if type(x) in (list, set):
        return type(x), tuple(_seen(i) if _is_simple(i) else id(i) for i in x)
    if type(x) is dict:
        return dict, tuple((k, _seen(v) if _is_simple(v) else id(v)) for k, v in x.items())
    return id(x)


class State:
    """The Python state that ``function`` can be seen to read."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.reads: list[tuple[str, Callable[[], Any]]] = []
        self.layers: list[Layer] = []
        self._known: set[int] = set()
        self._names: set[str] = set()  # that the functions use, of globals and attributes
        self._held: list[Any] = [function]  # so that ids stay those of these objects
        self._function(function, _DEPTH)
        self._changes = self._token = -1
        self._layer_state: tuple = ()
        self._tokens: dict[tuple, int] = {}  # a number for each state that the layers have been in

    def _function(self, f: Any, depth: int) -> None:
        if isinstance(f, MethodType):
            owner = f.__self__
            f = f.__func__
            self._value(f"{f.__name__}.self", lambda: owner, depth)
        wrapped = getattr(f, "__wrapped__", None)
        if wrapped is not None:
            self._function(wrapped, depth)
        if not isinstance(f, FunctionType) or id(f) in self._known or depth < 0:
            return
        self._known.add(id(f))
        self._held.append(f)
        if (f.__module__ or "").split(".")[0] in _OWN:
            return
        self._names.update(_names(f.__code__))
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            self._value(name, partial(_content, cell), depth - 1)
        names = list(_names(f.__code__))
        space = f.__globals__
        for name in names:
            if name in space:
                self._value(name, partial(space.get, name), depth - 1)
                if isinstance(space[name], ModuleType):
                    self._module(space[name], names)

    def _module(self, module: ModuleType, names: list[str]) -> None:
        """Settings in a module of the user's."""
        top = module.__name__.split(".")[0]
        if top in _OWN or top in sys.stdlib_module_names:
            return
        for name in names:
            if _is_simple(module.__dict__.get(name, self)):
                self.reads.append((f"{module.__name__}.{name}", partial(module.__dict__.get, name)))

    def _value(self, name: str, read: Callable[[], Any], depth: int) -> None:
        x = read()
        if isinstance(x, (ModuleType, Tensor, type)):
            self.reads.append((name, lambda: id(read())))
            self._held.append(x)
            return
        self.reads.append((name, read))
        self._held.append(x)
        if isinstance(x, Layer):
            self._layer(x, depth)
        elif isinstance(x, (FunctionType, MethodType)):
            self._function(x, depth)
        elif type(x) in (list, tuple):
            for item in x:
                if isinstance(item, Layer):
                    self._layer(item, depth)
        elif (
            not _is_simple(x)
            and type(x) is not dict
            and hasattr(x, "__dict__")
            and depth > 0
            and id(x) not in self._known
        ):
            self._known.add(id(x))
            if type(x).__module__.split(".")[0] not in _OWN:
                for key in (_attributes_used(type(x)) | self._names) & set(vars(x)):  # type: ignore[arg-type]
                    self._value(f"{name}.{key}", partial(vars(x).get, key), depth - 1)

    def _layer(self, layer: Layer, depth: int) -> None:
        for below in layer.sublayers(include_self=True):
            if id(below) not in self._known:
                self._known.add(id(below))
                self.layers.append(below)
                self._function(type(below).forward, depth - 1)

    def now(self) -> tuple:
        """All of it, to compare; layers as a number."""
        if self._changes != changes():
            self._look()
        return tuple([_seen(read()) for _, read in self.reads]), self._token

    def _look(self) -> None:
        self._layer_state = tuple(_layer_state(layer, self._names) for layer in self.layers)
        self._token = self._tokens.setdefault(self._layer_state, len(self._tokens))
        self._changes = changes()

    def fresh(self) -> tuple:
        """As :meth:`now`, with all of the layers and what their containers hold."""
        self._look()
        return tuple([_seen(read()) for _, read in self.reads]), self._layer_state

    def difference(self, before: tuple, after: tuple) -> str:
        """What is different between two states, in words."""
        for (name, _), a, b in zip(self.reads, before[0], after[0]):
            if a != b:
                return name
        for layer, a, b in zip(self.layers, before[1], after[1]):
            if a != b:
                changed = [x[0] for x, y in zip(a, b) if x != y] or ["its parameters, buffers or sublayers"]
                return f"{type(layer).__name__}.{changed[0]}"
        return "a layer"


_TABLES = ("_parameters", "_buffers", "_sub_layers")


def _layer_state(layer: Layer, names_used: set[str]) -> tuple:
    own = layer.__dict__
    names = {n for t in _TABLES for n in own[t]}
    used = _attributes_used(type(layer)) | names_used  # type: ignore[arg-type]
    plain = tuple((n, _seen(v)) for n, v in own.items() if n in used and n not in names and n not in _TABLES)
    return plain + tuple((t, tuple((n, id(x)) for n, x in own[t].items())) for t in _TABLES)


@cache
def _attributes_used(cls: Any) -> frozenset[str]:
    """Names of attributes that the methods of a class may read."""
    found = {"forward", "training", "_forward_pre_hooks", "_forward_post_hooks"}
    for base in cls.__mro__:
        if base is Layer or base is object:
            continue
        for name, member in vars(base).items():
            if name == "__init__":
                continue
            f = (
                inspect.unwrap(getattr(member, "__func__", member))
                if callable(member)
                else getattr(member, "fget", None)
            )
            if isinstance(f, FunctionType):
                found.update(_names(f.__code__))
    return frozenset(found)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


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
        """Whether there were any since."""
        return self._read() != self.before
