"""Parameters that are updated and clipped together get what they get one by one."""

import math

import numpy as np
import pytest
import torch

import paddle
from paddle import nn
from paddle import optimizer as O
from paddle.nn.clip import global_norm
from umiak.runtime import parallel

SHAPES = [(3,), (4, 5), (2, 3, 4), (0,), (1,), (), (300, 70), (64,), (100_001,)]
EVERY = [
    "SGD", "Momentum", "Adam", "AdamW", "Adamax", "Adagrad", "Adadelta", "RMSProp", "Lamb", "NAdam", "RAdam", "ASGD",
    "Rprop",
]  # fmt: skip


def parameter(values, dtype="float32", **attr):
    p = paddle.create_parameter(list(np.shape(values)), dtype, attr=paddle.ParamAttr(**attr))
    p.set_value(paddle.to_tensor(np.asarray(values, np.float32)).astype(dtype))
    return p


def one_by_one(name):
    """The optimizer with an ``_update`` of its own, which is called for each parameter."""
    base = getattr(O, name)

    class OneByOne(base):
        def _update(self, state, grad, lr):
            super()._update(state, grad, lr)

    return OneByOne


def plain(x):
    return x.astype("float64").numpy()


def compare(make, starts, rng, steps=3, dtypes=("float32",), missing=lambda step, i: False, attrs=({},)):
    """Two optimizers made by ``make(class, parameters)`` over the same values and gradients."""
    sides = [
        [parameter(s, dtypes[i % len(dtypes)], **attrs[i % len(attrs)]) for i, s in enumerate(starts)] for _ in range(2)
    ]
    both = make(lambda name: getattr(O, name), sides[0]), make(one_by_one, sides[1])
    for step in range(steps):
        for i, (p, q) in enumerate(zip(*sides, strict=True)):
            g = paddle.to_tensor(rng.standard_normal(p.shape).astype("f4")).astype(p.dtype)
            p.grad, q.grad = (None, None) if missing(step, i) else (g, g.clone())
        for opt in both:
            opt.step()
    for p, q in zip(*sides, strict=True):
        np.testing.assert_array_equal(plain(p), plain(q))
    states = [[s.values for s in opt._ordered_states()] for opt in both]
    for of, other in zip(*states, strict=True):
        for x, y in zip(of, other, strict=True):
            np.testing.assert_array_equal(plain(x), plain(y))
    return both


@pytest.mark.parametrize("name", EVERY)
def test_every_optimizer(name, threads, rng):
    starts = [rng.standard_normal(s) for s in SHAPES]
    compare(lambda cls, params: cls(name)(0.01, parameters=params), starts, rng)


def test_parameters_that_differ_in_everything(threads, rng):
    """Numbers, steps done, rates, penalties, dtypes: each has its own, and all are updated together."""
    starts = [rng.standard_normal((i + 1, 7)) for i in range(12)]

    def make(cls, params):
        groups = [
            {"params": params[:4], "weight_decay": 0.0, "beta1": 0.5},
            {"params": params[4:8], "learning_rate": 0.1},
            {"params": params[8:], "grad_clip": nn.ClipGradByGlobalNorm(0.5)},
        ]
        return cls("AdamW")(
            0.01, parameters=groups, apply_decay_param_fun=lambda n: n.endswith(("1", "2")),
            lr_ratio=lambda p: 0.5 if p.shape[0] % 2 else 1.0, multi_precision=True, amsgrad=True,
        )  # fmt: skip

    attrs = ({}, {"learning_rate": 0.5}, {"name": None, "trainable": False}, {})
    compare(
        make, starts, rng, 4, ("float32", "float64", "bfloat16"), lambda step, i: step == 1 and i % 3 == 0, attrs=attrs
    )


def test_penalties(rng):
    starts = [rng.standard_normal((i + 1,)) for i in range(5)]
    attrs = ({}, {"regularizer": paddle.regularizer.L1Decay(0.5)}, {"need_clip": False})
    compare(lambda cls, ps: cls("Momentum")(0.1, parameters=ps, weight_decay=0.1), starts, rng, attrs=attrs)


def test_low_precision_without_copies(rng):
    starts = [rng.standard_normal(s) for s in SHAPES[:5]]
    compare(lambda cls, ps: cls("Adam")(0.01, parameters=ps), starts, rng, dtypes=("bfloat16", "float16"))


def test_many_parameters_are_one_class(rng):
    """No plan per shape, and no limit to how many there are."""
    params = [parameter(rng.standard_normal((1 + i % 9, 1 + i % 5))) for i in range(150)]
    opt = O.Adamax(0.01, parameters=params)
    opt._op.clear()
    for _ in range(2):
        for p in params:
            p.grad = paddle.ones(p.shape)
        opt.step()
    assert opt._op.table_size() == 1


