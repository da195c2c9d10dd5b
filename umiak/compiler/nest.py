"""Nests: what one kernel computes, before anything is decided about loops.

A nest has an iteration space of parallel axes P and reduced axes R. At each point of P it runs its stages in order:
reductions over R, then stores at the point itself or, once more, at each point of R. Softmax is two reductions and
a store per point of R; ``add`` is one store and no R.

How tensors lie in memory is not known here. Expressions speak of *accesses*: variable ``@k`` is the sum over all axes
of index times stride, with strides that are known per call. An access is the position in a buffer, or, without a
buffer, a number of its own (the position along one axis, the linear index of a random draw). At each call the
launcher drops and merges axes by their strides, and asks for a variant of the kernel (:class:`Variant`) per
resulting class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from umiak.compiler.codes import BACK, PAIR, UNIT, ZERO
from umiak.compiler.loop.monoid import Monoid
from umiak.compiler.loop.node import Node, var
from umiak.compiler.loop.tree import Statement
from umiak.compiler.loop.types import I64, ScalarType


@dataclass(frozen=True)
class NestBuffer:
    """A tensor that the kernel reads or writes; the launch passes pointers in this order. Inputs come first."""

    name: str
    type: ScalarType
    output: bool = False


@dataclass(frozen=True)
class Access:
    """Strides over the axes (P, then R), in elements: ints or symbolic sizes."""

    buffer: str | None
    strides: tuple[Any, ...]


def position(k: int) -> Node:
    """The value of access ``k`` at the point of iteration, i64."""
    return var(f"@{k}", I64)


@dataclass(frozen=True)
class ReduceStage:
    """``results`` become the combination of ``values`` over R; later stages use them.

    ``results`` are variables; ``where`` leaves points out. ``end`` (of R with one axis): it leaves out just those
    that are not before ``end``, which depends on no axis of R.
    """

    results: tuple[Node, ...]
    monoid: Monoid
    values: tuple[Node, ...]
    where: Node | None = None
    end: Node | None = None


@dataclass(frozen=True)
class ScanStage:
    """Like a reduction, but ``results`` hold, at each point of R, what came up to it (``exclusive``: before it), and
    the stores ``body`` run there. The points of R come in the order of its axes.

    ``ordered``: one after the other, never as lanes: several may write one element, and the last one counts.
    """

    results: tuple[Node, ...]
    monoid: Monoid
    values: tuple[Node, ...]
    body: tuple[StoreStage, ...]
    exclusive: bool = False
    ordered: bool = False


@dataclass(frozen=True)
class StoreStage:
    """``buffer[index] = value`` at each point of P (``each=False``) or of P × R (``each=True``); ``index`` is
    ``position(k)``, or that plus what depends on no axis."""

    buffer: str
    index: Node
    value: Node
    each: bool
    where: Node | None = None


@dataclass(frozen=True)
class FailStage:
    """The launch fails with ``code`` (> 0) if ``where`` holds at any point of P × R."""

    code: int
    where: Node


@dataclass(frozen=True)
class ScatterStage:
    """At each point of P × R, one point of R after the other: element ``index + k`` of ``buffer`` is combined with
    ``values[k]``, or becomes it where there is no ``monoid``.

    Points of R may meet in one element, those of P never do. ``where`` leaves points out.
    """

    buffer: str
    index: Node
    values: tuple[Node, ...]
    monoid: Monoid | None
    where: Node | None = None


@dataclass(frozen=True)
class BodyStage:
    """Statements of the loop IR that run at each point of P, one after the other. A nest that has such has no R and no
    other stages; ``together``: a block of threads runs each point, and lane axes in the body are dealt out to them."""

    body: tuple[Statement, ...]
    together: bool = False


Stage = ReduceStage | ScanStage | StoreStage | FailStage | ScatterStage | BodyStage


@dataclass(frozen=True)
class Nest:
    """One kernel's work. ``sizes`` of the axes, P first (``n_parallel`` of them); ``extras``: further integers that
    expressions read as ``dim(0)``, ``dim(1)``, …. Sizes, strides and extras are ints or symbolic sizes."""

    name: str
    sizes: tuple[Any, ...]
    n_parallel: int
    buffers: tuple[NestBuffer, ...]
    accesses: tuple[Access, ...]
    stages: tuple[Stage, ...]
    extras: tuple[Any, ...] = ()

    @property
    def n_reduced(self) -> int:
        return len(self.sizes) - self.n_parallel


@dataclass(frozen=True)
class Temporary:
    """Memory of one launch of a chain: ``size`` elements."""

    type: ScalarType
    size: Any


@dataclass(frozen=True)
class Chain:
    """Nests that one launch runs one after the other, each over axes of its own. They share the buffers, which end
    with the temporaries; a temporary is an output of the nests that write it.

    ``into``: a result that may lie in an operand's memory, the operand first. There ``checks`` comes before everything
    else, so that a launch that fails has written nothing, and the first nest, which copies the operand to the result,
    is left out.
    """

    name: str
    nests: tuple[Nest, ...]
    temporaries: tuple[Temporary, ...] = ()
    into: tuple[str, str] | None = None
    checks: Nest | None = None


# Strides of the kinds that are known.
STRIDES = {ZERO: 0, UNIT: 1, BACK: -1, PAIR: 2}

# Which loops a variant has, by name; in keys of the launcher by number (codes.pxd).
MAP = "map"  # no R: lanes along the innermost P axis
TILE = "tile"  # no R: an access runs along another P axis; tiles are transposed in registers
ROW = "row"  # lanes along the innermost R axis
COLUMN = "column"  # lanes along the innermost P axis, R one after the other: few points of R
STRIP = "strip"  # the same for many points of R: row after row of R, over strips of columns whose results stay in cache
SPLIT_ROW = "split_row"  # one reduction of few long rows: blocks of R first, then their results
SPLIT_COLUMN = "split_column"  # the same for few columns


@dataclass(frozen=True)
class Variant:
    """A class of launches of one nest: how many axes are left, and each access's kinds of strides.

    Its kernels take these integers: the extras; the sizes of P, then of R; the strides of every access along P, then
    R; for split schedules the number of blocks and the length of a block along the outermost R axis. Strides of
    kinds other than ANY along the innermost axes are not to be read: they are known.
    """

    schedule: str
    p: int
    r: int
    kinds: tuple[tuple[int, int], ...]  # per access: along the innermost P axis, along the innermost R axis
    tile: int = -1  # TILE: the other axis of P; it takes the place of the innermost R axis in ``kinds``
    streams: bool = False  # outputs are too large to stay in a cache
    long: bool = False  # so many points of R that sums of floats need totals (schedule/chunks.py)


@dataclass(frozen=True)
class Phase:
    """One kernel of a variant and what its parallel range counts. COLUMN_BLOCKS, TILE_BLOCKS: the last block may be
    shorter than ``block``."""

    kernel: Any  # loop.tree.Kernel
    range: int
    block: int = 0
