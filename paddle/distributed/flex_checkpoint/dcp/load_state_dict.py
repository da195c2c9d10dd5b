"""Loading into any layout, merging, and folders for other programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import paddle
from paddle._public import public
from paddle.distributed.flex_checkpoint.dcp.utils import Destinations, comm_group, weights_of
from umiak import comm
from umiak.checkpoint.box import Box
from umiak.checkpoint.commit import open_checkpoint
from umiak.checkpoint.data_model import Block, TensorInfo
from umiak.checkpoint.dtypes import numpy_dtype
from umiak.checkpoint.execute import execute, fetch, together
from umiak.checkpoint.export import Export, metadata_of
from umiak.checkpoint.formats import hf
from umiak.checkpoint.locate import locate
from umiak.checkpoint.plan import plan_load, slabs
from umiak.checkpoint.sources import Sources, itemsize
from umiak.checkpoint.storage import Reader, write_file
from umiak.core.array import from_numpy
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from umiak.checkpoint.aoa import Layout

Infos = Mapping[str, TensorInfo]
MakeLayout = Callable[[Infos, Infos | None], "Layout"]

# The reference framework's ways of moving data, as exchanges of a plan. Each of its others reads every byte once.
COMM_METHODS = {
    "broadcast": "auto",
    "multi_group_broadcast": "sends",
    "send_recv": "sends",
    "grouped_send_recv": "sends",
    "parallel_broadcast": "sends",
}
SLAB = 128 << 20  # bytes of a tensor that an export holds at once
_AOA_KEYS = {"aoa_statements", "aoa_config_reverse", "enable_traceback"}


@public("paddle.distributed")
def load_state_dict(
    state_dict: Mapping[str, Any],
    path: str,
    process_group: Any = None,
    coordinator_rank: int = 0,
    unique_id: int | None = None,
    offload: bool = False,
    mw_name_compatibility: bool = True,
    aoa_config: Mapping[str, Any] | None = None,
    safetensors: bool = False,
    worker_groups: Any = None,
    comm_method: str = "broadcast",
) -> None:
    """Load a checkpoint into the tensors of a state dict, in place, whatever the layout it was saved in.

    Floating dtypes are cast to those of the tensors; other dtypes only where no value can change. The ranks of a host
    read what they need from the files; where hosts would read more than twice the bytes that way, or where not all
    ranks see all files, every byte is read once and sent to the ranks that need it.

    Args:
        state_dict: as for ``save_state_dict``: which parts of which tensors this rank wants.
        path: a folder with checkpoints, or with safetensors files as those of Hugging Face. Ranks may see different
            files there.
        process_group: the ranks that load together; all by default.
        coordinator_rank: accepted; a rank that sees the manifest makes the plan.
        unique_id: the number of the checkpoint; by default the newest complete one.
        offload: accepted; what is read lies in the host's memory in any case.
        mw_name_compatibility: ``x.master_weights.y`` may be stored as ``x.y_fp32_master_0``, and the other way round.
        aoa_config: a dict of ``"aoa_statements"``, and optionally ``"aoa_config_reverse"`` and ``"enable_traceback"``:
            how the wanted tensors come out of the stored ones.
        safetensors: accepted; files tell their format.
        worker_groups: accepted; the plan finds out who needs what from whom.
        comm_method: "broadcast" exchanges as said above; "multi_group_broadcast", "send_recv", "grouped_send_recv" and
            "parallel_broadcast" always do.

    Raises:
        KeyError: tensors that the checkpoint does not have: all of them in one error.
        ValueError: another global shape; a part that is not stored; an unknown ``comm_method``; a missing or damaged
            checkpoint.
        TypeError: a dtype that would lose values; ShardedWeights beside other values.

    Example:
        >>> import paddle, tempfile
        >>> a, b = paddle.arange(6.0).reshape([2, 3]), paddle.zeros([3, 2])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paddle.distributed.save_state_dict({"a": a}, folder)
        ...     paddle.distributed.load_state_dict({"b": b}, folder, aoa_config={"aoa_statements": ["a^T -> b"]})
        >>> b.tolist()
        [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    """
    if comm_method not in COMM_METHODS:
        raise op_error(ValueError, "load_state_dict", f"a comm_method of {list(COMM_METHODS)}", repr(comm_method))
    group, path = comm_group(process_group), os.fspath(path)
    weights, _ = weights_of(state_dict, "load_state_dict")
    layout = layout_of(aoa_config)
    located = locate(path, unique_id, group)
    manifest = located.manifest
    into = Destinations(weights)
    with into, Reader(path, manifest) as reader:
        fetch(
            [w.block for w in weights],
            into.arrays,
            lambda: Sources(manifest.stored, manifest.infos),
            reader,
            group=group,
            root=located.root,
            layout=layout,
            aliases=_master_weight if mw_name_compatibility else None,
            readable=located.readable,
            exchange=COMM_METHODS[comm_method],
            finish=reader.finish,
        )


def layout_of(aoa_config: Mapping[str, Any] | None) -> MakeLayout | None:
    """Return a function that compiles a dict of statements into a layout."""
    if aoa_config is None:
        return None
    from umiak.checkpoint.aoa import compile_aoa

    unknown = sorted(set(aoa_config) - _AOA_KEYS)
    if unknown or "aoa_statements" not in aoa_config:
        got = f"{unknown}" if unknown else "no statements"
        raise op_error(ValueError, "aoa_config", f"'aoa_statements' and other keys of {sorted(_AOA_KEYS)}", got)
    statements = aoa_config["aoa_statements"]
    reverse, traceback = aoa_config.get("aoa_config_reverse", False), aoa_config.get("enable_traceback", True)
    return lambda sources, targets: compile_aoa(statements, sources, targets, reverse=reverse, traceback=traceback)


def _master_weight(key: str) -> str | None:
    """The other name of a master weight."""
    parts = key.split(".")
    suffix = "_fp32_master_0"
    if "master_weights" in parts:
        parts.remove("master_weights")
        return ".".join(parts) + suffix
    if len(parts) > 1 and parts[-1].endswith(suffix):
        return ".".join([parts[0], "master_weights", *parts[1:-1], parts[-1].removesuffix(suffix)])
    return None


class _Merged:
    """A checkpoint as whole tensors, each made when it is asked for."""

    def __init__(self, path: str, unique_id: int | None, aoa_config: Mapping[str, Any] | None) -> None:
        self.manifest = open_checkpoint(path, unique_id)
        self.sources = Sources(self.manifest.stored, self.manifest.infos)
        make = layout_of(aoa_config)
        self.layout = None if make is None else make(self.sources.infos, None)
        self.infos: Infos = self.sources.infos if self.layout is None else self.layout.targets
        self.reader = Reader(path, self.manifest)

    def __enter__(self) -> _Merged:
        return self

    def __exit__(self, *error: Any) -> None:
        self.reader.__exit__(*error)

    def fill(self, blocks: Sequence[Block], into: Sequence[np.ndarray]) -> None:
        execute(plan_load([blocks], self.sources, layout=self.layout).rank(0), blocks, into, self.reader)

    def slabs(self, info: TensorInfo, limit: int = SLAB) -> Iterator[np.ndarray]:
        """A tensor in row-major order."""
        for box in slabs(Box.full(info.shape), limit // itemsize(info.dtype)):
            out = np.empty(box.shape, numpy_dtype(info.dtype))
            self.fill([Block(info.key, info.dtype, info.shape, box)], [out])
            yield out


@public("paddle.distributed")
def load_merged_state_dict(
    path: str,
    prefix: str | None = None,
    unique_id: int | None = None,
    offload: bool = False,
    aoa_config: Mapping[str, Any] | None = None,
    safetensors: bool = False,
) -> dict[str, Tensor]:
    """Load a checkpoint as whole tensors by name, in this process alone.

    Args:
        path: a folder with checkpoints or safetensors files, all of which this process can open.
        prefix: only tensors whose names begin with it; it and the dot after it are taken off. None: all.
        unique_id: the number of the checkpoint; None: the newest complete one.
        offload: put the tensors into the host's memory.
        aoa_config: as for ``load_state_dict``; the result has what the statements leave. None: all that is there.
        safetensors: accepted; files tell their format.

    Returns:
        A dict of tensors by name.

    Raises:
        ValueError: a missing or damaged checkpoint.

    Example:
        >>> import paddle, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paddle.distributed.save_state_dict({"model": {"w": paddle.ones([2])}}, folder)
        ...     paddle.distributed.load_merged_state_dict(folder, prefix="model")["w"].tolist()
        [1.0, 1.0]
    """
    merged = _Merged(os.fspath(path), unique_id, aoa_config)
    names, blocks, arrays = [], [], []
    for key, info in merged.infos.items():
        if prefix and not key.startswith(prefix):
            continue
        name = key[len(prefix) :].removeprefix(".") if prefix else key
        names.append(name)
        blocks.append(Block(key, info.dtype, info.shape, Box.full(info.shape)))
        arrays.append(np.empty(info.shape, numpy_dtype(info.dtype)))
    with merged:
        merged.fill(blocks, arrays)
    out = {name: from_numpy(array, Place("cpu"), copy=None) for name, array in zip(names, arrays)}
    place: Place = paddle.framework.current_place()
    if not offload and place.device_type != "cpu":
        out = {name: t.to(place) for name, t in out.items()}
    return out


def merge_sharded_state_dict(
    load_path: str,
    save_path: str,
    prefix: str | None = None,
    safetensor_prefix: str = "model",
    skip_postfix_list: Sequence[str] = (),
    process_group: Any = None,
    unique_id: int | None = None,
    offload: bool = False,
    aoa_config: Mapping[str, Any] | None = None,
    safetensors: bool = False,
) -> None:
    """Write a checkpoint as whole tensors in safetensors files with an index, as Hugging Face has them.

    Every rank writes one file, of a part of the names in order; an index file names them all. A rank holds 128 MiB of a
    tensor at a time. Ranks beyond the number of tensors write nothing. The files get their names when all are whole;
    whatever a writer that dies leaves, no reader takes it for a model.

    Args:
        load_path: a folder with checkpoints or safetensors files, all of which every rank can open.
        save_path: a folder that all ranks share.
        prefix: only tensors whose names begin with it.
        safetensor_prefix: the files are ``<it>-00001-of-0000N.safetensors`` and ``<it>.safetensors.index.json``.
        skip_postfix_list: leave out names that end so, such as those of an optimizer's states.
        process_group: the ranks that share out the work; all by default.
        unique_id: the number of the checkpoint; by default the newest complete one.
        offload, safetensors: accepted.
        aoa_config: as for ``load_merged_state_dict``.

    Raises:
        ValueError: a missing or damaged checkpoint, or nothing to be written.

    Example:
        >>> import paddle, os, tempfile
        >>> from paddle.distributed.flex_checkpoint.dcp.load_state_dict import merge_sharded_state_dict
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paddle.distributed.save_state_dict({"w": paddle.ones([2])}, folder)
        ...     merge_sharded_state_dict(folder, folder + "/out")
        ...     sorted(os.listdir(folder + "/out"))
        ['model-00001-of-00001.safetensors', 'model.safetensors.index.json']
    """
    save_path, name, group = os.fspath(save_path), safetensor_prefix, comm_group(process_group)
    with ExitStack() as stack:
        with _together(group):
            merged = stack.enter_context(_Merged(os.fspath(load_path), unique_id, aoa_config))
            skipped = tuple(skip_postfix_list) or ("\0",)
            keys = [k for k in sorted(merged.infos) if k.startswith(prefix or "") and not k.endswith(skipped)]
            if not keys:
                got = f"none of {len(merged.infos)} left"
                raise op_error(ValueError, "merge_sharded_state_dict", "tensors to write", got)
        count = min(group.size, len(keys))
        names = [hf.shard_name(i + 1, count, name) for i in range(count)]
        # The first ranks write one more where the names do not share out evenly.
        ends = [i * (len(keys) // count) + min(i, len(keys) % count) for i in range(count + 1)]
        export: Export | None = None
        with _together(group):
            if group.rank == 0:
                export = stack.enter_context(Export(save_path, name))
        folder = os.path.join(save_path, group.broadcast_object(export and os.path.basename(export.folder), 0))
        with _together(group):
            if group.rank < count:
                mine = [merged.infos[k] for k in keys[ends[group.rank] : ends[group.rank + 1]]]
                items = [(Block(i.key, i.dtype, i.shape, Box.full(i.shape)), partial(merged.slabs, i)) for i in mine]
                write_file(folder, names[group.rank], items, format="safetensors", metadata=metadata_of(folder))
                merged.reader.finish()
        with _together(group):
            if export is not None:
                weight_map = {k: names[i] for i in range(count) for k in keys[ends[i] : ends[i + 1]]}
                total = sum(Box.full(merged.infos[k].shape).size * itemsize(merged.infos[k].dtype) for k in keys)
                export.finish(names, weight_map, total)


@contextmanager
def _together(group: comm.Group) -> Iterator[None]:
    """A step that every rank leaves by an error where any does."""
    failure: Exception | None = None
    try:
        yield
    except Exception as error:
        failure = error
    together(failure, group)
