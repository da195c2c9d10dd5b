"""A worker of three, started by hand: ``rpc_program.py RANK PORT MODE``."""

import os
import sys
import threading
import time

import numpy as np
import pytest

import paddle
from paddle.distributed import rpc

calls: list[str] = []
free = threading.Event()


class Odd(Exception):
    """One that cannot be unpickled: its constructor takes more than its message."""

    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def where(x):
    calls.append(threading.current_thread().name)
    return f"{rpc.get_current_worker_info().name} {x}"


def held():
    free.wait()


def let_go():
    free.set()


def through(to, x):
    return rpc.rpc_sync(to, where, (x,))


def double(tensor):
    return {"twice": tensor * 2}


def odd():
    raise Odd("this", "that")


def raised(kind, *call, **options):
    with pytest.raises(kind) as caught:
        rpc.rpc_sync(*call, **options)
    return caught.value


def main(rank: int, port: int, mode: str) -> None:
    endpoint = f"127.0.0.1:{port}"
    rpc.init_rpc(f"worker{rank}", rank, 3, endpoint)
    infos = rpc.get_all_worker_infos()
    assert [(i.name, i.rank, i.ip) for i in infos] == [(f"worker{r}", r, "127.0.0.1") for r in range(3)]
    assert rpc.get_worker_info(f"worker{rank}") == rpc.get_current_worker_info() == infos[rank]
    if mode == "die":
        if rank == 2:
            os._exit(3)
        if rank == 1:
            assert "worker2 has gone" in str(raised(ConnectionError, "worker2", time.sleep, (60,)))
    elif rank == 1:
        assert rpc.rpc_sync("worker0", where, args=("x",)) == "worker0 x"
        assert rpc.rpc_sync("worker1", where, kwargs={"x": 1}) == "worker1 1"
        assert rpc.rpc_sync("worker0", through, ("worker1", 2)) == "worker1 2"
        futures = [rpc.rpc_async(f"worker{i % 3}", where, (i,)) for i in range(60)]
        assert [future.wait() for future in futures] == [f"worker{i % 3} {i}" for i in range(60)]
        tensor = rpc.rpc_sync("worker2", double, (paddle.ones([2, 3]),))["twice"]
        assert np.array_equal(tensor.numpy(), np.full((2, 3), 2.0))
        big = np.arange(1 << 20)
        assert np.array_equal(rpc.rpc_sync("worker2", np.negative, (big,)), -big)
        error = raised(ZeroDivisionError, "worker2", divmod, (1, 0))
        assert "Traceback" in str(error.__cause__) and "ZeroDivisionError" in str(error.__cause__)
        error = raised(RuntimeError, "worker2", odd)
        assert "Odd: this and that" in str(error) and "in odd" in str(error.__cause__)
        assert "within 0.05 s" in str(raised(TimeoutError, "worker2", held, timeout=0.05))
        rpc.rpc_sync("worker2", let_go)
        assert "pickled" in str(raised(TypeError, "worker2", lambda: 0))
        assert "worker0, worker1, worker2" in str(raised(ValueError, "worker3", where))
    if mode == "die":
        with pytest.raises(ConnectionError, match=r"worker2 \(rank 2\) has gone"):
            rpc.shutdown()
    else:
        rpc.shutdown()
    assert threading.enumerate() == [threading.main_thread()], threading.enumerate()
    print("done")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
