"""Random nets of convolutions over images of ever new sizes, against PyTorch in float64:
``python -m tests.fuzz.convolutions 0 300`` runs those of 300 seeds.

A seed gives convolutions along one or two axes (of kernel 1, of short windows, of one channel each, of groups), batch
norms, squeezes, residuals, activations and scales, channels first or last, and more images than a kernel is prepared
for: narrow ones, rows, places, batches of up to 8. Which of their axes a saved model leaves open is drawn, too. A net
runs eagerly, captured with open sizes (with its gradients), loaded and by a predictor and its clone, in float32,
float64 or bfloat16, on one thread or two, for all images in turn.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import paddle
from paddle import inference
from paddle.inference.loading import files_of
from paddle.static import InputSpec
from tests.fuzz import images
from tests.fuzz.images import Run, Shape, Step, Wanted, convolved, differences, tensor, walked
from tests.fuzz.programs.run import numbers
from tests.fuzz.seeds import run_seeds
from tests.fuzz.shrink import fewer, reduction

WAYS = ("eager", "source", "bytecode", "gradient", "loaded", "predicted")
CHANNELS = (1, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 49, 64, 65, 72, 80, 96, 130)
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 16, 17, 19, 20, 23, 24, 31, 33, 40)
NARROW = (1, 2, 3, 4)
COUNT = 5  # images
AFTER = (
    "relu", "relu", "hardswish", "hardswish", "scale", "residual", "residual", "sigmoid", "silu", "hardsigmoid", "clip",
)  # fmt: skip
FORMATS = {(1, False): "NCL", (1, True): "NLC", (2, False): "NCHW", (2, True): "NHWC"}


class Case(NamedTuple):
    """``images``: of shape ``[n, channels, *sizes]`` wherever channels lie; ``open``: the batch, and each size."""

    seed: int
    dtype: str
    threads: int
    last: bool
    open: tuple[bool, ...]
    images: tuple[Shape, ...]
    steps: tuple[Step, ...]
    results: tuple[int, ...]

    @property
    def sizes(self) -> int:
        return len(self.images[0]) - 2


class Draw:
    """A case as it is drawn. ``shapes``: of each value, for all images."""

    def __init__(self, seed: int) -> None:
        self.r = r = random.Random(f"convolutions {seed}")
        axes = r.choice((1, 2, 2, 2))
        opened = tuple(r.random() < 0.8 for _ in range(1 + axes))
        choices = [(1, 1, 1, 2, 3, 4, 5, 7, 8), *(NARROW if r.random() < 0.2 else SIZES for _ in range(axes))]
        drawn = [[r.choice(c) for c in choices] for _ in range(COUNT)]
        channels = r.choice(CHANNELS)
        of_all = [[x if free else y for free, x, y in zip(opened, one, drawn[0], strict=True)] for one in drawn]
        given = tuple((n, channels, *sizes) for n, *sizes in of_all)
        self.shapes: list[list[Shape]] = [list(given)]
        self.steps: list[Step] = []
        for _ in range(r.randint(1, 4)):
            self.block()
        last = len(self.steps)
        results = {last, r.randint(1, last)} if r.random() < 0.3 else {last}
        dtype = r.choice(("float32",) * 6 + ("bfloat16", "bfloat16", "float64"))
        self.case = Case(
            seed, dtype, r.choice((1, 2)), r.random() < 0.5, opened, given, tuple(self.steps), tuple(sorted(results))
        )

    def add(self, step: Step, shapes: list[Shape]) -> None:
        self.steps.append(step)
        self.shapes.append(shapes)

    def block(self) -> None:
        r, twice = self.r, (self.pointwise, self.depthwise) * 2
        r.choice((*twice, self.short, self.usual, self.squeeze))()
        at, channels = len(self.steps), self.shapes[-1][0][1]
        if r.random() < 0.4:
            self.add(Step("norm", (at,), ((channels,),) * 4), self.shapes[-1])
        for _ in range(r.choice((0, 1, 1, 2, 3))):
            at, shapes, kind = len(self.steps), self.shapes[-1], r.choice(AFTER)
            if kind == "residual":
                fit = [i for i in range(at) if self.shapes[i] == shapes] or [at]
                self.add(Step(r.choice(("add", "add", "multiply")), (at, r.choice(fit))), shapes)
            elif kind == "scale":
                options = {"scale": r.choice((0.5, -1.25, 1.0)), "bias": r.choice((0.0, 0.25, -0.5))}
                self.add(Step("scale", (at,), options=options), shapes)
            else:
                self.add(Step(kind, (at,)), shapes)

    def convolve(self, channels: int, groups: int, kernel: Sequence[int], plain: bool = False) -> None:
        """``plain``: strides and dilations are 1, and there are no pads."""
        r, before = self.r, self.shapes[-1]
        stride: list[int] = [1 if plain else r.choice((1, 1, 1, 2, 2, 3)) for _ in kernel]
        dilation: list[int] = [1 if plain or r.random() < 0.8 else 2 for _ in kernel]
        kind = r.randrange(5)
        padding: Any = [(k // 2,) * 2 if kind else (r.randint(0, k), r.randrange(k)) for k in kernel]
        if plain:
            padding = [(0, 0)] * len(kernel)
        elif kind == 4:
            padding = "SAME"

        def shapes() -> list[Shape]:
            pads = [padding] * len(kernel) if padding == "SAME" else padding
            return [
                (n, channels, *(convolved(*x) for x in zip(sizes, kernel, stride, dilation, pads, strict=True)))
                for n, _, *sizes in before
            ]

        if padding == "SAME" or any(min(s[2:]) < 1 for s in shapes()):
            padding, dilation = "SAME", [1] * len(kernel)
        weights: tuple[Shape, ...] = ((channels, before[0][1] // groups, *kernel),)
        weights += ((channels,),) * (r.random() < 0.5)
        options = {"stride": stride, "dilation": dilation, "padding": padding, "groups": groups}
        self.add(Step("convolution", (len(self.steps),), weights, options), shapes())

    @property
    def axes(self) -> int:
        return len(self.shapes[0][0]) - 2

    def pointwise(self) -> None:
        self.convolve(self.r.choice(CHANNELS), 1, (1,) * self.axes, self.r.random() < 0.8)

    def short(self) -> None:
        """Two or three taps along one axis, mostly over many channels."""
        axis, taps = self.r.randrange(self.axes), self.r.choice((2, 3))
        if self.shapes[-1][0][1] < 64:
            self.convolve(self.r.choice((64, 65, 72, 96)), 1, (1,) * self.axes, True)
        self.convolve(self.r.choice(CHANNELS), 1, [taps if i == axis else 1 for i in range(self.axes)])

    def depthwise(self) -> None:
        n, taps = self.shapes[-1][0][1], self.r.choice((3, 5, 7))
        self.convolve(n, n, [self.r.choice((taps, taps, 1, 2, 4)) for _ in range(self.axes - 1)] + [taps])

    def usual(self) -> None:
        channels, n = self.r.choice(CHANNELS), self.shapes[-1][0][1]
        groups = self.r.choice([1, 1, *(g for g in (2, 3, 4, 8) if n % g == 0 and channels % g == 0)])
        self.convolve(channels, groups, (self.r.choice((2, 3, 3, 5)),) * self.axes)

    def squeeze(self) -> None:
        """What a convolution of the means makes is a factor of each channel."""
        at, shapes = len(self.steps), self.shapes[-1]
        self.add(Step("mean", (at,)), [(n, c, *(1 for _ in sizes)) for n, c, *sizes in shapes])
        self.convolve(shapes[0][1], 1, (1,) * self.axes, True)
        self.add(Step("hardsigmoid", (len(self.steps),)), self.shapes[-1])
        self.add(Step("multiply", (at, len(self.steps))), shapes)


def draw(seed: int) -> Case:
    """The case of a seed."""
    return Draw(seed).case


def _rounded(x: np.ndarray) -> np.ndarray:
    """Numbers that bfloat16 has."""
    return torch.from_numpy(x).to(torch.bfloat16).double().numpy()


def weights_of(case: Case) -> list[tuple[np.ndarray, bool]]:
    """Each weight, and whether it learns: means and variances of a norm do not. Kernels keep the size of what they are
    multiplied with."""
    rng, made = np.random.default_rng(case.seed), []
    for step in case.steps:
        for i, shape in enumerate(step.weights):
            x = rng.standard_normal(shape) / max(1, int(np.prod(shape[1:]))) ** 0.5
            statistics = step.kind == "norm" and i < 2
            made.append((_rounded(np.abs(x) + 0.5 if statistics and i else x), not statistics))
    return made


def images_of(case: Case) -> list[np.ndarray]:
    rng = np.random.default_rng(case.seed + 1)
    return [_rounded(rng.standard_normal(shape)) for shape in case.images]


# --- the judge -------------------------------------------------------------------------------------------------------


def _torch_convolution(x: Any, o: dict[str, Any], w: Any, b: Any = None) -> Any:
    pads = o["padding"]
    if pads == "SAME":
        sizes = zip(x.shape[2:], w.shape[2:], o["stride"], strict=True)
        needed = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in sizes]
        pads = [(n // 2, n - n // 2) for n in needed]
    x = torch.nn.functional.pad(x, [n for pair in reversed(pads) for n in pair])
    function = torch.nn.functional.conv1d if x.ndim == 3 else torch.nn.functional.conv2d
    return function(x, w, b, o["stride"], 0, o["dilation"], o["groups"])


JUDGED: dict[str, Callable[..., Any]] = {
    **images.JUDGED,
    "convolution": _torch_convolution,
    "norm": lambda x, o, mean, variance, w, b: torch.nn.functional.batch_norm(x, mean, variance, w, b),
    "mean": lambda x, o: x.mean(tuple(range(2, x.ndim)), keepdim=True),
}


def judged(case: Case, image: np.ndarray, gradients: bool) -> Wanted:
    """Results, and the gradients of the sum of their squares with respect to the image and all weights that learn. A
    result may be what is left of greater values."""
    x = torch.tensor(image, requires_grad=gradients)
    weights = [torch.tensor(a, requires_grad=learns and gradients) for a, learns in weights_of(case)]
    values = walked(case._replace(results=tuple(range(1 + len(case.steps)))), JUDGED, x, weights)
    results = [values[i] for i in case.results]
    leaves = [x, *(w for w in weights if w.requires_grad)]
    grads = torch.autograd.grad(sum((y * y).sum() for y in results), leaves, allow_unused=True) if gradients else ()
    size = max(float(y.detach().abs().max()) for y in values)
    found = [np.zeros(0) if g is None else g.numpy() for g in grads]
    return Wanted([y.detach().numpy() for y in results], found, max(1e-3, size / 4))


# --- the ways --------------------------------------------------------------------------------------------------------


class Net(paddle.nn.Layer):
    """The net of a case."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case
        self.format = FORMATS[case.sizes, case.last]
        self.meanings = {**images.MEANT, "convolution": self.convolution, "norm": self.norm, "mean": self.mean}
        for i, (w, learns) in enumerate(weights_of(case)):
            made = self.create_parameter(list(w.shape), dtype=case.dtype)
            made.set_value(tensor(case, w))
            made.stop_gradient = not learns
            self.add_parameter(f"w{i}", made)

    def convolution(self, x: Any, o: dict[str, Any], w: Any, b: Any = None) -> Any:
        pads = o["padding"] if o["padding"] == "SAME" else [n for pair in o["padding"] for n in pair]
        function = paddle.nn.functional.conv1d if self.case.sizes == 1 else paddle.nn.functional.conv2d
        return function(x, w, b, o["stride"], pads, o["dilation"], o["groups"], self.format)

    def norm(self, x: Any, o: dict[str, Any], mean: Any, variance: Any, w: Any, b: Any) -> Any:
        return paddle.nn.functional.batch_norm(x, mean, variance, w, b, data_format=self.format)

    def mean(self, x: Any, o: dict[str, Any]) -> Any:
        return x.mean(list(range(1, x.ndim - 1) if self.case.last else range(2, x.ndim)), keepdim=True)

    def forward(self, x: paddle.Tensor) -> list[paddle.Tensor]:
        return walked(self.case, self.meanings, x, list(self._parameters.values()))


