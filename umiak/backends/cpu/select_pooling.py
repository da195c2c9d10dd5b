"""Kernels of sums over windows and of their transpose: oneDNN's where it has one, else nests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu import nests, providers
from umiak.backends.cpu.registry import serves
from umiak.ops import window


@serves(window.WindowReduce, window.WindowSpread)
def kernel(call: Any) -> Kernel:
    """The kernel of a class of calls. Maxima are nests: the library's lose NaN."""
    nest = nests.kernel(call)
    op, meta = call.op, call.classes.metas[0]
    spread = isinstance(op, window.WindowSpread)
    rank = len(meta.shape)
    sums = spread or op.kind == "sum"
    if not sums or meta.dtype.name != "float32" or not 1 <= op.n <= 3 or rank != op.n + 2:
        return nest
    if "onednn" not in providers.available():
        return nest
    from umiak.backends.cpu.providers import pooling

    assert nest.dims is not None and nest.work is not None
    own = [*meta.shape, *call.strides(0), *call.outs[0].shape]
    work = nest.work
    state = pooling.LaunchState(spread, op.n, nest.address, nest.launch_self)

    def work_of_nest(operands: Sequence[Any], outs: Sequence[Any], dims: Sequence[int] | None) -> tuple[int, int]:
        return work(operands, outs, None if dims is None else dims[len(own) :])

    return Kernel(
        pooling.ADDRESS,
        state.pointer,
        keep=(state, nest),
        dims=[*own, *nest.dims],
        explain=nest.explain,
        name=f"{op.name} (onednn)",
        work=work_of_nest,
    )
