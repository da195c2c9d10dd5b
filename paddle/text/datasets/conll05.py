"""Semantic roles of the CoNLL-2005 shared task."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from paddle._public import public
from paddle.io.dataset import Dataset
from paddle.text.datasets import _archives

DATA_URL = "http://paddlemodels.bj.bcebos.com/conll05st/conll05st-tests.tar.gz"
DATA_MD5 = "387719152ae52d60422c016e92a742fc"
WORDDICT_URL = "http://paddlemodels.bj.bcebos.com/conll05st%2FwordDict.txt"
WORDDICT_MD5 = "ea7fb7d4c75cc6254716f0177a506baa"
VERBDICT_URL = "http://paddlemodels.bj.bcebos.com/conll05st%2FverbDict.txt"
VERBDICT_MD5 = "0d2977293bbb6cbefab5b0f97db1e77c"
TRGDICT_URL = "http://paddlemodels.bj.bcebos.com/conll05st%2FtargetDict.txt"
TRGDICT_MD5 = "d8c7f03ceb5fc2e5a0fa7503a4353751"
EMB_URL = "http://paddlemodels.bj.bcebos.com/conll05st%2Femb"
EMB_MD5 = "bf436eb0faa1f6f9103017f8be57cdb7"
UNK_IDX = 0
_OP = "Conll05st"
_WORDS = "conll05st-release/test.wsj/words/test.wsj.words.gz"
_PROPS = "conll05st-release/test.wsj/props/test.wsj.props.gz"
_MARK = re.compile(r"^(?:\(([^()*\s]+))?\*(\))?$")  # "(A0*", "*", "*)", "(V*)"
_CONTEXT = 2  # words on either side of the predicate


@public("paddle.text paddle.text.datasets")
class Conll05st(Dataset):
    """CoNLL-2005 test set (Wall Street Journal): for each predicate of a sentence the roles of its words.

    Args:
        data_file: path of ``conll05st-tests.tar.gz``, with ``test.wsj.words.gz`` (a word on each line, an empty line
            after a sentence) and ``test.wsj.props.gz`` (predicates, and a column of brackets for each); None: it is
            downloaded, like the others.
        word_dict_file: path of a file with a word on each line, the unknown one first.
        verb_dict_file: path of a file with a predicate on each line.
        target_dict_file: path of a file with a label on each line: ``B-A0``, ``I-A0``, …, ``O``.
        emb_file: path of a file with vectors of words, which :meth:`get_embedding` returns.
        download: whether to download files whose paths are not given.

    Returns:
        Items are tuples of nine int64 arrays as long as the sentence: words; the words two and one before the
        predicate, itself, one and two behind it; the predicate; whether a word is one of these five; labels.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: no path without download, or a file with other lines.
        RuntimeError: a file could not be downloaded.

    Example:
        >>> import gzip, io, os, paddle, tarfile, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> dicts = {"words": "<unk>\\nbos\\neos\\nit\\nrains", "verbs": "rain", "tags": "B-V\\nI-V\\nO"}
        >>> for name, text in dicts.items():
        ...     with open(os.path.join(folder, name), "w") as f:
        ...         _ = f.write(text)
        >>> with tarfile.open(folder + "/tests.tar.gz", "w:gz") as archive:
        ...     for name, text in (("words", b"it\\nrains\\n\\n"), ("props", b"- *\\nrain (V*)\\n\\n")):
        ...         data = gzip.compress(text)
        ...         about = tarfile.TarInfo(f"conll05st-release/test.wsj/{name}/test.wsj.{name}.gz")
        ...         about.size = len(data)
        ...         archive.addfile(about, io.BytesIO(data))
        >>> paths = [os.path.join(folder, name) for name in ("tests.tar.gz", "words", "verbs", "tags")]
        >>> roles = paddle.text.Conll05st(*paths, emb_file=paths[1])
        >>> [part.tolist() for part in (roles[0][0], roles[0][6], roles[0][7], roles[0][8])]
        [[3, 4], [0, 0], [1, 1], [2, 0]]
    """

    def __init__(
        self,
        data_file: str | None = None,
        word_dict_file: str | None = None,
        verb_dict_file: str | None = None,
        target_dict_file: str | None = None,
        emb_file: str | None = None,
        download: bool = True,
    ) -> None:
        self.data_file = _archives.found(_OP, data_file, download, DATA_URL, DATA_MD5)
        self.word_dict_file = _archives.found(_OP, word_dict_file, download, WORDDICT_URL, WORDDICT_MD5)
        self.verb_dict_file = _archives.found(_OP, verb_dict_file, download, VERBDICT_URL, VERBDICT_MD5)
        self.target_dict_file = _archives.found(_OP, target_dict_file, download, TRGDICT_URL, TRGDICT_MD5)
        self.emb_file = emb_file
        if emb_file is not None or download:
            self.emb_file = _archives.found(_OP, emb_file, download, EMB_URL, EMB_MD5)
        self.word_dict = _archives.numbered(self._entries(self.word_dict_file))
        self.predicate_dict = _archives.numbered(self._entries(self.verb_dict_file))
        self.label_dict = self._labels()
        self.sentences: list[list[str]] = []
        self.predicates: list[str] = []
        self.labels: list[list[str]] = []
        self._read()

    @staticmethod
    def _entries(path: str) -> list[str]:
        with open(path, "rb") as f:
            return [line.strip() for _, line in _archives.lines(_OP, f, repr(path))]

    def _labels(self) -> dict[str, int]:
        """Numbers of the labels: begin and inside of each role, in the order of the file, and outside."""
        roles = dict.fromkeys(entry[2:] for entry in self._entries(self.target_dict_file) if entry[:2] in ("B-", "I-"))
        return _archives.numbered([f"{place}-{role}" for role in roles for place in "BI"] + ["O"])

    def _read(self) -> None:
        with (
            _archives.open_tar(_OP, self.data_file) as archive,
            _archives.member(_OP, archive, _WORDS) as packed_words,
            _archives.member(_OP, archive, _PROPS) as packed_props,
            gzip.GzipFile(fileobj=packed_words) as words,
            gzip.GzipFile(fileobj=packed_props) as props,
        ):
            for number, sentence, columns in self._blocks(words, props):
                self._add(number, sentence, columns)

    @staticmethod
    def _blocks(words: Any, props: Any) -> Iterator[tuple[int, list[str], list[list[str]]]]:
        """Sentences, the lines behind their ends, and the rows of their columns."""
        sentence: list[str] = []
        rows: list[list[str]] = []
        number = 0
        others = _archives.lines(_OP, props, _PROPS)
        for number, line in _archives.lines(_OP, words, _WORDS):
            word, row = line.strip(), next(others, (0, ""))[1].split()
            if bool(word) != bool(row) or (rows and row and len(row) != len(rows[0])):
                raise _archives.wrong_line(_OP, _PROPS, number, f"a row of columns for {word!r}", row)
            if word:
                sentence.append(word)
                rows.append(row)
            elif sentence:
                yield number, sentence, rows
                sentence, rows = [], []
        if sentence:
            yield number + 1, sentence, rows

    def _add(self, number: int, sentence: list[str], rows: list[list[str]]) -> None:
        """One item for each predicate of a sentence, which are those that are not "-" in the first column."""
        verbs = [row[0] for row in rows if row[0] != "-"]
        if len(verbs) != len(rows[0]) - 1:
            required = f"a column for each of {len(verbs)} predicates"
            raise _archives.wrong_line(_OP, _PROPS, number, required, f"{len(rows[0]) - 1} in the sentence above")
        for column, verb in enumerate(verbs, 1):
            labels, inside = [], ""
            for place, row in enumerate(rows):
                mark = _MARK.match(row[column])
                if mark is None or (mark[1] and inside) or (mark[2] and not (mark[1] or inside)):
                    where = number - len(rows) + place
                    raise _archives.wrong_line(_OP, _PROPS, where, "brackets as in (A0*, * and *)", row[column])
                role = mark[1] or inside
                labels.append(f"{'B' if mark[1] else 'I'}-{role}" if role else "O")
                inside = "" if mark[2] else role
            if "B-V" not in labels:
                raise _archives.wrong_line(_OP, _PROPS, number, f"(V*) for the predicate {verb!r}", labels)
            unknown = next((label for label in labels if label not in self.label_dict), None)
            if unknown or verb not in self.predicate_dict:
                what = f"labels of {self.target_dict_file!r} and predicates of {self.verb_dict_file!r}"
                raise _archives.wrong_line(_OP, _PROPS, number, what, unknown or verb)
            self.sentences.append(sentence)
            self.predicates.append(verb)
            self.labels.append(labels)

    def __getitem__(self, idx: int) -> tuple[np.ndarray, ...]:
        sentence, labels = self.sentences[idx], self.labels[idx]
        size, at = len(sentence), labels.index("B-V")
        padded = ["bos"] * _CONTEXT + sentence + ["eos"] * _CONTEXT
        numbers = [self.word_dict.get(w, UNK_IDX) for w in padded]
        near = [[n] * size for n in numbers[at : at + 2 * _CONTEXT + 1]]
        predicate = [self.predicate_dict[self.predicates[idx]]] * size
        marks = [int(abs(i - at) <= _CONTEXT) for i in range(size)]
        parts = [numbers[_CONTEXT:-_CONTEXT], *near, predicate, marks, [self.label_dict[w] for w in labels]]
        return tuple(np.array(part) for part in parts)

    def __len__(self) -> int:
        return len(self.sentences)

    def get_dict(self) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        """Return the numbers of words, predicates and labels."""
        return self.word_dict, self.predicate_dict, self.label_dict

    def get_embedding(self) -> str | None:
        """Return the path of the file with vectors of words."""
        return self.emb_file
