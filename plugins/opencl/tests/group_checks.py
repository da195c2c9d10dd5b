"""Checks of groups whose tensors lie on a device of OpenCL, for two ranks: elements go by the host."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import paddle
from paddle import distributed
from umiak import backends


def on_device() -> str:
    """The device, as default place of this rank's tensors."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from umiak_opencl import backend

    paddle.set_flags(
        {"FLAGS_opencl_platform": "Portable Computing Language", "FLAGS_opencl_options": "-cl-opt-disable"}
    )
    if backend.name not in backends.device_types():
        backends.register(backend)
    paddle.set_device("opencl:0")
    return "opencl:0"


def of_rank(rank: int) -> np.ndarray:
    return np.arange(6, dtype="float32").reshape(2, 3) * (rank + 1)


def check_collectives(rank: int, size: int) -> None:
    place = paddle.CustomPlace("opencl", 0) if on_device() else None
    x = paddle.to_tensor(of_rank(rank))
    distributed.all_reduce(x)
    assert x.place == place
    np.testing.assert_array_equal(x.numpy(), sum(map(of_rank, range(size))))
    y = paddle.to_tensor(of_rank(rank))
    distributed.broadcast(y, src=1)
    assert y.place == place
    np.testing.assert_array_equal(y.numpy(), of_rank(1))
    parts: list[paddle.Tensor] = []
    distributed.all_gather(parts, paddle.to_tensor(of_rank(rank)))
    assert [part.place for part in parts] == [place] * size
    for r, part in enumerate(parts):
        np.testing.assert_array_equal(part.numpy(), of_rank(r))


def check_work_before_and_after(rank: int, size: int) -> None:
    """What is queued before a collective is part of it, and what is queued after it sees its result."""
    on_device()
    x = paddle.to_tensor(of_rank(rank)) * 2
    task = distributed.all_reduce(x, op=distributed.ReduceOp.MAX, sync_op=False)
    task.wait()
    np.testing.assert_array_equal((x + 1).numpy(), of_rank(size - 1) * 2 + 1)


def check_data_parallel(rank: int, size: int) -> None:
    """Gradients of two ranks are those of the whole batch."""
    on_device()
    paddle.seed(0)
    rows = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")
    layer = paddle.nn.Linear(3, 2)
    mean = paddle.DataParallel(layer)
    mean(paddle.to_tensor(rows[rank::size])).square().mean().backward()
    found = layer.weight.grad
    assert found.place == paddle.CustomPlace("opencl", 0)
    alone = paddle.nn.Linear(3, 2)
    alone.set_state_dict(layer.state_dict())
    alone(paddle.to_tensor(rows)).square().mean().backward()
    np.testing.assert_allclose(found.numpy(), alone.weight.grad.numpy(), rtol=1e-4, atol=1e-6)
