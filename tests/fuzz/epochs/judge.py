"""Training as the definitions say, in float64 of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as T

from tests.fuzz.epochs.data import Rows, batches
from tests.fuzz.epochs.draw import DECOUPLED, Case
from tests.fuzz.epochs.parts import Batch, Model, Values

RATE, EPSILON, MOMENTUM, DECAY = 0.05, 0.1, 0.75, 0.05
BETAS = 0.75, 0.875
FACTORS = (1.0, 0.5)  # of the rate, by group
DECAYS = (0.02, 0.125)  # by group
CLIPPED = 0.25  # by value and norm
WEIGHTS = (1.0, 0.5, 2.0)  # of classes
SMOOTHING = 0.125
AVERAGED = 0.75
SCALE = 64.0
AHEAD = 0.25, 2  # of an optimizer that looks ahead: the factor, and after how many steps

State = dict[str, torch.Tensor]


def rate_at(schedule: str, steps: int) -> float:
    """The rate after steps of a schedule."""
    n = steps
    if schedule == "step":
        return RATE * 0.5 ** (n // 2)
    if schedule == "steps":
        return RATE * 0.5 ** sum(n >= at for at in (1, 3))
    if schedule == "exponential":
        return RATE * 0.75**n
    if schedule == "polynomial":
        return (RATE - 0.01) * (1 - min(n, 4) / 4) ** 2 + 0.01
    if schedule == "warmup":  # to a schedule, which begins behind it
        return 0.01 + (RATE - 0.01) * n / 3 if n < 3 else RATE * 0.75 ** (n - 3)
    if schedule == "cosine":
        return 0.01 + (RATE - 0.01) * (1 + math.cos(math.pi * n / 4)) / 2
    if schedule == "pieces":
        return RATE if n < 2 else RATE / 2 if n < 4 else RATE / 4
    if schedule == "lambda":
        return RATE / (1 + n)
    return RATE


def updated(name: str, p: torch.Tensor, g: torch.Tensor, s: State, rate: float, decay: float) -> torch.Tensor:
    """A parameter after a step; ``s`` is its state, ``decay`` that of optimizers in which it is no part of ``g``."""
    steps = int(s.get("steps", torch.tensor(0))) + 1
    s["steps"] = torch.tensor(steps)
    zero = torch.zeros_like(p)
    b1, b2 = BETAS

    def kept(what: str, new: torch.Tensor) -> torch.Tensor:
        s[what] = new
        return new

    def old(what: str) -> torch.Tensor:
        return s.get(what, zero)

    if name == "SGD":
        return p - rate * g
    if name in ("Momentum", "Nesterov"):
        v = kept("velocity", MOMENTUM * old("velocity") + g)
        return p - rate * (v if name == "Momentum" else g + MOMENTUM * v)
    if name == "Adagrad":
        return p - rate * g / (kept("sum", old("sum") + g * g).sqrt() + EPSILON)
    if name == "RMSProp":
        squares = kept("squares", 0.75 * old("squares") + 0.25 * g * g)
        mean = kept("mean", 0.75 * old("mean") + 0.25 * g)
        return p - kept("moved", MOMENTUM * old("moved") + rate * g / (squares - mean**2 + EPSILON).sqrt())
    if name == "Adadelta":
        squares = kept("squares", 0.75 * old("squares") + 0.25 * g * g)
        move = g * ((old("moves") + EPSILON) / (squares + EPSILON)).sqrt()
        kept("moves", 0.75 * old("moves") + 0.25 * move * move)
        return p - rate * move
    m = kept("first", b1 * old("first") + (1 - b1) * g)
    if name == "Adamax":
        largest = kept("largest", torch.maximum(g.abs(), b2 * old("largest") + EPSILON))
        return p - rate / (1 - b1**steps) * m / largest
    v = kept("second", b2 * old("second") + (1 - b2) * g * g)
    if name == "AMSGrad":
        v = kept("most", torch.maximum(old("most"), v))
    root = (v / (1 - b2**steps)).sqrt()
    m = m / (1 - b1**steps)
    if name == "Lamb":
        move = m / (root + EPSILON) + decay * p
        sizes = p.norm(), move.norm()
        return p - rate * (sizes[0] / sizes[1] if min(sizes) > 0 else 1.0) * move
    if name == "AdamW":
        p = p * (1 - rate * decay)
    return p - rate * m / (root + EPSILON)


class Judge:
    """A model in training. ``model`` only says which parts there are, and of which settings."""

    def __init__(self, case: Case, model: Model, start: list[np.ndarray]) -> None:
        self.case, self.model, self.rows = case, model, Rows(case)
        self.v = Values()
        named = list(model.named_parameters())
        for (_, held), value in zip((*named, *model.named_buffers()), start, strict=True):
            self.v[held] = torch.tensor(value, dtype=torch.float64)
        self.named = [(name, p) for name, p in named if not p.stop_gradient]
        self.buffers = [(name, p) for name, p in named if p.stop_gradient] + list(model.named_buffers())
        self.parameters = [self.v[p] for _, p in self.named]
        for t in self.parameters:
            t.requires_grad_(True)
        if "parameter" in case.hooks:
            self.v[model.last.weight].register_hook(lambda g: torch.tanh(g))
        self.states: list[State] = [{} for _ in self.parameters]
        self.shadows = [t.detach().clone() for t in self.parameters]
        self.slow: dict[int, torch.Tensor] = {}  # of an optimizer that looks ahead, by parameter
        self.updates = 0
        self.frozen: set[int] = set()
        self.count = 0  # of steps of the schedule
        self.scale, self.good = SCALE, 0

    def batches(self, epoch: int) -> Iterator[Batch]:
        for x, ids, keep, y in batches(self.case, epoch, self.rows):
            target = torch.tensor(y)
            yield Batch(
                torch.tensor(x, dtype=torch.float64), torch.tensor(ids), torch.tensor(keep),
                target.double() if target.is_floating_point() else target,
            )  # fmt: skip

    def freeze(self, frozen: bool) -> None:
        """The parameters of the first part stop, or go on."""
        first = {id(p) for p in self.model.parts[0].parameters()}
        self.frozen = {i for i, (_, p) in enumerate(self.named) if frozen and id(p) in first}
        for i, t in enumerate(self.parameters):
            t.requires_grad_(i not in self.frozen)

    def train(self, training: bool) -> None:
        self.model.train() if training else self.model.eval()

    def _scores(self, batch: Batch) -> torch.Tensor:
        y = self.model.judged(self.v, batch)
        if "before" in self.case.hooks:  # what the last layer is given, by which it is linear
            last = self.model.last
            y = (y - self.v[last.bias]) * 0.5 + self.v[last.bias]
        return y * 1.5 if "after" in self.case.hooks else y

    def loss(self, batch: Batch) -> torch.Tensor:
        case = self.case
        if case.task == "penalty":
            x = batch.x.clone().requires_grad_(True)
            batch = Batch(x, batch.ids, batch.keep, batch.y)
        scores = self._scores(batch)
        if "result" in case.hooks and scores.requires_grad:
            scores.register_hook(lambda g: torch.tanh(g))
        if case.task.startswith("classes"):
            weight = torch.tensor(WEIGHTS, dtype=torch.float64) if case.task.endswith("weighted") else None
            smoothing = SMOOTHING if case.task.endswith("smoothed") else 0.0
            y, keep = batch.y, batch.keep
            if weight is not None:
                return T.cross_entropy(scores[keep], y[keep], weight)
            # What is ignored counts in the mean where the index is below 0.
            return T.cross_entropy(scores[keep], y[keep], label_smoothing=smoothing) * keep.double().mean()
        loss = ((scores - batch.y) ** 2)[batch.keep].mean()
        if case.task == "penalty":
            (g,) = torch.autograd.grad(scores.pow(2).sum(), batch.x, create_graph=True)
            loss = loss + 0.125 * g.pow(2).mean()
        return loss

    def step(self, batch: Batch, updates: bool, begins: bool, factor: float) -> float:
        if self.case.clear == "before" and begins:
            self._clear()
        loss = self.loss(batch)
        (loss * factor * (self.scale if self.case.scaled else 1.0) / self.case.accumulated).backward()
        if updates:
            self._update()
            if self.case.clear != "before":
                self._clear()
            if self.case.averaged != "none":
                self.shadows = [
                    AVERAGED * s + (1 - AVERAGED) * t.detach() for s, t in zip(self.shadows, self.parameters)
                ]
        return loss.item() * factor

    def _clear(self) -> None:
        for i, t in enumerate(self.parameters):
            if i in self.frozen and self.case.clear in ("layer", "each"):  # an optimizer clears them, too
                continue
            if t.grad is not None:
                t.grad = None if self.case.clear in ("none", "each") else torch.zeros_like(t)

    def group_of(self, i: int) -> int:
        """Of a parameter: every second is in the second group."""
        return i % 2 if self.case.groups != "none" else 0

    def _update(self) -> None:
        case = self.case
        if case.scaled:
            grads = [t.grad for t in self.parameters if t.grad is not None]
            for g in grads:
                g /= self.scale
            if not all(bool(torch.isfinite(g).all()) for g in grads):
                self.scale, self.good = self.scale * 0.5, 0
                return
            self.good += 1
            if self.good == 2:
                self.scale, self.good = self.scale * 2, 0
        if case.clip == "by hand":
            grads = [t.grad for t in self.parameters if t.grad is not None]
            norm = torch.stack([g.norm() for g in grads]).norm()
            for g in grads:
                g *= min(1.0, CLIPPED / (float(norm) + 1e-6))
        with torch.no_grad():
            for group in (0, 1):
                self._update_group(group)
            if case.looks_ahead:
                self._look_ahead()

    def _look_ahead(self) -> None:
        self.updates += 1
        for i, t in enumerate(self.parameters):
            if i in self.frozen:
                continue
            slow = self.slow.setdefault(i, t.clone())  # begins with what the first step makes
            if self.updates % AHEAD[1] == 0:
                self.slow[i] = slow + AHEAD[0] * (t - slow)
                t.copy_(self.slow[i])

    def _update_group(self, group: int) -> None:
        case = self.case
        at = [
            i for i, t in enumerate(self.parameters)
            if self.group_of(i) == group and t.grad is not None and i not in self.frozen
        ]  # fmt: skip
        grads = {i: self.parameters[i].grad for i in at}
        unclipped = {i for i in at if case.attribute == "not clipped" and i == 0}
        limit = CLIPPED * (2.0 if case.groups == "clips" and group else 1.0)
        if case.clip == "value":
            grads = {i: g if i in unclipped else g.clamp(-limit, limit) for i, g in grads.items()}
        elif case.clip == "norm":
            grads = {i: g if i in unclipped else g * limit / max(float(g.norm()), limit) for i, g in grads.items()}
        elif case.clip == "global norm" and grads.keys() - unclipped:
            norm = float(torch.stack([g.norm() for i, g in grads.items() if i not in unclipped]).norm())
            for i in grads.keys() - unclipped:  # in place
                grads[i] *= limit / max(norm, limit)
        for i, g in grads.items():
            t = self.parameters[i]
            decay = DECAYS[group] if case.groups == "decays" else DECAY
            if case.attribute == "regularizer" and i == 0:
                g = g + 0.1 * t.sign()
            elif case.optimizer not in DECOUPLED and case.decay != "none":
                g = g + decay * (t.sign() if case.decay == "L1" else t)
            rate = rate_at(case.schedule, self.count)
            if case.groups == "factors":
                rate *= FACTORS[group]
            elif case.attribute == "rate" and i == 0 and case.groups == "none":  # groups put 1 in its place
                rate *= 0.5
            t.copy_(updated(case.optimizer, t, g, self.states[i], rate, decay))

    def scheduled(self) -> None:
        self.count += 1

    def resume(self) -> None:
        for t in self.parameters:
            t.grad = None
        for part in self.model.parts:
            if hasattr(part, "calls"):
                part.calls = 0

    def evaluated(self, epoch: int) -> list[Any]:
        """Losses of all batches, with averaged parameters where there are some."""
        own = [t.detach().clone() for t in self.parameters]
        self.train(False)
        self._assign(self.shadows if self.case.averaged != "none" else own)
        found = []
        for batch in self.batches(epoch):
            if self.case.task == "penalty":
                found.append(((self._scores(batch) - batch.y) ** 2)[batch.keep].mean().item())
            else:
                found.append(self.loss(batch).item())
        self._assign(own)
        self.train(True)
        return found

    def _assign(self, values: list[torch.Tensor]) -> None:
        with torch.no_grad():
            for t, value in zip(self.parameters, values, strict=True):
                t.copy_(value)

    def found(self) -> dict[str, Any]:
        """All that there is after a step."""
        every: dict[str, Any] = {"rate": rate_at(self.case.schedule, self.count)}
        for (name, _), t, shadow in zip(self.named, self.parameters, self.shadows, strict=True):
            every[name] = t.detach().numpy().copy()
            every[f"gradient of {name}"] = None if t.grad is None else t.grad.numpy().copy()
            if self.case.averaged != "none":
                every[f"average of {name}"] = shadow.numpy().copy()
        for name, held in self.buffers:
            every[name] = self.v[held].numpy().copy()
        if self.case.scaled:
            every["scale"] = self.scale
        return every
