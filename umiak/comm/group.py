"""Groups of ranks and what they do together. docs/design/comm.md has the table.

Data are contiguous: tensors on any place, or arrays of the host.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from umiak.comm import algorithms
from umiak.comm.channel import Channel
from umiak.comm.device_links import DeviceLinks
from umiak.comm.device_messages import DeviceMessages
from umiak.comm.errors import CommError, SizeMismatch
from umiak.comm.peer_status import PeerStatus, summarize
from umiak.comm.staging import Data, StagedArray, described
from umiak.comm.task import Task, timeout_flag
from umiak.core.tensor import Tensor
from umiak.util import flags
from umiak.util.errors import op_error

check_flag = flags.define(
    "check_collectives", False, "compare operation, dtype and sizes of every collective with the other ranks'"
)

WORDS = 256  # bytes in which a rank says what it is about to do
RECENT = 64  # calls that a rank remembers, to tell others
TAGS = 1 << 14  # collectives of a group that may be under way at once
USER = 0  # messages of send and recv: tags from here on
OBJECTS = 1 << 15  # those of objects
COLLECTIVE = 1 << 16  # those of collectives


class Group:
    """Group of ranks that communicate, as one of them sees it."""

    def __init__(
        self,
        channel: Channel,
        name: str,
        id: int,
        ranks: Sequence[int],
        *,
        timeout: float | None = None,
        beside: Group | None = None,
    ) -> None:
        """``beside``: another group of the same rank."""
        self.channel = channel
        self.name = name
        self.id = id
        self.ranks = tuple(ranks)
        self.rank = channel.rank
        self.size = channel.size
        self._timeout = timeout
        self.calls = 0
        self._recent: deque[tuple[int, tuple]] = deque(maxlen=RECENT)
        self._open: dict[int, Task] = (
            {} if beside is None else beside._open
        )  # what the rank has under way, on any group
        self.given_up: deque[int] = deque(maxlen=RECENT)  # calls that have ended with an error
        self.device_messages = DeviceMessages(channel)
        self.device_links = DeviceLinks(self.size, self.rank, lambda obj: self.broadcast_object(obj, 0))
        # Tells what some global ranks do on a group, at a call of it
        self.ask_status: Callable[[Group, int | None, Sequence[int]], list[PeerStatus]] | None = None

    def __repr__(self) -> str:
        return f"Group({self.name!r}, rank {self.rank} of {self.size}, ranks {list(self.ranks)})"

    @property
    def timeout(self) -> float:
        """Seconds that an operation may take."""
        return timeout_flag.value if self._timeout is None else self._timeout

    # Started operations

    def _start(self, op_name: str, steps: Callable[[int], algorithms.Steps], *said: Any) -> Task:
        call = self.calls
        self.calls += 1
        self._recent.append((call, (op_name, *said)))
        tag = COLLECTIVE + call % TAGS
        if check_flag.value and self.size > 1:
            checked_steps = self._checked(call, tag, steps)
        else:
            checked_steps = steps(tag)
        task = Task(self, f"{op_name} (call {call} of group {self.name!r})", checked_steps, call)
        if task._steps is not None:
            self._open[id(task)] = task
        return task

    def forget(self, task: Task, error: BaseException | None) -> None:
        """Drop a task that has ended."""
        if error is not None and task.call is not None:
            self.given_up.append(task.call)
        self._open.pop(id(task), None)

    def progress(self, but: Task | None = None) -> None:
        """Progress all operations in flight of this rank, on any group.

        Raises:
            CommError: one of the operations failed: now, since the other ranks may never answer whoever goes on.
        """
        for task in list(self._open.values()):
            if task is not but:
                task.done()

    def wait(self) -> None:
        """Wait for all operations in flight on this group."""
        for task in self.under_way():
            task.wait()

    def under_way(self) -> list[Task]:
        """The tasks of this group that are not complete."""
        return [t for t in list(self._open.values()) if t.group is self]

    @property
    def others(self) -> list[int]:
        """The global ranks of the others."""
        return [r for i, r in enumerate(self.ranks) if i != self.rank]

    def waits(self) -> list[str]:
        """Iterate over the operations in flight."""
        return [t.description for t in self.under_way()]

    def signature(self, call: int | None) -> str:
        """Return what the ranks must agree on in a call: operation, dtype, sizes; empty for a call long ago."""
        for number, (op_name, *said) in list(self._recent):
            if number == call:
                return f"{op_name}({', '.join(map(str, said))})"
        return ""

    def _statuses(self, call: int | None, ranks: Sequence[int]) -> list[PeerStatus]:
        return [] if self.ask_status is None else self.ask_status(self, call, ranks)

    def explain(self, task: Task, error: BaseException) -> CommError:
        """An error of the engine, with what it happened to."""
        me = self.ranks[self.rank]
        peers = self.others
        text = f"[{task.description}] rank {me} failed: {error}"
        if isinstance(error, SizeMismatch):
            peers = [self.ranks[error.peer]]
            size = "more" if error.sent is None else f"{error.sent} bytes"
            text = (
                f"[{task.description}] rank {me} expects {error.expected} bytes from rank {peers[0]}, which sent {size}"
            )
        own_call = self.signature(task.call)
        wrong = [s for s in self._statuses(task.call, peers) if s.called not in ("", own_call)]
        if wrong:
            text += f": {summarize(wrong, task.call, own_call)}"
        elif isinstance(error, SizeMismatch):
            text += ": sizes, dtypes or the order of calls differ"
            text += "" if check_flag.value else ". FLAGS_check_collectives=1 tells which"
        explained = CommError(text)
        explained.__cause__ = error
        return explained

    def stall_error(self, task: Task, waited: float, late: bool) -> CommError | None:
        """Return the error of an operation that is ``late`` or can never complete; None where it still may."""
        own_call = self.signature(task.call)
        seen = self._statuses(task.call, self.others)
        if not late and not any(s.is_lost(task.call, own_call) for s in seen):
            return None
        text = f"[{task.description}] rank {self.ranks[self.rank]} has waited {waited:.1f} s for the other ranks"
        return CommError(f"{text}: {summarize(seen, task.call, own_call)}" if seen else text)

    def _checked(self, call: int, tag: int, steps: Callable[[int], algorithms.Steps]) -> algorithms.Steps:
        """Run ``steps`` after all ranks have compared their calls."""
        text = self.signature(call)
        own_call = np.zeros(WORDS, np.uint8)
        raw = text.encode()
        if len(raw) > WORDS:
            raw = raw[: WORDS - 16] + hashlib.sha256(raw).hexdigest()[:16].encode()
        own_call[: len(raw)] = np.frombuffer(raw, np.uint8)
        heard = np.zeros((self.size, WORDS), np.uint8)
        yield from algorithms.gather(self.channel, heard.reshape(-1), own_call, None, tag)
        wrong = {
            self.ranks[i]: bytes(row).rstrip(b"\0").decode(errors="replace")
            for i, row in enumerate(heard)
            if not np.array_equal(row, own_call)
        }
        if wrong:
            listed = "; ".join(f"rank {r} calls {other}" for r, other in wrong.items())
            raise CommError(
                f"[call {call} of group {self.name!r}] the ranks disagree: rank {self.ranks[self.rank]} calls {text}; "
                f"{listed}"
            )
        yield from steps(tag)

    def _collective_steps(
        self,
        name: str,
        reads: Sequence[StagedArray | None],
        writes: Sequence[StagedArray | None],
        operands: Sequence[StagedArray],
        args: Sequence[Any],
        messages: Callable[[int], algorithms.Steps],
    ) -> Callable[[int], algorithms.Steps]:
        """Steps of a collective: the transport's native one ``name`` where it serves the operands, else messages.

        What lies on a device that neither the channel nor a library of the device's reaches goes by way of the host,
        which waits for what is read.
        """
        # Here, since it may block: once a task has begun, others of the rank have to start in their order.
        link = self.device_links.of(operands) if operands and not check_flag.value else None

        def steps(tag: int) -> algorithms.Steps:
            # With the check, engines would match collectives by the order of their starts, which is now that of the
            # answers.
            native = _no_native if check_flag.value or not name else self.channel.native
            places = {s.device.place for s in (*reads, *writes) if s is not None and s.device is not None}
            if places and all(map(self.channel.can_access, places)):
                request = native(name, *(s.buffer for s in operands), *args)
                if request is not None:
                    yield [request]
                    return
            if link is not None:
                request = link.start(operands[0].stream, name, *(s.buffer for s in operands), *args)
                if request is not None:
                    yield [request]
                    return
            for staged in reads:
                if staged is not None:
                    staged.copy_to_host()
            request = native(name, *(s.array for s in operands), *args)
            if request is None:
                yield from messages(tag)
            else:
                yield [request]
            for staged in writes:
                if staged is not None:
                    staged.write_back()

        return steps

    def all_reduce(self, out: Data, x: Data, op: str = "sum") -> Task:
        """All-reduce: ``x`` of all ranks combined by ``op``, on every rank; ``out`` may be ``x``."""
        a, b = StagedArray(out), StagedArray(x)

        def messages(tag: int) -> algorithms.Steps:
            return algorithms.all_reduce(self.channel, a.array, b.array, op, tag)

        return self._start(
            "all_reduce", self._collective_steps("all_reduce", [b], [a], [a, b], [op], messages), *described(x), op
        )

    def reduce(self, out: Data, x: Data, root: int, op: str = "sum") -> Task:
        """Reduce: ``x`` of all ranks combined by ``op``, on rank ``root``; elsewhere ``out`` is not written."""
        a, b = StagedArray(out), StagedArray(x)
        writes = [a] if self.rank == root else []

        def messages(tag: int) -> algorithms.Steps:
            return algorithms.all_reduce(self.channel, a.array, b.array, op, tag, root)

        steps = self._collective_steps("reduce", [b], writes, [a, b], [root, op], messages)
        return self._start("reduce", steps, *described(x), op, f"to {root}")

    def reduce_scatter(self, out: Data, x: Data, op: str = "sum") -> Task:
        """Reduce-scatter: ``x`` of all ranks combined by ``op``, of which rank r gets the r-th of equal parts."""
        a = StagedArray(out)
        b = StagedArray(x).without_overlap(a)
        self._check_parts("reduce_scatter", a, b)

        def messages(tag: int) -> algorithms.Steps:
            return algorithms.reduce_scatter(self.channel, a.array, b.array, op, tag)

        steps = self._collective_steps("reduce_scatter", [b], [a], [a, b], [op], messages)
        return self._start("reduce_scatter", steps, *described(x), op)

    def all_gather(self, out: Data, x: Data) -> Task:
        """All-gather: ``x`` of all ranks, one after the other."""
        a = StagedArray(out)
        b = StagedArray(x).without_overlap(a)
        self._check_parts("all_gather", b, a)

        def messages(tag: int) -> algorithms.Steps:
            return algorithms.gather(self.channel, a.array, b.array, None, tag)

        return self._start(
            "all_gather", self._collective_steps("all_gather", [b], [a], [a, b], [], messages), *described(x)
        )

    def gather(self, out: Data | None, x: Data, root: int) -> Task:
        """Gather: ``x`` of all ranks, one after the other, on rank ``root`` alone; elsewhere ``out`` may be None."""
        a, b = None if out is None else StagedArray(out), StagedArray(x)
        if self.rank == root:
            self._check_parts("gather", b, a)

        def messages(tag: int) -> algorithms.Steps:
            return algorithms.gather(self.channel, None if a is None else a.array, b.array, root, tag)

        writes = [a] if self.rank == root else []
        return self._start(
            "gather", self._collective_steps("", [b], writes, [], [], messages), *described(x), f"to {root}"
        )

    def scatter(self, out: Data, x: Data | None, root: int) -> Task:
        """Scatter: part r of ``x`` of rank ``root``, on rank r; ``x`` may be None on other ranks."""
        a, b = StagedArray(out), None if x is None else StagedArray(x)
        if self.rank == root:
            self._check_parts("scatter", a, b)

        def messages(tag: int) -> algorithms.Steps:
            return algorithms.scatter(self.channel, a.array, None if b is None else b.array, root, tag)

        reads = [b] if self.rank == root else []
        steps = self._collective_steps("", reads, [a], [], [], messages)
        return self._start("scatter", steps, *described(out), f"from {root}")

    def broadcast(self, x: Data, root: int) -> Task:
        """Broadcast: ``x`` of rank ``root``, on every rank, in place."""
        a = StagedArray(x)
        reads, writes = ([a], []) if self.rank == root else ([], [a])

        def messages(tag: int) -> algorithms.Steps:
            return algorithms.broadcast(self.channel, a.array, root, tag)

        steps = self._collective_steps("broadcast", reads, writes, [a], [root], messages)
        return self._start("broadcast", steps, *described(x), f"from {root}")

    def all_to_all(self, out: Data, x: Data) -> Task:
        """All-to-all: part r of the equal parts of ``x`` goes to rank r; ``out`` joins the parts received."""
        a = StagedArray(out)
        b = StagedArray(x).without_overlap(a)
        if a.size != b.size or a.size % self.size:
            need = f"out of the size of x, a multiple of {self.size}"
            raise op_error(ValueError, "all_to_all", need, f"{a.size} and {b.size}")
        each = [b.size // self.size] * self.size

        def messages(tag: int) -> algorithms.Steps:
            return algorithms.all_to_all(self.channel, a.array, b.array, each, each, tag)

        return self._start(
            "all_to_all", self._collective_steps("all_to_all", [b], [a], [a, b], [], messages), *described(x)
        )

    def all_to_all_sized(self, out: Data, x: Data, sent: Sequence[int], received: Sequence[int]) -> Task:
        """All-to-all of uneven parts: ``sent[r]`` rows of ``x`` go to rank r, ``received[r]`` come from it."""
        rows = x.shape[0], out.shape[0]
        if (sum(sent), sum(received), len(sent), len(received)) != (*rows, self.size, self.size):
            need = f"rows for and from {self.size} ranks that add up to {rows[0]} and {rows[1]}"
            raise op_error(ValueError, "all_to_all_sized", need, f"{list(sent)} and {list(received)}")
        row = int(np.prod(x.shape[1:], dtype=int))
        counts = [n * row for n in sent], [n * row for n in received]
        a = StagedArray(out)
        b = StagedArray(x).without_overlap(a)

        def messages(tag: int) -> algorithms.Steps:
            return algorithms.all_to_all(self.channel, a.array, b.array, *counts, tag)

        dtype, shape = described(x)
        return self._start(
            "all_to_all_sized",
            self._collective_steps("all_to_all_sized", [b], [a], [a, b], counts, messages),
            dtype,
            shape[1:],
        )

    def permute(self, out: Data, x: Data, pairs: Sequence[tuple[int, int]]) -> Task:
        """Permute: send ``x`` from rank a to rank b for each pair of indices."""
        a = StagedArray(out)
        b = StagedArray(x).without_overlap(a)

        def messages(tag: int) -> algorithms.Steps:
            return algorithms.permute(self.channel, a.array, b.array, pairs, tag)

        return self._start(
            "permute", self._collective_steps("permute", [b], [a], [a, b], [pairs], messages), *described(x), pairs
        )

    def barrier(self) -> Task:
        """Barrier: complete once every rank has started it."""
        return self._start(
            "barrier",
            self._collective_steps("barrier", [], [], [], [], lambda tag: algorithms.barrier(self.channel, tag)),
        )

    def _check_parts(self, op_name: str, part: StagedArray, joined: StagedArray | None) -> None:
        if joined is None or joined.size != part.size * self.size or joined.dtype != part.dtype:
            need = f"{self.size} parts of {part.size} {part.dtype}"
            raise op_error(ValueError, op_name, need, "None" if joined is None else f"{joined.size} {joined.dtype}")

    # Between two ranks

    def _peer(self, op_name: str, peer: int) -> None:
        if not 0 <= peer < self.size:
            raise op_error(ValueError, op_name, f"a rank of the group below {self.size}", peer)

    def _message(
        self,
        op_name: str,
        start: Callable[[np.ndarray, int, int], Any],
        reads: Sequence[StagedArray],
        writes: Sequence[StagedArray],
        peer: int,
        tag: int,
    ) -> Task:
        self._peer(op_name, peer)
        if not USER <= tag < OBJECTS:
            raise op_error(ValueError, op_name, f"a tag from {USER} to {OBJECTS - 1}", tag)
        (staged,) = (*reads, *writes)

        def message(_: int) -> algorithms.Steps:
            yield [start(algorithms.bytes_of(staged.array), peer, tag)]

        library = None if check_flag.value else self.device_messages.library(staged, peer, tag)
        if library is not None:
            assert staged.device is not None
            steps = (self.device_messages.send if reads else self.device_messages.recv)(library, staged.device, peer)
        else:
            steps = self._collective_steps("", reads, writes, [], [], message)(tag)
        task = Task(self, f"{op_name} {self.ranks[peer]} (group {self.name!r})", steps)
        if task._steps is not None:
            self._open[id(task)] = task
        return task

    def send(self, x: Data, peer: int, tag: int = 0) -> Task:
        """Send ``x`` to the rank at index ``peer``. ``x`` must not change until the task is complete."""
        return self._message("send to rank", self.channel.send, [StagedArray(x)], [], peer, tag)

    def recv(self, x: Data, peer: int, tag: int = 0) -> Task:
        """Receive into ``x`` from the rank at index ``peer``."""
        return self._message("recv from rank", self.channel.recv, [], [StagedArray(x)], peer, tag)

    # Objects

    def send_object(self, obj: Any, peer: int) -> None:
        """Send a Python object to the rank at index ``peer``; returns once it has left."""
        self._peer("send_object", peer)
        raw = np.frombuffer(pickle.dumps(obj, protocol=5), np.uint8)
        size = np.array([raw.size], np.int64)

        def steps() -> algorithms.Steps:
            yield [self.channel.send(algorithms.bytes_of(size), peer, OBJECTS), self.channel.send(raw, peer, OBJECTS)]

        Task(self, f"send_object to rank {self.ranks[peer]}", steps()).wait()

    def recv_object(self, peer: int) -> Any:
        """Receive the next Python object from the rank at index ``peer``."""
        self._peer("recv_object", peer)
        got: list[np.ndarray] = []

        def steps() -> algorithms.Steps:
            size = np.zeros(1, np.int64)
            yield [self.channel.recv(algorithms.bytes_of(size), peer, OBJECTS)]
            got.append(np.empty(int(size[0]), np.uint8))
            yield [self.channel.recv(got[0], peer, OBJECTS)]

        Task(self, f"recv_object from rank {self.ranks[peer]}", steps()).wait()
        return pickle.loads(got[0].data)

    def gather_objects(self, obj: Any) -> list[Any]:
        """The objects of all ranks, on every rank."""
        raw = np.frombuffer(pickle.dumps(obj, protocol=5), np.uint8)
        sizes = np.empty(self.size, np.int64)
        self.all_gather(sizes, np.array([raw.size], np.int64)).wait()
        received = np.empty(int(sizes.sum()), np.uint8)
        ends = np.cumsum([0, *sizes])

        def steps(tag: int) -> algorithms.Steps:
            ch, me = self.channel, self.rank
            others = [(me + d) % self.size for d in range(1, self.size)]
            come = [ch.recv(received[ends[p] : ends[p + 1]], p, tag) for p in others]
            received[ends[me] : ends[me + 1]] = raw
            yield [*come, *(ch.send(raw, p, tag) for p in others)]

        self._start("gather_objects", steps).wait()
        return [pickle.loads(received[a:b].data) for a, b in zip(ends, ends[1:])]

    def broadcast_object(self, obj: Any, root: int) -> Any:
        """The object of rank ``root``, on every rank."""
        self._peer("broadcast_object", root)
        raw = np.frombuffer(pickle.dumps(obj, protocol=5), np.uint8) if self.rank == root else np.empty(0, np.uint8)
        size = np.array([raw.size], np.int64)
        self.broadcast(size, root).wait()
        data = raw.copy() if self.rank == root else np.empty(int(size[0]), np.uint8)
        self.broadcast(data, root).wait()
        return obj if self.rank == root else pickle.loads(data.data)

    def scatter_objects(self, objs: Sequence[Any] | None, root: int) -> Any:
        """Object r of what rank ``root`` has, on rank r."""
        self._peer("scatter_objects", root)
        if self.rank != root:
            return self.recv_object(root)
        if objs is None or len(objs) != self.size:
            got = "None" if objs is None else len(objs)
            raise op_error(ValueError, "scatter_objects", f"{self.size} objects on rank {root}", got)
        for peer, obj in enumerate(objs):
            if peer != root:
                self.send_object(obj, peer)
        return objs[root]

    def exchange(self, messages: Sequence[tuple[bool, Tensor, int]]) -> Task | None:
        """Start messages together by the library of the device that all their tensors lie on: (whether it is sent, a
        contiguous tensor, the index of the peer) each. None where there is no such library, and nothing is started."""
        for _, _, peer in messages:
            self._peer("exchange", peer)
        staged = [StagedArray(x) for _, x, _ in messages]
        link = self.device_links.of(staged)
        if link is None:
            return None
        given = [(sends, s.buffer, peer) for (sends, _, peer), s in zip(messages, staged)]
        request = link.exchange(staged[0].stream, given)
        if request is None:
            return None

        def steps() -> algorithms.Steps:
            yield [request]

        task = Task(self, f"exchange of {len(given)} messages (group {self.name!r})", steps())
        if task._steps is not None:
            self._open[id(task)] = task
        return task

    def close(self) -> None:
        """Release what the transport and libraries of devices hold for the group."""
        self.device_messages.close()
        self.device_links.close()
        self.channel.close()


def _no_native(name: str, *args: Any) -> None:
    """Stand-in for native collectives where none may be used."""
