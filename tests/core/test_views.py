"""Views: shared memory, writes through any alias, history after writes, versions."""

from __future__ import annotations

import gc
import itertools

import numpy as np
import pytest
import torch
from harness import NULL, backward, count_plans, grad_of, leaf, leaves_nothing, python_calls, tensor, values

from umiak import ops as F
from umiak.core import array, eager, inplace, storage, tape
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.tensor import empty

assign = inplace.assign


def rows(x, start, size, step=1):
    return F.slice(x, axes=(0,), starts=(start,), sizes=(size,), steps=(step,))


def columns(x, start, size, step=1):
    return F.slice(x, axes=(1,), starts=(start,), sizes=(size,), steps=(step,))


def total(x):
    return F.sum(x, axes=tuple(range(x.ndim)))


# --- memory ----------------------------------------------------------------------------------------------------------

VIEWS = {
    "rows": (lambda x: rows(x, 1, 2), lambda a: a[1:3]),
    "step": (lambda x: columns(x, 0, 2, 3), lambda a: a[:, 0:6:3]),
    "last": (lambda x: columns(x, 5, 1), lambda a: a[:, 5:]),
    "transposed": (lambda x: F.permute(x, perm=(1, 0)), lambda a: a.T),
    "reshaped": (lambda x: F.reshape(x, shape=(2, 2, 6)), lambda a: a.reshape(2, 2, 6)),
    "many axes": (lambda x: F.reshape(x, shape=(2, 2, 1, 1, 3, 1, 2)), lambda a: a.reshape(2, 2, 1, 1, 3, 1, 2)),
    "flat": (lambda x: F.reshape(x, shape=(24,)), lambda a: a.reshape(24)),
    "unsqueezed": (lambda x: F.unsqueeze(x, axes=(0, 2)), lambda a: a[None, :, None]),
    "squeezed": (lambda x: F.squeeze(F.unsqueeze(x, axes=(1,)), axes=(1,)), lambda a: a[:, None][:, 0]),
    "diagonal": (lambda x: F.diagonal(x, axis1=0, axis2=1), lambda a: a.diagonal()),
    "off-diagonal": (lambda x: F.diagonal(x, axis1=0, axis2=1, offset=2), lambda a: a.diagonal(2)),
    "windows": (lambda x: F.unfold(x, axis=1, size=2, step=2),
                lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, axis=1)[:, ::2]),
    "chained": (lambda x: F.permute(F.reshape(columns(rows(x, 1, 3, 1), 2, 4), shape=(3, 2, 2)), perm=(2, 0, 1)),
                lambda a: a[1:4, 2:6].reshape(3, 2, 2).transpose(2, 0, 1)),
}  # fmt: skip


