"""Matrix products, solvers and factors, Fourier transforms."""

from __future__ import annotations

from typing import Any

from paddle.static.formats.emit.emitter import (
    TABLE,
    UNDEFINED,
    Emitter,
    Result,
    TensorType,
    array,
    emits,
    f32,
    fixed,
    flag,
    i32,
    i64,
    text,
    typed,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import program as ir
from umiak.ir import sym as dim
from umiak.ir.meta import identical
from umiak.runtime.regions import while_loop


@emits(F.Matmul)
def matmul(e: Emitter, o: ir.Operation) -> Result:
    x, y = (e.of(v) for v in o.operands)
    given = {
        "transpose_x": flag(o.op.transpose_x and len(typed(x).shape) > 1),
        "transpose_y": flag(o.op.transpose_y and len(typed(y).shape) > 1),
    }
    return e.one("matmul", [x, y], e.type(o), **given)


@emits(F.Linear)
def linear(e: Emitter, o: ir.Operation) -> Result:
    x, weight, bias = o.operands
    given = {"transpose_x": flag(False), "transpose_y": flag(False)}
    out = e.one("matmul", [e.of(x), e.of(weight)], e.type(o), **given)
    return out if bias is None else e.one("add", [out, e.of(bias)], e.type(o))


@emits(F.Bmm)
def bmm(e: Emitter, o: ir.Operation) -> Result:
    return e.one("bmm", [e.of(x) for x in o.operands], e.type(o))


@emits(F.Addmm)
def addmm(e: Emitter, o: ir.Operation) -> Result | None:
    shapes = [x.meta.shape for x in o.operands]  # type: ignore[union-attr]
    if not fixed(o.params) or any(len(s) != 2 for s in shapes):
        return None
    beta, alpha = o.params
    return e.one("addmm", [e.of(x) for x in o.operands], e.type(o), beta=f32(beta), alpha=f32(alpha))


@emits(F.Trace)
def trace(e: Emitter, o: ir.Operation) -> Result | None:
    if not fixed(o.params):
        return None
    axes = {"axis1": i32(o.op.axis1), "axis2": i32(o.op.axis2)}
    return e.one("trace", [e.of(o.operands[0])], e.type(o), offset=i32(o.params[0]), **axes)


@emits(F.Kron)
def kron(e: Emitter, o: ir.Operation) -> Result:
    return e.one("kron", [e.of(x) for x in o.operands], e.type(o))


@emits(F.Dot)
def dot(e: Emitter, o: ir.Operation) -> Result | None:
    if not all(identical(x.meta.shape, o.operands[0].meta.shape) for x in o.operands):  # type: ignore[union-attr]
        return None
    return e.one("dot", [e.of(x) for x in o.operands], e.type(o))


def _factor(name: str, **attributes: Any) -> Any:
    """A call with the same operands and results; attributes as functions of the op."""

    def emit(e: Emitter, o: ir.Operation) -> list[Result] | Result:
        given = {key: make(o.op) for key, make in attributes.items()}
        made = e.call(name, [e.of(x) for x in o.operands], e.types(o), **given)
        return made if len(made) > 1 else made[0]

    return emit


def _upper(op: Any) -> Any:
    return flag(op.upper)


TABLE.update({
    F.Cholesky: _factor("cholesky", upper=_upper),
    F.Svd: _factor("svd", full_matrices=lambda op: flag(op.full)),
    F.Eigh: _factor("eigh", UPLO=lambda op: text("U" if op.upper else "L")),
    F.Eig: _factor("eig"),
    F.Eigvals: _factor("eigvals"),
    F.Solve: _factor("solve"),
    F.Inverse: _factor("inverse"),
    F.Det: _factor("det"),
    F.MatrixPower: _factor("matrix_power", n=lambda op: i32(op.n)),
    F.TriangularSolve: _factor(
        "triangular_solve", upper=_upper, transpose=lambda op: flag(op.transpose),
        unitriangular=lambda op: flag(op.unitriangular),
    ),
    F.CholeskySolve: _factor("cholesky_solve", upper=_upper),
})  # fmt: skip


@emits(F.Qr)
def qr(e: Emitter, o: ir.Operation) -> list[Result]:
    types = e.types(o)
    if o.op.mode == "r":
        types = [TensorType(types[0].dtype, (0,)), *types]
    return e.call("qr", [e.of(o.operands[0])], types, mode=text(o.op.mode))[-len(o.results) :]


@emits(F.Svdvals)
def svdvals(e: Emitter, o: ir.Operation) -> Result:
    """Of batches the operator of singular values alone gives others."""
    x, kind = e.of(o.operands[0]), e.type(o)
    *head, m, n = typed(x).shape
    if not head:
        return e.one("svdvals", [x], kind)
    k = kind.shape[-1]
    types = [TensorType(typed(x).dtype, (*head, m, k)), kind, TensorType(typed(x).dtype, (*head, k, n))]
    return e.call("svd", [x], types, full_matrices=flag(False))[1]


@emits(F.Lstsq)
def lstsq(e: Emitter, o: ir.Operation) -> list[Result] | None:
    x, y = (e.of(v) for v in o.operands)
    least, types, kind = o.params[0], e.types(o), typed(x).dtype.replace("complex64", "float32")
    limit = e.attribute(least, kind) if fixed(least) else e.reshape(e.of(least, kind), (1,))
    made = e.call("lstsq", [x, y, limit], types, driver=text("gelsd"))
    rows, columns = typed(x).shape[-2:]
    if e.reads(o.results[1]) and not rows > columns > 0:  # its own residuals are none then, or may be
        made[1] = _residuals(e, o, made[0])
    return made


def _residuals(e: Emitter, o: ir.Operation, solution: Result) -> Result:
    """The squared lengths of the columns of ``x @ solution - y``."""
    x, y = (e.of(v) for v in o.operands)
    kind = e.types(o)[1]
    full = TensorType(typed(y).dtype, (*kind.shape[:-1], typed(y).shape[-2], kind.shape[-1]))
    made = e.one("matmul", [x, solution], full, transpose_x=flag(False), transpose_y=flag(False))
    off = e.one("subtract", [made, y], full)
    if full.dtype != kind.dtype:
        off = e.one("abs", [off], full._replace(dtype=kind.dtype))
    squares = e.one("multiply", [off, off], typed(off))
    return e.one("sum", [squares, e.ints([-2])], kind, dtype=UNDEFINED, keepdim=flag(False))


@emits(F.MatrixExp)
def matrix_exp(e: Emitter, o: ir.Operation) -> Result:
    """A Taylor series of the matrix over a power of two, which is squared as often again."""
    if 0 in e.type(o).shape:
        return e.of(o.operands[0])
    return e.traced(_exponential, o.operands)[0]


def _exponential(x: Any) -> Any:
    rank, n = len(x.shape), x.shape[-1]
    real = x.dtype.real
    norm = F.max(F.sum(F.abs(x), axes=(rank - 2,)), axes=(rank - 2,))
    norm = F.reshape(norm, shape=(*x.shape[:-2], 1, 1))
    norm = F.where(F.isfinite(norm), norm, 0.0)
    halvings = F.maximum(F.add(F.ceil(F.log2(F.maximum(norm, 1e-30))), 1.0), 0.0)
    small = F.mul(x, F.cast(F.pow(0.5, halvings), dtype=x.dtype))
    row, column = (F.reshape(F.iota(0, 1, dtype=dt.int64, size=n), shape=s) for s in ((n, 1), (1, n)))
    eye = F.cast(F.eq(row, column), dtype=x.dtype)
    out = F.broadcast_to(eye, shape=tuple(x.shape))
    for k in reversed(range(1, 17 if real is dt.float64 else 10)):
        out = F.add(F.div(F.matmul(small, out), float(k)), eye)
    most = F.max(halvings, axes=tuple(range(rank)))

    def body(state: list[Any]) -> list[Any]:
        done, now = state
        return [F.add(done, 1.0), F.where(F.lt(done, halvings), F.matmul(now, now), now)]

    done = F.full(0.0, shape=(), dtype=real)
    return while_loop(lambda state: F.lt(state[0], most), body, [done, out])[1]


@emits(F.Slogdet)
def slogdet(e: Emitter, o: ir.Operation) -> list[Result]:
    kind = e.types(o)[0]
    both = e.one("slogdet", [e.of(o.operands[0])], kind._replace(shape=(2, *kind.shape)))
    return e.parts(e.one("unbind", [both], (kind, kind), axis=i32(0)))


@emits(F.Eigvalsh)
def eigvalsh(e: Emitter, o: ir.Operation) -> Result:
    x = e.of(o.operands[0])
    given = {"uplo": text("U" if o.op.upper else "L"), "is_test": flag(True)}
    return e.call("eigvalsh", [x], [e.type(o), typed(x)], **given)[0]


@emits(F.Lu)
def lu(e: Emitter, o: ir.Operation) -> list[Result]:
    kind = e.types(o)[0]
    info = TensorType("int32", kind.shape[:-2])
    return e.call("lu", [e.of(o.operands[0])], [*e.types(o), info], pivot=flag(True))[:2]


@emits(F.LuUnpack)
def lu_unpack(e: Emitter, o: ir.Operation) -> list[Result]:
    both = {"unpack_ludata": flag(True), "unpack_pivots": flag(True)}
    return e.call("lu_unpack", [e.of(x) for x in o.operands], e.types(o), **both)


# --- Fourier transforms ----------------------------------------------------------------------------------------------


@emits(F.Fft)
def fft(e: Emitter, o: ir.Operation) -> Result:
    kind = e.type(o)
    x = e.cast(e.of(o.operands[0]), kind.dtype)
    given = {"axes": array(i64, o.op.axes), "normalization": text(o.op.norm), "forward": flag(not o.op.inverse)}
    return e.one("fft_c2c", [x], kind, **given)


@emits(F.Rfft)
def rfft(e: Emitter, o: ir.Operation) -> Result:
    given = {"axes": array(i64, o.op.axes), "normalization": text(o.op.norm), "forward": flag(True)}
    return e.one("fft_r2c", [e.of(o.operands[0])], e.type(o), **given, onesided=flag(True))


@emits(F.Irfft)
def irfft(e: Emitter, o: ir.Operation) -> Result | None:
    (n,) = o.params
    (x,) = o.operands
    if not fixed(n):
        half = x.meta.shape[o.op.axes[-1]]  # type: ignore[union-attr]
        if not dim.same(n, 2 * (half - 1)):  # files have but numbers
            return e.traced(lambda x: _of_all_points(x, o.op, n), [x])[0]
        n = 0  # that many
    given = {"axes": array(i64, o.op.axes), "normalization": text(o.op.norm), "forward": flag(False)}
    return e.one("fft_c2r", [e.of(x)], e.type(o), **given, last_dim_size=i64(n))


def _of_all_points(x: Tensor, op: Any, n: Any) -> Tensor:
    """The inverse transform of half of the points, of which the other half is the mirror, as that of all ``n``."""
    *others, last = op.axes
    if others:
        x = F.fft(x, axes=tuple(others), norm=op.norm, inverse=True)
    k = F.iota(0, 1, dtype=dt.int64, size=n)
    mirrored = F.gt(k, n // 2)
    sign = F.reshape(F.where(mirrored, -1, F.full(1, dtype=x.dtype.real, shape=())), (n, *(1,) * (x.ndim - 1 - last)))
    x = F.take(x, F.where(mirrored, F.sub(n, k), k), last)
    x = F.complex(F.real(x), F.mul(F.imag(x), sign))
    return F.real(F.fft(x, axes=(last,), norm=op.norm, inverse=True))
