"""The examples in docstrings say what happens."""

import doctest
import importlib
import pkgutil

import pytest

import paddle

PACKAGES = (
    "paddle.amp paddle.autograd paddle.distributed paddle.framework paddle.hapi paddle.incubate paddle.io paddle.nn "
    "paddle.optimizer paddle.profiler paddle.regularizer"
).split()


def modules():
    for package in PACKAGES:
        yield package
        path = getattr(importlib.import_module(package), "__path__", ())
        yield from (m.name for m in pkgutil.walk_packages(path, package + "."))


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name):
    assert paddle
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
