"""Sharing memory with other frameworks by DLPack."""

from paddle import _lazy
from paddle.tensor.creation import from_dlpack, to_dlpack

__getattr__, __dir__ = _lazy.attributes_of(__name__)

__all__ = ["from_dlpack", "to_dlpack"]