def places(numpy_view) -> np.ndarray:
    """Where in the flat (4, 6) array the elements of a view lie."""
    return numpy_view(np.arange(24).reshape(4, 6))


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory(name):
    view, numpy_view = VIEWS[name]
    a = np.arange(24.0).reshape(4, 6)
    x = tensor(a)
    v = view(x)
    assert v.storage is x.storage
    np.testing.assert_array_equal(values(v), numpy_view(a))
    n = numpy_view(a)
    assert v.strides == [s // 8 for s in n.strides] or n.size <= 1 or 1 in n.shape
    assert v.is_contiguous() == n.flags.c_contiguous


@pytest.mark.parametrize("name", VIEWS)
def test_writing_through_a_view(name, rng):
    view, numpy_view = VIEWS[name]
    a = rng.standard_normal((4, 6))
    x = tensor(a)
    new = rng.standard_normal(numpy_view(a).shape)
    assign(view(x), tensor(new))
    a.reshape(24)[places(numpy_view)] = new
    np.testing.assert_array_equal(values(x), a)


@pytest.mark.parametrize("name", [n for n in VIEWS if n != "windows"])
def test_gradients_of_writes_through_a_view(name, rng):
    """y = 2x; view(y) := 3w; loss = sum(c·y): gradients against those of the same program on copies."""
    view, numpy_view = VIEWS[name]
    a, c = rng.standard_normal((4, 6)), rng.standard_normal((4, 6))
    shape = numpy_view(a).shape
    x, w = leaf(a), leaf(rng.standard_normal(shape))
    y = F.mul(x, 2.0)
    assign(view(y), F.mul(w, 3.0))
    backward(total(F.mul(y, tensor(c))))
    mask = np.ones((4, 6))
    mask.reshape(24)[places(numpy_view)] = 0
    np.testing.assert_allclose(grad_of(x), 2 * c * mask)
    np.testing.assert_allclose(grad_of(w), 3 * numpy_view(c))


def strided_arrays():
    base = np.arange(5 * 4 * 6 * 2.0).reshape(5, 4, 6, 2)
    yield base, lambda x: x
    yield base[:, ::2], lambda x: columns(x, 0, 2, 2)
    yield base.transpose(3, 1, 0, 2), lambda x: F.permute(x, perm=(3, 1, 0, 2))
    yield base[1:2], lambda x: rows(x, 1, 1)
    yield base[:, 3:4, :, :], lambda x: columns(x, 3, 1)
    yield base[::2].transpose(1, 0, 2, 3), lambda x: F.permute(rows(x, 0, 3, 2), perm=(1, 0, 2, 3))
    yield base[0:0], lambda x: rows(x, 0, 0)


def factorisations(n: int, parts: int):
    if parts == 1:
        yield (n,)
        return
    for f in range(1, n + 1):
        if n % f == 0:
            for rest in factorisations(n // f, parts - 1):
                yield (f, *rest)


def test_reshape_is_a_view_exactly_where_numpy_makes_one():
    for a, view in strided_arrays():
        x = view(tensor(np.arange(5 * 4 * 6 * 2.0).reshape(5, 4, 6, 2)))
        if a.size == 0:
            shapes = [(0,), (0, 3), (3, 0, 2)]
        else:
            shapes = [
                s for k in (1, 2, 3, 4) for s in itertools.islice(factorisations(a.size, k), 0, None, 3 if k > 2 else 1)
            ]
        for shape in shapes:
            y = F.reshape(x, shape=shape)
            b = a.reshape(shape)
            np.testing.assert_array_equal(values(y), b, err_msg=f"{a.shape} {a.strides} -> {shape}")
            if a.size:
                assert (y.storage is x.storage) == np.shares_memory(a, b), f"{a.shape} {a.strides} -> {shape}"


def test_views_of_zero_sizes():
    x = tensor(np.zeros((0, 3)))
    assert F.reshape(x, shape=(3, 0)).shape == [3, 0]
    assert F.permute(x, perm=(1, 0)).shape == [3, 0]
    assert rows(x, 0, 0).shape == [0, 3]
    assert F.broadcast_to(F.unsqueeze(x, axes=(0,)), shape=(2, 0, 3)).shape == [2, 0, 3]
    assert values(F.add(F.permute(x, perm=(1, 0)), 1.0)).shape == (3, 0)


def test_expanded_views_are_not_written():
    x = tensor([1.0, 2.0])
    wide = F.broadcast_to(x, shape=(3, 2))
    with pytest.raises(RuntimeError, match=r"^\[assign\] requires a tensor whose elements have memory of their own"):
        assign(wide, tensor(np.zeros((3, 2))))
    np.testing.assert_array_equal(values(x), [1, 2])


def test_overlapping_windows_are_not_written():
    x = tensor(np.arange(4.0))
    with pytest.raises(RuntimeError, match=r"^\[assign\] requires a tensor whose elements have memory of their own"):
        assign(F.unfold(x, axis=0, size=2, step=1), tensor(np.zeros((3, 2))))


def test_write_whose_source_overlaps_its_target():
    """x[1:] = x[:-1], as NumPy does it: all of the source is read before anything is written."""
    for make in (
        lambda x: (rows(x, 1, 5), rows(x, 0, 5)),
        lambda x: (rows(x, 0, 5), rows(x, 1, 5)),
        lambda x: (x, F.flip(x, axes=(0,))),
    ):
        a = np.arange(6.0)
        x = tensor(a)
        target, source = make(x)
        expected = values(source)
        assign(target, source)
        np.testing.assert_array_equal(values(target), expected)
    x = tensor(np.arange(9.0).reshape(3, 3))
    assign(x, F.permute(x, perm=(1, 0)))
    np.testing.assert_array_equal(values(x), np.arange(9.0).reshape(3, 3).T)


@pytest.mark.parametrize(
    ("value", "error"),
    [(np.ones(3), ValueError), (np.ones((1, 2)), ValueError), (np.ones(2, "f4"), (TypeError, ValueError))],
)
def test_assigned_value_must_fit(value, error):
    x = tensor([1.0, 2.0])
    with pytest.raises(error, match="requires"):
        assign(x, tensor(value))
    np.testing.assert_array_equal(values(x), [1, 2])
    assert x.inplace_version == 0


# --- history ---------------------------------------------------------------------------------------------------------


def test_base_records_a_write_through_a_view():
    x = leaf(np.ones((2, 2)))
    y = F.mul(x, 2.0)
    before = y.grad_fn
    assign(rows(y, 0, 1), F.mul(rows(y, 0, 1), 5.0))
    assert y.grad_fn is not before
    assert y.grad_fn.name == "scatter_view"
    np.testing.assert_array_equal(values(y), [[10, 10], [2, 2]])
    backward(total(y))
    np.testing.assert_array_equal(grad_of(x), [[10, 10], [2, 2]])


def test_older_alias_regenerates():
    x = leaf(np.ones((2, 2)))
    y = F.mul(x, 2.0)
    first, row, column = F.reshape(y, shape=(4,)), rows(y, 0, 1), columns(y, 0, 1)
    assign(row, F.mul(row, 5.0))
    np.testing.assert_array_equal(values(column), [[10], [2]])
    (g,) = tape.grad([total(column)], [x], retain_graph=True)
    np.testing.assert_array_equal(values(g), [[10, 0], [2, 0]])
    assign(column, F.mul(column, 7.0))
    (g,) = tape.grad([total(first)], [x], retain_graph=True)
    np.testing.assert_array_equal(values(g), [[70, 10], [14, 2]])
    (g,) = tape.grad([total(row)], [x])
    np.testing.assert_array_equal(values(g), [[70, 10], [0, 0]])


def test_write_to_the_base_reaches_views():
    x, w = leaf(np.ones((2, 2))), leaf(np.full((2, 2), 3.0))
    y = F.mul(x, 2.0)
    view = F.permute(rows(y, 1, 1), perm=(1, 0))
    assign(y, F.mul(w, w))
    np.testing.assert_array_equal(values(view), [[9], [9]])
    backward(total(view))
    assert x.grad is None
    np.testing.assert_array_equal(grad_of(w), [[0, 0], [6, 6]])


def test_chained_views_rebase_to_the_root():
    x, w = leaf(np.ones((4, 4))), leaf([2.0])
    y = F.mul(x, 2.0)
    inner = F.reshape(columns(rows(y, 1, 2), 1, 2), shape=(2, 2))
    element = F.reshape(columns(rows(inner, 1, 1), 0, 1), shape=(1,))
    assign(element, F.mul(w, 10.0))
    expected = np.full((4, 4), 2.0)
    expected[2, 1] = 20
    np.testing.assert_array_equal(values(y), expected)
    backward(total(F.mul(y, y)))
    assert float(grad_of(w)[0]) == 2 * 20 * 10
    g = np.full((4, 4), 8.0)
    g[2, 1] = 0
    np.testing.assert_array_equal(grad_of(x), g)


def test_many_writes_to_one_base():
    """A loop that fills a buffer row by row."""
    x = leaf(np.arange(1.0, 5.0))
    buffer = tensor(np.zeros((5, 4)))
    row = x
    for i in range(5):
        assign(rows(buffer, i, 1), F.reshape(row, shape=(1, 4)))
        row = F.mul(row, x)
    backward(total(buffer))
    a = np.arange(1.0, 5.0)
    np.testing.assert_allclose(grad_of(x), 1 + 2 * a + 3 * a**2 + 4 * a**3 + 5 * a**4)


def test_write_into_a_tensor_without_gradient():
    """A buffer that wanted no gradient does so from the write on; so do its views."""
    buffer, x = tensor(np.zeros(4)), leaf([1.0, 2.0])
    other = rows(buffer, 1, 2)
    assert other.stop_gradient
    assign(rows(buffer, 0, 2), F.mul(x, 3.0))
    assert not buffer.stop_gradient and not buffer.is_leaf
    y = F.mul(other, tensor([1.0, 10.0]))
    assert not y.stop_gradient
    backward(total(y))
    np.testing.assert_array_equal(grad_of(x), [0, 3])


def test_view_of_a_regenerated_view():
    x = leaf(np.ones(4))
    y = F.mul(x, 1.0)
    outer = rows(y, 0, 3)
    inner = rows(outer, 1, 2)
    assign(rows(y, 1, 1), tensor([5.0]))
    np.testing.assert_array_equal(values(inner), [5, 1])
    backward(total(inner))
    np.testing.assert_array_equal(grad_of(x), [0, 0, 1, 0])


def test_constant_written_over_a_leaf_of_gradients():
    x = leaf(np.ones(3))
    y = F.mul(x, 2.0)
    assign(rows(y, 0, 2), tensor([9.0, 9.0]))
    backward(total(F.mul(y, y)))
    np.testing.assert_array_equal(grad_of(x), [0, 0, 8])


def test_whole_tensor_assigned_to_itself_and_to_an_alias():
    x = leaf(np.ones(3))
    y = F.mul(x, 2.0)
    assert assign(y, y) is y
    assign(y, F.reshape(y, shape=(3,)))
    backward(total(F.mul(y, y)))
    np.testing.assert_array_equal(grad_of(x), [8, 8, 8])


def test_assigned_leaf_value_keeps_the_target_a_non_leaf():
    x, w = leaf(np.ones(2)), leaf(np.full(2, 3.0))
    y = F.mul(x, 2.0)
    assign(y, w)
    assert not y.is_leaf
    backward(total(F.mul(y, y)))
    np.testing.assert_array_equal(grad_of(w), [6, 6])
    assert x.grad is None


def test_hook_on_a_view_survives_a_write_elsewhere():
    x = leaf(np.ones(4))
    y = F.mul(x, 2.0)
    view = rows(y, 0, 2)
    seen = []
    view.register_hook(lambda g: seen.append(values(g)))
    backward(total(F.mul(view, 3.0)))
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0], [3, 3])


