"""What each op should give, from PyTorch on the CPU, SciPy, or plain NumPy where neither has it.

``REFERENCES[name](*inputs, **attributes_and_params)`` takes arrays (low precision comes as float32), numbers and
None, and returns an array or a tuple of arrays. ``CHECKS[name](case, results)`` asserts what makes a result right where
there are several right ones. Every other op stands in ``WITHOUT`` with the reason.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.special
import torch
import torch.nn.functional as tf

REFERENCES: dict[str, Callable] = {}
CHECKS: dict[str, Callable] = {}
WITHOUT: dict[str, str] = {}


def reference(*names: str) -> Callable:
    def enter(f: Callable) -> Callable:
        for name in names or (f.__name__.rstrip("_"),):
            REFERENCES[name] = f
        return f

    return enter


def check(*names: str) -> Callable:
    def enter(f: Callable) -> Callable:
        for name in names or (f.__name__.removeprefix("check_"),):
            CHECKS[name] = f
        return f

    return enter


def to_torch(x: Any, like: Any = None) -> Any:
    if isinstance(x, np.ndarray):
        return torch.from_numpy(np.array(x, order="C"))
    return torch.tensor(x, dtype=like.dtype) if like is not None and x is not None else x


def to_numpy(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return x.detach().resolve_conj().resolve_neg().numpy()
    return tuple(map(to_numpy, x)) if isinstance(x, (tuple, list)) else x


def torch_call(f: Callable, *arrays: Any, **options: Any) -> Any:
    """``f`` on torch tensors; numbers become tensors of the dtype of the first array."""
    like = next(to_torch(a) for a in arrays if isinstance(a, np.ndarray))
    return to_numpy(f(*(to_torch(a, like) for a in arrays), **options))


# --- elementwise -----------------------------------------------------------------------------------------------------

for _name in (
    "abs acos acosh add angle asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil conj "
    "copysign cos cosh digamma div eq erf erfc erfinv exp exp2 expm1 floor fmax fmin gcd ge gt i0 imag isfinite "
    "isinf isnan isneginf isposinf lcm le lgamma log log10 log1p log2 logaddexp logical_and logical_not logical_or "
    "logical_xor lt maximum minimum mul ne neg nextafter real reciprocal "
    "round rsqrt signbit sin sinh sqrt square sub tan tanh trunc "
    "frac deg2rad rad2deg outer kron hypot sinc logit xlogy"
).split():
    _function = getattr(torch, _name, None) or getattr(torch.special, _name)
    REFERENCES[_name] = lambda *xs, _function=_function: torch_call(_function, *xs)

for _name, _special in {
    "i0e": "i0e", "i1": "i1", "i1e": "i1e", "igamma": "gammainc", "igammac": "gammaincc", "logistic": "expit",
}.items():  # fmt: skip
    REFERENCES[_name] = lambda *xs, _name=_special: torch_call(getattr(torch.special, _name), *xs)

# torch and SciPy give NaN at infinity.
for _name, _limit in {"i0": np.abs, "i1": np.positive}.items():
    REFERENCES[_name] = lambda x, _at=REFERENCES[_name], _limit=_limit: np.where(np.isinf(x), _limit(x), _at(x))
REFERENCES["sign"] = np.sign  # torch gives 0 for NaN
REFERENCES["heaviside"] = np.heaviside  # likewise
REFERENCES["copy"] = lambda x: x.copy()
REFERENCES["probability"] = lambda x: x.copy()  # of elements from 0 to 1
REFERENCES["transfer"] = lambda x, source, target: x.copy()
REFERENCES["complex"] = lambda a, b: np.asarray(a + 1j * np.asarray(b, a.dtype if hasattr(a, "dtype") else None))
REFERENCES["betainc"] = lambda a, b, x: scipy.special.betainc(a, b, x)
REFERENCES["polygamma"] = lambda x, n: to_numpy(torch.special.polygamma(n, to_torch(x)))
REFERENCES["multigammaln"] = lambda x, p: torch_call(lambda t: torch.special.multigammaln(t, p), x)
REFERENCES["ldexp"] = lambda x, y: np.asarray(x * np.exp2(np.asarray(y, getattr(x, "dtype", None))))


@reference("read_number")
def read_number(x: Any, n: int) -> Any:
    return np.asarray(x)


@reference("sized")
def sized(x: Any, sizes: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    assert all(x.shape[a] == n for a, n in zip(axes, sizes, strict=True))
    return np.asarray(x)


@reference("where")
def where(cond: Any, x: Any, y: Any) -> Any:
    like = next(a for a in (x, y) if isinstance(a, np.ndarray))
    return np.where(cond, np.asarray(x, like.dtype), np.asarray(y, like.dtype))


@reference()
def pow_(x: Any, y: Any) -> Any:
    like = next(a for a in (x, y) if isinstance(a, np.ndarray))
    if like.dtype.kind in "iu":
        x, y = np.asarray(x), np.asarray(y)

        def one(a: int, b: int) -> int:
            return int(a) ** int(b) if b >= 0 else {1: 1, -1: -1 if b % 2 else 1}.get(int(a), 0)

        made = np.vectorize(one, otypes=[object])(x, y)
        bits = 8 * like.dtype.itemsize
        return np.vectorize(lambda n: n % (1 << bits), otypes=[object])(made).astype(np.uint64).astype(like.dtype)
    return torch_call(torch.pow, x, y)


def integer_division(f: Callable) -> Callable:
    """Integers divided by 0 give 0."""

    def run(x: Any, y: Any) -> Any:
        like = next(a for a in (x, y) if isinstance(a, np.ndarray))
        if like.dtype.kind not in "iu":
            return torch_call(f, x, y)
        x, y = np.broadcast_arrays(np.asarray(x, like.dtype), np.asarray(y, like.dtype))
        zero = y == 0
        return np.where(zero, 0, torch_call(f, np.array(x), np.where(zero, 1, y).astype(like.dtype)))

    return run


REFERENCES["floor_div"] = integer_division(
    lambda x, y: torch.div(x, y, rounding_mode="floor") if not x.is_floating_point() else torch.floor(x / y)
)
REFERENCES["remainder"] = integer_division(torch.remainder)


# --- what PyTorch has no kernels for: complex numbers, divisors of floating ones -------------------------------------


def arrays_of(*operands: Any) -> list[np.ndarray]:
    """Operands of the dtype of the first array."""
    like = next(x for x in operands if isinstance(x, np.ndarray))
    return [np.asarray(x, like.dtype) for x in operands]


def nearest_remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    quotient = x / y
    return x - y * (np.floor(quotient.real + 0.5) + 1j * np.floor(quotient.imag + 0.5)).astype(x.dtype)


def exact_gcd_of_two(x: float, y: float) -> float:
    if x == 0 or y == 0:
        return abs(x + y)
    if not math.isfinite(x) or not math.isfinite(y):
        return math.nan
    (a, b), (p, q) = float(x).as_integer_ratio(), float(y).as_integer_ratio()
    return math.gcd(a * q, p * b) / (b * q)


exact_gcd = np.vectorize(exact_gcd_of_two, otypes=[np.float64])


def exact_lcm(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    divisor = exact_gcd(x, y).astype(x.dtype)
    return np.floor_divide(np.abs(x * y), np.where(divisor == 0, 1, divisor))


for _kinds, _table in {
    "c": {
        "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "round": np.rint,
        "deg2rad": lambda x: x * (math.pi / 180), "rad2deg": lambda x: x * (180 / math.pi),
        "hypot": lambda x, y: np.sqrt(x * x + y * y), "remainder": nearest_remainder,
    },
    "f": {"gcd": lambda x, y: exact_gcd(x, y).astype(x.dtype), "lcm": exact_lcm},
}.items():  # fmt: skip
    for _name, _own in _table.items():

        def by_kind(*xs: Any, _kinds: str = _kinds, _own: Callable = _own, _of: Callable = REFERENCES[_name]) -> Any:
            own = arrays_of(*xs)
            return _own(*own) if own[0].dtype.kind == _kinds else _of(*xs)

        REFERENCES[_name] = by_kind
REFERENCES["fmod"] = integer_division(torch.fmod)
REFERENCES["shift_left"] = lambda x, y: torch_call(torch.bitwise_left_shift, x, y)
REFERENCES["shift_right"] = lambda x, y: torch_call(torch.bitwise_right_shift, x, y)


@reference()
def shift_right_logical(x: Any, y: Any) -> Any:
    like = next(a for a in (x, y) if isinstance(a, np.ndarray))
    unsigned = np.dtype(f"u{like.dtype.itemsize}")
    return np.right_shift(np.asarray(x, like.dtype).view(unsigned), np.asarray(y, like.dtype).astype(unsigned)).view(
        like.dtype
    )


@reference()
def cast(x: np.ndarray, dtype: Any) -> Any:
    if dtype.is_bool:
        return x != 0
    name = {"bool": "bool"}.get(dtype.name, dtype.name)
    made = to_torch(x)
    if made.is_complex() and not dtype.is_complex:
        made = made.real
    made = made.to(getattr(torch, name))
    return made.float().numpy() if dtype.is_floating and dtype.itemsize < 4 else made.numpy()


REFERENCES["isclose"] = lambda x, y, equal_nan, rtol, atol: np.isclose(x, y, rtol, atol, equal_nan)
REFERENCES["lerp"] = lambda x, y, weight: x + weight * (y - x)
REFERENCES["polar"] = lambda r, angle: r * np.exp(1j * angle)
REFERENCES["nan_to_num"] = lambda x, nan, posinf, neginf: np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
REFERENCES["addcmul"] = lambda a, x, y, value: a + value * x * y
REFERENCES["addcdiv"] = lambda a, x, y, value: a + value * x / y
REFERENCES["frexp"] = lambda x: np.frexp(x)


@reference("logit")
def logit(x: np.ndarray, eps: float) -> Any:
    return torch_call(lambda t: torch.logit(t, eps if eps > 0 else None), x)


@reference()
def scale(x: np.ndarray, bias_after_scale: bool, scale: float, bias: float) -> Any:
    if x.dtype.kind in "iu":
        scale, bias = int(scale), int(bias)
    return (
        x * x.dtype.type(scale) + x.dtype.type(bias)
        if bias_after_scale
        else (x + x.dtype.type(bias)) * x.dtype.type(scale)
    )


@reference()
def clip(x: np.ndarray, low: Any, high: Any) -> Any:
    x = x if low is None else np.maximum(x, np.asarray(low, x.dtype))
    return x if high is None else np.minimum(x, np.asarray(high, x.dtype))


# --- activations -----------------------------------------------------------------------------------------------------


def _log1p_exp(x: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(x.astype(np.complex128)))


def functional(name: str, *order: str, **fixed: Any) -> Callable:
    """torch.nn.functional's function; ``order`` are the params it takes by position."""
    f = getattr(tf, name)
    return lambda x, **params: torch_call(lambda t: f(t, *(params[k] for k in order), **fixed), x)


for _name, _order in {
    "celu": ("alpha",), "elu": ("alpha",), "hardshrink": ("threshold",), "leaky_relu": ("negative_slope",), "mish": (),
    "relu": (), "relu6": (), "silu": (), "softshrink": ("threshold",),
    "softsign": (), "tanhshrink": (), "softmax": ("axis",), "log_softmax": ("axis",), "glu": ("axis",),
    "hardtanh": ("min", "max"),
}.items():  # fmt: skip
    REFERENCES[_name] = functional(_name, *_order)

REFERENCES["log_sigmoid"] = lambda x: -_log1p_exp(-x) if x.dtype.kind == "c" else torch_call(tf.logsigmoid, x)
REFERENCES["softplus"] = lambda x, beta, threshold: (
    np.where(x.real * beta > threshold, x, _log1p_exp(x * beta) / beta)
    if x.dtype.kind == "c"
    else torch_call(lambda t: tf.softplus(t, beta, threshold), x)
)
REFERENCES["thresholded_relu"] = lambda x, threshold, fill: np.where(x <= threshold, x.dtype.type(fill), x)
REFERENCES["gelu"] = lambda x, approximate: (
    torch_call(tf.gelu, x, approximate="tanh") if approximate else x * scipy.special.ndtr(np.float64(x))
)
REFERENCES["hardsigmoid"] = lambda x, alpha, offset: np.clip(alpha * x + offset, 0, 1)
REFERENCES["hardswish"] = lambda x, threshold, scale, offset: x * np.clip(x + offset, 0, threshold) / scale
REFERENCES["prelu"] = lambda x, weight: np.where(x > 0, x, weight * x)
REFERENCES["selu"] = lambda x, scale, alpha: scale * np.where(x > 0, x, alpha * np.expm1(x))
REFERENCES["stanh"] = lambda x, scale_a, scale_b: scale_b * np.tanh(scale_a * x)
REFERENCES["swish"] = lambda x, beta: x * scipy.special.expit(beta * x)
REFERENCES["swiglu"] = lambda x, y: torch_call(tf.silu, x) * y
REFERENCES["swiglu_packed"] = lambda x, axis: (lambda a, b: torch_call(tf.silu, a) * b)(*np.split(x, 2, axis))


