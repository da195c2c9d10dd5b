"""Conversion of a checkpoint to another format, and by AOA statements to other names and layouts, a part at a time."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from umiak.checkpoint.aoa import Layout, compile_aoa
from umiak.checkpoint.box import Box
from umiak.checkpoint.commit import Saving
from umiak.checkpoint.data_model import Block, TensorInfo
from umiak.checkpoint.dtypes import numpy_dtype
from umiak.checkpoint.execute import fetch
from umiak.checkpoint.export import Export
from umiak.checkpoint.formats import hf
from umiak.checkpoint.manifest import Manifest, nbytes
from umiak.checkpoint.sources import Sources
from umiak.checkpoint.storage import Reader, write_file
from umiak.util.errors import op_error

FORMATS = ("hf", "safetensors", "native")
_IN_ORDER = 8 << 20  # bytes of a tensor at a time: they stay in the cache between reading and writing
_TRANSPOSED = 96 << 20  # where rows come out of columns, each pass over the source gives so many bytes
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}

Progress = Callable[[int, int], object]


def parse_size(text: str) -> int:
    """Bytes of a size such as ``5GB`` or ``512MiB``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    if match is None or match[2].upper() not in _UNITS or not float(match[1]):
        raise op_error(ValueError, "convert", "a size such as 5GB or 512MiB", repr(text))
    return int(float(match[1]) * _UNITS[match[2].upper()])


class Contents:
    """The tensors of a checkpoint, as they are or as a layout makes them, read by parts."""

    def __init__(self, folder: str, manifest: Manifest, layout: Layout | None = None) -> None:
        self.reader = Reader(folder, manifest)
        self.sources = Sources(manifest.stored, manifest.infos)
        self.layout = layout
        infos: Mapping[str, TensorInfo] = manifest.infos
        if layout is not None:
            infos = {key: info for key, info in layout.targets.items() if key not in layout.kept}
        self.infos = infos
        self.memory = np.empty(0, np.uint8)

    def __enter__(self) -> Contents:
        return self

    def __exit__(self, *error: Any) -> None:
        self.reader.__exit__(*error)

    def blocks(self) -> list[Block]:
        """Every tensor as one block."""
        return [Block(i.key, i.dtype, i.shape, Box.full(i.shape)) for i in self.infos.values()]

    def _layout(self, there: Mapping[str, TensorInfo], wanted: Mapping[str, TensorInfo]) -> Layout:
        assert self.layout is not None
        return self.layout

    def itemsize(self, key: str) -> int:
        return numpy_dtype(self.infos[key].dtype).itemsize

    def parts(self, key: str, itemsize: int | None = None) -> Iterator[np.ndarray]:
        """A tensor in row-major order, some rows at a time. Each part lies in the memory of the one before.

        ``itemsize``: cut as if elements were so large, to get the same parts of tensors of two dtypes.
        """
        info = self.infos[key]
        dtype = numpy_dtype(info.dtype)
        layout = self.layout
        pieces = layout.pieces(key) if layout is not None else ()
        transposed = any(p.axes is not None and p.axes[:1] != (0,) for p in pieces)
        for box in _rows(info.shape, itemsize or dtype.itemsize, _TRANSPOSED if transposed else _IN_ORDER):
            size = box.size * dtype.itemsize
            if self.memory.size < size:
                self.memory = np.empty(size, np.uint8)
            out = self.memory[:size].view(dtype).reshape(box.shape)
            fetch(
                [Block(key, info.dtype, info.shape, box)],
                [out],
                self.sources,
                self.reader,
                layout=None if layout is None else self._layout,
            )
            yield out


def _rows(shape: tuple[int, ...], itemsize: int, most: int) -> Iterator[Box]:
    """A tensor cut along its leading axes into boxes of at most ``most`` bytes, in row-major order."""
    if math.prod(shape) * itemsize <= most or not shape:
        yield Box.full(shape)
        return
    inner = math.prod(shape[1:]) * itemsize
    if inner > most:
        for i in range(shape[0]):
            for box in _rows(shape[1:], itemsize, most):
                yield Box((i, *box.offset), (1, *box.shape))
        return
    step = most // inner
    for i in range(0, shape[0], step):
        yield Box((i,) + (0,) * (len(shape) - 1), (min(step, shape[0] - i), *shape[1:]))


