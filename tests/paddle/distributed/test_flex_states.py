"""Layers and optimizers as blocks: names, what resumes, and across layouts."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.distributed import (
    ShardedWeight,
    build_sharded_state_dict,
    load_state_dict,
    save_state_dict,
    shard_weight,
)
from paddle.distributed.flex_checkpoint.dcp.sharded_weight import (
    create_sharded_weight_with_new_local,
    make_replicated_sharded_weight,
    make_tp_sharded_weight_for_checkpoint,
)
from umiak import comm

OPTIMIZERS = {
    "SGD": {},
    "Momentum": {},
    "Adagrad": {},
    "Adadelta": {},
    "RMSProp": {},
    "Rprop": {"learning_rate_range": (1e-5, 50)},
    "Adam": {},
    "AdamW": {"amsgrad": True},
    "Adamax": {},
    "Lamb": {},
    "NAdam": {},
    "RAdam": {},
}
# They are stored like a state but lie in a number.
POWERS = ["beta1_pow_acc_0", "beta2_pow_acc_0"]


def make(optimizer, dtype="float32", **kwargs):
    net = paddle.nn.Sequential(paddle.nn.Linear(4, 6), paddle.nn.Linear(6, 2))
    net = net if dtype == "float32" else net.astype(dtype)
    return net, getattr(paddle.optimizer, optimizer)(learning_rate=0.05, parameters=net.parameters(), **kwargs)


def train(net, optimizer, steps):
    for i in range(steps):
        x = paddle.full([3, 4], 0.5 + i, dtype=net[0].weight.dtype)
        (net(x) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()


def state(net, optimizer):
    model = net.sharded_state_dict()
    return {**model, **optimizer.sharded_state_dict(model)}


@pytest.mark.parametrize(
    ("name", "dtype", "more"),
    [*((n, "float32", kw) for n, kw in OPTIMIZERS.items()), ("AdamW", "bfloat16", {"multi_precision": True})],
)
def test_training_goes_on_as_if_it_had_not_stopped(tmp_path, name, dtype, more):
    net, optimizer = make(name, dtype, **more)
    train(net, optimizer, 3)
    save_state_dict(state(net, optimizer), tmp_path)
    train(net, optimizer, 3)
    again = make(name, dtype, **more)
    if name in ("Adam", "AdamW"):
        train(*again, 1)  # states that are there already are overwritten
    load_state_dict(state(*again), tmp_path)
    train(*again, 3)
    for a, b in zip(net.parameters(), again[0].parameters()):
        np.testing.assert_array_equal(a.astype("float32").numpy(), b.astype("float32").numpy())


def test_names_of_states():
    net, optimizer = make("AdamW", "bfloat16", multi_precision=True)
    found = optimizer.sharded_state_dict(net.sharded_state_dict())
    kinds = ["w_0", "moment1_0", "moment2_0", *POWERS]
    assert list(found) == [f"{i}.{p}.{k}" for i in (0, 1) for p in ("weight", "bias") for k in kinds]
    assert found["0.weight.w_0"].block.dtype == "float32"
    assert found["0.weight.beta1_pow_acc_0"].global_shape == (1,)
    with pytest.raises(KeyError, match=r"requires parameter .* in the model's dict, got 0 others"):
        optimizer.sharded_state_dict({})
    with pytest.raises(TypeError, match=r"a ShardedWeight for '0\.bias', got"):
        optimizer.sharded_state_dict(net.state_dict())


def test_a_frozen_parameter_has_no_state_and_a_schedule_is_left_out():
    net = paddle.nn.Linear(2, 2)
    net.bias.stop_gradient = True
    schedule = paddle.optimizer.lr.StepDecay(0.1, step_size=2)
    optimizer = paddle.optimizer.Momentum(schedule, parameters=net.parameters())
    assert list(optimizer.sharded_state_dict(net.sharded_state_dict())) == ["weight.velocity_0"]


def test_a_tied_parameter_has_one_state():
    class Tied(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.table = paddle.nn.Linear(3, 3, bias_attr=False)
            self.head = paddle.nn.Linear(3, 3, bias_attr=False)
            self.head.weight = self.table.weight

    net = Tied()
    model = net.sharded_state_dict()
    assert list(model) == ["table.weight", "head.weight"]
    optimizer = paddle.optimizer.Momentum(parameters=[net.table.weight])
    assert list(optimizer.sharded_state_dict(model)) == ["head.weight.velocity_0"]


@pytest.mark.parametrize("make_one", [lambda p: paddle.optimizer.ASGD(parameters=p), None], ids=["ASGD", "LBFGS"])
def test_states_that_do_not_follow_parameters_are_refused(make_one):
    net = paddle.nn.Linear(2, 2)
    optimizer = (make_one or (lambda p: paddle.optimizer.LBFGS(parameters=p)))(net.parameters())
    with pytest.raises(NotImplementedError, match="of the shapes of its parameters"):
        optimizer.sharded_state_dict(net.sharded_state_dict())


def test_buffers_are_part_of_a_layer():
    net = paddle.nn.Sequential(paddle.nn.BatchNorm1D(3))
    net[0].register_buffer("scratch", paddle.zeros([2]), persistable=False)
    assert list(net.sharded_state_dict("m.")) == ["m.0.weight", "m.0.bias", "m.0._mean", "m.0._variance"]


class Cut(paddle.nn.Layer):
    """A product of which each rank has some columns, or all of it."""

    def __init__(self, n=12):
        super().__init__()
        group = comm.world()
        self.axis, self.group = 1, group
        values = np.arange(3 * n, dtype="float32").reshape(3, n) / 10
        step = n // group.size
        self.weight = self.create_parameter([3, step])
        with paddle.no_grad():
            self.weight.set_value(paddle.to_tensor(values[:, step * group.rank : step * (group.rank + 1)].copy()))

    def forward(self, x):
        return x @ self.weight

    def sharded_state_dict(self, structured_name_prefix=""):
        key = structured_name_prefix + "weight"
        return {key: shard_weight(key, self.weight, self.axis, self.group)}


def step(layer, optimizer, n):
    for _ in range(n):
        (layer(paddle.ones([2, 3])) ** 2).sum().backward()
        optimizer.step()
        optimizer.clear_grad()


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2), (2, 3), (4, 2)])
def test_states_are_cut_as_their_parameters(tmp_path, before, after):
    """Columns do not depend on one another: training goes on the same, whoever has them."""

    def first():
        layer = Cut()
        optimizer = paddle.optimizer.AdamW(0.1, parameters=layer.parameters())
        step(layer, optimizer, 3)
        model = layer.sharded_state_dict()
        save_state_dict({**model, **optimizer.sharded_state_dict(model)}, tmp_path)
        step(layer, optimizer, 2)
        return layer.weight.numpy()

    def second():
        layer = Cut()
        optimizer = paddle.optimizer.AdamW(0.1, parameters=layer.parameters())
        model = layer.sharded_state_dict()
        load_state_dict({**model, **optimizer.sharded_state_dict(model)}, tmp_path, comm_method="send_recv")
        step(layer, optimizer, 2)
        return layer.weight.numpy()

    expected = np.concatenate(comm.simulate(first, before), 1)
    np.testing.assert_allclose(np.concatenate(comm.simulate(second, after), 1), expected, rtol=1e-6)


def test_fused_buffers_of_a_sharded_optimizer(tmp_path):
    """Parameters of all ranks one after the other in one buffer, of which each rank updates a range."""
    shapes = {"a": (3, 4), "b": (2, 3, 2), "c": (5,)}
    whole = {k: np.arange(np.prod(s), dtype="float32").reshape(s) + i for i, (k, s) in enumerate(shapes.items())}

    def ranges(rank, n):
        total = sum(a.size for a in whole.values())
        lo, hi, at = total * rank // n, total * (rank + 1) // n, 0
        for key, a in whole.items():
            start, stop = max(lo - at, 0), min(hi - at, a.size)
            at += a.size
            if start < stop:
                yield key, a, start, stop

    def weights(rank, n, fill):
        out = {}
        for key, a, start, stop in ranges(rank, n):
            values = a.reshape(-1)[start:stop] if fill else np.zeros(stop - start, "float32")
            zeros, flat = (0,) * a.ndim, slice(start, stop)
            out[key] = ShardedWeight(key, paddle.to_tensor(values.copy()), a.shape, a.shape, zeros, True, flat)
        return out

    def save():
        save_state_dict(weights(comm.world().rank, 3, True), tmp_path)

    def load():
        r = comm.world().rank
        into = weights(r, 4, False)
        load_state_dict(into, tmp_path)
        for key, a, start, stop in ranges(r, 4):
            np.testing.assert_array_equal(into[key].local_tensor.numpy(), a.reshape(-1)[start:stop])

    comm.simulate(save, 3)
    comm.simulate(load, 4)


# --- making blocks ---------------------------------------------------------------------------------------------------


def test_builders():
    t = paddle.zeros([2, 3])
    w = make_replicated_sharded_weight("k", t)
    assert (w.key, w.local_shape, w.global_shape, w.global_offset) == ("k", (2, 3), (2, 3), (0, 0))
    assert make_tp_sharded_weight_for_checkpoint("k", t, 1).global_shape == (2, 3)
    like = ShardedWeight("k", paddle.zeros([3]), (2, 3), (4, 3), (2, 0), True, slice(1, 4))
    moment = create_sharded_weight_with_new_local("k.m", paddle.ones([3]), like)
    assert moment.block == like.block.__class__("k.m", "float32", (4, 3), like.block.box, (1, 4))
    with pytest.raises(ValueError, match=r"a local tensor of shape \[3\], got \[4\]"):
        create_sharded_weight_with_new_local("k.m", paddle.ones([4]), like)
    assert list(build_sharded_state_dict({"a": t}, {"a": 0}, "m.")) == ["m.a"]
    with pytest.raises(TypeError, match="an int as the axis of 'a', got str"):
        build_sharded_state_dict({"a": t}, {"a": "0"})
    with pytest.raises(TypeError, match="a tensor for 'a', got int"):
        build_sharded_state_dict({"a": 3})

    def work():
        r = comm.world().rank
        cut = shard_weight("k", t, 1, comm.world())
        assert (cut.global_shape, cut.global_offset) == ((2, 9), (0, 3 * r))
        with pytest.raises(ValueError, match="an axis of 'k' from 0 to 1, got 2"):
            shard_weight("k", t, 2, comm.world())

    comm.simulate(work, 3)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (((2, 3), (4, 3), (3, 0)), r"a block within the shape \(4, 3\), got offset \(3, 0\)"),
        (((2, 3), (4, 3, 1), (0, 0)), "a block within the shape"),
        (((2, 4), (4, 4), (0, 0)), r"a local tensor of shape \[2, 4\], got \[2, 3\]"),
        (((2, 3), (4, 3), (0, 0), True), "flattened_range"),
        (((2, 3), (4, 3), (0, 0), True, slice(0, 7)), "a range within the shape"),
        (((2, 3), (4, 3), (0, 0), True, slice(0, 6)), r"a local tensor of shape \[6\], got \[2, 3\]"),
    ],
)
def test_blocks_must_fit(arguments, text):
    with pytest.raises(ValueError, match=text):
        ShardedWeight("k", paddle.zeros([2, 3]), *arguments)
