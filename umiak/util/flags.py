"""Switches: every ``FLAGS_*`` is an object with its default, its meaning, and whether compiled code depends on it.

``benchmark = define("benchmark", False, "...")`` declares one; ``benchmark.value`` reads it. The environment variable
``FLAGS_benchmark`` overrides the default when the flag is declared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from umiak.util.errors import op_error

T = TypeVar("T", bool, int, float, str)

PREFIX = "FLAGS_"
REGISTRY: dict[str, Flag[Any]] = {}
LATE: dict[str, str] = {}  # switches by full name whose module is not loaded yet, with its name
# Switches of other frameworks by full name: the default, and what is called with the name when one is first set.
ACCEPTED: dict[str, tuple[bool | int | float | str, Callable[[str], object]]] = {}

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("", "0", "false", "no", "off")


def _parse(kind: type, value: Any) -> Any:
    """Convert ``value`` (often text from the environment) to ``kind``; raise ValueError where it does not fit."""
    if kind is bool and isinstance(value, str):
        word = value.strip().lower()
        if word not in _TRUE + _FALSE:
            raise ValueError(value)
        return word in _TRUE
    if kind is str and not isinstance(value, str):
        raise ValueError(value)
    return kind(value)


class Flag(Generic[T]):
    """One switch. ``compile_key`` flags enter the key of everything compiled."""

    __slots__ = ("compile_key", "default", "help", "name", "on_change", "value")

    def __init__(
        self, name: str, default: T, help: str, compile_key: bool, on_change: Callable[[T], object] | None
    ) -> None:
        self.name = name
        self.default: T = default
        self.help = help
        self.compile_key = compile_key
        self.on_change: Callable[[T], object] | None = on_change
        self.value: T = default

    @property
    def type(self) -> type[T]:
        return type(self.default)

    def set(self, value: Any) -> None:
        try:
            converted = _parse(self.type, value)
        except (TypeError, ValueError):
            raise op_error(ValueError, self.name, f"a value of type {self.type.__name__}", repr(value)) from None
        if self.on_change is not None:
            self.on_change(converted)
        self.value = converted

    def __repr__(self) -> str:
        return f"{self.name}={self.value!r}"


def define(
    name: str, default: T, help: str, *, compile_key: bool = False, on_change: Callable[[T], object] | None = None
) -> Flag[T]:
    """Declare ``FLAGS_<name>``. ``on_change`` is called with a new value before it is stored, and may refuse it."""
    full = PREFIX + name
    if full in REGISTRY:
        raise op_error(ValueError, "flags.define", "a name that is not taken", full)
    flag = REGISTRY[full] = Flag(full, default, help, compile_key, on_change)
    if full in os.environ:
        flag.set(os.environ[full])
    return flag


def declare_lazy(homes: Mapping[str, str]) -> None:
    """Know switches (by name, without the prefix) of modules that are loaded when they are used."""
    LATE.update({PREFIX + name: module for name, module in homes.items()})


def accept(defaults: Mapping[str, bool | int | float | str], tell: Callable[[str], object]) -> None:
    """Know switches by name that change nothing: they hold what they are set to. ``tell`` is called with the full name
    of one that is set for the first time."""
    ACCEPTED.update({PREFIX + name: (default, tell) for name, default in defaults.items()})
    for name in ACCEPTED.keys() & os.environ.keys():
        lookup(name)


def _accepted(name: str) -> Flag[Any]:
    default, tell = ACCEPTED[name]

    def first(value: object) -> None:
        REGISTRY[name].on_change = None
        tell(name)

    return define(name.removeprefix(PREFIX), default, "accepted, without effect", on_change=first)


def lookup(name: str) -> Flag[Any]:
    """The flag of a full name (``"FLAGS_benchmark"``)."""
    if name not in REGISTRY and name in LATE:
        import_module(LATE[name])
    try:
        return REGISTRY[name] if name in REGISTRY else _accepted(name)
    except KeyError:
        raise op_error(ValueError, "flags", "the name of a declared flag", repr(name), _similar(name)) from None


def _similar(name: str) -> str:
    import difflib  # for a mistake only

    close = difflib.get_close_matches(name, {**REGISTRY, **LATE}, n=1)
    return f"Did you mean {close[0]}?" if close else ""


def set_flags(flags: Mapping[str, Any]) -> None:
    """Set several switches; an unknown name or an unfit value is a ValueError, and then none of them changes."""
    if not isinstance(flags, Mapping):
        raise op_error(TypeError, "set_flags", "a dict of flag names to values", repr(flags))
    before = [(lookup(name), lookup(name).value) for name in flags]
    try:
        for name, value in flags.items():
            lookup(name).set(value)
    except ValueError:
        for flag, value in before:
            flag.set(value)
        raise


def get_flags(flags: str | Iterable[str]) -> dict[str, Any]:
    """The values of one or several switches, keyed by the names as they were given."""
    if not isinstance(flags, (str, list, tuple)):
        raise op_error(TypeError, "get_flags", "the name of a flag or a list of names", type(flags).__name__)
    names = [flags] if isinstance(flags, str) else list(flags)
    return {name: lookup(name).value for name in names}


def compile_key() -> tuple[tuple[str, Any], ...]:
    """Return what compiled code depends on, beside its source."""
    return tuple((flag.name, flag.value) for _, flag in sorted(REGISTRY.items()) if flag.compile_key)
