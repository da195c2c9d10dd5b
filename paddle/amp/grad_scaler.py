"""Loss scaling: gradients in float16 stay above its smallest numbers, and steps with infinite ones are left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from paddle._public import also, public
from paddle.optimizer.optimizer import Optimizer
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.foreach import apply_foreach_into, elements
from umiak.core.optimizer_step import gradients
from umiak.core.tensor import Tensor, empty
from umiak.runtime.selected_rows import SelectedRows

_MUL, _PROBE = F.Mul(), F.FiniteProbe()


def all_finite(tensors: Sequence[Tensor]) -> bool:
    """Return whether all elements of all tensors are finite: one launch of many rows, and one wait for its answer."""
    if not tensors:
        return True
    places: dict[Any, list[Tensor]] = {}
    for t in tensors:
        places.setdefault(t.place, []).append(t)
    totals = []
    for place, those in places.items():
        probes = empty((len(those),), dt.float32, place)
        rows = sorted(zip(elements(probes), those, strict=True), key=lambda pair: pair[1].ndim)
        apply_foreach_into(_PROBE, [((probe,), (t,), ()) for probe, t in rows])
        totals.append(F.sum(probes, axes=(0,)))
    return all(total.item() == 0.0 for total in totals)


def _require_scale(op_name: str, scale: float) -> None:
    if not 0.0 < scale < math.inf:
        raise ValueError(f"[{op_name}] requires a finite scale above 0, got {scale}")


@public("paddle.amp")
class OptimizerState(Enum):
    """State of a scaler: what it has done with an optimizer since the last ``update()``.

    Attributes:
        INIT: nothing.
        UNSCALED: its gradients are unscaled.
        STEPPED: it has made its step.

    Example:
        >>> import paddle
        >>> paddle.amp.OptimizerState.STEPPED.value
        2
    """

    INIT = 0
    UNSCALED = 1
    STEPPED = 2


@public("paddle.amp")
class GradScaler:
    """Scale the loss up before ``backward()`` and gradients down before ``step()``.

    Gradients in float16 so stay above its smallest numbers. Steps with infinite or NaN gradients are left out, and
    lower the scale.

    Args:
        enable: False does nothing.
        init_loss_scaling: the first scale, above 0.
        incr_ratio: the scale grows by this factor, above 1.
        decr_ratio: it shrinks by this factor, between 0 and 1.
        incr_every_n_steps: it grows after so many finite steps in a row.
        decr_every_n_nan_or_inf: it shrinks after so many steps in a row with infinite or NaN gradients.
        use_dynamic_loss_scaling: False keeps the scale.

    Raises:
        ValueError: ratios out of range, or a scale that is not positive.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
        >>> scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0)
        >>> with paddle.amp.auto_cast(dtype="bfloat16"):
        ...     loss = layer(paddle.ones([1, 2])).sum()
        >>> scaler.scale(loss).backward()
        >>> scaler.step(opt)
        >>> scaler.update()
        >>> opt.clear_grad()
    """

    def __init__(
        self,
        enable: bool = True,
        init_loss_scaling: float = 2.0**16,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.5,
        incr_every_n_steps: int = 2000,
        decr_every_n_nan_or_inf: int = 1,
        use_dynamic_loss_scaling: bool = True,
    ) -> None:
        if incr_ratio <= 1.0:
            raise ValueError(f"[GradScaler] requires incr_ratio > 1, got {incr_ratio}")
        if not 0.0 < decr_ratio < 1.0:
            raise ValueError(f"[GradScaler] requires decr_ratio between 0 and 1, got {decr_ratio}")
        _require_scale("GradScaler", init_loss_scaling)
        self._enable = enable
        self._use_dynamic_loss_scaling = enable and use_dynamic_loss_scaling
        self._factor = self._init_loss_scaling = float(init_loss_scaling) if enable else 1.0
        self._incr_ratio = incr_ratio
        self._decr_ratio = decr_ratio
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf
        self._incr_count = 0
        self._decr_count = 0
        self._found_inf: Any = False
        self._cache_found_inf = False  # of the last step
        self._unscaled: set[int] = set()
        self._stepped: set[int] = set()

    @property
    def _scale(self) -> Tensor:
        """The scale as a tensor ``[1]`` of float32, for programs that read and write it so."""
        return F.full(self._factor, dtype=dt.float32, shape=(1,))

    @_scale.setter
    def _scale(self, scale: Any) -> None:
        self._factor = float(scale.item() if hasattr(scale, "item") else scale)

    def scale(self, var: Tensor) -> Tensor:
        """Multiply a loss by the scale.

        Args:
            var: the loss.

        Returns:
            A tensor of its shape and dtype; the loss itself where the scaler is off.
        """
        return F.mul(var, self._factor) if self._enable else var

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer by the scale, in place, to clip them for example.

        Args:
            optimizer: whose parameters' gradients are divided. Its ``step`` then does not divide them again.

        Raises:
            RuntimeError: a second call before ``update()``.
        """
        if not self._enable:
            return
        if id(optimizer) in self._unscaled:
            raise RuntimeError("[unscale_] requires one call between two update(), got two")
        self._unscale(optimizer)
        self._unscaled.add(id(optimizer))

    def _unscale(self, optimizer: Optimizer) -> None:
        """Divide gradients by the scale and note whether one is infinite or NaN. Packages put their own in its place,
        which set ``_found_inf``.
        """
        inverse = 1.0 / self._factor
        with no_grad_guard():
            scaled = [g for g in gradients(optimizer._parameter_list) if g is not None]
            grads = [g.value() if isinstance(g, SelectedRows) else g for g in scaled]
            apply_foreach_into(_MUL, [((g,), (g, inverse), ()) for g in grads])
            if not all_finite(grads):
                self._found_inf = True

    def step(self, optimizer: Optimizer) -> None:
        """Call ``optimizer.step()`` with gradients scaled down, unless one of them is infinite or NaN.

        Args:
            optimizer: the optimizer.

        Raises:
            RuntimeError: a second call before ``update()``.
        """
        if not self._enable:
            optimizer.step()
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("[step] requires one call between two update(), got two")
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        self._cache_found_inf = bool(self._found_inf)
        if not self._cache_found_inf:
            optimizer.step()
        self._stepped.add(id(optimizer))
        if not self._use_dynamic_loss_scaling:
            self._forget()

    def update(self) -> None:
        """Adapt the scale to what the last steps met."""
        if self._use_dynamic_loss_scaling:
            self._update()
            self._forget()

    def _update(self) -> None:
        """Adapt the scale to whether a gradient was infinite or NaN."""
        if self._found_inf:
            self._incr_count = 0
            self._decr_count += 1
            if self._decr_count == self._decr_every_n_nan_or_inf:
                self._factor = max(self._factor * self._decr_ratio, 1.0)
                self._decr_count = 0
        else:
            self._decr_count = 0
            self._incr_count += 1
            if self._incr_count == self._incr_every_n_steps:
                self._factor *= self._incr_ratio
                self._incr_count = 0

    def _forget(self) -> None:
        self._found_inf = False
        self._unscaled.clear()
        self._stepped.clear()

    def minimize(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Call ``optimizer.minimize(...)`` with gradients scaled down, unless one is infinite or NaN, and then
        ``update()``.

        Args:
            optimizer: the optimizer.
            *args: for its ``minimize``: the loss first.
            **kwargs: for its ``minimize``.

        Returns:
            What ``optimizer.minimize`` returns; ``(None, None)`` where the step was left out.
        """
        if not self._enable:
            return optimizer.minimize(*args, **kwargs)
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        done: tuple[Any, Any] = (None, None)
        self._cache_found_inf = bool(self._found_inf)
        if not self._cache_found_inf:
            done = optimizer.minimize(*args, **kwargs)
        if self._use_dynamic_loss_scaling:
            self.update()
        else:
            self._forget()
        return done

    def state_dict(self) -> dict[str, Any]:
        """Make a dict of the scale, its settings and counts.

        Returns:
            A dict, whose ``scale`` is a NumPy array ``[1]`` of float32; an empty one where the scaler is off.
        """
        if not self._enable:
            return {}
        return {
            "scale": np.array([self._factor], "float32"),
            "incr_ratio": self._incr_ratio,
            "decr_ratio": self._decr_ratio,
            "incr_every_n_steps": self._incr_every_n_steps,
            "decr_every_n_nan_or_inf": self._decr_every_n_nan_or_inf,
            "incr_count": self._incr_count,
            "decr_count": self._decr_count,
            "use_dynamic_loss_scaling": self._use_dynamic_loss_scaling,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state.

        Args:
            state_dict: what :meth:`state_dict` returned.

        Raises:
            RuntimeError: an empty dict.
            KeyError: a dict that lacks a setting.
        """
        if not self._enable:
            return
        if not state_dict:
            raise RuntimeError("[GradScaler.load_state_dict] requires a state of an enabled scaler, got an empty one")
        scale = state_dict["scale"]
        self._scale = scale
        self._incr_ratio = state_dict["incr_ratio"]
        self._decr_ratio = state_dict["decr_ratio"]
        self._incr_every_n_steps = state_dict["incr_every_n_steps"]
        self._decr_every_n_nan_or_inf = state_dict["decr_every_n_nan_or_inf"]
        self._incr_count = state_dict["incr_count"]
        self._decr_count = state_dict["decr_count"]
        self._use_dynamic_loss_scaling = state_dict["use_dynamic_loss_scaling"]

    def is_enable(self) -> bool:
        """Say whether the scaler is on."""
        return self._enable

    def is_use_dynamic_loss_scaling(self) -> bool:
        """Say whether the scale adapts."""
        return self._use_dynamic_loss_scaling

    def get_init_loss_scaling(self) -> float:
        """Return the first scale."""
        return self._init_loss_scaling

    def set_init_loss_scaling(self, new_init_loss_scaling: float) -> None:
        """Start again from this scale.

        Args:
            new_init_loss_scaling: the scale, above 0.

        Raises:
            ValueError: it is not positive.
        """
        _require_scale("set_init_loss_scaling", new_init_loss_scaling)
        self._factor = self._init_loss_scaling = float(new_init_loss_scaling)

    def get_incr_ratio(self) -> float:
        """Return the factor of growing."""
        return self._incr_ratio

    def set_incr_ratio(self, new_incr_ratio: float) -> None:
        """Set the factor of growing.

        Args:
            new_incr_ratio: above 1.

        Raises:
            ValueError: it is not above 1.
        """
        if new_incr_ratio <= 1.0:
            raise ValueError(f"[set_incr_ratio] requires more than 1, got {new_incr_ratio}")
        self._incr_ratio = new_incr_ratio

    def get_decr_ratio(self) -> float:
        """Return the factor of shrinking."""
        return self._decr_ratio

    def set_decr_ratio(self, new_decr_ratio: float) -> None:
        """Set the factor of shrinking.

        Args:
            new_decr_ratio: between 0 and 1.

        Raises:
            ValueError: it is not between 0 and 1.
        """
        if not 0.0 < new_decr_ratio < 1.0:
            raise ValueError(f"[set_decr_ratio] requires a number between 0 and 1, got {new_decr_ratio}")
        self._decr_ratio = new_decr_ratio

    def get_incr_every_n_steps(self) -> int:
        """Return the number of finite steps after which the scale grows."""
        return self._incr_every_n_steps

    def set_incr_every_n_steps(self, new_incr_every_n_steps: int) -> None:
        """Set the number of finite steps after which the scale grows.

        Args:
            new_incr_every_n_steps: the number.
        """
        self._incr_every_n_steps = new_incr_every_n_steps

    def get_decr_every_n_nan_or_inf(self) -> int:
        """Return the number of infinite steps after which the scale shrinks."""
        return self._decr_every_n_nan_or_inf

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf: int) -> None:
        """Set the number of infinite steps after which the scale shrinks.

        Args:
            new_decr_every_n_nan_or_inf: the number.
        """
        self._decr_every_n_nan_or_inf = new_decr_every_n_nan_or_inf


AmpScaler = also(GradScaler, "AmpScaler", "paddle.amp")
