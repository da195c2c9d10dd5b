"""Translations between English and German."""

from __future__ import annotations

from collections import Counter
from typing import Any

from paddle._public import public
from paddle.text.datasets import _archives
from paddle.text.datasets._translation import BEGIN, END, UNKNOWN, Translation, by_id, word_ids
from umiak.util.errors import op_error

DATA_URL = "http://paddlemodels.bj.bcebos.com/wmt/wmt16.tar.gz"
DATA_MD5 = "0c38be43600334966403524a40dcd81e"
TOTAL_EN_WORDS, TOTAL_DE_WORDS = 11250, 19220
START_MARK, END_MARK, UNK_MARK = BEGIN, END, UNKNOWN
_MARKS = (BEGIN, END, UNKNOWN)
_LANGUAGES = {"en": TOTAL_EN_WORDS, "de": TOTAL_DE_WORDS}  # in the order of a line, with their most words
_OP = "WMT16"


@public("paddle.text paddle.text.datasets")
class WMT16(Translation):
    """WMT 2016, multimodal task: captions of pictures in English and German.

    Args:
        data_file: path of ``wmt16.tar.gz``, with ``wmt16/train``, ``wmt16/val`` and ``wmt16/test`` (an English and a
            German sentence on each line, with a tab between); None: it is downloaded.
        mode: ``"train"``, ``"test"`` or ``"val"``.
        src_dict_size: how many words of the source count, with the marks ``<s>``, ``<e>`` and ``<unk>``: the most
            frequent ones of the sentences for training. Above 0; at most 11250 of English and 19220 of German.
        trg_dict_size: how many words of the target count.
        lang: language of the source, ``"en"`` or ``"de"``.
        download: whether to download the archive where no path is given.

    Returns:
        Items are three int64 arrays: the source between ``<s>`` and ``<e>``, the target behind ``<s>``, and the target
        before ``<e>``. Lines that are no pair are left out.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: another mode, size or language, no path without download, or a file that is no such archive.
        RuntimeError: the archive could not be downloaded.

    Example:
        >>> import io, paddle, tarfile, tempfile
        >>> path = tempfile.mkdtemp() + "/wmt16.tar.gz"
        >>> with tarfile.open(path, "w:gz") as archive:
        ...     about = tarfile.TarInfo("wmt16/train")
        ...     about.size = 16
        ...     archive.addfile(about, io.BytesIO(b"a cat\\teine Katze"))
        >>> pairs = paddle.text.WMT16(path, src_dict_size=4, trg_dict_size=5, lang="de")
        >>> [part.tolist() for part in pairs[0]]
        [[0, 3, 2, 1], [0, 3, 4], [3, 4, 1]]
    """

    def __init__(
        self,
        data_file: str | None = None,
        mode: str = "train",
        src_dict_size: int = -1,
        trg_dict_size: int = -1,
        lang: str = "en",
        download: bool = True,
    ) -> None:
        self.mode = _archives.mode_of(_OP, mode, ("train", "test", "val"))
        if lang not in _LANGUAGES:
            raise op_error(ValueError, _OP, "a language of 'en' or 'de'", repr(lang))
        self.lang = lang
        self.data_file = _archives.found(_OP, data_file, download, DATA_URL, DATA_MD5)
        source, target = _LANGUAGES if lang == "en" else reversed(_LANGUAGES)
        self.src_dict_size = min(_archives.positive(_OP, src_dict_size, "src_dict_size"), _LANGUAGES[source])
        self.trg_dict_size = min(_archives.positive(_OP, trg_dict_size, "trg_dict_size"), _LANGUAGES[target])
        self.src_ids, self.trg_ids, self.trg_ids_next = [], [], []
        with _archives.open_tar(_OP, self.data_file) as archive:
            trained = self._pairs(archive, "train")
            self.src_dict = self._words([pair[source] for pair in trained], self.src_dict_size)
            self.trg_dict = self._words([pair[target] for pair in trained], self.trg_dict_size)
            unknown = _MARKS.index(UNKNOWN)
            for pair in trained if self.mode == "train" else self._pairs(archive, self.mode):
                sources = word_ids(pair[source], self.src_dict, unknown)
                self._add(sources, word_ids(pair[target], self.trg_dict, unknown), 0, 1)

    @staticmethod
    def _pairs(archive: Any, mode: str) -> list[dict[str, str]]:
        """Sentences by language."""
        name = f"wmt16/{mode}"
        with _archives.member(_OP, archive, name) as f:
            sentences = (line.strip().split("\t") for _, line in _archives.lines(_OP, f, name))
            return [dict(zip(_LANGUAGES, pair)) for pair in sentences if len(pair) == len(_LANGUAGES)]

    @staticmethod
    def _words(texts: list[str], size: int) -> dict[str, int]:
        counts = Counter(word for text in texts for word in text.split())
        frequent = [word for word, _ in counts.most_common(max(size - len(_MARKS), 0))]
        return _archives.numbered([*_MARKS, *frequent])

    def get_dict(self, lang: str, reverse: bool = False) -> dict:
        """Return the numbers of the words of a language; with ``reverse``, the words of numbers."""
        if lang not in _LANGUAGES:
            raise op_error(ValueError, _OP, "a language of 'en' or 'de'", repr(lang))
        return by_id(self.src_dict if lang == self.lang else self.trg_dict, reverse)
