"""The functions of cuDNN's backend interface as a double: it computes with NumPy what the descriptors say, and refuses
what does not fit together."""

from __future__ import annotations

import ctypes
import itertools

import ml_dtypes
import numpy as np
from recording_driver import Work

from umiak.backends.cuda.providers import cudnn_library as dnn

TYPES = {0: np.dtype("f4"), 2: np.dtype("f2"), 9: np.dtype(ml_dtypes.bfloat16)}
BAD_PARAM, NOT_SUPPORTED = 2000, 3000
KINDS = {  # numbers of the types of attributes, by the type of C
    0: ctypes.c_void_p, 1: ctypes.c_int, 2: ctypes.c_bool, 3: ctypes.c_int64, 4: ctypes.c_float, 6: ctypes.c_void_p,
    7: ctypes.c_int, 8: ctypes.c_int, 14: ctypes.c_int, 15: ctypes.c_void_p,
}  # fmt: skip


class CudnnDouble:
    """The functions of the library. ``engines``: notes and workspace of those that it offers, the best one first;
    ``runs``: which of them have computed. ``refuses``: operations of which no graph is taken."""

    def __init__(self, driver):
        self.driver = driver
        self.engines = [({dnn.TENSOR_CORE}, 64), ({dnn.NONDETERMINISTIC}, 0), (set(), 3 << 20), (set(), 256)]
        self.objects = {}
        self.runs = []
        self.refuses = ()
        self.stream = None
        self.cudnnGetVersion = lambda: 92801  # an attribute may be set on it

    def cudnnCreate(self, out):
        out._obj.value = 1
        return 0

    def cudnnSetStream(self, handle, stream):
        self.stream = stream.value
        return 0

    def cudnnBackendCreateDescriptor(self, kind, out):
        out._obj.value = max(self.objects, default=1) + 1
        self.objects[out._obj.value] = {"kind": kind, "final": False}
        return 0

    def cudnnBackendDestroyDescriptor(self, handle):
        del self.objects[handle.value]
        return 0

    def cudnnBackendSetAttribute(self, of, name, kind, count, array):
        x = self.objects[of.value]
        assert not x["final"] and len(array) == count.value and array._type_ is KINDS[kind]
        values = list(array)
        if kind == dnn.DESCRIPTOR[0]:
            assert all(self.objects[v]["final"] for v in values)
            values = [self.objects[v] for v in values]
        x[name] = values
        return 0

    def cudnnBackendFinalize(self, of):
        x = self.objects[of.value]
        x["final"] = True
        if x["kind"] in dnn.OPERATIONS:
            return 0 if self.fits(x) else BAD_PARAM
        if x["kind"] == dnn.GRAPH:
            kinds = tuple(o["kind"] for o in x[dnn.GRAPH_OPERATIONS])
            return NOT_SUPPORTED if kinds in self.refuses else 0
        return 0

    def fits(self, x):
        *_, of, image, weights, result = dnn.OPERATIONS[x["kind"]]
        (c,), (a,), (w,), (y,) = (x[k] for k in (of, image, weights, result))
        (n, channels, *space), (o, depth, *window), (m, results, *grid) = (t[dnn.DIMENSIONS] for t in (a, w, y))
        geometry = zip(space, window, grid, *(c[k] for k in (dnn.PRE_PADS, dnn.POST_PADS, dnn.STRIDES, dnn.DILATIONS)))
        return (
            (n, o) == (m, results)
            and channels % depth == 0
            and len(space) == c[dnn.SPATIAL_DIMS][0] >= 2
            and all((s + lo + hi - d * (k - 1) - 1) // step + 1 == p for s, k, p, lo, hi, step, d in geometry)
        )

    def cudnnBackendGetAttribute(self, of, name, kind, most, count, array):
        x = self.objects[of.value]
        if name == dnn.HEURISTICS_RESULTS:
            mode = x[dnn.HEURISTICS_MODE][0]
            found = [{"engine": i, "graph": x[dnn.HEURISTICS_GRAPH][0]} for i in range(len(self.engines))]
            found = found if mode == dnn.MODE_A else found[-1:]
        elif name == dnn.CONFIG_ENGINE:
            found = [{"engine": x["engine"]}]
        else:
            values = {
                dnn.ENGINE_NOTES: lambda: sorted(self.engines[x["engine"]][0]),
                dnn.PLAN_WORKSPACE: lambda: [self.engines[x[dnn.PLAN_CONFIG][0]["engine"]][1]],
            }[name]()
            array[: len(values)] = values
            count._obj.value = len(values)
            return 0
        assert most.value >= len(found) or name == dnn.CONFIG_ENGINE
        for handle, fields in zip(array, found):
            self.objects[handle].update(fields, final=True)
        count._obj.value = len(found)
        return 0

    def array(self, tensor, pointer):
        """A tensor as an array over the memory of the driver."""
        dtype = TYPES[tensor[dnn.TENSOR_TYPE][0]]
        assert pointer % tensor[dnn.ALIGNMENT][0] == 0 and not tensor[dnn.IS_VIRTUAL][0]
        sizes, strides = tensor[dnn.DIMENSIONS], [dtype.itemsize * s for s in tensor[dnn.TENSOR_STRIDES]]
        last = sum((n - 1) * s for n, s in zip(sizes, strides)) + dtype.itemsize
        base = (ctypes.c_byte * last).from_address(self.driver.host(pointer, last))
        return np.ndarray(sizes, dtype, base, 0, strides)

    def cudnnBackendExecute(self, handle, plan, pack):
        config, values = self.objects[plan.value][dnn.PLAN_CONFIG][0], self.objects[pack.value]
        pointers = dict(zip(values[dnn.PACK_IDS], values[dnn.PACK_POINTERS], strict=True))
        workspace = values[dnn.PACK_WORKSPACE][0]
        assert bool(workspace) == bool(self.engines[config["engine"]][1])

        def run():
            self.runs.append(config["engine"])
            between = {}

            def read(tensor):
                number = tensor[dnn.UNIQUE_ID][0]
                return between[number] if number in between else self.array(tensor, pointers[number]).astype("f4")

            def write(tensor, value):
                if tensor[dnn.IS_VIRTUAL][0]:
                    between[tensor[dnn.UNIQUE_ID][0]] = value
                else:
                    self.array(tensor, pointers[tensor[dnn.UNIQUE_ID][0]])[...] = value

            for o in config["graph"][dnn.GRAPH_OPERATIONS]:
                if o["kind"] in dnn.OPERATIONS:
                    self.convolve(o, read, write)
                elif o[dnn.STEP_OF][0][dnn.POINTWISE_MODE_NAME] == [dnn.ADD]:
                    write(o[dnn.STEP_Y][0], read(o[dnn.STEP_X][0]) + read(o[dnn.STEP_B][0]))
                else:
                    assert o[dnn.STEP_OF][0][dnn.POINTWISE_MODE_NAME] == [dnn.RELU]
                    write(o[dnn.STEP_Y][0], np.maximum(read(o[dnn.STEP_X][0]), 0))

        uses = (*pointers.values(), *filter(None, (workspace,)))
        self.driver.put(self.stream, Work("cudnn", run, uses))
        return 0

    def convolve(self, o, read, write):
        """One of the three operations, offset of the kernel by offset."""
        kind = o["kind"]
        _, _, of, *names = dnn.OPERATIONS[kind]
        (c,), tensors = o[of], [o[k][0] for k in names]
        shapes = [t[dnn.DIMENSIONS] for t in tensors]
        written = {dnn.FORWARD: 2, dnn.INPUT_GRADIENT: 0, dnn.WEIGHT_GRADIENT: 1}[kind]
        x, w, y = (np.zeros(s, "f4") if i == written else read(t) for i, (t, s) in enumerate(zip(tensors, shapes)))
        pads = [(0, 0), (0, 0), *zip(c[dnn.PRE_PADS], c[dnn.POST_PADS])]
        wide, groups = np.pad(x, pads), shapes[0][1] // shapes[1][1]
        for offset in itertools.product(*map(range, shapes[1][2:])):
            places = tuple(
                slice(i * d, i * d + (n - 1) * s + 1, s)
                for i, d, n, s in zip(offset, c[dnn.DILATIONS], shapes[2][2:], c[dnn.STRIDES])
            )
            for g in range(groups):
                a, b = (slice(g * n // groups, (g + 1) * n // groups) for n in (shapes[0][1], shapes[2][1]))
                image, weights, result = wide[:, a][(..., *places)], w[b][(..., *offset)], y[:, b]
                if kind == dnn.FORWARD:
                    result += np.einsum("nc...,oc->no...", image, weights)
                elif kind == dnn.INPUT_GRADIENT:
                    image += np.einsum("no...,oc->nc...", result, weights)
                else:
                    n = len(image)
                    flat = (v.reshape(n, v.shape[1], -1) for v in (result, image))
                    weights += np.einsum("nop,ncp->oc", *flat)
        inside = tuple(slice(lo, lo + n) for (lo, _), n in zip(pads, shapes[0]))
        write(tensors[written], (wide[inside], w, y)[written])
