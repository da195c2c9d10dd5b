"""Functions of users as operators: eager, captured, in programs and in files they mean the same."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import paddle
from tests.support.custom_operators import Drawn, as_arrays, draw, judge
from umiak.ir.registry import REGISTRY

Tensor = paddle.Tensor


def tensors(args, leaf=True):
    """Arguments with tensors for arrays."""
    out = []
    for x in args:
        if isinstance(x, np.ndarray):
            out.append(paddle.to_tensor(x, stop_gradient=not leaf))
        elif isinstance(x, list):
            out.append(tensors(x, leaf))
        else:
            out.append(x)
    return out


def flat(args):
    return [t for x in args for t in (flat(x) if isinstance(x, list) else [x]) if isinstance(t, Tensor)]


def results_of(drawn: Drawn, outputs) -> list:
    return [outputs] if drawn.results == 1 else list(outputs)


def agree(drawn: Drawn, call, args, gradients=True):
    """Results and gradients of a call, with those of the judge."""
    given = tensors(args)
    outputs = results_of(drawn, call(*given))
    wanted, slopes = judge(args, drawn.results)
    for got, want in zip(outputs, wanted, strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=2e-5, atol=1e-6)
    if gradients:
        sum(y.sum() for y in outputs).backward()
        for x, slope in zip(flat(given), slopes, strict=True):
            np.testing.assert_allclose(x.grad.numpy(), slope, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("number", range(8))
def test_random_schemas_mean_the_same_everywhere(number, rng, tmp_path):
    drawn = draw(rng, f"drawn::op{number}")
    operator = drawn.operator
    for n in (2, 3):
        agree(drawn, operator, drawn.arguments(rng, n))
    for full_graph in (False, True):
        captured = paddle.jit.to_static(lambda *args: operator(*args), full_graph=full_graph)
        fixed = drawn.arguments(rng, 2)
        for n in (2, 3, 2):
            # Numbers and sizes differ, what belongs to the call does not.
            args = [
                f if isinstance(f, (bool, str)) or f is None else x
                for f, x in zip(fixed, drawn.arguments(rng, n), strict=True)
            ]
            agree(drawn, captured, args)
    saved_and_static(drawn, rng, tmp_path / "model")


def saved_and_static(drawn, rng, path):
    args = drawn.arguments(rng, 2)

    class Model(paddle.nn.Layer):
        def forward(self, *arrays):
            given = iter(arrays)

            def filled(x):
                if isinstance(x, np.ndarray):
                    return next(given)
                return [filled(item) for item in x] if isinstance(x, list) else x

            return drawn.operator(*map(filled, args))

    arrays = [t.numpy() for t in flat(tensors(args))]
    specs = [paddle.static.InputSpec([None, 3]) for _ in arrays]
    paddle.jit.save(Model(), str(path), specs)
    loaded = paddle.jit.load(str(path))

    def called(*given):
        return loaded(*flat(list(given)))

    agree(drawn, called, args)
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            given = [paddle.static.data(f"x{i}", [None, 3]) for i in range(len(arrays))]
            for x in given:
                x.stop_gradient = False
            outputs = results_of(drawn, Model()(*given))
            assert drawn.operator.name in str(paddle.static.default_main_program())
            slopes = paddle.static.gradients([sum(y.sum() for y in outputs)], given)
            feed = {f"x{i}": a for i, a in enumerate(arrays)}
            got = paddle.static.Executor().run(feed=feed, fetch_list=[*outputs, *slopes])
    finally:
        paddle.disable_static()
    wanted, slopes = judge(args, drawn.results)
    for y, want in zip(got, [*wanted, *slopes], strict=True):
        np.testing.assert_allclose(y, want, rtol=2e-4, atol=1e-5)


def cube(register_gradient=True, fake=True):
    @paddle.library.custom_op("test::cube", mutates_args=())
    def cube(x: Tensor) -> Tensor:
        return paddle.to_tensor(x.numpy() ** 3)

    if fake:
        cube.register_fake(lambda x: paddle.empty_like(x))
    if register_gradient:
        cube.register_autograd(
            lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2,
            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
        )
    return cube


@pytest.mark.parametrize("fake", [False, True])
def test_gradients_of_any_order(fake):
    operator = cube(fake=fake)
    x = paddle.to_tensor([2.0], stop_gradient=False)
    (first,) = paddle.grad(operator(x), x, create_graph=True)
    (second,) = paddle.grad(first, x, create_graph=True)
    assert (float(first), float(second), float(paddle.grad(second, x)[0])) == (12.0, 12.0, 6.0)


def test_arguments_that_are_given_by_name_alone(rng):
    @paddle.library.custom_op("named::blend", mutates_args=())
    def blend(x: Tensor, y: Tensor, by: float = 1.0, *, scale: float, more: Tensor | None = None) -> Tensor:
        return (x + y * by) * scale if more is None else (x + y * by) * scale + more

    def keep(ctx, inputs, names, output):
        ctx.by, ctx.names = inputs[2], names

    def slope(ctx, g):
        return g * ctx.names["scale"], g * ctx.names["scale"] * ctx.by, None

    blend.register_fake(lambda x, y, by, *, scale, more: paddle.empty_like(x))
    x, y = (paddle.to_tensor(rng.standard_normal(3), stop_gradient=False) for _ in range(2))
    calls = (lambda: blend(x, y, scale=3.0), lambda: blend(x, y, 0.5, scale=2.0, more=x.detach()))
    wanted = (3 * (x + y), (x + y * 0.5) * 2 + x.detach())
    for with_rule in (False, True):
        if with_rule:
            blend.register_autograd(slope, setup_context=keep)
        for f, want in zip(calls, wanted, strict=True):
            for call in (f, paddle.jit.to_static(f, full_graph=True)):
                np.testing.assert_allclose(call().numpy(), want.numpy())
                for g, w in zip(
                    paddle.grad(call().sum(), [x, y]), paddle.grad(want.sum(), [x, y], retain_graph=True), strict=True
                ):
                    np.testing.assert_allclose(g.numpy(), w.numpy())
    blend.register_sharding(lambda x, y, by, *, scale, more: "i, i, i -> i" if more is not None else "i, i -> i")
    library = paddle.library.Library("named", "FRAGMENT")
    library.define("twice(Tensor x, *, float by=2.0) -> Tensor")
    library.impl("twice", lambda x, by: x * by, "CPU")  # a function that takes it by position, too
    assert paddle.ops.named.twice(paddle.ones([1]), by=4.0).tolist() == [4.0]
    library.close()
    with pytest.raises(TypeError, match=r"\[named::blend\] requires at most 3 positional arguments, got 4"):
        blend(x, y, 1.0, 2.0)


def test_packages_keep_what_belongs_to_an_operator_as_its_attributes():
    def thrice(x: Tensor, by: float = 3.0) -> Tensor:
        return x * by

    operator = paddle.library.custom_op("kept::thrice", thrice, mutates_args=())
    operator.cache = {"a": 1}
    assert paddle.ops.kept.thrice.cache == {"a": 1}
    assert operator._init_fn is thrice


def test_without_a_rule_gradients_flow_through_the_function():
    @paddle.library.custom_op("test::squared", mutates_args=())
    def squared(x: Tensor, by: float = 1.0) -> Tensor:
        return x * x * by

    squared.register_fake(lambda x, by: paddle.empty_like(x))
    captured = paddle.jit.to_static(lambda x: squared(x * 1.0, 2.0), full_graph=True)
    for f in (lambda x: squared(x, 2.0), captured, captured):
        x = paddle.to_tensor([3.0], stop_gradient=False)
        f(x).backward()
        assert float(x.grad) == 12.0


def test_what_cannot_be_traced_has_no_gradient_through_its_function():
    operator = cube(register_gradient=False)
    captured = paddle.jit.to_static(lambda x: operator(x) + x, full_graph=True)
    for f in (lambda x: operator(x) + x, captured, captured):
        x = paddle.to_tensor([2.0], stop_gradient=False)
        y = f(x)
        y.backward()
        assert (float(y), float(x.grad)) == (10.0, 1.0)


def test_the_function_is_called_at_every_run_and_is_one_operation():
    calls = []

    @paddle.library.custom_op("test::counted", mutates_args=())
    def counted(x: Tensor) -> Tensor:
        calls.append(tuple(x.shape))
        return x + 1

    counted.register_fake(lambda x: paddle.empty_like(x))
    captured = paddle.jit.to_static(lambda x: counted(counted(x) * 2), full_graph=True)
    for n in (2, 3, 4):
        before = len(calls)
        assert captured(paddle.ones([n])).tolist() == [5.0] * n
        assert calls[before:] == [(n,)] * 2


def test_numbers_are_no_part_of_an_operation():
    @paddle.library.custom_op("test::scaled", mutates_args=())
    def scaled(x: Tensor, k: int, s: float) -> Tensor:
        return x * k * s

    scaled.register_fake(lambda x, k, s: paddle.empty_like(x))
    for i in range(50):
        assert float(scaled(paddle.ones([1]), i, i + 0.5)) == i * (i + 0.5)
    (op,) = scaled.definition.op._instances.values()
    assert op.table_size() == 1


def test_sizes_follow_numbers_and_tensors():
    @paddle.library.custom_op("test::repeated", mutates_args=())
    def repeated(x: Tensor, times: int) -> Tensor:
        return paddle.to_tensor(np.tile(x.numpy(), [times, 1]))

    repeated.register_fake(lambda x, times: x.new_empty([x.shape[0] * times, x.shape[1]]))
    captured = paddle.jit.to_static(lambda x, k: repeated(x, k).sum(0), full_graph=True)
    for n, k in ((2, 3), (3, 2), (4, 5)):
        assert repeated(paddle.ones([n, 2]), k).shape == [n * k, 2]
        assert captured(paddle.ones([n, 2]), k).tolist() == [n * k] * 2


def test_gradients_that_branch_on_sizes_have_gradients_in_captured_functions():
    """Plans know no sizes, so that ``backward`` runs over data there; what is differentiated further does, too."""

    @paddle.library.custom_op("test::cube_times", mutates_args=())
    def cube_times(x: Tensor, y: Tensor) -> Tensor:
        return paddle.to_tensor(x.numpy() ** 3 * y.numpy())

    def backward(ctx, g):
        x, y = ctx.saved_tensor()
        return (g, g) if x.shape[0] == 99 else (g * 3 * x**2 * y, g * x**3)

    cube_times.register_fake(lambda x, y: paddle.empty_like(x))
    cube_times.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))

    def orders(function):
        x, y = (paddle.to_tensor(v, stop_gradient=False) for v in ([0.5, 0.25], [1.0, 2.0]))
        found = [function(x, y) * function(y, x)]
        for _ in range(3):
            found += paddle.grad((found[-1] ** 2).sum(), x, create_graph=True)
        found[-1].sum().backward()
        return [v.numpy() for v in (*found, x.grad, y.grad)]

    plain = orders(lambda x, y: x**3 * y)
    for function in (
        cube_times,
        *(paddle.jit.to_static(lambda x, y: cube_times(x, y) * 1, full_graph=b) for b in (0, 1)),
    ):
        for got, wanted in zip(orders(function), plain, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4)


def test_gradients_without_history_are_not_differentiated_as_zeros_in_captured_functions():
    @paddle.library.custom_op("test::square_of_arrays", mutates_args=())
    def square(x: Tensor) -> Tensor:
        return paddle.to_tensor(x.numpy() ** 2)

    square.register_fake(paddle.empty_like)
    square.register_autograd(
        lambda ctx, g: paddle.to_tensor(2 * ctx.saved_tensor()[0].numpy() * g.numpy()),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )

    def product(x, y):
        return square(x) * y

    for function in (product, *(paddle.jit.to_static(product, full_graph=full) for full in (False, True))):
        x, y = (paddle.to_tensor(v, stop_gradient=False) for v in ([1.0, 2.0], [3.0, 4.0]))
        of_x, of_y = paddle.grad(function(x, y).sum(), [x, y], create_graph=True)
        assert of_x.tolist() == [6.0, 16.0]
        of_y.sum().backward()  # gradients of the others are 0
        assert x.grad.tolist() == [2.0, 4.0]
    x, y = (paddle.to_tensor(v, stop_gradient=False) for v in ([1.0, 2.0], [3.0, 4.0]))
    (of_x,) = paddle.grad(function(x, y).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"square_of_arrays\] requires gradients that backward"):
        of_x.sum().backward()


def test_numbers_and_sizes_decide_ranks_dtypes_and_counts():
    @paddle.library.custom_op("test::total", mutates_args=())
    def total(x: Tensor, keep: int, wide: float = 0.0) -> Tensor:
        return paddle.to_tensor(x.numpy().sum(1, keepdims=bool(keep)), dtype="float64" if wide > 1 else x.dtype)

    total.register_fake(
        lambda x, keep, wide: paddle.empty(
            [x.shape[0], 1] if keep else [x.shape[0]], dtype="float64" if wide > 1 else x.dtype
        )
    )
    total.register_autograd(lambda ctx, g: (g.reshape([-1, 1]).expand([-1, 3]), None, None))

    @paddle.library.custom_op("test::squeezed", mutates_args=())
    def squeezed(x: Tensor) -> Tensor:
        return paddle.to_tensor(np.squeeze(x.numpy()))

    squeezed.register_fake(lambda x: x.new_empty([n for n in x.shape if n != 1]))

    @paddle.library.custom_op("test::parts", mutates_args=())
    def parts(x: Tensor, n: int) -> list[Tensor]:
        return [paddle.to_tensor(part) for part in np.split(x.numpy(), n)]

    parts.register_fake(lambda x, n: [x.new_empty([x.shape[0] // n, *x.shape[1:]]) for _ in range(n)])
    x = paddle.arange(12, dtype="float32").reshape([4, 3])
    for way in (lambda f: f, paddle.jit.to_static, lambda f: paddle.jit.to_static(f, full_graph=True)):
        totals, squeeze, split = way(lambda *args: total(*args)), way(lambda x: squeezed(x)), way(lambda *a: parts(*a))
        for keep, wide in ((1, 0.0), (0, 0.0), (0, 2.0), (1, 2.0), (1, 0.0)):
            y = totals(x, keep, wide)
            np.testing.assert_array_equal(y.numpy(), x.numpy().sum(1, keepdims=bool(keep)))
            assert y.dtype is (paddle.float64 if wide else paddle.float32)
        for shape in ([2, 1], [2, 3], [1, 1], [2, 1]):
            assert squeeze(paddle.ones(shape)).shape == [n for n in shape if n != 1]
        for n in (1, 2, 4, 2):
            np.testing.assert_array_equal(paddle.stack(split(x, n)).numpy(), np.split(x.numpy(), n))
        for keep in (0, 1):
            y = x.clone().detach()
            y.stop_gradient = False
            totals(y, keep).sum().backward()
            assert y.grad.tolist() == [[1.0] * 3] * 4


def test_rules_that_are_set_again_are_those_of_later_calls():
    @paddle.library.custom_op("test::again", mutates_args=())
    def again(x: Tensor) -> Tensor:
        return x.flatten() if again.flat else x * 2

    again.flat = False
    again.register_fake(lambda x: paddle.empty_like(x))
    x = paddle.ones([2, 3])
    captured = paddle.jit.to_static(lambda x: again(x) + 1)
    assert again(x).shape == captured(x).shape == [2, 3]
    again.flat = True
    again.register_fake(lambda x: x.new_empty([x.shape[0] * x.shape[1]]))
    assert again(x).shape == paddle.jit.to_static(lambda x: again(x) * 1)(x).shape == [6]
    assert not again.definition.varies


def test_operators_that_vary_may_call_each_other():
    @paddle.library.custom_op("test::inner", mutates_args=())
    def inner(x: Tensor, k: int) -> Tensor:
        return x.reshape([-1]) if k else x

    inner.register_fake(lambda x, k: x.new_empty([x.shape[0] * x.shape[1]]) if k else paddle.empty_like(x))

    @paddle.library.custom_op("test::outer", mutates_args=())
    def outer(x: Tensor, k: int) -> Tensor:
        return inner(x, k) * 2

    outer.register_fake(lambda x, k: x.new_empty([x.shape[0] * x.shape[1]]) if k else paddle.empty_like(x))
    x = paddle.ones([2, 3])
    for k in (0, 1, 0, 1):
        assert outer(x, k).shape == inner(x, k).shape == ([6] if k else [2, 3])


def test_written_arguments_change_in_place_in_programs_too():
    @paddle.library.custom_op("test::add_to", mutates_args="x")
    def add_to(x: Tensor, y: Tensor) -> None:
        x.add_(y)

    add_to.register_fake(lambda x, y: None)

    def program(a):
        total = a * 1
        part = total[0]
        add_to(total, a)
        return total, part

    for f in (program, paddle.jit.to_static(program), paddle.jit.to_static(program, full_graph=True)):
        total, part = f(paddle.ones([2, 2]))
        assert total.tolist() == [[2.0, 2.0]] * 2 and part.tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match=r"\[test::add_to\] requires an operator that writes to none of its arguments"):
        add_to.register_autograd(lambda ctx: None)


def test_what_gives_nothing_is_called_in_order():
    seen = []

    @paddle.library.custom_op("test::note", mutates_args=())
    def note(x: Tensor, by: float) -> None:
        seen.append(float(x) * by)

    note.register_fake(lambda x, by: None)

    @paddle.jit.to_static(full_graph=True)
    def captured(x):
        note(x, 1.0)
        note(x + 1, 2.0)
        return x

    for _ in range(2):
        captured(paddle.ones([]))
    assert seen[-4:] == [1.0, 4.0] * 2


def test_results_that_are_arguments_are_copies():
    @paddle.library.custom_op("test::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    same.register_fake(lambda x: paddle.empty_like(x))
    x = paddle.ones([2])
    y = same(x)
    y.add_(1.0)
    assert x.tolist() == [1.0, 1.0] and y.tolist() == [2.0, 2.0]


WRONG = {
    "shape": (lambda x: x[0], r"\[test::wrong\] requires result 0 to be float32 of shape \[2\], as register_fake says"),
    "dtype": (lambda x: x.astype("int32"), "got int32 of shape"),
    "count": (lambda x: (x, x), "requires 1 results"),
    "number": (lambda x: (3.0,), "a tensor as result 0, got float"),
}


@pytest.mark.parametrize("case", WRONG)
def test_results_are_as_they_were_declared(case):
    function, message = WRONG[case]
    operator = paddle.library.custom_op("test::wrong", function, mutates_args=())
    operator.register_fake(lambda x: paddle.empty_like(x))
    captured = paddle.jit.to_static(lambda x: operator(x), full_graph=True)
    for f in (operator, captured):
        with pytest.raises((ValueError, TypeError), match=message):
            f(paddle.ones([2]) * 2)


def test_one_tensor_as_two_written_arguments():
    """Programs have values, of which two would be written apart: the call is between two graphs."""

    @paddle.library.custom_op("test::doubled_", mutates_args=("xs",))
    def doubled(xs: list[paddle.Tensor]) -> None:
        for x in xs:
            x.scale_(2.0)

    doubled.register_fake(lambda xs: None)

    def f(x):
        y = x * 1.0
        doubled([y, y])
        return y + 1

    x = paddle.ones([2])
    for call in (f, paddle.jit.to_static(f, full_graph=False)):
        assert call(x).tolist() == [5.0] * 2
    with pytest.raises(RuntimeError, match=r"different tensors to write to, got one twice"):
        paddle.jit.to_static(f, full_graph=True)(x)


def test_writes_that_were_not_declared_are_refused():
    operator = paddle.library.custom_op("test::sly", lambda x: x.add_(1.0) * 2, mutates_args=())
    operator.register_fake(lambda x: paddle.empty_like(x))
    with pytest.raises(RuntimeError, match=r"writes to its mutates_args alone, got one that writes to 'x'"):
        operator(paddle.ones([2]))


def test_kernels_by_device():
    operator = paddle.library.custom_op("test::placed", lambda x: x * 2, mutates_args=(), device_types="gpu")
    with pytest.raises(NotImplementedError, match=r"\[test::placed\] requires a kernel for 'cpu', got those for"):
        operator(paddle.ones([1]))

    @paddle.library.register_kernel("test::placed", "cpu")
    def _(x):
        return x * 3

    assert float(operator(paddle.ones([1]))) == 3.0


REFUSED = {
    "a name without a namespace": (
        lambda: paddle.library.custom_op("cube", lambda x: x, mutates_args=()), AssertionError, "my_namespace::my_op",
    ),
    "any number of arguments": (
        lambda: paddle.library.custom_op("test::a", lambda *x: x, mutates_args=()), TypeError, "fixed number",
    ),
    "unknown written arguments": (
        lambda: paddle.library.custom_op("test::a", lambda x: x, mutates_args="y"), ValueError, r"got \['y'\]",
    ),
    "no function": (lambda: paddle.library.custom_op("test::a", 3, mutates_args=()), TypeError, "requires a function"),
    "no schema": (
        lambda: paddle.library.custom_op("test::a", len, mutates_args=(), schema="x"), ValueError, "schema like",
    ),
    "a default of another type": (
        lambda: paddle.library.custom_op("test::a", len, mutates_args=(), schema="(Tensor x, int n='a') -> int"),
        ValueError, "defaults of their argument's type",
    ),
    "an unknown operator": (lambda: paddle.library.register_fake("test::b", len), ValueError, "a registered operator"),
    "an operator that is not there": (lambda: paddle.ops.test.other, AttributeError, "'test::other' is registered"),
    "a namespace that is not there": (lambda: paddle.ops.nowhere.other, AttributeError, "namespace 'nowhere'"),
    "an argument of another type": (lambda: cube()("x"), TypeError, r"requires Tensor for argument 'x', got str"),
    "too few arguments": (lambda: cube()(), TypeError, "requires argument 'x', got none"),
    "too many arguments": (lambda: cube()(1, 2), TypeError, "at most 1 positional arguments, got 2"),
    "an unknown keyword": (lambda: cube()(y=1), TypeError, "has no argument 'y'"),
    "an object": (
        lambda: paddle.library.custom_op("test::a", lambda x: x, mutates_args=())(object()), TypeError,
        "got object for 'x'",
    ),
    "a second one": (lambda: (cube(), cube()), ValueError, "registered already"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    action, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        action()


def test_backward_gives_a_gradient_for_each_argument():
    operator = cube(register_gradient=False)
    x = paddle.to_tensor([2.0], stop_gradient=False)
    operator.register_autograd(lambda ctx, g: (g, g))
    with pytest.raises(
        ValueError, match=r"\[test::cube\] requires a gradient from backward for each of its 1 arguments"
    ):
        operator(x).backward()
    operator.register_autograd(lambda ctx, g: 3)
    with pytest.raises(TypeError, match="tensors or None from backward, got int"):
        operator(x).backward()


def test_models_need_their_operators(tmp_path):
    operator = cube()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paddle.jit.save(
            paddle.jit.to_static(lambda x: operator(x)), str(tmp_path / "m"), [paddle.static.InputSpec([2])]
        )
    script = textwrap.dedent(f"""
        import paddle
        try:
            paddle.jit.load({str(tmp_path / "m")!r})
        except RuntimeError as error:
            print(error)
    """)
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "got no test::cube. Import the module that registers them" in said


def test_sharding_rules_are_read():
    from umiak.core import dtype as dt
    from umiak.ir.meta import Meta
    from umiak.spmd.rule import parse

    def function(x: Tensor, w: Tensor, s: float) -> Tensor:
        return x @ w * s

    operator = paddle.library.custom_op("test::product", function, mutates_args=())
    operator.register_fake(lambda x, w, s: x @ w)
    op = operator.definition.op(("x", "x", "f"))
    metas = Meta((4, 6), dt.float32), Meta((6, 2), dt.float32)
    unsharded = parse(op.name, op.shard(*metas, (), (2.0,)), 2)
    assert all(f.reduction == "replicated" for f in unsharded.factors.values())
    operator.register_sharding("i k, k j -> i j ; k=sum")
    rule = parse(op.name, op.shard(*metas, (), (2.0,)), 2)
    assert rule.factors["k"].reduction == "sum"


def test_libraries():
    lib = paddle.library.Library("test", "FRAGMENT")
    assert lib.define("twice(Tensor x, *, int k=2) -> Tensor") == "test::twice"
    lib.impl("twice", lambda x, k: x * k, "CPU")
    lib.impl("twice", lambda x, k: paddle.empty_like(x), "Meta")
    assert paddle.ops.test.twice(paddle.ones([1]), k=3).tolist() == [3.0]
    with pytest.raises(ValueError, match=r"one of CPU, .* as dispatch_key, got 'Autograd'\. Use register_autograd"):
        lib.impl("twice", len, "Autograd")
    lib.close()
    assert "test::twice" not in REGISTRY and not hasattr(paddle.ops.test, "twice")


def test_annotations_and_texts_say_the_same():
    def function(
        x: Tensor,
        y: Tensor | None,
        zs: list[Tensor],
        k: int,
        s: float = 1.0,
        axes: list[int] = (0,),
        *,
        mode: str = "a",
    ) -> tuple[Tensor, Tensor]:
        return x, x

    own = paddle.library.custom_op("test::a", function, mutates_args="x")
    text = (
        "test::a(Tensor(!) x, Tensor? y, Tensor[] zs, int k, float s=1.0, int[] axes=(0,), *, str mode='a') -> "
        "(Tensor, Tensor)"
    )
    assert own.schema == text
    read = paddle.library.custom_op(
        "test::b", function, mutates_args=(), schema=text.replace("test::a", "").replace("(!)", "(a!)")
    )
    assert read.schema == text.replace("test::a", "test::b")


def test_what_arrays_are():
    args = [np.ones(1), [np.ones(1)], 2, None]
    assert as_arrays(tensors(args))[2:] == args[2:]


def test_the_overload_without_a_name_is_the_operator():
    @paddle.library.custom_op("tests::thrice_by_default", mutates_args=())
    def thrice(x: Tensor) -> Tensor:
        return x * 3

    assert paddle.ops.tests.thrice_by_default.default is thrice
    assert thrice.default(paddle.ones([2])).tolist() == [3.0, 3.0]


def test_a_function_without_annotations_may_be_called_with_numbers_alone():
    """What it gives then may be a number, which is no result of an operation."""

    @paddle.library.custom_op("tests::plain_next", mutates_args=())
    def following(x):
        return x + 1

    following.register_fake(lambda x: x)
    assert paddle.ops.tests.plain_next(1) == 2
    assert following(0.5) == 1.5
    assert following(paddle.ones([2])).tolist() == [2.0, 2.0]
