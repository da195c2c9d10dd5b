"""Python objects as plain structures that two runs can be compared by: values, classes, and which objects are the same.

Everything that a program may change is looked at: items, attributes, cells of closures, gradients. An object that was
met before is a reference to that place, so that results which are arguments, or each other, are told from copies.
"""

from __future__ import annotations

import enum
import functools
import itertools
import re
import types
import weakref
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import paddle
from umiak.util.size import ElementCount

PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, range, type(...), type(NotImplemented))
VALUES = (tuple, frozenset, slice)  # which of two equal ones is there, does not matter
MOST_ITEMS = 8  # of an iterator, which may be endless
USUAL_TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float16": 4e-3, "bfloat16": 3e-2}


class Node(NamedTuple):
    """An object: the name of its class, and its parts by name."""

    kind: str
    parts: dict[str, Any]


class Array(NamedTuple):
    """Elements of a tensor or an array."""

    dtype: str
    values: np.ndarray


@dataclass(frozen=True)
class Reference:
    """An object that is elsewhere in the same snapshot."""

    path: str
    target: list[Node] = field(compare=False, repr=False)  # empty while it is taken apart


class Snapshot:
    """Takes objects apart. All that one instance sees is one graph of objects."""

    def __init__(self, package: str, last: bool = False) -> None:
        self._package = package  # whose classes and functions are the user's
        self._last = last  # iterators of the state may be used up, which the next call would see
        self._seen: dict[int, tuple[Any, Reference]] = {}

    def of(self, x: Any, path: str, closures: bool = False) -> Any:
        """The structure of ``x``, whose functions are taken apart if ``closures`` is true."""
        if isinstance(x, enum.Enum):
            return repr(x)
        if type(x) is ElementCount:  # an int, where sizes are open
            x = int(x)
        if type(x) in PLAIN:
            return x
        if hasattr(type(x), "dygraph_function"):
            return self.of(x.dygraph_function, path, closures)
        if isinstance(x, np.generic):
            return Node(type(x).__name__, {"value": Array(x.dtype.name, np.asarray(x))})
        if id(x) in self._seen:
            return self._seen[id(x)][1]
        reference = Reference(path, [])
        if type(x) not in VALUES:
            self._seen[id(x)] = x, reference  # the object is kept, so that its id stays its own
        kind = type(x).__name__
        try:
            parts = self._parts(x, closures)
        except Exception as error:  # a tensor that was left by a trace, an iterator that fails: a difference
            parts = {".unreadable": f"{type(error).__name__}: {error}"}
        node = Node(kind, {k: self.of(v, f"{path}{k}", closures) if _walks(v) else v for k, v in parts.items()})
        reference.target.append(node)
        return node

    def _parts(self, x: Any, closures: bool) -> dict[str, Any]:
        if isinstance(x, paddle.Tensor):
            return self._tensor(x)
        if isinstance(x, np.ndarray):
            return {"data": Array(x.dtype.name, x.copy())}
        if isinstance(x, paddle.nn.Layer):
            return self._layer(x)
        if isinstance(x, dict):
            pairs = enumerate(x.items())
            keyed = {f"[{k!r}]": v for k, v in x.items() if type(k) in PLAIN}
            whole = keyed if len(keyed) == len(x) else {f".items[{i}]": pair for i, pair in pairs}
            return whole | _attributes(x) | {".keys": Array("order", np.array([repr(k) for k in keyed]))}
        if isinstance(x, (list, tuple, deque)):
            return {f"[{i}]": v for i, v in enumerate(x)} | (_attributes(x) if type(x) is not tuple else {})
        if isinstance(x, (set, frozenset)):
            return {f"{{{i}}}": v for i, v in enumerate(sorted(x, key=repr))}
        if isinstance(x, BaseException):
            return {".args": x.args} | _attributes(x)
        if isinstance(x, slice):
            return {".start": x.start, ".stop": x.stop, ".step": x.step}
        if isinstance(x, functools.partial):
            return {".func": x.func, ".args": x.args, ".keywords": x.keywords}
        if isinstance(x, types.MethodType):
            return {".self": x.__self__, ".name": x.__func__.__name__}
        if isinstance(x, weakref.ref):
            return {"()": x()}
        if isinstance(x, type):
            return self._class(x)
        if isinstance(x, types.ModuleType):
            return {} if x.__spec__ is not None else _data(vars(x))
        if isinstance(x, types.FunctionType):
            return self._function(x, closures)
        if isinstance(x, Iterator):
            if closures and not self._last:
                return {}
            return {f"<{i}>": v for i, v in enumerate(itertools.islice(x, MOST_ITEMS))}
        if type(x).__module__.startswith(("paddle", "umiak")):
            return self._framework(x)
        return _attributes(x) if type(x).__module__.startswith(self._package) else {}

    @staticmethod
    def _tensor(x: Any) -> dict[str, Any]:
        dense = x.detach()
        dtype = str(dense.dtype).rpartition(".")[2]
        values = (dense.astype("float32") if dtype == "bfloat16" else dense).numpy()
        about = {".shape": tuple(x.shape), ".stop_gradient": x.stop_gradient, ".is_leaf": x.is_leaf}
        return about | {".data": Array(dtype, np.array(values)), ".grad": x.grad}

    @staticmethod
    def _layer(x: Any) -> dict[str, Any]:
        own = {k: v for k, v in vars(x).items() if not k.startswith("_") and k != "forward"}
        tables = {"._" + k: dict(vars(x)[f"_{k}"]) for k in ("parameters", "buffers", "sub_layers")}
        return {f".{k}": v for k, v in own.items()} | tables

    def _class(self, x: type) -> dict[str, Any]:
        if not x.__module__.startswith(self._package):
            return {".name": x.__qualname__}
        return {".name": x.__qualname__} | _data(vars(x))

    def _function(self, x: types.FunctionType, closures: bool) -> dict[str, Any]:
        found: dict[str, Any] = {".name": x.__name__}
        if closures and x.__module__ and x.__module__.startswith(self._package):
            for name, cell in zip(x.__code__.co_freevars, x.__closure__ or ()):
                try:
                    found[f".{name}"] = cell.cell_contents
                except ValueError:
                    found[f".{name}"] = "<nothing>"
            found |= {".defaults": x.__defaults__, ".kwdefaults": x.__kwdefaults__, ".dict": dict(vars(x))}
        return found

    @staticmethod
    def _framework(x: Any) -> dict[str, Any]:
        """Optimizers, schedules and scalers are what they would save, whatever numbers names have."""
        return _by_position(x.state_dict()) if hasattr(x, "state_dict") else {}


