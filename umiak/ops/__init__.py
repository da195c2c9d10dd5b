"""Every op of the engine. ``from umiak import ops as F`` gives a strict function per op: ``F.softmax(x, axis=1)``."""

from __future__ import annotations

import importlib
import pkgutil
import typing  # as a whole: `Any` is an op

from umiak.ops.base import REGISTRY, Box, LocalShard, Op, Param, Sample, Saved, function, param, register

# Every module of this folder is a family of ops.
for _family in pkgutil.iter_modules(__path__):
    if _family.name not in ("base", "_common"):
        importlib.import_module(f"umiak.ops.{_family.name}")


_CLASSES = {cls.__name__: cls for cls in REGISTRY.values()}


def __getattr__(name: str) -> typing.Any:
    """Resolve ``F.softmax`` to the strict function and ``F.Softmax`` to the class."""
    value: typing.Any
    if name in REGISTRY:
        value = function(name)
    else:
        value = _CLASSES.get(name) or next((cls for cls in REGISTRY.values() if cls.__name__ == name), None)
    if value is None:
        raise AttributeError(f"umiak.ops has no op {name!r}")
    globals()[name] = value
    return value


__all__ = ["REGISTRY", "Box", "LocalShard", "Op", "Param", "Sample", "Saved", "function", "param", "register"]
