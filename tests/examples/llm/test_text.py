"""Texts to tokens and back, piece by piece."""

from __future__ import annotations

import json

import pytest

from tests.examples.llm.conftest import TEXT


@pytest.fixture(scope="module")
def tokenizer(llm, directory):
    return llm.text.read_tokenizer(directory, 288)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_pieces_join_to_the_text(llm, tokenizer, size):
    ids, stream = tokenizer.encode(TEXT).ids, llm.text.Stream(tokenizer)
    pieces = [stream.add(ids[at : at + size]) for at in range(0, len(ids), size)]
    assert "".join(pieces) + stream.finish() == TEXT
    assert all("\ufffd" not in p for p in pieces)


def test_half_a_character_comes_at_the_end(llm, tokenizer):
    ids, stream = tokenizer.encode("日").ids, llm.text.Stream(tokenizer)
    assert len(ids) > 1 and stream.add(ids[:-1]) == ""
    assert set(stream.finish()) == {"\ufffd"}


@pytest.mark.parametrize(
    ("stops", "passed"),
    [((), TEXT), (("dog",), TEXT.split("dog")[0]), (("x", "42 of"), TEXT.split("42 of")[0]), (("dogs",), TEXT)],
    ids=str,
)
def test_stops_across_tokens(llm, tokenizer, stops, passed):
    stream = llm.text.Stream(tokenizer, stops)
    pieces = []
    for token in tokenizer.encode(TEXT).ids:
        pieces.append(stream.add([token]))
        if stream.stopped:
            break
    assert "".join(pieces) + stream.finish() == passed
    assert stream.stopped == (passed != TEXT)


def test_tokens_without_a_row(llm, directory, tmp_path):
    table = json.loads((directory / "tokenizer.json").read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps(table))
    with pytest.raises(llm.config.BadModel, match="below the vocab_size 287"):
        llm.text.read_tokenizer(tmp_path, 287)
