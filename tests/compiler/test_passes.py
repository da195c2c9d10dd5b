"""Passes by name: what a program computes stays, with fewer operations."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.programs import ops_of, same, tensors, traced
from umiak import ops as F
from umiak.autodiff import graph
from umiak.backends import base
from umiak.backends.cpu import providers, select_provider
from umiak.backends.cpu.providers import packed_matmul
from umiak.compiler.passes.attention import fuse_plain_attention
from umiak.compiler.passes.manager import INFERENCE, PassManager
from umiak.compiler.passes.registry import PASSES
from umiak.compiler.passes.subnormals import has_subnormals
from umiak.compiler.strips import StripConv, StripMatmul, to_strips
from umiak.core import array, eager
from umiak.core.dtype import convert
from umiak.ir.builder import Builder
from umiak.ir.meta import Meta
from umiak.ir.passes import remove_dead
from umiak.ir.tracer import Tracer
from umiak.ir.verifier import VerifyError
from umiak.ops.linalg import Matmul
from umiak.runtime.executor import Executor
from umiak.util import flags

F32 = convert("float32")


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture(autouse=True)
def verified():
    before = flags.get_flags("FLAGS_verify_passes")
    flags.set_flags({"FLAGS_verify_passes": True})
    yield
    flags.set_flags(before)


def after(program, *passes):
    PassManager(passes).run(program)
    return [o.name for o in program.ops]


def unchanged(program, xs, passes, tolerance=1e-5):
    """The names of the operations after the passes, by which results may not change."""
    expected = Executor(program.copy())(*xs)
    names = after(program, *passes)
    same(Executor(program)(*xs), expected, tolerance)
    return names


# --- leaving out


def test_identities(rng):
    (x,) = tensors(rng, (3, 4))

    def f(x):
        y = F.cast(F.mul(F.div(F.reshape(x, shape=(3, 4)), 1.0), 1), dtype=F32)
        y = F.sub(F.permute(F.permute(y, perm=(1, 0)), perm=(1, 0)), 0)
        return F.tanh(F.broadcast_to(F.pow(y, 1), shape=(3, 4)))

    assert unchanged(traced(f, x, dynamic=()), [x], ["identity_op_clean_pass"]) == ["tanh"]


def test_an_identity_that_is_an_output_stays(rng):
    (x,) = tensors(rng, (3, 4))
    program = traced(lambda x: (F.mul(x, 1), F.reshape(x, shape=(3, 4))), x, dynamic=())
    assert unchanged(program, [x], ["identity_op_clean_pass"]) == ["mul", "reshape"]


@pytest.mark.parametrize(
    "f",
    [lambda x: F.add(x, 0), lambda x: F.mul(x, 2), lambda x: F.permute(x, perm=(1, 0)), lambda x: F.div(1, x)],
    ids=["add 0 turns -0.0 into 0.0", "mul", "permute", "a quotient is not commutative"],
)
def test_what_is_no_identity_stays(rng, f):
    (x,) = tensors(rng, (3, 3))
    assert len(unchanged(traced(lambda x: F.tanh(f(x)), x, dynamic=()), [x], ["identity_op_clean_pass"])) == 2


def test_no_gradient_begins_to_flow(rng):
    """A value that is cut off from gradients is not exchanged for one that is not."""
    (x,) = tensors(rng, (3,))
    x.stop_gradient = False
    program = traced(lambda x: F.mul(F.mul(x, 1), x), x, dynamic=())
    program.ops[0].results[0].stop = True
    assert after(program, "identity_op_clean_pass") == ["mul", "mul"]


def test_equal_calls_and_dead_ones(rng):
    (x,) = tensors(rng, (3, 4))

    def f(x):
        F.exp(x)
        return F.add(F.tanh(x), F.tanh(x))

    passes = ["common_subexpression_elimination_pass", "dead_code_elimination_pass"]
    assert unchanged(traced(f, x), [x], passes) == ["tanh", "add"]


def test_what_stands_for_merged_values(rng):
    (x,) = tensors(rng, (3, 4))
    program = traced(lambda x: F.mul(F.tanh(x), F.tanh(x)), x)
    first, second, _ = (o.results[0] for o in program.ops)
    stands = PassManager(["common_subexpression_elimination_pass"]).run(program)
    assert stands == {id(second): first}


# --- constants


def test_numbers_are_folded(rng):
    (x,) = tensors(rng, (4,))

    def f(x):
        places = F.cumsum(F.full(2.0, dtype=F32, shape=(4,)), axis=0)
        return F.add(F.mul(x, F.sqrt(places)), F.full(1.0, dtype=F32, shape=(4,)))

    program = traced(f, x, dynamic=())
    assert unchanged(program, [x], ["constant_folding_pass"]) == ["mul", "full", "add"]
    (folded,) = program.captured.values()
    np.testing.assert_allclose(array.to_numpy(folded), np.sqrt([2, 4, 6, 8]), rtol=1e-6)


def test_constants_are_computed_while_something_else_is_recorded():
    program = traced(lambda: F.tanh(F.exp(F.full(0.0, dtype=F32, shape=(2,)))))
    with Tracer() as tracer:
        after(program, "constant_folding_pass")
    assert tracer.operations == []
    assert [o.name for o in program.ops] == ["tanh"]


def test_random_numbers_are_not_folded():
    program = traced(
        lambda: F.tanh(F.uniform_random(dtype=F32, shape=(4,), seed=3, offset=0, low=0.0, high=1.0)),
    )
    assert after(program, "constant_folding_pass") == ["uniform_random", "tanh"]


def test_captured_tensors_are_constants_where_a_scope_says_so(rng):
    x, w = tensors(rng, (2, 3), (3, 3))
    program = traced(lambda x: F.matmul(x, F.exp(w)), x, dynamic=())
    assert after(program.copy(), "constant_folding_pass") == ["exp", "matmul"], "w may change between runs"
    expected = Executor(program.copy())(x)
    manager = PassManager()
    manager.add_pass("constant_folding_pass", {"scope": lambda tensor: tensor})
    manager.run(program)
    assert [o.name for o in program.ops] == ["matmul"]
    same(Executor(program)(x), expected)


def test_what_a_program_writes_is_no_constant(rng):
    from umiak.core.inplace import assign

    (w,) = tensors(rng, (3,))
    program = traced(lambda: (F.mul(F.exp(w), 2), assign(w, F.full(0.0, dtype=F32, shape=(3,))))[0])
    manager = PassManager()
    manager.add_pass("constant_folding_pass", {"scope": lambda tensor: tensor})
    manager.run(program)
    assert "exp" in [o.name for o in program.ops]


def test_no_constant_of_unknown_size(rng):
    (x,) = tensors(rng, (6,))
    program = traced(lambda x: F.add(x, F.exp(F.full(1.0, dtype=F32, shape=tuple(x.shape)))), x)
    assert after(program, "constant_folding_pass") == ["full", "exp", "add"]


# --- attention


def scores(q, k, scale=None):
    s = F.matmul(q, F.permute(k, perm=(*range(q.ndim - 2), q.ndim - 1, q.ndim - 2)))
    return s if scale is None else F.mul(s, scale)


def attention(q, k, v, mask=None):
    s = scores(q, k, 0.25)
    return F.matmul(F.softmax(s if mask is None else F.add(s, mask), axis=q.ndim - 1), v)


PLAIN = {
    "scaled scores": lambda q, k, v: attention(q, k, v),
    "a flag instead of a permuted key": lambda q, k, v: F.matmul(
        F.softmax(F.matmul(q, k, transpose_y=True), axis=q.ndim - 1), v
    ),
    "a scaled query": lambda q, k, v: F.matmul(F.softmax(scores(F.mul(q, 0.5), k), axis=q.ndim - 1), v),
    "a quotient": lambda q, k, v: F.matmul(F.softmax(F.div(scores(q, k), 3.0), axis=q.ndim - 1), v),
    "a constant scale": lambda q, k, v: F.matmul(
        F.softmax(F.mul(F.full(0.5, dtype=F32, shape=()), scores(q, k)), axis=q.ndim - 1), v
    ),
}


@pytest.mark.parametrize("form", list(PLAIN))
@pytest.mark.parametrize("sizes", [(2, 3), (2,)], ids=["heads", "one head"])
@pytest.mark.parametrize("dynamic", [(), None], ids=["known sizes", "symbols"])
def test_attention(rng, form, sizes, dynamic):
    q, k, v = tensors(rng, (*sizes, 40, 8), (*sizes, 50, 8), (*sizes, 50, 6))
    program = traced(PLAIN[form], q, k, v, dynamic=dynamic)
    names = unchanged(program, [q, k, v], ["fused_flash_attn_pass"])
    assert names.count("attention") == 1
    assert not {"softmax", "matmul", "mul", "div"} & set(names)


@pytest.mark.parametrize("shape", [(40, 50), (2, 1, 1, 50), (2, 3, 40, 50)])
def test_attention_with_a_mask(rng, shape):
    q, k, v, mask = tensors(rng, (2, 3, 40, 8), (2, 3, 50, 8), (2, 3, 50, 6), shape)
    program = traced(attention, q, k, v, mask, dynamic=())
    assert "attention" in unchanged(program, [q, k, v, mask], ["fused_flash_attn_pass"])


def test_a_mask_of_one_head_per_batch_entry(rng):
    q, k, v, mask = tensors(rng, (2, 40, 8), (2, 50, 8), (2, 50, 6), (2, 40, 50))
    program = traced(attention, q, k, v, mask, dynamic=())
    assert "attention" in unchanged(program, [q, k, v, mask], ["fused_flash_attn_pass"])


def test_attention_takes_permuted_operands_as_they_lie(rng):
    """Heads that were brought to the front go back without a permutation."""
    xs = tensors(rng, (2, 40, 3, 8), (2, 40, 3, 8), (2, 40, 3, 8))

    def f(*xs):
        q, k, v = (F.permute(x, perm=(0, 2, 1, 3)) for x in xs)
        return F.reshape(F.permute(attention(q, k, v), perm=(0, 2, 1, 3)), shape=(2, 40, 24))

    passes = ["fused_flash_attn_pass", "identity_op_clean_pass"]
    assert unchanged(traced(f, *xs, dynamic=()), xs, passes) == ["attention", "reshape"]


def test_gradients_of_fused_attention(rng):
    xs = tensors(rng, (2, 3, 40, 8), (2, 3, 40, 8), (2, 3, 40, 8))

    def differentiated(fused):
        program = traced(lambda q, k, v: F.mean(F.tanh(attention(q, k, v)), axes=(0, 1, 2, 3)), *xs, dynamic=())
        if fused:
            assert fuse_plain_attention(program) == 1
            assert fuse_plain_attention(program) == 0
        program.outputs = [*program.outputs, *graph.backward(program, program.inputs)]
        remove_dead(program)
        assert ("attention_grad" in [o.name for o in program.ops]) == fused
        return Executor(program)(*xs)

    same(differentiated(True), differentiated(False))


@pytest.mark.parametrize(
    "f",
    [
        lambda q, k, v: (lambda p: (F.matmul(p, v), p))(F.softmax(scores(q, k), axis=3)),
        lambda q, k, v: F.matmul(F.softmax(scores(q, k), axis=2), v),
        lambda q, k, v: F.matmul(F.softmax(F.mul(scores(q, k), F.sum(q, axes=(3,), keepdim=True)), axis=3), v),
        lambda q, k, v: F.matmul(F.softmax(scores(q, k), axis=3), v, transpose_x=True),
        lambda q, k, v: F.matmul(F.softmax(F.matmul(q, F.permute(k, perm=(0, 1, 3, 2))), axis=3), F.sum(v, axes=(0,))),
    ],
    ids=["weights are a result", "another axis", "a scale that is a tensor", "weights transposed", "fewer axes"],
)
def test_what_is_no_attention(rng, f):
    xs = tensors(rng, (2, 3, 40, 8), (2, 3, 40, 8), (2, 3, 40, 8))
    assert "attention" not in unchanged(traced(f, *xs, dynamic=()), xs, ["fused_flash_attn_pass"])


def test_no_fusion_by_itself_of_masks_and_small_scores(rng):
    """What a mask hides as a whole gives NaN spelt out, and few scores are as quick in pieces."""
    q, k, v, mask = tensors(rng, (2, 3, 40, 8), (2, 3, 40, 8), (2, 3, 40, 8), (40, 40))
    assert fuse_plain_attention(traced(attention, q, k, v, mask, dynamic=())) == 0
    small = tensors(rng, (2, 3, 8, 8), (2, 3, 8, 8), (2, 3, 8, 8))
    assert fuse_plain_attention(traced(attention, *small, dynamic=())) == 0
    assert fuse_plain_attention(traced(attention, q, k, v, dynamic=())) == 1


def test_no_fusion_across_a_cut_of_gradients(rng):
    xs = tensors(rng, (2, 3, 40, 8), (2, 3, 40, 8), (2, 3, 40, 8))
    program = traced(attention, *xs, dynamic=())
    next(o for o in program.ops if o.name == "softmax").results[0].stop = True
    assert fuse_plain_attention(program) == 0


# --- norms


def moments(x):
    mean = F.mean(x, axes=(1,), keepdim=True)
    centred = F.sub(x, mean)
    return centred, F.mean(F.mul(centred, centred), axes=(1,), keepdim=True)


def spelt_layer_norm(x, w, b):
    centred, var = moments(x)
    return F.add(F.mul(F.div(centred, F.sqrt(F.add(var, 1e-5))), w), b)


def layer_norm_of_var(x, w, b):
    centred = F.sub(x, F.mean(x, axes=(1,), keepdim=True))
    var = F.var(x, axes=(1,), keepdim=True, correction=0.0)
    return F.add(b, F.mul(w, F.mul(F.rsqrt(F.add(1e-5, var)), centred)))


def spelt_rms_norm(x, w, b):
    squares = F.mean(F.pow(x, 2), axes=(1,), keepdim=True)
    return F.mul(F.mul(x, F.rsqrt(F.add(squares, 1e-6))), w)


NORMS = {
    "layer norm": (spelt_layer_norm, ["layer_norm"]),
    "layer norm by the variance": (layer_norm_of_var, ["layer_norm"]),
    "RMS norm": (spelt_rms_norm, ["rms_norm"]),
    "without weight": (lambda x, w, b: F.div(moments(x)[0], F.sqrt(F.add(moments(x)[1], 1e-5))), ["layer_norm"]),
    "another weight": (
        lambda x, w, b: F.mul(spelt_rms_norm(x, w, b), F.sum(x, axes=(1,), keepdim=True)),
        ["rms_norm", "sum", "mul"],
    ),
}


@pytest.mark.parametrize("form", list(NORMS))
@pytest.mark.parametrize("dynamic", [(), None], ids=["known sizes", "symbols"])
def test_norms(rng, form, dynamic):
    f, expected = NORMS[form]
    xs = tensors(rng, (6, 8), (8,), (8,))
    assert unchanged(traced(f, *xs, dynamic=dynamic), xs, ["add_norm_fuse_pass"]) == expected


@pytest.mark.parametrize(
    "f",
    [
        lambda x: F.div(x, F.sqrt(F.mean(F.square(x), axes=(1,), keepdim=True))),
        lambda x: F.div(x, F.sqrt(F.add(F.mean(F.square(x), axes=(0,), keepdim=True), 1e-5))),
        lambda x: F.div(x, F.sqrt(F.add(F.mean(F.square(F.exp(x)), axes=(1,), keepdim=True), 1e-5))),
        lambda x: F.div(F.sqrt(F.add(F.mean(F.square(x), axes=(1,), keepdim=True), 1e-5)), x),
        lambda x: F.div(
            F.sub(x, F.mean(x, axes=(1,), keepdim=True)),
            F.sqrt(F.add(F.var(x, axes=(1,), keepdim=True, correction=1.0), 1e-5)),
        ),
    ],
    ids=["no eps", "the first axis", "squares of something else", "upside down", "unbiased"],
)
def test_what_is_no_norm(rng, f):
    (x,) = tensors(rng, (6, 8))
    names = unchanged(traced(f, x, dynamic=()), [x], ["add_norm_fuse_pass"])
    assert not {"layer_norm", "rms_norm"} & set(names)


# --- convolution, precision


def normalised(x, w, b, mean, var, gamma, beta):
    geometry = {"groups": 1, "strides": (1, 1), "pads_lo": (0, 0), "pads_hi": (0, 0), "dilations": (1, 1)}
    y = F.add(F.conv(x, w, nd=2, **geometry), F.reshape(b, shape=(4, 1, 1)))
    return F.relu(F.batch_norm_infer(y, mean, var, gamma, beta, axis=1, eps=1e-5))


def test_batch_norm_goes_into_the_kernels(rng):
    x, *weights = tensors(rng, (2, 3, 6, 6), (4, 3, 3, 3), *[(4,)] * 5)
    weights[3] = F.exp(weights[3])  # variances
    program = traced(lambda x: normalised(x, *weights), x, dynamic=())
    expected = Executor(program.copy())(x)
    manager = PassManager(["conv2d_bn_fuse_pass"])
    manager.add_pass("constant_folding_pass", {"scope": lambda tensor: tensor})
    manager.run(program)
    assert [o.name for o in program.ops] == ["conv", "add", "relu"]
    same(Executor(program)(x), expected)


def test_batch_norm_goes_into_the_kernels_of_transposed_convolutions(rng):
    x, w, *vectors = tensors(rng, (2, 3, 5, 5), (3, 4, 2, 2), *[(4,)] * 5)
    vectors[2] = F.exp(vectors[2])  # variances
    geometry = {
        "groups": 1,
        "strides": (2, 2),
        "pads_lo": (0, 0),
        "pads_hi": (0, 0),
        "dilations": (1, 1),
        "extra": (0, 0),
    }

    def f(x):
        y = F.add(F.conv_transpose(x, w, nd=2, **geometry), F.reshape(vectors[0], shape=(4, 1, 1)))
        return F.batch_norm_infer(y, *vectors[1:], axis=1, eps=1e-5)

    program = traced(f, x, dynamic=())
    assert set(unchanged(program, [x], ["conv2d_bn_fuse_pass"])).isdisjoint({"batch_norm_infer"})


SCALES = {
    "a number": 1.5,
    "one element": (1,),
    "of images": (1, 1, 1, 1),
    "per channel": (4, 1, 1),
    "with a batch": (1, 4, 1, 1),
}


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("kind", SCALES)
def test_constants_that_scale_and_shift_go_into_the_kernels(rng, kind, groups):
    scale = SCALES[kind]
    x, w, b = tensors(rng, (2, 4, 6, 6), (4, 4 // groups, 3, 3), (4,))
    by, more = (scale, scale) if type(scale) is float else tensors(rng, scale, scale)

    def f(x):
        y = F.add(convolved(x, w, groups=groups), F.reshape(b, shape=(4, 1, 1)))
        return F.relu(F.add(F.mul(by, y), more))

    program = traced(f, x, dynamic=(0,))
    expected = Executor(program.copy())(x)
    manager = PassManager(["conv2d_affine_fuse_pass"])
    manager.add_pass("constant_folding_pass", {"scope": lambda tensor: tensor})
    manager.run(program)
    assert [o.name for o in program.ops] == ["conv", "add", "relu"]
    same(Executor(program)(x), expected)


def test_what_scales_is_no_constant_or_no_vector(rng):
    x, w, b, s = tensors(rng, (2, 4, 6, 6), (4, 4, 3, 3), (4,), (1, 4, 6, 1))
    fixed = ["conv2d_affine_fuse_pass"]
    assert "mul" in unchanged(traced(lambda x: F.mul(convolved(x, w), s), x, dynamic=()), [x], fixed)
    assert "mul" in unchanged(
        traced(lambda x, b: F.mul(convolved(x, w), F.reshape(b, shape=(4, 1, 1))), x, b), [x, b], fixed
    )
    assert "mul" in unchanged(traced(lambda x, w: F.mul(convolved(x, w), 2.0), x, w), [x, w], fixed)


def test_constants_of_one_element_are_numbers(rng):
    x, one, two = tensors(rng, (3, 4), (1,), (1, 1, 1))

    def f(x):
        y = F.sub(F.add(one, x), one)
        return F.div(F.sub(one, y), one), F.mul(x, two)  # the last has another rank

    program = traced(f, x, dynamic=())
    expected = Executor(program.copy())(x)
    manager = PassManager()
    manager.add_pass("constant_folding_pass", {"scope": lambda tensor: tensor})
    manager.run(program)
    same(Executor(program)(x), expected, 0)
    assert [sum(type(v) is float for v in o.operands) for o in program.ops] == [1, 1, 0, 1, 0]


def convolved(x, w, stride=1, groups=1):
    pads = tuple((k - 1) // 2 for k in w.shape[2:])
    return F.conv(x, w, nd=2, groups=groups, strides=(stride,) * 2, pads_lo=pads, pads_hi=pads, dilations=(1, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_lose_their_subnormal_numbers(rng, dtype):
    """Those of products; biases, what else is multiplied, and what the caller holds, stay as they are."""
    kernels, matrix, bias, factor = (
        np.where(rng.random(shape) < 0.3, np.finfo(dtype).smallest_subnormal, rng.standard_normal(shape)).astype(dtype)
        for shape in ((8, 4, 3, 3), (8, 8), (8,), (5, 8))
    )
    x = F.full(1.0, dtype=convert(np.dtype(dtype).name), shape=(2, 4, 5, 5))
    weights = [array.from_numpy(w) for w in (kernels, matrix, bias, factor)]

    def f(x):
        k, m, b, s = weights
        y = F.permute(convolved(x, k), perm=(0, 2, 3, 1))
        return F.mul(F.linear(F.matmul(y, m), m, b), s)

    program = traced(f, x)
    expected = Executor(program.copy())(x)
    manager = PassManager()
    manager.add_pass("flush_subnormals_pass", {"scope": lambda tensor: tensor})
    manager.run(program)
    same(Executor(program)(x), expected, 1e-6)

    def read(o):
        return [array.to_numpy(program.captured[n]) for n, v in program.constants.items() if v in o.values]

    for o in program.ops:
        for w in read(o):
            assert has_subnormals(w) == (w.ndim == 1 or o.name == "mul"), o.name
    assert all(has_subnormals(array.to_numpy(w)) for w in weights)
    before = str(program)
    PassManager(["flush_subnormals_pass"]).run(program)
    assert str(program) == before, "nothing without values"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_subnormal_numbers_are_found(dtype):
    info = np.finfo(dtype)
    normal = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, info.tiny, -info.tiny, info.max], dtype)
    assert not has_subnormals(normal) and not has_subnormals(normal[:0])
    for x in (info.smallest_subnormal, -info.smallest_subnormal, np.nextafter(info.tiny, dtype(0))):
        assert has_subnormals(np.array(x, dtype)) and has_subnormals(np.r_[np.tile(normal, 1 << 14), dtype(x)][::-1])


@pytest.mark.skipif(providers.refusal("onednn") is not None, reason="requires oneDNN")
@pytest.mark.parametrize("dynamic", [(), (0,), (2, 3)], ids=["known sizes", "batch", "space"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_kernels_that_do_not_change_are_laid_out_once(rng, dynamic, dtype):
    """In strips are those that the library reads so, in one group; Winograd's algorithm does too."""
    if dtype == "bfloat16" and not select_provider.native_bfloat16():
        pytest.skip("requires a processor that multiplies bfloat16")
    shapes = (
        (16, 3, 3, 3),
        (32, 16, 1, 1),
        (32, 32, 3, 3),
        (48, 32, 3, 3),
        (48, 1, 5, 5),
        (16, 48, 5, 3),
        (24, 16, 1, 1),
    )
    x, *weights = (F.cast(v, dtype=convert(dtype)) for v in tensors(rng, (2, 3, 12, 10), *shapes))
    strides, groups = (2, 1, 2, 1, 1, 1, 1), (1, 1, 1, 1, 48, 1, 1)
    tolerance, first = (1e-4, 0) if dtype == "float32" else (2e-2, 1)

    def f(x):
        for w, s, g in zip(weights, strides, groups, strict=True):
            x = F.maximum(convolved(x, w, s, g), 0.0)
        return x

    program = traced(f, x, dynamic=dynamic)
    expected = Executor(program.copy())(x)
    manager = PassManager()
    manager.add_pass("weight_packing_pass", {"scope": lambda tensor: tensor})
    manager.run(program)
    strips = ["strip_conv" if g == 1 else "conv" for g in groups]
    names = [o.name for o in program.ops if "conv" in o.name]
    # The first one of bfloat16 has too few channels for pairs of them.
    assert names[first:] == strips[first:]
    packed = Executor(program)
    same(packed(x), expected, tolerance)
    launched = packed._lowered["cpu"].calls.steps_ops
    assert sum(type(getattr(o, "inner", None)) is StripConv for o in launched) == names.count("strip_conv"), (
        "and its kernel takes them"
    )
    # A library that is switched off later leaves the launch to others, which take kernels as they are.
    before = flags.get_flags("FLAGS_cpu_providers")
    flags.set_flags({"FLAGS_cpu_providers": "blas,plain"})
    try:
        same(Executor(program)(x), expected, tolerance)
    finally:
        flags.set_flags(before)


