"""Updates against the peer, states and their names, groups, decay and clipping."""

import copy
import math

import numpy as np
import pytest
import torch

import paddle
from paddle import nn
from paddle import optimizer as O
from paddle.regularizer import L1Decay, L2Decay


def parameter(values, name=None, dtype="float32", **attr):
    values = np.asarray(values, dtype)
    attr = paddle.ParamAttr(name=name, initializer=nn.initializer.Assign(values), **attr)
    return nn.Layer().create_parameter(list(values.shape), attr, dtype=dtype)


def descend(opt, p, grads):
    """Steps with given gradients; the values after each."""
    seen = []
    for g in grads:
        p.grad = paddle.to_tensor(np.asarray(g, p.dtype.numpy))
        opt.step()
        opt.clear_grad()
        seen.append(p.numpy().copy())
    return seen


PEERS = {
    "SGD": (lambda p: O.SGD(0.1, p), lambda p: torch.optim.SGD(p, 0.1)),
    "SGD, decay": (lambda p: O.SGD(0.1, p, weight_decay=0.2), lambda p: torch.optim.SGD(p, 0.1, weight_decay=0.2)),
    "Momentum": (
        lambda p: O.Momentum(0.1, 0.8, p, weight_decay=0.1),
        lambda p: torch.optim.SGD(p, 0.1, 0.8, weight_decay=0.1),
    ),
    "Nesterov": (
        lambda p: O.Momentum(0.1, 0.8, p, use_nesterov=True),
        lambda p: torch.optim.SGD(p, 0.1, 0.8, nesterov=True),
    ),
    "Adam": (lambda p: O.Adam(0.1, 0.8, 0.99, 1e-4, p), lambda p: torch.optim.Adam(p, 0.1, (0.8, 0.99), 1e-4)),
    "Adam, decay": (
        lambda p: O.Adam(0.1, parameters=p, weight_decay=0.2),
        lambda p: torch.optim.Adam(p, 0.1, weight_decay=0.2),
    ),
    "AdamW": (
        lambda p: O.AdamW(0.1, parameters=p, weight_decay=0.2),
        lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.2),
    ),
    "Adagrad": (
        lambda p: O.Adagrad(0.1, parameters=p, epsilon=1e-6, initial_accumulator_value=0.1),
        lambda p: torch.optim.Adagrad(p, 0.1, eps=1e-6, initial_accumulator_value=0.1),
    ),
    "Adadelta": (
        lambda p: O.Adadelta(0.5, 1e-6, 0.9, p),
        lambda p: torch.optim.Adadelta(p, 0.5, rho=0.9, eps=1e-6),
    ),
    "NAdam": (lambda p: O.NAdam(0.1, parameters=p), lambda p: torch.optim.NAdam(p, 0.1)),
    "RAdam": (lambda p: O.RAdam(0.1, parameters=p), lambda p: torch.optim.RAdam(p, 0.1)),
    "Adamax": (lambda p: O.Adamax(0.1, parameters=p), lambda p: torch.optim.Adamax(p, 0.1)),
    "Rprop": (lambda p: O.Rprop(0.1, parameters=p), lambda p: torch.optim.Rprop(p, 0.1, step_sizes=(1e-5, 50))),
}


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("name", PEERS)
def test_updates(name, dtype, rng):
    start, grads = rng.standard_normal((3, 4)), rng.standard_normal((8, 3, 4))
    if dtype == "complex64":
        start, grads = start + 1j * rng.standard_normal(start.shape), grads + 1j * rng.standard_normal(grads.shape)
    ours, theirs = PEERS[name]
    p = parameter(start, dtype=dtype)
    mine = descend(ours([p]), p, grads)
    q = torch.nn.Parameter(torch.from_numpy(start.astype(dtype)))
    peer = theirs([q])
    for value, g in zip(mine, grads):
        q.grad = torch.from_numpy(g.astype(dtype))
        peer.step()
        np.testing.assert_allclose(value, q.detach().numpy(), rtol=2e-5, atol=2e-6)


def test_rmsprop():
    # Where the peer adds epsilon outside the root, the reference framework adds it under the root.
    p, g, s, m, mom = np.array([1.0, -2.0]), np.array([0.5, 0.25]), 0.0, 0.0, 0.0
    q = parameter(p)
    values = descend(O.RMSProp(0.1, 0.9, 1e-3, 0.5, True, [q]), q, [g] * 3)
    for value in values:
        s, m = 0.9 * s + 0.1 * g * g, 0.9 * m + 0.1 * g
        mom = 0.5 * mom + 0.1 * g / np.sqrt(s - m * m + 1e-3)
        p = p - mom
        np.testing.assert_allclose(value, p, rtol=1e-5)