def of_call(case: Case, function: Callable[[paddle.Tensor], Any]) -> Run:
    """A run, of arrays with channels first."""

    def run(image: np.ndarray) -> list[np.ndarray]:
        found = function(tensor(case, np.moveaxis(image, 1, -1) if case.last else image))
        found = [found] if isinstance(found, paddle.Tensor) else found  # of one result, when it is loaded
        return [np.moveaxis(numbers(y), -1, 1) if case.last else numbers(y) for y in found]

    return run


def differentiated(case: Case, net: Net) -> Run:
    """Gradients of a captured net."""
    captured = paddle.jit.to_static(net, full_graph=bool(case.seed & 1))

    def run(image: np.ndarray) -> list[np.ndarray]:
        x = tensor(case, np.moveaxis(image, 1, -1) if case.last else image)
        x.stop_gradient = False
        leaves = [x, *(w for w in net.parameters() if not w.stop_gradient)]
        grads = paddle.grad(sum(paddle.square(y).sum() for y in captured(x)), leaves, allow_unused=True)
        found = [np.zeros(0) if g is None else numbers(g) for g in grads]
        return [np.moveaxis(found[0], -1, 1) if case.last and found[0].size else found[0], *found[1:]]

    return run


def spec_of(case: Case) -> InputSpec:
    n, channels, *image = case.images[0]
    batch, *sizes = (None if free else size for free, size in zip(case.open, (n, *image), strict=True))
    return InputSpec([batch, *sizes, channels] if case.last else [batch, channels, *sizes], case.dtype, "x")


