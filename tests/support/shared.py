"""What is computed once for all workers of a run, as its cost is that of starting processes."""

from __future__ import annotations

import fcntl
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_folder: Path | None = None  # of the run, if it has several workers


def set_up(config: pytest.Config) -> None:
    """Take the folder that workers of pytest-xdist have in common; it is removed with those of earlier runs."""
    global _folder
    _folder = Path(config.option.basetemp).parent if hasattr(config, "workerinput") else None


def once(key: str, compute: Callable[[], Any]) -> Any:
    """Return ``compute()``, which JSON can say, from the first worker that asks; others wait for it.

    What is raised there is raised in that worker alone: the next one tries on its own.
    """
    if _folder is None:
        return compute()
    path = _folder / f"shared-{zlib.crc32(key.encode()):08x}.json"
    with open(path, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known = dict(json.loads(file.read() or "{}"))
        if key not in known:
            known[key] = compute()
            file.truncate(0)
            json.dump(known, file)
        return known[key]
