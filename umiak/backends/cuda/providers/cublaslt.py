"""Matmuls by cuBLASLt, from the wheel ``nvidia-cublas`` or wherever ``cuda.pathfinder`` finds it.

The library is column-major: what is written is the transpose of the result, from the right operand and the left one.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from umiak.backends.cuda import copies
from umiak.backends.cuda.launches import Scratch
from umiak.backends.cuda.providers import lt_library as lt
from umiak.backends.cuda.providers.epilogue import PLAIN, Epilogue, Scales
from umiak.backends.cuda.providers.lt_library import Heuristic, Library
from umiak.backends.cuda.providers.matmul_flags import HALF_SUMS, TENSOR_OP_MATH
from umiak.backends.matmul_work import Matrices
from umiak.backends.strided import merged, reshaped
from umiak.core.buffer import Buffer
from umiak.core.context import current

if TYPE_CHECKING:
    from umiak.backends.cuda.device import Device

# Dtypes of operands and results alike.
DTYPES = ("float32", "float64", "float16", "bfloat16")

WORKSPACE = 32 << 20  # bytes that a call may use
MOST_ALIGNED = 256


class Layout(NamedTuple):
    """A column-major operand: rows, columns, elements from column to column, and from matrix to matrix."""

    rows: int
    columns: int
    step: int
    batch: int


class Problem(NamedTuple):
    """One class of calls: what the library chooses an algorithm by."""

    dtypes: tuple[str, str, str]  # of the library's operands and of the result
    kinds: tuple[int, int]  # of sums, and of the factors of a call
    batch: int
    transposes: tuple[int, int]  # of the library's operands
    layouts: tuple[Layout, Layout, Layout]
    alignments: tuple[int, ...]  # of operands, result and what is added
    attributes: tuple[tuple[int, int], ...]  # of the descriptor beside these, with their values
    pointers: tuple[tuple[int, int], ...]  # attributes that are addresses, with their alignments


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
        return columns, rows, max(row, columns), lt.PLAIN  # its rows are the library's columns
    if (row == 1 or rows == 1) and (column >= rows or columns == 1):
        return rows, columns, max(column, rows), lt.TRANSPOSED
    return None


class Chosen(NamedTuple):
    descriptor: ctypes.c_void_p
    layouts: tuple[ctypes.c_void_p, ...]
    heuristic: Heuristic


class CublasLt:
    """cuBLASLt on one device (:class:`umiak.backends.cuda.providers.gemm.Gemm`).

    ``masks``: addresses of the masks that the library has written, by which alone it is told which ones it can read.
    """

    def __init__(self, device: Device, library: Library) -> None:
        self.device, self.library = device, library
        device.enter()
        self.handle = ctypes.c_void_p()
        library.call("Create", ctypes.byref(self.handle))
        self.chosen: dict[Problem, Chosen | None] = {}
        self.masks: set[int] = set()
        self.lock = threading.Lock()  # of descriptors, in which addresses are set for each call

    def multiply(
        self,
        out: Buffer,
        a: Matrices,
        b: Matrices,
        name: str,
        epilogue: Epilogue = PLAIN,
        scales: Scales | None = None,
    ) -> bool:
        if epilogue.mask is not None:
            self.masks.discard(epilogue.mask.pointer)  # a former call's
        if not a.columns or (epilogue.gate is not None and epilogue.gate.pointer not in self.masks):
            return False  # sums of nothing
        added = epilogue.added
        out, a, b, added = one_matrix(out, a, b, added)
        a, b = (x if fits(x) else copies.dense(self.device, x, name) for x in (a, b))
        m, n = out.shape[-2:]
        batch = out.shape[:-2]
        of_out = Matrices(out, False).strides
        sizes, (to, of_a, of_b) = merged(batch, of_out, a.steps(batch), b.steps(batch))
        several = sizes != [1]
        if several and not (epilogue.mask is epilogue.gate is epilogue.sums is None):
            return False  # these are of one matrix
        left, right = (column_major(x.rows, x.columns, x.row, x.column) for x in (b, a))
        assert left is not None and right is not None
        layouts = (
            Layout(*left[:3], of_b[-1]), Layout(*right[:3], of_a[-1]), Layout(n, m, n, to[-1]),
        )  # fmt: skip
        operands = [(b.x, of_b), (a.x, of_a), (out, to), (out if added is None else added, to)]
        dtypes = (b.x.dtype.name, a.x.dtype.name, out.dtype.name)
        attributes, addresses = (x + y for x, y in zip(of_epilogue(epilogue), of_scales(scales)))
        for index in itertools.product(*map(range, sizes[:-1])):
            pointers = tuple(
                x.pointer + x.dtype.itemsize * sum(i * s for i, s in zip(index, steps)) for x, steps in operands
            )
            problem = Problem(
                dtypes, kinds_of(dtypes, attributes), sizes[-1], (left[3], right[3]), layouts,
                tuple(map(aligned, pointers)), attributes, tuple((k, aligned(p)) for k, p in addresses),
            )  # fmt: skip
            with self.lock:
                chosen = self.choice(problem, addresses)
            if chosen is None:
                return False
            uses = (a.x, b.x, *epilogue.buffers, *(() if scales is None else scales[:2]), out)
            self.put(problem, chosen, pointers, addresses, float(added is not None), uses, name)
        if epilogue.mask is not None:
            self.masks.add(epilogue.mask.pointer)
        return True

    def choice(self, problem: Problem, addresses: Sequence[tuple[int, int]]) -> Chosen | None:
        """The library's choice for a class of calls; None where it has none."""
        if problem not in self.chosen:
            self.chosen[problem] = self.choose(problem, addresses)
        return self.chosen[problem]

    def choose(self, problem: Problem, addresses: Sequence[tuple[int, int]]) -> Chosen | None:
        library = self.library
        descriptor = library.new("MatmulDesc", *problem.kinds)
        layouts = tuple(
            self.layout(x, lt.DTYPES[dtype][0], problem.batch) for x, dtype in zip(problem.layouts, problem.dtypes)
        )
        preference = library.new("MatmulPreference")
        library.set("MatmulPreference", preference, lt.WORKSPACE, ctypes.c_uint64(WORKSPACE))
        of_a, of_b, of_out, of_added = problem.alignments
        for attribute, value in zip(lt.ALIGNMENTS, (of_a, of_b, of_added, of_out)):
            library.set("MatmulPreference", preference, attribute, ctypes.c_uint32(value))
        heuristic, count = Heuristic(), ctypes.c_int()
        try:
            for attribute, value in zip((lt.TRANSA, lt.TRANSB), problem.transposes):
                library.set("MatmulDesc", descriptor, attribute, ctypes.c_int32(value))
            for attribute, value in problem.attributes:
                kind = ctypes.c_int64 if attribute == lt.AUX_STEP else ctypes.c_int32
                library.set("MatmulDesc", descriptor, attribute, kind(value))
            self.point(descriptor, addresses)  # their alignment counts
            library.call(
                "MatmulAlgoGetHeuristic", self.handle, descriptor, layouts[0], layouts[1], layouts[2], layouts[2],
                preference, 1, ctypes.byref(heuristic), ctypes.byref(count),
            )  # fmt: skip
        except RuntimeError:  # CUBLAS_STATUS_NOT_SUPPORTED, or an attribute that this version does not know
            return None
        finally:
            library.call("MatmulPreferenceDestroy", preference)
        return Chosen(descriptor, layouts, heuristic) if count.value and not heuristic.state else None

    def layout(self, x: Layout, number: int, batch: int) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        arguments = (number, ctypes.c_uint64(x.rows), ctypes.c_uint64(x.columns), ctypes.c_int64(x.step))
        self.library.call("MatrixLayoutCreate", ctypes.byref(made), *arguments)
        self.library.set("MatrixLayout", made, lt.BATCH_COUNT, ctypes.c_int32(batch))
        self.library.set("MatrixLayout", made, lt.BATCH_OFFSET, ctypes.c_int64(x.batch))
        return made

    def point(self, descriptor: ctypes.c_void_p, addresses: Sequence[tuple[int, int]]) -> None:
        """Set the addresses that a descriptor holds."""
        for attribute, address in addresses:
            self.library.set("MatmulDesc", descriptor, attribute, ctypes.c_void_p(address))

    def put(
        self,
        problem: Problem,
        chosen: Chosen,
        pointers: Sequence[int],
        addresses: Sequence[tuple[int, int]],
        beta: float,
        uses: tuple[Buffer, ...],
        name: str,
    ) -> None:
        out = uses[-1]
        queue = self.device.queue(current().get_stream(out.place))
        scratch = Scratch(out.place)
        workspace = scratch.take(chosen.heuristic.workspace)
        one, of_added = (lt.factor(problem.kinds[1], x) for x in (1.0, beta))
        left, right, result, added = (ctypes.c_void_p(p) for p in pointers)

        def enqueue(stream: int) -> None:
            with self.lock:
                self.point(chosen.descriptor, addresses)
                self.library.call(
                    "Matmul", self.handle, chosen.descriptor, ctypes.byref(one), left, chosen.layouts[0], right,
                    chosen.layouts[1], ctypes.byref(of_added), added, chosen.layouts[2], result, chosen.layouts[2],
                    ctypes.byref(chosen.heuristic), ctypes.c_void_p(workspace),
                    ctypes.c_size_t(chosen.heuristic.workspace), ctypes.c_void_p(stream),
                )  # fmt: skip

        queue.put(name, enqueue, uses=(*uses, *scratch.tensors))


