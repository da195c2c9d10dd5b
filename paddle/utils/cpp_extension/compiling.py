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
from paddle.utils.cpp_extension.cuda_toolkit import Toolkit, architecture_flags, toolkit
from paddle.utils.cpp_extension.python_headers import python_headers
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
        host = shlex.split(os.environ.get("CXX", ""))[:1]
        return [toolkit(source, function).nvcc, *(["-ccbin", *host] if host else [])]
    words = shlex.split(os.environ.get("CXX", "")) or ["c++"]
    program = shutil.which(words[0]) or (shutil.which("g++") if not os.environ.get("CXX") else None)
    if program is None:
        raise op_error(
            RuntimeError, function, f"a compiler of C++17 for {source}", f"none called {words[0]!r}",
            "Install g++ or clang++, or name one by the environment variable CXX.",
        )  # fmt: skip
    return [program, *words[1:]]


def flags_for(
    source: str, cxx: Sequence[str], cuda: Sequence[str], folders: Sequence[str], kit: Toolkit | None, function: str
) -> list[str]:
    """Flags for a source, own ones last. ``kit``: the toolkit of a library that has kernels of devices."""
    includes = [f"-I{folder}" for folder in (*folders, *include_folders())]
    with_cuda = [] if kit is None else ["-DPADDLE_WITH_CUDA"]
    if source.endswith(CUDA):
        assert kit is not None
        own = ["-std=c++17", "-O2", "-Xcompiler", "-fPIC", "--expt-relaxed-constexpr", "--expt-extended-lambda"]
        return [*own, *with_cuda, *includes, *architecture_flags(cuda, function), *cuda]
    headers = [] if kit is None else [word for folder in kit.includes for word in ("-isystem", folder)]
    return ["-std=c++17", "-O2", "-fPIC", *with_cuda, *includes, *headers, *cxx]


def linking_for(sources: Sequence[str], cuda: Sequence[str], kit: Toolkit | None, function: str) -> list[str]:
    """The command that links objects of sources, and the libraries that they need behind them."""
    if kit is None:
        return [*compiler(sources[0], function), "-shared"]
    if any("rdc" in flag or flag in ("-dc", "--device-c") for flag in cuda):
        # Code of devices is linked by nvcc alone.
        return [*compiler(next(s for s in sources if s.endswith(CUDA)), function), "-shared"]
    return [*compiler(f"linking {sources[0]} with C++", function), "-shared"]


def run_time_libraries(kit: Toolkit | None) -> list[str]:
    """Flags that link NVIDIA's run-time library into the extension: no file of it is needed where it runs."""
    if kit is None:
        return []
    return [*(f"-L{folder}" for folder in kit.libraries), "-lcudart_static", "-ldl", "-lrt", "-lpthread"]


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
    folders: Sequence[str], libraries: Sequence[str], verbose: bool, function: str, with_cuda: bool = False,
) -> Path:  # fmt: skip
    """Compile sources to a library, unless one of the same sources, headers, flags and compiler is there.

    Its name has a hash of all these: a library that a process has loaded cannot be exchanged. ``with_cuda``: sources in
    C++ call NVIDIA's run-time library, as they may where one is CUDA.
    """
    for source in sources:
        if not os.path.exists(source):
            raise op_error(FileNotFoundError, function, "sources that exist", source)
    first = next((s for s in sources if s.endswith(CUDA)), sources[0] if with_cuda else None)
    kit = None if first is None else toolkit(first, function)
    folders = [*folders, *python_headers(sources, folders, function)]
    # Sources for PyTorch call their module so.
    name = f"-DTORCH_EXTENSION_NAME={target.name.rpartition('.')[2]}"
    cxx, cuda = [name, *cxx], [name, *cuda]
    commands = [
        [*compiler(source, function), *flags_for(source, cxx, cuda, folders, kit, function), "-c", source]
        for source in sources
    ]
    linker = linking_for(sources, cuda, kit, function)
    paths = [f"-Wl,-rpath,{folder}" for folder in libraries]
    linking = [*links, *(f"-L{folder}" for folder in libraries), *paths, *run_time_libraries(kit)]
    if linker[0].endswith("nvcc"):
        linking = [word for flag in linking for word in _for_nvcc(flag)]
    key = hashlib.sha256(repr((commands, linker, linking, _contents(sources, folders))).encode()).hexdigest()[:16]
    library = target.with_name(f"{target.name}-{key}.so")
    if library.exists():
        return library
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f"{target.name}.lock").open("w") as lock:  # ranks and test workers compile the same at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            _compile(library, commands, linker, linking, verbose, function)
    return library


def _for_nvcc(flag: str) -> list[str]:
    return ["-Xlinker", flag.removeprefix("-Wl,")] if flag.startswith("-Wl,") else [flag]


def _compile(
    library: Path, commands: Sequence[list[str]], linker: list[str], linking: Sequence[str], verbose: bool,
    function: str,
) -> None:  # fmt: skip
    own = f"{library.stem}-{os.getpid()}"
    objects = [str(library.with_name(f"{own}-{i}.o")) for i in range(len(commands))]
    part = str(library.with_name(f"{own}.part"))
    try:
        with ThreadPoolExecutor(max(1, min(len(commands), os.cpu_count() or 1))) as pool:
            jobs = [
                pool.submit(run, [*command, "-o", out], function, verbose)
                for command, out in zip(commands, objects, strict=True)
            ]
            for job in jobs:
                job.result()
        run([*linker, "-o", part, *objects, *linking], function, verbose)
        os.replace(part, library)
    finally:
        for name in (*objects, part):
            Path(name).unlink(missing_ok=True)


def _contents(sources: Sequence[str], folders: Sequence[str]) -> list[tuple[str, str]]:
    """Hashes of the sources, and of headers beside them, in given folders and of this installation."""
    headers = {h for s in sources for h in Path(s).parent.glob("*.*h*")}
    headers |= {h for folder in (*folders, get_include()) for h in Path(folder).rglob("*.*h*") if h.is_file()}
    files = sorted({*map(Path, sources), *headers})
    return [(str(f), hashlib.sha256(f.read_bytes()).hexdigest()) for f in files]
