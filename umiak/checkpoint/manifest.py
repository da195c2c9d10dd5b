"""Manifest of a checkpoint: its tensors and where their blocks lie. One JSON file per checkpoint,
``<uid>.metadata.json``.

The file is ``{"checksum":"…","body":{…}}``; the checksum is of the bytes of the body, so no manifest that was cut,
changed or edited is taken for one. It is strict JSON and is validated field by field: nothing of it is executed, no
size in it is believed before it is checked.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from umiak.checkpoint import checksum
from umiak.checkpoint import strict_json as sj
from umiak.checkpoint.box import Box
from umiak.checkpoint.data_model import Block, Stored, TensorInfo
from umiak.checkpoint.dtypes import NAMES, numpy_dtype
from umiak.checkpoint.files import read_from, read_whole
from umiak.checkpoint.read_lock import ReadLock, lock_for_reading

VERSION = 1
LONGEST = 2 << 30  # bytes of a manifest
_HEAD = re.compile(rb'\{"checksum":"([0-9a-f]{32})","body":')


@dataclass(frozen=True)
class Manifest:
    """The contents of checkpoint ``uid``, saved by ``world_size`` ranks. ``files`` are their sizes in bytes by name.

    ``flat_mapping``: from a flat name to the keys of the nested dicts that it came from. ``extra``: any JSON values.
    """

    uid: int
    world_size: int
    stored: tuple[Stored, ...]
    infos: Mapping[str, TensorInfo]
    flat_mapping: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    hold: ReadLock | None = field(default=None, compare=False, repr=False)  # while it is read, nobody removes it

    @cached_property
    def _by_key(self) -> dict[str, tuple[Stored, ...]]:
        by_key: dict[str, list[Stored]] = {}
        for s in self.stored:
            by_key.setdefault(s.block.key, []).append(s)
        return {key: tuple(rows) for key, rows in by_key.items()}

    def blocks(self, key: str) -> tuple[Stored, ...]:
        """The blocks of a tensor; empty for one of which nothing is stored."""
        return self._by_key.get(key, ())

    @cached_property
    def extents(self) -> dict[str, int]:
        """Return, by file, the end of the last block in it."""
        ends: dict[str, int] = dict.fromkeys(self.files, 0)
        for s in self.stored:
            ends[s.file] = max(ends.get(s.file, 0), s.begin + nbytes(s.block))
        return ends

    def check(self, where: str) -> Manifest:
        """This manifest, once its parts agree with one another.

        Raises:
            CheckpointError: a block of an unknown tensor or file, of another dtype or shape than its tensor or past the
            end
                of its file, or a tensor of which elements are stored nowhere.
        """
        elements: dict[str, int] = dict.fromkeys(self.infos, 0)
        for s in self.stored:
            block = s.block
            info = self.infos.get(block.key)
            if info is None:
                raise sj.fail(where, "a tensor for every block", f"a block of {block.key!r}, which is none,")
            if (block.dtype, block.global_shape) != (info.dtype, info.shape):
                got = f"{block.dtype} {list(block.global_shape)} for a block of {info.dtype} {list(info.shape)}"
                raise sj.fail(where, f"blocks of the dtype and shape of their tensor {block.key!r}", got)
            if self.files and s.file not in self.files:
                raise sj.fail(where, f"the size of file {s.file!r} with {block.key!r}", "none")
            if s.replica == 0:
                elements[block.key] += block.size
        for name, end in self.extents.items():
            if self.files and end > self.files[name]:
                raise sj.fail(
                    where, f"blocks within file {name!r} of {self.files[name]} bytes", f"one up to byte {end}"
                )
        for key, n in elements.items():
            if n < math.prod(self.infos[key].shape):
                got = f"blocks with {n} elements"
                raise sj.fail(where, f"all {math.prod(self.infos[key].shape)} elements of {key!r}", got)
        return self


def nbytes(block: Block) -> int:
    """The bytes of a block in a file."""
    return block.size * numpy_dtype(block.dtype).itemsize


def file_name(name: Any, where: str) -> str:
    """A plain name of a file in the checkpoint's own folder."""
    # A surrogate, which JSON may have, is in no name that is written as UTF-8.
    size = len(name.encode(errors="replace")) if isinstance(name, str) else 0
    if not 0 < size < 256 or re.search("[/\0\ud800-\udfff]", name) or name[0] == ".":
        raise sj.fail(where, "the plain name of a file in the same folder", repr(name))
    return name


