"""Extensions of ``tests/extensions/sources``, compiled once for all processes of a run and those to come."""

from __future__ import annotations

import contextlib
import subprocess
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from paddle.utils.cpp_extension import get_build_directory, load
from paddle.utils.cpp_extension.compiling import compiler, include_folders

SOURCES = Path(__file__).parents[1] / "extensions" / "sources"
FLAGS = ["-O0", "-Wall", "-Wextra", "-Werror"]


def loaded(*names: str) -> ModuleType:
    """The operators of these sources."""
    sources = [str(SOURCES / f"{name}.cc") for name in names]
    return load("umiak_tests", sources, extra_cxx_cflags=FLAGS, build_directory=get_build_directory())


def pybind_headers() -> list[str]:
    """Folders of pybind11's headers where its package is not installed: PyTorch has a copy."""
    if find_spec("pybind11") is not None:
        return []
    torch = find_spec("torch")
    assert torch is not None and torch.origin is not None
    folder = Path(get_build_directory(), "headers")
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "pybind11").exists():
        with contextlib.suppress(FileExistsError):  # another worker was first
            (folder / "pybind11").symlink_to(Path(torch.origin).parent / "include" / "pybind11")
    return [str(folder)]


def bound(name: str) -> ModuleType:
    """The module of a source that declares functions of Python."""
    source = str(SOURCES / f"{name}.cc")
    return load(f"umiak_{name}", [source], extra_cxx_cflags=FLAGS, extra_include_paths=pybind_headers())


def library_of(text: str, path: Path, *flags: str) -> Path:
    """Compile a text in C to a library."""
    source = path.with_suffix(".c")
    source.write_text(text)
    command = [*compiler(str(source), "tests"), "-x", "c", "-shared", "-fPIC", *flags]
    command += [f"-I{folder}" for folder in include_folders()]
    subprocess.run([*command, "-o", str(path), str(source)], check=True)
    return path
