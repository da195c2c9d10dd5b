"""A text where several things are required is refused by name: its letters would count as these. So is one where True
or False is required: "False" is true."""

import io

import numpy as np
import pytest

import paddle
from paddle import io as data
from paddle import nn, static
from paddle.optimizer import SGD, AdamW, Lamb, lr
from paddle.vision import transforms


def layer():
    return nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1D(2))


def sgd():
    return SGD(parameters=layer().parameters())


EAGER = {
    "Layer.float": lambda: layer().float(excluded_layers="Linear"),
    "Layer.float16": lambda: layer().float16(excluded_layers=["Linear"]),
    "Layer.bfloat16": lambda: layer().bfloat16(excluded_layers="Linear"),
    "set_state_dict": lambda: layer().set_state_dict("xy"),
    "LayerDict": lambda: nn.LayerDict("xy"),
    "ParameterDict": lambda: nn.ParameterDict("xy"),
    "LayerNorm": lambda: nn.LayerNorm("12"),
    "dropout": lambda: nn.functional.dropout(paddle.ones([2, 2]), axis="0"),
    "pad": lambda: nn.functional.pad(paddle.ones([2, 2]), "12"),
    "SGD": lambda: SGD(parameters="xy"),
    "SGD.minimize": lambda: sgd().minimize(paddle.ones([]), parameters="xy"),
    "SGD.minimize ": lambda: sgd().minimize(paddle.ones([]), no_grad_set="xy"),
    "AdamW": lambda: AdamW(parameters=layer().parameters(), apply_decay_param_fun="bias"),
    "Lamb": lambda: Lamb(parameters=layer().parameters(), exclude_from_weight_decay_fn="bias"),
    "PiecewiseDecay": lambda: lr.PiecewiseDecay("12", [1.0, 2.0, 3.0]),
    "PiecewiseDecay ": lambda: lr.PiecewiseDecay([1, 2], "123"),
    "clip_grad_norm_": lambda: nn.utils.clip_grad_norm_("xy", 1.0),
    "clip_grad_value_": lambda: nn.utils.clip_grad_value_(["xy"], 1.0),
    "parameters_to_vector": lambda: nn.utils.parameters_to_vector("xy"),
    "vector_to_parameters": lambda: nn.utils.vector_to_parameters(paddle.ones([2]), "xy"),
    "decorate": lambda: paddle.amp.decorate("xy", level="O2"),
    "decorate ": lambda: paddle.amp.decorate(layer(), "xy", level="O2"),
    "TensorDataset": lambda: data.TensorDataset("xy"),
    "ConcatDataset": lambda: data.ConcatDataset("xy"),
    "ChainDataset": lambda: data.ChainDataset("xy"),
    "ComposeDataset": lambda: data.ComposeDataset("xy"),
    "Subset": lambda: data.Subset([1, 2], "01"),
    "random_split": lambda: data.random_split([1, 2], "11"),
    "Compose": lambda: transforms.Compose("xy"),
    "stop_gradient": lambda: setattr(paddle.ones([2]), "stop_gradient", "False"),
    "Model.prepare": lambda: paddle.Model(layer()).prepare("sgd"),
}


@pytest.mark.parametrize("name", EAGER)
def test_eager(name):
    with pytest.raises(TypeError, match=rf"^\[{name.strip()}\] requires .*, got "):
        EAGER[name]()


STATIC = {
    "append_backward": lambda x, loss: static.append_backward(loss, no_grad_set="xy"),
    "append_backward ": lambda x, loss: static.append_backward(loss, parameter_list="xy"),
    "gradients": lambda x, loss: static.gradients(loss, x, no_grad_set="xy"),
    "minimize": lambda x, loss: SGD().minimize(loss, parameters="xy"),
}


@pytest.fixture
def program():
    paddle.enable_static()
    try:
        yield static.Program()
    finally:
        paddle.disable_static()


def recorded():
    x = static.data("x", [None, 2])
    return x, nn.Linear(2, 1)(x).mean()


@pytest.mark.parametrize("name", STATIC)
def test_static(program, name):
    with static.program_guard(program):
        x, loss = recorded()
        with pytest.raises(TypeError, match=rf"^\[{name.strip()}\] requires a list of variables or names .*, got 'xy'"):
            STATIC[name](x, loss)
        assert len(static.append_backward(loss, no_grad_set=[x.name])) == 2


def test_a_loss_of_another_program(program):
    with static.program_guard(program):
        x, loss = recorded()
    for call in (lambda: static.append_backward(loss), lambda: static.gradients(loss, x)):
        with pytest.raises(RuntimeError, match="requires a variable of the program that is recorded"):
            call()