def _by_position(state: dict[str, Any]) -> dict[str, Any]:
    named = sorted(state.items(), key=lambda pair: re.sub(r"\d", "", str(pair[0])))
    return {f".state[{i}]": _by_position(v) if isinstance(v, dict) else v for i, (_, v) in enumerate(named)}


def _walks(x: Any) -> bool:
    return not isinstance(x, Array)


def _data(names: dict[str, Any]) -> dict[str, Any]:
    """Attributes of a class or module that are data."""
    skipped = (types.FunctionType, staticmethod, classmethod, property, types.ModuleType, type)
    return {
        f".{k}": v
        for k, v in names.items()
        if not k.startswith("__") and not isinstance(v, skipped) and not hasattr(v, "__get__") and not callable(v)
    }


def _attributes(x: Any) -> dict[str, Any]:
    found = dict(getattr(x, "__dict__", {}))
    for cls in type(x).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(x, name):
                found[name] = getattr(x, name)
    return {f".{k}": v for k, v in found.items() if not k.startswith("__static_")}


def differences(
    found: Any, wanted: Any, path: str, tolerance: float = 1.0, allowed: Collection[str] = ()
) -> Iterator[str]:
    """What one snapshot says otherwise than another one, a line each.

    ``allowed``: ``numbers`` may come as tensors of one element; ``copies``, equal objects in place of the same one;
    ``zeros``, gradients of zeros in place of none; ``sizes``, numbers in place of scalars of NumPy.
    """
    if "sizes" in allowed and type(found) in (int, float) and isinstance(wanted, Node):
        data = wanted.parts.get("value")
        wanted = type(found)(data.values) if isinstance(data, Array) else wanted
    if "numbers" in allowed and isinstance(wanted, (bool, int, float)) and isinstance(found, Node):
        data = found.parts.get(".data")
        if isinstance(data, Array) and data.values.size == 1:
            found = type(wanted)(data.values.item())
    if "zeros" in allowed and wanted is None and path.endswith(".grad") and isinstance(found, Node):
        data = found.parts[".data"].values
        found = None if not data.any() else found
    if "copies" in allowed and isinstance(wanted, Reference) != isinstance(found, Reference):
        found, wanted = _copied(found), _copied(wanted)
    if isinstance(wanted, Array) and isinstance(found, Array):
        yield from _array_differences(found, wanted, path, tolerance)
    elif type(found) is not type(wanted):
        yield f"{path}: {_short(found)} in place of {_short(wanted)}"
    elif isinstance(wanted, Node):
        if found.kind != wanted.kind:
            yield f"{path}: a {found.kind} in place of a {wanted.kind}"
            return
        for key in [*wanted.parts, *(k for k in found.parts if k not in wanted.parts)]:
            if key not in found.parts:
                yield f"{path}{key}: missing; {_short(wanted.parts[key])} is required"
            elif key not in wanted.parts:
                yield f"{path}{key}: {_short(found.parts[key])} in place of nothing"
            else:
                yield from differences(found.parts[key], wanted.parts[key], path + key, tolerance, allowed)
    elif isinstance(wanted, (float, complex)):
        if not np.isclose(found, wanted, rtol=2e-5 * tolerance, atol=1e-6 * tolerance, equal_nan=True):
            yield f"{path}: {found!r} in place of {wanted!r}"
    elif found != wanted:
        yield f"{path}: {_short(found)} in place of {_short(wanted)}"


