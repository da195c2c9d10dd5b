"""Eigenvalues of general matrices, by the QR algorithm on complex numbers; and the exponential.

Hessenberg form by reflections, then steps with Wilkinson's shift until a triangle is left (Golub and Van Loan, Matrix
Computations, chapter 7). One point of P is one matrix.
"""

from __future__ import annotations

from typing import Any

from umiak.compiler.algorithms.linear_systems import constant, copied, fill, matrix, next_to, real_type
from umiak.compiler.algorithms.number import Number, maximum, where
from umiak.compiler.algorithms.orthogonal import PRECISION, identity
from umiak.compiler.algorithms.writer import Array, Writer, algorithm
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import I64
from umiak.ops import lapack

STEPS_PER_VALUE = 60  # of the QR algorithm; two or three are usual
TERMS = 20  # of the series of the exponential, for matrices of norm 1/2
MOST_SQUARINGS = 1100


def hessenberg(w: Writer, a: Array, z: Array | None, size: Any, one: Number) -> None:
    """``a`` becomes ``z^H a z`` with zeros below the first subdiagonal; ``z`` begins as the identity."""
    v = w.memory(one.type, size, complex_=True)
    zero = one * 0.0
    with w.loop(n.sub(w.integer(size), 2)) as k:
        first = next_to(k)
        alpha = w.let(a[first, k])
        length = w.let(w.sum(size, lambda i: a[i, k].squared(), zero.real, lo=first).root())
        modulus = w.let(alpha.size())
        phase = w.let(where(modulus.is_zero(), one, alpha / where(modulus.is_zero(), one.real, modulus)))
        with w.loop(size, lo=first) as i:
            v[i] = a[i, k] + where(n.eq(i, first), phase * length, zero)
        square = w.let(w.sum(size, lambda i: v[i].squared(), zero.real, lo=first))
        with w.when(n.call("not", square.is_zero())):
            factor = w.let(2.0 / square)
            with w.loop(size) as j:
                product = w.let(w.sum(size, lambda i: v[i].conj() * a[i, j], zero, lo=first) * factor)
                with w.loop(size, lo=first) as i:
                    a[i, j] = a[i, j] - v[i] * product

            def from_the_right(x: Array) -> None:
                with w.loop(size) as i:
                    product = w.let(w.sum(size, lambda j: x[i, j] * v[j], zero, lo=first) * factor)
                    with w.loop(size, lo=first) as j:
                        x[i, j] = x[i, j] - product * v[j].conj()

            from_the_right(a)
            if z is not None:
                from_the_right(z)


def shift_of(a: Number, b: Number, c: Number, d: Number) -> Number:
    """The eigenvalue of [[a, b], [c, d]] that is nearer to d."""
    half = (a + d) * 0.5
    root = ((a - d) * (a - d) * 0.25 + b * c).square_root()
    first, second = half + root, half - root
    return where((second - d).squared() < (first - d).squared(), second, first)


def triangular(w: Writer, a: Array, z: Array | None, size: Any, one: Number) -> None:
    """From Hessenberg form to an upper triangle (Schur's form): ``end`` is the last row that is not done."""
    count, zero, eps = w.integer(size), one * 0.0, PRECISION[one.type]
    end, tries = w.memory(I64), w.memory(I64)
    end[()] = n.sub(count, 1)
    tries[()] = n.i64(0)
    cosines, sines = w.memory(one.type, size), w.memory(one.type, size, complex_=True)
    with w.loop(n.mul(count, STEPS_PER_VALUE)):
        last = w.let(end[()].re)
        with w.when(n.lt(0, last)):

            def start_of(i: Node, begin: Node) -> tuple[Node]:
                """The last row above which the subdiagonal is as good as zero."""
                near = a[i, i].size() + a[n.sub(i, 1), n.sub(i, 1)].size()
                small = a[i, n.sub(i, 1)].size() <= near * eps
                return (n.select(small, i, begin),)

            begin = w.fold(next_to(last), (n.i64(0),), start_of, lo=1)
            with w.when(n.eq(begin, last)):
                with w.when(n.lt(0, last)):
                    a[last, n.sub(last, 1)] = zero
                end[()] = n.sub(last, 1)
                tries[()] = n.i64(0)
            with w.when(n.lt(begin, last)):
                tries[()] = next_to(tries[()].re)
                before = n.sub(last, 1)
                usual = shift_of(a[before, before], a[before, last], a[last, before], a[last, last])
                # Another shift, now and then, ends cycles.
                odd = a[last, last] + a[last, before].size()
                shift = w.let(where(n.eq(n.rem(tries[()].re, n.i64(11)), 10), odd, usual))
                with w.loop(next_to(last), lo=begin) as i:
                    a[i, i] = a[i, i] - shift
                with w.loop(last, lo=begin) as k:
                    x, y = w.let(a[k, k], a[next_to(k), k])
                    length = w.let((x.squared() + y.squared()).root())
                    idle = length.is_zero()
                    over = where(idle, one.real, length)
                    # A rotation [[c, s], [-conj(s), c]] with a real c, and the phase of x on its first row.
                    size_x = w.let(x.size())
                    phase = where(size_x.is_zero(), one, x / where(size_x.is_zero(), one.real, size_x))
                    c = w.let(where(idle, one.real, size_x / over))
                    s = w.let(where(idle, zero, phase * y.conj() / over))
                    cosines[k] = c
                    sines[k] = s
                    with w.loop(count, lo=k) as j:
                        p, q = w.let(a[k, j], a[next_to(k), j])
                        a[k, j] = p * c + q * s
                        a[next_to(k), j] = q * c - p * s.conj()
                with w.loop(last, lo=begin) as k:
                    c, s = w.let(cosines[k], sines[k])
                    with w.loop(n.minimum(n.add(k, 2), next_to(last))) as i:
                        p, q = w.let(a[i, k], a[i, next_to(k)])
                        a[i, k] = p * c + q * s.conj()
                        a[i, next_to(k)] = q * c - p * s
                    if z is not None:
                        with w.loop(count) as i:
                            p, q = w.let(z[i, k], z[i, next_to(k)])
                            z[i, k] = p * c + q * s.conj()
                            z[i, next_to(k)] = q * c - p * s
                with w.loop(next_to(last), lo=begin) as i:
                    a[i, i] = a[i, i] + shift
    w.fail(n.lt(0, end[()].re))


