"""``paddle.load`` of a model for inference gives its parameters."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

import paddle
from paddle.static import InputSpec

SPEC = [InputSpec([None, 2])]


@pytest.fixture
def layer(tmp_path):
    net = paddle.nn.Linear(2, 3)
    paddle.jit.save(net, str(tmp_path / "m"), SPEC)
    return net


def of(net):
    return {p.name: p.tolist() for p in net.parameters()}


def lists(state):
    return {k: v.tolist() for k, v in state.items()}


def test_by_the_names_of_parameters(layer, tmp_path):
    state = paddle.load(str(tmp_path / "m"))
    assert lists(state) == of(layer) and all(isinstance(v, paddle.Tensor) for v in state.values())
    with pytest.raises(ValueError, match="a file that exists"):
        paddle.load(str(tmp_path / "m"), safetensors=True)
    arrays = paddle.load(str(tmp_path / "m"), return_numpy=True)
    assert lists(arrays) == of(layer) and all(isinstance(v, np.ndarray) for v in arrays.values())
    other = paddle.nn.Linear(2, 3)
    other.weight.name, other.bias.name = layer.weight.name, layer.bias.name
    other.set_state_dict(state, use_structured_name=False)
    assert of(other) == of(layer)


def test_by_their_names_in_the_layer_where_a_file_says_them(layer, tmp_path):
    """As PaddlePaddle 2 writes it beside the values."""
    names = {p.name: {"structured_name": k, "trainable": True} for k, p in layer.named_parameters()}
    paddle.save(names, str(tmp_path / "m.pdiparams.info"))
    state = paddle.load(str(tmp_path / "m"))
    assert lists(state) == lists(layer.state_dict())


def test_of_folders(layer, tmp_path):
    """With a program, of which the files may have other names, and with a file for each parameter alone."""
    (tmp_path / "f").mkdir()
    paddle.jit.save(layer, str(tmp_path / "f" / "m"), SPEC, separate_parameters=True)
    assert lists(paddle.load(str(tmp_path / "f"))) == of(layer)
    os.remove(tmp_path / "f" / "__model__.json")
    assert lists(paddle.load(str(tmp_path / "f"))) == of(layer)
    (tmp_path / "f" / "more").write_bytes(b"no value")
    with pytest.raises(ValueError, match=r"\[load\] requires a value of a parameter in .*more that is whole"):
        paddle.load(str(tmp_path / "f"))
    (tmp_path / "g").mkdir()
    shutil.copy(tmp_path / "m.json", tmp_path / "g" / "p")
    shutil.copy(tmp_path / "m.pdiparams", tmp_path / "g" / "v")
    assert lists(paddle.load(str(tmp_path / "g"), model_filename="p", params_filename="v")) == of(layer)


def test_what_is_none(tmp_path):
    with pytest.raises(ValueError, match="requires a file that exists"):
        paddle.load(str(tmp_path / "m"))
    with pytest.raises(ValueError, match="requires a regular file"):
        paddle.load(str(tmp_path))


def test_values_that_are_missing_are_no_empty_state(layer, tmp_path):
    os.remove(tmp_path / "m.pdiparams")
    with pytest.raises(ValueError, match=r"\[load\] requires values of .* in .*m.pdiparams, got no such ones"):
        paddle.load(str(tmp_path / "m"))
    paddle.jit.save(paddle.nn.ReLU(), str(tmp_path / "m"), SPEC)
    assert paddle.load(str(tmp_path / "m")) == {}


def test_one_name_of_two_parameters_is_refused(layer, tmp_path):
    first, second = (p.name for p in layer.parameters())
    for names in ({first: "w", second: "w"}, {first: second}):
        table = {k: {"structured_name": v} for k, v in names.items()}
        paddle.save(table, str(tmp_path / "m.pdiparams.info"))
        with pytest.raises(ValueError, match=r"requires other names for other parameters in .*m.pdiparams.info"):
            paddle.load(str(tmp_path / "m"))