@reference()
def maxout(x: np.ndarray, axis: int, groups: int) -> Any:
    moved = np.moveaxis(x, axis, -1)
    return np.moveaxis(moved.reshape(*moved.shape[:-1], moved.shape[-1] // groups, groups).max(-1), -1, axis)


# --- attention -------------------------------------------------------------------------------------------------------


def attention_parts(
    q: Any, k: Any, v: Any, mask: Any, blocks: Any, causal: bool, dropout: bool,
    softcap: float, scale: float, p: float = 0.0, seed: int = 0, offset: int = 0,
) -> tuple:  # fmt: skip
    """Result and log-sum-exp, in torch: head by head."""
    b, sq, h, _ = q.shape
    sk, heads = k.shape[1], k.shape[2]
    k, v = (x.repeat_interleave(h // heads, dim=2) for x in (k, v))
    scores = scale * torch.einsum("bqhd,bkhd->bhqk", q, k)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if causal:
        allowed = torch.ones(sq, sk, dtype=torch.bool).tril(sk - sq)
        scores = scores.masked_fill(~allowed, -math.inf)
    if mask is not None and mask.dtype == torch.int32:
        row, columns = torch.arange(sq)[:, None], [c[:, :, None] for c in mask.unbind(3)]
        within = lambda begin, end: (row >= begin) & (row < end)  # noqa: E731
        if causal:
            hidden = within(columns[0], columns[1] if len(columns) == 2 else sq)
        elif len(columns) == 2:
            hidden = (row >= columns[0]) | (row < columns[1])
        else:
            hidden = within(*columns[:2]) | within(*columns[2:])
        if blocks is not None:
            hidden = hidden | (blocks[:, :, torch.arange(sq) // 128][..., torch.arange(sk) // 128] == 0)
        mask = ~hidden.repeat_interleave(h // mask.shape[1], 1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    lse = torch.logsumexp(scores, -1)
    weights = torch.exp(scores - lse.masked_fill(lse == -math.inf, 0)[..., None])
    if dropout:
        words = np.array([philox_word(offset // 4 * 4 + i, seed) for i in range(b * h * sq * (-(-sk // 4) * 4))])
        kept = (words.reshape(b, h, sq, -(-sk // 4) * 4)[..., :sk] >> 8) * 2.0**-24 >= np.float32(p)
        weights = torch.where(torch.from_numpy(kept), weights / max(1 - p, 1e-12), 0.0)
    return torch.einsum("bhqk,bkhe->bqhe", weights, v), lse


def double(x: Any) -> Any:
    t = to_torch(x)
    return t.double() if t is not None and t.is_floating_point() else t


@reference()
def attention(q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float) -> Any:
    return to_numpy(attention_parts(*map(double, (q, k, v, mask)), None, causal, False, 0.0, scale)[0])


@reference()
def attention_train(*args: Any, **words: Any) -> Any:
    return to_numpy(attention_parts(*map(double, args[:5]), *args[5:], **words))


@reference()
def attention_grad(
    q: Any, k: Any, v: Any, out: Any, lse: Any, grad: Any, mask: Any, blocks: Any, grad_lse: Any, causal: bool,
    dropout: bool, with_mask: bool, softcap: float, *params: Any, **words: Any,
) -> Any:  # fmt: skip
    wanted = [double(x).requires_grad_() for x in (q, k, v)]
    mask = double(mask)
    if with_mask:
        mask.requires_grad_()
        wanted.append(mask)
    made, sums = attention_parts(*wanted[:3], mask, double(blocks), causal, dropout, softcap, *params, **words)
    ends, grads = [made], [double(grad)]
    if grad_lse is not None:
        seen = ~torch.isinf(sums)
        ends, grads = [made, sums[seen]], [*grads, double(grad_lse)[seen]]
    return to_numpy(torch.autograd.grad(ends, wanted, grads, allow_unused=False))


def rows_of_sequences(pages: Any, tables: Any, ends: Any) -> list:
    """Of each sequence its rows ``[positions, heads, dim]``, one by one out of their pages."""
    size = pages.shape[2]
    at = [[pages[tables[b, p // size], :, p % size] for p in range(end)] for b, end in enumerate(ends)]
    return [np.stack(rows) if rows else np.zeros((0, pages.shape[1], pages.shape[3])) for rows in at]


@reference()
def write_pages(pages: Any, rows: Any, tables: Any, counts: Any, before: Any) -> Any:
    new, rows, size = np.array(pages), iter(rows), pages.shape[-2]
    listed = new.reshape(-1, *pages.shape[-3:])
    for b, n in enumerate(counts):
        for p in range(before[b], before[b] + n):
            listed[tables[b, p // size], :, p % size] = next(rows)
    return new


@reference()
def paged_attention(
    q: Any, key_pages: Any, value_pages: Any, tables: Any, counts: Any, before: Any, mask: Any, key_scale: Any,
    value_scale: Any, causal: bool, scale: float,
) -> Any:  # fmt: skip
    q = q.astype(np.float64)
    ends = np.where(counts > 0, before + counts, 0)
    keys, values = (rows_of_sequences(pages.astype(np.float64), tables, ends) for pages in (key_pages, value_pages))
    outs, first = [np.zeros((0, q.shape[1], value_pages.shape[3]))], 0
    for b, n in enumerate(counts):
        k, v, own = keys[b], values[b], q[first : first + n]
        if key_scale is not None:
            k, v = ((x - 128) * s[min(b, len(s) - 1), :, None] for x, s in ((k, key_scale), (v, value_scale)))
        k, v = (np.repeat(x, q.shape[1] // key_pages.shape[1], 1) for x in (k, v))
        scores = scale * np.einsum("nhd,mhd->hnm", own, k)
        if mask is not None:
            scores += mask[min(b, len(mask) - 1), :, : n if mask.shape[2] > 1 else 1, : ends[b]]
        if causal:
            scores[:, np.arange(ends[b]) > before[b] + np.arange(n)[:, None]] = -np.inf
        p = np.exp(scores - scores.max(-1, keepdims=True, initial=-1e9))
        outs.append(np.einsum("hnm,mhe->nhe", p / p.sum(-1, keepdims=True), v))
        first += n
    return np.concatenate(outs)


# --- convolution -----------------------------------------------------------------------------------------------------


def torch_pads(lo: Sequence, hi: Sequence) -> list:
    return [n for pair in zip(reversed(lo), reversed(hi)) for n in pair]


def convolve(x: Any, w: Any, nd: int, groups: int, strides: Any, lo: Any, hi: Any, dilations: Any) -> Any:
    f = (None, tf.conv1d, tf.conv2d, tf.conv3d)[nd]
    return f(tf.pad(x, torch_pads(lo, hi)), w, None, strides, 0, dilations, groups)


@reference()
def conv(x: Any, w: Any, nd: int, groups: int, strides: Any, pads_lo: Any, pads_hi: Any, dilations: Any) -> Any:
    return to_numpy(convolve(to_torch(x), to_torch(w), nd, groups, strides, pads_lo, pads_hi, dilations))


@reference()
def conv_input_grad(
    g: Any, w: Any, nd: int, groups: int, strides: Any, pads_lo: Any, pads_hi: Any, dilations: Any, sizes: Any
) -> Any:
    g, w = to_torch(g), to_torch(w)
    x = torch.zeros(g.shape[0], w.shape[1] * groups, *sizes, dtype=g.dtype, requires_grad=True)
    y = convolve(x, w, nd, groups, strides, pads_lo, pads_hi, dilations)
    return to_numpy(torch.autograd.grad(y, x, g)[0])


@reference()
def conv_weight_grad(
    x: Any, g: Any, nd: int, groups: int, strides: Any, pads_lo: Any, pads_hi: Any, dilations: Any, sizes: Any
) -> Any:
    x, g = to_torch(x), to_torch(g)
    w = torch.zeros(g.shape[1], x.shape[1] // groups, *sizes, dtype=g.dtype, requires_grad=True)
    y = convolve(x, w, nd, groups, strides, pads_lo, pads_hi, dilations)
    return to_numpy(torch.autograd.grad(y, w, g)[0])


@reference()
def conv_transpose(
    x: Any, w: Any, nd: int, groups: int, strides: Any, pads_lo: Any, pads_hi: Any, dilations: Any, extra: Any
) -> Any:
    f = (None, tf.conv_transpose1d, tf.conv_transpose2d, tf.conv_transpose3d)[nd]
    whole = f(to_torch(x), to_torch(w), None, strides, 0, 0, groups, dilations)
    # Negative pads crop.
    return to_numpy(tf.pad(whole, torch_pads([-n for n in pads_lo], [e - n for e, n in zip(extra, pads_hi)])))


# --- creation --------------------------------------------------------------------------------------------------------


@reference()
def full(value: Any, dtype: Any, shape: Any) -> Any:
    wide = dtype.compute.numpy
    return np.full(shape, np.asarray(value).astype(wide) if isinstance(value, np.ndarray) else value).astype(wide)


@reference()
def iota(start: Any, step: Any, dtype: Any, size: int) -> Any:
    wide = dtype.compute.numpy
    start, step = (np.asarray(v).astype(wide) for v in (start, step))
    return start + step * np.arange(size).astype(wide)


@reference()
def sum_to(x: np.ndarray, shape: tuple) -> Any:
    x = x.sum(tuple(range(x.ndim - len(shape))))
    return x.sum(tuple(i for i, n in enumerate(shape) if n == 1 != x.shape[i]), keepdims=True)


@reference()
def linspace(start: Any, stop: Any, dtype: Any, size: int) -> Any:
    return np.linspace(np.float64(start), np.float64(stop), size).astype(dtype.compute.numpy)


@reference()
def logspace(start: Any, stop: Any, dtype: Any, size: int, base: float) -> Any:
    return np.logspace(np.float64(start), np.float64(stop), size, base=base).astype(dtype.compute.numpy)


# --- Fourier ---------------------------------------------------------------------------------------------------------


@reference()
def fft(x: Any, axes: Any, norm: str, inverse: bool) -> Any:
    return (scipy.fft.ifftn if inverse else scipy.fft.fftn)(x, axes=axes, norm=norm) if x.size else x


def halved(f: Callable) -> Callable:
    """Transforms whose last axis has ``n`` real points."""

    def run(x: Any, axes: Any, norm: str, n: int) -> Any:
        sizes = [x.shape[a] for a in axes[:-1]] + [n]
        if not x.size:
            return np.zeros([n if i == axes[-1] else size for i, size in enumerate(x.shape)], x.real.dtype)
        return torch_call(f, x, s=sizes, dim=axes, norm=norm)

    return run


@reference()
def rfft(x: Any, axes: Any, norm: str) -> Any:
    if x.size:
        return torch_call(torch.fft.rfftn, x, dim=axes, norm=norm)
    return np.zeros(
        [n // 2 + 1 if i == axes[-1] else n for i, n in enumerate(x.shape)], np.result_type(x.dtype, np.complex64)
    )


REFERENCES["irfft"] = halved(torch.fft.irfftn)
REFERENCES["hfft"] = halved(torch.fft.hfftn)
REFERENCES["ihfft"] = lambda x, axes, norm: torch_call(torch.fft.ihfftn, x, dim=axes, norm=norm)
REFERENCES["fft_shift"] = lambda x, axes, inverse: (np.fft.ifftshift if inverse else np.fft.fftshift)(x, axes)


# --- gather and scatter ----------------------------------------------------------------------------------------------

COMBINE = {"set": None, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def addressed(indices: tuple, axes: tuple | None) -> tuple:
    """An index of NumPy in which indices stand at axes."""
    given = dict(zip(range(len(indices)) if axes is None else axes, indices, strict=True))
    return tuple(given.get(a, slice(None)) for a in range(max(given) + 1))


def combine_at(x: np.ndarray, where: tuple, updates: Any, mode: str, fresh: bool = False) -> np.ndarray:
    x = x.copy()
    updates = np.asarray(updates, x.dtype)
    if mode == "set":
        x[where] = updates
        return x
    if fresh:
        limits = np.iinfo(x.dtype) if x.dtype.kind in "iu" else None
        low, high = (limits.min, limits.max) if limits else (-np.inf, np.inf)
        x[where] = {"add": 0, "mul": 1, "min": high, "max": low}[mode]
    COMBINE[mode].at(x, where, updates)
    return x


def along(index: np.ndarray, axis: int) -> tuple:
    grid = list(np.indices(index.shape))
    grid[axis] = index
    return tuple(grid)


@reference()
def gather_nd(x: np.ndarray, index: np.ndarray, depth: int) -> Any:
    out = np.zeros((*index.shape[:-1], *x.shape[depth:]), x.dtype)
    for at in np.ndindex(index.shape[:-1]):
        out[at] = x[tuple(index[at])]
    return out


@reference()
def scatter_nd(x: np.ndarray, index: np.ndarray, updates: Any, depth: int, mode: str) -> Any:
    x = x.copy()
    updates = np.broadcast_to(np.asarray(updates, x.dtype), (*index.shape[:-1], *x.shape[depth:]))
    for at in np.ndindex(index.shape[:-1]):
        place = tuple(index[at])
        x[place] = updates[at] if mode == "set" else COMBINE[mode](x[place], updates[at])
    return x


@reference()
def segment_reduce(x, index, source, mode, count):
    rows = x if source is None else x[source]
    out = np.zeros((count, *rows.shape[1:]), rows.dtype)
    for k in range(count):
        own = rows[index == k]
        if len(own):
            out[k] = np.trunc(own.mean(0)) if mode == "mean" and x.dtype.kind == "i" else getattr(own, mode)(0)
    return out


REFERENCES["take"] = lambda x, index, axis, from_end=True: np.take(x, index, axis)
REFERENCES["take_along"] = lambda x, index, axis, from_end=True: np.take_along_axis(x, index, axis)
REFERENCES["index_get"] = lambda x, *indices, axes: x[addressed(indices, axes)]
REFERENCES["index_put"] = lambda x, values, *indices, axes, mode: combine_at(x, addressed(indices, axes), values, mode)
REFERENCES["put"] = lambda x, index, updates, axis, mode: combine_at(x, (slice(None),) * axis + (index,), updates, mode)
REFERENCES["scatter_along"] = lambda x, index, updates, axis, mode, include_self: combine_at(
    x, along(index, axis), updates, mode, not include_self
)
REFERENCES["bincount_sized"] = lambda x, weights, count: np.bincount(x.astype(np.int64), weights, count)
REFERENCES["count_true"] = lambda x: np.asarray(np.count_nonzero(x))
REFERENCES["nonzero_sized"] = lambda x, count: (
    np.stack(np.nonzero(x), -1).reshape(count, x.ndim) if x.ndim else np.zeros((count, 0), int)
)
REFERENCES["masked_select_sized"] = lambda x, mask, count: x[mask != 0]
REFERENCES["masked_scatter"] = lambda x, mask, values: torch_call(torch.Tensor.masked_scatter, x, mask, values)
REFERENCES["one_hot"] = lambda x, dtype, num_classes: (x[..., None] == np.arange(num_classes)).astype(
    dtype.compute.numpy
)
REFERENCES["tril"] = lambda x, diagonal: np.tril(x, diagonal)
REFERENCES["triu"] = lambda x, diagonal: np.triu(x, diagonal)


@reference()
def embedding(index: np.ndarray, weight: np.ndarray, padded: bool, padding_idx: int) -> Any:
    made = weight[index]
    return np.where((index == padding_idx)[..., None], 0, made).astype(weight.dtype) if padded else made


@reference()
def histogram(x: np.ndarray, weights: Any, bins: int, lo: float, hi: float) -> Any:
    made = np.histogram(x.astype(np.float64), bins, (lo, hi), weights=weights)[0]
    return made


@reference()
def search_sorted(rows: np.ndarray, values: np.ndarray, right: bool, dtype: Any) -> Any:
    return torch_call(torch.searchsorted, rows, values, right=right)


def unique(x: np.ndarray, axis: Any, consecutive: bool) -> tuple:
    if consecutive:
        values, inverse, counts = (
            to_numpy(torch.unique_consecutive(to_torch(x), return_inverse=True, return_counts=True, dim=axis))
        )  # fmt: skip
        return values, np.cumsum(counts) - counts, inverse.reshape(-1), counts
    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    return values, first, inverse.reshape(-1), counts


@reference()
def unique_count(x: np.ndarray, axis: Any, consecutive: bool) -> Any:
    return np.asarray(len(unique(x, axis, consecutive)[3]))


# --- linear algebra --------------------------------------------------------------------------------------------------

REFERENCES["bmm"] = lambda x, y: torch_call(torch.bmm, x, y)
REFERENCES["einsum"] = lambda *xs, equation: to_numpy(torch.einsum(equation, *map(to_torch, xs)))
REFERENCES["tensordot"] = lambda x, y, axes_x, axes_y: np.tensordot(x, y, (axes_x, axes_y))
REFERENCES["trace"] = lambda x, axis1, axis2, offset: np.asarray(np.trace(x, offset, axis1, axis2))
REFERENCES["linear"] = lambda x, w, b: x @ w if b is None else x @ w + b
REFERENCES["dot"] = lambda x, y: (x * y).sum(-1)
REFERENCES["matrix_exp"] = lambda x: torch_call(torch.linalg.matrix_exp, x)
REFERENCES["matrix_power"] = lambda x, n: torch_call(lambda t: torch.linalg.matrix_power(t, n), x)
REFERENCES["inverse"] = lambda x: torch_call(torch.linalg.inv, x)
REFERENCES["det"] = lambda x: torch_call(torch.linalg.det, x)
REFERENCES["slogdet"] = lambda x: torch_call(torch.linalg.slogdet, x)
REFERENCES["svdvals"] = lambda x: torch_call(torch.linalg.svdvals, x)
REFERENCES["eigvalsh"] = lambda x, upper: torch_call(torch.linalg.eigvalsh, x, UPLO="U" if upper else "L")
REFERENCES["cholesky"] = lambda x, upper: torch_call(torch.linalg.cholesky, mirrored(x, upper), upper=upper)
REFERENCES["pinv"] = lambda x, hermitian, rcond: torch_call(
    lambda t: torch.linalg.pinv(t, rtol=rcond), mirrored(x, False) if hermitian else x
)
REFERENCES["cholesky_solve"] = lambda b, factor, upper: torch_call(torch.cholesky_solve, b, factor, upper=upper)
REFERENCES["addmm"] = lambda a, x, y, beta, alpha: beta * a + alpha * (x @ y)


def mirrored(x: np.ndarray, upper: bool) -> np.ndarray:
    """The Hermitian matrix of which one triangle is read."""
    t = np.triu(x, 1) if upper else np.tril(x, -1)
    d = np.real(np.diagonal(x, axis1=-2, axis2=-1))
    return (t + np.conj(np.swapaxes(t, -1, -2)) + d[..., None] * np.eye(x.shape[-1])).astype(x.dtype)


@reference()
def cross(x: Any, y: Any, axis: int) -> Any:
    return torch_call(lambda a, b: torch.linalg.cross(*torch.broadcast_tensors(a, b), dim=axis), x, y)


@reference()
def matmul(x: np.ndarray, y: np.ndarray, transpose_x: bool, transpose_y: bool) -> Any:
    a, b = to_torch(x), to_torch(y)
    a = a.mT if transpose_x and a.ndim > 1 else a
    b = b.mT if transpose_y and b.ndim > 1 else b
    return to_numpy(torch.matmul(a, b))


@reference()
def widening_matmul(x: np.ndarray, y: np.ndarray, transpose_x: bool, transpose_y: bool) -> Any:
    return matmul(*(v.astype(np.promote_types(v.dtype, np.float32)) for v in (x, y)), transpose_x, transpose_y)


@reference()
def scaled_matmul(
    x: np.ndarray,
    y: np.ndarray,
    x_scale: np.ndarray,
    y_scale: np.ndarray,
    bias: np.ndarray | None,
    rows: int,
    depth: int,
    columns: int,
    power_of_two: bool,
    parts: int,
    dtype: Any,
) -> Any:
    def wide(codes: np.ndarray, scale: np.ndarray, *block: int) -> np.ndarray:
        for axis, size in enumerate(block):
            scale = scale.repeat(size or codes.shape[axis], axis) if scale.size else scale
        return codes.astype(np.float64) * (scale[: codes.shape[0], : codes.shape[1]] if codes.size else 1.0)

    sums = wide(x, x_scale, rows, depth) @ wide(y, y_scale, depth, columns)
    return (sums if bias is None else sums + bias).astype(dtype.numpy)


@reference()
def solve(x: Any, y: Any) -> Any:
    return torch_call(torch.linalg.solve, x, y)


@reference()
def triangular_solve(x: np.ndarray, y: np.ndarray, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    x = np.triu(x) if upper else np.tril(x)
    a = to_torch(x)
    if transpose:
        a, upper = a.mT, not upper
    return to_numpy(torch.linalg.solve_triangular(a, to_torch(y), upper=upper, unitriangular=unitriangular))


@reference()
def lu(x: np.ndarray) -> Any:
    made, pivots = torch_call(torch.linalg.lu_factor, x)
    return made, pivots


@reference()
def lu_permutation(pivots: np.ndarray, size: int) -> Any:
    def one(p: np.ndarray) -> np.ndarray:
        order = np.arange(size)
        for i, j in enumerate(p):
            order[[i, j - 1]] = order[[j - 1, i]]
        return order

    out = np.zeros((*pivots.shape[:-1], size), np.int64)
    for at in np.ndindex(pivots.shape[:-1]):
        out[at] = one(pivots[at])
    return out


@reference()
def lu_unpack(lu: np.ndarray, pivots: np.ndarray) -> Any:
    return torch_call(torch.lu_unpack, lu, pivots.astype(np.int32))


@reference()
def householder_product(x: np.ndarray, tau: np.ndarray, count: int) -> Any:
    return torch_call(torch.linalg.householder_product, x, tau)


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def near(a: Any, b: Any, what: str, x: np.ndarray) -> None:
    tolerance = 1e-4 if np.asarray(x).dtype in (np.float32, np.complex64) else 1e-9
    scale = 1 + np.abs(b).max(initial=0)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def same_set(found: np.ndarray, expected: np.ndarray, x: np.ndarray) -> None:
    """Equal up to order, along the last axis."""
    for where in np.ndindex(found.shape[:-1]):
        b = list(expected[where])
        for v in found[where]:
            at = int(np.argmin(np.abs(np.array(b) - v)))
            near(v, b.pop(at), "eigenvalue", x)


def eye(n: int) -> np.ndarray:
    return np.eye(n)


@check()
def check_eig(case: Any, results: tuple) -> None:
    x, (w, v) = case.arrays[0], results
    same_set(w, np.linalg.eigvals(x), x)
    near(x @ v, v * w[..., None, :], "x V = V diag(w)", x)
    near(np.linalg.norm(v, axis=-2), np.ones(w.shape), "norms", x)


@check()
def check_eigvals(case: Any, results: tuple) -> None:
    same_set(results[0], np.linalg.eigvals(case.arrays[0]), case.arrays[0])


@check()
def check_eigh(case: Any, results: tuple) -> None:
    x = mirrored(case.arrays[0], case.sample.attrs.get("upper", False))
    w, v = results
    near(w, np.linalg.eigvalsh(x), "eigenvalues", x)
    near(x @ v, v * w[..., None, :], "x V = V diag(w)", x)
    near(adjoint(v) @ v, np.broadcast_to(eye(x.shape[-1]), x.shape), "V is unitary", x)


@check()
def check_qr(case: Any, results: tuple) -> None:
    x, mode = case.arrays[0], case.sample.attrs.get("mode", "reduced")
    m, n = x.shape[-2:]
    k = min(m, n)
    if mode == "r":
        (r,) = results
        near(adjoint(r) @ r, adjoint(x) @ x, "R^H R = x^H x", x)
    else:
        q, r = results
        columns = m if mode == "complete" else k
        assert q.shape[-2:] == (m, columns) and r.shape[-2:] == (columns, n)
        near(q @ r, x, "Q R = x", x)
        near(adjoint(q) @ q, np.broadcast_to(eye(columns), (*x.shape[:-2], columns, columns)), "Q is unitary", x)
    near(r, np.triu(r), "R is triangular", x)


@check()
def check_svd(case: Any, results: tuple) -> None:
    x, (u, s, vh) = case.arrays[0], results
    near(s, np.linalg.svd(x, compute_uv=False), "singular values", x)
    k = s.shape[-1]
    near((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x, "U S Vh = x", x)
    near(adjoint(u) @ u, np.broadcast_to(eye(u.shape[-1]), (*x.shape[:-2], *u.shape[-1:] * 2)), "U is unitary", x)
    near(vh @ adjoint(vh), np.broadcast_to(eye(vh.shape[-2]), (*x.shape[:-2], *vh.shape[-2:-1] * 2)), "V is unitary", x)


@check()
def check_lstsq(case: Any, results: tuple) -> None:
    x, y = case.arrays
    solution, residuals, rank, singular = results
    near(solution, np.linalg.pinv(x) @ y, "solution", x)
    near(residuals, (np.abs(x @ solution - y) ** 2).sum(-2), "residuals", x)
    np.testing.assert_array_equal(rank, np.linalg.matrix_rank(x))
    near(singular, np.linalg.svd(x, compute_uv=False), "singular values", x)


@check()
def check_unique_sized(case: Any, results: tuple) -> None:
    expected = unique(case.arrays[0], case.sample.attrs.get("axis"), case.sample.attrs.get("consecutive", False))
    for found, want in zip(results, expected, strict=True):
        np.testing.assert_array_equal(found, want)


# --- losses ----------------------------------------------------------------------------------------------------------


def paired(x: Any, y: Any) -> tuple:
    """Both in their common shape and dtype."""
    like = next(a for a in (x, y) if isinstance(a, np.ndarray))
    return tuple(map(np.array, np.broadcast_arrays(np.asarray(x, like.dtype), np.asarray(y, like.dtype))))


@reference()
def bce_loss(x: Any, y: Any) -> Any:
    return torch_call(tf.binary_cross_entropy, *paired(x, y), reduction="none")


@reference()
def bce_with_logits(x: Any, y: Any, pos_weight: Any) -> Any:
    extra = None if pos_weight is None else to_torch(pos_weight, to_torch(x))
    return torch_call(tf.binary_cross_entropy_with_logits, *paired(x, y), reduction="none", pos_weight=extra)


@reference()
def gaussian_nll(x: Any, y: Any, var: Any, full: bool, eps: float) -> Any:
    var = np.maximum(var, eps)
    return 0.5 * (np.log(var) + (x - y) ** 2 / var) + (0.5 * math.log(2 * math.pi) if full else 0)


@reference()
def kl_div(x: Any, y: Any, log_target: bool) -> Any:
    return torch_call(tf.kl_div, x, y, reduction="none", log_target=log_target)


@reference()
def poisson_nll(x: Any, y: Any, log_input: bool, full: bool, eps: float) -> Any:
    options = {"log_input": log_input, "full": full, "eps": eps}
    return torch_call(tf.poisson_nll_loss, *paired(x, y), reduction="none", **options)


@reference()
def sigmoid_focal(x: Any, y: Any, alpha: float, gamma: float) -> Any:
    x, y = np.float64(x), np.float64(y)
    p = 1 / (1 + np.exp(-x))
    ce = -(y * np.log(p) + (1 - y) * np.log1p(-p))
    return (alpha * y + (1 - alpha) * (1 - y)) * ce * (1 - (p * y + (1 - p) * (1 - y))) ** gamma


@reference()
def softmax_cross_entropy(x: Any, labels: Any, axis: int, soft_label: bool, ignore_index: int) -> Any:
    logp = np.moveaxis(torch_call(tf.log_softmax, x, dim=axis), axis, -1)
    if soft_label:
        return -(np.moveaxis(labels, axis, -1) * logp).sum(-1)
    return nll(logp, labels, None, ignore_index)


def nll(logp: np.ndarray, labels: np.ndarray, weight: Any, ignored: int) -> np.ndarray:
    out = np.zeros(labels.shape, logp.dtype)
    for at in np.ndindex(labels.shape):
        if labels[at] != ignored:
            out[at] = -logp[(*at, labels[at])] * (1 if weight is None else weight[labels[at]])
    return out


@reference()
def nll_loss(logp: Any, labels: Any, weight: Any, axis: int, ignore_index: int) -> Any:
    return nll(np.moveaxis(logp, axis, -1), labels, weight, ignore_index)


@reference()
def label_weights(labels: Any, weight: Any, dtype: Any, ignore_index: int) -> Any:
    out = np.zeros(labels.shape, dtype.compute.numpy)
    for at in np.ndindex(labels.shape):
        if labels[at] != ignore_index:
            out[at] = 1 if weight is None else weight[labels[at]]
    return out


@reference()
def labelled_mean(loss: np.ndarray, labels: np.ndarray, ignore_index: int) -> Any:
    return loss.sum() / max(np.count_nonzero(labels != ignore_index), 1)


@reference()
def smooth_l1(x: Any, y: Any, huber: bool, delta: float) -> Any:
    f = (
        (lambda a, b: tf.huber_loss(a, b, "none", delta))
        if huber
        else (lambda a, b: tf.smooth_l1_loss(a, b, None, None, "none", delta))
    )
    return torch_call(lambda a, b: f(*torch.broadcast_tensors(a, b)), x, y)


@reference()
def log_loss(x: Any, y: Any, eps: float) -> Any:
    return -y * np.log(x + eps) - (1 - y) * np.log(1 - x + eps)


REFERENCES["hinge_embedding"] = lambda x, y, margin: torch_call(
    tf.hinge_embedding_loss, x, y, margin=margin, reduction="none"
)
REFERENCES["l1"] = lambda x, y: np.abs(x - y)
REFERENCES["mse"] = lambda x, y: (x - y) ** 2
REFERENCES["margin_ranking"] = lambda x, y, label, margin: np.maximum(0, margin - label * (x - y))
REFERENCES["soft_margin"] = lambda x, y: np.logaddexp(0, -y * x)


@reference()
def smoothed_cross_entropy(x: Any, labels: Any, axis: int, ignore_index: int, smoothing: float) -> Any:
    rows = np.moveaxis(x, axis, 1) if x.ndim > 1 else x[None]
    found = torch_call(
        tf.cross_entropy, rows, labels.astype(np.int64).reshape(rows.shape[:1] + rows.shape[2:]), reduction="none",
        ignore_index=ignore_index, label_smoothing=smoothing,
    )  # fmt: skip
    return found.reshape(labels.shape)


@reference()
def multi_label_margin(x: Any, labels: Any) -> Any:
    return torch_call(tf.multilabel_margin_loss, x, labels.astype(np.int64), reduction="none")


@reference()
def margin_cosine(x: Any, labels: Any, angular: bool, m1: float, m2: float, m3: float, scale: float) -> Any:
    out = np.float64(x)
    for i, label in enumerate(labels):
        own = x[i, label]
        out[i, label] = (np.cos(m1 * np.arccos(own) + m2) if angular else own) - m3
    return out * scale


REFERENCES["clipped_bce"] = lambda x, y, limit: bce_with_logits(np.clip(x, -limit, limit), y, None)


@reference()
def hsigmoid_loss(x: Any, path: Any, branches: Any, weight: Any, bias: Any) -> Any:
    loss = np.zeros(len(x))
    for i, j in np.ndindex(path.shape):
        node = path[i, j]
        z = 0.0 if node < 0 else x[i] @ weight[node] + (0 if bias is None else bias[node])
        loss[i] += np.logaddexp(0, z) - (z if node >= 0 and branches[i, j] else 0)
    return loss


def paths(arcs: Any) -> Any:
    """Every path through banded transitions ``[layers, bands, states]``, as its states and the sum of its arcs."""
    found = [((0,), 0.0)]
    for layer in np.float64(arcs):
        longer = []
        for states, total in found:
            for j in range(len(layer)):
                if states[-1] + j < layer.shape[1]:
                    longer.append(((*states, states[-1] + j), total + layer[j, states[-1] + j]))
        found = longer
    return found


@reference()
def banded_logsumexp_scan(arcs: Any, walls: Any, bands: int) -> Any:
    arcs = np.float64(arcs) + walls[:, None]
    n, layers, _, states = arcs.shape
    y, w = np.full((n, layers + 1, states), -np.inf), np.zeros(arcs.shape)
    for i, t in np.ndindex(n, layers + 1):
        for way, total in paths(arcs[i, :t]):
            y[i, t, way[-1]] = np.logaddexp(y[i, t, way[-1]], total)
    for i, t, j, s in np.ndindex(arcs.shape):
        if s >= j and y[i, t + 1, s] > -np.inf:
            w[i, t, j, s] = np.exp(y[i, t, s - j] + arcs[i, t, j, s] - y[i, t + 1, s])
    return y, w


@reference()
def banded_linear_scan(w: Any, g: Any, bands: int, transpose: bool) -> Any:
    """By solving the linear system that the recurrence is."""
    n, layers, _, states = w.shape
    x = np.zeros(g.shape)
    for i in range(n):
        matrix = np.eye((layers + 1) * states)
        for t, j, s in np.ndindex(w.shape[1:]):
            if s >= j:
                matrix[(t + 1) * states + s, t * states + s - j] = -w[i, t, j, s]
        x[i] = np.linalg.solve(matrix.T if transpose else matrix, np.float64(g[i]).reshape(-1)).reshape(g.shape[1:])
    return x


def log_softmax(x: Any) -> Any:
    return np.float64(x) - np.logaddexp.reduce(np.float64(x), -1, keepdims=True)


@reference()
def ctc(scores: Any, labels: Any, times: Any, lengths: Any, blank: int) -> Any:
    """By trying every sequence of classes."""
    logp, loss = log_softmax(scores), np.zeros(scores.shape[1])
    for n in range(len(loss)):
        total, wanted = -np.inf, [int(v) for v in labels[n, : lengths[n]]]
        for way in itertools.product(range(scores.shape[2]), repeat=int(times[n])):
            merged = [c for c, _ in itertools.groupby(way) if c != blank]
            if merged == wanted:
                total = np.logaddexp(total, sum(logp[t, n, c] for t, c in enumerate(way)))
        loss[n] = -total
    return loss


@reference()
def transducer(scores: Any, labels: Any, times: Any, lengths: Any, blank: int, fastemit: float) -> Any:
    """By trying every order of blanks and labels; the last one is a blank."""
    loss = np.zeros(len(scores))
    for n, x in enumerate(np.float64(scores)):
        total, steps = -np.inf, int(times[n] - 1 + lengths[n])
        for when in itertools.combinations(range(steps), int(lengths[n])):
            t = u = 0
            way = 0.0
            for step in range(steps):
                if step in when:
                    way, u = way + x[t, u, labels[n, u]], u + 1
                else:
                    way, t = way + x[t, u, blank], t + 1
            total = np.logaddexp(total, way + x[t, u, blank])
        loss[n] = -total
    return loss


REFERENCES["scale_gradient"] = lambda x, factor: x


# --- mathematics -----------------------------------------------------------------------------------------------------

ORDERS = {"1": 1.0, "2": 2.0, "inf": math.inf, "-inf": -math.inf, "0": 0.0}


def order(ord: str, p: float) -> float:
    return ORDERS.get(ord, p)


def norm_of(x: np.ndarray, axes: Any, keepdim: bool, ord: str, p: float) -> np.ndarray:
    return torch_call(lambda t: torch.linalg.vector_norm(t, order(ord, p), axes if axes != () else None, keepdim), x)


@reference()
def vector_norm(x: np.ndarray, axes: Any, keepdim: bool, ord: str, p: float) -> Any:
    if axes == ():
        return np.abs(x) if ord != "0" else (x != 0).astype(np.abs(x).dtype)
    return norm_of(x, axes, keepdim, ord, p)


@reference()
def cosine_similarity(x: Any, y: Any, axis: int, eps: float) -> Any:
    return torch_call(lambda a, b: tf.cosine_similarity(*torch.broadcast_tensors(a, b), dim=axis, eps=eps), x, y)


@reference()
def dist(x: Any, y: Any, ord: str, p: float) -> Any:
    return torch_call(lambda a, b: torch.dist(a, b, order(ord, p)), x, y)


@reference()
def pairwise_distance(x: Any, y: Any, keepdim: bool, ord: str, p: float, eps: float) -> Any:
    return norm_of(np.asarray(x - y + eps), (-1,), keepdim, ord, p)


@reference()
def renorm(x: Any, axis: int, ord: str, p: float, max_norm: float) -> Any:
    return torch_call(torch.renorm, x, p=order(ord, p), dim=axis, maxnorm=max_norm)


@reference()
def trapezoid(y: Any, x: Any, axis: int, cumulative: bool, dx: float) -> Any:
    f = scipy.integrate.cumulative_trapezoid if cumulative else scipy.integrate.trapezoid
    return np.asarray(f(y, x, dx, axis))


REFERENCES["diff"] = lambda x, axis: np.diff(x, axis=axis)


@reference()
def normalize(x: Any, axis: int, ord: str, p: float, eps: float) -> Any:
    return torch_call(tf.normalize, x, p=order(ord, p), dim=axis, eps=eps)


# --- movement --------------------------------------------------------------------------------------------------------

REFERENCES["as_complex"] = lambda x: x[..., 0] + 1j * x[..., 1]
REFERENCES["as_real"] = lambda x: np.stack([x.real, x.imag], -1)
REFERENCES["broadcast_to"] = lambda x, shape: np.broadcast_to(x, shape)
REFERENCES["concat"] = lambda *xs, axis: np.concatenate(xs, axis)
REFERENCES["stack"] = lambda *xs, axis: np.stack(xs, axis)
REFERENCES["diag_embed"] = lambda x, axis1, axis2, offset: torch_call(
    torch.diag_embed, x, offset=offset, dim1=axis1, dim2=axis2
)
REFERENCES["diagonal"] = lambda x, axis1, axis2, offset: np.diagonal(x, offset, axis1, axis2)
REFERENCES["flip"] = lambda x, axes: np.flip(x, axes)
REFERENCES["optimization_barrier"] = lambda x, after=None: x
REFERENCES["permute"] = lambda x, perm: np.transpose(x, perm)
REFERENCES["reshape"] = lambda x, shape: x.reshape(shape)
REFERENCES["roll"] = lambda x, axes, shifts: np.roll(x, shifts, axes) if axes else x
REFERENCES["repeat_interleave"] = lambda x, axis, repeats: np.repeat(x, repeats, axis)
REFERENCES["repeat_interleave_sized"] = lambda x, repeats, axis, count: np.repeat(x, repeats, axis)
REFERENCES["split"] = lambda x, axis, sections: tuple(np.split(x, np.cumsum(sections)[:-1], axis)) if sections else ()
REFERENCES["squeeze"] = lambda x, axes: np.squeeze(x, axes)
REFERENCES["unsqueeze"] = lambda x, axes: np.expand_dims(x, axes)
REFERENCES["tile"] = lambda x, repeats: np.tile(x, repeats)
REFERENCES["unbind"] = lambda x, axis, count: tuple(np.moveaxis(x, axis, 0))
REFERENCES["unfold"] = lambda x, axis, size, step: to_numpy(to_torch(x).unfold(axis, size, step))


def selection(axes: Any, starts: Any, sizes: Any, steps: Any, ndim: int) -> tuple:
    found: list = [slice(None)] * ndim
    for a, start, size, step in zip(axes, starts, sizes, steps):
        stop = start + size * step
        found[a] = slice(start, None if stop < 0 else stop, step) if size else slice(0, 0)
    return tuple(found)


@reference("slice")
def slice_(x: np.ndarray, axes: Any, starts: Any, sizes: Any, steps: Any) -> Any:
    return x[selection(axes, starts, sizes, steps, x.ndim)]


def seen_through(x: np.ndarray, view: Any, args: tuple) -> np.ndarray:
    """What a view op makes of ``x``; ``args`` are its params, flattened."""
    params, left = {}, list(args)
    for name in view.param_fields:
        kind = view.param_fields[name].kind
        n = (len(view.axes) if hasattr(view, "axes") else len(left)) if kind == "ints" else 1
        params[name] = tuple(left[:n]) if kind == "ints" else left[0]
        del left[:n]
    return np.asarray(REFERENCES[view.name](x, **view.attributes, **params))


@reference()
def overwritten(x: np.ndarray, value: np.ndarray) -> np.ndarray:
    return value


@reference()
def write_through(base: np.ndarray, value: np.ndarray, views: tuple, ends: tuple, args: tuple) -> Any:
    # The views of an array of positions say where the values go: of real numbers, where one parts complex ones.
    places = np.arange(base.size).reshape(base.shape)
    for view, start, end in zip(views, (0, *ends), ends):
        if view.name == "as_real":
            places = np.stack([2 * places, 2 * places + 1], -1)
        else:
            places = seen_through(places, view, args[start:end])
    out = base.copy().reshape(-1)
    numbers = out.view(value.dtype)
    numbers[places.reshape(-1)] = value.reshape(-1)
    return out.reshape(base.shape)


@reference()
def scatter_view(base: np.ndarray, value: Any, region: Any, accumulate: bool, args: tuple) -> Any:
    # The view of an array of positions says where the values go.
    if region.name == "as_real":
        made = np.stack([base.real, base.imag], -1)
        made = made + value if accumulate else np.broadcast_to(np.asarray(value, made.dtype), made.shape)
        return made[..., 0] + 1j * made[..., 1]
    places = np.arange(base.size).reshape(base.shape)
    places = seen_through(places, region, args)
    out = base.copy().reshape(-1)
    value = np.broadcast_to(np.asarray(value, base.dtype), places.shape)
    if accumulate:
        np.add.at(out, places.reshape(-1), value.reshape(-1))
    else:
        out[places.reshape(-1)] = value.reshape(-1)
    return out.reshape(base.shape)


PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@reference()
def pad(x: np.ndarray, value: Any, mode: str, axes: Any, lo: Any, hi: Any) -> Any:
    axes = range(x.ndim) if axes is None else axes
    widths = [(0, 0)] * x.ndim
    crop: list = [slice(None)] * x.ndim
    for a, low, high in zip(axes, lo, hi):
        widths[a] = (max(low, 0), max(high, 0))
        crop[a] = slice(max(-low, 0), x.shape[a] - max(-high, 0))
    options = {"constant_values": np.asarray(value, x.dtype)} if mode == "constant" else {}
    return np.pad(x[tuple(crop)], widths, PAD_MODES[mode], **options) if x.ndim else x


@reference()
def pad_fold(x: np.ndarray, mode: str, axes: Any, lo: Any, hi: Any) -> Any:
    axes = range(x.ndim) if axes is None else axes
    shape = list(x.shape)
    for a, low, high in zip(axes, lo, hi):
        shape[a] -= low + high
    places = pad(np.arange(math.prod(shape)).reshape(shape), -1, mode, axes, lo, hi)
    out = np.zeros(math.prod(shape) + 1, x.dtype)
    np.add.at(out, places.reshape(-1), x.reshape(-1))
    return out[:-1].reshape(shape)


# --- normalisation ---------------------------------------------------------------------------------------------------


def on_axis(v: Any, x: np.ndarray, axis: int) -> Any:
    shape = [1] * x.ndim
    shape[axis] = -1
    return None if v is None else v.reshape(shape)


def affine(x: np.ndarray, weight: Any, bias: Any) -> np.ndarray:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


@reference()
def layer_norm(x: Any, weight: Any, bias: Any, axis: int, eps: float) -> Any:
    extra = [None if v is None else to_torch(v).to(to_torch(x).dtype) for v in (weight, bias)]
    return to_numpy(tf.layer_norm(to_torch(x), x.shape[axis:], *extra, eps))


@reference()
def rms_norm(x: Any, weight: Any, bias: Any, axis: int, eps: float) -> Any:
    made = to_numpy(tf.rms_norm(to_torch(x), x.shape[axis:], None, eps))
    return affine(made, weight, bias)


@reference()
def batch_norm(x: Any, weight: Any, bias: Any, axis: int, eps: float) -> Any:
    others = tuple(i for i in range(x.ndim) if i != axis)
    mean, var = x.mean(others), x.var(others)
    return batch_norm_infer(x, mean, var, weight, bias, axis, eps), mean, var


@reference()
def batch_norm_infer(x: Any, mean: Any, var: Any, weight: Any, bias: Any, axis: int, eps: float) -> Any:
    moved = np.moveaxis(x, axis, 1) if axis else None
    if moved is None or x.ndim < 2:
        made = (x - on_axis(mean, x, axis)) / np.sqrt(on_axis(var, x, axis) + eps)
        return affine(made, on_axis(weight, x, axis), on_axis(bias, x, axis))
    dtype = to_torch(x).dtype
    extra = [None if v is None else to_torch(v).to(dtype) for v in (mean, var, weight, bias)]
    return np.moveaxis(to_numpy(tf.batch_norm(to_torch(moved), *extra, False, 0.0, eps)), 1, axis)


def scales_of(scale: np.ndarray, x: np.ndarray, axis: int) -> Any:
    return scale.reshape(()) if axis == -1 else on_axis(scale, x, axis)


@reference()
def quantize_linear(x: Any, scale: Any, axis: int, away: bool, levels: float, lowest: float, highest: float) -> Any:
    y = x.astype(np.float64) * levels / scales_of(scale.astype(np.float64), x, axis)
    nearest = np.copysign(np.floor(np.abs(y) + 0.5), y) if away else np.rint(y)
    return np.clip(nearest, lowest, highest)


@reference()
def dequantize_linear(x: Any, scale: Any, axis: int, levels: float) -> Any:
    return x.astype(np.float64) * scales_of(scale.astype(np.float64), x, axis) / levels


@reference()
def group_norm(x: Any, weight: Any, bias: Any, axis: int, groups: int, eps: float) -> Any:
    moved = np.moveaxis(x, axis, 1)
    made = np.moveaxis(to_numpy(tf.group_norm(to_torch(moved), groups, None, None, eps)), 1, axis)
    return affine(made, on_axis(weight, x, axis), on_axis(bias, x, axis))


@reference()
def instance_norm(x: Any, weight: Any, bias: Any, axis: int, eps: float) -> Any:
    others = tuple(i for i in range(1, x.ndim) if i != axis)
    made = (x - x.mean(others, keepdims=True)) / np.sqrt(x.var(others, keepdims=True) + eps)
    return affine(made, on_axis(weight, x, axis), on_axis(bias, x, axis))


# --- optimizers ------------------------------------------------------------------------------------------------------


def torch_step(make: Callable, state: dict, p: Any, g: Any, names: Sequence[str]) -> tuple:
    """One step of an optimizer of torch.optim from a given state: the parameter and the named states after it."""
    parameter = torch.nn.Parameter(to_torch(np.array(p, np.float64)))
    optimizer = make([parameter])
    optimizer.state[parameter] = {
        k: v if isinstance(v, torch.Tensor) else to_torch(np.array(v, np.float64)) for k, v in state.items()
    }
    parameter.grad = to_torch(np.array(g, np.float64))
    optimizer.step()
    after = optimizer.state[parameter]
    return (to_numpy(parameter), *(to_numpy(after[n]) for n in names))


def steps_before(power: float, beta: float) -> torch.Tensor:
    """The number of steps done, from beta to the power of this step's number."""
    return torch.tensor(round(math.log(power) / math.log(beta)) - 1.0)


REFERENCES["sgd_update"] = lambda p, g, lr: torch_step(lambda ps: torch.optim.SGD(ps, float(lr)), {}, p, g, ())[0]


REFERENCES["square_sum"] = lambda x: np.asarray(np.square(np.abs(x)).sum())
REFERENCES["zeros_like"] = np.zeros_like
REFERENCES["finite_probe"] = lambda x: np.asarray(0.0 if np.isfinite(x).all() else np.nan, np.float32)
REFERENCES["regularized_grad"] = lambda g, p, coeff, l1: g + coeff * (np.sign(p) if l1 else p)


@reference()
def lars_update(
    p: Any, g: Any, v: Any, lr: Any, adapts: bool, mu: float, coeff: float, weight_decay: float, eps: float
) -> Any:
    size, slope = np.linalg.norm(p.ravel()), np.linalg.norm(g.ravel())
    ratio = coeff * size / (slope + weight_decay * size + eps) if adapts and size > 0 and slope > 0 else 1.0
    v = mu * v + lr * ratio * (g + weight_decay * p)
    return p - v, v


@reference()
def momentum_update(p: Any, g: Any, v: Any, lr: Any, nesterov: bool, mu: float, decay: float) -> Any:
    return torch_step(
        lambda ps: torch.optim.SGD(ps, float(lr), mu, 0, decay, nesterov),
        {"momentum_buffer": v},
        p,
        g,
        ("momentum_buffer",),
    )


def adam(cls: type) -> Callable:
    def step(
        p: Any, g: Any, m: Any, v: Any, lr: Any, vmax: Any, amsgrad: bool,
        beta1: float, beta2: float, eps: float, beta1_pow: float, beta2_pow: float, weight_decay: float = 0.0,
    ) -> Any:  # fmt: skip
        state = {"step": steps_before(beta1_pow, beta1), "exp_avg": m, "exp_avg_sq": v}
        names = ["exp_avg", "exp_avg_sq"]
        if amsgrad:
            state["max_exp_avg_sq"] = vmax
            names.append("max_exp_avg_sq")
        return torch_step(lambda ps: cls(ps, float(lr), (beta1, beta2), eps, weight_decay, amsgrad), state, p, g, names)

    return step


REFERENCES["adam_update"] = adam(torch.optim.Adam)
REFERENCES["adamw_update"] = adam(torch.optim.AdamW)


@reference()
def adamax_update(
    p: Any, g: Any, m: Any, norm: Any, lr: Any, beta1: float, beta2: float, eps: float, beta1_pow: float
) -> Any:
    # torch adds eps to the gradient, not to the decayed norm.
    p, g, m, norm = (np.float64(x) for x in (p, g, m, norm))
    m, norm = beta1 * m + (1 - beta1) * g, np.maximum(beta2 * norm + eps, np.abs(g))
    return p - float(lr) / (1 - beta1_pow) * m / norm, m, norm


@reference()
def nadam_update(
    p: Any, g: Any, m: Any, v: Any, lr: Any,
    beta1: float, beta2: float, eps: float, beta2_pow: float, mu: float, mu_next: float, mu_product: float,
) -> Any:  # fmt: skip
    p, g, m, v = (np.float64(x) for x in (p, g, m, v))
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    ahead = mu_next * m / (1 - mu_product * mu_next) + (1 - mu) * g / (1 - mu_product)
    return p - float(lr) * ahead / (np.sqrt(v / (1 - beta2_pow)) + eps), m, v


@reference()
def radam_update(
    p: Any, g: Any, m: Any, v: Any, lr: Any,
    beta1: float, beta2: float, eps: float, beta1_pow: float, beta2_pow: float, rectified: float, plain: float,
) -> Any:  # fmt: skip
    p, g, m, v = (np.float64(x) for x in (p, g, m, v))
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    return p - float(lr) / (1 - beta1_pow) * m * (rectified / (np.sqrt(v) + eps) + plain), m, v


@reference()
def adagrad_update(p: Any, g: Any, total: Any, lr: Any, eps: float) -> Any:
    state = {"step": torch.tensor(0.0), "sum": total}
    return torch_step(lambda ps: torch.optim.Adagrad(ps, float(lr), eps=eps), state, p, g, ("sum",))


@reference()
def adadelta_update(p: Any, g: Any, squares: Any, changes: Any, lr: Any, rho: float, eps: float) -> Any:
    state = {"step": torch.tensor(0.0), "square_avg": squares, "acc_delta": changes}
    return torch_step(
        lambda ps: torch.optim.Adadelta(ps, float(lr), rho, eps), state, p, g, ("square_avg", "acc_delta")
    )


@reference()
def rmsprop_update(
    p: Any, g: Any, squares: Any, momentum: Any, lr: Any, mean: Any, rho: float, eps: float, mu: float
) -> Any:
    p, g, squares, momentum = (np.float64(x) for x in (p, g, squares, momentum))
    squares = rho * squares + (1 - rho) * g * g
    spread = squares
    states: tuple = ()
    if mean is not None:
        mean = rho * np.float64(mean) + (1 - rho) * g
        spread, states = squares - mean**2, (mean,)
    momentum = mu * momentum + float(lr) * g / np.sqrt(spread + eps)
    return (p - momentum, squares, momentum, *states)


@reference()
def asgd_update(p: Any, g: Any, total: Any, old: Any, lr: Any, n: float) -> Any:
    total = np.float64(total) - old + g
    return p - float(lr) / n * total, total, g


@reference()
def rprop_update(
    p: Any, g: Any, previous: Any, sizes: Any, lr: Any, smallest: float, largest: float, shrink: float, grow: float
) -> Any:
    state = {"step": torch.tensor(0.0), "prev": previous, "step_size": sizes}
    return torch_step(
        lambda ps: torch.optim.Rprop(ps, float(lr), (shrink, grow), (smallest, largest)),
        state,
        p,
        g,
        ("prev", "step_size"),
    )


@reference()
def lamb_update(
    p: Any, g: Any, m: Any, v: Any, lr: Any,
    beta1: float, beta2: float, eps: float, beta1_pow: float, beta2_pow: float, weight_decay: float,
) -> Any:  # fmt: skip
    p, g, m, v = (np.float64(x) for x in (p, g, m, v))
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    change = m / (1 - beta1_pow) / (np.sqrt(v / (1 - beta2_pow)) + eps) + weight_decay * p
    size, length = np.sqrt((p**2).sum()), np.sqrt((change**2).sum())
    return p - float(lr) * (size / length if size > 0 and length > 0 else 1.0) * change, m, v


# --- random ----------------------------------------------------------------------------------------------------------


def philox_block(counter: int, key: int) -> list[int]:
    """Philox4x32-10 of Salmon et al. (2011), in Python's integers."""
    c = [counter >> 32 * i & 0xFFFFFFFF for i in range(4)]
    k = [key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def philox_word(index: int, seed: int) -> int:
    return philox_block(index // 4, seed % 2**64)[index % 4]


@reference()
def philox(shape: tuple, seed: int, offset: int) -> Any:
    return np.array([philox_word(offset + i, seed) for i in range(math.prod(shape))], np.int64).reshape(shape)


@reference()
def philox_part(shape: tuple, starts: tuple, global_shape: tuple, seed: int, offset: int) -> Any:
    return philox(global_shape, seed, offset)[tuple(slice(a, a + n) for a, n in zip(starts, shape))]


# --- reductions and scans --------------------------------------------------------------------------------------------


def over(f: Callable) -> Callable:
    return lambda x, axes, keepdim: np.asarray(f(x, axis=axes, keepdims=keepdim))


for _name, _function in {
    "all": np.all, "any": np.any, "mean": np.mean, "prod": np.prod, "sum": np.sum, "nansum": np.nansum,
    "nanmean": np.nanmean,
}.items():  # fmt: skip
    REFERENCES[_name] = over(_function)


@reference()
def max_(x: np.ndarray, axes: Any, keepdim: bool, empty: bool) -> Any:
    return np.max(x, axes, keepdims=keepdim, initial=-np.inf) if empty else np.max(x, axes, keepdims=keepdim)


@reference()
def min_(x: np.ndarray, axes: Any, keepdim: bool, empty: bool) -> Any:
    return -np.max(-x, axes, keepdims=keepdim, initial=-np.inf) if empty else np.min(x, axes, keepdims=keepdim)


@reference()
def prod(x: np.ndarray, axes: Any, keepdim: bool) -> Any:
    return np.prod(x, axis=axes, keepdims=keepdim, dtype=np.int64 if x.dtype.kind in "biu" else None)


REFERENCES["sum"] = lambda x, axes, keepdim: np.sum(
    x, axis=axes, keepdims=keepdim, dtype=np.int64 if x.dtype.kind in "biu" else None
)
REFERENCES["wide_sum"] = lambda x, axes, keepdim: np.asarray(np.sum(x, axis=axes, keepdims=keepdim, dtype=np.int64))
REFERENCES["count_nonzero"] = lambda x, axes, keepdim: (
    np.asarray(np.count_nonzero(x, axis=axes, keepdims=keepdim)) if axes else (x != 0).astype(np.int64)
)
REFERENCES["logsumexp"] = lambda x, axes, keepdim: (
    torch_call(torch.logsumexp, x, dim=axes, keepdim=keepdim) if axes else x
)
REFERENCES["var"] = lambda x, axes, keepdim, correction: np.var(x, axis=axes, keepdims=keepdim, ddof=correction)
REFERENCES["std"] = lambda x, axes, keepdim, correction: np.std(x, axis=axes, keepdims=keepdim, ddof=correction)
REFERENCES["argmax"] = lambda x, axis, keepdim, dtype: np.asarray(np.argmax(x, axis, keepdims=keepdim))
REFERENCES["argmin"] = lambda x, axis, keepdim, dtype: np.asarray(np.argmin(x, axis, keepdims=keepdim))


def scan(f: Callable, identity: float) -> Callable:
    """A running reduction, from either end, with or without the element itself."""

    def run(x: np.ndarray, axis: int, reverse: bool, exclusive: bool) -> np.ndarray:
        x = np.moveaxis(np.flip(x, axis) if reverse else x, axis, 0)
        out = f(x)
        if exclusive:
            out = np.concatenate([np.full((1, *out.shape[1:]), identity, out.dtype), out])[: len(x)]
        out = np.moveaxis(out, 0, axis)
        return np.flip(out, axis) if reverse else out

    return run


REFERENCES["cumsum"] = scan(lambda x: np.cumsum(x, 0, dtype=x.dtype), 0)
REFERENCES["cumprod"] = scan(lambda x: np.cumprod(x, 0, dtype=x.dtype), 1)
REFERENCES["log_cumsum_exp"] = scan(lambda x: torch_call(torch.logcumsumexp, x, dim=0), -math.inf)


def running(f: Callable) -> Callable:
    def run(x: np.ndarray, axis: int, reverse: bool, dtype: Any) -> Any:
        flipped = np.flip(x, axis) if reverse else x
        values, index = torch_call(f, flipped, dim=axis)
        if reverse:
            values, index = np.flip(values, axis), x.shape[axis] - 1 - np.flip(index, axis)
        return values, index

    return run


REFERENCES["cummax"] = running(torch.cummax)
REFERENCES["cummin"] = running(torch.cummin)


@reference()
def linear_scan(a: np.ndarray, b: np.ndarray, axis: int, reverse: bool) -> Any:
    a, b = (np.moveaxis(v, axis, 0) for v in np.broadcast_arrays(a, b))
    out, y = np.zeros_like(b), np.zeros_like(b[:1].sum(0))
    for i in reversed(range(len(b))) if reverse else range(len(b)):
        y = a[i] * y + b[i]
        out[i] = y
    return np.moveaxis(out, 0, axis)


# --- order -----------------------------------------------------------------------------------------------------------


@reference()
def sort(x: np.ndarray, axis: int, descending: bool, stable: bool) -> Any:
    if x.dtype == np.bool_:
        x = x.astype(np.uint8)
    values, index = torch_call(torch.sort, x, dim=axis, descending=descending, stable=True)
    return values, index


@reference()
def top_k(x: np.ndarray, axis: int, largest: bool, sorted: bool, k: int) -> Any:
    values, index = sort(x, axis, largest, True)
    part = (slice(None),) * axis + (slice(0, k),)
    return values[part], index[part]


@reference()
def kthvalue(x: np.ndarray, axis: int, keepdim: bool, k: int) -> Any:
    index = np.argsort(x, axis, kind="stable").take([k - 1], axis)
    return tuple(v if keepdim else v.squeeze(axis) for v in (np.take_along_axis(x, index, axis), index))


@reference()
def median(x: np.ndarray, axis: int, keepdim: bool, ignore_nan: bool) -> Any:
    return np.asarray((np.nanmedian if ignore_nan else np.median)(x, axis, keepdims=keepdim))


@reference()
def median_lower(x: np.ndarray, axis: int, keepdim: bool, ignore_nan: bool) -> Any:
    return torch_call(torch.nanmedian if ignore_nan else torch.median, x, dim=axis, keepdim=keepdim)


@reference()
def mode(x: np.ndarray, axis: int, keepdim: bool) -> Any:
    def one(row: np.ndarray) -> tuple:
        values, counts = np.unique(row, return_counts=True)
        value = values[np.argmax(counts)]
        return value, np.flatnonzero(row == value)[-1]

    moved = np.moveaxis(x, axis, -1)
    values, index = np.zeros(moved.shape[:-1], x.dtype), np.zeros(moved.shape[:-1], np.int64)
    for at in np.ndindex(moved.shape[:-1]):
        values[at], index[at] = one(moved[at])
    return tuple(np.expand_dims(v, axis) if keepdim else v for v in (values, index))


@reference()
def quantile(x: np.ndarray, q: np.ndarray, axis: int, keepdim: bool, interpolation: str, ignore_nan: bool) -> Any:
    f = np.nanquantile if ignore_nan else np.quantile
    return np.asarray(f(x, q, axis, method=interpolation, keepdims=keepdim))


# --- windows ---------------------------------------------------------------------------------------------------------


def windows(
    x: np.ndarray, n: int, kernel: Any, strides: Any, lo: Any, hi: Any, dilations: Any, fill: Any
) -> np.ndarray:
    """``[..., positions, window]``: n dims of positions, then n dims inside a window."""
    x = np.pad(x, [(0, 0)] * (x.ndim - n) + list(zip(lo, hi)), constant_values=fill)
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilations)]
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(x.ndim - n, x.ndim)))
    return seen[(..., *(slice(None, None, s) for s in strides), *(slice(None, None, d) for d in dilations))]


def last(n: int) -> tuple:
    return tuple(range(-n, 0))


@reference()
def window_reduce(
    x: np.ndarray, n: int, kind: str, kernel: Any, strides: Any, pads_lo: Any, pads_hi: Any, dilations: Any
) -> Any:
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min if x.dtype.kind in "iu" else 0
    seen = windows(x, n, kernel, strides, pads_lo, pads_hi, dilations, 0 if kind == "sum" else lowest)
    return seen.sum(last(n), dtype=x.dtype) if kind == "sum" else seen.max(last(n))


@reference()
def window_spread(
    x: np.ndarray, n: int, kernel: Any, strides: Any, pads_lo: Any, pads_hi: Any, dilations: Any, sizes: Any
) -> Any:
    places = windows(np.arange(math.prod(sizes)).reshape(sizes), n, kernel, strides, pads_lo, pads_hi, dilations, -1)
    head = x.shape[: x.ndim - n]
    out = np.zeros((*head, math.prod(sizes) + 1), x.dtype)
    spread = np.broadcast_to(x.reshape(*x.shape, *(1,) * n), (*x.shape, *kernel)).reshape(*head, places.size)
    for at in np.ndindex(head):
        np.add.at(out[at], places.reshape(-1), spread[at])
    return out[..., :-1].reshape(*head, *sizes)


@reference()
def max_pool(
    x: np.ndarray, n: int, dtype: Any, kernel: Any, strides: Any, pads_lo: Any, pads_hi: Any, dilations: Any
) -> Any:
    spatial = x.shape[x.ndim - n :]
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    seen = windows(x, n, kernel, strides, pads_lo, pads_hi, dilations, lowest)
    places = windows(
        np.arange(math.prod(spatial)).reshape(spatial), n, kernel, strides, pads_lo, pads_hi, dilations, -1
    )
    size = math.prod(kernel)
    seen = np.where(places < 0, lowest, seen).reshape(*seen.shape[: seen.ndim - n], size)
    places = np.broadcast_to(places.reshape(*places.shape[: places.ndim - n], size), seen.shape)
    # The first of equals among real elements: pads never win against one.
    rank = np.where(np.isnan(seen), np.inf, seen) if x.dtype.kind == "f" else seen
    first_nan = np.isnan(seen).argmax(-1) if x.dtype.kind == "f" else None
    score = np.where(places < 0, -1, 0)
    best = np.lexsort((np.broadcast_to(np.arange(size), seen.shape), -score, -rank), axis=-1)[..., 0]
    if first_nan is not None:
        best = np.where(np.isnan(seen).any(-1), first_nan, best)
    best = best[..., None]
    return np.take_along_axis(seen, best, -1)[..., 0], np.take_along_axis(places, best, -1)[..., 0]


@reference()
def avg_pool(
    x: np.ndarray,
    n: int,
    exclusive: bool,
    padded: bool,
    kernel: Any,
    strides: Any,
    pads_lo: Any,
    pads_hi: Any,
    dilations: Any,
    extra_hi: Any,
) -> Any:
    assert padded or not any([*pads_lo, *pads_hi, *extra_hi])
    wider = [a + b for a, b in zip(pads_hi, extra_hi)]
    total = windows(x, n, kernel, strides, pads_lo, wider, dilations, 0).sum(last(n))
    ones = np.ones(x.shape[x.ndim - n :])
    if not exclusive:
        # Pads count as elements, what ceil mode adds does not.
        ones = np.pad(ones, list(zip(pads_lo, pads_hi)), constant_values=1)
        pads_lo, wider = (0,) * n, extra_hi
    return total / windows(ones, n, kernel, strides, pads_lo, wider, dilations, 0).sum(last(n))


@reference()
def lp_pool(
    x: np.ndarray, n: int, kernel: Any, strides: Any, pads_lo: Any, pads_hi: Any, dilations: Any, p: float
) -> Any:
    return (windows(x, n, kernel, strides, pads_lo, pads_hi, dilations, 0) ** p).sum(last(n)) ** (1 / p)


@reference()
def max_unpool(x: np.ndarray, index: np.ndarray, n: int, sizes: Any) -> Any:
    head = x.shape[: x.ndim - n]
    out = np.zeros((*head, math.prod(sizes)), x.dtype)
    for at in np.ndindex(head):
        out[at][index[at].reshape(-1)] = x[at].reshape(-1)
    return out.reshape(*head, *sizes)


@reference()
def grid_sample(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align_corners: bool) -> Any:
    words = {"mode": mode, "padding_mode": padding, "align_corners": align_corners}
    return torch_call(lambda a, b: tf.grid_sample(a, b, **words), x, grid)


@reference()
def blend(x: np.ndarray, index: np.ndarray, weights: np.ndarray, axis: int, taps: int) -> Any:
    moved = np.moveaxis(x, axis, -1)
    return np.moveaxis(sum(moved[..., index[k]] * weights[k] for k in range(taps)), -1, axis)


@reference()
def affine_grid(theta: np.ndarray, align_corners: bool, sizes: Any) -> Any:
    size = [theta.shape[0], 1, *sizes]
    if not theta.size:
        return np.zeros((0, *sizes, len(sizes)), theta.dtype)
    return torch_call(lambda t: tf.affine_grid(t, size, align_corners=align_corners), theta)


@reference()
def local_response_norm(x: np.ndarray, axis: int, size: int, alpha: float, beta: float, k: float) -> Any:
    moved = np.moveaxis(x, axis, -1)
    seen = windows(moved**2, 1, (size,), (1,), (size // 2,), ((size - 1) // 2,), (1,), 0)
    return np.moveaxis(moved / (k + alpha * seen.mean(-1)) ** beta, -1, axis)


def regions(size: int, count: int) -> list[slice]:
    return [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def adaptive(f: Callable) -> Callable:
    def run(x: np.ndarray, n: int, sizes: Any) -> np.ndarray:
        head = x.shape[: x.ndim - n]
        cut = [regions(s, c) for s, c in zip(x.shape[x.ndim - n :], sizes)]
        out = np.zeros((*head, *sizes), x.dtype)
        for at in np.ndindex(*sizes):
            out[(..., *at)] = f(x[(..., *(c[i] for c, i in zip(cut, at)))], last(n))
        return out

    return run


REFERENCES["adaptive_sum"] = adaptive(lambda x, axes: x.sum(axes))
REFERENCES["adaptive_avg_pool"] = adaptive(lambda x, axes: x.mean(axes))


@reference()
def adaptive_spread(x: np.ndarray, n: int, sizes: Any) -> Any:
    head = x.shape[: x.ndim - n]
    cut = [regions(s, c) for s, c in zip(sizes, x.shape[x.ndim - n :])]
    out = np.zeros((*head, *sizes), x.dtype)
    for at in np.ndindex(*x.shape[x.ndim - n :]):
        part = (..., *(c[i] for c, i in zip(cut, at)))
        out[part] += x[(..., *at)].reshape(*head, *(1,) * n)
    return out


@reference()
def fractional_max_pool(x: Any, u: Any, n: int, dtype: Any, overlapping: bool, counts: Any, kernel: Any) -> Any:
    f = np.float32
    spans = []
    for size, count, k in zip(x.shape[x.ndim - n :], counts, kernel, strict=True):
        if overlapping:
            a, v = f(f(size - k) / f(max(count - 1, 1))), f(u)
        else:
            a = f(f(size) / f(count))
            v = f(u) * min(f(f(size // count + 2) / a) - f(1), f(f(size + 1 - size // count) / a) - f(count - 1))
        starts = [int(f(f(i) + v) * a) - int(v * a) for i in range(count + 1)]
        spans.append([(s, s + k if overlapping else e) for s, e in itertools.pairwise(starts)])
    flat = np.arange(int(np.prod(x.shape[x.ndim - n :]))).reshape(x.shape[x.ndim - n :])
    y, where = np.zeros((*x.shape[: x.ndim - n], *counts), x.dtype), np.zeros((*x.shape[: x.ndim - n], *counts), int)
    for place in itertools.product(*map(range, counts)):
        box = tuple(slice(*span[i]) for span, i in zip(spans, place, strict=True))
        values = x[(..., *box)].reshape(*x.shape[: x.ndim - n], flat[box].size)
        best = values.argmax(-1)  # NaN is the largest
        y[(..., *place)] = np.take_along_axis(values, best[..., None], -1)[..., 0]
        where[(..., *place)] = flat[box].reshape(-1)[best]
    return y, where


@reference()
def adaptive_max_pool(x: np.ndarray, n: int, dtype: Any, sizes: Any) -> Any:
    spatial = x.shape[x.ndim - n :]
    f = (
        None,
        tf.adaptive_max_pool1d_with_indices,
        tf.adaptive_max_pool2d_with_indices,
        tf.adaptive_max_pool3d_with_indices,
    )[n]
    head = x.shape[: x.ndim - n]
    if x.size == 0:
        return np.zeros((*head, *sizes), x.dtype), np.zeros((*head, *sizes), np.int64)
    values, index = to_numpy(f(to_torch(x).reshape(1, -1, *spatial), tuple(sizes)))
    return values.reshape(*head, *sizes), index.reshape(*head, *sizes)


# --- recurrence ------------------------------------------------------------------------------------------------------


def recurrent_parts(
    mode: str,
    reverse: bool,
    x: Any,
    h: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    c: Any,
    w_ho: Any,
    lengths: Any,
) -> dict[str, Any]:
    """A layer in PyTorch, step by step, by the name of what it gives; ``a`` and ``s`` are leaves of its graph."""
    steps, batch = x.shape[:2]
    a = (x @ w_ih.T + b_ih).detach().requires_grad_()
    out, acts, cells, states, projected = {}, {}, {}, {}, {}
    for t in reversed(range(steps)) if reverse else range(steps):
        s = h @ w_hh.T + b_hh
        if s.requires_grad:
            s.retain_grad()
        states[t], kept = s, ()
        if mode == "lstm":
            i, f, g, o = (a[t] + s).chunk(4, 1)
            kept = (i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid())
            new_c = kept[1] * c + kept[0] * kept[2]
            new = kept[3] * new_c.tanh()
        elif mode == "gru":
            (ar, az, an), (sr, sz, sn) = a[t].chunk(3, 1), s.chunk(3, 1)
            r, z = (ar + sr).sigmoid(), (az + sz).sigmoid()
            n = (an + r * sn).tanh()
            new, kept = (1 - z) * n + z * h, (r, z, n, sn)
        else:
            new = (a[t] + s).tanh() if mode == "tanh" else (a[t] + s).relu()
        if w_ho is not None:
            new = new @ w_ho
            projected[t] = new
            if new.requires_grad:
                new.retain_grad()
        live = torch.ones(batch, 1, dtype=torch.bool) if lengths is None else (t < lengths)[:, None]
        out[t], h = torch.where(live, new, 0.0), torch.where(live, new, h)
        if kept:
            acts[t] = torch.where(live, torch.cat(kept, 1), 0.0)
        if mode == "lstm":
            c = cells[t] = torch.where(live, new_c, c)

    def stacked(found: dict, size: int) -> Any:
        return torch.stack([found[t] for t in range(steps)]) if steps else x.new_zeros(0, batch, size)

    hidden = len(w_ih) // {"lstm": 4, "gru": 3}.get(mode, 1)
    made = {"out": stacked(out, h.shape[1]), "h": h}
    if mode == "lstm":
        made["c"] = c
    if mode in ("lstm", "gru"):
        made["acts"] = stacked(acts, 4 * hidden)
    if mode == "lstm":
        made["cells"] = stacked(cells, hidden)
    return made | {"a": a, "s": states, "projected": projected}


@reference()
def rnn(*operands: Any, mode: str, reverse: bool) -> Any:
    made = recurrent_parts(mode, reverse, *map(double, operands))
    return to_numpy(tuple(made[name].detach() for name in ("out", "h", "c") if name in made))


@reference()
def rnn_train(*operands: Any, mode: str, reverse: bool) -> Any:
    made = recurrent_parts(mode, reverse, *map(double, operands))
    return to_numpy(tuple(made[name].detach() for name in ("out", "h", "c", "acts", "cells") if name in made))


@reference()
def rnn_cell(x: Any, *operands: Any, mode: str, reverse: bool) -> Any:
    made = recurrent_parts(mode, reverse, double(x)[None], *map(double, operands), None)
    return to_numpy(tuple(made[name].detach() for name in ("h", "c") if name in made))


@reference()
def rnn_grad(*operands: Any, mode: str, reverse: bool) -> Any:
    layer = [double(v) for v in operands[:9]]
    grads = [double(v) for v in operands[12:]]
    first = [layer[1], *([layer[6]] if mode == "lstm" else [])]
    for v in first:
        v.requires_grad_()
    made = recurrent_parts(mode, reverse, *layer)
    total = sum((made[name] * g).sum() for name, g in zip(("out", "h", "c"), grads) if g is not None)
    total.backward()
    steps, batch = layer[0].shape[:2]

    def found(v: Any) -> Any:
        return torch.zeros_like(v) if v.grad is None else v.grad

    def of_steps(values: dict, size: int) -> Any:
        return torch.stack([found(values[t]) for t in range(steps)]) if steps else layer[0].new_zeros(0, batch, size)

    results = [found(made["a"]), found(first[0])]
    if mode == "gru":
        results.append(of_steps(made["s"], len(layer[2])))
    results += [found(v) for v in first[1:]]
    if layer[7] is not None:
        results.append(of_steps(made["projected"], layer[1].shape[1]))
    return to_numpy(tuple(results))


@reference()
def linear_recurrence(u: Any, e: Any, d: Any, w: Any, p: Any, s: Any, reverse: bool) -> Any:
    out = np.zeros(u.shape)
    for t in reversed(range(len(u))) if reverse else range(len(u)):
        rows = []
        for b in range(u.shape[1]):
            gates = sum(s[b, i] * d[t, b, i] for i in range(s.shape[1])).reshape(-1) @ w
            parts = gates.reshape(p.shape[2], -1)
            rows.append(
                [
                    u[t, b, j]
                    + sum(s[b, i] * e[t, b, i, j] for i in range(s.shape[1]))
                    + sum(parts[k] * p[t, b, k, j] for k in range(len(parts)))
                    for j in range(s.shape[1])
                ]
            )
        s = out[t] = np.array(rows)
    return out


def low_bit_weight(weight: Any, scale: Any, bits: int) -> Any:
    """A weight of few bits, a row for each output, in float64."""
    if bits == 4:
        weight = np.stack([((weight & 15) ^ 8).astype(int) - 8, weight >> 4], 1).reshape(-1, weight.shape[1])
    groups = np.atleast_2d(scale).astype(np.float64)
    return weight.astype(np.float64) * np.repeat(groups, weight.shape[1] // len(groups), 0).T


@reference()
def weight_only_matmul(x: Any, weight: Any, scale: Any, bits: int, group_size: int) -> Any:
    return x.astype(np.float64) @ low_bit_weight(weight, scale, bits).T


@reference()
def int8_matmul(x: Any, weight: Any, scale: Any) -> Any:
    step = np.abs(x.astype(np.float64)).max(1, keepdims=True) / 127
    return np.rint(x.astype(np.float64) / step) @ low_bit_weight(weight, scale, 8).T * step


@reference()
def gather_tree(ids: Any, parents: Any) -> Any:
    out = np.zeros_like(ids)
    for b in range(ids.shape[1]):
        for k in range(ids.shape[2]):
            at = k
            for t in reversed(range(len(ids))):
                out[t, b, k], at = ids[t, b, at], parents[t, b, at]
    return out


@reference()
def viterbi_decode(potentials: Any, transitions: Any, lengths: Any, with_ends: bool) -> Any:
    """The best of all paths; of equal ones the first by its last tag, then the one before."""
    batch, time, tags = potentials.shape
    scores, paths = np.zeros(batch, potentials.dtype), np.zeros((batch, time), np.int64)
    for b, length in enumerate(lengths):
        steps, best = max(length, 1), -np.inf
        for backwards in itertools.product(range(tags), repeat=steps):
            path = backwards[::-1]
            score = potentials[b, range(steps), path].sum() + transitions[path[:-1], path[1:]].sum()
            if with_ends:
                score += transitions[-1, path[0]] + (transitions[-2, path[-1]] if length > 0 else 0)
            if score > best:
                best, scores[b] = score, score
                paths[b, : max(length, 0)] = path[: max(length, 0)]
    return scores, paths


def in_pairs(step: Callable) -> Callable:
    """An update of complex numbers is one of pairs of real numbers."""

    def pairs(x: Any) -> Any:
        return np.stack([x.real, x.imag], -1) if isinstance(x, np.ndarray) and x.dtype.kind == "c" else x

    def run(p: Any, *rest: Any, **named: Any) -> Any:
        if np.asarray(p).dtype.kind != "c":
            return step(p, *rest, **named)
        made = step(*map(pairs, (p, *rest)), **named)
        results = [y[..., 0] + 1j * y[..., 1] for y in (made if isinstance(made, tuple) else (made,)) if y is not None]
        return tuple(results) if isinstance(made, tuple) else results[0]

    return run


for _name in [n for n in REFERENCES if n.endswith("_update")]:
    REFERENCES[_name] = in_pairs(REFERENCES[_name])


# --- the others ------------------------------------------------------------------------------------------------------

# Ops that no user calls: they have neither samples nor factors nor references of their own.
MADE_INSIDE = {
    "with_casts": "made by the planner inside of plans; tests of mixed precision run it",
    **dict.fromkeys(
        ("with_packing", "pack", "unpack"), "made by the planner inside of plans; tests of packed dtypes run it"
    ),
    "fused": "made by the compiler inside of call programs; every test of a composite or a gradient runs some",
    "fused_epilogue": "made by the compiler inside of programs; tests of the executor run some",
    "fused_gradient": "made by the compiler inside of programs; tests/backends/cuda/test_cublaslt.py runs some",
    "channels_last": "made by the compiler inside of programs; tests of layouts run some",
    **dict.fromkeys(("strip_conv", "strip_matmul", "strip_rnn"), "made by a pass; tests of passes run some"),
    "relayout": "made by the compiler inside of programs; tests of layouts run some",
    "cond": "its regions are programs; tests of control flow run them",
    "while_": "its regions are programs; tests of control flow run them",
    "scan": "its region is a program; tests of control flow run it",
    "detached": "made by captured functions for gradients that are differentiated again; their tests run some",
    "with_gradient": "made by captured functions, and taken out of programs before they run",
    "python_call": "its function is one of the process; tests of py_func run it",
    "require": "made for rewritten functions, whose tests run it",
    "write_text": "made for rewritten functions, whose tests run it",
    "given_gradient": "made in branches and loop bodies, and taken out of programs before they run",
    **dict.fromkeys(
        ("bucket_start", "bucket_done", "bucket_poll", "rows_start", "rows_done"),
        "made by captured data-parallel steps, whose tests run them among ranks",
    ),
    **dict.fromkeys(
        ("context_attention", "context_attention_train", "context_attention_grad", "merge_attention"),
        "a sequence on ranks; tests of context parallelism run them among ranks",
    ),
}

for _names, _reason in {
    **MADE_INSIDE,
    "custom_call": "whatever a function from outside computes",
    (
        "alpha_dropout bernoulli binomial categorical cauchy dropout exponential geometric gumbel multinomial "
        "normal_random poisson rand_int rand_perm rrelu standard_gamma truncated_normal uniform_random"
    ): "drawn: test_random.py tests distributions",
    (
        "all_gather all_reduce all_to_all all_to_all_sized broadcast collective_permute copy_to_group recv "
        "reduce_scatter reduce_to send"
    ): "communication needs ranks, and is tested with them",
}.items():
    WITHOUT.update(dict.fromkeys(_names.split(), _reason))


# --- detection -------------------------------------------------------------------------------------------------------


def roi_images(counts: np.ndarray) -> list[int]:
    return [image for image, n in enumerate(counts) for _ in range(n)]


def bilinear(plane: np.ndarray, y: float, x: float, clamp: bool) -> np.ndarray:
    """The value of ``[C, H, W]`` at a position. Zeros are outside; with ``clamp`` the border is one element wider."""
    h, w = plane.shape[1:]
    if clamp:
        if not (-1 <= y <= h and -1 <= x <= w):
            return np.zeros(plane.shape[0], plane.dtype)
        y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
    total = np.zeros(plane.shape[0], plane.dtype)
    for i in (math.floor(y), math.floor(y) + 1):
        for j in (math.floor(x), math.floor(x) + 1):
            if 0 <= i < h and 0 <= j < w:
                total += plane[:, i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return total


@reference()
def roi_align(
    x: np.ndarray, boxes: np.ndarray, counts: Any, aligned: bool, bins: tuple, scale: float, ratio: int
) -> Any:
    out = np.zeros((len(boxes), x.shape[1], *bins), x.dtype)
    for r, image in enumerate(roi_images(counts)):
        x1, y1, x2, y2 = boxes[r].astype(x.dtype) * scale - (0.5 if aligned else 0)
        h, w = (y2 - y1, x2 - x1) if aligned else (max(y2 - y1, 1), max(x2 - x1, 1))
        n, m = (ratio if ratio > 0 else math.ceil(size / k) for size, k in ((h, bins[0]), (w, bins[1])))
        for i, j, a, b in itertools.product(range(bins[0]), range(bins[1]), range(n), range(m)):
            y, column = y1 + (i + (a + 0.5) / n) * h / bins[0], x1 + (j + (b + 0.5) / m) * w / bins[1]
            out[r, :, i, j] += bilinear(x[image], y, column, clamp=True) / (n * m)
    return out


@reference()
def psroi_pool(x: np.ndarray, boxes: np.ndarray, counts: Any, bins: tuple, scale: float) -> Any:
    channels = x.shape[1] // (bins[0] * bins[1])
    out = np.zeros((len(boxes), channels, *bins), x.dtype)
    for r, image in enumerate(roi_images(counts)):
        x1, y1, x2, y2 = (math.floor(abs(v) + 0.5) * np.sign(v) for v in boxes[r].astype(x.dtype))
        (y1, y2), (x1, x2) = (((a * scale), (b + 1) * scale) for a, b in ((y1, y2), (x1, x2)))
        h, w = max(y2 - y1, 0.1) / bins[0], max(x2 - x1, 0.1) / bins[1]
        for c, i, j in itertools.product(range(channels), *map(range, bins)):
            rows = [k for k in range(x.shape[2]) if math.floor(i * h + y1) <= k < math.ceil((i + 1) * h + y1)]
            columns = [k for k in range(x.shape[3]) if math.floor(j * w + x1) <= k < math.ceil((j + 1) * w + x1)]
            if rows and columns:
                plane = x[image, (c * bins[0] + i) * bins[1] + j]
                out[r, c, i, j] = plane[np.ix_(rows, columns)].mean()
    return out


@reference()
def roi_max_index(x: np.ndarray, boxes: np.ndarray, counts: Any, bins: tuple, scale: float) -> Any:
    out = np.full((len(boxes), x.shape[1], *bins), -1)
    for r, image in enumerate(roi_images(counts)):
        x1, y1, x2, y2 = (math.floor(abs(v) + 0.5) * np.sign(v) for v in boxes[r].astype(x.dtype) * scale)
        h, w = max(y2 - y1 + 1, 1) / bins[0], max(x2 - x1 + 1, 1) / bins[1]
        for c, i, j in itertools.product(range(x.shape[1]), *map(range, bins)):
            best = -math.inf
            for k, m in itertools.product(range(x.shape[2]), range(x.shape[3])):
                inside = math.floor(i * h) + y1 <= k < math.ceil((i + 1) * h) + y1
                inside = inside and math.floor(j * w) + x1 <= m < math.ceil((j + 1) * w) + x1
                if inside and x[image, c, k, m] > best:
                    best = x[image, c, k, m]
                    out[r, c, i, j] = np.ravel_multi_index((image, c, k, m), x.shape)
    return out


@reference()
def roi_pool(x: np.ndarray, *rest: Any, **params: Any) -> Any:
    index = roi_max_index(x, *rest, **params)
    return np.where(index < 0, 0, np.append(x.reshape(-1), 0)[index]).astype(x.dtype)


def by_transposing(forward: Callable) -> Callable:
    """The transpose of a linear function of images, from what it makes of each image with a single 1."""

    def run(g: np.ndarray, *rest: Any, shape: tuple, **params: Any) -> Any:
        if not math.prod(shape):
            return np.zeros(shape, g.dtype)
        ones = np.eye(math.prod(shape), dtype=g.dtype).reshape(-1, *shape)
        return np.array([(forward(one, *rest, **params) * g).sum() for one in ones], g.dtype).reshape(shape)

    return run


REFERENCES["roi_align_spread"] = by_transposing(roi_align)
REFERENCES["psroi_pool_spread"] = by_transposing(psroi_pool)


@reference()
def deformable_columns(
    x: np.ndarray, offset: Any, mask: Any, kernel: Any, groups: int, strides: Any, pads: Any, dilations: Any
) -> Any:
    (n, _, _, channels), (rows, columns) = x.shape, offset.shape[2:]
    own, taps = channels // groups, kernel[0] * kernel[1]
    out = np.zeros((n, rows * columns, taps, channels), x.dtype)
    for b, d, k, i, j in itertools.product(*map(range, (n, groups, taps, rows, columns))):
        tap = d * taps + k
        y = i * strides[0] - pads[0] + k // kernel[1] * dilations[0] + offset[b, 2 * tap, i, j]
        c = j * strides[1] - pads[1] + k % kernel[1] * dilations[1] + offset[b, 2 * tap + 1, i, j]
        part = slice(d * own, (d + 1) * own)
        value = bilinear(np.moveaxis(x[b, :, :, part], 2, 0), y, c, clamp=False)
        out[b, i * columns + j, k, part] = value * (1 if mask is None else mask[b, tap, i, j])
    return out


REFERENCES["deformable_spread"] = by_transposing(deformable_columns)


@reference()
def deformable_conv(
    x: np.ndarray, offset: Any, weight: np.ndarray, mask: Any, *, parts: int, **geometry: Any
) -> np.ndarray:
    columns = deformable_columns(x.transpose(0, 2, 3, 1), offset, mask, **geometry)
    n, _, taps, channels = columns.shape
    columns = columns.reshape(n, *offset.shape[2:], taps, parts, channels // parts)
    kernels = weight.reshape(parts, weight.shape[0] // parts, channels // parts, taps)
    return np.einsum("nijkpc,pmck->npmij", columns, kernels).reshape(n, weight.shape[0], *offset.shape[2:])


@reference()
def deformable_slopes(x: np.ndarray, g: np.ndarray, offset: np.ndarray, mask: Any, **geometry: Any) -> Any:
    """Differences within a cell, where columns are linear in each coordinate; columns are linear in the mask.

    What a tap takes for a group at a position depends on its own coordinates and mask alone: all are moved at once.
    """
    wide = [None if v is None else v.astype(np.float64) for v in (x, offset, mask)]
    x, offset, mask = wide
    groups, taps = geometry["groups"], geometry["kernel"][0] * geometry["kernel"][1]
    n, _, rows, columns = offset.shape

    def slopes(v: np.ndarray, moved: slice, step: float, made: Callable) -> np.ndarray:
        low, high = v.copy(), v.copy()
        low[:, moved] -= step
        high[:, moved] += step
        change = (made(high) - made(low)) * g / (2 * step)
        own = change.reshape(n, rows, columns, taps, groups, x.shape[3] // groups).sum(-1)
        return own.transpose(0, 4, 3, 1, 2).reshape(n, groups * taps, rows, columns)

    of_offset = np.empty_like(offset)
    for axis in range(2):
        moved = slice(axis, None, 2)
        of_offset[:, moved] = slopes(offset, moved, 2**-5, lambda v: deformable_columns(x, v, mask, **geometry))
    if mask is None:
        return of_offset
    return of_offset, slopes(mask, slice(None), 1.0, lambda v: deformable_columns(x, offset, v, **geometry))


@reference()
def suppress_boxes(boxes: np.ndarray, group: Any, valid: Any, threshold: float, eta: float, offset: float) -> Any:
    kept: list[int] = []

    def overlap(a: np.ndarray, b: np.ndarray) -> float:
        w = max(min(a[2], b[2]) - max(a[0], b[0]) + offset, 0)
        h = max(min(a[3], b[3]) - max(a[1], b[1]) + offset, 0)
        areas = [(v[2] - v[0] + offset) * (v[3] - v[1] + offset) for v in (a, b)]
        return w * h / (sum(areas) - w * h)

    for i, box in enumerate(boxes):
        near = [k for k in kept if group is None or group[k] == group[i]]
        if (valid is None or valid[i]) and not any(overlap(box, boxes[k]) > threshold for k in near):
            kept.append(i)
            threshold = threshold * eta if eta < 1 and threshold > 0.5 else threshold
    return np.isin(np.arange(len(boxes)), kept)
