"""NumPy kernels of comparison and selection."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.elementwise import binary, together
from umiak.backends.ref.registry import kernel
from umiak.ops import compare as ops

for _cls, _fn in {
    ops.Eq: np.equal,
    ops.Ne: np.not_equal,
    ops.Lt: np.less,
    ops.Le: np.less_equal,
    ops.Gt: np.greater,
    ops.Ge: np.greater_equal,
}.items():
    binary(_cls, _fn)


@kernel(ops.Where)
def where(op, out, cond, x, y):
    out[...] = np.where(cond, *together(x, y))
