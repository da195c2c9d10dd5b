"""Python state that functions can reach, as it was at one time: what has changed since, and how it is put back.

Branches and loops on tensors are traced: what a function changes that they call would change once, on both ways, or as
often as a body is traced. The text of a statement does not name it. A simulation sees each write; where functions run,
the state is compared: variables of closures and modules, attributes of the user's objects and classes, containers,
arrays of NumPy, iterators, and generators of random numbers.
"""

from __future__ import annotations

import array
import collections
import contextvars
import functools
import gc
import io
import itertools
import operator
import random
import sys
import types
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from paddle.jit.source.convert import HELPERS
from paddle.jit.source.places import Attribute, Cell, Contents, Global, Item, Place
from paddle.jit.source.world import ABSENT
from paddle.nn.layer._registry import CHANGES, TABLES
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym

_LIBRARY = {"paddle", "umiak", "numpy", "scipy", *sys.stdlib_module_names} - {"__main__"}
_NUMBERS = (int, float, complex, bool, str, bytes)
_CONSTANTS = frozenset((*_NUMBERS, type(None), type(Ellipsis), slice, range, CodeType, Sym, np.dtype))
# Modules whose objects hold what is the user's.
_HOLDERS = frozenset(("_thread", "argparse", "collections", "queue", "types", "weakref"))
_OF_LAYERS = frozenset(vars(Layer())) - {"training"}  # which layers have by themselves
_MOST_ITEMS = 4096  # of a container that are looked into
_BUFFERS = (bytearray, array.array, memoryview, io.StringIO, io.BytesIO)
_CONTAINERS = (list, dict, set, collections.deque)
_COUNTING = (itertools.count, itertools.repeat)
COMPOSED = (enumerate, zip, map, filter, *(x for x in vars(itertools).values() if isinstance(x, type)))

_Origin = tuple[Any, str]  # what holds a value, and how it is reached from there