# --- leaves and no_grad ----------------------------------------------------------------------------------------------


def test_write_to_a_leaf_is_refused():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"^\[in-place\] requires a tensor that is no leaf.*no_grad"):
        assign(x, tensor([3.0, 4.0]))
    np.testing.assert_array_equal(values(x), [1, 2])
    assert x.is_leaf and x.inplace_version == 0


def test_write_to_a_view_of_a_leaf_leaves_it_one():
    x = leaf([1.0, 2.0])
    view = F.reshape(rows(x, 0, 1), shape=(1, 1))
    assign(view, tensor([[3.0]]))
    np.testing.assert_array_equal(values(x), [3, 2])
    assert x.is_leaf and x.inplace_version == 1 and not view.is_leaf
    (g,) = tape.grad([total(F.mul(view, 5.0))], [x])
    np.testing.assert_array_equal(values(g), [0, 0])


def test_write_to_a_leaf_in_no_grad():
    x = leaf([1.0, 2.0])
    with no_grad_guard():
        assign(x, tensor([3.0, 4.0]))
        assign(rows(x, 1, 1), tensor([7.0]))
    assert x.is_leaf and not x.stop_gradient
    np.testing.assert_array_equal(values(x), [3, 7])
    backward(total(F.mul(x, x)))
    np.testing.assert_array_equal(grad_of(x), [6, 14])


