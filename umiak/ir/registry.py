"""The op classes by name. ``umiak.ops`` lies above this layer and enters them; the parser and the tracer read them."""

from __future__ import annotations

from typing import Any

REGISTRY: dict[str, Any] = {}


def enter(cls: Any) -> None:
    if cls.name in REGISTRY:
        raise ValueError(f"op {cls.name!r} is registered twice: {REGISTRY[cls.name]} and {cls}")
    REGISTRY[cls.name] = cls
