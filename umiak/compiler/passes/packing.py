"""Weights that do not change between runs, laid out once as kernels of libraries read them."""

from __future__ import annotations

from collections.abc import Callable

from umiak.compiler import plan
from umiak.compiler.layout import FEWEST
from umiak.compiler.passes.folding import fold_constants
from umiak.compiler.passes.fusion import Found, Made, fuse_operations, tensor
from umiak.compiler.passes.registry import register_pass
from umiak.compiler.squares import SIDE, SquareConv, square
from umiak.core import eager
from umiak.core.tensor import Tensor
from umiak.ir.passes import remove_dead
from umiak.ir.program import Operation, Program
from umiak.ops.convolution import Conv


@register_pass("weight_packing_pass")
def pack_weights(program: Program, scope: Callable[[Tensor], Tensor] | None = None) -> None:
    """Keep kernels of convolutions in squares of 16 × 16 channels, where the backend reads them so.

    ``scope``: gives the values of captured tensors, which must not change from then on; without it nothing is packed.
    """
    if scope is None:
        return
    written = {id(w.target) for w in program.effects}
    known = {id(v): program.captured[n] for n, v in program.constants.items() if n in program.captured}
    weights = {i: x for i, x in known.items() if i not in written}
    convolutions = [o for o in program.ops if type(o.op) is Conv and id(o.operands[1]) in weights]
    prepared = [o for o in convolutions if _last(o, weights[id(o.operands[1])])]
    chosen = {id(o) for o in prepared if _reads_squares(o)}
    if not chosen or len(prepared) < FEWEST:
        return

    def packed(found: Found, o: Operation) -> Callable[[], Made] | None:
        if id(o) not in chosen:
            return None
        x, w = o.operands
        return lambda: eager.apply(SquareConv(inner=o.op), (tensor(x), square(tensor(w))), o.params)

    fuse_operations(program, [("conv", packed)])
    fold_constants(program, scope)
    remove_dead(program)


def _last(o: Operation, w: Tensor) -> bool:
    """Return whether the backend had better have the images with channels last."""
    return plan.BACKEND_OF(w.place).channels_last(o.op, [x.meta for x in o.values])


def _reads_squares(o: Operation) -> bool:
    """Return whether a library reads kernels in squares: float32 in one group, channels in sixteens. Others are
    transformed at each launch (3 × 3 with stride 1, by Winograd's algorithm), or are a matmul over one place."""
    x, w = o.values
    groups, strides = o.params[:2]
    o_channels, c_channels, *kernel = w.meta.shape
    if w.meta.dtype is None or w.meta.dtype.name != "float32" or type(groups) is not int or groups != 1:
        return False
    if any(type(n) is not int or n % SIDE for n in (o_channels, c_channels)):
        return False
    transformed = all(k == 3 for k in kernel) and all(type(s) is int and s == 1 for s in strides)
    one_place = all(type(n) is int and n == 1 for n in o.results[0].meta.shape[2:])
    return not transformed and not one_place
