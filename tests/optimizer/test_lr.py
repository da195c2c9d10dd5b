"""Schedules against written-out values, and their states."""

import math

import pytest

from paddle.optimizer import lr

# Name: (schedule, the rate at epochs 0, 1, 2, …).
VALUES = {
    "NoamDecay": (lambda: lr.NoamDecay(64, 5, 0.5), [0.0, 0.00559, 0.01118, 0.016771, 0.022361, 0.027951, 0.025516]),
    "PiecewiseDecay": (lambda: lr.PiecewiseDecay([2, 4], [0.1, 0.05, 0.01]), [0.1, 0.1, 0.05, 0.05, 0.01, 0.01]),
    "NaturalExpDecay": (lambda: lr.NaturalExpDecay(0.5, 0.1), [0.5 * math.exp(-0.1 * t) for t in range(6)]),
    "InverseTimeDecay": (lambda: lr.InverseTimeDecay(0.5, 0.1), [0.5 / (1 + 0.1 * t) for t in range(6)]),
    "PolynomialDecay": (
        lambda: lr.PolynomialDecay(0.5, 5, 0.01, 2.0),
        [0.5, 0.3236, 0.1864, 0.0884, 0.0296, 0.01, 0.01],
    ),
    "PolynomialDecay, cycle": (
        lambda: lr.PolynomialDecay(0.5, 5, 0.01, cycle=True),
        [0.5, 0.402, 0.304, 0.206, 0.108, 0.01, 0.206, 0.157, 0.108, 0.059, 0.01, 0.140667],
    ),
    "LinearWarmup": (lambda: lr.LinearWarmup(0.5, 4, 0.0, 0.4), [0.0, 0.1, 0.2, 0.3, 0.5, 0.5]),
    "LinearWarmup, then": (
        lambda: lr.LinearWarmup(lr.StepDecay(0.5, 3), 4, 0.1, 0.5),
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.5, 0.05, 0.05, 0.05, 0.005],
    ),
    "ExponentialDecay": (lambda: lr.ExponentialDecay(0.5, 0.9), [0.5 * 0.9**t for t in range(6)]),
    "MultiStepDecay": (lambda: lr.MultiStepDecay(0.5, [2, 4], 0.5), [0.5, 0.5, 0.25, 0.25, 0.125, 0.125]),
    "StepDecay": (lambda: lr.StepDecay(0.5, 2, 0.5), [0.5, 0.5, 0.25, 0.25, 0.125]),
    "LambdaDecay": (lambda: lr.LambdaDecay(0.5, lambda t: 0.9**t), [0.5 * 0.9**t for t in range(6)]),
    "MultiplicativeDecay": (lambda: lr.MultiplicativeDecay(0.5, lambda t: 0.95), [0.5 * 0.95**t for t in range(6)]),
    "CosineAnnealingDecay": (
        lambda: lr.CosineAnnealingDecay(0.5, 4, 0.01),
        [0.01 + 0.49 * (1 + math.cos(math.pi * t / 4)) / 2 for t in range(14)],
    ),
    "CosineAnnealingWarmRestarts": (
        lambda: lr.CosineAnnealingWarmRestarts(0.5, 3, 2, 0.01),
        [0.5, 0.3775, 0.1325, 0.5, 0.467176, 0.3775, 0.255, 0.1325, 0.042824, 0.5, 0.491652],
    ),
    "LinearLR": (
        lambda: lr.LinearLR(0.5, 6, 0.2, 0.9),
        [0.1, 0.158333, 0.216667, 0.275, 0.333333, 0.391667, 0.45, 0.45],
    ),
    "OneCycleLR": (
        lambda: lr.OneCycleLR(0.5, 20),
        [0.02, 0.065836, 0.185836, 0.334164, 0.454164, 0.5, 0.493733, 0.475247, 0.445469],
    ),
    "OneCycleLR, three phases": (
        lambda: lr.OneCycleLR(0.5, 20, anneal_strategy="linear", three_phase=True, phase_pct=0.4),
        [0.02, 0.088571, 0.157143, 0.225714, 0.294286, 0.362857, 0.431429, 0.5, 0.431429],
    ),
    "CyclicLR": (
        lambda: lr.CyclicLR(0.1, 0.5, 3, mode="triangular2"),
        [0.1, 0.233333, 0.366667, 0.5, 0.366667, 0.233333, 0.1, 0.166667, 0.233333, 0.3],
    ),
    "CyclicLR, falling": (
        lambda: lr.CyclicLR(0.1, 0.5, 3, 5, mode="exp_range", exp_gamma=0.9),
        [0.1, 0.22, 0.316, 0.3916, 0.309952, 0.241718, 0.185031],
    ),
}


