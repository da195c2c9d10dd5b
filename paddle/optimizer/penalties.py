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


def penalised(common: WeightDecayRegularizer | None, target: Any, param: Any, grad: Any) -> Any:
    """A gradient with the derivative of a penalty on ``target`` added: the parameter's own one, else the common one."""
    return with_penalties(common, [RegularizedGrad(target, param)], [grad])[0]


def with_penalties(common: WeightDecayRegularizer | None, states: list[Any], grads: Grads) -> Grads:
    """Gradients with the derivatives of penalties added: a parameter's own regularizer, else the common one."""
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
            together.setdefault(op, []).append((i, ((g, state.param, coeff), ())))
    for op, rows in together.items():
        for (i, _), g in zip(rows, apply_foreach(op, [row for _, row in rows]), strict=True):
            grads[i] = g
    return grads
