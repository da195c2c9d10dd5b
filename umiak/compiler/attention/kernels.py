"""The kernels of a form, in the order of a launch."""

from __future__ import annotations

import functools
from dataclasses import replace

from umiak.compiler.attention.form import COLUMNS, Form
from umiak.compiler.attention.forward import forward
from umiak.compiler.attention.gradient import gradient_of_keys, gradient_of_queries, numbers
from umiak.compiler.attention.lists import bounds, lists
from umiak.compiler.attention.tensor_forward import tensor_forward
from umiak.compiler.attention.tensor_gradient import tensor_gradient_of_queries, tensor_gradients_of_keys
from umiak.compiler.loop.tree import SHARED, Kernel
from umiak.util import flags

TILE = flags.define(
    "attention_tile",
    0,
    "queries, and keys, of a tile of attention on devices: 128 (of 16 bits, where four warps "
    "multiply together), 64, 32, 16 or 8; 0: as many as fit",
)
PERSISTENT = flags.define(
    "attention_persistent",
    True,
    "blocks of attention on devices claim the next tile when they are done with one",
)
CELLS = 4096  # bytes of a block that scans and reductions of threads need at most


@functools.lru_cache(maxsize=256)
def kernels(form: Form) -> tuple[Kernel, ...]:
    """The kernels of a launch, in order."""
    made = [bounds(form)] if form.mask == COLUMNS else []
    made.append(lists(form, True))
    if not form.gradient:
        return (*made, tensor_forward(form) if form.tensor_cores else forward(form))
    made += [lists(form, False), numbers(form)]
    if form.tensor_cores:
        return (*made, tensor_gradient_of_queries(form), *tensor_gradients_of_keys(form))
    return (*made, gradient_of_queries(form), gradient_of_keys(form))


def shared_bytes(kernel: Kernel) -> int:
    """Bytes of the memory of a block that a kernel declares."""
    return sum(b.size.attr * b.type.bytes for b in kernel.buffers if b.space == SHARED and b.size is not None)


def tiled(form: Form, most_shared: int, tokens: int) -> Form:
    """The form with the largest tiles for which there is room in the memory of a block, and that are not much more than
    a sequence of so many tokens; tiles lie in scratch where heads are too large for any."""
    wanted = TILE.value
    form = replace(form, persistent=PERSISTENT.value)
    sizes = form.tiles
    if wanted and wanted not in sizes:
        raise ValueError(
            f"[attention] requires FLAGS_attention_tile of {', '.join(map(str, sizes))} or 0, got {wanted}"
        )
    small = [t for t in sizes if t < 2 * tokens or t == sizes[-1]]
    return _fitting(form, most_shared, (wanted,) if wanted else tuple(small))


@functools.lru_cache(maxsize=256)
def _fitting(form: Form, most_shared: int, tiles: tuple[int, ...]) -> Form:
    for tile in tiles:
        found = replace(form, tile=tile)
        if max(map(shared_bytes, kernels(found))) + CELLS <= most_shared:
            return found
    return replace(form, tile=tiles[-1], shared=False)
