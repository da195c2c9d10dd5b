"""A random call of detection, sounds or images in every mode."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import numpy as np

import paddle
from tests.fuzz.calls import images, modes, regions, sounds, suppression, warps
from tests.fuzz.calls.record import Call, Family

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
REFUSED = ("are not known while the program is traced", "draws random numbers from Python or NumPy")


class _RefusedError(Exception):
    """The function takes no such dtype."""


def family_of(seed: int) -> Family:
    return FAMILIES[int(np.random.default_rng([seed, 0]).integers(len(FAMILIES)))]


def calls_of(seed: int, number: int) -> list[Call]:
    return modes.drawn(family_of(seed), seed, number)


class Check(modes.Check):
    rounding: ClassVar[dict[str, float]] = {"float64": 0.0, "float32": 2e-4, "bfloat16": 4e-2}

    def bfloat16(self) -> None:
        # Of yolo's thresholds bfloat16 decides by sums that it has rounded.
        if not self.call.differentiable or self.call.text.startswith(("Spec", "Mel", "Log", "MFCC", "yolo")):
            return

        def ours(*given: paddle.Tensor) -> Any:
            try:
                return self.call.ours(*given)
            except (TypeError, ValueError) as error:
                if "float" not in str(error):
                    raise
                raise _RefusedError from error

        try:
            self.narrow("bfloat16", ours)
        except _RefusedError:
            self.tally["bfloat16: refused"] += 1

    def captured(self) -> None:
        try:
            super().captured()
        except modes.Failure:
            raise
        except Exception as error:
            if not self.call.counts or not any(reason in str(error) for reason in REFUSED):
                raise
            self.tally["captured: refused"] += 1


def check(seed: int, tally: Counter[str], only: str | None = None) -> None:
    modes.check_modes(lambda: Check(calls_of(seed, 2), seed, tally), seed, MODES if only is None else [only])
