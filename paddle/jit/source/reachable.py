"""Python state that functions can reach, as it was at one time: what has changed since, and how it is put back.

Branches and loops on tensors are traced: what a function changes that they call would change once, on both ways, or as
often as a body is traced. The text of a statement does not name it. A simulation sees each write; where functions run,
the state is compared: variables of closures and modules, attributes of the user's objects and classes, containers,
arrays of NumPy, iterators, and generators of random numbers. No code of the user's runs meanwhile.
"""

from __future__ import annotations

import array
import collections
import contextvars
import functools
import gc
import io
import os
import random
import types
import weakref
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from paddle.jit.source import digest
from paddle.jit.source.code_owners import holds, is_installed, is_library, is_users
from paddle.jit.source.convert import HELPERS
from paddle.jit.source.own_attributes import by_type, module_of, namespace_of
from paddle.jit.source.places import Attribute, Cell, Global, Item, Place
from paddle.jit.source.progress import IMMUTABLE, progress_of
from paddle.jit.source.watched import (
    CONTAINERS,
    NUMBERS,
    Array,
    Attributes,
    Container,
    OfContext,
    OfLayer,
    OfModule,
    OfTensor,
    Token,
    Variable,
    Watched,
    count_of,
    pairs_of,
)
from paddle.jit.source.world import ABSENT
from paddle.nn.layer._registry import CHANGES
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym

_CONSTANTS = frozenset((*NUMBERS, type(None), type(Ellipsis), slice, range, CodeType, Sym, np.dtype))
_MOST_ITEMS = 4096  # of a container that are looked into

_Origin = tuple[Any, str]  # what holds a value, and how it is reached from there


def _is_constant(kind: type) -> bool:
    try:
        return kind in _CONSTANTS
    except TypeError:  # a type without a hash
        return False


@functools.lru_cache(maxsize=4096)
def _names_in(code: CodeType) -> frozenset[str]:
    """The names of a module's variables, or of attributes, in code and the functions inside of it."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return frozenset(code.co_names).union(*map(_names_in, inner))


def _of_numpy(r: Any) -> Any:
    """The state of random numbers of NumPy's older kind."""
    state = r.get_state(legacy=False)
    parts = {**state, **state["state"]}
    return [(k, v.tobytes() if isinstance(v, np.ndarray) else v) for k, v in parts.items() if type(v) is not dict]


# Of the modules themselves, and of objects: what tells the state of random numbers.
_RANDOM: dict[type, Callable[[Any], Any]] = {
    random.Random: random.Random.getstate,
    np.random.Generator: lambda r: repr(r.bit_generator.state),
    np.random.RandomState: _of_numpy,
}


class Tree(NamedTuple):
    """A layer and those inside of it, as long as ``version`` stands: their attributes, and what these lead to."""

    version: int
    layers: dict[int, Layer]
    watched: list[OfLayer]
    values: list[tuple[Any, _Origin, Any]]


def _tree_of(root: Layer) -> Tree:
    tree = Tree(CHANGES[0], {}, [], [])
    left = [root]
    while left:
        x = left.pop()
        if id(x) in tree.layers:
            continue
        tree.layers[id(x)] = x
        own, kind = namespace_of(x), type(x)
        left += [below for below in own["_sub_layers"].values() if below is not None]
        for hooks in (own["_forward_pre_hooks"], own["_forward_post_hooks"]):
            tree.values.extend((hook, (None, "a hook"), None) for hook in hooks.values())
        watched = OfLayer(x)
        tree.watched.append(watched)
        tree.values.append((kind, (None, kind.__name__), None))
        for name, value in watched.state.items():
            if not _is_constant(type(value)) and not issubclass(type(value), (Tensor, Layer)):
                holder = Attribute(f"{kind.__name__}.{name}", x, name)
                tree.values.append((value, (x, f".{name}"), holder))
    return tree


