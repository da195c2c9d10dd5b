"""Optimizers whose class defines the reference's hooks: steps, states, and what they are combined with."""

import functools

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle import optimizer as O
from paddle.incubate.optimizer import LarsMomentumOptimizer


def parameters(dtype="float32"):
    values = (np.linspace(-1, 1, 6).reshape(2, 3), np.linspace(0.5, 1, 3))
    names = "w", "b"
    return [
        nn.Layer().create_parameter(list(v.shape), paddle.ParamAttr(n, nn.initializer.Assign(v)), dtype=dtype)
        for n, v in zip(names, values, strict=True)
    ]


def train(opt, params, start=0, stop=4):
    for i in range(start, stop):
        for j, p in enumerate(params):
            p.grad = paddle.to_tensor(np.cos(np.arange(p.size) + i + j).reshape(p.shape).astype(p.dtype.numpy))
        opt.step()
        opt.clear_grad()
    return [p.numpy().copy() for p in params]


def hooked(cls, **hooks):
    """The class with a hook that calls its base, or with other hooks."""
    name = "_append_optimize_op"

    def hook(self, block, param_and_grad):
        return getattr(super(made, self), name)(block, param_and_grad)

    made = type("Hooked" + cls.__name__, (cls,), hooks or {name: hook})
    return made


