"""Views, parts, and new shapes in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.proposals import with_axis

family = Family()
op = family.op


def sliced(d: Draw) -> Proposal:
    x = d.pick(floating=None if d.chance(0.1) else True)
    return Proposal((x,), {"index": d.index(x)[0]})


op("slice", "{0}[{index}]", "{0}[{index}]", sliced, "view", weight=4)
op(
    "reversed",
    "{0}[::-1]",
    "{0}[::-1]",
    lambda d: Proposal((d.pick(lambda x: bool(d.shape(x))),), {}),
    "view",
    weight=0.7,
)
op(
    "transpose",
    "{0}.transpose({perm})",
    "{0}.transpose({perm})",
    lambda d: Proposal((x := d.rank(2, 3, 4),), {"perm": d.permutation(len(d.shape(x)))}),
    "view",
    weight=1.2,
)
op("T", "{0}.T", "{0}.T", lambda d: Proposal((d.rank(2),), {}), "view", weight=0.5)
op(
    "unsqueeze",
    "paddle.unsqueeze({0}, {axis})",
    "np.expand_dims({0}, {axis})",
    lambda d: Proposal((x := d.rank(0, 1, 2, 3),), {"axis": d.integer(-len(d.shape(x)) - 1, len(d.shape(x)))}),
    "view",
    weight=0.6,
)


def squeezable(d: Draw) -> Proposal:
    def ones(x: str) -> list[int]:
        return [a for a, n in enumerate(d.shape(x)) if n == 1 and not d.varying(x, a)]

    x = d.pick(lambda x: bool(ones(x)))
    return Proposal((x,), {"axis": d.choose(ones(x))})


op("squeeze", "{0}.squeeze({axis})", "np.squeeze({0}, {axis})", squeezable, "view", weight=0.5)


def expanded(d: Draw) -> Proposal:
    x = d.rank(0, 1, 2, 3)
    sizes = [
        str(d.integer(1, 3)) if n == 1 and not d.varying(x, a) else d.text(0, x, a) for a, n in enumerate(d.shape(x))
    ]
    front = [str(d.integer(1, 3))] if d.chance(0.5) else []
    return Proposal((x,), {"shape": f"[{', '.join(front + sizes)}]"})


op("expand", "{0}.expand({shape})", "{0}.expand({shape})", expanded, weight=2)
op("swapaxes", "paddle.swapaxes({0}, 0, {axis})", "np.swapaxes({0}, 0, {axis})", with_axis(2), "view", weight=0.3)
op("moveaxis", "paddle.moveaxis({0}, 0, {axis})", "np.moveaxis({0}, 0, {axis})", with_axis(2), "view", weight=0.3)
op("diagonal", "paddle.diagonal({0})", "np.diagonal({0})", lambda d: Proposal((d.rank(2),), {}), "view", weight=0.4)


def reshaped(d: Draw) -> Proposal:
    """One size may be -1; the others are fixed, or those of the operand."""
    x = d.rank(1, 2, 3, 4)
    shape = d.shape(x)
    kind = d.integer(0, 3)
    if kind == 0 or 0 in shape:
        return Proposal((x,), {"shape": "[-1]"})
    fixed = [n for a, n in enumerate(shape) if not d.varying(x, a)]
    total = int(np.prod(fixed))
    divisors = [k for k in range(1, total + 1) if total % k == 0]
    k = d.choose(divisors)
    if kind == 1:
        return Proposal((x,), {"shape": f"[{k}, -1]" if d.chance(0.5) else f"[-1, {k}]"})
    if kind == 2 and len(shape) > 1:
        return Proposal((x,), {"shape": f"[{d.text(0, x, 0)}, -1]"})
    return Proposal((x,), {"shape": f"[-1, 1, {k}]"})


op("reshape", "{0}.reshape({shape})", "{0}.reshape({shape})", reshaped, "view", weight=1.5, tags="unclear")
op(
    "flatten",
    "paddle.flatten({0}, {a}, {b})",
    "{0}.reshape(*{0}.shape[:{a}], -1)",
    lambda d: Proposal((d.rank(2, 3),), {"a": d.integer(0, 1), "b": -1}),
    "view",
    weight=0.4,
    tags="unclear",
)


def parts_of(how: Callable[[Draw, str, int], tuple[dict[str, Any], int]]) -> Callable[[Draw], Proposal]:
    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: any(n > 1 and not d.varying(x, a) for a, n in enumerate(d.shape(x))))
        axis = d.choose([a for a, n in enumerate(d.shape(x)) if n > 1 and not d.varying(x, a)])
        attributes, count = how(d, x, axis)
        return Proposal((x,), {"axis": axis, **attributes}, count)

    return propose


def _sections(d: Draw, x: str, axis: int) -> tuple[dict[str, Any], int]:
    n = d.shape(x)[axis]
    first = d.integer(1, n - 1)
    return {"sections": [first, n - first]}, 2


def _parts(d: Draw, x: str, axis: int) -> tuple[dict[str, Any], int]:
    n = d.shape(x)[axis]
    if n > 4:
        raise Refused
    return {}, n


# Copies, as in the reference framework; unbind gives views.
op(
    "split",
    "paddle.split({0}, {sections}, {axis})",
    "torch.split({0}, {sections}, {axis})",
    parts_of(_sections),
    weight=0.8,
)
op("unbind", "paddle.unbind({0}, {axis})", "unbound({0}, {axis})", parts_of(_parts), "view", weight=0.8)
op(
    "chunk",
    "paddle.chunk({0}, {count}, {axis})",
    "torch.chunk({0}, {count}, {axis})",
    parts_of(lambda d, x, axis: ({"count": d.shape(x)[axis]}, _parts(d, x, axis)[1])),
    weight=0.4,
)

# In place of shape.
op(
    "transpose_",
    "{0}.transpose_({perm})",
    "{0}.transpose({perm})",
    lambda d: Proposal((x := d.rank(2, 3),), {"perm": d.permutation(len(d.shape(x)))}),
    "turn",
    results=0,
    weight=0.8,
)
op("t_", "{0}.t_()", "{0}.T", lambda d: Proposal((d.rank(2),), {}), "turn", results=0, weight=0.4)
op(
    "unsqueeze_",
    "{0}.unsqueeze_({axis})",
    "np.expand_dims({0}, {axis})",
    lambda d: Proposal((x := d.rank(0, 1, 2, 3),), {"axis": d.integer(0, len(d.shape(x)))}),
    "turn",
    results=0,
    weight=0.6,
)
op("squeeze_", "{0}.squeeze_({axis})", "np.squeeze({0}, {axis})", squeezable, "turn", results=0, weight=0.4)
op("reshape_", "{0}.reshape_({shape})", "{0}.reshape({shape})", reshaped, "turn", results=0, weight=0.4, tags="unclear")
op(
    "flatten_",
    "{0}.flatten_()",
    "{0}.reshape(-1)",
    lambda d: Proposal((d.rank(1, 2, 3),), {}),
    "turn",
    results=0,
    weight=0.3,
    tags="unclear",
)
