"""Programs of language models: the modes of plain programs, and those of two switches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import paddle
from tests.fuzz.programs import run
from tests.fuzz.programs.check import Check


@contextmanager
def switched(**values: Any) -> Iterator[None]:
    """Flags have these values inside."""
    before = paddle.get_flags([f"FLAGS_{name}" for name in values])
    paddle.set_flags({f"FLAGS_{name}": value for name, value in values.items()})
    try:
        yield
    finally:
        paddle.set_flags(before)


class LanguageCheck(Check):
    modes: ClassVar[dict[str, float]] = {**Check.modes, "tiles": 0.4, "wide attention": 0.4}

    @property
    def quantised(self) -> bool:
        """Whether the program rounds to few bits, which are others after rounding to 16 and have no second slope."""
        return "quantised" in self.program.tags

    def drawn_modes(self) -> list[str]:
        return [m for m in super().drawn_modes() if not (self.quantised and ("mixed" in m or "twice" in m))]

    def _under(self, mode: str, **values: Any) -> None:
        """Eagerly and as a captured step, whose results are those without the switch up to rounding."""
        with switched(**values):
            function = run.function_of(self.program)
            self.compare(mode, self.first, self.run("eager", self.first, function))
            step = paddle.jit.to_static(run.step_of(self.program, function))
            found = self.run("captured step", self.first, step, inside=True)
            self.compare(f"{mode}, captured step", self.first, found)
            if found is not None:
                self.dtypes(mode, found)

    def tiles(self) -> None:
        """float32 by tile registers of bfloat16, where the processor has them."""
        self._under("tiles", cpu_f32_by_bf16_tiles=True)

    def wide_attention(self) -> None:
        """Attention that is computed in float64 and rounded once."""
        self._under("wide attention", attention_accumulation="float64")
