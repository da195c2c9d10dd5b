"""Kernels of factorisations and solvers: LAPACK, a matrix at a time."""

from __future__ import annotations

from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu.factorisation import CODES, TYPES, Factorisation, load
from umiak.backends.cpu.registry import serves
from umiak.ops import lapack as ops

# op class → kind, settings by the op, and what matrices a factorisation requires
_INVERTIBLE = "an invertible matrix"
_SINGULAR_VALUES = "matrices for which the singular values converge"
_EIGENVALUES = "matrices for which the eigenvalues converge"
_KERNELS: dict[type, tuple[str, Any, str]] = {
    ops.Cholesky: ("cholesky", lambda op: {"upper": op.upper}, "positive definite matrices"),
    ops.Lu: ("lu", lambda op: {}, "finite matrices"),
    ops.Det: ("det", lambda op: {}, "finite matrices"),
    ops.Slogdet: ("slogdet", lambda op: {}, "finite matrices"),
    ops.Inverse: ("inverse", lambda op: {}, _INVERTIBLE),
    ops.Qr: ("qr", lambda op: {"vectors": op.mode != "r", "full": op.mode == "complete"}, "finite matrices"),
    ops.Svd: ("svd", lambda op: {"full": op.full}, _SINGULAR_VALUES),
    ops.Svdvals: ("svd", lambda op: {"vectors": False}, _SINGULAR_VALUES),
    ops.Eigh: ("eigh", lambda op: {"upper": op.upper}, _EIGENVALUES),
    ops.Eigvalsh: ("eigh", lambda op: {"upper": op.upper, "vectors": False}, _EIGENVALUES),
    ops.Solve: ("solve", lambda op: {}, _INVERTIBLE),
    ops.TriangularSolve: (
        "triangular_solve",
        lambda op: {"upper": op.upper, "transpose": op.transpose, "unit": op.unitriangular},
        "a triangular matrix without zeros on its diagonal",
    ),
}
_GOT = {"cholesky": "one that is not", "inverse": "a singular matrix", "solve": "a singular matrix"}


@serves(*_KERNELS)
def kernel(call: Any) -> Kernel | None:
    """The kernel of a class of calls; None where SciPy has no LAPACK for Cython."""
    kind, settings, _ = _KERNELS[type(call.op)]
    metas = call.classes.metas
    if not call.symbolic or metas[0].dtype.name not in TYPES:
        return None
    try:
        load()
    except (ImportError, KeyError):
        return None
    batch = call.outs[0].shape[:-2] if len(metas) == 2 else metas[0].shape[:-2]
    rank = len(batch)
    launcher = Factorisation(kind, metas[0].dtype.name, rank, **settings(call.op))
    dims = [*batch, *metas[0].shape[-2:], metas[1].shape[-1] if len(metas) == 2 else 0]
    for i, meta in enumerate(metas):
        missing = rank + 2 - len(meta.shape)
        dims += [*[1] * missing, *meta.shape[:-2], *[0] * missing, *call.strides(i)]
    return Kernel(launcher.address, launcher.self_pointer, keep=launcher, dims=dims, explain=explain)


def explain(op: Any, operands: tuple, params: tuple, code: int) -> None:
    """Raise the error of a launch that failed."""
    if code == CODES["NO_MEMORY"]:
        raise MemoryError(f"[{op.name}] requires memory for copies of its matrices, and there is none left")
    if code == CODES["TOO_LARGE"]:
        op.fail(OverflowError, "at most 2147483647 rows and columns", [tuple(x.shape) for x in operands])
    kind, _, required = _KERNELS[type(op)]
    op.fail(ValueError, required, _GOT.get(kind, "others"))
