"""Modules that are loaded when they are used, and what is then to be done to them.

The assembler fills slots of modules below it. Those of a module that a program may not need wait here: ``when_loaded``
keeps the action, and the module says ``loaded(__name__)`` in its last line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

_actions: dict[str, Callable[[ModuleType], object]] = {}


def when_loaded(name: str, action: Callable[[ModuleType], object]) -> None:
    """``action(module)`` when the module of that name has been loaded: now, where it is."""
    if name in sys.modules:
        action(sys.modules[name])
    else:
        _actions[name] = action


def loaded(name: str) -> None:
    """The module is there."""
    action = _actions.pop(name, None)
    if action is not None:
        action(sys.modules[name])
