"""A real server process: predictions in every type, requests that run together, limits, mistakes, its end."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from starlette.requests import Request

import paddle
from paddle.inference.serve import __main__ as command
from paddle.inference.serve.bodies import FORMS
from paddle.inference.serve.http import read_body
from tests.support import inference_nets

WAIT = 60
JSON, NPZ, SAFETENSORS, OCTETS = FORMS


@dataclass
class Server:
    process: subprocess.Popen
    port: int

    def ask(self, method, path, body=None, **headers):
        """Status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        try:
            connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def predict(self, x, kind=JSON, **headers):
        if kind == JSON:
            body = json.dumps({"inputs": {"x": np.asarray(x).tolist()}}).encode()
        else:
            body, _ = FORMS[kind].write({"x": np.asarray(x, "float32")})
        return self.ask("POST", "/v1/predict", body, content_type=kind, **headers)

    def numbers(self):
        _, _, text = self.ask("GET", "/metrics")
        return dict(line.rsplit(" ", 1) for line in text.decode().splitlines() if not line.startswith("#"))

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(WAIT)


@contextmanager
def running(prefix, *options):
    started = subprocess.Popen(
        [sys.executable, "-m", "paddle.inference.serve", str(prefix), "--port", "0", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "UMIAK_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        line = started.stdout.readline()
        found = re.fullmatch(r"listening on http://127.0.0.1:(\d+)\n", line)
        assert found, started.stderr.read()
        yield Server(started, int(found[1]))
    finally:
        if started.poll() is None:
            started.kill()
        started.communicate()


@pytest.fixture(scope="module")
def prefix(saved):
    return saved("linear")[1]


@pytest.fixture(scope="module")
def net(saved):
    return saved("linear")[0]


@pytest.fixture(scope="module")
def server(prefix):
    """One for all tests that leave it as it is."""
    with running(prefix, "--max-megabytes", "1", "--max-batch", "16", "--max-delay", "0.05") as found:
        yield found
        assert found.stop() == command.DONE


def test_a_run_that_never_ends_ends_with_the_process(tmp_path):
    """The request is answered, and so is the signal: by another exit code."""

    def endless(x):
        while x.sum() > 0:
            x = x + 1
        return x

    paddle.jit.save(endless, str(tmp_path / "m"), [paddle.static.InputSpec([None, 2], name="x")])
    with running(tmp_path / "m", "--timeout", "1", "--grace", "1") as server:
        assert server.predict([[1.0, 2.0]])[0] == 504
        assert server.stop() == command.ENDLESS


def same(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


# --- what a server says ----------------------------------------------------------------------------------------------


def test_its_state(server):
    for path, status in (("live", "live"), ("ready", "ready")):
        code, headers, body = server.ask("GET", f"/health/{path}")
        assert (code, json.loads(body)) == (200, {"status": status})
        assert headers["content-type"] == "application/json"


def test_its_model(server):
    code, _, body = server.ask("GET", "/v1/model")
    described = json.loads(body)
    assert (code, described["batched"]) == (200, True)
    assert described["inputs"] == [{"name": "x", "shape": [-1, 8], "dtype": "float32"}]
    assert len(described["outputs"]) == 1
    assert described["types"] == list(FORMS)


def test_its_numbers(server, net):
    before = server.numbers()
    server.predict(net.arrays(0, 3)[0])
    server.predict([[1]])
    after = server.numbers()

    def more(name):
        return float(after[name]) - float(before.get(name, 0))

    assert more('umiak_requests_total{status="200"}') == more('umiak_requests_total{status="400"}') == 1
    assert more("umiak_run_rows_sum") == 3
    assert more("umiak_request_seconds_count") == 2
    assert after["umiak_waiting_requests"] == "0"


# --- predictions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("accept", [*FORMS, ""])
def test_predictions(server, net, kind, accept):
    arrays = net.arrays(1, 4)
    headers = {"X_Shape": "4,8"} if kind == OCTETS else {}
    code, answer, body = server.predict(arrays[0], kind, **headers, **({"accept": accept} if accept else {}))
    assert (code, answer["content-type"]) == (200, accept or kind), body
    (want,) = net.expected(arrays)
    if (accept or kind) == JSON:
        (got,) = json.loads(body)["outputs"].values()
    elif (accept or kind) == OCTETS:
        assert (answer["x-dtype"], answer["x-shape"]) == ("float32", "4,4")
        got = np.frombuffer(body, "float32").reshape(4, 4)
    else:
        from paddle.inference.serve.bodies import Declared
        from umiak.core.dtype import convert

        name = json.loads(server.ask("GET", "/v1/model")[2])["outputs"][0]["name"]
        declared = {name: Declared([-1, 4], convert("float32"))}
        got = FORMS[accept or kind].read(body, declared, {}, 1 << 20)[name]
    same(got, want)


def test_connections_are_kept(server, net):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT)
    for seed in range(3):
        arrays = net.arrays(seed, 1)
        connection.request("POST", "/v1/predict", json.dumps({"inputs": {"x": arrays[0].tolist()}}))
        (got,) = json.loads(connection.getresponse().read())["outputs"].values()
        same(got, net.expected(arrays)[0])
    connection.close()


@pytest.mark.slow
def test_outputs_by_name(saved):
    with running(saved("two_inputs")[1]) as server:
        names = [y["name"] for y in json.loads(server.ask("GET", "/v1/model")[2])["outputs"]]
        body = json.dumps({"inputs": {"a": [[1, 2, 3, 4]], "b": [[4, 3, 2, 1]]}})
        code, _, answer = server.ask("POST", f"/v1/predict?output={names[1]}", body)
        assert (code, json.loads(answer)) == (200, {"outputs": {names[1]: [1]}})
        code, _, answer = server.ask("POST", "/v1/predict?output=other", body)
        assert (code, "['other']" in json.loads(answer)["error"]) == (400, True)
        code, _, answer = server.ask("POST", "/v1/predict", body, accept=OCTETS)
        assert (code, "name it with ?output=" in json.loads(answer)["error"]) == (400, True)
        # Sizes that do not go together are the model's to refuse.
        body = json.dumps({"inputs": {"a": [[1, 2, 3, 4]] * 2, "b": [[4, 3, 2, 1]] * 3}})
        code, _, answer = server.ask("POST", "/v1/predict", body)
        assert (code, "broadcast" in json.loads(answer)["error"]) == (400, True)
        assert server.stop(signal.SIGINT) == command.DONE


def test_requests_at_once_run_together(server, net):
    before = server.numbers()
    arrays = [net.arrays(seed, 1 + seed % 2) for seed in range(24)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda x: server.predict(x[0]), arrays))
    for x, (code, _, body) in zip(arrays, answers, strict=True):
        assert code == 200
        (got,) = json.loads(body)["outputs"].values()
        same(got, net.expected(x)[0])
    after = server.numbers()
    runs = float(after["umiak_run_rows_count"]) - float(before["umiak_run_rows_count"])
    assert float(after["umiak_run_rows_sum"]) - float(before["umiak_run_rows_sum"]) == 36
    assert runs < 24


# --- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "code", "message"),
    [
        ("GET", "/", None, {}, 404, "Not Found"),
        ("GET", "/v1/predict", None, {}, 405, "Method Not Allowed"),
        ("POST", "/metrics", b"", {}, 405, "Method Not Allowed"),
        ("POST", "/v1/predict", b"<x/>", {"content_type": "text/xml"}, 415, "a body of one of the types"),
        ("POST", "/v1/predict", b"{}", {"accept": "text/html"}, 406, "none of these is accepted"),
        ("POST", "/v1/predict", b"{", {}, 400, "JSON is required"),
        ("POST", "/v1/predict", b'{"inputs": {"x": [[1]]}}', {}, 400, "is required with shape [-1, 8], got [1, 1]"),
        ("POST", "/v1/predict", b"x" * (1 << 20) + b"x", {}, 413, "1048576 bytes at most"),
        ("POST", "/v1/predict", b"12345678", {"content_type": OCTETS}, 400, "X-Shape is required"),
    ],
)  # fmt: skip
def test_mistakes(server, method, path, body, headers, code, message):
    found, answer, text = server.ask(method, path, body, **headers)
    assert found == code
    assert answer["content-type"] == "application/json"
    assert message in json.loads(text)["error"]
    assert server.ask("GET", "/health/ready")[0] == 200


