"""Layers follow the default dtype, unless they were given one."""

import pytest

import paddle
from paddle import nn


@pytest.fixture(params=["float64", "bfloat16"])
def default(request):
    paddle.set_default_dtype(request.param)
    yield request.param
    paddle.set_default_dtype("float32")


LAYERS = {
    "Linear": lambda: nn.Linear(2, 3),
    "Bilinear": lambda: nn.Bilinear(2, 2, 2),
    "Embedding": lambda: nn.Embedding(3, 2),
    **{f"Conv{n}D": lambda n=n: getattr(nn, f"Conv{n}D")(2, 2, 1) for n in (1, 2, 3)},
    **{f"Conv{n}DTranspose": lambda n=n: getattr(nn, f"Conv{n}DTranspose")(2, 2, 1) for n in (1, 2, 3)},
    **{f"BatchNorm{n}D": lambda n=n: getattr(nn, f"BatchNorm{n}D")(2) for n in (1, 2, 3)},
    **{f"InstanceNorm{n}D": lambda n=n: getattr(nn, f"InstanceNorm{n}D")(2) for n in (1, 2, 3)},
    "LayerNorm": lambda: nn.LayerNorm(2),
    "GroupNorm": lambda: nn.GroupNorm(2, 2),
    "PReLU": lambda: nn.PReLU(),
    "LSTM": lambda: nn.LSTM(2, 2),
    "GRUCell": lambda: nn.GRUCell(2, 2),
    "MultiHeadAttention": lambda: nn.MultiHeadAttention(4, 2),
    "HSigmoidLoss": lambda: nn.HSigmoidLoss(2, 4),
}


@pytest.mark.parametrize("name", LAYERS)
def test_parameters_and_statistics_have_it(name, default):
    made = LAYERS[name]()
    found = [*made.parameters(), *made.buffers()]
    assert found and {v.dtype.name for v in found} == {default}


@pytest.mark.parametrize("kind", ["Constant", "Normal", "XavierUniform", "KaimingNormal", "Orthogonal"])
def test_initialisers_fill_it(kind, default):
    initialiser = getattr(nn.initializer, kind)(*([2.0] if kind == "Constant" else []))
    assert nn.Linear(2, 2, weight_attr=paddle.ParamAttr(initializer=initialiser)).weight.dtype.name == default


def test_a_dtype_that_was_given_stays(default):
    for made in (
        nn.Conv2D(2, 2, 1, dtype="float32"),
        nn.LayerNorm(2, dtype="float32"),
        nn.Embedding(3, 2, dtype="float32"),
        nn.GroupNorm(2, 2, dtype="float32"),
    ):
        assert {v.dtype.name for v in made.parameters()} == {"float32"}
    assert nn.BatchNorm(2)._mean.dtype.name == "float32"
    assert nn.Layer().create_parameter([2]).dtype.name == default
    assert nn.Layer(dtype="float16").create_parameter([2]).dtype.name == "float16"


def test_statistics_are_wide_where_the_default_is_float16():
    paddle.set_default_dtype("float16")
    try:
        made = nn.BatchNorm1D(2)
        assert nn.Linear(2, 2).weight.dtype is paddle.float16
    finally:
        paddle.set_default_dtype("float32")
    assert {v.dtype.name for v in (*made.parameters(), *made.buffers())} == {"float32"}


def test_a_layer_computes_in_it():
    paddle.set_default_dtype("float64")
    try:
        x = paddle.ones([2, 3, 4])
        assert nn.LSTM(4, 3)(x)[0].dtype is paddle.float64
        assert nn.Linear(4, 3)(x).dtype is paddle.float64
    finally:
        paddle.set_default_dtype("float32")
