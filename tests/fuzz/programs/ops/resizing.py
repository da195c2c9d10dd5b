"""Weighted sums of neighbours along axes."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.programs.draw import Draw, Proposal
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op

FORMATS = {3: "NCW", 4: "NCHW"}


def resized(rank: int, aligns: bool) -> Callable[[Draw], Proposal]:
    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: len(d.shape(x)) == rank and all(min(v[x].shape, default=0) for v in d.values))
        size = [d.integer(1, 5) for _ in range(rank - 2)]
        return Proposal((x,), {"size": size, "align": aligns and d.chance(0.4)})

    return propose


for _mode, _rank in (("linear", 3), ("nearest", 4), ("bilinear", 4), ("bicubic", 4)):
    _aligns = _mode != "nearest"
    _theirs = "None" if not _aligns else "{align}"
    op(
        f"resize_{_mode}_{_rank}",
        f"F.interpolate({{0}}, {{size}}, None, '{_mode}', {{align}}, data_format='{FORMATS[_rank]}')",
        f"F.interpolate({{0}}, {{size}}, None, '{_mode}', {_theirs})",
        resized(_rank, _aligns),
        weight=0.5,
    )
