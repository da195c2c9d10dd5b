"""Recurrent layers of predictors: weights are laid out once, in bfloat16 where that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.inference import Config, create_predictor
from paddle.static import InputSpec
from umiak.backends.cpu import select_rnn

FEATURES, UNITS = 20, 24


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    paddle.seed(0)
    prefix = str(tmp_path_factory.mktemp("recurrent") / "gru")
    layer = nn.GRU(FEATURES, UNITS, num_layers=2, direction="bidirect")
    layer.eval()
    paddle.jit.save(layer, prefix, [InputSpec([None, None, FEATURES], "float32", "x")])
    return layer, prefix


def predictor_of(prefix, *, bfloat16=False, unmixed=()):
    config = Config(prefix + ".json", prefix + ".pdiparams")
    if bfloat16:
        config.enable_onednn_bfloat16()
    if unmixed:
        config.exp_disable_mixed_precision_ops(unmixed)
    return create_predictor(config)


def strips_of(predictor):
    """The types of the laid out weights of the program that runs."""
    program = predictor._prepared.run.program
    return [o.operands[2].meta.dtype.name for o in program.walk() if o.name == "strip_rnn"]


@pytest.mark.parametrize("low", [False, True], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("sizes", [(1, 5), (6, 3)])
def test_predictors_and_their_clones_give_what_the_layer_gives(saved, low, sizes):
    layer, prefix = saved
    predictor = predictor_of(prefix, bfloat16=low)
    narrow = low and select_rnn.strip_of("float32", "bfloat16") is not None
    assert strips_of(predictor) == ["bfloat16" if narrow else "float32"] * 4
    x = paddle.randn([*sizes, FEATURES])
    expected = layer(x)[0].numpy()
    first, second = (p.run([x])[0].numpy() for p in (predictor, predictor.clone()))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, expected, atol=2e-2 if narrow else 1e-5)


def test_layers_that_are_kept_wide_stay_so(saved):
    _, prefix = saved
    assert strips_of(predictor_of(prefix, bfloat16=True, unmixed=["rnn"])) == ["float32"] * 4
