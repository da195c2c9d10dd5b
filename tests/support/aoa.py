"""Tensors by name for tests of AOA statements, and layouts run on arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from umiak.checkpoint.aoa import Layout, apply_layout, compile_aoa
from umiak.checkpoint.box import Box
from umiak.checkpoint.data_model import TensorInfo
from umiak.checkpoint.dtypes import numpy_dtype

A = (4, 6)


def parts(shape: Sequence[int], ranks: int, axis: int) -> tuple[Box, ...]:
    """The boxes of ranks that split a tensor along an axis."""
    n = shape[axis] // ranks
    offset = [0] * len(shape)
    sizes = tuple(n if a == axis else m for a, m in enumerate(shape))
    return tuple(Box((*offset[:axis], r * n, *offset[axis + 1 :]), sizes) for r in range(ranks))


def info(key: str, spec: Any) -> TensorInfo:
    """``spec``: a shape, or (shape, dtype), or (shape, dtype, ranks, axis that they split)."""
    if not spec or isinstance(spec[0], int):
        spec = (spec, "float32")
    shape, dtype = tuple(spec[0]), spec[1]
    return TensorInfo(key, shape, dtype, parts(shape, spec[2], spec[3]) if len(spec) > 2 and spec[2] > 1 else ())


def infos(specs: Mapping[str, Any] | str) -> dict[str, TensorInfo]:
    """Tensors by name; a text names tensors of shape (4, 6)."""
    if isinstance(specs, str):
        specs = dict.fromkeys(specs.split(), A)
    return {key: info(key, spec) for key, spec in specs.items()}


def layout(statements: Any, sources: Any, targets: Any = None, **options: Any) -> Layout:
    return compile_aoa(statements, infos(sources), None if targets is None else infos(targets), **options)


def counted(tensors: Mapping[str, TensorInfo]) -> dict[str, np.ndarray]:
    """An array for each tensor, no two elements alike (as far as the dtype tells small whole numbers apart)."""
    out, at = {}, 0
    for key, t in tensors.items():
        n = int(np.prod(t.shape))
        out[key] = np.arange(at, at + n, dtype="float64").astype(numpy_dtype(t.dtype)).reshape(t.shape)
        at += n
    return out


def run(lay: Layout, arrays: Mapping[str, np.ndarray], keys: Any = None) -> dict[str, np.ndarray]:
    """Every tensor of a layout that is not kept."""
    wanted = [k for k in lay.targets if k not in lay.kept] if keys is None else keys
    return {k: apply_layout(lay, lambda key, box: arrays[key][box.slices], k) for k in wanted}


def same(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> None:
    assert a.keys() == b.keys()
    for key in a:
        assert a[key].dtype == b[key].dtype
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)
