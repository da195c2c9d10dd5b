"""Random nets of images, with what convolutions and matmuls do to their results at once, against PyTorch in float64:
``python -m tests.fuzz.images 0 300`` runs those of 300 seeds.

A seed gives convolutions of many kernels, strides, pads and groups, linear layers over channels, and behind them
scales, residuals and activations; some values are read several times, some are results of the net. It runs eagerly,
captured (with its gradients), by predictors and compiled ahead of time for a processor, in float32 or bfloat16, on one
thread or two, for images of two sizes.
"""

from __future__ import annotations

import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import paddle
from paddle import inference
from paddle.inference.compile import compile_model
from paddle.inference.loading import files_of
from paddle.static import InputSpec
from tests.fuzz.programs.run import bits_of, numbers, tensor_of
from tests.fuzz.seeds import run_seeds
from tests.fuzz.shrink import reduction
from tests.support.native_libraries import Native
from umiak.compiler.jit import object_cache  # noqa: F401  declares the switch

WAYS = ("eager", "source", "bytecode", "gradient", "predicted", "compiled")
TARGETS = ("native", "x86-64-v3", "x86-64")
TOLERANCE = {"float32": 5e-5, "bfloat16": 4e-2, "float64": 1e-7}  # files keep slopes and epsilons as float32
# What has another slope at a point that rounding to bfloat16 moves values across.
KINKED = {"relu", "hardswish", "hardsigmoid", "clip"}
CHANNELS = (1, 3, 8, 16, 17, 32, 40, 70)
Shape = tuple[int, ...]


class Step(NamedTuple):
    """A value of the net: what is done to which earlier values, with which weights. Value 0 is the image."""

    kind: str
    operands: tuple[int, ...]
    weights: tuple[Shape, ...] = ()
    options: dict[str, Any] = {}


class Case(NamedTuple):
    seed: int
    dtype: str
    threads: int
    target: str
    images: tuple[Shape, Shape]
    steps: tuple[Step, ...]
    results: tuple[int, ...]


