"""Folders of headers for sources that declare functions of Python (``PYBIND11_MODULE``)."""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from umiak.util.errors import op_error

_MENTION = re.compile(rb"\bpybind11\b|\bPYBIND11_|\bpy::")
_MODULE = b"PYBIND11_MODULE"


def python_headers(sources: Sequence[str], folders: Sequence[str], function: str) -> list[str]:
    """Folders of Python's headers and of pybind11's, where a source, or a header beside it, names pybind11.

    RuntimeError where a module is declared and pybind11 is nowhere.
    """
    files = {*map(Path, sources), *(header for s in sources for header in Path(s).parent.glob("*.*h*"))}
    texts = {file: file.read_bytes() for file in files}
    if not any(map(_MENTION.search, texts.values())):
        return []
    own = [sysconfig.get_paths()["include"]]
    if any(os.path.exists(os.path.join(folder, "pybind11", "pybind11.h")) for folder in folders):
        return own
    spec = find_spec("pybind11")
    if spec is not None and spec.submodule_search_locations:
        return [*own, os.path.join(next(iter(spec.submodule_search_locations)), "include")]
    for file in (Path(s) for s in sources if _MODULE in texts[Path(s)]):
        raise op_error(
            RuntimeError, function, f"the headers of pybind11 for {file}, which declares a module of Python",
            "no package pybind11", "pip install pybind11, or name their folder as extra_include_paths.",
        )  # fmt: skip
    return own
