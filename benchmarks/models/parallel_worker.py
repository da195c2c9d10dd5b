"""A data-parallel step, on one of the ranks of a side.

A request is a kind and a number N: ``step``, ``captured`` (the same by ``to_static``), ``compute`` (the step without
communication) or ``communication`` (the reduction of the gradients alone).
"""

from __future__ import annotations

import time
from collections.abc import Callable

RATE, DECAY = 1e-3, 0.01
Orders = dict[str, Callable[[], object]]


def ours() -> Orders:
    from models.gpt import MODEL

    import paddle

    paddle.seed(0)
    model = paddle.DataParallel(MODEL.make())
    data = [paddle.to_tensor(x) for x in MODEL.data()]
    optimizer = paddle.optimizer.AdamW(RATE, parameters=model.parameters(), weight_decay=DECAY)

    def train() -> paddle.Tensor:
        loss = model(*data)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    def step() -> float:
        return float(train())

    captured_train = paddle.jit.to_static(train)

    def captured() -> float:
        return float(captured_train())

    def compute() -> float:
        with model.no_sync():
            return step()

    def communication() -> None:
        reducer = model._reducer
        tasks = [b.group.all_reduce(b.flat, b.flat, "avg") for b in reducer.buckets]
        for task in tasks:
            task.wait()

    return {
        "step": step, "captured": captured, "compute": compute, "communication": communication,
        "barrier": paddle.distributed.barrier,
    }  # fmt: skip


def peer() -> Orders:
    import torch
    from models.gpt import MODEL
    from models.peer_gpt import PEER

    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(PEER())
    data = [torch.from_numpy(x) for x in MODEL.data()]
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY, fused=True)

    def step() -> float:
        loss = model(*data)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return {"step": step, "barrier": torch.distributed.barrier}


def start(side: str) -> Callable[[str], float]:
    """Run in a rank: ``"step 3"`` gives the seconds of one of three."""
    kinds = (ours if side == "ours" else peer)()
    for kind in ("step", "captured"):
        for _ in range(3 if kind in kinds else 0):
            kinds[kind]()

    def run(request: str) -> float:
        kind, count = request.split()
        begin = time.perf_counter()
        for _ in range(int(count)):
            kinds[kind]()
        kinds["barrier"]()  # it is over when it is so on all ranks
        return (time.perf_counter() - begin) / int(count)

    return run
