"""The safetensors format: eight bytes with the length of a JSON header, the header, the tensors' bytes without gaps.

Every length, offset, shape and dtype of a header is checked against the others and against the size of the file before
it is used. A block of a larger tensor is stored as a tensor of its own; the metadata entry ``umiak`` says which tensor
it belongs to, and where.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from umiak.checkpoint import strict_json as sj
from umiak.checkpoint.box import Box
from umiak.checkpoint.checksum import FORM, VERIFY, Checksum, checksum
from umiak.checkpoint.data_model import Block, Stored
from umiak.checkpoint.dtypes import BY_CODE, CODES, numpy_dtype
from umiak.checkpoint.files import open_file, read_at
from umiak.checkpoint.manifest import decode_block, decode_tensor, nbytes
from umiak.util.errors import op_error

_SUMS = re.compile(f"{FORM.pattern}(?: {FORM.pattern})*")
LONGEST_HEADER = 100_000_000  # bytes; the format's own limit
METADATA = "__metadata__"
PARTS = "umiak"
# Checksums in the metadata: of the header itself, with zeros in place of this one, and of the tensors in the order of
# their bytes. Where one is the other must be.
HEADER_SUM, TENSOR_SUMS = "umiak.header", "umiak.tensors"


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor in a file and its bytes ``[begin, end)`` there."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int
    checksum: str = ""


def header(
    entries: Sequence[tuple[str, str, tuple[int, ...]]],
    metadata: Mapping[str, str] | None = None,
    sums: Sequence[str] | None = None,
) -> bytes:
    """The beginning of a file with these tensors (name, dtype, shape), in this order, and their checksums if given.

    Raises:
        TypeError: a dtype that the format lacks, or metadata other than strings.
        ValueError: a name twice, metadata under a name of ours, or a header that is too long for the format.
    """
    out: dict[str, Any] = {}
    told = dict(metadata or {})
    for key, value in told.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise op_error(TypeError, "safetensors", "strings as metadata", f"{key!r}: {value!r}")
        if key in (HEADER_SUM, TENSOR_SUMS):
            raise op_error(ValueError, "safetensors", f"metadata without {HEADER_SUM} and {TENSOR_SUMS}", repr(key))
    if sums is not None:
        told |= {HEADER_SUM: _zeros(Checksum().text()), TENSOR_SUMS: " ".join(sums)}
    if told:
        out[METADATA] = told
    end = 0
    for name, dtype, shape in entries:
        if dtype not in CODES:
            hint = "The native format has all dtypes"
            raise op_error(TypeError, "safetensors", f"a dtype of {sorted(CODES)}", f"{dtype} ({name})", hint)
        if name in out:
            raise op_error(ValueError, "safetensors", "every name once", f"{name!r} twice")
        begin, end = end, end + math.prod(shape) * numpy_dtype(dtype).itemsize
        out[name] = {"dtype": CODES[dtype], "shape": list(shape), "data_offsets": [begin, end]}
    text = sj.dumps(out).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LONGEST_HEADER:
        required = f"a header of at most {LONGEST_HEADER} bytes"
        raise op_error(ValueError, "safetensors", required, f"{len(text)} bytes for {len(entries)} tensors")
    if sums is not None:
        empty = f'"{HEADER_SUM}":"{told[HEADER_SUM]}"'.encode()
        text = text.replace(empty, f'"{HEADER_SUM}":"{checksum(text)}"'.encode(), 1)
    return len(text).to_bytes(8, "little") + text


def _zeros(text: str) -> str:
    """A checksum with zeros for its digits."""
    name, _, digits = text.partition(":")
    return f"{name}:{'0' * len(digits)}"


def _check_header(text: bytes, metadata: dict[str, str], count: int, path: str) -> list[str]:
    """The checksums of the tensors, once the header agrees with its own; takes both out of the metadata."""
    own, sums = metadata.pop(HEADER_SUM, None), metadata.pop(TENSOR_SUMS, None)
    if own is None and sums is None:
        for key, value in metadata.items():
            if _SUMS.fullmatch(value):
                raise sj.fail(path, f"checksums under the names {HEADER_SUM} and {TENSOR_SUMS}", f"some under {key!r}")
        return [""] * count
    if own is None or sums is None:
        raise sj.fail(path, f"both {HEADER_SUM} and {TENSOR_SUMS} in the metadata", "one of them")
    rows = sums.split(" ") if sums else []
    if not all(map(FORM.fullmatch, (own, *rows))) or len(rows) != count:
        raise sj.fail(path, f"the checksums of {count} tensors and of the header", f"{len(rows)} and {own}")
    if VERIFY.value:
        written = f'"{HEADER_SUM}":"{own}"'.encode()
        sum_ = Checksum(own)
        sum_.update(text.replace(written, f'"{HEADER_SUM}":"{_zeros(own)}"'.encode(), 1))
        if sum_.text() != own:
            raise sj.fail(path, f"the checksum {own} of the header that was saved", sum_.text())
    return rows


def order(dtypes: Sequence[str]) -> list[int]:
    """Return the order in which to store tensors: widest dtypes first, so that each is aligned to its elements."""
    return sorted(range(len(dtypes)), key=lambda i: -numpy_dtype(dtypes[i]).itemsize)


def read_header(path: str) -> tuple[list[Entry], dict[str, str]]:
    """The tensors of a file in the order of their bytes, and its metadata.

    Raises:
        CheckpointError: a file that is not of this format, is cut off, or whose header lies.
    """
    with os.fdopen(open_file(path), "rb", buffering=0) as f:
        return read_open_header(f.fileno(), path)


def read_open_header(fd: int, path: str) -> tuple[list[Entry], dict[str, str]]:
    """:func:`read_header` of an open file."""
    size = os.fstat(fd).st_size
    length = int.from_bytes(os.pread(fd, 8, 0), "little")
    if size < 8 or length > min(size - 8, LONGEST_HEADER):
        required = f"a header within the file of {size} bytes and the limit of {LONGEST_HEADER}"
        raise sj.fail(path, required, f"a length of {length}")
    text = read_at(fd, 8, length, path)
    if not text.startswith(b"{"):
        raise sj.fail(path, "a header that is a JSON object", repr(text[:20]))
    table = sj.parse(text, path)
    metadata = table.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise sj.fail(path, "metadata of strings", metadata)
    entries = [_entry(name, value, 8 + length, path) for name, value in table.items()]
    entries.sort(key=lambda e: (e.begin, e.end))
    at, before = 8 + length, METADATA
    for e in entries:
        if e.begin != at:
            kind = "overlapping" if e.begin < at else "with a gap"
            raise sj.fail(path, "tensors one after the other", f"{before!r} and {e.name!r} {kind}")
        at, before = e.end, e.name
    if at != size:
        raise sj.fail(path, f"the {at} bytes that the header tells of, up to {before!r},", f"{size} bytes")
    sums = _check_header(text, metadata, len(entries), path)
    return [replace(e, checksum=s) for e, s in zip(entries, sums)], metadata


def _entry(name: str, value: Any, start: int, path: str) -> Entry:
    code, shape_, offsets = sj.object_fields(value, ("dtype", "shape", "data_offsets"), f"tensor {name!r}", path)
    dtype = BY_CODE.get(code) if isinstance(code, str) else None
    if dtype is None:
        raise sj.fail(path, f"a dtype of {sorted(BY_CODE)} for {name!r}", code)
    shape = sj.shape(shape_, f"the shape of {name!r}", path)
    begin, end = sj.sizes(sj.row(offsets, 2, f"data_offsets of {name!r}", path), f"data_offsets of {name!r}", path)
    if end - begin != math.prod(shape) * numpy_dtype(dtype).itemsize:
        raise sj.fail(path, f"the bytes of {dtype} {list(shape)} for {name!r}", f"bytes {begin} to {end}")
    return Entry(name, dtype, shape, start + begin, start + end)


# Blocks in such files.


def local_shape(block: Block) -> tuple[int, ...]:
    """Return the shape under which a block is stored: that of its box, or 1-D for a range of the flattened box."""
    return block.box.shape if block.flat is None else (block.size,)


def plan(
    blocks: Sequence[Block], metadata: Mapping[str, str] | None = None, sums: Sequence[str] | None = None
) -> tuple[bytes, list[int], list[int]]:
    """Lay out blocks in a file: return its header, the blocks' order, and the first byte of each (in the order given).

    The length of the beginning does not depend on the values of ``sums``, the blocks' checksums.
    """
    count: dict[str, int] = {}
    names, parts = [], {}
    for b in blocks:
        n = count[b.key] = count.get(b.key, -1) + 1
        name = b.key if n == 0 else f"{b.key}@{n}"
        names.append(name)
        if b.flat is not None or b.box.shape != b.global_shape:
            flat = None if b.flat is None else list(b.flat)
            parts[name] = [b.key, list(b.global_shape), list(b.box.offset), list(b.box.shape), flat]
    if parts:
        metadata = {**(metadata or {}), PARTS: sj.dumps(parts)}
    turn = order([b.dtype for b in blocks])
    # In the order of their bytes as a reader finds it: of tensors without any, the order does not matter to it.
    ordered = None if sums is None else [sums[i] for i in turn]
    head = header([(names[i], blocks[i].dtype, local_shape(blocks[i])) for i in turn], metadata, ordered)
    begins, at = [0] * len(blocks), len(head)
    for i in turn:
        begins[i] = at
        at += nbytes(blocks[i])
    return head, turn, begins


def read_blocks(folder: str, file: str) -> tuple[list[Stored], dict[str, str]]:
    """The blocks of a file and its metadata. With ``PARTS`` among those it is nothing without a manifest.

    Raises:
        CheckpointError: as for :func:`read_header`, or parts that contradict the header.
    """
    path = os.path.join(folder, file)
    entries, metadata = read_header(path)
    parts = sj.parse(metadata[PARTS].encode(), path) if PARTS in metadata else {}
    if not isinstance(parts, dict):
        raise sj.fail(path, "parts as an object", parts)
    out = []
    for e in entries:
        if e.name not in parts:
            out.append(Stored(Block(e.name, e.dtype, e.shape, Box.full(e.shape)), file, e.begin, e.checksum))
            continue
        key, global_shape, offset, shape, flat = sj.row(parts[e.name], 5, f"part {e.name!r}", path)
        key, dtype, global_shape = decode_tensor(key, e.dtype, global_shape, path)
        s = decode_block([e.begin, offset, shape, flat, e.checksum, 0], key, dtype, global_shape, file, path)
        if local_shape(s.block) != e.shape:
            raise sj.fail(path, f"part {e.name!r} of shape {list(e.shape)}", list(local_shape(s.block)))
        out.append(s)
    return out, metadata
