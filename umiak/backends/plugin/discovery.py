"""The plug-ins of a folder that ``CUSTOM_DEVICE_ROOT`` names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from umiak.backends.plugin.backend import PluginBackend
from umiak.backends.plugin.library import Library, PluginError

_loaded: dict[Path, PluginBackend] = {}  # by real path: a library is initialised once in a process


def libraries(folder: str) -> list[tuple[str, Callable[[], PluginBackend]]]:
    """The files ``*.so`` of a folder in the order of their names, and what loads each.

    Raises:
        PluginError: the folder is not there.
    """
    if not Path(folder).is_dir():
        raise PluginError(f"[CUSTOM_DEVICE_ROOT] requires folders, got {folder!r}, which is none")
    paths = sorted(p for p in Path(folder).iterdir() if p.suffix == ".so" and p.is_file())
    return [(str(p), partial(load, p)) for p in paths]


def load(path: Path) -> PluginBackend:
    """The backend of a library; the same for the same file.

    Raises:
        PluginError: the file is no plug-in of this interface.
    """
    real = path.resolve()
    if real not in _loaded:
        _loaded[real] = PluginBackend(Library(path))
    return _loaded[real]
