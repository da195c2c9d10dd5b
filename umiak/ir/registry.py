"""The op classes by name. ``umiak.ops`` lies above this layer and enters them; the parser and the tracer read them."""

from __future__ import annotations

from typing import Any

REGISTRY: dict[str, Any] = {}


class NotRegistered(RuntimeError):
    """A program has operators of users, ``namespace::operator``, that nobody has registered in this process."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        super().__init__(
            f"requires the operators {', '.join(names)} to be registered. Import the module that registers them"
        )


def enter(cls: Any) -> None:
    if cls.name in REGISTRY:
        raise ValueError(f"op {cls.name!r} is registered twice: {REGISTRY[cls.name]} and {cls}")
    REGISTRY[cls.name] = cls