def test_files_are_named_by_bytes_too(tmp_path):
    name = bytes(tmp_path / "x.pdparams")
    paddle.save({"w": paddle.ones([2])}, name)
    assert paddle.load(name)["w"].tolist() == [1.0, 1.0]
    paddle.save({"w": paddle.ones([2])}, bytes(tmp_path / "x.safetensors"))
    assert paddle.load(bytes(tmp_path / "x.safetensors"))["w"].tolist() == [1.0, 1.0]
    model = nn.Linear(2, 1)
    paddle.jit.save(model, bytes(tmp_path / "m"), [static.InputSpec([None, 2])])
    x = paddle.ones([1, 2])
    np.testing.assert_allclose(paddle.jit.load(bytes(tmp_path / "m"))(x).numpy(), model(x).numpy(), rtol=1e-6)


@pytest.mark.parametrize("wrong", [3, None, {}])
def test_no_names_of_files(wrong):
    model = nn.Linear(2, 1)
    for call in (
        lambda: paddle.load(wrong),
        lambda: paddle.save({}, wrong),
        lambda: paddle.jit.load(wrong),
        lambda: paddle.jit.save(model, wrong, [static.InputSpec([None, 2])]),
    ):
        with pytest.raises(TypeError, match=r"requires .*, got (int|NoneType|dict)"):
            call()
    assert paddle.load(io.BytesIO(b"\x80\x04K\x03.")) == 3


def last(schedule):
    for _ in range(5):
        schedule.step()
    return float(schedule.get_lr())


NUMBERS = {
    "list": list, "tuple": tuple, "array": np.array, "NumPy's": lambda x: [np.asarray(n)[()] for n in x],
    "without dims": lambda x: [np.asarray(n) for n in x], "tensor": paddle.to_tensor,
    "tensors": lambda x: [paddle.to_tensor(n) for n in x],
}  # fmt: skip


@pytest.mark.parametrize("form", NUMBERS)
def test_numbers_in_every_form(form):
    """As in the reference."""
    of = NUMBERS[form]
    assert nn.functional.dropout(paddle.ones([2, 3]), 0.5, axis=of([0])).shape == [2, 3]
    assert [len(x) for x in data.random_split(range(10), of([8, 2]))] == [8, 2]
    assert [len(x) for x in data.random_split(range(10), of([0.8, 0.2]))] == [8, 2]
    assert last(lr.PiecewiseDecay(of([1, 2]), of([0.25, 0.5, 0.75]))) == 0.75


def test_one_number_of_numpy():
    x, size = paddle.ones([2, 3]), np.int64(3)
    for y in (nn.LayerNorm(size)(x), nn.functional.layer_norm(x, size), nn.RMSNorm(size)(x)):
        assert y.shape == [2, 3]


def test_what_reads_as_a_dict_is_a_state():
    class State:
        def __init__(self, entries):
            self.keys, self.__class__.__getitem__ = entries.keys, lambda _, key: entries[key]

        def __iter__(self):
            return iter(self.keys())

        def __contains__(self, key):
            return key in self.keys()

    model, other = nn.Linear(2, 1), nn.Linear(2, 1)
    assert model.set_state_dict(State(other.state_dict())) == ([], [])
    assert model.weight.tolist() == other.weight.tolist()


def test_parameters_of_minimize():
    """One parameter is a list of one, an empty list the optimizer's, as in the reference."""
    model = nn.Linear(2, 1)
    sgd = SGD(0.5, parameters=model.parameters())
    loss = model(paddle.ones([1, 2])).sum()
    loss.backward()
    assert [p is model.bias for p, _ in sgd.minimize(loss, no_grad_set=model.weight)[1]] == [True]
    assert [p is model.bias for p, _ in sgd.minimize(loss, parameters=model.bias)[1]] == [True]
    assert len(sgd.minimize(loss, parameters=[])[1]) == 2


def test_what_is_read_once_names_variables_too(program):
    with static.program_guard(program):
        x = static.data("x", [2, 2])
        first, second = nn.Linear(2, 2), nn.Linear(2, 1)
        between = first(x)
        loss = second(between).sum()
        for given in ([between], iter([between])):
            found = static.append_backward(loss, no_grad_set=given)
            assert [p.name for p, _ in found] == [second.weight.name, second.bias.name]
        assert [p.name for p, _ in SGD().minimize(loss, parameters=second.bias)[1]] == [second.bias.name]
