"""Beam search and decoding against what the reference gave (``tests/data/rnn.json``)."""

import numpy as np
import pytest
from recurrent_facts import CELLS, FACTS, fill, tensor

import paddle
from paddle import nn


def test_gather_tree():
    ids, parents, want = FACTS["gather_tree"]
    got = nn.functional.gather_tree(paddle.to_tensor(ids), paddle.to_tensor(parents))
    assert got.tolist() == want
    with pytest.raises(ValueError, match="rank 3"):
        nn.functional.gather_tree(got[0], got[0])
    with pytest.raises(ValueError, match="one shape"):
        nn.functional.gather_tree(got, got[:2])


@pytest.mark.parametrize("fact", FACTS["beams"], ids=lambda fact: fact[0])
def test_beam_search(fact):
    name, steps, time_major, tokens, scores, finished, lengths, given = fact
    embed, project, cell = fill(nn.LayerList([nn.Embedding(6, 4), nn.Linear(3, 6), CELLS[name](4)]))
    decoder = nn.BeamSearchDecoder(cell, 0, 5 if steps else 3, 3, embed, project)
    first = (tensor(2, 3), tensor(2, 3, k=1)) if name == "lstm" else tensor(2, 3)
    made, states, ends = nn.dynamic_decode(
        decoder, first, max_step_num=steps or 30, output_time_major=time_major, return_length=True
    )
    assert made.tolist() == tokens
    np.testing.assert_allclose(states.log_probs.numpy(), scores, rtol=1e-5)
    assert states.finished.tolist() == finished
    assert states.lengths.tolist() == lengths
    assert ends.tolist() == given


class Counting:
    """Counts up from each start to 3; sequences finish for themselves."""

    tracks_own_finished = False

    def initialize(self, inits):
        return inits, inits, inits >= 3

    def step(self, time, inputs, states, bonus=0):
        now = inputs + 1
        return {"value": now + bonus}, now, now, now >= 3

    def finalize(self, outputs, states, lengths):
        return outputs, states


def test_a_decoder_that_does_not_track_what_has_finished():
    first = paddle.to_tensor([0, 2])
    made, states, lengths = nn.dynamic_decode(Counting(), first, return_length=True, bonus=10)
    assert made["value"].tolist() == [[11, 12, 13], [13, 14, 15]]
    assert lengths.tolist() == [3, 1]
    assert states.tolist() == [3, 5]
    _, states = nn.dynamic_decode(Counting(), first, impute_finished=True)
    assert states.tolist() == [3, 3]
    made, _ = nn.dynamic_decode(Counting(), first, max_step_num=0, output_time_major=True)
    assert made["value"].tolist() == [[1, 3]]


def test_no_sequences_are_refused():
    cell = nn.GRUCell(4, 4)
    decoder = nn.BeamSearchDecoder(cell, 0, 1, 2, nn.Embedding(5, 4), nn.Linear(4, 5))
    with pytest.raises(ValueError, match=r"\[dynamic_decode\] requires sequences of which one"):
        nn.dynamic_decode(decoder, cell.get_initial_states(paddle.zeros([0, 4])), max_step_num=3)
