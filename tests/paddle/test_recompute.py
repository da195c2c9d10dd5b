"""Computing activations again: the same bits as without, less memory, errors instead of wrong gradients."""

from __future__ import annotations

import gc
import random

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.distributed import fleet
from paddle.distributed.fleet.utils import recompute
from paddle.incubate.distributed.fleet import recompute_sequential
from tests.support.py_layers import Square
from umiak import memory
from umiak.autodiff import graph
from umiak.core.place import Place
from umiak.ir.parser import parse
from umiak.ir.tracer import Tracer
from umiak.ir.verifier import verify
from umiak.runtime.executor import Executor

MODES = pytest.mark.parametrize("use_reentrant", [True, False])


def leaf(*shape, seed=0, dtype="float32"):
    x = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    return paddle.to_tensor(x, stop_gradient=False)


def block(width=8, p=0.5):
    paddle.seed(3)
    return nn.Sequential(
        nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(p), nn.Linear(2 * width, width), nn.LayerNorm(width)
    )


def run(function, *layers, x=None):
    """Loss, gradients of x and of all parameters, after one backward run."""
    x = leaf(4, 8) if x is None else x
    for layer in layers:
        layer.clear_gradients()
    paddle.seed(11)
    loss = function(x)
    loss.backward()
    gradients = [p.grad.numpy() for layer in layers for p in layer.parameters()]
    return [loss.numpy(), x.grad.numpy(), *gradients, np.array(paddle.get_rng_state()[0].state, dtype=np.uint64)]


def same(a, b):
    assert len(a) == len(b)
    for x, y in zip(a, b):
        np.testing.assert_array_equal(x, y)


# --- values --------------------------------------------------------------------------------------------------------


def test_where_it_is():
    assert recompute is fleet.recompute.recompute
    assert recompute_sequential is fleet.recompute.recompute_sequential


@MODES
def test_dropout_is_the_same(use_reentrant):
    first, second = block(), block()
    plain = run(lambda x: (second(first(x)) ** 2).sum(), first, second)

    def again(x):
        h = recompute(first, x, use_reentrant=use_reentrant)
        return (recompute(second, h, use_reentrant=use_reentrant) ** 2).sum()

    same(run(again, first, second), plain)


@pytest.mark.parametrize("outer", [True, False])
@pytest.mark.parametrize("inner", [True, False])
def test_nested(outer, inner):
    first, second = block(), block()
    plain = run(lambda x: (second(first(x)) ** 2).sum(), first, second)

    def body(x):
        return second(recompute(first, x, use_reentrant=inner))

    same(run(lambda x: (recompute(body, x, use_reentrant=outer) ** 2).sum(), first, second), plain)


@MODES
def test_arguments_of_all_kinds(use_reentrant):
    def function(x, pair, *, factor, table, power=2, label=None):
        assert label == "name"
        return x * pair[0] * factor * table["w"] ** power, [pair[1] + 1, None, 3]

    def gradients(call):
        xs = [leaf(3, seed=i) for i in range(4)]
        fixed = paddle.to_tensor([1, 2, 3])
        y, (z, none, three) = call(
            function, xs[0], (xs[1], fixed), factor=xs[2], table={"w": xs[3]}, power=3, label="name"
        )
        assert (none, three) == (None, 3)
        assert z.tolist() == [2, 3, 4]
        assert z.stop_gradient
        y.sum().backward()
        return [x.grad.numpy() for x in xs]

    plain = gradients(lambda f, *args, **kwargs: f(*args, **kwargs))
    same(gradients(lambda f, *a, **k: recompute(f, *a, use_reentrant=use_reentrant, **k)), plain)


@MODES
def test_several_outputs_of_which_some_are_used(use_reentrant):
    x = leaf(3)
    y, z = recompute(lambda x: (x * x, x.exp()), x, use_reentrant=use_reentrant)
    assert not y.stop_gradient
    assert not z.stop_gradient
    z.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), x.exp().numpy())


