"""What libraries do on a CUDA device, against the host and next to PyTorch: sections of ``tools/gpu_check.py``.

Epilogues of cuBLASLt and their gradients, matmuls of 8 bits, convolutions by cuDNN.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import paddle
from umiak import fp8
from umiak.backends.cuda.providers import cublaslt, cudnn

LEAST_S = 0.2


def seconds(call: Callable[[], Any], synchronize: Callable[[], Any], least_s: float) -> float:
    """Seconds of a call, of as many as take ``least_s`` together, once it is compiled."""
    call()
    count = 1
    while True:
        synchronize()
        start = time.perf_counter()
        for _ in range(count):
            call()
        synchronize()
        taken = time.perf_counter() - start
        if taken >= least_s:
            return taken / count
        count *= 4


def torch_with_cuda() -> Any:
    """PyTorch, where it is installed and has a device."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def _timed(place: str, ours: Callable[[], Any], theirs: Callable[[Any], Callable[[], Any]], least_s: float) -> list:
    """Seconds of a call of ours, and of PyTorch's, or null."""
    row: list[float | None] = [seconds(ours, partial(paddle.device.synchronize, place), least_s), None]
    torch = torch_with_cuda()
    if torch is not None:
        row[1] = seconds(theirs(torch), torch.cuda.synchronize, least_s)
    return row


