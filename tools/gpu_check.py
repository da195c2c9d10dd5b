"""Everything that a CUDA device can answer, in one run: the samples of ops, training against the host's losses, rates
of kernels and of steps, next to PyTorch's where that is installed. One report: ``build/gpu_check.json``, written anew
behind each section, so that a run that is cut short leaves what it has. What takes long comes last. Each section is a
process: one that loses the device, or does not end, takes nothing from the others.

``python tools/gpu_check.py [--out FILE] [--only SECTION...] [--seconds N] [--most N] [--here]``; exits with 1 where
something is wrong, with 2 where there is no device.
"""

from __future__ import annotations

import argparse
import json
import math
import operator
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(ROOT / "examples" / "gpt")]

from gpu_libraries import convolutions, eight_bits, epilogues, seconds, torch_with_cuda  # noqa: E402
from gpu_steps import steps, targets  # noqa: E402

import paddle  # noqa: E402
from umiak import backends  # noqa: E402
from umiak.core.buffer import Buffer  # noqa: E402

TESTS = ["tests/backends/cuda/test_ops.py", "tests/backends/cuda/test_kernels.py"]
TOLERANCE = 2e-3  # of a loss after some steps: sums have another order


def device(place: str) -> dict[str, Any]:
    """The device and its driver."""
    properties = paddle.device.get_device_properties(place)
    driver = backends.get("cuda").driver  # type: ignore[attr-defined]
    return {"cuda": driver.driver_get_version(), **properties._asdict()}


