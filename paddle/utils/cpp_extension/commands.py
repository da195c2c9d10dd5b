"""Builds of extensions in another process: what packages with a ``setup.py`` of their own making call."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

from paddle.utils.cpp_extension.loading import load_library
from umiak.util.errors import op_error

IS_WINDOWS = sys.platform.startswith("win")


def run_cmd(command: str, verbose: bool = False) -> int:
    """Run a command of the shell: 0, or RuntimeError. ``verbose``: its output is that of this process."""
    output = None if verbose else subprocess.PIPE
    done = subprocess.run(command, shell=True, stdout=output, stderr=output, text=True, errors="replace", check=False)
    if done.returncode:
        said = "" if verbose else f"\n{done.stdout}{done.stderr}"
        raise RuntimeError(
            f"[run_cmd] requires a command that succeeds, got status {done.returncode} of {command!r}{said}"
        )
    return done.returncode


def jit_compile(file_path: str, verbose: bool = False) -> None:
    """Run ``setup.py build`` of a file, in its folder, by this interpreter. RuntimeError where it fails."""
    if not os.path.exists(file_path):
        raise op_error(FileNotFoundError, "_jit_compile", "a setup.py that exists", file_path)
    folder, name = os.path.split(os.path.abspath(file_path))
    done = subprocess.run(
        [sys.executable, name, "build"], cwd=folder, text=True, errors="replace", check=False,
        capture_output=not verbose,
    )  # fmt: skip
    if done.returncode:
        said = "" if verbose else f"\n{done.stdout}{done.stderr}"
        raise RuntimeError(
            f"[_jit_compile] requires sources that compile, got status {done.returncode} of {name} build in "
            f"{folder}{said}"
        )


def import_module_from_library(module_name: str, build_directory: str, verbose: bool = False) -> ModuleType:
    """The operators of ``build_directory/module_name.so`` as functions of a module."""
    path = os.path.join(build_directory, f"{module_name}.so")
    if not os.path.exists(path):
        raise op_error(FileNotFoundError, "_import_module_from_library", "a library that exists", path)
    if verbose:
        print(f"operators are loaded from {path}")
    return load_library(path)
