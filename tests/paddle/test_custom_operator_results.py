"""Results of users' operators: what gives them back, whose rules they follow, and sizes that only the data tell."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import paddle

Tensor = paddle.Tensor
WAYS = {
    "eager": lambda f: f,
    "captured": paddle.jit.to_static,
    "one graph": lambda f: paddle.jit.to_static(f, full_graph=True),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def given_back(y, n):
    """As ``n`` says: one tensor, a list, or a tuple of one or more."""
    return y() if n == 0 else [y()] if n == 1 else tuple(y() for _ in range(n - 1))


def kind(result):
    return Tensor if isinstance(result, Tensor) else (type(result), len(result))


KINDS = {0: Tensor, 1: (list, 1), 2: (tuple, 1), 3: (tuple, 2)}


@every_way
def test_numbers_decide_what_gives_results_back(way, request):
    name = f"test::given_back_{request.node.callspec.id.replace(' ', '_')}"

    @paddle.library.custom_op(name, mutates_args=())
    def repeated(x: Tensor, n: int):
        return given_back(lambda: x * 2.0, n)

    repeated.register_fake(lambda x, n: given_back(lambda: paddle.empty_like(x), n))
    repeated.register_autograd(lambda ctx, *grads: (2.0 * sum(grads[0] if isinstance(grads[0], list) else grads), None))
    f = way(lambda x, n: repeated(x, n))
    for n in (0, 1, 2, 3, 2, 1, 0):
        x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        y = f(x, n)
        assert kind(y) == KINDS[n]
        (y if n == 0 else sum(y)).sum().backward()
        assert x.grad.tolist() == [2.0 * max(n - 1, 1)] * 2


@pytest.mark.parametrize("other", ["the function itself", "another thread"])
def test_calls_within_a_call_leave_its_results_as_they_are(other):
    """Rules of the inner call are asked when the outer one has asked its own and not given back its results."""

    @paddle.library.custom_op(f"test::inner_{other.replace(' ', '_')}", mutates_args=())
    def nested(x: Tensor, n: int):
        def inner():
            assert kind(nested(x, n - 1)) == KINDS[n - 1]

        if n and other == "another thread":
            thread = threading.Thread(target=inner)
            thread.start()
            thread.join()
        elif n:
            inner()
        return given_back(lambda: x * 1.0, n)

    nested.register_fake(lambda x, n: given_back(lambda: paddle.empty_like(x), n))
    x = paddle.ones([2])
    for n in (0, 1, 2, 3, 0, 1, 2, 3):
        assert kind(nested(x, n)) == KINDS[n]


@pytest.mark.parametrize("gradient", [False, True])
def test_rules_that_are_set_again_are_asked_where_gradients_flow_through_the_function(gradient):
    @paddle.library.custom_op(f"test::set_again_{gradient}", mutates_args=())
    def doubled(x: Tensor):
        return x * 2.0

    x = paddle.to_tensor([1.0, 2.0], stop_gradient=not gradient)
    doubled.register_fake(lambda x: paddle.empty_like(x))
    assert doubled(x).tolist() == [2.0, 4.0]
    doubled.register_fake(lambda x: x.new_empty([3]))
    with pytest.raises(ValueError, match=r"result 0 to be float32 of shape \[3\], as register_fake says"):
        doubled(x)
    doubled.register_fake(lambda x: [paddle.empty_like(x)])
    assert [y.tolist() for y in doubled(x)] == [[2.0, 4.0]]


def places(x: Tensor) -> tuple[Tensor, Tensor]:
    """Where elements are not 0, and each of those twice."""
    at = np.nonzero(x.numpy())
    return paddle.to_tensor(np.stack(at, 1)), paddle.to_tensor(np.repeat(x.numpy()[at], 2))


def with_places(name):
    operator = paddle.library.custom_op(f"test::{name}", places, mutates_args=())

    def shapes(x):
        n = paddle.library.get_ctx().new_dynamic_size(max=x.shape[0] * 9)
        return paddle.empty([n, x.ndim], dtype="int64"), x.new_empty([2 * n])

    def backward(ctx, _, grad):
        x, at = ctx.saved_tensor()
        return paddle.scatter_nd(at, grad.reshape([-1, 2]).sum(1), x.shape)

    operator.register_fake(shapes)
    operator.register_autograd(
        backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs, output[0])
    )
    return operator


ARRAYS = [np.float32([[1, 0], [2, 3]]), np.zeros((2, 2), np.float32), np.float32([[1, 0, 3]])]


@every_way
def test_sizes_that_the_data_decide(way, request):
    operator = with_places(f"places_{request.node.callspec.id.replace(' ', '_')}")

    @way
    def f(x):
        at, values = operator(x * 2.0)
        return at * 1, values, (values * values).sum(), values.shape[0]

    for a in ARRAYS:
        x = paddle.to_tensor(a, stop_gradient=False)
        at, values, total, n = f(x)
        np.testing.assert_array_equal(at.numpy(), np.argwhere(a))
        np.testing.assert_array_equal(values.numpy(), np.repeat(2 * a[a != 0], 2))
        assert int(n) == 2 * np.count_nonzero(a)
        total.backward()
        np.testing.assert_array_equal(x.grad.numpy(), 16 * a)


def test_sizes_that_the_data_decide_in_files(tmp_path):
    operator = with_places("places_in_files")

    class Model(paddle.nn.Layer):
        def forward(self, x):
            at, values = operator(x * 2.0)
            return at, values + 1.0

    paddle.jit.save(Model(), str(tmp_path / "model"), [paddle.static.InputSpec([None, None])])
    loaded = paddle.jit.load(str(tmp_path / "model"))
    for a in ARRAYS:
        at, values = loaded(paddle.to_tensor(a))
        np.testing.assert_array_equal(at.numpy(), np.argwhere(a))
        np.testing.assert_array_equal(values.numpy(), np.repeat(2 * a[a != 0], 2) + 1)


def test_functions_of_shapes_may_branch_on_such_sizes_by_their_bounds_alone():
    def positive(bounds):
        operator = paddle.library.custom_op(f"test::positive_{len(bounds)}", lambda x: x[x > 0], mutates_args=())

        @operator.register_fake
        def _(x):
            n = paddle.library.get_ctx().new_dynamic_size(**bounds)
            return x.new_empty([n] if n >= 1 else [n, 1])

        return operator

    x, wanted = paddle.to_tensor([1.0, -1.0, 2.0]), [2.0, 4.0]
    for operator in (positive({}), positive({"min": 1})):
        for name in ("eager", "captured"):
            assert WAYS[name](lambda x, operator=operator: operator(x) * 2.0)(x).tolist() == wanted
    whole = WAYS["one graph"]
    assert whole(lambda x: paddle.ops.test.positive_1(x) * 2.0)(x).tolist() == wanted
    with pytest.raises(RuntimeError, match="does not branch on sizes that data decide"):
        whole(lambda x: paddle.ops.test.positive_0(x) * 2.0)(x)


def test_such_sizes_are_asked_for_in_functions_of_shapes():
    with pytest.raises(RuntimeError, match=r"\[get_ctx\] requires a function of shapes"):
        paddle.library.get_ctx()
    operator = paddle.library.custom_op("test::bad_bounds", lambda x: x, mutates_args=())
    operator.register_fake(lambda x: x.new_empty([paddle.library.get_ctx().new_dynamic_size(min=3, max=2)]))
    with pytest.raises(ValueError, match="requires 0 <= min <= max, got min=3 and max=2"):
        operator(paddle.ones([2]))
