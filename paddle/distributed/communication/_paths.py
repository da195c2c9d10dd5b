"""The two ways of an operation among ranks, chosen here.

Straight to memory: the engine reads and writes the tensors' own memory. By the op: the registry's collective, whose
result is assigned, so that gradients flow and captured programs hold it. Both send the same messages: ranks may take
different paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np

from paddle._public import public
from paddle.tensor._args import create_on
from umiak import comm
from umiak import ops as F
from umiak.comm.keys import DEFERRED
from umiak.core.array import from_numpy, to_numpy
from umiak.core.buffer import ACCESS_HOST, access
from umiak.core.context import OBSERVE_TRACE, current, no_grad_guard
from umiak.core.dtype import DType
from umiak.core.inplace import assign
from umiak.core.place import Place
from umiak.core.storage import ACCESS_DEVICE
from umiak.core.stream import Event, stream
from umiak.core.tensor import KIND_VIEW, Tensor
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops.base import packed_error
from umiak.ops.collective import check_reduction
from umiak.util.errors import op_error

_PENDING = "distributed_pending"  # in the values of a thread's context: recorded operations that nobody has waited for


# --- the choice ----------------------------------------------------------------------------------------------------


def takes_fast_path(outs: Sequence[Tensor], ins: Sequence[Tensor] = (), cut: Sequence[Tensor] = ()) -> bool:
    """Return whether nothing but the data of these tensors is concerned: no trace, no gradient, memory of the host.

    A leaf that wants a gradient is written to as under ``no_grad``: nothing flows into what it held before.

    Args:
        outs: what is written to.
        ins: what is read.
        cut: what is read without a gradient.
    """
    ctx = current()
    if ctx.observers & OBSERVE_TRACE:
        return False
    for x in (*outs, *ins, *cut):
        if x._kind & ~KIND_VIEW or access(x.place) != ACCESS_HOST:
            return False
    if not ctx.grad_enabled or all(x.stop_gradient for x in (*outs, *ins)):
        return True
    return any(_parameter(x) for x in outs)


def takes_device_path(xs: Sequence[Tensor]) -> bool:
    """Return whether only the data of these tensors is concerned, and a device's own library may read and write them
    where they lie: no trace, no gradient, contiguous memory of one device."""
    ctx = current()
    if ctx.observers & OBSERVE_TRACE or access(xs[0].place) != ACCESS_DEVICE:
        return False
    if any(x._kind & ~KIND_VIEW or x.place is not xs[0].place or not x.is_contiguous() for x in xs):
        return False
    return not ctx.grad_enabled or all(x.stop_gradient for x in xs)


def _parameter(x: Tensor) -> bool:
    return not x.stop_gradient and x.is_leaf


# --- straight to memory --------------------------------------------------------------------------------------------

WriteBack = Callable[[], Any]


def source(x: Tensor) -> np.ndarray:
    """The elements, contiguous: the memory itself where it can be."""
    return np.ascontiguousarray(to_numpy(x))


def joined(xs: Iterable[Tensor]) -> np.ndarray:
    """The elements of all, one tensor after the other, as a flat array."""
    return np.concatenate([to_numpy(x).reshape(-1) for x in xs])


def target(x: Tensor, keep: bool = False) -> tuple[np.ndarray, WriteBack]:
    """A contiguous array to write to, and what makes it the tensor's value. ``keep``: it holds the elements already."""
    if x.dtype.is_packed:
        raise packed_error("collective", x.dtype, x.dtype.name)
    a = to_numpy(x)
    if a.flags.c_contiguous:
        return a, x._bump_version
    buffer = np.ascontiguousarray(a) if keep else np.empty(a.shape, a.dtype)
    return buffer, lambda: _write(x, buffer)


def targets(xs: Sequence[Tensor]) -> tuple[np.ndarray, WriteBack]:
    """The same for several tensors, one after the other in a flat array."""
    dtype = xs[0].dtype.numpy if xs else np.dtype(np.float32)
    buffer = np.empty(sum(x.size for x in xs), dtype)

    def write_back() -> None:
        at = 0
        for x in xs:
            _write(x, buffer[at : at + x.size])
            at += x.size

    return buffer, write_back


def _write(x: Tensor, value: np.ndarray) -> None:
    with no_grad_guard():
        assign(x, from_numpy(value.reshape(x.shape), x.place, copy=False))


def complete(task: comm.Task, write_back: WriteBack | None, sync_op: bool) -> comm.Task:
    """The task, waited for if ``sync_op``; its result lands when it is complete."""
    if sync_op:
        task.wait()
        if write_back is not None:
            write_back()
    elif write_back is not None:
        task.then(write_back)
    return task


