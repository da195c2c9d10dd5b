"""A random call in every mode."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import paddle
from tests.fuzz.calls import images, regions, sounds, suppression, warps
from tests.fuzz.calls.record import Arrays, Call, Family

FAMILIES: tuple[Family, ...] = (
    *suppression.FAMILIES,
    *regions.FAMILIES,
    *sounds.FAMILIES,
    *images.FAMILIES,
    images.transform,  # which is many
    *warps.FAMILIES,
    warps.of_tensors,  # in more modes than the others
)
MODES = ("eager", "float32", "bfloat16", "strided", "captured", "gradient", "captured gradient")
# Relative to the largest element; the values themselves are rounded before the judge sees them.
ROUNDING = {"float32": 2e-4, "bfloat16": 4e-2}
REFUSED = ("are not known while the program is traced", "draws random numbers from Python or NumPy")


class Failure(Exception):
    """A mode differs from the judge."""


def family_of(seed: int) -> Family:
    return FAMILIES[int(np.random.default_rng([seed, 0]).integers(len(FAMILIES)))]


def calls_of(seed: int, number: int) -> list[Call]:
    """Calls with the same attributes on other sizes and data."""
    return [
        family_of(seed)(np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2, i])) for i in range(number)
    ]


def listed(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (list, tuple)) else [x]


def tensors(arrays: Arrays, dtype: str = "float64") -> list[paddle.Tensor]:
    return [paddle.to_tensor(x).astype(dtype) if x.dtype.kind == "f" else paddle.to_tensor(x) for x in arrays]


def wide(x: paddle.Tensor) -> np.ndarray:
    return x.astype("float64").numpy() if x.is_floating_point() else x.numpy()


def compare(mode: str, found: Sequence[Any], expected: Sequence[np.ndarray], tolerance: float) -> None:
    if len(found) != len(expected):
        raise Failure(f"{mode}: {len(found)} results, the judge has {len(expected)}")
    for i, (x, y) in enumerate(zip(found, expected, strict=True)):
        if x.is_floating_point() != (y.dtype.kind == "f"):
            raise Failure(f"{mode}: result {i} is of {x.dtype}, the judge's of {y.dtype}")
        if y.dtype.kind != "f" and str(y.dtype) != x.dtype.name:
            raise Failure(f"{mode}: result {i} is of {x.dtype}, the judge's of {y.dtype}")
        if tuple(x.shape) != y.shape:
            raise Failure(f"{mode}: result {i} has shape {list(x.shape)}, the judge's {list(y.shape)}")
        scale = tolerance * max(1.0, float(np.abs(y).max(initial=0)))
        if not np.allclose(wide(x), y, rtol=0, atol=scale if y.dtype.kind == "f" else 0):
            if y.size < 200:
                raise Failure(f"{mode}: result {i} is\n{wide(x)}\nthe judge's\n{y}")
            wrong = np.argwhere(~(np.abs(wide(x) - y) <= scale))
            at = tuple(wrong[0])
            raise Failure(
                f"{mode}: {len(wrong)} of {y.shape} in result {i} are wrong, {at}: {wide(x)[at]}, not {y[at]}"
            )


def settled(judged: Callable[[Arrays], list[np.ndarray]], arrays: Arrays, noise: float) -> bool:
    """Whether noise changes no decision."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        moved = tuple(x * (1 + noise * rng.standard_normal(x.shape)) if x.dtype.kind == "f" else x for x in arrays)
        for x, y in zip(judged(moved), judged(arrays), strict=True):
            if x.shape != y.shape or (x.dtype.kind != "f" and (x != y).any()):
                return False
            if x.dtype.kind == "f" and not np.allclose(
                x, y, rtol=0, atol=10 * noise * max(1, np.abs(y).max(initial=0))
            ):
                return False
    return True


def spread(x: paddle.Tensor) -> paddle.Tensor:
    """Every second element of something reversed."""
    if not x.ndim or not x.size:
        return x
    held = paddle.zeros([*x.shape[:-1], 2 * x.shape[-1]], x.dtype)
    held[..., ::2] = x.flip(-1)
    return held[..., ::2][..., ::-1]


