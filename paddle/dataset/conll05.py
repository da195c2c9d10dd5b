"""Semantic roles: tuples of nine lists of numbers, as :class:`paddle.text.Conll05st` describes them."""

from __future__ import annotations

from paddle.dataset import common
from paddle.text.datasets import conll05 as _files
from paddle.text.datasets.conll05 import UNK_IDX, Conll05st


def _data() -> Conll05st:
    published = (
        (_files.DATA_URL, _files.DATA_MD5),
        (_files.WORDDICT_URL, _files.WORDDICT_MD5),
        (_files.VERBDICT_URL, _files.VERBDICT_MD5),
        (_files.TRGDICT_URL, _files.TRGDICT_MD5),
    )
    data, words, verbs, labels = (common.download(url, "conll05st", md5) for url, md5 in published)
    return Conll05st(data, words, verbs, labels, download=False)


def get_dict() -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Numbers of words, predicates and labels."""
    return _data().get_dict()


def get_embedding() -> str:
    """Path of the file with vectors of words."""
    return common.download(_files.EMB_URL, "conll05st", _files.EMB_MD5)


def test() -> common.Reader:
    """Reader of the test set, the only one that is published."""
    data = _data()
    return lambda: (tuple(part.tolist() for part in data[i]) for i in range(len(data)))


def fetch() -> None:
    """Download the files."""
    _data()
    get_embedding()