# --- by the op -----------------------------------------------------------------------------------------------------


class OpTask:
    """The handle of an operation by the op: its result is assigned by whoever waits, in the order of the program.

    That is work of the stream on which the operation was started; the stream of whoever waits comes after it.
    """

    def __init__(
        self,
        started: Sequence[tuple[comm.Task, Any]] = (),
        finish: Callable[[], Any] | None = None,
        place: Place | None = None,
    ) -> None:
        self._started = started
        self._finish = finish
        self._place = place
        self._stream = 0 if place is None else current().get_stream(place)
        self._assigned: Event | None = None
        if finish is not None:
            current().values.setdefault(_PENDING, []).append(self)

    def is_completed(self) -> bool:
        """Return whether the result is there, without waiting."""
        if all(task.done() for task, _ in self._started):
            self._end()
        return self._finish is None and (self._assigned is None or self._assigned.query())

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the result is there, or is so for later work of the current stream."""
        for task, _ in self._started:
            task.wait(timeout)
        self._end()
        if self._place is not None and self._assigned is not None:
            here = current().get_stream(self._place)
            if here != self._stream:
                stream(self._place.index, here).wait(self._assigned)
        return True

    synchronize = wait
    done = is_completed

    def concerns(self, pg: comm.Group) -> bool:
        """Return whether it is on that group."""
        return any(task.group is pg for task, _ in self._started)

    def _end(self) -> None:
        finish, self._finish = self._finish, None
        if finish is not None:
            self._assign(finish)
            pending = current().values.get(_PENDING, ())
            if self in pending:
                pending.remove(self)
        self._started = ()

    def _assign(self, finish: Callable[[], Any]) -> None:
        if self._place is None:
            finish()
            return
        ctx = current()
        former = ctx.set_stream(self._place, self._stream)
        try:
            finish()
        finally:
            ctx.set_stream(self._place, former)
        self._assigned = stream(self._place.index, self._stream).record()


def run_op(
    inputs: Callable[[], Any],
    call: Callable[[Any], Tensor],
    write: Callable[[Tensor], Any],
    outs: Sequence[Tensor],
    sync_op: bool,
    cut: bool = False,
) -> OpTask:
    """Run the op ``call`` on what ``give`` returns, and hand the result to ``write``: later, if asynchronous.

    In a trace all is recorded at once, as the program has an order of its own. ``cut``: no gradient passes.
    """
    ctx = current()
    grad = ctx.grad_enabled and not any(_parameter(x) for x in outs)
    later = not sync_op and not ctx.observers & OBSERVE_TRACE
    started: list = []
    with _modes(grad and not cut):
        x = inputs()
        with _deferred(started) if later else nullcontext():
            result = call(x)

    def finish() -> None:
        with _modes(grad):
            write(result)

    if not started:
        finish()
        return OpTask()
    devices = [x.place for x in outs if access(x.place) != ACCESS_HOST]
    return OpTask(started, finish, devices[0] if devices else None)


@contextmanager
def _deferred(started: list) -> Iterator[None]:
    """Let kernels put their tasks into ``started`` instead of waiting."""
    values = current().values
    former = values.get(DEFERRED)
    values[DEFERRED] = started
    try:
        yield
    finally:
        values[DEFERRED] = former


@contextmanager
def _modes(grad: bool) -> Iterator[None]:
    ctx = current()
    former, ctx.grad_enabled = ctx.grad_enabled, grad
    try:
        yield
    finally:
        ctx.grad_enabled = former


def assign_all(outs: Sequence[Tensor], joined: Tensor) -> None:
    """Cut the flat ``joined`` into the values of the tensors, one after the other."""
    at = 0
    for x in outs:
        part = F.slice(joined, (0,), (at,), (x.size,), (1,))
        assign(x, F.reshape(part, tuple(x.shape)))
        at += x.size


def flat(xs: Sequence[Tensor]) -> Tensor:
    """The elements of all, one tensor after the other."""
    parts = [F.reshape(x, (x.size,)) for x in xs]
    return parts[0] if len(parts) == 1 else F.concat(parts, axis=0)


def wait_all(pg: comm.Group) -> None:
    """Wait for all that was started on the group."""
    pg.wait()
    for one in list(current().values.get(_PENDING, ())):
        if one.concerns(pg):
            one.wait()


# --- arguments -----------------------------------------------------------------------------------------------------


@public("paddle.distributed paddle.distributed.communication")
class ReduceOp:
    """Reductions by which the elements of the ranks are combined.

    Example:
        >>> import paddle
        >>> paddle.distributed.ReduceOp.SUM
        0
    """

    SUM = 0
    MAX = 1
    MIN = 2
    PROD = 3
    AVG = 4


REDUCTIONS = {ReduceOp.SUM: "sum", ReduceOp.MAX: "max", ReduceOp.MIN: "min", ReduceOp.PROD: "prod", ReduceOp.AVG: "avg"}


@lru_cache(maxsize=512)
def reduction(op_name: str, op: int, dtype: DType) -> str:
    """The engine's name of a reduction, which must have a meaning for ``dtype``."""
    if op not in REDUCTIONS:
        raise op_error(ValueError, op_name, "an op of paddle.distributed.ReduceOp", repr(op))
    check_reduction(F.REGISTRY[_OPS[op_name]](group="any", op=REDUCTIONS[op]), Meta((), dtype))
    return REDUCTIONS[op]


