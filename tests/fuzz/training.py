"""Random training in one process, captured, against the same as it was written:
``python -m tests.fuzz.training 0 300`` runs that of 300 seeds.

A seed gives the model, the optimizer, what is captured, and what happens between steps: batches of other sizes,
evaluation, parameters and results that are written to, other modes, states that are loaded. A failure is printed with
its case, reduced.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.distributed.fleet.utils import recompute
from tests.fuzz.seeds import run_seeds
from tests.fuzz.shrink import reduction
from umiak.compiler.jit import object_cache  # noqa: F401  declares the switch
from umiak.runtime.capture import CaptureError

WIDTH, CLASSES = 8, 5
TOLERANCE = {"float32": 2e-4, "bfloat16": 6e-2}


class Attention(nn.Layer):
    """Attention of two heads under one of several masks."""

    def __init__(self, mask: str) -> None:
        super().__init__()
        self.mask = mask
        self.projection = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x: Any) -> Any:
        batch, time = x.shape[:2]
        q, k, v = self.projection(x).reshape([batch, time, 3, 2, WIDTH // 2]).unbind(2)
        i = paddle.arange(time)
        if self.mask == "columns":
            ends = paddle.minimum(i + 2, paddle.to_tensor(time)).astype("int32").reshape([1, 1, time, 1])
            y = F.flashmask_attention(q, k, v, ends.expand([batch, 1, time, 1]), causal=True)
        elif self.mask == "spelt out":
            scores = paddle.einsum("bqhd,bkhd->bhqk", q, k) * 0.5
            seen = (i.unsqueeze(1) >= i) | (i % 2 == 0)
            y = paddle.einsum("bhqk,bkhd->bqhd", F.softmax(scores.masked_fill(~seen, float("-inf")), -1), v)
        else:
            mask = None
            if self.mask == "bools":
                mask = (i.unsqueeze(1) >= i).expand([batch, 1, time, time])
            elif self.mask == "numbers":
                mask = (-0.5 * (i.unsqueeze(1) - i).abs()).astype(q.dtype).unsqueeze(0).unsqueeze(0)
            y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=self.mask == "causal")
        return x + y.reshape([batch, time, WIDTH])


class Recurrent(nn.Layer):
    """A recurrent layer, which may begin with the states that the last batch of this size has left."""

    def __init__(self, cls: type, bidirectional: bool, keeps: bool) -> None:
        super().__init__()
        hidden = WIDTH // 2 if bidirectional else WIDTH
        self.cells = cls(WIDTH, hidden, direction="bidirect" if bidirectional else "forward")
        self.keeps, self.states = keeps, None

    def forward(self, x: Any) -> Any:
        first = self.states if self.states is None else self._fitting(x)
        y, states = self.cells(x, first)
        if self.keeps:
            self.states = paddle.utils.map_structure(lambda t: t.detach(), states)
        return y

    def _fitting(self, x: Any) -> Any:
        fits = all(t.shape[1] == x.shape[0] and t.dtype == x.dtype for t in paddle.utils.flatten(self.states))
        return self.states if fits else None


class Kept(nn.Layer):
    """Buffers that are written to: a queue of means, a count, a running mean by ``lerp_``."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("queue", paddle.zeros([3, WIDTH]))
        self.register_buffer("count", paddle.zeros([], "int64"))
        self.register_buffer("mean", paddle.zeros([WIDTH]))
        self.at = 0

    def forward(self, x: Any) -> Any:
        mean = x.detach().mean([0, 1]).astype(self.mean.dtype)
        if self.training and x.size:
            self.queue[self.at] = mean
            self.at = (self.at + 1) % 3
            self.count += 1
            with paddle.no_grad():
                self.mean.lerp_(mean, 0.25)
        return x + (self.queue.mean(0) - self.mean).astype(x.dtype) * 0.5


