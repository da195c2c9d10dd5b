"""Steps of one length, along the first axis of tensors."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.static.formats.operators.known import Known
from paddle.static.formats.operators.table import Sizes, Tensors, operator
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error


@operator("step_count")
def step_count(xs: Tensors) -> Any:
    """The number of steps, at least one and the same in all tensors."""
    if any(x.ndim == 0 for x in xs):
        raise op_error(ValueError, "recurrent", "inputs with an axis of steps", [x.shape for x in xs])
    counts = [x.shape[0] for x in xs]
    if not all(dim.eq(n, counts[0]) for n in counts) or not dim.le(1, counts[0]):
        raise op_error(ValueError, "recurrent", "inputs of as many steps, at least one", counts)
    return Known([counts[0]], "int64")


@operator("step_results")
def step_results(x: Tensor, count: Sizes) -> Any:
    """Room for the results of all steps, of which ``x`` is one."""
    return paddle.zeros([*count, *x.shape], x.dtype)
