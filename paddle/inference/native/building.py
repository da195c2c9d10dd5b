"""``libumiak_inference.so``: its C source, compiled for the interpreter that runs this."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from paddle.inference.native.folders import HEADERS
from umiak import __version__
from umiak.backends.cpu.aot.link import RUNTIME
from umiak.util.errors import op_error

LIBRARY = "libumiak_inference.so"
SOURCE = Path(__file__).parent / "embed.c"
OP = "paddle.inference.native build"


def build(folder: str | os.PathLike, cc: str | None = None) -> Path:
    """Compile the library into a folder, with the headers beside it.

    Args:
        folder: which is made if need be.
        cc: the command of the C compiler, by default the one that is installed.

    Returns:
        The library.

    Raises:
        RuntimeError: there is no C compiler, or none of the interpreter's headers and libraries, or an error.
    """
    out = Path(folder)
    command = _compiler(cc)
    headers, libraries = sysconfig.get_path("include"), sysconfig.get_config_var("LIBDIR") or ""
    if not os.path.exists(os.path.join(headers, "Python.h")):
        raise op_error(RuntimeError, OP, f"the headers of this Python in {headers}", "none", "python3-dev has them.")
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        raise op_error(
            RuntimeError,
            OP,
            "a Python with a shared library",
            f"{sys.executable}, which was built without --enable-shared",
        )
    out.mkdir(parents=True, exist_ok=True)
    part = out / (LIBRARY + ".part")
    options = [
        "-O2", "-std=gnu11", "-fPIC", "-fvisibility=hidden", f"-I{headers}", f"-I{HEADERS}", f"-I{RUNTIME}",
        f'-DUMIAK_VERSION="{__version__}"', f'-DUMIAK_PYTHON="{_escaped(sys.executable)}"',
        "-shared", str(SOURCE), "-o", str(part), "-Wl,-Bsymbolic", "-Wl,-z,defs", f"-Wl,-soname,{LIBRARY}",
        f"-L{libraries}", f"-Wl,-rpath,{libraries}", f"-lpython{sysconfig.get_config_var('LDVERSION')}", "-lpthread",
    ]  # fmt: skip
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        raise op_error(RuntimeError, OP, "a compiler that builds the library", f"an error:\n{done.stderr[-4000:]}")
    os.replace(part, out / LIBRARY)
    shutil.copytree(HEADERS, out, dirs_exist_ok=True)
    return out / LIBRARY


def _compiler(cc: str | None) -> list[str]:
    if cc:
        return shlex.split(cc)
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if found is None:
        raise op_error(RuntimeError, OP, "a C compiler: cc, gcc or clang", "none", "Name one with --cc.")
    return [found]


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace('"', '\\"')
