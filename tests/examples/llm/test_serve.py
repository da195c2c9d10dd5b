"""A real server process: answers at once and streamed, side by side, clients that leave, bad requests, its end."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.examples.llm.conftest import FOLDER

WAIT = 120
PROMPT = "the cat sat"


class Server:
    def __init__(self, process, port):
        self.process, self.port = process, port

    @contextmanager
    def asked(self, method, path, body=None, kind="application/json"):
        """A connection with a request; the answer is closed with it, also where it was not read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        body = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request(method, path, body, {"Content-Type": kind})
            with connection.getresponse() as answer:
                yield answer
        finally:
            connection.close()

    def ask(self, method, path, body=None, kind="application/json"):
        """Status and body of an answer."""
        with self.asked(method, path, body, kind) as answer:
            return answer.status, answer.read()

    def complete(self, path="/v1/completions", **fields):
        status, body = self.ask("POST", path, fields)
        assert status == 200, body
        return json.loads(body)

    def stream(self, path="/v1/completions", **fields):
        with self.asked("POST", path, {**fields, "stream": True}) as answer:
            assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/event-stream")
            events = answer.read().decode().split("\n\n")
        assert events[-2:] == ["data: [DONE]", ""]
        return [json.loads(e.removeprefix("data: ")) for e in events[:-2]]

    def numbers(self):
        _, text = self.ask("GET", "/metrics")
        lines = [line.rsplit(" ", 1) for line in text.decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def until(self, condition):
        end = time.monotonic() + WAIT
        while not condition(self.numbers()):
            assert time.monotonic() < end, self.numbers()
            time.sleep(0.01)


# The example, whose steps take 50 ms as long as a file is there.
SLOWED = """
import os, sys, time
folder, path = sys.argv[1:3]
del sys.argv[1:3]
sys.path.insert(0, folder)
import engine, serve

def step(self, step=engine.Engine.step):
    if os.path.exists(path):
        time.sleep(0.05)
    step(self)

engine.Engine.step = step
sys.exit(serve.main())
"""


@contextmanager
def running(directory, *options, slowing=None):
    program = [str(FOLDER / "serve.py")] if slowing is None else ["-c", SLOWED, str(FOLDER), str(slowing)]
    command = [sys.executable, *program, str(directory), "--port", "0", "--cache-megabytes", "1"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        found = re.fullmatch(r"listening on http://127.0.0.1:(\d+)\n", line)
        assert found, process.stderr.read()
        yield Server(process, int(found[1]))
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def slowing(tmp_path_factory):
    return tmp_path_factory.mktemp("llm") / "slow"


@pytest.fixture(scope="module")
def server(directory, slowing):
    with running(directory, *"--max-texts 4 --max-waiting 3 --block-size 8".split(), slowing=slowing) as started:
        yield started


@pytest.fixture
def slow(slowing):
    """Steps take long: on a busy machine, else, all is written before somebody else has his turn."""
    slowing.touch()
    yield
    slowing.unlink(missing_ok=True)


def free(numbers):
    """All blocks are free; those of a text that a stop has cut are so after the next step."""
    return numbers["llm_free_blocks"] == numbers["llm_blocks"]


def test_answers(server, llm, directory, model):
    tokenizer = llm.text.read_tokenizer(directory, 288)
    runner = llm.runner.Runner(model, 16, 8, capture=False)
    engine = llm.engine.Engine(runner, 16)
    request = llm.continuations.Sampled(tokenizer.encode(PROMPT).ids, 12)
    engine.submit(request)
    engine.drain()
    expected = tokenizer.decode(request.output)
    answer = server.complete(prompt=PROMPT, max_tokens=12, temperature=0)
    (choice,) = answer["choices"]
    assert (choice["text"], choice["finish_reason"]) == (expected, "length")
    used = len(request.prompt)
    assert answer["usage"] == {"prompt_tokens": used, "completion_tokens": 12, "total_tokens": used + 12}
    assert server.complete(prompt=request.prompt, max_tokens=12, temperature=0)["choices"] == [choice]

    events = server.stream(prompt=PROMPT, max_tokens=12, temperature=0)
    assert len(events) > 3 and "".join(e["choices"][0]["text"] for e in events) == expected
    assert [e["choices"][0]["finish_reason"] for e in events] == [None] * (len(events) - 1) + ["length"]
    assert events[-1]["usage"] == answer["usage"]

    cut = server.complete(prompt=PROMPT, max_tokens=12, temperature=0, stop=[expected[3:6]])["choices"][0]
    assert (cut["text"], cut["finish_reason"]) == (expected.split(expected[3:6])[0], "stop")
    rest = server.complete(prompt=[5] * 253, temperature=0)  # of 256 tokens in all
    assert rest["usage"]["total_tokens"] == 256 or rest["choices"][0]["finish_reason"] == "stop"
    found = server.complete(prompt=PROMPT, max_tokens=6, beams=3)["choices"][0]
    assert found["text"] and found["finish_reason"] == "length"
    server.until(free)


CHAT = "/v1/chat/completions"
SAID = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "  the cat?\n"}]
LIKELIEST = {"max_tokens": 12, "temperature": 0}


