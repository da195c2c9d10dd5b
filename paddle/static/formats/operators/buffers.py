"""One buffer that several tensors lie in."""

from __future__ import annotations

import math
from typing import Any

import paddle
from paddle.static.formats.operators.table import Tensors, operator
from umiak.core.context import no_grad_guard, place_guard
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

# Bytes that tensors begin at multiples of, by the reference's allocators: those of the host, of devices.
_ALIGNMENT = {True: 4096, False: 256}


@operator("coalesce_tensor")
def coalesce_tensor(
    input: Tensors, *, dtype: Any = "float32", copy_data: bool = False, set_constant: bool = False,
    persist_output: bool = False, constant: float = 0.0, use_align: bool = True, align_size: int = -1,
    size_of_dtype: int = -1, concated_shapes: Any = (), concated_ranks: Any = (),
) -> Any:  # fmt: skip
    wanted = convert(dtype)
    if not input or any(x.dtype is not wanted for x in input):
        raise op_error(
            ValueError, "coalesce_tensor", f"at least one tensor, all of {wanted.name}", [x.dtype.name for x in input]
        )
    item = size_of_dtype if size_of_dtype > 0 else wanted.itemsize
    step = align_size if align_size > 0 else _ALIGNMENT[input[0].place.device_type == "cpu"]
    counts = [math.prod(x.shape) for x in input]
    rooms = [-(-n * item // step) * step // item if use_align else n for n in counts]
    with no_grad_guard(), place_guard(input[0].place):
        if set_constant:
            buffer = paddle.full([sum(rooms)], constant, wanted)
        elif copy_data:
            pieces: list[Tensor] = []
            for x, n, room in zip(input, counts, rooms, strict=True):
                pieces.append(x.detach().reshape([-1]))
                if room > n:
                    pieces.append(paddle.zeros([room - n], wanted))
            buffer = paddle.concat(pieces)
        else:
            buffer = paddle.zeros([sum(rooms)], wanted)
        parts, at = [], 0
        for x, n, room in zip(input, counts, rooms, strict=True):
            parts.append(buffer[at : at + n].reshape(x.shape))
            at += room
    return parts, buffer


def coalesce_tensor_(
    input: list[Tensor], dtype: Any, copy_data: bool = False, set_constant: bool = False, persist_output: bool = False,
    constant: float = 0.0, use_align: bool = True, align_size: int = -1, size_of_dtype: int = -1,
    concated_shapes: Any = (), concated_ranks: Any = (),
) -> tuple[list[Tensor], Tensor]:  # fmt: skip
    """``coalesce_tensor`` whose operands are the parts afterwards: their memory is that of the buffer."""
    parts, buffer = coalesce_tensor(
        input, dtype=dtype, copy_data=copy_data, set_constant=set_constant, constant=constant, use_align=use_align,
        align_size=align_size, size_of_dtype=size_of_dtype,
    )  # fmt: skip
    for x, part in zip(input, parts, strict=True):
        x._share(part)
    return input, buffer


KERNELS = {"coalesce_tensor_": coalesce_tensor_}
