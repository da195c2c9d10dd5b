"""Going on after a failure: from the newest valid checkpoint, or from copies that other ranks keep in memory.

Peer copies (as in Gemini, Wang et al., SOSP 2023): each rank keeps a snapshot of its own blocks and one of its
successor's, ``(rank + 1) % size``. When one rank is lost, its predecessor still has its blocks, and nobody needs to
read a disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from umiak.checkpoint.commit import load_manifest, manifest_uids, newest
from umiak.checkpoint.data_model import Block
from umiak.checkpoint.dtypes import numpy_dtype
from umiak.checkpoint.errors import CheckpointError
from umiak.checkpoint.formats.safetensors import local_shape
from umiak.checkpoint.manifest import nbytes
from umiak.checkpoint.verify import check_files
from umiak.util.errors import op_error

_TAG = 7301


class Snapshot:
    """Blocks of one rank as of ``step``, in one piece of memory."""

    def __init__(self, rank: int, step: int, blocks: Iterable[Block], memory: np.ndarray | None = None) -> None:
        self.rank = rank
        self.step = step
        self.blocks = tuple(blocks)
        self.offsets = []
        end = 0
        for block in self.blocks:
            self.offsets.append(end)
            end += -(-nbytes(block) // 64) * 64
        self.nbytes = end
        if memory is None or memory.size < end:
            memory = np.empty(end, np.uint8)
        self.memory = memory

    def arrays(self) -> dict[Block, np.ndarray]:
        """The elements of each block: views of the snapshot's memory."""
        out = {}
        for block, offset in zip(self.blocks, self.offsets):
            raw = self.memory[offset : offset + nbytes(block)]
            out[block] = raw.view(numpy_dtype(block.dtype)).reshape(local_shape(block))
        return out


class PeerReplicas:
    """Snapshots of this rank's blocks and of its successor's, renewed by ``save`` on all ranks together.

    Two generations are kept, so that a rank lost in the middle of ``save`` leaves the former one whole everywhere.
    Memory: four times a rank's blocks.

    Args:
        group: the ranks (docs/design/comm.md); of at least two.
    """

    def __init__(self, group: Any) -> None:
        if group.size < 2:
            raise op_error(ValueError, "PeerReplicas", "a group of at least two ranks", f"one of {group.size}")
        self.group = group
        self.own: list[Snapshot] = []  # the newest last
        self.peer: list[Snapshot] = []

    @property
    def steps(self) -> list[int]:
        """The steps of which this rank has both its own blocks and its successor's."""
        return [s.step for s in self.own if any(p.step == s.step for p in self.peer)]

    def save(self, step: int, arrays: Mapping[Block, np.ndarray]) -> None:
        """Copy this rank's blocks, and exchange copies with the neighbours. Called by all ranks of the group."""
        group = self.group
        before, after = (group.rank - 1) % group.size, (group.rank + 1) % group.size
        own = Snapshot(group.rank, step, arrays, _spare(self.own))
        for block, into in own.arrays().items():
            np.copyto(into, arrays[block])
        tables = group.gather_objects((step, own.blocks))
        if any(other != step for other, _ in tables):
            steps = [other for other, _ in tables]
            raise op_error(ValueError, "PeerReplicas.save", "the same step on every rank", f"{steps}")
        received = Snapshot(after, step, tables[after][1], _spare(self.peer))
        tasks = []
        if own.nbytes:
            tasks.append(group.send(own.memory[: own.nbytes], before, _TAG))
        if received.nbytes:
            tasks.append(group.recv(received.memory[: received.nbytes], after, _TAG))
        for task in tasks:
            task.wait()
        self.own.append(own)
        self.peer.append(received)

    def restore(self, missing: int, group: Any = None) -> tuple[int, dict[Block, np.ndarray]]:
        """Every rank's own blocks as of the newest step that all have. Called by all ranks.

        The process that takes the place of rank ``missing`` calls this on a fresh object; its predecessor sends it the
        blocks. ``group`` is the group with the new process, where that is another one.

        Returns:
            The step, and this rank's arrays by block.

        Raises:
            CheckpointError: no step of which everything is left, since more ranks are lost than their copies.
        """
        group = self.group = group or self.group
        holder = (missing - 1) % group.size
        here = group.rank
        if here == missing:
            has: set[int] = set()
        else:
            has = {s.step for s in self.own}
        held = {s.step: s.blocks for s in self.peer} if here == holder else {}
        tables = group.gather_objects((has, held))
        steps = set(tables[holder][1])
        for rank, (own, _) in enumerate(tables):
            if rank != missing:
                steps &= own
        if not steps:
            got = f"own copies of {[sorted(t[0]) for t in tables]}, of rank {missing} {sorted(tables[holder][1])}"
            raise op_error(CheckpointError, "PeerReplicas.restore", "a step that every rank has", got)
        step = max(steps)
        if here == holder:
            copy = next(s for s in self.peer if s.step == step)
            if copy.nbytes:
                group.send(copy.memory[: copy.nbytes], missing, _TAG).wait()
        if here == missing:
            fresh = Snapshot(here, step, tables[holder][1][step])
            if fresh.nbytes:
                group.recv(fresh.memory[: fresh.nbytes], holder, _TAG).wait()
            self.own, self.peer = [fresh], []
        self.own = [s for s in self.own if s.step == step]
        self.peer = [s for s in self.peer if s.step == step]
        return step, self.own[0].arrays()


def _spare(snapshots: list[Snapshot]) -> np.ndarray | None:
    """The memory of the older of two generations, which is given up for it."""
    return snapshots.pop(0).memory if len(snapshots) == 2 else None


def resume(
    folder: str | os.PathLike[str],
    *,
    check: bool = False,
    report: Callable[[str], object] | None = None,
) -> int | None:
    """The uid of the newest valid checkpoint; None where there is none, as before the first save.

    Args:
        check: read all bytes and compare checksums, and fall back to an older checkpoint where they differ. By default
            manifests and the sizes of files decide.
        report: called with a line for every checkpoint that is passed over.
    """
    folder = os.fspath(folder)
    if not check and report is None:
        return newest(folder)
    for uid in reversed(manifest_uids(folder)):
        try:
            manifest = load_manifest(folder, uid)
        except (CheckpointError, OSError) as error:
            if report is not None:
                report(f"checkpoint {uid}: {error}")
            continue
        checked = check_files(folder, manifest, uid) if check else None
        if checked is None or checked.ok:
            return uid
        if report is not None:
            first = checked.bad[0]
            report(
                f"checkpoint {uid}: {os.path.join(folder, first.file)}: {first.key!r} is {first.state}, {first.detail}"
            )
    return None
