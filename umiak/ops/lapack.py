"""Factorisations and solvers of dense matrices, in the last two dims; leading dims are a batch.

Derivatives follow the conjugate convention. Where a factor is fixed only up to signs or phases (QR, SVD, eigenvectors),
a gradient is meaningful for functions that do not depend on that choice; equal singular or eigenvalues contribute
nothing to each other's vectors. Samples noted "hermitian" need perturbations that keep the matrix Hermitian: the op
reads one triangle, and its gradient speaks of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import aligned, back, conj, draw, factor_names, same_dtype, shard_string, sizes, zeros
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.index import broadcast_sizes, counter
from umiak.ops.linalg import adjoint, transpose
from umiak.ops.movement import require
from umiak.util.errors import OperandError, ShapeError

FLOATING = (dt.float32, dt.float64)
COMPLEX = {dt.float32: dt.complex64, dt.float64: dt.complex128}


# --- pieces of the formulas ----------------------------------------------------------------------------------------


def mm(*factors: Any) -> Any:
    """Matmul of the factors, from the left."""
    out = factors[0]
    for f in factors[1:]:
        out = F.matmul(out, f)
    return out


def columns_times(m: Any, v: Any) -> Any:
    """``m @ diag(v)``."""
    return F.mul(m, _like(F.unsqueeze(v, axes=(v.ndim - 1,)), m))


def rows_times(v: Any, m: Any) -> Any:
    """``diag(v) @ m``."""
    return F.mul(_like(F.unsqueeze(v, axes=(v.ndim,)), m), m)


def _like(v: Any, m: Any) -> Any:
    """A real ``v`` as complex where ``m`` is."""
    return F.complex(v, 0.0) if m.dtype.is_complex and not v.dtype.is_complex else v


def diagonal(m: Any) -> Any:
    """The main diagonals."""
    return F.diagonal(m, axis1=m.ndim - 2, axis2=m.ndim - 1)


def as_diagonal(v: Any) -> Any:
    """Matrices with ``v`` on the diagonal."""
    return F.diag_embed(v, axis1=v.ndim - 1, axis2=v.ndim)


def eye(n: Any, dtype: Any) -> Any:
    """The identity matrix."""
    return F.cast(on_diagonal(n), dtype=dtype)


def on_diagonal(n: Any) -> Any:
    """A mask of the diagonal of an n by n matrix."""
    i = counter(n)
    return F.eq(F.unsqueeze(i, axes=(1,)), i)


def hermitian_part(m: Any) -> Any:
    return F.mul(F.add(m, adjoint(m)), 0.5)


def half_diagonal(m: Any) -> Any:
    """The lower triangle with its diagonal halved: what of a symmetric change falls to one triangular factor."""
    return F.tril(F.where(on_diagonal(m.shape[-1]), F.mul(m, 0.5), m))


def inverse_gaps(v: Any) -> Any:
    """``1/(v[j] - v[i])`` at (i, j), and 0 where the two are equal."""
    gaps = F.sub(F.unsqueeze(v, axes=(v.ndim - 1,)), F.unsqueeze(v, axes=(v.ndim,)))
    same = F.eq(gaps, 0)
    return F.where(same, 0, F.reciprocal(F.where(same, 1, gaps)))


def both(m: Any) -> Any:
    """Matrices and their transposes added up."""
    return F.add(m, F.permute(m, (*range(m.ndim - 2), m.ndim - 1, m.ndim - 2)))


def block(m: Any, rows: Any, columns: Any, row: Any = 0, column: Any = 0) -> Any:
    """``rows`` by ``columns`` of the matrices, from (row, column)."""
    n = m.ndim
    return F.slice(m, axes=(n - 2, n - 1), starts=(row, column), sizes=(rows, columns), steps=(1, 1))


def absent(g: Any, shape: tuple, dtype: Any) -> Any:
    """A gradient, or zeros where it is absent."""
    return F.full(0, dtype=dtype, shape=tuple(shape)) if g is None else g


def total(*terms: Any) -> Any:
    """The sum of the terms that are not None."""
    out = None
    for t in terms:
        if t is not None:
            out = t if out is None else F.add(out, t)
    return out


def solve_triangular(a: Any, b: Any, upper: bool, transpose: bool = False, unit: bool = False) -> Any:
    """``op(a)^-1 b`` for a triangular a; ``transpose`` means the adjoint."""
    return F.triangular_solve(conj(a) if transpose else a, b, upper=upper, transpose=transpose, unitriangular=unit)


def from_right(b: Any, a: Any, upper: bool, transpose: bool = False, unit: bool = False) -> Any:
    """``b op(a)^-1`` for a triangular a; ``transpose`` means the adjoint."""
    return adjoint(solve_triangular(a, adjoint(b), upper, not transpose, unit))


# --- what the ops share --------------------------------------------------------------------------------------------


class Factor(Op):
    """An op on matrices of float32, float64 or the complex types."""

    amp = "deny"

    def check(self, x: Meta, square: bool = False) -> tuple:
        """Batch, rows and columns of ``x``; refuses other dtypes and ranks."""
        if x.dtype is None or x.dtype not in (*FLOATING, *COMPLEX.values()):
            self.fail(
                OperandError,
                "an operand of float32, float64, complex64 or complex128",
                x.dtype.name if x.dtype else "a number",
            )
        if len(x.shape) < 2:
            self.fail(ValueError, "matrices: at least two dims", tuple(x.shape))
        if square:
            require(self, x.shape[-1] == x.shape[-2], "square matrices", tuple(x.shape))
        return tuple(x.shape[:-2]), x.shape[-2], x.shape[-1]

    def shard_pair(self, x: Any, y: Any, of_x: list, of_y: list) -> tuple[list, list]:
        """Factors of two operands with broadcast batches, given those of their matrices; and of the result's batch."""
        names = factor_names(max(len(x.shape), len(y.shape)) - 2, "b")
        own = [[*aligned(names, Meta(m.shape[:-2], None)), *inner] for m, inner in ((x, of_x), (y, of_y))]
        return own, [f if any(f in o for o in own) else "1" for f in names]

    def shard_batch(self, *ranks: int, batch: int, results: tuple) -> str:
        """Batch dims pass; the matrices are whole. ``ranks`` and ``results`` count the dims besides the batch."""
        names = factor_names(batch, "b")
        own = [[*names, *factor_names(r, f"m{k}")] for k, r in enumerate(ranks)]
        replicated = [f for o in own for f in o[batch:]]
        return shard_string(own, [[*names, *["1"] * r] for r in results], **dict.fromkeys(replicated, "replicated"))