def _arrays(*shapes: Sequence[int]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [(rng.standard_normal(s) / np.sqrt(s[-1])).astype("float32") for s in shapes]


def _on_both(place: str, function: Callable[..., Any], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What a function of tensors gives on the host and on the device, as float32."""
    results = []
    for where in ("cpu", place):
        paddle.set_device(where)
        results.append(function(*map(paddle.to_tensor, arrays)).astype("float32").numpy())
    return results


def _linear(x: Any, w: Any, b: Any) -> Any:
    return paddle.nn.functional.linear(x, w, b)


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "bias": lambda y: y,
    "relu": paddle.nn.functional.relu,
    "gelu_tanh": partial(paddle.nn.functional.gelu, approximate=True),
}


def epilogues(place: str, rows: int = 4096, width: int = 4096, least_s: float = LEAST_S) -> dict[str, Any]:
    """Matmuls with bias and an activation in captured programs: right, and seconds in bfloat16. Whether NaN passes
    relu. A step of training of two layers, by the library against the kernels of the loop IR."""
    library = cublaslt.load()
    if isinstance(library, str):
        return {"ok": True, "cublaslt": library}
    report: dict[str, Any] = {"ok": True}
    small = _arrays((64, 48), (48, 80), (80,))
    for name, activation in ACTIVATIONS.items():

        def layer(x: Any, w: Any, b: Any, dtype: str = "bfloat16", act: Callable[[Any], Any] = activation) -> Any:
            return act(_linear(x.astype(dtype), w.astype(dtype), b.astype(dtype)))

        host, device = _on_both(place, paddle.jit.to_static(layer), small)
        right = bool(np.allclose(device, host, rtol=2e-2, atol=2e-2))
        fast = paddle.jit.to_static(lambda x, w, b, act=activation: act(_linear(x, w, b)))
        x, w, b = (paddle.rand(s).astype("bfloat16") for s in ([rows, width], [width, width], [width]))

        def theirs(torch: Any, name: str = name) -> Callable[[], Any]:
            F = torch.nn.functional
            acts = {"bias": lambda y: y, "relu": F.relu, "gelu_tanh": partial(F.gelu, approximate="tanh")}
            a, c, d = (torch.rand(*s, device="cuda", dtype=torch.bfloat16)
                       for s in ((rows, width), (width, width), (width,)))  # fmt: skip
            return torch.compile(lambda: acts[name](F.linear(a, c, d)))

        report[name] = {"ok": right, "seconds": _timed(place, partial(fast, x, w, b), theirs, least_s)}
        report["ok"] &= right
    paddle.set_device(place)
    nan = paddle.full([16, 16], float("nan"))
    y = paddle.jit.to_static(lambda x, w, b: paddle.nn.functional.relu(_linear(x, w, b)))(nan, nan, nan[0])
    report["nan_passes_relu"] = bool(np.isnan(y.numpy()).all())
    report["ok"] &= report["nan_passes_relu"]
    losses = []
    for gemm in ("cublaslt", "loop"):
        paddle.set_flags({"FLAGS_cuda_gemm": gemm})
        try:
            losses.append(_losses(_arrays((64, 32), (32, 256), (256, 16))))
        finally:
            paddle.set_flags({"FLAGS_cuda_gemm": "auto"})
    report["training"] = {"ok": bool(np.allclose(*losses, rtol=1e-3)), "losses": losses}
    report["ok"] &= report["training"]["ok"]
    return report


def _losses(arrays: Sequence[np.ndarray], steps: int = 5) -> list[float]:
    """Losses of steps of training with two layers and relu between them, captured."""
    x, first, second = arrays
    layers = [paddle.nn.Linear(*a.shape) for a in (first, second)]
    for layer, value in zip(layers, (first, second)):
        layer.weight.set_value(value)
        layer.bias.set_value(value[0])
    network = paddle.nn.Sequential(layers[0], paddle.nn.ReLU(), layers[1])
    optimizer = paddle.optimizer.SGD(0.1, parameters=network.parameters())

    @paddle.jit.to_static
    def step(x: Any) -> Any:
        loss = (network(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return [float(step(paddle.to_tensor(x))) for _ in range(steps)]


SCALINGS: dict[str, tuple] = {
    "tensor": ((None, None), (None, None)),
    "row": ((1, None), (None, 1)),
    "block": ((1, 128), (128, 128)),
}


def eight_bits(place: str, rows: int = 4096, least_s: float = LEAST_S) -> dict[str, Any]:
    """Matmuls of E4M3 into bfloat16 by scaling: right, and Tflop/s beside those of bfloat16 and PyTorch's
    ``_scaled_mm``."""
    report: dict[str, Any] = {"ok": True}
    paddle.set_device(place)
    a, b = (paddle.to_tensor(x) for x in _arrays((256, 512), (512, 384)))
    flops = 2 * rows**3
    for name, (left, right) in SCALINGS.items():
        x, y = fp8.quantise(a, fp8.E4M3, left), fp8.quantise(b, fp8.E4M3, right)
        exact = np.float64(x.dequantise().numpy()) @ np.float64(y.dequantise().numpy())
        got = fp8.matmul(x, y).numpy()
        close = bool(np.allclose(got, exact, rtol=1e-2, atol=1e-2 * np.abs(exact).max()))
        wide = paddle.rand([rows, rows])
        p, q = fp8.quantise(wide, fp8.E4M3, left), fp8.quantise(wide, fp8.E4M3, right)

        def theirs(torch: Any) -> Callable[[], Any]:
            s = torch.ones(1, device="cuda")
            c = torch.rand(rows, rows, device="cuda").to(torch.float8_e4m3fn)
            return partial(torch._scaled_mm, c, c.T, s, s, out_dtype=torch.bfloat16)

        taken = _timed(place, partial(fp8.matmul, p, q, paddle.bfloat16), theirs, least_s)
        report[name] = {"ok": close, "tflops": [None if s is None else flops / s / 1e12 for s in taken]}
        report["ok"] &= close
    c = paddle.rand([rows, rows]).astype("bfloat16")
    taken = seconds(partial(paddle.matmul, c, c), partial(paddle.device.synchronize, place), least_s)
    report["bfloat16_tflops"] = flops / taken / 1e12
    return report


def convolutions(
    place: str, image: Sequence[int] = (32, 64, 56, 56), channels: int = 64, least_s: float = LEAST_S
) -> dict[str, Any]:
    """Convolutions of kernel 3 and both gradients: right, and seconds of them all."""
    report: dict[str, Any] = {"ok": True, "cudnn": paddle.device.get_cudnn_version() or cudnn.load()}
    conv2d = paddle.nn.functional.conv2d

    def gradients(x: Any, w: Any, dtype: str) -> Any:
        x.stop_gradient = w.stop_gradient = False
        y = conv2d(x.astype(dtype), w.astype(dtype), padding=1)
        (y.astype("float32") ** 2).sum().backward()
        return paddle.concat([t.astype("float32").flatten() for t in (y, x.grad, w.grad)])

    for dtype, tolerance in (("float32", 1e-3), ("bfloat16", 5e-2)):
        host, device = _on_both(place, partial(gradients, dtype=dtype), _arrays((2, 8, 12, 12), (16, 8, 3, 3)))
        right = bool(np.allclose(device, host, rtol=tolerance, atol=tolerance * np.abs(host).max()))
        window = (channels, image[1], 3, 3)
        x, w = (paddle.rand(list(s)).astype(dtype) for s in (image, window))
        x.stop_gradient = w.stop_gradient = False

        def ours(x: Any = x, w: Any = w) -> Any:
            return paddle.grad(conv2d(x, w, padding=1).sum(), [x, w])

        def theirs(torch: Any, dtype: str = dtype, window: tuple = window) -> Callable[[], Any]:
            torch.backends.cudnn.allow_tf32 = False
            kind = {"device": "cuda", "dtype": getattr(torch, dtype), "requires_grad": True}
            a, b = torch.rand(*image, **kind), torch.rand(*window, **kind)
            return lambda: torch.autograd.grad(torch.nn.functional.conv2d(a, b, padding=1).sum(), [a, b])

        report[dtype] = {"ok": right, "seconds": _timed(place, ours, theirs, least_s)}
        report["ok"] &= right
    return report