def make_layout(manifest: Manifest, statements: Sequence[str], reverse: bool = False) -> Layout:
    """The layout that statements make of a checkpoint's tensors; those that they do not name stay as they are."""
    return compile_aoa(statements, manifest.infos, reverse=reverse)


def _shards(blocks: Iterable[Block], most: int) -> list[list[Block]]:
    """Blocks in files of at most ``most`` bytes, or of one block that is larger."""
    out: list[list[Block]] = [[]]
    size = 0
    for block in blocks:
        n = nbytes(block)
        if out[-1] and size + n > most:
            out.append([])
            size = 0
        out[-1].append(block)
        size += n
    return out


def convert(
    folder: str,
    manifest: Manifest,
    target: str | os.PathLike[str],
    *,
    format: str = "hf",
    statements: Sequence[str] | None = None,
    reverse: bool = False,
    max_shard_size: int = 5 * 10**9,
    uid: int | None = None,
    progress: Progress | None = None,
) -> list[str]:
    """Write a checkpoint's tensors anew. Memory beside the process's own: at most 256 MB.

    Args:
        format: ``"hf"`` (files ``model-0000k-of-0000N.safetensors`` of at most ``max_shard_size`` bytes and an index),
        or
            a checkpoint ``uid`` with a manifest, of a ``"safetensors"`` or a ``"native"`` file.
        statements: AOA statements from the names of this checkpoint to those of the new one; ``reverse``: the other
        way. progress: called with the bytes written since the last call and the bytes there will be.

    Returns:
        The names of the files.

    Raises:
        FileExistsError: for ``"hf"``, the folder holds such files already.
        As :func:`umiak.checkpoint.aoa.compile_aoa` for wrong statements, and :class:`Reader` for damaged files.
    """
    if format not in FORMATS:
        raise op_error(ValueError, "convert", f"format of {list(FORMATS)}", repr(format))
    target = os.fspath(target)
    layout = make_layout(manifest, statements, reverse) if statements is not None else None
    with Contents(folder, manifest, layout) as contents:
        blocks = contents.blocks()
        total = sum(map(nbytes, blocks))

        def source(key: str) -> Callable[[], Iterator[np.ndarray]]:
            def parts() -> Iterator[np.ndarray]:
                for part in contents.parts(key):
                    yield part
                    if progress is not None:
                        progress(part.nbytes, total)

            return parts

        if format == "hf":
            return _write_hf(target, _shards(blocks, max_shard_size), source, contents.reader.finish)
        with Saving.begin(target, uid) as saving:
            saving.write([(b, source(b.key)) for b in blocks], format=format)
            contents.reader.finish()
            nested = manifest.flat_mapping if layout is None else {}
            infos = {b.key: TensorInfo(b.key, b.global_shape, b.dtype) for b in blocks}
            manifest_written = saving.commit([saving.prepare()], infos, nested, manifest.extra)
            return list(manifest_written.files)


def _write_hf(
    target: str, shards: list[list[Block]], source: Callable[[str], Any], finish: Callable[[], None]
) -> list[str]:
    os.makedirs(target, exist_ok=True)
    there = [name for name in os.listdir(target) if name.endswith((".safetensors", hf.INDEX)) and name[0] != "."]
    if there:
        hint = "Choose another folder, or remove them"
        raise op_error(FileExistsError, "convert", f"no safetensors files in {target}", f"{sorted(there)[:4]}", hint)
    names: list[str] = []
    weight_map: dict[str, str] = {}
    total = 0
    with Export(target) as export:
        for number, blocks in enumerate(shards, 1):
            name = hf.shard_name(number, len(shards))
            names.append(name)
            items = [(b, source(b.key)) for b in blocks]
            write_file(export.folder, name, items, format="safetensors", metadata=export.metadata)
            weight_map |= {b.key: name for b in blocks}
            total += sum(map(nbytes, blocks))
        finish()
        export.finish(names, weight_map, total)
        return [*names, export.index]