def well_conditioned(rng: Any, shape: tuple, dtype: Any = None) -> np.ndarray:
    """Random matrices far from singular, with distinct singular and eigenvalues."""
    dtype = dtype or dt.float64
    x = draw(rng, shape, dtype, -0.5, 0.5)
    m, n = shape[-2:]
    out = x + np.eye(m, n) * (1.5 + np.arange(n))
    return out.astype(dtype.numpy)


def positive(rng: Any, shape: tuple, dtype: Any = None) -> np.ndarray:
    """Hermitian positive definite matrices with distinct eigenvalues."""
    x = well_conditioned(rng, shape, dtype)
    return (x @ np.conj(np.swapaxes(x, -1, -2))).astype(x.dtype)


def _squares(rng: Any, make: Any = well_conditioned, **options: Any) -> Iterator[Sample]:
    """Samples of one square operand."""
    yield Sample((make(rng, (3, 3)),), **options)
    yield Sample((make(rng, (2, 1, 2, 2), dt.complex128),), **options)
    yield Sample((make(rng, (2, 2), dt.float32),), **options)
    yield Sample((make(rng, (1, 1)),), **options)
    yield Sample((np.zeros((0, 2, 2)),), **options)
    yield Sample((np.zeros((0, 0)),), **options)


# --- Cholesky ------------------------------------------------------------------------------------------------------


@register
class Cholesky(Factor):
    """The triangular factor of a Hermitian positive definite x:

    ``L L^H``, or with ``upper`` ``U^H U``. Reads one triangle.
    """

    upper: bool = False

    def infer(self, x):
        self.check(x, square=True)
        return Meta(tuple(x.shape), x.dtype)

    def vjp(self, s, g):
        factor = s.outputs[0]
        if self.upper:
            factor, g = adjoint(factor), adjoint(g)
        inner = half_diagonal(mm(adjoint(factor), F.tril(g)))
        outer = solve_triangular(factor, from_right(inner, factor, upper=False), upper=False, transpose=True)
        return (hermitian_part(outer),)

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(2,))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for upper in (False, True):
            yield from _squares(rng, positive, attrs={"upper": upper}, note="hermitian")


@register
class CholeskySolve(Factor):
    """The solution of ``A x = b``, given the Cholesky factor of A."""

    inputs = ("b", "factor")
    linear = ("b",)
    upper: bool = False

    def infer(self, b, factor):
        dtype = same_dtype(self, b, factor)
        _, n, _ = self.check(factor, square=True)
        head, rows, columns = self.check(b)
        require(self, rows == n, "b.shape[-2] == factor.shape[-1]", f"{tuple(b.shape)} and {tuple(factor.shape)}")
        return Meta((*broadcast_sizes(self, head, factor.shape[:-2]), rows, columns), dtype)

    def decompose(self, b, factor):
        half = solve_triangular(factor, b, self.upper, transpose=self.upper)
        return solve_triangular(factor, half, self.upper, transpose=not self.upper)

    def shard(self, b, factor):
        own, batch = self.shard_pair(b, factor, ["k", "j"], ["k", "i"])
        return shard_string(own, [[*batch, "1", "j"]], i="replicated", k="replicated")

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for upper in (False, True):
            factor = np.linalg.cholesky(positive(rng, (2, 3, 3), dt.complex128))
            yield Sample(
                (draw(rng, (3, 2), dt.complex128), np.swapaxes(factor, 1, 2) if upper else factor), {"upper": upper}
            )
        yield Sample((draw(rng, (3, 1)), np.linalg.cholesky(positive(rng, (3, 3)))))


# --- QR, LU --------------------------------------------------------------------------------------------------------