@MODES
def test_parameters_alone_want_gradients(use_reentrant):
    layer, x = nn.Linear(3, 2), paddle.ones([4, 3])
    y = recompute(layer, x, use_reentrant=use_reentrant)
    y.sum().backward()
    np.testing.assert_array_equal(layer.weight.grad.numpy(), np.full((3, 2), 4, np.float32))


@MODES
def test_nothing_wants_gradients(use_reentrant):
    assert recompute(lambda x: x * 2, paddle.ones([2]), use_reentrant=use_reentrant).stop_gradient
    x = leaf(2)
    with paddle.no_grad():
        assert recompute(lambda x: x * 2, x, use_reentrant=use_reentrant).stop_gradient
    assert recompute(lambda x: x.astype("int32"), x, use_reentrant=use_reentrant).stop_gradient


@MODES
def test_what_a_function_returns_as_it_is(use_reentrant):
    weight = leaf(3, seed=1)
    buffer = paddle.ones([3])
    x = leaf(3)
    y, w, b, v = recompute(lambda x: (x, weight, buffer, x[:2]), x, use_reentrant=use_reentrant)
    (y * 2 + w * b).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 2, 2])
    np.testing.assert_array_equal(weight.grad.numpy(), [1, 1, 1])
    assert weight.is_leaf
    assert buffer.stop_gradient
    assert v.shape == [2]


@MODES
def test_accumulation_over_calls(use_reentrant):
    layer = nn.Linear(3, 3)
    x = leaf(2, 3)

    def gradients(call):
        layer.clear_gradients()
        x.clear_gradient()
        for _ in range(2):
            (call(layer, call(layer, x)) ** 2).sum().backward()
        return [x.grad.numpy(), layer.weight.grad.numpy(), layer.bias.grad.numpy()]

    same(gradients(lambda f, x: recompute(f, x, use_reentrant=use_reentrant)), gradients(lambda f, x: f(x)))


@MODES
def test_one_tensor_twice(use_reentrant):
    x = leaf(3)
    recompute(lambda a, b: a * b * b, x, x, use_reentrant=use_reentrant).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * x.numpy() ** 2, rtol=1e-6)


@MODES
def test_mixed_precision_is_restored(use_reentrant):
    layer = block(p=0.1)

    def loss(x, call):
        with paddle.amp.auto_cast(dtype="bfloat16"):
            h = call(layer, x)
        return (h.astype("float32") ** 2).sum()

    plain = run(lambda x: loss(x, lambda f, x: f(x)), layer)
    same(run(lambda x: loss(x, lambda f, x: recompute(f, x, use_reentrant=use_reentrant)), layer), plain)


@MODES
def test_running_statistics_move_twice(use_reentrant):
    # As in the reference framework: the function runs twice.
    norm = nn.BatchNorm1D(3, momentum=0.5)
    x = leaf(4, 3)
    recompute(norm, x, use_reentrant=use_reentrant).sum().backward()
    mean = x.numpy().mean(0)
    np.testing.assert_allclose(norm._mean.numpy(), 0.75 * mean, rtol=1e-5)


# --- random numbers --------------------------------------------------------------------------------------------------


