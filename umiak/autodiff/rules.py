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


def differentiable(op: Op) -> bool:
    return has_vjp(op) or (op.decompose is not None and not op.declares_none)


def params_of(op: Op, params: Sequence[Any]) -> Any:
    """Params as a named tuple: ``s.params.eps``."""
    return namedtuple("params", op.param_fields)(*params) if op.param_fields else ()