@register
class Qr(Factor):
    """``x = Q R``. Modes: "reduced", "complete" (a square Q) and "r", which gives R alone.

    The columns that "complete" adds for a tall x are arbitrary, and that case has no gradient.
    """

    mode: str = "reduced"

    def infer(self, x):
        if self.mode not in ("reduced", "complete", "r"):
            self.fail(ValueError, "mode reduced, complete or r", self.mode)
        head, m, n = self.check(x)
        k = m if self.mode == "complete" else dim.minimum(m, n)
        r = Meta((*head, k, n), x.dtype)
        return r if self.mode == "r" else (Meta((*head, m, k), x.dtype), r)

    def vjp(self, s, *grads):
        x = s.inputs[0]
        m, n = x.shape[-2:]
        k = dim.minimum(m, n)
        gq, gr = (None, *grads) if self.mode == "r" else grads
        # With X = x[:, :k] = Q U and Y = x[:, k:] = Q V: R = [U V], and Y is empty for tall matrices.
        r = s.outputs[-1]
        u = block(r, k, k)
        y = block(x, m, n - k, 0, k)
        q = from_right(block(x, m, k), u, upper=True) if self.mode == "r" else s.outputs[0]
        gr = absent(gr, r.shape, x.dtype)
        gu, gv = F.triu(block(gr, k, k)), block(gr, k, n - k, 0, k)
        gq = total(gq, mm(y, adjoint(gv)))
        inner = F.sub(mm(u, adjoint(gu)), mm(adjoint(gq), q))
        lower = F.tril(inner, diagonal=-1)
        diag = as_diagonal(diagonal(inner))
        if x.dtype.is_complex:
            diag = F.mul(F.add(diag, conj(diag)), 0.5)
        symmetric = total(lower, adjoint(lower), diag)
        gx = from_right(F.add(gq, mm(q, symmetric)), u, upper=True, transpose=True)
        return (F.concat([gx, mm(q, gv)], axis=x.ndim - 1),)

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(2,) if self.mode == "r" else (2, 2))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for mode in ("reduced", "complete", "r"):
            yield Sample((well_conditioned(rng, (3, 3)),), {"mode": mode})
            yield Sample((well_conditioned(rng, (2, 2, 4)),), {"mode": mode}, note="wide")
            yield Sample((well_conditioned(rng, (2, 2), dt.complex128),), {"mode": mode})
            tall = () if mode == "complete" else None
            yield Sample((well_conditioned(rng, (4, 2)),), {"mode": mode}, differentiable=tall, note="tall")
        yield Sample((np.zeros((0, 2, 2), np.float32),), note="0-size")


@register
class Lu(Factor):
    """``P x = L U`` with partial pivoting: L below the diagonal and U on and above it, in one matrix; and the pivots.

    Pivot i, an int32 counted from 1, is the row that was exchanged with row i.
    """

    def infer(self, x):
        head, m, n = self.check(x)
        return Meta(tuple(x.shape), x.dtype), Meta((*head, dim.minimum(m, n)), dt.int32)

    def vjp(self, s, g, _):
        x, (lu, pivots) = s.inputs[0], s.outputs
        m, n = x.shape[-2:]
        k = dim.minimum(m, n)
        last = x.ndim - 1
        # Blocks [L1 over L2] and [U1 beside U2]; L2 or U2 is empty.
        lu1, l2, u2 = block(lu, k, k), block(lu, m - k, k, k, 0), block(lu, k, n - k, 0, k)
        g1, gl2, gu2 = block(g, k, k), block(g, m - k, k, k, 0), block(g, k, n - k, 0, k)
        g21 = from_right(gl2, lu1, upper=True, transpose=True)
        g12 = solve_triangular(lu1, gu2, upper=False, transpose=True, unit=True)
        gl1 = F.sub(F.tril(g1, diagonal=-1), mm(g12, adjoint(u2)))
        gu1 = F.sub(F.triu(g1), mm(adjoint(l2), g21))
        l1 = F.add(F.tril(lu1, diagonal=-1), eye(k, x.dtype))
        inner = F.add(F.tril(mm(adjoint(l1), gl1), diagonal=-1), F.triu(mm(gu1, adjoint(F.triu(lu1)))))
        g11 = from_right(
            solve_triangular(lu1, inner, upper=False, transpose=True, unit=True), lu1, upper=True, transpose=True
        )
        bottom = F.pad(g21, 0, axes=(last,), lo=(0,), hi=(n - k,))
        permuted = F.concat([F.concat([g11, g12], axis=last), bottom], axis=last - 1)
        rows = F.unsqueeze(F.lu_permutation(pivots, size=m), axes=(last,))
        rows = F.broadcast_to(rows, shape=sizes(x))
        return (F.scatter_along(zeros(x), rows, permuted, axis=last - 1),)

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(2, 1))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((well_conditioned(rng, (3, 3)),))
        yield Sample((well_conditioned(rng, (2, 3, 3))[:, ::-1],), note="rows exchanged")
        yield Sample((well_conditioned(rng, (4, 2)),), note="tall")
        yield Sample((well_conditioned(rng, (2, 4), dt.complex128),), note="wide")
        yield Sample((np.zeros((0, 2, 2), np.float32),), note="0-size")


