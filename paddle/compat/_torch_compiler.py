"""``torch.compiler`` of this package under PyTorch's name."""

from __future__ import annotations

import functools
from typing import Any

from paddle.jit import not_to_static
from umiak.core.context import is_tracing


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Mark a function as one that is no part of graphs; ``recursive`` and ``reason`` are accepted."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    return not_to_static(fn)


def is_compiling() -> bool:
    """Return whether the running code is traced."""
    return is_tracing()