def test_a_body_without_a_length(server):
    """Parts are counted as they come."""
    parts = (b"x" * (1 << 16) for _ in range(40))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT)
    try:
        connection.request("POST", "/v1/predict", parts, encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # it does not wait for the rest
    finally:
        connection.close()
    assert server.ask("GET", "/health/live")[0] == 200


def test_a_client_that_hangs_up(server, net):
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", server.port)) as s:
            s.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
    code, _, _ = server.predict(net.arrays(0)[0])
    assert code == 200


def test_clients_that_hang_up_are_no_failures(prefix):
    with running(prefix) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as s:
            s.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
        assert server.ask("GET", "/health/live")[0] == 200
        assert server.stop() == 0
        assert "Traceback" not in server.process.stderr.read()


def test_a_body_that_does_not_come(prefix):
    with running(prefix, "--timeout", "0.2") as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT) as s:
            s.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
            answer = http.client.HTTPResponse(s)
            answer.begin()
            assert answer.status == 408 and answer.headers["connection"] == "close"
            assert "within 0.2 seconds" in json.loads(answer.read())["error"]
            assert s.recv(1) == b""
        assert server.numbers()['umiak_requests_total{status="408"}'] == "1"
        assert server.stop() == 0
        assert "Traceback" not in server.process.stderr.read()


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="before Python 3.11 a task cannot tell the timer's cancellation from another"
)
def test_a_cancellation_beside_a_late_body_is_kept():
    async def main():
        body = asyncio.ensure_future(read_body(Request({"type": "http", "headers": []}, asyncio.Event().wait), 1, 0))
        await asyncio.sleep(0)
        body.cancel()
        await body

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())


