"""Mistakes are reported in one form, ``[op] requires …, got …``, and leave the engine as it was."""

from __future__ import annotations

import gc
import pickle
import re
import threading
import weakref

import numpy as np
import pytest
from harness import NULL, backward, leaf, tensor, values

from umiak import ops as F
from umiak.core import array, context, inplace, storage, tape
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor, empty
from umiak.ops import base
from umiak.util.errors import op_error

FORM = re.compile(r"^\[\w+\] requires .+, got .+", re.S)


def x(*shape, dtype="f8"):
    return tensor(np.ones(shape or (2, 3), dtype))


MISTAKES = {
    "broadcast": (ValueError, lambda: F.add(x(2, 3), x(4, 3))),
    "dtypes": (TypeError, lambda: F.add(x(), x(dtype="f4"))),
    "number": (TypeError, lambda: F.add(x(dtype="i4"), 0.5)),
    "kind": (TypeError, lambda: F.bitwise_and(x(), x())),
    "logic": (TypeError, lambda: F.exp(x(dtype="i4"))),
    "inner": (ValueError, lambda: F.matmul(x(2, 3), x(2, 3))),
    "rank": ((ValueError, TypeError), lambda: F.matmul(x(3), tensor(1.0))),
    "axis": (IndexError, lambda: F.sum(x(), axes=(5,))),
    "negative axis": (IndexError, lambda: F.softmax(x(), axis=-1)),
    "same axis twice": (ValueError, lambda: F.sum(x(), axes=(0, 0))),
    "reshape": (ValueError, lambda: F.reshape(x(2, 3), shape=(4, 2))),
    "broadcast_to": (ValueError, lambda: F.broadcast_to(x(2, 3), shape=(2, 4))),
    "permute": ((ValueError, IndexError), lambda: F.permute(x(2, 3), perm=(0, 0))),
    "squeeze": (ValueError, lambda: F.squeeze(x(2, 3), axes=(0,))),
    "slice": ((ValueError, IndexError), lambda: F.slice(x(2, 3), axes=(0,), starts=(1,), sizes=(4,), steps=(1,))),
    "concat": (ValueError, lambda: F.concat((x(2, 3), x(2, 4)), axis=0)),
    "nothing to concat": ((ValueError, TypeError), lambda: F.concat((), axis=0)),
    "stack": (ValueError, lambda: F.stack((x(2, 3), x(2, 4)), axis=0)),
    "split": (ValueError, lambda: F.split(x(2, 3), axis=0, sections=(1, 2))),
    "take": (TypeError, lambda: F.take(x(2, 3), x(2), axis=0)),
    "where": (TypeError, lambda: F.where(x(), x(), x())),
    "negative size": (ValueError, lambda: F.full(1.0, dtype=dt.float32, shape=(-1,))),
    "cholesky": (ValueError, lambda: F.cholesky(x(2, 3))),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_form(name):
    kind, call = MISTAKES[name]
    with pytest.raises(kind) as caught:
        call()
    assert FORM.match(str(caught.value)), str(caught.value)
    # The second time as well: a plan of the class may be there by now.
    with pytest.raises(kind) as again:
        call()
    assert str(again.value) == str(caught.value)


@pytest.mark.parametrize("name", MISTAKES)
def test_form_with_gradients(name):
    """A call that would be recorded fails in the same words and records nothing."""
    kind, call = MISTAKES[name]
    ctx = context.current()
    before = ctx.plan_mode
    with pytest.raises(kind) as caught:
        call()
    assert FORM.match(str(caught.value))
    assert ctx.plan_mode == before


def test_op_error():
    error = op_error(ValueError, "add", "a", "b", "Do c.")
    assert type(error) is ValueError and str(error) == "[add] requires a, got b. Do c."
    assert str(op_error(TypeError, "add", "a", "b")) == "[add] requires a, got b"


def test_missing_attributes_and_params():
    softmax = F.REGISTRY["softmax"]
    with pytest.raises(TypeError, match=r"^\[softmax\] requires attribute 'axis'"):
        softmax()
    with pytest.raises(TypeError, match=r"^\[softmax\] has no attribute 'axes'; it has \('axis',\)"):
        softmax(1, axes=2)
    with pytest.raises(TypeError, match=r"^\[softmax\] takes 1 attributes"):
        softmax(1, 2)
    with pytest.raises(TypeError, match="axis"):
        F.softmax(x())
    with pytest.raises(TypeError, match="softmax"):
        F.softmax(x(), axis=0, other=1)


def test_unknown_op():
    with pytest.raises(AttributeError, match=r"umiak.ops has no op 'sofmax'"):
        F.sofmax  # noqa: B018


@pytest.mark.parametrize(
    ("of_class", "name"),
    [("Add", "add"), ("LayerNorm", "layer_norm"), ("FFTShift", "fft_shift"), ("Assert", "assert_"),
     ("Is", "is_")],
)  # fmt: skip
def test_names_of_classes(of_class, name):
    """A name that Python keeps for itself has a trailing underscore."""
    assert base.snake(of_class) == name


@pytest.mark.parametrize("name", ["softmax", "add", "concat"])
def test_a_function_is_made_once(monkeypatch, name):
    monkeypatch.delitem(base.FUNCTIONS, name, raising=False)
    made = base.function(name)
    assert made.__name__ == name
    assert base.function(name) is made


def test_unhashable_attributes_are_refused():
    with pytest.raises(TypeError):
        F.softmax(x(), axis={})


def test_records_are_pickled_as_themselves():
    for op in (F.REGISTRY["softmax"](1), F.REGISTRY["sum"]((0, 1), True), F.REGISTRY["cast"](dt.bfloat16)):
        assert pickle.loads(pickle.dumps(op)) is op


def test_out_of_memory_says_how_much():
    with pytest.raises(MemoryError, match=r"^\[full\] out of memory on cpu: .* requested"):
        F.full(1.0, dtype=dt.float64, shape=(1 << 30, 1 << 25))
    with pytest.raises(MemoryError, match=r"^\[empty\]"):
        empty((1 << 31, 1 << 31), dt.float64, NULL)


def test_sizes_that_overflow():
    """No multiplication of sizes wraps around."""
    for call in (
        lambda: F.full(1.0, dtype=dt.float64, shape=(1 << 31, 1 << 31, 4)),
        lambda: F.full(1.0, dtype=dt.float64, shape=(1 << 62,)),
        lambda: F.full(1.0, dtype=dt.float64, shape=(1 << 32, 1 << 32)),
    ):
        with pytest.raises((MemoryError, ValueError, OverflowError)):
            call()


def test_sizes_beyond_32_bits_on_null():
    big = empty((1 << 20, 1 << 13), dt.float32, NULL)
    y = F.add(big, 1.0)
    assert y.shape == [1 << 20, 1 << 13]
    assert F.reshape(y, shape=(1 << 33,)).shape == [1 << 33]
    assert F.slice(y, axes=(0,), starts=((1 << 20) - 1,), sizes=(1,), steps=(1,)).offset == 4 * ((1 << 33) - (1 << 13))


@pytest.mark.usefixtures("no_garbage")
def test_memory_is_unharmed_after_failed_calls():
    gc.collect()  # what other tests left
    before = storage.allocator(0).stats()["allocated"]
    for _ in range(3):
        for kind, call in MISTAKES.values():
            with pytest.raises(kind):
                call()
    assert storage.allocator(0).stats()["allocated"] == before


def test_data_of_a_place_without_data():
    t = empty((2,), dt.float32, NULL)
    with pytest.raises(RuntimeError, match=r"^\[numpy\] requires a tensor with data, got one on null:0"):
        array.to_numpy(t)


def test_kernel_failures_name_the_op():
    """A matrix without a Cholesky factor: NumPy's error crosses with the op in front."""
    bad = tensor(-np.eye(2))
    with pytest.raises(Exception, match="cholesky"):
        F.cholesky(bad)
    np.testing.assert_array_equal(values(F.cholesky(tensor(np.eye(2)))), np.eye(2))


def test_errors_in_backward_name_the_op():
    a = leaf(np.ones((2, 2)))
    b = F.mul(a, 2.0)
    y = F.mul(b, b)
    inplace.apply_into(F.REGISTRY["mul"](), (b,), (b, 2.0))
    with pytest.raises(RuntimeError, match=r"^\[mul\] requires operand"):
        backward(y)


def test_errors_in_threads_stay_there():
    errors = []

    def run():
        try:
            F.add(x(2), x(3))
        except ValueError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(errors) == 4 and len(set(errors)) == 1
    np.testing.assert_array_equal(values(F.add(x(2), x(2))), [2, 2])


def test_attributes_of_tensors():
    t = x()
    with pytest.raises(AttributeError, match="Tensor' object has no attribute 'nope'"):
        t.nope  # noqa: B018
    t.mine = 3
    assert t.mine == 3 and t._attributes == t.__dict__ == {"mine": 3}
    del t.mine
    assert t._attributes == {}
    with pytest.raises(AttributeError):
        del t.mine
    with pytest.raises(AttributeError):
        t.shape = [1]
    with pytest.raises(TypeError, match=r"^\[grad\] requires a Tensor or None, got int"):
        t.grad = 3
    with pytest.raises(ValueError, match=r"^\[grad\] requires the tensor's shape"):
        t.grad = tensor([1.0])


@pytest.mark.parametrize("kind", [Tensor, type("Mine", (Tensor,), {})])
def test_attributes_that_refer_back_are_collected(kind):
    t = kind()
    t.me = [t]
    gone = weakref.ref(t)
    del t
    gc.collect()
    assert gone() is None


def test_grad_arguments():
    a = leaf([1.0])
    y = F.mul(a, a)
    with pytest.raises(ValueError, match=r"^\[grad\] requires one gradient per output \(1\), got 2"):
        tape.grad([y], [a], [None, None])
    with pytest.raises(TypeError):
        tape.grad([y], [3.0])
    with pytest.raises(TypeError):
        tape.grad([3.0], [a])
    with pytest.raises(TypeError):
        tape.backward([None])


def test_a_tensor_made_by_hand_is_empty():
    t = Tensor()
    assert t.shape == [0] and t.dtype is dt.float32
    assert F.add(t, 1.0).shape == [0]
