"""Files from the network: weights and data sets, kept in a folder and checked by their sums."""

from __future__ import annotations

import hashlib
import logging
import os
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable

from paddle import _lazy
from paddle._public import public
from paddle.framework.io import replacing
from umiak.util.errors import op_error

WEIGHTS_HOME = os.path.expanduser("~/.cache/paddle/hapi/weights")
DATA_HOME = os.path.expanduser("~/.cache/paddle/dataset")
DOWNLOAD_RETRY_LIMIT = 3
_PIECE = 1 << 20


def is_url(path: str) -> bool:
    """Say whether a path is an address of the web (``http://``, ``https://``)."""
    return path.startswith(("http://", "https://"))


def check_and_create_dir(path: str) -> None:
    """Make the folder that a file lies in, if need be."""
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)


def _get_unique_endpoints(trainer_endpoints: Iterable[str]) -> set[str]:
    """The first address (``"host:port"``) of each host, whose process may download for the others."""
    first: dict[str, str] = {}
    for endpoint in trainer_endpoints:
        first.setdefault(endpoint.partition(":")[0], endpoint)
    return set(first.values())


def md5_of(path: str) -> str:
    """The md5 sum of a file, in hexadecimal digits."""
    digest = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as f:
        while piece := f.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _md5check(fullname: str, md5sum: str | None = None) -> bool:
    """Return whether a file has the sum, or none is given."""
    if md5sum is None:
        return True
    found = md5_of(fullname)
    if found != md5sum:
        logging.getLogger(__name__).warning("%s has md5 %s, not %s", fullname, found, md5sum)
    return found == md5sum


class _WrongSum(Exception):
    """Error of a file whose sum is not the one it should have."""


def _fetch(url: str, target: str, md5sum: str | None) -> None:
    """Download once; the file is there when it is whole and has its sum."""
    digest = hashlib.md5(usedforsecurity=False)
    with replacing(target) as f, urllib.request.urlopen(url) as source:
        while piece := source.read(_PIECE):
            digest.update(piece)
            f.write(piece)
        if md5sum is not None and digest.hexdigest() != md5sum:
            raise _WrongSum(f"a file with md5 {digest.hexdigest()} in place of {md5sum}")


def _download(url: str, path: str, md5sum: str | None = None, method: str = "get", save_name: str | None = None) -> str:
    """Download a file into a folder, unless it lies there with this sum; returns its path."""
    target = os.path.join(path, save_name or url.rstrip("/").rsplit("/", 1)[-1].partition("?")[0])
    if os.path.exists(target) and _md5check(target, md5sum):
        return target
    failure: Exception | None = None
    for _ in range(DOWNLOAD_RETRY_LIMIT):
        try:
            _fetch(url, target, md5sum)
            return target
        except (OSError, _WrongSum) as error:  # of the network, too
            failure = error
            if isinstance(error, urllib.error.HTTPError):
                error.close()
    required = f"{url} within {DOWNLOAD_RETRY_LIMIT} tries"
    hint = f"Without a network, place the file at {target}."
    raise op_error(RuntimeError, "download", required, failure, hint) from failure


def _top(names: list[str]) -> str | None:
    """Return the one folder or file that everything of an archive lies in, if there is one."""
    tops = {os.path.normpath(name).split(os.sep)[0] for name in names if name}
    return tops.pop() if len(tops) == 1 else None


def _decompress(fname: str) -> str:
    """Unpack an archive beside itself; returns the path of what it holds. Nothing is written outside the folder."""
    folder = os.path.dirname(os.path.abspath(fname))
    is_tar = tarfile.is_tarfile(fname)
    if not is_tar and not zipfile.is_zipfile(fname):
        raise op_error(TypeError, "decompress", "a tar or zip file", fname)
    with tarfile.open(fname) if is_tar else zipfile.ZipFile(fname) as archive:
        names = archive.getnames() if isinstance(archive, tarfile.TarFile) else archive.namelist()
        stem = os.path.basename(fname).partition(".")[0]
        top = _top(names)
        target = folder if top else os.path.join(folder, stem)
        for name in names:
            inside = os.path.realpath(os.path.join(target, name))
            if os.path.commonpath([inside, os.path.realpath(target)]) != os.path.realpath(target):
                raise op_error(ValueError, "decompress", "files inside the archive's folder", name)
        if isinstance(archive, tarfile.TarFile):
            archive.extractall(target, filter="data")
        else:
            archive.extractall(target)
    return os.path.join(folder, top) if top else target


def get_path_from_url(
    url: str,
    root_dir: str,
    md5sum: str | None = None,
    check_exist: bool = True,
    decompress: bool = True,
    method: str = "get",
) -> str:
    """Path of a file of the web in a folder; it is downloaded, and an archive unpacked, if need be.

    A file that is there is taken if ``check_exist`` and it has the sum. ``method`` is accepted: there is one way.
    """
    if not is_url(url):
        raise op_error(ValueError, "get_path_from_url", "an address of http:// or https://", repr(url))
    target = os.path.join(root_dir, url.rstrip("/").rsplit("/", 1)[-1].partition("?")[0])
    if not check_exist and os.path.exists(target):
        os.unlink(target)
    path = _download(url, root_dir, md5sum, method)
    if decompress and (tarfile.is_tarfile(path) or zipfile.is_zipfile(path)):
        return _decompress(path)
    return path


@public("paddle.utils.download")
def get_weights_path_from_url(url: str, md5sum: str | None = None) -> str:
    """Path of a file of weights, downloaded into ``~/.cache/paddle/hapi/weights`` unless it lies there.

    Args:
        url: its address, which begins with ``http://`` or ``https://``.
        md5sum: its sum; None: it is not checked.

    Returns:
        The path.

    Raises:
        ValueError: url is no such address.
        RuntimeError: it could not be downloaded, or has another sum.

    Example:
        >>> from paddle.utils.download import get_weights_path_from_url
        >>> get_weights_path_from_url("weights.pdparams")
        Traceback (most recent call last):
        ...
        ValueError: [get_weights_path_from_url] requires an address of http:// or https://, got 'weights.pdparams'
    """
    return get_path_from_url(url, WEIGHTS_HOME, md5sum)


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
