"""Writes ``umiak/core/dtype_ids.pxi``, the ids of data types for Cython, from the table in ``umiak/util/dtypes.py``.

A test compares the file with what this would write.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "umiak" / "core" / "dtype_ids.pxi"


def text() -> str:
    """The contents of the file."""
    from umiak.util import dtypes

    def mask(holds: Callable[[dtypes.Row], bool]) -> str:
        return f"0x{sum(1 << i for i, row in enumerate(dtypes.TABLE) if holds(row)):x}"

    lines = [
        "# Made by tools/make_dtype_ids.py from umiak/util/dtypes.py: change the table there.",
        "cdef enum:",
        f"    DTYPE_COUNT = {len(dtypes.TABLE)}",
        *(f"    {row.name.upper()} = {i}" for i, row in enumerate(dtypes.TABLE)),
        "    # Sets of them, a bit for each id.",
        f"    FLOATING_IDS = {mask(lambda row: row.kind == dtypes.FLOAT)}",
        f"    COMPLEX_IDS = {mask(lambda row: row.kind == dtypes.COMPLEX)}",
        f"    PACKED_IDS = {mask(lambda row: row.packed)}",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    TARGET.write_text(text())