def run(schedule, n):
    values = [schedule()]
    for _ in range(n - 1):
        schedule.step()
        values.append(schedule())
    return values


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    make, expected = VALUES[name]
    assert run(make(), len(expected)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", VALUES)
def test_states(name):
    make, expected = VALUES[name]
    whole = run(make(), len(expected))
    first, second = make(), make()
    run(first, 4)
    state = first.state_dict()
    assert state["last_epoch"] == 3 and state["last_lr"] == first()
    second.set_state_dict(state)
    assert run(second, len(expected) - 3) == pytest.approx(whole[3:])


def test_step_to_an_epoch():
    s = lr.CosineAnnealingDecay(0.5, 4, 0.01)
    s.step(3)
    assert s() == pytest.approx(0.01 + 0.49 * (1 + math.cos(math.pi * 0.75)) / 2)


def test_plateau():
    s = lr.ReduceOnPlateau(0.5, patience=1, cooldown=1, factor=0.5)
    rates = [s()]
    for m in (1, 0.9, 0.95, 0.96, 0.97, 0.98, 0.99, 1, 0.5, 0.6, 0.6, 0.6, 0.6):
        s.step(m)
        rates.append(s())
    assert rates == [0.5] * 4 + [0.25] * 3 + [0.125] * 4 + [0.0625] * 3
    assert s.state_dict() == {
        "cooldown_counter": 0, "best": 0.5, "num_bad_epochs": 1, "last_epoch": 13, "last_lr": 0.0625,
    }  # fmt: skip
    up = lr.ReduceOnPlateau(1.0, mode="max", patience=0, factor=0.1, threshold_mode="abs", min_lr=0.5)
    for m in (1.0, 2.0, 1.0):
        up.step(m)
    assert up() == 0.5
    with pytest.raises(TypeError, match="metrics"):
        s.step("a")


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: lr.StepDecay("a", 3), TypeError),
        (lambda: lr.StepDecay(-1.0, 3), ValueError),
        (lambda: lr.StepDecay(1.0, 3.0), TypeError),
        (lambda: lr.StepDecay(1.0, 3, 2.0), ValueError),
        (lambda: lr.MultiStepDecay(0.5, [3, 2]), ValueError),
        (lambda: lr.MultiStepDecay(0.5, 3), TypeError),
        (lambda: lr.CosineAnnealingDecay(0.5, 2.5), TypeError),
        (lambda: lr.LambdaDecay(0.5, 3), TypeError),
        (lambda: lr.NoamDecay(-1, 2), ValueError),
        (lambda: lr.ReduceOnPlateau(0.1, mode="x"), ValueError),
        (lambda: lr.PolynomialDecay(0.1, -1), ValueError),
        (lambda: lr.OneCycleLR(0.1, 2.5), TypeError),
        (lambda: lr.OneCycleLR(0.1, 20, end_learning_rate=-1), ValueError),
        (lambda: lr.OneCycleLR(0.1, 20, end_learning_rate="0"), TypeError),
        (lambda: lr.OneCycleLR(0.1, 20, divide_factor="2"), TypeError),
        (lambda: lr.OneCycleLR(0.1, 20, phase_pct="x"), TypeError),
        (lambda: lr.LinearWarmup(0.1, -2, 0.1, 0.2), ValueError),
        (lambda: lr.LinearWarmup(0.1, 2, 0.3, 0.2), ValueError),
        (lambda: lr.LRScheduler(0.1), NotImplementedError),
        (lambda: lr.StepDecay(1.0, 2).set_state_dict({"foo": 1}), RuntimeError),
    ],
)
def test_refused(make, kind):
    with pytest.raises(kind):
        make()


def test_a_state_with_too_much():
    with pytest.warns(UserWarning, match="foo"):
        lr.StepDecay(1.0, 2).set_state_dict({"last_epoch": 1, "last_lr": 1.0, "foo": 3})


def test_verbose(capsys):
    lr.StepDecay(0.5, 2, verbose=True).step()
    assert capsys.readouterr().out == (
        "Epoch 0: StepDecay set learning rate to 0.5.\nEpoch 1: StepDecay set learning rate to 0.5.\n"
    )