class Reached:
    """The state of what can be reached from ``roots``: values with the names that they have. ``trees``: of layers, for
    whoever asks again."""

    def __init__(self, roots: Iterable[tuple[str, Any]], trees: dict[int, Tree]) -> None:
        self._trees = trees
        # What ``changes`` has seen to have changed, behind which only ``restore`` comes.
        self._touched: list[Watched] | None = None
        self._watched: list[Watched] = [
            Token(None, lambda _: random.getstate(), "the random numbers of Python"),
            Token(None, lambda _: _of_numpy(np.random), "the random numbers of NumPy"),
            Token(None, lambda _: dict(vars(os.environ)["_data"]), "the variables of the environment"),
        ]
        self._origins: dict[int, _Origin] = {}
        self._spaces: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._containers: dict[int, Container] = {}
        self._left: list[Any] = []
        self._seen: dict[int, Any] = {id(HELPERS): HELPERS}  # by id, which stays theirs
        for name, x in roots:
            self._enter(x, (None, name))
        while self._left:
            x = self._left.pop()
            look = _look_of(type(x))
            assert look is not None
            look(self, x)
        self._watched += [OfModule(space, names) for space, names in self._spaces.values()]

    def changes(self) -> list[Place | str]:
        """Return what has changed since, as places, or in words where it cannot be put back."""
        # Layers are most of it, and nearly all are as they were.
        touched = [x for x in self._watched if type(x) is not OfLayer or not x.is_unchanged()]
        out = [change for x in touched for change in x.changes(self._name)]
        self._touched = touched if out else []
        return out

    def restore(self) -> None:
        """Put back what can be."""
        for x in self._watched if self._touched is None else self._touched:
            x.restore()
        self._touched = None

    def restore_where(self, is_gone: Callable[[Any], bool]) -> None:
        """Put back what holds values that are no longer of use."""
        for x in self._watched:
            now = x.now()
            values = now.values() if isinstance(now, dict) else now if isinstance(x, Container) else ()
            if any(map(is_gone, values)):
                x.restore()

    def _name(self, x: Any) -> str:
        """Return words for an object: how it was reached."""
        holder, step = self._origins.get(id(x), (None, type(x).__name__))
        return step if holder is None else f"{self._name(holder)}{step}"

    def _enter(self, x: Any, origin: _Origin, holder: Any = None) -> None:
        kind = type(x)
        if _is_constant(kind) or _look_of(kind) is None:
            return
        if id(x) not in self._seen:
            self._seen[id(x)] = x
            self._origins[id(x)] = origin
            self._left.append(x)
            if kind is list or _is_container(kind):
                self._containers[id(x)] = Container(x)
                self._watched.append(self._containers[id(x)])
        if holder is not None and kind is list:
            self._containers[id(x)].holders.append(holder)

    def _look_into(self, x: Any) -> None:
        kind = type(x)
        mutable = kind is list or kind is dict
        for key, item in () if count_of(x) > _MOST_ITEMS else pairs_of(x):
            if not _is_constant(type(item)):
                step = f"[{key!r}]" if type(key) in (int, str) else "[...]"
                self._enter(item, (x, step), Item(x, key) if mutable else None)
        if not is_library(module_of(kind)):
            self._look_at_object(x)

    def _look_at_tensor(self, x: Tensor) -> None:
        if namespace_of(x):
            self._watched.append(OfTensor(x))

    def _look_at_function(self, f: FunctionType) -> None:
        names = f.__code__.co_freevars
        for name, cell in zip(names, f.__closure__ or (), strict=True):
            if id(cell) not in self._seen:
                self._seen[id(cell)] = cell
                variable = Variable(cell, name)
                self._watched.append(variable)
                for value in variable.state.values():
                    self._enter(value, (None, name), Cell(name, cell))
        if not is_users(f.__code__, f.__globals__.get("__name__")):
            return
        for value in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
            self._enter(value, (None, f"a default argument of {f.__name__}"))
        if f.__dict__:
            self._look_at_object(f)
        if not is_installed(f.__code__.co_filename):
            self._look_at_code(f.__code__, f.__globals__)

    def _look_at_code(self, code: CodeType, space: dict[str, Any]) -> None:
        """Take in the variables of a module that code names."""
        names = _names_in(code)
        known = self._spaces.setdefault(id(space), (space, set()))[1]
        for name in names - known:
            known.add(name)
            value = space.get(name, ABSENT)
            if issubclass(type(value), ModuleType) and not is_library(namespace_of(value).get("__name__")):
                self._look_at_module(value, names)
            elif value is not ABSENT:
                self._enter(value, (None, name), Global(name, space))

    def _look_at_module(self, module: ModuleType, names: Iterable[str]) -> None:
        space: Any = namespace_of(module)  # a module that is read when it is used stays as it is
        known = self._spaces.setdefault(id(space), (space, set()))[1]
        for name in known.symmetric_difference(names).intersection(names):
            if name in space:
                known.add(name)
                self._enter(space[name], (None, f"{space.get('__name__')}.{name}"), Global(name, space))

    def _look_at_method(self, x: MethodType) -> None:
        self._enter(x.__func__, (None, "a method"))
        self._enter(x.__self__, (None, type(x.__self__).__name__))

    def _look_at_partial(self, x: functools.partial) -> None:
        for inner in (x.func, *x.args, *x.keywords.values()):
            self._enter(inner, (x, ""))

    def _look_at_property(self, x: property) -> None:
        for f in (x.fget, x.fset):
            self._enter(f, (x, ""))

    def _look_at_owner(self, x: Any) -> None:
        self._enter(x.__self__, (x, ""))

    def _look_at_inner(self, x: Any) -> None:
        self._enter(x.__func__, (x, ""))

    def _look_at_cached(self, x: Any) -> None:
        self._enter(x.__wrapped__, (x, ""))

    def _look_at_referent(self, x: weakref.ref) -> None:
        self._enter(weakref.ref.__call__(x), (x, ""))

    def _look_at_array(self, x: np.ndarray) -> None:
        self._watched.append(Array(x))
        plain = np.asarray(x)
        if plain.dtype.hasobject and plain.size <= _MOST_ITEMS:
            for item in plain.flat:
                self._enter(item, (x, "[...]"))

    def _look_at_random(self, x: Any) -> None:
        state_of = next(state for kind, state in _RANDOM.items() if issubclass(type(x), kind))
        self._watched.append(Token(x, state_of, "random numbers"))

    def _look_at_context(self, x: contextvars.ContextVar) -> None:
        self._watched.append(OfContext(x))

    def _look_at_buffer(self, x: Any) -> None:
        self._watched.append(Token(x, digest.of_buffer, type(x).__name__))

    def _look_at_object(self, x: Any) -> None:
        watched = Attributes(x)
        self._watched.append(watched)
        for name, value in watched.state.items():
            self._enter(value, (x, f".{name}"), Attribute(f"{type(x).__name__}.{name}", x, name))
        if type(x) is not FunctionType:
            self._enter(type(x), (None, type(x).__name__))

    def _look_at_layer(self, x: Layer) -> None:
        tree = self._trees.get(id(x))
        if tree is None or tree.version != CHANGES[0] or not all(layer.is_unchanged() for layer in tree.watched):
            tree = self._trees[id(x)] = _tree_of(x)
        self._seen.update(tree.layers)
        self._watched += tree.watched
        for value, origin, holder in tree.values:
            self._enter(value, origin, holder)

    def _look_at_class(self, x: type) -> None:
        if is_library(module_of(x)):
            return
        self._watched.append(Attributes(x))
        for name, value in namespace_of(x).items():
            if name[:2] != "__" or type(value) is FunctionType:
                self._enter(value, (x, f".{name}"))
        for base in x.__bases__:
            self._enter(base, (None, base.__name__))

    def _look_at_iterator(self, x: Any) -> None:
        self._watched.append(Token(x, progress_of, "an iterator"))
        if type(x) is types.GeneratorType:
            if x.gi_frame is not None:
                for name, value in dict(x.gi_frame.f_locals).items():
                    self._enter(value, (x, "") if name.startswith(".") else (None, name))
                self._look_at_code(x.gi_code, x.gi_frame.f_globals)
            return
        for inner in gc.get_referents(x):
            self._enter(inner, (x, ""))


