"""Made by ``tools/public_stubs.py``."""

from paddle.callbacks.callback import Callback as Callback
from paddle.callbacks.checkpoints import ModelCheckpoint as ModelCheckpoint
from paddle.callbacks.early_stopping import EarlyStopping as EarlyStopping
from paddle.callbacks.experiment_logs import VisualDL as VisualDL
from paddle.callbacks.experiment_logs import WandbCallback as WandbCallback
from paddle.callbacks.learning_rate import LRScheduler as LRScheduler
from paddle.callbacks.learning_rate import ReduceLROnPlateau as ReduceLROnPlateau
from paddle.callbacks.progress import ProgBarLogger as ProgBarLogger

__all__ = [
    "Callback",
    "EarlyStopping",
    "LRScheduler",
    "ModelCheckpoint",
    "ProgBarLogger",
    "ReduceLROnPlateau",
    "VisualDL",
    "WandbCallback",
]
