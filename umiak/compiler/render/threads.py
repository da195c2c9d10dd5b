"""The numbers of threads and blocks, as they are called in expressions."""

from __future__ import annotations

from umiak.compiler.loop.node import var
from umiak.compiler.loop.types import I64

TID, BLOCK, BLOCKS = var("$thread", I64), var("$block", I64), var("$blocks", I64)
LO, HI = var("$lo", I64), var("$hi", I64)
LANE_OF_WARP, WARP = var("$lane", I64), var("$warp", I64)