class _Watched:
    """An object whose state is kept. ``state``: as :meth:`now` gives it."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.state = self.now()

    def now(self) -> Any:
        raise NotImplementedError

    def changes(self, name: Callable[[Any], str]) -> Iterator[Place | str]:
        """Yield what has changed: places, or words."""
        raise NotImplementedError

    def restore(self) -> None:
        """Put back what was there, as far as it can be."""


class _Names(_Watched):
    """Values by name. ``owner``: what has them."""

    def changes(self, name: Callable[[Any], str]) -> Iterator[Place | str]:
        now = self.now()
        for key in dict.fromkeys((*self.state, *now)):
            if not _is_same(self.state.get(key, ABSENT), now.get(key, ABSENT)):
                yield self.place(key, name)

    def place(self, key: str, name: Callable[[Any], str]) -> Place:
        return Attribute(f"{name(self.owner)}.{key}", self.owner, key)

    def restore(self) -> None:
        now = self.now()
        for key in dict.fromkeys((*self.state, *now)):
            old = self.state.get(key, ABSENT)
            if old is not now.get(key, ABSENT):
                self.put(key, old)

    def put(self, key: str, value: Any) -> None:
        own = getattr(self.owner, "__dict__", None)
        if type(own) is dict and key not in _slots_of(type(self.owner)):  # type: ignore[arg-type]
            if value is ABSENT:
                own.pop(key, None)
            else:
                own[key] = value
            return
        setter, deleter = object.__setattr__, object.__delattr__
        if isinstance(self.owner, type):
            setter, deleter = type.__setattr__, type.__delattr__
        if value is ABSENT:
            deleter(self.owner, key)
        else:
            setter(self.owner, key, value)


class _Variable(_Names):
    """A variable of a closure."""

    def __init__(self, owner: CellType, name: str) -> None:
        self.name = name
        super().__init__(owner)

    def now(self) -> dict[str, Any]:
        try:
            return {self.name: self.owner.cell_contents}
        except ValueError:
            return {}

    def place(self, key: str, name: Callable[[Any], str]) -> Place:
        return Cell(key, self.owner)

    def put(self, key: str, value: Any) -> None:
        if value is ABSENT:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value


class _OfModule(_Names):
    """Variables of a module that the code of functions names."""

    def __init__(self, owner: dict[str, Any], names: Iterable[str]) -> None:
        self.names = tuple(names)
        super().__init__(owner)

    def now(self) -> dict[str, Any]:
        return {n: self.owner[n] for n in self.names if n in self.owner}

    def place(self, key: str, name: Callable[[Any], str]) -> Place:
        return Global(key, self.owner)

    def put(self, key: str, value: Any) -> None:
        if value is ABSENT:
            self.owner.pop(key, None)
        else:
            self.owner[key] = value


class _Object(_Names):
    """Attributes of an object, function or class."""

    def now(self) -> dict[str, Any]:
        return attributes_of(self.owner)


class _Layer(_Object):
    """Attributes of a layer, parameters and buffers among them."""

    def __init__(self, owner: Layer) -> None:
        super().__init__(owner)
        self.count = CHANGES[0]
        self.tables = [dict(vars(owner)[t]) for t in TABLES]

    def changes(self, name: Callable[[Any], str]) -> Iterator[Place | str]:
        return iter(()) if self.count == CHANGES[0] else super().changes(name)

    def restore(self) -> None:
        if self.count == CHANGES[0]:
            return
        own, now = vars(self.owner), self.now()
        if len(now) == len(self.state) and all(now[k] is v for k, v in self.state.items() if k in now):
            return
        CHANGES[0] += 1
        for table, items in zip(TABLES, self.tables, strict=True):
            if not _are_same(own[table], items):
                own[table].clear()
                own[table].update(items)
        super().restore()


class _Container(_Watched):
    """Items of a list, dict, set or deque. ``holders``: places that hold it."""

    def __init__(self, owner: Any) -> None:
        self.holders: list[Any] = []
        super().__init__(owner)

    def now(self) -> tuple[Any, ...]:
        x = self.owner
        return (*x.keys(), *x.values()) if isinstance(x, dict) else tuple(x)

    def changes(self, name: Callable[[Any], str]) -> Iterator[Place | str]:
        if not _are_equal(self.state, self.now()):
            x = self.owner
            if type(x) in (list, set, collections.deque) or isinstance(x, dict):
                place = Contents(name(x), x)
                place.holders += self.holders
                yield place
            else:
                yield f"{name(x)!r}"

    def restore(self) -> None:
        now, old, x = self.now(), self.state, self.owner
        if len(now) == len(old) and all(map(operator.is_, now, old)):
            return
        x.clear()
        if isinstance(x, dict):
            n = len(old) // 2
            update = collections.OrderedDict.update if isinstance(x, collections.OrderedDict) else dict.update
            update(x, zip(old[:n], old[n:], strict=True))
        elif isinstance(x, set):
            x.update(old)
        else:
            x.extend(old)


class _Token(_Watched):
    """An object whose state can be compared, and is not put back. ``state_of``: gives it."""

    def __init__(self, owner: Any, state_of: Callable[[Any], Any], what: str = "") -> None:
        self.state_of, self.what = state_of, what
        super().__init__(owner)

    def now(self) -> Any:
        return self.state_of(self.owner)

    def changes(self, name: Callable[[Any], str]) -> Iterator[Place | str]:
        if self.now() != self.state:
            yield f"{self.what} ({name(self.owner)!r})" if self.owner is not None else self.what


class _OfContext(_Watched):
    """The value of a context variable."""

    def now(self) -> Any:
        return self.owner.get(None)

    def changes(self, name: Callable[[Any], str]) -> Iterator[Place | str]:
        if not _is_same(self.state, self.now()):
            yield f"the context variable {self.owner.name!r}"


class _Array(_Watched):
    """Elements of an array of NumPy."""

    def now(self) -> Any:
        x = np.asarray(self.owner)  # of sizes: the symbols, of which it tells the dtype that numbers would have
        if x.dtype.hasobject:
            return tuple(x.flat)
        return x.shape, x.dtype.str, zlib.crc32(np.ascontiguousarray(x).view(np.uint8).data) if x.size else 0

    def changes(self, name: Callable[[Any], str]) -> Iterator[Place | str]:
        now = self.now()
        same = _are_equal(self.state, now) if np.asarray(self.owner).dtype.hasobject else now == self.state
        if not same:
            yield f"the array {name(self.owner)!r} of NumPy"


def attributes_of(x: Any) -> dict[str, Any]:
    """The attributes that an object has by itself: those of a layer that are the user's; of a class no functions."""
    kind = type(x)
    own = getattr(x, "__dict__", None)
    if isinstance(x, type):
        return {k: v for k, v in own.items() if k[:2] != "__" and not hasattr(v, "__get__")}  # type: ignore[union-attr]
    if isinstance(x, Layer):
        return {k: v for k, v in own.items() if k not in _OF_LAYERS}  # type: ignore[union-attr]
    out = dict(own) if type(own) is dict else {}
    if isinstance(x, Tensor):
        return out  # what else it has is the tracer's
    for name in _slots_of(kind):  # type: ignore[arg-type]
        value = getattr(x, name, ABSENT)
        if value is not ABSENT:
            out[name] = value
    return out