@register
class LuPermutation(Op):
    """The order of ``size`` rows after the exchanges of ``pivots``: row i of ``P x`` is row ``out[i]`` of x."""

    inputs = ("pivots",)
    vjp = None
    size: int = param("int")

    def infer(self, pivots, size):
        if not pivots.dtype.is_integer or not pivots.shape:
            self.fail(ValueError, "integer pivots of at least one dim", f"{pivots.dtype.name} {tuple(pivots.shape)}")
        require(self, pivots.shape[-1] <= size, "at least as many rows as pivots", f"{size} and {tuple(pivots.shape)}")
        return Meta((*pivots.shape[:-1], size), dt.int64)

    def shard(self, pivots, size):
        names = factor_names(len(pivots.shape))
        return shard_string([names], [[*names[:-1], "1"]], **{names[-1]: "replicated"})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((np.array([[3, 3, 3], [2, 2, 3]], np.int32),), params={"size": 3})
        yield Sample((np.array([4, 2], np.int32),), params={"size": 4})
        yield Sample((np.zeros((0,), np.int32),), params={"size": 2}, note="0-size")


@register
class LuUnpack(Factor):
    """P, L and U from what :class:`Lu` gives: ``x = P L U``."""

    inputs = ("lu", "pivots")

    def infer(self, lu, pivots):
        head, m, n = self.check(lu)
        k = dim.minimum(m, n)
        return Meta((*head, m, m), lu.dtype), Meta((*head, m, k), lu.dtype), Meta((*head, k, n), lu.dtype)

    def decompose(self, lu, pivots):
        m, n = lu.shape[-2:]
        k = dim.minimum(m, n)
        order = F.unsqueeze(F.lu_permutation(pivots, size=m), axes=(lu.ndim - 2,))
        rows = F.unsqueeze(counter(m), axes=(1,))
        p = F.cast(F.eq(order, rows), dtype=lu.dtype)
        lower = F.tril(block(lu, m, k), diagonal=-1)
        unit = F.eq(rows, counter(k))
        return p, F.where(unit, 1, lower), F.triu(block(lu, k, n))

    def shard(self, lu, pivots):
        return self.shard_batch(2, 1, batch=len(lu.shape) - 2, results=(2, 2, 2))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (3, 3)), np.array([3, 3, 3], np.int32)), differentiable=(0,))
        yield Sample((draw(rng, (2, 4, 2)), np.array([[1, 4], [3, 2]], np.int32)), differentiable=(0,), note="tall")
        yield Sample((draw(rng, (2, 4), dt.complex128), np.array([2, 2], np.int32)), differentiable=(0,), note="wide")


# --- singular values and eigenvalues -------------------------------------------------------------------------------


@register
class Svd(Factor):
    """``x = U diag(S) Vh``, S falling; with ``full``, square U and Vh."""

    full: bool = False

    def infer(self, x):
        head, m, n = self.check(x)
        k = dim.minimum(m, n)
        left, right = ((m, m), (n, n)) if self.full else ((m, k), (k, n))
        return Meta((*head, *left), x.dtype), Meta((*head, k), x.dtype.real), Meta((*head, *right), x.dtype)

    def vjp(self, s, gu, gs, gvh):
        x, (u, sv, vh) = s.inputs[0], s.outputs
        m, n = x.shape[-2:]
        k = dim.minimum(m, n)
        if self.full:
            # Only the first k vectors are determined; nothing can depend on the others.
            u, vh = block(u, m, k), block(vh, k, n)
            gu = None if gu is None else block(gu, m, k)
            gvh = None if gvh is None else block(gvh, k, n)
        inner = None if gs is None else as_diagonal(_like(gs, x))
        if gu is None and gvh is None:
            return (mm(u, inner, vh),)
        gaps = inverse_gaps(F.mul(sv, sv))
        zero = F.eq(sv, 0)
        inverse = F.where(zero, 0, F.reciprocal(F.where(zero, 1, sv)))
        out = None
        if gu is not None:
            overlap = mm(adjoint(u), gu)
            twist = F.mul(_like(gaps, x), F.sub(overlap, adjoint(overlap)))
            inner = total(inner, columns_times(twist, sv))
            out = mm(columns_times(F.sub(gu, mm(u, overlap)), inverse), vh)
        if gvh is not None:
            overlap = mm(vh, adjoint(gvh))
            twist = F.mul(_like(gaps, x), F.sub(overlap, adjoint(overlap)))
            inner = total(inner, rows_times(sv, twist))
            out = total(out, mm(u, rows_times(inverse, F.sub(gvh, mm(adjoint(overlap), vh)))))
        if gu is not None and x.dtype.is_complex:
            # The phases of U and V turn together, so what U's gradient says of them stands for both.
            phase = F.imag(diagonal(mm(adjoint(u), gu)))
            inner = total(inner, as_diagonal(F.mul(_like(inverse, x), F.complex(0.0, phase))))
        return (total(out, mm(u, inner, vh)),)

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(2, 1, 2))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for full in (False, True):
            yield Sample((well_conditioned(rng, (3, 3)),), {"full": full})
            yield Sample(
                (well_conditioned(rng, (2, 2, 3)),), {"full": full}, differentiable=() if full else None, note="wide"
            )
            yield Sample(
                (well_conditioned(rng, (4, 2)),), {"full": full}, differentiable=() if full else None, note="tall"
            )
            yield Sample(
                (well_conditioned(rng, (2, 2), dt.complex128),),
                {"full": full},
                differentiable=(),
                note="phases are free",
            )
        yield Sample((well_conditioned(rng, (2, 2), dt.float32),))
        yield Sample((np.zeros((0, 2, 3)),), note="0-size")


