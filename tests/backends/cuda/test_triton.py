"""Kernels in Triton on tensors of a device: what a launch gets, when it runs, as an operator of programs. By a stand-in
of Triton's package, and by Triton itself where it is installed; the recording driver runs functions in their place."""

from __future__ import annotations

import gc
import importlib
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from recording_driver import RecordingDriver

import paddle
from paddle.library.registry import PYTHON_OP_REGISTRY
from umiak.backends.cuda import triton_driver
from umiak.backends.cuda.backend import CudaBackend
from umiak.backends.cuda.graphs import Graph
from umiak.core import stream
from umiak.core.buffer import Buffer
from umiak.ops.custom_op import take_out

STAND_IN = Path(__file__).parents[2] / "support" / "triton_stand_in"
BLOCK = 128


REAL: dict[str, ModuleType] = {}  # modules of Triton itself: its part in C++ is loaded once in a process


def forget() -> dict[str, ModuleType]:
    """Take the modules out of those that are imported."""
    names = [m for m in sys.modules if m.partition(".")[0] in ("triton", "triton_kernels")]
    return {name: sys.modules.pop(name) for name in names}


@pytest.fixture(params=["stand-in", "triton"])
def triton(request, cuda, device, monkeypatch, tmp_path_factory):
    """Triton with a driver over the backend, and ``kernels``."""
    if request.param == "triton":
        if find_spec("triton") is None:
            pytest.skip("requires triton, which is no dependency of tests")
        monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "triton"))
        monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # Triton warns where nobody says it
        sys.modules.update(REAL)
    else:
        monkeypatch.syspath_prepend(str(STAND_IN))
        forget()
    driver = triton_driver.attach(cuda)
    triton = importlib.import_module("triton")
    kernels = importlib.import_module("triton_kernels")
    assert triton.runtime.driver.active is driver
    cuda.driver.bodies.update(kernels.BODIES)
    cuda.driver.launched.clear()
    stand_in = request.param != "triton"
    unloads = stand_in or hasattr(triton.compiler.CompiledKernel, "__del__")  # Triton 3.5 does not
    try:
        yield SimpleNamespace(
            kernels=kernels, driver=driver, runtime=triton.runtime, stand_in=stand_in, unloads=unloads
        )
        stream.synchronize(device.index)
        kernels.blend_kernel.device_caches.clear()  # Triton keeps functions for ever
        gc.collect()
        assert not unloads or not driver.modules, "modules that nobody gives back"
    finally:
        triton.runtime.driver.set_active(None)
        cuda.driver.bodies.clear()
        taken = forget()
        del taken["triton_kernels"]
        if not stand_in:
            REAL.update(taken)


