"""NumPy kernels of what decoders need."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import decoding as ops


@kernel(ops.GatherTree)
def gather_tree(op, out, ids, parents):
    steps, batch, beams = ids.shape
    at = np.broadcast_to(np.arange(beams), (batch, beams))
    for t in range(steps - 1, -1, -1):
        out[t] = np.take_along_axis(ids[t], at, 1)
        at = np.take_along_axis(parents[t], at, 1)