@pytest.mark.skipif(providers.refusal("onednn") is not None, reason="requires oneDNN")
@pytest.mark.parametrize("rows", [1, 40], ids=["one row", "many rows"])
def test_matrices_that_do_not_change_are_laid_out_once(rng, rows):
    """Of many rows those with many columns alone."""
    if not select_provider.native_bfloat16():
        pytest.skip("requires a processor that multiplies bfloat16")
    x, *rest = (F.cast(v, dtype=convert("bfloat16")) for v in tensors(rng, (rows, 64), (64, 64), (64,), (1000, 64)))
    w, bias, v = rest

    def f(x):
        return F.matmul(F.relu(F.linear(x, F.mul(w, 0.125), bias)), v, transpose_y=True)

    program = traced(f, x, dynamic=(0,))
    expected = Executor(program.copy())(x)
    manager = PassManager()
    for name in ("constant_folding_pass", "weight_packing_pass"):
        manager.add_pass(name, {"scope": lambda tensor: tensor})
    manager.run(program)
    names = [o.name for o in program.ops if o.name in ("linear", "matmul", "strip_matmul")]
    assert names == ["strip_matmul" if rows == 1 else "linear", "strip_matmul"]
    packed = Executor(program)
    same(packed(x), expected, 2e-2)
    launched = [o if type(o) is StripMatmul else getattr(o, "inner", o) for o in ops_of(packed)]
    assert sum(type(o) is StripMatmul for o in launched) == names.count("strip_matmul"), "and its kernel takes them"
    before = flags.get_flags("FLAGS_cpu_providers")
    flags.set_flags({"FLAGS_cpu_providers": "blas,plain"})
    try:
        same(Executor(program)(x), expected, 2e-2)
    finally:
        flags.set_flags(before)


