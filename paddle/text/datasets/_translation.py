"""Pairs of sentences: what both datasets of translations have in common."""

from __future__ import annotations

import numpy as np

from paddle.io.dataset import Dataset
from paddle.text.datasets import _archives

BEGIN, END = "<s>", "<e>"


class Translation(Dataset):
    """Dataset of pairs of sentences, as numbers of words.

    Example:
        >>> from paddle.text.datasets._translation import Translation
        >>> pairs = Translation()
        >>> pairs.src_ids, pairs.trg_ids, pairs.trg_ids_next = [[0, 3, 1]], [[0, 4]], [[4, 1]]
        >>> [part.tolist() for part in pairs[0]]
        [[0, 3, 1], [0, 4], [4, 1]]
    """

    src_ids: list[list[int]]
    trg_ids: list[list[int]]
    trg_ids_next: list[list[int]]

    def _add(self, source: list[int], target: list[int], begin: int, end: int) -> None:
        self.src_ids.append([begin, *source, end])
        self.trg_ids.append([begin, *target])
        self.trg_ids_next.append([*target, end])

    def __getitem__(self, idx: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.array(self.src_ids[idx]), np.array(self.trg_ids[idx]), np.array(self.trg_ids_next[idx])

    def __len__(self) -> int:
        return len(self.src_ids)


def word_ids(text: str, words: dict[str, int], unknown: int) -> list[int]:
    """Numbers of the words of a sentence."""
    return [words.get(word, unknown) for word in text.split()]


def by_id(words: dict[str, int], reverse: bool) -> dict:
    """Return a dict of words to numbers, or with ``reverse`` of numbers to words."""
    return {number: word for word, number in words.items()} if reverse else words


UNKNOWN = _archives.UNKNOWN
