"""The cpu backend against ref: the samples of every op, contiguous and strided."""

import numpy as np
from samples import over_samples

import umiak
from umiak.backends import base
from umiak.backends.ref.evaluate import evaluate
from umiak.compiler import plan
from umiak.core import array, dtype
from umiak.ops.base import REGISTRY

# Relative to the largest magnitude of the result, by the width of the type that was computed in.
TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float8_e4m3fn": 0.13,
    "float8_e5m2": 0.26,
    "float32": 2e-5,
    "complex64": 2e-5,
}
# Outside of collectives and host functions.
SKIPPED = {"custom_call"} | {
    n for n, c in REGISTRY.items() if c.__module__ in ("umiak.ops.collective", "umiak.ops.custom")
}


def samples(name):
    return list(REGISTRY[name].samples(np.random.default_rng(list(name.encode()))))


def tensor(x):
    return array.from_numpy(x) if isinstance(x, np.ndarray) else x


def strided(x, how):
    """The same numbers in other memory."""
    if not isinstance(x, np.ndarray) or how == "contiguous":
        return tensor(x)
    if how == "transposed":
        return umiak.ops.permute(tensor(x.T.copy()), perm=tuple(range(x.ndim))[::-1])
    wide = np.zeros(tuple(2 * n + 1 for n in x.shape), x.dtype)
    at = tuple(slice(1, None, 2) if n else slice(0, 0) for n in x.shape)
    wide[at] = x
    t = tensor(wide)
    for axis, n in enumerate(x.shape):
        t = umiak.ops.slice(t, axes=(axis,), starts=(1 if n else 0,), sizes=(n,), steps=(2,))
    return t


def compare(got, want, name):
    kind = dtype.convert(want.dtype)
    assert got.shape == list(want.shape) and got.dtype is kind
    a, b = array.to_numpy(got), want
    if not (kind.is_floating or kind.is_complex):
        np.testing.assert_array_equal(a, b, name)
        return
    wide = np.complex128 if kind.is_complex else np.float64
    a, b = (
        a.astype(np.float32).astype(wide) if a.dtype.kind == "V" else a.astype(wide),
        b.astype(np.float32).astype(wide) if b.dtype.kind == "V" else b.astype(wide),
    )
    finite = np.isfinite(b)
    scale = np.abs(b[finite]).max(initial=1e-6)  # residuals of what has an exact answer are noise
    rtol = TOLERANCE.get(kind.name, 1e-11)
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale * 0.1, err_msg=name)


def check_as_ref(case, how):
    want = evaluate(case.op, case.sample.inputs, case.params)
    got = case.call(*(strided(x, how) for x in case.sample.inputs))
    if case.name in ("eig", "eigh", "svd", "qr"):
        return  # bases are determined up to phases
    for a, b in zip(got, want, strict=True):
        compare(a, b, str(case))


@over_samples(quick=2, where=lambda case: case.name not in SKIPPED)
def test_as_ref(case):
    check_as_ref(case, "contiguous")


# tests/ops lays out the operands of each op, too.
@over_samples(quick=1, share=3, turn=2, where=lambda case: case.name not in SKIPPED and bool(case.arrays))
def test_transposed_operands(case):
    check_as_ref(case, "transposed")


@over_samples(quick=1, share=3, turn=1, where=lambda case: case.name not in SKIPPED and bool(case.arrays))
def test_operands_in_every_second_element(case):
    check_as_ref(case, "apart")


# What NumPy, SciPy and LAPACK still do, by the type of the first operand. It may only get shorter.
ON_REF = {
    **dict.fromkeys(("eig", "eigvals", "matrix_exp"), "complex128 float32 float64"),
    "lstsq": "complex128 float64",
    "lu_permutation": "int32",
    **dict.fromkeys(("betainc", "igamma", "igammac", "polygamma"), "float32 float64"),
    "gcd": "bfloat16 float32 float64 int8 uint8",
    "nextafter": "bfloat16",
    # complex numbers as params
    "full": "complex64",
    "pad": "complex128",
    # between places
    "transfer": "bfloat16 complex128 float32 float64 int64",
    # the CPU driver computes in float32 and float64: layers cast 16-bit operands
    "rnn": "bfloat16",
    **dict.fromkeys(("banded_logsumexp_scan", "banded_linear_scan"), "bfloat16"),
    # its kernel computes in float32 and float64
    "viterbi_decode": "bfloat16",
    # beams are walked once per decoding; the recurrence is in second derivatives of recurrent layers
    "gather_tree": "int32 int64",
    "linear_recurrence": "bfloat16 float32 float64",
    # along an axis, and of runs
    **dict.fromkeys(("unique_count", "unique_sized"), "float64 int64"),
}


def test_what_has_no_kernel(monkeypatch):
    cpu, ref = base.get("cpu"), base.get("ref")
    found = {}

    def find(call):
        kernel = cpu.kernel(call)
        if kernel is not None:
            return kernel
        if ref.supports(call.op):
            typed = [m for m in (*call.metas, *call.outs) if m is not None and m.dtype is not None]
            found.setdefault(call.op.name, set()).add(typed[0].dtype.name)
        return ref.kernel(call)

    monkeypatch.setattr(plan, "FIND_KERNEL", find)
    for name in sorted(set(REGISTRY) - SKIPPED):
        for s in samples(name):
            op = REGISTRY[name](**s.attrs)
            if ref.supports(op):
                params = tuple(s.params.get(k, d.default) for k, d in op.param_fields.items())
                plan.build(op, tuple(map(tensor, s.inputs)), params, 0)
    assert {name: " ".join(sorted(types)) for name, types in found.items()} == ON_REF