_Look = Callable[[Reached, Any], None]

_OF_EXACTLY: dict[type, _Look] = {
    FunctionType: Reached._look_at_function,
    MethodType: Reached._look_at_method,
    functools.partial: Reached._look_at_partial,
    BuiltinFunctionType: Reached._look_at_owner,
    MethodWrapperType: Reached._look_at_owner,
    staticmethod: Reached._look_at_inner,
    classmethod: Reached._look_at_inner,
    property: Reached._look_at_property,
    functools._lru_cache_wrapper: Reached._look_at_cached,
}
_OF_BASE: dict[type | tuple[type, ...], _Look] = {
    Tensor: Reached._look_at_tensor,
    (*CONTAINERS, tuple, frozenset): Reached._look_into,
    np.ndarray: Reached._look_at_array,
    type: Reached._look_at_class,
    Layer: Reached._look_at_layer,
    tuple(_RANDOM): Reached._look_at_random,
    contextvars.ContextVar: Reached._look_at_context,
    weakref.ref: Reached._look_at_referent,
    (bytearray, array.array, memoryview, io.StringIO, io.BytesIO): Reached._look_at_buffer,
}


@by_type
def _look_of(kind: type) -> _Look | None:
    """Return the way to look at objects of a type; None for those that hold nothing of the user's."""
    if issubclass(kind, ModuleType):
        return None
    for exactly, look in _OF_EXACTLY.items():
        if kind is exactly:
            return look
    for base, look in _OF_BASE.items():
        if issubclass(kind, base):
            return look
    if holds(module_of(kind)):
        return Reached._look_at_object
    is_iterator = kind.__flags__ & IMMUTABLE and issubclass(kind, collections.abc.Iterator)
    return Reached._look_at_iterator if is_iterator else None


@by_type
def _is_container(kind: type) -> bool:
    """Return whether the items of a type's objects are watched: tables of layers are watched with these."""
    return issubclass(kind, CONTAINERS) and str(module_of(kind)).partition(".")[0] not in ("paddle", "umiak")
