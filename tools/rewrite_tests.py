"""Writes the bytecode of test modules as pytest makes it, with rewritten asserts, on all CPUs.

Rewriting takes most of the import of a test module, and each worker of a run imports every one at the same time as the
others, so that none has the use of another's work. ``make build`` runs it. What pytest finds out of date it makes anew.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import distributions
from pathlib import Path

from _pytest.assertion import rewrite

ROOT = Path(__file__).parents[1]
TESTS = ("tests", "plugins/opencl/tests")


def rewritten_modules() -> list[Path]:
    """Modules whose asserts pytest rewrites: tests, what is shared by a folder of them, and the plugins of pytest."""
    names = ("test_*.py", "conftest.py")
    ours = [path for folder in TESTS for name in names for path in (ROOT / folder).rglob(name)]
    plugins = [d for d in distributions() if any(p.group == "pytest11" for p in d.entry_points)]
    return ours + [Path(str(f.locate())) for d in plugins for f in d.files or () if f.suffix == ".py"]


def write(path: Path) -> Path:
    """Write the bytecode of one module where pytest looks for it, unless it is there; return its path."""
    folder = rewrite.get_cache_dir(path)
    bytecode = folder / (path.stem + rewrite.PYC_TAIL)
    if rewrite._read_pyc(path, bytecode) is None:
        stat, code = rewrite._rewrite_test(path, None)  # type: ignore[arg-type]  # only an option is asked of it
        folder.mkdir(exist_ok=True)
        part = folder / f"{bytecode.name}.{os.getpid()}"
        with open(part, "wb") as file:
            rewrite._write_pyc_fp(file, stat, code)
        os.replace(part, bytecode)
    return bytecode


if __name__ == "__main__":
    with ProcessPoolExecutor() as pool:
        list(pool.map(write, rewritten_modules(), chunksize=8))
