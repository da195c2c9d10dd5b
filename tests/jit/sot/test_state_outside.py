"""State outside that functions read or set: of the process, of modules of Python, of tensors, of metaclasses."""

from __future__ import annotations

import importlib
import sys
from typing import Protocol, runtime_checkable

import numpy as np
import pytest

import paddle
from paddle.jit.sot.leaves import _OF_PROCESS
from paddle.jit.sot.simulator import _STATE_OF_NUMPY

x = paddle.to_tensor([1.0, -2.0])
FLAG = "FLAGS_check_nan_inf"


@runtime_checkable
class Scaling(Protocol):
    def scale(self): ...


class Kind(type):
    limit = 2

    def __instancecheck__(cls, v):
        return v.n > cls.limit

    def __subclasscheck__(cls, other):
        return other.most > cls.limit

    @property
    def twice(cls):
        return cls.limit * 2

    def times(cls, n):
        return cls.limit * n


def cases():
    """By name: what is read, and the changes between calls."""
    many = Kind("Many", (), {})
    held = type("Held", (), {"n": 3, "most": 1})()
    fixed, layer = paddle.to_tensor([1.0]), paddle.nn.Linear(1, 1)

    def limit(n):
        return lambda: setattr(Kind, "limit", n)

    return {
        "flags": (
            lambda v: paddle.get_flags([FLAG])[FLAG],
            [lambda: paddle.set_flags({FLAG: True}), lambda: paddle.set_flags({FLAG: False})],
        ),
        "arguments of the process": (
            lambda v: len(sys.argv),
            [lambda: sys.argv.append("more"), lambda: sys.argv.pop()],
        ),
        "modules": (
            lambda v: "no.such.module" in sys.modules,
            [lambda: sys.modules.update({"no.such.module": sys}), lambda: sys.modules.pop("no.such.module")],
        ),
        "instances": (lambda v: isinstance(held, (int, many)), [limit(5), limit(2)]),
        "subclasses": (lambda v: issubclass(type(held), many), [limit(0), limit(2)]),
        "a metaclass": (lambda v: (many.limit, many.twice, many.times(3)), [limit(0), limit(2)]),
        "protocols": (
            lambda v: isinstance(held, Scaling),
            [
                lambda: setattr(held, "scale", len),
                lambda: setattr(held, "scale", None),
                lambda: setattr(type(held), "scale", len),
                lambda: delattr(held, "scale"),
                lambda: delattr(type(held), "scale"),
            ],
        ),
        "an attribute of a fixed tensor": (
            lambda v: getattr(fixed, "note", None),
            [lambda: setattr(fixed, "note", 5), lambda: setattr(fixed, "note", 6)],
        ),
        "an attribute of an argument": (
            lambda v: (getattr(v, "note", None), v.persistable),
            [lambda: setattr(x, "note", 5), lambda: setattr(x, "persistable", True), lambda: delattr(x, "note")],
        ),
        "the name of a tensor": (lambda v: fixed.name == "one", [lambda: setattr(fixed, "name", "one")]),
        "the dtype of a layer": (lambda v: layer._dtype, [lambda: layer.to(dtype="float64")]),
        "attributes of a layer's parameters": (
            lambda v: [(p.name == "one", p.trainable, getattr(p, "note", None)) for p in layer.parameters()],
            [
                lambda: setattr(layer.weight, "name", "one"),
                lambda: setattr(layer.bias, "trainable", False),
                lambda: setattr(layer.weight, "note", 5),
                lambda: setattr(layer.weight, "note", 6),
            ],
        ),
        "whether a parameter is trained": (
            lambda v: (layer.weight.trainable, layer.weight.stop_gradient),
            [lambda: setattr(layer.weight, "trainable", False)],
        ),
    }


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("name", cases())
def test_what_is_read_is_as_it_is_now(name, full_graph):
    read, changes = cases()[name]
    captured = paddle.jit.to_static(lambda v: (v * 2, read(v)), full_graph=full_graph)
    try:
        for change in (lambda: None, *changes):
            change()
            assert captured(x)[1] == read(x)
    finally:
        Kind.limit, x.persistable = 2, False


SET = {
    "flags": (
        lambda v: paddle.set_flags({FLAG: v > 1}),
        lambda: paddle.get_flags([FLAG]),
        paddle.set_flags,
        {FLAG: False},
    ),
    "print options": (
        lambda v: paddle.set_printoptions(precision=v),
        lambda: str(paddle.full([1], 0.12345678)),
        None,
        8,
    ),
    "initializers": (
        lambda v: paddle.nn.initializer.set_global_initializer(paddle.nn.initializer.Constant(float(v))),
        lambda: paddle.nn.Linear(1, 1).weight.tolist(),
        paddle.nn.initializer.set_global_initializer,
        None,
    ),
}


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("name", SET)
def test_state_of_the_process_is_set_at_every_call(name, full_graph):
    change, seen, restore, before = SET[name]

    def f(v, n):
        change(n)
        return v * 2

    captured = paddle.jit.to_static(f, full_graph=full_graph)
    try:
        for n in (1, 2, 1, 2, 3, 2):
            change(n)
            wanted = seen()
            change(5 - n)
            assert captured(x, n).tolist() == [2.0, -4.0]
            assert seen() == wanted
    finally:
        (restore or (lambda n: paddle.set_printoptions(precision=n)))(before)


@pytest.mark.parametrize("full_graph", [False, True])
def test_files_are_written_at_every_call(full_graph, tmp_path):
    def f(v, path):
        paddle.save({"n": 1}, path)
        return v * 2

    captured = paddle.jit.to_static(f, full_graph=full_graph)
    path = tmp_path / "state"
    for _ in range(2):
        captured(x, str(path))
        assert path.exists()
        path.unlink()


def test_one_graph_refuses_state_of_numpy():
    def f(v, path):
        np.save(path, np.zeros(2))
        return v * (2 if np.geterr()["divide"] == "warn" else 3)

    with pytest.raises(RuntimeError, match=r"as one graph: a call of save"):
        paddle.jit.to_static(f, full_graph=True)(x, "/nowhere/x")


def test_what_breaks_graphs_by_its_name_has_that_name():
    for name in sorted(_OF_PROCESS):
        module, last = name.rsplit(".", 1)
        f = getattr(importlib.import_module(module), last)
        assert (f.__module__, f.__name__) == (module, last)
    assert all(callable(getattr(np, name)) for name in _STATE_OF_NUMPY)
