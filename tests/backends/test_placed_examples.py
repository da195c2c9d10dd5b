"""The examples in docstrings, with their tensors, layers and distributions on a device that is not the default place.

What a function makes of a number, of a list or of nothing has to lie where its tensors do, so the examples say the
same there. A function that forgets it meets operands of two places and fails here.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import pkgutil
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fake import OTHER

import paddle
from umiak.core.context import current
from umiak.core.tensor import Tensor

pytestmark = pytest.mark.usefixtures("fake")

MODULES = (
    "paddle.autograd paddle.distribution paddle.fft paddle.incubate paddle.metric paddle.nn paddle.optimizer "
    "paddle.signal paddle.tensor paddle.vision"
).split()
# Models of up to 500 MB are more than the device's memory; their layers are tried one by one.
TOO_LARGE = "paddle.vision.models."
# Functions that make tensors of no tensor.
MAKERS = tuple(
    f"paddle.tensor.{home}" for home in "filled from_data grids random ranges triangles typed_tensors".split()
)
LEFT_OUT = {
    "paddle.nn.layer.layers.Layer": "its class makes a parameter",
    "paddle.distribution.distribution.register_kl": "its class is made of numbers",
    "paddle.nn.layer.transformer.Transformer": "its mask is made of a length",
    "paddle.incubate.autotune.set_config": "loads tensors in other processes, which share memory of the host only",
    "paddle.incubate.async_rows.async_read": "reads memory of the host",
    "paddle.incubate.async_rows.async_write": "writes to memory of the host",
    "paddle.incubate.random_states.get_rng_state": "names no device: its state is that of the default place",
    "paddle.tensor.from_data.asarray": "shares memory of the host",
    "paddle.tensor.from_data.from_numpy": "shares memory of the host",
    "paddle.tensor.from_data.to_dlpack": "names the host's device",
    "paddle.tensor.from_data.to_tensor": "shows the place",
    "paddle.tensor.to_python.__dlpack__": "shares memory of the host",
    "paddle.tensor.to_python.__dlpack_device__": "names the host's device",
    "paddle.tensor.to_python.__tvm_ffi_env_stream__": "shows that the host has no streams",
    "paddle.tensor.properties.get_device": "names the host's device",
    "paddle.tensor.to_python.numpy": "shares memory of the host",
    "paddle.tensor.to_string.set_printoptions": "shows the place",
    "paddle.tensor.views.view": "bits of another dtype are those of memory of the host",
}


@contextlib.contextmanager
def elsewhere() -> Iterator[None]:
    """Tensors are made on the device inside."""
    state = current().state
    old, state.place = state.place, OTHER
    try:
        yield
    finally:
        state.place = old


def has_tensors(values: Any) -> bool:
    return any(isinstance(v, Tensor) or (isinstance(v, (list, tuple)) and has_tensors(v)) for v in values)


class MadeElsewhere:
    """A function or class, but what it makes of no tensor lies on the device."""

    def __init__(self, make: Callable) -> None:
        self._make = make

    def __call__(self, *args: Any, **kw: Any) -> Any:
        with contextlib.nullcontext() if has_tensors((*args, *kw.values())) else elsewhere():
            return self._make(*args, **kw)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._make, name)

    def __mro_entries__(self, _: tuple) -> tuple:
        return (self._make,)


class Face(types.ModuleType):
    """A module as examples see it: what they make by it themselves lies on the device."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__)
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, types.ModuleType) and found.__name__.startswith("paddle"):
            return Face(found)
        if isinstance(found, type):
            return MadeElsewhere(found) if is_made(found) else found
        if callable(found) and getattr(found, "__module__", None) in MAKERS:
            return MadeElsewhere(found)
        return found


def is_made(kind: type) -> bool:
    """Whether examples make tensors by making one of it; of some they derive classes instead."""
    bases = (paddle.nn.Layer, paddle.distribution.Distribution, paddle.distribution.transform.Transform)
    return issubclass(kind, bases) and kind not in bases


def face_of(name: str, globs: dict, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """``import``, as examples do it."""
    found = __import__(name, globs, locals, fromlist, level)
    return Face(found) if name.split(".")[0] == "paddle" else found


def modules() -> Iterator[str]:
    for package in MODULES:
        try:
            path = getattr(importlib.import_module(package), "__path__", None)
        except ModuleNotFoundError:
            continue
        yield package
        if path is not None:
            names = (m.name for m in pkgutil.walk_packages(path, package + "."))
            yield from (name for name in names if not name.startswith(TOO_LARGE))


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in modules():
        for test in finder.find(importlib.import_module(name), name):
            if test.examples:
                yield test


EXAMPLES = {test.name: test for test in examples()}


def test_what_is_left_out_is_there():
    assert LEFT_OUT.keys() <= EXAMPLES.keys() and len(EXAMPLES) > 500


def cases() -> Iterator[Any]:
    """All of them; every sixth is quick enough for each run of the tests."""
    kept = [test for name, test in sorted(EXAMPLES.items()) if name not in LEFT_OUT]
    for i, test in enumerate(kept):
        yield pytest.param(test, id=test.name, marks=[pytest.mark.slow] if i % 6 else [])


@pytest.mark.parametrize("test", list(cases()))
def test_examples(test: doctest.DocTest) -> None:
    builtins = {**vars(__import__("builtins")), "__import__": face_of}
    globs = {"paddle": Face(paddle), "__name__": "__main__", "__builtins__": builtins}
    run = doctest.DocTest(test.examples, globs, test.name, test.filename, test.lineno, test.docstring)
    report: list[str] = []
    doctest.DocTestRunner().run(run, out=report.append)
    assert not report, "".join(report)
