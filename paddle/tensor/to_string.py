"""Printing of tensors: NumPy's layout, every element padded to one width, the middle of large tensors left out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from paddle._public import public
from umiak.core import storage
from umiak.core.array import host_values
from umiak.core.context import capture_of, current
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

INDENT = 7


class PrintOptions(NamedTuple):
    """Options that ``paddle.set_printoptions`` sets."""

    precision: int = 8
    threshold: int = 1000
    edgeitems: int = 3
    sci_mode: bool = False
    linewidth: int = 80


DEFAULT = PrintOptions()


def options() -> PrintOptions:
    """The options of this rank."""
    return current().state.values.get("printoptions", DEFAULT)


@public("paddle paddle.tensor")
def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
    """Set how tensors print; what is not given stays as it is.

    Args:
        precision: digits after the point, 8 at first.
        threshold: number of elements above which a tensor is shortened, 1000 at first.
        edgeitems: elements that are kept at each end of a dim of a shortened tensor, 3 at first.
        sci_mode: whether floats print with an exponent, as in ``1.000e+00``; not at first.
        linewidth: columns of a line, 80 at first.

    Raises:
        TypeError: a number is not an int, or ``sci_mode`` not a bool.
        ValueError: a number is negative.

    Example:
        >>> import paddle
        >>> paddle.set_printoptions(precision=3)
        >>> paddle.to_tensor([0.12345])
        Tensor(shape=[1], dtype=float32, place=Place(cpu), stop_gradient=True,
               [0.123])
        >>> paddle.set_printoptions(precision=8)
    """
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "sci_mode": sci_mode,
        "linewidth": linewidth,
    }
    changes: dict[str, Any] = {}
    for key, value in given.items():
        if value is None:
            continue
        kind = bool if key == "sci_mode" else int
        if not isinstance(value, kind):
            raise op_error(TypeError, "set_printoptions", f"{kind.__name__} for {key}", type(value).__name__)
        if value < 0:
            raise op_error(ValueError, "set_printoptions", f"0 or more for {key}", value)
        changes[key] = value
    current().state.values["printoptions"] = options()._replace(**changes)


def _element(v: Any, o: PrintOptions) -> str:
    """One element, unpadded."""
    if isinstance(v, (bool, int)):
        return str(v)
    if isinstance(v, complex):
        return f"({v:.{o.precision}{'e' if o.sci_mode else 'f'}})"
    if o.sci_mode:
        return f"{v:.{o.precision}e}"
    if v != v:
        return "nan"
    return f"{v:.0f}." if v in (float("inf"), float("-inf")) or v == int(v) else f"{v:.{o.precision}f}"


def _shorten(a: np.ndarray, o: PrintOptions) -> np.ndarray:
    """Only the elements that print."""
    e = o.edgeitems
    for axis, n in enumerate(a.shape):
        if n > 2 * e:
            a = np.take(a, [*range(e), *range(n - e, n)], axis=axis)
    return a


def array_text(a: np.ndarray, indent: int = INDENT, o: PrintOptions | None = None) -> str:
    """The elements of ``a`` in brackets; lines after the first are indented."""
    o = o or options()
    if a.dtype.kind not in "biufc":
        a = a.astype(np.int8 if convert(a.dtype).is_integer else np.float32)  # types of ml_dtypes
    short = a.size > o.threshold
    shown = _shorten(a, o) if short else a
    texts = [_element(v, o) for v in shown.ravel().tolist()]
    if a.ndim == 0:
        return texts[0]
    width = max(map(len, texts), default=0)
    if any(t.startswith("-") for t in texts):
        # Signs stand in a column of their own, as far as there is room.
        texts = [t if t.startswith("-") or len(t) == width else " " + t for t in texts]
    cells = np.array([t.ljust(width) for t in texts] or [""], dtype=object)[: len(texts)].reshape(shown.shape)
    return _rows(cells, a.shape, indent + 1, width, short, o)


def _rows(cells: np.ndarray, shape: tuple[int, ...], indent: int, width: int, short: bool, o: PrintOptions) -> str:
    cut = o.edgeitems if short and shape[0] > 2 * o.edgeitems else None
    if cells.ndim == 1:
        items = list(cells)
        if cut is not None:
            items[cut:cut] = ["..."]
        per_line = max(1, (o.linewidth - indent) // (width + 2))
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * indent).join(lines) + "]"
    parts = [_rows(row, shape[1:], indent + 1, width, short, o) for row in cells]
    if cut is not None:
        parts[cut:cut] = ["..."]
    return "[" + ("," + "\n" * (cells.ndim - 1) + " " * indent).join(parts) + "]"


def describe(x: Tensor) -> str:
    """The first line: shape, dtype, place, whether gradients stop."""
    return f"Tensor(shape={list(x.shape)}, dtype={x.dtype.name}, place={x.place!r}, stop_gradient={x.stop_gradient}"


def to_string(x: Tensor) -> str:
    """Return the text that ``print(x)`` shows."""
    if x.storage is not None and storage.allocator(x.place.index).access == storage.ACCESS_NOTHING:
        return f"{describe(x)},\n{' ' * INDENT}no data on this device)"
    tracer = capture_of()
    if tracer is not None and tracer.static:
        return f"{describe(x)}, name={x.name!r})"  # values are known while a program runs
    if x.storage is not None and x.storage.state == storage.UNFILLED:
        return f"{describe(x)},\n{' ' * INDENT}no values yet)"
    return f"{describe(x)},\n{' ' * INDENT}{array_text(host_values(x.detach()))})"