class Check:
    def __init__(self, seed: int, tally: Counter[str]) -> None:
        self.calls, self.tally = calls_of(seed, 2), tally
        self.call = self.calls[0]
        self.expected = self.judged(self.call, self.call.arrays)
        self.rng = np.random.default_rng([seed, 3])

    def judged(self, call: Call, arrays: Arrays) -> list[np.ndarray]:
        given = [x.astype("float64") if x.dtype.kind == "f" else x for x in arrays]
        return [np.asarray(y) for y in listed(call.judge(*given))]

    def run(self, mode: str) -> None:
        getattr(self, mode.replace(" ", "_"))()

    def eager(self) -> None:
        given = tensors(self.call.arrays)
        compare("eager", listed(self.call.ours(*given)), self.expected, self.call.tolerance)
        for x, y in zip(given, self.call.arrays, strict=True):
            if not np.array_equal(x.numpy(), y):
                raise Failure("eager: an operand was written to")
        self.tally["eager"] += 1

    def narrow(self, dtype: str) -> None:
        given = tensors(self.call.arrays, dtype)
        rounded = tuple(wide(x) if x.is_floating_point() else x.numpy() for x in given)
        if not settled(lambda arrays: self.judged(self.call, arrays), rounded, ROUNDING[dtype] / 10):
            self.tally[f"{dtype}: undecided"] += 1
            return
        try:
            found = listed(self.call.ours(*given))
        except (TypeError, ValueError) as error:
            if dtype != "bfloat16" or ("float32" not in str(error) and "float" not in str(error)):
                raise
            self.tally["bfloat16: refused"] += 1
            return
        compare(dtype, found, self.judged(self.call, rounded), max(ROUNDING[dtype], self.call.tolerance))
        self.tally[dtype] += 1

    def float32(self) -> None:
        self.narrow("float32")

    def bfloat16(self) -> None:
        # Of yolo's thresholds bfloat16 decides by sums that it has rounded.
        if self.call.differentiable and not self.call.text.startswith(("Spec", "Mel", "Log", "MFCC", "yolo")):
            self.narrow("bfloat16")

    def strided(self) -> None:
        found = self.call.ours(*map(spread, tensors(self.call.arrays)))
        compare("strided", listed(found), self.expected, self.call.tolerance)
        self.tally["strided"] += 1

    def captured(self) -> None:
        ours = self.call.ours
        captured = paddle.jit.to_static(lambda *given: ours(*given))
        for call in (*self.calls, *self.calls, self.call):
            try:
                found = listed(captured(*tensors(call.arrays)))
            except Exception as error:
                if not self.call.counts or not any(reason in str(error) for reason in REFUSED):
                    raise
                self.tally["captured: refused"] += 1
                return
            compare("captured", found, self.judged(call, call.arrays), self.call.tolerance)
        self.tally["captured"] += 1

    def gradient(self) -> None:
        self.slopes("gradient", self.call.ours)

    def captured_gradient(self) -> None:
        ours = self.call.ours
        self.slopes("captured gradient", paddle.jit.to_static(lambda *given: ours(*given)))

    def slopes(self, mode: str, function: Callable[..., Any]) -> None:
        """Along a line through all operands that have a gradient."""
        if not self.call.differentiable:
            return
        lines = [self.rng.standard_normal(self.call.arrays[i].shape) for i in self.call.differentiable]
        weights = [self.rng.standard_normal(y.shape) for y in self.expected]

        def at(step: float) -> float:
            arrays = list(self.call.arrays)
            for i, line in zip(self.call.differentiable, lines, strict=True):
                arrays[i] = arrays[i] + step * line
            return float(
                sum((y * w).sum() for y, w in zip(self.judged(self.call, tuple(arrays)), weights, strict=True))
            )

        slopes = [(at(h) - at(-h)) / (2 * h) for h in (1e-5, 1e-6)] + [(at(1e-6) - at(0)) / 1e-6]
        size = max(1.0, *map(abs, slopes))
        if max(slopes) - min(slopes) > 1e-4 * size:
            self.tally[f"{mode}: kink"] += 1
            return
        given = tensors(self.call.arrays)
        for i in self.call.differentiable:
            given[i].stop_gradient = False
        total = sum((y * paddle.to_tensor(w)).sum() for y, w in zip(listed(function(*given)), weights, strict=True))
        total.backward()
        found = 0.0
        for i, line in zip(self.call.differentiable, lines, strict=True):
            if given[i].grad is None:
                raise Failure(f"{mode}: operand {i} has no gradient")
            found += float((given[i].grad.numpy() * line).sum())
        if abs(found - slopes[1]) > 3e-4 * size:
            raise Failure(f"{mode}: the slope along a line is {found}, the judge's by differences {slopes[1]}")
        self.tally[mode] += 1


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
