"""Check what is in a wheel: every source file of both packages, every compiled module, and nothing generated."""

import subprocess
import sys
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

PACKAGES = ("umiak", "paddle")
FORBIDDEN = (".pyx", ".c", ".pyc", ".o")


def problems(names: list[str], sources: list[str]) -> list[str]:
    """What is wrong with a wheel that holds ``names``, built from a tree that holds ``sources``."""
    there = set(names)
    found = [f"missing: {s}" for s in sources if not s.endswith(FORBIDDEN) and s not in there]
    found += [f"should not be there: {n}" for n in names if n.endswith(FORBIDDEN) or "__pycache__" in n]
    for source in sources:
        module = PurePosixPath(source)
        if module.suffix == ".pyx":
            binaries = [n for n in names if n.startswith(f"{module.with_suffix('')}.") and n.endswith(".so")]
            if len(binaries) != 1:
                found.append(f"requires one compiled {module}, got {binaries}")
    tops = {n.split("/")[0] for n in names if not n.split("/")[0].endswith((".dist-info", ".libs"))}
    found += [f"stray top-level entry: {t}" for t in sorted(tops - set(PACKAGES))]
    return found


def main(wheel: str) -> None:
    listing = subprocess.run(["git", "ls-files", *PACKAGES], capture_output=True, text=True, check=True)
    names = ZipFile(wheel).namelist()
    found = problems(names, [s for s in listing.stdout.splitlines() if Path(s).exists()])
    for problem in found:
        print(f"{wheel}: {problem}")
    print(f"{Path(wheel).name}: {len(names)} files, {Path(wheel).stat().st_size >> 10} KiB, {len(found)} problems")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
