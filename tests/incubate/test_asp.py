"""Structured sparsity: masks against those recorded from the reference framework (tests/data/asp_masks.jsonl), layers
that are pruned, optimizers that keep zeros."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.incubate import asp

RECORDED = [
    json.loads(line) for line in (Path(__file__).parents[1] / "data" / "asp_masks.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("algo", list(asp.MaskAlgo), ids=lambda a: a.name)
def test_masks_are_as_recorded(algo):
    cases = [case for case in RECORDED if case[0] == algo.name]
    assert len(cases) >= 24
    for _, n, m, values, bits in cases:
        x = np.array(values)
        mask = asp.create_mask(x, algo, n, m)
        assert mask.shape == x.shape and mask.dtype == x.dtype
        assert "".join(str(int(v)) for v in mask.reshape(-1)) == bits, (n, m, values)


@pytest.mark.parametrize("algo", list(asp.MaskAlgo), ids=lambda a: a.name)
def test_masks_pass_their_checks(algo):
    x = np.random.default_rng(2).standard_normal((16, 24)).astype("float32")
    check = asp.CheckMethod.get_checking_method(algo)
    assert not asp.check_sparsity(x, check)
    mask = asp.create_mask(paddle.to_tensor(x), algo)
    assert asp.check_sparsity(x * mask, check) and 0.45 < asp.calculate_density(mask) <= 0.5


def test_checks():
    assert asp.check_mask_1d(np.array([[0, 0, 1, 1, 0]]), 2, 4)
    assert not asp.check_mask_1d(np.array([[0, 1, 1, 1, 0]]), 2, 4)
    square = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]])
    assert asp.check_mask_2d(square, 2, 4)
    full_row = square.copy()
    full_row[0] = 1
    assert not asp.check_mask_2d(full_row, 2, 4) and not asp.check_mask_2d(full_row.T, 2, 4)


def model():
    paddle.seed(4)
    nn = paddle.nn
    return nn.Sequential(
        nn.Conv2D(4, 4, 3, padding=1), nn.Flatten(), nn.Linear(16, 8), nn.LayerNorm(8), nn.Linear(8, 4)
    )


def weights(net):
    return {k: p for k, p in net.named_parameters() if p.ndim > 1}


def test_a_model(caplog):
    net = paddle.nn.Sequential(model(), paddle.nn.Linear(3, 8), paddle.nn.Embedding(8, 8))
    before = {k: p.numpy().copy() for k, p in net.named_parameters()}
    with caplog.at_level(logging.WARNING, logger="paddle.asp"):
        masks = asp.prune_model(net)
    assert [r.getMessage() for r in caplog.records] == [
        f"{net[1].weight.name} is not pruned: the first dim of (3, 8) is smaller than 4"
    ]
    density = {k: asp.calculate_density(p) for k, p in weights(net).items()}
    assert density == {"0.0.weight": 0.5, "0.2.weight": 0.5, "0.4.weight": 0.5, "1.weight": 1.0, "2.weight": 1.0}
    for k, p in net.named_parameters():
        np.testing.assert_array_equal(p.numpy(), before[k] * masks.get(p.name, 1.0))
    # Of every four inputs of a feature two are zero.
    assert asp.check_sparsity(net[0][2].weight.numpy().T)
    assert asp.check_sparsity(net[0][0].weight.numpy().transpose(0, 2, 3, 1).reshape(-1, 4))


OPTIMIZERS = {
    "sgd": lambda p: paddle.optimizer.SGD(0.1, parameters=p),
    "momentum": lambda p: paddle.optimizer.Momentum(0.1, parameters=p, weight_decay=0.1),
    "adamw": lambda p: paddle.optimizer.AdamW(0.1, parameters=p),
    "lamb": lambda p: paddle.optimizer.Lamb(0.1, parameters=p),
    "lookahead": lambda p: paddle.incubate.LookAhead(paddle.optimizer.Adam(0.1, parameters=p), k=2),
}


@pytest.mark.parametrize(
    ("kind", "captured"), [*((k, False) for k in OPTIMIZERS), *((k, True) for k in OPTIMIZERS if k != "lookahead")]
)
def test_steps_keep_zeros(kind, captured):
    net = model()
    opt = asp.decorate(OPTIMIZERS[kind](net.parameters()))
    asp.prune_model(net)
    zeros = {k: p.numpy() == 0 for k, p in weights(net).items()}
    before = {k: p.numpy().copy() for k, p in weights(net).items()}

    def step(x):
        loss = (net(x) ** 2).sum()
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss

    run = paddle.jit.to_static(step) if captured else step
    for _ in range(4):
        run(paddle.ones([2, 4, 2, 2]))
    for k, p in weights(net).items():
        np.testing.assert_array_equal(p.numpy() == 0, zeros[k])
        assert not np.array_equal(p.numpy(), before[k])


def test_state_dicts_have_the_masks():
    net = model()
    opt = asp.decorate(paddle.optimizer.Adam(0.1, parameters=net.parameters()))
    masks = asp.prune_model(net)
    (net(paddle.ones([1, 4, 2, 2])) ** 2).sum().backward()
    opt.step()
    state = opt.state_dict()
    name = net[2].weight.name
    np.testing.assert_array_equal(state[name + ".asp_mask"].numpy(), masks[name])
    assert f"{name}_moment1_0" in state

    with paddle.utils.unique_name.guard():
        other = model()
    renamed = {k.replace(p.name, q.name): v for p, q in zip(net.parameters(), other.parameters(), strict=True)
               for k, v in state.items() if k.startswith(p.name)}  # fmt: skip
    again = asp.decorate(paddle.optimizer.Adam(0.1, parameters=other.parameters()))
    again.set_state_dict(renamed)
    (other(paddle.ones([1, 4, 2, 2])) ** 2).sum().backward()
    again.step()
    assert not other[2].weight.numpy()[masks[name] == 0].any()


def test_excluded_layers():
    net = model()
    first, last = net[2].weight, net[4].weight
    asp.set_excluded_layers([net[2].full_name(), net[0].weight.name])
    try:
        assert set(asp.prune_model(net, with_mask=False)) == {last.name}
        assert asp.calculate_density(first) == 1.0
    finally:
        asp.reset_excluded_layers()
    assert first.name in asp.prune_model(net, mask_algo="mask_2d_greedy")


def test_supported_layers():
    class Mixer(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.weight = self.create_parameter([8, 4])
            self.offset = self.create_parameter([8], is_bias=True)

        def forward(self, x):
            return x @ self.weight

    calls = []

    def prune(weight, m, n, algorithm, name):
        calls.append((weight.shape, m, n, algorithm, name))
        mask = np.zeros_like(weight)
        mask[0] = 1
        return weight * mask, mask

    layer = Mixer()
    assert asp.prune_model(layer) == {}
    asp.add_supported_layer(layer, prune)
    assert set(asp.prune_model(layer, n=1)) == {layer.weight.name}
    assert calls == [((8, 4), 4, 1, asp.MaskAlgo.MASK_1D, layer.weight.name)]
    assert asp.calculate_density(layer.weight) == 0.125
    asp.add_supported_layer("mixer")
    np.testing.assert_array_equal(asp.ASPHelper.prune_model_by_layer(Mixer())[f"{'mixer'}_1.w_0"].sum(0) <= 4, True)


def test_refusals():
    with pytest.raises(TypeError, match=r"\[decorate\] requires an optimizer, got int"):
        asp.decorate(3)
    with pytest.raises(TypeError, match=r"\[prune_model\] requires a layer, got int"):
        asp.prune_model(3)
    with pytest.raises(ValueError, match=r"\[prune_model\] requires a mask_algo of"):
        asp.prune_model(model(), mask_algo="mask_3d")
    with pytest.raises(TypeError, match=r"\[create_mask\] requires a MaskAlgo as func_name, got str"):
        asp.create_mask(np.zeros((4, 4)), "mask_1d")
    with pytest.raises(ValueError, match=r"\[create_mask\] requires a tensor of rank 1 to 4"):
        asp.create_mask(np.zeros((1, 1, 1, 1, 1)))
