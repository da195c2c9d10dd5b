"""Parameters made under ``paddle.LazyGuard``: what is known of them, what gives them values, what is refused before."""

import copy

import numpy as np
import pytest

import paddle
from tests.nn.layer_rows import ROWS


@pytest.fixture
def layer():
    with paddle.LazyGuard():
        return paddle.nn.Linear(3, 2)


def test_is_known_without_values(layer):
    weight = layer.weight
    assert weight.shape == [3, 2] and weight.dtype is paddle.float32 and weight.trainable and weight.is_leaf
    assert weight.size == 6 and weight.ndim == 2 and weight.place == paddle.ones([1]).place
    assert not weight._is_initialized() and weight.storage.capacity == 0
    assert "no values yet" in repr(weight) and "shape=[3, 2]" in repr(weight)
    assert list(layer.state_dict()) == ["weight", "bias"]


def test_gets_values_that_depend_on_the_seed():
    def make(guard):
        paddle.seed(7)
        with guard:
            layer = paddle.nn.Linear(3, 2)
        for parameter in layer.parameters():
            if not parameter._is_initialized():
                parameter.initialize()
        return layer.weight.tolist(), layer.bias.tolist()

    assert make(paddle.LazyGuard()) == make(paddle.enable_grad())


READS = {
    "numpy": lambda p: p.numpy(),
    "tolist": lambda p: p.tolist(),
    "operator": lambda p: p + 1,
    "matmul": lambda p: paddle.matmul(paddle.ones([2, 3]), p),
    "reduction": lambda p: p.sum(),
    "index": lambda p: p[0],
    "clone": lambda p: p.clone(),
    "part written": lambda p: p.detach().__setitem__(0, 1.0),
    "view written": lambda p: p.detach()[0].fill_(1.0),
    "data_ptr": lambda p: p.data_ptr(),
    "dlpack": lambda p: p.detach().__dlpack__(),
    "cast": lambda p: p.astype("float64"),
    "update": lambda p: p.detach().add_(paddle.ones([3, 2])),
}


@pytest.mark.parametrize("read", READS)
def test_reading_is_refused_by_name(layer, read):
    with pytest.raises(RuntimeError, match=f"{layer.weight.name}.*initialize"):
        result = READS[read](layer.weight)
        result.numpy() if isinstance(result, paddle.Tensor) else result  # views read when they are looked at
    assert not layer.weight._is_initialized()


def test_calls_are_refused_by_name(layer):
    x = paddle.ones([2, 3])
    with pytest.raises(RuntimeError, match=layer.weight.name):
        layer(x)
    with pytest.raises(RuntimeError, match=layer.weight.name):
        paddle.jit.to_static(layer.forward)(x)
    with pytest.raises(RuntimeError, match=layer.weight.name):
        layer.to(dtype="float64")


WRITES = {
    "set_value": lambda layer, w: layer.weight.set_value(w),
    "set_state_dict": lambda layer, w: layer.set_state_dict({"weight": w, "bias": paddle.ones([2])}),
    "load_state_dict": lambda layer, w: layer.load_state_dict({"weight": w, "bias": paddle.ones([2])}, assign=True),
    "copy_": lambda layer, w: layer.weight.detach().copy_(w),
    "fill_": lambda layer, w: layer.weight.detach().fill_(2.0),
}


@pytest.mark.parametrize("write", WRITES)
def test_writing_the_whole_gives_values(layer, write):
    WRITES[write](layer, paddle.full([3, 2], 2.0))
    assert (
        layer.weight.tolist() == [[2.0, 2.0]] * 3 and layer.weight._is_initialized() and not layer.weight.stop_gradient
    )


def test_writing_another_shape_gives_none(layer):
    with pytest.raises(AssertionError):
        layer.weight.set_value(np.ones([2, 2], "float32"))
    assert not layer.weight._is_initialized()


def test_initialize_comes_once(layer):
    layer.weight.initialize()
    with pytest.raises(AssertionError, match="which has its values"):
        layer.weight.initialize()
    with pytest.raises(AssertionError, match="initialize"):
        paddle.nn.Parameter(paddle.ones([1])).initialize()


def test_own_function(layer):
    layer.bias.set_init_func(lambda parameter, block: parameter.fill_(3.0))
    layer.bias.initialize()
    assert layer.bias.tolist() == [3.0, 3.0]


def test_copies_are_lazy_too(layer):
    other = copy.deepcopy(layer)
    other.bias.initialize()
    assert other.bias.tolist() == [0.0, 0.0]
    assert not layer.bias._is_initialized() and not other.weight._is_initialized()


def test_trains_after_initialization(layer):
    optimizer = paddle.optimizer.Adam(parameters=layer.parameters())
    for parameter in layer.parameters():
        parameter.initialize()
    before = layer.weight.numpy().copy()
    layer(paddle.ones([2, 3])).sum().backward()
    optimizer.step()
    assert np.all(layer.weight.numpy() < before)


def test_guards_nest_and_end_with_their_block():
    with paddle.LazyGuard():
        with paddle.LazyGuard():
            pass
        made = paddle.create_parameter([2], "float64")
        assert paddle.zeros([2]).tolist() == [0.0, 0.0]  # tensors are made as ever
    assert not made._is_initialized() and made.dtype is paddle.float64
    with pytest.raises(ZeroDivisionError), paddle.LazyGuard():
        1 / 0  # noqa: B018
    assert paddle.create_parameter([2], "float32")._is_initialized()


def test_row_of_padding_is_zero():
    with paddle.LazyGuard():
        table = paddle.nn.Embedding(4, 2, padding_idx=-1)
    table.weight.initialize()
    assert table.weight[3].tolist() == [0.0, 0.0] and bool((table.weight[:3] != 0).any())


def test_from_tensor_shares_memory():
    x = paddle.to_tensor([1.0, 2.0])
    p = paddle.nn.Parameter.from_tensor(x, name="own", trainable=False, need_clip=False)
    x[0] = 5.0
    assert p.tolist() == [5.0, 2.0] and p.name == "own" and p.stop_gradient and not p.need_clip
    with pytest.raises(TypeError, match="colour"):
        paddle.nn.Parameter.from_tensor(x, colour=1)
    with pytest.raises(TypeError):
        paddle.nn.Parameter.from_tensor([1.0])


LAYERS = {str(rows[0]): rows[0].make for rows in ROWS.values()}


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_is_made_without_values(name):
    with paddle.LazyGuard():
        layer = LAYERS[name]()
    parameters = layer.parameters()
    assert not any(p._is_initialized() for p in parameters)
    for parameter in parameters:
        parameter.initialize()
    eager = LAYERS[name]()
    assert [p.shape for p in parameters] == [p.shape for p in eager.parameters()]
    assert [p.isfinite().all().item() for p in parameters] == [True] * len(parameters)
