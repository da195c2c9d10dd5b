"""Complex numbers: their parts, functions of both, transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fuzz.programs.draw import COMPLEX, FLOATS, Draw, Proposal
from tests.fuzz.programs.ops.dtypes import always, promoted
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.gradients import settled
from tests.fuzz.programs.ops.proposals import any_float, not_of, pair, with_axis

family = Family()
op = family.op


def real_of(*dtypes: str) -> str:
    found = promoted(*dtypes)
    return COMPLEX.get(found, found)


def complex_of(*dtypes: str) -> str:
    return promoted(*dtypes, "complex64")


def is_complex(d: Draw) -> Callable[[str], bool]:
    return lambda x: d.dtypes[x] in COMPLEX


def is_real(d: Draw) -> Callable[[str], bool]:
    return lambda x: d.dtypes[x] in FLOATS


def one(d: Draw) -> Proposal:
    return Proposal((d.pick(is_complex(d)),), {})


def two_reals(d: Draw) -> Proposal:
    x = d.pick(is_real(d))
    return Proposal((x, d.like(x)), {})


def scaled(d: Draw) -> Proposal:
    """A value and a complex number."""
    return Proposal((d.pick(),), {"c": complex(d.number(), d.number())})


op("conj", "paddle.conj({0})", "torch.conj_physical({0})", any_float, weight=1.0)
op("real", "paddle.real({0})", "torch.real({0}).clone()", one, dtype=real_of, weight=1.0)
op("imag", "paddle.imag({0})", "torch.imag({0}).clone()", one, dtype=real_of, weight=1.0)
op("abs", "paddle.abs({0})", "torch.abs({0})", any_float, dtype=real_of, weight=0.7)
op("angle", "paddle.angle({0})", "torch.angle({0})", one, dtype=real_of, weight=0.4)
op("sgn", "paddle.sgn({0})", "torch.sgn({0})", one, weight=0.4)
op("complex", "paddle.complex({0}, {1})", "torch.complex({0}, {1})", two_reals, dtype=complex_of, weight=1.5)
# PyTorch takes sizes to be positive in the derivative.
op(
    "polar",
    "paddle.polar({0}, {1})",
    "torch.complex({0} * torch.cos({1}), {0} * torch.sin({1}))",
    two_reals,
    dtype=complex_of,
    weight=0.5,
)
# Views of memory as another dtype, which the judge's memory has not: nothing may be written to them.
op(
    "as_real",
    "paddle.as_real({0})",
    "made(torch.view_as_real({0}.unclear().t).clone()).unclear()",
    one,
    "statement",
    dtype=real_of,
    weight=0.7,
)
op(
    "as_complex",
    "paddle.as_complex({0})",
    "made(torch.view_as_complex({0}.unclear().t.contiguous()).clone()).unclear()",
    lambda d: Proposal((d.pick(lambda x: is_real(d)(x) and all(v[x].shape[-1:] == (2,) for v in d.values)),), {}),
    "statement",
    dtype=complex_of,
    weight=1.0,
)
op("complex_times", "{0} * {c}", "{0} * {c}", scaled, dtype=complex_of, weight=0.5)
op("complex_add", "{c} + {0}", "{c} + {0}", scaled, dtype=complex_of, weight=0.4)
op("complex_into", "{c} / ({0} * paddle.conj({0}) + 0.5)", "{c} / ({0} * torch.conj_physical({0}) + 0.5)", scaled,
   dtype=complex_of, weight=0.4)  # fmt: skip
op("times_conj", "{0} * paddle.conj({1})", "{0} * torch.conj_physical({1})", pair, weight=0.7)
op("divide", "{0} / ({1} * paddle.conj({1}) + 0.5)", "{0} / ({1} * torch.conj_physical({1}) + 0.5)", pair, weight=0.7)
op("quotient", "{0} / ({1} * 0.25 + 3.0)", "{0} / ({1} * 0.25 + 3.0)", pair, weight=0.5)
op("pow", "({0} * 0.25 + 2.0) ** {1}", "({0} * 0.25 + 2.0) ** {1}", pair, weight=0.3)
op("size", "paddle.sqrt(paddle.real({0} * paddle.conj({0})) + 0.5)",
   "torch.sqrt(torch.real({0} * torch.conj_physical({0})) + 0.5)", one, dtype=real_of, weight=0.4)  # fmt: skip
op("norm_of_parts", "paddle.linalg.norm(paddle.as_real({0}))", "torch.linalg.vector_norm(torch.view_as_real({0}))", one,
   dtype=real_of, weight=0.3)  # fmt: skip
op("adjoint", "paddle.matmul({0}, paddle.conj({0}), transpose_y=True)", "{0} @ torch.conj_physical({0}).mT",
   lambda d: Proposal((d.rank(2, 3),), {}), weight=0.5)  # fmt: skip
op("to_complex64", "{0}.astype('complex64')", "{0} + 0j", not_of("complex64"), dtype=always("complex64"), weight=0.3,
   tags="cast")  # fmt: skip
op("to_complex128", "{0}.astype('complex128')", "{0} + 0j", not_of("complex128"), dtype=always("complex128"),
   weight=0.3, tags="cast")  # fmt: skip
op("multiply_by_complex_", "{0}.multiply_(paddle.to_tensor({c}).astype({0}.dtype))", "{0} * {c}",
   lambda d: Proposal(one(d).operands, {"c": complex(d.number(), d.number())}), "write", results=0,
   weight=0.4)  # fmt: skip


def transformed(norms: tuple[str, ...] = ("backward", "ortho", "forward"), ok: Any = None) -> Callable[..., Proposal]:
    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: bool(d.shape(x)) and (ok is None or ok(d)(x)))
        return Proposal((x,), {"axis": d.axis(x), "norm": d.choose(norms)})

    return propose


for _name, _ok, _dtype in (
    ("fft", None, complex_of), ("ifft", None, complex_of), ("rfft", is_real, complex_of),
    ("irfft", is_complex, real_of), ("hfft", is_complex, real_of), ("ihfft", is_real, complex_of),
):  # fmt: skip
    op(
        _name,
        f"paddle.fft.{_name}({{0}}, axis={{axis}}, norm='{{norm}}')",
        f"torch.fft.{_name}({{0}}, dim={{axis}}, norm='{{norm}}')",
        transformed(ok=_ok),
        dtype=_dtype,
        weight=0.35,
    )
op("fftshift", "paddle.fft.fftshift({0})", "torch.fft.fftshift({0})", with_axis(), weight=0.2)
op(
    "real_hook",
    "{0}.register_hook(lambda g: paddle.conj(g) * {s})",
    "{0}.t.register_hook(lambda g: None if g is None else torch.conj_physical(g) * {s})",
    lambda d: Proposal((settled(d),), {"s": d.number()}),
    "statement",
    results=0,
    weight=0.4,
    tags="hook",
)
op(
    "real_grad",
    "paddle.grad([paddle.real({1} * paddle.conj({1})).sum()], [{0}], create_graph=True)[0]",
    "made(torch.autograd.grad(torch.real({1}.t * torch.conj_physical({1}.t)).sum(), {0}.t, create_graph=True)[0])",
    lambda d: Proposal((settled(d), d.pick(is_complex(d))), {}),
    "statement",
    dtype=lambda x, y: x,
    weight=0.7,
    tags="grad",
)
