"""Archives of the datasets of texts: finding them, and their lines."""

from __future__ import annotations

import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, Any

from paddle.utils.download import DATA_HOME, get_path_from_url
from umiak.util.errors import op_error

_LONGEST_LINE = 1 << 20  # bytes; a file of one endless line is none of these
UNKNOWN = "<unk>"


def mode_of(op: str, mode: Any, modes: tuple[str, ...]) -> str:
    """Return the part of a dataset by its name, of which capitals do not matter."""
    if not isinstance(mode, str) or mode.lower() not in modes:
        raise op_error(ValueError, op, f"a mode of {' or '.join(map(repr, modes))}", repr(mode))
    return mode.lower()


def found(op: str, path: str | None, download: bool, url: str, md5: str) -> str:
    """Return the path of a file: the one that is given, or that of a download."""
    if path is not None:
        if not os.path.isfile(path):
            raise FileNotFoundError(f"[{op}] requires a file, got {path!r}, which does not exist")
        return path
    if not download:
        raise op_error(ValueError, op, "the path of a file where download=False", None)
    return get_path_from_url(url, os.path.join(DATA_HOME, op.lower()), md5, decompress=False)


def open_tar(op: str, path: str) -> tarfile.TarFile:
    """Open an archive, of which nothing is unpacked."""
    try:
        archive = tarfile.open(path)  # noqa: SIM115  (callers close it)
        archive.getmembers()
        return archive
    except (EOFError, OSError, tarfile.TarError, zlib.error) as error:
        raise op_error(ValueError, op, "a tar archive", f"{path!r}: {error}") from error


def open_zip(op: str, path: str) -> zipfile.ZipFile:
    """Open an archive, of which nothing is unpacked."""
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise op_error(ValueError, op, "a zip archive", f"{path!r}: {error}") from error


def member(op: str, archive: tarfile.TarFile | zipfile.ZipFile, name: str) -> IO[bytes]:
    """Open a file of an archive, by its path there or the end of it."""
    names = archive.getnames() if isinstance(archive, tarfile.TarFile) else archive.namelist()
    plain = [n for n in names if os.path.normpath(n) == name] or [n for n in names if n.endswith("/" + name)]
    if len(plain) != 1:
        where = archive.name if isinstance(archive, tarfile.TarFile) else archive.filename
        raise op_error(ValueError, op, f"one file {name} in {where!r}", f"{len(plain)} of {len(names)} files")
    f = archive.extractfile(plain[0]) if isinstance(archive, tarfile.TarFile) else archive.open(plain[0])
    if f is None:
        raise op_error(ValueError, op, f"a file {name}", "a folder or a link")
    return f


def lines(op: str, f: IO[bytes], name: str, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Lines of a file without their ends, with their numbers from 1."""
    number = 0
    while line := _line(op, f, name, number + 1):
        number += 1
        try:
            yield number, line.decode(encoding).rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise wrong_line(op, name, number, f"text in {encoding}", error) from error


def _line(op: str, f: IO[bytes], name: str, number: int) -> bytes:
    try:
        line = f.readline(_LONGEST_LINE)
    except (EOFError, OSError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as error:
        raise wrong_line(op, name, number, "a line", f"{type(error).__name__}: {error}") from error
    if len(line) == _LONGEST_LINE:
        raise wrong_line(op, name, number, f"less than {_LONGEST_LINE} bytes", "more")
    return line


def wrong_line(op: str, name: str, number: int, required: str, got: Any) -> Exception:
    """Build the error of a line."""
    return op_error(ValueError, op, f"{required} in {name}, line {number}", got)


def positive(op: str, size: Any, arg_name: str) -> int:
    """Return a size that must be above 0."""
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        raise op_error(ValueError, op, f"a {arg_name} above 0", size)
    return size


def by_frequency(counts: dict[Any, int], above: int) -> dict[Any, int]:
    """Numbers of the words that occur more often, from the most frequent on, and of the unknown one behind them."""
    kept = sorted((w for w in counts.items() if w[1] > above), key=lambda item: (-item[1], _text(item[0])))
    numbers = {word: i for i, (word, _) in enumerate(kept)}
    numbers[UNKNOWN] = len(numbers)
    return numbers


def _text(word: str | bytes) -> bytes:
    return word if isinstance(word, bytes) else word.encode()


def numbered(words: Iterable[Any]) -> dict[Any, int]:
    """Numbers of words in their order."""
    return {word: i for i, word in enumerate(words)}
