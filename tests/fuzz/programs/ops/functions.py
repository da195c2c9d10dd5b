"""Functions that other families lack: elementwise ones, joined and cut dims, statistics, factors, grids."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.algebra import matrices
from tests.fuzz.programs.ops.dtypes import always
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.proposals import any_float, different, reduced, with_axis
from tests.fuzz.programs.ops.scatters import least

family = Family()
op = family.op

for _name, _ours, _theirs in (
    ("deg2rad", "paddle.deg2rad({0})", "torch.deg2rad({0})"),
    ("rad2deg", "paddle.rad2deg({0} * 0.125)", "torch.rad2deg({0} * 0.125)"),
    ("i0e", "paddle.i0e({0})", "torch.special.i0e({0})"),
    ("i1", "paddle.i1({0})", "torch.special.i1({0})"),
    ("i1e", "paddle.i1e({0})", "torch.special.i1e({0})"),
    ("gammaln", "paddle.gammaln({0})", "torch.lgamma({0})"),
    ("polygamma", "paddle.polygamma({0}, 1)", "torch.polygamma(1, {0})"),
    ("multigammaln", "paddle.multigammaln({0} * {0} + 2.0, 2)", "torch.special.multigammaln({0} * {0} + 2.0, 2)"),
    ("stanh", "paddle.stanh({0})", "1.7159 * torch.tanh(0.67 * {0})"),
    ("round", "paddle.round({0})", "torch.round({0})"),
    ("round_digits", "paddle.round({0}, 1)", "torch.round({0}, decimals=1)"),
    ("sign", "paddle.sign({0})", "torch.sign({0})"),
    ("positive", "paddle.positive({0}) * 1", "{0} * 1"),
    ("hardsigmoid", "F.hardsigmoid({0})", "({0} * 0.1666667 + 0.5).clamp(0, 1)"),
    ("swish", "F.swish({0})", "F.silu({0})"),
    ("thresholded_relu", "F.thresholded_relu({0}, 0.5, 0.125)", "F.threshold({0}, 0.5, 0.125)"),
    ("default_leaky", "F.leaky_relu({0})", "torch.where({0} < 0, 0.01 * {0}, {0})"),
    ("default_clip", "paddle.clip({0}, min=-0.5)", "torch.clip({0}, min=-0.5)"),
    ("default_scale", "paddle.scale({0})", "{0} * 1"),
    ("label_smooth", "F.label_smooth({0}[..., None] * 1.0)", "{0}[..., None] * 0.9 + 0.1"),
    ("ldexp", "paddle.ldexp({0}, paddle.to_tensor(-1))", "{0} * 0.5"),
    ("reduce_as", "paddle.reduce_as({0}, paddle.zeros([], {0}.dtype))", "{0}.sum()"),
    ("default_sum", "{0}.sum()", "{0}.sum()"),
    ("default_max", "{0}.max()", "{0}.amax()"),
    ("default_norm", "{0}.norm()", "torch.sqrt(({0} ** 2).sum())"),
    ("default_flatten", "paddle.flatten({0})", "{0}.reshape(-1)"),
):
    op(_name, _ours, _theirs, any_float, weight=0.2,
       tags="loose" if "gamma" in _name else "", dtype=lambda x: x)  # fmt: skip
for _name in ("signbit", "isfinite", "isnan", "isneginf"):
    op(_name, f"paddle.{_name}({{0}})", f"torch.{_name}({{0}})", any_float, dtype=always("bool"), weight=0.1)
for _name, _ours, _theirs in (
    ("heaviside", "paddle.heaviside({0}, {1})", "torch.heaviside({0}, {1}).detach() + 0 * {1}"),
    ("floating_remainder", "paddle.remainder({0}, {1} * {1} + 0.75)", "torch.remainder({0}, {1} * {1} + 0.75)"),
    ("floating_mod", "paddle.mod({0}, {1} * {1} + 0.75)", "torch.remainder({0}, {1} * {1} + 0.75)"),
    ("gammainc", "paddle.gammainc({0}.detach() ** 2 + 0.5, {1} ** 2 + 0.25) + 0 * {0}",
     "torch.special.gammainc({0}.detach() ** 2 + 0.5, {1} ** 2 + 0.25) + 0 * {0}"),
    ("gammaincc", "paddle.gammaincc({0}.detach() ** 2 + 0.5, {1} ** 2 + 0.25) + 0 * {0}",
     "torch.special.gammaincc({0}.detach() ** 2 + 0.5, {1} ** 2 + 0.25) + 0 * {0}"),
    ("true_divide", "paddle.divide({0}, {1} * {1} + 0.5)", "{0} / ({1} * {1} + 0.5)"),
    ("isclose_floating", "paddle.isclose({0}, {1}, 0.1, 0.1).astype('float32')",
     "torch.isclose({0}, {1}, 0.1, 0.1).double()"),
):  # fmt: skip
    op(_name, _ours, _theirs, different, weight=0.25, tags="loose" if "gamma" in _name else "",
       dtype=always("float32") if "close" in _name else None)  # fmt: skip

# --- dims


def same_sizes(d: Draw) -> Proposal:
    x = d.pick()
    return Proposal((x, d.like(x)), {})


for _name in ("hstack", "vstack", "dstack", "column_stack", "row_stack"):
    op(_name, f"paddle.{_name}([{{0}}, {{1}}])", f"torch.{_name}([{{0}}, {{1}}])", same_sizes, weight=0.2)
for _rank in (1, 2, 3):
    op(f"atleast_{_rank}d", f"paddle.atleast_{_rank}d({{0}})", f"np.atleast_{_rank}d({{0}})", any_float, "view",
       weight=0.2, tags="unclear")  # fmt: skip
op("meshgrid", "[t * 1.0 for t in paddle.meshgrid({0}, {1})]", "torch.meshgrid({0}, {1}, indexing='ij')",
   lambda d: Proposal((x := d.rank(1), d.beside(x, lambda y: len(d.shape(y)) == 1, [2])), {}, 2), dtype=None,
   weight=0.3)  # fmt: skip
op("cartesian_prod", "paddle.cartesian_prod([{0}, {1}])", "torch.cartesian_prod({0}, {1})",
   lambda d: Proposal((x := d.rank(1), d.beside(x, lambda y: len(d.shape(y)) == 1, [2])), {}), weight=0.3)  # fmt: skip
op("combinations", "paddle.combinations({0}, {r})", "torch.combinations({0}, {r})",
   lambda d: Proposal((d.pick(lambda x: len(d.shape(x)) == 1 and not d.varying(x, 0)),), {"r": d.integer(1, 3)}),
   weight=0.3)  # fmt: skip
for _name, _ours, _theirs in (
    ("diag_matrix", "paddle.diag({0})", "torch.diag({0})"),
    ("diag_padded", "paddle.diag({0}, 1, 0.5)",
     "torch.diag({0}, 1) + 0.5 * (1 - torch.diag(torch.ones_like({0}), 1))"),
):  # fmt: skip
    op(_name, _ours, _theirs, lambda d: Proposal((d.rank(1),), {}), weight=0.3)
op("diagflat", "paddle.diagflat({0}, -1)", "torch.diagflat({0}, -1)", lambda d: Proposal((d.rank(0, 1, 2),), {}),
   weight=0.3)  # fmt: skip
op("trace", "paddle.trace({0}, {k}, {a}, {b})", "torch.diagonal({0}, {k}, {a}, {b}).sum(-1)",
   lambda d: Proposal((x := d.rank(2, 3),), dict(zip("ab", d.permutation(len(d.shape(x)))), k=d.integer(-1, 1))),
   weight=0.4)  # fmt: skip


def cropped(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)))
    axis = d.axis(x, fixed=True) % len(d.shape(x))
    n = least(d, x, axis)
    start = d.integer(0, n - 1)
    return Proposal((x,), {"axis": axis, "a": start, "n": d.integer(1, n - start), "rank": len(d.shape(x))})


op("narrow", "paddle.narrow({0}, {axis}, {a}, {n})", "np.take({0}, np.arange({a}, {a} + {n}), {axis})", cropped, "view",
   weight=0.4)  # fmt: skip
op("sliced_by_numbers", "paddle.slice({0}, [{axis}], [{a}], [{a} + {n}])",
   "np.take({0}, np.arange({a}, {a} + {n}), {axis})", cropped, "view", weight=0.4)  # fmt: skip
op(
    "crop",
    "paddle.crop({0}, [{n} if k == {axis} else -1 for k in range({rank})], "
    "[{a} * (k == {axis}) for k in range({rank})])",
    "torch.narrow({0}, {axis}, {a}, {n})",
    cropped,
    weight=0.4,
)
for _letter, _axis in (("h", 1), ("v", 0), ("d", 2)):
    op(
        f"{_letter}split",
        f"paddle.{_letter}split({{0}}, [1])",
        f"np.split({{0}}, [1], {_axis})",
        lambda d, a=_axis: Proposal((d.pick(lambda x: len(d.shape(x)) > max(a, 1) and least(d, x, a) > 0),), {}, 2),
        "view",
        weight=0.2,
    )
op("permute", "paddle.permute({0}, {p})", "np.transpose({0}, {p})",
   lambda d: Proposal((x := d.pick(),), {"p": d.permutation(len(d.shape(x)))}), "view", weight=0.3)  # fmt: skip
op("matrix_transpose", "paddle.linalg.matrix_transpose({0})", "np.swapaxes({0}, -1, -2)",
   lambda d: Proposal((d.rank(2, 3),), {}), "view", weight=0.3)  # fmt: skip
op("temporal_shift", "F.temporal_shift({0}.reshape([2, 4, 1, 1]), 2, 0.25)",
   "torch.stack([torch.stack([0 * {0}[0, 0], {0}[1, 1], {0}[0, 2], {0}[0, 3]]), "
   "torch.stack([{0}[0, 0], 0 * {0}[1, 1], {0}[1, 2], {0}[1, 3]])]).reshape(2, 4, 1, 1)",
   lambda d: Proposal((d.input([2, 4]),), {}), weight=0.2)  # fmt: skip
op("zeropad2d", "F.zeropad2d({0}, [1, 0, 2, 1])", "F.pad({0}, [1, 0, 2, 1])", lambda d: Proposal((d.rank(4),), {}),
   weight=0.5)  # fmt: skip
op("scatter_nd", "paddle.scatter_nd({1}.unsqueeze(-1), {0}, [4, *{0}.shape[1:]])",
   "torch.zeros(4, *{0}.shape[1:], dtype=torch.float64).index_add(0, {1}, {0})",
   lambda d: Proposal((x := d.pick(lambda x: bool(d.shape(x))), d.input([d.size(x, 0)], "int64", "index:4")), {}),
   dtype=lambda x, i: x, weight=0.4)  # fmt: skip
op("multiplex", "paddle.multiplex([{0}, {1}], {2})", "torch.where({2} == 0, {0}, {1})",
   lambda d: Proposal((x := d.rank(2), d.like(x), d.input([d.size(x, 0), 1], "int32", "index:2")), {}),
   dtype=lambda x, y, i: x, weight=0.4)  # fmt: skip

# --- statistics


def single(dtype: str) -> str:
    """Of what computes in float32 at least."""
    return dtype if dtype == "float64" else "float32"


for _name, _ours, _theirs in (
    ("nanmedian", "paddle.nanmedian({0}, {axis}, {keep})", "torch.nanquantile({0}, 0.5, {axis}, {keep})"),
    ("logsumexp_one", "paddle.logsumexp({0}, {axis}, {keep})", "torch.logsumexp({0}, {axis}, {keep})"),
    ("vector_norm", "paddle.linalg.vector_norm({0}, 3, {axis}, {keep})",
     "torch.linalg.vector_norm({0}, 3, {axis}, {keep})"),
    ("mean_of_one", "{0}.mean({axis}, {keep})", "{0}.mean({axis}, {keep})"),
):  # fmt: skip
    op(_name, _ours, _theirs, lambda d: Proposal((x := d.rank(1, 2, 3),), {"axis": d.axis(x), "keep": d.chance(0.4)}),
       dtype=single if _name == "nanmedian" else None, weight=0.3)  # fmt: skip
op("amax_of_axes", "paddle.amax({0} * 1.0, {axis}, {keep})", "torch.amax({0}, {all}, {keep})", reduced,
   weight=0.2)  # fmt: skip
op("cumulative_trapezoid", "paddle.cumulative_trapezoid({0}, dx=0.5, axis={axis})",
   "torch.cumulative_trapezoid({0}, dx=0.5, dim={axis})", with_axis(), weight=0.3)  # fmt: skip
op("pdist", "paddle.pdist({0})", "torch.stack([torch.sqrt((({0}[i] - {0}[j]) ** 2).sum()) "
   "for i in range(len({0})) for j in range(i + 1, len({0}))])",
   lambda d: Proposal((d.pick(lambda x: len(d.shape(x)) == 2 and not d.varying(x, 0) and d.shape(x)[0] > 1),), {}),
   weight=0.3)  # fmt: skip

# --- matrices

_POSITIVE = "({0} @ {0}.mT * 0.25 + paddle.eye({0}.shape[-2], dtype={0}.dtype))"
_THEIR_POSITIVE = "({0} @ {0}.mT * 0.25 + torch.eye({0}.shape[-2], dtype=torch.float64))"
for _name, _ours, _theirs in (
    ("cov", "paddle.linalg.cov({0})", "torch.cov({0})"),
    ("pinv", "paddle.linalg.pinv(A)", "torch.linalg.inv(A)"),
    ("cholesky_solve", "paddle.linalg.cholesky_solve({0}, paddle.linalg.cholesky(A))", "torch.linalg.solve(A, {0})"),
    ("qr_product", "paddle.matmul(*paddle.linalg.qr(A))", "A * 1"),
    ("svdvals_squares", "(paddle.linalg.svdvals({0}) ** 2).sum(-1)", "({0} ** 2).sum((-2, -1))"),
    ("eigh_product", "(lambda w, v: (v * w.unsqueeze(-2)) @ v.mT)(*paddle.linalg.eigh(A))", "A * 1"),
    ("matrix_exp", "paddle.linalg.matrix_exp(A * 0.25)", "torch.linalg.matrix_exp(A * 0.25)"),
    ("lu_solved", "paddle.linalg.solve(A, {0})", "torch.linalg.solve(A, {0})"),
    ("vecdot_halved", "paddle.linalg.vecdot({0}, {0} * 0.5)", "torch.linalg.vecdot({0}, {0} * 0.5)"),
):
    op(_name, _ours.replace("A", _POSITIVE), _theirs.replace("A", _THEIR_POSITIVE),
       matrices(2) if _name == "cov" else matrices(2, 3), weight=0.3, tags="loose")  # fmt: skip


def unequal(d: Draw) -> Proposal:
    """Two matrices whose dims of one letter are equal, or of size 1."""
    x = d.rank(2)
    if d.varying(x, 0) or d.varying(x, 1):
        raise Refused
    y = d.input([d.choose((d.shape(x)[1], 1)), d.choose((1, 3))], d.dtypes[x])
    return Proposal((x, y), {})


op("einsum_of_ones", "paddle.einsum('ij,jk->ik', {0}, {1})", "torch.einsum('ij,jk->ik', {0}, {1})", unequal, weight=0.4)

# --- of no statement's results


def made(d: Draw) -> Proposal:
    n = d.integer(1, 4)
    return Proposal((d.pick(lambda x: d.shape(x)[-1:] == (n,)),), {"n": n})


for _name, _ours, _theirs in (
    ("linspace", "paddle.linspace(0.0, 1.0, {n}, dtype={0}.dtype)", "torch.linspace(0, 1, {n}, dtype=torch.float64)"),
    ("arange", "paddle.arange({n}, dtype={0}.dtype)", "torch.arange({n}, dtype=torch.float64)"),
    ("logspace", "paddle.logspace(0.0, 1.0, {n}, 2.0, dtype={0}.dtype)",
     "torch.logspace(0, 1, {n}, 2.0, dtype=torch.float64)"),
):  # fmt: skip
    op(f"times_{_name}", f"{{0}} * {_ours}", f"{{0}} * {_theirs}", made, weight=0.3)


def lengths(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) == 2 and not d.varying(x, 1) and d.shape(x)[1] > 0)
    return Proposal((x, d.input([d.size(x, 0)], "int64", f"index:{d.shape(x)[1] + 1}")), {"n": d.shape(x)[1]})


op("sequence_mask", "{0} * F.sequence_mask({1}, {n}, dtype={0}.dtype)", "{0} * (torch.arange({n}) < {1}[:, None])",
   lengths, dtype=lambda x, i: x, weight=0.4)  # fmt: skip
