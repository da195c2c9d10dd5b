"""Operators that programs have registered: ``paddle.ops.<namespace>.<operator>(...)``, of ``paddle.library``."""

from __future__ import annotations

from types import ModuleType
from typing import Any


class Namespace(ModuleType):
    """The operators of a namespace, as attributes."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = ", ".join(sorted(n for n in vars(self) if not n.startswith("__"))) or "none"
        raise AttributeError(
            f"no operator '{self.__name__.rpartition('.')[2]}::{name}' is registered (of this namespace: {known}). "
            "Register it with paddle.library.custom_op, or import the package that does",
            name=name,
            obj=object(),
        )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(
        f"no operator of the namespace {name!r} is registered. Register one with "
        f"paddle.library.custom_op('{name}::...'), or import the package that does",
        name=name,
        obj=object(),
    )
