"""Helpers of the tables of models: inputs made up from sizes, shapes of results, layers in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from paddle.nn.layer.layers import Layer
from umiak import ops as F
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.util import pytree
from umiak.util.errors import op_error


def shapes_of(x: Any) -> Any:
    """The shape of a tensor, or a list of those in it; None for what has none."""
    if isinstance(x, Tensor):
        return list(x.shape)
    if isinstance(x, dict):
        return [shapes_of(v) for v in x.values()]
    if isinstance(x, (list, tuple)):
        return [shapes_of(v) for v in x]
    return None


def tensors_of(x: Any) -> list[Tensor]:
    return [t for t in pytree.leaves(x) if isinstance(t, Tensor)]


def inputs_like(op_name: str, sizes: Any, dtypes: Any) -> list[Any]:
    """Tensors of ones of these sizes: one shape, an input spec, or a list of these and of such lists, which stand for
    inputs that are tuples. Open sizes are 1."""
    if hasattr(sizes, "__index__") and not isinstance(sizes, bool):
        sizes = [sizes]
    if _is_shape(sizes) or hasattr(sizes, "shape"):
        sizes = [sizes]
    if not isinstance(sizes, (list, tuple)):
        raise op_error(TypeError, op_name, "shapes as input_size", repr(sizes))
    if not all(isinstance(x, (list, tuple)) or hasattr(x, "shape") for x in sizes):
        raise op_error(TypeError, op_name, "sizes that are integers, -1 or None", repr(sizes))
    dtypes = [dtypes] * len(sizes) if dtypes is None or not isinstance(dtypes, (list, tuple)) else list(dtypes)
    if len(dtypes) != len(sizes):
        raise op_error(ValueError, op_name, f"a dtype for each of {len(sizes)} inputs", len(dtypes))
    return [_like(op_name, size, dtype) for size, dtype in zip(sizes, dtypes)]


def _like(op_name: str, size: Any, dtype: Any) -> Any:
    shape = getattr(size, "shape", size)
    if not _is_shape(shape):
        if isinstance(shape, (list, tuple)) and all(isinstance(x, (list, tuple)) for x in shape):
            return tuple(inputs_like(op_name, shape, dtype))
        raise op_error(TypeError, op_name, "sizes that are integers, -1 or None", repr(size))
    dims = tuple(1 if n is None or n == -1 else int(n) for n in shape)
    if min(dims, default=1) < 1:
        raise op_error(ValueError, op_name, "sizes of at least 1, -1 or None", repr(size))
    return F.full(1, dtype=convert(dtype or getattr(size, "dtype", None) or "float32"), shape=dims)


def _is_shape(x: Any) -> bool:
    return isinstance(x, (list, tuple)) and all(
        n is None or (hasattr(n, "__index__") and not isinstance(n, bool)) for n in x
    )


def counted(layers: Sequence[Layer]) -> dict[int, tuple[str, int]]:
    """By identity of a layer, its name in a table, and how many numbers its own parameters have; none counts twice."""
    kinds: dict[str, int] = {}
    seen: set[int] = set()
    out = {}
    for layer in layers:
        kind = type(layer).__name__
        kinds[kind] = kinds.get(kind, 0) + 1
        own = [p for p in layer._parameters.values() if p is not None and id(p) not in seen]
        seen.update(map(id, own))
        out[id(layer)] = f"{kind}-{kinds[kind]}", sum(_count(p) for p in own)
    return out


def _count(p: Tensor) -> int:
    n = 1
    for d in p.shape:
        n *= d
    return n


def parameter_counts(net: Layer) -> tuple[int, int]:
    """Return the number of elements of all parameters, and of the trained ones."""
    parameters = {id(p): p for p in net.parameters()}.values()
    return sum(map(_count, parameters)), sum(_count(p) for p in parameters if not p.stop_gradient)


def all_layers(net: Layer) -> Iterator[Layer]:
    """The layers below and the layer itself, each once."""
    seen = set()
    for layer in net.sublayers(include_self=True):
        if id(layer) not in seen:
            seen.add(id(layer))
            yield layer


def centred(rows: Sequence[Sequence[str]], gap: int = 2) -> list[str]:
    """Lines of columns as wide as their widest cell, each cell in the middle of its column."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [(" " * gap).join(cell.center(w) for cell, w in zip(row, widths)) for row in rows]
