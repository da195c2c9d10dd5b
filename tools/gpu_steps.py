"""Steps of training on a CUDA device, captured, next to PyTorch's with ``torch.compile`` of the same networks; and what
of the targets a report meets.

The networks are those of ``benchmarks/models``, whose peers are in PyTorch. Used by ``gpu_check.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from gpu_libraries import LEAST_S, seconds, torch_with_cuda

import paddle

sys.path.append(
    str(Path(__file__).parents[1] / "benchmarks")
)  # for `models`; behind the examples, which have a `model`

NETWORKS = ("gpt", "resnet50")
DTYPES = ("float32", "bfloat16")
RATE, DECAY = 1e-3, 0.01

KERNEL, LAUNCH, STEP, BANDWIDTH = 0.95, 5.0, 1.2, 0.9  # targets: our speed against PyTorch's, and against a copy's


def _ours(name: str, low: bool, place: str) -> Callable[[], Any]:
    """A step that gives its loss; its matmuls and convolutions are of bfloat16 where ``low``."""
    model = import_module(f"models.{name}").MODEL
    paddle.set_device(place)
    paddle.seed(0)
    layer = model.make()
    given = [paddle.to_tensor(x) for x in model.data()]
    optimizer = paddle.optimizer.AdamW(RATE, parameters=layer.parameters(), weight_decay=DECAY)

    @paddle.jit.to_static
    def step(*xs: Any) -> Any:
        with paddle.amp.auto_cast(low, dtype="bfloat16"):
            loss = layer(*xs)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return partial(step, *given)


def _theirs(name: str, low: bool, torch: Any) -> Callable[[], Any]:
    model = import_module(f"models.{name}").MODEL
    torch.manual_seed(0)
    layer = import_module(f"models.peer_{name}").PEER().cuda()
    given = [torch.from_numpy(x).cuda() for x in model.data()]
    optimizer = torch.optim.AdamW(layer.parameters(), lr=RATE, weight_decay=DECAY, fused=True)
    run = torch.compile(layer)

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16, enabled=low):
            loss = run(*given)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def steps(
    place: str, networks: Sequence[str] = NETWORKS, dtypes: Sequence[str] = DTYPES, least_s: float = LEAST_S
) -> dict[str, Any]:
    """Seconds of a step of each network in each dtype, and behind them PyTorch's, or null. The loss has to fall, as the
    data are the same at every step."""
    torch = torch_with_cuda()
    report: dict[str, Any] = {"ok": True}
    for name in networks:
        for dtype in dtypes:
            ours = _ours(name, dtype == "bfloat16", place)
            first = float(ours())
            for _ in range(2):  # kernels are compiled, and the step is recorded
                ours()
            taken = [seconds(ours, partial(paddle.device.synchronize, place), least_s), None]
            last = float(ours())
            if torch is not None:
                theirs = _theirs(name, dtype == "bfloat16", torch)
                taken[1] = seconds(theirs, torch.cuda.synchronize, least_s)
            right = bool(np.isfinite(last)) and last < first
            report[f"{name}_{dtype}"] = {"ok": right, "step_s": taken, "losses": [first, last]}
            report["ok"] &= right
    return report


def _measured(report: dict[str, Any]) -> Iterator[tuple[str, float | None, float]]:
    """What there is a target for: its name, the figure, and the least that it should be."""
    rates = {name: row for name, row in report.get("rates", {}).items() if isinstance(row, list)}
    for name, (ours, theirs) in rates.items():
        if name == "launch_host_s":
            yield "launches: PyTorch's time on the host by ours", theirs and theirs / ours, LAUNCH
        else:
            yield f"{name}: our rate by PyTorch's", theirs and ours / theirs, KERNEL
            if name.endswith("_gbs") and name != "copy_gbs":
                yield f"{name}: the rate by that of a copy", ours / rates["copy_gbs"][0], BANDWIDTH
    for name, step in report.get("steps", {}).items():
        if isinstance(step, dict):
            ours, theirs = step["step_s"]
            yield f"{name}: torch.compile's time for a step by ours", theirs and theirs / ours, STEP


def targets(report: dict[str, Any]) -> dict[str, Any]:
    """Figures of a report that have a target: ``[figure, the least, whether it is reached]``, null where PyTorch, or
    its device, was missing."""
    return {
        name: [figure, least, None if figure is None else figure >= least] for name, figure, least in _measured(report)
    }
