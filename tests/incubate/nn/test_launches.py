"""A fused name is a name: captured, it launches the kernels that plain code launches, and no more."""

import paddle
import paddle.nn.functional as F
from paddle.incubate.nn import functional as I
from umiak.compiler import statistics


def launches(function, *operands):
    """Kernels of one call of a captured function, by name."""
    captured = paddle.jit.to_static(function)
    for _ in range(2):
        captured(*operands)
    statistics.reset()
    with statistics.timed_launches():
        captured(*operands)
    rows = statistics.launches()
    statistics.reset()
    return {name: row.count for name, row in rows.items()}


def test_norms(rng):
    x, w, b = paddle.rand([4, 16]), paddle.rand([16]), paddle.rand([16])

    def plain(x):
        z = x + b + x
        return F.rms_norm(z, 16, w)[0], z

    assert sum(launches(plain, x).values()) == 1
    assert sum(launches(lambda x: I.fused_rms_norm(x, w, None, 1e-5, 1, b, x), x).values()) == 1
    quantised = launches(lambda x: I.fused_rms_norm(x, w, None, 1e-5, 1, b, x, 0.5, 1, 127, -127), x)
    assert sum(quantised.values()) == 1
    # Sum, result and moments of a layer norm.
    assert sum(launches(lambda x: I.fused_layer_norm(x, w, b, 1e-5, 0.5, 1, b, x), x).values()) == 1


def test_rotary():
    q, sin, cos = paddle.rand([2, 6, 4, 8]), paddle.rand([6, 8]), paddle.rand([6, 8])

    def plain(q):
        s, c = sin.unsqueeze([0, 2]), cos.unsqueeze([0, 2])
        return q * c + paddle.concat([-q[..., 4:], q[..., :4]], -1) * s

    def fused(style):
        return lambda q: I.fused_rotary_position_embedding(q, sin=sin, cos=cos, use_neox_rotary_style=style)[0]

    assert sum(launches(plain, q).values()) == 1
    for style in (False, True):
        assert sum(launches(fused(style), q).values()) == 1

    def step(x):
        y = fused(True)(x)
        return paddle.grad((y * y).sum(), x)[0]

    assert sum(launches(step, paddle.to_tensor(q, stop_gradient=False)).values()) == 2


def test_linear_maps():
    x, w, b = paddle.rand([4, 16]), paddle.rand([16, 16]), paddle.rand([16])
    plain = launches(lambda x: F.gelu(F.linear(x, w, b), approximate=True), x)
    assert launches(lambda x: I.fused_linear_activation(x, w, b, activation="gelu"), x) == plain
    assert launches(lambda x: I.fused_linear(x, w, b), x) == launches(lambda x: F.linear(x, w, b), x)
    gated = launches(lambda x: F.swiglu(x + b), x)
    assert sum(gated.values()) == sum(launches(lambda x: I.fused_bias_act(x, b, act_method="swiglu"), x).values()) == 1
    assert launches(I.swiglu, x) == launches(F.swiglu, x)


def test_dropout():
    x, b = paddle.rand([4, 16]), paddle.rand([16])
    assert launches(I.fused_dropout_add, x, x) == launches(lambda x, y: F.dropout(x) + y, x, x)
    fused = launches(lambda x: I.fused_bias_dropout_residual_layer_norm(x, x, b), x)
    assert fused == launches(lambda x: F.layer_norm(x + F.dropout(x + b), 16), x)
    assert sum(fused.values()) == 1


def test_feedforward_and_attention():
    x, w = paddle.rand([2, 3, 8]), paddle.rand([8, 8])
    fused = launches(lambda x: I.fused_feedforward(x, w, w), x)
    plain = launches(lambda x: F.layer_norm(x + F.dropout(F.linear(F.dropout(F.relu(x @ w)), w)), 8), x)
    assert sum(fused.values()) == sum(plain.values())

    def attention(x):
        q, k, v = F.linear(x, w3).reshape([2, 3, 3, 2, 4]).unbind(2)
        y = F.scaled_dot_product_attention(q, k, v).reshape([2, 3, 8])
        return F.layer_norm(x + F.linear(y, w), 8)

    w3 = paddle.rand([8, 24])
    fused = launches(
        lambda x: I.fused_multi_head_attention(x, w3, w, training=False, num_heads=2, transpose_qkv_wb=True), x
    )
    assert sum(fused.values()) == sum(launches(attention, x).values())
