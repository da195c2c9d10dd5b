"""Workers that call one another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from paddle.distributed import rpc
from umiak.comm.connections import Server, connect
from umiak.comm.launcher.supervisor import free_ports
from umiak.comm.secret import job_secret, user_secret

PROGRAM = Path(__file__).with_name("rpc_program.py")


@pytest.mark.parametrize(("mode", "codes"), [("work", [0, 0, 0]), ("die", [0, 0, 3])])
def test_workers_started_by_hand(mode, codes):
    (port,) = free_ports("127.0.0.1", 1)
    command = [sys.executable, "-W", "error", str(PROGRAM)]
    started = [
        subprocess.Popen(
            [*command, str(rank), str(port), mode], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for rank in range(3)
    ]
    try:
        outputs = [process.communicate(timeout=120) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert [process.returncode for process in started] == codes, outputs
    assert [out for out, _ in outputs] == ["done\n" if code == 0 else "" for code in codes]


def test_alone_and_again():
    for _ in range(2):
        rpc.init_rpc("me", 0, 1, "127.0.0.1:0")
        with pytest.raises(RuntimeError, match=r"shutdown before it is called again, got worker \{name: me"):
            rpc.init_rpc("me", 0, 1, "127.0.0.1:0")
        future = rpc.rpc_async("me", max, (1, 2))
        assert future.wait() == 2 and future.done()
        rpc.shutdown()
    for function in (rpc.shutdown, rpc.get_all_worker_infos, rpc.get_current_worker_info):
        with pytest.raises(RuntimeError, match="requires init_rpc before it"):
            function()


def test_where_names_come_from(monkeypatch):
    (port,) = free_ports("127.0.0.1", 1)
    told = {"TRAINER_ID": 0, "TRAINERS_NUM": 1, "MASTER": "127.0.0.1:0", "WORKER_ENDPOINT": f"127.0.0.1:{port}"}
    for name, value in told.items():
        monkeypatch.setenv(f"PADDLE_{name}", str(value))
    rpc.init_rpc("me")
    assert repr(rpc.get_current_worker_info()) == f"{{name: me, rank: 0, ip: 127.0.0.1, port: {port}}}"
    rpc.shutdown()


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (("me", None, 1, "127.0.0.1:0"), ValueError, "requires rank, or PADDLE_TRAINER_ID in the environment"),
        (("me", 1, 1, "127.0.0.1:0"), ValueError, "requires a rank from 0 to 0, got 1"),
        (("me", 0, 1, "nowhere"), ValueError, "requires an endpoint like 127.0.0.1:8001, got 'nowhere'"),
        (("me", 0, 1, "192.0.2.1:1"), RuntimeError, "requires a job secret in UMIAK_JOB_SECRET for other machines"),
    ],
)
def test_mistakes(words, kind, message, monkeypatch):
    for name in ("PADDLE_TRAINER_ID", "UMIAK_JOB_SECRET"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(kind, match=message):
        rpc.init_rpc(*words)


def test_secrets(monkeypatch, tmp_path):
    monkeypatch.setenv("UMIAK_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("UMIAK_JOB_SECRET", raising=False)
    secret = user_secret()
    assert len(secret) == 64 and user_secret() == secret == job_secret("test", "localhost")
    assert [(path.name, path.stat().st_mode & 0o777) for path in (tmp_path / "secret").iterdir()] == [("key", 0o600)]
    monkeypatch.setenv("UMIAK_JOB_SECRET", "abc")
    assert job_secret("test", "localhost") == job_secret("test", "192.0.2.1") == b"abc"


def test_only_those_who_know_the_secret_are_heard():
    heard = []
    server = Server("127.0.0.1", 0, b"right", lambda connection: heard.append(connection.recv()))
    with pytest.raises(ConnectionError, match="requires the same job secret"):
        connect("127.0.0.1", server.port, b"wrong")
    connection = connect("127.0.0.1", server.port, b"right")
    connection.send("hello")
    with pytest.raises(EOFError):
        connection.recv()
    connection.close()
    server.close()
    assert heard == ["hello"]
    with pytest.raises(ConnectionError, match="requires a listener at"):
        connect("127.0.0.1", server.port, b"right")
