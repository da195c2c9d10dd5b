"""Training as a tutorial writes it, as it is written or captured."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

import paddle
import paddle.nn.functional as F
from paddle import nn
from tests.fuzz.epochs import judge as j
from tests.fuzz.epochs.data import CLASSES, IGNORED, Rows, loader_of
from tests.fuzz.epochs.draw import DECOUPLED, Case
from tests.fuzz.epochs.parts import Batch, Model

_lr = paddle.optimizer.lr
SCHEDULES: dict[str, Callable[[], Any]] = {
    "none": lambda: j.RATE,
    "step": lambda: _lr.StepDecay(j.RATE, 2, 0.5),
    "steps": lambda: _lr.MultiStepDecay(j.RATE, [1, 3], 0.5),
    "exponential": lambda: _lr.ExponentialDecay(j.RATE, 0.75),
    "polynomial": lambda: _lr.PolynomialDecay(j.RATE, 4, 0.01, 2.0),
    "warmup": lambda: _lr.LinearWarmup(_lr.ExponentialDecay(j.RATE, 0.75), 3, 0.01, j.RATE),
    "cosine": lambda: _lr.CosineAnnealingDecay(j.RATE, 4, 0.01),
    "pieces": lambda: _lr.PiecewiseDecay([2, 4], [j.RATE, j.RATE / 2, j.RATE / 4]),
    "lambda": lambda: _lr.LambdaDecay(j.RATE, lambda n: 1 / (1 + n)),
}
_OF_ADAM = {"beta1": j.BETAS[0], "beta2": j.BETAS[1], "epsilon": j.EPSILON}
OPTIMIZERS: dict[str, tuple[type, dict[str, Any]]] = {
    "SGD": (paddle.optimizer.SGD, {}),
    "Momentum": (paddle.optimizer.Momentum, {"momentum": j.MOMENTUM}),
    "Nesterov": (paddle.optimizer.Momentum, {"momentum": j.MOMENTUM, "use_nesterov": True}),
    "Adam": (paddle.optimizer.Adam, _OF_ADAM),
    "AMSGrad": (paddle.optimizer.Adam, {**_OF_ADAM, "amsgrad": True}),
    "AdamW": (paddle.optimizer.AdamW, _OF_ADAM),
    "Adagrad": (paddle.optimizer.Adagrad, {"epsilon": j.EPSILON}),
    "RMSProp": (
        paddle.optimizer.RMSProp, {"rho": 0.75, "epsilon": j.EPSILON, "momentum": j.MOMENTUM, "centered": True},
    ),
    "Adadelta": (paddle.optimizer.Adadelta, {"epsilon": j.EPSILON, "rho": 0.75}),
    "Adamax": (paddle.optimizer.Adamax, _OF_ADAM),
    "Lamb": (paddle.optimizer.Lamb, _OF_ADAM),
}  # fmt: skip


def decay_of(case: Case, coefficient: float) -> Any:
    kinds = {"L1": paddle.regularizer.L1Decay, "L2": paddle.regularizer.L2Decay}
    if case.decay in kinds:
        return kinds[case.decay](coefficient)
    return coefficient if case.optimizer in DECOUPLED or case.decay == "number" else None


def clip_of(case: Case, limit: float) -> Any:
    return {
        "value": nn.ClipGradByValue, "norm": nn.ClipGradByNorm, "global norm": nn.ClipGradByGlobalNorm,
    }.get(case.clip, lambda _: None)(limit)  # fmt: skip


def model_of(case: Case) -> Model:
    """The model, whose names are those of a process of its own."""
    before = paddle.get_default_dtype()
    paddle.set_default_dtype("float64" if case.float64 else "float32")
    try:
        with paddle.utils.unique_name.guard():
            model = Model(case.parts, CLASSES)
    finally:
        paddle.set_default_dtype(before)
    first = trained(model)[0]
    if case.attribute == "rate":
        first.optimize_attr["learning_rate"] = 0.5
    elif case.attribute == "regularizer":
        first.regularizer = paddle.regularizer.L1Decay(0.1)
    elif case.attribute == "not clipped":
        first.need_clip = False
    return model


def trained(model: Model) -> list[Any]:
    """Parameters, without statistics, which have no gradient."""
    return [p for p in model.parameters() if not p.stop_gradient]


def start_of(case: Case, model: Model) -> list[np.ndarray]:
    """The values that parameters and buffers begin with."""
    rng = np.random.default_rng((case.seed, 1))
    dtype = "float64" if case.float64 else "float32"
    found = []
    for name, p in model.named_parameters():
        if p.stop_gradient:  # of statistics
            found.append((np.ones if name.endswith("variance") else np.zeros)(p.shape, dtype))
            continue
        scale = rng.normal(size=p.shape) * 0.4
        found.append((1 + 0.3 * scale if "norm" in name and name.endswith("weight") else scale).astype(dtype))
    return [*found, *(np.zeros(b.shape, dtype) for _, b in model.named_buffers())]


def optimizer_of(case: Case, model: Model) -> tuple[Any, Any]:
    """The optimizer, and its schedule or rate."""
    cls, settings = OPTIMIZERS[case.optimizer]
    parameters: list[Any] = trained(model)
    if case.groups != "none":
        halves = [parameters[0::2], parameters[1::2]]
        parameters = [{"params": half} for half in halves if half]
        for i, group in enumerate(parameters):
            if case.groups == "factors":
                group["learning_rate"] = j.FACTORS[i]
            elif case.groups == "decays" and decay_of(case, j.DECAY) is not None:
                group["lamb_weight_decay" if cls is paddle.optimizer.Lamb else "weight_decay"] = (
                    decay_of(case, j.DECAYS[i])
                )  # fmt: skip
            elif case.groups == "clips":
                group["grad_clip"] = clip_of(case, j.CLIPPED * (i + 1))
    rate = SCHEDULES[case.schedule]()
    decay = "lamb_weight_decay" if cls is paddle.optimizer.Lamb else "weight_decay"
    with paddle.utils.unique_name.guard():
        optimizer = cls(
            rate, parameters=parameters, grad_clip=clip_of(case, j.CLIPPED),
            **{decay: decay_of(case, j.DECAY)}, **settings,
        )  # fmt: skip
    return optimizer, rate


def criterion(case: Case, scores: Any, keep: Any, y: Any) -> Any:
    if case.task.startswith("classes"):
        weight = paddle.to_tensor(j.WEIGHTS, scores.dtype) if case.task.endswith("weighted") else None
        smoothing = j.SMOOTHING if case.task.endswith("smoothed") else 0.0
        return F.cross_entropy(scores, y, weight, IGNORED, label_smoothing=smoothing)
    if case.task == "squares, selected":
        return F.mse_loss(scores[keep], y[keep])
    at = keep.unsqueeze(-1).astype(scores.dtype)
    return ((scores - y).square() * at).sum() / (at.sum() * CLASSES)


def _numbers(x: Any) -> np.ndarray:
    return np.array(x.numpy()).astype("float64")


class Written:
    """A model in training. ``captured``: by ``to_static``, as one graph if ``one_graph``."""

    def __init__(self, case: Case, captured: bool, one_graph: bool) -> None:
        self.case, self.captured, self.one_graph = case, captured, one_graph
        self.loader, self.sampler = loader_of(case, Rows(case))
        model = model_of(case)
        for held, value in zip((*model.parameters(), *model.buffers()), start_of(case, model), strict=True):
            held.set_value(value)
        self.shadows: list[Any] = [p.detach().clone() for p in trained(model)]
        self.scaler = self._scaler()
        self._begin(model)

    def _scaler(self) -> Any:
        return paddle.amp.GradScaler(
            self.case.scaled, j.SCALE, incr_every_n_steps=2, decr_every_n_nan_or_inf=1, decr_ratio=0.5
        )

    def _begin(self, model: Model) -> None:
        """Everything that is made of a model."""
        self.model, self.parameters = model, trained(model)
        self.optimizer, self.rate = optimizer_of(self.case, model)
        if self.case.level == "O2":
            self.model, self.optimizer = paddle.amp.decorate(
                model, self.optimizer, self.case.level, self.case.narrow, save_dtype=None
            )  # fmt: skip
        elif self.case.looks_ahead:
            self.optimizer = paddle.incubate.LookAhead(self.optimizer, *j.AHEAD)
        hooks = self.case.hooks
        if "parameter" in hooks:
            model.last.weight.register_hook(lambda g: paddle.tanh(g))
        if "before" in hooks:
            model.last.register_forward_pre_hook(lambda layer, args: (args[0] * 0.5,))
        if "after" in hooks:
            model.last.register_forward_post_hook(lambda layer, args, y: y * 1.5)

        def around(what: str, f: Callable[..., Any]) -> Callable[..., Any]:
            if self.captured and self.case.captured == what:
                return paddle.jit.to_static(f, full_graph=self.one_graph)
            return f

        self.call = around("layer", model)
        self.loss = around("loss", self._loss)
        self.gradients = around("gradients", self._gradients)
        self.step_of = around("step", self._step)

    def batches(self, epoch: int) -> Iterator[Batch]:
        self.sampler.epoch = epoch
        for x, ids, keep, y in self.loader:
            yield Batch(x, ids, keep, y)

    def freeze(self, frozen: bool) -> None:
        first = {id(p) for p in self.model.parts[0].parameters()}
        for p in self.parameters:
            if id(p) not in first:
                continue
            if self.case.freeze[0] == "trainable":
                p.trainable = not frozen
            else:
                p.stop_gradient = frozen

    def train(self, training: bool) -> None:
        self.model.train() if training else self.model.eval()
        for layer in self.model.sublayers():
            if isinstance(layer, nn.Dropout) and layer.p > 0:
                layer.eval()

    def _loss(self, x: Any, ids: Any, keep: Any, y: Any) -> Any:
        with self.narrow():
            return self._loss_of(x, ids, keep, y)

    def narrow(self) -> Any:
        """Mixed precision, where the case has it."""
        case = self.case
        return nullcontext() if case.level == "O0" else paddle.amp.auto_cast(level=case.level, dtype=case.narrow)

    def _loss_of(self, x: Any, ids: Any, keep: Any, y: Any) -> Any:
        penalised = self.case.task == "penalty"
        if penalised:
            x = x.detach()
            x.stop_gradient = False
        scores = self.call(x, ids, keep)
        if "result" in self.case.hooks and not scores.stop_gradient:
            scores.register_hook(lambda g: paddle.tanh(g))
        loss = criterion(self.case, scores, keep, y)
        if penalised:
            (g,) = paddle.grad(scores.square().sum(), x, create_graph=True)
            loss = loss + 0.125 * g.square().mean()
        return loss

    def _gradients(self, x: Any, ids: Any, keep: Any, y: Any, factor: Any) -> Any:
        loss = self.loss(x, ids, keep, y) * factor
        self.scaler.scale(loss / self.case.accumulated).backward()
        return loss

    def _step(self, x: Any, ids: Any, keep: Any, y: Any, factor: Any, updates: bool, begins: bool) -> Any:
        case = self.case
        if case.clear == "before" and begins:
            self.optimizer.clear_grad()
        loss = self.gradients(x, ids, keep, y, factor)
        if updates:
            if case.clip == "by hand":
                if case.scaled:
                    self.scaler.unscale_(self.optimizer)
                nn.utils.clip_grad_norm_(self.model.parameters(), j.CLIPPED)
            if case.clear == "minimize":
                self.scaler.minimize(self.optimizer, loss)
            else:
                self.scaler.step(self.optimizer)
                self.scaler.update()
            self._clear()
            if case.averaged == "inside":
                self._average()
        return loss

    def step(self, batch: Batch, updates: bool, begins: bool, factor: float) -> float:
        scale = paddle.to_tensor(factor, batch.x.dtype)
        loss = self.step_of(batch.x, batch.ids, batch.keep, batch.y, scale, updates, begins)
        if updates and self.case.averaged == "outside":
            self._average()
        return float(loss)

    def _clear(self) -> None:
        clear = self.case.clear
        if clear == "layer":
            self.model.clear_gradients()
        elif clear == "each":
            for p in self.model.parameters():
                if not p.stop_gradient:
                    p.clear_gradient(False)
        elif clear == "none":
            self.optimizer.clear_grad(set_to_zero=False)
        elif clear == "zeros":
            self.optimizer.clear_grad(set_to_zero=True)
        elif clear != "before":
            self.optimizer.clear_grad()

    @paddle.no_grad()
    def _average(self) -> None:
        for s, p in zip(self.shadows, self.parameters, strict=True):
            s.scale_(j.AVERAGED)
            s.add_(p * (1 - j.AVERAGED))

    def scheduled(self) -> None:
        if self.case.schedule != "none":
            self.rate.step()

    def resume(self) -> None:
        """Everything is saved, made anew and loaded."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "all.pd")
            kept = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
            if self.case.scaled:
                kept["scaler"] = self.scaler.state_dict()
            paddle.save(kept, path)
            loaded = paddle.load(path)
        frozen = [p.stop_gradient for p in self.parameters]
        self._begin(model_of(self.case))
        for p, stops in zip(self.parameters, frozen, strict=True):  # which no file says
            p.stop_gradient = stops
        self.train(True)
        self.model.set_state_dict(loaded["model"])
        self.optimizer.set_state_dict(loaded["optimizer"])
        if self.case.scaled:
            self.scaler = self._scaler()
            self.scaler.load_state_dict(loaded["scaler"])

    def evaluated(self, epoch: int) -> list[Any]:
        parameters = self.parameters
        own = [p.detach().clone() for p in parameters]
        self.train(False)
        with paddle.no_grad():
            if self.case.averaged != "none":
                for p, s in zip(parameters, self.shadows, strict=True):
                    p.set_value(s.astype(p.dtype))
            found = []
            for batch in self.batches(epoch):
                with self.narrow():
                    scores = self.call(batch.x, batch.ids, batch.keep)
                    found.append(float(criterion(self.case, scores, batch.keep, batch.y)))
            if self.case.averaged != "none":
                for p, mine in zip(parameters, own, strict=True):
                    p.copy_(mine)
        self.train(True)
        return found

    def found(self) -> dict[str, Any]:
        every: dict[str, Any] = {"rate": self.rate if self.case.schedule == "none" else self.rate()}
        shadows = dict(zip(map(id, self.parameters), self.shadows, strict=True))
        for name, p in self.model.named_parameters():
            every[name] = _numbers(p)
            if id(p) not in shadows:
                continue
            every[f"gradient of {name}"] = None if p.grad is None else _numbers(p.grad)
            if self.case.averaged != "none":
                every[f"average of {name}"] = _numbers(shadows[id(p)])
        for name, b in self.model.named_buffers():
            every[name] = _numbers(b)
        if self.case.scaled:
            every["scale"] = self.scaler.state_dict()["scale"].item()
        return every