@functools.lru_cache(maxsize=4096)
def _slots_of(kind: type) -> tuple[str, ...]:
    out = []
    for c in kind.__mro__:
        names = vars(c).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{c.__name__.lstrip('_')}{name}"
            if name not in ("__dict__", "__weakref__"):
                out.append(name)
    return tuple(out)


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and type(a) in _NUMBERS and bool(a == b))


def _are_same(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    return len(a) == len(b) and all(k in b and b[k] is v for k, v in a.items())


def _are_equal(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) == len(b) and all(map(_is_same, a, b))


def is_library(module: Any) -> bool:
    """Return whether the objects and functions of a module are none of the user's."""
    return not isinstance(module, str) or module.partition(".")[0] in _LIBRARY


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in ("paddle", "umiak")


def _is_users(f: FunctionType) -> bool:
    return not is_library(f.__globals__.get("__name__")) or f.__code__.co_filename.startswith("<doctest")


@functools.lru_cache(maxsize=4096)
def _names_in(code: CodeType) -> frozenset[str]:
    """The names of a module's variables, or of attributes, in code and the functions inside of it."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return frozenset(code.co_names).union(*map(_names_in, inner))


def position(x: Any) -> Any:
    """Return how far an iterator of Python's has gone."""
    if isinstance(x, types.GeneratorType):
        return None if x.gi_frame is None else x.gi_frame.f_lasti
    if not isinstance(x, COMPOSED):
        return operator.length_hint(x, -1)
    if isinstance(x, _COUNTING):
        return repr(x)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _positions(x.__reduce__())
    except TypeError:  # those of itertools have none in newer Pythons
        return _positions(gc.get_referents(x))


def _positions(those: Any) -> tuple[Any, ...]:
    out: list[Any] = []
    for x in those if isinstance(those, (tuple, list)) else ():
        if isinstance(x, tuple):
            out.append(_positions(x))
        elif isinstance(x, collections.abc.Iterator):
            out.append(position(x))
        elif type(x) in _NUMBERS:
            out.append(x)
    return tuple(out)


def _buffered(x: Any) -> Any:
    """The contents of what holds bytes or text."""
    return (x.getvalue(), x.tell()) if hasattr(x, "getvalue") else bytes(x)


def _of_python(_: Any) -> Any:
    return random.getstate()


def _of_numpy(_: Any) -> Any:
    return _in_numpy(np.random)


def _in_numpy(r: Any) -> Any:
    """The state of random numbers of NumPy's older kind."""
    state = r.get_state(legacy=False)
    parts = {**state, **state["state"]}
    return [(k, v.tobytes() if isinstance(v, np.ndarray) else v) for k, v in parts.items() if type(v) is not dict]


class Tree(NamedTuple):
    """A layer and those inside of it, as long as ``version`` stands: their attributes, and what these lead to."""

    version: int
    layers: dict[int, Layer]
    watched: list[_Watched]
    values: list[tuple[Any, _Origin, Any]]


def _tree_of(root: Layer) -> Tree:
    tree = Tree(CHANGES[0], {}, [], [])
    left = [root]
    while left:
        x = left.pop()
        if id(x) in tree.layers:
            continue
        tree.layers[id(x)] = x
        own, kind = vars(x), type(x)
        left += [below for below in own["_sub_layers"].values() if below is not None]
        for hooks in (own["_forward_pre_hooks"], own["_forward_post_hooks"]):
            tree.values.extend((hook, (None, "a hook"), None) for hook in hooks.values())
        watched = _Layer(x)
        tree.watched.append(watched)
        tree.values.append((kind, (None, kind.__name__), None))
        for name, value in watched.state.items():
            if type(value) not in _CONSTANTS and not isinstance(value, (Tensor, Layer)):
                holder = Attribute(f"{kind.__name__}.{name}", x, name)
                tree.values.append((value, (x, f".{name}"), holder))
    return tree


class Reached:
    """The state of what can be reached from ``roots``: values with the names that they have. ``trees``: of layers, for
    whoever asks again."""

    def __init__(self, roots: Iterable[tuple[str, Any]], trees: dict[int, Tree]) -> None:
        self._trees = trees
        self._watched: list[_Watched] = [
            _Token(None, _of_python, "the random numbers of Python"),
            _Token(None, _of_numpy, "the random numbers of NumPy"),
        ]
        self._origins: dict[int, _Origin] = {}
        self._spaces: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._containers: dict[int, _Container] = {}
        self._left: list[Any] = []
        self._seen: dict[int, Any] = {id(HELPERS): HELPERS}  # by id, which stays theirs
        for name, x in roots:
            self._enter(x, (None, name))
        while self._left:
            self._look(self._left.pop())
        self._watched += [_OfModule(space, names) for space, names in self._spaces.values()]

    def changes(self) -> list[Place | str]:
        """Return what has changed since, as places, or in words where it cannot be put back."""
        return [change for x in self._watched for change in x.changes(self._name)]

    def restore(self) -> None:
        """Put back what can be."""
        for x in self._watched:
            x.restore()

    def restore_where(self, is_gone: Callable[[Any], bool]) -> None:
        """Put back what holds values that are no longer of use."""
        for x in self._watched:
            now = x.now()
            values = now.values() if isinstance(now, dict) else now if isinstance(x, _Container) else ()
            if any(map(is_gone, values)):
                x.restore()

    def _name(self, x: Any) -> str:
        """Return words for an object: how it was reached."""
        holder, step = self._origins.get(id(x), (None, type(x).__name__))
        return step if holder is None else f"{self._name(holder)}{step}"

    def _enter(self, x: Any, origin: _Origin, holder: Any = None) -> None:
        if type(x) in _CONSTANTS or isinstance(x, ModuleType):
            return
        if id(x) not in self._seen:
            self._seen[id(x)] = x
            self._origins[id(x)] = origin
            if isinstance(x, Tensor):
                if x.__dict__:
                    self._watched.append(_Object(x))
                return
            self._left.append(x)
            if isinstance(x, _CONTAINERS) and not _is_ours(type(x)):
                self._containers[id(x)] = _Container(x)
                self._watched.append(self._containers[id(x)])
        if holder is not None and type(x) is list:
            self._containers[id(x)].holders.append(holder)

    def _look(self, x: Any) -> None:
        kind = type(x)
        if isinstance(x, (*_CONTAINERS, tuple, frozenset)):
            self._look_into(x)
        elif kind is FunctionType:
            self._look_at_function(x)
        elif kind is MethodType:
            self._enter(x.__func__, (None, x.__func__.__name__))
            self._enter(x.__self__, (None, type(x.__self__).__name__))
        elif kind is functools.partial:
            for inner in (x.func, *x.args, *x.keywords.values()):
                self._enter(inner, (x, ""))
        elif kind in (BuiltinFunctionType, MethodWrapperType):
            self._enter(x.__self__, (x, ""))
        elif kind in (staticmethod, classmethod):
            self._enter(x.__func__, (x, ""))
        elif kind is property:
            for f in (x.fget, x.fset):
                self._enter(f, (x, ""))
        elif isinstance(x, np.ndarray):
            self._watched.append(_Array(x))
            if x.dtype.hasobject and x.size <= _MOST_ITEMS:
                for item in x.flat:
                    self._enter(item, (x, "[...]"))
        elif isinstance(x, type):
            if not is_library(x.__module__):
                self._look_at_class(x)
        elif isinstance(x, Layer):
            self._look_at_layer(x)
        elif isinstance(x, random.Random):
            self._watched.append(_Token(x, lambda r: r.getstate(), "random numbers"))
        elif isinstance(x, np.random.Generator):
            self._watched.append(_Token(x, lambda r: repr(r.bit_generator.state), "random numbers"))
        elif isinstance(x, np.random.RandomState):
            self._watched.append(_Token(x, _in_numpy, "random numbers"))
        elif isinstance(x, contextvars.ContextVar):
            self._watched.append(_OfContext(x))
        elif isinstance(x, weakref.ref):
            self._enter(x(), (x, ""))
        elif isinstance(x, _BUFFERS):
            self._watched.append(_Token(x, _buffered, kind.__name__))
        elif isinstance(x, collections.abc.Iterator) and is_library(kind.__module__):
            self._look_at_iterator(x)
        elif kind.__name__ == "_lru_cache_wrapper":
            self._enter(x.__wrapped__, (None, x.__wrapped__.__name__))
        elif not is_library(kind.__module__) or kind.__module__ in _HOLDERS:
            self._look_at_object(x)

    def _look_into(self, x: Any) -> None:
        if len(x) > _MOST_ITEMS:
            return
        mutable = type(x) in (list, dict)
        items = x.items() if isinstance(x, dict) else enumerate(x)
        for key, item in items:
            if type(item) not in _CONSTANTS:
                step = f"[{key!r}]" if type(key) in (int, str) else "[...]"
                self._enter(item, (x, step), Item(x, key) if mutable else None)
        if not is_library(type(x).__module__):
            self._look_at_object(x)

    def _look_at_function(self, f: FunctionType) -> None:
        names = f.__code__.co_freevars
        for name, cell in zip(names, f.__closure__ or (), strict=True):
            if id(cell) not in self._seen:
                self._seen[id(cell)] = cell
                variable = _Variable(cell, name)
                self._watched.append(variable)
                for value in variable.state.values():
                    self._enter(value, (None, name), Cell(name, cell))
        if not _is_users(f):
            return
        for value in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
            self._enter(value, (None, f"a default argument of {f.__name__}"))
        if f.__dict__:
            self._look_at_object(f)
        self.look_at_code(f.__code__, f.__globals__)

    def look_at_code(self, code: CodeType, space: dict[str, Any]) -> None:
        """Take in the variables of a module that code names."""
        names = _names_in(code)
        known = self._spaces.setdefault(id(space), (space, set()))[1]
        for name in names - known:
            known.add(name)
            value = space.get(name, ABSENT)
            if isinstance(value, ModuleType) and not is_library(value.__name__):
                self._look_at_module(value, names)
            elif value is not ABSENT:
                self._enter(value, (None, name), Global(name, space))

    def _look_at_module(self, module: ModuleType, names: Iterable[str]) -> None:
        space = vars(module)
        known = self._spaces.setdefault(id(space), (space, set()))[1]
        for name in known.symmetric_difference(names).intersection(names):
            if name in space:
                known.add(name)
                self._enter(space[name], (None, f"{module.__name__}.{name}"), Global(name, space))

    def _look_at_object(self, x: Any) -> None:
        watched = _Object(x)
        self._watched.append(watched)
        for name, value in watched.state.items():
            self._enter(value, (x, f".{name}"), Attribute(f"{type(x).__name__}.{name}", x, name))
        if not isinstance(x, FunctionType):
            self._enter(type(x), (None, type(x).__name__))

    def _look_at_layer(self, x: Layer) -> None:
        tree = self._trees.get(id(x))
        if tree is None or tree.version != CHANGES[0]:
            tree = self._trees[id(x)] = _tree_of(x)
        self._seen.update(tree.layers)
        self._watched += tree.watched
        for value, origin, holder in tree.values:
            self._enter(value, origin, holder)

    def _look_at_class(self, x: type) -> None:
        watched = _Object(x)
        self._watched.append(watched)
        for name, value in vars(x).items():
            if name[:2] != "__" or isinstance(value, FunctionType):
                self._enter(value, (x, f".{name}"))
        for base in x.__bases__:
            self._enter(base, (None, base.__name__))

    def _look_at_iterator(self, x: Any) -> None:
        self._watched.append(_Token(x, position, "an iterator"))
        if isinstance(x, types.GeneratorType):
            if x.gi_frame is not None:
                for name, value in dict(x.gi_frame.f_locals).items():
                    self._enter(value, (x, "") if name.startswith(".") else (None, name))
                self.look_at_code(x.gi_code, x.gi_frame.f_globals)
            return
        for inner in gc.get_referents(x):
            self._enter(inner, (x, ""))
