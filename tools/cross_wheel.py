"""Builds a wheel for 64-bit ARM into ``dist`` on a Debian machine of another kind.

Debian's packages for ARM, unpacked into ``build/arm64``, are a system whose Python runs under QEMU. The build runs in
that Python, so names and tags of the wheel are what a machine would give it; Meson, Cython and the compiler, which take
long, run natively.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import make_wheel
from build_requirements import read

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "arm64"
SYSTEM = FOLDER / "system"
# What must be on this machine, and the package of Debian that brings it.
TOOLS = {
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
    "qemu-aarch64": "qemu-user",
    "apt-get": "apt",
    "dpkg": "dpkg",
}
# A Python with its headers, and what the wheels of NumPy and llvmlite take from the system.
PACKAGES = ("python3-minimal", "libpython3-dev", "libpython3-stdlib", "libstdc++6", "libgomp1")
CROSS = """\
[binaries]
c = 'aarch64-linux-gnu-gcc'
strip = 'aarch64-linux-gnu-strip'
cython = '{cython}'
python = '{python}'
exe_wrapper = ['qemu-aarch64', '-L', '{system}']

[built-in options]
c_args = ['--sysroot={system}']
c_link_args = ['--sysroot={system}']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""


def unpack() -> None:
    """Fetch the packages with lists of their own, so that nothing of this machine changes, and unpack them."""
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        sys.exit(f"[cross_wheel] requires {', '.join(TOOLS)}; install them: apt-get install {' '.join(missing)}")
    apt = FOLDER / "apt"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    options = {
        "Dir::State": apt / "state",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "APT::Architecture": "arm64",
        "APT::Architectures::": "arm64",
    }
    get = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    subprocess.run([*get, "update"], check=True)
    subprocess.run([*get, "install", "--download-only", "--no-install-recommends", "-y", *PACKAGES], check=True)
    for package in sorted((apt / "cache" / "archives").glob("*.deb")):
        subprocess.run(["dpkg", "-x", package, SYSTEM], check=True)


def emulated() -> Path:
    """The Python for ARM: a program of this machine, which any other may start."""
    start = SYSTEM / "usr" / "bin" / "python"
    if not start.exists():
        unpack()
        (real,) = (p for p in start.parent.glob("python3.*") if p.name.count(".") == 1)
        start.unlink(missing_ok=True)
        # By the name that it is called, Python finds its environment.
        start.write_text(f'#!/bin/sh\nexec qemu-aarch64 -L {SYSTEM} -0 "$0" {real} "$@"\n')
        start.chmod(0o755)
    return start


def environment(folder: Path, requirements: list[str]) -> Path:
    """The Python of a clean environment for ARM. Its pip is the newest: an old one takes no wheel of a new platform."""
    own = folder / "bin" / "python"
    pip = ["-m", "pip", "--disable-pip-version-check", "-q", "install"]
    subprocess.run([emulated(), "-m", "venv", "--clear", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python3.*/site-packages")
    subprocess.run([sys.executable, *pip, "--target", packages, "pip"], check=True)
    subprocess.run([own, *pip, "--only-binary", ":all:", *requirements], check=True)
    return own


def build() -> Path:
    """Build, tag and check the wheel."""
    native = make_wheel.environment(sys.executable, make_wheel.version_of(sys.executable))
    own = FOLDER / "build-environment" / "bin" / "python"
    if not own.exists():
        needed = [r for r in read()["build-system"]["requires"] if r.startswith(("meson-python", "numpy"))]
        environment(own.parents[1], needed)
    cross, unaudited = FOLDER / "cross.ini", FOLDER / "unaudited"
    cross.write_text(CROSS.format(cython=native.parent / "cython", python=own, system=SYSTEM))
    shutil.rmtree(unaudited, ignore_errors=True)
    unaudited.mkdir()
    settings = {"build-dir": str(FOLDER / "build"), "setup-args": [f"--cross-file={cross}"]}
    env = {**os.environ, "MESON": str(native.parent / "meson"), "NINJA": str(native.parent / "ninja")}
    code = f"import mesonpy; mesonpy.build_wheel({str(unaudited)!r}, {settings!r})"
    subprocess.run([own, "-c", code], check=True, cwd=ROOT, env=env)
    (made,) = unaudited.glob("umiak-*.whl")
    return make_wheel.audited(made, native)


if __name__ == "__main__":
    print(build().relative_to(ROOT))
