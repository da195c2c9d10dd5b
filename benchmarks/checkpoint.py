"""Checkpoints of 1 GB: ours, ``torch.distributed.checkpoint`` and plain copies of files, by turns on the same disk.

Times are wall-clock times on all cores, since what is measured is mostly a disk, with all bytes on it at the end
(``fsync``). Files are in the page cache when they are loaded, unless a row says otherwise. ``UMIAK_BENCH_DISK`` is the
folder to use, by default the current one.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from measure import FEWEST, Settings, Spread, highest, resident
from rows import Outcome, add_row, add_section, duration, times, with_spread

CHECKPOINT = add_section("checkpoint", "Checkpoints of 1 GB", figure="the other's time ÷ ours")
Timed = Callable[[], Any]


@contextlib.contextmanager
def disk() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="umiak-bench-", dir=os.environ.get("UMIAK_BENCH_DISK", ".")) as folder:
        yield folder


def tensors(settings: Settings) -> dict[str, np.ndarray]:
    """64 matrices of 16 MiB."""
    rng = np.random.default_rng(0)
    shape = (8, 64) if settings.check else (1024, 4096)
    return {f"layers.{i}.weight": rng.standard_normal(shape, np.float32) for i in range(64)}


def save(folder: str, arrays: dict[str, np.ndarray]) -> Any:
    from umiak.checkpoint.commit import Saving

    with Saving.begin(folder) as saving:
        saving.write(items(arrays))
        return saving.commit([saving.prepare()], infos(arrays))


def items(arrays: dict[str, np.ndarray]) -> list[Any]:
    from umiak.checkpoint.box import Box
    from umiak.checkpoint.data_model import Block

    return [(Block(k, a.dtype.name, a.shape, Box.full(a.shape)), a) for k, a in arrays.items()]


def infos(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    from umiak.checkpoint.data_model import TensorInfo

    return {k: TensorInfo(k, a.shape, a.dtype.name) for k, a in arrays.items()}


def load(folder: str, manifest: Any, into: dict[str, np.ndarray], verify: bool = False) -> None:
    from umiak.checkpoint.storage import Reader

    with Reader(folder, manifest, verify=verify) as reader:
        for s in manifest.stored:
            reader.read(s, s.block.box, into[s.block.key])


def synced_copy(source: str, target: str) -> None:
    shutil.copyfile(source, target)
    fd = os.open(target, os.O_RDWR)
    os.fsync(fd)
    os.close(fd)


def drop(path: str) -> None:
    """Take a file out of the page cache."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def nothing() -> None:
    pass