@MODES
@pytest.mark.parametrize("preserve", [True, False])
def test_generators(use_reentrant, preserve):
    seen = []

    def function(x):
        seen.append((float(paddle.rand([])), float(np.random.rand()), random.random()))
        return x * x

    random.seed(1)
    np.random.seed(2)
    x = leaf(3)
    y = recompute(function, x, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    between = (float(paddle.rand([])), float(np.random.rand()), random.random())
    state = paddle.get_rng_state()
    y.sum().backward()
    assert len(seen) == 2
    assert (seen[0] == seen[1]) == preserve
    if preserve:
        assert paddle.get_rng_state() == state
    assert between not in seen[:1]


def test_a_generator_that_is_made_inside():
    # Nothing was drawn before on this rank: the stream still begins at the same place.
    from umiak.core import context

    rank = context.new_rank(1)
    outer = rank.activate()
    try:
        seen = []

        def function(x):
            seen.append(float(paddle.rand([])))
            return x * x

        x = leaf(3)
        recompute(function, x).sum().backward()
        assert seen[0] == seen[1]
    finally:
        outer.activate()


# --- gradients of a kind ---------------------------------------------------------------------------------------------


def test_grad_with_respect_to_arguments():
    layer = nn.Linear(3, 3)
    x = leaf(2, 3)
    (want,) = paddle.grad((layer(x) ** 2).sum(), x)
    (got,) = paddle.grad((recompute(layer, x) ** 2).sum(), x)
    np.testing.assert_array_equal(got.numpy(), want.numpy())
    assert layer.weight.grad is None
    assert x.grad is None


def test_grad_with_respect_to_parameters():
    layer = nn.Linear(3, 3)
    x, other = leaf(2, 3), leaf(3, 3)
    want = paddle.grad((layer(x) ** 2).sum() + layer.weight.sum(), layer.parameters())
    got = paddle.grad((recompute(layer, x, use_reentrant=False) ** 2).sum() + layer.weight.sum(), layer.parameters())
    same([g.numpy() for g in got], [g.numpy() for g in want])
    # One operation that hides them: refused, not left out of the sum.
    with pytest.raises(RuntimeError, match=r"\[recompute\] requires use_reentrant=False for grad\(\)"):
        paddle.grad((recompute(layer, x) ** 2).sum() + layer.weight.sum(), layer.weight)
    paddle.grad((recompute(layer, x) ** 2).sum() + other.sum(), other)


def test_second_derivatives():
    def cubes(call):
        x = leaf(3, dtype="float64")
        (g,) = paddle.grad(call(lambda x: (x * x).exp() * x, x).sum(), x, create_graph=True)
        (gg,) = paddle.grad(g.sum(), x, create_graph=True)
        (gg * g).sum().backward()
        return [g.numpy(), gg.numpy(), x.grad.numpy()]

    found, expected = cubes(lambda f, x: recompute(f, x, use_reentrant=False)), cubes(lambda f, x: f(x))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14, err_msg="sums of contributions may come in another order")
    x = leaf(3)
    with pytest.raises(RuntimeError, match="requires use_reentrant=False for gradients that are differentiated again"):
        paddle.grad(recompute(lambda x: x * x, x).sum(), x, create_graph=True)


def test_second_run_over_a_graph_that_is_kept():
    calls = []

    def function(x):
        calls.append(1)
        return (x * x).exp()

    for use_reentrant in (True, False):
        x = leaf(3)
        y = recompute(function, x, use_reentrant=use_reentrant).sum()
        y.backward(retain_graph=True)
        first = x.grad.numpy().copy()
        y.backward()
        np.testing.assert_array_equal(x.grad.numpy(), 2 * first)
        with pytest.raises(RuntimeError, match="saved tensors are freed"):
            y.backward()
    assert len(calls) == 6


@MODES
def test_hooks_of_tensors_and_gradients(use_reentrant):
    seen = []
    x = leaf(3)
    h = x * 2
    h.register_hook(lambda g: seen.append(g.numpy()))
    y = recompute(lambda a: a * a, h, use_reentrant=use_reentrant)
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 80 * x.numpy(), rtol=1e-6)
    assert len(seen) == 1


@MODES
def test_py_layer_inside(use_reentrant):
    class Cube(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensor()
            return 3 * x * x * g

    x = leaf(3)
    recompute(lambda x: Cube.apply(x.exp()), x, use_reentrant=use_reentrant).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * np.exp(3 * x.numpy()), rtol=1e-5)


# --- mistakes --------------------------------------------------------------------------------------------------------


@MODES
def test_an_argument_that_changes(use_reentrant):
    x = leaf(3)
    h = x * 2
    y = recompute(lambda a: a * a, h, use_reentrant=use_reentrant)
    h.add_(paddle.ones([3]))
    with pytest.raises(RuntimeError, match=r"\[recompute\] requires a saved tensor \(shape \[3\]\) as it was"):
        y.sum().backward()
    h = x * 2
    y = recompute(lambda a: a.add_(paddle.ones([3])) * a, h, use_reentrant=use_reentrant)
    with pytest.raises(RuntimeError, match="modified in place"):
        y.sum().backward()


