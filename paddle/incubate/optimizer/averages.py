"""Averages of parameters over steps, which can take the parameters' places for evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from paddle._public import public
from paddle.framework import mode
from paddle.incubate.optimizer.recorded import WindowedMeans
from paddle.optimizer.captured import refuse_inside
from paddle.optimizer.loaded import as_state
from paddle.optimizer.optimizer import Optimizer
from paddle.static.program import default_main_program
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.context import no_grad_guard
from umiak.core.foreach import apply_foreach, apply_foreach_into
from umiak.core.tensor import Tensor

_ADD, _COPY, _MUL = F.Add(), F.Copy(), F.Mul()
_LONGEST = 16384  # sums of more parameters than this are moved to another tensor, for their accuracy


class _Swap:
    """Parameters that give their places to averages for a while."""

    _parameter_list: list[Any]

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Any]] = []

    def _averages(self) -> list[tuple[Any, Any]]:
        """Pairs of a parameter and its average, of the class that mixes this in."""
        raise TypeError(f"{type(self).__name__} defines no _averages")

    def apply(self, executor: Any = None, need_restore: bool = True) -> Any:
        """Give the parameters the values of their averages, in a ``with`` block.

        Args:
            executor: runs the programs that exchange them, in static mode; else accepted.
            need_restore: whether leaving the block brings the parameters back; otherwise :meth:`restore` does.

        Returns:
            A context manager.

        Raises:
            RuntimeError: in the block, there is no average yet.
        """
        return self._applied(need_restore, executor)

    @contextmanager
    def _applied(self, need_restore: bool, executor: Any) -> Iterator[None]:
        with no_grad_guard():
            pairs = self._averages()
            if not self._kept:
                self._kept = [(p, F.copy(p)) for p, _ in pairs]
            _set(pairs)
        try:
            yield
        finally:
            if need_restore:
                self.restore()

    def restore(self, executor: Any = None) -> None:
        """Bring back what the parameters were before :meth:`apply`.

        Args:
            executor: accepted.
        """
        with no_grad_guard():
            _set(self._kept)
        self._kept = []


def _zeros(p: Any) -> Tensor:
    return create_on(p.place, F.full, 0.0, p.dtype.compute, tuple(p.shape))


def _set(pairs: list[tuple[Any, Any]]) -> None:
    same = [(p, v) for p, v in pairs if p.dtype is v.dtype]
    apply_foreach_into(_COPY, [((p,), (v,), ()) for p, v in same])
    for p, v in pairs:
        if p.dtype is not v.dtype:
            apply_foreach_into(F.Cast(p.dtype), [((p,), (v,), ())])


@public("paddle.incubate paddle.incubate.optimizer")
class ModelAverage(_Swap, Optimizer):
    """Mean of the parameters over the last steps.

    The window of steps grows with ``average_window_rate`` times the steps done. Call ``step()`` after the optimizer's;
    in static mode make the object after ``minimize``: it records that each run of the program does this. When a window
    is full, its sum is kept and the next one begins; the mean is over both.

    Args:
        average_window_rate: how the window grows.
        parameters: an iterable of parameters. Required; in static mode None stands for those of the main program.
        min_average_window: the shortest window, in steps.
        max_average_window: the longest window, in steps.

    Raises:
        ValueError: no parameters, or one of them twice.
        TypeError: a value that is not a parameter.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> opt = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
        >>> average = paddle.incubate.optimizer.ModelAverage(0.15, layer.parameters(), 2, 10)
        >>> layer(paddle.ones([1, 2])).sum().backward()
        >>> opt.step()
        >>> average.step()
        >>> with average.apply():
        ...     y = layer(paddle.ones([1, 2]))
    """

    def __init__(
        self,
        average_window_rate: float,
        parameters: Any = None,
        min_average_window: int = 10000,
        max_average_window: int = 10000,
        name: str | None = None,
    ) -> None:
        _Swap.__init__(self)
        Optimizer.__init__(self, 0.0, parameters, None, None, name)
        self.average_window = average_window_rate
        self.min_average_window = min_average_window
        self.max_average_window = max_average_window
        self._recorded: WindowedMeans | None = None  # in static mode
        if not mode.in_dynamic_mode():
            trained = [p for p in parameters or default_main_program().all_parameters() if not p.stop_gradient]
            self._recorded = WindowedMeans(
                [p for p in trained if getattr(p, "do_model_average", True)], average_window_rate, min_average_window,
                max_average_window, _LONGEST,
            )  # fmt: skip
        self._sums: dict[Any, list[Any]] = {}  # of this window; of it too, set aside; of the last one
        self._counts = [0, 0, 0]  # steps in this window, in the last one, in all

    @contextmanager
    def _applied(self, need_restore: bool, executor: Any) -> Iterator[None]:
        if self._recorded is None:
            with super()._applied(need_restore, executor):
                yield
            return
        executor.run(self._recorded.exchange.apply)
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    def restore(self, executor: Any = None) -> None:
        """Bring back what the parameters were before ``apply``.

        Args:
            executor: runs the program that does it, in static mode; else accepted.
        """
        if self._recorded is None:
            super().restore()
        else:
            executor.run(self._recorded.exchange.restore)

    def _trained(self) -> list[Any]:
        return [p for p in self._parameter_list if not p.stop_gradient]

    def step(self) -> None:
        """Take the parameters as they are now into the mean; in static mode each run does."""
        if self._recorded is not None:
            return
        refuse_inside("ModelAverage.step")
        params = self._trained()
        with no_grad_guard():
            for p in params:
                if p not in self._sums:
                    self._sums[p] = [_zeros(p) for _ in range(3)]
            sums = [self._sums[p] for p in params]
            low = [F.cast(p, dtype=s[0].dtype) for p, s in zip(params, sums, strict=True)]
            apply_foreach_into(_ADD, [((s[0],), (s[0], p), ()) for p, s in zip(low, sums, strict=True)])
            now, last, total = self._counts
            now, total = now + 1, total + 1
            if total % _LONGEST == 0:
                apply_foreach_into(_ADD, [((s[1],), (s[1], s[0]), ()) for s in sums])
                apply_foreach_into(F.ZerosLike(), [((s[0],), (s[0],), ()) for s in sums])
            if now >= self.min_average_window and now >= min(self.max_average_window, int(total * self.average_window)):
                for s in sums:
                    s[2] = F.add(s[0], s[1])
                apply_foreach_into(F.ZerosLike(), [((x,), (x,), ()) for s in sums for x in s[:2]])
                now, last = 0, now
            self._counts = [now, last, total]

    def minimize(
        self, loss: Any, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> tuple[list, list[tuple[Tensor, Tensor]]]:
        """Do the same as :meth:`step`.

        Args:
            loss: accepted.
            startup_program: accepted.
            parameters: accepted.
            no_grad_set: accepted.

        Returns:
            Two empty lists.
        """
        self.step()
        return [], []

    def _averages(self) -> list[tuple[Any, Any]]:
        now, last, _ = self._counts
        if not now + last:
            raise RuntimeError("[ModelAverage.apply] requires at least one step(), got none")
        params = [p for p in self._trained() if p in self._sums]
        totals = [F.add(F.add(*self._sums[p][:2]), self._sums[p][2]) for p in params]
        return list(zip(params, apply_foreach(_MUL, [((t, 1.0 / (now + last)), ()) for t in totals]), strict=True))

    def state_dict(self) -> dict[str, Any]:
        """Make a dict of sums and counts by parameter, such as ``linear_0.w_0_sum_1_0``."""
        out: dict[str, Any] = {}
        for p in self._trained():
            if p not in self._sums:
                continue
            for i, s in enumerate(self._sums[p]):
                out[f"{p.name}_sum_{i + 1}_0"] = s
            for counter, n in zip(("num_accumulates", "old_num_accumulates", "num_updates"), self._counts, strict=True):
                out[f"{p.name}_{counter}_0"] = from_numpy(np.array([n], np.int64), p.place)
        return out

    def set_state_dict(self, state_dict: Any) -> None:
        """Go on from saved sums and counts.

        Args:
            state_dict: what :meth:`state_dict` returned.
        """
        for p in self._parameter_list:
            saved = [state_dict.get(f"{p.name}_sum_{i}_0") for i in (1, 2, 3)]
            if any(s is None for s in saved):
                continue
            self._sums[p] = [as_state(s, p) for s in saved]
            counts = (state_dict[f"{p.name}_{n}_0"] for n in ("num_accumulates", "old_num_accumulates", "num_updates"))
            self._counts = [int(np.asarray(n.numpy() if isinstance(n, Tensor) else n).ravel()[0]) for n in counts]

    load_state_dict = set_state_dict
    set_dict = set_state_dict


@public("paddle.incubate.optimizer")
class ExponentialMovingAverage(_Swap):
    """Moving average of parameters, ``average = decay*average + (1 - decay)*param``.

    It is corrected for its start at 0 when it is applied.

    Args:
        decay: how much stays.
        thres_steps: a count of steps, a number or a tensor that the program advances; the decay is at most
            ``(1 + thres_steps) / (10 + thres_steps)``. None: no such limit.
        name: accepted.
        parameters: an iterable of parameters. Required.

    Raises:
        ValueError: no parameters.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> ema = paddle.incubate.optimizer.ExponentialMovingAverage(0.99, parameters=layer.parameters())
        >>> ema.update()
        >>> with ema.apply():
        ...     y = layer(paddle.ones([1, 2]))
    """

    def __init__(
        self, decay: float = 0.999, thres_steps: Any = None, name: str | None = None, *, parameters: Any = None
    ) -> None:
        if parameters is None:
            raise ValueError("[ExponentialMovingAverage] requires parameters, got None")
        super().__init__()
        self._parameter_list = list(parameters)
        self._decay = float(decay)
        self._thres_steps = thres_steps
        self._name = name
        self._values: dict[Any, Any] = {}
        self._left = 1.0  # how much of the start is left: the product of the decays

    def update(self) -> None:
        """Take the parameters as they are now into the average."""
        decay = self._decay
        if self._thres_steps is not None:
            steps = float(self._thres_steps)
            decay = min(decay, (1.0 + steps) / (10.0 + steps))
        params = [p for p in self._parameter_list if not p.stop_gradient]
        with no_grad_guard():
            for p in params:
                if p not in self._values:
                    self._values[p] = _zeros(p)
            values = [self._values[p] for p in params]
            new = [F.cast(p, dtype=v.dtype) for p, v in zip(params, values, strict=True)]
            parts = apply_foreach(_MUL, [((x, 1.0 - decay), ()) for x in new])
            apply_foreach_into(_MUL, [((v,), (v, decay), ()) for v in values])
            apply_foreach_into(_ADD, [((v,), (v, x), ()) for v, x in zip(values, parts, strict=True)])
        self._left *= decay

    def _averages(self) -> list[tuple[Any, Any]]:
        if not self._values:
            raise RuntimeError("[ExponentialMovingAverage.apply] requires at least one update(), got none")
        params = [p for p in self._parameter_list if p in self._values]
        rows = [((self._values[p], 1.0 / (1.0 - self._left)), ()) for p in params]
        return list(zip(params, apply_foreach(_MUL, rows), strict=True))