def eigen(w: Writer, vectors: bool) -> None:
    *batch, size, _ = w.shape(0)
    w.points(*batch)
    x, type_ = w.operand(0), real_type(w)
    one = Number(n.const(1.0, type_), n.const(0.0, type_))
    zero = one * 0.0
    a = w.memory(type_, size, size, complex_=True)
    z = w.memory(type_, size, size, complex_=True) if vectors else None
    fill(w, a, size, size, lambda i, j: x[i, j].widened(one))
    if z is not None:
        identity(w, z, size, one)
    hessenberg(w, a, z, size, one)
    triangular(w, a, z, size, one)
    values = w.result(0)
    with w.loop(size) as i:
        values[i] = a[i, i]
    if z is None:
        return
    out, y = w.result(1), w.memory(type_, size, complex_=True)
    norm = w.let(w.fold(size, (one.real * 0.0,), lambda i, s: (maximum(s, a[i, i].size()),)))
    least = w.let(norm * PRECISION[type_] + 1e-30)
    with w.loop(size) as k:
        value = w.let(a[k, k])
        y[k] = one
        with w.down(k) as i:
            total = w.let(w.sum(next_to(k), lambda j: a[i, j] * y[j], zero, lo=next_to(i)))
            gap = w.let(value - a[i, i])
            # Of equal values the vectors fall together; a tiny gap keeps them finite.
            y[i] = total / where(gap.size() < least, one * least, gap)
        with w.loop(size) as i:
            out[i, k] = w.sum(next_to(k), lambda j: z[i, j] * y[j], zero)
        length = w.let(w.sum(size, lambda i: out[i, k].squared(), zero.real).root())
        with w.loop(size) as i:
            out[i, k] = out[i, k] / length


@algorithm(lapack.Eig)
def eig(w: Writer) -> None:
    eigen(w, vectors=True)


@algorithm(lapack.Eigvals)
def eigvals(w: Writer) -> None:
    eigen(w, vectors=False)


@algorithm(lapack.MatrixExp)
def matrix_exp(w: Writer) -> None:
    """The series of a matrix halved until its norm is at most 1/2, then squared as often."""
    *batch, size, _ = w.shape(0)
    w.points(*batch)
    one = constant(w, 1.0)
    zero = one * 0.0
    a, y, out = copied(w, w.operand(0), size, size), matrix(w, size, size), w.result(0)
    norm = w.memory(one.type)
    norm[()] = zero.real
    with w.loop(size) as i:
        total = w.let(w.sum(size, lambda j: a[i, j].size(), zero.real))
        with w.when(n.call("not", total <= norm[()])):  # NaN stays
            norm[()] = total

    def halve(_: Node, length: Number, count: Node, factor: Number) -> tuple[Number, Node, Number]:
        return length * 0.5, next_to(count), factor * 0.5

    start = (norm[()], n.i64(0), one.real)
    _, squarings, factor = w.fold(
        MOST_SQUARINGS, start, halve, go=lambda _, length, *rest: length.like(0.5) < length
    )  # fmt: skip
    fill(w, a, size, size, lambda i, j: a[i, j] * factor)
    identity(w, out, size, one)

    def multiplied(left: Array, scale: Number, add: bool) -> None:
        """``out = left out scale``, plus the identity where ``add``."""
        fill(w, y, size, size, lambda i, j: w.sum(size, lambda k: left[i, k] * out[k, j], zero))

        def element(i: Node, j: Node) -> Number:
            x = y[i, j] * scale
            return x + where(n.eq(i, j), one, zero) if add else x

        fill(w, out, size, size, element)

    with w.down(TERMS + 1, lo=1) as k:
        multiplied(a, 1.0 / Number(n.cast(k, one.type)), True)
    with w.loop(squarings):
        multiplied(out, one.real, False)
