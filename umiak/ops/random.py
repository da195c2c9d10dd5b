"""Random numbers, all drawn from one primitive that names its position in a stream.

A random op takes ``seed`` (64 bits, which stream) and ``offset`` (where in it). Its element number i, counted over
the whole tensor in row-major order, uses the words ``offset + i*draws`` up to ``offset + (i+1)*draws - 1``, where
``draws`` is a property of the op. The caller reserves ``draws`` words for each element: offsets are given
out in program order, and nothing that fuses, removes or repeats ops may change them. So eager, captured, fused and
sharded runs draw the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    broadcast_shape,
    cast_to,
    draw,
    factor_names,
    in_compute_type,
    is_tensor,
    same_dtype,
    shard_pointwise,
    shard_string,
    sizes,
    widen,
)
from umiak.ops.base import Box, Op, Sample, param, register
from umiak.ops.movement import require


class Random(Op):
    """``words``: how many uniform numbers an element takes; one of 32 bits, or two where they are float64."""

    random = True
    vjp = None
    words: ClassVar[int] = 1

    @property
    def draws(self) -> int:
        """Return the number of 32-bit words of the stream that an element uses."""
        wide = getattr(self, "dtype", dt.float32).compute is dt.float64
        return self.words * (2 if wide else 1)

    def shaped(self, shape: Any) -> tuple:
        if not all(dim.le(0, n) for n in shape):
            self.fail(ValueError, "sizes of 0 or more", tuple(shape))
        return tuple(shape)


@register
class Philox(Random):
    """Philox4x32-10 bits: each element is one uniform 32-bit word, held as an int64 from 0 to 2**32 - 1.

    The key is ``seed`` (its low and high 32 bits, modulo 2**64). Element i, in row-major order, is lane ``(offset +
    i) % 4`` of the block whose 128-bit counter is ``(offset + i) // 4``.
    """

    inputs = ()
    shape: tuple = param("ints")
    seed: int = param("int")
    offset: int = param("int")

    def infer(self, shape, seed, offset):
        return Meta(self.shaped(shape), dt.int64)

    def shard(self, shape, seed, offset):
        return shard_string([], [factor_names(len(shape))])

    def on_shard(self, shard, shape, seed, offset):
        return words_of(shard.results[0], seed, offset)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, seed, offset in (
            ((2, 5), 0, 0),
            ((7,), 12345678901234, 3),
            ((), 1, 6),
            ((0, 3), 1, 0),
            ((3,), -1, 2**33 + 1),
        ):
            yield Sample((), {}, {"shape": shape, "seed": seed, "offset": offset})


@register
class PhiloxPart(Random):
    """The box of ``shape`` at ``starts`` in what :class:`Philox` gives for ``global_shape``: one shard of it."""

    inputs = ()
    shape: tuple = param("ints")
    starts: tuple = param("ints")
    global_shape: tuple = param("ints")
    seed: int = param("int")
    offset: int = param("int")

    def infer(self, shape, starts, global_shape, seed, offset):
        if not len(shape) == len(starts) == len(global_shape):
            self.fail(
                ValueError, "a shape, starts and a global shape of one rank", f"{shape}, {starts} and {global_shape}"
            )
        if not all(dim.le(a + n, m) for a, n, m in zip(starts, shape, global_shape, strict=True)):
            self.fail(ValueError, f"a part inside {tuple(global_shape)}", f"{tuple(shape)} at {tuple(starts)}")
        return Meta(self.shaped(shape), dt.int64)

    def shard(self, shape, *params):
        return shard_string([], [factor_names(len(shape))])

    def on_shard(self, shard, shape, starts, global_shape, seed, offset):
        own = shard.results[0]
        starts = tuple(a + b for a, b in zip(starts, own.starts, strict=True))
        return F.philox_part(own.sizes, starts, global_shape, seed, offset)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, starts, global_shape in (
            ((2, 2), (1, 3), (4, 5)),
            ((3,), (0,), (3,)),
            ((), (), ()),
            ((0, 2), (1, 0), (2, 2)),
        ):
            yield Sample(
                (), {}, {"shape": shape, "starts": starts, "global_shape": global_shape, "seed": 7, "offset": 5}
            )


def words_of(shape: Any, seed: Any, offset: Any, more: tuple = ()) -> Any:
    """Philox bits for a tensor of ``shape``, or for a box of one, with new last dims of sizes ``more``."""
    if not isinstance(shape, Box):
        return F.philox((*shape, *more), seed, offset)
    starts = (*shape.starts, *(0 for _ in more))
    return F.philox_part((*shape.sizes, *more), starts, (*shape.global_shape, *more), seed, offset)


def _rank(shape: Any) -> int:
    return len(shape.sizes if isinstance(shape, Box) else shape)


# --- uniform numbers -----------------------------------------------------------------------------------------------


def uniforms(shape: Any, k: int, seed: Any, offset: Any, dtype: DType, open_ends: bool = False) -> list:
    """``k`` tensors of uniform numbers in [0, 1), or in (0, 1) with ``open_ends``: float64 of 53 bits, otherwise
    float32 of 24.

    ``shape`` may be a box of a larger tensor: its numbers are those that the whole has there.

    The open kind has the values (i + 0.5) / 2**n, which never round to 0 or 1.
    """
    rank = _rank(shape)
    wide = dtype.compute is dt.float64
    trail = ((k,) if k > 1 else ()) + ((2,) if wide else ())
    bits = words_of(shape, seed, offset, trail)

    def pick(x: Any, axis: int, i: int) -> Any:
        return F.squeeze(F.slice(x, axes=(axis,), starts=(i,), sizes=(1,), steps=(1,)), axes=(axis,))

    out = []
    for i in range(k):
        word = pick(bits, rank, i) if k > 1 else bits
        if wide:
            high, low = F.shift_right(pick(word, rank, 0), 5), F.shift_right(pick(word, rank, 1), 6)
            integer, n = F.add(F.mul(high, 2**26), low), 53
        else:
            integer, n = F.shift_right(word, 8), 24
        if open_ends:
            integer, n = F.shift_right(integer, 1), n - 1
        value = F.cast(integer, dtype=dt.float64 if wide else dt.float32)
        out.append(F.mul(F.add(value, 0.5) if open_ends else value, 2.0**-n))
    return out


class RandomStream(Random):
    """A tensor of ``shape`` and ``dtype`` drawn from the stream; further params describe the distribution."""

    inputs = ()
    kinds: ClassVar[str] = "f"
    dtype: Any
    shape: tuple = param("ints")
    seed: int = param("int")
    offset: int = param("int")

    def infer(self, shape, seed, offset, *params):
        accept(self, self.kinds, Meta((), self.dtype))
        return Meta(self.shaped(shape), self.dtype)

    def shard(self, shape, *params):
        return shard_string([], [factor_names(len(shape))])

    def on_shard(self, shard, shape, *params):
        return self.decompose(shard.results[0], *params)

    def value(self, u: list, *params: Any) -> Any:
        """The element from ``words`` uniform numbers in (0, 1)."""
        raise TypeError(f"[{self.name}] defines no value")

    def decompose(self, shape, seed, offset, *params):
        u = uniforms(shape, self.words, seed, offset, self.dtype, open_ends=True)
        return cast_to(self.value(u, *params), self.dtype)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        dtypes = (dt.int64, dt.int32) if cls.kinds == "i" else (dt.float32, dt.float64, dt.bfloat16)
        for shape, dtype in zip(((2, 3), (5,), (3,), (), (0, 2)), dtypes * 2, strict=False):
            yield Sample((), {"dtype": dtype}, {"shape": shape, "seed": 42, "offset": 9, **cls.sample_params})

    sample_params: ClassVar[dict] = {}


@register
class UniformRandom(RandomStream):
    """Uniform in [low, high); rounding may reach high where it is far from 0."""

    low: float = param(default=0.0)
    high: float = param(default=1.0)
    sample_params = {"low": -1.0, "high": 3.0}

    def decompose(self, shape, seed, offset, low, high):
        (u,) = uniforms(shape, 1, seed, offset, self.dtype)
        return cast_to(F.add(F.mul(u, high - low), low), self.dtype)


@register
class NormalRandom(RandomStream):
    """Normal, by the Box-Muller transform.

    The second number of each pair is not used, so that elements stay independent of shape.
    """

    words = 2
    mean: float = param(default=0.0)
    std: float = param(default=1.0)
    sample_params = {"mean": 1.0, "std": 2.0}

    def value(self, u, mean, std):
        radius = F.sqrt(F.mul(F.log(u[0]), -2.0))
        return F.add(F.mul(F.mul(radius, F.cos(F.mul(u[1], 2 * math.pi))), std), mean)


@register
class TruncatedNormal(RandomStream):
    """Normal with ``mean`` and ``std``, conditioned on lying between ``low`` and ``high``."""

    mean: float = param(default=0.0)
    std: float = param(default=1.0)
    low: float = param(default=-2.0)
    high: float = param(default=2.0)

    def value(self, u, mean, std, low, high):
        def quantile(bound: Any) -> Any:  # 2*cdf - 1 of a bound
            z = F.full((bound - mean) / (std * math.sqrt(2)), dtype=u[0].dtype, shape=())
            return F.erf(z)

        a, b = quantile(low), quantile(high)
        z = F.erfinv(F.add(a, F.mul(u[0], F.sub(b, a))))
        return F.minimum(F.maximum(F.add(F.mul(z, std * math.sqrt(2)), mean), low), high)


@register
class Exponential(RandomStream):
    """Exponential with the given ``rate``."""

    rate: float = param(default=1.0)

    def value(self, u, rate):
        return F.div(F.neg(F.log(u[0])), rate)


@register
class Gumbel(RandomStream):
    """Standard Gumbel: -log(-log(u))."""

    def value(self, u):
        return F.neg(F.log(F.neg(F.log(u[0]))))


@register
class Cauchy(RandomStream):
    """Cauchy about ``loc`` with the given ``scale``."""

    loc: float = param(default=0.0)
    scale: float = param(default=1.0)

    def value(self, u, loc, scale):
        return F.add(F.mul(F.tan(F.mul(F.sub(u[0], 0.5), math.pi)), scale), loc)


@register
class Geometric(RandomStream):
    """Number of trials, each successful with probability ``p``, until the first success."""

    p: float = param()
    sample_params = {"p": 0.3}

    def value(self, u, p):
        failure = F.log1p(F.neg(F.full(p, dtype=u[0].dtype, shape=())))
        return F.maximum(F.ceil(F.div(F.log(u[0]), failure)), 1)  # of a p of 1 the quotient is 0


def word63(shape: Any, seed: Any, offset: Any) -> Any:
    """Uniform integers from 0 to 2**63 - 1; two words each."""
    rank = _rank(shape)
    bits = words_of(shape, seed, offset, (2,))
    high, low = (
        F.squeeze(F.slice(bits, axes=(rank,), starts=(i,), sizes=(1,), steps=(1,)), axes=(rank,)) for i in (0, 1)
    )
    return F.bitwise_or(F.shift_left(F.shift_right(high, 1), 32), low)


@register
class RandInt(RandomStream):
    """Integers from ``low`` to ``high - 1``. The bias, of reducing 63 bits, is below (high - low) / 2**63."""

    kinds = "i"
    words = 2
    low: int = param("int")
    high: int = param("int")
    sample_params = {"low": -3, "high": 9}

    def infer(self, shape, seed, offset, low, high):
        if not dim.lt(low, high):
            self.fail(ValueError, "low below high", f"{low} and {high}")
        return super().infer(shape, seed, offset)

    def decompose(self, shape, seed, offset, low, high):
        return cast_to(F.add(F.remainder(word63(shape, seed, offset), high - low), low), self.dtype)


@register
class RandPerm(Random):
    """The numbers from 0 to ``size - 1`` in random order."""

    inputs = ()
    words = 2
    dtype: Any
    size: int = param("int")
    seed: int = param("int")
    offset: int = param("int")

    def infer(self, size, seed, offset):
        return Meta(self.shaped((size,)), self.dtype)

    def decompose(self, size, seed, offset):
        # The order of 63-bit keys: equal ones are as good as impossible.
        return F.cast(F.sort(word63((size,), seed, offset), axis=0)[1], dtype=self.dtype)

    def shard(self, size, seed, offset):
        return shard_string([], [["1"]])

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for dtype, size in ((dt.int64, 7), (dt.int32, 1), (dt.int64, 0), (dt.float32, 4)):
            yield Sample((), {"dtype": dtype}, {"size": size, "seed": 3, "offset": 4})


# --- draws that depend on a tensor ---------------------------------------------------------------------------------


@register
class Bernoulli(Random):
    """1 with the probability that ``p`` gives for the element, otherwise 0. One word each."""

    inputs = ("p",)
    seed: int = param("int")
    offset: int = param("int")

    def infer(self, p, seed, offset):
        accept(self, "f", p)
        return Meta(p.shape, p.dtype)

    def decompose(self, p, seed, offset):
        return self.drawn(p.shape, p, seed, offset)

    def on_shard(self, shard, p, seed, offset):
        return self.drawn(shard.results[0], p, seed, offset)

    def drawn(self, shape, p, seed, offset):
        (u,) = uniforms(shape, 1, seed, offset, dt.float32)
        return F.cast(F.lt(u, cast_to(p, dt.float32)), dtype=p.dtype)

    def shard(self, p, *params):
        return shard_pointwise(p)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, dtype in (
            ((2, 3), dt.float32),
            ((4,), dt.float64),
            ((), dt.float32),
            ((0,), dt.float32),
            ((3,), dt.bfloat16),
        ):
            yield Sample((draw(rng, shape, dtype, 0.0, 1.0),), params={"seed": 5, "offset": 2})


class RandomByParameters(Random):
    """An element for each element of parameters that broadcast."""

    seed: int = param("int")
    offset: int = param("int")

    def infer(self, *args):
        operands = args[: len(self.inputs)]
        accept(self, "f", *operands)
        return Meta(broadcast_shape(self, *operands), same_dtype(self, *operands))

    def shard(self, *args):
        return shard_pointwise(*args[: len(self.inputs)])

    def decompose(self, *args):
        operands = [x for x in args[: len(self.inputs)] if is_tensor(x)]
        return self.drawn(broadcast_shape(self, *operands), *args)

    def on_shard(self, shard, *args):
        return self.drawn(shard.results[0], *args)

    def drawn(self, shape: Any, *args: Any) -> Any:
        """The elements of ``shape``, or of a box of the whole."""
        raise TypeError(f"[{self.name}] defines no elements")


@register
class StandardGamma(RandomByParameters):
    """Gamma with shape ``alpha`` and scale 1, by the method of Marsaglia and Tsang (2000).

    Of six tries, each accepted more than 95 times in 100, the first that is accepted counts; the last one in any case.
    """

    inputs = ("alpha",)
    words = 19
    TRIES: ClassVar[int] = 6

    @in_compute_type
    def drawn(self, shape, alpha, seed, offset):
        u = uniforms(shape, self.words, seed, offset, dt.float32, open_ends=True)
        u = [cast_to(v, alpha.dtype) for v in u]
        # Below 1: gamma(alpha) is gamma(alpha + 1) * u**(1/alpha).
        small = F.lt(alpha, 1)
        d = F.sub(F.where(small, F.add(alpha, 1), alpha), 1 / 3)
        c = F.rsqrt(F.mul(d, 9))
        out = None
        for i in reversed(range(self.TRIES)):
            one, two, three = u[3 * i : 3 * i + 3]
            x = F.mul(F.sqrt(F.mul(F.log(one), -2)), F.cos(F.mul(two, 2 * math.pi)))
            root = F.add(F.mul(c, x), 1)
            v = F.mul(F.mul(root, root), root)
            valid = F.gt(v, 0)
            v = F.where(valid, v, 1)
            bound = F.add(F.mul(F.mul(x, x), 0.5), F.mul(d, F.add(F.sub(1, v), F.log(v))))
            accepted = F.logical_and(valid, F.lt(F.log(three), bound))
            candidate = F.mul(d, v)
            out = candidate if out is None else F.where(accepted, candidate, out)
        boost = F.exp(F.div(F.log(u[-1]), F.where(small, alpha, 1)))
        return F.where(small, F.mul(out, boost), out)

    @property
    def draws(self) -> int:
        return self.words

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, dtype in (((2, 3), dt.float32), ((4,), dt.float64), ((), dt.float32), ((0,), dt.float32)):
            yield Sample((draw(rng, shape, dtype, 0.2, 5.0),), params={"seed": 5, "offset": 2})


def invert(cdf: Any, u: Any, lo: Any, hi: Any, steps: int) -> Any:
    """The smallest whole number k with cdf(k) >= u, by bisection; cdf(lo) is below u, cdf(hi) is not."""
    for _ in range(steps):
        middle = F.floor(F.mul(F.add(lo, hi), 0.5))
        below = F.lt(cdf(middle), u)
        lo, hi = F.where(below, middle, lo), F.where(below, hi, middle)
    return hi


@register
class Poisson(RandomByParameters):
    """Poisson with mean ``rate``, by inverting the distribution function in float64. Means up to 10**11."""

    inputs = ("rate",)
    words = 2

    def drawn(self, shape, rate, seed, offset):
        (u,) = uniforms(shape, 1, seed, offset, dt.float64, open_ends=True)
        mean = cast_to(rate, dt.float64)
        # Ten standard deviations and a little: beyond what 53 bits can reach.
        reach = F.add(F.mul(F.sqrt(mean), 10), 40)
        lo, hi = F.maximum(F.floor(F.sub(mean, reach)), -1), F.ceil(F.add(mean, reach))

        def cdf(k: Any) -> Any:
            return F.where(F.lt(k, 0), 0, F.igammac(F.add(F.maximum(k, 0), 1), mean))

        return cast_to(invert(cdf, u, lo, hi, 24), rate.dtype)

    @property
    def draws(self) -> int:
        return self.words

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, dtype in (((2, 3), dt.float32), ((4,), dt.float64), ((), dt.float32), ((0,), dt.float32)):
            yield Sample((draw(rng, shape, dtype, 0.2, 9.0),), params={"seed": 5, "offset": 2})
        yield Sample((np.array([0.0, 0.01, 300.0, 1e6]),), params={"seed": 5, "offset": 2}, note="small and large")


@register
class Binomial(RandomByParameters):
    """Successes among ``n`` trials of probability ``p``, by inverting the distribution in float64; n below 2**31."""

    inputs = ("n", "p")
    words = 2

    def drawn(self, shape, n, p, seed, offset):
        out = n.dtype
        n, p = cast_to(n, dt.float64), cast_to(p, dt.float64)
        (u,) = uniforms(shape, 1, seed, offset, dt.float64, open_ends=True)
        shape = sizes(u)
        hi = F.broadcast_to(n, shape=shape)

        def cdf(k: Any) -> Any:
            inner = F.betainc(F.maximum(F.sub(n, k), 1), F.add(F.maximum(k, 0), 1), F.sub(1, p))
            return F.where(F.lt(k, 0), 0, F.where(F.ge(k, n), 1, inner))

        return cast_to(invert(cdf, u, F.full(-1, dtype=dt.float64, shape=shape), hi, 32), out)

    @property
    def draws(self) -> int:
        return self.words

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        n = np.array([[1.0, 5.0, 40.0], [0.0, 1e6, 10.0]])
        yield Sample((n, np.array([0.3, 0.9, 0.5])), params={"seed": 5, "offset": 2})
        yield Sample(
            (np.array([4.0, 4.0], np.float32), np.array([0.0, 1.0], np.float32)), params={"seed": 5, "offset": 2}
        )
        yield Sample((np.zeros((0,)), np.zeros((0,))), params={"seed": 5, "offset": 2}, note="0-size")


class RandomMask(Random):
    """Elements of ``x`` dropped with probability ``p``. The mask is drawn again for the gradient: only seed and
    offset are kept.

    One word for each element of the mask: of x, or with ``axes`` of x with every other dim taken as 1.
    """

    axes: Any = None
    p: float = param()
    seed: int = param("int")
    offset: int = param("int")

    def infer(self, x, p, seed, offset):
        accept(self, "f", x)
        return Meta(x.shape, x.dtype)

    def keep_mask(self, shape: Any, p: Any, seed: Any, offset: Any) -> Any:
        """Return the mask of the elements of a tensor of ``shape``, or of a box of one, that are kept."""

        def own(sizes: Any, other: int) -> tuple:
            return tuple(n if self.axes is None or i in self.axes else other for i, n in enumerate(sizes))

        if isinstance(shape, Box):
            mask: Any = Box(own(shape.starts, 0), own(shape.sizes, 1), own(shape.global_shape, 1))
        else:
            mask = own(shape, 1)
        (u,) = uniforms(mask, 1, seed, offset, dt.float32)
        return F.ge(u, p)

    def decompose(self, x, *params):
        return self.dropped(sizes(x), x, *params)

    def on_shard(self, shard, x, *params):
        return self.dropped(shard.results[0], x, *params)

    def dropped(self, shape: Any, x: Any, *params: Any) -> Any:
        """``x``, of ``shape`` or a box of the whole, without the elements that are dropped."""
        raise TypeError(f"[{self.name}] defines no mask")

    def shard(self, x, *params):
        return shard_pointwise(x)

    @classmethod
    def cases(cls, rng: Any, attrs: dict) -> Iterator[Sample]:
        for shape, dtype in (
            ((3, 4), dt.float64),
            ((5,), dt.float32),
            ((), dt.float64),
            ((0, 2), dt.float32),
            ((4,), dt.bfloat16),
        ):
            yield Sample((draw(rng, shape, dtype),), attrs, {"p": 0.4, "seed": 11, "offset": 6})
        for p in (0.0, 1.0):
            yield Sample((draw(rng, (4,)),), attrs, {"p": p, "seed": 11, "offset": 6})
        yield Sample((draw(rng, (3, 4)),), {**attrs, "axes": (0,)}, {"p": 0.5, "seed": 1, "offset": 0})


@register
class Dropout(RandomMask):
    """Elements dropped with probability ``p``.

    ``mode`` "upscale_in_train" divides the others by 1 - p; "downscale_in_infer" leaves them.
    """

    linear = monotone = True  # what is kept is the same on all ranks
    mode: str = "upscale_in_train"

    def dropped(self, shape, v, p, seed, offset):
        survivors = self.keep_mask(shape, p, seed, offset)
        if self.mode == "downscale_in_infer":
            return F.where(survivors, v, 0)
        # With p == 1 nothing is kept; the divisor must not be 0 all the same, or derivatives of the rest are 0/0.
        return F.where(survivors, F.div(v, dim.maximum(1.0 - p, 1e-12)), 0)

    def vjp(self, s, g):
        return (self.dropped(sizes(g), g, *s.params),)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for mode in ("upscale_in_train", "downscale_in_infer"):
            yield from cls.cases(rng, {"mode": mode})


@register
class AlphaDropout(RandomMask):
    """Dropout for SELU networks: dropped elements take SELU's negative limit, and the whole keeps its mean and
    variance.
    """

    LIMIT: ClassVar[float] = -1.7580993408473766

    def scale(self, p: Any) -> Any:
        return ((1.0 - p) * (1.0 + p * self.LIMIT * self.LIMIT)) ** -0.5

    @in_compute_type
    def dropped(self, shape, x, p, seed, offset):
        # With p == 1 the scale is infinite: everything is dropped, to 0.
        keep = dim.minimum(p, 1.0 - 1e-12)
        a = self.scale(keep)
        survivors = F.add(
            F.mul(F.where(self.keep_mask(shape, p, seed, offset), x, self.LIMIT), a), -a * self.LIMIT * keep
        )
        return F.mul(survivors, dim.where(p == 1.0, 0.0, 1.0))

    def vjp(self, s, g):
        x, p = s.inputs[0], s.params.p
        a = self.scale(dim.minimum(p, 1.0 - 1e-12))
        return (F.where(self.keep_mask(sizes(x), *s.params), F.mul(g, a), 0),)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        yield from cls.cases(rng, {})


@register
class Categorical(Random):
    """An index along the last dim, drawn with probabilities softmax(``logits``): the argmax after adding Gumbel noise.

    One word a logit.
    """

    inputs = ("logits",)
    seed: int = param("int")
    offset: int = param("int")

    def infer(self, logits, seed, offset):
        accept(self, "f", logits)
        if not logits.shape:
            self.fail(ValueError, "rank 1 or more", "a 0-d tensor")
        require(self, logits.shape[-1] >= 1, "at least one category", tuple(logits.shape))
        return Meta(tuple(logits.shape[:-1]), dt.int64)

    def decompose(self, logits, seed, offset):
        return self.drawn(sizes(logits), logits, seed, offset)

    def on_shard(self, shard, logits, seed, offset):
        return self.drawn(shard.operands[0], logits, seed, offset)

    def drawn(self, shape, logits, seed, offset):
        noise = Gumbel(dt.float32).decompose(shape, seed, offset)
        return F.argmax(F.add(cast_to(logits, dt.float32), noise), axis=logits.ndim - 1)

    def shard(self, logits, *params):
        names = factor_names(len(logits.shape))
        return shard_string([names], [names[:-1]], **{names[-1]: "replicated"})

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, dtype in (((2, 3), dt.float32), ((4,), dt.float64), ((0, 3), dt.float32), ((2, 3), dt.bfloat16)):
            yield Sample((draw(rng, shape, dtype),), params={"seed": 5, "offset": 2})


@register
class Multinomial(Random):
    """``k`` indices along the last dim, drawn with probabilities in proportion to ``x``.

    With ``replacement``, by inverting the cumulated probabilities: one word a draw. Without, the first of exponential
    waiting times with rates ``x``: one word an element of x.
    """

    replacement: bool = False
    k: int = param("int", 1)
    seed: int = param("int")
    offset: int = param("int")

    def infer(self, x, k, seed, offset):
        accept(self, "f", x)
        if not x.shape:
            self.fail(ValueError, "rank 1 or more", "a 0-d tensor")
        if not self.replacement and not dim.le(k, x.shape[-1]):
            self.fail(ValueError, f"at most {x.shape[-1]} draws without replacement", k)
        return Meta((*x.shape[:-1], k), dt.int64)

    def decompose(self, x, k, seed, offset):
        return self.drawn(sizes(x), (*sizes(x)[:-1], k), x, k, seed, offset)

    def on_shard(self, shard, x, *params):
        return self.drawn(shard.operands[0], shard.results[0], x, *params)

    def drawn(self, shape, drawn, x, k, seed, offset):
        """``shape``, of x, and that ``drawn``, or boxes of the wholes."""
        x, last = widen(x), x.ndim - 1
        if not self.replacement:
            (u,) = uniforms(shape, 1, seed, offset, dt.float32, open_ends=True)
            rate = F.div(x, cast_to(F.neg(F.log(u)), x.dtype))
            return F.top_k(rate, axis=last, k=k)[1]
        cdf = F.cumsum(x, axis=last)
        (u,) = uniforms(drawn, 1, seed, offset, dt.float32)
        total = F.slice(cdf, axes=(last,), starts=(x.shape[last] - 1,), sizes=(1,), steps=(1,))
        below = F.le(F.unsqueeze(cdf, axes=(last,)), F.unsqueeze(F.mul(cast_to(u, x.dtype), total), axes=(last + 1,)))
        return F.sum(F.cast(below, dtype=dt.int64), axes=(last + 1,))

    def shard(self, x, *params):
        names = factor_names(len(x.shape))
        return shard_string([names], [[*names[:-1], "1"]], **{names[-1]: "replicated"})

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for replacement in (False, True):
            for shape, k, dtype in (
                ((2, 4), 3, dt.float32),
                ((5,), 2, dt.float64),
                ((0, 3), 2, dt.float32),
                ((3,), 1, dt.bfloat16),
            ):
                yield Sample(
                    (draw(rng, shape, dtype, 0.1, 1.0),), {"replacement": replacement}, {"k": k, "seed": 5, "offset": 2}
                )
