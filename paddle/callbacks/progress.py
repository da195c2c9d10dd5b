"""``ProgBarLogger``: losses and metrics on the standard output."""

from __future__ import annotations

import time
from typing import Any

from paddle._public import public
from paddle.callbacks.callback import Callback
from paddle.distributed import get_rank
from paddle.hapi.progressbar import ProgressBar


class _Times:
    """Seconds that batches took, to be read and to be computed, and how many samples they had."""

    def __init__(self) -> None:
        self.clear()
        self.begun = self.last = time.perf_counter()

    def clear(self) -> None:
        self.reading = self.total = 0.0
        self.batches = self.samples = 0

    def begin(self) -> None:
        self.begun = time.perf_counter()
        self.reading += self.begun - self.last

    def end(self, samples: int) -> None:
        now = time.perf_counter()
        self.total += now - self.last
        self.last = now
        self.batches += 1
        self.samples += samples

    def described(self) -> list[tuple[str, str]]:
        """The means since this was last called, as the progress bar shows them."""
        n = max(self.batches, 1)
        rate = self.samples / self.total if self.total else 0.0
        out = [
            ("avg_reader_cost", f"{self.reading / n:.5f} sec"),
            ("avg_batch_cost", f"{self.total / n:.5f} sec"),
            ("ips", f"{rate:.5f} samples/sec"),
        ]
        self.clear()
        return out


class _Run:
    """One pass over data: a progress bar, and how far it is."""

    def __init__(self, steps: int | None, metrics: list[str], verbose: int) -> None:
        self.steps = steps
        self.metrics = metrics
        self.bar = ProgressBar(num=steps, verbose=verbose)
        self.step = self.samples = 0
        self.times = _Times() if verbose == 3 else None

    def begin_batch(self) -> None:
        if self.times is not None:
            self.times.begin()

    def end_batch(self, logs: dict[str, Any] | None, log_freq: int) -> None:
        """Count a batch, and show every so many; the last one is shown at the end."""
        samples = (logs or {}).get("batch_size", 1)
        self.step += 1
        self.samples += samples
        if self.times is not None:
            self.times.end(samples)
        if self.step % log_freq == 0 and (self.steps is None or self.step < self.steps):
            self.show(logs)

    def show(self, logs: dict[str, Any] | None) -> None:
        logs = logs or {}
        values = [(name, logs[name]) for name in self.metrics if name in logs]
        if self.times is not None:
            values += self.times.described()
        self.bar.update(self.step, values)


@public("paddle.callbacks")
class ProgBarLogger(Callback):
    """Callback that shows losses and metrics while the model runs, of several ranks on the first.

    ``fit``, ``evaluate`` and ``predict`` have one where none is given and ``verbose`` is not 0. The loss shown is that
    of the last batch; metrics are those of all batches of the epoch.

    Args:
        log_freq: batches between two updates.
        verbose: 0 shows nothing, 1 a bar, 2 a line for each update, 3 with the times of reading and of whole batches.

    Example:
        >>> import paddle
        >>> net = paddle.nn.Linear(2, 1)
        >>> model = paddle.Model(net)
        >>> model.prepare(paddle.optimizer.SGD(0.1, parameters=net.parameters()), paddle.nn.MSELoss())
        >>> data = paddle.io.TensorDataset([paddle.ones([4, 2]), paddle.zeros([4, 1])])
        >>> bar = paddle.callbacks.ProgBarLogger(log_freq=2)
        >>> model.fit(data, callbacks=bar)  # doctest: +ELLIPSIS
        The loss value printed in the log is the current step, and the metric is the average value of previous steps.
        Epoch 1/1
        step 2/4 - loss: ... - .../step
        step 4/4 - loss: ... - .../step
    """

    def __init__(self, log_freq: int = 1, verbose: int = 2) -> None:
        super().__init__()
        self.epochs: int | None = None
        self.steps: int | None = None
        self.verbose = verbose
        self.log_freq = log_freq
        self._training: _Run | None = None
        self._evaluation: _Run | None = None
        self._prediction: _Run | None = None

    def _is_print(self) -> bool:
        return bool(self.verbose) and get_rank() == 0

    def _run(self, steps: int | None, metrics: list[str], head: str) -> _Run | None:
        if not self._is_print():
            return None
        print(head)
        return _Run(steps, metrics, self.verbose)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.epochs = self.params["epochs"]
        if self._is_print():
            print(
                "The loss value printed in the log is the current step, "
                "and the metric is the average value of previous steps."
            )

    def on_epoch_begin(self, epoch: int | None = None, logs: dict[str, Any] | None = None) -> None:
        self.steps = self.params["steps"]
        head = f"Epoch {(epoch or 0) + 1}/{self.epochs}"
        self._training = self._run(self.steps, self.params["metrics"], head)

    def on_train_batch_begin(self, step: int, logs: dict[str, Any] | None = None) -> None:
        if self._training:
            self._training.begin_batch()

    def on_train_batch_end(self, step: int, logs: dict[str, Any] | None = None) -> None:
        if self._training:
            self._training.end_batch(logs, self.log_freq)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if self._training and self.steps is not None:
            self._training.show(logs)

    def on_eval_begin(self, logs: dict[str, Any] | None = None) -> None:
        logs = logs or {}
        self._evaluation = self._run(logs.get("steps"), logs.get("metrics", []), "Eval begin...")

    def on_eval_batch_begin(self, step: int, logs: dict[str, Any] | None = None) -> None:
        if self._evaluation:
            self._evaluation.begin_batch()

    def on_eval_batch_end(self, step: int, logs: dict[str, Any] | None = None) -> None:
        if self._evaluation:
            self._evaluation.end_batch(logs, self.log_freq)

    def on_eval_end(self, logs: dict[str, Any] | None = None) -> None:
        if self._evaluation and self._evaluation.steps is not None:
            self._evaluation.show(logs)
            print(f"Eval samples: {self._evaluation.samples}")

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._prediction = self._run((logs or {}).get("steps"), [], "Predict begin...")

    def on_predict_batch_begin(self, step: int, logs: dict[str, Any] | None = None) -> None:
        if self._prediction:
            self._prediction.begin_batch()

    def on_predict_batch_end(self, step: int, logs: dict[str, Any] | None = None) -> None:
        if self._prediction:
            self._prediction.end_batch(logs, self.log_freq)

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        if self._prediction:
            self._prediction.show(logs)
            print(f"Predict samples: {self._prediction.samples}")
