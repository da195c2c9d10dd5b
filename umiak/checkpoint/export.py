"""Folders for other programs, written beside their place: nothing that a reader takes for a model until it is whole.

The files are written into a folder of their own within the target, ``.<index>.<random>.part``, then renamed, the index
last. A writer that dies in between leaves a set of files without all of its parts, which readers refuse. Files of two
exports cannot be taken for one set either: each tells in its metadata which export it is of.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from umiak.checkpoint.formats import hf
from umiak.checkpoint.storage import sync_folder
from umiak.util import partial_files


class Export:
    """The export of one model into ``target``, on the rank that completes it.

    ``folder`` is where every rank writes its files, ``metadata`` what they say of themselves. Leaving the context
    removes what is not finished.
    """

    def __init__(self, target: str, prefix: str = "model") -> None:
        self.target = target
        self.index = f"{prefix}{hf.INDEX}"
        os.makedirs(target, exist_ok=True)
        partial_files.sweep(target, self.index)
        self.lock, self.folder = partial_files.create_folder(target, self.index)

    @property
    def metadata(self) -> dict[str, str]:
        return metadata_of(self.folder)

    def finish(self, files: Sequence[str], weight_map: Mapping[str, str], total_size: int) -> None:
        """Put the files and their index in place; files of an earlier export of the same names are replaced."""
        with open(os.path.join(self.folder, self.index), "xb") as f:
            f.write(hf.index_text(total_size, dict(weight_map)))
            f.flush()
            os.fsync(f.fileno())
        sync_folder(self.folder)
        path = os.path.join(self.target, self.index)
        if os.path.exists(path):  # an index of the files that are now replaced one by one
            os.unlink(path)
            sync_folder(self.target)
        for name in (*files, self.index):
            os.rename(os.path.join(self.folder, name), os.path.join(self.target, name))
        sync_folder(self.target)

    def __enter__(self) -> Export:
        return self

    def __exit__(self, *_: Any) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self.lock)


def metadata_of(folder: str) -> dict[str, str]:
    """Return the metadata of the files in the folder of an export."""
    return {"format": "pt", hf.EXPORT: os.path.basename(folder).split(".")[-2]}
