"""Ten steps of every optimizer under every setting, as the reference framework makes them."""

import json
from pathlib import Path

import numpy as np
import optimizers as recorded
import pytest

import paddle
from paddle import optimizer as O

# Left out are float32 copies and `rescale_grad`, which the reference framework has not on a CPU.
DATA = json.loads((Path(__file__).parents[1] / "data" / "optimizers.json").read_text())
CASES = {name: (kind, case) for name, kind, case in recorded.cases()}


@pytest.mark.parametrize("name", DATA)
def test_ten_steps(name):
    _, params, _ = recorded.run(*CASES[name])
    for p, expected in zip(params, DATA[name], strict=True):
        np.testing.assert_allclose(p.astype("float64").numpy().ravel(), expected, rtol=2e-6, atol=4e-6)


def test_all_are_recorded():
    kinds = {name.split()[0] for name in DATA}
    assert kinds == set(recorded.OPTIMIZERS)
    missing = {name for name, (_, case) in CASES.items() if case.get("dtype") not in ("float16", "bfloat16")} - set(
        DATA
    )
    assert missing == {
        "Momentum plain 28", "Momentum groups 39", "AdamW plain 42", "AdamW groups 53", "Rprop schedule 12",
    }  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", list(recorded.OPTIMIZERS))
def test_master_weights_are_a_run_in_float32(kind, dtype):
    """Low-precision parameters with copies go the way of float32 ones that get the same, rounded, gradients.

    Sums over a parameter, of which Lamb has two, take vectors as wide as the kernel's types allow, so their last bits
    are those of the types.
    """
    case = {"args": dict(recorded.OPTIMIZERS[kind][0])}
    rng = np.random.RandomState(3)
    starts = [rng.standard_normal(s).astype("float32") for s in recorded.SHAPES]
    sides = []
    for d in (dtype, "float32"):
        params = []
        for start in starts:
            p = paddle.create_parameter(list(start.shape), d, default_initializer=paddle.nn.initializer.Constant(0.0))
            p.set_value(paddle.to_tensor(start).astype(dtype).astype(d))
            params.append(p)
        opt = recorded.optimizer(kind, case, params)
        opt._multi_precision = d != "float32"
        sides.append((opt, params))
    for _ in range(4):
        grads = [paddle.to_tensor(rng.standard_normal(s).astype("float32")).astype(dtype) for s in recorded.SHAPES]
        for opt, params in sides:
            for p, g in zip(params, grads):
                p.grad = g.astype(p.dtype)
            opt.step()
    (low, lows), (_, highs) = sides
    for p, q in zip(lows, highs):
        copy = low._master_weights[p.name]
        np.testing.assert_allclose(copy.numpy(), q.numpy(), rtol=5e-7 if kind == "Lamb" else 0)
        np.testing.assert_array_equal(p.astype("float32").numpy(), copy.astype(dtype).astype("float32").numpy())


def test_a_rescaled_gradient():
    made = [
        recorded.run("Momentum", {"args": {"rescale_grad": r, "weight_decay": 0.1}}, steps=3)[1] for r in (1.0, 0.5)
    ]
    assert np.abs(made[0][0].numpy() - made[1][0].numpy()).max() > 1e-3
    a, b = (recorded.parameters("float32") for _ in range(2))
    for opt, params, factor in (
        (O.Momentum(0.1, parameters=a, rescale_grad=0.5), a, 1.0), (O.Momentum(0.1, parameters=b), b, 0.5),
    ):  # fmt: skip
        for p in params:
            p.grad = paddle.full(p.shape, factor)
        opt.step()
    np.testing.assert_array_equal(a[0].numpy(), b[0].numpy())


# --- the rest of the interface ------------------------------------------------------------------------------------


def test_regularization_of_pairs():
    (p, q, _) = recorded.parameters("float32")
    opt = O.Adam(parameters=[p, q])
    p.grad, q.grad = paddle.ones(p.shape), paddle.ones(q.shape)
    q.regularizer = paddle.regularizer.L1Decay(0.5)
    pairs = opt.append_regularization_ops([(p, p.grad), (q, q.grad)], paddle.regularizer.L2Decay(0.25))
    np.testing.assert_allclose(pairs[0][1].numpy(), 1 + 0.25 * p.numpy(), rtol=1e-6)
    np.testing.assert_allclose(pairs[1][1].numpy(), 1 + 0.5 * np.sign(q.numpy()), rtol=1e-6)
    assert opt.append_regularization_ops([(p, p.grad), (q, None)])[0][1] is p.grad


def test_accumulation_until_cleared():
    (p, q, _) = recorded.parameters("float32")
    opt = O.SGD(1.0, parameters=[p, q])
    before = p.numpy().copy()
    for _ in range(3):
        (p * 2).sum().backward()
    opt.step()
    np.testing.assert_allclose(p.numpy(), before - 6.0, rtol=1e-6)
    p.grad[0] = float("nan")
    opt.clear_grad()
    assert (p.grad.numpy() == 0).all() and q.grad is None
    opt.zero_grad()
    assert p.grad is None
