"""Tensors by name in one safetensors file.

A file is written beside its place and moved there when it is whole and on disk, so that at every moment the place holds
the old file or the new one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from umiak.checkpoint import strict_json as sj
from umiak.checkpoint.box import Box
from umiak.checkpoint.checksum import VERIFY, Checksum
from umiak.checkpoint.data_model import Block
from umiak.checkpoint.dtypes import CODES, numpy_dtype
from umiak.checkpoint.errors import CheckpointError
from umiak.checkpoint.files import open_file
from umiak.checkpoint.formats.hf import EXPORT
from umiak.checkpoint.formats.safetensors import Entry, read_open_header
from umiak.checkpoint.storage import sync_folder, write_path
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, host_values
from umiak.core.dtype import DType
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.util import partial_files
from umiak.util.errors import op_error

# How the format calls our dtypes.
NAMES: dict[DType, str] = {d: CODES[d.name] for d in dt.all_dtypes() if d.name in CODES}
_KNOWN = {d.name for d in NAMES}
_CHUNK = 1 << 20  # bytes that are still in the cache when they are hashed


def save_safetensors(
    tensors: Mapping[str, Tensor], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors by name, with strings by name beside them.

    Raises:
        TypeError: a dtype that the format lacks, or metadata other than strings.
    """
    items = []
    for name, t in sorted(tensors.items()):
        shape = tuple(t.shape)
        items.append((Block(name, t.dtype.name, shape, Box.full(shape)), host_values(t.detach())))
    path = os.fspath(path)
    folder, file = os.path.split(path)
    partial_files.sweep(folder, file)
    write_path(path, items, format="safetensors", metadata=dict(metadata or {}))
    sync_folder(folder)


def load_safetensors(
    path: str | os.PathLike[str], place: Place | None = None
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a file by name, in the order of the file, and its metadata.

    Raises:
        ValueError: a file that is not of this format, is cut off, or whose header lies; a dtype that no tensor has.
    """
    path = os.fspath(path)
    try:
        with os.fdopen(open_file(path), "rb", buffering=0) as f:
            entries, metadata = read_open_header(f.fileno(), path)
            metadata.pop(EXPORT, None)
            return {e.name: _read(f.fileno(), e, path, place) for e in entries}, metadata
    except CheckpointError as error:
        raise op_error(CheckpointError, "load_safetensors", "a whole safetensors file", f"{path}: {error}") from None


def _read(fd: int, e: Entry, path: str, place: Place | None) -> Tensor:
    if e.dtype not in _KNOWN:
        raise sj.fail(path, f"a dtype of {sorted(_KNOWN)}", f"{e.dtype} ({e.name!r})")
    try:
        array = np.empty(e.shape, numpy_dtype(e.dtype))
    except ValueError:  # sizes beside a zero, of which NumPy will not hear
        raise sj.fail(path, f"a shape that an array can have for {e.name!r}", list(e.shape)) from None
    sum_ = Checksum(e.checksum) if VERIFY.value and e.checksum else None
    view = array.reshape(-1).view(np.uint8).data
    at = 0
    while at < len(view):
        n = os.preadv(fd, [view[at : at + _CHUNK]], e.begin + at)
        if n == 0:
            raise sj.fail(path, f"all bytes of {e.name!r}", "the end of the file")
        if sum_ is not None:
            sum_.update(view[at : at + n])
        at += n
    if sum_ is not None and sum_.text() != e.checksum:
        raise sj.fail(path, f"the checksum {e.checksum} of what was saved", f"{sum_.text()} for {e.name!r}")
    return from_numpy(array, place, copy=None)
