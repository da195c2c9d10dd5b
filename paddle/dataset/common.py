"""Files of data sets in the cache, and samples in files."""

from __future__ import annotations

import glob
import importlib
import itertools
import os
import pickle
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

from paddle.utils.download import DATA_HOME, _download, md5_of
from umiak.util.errors import op_error

HOME = os.path.expanduser("~")
Reader = Callable[[], Iterator[Any]]


def must_mkdirs(path: str) -> None:
    """Make a folder, and those it lies in, unless it is there."""
    os.makedirs(path, exist_ok=True)


def md5file(fname: str) -> str:
    """The md5 sum of a file, in hexadecimal digits."""
    return md5_of(fname)


def download(url: str, module_name: str, md5sum: str | None, save_name: str | None = None) -> str:
    """Path of a file in the cache; it is downloaded unless it lies there with this sum.

    Args:
        url: its address.
        module_name: its folder in ``DATA_HOME``.
        md5sum: its sum; None: it is not checked.
        save_name: its name in the folder; None: the end of the address.

    Raises:
        RuntimeError: it could not be downloaded; the error says where to place it.
    """
    folder = os.path.join(DATA_HOME, module_name)
    must_mkdirs(folder)
    return _download(url, folder, md5sum, save_name=save_name)


def fetch_all() -> None:
    """Download the files of all data sets that say how (``fetch``)."""
    for module in pkgutil.iter_modules([os.path.dirname(__file__)]):
        fetch = getattr(importlib.import_module(f"{__package__}.{module.name}"), "fetch", None)
        if fetch is not None:
            fetch()


def split(
    reader: Callable[[], Iterable[Any]],
    line_count: int,
    suffix: str = "%05d.pickle",
    dumper: Callable[[list, IO[bytes]], Any] = pickle.dump,
) -> None:
    """Write the samples of a reader to files, as lists.

    Args:
        reader: gives the samples.
        line_count: how many samples a file has.
        suffix: path of a file, with a place for its number.
        dumper: writes a list to an opened file.

    Raises:
        ValueError: line_count is below 1, or dumper cannot be called.
    """
    if line_count < 1 or not callable(dumper):
        raise op_error(ValueError, "split", "a line_count of at least 1 and a function as dumper", (line_count, dumper))
    samples = iter(reader())
    for number in itertools.count():
        part = list(itertools.islice(samples, line_count))
        if not part:
            return
        with open(suffix % number, "wb") as f:
            dumper(part, f)


def cluster_files_reader(
    files_pattern: str, trainer_count: int, trainer_id: int, loader: Callable[[IO[bytes]], Iterable[Any]] = pickle.load
) -> Reader:
    """A reader of a process's share of the files that :func:`split` wrote.

    Args:
        files_pattern: pattern of their paths.
        trainer_count: how many processes there are.
        trainer_id: which of them this one is, from 0 on: it reads every ``trainer_count``-th file.
        loader: reads a list from an opened file. Pickles run what they name: read those alone that you trust.

    Raises:
        ValueError: trainer_id is not below trainer_count, or loader cannot be called.
    """
    if not 0 <= trainer_id < trainer_count or not callable(loader):
        required = "a trainer_id below trainer_count and a function as loader"
        raise op_error(ValueError, "cluster_files_reader", required, (trainer_id, trainer_count, loader))

    def read() -> Iterator[Any]:
        for path in sorted(glob.glob(files_pattern))[trainer_id::trainer_count]:
            with open(path, "rb") as f:
                samples = list(loader(f))
            yield from samples

    return read


def repeated(reader: Reader, cycle: bool) -> Reader:
    """The reader, or one that begins anew at its end."""

    def read() -> Iterator[Any]:
        while True:
            yield from reader()

    return read if cycle else reader
