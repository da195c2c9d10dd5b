"""Loading 1 GB into another layout, by two processes, against ``torch.distributed.checkpoint`` over gloo.

Files are in the page cache, and lie in ``UMIAK_BENCH_DISK``, by default the current folder.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from checkpoint import disk
from measure import FEWEST, Settings, Spread
from ranks import RANKS, Job
from rows import Outcome, add_row, add_section, times, with_spread

RESHARD = add_section("checkpoint-reshard", "Loading 1 GB into another layout, two processes")
TENSORS = 64
# A layout: the axis along which both ranks hold parts; None where rank 0 has it all.
KINDS: dict[str, tuple[int | None, int | None, str]] = {
    "two-to-one": (0, None, "saved by two ranks in rows, loaded whole by one"),
    "one-to-two": (None, 0, "saved whole by one rank, loaded by two in rows"),
    "row-to-column": (0, 1, "saved by two ranks in rows, loaded by two in columns"),
}


def start(side: str) -> Callable[[str], float]:
    """Run in a rank: ``"save FOLDER ROWS COLUMNS AXIS"`` or ``"load FOLDER ROWS COLUMNS AXIS"``; gives the seconds."""
    warnings.simplefilter("ignore")
    save, load, values, barrier, rank = (_peer if side == "peer" else _ours)()

    def run(request: str) -> float:
        verb, folder, rows, columns, cut = request.split()
        shape = int(rows), int(columns)
        axis = None if cut == "None" else int(cut)
        if axis is None and rank:
            barrier()
            barrier()
            return 0.0
        state = values(shape, axis, fill=verb == "save")
        barrier()
        begin = time.perf_counter()
        (save if verb == "save" else load)(state, folder, axis is None)
        barrier()
        took = time.perf_counter() - begin
        if verb == "load":
            _check(values(shape, axis, fill=True), state)
        return took

    return run


def _numbers(key: int, shape: tuple[int, int], axis: int | None, rank: int, fill: bool) -> Any:
    """A rank's part of a matrix: counts, so that every element says where it belongs."""
    import numpy as np

    local = tuple(n // RANKS if i == axis else n for i, n in enumerate(shape))
    if not fill:
        return np.zeros(local, np.float32)
    r, c = (np.arange(n, dtype=np.float32) + (rank * n if i == axis else 0) for i, n in enumerate(local))
    return np.ascontiguousarray(r[:, None] * 7 + c[None] + key)


def _check(wanted: dict[str, Any], got: dict[str, Any]) -> None:
    for key, value in wanted.items():
        a, b = (getattr(v, "local_tensor", getattr(v, "_local_tensor", v)) for v in (value, got[key]))
        if not bool((a == b).all()):
            raise RuntimeError(f"[checkpoint_reshard] requires what was saved, got other values in {key}")


def _ours() -> tuple[Any, ...]:
    import paddle
    import paddle.distributed as dist

    alone = dist.new_group([0])
    rank = dist.get_rank()

    def values(shape: tuple[int, int], axis: int | None, fill: bool) -> dict[str, Any]:
        out = {}
        for i in range(TENSORS):
            local = paddle.to_tensor(_numbers(i, shape, axis, rank, fill))
            offset = tuple(rank * n if j == axis else 0 for j, n in enumerate(local.shape))
            out[f"w{i}"] = dist.ShardedWeight(f"w{i}", local, tuple(local.shape), shape, offset)
        return out

    def save(state: dict[str, Any], folder: str, whole: bool) -> None:
        dist.save_state_dict(state, folder, process_group=alone if whole else None)

    def load(state: dict[str, Any], folder: str, whole: bool) -> None:
        dist.load_state_dict(state, folder, process_group=alone if whole else None)

    return save, load, values, dist.barrier, rank


def _peer() -> tuple[Any, ...]:
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard

    mesh = init_device_mesh("cpu", (RANKS,))
    rank = dist.get_rank()

    def values(shape: tuple[int, int], axis: int | None, fill: bool) -> dict[str, Any]:
        local = {f"w{i}": torch.from_numpy(_numbers(i, shape, axis, rank, fill)) for i in range(TENSORS)}
        if axis is None:
            return local
        return {k: DTensor.from_local(v, mesh, [Shard(axis)]) for k, v in local.items()}

    def save(state: dict[str, Any], folder: str, whole: bool) -> None:
        dcp.save(state, checkpoint_id=folder, no_dist=whole)

    def load(state: dict[str, Any], folder: str, whole: bool) -> None:
        dcp.load(state, checkpoint_id=folder, no_dist=whole)

    return save, load, values, dist.barrier, rank


def measure(kind: str, settings: Settings) -> Outcome:
    before, after, _ = KINDS[kind]
    shape = (8, 64) if settings.check else (1024, 4096)
    found: tuple[list[float], list[float]] = ([], [])
    with disk() as folder:
        jobs = [Job("checkpoint_reshard", side, settings) for side in ("ours", "peer")]
        with jobs[0], jobs[1]:
            for job, name in zip(jobs, ("ours", "peer")):
                job.run(f"save {os.path.abspath(folder)}/{name} {shape[0]} {shape[1]} {before}")
            for i in range(1 if settings.check else FEWEST + 2):
                for which in (0, 1) if i % 2 else (1, 0):
                    name = ("ours", "peer")[which]
                    took = jobs[which].run(f"load {os.path.abspath(folder)}/{name} {shape[0]} {shape[1]} {after}")
                    if i or settings.check:
                        found[which].append(took)
    ours, other = found
    if settings.fastest:
        ours, other = [min(ours)], [min(other)]
    ratio = Spread.of([b / a for a, b in zip(ours, other)])
    return Outcome(with_spread(Spread.of(ours)), with_spread(Spread.of(other)), times(ratio), ratio.median >= 1.5,
                   ratio.median)  # fmt: skip


def enter() -> None:
    for kind, (_, _, what) in KINDS.items():
        add_row(f"reshard-{kind}", what, "PyTorch takes ≥ 1.5×", partial(measure, kind), RESHARD)


enter()
