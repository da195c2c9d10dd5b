"""Convolutions and their gradients: by cuDNN, else as columns and matmuls; with bias and relu in captured programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.backends.base import Kernel
from umiak.backends.cuda.matmuls import Kernels
from umiak.backends.cuda.providers import cudnn
from umiak.backends.cuda.providers import cudnn_library as dnn
from umiak.backends.im2col import Convolutions
from umiak.compiler.epilogue import FusedEpilogue
from umiak.compiler.layout import ChannelsLast, to_first, to_last
from umiak.core import dtype as dt
from umiak.core import eager
from umiak.core.buffer import Buffer
from umiak.core.tensor import empty
from umiak.ir.meta import Meta
from umiak.ops.convolution import Conv, ConvInputGrad, ConvWeightGrad

OPS = (Conv, ConvInputGrad, ConvWeightGrad)
EPILOGUES = (("bias",), ("bias", "relu"))  # that the library has for every type
NARROW = ("bfloat16", "float16")


def fuses(op: Any, metas: Sequence[Any], steps: Sequence[Any]) -> bool:
    """Return whether a convolution and what follows it had better be one launch."""
    return type(op) is Conv and tuple(steps) in EPILOGUES and metas[0].dtype.name in cudnn.DTYPES and cudnn.is_there()


def channels_last(op: Any, metas: Sequence[Any]) -> bool:
    """Return whether images had better have channels last: tensor cores take those of 16 bits so."""
    inner = op.inner if type(op) is FusedEpilogue else op
    return type(inner) in OPS and metas[0].dtype.name in NARROW and cudnn.is_there()


def convolution(kernels: Kernels, call: Any) -> Kernel | None:
    """The kernel of a convolution or of one of its gradients, perhaps with its epilogue and of images with channels
    last; None where ``call.op`` is none."""
    op, last = call.op, None
    if type(op) is ChannelsLast:
        op, last = op.inner, op
    inner, steps = (op.inner, op.steps) if type(op) is FusedEpilogue else (op, ())
    if type(inner) not in OPS:
        return None
    return Kernel(call=_Calls(kernels, call.op, last, inner, tuple(steps)), name=inner.name)


class _Calls:
    """The calls of one op."""

    def __init__(self, kernels: Kernels, op: Any, last: ChannelsLast | None, inner: Any, steps: tuple) -> None:
        self.kernels, self.op, self.last, self.inner, self.steps = kernels, op, last, inner, steps

    def __call__(self, operands: tuple, params: tuple) -> tuple:
        library = cudnn.find(self.kernels.device)
        if library is not None and self.steps in ((), *EPILOGUES) and operands[0].dtype.name in cudnn.DTYPES:
            out = self.by_library(library, operands, params)
            if out is not None:
                return (out,)
        if self.last is not None or self.steps:
            return (self.op.decompose(*operands, *params),)
        return (self.by_im2col(operands, params),)

    def by_library(self, library: cudnn.Cudnn, operands: tuple, params: tuple) -> Any:
        """The result; None where the library does not compute it."""
        images = (False,) * len(operands) if self.last is None else self.last.images
        views = [F.permute(x, to_first(x.ndim)) if i else x for x, i in zip(operands, images, strict=True)]
        a, b = views[:2]
        shape = _result(self.inner, (a, b), params).shape
        if 0 in (*a.shape, *b.shape, *shape):
            return None
        # Images of 16 bits have channels last, and weights likewise; of others all is as it is counted.
        lay = F.copy if a.dtype.name not in NARROW else _channels_last
        out = _empty(shape, a.dtype, a.place, a.dtype.name in NARROW)
        kind, *tensors = {
            Conv: (dnn.FORWARD, a, b, out), ConvInputGrad: (dnn.INPUT_GRADIENT, out, b, a),
            ConvWeightGrad: (dnn.WEIGHT_GRADIENT, a, out, b),
        }[type(self.inner)]  # fmt: skip
        x, w, y = (t if _lies_like(t, out) else lay(t) for t in tensors)
        buffers = {cudnn.IMAGE: Buffer(x), cudnn.WEIGHTS: Buffer(w), cudnn.RESULT: Buffer(y)}
        if self.steps:
            bias = views[2].reshape([1, -1, *[1] * (a.ndim - 2)])
            buffers[cudnn.BIAS] = Buffer(bias if bias.is_contiguous() else F.copy(bias))
        of = {number: cudnn.operand(v.shape, v.strides, v.pointer) for number, v in buffers.items()}
        geometry = [cudnn.two(values, least) for values, least in zip(params[1:5], (1, 0, 0, 1))]
        strides, pre, post, dilations = geometry
        problem = cudnn.Problem(
            kind, a.dtype.name, of[cudnn.IMAGE], of[cudnn.WEIGHTS], of[cudnn.RESULT], pre, post, strides, dilations,
            of.get(cudnn.BIAS), "relu" in self.steps,
        )  # fmt: skip
        written = next(number for number, t in zip(buffers, (x, w, y)) if t is out)
        if not library.convolve(problem, buffers, written, self.op.name):
            return None
        result = F.permute(out, to_last(out.ndim)) if self.last is not None and self.last.image else out
        return result if result.is_contiguous() else F.copy(result)

    def by_im2col(self, operands: tuple, params: tuple) -> Any:
        """The result by columns and matmuls; of 16 bits in float32."""
        dtype = operands[0].dtype
        if dtype.name in NARROW:
            wide = eager.apply(self.inner, tuple(F.cast(x, dtype=dt.float32) for x in operands), params)
            return F.cast(wide, dtype=dtype)
        meta = _result(self.inner, operands, params)
        out = empty(tuple(map(int, meta.shape)), dtype, operands[0].place)
        Convolutions(self.kernels)(self.inner, [Buffer(out)], [Buffer(x) for x in operands], params)
        return out


def _result(op: Any, operands: Sequence[Any], params: tuple) -> Meta:
    return op.infer(*(Meta(tuple(x.shape), x.dtype) for x in operands), *params)


def _empty(shape: tuple, dtype: Any, place: Any, channels_last: bool) -> Any:
    if not channels_last:
        return empty(shape, dtype, place)
    last = empty(tuple(shape[a] for a in to_last(len(shape))), dtype, place)
    return F.permute(last, to_first(len(shape)))


def _channels_last(x: Any) -> Any:
    return F.permute(F.copy(F.permute(x, to_last(x.ndim))), to_first(x.ndim))


def _lies_like(x: Any, other: Any) -> bool:
    """Return whether a tensor is dense with its dims in the order in which another dense one has them."""
    if other.is_contiguous():
        return x.is_contiguous()
    return F.permute(x, to_last(x.ndim)).is_contiguous()
