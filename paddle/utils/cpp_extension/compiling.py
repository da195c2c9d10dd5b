"""Compilation of extensions: flags, folders, and one command for each source."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from paddle._public import public
from paddle.sysconfig import get_include
from umiak.util.errors import op_error

CUDA = (".cu", ".cuh")


def include_folders() -> list[str]:
    """Folders of headers: those of operators, and those that take the place of PyTorch's."""
    root = get_include()
    return [root, os.path.join(root, "compat")]


@public("paddle.utils.cpp_extension")
def get_build_directory(verbose: bool = False) -> str:
    """Return the folder that :func:`load` compiles in, which is made where it is not there.

    Args:
        verbose: whether it is printed.

    Returns:
        What ``PADDLE_EXTENSION_DIR`` names, or ``~/.cache/paddle_extensions``.

    Raises:
        OSError: the folder cannot be made.

    Example:
        >>> import os, paddle, tempfile
        >>> os.environ["PADDLE_EXTENSION_DIR"] = tempfile.mkdtemp()
        >>> paddle.utils.cpp_extension.get_build_directory() == os.environ.pop("PADDLE_EXTENSION_DIR")
        True
    """
    folder = os.environ.get("PADDLE_EXTENSION_DIR") or os.path.expanduser("~/.cache/paddle_extensions")
    os.makedirs(folder, exist_ok=True)
    if verbose:
        print(f"extensions are compiled in {folder}")
    return folder


def compiler(source: str, function: str) -> list[str]:
    """The compiler for a source."""
    if source.endswith(CUDA):
        home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
        program = shutil.which("nvcc") or (shutil.which(os.path.join(home, "bin", "nvcc")) if home else None)
        if program is None:
            raise op_error(
                RuntimeError, function, f"nvcc for {source}", "none on PATH or in CUDA_HOME",
                "Install NVIDIA's toolkit, or leave .cu sources out.",
            )  # fmt: skip
        return [program]
    words = shlex.split(os.environ.get("CXX", "")) or ["c++"]
    program = shutil.which(words[0]) or (shutil.which("g++") if not os.environ.get("CXX") else None)
    if program is None:
        raise op_error(
            RuntimeError, function, f"a compiler of C++17 for {source}", f"none called {words[0]!r}",
            "Install g++ or clang++, or name one by the environment variable CXX.",
        )  # fmt: skip
    return [program, *words[1:]]


def flags_for(source: str, cxx: Sequence[str], cuda: Sequence[str], folders: Sequence[str]) -> list[str]:
    """Flags for a source, own ones last."""
    includes = [f"-I{folder}" for folder in (*folders, *include_folders())]
    if source.endswith(CUDA):
        return ["-std=c++17", "-O2", "-Xcompiler", "-fPIC", "-DPADDLE_WITH_CUDA", *includes, *cuda]
    return ["-std=c++17", "-O2", "-fPIC", *includes, *cxx]


def run(command: Sequence[str], function: str, verbose: bool) -> None:
    """Run a command. RuntimeError with what it says where it fails."""
    if verbose:
        print(shlex.join(command), flush=True)
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise RuntimeError(
            f"[{function}] requires sources that compile, got status {done.returncode} of\n{shlex.join(command)}\n"
            f"{done.stdout}{done.stderr}"
        )
    if verbose and done.stderr:
        print(done.stderr, flush=True)


def compile_library(
    target: Path, sources: Sequence[str], cxx: Sequence[str], cuda: Sequence[str], links: Sequence[str],
    folders: Sequence[str], libraries: Sequence[str], verbose: bool, function: str,
) -> Path:  # fmt: skip
    """Compile sources to a library, unless one of the same sources, headers, flags and compiler is there.

    Its name has a hash of all these: a library that a process has loaded cannot be exchanged.
    """
    commands = []
    for source in sources:
        if not os.path.exists(source):
            raise op_error(FileNotFoundError, function, "sources that exist", source)
        commands.append([*compiler(source, function), *flags_for(source, cxx, cuda, folders), "-c", source])
    linking = [*links, *(f"-L{folder}" for folder in libraries), *(f"-Wl,-rpath,{folder}" for folder in libraries)]
    key = hashlib.sha256(repr((commands, linking, _contents(sources, folders))).encode()).hexdigest()[:16]
    library = target.with_name(f"{target.name}-{key}.so")
    if library.exists():
        return library
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f"{target.name}.lock").open("w") as lock:  # ranks and test workers compile the same at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            _compile(library, sources, commands, linking, verbose, function)
    return library


def _compile(
    library: Path, sources: Sequence[str], commands: Sequence[list[str]], linking: Sequence[str], verbose: bool,
    function: str,
) -> None:  # fmt: skip
    own = f"{library.stem}-{os.getpid()}"
    objects = [str(library.with_name(f"{own}-{i}.o")) for i in range(len(sources))]
    part = str(library.with_name(f"{own}.part"))
    try:
        with ThreadPoolExecutor(max(1, min(len(sources), os.cpu_count() or 1))) as pool:
            jobs = [
                pool.submit(run, [*command, "-o", out], function, verbose)
                for command, out in zip(commands, objects, strict=True)
            ]
            for job in jobs:
                job.result()
        linker = next((s for s in sources if s.endswith(CUDA)), sources[0])
        run([*compiler(linker, function), "-shared", "-o", part, *objects, *linking], function, verbose)
        os.replace(part, library)
    finally:
        for name in (*objects, part):
            Path(name).unlink(missing_ok=True)


def _contents(sources: Sequence[str], folders: Sequence[str]) -> list[tuple[str, str]]:
    """Hashes of the sources, and of headers beside them, in given folders and of this installation."""
    headers = {h for s in sources for h in Path(s).parent.glob("*.h*")}
    headers |= {h for folder in (*folders, get_include()) for h in Path(folder).rglob("*.h*") if h.is_file()}
    files = sorted({*map(Path, sources), *headers})
    return [(str(f), hashlib.sha256(f.read_bytes()).hexdigest()) for f in files]
