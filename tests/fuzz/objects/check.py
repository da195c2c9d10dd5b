"""Random objects saved and loaded in many ways."""

from __future__ import annotations

import io
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

import paddle
from paddle.framework import background_save
from tests.fuzz.objects.draw import Pair, made, written
from tests.fuzz.objects.walk import Same, parts
from tests.fuzz.shrink import fewer_lines, reduction

WAYS = ("stream", "file", "static mode", "background", "arrays", "again")
TRUSTED = [Pair]


def through(x: Any, way: str, seed: int, folder: str) -> Any:
    """``x`` saved and loaded in a way."""
    protocol, file, path = 2 + seed % 3, io.BytesIO(), os.path.join(folder, "x.pd")
    if way == "file":
        paddle.save(x, path, protocol)
        return paddle.load(path, trusted=TRUSTED)
    if way == "background" and isinstance(x, (dict, paddle.Tensor)):
        paddle.async_save({}, os.path.join(folder, "first.pd"))  # which starts the thread
        changed = threading.Event()
        background_save._writer.submit(changed.wait, 60.0)  # files are written when all has changed
        paddle.async_save(x, path, protocol)
        for v in parts(x):
            with paddle.no_grad():
                if isinstance(v, paddle.Tensor) and v.size:
                    v.zero_()
                elif type(v) is np.ndarray and v.size and v.flags.writeable:
                    v[...] = np.zeros((), v.dtype)
                elif type(v) is list:
                    v.append(7)
        changed.set()
        paddle.clear_async_save_task_queue()
        return paddle.load(path, trusted=TRUSTED)
    if way == "static mode":
        paddle.enable_static()
        try:
            with paddle.static.program_guard(paddle.static.Program()):
                paddle.save(x, file, protocol)
        finally:
            paddle.disable_static()
    else:
        for part in (1, x, 2):
            paddle.save(part, file, protocol)
    file.seek(0)
    loaded = [
        paddle.load(file, trusted=TRUSTED, return_numpy=way == "arrays")
        for _ in range(1 if way == "static mode" else 2)
    ]
    if way == "again":
        file = io.BytesIO()
        paddle.save(loaded[-1], file)
        file.seek(0)
        return paddle.load(file, trusted=TRUSTED)
    return loaded[-1]


def check(
    seed: int, tally: Counter[str] | None = None, only: Sequence[str] = WAYS, text: str | None = None
) -> str | None:
    """What is wrong; None if nothing is."""
    tally = Counter() if tally is None else tally
    text = written(seed) if text is None else text
    with tempfile.TemporaryDirectory() as folder:
        for way in only:
            x, wanted = made(text), made(text)
            for a, b in zip(parts(x), parts(wanted)):
                if isinstance(a, paddle.Tensor):
                    b.name = a.name
            if (
                way == "again"
                and not any(isinstance(v, paddle.Tensor) for v in parts(x))
                and any(type(v) is np.ndarray for v in parts(x))
            ):
                continue  # arrays are tensors then
            try:
                found = through(x, way, seed, folder)
                wrong = next(Same(wanted, way == "arrays").differences(found, wanted, ""), None)
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"
            if wrong:
                return f"{text}{way}, seed {seed}: {wrong}"
            tally[way] += 1
    return None


reduced = reduction(written, check, fewer_lines)
