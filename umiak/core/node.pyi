"""Recorded calls, and handles of hooks."""

from collections.abc import Callable
from typing import Any

class Node:
    """One recorded call: what ``Tensor.grad_fn`` shows."""

    name: str
    next_functions: tuple
    opaque: bool  # it may reach leaves that its edges do not show
    def register_hook(self, hook: Callable) -> Any: ...
    def register_prehook(self, hook: Callable) -> Any: ...

class HookHandle:
    def __init__(self, hooks: list, hook: Callable) -> None: ...
    def remove(self) -> bool: ...
