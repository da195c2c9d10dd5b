import os
import subprocess
import sys
import textwrap
import threading

import pytest

from umiak.util.disk_cache import DiskCache, default_folder


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "cache")


def entries(cache):
    return sorted(cache.folder.glob("*.entry"))


def test_round_trip(cache):
    assert cache.get("k") is None
    cache.put("k", b"payload")
    assert cache.get("k") == b"payload"
    assert cache.get(b"k") == b"payload"
    cache.put("k", b"")
    assert cache.get("k") == b""


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: d[:10], lambda d: b"", lambda d: d[:-1] + b"?", lambda d: d + b"x"]
)
def test_damaged_entry_is_absent_and_deleted(cache, damage):
    cache.put("k", b"payload")
    (path,) = entries(cache)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("k") is None
    assert entries(cache) == []


def test_entry_of_another_key_is_refused(cache):
    cache.put("a", b"of a")
    (of_a,) = entries(cache)
    cache.put("b", b"of b")
    (of_b,) = set(entries(cache)) - {of_a}
    of_b.write_bytes(of_a.read_bytes())
    assert cache.get("b") is None
    assert cache.get("a") == b"of a"


def test_vanished_folder_is_made_again(cache):
    cache.folder.rmdir()
    assert cache.get("k") is None
    cache.put("k", b"payload")
    assert cache.get("k") == b"payload"
    assert cache.folder.stat().st_mode & 0o777 == 0o700


def test_files_of_writers_that_died_go(cache):
    old, new = cache.folder / "old.partial", cache.folder / "new.partial"
    old.write_bytes(b"")
    new.write_bytes(b"")
    os.utime(old, (0, 0))
    cache.trim()
    assert [path.name for path in cache.folder.iterdir()] == ["new.partial"]


def test_folder_is_private(tmp_path):
    cache = DiskCache(tmp_path / "a" / "b")
    assert cache.folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o750, 0o710, 0o701])
def test_folder_that_others_can_enter_is_refused(tmp_path, mode):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(PermissionError, match=r"nobody else can enter, got .*open .*chmod 700"):
        DiskCache(folder)
    folder.chmod(0o700)
    DiskCache(folder)


def test_folder_that_others_can_exchange_is_refused(tmp_path):
    above = tmp_path / "shared"
    above.mkdir()
    above.chmod(0o777)
    with pytest.raises(PermissionError, match=r"nobody else can exchange, got .*cache in .*shared, where others"):
        DiskCache(above / "cache")
    above.chmod(0o1777)  # like /tmp
    DiskCache(above / "cache")
    above.chmod(0o755)
    DiskCache(above / "cache")


def test_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    DiskCache(tmp_path / "c").put("k", b"payload")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(PermissionError, match="belongs to the user"):
        DiskCache(tmp_path / "c")


def test_entries_that_others_could_have_written_are_none(cache, monkeypatch):
    cache.put("k", b"payload")
    (path,) = entries(cache)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: 12345)
        assert cache.get("k") is None
    cache.put("k", b"payload")
    path.chmod(0o660)
    assert cache.get("k") is None
    cache.put("k", b"payload")
    assert cache.get("k") == b"payload"


def test_what_is_no_file_is_no_entry(cache, tmp_path):
    cache.put("k", b"payload")
    (path,) = entries(cache)
    path.rename(tmp_path / "kept")
    for make in (os.mkfifo, lambda p: p.symlink_to(tmp_path / "kept"), lambda p: p.symlink_to("/dev/zero")):
        make(path)
        assert cache.get("k") is None
    path.touch()
    os.truncate(path, 1 << 40)  # a hole
    assert cache.get("k") is None
    path.mkdir()
    assert cache.get("k") is None


