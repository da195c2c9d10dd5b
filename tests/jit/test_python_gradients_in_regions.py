"""Hooks and ``PyLayer`` in branches and loop bodies of captured functions: the gradients of eager calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import paddle
from paddle.autograd import PyLayer
from paddle.jit import to_static
from paddle.static.nn import cond, while_loop

X, W = np.array([0.5, -0.3, 0.9]), np.array([1.1, 0.7, -0.4])


class Cube(PyLayer):
    """Keeps its argument and its result."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x * x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensor()
        return g * 2 * x * x + g * y


class Pair(PyLayer):
    """Two results; gradients that are not those of ``forward``."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        s = paddle.exp(a) * b
        ctx.save_for_backward(a, b, s)
        return s, a + b

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        a, _, s = ctx.saved_tensor()
        return g * s * 2 + h, h * 5 * a + g * s


def looped(body: Callable[[Any], Any], x: Any, times: int = 3) -> Any:
    return while_loop(lambda k, y: k < times, lambda k, y: [k + 1, body(y)], [paddle.zeros([], "int64"), x])[1]


def hooked(x: Any, hook: Callable[[Any], Any]) -> Any:
    x.register_hook(hook)
    return x


def two_hooks(y: Any, w: Any) -> Any:
    z = y * w
    z.register_hook(lambda g: g * 2 + w.detach())
    u = paddle.sin(z) + z
    z.register_hook(paddle.tanh)
    return u


def linear(y: Any, w: Any) -> Any:
    """A loop in a branch is recomputed for its gradient, which of second order passes hooks twice, in parts."""
    z = Cube.apply(y * w)
    z.register_hook(lambda g: g * 2)
    return paddle.sin(z) + z


def one_removed(y: Any, w: Any) -> Any:
    z = y * w
    handle = z.register_hook(lambda g: g * 7)
    z.register_hook(lambda g: g * 3)
    handle.remove()
    return z * y


def carried(y: Any, w: Any) -> Any:
    """A hook on what the iteration begins with."""
    return hooked(y, lambda g: g * 0.5) * w + paddle.sin(y)


def inner(y: Any, w: Any) -> Any:
    """A gradient within the iteration, through a hook and a PyLayer."""
    y = y.detach()
    y.stop_gradient = False
    u = hooked(Cube.apply(y), lambda g: g * 1.5) * w
    (g,) = paddle.grad([u.sum()], [y], create_graph=True)
    return y - 0.1 * g


def written(y: Any, w: Any) -> Any:
    z = y * 1.0
    z[0] = (Cube.apply(w) * y)[1]
    return hooked(z, paddle.tanh) * y


def branch(y: Any, w: Any) -> Any:
    return cond(y.sum() > 0, lambda: hooked(y * 1.5, paddle.tanh) * w, lambda: Cube.apply(y) - 1.0)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "PyLayer in a branch": lambda x, w: cond(x.sum() > 0, lambda: Cube.apply(x) * w, lambda: x + w),
    "PyLayer in both": lambda x, w: cond(x.sum() > 0, lambda: Cube.apply(x) * w, lambda: sum(Pair.apply(x, w))),
    "hook on a result": lambda x, w: cond(x.sum() > 0, lambda: hooked(x * w, lambda g: g * g), lambda: x * 2.0) * w,
    "PyLayer and hook": lambda x, w: cond(
        x.sum() > 0, lambda: hooked(Cube.apply(x * w), lambda g: g * g) * w, lambda: x * w
    ),
    "PyLayer in a loop": lambda x, w: looped(lambda y: sum(Pair.apply(y * 0.1, w)), x),
    "one of two results": lambda x, w: looped(lambda y: Pair.apply(y * 0.1, w)[0], x),
    "hooks in a loop": lambda x, w: looped(lambda y: two_hooks(y, w), x),
    "hooks that are removed": lambda x, w: looped(lambda y: one_removed(y, w), x),
    "hook on what is carried": lambda x, w: looped(lambda y: carried(y, w), x),
    "branch in a loop": lambda x, w: looped(lambda y: branch(y, w), x, 4),
    "loop in a branch": lambda x, w: cond(x.sum() > 0, lambda: looped(lambda y: linear(y, w), x, 2), lambda: x * w),
    "gradient inside": lambda x, w: looped(lambda y: inner(y, w), x * 1.0, 2),
    "writes": lambda x, w: looped(lambda y: written(y, w), x, 2),
    "beside one outside": lambda x, w: hooked(Cube.apply(looped(lambda y: two_hooks(y, w), x)), paddle.tanh),
}


def gradients(f: Callable[[Any, Any], Any], *xs: Any) -> list[Any]:
    """The value, its gradients, and the gradients of a function of these."""
    y = f(*xs)
    first = paddle.grad([(y * y).sum()], xs, create_graph=True, allow_unused=True)
    known = [(g * g).sum() for g in first if g is not None and not g.stop_gradient]
    second = paddle.grad([sum(known)], xs, allow_unused=True) if known else [None] * len(xs)
    return [y, *(paddle.zeros_like(x) if g is None else g for x, g in zip((*xs, *xs), (*first, *second), strict=True))]


def leaves(sign: float) -> list[Any]:
    return [paddle.to_tensor(a, stop_gradient=False) for a in (sign * X, W)]


def close(found: list[Any], expected: list[Any]) -> None:
    for a, b in zip(found, expected, strict=True):
        x, y = (0.0 if t is None else t.numpy() for t in (a, b))
        np.testing.assert_allclose(x + 0 * y, y + 0 * x, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_inside(name: str) -> None:
    f = FUNCTIONS[name]
    captured = to_static(lambda *xs: gradients(f, *xs))
    for sign in (1.0, -1.0, 1.0):
        close(captured(*leaves(sign)), gradients(f, *leaves(sign)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_outside(name: str) -> None:
    f = FUNCTIONS[name]
    captured = to_static(f)
    for sign in (1.0, -1.0, 1.0):
        rows = []
        for g in (captured, f):
            xs = leaves(sign)
            y = g(*xs)
            (y * y).sum().backward()
            rows.append([y, *(x.grad for x in xs)])
        close(*rows)


def test_a_step_inside() -> None:
    """``backward`` and the step of an optimizer in a function whose loop has a PyLayer."""

    def run(capture: bool) -> Any:
        layer = paddle.nn.Linear(3, 3, weight_attr=paddle.nn.initializer.Constant(0.2))
        opt = paddle.optimizer.AdamW(0.1, parameters=layer.parameters())

        def step(x: Any) -> Any:
            loss = (looped(lambda y: hooked(Cube.apply(layer(y)), lambda g: g * 0.5) + x, x) ** 2).mean()
            loss.backward()
            opt.step()
            opt.clear_grad()
            return loss

        g = to_static(step) if capture else step
        x = paddle.to_tensor(X.astype("float32").reshape(1, 3))
        return [float(g(x)) for _ in range(3)]

    np.testing.assert_allclose(run(True), run(False), rtol=1e-5)


def test_mixed_precision() -> None:
    def f(x: Any) -> Any:
        with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
            return looped(lambda y: Cube.apply(paddle.matmul(y, y).astype("float32")) * 0.1, x, 2).sum()

    x = paddle.to_tensor(np.random.default_rng(0).random((3, 3)).astype("float32"), stop_gradient=False)
    grads = [paddle.grad(g(x), x)[0].numpy() for g in (f, to_static(f))]
    np.testing.assert_allclose(grads[1], grads[0], rtol=5e-2)


class Noisy(Cube):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * paddle.rand(g.shape, "float64")


class Rows(Cube):
    """Writes to every second row of the gradient, which a program of open sizes tests these for."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        g[::2].scale_(3.0)
        return g


