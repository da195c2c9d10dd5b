"""Files of data sets: found or downloaded, and read within bounds."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from paddle.utils.download import _download
from paddle.vision.image import backend_of
from umiak.util.errors import op_error

HOME = os.path.expanduser("~/.cache/paddle/dataset")
# No file of these data sets has as many bytes, unpacked; what has more is refused before it is read.
LARGEST = 1 << 30


def file_of(path: Any, url: str, md5: str, folder: str, download: bool, name: str, arg_name: str) -> str:
    """The user's file, or else the published one, downloaded unless it lies in the cache."""
    if path is not None:
        if not os.path.isfile(path):
            raise FileNotFoundError(f"[{name}] requires a file for {arg_name}, got {str(path)!r}, which is not there")
        return os.fspath(path)
    if not download:
        raise op_error(ValueError, name, f"{arg_name}, or download=True", "neither")
    target = os.path.join(HOME, folder)
    os.makedirs(target, exist_ok=True)
    try:
        return _download(url, target, md5)
    except RuntimeError as error:
        hint = f"Without a network, download it elsewhere and pass its path as {arg_name}"
        raise RuntimeError(f"{str(error).replace('[download]', f'[{name}]')}. {hint}") from error


def mode_of(mode: str, known: tuple[str, ...], name: str) -> str:
    """The mode in lower case, if it is one of those known."""
    if not isinstance(mode, str) or mode.lower() not in known:
        raise op_error(ValueError, name, f"a mode of {', '.join(map(repr, known))}", repr(mode))
    return mode.lower()


def image_backend(backend: str | None, name: str) -> str:
    """``"pil"`` or ``"cv2"``: what images of a data set are."""
    return backend_of(backend, name, ("pil", "cv2"))


@contextmanager
def archive(path: str, name: str) -> Iterator[tarfile.TarFile]:
    """A tar file that is read; what is broken in it is a ValueError. Nothing is unpacked into files."""
    try:
        with tarfile.open(path) as opened:
            yield opened
    except (tarfile.TarError, EOFError, OSError) as error:
        raise op_error(ValueError, name, "a tar file that is whole", f"{path!r}: {error}") from error


def member(opened: tarfile.TarFile, info: tarfile.TarInfo, name: str) -> bytes:
    """The bytes of a file in an archive."""
    if info.size > LARGEST:
        raise op_error(ValueError, name, f"files of at most {LARGEST} bytes", f"{info.name!r} of {info.size}")
    source = opened.extractfile(info)
    if source is None:
        raise op_error(ValueError, name, "a file in the archive", repr(info.name))
    content = source.read(info.size)
    if len(content) != info.size:
        raise op_error(ValueError, name, f"{info.size} bytes of {info.name!r}", len(content))
    return content


class Members:
    """Files in a tar file by their names, read when they are asked for. Each process opens the archive itself."""

    def __init__(self, path: str, name: str) -> None:
        self._path = path
        self._name = name
        self._opened: Any = None
        self._owner = 0
        self._index: dict[str, tarfile.TarInfo] = {}
        with archive(path, name) as opened:
            # A link's file may lie anywhere: only plain files count.
            self._index = {info.name: info for info in opened if info.isfile()}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None, "_owner": 0}

    def __contains__(self, member_name: str) -> bool:
        return member_name in self._index

    def read(self, member_name: str) -> bytes:
        """The bytes of a file."""
        info = self._index.get(member_name)
        if info is None:
            raise op_error(ValueError, self._name, f"an archive with {member_name!r}", repr(self._path))
        if self._owner != os.getpid():  # a fork shares the position in the file
            self._opened = tarfile.open(self._path)  # noqa: SIM115 (closed by close)
            self._owner = os.getpid()
        try:
            return member(self._opened, info, self._name)
        except (tarfile.TarError, EOFError, OSError) as error:
            raise op_error(ValueError, self._name, "a tar file that is whole", f"{self._path!r}: {error}") from error

    def close(self) -> None:
        """Close the archive of this process."""
        if self._opened is not None and self._owner == os.getpid():
            self._opened.close()
        self._opened, self._owner = None, 0

    def __del__(self) -> None:
        self.close()
