"""Calls whose programs are exported: lines ``name: expression ; x=N(2, 3), …`` of ``calls/*.txt``, and their inputs.

``N`` makes normal numbers, ``U`` uniform ones, ``I`` integers, ``B`` bools, ``A`` what is given; ``free`` are axes
whose size the program does not know. Inputs are seeded from the line. Needs NumPy alone: two environments read it.
"""

import zlib
from pathlib import Path

import numpy as np

CALLS = Path(__file__).parent / "calls"


class Maker:
    def __init__(self, seed):
        self.random = np.random.RandomState(seed)
        self.free = {}

    def _made(self, array, free):
        array = np.asarray(array)
        self.free[id(array)] = tuple(free)
        return array

    def N(self, *shape, dtype="float32", free=()):
        return self._made(np.asarray(self.random.standard_normal(shape)).astype(dtype), free)

    def U(self, *shape, low=0.0, high=1.0, dtype="float32", free=()):
        return self._made(np.asarray(self.random.uniform(low, high, shape)).astype(dtype), free)

    def I(self, *shape, low=0, high=10, dtype="int64", free=()):  # noqa: E743 - a name in calls
        return self._made(np.asarray(self.random.randint(low, high, shape)).astype(dtype), free)

    def B(self, *shape, free=()):
        return self._made(np.asarray(self.random.randint(0, 2, shape)).astype(bool), free)

    def A(self, values, dtype="float32", free=()):
        return self._made(np.array(values, dtype=dtype), free)


class Call:
    """A line: ``code`` over the names of ``inputs``; ``free``: axes of unknown size of each input."""

    def __init__(self, line):
        self.line = line
        head, _, given = line.rpartition(" ; ")
        self.name, _, self.code = head.partition(": ")
        maker = Maker(zlib.crc32(line.encode()))
        names = {k: getattr(maker, k) for k in "NUIBA"} | {"inf": np.inf, "nan": np.nan, "np": np}
        self.inputs = eval(f"dict({given})", names)
        self.free = {k: maker.free[id(v)] for k, v in self.inputs.items()}


def calls():
    """All calls, by name."""
    found = {}
    for path in sorted(CALLS.glob("*.txt")):
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                call = Call(line)
                assert call.name not in found, f"two calls are named {call.name}"
                found[call.name] = call
    return found
