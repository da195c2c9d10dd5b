"""Epilogues of matmuls and convolutions, done to each part of a result while that lies in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from umiak.backends.cpu.aot.memory import Place, Ref
from umiak.backends.cpu.steps import ORDERED, fit
from umiak.ops import convolution, linalg
from umiak.ops.base import Op

LARGEST = 2.0**127  # of a number that the source in C says


@dataclass(frozen=True)
class Epilogue:
    """``scale * activation(y + bias + residual) + shift``; a residual lies as y does."""

    bias: Place | None = None
    residual: Place | None = None
    activation: str = ""
    scale: float = 1.0
    shift: float = 0.0

    def of_columns(self, start: int) -> Epilogue:
        """The same of a result from column ``start`` on."""
        if not start:
            return self
        return replace(self, bias=_further(self.bias, start), residual=_further(self.residual, start))

    @property
    def refs(self) -> dict[str, Ref]:
        given = {"after.bias": self.bias, "after.residual": self.residual}
        return {name: p.ref for name, p in given.items() if p is not None}

    @property
    def text(self) -> dict[str, str]:
        """Fields of an ``um_after``."""
        fields = {
            "biased": int(self.bias is not None), "added": int(self.residual is not None),
            "relu": int(self.activation == "relu"), "hard_swish": int(self.activation == "hard_swish"),
            "scale": f"{self.scale.hex()}f", "shift": f"{self.shift.hex()}f",
        }  # fmt: skip
        return {f"after.{name}": str(x) for name, x in fields.items()}


NOTHING = Epilogue()


def fuses(op: Op, metas: Sequence[Any], params: Sequence[Any], steps: Sequence[Any]) -> bool:
    """Return whether steps of the runtime do ``steps`` behind ``op``."""
    numbers = [step[1] for step in steps if not isinstance(step, str)]
    if any(m.dtype.name != "float32" for m in metas) or not all(abs(x) < LARGEST for x in numbers):
        return False
    if type(op) is linalg.Matmul:
        return min(len(m.shape) for m in metas[:2]) > 1 and fit(ORDERED, steps)
    alone = type(op) is convolution.Conv and params[0] == metas[0].shape[1] == metas[1].shape[0]
    # What has one channel per group takes no residual.
    return type(op) is convolution.Conv and fit(ORDERED, steps) and not (alone and "add" in steps)


def _further(p: Place | None, start: int) -> Place | None:
    return p if p is None else replace(p, offset=p.offset + start)


def epilogue_of(steps: Sequence[Any], extras: Sequence[Place]) -> Epilogue:
    """The epilogue of steps, and what they bring."""
    given, found = iter(extras), dict[str, Any]()
    for step in steps:
        if step in ("bias", "add"):
            found["bias" if step == "bias" else "residual"] = next(given)
        elif isinstance(step, str):
            found["activation"] = step
        else:
            found[step[0]] = step[1]
    return Epilogue(**found)