@register
class Svdvals(Factor):
    """The singular values of ``x``, falling."""

    def infer(self, x):
        head, m, n = self.check(x)
        return Meta((*head, dim.minimum(m, n)), x.dtype.real)

    def vjp(self, s, g):
        x = s.inputs[0]
        u, _, vh = F.svd(x)
        return (mm(columns_times(u, g), vh),)

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(1,))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((well_conditioned(rng, (3, 3)),))
        yield Sample((well_conditioned(rng, (2, 2, 3), dt.complex128),))
        yield Sample((well_conditioned(rng, (4, 2), dt.float32),))
        yield Sample((np.zeros((0, 2, 3)),), note="0-size")


@register
class Eigh(Factor):
    """Eigenvalues, rising, and eigenvectors of a Hermitian x, of which one triangle is read."""

    upper: bool = False

    def infer(self, x):
        head, n, _ = self.check(x, square=True)
        return Meta((*head, n), x.dtype.real), Meta(tuple(x.shape), x.dtype)

    def vjp(self, s, gw, gv):
        w, v = s.outputs
        inner = None if gw is None else as_diagonal(_like(gw, v))
        if gv is not None:
            inner = total(inner, F.mul(_like(inverse_gaps(w), v), mm(adjoint(v), gv)))
        return (hermitian_part(mm(v, inner, adjoint(v))),)

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(1, 2))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for upper in (False, True):
            yield Sample((positive(rng, (3, 3)),), {"upper": upper}, note="hermitian")
            yield Sample(
                (positive(rng, (2, 2, 2), dt.complex128),), {"upper": upper}, differentiable=(), note="phases are free"
            )
        yield Sample((positive(rng, (2, 2), dt.float32),), note="hermitian")
        yield Sample((np.zeros((0, 2, 2)),), note="0-size")


@register
class Eigvalsh(Factor):
    """The eigenvalues, rising, of a Hermitian x, of which one triangle is read."""

    upper: bool = False

    def infer(self, x):
        head, n, _ = self.check(x, square=True)
        return Meta((*head, n), x.dtype.real)

    def vjp(self, s, g):
        _, v = F.eigh(s.inputs[0], upper=self.upper)
        return (mm(columns_times(v, g), adjoint(v)),)

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(1,))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for upper in (False, True):
            yield from _squares(rng, positive, attrs={"upper": upper}, note="hermitian")


def eig_vjp(w: Any, v: Any, gw: Any, gv: Any, real: bool) -> Any:
    """Gradient of a general matrix from those of its eigenvalues and (normalised) eigenvectors."""
    inner = None if gw is None else as_diagonal(gw)
    if gv is not None:
        overlap = mm(adjoint(v), gv)
        # Vectors of norm 1: a change along a vector itself is none.
        along = columns_times(mm(adjoint(v), v), F.real(diagonal(overlap)))
        inner = total(inner, F.mul(conj(inverse_gaps(w)), F.sub(overlap, along)))
    out = F.solve(adjoint(v), mm(inner, adjoint(v)))
    return F.real(out) if real else out


@register
class Eig(Factor):
    """Eigenvalues, in no order, and eigenvectors of norm 1 of a general square x; both are complex."""

    def infer(self, x):
        head, n, _ = self.check(x, square=True)
        dtype = COMPLEX.get(x.dtype, x.dtype)
        return Meta((*head, n), dtype), Meta(tuple(x.shape), dtype)

    def vjp(self, s, gw, gv):
        return (eig_vjp(*s.outputs, gw, gv, not s.inputs[0].dtype.is_complex),)

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(1, 2))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield from _squares(rng, differentiable=(), note="phases are free")


@register
class Eigvals(Factor):
    """The eigenvalues, in no order, of a general square x; they are complex."""

    def infer(self, x):
        head, n, _ = self.check(x, square=True)
        return Meta((*head, n), COMPLEX.get(x.dtype, x.dtype))

    def vjp(self, s, g):
        x = s.inputs[0]
        w, v = F.eig(x)
        return (eig_vjp(w, v, g, None, not x.dtype.is_complex),)

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(1,))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield from _squares(rng)


# --- solvers -------------------------------------------------------------------------------------------------------


class Solver(Factor):
    """``op(x)^-1 y`` for matrices y, with broadcast batches."""

    inputs = ("x", "y")
    linear = ("y",)

    def infer(self, x, y):
        dtype = same_dtype(self, x, y)
        head, n, _ = self.check(x, square=True)
        other, rows, columns = self.check(y)
        require(self, n == rows, "x.shape[-1] == y.shape[-2]", f"{tuple(x.shape)} and {tuple(y.shape)}")
        return Meta((*broadcast_sizes(self, head, other), rows, columns), dtype)

    def shard(self, x, y):
        own, batch = self.shard_pair(x, y, ["i", "k"], ["k", "j"])
        return shard_string(own, [[*batch, "1", "j"]], i="replicated", k="replicated")


