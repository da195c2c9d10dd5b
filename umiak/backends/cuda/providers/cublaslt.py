"""Matmuls by cuBLASLt, from the wheel ``nvidia-cublas`` or wherever ``cuda.pathfinder`` finds it.

The library is column-major: what is written is the transpose of the result, from the right operand and the left one.
Constants are those of ``cublasLt.h`` and ``library_types.h``.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from umiak.backends.cuda import copies
from umiak.backends.cuda.launches import Scratch
from umiak.backends.matmul_work import Matrices
from umiak.backends.strided import merged
from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak.core.tensor import empty

if TYPE_CHECKING:
    from umiak.backends.cuda.device import Device

# By dtype: the type of elements, of sums, and of the factors of a call.
DTYPES = {"float32": (0, 68, 0), "float64": (1, 70, 1), "float16": (2, 68, 0), "bfloat16": (14, 68, 0)}
_FACTORS = {0: ctypes.c_float, 1: ctypes.c_double}
_TRANSA, _TRANSB = 3, 4  # cublasLtMatmulDescAttributes_t
_BATCH_COUNT, _BATCH_OFFSET = 5, 6  # cublasLtMatrixLayoutAttribute_t
_WORKSPACE, _ALIGNMENTS = 1, (5, 6, 7, 8)  # cublasLtMatmulPreferenceAttributes_t
_PLAIN, _TRANSPOSED = 0, 1  # cublasOperation_t

WORKSPACE = 32 << 20  # bytes that a call may use
MOST_ALIGNED = 256


class Heuristic(ctypes.Structure):
    """``cublasLtMatmulHeuristicResult_t``."""

    _fields_ = [
        ("algo", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    ]


class Layout(NamedTuple):
    """A column-major operand: rows, columns, elements from column to column, and from matrix to matrix."""

    rows: int
    columns: int
    step: int
    batch: int


class Problem(NamedTuple):
    """One class of calls: what the library chooses an algorithm by."""

    dtype: str
    batch: int
    transposes: tuple[int, int]  # of the library's operands
    layouts: tuple[Layout, Layout, Layout]
    alignments: tuple[int, int, int]


class Library:
    """The functions of the library; a status other than 0 is an error."""

    def __init__(self, functions: Any) -> None:
        self.functions = functions

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.functions, f"cublasLt{name}")(*arguments)
        if status:
            raise RuntimeError(f"[cublasLt{name}] failed with status {status}")

    def new(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self.call(f"{name}Create", ctypes.byref(made), *arguments)
        return made

    def set(self, kind: str, of: ctypes.c_void_p, attribute: int, value: Any) -> None:
        self.call(f"{kind}SetAttribute", of, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))


@functools.cache
def load() -> Library | str:
    """The library; where there is none, the reason."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        path = load_nvidia_dynamic_lib("cublasLt").abs_path
    except ImportError as error:
        return f"cuda-pathfinder is not installed ({error})"
    except RuntimeError as error:  # DynamicLibNotFoundError
        return f"cuBLASLt is not installed (the extra umiak[cuda] has it): {error}"
    return Library(ctypes.CDLL(path))


@functools.cache
def gemm(device: Device, library: Library) -> CublasLt:
    """The library's matmul on a device."""
    return CublasLt(device, library)


def column_major(rows: int, columns: int, row: int, column: int) -> tuple[int, int, int, int] | None:
    """Rows, columns and step of a column-major matrix, and whether it is the transpose of one whose elements lie
    ``row`` and ``column`` apart; None where no such matrix lies so."""
    if (column == 1 or columns == 1) and (row >= columns or rows == 1):
        return columns, rows, max(row, columns), _PLAIN  # its rows are the library's columns
    if (row == 1 or rows == 1) and (column >= rows or columns == 1):
        return rows, columns, max(column, rows), _TRANSPOSED
    return None


class Chosen(NamedTuple):
    descriptor: ctypes.c_void_p
    layouts: tuple[ctypes.c_void_p, ...]
    heuristic: Heuristic


