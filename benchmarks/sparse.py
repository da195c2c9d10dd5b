"""Products with sparse matrices beside SciPy's; sums over segments and over the edges of a graph beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import Case, ints, normal
from rows import add_section

SPARSE = add_section("sparse", "Sparse matrices and graphs", mean=1.5)
LOWEST = 1.0


def matrix(n: int, columns: int, share: float) -> dict[str, Any]:
    rows, cols = np.divmod(np.unique(ints(n * n, int(share * n * n))), n)
    return {
        "crows": np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]),
        "cols": cols,
        "at": np.stack([rows, cols]),
        "v": normal(rows.size),
        "x": normal(n, columns),
        "y": normal(columns, n),
        "n": np.array(n),
    }


def segments(rows: int, columns: int) -> dict[str, Any]:
    i = np.sort(ints(rows // 10, rows))
    i[-1] = rows // 10 - 1
    return {"x": normal(rows, columns), "i": i}


def graph(nodes: int, edges: int, columns: int) -> dict[str, Any]:
    return {"x": normal(nodes, columns), "s": ints(nodes, edges), "d": ints(nodes, edges, seed=1)}


OURS = {
    "csr": "a = paddle.sparse.sparse_csr_tensor(crows, cols, v, [int(n)] * 2)",
    "coo": "a = paddle.sparse.sparse_coo_tensor(at, v, [int(n)] * 2)",
}
SCIPY = (
    "import scipy.sparse\n"
    "x, y, v, at = (t.numpy() for t in (x, y, v, at))\n"
    "a = scipy.sparse.{}_matrix((v, at), shape=[int(n)] * 2)"
)
for size, shape in (("small", (64, 16, 0.1)), ("thin", (20000, 8, 0.0005)), ("large", (4096, 64, 0.01))):
    what = "{} × {} columns, {} of the elements".format(*shape)
    for kind, setup in OURS.items():
        more = {"setup": setup, "tolerance": 1e-4}
        Case(
            f"sparse-matmul-{kind}-{size}", "paddle.sparse.matmul(a, x)", lambda s=shape: matrix(*s), "a @ x", LOWEST,
            theirs_setup=SCIPY.format(kind), what=f"`paddle.sparse.matmul(a, x)`, {kind.upper()}, {what}", peer="SciPy",
            **more,
        ).add(SPARSE)  # fmt: skip
    Case(
        f"sparse-masked-{size}", "paddle.sparse.masked_matmul(x, y, a).values()", lambda s=shape: matrix(*s),
        "(x[at[0]] * y.T[at[1]]).sum(1)", LOWEST, setup=OURS["csr"], theirs_setup=SCIPY.format("csr"), tolerance=1e-4,
        what=f"`paddle.sparse.masked_matmul(x, y, a)`, CSR, {what}", peer="NumPy",
    ).add(SPARSE)  # fmt: skip

for size, shape in (("small", (64, 16)), ("large", (100_000, 64))):
    made = f"x.new_zeros({shape[0] // 10}, {shape[1]})"
    each = f"i[:, None].expand(-1, {shape[1]})"
    for name, theirs in (
        ("sum", f"{made}.index_add_(0, i, x)"),
        ("mean", f"{made}.scatter_reduce_(0, {each}, x, 'mean', include_self=False)"),
        ("max", f"{made}.scatter_reduce_(0, {each}, x, 'amax', include_self=False)"),
    ):
        Case(
            f"segment-{name}-{size}", f"paddle.geometric.segment_{name}(x, i)", lambda s=shape: segments(*s), theirs,
            LOWEST, tolerance=1e-4, what=f"`paddle.geometric.segment_{name}(x, i)`, {shape[0]} × {shape[1]}",
        ).add(SPARSE)  # fmt: skip

for size, shape in (("small", (64, 256, 16)), ("large", (10_000, 100_000, 64))):
    each = f"d[:, None].expand(-1, {shape[2]})"
    for name, theirs in (
        ("sum", "torch.zeros_like(x).index_add_(0, d, x[s])"),
        ("max", f"torch.zeros_like(x).scatter_reduce_(0, {each}, x[s], 'amax', include_self=False)"),
    ):
        Case(
            f"send_u_recv-{name}-{size}", f"paddle.geometric.send_u_recv(x, s, d, '{name}')", lambda s=shape: graph(*s),
            theirs, LOWEST, tolerance=1e-4,
            what=f"`paddle.geometric.send_u_recv`, `{name}`, {shape[0]} nodes × {shape[2]}, {shape[1]} edges",
        ).add(SPARSE)  # fmt: skip
