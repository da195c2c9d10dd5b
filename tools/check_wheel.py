"""Check a wheel: it has every source file of both packages, every compiled module and nothing generated, and runs on
the systems that its name promises.
"""

import re
import subprocess
import sys
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

PACKAGES = ("umiak", "paddle")
FORBIDDEN = (".pyx", ".c", ".pyc", ".o")
PLATFORM = re.compile(r"manylinux_(\d+)_(\d+)_")
GLIBC = re.compile(rb"\0GLIBC_(\d+)\.(\d+)")  # among the names in a module: a version of glibc that it asks for


def problems(names: list[str], sources: list[str]) -> list[str]:
    """Return what is wrong with a wheel that holds ``names``, built from a tree that holds ``sources``."""
    there = set(names)
    # C that is a source of ours is compiled where it is used; other C was generated.
    own = {s for s in sources if s.endswith(".c")}
    found = [f"missing: {s}" for s in sources if (s in own or not s.endswith(FORBIDDEN)) and s not in there]
    found += [
        f"should not be there: {n}" for n in names if (n.endswith(FORBIDDEN) and n not in own) or "__pycache__" in n
    ]
    for source in sources:
        module = PurePosixPath(source)
        if module.suffix == ".pyx":
            binaries = [n for n in names if n.startswith(f"{module.with_suffix('')}.") and n.endswith(".so")]
            if len(binaries) != 1:
                found.append(f"requires one compiled {module}, got {binaries}")
    tops = {n.split("/")[0] for n in names if not n.split("/")[0].endswith((".dist-info", ".libs"))}
    found += [f"stray top-level entry: {t}" for t in sorted(tops - set(PACKAGES))]
    return found


def platform_problems(name: str, modules: dict[str, bytes]) -> list[str]:
    """Return what is wrong with the platform in a wheel's name, for modules with these contents."""
    promised = [(int(a), int(b)) for a, b in PLATFORM.findall(name)]
    if not promised:
        return [f"requires a manylinux tag, got {name}"]
    needed = {m: max(((int(a), int(b)) for a, b in GLIBC.findall(data)), default=(0, 0)) for m, data in modules.items()}
    return [
        f"promises to run on glibc {least[0]}.{least[1]}, but {module} needs {version[0]}.{version[1]}"
        for least in [min(promised)]
        for module, version in needed.items()
        if version > least
    ]


def sources() -> list[str]:
    """The files of both packages: those under version control or, in an unpacked sdist, those that are there."""
    if Path(".git").exists():
        listing = subprocess.run(["git", "ls-files", *PACKAGES], capture_output=True, text=True, check=True)
        return [s for s in listing.stdout.splitlines() if Path(s).exists()]
    made = (".so", ".pyc", ".o")
    files = [p for package in PACKAGES for p in Path(package).rglob("*") if p.is_file() and p.suffix not in made]
    return [str(p) for p in files if p.suffix != ".c" or not p.with_suffix(".pyx").exists()]


def main(wheel: str) -> None:
    archive = ZipFile(wheel)
    names = archive.namelist()
    found = problems(names, sources())
    found += platform_problems(Path(wheel).name, {n: archive.read(n) for n in names if n.endswith(".so")})
    for problem in found:
        print(f"{wheel}: {problem}")
    print(f"{Path(wheel).name}: {len(names)} files, {Path(wheel).stat().st_size >> 10} KiB, {len(found)} problems")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