def test_transposed_gradients(threads, rng):
    p, q, r = (parameter(rng.standard_normal((30, 400))) for _ in range(3))
    g = rng.standard_normal((400, 30)).astype("f4")
    p.grad, q.grad, r.grad = paddle.to_tensor(g).t(), paddle.to_tensor(g.T.copy()), paddle.ones([30, 400])
    q.set_value(p.detach())
    O.Adam(0.1, parameters=[p, r]).step()
    O.Adam(0.1, parameters=[q]).step()
    np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())


def test_a_step_that_fails_has_not_been_done(rng):
    params = [parameter(rng.standard_normal(3)) for _ in range(3)]
    opt = O.Adam(0.1, parameters=params)
    before = [p.detach().numpy().copy() for p in params]
    for p in params:
        p.grad = paddle.ones([3])
    params[1]._grad = paddle.ones([4])
    with pytest.raises(ValueError, match=r"\[adam_update\] requires .* \(row 1 of 3\)"):
        opt.step()
    for p, b in zip(params, before, strict=True):
        np.testing.assert_array_equal(p.detach().numpy(), b)
    params[1]._grad = paddle.ones([3])
    opt.step()
    for p, b in zip(params, before, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), b - 0.1, rtol=1e-5)  # the first step of Adam


@pytest.mark.parametrize("name", EVERY)
def test_a_group_alone_and_beside_another_one(name, rng):
    """A step of one group, which takes little Python, is what a step of several is."""
    starts = [rng.standard_normal(s) for s in SHAPES]
    sides = [[parameter(s) for s in starts] for _ in range(2)]
    alone = getattr(O, name)(0.01, parameters=sides[0])
    other = getattr(O, name)(0.01, parameters=[{"params": sides[1]}, {"params": [parameter(np.zeros(2))]}])
    for step in range(4):
        for i, (p, q) in enumerate(zip(*sides, strict=True)):
            if i != step:  # each is without a gradient once, and one at first
                p.grad = q.grad = paddle.to_tensor(rng.standard_normal(np.shape(starts[i])).astype("float32"))
        alone.step()
        other.step()
        for p, q in zip(*sides, strict=True):
            np.testing.assert_array_equal(plain(p), plain(q))
        for opt in (alone, other):
            opt.clear_grad(set_to_zero=False)


def test_what_else_is_asked_of_a_group_after_its_first_step(rng):
    """Clipping and penalties that are set later act, and so does a gradient of selected rows."""
    sides = [[parameter(np.ones(3)), parameter(np.ones((4, 2)))] for _ in range(2)]
    later = O.SGD(0.1, parameters=sides[0])
    at_once = O.SGD(0.1, parameters=sides[1], grad_clip=nn.ClipGradByGlobalNorm(0.1))
    for params, opt in zip(sides, (later, at_once), strict=True):
        opt.set_lr(0.0)
        for p in params:
            p.grad = paddle.ones(p.shape)
        opt.step()
        opt.set_lr(0.1)
    later._groups[0]["grad_clip"] = nn.ClipGradByGlobalNorm(0.1)
    for params, opt in zip(sides, (later, at_once), strict=True):
        for p in params:
            p.grad = paddle.ones(p.shape)
        opt.step()
    for p, q in zip(*sides, strict=True):
        np.testing.assert_array_equal(plain(p), plain(q))
        assert (plain(p) > 0.96).all()


def test_saved_values_are_guarded():
    p = parameter([1.0, 2.0])
    y = (p * p).sum()
    p.grad = paddle.ones([2])
    before = p.inplace_version
    O.SGD(0.1, parameters=[p]).step()
    assert p.is_leaf and not p.stop_gradient and p.inplace_version == before + 1
    with pytest.raises(RuntimeError):
        y.backward()


# --- clipping --------------------------------------------------------------------------------------------------------


def pairs_of(grads):
    return [(parameter(np.zeros(np.shape(g))), g) for g in grads]


def test_global_norm_of_many(threads, rng):
    arrays = [rng.standard_normal(s).astype("f4") for s in SHAPES * 20]
    grads = [paddle.to_tensor(a) for a in arrays]
    length = math.sqrt(sum(float((a.astype("f8") ** 2).sum()) for a in arrays))
    assert global_norm(grads).item() == pytest.approx(length, rel=1e-6)
    for limit in (1.0, 2 * length):
        own = [g.clone() for g in grads]
        clipped = nn.ClipGradByGlobalNorm(limit)(pairs_of(own))
        for (_, g), mine, a in zip(clipped, own, arrays, strict=True):
            assert g is mine  # in place, as in the reference framework
            np.testing.assert_allclose(g.numpy(), a * min(1.0, limit / length), rtol=2e-6)


