"""Tokens on their way among the ranks of a group."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from umiak import ops as F
from umiak.core import eager
from umiak.core.tensor import Tensor, empty

LOOK = 2e-4  # seconds between two looks at messages that move only while somebody looks
WORTH_A_THREAD = 1 << 18  # bytes under way, below which nobody looks meanwhile


class Exchange:
    """Tokens that a rank sends to others and gets from others: started, and waited for later.

    Args:
        group: whose ranks all start one.
        like: a tensor ``[batch, tokens, …]``, of which the tokens are.
        sent: contiguous tensors ``[batch, tokens, …]`` by the rank that they are for; they must not change meanwhile.
        received: numbers of tokens by the rank that they come from.
    """

    def __init__(self, group: Any, like: Tensor, sent: Mapping[int, Tensor], received: Mapping[int, int]) -> None:
        batch, _, *rest = like.shape
        self.batch, self.received = batch, dict(sorted(received.items()))
        rows = [batch * sent[p].shape[1] if p in sent else 0 for p in range(group.size)]
        come = [batch * self.received.get(p, 0) for p in range(group.size)]
        flat = [_reshaped(sent[p], (rows[p], *rest)) for p in sorted(sent)]
        # Kept until it has left.
        self.source = (
            flat[0] if len(flat) == 1 else _joined(flat) if flat else empty((0, *rest), like.dtype, like.place)
        )
        self.result = empty((sum(come), *rest), like.dtype, like.place)
        self.task = group.all_to_all_sized(self.result, self.source, rows, come)

    @property
    def nbytes(self) -> int:
        """Bytes that leave and come."""
        return (self.source.size + self.result.size) * self.result.dtype.itemsize

    def wait(self) -> dict[int, Tensor]:
        """Wait, and return ``[batch, tokens, …]`` by the rank that they came from, in the order of ranks."""
        self.task.wait()
        out, at = {}, 0
        for p, n in self.received.items():
            part = eager.apply_plain(F.REGISTRY["slice"](axes=(0,)), (self.result,), ((at,), (self.batch * n,), (1,)))
            out[p] = _reshaped(part, (self.batch, n, *self.result.shape[1:]))
            at += self.batch * n
        return out


def _reshaped(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    return eager.apply_plain(F.REGISTRY["reshape"](), (x,), (shape,))


def _joined(xs: list[Tensor]) -> Tensor:
    return eager.apply_plain(F.REGISTRY["concat"](axis=0), tuple(xs))


class Progress:
    """Around a computation: exchanges move on meanwhile.

    Messages of some transports move only while somebody looks (``polled`` of a channel). A thread does, since the
    computation is one call of a kernel, which holds no lock of Python's.
    """

    def __init__(self, group: Any, exchanges: Iterable[Exchange]) -> None:
        self.tasks = [x.task for x in exchanges]
        large = sum(x.nbytes for x in exchanges) >= WORTH_A_THREAD
        self.thread = None
        if large and getattr(group.channel, "polled", False):
            self.thread = threading.Thread(target=self._look, name="exchange", daemon=True)
        self.over = threading.Event()

    def _look(self) -> None:
        waiting = self.tasks
        while waiting and not self.over.wait(LOOK):
            try:
                waiting = [task for task in waiting if not task.done()]
            except Exception:  # whoever waits for the task gets it again
                return

    def __enter__(self) -> None:
        if self.thread is not None:
            self.thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        if self.thread is not None:
            self.thread.join()