def test_something_saved_that_changes():
    def function(x):
        y = x.exp()
        z = y * 2
        y.add_(paddle.ones([3]))
        return z

    with pytest.raises(RuntimeError, match="modified in place by the function"):
        recompute(function, leaf(3), use_reentrant=False).sum().backward()
    with pytest.raises(RuntimeError, match="modified in place"):
        recompute(function, leaf(3)).sum().backward()


@MODES
@pytest.mark.parametrize("write", ["clip_", "sin_", "exp_"])
def test_something_without_elements_that_is_written_to(use_reentrant, write):
    """There is nothing that changes: also what autograd functions keep of it stays as it was."""

    def function(x):
        none = x[x > 100]
        y = Square.apply(none)
        getattr(none, write)()
        return x * 2, none, y

    x = leaf(3)
    sum(y.sum() for y in recompute(function, x, use_reentrant=use_reentrant)).backward()
    assert x.grad.tolist() == [2.0] * 3


@MODES
def test_a_function_that_does_something_else(use_reentrant):
    for late in (
        lambda x: (x * x)[:2],
        lambda x: [x * x],
        lambda x: (x * x).astype("float64"),
    ):
        calls = []

        def function(x, late=late, calls=calls):
            calls.append(1)
            return x * x if len(calls) == 1 else late(x)

        y = recompute(function, leaf(3), use_reentrant=use_reentrant)
        if use_reentrant:
            with pytest.raises(RuntimeError, match="requires a function that does the same when it runs again"):
                y.sum().backward()
        else:
            y.sum().backward()  # what it saves is the same
    calls = []

    def saves(x):
        calls.append(1)
        return x * x if len(calls) == 1 else x[:2] * x[:2]

    with pytest.raises(RuntimeError, match="requires a function that does the same when it runs again"):
        recompute(saves, leaf(3), use_reentrant=use_reentrant).sum().backward()
    calls.clear()

    def more(x):
        calls.append(1)
        return (x * x if len(calls) == 1 else x * x * x).sum()

    if not use_reentrant:
        with pytest.raises(RuntimeError, match="saved tensors, got"):
            recompute(more, leaf(3), use_reentrant=False).backward()


@MODES
def test_errors_leave_nothing_behind(use_reentrant):
    calls = []

    def function(x):
        calls.append(1)
        if len(calls) > 1:
            raise KeyError("late")
        return x * x

    state = paddle.get_rng_state()
    x = leaf(3)
    with pytest.raises(KeyError):
        recompute(function, x, use_reentrant=use_reentrant).sum().backward()
    assert paddle.get_rng_state() == state
    assert paddle.is_grad_enabled()
    with pytest.raises(ZeroDivisionError):
        recompute(lambda x: x * (1 // 0), x, use_reentrant=use_reentrant)
    seen = []
    with paddle.autograd.saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t):
        y = x * x
    assert seen
    y.sum().backward()


def test_wrong_calls():
    with pytest.raises(TypeError, match=r"\[recompute\] requires a function or a layer, got int"):
        recompute(3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        recompute(lambda x: x, leaf(2), other=1)
    with pytest.raises(ValueError, match="requires a tensor as positional argument 1 of offload_indices, got 1 argum"):
        recompute(lambda x: x, leaf(2), offload_indices=[1])
    with pytest.raises(ValueError, match=r"\[recompute_sequential\] requires 1 to 2 segments, got 3"):
        recompute_sequential({"segments": 3}, [nn.ReLU(), nn.ReLU()], leaf(2))
    with pytest.raises(ValueError, match="got 0"):
        recompute_sequential({"segments": 0}, [nn.ReLU()], leaf(2))


# --- sequences -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("segments", "runs"), [(1, [1, 1, 1, 1]), (2, [2, 2, 1, 1]), (4, [2, 2, 2, 1]), (3, [2, 2, 1, 1])]
)
def test_sequences(segments, runs):
    layers = nn.Sequential(*(block() for _ in range(4)))
    counts = [0] * 4

    def plain(x):
        return (layers(x) ** 2).sum()

    want = run(plain, layers)
    for i, layer in enumerate(layers):
        layer.register_forward_post_hook(lambda *_, i=i: counts.__setitem__(i, counts[i] + 1))
    got = run(lambda x: (recompute_sequential({"segments": segments}, layers, x) ** 2).sum(), layers)
    same(got, want)
    assert counts == runs


# --- memory ----------------------------------------------------------------------------------------------------------


def held(function):
    """Bytes that tensors hold more while the graph of ``function(x)`` lives, and the peak of forward and backward."""
    place = Place("cpu", 0)
    x = leaf(64, 256)
    gc.collect()
    before = memory.stats(place)["allocated"]
    memory.reset_peaks(place)
    loss = function(x)
    kept = memory.stats(place)["allocated"] - before
    loss.backward()
    return kept, memory.stats(place)["allocated_peak"] - before


@pytest.mark.usefixtures("no_garbage")
@MODES
def test_memory_falls(use_reentrant):
    layers = nn.Sequential(*(nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)) for _ in range(6)))
    held(lambda x: layers(x).sum())  # gradients of parameters are there from now on
    kept, peak = held(lambda x: layers(x).sum())

    def again(x):
        for layer in layers:
            x = recompute(layer, x, use_reentrant=use_reentrant)
        return x.sum()

    kept_again, peak_again = held(again)
    one = 64 * 256 * 4
    assert kept >= (6 * 9 - 1) * one
    assert kept_again <= 8 * one
    assert peak_again < 0.5 * peak