def test_link_is_refused(tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(PermissionError):
        DiskCache(tmp_path / "link")


def test_trim_drops_the_least_recently_used(tmp_path):
    cache = DiskCache(tmp_path / "c", limit=1 << 20)
    seen = set()
    for i in range(4):
        cache.put(str(i), bytes(1000))
        (newest,) = set(entries(cache)) - seen
        seen.add(newest)
        os.utime(newest, ns=(i * 10**9, i * 10**9))
    cache.get("0")  # used again: now the newest
    cache.limit = 2200
    cache.trim()
    assert [i for i in range(4) if cache.get(str(i)) is not None] == [0, 3]


def test_writing_keeps_within_the_limit(tmp_path):
    cache = DiskCache(tmp_path / "c", limit=20_000)
    for i in range(100):
        cache.put(str(i), bytes(1000))
    assert sum(p.stat().st_size for p in entries(cache)) <= 20_000 * 17 / 16 + 2000


def test_concurrent_writers_leave_whole_entries(cache):
    def write(byte):
        for _ in range(50):
            cache.put("k", bytes([byte]) * 5000)

    threads = [threading.Thread(target=write, args=(b,)) for b in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        seen = cache.get("k")
        assert seen is None or (len(seen) == 5000 and len(set(seen)) == 1)
    for thread in threads:
        thread.join()
    assert len(list(cache.folder.iterdir())) == 1


@pytest.fixture
def unknown_user(monkeypatch, tmp_path):
    """A user without an entry in the table of users, and no variable that names a folder but ``TMPDIR``."""

    def no_entry(uid):
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr("pwd.getpwuid", no_entry)
    for name in ("UMIAK_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return tmp_path / "tmp" / f"umiak-{os.getuid()}-jit"


def test_default_folder_follows_the_environment(unknown_user, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "h"))
    assert default_folder("jit") == tmp_path / "h" / ".cache" / "umiak" / "jit"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert default_folder("jit") == tmp_path / "x" / "umiak" / "jit"
    monkeypatch.setenv("UMIAK_CACHE_DIR", str(tmp_path))
    assert default_folder("jit") == tmp_path / "jit"


@pytest.mark.parametrize("home", [None, "", "~", "home"])
@pytest.mark.parametrize("caches", [None, "", "~/.cache", "caches"])
def test_without_a_home_the_folder_is_a_temporary_one(unknown_user, monkeypatch, home, caches):
    for name, value in (("HOME", home), ("XDG_CACHE_HOME", caches)):
        if value is not None:
            monkeypatch.setenv(name, value)
    assert default_folder("jit") == unknown_user
    monkeypatch.setenv("TMPDIR", "tmp")
    assert str(default_folder("jit")) == f"/tmp/umiak-{os.getuid()}-jit"


def test_a_home_in_which_nothing_can_be_made_is_none(unknown_user, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "absent" / "home"))
    asked = []
    monkeypatch.setattr("os.access", lambda path, mode: asked.append(path))
    assert default_folder("jit") == unknown_user
    assert asked == [str(tmp_path)]
    (tmp_path / "absent" / "home" / ".cache" / "umiak").mkdir(parents=True)  # can be read at least
    assert default_folder("jit") == tmp_path / "absent" / "home" / ".cache" / "umiak" / "jit"


def test_a_process_of_an_unknown_user_leaves_nothing_where_it_runs(tmp_path):
    code = """
        import pwd

        def no_entry(uid):
            raise KeyError(uid)

        pwd.getpwuid = no_entry
        import paddle
        from umiak.comm.secret import user_secret

        print((paddle.ones([3]) * 2).tolist(), len(user_secret()))
    """
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path / "tmp")}
    for name in ("tmp", "here"):
        (tmp_path / name).mkdir()
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        cwd=tmp_path / "here", env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (run.stdout, run.stderr) == ("[2.0, 2.0, 2.0] 64\n", "")
    assert list((tmp_path / "here").iterdir()) == []
    folders = {p.name: p for p in (tmp_path / "tmp").iterdir()}
    assert set(folders) == {f"umiak-{os.getuid()}-{name}" for name in ("jit", "secret")}
    assert all(list(folder.iterdir()) for folder in folders.values())
