"""Small checkpoints for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from umiak.checkpoint.box import Box
from umiak.checkpoint.commit import Saving
from umiak.checkpoint.data_model import Block, TensorInfo
from umiak.checkpoint.dtypes import numpy_dtype
from umiak.checkpoint.manifest import Manifest
from umiak.checkpoint.sources import runs
from umiak.checkpoint.storage import Reader


def name_of(array: np.ndarray) -> str:
    return array.dtype.name


def whole(key: str, array: np.ndarray) -> tuple[Block, np.ndarray]:
    """A tensor as one block."""
    return Block(key, name_of(array), array.shape, Box.full(array.shape)), array


def cut(
    key: str, array: np.ndarray, *boxes: Box, flat: tuple[int, int] | None = None
) -> list[tuple[Block, np.ndarray]]:
    """Parts of a tensor; with ``flat``, that range of the flattening of each box."""
    out = []
    for box in boxes:
        part = array[box.slices]
        part = part if flat is None else part.reshape(-1)[slice(*flat)]
        out.append((Block(key, name_of(array), array.shape, box, flat), part))
    return out


def infos_of(arrays: Mapping[str, np.ndarray]) -> dict[str, TensorInfo]:
    return {key: TensorInfo(key, a.shape, name_of(a)) for key, a in arrays.items()}


def save(folder: Any, arrays: Mapping[str, np.ndarray], uid: int | None = None, format: str = "native") -> Manifest:
    """Save whole tensors as one rank."""
    with Saving.begin(folder, uid) as saving:
        saving.write([whole(key, a) for key, a in arrays.items()], format=format)
        return saving.commit([saving.prepare()], infos_of(arrays))


def save_items(
    folder: Any, ranks: Iterable[Iterable[tuple[Block, np.ndarray]]], infos: Mapping[str, TensorInfo], **options: Any
) -> Manifest:
    """Save blocks as several ranks, one after the other."""
    ranks = list(ranks)
    first = Saving.begin(folder, rank=0, world=len(ranks))
    savings = [first, *(Saving.begin(folder, first.uid, r, len(ranks), first.claim) for r in range(1, len(ranks)))]
    for saving, items in zip(savings, ranks):
        saving.write(items, **options)
    return first.commit([saving.prepare() for saving in savings], infos)


def load(folder: Any, manifest: Manifest, key: str, **options: Any) -> np.ndarray:
    """A whole tensor."""
    info = manifest.infos[key]
    out = np.zeros(info.shape, numpy_dtype(info.dtype))
    with Reader(folder, manifest, **options) as reader:
        for s in manifest.blocks(key):
            for box, _ in runs(s.block):
                reader.read(s, box, out[box.slices])
    return out
