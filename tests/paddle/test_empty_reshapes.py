"""Shapes with 0 and -1 for tensors without elements."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import paddle

# Shapes of x and what is asked for, with what the reference 3.3.1 makes of it (None: it refuses). Without a -1 it takes
# a 0 for 0: there the sizes of x are kept here, see ``test_sizes_of_an_empty_batch``.
FACTS = [
    ((0,), (-1, 0), (1, 0)), ((0,), (0, -1), (0, 1)), ((0,), (-1, 0, 0), None), ((0, 3), (-1, 0), (3, 0)),
    ((0, 3), (0, -1), (0, 3)), ((0, 3), (-1, 0, 2), None), ((0, 3), (0, -1, 3), (0, 1, 3)),
    ((2, 0), (0, -1), (0, 2)), ((2, 0), (3, 0, -1), None), ((2, 0), (-1, 3), (0, 3)),
    ((0, 0), (-1, 0), None), ((0, 0), (-1, 0, 0), (1, 0, 0)), ((0, 2, 3), (0, -1), (0, 6)),
    ((2, 0, 3), (2, -1, 0), (2, 3, 0)), ((2, 0, 3), (-1, 0, 2), (3, 0, 2)),
    ((2, 0, 3), (2, 3), None), ((2, 3), (0, -1), (2, 3)), ((2, 3), (-1, 0), (2, 3)), ((2, 3), (0, 0), (2, 3)),
]  # fmt: skip


def shape_of(function: Any, of: tuple[int, ...], to: tuple[int, ...]) -> tuple[int, ...] | None:
    x = paddle.zeros(list(of))
    x.stop_gradient = False
    try:
        y = function(x, list(to))
    except ValueError:
        return None
    y.sum().backward()
    assert tuple(x.grad.shape) == of
    return tuple(y.shape)


@pytest.mark.parametrize(("of", "to", "wanted"), FACTS)
def test_as_the_reference(of: tuple[int, ...], to: tuple[int, ...], wanted: tuple[int, ...] | None) -> None:
    assert shape_of(paddle.reshape, of, to) == wanted
    assert shape_of(lambda x, shape: (x * 1.0).reshape_(shape), of, to) == wanted


@pytest.mark.parametrize(
    ("of", "to", "wanted"),
    [
        ((0, 3), (0, 0), (0, 3)),
        ((0, 3, 8), (0, 0, 2, 4), (0, 3, 2, 4)),
        ((0, 3), (2, 0, 0), (2, 0, 0)),
        ((0, 5), (0, 0, 5), (0, 0, 5)),
        ((0, 6), (0, 0, 3), (0, 0, 3)),
        ((0, 5, 5), (0, 0, 5, 0), (0, 0, 5, 0)),
        ((3, 0, 5), (0, 0, 5), (3, 0, 5)),
        ((3, 0), (0, 4), (0, 4)),
        ((0, 2, 3), (0, 0, -1), (0, 2, 3)),  # which the reference refuses
    ],
)
def test_sizes_of_an_empty_batch(of: tuple[int, ...], to: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    assert shape_of(paddle.reshape, of, to) == wanted


@pytest.mark.parametrize("full_graph", [False, True])
def test_captured_calls_give_what_eager_calls_give(full_graph: bool) -> None:
    for to in itertools.product((-1, 0, 3), repeat=2):
        captured = paddle.jit.to_static(lambda x, shape: paddle.reshape(x, shape), full_graph=full_graph)
        for of in ((2, 3), (0, 3), (3, 0), (0, 0), (0, 2, 3)):
            assert shape_of(captured, of, to) == shape_of(paddle.reshape, of, to), (of, to)
