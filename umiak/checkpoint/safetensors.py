"""Tensors by name in safetensors files.

Files are written beside their place and moved there when they are whole and on disk, so that at every moment the place
holds the old file or the new one. The ``safetensors`` package checks the header of what is read: lengths, offsets,
overlaps and dtypes; nothing in a file is executed.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import tempfile
from collections.abc import Mapping

import numpy as np
from safetensors import SafetensorError, safe_open

from umiak.core import dtype as dt
from umiak.core.array import from_numpy, to_numpy
from umiak.core.dtype import DType
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

# How the format calls our dtypes. It has no complex128.
NAMES: dict[DType, str] = {
    dt.bool: "BOOL",
    dt.uint8: "U8",
    dt.int8: "I8",
    dt.int16: "I16",
    dt.int32: "I32",
    dt.int64: "I64",
    dt.float16: "F16",
    dt.bfloat16: "BF16",
    dt.float32: "F32",
    dt.float64: "F64",
    dt.complex64: "C64",
    dt.float8_e4m3fn: "F8_E4M3",
    dt.float8_e5m2: "F8_E5M2",
}
DTYPES = {name: d for d, name in NAMES.items()}


def save_safetensors(
    tensors: Mapping[str, Tensor], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors by name, with strings by name beside them.

    Raises:
        TypeError: a dtype that the format lacks, or metadata other than strings.
    """
    path = os.fspath(path)
    for key, value in (metadata or {}).items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise op_error(TypeError, "save_safetensors", "strings as metadata", f"{key!r}: {value!r}")
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    # The widest first: every tensor is then aligned to its own elements.
    order = sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    for name, t in order:
        if t.dtype not in NAMES:
            got = f"{t.dtype.name} ({name})"
            raise op_error(TypeError, "save_safetensors", f"a dtype of {sorted(d.name for d in NAMES)}", got)
        begin, end = end, end + math.prod(t.shape) * t.dtype.itemsize
        header[name] = {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [begin, end]}
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    folder = os.path.dirname(path) or "."
    fd, part = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder)
    try:
        with os.fdopen(fd, "wb") as f:
            f.write(len(head).to_bytes(8, "little") + head)
            for _, t in order:
                f.write(np.ascontiguousarray(to_numpy(t.detach())).reshape(-1).view(np.uint8).data)
        _to_disk(part)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise
    with contextlib.suppress(OSError):  # not every file system can flush a folder
        _to_disk(folder)


def _to_disk(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def load_safetensors(
    path: str | os.PathLike[str], place: Place | None = None
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a file by name, in the order of the file, and its metadata.

    Raises:
        ValueError: a file that is not of this format, is cut off, or whose header lies.
    """
    path = os.fspath(path)
    try:
        # Opening checks the whole header: after it, what stands there can be believed.
        with safe_open(path, framework="np") as checked:
            metadata = dict(checked.metadata() or {})
    except SafetensorError as error:
        raise op_error(ValueError, "load_safetensors", "a whole safetensors file", f"{path}: {error}") from None
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as memory:
        start = 8 + int.from_bytes(memory[:8], "little")
        header = json.loads(memory[8:start])
        header.pop("__metadata__", None)
        out = {}
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            if entry["dtype"] not in DTYPES:
                got = f"{entry['dtype']} ({name})"
                raise op_error(ValueError, "load_safetensors", f"a dtype of {sorted(DTYPES)}", got)
            begin, end = (start + n for n in entry["data_offsets"])
            array = np.frombuffer(memory[begin:end], dtype=DTYPES[entry["dtype"]].numpy).reshape(entry["shape"])
            out[name] = from_numpy(array, place, copy=True)
    return out, metadata
