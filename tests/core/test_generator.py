import copy
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from umiak.core import context
from umiak.core.generator import Generator, default_generator, seed_all
from umiak.core.place import Place


@given(st.integers(0, 2**64 - 1), st.lists(st.integers(0, 2**40), max_size=20))
def test_parts_of_a_stream_do_not_overlap(seed, sizes):
    g = Generator(seed)
    end = 0
    for n in sizes:
        key, offset = g.reserve(n)
        assert key % 2**64 == seed and -(2**63) <= key < 2**63
        assert offset == end and offset % 4 == 0
        end = offset + -(-n // 4) * 4
    assert g.offset == end and g.initial_seed() == seed


def test_seeds():
    assert Generator(-1).initial_seed() == 2**64 - 1
    assert Generator(np.int64(5)).initial_seed() == 5
    assert Generator().initial_seed() != Generator().initial_seed()
    g = Generator(3)
    g.reserve(10)
    assert g.manual_seed(4) is g
    assert g.get_state() == (4, 0)
    g.reserve(1)
    assert g.seed() == g.initial_seed() != 4 and g.offset == 0
    with pytest.raises(TypeError, match="integer"):
        Generator(1.5)


def test_states():
    g = Generator(7)
    g.reserve(9)
    state = pickle.loads(pickle.dumps(g.get_state()))
    first = g.reserve(4)
    g.reserve(100)
    g.set_state(state)
    assert g.reserve(4) == first
    other = Generator(0)
    other.set_state(state)
    assert other.reserve(4) == first
    for again in (pickle.loads(pickle.dumps(g)), copy.deepcopy(g)):
        assert again is not g and again.get_state() == g.get_state()


@pytest.mark.parametrize("state", [3, (1, 2, 3), ("a", 0), (0, -1), (0, 2**63)])
def test_wrong_states(state):
    with pytest.raises((TypeError, ValueError), match=r"state|seed"):
        Generator(0).set_state(state)


def test_wrong_numbers():
    g = Generator(0)
    with pytest.raises(ValueError, match="from 0 to"):
        g.reserve(-1)
    for n in (2**62 + 1, 2**64, 2**200):
        with pytest.raises(MemoryError, match="2\\*\\*62"):
            g.reserve(n)
    assert g.offset == 0


def test_a_stream_begins_again_after_its_last_word():
    g = Generator(0)
    assert [g.reserve(n)[1] for n in (2**62, 8, 2**62 - 4, 4, 4)] == [0, 0, 8, 4, 8]
    g.set_state((0, 2**62 + 8))
    assert g.reserve(4)[1] == 8


def test_words_that_were_not_drawn_are_given_out_again():
    g = Generator(0)
    g.reserve(6)
    _, offset = g.reserve(5)
    g.give_back(offset, 5)
    assert g.offset == offset == 8
    _, first = g.reserve(4)
    g.reserve(4)
    g.give_back(first, 4)  # somebody has the words behind them
    assert g.offset == 16
    g.give_back("of a tracer", 4)
    assert g.offset == 16


@pytest.fixture
def rank():
    """A rank of the test's own."""
    former = context.current()
    new = context.new_rank(3)
    new.activate()
    yield new
    former.activate()


def test_each_rank_and_place_has_its_generator(rank):
    cpu, null = Place("cpu"), Place("null", 1)
    a, b = default_generator(cpu), default_generator(null)
    assert a is default_generator(cpu) is not b
    assert rank.state.generators == {cpu.index: a, null.index: b}
    other = context.new_rank(4)
    other.activate()
    assert default_generator(cpu) is not a
    rank.activate()
    found = []

    def work():
        rank.fork().activate()
        found.append(default_generator(cpu))

    t = threading.Thread(target=work)
    t.start()
    t.join()
    assert found == [a]


def test_seeding_reaches_generators_made_later(rank):
    early = default_generator(Place("cpu"))
    early.reserve(10)
    seed_all(11)
    assert early.get_state() == (11, 0)
    assert default_generator(Place("null", 1)).get_state() == (11, 0)
    with pytest.raises(TypeError, match="integer"):
        seed_all("x")
    assert early.get_state() == (11, 0)
