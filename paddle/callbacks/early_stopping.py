"""``EarlyStopping``: training ends when it does not help any more."""

from __future__ import annotations

import os
from typing import Any

from paddle._public import public
from paddle.callbacks._monitored import Direction, monitored
from paddle.callbacks.callback import Callback


@public("paddle.callbacks")
class EarlyStopping(Callback):
    """Callback that ends training when a monitored number has not improved over several evaluations.

    Without ``eval_data`` in ``fit`` there are no evaluations, and it does nothing.

    Args:
        monitor: ``"loss"`` (the first of several) or the name of a metric.
        mode: ``"min"`` or ``"max"``, what is better; ``"auto"``: larger if "acc" is in the name.
        patience: evaluations without improvement after which training ends.
        verbose: 1 prints when it ends.
        min_delta: an improvement is larger than this.
        baseline: the number to improve on at first; None: any.
        save_best_model: save the model after each improvement as ``best_model`` in ``fit``'s ``save_dir``.

    Example:
        >>> import paddle
        >>> net = paddle.nn.Linear(2, 1)
        >>> model = paddle.Model(net)
        >>> model.prepare(paddle.optimizer.SGD(0.0, parameters=net.parameters()), paddle.nn.MSELoss())
        >>> data = paddle.io.TensorDataset([paddle.ones([4, 2]), paddle.zeros([4, 1])])
        >>> stop = paddle.callbacks.EarlyStopping("loss", patience=2, save_best_model=False)
        >>> model.fit(data, data, batch_size=4, epochs=10, verbose=0, callbacks=stop)
        Epoch 3: Early stopping.
    """

    def __init__(
        self,
        monitor: str = "loss",
        mode: str = "auto",
        patience: int = 0,
        verbose: int = 1,
        min_delta: float = 0,
        baseline: float | None = None,
        save_best_model: bool = True,
    ) -> None:
        super().__init__()
        self.monitor = monitor
        self.patience = patience
        self.verbose = verbose
        self.baseline = baseline
        self.wait_epoch = 0
        self.stopped_epoch = 0
        self.save_best_model = save_best_model
        self.save_dir: str | None = None
        self._direction = Direction("EarlyStopping", monitor, mode)
        self.monitor_op = self._direction.compare
        self.min_delta = self._direction.margin(abs(min_delta))
        self.best_value: Any = self._direction.worst

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.wait_epoch = 0
        self.best_value = self._direction.worst if self.baseline is None else self.baseline

    def on_eval_end(self, logs: dict[str, Any] | None = None) -> None:
        current = monitored("EarlyStopping", self.monitor, logs)
        if current is None:
            return
        if self.monitor_op(current - self.min_delta, self.best_value):
            self.best_value = current
            self.wait_epoch = 0
            if self.save_best_model and self.save_dir is not None:
                self.model.save(os.path.join(self.save_dir, "best_model"))
        else:
            self.wait_epoch += 1
        self.stopped_epoch += 1
        if self.wait_epoch >= self.patience:
            self.model.stop_training = True
            if self.verbose > 0:
                print(f"Epoch {self.stopped_epoch}: Early stopping.")
                if self.save_best_model and self.save_dir is not None:
                    path = os.path.abspath(os.path.join(self.save_dir, "best_model"))
                    print(f"Best checkpoint has been saved at {path}")
