"""Tensors by name in one safetensors file.

A file is written beside its place and moved there when it is whole and on disk, so that at every moment the place holds
the old file or the new one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from umiak.checkpoint.box import Box
from umiak.checkpoint.dtypes import CODES, numpy_dtype
from umiak.checkpoint.errors import CheckpointError
from umiak.checkpoint.formats.safetensors import read_header
from umiak.checkpoint.records import Block
from umiak.checkpoint.storage import sync_folder, write_path
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, to_numpy
from umiak.core.dtype import DType
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

# How the format calls our dtypes.
NAMES: dict[DType, str] = {d: CODES[d.name] for d in dt.all_dtypes() if d.name in CODES}


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
        items.append((Block(name, t.dtype.name, shape, Box.whole(shape)), to_numpy(t.detach())))
    path = os.fspath(path)
    write_path(path, items, format="safetensors", metadata=dict(metadata or {}))
    sync_folder(os.path.dirname(path))


def load_safetensors(
    path: str | os.PathLike[str], place: Place | None = None
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a file by name, in the order of the file, and its metadata.

    Raises:
        ValueError: a file that is not of this format, is cut off, or whose header lies; a dtype that no tensor has.
    """
    path = os.fspath(path)
    try:
        entries, metadata = read_header(path)
    except CheckpointError as error:
        raise op_error(CheckpointError, "load_safetensors", "a whole safetensors file", f"{path}: {error}") from None
    out = {}
    known = {d.name for d in NAMES}
    with open(path, "rb", buffering=0) as f:
        for e in entries:
            if e.dtype not in known:
                got = f"{e.dtype} ({e.name})"
                raise op_error(CheckpointError, "load_safetensors", f"a dtype of {sorted(known)}", got)
            array = np.empty(e.shape, numpy_dtype(e.dtype))
            f.seek(e.begin)
            view = memoryview(array.reshape(-1).view(np.uint8).data)
            while view:
                n = f.readinto(view)
                if not n:
                    raise op_error(
                        CheckpointError, "load_safetensors", f"all bytes of {e.name!r}", f"the end of {path}"
                    )
                view = view[n:]
            out[e.name] = from_numpy(array, place, copy=None)
    return out, metadata