def test_lamb():
    p, g = np.array([3.0, 4.0]), np.array([0.5, 0.25])
    q, r = parameter(p), parameter(p)
    adapted = descend(O.Lamb(0.1, 0.0, parameters=[q], always_adapt=True), q, [g])[0]
    np.testing.assert_allclose(adapted, p - 0.1 * np.array([1.0, 1.0]) * 5 / math.sqrt(2), rtol=1e-4)
    plain = descend(O.Lamb(0.1, 0.5, parameters=[r], exclude_from_weight_decay_fn=lambda p: True), r, [g])[0]
    np.testing.assert_allclose(plain, p - 0.1, rtol=1e-4)


def test_asgd():
    q = parameter([0.0])
    values = descend(O.ASGD(1.0, 2, [q]), q, [[2.0], [4.0], [8.0]])
    assert [v.item() for v in values] == pytest.approx([-2.0, -5.0, -11.0])


# --- state dicts ---------------------------------------------------------------------------------------------------

EVERY = {
    "SGD": [],
    "Momentum": ["velocity"],
    "Adam": ["moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc"],
    "AdamW": ["moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc"],
    "Adamax": ["moment", "inf_norm", "beta1_pow_acc"],
    "Adagrad": ["moment"],
    "Adadelta": ["_avg_squared_grad", "_avg_squared_update"],
    "RMSProp": ["momentum", "mean_square", "mean_grad"],
    "Lamb": ["moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc"],
    "NAdam": ["momentum_decay_pow", "beta2_pow", "mu_product", "moment1", "moment2"],
    "RAdam": ["beta1_pow", "beta2_pow", "rho", "moment1", "moment2"],
    "ASGD": ["d", "y", "m"],
    "Rprop": ["prevs", "learning_rates"],
}


@pytest.mark.parametrize("precise", [False, True], ids=["", "float32 copies"])
@pytest.mark.parametrize("name", EVERY)
def test_a_copy_goes_on_by_itself(name, precise):
    """A layer copied with its optimizer takes the same steps, and neither touches the other."""
    layer = nn.Linear(2, 3)
    more = {"multi_precision": True} if precise and name in ("SGD", "Momentum", "Adam", "AdamW", "Lamb", "ASGD") else {}
    if more:
        layer.to(dtype="bfloat16")
    opt = getattr(O, name)(learning_rate=0.1, parameters=layer.parameters(), **more)

    def step(layer, opt, k):
        (layer(paddle.full([1, 2], 1.0 + k, layer.weight.dtype)) ** 2).sum().backward()
        opt.step()
        opt.clear_grad()

    step(layer, opt, 0)
    step(layer, opt, 1)
    before = layer.weight.numpy().copy()
    twin, twin_opt = copy.deepcopy((layer, opt))
    step(twin, twin_opt, 2)
    np.testing.assert_array_equal(layer.weight.numpy(), before)
    step(layer, opt, 2)
    np.testing.assert_array_equal(twin.weight.numpy(), layer.weight.numpy())
    assert not np.array_equal(layer.weight.numpy(), before)
    kept, copied = opt.state_dict(), twin_opt.state_dict()
    assert len(kept) == len(copied)
    assert all(k.startswith((twin.weight.name, twin.bias.name)) for k in copied if k != "master_weights")
    fresh = getattr(O, name)(learning_rate=0.1, parameters=twin.parameters(), **more)
    fresh.set_state_dict(copied)
    step(twin, fresh, 3)
    step(layer, opt, 3)
    np.testing.assert_array_equal(twin.weight.numpy(), layer.weight.numpy())


@pytest.mark.parametrize("name", EVERY)
def test_names_and_exact_resumption(name, rng):
    start, grads = rng.standard_normal((2, 3)), rng.standard_normal((6, 2, 3))
    make = lambda p: getattr(O, name)(learning_rate=0.01, parameters=[p])  # noqa: E731
    p = parameter(start, "w")
    whole = descend(make(p), p, grads)
    q = parameter(start, "w")
    opt = make(q)
    descend(opt, q, grads[:4])
    state = opt.state_dict()
    assert sorted(state) == sorted(f"w_{n}_0" for n in EVERY[name])
    for key, value in state.items():
        assert value.name == key
    r = parameter(q.numpy(), "w")
    again = make(r)
    again.set_state_dict({k: v.numpy().copy() for k, v in state.items()})
    for value, expected in zip(descend(again, r, grads[4:]), whole[4:]):
        np.testing.assert_array_equal(value, expected)


