"""Numbered states of random number generators."""

import pytest

import paddle
from paddle.incubate import get_rng_state, register_rng_state_as_index, set_rng_state


def test_a_state_is_gone_back_to():
    paddle.seed(3)
    state = get_rng_state()
    first = paddle.rand([2]).tolist()
    index = register_rng_state_as_index(state)
    assert get_rng_state(use_index=True) == index
    assert paddle.rand([2]).tolist() == first


def test_numbers_are_places_that_move():
    paddle.seed(3)
    old = get_rng_state(use_index=True)
    new = register_rng_state_as_index()
    assert new != old
    drawn = paddle.rand([2]).tolist()
    set_rng_state(new, use_index=True)
    assert paddle.rand([2]).tolist() != drawn
    set_rng_state(old, use_index=True)
    assert paddle.rand([2]).tolist() == drawn
    after = paddle.rand([2]).tolist()
    set_rng_state(new, use_index=True)
    assert paddle.rand([2]).tolist() != after


def test_refusals():
    with pytest.raises(ValueError, match=r"\[set_rng_state\] requires a list of one number from 0 to"):
        set_rng_state([10**6], use_index=True)
    before = get_rng_state(use_index=True)
    with pytest.raises(ValueError, match=r"\[register_rng_state_as_index\] requires the list of one state"):
        register_rng_state_as_index([3])
    assert get_rng_state(use_index=True) == before
