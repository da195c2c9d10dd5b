"""Downloads, from a server in this process."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import tarfile
import threading
import zipfile

import pytest

from paddle.utils import download


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def site(tmp_path):
    (tmp_path / "site" / "model").mkdir(parents=True)
    (tmp_path / "site" / "w.bin").write_bytes(b"weights")
    (tmp_path / "site" / "model" / "a.txt").write_text("a")
    with tarfile.open(tmp_path / "site" / "one.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "site" / "model", "model")
    with zipfile.ZipFile(tmp_path / "site" / "two.zip", "w") as archive:
        archive.writestr("a.txt", "a")
        archive.writestr("b.txt", "b")
    with zipfile.ZipFile(tmp_path / "site" / "evil.zip", "w") as archive:
        archive.writestr("../out.txt", "x")
        archive.writestr("in.txt", "x")
    handler = functools.partial(Quiet, directory=str(tmp_path / "site"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_file_is_downloaded_once(site, tmp_path):
    root = str(tmp_path / "root")
    path = download.get_path_from_url(f"{site}/w.bin", root, hashlib.md5(b"weights").hexdigest())
    assert path == os.path.join(root, "w.bin") and (tmp_path / "root" / "w.bin").read_bytes() == b"weights"
    (tmp_path / "site" / "w.bin").write_bytes(b"new")
    assert download.get_path_from_url(f"{site}/w.bin", root) == path
    assert (tmp_path / "root" / "w.bin").read_bytes() == b"weights"
    download.get_path_from_url(f"{site}/w.bin", root, check_exist=False)
    assert (tmp_path / "root" / "w.bin").read_bytes() == b"new"


def test_another_sum_is_refused_and_leaves_nothing(site, tmp_path):
    with pytest.raises(RuntimeError, match=r"requires .*w\.bin within 3 tries, got a file with md5"):
        download.get_path_from_url(f"{site}/w.bin", str(tmp_path / "root"), "0" * 32)
    with pytest.raises(RuntimeError, match="HTTP Error 404"):
        download.get_path_from_url(f"{site}/nothing.bin", str(tmp_path / "root"))
    assert os.listdir(tmp_path / "root") == []


def test_archives_are_unpacked(site, tmp_path):
    root = tmp_path / "root"
    assert download.get_path_from_url(f"{site}/one.tar.gz", str(root)) == str(root / "model")
    assert (root / "model" / "a.txt").read_text() == "a"
    assert download.get_path_from_url(f"{site}/two.zip", str(root)) == str(root / "two")
    assert sorted(os.listdir(root / "two")) == ["a.txt", "b.txt"]
    assert download.get_path_from_url(f"{site}/two.zip", str(root), decompress=False) == str(root / "two.zip")


def test_nothing_is_unpacked_outside_the_folder(site, tmp_path):
    with pytest.raises(ValueError, match=r"files inside the archive's folder, got '../out\.txt'|got \.\./out\.txt"):
        download.get_path_from_url(f"{site}/evil.zip", str(tmp_path / "root"))
    assert not (tmp_path / "root" / "out.txt").exists()


def test_weights_lie_in_their_folder(site, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "WEIGHTS_HOME", str(tmp_path / "home"))
    assert download.get_weights_path_from_url(f"{site}/w.bin") == str(tmp_path / "home" / "w.bin")


def test_addresses(tmp_path):
    assert [download.is_url(x) for x in ("http://a", "https://a", "ftp://a", "/a", "")] == [True, True, *[False] * 3]
    with pytest.raises(ValueError, match="an address of http"):
        download.get_path_from_url("file:///etc/hosts", str(tmp_path))
    download.check_and_create_dir(str(tmp_path / "new" / "file"))
    assert (tmp_path / "new").is_dir()
