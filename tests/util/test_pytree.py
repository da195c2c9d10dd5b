from collections import OrderedDict
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umiak.util import pytree


class Pair(NamedTuple):
    left: Any
    right: Any


trees = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda children: (
        st.lists(children, max_size=3)
        | st.lists(children, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2), children, max_size=3)
        | st.builds(Pair, children, children)
    ),
    max_leaves=12,
)


@given(trees)
def test_round_trip(tree):
    leaves, structure = pytree.flatten(tree)
    again = structure.unflatten(leaves)
    assert again == tree
    assert type(again) is type(tree)
    assert pytree.flatten(again)[1] == structure
    assert hash(pytree.flatten(again)[1]) == hash(structure)
    assert structure.count == len(leaves)


def test_none_and_foreign_containers_are_leaves():
    odd = OrderedDict(a=1)
    assert pytree.leaves([None, odd, {1, 2}]) == [None, odd, {1, 2}]


def test_structures_differ():
    structures = [pytree.flatten(t)[1] for t in ([1], (1,), {"a": 1}, {"b": 1}, [1, 2], [[1]], 1, [], (), Pair(1, 2))]
    assert len(set(structures)) == len(structures)


def test_map_over_several():
    assert pytree.map(lambda a, b: a + b, {"x": [1, 2]}, {"x": [10, 20]}) == {"x": [11, 22]}
    with pytest.raises(ValueError, match="one structure"):
        pytree.map(lambda a, b: a, [1], (1,))


def test_wrong_number_of_leaves():
    structure = pytree.flatten([1, 2])[1]
    with pytest.raises(ValueError, match="requires 2 leaves, got 3"):
        structure.unflatten([1, 2, 3])


def test_repr_shows_the_nest():
    assert repr(pytree.flatten({"a": [1, (2, 3)]})[1]) == "{'a': list(*, tuple(*, *))}"


@pytest.mark.parametrize("inside", [lambda x: x, lambda x: (x, 2), lambda x: {"a": x}])
def test_a_container_that_holds_itself_is_a_leaf_there(inside):
    held = [1]
    held.append(inside(held))
    leaves, structure = pytree.flatten(held)
    assert leaves[0] == 1 and leaves[1] is held and structure.count == len(leaves)
    assert len(pytree.flatten([held, held])[0]) == 2 * len(leaves)