@register
class Solve(Solver):
    """The solution of ``x out = y``."""

    def vjp(self, s, g):
        x, y = s.inputs
        gy = F.solve(adjoint(x), g)
        return back(F.neg(mm(gy, adjoint(s.outputs[0]))), x), back(gy, y)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((well_conditioned(rng, (3, 3)), draw(rng, (3, 2))))
        yield Sample(
            (well_conditioned(rng, (2, 1, 2, 2), dt.complex128), draw(rng, (3, 2, 1), dt.complex128)), note="broadcast"
        )
        yield Sample((well_conditioned(rng, (2, 2), dt.float32), draw(rng, (2, 2, 3), dt.float32)), note="broadcast")
        yield Sample((well_conditioned(rng, (2, 2)), draw(rng, (2, 0))), note="0-size")


@register
class TriangularSolve(Solver):
    """The solution of ``x out = y`` (``transpose``: ``x^T out = y``) for a triangular x, whose other triangle is not
    read.

    ``unitriangular``: the diagonal counts as ones and is not read either.
    """

    upper: bool = True
    transpose: bool = False
    unitriangular: bool = False

    def vjp(self, s, g):
        x, y = s.inputs
        gy = F.triangular_solve(conj(x), g, self.upper, not self.transpose, self.unitriangular)
        out = s.outputs[0]
        gx = F.neg(mm(conj(out), transpose(gy)) if self.transpose else mm(gy, adjoint(out)))
        edge = int(self.unitriangular)
        gx = F.triu(gx, diagonal=edge) if self.upper else F.tril(gx, diagonal=-edge)
        return back(gx, x), back(gy, y)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for upper in (False, True):
            for transposed in (False, True):
                for unit in (False, True):
                    attrs = {"upper": upper, "transpose": transposed, "unitriangular": unit}
                    yield Sample((well_conditioned(rng, (3, 3)), draw(rng, (3, 2))), attrs)
        yield Sample(
            (well_conditioned(rng, (2, 1, 2, 2), dt.complex128), draw(rng, (3, 2, 1), dt.complex128)),
            {"transpose": True},
        )
        yield Sample((well_conditioned(rng, (2, 2), dt.float32), draw(rng, (2, 0), dt.float32)), note="0-size")


@register
class Inverse(Factor):
    """The inverse of square matrices."""

    def infer(self, x):
        self.check(x, square=True)
        return Meta(tuple(x.shape), x.dtype)

    def vjp(self, s, g):
        h = adjoint(s.outputs[0])
        return (F.neg(mm(h, g, h)),)

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(2,))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield from _squares(rng)


@register
class Det(Factor):
    """The determinant of square matrices. Its gradient needs an invertible x."""

    def infer(self, x):
        head, _, _ = self.check(x, square=True)
        return Meta(head, x.dtype)

    def vjp(self, s, g):
        x, det = s.inputs[0], s.outputs[0]
        scale = F.mul(g, conj(det))
        return (F.mul(F.unsqueeze(scale, axes=(scale.ndim, scale.ndim + 1)), adjoint(F.inverse(x))),)

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(0,))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield from _squares(rng)


@register
class Slogdet(Factor):
    """Sign (a complex number of size 1 for complex x) and logarithm of the size of the determinant."""

    def infer(self, x):
        head, _, _ = self.check(x, square=True)
        return Meta(head, x.dtype), Meta(head, x.dtype.real)

    def vjp(self, s, gsign, glog):
        x, sign = s.inputs[0], s.outputs[0]
        scale = None if glog is None else _like(glog, x)
        if gsign is not None and x.dtype.is_complex:
            # d sign = i sign d(phase), and phase and logarithm are the parts of the trace of x^-1 dx.
            turn = F.imag(F.mul(conj(gsign), sign))
            scale = total(scale, F.complex(0.0, F.neg(turn)))
        if scale is None:
            return (zeros(x),)
        return (F.mul(F.unsqueeze(scale, axes=(scale.ndim, scale.ndim + 1)), adjoint(F.inverse(x))),)

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(0, 0))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield from _squares(rng)


