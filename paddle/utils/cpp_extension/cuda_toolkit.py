"""NVIDIA's compiler: where it is, what of it is missing, and for which devices it compiles."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from umiak import backends
from umiak.core.place import Place
from umiak.util.errors import op_error

# Parts of a toolkit, from its folder, and the wheels that have them.
_PARTS = {
    "bin/nvcc": "nvidia-cuda-nvcc",
    "nvvm/bin/cicc": "nvidia-nvvm",
    "include/crt/host_config.h": "nvidia-cuda-crt",
    "include/cuda_runtime.h": "nvidia-cuda-runtime",
}
_USUAL = "/usr/local/cuda"
_ARCHITECTURE = re.compile(r"(\d+)(?:\.(\d))?([af]?)(\+PTX)?")
_OLDEST = "8.0+PTX"  # newer devices assemble the PTX


class Toolkit(NamedTuple):
    """A toolkit: the compiler, and folders of headers and libraries."""

    nvcc: str
    includes: list[str]
    libraries: list[str]


def _roots() -> Iterator[Path]:
    """Folders of toolkits: that of the environment; or that of ``nvcc`` on the path, the usual one, and wheels."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield Path(os.environ[name])
            return
    program = shutil.which("nvcc")
    if program is not None:
        yield _root_of(program)
    yield Path(_USUAL)
    spec = importlib.util.find_spec("nvidia")
    for folder in () if spec is None else spec.submodule_search_locations or ():
        yield from sorted(Path(folder).glob("cu[0-9]*"), reverse=True)


@functools.cache
def _root_of(program: str) -> Path:
    """The folder of a compiler's toolkit, which it tells: what is on the path may be a script that calls it."""
    done = subprocess.run([program, "--dryrun", "-c", "x.cu"], capture_output=True, text=True, check=False)
    here = re.search(r"^#\$ _HERE_=(.*)$", done.stdout + done.stderr, re.MULTILINE)
    return Path(here[1] if here else os.path.realpath(program)).parents[not here]


def _missing(root: Path) -> list[str]:
    """Parts that a toolkit lacks, with the wheels that have them."""
    return [f"{part} (in the wheel {wheel})" for part, wheel in _PARTS.items() if not (root / part).exists()]


def toolkit(source: str, function: str) -> Toolkit:
    """The toolkit that compiles a source: the first that is complete.

    Raises:
        RuntimeError: there is none, or a part of it is missing.
    """
    roots = list(_roots())
    complete = [r for r in roots if not _missing(r)]
    if not complete:
        partial = [
            f"{root}, which lacks {', '.join(_missing(root))}" for root in roots if (root / "bin" / "nvcc").exists()
        ]
        raise op_error(
            RuntimeError, function, f"nvcc for {source}",
            " and ".join(partial) or f"none on PATH, in CUDA_HOME or in {', '.join(map(str, roots))}",
            "Install NVIDIA's toolkit and name its folder by CUDA_HOME, or the wheels nvidia-cuda-nvcc and "
            "nvidia-cuda-cccl of CUDA 13, or leave .cu sources out.",
        )  # fmt: skip
    root = complete[0]
    headers, libraries = (root / "include", root / "include" / "cccl"), (root / "lib64", root / "lib")
    return Toolkit(
        str(root / "bin" / "nvcc"),
        [str(f) for f in headers if f.is_dir()],
        [str(f) for f in libraries if f.is_dir()],
    )


def home() -> str | None:
    """Return the folder of the toolkit that compiles, None where there is none that is complete."""
    return next((str(root) for root in _roots() if not _missing(root)), None)


def architecture_flags(given: Sequence[str], function: str) -> list[str]:
    """Flags that say for which devices ``nvcc`` compiles, unless given ones do.

    ``PADDLE_CUDA_ARCH_LIST`` lists them (``8.0;9.0+PTX``); without it they are the devices of the machine, and where
    there are none, those that run code of the oldest one.

    Raises:
        ValueError: an entry of the list that is no architecture.
    """
    if any(re.match(r"-{1,2}(gencode|generate-code|arch|gpu-architecture)\b", flag) for flag in given):
        return []
    text = os.environ.get("PADDLE_CUDA_ARCH_LIST") or ";".join(_of_machine()) or _OLDEST
    flags = set()
    for word in re.split(r"[;,\s]+", text.strip()):
        m = _ARCHITECTURE.fullmatch(word)
        if m is None:
            raise op_error(
                ValueError,
                function,
                "architectures like '8.0', '90a' or '9.0+PTX' in PADDLE_CUDA_ARCH_LIST",
                repr(word),
            )
        number = f"{m[1]}{m[2] or ''}{m[3]}"
        flags.add(f"-gencode=arch=compute_{number},code=sm_{number}")
        if m[4]:
            flags.add(f"-gencode=arch=compute_{number},code=compute_{number}")
    return sorted(flags)


def _of_machine() -> list[str]:
    if "gpu" not in backends.device_types():
        return []
    backend = backends.backends_of("gpu")[0]
    found = (backend.properties(Place("gpu", i)) for i in range(backend.device_count()))
    return sorted({f"{p.major}.{p.minor}" for p in found if p is not None})
