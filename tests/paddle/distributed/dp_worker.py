"""What test_data_parallel_processes starts as processes of MPI: trains a little and prints what came out, as JSON.

``fake`` as an argument: each rank trains on a device of its own, which enters as a third party's does.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import paddle
from paddle import distributed, nn


def main() -> None:
    distributed.init_parallel_env()
    rank, world = distributed.get_rank(), distributed.get_world_size()
    if sys.argv[1:]:
        sys.path.append(str(Path(__file__).parents[2] / "support" / "fake_device"))
        paddle.set_device(f"{sys.argv[1]}:{rank % 2}")
    paddle.seed(1 + rank)
    net = nn.Sequential(nn.Embedding(12, 8, sparse=True), nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 12))
    model = paddle.DataParallel(net, comm_buffer_size=0.003, last_comm_buffer_size=0.001)
    optimizer = paddle.optimizer.SGD(0.5, parameters=model.parameters())
    losses = []
    for step in range(5):
        rng = np.random.default_rng(step)
        ids, labels = rng.integers(0, 12, (2, 8))
        part = slice(rank * 8 // world, (rank + 1) * 8 // world)
        with model.no_sync():
            nn.functional.cross_entropy(model(paddle.to_tensor(labels[part])), paddle.to_tensor(ids[part])).backward()
        loss = nn.functional.cross_entropy(model(paddle.to_tensor(ids[part])), paddle.to_tensor(labels[part]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        mean = loss.detach().clone()
        distributed.all_reduce(mean, distributed.ReduceOp.AVG)
        losses.append(float(mean))
    if rank == 0:
        print(json.dumps({"losses": losses, "sum": float(sum(p.abs().sum() for p in net.parameters()))}))


if __name__ == "__main__":
    main()
