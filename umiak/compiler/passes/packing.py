"""Weights that do not change between runs, laid out once as kernels of libraries read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from umiak import ops as F
from umiak.compiler import plan
from umiak.compiler.layout import FEWEST
from umiak.compiler.passes.folding import fold_constants, unwritten
from umiak.compiler.passes.fusion import Found, Made, fuse_operations, tensor
from umiak.compiler.passes.registry import register_pass
from umiak.compiler.strip_rnn import StripRnn
from umiak.compiler.strips import StripConv, StripMatmul, to_strips
from umiak.core import dtype as dt
from umiak.core import eager
from umiak.core.dtype import DType, convert
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.passes import remove_dead
from umiak.ir.program import Operation, Program
from umiak.ir.scope import substitute, symbols_of
from umiak.ops.convolution import Conv
from umiak.ops.linalg import Linear, Matmul
from umiak.ops.recurrent import Rnn

# What stands for open sizes when strips are chosen: one image of some usual sizes, which choose by majority.
IMAGES, PLACES = 1, (224, 320, 640, 960)
PRODUCT = Matmul()


@register_pass("weight_packing_pass")
def pack_weights(program: Program, scope: Callable[[Tensor], Tensor] | None = None, recurrent: str = "float32") -> None:
    """Keep kernels of convolutions in strips of output channels, and matrices in strips of columns, where the backend
    reads them so.

    ``scope``: gives the values of captured tensors, which must not change from then on; without it nothing is packed.
    ``recurrent``: the type of the weights of recurrent layers of float32, "bfloat16" where their products may be so.
    """
    if scope is None:
        return
    weights = unwritten(program)
    packable = [o for o in program.ops if _convolves(o, weights)]
    if len(packable) < FEWEST:
        packable = []
    readers = Counter(id(x) for o in program.walk() for x in o.values)
    packable += [o for o in program.ops if _multiplies(o, weights) and _is_alone(o, readers)]
    layers = {id(o): _layer_strip(o, weights, recurrent) for o in program.ops}
    usual = usual_sizes(program)
    strips = {id(o): _strip(o, weights[id(o.operands[1])], usual) for o in packable}
    if not any((*strips.values(), *layers.values())):
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

    def layer(found: Found, o: Operation) -> Callable[[], Made] | None:
        laid_out = layers.get(id(o))
        if laid_out is None:
            return None
        dtype, strip = laid_out

        def made() -> Made:
            x, h0, *w, b_ih, b_hh, c0, w_ho, lengths = (None if x is None else tensor(x) for x in o.operands)
            w = [to_strips(F.cast(v, dtype=dtype), *strip) for v in w]
            return eager.apply(StripRnn(inner=o.op, strip=strip), (x, h0, *w, b_ih, b_hh, c0, w_ho, lengths))

        return made

    fuse_operations(program, [("conv", convolution), ("matmul", product), ("linear", product), ("rnn", layer)])
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


def _is_alone(o: Operation, readers: Mapping[int, int]) -> bool:
    """Return whether nothing else reads a matrix of float32, which would lie in memory twice; narrow ones may."""
    return o.values[1].meta.dtype is not dt.float32 or readers[id(o.operands[1])] == 1


def _layer_strip(o: Operation, weights: Mapping[int, Tensor], narrow: str) -> tuple[DType, tuple[int, int]] | None:
    """Return the type and the strips in which the backend reads the weights of a recurrent layer; None: as they are."""
    if type(o.op) is not Rnn or not all(id(w) in weights for w in o.operands[2:4]):
        return None
    x, _, w_ih = (v.meta for v in o.values[:3])
    place = weights[id(o.operands[2])].place
    for dtype in (convert(narrow), w_ih.dtype):
        metas = [x, Meta(w_ih.shape, dtype), o.results[0].meta]
        strip = plan.BACKEND_OF(place).kernel_strip(o.op, metas, o.params)
        if dtype is not None and strip is not None:
            return dtype, strip
    return None


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
