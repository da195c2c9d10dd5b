"""Values sent to places: by rows, along an axis, by indices of several dims, to slices and diagonals."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op

FORMS = (("", "compute"), ("_", "write"))


def least(d: Draw, x: str, axis: int) -> int:
    """The smallest size of a dim, which is some."""
    n = min(v[x].shape[axis] for v in d.values)
    if not n:
        raise Refused
    return int(n)


def rows(once: bool) -> Callable[[Draw], Proposal]:
    """``once``: no row is meant twice."""

    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: bool(d.shape(x)))
        n = least(d, x, 0)
        count = d.integer(1, n if once else 4)
        index = d.input([count], "int64", f"index:{n}")
        return Proposal((x, index, d.input([count, *d.sizes(x)[1:]], d.dtypes[x])), {})

    return propose


def along(once: bool) -> Callable[[Draw], Proposal]:
    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: bool(d.shape(x)))
        axis = d.axis(x)
        n, sizes = least(d, x, axis), list(d.sizes(x))
        sizes[axis] = 1 if once else d.integer(1, 3)
        index = d.input(sizes, "int64", f"index:{n}")
        reduce = d.choose(("sum", "prod", "mean", "amax", "amin"))
        return Proposal((x, index, d.input(sizes, d.dtypes[x])), {"axis": axis, "how": reduce})

    return propose


def places(adds: bool) -> Callable[[Draw], Proposal]:
    """One index tensor or two, and a value for each place, or one for all."""

    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: bool(d.shape(x)))
        used = d.integer(1, min(2, len(d.shape(x))))
        count = d.integer(1, 4 if adds else least(d, x, 0))
        indices = [d.input([count], "int64", f"index:{least(d, x, axis)}") for axis in range(used)]
        sizes = [count, *d.sizes(x)[used:]] if d.chance(0.7) else [1]
        value = d.input(sizes, d.dtypes[x])
        texts = ", ".join(f"{{{k + 1}}}" for k in range(used))
        return Proposal((x, *indices, value), {"indices": f"({texts},)", "value": f"{{{used + 1}}}"})

    return propose


def mixture(writes: bool) -> Callable[[Draw], Proposal]:
    """Index tensors of one length on some axes of one, neighbours or not; no place is written to twice."""

    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: len(d.shape(x)) > 1)
        rank = len(d.shape(x))
        axes = [a for a in range(rank) if d.chance(0.6)] or [rank - 1]
        count = d.integer(1, min(4, least(d, x, axes[0])))
        indices = [d.input([count], "int64", f"index:{least(d, x, a)}") for a in axes]
        at = ", ".join(f"{{{axes.index(a) + 1}}}" if a in axes else "slice(None)" for a in range(rank))
        if not writes:
            return Proposal((x, *indices), {"at": f"({at})"})
        rest = [n for a, n in enumerate(d.sizes(x)) if a not in axes]
        before = axes[0] if axes[-1] - axes[0] < len(axes) else 0
        value = d.input([*rest[:before], count, *rest[before:]], d.dtypes[x])
        return Proposal((x, *indices, value), {"at": f"({at})", "value": f"{{{len(axes) + 1}}}"})

    return propose


op("read_at", "{0}[{at}]", "{0}[{at}]", mixture(False))
op(
    "written_at",
    "(lambda x: (x.__setitem__({at}, {value}), x)[1])({0} * 1.0)",
    "(lambda x: (x.__setitem__({at}, {value}), x)[1])({0} * 1.0)",
    mixture(True),
)

for _suffix, _form in FORMS:
    _kw = {"form": _form, "results": int(not _suffix), "dtype": lambda x, *others: x}
    op(
        f"scatter{_suffix}",
        f"{{0}}.scatter{_suffix}({{1}}, {{2}})",
        "torch.index_copy({0}, 0, {1}, {2})",
        rows(True),
        **_kw,
    )
    op(
        f"scatter_added{_suffix}",  # rows that are meant are zeros first
        f"{{0}}.scatter{_suffix}({{1}}, {{2}}, False)",
        "torch.index_add(torch.index_fill({0}, 0, {1}, 0.0), 0, {1}, {2})",
        rows(False),
        **_kw,
    )
    for _how, _theirs in (("assign", "torch.scatter"), ("add", "torch.scatter_add")):
        op(
            f"put_along_axis_{_how}{_suffix}",
            f"{{0}}.put_along_axis{_suffix}({{1}}, {{2}}, {{axis}}, '{_how}')",
            f"{_theirs}({{0}}, {{axis}}, {{1}}, {{2}})",
            along(_how == "assign"),
            **_kw,
        )
    for _adds in (False, True):
        op(
            f"index_put{'_adding' if _adds else ''}{_suffix}",
            f"{{0}}.index_put{_suffix}({{indices}}, {{value}}, {_adds})",
            f"torch.index_put({{0}}, {{indices}}, {{value}}, {_adds})",
            places(_adds),
            **_kw,
        )
    op(
        f"index_filled{_suffix}",
        f"{{0}}.index_fill{_suffix}({{1}}, 0, 0.25)",
        "torch.index_fill({0}, 0, {1}, 0.25)",
        rows(True),
        weight=0.3,
        **_kw,
    )
    op(
        f"scatter_add{_suffix}",
        f"{{0}}.scatter_add{_suffix}({{axis}}, {{1}}, {{2}})",
        "torch.scatter_add({0}, {axis}, {1}, {2})",
        along(False),
        weight=0.5,
        **_kw,
    )
op(
    "scatter_nd_add",
    "paddle.scatter_nd_add({0}, {1}.unsqueeze(-1), {2})",
    "torch.index_add({0}, 0, {1}, {2})",
    rows(False),
    dtype=lambda x, *others: x,
)
op(
    "scatter_reduce",
    "{0}.scatter_reduce({axis}, {1}, {2}, '{how}')",
    "torch.scatter_reduce({0}, {axis}, {1}, {2}, '{how}')",
    along(False),
    dtype=lambda x, *others: x,
    weight=0.6,
)


def sliced(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)))
    axis = d.axis(x, fixed=True)
    n, sizes = least(d, x, axis), list(d.sizes(x))
    start, step = d.integer(0, n - 1), d.integer(1, 2)
    sizes[axis] = len(range(start, n, step))
    value = d.input(sizes, d.dtypes[x])
    return Proposal((x, value), {"axis": axis, "a": start, "b": n, "step": step})


op(
    "slice_scatter",
    "paddle.slice_scatter({0}, {1}, [{axis}], [{a}], [{b}], [{step}])",
    "torch.slice_scatter({0}, {1}, {axis}, {a}, {b}, {step})",
    sliced,
    weight=0.6,
)


def selected(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)))
    axis = d.axis(x)
    sizes = list(d.sizes(x))
    at = d.choose((0, -1, least(d, x, axis) - 1))
    del sizes[axis]
    return Proposal((x, d.input(sizes, d.dtypes[x])), {"axis": axis, "at": at})


op(
    "select_scatter",
    "paddle.select_scatter({0}, {1}, {axis}, {at})",
    "torch.select_scatter({0}, {1}, {axis}, {at})",
    selected,
    weight=0.6,
)


def diagonal(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) == 2 and not any(d.varying(x, a) for a in (0, 1)) and min(d.shape(x)) > 0)
    return Proposal((x, d.input([min(d.shape(x))], d.dtypes[x])), {})


for _name, _suffix, _form in (
    ("diagonal_scatter", "", "compute"),
    ("fill_diagonal_tensor", "", "compute"),
    ("fill_diagonal_tensor", "_", "write"),
):
    op(
        _name + _suffix,
        f"{{0}}.{_name}{_suffix}({{1}})",
        "torch.diagonal_scatter({0}, {1})",
        diagonal,
        _form,
        results=int(not _suffix),
        weight=0.5,
    )
op(
    "fill_diagonal_",
    "{0}.fill_diagonal_(0.25)",
    "torch.diagonal_scatter({0}, torch.full((min({0}.shape),), 0.25, dtype={0}.dtype))",
    lambda d: Proposal((d.rank(2),), {}),
    "write",
    results=0,
    weight=0.5,
)
