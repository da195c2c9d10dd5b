"""Python state is compared without any code of the user's: objects of any kind may be in reach of a saved model."""

from __future__ import annotations

import collections
import functools
import importlib.util
import io
import itertools
import sys
import weakref
from typing import Any
from unittest import mock

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.jit.source import digest
from paddle.jit.source.reachable import Reached
from paddle.static import InputSpec

RAN: list[str] = []


def ran(name: str) -> Any:
    """A method that says that it has run."""

    def method(*_: Any, **__: Any) -> Any:
        RAN.append(name)
        raise RuntimeError(name)

    return method


SPECIAL = (
    "__getattr__ __getattribute__ __setattr__ __delattr__ __eq__ __hash__ __len__ __iter__ __getitem__ __setitem__ "
    "__contains__ __bool__ __next__ __length_hint__ __repr__ __str__ __call__ __reduce__ __reduce_ex__ "
    "__instancecheck__ __subclasscheck__ __array__ __index__ __get__ keys values items clear update extend append copy"
).split()


def noisy(base: type, **more: Any) -> type:
    """A class of which every method runs something, and every attribute is a property."""
    own = {name: ran(f"{base.__name__}.{name}") for name in SPECIAL}
    own |= {name: property(ran(f"{base.__name__}.{name}")) for name in ("__class__", "__dict__", "dtype", "shape")}
    return type(f"Noisy{base.__name__}", (base,), own | more)


class Slots:
    __slots__ = ("a", "b")


class Computed(Slots):
    """As the constants of sympy."""

    @property
    def a(self) -> Any:
        RAN.append("a")
        return object()


class Meta(type):
    __eq__ = ran("Meta.__eq__")
    __hash__ = None


class OfMeta(metaclass=Meta):
    n = 0


def lazy_module() -> Any:
    spec = importlib.util.find_spec("this")
    assert spec is not None and spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def closed(kind: type) -> Any:
    x = kind()
    x.close()
    return x


def released() -> Any:
    x = memoryview(b"ab")
    x.release()
    return x


def dead_proxy() -> Any:
    return weakref.proxy(type("Held", (), {})())


def cyclic() -> Any:
    x = Slots()
    x.a = [{"x": x}, collections.deque([x])]
    return x


OBJECTS = {
    "object": lambda: noisy(object)(),
    "attributes": type("Noisy", (), {n: ran(n) for n in ("__getattribute__", "__setattr__", "__eq__")}),
    "list": lambda: list.__new__(noisy(list)),
    "dict": lambda: dict.__new__(noisy(dict)),
    "ordered": lambda: collections.OrderedDict.__new__(noisy(collections.OrderedDict)),
    "set": lambda: set.__new__(noisy(set)),
    "deque": lambda: collections.deque.__new__(noisy(collections.deque)),
    "tuple": lambda: tuple.__new__(noisy(tuple)),
    "array": lambda: np.ndarray.__new__(noisy(np.ndarray), 3),
    "slots": Slots,
    "computed slot": Computed,
    "metaclass": OfMeta,
    "mock of a layer": lambda: mock.Mock(spec=nn.Layer),
    "mock of an array": lambda: mock.MagicMock(spec=np.ndarray),
    "mock": mock.MagicMock,
    "dead proxy": dead_proxy,
    "lazy module": lazy_module,
    "closed bytes": lambda: closed(io.BytesIO),
    "closed text": lambda: closed(io.StringIO),
    "released memory": released,
    "no bytes": bytearray,
    "enumerated": lambda: enumerate(noisy(object, __iter__=lambda s: s)()),
    "chained": lambda: itertools.chain(noisy(object, __iter__=lambda s: s)()),
    "bound": lambda: functools.partial(noisy(object)()),
    "cycle": cyclic,
    "class": lambda: noisy(object),
    "frame": sys._getframe,
}


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS.keys())
def test_no_code_of_an_object_runs(make):
    x, held = make(), [{"x": None}]
    held[0]["x"] = x

    def f():
        return x, held

    RAN.clear()
    before = Reached([("f", f)], {})
    assert before.changes() == []
    before.changes()
    before._is_unchanged = False
    before.restore()
    before.restore_where(lambda _: False)
    assert not RAN


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS.keys())
def test_a_model_with_an_object_in_reach_is_saved(make, tmp_path):
    held = make()

    def f(x):
        if x.sum() > 0:
            x = (x * 2, held)[0]
        for _ in x:
            x = x + 1
        return (x, held)[0]

    RAN.clear()
    paddle.jit.save(f, str(tmp_path / "f"), input_spec=[InputSpec([None, 2], "float32")])
    assert not RAN
    x = paddle.to_tensor([[1.0, 2.0], [3.0, -4.0]])
    np.testing.assert_array_equal(paddle.jit.load(str(tmp_path / "f"))(x).numpy(), x.numpy() * 2 + 2)


def test_containers_of_the_users_are_put_back_by_pythons_methods():
    of_key = {kind: lambda x, kind=kind: kind.__setitem__(x, 1, 2) for kind in (dict, collections.OrderedDict)}
    for base, put in ({list: lambda x: list.append(x, 1), set: lambda x: set.add(x, 1)} | of_key).items():
        x = base.__new__(noisy(base))
        before = Reached([("x", x)], {})
        put(x)
        RAN.clear()
        before.restore()
        assert not RAN and base.__len__(x) == 0


# --- arrays


ARRAYS = {
    "small": np.arange(6.0).reshape(2, 3),
    "scalar": np.array(2.0),
    "by columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "apart": np.arange(24.0).reshape(4, 6)[::2, ::-3],
    "bools": np.zeros(3, bool),
    "fields": np.zeros(2, [("a", "i4"), ("b", "f8")]),
    "text": np.array(["a", "bc"]),
    "times": np.zeros(2, "datetime64[s]"),
    "large": np.zeros(5_000_001, np.uint8),
    "large, apart": np.zeros([2_000_001, 3], np.float32)[:, 1],
    "not aligned": np.zeros(9_000_001, np.uint8)[1:],
    "objects": np.array([None, None], object),
}  # fmt: skip


@pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS.keys())
def test_a_write_to_any_element_of_an_array_is_seen(x):
    for at in {0, x.size // 2, x.size - 1}:
        before = Reached([("x", x)], {})
        assert before.changes() == []
        flat = x.flat
        flat[at] = 1 if x.dtype.kind != "V" else (1, 2.0)
        assert before.changes() == ["the array 'x' of NumPy"]


def test_arrays_that_nobody_writes_to_are_not_read(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(4))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    fixed = np.zeros(3)
    view = fixed.view()
    view.flags.writeable = False
    assert digest.of_array(mapped) is None and digest.of_array(mapped[1:]) is None
    assert digest.of_array(view) is not None
    fixed.flags.writeable = False
    assert digest.of_array(view) is None
    assert digest.of_array(np.frombuffer(b"abcd", np.uint8)) is None
    assert digest.of_array(np.frombuffer(bytearray(4), np.uint8)) is not None