SETTINGS = {
    "SGD": (O.SGD, {}),
    "Momentum": (O.Momentum, {"rescale_grad": 0.5, "use_nesterov": True}),
    "Momentum, rescaled with decay": (O.Momentum, {"rescale_grad": 0.5, "weight_decay": 0.3}),
    "Adam": (O.Adam, {"amsgrad": True}),
    "AdamW": (O.AdamW, {"weight_decay": 0.2, "apply_decay_param_fun": lambda name: name == "w"}),
    "AdamW, ratio": (O.AdamW, {"lr_ratio": lambda p: 0.5 if p.ndim > 1 else 1.0}),
    "Adamax": (O.Adamax, {}),
    "Lamb": (O.Lamb, {"exclude_from_weight_decay_fn": lambda p: p.name == "b"}),
    "NAdam": (O.NAdam, {}),
    "RAdam": (O.RAdam, {}),
    "Adagrad": (O.Adagrad, {"initial_accumulator_value": 0.1}),
    "Adadelta": (O.Adadelta, {}),
    "RMSProp": (O.RMSProp, {"centered": True, "momentum": 0.5}),
    "Rprop": (O.Rprop, {}),
    "ASGD": (O.ASGD, {"batch_num": 2}),
    "Lars": (LarsMomentumOptimizer, {"momentum": 0.9}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_steps_of_every_optimizer_by_its_base(name):
    """One by one they are what they are together, and so are the states by name."""
    cls, settings = SETTINGS[name]
    results = []
    for c in (cls, hooked(cls)):
        params = parameters()
        key = "parameter_list" if cls is LarsMomentumOptimizer else "parameters"
        opt = c(learning_rate=0.1, **{key: params}, **settings, grad_clip=nn.ClipGradByNorm(0.5))
        results.append((train(opt, params), opt.state_dict()))
    (expected, states), (got, by_name) = results
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-7)
    assert by_name.keys() == states.keys()
    for k, value in states.items():
        np.testing.assert_allclose(by_name[k].numpy(), value.numpy(), rtol=1e-6, atol=1e-7, err_msg=k)


def copied(states):
    return {k: copied(v) if isinstance(v, dict) else v.clone() for k, v in states.items()}


@pytest.mark.parametrize(
    ("name", "dtype"), [*((n, "float32") for n in ("Adam", "NAdam", "RMSProp", "ASGD")), ("AdamW", "bfloat16")]
)
def test_going_on_from_a_state(name, dtype):
    """Loaded before the first step and after one, and by the base, which steps at once."""
    cls, settings = SETTINGS[name]
    settings = dict(settings, learning_rate=0.1, **({"multi_precision": True} if dtype != "float32" else {}))
    params = parameters(dtype)
    first = hooked(cls)(parameters=params, **settings)
    train(first, params, 0, 3)
    saved, values = copied(first.state_dict()), [p.clone() for p in params]
    assert ("master_weights" in saved) is (dtype != "float32")
    expected = train(first, params, 3, 5)
    for c, steps in ((hooked(cls), 0), (hooked(cls), 1), (cls, 0)):
        again = parameters(dtype)
        opt = c(parameters=again, **settings)
        train(opt, again, 0, steps)
        opt.set_state_dict(saved)
        for p, v in zip(again, values, strict=True):
            p.set_value(v)
        for x, y in zip(train(opt, again, 3, 5), expected, strict=True):
            np.testing.assert_allclose(x.astype("float32"), y.astype("float32"), rtol=1e-6, atol=1e-7)


def test_missing_and_wrong_states():
    params = parameters()
    opt = hooked(O.Momentum)(0.1, parameters=params)
    train(opt, params, 0, 1)
    saved = copied(opt.state_dict())
    del saved["w_velocity_0"]
    with pytest.warns(UserWarning, match="found nothing for w_velocity"):
        opt.set_state_dict(saved)
    with pytest.raises(ValueError, match=r"b_velocity of shape \[3\], got \[2\]"):
        opt.set_state_dict({"w_velocity_0": paddle.ones([2, 3]), "b_velocity_0": paddle.ones([2])})
    with pytest.raises(KeyError, match="a state 'mean' of w, got"):
        opt._get_accumulator("mean", params[0])


def test_groups_regularizers_and_clipping_are_those_of_a_step_at_once():
    results = []
    for c in (O.Momentum, hooked(O.Momentum)):
        params = parameters()
        params[1].regularizer = paddle.regularizer.L1Decay(0.3)
        groups = [
            {"params": params[:1], "learning_rate": 0.5, "momentum": 0.5, "weight_decay": 0.1},
            {"params": params[1:], "grad_clip": nn.ClipGradByValue(0.2)},
        ]
        opt = c(O.lr.ExponentialDecay(0.1, 0.5), parameters=groups, weight_decay=0.2, grad_clip=nn.ClipGradByNorm(1.0))
        assert opt._param_groups[0]["momentum"] == 0.5
        for i in range(3):
            train(opt, params, i, i + 1)
            opt._learning_rate.step()
        results.append([p.numpy().copy() for p in params])
    for x, y in zip(*results, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)
    assert O.SGD(0.1, params)._param_groups == params


def test_any_hook_makes_the_step():
    """A rate, a penalty and the end of a step of its own; patched into a class, or around a function of the base."""
    asked = []

    def rate(self, param_and_grad):
        asked.append(param_and_grad[0].name)
        return paddle.to_tensor(0.0)

    @functools.wraps(O.Optimizer._add_accumulator)
    def add(self, name, *args, **kwargs):
        asked.append(name)
        return O.Optimizer._add_accumulator(self, name, *args, **kwargs)

    params = parameters()
    before = [p.numpy().copy() for p in params]
    after = train(hooked(O.SGD, _create_param_lr=rate)(0.1, parameters=params), params)
    assert asked == ["w", "b"] * 4 and all((x == y).all() for x, y in zip(before, after, strict=True))
    asked.clear()
    cls = hooked(O.Momentum, _add_accumulator=add, _finish_update=lambda self, block, pairs: asked.append(len(pairs)))
    train(cls(0.1, parameters=params), params, 0, 2)
    assert asked == ["velocity", "velocity", 2, 2]
    halved = {"_create_regularization_of_grad": lambda self, param, grad, regularization=None: grad * 0.5}
    results = [train(c(0.1, p), p) for c, p in ((hooked(O.SGD, **halved), parameters()), (O.SGD, parameters()))]
    start = parameters()[0].numpy()
    np.testing.assert_allclose((results[0][0] - start) * 2, results[1][0] - start, rtol=1e-5, atol=1e-6)


class Plain(O.Optimizer):
    def _create_accumulators(self, block, parameters):
        for p in parameters:
            self._add_accumulator("total", p)

    def _append_optimize_op(self, block, param_and_grad):
        p, g = param_and_grad
        total = self._get_accumulator("total", p)
        total.add_(g)
        p.set_value(p - self._create_param_lr(param_and_grad) * total)


def test_captured_steps_are_those_of_eager_ones():
    results = []
    for wrap in (lambda f: f, paddle.jit.to_static):
        params = parameters()
        opt = Plain(0.1, params)

        def step(x, params=params, opt=opt):
            loss = ((x @ params[0] + params[1]) ** 2).mean()
            loss.backward()
            opt.step()
            opt.clear_grad()
            return loss

        f = wrap(step)
        results.append([f(paddle.full([4, 2], float(i))).item() for i in range(4)])
    assert results[0] == results[1] and results[0][0] != results[0][3]


def test_scaled_losses_selected_rows_and_given_gradients():
    table = nn.Embedding(4, 2, sparse=True)
    with paddle.no_grad():
        table.weight.fill_(1.0)
    for opt in (hooked(O.SGD)(0.5, parameters=[table.weight]), hooked(O.Adam)(0.5, parameters=[table.weight])):
        before = table.weight.numpy().copy()
        scaler = paddle.amp.GradScaler(init_loss_scaling=8.0)
        scaler.scale(table(paddle.to_tensor([1, 1])).sum()).backward()
        scaler.step(opt)
        scaler.update()
        opt.clear_grad()
        step = 1.0 if isinstance(opt, O.SGD) else 0.5
        np.testing.assert_allclose(before - table.weight.numpy(), [[0, 0], [step] * 2, [0, 0], [0, 0]], atol=1e-5)
    params = parameters()
    opt = hooked(O.SGD)(0.5, parameters=params)
    before = params[0].numpy().copy()
    opt.apply_gradients([(params[0], paddle.ones([2, 3]))])
    np.testing.assert_allclose(before - params[0].numpy(), np.full((2, 3), 0.5), rtol=1e-6)
    opt._set_auxiliary_var("found_inf", True)
    opt.apply_gradients([(params[0], paddle.ones([2, 3]))])
    np.testing.assert_allclose(before - params[0].numpy(), np.full((2, 3), 0.5), rtol=1e-6)


def test_refusals():
    params = parameters()
    opt = O.Adam(parameters=params)
    opt._master_weights = {}
    with pytest.raises(AttributeError, match=r"\[Adam\] keeps float32 copies itself"):
        opt._master_weights = {"w": params[0]}
    with pytest.raises(NotImplementedError, match="defines neither _append_optimize_op"):
        train(hooked(O.Optimizer, _finish_update=lambda self, block, pairs: None)(0.1, parameters=params), params)
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            loss = (paddle.static.data("x", [1, 2]) @ paddle.static.create_parameter([2, 1], "float32")).mean()
            with pytest.raises(RuntimeError, match=r"\[Plain\] requires an optimizer without hooks"):
                Plain(0.1).minimize(loss)
    finally:
        paddle.disable_static()