def test_a_client_that_asks_before_it_writes_too_much(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT) as s:
        s.sendall(
            b"POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n"
        )
        assert s.recv(1 << 16).startswith(b"HTTP/1.1 413 ")


def test_no_http(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT) as s:
        s.sendall(b"\x16\x03\x01 no\r\n\r\n")
        assert b"400" in s.recv(1 << 16)
    assert server.ask("GET", "/health/live")[0] == 200


# --- models that take long -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def slow_prefix(tmp_path_factory):
    """A model that takes as long as its input says."""
    import paddle

    def call(n):
        return paddle.static.nn.while_loop(lambda i: i < n.sum(), lambda i: [i + 1], [paddle.zeros([], "int64")])[0]

    net = inference_nets.Net([("x", [1], "int64")], call)
    return inference_nets.save(net, tmp_path_factory.mktemp("slow") / "slow")


def ask_long(server, n, results):
    def ask():
        try:
            results.append(server.ask("POST", "/v1/predict", json.dumps({"inputs": {"x": [n]}}))[0])
        except (ConnectionError, http.client.HTTPException) as error:
            results.append(type(error).__name__)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def wait_for_runs(server, number):
    """Wait until so many requests have come in."""
    until = time.monotonic() + WAIT
    while float(server.numbers()["umiak_waiting_requests"]) < number:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
def test_a_request_that_takes_too_long(slow_prefix):
    with running(slow_prefix, "--timeout", "0.2") as server:
        code, _, body = server.ask("POST", "/v1/predict", json.dumps({"inputs": {"x": [400_000]}}))
        assert (code, "within 0.2 seconds" in json.loads(body)["error"]) == (504, True)
        assert server.stop() == command.DONE


@pytest.mark.slow
def test_more_requests_than_may_wait(slow_prefix):
    with running(slow_prefix, "--max-waiting", "1") as server:
        results = []
        threads = [ask_long(server, 400_000, results)]
        time.sleep(0.5)
        threads.append(ask_long(server, 1, results))
        wait_for_runs(server, 1)
        code, headers, body = server.ask("POST", "/v1/predict", json.dumps({"inputs": {"x": [1]}}))
        assert (code, headers["retry-after"]) == (503, "1")
        assert json.loads(body)["error"] == "1 requests wait already"
        for thread in threads:
            thread.join()
        assert results == [200, 200]


