"""Weights that do not change between runs, laid out once as kernels of libraries read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from umiak import ops as F
from umiak.compiler import plan
from umiak.compiler.layout import FEWEST
from umiak.compiler.passes.folding import fold_constants
from umiak.compiler.passes.fusion import Found, Made, fuse_operations, tensor
from umiak.compiler.passes.registry import register_pass
from umiak.compiler.strips import StripConv, StripMatmul, to_strips
from umiak.core import eager
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.passes import remove_dead
from umiak.ir.program import Operation, Program
from umiak.ir.scope import substitute, symbols_of
from umiak.ops.convolution import Conv
from umiak.ops.linalg import Linear, Matmul

# What stands for open sizes when strips are chosen: one image of some usual sizes, which choose by majority.
IMAGES, PLACES = 1, (224, 320, 640, 960)
PRODUCT = Matmul()


@register_pass("weight_packing_pass")
def pack_weights(program: Program, scope: Callable[[Tensor], Tensor] | None = None) -> None:
    """Keep kernels of convolutions in strips of output channels, and matrices in strips of columns, where the backend
    reads them so.

    ``scope``: gives the values of captured tensors, which must not change from then on; without it nothing is packed.
    """
    if scope is None:
        return
    written = {id(w.target) for w in program.effects}
    known = {id(v): program.captured[n] for n, v in program.constants.items() if n in program.captured}
    weights = {i: x for i, x in known.items() if i not in written}
    packable = [o for o in program.ops if _convolves(o, weights)]
    if len(packable) < FEWEST:
        packable = []
    packable += [o for o in program.ops if _multiplies(o, weights)]
    usual = usual_sizes(program)
    strips = {id(o): _strip(o, weights[id(o.operands[1])], usual) for o in packable}
    if not any(strips.values()):
        return

    def convolution(found: Found, o: Operation) -> Callable[[], Made] | None:
        strip = strips.get(id(o))
        if strip is None:
            return None
        x, w = o.operands
        channels, depth, *_ = o.values[1].meta.shape
        op = StripConv(inner=o.op, channels=channels, depth=depth, strip=strip)
        return lambda: eager.apply(op, (tensor(x), to_strips(tensor(w), *strip)), o.params)

    def product(found: Found, o: Operation) -> Callable[[], Made] | None:
        strip = strips.get(id(o))
        if strip is None:
            return None
        x, w, *bias = o.operands
        depth, channels = _matrix(o).shape
        op = StripMatmul(inner=PRODUCT, channels=channels, depth=depth, strip=strip)

        def made() -> Made:
            kernels = tensor(w) if _is_transposed(o) else F.permute(tensor(w), perm=(1, 0))
            y = eager.apply(op, (tensor(x), to_strips(kernels, *strip)))
            return F.add(y, tensor(bias[0])) if bias and bias[0] is not None else y

        return made

    fuse_operations(program, [("conv", convolution), ("matmul", product), ("linear", product)])
    fold_constants(program, scope)
    remove_dead(program)


def _convolves(o: Operation, weights: Mapping[int, Tensor]) -> bool:
    """Return whether an operation is a convolution by a weight, whose images had better have channels last."""
    w = weights.get(id(o.operands[1])) if type(o.op) is Conv else None
    return w is not None and plan.BACKEND_OF(w.place).channels_last(o.op, [x.meta for x in o.values])


def _multiplies(o: Operation, weights: Mapping[int, Tensor]) -> bool:
    """Return whether an operation multiplies rows by a matrix that is a weight."""
    if type(o.op) not in (Matmul, Linear) or id(o.operands[1]) not in weights:
        return False
    x, w = o.values[:2]
    return len(w.meta.shape) == 2 and len(x.meta.shape) > 1 and not getattr(o.op, "transpose_x", False)


def _is_transposed(o: Operation) -> bool:
    return getattr(o.op, "transpose_y", False)


def _matrix(o: Operation) -> Meta:
    """The matrix that rows are multiplied by, as it would lie untransposed."""
    meta = o.values[1].meta
    return Meta(tuple(reversed(meta.shape)), meta.dtype) if _is_transposed(o) else meta


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
    convolves = type(o.op) is Conv
    operands = [o.values[0].meta, o.values[1].meta if convolves else _matrix(o)]
    metas = [Meta(substitute(m.shape, sizes), m.dtype) for m in (*operands, o.results[0].meta)]
    params = substitute(o.params, sizes)
    if symbols_of([*(m.shape for m in metas), params]):
        return None  # sizes that the program computes from data
    return plan.BACKEND_OF(w.place).kernel_strip(o.op if convolves else PRODUCT, metas, params)
