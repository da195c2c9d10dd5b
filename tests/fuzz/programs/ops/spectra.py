"""Transforms of signals of several dims, framed signals; sums and extrema over segments and edges of graphs."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op

NORMS = ("backward", "forward", "ortho")


def wide(d: Draw, ok: Callable[[str], bool]) -> str:
    """Of float32 or float64, with elements."""
    return d.pick(
        lambda x: d.dtypes[x] in ("float32", "float64") and ok(x) and all(0 not in v[x].shape for v in d.values)
    )


def signals(d: Draw) -> Proposal:
    x = wide(d, lambda x: len(d.shape(x)) > 1)
    rank = len(d.shape(x))
    axes = [int(a) - (rank if d.chance(0.3) else 0) for a in d.permutation(rank)[:2]]
    return Proposal((x,), {
        "axes": d.choose((axes, (-2, -1))), "s": d.choose((None, None, [3, 4])), "norm": d.choose(NORMS),
    })  # fmt: skip


for _name in ("fft2", "ifft2", "rfft2", "fftn", "ifftn", "rfftn", "ihfft2"):
    _their = f"torch.fft.{_name}"
    op(
        f"{_name}_parts",
        f"paddle.as_real(paddle.fft.{_name}({{0}}, {{s}}, {{axes}}, '{{norm}}'))",
        f"torch.view_as_real({_their}({{0}}, {{s}}, {{axes}}, '{{norm}}').resolve_conj())",
        signals,
        weight=0.3,
    )
op(
    "there_and_back",
    "paddle.fft.irfftn(paddle.fft.rfftn({0}) * 0.5, {0}.shape)",
    "{0} * 0.5",
    lambda d: Proposal((wide(d, lambda x: len(d.shape(x)) > 0),), {}),
    weight=0.3,
)
for _name in ("fftshift", "ifftshift"):
    op(
        _name,
        f"paddle.fft.{_name}({{0}}, {{axes}})",
        f"torch.fft.{_name}({{0}}, {{axes}})",
        lambda d: Proposal((x := d.pick(lambda x: bool(d.shape(x))),), {"axes": d.axis(x)}),
        weight=0.3,
    )


def sounds(d: Draw) -> Proposal:
    """Rows of at least five samples."""
    x = (
        wide(d, lambda x: len(d.shape(x)) in (1, 2) and all(v[x].shape[-1] > 4 for v in d.values))
        if d.chance(0.4)
        else d.input([d.choose(("n", 1, 2)), d.integer(5, 9)], d.choose(("float32", "float64")))
    )
    return Proposal((x,), {"hop": d.integer(1, 2), "center": d.chance(0.5), "pad": d.choose(("reflect", "constant"))})


op(
    "stft",
    "paddle.as_real(paddle.signal.stft({0}, 4, {hop}, center={center}, pad_mode='{pad}'))",
    "torch.view_as_real(torch.stft({0}, 4, {hop}, window=torch.ones(4, dtype=torch.float64), center={center}, "
    "pad_mode='{pad}', return_complex=True))",
    sounds,
    weight=0.6,
)
op(
    "stft_inverse",
    "paddle.signal.istft(paddle.signal.stft({0}, 4, 1), 4, 1, length={0}.shape[-1])",
    "{0} * 1",
    sounds,
    weight=0.4,
)

# --- graphs


def segments(d: Draw) -> Proposal:
    """Rows in segments, some of which have none."""
    x = d.pick(lambda x: bool(d.shape(x)) and not d.varying(x, 0) and d.shape(x)[0] > 0)
    ids = sorted(d.integer(0, 3) for _ in range(d.shape(x)[0]))
    return Proposal((x,), {"ids": ids, "n": ids[-1] + 1})


def _reduced(how: str, rows: str, index: str, n: str) -> str:
    """Rows reduced by number, zeros where there are none."""
    shape = f"torch.zeros({n}, *{{0}}.shape[1:], dtype=torch.float64)"
    if how == "sum":
        return f"{shape}.index_add(0, {index}, {rows})"
    if how == "mean":
        ones = f"torch.zeros({n}, dtype=torch.float64).index_add(0, {index}, torch.ones(len({index})).double())"
        count = f"{ones}.clamp(min=1).reshape(-1, *[1] * ({{0}}.dim() - 1))"
        return f"{shape}.index_add(0, {index}, {rows}) / {count}"
    wide = f"{index}.reshape(-1, *[1] * ({{0}}.dim() - 1)).expand_as({rows})"
    # Zeros to start with would have a part in the gradient of rows that equal them.
    far = "-1e30" if how == "max" else "1e30"
    return f"(lambda y: torch.where(y == {far}, 0.0, y))(({shape} + {far}).scatter_reduce(0, {wide}, {rows}, 'a{how}'))"


for _how in ("sum", "mean", "max", "min"):
    op(
        f"segment_{_how}",
        f"paddle.geometric.segment_{_how}({{0}}, paddle.to_tensor({{ids}}))",
        _reduced(_how, "{0}", "torch.tensor({ids})", "{n}"),
        segments,
        weight=0.4,
        tags="host",
    )


def edges(d: Draw) -> Proposal:
    """No edge comes twice: extrema of equal rows have several slopes."""
    x = d.pick(lambda x: bool(d.shape(x)) and not d.varying(x, 0) and d.shape(x)[0] > 0)
    rows, n = d.shape(x)[0], d.integer(1, 4)
    pairs = sorted({(d.integer(0, rows - 1), d.integer(0, n - 1)) for _ in range(d.integer(1, 5))})
    source, target = ([p[k] for p in pairs] for k in (0, 1))
    return Proposal((x,), {"from": source, "to": target, "n": n})


for _how in ("mean", "max", "min"):
    op(
        f"send_{_how}",
        f"paddle.geometric.send_u_recv({{0}}, paddle.to_tensor({{from}}), paddle.to_tensor({{to}}), '{_how}', {{n}})",
        _reduced(_how, "{0}[torch.tensor({from})]", "torch.tensor({to})", "{n}"),
        edges,
        weight=0.4,
    )


def weighed(d: Draw) -> Proposal:
    found = edges(d)
    x, more = found.operands[0], found.attributes
    if len(d.shape(x)) < 2:
        raise Refused
    y = d.input([len(more["from"]), *d.sizes(x)[1:]], d.dtypes[x])
    return Proposal((x, y), more)


op(
    "send_ue_recv",
    "paddle.geometric.send_ue_recv({0}, {1}, paddle.to_tensor({from}), paddle.to_tensor({to}), 'mul', 'sum', {n})",
    _reduced("sum", "({0}[torch.tensor({from})] * {1})", "torch.tensor({to})", "{n}"),
    weighed,
    weight=0.4,
)


def between(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) > 1 and not d.varying(x, 0) and d.shape(x)[0] > 0)
    rows, count = d.shape(x)[0], d.integer(1, 4)
    return Proposal((x, d.like(x)), {
        "from": [d.integer(0, rows - 1) for _ in range(count)], "to": [d.integer(0, rows - 1) for _ in range(count)],
    })  # fmt: skip


op(
    "send_uv",
    "paddle.geometric.send_uv({0}, {1}, paddle.to_tensor({from}), paddle.to_tensor({to}), 'add')",
    "{0}[torch.tensor({from})] + {1}[torch.tensor({to})]",
    between,
    weight=0.4,
)
