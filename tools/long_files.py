"""Lists source files of more than 800 lines, which a reader may not get to the end of. It never fails.

``make lint`` runs it: where a file has two subjects, split it; where it has one, let it be.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 800


def long_files(root: Path = ROOT) -> list[tuple[int, str]]:
    """(lines, path) of each, the longest first."""
    paths = (p for package in ("umiak", "paddle") for p in (root / package).rglob("*") if p.suffix in (".py", ".pyx"))
    sizes = ((p.read_text().count("\n"), str(p.relative_to(root))) for p in paths)
    return sorted((s for s in sizes if s[0] > MOST), reverse=True)


if __name__ == "__main__":
    for lines, path in long_files():
        print(f"warning: {path} has {lines} lines, more than {MOST}")
