"""A random call in every mode, captured as one graph and saved too."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from typing import Any, ClassVar

import paddle
from paddle import inference
from paddle.distributed.fleet.utils import recompute
from paddle.inference.loading import files_of
from tests.fuzz.calls import modes
from tests.fuzz.fused import attention, experts, layers
from tests.fuzz.fused.record import Call, Family

FAMILIES: tuple[Family, ...] = (*attention.FAMILIES, *layers.FAMILIES, *experts.FAMILIES)
MODES = (
    "eager", "float32", "float16", "bfloat16", "strided", "captured", "one graph", "gradient", "captured gradient",
    "gradient of one graph", "recomputed gradient", "saved", "predicted", "loaded gradient",
)  # fmt: skip


def family_of(seed: int) -> Family:
    return FAMILIES[seed % len(FAMILIES)]


def calls_of(seed: int, number: int) -> list[Call]:
    return modes.drawn(family_of(seed), seed, number)


class Layer(paddle.nn.Layer):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *given: Any) -> Any:
        return self.function(*given)


class Check(modes.Check):
    rounding: ClassVar[dict[str, float]] = {"float64": 0.0, "float32": 2e-4, "float16": 8e-3, "bfloat16": 4e-2}

    def __init__(self, seed: int, tally: Counter[str]) -> None:
        super().__init__(calls_of(seed, 2), seed, tally)
        self.widest = self.call.dtypes[0]

    def compared(self, mode: str, function: Any, call: Call, dtype: str = "") -> list[paddle.Tensor]:
        found = super().compared(mode, function, call, dtype)
        if found[0].is_floating_point() and found[0].dtype.name != (dtype or self.widest) and not call.other_dtype:
            raise modes.Failure(
                f"{mode}: the result is of {found[0].dtype.name} for operands of {dtype or self.widest}"
            )
        return found

    def narrow(self, dtype: str, function: Any = None) -> None:
        if dtype in self.call.dtypes and dtype != self.widest:
            super().narrow(dtype, function)

    def float16(self) -> None:
        self.narrow("float16")

    def one_graph(self) -> None:
        if not self.call.counts:
            self.of_each("one graph", self.function(True))

    def gradient_of_one_graph(self) -> None:
        if not self.call.counts:
            self.slopes("gradient of one graph", self.function(True))

    def specs(self) -> list[Any]:
        """Sizes that differ between the calls are open."""
        return [
            paddle.static.InputSpec(
                [n if n == m else None for n, m in zip(x.shape, y.shape, strict=True)], x.dtype, f"x{i}",
                i not in self.call.differentiable,
            )
            for i, (x, y) in enumerate(zip(*(self.given(call)[0] for call in self.calls), strict=True))
        ]  # fmt: skip

    def recomputed_gradient(self) -> None:
        if not self.call.counts:
            ours = self.call.ours
            function = paddle.jit.to_static(lambda *given: recompute(ours, *given), full_graph=True)
            self.slopes("recomputed gradient", function)

    def of_file(self, mode: str, read: Any, judge: Any = None) -> None:
        if self.call.counts:
            return
        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "model")
            paddle.jit.save(Layer(self.call.ours), prefix, input_spec=self.specs())
            (judge or self.of_each)(mode, read(prefix))

    def loaded(self, prefix: str) -> Any:
        layer = paddle.jit.load(prefix)  # whose inputs are those that count
        return lambda *given: layer(*(given[int(x.name[1:])] for x in layer.forward.function_spec.input_spec))

    def saved(self) -> None:
        self.of_file("saved", self.loaded)

    def loaded_gradient(self) -> None:
        self.of_file("loaded gradient", self.loaded, self.slopes)

    def predicted(self) -> None:
        def read(prefix: str) -> Any:
            predictor = inference.create_predictor(inference.Config(*files_of(prefix)))
            return lambda *given: predictor.run([given[int(name[1:])] for name in predictor.get_input_names()])

        self.of_file("predicted", read)


def check(seed: int, tally: Counter[str], only: str | None = None) -> None:
    modes.check_modes(lambda: Check(seed, tally), seed, MODES if only is None else [only])