def test_view_of_a_leaf_made_in_no_grad():
    """It has no history; used later in grad mode it is a constant, and a write through it hits the leaf's data."""
    x = leaf([1.0, 2.0])
    with no_grad_guard():
        view = rows(x, 0, 1)
    assert view.stop_gradient
    with no_grad_guard():
        assign(view, tensor([5.0]))
    np.testing.assert_array_equal(values(x), [5, 2])
    y = F.mul(view, 2.0)
    assert y.stop_gradient


def test_view_of_a_leaf_made_in_no_grad_is_written_in_grad_mode():
    x = leaf([1.0, 2.0])
    with no_grad_guard():
        view = rows(x, 0, 1)
    assign(view, tensor([5.0]))
    np.testing.assert_array_equal(values(x), [5, 2])
    assert view.stop_gradient and x.is_leaf


def test_view_made_in_no_grad_of_a_tensor_with_history():
    x = leaf(np.ones(3))
    y = F.mul(x, 2.0)
    with no_grad_guard():
        view = rows(y, 0, 2)
    assert view.stop_gradient
    (g,) = tape.grad([total(F.mul(y, y))], [x])
    np.testing.assert_array_equal(values(g), [8, 8, 8])


def test_write_in_no_grad_keeps_history():
    x = leaf(np.ones(3))
    y = F.mul(x, 2.0)
    with no_grad_guard():
        assign(y, tensor([7.0, 7.0, 7.0]))
    assert not y.is_leaf
    backward(total(F.mul(y, 3.0)))
    np.testing.assert_array_equal(grad_of(x), [6, 6, 6])


