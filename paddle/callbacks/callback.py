"""``Callback``: the moments at which a model calls what was given to it."""

from __future__ import annotations

from typing import Any

from paddle._public import public

Logs = dict[str, Any] | None


@public("paddle.callbacks")
class Callback:
    """Base of callbacks: methods that do nothing, one for each moment of training, evaluation and prediction.

    Attributes:
        model: the :class:`paddle.Model`, known before the first call.
        params: a dict with ``batch_size``, ``epochs``, ``steps`` (batches of an epoch, None where nobody knows),
            ``verbose`` and ``metrics`` (names in logs).

    Example:
        >>> import paddle
        >>> class Losses(paddle.callbacks.Callback):
        ...     def on_epoch_end(self, epoch, logs=None):
        ...         print(epoch, sorted(logs))
        >>> net = paddle.nn.Linear(2, 1)
        >>> model = paddle.Model(net)
        >>> model.prepare(paddle.optimizer.SGD(0.1, parameters=net.parameters()), paddle.nn.MSELoss())
        >>> data = paddle.io.TensorDataset([paddle.ones([4, 2]), paddle.zeros([4, 1])])
        >>> model.fit(data, batch_size=2, verbose=0, callbacks=Losses())
        0 ['batch_size', 'loss', 'step']
    """

    model: Any
    params: dict[str, Any]

    def __init__(self) -> None:
        self.model = None
        self.params = {}

    def set_params(self, params: dict[str, Any]) -> None:
        """Keep the parameters of a run.

        Args:
            params: see the attribute.
        """
        self.params = params

    def set_model(self, model: Any) -> None:
        """Keep the model.

        Args:
            model: the :class:`paddle.Model` that calls.
        """
        self.model = model

    def on_train_begin(self, logs: Logs = None) -> None:
        """Begin training.

        Args:
            logs: None.
        """

    def on_train_end(self, logs: Logs = None) -> None:
        """End training.

        Args:
            logs: those of the last batch, of the last evaluation if there was one.
        """

    def on_eval_begin(self, logs: Logs = None) -> None:
        """Begin an evaluation.

        Args:
            logs: ``steps`` and ``metrics``.
        """

    def on_eval_end(self, logs: Logs = None) -> None:
        """End an evaluation.

        Args:
            logs: losses of the last batch, and metrics of all.
        """

    def on_predict_begin(self, logs: Logs = None) -> None:
        """Begin a prediction.

        Args:
            logs: ``steps``.
        """

    def on_predict_end(self, logs: Logs = None) -> None:
        """End a prediction.

        Args:
            logs: ``step`` and ``batch_size`` of the last batch.
        """

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Begin an epoch.

        Args:
            epoch: its number, from 0.
            logs: None.
        """

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """End an epoch, before its evaluation.

        Args:
            epoch: its number, from 0.
            logs: losses of the last batch, and metrics of the epoch.
        """

    def on_train_batch_begin(self, step: int, logs: Logs = None) -> None:
        """Begin a batch of training.

        Args:
            step: its number in the epoch, from 0.
            logs: those of the batch before.
        """

    def on_train_batch_end(self, step: int, logs: Logs = None) -> None:
        """End a batch of training.

        Args:
            step: its number in the epoch, from 0.
            logs: ``loss`` (a list), metrics since the epoch's begin, ``step`` and ``batch_size`` (of all ranks).
        """

    def on_eval_batch_begin(self, step: int, logs: Logs = None) -> None:
        """Begin a batch of an evaluation.

        Args:
            step: its number, from 0.
            logs: those of the batch before.
        """

    def on_eval_batch_end(self, step: int, logs: Logs = None) -> None:
        """End a batch of an evaluation.

        Args:
            step: its number, from 0.
            logs: as in training.
        """

    def on_predict_batch_begin(self, step: int, logs: Logs = None) -> None:
        """Begin a batch of a prediction.

        Args:
            step: its number, from 0.
            logs: those of the batch before.
        """

    def on_predict_batch_end(self, step: int, logs: Logs = None) -> None:
        """End a batch of a prediction.

        Args:
            step: its number, from 0.
            logs: ``step`` and ``batch_size``.
        """
