"""What each process of ``test_flex_processes.py`` runs: saves, loads in other layouts, an error that all get."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import paddle
from paddle.distributed import load_state_dict, save_state_dict, shard_weight
from umiak import comm

OPAQUE = np.arange(64 * 96, dtype="float32").reshape(64, 96)


def block(axis: int, fill: bool):
    group = comm.world()
    values = np.split(OPAQUE, group.size, axis)[group.rank].copy()
    return shard_weight("w", paddle.to_tensor(values if fill else np.zeros_like(values)), axis, group), values


def main(folder: str) -> None:
    rank = comm.world().rank
    save_state_dict({"w": block(0, True)[0]}, folder)
    handle = save_state_dict({"w": block(1, True)[0]}, folder, async_save=True)
    for method in ("broadcast", "send_recv"):
        weight, values = block(1, False)
        load_state_dict({"w": weight}, folder, unique_id=0, comm_method=method)
        np.testing.assert_array_equal(weight.local_tensor.numpy(), values)
        whole = paddle.zeros([64, 96])
        load_state_dict({"w": whole}, folder, unique_id=0, comm_method=method)
        np.testing.assert_array_equal(whole.numpy(), OPAQUE)
    assert handle.wait(60) == 1
    weight, values = block(0, False)
    load_state_dict({"w": weight}, folder)
    np.testing.assert_array_equal(weight.local_tensor.numpy(), values)
    with pytest.raises(KeyError, match="'v'"):
        load_state_dict({"v" if rank else "w": paddle.zeros([64, 96])}, folder)
    print(f"rank {rank} is done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
