"""The Penn Treebank: n-grams, tuples of numbers of words, or pairs of sequences."""

from __future__ import annotations

from paddle.dataset import common
from paddle.text.datasets.imikolov import MD5, URL, Imikolov, items, sentences, word_count


class DataType:
    """Kinds of samples.

    Example:
        >>> from paddle.dataset.imikolov import DataType
        >>> DataType.NGRAM, DataType.SEQ
        (1, 2)
    """

    NGRAM = 1
    SEQ = 2


_NAMES = {DataType.NGRAM: "NGRAM", DataType.SEQ: "SEQ"}


def _path() -> str:
    return common.download(URL, "imikolov", MD5)


def build_dict(min_word_freq: int = 50) -> dict:
    """Numbers of the words that occur more often in the parts for training and validation, most frequent first."""
    return Imikolov(_path(), "SEQ", min_word_freq=min_word_freq).word_idx


def _reader(part: str, word_idx: dict, n: int, data_type: int) -> common.Reader:
    if data_type not in _NAMES:
        raise ValueError(f"[imikolov] requires DataType.NGRAM or DataType.SEQ for data_type, got {data_type!r}")
    texts = sentences(_path(), (part,))[part]
    samples = [item for sentence in texts for item in items(sentence, word_idx, _NAMES[data_type], n)]
    return lambda: iter(samples)


def train(word_idx: dict, n: int, data_type: int = DataType.NGRAM) -> common.Reader:
    """Reader of the part to train with: windows of ``n`` words, or sentences up to ``n`` and the same one later."""
    return _reader("train", word_idx, n, data_type)


def test(word_idx: dict, n: int, data_type: int = DataType.NGRAM) -> common.Reader:
    """Reader of the part for validation, with samples as of :func:`train`."""
    return _reader("valid", word_idx, n, data_type)


def fetch() -> None:
    """Download the archive."""
    _path()
