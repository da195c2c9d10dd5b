"""Keywords that the reference takes for parameters of other names, recorded from it (tests/data/keywords.json).

For each public function, method and constructor: the keyword, and the parameter that it stands for.
"""

import importlib
import inspect
import json
from pathlib import Path

import pytest

import paddle

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "keywords.json").read_text())

ANY = paddle.ones([1])


def find(path):
    owner, _, name = path.rpartition(".")
    value = getattr(paddle.Tensor if owner == "Tensor" else importlib.import_module(owner), name)
    return value, getattr(value.__init__ if inspect.isclass(value) else value, "_aliases", {})


@pytest.mark.parametrize("path", RECORDED)
def test_keyword(path):
    """It is taken, means the parameter, and is refused beside it."""
    value, aliases = find(path)
    parameters = inspect.signature(value).parameters
    for keyword, parameter in RECORDED[path].items():
        here = aliases.get(parameter, parameter)
        assert aliases.get(keyword, keyword) == here and here in parameters, keyword
        with pytest.raises(TypeError, match=r"got both|got multiple values"):
            value(**{keyword: ANY, parameter: ANY})


LAYERS = [
    ("LayerNorm", {"normalized_shape": 4}, {"epsilon": 0.5}),
    ("GroupNorm", {"num_groups": 2, "num_channels": 4}, {"epsilon": 0.5}),
    ("PairwiseDistance", {}, {"epsilon": 0.5}),
    ("CosineSimilarity", {}, {"axis": 0}),
    ("GLU", {}, {"axis": 1}),
    ("Hardshrink", {}, {"threshold": 0.25}),
    ("Softshrink", {}, {"threshold": 0.25}),
    ("AdaptiveMaxPool1D", {"output_size": 2}, {"return_mask": True}),
    ("AdaptiveMaxPool2D", {"output_size": 2}, {"return_mask": True}),
    ("AdaptiveMaxPool3D", {"output_size": 2}, {"return_mask": True}),
    (
        "Fold",
        {},
        {"output_sizes": [4, 4], "kernel_sizes": 2, "strides": 2, "paddings": 1, "dilations": 1},
    ),
    ("LayerList", {}, {"sublayers": (paddle.nn.ReLU(),)}),
    ("LayerDict", {}, {"sublayers": {"a": paddle.nn.ReLU()}}),
]


@pytest.mark.parametrize(("name", "common", "given"), LAYERS, ids=[row[0] for row in LAYERS])
def test_layers_are_the_same_by_either_keyword(name, common, given):
    def fields(layer):
        return {k: v for k, v in vars(layer).items() if not isinstance(v, (dict, paddle.Tensor))}

    cls, aliases = find(f"paddle.nn.{name}")
    assert sorted(aliases.values()) == sorted(given)
    one, other = cls(**common, **given), cls(**common, **{k: given[p] for k, p in aliases.items()})
    shown = {k: v for k, v in fields(one).items() if k not in ("_full_name", "_non_persistable_buffer_names_set")}
    assert repr(one) == repr(other) and shown == {k: fields(other)[k] for k in shown}


def test_the_tensor_that_is_written_may_be_a_keyword():
    x = paddle.to_tensor([-1.0])
    assert paddle.abs_(input=x) is x and x.tolist() == [1.0]
    y = paddle.ones([1, 2])
    assert paddle.squeeze_(input=y, dim=0) is y and y.shape == [2]
    with pytest.raises(TypeError, match="requires a Tensor for x, got nothing"):
        paddle.abs_()


def test_bounds_of_a_uniform_distribution_by_words_of_python():
    x = paddle.zeros([100]).uniform_(**{"from": 2.0, "to": 3.0})
    assert 2.0 <= float(x.min()) and float(x.max()) <= 3.0


HIDDEN_OUT = """
    argmax argmin asin diagonal expand_as isclose isfinite isinf isnan roll nn.functional.gelu nn.functional.softplus
"""


@pytest.mark.parametrize("name", HIDDEN_OUT.split())
def test_out_that_no_signature_shows(name):
    function, x = paddle, paddle.to_tensor([[0.5, -0.25], [0.75, 0.125]])
    for part in name.split("."):
        function = getattr(function, part)
    args = {"expand_as": (x, x), "isclose": (x, x), "roll": (x, 1)}.get(name, (x,))
    expected = function(*args)
    out = paddle.zeros_like(expected)
    assert function(*args, out=out) is out and out.tolist() == expected.tolist()
    assert "out" not in inspect.signature(function).parameters and "``out``" in function.__doc__
