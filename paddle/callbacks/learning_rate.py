"""Callbacks of the learning rate."""

from __future__ import annotations

import warnings
from typing import Any

from paddle._public import public
from paddle.callbacks._monitored import Direction, monitored
from paddle.callbacks.callback import Callback
from paddle.optimizer import lr
from umiak.util.errors import op_error


@public("paddle.callbacks")
class LRScheduler(Callback):
    """Callback that moves the optimizer's schedule on, after each batch or after each epoch.

    ``fit`` has one of each batch where none is given. Without a schedule it does nothing.

    Args:
        by_step: after each batch.
        by_epoch: after each epoch.

    Raises:
        ValueError: both.

    Example:
        >>> import paddle
        >>> net = paddle.nn.Linear(2, 1)
        >>> schedule = paddle.optimizer.lr.StepDecay(0.1, step_size=1, gamma=0.5)
        >>> model = paddle.Model(net)
        >>> model.prepare(paddle.optimizer.SGD(schedule, parameters=net.parameters()), paddle.nn.MSELoss())
        >>> data = paddle.io.TensorDataset([paddle.ones([4, 2]), paddle.zeros([4, 1])])
        >>> by_epoch = paddle.callbacks.LRScheduler(by_step=False, by_epoch=True)
        >>> model.fit(data, epochs=2, verbose=0, callbacks=by_epoch)
        >>> schedule()
        0.025
    """

    def __init__(self, by_step: bool = True, by_epoch: bool = False) -> None:
        if by_step and by_epoch:
            raise op_error(ValueError, "LRScheduler", "by_step or by_epoch", "both")
        super().__init__()
        self.by_step = by_step
        self.by_epoch = by_epoch

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if self.by_epoch:
            self._step()

    def on_train_batch_end(self, step: int, logs: dict[str, Any] | None = None) -> None:
        if self.by_step:
            self._step()

    def _step(self) -> None:
        schedule = getattr(self.model._optimizer, "_learning_rate", None)
        if isinstance(schedule, lr.LRScheduler):
            schedule.step()


@public("paddle.callbacks")
class ReduceLROnPlateau(Callback):
    """Callback that reduces the learning rate when a monitored number has not improved over several evaluations.

    The optimizer's rate must be a number: a schedule sets its own. Without ``eval_data`` in ``fit`` there are no
    evaluations, and it does nothing.

    Args:
        monitor: ``"loss"`` (the first of several) or the name of a metric.
        factor: what the rate is multiplied by, below 1.
        patience: evaluations without improvement after which the rate is reduced.
        verbose: 1 prints each reduction.
        mode: ``"min"`` or ``"max"``, what is better; ``"auto"``: larger if "acc" is in the name.
        min_delta: an improvement is larger than this.
        cooldown: evaluations after a reduction that are not counted.
        min_lr: the smallest rate.

    Raises:
        ValueError: a factor of 1 or more.

    Example:
        >>> import paddle
        >>> net = paddle.nn.Linear(2, 1)
        >>> model = paddle.Model(net)
        >>> model.prepare(paddle.optimizer.SGD(0.5, parameters=net.parameters()), paddle.nn.MSELoss())
        >>> data = paddle.io.TensorDataset([paddle.ones([4, 2]), paddle.zeros([4, 1])])
        >>> reduce = paddle.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=100.0, verbose=0)
        >>> model.fit(data, data, batch_size=4, epochs=3, verbose=0, callbacks=reduce)
        >>> model._optimizer.get_lr()
        0.125
    """

    def __init__(
        self,
        monitor: str = "loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 1,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        super().__init__()
        if factor >= 1.0:
            raise op_error(ValueError, "ReduceLROnPlateau", "a factor below 1", factor)
        self.monitor = monitor
        self.factor = factor
        self.min_lr = min_lr
        self.min_delta = min_delta
        self.patience = patience
        self.verbose = verbose
        self.cooldown = cooldown
        self.epoch = 0
        self._direction = Direction("ReduceLROnPlateau", monitor, mode)
        self.mode = self._direction.mode
        self._reset()

    def _reset(self) -> None:
        self.cooldown_counter = 0
        self.wait = 0
        self.best: Any = self._direction.worst

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._reset()

    def on_eval_end(self, logs: dict[str, Any] | None = None) -> None:
        current = monitored("ReduceLROnPlateau", self.monitor, logs)
        if current is None:
            return
        optimizer = self.model._optimizer
        if not isinstance(optimizer._learning_rate, (int, float)):
            kind = type(optimizer._learning_rate).__name__
            text = f"[ReduceLROnPlateau] requires an optimizer whose learning rate is a number, got {kind}"
            warnings.warn(f"{text}. It does nothing", UserWarning, stacklevel=2)
            return
        self.epoch += 1
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self._direction.compare(current, self.best + self._direction.margin(self.min_delta)):
            self.best = current
            self.wait = 0
        elif not self.in_cooldown():
            self.wait += 1
            rate = optimizer.get_lr()
            if self.wait >= self.patience and rate > self.min_lr:
                self._reduce(rate)

    def _reduce(self, rate: float) -> None:
        new = max(rate * self.factor, self.min_lr)
        self.model._optimizer.set_lr(new)
        self.cooldown_counter = self.cooldown
        self.wait = 0
        if self.verbose > 0:
            print(f"\nEpoch {self.epoch}: ReduceLROnPlateau reducing learning rate to {new}.")

    def in_cooldown(self) -> bool:
        """Return whether evaluations are not counted now, after a reduction."""
        return self.cooldown_counter > 0
