"""Errors of checkpoints."""

from __future__ import annotations


class CheckpointError(ValueError):
    """A checkpoint is missing, incomplete, damaged or not what it says it is. The message names file and tensor."""


class NoSuchCheckpoint(CheckpointError):
    """There is no checkpoint of this number, or none any more: it is being removed."""
