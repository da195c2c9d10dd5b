"""Chat templates: what they expect to have, and what hostile ones cannot do."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

SAID = [{"role": "user", "content": "hi"}]
LONG_RANGE = "{% for i in range(99999) %}"

PUBLISHED = {
    "messages": ("{{ messages[0].role }} {{ messages[0]['content'] }}", "user hi"),
    "special tokens": ("{{ bos_token }}|{{ eos_token }}", "<s>|</s>"),
    "the next message": ("{% if add_generation_prompt %}assistant{% endif %}", "assistant"),
    "trimmed blocks": ("{% if true %}\n  a\n  {% endif %}\nb\n", "  a\nb"),
    "loop controls": ("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
    "namespaces": ("{% set n = namespace(x=1) %}{% for m in messages %}{% set n.x = 5 %}{% endfor %}{{ n.x }}", "5"),
    "marks of training": ("a{% generation %}{{ messages[0].content }}{% endgeneration %}b", "ahib"),
    "plain JSON": ("{{ {'a': '<é>'} | tojson }}", '{"a": "<é>"}'),
    "a missing name": ("{% if tools is defined and tools %}x{% endif %}{{ tools }}.", "."),
    "dates": ("{{ strftime_now('%Y') }}", None),
}


@pytest.fixture
def template(llm, tmp_path):
    """Templates of a text, whose processes end with the test."""
    started = []

    def start(source, seconds=5.0):
        started.append(llm.templates.Template(tmp_path, source, {"bos_token": "<s>", "eos_token": "</s>"}, seconds))
        return started[-1]

    yield start
    for one in started:
        one.close()


def test_published_templates_have_what_they_expect(template):
    joined = "\x1f".join(source.removesuffix("\n") for source, _ in PUBLISHED.values())
    expected = [text if text is not None else str(datetime.now().year) for _, text in PUBLISHED.values()]
    assert template(joined).render(SAID).split("\x1f") == expected


# Source, and what the refusal says.
HOSTILE = {
    "classes": ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "access to attribute '__class__'"),
    "globals": ("{{ raise_exception.__globals__.json }}", "access to attribute '__globals__'"),
    "through a filter": ("{{ ('' | attr('__class__')).mro() }}", "__class__"),
    "through a format": ("{{ '{0.__class__.__mro__}'.format(1).x() }}", "__class__"),
    "modules": ("{{ self._TemplateReference__context.environment }}", "access to attribute"),
    "files": ("{% include '/etc/passwd' %}", "loader"),
    "changes of messages": ("{{ messages.append(1) }}", "append"),
    "changes of one": ("{{ messages[0].update(role='x') }}", "update"),
    "a range": ("{% for i in range(10**9) %}{% endfor %}", "Range too big"),
    "memory": ("{{ ('a' * 10**9) | length }}", "MemoryError"),
    "memory by a width": ("{{ '%999999999d' % 1 }}", "MemoryError"),
    "memory by doubling": (
        "{% set n = namespace(x='a') %}{% for i in range(40) %}{% set n.x = n.x ~ n.x %}{% endfor %}", "MemoryError",
    ),
    "output": ("{% for i in range(9000) %}{{ 'a' * 1000 }}{% endfor %}", "8388608 characters at most"),
    "recursion": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "RecursionError"),
    "half a character": ("{{ '\\ud800' }}", "UnicodeEncodeError"),
    "a long refusal": ("{{ raise_exception('x' * 9999) }}", "refuses these messages: xxx"),
    "a division": ("{{ 1 / 0 }}", "ZeroDivisionError"),
}  # fmt: skip


def test_hostile_templates_are_refused_and_the_process_goes_on(template, llm):
    chosen = "{{% if messages[0].content == '{}' %}}{}{{% endif %}}"
    branches = "".join(chosen.format(name, source) for name, (source, _) in HOSTILE.items())
    hostile = template(branches + "fine")
    assert hostile.render(SAID) == "fine"
    process = hostile._process
    for name, (_, expected) in HOSTILE.items():
        with pytest.raises(llm.templates.NoPrompt) as refusal:
            hostile.render([{"role": "user", "content": name}])
        assert expected in str(refusal.value) and len(str(refusal.value)) <= 500, (name, str(refusal.value))
    assert hostile.render(SAID) == "fine"
    assert hostile._process is process and process.poll() is None


@pytest.mark.parametrize(
    "source",
    [LONG_RANGE * 4 + "{% endfor %}" * 4, "{% set x = 7 ** (10 ** 8 * messages | length) %}"],
    ids=["loops inside loops", "one operation"],
)
def test_a_template_that_takes_long_is_ended(template, llm, source):
    slow = template("{% if messages[0].content == 'slow' %}" + source + "{% endif %}fine", 0.2)
    with pytest.raises(llm.templates.NoPrompt, match=r"0\.2 seconds of a processor at most"):
        slow.render([{"role": "user", "content": "slow"}])
    assert slow.render(SAID) == "fine"  # in a new process


BROKEN = {
    "syntax": ("{% if %}", "the chat template fails: "),
    "length": ("a" * (1 << 17) + "a", "131072 characters at most is required, got 131073"),
    "nesting": ("{{ " + "(" * 20_000 + "}}", "the chat template fails: "),
    "work at its compilation": ("{{ 7 ** (10 ** 8) }}", "seconds of a processor at most"),
}


@pytest.mark.parametrize(("source", "message"), BROKEN.values(), ids=BROKEN)
def test_templates_that_do_not_compile(template, llm, source, message):
    broken = template(source, 0.2)
    for _ in range(2):
        with pytest.raises(llm.templates.NoPrompt) as refusal:
            broken.render(SAID)
        assert message in str(refusal.value)


def test_directories(llm, tmp_path):
    """The file of a template alone goes before the field, and of several the one by the name default."""

    def read(**fields):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(fields))
        return llm.templates.Template.read(tmp_path)

    with pytest.raises(llm.templates.NoPrompt, match=r"'chat_template' in tokenizer_config\.json"):
        llm.templates.Template.read(tmp_path).render(SAID)
    named = [{"name": "rag", "template": "r"}, {"name": "default", "template": "d"}]
    assert read(chat_template=named).source == "d" and read(chat_template=named[:1]).source is None
    given = read(chat_template="a", bos_token={"content": "<s>"}, eos_token="</s>", pad_token=None)
    assert (given.source, given.names) == ("a", {"bos_token": "<s>", "eos_token": "</s>"})
    for fields in ({"chat_template": 5}, {"eos_token": 5}):
        with pytest.raises(llm.config.BadModel, match=f"requires {next(iter(fields))} as a text"):
            read(**fields)
    (tmp_path / "chat_template.jinja").write_text("j")
    assert read(chat_template="a").source == "j"
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff")
    with pytest.raises(llm.config.BadModel, match="UTF-8"):
        read()
