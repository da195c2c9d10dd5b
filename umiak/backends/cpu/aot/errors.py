"""Errors of models that are compiled ahead."""

from __future__ import annotations

from typing import Any


class Uncompilable(ValueError):
    """A model, or sizes of it, that cannot be compiled ahead of its use; a predictor may run it nevertheless."""


class LinkError(RuntimeError):
    """The C compiler is missing, or has failed."""


def uncompilable(required: str, got: Any) -> Uncompilable:
    """Build (not raise) the error of a model that is not what is required."""
    return Uncompilable(f"[compile] requires {required}, got {got}")
