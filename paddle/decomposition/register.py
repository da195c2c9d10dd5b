"""Rules that say what an op means in smaller ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from umiak.ir.registry import REGISTRY
from umiak.util.errors import op_error

T = TypeVar("T", bound=Callable[..., Any])

RULES: dict[str, Callable[..., Any]] = {}


def op_name(given: str) -> str:
    """The name of an op here: without the reference's dialect before it."""
    return given.removeprefix("pd_op.")


def register_decomp(op_type: str) -> Callable[[T], T]:
    """Say what an op means: a rule that :func:`paddle.decomposition.decompose` uses in place of the op's own.

    Args:
        op_type: the name of the op, with or without ``pd_op.`` before it.

    Returns:
        A decorator of the rule: a function of the op's operands, which gets attributes and params as keywords by their
        names here, and returns what the op returns.

    Raises:
        ValueError: there is no such op, or it has a rule.

    Example:
        >>> import paddle
        >>> from paddle.decomposition.register import register_decomp
        >>> @register_decomp("pd_op.silu")
        ... def silu(x):
        ...     return x / (1 + paddle.exp(-x))
        >>> paddle.decomposition.register.get_decomp_rule("pd_op.silu") is silu
        True
        >>> del paddle.decomposition.register.RULES["silu"]
    """
    name = op_name(op_type)
    if name not in REGISTRY:
        raise op_error(ValueError, "register_decomp", "the name of an op", repr(op_type))
    if name in RULES:
        raise op_error(ValueError, "register_decomp", "an op without a rule", f"{op_type!r}, which has one")

    def enter(rule: T) -> T:
        RULES[name] = rule
        return rule

    return enter


def get_decomp_rule(op_type: str) -> Callable[..., Any] | None:
    """Return the rule that was registered for an op.

    Args:
        op_type: the name of the op, with or without ``pd_op.`` before it.

    Returns:
        A function, or None.

    Example:
        >>> import paddle.decomposition
        >>> paddle.decomposition.register.get_decomp_rule("pd_op.tanh") is None
        True
    """
    return RULES.get(op_name(op_type))
