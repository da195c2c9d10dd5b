"""Steps of training: optimizers, schedules, clipping, mixed precision, accumulation."""

from __future__ import annotations

import paddle
import paddle.nn.functional as F
from paddle import nn
from tests.jit.corpus.reasons import BREAKS, ITEMS, NUMBERS
from tests.jit.corpus.registry import driver, factory, given


def _net():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def _batch(t, rows=4):
    return t(rows, 3, grad=False), t.ids(2, rows)


@factory(lambda t: _batch(t), lambda t: _batch(t), lambda t: _batch(t, 3), lambda t: _batch(t), backward=False)
def step_of_sgd():
    net = _net()
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    step.watched = net, optimizer
    return step


@driver(lambda t: _batch(t), lambda t: _batch(t), lambda t: _batch(t), lambda t: _batch(t), backward=False)
def step_with_schedule_and_clip(capture):
    net = _net()
    schedule = paddle.optimizer.lr.StepDecay(0.1, 2, gamma=0.5)
    clip = nn.ClipGradByGlobalNorm(0.5)
    optimizer = paddle.optimizer.AdamW(schedule, parameters=net.parameters(), grad_clip=clip, weight_decay=0.01)

    @capture
    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    def call(x, y):
        loss = step(x, y)
        schedule.step()
        return loss, optimizer.get_lr()

    return call


@factory(*(lambda t: _batch(t) for _ in range(4)), backward=False, refused=BREAKS)
def schedule_stepped_inside():
    net = _net()
    schedule = paddle.optimizer.lr.ExponentialDecay(0.1, 0.5)
    optimizer = paddle.optimizer.Momentum(schedule, 0.9, parameters=net.parameters())

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.clear_grad()
        return loss, optimizer.get_lr()

    step.watched = net, optimizer
    return step


@driver(*(lambda t: _batch(t) for _ in range(4)), backward=False)
def accumulation_of_gradients(capture):
    net = _net()
    optimizer = paddle.optimizer.Adam(0.05, parameters=net.parameters())
    calls = [0]

    @capture
    def loss_of(x, y):
        return F.cross_entropy(net(x), y) / 2

    def call(x, y):
        loss = loss_of(x, y)
        loss.backward()
        calls[0] += 1
        if calls[0] % 2 == 0:
            optimizer.step()
            optimizer.clear_grad()
        return loss

    return call


@factory(*(lambda t: _batch(t) for _ in range(4)), backward=False)
def accumulation_steered_inside():
    net = _net()
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    state = {"step": 0}

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        (loss / 2).backward()
        state["step"] += 1
        if state["step"] % 2 == 0:
            optimizer.step()
            optimizer.clear_grad()
        return loss

    step.watched = net, optimizer
    return step


@factory(*(lambda t: _batch(t) for _ in range(3)), backward=False, tolerance=1000.0)
def step_with_auto_cast():
    net = _net()
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())

    def step(x, y):
        with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
            logits = net(x)
            loss = F.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss, logits.dtype == paddle.bfloat16

    step.watched = net, optimizer
    return step


@driver(*(lambda t: _batch(t) for _ in range(3)), backward=False, tolerance=1000.0)
def step_with_o2_and_a_scaler(capture):
    net = _net()
    optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters())
    net, optimizer = paddle.amp.decorate(net, optimizer, level="O2", dtype="float16")
    scaler = paddle.amp.GradScaler(init_loss_scaling=128.0)

    @capture
    def forward(x, y):
        with paddle.amp.auto_cast(level="O2", dtype="float16"):
            return F.cross_entropy(net(x).astype("float32"), y)

    def call(x, y):
        loss = forward(x, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
        return loss

    return call


@factory(*(lambda t: _batch(t) for _ in range(3)), backward=False)
def step_with_a_scaler_inside():
    net = _net()
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    scaler = paddle.amp.GradScaler(init_loss_scaling=64.0)

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
        return loss

    step.watched = net, optimizer, scaler
    return step


@factory(*(lambda t: _batch(t) for _ in range(3)), backward=False, differs=ITEMS)
def loss_logged_every_second_step():
    net = _net()
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    losses = []

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
        if len(losses) % 2 == 0:
            print(f"step {len(losses)}: finite {losses[-1] < 100}")
        return loss

    step.watched = net, optimizer
    return step


@factory(*(lambda t: _batch(t) for _ in range(3)), backward=False)
def two_optimizers():
    net = _net()
    first = paddle.optimizer.SGD(0.1, parameters=net[0].parameters())
    second = paddle.optimizer.Adam(0.01, parameters=net[2].parameters())

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        for optimizer in (first, second):
            optimizer.step()
            optimizer.clear_grad()
        return loss

    step.watched = net, first, second
    return step


@factory(*(lambda t: _batch(t) for _ in range(3)), backward=False)
def update_by_hand():
    net = _net()

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        grads = paddle.grad(loss, net.parameters())
        with paddle.no_grad():
            for p, g in zip(net.parameters(), grads):
                p.subtract_(0.1 * g)
        return loss

    step.watched = net
    return step


@factory(*(lambda t: _batch(t) for _ in range(3)), backward=False)
def gradients_changed_before_the_step():
    net = _net()
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        norm = sum((p.grad**2).sum() for p in net.parameters()).sqrt()
        if norm > 0.5:
            for p in net.parameters():
                p.grad.scale_(0.5 / float(norm))
        optimizer.step()
        optimizer.clear_grad()
        return loss, norm

    step.watched = net, optimizer
    return step


@driver(
    lambda t: given(_batch(t), 0.1), lambda t: given(_batch(t), 0.01), lambda t: given(_batch(t), 0.2), backward=False
)
def rate_set_between_calls(capture):
    net = _net()
    optimizer = paddle.optimizer.SGD(0.5, parameters=net.parameters())

    @capture
    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    def call(batch, rate):
        optimizer.set_lr(rate)
        return step(*batch)

    return call


@factory(
    lambda t: given([_batch(t), _batch(t)]),
    lambda t: given([_batch(t)]),
    lambda t: given([]),
    backward=False,
    allowed=NUMBERS,
)
def whole_epoch_inside():
    net = _net()
    optimizer = paddle.optimizer.Momentum(0.1, parameters=net.parameters())

    def epoch(batches):
        total = 0.0
        for x, y in batches:
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            total += float(loss)
        return total / max(len(batches), 1)

    epoch.watched = net, optimizer
    return epoch
