"""Operations behind the updates of a static program, of optimizers around optimizers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import paddle
from paddle.static.averages import Exchange, variable_like
from paddle.static.program import Program, default_main_program, default_startup_program, program_guard
from paddle.static.variable import create_global_var
from umiak.core.context import no_grad_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor


@contextmanager
def _behind_the_updates(startup: Program | None) -> Iterator[None]:
    main = default_main_program()
    with program_guard(main, startup or default_startup_program()), no_grad_guard(), main._tracer.training():
        yield


def look_ahead(params: Sequence[Any], alpha: float, k: int, startup: Program | None) -> None:
    """Record that slow copies of parameters follow them in every ``k``-th run, and that they go on from there.

    The copies begin with what the first run has made of the parameters, as in dynamic mode.
    """
    with _behind_the_updates(startup):
        done = create_global_var([], 0, "int64", persistable=True)
        assign(done, done + 1)
        follows = paddle.equal(done % k, 0)
        for p in params:
            slow = variable_like(p, f"{p.name}_slow")
            held = paddle.where(paddle.equal(done, 1), p, slow)
            now = paddle.where(follows, held + (p - held) * alpha, held)
            new = paddle.where(follows, now, p)
            assign(slow, now)
            assign(p, new)


class WindowedMeans:
    """Means of parameters over windows of runs, which are recorded when this is made.

    ``longest``: a sum of so many is moved to another variable, for its accuracy.
    """

    def __init__(self, params: Sequence[Any], rate: float, shortest: int, most: int, longest: int) -> None:
        with _behind_the_updates(None):
            counts = [create_global_var([], 0, "int64", persistable=True) for _ in range(3)]
            self.now, self.last, total = counts
            now, runs = self.now + 1, total + 1
            window = paddle.minimum((runs.astype("float64") * rate).astype("int64"), paddle.full([], most, "int64"))
            full = paddle.logical_and(now >= shortest, now >= window)
            self.sums = [[variable_like(p, f"{p.name}_sum_{i + 1}") for i in range(3)] for p in params]
            for p, sums in zip(params, self.sums, strict=True):
                self._add(p, sums, paddle.equal(runs % longest, 0), full)
            assign(self.last, paddle.where(full, now, self.last))
            assign(self.now, paddle.where(full, paddle.zeros_like(now), now))
            assign(total, runs)
        self.exchange = Exchange([(p, self._mean(p, sums)) for p, sums in zip(params, self.sums, strict=True)])

    @staticmethod
    def _add(p: Tensor, sums: list[Tensor], moves: Tensor, full: Tensor) -> None:
        current, aside, before = sums
        zero = paddle.zeros_like(current)
        total = current + p.astype(current.dtype)
        kept = paddle.where(moves, aside + total, aside)
        total = paddle.where(moves, zero, total)
        assign(before, paddle.where(full, total + kept, before))
        assign(current, paddle.where(full, zero, total))
        assign(aside, paddle.where(full, zero, kept))

    def _mean(self, p: Tensor, sums: list[Tensor]) -> Any:
        def mean() -> Tensor:
            runs = (self.now + self.last).astype(sums[0].dtype)
            total = sums[0] + sums[1] + sums[2]
            return paddle.where(runs > 0, (total / runs).astype(p.dtype), p)  # before the first run: as they are

        return mean
