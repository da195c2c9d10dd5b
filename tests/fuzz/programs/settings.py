"""What programs of each kind are drawn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tests.fuzz.programs.ops.table import BROAD, COMPLEX, LANGUAGE, OPS, PLACED, RARE, SHARDED, WRITTEN
from tests.fuzz.programs.record import Op

SHARING = frozenset(
    "dot outer inner kron bmm mm addmm einsum stack stack_three concat concat_two lerp matmul gram kl_div hook "
    "grad".split()
)


@dataclass(frozen=True)
class Setting:
    """One kind of programs.

    ``themes``: weights of the ops, in three ways. ``dtypes``: of a program's first values; ``others``: of one that may
    stand beside them, in a part ``mixed`` of the programs. ``stream``: what tells its random numbers from those of
    other kinds. ``bools``: whether statements may have them as results; they had none when the seeds of the first kinds
    were run.
    """

    kind: str
    ops: tuple[Op, ...]
    themes: tuple[np.ndarray, ...]
    dtypes: Mapping[str, float]
    others: Mapping[str, float]
    mixed: float = 0.2
    stream: tuple[int, ...] = ()
    complex: bool = False
    bools: bool = False


def themes_of(ops: Iterable[Op]) -> tuple[np.ndarray, ...]:
    """All alike; memory that is shared and written to; one value as several operands, and gradients within."""

    def theme(*factors: tuple[float, Callable[[Op], bool]]) -> np.ndarray:
        weights = np.array([o.weight * math.prod(f for f, ok in factors if ok(o)) for o in ops])
        return weights / weights.sum()

    return (
        theme(),
        theme(
            (4.0, lambda o: o.form in ("view", "write", "rewrite", "turn")),
            (3.0, lambda o: o.name in ("expand", "transpose_", "unsqueeze_")),
        ),
        theme((4.0, lambda o: o.name in SHARING)),
    )


def _setting(kind: str, ops: Mapping[str, Op], dtypes: dict[str, float], others: dict[str, float], **kw) -> Setting:
    return Setting(kind, tuple(ops.values()), themes_of(ops.values()), dtypes, others, **kw)


FLOATING = {"float32": 0.56, "float64": 0.34, "bfloat16": 0.05, "float16": 0.05}
BESIDE = {"int64": 0.2, "int32": 0.2, "float64": 0.3, "float32": 0.3}
MODELS = {"float32": 0.7, "float64": 0.1, "bfloat16": 0.1, "float16": 0.1}
PARTS = {"complex64": 0.4, "complex128": 0.4, "float32": 0.1, "float64": 0.1}

SETTINGS = {
    s.kind: s
    for s in (
        _setting("plain", OPS, FLOATING, BESIDE),
        _setting("complex", COMPLEX, PARTS, dict.fromkeys(PARTS, 0.25), mixed=0.4, stream=(1,), complex=True),
        _setting("devices", PLACED, FLOATING, BESIDE, stream=(2,)),
        _setting("sharded", SHARDED, {"float64": 1.0}, {"int64": 0.3, "int32": 0.2, "float64": 0.5}, stream=(3,)),
        _setting("language", LANGUAGE, MODELS, BESIDE, stream=(5,)),
        _setting("rare", RARE, FLOATING, BESIDE, stream=(6,)),
        _setting("broad", BROAD, FLOATING, BESIDE, stream=(7,), bools=True),
        _setting("gradients", WRITTEN, FLOATING, BESIDE, stream=(8,)),
    )
}
