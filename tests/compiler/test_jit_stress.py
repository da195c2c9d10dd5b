"""The cache of machine code under processes, disks and limits as they are, with kernels of ops."""

import os
import subprocess
import sys
import textwrap

import pytest

OPS = """
import sys
import numpy as np
from umiak import ops as F
from umiak.compiler import statistics
from umiak.core import array

def every():
    x = array.from_numpy(np.linspace(0.1, 2, 6 * 40, dtype=np.float32).reshape(6, 40))
    found = [getattr(F, name)(x) for name in "exp log tanh sqrt sin neg square reciprocal floor".split()]
    found += [getattr(F, name)(x, x) for name in "add sub mul div pow maximum".split()]
    found += [getattr(F, name)(x, axes=(1,), keepdim=False) for name in "sum mean max".split()]
    found += [F.softmax(x, axis=a) for a in (0, 1)]
    return [array.to_numpy(v).copy() for v in found]
"""


def start(code, folder, **flags):
    environment = {**os.environ, "FLAGS_jit_cache_folder": str(folder), **flags}
    code = OPS + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process):
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return out.split(), errors


def run(code, folder, **flags):
    return finish(start(code, folder, **flags))


COUNTED = """
    values = every()
    print(statistics.total("compiled"), statistics.total("from_disk"))
    print(__import__("hashlib").sha256(b"".join(v.tobytes() for v in values)).hexdigest())
"""


@pytest.mark.slow
def test_processes_that_start_together_on_an_empty_cache(tmp_path):
    together = [start(COUNTED, tmp_path / "cache") for _ in range(4)]
    found = [finish(p)[0] for p in together]
    assert len({digest for _, _, digest in found}) == 1
    kernels = {int(compiled) + int(read) for compiled, read, _ in found}
    assert len(kernels) == 1
    (compiled, read, digest), errors = run(COUNTED, tmp_path / "cache")
    assert (int(compiled), {int(read)}, digest) == (0, kernels, found[0][2])
    assert not errors


@pytest.mark.slow
def test_damaged_and_foreign_entries_of_ops_are_rebuilt(tmp_path):
    folder = tmp_path / "cache"
    (compiled, _, digest), _ = run(COUNTED, folder)
    entries = sorted(folder.glob("*.entry"))
    assert len(entries) > 15
    whole = [path.read_bytes() for path in entries]
    for k, path in enumerate(entries):
        damaged = (whole[k][: len(whole[k]) // 2], b"", whole[k - 1], b"\x7fELF" + whole[k][4:], os.urandom(4096))
        path.write_bytes(damaged[k % 5])
    (again, read, same), errors = run(COUNTED, folder)
    assert (again, read, same) == (compiled, "0", digest)
    assert not errors
    assert run(COUNTED, folder)[0] == ["0", compiled, digest]


def test_disk_that_fills_in_the_midst_of_an_entry(tmp_path):
    """No file may grow beyond 600 bytes: small entries are kept, the rest is not, and nothing is left half written."""
    code = """
        import resource
        F.full(1.0, shape=(3,), dtype=array.from_numpy(np.zeros(1)).dtype)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
        x = array.from_numpy(np.linspace(0.1, 2, 40))
        close = lambda v, w: np.testing.assert_allclose(array.to_numpy(v), w, rtol=1e-12)
        for _ in range(2):
            close(F.exp(x), np.exp(array.to_numpy(x)))
            close(F.tanh(x), np.tanh(array.to_numpy(x)))
        print(statistics.total("compiled"))
    """
    (compiled,), errors = run(code, tmp_path / "cache")
    assert int(compiled) >= 3
    assert errors.count("machine code is not kept on disk") == 1
    assert "File too large" in errors
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".entry"] * len(list(tmp_path.glob("cache/*")))
    assert all(path.stat().st_size for path in tmp_path.glob("cache/*"))


def test_a_system_without_executable_memory_says_so_for_an_op(tmp_path):
    done = start(
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
        if libc.prctl(PR_SET_MDWE, ctypes.c_ulong(REFUSE_EXEC_GAIN), *[ctypes.c_ulong(0)] * 3):
            sys.exit(77)
        try:
            every()
        except RuntimeError as error:
            print(error)
        """,
        tmp_path / "cache",
    )
    out, errors = done.communicate(timeout=120)
    if done.returncode == 77:
        pytest.skip("the kernel has no PR_SET_MDWE")
    assert done.returncode == 0, errors
    assert "requires memory that may be written and then executed" in out
    assert "'ref' device" in out