@pytest.mark.usefixtures("no_garbage")
@MODES
def test_graphs_are_freed(use_reentrant):
    place = Place("cpu", 0)
    layer = block()

    def once():
        recompute(layer, leaf(4, 8), use_reentrant=use_reentrant).sum()

    once()
    before = memory.stats(place)["allocated"]
    once()
    assert memory.stats(place)["allocated"] == before


@pytest.mark.usefixtures("no_garbage")
@MODES
def test_offloaded_arguments(use_reentrant):
    place = Place("cpu", 0)
    layer = block()
    want = run(lambda x: (layer(x * 2) ** 2).sum(), layer)
    got = run(lambda x: (recompute(layer, x * 2, use_reentrant=use_reentrant, offload_indices=[0]) ** 2).sum(), layer)
    same(got, want)
    x = leaf(64, 8)
    before = memory.stats(place)["allocated"]
    y = recompute(layer, x * 2, use_reentrant=use_reentrant, offload_indices=[0]).sum()
    assert memory.stats(place)["allocated"] - before < 64 * 8 * 4
    y.backward()


# --- programs --------------------------------------------------------------------------------------------------------


def traced(function, x):
    paddle.seed(5)
    with Tracer() as tracer:
        return tracer.finish((function(tracer.example(x, dynamic=())),))


def split(program, x):
    """Loss, gradients and bytes saved of the forward and backward programs."""
    d = graph.derivative(program, range(len(program.inputs)))
    for part in (d.forward, d.backward):
        verify(part)
    captured = [program.captured[n] for n in program.constants]
    inputs = [x.detach(), *(c.detach() for c in captured)]
    loss, *kept = Executor(d.forward)(x.detach())
    given = [inputs[i] if kind == "input" else [loss, *kept][i] for kind, i in d.saved]
    found = Executor(d.backward)(*given, paddle.ones([], dtype=x.dtype))
    return [loss.numpy(), *(g.numpy() for g in found)], sum(k.size * k.element_size() for k in kept), d


@MODES
def test_in_a_program_only_inputs_of_regions_are_kept(use_reentrant):
    layers = [block(64).to(dtype="float64") for _ in range(3)]

    def loss(x, call):
        h = x.tanh()
        for layer in layers:
            h = call(layer, h)
        return (h * h * h).sum()  # the square of a normalised row is always the same

    x = leaf(16, 64, dtype="float64")
    plain = traced(lambda x: loss(x, lambda f, x: f(x)), x)
    marked = traced(lambda x: loss(x, lambda f, x: recompute(f, x, use_reentrant=use_reentrant)), x)
    want, most, _ = split(plain, x)
    got, least, d = split(marked, x)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    assert least <= 5 * 16 * 64 * 8  # tanh, three results of blocks, a square
    assert least < most / 3
    # Every region is there twice; random numbers are those of the forward part.
    assert sum(o.name == "linear" for o in d.forward.ops) == sum(o.name == "linear" for o in d.backward.ops) == 6
    assert parse(repr(d.backward)).same_as(d.backward)
    drawn = [[o.params for o in part.ops if o.name in ("dropout", "philox")] for part in (d.forward, d.backward)]
    offsets = [{p[-1] for p in params} for params in drawn]
    assert offsets[0] == offsets[1]
    assert len(offsets[0]) == 3


