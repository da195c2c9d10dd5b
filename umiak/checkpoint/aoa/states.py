"""Optimizer states by name: which parameter they belong to, and whether they have its shape."""

from __future__ import annotations

from collections.abc import Iterable

# Last words of keys of states that have an element for each element of the parameter ...
ELEMENTWISE = frozenset(
    f"{name}_0"
    for name in (
        "w",  # the master weight
        "moment", "moment1", "moment2", "moment2_max",
        "velocity", "momentum", "inf_norm", "mean_square", "mean_grad",
        "_avg_squared_grad", "_avg_squared_update",
    )
)  # fmt: skip
# ... and of those that have one number for all of it.
SINGLE = frozenset(f"{name}_0" for name in ("beta1_pow_acc", "beta2_pow_acc"))


def split_state(key: str) -> tuple[str, str] | None:
    """``("fc.weight", "moment1_0")`` of ``fc.weight.moment1_0``; None for a key that does not end like a state's."""
    parameter, _, kind = key.rpartition(".")
    return (parameter, kind) if parameter and (kind in ELEMENTWISE or kind in SINGLE) else None


def by_parameter(keys: Iterable[str]) -> dict[str, dict[str, str]]:
    """Parameter → kind of state → key."""
    out: dict[str, dict[str, str]] = {}
    for key in keys:
        parts = split_state(key)
        if parts is not None:
            out.setdefault(parts[0], {})[parts[1]] = key
    return out
