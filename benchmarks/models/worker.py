"""One side of a comparison, in a process of its own: ``python -m models.worker SIDE MODEL THREADS``.

SIDE: ``eager`` and ``compiled`` (this project), ``peer`` (PyTorch), ``reference`` (PaddlePaddle, in its own
environment). Behind the latter two: ``-compiled``, where the model is compiled and the optimizer is not, or ``-whole``,
where the whole step is, as in our ``compiled``. In bfloat16 with ``-o1`` or ``-o2`` behind ours, for levels of
``auto_cast``, and ``-autocast`` behind PyTorch's.

Prints a line of JSON when ready: seconds from the start of Python to the end of the first step; seconds of CPU time of
this step, and of the first STEADY steps with the compilers that ran for them as programs of their own; bytes by which
memory grew since the import over these steps. Then, for each line ``N`` read, the seconds of a step, over N steps.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

RATE, DECAY = 1e-3, 0.01
STEADY = 3  # steps after which everything is compiled


def resident(field: str) -> int:
    """Bytes of resident memory: now (VmRSS) or at most so far (VmHWM)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"[worker] requires {field} in /proc/self/status, got none")


def worked() -> float:
    """CPU time of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def ours(name: str, threads: int, part: str, level: str) -> Callable[[], Callable[[], float]]:
    """Return what makes a function that runs a step and gives a number to compare; ``part`` of it is captured."""
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
            call = paddle.jit.to_static(layer.__call__) if part else layer

            def infer() -> float:
                with paddle.no_grad(), paddle.amp.auto_cast(level != "O0", level=level, dtype="bfloat16"):
                    return float(call(*given).numpy().ravel()[0])

            return infer
        optimizer = paddle.optimizer.AdamW(RATE, parameters=layer.parameters(), weight_decay=DECAY)
        if level == "O2":
            layer, optimizer = paddle.amp.decorate(layer, optimizer, level="O2", dtype="bfloat16")

        run = paddle.jit.to_static(layer) if part == "model" else layer

        def step(x: paddle.Tensor, labels: paddle.Tensor) -> paddle.Tensor:
            loss = run(x, labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        def low_step(x: paddle.Tensor, labels: paddle.Tensor) -> paddle.Tensor:
            with paddle.amp.auto_cast(level=level, dtype="bfloat16"):
                loss = run(x, labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        chosen = step if level == "O0" else low_step
        whole = paddle.jit.to_static(chosen) if part == "step" else chosen
        return lambda: float(whole(*given))

    return make


def peer(name: str, threads: int, part: str, low: bool) -> Callable[[], Callable[[], float]]:
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
            call = torch.compile(layer) if part else layer

            def infer() -> float:
                with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=low):
                    return float(call(*given).numpy().ravel()[0])

            return infer
        optimizer = torch.optim.AdamW(layer.parameters(), lr=RATE, weight_decay=DECAY, fused=True)
        run = torch.compile(layer) if part == "model" else layer

        def step(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            loss = run(x, labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        def low_step(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                loss = run(x, labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        chosen = low_step if low else step
        whole = torch.compile(chosen) if part == "step" else chosen
        return lambda: whole(*given).item()

    return make


def main(side: str, name: str, threads: int) -> None:
    kind, *rest = side.split("-")
    begin = float(os.environ.get("BEGIN", time.time()))
    part = "step" if kind == "compiled" or "whole" in rest else "model" if "compiled" in rest else ""
    if kind == "peer":
        make = peer(name, threads, part, "autocast" in rest)
    else:
        make = ours(name, threads, part, next((x.upper() for x in rest if x in ("o1", "o2")), "O0"))
    before = resident("VmRSS")
    step = make()
    made, made_with_children = time.process_time(), worked()
    step()
    alone, first = time.process_time() - made, time.time() - begin
    for _ in range(STEADY - 1):
        step()
    said = {"first": first, "step": alone, "until_steady": worked() - made_with_children}
    print(json.dumps({**said, "memory": resident("VmHWM") - before}), flush=True)
    # CPU time stands still while another process has the core; with threads, it is the sum of theirs.
    clock = time.process_time if threads == 1 else time.perf_counter
    for line in sys.stdin:
        start = clock()
        for _ in range(int(line)):
            step()
        print((clock() - start) / int(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