@register
class Pinv(Factor):
    """The Moore-Penrose inverse; singular values up to ``rcond`` times the largest count as zero.

    With ``hermitian``, x is Hermitian and one triangle of it is read.
    """

    hermitian: bool = False
    rcond: float = param(default=1e-15)

    def infer(self, x, rcond):
        head, m, n = self.check(x, square=self.hermitian)
        return Meta((*head, n, m), x.dtype)

    def parts(self, x: Any, rcond: Any) -> tuple:
        """Vectors of the range, values, vectors of the domain, and which values count."""
        if self.hermitian:
            values, u = F.eigh(x)
            v, sizes = u, F.abs(values)
        else:
            u, values, vh = F.svd(x)
            v, sizes = adjoint(vh), values
        last = sizes.ndim - 1
        # A zero beside them: the matrix may have no singular values.
        largest = F.max(F.pad(sizes, 0, axes=(last,), lo=(0,), hi=(1,)), axes=(last,), keepdim=True)
        return u, values, v, F.gt(sizes, F.mul(largest, rcond))

    def decompose(self, x, rcond):
        u, values, v, counts = self.parts(x, rcond)
        inverse = F.where(counts, F.reciprocal(F.where(counts, values, 1)), 0)
        return mm(columns_times(v, inverse), adjoint(u))

    def vjp(self, s, g):
        return (self.pull(s.inputs[0], s.outputs[0], g, s.params.rcond),)

    def pull(self, x: Any, p: Any, g: Any, rcond: Any) -> Any:
        """The gradient of ``x``, of which ``p`` is the inverse."""
        if self.hermitian:  # what was read
            x = F.add(F.tril(x), adjoint(F.tril(x, -1)))
        m, n = x.shape[-2:]
        ph, gh = adjoint(p), adjoint(g)
        left, right = F.sub(eye(m, x.dtype), mm(x, p)), F.sub(eye(n, x.dtype), mm(p, x))
        gx = total(F.neg(mm(ph, g, ph)), mm(left, gh, p, ph), mm(ph, p, gh, right), self.cut(x, gh, rcond))
        return hermitian_part(gx) if self.hermitian else gx

    def cut(self, x: Any, gh: Any, rcond: Any) -> Any:
        """Part of the gradient from singular values that do not count and are not 0: their vectors turn, too.

        The rest of the gradient is that of a matrix without them. From the derivatives of functions of singular values
        (Daleckii and Krein; Noferini, 2017) what it is for values of 0 has been taken away.
        """
        u, values, v, counts = self.parts(x, rcond)
        row, column = values.ndim - 1, values.ndim
        mask = F.logical_and(F.unsqueeze(counts, axes=(row,)), F.logical_not(F.unsqueeze(counts, axes=(column,))))
        value = F.where(counts, values, 1)
        ratio = F.where(mask, F.div(F.unsqueeze(values, axes=(column,)), F.unsqueeze(value, axes=(row,))), 0)
        inner = mm(adjoint(u), gh, v)
        if self.hermitian:
            rate = F.div(F.mul(ratio, inverse_gaps(values)), F.unsqueeze(value, axes=(row,)))
            inner = F.mul(_like(both(rate), inner), inner)
        else:
            rate = F.mul(ratio, inverse_gaps(F.mul(values, values)))
            again = F.mul(_like(both(F.mul(rate, ratio)), inner), inner)
            inner = F.add(again, F.mul(_like(both(rate), inner), adjoint(inner)))
        return mm(u, inner, adjoint(v))

    def shard(self, x, rcond):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(2,))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((well_conditioned(rng, (4, 2)),), note="tall")
        yield Sample((well_conditioned(rng, (2, 2, 3), dt.complex128),), note="wide")
        yield Sample((positive(rng, (3, 3)),), {"hermitian": True}, note="hermitian")
        yield Sample((np.diag([2.0, 1.0, 1e-9]),), params={"rcond": 1e-6}, differentiable=(), note="of lower rank")
        yield Sample((np.zeros((0, 2, 3), np.float32),), note="0-size")
        for size in ((3, 3), (2, 2, 3)):
            x = well_conditioned(rng, size) @ np.diag([1.0, 0.5, 0.1])
            yield Sample((x,), params={"rcond": 0.3}, note="small values that do not count")
        x = well_conditioned(rng, (3, 2), dt.complex128) @ np.diag([1.0, 0.1])
        yield Sample((x,), params={"rcond": 0.3}, note="small values that do not count")
        x = np.linalg.qr(well_conditioned(rng, (3, 3)))[0]
        yield Sample((x @ np.diag([1.0, -0.5, 0.1]) @ x.T,), {"hermitian": True}, {"rcond": 0.3}, note="hermitian")


@register
class Lstsq(Factor):
    """The least squares solution of ``x out = y``, of least norm; also residuals, the rank of x and its singular
    values.

    Singular values up to ``rcond`` times the largest count as zero. Residuals are the squared lengths of the columns of
    ``x out - y``. The gradient is that of the solution.
    """

    inputs = ("x", "y")
    rcond: float = param(default=1e-15)

    def infer(self, x, y, rcond):
        dtype = same_dtype(self, x, y)
        head, m, n = self.check(x)
        other, rows, columns = self.check(y)
        require(self, m == rows, "x.shape[-2] == y.shape[-2]", f"{tuple(x.shape)} and {tuple(y.shape)}")
        out = broadcast_sizes(self, head, other)
        solution, residuals = Meta((*out, n, columns), dtype), Meta((*out, columns), dtype.real)
        return solution, residuals, Meta(head, dt.int32), Meta((*head, dim.minimum(m, n)), dtype.real)

    def vjp(self, s, g, gres, _, gsv):
        x, y = s.inputs
        out = s.outputs[0]
        gx = gy = None
        if gres is not None:
            # The solution's own change does not change them to first order.
            rest = F.mul(columns_times(F.sub(mm(x, out), y), gres), 2)
            gx, gy = mm(rest, adjoint(out)), F.neg(rest)
        if g is not None:
            p = F.pinv(x, rcond=s.params.rcond)
            gy = total(gy, mm(adjoint(p), g))
            gx = total(gx, Pinv().pull(x, p, mm(g, adjoint(y)), s.params.rcond))
        if gsv is not None:
            u, _, vh = F.svd(x)
            gx = total(gx, mm(columns_times(u, gsv), vh))
        return None if gx is None else back(gx, x), None if gy is None else back(gy, y)

    def shard(self, x, y, rcond):
        own, batch = self.shard_pair(x, y, ["k", "i"], ["k", "j"])
        head = own[0][:-2]
        # The rank and the singular values are those of x alone.
        same = dict.fromkeys((*(f for f in batch if f not in head), "j"), "same")
        results = [[*batch, "1", "j"], [*batch, "j"], head, [*head, "1"]]
        return shard_string(own, results, i="replicated", k="replicated", **same)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((well_conditioned(rng, (4, 2)), draw(rng, (4, 3))), note="tall")
        yield Sample((well_conditioned(rng, (2, 3), dt.complex128), draw(rng, (2, 1), dt.complex128)), note="wide")
        yield Sample((well_conditioned(rng, (2, 3, 3)), draw(rng, (3, 1))), note="broadcast")


