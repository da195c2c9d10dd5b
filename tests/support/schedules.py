"""Schedules made by nothing but the public API: the reference framework runs this file too, and what it gives stands
in ``tests/data/schedules.json`` (``python tests/support/schedules.py FILE`` with its Python).
"""

import json
import sys

from paddle.optimizer import lr

STEPS = 30


def _inner():
    return lr.CosineAnnealingDecay(0.5, 7, 0.05)


# Name: how it is made.
SCHEDULES = {
    "Noam": lambda: lr.NoamDecay(64, 5, 0.5),
    "Noam, resumed": lambda: lr.NoamDecay(64, 5, 0.5, last_epoch=7),
    "Piecewise": lambda: lr.PiecewiseDecay([2, 4, 9], [0.1, 0.05, 0.02, 0.01]),
    "NaturalExp": lambda: lr.NaturalExpDecay(0.5, 0.1),
    "InverseTime": lambda: lr.InverseTimeDecay(0.5, 0.1),
    "Polynomial": lambda: lr.PolynomialDecay(0.5, 12, 0.01, 2.0),
    "Polynomial, cycle": lambda: lr.PolynomialDecay(0.5, 5, 0.01, cycle=True),
    "Warmup": lambda: lr.LinearWarmup(0.5, 4, 0.0, 0.4),
    "Warmup, then cosine": lambda: lr.LinearWarmup(_inner(), 6, 0.1, 0.5),
    "Exponential": lambda: lr.ExponentialDecay(0.5, 0.9),
    "MultiStep": lambda: lr.MultiStepDecay(0.5, [2, 4, 20], 0.5),
    "Step": lambda: lr.StepDecay(0.5, 3, 0.5),
    "Step, resumed": lambda: lr.StepDecay(0.5, 3, 0.5, last_epoch=4),
    "Lambda": lambda: lr.LambdaDecay(0.5, lambda t: 0.9**t),
    "Multiplicative": lambda: lr.MultiplicativeDecay(0.5, lambda t: 0.95 + 0.01 * (t % 3)),
    "Cosine": lambda: lr.CosineAnnealingDecay(0.5, 4, 0.01),
    "Cosine, long": lambda: lr.CosineAnnealingDecay(0.5, 25),
    "Restarts": lambda: lr.CosineAnnealingWarmRestarts(0.5, 3, 2, 0.01),
    "Restarts, even": lambda: lr.CosineAnnealingWarmRestarts(0.5, 4),
    "Linear": lambda: lr.LinearLR(0.5, 6, 0.2, 0.9),
    "Linear, falling": lambda: lr.LinearLR(0.5, 10, 1.0, 0.25),
    "OneCycle": lambda: lr.OneCycleLR(0.5, 30),
    "OneCycle, three phases": lambda: lr.OneCycleLR(
        0.5, 30, anneal_strategy="linear", three_phase=True, phase_pct=0.4, end_learning_rate=0.001, divide_factor=10
    ),
    "Cyclic": lambda: lr.CyclicLR(0.1, 0.5, 3),
    "Cyclic, halving": lambda: lr.CyclicLR(0.1, 0.5, 3, 5, mode="triangular2"),
    "Cyclic, falling": lambda: lr.CyclicLR(0.1, 0.5, 3, 5, mode="exp_range", exp_gamma=0.9),
    "Cyclic, own": lambda: lr.CyclicLR(0.1, 0.5, 4, scale_fn=lambda n: 1 / (1 + n), scale_mode="iterations"),
    "Plateau": lambda: lr.ReduceOnPlateau(0.5, patience=2, factor=0.5),
    "Plateau, max": lambda: lr.ReduceOnPlateau(0.5, "max", 0.3, 1, 0.05, "abs", 2, 0.02, 1e-3),
    "Plateau, rel max": lambda: lr.ReduceOnPlateau(0.5, "max", 0.5, 1, 0.02, cooldown=1),
}


def metric(i):
    """Falls, rises, falls again: what a plateau sees."""
    return [3.0, 2.0, 2.0, 1.99, 2.5, 1.0, 1.0, 1.1, 0.99, 1.05][i % 10] - 0.02 * i


def advance(schedule, i):
    if isinstance(schedule, lr.ReduceOnPlateau):
        schedule.step(metric(i))
    else:
        schedule.step()


def run(schedule, first=0, steps=STEPS):
    """The rates before, and after each of some steps."""
    rates = [schedule()]
    for i in range(first, first + steps):
        advance(schedule, i)
        rates.append(schedule())
    return [float(r) for r in rates]


def state_of(schedule):
    return {k: v if isinstance(v, (dict, str)) or v is None else float(v) for k, v in schedule.state_dict().items()}


if __name__ == "__main__":
    found = {}
    for name, make in SCHEDULES.items():
        try:
            schedule = make()
            found[name] = {
                "rates": [float(f"{r:.10g}") for r in run(schedule, steps=STEPS - 1)],
                "state": state_of(schedule),
            }
        except Exception as error:
            print(name, type(error).__name__, error)
    with open(sys.argv[1], "w") as out:
        out.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")
