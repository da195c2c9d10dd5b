"""The tests of what is in C or lent to C, under AddressSanitizer: plug-ins compiled for it; records of DLPack and
extensions by what they ask of the allocator, which tells memory that is freed twice or was never given."""

import os
import subprocess
import sys
from pathlib import Path

import plugin
import pytest

HERE = Path(__file__).parent
TESTS = {
    "devices": ("test_device.py", "test_loading.py", "test_profiler.py", "test_collectives.py"),
    "records": ("../../exchange/test_managed_tensors.py", "../../exchange/test_table.py"),
    "extensions": ("../../extensions/test_bad_extensions.py",),
}


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
@pytest.mark.parametrize("part", TESTS)
def test_nothing_is_freed_twice_or_used_after_it_was(part):
    tests = [str((HERE / name).resolve()) for name in TESTS[part]]
    # Ranks that are processes, and packages that are built, are processes of others.
    chosen = ["-m", "not slow", "-k", "not two_processes"]
    done = run("-m", "pytest", "-q", "--capture=sys", "-p", "no:cacheprovider", "-n", "0", *chosen, *tests)
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


@pytest.mark.slow
@pytest.mark.skipif(plugin.CC is None or library() is None, reason="needs AddressSanitizer")
def test_the_sanitizer_sees_memory_that_others_free_twice():
    """Code that is not compiled for it, as the records' is not."""
    program = """
import ctypes, paddle
c = ctypes.CDLL(None)
c.malloc.restype, c.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
block = c.malloc(100)
c.free(block)
print("once", flush=True)
c.free(block)
"""
    done = run("-c", program)
    assert done.stdout == "once\n" and done.returncode != 0, done.stderr[-2000:]
    assert "attempting double-free" in done.stderr, done.stderr[-2000:]