def runs_of(case: Case, only: Sequence[str]) -> Iterator[tuple[str, Run]]:
    """Yield names of ways, and runs."""
    net = Net(case)
    net.eval()
    if "eager" in only:
        yield "eager", of_call(case, net)
    for way in ("source", "bytecode"):
        if way in only:
            spec = [spec_of(case)] if way == "source" else None
            yield way, of_call(case, paddle.jit.to_static(Net(case), spec, full_graph=way == "source"))
    if "gradient" in only and case.dtype != "bfloat16":
        yield "gradient", differentiated(case, Net(case))
    if "loaded" not in only and "predicted" not in only:
        return
    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder) / "model")
        paddle.jit.save(net, prefix, [spec_of(case)])
        if "loaded" in only:
            yield "loaded", of_call(case, paddle.jit.load(prefix))
        if "predicted" in only:
            config = inference.Config(*files_of(prefix))
            config.set_cpu_math_library_num_threads(case.threads)
            config.set_optimization_level((2, 2, 3, 1, 0)[case.seed % 5])
            first = inference.create_predictor(config)
            for name, p in (("predicted", first), ("clone", first.clone())):
                yield name, of_call(case, lambda x, p=p: p.run([x]))


def check(case: Case, only: Sequence[str] = WAYS, tally: Counter[str] | None = None) -> str | None:
    """What is wrong; None if nothing is."""
    wanted = [(x, judged(case, x, "gradient" in only)) for x in images_of(case)]
    return differences(case, wanted, runs_of(case, only), tally)


def smaller(case: Case) -> Iterator[Case]:
    """Nets that end earlier, and fewer images."""
    for n in range(1, len(case.steps)):
        yield case._replace(steps=case.steps[:n], results=(n,))
    for given in fewer(case.images, 1):
        yield case._replace(images=tuple(given))


reduced = reduction(draw, lambda seed, tally, only, case: check(case, only, tally), smaller)


if __name__ == "__main__":
    run_seeds(__doc__, WAYS, lambda seed, tally, only: check(draw(seed), only, tally), reduced)