def test_norms_do_not_depend_on_threads(rng):
    grads = [paddle.to_tensor(rng.standard_normal(s).astype("f4")) for s in (*SHAPES, (700, 900))]
    count, found = parallel.get_num_threads(), []
    for n in (1, 2, 3):
        parallel.set_num_threads(n)
        clipped = nn.ClipGradByGlobalNorm(1.0)([(None, g.clone()) for g in grads])
        found.append([global_norm(grads).numpy(), *(g.numpy() for _, g in clipped)])
    parallel.set_num_threads(count)
    for others in found[1:]:
        for a, b in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(a, b)


def test_clipping_of_several_dtypes(rng):
    arrays = [rng.standard_normal((i + 2, 3)) for i in range(6)]
    dtypes = ["float32", "bfloat16", "float64"] * 2
    grads = [paddle.to_tensor(a).astype(d) for a, d in zip(arrays, dtypes, strict=True)]
    seen = [plain(g) for g in grads]
    length = math.sqrt(sum((a**2).sum() for a in seen))
    norm = global_norm(grads)
    assert norm.dtype == paddle.float64 and norm.item() == pytest.approx(length, rel=1e-6)
    for make, lengths in (
        (nn.ClipGradByGlobalNorm, [length] * 6), (nn.ClipGradByNorm, [float(np.linalg.norm(a)) for a in seen]),
    ):  # fmt: skip
        for (_, g), a, d, n in zip(make(0.5)([(None, g.clone()) for g in grads]), seen, dtypes, lengths, strict=True):
            assert g.dtype == getattr(paddle, d)
            np.testing.assert_allclose(plain(g), a * min(1, 0.5 / n), rtol=1e-2 if d == "bfloat16" else 1e-5)
    for (_, g), a in zip(nn.ClipGradByValue(0.25)([(None, g) for g in grads]), seen, strict=True):
        np.testing.assert_array_equal(plain(g), a.clip(-0.25, 0.25))


def test_what_is_not_finite_stays_so():
    grads = [paddle.to_tensor([1.0, math.nan]), paddle.to_tensor([1.0])]
    for (_, g), p in zip(nn.ClipGradByGlobalNorm(1.0)([(None, g) for g in grads]), grads, strict=True):
        assert np.isnan(g.numpy()).all() and p.shape == g.shape


@pytest.mark.parametrize("kind", [2.0, 1.0, math.inf])
def test_clipping_in_place(kind, threads, rng):
    params = [parameter(np.zeros(s)) for s in SHAPES]
    peers = [torch.zeros(s) for s in SHAPES]
    for p, q in zip(params, peers, strict=True):
        a = rng.standard_normal(tuple(q.shape)).astype("f4")
        p.grad, q.grad = paddle.to_tensor(a), torch.tensor(a)
    if kind == math.inf:  # the largest of nothing has no meaning
        params, peers = ([x for x in xs if math.prod(x.shape)] for xs in (params, peers))
    before = [p.grad for p in params]
    ours = nn.utils.clip_grad_norm_(params, 0.7, kind)
    theirs = torch.nn.utils.clip_grad_norm_(peers, 0.7, kind)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5) and ours.shape == []
    for p, g, q in zip(params, before, peers, strict=True):
        assert p.grad is g and g.inplace_version == 1
        np.testing.assert_allclose(g.numpy(), q.grad.numpy(), rtol=1e-4)


def test_one_gradient_of_two_parameters_is_scaled_twice():
    g = paddle.to_tensor([3.0, 4.0])
    params = [parameter([0.0, 0.0]) for _ in range(2)]
    for p in params:
        p.grad = g
    assert params[0].grad is g and params[1].grad is g
    nn.utils.clip_grad_norm_(params, 1.0)
    np.testing.assert_allclose(g.numpy(), np.array([3.0, 4.0]) / 50, rtol=1e-5)


def test_low_precision_norm_in_place():
    p = parameter(np.zeros(1000), "bfloat16")
    p.grad = paddle.full([1000], 0.1, "bfloat16")
    norm = nn.utils.clip_grad_norm_([p], 1.0)
    assert norm.dtype == paddle.bfloat16 and norm.item() == pytest.approx(0.1 * math.sqrt(1000), rel=1e-2)
    assert np.linalg.norm(plain(p.grad)) == pytest.approx(1.0, rel=1e-2)
