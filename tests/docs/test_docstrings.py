"""The examples in docstrings say what happens."""

import doctest
import importlib
import pkgutil

import pytest

import paddle

MODULES = [m.name for m in pkgutil.walk_packages(paddle.__path__, "paddle.") if not m.name.endswith("__main__")]


@pytest.mark.parametrize("name", ["paddle", *MODULES])
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
