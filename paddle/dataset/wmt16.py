"""Translations between English and German: source, target, and target one word later, as lists of numbers."""

from __future__ import annotations

from paddle.dataset import common
from paddle.text.datasets.wmt16 import DATA_MD5, DATA_URL, TOTAL_DE_WORDS, TOTAL_EN_WORDS, WMT16


def _path() -> str:
    return common.download(DATA_URL, "wmt16", DATA_MD5)


def _reader(mode: str, src_dict_size: int, trg_dict_size: int, src_lang: str) -> common.Reader:
    pairs = WMT16(_path(), mode, src_dict_size, trg_dict_size, src_lang)
    return lambda: zip(pairs.src_ids, pairs.trg_ids, pairs.trg_ids_next)


def train(src_dict_size: int, trg_dict_size: int, src_lang: str = "en") -> common.Reader:
    """Reader of the pairs to train with, from ``"en"`` or ``"de"``, of which so many words count."""
    return _reader("train", src_dict_size, trg_dict_size, src_lang)


def test(src_dict_size: int, trg_dict_size: int, src_lang: str = "en") -> common.Reader:
    """Reader of the pairs to test with, from ``"en"`` or ``"de"``, of which so many words count."""
    return _reader("test", src_dict_size, trg_dict_size, src_lang)


def validation(src_dict_size: int, trg_dict_size: int, src_lang: str = "en") -> common.Reader:
    """Reader of the pairs for validation, from ``"en"`` or ``"de"``, of which so many words count."""
    return _reader("val", src_dict_size, trg_dict_size, src_lang)


def get_dict(lang: str, dict_size: int, reverse: bool = False) -> dict:
    """Numbers of the words of ``"en"`` or ``"de"``; with ``reverse``, words by their numbers."""
    return WMT16(_path(), "train", dict_size, dict_size, lang).get_dict(lang, reverse)


def fetch() -> None:
    """Download the archive."""
    _path()
