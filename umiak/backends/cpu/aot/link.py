"""One shared library of a model: objects, tables, weights and the C sources of the runtime."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from umiak.backends.cpu.aot.errors import LinkError
from umiak.backends.cpu.aot.targets import Processor

RUNTIME = Path(__file__).parent / "runtime"
PROVIDERS = Path(__file__).parents[1] / "providers"  # whose headers in C the runtime shares
# Sources that are compiled for the processor, by the functions of the steps that need them; the others for all of its
# kind.
COMPUTING = {
    "um_run_gemm": "gemm.c", "um_run_rows": "gemm.c", "um_run_sort": "sort.c", "um_run_winograd": "winograd.c",
    "um_run_depthwise_blocks": "depthwise.c",
}  # fmt: skip
ALWAYS = "kernels.c"
OTHERS = ("predictor.c", "threads.c")
EXPORTED = "{ global: umiak_*; local: *; };\n"
WEIGHTS = """.section .rodata
.balign 64
.globl um_weights
.hidden um_weights
um_weights: .incbin "weights"
.byte 0
.section .note.GNU-stack,"",%progbits
"""


def compiler(processor: Processor, name: str | None) -> list[str]:
    """The command of the C compiler: the one that is named, else the first that is there."""
    if name:
        return name.split()
    found = next(filter(None, map(shutil.which, processor.compilers)), None)
    if found is None:
        known = ", ".join(processor.compilers)
        raise LinkError(
            f"[compile] requires a C compiler for {processor.name}, got none of {known}. Name one with --cc"
        )
    return [found]


def link(
    out: Path, objects: Sequence[bytes], tables: str, weights: bytes | None, runs: Collection[str],
    processor: Processor, cc: str | None, include: Path, version: str,
) -> None:  # fmt: skip
    """Write the library ``out``. ``weights``: those inside of it; ``runs``: the functions of its steps; ``include``:
    the folder of ``umiak_inference.h``."""
    command = compiler(processor, cc)
    with tempfile.TemporaryDirectory(prefix="umiak") as name:
        folder = Path(name)
        for i, data in enumerate(objects):
            (folder / f"kernel{i}.o").write_bytes(data)
        (folder / "tables.c").write_text(tables, encoding="ascii")
        (folder / "exported").write_text(EXPORTED, encoding="ascii")
        sources = ["tables.c", *(str(RUNTIME / n) for n in OTHERS)]
        if weights is not None:
            (folder / "weights").write_bytes(weights)
            (folder / "weights.S").write_text(WEIGHTS, encoding="ascii")
            sources.append("weights.S")
        common = ["-std=gnu11", "-fPIC", "-fvisibility=hidden", f"-I{RUNTIME}", f"-I{PROVIDERS}", f"-I{include}", "-c"]
        _run([*command, *common, "-O2", f'-DUMIAK_VERSION="{version}"', *sources], folder)
        needed = sorted({ALWAYS} | {COMPUTING[run] for run in runs if run in COMPUTING})
        lanes = f"-DUM_LANES={processor.lanes}"
        _run([*command, *common, "-O3", lanes, *processor.c_options, *(str(RUNTIME / n) for n in needed)], folder)
        made = sorted(p.name for p in folder.glob("*.o"))
        (folder / "objects").write_text("\n".join(made), encoding="ascii")
        options = ("--version-script=exported", "-Bsymbolic", "-z,noexecstack", "-z,defs", f"-soname,{out.name}")
        _run(
            [*command, "-shared", *(f"-Wl,{x}" for x in options), "-o", "library", "@objects", "-lm", "-lpthread"],
            folder,
        )
        out.parent.mkdir(parents=True, exist_ok=True)
        written = out.with_name(out.name + ".part")
        shutil.copyfile(folder / "library", written)
        written.chmod(0o755)
        os.replace(written, out)


def _run(command: Sequence[str], folder: Path) -> None:
    plain: Mapping[str, str] = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(command, cwd=folder, env=plain, capture_output=True, text=True, check=False)
    except OSError as error:
        raise LinkError(f"[compile] requires a C compiler that can be started, got {command[0]}: {error}") from None
    if done.returncode:
        raise LinkError(f"[compile] {' '.join(command[:1])} failed:\n{done.stderr[-4000:]}")
