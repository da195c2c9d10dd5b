"""Metadata of a checkpoint."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from umiak.checkpoint.commit import open_checkpoint
from umiak.checkpoint.data_model import Block


@dataclass(frozen=True)
class LocalTensorMetadata:
    """A block of a tensor: where it begins, its shape, and the range of its flattening, if only that is held."""

    global_offset: tuple[int, ...]
    local_shape: tuple[int, ...]
    dtype: str
    global_shape: tuple[int, ...] | None = None
    is_flattened: bool = False
    flattened_range: tuple[int, int] | None = None


@dataclass(frozen=True)
class LocalTensorIndex:
    """A block by name. ``replica_id`` counts its copies from 0."""

    tensor_key: str
    global_offset: tuple[int, ...]
    is_flattened: bool = False
    flattened_range: tuple[int, int] | None = None
    replica_id: int | None = None
    local_shape: tuple[int, ...] | None = None


@dataclass
class Metadata:
    """A checkpoint: the blocks of each tensor, the file of each block, the keys that each flat name came from."""

    state_dict_metadata: dict[str, list[LocalTensorMetadata]] = field(default_factory=dict)
    storage_metadata: dict[LocalTensorIndex, str] = field(default_factory=dict)
    flat_mapping: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read_metadata(path: str, unique_id: int | None = None) -> Metadata:
    """Read the metadata of checkpoint ``unique_id`` of a folder; by default the newest complete one.

    Raises:
        ValueError: a missing or damaged checkpoint.

    Example:
        >>> import paddle, tempfile
        >>> from paddle.distributed.flex_checkpoint.dcp.metadata import read_metadata
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paddle.distributed.save_state_dict({"w": paddle.zeros([2, 3])}, folder)
        ...     found = read_metadata(folder)
        >>> found.state_dict_metadata["w"][0].local_shape, list(found.storage_metadata.values())
        ((2, 3), ['0_0.distcp'])
    """
    manifest = open_checkpoint(os.fspath(path), unique_id)
    out = Metadata(flat_mapping=dict(manifest.flat_mapping))
    for s in manifest.stored:
        block = s.block
        blocks = out.state_dict_metadata.setdefault(block.key, [])
        if s.replica == 0:
            blocks.append(_block(block))
        offset, shape, flat = block.box.offset, block.box.shape, block.flat
        out.storage_metadata[LocalTensorIndex(block.key, offset, flat is not None, flat, s.replica, shape)] = s.file
    return out


def _block(block: Block) -> LocalTensorMetadata:
    box, flat = block.box, block.flat
    return LocalTensorMetadata(box.offset, box.shape, block.dtype, block.global_shape, flat is not None, flat)
