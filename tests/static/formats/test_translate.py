"""Our programs in the operators of PaddlePaddle: they have the form that it gives them, and mean the same."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.static.extract import extracted
from paddle.static.formats import pir
from paddle.static.formats.record import Values, program_of
from paddle.static.formats.translate import Untranslatable, translate
from umiak import ops as F
from umiak.core import eager
from umiak.ir.meta import Meta
from umiak.ir.registry import REGISTRY
from umiak.ir.tracer import trace

DATA = Path(__file__).parents[2] / "data" / "saved_operators.jsonl.gz"
CASES = {row["name"]: row for row in map(json.loads, gzip.decompress(DATA.read_bytes()).splitlines())}
NOT_READ = "struct_name", "op_callstack"  # of whoever wrote a program
AT_ONCE = {n for n in CASES if n.startswith("eager")}


def form(o):
    """Operands, attributes with their kinds, and results of an operation."""
    kinds = {name: x.kind for name, x in o.attributes.items() if name not in NOT_READ}
    return len(o.operands), tuple(sorted(kinds.items())), len(o.results)


def forms():
    found = {}
    for row in CASES.values():
        for o in pir.read(row["program"]).block.walk():
            found.setdefault(o.name.removesuffix("_"), set()).add(form(o))
    return found


FORMS = forms()
# Operators with as many operands as there are values in a list, or none of what they may have.
FREE = {"builtin.combine", "builtin.split", "builtin.parameter", "cf.yield", "pd_op.if", "pd_op.while"}


def check_forms(module):
    for o in module.block.walk():
        known = FORMS.get(o.name.removesuffix("_"))
        if known is not None and o.name not in FREE:
            assert form(o) in known, f"{o.name}: {form(o)} is none of {known}"


def array(encoded):
    return np.frombuffer(base64.b64decode(encoded["data"]), encoded["dtype"]).reshape(encoded["shape"])


def at_once(module, feeds, parameters):
    return [y.numpy() for y in Values(module, parameters, {n: paddle.to_tensor(x) for n, x in feeds.items()}).run()]


def written_and_read(module):
    """A module as its file says."""
    return pir.read(json.loads(json.dumps(pir.write(module))))


def close(ours, theirs):
    assert [(a.dtype, a.shape) for a in ours] == [(b.dtype, b.shape) for b in theirs]
    for a, b in zip(ours, theirs, strict=True):
        if np.iscomplexobj(a):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        else:
            np.testing.assert_allclose(a.astype("float64"), b.astype("float64"), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [n for n in CASES if n not in AT_ONCE | {"ctc_loss"}])  # the loss has no operator
def test_a_program_that_was_read_is_written_again(name):
    row = CASES[name]
    feeds = {n: array(x) for n, x in row["feeds"].items()}
    program, _, outputs = program_of(pir.read(row["program"]), {})
    contents, _ = extracted("test", program._tracer, None, outputs)
    made, constants = translate(contents.program, contents.feeds, len(outputs), {})
    check_forms(made)
    close(at_once(written_and_read(made), feeds, constants), [array(x) for x in row["results"]])


SKIPPED = {
    "python_call", "custom_call", "transfer", "pack", "unpack", "bucket_start", "bucket_done", "bucket_poll",
    "rows_start", "rows_done", "send", "recv", "with_gradient", "given_gradient", "cond", "while_", "scan", "require",
    "write_text", "read_number", "sized", "context_attention", "context_attention_train", "context_attention_grad",
    "merge_attention", "write_pages", "paged_attention",
}  # fmt: skip


# What no operator says, as what gradients and losses of sequences are made of; and ops that have no samples of real
# numbers.
UNKNOWN = {
    "gcd", "lcm", "betainc", "linear_scan", "lu_permutation", "roi_max_index",
    "adaptive_sum", "adaptive_spread", "scaled_matmul",
    "window_spread", "conv_weight_grad", "roi_align_spread", "psroi_pool_spread", "rnn_grad", "linear_recurrence",
    "banded_logsumexp_scan", "banded_linear_scan",
    "real", "imag", "as_real", "irfft", "hfft", "detached",
}  # fmt: skip


def sampled(cls):
    """Samples of an op without random numbers, low precision, complex numbers or parts of gradients."""
    rng = np.random.default_rng(zlib.crc32(cls.name.encode()))
    for sample in cls.samples(rng):
        arrays = [x for x in sample.inputs if isinstance(x, np.ndarray)]
        if all(x.dtype.kind in "fib" and x.dtype.itemsize != 2 and x.size for x in arrays):
            yield sample


def translatable():
    for name, cls in REGISTRY.items():
        module = cls.__module__.rpartition(".")[2]
        ours = cls.__module__.startswith("umiak.ops.")
        if ours and module not in ("optimizer", "collective", "random") and not cls.random and name not in SKIPPED:
            yield name


@pytest.mark.parametrize("name", list(translatable()))
def test_an_op_means_the_same(name):
    cls = REGISTRY[name]
    met = 0
    for sample in list(sampled(cls))[:3]:
        op = cls(**sample.attrs)
        params = tuple(sample.params.get(k, p.default) for k, p in cls.param_fields.items())

        def call(*xs, op=op, params=params):
            return eager.apply(op, xs, params) if params else eager.apply(op, xs)

        inputs = [paddle.to_tensor(x) if isinstance(x, np.ndarray) else x for x in sample.inputs]
        results = call(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        metas = [Meta(tuple(x.shape), x.dtype) if isinstance(x, paddle.Tensor) else x for x in inputs]
        program = trace(call, metas)
        feeds = {f"x{i}": x.numpy() for i, x in enumerate(x for x in inputs if isinstance(x, paddle.Tensor))}
        try:
            made = translate(program, list(feeds), len(results), {})
        except Untranslatable:
            continue
        check_forms(made.module)
        close(at_once(written_and_read(made.module), feeds, made.parameters), [y.numpy() for y in results])
        met += 1
    assert (name in UNKNOWN) == (not met)


PADS = [((5,), {0: (1, 2)}), ((2, 3), {0: (0, 1), 1: (2, 0)}), ((2, 3, 4), {0: (1, 0), 2: (2, 1)}),
        ((2, 3, 4, 5), {2: (1, 1), 3: (-1, 2)}), ((2, 1, 2, 3, 4), {2: (0, 1), 4: (1, 0)})]  # fmt: skip


@pytest.mark.parametrize(("shape", "pads"), PADS)
def test_numbers_around_the_last_dims_need_no_operator_pad(shape, pads):
    # Predictors of the reference have oneDNN pad in float32, whose kernel of `pad` writes behind its memory.
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    lo, hi = ([pads.get(a, (0, 0))[i] for a in range(len(shape))] for i in range(2))
    program = trace(lambda x: F.pad(x, 1.5, lo=tuple(lo), hi=tuple(hi)), [Meta(shape, paddle.float32)])
    made = translate(program, ["x"], 1, {})
    names = [o.name for o in made.module.block.walk()]
    assert "pd_op.pad3d" in names
    assert "pd_op.pad" not in names
    kept = x[tuple(slice(max(-m, 0), n + min(k, 0)) for n, m, k in zip(shape, lo, hi))]
    wide = np.pad(kept, [(max(m, 0), max(k, 0)) for m, k in zip(lo, hi)], constant_values=1.5)
    close(at_once(written_and_read(made.module), {"x": x}, made.parameters), [wide])


def test_what_cannot_be_said_is_named_together():
    metas = [Meta((2,), paddle.int32), Meta((3, 3), paddle.float64)]
    powers = lambda x: F.cast(F.cast(x, dtype=paddle.float8_e8m0fnu), dtype=paddle.float64)  # noqa: E731
    program = trace(lambda n, x: (F.lu_permutation(n, 4), F.gcd(powers(x), 0.5)), metas)
    with pytest.raises(Untranslatable, match="none for lu_permutation, gcd, tensors of float8_e8m0fnu"):
        translate(program, ["n", "x"], 2, {})
