"""Machine code on disk: what is kept, what is refused, and what a bad disk does."""

import ctypes
import errno
import logging
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.garbage import collect_garbage
from umiak.compiler import jit, statistics
from umiak.compiler.jit import codegen, engine, object_cache, processor
from umiak.util import flags
from umiak.util.disk_cache import DiskCache

TEXT = "define i64 @k() {{\n  ret i64 {}\n}}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path):
    """A cache and counters of the test's own, already knowing the host."""
    before = object_cache.FOLDER.value
    object_cache.FOLDER.set(str(tmp_path / "cache"))
    jit.host()
    collect_garbage()  # what other tests left in cycles would be found in memory
    engine.forget()
    statistics.reset()
    yield tmp_path / "cache"
    object_cache.FOLDER.set(before)
    engine.forget()


def entries(folder):
    return sorted(folder.glob("*.entry"))


def run(library):
    return ctypes.CFUNCTYPE(ctypes.c_int64)(library.address("k"))()


def load(value, target=None):
    return jit.load(TEXT.format(value), ["k"], target)


def reload(value, target=None):
    """As another process would: nothing is in memory."""
    engine.forget()
    return load(value, target)


def counts():
    return statistics.total("compiled"), statistics.total("from_disk")


def test_second_process_reads(folder):
    assert run(load(3)) == 3
    assert run(reload(3)) == 3
    assert counts() == (1, 1)
    assert len(entries(folder)) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
        lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
        lambda data: data + b"\0",
        lambda data: os.urandom(len(data)),
    ],
    ids=["truncated", "empty", "flipped code", "flipped head", "longer", "garbage"],
)
def test_damaged_entry_is_rebuilt(folder, damage):
    load(3)
    (path,) = entries(folder)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert run(reload(3)) == 3
    assert counts() == (2, 0)
    assert path.read_bytes() == whole


def test_entry_of_another_text_is_rebuilt(folder):
    load(3)
    (of_three,) = entries(folder)
    load(4)
    (of_four,) = set(entries(folder)) - {of_three}
    shutil.copy(of_three, of_four)
    assert run(reload(4)) == 4
    assert counts() == (3, 0)


@pytest.mark.parametrize("change", [{"opt": 1}, {"cpu": "x86-64"}, {"features": "+sse2"}])
@pytest.mark.skipif(jit.host().machine != "x86_64", reason="names x86 processors")
def test_key_holds_the_target(folder, change):
    load(3)
    assert run(reload(3, replace(jit.host(), **change))) == 3
    assert counts() == (2, 0)


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (engine, "ABI", engine.ABI + 1),
        (engine, "toolchain", lambda: "llvmlite 99"),
        (codegen, "LLVM_OPTIONS", ("-other",)),
        (codegen, "ADDRESSING", {}),
    ],
)
def test_key_holds_versions_and_options(monkeypatch, module, name, value):
    load(3)
    monkeypatch.setattr(engine, "_prefixes", {})
    monkeypatch.setattr(module, name, value)
    reload(3)
    assert counts() == (2, 0)


def test_entries_hold_symbols_and_no_addresses(folder):
    text = "declare double @{0}(double)\ndefine double @k(double %x) {{\n  %y = call double @{0}(double %x)\n"
    text += "  ret double %y\n}}\n"
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    first, second = kind(lambda x: x + 1), kind(lambda x: x + 2)
    for name, function in (("umiak_cache_first", first), ("umiak_cache_second", second)):
        jit.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
        assert kind(jit.load(text.format(name), ["k"]).address("k"))(1.0) == function(1.0)
    for path in entries(folder):
        data = path.read_bytes()
        assert b"umiak_cache_" in data
        for function in (first, second):
            assert ctypes.cast(function, ctypes.c_void_p).value.to_bytes(8, "little") not in data


def test_switched_off(folder):
    object_cache.ENABLED.set(False)
    try:
        load(3)
        reload(3)
    finally:
        object_cache.ENABLED.set(True)
    assert counts() == (2, 0)
    assert entries(folder) == []


def test_flags_move_and_bound_the_cache(tmp_path):
    flags.set_flags({"FLAGS_jit_cache_folder": str(tmp_path / "other"), "FLAGS_jit_cache_mb": 3})
    try:
        load(3)
        assert object_cache._cache().limit == 3 << 20
    finally:
        flags.set_flags({"FLAGS_jit_cache_mb": object_cache.MEGABYTES.default})
    assert len(entries(tmp_path / "other")) == 1
    with pytest.raises(ValueError, match="FLAGS_jit_cache_mb"):
        flags.set_flags({"FLAGS_jit_cache_mb": 0})
    assert object_cache.MEGABYTES.value == object_cache.MEGABYTES.default


