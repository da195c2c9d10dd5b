"""Messages of a chat to a prompt, by the template that a model was published with."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from config import LONGEST_FILE, BadModel, read_json

PROGRAM = Path(__file__).with_name("rendering.py")
SECONDS = 1.0  # of a processor, for each prompt


class NoPrompt(ValueError):
    """Messages that no prompt comes of, by the template or since there is none."""


class Template:
    """The template of a model directory, with the tokens that it may name; ``render`` is safe to call in any thread.

    It runs in a process of its own, ``rendering.py``, which is started when it is needed, and anew where a template
    has ended it.
    """

    def __init__(self, folder: Path, source: str | None, names: dict[str, str], seconds: float = SECONDS) -> None:
        self.folder, self.source, self.names, self.seconds = folder, source, names, seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def read(folder: Path) -> Template:
        """Read ``chat_template.jinja``, or ``chat_template`` of ``tokenizer_config.json``; a directory may have
        neither.

        Raises:
            BadModel: files that cannot be read, or fields of other types.
        """
        path, alone = folder / "tokenizer_config.json", folder / "chat_template.jinja"
        raw = read_json(path) if path.exists() else {}
        names = {}
        for name in ("bos_token", "eos_token", "unk_token", "pad_token"):
            token = raw.get(name)
            token = token.get("content") if isinstance(token, dict) else token
            if not isinstance(token, (str, type(None))):
                raise BadModel(path, f"{name} as a text", raw[name])
            if token is not None:
                names[name] = token
        source = raw.get("chat_template")
        if isinstance(source, list):  # of several by name
            named = {
                t.get("name"): t.get("template")
                for t in source
                if isinstance(t, dict) and isinstance(t.get("name"), str)
            }
            source = named.get("default")
        if alone.exists():
            try:
                size = alone.stat().st_size
                if size > LONGEST_FILE:
                    raise BadModel(alone, f"a file of {LONGEST_FILE} bytes at most", f"{size} bytes")
                source = alone.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise BadModel(alone, "a text in UTF-8 that can be read", str(error)) from None
        if not isinstance(source, (str, type(None))):
            raise BadModel(path, "chat_template as a text, or as a list of name and template", source)
        return Template(folder, source, names)

    def render(self, messages: list[dict[str, str]]) -> str:
        """The prompt that asks for the next message of an assistant.

        Raises:
            NoPrompt: no template, or one that refuses the messages, fails, or takes more than it may.
            RuntimeError: the process ended for another reason.
        """
        if self.source is None:
            raise NoPrompt(
                f"a model with 'chat_template' in tokenizer_config.json, or chat_template.jinja, is required, got "
                f"neither in {self.folder.name!r}"
            )
        with self._lock:
            process = self._process = self._process or self._start()
            line = b""
            with contextlib.suppress(BrokenPipeError):
                self._write(process, messages)
                line = process.stdout.readline()
            if not line.endswith(b"\n"):
                raise self._failure(self._end())
        reply = json.loads(line)
        if "refusal" in reply:
            raise NoPrompt(reply["refusal"])
        return reply["text"]

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-I", str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True,  # what interrupts the server shall not interrupt it
        )  # fmt: skip
        with contextlib.suppress(BrokenPipeError):
            self._write(process, {"template": self.source, "names": self.names, "seconds": self.seconds})
        return process

    @staticmethod
    def _write(process: subprocess.Popen[bytes], value: Any) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps(value).encode() + b"\n")
        process.stdin.flush()

    def _failure(self, status: int | None) -> Exception:
        if status == -signal.SIGPROF:
            required = f"{self.seconds:g} seconds of a processor at most"
            return NoPrompt(f"a chat template that takes {required} is required, got one that takes more")
        if status is not None and status < 0:
            return NoPrompt(f"the chat template fails: {signal.Signals(-status).name} has ended its process")
        return RuntimeError(f"the process of the chat template ended with {status}")

    def _end(self) -> int | None:
        """Wait for the end of the process: its status."""
        process, self._process = self._process, None
        if process is None:
            return None
        with contextlib.suppress(BrokenPipeError), process:  # which closes its pipes, and waits
            pass
        return process.returncode
