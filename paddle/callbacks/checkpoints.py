"""``ModelCheckpoint``: training states on disk."""

from __future__ import annotations

import os
from typing import Any

from paddle._public import public
from paddle.callbacks.callback import Callback
from paddle.distributed import get_rank


@public("paddle.callbacks")
class ModelCheckpoint(Callback):
    """Callback that saves model and optimizer: after epochs as ``0``, ``1``, …, and after training as ``final``.

    ``fit`` has one where none is given, for its own ``save_dir`` and ``save_freq``. Of several ranks the first saves.

    Args:
        save_freq: epochs between two checkpoints.
        save_dir: the folder, which is made; None: nothing is saved.

    Example:
        >>> import os, paddle, tempfile
        >>> net = paddle.nn.Linear(2, 1)
        >>> model = paddle.Model(net)
        >>> model.prepare(paddle.optimizer.SGD(0.1, parameters=net.parameters()), paddle.nn.MSELoss())
        >>> data = paddle.io.TensorDataset([paddle.ones([4, 2]), paddle.zeros([4, 1])])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save = paddle.callbacks.ModelCheckpoint(save_dir=folder)
        ...     model.fit(data, verbose=0, callbacks=save)  # doctest: +ELLIPSIS
        ...     sorted(os.listdir(folder))
        save checkpoint at ...0
        save checkpoint at ...final
        ['0.pdparams', 'final.pdparams']
    """

    def __init__(self, save_freq: int = 1, save_dir: str | None = None) -> None:
        super().__init__()
        self.save_freq = save_freq
        self.save_dir = save_dir

    def on_epoch_begin(self, epoch: int | None = None, logs: dict[str, Any] | None = None) -> None:
        self.epoch = epoch

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if epoch % self.save_freq == 0:
            self._save(str(epoch))

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self._save("final")

    def _save(self, name: str) -> None:
        if self.save_dir is None or get_rank() != 0:
            return
        path = os.path.abspath(os.path.join(self.save_dir, name))
        print(f"save checkpoint at {path}")
        self.model.save(path)
