"""Gradients of gradients of users' operators: calls at once and captured functions give the same, or refuse alike."""

from __future__ import annotations

import re

import numpy as np
import pytest

import paddle
from tests.paddle.test_custom_operator_results import every_way

Tensor = paddle.Tensor


def of_array(a):
    return paddle.to_tensor(a)


def saved(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def as_attribute(ctx, inputs, output):
    ctx.kept_here = inputs[0]


def square(x: Tensor) -> Tensor:
    return of_array(x.numpy() ** 2)


def product(x: Tensor, y: Tensor) -> Tensor:
    return of_array(x.numpy() * y.numpy())


def of_square(ctx, g):
    (x,) = ctx.saved_tensor()
    return 2 * x * g


def of_square_by_arrays(ctx, g):
    return of_array(2 * ctx.saved_tensor()[0].numpy() * g.numpy())


def of_square_by_arrays_of_an_attribute(ctx, g):
    return of_array(2 * ctx.kept_here.numpy() * g.numpy())


def of_product_half_by_arrays(ctx, g):
    x, y = ctx.saved_tensor()
    return of_array(y.numpy() * g.numpy()), x * g


def of_product_by_sizes(ctx, g):
    """One without a gradient of the second operand, which cannot be traced."""
    x, y = ctx.saved_tensor()
    return (y * g if g.shape[0] != 99 else g), None


def of_steps(ctx, g):
    return paddle.zeros_like(g)


# Function, gradient, what keeps operands; then gradients, and those of the sum of (gradient + 1)², or None: refused.
CASES = {
    "tensors": (square, of_square, saved, [[2, 4]], [[12, 20]]),
    "arrays": (square, of_square_by_arrays, saved, [[2, 4]], None),
    "arrays of an attribute": (square, of_square_by_arrays_of_an_attribute, as_attribute, [[2, 4]], None),
    "arrays for one of two": (product, of_product_half_by_arrays, saved, [[3, 4], [1, 2]], None),
    "none for one of two": (product, of_product_by_sizes, saved, [[3, 4], [0, 0]], [[0, 0], [8, 10]]),
    "constants": (lambda x: of_array(np.sign(x.numpy())), of_steps, saved, [[0, 0]], [[0, 0]]),
}


def values(gradients):
    return [[0, 0] if g is None else g.tolist() for g in gradients]


@every_way
@pytest.mark.parametrize("case", CASES)
def test_gradients_that_were_computed_apart_from_tensors_are_not_differentiated(case, way, request):
    function, backward, setup, first, second = CASES[case]
    name = "test::of_" + re.sub(r"\W", "_", request.node.name)
    operator = paddle.library.custom_op(name, function, mutates_args=())
    operator.register_fake(lambda *xs: paddle.empty_like(xs[0]))
    operator.register_autograd(backward, setup_context=setup)
    f = way(lambda *xs: operator(*xs) * 1.0)
    xs = [paddle.to_tensor(v, stop_gradient=False) for v in ([1.0, 2.0], [3.0, 4.0])][: len(first)]

    def slopes():
        return paddle.grad(f(*xs).sum(), xs, create_graph=True, allow_unused=True)

    assert values(slopes()) == first
    sum((g * 0.0).sum() for g in slopes() if g is not None).backward()  # what adds nothing is not refused
    assert values(x.grad for x in xs) == [[0, 0]] * len(xs)
    total = sum(((g + 1.0) ** 2).sum() for g in slopes() if g is not None)
    if second is None:
        with pytest.raises(RuntimeError, match="requires gradients that backward computes with tensors"):
            total.backward()
        for x in xs:
            x.clear_grad()
        total = sum(((g.detach() + 1.0) ** 2).sum() + x.sum() for g, x in zip(slopes(), xs, strict=True))
        second = [[1, 1]] * len(xs)  # constants: said so
    total.backward()
    assert values(x.grad for x in xs) == second


def test_saved_tensors_that_were_modified_since_are_no_matter_to_gradients_that_do_not_read_them():
    operator = paddle.library.custom_op("test::sign_of_saved", lambda x: of_array(np.sign(x.numpy())), mutates_args=())
    operator.register_fake(paddle.empty_like)
    operator.register_autograd(of_steps, setup_context=saved)
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * 1.0
    z = operator(y)
    y.add_(paddle.ones([2]))
    (g,) = paddle.grad((z * z).sum(), x, create_graph=True)
    assert g.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("given", ["float16", "float64", "int64", "complex128"])
@pytest.mark.parametrize("mode", ["eager", "captured", "untraceable", "static"])
def test_gradients_of_other_dtypes_are_those_of_the_operands(given, mode):
    """As in PyLayer: an operator that computes narrow, or casts, may give what it has."""
    name = f"tests::cast_{given}_{mode}"
    twice = paddle.library.custom_op(name, mutates_args=())(_twice)
    twice.register_fake(lambda x, y: paddle.empty_like(x))
    reads = mode == "untraceable"

    def backward(ctx, g):
        g = paddle.to_tensor(g.numpy()) if reads else g
        return (g * 2).astype(given), None

    twice.register_autograd(backward)
    x, y = paddle.to_tensor([1.0, 2.0], stop_gradient=False), paddle.to_tensor([1, 2])
    f = lambda x: (twice(x, y) + twice(x * 1, y) + x).sum()  # noqa: E731
    if mode == "static":
        program = paddle.static.Program()
        paddle.enable_static()
        try:
            with paddle.static.program_guard(program, paddle.static.Program()):
                fed = paddle.static.data("x", [2], "float32")
                fed.stop_gradient = False
                (g,) = paddle.static.gradients([twice(fed, fed).sum()], [fed])
                got = paddle.static.Executor().run(program, feed={"x": x.numpy()}, fetch_list=[g])[0]
        finally:
            paddle.disable_static()
        assert got.dtype == np.float32 and got.tolist() == [2.0, 2.0]
        return
    (f if mode == "eager" else paddle.jit.to_static(f))(x).backward()
    assert x.grad.dtype == paddle.float32
    assert x.grad.tolist() == [5.0, 5.0]


def _twice(x: paddle.Tensor, y: paddle.Tensor) -> paddle.Tensor:
    return x * 2
