"""Whether what was loaded is what was saved: a walk over both."""

from __future__ import annotations

import argparse
import collections
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

import paddle


class Same:
    """Compares what was loaded with what was saved. ``arrays``: tensors come as arrays; ``shared``: what was one object
    is one again."""

    def __init__(self, saved: Any, arrays: bool, shared: bool = True) -> None:
        self.arrays = arrays
        self.shared = shared
        self.state = isinstance(saved, dict) and all(
            isinstance(v, paddle.Tensor)
            or (isinstance(v, dict) and not any(isinstance(x, paddle.Tensor) for x in parts(v)))
            for v in saved.values()
        )
        self.tensors = any(isinstance(x, paddle.Tensor) for x in parts(saved))
        self.met: dict[int, Any] = {}
        self.back: dict[int, int] = {}
        self.kept: list[Any] = []

    def differences(self, found: Any, wanted: Any, path: str) -> Iterator[str]:
        if isinstance(wanted, paddle.Tensor) or type(wanted) is np.ndarray:
            if self._first(found, wanted) if not self.state else True:
                yield from self._numbers(found, wanted, path)
            elif self.met[id(wanted)] is not found:
                yield f"{path}: another object"
            return
        kind = dict if self.state and not path else self._kind(wanted)
        if type(found) is not kind:
            yield f"{path}: a {type(found).__name__} in place of a {kind.__name__}"
            return
        if isinstance(wanted, (list, dict, collections.deque, argparse.Namespace, types.SimpleNamespace)):
            if not self._first(found, wanted):
                if self.met[id(wanted)] is not found:
                    yield f"{path}: another object than where it was before"
                return
            if self.shared and self.back.setdefault(id(found), id(wanted)) != id(wanted):
                yield f"{path}: one object for two"
        if isinstance(wanted, dict):
            if [(type(k), k) for k in found] != [(type(k), k) for k in wanted]:
                yield f"{path}: keys {list(found)} in place of {list(wanted)}"
                return
            for k in wanted:
                yield from self.differences(found[k], wanted[k], f"{path}[{k!r}]")
            if isinstance(found, collections.defaultdict) and found.default_factory is not wanted.default_factory:
                yield f"{path}: another default_factory"
        elif isinstance(wanted, (list, tuple, collections.deque)):
            if len(found) != len(wanted) or getattr(found, "maxlen", 0) != getattr(wanted, "maxlen", 0):
                yield f"{path}: {len(found)} items in place of {len(wanted)}"
                return
            for i, (f, w) in enumerate(zip(found, wanted)):
                yield from self.differences(f, w, f"{path}[{i}]")
        elif isinstance(wanted, (argparse.Namespace, types.SimpleNamespace)):
            yield from self.differences(vars(found), vars(wanted), path + ".__dict__")
        elif repr(found) != repr(wanted) and not (isinstance(wanted, (set, frozenset)) and found == wanted):
            yield f"{path}: {found!r:.60} in place of {wanted!r:.60}"

    def _first(self, found: Any, wanted: Any) -> bool:
        """Whether an object is met for the first time, as far as that counts."""
        if not self.shared:
            return True
        if id(wanted) in self.met:
            return False
        self.met[id(wanted)] = found
        self.kept += [found, wanted]
        return True

    @staticmethod
    def _kind(x: Any) -> type:
        if isinstance(x, tuple) and not hasattr(x, "_fields"):
            return tuple
        return list if isinstance(x, list) else type(x)

    def _numbers(self, found: Any, wanted: Any, path: str) -> Iterator[str]:
        tensor = isinstance(wanted, paddle.Tensor)
        # Arrays are tensors where no tensor says its name, as far as tensors have their dtype.
        taken = wanted.dtype not in (np.uint32, "U3", "S2") and (self.state or not self.tensors)
        as_tensor = (tensor or taken) and not self.arrays
        if isinstance(found, paddle.Tensor) != as_tensor:
            yield f"{path}: a {type(found).__name__}"
            return
        if tensor and as_tensor and (found.name, found.stop_gradient) != (wanted.name, True):
            yield f"{path}: the name {found.name} in place of {wanted.name}"
        values, given = plain(found), plain(wanted)
        if self.arrays and given.dtype == paddle.bfloat16.numpy:
            given = given.view(np.uint16)
        if values.dtype != given.dtype or values.shape != given.shape or values.tobytes() != given.tobytes():
            told = [f"{a.dtype}{a.shape} {a.tolist()!r:.60}" for a in (values, given)]
            yield f"{path}: {told[0]} in place of {told[1]}"


def plain(x: Any) -> np.ndarray:
    return np.array(x.detach().numpy() if isinstance(x, paddle.Tensor) else x)


def parts(x: Any) -> Iterator[Any]:
    """``x`` and all that is in it, each once."""
    left, seen = [x], {id(x)}
    while left:
        x = left.pop()
        yield x
        inside = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple, collections.deque)) else ()
        if isinstance(x, (argparse.Namespace, types.SimpleNamespace)):
            inside = vars(x).values()
        for v in inside:
            if id(v) not in seen:
                seen.add(id(v))
                left.append(v)