def test_names_are_those_of_the_layers():
    with paddle.utils.unique_name.guard():
        layer = nn.Linear(2, 3)
    schedule = O.lr.StepDecay(0.1, 2)
    opt = O.AdamW(schedule, parameters=layer.parameters(), amsgrad=True)
    assert opt.state_dict() == {"LR_Scheduler": {"last_epoch": 0, "last_lr": 0.1}}
    layer(paddle.ones([1, 2])).sum().backward()
    opt.step()
    names = [
        f"linear_0.{p}_{a}_0"
        for a in ("moment1", "moment2", "moment2_max", "beta1_pow_acc", "beta2_pow_acc")
        for p in ("w_0", "b_0")
    ]
    state = opt.state_dict()
    assert list(state) == [*names, "LR_Scheduler"] and opt.get_opti_var_name_list() == names
    assert state["linear_0.w_0_beta1_pow_acc_0"].numpy() == pytest.approx([0.9**2])
    assert state["linear_0.w_0_moment1_0"].shape == [2, 3]


def test_a_state_finds_its_parameters_by_name():
    p, q = parameter([1.0], "p"), parameter([1.0], "q")
    opt = O.Momentum(0.1, parameters=[p])
    descend(opt, p, [[1.0]])
    other = O.Momentum(0.1, parameters=[parameter([1.0], "p")])
    # Names from a process where another optimizer had come before.
    other.set_state_dict({"p_velocity_1": opt.state_dict()["p_velocity_0"]})
    descend(other, other._parameter_list[0], [[1.0]])
    assert other.state_dict()["p_velocity_0"].item() == pytest.approx(1.9)
    lost = O.Momentum(0.1, parameters=[q])
    lost.set_state_dict(opt.state_dict())
    with pytest.warns(UserWarning, match="nothing for q"):
        descend(lost, q, [[1.0]])
    bad = O.Momentum(0.1, parameters=[parameter([1.0, 2.0], "p")])
    with pytest.raises(ValueError, match="shape"):
        bad.set_state_dict(opt.state_dict())


def test_loading_replaces_states_that_are_there():
    p = parameter([1.0], "p")
    opt = O.Momentum(0.1, parameters=[p])
    descend(opt, p, [[1.0]])
    saved = {k: v.numpy().copy() for k, v in opt.state_dict().items()}
    descend(opt, p, [[1.0]])
    opt.set_state_dict(saved)
    assert opt.state_dict()["p_velocity_0"].item() == 1.0


def test_steps_that_have_underflowed():
    p = parameter([1.0], "p")
    opt = O.Adam(parameters=[p])
    state = {"p_moment1_0": np.ones(1, np.float32), "p_moment2_0": np.ones(1, np.float32)}
    state |= {"p_beta1_pow_acc_0": np.zeros(1, np.float32), "p_beta2_pow_acc_0": np.zeros(1, np.float32)}
    opt.set_state_dict(state)
    assert np.isfinite(descend(opt, p, [[1.0]])[0]).all()


# --- low precision -------------------------------------------------------------------------------------------------


def test_master_weights():
    layer = nn.Linear(2, 2)
    layer.to(dtype="bfloat16")
    opt = O.AdamW(1e-4, parameters=layer.parameters(), multi_precision=True)
    start = layer.weight.astype("float32").numpy().copy()
    for _ in range(3):
        layer(paddle.ones([1, 2], "bfloat16")).sum().backward()
        opt.step()
        opt.clear_grad()
    state = opt.state_dict()
    name = layer.weight.name
    assert f"{name}_fp32_master_0_moment1_0" in state and sorted(state["master_weights"]) == sorted(
        p.name for p in layer.parameters()
    )
    master = state["master_weights"][name]
    assert master.dtype == paddle.float32 and master.name == f"{name}_fp32_master_0"
    np.testing.assert_allclose(master.numpy(), start * (1 - 3e-6) - 3e-4, atol=2e-6)
    np.testing.assert_array_equal(
        layer.weight.astype("float32").numpy(), master.astype("bfloat16").astype("float32").numpy()
    )
    again = O.AdamW(1e-4, parameters=layer.parameters(), multi_precision=True)
    again.set_state_dict(state)
    for o in (opt, again):
        layer.weight.grad = paddle.ones([2, 2], "bfloat16")
        layer.bias.grad = None
        o.step()
    np.testing.assert_array_equal(again.state_dict()["master_weights"][name].numpy(), opt._master_weights[name].numpy())