@pytest.fixture
def packs_float32():
    if providers.refusal("onednn"):
        pytest.skip(providers.refusal("onednn"))
    packed_matmul.choose(True)
    if not packed_matmul.available():
        pytest.skip("requires AVX2")
    base.clear_plans()
    yield
    packed_matmul.choose()
    base.clear_plans()


@pytest.mark.parametrize("rows", [1, 40], ids=["one row", "many rows"])
def test_matrices_of_float32_are_laid_out_once_unless_others_read_them(rng, packs_float32, rows):
    x, w, bias, v, tied, small = tensors(rng, (rows, 128), (128, 130), (130,), (256, 130), (256, 128), (130, 3))

    def f(x):
        y = F.relu(F.linear(x, F.mul(w, 0.125), bias))
        return F.matmul(y, v, transpose_y=True), F.matmul(x, tied, transpose_y=True), F.exp(tied), F.matmul(y, small)

    program = traced(f, x, dynamic=(0,))
    expected = Executor(program.copy())(x)
    manager = PassManager()
    for name in ("constant_folding_pass", "weight_packing_pass"):
        manager.add_pass(name, {"scope": lambda tensor: tensor})
    manager.run(program)
    names = [o.name for o in program.ops if o.name in ("linear", "matmul", "strip_matmul")]
    assert names == ["strip_matmul", "strip_matmul", "matmul", "matmul"]
    packed = Executor(program)
    same(packed(x), expected)
    launched = [o for o in ops_of(packed) if StripMatmul in (type(o), type(getattr(o, "inner", None)))]
    assert [getattr(o, "steps", ()) for o in launched] == [("bias", "relu"), ()], "and its kernel does what follows"
    before = flags.get_flags("FLAGS_cpu_providers")
    flags.set_flags({"FLAGS_cpu_providers": "blas,plain"})
    try:
        same(Executor(program)(x), expected)
    finally:
        flags.set_flags(before)


