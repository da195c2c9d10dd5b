"""A program that renders a chat template: JSON in lines in, JSON in lines out.

Templates come with models, from whoever published them, so they are not trusted: they run in a process of their own,
with little memory, no files to write, and a clock that kills it; in Jinja's sandbox, which lets them see data alone.
Whoever asks reads the end of the process as a refusal (``templates.py``).
"""

from __future__ import annotations

import datetime
import json
import resource
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

LONGEST_TEMPLATE = 1 << 17  # characters
LONGEST_TEXT = 8 << 20  # characters of a prompt
MEMORY = 512 << 20  # bytes of addresses, the interpreter's included


class Refusal(ValueError):
    """The reason that a template has no text for these messages."""


class Generation(Extension):
    """``{% generation %}`` marks what an assistant writes, for training; here it is what is in it."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def refuse(message: object) -> None:
    raise Refusal(f"the chat template refuses these messages: {message}")


def plain_json(value: Any, indent: int | None = None, **options: Any) -> str:
    """JSON as models read it: Jinja's own filter escapes what HTML would take for tags."""
    return json.dumps(value, ensure_ascii=False, indent=indent, **options)


def environment() -> ImmutableSandboxedEnvironment:
    """The names, filters and statements that templates of chats expect."""
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", Generation]
    )
    for name in ("lipsum", "cycler", "joiner"):
        del env.globals[name]
    env.globals["raise_exception"] = refuse
    env.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    env.filters["tojson"] = plain_json
    return env


def renderer(template: str, names: dict[str, Any]) -> Callable[[list[dict[str, str]]], str]:
    """A function from messages to a prompt.

    Raises:
        Refusal: a template that is too long or not in the language.
    """
    if len(template) > LONGEST_TEMPLATE:
        raise Refusal(f"a chat template of {LONGEST_TEMPLATE} characters at most is required, got {len(template)}")
    compiled = environment().from_string(template)

    def render(messages: list[dict[str, str]]) -> str:
        parts, size = [], 0
        for part in compiled.generate(messages=messages, add_generation_prompt=True, **names):
            size += len(part)
            if size > LONGEST_TEXT:
                raise Refusal(f"a chat template that writes {LONGEST_TEXT} characters at most is required, got more")
            parts.append(part)
        return "".join(parts)

    return render


def answer(call: Callable[[], Any], seconds: float) -> tuple[Any, bytes]:
    """The value of a call, or None, and a line: a text, or the reason that there is none.

    ``seconds`` of a processor later a signal ends the process, also inside of C.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        value = call()
        return value, json.dumps({"text": value} if isinstance(value, str) else {}, ensure_ascii=False).encode() + b"\n"
    except Refusal as error:
        reason = str(error)
    except TemplateError as error:
        reason = f"the chat template fails: {error.message}"
    except Exception as error:  # templates may raise whatever Python does
        reason = f"the chat template fails: {type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None, json.dumps({"refusal": reason[:500]}).encode() + b"\n"


def main() -> None:
    """Read a template on the first line; answer messages on each that is next."""
    for limit, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (most, most))
    given = json.loads(sys.stdin.buffer.readline())
    seconds = given["seconds"]
    render, refusal = answer(lambda: renderer(given["template"], given["names"]), seconds)
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(answer(partial(render, json.loads(line)), seconds)[1] if render else refusal)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