def convolved(size: int, kernel: int, stride: int, dilation: int, padding: tuple[int, int] | str) -> int:
    if padding == "SAME":
        return -(-size // stride)
    low, high = (0, 0) if isinstance(padding, str) else padding
    return (size + low + high - dilation * (kernel - 1) - 1) // stride + 1


class Draw:
    """A case as it is drawn. ``shapes``: of each value, for both images."""

    def __init__(self, seed: int) -> None:
        self.r = r = random.Random(f"images {seed}")
        channels, sizes = r.choice(CHANNELS), [5, 7, 9, 13, 16, 21, 31, 33]
        images = tuple((r.choice((1, 2, 3)), channels, r.choice(sizes), r.choice(sizes)) for _ in range(2))
        self.shapes: list[list[Shape]] = [list(images)]
        self.steps: list[Step] = []
        for _ in range(r.randint(2, 5)):
            self.block()
        last = len(self.steps)
        results = {last, r.randint(1, last)} if r.random() < 0.5 else {last}
        self.case = Case(
            seed, "bfloat16" if r.random() < 0.35 else "float32", r.choice((1, 2)), TARGETS[seed % 3],
            (images[0], images[1]), tuple(self.steps), tuple(sorted(results)),
        )  # fmt: skip

    def add(self, step: Step, shapes: list[Shape]) -> None:
        self.steps.append(step)
        self.shapes.append(shapes)

    def block(self) -> None:
        """A convolution or a linear layer, and what follows it."""
        r = self.r
        r.choice((self.convolution, self.depthwise, self.depthwise, self.pointwise, self.linear))()
        for _ in range(r.choice((0, 1, 1, 2, 3))):
            at, shapes = len(self.steps), self.shapes[-1]
            kind = r.choice(("relu", "hardswish", "scale", "residual", "sigmoid", "silu", "hardsigmoid", "clip"))
            if kind == "residual":
                fit = [i for i in range(at) if self.shapes[i] == shapes] or [at]
                self.add(Step(r.choice(("add", "add", "multiply")), (at, r.choice(fit))), shapes)
            elif kind == "scale":
                options = {"scale": r.choice((0.5, -1.25, 1.0)), "bias": r.choice((0.0, 0.25, -0.5))}
                self.add(Step("scale", (at,), options=options), shapes)
            else:
                self.add(Step(kind, (at,)), shapes)

    def convolve(self, channels: int, groups: int, kernels: Sequence[int]) -> None:
        r, before = self.r, self.shapes[-1]
        kernel = (r.choice(kernels),) * 2 if r.random() < 0.7 else (r.choice(kernels), r.choice(kernels))
        stride = r.choice(((1, 1), (1, 1), (1, 1), (2, 2), (2, 1), (1, 2), (3, 3)))
        dilation = r.choice(((1, 1),) * 5 + ((2, 2), (1, 2)))
        padding: Any = [(r.randrange(k), r.randrange(k)) for k in kernel]
        kind = r.randrange(5)
        if kind == 0:
            padding, dilation = "SAME", (1, 1)
        elif kind < 4:
            padding = [(k // 2,) * 2 for k in kernel]
        shapes = []
        for n, _, *image in before:
            pads = padding if isinstance(padding, list) else [padding] * 2
            sizes = [convolved(*x) for x in zip(image, kernel, stride, dilation, pads, strict=True)]
            if min(sizes) < 1:
                padding, dilation = "SAME", (1, 1)
                sizes = [convolved(s, k, t, 1, "SAME") for s, k, t in zip(image, kernel, stride, strict=True)]
            shapes.append((n, channels, *sizes))
        if padding == "SAME":
            shapes = [
                (n, channels, *(-(-s // t) for s, t in zip(image, stride, strict=True))) for n, _, *image in before
            ]
        weights: tuple[Shape, ...] = ((channels, before[0][1] // groups, *kernel),)
        weights += ((channels,),) * (r.random() < 0.7)
        options = {"stride": stride, "dilation": dilation, "padding": padding, "groups": groups}
        self.add(Step("convolution", (len(self.steps),), weights, options), shapes)

    def convolution(self) -> None:
        channels, n = self.r.choice(CHANNELS), self.shapes[-1][0][1]
        groups = self.r.choice([1, 1, 1, *(g for g in (2, 4) if n % g == 0 and channels % g == 0)])
        self.convolve(channels, groups, (1, 2, 3, 3, 5))

    def depthwise(self) -> None:
        n = self.shapes[-1][0][1]
        self.convolve(n, n, (3, 5, 5, 7, 7, 4, 1))

    def pointwise(self) -> None:
        self.convolve(self.r.choice(CHANNELS), 1, (1,))

    def linear(self) -> None:
        n, channels = self.shapes[-1][0][1], self.r.choice(CHANNELS)
        weights = ((n, channels), (channels,))[: self.r.choice((1, 2, 2))]
        self.add(Step("linear", (len(self.steps),), weights), [(x[0], channels, *x[2:]) for x in self.shapes[-1]])


def arrays(shapes: Sequence[Shape], seed: int) -> list[np.ndarray]:
    """Numbers that bfloat16 has; weights keep the size of what they are multiplied with."""
    rng = np.random.default_rng(seed)
    made = []
    for shape in shapes:
        fan = 1 if len(shape) == 1 else int(np.prod(shape[1:])) if len(shape) == 4 else shape[0]
        x = torch.from_numpy(rng.standard_normal(shape) / fan**0.5)
        made.append(x.to(torch.bfloat16).double().numpy())
    return made


def weights_of(case: Case) -> list[np.ndarray]:
    return arrays([w for step in case.steps for w in step.weights], case.seed)


def images_of(case: Case) -> list[np.ndarray]:
    rng = np.random.default_rng(case.seed + 1)
    return [torch.from_numpy(rng.standard_normal(s)).to(torch.bfloat16).double().numpy() for s in case.images]


# --- the judge -------------------------------------------------------------------------------------------------------


def _torch_convolution(x: Any, options: dict[str, Any], w: Any, b: Any = None) -> Any:
    pads = options["padding"]
    if pads == "SAME":
        pads = []
        for size, k, s in zip(x.shape[2:], w.shape[2:], options["stride"], strict=True):
            total = max((-(-size // s) - 1) * s + k - size, 0)
            pads.append((total // 2, total - total // 2))
    x = torch.nn.functional.pad(x, (*pads[1], *pads[0]))
    return torch.nn.functional.conv2d(x, w, b, options["stride"], 0, options["dilation"], options["groups"])


JUDGED: dict[str, Callable[..., Any]] = {
    "convolution": _torch_convolution,
    "linear": lambda x, o, w, b=0.0: (x.movedim(1, -1) @ w + b).movedim(-1, 1),
    "relu": lambda x, o: torch.relu(x),
    "hardswish": lambda x, o: x * torch.clamp(x + 3, 0, 6) / 6,
    "hardsigmoid": lambda x, o: torch.clamp(x * 0.1666667 + 0.5, 0, 1),
    "sigmoid": lambda x, o: torch.sigmoid(x),
    "silu": lambda x, o: x * torch.sigmoid(x),
    "clip": lambda x, o: torch.clamp(x, -0.5, 0.75),
    "scale": lambda x, o: x * o["scale"] + o["bias"],
    "add": lambda x, y, o: x + y,
    "multiply": lambda x, y, o: x * y,
}


def walked(case: Any, meanings: dict[str, Callable[..., Any]], x: Any, weights: Sequence[Any]) -> list[Any]:
    """The results of a net whose steps mean this."""
    values, rest = [x], iter(weights)
    for step in case.steps:
        given = [next(rest) for _ in step.weights]
        values.append(meanings[step.kind](*(values[i] for i in step.operands), step.options, *given))
    return [values[i] for i in case.results]


class Wanted(NamedTuple):
    """``size``: that of numbers which rounding is compared with, at least."""

    values: list[np.ndarray]
    grads: list[np.ndarray]
    size: float = 1e-3


def judged(case: Case, image: np.ndarray) -> Wanted:
    """Results, and the gradients of the sum of their squares with respect to the image and all weights."""
    leaves = [torch.tensor(a, requires_grad=True) for a in (image, *weights_of(case))]
    results = walked(case, JUDGED, leaves[0], leaves[1:])
    grads = torch.autograd.grad(sum((y * y).sum() for y in results), leaves, allow_unused=True)
    found = [torch.zeros_like(x) if g is None else g for x, g in zip(leaves, grads, strict=True)]
    return Wanted([y.detach().numpy() for y in results], [g.numpy() for g in found])


# --- the ways --------------------------------------------------------------------------------------------------------


def _convolution(x: Any, options: dict[str, Any], w: Any, b: Any = None) -> Any:
    pads = options["padding"]
    pads = pads if isinstance(pads, str) else [n for pair in pads for n in pair]
    return paddle.nn.functional.conv2d(x, w, b, options["stride"], pads, options["dilation"], options["groups"])


def _linear(x: Any, options: dict[str, Any], w: Any, b: Any = None) -> Any:
    y = paddle.nn.functional.linear(paddle.transpose(x, [0, 2, 3, 1]), w, b)
    return paddle.transpose(y, [0, 3, 1, 2])


MEANT: dict[str, Callable[..., Any]] = {
    "convolution": _convolution,
    "linear": _linear,
    "relu": lambda x, o: paddle.nn.functional.relu(x),
    "hardswish": lambda x, o: paddle.nn.functional.hardswish(x),
    "hardsigmoid": lambda x, o: paddle.nn.functional.hardsigmoid(x),
    "sigmoid": lambda x, o: paddle.nn.functional.sigmoid(x),
    "silu": lambda x, o: paddle.nn.functional.silu(x),
    "clip": lambda x, o: paddle.clip(x, -0.5, 0.75),
    "scale": lambda x, o: paddle.scale(x, o["scale"], o["bias"]),
    "add": lambda x, y, o: x + y,
    "multiply": lambda x, y, o: x * y,
}


class Net(paddle.nn.Layer):
    """The net of a case."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case
        own = [paddle.to_tensor(w.astype("float32")).astype(case.dtype) for w in weights_of(case)]
        for i, w in enumerate(own):
            made = self.create_parameter(list(w.shape), dtype=case.dtype)
            made.set_value(w)
            self.add_parameter(f"w{i}", made)

    def forward(self, x: paddle.Tensor) -> list[paddle.Tensor]:
        return walked(self.case, MEANT, x, list(self._parameters.values()))


Run = Callable[[np.ndarray], list[np.ndarray]]


def tensor(case: Any, x: np.ndarray) -> paddle.Tensor:
    return paddle.to_tensor(x).astype(case.dtype)


def differentiated(case: Case, net: Net) -> Run:
    """Gradients of a captured net."""
    captured = paddle.jit.to_static(net, full_graph=bool(case.seed & 1))

    def run(image: np.ndarray) -> list[np.ndarray]:
        x = tensor(case, image)
        x.stop_gradient = False
        leaves = [x, *net.parameters()]
        loss = sum(paddle.square(y.astype("float32")).sum() for y in captured(x))
        grads = paddle.grad(loss, leaves, allow_unused=True)
        return [np.zeros(x.shape) if g is None else numbers(g) for x, g in zip(leaves, grads, strict=True)]

    return run


def runs_of(case: Case, only: Sequence[str]) -> Iterator[tuple[str, Run]]:
    """Yield names of ways, and runs."""
    net = Net(case)
    net.eval()
    if "eager" in only:
        yield "eager", lambda image: [numbers(y) for y in net(tensor(case, image))]
    for way in ("source", "bytecode"):
        if way in only:
            captured = paddle.jit.to_static(Net(case), full_graph=way == "source")
            yield way, lambda image, captured=captured: [numbers(y) for y in captured(tensor(case, image))]
    if "gradient" in only and (case.dtype == "float32" or not KINKED & {step.kind for step in case.steps}):
        yield "gradient", differentiated(case, Net(case))
    if "predicted" not in only and "compiled" not in only:
        return
    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder) / "model")
        paddle.jit.save(net, prefix, [InputSpec([None, case.images[0][1], None, None], case.dtype, "x")])
        if "predicted" in only:
            config = inference.Config(*files_of(prefix))
            config.set_cpu_math_library_num_threads(case.threads)
            config.set_optimization_level((2, 3, 1, 0)[case.seed % 4])
            first = inference.create_predictor(config)
            for name, p in (("predicted", first), ("clone", first.clone())):
                yield name, lambda image, p=p: [numbers(y) for y in p.run([tensor(case, image)])]
        if "compiled" in only:
            sizes = ["x=" + "x".join(map(str, s)) for s in case.images]
            library = compile_model(prefix, str(Path(folder) / "libmodel.so"), sizes=sizes, target=case.target)
            made = Native(library).create(threads=case.threads)
            yield "compiled", lambda image: [numbers(tensor_of(y)) for y in made.run(bits_of(tensor(case, image)))]
            made.close()


def differences(
    case: Any,
    wanted: Sequence[tuple[np.ndarray, Wanted]],
    runs: Iterator[tuple[str, Run]],
    tally: Counter[str] | None,
) -> str | None:
    """What is wrong with the runs of all images and of the first again; None if nothing is. ``wanted``: of each image;
    ``runs``: of named ways, which give gradients where the way is named so."""
    tally = Counter() if tally is None else tally
    tolerance = TOLERANCE[case.dtype]
    before, at = paddle.get_flags("FLAGS_paddle_num_threads"), "saved"
    paddle.set_flags({"FLAGS_paddle_num_threads": case.threads})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for at, run in runs:
                for image, (values, grads, size) in (*wanted, wanted[0]):
                    for i, (x, y) in enumerate(zip(run(image), grads if at == "gradient" else values, strict=True)):
                        scale = max(size, float(np.abs(y).max(initial=0)))
                        allowed = tolerance * (4 if at == "gradient" else 1) * scale
                        if x.shape != y.shape or not (np.abs(x - y) <= allowed).all():
                            off = "" if x.shape != y.shape else f", off by {np.abs(x - y).max()} of {scale}"
                            return f"{case}\n{at}, {image.shape}: result {i}, {x.shape}, is not that of {y.shape}{off}"
                tally[f"{at}, {case.dtype}"] += 1
                at = f"after {at}"
    except Exception as error:
        return f"{case}\n{at}: {type(error).__name__}: {error}"
    finally:
        paddle.set_flags(before)
    return None


def check(case: Case, only: Sequence[str] = WAYS, tally: Counter[str] | None = None) -> str | None:
    """What is wrong; None if nothing is."""
    return differences(case, [(x, judged(case, x)) for x in images_of(case)], runs_of(case, only), tally)


def draw(seed: int) -> Case:
    """The case of a seed."""
    return Draw(seed).case


def smaller(case: Case) -> Iterator[Case]:
    """Nets that end earlier."""
    for n in range(1, len(case.steps)):
        yield case._replace(steps=case.steps[:n], results=(n,))


reduced = reduction(draw, lambda seed, tally, only, case: check(case, only, tally), smaller)


if __name__ == "__main__":
    run_seeds(__doc__, WAYS, lambda seed, tally, only: check(draw(seed), only, tally), reduced)