# --- versions --------------------------------------------------------------------------------------------------------


def test_every_alias_counts_every_write():
    x = tensor(np.zeros(4))
    view, detached = rows(x, 0, 2), x.detach()
    assert [t.inplace_version for t in (x, view, detached)] == [0, 0, 0]
    assign(view, tensor([1.0, 1.0]))
    assert [t.inplace_version for t in (x, view, detached)] == [1, 1, 1]
    inplace.apply_into(F.REGISTRY["mul"](), (detached,), (detached, 2.0))
    assert [t.inplace_version for t in (x, view, detached)] == [2, 2, 2]
    x._bump_version()
    assert view.inplace_version == 3
    np.testing.assert_array_equal(values(x), [2, 2, 0, 0])


def test_own_versions_of_slices_of_one_buffer():
    """Parameters in a flat buffer: a write to one is none to the others."""
    flat = tensor(np.zeros(4))
    with no_grad_guard():
        a, b = rows(flat, 0, 2).detach(), rows(flat, 2, 2).detach()
    for t in (a, b):
        t._own_version()
        t.stop_gradient = False
    before = a.inplace_version
    y = F.mul(a, a)
    with no_grad_guard():
        assign(b, tensor([1.0, 1.0]))
    assert a.inplace_version == before
    backward(total(y))
    y = F.mul(a, a)
    view = F.reshape(a, shape=(2, 1))
    with no_grad_guard():
        assign(view, tensor([[1.0], [1.0]]))
    assert a.inplace_version == before + 1, "views of an alias with a version of its own share it"
    with pytest.raises(RuntimeError, match="modified in place"):
        backward(total(y))


def overwritten_input(x):
    y = F.mul(x, 1.0)
    z = F.mul(y, y)
    return y, z


@pytest.mark.parametrize(
    "write",
    [
        lambda y: assign(y, tensor([5.0, 5.0])),
        lambda y: assign(rows(y, 0, 1), tensor([5.0])),
        lambda y: assign(y.detach(), tensor([5.0, 5.0])),
        lambda y: inplace.apply_into(F.REGISTRY["mul"](), (y,), (y, 2.0)),
        lambda y: y._bump_version(),
    ],
    ids=["tensor", "view", "detached", "into", "outside"],
)
@pytest.mark.parametrize("mode", ["grad", "no_grad"])
def test_overwritten_saved_input_is_detected(write, mode):
    x = leaf([1.0, 2.0])
    y, z = overwritten_input(x)
    if mode == "grad":
        write(y)
    else:
        with no_grad_guard():
            write(y)
    with pytest.raises(
        RuntimeError,
        match=r"^\[mul\] requires operand \d \(shape \[2\]\) as it was.*modified in place: version 1, expected 0",
    ):
        backward(total(z))


def test_overwritten_saved_output_is_detected():
    x = leaf([1.0, 2.0])
    y = F.exp(x)
    z = F.add(y, 1.0)
    assign(y, tensor([5.0, 5.0]))
    with pytest.raises(RuntimeError, match=r"^\[exp\] requires output 0 .*modified in place"):
        backward(total(z))


def test_overwritten_leaf_is_detected():
    x = leaf([1.0, 2.0])
    y = F.mul(x, x)
    with no_grad_guard():
        assign(x, tensor([5.0, 5.0]))
    with pytest.raises(RuntimeError, match="modified in place"):
        backward(total(y))


def test_write_to_what_is_not_saved_is_fine():
    x = leaf([1.0, 2.0])
    y = F.mul(x, 1.0)
    z = F.add(y, y)
    assign(y, tensor([5.0, 5.0]))
    backward(total(z))
    np.testing.assert_array_equal(grad_of(x), [2, 2])


def test_write_to_a_result_before_saving_is_fine():
    x = leaf([1.0, 2.0])
    y = F.mul(x, 1.0)
    assign(y, F.mul(y, 3.0))
    backward(total(F.mul(y, y)))
    np.testing.assert_array_equal(grad_of(x), [18, 36])


def test_gradient_is_no_alias_of_the_version_of_data():
    """Writing to .grad between forward and backward disturbs nothing."""
    x = leaf([1.0, 2.0])
    backward(total(F.mul(x, x)))
    y = F.mul(x, x)
    inplace.apply_into(F.REGISTRY["mul"](), (x.grad,), (x.grad, 0.0))
    backward(total(y))
    np.testing.assert_array_equal(grad_of(x), [2, 4])


