"""Public attributes, text, names and state of layers, recorded from the reference (tests/data/layer_attributes.json).

A list stands as ["L", ...] and a tuple as ["T", ...]; a tensor by its shape and dtype, a layer by its class.
"""

import json
import math
from pathlib import Path

import pytest

import paddle

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "layer_attributes.json").read_text())


def described(value):
    if isinstance(value, paddle.Tensor):
        return {"tensor": list(value.shape), "dtype": value.dtype.name, "param": isinstance(value, paddle.nn.Parameter)}
    if isinstance(value, paddle.nn.Layer):
        return {"layer": type(value).__name__}
    if isinstance(value, (list, tuple)):
        return ["T" if isinstance(value, tuple) else "L", *map(described, value)]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


@pytest.mark.parametrize("call", RECORDED)
def test_layer(call):
    layer, expected = eval(f"nn.{call}", {"nn": paddle.nn}), RECORDED[call]
    assert {name: described(getattr(layer, name)) for name in expected["attributes"]} == expected["attributes"]
    assert repr(layer) == expected["repr"]
    assert [[k, list(v.shape), v.dtype.name] for k, v in layer.state_dict().items()] == expected["state"]
    assert [name for name, _ in layer.named_sublayers()] == expected["sublayers"]
    assert [name for name, _ in layer.named_buffers()] == expected["buffers"]
    assert layer.full_name().rpartition("_")[0] == expected["name"]


def test_an_attribute_of_two_names_is_one():
    pad = paddle.nn.ConstantPad1D(1, 5.0)
    pad.padding, pad.value = [0, 2], 7.0
    assert pad(paddle.zeros([1, 1, 1])).tolist() == [[[0.0, 7.0, 7.0]]]
    pool = paddle.nn.AdaptiveMaxPool1D(1)
    pool.return_indices = True
    assert pool.return_mask and len(pool(paddle.ones([1, 1, 2]))) == 2


class Described(paddle.nn.Layer):
    def __init__(self, text, *layers):
        super().__init__()
        self.text = text
        for i, layer in enumerate(layers):
            self.add_sublayer(str(i), layer)

    def extra_repr(self):
        return self.text


def test_text_of_a_layer_beside_its_sublayers():
    relu = paddle.nn.ReLU()
    assert repr(Described("a", relu)) == "Described(a\n  (0): ReLU()\n)"
    assert repr(Described("", relu)) == "Described(\n  (0): ReLU()\n)"
    assert repr(Described("a\nb")) == "Described(\n  a\n  b\n)"
    assert repr(Described("a\nb", relu)) == "Described(\n  a\n  b\n\n  (0): ReLU()\n)"


def test_own_members_only():
    net = paddle.nn.Sequential(paddle.nn.BatchNorm1D(2))
    net.register_buffer("steps", paddle.zeros([1]), persistent=False)
    assert net.parameters(recurse=False) == [] and list(net.named_parameters(recurse=False)) == []
    assert [name for name, _ in net.named_buffers(recurse=False)] == ["steps"] and len(net.buffers(recurse=False)) == 1
    assert "steps" not in net.state_dict()
    with pytest.raises(TypeError, match="got both"):
        net.parameters(include_sublayers=True, recurse=True)
    with pytest.raises(RuntimeError, match="Sequential defines no get_extra_state"):
        net.get_extra_state()


def test_parameter_by_other_keywords():
    p = paddle.nn.Parameter(paddle.ones([1]), requires_grad=False, name="gate")
    assert p.stop_gradient and p.name == "gate"
    with pytest.raises(TypeError, match="requires a Tensor for data, got list"):
        paddle.nn.Parameter([1.0])


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_TANH", "RNN_RELU"])
def test_recurrent_networks_by_mode(mode):
    base = paddle.nn.layer.rnn.RNNBase
    x = paddle.randn([2, 5, 4])
    named = {"LSTM": paddle.nn.LSTM, "GRU": paddle.nn.GRU}.get(mode)
    other = named(4, 3, 2) if named else paddle.nn.SimpleRNN(4, 3, 2, activation=mode[4:].lower())
    net = base(mode, 4, 3, 2)
    net.set_state_dict(other.state_dict())
    assert isinstance(other, base) and net.mode == other.mode == mode and net.could_use_cudnn
    assert net.state_components == other.state_components and net.flatten_parameters() is None
    assert paddle.equal_all(net(x)[0], other(x)[0])


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="requires mode among LSTM, GRU, RNN_TANH, RNN_RELU, got 'RNN'"):
        paddle.nn.layer.rnn.RNNBase("RNN", 4, 3)


def test_classes_are_attributes_of_the_package_too():
    for name in ("Layer", "Linear", "MaxPool2D", "LayerNorm", "LSTM", "PixelShuffle", "PairwiseDistance"):
        assert getattr(paddle.nn.layer, name) is getattr(paddle.nn, name)
    with pytest.raises(AttributeError, match="has no attribute 'Unknown'"):
        _ = paddle.nn.layer.Unknown
