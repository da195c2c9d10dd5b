"""Coroutines: driven by hand, by an event loop, and captured themselves."""

from __future__ import annotations

import asyncio
import types

import paddle
from tests.jit.corpus.reasons import BREAKS
from tests.jit.corpus.registry import driver, factory, given, program


async def _scaled(x, k):
    await asyncio.sleep(0)
    return x * k


@program(lambda t: given(t(2), 2), lambda t: given(t(2), 3), refused=BREAKS)
def event_loop_inside(x, k):
    async def both():
        a, b = await asyncio.gather(_scaled(x, k), _scaled(x + 1, k))
        return a * b

    return asyncio.run(both()) + 1


@driver(lambda t: given(t.of([1.0, 2.0]), 2), lambda t: given(t.of([-1.0, -2.0]), 3), refused=BREAKS)
def captured_coroutine_function(capture):
    @capture
    async def f(x, k):
        y = await _scaled(x, k)
        if y.sum() > 0:
            return y * 2
        return y - 1

    def call(x, k):
        return asyncio.run(f(x, k))

    return call


@factory(lambda t: given(t(2), 2), lambda t: given(t(2), 0), refused=BREAKS)
def coroutine_driven_by_hand():
    @types.coroutine
    def suspend(x):
        received = yield x * 2
        return received

    async def work(x, n, log):
        total = x
        for _ in range(n):
            total = total + await suspend(total)
            log.append(total.shape[0])
        return total

    def f(x, n):
        log = []
        c = work(x, n, log)
        sent = None
        while True:
            try:
                sent = c.send(sent) + 1
            except StopIteration as stop:
                return stop.value, log

    return f


@driver(lambda t: given([t(2), t(3)]), lambda t: given([t(1)]))
def async_generators_and_contexts(capture):
    class Scope:
        def __init__(self, log):
            self.log = log

        async def __aenter__(self):
            self.log.append("enter")
            return 2

        async def __aexit__(self, *exc):
            self.log.append("exit")

    @capture
    def f(x, k):
        return x * k + paddle.ones_like(x)

    async def items(xs):
        for x in xs:
            await asyncio.sleep(0)
            yield f(x, 3)

    async def main(xs, log):
        async with Scope(log) as k:
            return [f(y, k) async for y in items(xs)]

    def call(xs):
        log = []
        return asyncio.run(main(xs, log)), log

    return call
