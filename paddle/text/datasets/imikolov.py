"""The Penn Treebank as prepared by T. Mikolov."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from paddle._public import public
from paddle.io.dataset import Dataset
from paddle.text.datasets import _archives
from umiak.util.errors import op_error

URL = "https://dataset.bj.bcebos.com/imikolov%2Fsimple-examples.tgz"
MD5 = "30177ea32e27c525793142b6bf2c8e2d"
_FILES = "simple-examples/data/ptb.{}.txt"
_COUNTED = ("train", "valid")  # parts whose words get numbers
_BEGIN, _END = "<s>", "<e>"
_OP = "Imikolov"


def sentences(path: str, parts: Iterable[str]) -> dict[str, list[list[bytes]]]:
    """Words of the sentences of parts of the archive, ``"train"``, ``"valid"`` or ``"test"``."""
    texts = {}
    with _archives.open_tar(_OP, path) as archive:
        for part in parts:
            name = _FILES.format(part)
            with _archives.member(_OP, archive, name) as f:
                texts[part] = [line.encode().split() for _, line in _archives.lines(_OP, f, name)]
    return texts


def word_count(f: Iterable[bytes], word_freq: dict | None = None) -> dict:
    """Counts of the words of lines, with ``"<s>"`` and ``"<e>"`` for each, added to ``word_freq`` if it is given."""
    counts = Counter() if word_freq is None else word_freq
    for line in f:
        for word in (*line.split(), _BEGIN, _END):
            counts[word] = counts.get(word, 0) + 1
    return counts


def items(sentence: list[bytes], numbers: dict, data_type: str, window_size: int) -> list[tuple]:
    """Windows of a sentence, or the sentence and the same one word later, as numbers."""
    unknown = numbers[_archives.UNKNOWN]
    begin, end = numbers.get(_BEGIN, unknown), numbers.get(_END, unknown)
    words = [numbers.get(word, unknown) for word in sentence]
    if data_type == "SEQ":
        return [] if 0 < window_size <= len(words) else [([begin, *words], [*words, end])]
    words = [begin, *words, end]
    return [tuple(words[i : i + window_size]) for i in range(len(words) - window_size + 1)]


@public("paddle.text paddle.text.datasets")
class Imikolov(Dataset):
    """Penn Treebank for language models: sentences as n-grams or as sequences.

    Args:
        data_file: path of ``simple-examples.tgz``, with ``simple-examples/data/ptb.train.txt``, ``ptb.valid.txt``
            and ``ptb.test.txt``; None: it is downloaded.
        data_type: ``"NGRAM"`` for windows of words, ``"SEQ"`` for sentences and the same one word later.
        window_size: words of a window, 1 or more for ``"NGRAM"``; of ``"SEQ"`` the longest sentence, -1 for any.
        mode: ``"train"`` or ``"test"``.
        min_word_freq: words that occur this often or less, in the parts for training and validation, are unknown.
        download: whether to download the archive where no path is given.

    Returns:
        Items are tuples of int64 arrays: of shape [] for each word of a window, or two of one length.

    Attributes:
        word_idx: dict of words to their numbers, from the most frequent on: bytes, but ``"<s>"``, ``"<e>"`` and, as the
            last, ``"<unk>"``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: another mode, type or window, no path without download, or a file that is no such archive.
        RuntimeError: the archive could not be downloaded.

    Example:
        >>> import io, paddle, tarfile, tempfile
        >>> path = tempfile.mkdtemp() + "/simple-examples.tgz"
        >>> with tarfile.open(path, "w:gz") as archive:
        ...     for name in ("train", "valid"):
        ...         about = tarfile.TarInfo(f"./simple-examples/data/ptb.{name}.txt")
        ...         about.size = 12
        ...         archive.addfile(about, io.BytesIO(b" the the cat"))
        >>> words = paddle.text.Imikolov(path, window_size=3, min_word_freq=1)
        >>> [tuple(int(w) for w in words[i]) for i in range(len(words))]
        [(2, 0, 0), (0, 0, 3), (0, 3, 1)]
    """

    def __init__(
        self,
        data_file: str | None = None,
        data_type: str = "NGRAM",
        window_size: int = -1,
        mode: str = "train",
        min_word_freq: int = 50,
        download: bool = True,
    ) -> None:
        op = _OP
        if not isinstance(data_type, str) or data_type.upper() not in ("NGRAM", "SEQ"):
            raise op_error(ValueError, op, "a data_type of 'NGRAM' or 'SEQ'", repr(data_type))
        self.data_type = data_type.upper()
        self.mode = _archives.mode_of(op, mode, ("train", "test"))
        self.window_size, self.min_word_freq = window_size, min_word_freq
        if self.data_type == "NGRAM":
            _archives.positive(op, window_size, "window_size")
        self.data_file = _archives.found(op, data_file, download, URL, MD5)
        texts = sentences(self.data_file, dict.fromkeys((*_COUNTED, self.mode)))
        counts: dict = Counter()
        for part in _COUNTED:
            counts = word_count(map(b" ".join, texts[part]), counts)
        self.word_idx = _archives.by_frequency(counts, self.min_word_freq)
        self.data = [
            item for words in texts[self.mode] for item in items(words, self.word_idx, self.data_type, window_size)
        ]

    def word_count(self, f: Iterable[bytes], word_freq: dict | None = None) -> dict:
        """Count the words of lines, with ``"<s>"`` and ``"<e>"`` for each.

        Args:
            f: lines.
            word_freq: counts to which these are added; None: none.

        Returns:
            The counts.
        """
        return word_count(f, word_freq)

    def __getitem__(self, idx: int) -> tuple[np.ndarray, ...]:
        return tuple(np.array(d) for d in self.data[idx])

    def __len__(self) -> int:
        return len(self.data)
