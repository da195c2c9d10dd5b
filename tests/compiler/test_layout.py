"""Images with channels last from one convolution of a program to the next: values, and what is moved about."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from umiak import ops as F
from umiak.autodiff import graph
from umiak.backends.cpu import providers, select_provider
from umiak.compiler.fused import Fused
from umiak.compiler.layout import ChannelsLast, Relayout
from umiak.core import array, dtype
from umiak.ir.tracer import Tracer
from umiak.runtime.executor import Executor
from umiak.util import flags


@pytest.fixture(autouse=True)
def onednn():
    if providers.refusal("onednn"):
        pytest.skip(providers.refusal("onednn"))
    yield
    flags.set_flags({"FLAGS_cpu_providers": "onednn,blas,plain"})


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def tensors(rng, *shapes):
    return [array.from_numpy(rng.standard_normal(s).astype(np.float32)) for s in shapes]


def traced(function, *examples, dynamic=(), gradient=False):
    with Tracer() as tracer:
        made = function(*(tracer.example(x, dynamic) for x in examples))
        program = tracer.finish(made if isinstance(made, tuple) else (made,))
    if gradient:
        program.outputs = [*program.outputs, *graph.backward(program, program.inputs)]
    return program


def conv(x, w, stride=1, pad=None, groups=1, dilation=1):
    nd = x.ndim - 2
    pad = dilation * (w.shape[2] - 1) // 2 if pad is None else pad
    strides, pads, dilations = ((n,) * nd for n in (stride, pad, dilation))
    return F.conv(x, w, nd=nd, groups=groups, strides=strides, pads_lo=pads, pads_hi=pads, dilations=dilations)


def check(function, *xs, gradient=False, dynamic=(), tolerance=2e-5):
    """The fused program against its operations one by one; the ops that it calls."""
    program = traced(function, *xs, dynamic=dynamic, gradient=gradient)
    executor = Executor(program)
    found = executor(*xs)
    plain = [array.from_numpy(array.to_numpy(x)) for x in xs]
    for x in plain:
        x.stop_gradient = not x.dtype.is_floating
    single = Executor(program)
    expected = single(*plain)
    assert list(single._lowered) == [None]
    for a, b in zip(found, expected, strict=True):
        assert a.is_contiguous()
        b = array.to_numpy(b)
        np.testing.assert_allclose(
            array.to_numpy(a), b, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(b).max(initial=0)))
        )
    return executor._lowered["cpu"].calls.steps_ops


def moved(ops):
    """How often images are transposed, by a copy or by a kernel of its own."""
    return sum(type(o) is Relayout for o in ops)


def kinds(ops):
    return Counter(o.inner.name for o in ops if type(o) is ChannelsLast)


def block(x, w1, w2, a, b):
    """Two convolutions with normalisation, and what came in."""
    h = F.relu(F.batch_norm(conv(x, w1), a, b, axis=1, eps=1e-5)[0])
    h = F.batch_norm(conv(h, w2), a, b, axis=1, eps=1e-5)[0]
    return F.relu(F.add(h, x))


# --- what a network does ---------------------------------------------------------------------------------------------


def test_nothing_is_transposed_between_convolutions(rng):
    def network(x, w0, w1, w2, a, b):
        h = conv(x, w0)
        for _ in range(3):
            h = block(h, w1, w2, a, b)
        return F.mean(h, axes=(2, 3))

    ops = check(network, *tensors(rng, (2, 3, 6, 5), (16, 3, 3, 3), (16, 16, 3, 3), (16, 16, 3, 3), (16,), (16,)))
    assert kinds(ops) == {"conv": 7}
    assert moved(ops) == 0
    # The images that come in are read by the first convolution as they are.
    assert [o.name for o in ops].count("permute") == 1


def test_forward_and_backward(rng):
    def loss(x, w0, w1, w2, a, b):
        h = block(conv(x, w0, stride=2), w1, w2, a, b)
        return F.sum(F.square(F.mean(h, axes=(2, 3))), axes=(0, 1))

    xs = tensors(rng, (2, 3, 8, 8), (16, 3, 3, 3), (16, 16, 3, 3), (16, 16, 3, 3), (16,), (16,))
    ops = check(loss, *xs, gradient=True, tolerance=2e-4)
    assert kinds(ops) == {"conv": 3, "conv_input_grad": 3, "conv_weight_grad": 3}
    assert moved(ops) == 1  # the gradient of what came in


def test_a_normalisation_and_what_follows_it_are_one_kernel_either_way(rng):
    """Statistics, normalisation, residual and relu; the gradient of relu, its sums, and what they make of it."""

    def residual(x, w0, w1, w2, a, b):
        h = block(F.relu(F.batch_norm(conv(x, w0), a, b, axis=1, eps=1e-5)[0]), w1, w2, a, b)
        return F.sum(F.mul(h, h), axes=(0, 1, 2, 3))

    xs = tensors(rng, (2, 16, 9, 9), (32, 16, 3, 3), (32, 32, 3, 3), (32, 32, 3, 3), (32,), (32,))
    ops = check(residual, *xs, gradient=True, tolerance=2e-4)
    normalising = [o for o in ops if type(o) is Fused and "sqrt" in str(o)]
    assert len(normalising) == 3
    assert all("maximum" in str(o).split("sqrt")[1] for o in normalising)  # relu behind what was normalised
    # Beside them only the gradients of the first two, since that of the last shares its kernel.
    assert len([o for o in ops if type(o) is Fused]) == 5


def test_bfloat16_between_casts(rng):
    """As mixed precision has it: products in bfloat16, what is between them in float32."""

    def low(x):
        return F.cast(x, dtype=dtype.bfloat16)

    def loss(x, w1, w2):
        h = F.relu(F.cast(conv(low(x), low(w1)), dtype=dtype.float32))
        return F.sum(F.cast(conv(low(h), low(w2)), dtype=dtype.float32), axes=(1, 2, 3))

    xs = tensors(rng, (2, 16, 9, 9), (16, 16, 3, 3), (32, 16, 3, 3))
    wanted = {"conv": 2, "conv_input_grad": 2, "conv_weight_grad": 2} if select_provider.native_bfloat16() else {}
    assert kinds(check(loss, *xs, gradient=True, tolerance=3e-2)) == wanted


def test_sizes_that_are_symbols(rng):
    xs = tensors(rng, (2, 3, 6, 5), (16, 3, 3, 3), (16, 16, 3, 3), (16, 16, 3, 3), (16,), (16,))
    program = traced(lambda x, w0, *v: block(conv(x, w0), *v), *xs, dynamic=None)
    executor = Executor(program)
    assert kinds_of(executor, *xs) == {"conv": 3}
    more = [*tensors(rng, (3, 3, 4, 9)), *xs[1:]]
    expected = block(conv(more[0], more[1]), *more[2:])
    np.testing.assert_allclose(array.to_numpy(executor(*more)[0]), array.to_numpy(expected), rtol=1e-4, atol=1e-4)


def kinds_of(executor, *xs):
    executor(*xs)
    return kinds(executor._lowered["cpu"].calls.steps_ops)


def test_maxima_over_windows_between(rng):
    windows = {"kernel": (3, 3), "strides": (2, 2), "pads_lo": (1, 1), "pads_hi": (1, 1), "dilations": (1, 1)}

    def function(x, w0, w1):
        h = F.relu(conv(x, w0))
        y, where = F.max_pool(h, n=2, dtype=dtype.int64, **windows)
        return conv(F.add(y, 1.0), w1), where

    ops = check(function, *tensors(rng, (2, 3, 8, 7), (16, 3, 3, 3), (8, 16, 3, 3)))
    assert kinds(ops) == {"conv": 2}


# --- what is left alone ----------------------------------------------------------------------------------------------


def test_one_convolution_alone_stays_as_it_is(rng):
    ops = check(lambda x, w: F.relu(conv(x, w)), *tensors(rng, (2, 3, 6, 6), (16, 3, 3, 3)))
    assert not kinds(ops)


def test_other_types_stay_as_they_are(rng):
    xs = [F.cast(x, dtype=dtype.float64) for x in tensors(rng, (2, 3, 6, 6), (16, 3, 3, 3), (4, 16, 3, 3))]
    assert not kinds(check(lambda x, v, w: conv(F.relu(conv(x, v)), w), *xs))


def test_without_the_library(rng):
    flags.set_flags({"FLAGS_cpu_providers": "plain"})
    xs = tensors(rng, (2, 3, 6, 6), (16, 3, 3, 3), (4, 16, 3, 3))
    assert not kinds(check(lambda x, v, w: conv(F.relu(conv(x, v)), w), *xs))


def test_a_library_that_is_switched_off_later(rng):
    xs = tensors(rng, (2, 3, 6, 6), (16, 3, 3, 3), (4, 16, 3, 3))
    executor = Executor(traced(lambda x, v, w: conv(F.relu(conv(x, v)), w), *xs))
    expected = array.to_numpy(executor(*xs)[0])
    ops = executor._lowered["cpu"].calls.steps_ops
    assert kinds(ops) == {"conv": 2}
    flags.set_flags({"FLAGS_cpu_providers": "plain"})
    for o in ops:
        o.clear()
    np.testing.assert_allclose(array.to_numpy(executor(*xs)[0]), expected, rtol=1e-4, atol=1e-4)
    for o in ops:
        o.clear()


# --- every form of operand -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "kernel", "more"),
    [
        ((2, 4, 9), (6, 4, 3), {}),
        ((1, 3, 4, 5, 3), (4, 3, 3, 3, 3), {}),
        ((2, 4, 7, 6), (6, 2, 3, 3), {"groups": 2}),
        ((2, 32, 7, 6), (32, 1, 3, 3), {"groups": 32}),
        ((2, 3, 9, 9), (5, 3, 3, 3), {"dilation": 2, "stride": 2}),
        ((2, 16, 2, 2), (32, 16, 3, 3), {"stride": 2}),
        ((2, 16, 1, 1), (32, 16, 3, 3), {}),
        ((0, 3, 5, 5), (4, 3, 3, 3), {}),
    ],
)
def test_geometries(shape, kernel, more, rng):
    """Each convolution, read by another and by a sum, with gradients."""
    x, w, v = tensors(rng, shape, kernel, (5, kernel[0], *(1,) * (len(shape) - 2)))

    def function(x, w, v):
        return F.sum(F.square(F.tanh(conv(F.tanh(conv(x, w, **more)), v, pad=0))), axes=tuple(range(x.ndim)))

    ops = check(function, x, w, v, gradient=True, tolerance=1e-4)
    assert kinds(ops) == {"conv": 2, "conv_input_grad": 2, "conv_weight_grad": 2}


def test_transposed(rng):
    def function(x, w, v):
        ones = dict.fromkeys(("pads_lo", "pads_hi", "dilations", "extra"), (1, 1))
        return F.relu(F.conv_transpose(F.relu(conv(x, w)), v, nd=2, groups=1, strides=(2, 2), **ones))

    ops = check(function, *tensors(rng, (2, 3, 5, 4), (8, 3, 3, 3), (8, 6, 3, 3)))
    assert kinds(ops) == {"conv": 1, "conv_input_grad": 1}


@pytest.mark.parametrize(
    "other",
    [
        *((), (1,), (5,), (4, 5), (8, 1, 1)),
        *((1, 8, 1, 1), (2, 8, 1, 1), (2, 1, 1, 1), (1, 1, 4, 5), (2, 1, 4, 5), (2, 8, 4, 5)),
    ],
)
def test_what_broadcasts_beside_images(other, rng):
    def function(x, w, y):
        h = conv(x, w)
        return conv(F.mul(h, F.sub(y, h)), w), F.maximum(F.add(y, 1.0), h)

    ops = check(function, *tensors(rng, (2, 8, 4, 5), (8, 8, 3, 3), other))
    assert kinds(ops) == {"conv": 2}


def test_vectors_and_constants_beside_images(rng):
    def function(x, w, b, c):
        h = F.add(conv(x, w), F.reshape(b, shape=(1, 8, 1, 1)))
        h = F.mul(conv(h, w), F.unsqueeze(c, axes=(1, 2)))
        h = F.where(F.gt(h, 0.0), h, F.full(0.5, dtype=h.dtype, shape=tuple(h.shape)))
        spread = F.broadcast_to(F.reshape(c, shape=(1, 8, 1, 1)), shape=tuple(h.shape))
        return F.add(h, spread), F.sum(F.square(h), axes=(0, 2, 3))

    ops = check(function, *tensors(rng, (2, 8, 4, 5), (8, 8, 3, 3), (8,), (8,)))
    assert moved(ops) == 1  # the first result


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("axes", [(0,), (1,), (3,), (0, 1), (0, 2, 3), (2, 3), (1, 2, 3), (0, 1, 2, 3)])
def test_reductions_of_images(axes, keepdim, rng):
    def function(x, w):
        h = conv(x, w)
        kept = F.max(h, axes=axes, keepdim=keepdim)
        return conv(h, w), kept, F.add(F.sum(F.square(h), axes=axes, keepdim=True), h)

    check(function, *tensors(rng, (2, 8, 4, 5), (8, 8, 3, 3)))


def test_what_asks_for_channels_first(rng):
    def function(x, w, m):
        h = conv(x, w)
        flat = F.reshape(h, shape=(2, 8 * 4 * 5))
        part = F.slice(h, axes=(1, 3), starts=(2, 1), sizes=(4, 3), steps=(1, 1))
        return F.matmul(flat, m), F.neg(part), F.concat((h, F.neg(h)), axis=1), F.cumsum(conv(h, w), axis=1), h

    check(function, *tensors(rng, (2, 8, 4, 5), (8, 8, 3, 3), (160, 3)))


def test_results_that_are_inputs_and_writes(rng):
    """A program that returns what it was given, and writes an image over an input."""
    x, w, kept = tensors(rng, (2, 8, 4, 5), (8, 8, 3, 3), (2, 8, 4, 5))
    with Tracer() as tracer:
        a, b = tracer.example(x, ()), tracer.example(w, ())
        h = F.relu(conv(F.relu(conv(a, b)), b))
        tracer.assign(tracer.tensor(kept), h)
        program = tracer.finish([a, h])
    given, made = Executor(program)(x, w)
    expected = array.to_numpy(F.relu(conv(F.relu(conv(x, w)), w)))
    assert given is x
    for y in (made, kept):
        assert y.is_contiguous()
        np.testing.assert_allclose(array.to_numpy(y), expected, rtol=1e-4, atol=1e-4)


def test_epilogues_keep_the_layout(rng):
    def function(x, w, b):
        h = F.relu(F.add(conv(x, w), F.reshape(b, shape=(1, 16, 1, 1))))
        return F.relu(F.add(conv(h, w), F.reshape(b, shape=(1, 16, 1, 1))))

    ops = check(function, *tensors(rng, (2, 16, 6, 6), (16, 16, 3, 3), (16,)))
    assert kinds(ops) == {"fused_epilogue": 2}
    assert [o.name for o in ops] == ["permute", "channels_last", "channels_last", "relayout"]


def test_hard_swish_is_in_the_launch_of_a_convolution_of_bfloat16(rng):
    """Also of kernels that lie in no strips: those of few channels."""

    def function(x, w, b, v):
        x, w, b, v = (F.cast(t, dtype=dtype.bfloat16) for t in (x, w, b, v))
        h = F.hardswish(F.add(conv(x, w), F.reshape(b, shape=(1, 16, 1, 1))))
        return F.cast(conv(h, v), dtype=dtype.float32)

    xs = tensors(rng, (2, 3, 9, 9), (16, 3, 3, 3), (16,), (16, 16, 3, 3))
    ops = check(function, *xs, tolerance=3e-2)
    steps = [o.inner.steps for o in ops if type(o) is ChannelsLast and o.inner.name == "fused_epilogue"]
    assert steps == ([("bias", "hard_swish")] if select_provider.native_bfloat16() else [])


def test_one_value_beside_images_and_as_an_image(rng):
    """A vector with dims of size 1 is a factor, and is convolved itself; so is an image of lower rank."""

    def function(x, w, b, u, v):
        factor = F.reshape(b, shape=(1, 8, 1, 1))
        h = F.mul(conv(x, w), factor)
        small = conv(F.add(conv(factor, w), 1.0), w)
        high = conv(conv(u, v), v)
        least = F.min(h, axes=(0, 2, 3), keepdim=True)
        return h, small, F.mul(high, h), F.add(high, least), F.mul(high, F.reshape(b, shape=(1, 1, 8, 1, 1)))

    shapes = ((8, 8, 4, 5), (8, 8, 3, 3), (8,), (8, 8, 8, 4, 5), (8, 8, 1, 1, 1))
    check(function, *tensors(rng, *shapes), tolerance=1e-4)


@pytest.mark.parametrize(
    ("shape", "kernel"),
    [((2, 3, 7), (4,)), ((2, 3, 5, 4), (2, 2)), ((1, 3, 4, 5), (1, 3)), ((2, 3, 3, 2, 4), (2, 1, 3))],
)
@pytest.mark.parametrize("dynamic", [(), (0,), (2,)])
def test_transposed_with_kernels_side_by_side_is_a_matmul(shape, kernel, dynamic, rng):
    nd = len(kernel)
    x, w, u, v = tensors(rng, shape, (8, 3, *(3,) * nd), (8, 6, *kernel), (4, 6, *(1,) * nd))
    none = (0,) * nd

    def function(x):
        y = F.conv_transpose(
            conv(x, w), u, nd=nd, groups=1, strides=kernel, pads_lo=none, pads_hi=none, dilations=(1,) * nd, extra=none
        )
        return conv(y, v)

    ops = check(function, x, dynamic=dynamic)
    assert kinds(ops) == {"conv": 2}
    assert [o.name for o in ops].count("matmul") == 1


def test_images_joined_and_repeated(rng):
    """A pyramid: images at several sizes, brought to the largest one, joined along their channels."""
    x, w0, w1, w2 = tensors(rng, (2, 3, 12, 12), (8, 3, 3, 3), (16, 8, 3, 3), (8, 16, 1, 1))

    def pyramid(x, w0, w1, w2, index):
        a = F.maximum(conv(x, w0, 1), 0.0)
        b = F.maximum(conv(a, w1, 2), 0.0)
        c = conv(b, w2)
        wide = F.take(F.take(c, index, axis=2), index, axis=3)
        return F.mul(F.concat((a, wide), axis=1), 2.0)

    index = array.from_numpy(np.arange(12) // 2)
    ops = check(pyramid, x, w0, w1, w2, index)
    assert kinds(ops) == {"conv": 3}
    assert moved(ops) == 1, "the result alone changes its layout"


def test_images_of_which_most_have_channels_first_are_joined_so(rng):
    x, y, w0, w1 = tensors(rng, (2, 8, 6, 6), (2, 8, 6, 6), (8, 8, 3, 3), (8, 8, 3, 3))

    def function(x, y, w0, w1):
        return F.concat((y, conv(conv(x, w0), w1), y), axis=1)

    check(function, x, y, w0, w1)