class Written(nn.Layer):
    """Writes to a value on the way, some through views of it."""

    WAYS = (
        "rows", "view", "scatter_", "put_along_axis_", "index_put_", "masked", "added", "fill", "strided",
        "part of a part",
    )  # fmt: skip

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way
        self.scale = self.create_parameter([WIDTH], default_initializer=nn.initializer.Constant(0.75))

    def forward(self, x: Any) -> Any:
        y = x * self.scale
        if not x.size:
            return y
        if self.way == "rows":
            y[:, 0] = y[:, -1] * 0.5
        elif self.way == "view":
            flat = y.reshape([-1, WIDTH])
            flat[:, 1:3] = self.scale[:2]
            flat.T[4].scale_(0.5)
        elif self.way == "scatter_":
            y.scatter_(paddle.to_tensor([0]), x[-1:] * 2)
        elif self.way == "put_along_axis_":
            index = paddle.zeros([*x.shape[:2], 1], "int64") + paddle.arange(x.shape[1]).reshape([1, -1, 1]) % WIDTH
            y.put_along_axis_(index, y.mean(-1, keepdim=True), -1)
        elif self.way == "index_put_":
            y.index_put_((paddle.to_tensor([0, 0]), paddle.to_tensor([0, 0])), x[0, :1] * self.scale, True)
        elif self.way == "masked":
            y = paddle.where(x > 3.0, y, y * 1.0)
            y[:, :1].masked_fill_(paddle.arange(WIDTH) % 2 == 0, 0.25)
        elif self.way == "added":
            y[..., ::2] += x[..., 1::2]
            y *= 0.5
        elif self.way == "strided":
            flat = y.reshape([-1])
            paddle.as_strided(y[:, :1], [y.shape[0] * y.shape[1], 2], [WIDTH, 3], 1).scale_(0.5)
            paddle.as_strided(flat, [2, 2], [4, 1]).add_(self.scale[:4].reshape([2, 2]))
        elif self.way == "part of a part":
            y[:, -1:][..., ::2].add_(x[:, -1:, 1::2])
            y.transpose([1, 0, 2])[0][:, 2:4] = self.scale[:2]
        else:
            y[0].fill_(0.125)
        return y


class Drawn(nn.Layer):
    """A part whose Python depends on the mode and on a count of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        self.calls += 1
        if self.training and self.calls % 3 == 0:
            return x
        return x + self.linear(x)


class WithoutHistory(nn.Layer):
    """Values that are computed in ``no_grad`` among others that are not, one of which gets a history later."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.scale = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        y = self.linear(x)
        with paddle.no_grad():
            gate = paddle.tanh(self.scale(x) + y)
            shown = y[..., :1]
            target = y.detach().clone()
            with paddle.enable_grad():
                inner = self.scale(y) * gate
        target[..., 0] = inner[..., 0]
        return inner + gate * y + shown * 0.5 + target * 0.25


class Again(nn.Layer):
    """A part that is recomputed in the backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        return recompute(lambda t: F.gelu(self.linear(t)), x)


class Channels(nn.Layer):
    """A layer of the library for ``[batch, channels, time]``."""

    def __init__(self, layer: nn.Layer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any) -> Any:
        return self.layer(x.transpose([0, 2, 1])).transpose([0, 2, 1])


PARTS: dict[str, Callable[[], nn.Layer]] = {
    "linear": lambda: nn.Linear(WIDTH, WIDTH),
    "layer norm": lambda: nn.LayerNorm(WIDTH),
    "batch norm": lambda: Channels(nn.BatchNorm1D(WIDTH)),
    "group norm": lambda: Channels(nn.GroupNorm(2, WIDTH)),
    "conv": lambda: Channels(nn.Conv1D(WIDTH, WIDTH, 3, padding=1)),
    "prelu": lambda: nn.PReLU(),
    "dropout": lambda: nn.Dropout(0.3),
    "embedding": lambda: nn.Embedding(CLASSES, WIDTH),
    "shared": lambda: nn.Linear(WIDTH, WIDTH),
    "encoder": lambda: nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, 0.0),
    "kept": Kept,
    "drawn": Drawn,
    "again": Again,
    "without history": WithoutHistory,
    **{
        f"{name}{', both ways' if both else ''}{', kept states' if keeps else ''}": (
            lambda cls=cls, both=both, keeps=keeps: Recurrent(cls, both, keeps)
        )
        for name, cls in (("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.SimpleRNN))
        for both, keeps in ((False, False), (True, False), (False, True))
    },
    **{
        f"attention, {mask}": lambda mask=mask: Attention(mask)
        for mask in ("causal", "bools", "numbers", "columns", "spelt out", "none")
    },
    **{f"written: {way}": lambda way=way: Written(way) for way in Written.WAYS},
}


class ByHooks(paddle.optimizer.Optimizer):
    """An optimizer that defines the reference's hooks."""

    def _create_accumulators(self, block: Any, parameters: Any) -> None:
        for p in parameters:
            self._add_accumulator("total", p)

    def _append_optimize_op(self, block: Any, param_and_grad: Any) -> None:
        p, g = param_and_grad
        total = self._get_accumulator("total", p)
        total.scale_(0.9)
        total.add_(g.astype(total.dtype))
        p.set_value((p - self._create_param_lr(param_and_grad) * total).astype(p.dtype))