def blended(triton, x, y, scale):
    out = paddle.empty_like(x)
    n = x.shape[0]
    triton.kernels.blend_kernel[(-(-n // BLOCK),)](x, y, out, n, scale, BLOCK=BLOCK)
    return out


def launches(cuda):
    return [launch for launch in cuda.driver.launched if launch[0] == "blend_kernel"]


def ignored(cuda):
    """Let kernels do nothing: what they are given is no work."""
    cuda.driver.bodies["blend_kernel"] = lambda driver, grid, arguments: None


def test_a_launch_gets_addresses_numbers_grid_and_threads(triton, cuda):
    x, y = paddle.arange(1000, dtype="float32"), paddle.ones([1000])
    out = blended(triton, x, y, 2.5)
    assert launches(cuda) == [], "done before somebody waits"
    np.testing.assert_array_equal(out.numpy(), (np.arange(1000, dtype=np.float32) + 1) * np.float32(2.5))
    ((name, blocks, threads, shared, words),) = launches(cuda)
    assert (name, blocks, threads, shared) == ("blend_kernel", 8, 128, 0)
    scale = int(np.float32(2.5).view(np.uint32))
    assert words == (x.data_ptr(), y.data_ptr(), out.data_ptr(), 1000, scale, 0, 0)


def test_grids_have_up_to_three_dims_and_warps_are_threads(triton, cuda):
    ignored(cuda)
    x = paddle.ones([64])
    kernel = triton.kernels.blend_kernel
    kernel[(3, 2, 5)](x, x, x, 64, 1.0, BLOCK=64, num_warps=8)
    kernel[lambda given: (given["n"] // given["BLOCK"], 2)](x, x, x, 64, 1.0, BLOCK=32)
    kernel[(0,)](x, x, x, 64, 1.0, BLOCK=32)
    stream.synchronize(x.place.index)
    assert [launch[1:3] for launch in launches(cuda)] == [((3, 2, 5), 256), ((2, 2, 1), 128)]


def test_launches_with_attributes_say_them(triton, cuda):
    ignored(cuda)
    cuda.driver.special.clear()
    x = paddle.ones([64])
    kernel = triton.kernels.blend_kernel
    kernel[(4,)](x, x, x, 64, 1.0, BLOCK=32, num_ctas=2)
    kernel[(4,)](x, x, x, 64, 1.0, BLOCK=32, launch_pdl=True, launch_cooperative_grid=True)
    stream.synchronize(x.place.index)
    assert cuda.driver.special == [("blend_kernel", 2, False, False), ("blend_kernel", 1, True, True)]
    assert [launch[1] for launch in launches(cuda)] == [8, 4]


def test_launches_go_to_the_current_stream(triton, cuda, device):
    x = paddle.ones([256])
    side = paddle.device.Stream("gpu:0")
    side.wait_stream(paddle.device.current_stream())
    with paddle.device.stream_guard(side):
        out = blended(triton, x, x, 3.0)
    queue = cuda.device(device).queue(out.storage.stream)
    assert queue.handle != cuda.device(device).queue(0).handle
    assert [work.name for work in cuda.driver.streams[queue.handle].work][-1] == "blend_kernel"
    del x  # its memory is not given to anybody before the other stream has read it
    other = paddle.full([256], 7.0)
    side.synchronize()
    assert out.tolist() == [6.0] * 256 and other.tolist() == [7.0] * 256


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda x: x.cpu(), ValueError, r"\[blend_kernel\] requires tensors on gpu:0, .* got one on cpu"),
        (lambda x: x.to("gpu:1"), ValueError, r"requires tensors on gpu:0, the current device, got one on gpu:1"),
        (
            lambda x: SimpleNamespace(dtype="float32", data_ptr=lambda: 64),
            TypeError,
            "requires tensors of this library",
        ),
    ],
)
def test_tensors_that_are_elsewhere_are_refused(triton, wrong, error, text):
    x = paddle.ones([64])
    with pytest.raises(error, match=text):
        triton.kernels.blend_kernel[(2,)](wrong(x), x, x, 64, 1.0, BLOCK=32)


def test_arguments_of_every_kind(triton, cuda, device):
    """Absent pointers, addresses, tuples; descriptors are refused."""
    x = paddle.ones([4])
    values = list(
        triton_driver.parameters("k", ["*fp32", "constexpr", ("i32", ("*i8", "constexpr"))], [x, 1, (2, (None, 3))])
    )
    assert values == [("*fp32", x), ("i32", 2), ("*i8", None)]
    assert triton_driver.pointer(None, "k", device) == (0, None)
    assert triton_driver.pointer(4096, "k", device) == (4096, None)
    view = SimpleNamespace(base=x, data_ptr=x.data_ptr)  # as triton.reinterpret gives
    assert triton_driver.pointer(view, "k", device) == (x.data_ptr(), x)
    with pytest.raises(TypeError, match=r"\[k\] requires pointers, got a TensorDescriptor\. Pass the tensor"):
        list(triton_driver.parameters("k", ["tensordesc<fp32[64]>"], [None]))


@pytest.mark.parametrize(
    ("kind", "value", "bits"),
    [
        ("i1", True, 1), ("i32", -1, -1), ("u64", (1 << 64) - 1, (1 << 64) - 1), ("fp16", 1.5, 0x3E00),
        ("bf16", 1.5, 0x3FC0), ("fp32", -2.0, 0xC0000000), ("fp64", 1.0, 0x3FF << 52),
    ],
)  # fmt: skip
def test_numbers_are_bits(kind, value, bits):
    assert triton_driver.number(kind, value) == bits


def test_an_unknown_stream_is_refused(triton, cuda):
    with pytest.raises(ValueError, match=r"\[k\] requires a stream of gpu, got 0x5, which is none of them"):
        triton.driver.queue(5, "k")
    assert triton.driver.queue(triton.driver.get_current_stream(0), "k") is triton.driver.current_queue()


def test_modules_are_given_back_when_no_stream_runs_them(triton, cuda, device):
    if not triton.unloads:
        pytest.skip("requires a Triton that gives modules back")
    x = paddle.ones([64])
    out = blended(triton, x, x, 1.0)
    (module,) = [m.handle for m in triton.driver.modules.values()]
    triton.kernels.blend_kernel.device_caches.clear()
    gc.collect()
    assert not triton.driver.modules
    modules = cuda.device(device).modules
    modules.sweep()
    assert module in cuda.driver.modules, "unloaded while a stream runs it"
    assert out.tolist() == [2.0] * 64
    modules.sweep()
    assert module not in cuda.driver.modules


def test_scratch_memory_comes_from_the_engine(triton, cuda):
    if not triton.stand_in:
        pytest.skip("requires a kernel that wants memory: the stand-in's options say so")
    ignored(cuda)
    x = paddle.ones([64])
    entered = []
    triton.runtime.hooks[:] = [
        lambda metadata: entered.append(metadata["name"]),
        lambda metadata: entered.append("left"),
    ]
    triton.kernels.blend_kernel[(4,)](
        x, x, x, 64, 1.0, BLOCK=32, global_scratch_size=100, global_scratch_align=512, shared=60 << 10
    )
    stream.synchronize(x.place.index)
    ((_, _, _, shared, words),) = launches(cuda)
    assert words[-2] >> 48 == x.data_ptr() >> 48 and words[-2] % 512 == 0 and words[-1] == 0
    assert shared == 60 << 10 and cuda.driver.calls[-50:].count("cuFuncSetAttribute") <= 1
    assert entered == ["blend_kernel", "left"]


def test_graphs_record_launches(triton, cuda, device):
    x = paddle.ones([256])
    blended(triton, x, x, 1.0)  # compiled before the capture
    graph = Graph(cuda.device(device), lambda x: blended(triton, x, x, 2.0), [x])
    try:
        triton.kernels.blend_kernel.device_caches.clear()
        gc.collect()
        assert graph(x).tolist() == [4.0] * 256
        assert graph(paddle.full([256], 3.0)).tolist() == [12.0] * 256
    finally:
        graph.close()


def test_timed_runs_of_the_autotuner(triton, cuda, monkeypatch):
    monkeypatch.setattr(triton_driver, "CACHE_BYTES", 1 << 10)
    interface = triton.driver.get_device_interface()
    start, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
    cache = triton.driver.get_empty_cache_for_benchmark()
    start.record()
    triton.driver.clear_cache(cache)
    end.record()
    interface.synchronize()
    assert start.elapsed_time(end) == 1.0
    assert cache.numpy().tolist() == [0] * (1 << 10)


# --- as an operator


@pytest.fixture
def blend(triton):
    """An operator that launches the kernel."""

    @paddle.library.custom_op("triton_test::blend", mutates_args=(), device_types="gpu")
    def blend(x: paddle.Tensor, y: paddle.Tensor, scale: float) -> paddle.Tensor:
        return blended(triton, x, y, scale)

    @blend.register_fake
    def _(x, y, scale):
        return paddle.empty_like(x)

    def backward(ctx, grad):
        return grad * ctx.scale, grad * ctx.scale, None

    def setup(ctx, inputs, output):
        ctx.scale = inputs[2]

    blend.register_autograd(backward, setup_context=setup)
    blend.register_sharding("i, i -> i")
    yield blend
    take_out(PYTHON_OP_REGISTRY.remove(blend.name).definition)


def test_a_kernel_is_an_operator_with_a_gradient(blend, cuda):
    x = paddle.arange(200, dtype="float32")
    x.stop_gradient = False
    y = blend(x, x * 2.0, 0.5)
    (y * y).sum().backward()
    expected = np.arange(200, dtype=np.float32) * 1.5
    np.testing.assert_array_equal(y.numpy(), expected)
    np.testing.assert_array_equal(x.grad.numpy(), 2 * expected * 1.5)


def test_a_kernel_is_a_node_of_captured_functions(blend, cuda):
    @paddle.jit.to_static(full_graph=True)
    def step(x):
        return blend(x + 1.0, x, 2.0).sum() * 3.0

    for value in (1.0, 2.0, 3.0):  # one call after another, recorded, replayed
        x = paddle.full([300], value)
        x.stop_gradient = False
        loss = step(x)
        loss.backward()
        assert float(loss) == 300 * (2 * value + 1) * 6
        assert x.grad.tolist() == [12.0] * 300
    assert str(step.main_program).count("triton_test::blend") >= 1


def test_a_kernel_is_an_operation_of_static_programs(blend, cuda):
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            x = paddle.static.data("x", [None], "float32")
            y = blend(x, x * 3.0, 0.5)
        executor = paddle.static.Executor(paddle.CUDAPlace(0))
        (result,) = executor.run(program, feed={"x": np.arange(150, dtype=np.float32)}, fetch_list=[y])
    finally:
        paddle.disable_static()
    np.testing.assert_array_equal(result, np.arange(150, dtype=np.float32) * 2)


def test_the_guide_says_what_runs(triton, cuda, tmp_path, monkeypatch):
    """The page's block about Triton, which other machines cannot run."""
    page = (Path(__file__).parents[3] / "docs" / "guide" / "custom-operators.md").read_text()
    (source,) = re.findall(r"^```py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "triton_page.py").write_text(source)  # Triton reads sources from files
    monkeypatch.syspath_prepend(str(tmp_path))
    cuda.driver.bodies["blend_kernel"] = triton.kernels.blend
    try:
        page = importlib.import_module("triton_page")
        np.testing.assert_array_equal(page.x.grad.numpy(), np.full(1000, 6.0, np.float32))
        assert page.mixed(page.x, page.x).tolist() == [18.0] * 1000
    finally:
        page.blend_kernel.device_caches.clear()
        take_out(PYTHON_OP_REGISTRY.remove("demo::blend").definition)
        del sys.modules["triton_page"]


def test_a_launch_itself_breaks_graphs(triton, cuda):
    def direct(x):
        return blended(triton, x + 1.0, x, 2.0) * 3.0

    captured = paddle.jit.to_static(direct)
    for value in (1.0, 2.0):
        assert captured(paddle.full([256], value)).tolist() == [(2 * value + 1) * 6] * 256
    with pytest.raises(
        Exception, match=r"a call of triton\..*\. Let an operator launch it \(paddle\.library\.custom_op\)"
    ):
        paddle.jit.to_static(direct, full_graph=True)(paddle.ones([256]))


# --- which driver Triton has


@pytest.fixture
def unloaded(monkeypatch):
    """The stand-in, not imported yet."""
    monkeypatch.syspath_prepend(str(STAND_IN))
    before = sys.meta_path[:]
    forget()
    yield
    sys.meta_path[:] = before
    forget()


def test_a_package_that_is_imported_later_gets_the_driver(unloaded):
    driver = triton_driver.attach(CudaBackend(RecordingDriver()))
    import triton

    assert triton.runtime.driver.active is driver
    assert not any(isinstance(finder, triton_driver.Watch) for finder in sys.meta_path)


def test_a_package_that_is_there_gets_the_driver(unloaded):
    import triton

    driver = triton_driver.attach(CudaBackend(RecordingDriver()))
    assert triton.runtime.driver.active is driver


def test_streams_of_pytorch_keep_their_driver(unloaded, monkeypatch):
    torch = ModuleType("torch")
    torch.version = SimpleNamespace(cuda="13.0")
    monkeypatch.setitem(sys.modules, "torch", torch)
    triton_driver.attach(CudaBackend(RecordingDriver()))
    import triton

    with pytest.raises(RuntimeError, match="0 active drivers"):
        triton.runtime.driver.active  # noqa: B018
    backend = CudaBackend(RecordingDriver())
    triton_driver.take(backend)
    driver = triton.runtime.driver.active
    assert driver.backend is backend
    triton_driver.take(backend)
    assert triton.runtime.driver.active is driver


def test_the_package_comes_with_the_driver(unloaded, cuda):
    try:
        triton = paddle.compat.paddle_triton_fun()
        assert triton is sys.modules["triton"] and triton.runtime.driver.active.backend is cuda
    finally:
        paddle.disable_compat()


def test_a_package_that_is_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    try:
        with pytest.raises(
            ImportError, match=r"\[paddle_triton_fun\] requires the package triton, got .*\. Install it"
        ):
            paddle.compat.paddle_triton_fun()
    finally:
        paddle.disable_compat()


def test_buffers_of_a_launch_are_told(triton, cuda, device):
    """Streams that memory was made on wait for others that use it."""
    x = paddle.ones([64])
    side = paddle.device.Stream("gpu:0")
    side.wait_stream(paddle.device.current_stream())
    with paddle.device.stream_guard(side):
        blended(triton, x, x, 1.0)
    assert x.storage.later_streams and Buffer(x).storage is x.storage
    side.synchronize()
