"""Methods that replace a tensor or tell what it holds, and other methods that are made of a few lines."""

import numpy as np
import pytest

import paddle
from paddle.framework.core import VarDesc

T = paddle.to_tensor


def test_memory_is_shared_with_the_tensor():
    x = T([[1.0, 2.0], [3.0, 4.0]])
    memory = x.get_tensor()
    assert memory.shape() == memory._get_dims() == [2, 2] and memory._dtype() is paddle.float32
    assert np.array(memory).tolist() == x.tolist() and memory._numel() == 4 and memory._ptr() == x.data_ptr()
    memory.set(np.array([[5, 6, 7]]), paddle.CPUPlace())
    assert x.tolist() == [[5, 6, 7]] and x.dtype is paddle.int64 and memory.shape() == [1, 3]
    assert np.array(memory[0, 1:]).tolist() == [6, 7] and memory._slice(0, 1).shape() == [1, 3]
    assert "shape: [1, 3]" in str(memory) and "dtype: int64" in str(memory)


def test_memory_of_its_own():
    memory = paddle.base.core.DenseTensor()
    assert not memory._is_initialized()
    memory.set(np.ones([2, 3]), paddle.CPUPlace())
    assert memory.shape() == [2, 3] and memory._is_initialized()
    assert memory._as_type("int32")._dtype() is paddle.int32
    copied = memory._copy(paddle.CPUPlace())
    memory.set(np.zeros([1]), paddle.CPUPlace())
    assert np.array(copied).tolist() == [[1.0] * 3] * 2
    copied._share_data_with(memory)
    assert copied.shape() == [1] and copied._ptr() == memory._ptr()
    copied._clear()
    assert copied.shape() == [0]
    with pytest.raises(TypeError, match="DenseTensor"):
        copied._share_data_with(T([1.0]))


def test_bits_of_bfloat16():
    memory = paddle.base.core.DenseTensor()
    memory.set(np.array([0x3F80], "uint16"))
    assert memory._dtype() is paddle.bfloat16 and float(np.array(memory)[0]) == 1.0


def test_set_tensor_copies():
    x, y = T([1.0, 2.0]), T([7, 8, 9])
    assert x.set_tensor(y) is None
    y[0] = 0
    assert x.tolist() == [7, 8, 9] and x.dtype is paddle.int64
    with pytest.raises(ValueError, match="set_tensor"):
        x.set_tensor([1])


def test_reconstruct_from_takes_memory_and_history():
    x = T([1.0, 2.0], stop_gradient=False)
    x.name = "kept"
    y = T([5, 6, 7])
    assert x.reconstruct_from_(y) is None
    y[0] = 9
    assert x.tolist() == [9, 6, 7] and x.stop_gradient and x.name == "kept"

    x = T([1.0, 2.0], stop_gradient=False)
    y = T([0.0])
    y.reconstruct_from_(x * 2)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and not y.is_leaf and not y.stop_gradient

    (x * x).sum().backward()
    y = T([5.0, 6.0, 7.0], stop_gradient=False)
    (y * 3).sum().backward()
    x.reconstruct_from_(y)
    assert x.grad.tolist() == [3.0] * 3
    x.reconstruct_from_(T([1.0]))
    assert x.grad is None

    weight = paddle.nn.Linear(2, 2).weight
    weight.reconstruct_from_(T([1.0]))
    assert isinstance(weight, paddle.nn.Parameter) and weight.tolist() == [1.0] and weight.stop_gradient
    with pytest.raises(ValueError, match="reconstruct_from_"):
        x.reconstruct_from_([1.0])


def test_vocabulary_and_strings_are_no_elements():
    x = T([1.0, 2.0])
    given = {"a": 1}
    x.set_vocab(given)
    given["b"] = 2
    assert x.get_map_tensor() == {"a": 1} and x.type == VarDesc.VarType.VOCAB
    for read in (x.numpy, x.sum, lambda: x + 1, lambda: x[0]):
        with pytest.raises(RuntimeError, match="a vocabulary"):
            paddle.assign(read()).numpy()
    x.set_string_list(["a", "b"])
    assert x.type == VarDesc.VarType.STRINGS
    with pytest.raises(ValueError, match="set_vocab"):
        x.get_map_tensor()
    with pytest.raises(RuntimeError, match="strings"):
        x.numpy()
    x.set_tensor(T([3.0]))
    assert x.tolist() == [3.0] and x.type == VarDesc.VarType.DENSE_TENSOR
    with pytest.raises(SystemError, match="set_vocab"):
        x.get_map_tensor()
    for refused in (lambda: x.set_vocab([1]), lambda: x.set_string_list(1), lambda: x.set_string_list([1])):
        with pytest.raises(TypeError):
            refused()


def test_types():
    assert T([1.0]).type == VarDesc.VarType.DENSE_TENSOR
    table = paddle.nn.Embedding(4, 2, sparse=True)
    table(T([1])).sum().backward()
    assert table.weight.grad.type == VarDesc.VarType.SELECTED_ROWS
    assert table.weight.grad.get_selected_rows().rows() == [1] and T([1.0]).get_selected_rows() is None
    assert paddle.sparse.sparse_coo_tensor([[0], [1]], [1.0]).type is None


def test_made_through_the_class():
    assert paddle.Tensor.create_tensor("int32").dtype is paddle.int32
    parameter = paddle.Tensor.create_parameter([2, 3], "float32")
    assert isinstance(parameter, paddle.nn.Parameter) and parameter.shape == [2, 3]


def test_small_ones():
    with pytest.raises(ValueError, match="backward"):
        paddle.nn.Linear(1, 1).backward(T([1.0]))
    with pytest.raises(TypeError, match="xpu"):
        paddle.nn.Linear(1, 1).xpu("a")
    with paddle.set_grad_enabled(False) as mode:
        assert mode is None
    again = paddle.set_grad_enabled(True).clone()
    assert type(again) is paddle.set_grad_enabled and again.mode
    kernel = paddle.zeros([1, 1, 2, 2])
    paddle.nn.initializer.Bilinear().forward(kernel)
    assert (
        kernel.tolist() == paddle.nn.initializer.Bilinear()(paddle.zeros([1, 1, 2, 2])).tolist() != [[[[0.0] * 2] * 2]]
    )


def test_initializers_of_users_define_forward():
    class Twos(paddle.nn.initializer.Initializer):
        def forward(self, var, block=None):
            var.fill_(2.0)

    assert paddle.nn.Linear(1, 1, weight_attr=Twos()).weight.tolist() == [[2.0]]
