"""Messages between the virtual ranks of one process, who are threads.

A message is copied when it is sent, into the receiver's array where that is waiting already. So a send is complete at
once, and a rank that waits does so for others: when all do, or have ended, nothing can move any more.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from umiak.comm.errors import CommError, SizeMismatch
from umiak.comm.peer_status import ENDED, FAILED, PeerStatus, location_of, status_of
from umiak.comm.single import ARRIVED, Arrived
from umiak.core.place import Place

if TYPE_CHECKING:
    from umiak.comm.group import Group

PAUSE = (0.02, 0.5)  # seconds after which a waiting thread looks at the clock: at first, and at most


class Expected:
    """A message that a rank is ready for."""

    __slots__ = ("done", "error", "peer", "source", "x")

    def __init__(self, x: np.ndarray, source: int, peer: int) -> None:
        self.x, self.source, self.peer = x, source, peer
        self.done = False
        self.error: SizeMismatch | None = None

    def fill(self, message: np.ndarray) -> None:
        if message.size != self.x.size:
            self.error = SizeMismatch(self.peer, message.size, self.x.size)
        else:
            np.copyto(self.x, message)

    def Test(self) -> bool:
        if self.error is not None:
            raise self.error
        return self.done


class VirtualRank:
    """One virtual rank. ``version`` counts what has happened to it from outside."""

    def __init__(self, lock: Any, rank: int) -> None:
        self.rank = rank
        self.changed = threading.Condition(lock)
        self.version = 0
        self.seen: dict[threading.Thread, int] = {}  # the version that each of its threads has looked at
        self.waits: dict[threading.Thread, str] = {}  # what a thread waits in
        self.boxes: dict[Hashable, deque[Any]] = {}  # messages, or those expected; never both
        self.splits: Counter[Hashable] = Counter()
        self.groups: Mapping[str, Group] = {}
        self.thread: threading.Thread | None = None  # its first
        self.error: BaseException | None = None
        self.ended = False

    def stuck(self) -> bool:
        """Return whether all its threads wait, with nothing new to look at."""
        self.seen = {t: v for t, v in self.seen.items() if t.is_alive()}
        return bool(self.seen) and all(t in self.waits and v == self.version for t, v in self.seen.items())

    def touch(self) -> None:
        """Wake it: something has changed."""
        self.version += 1
        self.changed.notify_all()

    def describe(self) -> str:
        """Describe its activity in words."""
        if self.error is not None:
            return f"rank {self.rank} failed: {type(self.error).__name__}: {self.error}"
        if self.ended:
            return f"rank {self.rank} has ended"
        if self.stuck():
            wanted = sorted({q[0].source for q in self.boxes.values() if type(q[0]) is Expected})
            peers = f" for {'ranks' if len(wanted) > 1 else 'rank'} {', '.join(map(str, wanted))}" if wanted else ""
            return f"rank {self.rank} waits in {'; '.join(sorted(self.waits.values()))}{peers}"
        return f"rank {self.rank} is in {location_of(self.thread)}"

    def status(self, name: str, call: int | None) -> PeerStatus:
        """Return its status on the group ``name``."""
        seen = status_of(self.groups, self.rank, name, call, self.thread)
        if self.error is not None:
            return replace(seen, state=FAILED, error=f"{type(self.error).__name__}: {self.error}")
        return replace(seen, state=ENDED) if self.ended else seen


class Job:
    """Virtual ranks and the messages between them."""

    def __init__(self, size: int) -> None:
        self.lock = threading.Lock()
        self.members = [VirtualRank(self.lock, r) for r in range(size)]
        self.finished = threading.Condition(self.lock)
        self.trouble: str | None = None  # why nobody need wait any more
        self.first: VirtualRank | None = None  # that failed

    def channel(self, rank: int) -> MailChannel:
        """The channel of all ranks, for one of them."""
        return MailChannel(self, self.members[rank], range(len(self.members)), self._key(self.members[rank], "world"))

    @staticmethod
    def _key(member: VirtualRank, name: Hashable) -> Hashable:
        # Ranks make channels of one name in the same order; a later one of the same name has nothing of the former.
        member.splits[name] += 1
        return name, member.splits[name]

    def enter(self, rank: int, groups: Mapping[str, Group]) -> None:
        """The calling thread is ``rank``'s, whose groups are kept in ``groups``."""
        member = self.members[rank]
        with self.lock:
            member.groups, member.thread = groups, threading.current_thread()
            member.seen[member.thread] = -1

    def leave(self, rank: int, error: BaseException | None = None) -> None:
        """``rank`` has ended."""
        member = self.members[rank]
        with self.lock:
            member.error, member.ended = error, True
            if error is not None:
                self.first = self.first or member
                self._break(member.describe())
            self._look_for_deadlock()
            self.finished.notify_all()

    def stop(self, reason: str) -> None:
        """End every wait with an error."""
        with self.lock:
            self._break(reason)

    def _break(self, reason: str) -> None:
        self.trouble = self.trouble or reason
        for member in self.members:
            member.touch()

    def statuses(self, group: Group, call: int | None, ranks: Sequence[int]) -> list[PeerStatus]:
        """Return the status of some ranks on a group."""
        with self.lock:
            return [self.members[r].status(group.name, call) for r in ranks]

    def _look_for_deadlock(self) -> None:
        living = [s for s in self.members if not s.ended]
        if living and self.trouble is None and all(s.stuck() for s in living):
            self._break(f"all wait, and nothing can move: {'; '.join(s.describe() for s in self.members)}")

    def deliver(self, x: np.ndarray, key: Hashable, source: int, target: int, tag: int) -> None:
        """A message from ``source`` to ``target``."""
        member, address = self.members[target], (key, source, tag)
        with self.lock:
            queue = member.boxes.setdefault(address, deque())
            if not queue or type(queue[0]) is not Expected:
                queue.append(x.copy())
                return
            expected = queue.popleft()
            if not queue:
                del member.boxes[address]
        expected.fill(x)
        with self.lock:
            expected.done = True
            member.touch()

    def expect(self, expected: Expected, key: Hashable, member: VirtualRank, tag: int) -> Expected:
        """The next message from ``expected.source``."""
        address = key, expected.source, tag
        with self.lock:
            queue = member.boxes.setdefault(address, deque())
            if not queue or type(queue[0]) is Expected:
                queue.append(expected)
                return expected
            message = queue.popleft()
            if not queue:
                del member.boxes[address]
        expected.fill(message)
        expected.done = True
        return expected

    def wait(self, member: VirtualRank, waited: float, description: str) -> None:
        """Wait until something has changed for ``member`` since this thread last looked, or some time has passed."""
        thread = threading.current_thread()
        with self.lock:
            if member.seen.get(thread, -1) == member.version and self.trouble is None:
                member.waits[thread] = description
                self._look_for_deadlock()
                if self.trouble is None:
                    member.changed.wait(min(max(waited, PAUSE[0]), PAUSE[1]))
                del member.waits[thread]
            member.seen[thread] = member.version
            if self.trouble is not None:
                raise CommError(f"[{description}] rank {member.rank} cannot go on: {self.trouble}")


