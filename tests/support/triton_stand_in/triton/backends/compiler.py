"""The record of a target."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GPUTarget:
    backend: str
    arch: int
    warp_size: int
