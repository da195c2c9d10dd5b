"""Reviews of films: lists of numbers of words, and 0 for positive or 1 for negative reviews."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from paddle.dataset import common
from paddle.text.datasets import _archives
from paddle.text.datasets.imdb import MD5, URL, Imdb

Words = dict[str | bytes, int]


def tokenize(pattern: re.Pattern[str]) -> Iterator[list[bytes]]:
    """Words of the files of the archive whose names match a pattern, without punctuation and capitals."""
    with _archives.open_tar("imdb", common.download(URL, "imdb", MD5)) as archive:
        for entry in archive:
            if pattern.match(entry.name) and entry.isfile():
                yield Imdb._words(archive.extractfile(entry).read())  # type: ignore[union-attr]


def build_dict(pattern: re.Pattern[str], cutoff: int) -> Words:
    """Numbers of the words that occur more often than ``cutoff`` in the files that match, most frequent first."""
    return _archives.by_frequency(Counter(word for words in tokenize(pattern) for word in words), cutoff)


def word_dict() -> Words:
    """Numbers of the words that occur more often than 150 times in all reviews; ``"<unk>"`` is the last."""
    return build_dict(re.compile(r"aclImdb/(train|test)/(pos|neg)/.*\.txt$"), 150)


def _reader(mode: str, word_idx: Words) -> common.Reader:
    unknown = word_idx[_archives.UNKNOWN]
    reviews = [
        ([word_idx.get(word, unknown) for word in words], label)
        for label, kind in enumerate(("pos", "neg"))
        for words in tokenize(re.compile(rf"aclImdb/{mode}/{kind}/.*\.txt$"))
    ]
    return lambda: iter(reviews)


def train(word_idx: Words) -> common.Reader:
    """Reader of the reviews to train with, whose words have the numbers of a dict such as :func:`word_dict`'s."""
    return _reader("train", word_idx)


def test(word_idx: Words) -> common.Reader:
    """Reader of the reviews to test with, whose words have the numbers of a dict such as :func:`word_dict`'s."""
    return _reader("test", word_idx)


def fetch() -> None:
    """Download the archive."""
    common.download(URL, "imdb", MD5)
