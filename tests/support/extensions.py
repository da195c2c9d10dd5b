"""Extensions of ``tests/extensions/sources``, compiled once for all processes of a run and those to come."""

from __future__ import annotations

import subprocess
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


def library_of(text: str, path: Path, *flags: str) -> Path:
    """Compile a text in C to a library."""
    source = path.with_suffix(".c")
    source.write_text(text)
    command = [*compiler(str(source), "tests"), "-x", "c", "-shared", "-fPIC", *flags]
    command += [f"-I{folder}" for folder in include_folders()]
    subprocess.run([*command, "-o", str(path), str(source)], check=True)
    return path
