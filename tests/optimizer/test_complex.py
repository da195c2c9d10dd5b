"""Complex parameters train as pairs of real numbers: every optimizer, clipping, decay and initialiser, eager and
captured.
"""

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle import optimizer as O
from paddle.regularizer import L1Decay, L2Decay
from umiak.core.dtype import convert

MAKE = {
    "SGD": lambda p, **more: O.SGD(0.1, p, **more),
    "SGD, L2": lambda p, **more: O.SGD(0.1, p, weight_decay=L2Decay(0.3), **more),
    "Momentum": lambda p, **more: O.Momentum(0.1, 0.8, p, weight_decay=0.1, **more),
    "Nesterov": lambda p, **more: O.Momentum(0.1, 0.8, p, use_nesterov=True, rescale_grad=0.5, **more),
    "Adam": lambda p, **more: O.Adam(0.1, parameters=p, **more),
    "AMSGrad": lambda p, **more: O.Adam(0.1, parameters=p, amsgrad=True, **more),
    "AdamW": lambda p, **more: O.AdamW(0.1, parameters=p, weight_decay=0.2, **more),
    "Adamax": lambda p, **more: O.Adamax(0.1, parameters=p, **more),
    "Adagrad": lambda p, **more: O.Adagrad(0.1, parameters=p, initial_accumulator_value=0.1, **more),
    "Adadelta": lambda p, **more: O.Adadelta(0.5, parameters=p, **more),
    "RMSProp": lambda p, **more: O.RMSProp(0.1, momentum=0.5, centered=True, parameters=p, **more),
    "Lamb": lambda p, **more: O.Lamb(0.1, parameters=p, **more),
    "NAdam": lambda p, **more: O.NAdam(0.1, parameters=p, **more),
    "RAdam": lambda p, **more: O.RAdam(0.1, parameters=p, **more),
    "ASGD": lambda p, **more: O.ASGD(0.1, 2, p, **more),
    "Rprop": lambda p, **more: O.Rprop(0.1, parameters=p, **more),
    "Lars": lambda p, **more: paddle.incubate.optimizer.LarsMomentumOptimizer(0.1, 0.9, parameter_list=p, **more),
}
CLIP = {
    "value": lambda: nn.ClipGradByValue(0.5),
    "norm": lambda: nn.ClipGradByNorm(0.7),
    "global norm": lambda: nn.ClipGradByGlobalNorm(0.9),
}


def parameter(values):
    values = np.asarray(values)
    attr = paddle.ParamAttr(initializer=nn.initializer.Assign(values))
    return paddle.create_parameter(list(values.shape), convert(values.dtype).name, attr=attr)


def pairs(z):
    """Complex numbers as pairs of real ones."""
    return np.stack([z.real, z.imag], -1)


def numbers(rng, *shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)


def trained(make, starts, targets, weights, captured=False, steps=4):
    """Parameters after steps towards their targets. The loss weighs both parts of each complex number alike."""
    params = [parameter(s) for s in starts]
    goals, factors = [paddle.to_tensor(t) for t in targets], [paddle.to_tensor(w) for w in weights]
    opt = make(params)

    def loss():
        total = 0.0
        for p, goal, factor in zip(params, goals, factors):
            d = p - goal
            if p.dtype.is_complex:
                total = total + (factor * (d.real() ** 2 + d.imag() ** 2)).sum()
            else:
                total = total + (factor * (d * d)).sum()
        return total

    def step():
        loss().backward()
        opt.step()
        opt.clear_grad()

    run = paddle.jit.to_static(step, full_graph=True) if captured else step
    for _ in range(steps):
        run()
    return [p.numpy() for p in params], opt


def compare(make, rng, captured=False):
    starts, targets = ([numbers(rng, 3, 2), numbers(rng, 4), numbers(rng)] for _ in range(2))
    weights = [rng.uniform(0.5, 2.0, s.shape).astype(np.float32) for s in starts]
    got, opt = trained(make, starts, targets, weights, captured)
    want, _ = trained(
        make, [pairs(s) for s in starts], [pairs(t) for t in targets], [np.stack([w, w], -1) for w in weights]
    )
    for start, z, p in zip(starts, got, want):
        assert z.dtype == np.complex64
        assert not np.allclose(z, start)
        np.testing.assert_allclose(pairs(z), p, rtol=3e-5, atol=3e-6)
    return opt


@pytest.mark.parametrize("name", MAKE)
def test_every_optimizer(name, rng):
    """As many steps on pairs of real numbers end at the same place."""
    opt = compare(MAKE[name], rng)
    saved = opt.state_dict()
    states = [v for v in saved.values() if isinstance(v, paddle.Tensor) and v.dtype.is_complex]
    assert bool(states) == (not name.startswith("SGD"))
    opt.set_state_dict(saved)


