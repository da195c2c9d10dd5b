"""Facts about the tensors of a call: what ``input_spec`` says, and the positions of sparse ones."""

from __future__ import annotations

from typing import Any

from paddle.static.input import InputSpec
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.util import pytree
from umiak.util.errors import op_error


def specs_of(input_spec: Any) -> list[InputSpec]:
    """Return the specs of the tensors of a call, in order."""
    specs = [x for x in pytree.leaves(input_spec) if isinstance(x, (InputSpec, Tensor))]
    return [InputSpec.from_tensor(x) if isinstance(x, Tensor) else x for x in specs]


def free_axes(op_name: str, spec: InputSpec, shape: tuple[int, ...]) -> frozenset[int]:
    """Return the axes of which a spec leaves the size open; a shape that does not fit is refused."""
    if len(spec.shape) != len(shape) or any(m not in (-1, n) for m, n in zip(spec.shape, shape)):
        raise op_error(ValueError, op_name, f"a tensor of shape {list(spec.shape)}, as input_spec says", list(shape))
    return frozenset(i for i, n in enumerate(spec.shape) if n == -1)


def positions_of(x: Any) -> Any:
    """Return the positions of a sparse tensor, as one without values."""
    return x.with_values(F.full(0, dtype=x.dtype, shape=(0,) * x.values().ndim))
