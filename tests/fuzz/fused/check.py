"""A random call in every mode, captured as one graph and saved too."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections import Counter
from typing import Any

import numpy as np

import paddle
from paddle import inference
from paddle.inference.loading import files_of
from tests.fuzz.calls import check as calls
from tests.fuzz.calls.check import Failure, compare, listed, tensors, wide
from tests.fuzz.fused import attention, experts, layers
from tests.fuzz.fused.record import Call, Family

FAMILIES: tuple[Family, ...] = (*attention.FAMILIES, *layers.FAMILIES, *experts.FAMILIES)
MODES = (
    "eager", "float32", "float16", "bfloat16", "strided", "captured", "one graph", "gradient", "captured gradient",
    "gradient of one graph", "saved", "predicted",
)  # fmt: skip
ROUNDING = {"float64": 0.0, "float32": 2e-4, "float16": 8e-3, "bfloat16": 4e-2}


def family_of(seed: int) -> Family:
    return FAMILIES[seed % len(FAMILIES)]


def calls_of(seed: int, number: int) -> list[Call]:
    """Calls with the same attributes on other sizes and data."""
    family = family_of(seed)
    return [
        family(np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2, i])) for i in range(number)
    ]  # fmt: skip


class Layer(paddle.nn.Layer):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *given: Any) -> Any:
        return self.function(*given)


class Check:
    def __init__(self, seed: int, tally: Counter[str]) -> None:
        self.calls, self.tally = calls_of(seed, 2), tally
        self.call, self.widest = self.calls[0], self.calls[0].dtypes[0]
        self.rng = np.random.default_rng([seed, 3])

    def run(self, mode: str) -> None:
        getattr(self, mode.replace(" ", "_"))()

    def given(self, call: Call, dtype: str = "") -> tuple[list[paddle.Tensor], tuple[np.ndarray, ...]]:
        """Operands, and what the judge gets of them: floats as the dtype has rounded them."""
        given = tensors(call.arrays, dtype or self.widest)
        return given, tuple(wide(x) for x in given)

    def judged(self, call: Call, arrays: tuple[np.ndarray, ...]) -> list[np.ndarray]:
        return [np.asarray(y) for y in listed(call.judge(*arrays))]

    def tolerance(self, dtype: str = "") -> float:
        return max(ROUNDING[dtype or self.widest], self.call.tolerance)

    def compared(self, mode: str, function: Any, call: Call, dtype: str = "") -> None:
        given, arrays = self.given(call, dtype)
        expected = self.judged(call, arrays)
        found = listed(function(*given))
        compare(mode, found, expected, self.tolerance(dtype))
        if found[0].is_floating_point() and found[0].dtype.name != (dtype or self.widest) and not call.other_dtype:
            raise Failure(f"{mode}: the result is of {found[0].dtype.name} for operands of {dtype or self.widest}")
        for x, y in zip(given, arrays, strict=True):
            if not np.array_equal(wide(x), y):
                raise Failure(f"{mode}: an operand was written to")

    def of_each(self, mode: str, function: Any, order: tuple[int, ...] = (0, 1, 0, 1)) -> None:
        for i in order:
            self.compared(mode, function, self.calls[i])
        self.tally[mode] += 1

    def eager(self) -> None:
        self.of_each("eager", self.call.ours, (0, 1))

    def narrow(self, dtype: str) -> None:
        if dtype not in self.call.dtypes or dtype == self.widest:
            return
        given, arrays = self.given(self.call, dtype)
        if not calls.settled(lambda a: self.judged(self.call, a), arrays, ROUNDING[dtype] / 10):
            self.tally[f"{dtype}: undecided"] += 1
            return
        self.compared(dtype, self.call.ours, self.call, dtype)
        self.tally[dtype] += 1

    def float32(self) -> None:
        self.narrow("float32")

    def float16(self) -> None:
        self.narrow("float16")

    def bfloat16(self) -> None:
        self.narrow("bfloat16")

    def strided(self) -> None:
        self.of_each("strided", lambda *given: self.call.ours(*map(calls.spread, given)), (0,))

    def function(self, one_graph: bool) -> Any:
        ours = self.call.ours
        return paddle.jit.to_static(lambda *given: ours(*given), full_graph=one_graph)

    def captured(self) -> None:
        self.of_each("captured", self.function(False))

    def one_graph(self) -> None:
        if not self.call.counts:
            self.of_each("one graph", self.function(True))

    def gradient(self) -> None:
        self.slopes("gradient", self.call.ours)

    def captured_gradient(self) -> None:
        self.slopes("captured gradient", self.function(False))

    def gradient_of_one_graph(self) -> None:
        if not self.call.counts:
            self.slopes("gradient of one graph", self.function(True))

    def slopes(self, mode: str, function: Any) -> None:
        """Along a line through all operands that have a gradient, of both calls and of the first again."""
        for call in (*self.calls, self.call):
            if call.differentiable and not self.slope(mode, function, call):
                self.tally[f"{mode}: kink"] += 1
                return
        self.tally[mode] += 1

    def slope(self, mode: str, function: Any, call: Call) -> bool:
        given, arrays = self.given(call)
        expected = self.judged(call, arrays)
        lines = [self.rng.standard_normal(arrays[i].shape) for i in call.differentiable]
        weights = [self.rng.standard_normal(y.shape) for y in expected]

        def at(step: float) -> float:
            moved = list(arrays)
            for i, line in zip(call.differentiable, lines, strict=True):
                moved[i] = moved[i] + step * line
            return float(sum((y * w).sum() for y, w in zip(self.judged(call, tuple(moved)), weights, strict=True)))

        slopes = [(at(h) - at(-h)) / (2 * h) for h in (1e-5, 1e-6)] + [(at(1e-6) - at(0)) / 1e-6]
        size = max(1.0, *map(abs, slopes))
        if max(slopes) - min(slopes) > 1e-4 * size:
            return False
        for i in call.differentiable:
            given[i].stop_gradient = False
        results = listed(function(*given))
        total = sum((y.astype("float64") * paddle.to_tensor(w)).sum() for y, w in zip(results, weights, strict=True))
        total.backward()
        found = 0.0
        for i, line in zip(call.differentiable, lines, strict=True):
            grad = given[i].grad
            if grad is None:
                raise Failure(f"{mode}: operand {i} of shape {given[i].shape} has no gradient")
            if list(grad.shape) != list(given[i].shape) or grad.dtype != given[i].dtype:
                raise Failure(f"{mode}: the gradient of operand {i} is of {grad.dtype} {grad.shape}")
            found += float((wide(grad) * line).sum())
        if not abs(found - slopes[1]) <= max(3e-4, 10 * self.tolerance()) * size:
            raise Failure(f"{mode}: the slope along a line is {found}, the judge's by differences {slopes[1]}")
        return True

    def specs(self) -> list[Any]:
        """Sizes that differ between the calls are open."""
        return [
            paddle.static.InputSpec(
                [n if n == m else None for n, m in zip(x.shape, y.shape, strict=True)], x.dtype, f"x{i}"
            )
            for i, (x, y) in enumerate(zip(*(self.given(call)[0] for call in self.calls), strict=True))
        ]  # fmt: skip

    def of_file(self, mode: str, read: Any) -> None:
        if self.call.counts:
            return
        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "model")
            paddle.jit.save(Layer(self.call.ours), prefix, input_spec=self.specs())
            try:
                self.of_each(mode, read(prefix))
            except ValueError as error:
                # A file whose sizes are open has a key at least, and equal lengths where order counts from the first.
                if not any(reason in str(error) for reason in ("at least one key", "recorded for sizes with")):
                    raise
                self.tally[f"{mode}: refused"] += 1

    def saved(self) -> None:
        self.of_file("saved", paddle.jit.load)

    def predicted(self) -> None:
        def read(prefix: str) -> Any:
            predictor = inference.create_predictor(inference.Config(*files_of(prefix)))
            return lambda *given: predictor.run([given[int(name[1:])] for name in predictor.get_input_names()])

        self.of_file("predicted", read)


def check(seed: int, tally: Counter[str], only: str | None = None) -> None:
    """Raise ``Failure`` where a mode differs; ``tally`` counts what was compared."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        one = Check(seed, tally)
        for mode in MODES if only is None else [only]:
            try:
                one.run(mode)
            except Failure as failure:
                raise Failure(f"seed {seed}: {one.call.text}: {failure}") from None
            except Exception as error:
                raise Failure(f"seed {seed}: {one.call.text}: {mode}: {type(error).__name__}: {error}") from error
    tally["calls"] += 1