def manifest_name(uid: int) -> str:
    return f"{uid}.metadata.json"


# A block is [begin, offset, shape, flat, checksum, replica]; key, dtype and global shape stand with the tensor.


def encode_block(s: Stored) -> list[Any]:
    b = s.block
    flat = None if b.flat is None else list(b.flat)
    return [s.begin, list(b.box.offset), list(b.box.shape), flat, s.checksum, s.replica]


def decode_box(offset: Any, shape: Any, global_shape: tuple[int, ...], where: str) -> Box:
    """A box within a tensor of shape ``global_shape``."""
    box = Box(sj.sizes(offset, "an offset", where), sj.sizes(shape, "a shape", where))
    if not len(box.offset) == len(box.shape) == len(global_shape) or any(e > n for e, n in zip(box.end, global_shape)):
        raise sj.fail(where, f"a box within the shape {list(global_shape)}", f"offset {offset}, shape {shape}")
    return box


def _sum(value: Any, where: str) -> str:
    """A checksum, or "" for a block that was stored without one."""
    if not isinstance(value, str) or not (value == "" or checksum.FORM.fullmatch(value)):
        raise sj.fail(where, "a checksum of an algorithm that there is", value)
    return value


def decode_block(value: Any, key: str, dtype: str, global_shape: tuple[int, ...], file: str, where: str) -> Stored:
    """Return a block as the manifest stores it, validated against the shape ``global_shape`` of its tensor.

    ``where`` names the place in the file for errors.
    """
    begin, offset, shape, flat, sum_, replica = sj.row(value, 6, "a block", where)
    box = decode_box(offset, shape, global_shape, where)
    if flat is not None:
        start, stop = sj.sizes(sj.row(flat, 2, "a range", where), "a range", where)
        if not start <= stop <= box.size:
            raise sj.fail(where, f"a range within the {box.size} elements of a block of {key!r}", flat)
        flat = (start, stop)
    return Stored(
        Block(key, dtype, global_shape, box, flat),
        file,
        sj.integer(begin, "the first byte of a block", where),
        _sum(sum_, where),
        sj.integer(replica, "the number of a replica", where),
    )


def decode_tensor(key: Any, dtype: Any, shape: Any, where: str) -> tuple[str, str, tuple[int, ...]]:
    """Key, dtype and shape of a tensor."""
    if not isinstance(dtype, str) or dtype not in NAMES:
        raise sj.fail(where, f"a dtype of {sorted(NAMES)} for {key!r}", dtype)
    return sj.string(key, "the key of a tensor", where), dtype, sj.shape(shape, f"the shape of {key!r}", where)


def encode(m: Manifest) -> bytes:
    """The text of a manifest's file."""
    files = sorted(m.files)
    number = {name: i for i, name in enumerate(files)}
    tensors = {
        key: {
            "dtype": info.dtype,
            "shape": list(info.shape),
            "parts": [[list(p.offset), list(p.shape)] for p in info.parts],
            "blocks": [[number[s.file], *encode_block(s)] for s in m.blocks(key)],
        }
        for key, info in m.infos.items()
    }
    body = {
        "format": "umiak.checkpoint",
        "version": VERSION,
        "uid": m.uid,
        "world_size": m.world_size,
        "files": [[name, m.files[name]] for name in files],
        "tensors": tensors,
        "flat_mapping": {key: list(path) for key, path in m.flat_mapping.items()},
        "extra": dict(m.extra),
    }
    text = sj.dumps(body).encode()
    return b'{"checksum":"%s","body":%s}\n' % (_digest(text), text)