def test_low_precision_without_master_weights():
    p = nn.Layer().create_parameter([2], dtype="bfloat16", default_initializer=nn.initializer.Constant(1.0))
    opt = O.Adam(0.5, parameters=[p])
    p.grad = paddle.ones([2], "bfloat16")
    opt.step()
    assert p.dtype == paddle.bfloat16 and p.astype("float32").tolist() == [0.5, 0.5]


# --- groups, decay, clipping ---------------------------------------------------------------------------------------


def test_factors_of_groups():
    a, b, c = (paddle.create_parameter([1], "float32", attr=paddle.ParamAttr(learning_rate=0.5)) for _ in range(3))
    paddle.optimizer.SGD(0.1, [{"params": [a]}, {"params": [b], "learning_rate": 0.2}])
    paddle.optimizer.SGD(0.1, [c])
    assert [p.optimize_attr["learning_rate"] for p in (a, b, c)] == [1, 0.2, 0.5]


@pytest.mark.parametrize("how", ["eager", "captured", "one graph"])
@pytest.mark.parametrize("common", [True, False])
@pytest.mark.parametrize(("penalty", "expected"), [("L2Decay", 1 - 0.25 * 2 - 0.4), ("L1Decay", 1 - 0.25 * 2.4)])
def test_a_rescaled_gradient_and_its_penalty(penalty, expected, common, how):
    decay = getattr(paddle.regularizer, penalty)(0.4)
    p = paddle.create_parameter([3], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
    p.regularizer = None if common else decay
    opt = paddle.optimizer.Momentum(1.0, 0.0, [p], rescale_grad=0.25, weight_decay=decay if common else None)

    def step():
        (p * 2.0).sum().backward()
        opt.step()

    if how != "eager":
        step = paddle.jit.to_static(step, full_graph=how == "one graph")
    step()
    np.testing.assert_allclose(p.numpy(), np.full(3, expected), rtol=1e-6)


def test_gradients_of_frozen_parameters_are_cleared_too():
    p = paddle.create_parameter([1], "float32")
    p.grad = paddle.ones([1])
    p.stop_gradient = True
    paddle.optimizer.SGD(0.1, [p]).clear_grad()
    assert p.grad.tolist() == [0]


def test_groups():
    a, b, c = (parameter([1.0]) for _ in range(3))
    opt = O.SGD(
        0.1,
        parameters=[
            {"params": [a]},
            {"params": [b], "learning_rate": 0.1, "weight_decay": 0.5},
            {"params": [c], "grad_clip": nn.ClipGradByValue(0.5)},
        ],
    )
    (a + b + c).backward()
    opt.step()
    assert [p.item() for p in (a, b, c)] == pytest.approx([0.9, 1 - 0.01 * 1.5, 0.95])
    adam = O.AdamW(
        0.1, parameters=[{"params": [a], "weight_decay": 0.0, "beta1": 0.5}, {"params": [b]}], weight_decay=0.9
    )
    assert [g["_hyper"] for g in adam._groups] == [(0.5, 0.999, 1e-8, 0.0), (0.9, 0.999, 1e-8, 0.9)]


def test_settings_of_a_parameter():
    slow, frozen, decayed = (
        parameter([1.0], learning_rate=0.5),
        parameter([1.0], trainable=False),
        parameter([1.0, -1.0]),
    )
    decayed.regularizer = L1Decay(0.5)
    opt = O.SGD(1.0, parameters=[slow, frozen, decayed], weight_decay=0.1)
    (slow + frozen + decayed).sum().backward()
    opt.step()
    assert slow.item() == pytest.approx(1 - 0.5 * 2.1) and frozen.item() == 1.0
    assert decayed.tolist() == pytest.approx([1 - 1.5, -1 - 0.5])


def test_adamw_choices():
    a, b = parameter([1.0], "a"), parameter([1.0], "b")
    opt = O.AdamW(
        0.1,
        parameters=[a, b],
        weight_decay=0.5,
        apply_decay_param_fun=lambda n: n == "a",
        lr_ratio=lambda p: 0.5 if p.name == "b" else 1.0,
    )
    (a + b).backward()
    opt.step()
    assert [a.item(), b.item()] == pytest.approx([0.95 - 0.1, 1 - 0.05])
    with pytest.raises(TypeError, match="weight_decay"):
        O.AdamW(parameters=[a], weight_decay=L2Decay(0.1))


@pytest.mark.parametrize(
    ("clip", "expected"),
    [
        (lambda: nn.ClipGradByGlobalNorm(0.1), [0.44, 0.92]),
        (lambda: nn.ClipGradByGlobalNorm(0.1, auto_skip_clip=True), [0.44, 0.92]),
        (lambda: nn.ClipGradByNorm(0.1), [0.44, 0.92]),
        (lambda: nn.ClipGradByValue(0.1), [0.4, 0.9]),
        (lambda: nn.ClipGradByValue(4.0, 3.5), [1 - 4.0, 2 - 5.0]),
    ],
)
def test_clipping_comes_before_decay(clip, expected):
    p = parameter([1.0, 2.0])
    assert descend(O.SGD(1.0, [p], weight_decay=0.5, grad_clip=clip()), p, [[3.0, 4.0]])[0] == pytest.approx(expected)


def test_global_norm_is_global():
    a, b, free = parameter([0.0]), parameter([0.0]), parameter([0.0], need_clip=False)
    opt = O.SGD(1.0, [a, b, free], grad_clip=nn.ClipGradByGlobalNorm(1.0))
    (a * 3 + b * 4 + free * 5).backward()
    opt.step()
    assert [p.item() for p in (a, b, free)] == pytest.approx([-0.6, -0.8, -5.0])
    assert str(nn.ClipGradByNorm(0.1)) == "Gradient Clip By Norm, clip_norm=0.100000"
    with pytest.raises(ValueError, match="max > 0"):
        nn.ClipGradByValue(-1.0)


# --- the rest ------------------------------------------------------------------------------------------------------


def test_learning_rate():
    p = parameter([1.0])
    opt = O.SGD(0.1, [p])
    opt.set_lr(0.5)
    assert opt.get_lr() == 0.5 and descend(opt, p, [[1.0]])[0].item() == 0.5
    schedule = O.lr.StepDecay(0.1, 1)
    opt.set_lr_scheduler(schedule)
    schedule.step()
    assert opt.get_lr() == pytest.approx(0.01)
    with pytest.raises(RuntimeError, match="schedule"):
        opt.set_lr(0.1)
    state = opt.state_dict()
    fresh = O.SGD(O.lr.StepDecay(0.1, 1), [p])
    fresh.set_state_dict(state)
    assert fresh.get_lr() == pytest.approx(0.01)


def test_clear_grad():
    p = parameter([1.0])
    opt = O.SGD(0.1, [p])
    (p * 2).backward()
    opt.clear_grad()
    assert p.grad.tolist() == [0.0]
    opt.clear_grad(set_to_zero=False)
    assert p.grad is None
    opt.step()
    assert p.item() == 1.0


def test_minimize_and_apply():
    p = parameter([1.0])
    opt = O.SGD(0.1, [p])
    loss = p * 2
    loss.backward()
    ops, pairs = opt.minimize(loss)
    assert ops == [] and pairs[0][0] is p and p.item() == pytest.approx(0.8)
    opt.clear_grad(False)
    (p * 3).backward()
    pairs = opt.backward(p * 3)
    assert pairs[0][1].item() == 3.0
    opt.apply_gradients(pairs)
    assert p.item() == pytest.approx(0.5)


def test_a_step_is_in_place_and_not_recorded():
    p = parameter([1.0, 2.0])
    opt = O.Adam(0.1, parameters=[p], weight_decay=0.1)
    (p * 2).sum().backward()
    where = p.data_ptr()
    opt.step()
    assert p.data_ptr() == where and p.is_leaf and not p.stop_gradient
    assert all(v.stop_gradient for v in opt.state_dict().values())


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda p: O.SGD(0.1), AttributeError),
        (lambda p: O.Momentum(0.1, None, [p]), ValueError),
        (lambda p: O.SGD(0.1, p), TypeError),
        (lambda p: O.SGD(0.1, [p, p]), ValueError),
        (lambda p: O.SGD(0.1, [3]), TypeError),
        (lambda p: O.SGD("x", [p]), TypeError),
        (lambda p: O.SGD(0.1, [p], weight_decay="a"), TypeError),
        (lambda p: O.SGD(0.1, [p], grad_clip=3), TypeError),
        (lambda p: O.Adam(beta1=1.2, parameters=[p]), ValueError),
        (lambda p: O.Adam(epsilon=-1.0, parameters=[p]), ValueError),
        (lambda p: O.RMSProp(0.1, rho=-1.0, parameters=[p]), ValueError),
        (lambda p: O.Rprop(0.1, (0.5, 1.0), [p]), ValueError),
        (lambda p: O.ASGD(0.1, 0, [p]), ValueError),
    ],
)
def test_refused(make, kind):
    with pytest.raises(kind):
        make(parameter([1.0]))


