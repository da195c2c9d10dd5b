"""The choice of the derivative of an op: its ``vjp`` where it has one; a composite without one is differentiated
through its decomposition; an op that declares ``vjp = None`` has none."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from umiak.ops.base import Op


def has_vjp(op: Op) -> bool:
    """Return whether the op's own class (or a family above it) says how to differentiate it."""
    return op.vjp is not None


def declares_none(op: Op) -> bool:
    """Return whether "no gradient" is written, as opposed to left to the decomposition."""
    return op.vjp is None and any(
        "vjp" in cls.__dict__ for cls in type(op).__mro__ if issubclass(cls, Op) and cls is not Op
    )


def differentiable(op: Op) -> bool:
    return has_vjp(op) or (op.decompose is not None and not declares_none(op))


def params_of(op: Op, params: Sequence[Any]) -> Any:
    """Params as a named tuple: ``s.params.eps``."""
    return namedtuple("params", op.param_fields)(*params) if op.param_fields else ()
