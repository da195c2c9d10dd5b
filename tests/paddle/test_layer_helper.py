"""``LayerHelper``, by which functions outside of layers make parameters."""

from __future__ import annotations

import subprocess
import sys

import pytest

import paddle
from paddle.base.layer_helper import LayerHelper


def fc(x, size, act=None, param_attr=None, bias_attr=None, name=None):
    helper = LayerHelper("fc", **locals())
    w = helper.create_parameter(helper.param_attr, [x.shape[-1], size], helper.input_dtype("x"))
    return helper.append_activation(helper.append_bias_op(paddle.matmul(helper.input("x"), w), dim_start=1))


def test_a_layer_as_a_function():
    x = paddle.to_tensor([[1.0, -2.0]])
    constant = paddle.nn.initializer.Constant
    assert fc(x, 3, "relu", paddle.ParamAttr(initializer=constant(1.0))).tolist() == [[0.0, 0.0, 0.0]]
    y = fc(x, 3, None, paddle.ParamAttr(initializer=constant(1.0)), paddle.ParamAttr(initializer=constant(2.0)))
    assert y.tolist() == [[1.0, 1.0, 1.0]]
    assert fc(x, 3, bias_attr=False).shape == [1, 3]
    assert paddle.nn.Linear(1, 1)._helper.get_default_dtype() == "float32"
    assert LayerHelper("fc", name="mine").name == "mine" and LayerHelper("fc").name.startswith("fc_")


def test_in_a_static_program():
    main, start = paddle.static.Program(), paddle.static.Program()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(main, start):
            y = fc(paddle.static.data("x", [None, 2]), 3)
            assert LayerHelper("fc").main_program is main and LayerHelper("fc").startup_program is start
        executor = paddle.static.Executor()
        executor.run(start)
        assert executor.run(main, feed={"x": [[1.0, 2.0]]}, fetch_list=[y])[0].shape == (1, 3)
    finally:
        paddle.disable_static()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda h: h.input("xs"), ValueError, "one tensor as xs"),
        (lambda h: h.input_dtype("xs"), ValueError, "one dtype in xs"),
        (lambda h: h.append_activation(paddle.ones([1])), ValueError, "name of an activation as act, got 'nothing'"),
        (lambda h: h.append_op(type="relu", inputs={}), NotImplementedError, "'relu': call the public function"),
        (lambda h: h.create_variable_for_type_inference("float32"), NotImplementedError, "functions that are called"),
    ],
)
def test_refusals(call, error, message):
    helper = LayerHelper("thing", xs=[paddle.ones([1]), paddle.ones([1], "int64")], act="nothing")
    with pytest.raises(error, match=message):
        call(helper)


def test_layers_keep_how_their_parameters_were_to_be_made():
    nn, attr = paddle.nn, paddle.ParamAttr(learning_rate=0.5)
    for kind, sizes in (
        (nn.Linear, (2, 2)),
        (nn.Bilinear, (2, 2, 2)),
        (nn.LayerNorm, (2,)),
        (nn.GroupNorm, (1, 2)),
        (nn.BatchNorm1D, (2,)),
    ):
        layer = kind(*sizes, weight_attr=attr, bias_attr=False)
        assert layer._weight_attr is attr and layer._bias_attr is False, layer
    assert nn.InstanceNorm1D(2, weight_attr=attr)._weight_attr is attr
    layer = nn.Conv2D(1, 1, 1, weight_attr=attr, bias_attr=False)
    assert layer._param_attr is attr and layer._bias_attr is False
    assert nn.Embedding(2, 2, weight_attr=attr)._weight_attr is attr is nn.PReLU(weight_attr=attr)._weight_attr


def test_modules_are_attributes_of_packages():
    code = "import paddle; print(paddle.nn.layer.transformer.MultiHeadAttention, paddle.nn.initializer.lazy_init)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MultiHeadAttention" in done.stdout and "lazy_init" in done.stdout, done.stderr
    assert not hasattr(paddle, "nowhere") and not hasattr(paddle.nn.layer, "nowhere")


def test_private_names_that_packages_import():
    from paddle.amp.auto_cast import amp_state

    assert amp_state() is None
    with paddle.amp.auto_cast(level="O2", dtype="bfloat16"):
        assert amp_state() == {"enable": True, "level": "O2", "dtype": "bfloat16"}
    with paddle.amp.auto_cast(False):
        assert amp_state() is None
    import paddle.vision.transforms as T
    from paddle.nn.initializer.lazy_init import lazy_init_helper
    from paddle.vision.transforms.transforms import _check_input

    assert paddle.paddle is paddle and paddle.framework.LayerHelper is LayerHelper
    joined = paddle.distributed.parallel.parallel_helper._is_parallel_ctx_initialized
    assert joined() == paddle.distributed.is_initialized()
    assert not lazy_init_helper()._state
    with paddle.LazyGuard():
        assert lazy_init_helper()._state and lazy_init_helper().state
    assert _check_input(0.25, "contrast") == [0.75, 1.25] and _check_input(0, "hue", 0, (-0.5, 0.5), False) is None
    assert T.functional._is_tensor_image(paddle.ones([1])) and not T.functional._is_pil_image(paddle.ones([1]))
    paddle.framework.random._manual_program_seed(3)
    assert paddle.static.default_startup_program().random_seed == paddle.static.default_main_program().random_seed == 3
    paddle.framework.random._manual_program_seed(0)