def test_chats(server, llm, directory):
    """An answer is the text after the prompt that the template makes of the messages."""
    end = "<|end|>"
    prompt = f"system: Be brief.{end}\nuser: the cat?{end}\nassistant:"
    tokens = llm.text.read_tokenizer(directory, 288).encode(prompt).ids
    assert tokens.count(0) == 2  # the ends are tokens
    plain = server.complete(prompt=tokens, **LIKELIEST)
    expected = plain["choices"][0]["text"]
    answer = server.complete(CHAT, messages=SAID, **LIKELIEST)
    assert answer["object"] == "chat.completion" and answer["id"].startswith("chatcmpl-")
    message = {"role": "assistant", "content": expected}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "length"}
    assert answer["choices"] == [choice] and answer["usage"] == plain["usage"]
    parts = [SAID[0], {"role": "user", "content": [{"type": "text", "text": t} for t in ("the ", "cat?")]}]
    assert server.complete(CHAT, messages=parts, max_completion_tokens=12, temperature=0)["choices"] == [choice]

    events = server.stream(CHAT, messages=SAID, **LIKELIEST)
    assert {(e["object"], e["id"]) for e in events} == {("chat.completion.chunk", events[0]["id"])}
    deltas = [e["choices"][0]["delta"] for e in events]
    assert deltas[0] == {"role": "assistant", "content": ""} and len(deltas) > 3
    assert "".join(d.get("content", "") for d in deltas) == expected and all(
        d.keys() <= {"content"} for d in deltas[1:]
    )
    assert [e["choices"][0]["finish_reason"] for e in events] == [None] * (len(events) - 1) + ["length"]
    assert events[-1]["usage"] == answer["usage"]

    cut = server.complete(CHAT, messages=SAID, stop=expected[3:6], **LIKELIEST)["choices"][0]
    assert (cut["message"]["content"], cut["finish_reason"]) == (expected.split(expected[3:6])[0], "stop")
    server.until(free)


def test_requests_side_by_side(server):
    def ask(seed):
        return server.complete(prompt=PROMPT, max_tokens=16, seed=seed % 3, temperature=0.9)["choices"][0]["text"]

    with ThreadPoolExecutor(3) as pool:  # as many as may wait: they may all come before the first one runs
        texts = list(pool.map(ask, range(6)))
    assert texts[:3] == texts[3:] and len(set(texts)) == 3
    server.until(free)


