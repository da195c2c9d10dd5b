"""In-place forms: values, gradients of all orders, aliases and versions, against the forms that give new tensors."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle._public import ROWS
from tests.support import alias_programs, inplace_cases
from umiak import ops

FORMS = {
    row.name: row for row in ROWS if row.base is not None and row.value is not row.base and "Tensor" in row.exported_by
}
# The reference's in-place shifts have kept ``out`` in their signatures.
KEEPS_OUT = ("bitwise_left_shift_", "bitwise_right_shift_")


def leaf(a):
    return paddle.to_tensor(np.asarray(a, "float64"), stop_gradient=False)


def constant(a):
    return paddle.to_tensor(np.asarray(a, "float64"))


def function_of(name):
    return getattr(paddle, name[:-1], None) or getattr(paddle.tensor, name[:-1])


# --- the whole table -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMS)
def test_values_equal_those_of_the_other_form(name):
    a, arguments = inplace_cases.case(name, "float32")
    x, arguments = inplace_cases.tensor(a), [inplace_cases.tensor(b) for b in arguments]
    expected = function_of(name)(x, *arguments)
    y = x.clone()
    version = y.inplace_version
    assert getattr(y, name)(*arguments) is y
    assert y.dtype is expected.dtype
    assert y.shape == expected.shape
    np.testing.assert_array_equal(y.numpy(), expected.numpy())
    assert y.inplace_version > version or (y.shape == x.shape and FORMS[name].reshapes)
    assert "out" not in inspect.signature(FORMS[name].value).parameters or name in KEEPS_OUT


def written(name, x, arguments, in_place, before, after):
    """What a form makes of a value that is no leaf, with writes before and after it."""
    y = x * 1.0
    if before:
        y.add_(y)
    y = getattr(y, name)(*arguments) if in_place else function_of(name)(y, *arguments)
    if after:
        if not in_place:
            y = y * 1.0
        y.multiply_(y)
        y[0] = y[0] * 0.5 if y.shape[0] > 1 else y[0]
    return y


def gradients(y, leaves):
    """First derivatives of a weighted sum, and second ones; as text where one is refused."""
    weights = constant(np.cos(np.arange(y.size)).reshape(y.shape))
    try:
        first = paddle.grad((y * weights).sum(), leaves, create_graph=True, allow_unused=True)
    except Exception as e:
        return type(e).__name__, None
    squares = [(g * g).sum() for g in first if g is not None and not g.stop_gradient]
    found = [None if g is None else g.numpy() for g in first]
    if not squares:
        return found, None
    try:
        second = paddle.grad(sum(squares[1:], squares[0]), leaves, allow_unused=True)
    except Exception as e:
        return found, type(e).__name__
    return found, [None if g is None else g.numpy() for g in second]


def assert_equal(found, expected):
    if not isinstance(expected, list):
        assert found == expected
        return
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if b is not None:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def differentiable(name):
    a, arguments = inplace_cases.case(name)
    y = function_of(name)(inplace_cases.tensor(a, True), *[inplace_cases.tensor(b) for b in arguments])
    return not y.stop_gradient and y.dtype is paddle.float64


# To call all of them takes a second or two, which collection does not.
WITHOUT_GRADIENTS = set(
    """
    floor_divide_ equal_ greater_equal_ greater_than_ greater_ less_equal_ less_than_ less_ not_equal_
    logical_and_ logical_or_ logical_xor_ logical_not_ bitwise_and_ bitwise_or_ bitwise_xor_ bitwise_not_
    bitwise_invert_ bitwise_left_shift_ bitwise_right_shift_ gcd_ lcm_
