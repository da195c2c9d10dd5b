"""Translations from English to French: the source, the target, and the target one word later, as lists of numbers."""

from __future__ import annotations

from paddle.dataset import common
from paddle.text.datasets.wmt14 import MD5_TRAIN, UNK_IDX, URL_TRAIN, WMT14


def _pairs(mode: str, dict_size: int) -> WMT14:
    return WMT14(common.download(URL_TRAIN, "wmt14", MD5_TRAIN), mode, dict_size)


def _reader(mode: str, dict_size: int) -> common.Reader:
    pairs = _pairs(mode, dict_size)
    return lambda: zip(pairs.src_ids, pairs.trg_ids, pairs.trg_ids_next)


def train(dict_size: int) -> common.Reader:
    """Reader of the pairs to train with, of which ``dict_size`` words count."""
    return _reader("train", dict_size)


def test(dict_size: int) -> common.Reader:
    """Reader of the pairs to test with, of which ``dict_size`` words count."""
    return _reader("test", dict_size)


def gen(dict_size: int) -> common.Reader:
    """Reader of the pairs to generate translations for, of which ``dict_size`` words count."""
    return _reader("gen", dict_size)


def get_dict(dict_size: int, reverse: bool = True) -> tuple[dict, dict]:
    """Words of the source and of the target by their numbers; without ``reverse``, numbers by words."""
    return _pairs("gen", dict_size).get_dict(reverse)


def fetch() -> None:
    """Download the archive."""
    common.download(URL_TRAIN, "wmt14", MD5_TRAIN)
