"""The library that multiplies matrices on a CUDA device.

``FLAGS_cuda_gemm`` chooses: ``auto`` takes the first that is there and says once where none is; ``loop`` takes the
kernels of the loop IR; the name of a library requires it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Protocol

from umiak.backends.cuda.providers.epilogue import PLAIN, Epilogue, Scales
from umiak.backends.matmul_work import Matrices
from umiak.core.buffer import Buffer
from umiak.core.dtype import DType
from umiak.util import flags, log
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from umiak.backends.cuda.device import Device

NAMES = ("auto", "cublaslt", "loop")


def _choose(name: str) -> None:
    if name not in NAMES:
        raise op_error(ValueError, "FLAGS_cuda_gemm", f"one of {', '.join(NAMES)}", repr(name))
    find.cache_clear()


class Gemm(Protocol):
    """A library's matmul."""

    def multiply(
        self,
        out: Buffer,
        a: Matrices,
        b: Matrices,
        name: str,
        epilogue: Epilogue = PLAIN,
        scales: Scales | None = None,
    ) -> bool:
        """Queue ``out = a b`` over broadcast batches, and what the epilogue says, on the current stream, as part of op
        ``name``; ``out`` is dense. ``scales``: of operands of 8 bits, which lie along what is contracted. False, and
        nothing done, where the library does not do it with such operands."""


@functools.cache
def find(device: Device, dtype: DType) -> Gemm | None:
    """The provider of matmuls of a dtype on a device; None: kernels of the loop IR."""
    from umiak.backends.cuda.providers import cublaslt

    if FLAG.value == "loop" or dtype.name not in cublaslt.DTYPES:
        return None
    library = cublaslt.load()
    if isinstance(library, str):
        if FLAG.value == "cublaslt":
            raise op_error(RuntimeError, "FLAGS_cuda_gemm", "cuBLASLt", library)
        _say_once(library)
        return None
    return cublaslt.gemm(device, library)


def by_loop_ir() -> bool:
    """Return whether no library multiplies matrices here."""
    from umiak.backends.cuda.providers import cublaslt

    return FLAG.value == "loop" or (FLAG.value == "auto" and isinstance(cublaslt.load(), str))


@functools.cache
def _say_once(reason: str) -> None:
    text = "matmuls run by kernels of the loop IR, far below what the device can do: %s"
    log.get("cuda").warning(text, reason)


FLAG = flags.define(
    "cuda_gemm", "auto", f"what multiplies matrices on CUDA devices: {', '.join(NAMES)}", on_change=_choose
)
