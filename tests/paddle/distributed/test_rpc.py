"""Workers that call one another."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from concurrent import futures
from pathlib import Path

import pytest

from paddle.distributed import rpc
from umiak.comm.connections import Server, connect
from umiak.comm.rpc import Agent, Registry
from umiak.comm.secret import job_secret, user_secret
from umiak.core.context import new_rank

PROGRAM = Path(__file__).with_name("rpc_program.py")


@pytest.fixture
def port():
    """A port at which nobody listens, and that no other process is given before a server of the test asks for it.

    It is bound so that servers, which set the same option, may share it. Any other free one may be taken by then.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.mark.parametrize(("mode", "codes"), [("work", [0, 0, 0]), ("die", [0, 0, 3])])
def test_workers_started_by_hand(mode, codes, port):
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


def test_calls_wait_until_the_worker_knows_that_it_is_one(port):
    def make(rank):
        new_rank(rank).activate()
        return Agent(f"worker{rank}", rank, 2, ("127.0.0.1", port), None, b"secret", 60.0)

    with futures.ThreadPoolExecutor(2) as pool:
        agents = list(pool.map(make, range(2)))
        agents[1].start()
        future = agents[1].call("rpc_async", "worker0", max, (1, 2), {})
        with pytest.raises(futures.TimeoutError):
            future.result(0.2)
        agents[0].start()
        assert future.result(60) == 2
        list(pool.map(Agent.shutdown, agents))


class Script:
    """A connection whose other end says what it was told to, then hangs up."""

    def __init__(self, *says):
        self.says = list(says)
        self.heard: list = []

    def recv(self):
        if not self.says:
            raise EOFError
        return self.says.pop(0)

    def send(self, message):
        self.heard.append(message)


def worker(rank, name=""):
    return {"name": name or f"worker{rank}", "rank": rank, "ip": "127.0.0.1", "port": 1}


def registry(*first):
    """A registry of two workers, with these scripts running."""
    made = Registry("127.0.0.1", 0, 2, b"secret")
    threads = [threading.Thread(target=serve, args=(made, script)) for script in first]
    for thread in threads:
        thread.start()
    return made, threads


def serve(registry, script):
    with contextlib.suppress(EOFError):
        registry._serve(script)


def test_one_that_is_gone_at_once_had_come():
    first, last = Script(worker(0), "leave"), Script(worker(1))
    made, threads = registry(first)
    with made._changed:  # the first worker's thread does not wake before the last worker has come and gone
        made._changed.wait_for(lambda: made._workers)
        serve(made, last)
    threads[0].join()
    made.server.close()
    everyone = [worker(0), worker(1)]
    assert last.heard == [("", everyone)]
    assert first.heard == [("", everyone), "worker worker1 (rank 1) has gone"]


def test_strangers_with_names_that_are_taken_change_nothing():
    scripts = [Script(worker(rank), "leave") for rank in range(2)]
    made, threads = registry(scripts[0])
    with made._changed:
        stranger = Script(worker(1))
        serving = threading.Thread(target=serve, args=(made, scripts[1]))
        serving.start()
        made._changed.wait_for(lambda: len(made._workers) == 2)
        serve(made, stranger)
    for thread in (*threads, serving):
        thread.join()
    made.server.close()
    assert "different names and ranks" in stranger.heard[0][0] and len(stranger.heard) == 1
    assert [script.heard[1] for script in scripts] == ["", ""]


@pytest.mark.parametrize(
    ("info", "problem"),
    [(worker(0), "different names and ranks"), (worker(1, "worker0"), "different names"), (worker(2), "from 0 to 1")],
)
def test_names_and_ranks_that_do_not_fit_end_the_beginning(info, problem):
    first, second = Script(worker(0)), Script(info)
    made, threads = registry(first)
    with made._changed:
        made._changed.wait_for(lambda: made._workers)
    serve(made, second)
    threads[0].join()
    made.server.close()
    assert problem in first.heard[0][0] and problem in second.heard[0][0]


def test_where_names_come_from(monkeypatch, port):
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
