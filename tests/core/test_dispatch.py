"""What makes a new plan and what does not; odd operands; writing into tensors; what a call leaves behind."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from harness import CPU, NULL, backward, count_plans, leaf, leaves_nothing, python_calls, run_threads, tensor, values
from numpys import MOST_AXES

from tests.support.garbage import collect_garbage
from umiak import ops as F
from umiak.core import context, eager, inplace, python_nodes, storage, stream, tape
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.place import Place
from umiak.core.tensor import empty


def table(name: str, **attributes) -> int:
    return F.REGISTRY[name](**attributes).table_size()


# --- keys ------------------------------------------------------------------------------------------------------------


def test_ten_thousand_numbers_make_one_plan():
    x = tensor([1.0, 2.0])
    F.mul(x, 0.5)
    before = table("mul")
    with count_plans() as plans:
        for i in range(10_000):
            F.mul(x, i * 0.001)
    assert not plans
    assert table("mul") == before


def test_many_values_of_each_kind_of_param_make_one_plan():
    x = tensor(np.arange(64.0).reshape(8, 8))
    F.leaky_relu(x, 0.1)
    F.slice(x, axes=(0,), starts=(0,), sizes=(4,), steps=(1,))
    F.full(0.5, dtype=dt.float32, shape=(2,))
    with count_plans() as plans:
        for i in range(300):
            F.leaky_relu(x, 0.001 * i)
            n = i % 8
            out = F.slice(x, axes=(0,), starts=(n,), sizes=(8 - n,), steps=(1,))
            assert out.shape == [8 - n, 8]
            F.full(0.5 * i, dtype=dt.float32, shape=(i,))
    assert not plans


def test_many_shapes_make_one_plan():
    def call(m: int, n: int) -> None:
        x, y = empty((m, n), dt.float32, NULL), empty((n, m + 1), dt.float32, NULL)
        assert F.matmul(x, y).shape == [m, m + 1]
        assert F.sum(x, axes=(1,)).shape == [m]
        assert F.softmax(x, axis=0).shape == [m, n]
        assert F.concat((x, x, x), axis=0).shape == [3 * m, n]
        assert F.broadcast_to(F.unsqueeze(x, axes=(0,)), shape=(n, m, n)).shape == [n, m, n]

    call(2, 3)
    with count_plans() as plans:
        for m in range(2, 40):
            for n in range(2, 12):
                call(m, n)
    assert not plans


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_sizes_of_0_and_1_share_the_plan(n):
    x, y = tensor(np.ones((3, 4))), tensor(np.ones((4, 3)))
    F.add(x, x)
    F.matmul(x, y)
    with count_plans() as plans:
        x, y = tensor(np.ones((n, 4))), tensor(np.ones((4, n)))
        assert F.add(x, x).shape == [n, 4]
        assert F.matmul(x, y).shape == [n, n]
    assert not plans


def different_plans(f, *calls) -> int:
    op = F.REGISTRY["add"]()
    op.clear()
    for call in calls:
        f(*call)
    return op.table_size()


def test_what_makes_a_new_plan():
    x, wide = tensor(np.ones((2, 2), "f4")), tensor(np.ones((2, 2)))
    strided = F.permute(x, perm=(1, 0))
    expanded = F.broadcast_to(tensor(np.ones(2, "f4")), shape=(2, 2))
    row = tensor(np.ones(2, "f4"))
    null = empty((2, 2), dt.float32, NULL)
    wanted = leaf(np.ones((2, 2)), "f4")
    for other in (
        (wide, wide),
        (strided, x),
        (x, strided),
        (expanded, x),
        (row, x),
        (null, null),
        (wanted, x),
        (x, 1.0),
        (x, 1),
    ):
        assert different_plans(F.add, (x, x), other) == 2, other
    assert different_plans(F.add, (x, x), (x, tensor(np.zeros((2, 2), "f4")))) == 1
    assert different_plans(F.add, (x, 1.0), (x, 2.0)) == 1
    assert different_plans(F.add, (x, 1), (x, 1.0), (x, True)) == 3


def test_grad_mode_shares_plans_where_nothing_is_recorded():
    x = tensor(np.ones((2, 2)))
    wanted = leaf(np.ones((2, 2)))
    op = F.REGISTRY["add"]()
    op.clear()
    F.add(x, x)
    with no_grad_guard():
        F.add(x, x)
        assert F.add(wanted, x).stop_gradient
    assert op.table_size() == 1
    F.add(wanted, x)
    assert op.table_size() == 2


def test_length_of_an_ints_param_is_identity_and_its_values_are_not():
    x = tensor(np.arange(24.0))
    op = F.REGISTRY["reshape"]()
    op.clear()
    for shape in ((2, 12), (12, 2), (24, 1)):
        assert F.reshape(x, shape=shape).shape == list(shape)
    assert op.table_size() == 1
    F.reshape(x, shape=(2, 3, 4))
    F.reshape(x, shape=(24,))
    assert op.table_size() == 3


def test_equal_attributes_are_one_record():
    softmax = F.REGISTRY["softmax"]
    assert softmax(axis=1) is softmax(1)
    assert softmax(1) is not softmax(0)
    assert F.REGISTRY["sum"]((0,), True) is not F.REGISTRY["sum"]((0,), 1)
    with pytest.raises(AttributeError, match="frozen"):
        softmax(1).axis = 2


def test_clear_makes_plans_anew():
    op = F.REGISTRY["exp"]()
    x = tensor([1.0])
    F.exp(x)
    op.clear()
    assert op.table_size() == 0
    with count_plans() as plans:
        F.exp(x)
        F.exp(x)
    assert plans["exp"] == 1


# --- cost of the second call -----------------------------------------------------------------------------------------


def test_second_call_runs_no_python():
    """On null, whose kernels are native: forward, composite, views, backward."""
    x, w = leaf(np.ones((4, 3)), place=NULL), leaf(np.ones((3, 5)), place=NULL)
    add, matmul, softmax = F.REGISTRY["add"](), F.REGISTRY["matmul"](False, False), F.REGISTRY["softmax"](1)
    total, permute = F.REGISTRY["sum"]((0, 1), False), F.REGISTRY["permute"]((1, 0))
    apply, run = eager.apply, tape.backward

    def step():
        y = apply(softmax, (apply(add, (apply(matmul, (x, w)), 0.5)),))
        run([apply(total, (apply(permute, (y,)),))])

    step()
    step()
    assert python_calls(step) == []


def test_strict_functions_add_one_frame():
    x = empty((2, 2), dt.float32, NULL)
    F.add(x, x)
    assert python_calls(lambda: F.add(x, x)) == ["<op add>:add"]
    F.softmax(x, axis=1)
    assert python_calls(lambda: F.softmax(x, axis=1)) == ["<op softmax>:softmax"]


# --- operands --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "number"),
    [
        (np.float32([1.5, -2]), 0.1), (np.float32([1.5, -2]), 3), (np.float32([1.5, -2]), True), (np.int32([5, -7]), 3),
        (np.int64([5, -7]), 2**40), (np.int64([5, -7]), -(2**62)), (np.complex64([1 + 2j]), 0.5 - 1j),
        (np.complex64([1 + 2j]), 2.0),
        (np.float64([1.5]), float("nan")), (np.float64([1.5]), float("inf")), (np.uint8([5, 7]), True),
    ],
)  # fmt: skip
def test_number_operands(array, number):
    x = tensor(array)
    for result, expected in (
        (F.mul(x, number), array * array.dtype.type(number)),
        (F.sub(number, x), array.dtype.type(number) - array),
    ):
        assert result.dtype.numpy == array.dtype
        np.testing.assert_array_equal(values(result), expected.astype(array.dtype))


def test_numpy_numbers_are_numbers():
    x = tensor([1.0, 2.0])
    np.testing.assert_array_equal(values(F.mul(x, np.float64(3))), [3, 6])


@pytest.mark.parametrize(("array", "number"), [(np.int32([1]), 0.5), (np.float32([1]), 1j), (np.bool_([True]), 2)])
def test_number_of_a_higher_kind_is_refused(array, number):
    with pytest.raises(TypeError, match=r"^\[add\] requires .*, got"):
        F.add(tensor(array), number)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**70])
def test_number_beyond_64_bits(number):
    with pytest.raises((OverflowError, TypeError, ValueError), match=r"^\[mul\] requires"):
        F.mul(tensor(np.int64([1])), number)


@pytest.mark.parametrize("operand", ["text", [1.0], np.ones(2), object()])
def test_operands_of_other_types_are_refused(operand):
    with pytest.raises(TypeError, match=r"^\[add\] requires tensors or Python scalars as operands, got"):
        F.add(tensor([1.0]), operand)


def test_absent_operands_have_a_plan_of_their_own():
    x, w, b = tensor(np.ones((2, 3))), tensor(np.ones((3, 4))), tensor(np.arange(4.0))
    op = F.REGISTRY["linear"]()
    op.clear()
    np.testing.assert_array_equal(values(F.linear(x, w)), np.full((2, 4), 3.0))
    np.testing.assert_array_equal(values(F.linear(x, w, None)), np.full((2, 4), 3.0))
    assert op.table_size() == 1
    np.testing.assert_array_equal(values(F.linear(x, w, b)), np.full((2, 4), 3.0) + np.arange(4.0))
    assert op.table_size() == 2


def test_required_operand_absent():
    with pytest.raises(TypeError, match=r"^\[matmul\] requires"):
        F.matmul(tensor(np.ones((2, 2))), None)
    with pytest.raises(TypeError, match=r"^\[add\] requires"):
        F.add(None, None)


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 64, 65, 200])
def test_variadic_operands(count):
    arrays = [np.full((1 + i % 3, 2), float(i)) for i in range(count)]
    result = F.concat(tuple(map(tensor, arrays)), axis=0)
    np.testing.assert_array_equal(values(result), np.concatenate(arrays))


@pytest.mark.parametrize("count", [2, 9, 33, 64, 65, 130])
def test_variadic_gradients(count):
    xs = [leaf(np.full((2,), float(i))) for i in range(count)]
    y = F.concat(tuple(xs), axis=0)
    weights = np.arange(2.0 * count)
    backward(F.sum(F.mul(y, tensor(weights)), axes=(0,)))
    for i, x in enumerate(xs):
        np.testing.assert_array_equal(values(x.grad), weights[2 * i : 2 * i + 2])


def test_variadic_gradients_of_some():
    """A wide call whose operands want gradients here and there."""
    xs = [leaf([float(i)]) if i % 7 == 3 else tensor([float(i)]) for i in range(60)]
    backward(F.sum(F.mul(F.concat(tuple(xs), axis=0), tensor(np.arange(60.0))), axes=(0,)))
    for i, x in enumerate(xs):
        if i % 7 == 3:
            np.testing.assert_array_equal(values(x.grad), [float(i)])
        else:
            assert x.grad is None


@pytest.mark.parametrize("rank", [8, 9, 12, 20])
def test_rank_beyond_the_inline_one(rank):
    shape = (2, 1, 3) + (1,) * (rank - 4) + (2,)
    array = np.arange(12.0).reshape(shape)
    x = leaf(array)
    y = F.mul(x, x)
    perm = tuple(range(rank))[::-1]
    z = F.permute(y, perm=perm)
    assert z.shape == list(shape[::-1])
    np.testing.assert_array_equal(values(z), (array * array).transpose(perm))
    np.testing.assert_array_equal(values(F.copy(z)), (array * array).transpose(perm))
    total = F.sum(z, axes=perm)
    backward(total)
    np.testing.assert_array_equal(values(x.grad), 2 * array)
    assert F.reshape(x, shape=(12,)).shape == [12]
    np.testing.assert_array_equal(values(F.sum(x, axes=(0,))), array.sum(0))


@pytest.mark.parametrize("rank", [MOST_AXES // 2 + 1, MOST_AXES - 1])
def test_highest_ranks(rank):
    array = np.arange(4.0).reshape((1,) * (rank - 2) + (2, 2))
    x = tensor(array)
    np.testing.assert_array_equal(values(F.add(x, x)), array + array)
    perm = tuple(range(rank))[::-1]
    np.testing.assert_array_equal(values(F.permute(x, perm=perm)), array.transpose(perm))
    assert F.reshape(x, shape=(1,) * rank).shape == [1] * rank if array.size == 1 else True
    np.testing.assert_array_equal(values(F.reshape(x, shape=(4,))), np.arange(4.0))


def test_rank_64_is_refused():
    with pytest.raises(ValueError, match=r"^\[(reshape|tensor)\] requires"):
        F.reshape(tensor([1.0]), shape=(1,) * 64)


# --- errors ----------------------------------------------------------------------------------------------------------


def test_errors_say_op_required_and_got():
    a, b = tensor(np.ones((3, 4))), tensor(np.ones((5, 6)))
    with pytest.raises(ValueError, match=r"^\[add\] requires .*got .*\(3, 4\).*\(5, 6\)"):
        F.add(a, b)
    with pytest.raises(ValueError, match=r"^\[matmul\] requires .*got"):
        F.matmul(a, b)
    with pytest.raises(IndexError, match=r"^\[sum\] requires .*got"):
        F.sum(a, axes=(2,))
    with pytest.raises(TypeError, match=r"^\[add\] requires .*float64 and float32"):
        F.add(a, tensor(np.ones((3, 4), "f4")))


def test_errors_are_the_same_once_a_plan_is_there():
    """The first call makes the plan, the second one fails in its shape program: both errors come from ``infer``."""

    def message(x, y):
        with pytest.raises(ValueError) as caught:
            F.matmul(x, y)
        return str(caught.value)

    op = F.REGISTRY["matmul"](False, False)
    op.clear()
    a, b = tensor(np.ones((3, 4))), tensor(np.ones((5, 6)))
    first = message(a, b)
    assert op.table_size() == 0
    F.matmul(a, tensor(np.ones((4, 2))))
    assert op.table_size() == 1
    assert message(a, b) == first
    assert op.table_size() == 1


def test_failed_calls_leave_no_plan():
    op = F.REGISTRY["add"]()
    op.clear()
    for _ in range(3):
        with pytest.raises(ValueError):
            F.add(tensor(np.ones(2)), tensor(np.ones(3)))
    assert op.table_size() == 0


@pytest.mark.parametrize(
    ("call", "pattern"),
    [
        (lambda x: F.leaky_relu(x, "steep"), r"^\[leaky_relu\] requires .*steep"),
        (lambda x: F.slice(x, axes=(0,), starts=0, sizes=(1,), steps=(1,)), r"^\[slice\] requires .*starts"),
        (lambda x: F.slice(x, axes=(0,), starts=(0.5,), sizes=(1,), steps=(1,)), r"^\[slice\] requires .*0\.5"),
        (lambda x: F.reshape(x, shape=("a",)), r"^\[reshape\] requires .*a"),
    ],
)
def test_params_of_other_types_are_refused(call, pattern):
    with pytest.raises(TypeError, match=pattern):
        call(tensor([1.0, 2.0]))


def test_wrong_number_of_params():
    with pytest.raises(TypeError, match=r"^\[leaky_relu\] requires 1 params"):
        eager.apply(F.REGISTRY["leaky_relu"](), (tensor([1.0]),), ())


def test_wrong_number_of_operands():
    add = F.REGISTRY["add"]()
    for operands in ((tensor([1.0]),), (tensor([1.0]),) * 3):
        with pytest.raises(TypeError, match=r"^\[add\] (requires|takes)"):
            eager.apply(add, operands)


def test_mixed_places():
    x, y = tensor([1.0]), empty((1,), dt.float64, NULL)
    with pytest.raises(ValueError, match=r"^\[add\] requires operands on one place, got .*cpu.*null"):
        F.add(x, y)
    z = empty((1,), dt.float64, Place("null", 1))
    with pytest.raises(ValueError, match=r"^\[add\] requires operands on one place"):
        F.add(y, z)
    # A plan for operands on one place does not serve others.
    F.add(x, x)
    with pytest.raises(ValueError, match=r"^\[add\] requires operands on one place"):
        F.add(x, y)


def test_calls_without_tensors_run_on_the_default_place():
    state = context.current().state
    before = state.place
    try:
        assert F.full(1.0, dtype=dt.float32, shape=(2,)).place is CPU
        state.place = NULL
        assert F.full(1.0, dtype=dt.float32, shape=(2,)).place is NULL
    finally:
        state.place = before
    assert F.full(1.0, dtype=dt.float32, shape=(2,)).place is CPU


# --- writing into tensors --------------------------------------------------------------------------------------------


def test_apply_into_writes_and_bumps():
    x, out = tensor(np.arange(6.0).reshape(2, 3)), tensor(np.zeros((2, 3)))
    before = out.inplace_version
    assert inplace.apply_into(F.REGISTRY["mul"](), (out,), (x, 2.0)) is None
    np.testing.assert_array_equal(values(out), 2 * np.arange(6.0).reshape(2, 3))
    assert out.inplace_version == before + 1


def test_apply_into_records_nothing():
    x, out = leaf([1.0, 2.0]), leaf([0.0, 0.0])
    inplace.apply_into(F.REGISTRY["add"](), (out,), (out, x))
    assert out.is_leaf and not out.stop_gradient
    np.testing.assert_array_equal(values(out), [1, 2])


@pytest.mark.parametrize("op", ["softmax", "permute", "exp", "reshape"])
def test_apply_into_of_every_kind_of_plan(op, rng):
    array = rng.standard_normal((3, 3))
    made = {
        "softmax": F.REGISTRY["softmax"](1),
        "permute": F.REGISTRY["permute"]((1, 0)),
        "exp": F.REGISTRY["exp"](),
        "reshape": F.REGISTRY["reshape"](),
    }[op]
    params = ((3, 3),) if op == "reshape" else ()
    x = tensor(array)
    expected = values(eager.apply(made, (x,), params))
    out = tensor(np.zeros((3, 3)))
    inplace.apply_into(made, (out,), (x,), params)
    np.testing.assert_array_equal(values(out), expected)
    # In place, where reading and writing overlap.
    inplace.apply_into(made, (x,), (x,), params)
    np.testing.assert_array_equal(values(x), expected)


@pytest.mark.parametrize(("target", "source"), [(1, 0), (0, 1)])
def test_apply_into_shifted_target(target, source):
    """Target and operand overlap without being the same: everything is read before it is overwritten."""
    x = tensor(np.arange(100.0))

    def part(start):
        return F.slice(x, axes=(0,), starts=(start,), sizes=(99,), steps=(1,))

    inplace.apply_into(F.REGISTRY["mul"](), (part(target),), (part(source), 2.0))
    np.testing.assert_array_equal(values(part(target)), 2 * np.arange(100.0)[source : source + 99])


def test_apply_into_strided_output(rng):
    whole = tensor(np.zeros((4, 6)))
    part = F.permute(F.slice(whole, axes=(0, 1), starts=(1, 0), sizes=(2, 3), steps=(2, 2)), perm=(1, 0))
    array = rng.standard_normal((3, 2))
    inplace.apply_into(F.REGISTRY["exp"](), (part,), (tensor(array),))
    expected = np.zeros((4, 6))
    expected[1::2, ::2] = np.exp(array).T
    np.testing.assert_array_equal(values(whole), expected)


@pytest.mark.parametrize(
    "out",
    [
        lambda: tensor(np.zeros(3)), lambda: tensor(np.zeros((2, 2), "f4")), lambda: tensor(np.zeros((2, 2, 1))),
        lambda: empty((2, 2), dt.float64, NULL),
    ],
    ids=["shape", "dtype", "rank", "place"],
)  # fmt: skip
@pytest.mark.parametrize("op", ["add", "softmax", "permute"])
def test_apply_into_checks(op, out):
    x = tensor(np.ones((2, 2)))
    made = {"add": F.REGISTRY["add"](), "softmax": F.REGISTRY["softmax"](1), "permute": F.REGISTRY["permute"]((1, 0))}[
        op
    ]
    target = out()
    with pytest.raises(ValueError, match=r"requires an output of shape|requires"):
        inplace.apply_into(made, (target,), (x, x) if op == "add" else (x,))
    assert target.inplace_version == 0


def test_apply_into_wrong_number_of_outputs():
    x = tensor(np.ones((2, 2)))
    for outs in ((), (tensor(np.zeros((2, 2))), tensor(np.zeros((2, 2))))):
        with pytest.raises((TypeError, ValueError), match=r"^\[add\] requires"):
            inplace.apply_into(F.REGISTRY["add"](), outs, (x, x))


def test_apply_into_several_outputs(rng):
    array = rng.standard_normal((2, 5))
    x = tensor(array)
    op = F.REGISTRY["max_of_both"]() if "max_of_both" in F.REGISTRY else F.REGISTRY["sort"](axis=1)
    expected = [values(t) for t in eager.apply(op, (x,))]
    outs = tuple(tensor(np.zeros_like(e)) for e in expected)
    inplace.apply_into(op, outs, (x,))
    for out, want in zip(outs, expected):
        np.testing.assert_array_equal(values(out), want)


# --- what is left behind ---------------------------------------------------------------------------------------------


def forward_only():
    x = leaf(np.ones((4, 5)))
    return F.softmax(F.add(F.mul(x, x), 1.0), axis=1)


def with_backward():
    x = leaf(np.ones((4, 5)))
    backward(F.sum(F.softmax(F.mul(x, x), axis=1), axes=(0, 1)))


def with_grad():
    x = leaf(np.ones((4, 5)))
    y = F.sum(F.mul(F.mul(x, x), x), axes=(0, 1))
    (g,) = tape.grad([y], [x], create_graph=True)
    tape.grad([F.sum(g, axes=(0, 1))], [x])


def with_retained_graph():
    x = leaf(np.ones((4, 5)))
    y = F.sum(F.exp(F.mul(x, x)), axes=(0, 1))
    backward(y, retain_graph=True)
    backward(y, retain_graph=True)


def with_views():
    x = leaf(np.ones((4, 5)))
    y = F.mul(x, 2.0)
    v = F.slice(y, axes=(0,), starts=(1,), sizes=(2,), steps=(1,))
    inplace.assign(v, F.mul(v, 3.0))
    backward(F.sum(F.mul(y, y), axes=(0, 1)))


def with_errors():
    x = leaf(np.ones((4, 5)))
    for _ in range(5):
        with pytest.raises(ValueError):
            F.add(x, leaf(np.ones(3)))
        with pytest.raises(ValueError):
            F.reshape(F.mul(x, x), shape=(3,))


def with_hooks():
    x = leaf(np.ones((4, 5)))
    y = F.mul(x, x)
    y.register_hook(lambda g: F.mul(g, 2.0))
    y.retain_grads()
    x.register_hook(lambda g: None)
    backward(F.sum(y, axes=(0, 1)))


def with_python_node():
    x = leaf([2.0])
    y = tensor([4.0])
    python_nodes.python_node("square", [x], [y], lambda g: (F.mul(g, 4.0),))
    backward(y)


def with_wide_calls():
    xs = tuple(leaf(np.ones(2)) for _ in range(50))
    backward(F.sum(F.concat(xs, axis=0), axes=(0,)))


def with_high_rank():
    x = leaf(np.ones((1,) * 9))
    backward(F.sum(F.permute(F.mul(x, x), perm=tuple(range(9))[::-1]), axes=tuple(range(9))))


@pytest.mark.parametrize(
    "scene",
    [
        forward_only, with_backward, with_grad, with_retained_graph, with_views, with_errors, with_hooks,
        with_python_node, with_wide_calls,
        with_high_rank,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_nothing_is_left(scene):
    leaves_nothing(scene)


def test_create_graph_backward_leaves_cycles_only_through_grad():
    """``x.grad`` with a history that leads back to ``x`` is a cycle; clearing it breaks it."""

    def run():
        x = leaf([3.0])
        backward(F.mul(F.mul(x, x), x), create_graph=True)
        x.grad = None

    leaves_nothing(run)


@pytest.mark.usefixtures("no_garbage")
def test_reference_counts_stay(rng):
    x, w = leaf(rng.standard_normal((3, 3))), leaf(rng.standard_normal((3, 3)))
    objects = (x, w, None, 2.5, F.REGISTRY["add"](), dt.float64, CPU, context.current())

    def counts():
        return [sys.getrefcount(o) for o in objects]

    def run():
        y = F.softmax(F.add(F.matmul(x, w), 2.5), axis=1)
        z = F.slice(y, axes=(0,), starts=(0,), sizes=(2,), steps=(1,))
        tape.grad([F.sum(z, axes=(0, 1))], [x, w])
        with pytest.raises(ValueError):
            F.add(x, tensor(np.ones(7)))

    run()
    collect_garbage()
    before = counts()
    for _ in range(50):
        run()
    collect_garbage()
    after = counts()
    assert all(abs(a - b) < 25 for a, b in zip(after, before)), list(zip(before, after))


@pytest.mark.usefixtures("no_garbage")
def test_memory_returns_to_the_allocator():
    a = storage.allocator(CPU.index)
    x = tensor(np.ones(1000))
    F.add(x, x)
    before = a.stats()
    for _ in range(100):
        F.add(x, x)
    after = a.stats()
    assert after["allocated"] == before["allocated"]
    assert after["source_allocations"] == before["source_allocations"]


def test_threads_launch_long_kernels_side_by_side():
    """Long native kernels run without the GIL; memory, streams and tables stay whole."""
    place = Place("null", 7)
    a = storage.allocator(place.index)

    def work(i):
        for k in range(100):
            x = empty((1 << 20, 1 + k % 3), dt.float32, place)
            x.stop_gradient = bool(k % 2)
            y = F.softmax(F.add(x, 1.0), axis=1)
            if not y.stop_gradient:
                tape.grad([y], [x])

    run_threads(work, 6)
    collect_garbage()
    assert a.stats()["allocated"] == 0
    stream.synchronize(place.index)
