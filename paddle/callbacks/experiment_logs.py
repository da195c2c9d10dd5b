"""Callbacks that write losses and metrics to the logs of other packages."""

from __future__ import annotations

from abc import abstractmethod
from importlib import import_module
from types import ModuleType
from typing import Any

from paddle._public import public
from paddle.callbacks.callback import Callback
from paddle.distributed import get_rank


def _package(callback: str, name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        text = f"[{callback}] requires the package {name}, which is not installed. Run `pip install {name}`"
        raise ImportError(text, name=name) from None


class _Logger(Callback):
    """Numbers of training after each batch, counted over all epochs, and of evaluations, by their epoch.

    Of several ranks the first writes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.epochs: int | None = None
        self.steps: int | None = None
        self.epoch = 0
        self.train_step = 0
        self._fits = False

    def _is_write(self) -> bool:
        return get_rank() == 0

    @abstractmethod
    def _open(self) -> None:
        """Open the log if it is not open."""

    @abstractmethod
    def _close(self) -> None: ...

    @abstractmethod
    def _write(self, mode: str, values: dict[str, Any], step: int) -> None:
        """Write the numbers of ``mode``, "train" or "eval"."""

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.epochs = self.params["epochs"]
        self.train_step = 0
        self._fits = True
        if self._is_write():
            self._open()

    def on_epoch_begin(self, epoch: int | None = None, logs: dict[str, Any] | None = None) -> None:
        self.steps = self.params["steps"]
        self.epoch = epoch or 0

    def on_train_batch_end(self, step: int, logs: dict[str, Any] | None = None) -> None:
        self.train_step += 1
        if self._is_write():
            self._write("train", self._numbers(self.params["metrics"], logs), self.train_step)

    def on_eval_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.eval_metrics = (logs or {}).get("metrics", [])

    def on_eval_end(self, logs: dict[str, Any] | None = None) -> None:
        if self._is_write():
            self._open()
            self._write("eval", self._numbers(self.eval_metrics, logs), self.epoch)
            if not self._fits:
                self._close()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self._fits = False
        if self._is_write():
            self._close()

    def _numbers(self, names: list[str], logs: dict[str, Any] | None) -> dict[str, Any]:
        """The numbers of these names; the first of several losses."""
        found = {name: (logs or {})[name] for name in names if name in (logs or {})}
        return {name: v[0] if isinstance(v, (list, tuple)) else v for name, v in found.items()}


@public("paddle.callbacks")
class VisualDL(_Logger):
    """Callback that writes losses and metrics for VisualDL, whose web page shows them: ``visualdl --logdir DIR``.

    Tags are ``train/`` and ``eval/`` with the names in logs. Needs the package ``visualdl``.

    Args:
        log_dir: the folder of the log, which is made.

    Raises:
        ImportError: there is no ``visualdl``.

    Example:
        >>> import os, paddle, tempfile
        >>> net = paddle.nn.Linear(2, 1)
        >>> model = paddle.Model(net)
        >>> model.prepare(paddle.optimizer.SGD(0.1, parameters=net.parameters()), paddle.nn.MSELoss())
        >>> data = paddle.io.TensorDataset([paddle.ones([4, 2]), paddle.zeros([4, 1])])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     log = paddle.callbacks.VisualDL(folder)  # doctest: +SKIP
        ...     model.fit(data, verbose=0, callbacks=log)  # doctest: +SKIP
    """

    def __init__(self, log_dir: str) -> None:
        super().__init__()
        self.log_dir = log_dir
        self._writer: Any = None
        self._package = _package("VisualDL", "visualdl")

    def _open(self) -> None:
        if self._writer is None:
            self._writer = self._package.LogWriter(self.log_dir)

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _write(self, mode: str, values: dict[str, Any], step: int) -> None:
        for name, value in values.items():
            self._writer.add_scalar(tag=f"{mode}/{name}", step=step, value=float(value))


@public("paddle.callbacks")
class WandbCallback(_Logger):
    """Callback that sends losses and metrics to a run of Weights & Biases. Needs the package ``wandb``.

    Names are ``train/`` and ``eval/`` with the names in logs; those of training are over ``train/step``, those of
    evaluations over ``epoch``. A run that is there when training begins is used, and stays open.

    Args:
        project: the project; None: wandb's own choice.
        entity: the user or team; None: that of the login.
        name: the run's name; None: wandb's own choice.
        dir: the folder of the run's files; None: the working directory.
        mode: ``"online"``, ``"offline"`` or ``"disabled"``; None: online, or what the environment says.
        job_type: the kind of run; None for none.
        **kwargs: for ``wandb.init``.

    Raises:
        ImportError: there is no ``wandb``.

    Example:
        >>> import paddle
        >>> log = paddle.callbacks.WandbCallback(project="digits", mode="offline")  # doctest: +SKIP
    """

    def __init__(
        self,
        project: str | None = None,
        entity: str | None = None,
        name: str | None = None,
        dir: str | None = None,
        mode: str | None = None,
        job_type: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.wandb: Any = _package("WandbCallback", "wandb")
        options = {"project": project, "entity": entity, "name": name, "dir": dir, "mode": mode, "job_type": job_type}
        self.wandb_args = {**options, **kwargs}
        self._run: Any = None
        self._owned = False

    @property
    def run(self) -> Any:
        """The run of wandb, which begins when it is first asked for."""
        if self._run is None:
            self._owned = self.wandb.run is None
            self._run = self.wandb.init(**self.wandb_args) if self._owned else self.wandb.run
            self._run.define_metric("epoch")
            self._run.define_metric("eval/*", step_metric="epoch")
            self._run.define_metric("train/step")
            self._run.define_metric("train/*", step_metric="train/step")
        return self._run

    def _open(self) -> None:
        assert self.run is not None

    def _close(self) -> None:
        if self._run is not None and self._owned:
            self._run.finish()
        self._run = None

    def _write(self, mode: str, values: dict[str, Any], step: int) -> None:
        over = {"train": "train/step", "eval": "epoch"}[mode]
        self.run.log({**{f"{mode}/{name}": float(v) for name, v in values.items()}, over: step})