class MailChannel:
    """The messages of some virtual ranks, as one of them sees it."""

    def __init__(self, job: Job, member: VirtualRank, ranks: Sequence[int], key: Hashable) -> None:
        self.job, self.member, self.ranks, self.key = job, member, tuple(ranks), key
        self.rank = self.ranks.index(member.rank)
        self.size = len(self.ranks)
        self.ask_status = job.statuses

    def send(self, x: np.ndarray, peer: int, tag: int) -> Arrived:
        self.job.deliver(x, self.key, self.member.rank, self.ranks[peer], tag)
        return ARRIVED

    def recv(self, x: np.ndarray, peer: int, tag: int) -> Expected:
        return self.job.expect(Expected(x, self.ranks[peer], peer), self.key, self.member, tag)

    def native(self, name: str, *args: Any) -> None:
        return None

    def can_access(self, place: Place) -> bool:
        return False

    def pause(self, waited: float, description: str) -> None:
        self.job.wait(self.member, waited, description)

    def split(self, ranks: Iterable[int], name: str) -> MailChannel:
        chosen = [self.ranks[r] for r in ranks]
        return MailChannel(self.job, self.member, chosen, self.job._key(self.member, (self.key, name)))

    def close(self) -> None:
        with self.job.lock:
            for address in [a for a in self.member.boxes if a[0] == self.key]:  # type: ignore[index]
                del self.member.boxes[address]
