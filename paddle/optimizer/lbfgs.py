"""The limited-memory method of Broyden, Fletcher, Goldfarb and Shanno."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from paddle._public import public
from paddle.framework.grad_mode import enable_grad
from paddle.optimizer.captured import refuse_inside
from paddle.optimizer.line_search import Point, strong_wolfe
from paddle.optimizer.optimizer import Optimizer
from paddle.optimizer.penalties import RegularizedGrad, with_penalties
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.runtime.selected_rows import SelectedRows

_FLAT = 1e-10  # a change of gradient along the step that is smaller says nothing about curvature


def _dot(a: Any, b: Any) -> float:
    return F.sum(F.mul(a, b), axes=(0,)).item()


def _size(x: Any) -> float:
    return F.max(F.abs(x), axes=(0,)).item()


def descent(
    grad: Tensor, steps: Sequence[Any], grad_changes: Sequence[Any], inverse: Sequence[float], scale: Any
) -> tuple[Any, list[float]]:
    """Minus the approximate inverse Hessian times ``grad`` (Nocedal and Wright, algorithm 7.4), and the first loop's
    factors.

    ``steps`` are changes of the position and ``grad_changes`` those of the gradient, oldest first, ``inverse`` one over
    their products, ``scale`` the first approximation: a number on its diagonal, or a matrix.
    """
    direction, factors = F.neg(grad), [0.0] * len(steps)
    for i in reversed(range(len(steps))):
        factors[i] = _dot(steps[i], direction) * inverse[i]
        direction = F.sub(direction, F.mul(grad_changes[i], factors[i]))
    if isinstance(scale, Tensor):
        direction = F.reshape(F.matmul(scale, F.unsqueeze(direction, axes=(1,))), shape=tuple(grad.shape))
    else:
        direction = F.mul(direction, scale)
    for i in range(len(steps)):
        direction = F.add(direction, F.mul(steps[i], factors[i] - _dot(grad_changes[i], direction) * inverse[i]))
    return direction, factors


def _as_real(g: Tensor) -> Tensor:
    """A complex gradient as pairs of real numbers, as it stands in the flat vector; others as they are."""
    return F.as_real(g) if g.dtype.is_complex else g


@public("paddle.incubate.optimizer paddle.optimizer")
class LBFGS(Optimizer):
    """L-BFGS: descent along the gradient times an estimate of the inverse Hessian, made of the last steps.

    Args:
        learning_rate: the length of a step, or the first that the line search tries: a number or a schedule.
        max_iter: iterations of one ``step``.
        max_eval: evaluations of the closure in one ``step``; None: ``max_iter * 5 / 4``.
        tolerance_grad: stop where no element of the gradient is larger.
        tolerance_change: stop where neither the position nor the loss changes more.
        history_size: number of last steps that the estimate is made of.
        line_search_fn: None, or ``"strong_wolfe"`` for a search along each direction.
        parameters: parameters, one group of them. Required.
        weight_decay: a number (L2, added to the gradient), a regularizer, or None for no penalty.
        grad_clip: accepted with a warning, and without effect: the estimate is made of differences of gradients, and
            those of clipped ones say nothing.

    Raises:
        ValueError: no parameters, several groups of them, or another line search.
        TypeError: arguments of another kind.

    References:
        Liu and Nocedal, 1989: On the Limited Memory BFGS Method for Large Scale Optimization.

    Example:
        >>> import paddle
        >>> x = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(3.0))
        >>> opt = paddle.optimizer.LBFGS(max_iter=10, line_search_fn="strong_wolfe", parameters=[x])
        >>> def closure():
        ...     opt.clear_grad()
        ...     loss = ((x - 1.0) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> opt.step(closure).item()
        8.0
        >>> x.tolist()
        [1.0, 1.0]
    """

    _states_follow_parameters = False  # states belong to the vector of all parameters

    def __init__(
        self,
        learning_rate: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise ValueError(f"[LBFGS] requires line_search_fn None or 'strong_wolfe', got {line_search_fn!r}")
        self.max_iter = max_iter
        self.max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        self.tolerance_grad = tolerance_grad
        self.tolerance_change = tolerance_change
        self.history_size = history_size
        self.line_search_fn = line_search_fn
        self._state: dict[str, Any] = {"func_evals": 0, "n_iter": 0}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        if any(group["grad_clip"] is not None for group in self._groups):
            text = "[LBFGS] requires gradients as they are, got a grad_clip. It does nothing"
            warnings.warn(text, UserWarning, stacklevel=2)
        if len(self._groups) != 1:
            raise ValueError(f"[LBFGS] requires one group of parameters, got {len(self._groups)}")

    # --- parameters as one vector ----------------------------------------------------------------------------------

    def _trained(self) -> list[Any]:
        return [p for p in self._parameter_list if not p.stop_gradient]

    def _gather_flat_grad(self) -> Tensor:
        """All gradients, with penalties, concatenated as one vector; zeros where there is none."""
        params, grads = self._trained(), []
        for p in params:
            g = p.grad
            if g is None:
                g = create_on(p.place, F.full, 0.0, p.dtype, tuple(p.shape))
            grads.append(g.to_dense() if isinstance(g, SelectedRows) else g)
        group = self._groups[0]
        with no_grad_guard():
            if group["_regularizer"] is not None or any(getattr(p, "regularizer", None) for p in params):
                grads = with_penalties(group["_regularizer"], [RegularizedGrad(p, p) for p in params], grads)
            return F.concat([F.reshape(g, shape=(math.prod(g.shape),)) for g in map(_as_real, grads)], axis=0)

    def _positions(self) -> list[Any]:
        return [F.copy(p.detach()) for p in self._trained()]

    def _move(self, starts: list[Any], step: float, direction: Any) -> None:
        """Set the parameters to ``start + step * direction``."""
        at = 0
        with no_grad_guard():
            for p, start in zip(self._trained(), starts, strict=True):
                shape = (*p.shape, 2) if p.dtype.is_complex else tuple(p.shape)
                n = math.prod(shape)
                part = F.reshape(F.slice(direction, (0,), (at,), (n,), (1,)), shape=shape)
                part = F.as_complex(part) if p.dtype.is_complex else part
                p.set_value(F.add(start, F.mul(part, step)))
                at += n

    # --- the step --------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Tensor]) -> Tensor:  # type: ignore[override]
        """Make up to ``max_iter`` iterations.

        Args:
            closure: clears the gradients, computes the loss, calls ``backward()`` on it and returns it.

        Returns:
            The loss that the first call of ``closure`` gave.
        """
        refuse_inside("LBFGS.step")
        with no_grad_guard():
            return self._minimize(closure)

    def _minimize(self, closure: Callable[[], Tensor]) -> Tensor:
        state, lr = self._state, self.get_lr()

        def evaluate() -> tuple[float, Tensor]:
            with enable_grad():
                losses.append(closure())
            state["func_evals"] += 1
            return float(losses[-1].item()), self._gather_flat_grad()

        losses: list[Tensor] = []
        loss, grad = evaluate()
        evaluations = 1
        if _size(grad) <= self.tolerance_grad:
            return losses[0]
        steps, grad_changes = state.setdefault("old_sk", []), state.setdefault("old_yk", [])
        inverse = state.setdefault("ro", [])
        for iteration in range(1, self.max_iter + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                direction, state["H_diag"] = F.neg(grad), 1.0
                step = min(1.0, 1.0 / F.sum(F.abs(grad), axes=(0,)).item()) * lr
            else:
                self._remember(grad, steps, grad_changes, inverse)
                direction, state["al"] = descent(grad, steps, grad_changes, inverse, state["H_diag"])
                step = lr
            state.update(d=direction, prev_flat_grad=grad, prev_loss=loss)
            slope, before, probes = _dot(grad, direction), loss, 0
            state["alpha"] = step
            if slope > -self.tolerance_change:
                break
            starts = self._positions()
            if self.line_search_fn is not None:

                def probe(at: float, starts: list = starts, direction: Any = direction) -> Point:
                    self._move(starts, at, direction)
                    loss, grad = evaluate()
                    return Point(at, loss, grad, _dot(grad, direction))

                start = Point(0.0, loss, grad, slope)
                point, probes = strong_wolfe(probe, start, step, _size(direction))
                loss, grad, step = point.loss, point.grad, point.step
                self._move(starts, step, direction)
            else:
                self._move(starts, step, direction)
                if iteration != self.max_iter:
                    loss, grad = evaluate()
                    probes = 1
            evaluations += probes
            state["alpha"] = step
            if (
                evaluations >= self.max_eval
                or _size(grad) <= self.tolerance_grad
                or _size(direction) * step <= self.tolerance_change
                or abs(loss - before) < self.tolerance_change
            ):
                break
        return losses[0]

    def _remember(self, grad: Tensor, steps: list, grad_changes: list, inverse: list) -> None:
        """Add the last step and the change of gradient that it made to what is known of the curvature."""
        state = self._state
        grad_change, moved = F.sub(grad, state["prev_flat_grad"]), F.mul(state["d"], state["alpha"])
        product = _dot(grad_change, moved)
        if product <= _FLAT:
            return
        if len(steps) == self.history_size:
            for memory in (steps, grad_changes, inverse):
                memory.pop(0)
        steps.append(moved)
        grad_changes.append(grad_change)
        inverse.append(1.0 / product)
        state["H_diag"] = product / _dot(grad_change, grad_change)

    def minimize(self, loss: Any, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None) -> Any:
        """Refuse: a step needs the loss at several places.

        Args:
            loss: does not matter.
            startup_program: does not matter.
            parameters: does not matter.
            no_grad_set: does not matter.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("[LBFGS] requires step(closure), got minimize(), which has one loss only")

    # --- state -----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Make a dict of what is known of the curvature, and counts of iterations and evaluations.

        Returns:
            ``{"state": {…}}``.
        """
        return {"state": {k: list(v) if isinstance(v, list) else v for k, v in self._state.items()}}

    def set_state_dict(self, state_dict: Any) -> None:
        """Go on from a saved state.

        Args:
            state_dict: what :meth:`state_dict` returned.

        Raises:
            KeyError: a dict without ``"state"``.
        """
        plain = ("ro", "al")
        state: dict[str, Any] = {k: list(v) if isinstance(v, list) else v for k, v in state_dict["state"].items()}
        for k in plain:
            state[k] = [float(v) for v in state.get(k) or ()]
        for k in ("H_diag", "alpha", "prev_loss"):
            if state.get(k) is not None:
                state[k] = float(state[k])
        self._state = {k: v for k, v in state.items() if v is not None}

    load_state_dict = set_state_dict
    set_dict = set_state_dict
