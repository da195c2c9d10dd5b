"""Reviews of films."""

from __future__ import annotations

import re
import string
import tarfile
from collections import Counter

import numpy as np

from paddle._public import public
from paddle.io.dataset import Dataset
from paddle.text.datasets import _archives
from umiak.util.errors import op_error

URL = "https://dataset.bj.bcebos.com/imdb%2FaclImdb_v1.tar.gz"
MD5 = "7c2ac02c03563afcf9b574c7e56c153a"
_LARGEST = 1 << 24  # bytes of a review
_REVIEW = re.compile(r"aclImdb/(train|test)/(pos|neg)/.*\.txt$")
_PUNCTUATION = string.punctuation.encode()


@public("paddle.text paddle.text.datasets")
class Imdb(Dataset):
    """Large movie review dataset: reviews of films, and whether they are positive.

    Args:
        data_file: path of ``aclImdb_v1.tar.gz``, with files ``aclImdb/train/pos/*.txt`` and so on; None: it is
            downloaded.
        mode: ``"train"`` or ``"test"``.
        cutoff: words that occur this often or less, in all reviews, are unknown.
        download: whether to download the archive where no path is given.

    Returns:
        Items are ``(words, label)``, int64 arrays of any length and ``[1]``; the label is 0 for a positive review, and
        positive reviews come first.

    Attributes:
        word_idx: dict of words (bytes) to their numbers, from the most frequent on; ``"<unk>"`` is the last.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: another mode, no path without download, or a file that is no such archive.
        RuntimeError: the archive could not be downloaded.

    Example:
        >>> import io, paddle, tarfile, tempfile
        >>> path = tempfile.mkdtemp() + "/aclImdb_v1.tar.gz"
        >>> with tarfile.open(path, "w:gz") as archive:
        ...     for kind, text in (("pos", b"Good!"), ("neg", b"Not good.")):
        ...         about = tarfile.TarInfo(f"aclImdb/train/{kind}/0_9.txt")
        ...         about.size = len(text)
        ...         archive.addfile(about, io.BytesIO(text))
        >>> reviews = paddle.text.Imdb(path, cutoff=0)
        >>> [(words.tolist(), label.tolist()) for words, label in (reviews[0], reviews[1])]
        [([0], [0]), ([1, 0], [1])]
    """

    def __init__(
        self, data_file: str | None = None, mode: str = "train", cutoff: int = 150, download: bool = True
    ) -> None:
        op = "Imdb"
        self.mode = _archives.mode_of(op, mode, ("train", "test"))
        self.data_file = _archives.found(op, data_file, download, URL, MD5)
        reviews: dict[str, list[list[bytes]]] = {"pos": [], "neg": []}
        counts: Counter = Counter()
        try:
            with _archives.open_tar(op, self.data_file) as archive:
                for entry in archive:
                    review = _REVIEW.match(entry.name)
                    if not review or not entry.isfile():
                        continue
                    if entry.size > _LARGEST:
                        raise op_error(ValueError, op, f"reviews of at most {_LARGEST} bytes", f"{entry.name}")
                    words = self._words(archive.extractfile(entry).read())  # type: ignore[union-attr]
                    counts.update(words)
                    if review[1] == self.mode:
                        reviews[review[2]].append(words)
        except (EOFError, OSError, tarfile.TarError) as error:
            raise op_error(ValueError, op, "a whole archive", f"{self.data_file!r}: {error}") from error
        if not counts:
            raise op_error(ValueError, op, "reviews aclImdb/train/pos/*.txt", f"none in {self.data_file!r}")
        self.word_idx = _archives.by_frequency(counts, cutoff)
        unknown = self.word_idx[_archives.UNKNOWN]
        both = reviews["pos"] + reviews["neg"]
        self.docs = [[self.word_idx.get(w, unknown) for w in words] for words in both]
        self.labels = [0] * len(reviews["pos"]) + [1] * len(reviews["neg"])

    @staticmethod
    def _words(text: bytes) -> list[bytes]:
        return text.translate(None, _PUNCTUATION).lower().split()

    def __getitem__(self, idx: int) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.docs[idx], np.int64), np.array([self.labels[idx]])

    def __len__(self) -> int:
        return len(self.docs)
