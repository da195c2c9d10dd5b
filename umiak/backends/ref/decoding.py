"""NumPy kernels of what decoders need."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import decoding as ops
from umiak.util.errors import op_error


@kernel(ops.GatherTree)
def gather_tree(op, out, ids, parents):
    steps, batch, beams = ids.shape
    at = np.broadcast_to(np.arange(beams), (batch, beams))
    for t in range(steps - 1, -1, -1):
        out[t] = np.take_along_axis(ids[t], at, 1)
        at = np.take_along_axis(parents[t], at, 1)


@kernel(ops.ViterbiDecode)
def viterbi_decode(op, out, potentials, transitions, lengths):
    scores, paths = out
    batch, time, tags = potentials.shape
    if (lengths > time).any():
        raise op_error(IndexError, "viterbi_decode", f"lengths of at most {time}", int(lengths.max()))
    paths[...] = 0
    for b in range(batch):
        score, sources = potentials[b, 0].copy(), []
        if op.with_ends:
            score += transitions[-1]
        for t in range(1, lengths[b]):
            into = score[:, None] + transitions
            source = np.zeros(tags, np.int64)
            for i in range(1, tags):
                source = np.where(into[i] > into[source, np.arange(tags)], i, source)
            score = into[source, np.arange(tags)] + potentials[b, t]
            sources.append(source)
        if op.with_ends and lengths[b] > 0:
            score = score + transitions[-2]
        at = 0
        for i in range(1, tags):
            at = i if score[i] > score[at] else at
        scores[b] = score[at]
        for t in range(lengths[b] - 1, -1, -1):
            paths[b, t] = at
            at = sources[t - 1][at] if t else at
