"""Matmuls by cuBLASLt: what its functions are told, and what is done where it is told nothing."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from cublaslt_double import CublasLtDouble
from test_kernels import both, normals
from test_matmuls import SHAPES

import paddle
from paddle.amp.fp8 import FP8Linear, Recipe
from umiak import fp8, memory
from umiak import ops as F
from umiak.backends.base import clear_plans
from umiak.backends.cuda.graphs import Graph
from umiak.backends.cuda.providers import cublaslt, gemm
from umiak.backends.cuda.providers import lt_library as lt
from umiak.core import dtype as dt
from umiak.core import stream
from umiak.core.array import from_numpy


def some(cases, *quick):
    """Cases, of which only these are quick enough for every run."""
    return [x if x in quick else pytest.param(x, marks=pytest.mark.slow) for x in cases]


@pytest.fixture
def flag():
    """What chooses the library, as it was before."""
    former = gemm.FLAG.value
    yield
    gemm.FLAG.set(former)


@pytest.fixture
def library(cuda, monkeypatch):
    double = CublasLtDouble(cuda.driver)
    loaded = cublaslt.Library(double)
    monkeypatch.setattr(cublaslt, "load", lambda: loaded)
    former = gemm.FLAG.value
    gemm.FLAG.set("cublaslt")
    clear_plans()
    yield double
    gemm.FLAG.set(former)
    clear_plans()


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


def test_memory_that_the_library_takes_is_the_graphs(device, cuda, library):
    """Nobody but the graph knows of it any more: whoever empties caches leaves it where it is."""
    x, y = (from_numpy(normals(*s), device) for s in ((4, 6), (6, 5)))
    expected = F.matmul(x, y).numpy()
    graph = Graph(cuda.device(device), F.matmul, [x, y])
    try:
        stream.synchronize(device.index)
        memory.empty_cache(device)
        np.testing.assert_array_equal(graph(x, y).numpy(), expected)
    finally:
        graph.close()


@pytest.fixture
def less_precise():
    names = ["FLAGS_enable_cublas_tensor_op_math", "FLAGS_gemm_use_half_precision_compute_type"]
    yield lambda on: paddle.set_flags(dict.fromkeys(names, on))
    paddle.set_flags(dict.fromkeys(names, False))


@pytest.mark.parametrize(("dtype", "x", "rough"), [("float32", 1 + 2**-12, 4.0), ("float16", 2048.0, 2048.0)])
def test_flags_allow_less_precision(device, library, less_precise, dtype, x, rough):
    """TF32 has 10 bits behind the point; float16 has no odd numbers above 2048."""
    depth = 4
    a = paddle.ones([2, depth], dtype=dtype)
    b = paddle.full([depth, 2], x if dtype == "float32" else 1.0, dtype=dtype)
    if dtype == "float16":
        b[0] = x
        exact = 2051.0  # which is then rounded to 2052
    else:
        exact = depth * x
    for on, expected in ((False, np.dtype(dtype).type(exact)), (True, rough), (False, np.dtype(dtype).type(exact))):
        less_precise(on)
        assert (a @ b).tolist() == [[expected] * 2] * 2


def test_float64_and_bfloat16_are_as_precise_with_these_flags(device, library, less_precise):
    less_precise(True)
    for name in ("float64", "bfloat16"):
        x = paddle.ones([2, 2], dtype=name)
        x @ x
    kinds = {o["compute"] for o in library.objects.values() if isinstance(o, dict) and "compute" in o}
    assert kinds == {lt.DTYPES["float64"][1], lt.DTYPES["bfloat16"][1]}


def test_what_the_library_does_not_do_runs_by_the_loop_ir(device, cuda, library):
    library.refuses = True
    before = len(cuda.driver.launched)
    expected, got = both(device, F.matmul, normals(6, 11), normals(11, 3))
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    assert [k for k, *_ in cuda.driver.launched[before:] if k.startswith("matmul")]


@pytest.mark.parametrize("dtype", lt.DTYPES)
def test_the_library_itself_reads_back_what_it_is_told(dtype):
    """Its descriptors need no device."""
    library = cublaslt.load()
    if isinstance(library, str):
        pytest.skip("requires nvidia-cublas, which umiak[cuda] has")
    number, compute, scale = lt.DTYPES[dtype]
    descriptor = library.new("MatmulDesc", compute, scale)
    library.set("MatmulDesc", descriptor, lt.TRANSA, ctypes.c_int32(1))
    numbers = {
        lt.EPILOGUE: ctypes.c_int32(lt.RELU_GRADIENT | lt.SUMS_OF_RESULT), lt.BIAS_POINTER: ctypes.c_void_p(256),
        lt.AUX_POINTER: ctypes.c_void_p(512), lt.AUX_STEP: ctypes.c_int64(256),
        **{k: ctypes.c_void_p(1024) for k in lt.SCALE_POINTERS}, **{k: ctypes.c_int32(3) for k in lt.SCALE_MODES},
    }  # fmt: skip
    for attribute, value in numbers.items():
        library.set("MatmulDesc", descriptor, attribute, value)
    layout = ctypes.c_void_p()
    sizes = (ctypes.c_uint64(5), ctypes.c_uint64(7), ctypes.c_int64(9))
    library.call("MatrixLayoutCreate", ctypes.byref(layout), number, *sizes)
    library.set("MatrixLayout", layout, lt.BATCH_COUNT, ctypes.c_int32(3))
    library.set("MatrixLayout", layout, lt.BATCH_OFFSET, ctypes.c_int64(100))
    preference = library.new("MatmulPreference")
    library.set("MatmulPreference", preference, lt.WORKSPACE, ctypes.c_uint64(cublaslt.WORKSPACE))
    for attribute in lt.ALIGNMENTS:
        library.set("MatmulPreference", preference, attribute, ctypes.c_uint32(16))

    def read(kind, of, attribute, value):
        count = ctypes.c_size_t()
        get = getattr(library.functions, f"cublasLt{kind}GetAttribute")
        assert get(of, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)), ctypes.byref(count)) == 0
        return value.value

    assert read("MatmulDesc", descriptor, lt.TRANSA, ctypes.c_int32()) == 1
    for attribute, value in numbers.items():
        assert read("MatmulDesc", descriptor, attribute, type(value)()) == value.value, attribute
    kinds = {0: "uint32", 2: "uint64", 3: "uint64", 4: "int64", 5: "int32", 6: "int64"}
    got = [read("MatrixLayout", layout, k, getattr(ctypes, f"c_{kind}")()) for k, kind in kinds.items()]
    assert got == [number, 5, 7, 9, 3, 100]
    assert read("MatmulPreference", preference, lt.WORKSPACE, ctypes.c_uint64()) == cublaslt.WORKSPACE


def test_a_machine_without_the_library_says_so_once(device, monkeypatch, caplog, flag):
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


# --- epilogues of captured programs ---


def linear(x, weight, bias):
    return paddle.nn.functional.linear(x, weight, bias)


def gelu(x, weight, bias):
    return paddle.nn.functional.gelu(linear(x, weight, bias), approximate=True)


EPILOGUES = {
    "bias": (linear, (lt.EPILOGUE_BIAS,)),
    "bias relu": (lambda *a: F.relu(linear(*a)), (lt.EPILOGUE_BIAS | 2,)),
    "relu": (lambda x, w, b: F.relu(F.matmul(x, w)), (2,)),
    "bias gelu by tanh": (gelu, (lt.EPILOGUE_BIAS | 32,)),
    "gelu by erf": (lambda *a: F.gelu(linear(*a)), (lt.EPILOGUE_BIAS,)),
    "bias silu": (lambda *a: F.silu(linear(*a)), (lt.EPILOGUE_BIAS,)),
    "bias relu and more": (lambda *a: F.relu(linear(*a)) * 2.0 + 1.0, (lt.EPILOGUE_BIAS | 2,)),
}


@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", some(EPILOGUES, "bias relu", "bias gelu by tanh", "bias silu"))
def test_what_the_library_can_do_behind_a_matmul_is_part_of_its_launch(device, cuda, library, name, dtype):
    """Rows of a batch are rows of one matrix; what it cannot say is a kernel behind it."""
    layer, expected_calls = EPILOGUES[name]

    @paddle.jit.to_static
    def program(*operands):
        return layer(*(x.astype(dtype) for x in operands)).astype("float32")

    expected, got = both(device, program, normals(2, 5, 24), normals(24, 40), normals(40))
    tolerance = 1e-5 if dtype == "float32" else 2e-2
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    assert tuple(library.calls) == expected_calls
    layouts = [x for x in library.objects.values() if isinstance(x, dict) and "rows" in x]
    assert {x[lt.BATCH_COUNT] for x in layouts} == {1} and any(x["columns"] == 10 for x in layouts)


def test_a_residual_is_the_librarys_third_matrix(device, cuda, library):
    @paddle.jit.to_static
    def program(x, weight, bias, residual):
        return F.relu(linear(x, weight, bias) + residual)

    given = (normals(3, 6, 8), normals(8, 16), normals(16), normals(3, 6, 16))
    before = len(cuda.driver.launched)
    expected, got = both(device, program, *given)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
    assert library.calls == [lt.EPILOGUE_BIAS | 2]
    assert len(cuda.driver.launched) == before, "no kernel of the loop IR"


REFUSED = [
    (),
    (lt.EPILOGUE_BIAS | 2 | lt.EPILOGUE_AUX,),
    (lt.RELU_GRADIENT | lt.SUMS_OF_RESULT,),
    (lt.SUMS_OF_A,),
    True,
]


@pytest.mark.parametrize("refused", [REFUSED[0], *(pytest.param(x, marks=pytest.mark.slow) for x in REFUSED[1:])])
def test_gradients_of_biases_and_of_relu_are_parts_of_launches(device, cuda, library, refused):
    """A step of training, with losses of the host, whatever the library refuses."""
    library.refuses = refused
    rng = np.random.default_rng(0)
    x, first, second = (rng.standard_normal(s).astype("float32") for s in ((6, 8), (8, 136), (136, 4)))
    results = []
    for place in ("cpu", device.name):
        paddle.set_device(place)
        network = paddle.nn.Sequential(paddle.nn.Linear(8, 136), paddle.nn.ReLU(), paddle.nn.Linear(136, 4))
        for layer, value in ((network[0], first), (network[2], second)):
            layer.weight.set_value(value)
            layer.bias.set_value(value[0])
        optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())

        @paddle.jit.to_static
        def step(x, network=network, optimizer=optimizer):
            loss = (network(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        losses = [float(step(paddle.to_tensor(x))) for _ in range(3)]
        results.append([losses, *(p.numpy() for p in network.parameters())])
    for a, b in zip(*results):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
    bias_relu, of_relu = lt.EPILOGUE_BIAS | 2 | lt.EPILOGUE_AUX, lt.RELU_GRADIENT | lt.SUMS_OF_RESULT
    if not refused:
        assert set(library.calls) == {bias_relu, lt.EPILOGUE_BIAS, of_relu, lt.SUMS_OF_A, lt.EPILOGUE_NONE}
        assert len(library.calls) == 3 * 5
    elif refused is not True:
        assert not {*refused} & {*library.calls} and lt.EPILOGUE_BIAS in library.calls


# --- operands of 8 bits ---


def quantised(x, dtype, block):
    """A matrix quantised on the host, and on the device."""
    place = paddle.get_device()
    paddle.set_device("cpu")
    q = fp8.quantise(paddle.to_tensor(x), dtype, block)
    paddle.set_device(place)
    return replace(q, codes=q.codes.to(place), scale=q.scale.to(place)), restored(q)


def restored(q):
    """The numbers that codes and scales stand for, in float64."""
    return np.asarray(q.dequantise().numpy(), np.float64)


SCALED = {  # blocks of both operands, format of the left one, the scale modes of the library's operands
    "tensor": ((None, None), (None, None), fp8.E4M3, (0, 0)),
    "row": ((1, None), (None, 1), fp8.E5M2, (3, 3)),
    "row of one": ((1, None), (None, None), fp8.E4M3, (3, 3)),
    "block": ((1, 128), (128, 128), fp8.E4M3, (5, 4)),
    "strips": ((1, 128), (128, 1), fp8.E4M3, (4, 4)),
    "squares": ((128, 128), (128, 128), fp8.E4M3, (5, 4)),
}


@pytest.mark.parametrize("dtype", [dt.float32, pytest.param(dt.bfloat16, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", some(SCALED, "row", "block"))
def test_codes_go_to_the_library_with_their_scales(device, cuda, library, name, dtype):
    """Whichever way operands lie: they come to lie along what is contracted, as bytes."""
    left, right, of_left, modes = SCALED[name]
    x, y = normals(140, 144), normals(144, 160)[:, ::-1].copy()
    (a, exact_a), (b, exact_b) = quantised(x, of_left, left), quantised(y, fp8.E4M3, right)
    before = len(cuda.driver.launched)
    got = fp8.matmul(a, b, dtype).astype("float32").numpy()
    names = [k for k, *_ in cuda.driver.launched[before:]]
    tolerance = 1e-5 if dtype is dt.float32 else 1e-2
    np.testing.assert_allclose(got, exact_a @ exact_b, rtol=tolerance, atol=tolerance * 30)
    (told,) = (x for x in library.objects.values() if isinstance(x, dict) and lt.SCALE_POINTERS[0] in x)
    assert tuple(told.get(k, 0) for k in lt.SCALE_MODES) == modes
    assert library.calls == [lt.EPILOGUE_NONE] and not [k for k in names if "matmul" in k]


@pytest.mark.parametrize("refused", [False, True])
def test_biases_of_the_results_type_are_part_of_the_launch_of_codes(device, cuda, library, refused):
    """Of another type, and where the library refuses them, a kernel adds them to float32."""
    library.refuses = (lt.EPILOGUE_BIAS,) if refused else ()
    (a, exact_a), (b, exact_b) = (quantised(normals(32, 32), fp8.E4M3, (None, None)) for _ in range(2))
    bias = paddle.to_tensor(normals(32))
    for given, call in ((bias, lt.EPILOGUE_NONE), (bias.astype("bfloat16"), lt.EPILOGUE_BIAS)):
        before = len(cuda.driver.launched)
        got = fp8.matmul(a, b, dt.bfloat16, given).astype("float32").numpy()
        np.testing.assert_allclose(got, exact_a @ exact_b + normals(32), rtol=2e-2, atol=2e-2)
        tiles = [k for k, *_ in cuda.driver.launched[before:] if k.startswith("tile_matmul")]
        assert library.calls == [lt.EPILOGUE_NONE if refused else call] and not tiles
        library.calls.clear()


@pytest.mark.slow  # matmuls by the emulator
def test_formats_and_sizes_that_the_library_refuses_are_tiles_or_decompositions(device, cuda, library):
    def product(k, formats, block=(1, None)):
        x, y = normals(20, k), normals(k, 33)
        (a, exact_a), (b, exact_b) = quantised(x, formats[0], block), quantised(y, formats[1], block[::-1])
        before = len(cuda.driver.launched)
        got = fp8.matmul(a, b).numpy()
        np.testing.assert_allclose(got, exact_a @ exact_b, rtol=1e-4, atol=1e-4)
        return [k for k, *_ in cuda.driver.launched[before:] if "tile_matmul" in k]

    (name,) = product(40, (fp8.E5M2, fp8.E5M2))
    assert name.startswith("tile_matmul_0_float8_e5m2_float32_64") and name.endswith("_rows_columns")
    assert product(24, (fp8.E4M3, fp8.E5M2)) == [], "codes of two formats: bfloat16, by the library"
    assert library.calls[-1:] == [lt.EPILOGUE_NONE]
    library.refuses = True
    assert [k[:32] for k in product(40, (fp8.E4M3, fp8.E5M2), (1, 128))] == ["tile_matmul_0_bfloat16_float32_6"]


def test_codes_by_four_warps_that_multiply_together(device, cuda, library, monkeypatch):
    """On a device of compute capability 9.0, which the library leaves to tiles for their format."""
    monkeypatch.setattr(cuda.device(device), "units", 1)
    x, y = normals(65, 48), normals(48, 66)
    (a, exact_a), (b, exact_b) = quantised(x, fp8.E5M2, (1, None)), quantised(y, fp8.E5M2, (None, 1))
    before = len(cuda.driver.launched)
    np.testing.assert_allclose(fp8.matmul(a, b).numpy(), exact_a @ exact_b, rtol=1e-4, atol=1e-4)
    names = [k for k, *_ in cuda.driver.launched[before:] if "tile_matmul" in k]
    assert names == ["tile_matmul_0_float8_e5m2_float32_128x128_d16_d16_1_rows_columns"]


@pytest.mark.parametrize("scaling", ["tensor", pytest.param("block", marks=pytest.mark.slow)])
def test_linear_layers_of_8_bits_widen_nothing(device, cuda, library, scaling):
    """A step, forward and backward, as on the host; results are of 16 bits where the layer's are."""
    results = []
    for place in ("cpu", device.name):
        paddle.set_device(place)
        layer = FP8Linear(32, 48, Recipe(scaling=scaling, backward=fp8.E4M3), bias_attr=False)
        layer.weight.set_value(normals(32, 48))

        @paddle.jit.to_static
        def step(x, layer=layer):
            y = layer(x.astype("bfloat16"))
            (y.astype("float32") ** 2).sum().backward()
            return y.astype("float32")

        y = step(paddle.to_tensor(normals(16, 32)))
        results.append([y.numpy(), layer.weight.grad.numpy()])
    for a, b in zip(*results):
        np.testing.assert_allclose(b, a, rtol=2e-2, atol=2e-2 * np.abs(a).max())
    layouts = [x["type"] for x in library.objects.values() if isinstance(x, dict) and "rows" in x]
    assert set(layouts) == {28, 14, 0} and len(library.calls) >= 2


@pytest.mark.slow  # kernels of matmuls by the emulator
def test_the_check_of_a_device_reports_on_epilogues_and_eight_bits(device, cuda, library, monkeypatch):
    import gpu_libraries

    import gpu_check

    monkeypatch.setattr(gpu_libraries, "torch_with_cuda", lambda: None)
    sizes = {
        "epilogues": {"rows": 16, "width": 16, "least_s": 0.0}, "eight_bits": {"rows": 16, "least_s": 0.0},
    }  # fmt: skip
    report = gpu_check.run(device.name, list(sizes), **sizes)
    assert report["epilogues"]["ok"] and report["epilogues"]["nan_passes_relu"], report
    assert report["eight_bits"]["ok"] and report["eight_bits"]["row"]["tflops"][0] > 0, report