""".split()
)
DIFFERENTIABLE = [n for n in FORMS if n not in WITHOUT_GRADIENTS]


def test_most_forms_are_differentiable():
    assert {n for n in FORMS if not differentiable(n)} == WITHOUT_GRADIENTS
    assert len(DIFFERENTIABLE) > 75


@pytest.mark.parametrize("around", [False, True], ids=["alone", "between writes"])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_equal_those_of_the_other_form(name, around):
    a, arguments = inplace_cases.case(name)
    if around and name in ("acos_", "asin_", "atanh_", "erfinv_", "logit_"):
        a = a / 2  # doubling must not leave the domain
    results = []
    for in_place in (True, False):
        x = inplace_cases.tensor(a, True)
        operands = [inplace_cases.tensor(b, True) for b in arguments]
        y = written(name, x, operands, in_place, around, around)
        leaves = [x, *(b for b in operands if isinstance(b, paddle.Tensor) and not b.stop_gradient)]
        results.append((y.numpy(), *gradients(y, leaves)))
    (y, first, second), (y2, first2, second2) = results
    np.testing.assert_allclose(y, y2, rtol=1e-12)
    assert_equal(first, first2)
    assert_equal(second, second2)


@pytest.mark.slow
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_captured_gradients_equal_eager_ones(name):
    a, arguments = inplace_cases.case(name)
    results = []
    for captured in (True, False):
        x = inplace_cases.tensor(a, True)
        operands = [inplace_cases.tensor(b, True) for b in arguments]

        def function(x, operands=operands):
            y = written(name, x, operands, True, False, True)
            return (y * constant(np.cos(np.arange(y.size)).reshape(y.shape))).sum(), y

        loss, y = (paddle.jit.to_static(function) if captured else function)(x)
        loss.backward()
        leaves = [x, *(b for b in operands if isinstance(b, paddle.Tensor) and not b.stop_gradient)]
        results.append((y.numpy(), [None if b.grad is None else b.grad.numpy() for b in leaves]))
    (y, found), (y2, expected) = results
    np.testing.assert_allclose(y, y2, rtol=1e-9)
    assert_equal(found, expected)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_leaf_is_written_in_no_grad_alone(name):
    a, arguments = inplace_cases.case(name)
    x, arguments = inplace_cases.tensor(a, True), [inplace_cases.tensor(b, True) for b in arguments]
    if getattr(function_of(name)(x, *arguments), "shape", None) == x.shape and FORMS[name].reshapes:
        return  # nothing changes
    with pytest.raises(RuntimeError, match="leaf"):
        getattr(x, name)(*arguments)
    np.testing.assert_array_equal(x.numpy(), a)
    with paddle.no_grad():
        expected = function_of(name)(x, *arguments)
        getattr(x, name)(*arguments)
    np.testing.assert_array_equal(x.numpy(), expected.numpy())
    assert x.is_leaf
    assert not x.stop_gradient
    (x * 2.0).sum().backward()
    assert x.grad.shape == x.shape


ACTIVATIONS = {
    "relu_": F.relu,
    "elu_": F.elu,
    "leaky_relu_": F.leaky_relu,
    "hardtanh_": F.hardtanh,
    "thresholded_relu_": F.thresholded_relu,
    "softmax_": F.softmax,
    "tanh_": F.tanh,
    "silu": F.silu,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_in_place(name):
    a = np.array([[-1.5, 0.5], [2.0, -0.25]])
    x, z = leaf(a), leaf(a)
    y = x * 1.0
    made = F.silu(y, inplace=True) if name == "silu" else getattr(F, name)(y)
    assert made is y
    expected = ACTIVATIONS[name](z * 1.0)
    np.testing.assert_array_equal(y.numpy(), expected.numpy())
    results = [gradients(y, [x]), gradients(expected, [z])]
    assert_equal(results[0][0], results[1][0])
    assert_equal(results[0][1], results[1][1])


# --- operands that share memory with what is written -----------------------------------------------------------------

OVERLAPPING = {
    "itself": lambda y: y,
    "transposed": lambda y: y.T,
    "reversed": lambda y: y[::-1],
    "first row": lambda y: y[0],
    "an element": lambda y: y[1, 1],
}


@pytest.mark.parametrize("other", OVERLAPPING)
@pytest.mark.parametrize("name", ["add_", "subtract_", "multiply_", "divide_", "pow_", "copy_", "hypot_"])
def test_operands_that_overlap(name, other):
    a = np.array([[0.3, 0.7], [1.1, 0.9]])
    results = []
    for apart in (False, True):
        x = leaf(a)
        y = x * 1.0
        other_value = OVERLAPPING[other](y)
        getattr(y, name)(other_value.clone() if apart else other_value)
        (y * constant([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        results.append((y.numpy(), x.grad.numpy()))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-12)


def test_what_is_kept_is_not_written():
    x = leaf([0.5, 1.0])
    y = x * 1.0
    for _ in range(5):
        y.sin_()
    y.sum().backward()
    value, slope = np.array([0.5, 1.0]), np.ones(2)
    for _ in range(5):
        value, slope = np.sin(value), slope * np.cos(value)
    np.testing.assert_allclose(x.grad.numpy(), slope)


def test_a_failed_call_changes_nothing():
    x = leaf([0.5, 1.0])
    y = x * 1.0
    for bad in (lambda: y.add_(paddle.ones([3, 2], "float64")), lambda: y.multiply_(paddle.ones([2], "int64"))):
        with pytest.raises((ValueError, TypeError)):
            bad()
    y.exp_().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([0.5, 1.0]))


# --- changes of shape ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: x.copy_(1), TypeError, r"\[copy_\] requires a Tensor for other, got int"),
        (lambda x: x.fill_(paddle.ones([2])), ValueError, r"\[fill_\] requires a value of one element, got \[2\]"),
        (lambda x: x.resize_([2, -1]), ValueError, r"\[resize_\] requires sizes of 0 or more, got \(2, -1\)"),
        (lambda x: x.resize_(["a"]), TypeError, r"\[resize_\] requires an integer for shape, got str"),
        (lambda x: x.apply_(lambda x: 3), TypeError, r"\[apply_\] requires a Tensor for the result of func, got int"),
        (
            lambda x: paddle.where_(paddle.ones([3, 2], "bool"), x, x),
            ValueError,
            r"\[where_\] requires a result of the tensor's shape \[2\], got \[3, 2\]",
        ),
    ],
)
def test_errors(call, kind, message):
    x = paddle.to_tensor([1.0, 2.0])
    with pytest.raises(kind, match=message):
        call(x)
    assert x.tolist() == [1.0, 2.0]


def test_resize_takes_one_size():
    assert paddle.to_tensor([1.0, 2.0]).resize_(1).tolist() == [1.0]


def test_views_taken_before_keep_the_memory():
    x = constant([[1.0, 2.0], [3.0, 4.0]])
    w = x[0]
    x.transpose_([1, 0])
    assert w.tolist() == [1, 2]
    assert x.tolist() == [[1, 3], [2, 4]]
    w.fill_(9.0)
    assert x.tolist() == [[9, 3], [9, 4]]
    x.unsqueeze_(0).zero_()
    assert w.tolist() == [0, 0]


@pytest.mark.parametrize("captured", [False, True])
def test_writes_through_a_view_taken_before_a_change_of_shape(captured):
    def function(x, v):
        y = x * 1.0
        w = y[0]
        y.t_()
        y.unsqueeze_(0)
        w.multiply_(v)
        y.squeeze_(0)
        w.add_(y[1])
        return (y * constant([[1.0, 2.0], [3.0, 4.0]])).sum(), y

    x, v = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([10.0, 20.0])
    loss, y = (paddle.jit.to_static(function) if captured else function)(x, v)
    loss.backward()
    # After the product y is [[10, 3], [40, 4]], w its first column.
    assert y.tolist() == [[50, 3], [44, 4]]
    assert x.grad.tolist() == [[10, 20 * (1 + 3)], [2, 3 + 4]]
    assert v.grad.tolist() == [1, 2 * (1 + 3)]


@pytest.mark.parametrize("change", [lambda y: y.unsqueeze_(0), lambda y: y.t_(), lambda y: y.reshape_([6])])
def test_what_was_saved_before_a_change_of_shape(change):
    a = np.array([[1.0, 4.0, 9.0], [2.0, 3.0, 5.0]])
    x = leaf(a)
    y = x.sqrt()  # keeps its result
    z = y * y * y  # keeps its operand
    change(y)
    (z.sum() + y.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), 1.5 * np.sqrt(a) + 0.5 / np.sqrt(a))


def test_a_write_after_a_change_of_shape_is_noticed():
    for change in (lambda y: y.unsqueeze_(0), lambda y: y.t_(), lambda y: y.reshape_([4])):
        x = leaf([[1.0, 4.0], [9.0, 2.0]])
        y = x.sqrt()
        change(y)
        y.sigmoid_()
        with pytest.raises(RuntimeError, match="modified in place"):
            y.sum().backward()


def test_a_write_after_a_change_of_dtype_is_noticed():
    x = leaf([1.0, 4.0])
    y = x.astype("float32")
    y.divide_(constant([2.0, 3.0]))  # float64 from here on
    assert y.dtype is paddle.float64
    y.sigmoid_()
    s = 1 / (1 + np.exp(-np.array([0.5, 4 / 3])))
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), s * (1 - s) / [2, 3], rtol=1e-6)


def test_views_of_what_had_another_dtype():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 1.0
    w = y[0]
    y.multiply_(constant([[2.0, 2.0], [2.0, 2.0]]))
    y.cast_("float32")
    w.add_(w)
    assert y.tolist() == [[2, 4], [6, 8]]
    assert w.tolist() == [4, 8]
    (w.sum() + y.sum().astype("float64")).backward()
    assert x.grad.tolist() == [[4 + 2, 4 + 2], [2, 2]]


def test_a_leaf_that_changes_its_shape_in_no_grad():
    x = leaf(np.arange(6.0).reshape(2, 3))
    loss = (x * x).sum()
    with paddle.no_grad():
        x.t_()
    assert x.is_leaf
    assert x._base is None
    loss.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * np.arange(6.0).reshape(2, 3).T)
    x.clear_gradient()
    (x * constant(np.arange(6.0).reshape(3, 2))).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.arange(6.0).reshape(3, 2))
    x.stop_gradient = True
    x.add_(constant(1.0))
    assert x.tolist()[0] == [1, 4]


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.cast_("float64"),
        lambda y: y.cast_("bfloat16"),
        lambda y: y.cumsum_(),
    ],
)
def test_history_stays_where_memory_changes_in_no_grad(write, captured):
    """Gradients come to what there was in its own dtype and shape: their bits were taken for those of another."""

    def function(x):
        y = x * 2.0
        other = y * 3.0
        with paddle.no_grad():
            write(y)
        return y, other

    x = paddle.to_tensor(np.ones((2, 3), "float32"), stop_gradient=False)
    y, other = (paddle.jit.to_static(function) if captured else function)(x)
    assert not y.stop_gradient
    weights = np.arange(6.0).reshape(y.shape)
    ((y * paddle.to_tensor(weights).astype(y.dtype)).sum().astype("float32") + other.sum()).backward()
    assert x.grad.dtype is paddle.float32
    np.testing.assert_array_equal(x.grad.numpy(), 2.0 * weights.reshape(2, 3) + 6.0)


@pytest.mark.parametrize("captured", [False, True])
def test_mixed_precision_writes_in_no_grad(captured):
    """A form that stays in float32 changes the dtype of what a product left in bfloat16."""

    def function(x):
        with paddle.amp.auto_cast(dtype="bfloat16"):
            y = F.linear(x, paddle.ones([3, 2]))
            with paddle.no_grad():
                y.exp_()
        return y

    x = paddle.to_tensor(np.ones((2, 3), "float32"), stop_gradient=False)
    y = (paddle.jit.to_static(function) if captured else function)(x)
    assert y.dtype is paddle.float32
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((2, 3), 2.0))


def test_history_stays_where_the_shape_changes_in_no_grad():
    x = leaf([[1.0, 2.0, 3.0]])
    y = x * 2.0
    with paddle.no_grad():
        y.t_()
    (y * constant([[1.0], [2.0], [3.0]])).sum().backward()
    assert x.grad.tolist() == [[2, 4, 6]]


def test_a_tensor_of_another_shape_is_no_view_of_itself():
    x = leaf([[1.0, 2.0]])
    y = (x * 2.0).unsqueeze_(0)
    assert y._base is None
    part = y[0]
    assert part._base._base is y
    y.detach_()
    assert y.stop_gradient
    assert y.is_leaf


def test_an_index_that_selects_a_number_gives_another_tensor():
    x = constant(1.0)
    for index in (..., ()):
        x[index].unsqueeze_(0).fill_(2.0)
        assert x.shape == []
        assert x.item() == 2


def test_retained_gradients_after_a_change_of_shape():
    x = leaf([[1.0, 2.0]])
    y = x * 2.0
    y.retain_grads()
    y.unsqueeze_(0)
    (y * constant([[[3.0, 4.0]]])).sum().backward()
    assert y.grad.tolist() == [[[3, 4]]]


def test_shape_of_what_comes_from_outside_of_a_captured_function():
    def function(x):
        return x.unsqueeze_(0) * 2.0

    with pytest.raises(RuntimeError, match="from outside"):
        paddle.jit.to_static(function, full_graph=True)(constant([1.0]))
    x = constant([1.0])
    assert paddle.jit.to_static(function)(x).tolist() == [[2.0]]
    assert x.shape == [1, 1]


# --- views whose elements share memory -------------------------------------------------------------------------------


def wide(x, shape):
    """A view in which elements appear several times; what ``paddle.expand`` gives is no view."""
    return ops.broadcast_to(x, shape=tuple(shape))


WIDE = {
    "expand": (lambda y: wide(y, [3, 2, 2]), lambda e: e[1]),
    "column": (lambda y: wide(y[:, :1], [2, 3]), lambda e: e[:, 1]),
    "one element": (lambda y: wide(y[0, 1], [3]), lambda e: e[2]),
    "windows": (lambda y: y.flatten().unfold(0, 2, 1), lambda e: e[:, 1]),
    "transposed first": (lambda y: wide(y.T, [2, 2, 2]), lambda e: e[0].T[0]),
    "wide twice": (lambda y: wide(wide(y[0], [2, 2]).unsqueeze(0), [2, 2, 2]), lambda e: e[1, 0]),
    "reshaped": (lambda y: wide(y, [2, 2, 2]).reshape([2, 4]), lambda e: e[1]),
}


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("name", WIDE)
def test_writes_to_a_part_of_a_view_that_overlaps_itself(name, captured):
    """Every element of the base that the part shows has the new value, with its gradient, wherever it is read."""
    view, part = WIDE[name]
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    places = part(view(constant(np.arange(4.0).reshape(2, 2)))).numpy().astype(int)
    new = np.cos(np.arange(part(view(constant(a))).size)).reshape(part(view(constant(a))).shape)
    x, v = leaf(a), leaf(new)

    def function(x, v):
        y = x * 1.0
        e = view(y)
        part(e).copy_(v)
        return (y * constant([[1.0, 2.0], [3.0, 4.0]])).sum() + e.sum(), y, e

    loss, y, e = (paddle.jit.to_static(function) if captured else function)(x, v)
    loss.backward()
    expected = a.reshape(-1).copy()
    expected[places.reshape(-1)] = new.reshape(-1)
    np.testing.assert_array_equal(y.numpy().reshape(-1), expected)
    np.testing.assert_array_equal(e.numpy(), view(constant(expected.reshape(2, 2))).numpy())
    seen = np.bincount(view(constant(np.arange(4.0).reshape(2, 2))).numpy().astype(int).reshape(-1), minlength=4)
    slope = np.array([1.0, 2.0, 3.0, 4.0]) + seen
    np.testing.assert_allclose(v.grad.numpy().reshape(-1), slope[places.reshape(-1)])
    kept = slope.copy()
    kept[places.reshape(-1)] = 0
    np.testing.assert_allclose(x.grad.numpy().reshape(-1), kept)


REFUSED = {
    "add_": lambda e: e.add_(e * 1.0),
    "multiply_": lambda e: e.multiply_(e),
    "sin_": lambda e: e.sin_(),
    "fill_": lambda e: e.fill_(1.0),
    "zero_": lambda e: e.zero_(),
    "copy_": lambda e: e.copy_(e * 1.0),
    "set": lambda e: e.__setitem__(slice(None), 1.0),
    "index put": lambda e: e.__setitem__(paddle.to_tensor([0]), 1.0),
    "mask": lambda e: e.__setitem__(e > 0, 1.0),
    "masked_fill_": lambda e: e.masked_fill_(e > 0, 1.0),
    "a part": lambda e: e[:2].add_(e[:2] * 1.0),
    "set_value": lambda e: e.set_value(e * 1.0),
}


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_writes_to_elements_that_share_memory_are_refused(name, captured):
    def function(y):
        REFUSED[name](wide(y * 1.0, [3, 2]))
        return y * 1.0

    with pytest.raises(RuntimeError, match="memory of their own"):
        (paddle.jit.to_static(function) if captured else function)(constant([1.0, 2.0]))


# --- parts -----------------------------------------------------------------------------------------------------------

# Which of the functions that cut a tensor up give views, as the reference framework does.
PARTS = {
    "unbind": (lambda x: paddle.unbind(x, 1), True),
    "many": (lambda x: paddle.unbind(wide(x.reshape([-1]), [70, 24])[:, :5].T, 1)[:3], True),
    "unstack": (lambda x: paddle.unstack(x, 1), False),
    "split": (lambda x: paddle.split(x, 2, 2), False),
    "split at": (lambda x: paddle.split(x, [1, 3], 2), False),
    "chunk": (lambda x: paddle.chunk(x, 2, 2), False),
    "tensor_split": (lambda x: paddle.tensor_split(x, 2, 2), False),
    "tensor_split at": (lambda x: paddle.tensor_split(x, [1, 2], 2), True),
    "hsplit": (lambda x: paddle.hsplit(x, 3), False),
    "vsplit": (lambda x: paddle.vsplit(x, 2), False),
    "dsplit": (lambda x: paddle.dsplit(x, 2), False),
    "dsplit at": (lambda x: paddle.dsplit(x, [1]), True),
    "crop": (lambda x: [paddle.crop(x, [1, 2, 2])], False),
}


@pytest.mark.parametrize("name", PARTS)
def test_which_parts_are_views(name):
    function, views = PARTS[name]
    for k in range(len(function(constant(np.zeros((2, 3, 4)))))):
        x = constant(np.zeros((2, 3, 4)))
        function(x)[k][0] = 1.0
        assert bool(x.numpy().any()) == views


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_writes_and_gradients_through_unbind(axis, captured):
    def function(x):
        y = x * 2.0
        parts = paddle.unbind(y, axis)
        parts[0].add_(parts[1])
        y[1] = y[1] * 3.0
        return (parts[0] * constant([1.0, 2.0])).sum() + (y * constant([[1.0, 2.0], [3.0, 4.0]])).sum(), y

    def expected(x):
        y = x * 2.0
        rows = [y[0], y[1]] if axis == 0 else [y[:, 0], y[:, 1]]
        y = paddle.stack([rows[0] + rows[1], rows[1]], axis)
        y = paddle.stack([y[0], y[1] * 3.0])
        part = y[0] if axis == 0 else y[:, 0]
        return (part * constant([1.0, 2.0])).sum() + (y * constant([[1.0, 2.0], [3.0, 4.0]])).sum(), y

    a = [[1.0, 2.0], [3.0, 4.0]]
    x, z = leaf(a), leaf(a)
    loss, y = (paddle.jit.to_static(function) if captured else function)(x)
    wanted, w = expected(z)
    loss.backward()
    wanted.backward()
    np.testing.assert_allclose(y.numpy(), w.numpy())
    np.testing.assert_allclose(x.grad.numpy(), z.grad.numpy())


def test_derivatives_of_unbind():
    x = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    parts = paddle.unbind(x)
    assert all(p.storage is x.storage for p in parts)
    (g,) = paddle.grad((parts[0] * parts[2] * parts[2]).sum(), [x], create_graph=True)
    assert g.tolist() == [[25, 36], [0, 0], [10, 24]]
    g.sum().backward()
    assert x.grad.tolist() == [[10, 12], [0, 0], [10 + 2, 12 + 4]]
    parts[0].zero_()
    assert x.is_leaf and x.tolist()[0] == [0, 0]


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.reshape([-1]).fill_(7.0),
        lambda x: x[0].zero_(),
        lambda x: x.transpose([1, 0])[1].fill_(2.0),
    ],
)
def test_a_view_of_a_leaf_is_written_and_the_leaf_remains_one(write):
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    view = write(x)
    assert x.is_leaf and not view.is_leaf
    view.sum().backward()
    assert x.grad.tolist() == [[0, 0], [0, 0]]
    (x * 3.0).sum().backward()
    assert x.grad.tolist() == [[3, 3], [3, 3]]


def test_overwritten_elements_of_a_view_of_a_leaf_have_gradient_0():
    x, v = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([5.0, 6.0])
    y = x.reshape([-1])
    y[0] = 7.0
    y[2:4] = v * 2.0
    assert x.tolist() == [[7, 2], [10, 12]] and y.tolist() == [7, 2, 10, 12]
    (y * y).sum().backward()
    assert x.grad.tolist() == [[0, 4], [0, 0]]
    assert v.grad.tolist() == [40, 48]


def test_what_is_kept_of_the_overwritten_part_of_a_leaf_is_noticed():
    x = leaf([1.0, 2.0])
    square = x * x
    x[0:1].zero_()
    with pytest.raises(RuntimeError, match="version"):
        square.sum().backward()


def test_a_write_that_shows_elsewhere_in_a_view_of_a_leaf_is_refused():
    x = leaf([1.0])
    rows = wide(x, [2, 1])
    with pytest.raises(RuntimeError, match="leaf"):
        rows[0].zero_()
    assert x.tolist() == [1]


def test_assign_to_a_leaf_gives_it_the_history_of_the_value():
    x, a = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    assert paddle.assign(a, x) is x
    (x * 3.0).sum().backward()
    assert a.grad.tolist() == [3, 3] and x.tolist() == [3, 4]
    y = leaf([1.0, 2.0])
    paddle.assign(paddle.to_tensor([5.0, 6.0]), y)
    (y * 2.0).sum().backward()
    assert y.is_leaf and y.grad.tolist() == [2, 2] and y.tolist() == [5, 6]


# --- random programs -------------------------------------------------------------------------------------------------


def explain(seed, steps, captured):
    found = alias_programs.check(seed, steps, captured)
    if found:
        short = alias_programs.shrink(seed, steps, captured)
        pytest.fail(f"seed {seed}, {short}: {alias_programs.check(seed, short, captured)}")


@pytest.mark.parametrize(
    "start", [pytest.param(start, marks=[pytest.mark.slow] * (start >= 40)) for start in range(0, 120, 20)]
)
def test_random_programs(start):
    for seed in range(start, start + 20):
        explain(seed, alias_programs.make(seed), False)


def test_random_programs_captured():
    for seed in range(500, 512):
        explain(seed, alias_programs.make(seed, 6), True)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 5000, 250))
def test_many_random_programs(start):
    for seed in range(start, start + 250):
        explain(seed, alias_programs.make(seed, 12), seed % 10 == 0)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_nothing_to_overwrite(shape):
    """A tensor without elements is always as a gradient needs it."""
    x = paddle.zeros(shape)
    x.stop_gradient = False
    y = x * 1.0
    z = y * y
    y.exp_()
    y.fill_(2.0)
    (y * y + z).sum().backward()
    assert x.grad.shape == list(shape)


def test_running_products_in_place_take_the_dtype_by_position():
    x = paddle.to_tensor([2, 3])
    assert paddle.cumprod_(x.clone(), 0, "float64").dtype is paddle.float64
    y = x.clone().cumprod_(0, None, "products")
    assert (y.tolist(), y.dtype) == ([2, 6], paddle.int64)
    with pytest.raises(TypeError, match=r"cumprod_\(\) takes from 1 to 4 positional"):
        paddle.cumprod_(x, 0, None, None, None)
