"""Paths of the source tree that ``meson.build`` asks for, one a line.

``build_files.py extensions`` lists the Cython modules. ``build_files.py leftovers PACKAGE`` lists, relative to the
package, what its wheel leaves out: bytecode, generated and compiled files, Cython sources (``.pxd``, ``.pyi`` stay).
"""

import sys
from pathlib import Path

LEFT_OUT = (".pyx", ".c", ".so", ".pyc")


def extensions() -> list[Path]:
    return list(Path("umiak").rglob("*.pyx"))


def leftovers(package: str) -> list[Path]:
    root = Path(package)
    return [p.relative_to(root) for p in root.rglob("*") if p.name == "__pycache__" or p.suffix in LEFT_OUT]


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    found = {"extensions": extensions, "leftovers": leftovers}[what](*arguments)
    print("\n".join(sorted(map(str, found))))