def test_in_a_program_state_is_written_once():
    norm = nn.BatchNorm1D(3, momentum=0.5)
    x = leaf(4, 3)
    program = traced(lambda x: (recompute(norm, x) ** 2).sum(), x)
    assert len(program.effects) == 2
    Executor(program)(x.detach())
    np.testing.assert_allclose(norm._mean.numpy(), 0.5 * x.numpy().mean(0), rtol=1e-5)


def test_in_a_program_joined_with_its_gradient_nothing_is_merged():
    x = leaf(4, 8)

    def loss(x):
        y = recompute(lambda x: (x.exp() * x.tanh()).exp(), x * 2)
        return y.sum()

    with Tracer() as tracer:
        s = tracer.example(x, dynamic=())
        y = loss(s)
        program = tracer.finish((y,))
    (g,) = graph.backward(program, [program.inputs[0]])
    program.outputs = [*program.outputs, g]
    from umiak.ir.passes import tidy

    tidy(program)
    assert sum(o.name == "tanh" for o in program.ops) == 2
    _, got = Executor(program)(x.detach())
    loss(x).backward()
    np.testing.assert_allclose(got.numpy(), x.grad.numpy(), rtol=1e-5)


def test_nested_regions_of_a_program_are_one():
    program = traced(lambda x: recompute(lambda x: recompute(lambda x: x.exp(), x * 2) * 3, x).sum(), leaf(3))
    assert [o.recompute for o in program.ops] == [1, 1, 1, 0]


# --- captured functions -----------------------------------------------------------------------------------------------


def captured(step, again, dropout=0.0):
    """A function under ``to_static``: a loss, or a whole training step; and the layers that it trains."""
    paddle.seed(1)
    layers = nn.LayerList(
        nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 256), nn.GELU(), nn.Dropout(dropout), nn.Linear(256, 64))
        for _ in range(6)
    )
    optimizer = paddle.optimizer.SGD(0.1, parameters=layers.parameters())

    @paddle.jit.to_static
    def run(x):
        y = x
        for layer in layers:
            y = y + (recompute(layer, y) if again else layer(y))
        loss = (y * y * y).mean()
        if step:
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        return loss

    return run, layers


@pytest.mark.parametrize("step", [False, True])
def test_captured_functions_are_exact_with_dropout(step):
    x = paddle.to_tensor(np.random.default_rng(0).standard_normal((32, 64)).astype("float32"))
    found = []
    for again in (False, True):
        run, layers = captured(step, again, dropout=0.3)
        paddle.seed(5)
        losses = []
        for _ in range(3):
            loss = run(x)
            losses.append(float(loss))
            if not step:
                loss.backward()
        values = [p.numpy() if step else p.grad.numpy() for p in layers.parameters()]
        found.append((losses, values))
    (losses, values), (losses_again, values_again) = found
    np.testing.assert_allclose(losses_again, losses, rtol=1e-6)
    for a, b in zip(values_again, values, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize("step", [False, True])
def test_captured_functions_take_less_memory(step):
    place = Place("cpu", 0)
    x = paddle.ones([512, 64])
    peaks = []
    for again in (False, True):
        run, layers = captured(step, again)

        def once(run=run, layers=layers):
            loss = run(x)
            if not step:
                loss.backward()
                layers.clear_gradients()

        once()
        once()
        gc.collect()
        before = memory.stats(place)["allocated"]
        memory.reset_peaks(place)
        once()
        peaks.append(memory.stats(place)["allocated_peak"] - before)
    assert peaks[1] < 0.5 * peaks[0]
