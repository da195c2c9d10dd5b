"""Dumps of the compiler's stages, for people and for logs of compilations.

A stage calls ``dump("loop", name, text_or_thunk)``. ``FLAGS_dump=loop,asm`` prints those stages to standard error, or
writes them to ``FLAGS_dump_folder`` as ``name.stage`` files. A thunk is called only when somebody wants the text.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from umiak.util import flags
from umiak.util.errors import op_error
from umiak.util.locks import fork_safe

STAGES = ("operations", "nest", "loop", "llvm", "asm")


def _parse(value: str) -> frozenset[str]:
    """The stages of ``"loop, asm"``."""
    stages = frozenset(filter(None, (word.strip() for word in value.split(","))))
    unknown = sorted(stages - set(STAGES))
    if unknown:
        raise op_error(ValueError, "FLAGS_dump", f"stages among {', '.join(STAGES)}", ", ".join(unknown))
    return stages


_printed: frozenset[str] = frozenset()


def _choose(value: str) -> None:
    global _printed
    _printed = _parse(value)


FLAG = flags.define(
    "dump", "", f"stages of the compiler to print, comma-separated: {', '.join(STAGES)}", on_change=_choose
)
FOLDER = flags.define("dump_folder", "", "where FLAGS_dump writes a file per stage and kernel; empty: standard error")

# The stages of the compilation being recorded: {"stage:name": text}.
_collected: ContextVar[dict[str, str] | None] = ContextVar("collected", default=None)

_lock = fork_safe(threading.Lock())
_written: dict[str, str] = {}  # file name -> text, so that two kernels of one name do not overwrite each other


def wanted(stage: str) -> bool:
    """Return whether ``dump(stage, ...)`` would do anything: for stages whose text costs work."""
    return stage in _printed or _collected.get() is not None


def dump(stage: str, name: str, text: str | Callable[[], str]) -> None:
    """Show ``text`` (or what the thunk returns) as ``stage`` of the kernel ``name``, if it is asked for."""
    if stage not in STAGES:
        raise op_error(ValueError, "dump", f"a stage among {', '.join(STAGES)}", repr(stage))
    collected = _collected.get()
    if stage not in _printed and collected is None:
        return
    body = text if isinstance(text, str) else text()
    if collected is not None:
        collected[f"{stage}:{name}"] = body
    if stage in _printed:
        _show(stage, name, body)


@contextmanager
def collect() -> Iterator[dict[str, str]]:
    """Gather every stage dumped inside, on this thread, as ``{"stage:name": text}``. The innermost gatherer gets it."""
    stages: dict[str, str] = {}
    token = _collected.set(stages)
    try:
        yield stages
    finally:
        _collected.reset(token)


def collecting() -> bool:
    return _collected.get() is not None


def file_name(name: str) -> str:
    """``name`` with what a file system may refuse replaced."""
    return re.sub(r"[^\w.+-]", "_", name)[:100]


def _show(stage: str, name: str, body: str) -> None:
    if not FOLDER.value:
        print(f"; ---- {stage} of {name}\n{body.rstrip()}\n", file=sys.stderr)
        return
    os.makedirs(FOLDER.value, exist_ok=True)
    base = path = os.path.join(FOLDER.value, f"{file_name(name)}.{stage}")
    with _lock:
        number = 1
        while _written.setdefault(path, body) != body:
            number += 1
            path = f"{base}.{number}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(body)