def test_new_rates_cost_no_plan():
    """The learning rate and Adam's powers are run-time numbers: they never make a new table entry."""
    p = parameter([1.0])
    opt = O.Adam(0.1, parameters=[p])
    descend(opt, p, [[1.0]] * 2)
    before = opt._op.table_size()
    for i in range(20):
        opt.set_lr(0.1 + i)
        descend(opt, p, [[1.0]])
    assert opt._op.table_size() == before


def test_the_product_of_nadam_s_momenta_in_any_order():
    opt = paddle.optimizer.NAdam(parameters=[paddle.create_parameter([2], "float32")])
    for hyper in ((0.9, 0.999, 1e-8), (0.5, 0.9, 1e-8)):
        for steps in (1, 2, 3, 7, 2, 2, 40, 39, 0):
            momenta = [hyper[0] * (1.0 - 0.5 * 0.96 ** (t * 0.004)) for t in range(1, steps + 1)]
            assert opt._product(hyper, steps) == math.prod(momenta, start=1.0)
    assert opt._product((0.5, 0.9, 1e-8), 10_000_000) == 0.0


def test_the_rate_of_an_optimizer_is_a_tensor_after_a_step():
    layer = paddle.nn.Linear(2, 1)
    optimizer = paddle.optimizer.Adam(0.5, parameters=layer.parameters())
    assert optimizer._global_learning_rate() is None
    layer(paddle.ones([1, 2])).sum().backward()
    optimizer.step()
    for rate in (0.5, 0.25):
        optimizer.set_lr(rate)
        assert optimizer._global_learning_rate().item() == rate


