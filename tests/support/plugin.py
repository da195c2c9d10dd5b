"""The plug-in of ``plugin_device``, compiled and loaded as a user's is: a file below ``CUSTOM_DEVICE_ROOT``."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import paddle
from umiak import backends
from umiak.backends import base
from umiak.core import stream
from umiak.core.place import Place

SOURCE = Path(__file__).parent / "plugin_device" / "loop.c"
OPTIONS = "UMIAK_PLUGIN_OPTIONS"  # environment variable: more options of the compiler
CC = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(CC is None, reason="needs a C compiler")


class Counts(NamedTuple):
    """What the plug-in has given and not got back, and what should never happen."""

    blocks: int
    host_blocks: int
    streams: int
    events: int
    wrong_frees: int
    calls_after_end: int


def compiled(folder: Path, name: str, macros: Sequence[str] = ()) -> Path:
    """The plug-in as ``folder/libpaddle-NAME.so``, with our headers."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"libpaddle-{name}.so"
    include = [f"-I{paddle.sysconfig.get_include()}"]
    flags = ["-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Werror", "-Wno-unused-function"]
    flags += [*os.environ.get(OPTIONS, "").split(), *(f"-D{m}" for m in macros)]
    command = [str(CC), *flags, *include, str(SOURCE), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


@contextmanager
def root(folder: Path) -> Iterator[None]:
    """``CUSTOM_DEVICE_ROOT`` is this folder."""
    former = os.environ.get(base.ROOT)
    os.environ[base.ROOT] = str(folder)
    try:
        yield
    finally:
        if former is None:
            del os.environ[base.ROOT]
        else:
            os.environ[base.ROOT] = former


class Loop:
    """The loaded plug-in."""

    def __init__(self, device_type: str) -> None:
        self.backend: Any = backends.get(device_type)
        self.places = tuple(Place(device_type, i) for i in range(2))
        self.c = self.backend.library._library

    def counts(self) -> Counts:
        values = (ctypes.c_long * len(Counts._fields))()
        self.c.loop_counts(values)
        return Counts(*values)

    @contextmanager
    def failing(self, function: str, status: int = 4, after: int = 0) -> Iterator[None]:
        """A function returns a status, from its call number ``after`` on."""
        self.c.loop_fail(function.encode(), status, after)
        try:
            yield
        finally:
            self.c.loop_fail(b"", 0, 0)

    @contextmanager
    def lost(self) -> Iterator[None]:
        """The devices are gone: everything fails."""
        self.c.loop_lose(1)
        try:
            yield
        finally:
            self.c.loop_lose(0)

    def unload(self) -> None:
        """Forget the backend; the places that it has set up stay."""
        for place in self.places:
            stream.synchronize(place.index)
        backends.unregister(self.backend.name)


@contextmanager
def loaded(folder: Path, device_type: str, macros: Sequence[str] = ()) -> Iterator[Loop]:
    """A plug-in for devices of this type."""
    compiled(folder, device_type, [f'TYPE="{device_type}"', *macros])
    with root(folder):
        backends.discover(again=True)
    loop = Loop(device_type)
    try:
        yield loop
    finally:
        loop.unload()