def test_full_disk_is_reported_once(folder, monkeypatch, caplog):
    load(1)

    def full(self, key, payload):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(DiskCache, "put", full)
    with caplog.at_level(logging.WARNING, "umiak"):
        assert [run(load(value)) for value in (3, 4, 5)] == [3, 4, 5]
        assert run(reload(1)) == 1  # still read
    assert len(caplog.records) == 1
    assert "No space left" in caplog.text
    assert str(folder) in caplog.text
    assert counts() == (4, 1)


def test_folder_that_cannot_be_made_is_reported_once(tmp_path, caplog):
    (tmp_path / "file").write_bytes(b"")
    object_cache.FOLDER.set(str(tmp_path / "file" / "cache"))
    with caplog.at_level(logging.WARNING, "umiak"):
        assert [run(reload(value)) for value in (3, 4, 3)] == [3, 4, 3]
    assert len(caplog.records) == 1
    assert counts() == (3, 0)


def test_folder_that_others_can_write_is_not_used(tmp_path, caplog):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    object_cache.FOLDER.set(str(tmp_path / "open"))
    with caplog.at_level(logging.WARNING, "umiak"):
        assert run(load(3)) == 3
    assert caplog.text.count("nobody else can enter") == 1
    assert list((tmp_path / "open").iterdir()) == []


def test_read_only_disk_is_read(folder, monkeypatch, caplog):
    load(1)
    for path in entries(folder):
        os.utime(path, (0, 0))  # so that the next use is worth noting

    def refuse(*arguments, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(os, "unlink", refuse)
    with caplog.at_level(logging.WARNING, "umiak"):
        assert run(reload(1)) == 1
        assert not caplog.records
        assert [run(load(value)) for value in (3, 4)] == [3, 4]
    assert counts() == (3, 1)
    assert len(caplog.records) == 1
    assert "Read-only file system" in caplog.text


def test_vanished_folder_is_made_again(folder, caplog):
    load(1)
    shutil.rmtree(folder)
    with caplog.at_level(logging.WARNING, "umiak"):
        assert run(reload(1)) == 1
        assert run(reload(1)) == 1
    assert counts() == (2, 1)
    assert not caplog.records


def test_host_is_described_once_per_user(monkeypatch):
    expected = jit.host()
    processor._describe.cache_clear()
    processor._hosts.clear()
    assert jit.host() == expected  # into this test's folder
    processor._describe.cache_clear()
    processor._hosts.clear()
    monkeypatch.setattr(codegen, "describe_host", None)
    assert jit.host() == expected


def test_host_without_a_description_of_the_processor_asks_llvm(monkeypatch):
    expected = jit.host()
    monkeypatch.setattr(processor, "_processor", lambda: None)
    processor._describe.cache_clear()
    processor._hosts.clear()
    assert jit.host() == expected


def test_level_is_a_flag_of_what_is_compiled():
    assert ("FLAGS_jit_opt", processor.OPT.value) in flags.compile_key()
    flags.set_flags({"FLAGS_jit_opt": 1})
    try:
        assert jit.host().opt == 1
    finally:
        flags.set_flags({"FLAGS_jit_opt": processor.OPT.default})
    assert jit.host().opt == processor.OPT.default
    with pytest.raises(ValueError, match="from 0 to 3"):
        flags.set_flags({"FLAGS_jit_opt": 4})


def work(folder, seed):
    """Load 20 kernels in an order of this process's own; another process evicts and damages on the way."""
    object_cache.FOLDER.set(folder)
    for step in range(60):
        value = (step * 7 + seed * 3) % 20
        if run(reload(value)) != value:
            return False
        if seed == 0 and step % 10 == 9:
            for path in entries(object_cache._cache().folder)[:5]:
                with suppress(FileNotFoundError), open(path, "r+b") as file:  # another one may have evicted it
                    file.truncate(40)
    return True


def test_processes_share_a_cache(folder):
    here = Path(__file__).parent
    code = "import sys, test_jit_cache; sys.exit(not test_jit_cache.work(sys.argv[1], int(sys.argv[2])))"
    path = os.pathsep.join([str(here), str(here.parent / "support")])
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(folder), str(seed)],
            env={**os.environ, "PYTHONPATH": path},
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(3)
    ]
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert [run(reload(value)) for value in range(20)] == list(range(20))
    assert all(path.suffix == ".entry" for path in folder.iterdir())
