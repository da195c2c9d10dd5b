"""Discrete Fourier transforms over any axes. Sizes are those of the operand: the public API has cropped or padded."""

from __future__ import annotations

from collections.abc import Iterator

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops._common import check_axes, draw, factor_names, shard_except, shard_string, sizes
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.movement import require

NORMS = ("backward", "ortho", "forward")
# A transform's transpose runs the other way and scales where the transform did.
OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
TO_COMPLEX = {dt.float32: dt.complex64, dt.float64: dt.complex128}


class Transform(Op):
    """``norm`` says which direction divides by the number of points: "backward", "forward", or both by its root,
    "ortho".
    """

    linear = True
    amp = "deny"
    axes: tuple
    norm: str = "backward"

    def check(self, x, dtypes):
        """Refuse dtypes, axes, norms and empty axes."""
        if x.dtype not in dtypes:
            self.fail(TypeError, f"an operand of {' or '.join(d.name for d in dtypes)}", x.dtype.name)
        if not self.axes:
            self.fail(ValueError, "at least one axis", self.axes)
        check_axes(self, self.axes, len(x.shape))
        if self.norm not in NORMS:
            self.fail(ValueError, f"a norm of {NORMS}", self.norm)
        for a in self.axes:
            require(self, x.shape[a] >= 1, f"at least one point on axis {a}", tuple(x.shape))

    def resized(self, x, size):
        """The shape of ``x`` with another size on the last transformed axis."""
        return tuple(size if i == self.axes[-1] else n for i, n in enumerate(x.shape))

    def shard(self, x, *params):
        names = factor_names(len(x.shape))
        out = ["1" if i in self.axes else f for i, f in enumerate(names)]
        return shard_string([names], [out], **{names[a]: "replicated" for a in self.axes})


@register
class Fft(Transform):
    """Transform of ``x`` as complex numbers; with ``inverse``, the inverse transform."""

    inverse: bool = False

    def infer(self, x):
        self.check(x, (*TO_COMPLEX.values(), *TO_COMPLEX))
        return Meta(tuple(x.shape), TO_COMPLEX.get(x.dtype, x.dtype))

    def vjp(self, s, g):
        back = F.fft(g, axes=self.axes, norm=OPPOSITE[self.norm], inverse=not self.inverse)
        return (back if s.inputs[0].dtype.is_complex else F.real(back),)

    def shard(self, x):
        return shard_except(x, self.axes)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for norm in NORMS:
            yield Sample((draw(rng, (2, 4), dt.complex128),), {"axes": (1,), "norm": norm})
            yield Sample((draw(rng, (3, 2), dt.complex128),), {"axes": (0, 1), "norm": norm, "inverse": True})
            yield Sample((draw(rng, (2, 5)),), {"axes": (1,), "norm": norm, "inverse": norm == "ortho"}, note="real")
        yield Sample((draw(rng, (5,), dt.complex64),), {"axes": (0,)})
        yield Sample((draw(rng, (0, 3), dt.complex128),), {"axes": (1,)}, note="0-size")


