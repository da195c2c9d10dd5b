"""Sharing memory with other frameworks by DLPack."""

from paddle.tensor.creation import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
