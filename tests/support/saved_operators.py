"""Small programs of PaddlePaddle, an operator or a few in each, as it saves them, and what it gives for them.

    cd / && PYTHON_OF_THE_REFERENCE .../saved_operators.py .../tests/data/saved_operators.jsonl.gz

A line is a case: its name, the JSON document that the reference wrote, what it was fed, and what it gave. A function's
parameters are its inputs; ``C`` are the operators themselves.
"""

from __future__ import annotations

import base64
import gzip
import inspect
import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import paddle
import paddle.nn.functional as F

C = paddle._C_ops
V = paddle.vision.ops

CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {}


def case(name: str, function: Callable[..., Any], *inputs: Any) -> None:
    """Enter a case. ``inputs``: arrays; one with a name for each axis that is not declared: ``Free(array, axes)``."""
    assert name not in CASES, name
    CASES[name] = function, list(inputs)


class Free:
    """An input some of whose sizes are not declared."""

    def __init__(self, array: np.ndarray, *axes: int) -> None:
        self.array = array
        self.axes = axes


_COUNT = [0]


def _rng() -> np.random.RandomState:
    _COUNT[0] += 1
    return np.random.RandomState(_COUNT[0])


def N(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Normal numbers."""
    return _rng().standard_normal(shape).astype(dtype)


def U(*shape: int, low: float = 0.1, high: float = 0.9, dtype: str = "float32") -> np.ndarray:
    """Uniform numbers."""
    return _rng().uniform(low, high, shape).astype(dtype)


def K(*shape: int, high: int = 5, low: int = 0, dtype: str = "int64") -> np.ndarray:
    """Integers."""
    return _rng().randint(low, high, shape).astype(dtype)


def B(*shape: int) -> np.ndarray:
    """Flags."""
    return _rng().rand(*shape) > 0.4


def A(values: Any, dtype: str = "float32") -> np.ndarray:
    """The values that are given."""
    return np.array(values, dtype)


def S(n: int) -> np.ndarray:
    """A positive definite matrix."""
    x = N(n, n)
    return x @ x.T + n * np.eye(n, dtype="float32")


def function(name: str) -> Callable[..., Any]:
    """A function of the public API."""
    return getattr(paddle, name, None) or getattr(F, name)


def of_one(name: str) -> Callable[..., Any]:
    """Its call on one tensor."""
    return lambda x: function(name)(x)


def of_two(name: str) -> Callable[..., Any]:
    """Its call on two tensors."""
    return lambda x, y: function(name)(x, y)


def of_axes(name: str) -> Callable[..., Any]:
    """Its call over the first and the last axis of three."""
    return lambda x: function(name)(x, [0, 2])


# --- elementwise

for _n in "abs ceil floor round sign sin cos tan sinh cosh tanh asinh atan exp expm1 square neg erf sigmoid".split():
    case(_n, of_one(_n), N(2, 3))
for (
    _n
) in "log log2 log10 log1p sqrt rsqrt reciprocal lgamma digamma logit erfinv i0 i0e i1 i1e asin acos atanh".split():
    case(_n, of_one(_n), U(2, 3))
case("acosh", paddle.acosh, U(2, 3, low=1.5, high=3.0))
case("trunc", lambda x: paddle.trunc(x), N(2, 3) * 3)
case(
    "angle real imag conj",
    lambda x, y: [
        f(paddle.complex(x, y))
        for f in (paddle.angle, paddle.real, paddle.imag, lambda z: paddle.as_real(paddle.conj(z)))
    ],
    N(3),
    N(3),
)
case("as_complex", lambda x: paddle.as_real(paddle.as_complex(x) * 2.0), N(3, 2))
for _n in "isnan isinf isfinite".split():
    case(_n, of_one(_n), A([1.0, np.nan, np.inf, -np.inf]))
for _n in "add subtract multiply divide maximum minimum fmax fmin atan2 remainder floor_divide".split():
    case(_n, of_two(_n), N(2, 3), N(3) + 0.5)
    if _n != "atan2":
        case(_n + " int64", of_two(_n), K(2, 3, low=-9, high=9), K(2, 3, low=1, high=4))
for _n in "equal not_equal less_than less_equal greater_than greater_equal".split():
    case(_n, of_two(_n), K(2, 3), K(3))
for _n in "logical_and logical_or logical_xor".split():
    case(_n, of_two(_n), B(2, 3), B(3))
case("logical_not", paddle.logical_not, B(4))
for _n in "bitwise_and bitwise_or bitwise_xor".split():
    case(_n, of_two(_n), K(2, 3, high=64), K(3, high=64))
case("bitwise_not", lambda x: paddle.bitwise_not(x), K(4, high=64))
case(
    "bitwise shifts",
    lambda x, y: [paddle.bitwise_left_shift(x, y), paddle.bitwise_right_shift(x, y)],
    K(4, high=64),
    K(4, high=3),
)
case("heaviside", paddle.heaviside, A([-1.0, 0.0, 2.0]), A([0.5, 0.25, 3.0]))
case("copysign nextafter", lambda x, y: [paddle.copysign(x, y), paddle.nextafter(x, y)], N(4), N(4))
case("gammaincc", lambda x, y: C.gammaincc(x, y), U(4), U(4))
case("elementwise_pow", lambda x, y: paddle.pow(x, y), U(2, 3), N(3))
case("pow", lambda x: [paddle.pow(x, 2.0), paddle.pow(x, 3)], N(2, 3))
case("pow int64", lambda x: x**2, K(4))
case("scale", lambda x: [paddle.scale(x, 2.0, 1.0), paddle.scale(x, 2.0, 1.0, bias_after_scale=False)], N(2, 3))
case("scale int64", lambda x: x * 3 + 1, K(4))
case("scale by a tensor", lambda x, s: paddle.scale(x, s, 0.5), N(2, 3), A([3.0]))
case("cast", lambda x: [paddle.cast(x, d) for d in ("int32", "int64", "bool", "float64", "float16")], N(4) * 3)
case("cast bfloat16", lambda x: paddle.cast(paddle.cast(x, "bfloat16") * 2.0, "float32"), N(4))
case("clip", lambda x: [paddle.clip(x, -0.5, 0.5), paddle.clip(x, min=0.0), paddle.clip(x, max=0.1)], N(2, 3))
case("clip int64", lambda x: paddle.clip(x, 1, 3), K(5))
case("lerp", lambda x, y, w: paddle.lerp(x, y, w), N(3), N(3), U(3))
case(
    "isclose allclose equal_all",
    lambda x, y: [paddle.isclose(x, y), paddle.allclose(x, y), paddle.equal_all(x, y)],
    A([1.0, 2.0]),
    A([1.0, 2.1]),
)
case("stanh", lambda x: paddle.stanh(x, 0.5, 2.0), N(4))
case("polygamma", lambda x: paddle.polygamma(x, 2), U(4))
case("round decimals", lambda x: paddle.round(x, 1), N(4) * 5)
case("label_smooth", lambda x: F.label_smooth(x, epsilon=0.1), A([[0, 1.0], [1, 0]]))
case("add_n", lambda x, y, z: paddle.add_n([x, y, z]), N(3), N(3), N(3))
case("where", lambda c, x, y: paddle.where(c, x, y), B(2, 3), N(2, 3), N(2, 3))
case("masked_fill", lambda x, m: paddle.masked_fill(x, m, 2.5), N(2, 3), B(2, 3))
case("in place", lambda x: F.relu_(paddle.tanh_(C.scale_(x * 1.0, 2.0, 0.0, True)) - 0.2), N(4))
case("multiply bool", lambda x, y: x * paddle.cast(y, "float32"), N(4), B(4))

# --- activations

_ACTIVATIONS = (
    "relu relu6 silu swish mish softsign hardswish log_sigmoid tanhshrink selu elu celu gelu hardshrink softshrink "
    "hardsigmoid hardtanh thresholded_relu softplus leaky_relu"
)
for _n in _ACTIVATIONS.split():
    case("F." + _n, of_one(_n), N(3, 4) * 2)
case("gelu tanh", lambda x: F.gelu(x, approximate=True), N(3, 4))
case(
    "elu alpha",
    lambda x: [
        F.elu(x, 0.5),
        F.celu(x, 0.7),
        F.selu(x, 1.1, 1.3),
        F.leaky_relu(x, 0.2),
        F.hardtanh(x, -0.5, 0.7),
        F.softplus(x, 2.0, 5.0),
        F.hardsigmoid(x, 0.25, 0.4),
    ],
    N(3, 4),
)
case("prelu", lambda x, a: [F.prelu(x, a), F.prelu(x, a[:1])], N(2, 3, 2, 2), U(3))
case("prelu NHWC", lambda x, a: F.prelu(x, a, data_format="NHWC"), N(2, 2, 2, 3), U(3))
case("prelu element", lambda x, a: C.prelu(x, a, "NCHW", "element"), N(2, 3, 2), U(1, 3, 2))
case("rrelu", lambda x: F.rrelu(x, 0.1, 0.3, training=False), N(6))
case("maxout", lambda x: F.maxout(x, 2), N(2, 4, 3, 1))
case("swiglu", lambda x, y: [F.swiglu(x, y), F.swiglu(x)], N(2, 4), N(2, 4))
case("softmax", lambda x: [F.softmax(x), F.softmax(x, 0), F.log_softmax(x, 1)], N(3, 4))
case("dropout", lambda x: F.dropout(x, 0.5, training=False), N(6))
case("glu", lambda x: F.glu(x), N(2, 4))

# --- reductions

for _n in "sum mean max min prod amax amin logsumexp std var median nanmedian nansum".split():
    _f = getattr(paddle, _n)
    case(_n, lambda x, f=_f: [f(x), f(x, 1), f(x, -1, keepdim=True)], N(2, 3, 4))
for _n in "sum mean max min prod amax amin logsumexp std var".split():
    case(_n + " of two axes", of_axes(_n), N(2, 3, 4))
case(
    "sum int and bool",
    lambda x, b: [paddle.sum(x, 0), paddle.sum(b), paddle.sum(x, 0, dtype="float32")],
    K(3, 2, dtype="int32"),
    B(5),
)
case("all any", lambda x: [paddle.all(x), paddle.all(x, 0), paddle.any(x, 1, keepdim=True)], B(2, 3))
case(
    "p_norm",
    lambda x: [
        paddle.linalg.norm(x),
        paddle.linalg.norm(x, 1, 0),
        paddle.linalg.norm(x, 3, 1, keepdim=True),
        paddle.linalg.norm(x, np.inf, 1),
    ],
    N(3, 4),
)
case("frobenius_norm", lambda x: paddle.linalg.norm(x, "fro", [0, 1]), N(3, 4))
case("squared_l2_norm l1_norm", lambda x: [C.squared_l2_norm(x), C.l1_norm(x)], N(3, 4))
case("norm", lambda x: C.norm(x, 1, 1e-10, True)[0], N(3, 4))
case("clip_by_norm", lambda x: [C.clip_by_norm(x, 0.5), C.clip_by_norm(x, 50.0)], N(3, 4))
case("renorm", lambda x: paddle.renorm(x, 2.0, 0, 1.0), N(3, 4))
case("dist", lambda x, y: [paddle.dist(x, y), paddle.dist(x, y, 1.0)], N(3), N(3))
case("reduce_as", lambda x, y: C.reduce_as(x, y), N(2, 3), N(3))
case("numel", lambda x: [paddle.numel(x), paddle.numel(x) * 2], Free(N(3, 4), 0))
case("is_empty", lambda x: paddle.is_empty(x), N(2))
case("mean_all", lambda x: C.mean_all(x), N(2, 3))
case(
    "cumsum",
    lambda x: [
        paddle.cumsum(x),
        paddle.cumsum(x, 1),
        C.cumsum(x, 1, False, True, False),
        C.cumsum(x, 0, False, False, True),
        C.cumsum(x, 1, False, True, True),
    ],
    N(2, 3),
)
case("cumprod", lambda x: [paddle.cumprod(x, 1), paddle.cumprod(x, 0)], N(2, 3))
case("logcumsumexp", lambda x: [paddle.logcumsumexp(x), paddle.logcumsumexp(x, 1)], N(2, 3))
case("cummax cummin", lambda x: [*paddle.cummax(x, 1), *paddle.cummin(x, 0)], N(2, 5))

# --- shapes

case(
    "reshape",
    lambda x: [paddle.reshape(x, [3, -1]), paddle.reshape(x, [0, 2, 2]), x.reshape([-1])],
    N(2, 4)[:, :].reshape(2, 4).repeat(3, 0),
)
case(
    "reshape by its sizes",
    lambda x: paddle.reshape(x, [paddle.shape(x)[0], 2, paddle.shape(x)[1] // 2]),
    Free(N(3, 4), 0),
)
case("flatten", lambda x: [paddle.flatten(x), paddle.flatten(x, 1, 2)], N(2, 3, 2))
case(
    "squeeze unsqueeze", lambda x: [paddle.squeeze(x), paddle.squeeze(x, 1), paddle.unsqueeze(x, [0, 3])], N(2, 1, 3, 1)
)
case("transpose", lambda x: paddle.transpose(x, [2, 0, 1]), N(2, 3, 4))
case(
    "concat stack",
    lambda x, y: [paddle.concat([x, y]), paddle.concat([x, y], -1), paddle.stack([x, y], 1)],
    N(2, 3),
    N(2, 3),
)
case(
    "split", lambda x: [*paddle.split(x, 2, 1), *paddle.split(x, [1, -1], 0), *paddle.split(x, [1, 1, 2], -1)], N(2, 4)
)
case("chunk unbind unstack", lambda x: [*paddle.chunk(x, 2, 1), *paddle.unbind(x), *paddle.unstack(x, 1)], N(2, 4))
case("meshgrid", lambda x, y: paddle.meshgrid(x, y), N(2), N(3))
case("broadcast_tensors", lambda x, y: paddle.broadcast_tensors([x, y]), N(2, 1), N(3))
case(
    "expand",
    lambda x, y: [paddle.expand(x, [4, -1, 3]), paddle.expand_as(x, y), paddle.broadcast_to(x, [2, 3])],
    N(2, 1),
    N(2, 3),
)
case("tile", lambda x: [paddle.tile(x, [2, 1]), paddle.tile(x, [2, 1, 3])], N(2, 2))
case("repeat_interleave", lambda x: [paddle.repeat_interleave(x, 2, 1), paddle.repeat_interleave(x, 3)], N(2, 2))
case(
    "flip roll",
    lambda x: [paddle.flip(x, [0, 1]), paddle.roll(x, 1), paddle.roll(x, [1, -1], [0, 1]), C.reverse(x, [1])],
    N(2, 3),
)
case("tril triu", lambda x: [paddle.tril(x), paddle.triu(x, 1), paddle.tril(x, -1)], N(3, 3))
case(
    "diag",
    lambda x, v: [paddle.diag(x), paddle.diag(v, 1, 2.0), paddle.diagonal(x, 1), paddle.diag_embed(v, 1)],
    N(3, 3),
    N(2),
)
case("crop", lambda x: paddle.crop(x, [1, 2], [1, 0]), N(3, 3))
case(
    "slice",
    lambda x: [x[0], x[1:, :-1], x[-1, 1], x[..., ::2], x[:, ::-1], paddle.slice(x, [0, 1], [0, -2], [1, 100])],
    N(3, 4),
)
case("slice of unknown sizes", lambda x: [x[0], x[1:], x[:-1], x[-1:]], Free(N(3, 4), 0))
case("strided_slice", lambda x: paddle.strided_slice(x, [0, 1], [2, 0], [0, 4], [-1, 2]), N(3, 4))
case("set_value", lambda x: _set(x, (slice(None), slice(1, 3)), 5.0), N(3, 4))
case("set_value_with_tensor", lambda x, y: [_set(x, (0,), y), _set(x, (slice(None), 1), y[:3])], N(3, 4), N(4))
case("shape", lambda x: [paddle.shape(x), paddle.shape(x)[0] * 2, paddle.shape(x)[1:]], Free(N(3, 4, 2), 0, 2))
case(
    "sizes",
    lambda x: paddle.zeros([paddle.shape(x)[0] * 2 + 1, paddle.shape(x)[1] // 2, 2], "float32") + 1.0,
    Free(N(3, 4), 0, 1),
)
case(
    "sizes as tensors",
    lambda x: paddle.expand(
        paddle.unsqueeze(x, 1), paddle.concat([paddle.shape(x)[:1], paddle.full([1], 2, "int64"), paddle.shape(x)[1:]])
    ),
    Free(N(3, 4), 0),
)
case("arange by a size", lambda x: paddle.arange(0, paddle.shape(x)[0], 1, "int64"), Free(N(3, 2), 0))
case(
    "assign",
    lambda x: [paddle.assign(x), paddle.assign(np.array([[1.5, 2.0]], "float32")), paddle.assign(np.array([1, 2]))],
    N(3),
)
case("increment", lambda x: C.increment(x, 2.0), A([1.0]))


def _set(x: Any, index: Any, value: Any) -> Any:
    return paddle.static.setitem(paddle.assign(x), index, value)


# --- creation

case(
    "full",
    lambda x: [
        paddle.full([2, 3], 1.5),
        paddle.full([2], 3, "int64"),
        paddle.full_like(x, 2.0),
        paddle.zeros_like(x),
        paddle.ones_like(x, "int32"),
        paddle.full([], True, "bool"),
    ],
    N(2),
)
case("full large", lambda x: paddle.full([10, 10], 1.25) + x, N(10))
case("full_like unknown", lambda x: [paddle.zeros_like(x) + x, paddle.full_like(x, 3, "int64")], Free(N(3, 4), 0))
case(
    "full_batch_size_like",
    lambda x: C.full_batch_size_like(x, [-1, 2], paddle.float32, 1.5, 0, 0, paddle.CPUPlace()),
    Free(N(3, 4), 0),
)
case("full_with_tensor", lambda x: paddle.full([2, 2], x), A([1.5]))
case(
    "arange linspace logspace",
    lambda x: [
        paddle.arange(1, 7, 2),
        paddle.arange(0.0, 1.0, 0.25),
        paddle.linspace(0, 1, 5),
        paddle.logspace(0, 2, 3),
        x * 1.0,
    ],
    N(1),
)
case("eye", lambda x: [paddle.eye(3), paddle.eye(2, 3), x * 1.0], N(1))
case("tril_indices", lambda x: [paddle.tril_indices(3, 3, 0), paddle.triu_indices(3, 4, 1), x * 1.0], N(1))
case("eager arange by a tensor", lambda x: paddle.arange(0, x, 1), A([4.0]))

# --- search

case(
    "gather",
    lambda x, i: [paddle.gather(x, i), paddle.gather(x, i, 1), paddle.index_select(x, i, 1)],
    N(4, 4),
    A([0, 2, 1], "int64"),
)
case("gather int32", lambda x, i: paddle.gather(x, i), N(4, 2), A([3, 1], "int32"))
case("gather_nd", lambda x, i: paddle.gather_nd(x, i), N(3, 4), A([[0, 1], [2, 3]], "int64"))
case("index_sample", lambda x, i: paddle.index_sample(x, i), N(2, 4), K(2, 2, high=4))
case("index_add", lambda x, i, y: paddle.index_add(x, i, 0, y), N(3, 2), A([0, 2], "int64"), N(2, 2))
case(
    "index_put",
    lambda x, i, y: [paddle.index_put(x, (i,), y), paddle.index_put(x, (i,), y, True)],
    N(3, 2),
    A([0, 2], "int64"),
    N(2, 2),
)
case("index by tensors", lambda x, i, j: [x[i], x[:, j], x[i, j]], N(3, 3), A([0, 2], "int64"), A([1, 0], "int64"))
case("take_along_axis", lambda x, i: paddle.take_along_axis(x, i, 1), N(2, 4), K(2, 3, high=4))
case(
    "put_along_axis",
    lambda x, i, y: [
        paddle.put_along_axis(x, i, y, 1),
        paddle.put_along_axis(x, i, y, 1, "add"),
        paddle.put_along_axis(x, i, y, 1, "mul"),
    ],
    N(2, 4),
    A([[0, 1], [3, 2]], "int64"),
    N(2, 2),
)
case(
    "scatter",
    lambda x, i, y: [paddle.scatter(x, i, y), paddle.scatter(x, i, y, overwrite=False)],
    N(3, 2),
    A([2, 0], "int64"),
    N(2, 2),
)
case(
    "scatter_nd_add",
    lambda x, i, y: [paddle.scatter_nd_add(x, i, y), paddle.scatter_nd(i, y, [3, 2])],
    N(3, 2),
    A([[2], [0]], "int64"),
    N(2, 2),
)
case("topk", lambda x: [*paddle.topk(x, 2), *paddle.topk(x, 2, 0, largest=False)], N(3, 4))
case(
    "argsort",
    lambda x: [paddle.argsort(x), paddle.sort(x, 0, descending=True), paddle.argsort(x, 0, descending=True)],
    N(3, 4),
)
case(
    "argmax argmin",
    lambda x: [
        paddle.argmax(x),
        paddle.argmax(x, 1),
        paddle.argmin(x, 0, keepdim=True),
        paddle.argmax(x, -1, dtype="int32"),
    ],
    N(3, 4),
)
case("kthvalue mode", lambda x, y: [*paddle.kthvalue(x, 2, 1), *paddle.mode(y)], N(3, 4), K(3, 5, high=3))
case(
    "searchsorted",
    lambda x, v: [paddle.searchsorted(x, v), paddle.searchsorted(x, v, right=True, out_int32=True)],
    A([1.0, 2.0, 3.0, 4.0]),
    A([2.0, 2.5, 0.0]),
)
case("eager bincount", lambda x: paddle.bincount(x, minlength=6), K(6))
case("histogram", lambda x: paddle.histogram(x, 4, -1.0, 1.0), N(10))
case("multiplex", lambda x, y, i: paddle.multiplex([x, y], i), N(2, 3), N(2, 3), A([[1], [0]], "int32"))
case("fill_diagonal_tensor", lambda x, y: C.fill_diagonal_tensor(x, y, 0, 0, 1), N(3, 3), N(3))
case("fill_diagonal", lambda x: C.fill_diagonal(x, 2.0, 0, False), N(3, 3))
case("shard_index", lambda x: paddle.shard_index(x, 8, 2, 1), K(4, 1, high=8))
case("embedding", lambda x, w: [F.embedding(x, w), F.embedding(x, w, padding_idx=1)], K(2, 3, high=4), N(4, 2))
case("one_hot", lambda x: F.one_hot(x, 5), K(3))
case("sequence_mask", lambda x: F.sequence_mask(x, 4, "float32"), A([1, 3], "int64"))
case("accuracy", lambda x, y: paddle.static.accuracy(x, y, k=2), U(4, 3), K(4, 1, high=3))
case("gather_tree", lambda x, y: F.gather_tree(x, y), K(3, 2, 2, high=4), K(3, 2, 2, high=2))

# --- products

case(
    "matmul",
    lambda x, y: [paddle.matmul(x, y), paddle.matmul(x, x, transpose_y=True), paddle.matmul(y, y, transpose_x=True)],
    N(2, 3),
    N(3, 4),
)
case("matmul batched", lambda x, y: [paddle.matmul(x, y), paddle.bmm(x, y)], N(2, 3, 4), N(2, 4, 2))
case(
    "mv dot kron",
    lambda x, y, z: [paddle.mv(x, y), paddle.dot(y, z), paddle.kron(x, x), paddle.outer(y, z)],
    N(2, 3),
    N(3),
    N(3),
)
case("addmm baddbmm", lambda x, y, z: paddle.addmm(z, x, y, 0.5, 2.0), N(2, 3), N(3, 2), N(2, 2))
case("multi_dot", lambda x, y, z: paddle.linalg.multi_dot([x, y, z]), N(2, 3), N(3, 4), N(4, 2))
case("cross trace", lambda x, y, z: [paddle.cross(x, y), paddle.trace(z, 1)], N(2, 3), N(2, 3), N(3, 4))
case("einsum", lambda x, y: paddle.einsum("bij,bjk->bik", x, y), N(2, 3, 4), N(2, 4, 2))
case("bilinear", lambda x, y, w, b: F.bilinear(x, y, w, b), N(2, 3), N(2, 4), N(5, 3, 4), N(1, 5))
case("linear", lambda x, w, b: F.linear(x, w, b), N(2, 3), N(3, 4), N(4))
case("matmul_with_flatten", lambda x, y: C.matmul_with_flatten(x, y, 2, 1), N(2, 3, 4), N(4, 5))
case("inverse det", lambda x: [paddle.inverse(x), paddle.linalg.det(x)], S(3))
case(
    "cholesky",
    lambda x, y: [paddle.linalg.cholesky(x), paddle.linalg.cholesky_solve(y, paddle.linalg.cholesky(x))],
    S(3),
    N(3, 2),
)
case("solve", lambda x, y: [paddle.linalg.solve(x, y), paddle.linalg.triangular_solve(x, y)], S(3), N(3, 2))
case("svd", lambda x: paddle.linalg.svd(x)[1], N(3, 2))
case("qr", lambda x: paddle.abs(paddle.linalg.qr(x)[1]), N(3, 2))
case("eigh", lambda x: [paddle.linalg.eigh(x)[0], paddle.linalg.eigvalsh(x)], S(3))
case("slogdet", lambda x: paddle.linalg.slogdet(x), S(3))
case("matrix_power", lambda x: paddle.linalg.matrix_power(x, 3), N(3, 3))
case("matrix_rank", lambda x: paddle.linalg.matrix_rank(x), N(3, 2))
case("lu", lambda x: paddle.linalg.lu(x)[0], S(3))

# --- convolution

case(
    "conv2d",
    lambda x, w: [
        F.conv2d(x, w),
        F.conv2d(x, w, stride=2, padding=1),
        F.conv2d(x, w, padding=[1, 0, 2, 1]),
        F.conv2d(x, w, padding="SAME", stride=2),
        F.conv2d(x, w, padding="VALID"),
        F.conv2d(x, w, dilation=2, padding=2),
    ],
    N(2, 3, 5, 6),
    N(4, 3, 3, 3),
)
case("conv2d bias", lambda x, w, b: F.conv2d(x, w, b, padding=1), N(1, 2, 4, 4), N(3, 2, 3, 3), N(3))
case("conv2d NHWC", lambda x, w: F.conv2d(x, w, padding=1, data_format="NHWC"), N(1, 4, 5, 2), N(3, 2, 3, 3))
case(
    "conv2d groups",
    lambda x, w: [F.conv2d(x, w[:, :2], groups=2, padding=1), F.conv2d(x, w[:, :1], groups=4, padding=1)],
    N(1, 4, 5, 5),
    N(4, 2, 3, 3),
)
case(
    "conv2d of unknown sizes",
    lambda x, w: F.conv2d(x, w, stride=2, padding=1),
    Free(N(2, 3, 5, 6), 0, 2, 3),
    N(4, 3, 3, 3),
)
case("conv1d", lambda x, w: F.conv1d(x, w, padding=1), N(2, 3, 6), N(4, 3, 3))
case("conv3d", lambda x, w: F.conv3d(x, w, padding=1), N(1, 2, 3, 4, 4), N(3, 2, 3, 3, 3))
case(
    "conv2d_transpose",
    lambda x, w: [
        F.conv2d_transpose(x, w),
        F.conv2d_transpose(x, w, stride=2, padding=1),
        F.conv2d_transpose(x, w, stride=2, output_padding=1),
        F.conv2d_transpose(x, w, stride=2, output_size=[9, 10]),
    ],
    N(1, 3, 4, 4),
    N(3, 2, 3, 3),
)
case(
    "conv2d_transpose groups dilation",
    lambda x, w: F.conv2d_transpose(x, w, groups=2, dilation=2),
    N(1, 4, 4, 4),
    N(4, 3, 3, 3),
)
case("conv3d_transpose", lambda x, w: F.conv3d_transpose(x, w, stride=2), N(1, 2, 2, 3, 3), N(2, 3, 2, 2, 2))
case(
    "deformable_conv",
    lambda x, o, w, m: [V.deform_conv2d(x, o, w, padding=1), V.deform_conv2d(x, o, w, padding=1, mask=m)],
    N(1, 2, 4, 4),
    N(1, 18, 4, 4),
    N(3, 2, 3, 3),
    U(1, 9, 4, 4),
)
case(
    "pool2d",
    lambda x: [
        F.max_pool2d(x, 2),
        F.avg_pool2d(x, 2),
        F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
        F.avg_pool2d(x, 3, 2, 1),
        F.avg_pool2d(x, 3, 2, 1, exclusive=False),
        F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    ],
    N(1, 2, 6, 5),
)
case(
    "pool2d adaptive",
    lambda x: [F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, [2, 3]), F.adaptive_max_pool2d(x, 2)],
    N(1, 2, 6, 5),
)
case(
    "pool2d NHWC",
    lambda x: [
        F.max_pool2d(x, 2, data_format="NHWC"),
        F.avg_pool2d(x, 2, data_format="NHWC"),
        F.adaptive_avg_pool2d(x, 1, data_format="NHWC"),
    ],
    N(1, 6, 4, 2),
)
case(
    "pool2d of unknown sizes", lambda x: [F.max_pool2d(x, 2), F.adaptive_avg_pool2d(x, 1)], Free(N(2, 3, 6, 4), 0, 2, 3)
)
case(
    "pool2d global",
    lambda x: C.pool2d(x, [1, 1], [1, 1], [0, 0], False, True, "NCHW", "max", True, False, "EXPLICIT"),
    N(1, 2, 3, 4),
)
case("pool1d", lambda x: [F.max_pool1d(x, 2), F.avg_pool1d(x, 2), F.adaptive_avg_pool1d(x, 2)], N(1, 2, 6))
case("pool3d", lambda x: [F.max_pool3d(x, 2), F.avg_pool3d(x, 2), F.adaptive_avg_pool3d(x, 2)], N(1, 2, 4, 4, 4))
case(
    "max_pool with index",
    lambda x: [*F.max_pool2d(x, 2, return_mask=True), *F.adaptive_max_pool2d(x, 2, return_mask=True)],
    N(1, 2, 4, 4),
)
case("unpool", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_mask=True), 2), N(1, 1, 4, 4))
case("lp_pool2d", lambda x: F.lp_pool2d(x, 2.0, 2), U(1, 1, 4, 4))
for _m in "nearest bilinear bicubic".split():
    case(
        "interpolate " + _m,
        lambda x, m=_m: (
            [F.interpolate(x, size=[5, 7], mode=m), F.interpolate(x, scale_factor=2, mode=m)]
            + (
                []
                if m == "nearest"
                else [
                    F.interpolate(x, size=[5, 7], mode=m, align_corners=True),
                    F.interpolate(x, scale_factor=1.5, mode=m, align_mode=1),
                ]
            )
        ),
        N(1, 2, 3, 4),
    )
case(
    "interpolate linear trilinear",
    lambda x, y: [
        F.interpolate(x, size=[7], mode="linear", data_format="NCW"),
        F.interpolate(y, size=[3, 3, 5], mode="trilinear", data_format="NCDHW"),
    ],
    N(1, 2, 4),
    N(1, 1, 2, 2, 3),
)
case(
    "interpolate unknown",
    lambda x: [F.interpolate(x, scale_factor=2), F.interpolate(x, scale_factor=2, mode="bilinear")],
    Free(N(1, 2, 3, 4), 0, 2, 3),
)
case(
    "interpolate to the size of another",
    lambda x, y: F.interpolate(x, size=paddle.shape(y)[2:], mode="bilinear"),
    Free(N(1, 2, 3, 4), 0, 2, 3),
    Free(N(1, 2, 6, 7), 0, 2, 3),
)
case(
    "nearest with corners",
    lambda x: C.nearest_interp(x, None, None, None, "NCHW", 0, 5, 7, [], "nearest", True, 1),
    N(1, 1, 3, 4),
)
case(
    "grid_sample",
    lambda x, g: [F.grid_sample(x, g), F.grid_sample(x, g, "nearest", "border", False)],
    N(1, 2, 4, 4),
    U(1, 3, 3, 2, low=-1, high=1),
)
case("affine_grid", lambda t: F.affine_grid(t, [1, 1, 3, 4]), N(1, 2, 3))
case("affine_channel", lambda x, s, b: C.affine_channel(x, s, b, "NCHW"), N(1, 3, 2, 2), N(3), N(3))
case(
    "pad",
    lambda x: [
        F.pad(x, [1, 2, 0, 1]),
        F.pad(x, [1, 1, 1, 1], "reflect"),
        F.pad(x, [1, 1, 0, 2], "replicate"),
        F.pad(x, [1, 0, 0, 1], "circular"),
        F.pad(x, [1, 2], value=2.0, data_format="NCHW") if False else F.pad(x, [0, 0, 1, 0, 2, 0, 0, 1]),
    ],
    N(1, 2, 3, 3),
)
case("pad3d NHWC", lambda x: F.pad(x, [1, 2, 0, 1], data_format="NHWC", value=1.5), N(1, 3, 3, 2))
case(
    "pixel_shuffle",
    lambda x: [F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 2), C.shuffle_channel(x, 2)],
    N(1, 4, 2, 2),
)
case("temporal_shift", lambda x: F.temporal_shift(x, 2, 0.25), N(4, 4, 2, 2))
case("unfold fold", lambda x: [F.unfold(x, 2, 1, 1), F.fold(F.unfold(x, 2, 2), [4, 4], 2, 2)], N(1, 2, 4, 4))

case("im2sequence", lambda x: C.im2sequence(x, None, [2, 3], [1, 2], [1, 0, 0, 1], [1, 1]), N(2, 2, 4, 5))
case("fractional_max_pool", lambda x: [*C.fractional_max_pool2d(x, [3, 2], [0, 0], 0.3, True)], N(1, 2, 7, 5))

# --- norms


def _batch_norm(x: Any, m: Any, v: Any, s: Any, b: Any, form: str = "NCHW") -> Any:
    return F.batch_norm(x, m, v, s, b, training=False, data_format=form)


case(
    "batch_norm",
    _batch_norm_of := lambda x, m, v, s, b: _batch_norm(x, m, v, s, b),
    N(2, 3, 2, 2),
    N(3),
    U(3),
    N(3),
    N(3),
)
case("batch_norm NHWC", lambda x, m, v, s, b: _batch_norm(x, m, v, s, b, "NHWC"), N(2, 2, 2, 3), N(3), U(3), N(3), N(3))
case("batch_norm rank 2", lambda x, m, v, s, b: _batch_norm(x, m, v, s, b, "NC"), N(4, 3), N(3), U(3), N(3), N(3))
case(
    "layer_norm",
    lambda x, s, b: [F.layer_norm(x, [4], s, b), F.layer_norm(x, [3, 4]), F.layer_norm(x, [4], s, None, 1e-3)],
    N(2, 3, 4),
    N(4),
    N(4),
)
case("instance_norm", lambda x, s, b: F.instance_norm(x, weight=s, bias=b), N(2, 3, 2, 2), N(3), N(3))
case("group_norm", lambda x, s, b: F.group_norm(x, 2, weight=s, bias=b), N(2, 4, 2, 2), N(4), N(4))
case("lrn", lambda x: [F.local_response_norm(x, 3)], N(1, 4, 2, 2))
case("spectral_norm", lambda w, u, v: C.spectral_norm(w, u, v, 0, 2, 1e-12), N(3, 4), N(3), N(4))
case("normalize", lambda x: F.normalize(x), N(2, 3))

case("matrix_rank_tol lu_solve", lambda x, t: C.matrix_rank_tol(x, t, False, False), N(3, 2), A(0.1))
case("lu_solve", lambda x, y: paddle.linalg.lu_solve(y, *paddle.linalg.lu(x)[:2]), S(3), N(3, 2))
case(
    "yolo_loss",
    lambda x, b, y: V.yolo_loss(x, b, y, [10, 13, 16, 30], [0, 1], 2, 0.7, 32),
    N(1, 14, 2, 2),
    U(1, 3, 4, high=0.4),
    K(1, 3, high=2, dtype="int32"),
)
case("select by a flag", lambda x, y: paddle.where(x.sum() > 0, x, y), N(3), N(3))

# --- attention and what was fused

case(
    "flash_attn",
    lambda q, k, v: [F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, v, is_causal=True)],
    N(1, 3, 2, 4),
    N(1, 3, 2, 4),
    N(1, 3, 2, 4),
)
case(
    "attention by matmul",
    lambda q, k, m: F.softmax(paddle.matmul(q, k, transpose_y=True) * 0.5 + m, -1),
    N(1, 2, 3, 4),
    N(1, 2, 3, 4),
    N(1, 1, 3, 3),
)
case("fc", lambda x, w, b: C.fc(x, w, b, 2, "relu", False), N(2, 3, 4), N(4, 5), N(5))
case("fusion_squared_mat_sub", lambda x, y: C.fusion_squared_mat_sub(x, y, 0.5)[-1], N(2, 3), N(3, 2))
case(
    "fusion_repeated_fc_relu",
    lambda x, w1, w2, b1, b2: C.fusion_repeated_fc_relu(x, [w1, w2], [b1, b2])[1],
    N(2, 3),
    N(3, 4),
    N(4, 2),
    N(4),
    N(2),
)
case("fused_softmax_mask", lambda x, m: C.fused_softmax_mask(x, m), N(1, 2, 4, 8), N(1, 1, 4, 8))
case(
    "fused_dropout_add",
    lambda x, y: paddle.incubate.nn.functional.fused_dropout_add(x, y, 0.5, training=False),
    N(2, 3),
    N(2, 3),
)

# --- losses

case("bce_loss", lambda x, y: F.binary_cross_entropy(x, y, reduction="none"), U(2, 3), U(2, 3))
case(
    "sigmoid_cross_entropy_with_logits",
    lambda x, y: [
        F.binary_cross_entropy_with_logits(x, y, reduction="none"),
        C.sigmoid_cross_entropy_with_logits(x, y, None, True, -100),
    ],
    N(2, 3),
    U(2, 3),
)
case(
    "cross_entropy",
    lambda x, y: [
        F.cross_entropy(x, y),
        F.cross_entropy(x, y, reduction="none"),
        *F.softmax_with_cross_entropy(x, paddle.unsqueeze(y, 1), return_softmax=True),
    ],
    N(3, 4),
    K(3, high=4),
)
case("cross_entropy soft", lambda x, y: F.cross_entropy(x, F.softmax(y), soft_label=True), N(3, 4), N(3, 4))
case(
    "smooth_l1_loss",
    lambda x, y: [F.smooth_l1_loss(x, y, reduction="none"), C.huber_loss(x, y, 0.5)[0]],
    N(2, 3),
    N(2, 3),
)
case("kldiv_loss", lambda x, y: [F.kl_div(x, y), F.kl_div(x, y, "none"), F.kl_div(x, y, "batchmean")], N(2, 3), U(2, 3))
case("log_loss", lambda x, y: F.log_loss(x, y), U(3, 1), U(3, 1))
case(
    "nll_loss",
    lambda x, y, w: [F.nll_loss(F.log_softmax(x), y), F.nll_loss(F.log_softmax(x), y, w, reduction="sum")],
    N(3, 4),
    K(3, high=4),
    U(4),
)
case("mse_loss l1", lambda x, y: [F.mse_loss(x, y), F.l1_loss(x, y)], N(3), N(3))
case("hinge_loss", lambda x, y: C.hinge_loss(x, y), N(3, 1), A([[1.0], [0.0], [1.0]]))
case("identity_loss", lambda x: [C.identity_loss(x, 0), C.identity_loss(x, 1), C.identity_loss(x, 2)], N(3))
case(
    "ctc_loss",
    lambda x, y, n, m: F.ctc_loss(x, y, n, m, reduction="none"),
    N(5, 2, 4),
    K(2, 2, low=1, high=4, dtype="int32"),
    A([5, 4], "int64"),
    A([2, 1], "int64"),
)

# --- recurrent


def _rnn(kind: str, x: Any, weights: list[Any], states: list[Any], layers: int, both: bool, size: int) -> Any:
    out = C.rnn(
        x, states, weights, None, paddle.full([1], 0, "uint8"), 0.0, both, x.shape[-1], size, layers, kind, 0, True
    )
    return [out[0], *out[2]]


case(
    "rnn LSTM",
    lambda x, h, c, w, u, a, b: _rnn("LSTM", x, [w, u, a, b], [h, c], 1, False, 2),
    N(3, 2, 3),
    N(1, 2, 2),
    N(1, 2, 2),
    N(8, 3),
    N(8, 2),
    N(8),
    N(8),
)
case(
    "rnn GRU",
    lambda x, h, w, u, a, b: _rnn("GRU", x, [w, u, a, b], [h], 1, False, 2),
    N(3, 2, 3),
    N(1, 2, 2),
    N(6, 3),
    N(6, 2),
    N(6),
    N(6),
)
case(
    "rnn RNN_TANH both",
    lambda x, h, w, u, v, y, a, b, c, d: _rnn("RNN_TANH", x, [w, u, v, y, a, b, c, d], [h], 1, True, 2),
    N(3, 2, 3),
    N(2, 2, 2),
    N(2, 3),
    N(2, 2),
    N(2, 3),
    N(2, 2),
    N(2),
    N(2),
    N(2),
    N(2),
)
case(
    "rnn LSTM two layers",
    lambda x, h, c, w, u, v, y, a, b, d, e: _rnn("LSTM", x, [w, u, v, y, a, b, d, e], [h, c], 2, False, 2),
    N(3, 2, 3),
    N(2, 2, 2),
    N(2, 2, 2),
    N(8, 3),
    N(8, 2),
    N(8, 2),
    N(8, 2),
    N(8),
    N(8),
    N(8),
    N(8),
)
case(
    "gru_unit",
    lambda x, h, w, b: [*C.gru_unit(x, h, w, b, 2, 1, False)[1:], *C.gru_unit(x, h, w, b, 2, 1, True)[1:]],
    N(2, 6),
    N(2, 2),
    N(2, 6),
    N(1, 6),
)
case("row_conv add_position_encoding", lambda x: C.add_position_encoding(x, 0.5, 2.0), N(2, 3, 4))
case("viterbi_decode", lambda x, t, n: [*paddle.text.viterbi_decode(x, t, n)], N(2, 3, 4), N(4, 4), A([3, 2], "int64"))

case("crf_decoding", lambda x, t, n: C.crf_decoding(x, t, None, n), N(2, 4, 3), N(5, 3), A([[4], [2]], "int64"))
case(
    "crf_decoding marks",
    lambda x, t, y, n: C.crf_decoding(x, t, y, n),
    N(2, 4, 3),
    N(5, 3),
    K(2, 4, high=3),
    A([[4], [2]], "int64"),
)
case(
    "ctc_align",
    lambda x, n: [*C.ctc_align(x, n, 0, True, 0)],
    A([[0, 1, 1, 0, 2, 2], [3, 3, 0, 3, 0, 0]], "int32"),
    A([[6], [4]], "int32"),
)
case(
    "ctc_align apart",
    lambda x, n: [*C.ctc_align(x, n, 0, False, -1)],
    A([[0, 1, 1, 0, 2, 2], [3, 3, 0, 3, 0, 0]], "int32"),
    A([[6], [5]], "int32"),
)
case(
    "eager edit_distance",
    lambda x, y, n, m: [*C.edit_distance(x, y, n, m, False), *C.edit_distance(x, y, n, m, True)],
    K(3, 5),
    K(3, 4),
    A([5, 3, 4], "int64"),
    A([4, 4, 2], "int64"),
)

# --- quantise

case(
    "quantize_linear",
    lambda x, s: C.quantize_linear(
        x, s, paddle.zeros_like(s), paddle.ones_like(s), paddle.ones_like(s), -1, 8, -128, 127, 0, True, False
    )[0],
    N(2, 3),
    A([1.5]),
)
case(
    "quantize_linear per channel",
    lambda x, s: C.quantize_linear(
        x, s, paddle.zeros_like(s), paddle.ones_like(s), paddle.ones_like(s), 1, 8, -128, 127, 0, True, False
    )[0],
    N(2, 3),
    A([1.5, 0.5, 2.0]),
)
case("fake_quantize_abs_max", lambda x: [*C.fake_quantize_abs_max(x, 8, 1), *C.fake_quantize_abs_max(x, 8, 0)], N(2, 3))
case("fake_quantize_dequantize_abs_max", lambda x: [*C.fake_quantize_dequantize_abs_max(x, 8, 1)], N(2, 3))
case(
    "fake_channel_wise",
    lambda x: [
        *C.fake_channel_wise_quantize_abs_max(x, 8, 1, 0, False),
        *C.fake_channel_wise_quantize_dequantize_abs_max(x, 8, 1, 1),
    ],
    N(2, 3, 2, 2),
)
case("fake_dequantize_max_abs", lambda x, s: C.fake_dequantize_max_abs(x, s, 127.0), A([-3.0, 100.0]), A([2.0]))
case(
    "fake_quantize_dequantize_moving",
    lambda x, s, a, t: C.fake_quantize_dequantize_moving_average_abs_max(x, s, a, t, 0.9, 8, True, 1)[0],
    N(2, 3),
    A([1.5]),
    A([1.0]),
    A([1.0]),
)

case("dequantize_log", lambda x, d: C.dequantize_log(x, d), A([-128, -3, 0, 127], "int8"), U(128))
case(
    "fake_channel_wise_dequantize_max_abs",
    lambda x, s, t: [
        C.fake_channel_wise_dequantize_max_abs(x, [s], [8], 1, 1),
        C.fake_channel_wise_dequantize_max_abs(x, [s, t], [8, 8], 0, 1),
    ],
    N(2, 3) * 50,
    U(3),
    U(1),
)

# --- signals, graphs

case(
    "fft",
    lambda x: [
        paddle.as_real(f)
        for f in (
            paddle.fft.rfft(x),
            paddle.fft.fft(paddle.complex(x, x * 0.5)),
            paddle.fft.ifft(paddle.complex(x, x)),
            paddle.fft.fft2(paddle.complex(x, x), norm="ortho"),
        )
    ],
    N(4, 4),
)
case(
    "irfft",
    lambda x: [
        paddle.fft.irfft(paddle.fft.rfft(x)),
        paddle.fft.irfft(paddle.fft.rfft(x), n=5),
        paddle.fft.hfft(paddle.complex(x, x)),
    ],
    N(2, 6),
)
case(
    "frame overlap_add",
    lambda x: [paddle.signal.frame(x, 4, 2), paddle.signal.overlap_add(paddle.signal.frame(x, 4, 2), 2)],
    N(2, 8),
)
case("stft", lambda x: paddle.as_real(paddle.signal.stft(x, 8, 4)), N(1, 32))
case(
    "send_u_recv",
    lambda x, s, d: [paddle.geometric.send_u_recv(x, s, d, r) for r in ("sum", "mean", "max", "min")],
    N(3, 2),
    A([0, 1, 2, 0], "int64"),
    A([1, 2, 1, 0], "int64"),
)
case(
    "send_ue_recv send_uv",
    lambda x, y, s, d: [
        paddle.geometric.send_ue_recv(x, y, s, d, "add", "sum"),
        paddle.geometric.send_uv(x, x, s, d, "mul"),
    ],
    N(3, 2),
    N(4, 2),
    A([0, 1, 2, 0], "int64"),
    A([1, 2, 1, 0], "int64"),
)
case(
    "eager segment",
    lambda x, i: [paddle.geometric.segment_sum(x, i), paddle.geometric.segment_max(x, i)],
    N(4, 2),
    A([0, 0, 1, 2], "int64"),
)

# --- detection

case(
    "yolo_box", lambda x, s: [*V.yolo_box(x, s, [10, 13, 16, 30], 2, 0.01, 32)], N(1, 14, 2, 2), A([[64, 64]], "int32")
)
case(
    "yolo_box iou_aware",
    lambda x, s: [*V.yolo_box(x, s, [10, 13, 16, 30], 2, 0.01, 32, iou_aware=True, scale_x_y=1.1, clip_bbox=False)],
    N(1, 16, 2, 2),
    A([[64, 64]], "int32"),
)
case(
    "prior_box",
    lambda x, y: [*V.prior_box(x, y, [4.0], [8.0], [1.0, 2.0], flip=True, clip=True)],
    N(1, 2, 2, 2),
    N(1, 3, 16, 16),
)
case(
    "box_coder",
    lambda p, v, t: [
        V.box_coder(p, v, t, "decode_center_size"),
        V.box_coder(p, [0.1, 0.1, 0.2, 0.2], t[0], "encode_center_size", False),
    ],
    A([[1.0, 1, 5, 6], [2, 3, 8, 9]]),
    A([[0.1, 0.1, 0.2, 0.2]] * 2),
    U(2, 2, 4),
)
case(
    "anchor_generator",
    lambda x: [*C.anchor_generator(x, [16.0, 32.0], [0.5, 1.0], [0.1, 0.1, 0.2, 0.2], [16.0, 16.0], 0.5)],
    N(1, 2, 2, 3),
)
case(
    "roi_align",
    lambda x, b, n: [
        V.roi_align(x, b, n, 2, 0.5),
        V.roi_align(x, b, n, 2, 0.5, aligned=False, sampling_ratio=2),
        V.roi_pool(x, b, n, 2, 0.5),
    ],
    N(1, 2, 6, 6),
    A([[0.0, 0, 6, 6], [2, 2, 10, 9]]),
    A([2], "int32"),
)
case("psroi_pool", lambda x, b, n: V.psroi_pool(x, b, n, 2, 1.0), N(1, 8, 4, 4), A([[0.0, 0, 3, 3]]), A([1], "int32"))
_BOXES = A([[[0.0, 0, 4, 4], [0, 0, 4, 3.5], [5, 5, 9, 9], [5, 5, 9, 8.5], [1, 1, 2, 2]]])
case(
    "eager multiclass_nms3",
    lambda b, s: [*C.multiclass_nms3(b, s, None, 0.05, 10, 10, 0.3, True, 1.0, -1)],
    _BOXES,
    U(1, 3, 5),
)
case(
    "eager multiclass_nms3 background",
    lambda b, s: [*C.multiclass_nms3(b, s, None, 0.2, 3, 4, 0.5, False, 1.0, 0)],
    _BOXES,
    U(1, 3, 5),
)
case("eager matrix_nms", lambda b, s: [*V.matrix_nms(b, s, 0.1, 0.05, 10, 10, return_index=True)], _BOXES, U(1, 3, 5))
case("eager nms", lambda b: C.nms(b, 0.3), _BOXES[0])
case(
    "eager nonzero",
    lambda x: [paddle.nonzero(x), paddle.masked_select(x, x > 0), *paddle.unique(x, True, True, True)],
    A([0.0, 2.0, 0.0, 2.0, -1.0]),
)
case("eager unique_consecutive", lambda x: [*paddle.unique_consecutive(x, True, True)], A([1, 1, 2, 2, 2, 1], "int64"))
case(
    "eager distribute_fpn_proposals",
    lambda b, n: (lambda r: [*r[0], r[1], *r[2]])(V.distribute_fpn_proposals(b, 2, 5, 4, 224, rois_num=n)),
    A([[0.0, 0, 100, 100], [0, 0, 300, 300], [10, 10, 40, 40]]),
    A([3], "int32"),
)
case(
    "eager generate_proposals",
    lambda s, d, i, a, v: [*V.generate_proposals(s, d, i, a, v, 10, 5, 0.7, 1.0, return_rois_num=True)],
    U(1, 2, 3, 3),
    N(1, 8, 3, 3) * 0.1,
    A([[48.0, 48.0]]),
    U(3, 3, 2, 4) * 16 + A([0, 0, 16, 16]),
    U(3, 3, 2, 4),
)
case("eager bipartite_match", lambda x: [*C.bipartite_match(x, "per_prediction", 0.3)], U(3, 4))

# --- control flow

case("if", lambda x: paddle.static.nn.cond(x.sum() > 0, lambda: x + 1.0, lambda: x * 2.0), N(3))
case("if else", lambda x: paddle.static.nn.cond(x.sum() > 100, lambda: (x + 1.0, x), lambda: (x * 2.0, x - 1.0)), N(3))
case(
    "if nested",
    lambda x: paddle.static.nn.cond(
        x.sum() > -100, lambda: paddle.static.nn.cond(x.max() > 0, lambda: x * 3.0, lambda: x), lambda: -x
    ),
    N(3),
)
case(
    "if on a size",
    lambda x: paddle.static.nn.cond(paddle.shape(x)[0] > 2, lambda: x * 2.0, lambda: x - 1.0),
    Free(N(3, 2), 0),
)


def _count(x: Any) -> Any:
    i = paddle.full([1], 0, "int64")
    return paddle.static.nn.while_loop(
        lambda i, y: i < 3, lambda i, y: [i + 1, y * 2.0 + paddle.cast(i, "float32")], [i, x]
    )


def _nested(x: Any) -> Any:
    def inner(i: Any, y: Any) -> Any:
        j = paddle.full([1], 0, "int64")
        _, z, _ = paddle.static.nn.while_loop(lambda j, z, k: j < k, lambda j, z, k: [j + 1, z + x, k], [j, y, i])
        return [i + 1, z]

    return paddle.static.nn.while_loop(lambda i, y: i < 4, inner, [paddle.full([1], 0, "int64"), x])


case("while", _count, N(3))
case("while nested", _nested, N(3))
case(
    "while with if",
    lambda x: paddle.static.nn.while_loop(
        lambda i, y: i < 4,
        lambda i, y: [i + 1, paddle.static.nn.cond(y.sum() > 0, lambda: y - 1.0, lambda: y * 0.5)],
        [paddle.full([1], 0, "int64"), x],
    ),
    U(3),
)
case(
    "case switch_case",
    lambda x, i: [
        paddle.static.nn.switch_case(i, {0: lambda: x, 1: lambda: x * 2.0, 2: lambda: x * 3.0}),
        paddle.static.nn.case([(x.sum() > 1000, lambda: x), (x.sum() > -1000, lambda: x - 1.0)], lambda: x),
    ],
    N(3),
    A([1], "int32"),
)


def _growing(x: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        return [i + 1, paddle.concat([y, y[:, -1:] * 0.5 + 1.0], 1)]

    return paddle.static.nn.while_loop(lambda i, y: i < 4, body, [paddle.full([1], 0, "int64"), x])


case("while growing", _growing, Free(N(2, 3), 1))
case(
    "while of rows",
    lambda x: paddle.static.nn.while_loop(
        lambda i, y: i < 3, lambda i, y: [i + 1, y * 0.5], [paddle.full([1], 0, "int64"), x]
    ),
    Free(N(2, 3), 0),
)


case("static_pylayer", lambda x: paddle.static.nn.static_pylayer(lambda a: a * 2.0, [x], lambda g: g * 3.0), N(3))

# --- recording


def _encoded(x: np.ndarray) -> dict[str, Any]:
    return {
        "dtype": x.dtype.name,
        "shape": list(x.shape),
        "data": base64.b64encode(np.ascontiguousarray(x).tobytes()).decode(),
    }


def _flat(x: Any) -> list[Any]:
    return [z for y in x for z in _flat(y)] if isinstance(x, (list, tuple)) else [] if x is None else [x]


def recorded(name: str) -> dict[str, Any]:
    """The line of a case."""
    function, inputs = CASES[name]
    names = [
        n
        for n, p in inspect.signature(function).parameters.items()
        if p.default is inspect.Parameter.empty and n != "name"
    ]
    main = paddle.static.Program()
    feeds, variables = {}, []
    with paddle.static.program_guard(main, paddle.static.Program()):
        for n, x in zip(names, inputs):
            array = x.array if isinstance(x, Free) else x
            shape = [-1 if isinstance(x, Free) and i in x.axes else k for i, k in enumerate(array.shape)]
            variables.append(paddle.static.data(n, shape, array.dtype.name))
            feeds[n] = array
        results = _flat(function(*variables))
        exe = paddle.static.Executor(paddle.CPUPlace())
        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "m")
            paddle.static.save_inference_model(prefix, variables, results, exe, program=main)
            with open(prefix + ".json") as file:
                document = json.load(file)
        values = exe.run(main, feed=feeds, fetch_list=results, return_numpy=False)
    return {
        "name": name,
        "program": document,
        "feeds": {n: _encoded(x) for n, x in feeds.items()},
        "results": [_encoded(np.asarray(v)) for v in values],
    }


if __name__ == "__main__":
    paddle.enable_static()
    lines = []
    for case_name in CASES:
        try:
            lines.append(json.dumps(recorded(case_name), separators=(",", ":")))
        except Exception as error:  # what the reference cannot do on this machine is told, and is no case
            print(f"{case_name}: {type(error).__name__}: {str(error).strip().splitlines()[-1][:300]}")
    if len(sys.argv) > 1:
        with open(sys.argv[1], "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            packed.write("\n".join(lines).encode())
    print(f"{len(lines)} of {len(CASES)} cases")
