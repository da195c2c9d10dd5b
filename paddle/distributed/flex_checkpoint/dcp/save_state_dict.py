"""Saving what all ranks hold, each block once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from paddle._public import public
from paddle.distributed.flex_checkpoint.dcp.sharded_weight import ShardedWeight
from paddle.distributed.flex_checkpoint.dcp.utils import comm_group, on_host, weights_of
from umiak.checkpoint.async_save import AsyncSaver, Handle, Job
from umiak.checkpoint.commit import Saving
from umiak.checkpoint.data_model import Block, Stored, TensorInfo
from umiak.checkpoint.execute import targets_of, together
from umiak.checkpoint.replicas import SPLIT, Save, plan_save
from umiak.comm import Group
from umiak.core import context
from umiak.util.errors import op_error


@public("paddle.distributed")
def save_state_dict(
    state_dict: Mapping[str, Any],
    path: str,
    process_group: Any = None,
    coordinator_rank: int = 0,
    unique_id: int | None = None,
    async_save: bool = False,
    safetensors: bool = False,
    save_replicas: bool = False,
) -> Any:
    """Save a state dict of all ranks into a folder, as checkpoint ``unique_id`` of it.

    The checkpoint is there, whole, once the call returns (or the handle says so): data are on disk before the manifest
    gets its name. Ranks that hold the same block share out the work, balanced by bytes.

    Args:
        state_dict: tensors by name, of which all ranks have the same (replicated), or ``ShardedWeight`` by name. Dicts
            may be nested; their keys are joined with dots.
        path: a folder that all ranks share. Ranks may have folders of their own, if not all of them save in the
            background and those that load see all files together.
        process_group: the ranks that save together; all by default.
        coordinator_rank: the rank of the group that numbers and completes the checkpoint.
        unique_id: the number of the checkpoint in its folder, which has no such one yet; by default one more than the
            largest there.
        async_save: copy the tensors, return, and write in the background.
        safetensors: write ``.safetensors`` files, in which large replicated tensors are not cut either.
        save_replicas: every rank writes all it has.

    Returns:
        None, or with ``async_save`` a handle: ``wait()`` until the checkpoint is there, ``done()``. The next
        asynchronous save waits for this one.

    Raises:
        TypeError: ShardedWeights beside other values.
        ValueError: a value that is no tensor; ranks that disagree on ``unique_id``, a shape or a dtype.
        FileExistsError: the folder has a checkpoint ``unique_id``.

    Example:
        >>> import paddle, tempfile
        >>> a, b = paddle.nn.Linear(2, 3), paddle.nn.Linear(2, 3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paddle.distributed.save_state_dict(a.state_dict(), folder)
        ...     paddle.distributed.load_state_dict(b.state_dict(), folder)
        >>> bool((a.weight == b.weight).all())
        True
    """
    group = comm_group(process_group)
    weights, mapping = weights_of(state_dict, "save_state_dict")
    if not 0 <= coordinator_rank < group.size:
        need = f"a coordinator_rank below {group.size}"
        raise op_error(ValueError, "save_state_dict", need, coordinator_rank)
    blocks = tuple(w.block for w in weights)
    told = group.gather_objects((blocks, unique_id, mapping))
    ids = sorted({uid for _, uid, _ in told}, key=str)
    if len(ids) > 1:
        raise op_error(ValueError, "save_state_dict", "one unique_id on all ranks", ids)
    everyone = [b for b, _, _ in told]
    split = None if safetensors else SPLIT
    mine = plan_save(everyone, replicas=save_replicas, split=split)[group.rank]
    merged = {name: keys for _, _, part in told for name, keys in part.items()}
    save = _Save(group, os.fspath(path), coordinator_rank, unique_id, "safetensors" if safetensors else "native")
    items = [(s.block, rows(weights[s.number], s)) for s in mine]
    if async_save:
        return save.start(items, targets_of(everyone), merged)
    save.run(items, mine, targets_of(everyone), merged)
    return None


def clear_async_save_task_queue() -> None:
    """Wait for all saves of this rank in the background; raises what went wrong with one whose handle was not asked."""
    saver = context.current().state.values.get(_SAVER)
    if saver is not None:
        saver.wait()


Items = Sequence[tuple[Block, np.ndarray]]


class _Save:
    """One rank's part in a save."""

    def __init__(self, group: Group, path: str, root: int, uid: int | None, format: str) -> None:
        self.group, self.path, self.root, self.uid, self.format = group, path, root, uid, format

    def start(self, items: Items, infos: Mapping[str, TensorInfo], mapping: Mapping[str, tuple[str, ...]]) -> Handle:
        """Copy the arrays and have another process write them."""
        saving = self.begin()
        saver = context.current().state.values.setdefault(_SAVER, None)
        if saver is None:
            saver = context.current().state.values[_SAVER] = AsyncSaver()
        job = Job(
            self.path, items, infos, saving.uid, saving.rank, saving.world, saving.claim, saving, self.format, mapping
        )
        handle: Handle | None = None
        failure: Exception | None = None
        try:
            handle = saver.save(job)
        except Exception as error:
            failure = error
            saving.abort()
        together(failure, self.group)
        assert handle is not None
        return handle

    def begin(self) -> Saving:
        """Reserve the number of the checkpoint, on all ranks."""
        group, saving = self.group, None
        here = group.rank == self.root
        failure: Exception | None = None
        told: Any = None
        if here:
            try:
                saving = Saving.begin(self.path, self.uid, group.rank, group.size)
                told = saving.uid, saving.claim
            except Exception as error:
                failure = told = error
        told = group.broadcast_object(told, self.root)
        if isinstance(told, Exception):
            raise failure or told
        uid, claim = told
        return saving or Saving.begin(self.path, uid, group.rank, group.size, claim)

    def run(
        self,
        items: Items,
        saves: Sequence[Save],
        infos: Mapping[str, TensorInfo],
        mapping: Mapping[str, tuple[str, ...]],
    ) -> None:
        """Write, and complete the checkpoint."""
        group = self.group
        with self.begin() as saving:
            stored: list[Stored] = []
            sizes: dict[str, int] = {}
            failure: Exception | None = None
            try:
                if items:
                    saving.write(items, format=self.format)
                stored = saving.prepare()
                stored = [replace(s, replica=save.replica) for s, save in zip(stored, saves, strict=True)]
                sizes = {s.file: os.path.getsize(os.path.join(self.path, s.file)) for s in stored[:1]}
            except Exception as error:
                failure = error
            parts = group.gather_objects((stored, sizes))
            together(failure, group)
            try:
                if group.rank == self.root:
                    files = {name: n for _, found in parts for name, n in found.items()}
                    saving.commit([p for p, _ in parts], infos, mapping, files=files)
            except Exception as error:
                failure = error
            together(failure, group)


_SAVER = "flex_checkpoint_saver"


def rows(weight: ShardedWeight, save: Save) -> np.ndarray:
    """The elements of a block or of some rows of it."""
    array = on_host(weight.local_tensor)
    if save.block.flat is not None:
        return array
    return array[save.block.box.relative_to(weight.global_offset).slices]
