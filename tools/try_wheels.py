"""Runs a sample of the tests on each wheel of ``dist``, installed where nothing else is; exits with 1 if one fails.

``python tools/try_wheels.py`` takes all wheels, ``... WHEEL...`` these. A wheel for 64-bit ARM runs under QEMU.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cross_wheel
import make_wheel

ROOT = Path(__file__).parents[1]
NAME = re.compile(r"umiak-[^-]+-cp(\d)(\d+)-.*_(x86_64|aarch64)\.whl")
TESTED_WITH = ["pytest", "hypothesis"]
# Tensors, dispatch with its gradients, memory; calls recorded from the reference. What compares with PyTorch, or with
# what not all versions of NumPy compute, is not among them.
SAMPLE = [f"tests/core/test_{name}.py" for name in ("array", "dispatch", "generator", "pool", "processor", "storage")]
SAMPLE += ["tests/paddle/test_calls.py", "tests/paddle/test_documents.py"]
# What is not part of the packages, and the tests read.
BESIDE = ["tests", "tools", "docs", "pyproject.toml", "meson.build"]


def install(wheel: Path, folder: Path) -> Path:
    """The Python of a clean environment with the wheel."""
    name = NAME.fullmatch(wheel.name)
    if name is None:
        sys.exit(f"[try_wheels] requires a wheel from make wheel or make wheel-arm64, got {wheel.name}")
    major, minor, machine = name.groups()
    requirements = [str(wheel), *TESTED_WITH]
    if machine != platform.machine():
        return cross_wheel.environment(folder, requirements)
    python = make_wheel.interpreter(f"{major}.{minor}")
    if python is None:
        sys.exit(f"[try_wheels] requires python{major}.{minor} on this machine for {wheel.name}")
    own = folder / "bin" / "python"
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    subprocess.run([own, "-m", "pip", "--disable-pip-version-check", "-q", "install", *requirements], check=True)
    return own


def passes(wheel: Path) -> bool:
    """Run the sample in a folder from which the packages of the checkout cannot be imported."""
    scratch = ROOT / "build" / "tried" / wheel.stem
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for name in BESIDE:
        (scratch / name).symlink_to(ROOT / name)
    python = install(wheel, scratch / "environment")
    env = {**os.environ, "FLAGS_jit_cache_folder": str(scratch / "kernels")}
    where = "import paddle; print(paddle.__file__)"
    found = subprocess.check_output([python, "-c", where], cwd=scratch, env=env, text=True).strip()
    if not Path(found).is_relative_to(scratch):
        sys.exit(f"[try_wheels] requires the packages of {wheel.name}, got {found}")
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *SAMPLE]
    return subprocess.run(command, cwd=scratch, env=env).returncode == 0


def main(names: list[str]) -> int:
    wheels = [Path(n).resolve() for n in names] or sorted((ROOT / "dist").glob("umiak-*.whl"))
    if not wheels:
        sys.exit("[try_wheels] requires wheels in dist, got none; make wheel or make wheel-arm64 builds them")
    verdicts = {wheel.name: passes(wheel) for wheel in wheels}
    for name, passed in verdicts.items():
        print(f"{'passed' if passed else 'FAILED'}  {name}")
    return 0 if all(verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