def test_detach_shares_memory_and_version():
    x = leaf([1.0, 2.0])
    y = F.mul(x, 1.0)
    d = y.detach()
    assert d.storage is y.storage and d.stop_gradient and d.is_leaf
    assign(d, tensor([9.0, 9.0]))
    np.testing.assert_array_equal(values(y), [9, 9])
    assert y.inplace_version == 1
    assert y.grad_fn.name == "mul"


def test_detach_in_place():
    x = leaf([1.0, 2.0])
    y = F.mul(x, 1.0)
    assert y.detach_() is y
    assert y.is_leaf and y.stop_gradient
    with pytest.raises(RuntimeError, match=r"^\[detach_\] requires a tensor that is not a view"):
        rows(F.mul(x, 1.0), 0, 1).detach_()


# --- memory and cost -------------------------------------------------------------------------------------------------


def test_views_copy_nothing():
    x = empty((1000, 1000), dt.float32, NULL)
    before = storage.allocator(NULL.index).stats()["allocations"]
    v = F.permute(F.reshape(rows(x, 0, 500), shape=(500, 10, 100)), perm=(2, 0, 1))
    F.broadcast_to(F.unsqueeze(v, axes=(0,)), shape=(7, 100, 500, 10))
    assert storage.allocator(NULL.index).stats()["allocations"] == before


def test_second_write_through_a_view_plans_nothing():
    x = leaf(np.ones((4, 4)))

    def write(i):
        y = F.mul(x, 2.0)
        assign(rows(y, i, 1), F.mul(rows(y, i, 1), 3.0))
        backward(total(F.mul(y, y)))

    write(0)
    write(1)  # memory that is not aligned to 64 bytes is a class of its own
    with count_plans() as counts:
        for i in range(4):
            write(i)
    assert not counts


def test_views_keep_memory_alive_and_release_it():
    def run():
        x = tensor(np.arange(10.0))
        v = rows(x, 2, 3)
        del x
        gc.collect()
        np.testing.assert_array_equal(values(v), [2, 3, 4])

    leaves_nothing(run)


def test_foreign_memory_is_shared_both_ways():
    a = np.arange(6.0).reshape(2, 3)
    x = array.from_numpy(a, copy=False)
    assign(rows(x, 0, 1), tensor([[7.0, 7.0, 7.0]]))
    np.testing.assert_array_equal(a[0], [7, 7, 7])
    view = array.to_numpy(F.permute(x, perm=(1, 0)))
    view[0, 1] = 99
    assert a[1, 0] == 99
    backwards = array.from_numpy(np.arange(5.0)[::-1], copy=False)
    np.testing.assert_array_equal(values(F.add(backwards, 0.0)), [4, 3, 2, 1, 0])
    np.testing.assert_array_equal(values(rows(backwards, 1, 2)), [3, 2])
    np.testing.assert_array_equal(values(F.reshape(backwards, shape=(5, 1))), [[4], [3], [2], [1], [0]])


def test_view_ops_cost_no_python_on_the_second_call():
    x = empty((4, 6), dt.float32, NULL)
    x.stop_gradient = False
    slice_, permute, apply = F.REGISTRY["slice"]((0,)), F.REGISTRY["permute"]((1, 0)), eager.apply

    def run():
        apply(permute, (apply(slice_, (x,), ((1,), (2,), (1,))),))

    run()
    assert python_calls(run) == []


# --- random programs -------------------------------------------------------------------------------------------------


