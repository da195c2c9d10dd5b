"""An optimizer that looks ahead with another one."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.framework import mode
from paddle.incubate.optimizer.recorded import look_ahead
from paddle.optimizer.captured import refuse_inside
from paddle.optimizer.loaded import as_state
from paddle.optimizer.optimizer import Optimizer
from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.foreach import apply_foreach, apply_foreach_into
from umiak.core.tensor import Tensor


@public("paddle.incubate paddle.incubate.optimizer")
class LookAhead(Optimizer):
    """Optimizer that looks ahead with another one.

    The inner optimizer makes ``k`` steps, then ``slow += alpha * (param - slow)`` and parameters go on from there.

    Args:
        inner_optimizer: makes the steps.
        alpha: how far the slow parameters follow, from 0 to 1.
        k: how many steps, 1 or more.

    Raises:
        TypeError: ``inner_optimizer`` is no optimizer.
        ValueError: ``alpha`` or ``k`` is out of range.

    References:
        Zhang et al., 2019: Lookahead Optimizer: k steps forward, 1 step back.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> inner = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
        >>> opt = paddle.incubate.optimizer.LookAhead(inner, alpha=0.5, k=5)
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
        >>> opt.clear_grad()
    """

    def __init__(self, inner_optimizer: Optimizer, alpha: float = 0.5, k: int = 5, name: str | None = None) -> None:
        if not isinstance(inner_optimizer, Optimizer):
            raise TypeError(f"[LookAhead] requires an optimizer, got {type(inner_optimizer).__name__}")
        if not 0.0 <= alpha <= 1.0:
            raise ValueError(f"[LookAhead] requires alpha from 0 to 1, got {alpha}")
        if not (isinstance(k, int) and k > 0):
            raise ValueError(f"[LookAhead] requires a positive integer k, got {k!r}")
        self.inner_optimizer = inner_optimizer
        self.alpha = float(alpha)
        self.k = k
        self._done = 0
        self._slow: dict[Any, Any] = {}
        super().__init__(self.alpha, inner_optimizer._parameter_list, None, None, name)

    def step(self) -> None:
        """Make a step of the inner optimizer; after every k-th the slow parameters follow."""
        self._advance(self.inner_optimizer.step)

    def _advance(self, step: Any) -> None:
        refuse_inside("LookAhead.step")
        step()
        self._done += 1
        with no_grad_guard():
            params: list[Any] = [p for p in self._parameter_list if not p.stop_gradient]
            new = [p for p in params if p not in self._slow]
            for p in new:
                self._slow[p] = self._named(F.copy(p), p)
            if self._done % self.k:
                return
            slow = [self._slow[p] for p in params]
            gaps = apply_foreach(F.Sub(), [((p, s), ()) for p, s in zip(params, slow, strict=True)])
            parts = apply_foreach(F.Mul(), [((g, self.alpha), ()) for g in gaps])
            apply_foreach_into(F.Add(), [((s,), (s, g), ()) for s, g in zip(slow, parts, strict=True)])
            apply_foreach_into(F.Copy(), [((p,), (s,), ()) for p, s in zip(params, slow, strict=True)])

    @staticmethod
    def _named(value: Any, p: Any) -> Any:
        value.name = f"{p.name}_slow_0"
        return value

    def minimize(
        self, loss: Any, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> tuple[list, list[tuple[Tensor, Tensor]]]:
        """Update with the gradients that parameters have. Call ``loss.backward()`` before.

        Args:
            loss: gradients are those that it has left; in static mode a variable with one element.
            startup_program: in static mode gives states their first values; None: the default one.
            parameters: those that are updated; None: the optimizer's.
            no_grad_set: parameters or names of them to leave out; None: none.

        Returns:
            An empty list, and the pairs of parameter and gradient.
        """
        if not mode.in_dynamic_mode():
            done, pairs = self.inner_optimizer.minimize(loss, startup_program, parameters, no_grad_set)
            look_ahead([p for p, _ in pairs], self.alpha, self.k, startup_program)
            return done, pairs
        pairs = self._pairs(parameters, no_grad_set)
        self._advance(lambda: self.inner_optimizer.apply_gradients(pairs))
        return [], pairs

    def apply_gradients(self, params_grads: Any) -> list:
        """Update parameters with given gradients.

        Args:
            params_grads: pairs of parameter and gradient.

        Returns:
            An empty list.
        """
        if not mode.in_dynamic_mode():
            done = self.inner_optimizer.apply_gradients(params_grads)
            look_ahead([p for p, _ in params_grads], self.alpha, self.k, None)
            return done
        self._advance(lambda: self.inner_optimizer.apply_gradients(params_grads))
        return []

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Clear the gradients, as the inner optimizer does.

        Args:
            set_to_zero: fill them with zeros; False sets them to None.
        """
        self.inner_optimizer.clear_grad(set_to_zero)

    clear_gradients = clear_grad

    def get_lr(self) -> float:
        """Return the learning rate of the inner optimizer."""
        return self.inner_optimizer.get_lr()

    def set_lr(self, value: float) -> None:
        """Set the learning rate of the inner optimizer.

        Args:
            value: a number.

        Raises:
            TypeError: something else.
            RuntimeError: a schedule sets the rate.
        """
        self.inner_optimizer.set_lr(value)

    def state_dict(self) -> dict[str, Any]:
        """Make a dict of the slow parameters by name, such as ``linear_0.w_0_slow_0``.

        The inner optimizer has a state dict of its own.
        """
        slow = (self._slow.get(p) for p in self._parameter_list)
        return {s.name: s for s in slow if s is not None}

    def set_state_dict(self, state_dict: Any) -> None:
        """Go on from saved slow parameters. Steps are counted from 0.

        Args:
            state_dict: what :meth:`state_dict` returned.
        """
        saved = {k.rsplit("_slow_", 1)[0]: v for k, v in state_dict.items() if "_slow_" in k}
        self._slow = {p: self._named(as_state(saved[p.name], p), p) for p in self._parameter_list if p.name in saved}
        self._done = 0

    load_state_dict = set_state_dict
    set_dict = set_state_dict
