"""One rank of a side of a data-parallel comparison: ``python -m models.parallel_worker SIDE RANK,SIZE ORDERS``.

SIDE: ``ours`` (ranks are started by MPI, which numbers them) or ``peer`` (PyTorch's DistributedDataParallel over gloo).
Orders are read from the fifo ORDERS.<rank>, so that a rank that has nothing to do does not use its core. Each is a kind
and a number N; the rank answers into ORDERS.<rank>.out with the seconds of one of N: ``step``, ``compute`` (the step
without communication) or ``communication`` (the reduction of the gradients alone).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

RATE, DECAY = 1e-3, 0.01
Orders = dict[str, Callable[[], object]]


def ours() -> tuple[int, Orders]:
    from models.gpt import MODEL

    import paddle

    paddle.set_num_threads(1)
    paddle.distributed.init_parallel_env()
    paddle.seed(0)
    model = paddle.DataParallel(MODEL.make())
    data = [paddle.to_tensor(x) for x in MODEL.data()]
    optimizer = paddle.optimizer.AdamW(RATE, parameters=model.parameters(), weight_decay=DECAY)

    def step() -> float:
        loss = model(*data)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        return float(loss)

    def compute() -> float:
        with model.no_sync():
            return step()

    def communication() -> None:
        reducer = model._reducer
        tasks = [b.group.all_reduce(b.array, b.array, "avg") for b in reducer.buckets]
        for task in tasks:
            task.wait()

    return paddle.distributed.get_rank(), {"step": step, "compute": compute, "communication": communication}


def peer(rank: int, size: int) -> tuple[int, Orders]:
    import torch
    from models.gpt import MODEL
    from models.peer_gpt import PEER

    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=size)  # the address is in the environment
    model = torch.nn.parallel.DistributedDataParallel(PEER())
    data = [torch.from_numpy(x) for x in MODEL.data()]
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY, fused=True)

    def step() -> float:
        loss = model(*data)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return rank, {"step": step}


def main(side: str, place: str, orders: str) -> None:
    rank, size = (int(n) for n in place.split(","))
    rank, kinds = ours() if side == "ours" else peer(rank, size)
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    for _ in range(3):
        kinds["step"]()
    with open(f"{orders}.{rank}") as lines, open(f"{orders}.{rank}.out", "w") as answers:
        print("ready", file=answers, flush=True)
        for line in lines:
            kind, count = line.split()
            clock = time.perf_counter
            begin = clock()
            for _ in range(int(count)):
                kinds[kind]()
            print((clock() - begin) / int(count), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
