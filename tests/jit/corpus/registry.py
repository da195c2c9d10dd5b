"""Programs that are captured, as a registry: each says how it is called, and in which modes it must be refused.

A file of ``programs/`` declares its own with one of three decorators; nothing is listed elsewhere.

``@program(call, ...)``
    The function below is what is captured.
``@factory(call, ...)``
    The function below is called anew for each run, and returns what is captured: a closure, a method, a layer.
``@driver(call, ...)``
    The function below gets ``capture``, which captures a function or layer, and returns a function that is called as it
    is. For programs that capture several functions, or do something to them between calls.

A call is a function of :class:`Draw` that makes fresh arguments: a tuple of them, one, or :func:`given` with keywords::

    @program(lambda t: t(3, 4), lambda t: given(t(0, 4), scale=2.0))
    def scaled(x, scale=1.0):
        return x * scale

``raises="ValueError KeyError"`` names the exceptions that calls raise eagerly; others are mistakes of the program.

Only ``paddle``, NumPy and the standard library are used here and in the programs, so that both run in an environment of
the reference, too.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import paddle

FOLDER = Path(__file__).parent / "programs"
# The modes that the tests run; ``python -m tests.jit.corpus --mode NAME`` runs any of ``ALL_MODES``.
MODES = ("eager", "bytecode", "source")
ALL_MODES = ("eager", "bytecode", "source")


class Given(NamedTuple):
    """Arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def given(*args: Any, **kwargs: Any) -> Given:
    """Arguments of a call, with keywords."""
    return Given(args, kwargs)


class Draw:
    """Makes tensors whose values depend on the program and the number of the call, not on the mode."""

    def __init__(self, name: str, call: int) -> None:
        self.numpy = np.random.RandomState(zlib.crc32(f"{name} {call}".encode()))

    def __call__(self, *shape: int, dtype: str = "float32", grad: bool | None = None, scale: float = 1.0) -> Any:
        """A tensor of normal numbers, or of small integers; floats have a gradient unless ``grad`` says otherwise."""
        values = self.numpy.standard_normal(shape)
        if dtype == "bool":
            return paddle.to_tensor(values > 0)
        if "int" in dtype:
            values = self.numpy.randint(0 if dtype.startswith("u") else -9, 10, shape)
        elif dtype.startswith("complex"):
            values = values + 1j * self.numpy.standard_normal(shape)
        return self.of(values * scale if scale != 1.0 else values, dtype, grad)

    def of(self, values: Any, dtype: str = "float32", grad: bool | None = None) -> Any:
        """A tensor of these values."""
        tensor = paddle.to_tensor(np.asarray(values)).astype(dtype).detach()
        floating = dtype.startswith(("float", "bfloat", "complex"))
        tensor.stop_gradient = not (floating if grad is None else grad)
        return tensor

    def ids(self, high: int, *shape: int) -> Any:
        """A tensor of integers from 0 to ``high - 1``."""
        return paddle.to_tensor(self.numpy.randint(0, high, shape).astype("int64"))


class Refusal(NamedTuple):
    """A mode that cannot run a program: why, and the pattern that the message of its error has."""

    reason: str
    match: str


class Allowance(NamedTuple):
    """Differences that a mode may show: why, and which (see ``snapshot.differences``)."""

    reason: str
    differences: str


@dataclass(frozen=True)
class Program:
    """A program and how it is called."""

    name: str
    subject: str
    kind: str
    function: Callable[..., Any]
    calls: tuple[Callable[[Draw], Any], ...]
    refused: Mapping[str, Refusal] = field(default_factory=dict)
    allowed: Mapping[str, Allowance] = field(default_factory=dict)
    differs: Mapping[str, str] = field(default_factory=dict)  # modes that must give something else, and why
    raises: frozenset[str] = frozenset()  # classes of the exceptions that eager calls raise
    # Whether the harness differentiates the results; no for programs that call ``backward`` on them.
    backward: bool = True
    tolerance: float = 1.0  # a factor of the usual one
    # How many programs ``bytecode`` may capture: numbers and sizes that only compute are no reason for another one.
    most: int | None = None
    slow: bool = False

    def arguments(self, number: int) -> Given:
        """Fresh arguments of a call; calls beyond the last are the first ones with other values."""
        found = self.calls[number % len(self.calls)](Draw(self.name, number))
        if isinstance(found, Given):
            return found
        return Given(found, {}) if type(found) is tuple else Given((found,), {})


PROGRAMS: dict[str, Program] = {}


def _declaring(kind: str) -> Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]]:
    def declare(*calls: Callable[[Draw], Any], **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            name, subject = function.__name__, function.__module__.rpartition(".")[2]
            if len(calls) < 2:
                raise ValueError(f"program {name} requires two calls or more, got {len(calls)}")
            if name in PROGRAMS:
                raise ValueError(f"program {name} is declared twice: in {PROGRAMS[name].subject} and {subject}")
            raises = frozenset(options.pop("raises", "").split())
            PROGRAMS[name] = Program(name, subject, kind, function, calls, raises=raises, **options)
            return function

        return add

    return declare


program = _declaring("program")
factory = _declaring("factory")
driver = _declaring("driver")


def load() -> dict[str, Program]:
    """All programs, by name."""
    for path in sorted(FOLDER.glob("*.py")):
        importlib.import_module(f"tests.jit.corpus.programs.{path.stem}")
    return PROGRAMS