@contextlib.contextmanager
def on_all(cores: tuple[int, ...]) -> Iterator[None]:
    """Both sides on every core, as users have them."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def by_turns(settings: Settings, sides: tuple[Timed, Timed], before: Timed = nothing) -> tuple[Spread, Spread, Spread]:
    """Seconds of both sides, and other ÷ ours; ``before`` each, outside the clock."""
    found: tuple[list[float], list[float]] = ([], [])
    for i in range(1 if settings.check else FEWEST + 2):
        for which in (0, 1) if i % 2 else (1, 0):
            before()
            gc.collect()
            begin = time.perf_counter()
            sides[which]()
            found[which].append(time.perf_counter() - begin)
    if settings.fastest:
        found = ([min(found[0])], [min(found[1])])
    ours, other = found
    return Spread.of(ours), Spread.of(other), Spread.of([b / a for a, b in zip(ours, other)])


def row(name: str, what: str, target: str, factor: float) -> Callable[[Callable[..., Any]], None]:
    """A row that passes when the other side takes at least ``factor`` of our time. The function makes both sides."""

    def enter(make: Callable[..., Any]) -> None:
        def measure(settings: Settings) -> Outcome:
            with on_all(settings.cores), disk() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                *sides, before = make(settings, folder)
                ours, other, ratio = by_turns(settings, (sides[0], sides[1]), before)
            return Outcome(with_spread(ours), with_spread(other), times(ratio), ratio.median >= factor, ratio.median)

        add_row(name, what, target, measure, CHECKPOINT)

    return enter


DCP = "PyTorch takes ≥ 1.5×"
COPY = "≥ 80 % of the bandwidth of a copy"


def cleared(folder: str) -> Timed:
    def clear() -> None:
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    return clear


@row("save-dcp", "save 1 GB; the other: `torch.distributed.checkpoint`", DCP, 1.5)
def _(settings: Settings, folder: str) -> Any:
    import torch
    import torch.distributed.checkpoint as dcp

    arrays = tensors(settings)
    theirs = {k: torch.from_numpy(a) for k, a in arrays.items()}
    target = os.path.join(folder, "x")
    return (
        lambda: save(target, arrays),
        lambda: dcp.save(theirs, checkpoint_id=target, no_dist=True),
        cleared(folder),
    )


@row("save-copy", "save 1 GB; the other: `shutil.copyfile` of such a file and `fsync`", COPY, 0.8)
def _(settings: Settings, folder: str) -> Any:
    arrays = tensors(settings)
    source = os.path.join(folder, "source")
    os.mkdir(os.path.join(folder, "new"))
    save(source, arrays)
    file = os.path.join(source, "0_0.distcp")
    with open(file, "rb") as f:  # into the page cache
        while f.read(1 << 24):
            pass
    target = os.path.join(folder, "new", "x")
    return lambda: save(target, arrays), lambda: synced_copy(file, target), cleared(os.path.join(folder, "new"))


def _loading(settings: Settings, folder: str) -> tuple[Any, dict[str, np.ndarray], str]:
    arrays = tensors(settings)
    manifest = save(folder, arrays)
    into = {k: np.zeros_like(a) for k, a in arrays.items()}
    load(folder, manifest, into)
    for key, a in arrays.items():
        np.testing.assert_array_equal(into[key], a)
    return manifest, into, os.path.join(folder, "0_0.distcp")


@row("load-dcp", "load 1 GB, checksums compared; the other: `torch.distributed.checkpoint`", DCP, 1.5)
def _(settings: Settings, folder: str) -> Any:
    import torch
    import torch.distributed.checkpoint as dcp

    manifest, into, _ = _loading(settings, folder)
    theirs = {k: torch.zeros(a.shape) for k, a in into.items()}
    peer = os.path.join(folder, "dcp")
    dcp.save({k: torch.from_numpy(a) for k, a in into.items()}, checkpoint_id=peer, no_dist=True)
    return (
        lambda: load(folder, manifest, into, verify=True),
        lambda: dcp.load(theirs, checkpoint_id=peer, no_dist=True),
        nothing,
    )


def _read_into(path: str, into: dict[str, np.ndarray]) -> None:
    with open(path, "rb", buffering=0) as f:
        for array in into.values():
            view = memoryview(array).cast("B")
            while view:
                view = view[f.readinto(view) :]


@row("load-copy", "load 1 GB; the other: `readinto` the same memory", COPY, 0.8)
def _(settings: Settings, folder: str) -> Any:
    manifest, into, file = _loading(settings, folder)
    return lambda: load(folder, manifest, into), lambda: _read_into(file, into), nothing


@row("load-cold", "load 1 GB from the disk; the other: `readinto` the same memory", COPY, 0.8)
def _(settings: Settings, folder: str) -> Any:
    manifest, into, file = _loading(settings, folder)
    return lambda: load(folder, manifest, into), lambda: _read_into(file, into), lambda: drop(file)


def _pause(settings: Settings) -> Outcome:
    from umiak.checkpoint.async_save import AsyncSaver, Job

    arrays = tensors(settings)
    size = sum(a.nbytes for a in arrays.values())
    whole: list[float] = []
    pauses: dict[bool, list[float]] = {False: [], True: []}
    with on_all(settings.cores), disk() as folder, AsyncSaver() as saver:
        saver.reserve(size)
        for _ in range(1 if settings.check else FEWEST):
            begin = time.perf_counter()
            save(folder, arrays)
            whole.append(time.perf_counter() - begin)
            for overlap in (False, True):
                cleared(folder)()
                job = Job(folder, items(arrays), infos(arrays))
                begin = time.perf_counter()
                handle = saver.save(job, overlap=overlap)
                pauses[overlap].append(time.perf_counter() - begin)
                handle.wait()
            cleared(folder)()
    pick = min if settings.fastest else lambda x: Spread.of(x).median
    plain, overlapped, sync = pick(pauses[False]), pick(pauses[True]), pick(whole)
    figure = f"{100 * plain / sync:.3g} %, {100 * overlapped / sync:.2g} % with `overlap`"
    return Outcome(f"{duration(plain)}, {duration(overlapped)}", duration(sync), figure, plain <= 0.1 * sync)


add_row(
    "save-pause",
    "how long a save of 1 GB in the background holds up the training; the other: a save that waits",
    "≤ 10 % of the other",
    _pause,
    CHECKPOINT,
)

STATEMENTS = """
l.$LAYER_ID.q^T, l.$LAYER_ID.k^T, l.$LAYER_ID.v^T -> l.$LAYER_ID.qkv, fused_qkv, num_heads=16, num_key_value_groups=4
l.$LAYER_ID.gate^T, l.$LAYER_ID.up^T -> l.$LAYER_ID.gate_up, fused_ffn
l.$LAYER_ID.o^T -> l.$LAYER_ID.o
l.$LAYER_ID.down^T -> l.$LAYER_ID.down
lm_head^T -> lm_head
"""


def _convert(settings: Settings) -> Outcome:
    import ml_dtypes

    from umiak.checkpoint.commit import open_checkpoint
    from umiak.checkpoint.convert import convert

    h, f, vocabulary, layers = (64, 128, 500, 2) if settings.check else (2048, 5504, 32000, 20)
    rng = np.random.default_rng(0)
    shapes = {"embed": (vocabulary, h), "lm_head": (vocabulary, h)}
    per_layer = {
        "q": (h, h),
        "k": (h // 4, h),
        "v": (h // 4, h),
        "o": (h, h),
        "gate": (f, h),
        "up": (f, h),
        "down": (h, f),
    }
    shapes |= {f"l.{i}.{n}": shape for i in range(layers) for n, shape in per_layer.items()}
    arrays = {k: rng.integers(0, 1 << 14, s, np.uint16).view(ml_dtypes.bfloat16) for k, s in shapes.items()}
    size = sum(a.nbytes for a in arrays.values())
    with on_all(settings.cores), disk() as folder:
        save(os.path.join(folder, "first"), arrays)
        source, target = os.path.join(folder, "hf"), os.path.join(folder, "new")
        arrays.clear()
        convert(os.path.join(folder, "first"), open_checkpoint(os.path.join(folder, "first")), source)
        shutil.rmtree(os.path.join(folder, "first"))
        statements = STATEMENTS.strip().splitlines()
        file = os.path.join(source, next(n for n in os.listdir(source) if n.endswith(".safetensors")))
        peak = [0]

        def ours() -> None:
            gc.collect()
            with open("/proc/self/clear_refs", "w") as reset:  # the peak of the memory from here on
                reset.write("5")
            base = resident()
            convert(source, open_checkpoint(source), target, format="native", statements=statements)
            peak[0] = max(peak[0], highest() - base)

        def before() -> None:
            shutil.rmtree(target, ignore_errors=True)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, "copy"))

        ours_, other, ratio = by_turns(
            settings, (ours, lambda: synced_copy(file, os.path.join(folder, "copy"))), before
        )
    figure = f"{times(ratio)}, + {peak[0] / 1e6:.0f} MB for {size / 1e9:.3g} GB"
    passed = ratio.median >= 0.6 and peak[0] <= 256e6
    return Outcome(with_spread(ours_), with_spread(other), figure, passed, ratio.median)


add_row(
    "convert",
    "2 GB of safetensors into transposed and fused matrices; the other: a copy of the file",
    "≥ 60 % of the bandwidth of a copy, + ≤ 256 MB",
    _convert,
    CHECKPOINT,
)
