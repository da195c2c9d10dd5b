"""Gradients that Python functions compute in captured functions: hooks and ``PyLayer``."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.autograd import PyLayer
from paddle.jit import to_static


def leaf(rng, *shape):
    return paddle.to_tensor(rng.random(shape) + 0.5, stop_gradient=False)


def copy(x):
    return paddle.to_tensor(x.numpy(), stop_gradient=x.stop_gradient)


def close(found, expected):
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-9, atol=1e-9)


def agree(f, *xs, runs=2):
    """``f`` captured and as it is: results, gradients by ``backward`` outside, inside, and by ``grad`` inside."""

    def inside(*xs):
        y = f(*xs)
        y.sum().backward()
        return y

    def grads(*xs):
        y = f(*xs)
        return [y, *paddle.grad([(y * y).sum()], [x for x in xs if not x.stop_gradient])]

    def outside(f):
        def run(*xs):
            y = f(*xs)
            y.sum().backward()
            return y

        return run

    for by_hand, captured in (
        (outside(f), outside(to_static(f))),
        (inside, to_static(inside)),
        (grads, to_static(grads)),
    ):
        for _ in range(runs):
            a, b = [copy(x) for x in xs], [copy(x) for x in xs]
            found, expected = captured(*a), by_hand(*b)
            for y, z in zip(*(v if isinstance(v, list) else [v] for v in (found, expected)), strict=True):
                close(y, z)
            for x, z in zip(a, b, strict=True):
                assert (x.grad is None) == (z.grad is None)
                if x.grad is not None:
                    close(x.grad, z.grad)


# --- hooks -----------------------------------------------------------------------------------------------------------


def on_input(x, w):
    x.register_hook(lambda g: g * 3)
    return (x * w).tanh()


def on_intermediate(x, w):
    y = x * w
    y.register_hook(lambda g: g * w)
    return y.tanh() + y


def after_use(x, w):
    y = x * w
    z = y.exp()
    y.register_hook(lambda g: g.clip(-1, 1))
    return z * y


def several(x, w):
    y = x * w
    y.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: None)
    y.register_hook(lambda g: g + y)
    return y.sin()


def removed(x, w):
    y = x * w
    handle = y.register_hook(lambda g: g * 100)
    y.register_hook(lambda g: g * 2)
    assert handle.remove()
    assert not handle.remove()
    return y.sin()


def of_a_view(x, w):
    y = (x * w)[0]
    y.register_hook(lambda g: g * 2)
    return y.sum() + (x * w).sum()


def of_a_part(x, w):
    y = paddle.split(x * w, 2, axis=1)
    y[0].register_hook(lambda g: g * 2)
    return (y[0] * y[1]).sin()


def of_a_composite(x, w):
    """What is differentiated through its decomposition has a hook on its operand."""
    y = x * w
    y.register_hook(lambda g: g * 2)
    return paddle.lerp(y, y, w) + nn.functional.softmax(y)


def written_in_place(x, w):
    y = x * w

    def hook(g):
        g[0] = g[0] * 0

    y.register_hook(hook)
    return y.sin()


def with_branches(x, w):
    y = x * w
    for scale in (2.0, 3.0):
        z = y * scale
        z.register_hook(lambda g, scale=scale: g / scale)
        y = y + z
    return y


HOOKS = [
    on_input, on_intermediate, after_use, several, removed, of_a_view, of_a_part, of_a_composite, written_in_place,
    with_branches,
]  # fmt: skip


@pytest.mark.parametrize("f", HOOKS, ids=lambda f: f.__name__)
def test_hooks(f, rng):
    agree(f, leaf(rng, 2, 4), leaf(rng, 2, 4))


@pytest.mark.parametrize("on", ["argument", "result"])
def test_hooks_that_write_do_not_break_the_graph(on, rng):
    """Gradients may be written to, where a leaf of the same kind may not."""

    @to_static
    def f(x):
        y = x * 2.0
        (x if on == "argument" else y).register_hook(lambda g: g.scale_(3.0))
        return y.sin()

    for x in (leaf(rng, 3), leaf(rng, 3)):
        f(x).sum().backward()
        close(x.grad, 6.0 * (2.0 * x).cos().detach())
    assert f.graph_breaks == [] and f.get_traced_count() == 1


def test_hooks_of_parameters(rng):
    def training(capture):
        layer = nn.Linear(3, 2)
        layer.weight.set_value(np.ones((3, 2), "float32"))
        optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())

        def step(x):
            handle = layer.weight.register_hook(lambda g: g * 0.5)
            loss = (layer(x) ** 2).sum()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            handle.remove()
            return loss

        return layer, to_static(step) if capture else step

    (one, captured), (two, by_hand) = training(True), training(False)
    for _ in range(3):
        x = paddle.to_tensor(rng.random((4, 3)).astype("float32"))
        np.testing.assert_allclose(captured(x).numpy(), by_hand(x).numpy(), rtol=1e-5)
        np.testing.assert_allclose(one.weight.numpy(), two.weight.numpy(), rtol=1e-5)
    assert one.weight._hooks is None


def test_hooks_that_were_there_before(rng):
    """Those of arguments and of tensors that the function knows: each run has those of its time."""
    w = leaf(rng, 3)

    def step(x):
        y = (x * w * w).sum()
        y.backward()
        return y

    captured = to_static(step)
    handles = []
    for scale in (None, 2.0, 3.0):
        grads = []
        for f in (captured, step):
            x = paddle.to_tensor([1.0, 2.0, 3.0], dtype="float64", stop_gradient=False)
            if scale is not None:
                x.register_hook(lambda g, scale=scale: g * scale)
            w.clear_grad()
            f(x)
            grads.append((x.grad, w.grad.clone()))
        close(grads[0][0], grads[1][0])
        close(grads[0][1], grads[1][1])
        handles.append(w.register_hook(lambda g: g * 7))
    for handle in handles:
        handle.remove()
    w.clear_grad()
    x = paddle.ones([3], dtype="float64")
    captured(x)
    close(w.grad, 2 * w)


def test_a_hook_sees_the_sum(rng):
    """Not each of the contributions, and once."""

    def f(x):
        y = x * 2
        y.register_hook(lambda g: g * g)
        return y * y + y.sin() + y

    agree(f, leaf(rng, 4))


def test_gradients_that_are_kept(rng):
    def step(x):
        y = x * 2
        y.retain_grads()
        (y * y).sum().backward()
        return y.grad

    x = leaf(rng, 3)
    close(to_static(step)(x), 4 * x)


@pytest.mark.parametrize(
    ("hook", "error"),
    [
        (lambda g: g.sum(), ValueError),
        (lambda g: g.astype("float32"), ValueError),
        (lambda g: 1.0, TypeError),
        (lambda g: g.numpy() * 2, TypeError),  # which is called between graphs
    ],
)
def test_hooks_that_give_no_gradient(hook, error, rng):
    def f(x):
        y = x * 2
        y.register_hook(hook)
        return y.sum()

    with pytest.raises(error):
        to_static(f, full_graph=True)(leaf(rng, 3)).backward()


def test_hooks_need_a_gradient():
    def f(x):
        x.register_hook(lambda g: g)
        return x

    with pytest.raises(RuntimeError, match=r"register_hook.*stop_gradient=False"):
        to_static(f)(paddle.ones([2]))


# --- PyLayer ---------------------------------------------------------------------------------------------------------


class Tripled(PyLayer):
    """A gradient that is not that of its forward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * x * 3


