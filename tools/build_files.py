"""Paths of the source tree that ``meson.build`` asks for, one a line.

``build_files.py extensions`` lists the Cython modules. ``build_files.py leftovers PACKAGE`` lists, relative to the
package, what its wheel leaves out: bytecode, generated and compiled files, Cython sources (``.pxd``, ``.pyi`` stay, and
C that is no module's: it is compiled where it is used).
"""

import sys
from pathlib import Path

LEFT_OUT = (".pyx", ".so", ".pyc")


def extensions() -> list[Path]:
    return list(Path("umiak").rglob("*.pyx"))


def leftovers(package: str) -> list[Path]:
    root = Path(package)
    return [p.relative_to(root) for p in root.rglob("*") if is_left_out(p)]


def is_left_out(path: Path) -> bool:
    """Return whether a file or folder is none of the wheel's."""
    generated = path.suffix == ".c" and path.with_suffix(".pyx").exists()
    return path.name == "__pycache__" or path.suffix in LEFT_OUT or generated


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    found = {"extensions": extensions, "leftovers": leftovers}[what](*arguments)
    print("\n".join(sorted(map(str, found))))
