"""Layouts at work on arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import ml_dtypes
import numpy as np

from umiak.checkpoint.aoa.errors import AOAError, AOAKeyError
from umiak.checkpoint.aoa.layout import Layout
from umiak.checkpoint.box import Box


@lru_cache(None)
def numpy_dtype(name: str) -> np.dtype:
    """The array dtype of a dtype's name, such as "bfloat16"."""
    return np.dtype(getattr(ml_dtypes, name, name))


def apply_layout(
    layout: Layout,
    read: Callable[[str, Box], np.ndarray],
    key: str,
    box: Box | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """A box of a tensor of the layout, put together out of boxes of sources. One of those is in memory at a time.

    Args:
        read: gives the box of the source of that name, a view at best.
        key: which tensor.
        box: which part of it (default: all).
        out: where to write; it has the box's shape and the tensor's dtype.

    Raises:
        KeyError: the layout has no such tensor, or it is one that keeps its value.
    """
    info = layout.targets.get(key)
    if info is None or key in layout.kept:
        layout.pieces(key)  # says what is wrong
        raise AOAKeyError(f"{key} keeps its present value: there is nothing to read for it")
    box = Box.whole(info.shape) if box is None else box
    pieces = layout.pieces(key, box)
    dtype = numpy_dtype(info.dtype)
    if out is None:
        out = np.empty(box.shape, dtype)
    elif out.shape != box.shape or out.dtype != dtype:
        raise AOAError(f"{key}: out must have shape {box.shape} and dtype {dtype}, got {out.shape} and {out.dtype}")
    for piece in pieces:
        x = np.asarray(read(piece.key, piece.source))
        if x.shape != piece.source.shape or (not piece.casts and x.dtype != dtype):
            wanted = f"shape {piece.source.shape}" + ("" if piece.casts else f" and dtype {dtype}")
            raise AOAError(f"read gave shape {x.shape} and dtype {x.dtype} for a box of {piece.key} of {wanted}")
        for name in piece.casts[:-1]:
            x = x.astype(numpy_dtype(name))
        if piece.axes is not None:
            x = x.transpose(piece.axes)
        # The last cast is to the tensor's own dtype: the copy does it.
        np.copyto(out[(*piece.target.relative_to(box.offset).slices, ...)], x, casting="unsafe")
    return out