def test_matrices_of_many_megabytes_are_laid_out_once_too(rng, packs_float32):
    """More than other constants may have: the matrix that the strips are made of is not kept."""
    x, w = tensors(rng, (3, 2080), (2080, 2064))
    program = traced(lambda x: F.matmul(x, w), x, dynamic=(0,))
    expected = Executor(program.copy())(x)
    manager = PassManager()
    manager.add_pass("weight_packing_pass", {"scope": lambda tensor: tensor})
    manager.run(program)
    assert [o.name for o in program.ops] == ["strip_matmul"]
    assert list(program.captured.values())[-1].is_contiguous()
    packed = Executor(program)
    same(packed(x), expected, 1e-4)
    assert [type(o) for o in ops_of(packed)] == [StripMatmul]


@pytest.mark.parametrize("columns", [32, 40])
def test_strips_with_gaps_are_multiplied_by_plain_operations(rng, columns):
    x, w = tensors(rng, (3, 24), (24, columns))
    strips = to_strips(F.permute(w, perm=(1, 0)), 16, 1)
    gaps = F.permute(F.copy(F.permute(strips, perm=(1, 0, 2, 3))), perm=(1, 0, 2, 3))
    assert not gaps.is_contiguous()
    op = StripMatmul(inner=Matmul(), channels=columns, depth=24, strip=(16, 1))
    same((eager.apply(op, (x, gaps)),), (F.matmul(x, w),))


