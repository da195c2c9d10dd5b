"""Docstrings that are made of others, also by Pythons that take the indentation away."""

import inspect

import pytest

import paddle
from paddle._documents import indented

SOURCE = "Adds.\n\n    Args:\n        x: a tensor.\n\n    Example:\n        >>> 1 + 1\n        2\n    "


def test_indentation_is_that_of_the_source():
    stripped = inspect.cleandoc(SOURCE) + "\n"  # as the compiler of Python 3.13 does
    assert indented(stripped) == SOURCE
    assert indented(SOURCE) == SOURCE
    assert indented("One line.") == "One line."
    assert indented(None) == ""


@pytest.mark.parametrize("layer", [paddle.nn.CrossEntropyLoss, paddle.nn.ELU], ids=lambda c: c.__name__)
def test_layers_take_over_the_parameters_of_their_functions(layer):
    document = inspect.getdoc(layer)
    assert "\nArgs:\n    " in document and "\nShape:\n    " in document and "\nExample:\n    >>> " in document
