"""Rows by number: sums at numbers, and matrices given by positions."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op


def sent(d: Draw) -> Proposal:
    """Rows at some numbers, added up at others."""
    x = d.pick(lambda x: bool(d.shape(x)) and not d.varying(x, 0) and d.shape(x)[0] > 0)
    count, n = d.integer(1, 5), d.integer(1, 4)
    source = d.input([count], "int64", f"index:{d.shape(x)[0]}")
    return Proposal((x, source, d.input([count], "int64", f"index:{n}")), {"n": n})


op(
    "send_sum",
    "paddle.geometric.send_u_recv({0}, {1}, {2}, 'sum', {n})",
    "torch.zeros({n}, *{0}.shape[1:], dtype=torch.float64).index_add(0, {2}, {0}[{1}])",
    sent,
    dtype=lambda x, i, j: x,
    weight=0.4,
)


def added(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)))
    axis = d.axis(x, fixed=True)
    n, sizes = d.shape(x)[axis], list(d.sizes(x))
    if not n:
        raise Refused
    sizes[axis] = d.integer(1, 3)
    index = d.input([sizes[axis]], "int64", f"index:{n}")
    return Proposal((x, index, d.input(sizes, d.dtypes[x])), {"axis": axis})


for _suffix, _form in (("", "compute"), ("_", "write")):
    op(
        f"index_add{_suffix}",
        f"{{0}}.index_add{_suffix}({{1}}, {{axis}}, {{2}})",
        "torch.index_add({0}, {axis}, {1}, {2})",
        added,
        _form,
        results=int(not _suffix),
        dtype=lambda x, i, v: x,
        weight=0.3,
    )


def product(d: Draw) -> Proposal:
    """A matrix of values at positions, of which some may be equal, times a dense one."""
    v = d.pick(lambda x: len(d.shape(x)) == 1 and not d.varying(x, 0) and 0 < d.shape(x)[0] < 6)
    y = d.pick(
        lambda y: len(d.shape(y)) == 2 and not d.varying(y, 0) and d.shape(y)[0] > 0 and d.dtypes[y] == d.dtypes[v]
    )
    count, rows, columns = d.shape(v)[0], d.integer(1, 4), d.shape(y)[0]
    where = [[d.integer(0, n - 1) for _ in range(count)] for n in (rows, columns)]
    return Proposal((v, y), {"where": where, "shape": [rows, columns]})


op(
    "sparse_matmul",
    "paddle.sparse.matmul("
    "paddle.sparse.sparse_coo_tensor({where}, {0}, {shape}, stop_gradient={0}.stop_gradient), {1})",
    "torch.zeros({shape}, dtype=torch.float64).index_put(tuple(torch.tensor({where})), {0}, accumulate=True) @ {1}",
    product,
    weight=1.5,
    tags="host",
)


def masked(d: Draw) -> Proposal:
    """The elements at some positions, as a dense tensor."""
    x = d.pick(lambda x: len(d.shape(x)) == 2 and not any(d.varying(x, a) for a in (0, 1)) and min(d.shape(x)) > 0)
    count = d.integer(1, 4)
    places = sorted({(d.integer(0, d.shape(x)[0] - 1), d.integer(0, d.shape(x)[1] - 1)) for _ in range(count)})
    where = [list(part) for part in zip(*places)]
    return Proposal((x,), {"where": where, "ones": [1.0] * len(places), "shape": list(d.shape(x))})


op(
    "sparse_mask",
    "paddle.sparse.mask_as({0}, paddle.sparse.sparse_coo_tensor({where}, {ones}, {shape})).to_dense()",
    "{0} * torch.zeros({shape}, dtype=torch.float64)"
    ".index_put(tuple(torch.tensor({where})), torch.tensor(1.0, dtype=torch.float64))",
    masked,
    weight=0.5,
    tags="host",
)
