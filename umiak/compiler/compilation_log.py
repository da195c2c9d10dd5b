"""Logs of compilations, which ``python -m umiak.compiler.replay FOLDER`` compiles again and compares.

With ``FLAGS_log_compilations=FOLDER`` every compilation leaves one file of its inputs and the text of every stage
that was dumped on the way. A *recipe* is a name for a function that takes the inputs and compiles again; it is
stored by name and found in ``RECIPES``, so that code may move without making logs unreadable.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from umiak.compiler.dump import collect, collecting, file_name
from umiak.util import flags
from umiak.util.errors import op_error

FOLDER = flags.define("log_compilations", "", "folder that gets a log of every compilation, for replay; empty: none")

# recipe -> "module:function"; the function takes a log's inputs and dumps the stages again.
RECIPES = {"llvm": "umiak.compiler.jit.codegen:replay"}

_SUFFIX = ".json"


def active() -> bool:
    """Return whether a compilation that starts now leaves a log of its own: asked for, and not part of a logged one."""
    return bool(FOLDER.value) and not collecting()


@contextmanager
def logged(recipe: str, name: str, inputs: Callable[[], Any]) -> Iterator[None]:
    """Log what is compiled inside, if asked for. ``inputs()`` is JSON data that ``recipe`` compiles again.

    What a logged compilation compiles in turn belongs to its log.
    """
    if not active():
        yield
        return
    with collect() as stages:
        yield
        text = json.dumps({"recipe": recipe, "name": name, "inputs": inputs()}, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        _write(Path(FOLDER.value), f"{file_name(name)}-{digest}{_SUFFIX}", {**json.loads(text), "stages": stages})


def _write(folder: Path, name: str, log: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(".partial", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(log, file, indent=1, sort_keys=True)
        os.replace(partial, folder / name)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(partial)
        raise


def read(folder: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The logs of a folder, by file name."""
    root = Path(folder)
    if not root.is_dir():
        raise op_error(FileNotFoundError, "replay", "a folder of logs (FLAGS_log_compilations)", str(root))
    for path in sorted(root.glob("*" + _SUFFIX)):
        log = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(log, dict) or {"recipe", "name", "inputs", "stages"} - set(log):
            raise op_error(ValueError, "replay", "logs of compilations", str(path))
        yield log


def recompile(log: dict[str, Any]) -> dict[str, str]:
    """The stages that the recipe of ``log`` makes of its inputs now."""
    try:
        module, function = RECIPES[log["recipe"]].split(":")
    except KeyError:
        raise op_error(
            ValueError, "replay", f"a recipe among {', '.join(sorted(RECIPES))}", repr(log["recipe"])
        ) from None
    with collect() as stages:
        getattr(importlib.import_module(module), function)(log["inputs"])
    return stages
