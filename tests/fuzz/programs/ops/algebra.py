"""Linear algebra of well-conditioned matrices, products and distances; scans and functions of two values."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.matmuls import vectors
from tests.fuzz.programs.ops.proposals import different, reduced, with_axis

family = Family()
op = family.op


def matrices(*ranks: int) -> Callable[[Draw], Proposal]:
    """Of some elements, in float32 or float64."""

    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: len(d.shape(x)) in ranks and all(0 not in v[x].shape for v in d.values))
        if d.dtypes[x] not in ("float32", "float64"):
            raise Refused
        return Proposal((x,), {})

    return propose


# A positive definite matrix of any other.
_OURS = "({0} @ {0}.mT * 0.25 + paddle.eye({0}.shape[-2], dtype={0}.dtype))"
_THEIRS = "({0} @ {0}.mT * 0.25 + torch.eye({0}.shape[-2], dtype=torch.float64))"
for _name, _ours, _theirs in (
    ("det", "paddle.linalg.det(A)", "torch.linalg.det(A)"),
    ("slogdet", "paddle.linalg.slogdet(A)[1]", "torch.linalg.slogdet(A)[1]"),
    ("inv", "paddle.linalg.inv(A)", "torch.linalg.inv(A)"),
    ("cholesky", "paddle.linalg.cholesky(A)", "torch.linalg.cholesky(A)"),
    ("solve", "paddle.linalg.solve(A, {0})", "torch.linalg.solve(A, {0})"),
    (
        "triangular_solve",
        "paddle.linalg.triangular_solve(paddle.tril(A), {0}, upper=False)",
        "torch.linalg.solve_triangular(torch.tril(A), {0}, upper=False)",
    ),
    ("matrix_power", "paddle.linalg.matrix_power(A, 2)", "torch.linalg.matrix_power(A, 2)"),
    ("eigvalsh_sum", "paddle.linalg.eigvalsh(A).sum(-1)", "torch.linalg.eigvalsh(A).sum(-1)"),
    ("matrix_norm", "paddle.linalg.matrix_norm({0})", "torch.linalg.matrix_norm({0})"),
):
    op(
        _name,
        _ours.replace("A", _OURS) if "(A" in _ours else _ours,
        _theirs.replace("A", _THEIRS) if "(A" in _theirs else _theirs,
        matrices(2, 3),
        weight=0.3,
        tags="loose",
    )
op(
    "mv",
    "paddle.mv({0}, {1})",
    "torch.mv({0}, {1})",
    lambda d: Proposal((x := d.rank(2), d.input([d.size(x, 1)], d.dtypes[x])), {}),
    weight=0.6,
)
op(
    "multi_dot",
    "paddle.linalg.multi_dot([{0}, {0}.T, {0}])",
    "{0} @ {0}.mT @ {0}",
    matrices(2),
    weight=0.4,
)
op(
    "cdist",
    "paddle.cdist({0}, {1})",
    "torch.sqrt((({0}[:, None] - {1}[None]) ** 2).sum(-1))",
    lambda d: Proposal((x := d.rank(2), d.input([3, d.size(x, 1)], d.dtypes[x])), {}),
    weight=0.4,
)
op("dist", "paddle.dist({0}, {1})", "torch.dist({0}, {1})", different, weight=0.3)
op(
    "cross",
    "paddle.cross({0}, {1}, axis=-1)",
    "torch.linalg.cross({0}, {1})",
    lambda d: Proposal((x := d.pick(lambda x: d.shape(x)[-1:] == (3,) and not d.varying(x, -1)), d.like(x)), {}),
    weight=1.0,
)
op(
    "convolved",
    "paddle.nn.functional.conv1d({0}.reshape([1, 1, -1]), {1}.reshape([1, 1, -1]), padding={0}.shape[0])",
    "F.conv1d({0}.reshape(1, 1, -1), {1}.reshape(1, 1, -1), padding={0}.shape[0])",
    vectors,
    weight=0.3,
)

for _name in ("logaddexp", "fmin", "copysign"):
    op(_name, f"paddle.{_name}({{0}}, {{1}})", f"torch.{_name}({{0}}, {{1}})", different, weight=0.4)
for _name in ("cummax", "cummin"):
    op(_name, f"paddle.{_name}({{0}}, {{axis}})[0]", f"torch.{_name}({{0}}, {{axis}})[0]", with_axis(), weight=0.4)
op("nanmean", "paddle.nanmean({0}, {axis}, {keep})", "torch.nanmean({0}, {all}, {keep})", reduced, weight=0.3)
op("amin", "paddle.amin({0}, {axis}, {keep})", "torch.amin({0}, {all}, {keep})", reduced, weight=0.3)
op(
    "median",
    "paddle.median({0}, {axis}, mode='min')[0]",
    "torch.median({0}, {axis})[0]",
    with_axis(),
    weight=0.3,
)
op(
    "vander",
    "paddle.vander({0}, 3)",
    "{0}[:, None] ** torch.tensor([2, 1, 0])",  # that of PyTorch writes to what its gradient needs
    lambda d: Proposal((d.rank(1),), {}),
    weight=0.3,
)
op(
    "renorm",
    "paddle.renorm({0}, 2.0, 0, 0.75)",
    "torch.renorm({0}, 2.0, 0, 0.75)",
    lambda d: Proposal((d.pick(lambda x: len(d.shape(x)) > 1 and all(0 not in v[x].shape for v in d.values)),), {}),
    weight=0.3,
)
