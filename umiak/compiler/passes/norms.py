"""Layer and RMS normalisation, spelt out with means and roots, as one operation each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from umiak import ops as F
from umiak.compiler.passes.fusion import Found, Made, fuse_operations, number_of, orders, same_sizes, tensor
from umiak.compiler.passes.registry import register_pass
from umiak.ir.passes import remove_dead
from umiak.ir.program import Operation, Program, Value
from umiak.ir.rewrite import operand_of


@register_pass("add_norm_fuse_pass")
def fuse_norms(program: Program) -> None:
    """Make one operation of a layer norm or RMS norm that is spelt out, with the weight and bias behind it."""
    rules = [("mul", _rms_or_layer), ("div", _rms_or_layer), ("mul", _weighted), ("add", _biased)]
    fuse_operations(program, rules)
    remove_dead(program)


def _rms_or_layer(found: Found, o: Operation) -> Callable[[], Made] | None:
    """``x / sqrt(mean(x * x) + eps)``, or times ``rsqrt``; with ``x - mean(x)`` as x a layer norm."""
    pairs = [tuple(o.operands)] if o.name == "div" else list(orders(o))
    for x, root in pairs:
        base = _root_of_squares(found, o, x, root)
        if base is None:
            continue
        x, axes, eps = base
        centred = _centred(x, axes)
        op = F.RmsNorm if centred is None else F.LayerNorm
        return partial(op(axis=axes[0]), tensor(centred or x), None, None, eps)
    return None


def _root_of_squares(found: Found, o: Operation, x: Any, root: Any) -> tuple[Value, tuple[int, ...], float] | None:
    """(x, axes, eps) if ``root`` is the root, or its inverse, of the mean of x's squares and eps."""
    made = found.inside(root, "sqrt" if o.name == "div" else "rsqrt", o)
    if made is None or type(x) is not Value:
        return None
    total = found.inside(made.operands[0], "add", made)
    for mean, eps in () if total is None else orders(total):
        by = number_of(eps)
        if by is None or not (reduced := _mean(mean)):
            continue
        source, axes = reduced
        if axes != tuple(range(axes[0], x.meta.ndim)):
            return None
        spread = operand_of(mean, "var")
        if spread is not None:  # of what x is centred of
            base = _centred(x, axes)
            return (x, axes, float(by)) if base is not None and base is source else None
        if (base := _squared(source)) is not None and (base is x or _same_centre(base, x, axes)):
            return x, axes, float(by)
    return None


def _mean(v: Any) -> tuple[Value, tuple[int, ...]] | None:
    """(what a mean, or a biased variance, is of; its axes)."""
    for name in ("mean", "var"):
        o = operand_of(v, name)
        if o is None or not o.op.keepdim or not o.op.axes:
            continue
        if name == "var" and o.params[0] != 0:
            continue
        return o.operands[0], tuple(sorted(o.op.axes))  # type: ignore[return-value]
    return None


def _squared(v: Any) -> Value | None:
    """The value whose square this is."""
    if (o := operand_of(v, "square")) is not None:
        return o.operands[0]  # type: ignore[return-value]
    if (o := operand_of(v, "pow")) is not None and number_of(o.operands[1]) == 2:
        return o.operands[0]  # type: ignore[return-value]
    if (o := operand_of(v, "mul")) is not None and o.operands[0] is o.operands[1]:
        return o.operands[0]  # type: ignore[return-value]
    return None


def _centred(v: Any, axes: tuple[int, ...]) -> Value | None:
    """The value that this is less its mean."""
    o = operand_of(v, "sub")
    if o is None:
        return None
    x, mean = o.operands
    made = operand_of(mean, "mean")
    if made is None or made.operands[0] is not x or _mean(mean) != (x, axes):
        return None
    return x  # type: ignore[return-value]


def _same_centre(a: Any, b: Any, axes: tuple[int, ...]) -> bool:
    """Return whether both are one value less its mean, computed twice."""
    base = _centred(a, axes)
    return base is not None and base is _centred(b, axes)


def _norm(found: Found, y: Any, o: Operation) -> Operation | None:
    return found.inside(y, "layer_norm", o) or found.inside(y, "rms_norm", o)


def _weighted(found: Found, o: Operation) -> Callable[[], Made] | None:
    """A norm without weight and bias, times a weight."""
    for y, w in orders(o):
        norm = _norm(found, y, o)
        if norm is not None and norm.operands[1:] == (None, None) and _fits(norm, w):
            return lambda: norm.op(tensor(norm.operands[0]), tensor(w), None, *norm.params)
    return None


def _biased(found: Found, o: Operation) -> Callable[[], Made] | None:
    """A norm without bias, plus a bias."""
    for y, b in orders(o):
        norm = _norm(found, y, o)
        if norm is not None and norm.operands[2] is None and _fits(norm, b):
            x, w, _ = map(tensor, norm.operands)
            return lambda: norm.op(x, w, tensor(b), *norm.params)
    return None


def _fits(norm: Operation, w: Any) -> bool:
    """Return whether a value has the shape and type of a norm's weight."""
    x = norm.operands[0]
    if type(w) is not Value or type(x) is not Value or w.meta.dtype is not x.meta.dtype:
        return False
    return same_sizes(w.meta.shape, x.meta.shape[norm.op.axis :])