class Twins:
    """One random program of calls, views and writes, run here and in PyTorch side by side."""

    def __init__(self, rng):
        self.rng = rng
        self.log = []
        arrays = [rng.standard_normal(s) for s in ((3, 4), (4, 3), (12,), (2, 2, 3))]
        self.leaves = [(leaf(a), torch.tensor(a, requires_grad=True)) for a in arrays]
        self.pool = [(F.mul(x, 1.0), y * 1.0) for x, y in self.leaves]
        self.expanded = []

    def pick(self, wanted=lambda y: True):
        found = [p for p in self.pool if wanted(p[1])]
        return found[self.rng.integers(len(found))] if found else None

    def note(self, text, pair, keep=True):
        self.log.append(text)
        if keep:
            self.pool.append(pair)

    def call(self):
        x, y = self.pick()
        which = self.rng.integers(6)
        if which == 0:
            pair = F.sin(x), torch.sin(y)
        elif which == 1:
            pair = F.exp(F.mul(F.tanh(x), 0.5)), torch.exp(torch.tanh(y) * 0.5)
        elif which == 2:
            pair = F.neg(x), -y
        elif which == 3:
            pair = F.mul(x, 1.25), y * 1.25
        else:
            a, b = self.pick(lambda t: t.shape == y.shape)
            pair = (F.mul(x, a), y * b) if which == 4 else (F.add(x, a), y + b)
        self.note(f"call {which} of {list(y.shape)}", pair)

    def view(self):
        x, y = self.pick(lambda t: t.ndim and t.numel() > 1)
        which, n = self.rng.integers(6), y.ndim
        axis = int(self.rng.integers(n))
        if which == 0 and y.shape[axis] > 1:
            start = int(self.rng.integers(y.shape[axis] - 1))
            step = int(self.rng.integers(1, 3))
            size = int(self.rng.integers(1, (y.shape[axis] - start - 1) // step + 2))
            made = F.slice(x, axes=(axis,), starts=(start,), sizes=(size,), steps=(step,))
            pair = made, y[(slice(None),) * axis + (slice(start, start + (size - 1) * step + 1, step),)]
        elif which == 1:
            perm = tuple(map(int, self.rng.permutation(n)))
            pair = F.permute(x, perm=perm), y.permute(perm)
        elif which == 2 and n > 1:
            pair = F.diagonal(x, axis1=0, axis2=1), y.diagonal()
        elif which == 3:
            pair = F.unsqueeze(x, axes=(axis,)), y.unsqueeze(axis)
        elif which == 4 and y.is_contiguous():
            pair = F.reshape(x, shape=(y.numel(),)), y.reshape(-1)
        else:
            pair = F.reshape(x, shape=(*y.shape, 1)), y[..., None]
        if pair[1].ndim <= 5:
            self.note(f"view {which} of {list(y.shape)} -> {list(pair[1].shape)}", pair)

    def write(self):
        x, y = self.pick()
        a, b = self.pick(lambda t: t.shape == y.shape)
        if self.rng.integers(2):
            a, b = F.mul(a, 0.5), b * 0.5
        assign(x, a)
        if a is not x:  # a tensor written over itself is no write here
            y.copy_(b.clone())
        self.note(f"write into {list(y.shape)}", None, keep=False)

    def backward(self):
        """Gradients of a weighted sum of some of the tensors; an error of either side is part of the answer."""
        chosen = [self.pool[i] for i in self.rng.choice(len(self.pool), min(5, len(self.pool)), replace=False)]
        ours = theirs = None
        seeds = [self.rng.standard_normal(y.shape) for _, y in chosen]
        try:
            found = tape.grad(
                [x for x, _ in chosen], [x for x, _ in self.leaves], list(map(tensor, seeds)), allow_unused=True
            )
        except RuntimeError as error:
            ours = str(error)
        try:
            wanted = torch.autograd.grad(
                [y for _, y in chosen], [y for _, y in self.leaves], list(map(torch.tensor, seeds)), allow_unused=True
            )
        except RuntimeError as error:
            theirs = str(error)
        # What was overwritten as a whole has no history here; PyTorch still runs it, with zeros, and may refuse.
        assert ours is None or theirs is not None, f"ours: {ours}"
        if theirs is None:
            for g, e, (_, y) in zip(found, wanted, self.leaves):
                g = np.zeros(y.shape) if g is None else values(g)
                np.testing.assert_allclose(g, np.zeros(y.shape) if e is None else e.numpy(), rtol=1e-9, atol=1e-10)
        return theirs is None


def test_random_programs_against_torch(rng):
    finished = 0
    for round_ in range(150):
        twins = Twins(rng)
        try:
            for _ in range(int(rng.integers(3, 25))):
                (twins.call, twins.view, twins.write)[rng.choice(3, p=(0.4, 0.35, 0.25))]()
            for x, y in twins.pool:
                np.testing.assert_allclose(values(x), y.detach().numpy(), rtol=1e-10, atol=1e-12)
            finished += twins.backward()
        except Exception as error:
            pytest.fail(f"program {round_}:\n" + "\n".join(twins.log) + f"\n{type(error).__name__}: {error}")
    assert finished > 50