def kinds_of(dtypes: tuple[str, str, str], attributes: tuple) -> tuple[int, int]:
    """The types of sums and of factors. In float16 the library adds up where nothing else is part of the launch."""
    if TENSOR_OP_MATH.value and {*dtypes} == {"float32"}:
        return lt.TF32
    if HALF_SUMS.value and {*dtypes} == {"float16"} and not attributes:
        return lt.HALF
    return lt.DTYPES[dtypes[2]][1:]


def fits(x: Matrices) -> bool:
    """Return whether the library can read matrices as they lie."""
    return column_major(x.rows, x.columns, x.row, x.column) is not None


def aligned(pointer: int) -> int:
    """The power of two that an address is a multiple of."""
    return min(MOST_ALIGNED, pointer & -pointer)


Attributes = tuple[tuple[int, int], ...]  # of a descriptor, with their values


def of_epilogue(x: Epilogue) -> tuple[Attributes, Attributes]:
    """Attributes of a descriptor that say an epilogue, and those of them that are addresses."""
    if x == PLAIN:
        return (), ()
    bits = lt.ACTIVATIONS[x.activation] | (lt.EPILOGUE_BIAS if x.bias is not None else 0)
    addresses = [] if x.bias is None else [(lt.BIAS_POINTER, x.bias.pointer)]
    attributes = []
    mask = x.gate if x.mask is None else x.mask
    if mask is not None:
        bits |= lt.EPILOGUE_AUX if x.gate is None else lt.RELU_GRADIENT
        attributes.append((lt.AUX_STEP, 8 * mask.shape[-1]))
        addresses.append((lt.AUX_POINTER, mask.pointer))
    if x.sums is not None:
        # The library's first operand is the right one.
        bits |= {"left": lt.SUMS_OF_B, "right": lt.SUMS_OF_A, "result": lt.SUMS_OF_RESULT}[x.summed]
        addresses.append((lt.BIAS_POINTER, x.sums.pointer))
    return ((lt.EPILOGUE, bits or lt.EPILOGUE_NONE), *attributes), tuple(addresses)


