"""One side of a comparison, in a process of its own: ``python -m models.worker SIDE MODEL THREADS``.

SIDE: ``eager`` and ``compiled`` (this project), ``peer`` and ``peer-compiled`` (PyTorch), ``reference`` (PaddlePaddle,
in its own environment); in bfloat16 with ``-o1`` or ``-o2`` behind ours, for levels of ``auto_cast``, and ``-autocast``
behind PyTorch's. Prints a line of JSON when ready: seconds from the start of Python to the end of the first step,
seconds of CPU time that this step took alone, and bytes by which memory grew since the import over a few steps. Then,
for each line ``N`` read, the seconds of N steps.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

RATE, DECAY = 1e-3, 0.01


def resident(field: str) -> int:
    """Bytes of resident memory: now (VmRSS) or at most so far (VmHWM)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"[worker] requires {field} in /proc/self/status, got none")


def ours(name: str, threads: int, compiled: bool, level: str) -> Callable[[], Callable[[], float]]:
    """Return a function that runs a step and gives a number to compare."""
    import paddle

    if hasattr(paddle, "set_num_threads"):
        paddle.set_num_threads(threads)
    model = importlib.import_module(f"models.{name}").MODEL

    def make() -> Callable[[], float]:
        paddle.seed(0)
        layer = model.make()
        given = [paddle.to_tensor(x) for x in model.data()]
        if not model.training:
            layer.eval()
            call = paddle.jit.to_static(layer.__call__) if compiled else layer

            def infer() -> float:
                with paddle.no_grad(), paddle.amp.auto_cast(level != "O0", level=level, dtype="bfloat16"):
                    return float(call(*given).numpy().ravel()[0])

            return infer
        optimizer = paddle.optimizer.AdamW(RATE, parameters=layer.parameters(), weight_decay=DECAY)
        if level == "O2":
            layer, optimizer = paddle.amp.decorate(layer, optimizer, level="O2", dtype="bfloat16")

        def step(*data: paddle.Tensor) -> paddle.Tensor:
            with paddle.amp.auto_cast(level != "O0", level=level, dtype="bfloat16"):
                loss = layer(*data)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        run = paddle.jit.to_static(step) if compiled else step
        return lambda: float(run(*given))

    return make


def peer(name: str, threads: int, compiled: bool, low: bool) -> Callable[[], Callable[[], float]]:
    import torch

    torch.set_num_threads(threads)
    model = importlib.import_module(f"models.{name}").MODEL
    module = importlib.import_module(f"models.peer_{name}").PEER

    def make() -> Callable[[], float]:
        torch.manual_seed(0)
        layer = module()
        given = [torch.from_numpy(x) for x in model.data()]
        if not model.training:
            layer.eval()
            call = torch.compile(layer) if compiled else layer

            def infer() -> float:
                with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=low):
                    return float(call(*given).numpy().ravel()[0])

            return infer
        optimizer = torch.optim.AdamW(layer.parameters(), lr=RATE, weight_decay=DECAY, fused=True)
        run = torch.compile(layer) if compiled else layer

        def step() -> float:
            with torch.autocast("cpu", torch.bfloat16, enabled=low):
                loss = run(*given)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss.item()

        return step

    return make


def main(side: str, name: str, threads: int) -> None:
    kind, *rest = side.split("-")
    begin = float(os.environ.get("BEGIN", time.time()))
    if kind == "peer":
        make = peer(name, threads, "compiled" in rest, "autocast" in rest)
    else:
        make = ours(name, threads, kind == "compiled", rest[0].upper() if rest else "O0")
    before = resident("VmRSS")
    step = make()
    made = time.process_time()
    step()
    alone, first = time.process_time() - made, time.time() - begin
    for _ in range(2):
        step()
    print(json.dumps({"first": first, "step": alone, "memory": resident("VmHWM") - before}), flush=True)
    # CPU time stands still while another process has the core; with threads, it is the sum of theirs.
    clock = time.process_time if threads == 1 else time.perf_counter
    for line in sys.stdin:
        start = clock()
        for _ in range(int(line)):
            step()
        print((clock() - start) / int(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
