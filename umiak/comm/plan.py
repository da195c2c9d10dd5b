"""Dry run of thousands of ranks: the messages they would exchange, without data and without the ranks.

Ranks of one class do the same, so one of each runs, on tensors of the `null` place, and what it asks of its groups is
noted. Groups of two classes are the same group to both, or play the same part: the classes of their ranks tell which.
"""

from __future__ import annotations

import gc
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from umiak import memory
from umiak.comm import groups
from umiak.comm.errors import CommError
from umiak.comm.group import Group
from umiak.comm.staging import Data, described, nbytes
from umiak.comm.task import Task
from umiak.core import context, stream
from umiak.core.generator import seed_all
from umiak.core.place import Place
from umiak.util.errors import op_error

MESSAGES = ("send", "recv")


@dataclass(frozen=True)
class Call:
    """One operation that a rank asks of a group. ``said``: what ranks must agree on beside dtype and shape."""

    group: str
    name: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    said: tuple[Any, ...] = ()
    sent: int = 0  # bytes that leave the rank
    received: int = 0

    def __str__(self) -> str:
        words = [self.dtype, self.shape] if self.dtype else []
        return f"{self.name}({', '.join(map(str, [*words, *self.said]))})"


@dataclass
class Role:
    """A group as one rank sees it, with what the rank asks of it."""

    ranks: tuple[int, ...]
    calls: list[Call] = field(default_factory=list)


@dataclass
class ClassPlan:
    """Communication of each rank of a class."""

    key: Hashable
    rank: int  # the one that ran
    count: int  # how many there are
    result: Any = None
    calls: list[Call] = field(default_factory=list)
    roles: dict[str, Role] = field(default_factory=dict)  # by the group's name, in the order of creation
    peak: int = 0  # bytes of tensors at the worst moment
    launches: int = 0  # kernels

    @property
    def sent(self) -> int:
        """Bytes that leave a rank."""
        return sum(c.sent for c in self.calls)

    @property
    def received(self) -> int:
        """Bytes that come to a rank."""
        return sum(c.received for c in self.calls)


@dataclass
class Plan:
    """Communication of all ranks. ``str`` formats it as a table."""

    ranks: int
    classes: list[ClassPlan]

    def total(self, cost: str) -> int:
        """The sum over all ranks of a number of a class: ``"sent"``, ``"received"``, ``"launches"``, ``"peak"``."""
        return sum(c.count * getattr(c, cost) for c in self.classes)

    def __str__(self) -> str:
        lines = [f"{'class':24} {'ranks':>7} {'calls':>7} {'sent MB':>12} {'received MB':>12} {'peak MB':>12} launches"]
        for c in self.classes:
            mb = f"{c.sent / 1e6:12.3f} {c.received / 1e6:12.3f} {c.peak / 1e6:12.3f}"
            lines.append(f"{c.key!s:24.24} {c.count:7} {len(c.calls):7} {mb} {c.launches:8}")
        mb = f"{self.total('sent') / 1e6:12.3f} {self.total('received') / 1e6:12.3f} {'':12}"
        calls = sum(c.count * len(c.calls) for c in self.classes)
        return "\n".join([*lines, f"{'all':24} {self.ranks:7} {calls:7} {mb} {self.total('launches'):8}"])


class PlannedChannel:
    """A channel on which nothing is sent."""

    def __init__(self, rank: int, ranks: Sequence[int], plan: ClassPlan) -> None:
        self.rank, self.size, self.ranks, self.plan = rank, len(ranks), ranks, plan

    def split(self, ranks: Iterable[int], name: str) -> PlannedChannel:
        chosen = list(ranks)
        return PlannedChannel(chosen.index(self.ranks[self.rank]), [self.ranks[r] for r in chosen], self.plan)

    def make(self, *args: Any, **options: Any) -> PlannedGroup:
        """Groups over such channels."""
        return PlannedGroup(self, *args, **options)

    def native(self, name: str, *args: Any) -> None:
        return None

    def can_access(self, place: Place) -> bool:
        return False

    def send(self, x: np.ndarray, peer: int, tag: int) -> Any:
        raise AssertionError("a planned group sends nothing")

    recv = send

    def pause(self, waited: float, description: str) -> None:
        raise AssertionError("a planned group waits for nothing")

    def close(self) -> None:
        pass


