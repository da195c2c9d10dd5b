"""Random numbers."""

from __future__ import annotations

from tests.fuzz.programs.draw import Proposal
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op

op(
    "dropout",
    "dropout({0}, {p})",
    "{0} * draw({0}.shape, 'mask') / (1 - {p})",
    lambda d: Proposal((d.pick(),), {"p": d.choose((0.3, 0.5))}),
    weight=0.5,
    tags="random",
)
op(
    "rand",
    "drawn(paddle.rand({shape}, dtype={0}.dtype)) * {0}",
    "draw({shape}, 'uniform') * {0}",
    lambda d: Proposal((x := d.pick(),), {"shape": f"[{', '.join(d.text(0, x, a) for a in range(len(d.shape(x))))}]"}),
    weight=0.3,
    tags="random",
)
op(
    "randn",
    "drawn(paddle.randn({shape}, dtype={0}.dtype)) + {0}",
    "draw({shape}, 'normal') + {0}",
    lambda d: Proposal((x := d.pick(),), {"shape": f"[{', '.join(d.text(0, x, a) for a in range(len(d.shape(x))))}]"}),
    weight=0.3,
    tags="random",
)
