"""Structures of lists, tuples and dicts: ``paddle.utils``."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import pytest

import paddle
from paddle import utils

Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("nest", "leaves"),
    [
        ([1, (2, {"b": 3, "a": [4, 5]}), Pair(6, 7), "s", None], [1, 2, 4, 5, 3, 6, 7, "s", None]),
        (5, [5]),
        ({}, []),
        ([], []),
        ({1, 2}, [{1, 2}]),
        (OrderedDict([("b", 1), ("a", 2)]), [2, 1]),
        (range(3), [0, 1, 2]),
    ],
)
def test_leaves(nest, leaves):
    assert utils.flatten(nest) == leaves


def test_keys_that_cannot_be_sorted():
    with pytest.raises(TypeError, match="dicts whose keys can be sorted"):
        utils.flatten({3: 1, "a": 2})


def test_what_is_a_sequence():
    values = [[], (), {}, "a", Pair(1, 2), {1}, range(3), paddle.ones([2]), OrderedDict()]
    assert [utils.is_sequence(v) for v in values] == [True, True, True, False, True, False, True, False, True]
    assert [utils.to_sequence(v) for v in (1, [1], (2,), "a", None)] == [[1], [1], (2,), ["a"], [None]]


def test_mapping():
    assert utils.map_structure(lambda x: x * 2, Pair(1, (2, [3]))) == Pair(2, (4, [6]))
    mapped = utils.map_structure(lambda x: x * 2, OrderedDict([("b", 1), ("a", 2)]))
    assert type(mapped) is OrderedDict and list(mapped.items()) == [("b", 2), ("a", 4)]
    assert utils.map_structure(lambda x, y: x + y, [1, [2]], (3, 4)) == [4, [6]]
    assert utils.map_structure(lambda x, y: x + y, {"a": 1}, {"b": 2}) == {"a": 3}
    assert utils.map_structure(lambda x: x + 1, 4) == 5
    with pytest.raises(ValueError, match="as many leaves each"):
        utils.map_structure(lambda x, y: x + y, [1, 2], [1])
    with pytest.raises(ValueError, match="at least one structure"):
        utils.map_structure(len)


def test_packing():
    assert utils.pack_sequence_as([1, {"b": 2, "a": (3,)}], [10, 20, 30]) == [10, {"b": 30, "a": (20,)}]
    assert utils.pack_sequence_as(1, [10]) == 10
    for wrong in ([10], [10, 20, 30]):
        with pytest.raises(ValueError, match="requires 2 leaves"):
            utils.pack_sequence_as([1, 2], wrong)
    with pytest.raises(ValueError, match="requires 1 leaves"):
        utils.pack_sequence_as(1, [10, 11])
    with pytest.raises(TypeError, match="a sequence of leaves"):
        utils.pack_sequence_as([1], 5)


@pytest.mark.parametrize(
    ("a", "b", "error"),
    [
        ([1, 2], [3], ValueError),
        ([1, 2], (3, 4), TypeError),
        (1, [1], ValueError),
        ({"a": 1}, {"b": 1}, ValueError),
        ([1, [2]], [[1], 2], ValueError),
        (Pair(1, 2), (1, 2), TypeError),
        ({"a": 1}, OrderedDict(a=1), TypeError),
    ],
)
def test_structures_of_another_form(a, b, error):
    with pytest.raises(error, match="assert_same_structure"):
        utils.assert_same_structure(a, b)


def test_structures_of_the_same_form():
    utils.assert_same_structure([1, (2, {"a": 3})], [4, (5, {"a": 6})])
    utils.assert_same_structure([1, 2], (3, 4), check_types=False)
    utils.assert_same_structure({"a": 1}, {"b": 1}, check_types=False)
    utils.assert_same_structure([1, [2]], [1, 2], skip_if=lambda x: x == [2])


def test_shapes():
    assert utils.is_same_shape([1, 2], (1, 2)) and not utils.is_same_shape([1, -1], [1, 2])
    assert utils.convert_shape_to_list([1, paddle.to_tensor(2), paddle.to_tensor([3])]) == [1, 2, 3]
    assert utils.convert_shape_to_list(paddle.to_tensor([1, 2])) == [1, 2]
    with pytest.raises(TypeError, match="a list, a tuple or a tensor"):
        utils.convert_shape_to_list("ab")


@pytest.mark.parametrize(("word", "value"), [("Y", True), ("t", True), ("1", True), ("NO", False), ("f", False)])
def test_words_of_truth(word, value):
    assert utils.strtobool(word) is value


@pytest.mark.parametrize("word", ["maybe", ""])
def test_words_that_are_none(word):
    with pytest.raises(ValueError, match="a word such as yes"):
        utils.strtobool(word)
