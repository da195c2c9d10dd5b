"""Convolutions by cuDNN: what its descriptors are told, which plans are taken, and what runs without it."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from cudnn_double import CudnnDouble
from test_kernels import normals

import paddle
from umiak import memory
from umiak.backends.base import clear_plans
from umiak.backends.cuda.graphs import Graph
from umiak.backends.cuda.providers import cudnn, cudnn_flags
from umiak.backends.cuda.providers import cudnn_library as dnn
from umiak.core import stream
from umiak.core.array import from_numpy
from umiak.util import flags


@pytest.fixture
def library(cuda, monkeypatch):
    double = CudnnDouble(cuda.driver)
    loaded = dnn.Library(double)
    monkeypatch.setattr(cudnn, "load", lambda: loaded)
    names = ("cuda_conv", "cudnn_exhaustive_search", "conv_workspace_size_limit", "cpu_deterministic")
    before = {f"FLAGS_{name}": flags.lookup(f"FLAGS_{name}").value for name in names}
    clear_plans()
    yield double
    flags.set_flags(before)
    clear_plans()


def conv(rank):
    return {1: paddle.nn.functional.conv1d, 2: paddle.nn.functional.conv2d, 3: paddle.nn.functional.conv3d}[rank]


CASES = {
    "plain": ((2, 3, 6, 5), (4, 3, 3, 2), {}),
    "grouped": ((2, 4, 9, 8), (6, 2, 3, 2), {"groups": 2, "dilation": 2, "padding": [0, 3], "stride": [1, 2]}),
    "asymmetric": ((1, 2, 6, 5), (3, 2, 3, 3), {"padding": [1, 0, 0, 2], "stride": 2}),
    "depthwise": ((2, 4, 5, 5), (4, 1, 3, 3), {"groups": 4, "padding": 1}),
    "one dim": ((2, 3, 9), (4, 3, 3), {"stride": 2, "padding": 1}),
    "three dims": ((1, 2, 4, 3, 5), (3, 2, 2, 2, 2), {"padding": 1}),
    "channels last": ((2, 6, 5, 3), (4, 3, 3, 2), {"data_format": "NHWC", "padding": 1}),
}
QUICK = {("grouped", "float32"), ("one dim", "float32"), ("channels last", "bfloat16")}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype) if (name, dtype) in QUICK else pytest.param(name, dtype, marks=pytest.mark.slow)
        for name in CASES
        for dtype in ("float32", "bfloat16", "float16")
    ],
)
def test_convolutions_and_both_gradients(device, cuda, library, name, dtype):
    """No columns, and no kernel of ours that multiplies; of 16 bits images have channels last."""
    image, window, options = CASES[name]
    results = []
    before = len(cuda.driver.launched)
    for place in ("cpu", device.name):
        paddle.set_device(place)
        x, w = (paddle.to_tensor(normals(*s), stop_gradient=False) for s in (image, window))
        y = conv(len(image) - 2)(x.astype(dtype), w.astype(dtype), **options).astype("float32")
        (y * y).sum().backward()
        results.append([t.numpy() for t in (y, x.grad, w.grad)])
    tolerance = 1e-4 if dtype == "float32" else 3e-2
    for a, b in zip(*results):
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance * np.abs(a).max())
    names = [k for k, *_ in cuda.driver.launched[before:]]
    assert len(library.runs) == 3 and not [k for k in names if k.startswith(("columns", "images", "matmul"))]
    assert set(library.runs) == ({1} if dtype == "float32" else {0}), "float32 is not rounded"


def test_memory_that_the_library_takes_is_the_graphs(device, cuda, library):
    library.engines = [(set(), 256)]
    x, w = (from_numpy(normals(*s), device) for s in ((1, 2, 5, 5), (2, 2, 3, 3)))
    expected = conv(2)(x, w).numpy()
    graph = Graph(cuda.device(device), conv(2), [x, w])
    try:
        stream.synchronize(device.index)
        memory.empty_cache(device)
        np.testing.assert_array_equal(graph(x, w).numpy(), expected)
    finally:
        graph.close()


def test_bias_and_relu_are_part_of_the_launch_in_captured_programs(device, cuda, library):
    @paddle.jit.to_static
    def layer(x, w, bias):
        y = paddle.nn.functional.conv2d(x, w, bias, padding=1)
        return paddle.nn.functional.relu(y) * 2.0

    results = []
    for place in ("cpu", device.name):
        paddle.set_device(place)
        results.append(layer(*map(paddle.to_tensor, (normals(2, 3, 6, 5), normals(4, 3, 3, 3), normals(4)))).numpy())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-5)
    graphs = [x[dnn.GRAPH_OPERATIONS] for x in library.objects.values() if x["kind"] == dnn.GRAPH]
    assert [[o["kind"] for o in g] for g in graphs] == [[dnn.FORWARD, *[dnn.POINTWISE_OPERATION] * 2]]


def test_captured_networks_of_16_bits_keep_images_with_channels_last(device, cuda, library):
    """Between two convolutions nothing is copied."""

    @paddle.jit.to_static
    def network(x, first, second):
        y = paddle.nn.functional.relu(paddle.nn.functional.conv2d(x, first, padding=1))
        return paddle.nn.functional.conv2d(y, second)

    given = (normals(2, 3, 6, 5), normals(8, 3, 3, 3), normals(4, 8, 2, 2))
    results = []
    for place in ("cpu", device.name):
        paddle.set_device(place)
        results.append(network(*(paddle.to_tensor(a).astype("bfloat16") for a in given)).astype("float32").numpy())
    np.testing.assert_allclose(results[1], results[0], rtol=3e-2, atol=3e-1)
    assert library.runs == [0, 0]
    images = [x for x in library.objects.values() if x["kind"] == dnn.TENSOR and x[dnn.UNIQUE_ID] == [cudnn.IMAGE]]
    assert images and all(x[dnn.TENSOR_STRIDES][1] == 1 for x in images)


def run(device):
    """One convolution on the device."""
    x, w = paddle.to_tensor(normals(1, 2, 5, 5)), paddle.to_tensor(normals(2, 2, 3, 3))
    return conv(2)(x, w).numpy()


def test_switches_decide_on_the_plan(device, cuda, library):
    expected = run(device)
    paddle.set_flags({"FLAGS_cudnn_deterministic": True, "FLAGS_conv_workspace_size_limit": 2})
    np.testing.assert_array_equal(run(device), expected)
    paddle.set_flags({"FLAGS_conv_workspace_size_limit": 3})
    run(device)
    paddle.set_flags({"FLAGS_cudnn_deterministic": False})
    assert library.runs == [1, 3, 2], "not what adds in any order; then what needs more memory"
    library.engines = [(set(), 0)] * 3
    library.runs.clear()
    paddle.set_flags({"FLAGS_cudnn_exhaustive_search": True, "FLAGS_conv_workspace_size_limit": 1})
    run(device)
    assert sorted(library.runs[:6]) == [0, 0, 1, 1, 2, 2] and len(library.runs) == 7 + 2, "once in both modes"
    run(device)
    assert len(library.runs) == 7 + 3, "a plan is chosen once"
    with pytest.raises(ValueError, match=r"\[FLAGS_conv_workspace_size_limit\] requires megabytes, 0 or above, got -1"):
        paddle.set_flags({"FLAGS_conv_workspace_size_limit": -1})


def test_what_the_library_has_no_plan_for_is_columns_and_matmuls(device, cuda, library):
    library.engines = [({dnn.TENSOR_CORE}, 0)]  # which would round float32
    before = len(cuda.driver.launched)
    run(device)
    assert library.runs == [] and [k for k, *_ in cuda.driver.launched[before:] if k.startswith("columns")]


def test_a_machine_without_the_library_says_so_once(device, cuda, library, monkeypatch, caplog):
    monkeypatch.setattr(cudnn, "load", lambda: "cuDNN is not there")
    cudnn._say_once.cache_clear()
    for _ in range(2):
        run(device)
    said = [r.getMessage() for r in caplog.records if "convolutions" in r.getMessage()]
    assert said == ["convolutions are columns and matmuls, which takes memory for the columns: cuDNN is not there"]
    cudnn_flags.PROVIDER.set("cudnn")
    with pytest.raises(RuntimeError, match=r"\[FLAGS_cuda_conv\] requires cuDNN, got cuDNN is not there"):
        run(device)
    with pytest.raises(ValueError, match=r"\[FLAGS_cuda_conv\] requires one of auto, cudnn, im2col"):
        cudnn_flags.PROVIDER.set("winograd")


def test_the_library_itself_takes_the_descriptors():
    """They need a driver to be finalised, but no device; it refuses what does not fit together."""
    library = cudnn.load()
    if isinstance(library, str):
        pytest.skip("requires nvidia-cudnn-cu13, which umiak[cuda] has")
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        pytest.skip("requires a driver of CUDA")

    def tensor(number, sizes, virtual=False):
        strides = np.cumprod([1, *sizes[:0:-1]])[::-1].tolist()
        return dnn.tensor(library, number, dnn.FLOAT, sizes, strides, 16, virtual)

    x, w, y = tensor(1, (2, 4, 9, 8)), tensor(2, (6, 2, 3, 2)), tensor(5, (2, 6, 9, 7), True)
    of = dnn.convolution(library, (1, 0), (1, 0), (1, 1), (1, 1))
    assert (x.get(dnn.DIMENSIONS, dnn.INT64, 8), of.get(dnn.PRE_PADS, dnn.INT64, 8)) == ([2, 4, 9, 8], [1, 0])
    for kind in dnn.OPERATIONS:
        dnn.operation(library, kind, of, x, w, y)
    between = tensor(6, (2, 6, 9, 7), True)
    dnn.step(library, dnn.ADD, y, between, tensor(4, (1, 6, 1, 1)))
    dnn.step(library, dnn.RELU, between, tensor(3, (2, 6, 9, 7)))
    with pytest.raises(dnn.CudnnError, match="BackendFinalize"):
        dnn.operation(library, dnn.FORWARD, of, x, w, tensor(3, (2, 6, 9, 8)))


@pytest.mark.slow
def test_the_check_of_a_device_has_a_section_for_each_library(device, cuda, library, monkeypatch):
    """As small as may be; convolutions by the double, the others without a library."""
    import gpu_libraries

    import gpu_check

    monkeypatch.setattr(gpu_libraries, "torch_with_cuda", lambda: None)
    sizes = {
        "convolutions": {"image": (1, 2, 4, 4), "channels": 2, "least_s": 0.0},
    }  # fmt: skip
    report = gpu_check.run(device.name, ["epilogues", "convolutions"], **sizes)
    assert report["epilogues"]["cublaslt"].startswith(("cuBLASLt is not", "cuda-pathfinder")), report
    assert report["convolutions"]["ok"] and report["convolutions"]["bfloat16"]["seconds"][1] is None, report