LONG = {"prompt": PROMPT, "max_tokens": 200, "temperature": 0}


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_frees_its_blocks(server, slow, stream):
    before = server.numbers()["llm_tokens"]
    head = "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: "
    body = json.dumps({**LONG, "stream": stream})
    with socket.create_connection(("127.0.0.1", server.port), WAIT) as client:
        client.sendall(f"{head}{len(body)}\r\n\r\n{body}".encode())
        if stream:
            assert client.recv(4).startswith(b"HTTP")
        server.until(lambda n: n["llm_tokens"] > before + 2)
    server.until(free)
    assert server.numbers()["llm_tokens"] < before + 190


BAD = {
    "no JSON": (b"{", "a body in JSON"),
    "a list": ([], "a JSON object"),
    "no prompt": ({}, "'prompt' as a text"),
    "an empty prompt": ({"prompt": ""}, "a prompt and 1 token"),
    "a prompt of texts": ({"prompt": ["a"]}, "'prompt' as a text"),
    "half a character": (b'{"prompt": "\\ud800"}', "surrogate"),
    "tokens outside": ({"prompt": [5, 288]}, "tokens from 0 to 287"),
    "too long": ({"prompt": "a", "max_tokens": 256}, "256 tokens at most"),
    "a prompt that is too long": ({"prompt": [5] * 256}, "256 tokens at most are required, got 256 of the prompt"),
    "no tokens": ({"prompt": "a", "max_tokens": 0}, "'max_tokens' as an integer from 1"),
    "a number as text": ({"prompt": "a", "max_tokens": "7"}, "'max_tokens' as an integer"),
    "a negative temperature": ({"prompt": "a", "temperature": -1}, "'temperature' as a number from 0"),
    "NaN": (b'{"prompt": "a", "top_p": NaN}', "'top_p' as a number"),
    "nothing to draw from": ({"prompt": "a", "top_p": 0}, "'top_p' above 0"),
    "an unknown field": ({"prompt": "a", "n": 2}, "got 'n'"),
    "many beams": ({"prompt": "a", "beams": 5}, "1 to 4 beams"),
    "beams that draw": ({"prompt": "a", "beams": 2, "temperature": 1}, "'beams' without"),
    "a penalty alone": ({"prompt": "a", "length_penalty": 1}, "'length_penalty' with"),
    "an empty stop": ({"prompt": "a", "stop": [""]}, "'stop' as a text"),
    "stream as a number": ({"prompt": "a", "stream": 1}, "'stream' as true"),
}


def message(content, role="user", **fields):
    return {"messages": [{"role": role, "content": content, **fields}]}


BAD_CHATS = {
    "no messages": ({}, "'messages' as a list of 1 or more"),
    "an empty list": ({"messages": []}, "'messages' as a list of 1 or more"),
    "a text": ({"messages": "hi"}, "'messages' as a list of 1 or more"),
    "a list of texts": ({"messages": ["hi"]}, "'messages[0]' as an object"),
    "no content": ({"messages": [{"role": "user"}]}, "'messages[0]' as an object of 'role' and 'content'"),
    "another field": (message("hi", name="x"), "'messages[0]' as an object"),
    "another role": (message("hi", "tool"), "'messages[0].role' as one of ['system', 'user', 'assistant']"),
    "a role of no text": (message("hi", []), "'messages[0].role' as one of"),
    "a number": (message(5), "'messages[0].content' as a text"),
    "an image": (message([{"type": "image_url", "image_url": {"url": "x"}}]), "'messages[0].content' as a text"),
    "half a character": (message("\ud800"), "surrogate"),
    "a prompt": ({**message("hi"), "prompt": "a"}, "got 'prompt'"),
    "two limits": ({**message("hi"), "max_tokens": 1, "max_completion_tokens": 1}, "got both"),
    "no tokens": ({**message("hi"), "max_completion_tokens": 0}, "'max_completion_tokens' as an integer from 1"),
    "too long": (message("a" * 300), "256 tokens at most"),
}


def test_bad_chats_are_told_what_is_wrong(server):
    for body, expected in BAD_CHATS.values():
        status, text = server.ask("POST", CHAT, body)
        assert status == 400 and expected in json.loads(text)["error"], (body, text)
    server.until(free)


