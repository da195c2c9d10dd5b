"""The tests of devices and their faults, with the plug-in under AddressSanitizer."""

import os
import subprocess
import sys
from pathlib import Path

import plugin
import pytest

HERE = Path(__file__).parent
TESTS = ("test_device.py", "test_loading.py", "test_profiler.py")


def library():
    """AddressSanitizer's, which has to be the first of the process; None where the compiler has none."""
    path = named("libasan.so")
    return path if path.is_absolute() and path.exists() else None


def named(name):
    """Where the compiler finds a library."""
    command = [plugin.CC, f"-print-file-name={name}"]
    return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


def run(*arguments):
    # The library in C++ is there before the sanitizer looks for its `throw`: other devices' packages throw.
    preloaded = {"LD_PRELOAD": f"{library()} {named('libstdc++.so.6')}", plugin.OPTIONS: "-fsanitize=address -g"}
    options = {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0"}  # Python's own are not ours to judge
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, env={**os.environ, **preloaded, **options}, cwd=HERE.parents[2], capture_output=True, text=True
    )


@pytest.mark.slow
@plugin.needs_compiler
@pytest.mark.skipif(plugin.CC is None or library() is None, reason="needs AddressSanitizer")
def test_nothing_is_freed_twice_or_used_after_it_was():
    tests = [str(HERE / name) for name in TESTS]
    done = run("-m", "pytest", "-q", "--capture=sys", "-p", "no:cacheprovider", "-n", "0", *tests)
    assert done.returncode == 0 and " passed" in done.stdout, (done.stdout + done.stderr)[-6000:]


@pytest.mark.slow
@plugin.needs_compiler
@pytest.mark.skipif(plugin.CC is None or library() is None, reason="needs AddressSanitizer")
def test_the_sanitizer_sees_the_plug_in(tmp_path):
    """Without this, the test above could pass for having looked at nothing."""
    program = f"""
import sys; sys.path[:0] = [{str(HERE.parents[1] / "support")!r}]
from pathlib import Path
import plugin
from umiak.core import storage
with plugin.loaded(Path({str(tmp_path)!r}), "seen") as loop:
    x = storage.allocate(loop.places[0].index, 4 << 20)
    loop.backend.device(loop.places[0]).memory.read(x.data_ptr(), 5 << 20)
"""
    done = run("-c", program)
    assert done.returncode != 0 and "heap-buffer-overflow" in done.stderr, done.stderr[-2000:]