class Several(PyLayer):
    """Two outputs, one of them without a gradient of its own, and inputs that have none."""

    @staticmethod
    def forward(ctx, x, scale, index, w):
        ctx.scale = scale
        y = x.exp()
        ctx.save_for_backward(y, w)
        return y * scale, y + w, index + 1

    @staticmethod
    def backward(ctx, g, h, _):
        y, w = ctx.saved_tensor()
        return g * y * ctx.scale * 2 + h * y, None, h * 5


class Fewer(PyLayer):
    """Gradients of those inputs alone that need one; absent ones are None."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(w)
        return x * w, x + w

    @staticmethod
    def backward(ctx, g, h):
        (w,) = ctx.saved_tensor()
        return (g * w * 2 if h is None else g * w + h), None


class Outer(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Tripled.apply(x) + 1

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return Tripled.apply(g) + x


class Returned(PyLayer):
    """The input itself, and a view of it."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_not_inplace(x)
        return x, x[0]

    @staticmethod
    def backward(ctx, g, h):
        made = g * 2
        made[0] = made[0] + h * 3
        return made


def plain_layer(x, w):
    return Tripled.apply(x * w) + w


def twice(x, w):
    return Tripled.apply(Tripled.apply(x) * w) * Tripled.apply(w)


def several_outputs(x, w):
    a, b, index = Several.apply(x, 2.0, paddle.zeros([1], dtype="int64"), w)
    return a * b + index.astype("float64")