def tests(place: str) -> dict[str, Any]:
    """Samples and gradients of all ops, on the device."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    environment = {**os.environ, "UMIAK_TEST_GPU": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    lines = done.stdout.strip().splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return {"ok": done.returncode == 0, "summary": lines[-1] if lines else done.stderr[-500:], "failed": failed}


def gpt_losses(steps: int) -> list[float]:
    import model

    paddle.seed(0)
    network = model.GPT(model.Config(64, 16, 2, 2, 32))
    optimizer = paddle.optimizer.AdamW(3e-3, parameters=network.parameters(), weight_decay=0.1)
    rng = np.random.default_rng(0)

    def step() -> Any:
        tokens = rng.integers(0, 64, (4, 17))
        return network.loss(paddle.to_tensor(tokens[:, :-1]), paddle.to_tensor(tokens[:, 1:]))

    return _losses(optimizer, step, steps)


def resnet_losses(steps: int) -> list[float]:
    paddle.seed(0)
    network = paddle.vision.models.resnet18(num_classes=10)
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    rng = np.random.default_rng(0)

    def step() -> Any:
        x = paddle.to_tensor(rng.standard_normal((2, 3, 32, 32)).astype("float32"))
        return paddle.nn.functional.cross_entropy(network(x), paddle.to_tensor(rng.integers(0, 10, 2)))

    return _losses(optimizer, step, steps)


def _losses(optimizer: Any, step: Callable[[], Any], steps: int) -> list[float]:
    losses = []
    for _ in range(steps):
        loss = step()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses


NETWORKS = {"gpt": gpt_losses, "resnet18": resnet_losses}


def training(place: str, steps: int = 10, networks: Sequence[str] = tuple(NETWORKS)) -> dict[str, Any]:
    """Losses of networks on the device and on the host, and seconds of a step."""
    report: dict[str, Any] = {"ok": True}
    for name in networks:
        losses = NETWORKS[name]
        paddle.set_device("cpu")
        expected = losses(steps)
        paddle.set_device(place)
        losses(1)  # kernels are compiled
        start = time.perf_counter()
        got = losses(steps)
        seconds = (time.perf_counter() - start) / steps
        right = bool(np.allclose(got, expected, rtol=TOLERANCE))
        report[name] = {"ok": right, "step_s": seconds, "losses": got, "host": expected}
        report["ok"] &= right
    return report


# By name: bytes that are moved for n elements of float32, the call, and PyTorch's of its tensor and its module.
RATES: dict[str, tuple[Callable[[int], float], Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "copy": (lambda n: 8.0 * n, lambda x: x.clone(), lambda t, torch: t.clone()),
    "add": (lambda n: 12.0 * n, lambda x: x + x, lambda t, torch: t + t),
    "gelu": (lambda n: 8.0 * n, paddle.nn.functional.gelu, lambda t, torch: torch.nn.functional.gelu(t)),
    "sum": (lambda n: 4.0 * n, lambda x: x.sum(), lambda t, torch: t.sum()),
    "column_sum": (lambda n: 4.0 * n, lambda x: x.sum(0), lambda t, torch: t.sum(0)),
    "layer_norm": (
        lambda n: 8.0 * n, lambda x: paddle.nn.functional.layer_norm(x, x.shape[-1:]),
        lambda t, torch: torch.nn.functional.layer_norm(t, t.shape[-1:]),
    ),
    "rms_norm": (
        lambda n: 8.0 * n, lambda x: paddle.nn.functional.rms_norm(x, x.shape[-1:]),
        lambda t, torch: torch.nn.functional.rms_norm(t, t.shape[-1:]),
    ),
    "softmax": (
        lambda n: 8.0 * n, lambda x: paddle.nn.functional.softmax(x, axis=-1), lambda t, torch: torch.softmax(t, -1)
    ),
}  # fmt: skip
MATMULS = ("float32", "bfloat16")


def rates(place: str, n: int = 1 << 24, rows: int = 4096, least_s: float = 0.2) -> dict[str, Any]:
    """GB/s of kernels over ``n`` elements of float32 and Tflop/s of matmuls of ``rows`` rows; seconds on the host of a
    launch. Behind each, PyTorch's, or null."""
    paddle.set_device(place)
    torch = torch_with_cuda()
    report: dict[str, Any] = {"ok": True}
    width = min(n, 4096)
    x = paddle.rand([n // width, width])
    for name, (moved, call, other) in RATES.items():
        ours = moved(n) / seconds(partial(call, x), partial(paddle.device.synchronize, place), least_s) / 1e9
        theirs = None
        if torch is not None:
            t = torch.rand(n // width, width, device="cuda")
            theirs = moved(n) / seconds(partial(other, t, torch), torch.cuda.synchronize, least_s) / 1e9
        report[f"{name}_gbs"] = [ours, theirs]
    for dtype in MATMULS:
        a = paddle.rand([rows, rows]).astype(dtype)
        ours = (
            2
            * rows**3
            / seconds(partial(operator.matmul, a, a), partial(paddle.device.synchronize, place), least_s)
            / 1e12
        )
        theirs = None
        if torch is not None:
            b = torch.rand(rows, rows, device="cuda", dtype=getattr(torch, dtype))
            theirs = 2 * rows**3 / seconds(partial(operator.matmul, b, b), torch.cuda.synchronize, least_s) / 1e12
        report[f"matmul_{dtype}_tflops"] = [ours, theirs]
    small = paddle.rand([8, 8])
    start, count = time.perf_counter(), 200
    for _ in range(count):
        small + small
    ours = (time.perf_counter() - start) / count
    paddle.device.synchronize(place)
    theirs = None
    if torch is not None:
        other = torch.rand(8, 8, device="cuda")
        start = time.perf_counter()
        for _ in range(count):
            other + other
        theirs = (time.perf_counter() - start) / count
        torch.cuda.synchronize()
    report["launch_host_s"] = [ours, theirs]
    return report


def programs(place: str, steps: int = 20) -> dict[str, Any]:
    """A captured step of training as graphs of the driver and without: its losses, and seconds of a step."""
    report: dict[str, Any] = {}
    paddle.set_device(place)
    for name, graphs in (("graphs", True), ("calls", False)):
        paddle.set_flags({"FLAGS_cuda_graphs": graphs})
        try:
            report[name] = _captured_steps(place, steps)
        finally:
            paddle.set_flags({"FLAGS_cuda_graphs": True})
    report["ok"] = report["graphs"]["losses"] == report["calls"]["losses"]
    return report


def _captured_steps(place: str, steps: int) -> dict[str, Any]:
    paddle.seed(0)
    network = paddle.nn.Sequential(paddle.nn.Linear(16, 8), paddle.nn.Dropout(0.1))
    rate = paddle.optimizer.lr.ExponentialDecay(0.05, 0.9)
    optimizer = paddle.optimizer.AdamW(rate, parameters=network.parameters())

    @paddle.jit.to_static
    def step(x: Any) -> Any:
        loss = (network(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    x = paddle.ones([4, 16])
    losses = [step(x) for _ in range(3)]  # kernels are compiled, and the step is recorded
    paddle.device.synchronize(place)
    start = time.perf_counter()
    for _ in range(steps):
        losses.append(step(x))
        rate.step()
    paddle.device.synchronize(place)
    seconds = (time.perf_counter() - start) / steps
    return {"step_s": seconds, "losses": [float(x) for x in losses]}


def captures(place: str, replays: int = 20) -> dict[str, Any]:
    """Work that ``CUDAGraph`` records, with random numbers, against the same calls; seconds of a replay."""
    paddle.set_device(place)
    x, total = paddle.zeros([64, 64]), paddle.zeros([64, 64])

    def work() -> Any:
        total.add_(paddle.nn.functional.dropout(paddle.tanh(x), 0.5))

    work()  # kernels are compiled
    totals = []
    for recorded in (True, False):
        paddle.seed(1)
        total.fill_(0.0)
        graph = paddle.device.cuda.graphs.CUDAGraph(place)
        if recorded:
            graph.capture_begin()
            work()
            graph.capture_end()
        call = graph.replay if recorded else work
        x.fill_(0.5)
        start = time.perf_counter()
        for _ in range(replays):
            call()
        paddle.device.synchronize(place)
        totals.append((total.numpy(), (time.perf_counter() - start) / replays))
        if recorded:
            with tempfile.TemporaryDirectory() as folder:
                graph.print_to_dot_files(folder)
                segments = sorted(os.listdir(folder))
        graph.reset()
    (ours, replay_s), (calls, call_s) = totals
    right = bool((ours == calls).all()) and bool(ours.any()) and segments == ["segment_0.dot"]
    return {"ok": right, "replay_s": replay_s, "calls_s": call_s, "segments": segments}


def _double(connection: Any) -> None:
    """Another process: doubles the tensors that come, until None comes."""
    while (x := connection.recv()) is not None:
        x.add_(x)
        paddle.device.synchronize(x.place)
        del x
        paddle.device.ipc_collect()
        connection.send("done")


def pinned(place: str, elements: int = 1 << 24, least_s: float = 0.2) -> dict[str, Any]:
    """Copies from memory of the host, plain and pinned, and back; GB/s of each."""
    paddle.set_device(place)
    plain = paddle.arange(elements, dtype="float32").cpu()
    locked = plain.pin_memory()
    y = locked.cuda(blocking=False)
    calls: dict[str, Callable[[], Any]] = {
        "plain_to_device": plain.cuda, "pinned_to_device": lambda: locked.cuda(blocking=False),
        "device_to_plain": y.cpu, "device_to_pinned": y.pin_memory,
    }  # fmt: skip
    synchronize = partial(paddle.device.synchronize, place)
    gbs = {f"{k}_gbs": y.size * 4 / seconds(call, synchronize, least_s) / 1e9 for k, call in calls.items()}
    return {"ok": bool((y.numpy() == plain.numpy()).all() and (y.pin_memory().numpy() == plain.numpy()).all()), **gbs}


def sharing(place: str, elements: int = 1 << 20) -> dict[str, Any]:
    """Memory that another process computes on, and gives back; seconds from sending it to the answer."""
    from paddle.incubate import multiprocessing

    paddle.set_device(place)
    context = multiprocessing.get_context("spawn")
    connection, its = context.Pipe()
    process = context.Process(target=_double, args=(its,))
    process.start()
    its.close()
    try:
        x, seconds = paddle.arange(elements, dtype="float32"), []
        for _ in range(3):
            start = time.perf_counter()
            connection.send(x)
            connection.recv()
            seconds.append(time.perf_counter() - start)
        right = bool((x.numpy() == 8 * np.arange(elements, dtype=np.float32)).all())
        paddle.device.ipc_collect()
        return {"ok": right and not x.storage.pinned, "seconds": seconds}
    finally:
        connection.send(None)
        process.join()


def collectives(place: str) -> dict[str, Any]:
    """Collectives of a group of one rank by NCCL, where that is installed."""
    here = paddle.CUDAPlace(0)
    library = backends.get("cuda").collectives(here)
    if library is None:
        return {"ok": True, "nccl": "not installed"}
    communicator = library.connect(1, library.unique_id(), 0)
    try:
        paddle.set_device(place)
        x, out = paddle.arange(1024, dtype="float32"), paddle.zeros([1024])
        started = [
            communicator.start(0, "all_reduce", Buffer(out), Buffer(x), "sum"),
            communicator.start(0, "all_to_all", Buffer(x), Buffer(out)),
        ]
        paddle.device.synchronize(place)
        done = all(s is not None and s.Test() for s in started)
        return {"ok": done and bool((x.numpy() == np.arange(1024)).all())}
    finally:
        communicator.close()


def profile(place: str) -> dict[str, Any]:
    """Kernels and copies in a profile, where CUPTI is installed."""
    paddle.set_device(place)
    if backends.get("cuda").tracer() is None:
        return {"ok": True, "cupti": "not installed"}
    with paddle.profiler.Profiler(targets=[paddle.profiler.ProfilerTarget.GPU]) as profiler:
        (paddle.ones([64, 64]) + 1.0).numpy()
    assert profiler.profiler_result is not None
    spans = [e for e in profiler.profiler_result.events if "correlation" in (e.args or {})]
    kinds = sorted({e.kind for e in spans})
    return {"ok": {"Kernel", "Memcpy"} <= set(kinds), "kinds": kinds, "spans": len(spans)}


Section = Callable[..., dict[str, Any]]

SECTIONS: dict[str, Section] = {
    "device": device, "programs": programs, "captures": captures, "pinned": pinned, "sharing": sharing,
    "collectives": collectives, "profile": profile, "epilogues": epilogues, "eight_bits": eight_bits,
    "convolutions": convolutions, "rates": rates, "training": training, "steps": steps, "tests": tests,
}  # fmt: skip

Seen = Callable[[dict[str, Any], str], object]  # gets the report so far and the section that has ended


def apart(name: str, most_s: float) -> Section:
    """A section in a process of its own, which is ended after ``most_s`` seconds."""

    def section(place: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "report.json"
            command = [sys.executable, __file__, "--here", "--only", name, "--out", str(out)]
            process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
            )
            try:
                _, said = process.communicate(timeout=most_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with those that it has started
                process.communicate()
                return {"ok": False, "error": f"not done within {most_s:g} seconds"}
            if out.exists():
                return json.loads(out.read_text())[name]
            return {"ok": False, "error": f"{said[-2000:]}ended with status {process.returncode}"}

    return section


def run(
    place: str, only: list[str], seen: Seen = lambda report, name: None, limit: float = math.inf,
    sections: dict[str, Section] = SECTIONS, **sizes: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """The report: what each section says. One that fails says why, and the others go on; none begins after ``limit``
    seconds."""
    report: dict[str, Any] = {}
    former = paddle.get_device()
    first = time.perf_counter()
    for name, section in sections.items():
        if only and name not in only:
            continue
        start = time.perf_counter()
        try:
            if start - first > limit:
                report[name] = {"ok": False, "error": f"not begun: {limit:g} seconds were over"}
            else:
                report[name] = section(place, **sizes.get(name, {}))
        except Exception:
            report[name] = {"ok": False, "error": traceback.format_exc()}
        finally:
            paddle.set_device(former)
        report[name]["seconds"] = time.perf_counter() - start
        seen(report, name)
    return report


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gpu_check.json", help="the report")
    parser.add_argument("--only", nargs="*", default=[], choices=list(SECTIONS), help="sections; without any: all")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no section begins after so many")
    parser.add_argument("--most", type=float, default=300, help="seconds that a section may take")
    parser.add_argument("--here", action="store_true", help="all sections in this process")
    options = parser.parse_args(arguments)
    try:
        paddle.set_device("gpu:0")
    except ValueError as error:
        print(f"[gpu_check] requires a CUDA device: {error}", file=sys.stderr)
        return 2
    paddle.set_device("cpu")
    options.out.parent.mkdir(parents=True, exist_ok=True)

    def seen(report: dict[str, Any], name: str) -> None:
        options.out.write_text(json.dumps({**report, "targets": targets(report)}, indent=1) + "\n")
        said = report[name]
        print(f"{name}: {'ok' if said.get('ok', True) else 'WRONG'} in {said['seconds']:.0f} s", flush=True)
        if not said.get("ok", True):
            print(str(said.get("error") or said.get("failed") or said).strip()[-1000:], flush=True)

    sections = SECTIONS if options.here else {name: apart(name, options.most) for name in SECTIONS}
    report = run("gpu:0", options.only, seen, options.seconds, sections)
    for name, (figure, least, met) in targets(report).items():
        if met is not None:
            print(f"{name}: {figure:.2f}, target {least:g}{'' if met else ', MISSED'}")
    print(options.out)
    return 0 if all(said.get("ok", True) for said in report.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
