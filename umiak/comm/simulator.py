"""Many ranks in one process, for tests: each a thread with an engine context of its own, and real data."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from umiak.comm import groups
from umiak.comm.errors import CommError
from umiak.comm.mailbox import Job
from umiak.core import context
from umiak.core.generator import seed_all
from umiak.util.errors import op_error

T = TypeVar("T")

LIMIT = 64  # ranks with data; `plan_ranks` has no limit
GRACE = 1.0  # seconds for ranks to end after the time is over


def simulate(fn: Callable[..., T], ranks: int, *args: Any, timeout: float = 600.0) -> list[T]:
    """Run ``fn(*args)`` as each of ``ranks`` virtual ranks at once; what each returns.

    Inside, ``comm.world()`` and ``paddle.distributed`` know ``ranks`` ranks. Seeds, names, default dtype, modes and
    groups are each rank's own; ``args`` and the globals of ``fn`` are shared. Collectives combine in an order of their
    own, so the results of a run are those of every run. A rank's generator starts from the caller's seed plus its rank
    plus one, or from any seed where the caller has none.

    Args:
        fn: what a rank does.
        ranks: how many, 64 at most.
        timeout: seconds for the whole run.

    Raises:
        CommError: all ranks wait for each other, or the time is over: the text says what each rank waits for.
        BaseException: what a rank raised, the first one; its cause names the rank, and lists all that failed. The
            ranks that wait for it get a CommError.

    >>> import numpy as np
    >>> from umiak import comm
    >>> def work():
    ...     x = np.full(2, comm.world().rank)
    ...     comm.world().all_reduce(x, x).wait()
    ...     return x.tolist()
    >>> comm.simulate(work, 3)
    [[3, 3], [3, 3], [3, 3]]
    """
    if not 1 <= ranks <= LIMIT:
        raise op_error(
            ValueError, "simulate", f"1 to {LIMIT} ranks", ranks, "comm.plan_ranks plans more, without data."
        )
    job = Job(ranks)
    results: list[Any] = [None] * ranks
    seed = context.current().state.values.get("seed")

    def run(rank: int) -> None:
        context.new_rank(rank).activate()
        job.enter(rank, groups.table())
        try:
            if seed is not None:
                seed_all(seed + rank + 1)
            groups.connect_by(lambda: job.channel(rank))
            groups.start()
            results[rank] = fn(*args)
        except BaseException as error:  # raised when all ranks have ended
            job.leave(rank, error)
        else:
            job.leave(rank)

    threads = [threading.Thread(target=run, args=(r,), name=f"rank {r}", daemon=True) for r in range(ranks)]
    try:
        for thread in threads:
            thread.start()
        late = _wait(job, timeout)
        if late:
            text = f"[simulate] requires {ranks} ranks to end in {timeout} s, got: {late}"
            job.stop(text)
            _wait(job, GRACE)
            raise CommError(text)
    except BaseException:
        job.stop("the simulation was given up")  # e.g. by KeyboardInterrupt
        raise
    for thread in threads:
        thread.join()
    _raise_first(job)
    return results


def _wait(job: Job, seconds: float) -> str:
    """Wait until all ranks have ended; describe those that have not in time."""
    end = time.monotonic() + seconds
    with job.lock:
        while not all(s.ended for s in job.members):
            left = end - time.monotonic()
            if left <= 0:
                return "; ".join(s.describe() for s in job.members if not s.ended)
            job.finished.wait(left)
    return ""


def _raise_first(job: Job) -> None:
    first = job.first
    if first is None or first.error is None:
        return
    failed = [s for s in job.members if s.error is not None]
    # Those that others have kept waiting say no more than what happened first.
    vain = [s.rank for s in failed if s is not first and f"cannot go on: {job.trouble}" in str(s.error)]
    text = f"[simulate] rank {first.rank} of {len(job.members)} failed. All that did:"
    text += "".join(f"\n  {s.describe()}" for s in failed if s.rank not in vain)
    if vain:
        text += f"\n  waiting in vain: ranks {', '.join(map(str, vain))}"
    report = CommError(text)
    report.__cause__ = first.error.__cause__
    raise first.error from report
