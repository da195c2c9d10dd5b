"""Kernels of optimizers by name are the steps of the optimizers, and write what they name."""

import numpy as np
import pytest

import paddle
from paddle import _C_ops as C
from paddle import optimizer as O


def tensor(*values, dtype="float32"):
    return paddle.to_tensor(values, dtype=dtype)


def two_steps(opt, p):
    for g in ([1.0, -2.0], [0.5, 3.0]):
        p.grad = tensor(*g)
        opt.step()
    return p.numpy()


def betas():
    return tensor(0.8), tensor(0.9)


def moments(n=2):
    return [paddle.zeros([2]) for _ in range(n)]


# Each: an optimizer, its states, and the kernel's call of a parameter, a gradient, a rate and these states.
CASES = {
    "sgd_": (lambda p: O.SGD(0.1, p), [], lambda p, g, lr: C.sgd_(p, lr, g, None, False)),
    "momentum_": (
        lambda p: O.Momentum(0.1, 0.8, p, use_nesterov=True),
        moments(1),
        lambda p, g, lr, v: C.momentum_(p, g, v, lr, None, 0.8, True, "", 0.0, False, 1.0),
    ),
    "momentum_ with decay": (
        lambda p: O.Momentum(0.1, 0.8, p, weight_decay=0.3, rescale_grad=1.0),
        moments(1),
        lambda p, g, lr, v: C.momentum_(p, g, v, lr, None, 0.8, False, "l2_decay", 0.3),
    ),
    "momentum_ with decay of a rescaled gradient": (
        lambda p: O.Momentum(0.1, 0.8, p, weight_decay=0.3, rescale_grad=0.25),
        moments(1),
        lambda p, g, lr, v: C.momentum_(p, g, v, lr, None, 0.8, False, "l2_decay", 0.3, False, 0.25),
    ),
    "adam_": (
        lambda p: O.Adam(0.1, 0.8, 0.9, 1e-8, p),
        [*moments(), *betas()],
        lambda p, g, lr, m, v, a, b: C.adam_(p, g, lr, m, v, None, a, b, None, None, 0.8, 0.9, 1e-8),
    ),
    "adam_ with maxima": (
        lambda p: O.Adam(0.1, 0.8, 0.9, 1e-8, p, amsgrad=True),
        [*moments(3), *betas()],
        lambda p, g, lr, m, v, top, a, b: C.adam_(
            p, g, lr, m, v, top, a, b, None, None, 0.8, 0.9, 1e-8, False, 1000, False, False, True
        ),
    ),
    "adamw_": (
        lambda p: O.AdamW(0.1, 0.8, 0.9, 1e-8, p, 0.2, lr_ratio=lambda p: 0.5),
        [*moments(), *betas()],
        lambda p, g, lr, m, v, a, b: C.adamw_(
            p, g, lr, m, v, None, a, b, None, None, 0.8, 0.9, 1e-8, 0.5, 0.2, True, False, 1000
        ),
    ),
    "adagrad_": (
        lambda p: O.Adagrad(0.1, 1e-6, p),
        moments(1),
        lambda p, g, lr, m: C.adagrad_(p, g, m, lr, None, 1e-6),
    ),
    "adadelta_": (
        lambda p: O.Adadelta(0.1, 1e-6, 0.9, p),
        moments(),
        lambda p, g, lr, squares, changes: C.adadelta_(p, g, squares, changes, lr, None, 0.9, 1e-6),
    ),
    "rmsprop_": (
        lambda p: O.RMSProp(0.1, 0.9, 1e-6, 0.5, True, p),
        moments(3),
        lambda p, g, lr, s, m, mean: C.rmsprop_(p, s, g, m, lr, mean, None, 1e-6, 0.9, 0.5, True),
    ),
    "lamb_": (
        lambda p: O.Lamb(0.1, 0.2, 0.8, 0.9, 1e-6, p),
        [*moments(), *betas()],
        lambda p, g, lr, m, v, a, b: C.lamb_(p, g, lr, m, v, a, b, None, None, 0.2, 0.8, 0.9, 1e-6),
    ),
    "rprop_": (
        lambda p: O.Rprop(0.1, (0.01, 1.0), p, (0.5, 1.2)),
        [tensor(0.0, 0.0), tensor(0.1, 0.1)],
        lambda p, g, lr, last, rates: C.rprop_(p, g, last, rates, None, tensor(0.01, 1.0), tensor(0.5, 1.2)),
    ),
    "merged_momentum_": (
        lambda p: O.Momentum(0.1, 0.8, p),
        moments(1),
        lambda p, g, lr, v: C.merged_momentum_([p], [g], [v], [lr], None, 0.8),
    ),
    "merged_adam_": (
        lambda p: O.Adam(0.1, 0.8, 0.9, 1e-8, p),
        [*moments(), *betas()],
        lambda p, g, lr, m, v, a, b: C.merged_adam_([p], [g], [lr], [m], [v], None, [a], [b], None, 0.8, 0.9, 1e-8),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_steps_are_those_of_the_optimizer(name):
    make, states, call = CASES[name]
    states = [x.clone() for x in states]
    p = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Assign([1.0, 2.0]))
    q = tensor(1.0, 2.0)
    expected = two_steps(make([p]), p)
    for g in ([1.0, -2.0], [0.5, 3.0]):
        results = call(q, tensor(*g), paddle.to_tensor(0.1), *states)
        first = results[0]
        assert (first[0] if isinstance(first, list) else first) is q
    np.testing.assert_allclose(q.numpy(), expected, rtol=1e-6)


def test_adamax_takes_the_power_and_leaves_it():
    p = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Assign([1.0, 2.0]))
    q, states, power = tensor(1.0, 2.0), moments(), tensor(0.8)
    expected = two_steps(O.Adamax(0.1, 0.8, 0.9, 1e-8, [p]), p)
    for n, g in enumerate(([1.0, -2.0], [0.5, 3.0]), 1):
        C.adamax_(q, tensor(*g), paddle.to_tensor(0.1), *states, power, None, 0.8, 0.9, 1e-8)
        assert power.item() == pytest.approx(0.8**n)
        power *= 0.8
    np.testing.assert_allclose(q.numpy(), expected, rtol=1e-6)


def test_copies_skipped_steps_and_kept_powers():
    low, copied = tensor(1.0, 2.0, dtype="bfloat16"), tensor(1.001, 2.001)
    C.sgd_(low, paddle.to_tensor(0.5), tensor(1.0, 1.0, dtype="bfloat16"), copied, True)
    assert copied.tolist() == pytest.approx([0.501, 1.501]) and low.tolist() == [0.5, 1.5]
    p, states, powers = tensor(1.0, 2.0), moments(), betas()
    call = p, tensor(1.0, 1.0), paddle.to_tensor(0.1), *states, None, *powers, None
    C.adam_(*call, paddle.to_tensor([True]))
    assert p.tolist() == [1.0, 2.0] and [x.item() for x in powers] == pytest.approx([0.8, 0.9])
    C.adam_(*call, None, 0.8, 0.9, 1e-8, False, 1000, False, True)
    assert p.tolist() != [1.0, 2.0] and [x.item() for x in powers] == pytest.approx([0.8, 0.9])
    with pytest.raises(ValueError, match=r"\[momentum_\] requires '' or 'l2_decay'"):
        C.momentum_(p, p, states[0], paddle.to_tensor(0.1), None, 0.9, False, "l1_decay")