def test_arguments_that_no_step_could_use():
    parameters = paddle.nn.Linear(2, 1).parameters()
    message = r"\[{}\] requires a float or an LRScheduler as learning_rate, got {}"
    for name in ("SGD", "Momentum", "Adam", "AdamW", "Adagrad", "Adadelta", "RMSProp", "Rprop", "ASGD", "NAdam"):
        make = getattr(paddle.optimizer, name)
        for kind in (ValueError, TypeError):
            with pytest.raises(kind, match=message.format(name, "NoneType")):
                make(learning_rate=None, parameters=parameters)
        with pytest.raises(TypeError, match=message.format(name, "str")):
            make(learning_rate="0.1", parameters=parameters)
    with pytest.raises(TypeError, match="a function as lr_ratio, got 5"):
        paddle.optimizer.AdamW(parameters=parameters, lr_ratio=5)
    for number in (-1.0, math.nan):
        with pytest.raises(ValueError, match=f"momentum_decay of 0 or more, got {number}"):
            paddle.optimizer.NAdam(parameters=parameters, momentum_decay=number)
        for name in ("NAdam", "RAdam"):
            with pytest.raises(ValueError, match=rf"\[{name}\] requires a learning_rate of 0 or more, got {number}"):
                getattr(paddle.optimizer, name)(number, parameters=parameters)
    no_numbers = ("a", None, 1j, [1], paddle.ones([2]))
    for word in no_numbers:
        with pytest.raises(TypeError, match="a number as max"):
            paddle.nn.ClipGradByValue(word)
        if word is not None:
            with pytest.raises(TypeError, match="a number as min"):
                paddle.nn.ClipGradByValue(1.0, word)
    for word in no_numbers[:-1]:
        with pytest.raises(TypeError, match="a number as momentum_decay"):
            paddle.optimizer.NAdam(parameters=parameters, momentum_decay=word)
    for make in (paddle.nn.ClipGradByNorm, paddle.nn.ClipGradByGlobalNorm):
        for word in no_numbers:
            with pytest.raises(TypeError, match="a number as clip_norm"):
                make(word)
        assert make(np.float32(0.5)).clip_norm == 0.5
