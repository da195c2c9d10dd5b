"""Several callbacks as one, and what a run adds to those that it was given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from paddle.callbacks.callback import Callback
from paddle.callbacks.checkpoints import ModelCheckpoint
from paddle.callbacks.early_stopping import EarlyStopping
from paddle.callbacks.learning_rate import LRScheduler
from paddle.callbacks.progress import ProgBarLogger
from umiak.util.errors import op_error

MODES = ("train", "eval", "predict")


class CallbackList:
    """Callbacks that are called in their order.

    Args:
        callbacks: the callbacks; None for none.

    Raises:
        TypeError: one of them is no :class:`Callback`.
    """

    def __init__(self, callbacks: Sequence[Callback] | None = None) -> None:
        self.callbacks: list[Callback] = []
        self.params: dict[str, Any] = {}
        self.model: Any = None
        for callback in callbacks or ():
            self.append(callback)

    def append(self, callback: Callback) -> None:
        """Add a callback at the end.

        Args:
            callback: the callback.
        """
        if not isinstance(callback, Callback):
            raise op_error(TypeError, "callbacks", "instances of paddle.callbacks.Callback", repr(callback))
        self.callbacks.append(callback)

    def __iter__(self) -> Iterator[Callback]:
        return iter(self.callbacks)

    def set_params(self, params: dict[str, Any]) -> None:
        """Tell all of them the parameters of a run.

        Args:
            params: a dict.
        """
        self.params = params
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model: Any) -> None:
        """Tell all of them the model.

        Args:
            model: the model.
        """
        self.model = model
        for callback in self.callbacks:
            callback.set_model(model)

    def _call(self, name: str, *args: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, name)(*args)

    def _check_mode(self, mode: str) -> None:
        if mode not in MODES:
            raise op_error(ValueError, "callbacks", "a mode of 'train', 'eval' and 'predict'", repr(mode))

    def on_begin(self, mode: str, logs: dict[str, Any] | None = None) -> None:
        """Begin training, evaluation or prediction.

        Args:
            mode: ``"train"``, ``"eval"`` or ``"predict"``.
            logs: for the callbacks.
        """
        self._check_mode(mode)
        self._call(f"on_{mode}_begin", logs)

    def on_end(self, mode: str, logs: dict[str, Any] | None = None) -> None:
        """End training, evaluation or prediction.

        Args:
            mode: ``"train"``, ``"eval"`` or ``"predict"``.
            logs: for the callbacks.
        """
        self._check_mode(mode)
        self._call(f"on_{mode}_end", logs)

    def on_epoch_begin(self, epoch: int | None = None, logs: dict[str, Any] | None = None) -> None:
        """Begin an epoch.

        Args:
            epoch: its number.
            logs: for the callbacks.
        """
        self._call("on_epoch_begin", epoch, logs)

    def on_epoch_end(self, epoch: int | None = None, logs: dict[str, Any] | None = None) -> None:
        """End an epoch.

        Args:
            epoch: its number.
            logs: for the callbacks.
        """
        self._call("on_epoch_end", epoch, logs)

    def on_batch_begin(self, mode: str, step: int | None = None, logs: dict[str, Any] | None = None) -> None:
        """Begin a batch.

        Args:
            mode: ``"train"``, ``"eval"`` or ``"predict"``.
            step: its number.
            logs: for the callbacks.
        """
        self._check_mode(mode)
        self._call(f"on_{mode}_batch_begin", step, logs)

    def on_batch_end(self, mode: str, step: int | None = None, logs: dict[str, Any] | None = None) -> None:
        """End a batch.

        Args:
            mode: ``"train"``, ``"eval"`` or ``"predict"``.
            step: its number.
            logs: for the callbacks.
        """
        self._check_mode(mode)
        self._call(f"on_{mode}_batch_end", step, logs)


def config_callbacks(
    callbacks: Sequence[Callback] | Callback | None = None,
    model: Any = None,
    batch_size: int | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    log_freq: int = 2,
    verbose: int = 2,
    save_freq: int = 1,
    save_dir: str | None = None,
    metrics: list[str] | None = None,
    mode: str = "train",
) -> CallbackList:
    """Complete the callbacks of a run by a progress bar, checkpoints and the learning rate's schedule.

    Args:
        callbacks: a callback or several; None for none.
        model: the model, which they are told.
        batch_size: for ``params``.
        epochs: for ``params``.
        steps: for ``params``.
        log_freq: batches between two updates of the progress bar.
        verbose: 0 for no progress bar, 1 for a bar, 2 for a line each time, 3 with times of the parts.
        save_freq: epochs between two checkpoints.
        save_dir: the folder of checkpoints; None for none.
        metrics: names in logs.
        mode: ``"train"``, ``"eval"`` or ``"predict"``.

    Returns:
        A :class:`CallbackList`.
    """
    found: list[Any] = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
    if verbose and not any(isinstance(c, ProgBarLogger) for c in found):
        found.insert(0, ProgBarLogger(log_freq, verbose=verbose))
    if not any(isinstance(c, ModelCheckpoint) for c in found):
        found.append(ModelCheckpoint(save_freq, save_dir))
    if not any(isinstance(c, LRScheduler) for c in found):
        found.append(LRScheduler())
    for callback in found:
        if isinstance(callback, EarlyStopping):
            callback.save_dir = save_dir
    out = CallbackList(found)
    out.set_model(model)
    out.set_params(
        {
            "batch_size": batch_size,
            "epochs": epochs,
            "steps": steps,
            "verbose": verbose,
            "metrics": [] if metrics is None else metrics,
        }
    )
    return out
