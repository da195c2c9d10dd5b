"""Handles take and give arrays, tensors and memory, and refuse what the model does not declare."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import inference


@pytest.fixture
def predictor(config):
    return inference.create_predictor(config("linear"))


@pytest.fixture
def handle(predictor):
    return predictor.get_input_handle("x")


def output(predictor):
    return predictor.get_output_handle(predictor.get_output_names()[0])


def test_before_the_first_run(predictor, handle):
    assert (handle.name(), handle.shape(), handle.type()) == ("x", [-1, 8], inference.DataType.FLOAT32)
    assert (output(predictor).shape(), output(predictor).type()) == ([], inference.DataType.FLOAT32)
    with pytest.raises(RuntimeError, match=r"requires values of 'x', got none. Call copy_from_cpu first"):
        handle.copy_to_cpu()
    with pytest.raises(RuntimeError, match=r"got none. Call run\(\) first"):
        output(predictor).copy_to_cpu()
    with pytest.raises(RuntimeError, match=r"\[run\] requires a value for the input 'x', got none"):
        predictor.run()


def test_arrays_are_copied(predictor, handle):
    x = np.ones([2, 8], "float32")
    handle.copy_from_cpu(x)
    x[:] = 7
    assert handle.shape() == [2, 8]
    np.testing.assert_array_equal(handle.copy_to_cpu(), np.ones([2, 8]))
    predictor.run()
    first = output(predictor).copy_to_cpu()
    kept = first.copy()
    handle.copy_from_cpu(np.zeros([3, 8], "float32"))
    predictor.run()
    np.testing.assert_array_equal(first, kept)
    assert output(predictor).shape() == [3, 4]


def test_arrays_of_bfloat16(tmp_path):
    """As `numpy()` of a tensor gives them, and as integers that have the bits."""
    net, prefix = paddle.nn.Linear(2, 3), str(tmp_path / "model")
    net.to(dtype="bfloat16")
    paddle.jit.save(net, prefix, [paddle.static.InputSpec([None, 2], "bfloat16", "x")])
    predictor = inference.create_predictor(inference.Config(prefix + ".json", prefix + ".pdiparams"))
    x = paddle.to_tensor([[1.0, -2.5]]).astype("bfloat16")
    for array in (x.numpy(), x.numpy().view("uint16")):
        predictor.get_input_handle("x").copy_from_cpu(array)
        predictor.run()
        np.testing.assert_array_equal(output(predictor).copy_to_cpu(), net(x).numpy())
    with pytest.raises(TypeError, match="an array of numbers or truth values"):
        predictor.get_input_handle("x").copy_from_cpu(np.zeros([1, 2], [("a", "i2")]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_strides(predictor, handle, saved, order):
    x = np.asarray(np.random.default_rng(0).standard_normal([4, 16]).astype("float32"), order=order)[::2, ::-2]
    handle.copy_from_cpu(x)
    predictor.run()
    (want,) = saved("linear")[0].expected([np.ascontiguousarray(x)])
    np.testing.assert_allclose(output(predictor).copy_to_cpu(), want, rtol=1e-5, atol=1e-6)


def test_tensors_are_shared(predictor, handle, saved):
    x = paddle.ones([2, 8])
    handle.share_external_data(x)
    predictor.run()
    first = output(predictor).copy_to_cpu()
    x.set_value(paddle.arange(16, dtype="float32").reshape([2, 8]))
    predictor.run()
    (want,) = saved("linear")[0].expected([x.numpy()])
    np.testing.assert_allclose(output(predictor).copy_to_cpu(), want, rtol=1e-5, atol=1e-6)
    assert not np.allclose(first, want)


@pytest.mark.parametrize("text", [True, False])
def test_memory_at_an_address(predictor, handle, saved, text):
    x = np.arange(16, dtype="float32").reshape(2, 8)
    address = x.ctypes.data
    kinds = inference.DataType.FLOAT32, inference.PlaceType.CPU
    handle.share_external_data_by_ptr_name(str(address) if text else address, [2, 8], *kinds)
    x[0] = -1  # it is the same memory
    predictor.run()
    (want,) = saved("linear")[0].expected([x])
    np.testing.assert_allclose(output(predictor).copy_to_cpu(), want, rtol=1e-5, atol=1e-6)


def test_sizes_beforehand(handle):
    handle.reshape([5, 8])
    assert handle.shape() == [5, 8]
    handle.reshape(np.array([6, 8]))
    handle.reshape(paddle.to_tensor([6, 8]))
    assert handle.shape() == [6, 8]
    handle.copy_from_cpu(np.ones([2, 8], "float32"))
    assert handle.shape() == [2, 8]
    for wrong in ([5, 7], [8], [-1, 8]):
        with pytest.raises(ValueError, match=r"\[reshape\] requires sizes that 'x' allows: \[-1, 8\]"):
            handle.reshape(wrong)


def test_sequences_are_padded(handle):
    handle.set_lod([])
    assert handle.lod() == []
    with pytest.raises(ValueError, match="sequences are padded here"):
        handle.set_lod([[0, 2, 3]])


@pytest.mark.parametrize(
    ("call", "value", "kind", "message"),
    [
        ("copy_from_cpu", [1.0, 2.0], TypeError, "requires a NumPy array, got list"),
        ("copy_from_cpu", ["a"], TypeError, "There are no tensors of texts"),
        ("copy_from_cpu", np.array(["a"]), TypeError, "an array of numbers or truth values"),
        ("copy_from_cpu", np.ones([1, 8]), ValueError, "'x' as float32, as the model declares it, got float64"),
        ("copy_from_cpu", np.ones([1, 8], "complex64"), ValueError, "'x' as float32, as the model declares it"),
        ("copy_from_cpu", np.ones([8], "float32"), ValueError, r"shape \[-1, 8\], as the model declares it, got \[8\]"),
        ("copy_from_cpu", np.ones([1, 9], "float32"), ValueError, r"got \[1, 9\]"),
        ("share_external_data", np.ones([1, 8], "float32"), TypeError, "a tensor with data, got ndarray"),
    ],
)  # fmt: skip
def test_what_is_refused(handle, call, value, kind, message):
    with pytest.raises(kind, match=message):
        getattr(handle, call)(value)
    assert handle.shape() == [-1, 8]


def test_symbolic_tensors_are_refused(handle):
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            x = paddle.static.data("x", [1, 8])
            with pytest.raises(TypeError, match="a tensor with data"):
                handle.share_external_data(x)
    finally:
        paddle.disable_static()


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((0, [2, 8], inference.DataType.FLOAT32, inference.PlaceType.CPU), TypeError, "an address and sizes"),
        (("x1", [2, 8], inference.DataType.FLOAT32, inference.PlaceType.CPU), TypeError, "an address and sizes"),
        ((64, [2, -8], inference.DataType.FLOAT32, inference.PlaceType.CPU), TypeError, "an address and sizes"),
        ((64, [2, 8], 0, inference.PlaceType.CPU), TypeError, "a member of DataType"),
        ((64, [2, 8], inference.DataType.FLOAT32, 0), TypeError, "a member of PlaceType"),
        ((64, [2, 8], inference.DataType.FLOAT32, inference.PlaceType.GPU), ValueError, "PlaceType.CPU, got GPU"),
    ],
)
def test_addresses_that_are_refused(handle, given, kind, message):
    with pytest.raises(kind, match=message):
        handle.share_external_data_by_ptr_name(*given)


@pytest.mark.parametrize(("call", "given"), [("copy_from_cpu", (np.ones([1, 4], "float32"),)), ("reshape", ([1, 4],))])
def test_outputs_are_not_given(predictor, call, given):
    with pytest.raises(ValueError, match=rf"\[{call}\] requires an input, got the output"):
        getattr(output(predictor), call)(*given)


@pytest.mark.parametrize("by", ["tensor", "address"])
def test_outputs_go_to_the_memory_of_the_caller(predictor, handle, saved, by):
    """The first elements, as many as an output has; others stay."""
    memory = np.full([3, 4], 7, "float32")
    held = paddle.to_tensor(memory)
    if by == "address":
        kinds = inference.DataType.FLOAT32, inference.PlaceType.CPU
        output(predictor).share_external_data_by_ptr_name(memory.ctypes.data, [3, 4], *kinds)
    else:
        output(predictor).share_external_data(held)
    for rows in (3, 2, 0):
        x = np.random.default_rng(rows).standard_normal([rows, 8]).astype("float32")
        handle.copy_from_cpu(x)
        before = memory.copy() if by == "address" else held.numpy().copy()
        predictor.run()
        (want,) = saved("linear")[0].expected([x])
        now = memory if by == "address" else held.numpy()
        np.testing.assert_allclose(now[:rows], want, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(now[rows:], before[rows:])
        np.testing.assert_array_equal(output(predictor).copy_to_cpu(), now[:rows])
        assert output(predictor).shape() == [rows, 4]
    (y,) = predictor.run([paddle.ones([1, 8])])
    assert by == "address" or y.data_ptr() == held.data_ptr()
    assert predictor.clone().run([paddle.zeros([1, 8])])[0].data_ptr() != y.data_ptr()


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (paddle.zeros([7]), r"memory of at least 8 elements for the output '\w+', of shape \[2, 4\], got 7"),
        (paddle.zeros([2, 4], "float64"), r"memory of float32 for the output '\w+', got float64"),
    ],
)
def test_memory_that_an_output_does_not_fit_is_left_alone(predictor, held, message):
    output(predictor).share_external_data(held)
    with pytest.raises(ValueError, match=rf"\[run\] requires {message}"):
        predictor.run([paddle.ones([2, 8])])
    assert not held.numpy().any()


def test_outputs_need_dense_memory(predictor):
    with pytest.raises(ValueError, match=r"\[share_external_data\] requires dense memory for the output"):
        output(predictor).share_external_data(paddle.zeros([4, 2]).T)


@pytest.mark.parametrize("dtype", ["int16", "complex64"])
def test_types_that_have_no_name(tmp_path, dtype):
    """Models of other dtypes run; the enumeration has no member for them."""
    prefix = str(tmp_path / "model")
    paddle.jit.save(paddle.nn.Flatten(0), prefix, [paddle.static.InputSpec([None, 2], dtype, "x")])
    predictor = inference.create_predictor(inference.Config(prefix + ".json", ""))
    x = np.arange(4).reshape(2, 2).astype(dtype)
    handle = predictor.get_input_handle("x")
    handle.copy_from_cpu(x)
    predictor.run()
    np.testing.assert_array_equal(predictor.get_output_handle("fetch_name_0").copy_to_cpu(), x.ravel())
    with pytest.raises(ValueError, match=rf"requires one of the dtypes \['float32', .*, got {dtype}"):
        handle.type()


def test_a_value_is_copied_from_one_predictor_to_another(predictor):
    other = predictor.clone()
    source, target = predictor.get_input_handle("x"), other.get_input_handle("x")
    copy = inference.contrib.utils.copy_tensor
    with pytest.raises(RuntimeError, match=r"\[copy_tensor\] requires a value in 'x', got none"):
        copy(target, source)
    given = np.random.RandomState(0).randn(2, 8).astype("float32")
    source.copy_from_cpu(given)
    copy(target, source)
    source.copy_from_cpu(given * 0)  # which leaves the copy alone
    np.testing.assert_array_equal(target.copy_to_cpu(), given)
    other.run()
    predictor.run()
    copy(target, target)
    with pytest.raises(ValueError, match=r"\[copy_tensor\] requires an input, got the output"):
        copy(output(other), source)
    with pytest.raises(TypeError, match="handles of predictors, got Tensor and ndarray"):
        copy(target, given)
