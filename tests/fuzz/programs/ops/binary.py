"""Elementwise functions of several values, and of a value and numbers."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.dtypes import floats_of
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.proposals import different, pair, scalar

family = Family()
op = family.op

op("add", "{0} + {1}", "{0} + {1}", pair, weight=2, refused=True)
op("subtract", "{0} - {1}", "{0} - {1}", pair, refused=True)
op("multiply", "{0} * {1}", "{0} * {1}", pair, weight=2, refused=True)
op("divide", "{0} / ({1} * {1} + 0.5)", "{0} / ({1} * {1} + 0.5)", pair, dtype=floats_of)
op("maximum", "paddle.maximum({0}, {1})", "torch.maximum({0}, {1})", different, weight=0.5)
op("minimum", "paddle.minimum({0}, {1})", "torch.minimum({0}, {1})", different, weight=0.5)
op("fmax", "paddle.fmax({0}, {1})", "torch.fmax({0}, {1})", different, weight=0.3)
# There is no slope at the origin, where the judge has NaN and the proposal is refused.
_ANGLE = "torch.atan2({0}, {1}) + 0 / ({0} ** 2 + {1} ** 2)"
op("atan2", "paddle.atan2({0}, {1})", _ANGLE, different, weight=0.3)
op(
    "hypot",
    "paddle.hypot({0}, {1})",
    "torch.hypot({0}, {1})",
    lambda d: Proposal((x := d.pick(), d.like(x)), {}),
    weight=0.3,
)
op("pow", "(paddle.abs({0}) + 0.3) ** {1}", "at_least({0}, 0.3) ** {1}", pair, weight=0.3)
op(
    "lerp",
    "paddle.lerp({0}, {1}, {2})",
    "torch.lerp({0}, {1}, {2})",
    lambda d: Proposal((x := d.pick(), d.like(x), d.like(x)), {}),
    weight=0.7,
)
op(
    "add_n",
    "paddle.add_n([{0}, {1}, {0}])",
    "{0} + {1} + {0}",
    lambda d: Proposal((x := d.pick(), d.like(x)), {}),
    weight=0.4,
)
for _name, _text in {
    "add_scalar": "{0} + {s}",
    "from_scalar": "{s} - {0}",
    "times": "{0} * {s}",
    "over": "{0} / {s}",
}.items():
    op(_name, _text, _text, scalar, weight=0.5)
op("into", "{s} / ({0} * {0} + 0.5)", "{s} / ({0} * {0} + 0.5)", scalar, weight=0.4)
op("power", "{0} ** {p}", "{0} ** {p}", lambda d: Proposal((d.pick(),), {"p": d.choose((2, 3, 2.0, 1, 0))}), weight=0.5)
op("scale", "paddle.scale({0}, {s}, 0.5)", "{0} * {s} + 0.5", scalar, weight=0.4)
op(
    "clip",
    "paddle.clip({0}, {a}, {b})",
    "torch.clip({0}, {a}, {b})",
    lambda d: Proposal((d.pick(),), {"a": d.choose((-1.0, -0.5)), "b": d.choose((0.5, 1.0))}),
    weight=0.5,
)


def alike(d: Draw) -> Proposal:
    """Of one dtype: a sum without dims would not widen the other."""
    found = pair(d)
    if len({d.dtypes[x] for x in found.operands}) > 1:
        raise Refused
    return found


op("augmented", "{0} + {1}.sum()", "{0} + {1}.sum()", alike, weight=0.4)
