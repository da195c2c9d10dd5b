"""Random calls in modes: what is compared with the judge, and how."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

import paddle
from tests.fuzz.calls.record import Arrays, Call, Family
from tests.fuzz.seeds import parser_of, seeds_of, tell


class Failure(Exception):
    """A mode differs from the judge."""


def drawn(family: Family, seed: int, number: int) -> list[Any]:
    """Calls with the same attributes on other sizes and data."""
    return [family(np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2, i])) for i in range(number)]


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
    """Two calls in a mode, which is a method. ``rounding``: by dtype, relative to the largest element; the values
    themselves are rounded before the judge sees them."""

    rounding: ClassVar[dict[str, float]]

    def __init__(self, calls: Sequence[Any], seed: int, tally: Counter[str]) -> None:
        self.calls, self.tally = calls, tally
        self.call = calls[0]
        self.widest = "float64"
        self.rng = np.random.default_rng([seed, 3])

    def run(self, mode: str) -> None:
        getattr(self, mode.replace(" ", "_"))()

    def given(self, call: Call, dtype: str = "") -> tuple[list[paddle.Tensor], Arrays]:
        """Operands, and what the judge gets of them: floats as the dtype has rounded them."""
        given = tensors(call.arrays, dtype or self.widest)
        return given, tuple(wide(x) for x in given)

    def judged(self, call: Call, arrays: Arrays) -> list[np.ndarray]:
        return [np.asarray(y) for y in listed(call.judge(*arrays))]

    def tolerance(self, dtype: str = "") -> float:
        return max(self.rounding[dtype or self.widest], self.call.tolerance)

    def compared(self, mode: str, function: Any, call: Call, dtype: str = "") -> list[paddle.Tensor]:
        given, arrays = self.given(call, dtype)
        expected = self.judged(call, arrays)
        found = listed(function(*given))
        compare(mode, found, expected, self.tolerance(dtype))
        for x, y in zip(given, arrays, strict=True):
            if not np.array_equal(wide(x), y, equal_nan=x.is_floating_point()):
                raise Failure(f"{mode}: an operand was written to")
        return found

    def of_each(self, mode: str, function: Any, order: tuple[int, ...] = (0, 1, 0, 1)) -> None:
        for i in order:
            self.compared(mode, function, self.calls[i])
        self.tally[mode] += 1

    def eager(self) -> None:
        self.of_each("eager", self.call.ours, (0, 1))

    def narrow(self, dtype: str, function: Any = None) -> None:
        _, arrays = self.given(self.call, dtype)
        if not settled(lambda a: self.judged(self.call, a), arrays, self.rounding[dtype] / 10):
            self.tally[f"{dtype}: undecided"] += 1
            return
        self.compared(dtype, function or self.call.ours, self.call, dtype)
        self.tally[dtype] += 1

    def float32(self) -> None:
        self.narrow("float32")

    def bfloat16(self) -> None:
        self.narrow("bfloat16")

    def strided(self) -> None:
        self.of_each("strided", lambda *given: self.call.ours(*map(spread, given)), (0,))

    def function(self, one_graph: bool = False) -> Any:
        ours = self.call.ours
        return paddle.jit.to_static(lambda *given: ours(*given), full_graph=one_graph)

    def captured(self) -> None:
        self.of_each("captured", self.function())

    def gradient(self) -> None:
        self.slopes("gradient", self.call.ours)

    def captured_gradient(self) -> None:
        self.slopes("captured gradient", self.function())

    def slopes(self, mode: str, function: Any) -> None:
        """Along a line through all operands that have a gradient, of both calls and of the first again."""
        if not self.call.differentiable:
            return
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


def check_modes(make: Callable[[], Check], seed: int, modes: Iterable[str]) -> None:
    """Raise ``Failure`` where a mode differs; the tally of what ``make`` makes counts what was compared."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        one = make()
        for mode in modes:
            try:
                one.run(mode)
            except Failure as failure:
                raise Failure(f"seed {seed}: {one.call.text}: {failure}") from None
            except Exception as error:
                raise Failure(f"seed {seed}: {one.call.text}: {mode}: {type(error).__name__}: {error}") from error
    one.tally["calls"] += 1


def main(check: Callable[..., None], calls_of: Callable[[int, int], list[Any]], modes: Sequence[str]) -> NoReturn:
    """The command of a kind of random calls."""
    parser = parser_of(None)
    parser.add_argument("--only", choices=modes)
    parser.add_argument("--match", default="")
    asked = parser.parse_args()
    tally: Counter[str] = Counter()
    for seed in seeds_of(asked):
        if asked.match not in calls_of(seed, 1)[0].text:
            continue
        try:
            check(seed, tally, asked.only)
        except Failure as failure:
            tally["failures"] += 1
            print(str(failure)[:1500], flush=True)
    tell(tally, "failures")