def test_kernels_that_may_change_are_not_packed(rng):
    x, w, v = tensors(rng, (1, 16, 4, 4), (16, 16, 1, 1), (32, 16, 1, 1))
    program = traced(lambda x: convolved(convolved(x, w), v), x, dynamic=())
    PassManager(["weight_packing_pass"]).run(program)
    assert [o.name for o in program.ops] == ["conv", "conv"]


def test_a_convolution_that_others_read_keeps_its_kernels(rng):
    x, *weights = tensors(rng, (2, 3, 6, 6), (4, 3, 3, 3), *[(4,)] * 5)

    def f(x):
        y = F.conv(x, weights[0], nd=2, groups=1, strides=(1, 1), pads_lo=(0, 0), pads_hi=(0, 0), dilations=(1, 1))
        return F.batch_norm_infer(y, weights[1], F.exp(weights[2]), None, None, axis=1, eps=1e-5), F.tanh(y)

    assert "batch_norm_infer" in unchanged(traced(f, x, dynamic=()), [x], ["conv2d_bn_fuse_pass"])


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_mixed_precision(rng, level):
    xs = tensors(rng, (2, 3, 40, 8), (2, 3, 40, 8), (2, 3, 40, 8))
    program = traced(lambda q, k, v: (attention(q, k, v), F.exp(q)), *xs, dynamic=())
    expected = Executor(program.copy())(*xs)
    manager = PassManager()
    manager.add_pass("auto_mixed_precision_pass", {"dtype": "bfloat16", "level": level})
    manager.run(program)
    types = {o.name: o.results[0].meta.dtype.name for o in program.ops if o.name in ("matmul", "softmax", "exp")}
    assert types == {"matmul": "bfloat16", "softmax": "float32", "exp": "float32"}
    assert [y.meta.dtype for y in program.outputs] == [F32, F32]
    same(Executor(program)(*xs), expected, 2e-2)


