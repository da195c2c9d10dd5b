"""Training in mixed precision learns what training in float32 learns, on real data."""

import numpy as np
import pytest

import paddle
from paddle import amp, nn

WAYS = {
    "float32": {},
    "bfloat16 O1": {"dtype": "bfloat16", "level": "O1"},
    "bfloat16 O2": {"dtype": "bfloat16", "level": "O2"},
    "bfloat16 O2, master gradients": {"dtype": "bfloat16", "level": "O2", "master_grad": True},
    "float16 O1": {"dtype": "float16", "level": "O1"},
    "float16 O2": {"dtype": "float16", "level": "O2"},
}


def train(images, labels, dtype=None, level="O1", master_grad=False, epochs=6, accumulate=2):
    """Losses of all steps, and the accuracy on the last fifth. A step has the gradients of several batches."""
    paddle.seed(1)
    rng = np.random.default_rng(1)
    net = nn.Sequential(nn.Linear(64, 48), nn.LayerNorm(48), nn.GELU(), nn.Linear(48, 10))
    rate = paddle.optimizer.lr.CosineAnnealingDecay(5e-3, 200)
    opt = paddle.optimizer.AdamW(rate, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0))
    if level == "O2":
        net, opt = amp.decorate(net, opt, level="O2", dtype=dtype, master_grad=master_grad)
    scaler = amp.GradScaler(enable=dtype == "float16", init_loss_scaling=2.0**12, incr_every_n_steps=20)
    n = len(images) * 4 // 5
    losses = []
    for _ in range(epochs):
        order = rng.permutation(n)
        for i in range(0, n - 63, 64):
            parts = np.split(order[i : i + 64], accumulate)
            total = 0.0
            for part in parts:
                with amp.auto_cast(enable=dtype is not None, dtype=dtype or "bfloat16", level=level):
                    out = net(paddle.to_tensor(images[part]))
                    loss = (
                        nn.functional.cross_entropy(out.astype("float32"), paddle.to_tensor(labels[part])) / accumulate
                    )
                scaler.scale(loss).backward()
                total += loss.item()
            scaler.step(opt)
            scaler.update()
            opt.clear_grad()
            rate.step()
            losses.append(total)
    with paddle.no_grad(), amp.auto_cast(enable=dtype is not None, dtype=dtype or "bfloat16", level=level):
        guesses = net(paddle.to_tensor(images[n:])).astype("float32").numpy().argmax(1)
    return np.array(losses), float((guesses == labels[n:]).mean())


@pytest.fixture(scope="module")
def digits():
    datasets = pytest.importorskip("sklearn.datasets")
    data = datasets.load_digits()
    order = np.random.default_rng(0).permutation(len(data.data))
    return (data.data[order] / 16.0).astype(np.float32), data.target[order].astype(np.int64)


@pytest.fixture(scope="module")
def plain(digits):
    return train(*digits)


@pytest.mark.parametrize("way", [w for w in WAYS if w != "float32"])
def test_as_in_float32(way, digits, plain):
    losses, accuracy = train(*digits, **WAYS[way])
    assert plain[1] > 0.93
    assert accuracy > plain[1] - 0.02
    assert np.abs(losses - plain[0]).max() < 0.15
    assert np.abs(losses[:5] - plain[0][:5]).max() < 0.02
    assert losses[-10:].mean() < 0.2


def _step(layer, x):
    optimizer = paddle.optimizer.SGD(0.5, parameters=layer.parameters())
    layer(x).sum().backward()
    optimizer.step()
    optimizer.clear_grad()


def _in_place(layer, x):
    with paddle.no_grad():
        layer.weight.add_(paddle.ones_like(layer.weight))


def _assigned(layer, x):
    with paddle.no_grad():
        layer.weight[:, 1] = 2.0


def _attribute(layer, x):
    layer.weight = paddle.create_parameter([16, 8], "float32", default_initializer=paddle.nn.initializer.Constant(0.3))


CHANGES = {
    "a step": _step,
    "in place": _in_place,
    "assigned": _assigned,
    "set_value": lambda layer, x: layer.weight.set_value(np.full((16, 8), 0.7, np.float32)),
    "a state": lambda layer, x: layer.set_state_dict({k: v * 3 for k, v in layer.state_dict().items()}),
    "another parameter": _attribute,
    "another type": lambda layer, x: layer.to(dtype="bfloat16"),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_a_captured_cast_follows_its_weight(change):
    """What a program makes of weights once per run is made of those of that run."""
    paddle.seed(3)
    layer, x = paddle.nn.Linear(16, 8), paddle.randn([4, 16])

    def forward(x):
        with paddle.amp.auto_cast(dtype="bfloat16"):
            return layer(x).astype("float32")

    captured = paddle.jit.to_static(forward)
    with paddle.no_grad():
        before = [captured(x) for _ in range(4)][-1].numpy()
    CHANGES[change](layer, x)
    with paddle.no_grad():
        now = captured(x).numpy()
        np.testing.assert_allclose(now, forward(x).numpy(), rtol=1e-2, atol=1e-2)
    assert change == "another type" or not np.allclose(now, before, rtol=0.1)