@pytest.mark.parametrize("name", ["Momentum", "AdamW", "Lamb", "Rprop"])
def test_captured_steps(name, rng):
    compare(MAKE[name], rng, captured=True)


@pytest.mark.parametrize("clip", CLIP)
@pytest.mark.parametrize("captured", [False, True], ids=["eager", "captured"])
def test_clipping(clip, captured, rng):
    """Norms are those of the parts; limits on values hold for each part."""
    compare(lambda p: MAKE["Momentum"](p, grad_clip=CLIP[clip]()), rng, captured)


def test_clipping_together_with_real_ones(rng):
    """One global norm over complex and real gradients, of both precisions."""
    z, w, x = numbers(rng, 3), numbers(rng, 2).astype(np.complex128), rng.standard_normal(4).astype(np.float32)
    params = [parameter(v) for v in (z, w, x)]
    clip = nn.ClipGradByGlobalNorm(0.5)
    grads = [paddle.to_tensor(v.copy()) for v in (z, w, x)]
    clipped = [g.numpy() for _, g in clip(list(zip(params, grads)))]
    norm = np.sqrt(sum((np.abs(v) ** 2).sum() for v in (z, w, x)))
    for g, v in zip(clipped, (z, w, x)):
        assert g.dtype == v.dtype
        np.testing.assert_allclose(g, v * (0.5 / norm), rtol=1e-5)


def test_l1_decay_follows_the_size_of_numbers(rng):
    """The penalty is the sum of absolute values, whose derivative is z/|z|."""
    z = numbers(rng, 5)
    p = parameter(z)
    opt = O.SGD(0.1, [p], weight_decay=L1Decay(0.3))
    (p.real() * 0.0).sum().backward()
    opt.step()
    np.testing.assert_allclose(p.numpy(), z - 0.03 * z / np.abs(z), rtol=1e-5)


def test_lbfgs(rng):
    target = numbers(rng, 4)
    p = parameter(numbers(rng, 4))
    opt = O.LBFGS(max_iter=30, line_search_fn="strong_wolfe", parameters=[p])

    def closure():
        opt.clear_grad()
        d = p - paddle.to_tensor(target)
        loss = (paddle.to_tensor([1.0, 2.0, 3.0, 4.0]) * (d.real() ** 2 + 3 * d.imag() ** 2)).sum()
        loss.backward()
        return loss

    opt.step(closure)
    np.testing.assert_allclose(p.numpy(), target, rtol=1e-4, atol=1e-5)


def test_loss_scaling_sees_infinite_parts():
    p = parameter(np.ones(2, np.complex64))
    opt = O.SGD(0.1, [p])
    scaler = paddle.amp.GradScaler(init_loss_scaling=8.0)
    for factor, moves in ((1.0, True), (np.inf, False)):
        before = p.numpy().copy()
        scaler.scale((p.imag() * factor).sum()).backward()
        scaler.step(opt)
        scaler.update()
        opt.clear_grad()
        assert (p.numpy() != before).any() == moves
    np.testing.assert_allclose(p.numpy(), np.full(2, 1 - 0.1j, np.complex64))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_initialisers(dtype):
    """Parts of uniform numbers have the same bounds; a normal number has its variance in both parts together."""
    paddle.seed(3)
    init = nn.initializer

    def made(how, shape=(200, 100)):
        p = paddle.create_parameter(list(shape), dtype, default_initializer=how)
        assert p.dtype is convert(dtype)
        return p.numpy()

    def like(z, mean, std, bound=None):
        for part in (z.real, z.imag):
            assert part.mean() == pytest.approx(mean, abs=0.05 * std)
            assert part.std() == pytest.approx(std, rel=0.05)
            assert bound is None or np.abs(part - mean).max() <= bound
        assert abs(np.corrcoef(z.real.ravel(), z.imag.ravel())[0, 1]) < 0.05

    like(made(init.Uniform(-1.0, 5.0)), 2.0, 6 / 12**0.5, 3.0)
    like(made(init.Normal(3.0, 2.0)), 3.0, 2.0 * 0.5**0.5)
    like(made(init.KaimingNormal()), 0.0, (1 / 200) ** 0.5)
    like(made(init.XavierNormal()), 0.0, (1 / 300) ** 0.5)
    like(made(init.XavierUniform()), 0.0, (2 / 300) ** 0.5, (6 / 300) ** 0.5)
    assert (made(init.Constant(2.0)) == 2).all()
    values = np.array([[1 + 2j, 3j]], dtype)
    np.testing.assert_array_equal(made(init.Assign(values), (1, 2)), values)
    for shape in ((6, 4), (4, 6)):
        q = made(init.Orthogonal(), shape)
        q = q if shape[0] >= shape[1] else q.conj().T
        np.testing.assert_allclose(q.conj().T @ q, np.eye(4), atol=1e-5)
        assert np.abs(q.imag).max() > 0.1