def test_mixed_precision_of_chosen_ops(rng):
    (x,) = tensors(rng, (4, 4))
    program = traced(lambda x: F.matmul(F.exp(x), x), x, dynamic=())
    manager = PassManager()
    manager.add_pass("auto_mixed_precision_pass", {"custom_black_list": ["matmul"], "custom_white_list": ["exp"]})
    manager.run(program)
    types = {o.name: o.results[0].meta.dtype.name for o in program.ops if o.name in ("matmul", "exp")}
    assert types == {"matmul": "float32", "exp": "bfloat16"}


@pytest.mark.parametrize("constants", [False, True])
def test_mixed_precision_of_what_constants_join(rng, constants):
    """A bias does not make a result wide where it may not change; what depends on an input does."""
    x, w, bias, gain = tensors(rng, (4, 8), (8, 8), (8,), (8,))

    def f(x):
        y = F.relu(F.add(F.matmul(x, w), F.exp(bias)))
        return F.add(F.matmul(F.mul(y, gain), w), F.sin(x))

    program = traced(f, x, dynamic=())
    expected = Executor(program.copy())(x)
    manager = PassManager()
    manager.add_pass("auto_mixed_precision_pass", {"scope": lambda tensor: tensor} if constants else {})
    manager.run(program)
    types = [o.results[0].meta.dtype.name for o in program.ops if o.name in ("add", "relu", "mul", "exp")]
    inner = "bfloat16" if constants else "float32"
    assert types == ["float32", inner, inner, inner, "float32"]
    same(Executor(program)(x), expected, 3e-2)


