"""The simulator: virtual ranks have real data and a state of their own; what goes wrong is said at once."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import paddle
from umiak import comm
from umiak.core import context


def total(n: int = 5) -> list[float]:
    group = comm.world()
    x = np.full(n, group.rank + 1.0)
    group.all_reduce(x, x).wait()
    return x.tolist()


@pytest.mark.parametrize("ranks", [1, 2, 5, 64])
def test_results_come_in_the_order_of_ranks(ranks):
    assert comm.simulate(lambda: (comm.world().rank, comm.world().size), ranks) == [(r, ranks) for r in range(ranks)]
    assert comm.simulate(total, ranks, 3) == [[ranks * (ranks + 1) / 2] * 3] * ranks


@pytest.mark.parametrize("ranks", [0, 65, -1])
def test_as_many_ranks_as_there_may_be(ranks):
    with pytest.raises(ValueError, match=r"^\[simulate\] requires 1 to 64 ranks"):
        comm.simulate(total, ranks)


def test_the_caller_keeps_its_groups():
    comm.simulate(total, 2)
    assert comm.world().size == 1 and threading.current_thread() is threading.main_thread()


def test_groups_are_made_again_after_their_end():
    def work():
        found = []
        for _ in range(2):
            comm.world().send(np.ones(1), 1 - comm.world().rank, 7).wait()  # nobody takes it
            pair = comm.new([1, 0])
            found += pair.gather_objects((comm.world().rank, pair.name))
            comm.destroy()
        return found

    assert comm.simulate(work, 2) == [[(1, "group1"), (0, "group1")] * 2] * 2


def test_messages_keep_their_order_and_are_copied():
    def work():
        group, got = comm.world(), [np.zeros(2), np.zeros(2)]
        if group.rank == 0:
            x = np.zeros(2)
            for i in range(4):
                x[:] = i
                group.send(x, 1).wait()
            return None
        first, second = group.recv(got[0], 0), group.recv(got[1], 0)
        second.wait()
        first.wait()
        rest = [np.zeros(2) for _ in range(2)]
        for x in rest:
            group.recv(x, 0).wait()
        return np.stack([*got, *rest])[:, 0].tolist()

    assert comm.simulate(work, 2)[1] == [0, 1, 2, 3]


# --- state of ranks ---------------------------------------------------------------------------------------------------


def test_seeds_names_modes_and_dtypes_are_each_ranks_own():
    def work():
        rank = comm.world().rank
        if rank == 0:
            paddle.seed(11)
            paddle.set_default_dtype("float64")
            paddle.nn.Linear(2, 2)
        comm.world().barrier().wait()
        if rank == 1:
            paddle.seed(11)
            first = paddle.rand([3]).numpy()
            with paddle.no_grad(), paddle.amp.auto_cast(dtype="bfloat16", level="O2"):
                comm.world().barrier().wait()
                modes = paddle.is_grad_enabled(), context.current().amp()[0]
                comm.world().barrier().wait()
        else:
            comm.world().barrier().wait()
            modes = paddle.is_grad_enabled(), context.current().amp()[0]
            comm.world().barrier().wait()
            first = paddle.rand([3]).numpy()
        names = paddle.nn.Linear(2, 2).weight.name
        return first.tolist(), first.dtype.name, paddle.get_default_dtype(), modes, names

    before = paddle.get_default_dtype(), context.current().state.values["seed"]
    zero, one, two = comm.simulate(work, 3)
    assert (zero[1:3], one[1:3], two[1:3]) == (("float64",) * 2, ("float32",) * 2, ("float32",) * 2)
    assert (zero[3], one[3], two[3]) == ((True, 0), (False, 2), (True, 0))
    assert zero[4] != one[4] == two[4]
    assert one[0] != two[0]
    assert (paddle.get_default_dtype(), context.current().state.values["seed"]) == before
    again = comm.simulate(work, 3)
    assert again == [zero, one, two]


def test_observers_see_their_own_rank_alone():
    from umiak.runtime.observe import observe

    def work():
        seen: list[str] = []
        rank = comm.world().rank
        x = paddle.ones([2])
        if rank == 0:
            with observe(lambda op, operands, params, results: seen.append(op.name)):
                comm.world().barrier().wait()
                x + x
                comm.world().barrier().wait()
        else:
            comm.world().barrier().wait()
            x * x
            comm.world().barrier().wait()
        return seen

    assert comm.simulate(work, 3) == [["add"], [], []]


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_a_deadlock_is_seen_at_once():
    texts: dict[int, str] = {}

    def work():
        group = comm.world()
        x = np.zeros(3)
        try:
            if group.rank == 0:
                group.recv(x, 2).wait()
            elif group.rank == 1:
                group.all_reduce(x, x).wait()
            elif group.rank == 2:
                pair = comm.new([2, 3])
                pair.barrier().wait()
            else:
                comm.new([2, 3])
        except comm.CommError as error:
            texts[group.rank] = str(error)
            raise

    start = time.monotonic()
    with pytest.raises(comm.CommError):
        comm.simulate(work, 4)
    assert time.monotonic() - start < 60  # no time limit was waited for
    assert sorted(texts) == [0, 1, 2]
    for text in texts.values():
        assert "all wait, and nothing can move" in text
        assert "rank 0 waits in recv from rank 2 (group 'world') for rank 2" in text
        assert "rank 1 waits in all_reduce (call 0 of group 'world') for ranks 0, 2, 3" in text
        assert "rank 2 waits in barrier (call 0 of group 'group1') for rank 3" in text
        assert "rank 3 has ended" in text


def test_a_rank_that_fails_ends_the_others_and_is_named():
    texts: dict[int, str] = {}

    def work():
        rank = comm.world().rank
        if rank == 2:
            raise KeyError("lost") from ValueError("the reason")
        try:
            total()
        except comm.CommError as error:
            texts[rank] = str(error)
            if rank == 1:
                raise OSError("its own") from error
            raise

    with pytest.raises(KeyError, match="lost") as caught:
        comm.simulate(work, 4)
    report = caught.value.__cause__
    assert isinstance(report, comm.CommError) and isinstance(report.__cause__, ValueError)
    assert "rank 2 of 4 failed" in str(report)
    assert "rank 2 failed: KeyError: 'lost'" in str(report) and "rank 1 failed: OSError: its own" in str(report)
    assert "waiting in vain: ranks 0, 3" in str(report)
    assert sorted(texts) == [0, 1, 3]
    for rank, text in texts.items():
        assert (
            text == f"[all_reduce (call 0 of group 'world')] rank {rank} cannot go on: rank 2 failed: KeyError: 'lost'"
        )


def test_what_takes_too_long_is_named():
    def work():
        if comm.world().rank == 1:
            gate.wait(60)
        comm.world().barrier().wait()

    for seconds in (0.5, 5.0, 50.0):  # rank 0 may come late on a busy machine
        gate = threading.Event()
        with pytest.raises(comm.CommError, match=rf"requires 2 ranks to end in {seconds} s") as caught:
            comm.simulate(work, 2, timeout=seconds)
        gate.set()
        if "rank 0 waits" in str(caught.value):
            break
    assert "rank 0 waits in barrier" in str(caught.value) and "rank 1 is in " in str(caught.value)


def test_an_operation_has_its_own_time_limit():
    def work():
        group = comm.world()
        if group.rank == 1:
            gate.wait(60)
            return
        task = group.barrier()
        try:
            task.wait(timeout=0.1)
        finally:
            gate.set()

    gate = threading.Event()
    with pytest.raises(
        comm.CommError, match=r"barrier .* rank 0 has waited .*: rank 1 has made 0 calls of the group and is in "
    ):
        comm.simulate(work, 2)


def test_a_message_of_another_size_is_refused():
    def work(n):
        group = comm.world()
        x = np.zeros(n if group.rank else 4)
        (group.send(x, 0) if group.rank else group.recv(x, 1)).wait()

    for n in (3, 5):
        text = rf"\[recv from rank 1 .* rank 0 expects 32 bytes from rank 1, which sent {8 * n} bytes"
        with pytest.raises(comm.CommError, match=text):
            comm.simulate(work, 2, n)


def test_disagreeing_ranks_are_told_apart():
    def work():
        group = comm.world()
        x = np.zeros(4 if group.rank != 1 else 5, np.float32)
        group.all_reduce(x, x).wait()

    paddle.set_flags({"FLAGS_check_collectives": True})
    try:
        with pytest.raises(
            comm.CommError, match=r"the ranks disagree: .*rank 1 calls all_reduce\(float32, \(5,\), sum\)"
        ):
            comm.simulate(work, 1 + 2)
    finally:
        paddle.set_flags({"FLAGS_check_collectives": False})


# --- many threads on one engine ---------------------------------------------------------------------------------------


def train(steps: int) -> list[np.ndarray]:
    """The same on every rank: the gradients of equal data, averaged over ranks."""
    group = comm.world()
    paddle.seed(5)
    model = paddle.nn.Sequential(
        paddle.nn.Linear(6, 16),
        paddle.nn.GELU(),
        paddle.nn.LayerNorm(16),
        paddle.nn.Dropout(0.2),
        paddle.nn.Linear(16, 3),
    )
    optimizer = paddle.optimizer.AdamW(
        1e-2, parameters=model.parameters(), grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)
    )
    for i in range(steps):
        x = paddle.randn([4 + i % 3, 6])
        y = paddle.randint(0, 3, [4 + i % 3])
        with paddle.amp.auto_cast(enable=i % 2 == 1, dtype="bfloat16"):
            loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        for p in model.parameters():
            g = p.grad.numpy()
            mean = np.empty_like(g)
            group.all_reduce(mean, g, "max").wait()
            p.grad.set_value(mean)
        optimizer.step()
        optimizer.clear_grad()
    return [p.numpy() for p in model.parameters()]


def test_training_on_eight_ranks_is_bit_for_bit_that_of_one():
    (alone,) = comm.simulate(train, 1, 12)
    for found in comm.simulate(train, 8, 12):
        for a, b in zip(alone, found, strict=True):
            np.testing.assert_array_equal(a, b)


def test_ranks_meet_new_ops_at_once():
    """64 threads plan, compile and launch what nobody has run before."""

    def work():
        comm.world().barrier().wait()
        x = paddle.to_tensor(np.linspace(-1, 1, 7 * 13, dtype=np.float32).reshape(7, 13), stop_gradient=False)
        y = (paddle.tanh(x * 1.25 + 0.5) * paddle.exp(x - 0.25)).cumsum(1).sum(0)
        (y * y).sum().backward()
        return y.numpy(), x.grad.numpy()

    found = comm.simulate(work, 64)
    for y, g in found[1:]:
        np.testing.assert_array_equal(y, found[0][0])
        np.testing.assert_array_equal(g, found[0][1])
