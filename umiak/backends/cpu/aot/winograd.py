"""Convolutions of kernel 3 × 3 by Winograd's algorithm as steps: where it is less work, and in which sizes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from math import prod

import numpy as np

from umiak.backends.cpu.aot.epilogue import Epilogue
from umiak.backends.cpu.aot.kernels import Kernels
from umiak.backends.cpu.aot.memory import Memory, Place, weight
from umiak.backends.cpu.aot.step import Step, numbers, struct

FEWEST_TILES = 40  # transformed kernels are read for each block of them
MOST_CHANNELS = 4096  # as in runtime/winograd.c
BLOCK_BYTES = 1 << 18  # of the transforms and matmuls of a block of tiles
FEWEST_BLOCKS = 8
GEMM_ROWS = 12  # of a matmul that is written at once
# As providers/winograd.pyx weighs them; kernels are transformed beforehand.
IMAGE_COST, WORTH_IT = 16, 0.9


def tile_for(x: Place, w: Place, y: Place, params: Sequence[int | Sequence[int]], kernels: Kernels) -> int:
    """Return how many outputs a tile had better have along an axis; 0: another algorithm. ``w`` is ``[3, 3, c, o]``."""
    groups, strides, _, _, dilations = params
    lanes, channels, out = kernels.processor.lanes, x.shape[-1], y.shape[-1]
    fits = kernels.processor.x86 and lanes >= 8 and w.shape[:-2] == (3, 3) and w.data is not None
    filled = channels % lanes == out % lanes == 0 and max(channels, out) <= MOST_CHANNELS
    if not fits or not filled or groups != 1 or tuple(strides) != (1, 1) or tuple(dilations) != (1, 1):  # type: ignore[arg-type]
        return 0
    best, least = 0, WORTH_IT * prod(y.shape[:-1]) * 9 * channels * out
    for tile in (2, 4):
        tiles = _tiles(y, tile)
        work = (tile + 2) ** 2 * tiles * (channels * out + IMAGE_COST * (channels + out))
        if tiles >= FEWEST_TILES and work < least:
            best, least = tile, work
    return best


def step(
    name: str, x: Place, w: Place, y: Place, pads: Sequence[int], tile: int, after: Epilogue, kernels: Kernels
) -> Step:
    """``y`` from ``x``, images with channels last, by ``w[3, 3, c, o]``."""
    lanes, channels, made = kernels.processor.lanes, x.shape[-1], y.shape[-1]
    points, wide, tiles = (tile + 2) ** 2, -(-made // (2 * lanes)) * 2 * lanes, _tiles(y, tile)
    block = max(GEMM_ROWS, BLOCK_BYTES // (points * (channels + wide) * 4) // GEMM_ROWS * GEMM_ROWS)
    block = min(block, max(GEMM_ROWS, -(-tiles // FEWEST_BLOCKS)), tiles)
    assert w.data is not None
    known = np.ascontiguousarray(w.data.transpose(3, 2, 0, 1))  # [o, c, 3, 3]
    fields = {
        "images": x.shape[0], "channels": channels, "made": made, "block": block, "tile": tile,
    }  # fmt: skip
    text = numbers(fields) | {"size": struct(x.shape[1:3]), "out": struct(y.shape[1:3]), "pad": struct(pads)}
    panels = wide // (2 * lanes)

    def prepare(u: Memory) -> Step:
        # It reads a little beyond the last kernel.
        padded = weight(np.append(known.reshape(-1), np.zeros(16, np.float32)))
        refs = {"w": (padded, 0), "u": (u, 0)}
        return Step("um_prepare_winograd", "um_winograd", name, text, refs, panels, 0.0)

    key = hashlib.sha256(known.tobytes()).digest(), known.shape, tile
    u = kernels.prepared(key, panels * points * _slice(channels * 2 * lanes) * 4, prepare)
    local = points * (_slice(block * channels) + _slice(block * wide)) * 4
    work = points * tiles * channels * made / 20.0
    refs = {"x": x.ref, "u": (u, 0), "y": y.ref} | after.refs
    return Step("um_run_winograd", "um_winograd", name, text | after.text, refs, -(-tiles // block), work, local=local)


def _tiles(y: Place, tile: int) -> int:
    return y.shape[0] * -(-y.shape[1] // tile) * -(-y.shape[2] // tile)


def _slice(n: int) -> int:
    """As ``winograd_slice``."""
    return (n + 31) // 32 * 32 + 16
