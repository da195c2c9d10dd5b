"""Moving averages of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import paddle
from paddle._public import public
from paddle.framework import unique_name
from paddle.framework.parameter import Parameter
from paddle.static.executor import Executor
from paddle.static.program import Program, default_main_program, initialized, program_guard, tracer_of
from paddle.static.variable import create_global_var
from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor, empty
from umiak.util.errors import op_error


def variable_like(p: Tensor, name: str) -> Tensor:
    """A variable of the size and dtype of another one, of zeros at first.

    Args:
        p: a parameter.
        name: the beginning of its name.
    """
    made = empty(tuple(p.shape), p.dtype, p.place)
    made.name = unique_name.generate(name)

    def fill(x: Tensor) -> None:
        with no_grad_guard():
            assign(x, F.full(0, dtype=x.dtype, shape=tuple(x.shape)))

    initialized(made, fill)
    return made


class Exchange:
    """Two programs: ``apply`` gives parameters other values, ``restore`` brings back what they were.

    Args:
        values: pairs of a parameter and a function that records its other value.
    """

    def __init__(self, values: Sequence[tuple[Tensor, Callable[[], Tensor]]]) -> None:
        kept = [variable_like(p, f"{p.name}_kept") for p, _ in values]
        self.apply, self.restore = Program(), Program()
        with program_guard(self.apply):
            for (p, value), x in zip(values, kept, strict=True):
                assign(x, p)
                assign(p, value())
        with program_guard(self.restore):
            for (p, _), x in zip(values, kept, strict=True):
                assign(p, x)


@public("paddle.static")
class ExponentialMovingAverage:
    """Exponential moving averages of the parameters of a program.

    ``average = decay * average + (1 - decay) * parameter`` in every run of the program, from zeros; what is applied is
    divided by ``1 - decay ** runs``, so that the first value counts as much as it should. It is made after
    ``minimize``; then ``update`` records the averages.

    Args:
        decay: of the average.
        thres_steps: a variable with a number of steps t: the decay is ``min(decay, (t + 1) / (t + 10))`` then, and less
            than ``decay`` at the beginning; None: it is ``decay``.
        name: the beginning of the names of the averages; None for none.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: a decay that is not in [0, 1).

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     loss = paddle.static.nn.fc(paddle.static.data("x", [None, 2]), 1).mean()
        ...     _ = paddle.optimizer.SGD(0.1).minimize(loss)
        ...     ema = paddle.static.ExponentialMovingAverage(0.9)
        ...     ema.update()
        >>> exe = paddle.static.Executor()
        >>> _ = exe.run(startup), exe.run(main, {"x": numpy.ones([1, 2], "float32")})
        >>> with ema.apply(exe):
        ...     pass  # evaluate here, with the averages in the place of the parameters
        >>> paddle.disable_static()
    """

    def __init__(self, decay: float = 0.999, thres_steps: Tensor | None = None, name: str | None = None) -> None:
        tracer_of("ExponentialMovingAverage")
        if not 0.0 <= decay < 1.0:
            raise op_error(ValueError, "ExponentialMovingAverage", "a decay in [0, 1)", decay)
        self._decay, self._steps, self._name = float(decay), thres_steps, name or ""
        self._main = default_main_program()
        self._kept: list[tuple[Parameter, Tensor]] = []  # parameters and their averages
        self._product: Tensor | None = None  # of all decays so far
        self._exchange: Exchange | None = None

    def update(self) -> None:
        """Record the averages into the program that was the main one when this object was made."""
        program = self._main
        with program_guard(program), no_grad_guard(), program._tracer.training():
            decay: Any = self._decay
            if self._steps is not None:
                t = self._steps.astype("float32").reshape([1])
                decay = paddle.minimum((t + 1.0) / (t + 10.0), paddle.full([1], self._decay))
            if self._product is None:
                self._product = create_global_var([1], 1.0, "float32", True)
                for p in program.all_parameters():
                    if p.do_model_average and not p.stop_gradient:
                        self._kept.append((p, variable_like(p, f"{self._name}{p.name}_ema")))
                self._exchange = Exchange([(p, partial(self._corrected, p, x)) for p, x in self._kept])
            assign(self._product, self._product * decay)
            for p, average in self._kept:
                assign(average, average * self._cast(decay, p) + p * self._cast(1.0 - decay, p))

    @staticmethod
    def _cast(x: Any, p: Tensor) -> Any:
        return x.astype(p.dtype) if isinstance(x, Tensor) else x

    @contextmanager
    def apply(self, executor: Executor, need_restore: bool = True) -> Iterator[None]:
        """Put the averages in the place of the parameters inside a ``with`` block.

        Args:
            executor: runs the programs that exchange them.
            need_restore: put the parameters back at the end; False leaves that to :meth:`restore`.

        Yields:
            None: it is used in a ``with`` statement.

        Raises:
            RuntimeError: :meth:`update` was not called.
        """
        executor.run(self._programs("apply").apply)
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    def restore(self, executor: Executor) -> None:
        """Put the parameters back.

        Args:
            executor: runs the program that does it.
        """
        executor.run(self._programs("restore").restore)

    def _programs(self, op_name: str) -> Exchange:
        if self._exchange is None:
            raise op_error(RuntimeError, op_name, "averages, which update() records", "none")
        return self._exchange

    def _corrected(self, p: Tensor, average: Tensor) -> Tensor:
        assert self._product is not None
        left: Any = 1.0 - self._product
        left = paddle.where(left > 0, left, paddle.ones_like(left))  # before the first run
        return average / self._cast(left, p)
