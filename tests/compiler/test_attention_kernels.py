"""Kernels of attention on devices, as the interpreter runs them: the lists of tiles are those of ``umiak.masks``."""

from __future__ import annotations

import attention_reference as reference
import numpy as np
import pytest

from umiak.compiler.attention import form as forms
from umiak.compiler.attention import kernels
from umiak.compiler.loop import interpreter
from umiak.compiler.loop.tree import IN, OUT
from umiak.compiler.loop.types import DTYPES, F32, I32
from umiak.compiler.loop.verifier import verify
from umiak.masks import ColumnMask, Tile
from umiak.masks.bounds import bounded_tiles

TILE = 16
N = 75
INPUTS = (("query", F32), ("key", F32), ("value", F32))
GRADIENTS = (("query_gradient", F32), ("key_gradient", F32), ("value_gradient", F32))


def form_of(blocks):
    more = (("mask", I32), (forms.BLOCKS, blocks), ("grad_lse", None))
    inputs = (*INPUTS, ("out", F32), ("lse", F32), ("grad", F32), *more)
    return forms.Form(inputs, GRADIENTS, F32, 4, 4, forms.COLUMNS, False, TILE)


def listed(mask: ColumnMask, heads: int, blocks=None):
    """Numbers and entries of the lists of rows and of columns of tiles, by name."""
    form = form_of(None if blocks is None else I32)
    batch = mask.indices.shape[0]
    given = {name: None for name, _ in form.inputs} | {"mask": mask.indices, forms.BLOCKS: blocks}
    for name, n in (("query", mask.queries), ("key", mask.keys)):
        given[name] = np.zeros((batch, n, heads, 4), np.float32)
    sizes = forms.integers({k: Elements(x) if x is not None else None for k, x in given.items()}, mask.causal)
    strides = [s for k, x in given.items() for s in forms.strides(k, None if x is None else Elements(x))]
    memory = {name: np.full(n // 4, 77, np.int32) for name, n in zip(form.temporaries, form.temporary_sizes(sizes))}
    for kernel in kernels.kernels(form)[:3]:  # bounds, lists of rows, lists of columns
        verify(kernel)
        pointers = []
        for b in (b for b in kernel.buffers if b.space in (IN, OUT)):
            x = memory.get(b.name, given.get(b.name))
            pointers.append(
                np.zeros(1, DTYPES[b.type.name]) if x is None or b.name in ("moved", "base") else x.reshape(-1)
            )
        assert interpreter.run(kernel, pointers, [*sizes.values(), *strides]) == 0
    return memory


class Elements:
    """A contiguous operand as a launch sees it."""

    def __init__(self, x: np.ndarray) -> None:
        self.shape, self.dtype = x.shape, Type(x.dtype)
        self.strides = tuple(s // x.itemsize for s in x.strides)


class Type:
    def __init__(self, dtype: np.dtype) -> None:
        self.is_bool, self.is_integer = dtype.kind == "b", dtype.kind == "i"


def check(mask: ColumnMask, heads: int, blocks=None) -> None:
    found = listed(mask, heads, blocks)
    cuts = [np.append(np.arange(0, n, TILE), n) for n in (mask.queries, mask.keys)]
    kinds = bounded_tiles(mask, *cuts)
    if blocks is not None:
        at = np.ix_(*(c[:-1] // 128 for c in cuts))
        kinds = np.where(blocks[:, :, at[0], at[1]] != 0, kinds, Tile.SKIP)
    units = kinds.reshape(-1, *kinds.shape[2:])
    for counts, tiles, kinds in (("row_counts", "row_tiles", units), ("key_counts", "key_tiles", units.swapaxes(1, 2))):
        rows = kinds.reshape(-1, kinds.shape[-1])
        expected = [[int(j if k == Tile.PARTIAL else -1 - j) for j, k in enumerate(row) if k] for row in rows]
        assert found[counts].tolist() == list(map(len, expected))
        lists = found[tiles].reshape(-1, kinds.shape[-1])
        assert [row[: len(e)].tolist() for row, e in zip(lists, expected, strict=True)] == expected


@pytest.mark.parametrize("name", reference.families(N))
def test_lists_of_tiles_are_those_of_the_mask(name):
    check(reference.families(N)[name], 2)


INTERVALS = [(40, 33, 1, True), (33, 60, 2, True), (17, 50, 2, False), (64, 64, 4, False)]


@pytest.mark.parametrize(("queries", "keys", "columns", "is_causal"), INTERVALS)
def test_lists_of_any_intervals(queries, keys, columns, is_causal):
    rng = np.random.default_rng(columns)
    indices = rng.integers(-5, queries + 9, (2, 2, keys, columns)).astype(np.int32)
    check(ColumnMask(np.sort(indices, 2), is_causal, queries), 4)


def test_blocks_that_are_dropped_are_in_no_list():
    mask = ColumnMask(np.full((1, 1, 150, 1), 140, np.int32), True, 140)
    check(mask, 2, np.array([[[[1, 0], [0, 1]]]], np.int32))
