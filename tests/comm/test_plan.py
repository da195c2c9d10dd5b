"""Plans of many ranks: what is noted is what is sent, and classes that disagree are found."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from umiak import comm
from umiak import ops as F
from umiak.comm import mailbox
from umiak.core import context


def operations(group: comm.Group, n: int) -> dict:
    x, whole, part = np.zeros(12 * n, np.int32), np.zeros(12 * n * n, np.int32), np.zeros(12, np.int32)
    rows, pairs = list(range(n)), [(i, (i + 1) % n) for i in range(n - 1)]
    return {
        "all_reduce": lambda: group.all_reduce(x.copy(), x),
        "reduce": lambda: group.reduce(x.copy(), x, n - 1),
        "reduce_scatter": lambda: group.reduce_scatter(part, x),
        "all_gather": lambda: group.all_gather(whole, x),
        "gather": lambda: group.gather(whole, x, 0),
        "scatter": lambda: group.scatter(part, x, n // 2),
        "broadcast": lambda: group.broadcast(x, n // 3),
        "all_to_all": lambda: group.all_to_all(x.copy(), x),
        "all_to_all_sized": lambda: group.all_to_all_sized(
            np.zeros((group.rank * n, 3)), np.zeros((sum(rows), 3)), rows, [group.rank] * n
        ),
        "permute": lambda: group.permute(x.copy(), x, pairs),
        "send": lambda: group.send(x, (group.rank + 1) % n),
        "recv": lambda: group.recv(x, (group.rank - 1) % n),
    }


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6])
def test_planned_bytes_are_those_that_are_sent(ranks, monkeypatch):
    sent: dict[tuple[str, int, str], int] = {}
    now: dict[int, str] = {}

    def deliver(self, x, key, source, target, tag):
        for rank, way in ((source, "sent"), (target, "received")):
            if source != target:
                case = now[source], rank, way
                sent[case] = sent.get(case, 0) + x.size
        real(self, x, key, source, target, tag)

    def work():
        group = comm.world()
        tasks = []
        for name, start in operations(group, ranks).items():
            now[group.rank] = name
            tasks.append(start())
            if name not in ("send", "recv"):
                tasks.pop().wait()
            now[group.rank] = ""
            group.barrier().wait()
        for task in tasks:
            task.wait()

    real = mailbox.Job.deliver
    monkeypatch.setattr(mailbox.Job, "deliver", deliver)
    comm.simulate(work, ranks)

    def planned():
        for start in operations(comm.world(), ranks).values():
            start().wait()

    for made in comm.plan_ranks(planned, ranks, classes=lambda rank: rank).classes:
        for call in made.calls:
            if ranks == 1 and call.name in ("send", "recv"):
                continue
            found = [sent.get((call.name, made.rank, way), 0) for way in ("sent", "received")]
            if call.name in ("send", "recv"):  # the message of one is that of the other
                found = [sent["send", made.rank, "sent"], 0] if call.name == "send" else [0, call.received]
            assert [call.sent, call.received] == found, (call, made.rank)


def own(all_ranks) -> comm.Group:
    """The one of some groups that this rank is in."""
    (mine,) = [g for ranks in list(all_ranks) if (g := comm.new(ranks)) is not None]
    return mine


def train(batch: int = 4):
    """Columns over eight ranks, and data parallel over the rest."""
    world = comm.world()
    columns = own(range(start, start + 8) for start in range(0, world.size, 8))
    data = own(range(start, world.size, 8) for start in range(8))
    model = paddle.nn.Sequential(paddle.nn.Linear(16, 64), paddle.nn.GELU(), paddle.nn.Linear(64, 16))
    optimizer = paddle.optimizer.SGD(parameters=model.parameters())
    x = F.copy_to_group(paddle.randn([batch, 16]), group=columns.name, size=8)
    F.all_reduce(model(x), group=columns.name, size=8).mean().backward()
    for p in model.parameters():
        p.grad = F.all_reduce(p.grad, group=data.name, size=data.size)
    optimizer.step()
    return columns.ranks, data.size, paddle.distributed.get_world_size()


def test_thousands_of_ranks():
    before = paddle.get_device(), comm.world().size, context.current()
    plan = comm.plan_ranks(train, 4096, classes=lambda rank: rank % 8)
    assert (paddle.get_device(), comm.world().size, context.current()) == before
    assert [(c.key, c.rank, c.count) for c in plan.classes] == [(r, r, 512) for r in range(8)]
    weights = (16 * 64 + 64 + 64 * 16 + 16) * 4
    for c in plan.classes:
        assert c.result == (tuple(range(8)), 512, 4096)
        assert [str(call) for call in c.calls] == [
            "all_reduce(float32, (4, 16), sum)",
            "all_reduce(float32, (16, 64), sum)",
            "all_reduce(float32, (64,), sum)",
            "all_reduce(float32, (64, 16), sum)",
            "all_reduce(float32, (16,), sum)",
        ]
        assert (
            c.sent == c.received == sum(2 * (b - b // n) for b, n in zip((256, 4096, 256, 4096, 64), (8, *[512] * 4)))
        )
        assert c.peak >= 2 * weights and c.launches > 20
    assert plan.total("sent") == 4096 * plan.classes[0].sent
    assert str(plan).splitlines()[-1].split()[:3] == ["all", "4096", str(5 * 4096)]


def test_gradients_of_collectives_are_planned():
    def work():
        x = paddle.ones([8, 2])
        x.stop_gradient = False
        F.reduce_scatter(x, group="world", size=4).sum().backward()
        return x.grad.shape

    (made,) = comm.plan_ranks(work, 4).classes
    assert [c.name for c in made.calls] == ["reduce_scatter", "all_gather"] and made.result == [8, 2]


def test_the_memory_of_a_class_is_its_own():
    def work():
        return paddle.zeros([1000 * (1 + comm.world().rank)]) + 1.0

    small, large = comm.plan_ranks(work, 2, classes=lambda rank: rank).classes
    assert 2 * small.peak == large.peak == 16000


def pipeline(wrong: int = 0):
    """Two stages of four ranks each, who hand on and average."""
    world = comm.world()
    stage, x = divmod(world.rank, 4)[0], paddle.zeros([5, 2 + wrong * (world.rank >= 4)])
    mine = own(range(start, start + 4) for start in (0, 4))
    if stage == 0:
        paddle.distributed.send(x, world.rank + 4)
    else:
        paddle.distributed.recv(x, world.rank - 4)
    F.all_reduce(paddle.zeros([stage + 1]), group=mine.name, size=4)
    F.all_reduce(paddle.zeros([3]), group="world", size=8)


def test_messages_between_classes_match():
    stage = {0: "first", 1: "last"}
    plan = comm.plan_ranks(pipeline, 8, classes=lambda rank: stage[rank // 4])
    assert [(c.key, c.calls[0].name) for c in plan.classes] == [("first", "send"), ("last", "recv")]
    text = "from class 'first' to class 'last': 4 messages more are sent of 40 bytes of float32; 4 .* expected of 60 "
    with pytest.raises(comm.CommError, match=text):
        comm.plan_ranks(pipeline, 8, 1, classes=lambda rank: stage[rank // 4])


def test_classes_that_disagree_are_named():
    def work():
        rank = comm.world().rank
        F.all_reduce(paddle.zeros([3]), group="world", size=6)
        if rank % 2:
            F.all_reduce(paddle.zeros([4]), group="world", size=6)
        else:
            F.all_gather(paddle.zeros([4]), group="world", size=6)

    text = (
        r"collective 1 of group 'world': class 'even' \(rank 0\) calls all_gather\(float32, \(4,\)\), "
        r"class 'odd' \(rank 1\) calls all_reduce\(float32, \(4,\), sum\)"
    )
    with pytest.raises(comm.CommError, match=text):
        comm.plan_ranks(work, 6, classes=lambda rank: "odd" if rank % 2 else "even")


def test_a_class_that_stops_early_is_named():
    def work():
        if comm.world().rank < 3:
            comm.world().barrier().wait()

    with pytest.raises(comm.CommError, match=r"class 0 \(rank 0\) calls barrier\(\), class 1 \(rank 3\) calls nothing"):
        comm.plan_ranks(work, 6, classes=lambda rank: rank // 3)


def test_groups_that_play_one_part_are_compared():
    """Rank 5 of class `odd` stands in no group with rank 0; its own group of that pattern speaks for it."""

    def work(wrong):
        world = comm.world()
        mine = own([[0, 1], [2, 3], [4, 5]])
        size = 2 + (wrong and world.rank == 5)
        mine.all_reduce(np.zeros(size), np.zeros(size))
        return mine.ranks

    def kind(rank):
        return ("even", "odd", "even", "odd", "last", "odd of last")[rank]

    plan = comm.plan_ranks(work, 6, False, classes=kind)
    assert [c.result for c in plan.classes] == [(0, 1), (0, 1), (4, 5), (4, 5)]
    with pytest.raises(
        comm.CommError, match=r"class 'last' \(rank 4\) calls .*\(2,\).* class 'odd of last' \(rank 5\)"
    ):
        comm.plan_ranks(work, 6, True, classes=kind)


def test_objects_are_ones_own():
    def work():
        world = comm.world()
        return world.gather_objects(world.rank), world.broadcast_object(7, 2)

    assert comm.plan_ranks(work, 3).classes[0].result == ([0, 0, 0], 7)
    with pytest.raises(comm.CommError, match="requires data, which a plan has not"):
        comm.plan_ranks(lambda: comm.world().recv_object(1), 3)
    with pytest.raises(ValueError, match="at least one rank"):
        comm.plan_ranks(work, 0)
