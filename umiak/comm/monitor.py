"""Monitor of ranks that are processes: they tell each other their status, beside messages that may hang.

Every rank has a thread that answers on a socket, also while its program computes, sleeps or ends. One that waits for
others for long asks them; one that fails tells them. Both sides of a connection prove that they know the job's key.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from typing import TYPE_CHECKING, Any

from umiak.comm.peer_status import ENDED, FAILED, GONE, SILENT, PeerStatus, status_of

if TYPE_CHECKING:
    from umiak.comm.group import Group

MONITOR = "comm_monitor"  # in the values of a rank's state
ASK = 2.0  # seconds that all the others have to answer
HEAR = 0.5  # seconds that they have to take a word in
AT_ONCE = 32  # connections at a time

Address = tuple[str, int]


class Monitor:
    """Service that tells the other processes of a job the status of this one, and asks for theirs."""

    def __init__(self, rank: int, groups: Mapping[str, Group], key: bytes, here: bool) -> None:
        """``here``: all ranks run on this host."""
        self.rank = rank
        self.key = key
        self.groups = groups
        self.program = threading.current_thread()
        self.ended = False
        self.note = ""  # what the others should know
        self.failed: dict[int, str] = {}  # ranks that have told so
        self.addresses: Sequence[Address] = ()
        self._listener: Listener | None = Listener(("127.0.0.1" if here else "0.0.0.0", 0), backlog=128)
        self.address: Address = ("127.0.0.1" if here else socket.gethostname(), self._listener.address[1])
        # A child that outlived us would keep the socket open, and never answer.
        os.register_at_fork(after_in_child=self.close)

    def start(self, addresses: Iterable[Address]) -> None:
        """Answer from now on; ``addresses`` are those of all ranks."""
        self.addresses = list(addresses)
        threading.Thread(target=self._listen, name="umiak monitor", daemon=True).start()

    def close(self) -> None:
        """Answer no more."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    # Answering

    def _listen(self) -> None:
        while (listener := self._listener) is not None:
            try:
                connection = listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._serve, args=(connection,), name="umiak answer", daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        with connection:
            try:
                deliver_challenge(connection, self.key)
                answer_challenge(connection, self.key)
                said = json.loads(connection.recv_bytes(1 << 16))
                connection.send_bytes(json.dumps(self._answer(said)).encode())
            except (OSError, EOFError, AuthenticationError):
                return  # whoever it was is gone, or not one of us

    def _answer(self, said: dict[str, Any]) -> dict[str, Any]:
        if "failed" in said:
            self.failed[said["rank"]] = said["failed"]
            return {}
        return asdict(self.status(said["group"], said["call"]))

    def status(self, name: str, call: int | None) -> PeerStatus:
        """Return the status of this rank on a group."""
        seen = status_of(self.groups, self.rank, name, call, self.program)
        if self.rank in self.failed:
            return replace(seen, state=FAILED, error=self.failed[self.rank])
        return replace(seen, state=ENDED if self.ended else seen.state, error=self.note)

    # Asking

    def ask(self, group: Group, call: int | None, ranks: Sequence[int]) -> list[PeerStatus]:
        """Ask some ranks for their status on a group, at a call of it."""
        question = {"group": group.name, "call": call}
        statuses = self._ask_all(ranks, question)
        return [statuses.get(r, PeerStatus(r, SILENT)) for r in ranks]

    def announce(self, error: str) -> None:
        """Tell all others that this rank has failed."""
        self.failed[self.rank] = error
        self._ask_all(self.others, {"rank": self.rank, "failed": error}, HEAR)

    @property
    def others(self) -> list[int]:
        """All ranks but this one."""
        return [r for r in range(len(self.addresses)) if r != self.rank]

    def dead_ranks(self) -> list[int]:
        """The ranks whose processes do not listen any more."""
        name = next(iter(self.groups), "")
        seen = self._ask_all(self.others, {"group": name, "call": None}, HEAR)
        return [r for r, s in seen.items() if s.state == GONE]

    def _ask_one(self, rank: int, words: dict[str, Any]) -> PeerStatus | None:
        try:
            with Client(self.addresses[rank], authkey=self.key) as connection:
                connection.send_bytes(json.dumps(words).encode())
                answer = json.loads(connection.recv_bytes(1 << 20))
        except ConnectionRefusedError:
            return PeerStatus(rank, GONE)
        except (OSError, EOFError, AuthenticationError):
            return None
        return PeerStatus(**{**answer, "waits": tuple(answer["waits"])}) if answer else PeerStatus(rank)

    def _ask_all(self, ranks: Iterable[int], words: dict[str, Any], seconds: float = ASK) -> dict[int, PeerStatus]:
        """The answers that come in time; threads wait for them, as connections have no time limit."""
        todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        n_sent = 0
        for rank in ranks:
            todo.put(rank)
            n_sent += 1
        answers: queue.SimpleQueue[tuple[int, PeerStatus | None]] = queue.SimpleQueue()

        def work() -> None:
            while True:
                try:
                    rank = todo.get_nowait()
                except queue.Empty:
                    return
                answers.put((rank, self._ask_one(rank, words)))

        for _ in range(min(n_sent, AT_ONCE)):
            threading.Thread(target=work, name="umiak question", daemon=True).start()
        by_rank: dict[int, PeerStatus] = {}
        end = time.monotonic() + seconds
        for _ in range(n_sent):
            try:
                rank, seen = answers.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                break
            if seen is not None:
                by_rank[rank] = seen
        return by_rank

    def failures(self) -> str:
        """Describe the failures that ranks have announced."""
        return "; ".join(f"rank {r} failed: {text}" for r, text in dict(self.failed).items())


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Look again and again, ever less often, until ``condition()`` or the time is over."""
    end, pause = time.monotonic() + seconds, 1e-3
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return True
