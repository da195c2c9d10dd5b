"""Common parts of the models. Their files use the public API alone: PaddlePaddle runs them too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Model:
    """``make()`` gives a layer, which is called with ``data()``; it returns the loss where it is trained (AdamW)."""

    make: Callable[[], Any]
    data: Callable[[], tuple[np.ndarray, ...]]
    training: bool = True