_OPS = {"all_reduce": "all_reduce", "reduce": "reduce_to", "reduce_scatter": "reduce_scatter"}


def need(x: Any, op_name: str, name: str = "tensor") -> Tensor:
    """Refuse what is no tensor."""
    if not isinstance(x, Tensor):
        raise op_error(TypeError, op_name, f"a Tensor for {name}", type(x).__name__)
    return x


def need_list(xs: Any, op_name: str, name: str, length: int) -> list[Tensor]:
    """Refuse what is no list of ``length`` tensors of one dtype."""
    if not isinstance(xs, (list, tuple)):
        raise op_error(TypeError, op_name, f"a list of tensors for {name}", type(xs).__name__)
    for i, x in enumerate(xs):
        need(x, op_name, f"{name}[{i}]")
    if len(xs) != length:
        raise op_error(ValueError, op_name, f"{length} tensors in {name}, one for each rank", len(xs))
    if any(x.dtype is not xs[0].dtype for x in xs):
        raise op_error(TypeError, op_name, f"one dtype in {name}", [x.dtype.name for x in xs])
    return list(xs)


def equal(shape: Sequence[Any], other: Sequence[Any]) -> bool:
    """Return whether two shapes are equal."""
    return len(shape) == len(other) and all(map(dim.eq, shape, other))


def same(op_name: str, x: Tensor, shape: Sequence[Any], dtype: DType, name: str) -> None:
    """Refuse a tensor of another shape or dtype."""
    if x.dtype is not dtype:
        raise op_error(TypeError, op_name, f"{name} of {dtype.name}", x.dtype.name)
    if not equal(x.shape, shape):
        raise op_error(ValueError, op_name, f"{name} of shape {list(shape)}", list(x.shape))


def streams(op_name: str, sync_op: bool, use_calc_stream: bool) -> None:
    """The calculation's stream runs in order: nothing on it is asynchronous."""
    if use_calc_stream and not sync_op:
        raise op_error(RuntimeError, op_name, "sync_op=True with use_calc_stream=True", "sync_op=False")


def need_joined(op_name: str, x: Tensor, part: Tensor, size: int, name: str) -> None:
    """Refuse a tensor that is not ``size`` times ``part``, joined along the first axis or stacked on a new one."""
    if x.dtype is not part.dtype:
        raise op_error(TypeError, op_name, f"{name} of {part.dtype.name}", x.dtype.name)
    stacked = [size, *part.shape]
    long = [size * part.shape[0], *part.shape[1:]] if part.ndim else stacked
    if not equal(x.shape, long) and not equal(x.shape, stacked):
        raise op_error(ValueError, op_name, f"{name} of shape {long}", list(x.shape))


def filled(xs: Any, like: Tensor, op_name: str, name: str, size: int) -> list[Tensor]:
    """A list of tensors like ``like`` for results; an empty list gets new ones."""
    if isinstance(xs, list) and not xs:
        xs.extend(create_on(like.place, F.full, 0, like.dtype, tuple(like.shape)) for _ in range(size))
    outs = need_list(xs, op_name, name, size)
    for x in outs:
        same(op_name, x, like.shape, like.dtype, f"tensors in {name}")
    return outs


def parts(given: Any, like: Tensor, op_name: str, size: int) -> list[Tensor]:
    """Return the input of a scatter: a list with a part like ``like`` for each rank, or of the one tensor to split."""
    if isinstance(given, Tensor):
        need_joined(op_name, given, like, size, "the input")
        return [given]
    xs = need_list(given, op_name, "tensor_list", size)
    for x in xs:
        same(op_name, x, like.shape, like.dtype, "tensors in tensor_list")
    return xs
