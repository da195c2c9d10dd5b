"""Engines: what computes parts of a model in the place of our own compiler.

An engine says which operators it takes and compiles a part that consists of them. It joins by :func:`register_engine`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from paddle.static.formats.graph import Module, Operation

Compiled = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]


@dataclass(frozen=True)
class Request:
    """A request to an engine. ``smallest``: parts of fewer operators stay here; ``kept``: operators that stay here
    in any case; ``precision``: by the name of a dtype; ``threads``: of one run."""

    engine: str
    precision: str = "float32"
    smallest: int = 3
    kept: frozenset[str] = frozenset()
    threads: int = 1
    settings: dict[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    """A compiler of parts of models, beside our own."""

    def missing(self) -> str:
        """Return what the engine needs and is not there; an empty str where nothing is missing."""

    def takes(self, operation: Operation) -> bool:
        """Return whether the engine computes an operation."""

    def compile(self, module: Module, values: Mapping[str, Any], request: Request) -> Compiled:
        """Return a function of the arrays that the module is fed, in order, which gives those that it fetches.

        ``values``: of parameters, by name, among them those of the module. Several threads may call the function.

        Raises:
            Refused: the engine cannot compute this part after all.
        """


class Refused(Exception):
    """An engine does not take a part."""


ENGINES: dict[str, Engine] = {}


def register_engine(name: str, engine: Engine) -> None:
    """Enter an engine.

    Args:
        name: what a request calls it; those of ``Config`` are ``tensorrt``, ``openvino`` and ``onnxruntime``.
        engine: the engine; it takes the place of one of this name.
    """
    ENGINES[name] = engine
