"""The reference backend: every primitive in NumPy, on the memory of the host.

It defines what the ops mean: other backends are tested against it.
Kernels live in the modules of this package, one per family of ops, and enter the table in :mod:`.registry`.
"""

from __future__ import annotations

import contextvars
import functools
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from umiak.backends.base import Backend, Kernel
from umiak.backends.ref.registry import KERNELS, RefKernel
from umiak.core import storage
from umiak.core.dtype import convert
from umiak.core.place import Place
from umiak.memory import caching
from umiak.util.dtypes import cast_array


def _error_state() -> tuple[contextvars.ContextVar | None, Any]:
    """Return the variable of NumPy's error state, and the state in which everything is ignored.

    Overflow, NaN and division by zero are ordinary values of our ops. ``np.errstate`` takes as long as a small kernel,
    setting the variable behind it a quarter. NumPy 2 does not name the variable, but a context shows what changes;
    NumPy 1 has none.
    """
    context = contextvars.copy_context()
    context.run(np.seterr, all="ignore")
    for variable, value in context.items():
        if variable.name == "numpy.ufunc.extobj":
            return variable, value
    return None, None


_variable, _quiet = _error_state()


def quietly(fn: Callable[..., None]) -> Callable[..., None]:
    """``fn`` with floating-point warnings off."""
    if _variable is None:

        def run_in_state(op: Any, outs: list, ins: list, params: tuple) -> None:  # not errstate's own decorator: one
            with np.errstate(all="ignore"):  # object of it would serve all threads
                fn(op, outs, ins, params)

        return run_in_state
    variable, quiet = _variable, _quiet

    def run(op: Any, outs: list, ins: list, params: tuple) -> None:
        token = variable.set(quiet)
        try:
            fn(op, outs, ins, params)
        finally:
            variable.reset(token)

    return run


def compute_dtype(dtype: np.dtype) -> np.dtype | None:
    """Return the dtype that a kernel that is not raw sees instead of ``dtype``; None when it sees it as it is."""
    d = convert(dtype)
    return None if d.compute is d else d.compute.numpy


class Runner:
    """One NumPy kernel on one class of operands, called as ``run(op, outs, ins, params)``."""

    def __init__(self, entry: RefKernel, metas: Sequence[Any]) -> None:
        self.fn = entry.fn
        self.returns = entry.returns
        self.raw = entry.raw
        self.casts_in: list[tuple[int, np.dtype]] = []
        self.casts_out: list[np.dtype | None] | None = None  # known from the first call on
        self.plain = False  # one output, written in place, nothing to cast
        if not entry.raw:
            for i, m in enumerate(metas):
                if m is not None and m.dtype is not None and m.dtype.compute is not m.dtype:
                    self.casts_in.append((i, m.dtype.compute.numpy))

    def run(self, op: Any, outs: list, ins: list, params: tuple) -> None:
        if self.plain:
            self.fn(op, outs[0], *ins, *params)
            return
        many = op.multiple(len(outs))
        if self.casts_out is None:
            self.casts_out = [None if self.raw else compute_dtype(out.dtype) for out in outs]
            casting = bool(self.casts_in) or any(dtype is not None for dtype in self.casts_out)
            self.plain = not (many or self.returns or casting)
        if self.casts_in:
            ins = list(ins)
            for i, dtype in self.casts_in:
                ins[i] = ins[i].astype(dtype)
        if self.returns:
            results = self.fn(op, *ins, *params)
            for out, value in zip(outs, results if many else (results,), strict=True):
                if np.shape(value) != out.shape:
                    text = f"[{op.name}] the NumPy kernel must return shape {out.shape}, got {np.shape(value)}"
                    raise RuntimeError(text)
                out[...] = cast_array(np.asarray(value), out.dtype)
            return
        casts = zip(outs, self.casts_out, strict=True)
        targets = [out if dtype is None else np.empty(out.shape, dtype) for out, dtype in casts]
        self.fn(op, tuple(targets) if many else targets[0], *ins, *params)
        for out, target in zip(outs, targets, strict=True):
            if target is not out:
                out[...] = cast_array(target, out.dtype)


@functools.cache
def load() -> None:
    """Import the modules of kernels."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


class RefBackend(Backend):
    name = "ref"
    device_type = "cpu"
    priority = -100  # any other backend of the cpu goes first, and this one serves what that has no kernel for

    def _find(self, op: Any) -> RefKernel | None:
        load()
        return KERNELS.get(type(op))

    def allocator(self, place: Place) -> storage.Allocator:
        return caching.host_allocator(place.index)

    def kernel(self, call: Any) -> Kernel | None:
        entry = self._find(call.op)
        if entry is None:
            return None
        return Kernel(run=quietly(Runner(entry, call.metas).run))

    def supports(self, op: Any) -> bool:
        return self._find(op) is not None


backend = RefBackend()