@register
class Rfft(Transform):
    """Transform of a real ``x``: on the last of ``axes`` only the first half of the points; the rest mirrors it."""

    def infer(self, x):
        self.check(x, tuple(TO_COMPLEX))
        return Meta(self.resized(x, x.shape[self.axes[-1]] // 2 + 1), TO_COMPLEX[x.dtype])

    def vjp(self, s, g):
        x, last = s.inputs[0], self.axes[-1]
        n = x.shape[last]
        padded = F.pad(g, 0, axes=(last,), lo=(0,), hi=(n - (n // 2 + 1),))
        return (F.real(F.fft(padded, axes=self.axes, norm=OPPOSITE[self.norm], inverse=True)),)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for norm in NORMS:
            yield Sample((draw(rng, (2, 5)),), {"axes": (1,), "norm": norm})
            yield Sample((draw(rng, (4, 3)),), {"axes": (1, 0), "norm": norm})
        yield Sample((draw(rng, (6,), dt.float32),), {"axes": (0,)})
        yield Sample((draw(rng, (1,)),), {"axes": (0,)}, note="one point")
        yield Sample((draw(rng, (0, 3)),), {"axes": (1,)}, note="0-size")


@register
class Irfft(Transform):
    """Inverse of :class:`Rfft`: a real result of ``n`` points on the last of ``axes``, where ``x`` has ``n//2 + 1``."""

    n: int = param("int")

    def infer(self, x, n):
        self.check(x, tuple(TO_COMPLEX.values()))
        got = f"{x.shape[self.axes[-1]]} for n = {n}"
        require(self, (n >= 1) & (x.shape[self.axes[-1]] == n // 2 + 1), "n//2 + 1 points on the last axis", got)
        return Meta(self.resized(x, n), x.dtype.real)

    def vjp(self, s, g):
        x, n, last = s.inputs[0], s.params.n, self.axes[-1]
        half = F.rfft(g, axes=(last,), norm=OPPOSITE[self.norm])
        # Every point but the first, and the middle one of an even n, stands for its mirror image as well.
        k = F.iota(0, 1, dtype=dt.int64, size=x.shape[last])
        alone = F.logical_or(F.eq(k, 0), F.eq(F.mul(k, 2), n))
        weight = F.where(alone, F.full(1, dtype=g.dtype, shape=()), 2)
        weight = F.unsqueeze(weight, axes=tuple(i for i in range(x.ndim) if i != last)) if x.ndim > 1 else weight
        half = F.mul(half, F.complex(weight, 0.0))
        if len(self.axes) > 1:
            half = F.fft(half, axes=self.axes[:-1], norm=OPPOSITE[self.norm])
        return (half,)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for norm in NORMS:
            for n in (4, 5):
                yield Sample((draw(rng, (2, 3), dt.complex128),), {"axes": (1,), "norm": norm}, {"n": n})
            yield Sample((draw(rng, (3, 2), dt.complex128),), {"axes": (1, 0), "norm": norm}, {"n": 4})
        yield Sample((draw(rng, (4,), dt.complex64),), {"axes": (0,)}, {"n": 6})
        yield Sample((draw(rng, (1,), dt.complex128),), {"axes": (0,)}, {"n": 1}, note="one point")
        yield Sample((draw(rng, (0, 3), dt.complex128),), {"axes": (1,)}, {"n": 4}, note="0-size")


@register
class Hfft(Transform):
    """Transform of a signal with Hermitian symmetry, given by its first half: a real result of ``n`` points."""

    n: int = param("int")

    def infer(self, x, n):
        return Irfft(self.axes, self.norm).infer(x, n)

    def decompose(self, x, n):
        return F.irfft(F.conj(x), axes=self.axes, norm=OPPOSITE[self.norm], n=n)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3), dt.complex128),), {"axes": (1,)}, {"n": 4})
        yield Sample((draw(rng, (2, 3), dt.complex64),), {"axes": (0, 1), "norm": "ortho"}, {"n": 5})


@register
class Ihfft(Transform):
    """Inverse of :class:`Hfft`: the first half of the points of a real ``x``."""

    def infer(self, x):
        return Rfft(self.axes, self.norm).infer(x)

    def decompose(self, x):
        return F.conj(F.rfft(x, axes=self.axes, norm=OPPOSITE[self.norm]))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 4)),), {"axes": (1,)})
        yield Sample((draw(rng, (2, 5), dt.float32),), {"axes": (0, 1), "norm": "ortho"})


@register
class FftShift(Op):
    """The zero frequency moved to the middle of ``axes``; with ``inverse``, back to the front."""

    linear = monotone = True
    axes: tuple
    inverse: bool = False

    def infer(self, x):
        check_axes(self, self.axes, len(x.shape))
        return Meta(tuple(x.shape), x.dtype)

    def decompose(self, x):
        shifts = tuple(-(n // 2) if self.inverse else n // 2 for n in (sizes(x)[a] for a in self.axes))
        return F.roll(x, axes=self.axes, shifts=shifts)

    def vjp(self, s, g):
        return (F.fft_shift(g, axes=self.axes, inverse=not self.inverse),)

    def shard(self, x):
        return shard_except(x, self.axes)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for inverse in (False, True):
            yield Sample((draw(rng, (3, 4)),), {"axes": (0, 1), "inverse": inverse})
        yield Sample((draw(rng, (5,), dt.complex128),), {"axes": (0,)})
        yield Sample((draw(rng, (0, 2)),), {"axes": (0,)}, note="0-size")