def test_bad_requests_are_told_what_is_wrong(server):
    for body, message in BAD.values():
        status, text = server.ask("POST", "/v1/completions", body)
        assert status == 400 and message in json.loads(text)["error"], (body, text)
    for method, path, body, kind, status in (
        ("POST", "/v1/completions", {"prompt": "a"}, "text/plain", 415),
        ("POST", "/v1/completions", b"x" * (5 << 20), "application/json", 413),
        ("GET", "/v1/completions", None, "", 405),
        ("GET", "/other", None, "", 404),
    ):
        assert server.ask(method, path, body, kind)[0] == status
    assert server.ask("GET", "/health/ready")[0] == 200
    assert json.loads(server.ask("GET", "/v1/models")[1])["data"][0]["id"] == "tiny"
    server.until(free)


def test_requests_beyond_the_limit_are_told_to_come_later(server, slow):
    with ThreadPoolExecutor(24) as pool:  # of which four run, and three wait
        answers = list(pool.map(lambda _: server.ask("POST", "/v1/completions", {**LONG, "max_tokens": 20}), range(24)))
    assert {status for status, _ in answers} == {200, 503}
    assert all(json.loads(body)["error"].startswith("3 requests wait") for status, body in answers if status == 503)
    server.until(free)


def test_told_to_stop_it_answers_what_it_has(directory):
    with (
        running(directory, "--eager", "--weights", "int8") as server,
        server.asked("POST", "/v1/completions", {**LONG, "max_tokens": 40, "stream": True}) as answer,
    ):
        first = answer.read(6)
        server.process.send_signal(signal.SIGTERM)
        assert (first + answer.read()).decode().endswith("data: [DONE]\n\n")
        assert server.process.wait(WAIT) == 0


HOSTILE = """\
{% if messages | length == 2 %}{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}{% endif %}
{% if messages[0].role != 'user' %}{{ raise_exception('A user begins.') }}{% endif %}
{{ messages[0].content }}"""


def test_templates_that_are_hostile_or_missing(llm, directory, tmp_path):
    def copied(name, **fields):
        shutil.copytree(directory, tmp_path / name)
        (tmp_path / name / "tokenizer_config.json").write_text(json.dumps(fields))
        return tmp_path / name

    with running(copied("hostile", chat_template=HOSTILE), "--eager") as server:
        status, text = server.ask("POST", CHAT, message("hi", "system"))
        assert status == 400 and "refuses these messages: A user begins." in json.loads(text)["error"]
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(server.ask, "POST", CHAT, {"messages": message("hi")["messages"] * 2})
            server.complete(prompt=PROMPT, max_tokens=2)  # meanwhile
            status, text = slow.result()
        assert status == 400 and "1 seconds of a processor at most" in json.loads(text)["error"]
        assert server.complete(CHAT, **message("hi"), max_tokens=2)["choices"][0]["finish_reason"]
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(WAIT) == 0
    args = llm.generate.parser().parse_args([str(copied("none")), "--cache-megabytes", "1"])
    with pytest.raises(llm.asking.Malformed, match=r"'chat_template' in tokenizer_config\.json.*got neither in 'none'"):
        llm.asking.parse_chat(json.dumps(message("hi")).encode(), llm.loading.load(args))


def test_obstacles_to_a_start(llm, directory, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        llm.serve.main([str(directory), "--grace", "-1"])
    assert "an integer of 0 or more is required, got '-1'" in capsys.readouterr().err
    assert llm.serve.main([str(tmp_path)]) == 3
    assert "the model cannot be loaded: " in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        arguments = [str(directory), "--eager", "--cache-megabytes", "1", "--port", str(taken.getsockname()[1])]
        assert llm.serve.main(arguments) == 4
    assert "cannot be had" in capsys.readouterr().err