# --- powers --------------------------------------------------------------------------------------------------------


@register
class MatrixPower(Factor):
    """``x`` multiplied by itself ``n`` times; a negative n means the inverse."""

    n: int

    def infer(self, x):
        self.check(x, square=True)
        return Meta(tuple(x.shape), x.dtype)

    def decompose(self, x):
        if self.n == 0:
            return F.broadcast_to(eye(x.shape[-1], x.dtype), shape=sizes(x))
        base = F.inverse(x) if self.n < 0 else x
        out, n = None, abs(self.n)
        while n:
            if n & 1:
                out = base if out is None else F.matmul(out, base)
            n >>= 1
            if n:
                base = F.matmul(base, base)
        return out

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(2,))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for n in (-2, 0, 1, 2, 5):
            yield Sample((well_conditioned(rng, (2, 2)),), {"n": n})
        yield Sample((well_conditioned(rng, (2, 3, 3), dt.complex128),), {"n": 3})
        yield Sample((np.zeros((0, 2, 2), np.float32),), {"n": 3}, note="0-size")


@register
class MatrixExp(Factor):
    """The exponential of square matrices."""

    def infer(self, x):
        self.check(x, square=True)
        return Meta(tuple(x.shape), x.dtype)

    def vjp(self, s, g):
        # exp of [[a, g], [0, a]] holds, in its upper right block, the derivative at a in the direction of g.
        h = adjoint(s.inputs[0])
        n, last = h.shape[-1], h.ndim - 1
        top = F.concat([h, g], axis=last)
        bottom = F.concat([zeros(h), h], axis=last)
        return (block(F.matrix_exp(F.concat([top, bottom], axis=last - 1)), n, n, 0, n),)

    def shard(self, x):
        return self.shard_batch(2, batch=len(x.shape) - 2, results=(2,))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (3, 3), dt.float64, -1, 1),))
        yield Sample((draw(rng, (2, 2, 2), dt.complex128, -1, 1),))
        yield Sample((draw(rng, (2, 2), dt.float32, -1, 1),))
        yield Sample((np.zeros((0, 2, 2)),), note="0-size")


@register
class HouseholderProduct(Factor):
    """The first n columns of the product of reflections ``I - tau[i] v v^H``, v being column i of ``x`` below the
    diagonal, 1 on it.
    """

    inputs = ("x", "tau")
    count: int

    def infer(self, x, tau):
        same_dtype(self, x, tau)
        head, m, n = self.check(x)
        got = f"{tuple(x.shape)} and {tuple(tau.shape)}"
        require(self, n <= m, "no more columns than rows", got)
        if len(tau.shape) != len(x.shape) - 1:
            self.fail(ShapeError, "tau of one dim less than x", got)
        if not all(dim.eq(a, b) for a, b in zip(x.shape[:-2], tau.shape[:-1], strict=True)):
            self.fail(ShapeError, "equal batches of x and tau", got)
        require(
            self,
            (tau.shape[-1] == self.count) & (tau.shape[-1] <= n),
            f"{self.count} reflections, one for each of the first columns",
            got,
        )
        return Meta(tuple(x.shape), x.dtype)

    def decompose(self, x, tau):
        m, n = x.shape[-2:]
        last = x.ndim - 1
        lower = F.tril(x, diagonal=-1)
        rows = F.unsqueeze(counter(m), axes=(1,))
        vectors = F.where(F.eq(rows, counter(n)), 1, lower)
        out = F.broadcast_to(F.cast(F.eq(rows, counter(n)), dtype=x.dtype), shape=sizes(x))
        for i in reversed(range(self.count)):
            v = F.slice(vectors, axes=(last,), starts=(i,), sizes=(1,), steps=(1,))
            t = F.unsqueeze(F.slice(tau, axes=(last - 1,), starts=(i,), sizes=(1,), steps=(1,)), axes=(last,))
            out = F.sub(out, F.mul(t, mm(v, mm(adjoint(v), out))))
        return out

    def shard(self, x, tau):
        return self.shard_batch(2, 1, batch=len(x.shape) - 2, results=(2,))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (4, 3)), draw(rng, (3,))), {"count": 3})
        yield Sample((draw(rng, (2, 3, 3), dt.complex128), draw(rng, (2, 2), dt.complex128)), {"count": 2})