def test_mixed_precision_refuses_other_types():
    program = traced(lambda: F.full(1.0, dtype=F32, shape=()))
    manager = PassManager()
    manager.add_pass("auto_mixed_precision_pass", {"dtype": "float64"})
    with pytest.raises(ValueError, match="float16 or bfloat16"):
        manager.run(program)


# --- the list of passes


def test_a_pipeline_and_what_is_deleted_from_it(rng):
    xs = tensors(rng, (6, 8), (8,), (8,))
    manager = PassManager(INFERENCE)
    manager.delete_pass("add_norm_fuse_pass")
    assert "add_norm_fuse_pass" not in manager.passes()
    program = traced(spelt_layer_norm, *xs)
    manager.run(program)
    assert "layer_norm" not in [o.name for o in program.ops]
    with pytest.raises(ValueError, match=r"\[delete_pass\]"):
        manager.delete_pass("add_norm_fuse_pass")


@pytest.mark.parametrize("name", sorted(PASSES))
def test_passes_reach_a_fixpoint_and_say_what_they_do(rng, name):
    xs = tensors(rng, (2, 3, 40, 8), (2, 3, 40, 8), (2, 3, 40, 8))
    program = traced(attention, *xs)
    PassManager([name]).run(program)
    once = program.canonical()
    PassManager([name]).run(program)
    assert program.canonical() == once
    assert PASSES[name].summary.endswith(".")


