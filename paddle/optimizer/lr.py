"""Learning-rate schedules: each is a formula over ``last_epoch``, the number of ``step()`` calls so far.

A schedule is given to an optimizer in place of a number; the optimizer reads ``last_lr`` at every step and saves the
schedule with its own state. Schedules advance only when the user calls ``step()``.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, SupportsFloat

from paddle import _lazy
from umiak.util.arguments import several

__getattr__, __dir__ = _lazy.attributes_of(__name__)


def _require(ok: bool, kind: type[Exception], op_name: object, required: str, got: Any) -> None:
    if not ok:
        raise kind(f"[{type(op_name).__name__}] requires {required}, got {got!r}")


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool)


class LRScheduler:
    """Base of all schedules. A subclass defines ``get_lr()`` from ``self.base_lr`` and ``self.last_epoch``.

    A schedule is given to an optimizer in place of a number. Calling it gives the current rate; ``step()`` goes on.

    Args:
        learning_rate: the base rate, 0 or more.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a negative learning_rate.
        TypeError: a learning_rate that is no number.

    Example:
        >>> import paddle
        >>> class Halving(paddle.optimizer.lr.LRScheduler):
        ...     def get_lr(self):
        ...         return self.base_lr * 0.5**self.last_epoch
        >>> s = Halving(0.8)
        >>> s.step()
        >>> s()
        0.4
    """

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        if not _is_number(learning_rate):
            raise TypeError(f"[{type(self).__name__}] requires a float learning_rate, got {type(learning_rate)}")
        _require(learning_rate >= 0, ValueError, self, "learning_rate >= 0", learning_rate)
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = last_epoch
        self.verbose = verbose
        self.step()

    def __call__(self) -> float:
        """Return the current rate."""
        return self.last_lr

    def get_lr(self) -> float:
        """Compute the rate at ``self.last_epoch``."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_lr")

    def step(self, epoch: int | None = None) -> None:
        """Go on, and compute the rate there.

        Args:
            epoch: the epoch to go to; None: the next one.
        """
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.last_lr = self.get_lr()
        self._report()

    def _report(self) -> None:
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def state_keys(self) -> None:
        """Set ``self.keys``: the names of the attributes that ``state_dict`` saves."""
        self.keys = ["last_epoch", "last_lr"]

    def state_dict(self) -> dict[str, Any]:
        """Make a dict of what is needed to go on from here."""
        self.state_keys()
        return {k: _plain(getattr(self, k)) for k in self.keys if hasattr(self, k)}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state.

        Args:
            state_dict: what :meth:`state_dict` returned. What the schedule has no use for is left out with a warning.

        Raises:
            RuntimeError: a key is missing.
        """
        self.state_keys()
        for k in self.keys:
            if k not in state_dict:
                raise RuntimeError(
                    f"[{type(self).__name__}.set_state_dict] requires key {k!r}, got {sorted(state_dict)}"
                )
            setattr(self, k, state_dict[k])
        if len(state_dict) > len(self.keys):
            extra = sorted(set(state_dict) - set(self.keys))
            warnings.warn(
                f"{type(self).__name__} has no use for {extra} of the state: was it saved by another schedule?",
                stacklevel=2,
            )

    set_dict = set_state_dict


def _plain(value: Any) -> Any:
    return float(value) if hasattr(value, "numpy") else value


class NoamDecay(LRScheduler):
    """Schedule that rises linearly, then falls with the root of the epoch.

    The rate is ``learning_rate * d_model**-0.5 * min(epoch**-0.5, epoch * warmup_steps**-1.5)``.

    Args:
        d_model: features of the model, above 0.
        warmup_steps: epochs in which the rate rises.
        learning_rate: the base rate, 0 or more.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a negative learning_rate, or a ``d_model`` that is not positive.
        TypeError: a learning_rate that is no number.

    References:
        Vaswani et al., 2017: Attention Is All You Need.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.NoamDecay(d_model=100, warmup_steps=4)
        >>> rates = []
        >>> for _ in range(5):
        ...     rates.append(round(s(), 4))
        ...     s.step()
        >>> rates
        [0.0, 0.0125, 0.025, 0.0375, 0.05]
    """

    def __init__(
        self, d_model: int, warmup_steps: int, learning_rate: float = 1.0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        _require(d_model > 0, ValueError, self, "d_model > 0", d_model)
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        falling = 1.0 if self.last_epoch == 0 else self.last_epoch**-0.5
        rising = self.warmup_steps**-1.5 * self.last_epoch
        return self.base_lr * self.d_model**-0.5 * min(falling, rising)


class PiecewiseDecay(LRScheduler):
    """Schedule of constant rates: ``values[i]`` until epoch ``boundaries[i]``, the last value from then on.

    Args:
        boundaries: rising epochs, at least one.
        values: rates, one more than boundaries.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        TypeError: boundaries or values that are no numbers.
        ValueError: no boundaries, or too few values.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.PiecewiseDecay(boundaries=[1, 2], values=[0.1, 0.05, 0.01])
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(s())
        ...     s.step()
        >>> rates
        [0.1, 0.05, 0.01, 0.01]
    """

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        several("PiecewiseDecay", "a list of numbers as boundaries", boundaries, SupportsFloat)
        several("PiecewiseDecay", "a list of numbers as values", values, SupportsFloat)
        _require(len(boundaries) > 0, ValueError, self, "at least one boundary", boundaries)
        _require(
            len(values) > len(boundaries),
            ValueError,
            self,
            "one value more than boundaries",
            f"{len(values)} and {len(boundaries)}",
        )
        self.boundaries = boundaries
        self.values = values
        super().__init__(last_epoch=last_epoch, verbose=verbose)

    def get_lr(self) -> float:
        return self.values[sum(self.last_epoch >= b for b in self.boundaries)]


class NaturalExpDecay(LRScheduler):
    """Schedule ``learning_rate * exp(-gamma * epoch)``.

    Args:
        learning_rate: the base rate, 0 or more.
        gamma: how fast the rate falls, above 0.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a negative learning_rate, or a ``gamma`` that is not positive.
        TypeError: a learning_rate that is no number.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.NaturalExpDecay(1.0, gamma=0.5)
        >>> for _ in range(2):
        ...     s.step()
        >>> round(s(), 4)
        0.3679
    """

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        _require(gamma > 0, ValueError, self, "gamma > 0, so that the rate falls", gamma)
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


class InverseTimeDecay(LRScheduler):
    """Schedule ``learning_rate / (1 + gamma * epoch)``.

    Args:
        learning_rate: the base rate, 0 or more.
        gamma: how fast the rate falls.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a negative learning_rate.
        TypeError: a learning_rate that is no number.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.InverseTimeDecay(1.0, gamma=0.5)
        >>> for _ in range(2):
        ...     s.step()
        >>> s()
        0.5
    """

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(LRScheduler):
    """Schedule ``(learning_rate - end_lr) * (1 - epoch/decay_steps)**power + end_lr``.

    After ``decay_steps`` it stays at ``end_lr``.

    Args:
        learning_rate: the base rate, 0 or more.
        decay_steps: epochs of the decay.
        end_lr: the rate at their end.
        power: 1 for a line; above 0.
        cycle: decay over the next multiple of ``decay_steps`` instead of staying at ``end_lr``.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a negative learning_rate, a ``decay_steps`` that is no positive integer, or a ``power`` that is not
            positive.
        TypeError: a learning_rate that is no number.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.PolynomialDecay(1.0, decay_steps=4, end_lr=0.0)
        >>> for _ in range(3):
        ...     s.step()
        >>> s()
        0.25
    """

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        end_lr: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _require(
            isinstance(decay_steps, int) and decay_steps > 0,
            ValueError,
            self,
            "a positive integer decay_steps",
            decay_steps,
        )
        _require(power > 0, ValueError, self, "power > 0", power)
        self.decay_steps = decay_steps
        self.end_lr = end_lr
        self.power = power
        self.cycle = cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        epoch, steps = self.last_epoch, self.decay_steps
        if self.cycle:
            steps *= max(1, math.ceil(epoch / steps))
        else:
            epoch = min(epoch, steps)
        return (self.base_lr - self.end_lr) * (1 - epoch / steps) ** self.power + self.end_lr


class LinearWarmup(LRScheduler):
    """Schedule that rises linearly, and then is constant or another schedule.

    Args:
        learning_rate: the rate after the warm-up: a number, or a schedule, which then starts at its epoch 0.
        warmup_steps: epochs in which the rate rises.
        start_lr: the rate at first.
        end_lr: the rate that it rises to, above start_lr.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a ``warmup_steps`` that is no positive integer, or an ``end_lr`` that is not above ``start_lr``.
        TypeError: a learning_rate that is neither a number nor a schedule.

    Example:
        >>> import paddle
        >>> after = paddle.optimizer.lr.CosineAnnealingDecay(0.5, T_max=10)
        >>> s = paddle.optimizer.lr.LinearWarmup(after, warmup_steps=5, start_lr=0.0, end_lr=0.5)
        >>> for _ in range(5):
        ...     s.step()
        >>> s()
        0.5
    """

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not (_is_number(learning_rate) or isinstance(learning_rate, LRScheduler)):
            raise TypeError(
                f"[LinearWarmup] requires a float or an LRScheduler as learning_rate, got {type(learning_rate)}"
            )
        _require(
            isinstance(warmup_steps, int) and warmup_steps > 0,
            ValueError,
            self,
            "a positive integer warmup_steps",
            warmup_steps,
        )
        _require(end_lr > start_lr, ValueError, self, f"end_lr > start_lr {start_lr}", end_lr)
        self.learning_rate = learning_rate
        self.warmup_steps = warmup_steps
        self.start_lr = start_lr
        self.end_lr = end_lr
        super().__init__(start_lr, last_epoch, verbose)

    def get_lr(self) -> float:
        if self.last_epoch < self.warmup_steps:
            return (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps + self.start_lr
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.step(self.last_epoch - self.warmup_steps)
            return self.learning_rate()
        return self.learning_rate

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            state["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        inner = state.pop("LinearWarmup_LR", None)
        super().set_state_dict(state)
        if inner is not None and isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.set_state_dict(inner)

    set_dict = set_state_dict


class ExponentialDecay(LRScheduler):
    """Schedule ``learning_rate * gamma**epoch``.

    Args:
        learning_rate: the base rate, 0 or more.
        gamma: the factor of each epoch, between 0 and 1.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a negative learning_rate, or a ``gamma`` out of range.
        TypeError: a learning_rate that is no number.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.ExponentialDecay(1.0, gamma=0.5)
        >>> for _ in range(3):
        ...     s.step()
        >>> s()
        0.125
    """

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        _require(0.0 < gamma < 1.0, ValueError, self, "0 < gamma < 1", gamma)
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.gamma**self.last_epoch


class MultiStepDecay(LRScheduler):
    """Schedule that is multiplied by ``gamma`` at each milestone.

    Args:
        learning_rate: the base rate, 0 or more.
        milestones: a list or tuple of rising epochs.
        gamma: the factor, below 1.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a negative learning_rate, milestones that do not rise, or a ``gamma`` that is not below 1.
        TypeError: a learning_rate that is no number, or milestones that are no list or tuple.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.MultiStepDecay(1.0, milestones=[1, 3], gamma=0.5)
        >>> for _ in range(3):
        ...     s.step()
        >>> s()
        0.25
    """

    def __init__(
        self,
        learning_rate: float,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _require(isinstance(milestones, (tuple, list)), TypeError, self, "milestones as a tuple or list", milestones)
        _require(
            all(a < b for a, b in zip(milestones, milestones[1:], strict=False)),
            ValueError,
            self,
            "rising milestones",
            milestones,
        )
        _require(gamma < 1.0, ValueError, self, "gamma < 1", gamma)
        self.milestones = milestones
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.gamma ** bisect_right(self.milestones, self.last_epoch)


class StepDecay(LRScheduler):
    """Schedule ``learning_rate * gamma**(epoch // step_size)``.

    Args:
        learning_rate: the base rate, 0 or more.
        step_size: epochs between two changes.
        gamma: the factor of a change, below 1.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a negative learning_rate, a ``step_size`` below 1, or a ``gamma`` that is not below 1.
        TypeError: a learning_rate that is no number, or a ``step_size`` that is no integer.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.StepDecay(0.5, step_size=2, gamma=0.5)
        >>> for _ in range(2):
        ...     s.step()
        >>> s()
        0.25
    """

    def __init__(
        self, learning_rate: float, step_size: int, gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        _require(isinstance(step_size, int), TypeError, self, "an integer step_size", step_size)
        _require(step_size > 0, ValueError, self, "step_size > 0", step_size)
        _require(gamma < 1.0, ValueError, self, "gamma < 1", gamma)
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.gamma ** (self.last_epoch // self.step_size)


class LambdaDecay(LRScheduler):
    """Schedule ``learning_rate * lr_lambda(epoch)``.

    Args:
        learning_rate: the base rate, 0 or more.
        lr_lambda: a function of the epoch.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a negative learning_rate.
        TypeError: a learning_rate that is no number, or an ``lr_lambda`` that cannot be called.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.LambdaDecay(0.5, lambda epoch: 1 / (1 + epoch))
        >>> for _ in range(4):
        ...     s.step()
        >>> s()
        0.1
    """

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[int], float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        _require(callable(lr_lambda), TypeError, self, "a callable lr_lambda", lr_lambda)
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.lr_lambda(self.last_epoch)


class MultiplicativeDecay(LRScheduler):
    """Schedule ``learning_rate * lr_lambda(1) * … * lr_lambda(epoch)``.

    Args:
        learning_rate: the base rate, 0 or more.
        lr_lambda: a function of the epoch.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a negative learning_rate.
        TypeError: a learning_rate that is no number, or an ``lr_lambda`` that cannot be called.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.MultiplicativeDecay(1.0, lambda epoch: 0.5)
        >>> for _ in range(2):
        ...     s.step()
        >>> s()
        0.25
    """

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[int], float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        _require(callable(lr_lambda), TypeError, self, "a callable lr_lambda", lr_lambda)
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return math.prod(map(self.lr_lambda, range(1, self.last_epoch + 1)), start=self.base_lr)


class CosineAnnealingDecay(LRScheduler):
    """Schedule ``eta_min + (learning_rate - eta_min) * (1 + cos(pi * epoch / T_max)) / 2``.

    It goes up again after ``T_max``. It is computed step by step from the rate before, so that a rate changed by hand
    is respected; ``step(epoch)`` uses the formula.

    Args:
        learning_rate: the base rate, 0 or more.
        T_max: epochs from the largest rate to the smallest.
        eta_min: the smallest rate.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a negative learning_rate, or a ``T_max`` that is not positive.
        TypeError: a learning_rate or ``eta_min`` that is no number, or a ``T_max`` that is no integer.

    References:
        Loshchilov and Hutter, 2017: SGDR: Stochastic Gradient Descent with Warm Restarts.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.CosineAnnealingDecay(1.0, T_max=4)
        >>> for _ in range(2):
        ...     s.step()
        >>> round(s(), 4)
        0.5
    """

    def __init__(
        self, learning_rate: float, T_max: int, eta_min: float = 0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        _require(isinstance(T_max, int), TypeError, self, "an integer T_max", T_max)
        _require(T_max > 0, ValueError, self, "T_max > 0", T_max)
        _require(_is_number(eta_min), TypeError, self, "a number eta_min", eta_min)
        self.T_max = T_max
        self.eta_min = float(eta_min)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        n, low = self.T_max, self.eta_min
        if self.last_epoch == 0:
            return self.base_lr
        if (self.last_epoch - 1 - n) % (2 * n) == 0:  # at the bottom: the ratio below is 0/0
            return self.last_lr + (self.base_lr - low) * (1 - math.cos(math.pi / n)) / 2
        here, before = (1 + math.cos(math.pi * e / n) for e in (self.last_epoch, self.last_epoch - 1))
        return here / before * (self.last_lr - low) + low

    def step(self, epoch: int | None = None) -> None:
        if epoch is None:
            return super().step()
        self.last_epoch = epoch
        self.last_lr = self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2
        return self._report()


class CosineAnnealingWarmRestarts(LRScheduler):
    """Schedule of cosines from ``learning_rate`` to ``eta_min``, each beginning at the top again.

    The first takes ``T_0`` epochs, each further one ``T_mult`` times as many as the one before.

    Args:
        learning_rate: the base rate, 0 or more.
        T_0: epochs of the first cosine.
        T_mult: an integer of 1 or more.
        eta_min: the smallest rate.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a negative learning_rate, a ``T_0`` that is no positive integer, or a ``T_mult`` below 1.
        TypeError: a learning_rate that is no number.

    References:
        Loshchilov and Hutter, 2017: SGDR: Stochastic Gradient Descent with Warm Restarts.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.CosineAnnealingWarmRestarts(1.0, T_0=2)
        >>> for _ in range(2):
        ...     s.step()
        >>> s()
        1.0
    """

    def __init__(
        self,
        learning_rate: float,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _require(isinstance(T_0, int) and T_0 > 0, ValueError, self, "a positive integer T_0", T_0)
        _require(isinstance(T_mult, int) and T_mult >= 1, ValueError, self, "an integer T_mult >= 1", T_mult)
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2

    def step(self, epoch: float | None = None) -> None:
        """Go on, and compute the rate there.

        Args:
            epoch: the epoch to go to, which may have a fraction; None: the next one.

        Raises:
            ValueError: a negative epoch.
        """
        epoch = self.last_epoch + 1 if epoch is None else epoch
        _require(epoch >= 0, ValueError, self, "epoch >= 0", epoch)
        position, length = float(epoch), self.T_0
        while position >= length:  # skip whole cycles; a fraction of an epoch is allowed
            if self.T_mult == 1:
                position %= length
                break
            position, length = position - length, length * self.T_mult
        self.T_cur, self.T_i = position, length
        self.last_epoch = math.floor(epoch)
        self.last_lr = self.get_lr()
        self._report()


class LinearLR(LRScheduler):
    """Schedule whose factor on ``learning_rate`` goes linearly from one number to another.

    It is computed step by step from the rate before, so that a rate changed by hand is respected.

    Args:
        learning_rate: the base rate, 0 or more.
        total_steps: epochs from the first factor to the last, above 0.
        start_factor: the first factor, above 0 and at most 1.
        end_factor: the last one, from 0 to 1.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: a negative learning_rate, factors out of range, or a ``total_steps`` that is not positive.
        TypeError: a learning_rate that is no number.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.LinearLR(1.0, total_steps=2, start_factor=0.5)
        >>> for _ in range(1):
        ...     s.step()
        >>> s()
        0.75
    """

    def __init__(
        self,
        learning_rate: float,
        total_steps: int,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _require(0 < start_factor <= 1.0, ValueError, self, "0 < start_factor <= 1", start_factor)
        _require(0 <= end_factor <= 1.0, ValueError, self, "0 <= end_factor <= 1", end_factor)
        _require(total_steps > 0, ValueError, self, "total_steps > 0", total_steps)
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_steps = total_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        if self.last_epoch == 0:
            return self.base_lr * self.start_factor
        if self.last_epoch > self.total_steps:
            return self.last_lr
        rise = self.end_factor - self.start_factor
        return self.last_lr * (1.0 + rise / (self.total_steps * self.start_factor + (self.last_epoch - 1) * rise))


def _linear(start: float, end: float, fraction: float) -> float:
    return start + (end - start) * fraction


def _cosine(start: float, end: float, fraction: float) -> float:
    return start + (end - start) * (1 - math.cos(math.pi * fraction)) / 2


class OneCycleLR(LRScheduler):
    """Schedule of one cycle: up to ``max_learning_rate``, then down to ``end_learning_rate``.

    With ``three_phase`` it comes down to the initial rate, in as many steps as it went up, before it goes to the last
    one.

    Args:
        max_learning_rate: the largest rate, 0 or more.
        total_steps: steps of the cycle; a step beyond them is refused.
        divide_factor: the initial rate is ``max_learning_rate / divide_factor``.
        end_learning_rate: the last rate, 0 or more.
        phase_pct: the part of the steps in which the rate rises, from 0 to 1; below 0.5 with ``three_phase``.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        three_phase: see above.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: numbers out of range, or another strategy; in ``step``, a step beyond ``total_steps``.
        TypeError: rates, a factor or a part that are no numbers, or a ``total_steps`` that is no integer.

    References:
        Smith and Topin, 2018: Super-Convergence.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.OneCycleLR(max_learning_rate=0.5, total_steps=100)
        >>> s()
        0.02
        >>> for _ in range(29):
        ...     s.step()
        >>> s()
        0.5
    """

    def __init__(
        self,
        max_learning_rate: float,
        total_steps: int,
        divide_factor: float = 25.0,
        end_learning_rate: float = 0.0001,
        phase_pct: float = 0.3,
        anneal_strategy: str = "cos",
        three_phase: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _require(_is_number(max_learning_rate), TypeError, self, "a number max_learning_rate", max_learning_rate)
        _require(max_learning_rate >= 0, ValueError, self, "max_learning_rate >= 0", max_learning_rate)
        _require(isinstance(total_steps, int), TypeError, self, "an integer total_steps", total_steps)
        _require(total_steps > 0, ValueError, self, "total_steps > 0", total_steps)
        numbers = {"phase_pct": phase_pct, "divide_factor": divide_factor, "end_learning_rate": end_learning_rate}
        for name, value in numbers.items():
            _require(_is_number(value), TypeError, self, f"a number {name}", value)
        _require(0 <= phase_pct <= 1, ValueError, self, "0 <= phase_pct <= 1", phase_pct)
        _require(end_learning_rate >= 0, ValueError, self, "end_learning_rate >= 0", end_learning_rate)
        _require(
            anneal_strategy in ("cos", "linear"), ValueError, self, "anneal_strategy 'cos' or 'linear'", anneal_strategy
        )
        low, high, end = max_learning_rate / float(divide_factor), max_learning_rate, float(end_learning_rate)
        peak = phase_pct * total_steps - 1
        _require(not three_phase or phase_pct < 0.5, ValueError, self, "phase_pct < 0.5 with three_phase", phase_pct)
        self.total_steps = total_steps
        self._anneal = _cosine if anneal_strategy == "cos" else _linear
        if three_phase:
            self._knots = [(0.0, low), (peak, high), (2 * peak, low), (total_steps - 1, end)]
        else:
            self._knots = [(0.0, low), (peak, high), (total_steps - 1, end)]
        super().__init__(low, last_epoch, verbose)

    def get_lr(self) -> float:
        at = self.last_epoch
        _require(at <= self.total_steps, ValueError, self, f"at most total_steps = {self.total_steps} steps", at)
        phase = next((i for i, (end, _) in enumerate(self._knots[1:-1]) if at <= end), len(self._knots) - 2)
        (t0, v0), (t1, v1) = self._knots[phase : phase + 2]
        return self._anneal(v0, v1, (at - t0) / (t1 - t0) if t1 > t0 else 1.0)


class CyclicLR(LRScheduler):
    """Schedule of cycles between ``base_learning_rate`` and ``max_learning_rate``.

    Args:
        base_learning_rate: the smallest rate.
        max_learning_rate: the largest one, 0 or more.
        step_size_up: steps in which the rate rises.
        step_size_down: steps in which it falls; None: as many.
        mode: ``"triangular"`` (cycles of one height), ``"triangular2"`` (half the height every cycle), ``"exp_range"``
            (``exp_gamma**steps`` of the height).
        exp_gamma: the factor of ``"exp_range"``.
        scale_fn: a function that gives the height in place of ``mode``: of the number of the cycle, from 1, or of the
            step; None: as ``mode`` says.
        scale_mode: ``"cycle"`` or ``"iterations"``: what ``scale_fn`` is a function of.
        last_epoch: the epoch that was done last; -1 starts at epoch 0.
        verbose: print each change.

    Raises:
        ValueError: numbers out of range, or unknown modes.
        TypeError: rates that are no numbers.

    References:
        Smith, 2017: Cyclical Learning Rates for Training Neural Networks.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.CyclicLR(0.0, 1.0, step_size_up=2)
        >>> for _ in range(3):
        ...     s.step()
        >>> s()
        0.5
    """

    def __init__(
        self,
        base_learning_rate: float,
        max_learning_rate: float,
        step_size_up: int,
        step_size_down: int | None = None,
        mode: str = "triangular",
        exp_gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _require(_is_number(max_learning_rate), TypeError, self, "a number max_learning_rate", max_learning_rate)
        _require(max_learning_rate >= 0, ValueError, self, "max_learning_rate >= 0", max_learning_rate)
        _require(
            isinstance(step_size_up, int) and step_size_up > 0,
            ValueError,
            self,
            "a positive integer step_size_up",
            step_size_up,
        )
        down = step_size_up if step_size_down is None else step_size_down
        _require(isinstance(down, int) and down > 0, ValueError, self, "a positive integer step_size_down", down)
        modes: dict[str, tuple[Callable[[float], float], str]] = {
            "triangular": (lambda n: 1.0, "cycle"),
            "triangular2": (lambda n: 0.5 ** (n - 1), "cycle"),
            "exp_range": (lambda n: exp_gamma**n, "iterations"),
        }
        _require(mode in modes or scale_fn is not None, ValueError, self, f"mode one of {sorted(modes)}", mode)
        _require(
            scale_mode in ("cycle", "iterations"), ValueError, self, "scale_mode 'cycle' or 'iterations'", scale_mode
        )
        self.max_lr = float(max_learning_rate)
        self.amplitude = self.max_lr - base_learning_rate
        self.cycle_size = step_size_up + down
        self.step_up_pct = step_size_up / self.cycle_size
        self.scale_fn, self.scale_mode = (scale_fn, scale_mode) if scale_fn is not None else modes[mode]
        super().__init__(base_learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        cycle = 1 + self.last_epoch // self.cycle_size
        fraction = 1.0 + self.last_epoch / self.cycle_size - cycle
        height = (
            fraction / self.step_up_pct if fraction <= self.step_up_pct else (1 - fraction) / (1 - self.step_up_pct)
        )
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        return self.base_lr + self.amplitude * height * scale


class ReduceOnPlateau(LRScheduler):
    """Schedule that is multiplied by ``factor`` when a metric no longer improves.

    ``step(metrics)`` has to see no improvement for more than ``patience`` calls.

    Args:
        learning_rate: the rate at first.
        mode: ``"min"``: smaller metrics are better; ``"max"``: larger.
        factor: the factor of a cut, below 1.
        patience: calls without improvement that are allowed.
        threshold: an improvement must exceed this.
        threshold_mode: ``"rel"``: threshold is a part of the best metric; ``"abs"``: a difference.
        cooldown: calls after a cut in which nothing is counted.
        min_lr: the rate never falls below it.
        epsilon: smaller cuts are not made.
        verbose: print each change.

    Raises:
        ValueError: an unknown mode, or a ``factor`` that is not below 1.
        TypeError: a learning_rate that is no number.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.ReduceOnPlateau(1.0, factor=0.5, patience=0)
        >>> for loss in (3.0, 2.0, 2.0):
        ...     s.step(loss)
        >>> s()
        0.5
    """

    def __init__(
        self,
        learning_rate: float,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        epsilon: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        _require(mode in ("min", "max"), ValueError, self, "mode 'min' or 'max'", mode)
        _require(factor < 1.0, ValueError, self, "factor < 1", factor)
        _require(threshold_mode in ("rel", "abs"), ValueError, self, "threshold_mode 'rel' or 'abs'", threshold_mode)
        _require(_is_number(learning_rate), TypeError, self, "a float learning_rate", learning_rate)
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.min_lr = min_lr
        self.epsilon = epsilon
        self.cooldown_counter = 0
        self.best: float | None = None
        self.num_bad_epochs = 0
        self.base_lr = self.last_lr = float(learning_rate)  # not super().__init__: the first step() needs a metric
        self.last_epoch = 0
        self.verbose = verbose

    def state_keys(self) -> None:
        self.keys = ["cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr"]

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Report a metric.

        Args:
            metrics: a number, or an array or tensor with one element.
            epoch: the epoch to go to; None: the next one.

        Raises:
            TypeError: something else.
        """
        if not (_is_number(metrics) or hasattr(metrics, "item")):
            raise TypeError(f"[ReduceOnPlateau] requires metrics as a number, array or tensor, got {type(metrics)}")
        value = float(metrics.item() if hasattr(metrics, "item") else metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            lower = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - lower > self.epsilon:
                self.last_lr = lower
                self._report()

    def _better(self, value: float, best: float) -> bool:
        margin = best * self.threshold if self.threshold_mode == "rel" else self.threshold
        return value < best - margin if self.mode == "min" else value > best + margin


# --- functions of older programs, which make the schedules above --------------------------------------------------


def noam_decay(d_model: int, warmup_steps: int, learning_rate: float = 1.0) -> NoamDecay:
    """A :class:`NoamDecay`.

    Args:
        d_model: size of the model's vectors, above 0.
        warmup_steps: how many steps the rate grows, above 0.
        learning_rate: factor on the rate.

    Returns:
        The schedule.

    Raises:
        ValueError: numbers out of range.

    Example:
        >>> import paddle
        >>> paddle.optimizer.lr.noam_decay(100, 4)()
        0.0
    """
    return NoamDecay(d_model, warmup_steps, learning_rate)


def exponential_decay(
    learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> ExponentialDecay:
    """An :class:`ExponentialDecay`, whose rate is multiplied by ``decay_rate`` in each step.

    Args:
        learning_rate: the first rate.
        decay_steps: accepted: a step is one call of ``step()``.
        decay_rate: the factor, between 0 and 1.
        staircase: accepted.

    Returns:
        The schedule.

    Raises:
        ValueError: a rate out of range.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.exponential_decay(0.5, 10, 0.5)
        >>> s.step()
        >>> s()
        0.25
    """
    return ExponentialDecay(learning_rate, decay_rate)


def natural_exp_decay(
    learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> NaturalExpDecay:
    """A :class:`NaturalExpDecay`.

    Args:
        learning_rate: the first rate.
        decay_steps: accepted: a step is one call of ``step()``.
        decay_rate: the rate is multiplied by ``exp(-decay_rate)`` in each step; above 0.
        staircase: accepted.

    Returns:
        The schedule.

    Raises:
        ValueError: a rate out of range.

    Example:
        >>> import paddle
        >>> paddle.optimizer.lr.natural_exp_decay(0.5, 10, 0.5)()
        0.5
    """
    return NaturalExpDecay(learning_rate, decay_rate)


def inverse_time_decay(
    learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> InverseTimeDecay:
    """An :class:`InverseTimeDecay`: the first rate over ``1 + decay_rate * steps``.

    Args:
        learning_rate: the first rate.
        decay_steps: accepted: a step is one call of ``step()``.
        decay_rate: the factor of the steps.
        staircase: accepted.

    Returns:
        The schedule.

    Raises:
        ValueError: a rate out of range.

    Example:
        >>> import paddle
        >>> s = paddle.optimizer.lr.inverse_time_decay(0.5, 10, 1.0)
        >>> s.step()
        >>> s()
        0.25
    """
    return InverseTimeDecay(learning_rate, decay_rate)


def polynomial_decay(
    learning_rate: float,
    decay_steps: int,
    end_learning_rate: float = 0.0001,
    power: float = 1.0,
    cycle: bool = False,
) -> PolynomialDecay:
    """A :class:`PolynomialDecay`.

    Args:
        learning_rate: the first rate.
        decay_steps: after so many steps the rate is ``end_learning_rate``.
        end_learning_rate: the last rate.
        power: power of the polynomial.
        cycle: whether it begins again.

    Returns:
        The schedule.

    Raises:
        ValueError: numbers out of range.

    Example:
        >>> import paddle
        >>> paddle.optimizer.lr.polynomial_decay(0.5, 4)()
        0.5
    """
    return PolynomialDecay(learning_rate, decay_steps, end_learning_rate, power, cycle)


def piecewise_decay(boundaries: Sequence[int], values: Sequence[float]) -> PiecewiseDecay:
    """A :class:`PiecewiseDecay`.

    Args:
        boundaries: the steps at which the rate changes.
        values: the rates, one more than boundaries.

    Returns:
        The schedule.

    Raises:
        ValueError: no boundary, or another number of rates.

    Example:
        >>> import paddle
        >>> paddle.optimizer.lr.piecewise_decay([1, 2], [0.5, 0.25, 0.1])()
        0.5
    """
    return PiecewiseDecay(boundaries, values)


def cosine_decay(learning_rate: float, step_each_epoch: int, epochs: int) -> CosineAnnealingDecay:
    """A :class:`CosineAnnealingDecay` of which one half period lasts ``epochs`` steps.

    Args:
        learning_rate: the first rate.
        step_each_epoch: accepted: a step is one call of ``step()``, usually at the end of an epoch.
        epochs: after so many steps the rate is 0.

    Returns:
        The schedule.

    Raises:
        ValueError: numbers out of range.

    Example:
        >>> import paddle
        >>> paddle.optimizer.lr.cosine_decay(0.5, 100, 10)()
        0.5
    """
    return CosineAnnealingDecay(learning_rate, epochs)


def linear_lr_warmup(
    learning_rate: float | LRScheduler, warmup_steps: int, start_lr: float, end_lr: float
) -> LinearWarmup:
    """A :class:`LinearWarmup`.

    Args:
        learning_rate: the rate, or the schedule, after the warm-up.
        warmup_steps: how many steps the rate grows.
        start_lr: the first rate.
        end_lr: the rate at the end of the warm-up.

    Returns:
        The schedule.

    Raises:
        ValueError: numbers out of range.

    Example:
        >>> import paddle
        >>> paddle.optimizer.lr.linear_lr_warmup(0.5, 4, 0.0, 0.5)()
        0.0
    """
    return LinearWarmup(learning_rate, warmup_steps, start_lr, end_lr)


__all__: list[str] = [name for name, x in list(vars().items()) if isinstance(x, type) and issubclass(x, LRScheduler)]
