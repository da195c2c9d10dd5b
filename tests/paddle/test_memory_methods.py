"""Methods of tensors with an underscore, which packages reach memory and gradients by."""

import hashlib

import numpy as np
import pytest

import paddle
from paddle import nn


def rows():
    return paddle.arange(12, dtype="float32").reshape([4, 3])


def test_rows_share_memory_without_gradients():
    x = rows()
    x.stop_gradient = False
    part = x._slice(1, 3)
    assert part.stop_gradient and part.shape == [2, 3] and x._slice(2, 2).shape == [0, 3]
    part.zero_()
    assert x.tolist() == [[0, 1, 2], [0] * 3, [0] * 3, [9, 10, 11]]
    assert part._offset() == 12 and part._holder_size() == x._holder_size() == 48
    for begin, end in ((3, 6), (-2, 3), (3, 2)):
        with pytest.raises(IndexError, match=r"0 <= begin_idx <= end_idx <= 4"):
            x._slice(begin, end)
    with pytest.raises(IndexError):
        paddle.to_tensor(1.0)._slice(0, 1)


def test_copies_conversions_and_digests():
    x = rows() * 2.0
    x.stop_gradient = False
    y = x._copy_to(paddle.CPUPlace(), True)
    assert y.stop_gradient and not y._is_shared_buffer_with(x) and y.tolist() == x.tolist()
    assert x._copy_to("cpu").is_leaf
    assert x._to() is x and x._to("cpu") is x and x._to(dtype="float64").dtype is paddle.float64
    (x._to("cpu", "float64") * 2.0).sum().backward()
    assert x.grad.tolist() == [[2.0] * 3] * 4
    assert type(x._numel()) is int and x._numel() == 12 and x._place_str == "Place(cpu)"
    for z in (x, x.t(), paddle.to_tensor([[1, 2], [3, 4]]), paddle.ones([2], dtype="bfloat16")):
        assert z._md5sum() == hashlib.md5(np.ascontiguousarray(z.numpy()).tobytes()).hexdigest()
    assert x._local_value() is None and x._use_gpudnn(False) is x


@pytest.mark.parametrize("name", ["_clear", "_clear_data", "_clear_dataptr", "_clear_to_zero_allocation"])
def test_cleared_tensors_hold_nothing_until_they_are_written(name):
    x = rows()
    other = x.detach()
    getattr(x, name)()
    assert not x._is_initialized() and not x._is_dense_tensor_hold_allocation()
    assert x.shape == ([0] if name in ("_clear", "_clear_dataptr") else [4, 3])
    for use in (x.numpy, lambda: x + 1.0):
        with pytest.raises(RuntimeError, match=rf"requires elements to be read, got one that {name}\(\) has cleared"):
            use()
    assert other.tolist() == rows().tolist()
    if x.shape == [4, 3]:
        x.set_value(other * 2.0)
    else:
        x.set_tensor(other * 2.0)
    assert x._is_initialized() and x.tolist() == (rows() * 2.0).tolist()


def test_shared_memory():
    x, flat = rows(), paddle.zeros([6], "int32")
    x._share_buffer_to(flat)
    x.fill_(7.0)
    assert flat.dtype is paddle.float32 and flat.tolist() == [7.0] * 6
    assert x._is_shared_buffer_with(flat) and flat._is_shared_buffer_with(x._slice(2, 4))
    assert not x._is_shared_buffer_with(x.clone()) and not x._is_shared_underline_tensor_with(flat)
    with pytest.raises(ValueError, match="a tensor of at most 12 elements, got 13"):
        x._share_buffer_to(paddle.ones([13]))
    with pytest.raises(ValueError, match="a contiguous tensor"):
        x.t()._share_buffer_to(flat)
    with pytest.raises(TypeError, match="a Tensor, got list"):
        x._share_buffer_to([1.0])
    other = paddle.zeros([2])
    x._share_underline_tensor_to(other)
    assert other.shape == [4, 3] and x._is_shared_underline_tensor_with(other)
    assert x._new_shared_tensor()._is_shared_underline_tensor_with(x)


def test_versions():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * 1.0
    z = y * y
    assert y._inplace_version() == y.inplace_version == 0
    y._bump_inplace_version()
    assert y._inplace_version() == 1
    with pytest.raises(RuntimeError, match="version"):
        z.sum().backward()


def test_gradients():
    x = nn.Linear(2, 1).weight
    assert x._grad_ivar() is None
    (x * 2.0).sum().backward()
    assert x._grad_ivar() is x.grad
    x._zero_grads()
    assert x.grad.tolist() == [[0.0], [0.0]]
    value = paddle.ones([2, 1])
    x._set_grad_ivar(value)
    assert x.grad.tolist() == [[1.0], [1.0]]
    x._copy_gradient_from(value * 3.0)
    assert x.grad.tolist() == [[3.0], [3.0]]
    x.clear_gradient(False)
    numbers = [x._register_grad_hook(lambda g, k=k: g * k) for k in (2.0, 5.0)]
    assert len(set(numbers)) == 2 and x._remove_grad_hook(numbers[0]) and not x._remove_grad_hook(99)
    (x * 1.0).sum().backward()
    assert x.grad.tolist() == [[5.0], [5.0]]


@pytest.mark.parametrize("captured", [False, True])
def test_functions_behind_a_gradient(captured):
    """They are called once for each backward pass, when ``grad`` has changed, inside of captured functions, too."""
    x, seen = nn.Linear(2, 1).weight, []
    x._register_backward_hook(lambda: seen.append(x.grad.tolist()))
    x._register_backward_hook(lambda *_: seen.append("then"))

    def step(scale):
        ((x * scale).sum() + (x * 1.0).sum()).backward()

    run = paddle.jit.to_static(step) if captured else step
    run(2.0)
    run(3.0)
    assert seen == [[[3.0], [3.0]], "then", [[7.0], [7.0]], "then"]
    x._reset_grad_inplace_version(True)
    assert x.grad.tolist() == [[7.0], [7.0]]
    with pytest.raises(ValueError, match="a leaf with stop_gradient=False, got a tensor that was computed"):
        (x * 2.0)._register_backward_hook(print)
    with pytest.raises(ValueError, match="got stop_gradient=True"):
        rows()._register_backward_hook(print)
    with pytest.raises(TypeError, match="a function, got int"):
        x._register_backward_hook(3)


def test_variables_like_a_tensor():
    x = rows()
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        paddle.enable_static()
        try:
            made, kept = x._to_static_var(), nn.Layer().create_parameter([2])._to_static_var(to_parameter=True)
        finally:
            paddle.disable_static()
    assert made.shape == [4, 3] and made.dtype == x.dtype and made.stop_gradient
    assert main.global_block().var(x.name) is made and type(kept).__name__ == "Parameter" and not kept.stop_gradient
