"""Documents packed behind one another into rows of one length, with masks that keep them apart (FlashMask)."""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from config import BadModel

from umiak import masks

IGNORED = -100  # a label without a loss


class Row(NamedTuple):
    """Tokens, positions in their documents and labels, [length]; for each key the first query that does not see it,
    [heads, length, 1].
    """

    ids: np.ndarray
    positions: np.ndarray
    labels: np.ndarray
    hidden: np.ndarray


def documents(path: Path) -> list[str]:
    """Texts of a file: the field ``text`` of each line of ``.jsonl``, or paragraphs between empty lines.

    Raises:
        BadModel: a file that cannot be read, or a line without a text.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise BadModel(path, "a text file in UTF-8", error) from None
    if path.suffix == ".jsonl":
        texts = [_text_of(path, n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    else:
        texts = [part.strip() for part in text.split("\n\n")]
    return [t for t in texts if t]


def _text_of(path: Path, number: int, line: str) -> str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise BadModel(path, f'an object with a "text" in line {number}', line[:80])
    return value["text"]


def pack(documents: Sequence[Sequence[int]], length: int) -> list[list[Sequence[int]]]:
    """Put documents into rows of ``length`` tokens: the longest first, each into the fullest row with room for it.
    Longer ones are cut into pieces.
    """
    pieces = [d[at : at + length] for d in documents for at in range(0, len(d), length)]
    rows: list[list[Sequence[int]]] = []
    rooms: list[tuple[int, int]] = []  # what is left of a row and its number, sorted
    for piece in sorted(pieces, key=len, reverse=True):
        at = bisect_left(rooms, (len(piece), -1))
        if at == len(rooms):
            rows.append([])
            rooms.append((length, len(rows) - 1))
        room, row = rooms.pop(at)
        rows[row].append(piece)
        insort(rooms, (room - len(piece), row))
    return rows


def arrays(row: Sequence[Sequence[int]], length: int) -> Row:
    """The arrays of a row. What is left of it is a document without labels."""
    left = length - sum(map(len, row))
    parts = [*row, [0] * left] if left else list(row)
    labels = [[*part[1:], IGNORED] for part in row] + [[IGNORED] * left]
    return Row(
        np.concatenate([np.asarray(p, np.int64) for p in parts]),
        np.concatenate([np.arange(len(p)) for p in parts]),
        np.concatenate([np.asarray(x, np.int64) for x in labels]),
        masks.causal_document([len(p) for p in parts]).indices[0],
    )


def batches(rows: Sequence[Row], size: int, rng: np.random.Generator) -> Iterator[Row]:
    """Rows stacked into batches, without end, in another order each time through."""
    assert len(rows) >= size, "no batch would ever be full"
    while True:
        order = rng.permutation(len(rows))
        for at in range(0, len(rows) - size + 1, size):
            yield Row(*map(np.stack, zip(*(rows[i] for i in order[at : at + size]))))
