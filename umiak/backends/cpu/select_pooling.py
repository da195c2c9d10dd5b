"""Kernels of sums and means over windows and of the sums' transpose: oneDNN's where it has one, else nests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu import nests, providers
from umiak.backends.cpu.registry import serves
from umiak.ops import window


@serves(window.WindowReduce, window.WindowSpread)
def kernel(call: Any) -> Kernel:
    """The kernel of a class of calls. Maxima are nests: the library's lose NaN."""
    nest = nests.kernel(call)
    op = call.op
    spread = isinstance(op, window.WindowSpread)
    if (spread or op.kind == "sum") and _served(call):
        return _library(call, "spread" if spread else "sum", nest)
    return nest


@serves(window.AvgPool)
def mean(call: Any) -> Kernel | None:
    """The kernel of means over windows without pads; None elsewhere: its decomposition counts what is in a window."""
    op = call.op
    if op.padded or not call.symbolic or not _served(call):
        return None
    # Sums have the same params, but for the last one.
    classes = replace(call.classes, params=call.classes.params[:-1])
    sums = replace(call, op=window.WindowReduce(op.n, "sum"), classes=classes, traced=None)
    return _library(call, "mean", nests.kernel(sums))


def _served(call: Any) -> bool:
    meta = call.classes.metas[0]
    rank = len(meta.shape)
    right = meta.dtype.name == "float32" and 1 <= call.op.n <= 3 and rank == call.op.n + 2
    return right and "onednn" in providers.available()


def _library(call: Any, kind: str, nest: Kernel) -> Kernel:
    """The library's kernel; ``nest`` takes what the library does not."""
    from umiak.backends.cpu.providers import pooling

    assert nest.dims is not None and nest.work is not None
    own = [*call.classes.metas[0].shape, *call.strides(0), *call.outs[0].shape]
    work = nest.work
    state = pooling.LaunchState(kind, call.op.n, nest.address, nest.launch_self)

    def work_of_nest(operands: Sequence[Any], outs: Sequence[Any], dims: Sequence[int] | None) -> tuple[int, int]:
        return work(operands, outs, None if dims is None else dims[len(own) :])

    return Kernel(
        pooling.ADDRESS,
        state.pointer,
        keep=(state, nest),
        dims=[*own, *nest.dims],
        explain=nest.explain,
        name=f"{call.op.name} (onednn)",
        work=work_of_nest,
    )
