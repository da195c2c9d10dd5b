"""The functions of cuBLASLt as a double: it computes with NumPy what the descriptors say, column-major, in float32 or
wider, and refuses what the library's manual refuses."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
from recording_driver import Work

from umiak.backends.cuda.providers import cublaslt
from umiak.backends.cuda.providers import lt_library as lt

TYPES = {
    0: np.dtype("f4"), 1: np.dtype("f8"), 2: np.dtype("f2"), 14: np.dtype(ml_dtypes.bfloat16),
    28: np.dtype(ml_dtypes.float8_e4m3fn), 29: np.dtype(ml_dtypes.float8_e5m2),
}  # fmt: skip
INVALID, NOT_SUPPORTED = 7, 15


def given(x):
    """What a reference or a number of ctypes stands for."""
    return getattr(getattr(x, "_obj", x), "value", x)


def product(compute, a, b):
    """Products of batches, with sums of a type."""
    if compute == lt.TF32[0]:
        a, b = ((x.view("u4") & 0xFFFFE000).view("f4") for x in map(np.ascontiguousarray, (a, b)))
    if compute != lt.HALF[0]:
        return a @ b
    sums = np.zeros((*a.shape[:-1], b.shape[-1]), "f2")
    for k in range(a.shape[-1]):
        sums += (a[..., k, None] * b[..., k, None, :]).astype("f2")
    return sums


class CublasLtDouble:
    """The functions of the library. Objects are numbers into ``objects``. ``refuses``: epilogues that no algorithm
    has, or True. ``calls``: the epilogues of what it has computed."""

    def __init__(self, driver, refuses=()):
        self.driver, self.refuses = driver, refuses
        self.objects = {1: "handle"}
        self.calls = []

    def create(self, out, **fields):
        number = len(self.objects) + 1
        self.objects[number] = fields
        out._obj.value = number
        return 0

    def cublasLtCreate(self, out):
        out._obj.value = 1
        return 0

    def cublasLtMatmulDescCreate(self, out, compute, scale):
        return self.create(out, compute=compute, scale=scale)

    def cublasLtMatrixLayoutCreate(self, out, number, rows, columns, step):
        return self.create(out, type=number, rows=rows.value, columns=columns.value, step=step.value)

    def cublasLtMatmulPreferenceCreate(self, out):
        return self.create(out)

    def set(self, of, attribute, value, nbytes):
        assert nbytes.value == ctypes.sizeof(value._obj)
        self.objects[of.value][attribute] = given(value)
        return 0

    cublasLtMatrixLayoutSetAttribute = cublasLtMatmulPreferenceSetAttribute = set

    def cublasLtMatmulDescSetAttribute(self, of, attribute, value, nbytes):
        wide = attribute in (lt.BIAS_POINTER, lt.AUX_POINTER, lt.AUX_STEP, *lt.SCALE_POINTERS)
        assert nbytes.value == (8 if wide else 4), attribute
        return self.set(of, attribute, value, nbytes)

    def cublasLtMatmulPreferenceDestroy(self, preference):
        del self.objects[preference.value]
        self.objects[preference.value] = None
        return 0

    def cublasLtMatmulAlgoGetHeuristic(self, handle, desc, a, b, c, d, preference, asked, heuristic, count):
        wanted = self.objects[preference.value]
        assert wanted[lt.WORKSPACE] == cublaslt.WORKSPACE and all(wanted[k] > 0 for k in lt.ALIGNMENTS)
        heuristic._obj.workspace, count._obj.value = 256, 1
        operation, left, right, out = (self.objects[x.value] for x in (desc, a, b, d))
        epilogue = operation.get(lt.EPILOGUE, lt.EPILOGUE_NONE)
        if self.refuses is True or epilogue in self.refuses or not self.eight_bits(operation, left, right, out, wanted):
            return NOT_SUPPORTED
        return 0

    def eight_bits(self, operation, left, right, out, wanted):
        """Whether operands of 8 bits are as the manual requires; True of others."""
        if left["type"] < 28:
            return True
        steps = [x["step"] * TYPES[x["type"]].itemsize for x in (left, right, out)]
        return (
            {left["type"], right["type"]} != {29}
            and (operation[lt.TRANSA], operation[lt.TRANSB]) == (1, 0)
            and all(step % 16 == 0 for step in steps)
            and all(wanted[k] >= 16 for k in lt.ALIGNMENTS)
            and left["rows"] % 16 == 0
            and operation["compute"] == 68
        )

    def array(self, pointer, dtype, shape, strides=None):
        """Memory of the driver as an array; strides in elements."""
        dtype = np.dtype(dtype)
        if strides is None:
            strides = np.cumprod([1, *shape[::-1]])[:-1][::-1]
        strides = tuple(dtype.itemsize * int(s) for s in strides)
        last = sum((n - 1) * s for n, s in zip(shape, strides)) + dtype.itemsize
        base = (ctypes.c_byte * last).from_address(self.driver.host(pointer, last))
        return np.ndarray(shape, dtype, base, 0, strides)

    def matrices(self, pointer, layout, transposed=False):
        """An operand as an array over the memory of the driver: batch, rows, columns."""
        x = self.objects[layout.value]
        assert x["step"] >= x["rows"]
        shape = (x[lt.BATCH_COUNT], x["rows"], x["columns"])
        array = self.array(pointer, TYPES[x["type"]], shape, (x[lt.BATCH_OFFSET], 1, x["step"]))
        return array.swapaxes(1, 2) if transposed else array

    def scaled(self, operation, side, x):
        """An operand [batch, outer, contracted] times its scales, in float32."""
        mode, pointer = operation.get(lt.SCALE_MODES[side], 0), operation.get(lt.SCALE_POINTERS[side])
        wide = x.astype(np.float32) if x.dtype.itemsize < 4 else x
        if not pointer:
            return wide
        assert pointer % 16 == 0
        _, outer, depth = x.shape
        blocks = -(-depth // 128)
        if mode == lt.SCALES["tensor"]:
            return wide * self.array(pointer, "f4", (1,))
        if mode == lt.SCALES["vector"]:
            return wide * self.array(pointer, "f4", (outer, 1))
        if mode == lt.SCALES["strips"]:
            scales = self.array(pointer, "f4", (outer, blocks), (1, outer))
        else:
            assert mode == lt.SCALES["squares"]
            step = -(-blocks // 4) * 4
            scales = self.array(pointer, "f4", (-(-outer // 128), blocks), (step, 1)).repeat(128, 0)[:outer]
        return wide * scales.repeat(128, 1)[:, :depth]

    def cublasLtMatmul(self, handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
                       algo, workspace, nbytes, stream):  # fmt: skip
        operation = dict(self.objects[desc.value])
        one, factor = (np.uint16(given(x)).view("f2") if operation["scale"] == 2 else given(x) for x in (alpha, beta))
        assert (one, nbytes.value) == (1, 256) and workspace.value and c_layout is d_layout
        assert factor == 1 or (factor == 0 and c.value == d.value)
        epilogue = operation.get(lt.EPILOGUE, lt.EPILOGUE_NONE)
        bias, mask = operation.get(lt.BIAS_POINTER), operation.get(lt.AUX_POINTER)

        def run():
            left = self.matrices(a.value, a_layout, operation[lt.TRANSA])
            right = self.matrices(b.value, b_layout, operation[lt.TRANSB])
            out = self.matrices(d.value, d_layout)
            x = product(
                operation["compute"],
                self.scaled(operation, 0, left),
                self.scaled(operation, 1, right.swapaxes(1, 2)).swapaxes(1, 2),
            )
            if factor:
                x = x + self.matrices(c.value, c_layout).astype(x.dtype)
            self.calls.append(epilogue)
            rows = out.shape[1]
            if epilogue & lt.EPILOGUE_BIAS:
                x = x + self.array(bias, out.dtype, (rows, 1)).astype(x.dtype)
            if epilogue & lt.EPILOGUE_AUX:
                (x,) = x
                step = operation[lt.AUX_STEP]
                assert step % 128 == 0 and step >= rows
                bits = self.array(mask, "u1", (x.shape[1], step // 8))
                if epilogue & 8:
                    x = np.where(np.unpackbits(bits, axis=1)[:, :rows].T, x, 0)
                else:
                    bits[:] = np.packbits(np.pad(x.T > 0, [(0, 0), (0, step - rows)]), axis=1)
                x = x[None]
            if epilogue & 2:
                x = np.maximum(x, 0)
            if epilogue & 32:
                x = x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
            for bit, sums in ((lt.SUMS_OF_RESULT, x), (lt.SUMS_OF_A, left)):
                if epilogue & bit:
                    self.array(bias, out.dtype, (rows,))[:] = sums[0].astype(np.float32).sum(1)
            if epilogue & lt.SUMS_OF_B:
                self.array(bias, out.dtype, (out.shape[2],))[:] = right[0].astype(np.float32).sum(0)
            out[...] = x

        scales = [operation.get(k) for k in lt.SCALE_POINTERS]
        uses = (a.value, b.value, c.value, d.value, workspace.value, *filter(None, (bias, mask, *scales)))
        self.driver.put(stream.value, Work("cublasLtMatmul", run, uses))
        return 0