def of_scales(x: Scales | None) -> tuple[Attributes, Attributes]:
    """The same of scales. The library's first operand is the right one."""
    if x is None:
        return (), ()
    modes = tuple(zip(lt.SCALE_MODES, (lt.SCALES[x.of_right], lt.SCALES[x.of_left])))
    return modes if any(mode for _, mode in modes) else (), tuple(
        zip(lt.SCALE_POINTERS, (x.right.pointer, x.left.pointer))
    )


def one_matrix(
    out: Buffer, a: Matrices, b: Matrices, added: Buffer | None
) -> tuple[Buffer, Matrices, Matrices, Buffer | None]:
    """The same as rows of one matrix, where one right operand serves a batch whose left ones lie one after the
    other."""
    batch = out.shape[:-2]
    if not batch or any(b.steps(batch)):
        return out, a, b, added
    sizes, (steps,) = merged((*batch, a.rows), (*a.steps(batch), a.row))
    if len(sizes) > 1 or (sizes[0] > 1 and not steps[0]):
        return out, a, b, added
    shape = (sizes[0], b.columns)
    left = reshaped(a.x, (sizes[0], a.columns), (steps[0] or a.columns, a.column))
    right = reshaped(b.x, (b.rows, b.columns), (b.row, b.column))
    return (
        reshaped(out, shape),
        Matrices(left, False),
        Matrices(right, False),
        None if added is None else reshaped(added, shape),
    )
