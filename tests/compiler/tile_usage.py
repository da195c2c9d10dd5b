"""The table of registers and spills of kernels with tiles: ``tests/data/tile_usage.json``.

``python tests/compiler/tile_usage.py`` assembles them and writes it again.
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import assembler
import llvm_host  # noqa: F401 (sets the options of LLVM that code is made with)

from umiak.backends.matmul_work import Matrices
from umiak.backends.tile_matmul import Cores, tile_matmul_work
from umiak.compiler.loop.tiles import panelled
from umiak.compiler.loop.tree import Kernel
from umiak.compiler.render import ptx
from umiak.core import dtype as dt

FILE = Path(__file__).parents[1] / "data" / "tile_usage.json"
VERSION = 87  # of PTX: the oldest that all architectures of the table have


def matmul(
    dtype, a_transposed=False, b_transposed=False, units=1, steps=(), size=256, together=False, result=None
) -> Kernel:
    x = SimpleNamespace(shape=(size, size), strides=(size, 1), size=size * size, pointer=0, dtype=dtype)
    out = SimpleNamespace(**{**vars(x), "dtype": result or dtype})
    cores = Cores(together, together)
    work = tile_matmul_work(out, Matrices(x, a_transposed), Matrices(x, b_transposed), units, steps, cores)
    assert work is not None
    return work[0]


@functools.cache
def kernels() -> dict[str, Kernel]:
    """What is assembled, by name."""
    few = 1 << 30  # so many blocks at once that tiles are small
    return {
        "matmul": matmul(dt.bfloat16),
        "matmul of float16": matmul(dt.float16),
        "matmul, weights transposed": matmul(dt.bfloat16, b_transposed=True),
        "matmul, left transposed": matmul(dt.bfloat16, a_transposed=True),
        "matmul, odd sizes": matmul(dt.bfloat16, size=255),
        "matmul, bias and gelu": matmul(dt.bfloat16, steps=("bias", "gelu")),
        "matmul, bias, silu and residual": matmul(dt.bfloat16, steps=("bias", "silu", "add")),
        "small matmul": matmul(dt.bfloat16, units=few),
        "small matmul, bias and relu": matmul(dt.bfloat16, units=few, steps=("bias", "relu")),
    } | {f"{name}, four warps": kernel for name, kernel in of_four_warps().items()}


def of_four_warps() -> dict[str, Kernel]:
    return {
        "matmul": matmul(dt.bfloat16, together=True),
        "matmul of float16, weights transposed": matmul(dt.float16, b_transposed=True, together=True),
        "matmul, left transposed": matmul(dt.bfloat16, a_transposed=True, together=True),
        "matmul, odd sizes": matmul(dt.bfloat16, size=255, together=True),
        "matmul, bias and gelu": matmul(dt.bfloat16, steps=("bias", "gelu"), together=True),
        "matmul, bias, silu and residual": matmul(dt.bfloat16, steps=("bias", "silu", "add"), together=True),
        "matmul, 128 columns": matmul(dt.bfloat16, units=3, together=True),
        "matmul of float8, weights transposed": matmul(
            dt.float8_e4m3fn, b_transposed=True, together=True, result=dt.float32
        ),
    }


def architectures(kernel: Kernel) -> tuple[str, ...]:
    return ("sm_90a",) if panelled(kernel) else assembler.ARCHITECTURES


QUICK = "small matmul, bias and relu"


def table(names) -> dict[str, dict[str, list[int]]]:
    """Registers, bytes spilled and bytes of stack, by kernel and architecture."""

    def used(kernel: Kernel, arch: str) -> list[int]:
        return list(assembler.usage(ptx.assemble(ptx.render(kernel, arch), arch, VERSION), arch))

    def row(kernel: Kernel) -> dict[str, list[int]]:
        return {arch: used(kernel, arch) for arch in architectures(kernel)}

    return {name: row(kernels()[name]) for name in names}


def stored() -> dict:
    return json.loads(FILE.read_text())


def main() -> None:
    rows = table(kernels())
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    head = json.dumps(assembler.version())
    FILE.write_text(f'{{"ptxas": {head}, "columns": ["registers", "spilled", "stack"], "kernels": {{\n{lines}\n}}}}\n')
    print(FILE.read_text())


if __name__ == "__main__":
    main()
