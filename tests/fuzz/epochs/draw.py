"""Cases of random training: what each seed is."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tests.fuzz.epochs.parts import PARTS

TASKS = ("classes", "classes, weighted", "classes, smoothed", "squares", "squares, selected", "penalty")
OPTIMIZERS = (
    "SGD", "Momentum", "Nesterov", "Adam", "AMSGrad", "AdamW", "Adagrad", "RMSProp", "Adadelta", "Adamax", "Lamb",
)  # fmt: skip
DECOUPLED = ("AdamW", "Lamb")  # whose decay is no part of the gradient
DECAYS = ("none", "none", "number", "L1", "L2")
CLIPS = ("none", "none", "value", "norm", "global norm", "by hand")
GROUPS = ("none", "none", "none", "factors", "decays", "clips")
ATTRIBUTES = ("rate", "regularizer", "not clipped")
SCHEDULES = ("none", "none", "step", "steps", "exponential", "polynomial", "warmup", "cosine", "pieces", "lambda")
CLEARS = ("zeros", "default", "default", "none", "before", "layer", "each", "minimize")
HOOKS = ("parameter", "result", "after", "before")
FREEZES = ("stop_gradient", "trainable")
CAPTURES = ("layer", "loss", "gradients", "step", "step")
LEFT_WITHOUT = {  # parts that have no second derivative, or in Python go another way from call to call
    "penalty": ("recomputed", "gru", "attention", "weight norm"),
}


@dataclass(frozen=True)
class Case:
    """Training of one seed. ``schedule``: what, and whether each batch or each epoch is a step of it; ``freeze``: how,
    the epoch at which a part stops, and the one at which it goes on; ``overflows``: batches whose loss is infinite,
    ``resumes``: batches after which all is saved and made anew; both count from the first of all; ``level``: of mixed
    precision, in ``narrow``."""

    seed: int
    parts: tuple[str, ...]
    task: str
    float64: bool
    optimizer: str
    decay: str
    clip: str
    groups: str
    attribute: str
    schedule: str
    each_batch: bool
    accumulated: int
    flushes: bool
    clear: str
    scaled: bool
    overflows: tuple[int, ...]
    hooks: tuple[str, ...]
    averaged: str
    freeze: tuple[str, int, int]
    resumes: tuple[int, ...]
    evaluated: bool
    rows: int
    batch: int
    drops_last: bool
    shuffled: bool
    epochs: int
    captured: str
    level: str = "O0"
    narrow: str = "float32"
    looks_ahead: bool = False

    @property
    def batches(self) -> int:
        """Of an epoch."""
        whole, rest = divmod(self.rows, self.batch)
        return whole + (rest > 0 and not self.drops_last)

    def updates(self, number: int) -> bool:
        """Whether gradients are applied after a batch of an epoch."""
        return (number + 1) % self.accumulated == 0 or (self.flushes and number + 1 == self.batches)


def draw_mixed(seed: int) -> Case:
    """The training of a seed in mixed precision, or by an optimizer that looks ahead."""
    r, case = random.Random(f"mixed {seed}"), draw(seed)
    if r.random() < 0.15:
        return replace(case, looks_ahead=True, scaled=False, overflows=(), resumes=(), clear="default")
    # Where a part chooses by numbers that it was given, rounding decides.
    parts = tuple(p for p in case.parts if not p.startswith("selected"))
    level = r.choice(("O1", "O1", "O2"))
    if level == "O2" and any(p.startswith("kept") for p in parts):
        level = "O1"  # a buffer that is assigned in float32 is not loaded into a decorated model
    scaled = r.random() < 0.7 and not {"parameter", "result"} & set(case.hooks)
    return replace(
        case,
        parts=parts if parts and not parts[0].endswith(" again") else ("linear", "norms"),
        float64=False,
        scaled=scaled,
        overflows=tuple(i for i in range(case.epochs * case.batches) if scaled and r.random() < 0.15),
        freeze=("none", 0, 0) if scaled else case.freeze,
        level=level,
        narrow=r.choice(("float16", "bfloat16")),
    )


def draw(seed: int) -> Case:
    """The training of a seed."""
    r = random.Random(f"epochs {seed}")
    parts = list(r.sample(list(PARTS), r.choice((1, 1, 2, 3))))
    if r.random() < 0.25:
        parts.append(f"{r.choice(parts)} again")
    task = r.choice(TASKS)
    if task == "penalty" and any(p.startswith(LEFT_WITHOUT["penalty"]) for p in parts):
        task = "squares"
    optimizer = r.choice(OPTIMIZERS)
    scaled = r.random() < 0.25
    accumulated = r.choice((1, 1, 1, 2, 3))
    rows, batch, epochs = r.choice((5, 7, 8, 9)), r.choice((2, 3, 4)), r.choice((2, 3))
    clear = r.choice(CLEARS)
    hooks = tuple(h for h in HOOKS if r.random() < 0.15)
    if {"parameter", "result"} & set(hooks):  # which make infinity finite
        scaled = False
    case = Case(
        seed,
        tuple(parts),
        task,
        r.random() < 0.75,
        optimizer,
        "none" if optimizer in DECOUPLED else r.choice(DECAYS),
        r.choice(CLIPS),
        r.choice(GROUPS),
        r.choice(("none", "none", *ATTRIBUTES)),
        r.choice(SCHEDULES),
        r.random() < 0.6,
        accumulated,
        r.random() < 0.5,
        clear,
        scaled,
        tuple(i for i in range(epochs * 4) if scaled and r.random() < 0.2),
        hooks,
        r.choice(("none", "none", "none", "outside", "inside")),
        ("none", 0, 0) if scaled or r.random() < 0.6 else (r.choice(FREEZES), r.choice((0, 1)), r.choice((1, 2))),
        (),
        r.random() < 0.5,
        rows,
        batch,
        r.random() < 0.2,
        r.random() < 0.5,
        epochs,
        r.choice(CAPTURES),
    )
    ends = [e * case.batches + i for e in range(epochs) for i in range(case.batches) if case.updates(i)]
    return replace(case, resumes=tuple(r.sample(ends, 1)) if r.random() < 0.4 and ends else ())
