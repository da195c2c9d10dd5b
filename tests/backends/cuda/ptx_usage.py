"""The table of registers and spills of the kernels that networks launch most: ``tests/data/ptx_usage.json``.

``python tests/backends/cuda/ptx_usage.py`` assembles them, prints what differs from the table, and writes it again.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

import assembler
import workloads

from umiak.compiler.render import ptx

FILE = Path(__file__).parents[2] / "data" / "ptx_usage.json"
MOST = 60


def kernels() -> dict[str, str]:
    """The kernels that are launched most, most first. Of several with one name, later ones have a number."""
    with workloads.counted() as launches:
        for network in workloads.NETWORKS:
            network()
    names: dict[str, str] = {}
    count: dict[str, int] = {}
    for (name, text), _ in sorted(launches.items(), key=lambda item: (-item[1], item[0]))[:MOST]:
        count[name] = count.get(name, 0) + 1
        names[name if count[name] == 1 else f"{name} {count[name]}"] = text
    return names


def assembled(text: str, arch: str) -> assembler.Usage:
    return assembler.usage(ptx.assemble(workloads.for_architecture(text, arch), arch), arch)


def table(texts: dict[str, str]) -> dict[str, dict[str, list[int]]]:
    """Registers, bytes spilled and bytes of stack, by kernel and architecture."""
    with ThreadPoolExecutor(2) as pool:
        wanted = [(name, arch) for name in texts for arch in assembler.ARCHITECTURES]
        got = pool.map(lambda pair: assembled(texts[pair[0]], pair[1]), wanted)
        rows: dict[str, dict[str, list[int]]] = {}
        for (name, arch), used in zip(wanted, got):
            rows.setdefault(name, {})[arch] = list(used)
    return rows


def stored() -> dict:
    return json.loads(FILE.read_text())


def main() -> None:
    rows = table(kernels())
    former = stored()["kernels"] if FILE.exists() else {}
    for name in sorted({*rows, *former}):
        if rows.get(name) != former.get(name):
            print(f"{name}: {former.get(name)} -> {rows.get(name)}")
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    head = json.dumps(assembler.version())
    FILE.write_text(f'{{"ptxas": {head}, "columns": ["registers", "spilled", "stack"], "kernels": {{\n{lines}\n}}}}\n')
    spilling = [name for name, row in rows.items() if any(used[1] for used in row.values())]
    most = max(used[0] for row in rows.values() for used in row.values())
    print(f"{len(rows)} kernels, {most} registers at most, spilling: {', '.join(spilling) or 'none'}")


if __name__ == "__main__":
    main()