def one_of_several(x, w):
    return Several.apply(x, 2.0, paddle.zeros([1], dtype="int64"), w)[1]


def without_some(x, w):
    return Fewer.apply(x, w.detach())[0] * w


def nested(x, w):
    return Outer.apply(x * w)


def returned(x, w):
    a, b = Returned.apply(x * w)
    return a + b


def hooked(x, w):
    y = Tripled.apply(x * w)
    y.register_hook(lambda g: g * 2)
    return y.sin()


def shared(x, w):
    a, b, _ = Several.apply(x, 2.0, paddle.zeros([1], dtype="int64"), x)
    return a * b * w


LAYERS = [plain_layer, twice, several_outputs, one_of_several, without_some, nested, returned, hooked, shared]


@pytest.mark.parametrize("f", LAYERS, ids=lambda f: f.__name__)
def test_layers(f, rng):
    agree(f, leaf(rng, 2, 4), leaf(rng, 2, 4))


def test_inputs_without_a_gradient(rng):
    x, w = leaf(rng, 3), leaf(rng, 3)
    w.stop_gradient = True
    agree(plain_layer, x, w)
    agree(several_outputs, x, w)


def test_second_derivatives_inside(rng):
    def f(x):
        y = Tripled.apply(x * x)
        (g,) = paddle.grad([y.sum()], [x], create_graph=True)
        return g, paddle.grad([(g * g).sum()], [x])[0]

    x = leaf(rng, 3)
    for found, expected in zip(to_static(f)(x), f(x), strict=True):
        close(found, expected)


def test_second_derivatives_outside_are_refused(rng):
    x = leaf(rng, 3)
    y = to_static(lambda x: Tripled.apply(x))(x)
    with pytest.raises(RuntimeError, match=r"requires create_graph=False.*inside"):
        paddle.grad([y.sum()], [x], create_graph=True)


def test_without_gradients(rng):
    x = leaf(rng, 3)
    captured = to_static(lambda x: Tripled.apply(x))
    with paddle.no_grad():
        close(captured(x), x * x)
    close(captured(x), x * x)
    assert captured.get_traced_count() == 2


def test_what_was_saved_may_not_change(rng):
    def f(x):
        y = x * 2
        z = Tripled.apply(y)
        with paddle.no_grad():
            y.add_(paddle.ones([3], dtype="float64"))
        return z.sum()

    x = leaf(rng, 3)
    with pytest.raises(RuntimeError, match="as it was in the forward pass"):
        f(x).backward()
    with pytest.raises(RuntimeError, match="as it was in the forward pass"):
        to_static(f, full_graph=True)(x)


