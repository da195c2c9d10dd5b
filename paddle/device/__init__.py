"""Devices: which there are, which is current, their memory, streams and events."""

from typing import TYPE_CHECKING

from paddle import _lazy
from paddle.device import places, threads
from paddle.framework import place
from paddle.tensor import typed_tensors

if TYPE_CHECKING:
    from paddle.device import cuda, xpu

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