def _digest(body: Any) -> bytes:
    return hashlib.blake2b(body, digest_size=16).hexdigest().encode()


def decode(text: bytes, where: str) -> Manifest:
    """The manifest of a file's text.

    Raises:
        CheckpointError: any text that :func:`encode` does not give.
    """
    head = _HEAD.match(text)
    if head is None or not text.endswith(b"}\n"):
        raise sj.fail(where, "a whole manifest with its checksum", f"{len(text)} other bytes")
    if _digest(memoryview(text)[head.end() : -2]) != head[1]:
        raise sj.fail(where, "a manifest as it was written", "one with another checksum")
    fields = ("format", "version", "uid", "world_size", "files", "tensors", "flat_mapping", "extra")
    body = sj.parse(text[head.end() : -2], where)
    if isinstance(body, dict) and body.get("version") != VERSION:
        raise sj.fail(where, f"version {VERSION} of manifests", body.get("version"))
    kind, _, uid, world, file_rows, tensors, flat_mapping, extra = sj.object_fields(body, fields, "a manifest", where)
    if kind != "umiak.checkpoint" or not isinstance(file_rows, list):
        raise sj.fail(where, "the manifest of a checkpoint", kind)
    files: dict[str, int] = {}
    for value in file_rows:
        name, size = sj.row(value, 2, "a file", where)
        files[file_name(name, where)] = sj.integer(size, f"the size of {name!r}", where)
    names = list(files)
    if len(names) < len(file_rows):
        raise sj.fail(where, "every file once", "one twice")
    stored: list[Stored] = []
    infos: dict[str, TensorInfo] = {}
    for name, value in _items(tensors, "tensors", where):
        dtype_, shape_, parts, blocks = sj.object_fields(
            value, ("dtype", "shape", "parts", "blocks"), "a tensor", where
        )
        key, dtype, shape = decode_tensor(name, dtype_, shape_, where)
        pairs = [sj.row(p, 2, "a part", where) for p in _list(parts, "parts", where)]
        boxes = tuple(decode_box(offset, size, shape, where) for offset, size in pairs)
        infos[key] = TensorInfo(key, shape, dtype, boxes)
        for value in _list(blocks, "blocks", where):
            value = sj.row(value, 7, "a block", where)
            number = sj.integer(value[0], "the number of a file", where)
            if number >= len(names):
                raise sj.fail(where, f"the number of one of {len(names)} files", number)
            stored.append(decode_block(value[1:], key, dtype, shape, names[number], where))
    nested = {}
    for key, path in _items(flat_mapping, "flat_mapping", where):
        nested[key] = tuple(sj.string(p, "a key", where) for p in _list(path, "the keys of nested dicts", where))
    manifest = Manifest(
        sj.integer(uid, "uid", where),
        sj.integer(world, "world_size", where, 1),
        tuple(stored),
        infos,
        nested,
        dict(_items(extra, "extra", where)),
        files,
    )
    return manifest.check(where)


def _list(value: Any, field: str, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise sj.fail(where, f"{field} as a list", value)
    return value


def _items(value: Any, field: str, where: str) -> Iterable[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise sj.fail(where, f"{field} as an object", value)
    return value.items()


def read_manifest(path: str) -> Manifest:
    """The manifest in a file.

    Raises:
        CheckpointError: a file that is no manifest, or a damaged one.
        FileNotFoundError: none there.
    """
    return decode(read_whole(path, LONGEST, "a manifest"), path)


def read_held_manifest(path: str) -> Manifest:
    """:func:`read_manifest` of a checkpoint that nobody removes as long as the result lives."""
    held = lock_for_reading(path)
    return replace(decode(read_from(held.fd, path, LONGEST, "a manifest"), path), hold=held)
