"""Training as programs of static mode: one that trains, one that evaluates, run by an executor for each batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import paddle
from paddle import static
from tests.fuzz.epochs.data import Rows, loader_of
from tests.fuzz.epochs.draw import Case
from tests.fuzz.epochs.parts import TIME, WIDTH, Batch
from tests.fuzz.epochs.run import criterion, model_of, optimizer_of, start_of

# Parts whose Python differs from call to call, or that assign to attributes.
LEFT_OUT = ("counted", "kept")


def without(case: Case) -> Case:
    """The training with what programs can say: nothing in it happens between forward pass and update, or changes."""
    return replace(
        case,
        parts=tuple(p for p in case.parts if not p.startswith(LEFT_OUT)) or ("linear",),
        accumulated=1,
        scaled=False,
        overflows=(),
        resumes=(),
        hooks=tuple(h for h in case.hooks if h not in ("parameter", "result")),
        averaged="none",
        freeze=("none", 0, 0),
        clip="none" if case.clip == "by hand" else case.clip,
    )


class Programs:
    """A model in training, whose steps are runs of a program."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.loader, self.sampler = loader_of(case, Rows(case))
        self.executor, self.scope = static.Executor(), static.Scope()
        self.main, startup = static.Program(), static.Program()
        paddle.enable_static()
        try:
            with static.program_guard(self.main, startup), static.scope_guard(self.scope):
                self._build(startup)
        finally:
            paddle.disable_static()
        self.training = True

    def _build(self, startup: Any) -> None:
        case, dtype = self.case, "float64" if self.case.float64 else "float32"
        model = self.model = model_of(case)
        for layer in model.sublayers():
            if isinstance(layer, paddle.nn.Dropout) and layer.p > 0:
                layer.eval()
        if "before" in case.hooks:
            model.last.register_forward_pre_hook(lambda layer, args: (args[0] * 0.5,))
        if "after" in case.hooks:
            model.last.register_forward_post_hook(lambda layer, args, y: y * 1.5)
        classes = case.task.startswith("classes")
        x = static.data("x", [None, TIME, WIDTH], dtype)
        ids, keep = static.data("ids", [None, TIME], "int64"), static.data("keep", [None, TIME], "bool")
        y = static.data("y", [None, TIME] if classes else [None, TIME, 3], "int64" if classes else dtype)
        penalised = case.task == "penalty"
        x.stop_gradient = not penalised
        scores = model(x, ids, keep)
        plain = criterion(case, scores, keep, y)
        self.test = self.main.clone(for_test=True)
        loss = plain
        if penalised:
            (g,) = static.gradients([scores.square().sum()], [x])
            loss = loss + 0.125 * g.square().mean()
        optimizer, self.rate = optimizer_of(case, model)
        optimizer.minimize(loss)
        self.loss, self.plain = loss, plain
        self.executor.run(startup)
        values = start_of(case, model)
        names = [p.name for p in model.parameters()]
        static.set_program_state(self.main, dict(zip(names, values, strict=False)))
        self.optimizer = optimizer

    def batches(self, epoch: int) -> Iterator[Batch]:
        self.sampler.epoch = epoch
        for x, ids, keep, y in self.loader:
            yield Batch(*(np.array(t.numpy()) for t in (x, ids, keep, y)))

    def train(self, training: bool) -> None:
        self.training = training

    def _run(self, program: Any, batch: Batch, fetched: Any) -> float:
        feed = {"x": batch.x, "ids": batch.ids, "keep": batch.keep, "y": batch.y}
        paddle.enable_static()
        try:
            with static.scope_guard(self.scope):
                (found,) = self.executor.run(program, feed=feed, fetch_list=[fetched])
        finally:
            paddle.disable_static()
        return float(found)

    def step(self, batch: Batch, updates: bool, begins: bool, factor: float) -> float:
        return self._run(self.main, batch, self.loss)

    def scheduled(self) -> None:
        if self.case.schedule != "none":
            self.rate.step()

    def evaluated(self, epoch: int) -> list[float]:
        return [self._run(self.test, batch, self.plain) for batch in self.batches(epoch)]

    def found(self) -> dict[str, Any]:
        every: dict[str, Any] = {"rate": self.optimizer.get_lr()}
        for name, p in self.model.named_parameters():
            every[name] = np.array(self.scope.find_var(p.name).get_tensor())
        return every
