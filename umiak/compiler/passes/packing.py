"""Weights that do not change between runs, laid out once as kernels of libraries read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from umiak.compiler import plan
from umiak.compiler.layout import FEWEST
from umiak.compiler.passes.folding import fold_constants
from umiak.compiler.passes.fusion import Found, Made, fuse_operations, tensor
from umiak.compiler.passes.registry import register_pass
from umiak.compiler.strips import StripConv, to_strips
from umiak.core import eager
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.passes import remove_dead
from umiak.ir.program import Operation, Program
from umiak.ir.scope import substitute, symbols_of
from umiak.ops.convolution import Conv

# What stands for open sizes when strips are chosen: one image of some usual sizes, which choose by majority.
IMAGES, PLACES = 1, (224, 320, 640, 960)


@register_pass("weight_packing_pass")
def pack_weights(program: Program, scope: Callable[[Tensor], Tensor] | None = None) -> None:
    """Keep kernels of convolutions in strips of output channels, where the backend reads them so.

    ``scope``: gives the values of captured tensors, which must not change from then on; without it nothing is packed.
    """
    if scope is None:
        return
    written = {id(w.target) for w in program.effects}
    known = {id(v): program.captured[n] for n, v in program.constants.items() if n in program.captured}
    weights = {i: x for i, x in known.items() if i not in written}
    convolutions = [o for o in program.ops if type(o.op) is Conv and id(o.operands[1]) in weights]
    prepared = [o for o in convolutions if _last(o, weights[id(o.operands[1])])]
    if len(prepared) < FEWEST:
        return
    usual = usual_sizes(program)
    strips = {id(o): _strip(o, weights[id(o.operands[1])], usual) for o in prepared}

    def packed(found: Found, o: Operation) -> Callable[[], Made] | None:
        strip = strips.get(id(o))
        if strip is None:
            return None
        x, w = o.operands
        channels, depth, *_ = o.values[1].meta.shape
        op = StripConv(inner=o.op, channels=channels, depth=depth, strip=strip)
        return lambda: eager.apply(op, (tensor(x), to_strips(tensor(w), *strip)), o.params)

    fuse_operations(program, [("conv", packed)])
    fold_constants(program, scope)
    remove_dead(program)


def _last(o: Operation, w: Tensor) -> bool:
    """Return whether the backend had better have the images with channels last."""
    return plan.BACKEND_OF(w.place).channels_last(o.op, [x.meta for x in o.values])


def usual_sizes(program: Program) -> list[dict[Sym, int]]:
    """Values for the symbols of the sizes of inputs: their hints, or usual ones."""
    axes: dict[Sym, int] = {}
    for x in program.inputs:
        for axis, n in enumerate(x.meta.shape):
            for s in symbols_of([n]):
                axes.setdefault(s, axis)
    usual: list[dict[Sym, int]] = []
    for places in PLACES:
        sizes = {s: int(s.hint or max(s.lo, min(places if axis else IMAGES, s.hi))) for s, axis in axes.items()}
        if sizes not in usual:
            usual.append(sizes)
    return usual


def _strip(o: Operation, w: Tensor, usual: list[dict[Sym, int]]) -> tuple[int, int] | None:
    """Return the strips that the backend reads; None: it wants the kernels as they are."""
    strips = Counter(_strip_at(o, w, sizes) for sizes in usual)
    return strips.most_common(1)[0][0]


def _strip_at(o: Operation, w: Tensor, sizes: dict[Sym, int]) -> tuple[int, int] | None:
    metas = [Meta(substitute(v.meta.shape, sizes), v.meta.dtype) for v in (*o.values, *o.results)]
    params = substitute(o.params, sizes)
    if symbols_of([*(m.shape for m in metas), params]):
        return None  # sizes that the program computes from data
    return plan.BACKEND_OF(w.place).kernel_strip(o.op, metas, params)
