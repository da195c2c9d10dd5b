"""Derivatives of penalties on parameters, added to gradients."""

from __future__ import annotations

from typing import Any

from paddle.regularizer import L1Decay, L2Decay, WeightDecayRegularizer
from umiak import ops as F
from umiak.core.foreach import apply_foreach
from umiak.runtime.selected_rows import SelectedRows

_PENALTIES: dict[type, Any] = {L2Decay: F.RegularizedGrad(False), L1Decay: F.RegularizedGrad(True)}

Grads = list[Any]  # one per parameter, None where there is none


class RegularizedGrad:
    """A parameter or its copy, and the parameter's own regularizer: what a penalty asks of a state."""

    __slots__ = ("param", "penalty")

    def __init__(self, target: Any, param: Any) -> None:
        self.param = target
        self.penalty = getattr(param, "regularizer", None)


def penalised(
    common: WeightDecayRegularizer | None, target: Any, param: Any, grad: Any, l2_divisor: float = 1.0
) -> Any:
    """A gradient with the derivative of a penalty on ``target`` added: the parameter's own one, else the common one."""
    return with_penalties(common, [RegularizedGrad(target, param)], [grad], l2_divisor)[0]


def with_penalties(
    common: WeightDecayRegularizer | None, states: list[Any], grads: Grads, l2_divisor: float = 1.0
) -> Grads:
    """Gradients with the derivatives of penalties added: a parameter's own regularizer, else the common one.

    ``l2_divisor`` is what a step multiplies the results by, and an L2 penalty is divided by: ``momentum_`` multiplies
    the gradient alone.
    """
    grads = list(grads)
    together: dict[Any, list[tuple[int, tuple]]] = {}
    for i, (state, g) in enumerate(zip(states, grads, strict=True)):
        penalty = None if g is None else state.penalty or common
        if penalty is None:
            continue
        grads[i] = g = g.to_dense() if isinstance(g, SelectedRows) else g
        op = _PENALTIES.get(type(penalty))
        if op is None:
            grads[i] = penalty(state.param, g)
        else:
            coeff: float = penalty._coeff  # type: ignore[union-attr]
            if l2_divisor not in (0.0, 1.0) and type(penalty) is L2Decay:
                coeff /= l2_divisor
            together.setdefault(op, []).append((i, ((g, state.param, coeff), ())))
    for op, rows in together.items():
        for (i, _), g in zip(rows, apply_foreach(op, [row for _, row in rows]), strict=True):
            grads[i] = g
    return grads