class CublasLt:
    """cuBLASLt on one device (:class:`umiak.backends.cuda.providers.Gemm`)."""

    def __init__(self, device: Device, library: Library) -> None:
        self.device, self.library = device, library
        device.enter()
        self.handle = ctypes.c_void_p()
        library.call("Create", ctypes.byref(self.handle))
        self.chosen: dict[Problem, Chosen | None] = {}

    def multiply(self, out: Buffer, a: Matrices, b: Matrices, name: str) -> bool:
        if not a.columns:
            return False  # sums of nothing
        a, b = (x if self.fits(x) else self.dense(x, name) for x in (a, b))
        m, n = out.shape[-2:]
        batch = out.shape[:-2]
        of_out = Matrices(out, False).strides
        sizes, (to, of_a, of_b) = merged(batch, of_out, a.steps(batch), b.steps(batch))
        item = out.dtype.itemsize
        left, right = (column_major(x.rows, x.columns, x.row, x.column) for x in (b, a))
        assert left is not None and right is not None
        layouts = (
            Layout(*left[:3], of_b[-1]), Layout(*right[:3], of_a[-1]), Layout(n, m, n, to[-1]),
        )  # fmt: skip
        for index in itertools.product(*map(range, sizes[:-1])):
            pointers = tuple(
                x.pointer + item * sum(i * s for i, s in zip(index, steps))
                for x, steps in ((b.x, of_b), (a.x, of_a), (out, to))
            )
            aligned = tuple(min(MOST_ALIGNED, p & -p) for p in pointers)
            problem = Problem(out.dtype.name, sizes[-1], (left[3], right[3]), layouts, aligned)  # type: ignore[arg-type]
            chosen = self.choice(problem)
            if chosen is None:
                return False
            self.put(problem, chosen, pointers, (a.x, b.x, out), name)
        return True

    def fits(self, x: Matrices) -> bool:
        return column_major(x.rows, x.columns, x.row, x.column) is not None

    def dense(self, x: Matrices, name: str) -> Matrices:
        """A copy whose rows lie one after the other."""
        view = Buffer.__new__(Buffer)
        view.storage, view.offset, view.dtype = x.x.storage, x.x.offset, x.x.dtype
        view.shape, view.strides = (*x.batch, x.rows, x.columns), (*x.strides, x.row, x.column)
        copy = Buffer(empty(view.shape, view.dtype, view.place))
        copies.copy(self.device, copy, view, name)
        return Matrices(copy, False)

    def choice(self, problem: Problem) -> Chosen | None:
        """The library's choice for a class of calls; None where it has none."""
        if problem not in self.chosen:
            self.chosen[problem] = self.choose(problem)
        return self.chosen[problem]

    def choose(self, problem: Problem) -> Chosen | None:
        library = self.library
        number, compute, scale = DTYPES[problem.dtype]
        descriptor = library.new("MatmulDesc", compute, scale)
        for attribute, value in zip((_TRANSA, _TRANSB), problem.transposes):
            library.set("MatmulDesc", descriptor, attribute, ctypes.c_int32(value))
        layouts = tuple(self.layout(x, number, problem.batch) for x in problem.layouts)
        preference = library.new("MatmulPreference")
        library.set("MatmulPreference", preference, _WORKSPACE, ctypes.c_uint64(WORKSPACE))
        for attribute, value in zip(_ALIGNMENTS, (*problem.alignments, problem.alignments[2])):
            library.set("MatmulPreference", preference, attribute, ctypes.c_uint32(value))
        heuristic, count = Heuristic(), ctypes.c_int()
        try:
            library.call(
                "MatmulAlgoGetHeuristic", self.handle, descriptor, layouts[0], layouts[1], layouts[2], layouts[2],
                preference, 1, ctypes.byref(heuristic), ctypes.byref(count),
            )  # fmt: skip
        except RuntimeError:  # CUBLAS_STATUS_NOT_SUPPORTED
            return None
        finally:
            library.call("MatmulPreferenceDestroy", preference)
        return Chosen(descriptor, layouts, heuristic) if count.value and not heuristic.state else None

    def layout(self, x: Layout, number: int, batch: int) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        arguments = (number, ctypes.c_uint64(x.rows), ctypes.c_uint64(x.columns), ctypes.c_int64(x.step))
        self.library.call("MatrixLayoutCreate", ctypes.byref(made), *arguments)
        self.library.set("MatrixLayout", made, _BATCH_COUNT, ctypes.c_int32(batch))
        self.library.set("MatrixLayout", made, _BATCH_OFFSET, ctypes.c_int64(x.batch))
        return made

    def put(
        self, problem: Problem, chosen: Chosen, pointers: Sequence[int], uses: tuple[Buffer, ...], name: str
    ) -> None:
        out = uses[-1]
        queue = self.device.queue(current().get_stream(out.place))
        scratch = Scratch(out.place)
        workspace = scratch.take(chosen.heuristic.workspace)
        factor = _FACTORS[DTYPES[problem.dtype][2]]
        one, zero = factor(1), factor(0)
        left, right, result = (ctypes.c_void_p(p) for p in pointers)

        def enqueue(stream: int) -> None:
            self.library.call(
                "Matmul", self.handle, chosen.descriptor, ctypes.byref(one), left, chosen.layouts[0], right,
                chosen.layouts[1], ctypes.byref(zero), result, chosen.layouts[2], result, chosen.layouts[2],
                ctypes.byref(chosen.heuristic), ctypes.c_void_p(workspace),
                ctypes.c_size_t(chosen.heuristic.workspace), ctypes.c_void_p(stream),
            )  # fmt: skip

        queue.put(name, enqueue, uses=uses)