def _copied(x: Any) -> Any:
    """What a copy has in common with the object that a reference leads to; a copy of a leaf is none."""
    if isinstance(x, Reference) and x.target:
        x = x.target[0]
    if isinstance(x, Node):
        return Node(x.kind, {k: v for k, v in x.parts.items() if k not in (".is_leaf", ".grad")})
    return x


def _array_differences(found: Array, wanted: Array, path: str, tolerance: float) -> Iterator[str]:
    if found.dtype != wanted.dtype:
        yield f"{path}: {found.dtype} in place of {wanted.dtype}"
    elif found.values.shape != wanted.values.shape:
        yield f"{path}: shape {found.values.shape} in place of {wanted.values.shape}"
    elif wanted.values.dtype.kind not in "fc":
        if not np.array_equal(found.values, wanted.values):
            yield f"{path}: {_short(found.values.tolist())} in place of {_short(wanted.values.tolist())}"
    else:
        most = USUAL_TOLERANCE.get(wanted.dtype, 2e-5) * tolerance
        if not np.allclose(found.values, wanted.values, rtol=most, atol=most, equal_nan=True):
            with np.errstate(invalid="ignore"):
                error = np.abs(found.values.astype("complex128") - wanted.values).max()
            yield (
                f"{path}: off by {error:.3g}: {_short(found.values.tolist())} in place of "
                f"{_short(wanted.values.tolist())}"
            )


def _short(x: Any) -> str:
    text = repr(x) if not isinstance(x, Node) else f"a {x.kind}"
    return text if len(text) <= 90 else text[:87] + "..."
