"""What the functions here share: interned records by their attributes, and draws from the generator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from umiak.core.context import current
from umiak.core.dispatch import apply
from umiak.core.dtype import DType
from umiak.core.generator import default_generator
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ops.base import Op


class Records(dict):
    """Records of one op class by attribute: a dict lookup instead of a constructor call."""

    def __init__(self, cls: Any) -> None:
        super().__init__()
        self.cls = cls

    def __missing__(self, key: Any) -> Op:
        made = self[key] = self.cls(*key) if isinstance(key, tuple) else self.cls(key)
        return made


def random_apply(op: Any, x: Tensor, *params: Any) -> Tensor:
    """Run a random op on ``x`` with the next part of its device's stream: one draw an element."""
    seed, offset = default_generator(x.place).reserve(math.prod(x.shape) * op.draws)
    return apply(op, (x,), (*params, seed, offset))


def random_tensor(cls: Any, shape: Sequence[int], dtype: DType, *params: Any, place: Place | None = None) -> Tensor:
    """A tensor drawn from the stream of the current device (or brought to ``place``)."""
    op, here = cls(dtype), current().state.place
    seed, offset = default_generator(here).reserve(math.prod(shape) * op.draws)
    made = apply(op, (), (tuple(shape), seed, offset, *params))
    return made if place is None or place is here else made.to(place)
