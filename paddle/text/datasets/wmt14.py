"""Translations from English to French."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.text.datasets import _archives
from paddle.text.datasets._translation import BEGIN, END, UNKNOWN, Translation, by_id, word_ids
from umiak.util.errors import op_error

URL_TRAIN = "http://paddlemodels.bj.bcebos.com/wmt/wmt14.tgz"
MD5_TRAIN = "0791583d57d5beb693b9414c5b36798c"
START, UNK, UNK_IDX = BEGIN, UNKNOWN, 2
_LONGEST = 80  # words; longer pairs are left out
_OP = "WMT14"


@public("paddle.text paddle.text.datasets")
class WMT14(Translation):
    """WMT 2014, a small part: pairs of sentences in English and French.

    Args:
        data_file: path of ``wmt14.tgz``, with ``train/train``, ``test/test`` and ``gen/gen`` (a pair on each line, with
            a tab between) and ``src.dict`` and ``trg.dict`` (a word on each line, begin with ``<s>``, ``<e>``,
            ``<unk>``); None: it is downloaded.
        mode: ``"train"``, ``"test"`` or ``"gen"``.
        dict_size: how many words of the dictionaries count, above 0; others are ``<unk>``.
        download: whether to download the archive where no path is given.

    Returns:
        Items are three int64 arrays: the source between ``<s>`` and ``<e>``, the target behind ``<s>``, and the target
        before ``<e>``. Lines that are no pair, and sentences of more than 80 words, are left out.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: another mode or size, no path without download, or a file that is no such archive.
        RuntimeError: the archive could not be downloaded.

    Example:
        >>> import io, paddle, tarfile, tempfile
        >>> path = tempfile.mkdtemp() + "/wmt14.tgz"
        >>> words = b"<s>\\n<e>\\n<unk>"
        >>> files = {"train/train": b"cat\\tchat", "src.dict": words + b"\\ncat", "trg.dict": words}
        >>> with tarfile.open(path, "w:gz") as archive:
        ...     for name, text in files.items():
        ...         about = tarfile.TarInfo(f"wmt14/{name}")
        ...         about.size = len(text)
        ...         archive.addfile(about, io.BytesIO(text))
        >>> pairs = paddle.text.WMT14(path, dict_size=4)
        >>> [part.tolist() for part in pairs[0]]
        [[0, 3, 1], [0, 2], [2, 1]]
    """

    def __init__(
        self, data_file: str | None = None, mode: str = "train", dict_size: int = -1, download: bool = True
    ) -> None:
        self.mode = _archives.mode_of(_OP, mode, ("train", "test", "gen"))
        self.dict_size = dict_size
        self.data_file = _archives.found(_OP, data_file, download, URL_TRAIN, MD5_TRAIN)
        _archives.positive(_OP, dict_size, "dict_size")
        self.src_ids, self.trg_ids, self.trg_ids_next = [], [], []
        with _archives.open_tar(_OP, self.data_file) as archive:
            self.src_dict, self.trg_dict = (self._words(archive, name) for name in ("src.dict", "trg.dict"))
            name = f"{self.mode}/{self.mode}"
            with _archives.member(_OP, archive, name) as f:
                for _, line in _archives.lines(_OP, f, name):
                    self._add_line(line)

    def _words(self, archive: Any, name: str) -> dict[str, int]:
        words: dict[str, int] = {}
        with _archives.member(_OP, archive, name) as f:
            for number, line in _archives.lines(_OP, f, name):
                if number > self.dict_size:
                    break
                words[line.strip()] = number - 1
        for mark in (BEGIN, END):
            if mark not in words:
                raise op_error(ValueError, _OP, f"{mark} among the first {self.dict_size} words of {name}", list(words))
        return words

    def _add_line(self, line: str) -> None:
        sentences = line.strip().split("\t")
        if len(sentences) != 2:
            return
        source, target = sentences
        sources = word_ids(source, self.src_dict, UNK_IDX)
        targets = word_ids(target, self.trg_dict, UNK_IDX)
        if len(sources) + 2 <= _LONGEST and len(targets) <= _LONGEST:
            self._add(sources, targets, self.trg_dict[BEGIN], self.trg_dict[END])

    def get_dict(self, reverse: bool = False) -> tuple[dict, dict]:
        """Return the numbers of source and target words; with ``reverse``, the words of numbers."""
        return by_id(self.src_dict, reverse), by_id(self.trg_dict, reverse)