def test_gradients_that_test_open_sizes() -> None:
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            x = paddle.static.data("x", [None], "float64")
            x.stop_gradient = False
            y = cond(x.sum() > 0, lambda: Rows.apply(x), lambda: x * 1.0)
            (g,) = paddle.static.gradients([y.sum()], [x])
        run = paddle.static.Executor().run
        for n in (1, 3, 4):
            assert run(program, {"x": np.ones(n)}, [g])[0].tolist() == [3.0, 1.0, 3.0, 1.0][:n]
    finally:
        paddle.disable_static()


def reads_later(x: Any) -> Any:
    kept: list[Any] = [x]
    y = hooked(x * 2, lambda g: g * kept[0])
    kept[0] = y.exp()
    return kept[0]


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a hook on what is outside": (lambda x: hooked(x, paddle.tanh), "made in the branch or loop body"),
    "random numbers": (lambda x: Noisy.apply(x), "draws random numbers"),
    "what comes later": (reads_later, "reads what the body computes after it"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(what: str) -> None:
    f, message = REFUSED[what]

    def branches(x: Any) -> Any:
        return cond(x.sum() > -9.0, lambda: f(x), lambda: x)

    with pytest.raises(RuntimeError, match=message):
        to_static(branches, full_graph=True)(leaves(1.0)[0])


def test_gradients_of_gradients_outside_are_refused() -> None:
    x, w = leaves(1.0)
    y = to_static(FUNCTIONS["PyLayer in a loop"], full_graph=True)(x, w)
    with pytest.raises(RuntimeError, match="differentiated only inside of it"):
        paddle.grad([y.sum()], [x], create_graph=True)