# Where a step divides by a size of gradients, not by one that rounding decides.
_O = paddle.optimizer
OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "SGD": lambda p, c: _O.SGD(0.05, p, grad_clip=c, multi_precision=True),
    "Momentum": lambda p, c: _O.Momentum(
        0.05, 0.9, p, grad_clip=c, weight_decay=0.01, use_nesterov=True, multi_precision=True
    ),
    "Adam": lambda p, c: _O.Adam(0.05, epsilon=0.1, parameters=p, grad_clip=c, multi_precision=True),
    "AdamW": lambda p, c: _O.AdamW(0.05, epsilon=0.1, parameters=p, grad_clip=c, multi_precision=True),
    "Adagrad": lambda p, c: _O.Adagrad(0.05, epsilon=0.1, parameters=p, grad_clip=c),
    "Adadelta": lambda p, c: _O.Adadelta(0.05, epsilon=0.1, parameters=p, grad_clip=c),
    "Adamax": lambda p, c: _O.Adamax(0.05, epsilon=0.1, parameters=p, grad_clip=c),
    "NAdam": lambda p, c: _O.NAdam(0.05, epsilon=0.1, parameters=p, grad_clip=c),
    "RAdam": lambda p, c: _O.RAdam(0.05, epsilon=0.1, parameters=p, grad_clip=c),
    "RMSProp": lambda p, c: _O.RMSProp(0.05, epsilon=0.1, momentum=0.5, centered=True, parameters=p, grad_clip=c),
    "ASGD": lambda p, c: _O.ASGD(0.05, 2, p, grad_clip=c),
    "Lamb": lambda p, c: _O.Lamb(0.05, epsilon=0.1, parameters=p, grad_clip=c, multi_precision=True),
    "schedule": lambda p, c: _O.SGD(_O.lr.StepDecay(0.05, 2), p, grad_clip=c),
    "by hooks": lambda p, c: ByHooks(0.05, p, grad_clip=c),
}
FLOAT32_ALONE = ("Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSProp", "ASGD", "by hooks")
CLIPS: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "norm": lambda: nn.ClipGradByNorm(0.5),
    "global norm": lambda: nn.ClipGradByGlobalNorm(0.5),
    "value": lambda: nn.ClipGradByValue(0.1),
}
CAPTURED = ("layer", "forward", "loss", "gradients", "step")  # what is
PRECISIONS = {"float32": 6.0, "auto_cast": 2.0, "bfloat16": 2.0}
EVENTS = (
    "evaluation", "parameter scaled", "parameter assigned", "parameter written", "rate", "states loaded", "frozen",
    "auto_cast", "result written", "loss written", "gradient set", "gradient scaled", "accumulated", "factor", "seed",
    "result used twice", "result goes on", "input written", "float64", "two batches", "other loss",
    "nothing", "nothing",
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One step. ``events``: what happens before it, or how it is done."""

    batch: int
    time: int
    events: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """Training of one seed."""

    seed: int
    parts: tuple[str, ...]
    optimizer: str
    clip: str
    captured: str
    one_graph: bool
    precision: str
    clear: str  # gradients are cleared before the step, after it, after it to zeros, or by the layer
    steps: tuple[Step, ...]


def draw(seed: int) -> Case:
    """The training of a seed."""
    r = random.Random(f"training {seed}")
    batches, times = r.sample((4, 3, 1, 0, 5, 2), 2), r.sample((3, 4, 1, 6), 2)
    steps = []
    for _ in range(r.randint(4, 7)):
        batch = batches[r.random() < 0.3]
        events = tuple(r.sample(EVENTS, r.choice((0, 1, 1, 2))))
        steps.append(Step(batch, times[r.random() < 0.2], tuple(e for e in events if e != "nothing")))
    precision = r.choices(list(PRECISIONS), list(PRECISIONS.values()))[0]
    optimizer = r.choice(list(OPTIMIZERS))
    if precision == "bfloat16" and optimizer in FLOAT32_ALONE:
        optimizer = "Momentum"
    return Case(
        seed,
        tuple(r.choices(list(PARTS), k=r.choice((1, 1, 2, 3)))),
        optimizer,
        r.choice(("none", "none", *CLIPS)),
        r.choice(CAPTURED),
        r.random() < 0.3,
        precision,
        r.choice(("before", "after", "zeros", "default", "layer")),
        tuple(steps),
    )


class Model(nn.Layer):
    """Parts in a row, and a sum."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.names = case.parts
        self.parts = nn.LayerList([PARTS[name]() for name in case.parts])
        self.last = nn.Linear(WIDTH, 3)

    def forward(self, x: Any, ids: Any) -> Any:
        for name, part in zip(self.names, self.parts):
            if name == "embedding":
                x = x + part(ids)
            elif name == "shared":
                x = paddle.tanh(part(paddle.tanh(part(x))))
            else:
                x = paddle.tanh(part(x))
        return self.last(x)


class Training:
    """A model in training: what is captured, and the rest of a step as it is written."""

    def __init__(self, case: Case, captured: bool) -> None:
        self.case = case
        paddle.seed(case.seed)
        self.net = Model(case)
        if case.precision == "bfloat16":
            self.net.bfloat16()
        self.optimizer = OPTIMIZERS[case.optimizer](self.net.parameters(), CLIPS[case.clip]())
        self.cast = case.precision == "auto_cast"
        self.factor = 1.0
        self.kept: list[tuple[str, Any, np.ndarray]] = []
        self.last: Any = None

        def around(f: Callable[..., Any]) -> Callable[..., Any]:
            return paddle.jit.to_static(f, full_graph=case.one_graph)

        self.call = self.net.__call__
        if captured and case.captured == "layer":
            self.call = around(self.net)
        elif captured and case.captured == "forward":
            self.call = around(self.net.forward)
        self.loss, self.gradients, self.step = self._loss, self._gradients, self._step
        self.other = around(self._other) if captured else self._other
        if captured and case.captured in ("loss", "gradients", "step"):
            setattr(self, case.captured, around(getattr(self, case.captured)))

    def _loss(self, x: Any, ids: Any) -> tuple[Any, Any]:
        with paddle.amp.auto_cast(self.cast, dtype="bfloat16"):
            y = self.call(x, ids)
            return (y.astype("float32") * self.factor).pow(2).sum() * 0.05, y

    def _gradients(self, x: Any, ids: Any) -> tuple[Any, Any]:
        loss, y = self.loss(x, ids)
        loss.backward()
        return loss, y

    def _other(self, x: Any, ids: Any) -> Any:
        """Gradients of another loss with the same parameters."""
        with paddle.amp.auto_cast(self.cast, dtype="bfloat16"):
            loss = self.net(x, ids).astype("float32").abs().sum() * 0.05
        loss = loss + self.net.last.weight.astype("float32").pow(2).sum() * 0.1
        loss.backward()
        return loss

    def _step(self, x: Any, ids: Any) -> tuple[Any, Any]:
        if self.case.clear == "before":
            self.optimizer.clear_grad()
        loss, y = self.gradients(x, ids)
        self._update()
        return loss, y

    def _update(self) -> None:
        self.optimizer.step()
        if self.case.clear == "layer":
            self.net.clear_gradients()
        elif self.case.clear == "default":
            self.optimizer.clear_grad()
        elif self.case.clear != "before":
            self.optimizer.clear_grad(self.case.clear == "zeros")

    # --- one step with its events

    def do(self, number: int, step: Step) -> dict[str, Any]:
        """What there is after a step."""
        events, draws = set(step.events), np.random.default_rng((self.case.seed, number))
        dtype = "bfloat16" if self.case.precision == "bfloat16" else "float32"
        x = paddle.to_tensor(draws.normal(size=(step.batch, step.time, WIDTH)).astype("float32")).astype(dtype)
        ids = paddle.to_tensor(draws.integers(0, CLASSES, (step.batch, step.time)))
        found: dict[str, Any] = {}
        for event in step.events:
            self._before(event, draws, x, ids, found)
        splits = self.case.captured in ("layer", "forward", "loss")
        if "result used twice" in events and splits:
            loss, y = self.loss(x, ids)
            (y.astype("float32").sum() * 0.05).backward(retain_graph=True)
            (loss + y.astype("float32").mean(0).sum() * 0.05).backward()
            self._update()
        elif "result goes on" in events and splits and self._follows(x):
            with paddle.amp.auto_cast(self.cast, dtype="bfloat16"):
                y = self.call(x, ids)
                second = self.call(paddle.concat([y, y, y[..., :2]], -1).astype(x.dtype), ids)
            loss = (second.astype("float32") - y.astype("float32")).pow(2).sum() * 0.05
            loss.backward()
            self._update()
        elif "accumulated" in events:
            loss, y = self.gradients(x, ids)
        elif "two batches" in events:
            self.gradients(x[: step.batch // 2 + 1], ids[: step.batch // 2 + 1])
            loss, y = self.gradients(x, ids)
            self._update()
        elif "other loss" in events:
            self.other(x, ids)
            self._update()
            loss, y = self.step(x, ids)
        else:
            loss, y = self.step(x, ids)
        if "input written" in events:
            x.zero_()
        if self.case.optimizer == "schedule":
            self.optimizer._learning_rate.step()
        self.last = loss, y
        found["loss"], found["result"] = numbers(loss), numbers(y)
        self.kept += [(f"the loss of step {number}", loss, found["loss"])]
        self.kept += [(f"the result of step {number}", y, found["result"])]
        for name, p in (*self.net.named_parameters(), *self.net.named_buffers()):
            found[name] = numbers(p)
            found[f"gradient of {name}"] = None if p.grad is None else numbers(p.grad)
        for name, value in states(self.optimizer.state_dict()):
            found[f"state {name}"] = value
        state = paddle.get_rng_state()
        found["random numbers"] = paddle.rand([2]).numpy()
        paddle.set_rng_state(state)
        return found

    def _follows(self, x: Any) -> bool:
        """Whether a result may be the next operand: two calls within one backward pass, and no state of the first."""
        return not any("kept" in name or "drawn" in name or "batch norm" in name for name in self.case.parts)

    def _before(self, event: str, draws: np.random.Generator, x: Any, ids: Any, found: dict[str, Any]) -> None:
        parameters = self.net.parameters()
        p = parameters[draws.integers(len(parameters))]
        if event == "evaluation":
            self.net.eval()
            with paddle.no_grad(), paddle.amp.auto_cast(self.cast, dtype="bfloat16"):
                found["evaluation"] = numbers(self.call(x, ids))
                if self.case.captured == "loss":
                    found["loss in evaluation"] = numbers(self.loss(x, ids)[0])
            self.net.train()
        elif event == "parameter scaled":
            with paddle.no_grad():
                p.scale_(0.5)
        elif event == "parameter assigned":
            p.set_value(p.detach() * 0.5)
        elif event == "parameter written":
            with paddle.no_grad():
                p[0] = 0.25
        elif event == "rate" and self.case.optimizer != "schedule":
            self.optimizer.set_lr(0.02)
        elif event == "states loaded":
            kept = self.net.state_dict(), self.optimizer.state_dict()
            kept = paddle.utils.map_structure(lambda t: t.clone() if isinstance(t, paddle.Tensor) else t, kept)
            self.net.set_state_dict(kept[0])
            self.optimizer.set_state_dict(kept[1])
        elif event == "frozen":
            p.stop_gradient = not p.stop_gradient
            if all(q.stop_gradient for q in parameters):
                p.stop_gradient = False
        elif event == "auto_cast":
            self.cast = not self.cast and self.case.precision != "bfloat16"
        elif event in ("result written", "loss written") and self.last is not None:
            t = self.last[event == "result written"]
            self.kept = [row for row in self.kept if row[1] is not t]
            with paddle.no_grad():
                t.add_(paddle.ones_like(t))
        elif event == "gradient set":
            p.grad = None if p.stop_gradient else paddle.ones_like(p) * 0.1
        elif event == "gradient scaled" and p.grad is not None:
            p.grad.scale_(0.5)
        elif event == "factor":
            self.factor *= 0.5
        elif event == "seed":
            paddle.seed(int(draws.integers(100)))


def numbers(x: Any) -> np.ndarray:
    """Values, in memory of their own."""
    return np.array(x.detach().astype("float32").numpy())


def states(state: Any, path: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """The tensors of an optimizer's state, by place, since names have numbers of their own."""
    items = enumerate(state.values()) if isinstance(state, dict) else enumerate(state)
    for i, value in items:
        if isinstance(value, (dict, list)):
            yield from states(value, f"{path}{i}.")
        elif isinstance(value, paddle.Tensor):
            yield f"{path}{i}", numbers(value)


def train(case: Case, captured: bool) -> list[dict[str, Any]]:
    """What there is after each step, and in the end of all results."""
    training = Training(case, captured)
    found = [training.do(i, step) for i, step in enumerate(case.steps)]
    found.append({what: numbers(x) for what, x, _ in training.kept})
    found.append({what: before for what, _, before in training.kept})
    return found


def check(case: Case, tally: Counter[str] | None = None) -> str | None:
    """What is wrong; None if nothing is."""
    tally = Counter() if tally is None else tally
    try:
        wanted = train(case, False)
    except Exception as error:
        return f"{case}\nas written: {type(error).__name__}: {error}"
    try:
        found = train(case, True)
    except CaptureError as error:
        if case.one_graph:
            tally[f"refused: {str(error)[:100]}"] += 1
            return None
        return f"{case}\n{type(error).__name__}: {error}"
    except Exception as error:
        return f"{case}\n{type(error).__name__}: {error}"
    tally["compared"] += 1
    mixed = case.precision != "float32" or any("auto_cast" in s.events for s in case.steps)
    tolerance = TOLERANCE["bfloat16" if mixed else "float32"]
    for what, x in found[-2].items():
        if not np.array_equal(x, found[-1][what], equal_nan=True):
            return f"{case}\nin the end {what} is {x}, and not {found[-1][what]} as it was"
    for i, (a, b) in enumerate(zip(found[:-2], wanted[:-2], strict=True)):
        for name in {**b, **a}:
            x, y = a.get(name), b.get(name)
            if (x is None) != (y is None):
                return f"{case}\nstep {i}: {name} is {x}, as written {y}"
            if x is None:
                continue
            if x.shape != y.shape or not np.allclose(x, y, tolerance, tolerance, equal_nan=True):
                return f"{case}\nstep {i}: {name} is {x}, as written {y}"
    return None


def smaller(case: Case) -> Iterator[Case]:
    """Cases with one thing less."""
    for i in range(len(case.steps)):
        yield replace(case, steps=case.steps[:i] + case.steps[i + 1 :])
    for i in range(len(case.parts)):
        if len(case.parts) > 1:
            yield replace(case, parts=case.parts[:i] + case.parts[i + 1 :])
    for i, part in enumerate(case.parts):
        if part != "linear":
            yield replace(case, parts=(*case.parts[:i], "linear", *case.parts[i + 1 :]))
    for i, s in enumerate(case.steps):
        for k in range(len(s.events)):
            fewer = replace(s, events=s.events[:k] + s.events[k + 1 :])
            yield replace(case, steps=(*case.steps[:i], fewer, *case.steps[i + 1 :]))
        if (s.batch, s.time) != (3, 3):
            yield replace(case, steps=(*case.steps[:i], replace(s, batch=3, time=3), *case.steps[i + 1 :]))
    for name, value in (
        ("optimizer", "SGD"), ("clip", "none"), ("precision", "float32"), ("clear", "after"), ("one_graph", False),
        ("captured", "forward"),
    ):  # fmt: skip
        if getattr(case, name) != value:
            yield replace(case, **{name: value})


reduced = reduction(draw, lambda seed, tally, only, case: check(case, tally), smaller, tries=80)


if __name__ == "__main__":
    run_seeds(__doc__, (), lambda seed, tally, only: check(draw(seed), tally), reduced)
