"""Status of another rank, as data and in words, for the errors of operations that wait for it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from umiak.comm.group import Group

RUNNING, ENDED, FAILED, GONE, SILENT = "running", "ended", "failed", "gone", "silent"


@dataclass(frozen=True)
class PeerStatus:
    """One rank, asked about one group and perhaps one call of it."""

    rank: int
    state: str = RUNNING
    calls: int = 0  # that it has made on the group
    called: str = ""  # what the call in question is there, if it was made lately
    gave_up: bool = False  # the call in question has ended with an error
    waits: tuple[str, ...] = ()  # operations of the group that are not complete there
    place: str = ""  # the line of its program
    error: str = ""

    def is_lost(self, call: int | None, mine: str) -> bool:
        """Return whether it will never do what the one who calls ``mine`` waits for."""
        if self.state in (FAILED, GONE):
            return True
        if call is None:
            return False  # what it has sent may be under way
        return bool(self.called and self.called != mine) or (self.state == ENDED and self.calls <= call)

    def describe(self, call: int | None, mine: str) -> str:
        """Return the predicate that follows ``rank 3`` in a sentence."""
        if self.state == FAILED:
            return f"failed: {self.error}"
        if self.state == GONE:
            return "is gone: its process has died or was killed"
        if self.state == SILENT:
            return "does not answer: its process is stopped, or stuck in a library"
        at = f"is in {self.place}" if self.place else "computes"
        if self.error:
            at += f" ({self.error})"
        doing = f"waits in {' and '.join(self.waits)}" if self.waits else at
        if self.state == ENDED:
            doing = "has ended its program"
        if call is None:
            return doing
        if self.called and self.called != mine:
            return f"calls {self.called} there, which is not {mine}"
        if self.gave_up:
            return f"has given it up and {doing}"
        if self.called:
            return f"waits in it too ({at})" if self.waits else f"has completed it and {doing}"
        if self.calls <= call:
            return f"has made {self.calls} calls of the group and {doing}"
        return doing


def status_of(
    groups: Mapping[str, Group], rank: int, name: str, call: int | None, thread: threading.Thread | None
) -> PeerStatus:
    """Return the status of a rank of this process on the group ``name`` of ``groups``; ``thread`` runs its program."""
    group = groups.get(name)
    place = location_of(thread)
    if group is None:
        return PeerStatus(rank, place=place)
    called = "" if call is None else group.signature(call)
    return PeerStatus(rank, RUNNING, group.calls, called, call in group.given_up, tuple(sorted(group.waits())), place)


def location_of(thread: threading.Thread | None) -> str:
    """The innermost line of a thread outside of this package."""
    frame = None if thread is None else sys._current_frames().get(thread.ident or 0)
    own = __name__.rpartition(".")[0]
    while frame is not None and frame.f_globals.get("__name__", "").startswith((own, "threading")):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno} ({frame.f_code.co_name})"


def summarize(statuses: Iterable[PeerStatus], call: int | None, mine: str) -> str:
    """Describe the statuses of some ranks, grouping those that do the same."""
    said: dict[str, list[int]] = {}
    for s in statuses:
        said.setdefault(s.describe(call, mine), []).append(s.rank)
    return "; ".join(f"rank {', '.join(map(str, ranks))} {status}" for status, ranks in said.items())