def test_names_and_options_are_checked():
    manager = PassManager()
    with pytest.raises(ValueError, match="Did you mean dead_code_elimination_pass"):
        manager.add_pass("dead_code_elimination")
    with pytest.raises(ValueError, match="options that dead_code_elimination_pass has: none"):
        manager.add_pass("dead_code_elimination_pass", {"level": 3})


def test_a_pass_that_breaks_a_program_is_named(monkeypatch):
    def broken(program):
        program.ops.pop(0)

    monkeypatch.setitem(PASSES, "broken_pass", PASSES["dead_code_elimination_pass"]._replace(
        name="broken_pass", run=broken
    ))  # fmt: skip
    program = traced(lambda: F.tanh(F.full(1.0, dtype=F32, shape=())))
    with pytest.raises(VerifyError, match="after broken_pass"):
        PassManager(["broken_pass"]).run(program)


def test_printing(capsys):
    builder = Builder()
    x = builder.input(Meta((2,), F32))
    builder.append(F.Tanh(), [x])
    program = builder.finish([x])
    manager = PassManager(["dead_code_elimination_pass"])
    manager.printing = manager.statistics = True
    manager.run(program)
    out = capsys.readouterr().out
    before, behind = out.split("; ---- after dead_code_elimination_pass")
    assert "tanh" in before
    assert "tanh" not in behind
    assert "; dead_code_elimination_pass: 1 -> 0 operations" in behind


@pytest.mark.parametrize("name", ["conv2d_bn_fuse_pass", "conv2d_affine_fuse_pass"])
def test_vectors_are_no_images(rng, name):
    """Sums and products of values without channels are left as they are."""
    x = array.from_numpy(rng.standard_normal(4).astype("float32"))
    program = traced(lambda x: F.add(F.mul(F.add(x, F.reshape(x, shape=(4,))), x), F.reshape(x, shape=(4,))), x)
    assert "add" in unchanged(program, [x], [name])
