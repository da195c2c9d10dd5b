"""Matmuls and convolutions: kernels of the loop IR against the host's, and cuBLASLt as its functions are called.

The library is a double that computes with NumPy what the descriptors say, column-major.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from test_kernels import both, normals

import paddle
from umiak import ops as F
from umiak.backends.cuda.providers import cublaslt, gemm
from umiak.core import dtype as dt

SHAPES = {
    "small": ((5, 7), (7, 9), {}),
    "ends": ((37, 70), (70, 65), {}),
    "columns": ((70, 20), (70, 65), {"transpose_x": True}),
    "rows": ((37, 8), (65, 8), {"transpose_y": True}),
    "batches": ((2, 1, 9, 8), (3, 13, 8), {"transpose_y": True}),
    "one row": ((1, 8), (8, 5), {}),
    "nothing": ((4, 0), (0, 3), {}),
}


@pytest.fixture(autouse=True)
def loop():
    """Kernels of the loop IR, whatever is installed."""
    former = gemm.FLAG.value
    gemm.FLAG.set("loop")
    yield
    gemm.FLAG.set(former)


MOST = [pytest.param(t, marks=pytest.mark.slow) for t in (np.float64, np.int64, np.complex64)]


@pytest.mark.parametrize("dtype", [np.float32, np.int8, *MOST])
@pytest.mark.parametrize("name", SHAPES)
def test_matmuls(device, cuda, name, dtype):
    a, b, flags = SHAPES[name]
    x, y = (np.round(normals(*s, dtype=np.float64) * 8).astype(dtype) for s in (a, b))
    if dtype is np.complex64:
        y = y * 1j + 1
    expected, got = both(device, lambda x, y: F.matmul(x, y, **flags), x, y)
    np.testing.assert_array_equal(got, expected)  # whole numbers: nothing is rounded
    assert cuda.host.read() == {}


def launched(cuda, before):
    return [name for name, *_ in cuda.driver.launched[before:]]


def test_matmuls_of_narrow_floats_run_on_tiles_and_round_once(device, cuda):
    def product(x, y):
        return F.cast(F.matmul(*(F.cast(z, dtype=dt.bfloat16) for z in (x, y))), dtype=dt.float32)

    before = len(cuda.driver.launched)
    expected, got = both(device, product, normals(20, 40), normals(40, 30))
    np.testing.assert_allclose(got, expected, rtol=1e-2, atol=1e-2)
    assert "tile_matmul_0_bfloat16_64_d8_x2_1" in launched(cuda, before)


@pytest.mark.parametrize("step", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_follows_a_matmul_of_narrow_floats_is_part_of_its_launch(device, cuda, step):
    """Captured: an operand that neither rows nor columns of are dense is copied first."""

    def layer(x, weight, bias, residual):
        y = paddle.nn.functional.linear(x.astype("bfloat16")[:, ::step], weight.astype("bfloat16"),
                                        bias.astype("bfloat16"))  # fmt: skip
        return (paddle.nn.functional.silu(y) + residual.astype("bfloat16")).astype("float32")

    given = (normals(12, 24 * step), normals(24, 40), normals(40), normals(12, 40))
    before = len(cuda.driver.launched)
    expected, got = both(device, paddle.jit.to_static(layer), *given)
    np.testing.assert_allclose(got, expected, rtol=2e-2, atol=2e-2)
    (name,) = (x for x in launched(cuda, before) if x.startswith("tile_matmul"))
    assert name.endswith("_bias_silu_add")


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"stride": 2, "padding": 1}, marks=pytest.mark.slow),
        {"groups": 2, "dilation": 2, "padding": [0, 3], "stride": [1, 2]},
    ],
)
def test_convolutions_and_their_gradients(device, cuda, options):
    x, w = normals(3, 4, 9, 8), normals(6, 4 // options.get("groups", 1), 3, 2)
    results = []
    for place in ("cpu", device.name):
        paddle.set_device(place)
        image, kernels = (paddle.to_tensor(a, stop_gradient=False) for a in (x, w))
        y = paddle.nn.functional.conv2d(image, kernels, **options)
        (y * y).sum().backward()
        results.append([t.numpy() for t in (y, image.grad, kernels.grad)])
    for a, b in zip(*results):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4)
    assert cuda.host.read() == {}


# --- cuBLASLt ---


def given(x):
    """What a reference or a number of ctypes stands for."""
    return getattr(getattr(x, "_obj", x), "value", x)


class CublasLtDouble:
    """The functions of the library. Objects are numbers into ``objects``."""

    def __init__(self, driver, refuses=False):
        self.driver, self.refuses = driver, refuses
        self.objects = {1: "handle"}
        self.workspace = None

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

    cublasLtMatmulDescSetAttribute = cublasLtMatrixLayoutSetAttribute = cublasLtMatmulPreferenceSetAttribute = set

    def cublasLtMatmulPreferenceDestroy(self, preference):
        del self.objects[preference.value]
        self.objects[preference.value] = None
        return 0

    def cublasLtMatmulAlgoGetHeuristic(self, handle, desc, a, b, c, d, preference, asked, heuristic, count):
        assert self.objects[preference.value][1] == cublaslt.WORKSPACE
        heuristic._obj.workspace, count._obj.value = 256, 1
        return 15 if self.refuses else 0

    def matrices(self, pointer, layout, transposed=False):
        """An operand as an array over the memory of the driver: batch, rows, columns."""
        x = self.objects[layout.value]
        dtype = np.dtype({0: "f4", 1: "f8"}[x["type"]])
        assert x["step"] >= x["rows"]
        shape = (x[5], x["rows"], x["columns"])
        strides = tuple(dtype.itemsize * s for s in (x[6], 1, x["step"]))
        last = sum((n - 1) * s for n, s in zip(shape, strides)) + dtype.itemsize
        base = (ctypes.c_byte * last).from_address(self.driver.host(pointer, last))
        array = np.ndarray(shape, dtype, base, 0, strides)
        return array.swapaxes(1, 2) if transposed else array

    def cublasLtMatmul(self, handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
                       algo, workspace, nbytes, stream):  # fmt: skip
        assert (given(alpha), given(beta), nbytes.value) == (1, 0, 256) and workspace.value
        assert c.value == d.value and c_layout is d_layout
        operation = self.objects[desc.value]

        def run():
            left = self.matrices(a.value, a_layout, operation[3])
            right = self.matrices(b.value, b_layout, operation[4])
            self.matrices(d.value, d_layout)[...] = left @ right

        from recording_driver import Work

        self.driver.put(stream.value, Work("cublasLtMatmul", run, (a.value, b.value, d.value, workspace.value)))
        return 0


@pytest.fixture
def library(cuda, loop, monkeypatch):
    double = CublasLtDouble(cuda.driver)
    loaded = cublaslt.Library(double)
    monkeypatch.setattr(cublaslt, "load", lambda: loaded)
    gemm.FLAG.set("cublaslt")
    return double


STRIDED = {
    **{k: v for k, v in SHAPES.items() if k != "nothing"},
    "two batches": ((2, 3, 4, 5), (2, 3, 5, 6), {}),
    "batches apart": ((2, 1, 4, 5), (1, 3, 5, 6), {}),
}


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", STRIDED)
def test_cublaslt_gets_the_matrices_as_they_lie(device, cuda, library, name, dtype):
    a, b, flags = STRIDED[name]
    x, y = (np.round(normals(*s, dtype=np.float64) * 8).astype(dtype) for s in (a, b))
    before = len(cuda.driver.launched)
    expected, got = both(device, lambda x, y: F.matmul(x, y, **flags), x, y)
    np.testing.assert_array_equal(got, expected)
    assert not [k for k, *_ in cuda.driver.launched[before:] if k.startswith(("matmul", "copy"))]


def test_operands_that_the_library_cannot_read_are_copied_first(device, cuda, library):
    before = len(cuda.driver.launched)
    expected, got = both(device, lambda x, y: F.matmul(x[:, ::2], y[::-1]), normals(4, 10), normals(5, 3))
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    assert [k for k, *_ in cuda.driver.launched[before:] if k.startswith("copy")]


def test_an_algorithm_is_chosen_once_for_a_class_of_calls(device, library):
    x = paddle.to_tensor(normals(8, 8))
    x @ x
    chosen = len(library.objects)
    for _ in range(3):
        x @ x
    assert len(library.objects) == chosen


def test_what_the_library_does_not_do_runs_by_the_loop_ir(device, cuda, library):
    library.refuses = True
    before = len(cuda.driver.launched)
    expected, got = both(device, F.matmul, normals(6, 11), normals(11, 3))
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    assert [k for k, *_ in cuda.driver.launched[before:] if k.startswith("matmul")]


@pytest.mark.parametrize("dtype", cublaslt.DTYPES)
def test_the_library_itself_reads_back_what_it_is_told(dtype):
    """Its descriptors need no device."""
    library = cublaslt.load()
    if isinstance(library, str):
        pytest.skip("requires nvidia-cublas, which umiak[cuda] has")
    number, compute, scale = cublaslt.DTYPES[dtype]
    descriptor = library.new("MatmulDesc", compute, scale)
    library.set("MatmulDesc", descriptor, cublaslt._TRANSA, ctypes.c_int32(1))
    layout = ctypes.c_void_p()
    sizes = (ctypes.c_uint64(5), ctypes.c_uint64(7), ctypes.c_int64(9))
    library.call("MatrixLayoutCreate", ctypes.byref(layout), number, *sizes)
    library.set("MatrixLayout", layout, cublaslt._BATCH_COUNT, ctypes.c_int32(3))
    library.set("MatrixLayout", layout, cublaslt._BATCH_OFFSET, ctypes.c_int64(100))
    preference = library.new("MatmulPreference")
    library.set("MatmulPreference", preference, cublaslt._WORKSPACE, ctypes.c_uint64(cublaslt.WORKSPACE))
    for attribute in cublaslt._ALIGNMENTS:
        library.set("MatmulPreference", preference, attribute, ctypes.c_uint32(16))

    def read(kind, of, attribute, value):
        count = ctypes.c_size_t()
        get = getattr(library.functions, f"cublasLt{kind}GetAttribute")
        assert get(of, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)), ctypes.byref(count)) == 0
        return value.value

    assert read("MatmulDesc", descriptor, cublaslt._TRANSA, ctypes.c_int32()) == 1
    kinds = {0: "uint32", 2: "uint64", 3: "uint64", 4: "int64", 5: "int32", 6: "int64"}
    got = [read("MatrixLayout", layout, k, getattr(ctypes, f"c_{kind}")()) for k, kind in kinds.items()]
    assert got == [number, 5, 7, 9, 3, 100]
    assert read("MatmulPreference", preference, cublaslt._WORKSPACE, ctypes.c_uint64()) == cublaslt.WORKSPACE


def test_a_machine_without_the_library_says_so_once(device, monkeypatch, caplog):
    monkeypatch.setattr(cublaslt, "load", lambda: "cuBLASLt is not there")
    gemm._say_once.cache_clear()
    gemm.FLAG.set("auto")
    x = paddle.to_tensor(normals(4, 4))
    for dtype in ("float32", "float64"):
        x.astype(dtype) @ x.astype(dtype)
    assert [r.getMessage() for r in caplog.records] == [
        "matmuls run by kernels of the loop IR, far below what the device can do: cuBLASLt is not there"
    ]
    gemm.FLAG.set("cublaslt")
    with pytest.raises(RuntimeError, match=r"\[FLAGS_cuda_gemm\] requires cuBLASLt, got cuBLASLt is not there"):
        x @ x
    with pytest.raises(ValueError, match=r"\[FLAGS_cuda_gemm\] requires one of auto, cublaslt, loop"):
        gemm.FLAG.set("mkl")