def test_sizes_that_differ(rng):
    captured = to_static(plain_layer)
    for n in (2, 5, 1, 7, 0, 3):
        x, w = leaf(rng, n, 4), leaf(rng, 1, 4)
        grads = []
        for f in (captured, plain_layer):
            x.clear_gradient(False)
            w.clear_gradient(False)
            f(x, w).sum().backward()
            grads.append((x.grad, w.grad))
        close(grads[0][0], grads[1][0])
        close(grads[0][1], grads[1][1])
    assert captured.get_traced_count() <= 4


def test_saved_tensors_hooks(rng):
    """What is packed inside is traced, too."""

    def f(x):
        with paddle.autograd.saved_tensors_hooks(lambda t: t * 2, lambda t: t * 0.5):
            return Tripled.apply(x)

    agree(f, leaf(rng, 3))


@pytest.mark.parametrize("full_graph", [False, True])
def test_saved_tensors_hooks_around_a_call(full_graph, rng):
    """They are called for what eager calls save, whatever the function was captured for before."""
    f = paddle.jit.to_static(lambda x: (x * x if x.sum() < 1e9 else x).sum(), full_graph=full_graph)
    x, packed = leaf(rng, 3), []
    f(x).backward()
    expected = x.grad * 2.0
    x.clear_gradient(False)
    with paddle.autograd.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t * 2.0):
        y = f(x)
    y.backward()
    close(x.grad, expected)
    assert packed and "hooks of saved tensors are called at every call" in f.fallbacks


def test_recompute(rng):
    from paddle.distributed.fleet.utils import recompute

    def f(x, w):
        return recompute(plain_layer, x, w) * 2

    agree(f, leaf(rng, 3), leaf(rng, 3))


def test_mixed_precision(rng):
    def f(x):
        with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
            y = paddle.matmul(x, x)
            return Tripled.apply(y.astype("float32")).sum()

    x = paddle.to_tensor(rng.random((4, 4)).astype("float32"), stop_gradient=False)
    grads = []
    for g in (f, to_static(f)):
        x.clear_gradient(False)
        g(x).backward()
        grads.append(x.grad)
    np.testing.assert_allclose(grads[0].numpy(), grads[1].numpy(), rtol=2e-2)


def test_one_hot():
    captured = to_static(lambda x: nn.functional.one_hot(x, 4))
    x = paddle.to_tensor([[1, 0], [3, 2]])
    assert captured(x).tolist() == nn.functional.one_hot(x, 4).tolist()
    assert captured(x.astype("int32")[0]).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]
    counted = to_static(lambda x: nn.functional.one_hot(x), full_graph=True)
    for ids in (x, x * 2, x[:1]):
        assert counted(ids).tolist() == nn.functional.one_hot(ids).tolist()


def test_what_is_detached_has_no_gradient_of_any_order(rng):
    """Also where the program's gradient is differentiated outside of it."""

    def f(x):
        y = x * x
        with paddle.no_grad():
            z = y * x
        return (y * y.detach() * z + x.exp()).sum()

    x = leaf(rng, 3)
    captured = to_static(f)
    first = [paddle.grad(g(x), x, create_graph=True)[0] for g in (captured, f)]
    close(*first)
    close(*(paddle.grad((g * g).sum(), x)[0] for g in first))


@pytest.mark.parametrize("full_graph", [False, True])
def test_hook_on_an_argument_that_is_returned(rng, full_graph):
    """Once for the sum of all that arrives, whether or not it is used otherwise."""

    def alone(x):
        x.register_hook(lambda g: g * 2.0)
        return x

    def used(x):
        x.register_hook(lambda g: g * 2.0)
        return x, (x * 3.0).sum()

    for f in (alone, used):
        gradients = []
        for run in (f, to_static(f, full_graph=full_graph)):
            x = leaf(np.random.default_rng(0), 3)
            y = run(x)
            sum(t.square().sum() for t in (y if isinstance(y, tuple) else (y,))).backward()
            gradients.append(x.grad)
        close(*gradients)
