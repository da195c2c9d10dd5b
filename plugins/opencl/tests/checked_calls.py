"""Calls whose kernels an interpreter of OpenCL watches; prints a line per call that gave the host's result."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

import paddle
from umiak import backends
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, host_values
from umiak.core.place import Place
from umiak_opencl import backend

RACE = """
__kernel void race(__global int* x) { x[0] = (int)get_global_id(0); }
__kernel void beyond(__global int* x) { x[get_global_id(0) + 16] = 1; }
"""


def normals(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("float32")


AT = np.array([2, 0, 2, 1, 2])
CALLS = {
    "fused": (lambda x: F.logistic(F.mul(x, 2.0)), normals(5, 70)),
    "row": (lambda x: F.softmax(x, axis=1), normals(3, 70)),
    "column": (lambda x: F.sum(x, axes=(0,)), normals(70, 5)),
    "long": (lambda x: F.sum(x, axes=(0,)), normals(5000)),
    "tile": (lambda x: F.add(F.permute(x, perm=(1, 0)), 1.0), normals(40, 35)),
    "scan": (lambda x: F.cumsum(x, axis=1), normals(2, 150)),
    "scatter": (lambda x: F.take(x, from_numpy(AT, x.place), axis=0), normals(3, 7)),
    "sort": (lambda x: F.sort(x, axis=1)[0], normals(2, 70)),
    "transform": (lambda x: F.real(F.fft(x, axes=(1,))), normals(2, 12)),
    "factors": (lambda x: F.svd(x)[1], normals(3, 4)),
    "bytes": (lambda x: F.cast(F.gt(x, 0.0), dtype=dt.uint8), normals(7)),
    "product": (lambda x: F.matmul(x, x, transpose_y=True), normals(20, 9)),
    "convolution": (
        lambda x: paddle.nn.functional.conv2d(x, F.full(0.5, dtype=x.dtype, shape=(2, 2, 2, 2)), padding=1),
        normals(2, 2, 4, 3),
    ),
}


def main() -> None:
    backends.register(backend)
    place = Place("opencl", 0)
    if "mistakes" in sys.argv:
        device = backend.device(place)
        program = cl.Program(device.context, RACE).build()
        for name in ("race", "beyond"):
            queue = cl.CommandQueue(device.context)
            getattr(program, name)(queue, (4,), (4,), cl.Buffer(device.context, cl.mem_flags.READ_WRITE, 64))
            queue.finish()
        return
    for name, (function, array) in CALLS.items():
        expected = None
        for where in (Place("cpu", 0), place):
            paddle.set_device(where.name)
            x = from_numpy(array, where)
            found = host_values(function(x))
            if expected is None:
                expected = found
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        print(name, flush=True)


if __name__ == "__main__":
    main()