class PlannedGroup(Group):
    """A group that notes what is asked of it. Of arrays it reads shapes and dtypes only, and writes none.

    Objects of other ranks are taken to be like the rank's own.
    """

    planned = True

    def __init__(self, channel: PlannedChannel, *args: Any, **options: Any) -> None:
        super().__init__(channel, *args, **options)
        self._plan = channel.plan
        self._role = channel.plan.roles[self.name] = Role(self.ranks)

    def _note(self, name: str, x: Any, sent: int, received: int, *said: Any) -> Task:
        if x is None:
            call = Call(self.name, name, said=said)
        else:
            call = Call(self.name, name, *described(x), said, sent, received)
        self._plan.calls.append(call)
        self._role.calls.append(call)
        return Task(self, name, iter(()))  # type: ignore[arg-type]

    def all_reduce(self, out: Data, x: Data, op: str = "sum") -> Task:
        away = nbytes(x) - nbytes(x) // self.size
        return self._note("all_reduce", x, 2 * away, 2 * away, op)

    def reduce(self, out: Data, x: Data, root: int, op: str = "sum") -> Task:
        away = nbytes(x) - nbytes(x) // self.size
        sent, received = (away, 2 * away) if self.rank == root else (nbytes(x), away)
        return self._note("reduce", x, sent * (self.size > 1), received, op, f"to {root}")

    def reduce_scatter(self, out: Data, x: Data, op: str = "sum") -> Task:
        return self._note("reduce_scatter", x, nbytes(x) - nbytes(out), nbytes(x) - nbytes(out), op)

    def all_gather(self, out: Data, x: Data) -> Task:
        return self._note("all_gather", x, (self.size - 1) * nbytes(x), (self.size - 1) * nbytes(x))

    def gather(self, out: Data | None, x: Data, root: int) -> Task:
        is_root = self.rank == root
        return self._note("gather", x, 0 if is_root else nbytes(x), (self.size - 1) * nbytes(x) * is_root, f"to {root}")

    def scatter(self, out: Data, x: Data | None, root: int) -> Task:
        is_root = self.rank == root
        return self._note(
            "scatter", out, (self.size - 1) * nbytes(out) * is_root, nbytes(out) * (not is_root), f"from {root}"
        )

    def broadcast(self, x: Data, root: int) -> Task:
        place = (self.rank - root) % self.size  # in a binomial tree, of which each bit below the lowest is a child
        lowest = place & -place if place else 1 << (self.size - 1).bit_length()
        children = sum(place + (1 << k) < self.size for k in range(lowest.bit_length() - 1))
        return self._note("broadcast", x, children * nbytes(x), nbytes(x) * (place > 0), f"from {root}")

    def all_to_all(self, out: Data, x: Data) -> Task:
        away = nbytes(x) - nbytes(x) // self.size
        return self._note("all_to_all", x, away, away)

    def all_to_all_sized(self, out: Data, x: Data, sent: Sequence[int], received: Sequence[int]) -> Task:
        row = math.prod(x.shape[1:]) * x.dtype.itemsize
        away, come = sum(sent) - sent[self.rank], sum(received) - received[self.rank]
        # The number of rows may differ from rank to rank.
        dtype, shape = described(x)
        call = Call(self.name, "all_to_all_sized", dtype, shape[1:], (), away * row, come * row)
        self._plan.calls.append(call)
        self._role.calls.append(call)
        return Task(self, "all_to_all_sized", iter(()))  # type: ignore[arg-type]

    def permute(self, out: Data, x: Data, pairs: Sequence[tuple[int, int]]) -> Task:
        sent = nbytes(x) * sum(a == self.rank != b for a, b in pairs)
        received = nbytes(x) * sum(b == self.rank != a for a, b in pairs)
        return self._note("permute", x, sent, received, tuple(pairs))

    def barrier(self) -> Task:
        return self._note("barrier", None, 0, 0)

    def send(self, x: Data, peer: int, tag: int = 0) -> Task:
        self._peer("send", peer)
        return self._note("send", x, nbytes(x), 0, peer)

    def recv(self, x: Data, peer: int, tag: int = 0) -> Task:
        self._peer("recv", peer)
        return self._note("recv", x, 0, nbytes(x), peer)

    def gather_objects(self, obj: Any) -> list[Any]:
        self._note("gather_objects", None, 0, 0)
        return [obj] * self.size

    def broadcast_object(self, obj: Any, root: int) -> Any:
        self._note("broadcast_object", None, 0, 0, f"from {root}")
        return obj

    def scatter_objects(self, objs: Sequence[Any] | None, root: int) -> Any:
        self._note("scatter_objects", None, 0, 0, f"from {root}")
        return None if objs is None else objs[self.rank]

    def send_object(self, obj: Any, peer: int) -> None:
        self._peer("send_object", peer)

    def recv_object(self, peer: int) -> Any:
        raise op_error(CommError, "recv_object", "data, which a plan has not", f"an object of rank {self.ranks[peer]}")


