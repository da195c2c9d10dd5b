"""NVIDIA's assembler, ``ptxas``: registers and spills of a kernel. It needs no device."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
PACKAGE = "nvidia-cuda-nvcc"


class Usage(NamedTuple):
    """Resources of a thread of a kernel."""

    registers: int
    spills: int  # bytes that are stored, and loaded again, for want of registers
    stack: int  # bytes of frames


@functools.cache
def path() -> str | None:
    """The assembler of the wheel, else the one on the path; None where there is neither."""
    try:
        files = metadata.files(PACKAGE) or ()
    except metadata.PackageNotFoundError:
        files = ()
    for file in files:
        if Path(file).name == "ptxas":
            return str(file.locate())
    return shutil.which("ptxas")


@functools.cache
def version() -> str:
    """Version of the assembler: registers are those that it chose."""
    said = subprocess.run([path(), "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"V([\d.]+)", said)[1]


def usage(text: str, arch: str) -> Usage:
    """Assemble PTX of one kernel; a RuntimeError with the text where it is refused."""
    command = [path(), f"-arch={arch}", "-v", "-o", "/dev/null", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if "Potential Performance Loss" in done.stderr:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}\n{text}")
    stack, stores, loads = map(
        int,
        re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr).groups(),
    )
    return Usage(int(re.search(r"Used (\d+) registers", done.stderr)[1]), stores + loads, stack)
