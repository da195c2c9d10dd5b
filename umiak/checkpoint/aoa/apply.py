"""Layouts at work on arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from umiak.checkpoint.aoa.errors import AOAError, AOAKeyError
from umiak.checkpoint.aoa.layout import Layout
from umiak.checkpoint.box import Box
from umiak.checkpoint.data_model import Piece
from umiak.checkpoint.dtypes import numpy_dtype
from umiak.checkpoint.execute import put
from umiak.core import dtype as dt

ENGINE_DTYPES = frozenset(d.numpy for d in dt.all_dtypes())


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
    box = Box.full(info.shape) if box is None else box
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
        place = piece.target.relative_to(box.offset)
        _put(out[place.slices] if place.shape else out, x, piece)
    return out


def _put(out: np.ndarray, x: np.ndarray, piece: Piece) -> None:
    if piece.axes is None and not piece.casts:
        np.copyto(out, x)
    elif x.dtype in ENGINE_DTYPES and out.dtype in ENGINE_DTYPES and out.flags.aligned:
        if not (x.flags.writeable and x.flags.aligned):
            x = x.copy()  # such as a mapped file: no tensor shares its memory
        put(out, x, piece.axes, piece.casts)
    else:  # what the engine does not know
        for name in piece.casts[:-1]:
            x = x.astype(numpy_dtype(name))
        np.copyto(out, x if piece.axes is None else x.transpose(piece.axes), casting="unsafe")