@pytest.mark.slow
def test_requests_in_hand_are_answered_at_the_end(slow_prefix):
    with running(slow_prefix) as server:
        results = []
        threads = [ask_long(server, 100_000, results) for _ in range(3)]
        wait_for_runs(server, 2)
        assert server.stop() == command.DONE
        for thread in threads:
            thread.join()
        assert results == [200, 200, 200]
        with pytest.raises(ConnectionRefusedError):
            server.ask("GET", "/health/live")


# --- the application for other servers -------------------------------------------------------------------------------


def test_middleware_sees_predictions(saved):
    """Predictions go past the routing of the application, but past nothing that a user puts before it."""
    from paddle.inference import Config, create_predictor
    from paddle.inference.serve.application import application

    async def asked(app, body):
        sent = []

        async def receive():
            return {"type": "http.request", "body": body}

        async def send(message):
            sent.append(message)

        headers = [(b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/v1/predict", "query_string": b"", "headers": headers}
        await app(scope, receive, send)
        return sent[0]["status"]

    class Refusing:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, receive, send):
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    net, prefix = saved("linear")
    predictor = create_predictor(Config(f"{prefix}.json", f"{prefix}.pdiparams"))
    body = json.dumps({"inputs": {"x": net.arrays(0, 1)[0].tolist()}}).encode()
    plain, guarded = application(predictor), application(predictor)
    guarded.add_middleware(Refusing)
    try:
        assert asyncio.run(asked(plain, body)) == 200
        assert asyncio.run(asked(guarded, body)) == 401
    finally:
        for app in (plain, guarded):
            app.state.model.close()


# --- exit codes ------------------------------------------------------------------------------------------------------


def test_a_model_that_is_not_there(capsys, tmp_path):
    assert command.main([str(tmp_path / "none")]) == command.NO_MODEL
    assert "the model cannot be loaded: [Config] requires a model" in capsys.readouterr().err


def test_a_damaged_model(capsys, tmp_path):
    (tmp_path / "model.json").write_text("{}")
    assert command.main([str(tmp_path)]) == command.NO_MODEL
    assert "model.json" in capsys.readouterr().err


def test_an_address_that_is_taken(capsys, prefix):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert command.main([str(prefix), "--port", str(taken.getsockname()[1])]) == command.NO_PORT
    assert "cannot be had" in capsys.readouterr().err


def test_packages_that_are_not_installed(capsys, monkeypatch, prefix):
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: None if name == "uvicorn" else 1)
    assert command.main([str(prefix)]) == command.NO_PACKAGES
    assert "uvicorn are required, got none: pip install starlette uvicorn" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [[], ["m", "--max-batch", "0"], ["m", "--timeout", "-1"], ["m", "--threads", "x"], ["m", "--no"]]
)
def test_wrong_arguments(capsys, arguments):
    with pytest.raises(SystemExit) as stopped:
        command.main(arguments)
    assert stopped.value.code == command.USAGE
    assert "usage: python -m paddle.inference.serve" in capsys.readouterr().err


def test_help_names_the_exit_codes(capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main(["--help"])
    assert stopped.value.code == command.DONE
    assert "exit codes" in capsys.readouterr().out


@pytest.mark.slow
def test_the_example_that_asks(prefix, net):
    example = Path(__file__).parents[2] / "examples/inference/python/ask.py"
    with running(prefix) as server:
        asked = subprocess.run(
            [sys.executable, example, str(server.port), "3x8"], capture_output=True, text=True, check=False
        )
    assert asked.returncode == 0, asked.stderr
    (line,) = asked.stdout.splitlines()
    x = (np.arange(24) * 37 % 101 / 101).astype("float32").reshape(3, 8)
    (y,) = net.expected([x])
    same([float(n) for n in line.rpartition("] ")[2].split()], y.reshape(-1)[:8])
