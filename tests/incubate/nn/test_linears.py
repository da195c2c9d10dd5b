"""Linear maps with a bias and an activation, and activations between integer matmuls, against NumPy and PyTorch."""

import numpy as np
import pytest
import torch

import paddle
from paddle.incubate.nn import FusedLinear
from paddle.incubate.nn import functional as I

ACTIVATIONS = {
    None: lambda x: x,
    "none": lambda x: x,
    "relu": torch.relu,
    "gelu": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
}


@pytest.mark.parametrize("lead", [(5,), (2, 5)])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_transposed_operands(rng, lead, transposed):
    """A transposed x is contracted over its first axis, of any rank."""
    x, y, bias = rng.standard_normal((*lead, 3)), rng.standard_normal((3, 4)), rng.standard_normal(4)
    expected = x @ y + bias
    operands = [np.moveaxis(x, -1, 0) if transposed[0] else x, y.T if transposed[1] else y, bias]
    ours = [paddle.to_tensor(v) for v in operands]
    np.testing.assert_allclose(I.fused_matmul_bias(*ours, *transposed).numpy(), expected, rtol=1e-12, atol=1e-12)
    if not transposed[0]:
        np.testing.assert_allclose(I.fused_linear(*ours, transposed[1]).numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_and_gradients(rng, activation):
    arrays = [rng.standard_normal(shape) for shape in ((2, 5, 3), (3, 4), (4,))]
    ours = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    theirs = [torch.from_numpy(a).requires_grad_() for a in arrays]
    y = I.fused_linear_activation(*ours, activation=activation)
    expected = ACTIVATIONS[activation](theirs[0] @ theirs[1] + theirs[2])
    np.testing.assert_allclose(y.numpy(), expected.detach(), rtol=1e-12, atol=1e-12)
    wanted = torch.autograd.grad((expected**2).sum(), theirs)
    for a, b in zip(paddle.grad((y**2).sum(), ours), wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-10, atol=1e-10)


def test_a_product_without_bias_is_a_matmul(rng):
    x, y = paddle.to_tensor(rng.standard_normal((2, 3, 4))), paddle.to_tensor(rng.standard_normal((2, 3, 5)))
    found = I.fused_matmul_bias(x, y, None, True)
    np.testing.assert_allclose(found.numpy(), x.numpy().swapaxes(1, 2) @ y.numpy(), rtol=1e-12)


def test_layer(rng):
    x = paddle.to_tensor(rng.standard_normal((2, 4)).astype("float32"))
    plain, transposed = FusedLinear(4, 3), FusedLinear(4, 3, transpose_weight=True)
    transposed.set_state_dict({"weight": plain.weight.T, "bias": plain.bias})
    np.testing.assert_allclose(transposed(x).numpy(), plain(x).numpy(), rtol=1e-6, atol=1e-6)
    assert FusedLinear(4, 3, bias_attr=False).bias is None


@pytest.mark.parametrize("act", ["gelu", "relu", "geglu", "swiglu"])
def test_bias_act(rng, act):
    x, bias = rng.standard_normal((3, 8)), rng.standard_normal(8)
    shift, smooth = rng.standard_normal((2, 4 if act.endswith("glu") else 8))
    z = torch.from_numpy(x + bias)
    if act.endswith("glu"):
        gate, value = z.chunk(2, -1)
        y = (torch.nn.functional.gelu(gate) if act == "geglu" else torch.nn.functional.silu(gate)) * value
    else:
        y = getattr(torch.nn.functional, act)(z)
    ours = [paddle.to_tensor(v) for v in (x, bias, shift, smooth)]
    found = I.fused_bias_act(ours[0], ours[1], None, ours[2], ours[3], act)
    np.testing.assert_allclose(found.numpy(), (y.numpy() + shift) * smooth, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("kind", "dtype"), [("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16")])
def test_integers_are_dequantised_by_column(kind, dtype):
    x = paddle.to_tensor([[4, -4], [8, 8]], "int32")
    scales, bias = paddle.to_tensor([0.25, 0.5]), paddle.to_tensor([1.0, 0.0]).astype(dtype)
    y = I.fused_bias_act(x, bias, scales, act_method="relu", compute_dtype=kind)
    assert (y.dtype.name, y.tolist()) == (dtype, [[2.0, 0.0], [3.0, 4.0]])
    levels = I.fused_bias_act(
        x, bias, scales, act_method="relu", compute_dtype=kind, quant_scale=0.25, quant_max_bound=127, quant_min_bound=0
    )
    # 127 / 4 a unit: 63.5, 95.25 and 127; ties go to even.
    assert (levels.dtype.name, levels.tolist()) == ("int8", [[64, 0], [95, 127]])


def test_refusals():
    x, w, b = paddle.ones([2, 3]), paddle.ones([3, 4]), paddle.ones([4])
    with pytest.raises(ValueError, match=r"\[fused_linear_activation\] requires an activation of .* got 'tanh'"):
        I.fused_linear_activation(x, w, b, activation="tanh")
    with pytest.raises(ValueError, match=r"\[fused_matmul_bias\] requires a bias of shape \[4\], got \[3\]"):
        I.fused_matmul_bias(x, w, b[:3])
    with pytest.raises(ValueError, match=r"\[fused_linear\] requires x of 4 features, as y has, got 3"):
        I.fused_linear(x, w, b[:3], True)
    with pytest.raises(TypeError, match=r"requires a floating y, got int64"):
        I.fused_matmul_bias(x, w.astype("int64"), b)
    act = I.fused_bias_act
    with pytest.raises(ValueError, match=r"\[fused_bias_act\] requires act_method of .* got 'silu'"):
        act(x, act_method="silu")
    with pytest.raises(ValueError, match="requires dequant_scales and a compute_dtype for x of int32"):
        act(x.astype("int32"), compute_dtype="fp32")
    with pytest.raises(ValueError, match="requires both of shift and smooth or neither"):
        act(x, shift=paddle.ones([3]))
    with pytest.raises(ValueError, match="requires an even last dim for swiglu, got 3"):
        act(x, act_method="swiglu")
    with pytest.raises(TypeError, match="requires x of float16 for compute_dtype 'fp16', got float32"):
        act(x, compute_dtype="fp16")
    with pytest.raises(TypeError, match="requires x of int32 beside dequant_scales, got float32"):
        act(x, dequant_scales=paddle.ones([3]))
