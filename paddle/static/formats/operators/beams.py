"""Beam search over sequences, at each step and at the end. Data decide all sizes, so these are computed at once."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
from paddle.static.formats.operators.table import MOST_PARTS, Raw, operator
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_INT = "int64"


def _checked(op_name: str, beam_size: int) -> None:
    if not 0 < beam_size <= MOST_PARTS:
        raise op_error(ValueError, op_name, f"a beam_size of 1 to {MOST_PARTS}", beam_size)


def _best(scores: np.ndarray, rows: np.ndarray, count: int) -> list[int]:
    """Numbers of the best candidates, best first; of equal scores those of later rows.

    Among equals of one row the first ones, but the last place goes to the last of them, as in PaddlePaddle.
    """
    candidates = np.arange(len(scores))
    if len(scores) > count and not np.isnan(scores).any():
        candidates = candidates[scores >= np.partition(scores, -count)[-count]]
    keys = [(scores[i], rows[i]) for i in candidates.tolist()]
    beam: list[int] = []
    for i, key in enumerate(keys):
        if len(beam) == count:
            if key < keys[beam[-1]]:
                continue
            beam.pop()
        at = len(beam)
        while at and keys[beam[at - 1]] < key:
            at -= 1
        beam.insert(at, i)
    return [int(candidates[i]) for i in beam]


@operator("beam_search")
def beam_search(
    pre_ids: Tensor, pre_scores: Tensor, ids: Tensor | None, scores: Tensor, of_rows: Tensor, *,
    beam_size: int, end_id: int, is_accumulated: bool = True,
) -> Any:  # fmt: skip
    """Of the words that may follow each beginning (a row) the best for each sentence.

    A sentence's beginnings are the rows between two elements of ``of_rows``. What has ended goes on as it is, with
    its score; sentences of which all have ended are dropped.

    Returns:
        Words and scores [n, 1], the beginning of each, and which of them each beginning has led to, as offsets.
    """
    _checked("beam_search", beam_size)
    offsets = of_rows.numpy()
    ended, before, found = pre_ids.numpy().ravel() == end_id, pre_scores.numpy().ravel(), scores.numpy()
    rows = len(found)
    found = found.reshape(rows, -1)
    words = np.broadcast_to(np.arange(found.shape[1]), found.shape) if ids is None else ids.numpy().reshape(rows, -1)
    fits = np.all(np.diff(offsets) >= 0) and 0 <= offsets[0] and offsets[-1] <= rows and words.shape == found.shape
    if not fits or min(len(ended), len(before)) < rows:
        required = f"pre_ids, pre_scores and ids of {rows} beginnings with {found.shape[1]} words each, as scores has"
        raise op_error(ValueError, "beam_search", required, [[len(ended)], [len(before)], list(words.shape)])
    if not is_accumulated:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = before[:rows, None] + np.log(found)
    kept: list[list[tuple[int, Any]]] = [[] for _ in range(rows)]
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        # One candidate of what has ended, and all words of what has not.
        width, stops = found.shape[1], ended[start:stop, None]
        allowed = np.where(stops, np.arange(width) == 0, True)
        own = np.where(stops, before[start:stop, None], found[start:stop])[allowed]
        candidates = np.where(stops, end_id, words[start:stop])[allowed]
        places = np.nonzero(allowed)[0]
        best = _best(own, places, beam_size)
        if not all(ended[start + places[i]] and candidates[i] == end_id for i in best):
            for i in best:
                kept[start + places[i]].append((int(candidates[i]), own[i]))
    made = [(word, score, row) for row, of_row in enumerate(kept) for word, score in of_row]
    return (
        paddle.to_tensor(np.array([m[0] for m in made], _INT).reshape(-1, 1)),
        paddle.to_tensor(np.array([m[1] for m in made], before.dtype).reshape(-1, 1)),
        paddle.to_tensor(np.array([m[2] for m in made], "int32")),
        paddle.to_tensor(np.cumsum([0, *map(len, kept)])),
    )


@operator("beam_search_decode")
def beam_search_decode(ids: Raw, scores: Raw, sources: Raw, beginnings: Raw, *, beam_size: int, end_id: int) -> Any:
    """The words of all sentences, from what was selected at each step; of each source the sentence with the best score
    first.

    Returns:
        Words and scores behind each word, offsets of sentences for each source (``beam_size``), and of words.
    """
    name = "beam_search_decode"
    _checked(name, beam_size)
    if not ids or not len(ids) == len(scores) == len(sources) == len(beginnings):
        raise op_error(ValueError, name, "words and scores of at least one step", [len(ids), len(scores)])
    steps = [tuple(x.numpy().ravel() for x in step) for step in zip(ids, scores, sources, beginnings, strict=True)]
    count = len(steps[0][2]) - 1
    sentences: list[list[tuple[list[int], list[Any]]]] = [[] for _ in range(count)]
    places: list[list[int]] = [[] for _ in range(count)]  # where each sentence is in the step at hand
    for words, values, of_sources, of_beginnings in reversed(steps):
        if len(of_sources) != count + 1 or of_sources[-1] >= len(of_beginnings) or len(words) != len(values):
            raise op_error(ValueError, name, f"steps of {count} sources each", len(of_sources) - 1)
        for source in range(count):
            if not places[source]:  # it was dropped behind this step, or ends with it
                first, last = of_beginnings[of_sources[source]], of_beginnings[of_sources[source + 1]]
                places[source] = list(range(first, last))
                sentences[source] = [([], []) for _ in places[source]]
            for (own, its_scores), at in zip(sentences[source], places[source], strict=True):
                if words[at] != end_id or not own:  # only the first end, from behind
                    own.append(int(words[at]))
                    its_scores.append(values[at])
            parents = np.searchsorted(of_beginnings, places[source], "right") - 1
            places[source] = parents.tolist()
    most = max(map(len, sentences), default=0)
    if most > beam_size or count * beam_size > MOST_SENTENCES:
        raise op_error(ValueError, name, f"at most {beam_size} sentences of a source (beam_size)", most)
    ordered = []
    for found in sentences:
        found.sort(key=lambda one: -one[1][0])
        ordered += [*found, *[([], [])] * (beam_size - len(found))]
    made = [np.array([x for s in ordered for x in reversed(s[j])], dtype) for j, dtype in
            ((0, _INT), (1, steps[0][1].dtype))]  # fmt: skip
    lengths = [len(s[0]) for s in ordered]
    offsets = np.arange(count + 1) * beam_size, np.cumsum([0, *lengths])
    return tuple(paddle.to_tensor(x) for x in (*made, *offsets))


MOST_SENTENCES = 1 << 24