def plan_ranks(
    fn: Callable[..., Any], ranks: int, *args: Any, classes: Callable[[int], Hashable] = lambda rank: None
) -> Plan:
    """Run ``fn(*args)`` as one rank of each class, on tensors without data, and note what it does.

    Inside, the default place is ``null:0``, and ``comm.world()``, ``comm.new`` and ``paddle.distributed`` answer as
    among all ``ranks``. ``fn`` must not look at data.

    Args:
        fn: what a rank does.
        ranks: how many.
        classes: the class of each rank; ranks of a class do the same with the same classes of others.

    Raises:
        CommError: ranks of two classes that share a group disagree on its collectives, or send what the other does not
            receive: the text names the classes, the call and the mismatch.

    >>> import paddle
    >>> def work():
    ...     paddle.distributed.all_reduce(paddle.zeros([1000]))
    >>> plan = plan_ranks(work, 1000)
    >>> plan.classes[0].sent, plan.total("sent")
    (7992, 7992000)
    """
    if ranks < 1:
        raise op_error(ValueError, "plan_ranks", "at least one rank", ranks)
    members: dict[Hashable, list[int]] = {}
    kind: list[Hashable] = []
    for rank in range(ranks):
        key = classes(rank)
        kind.append(key)
        members.setdefault(key, []).append(rank)
    plan = Plan(ranks, [_run(fn, args, key, class_members, ranks) for key, class_members in members.items()])
    _agree(plan, kind)
    return plan


def _run(fn: Callable[..., Any], args: tuple, key: Hashable, members: list[int], ranks: int) -> ClassPlan:
    plan = ClassPlan(key, members[0], len(members))
    ctx = context.new_rank(plan.rank)
    place = Place("null", 0)
    ctx.state.place = place
    former = context.current()
    gc.collect()  # what a former class has left would be counted
    memory.reset_peaks(place)
    held, queue = memory.stats(place)["requested"], stream.stream(place.index)
    launched = queue.submitted
    ctx.activate()
    try:
        seed_all(0)
        groups.connect_by(lambda: PlannedChannel(plan.rank, range(ranks), plan))
        groups.start()
        plan.result = fn(*args)
    finally:
        former.activate()
    plan.peak = memory.stats(place)["requested_peak"] - held
    plan.launches = queue.submitted - launched
    return plan


def _agree(plan: Plan, kind: list[Hashable]) -> None:
    """Compare what classes say on the groups that they share."""
    by_class = {c.key: c for c in plan.classes}
    # The n-th group of some pattern of classes, as each class sees it
    parts: dict[Hashable, dict[tuple, Role]] = {}
    for c in plan.classes:
        seen: Counter[tuple] = Counter()
        parts[c.key] = {}
        for role in c.roles.values():
            pattern = tuple(kind[r] for r in role.ranks)
            parts[c.key][pattern, seen[pattern]] = role
            seen[pattern] += 1
    for c in plan.classes:
        for part, role in parts[c.key].items():
            for other in dict.fromkeys(part[0]):
                if other != c.key:
                    peer_role = parts[other].get(part)
                    _compare(c, role, by_class[other], peer_role)
    _match(plan, kind)


def _compare(a: ClassPlan, role_a: Role, b: ClassPlan, role_b: Role | None) -> None:
    calls = [c for c in role_a.calls if c.name not in MESSAGES]
    if role_b is None:
        if calls:
            raise CommError(
                f"[plan_ranks] class {a.key!r} (rank {a.rank}) calls {calls[0]} on a group of ranks "
                f"{_short(role_a.ranks)}, and class {b.key!r} (rank {b.rank}), which is part of it, has no such group"
            )
        return
    others = [c for c in role_b.calls if c.name not in MESSAGES]
    for i in range(max(len(calls), len(others))):
        one, two = (str(x[i]) if i < len(x) else "nothing" for x in (calls, others))
        if one != two:
            where = f"collective {i} of group {calls[i].group if i < len(calls) else others[i].group!r}"
            raise CommError(
                f"[plan_ranks] {where}: class {a.key!r} (rank {a.rank}) calls {one}, "
                f"class {b.key!r} (rank {b.rank}) calls {two}"
            )


def _match(plan: Plan, kind: list[Hashable]) -> None:
    """Check that the ranks of one class send to those of another what these receive from them."""
    flow: dict[tuple[Hashable, Hashable], dict[str, Counter[tuple]]] = defaultdict(
        lambda: {n: Counter() for n in MESSAGES}
    )
    for c in plan.classes:
        for call in c.calls:
            if call.name in MESSAGES:
                other = kind[c.roles[call.group].ranks[call.said[0]]]
                direction = (c.key, other) if call.name == "send" else (other, c.key)
                flow[direction][call.name][call.dtype, max(call.sent, call.received)] += c.count
    for (source, target), both in flow.items():
        sent, received = both["send"], both["recv"]
        if sent != received:
            many = "; ".join(
                f"{n} messages {word} of {size} bytes of {dtype}"
                for word, rest in (("more are sent", sent - received), ("more are expected", received - sent))
                for (dtype, size), n in rest.items()
            )
            raise CommError(f"[plan_ranks] from class {source!r} to class {target!r}: {many}")


def _short(ranks: Sequence[int]) -> str:
    return str(list(ranks)) if len(ranks) <= 8 else f"[{', '.join(map(str, ranks[:8]))}, …]"
