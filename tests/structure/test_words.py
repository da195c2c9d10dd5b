"""Names and prose use the terms of the field: `words.txt` lists what is said otherwise, and by what."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("words.txt")
TREES = ("umiak", "paddle", "tests", "benchmarks", "tools", "examples", "docs")
CODE = {".py", ".pyi", ".pyx", ".pxd", ".pxi", ".h"}
SCOPES = ("identifier", "file", "phrase")
RULE = re.compile(r"(identifier|file|phrase): (.+?) -> ([^\[\]]+?)(?: \[([\w/., -]+)\])?")

# What is no code: texts and comments, those of C included. Longest quotes first.
TEXTS = re.compile(
    r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#(?!define|include|if|e|p).*'
    r"|/\*[\s\S]*?\*/"
)
TEXTS_OF_C = re.compile(TEXTS.pattern + "|//.*")  # elsewhere it divides
NAME = re.compile(r"[^\W\d]\w*")
QUOTED = re.compile(r"`+([^`\n]+)`+")

# A summary begins with a noun or a verb ("Return …", "Softmax along …"), not with a clause that answers a question.
QUESTION = re.compile(r"(?:What|Who|Whose|Which|Whether|How|Where|When|Why)\b")
QUOTED_QUESTION = re.compile(rf"""["'](?:\\\n)?\s*{QUESTION.pattern}""")
CYTHON_DOCUMENT = re.compile(r'(?:^|:)\s*"""(\w+)', re.MULTILINE)


class Rule(NamedTuple):
    scope: str
    banned: str
    standard: str
    folders: tuple[str, ...]  # that it holds in; all where empty

    def holds_in(self, path: str) -> bool:
        return path.startswith(self.folders) if self.folders else True


def parse(text: str) -> list[Rule]:
    rules = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        found = RULE.fullmatch(line)
        assert found, f"{LIST.name} requires 'scope: banned -> standard term [folders]', got {line!r}"
        scope, banned, standard, folders = found.groups()
        rules.append(Rule(scope, banned, standard, tuple(f.strip() for f in (folders or "").split(",") if f.strip())))
    return rules


def identifiers(text: str, suffix: str) -> Iterator[tuple[str, int]]:
    """The names in the code of a file, and those that its texts quote as code, with their places."""
    if suffix in CODE:
        texts = TEXTS_OF_C if suffix == ".h" else TEXTS
        code = texts.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
        yield from ((m.group(), m.start()) for m in NAME.finditer(code))
    for quoted in QUOTED.finditer(text):
        yield from ((m.group(), quoted.start(1) + m.start()) for m in NAME.finditer(quoted.group(1)))


@cache
def words_of(phrase: str) -> list[str]:
    return phrase.lower().split()


@cache
def phrase(words: str) -> re.Pattern[str]:
    """A pattern of words in lower case, which may go over the end of a line, also of a comment."""
    return re.compile(r"\b" + r"(?:[ \t]*\n[ \t#*]*|[ \t]+)".join(map(re.escape, words_of(words))) + r"\b")


def breaches(path: str, text: str, rules: Iterable[Rule]) -> Iterator[str]:
    """Lines of a report: what a file says that the rules do not allow."""
    here = [r for r in rules if r.holds_in(path)]
    stem = re.split(r"[./]", path.rpartition("/")[2])[0]
    for rule in here:
        if rule.scope == "file" and rule.banned in (stem, stem.removeprefix("test_")):
            yield f"{path}: a file {rule.banned!r}; the term is {rule.standard!r}"
    names = {r.banned: r for r in here if r.scope == "identifier"}
    # Taking code apart from texts takes long: only files in which the words occur at all.
    for name, at in identifiers(text, Path(path).suffix) if not names.keys().isdisjoint(NAME.findall(text)) else ():
        if name in names:
            yield f"{path}:{text.count(chr(10), 0, at) + 1}: {name!r}; the term is {names[name].standard!r}"
    lowered = text.lower()
    for rule in here:
        # A text is sooner searched for the words of a phrase than for the pattern of it.
        if rule.scope == "phrase" and all(word in lowered for word in words_of(rule.banned)):
            for m in phrase(rule.banned).finditer(lowered):
                yield f"{path}:{text.count(chr(10), 0, m.start()) + 1}: {rule.banned!r}; the term is {rule.standard!r}"


def documents(text: str, suffix: str) -> Iterator[tuple[int, str]]:
    """Line and text of the documents of a module, its classes and functions; of Cython, their first words."""
    if suffix != ".py":
        for m in CYTHON_DOCUMENT.finditer(text):
            yield text.count("\n", 0, m.start(1)) + 1, m.group(1)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            document = ast.get_docstring(node)
            if document:
                yield node.body[0].lineno, document


def questions(path: str, text: str) -> list[str]:
    # Most files have no text at all that begins so, and need not be parsed.
    if not QUOTED_QUESTION.search(text):
        return []
    return [f"{path}:{n}: {d[:60]!r}" for n, d in documents(text, Path(path).suffix) if QUESTION.match(d)]


@cache
def rules() -> list[Rule]:
    return parse(LIST.read_text(encoding="utf-8"))


@cache
def files(tree: str) -> list[tuple[str, str]]:
    """Path and text of the files of a tree; top-level pages go with the documentation."""
    found = [p for p in (ROOT / tree).rglob("*") if p.suffix in CODE or p.suffix == ".md"]
    found += [*ROOT.glob("*.md")] if tree == "docs" else []
    return sorted((p.relative_to(ROOT).as_posix(), p.read_text(encoding="utf-8")) for p in found)


@pytest.mark.parametrize("tree", TREES)
def test_the_terms_are_those_of_the_field(tree):
    found = [line for path, text in files(tree) for line in breaches(path, text, rules())]
    assert not found, "\n".join(found[:50])


@pytest.mark.parametrize("package", ["umiak", "paddle"])
def test_summaries_begin_with_a_noun_or_a_verb(package):
    found = [line for path, text in files(package) if path.endswith((".py", ".pyx")) for line in questions(path, text)]
    assert not found, "\n".join(found[:50])


def test_the_list_names_each_word_once_per_place():
    keys = [
        (r.scope, r.banned.lower() if r.scope == "phrase" else r.banned, f) for r in rules() for f in r.folders or ("",)
    ]
    assert len(keys) == len(set(keys)), sorted(k for k in keys if keys.count(k) > 1)
    folders = {f for r in rules() for f in r.folders}
    assert not [f for f in folders if not (ROOT / f).exists()], "folders that are gone"


SAMPLE = parse(
    "identifier: Pursued -> FusedEpilogue\nfile: ordering -> sort\nphrase: laid aside -> transposed [umiak/]"
)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("umiak/x.py", "class Pursued: ...\n"),
        ("umiak/x.pyx", "cdef Pursued x\n"),
        ("umiak/x.h", "/* none */ int Pursued;\n"),
        ("umiak/x.py", "n = 7 // Pursued\n"),
        ("docs/x.md", "the op `Pursued(inner)`\n"),
        ("umiak/x.py", '"""An op ``Pursued``."""\n'),
        ("umiak/ordering.py", ""),
        ("tests/test_ordering.py", ""),
        ("umiak/x.py", "# matrices are laid aside\n"),
        ("umiak/x.py", "# matrices are Laid\n# aside\n"),
        ("umiak/x.h", "/* matrices are laid\n * aside */\n"),
    ],
)
def test_a_banned_word_is_found(path, text):
    assert len(list(breaches(path, text, SAMPLE))) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("umiak/x.py", "x = 'Pursued'  # Pursued\n"),
        ("umiak/x.py", "class FollowedBy: ...\n"),
        ("docs/x.md", "Pursued by that\n"),
        ("umiak/reordering.py", "ordering = 1\n"),
        ("docs/x.md", "matrices are laid aside\n"),
        ("umiak/x.py", "# laid. Aside\n"),
    ],
)
def test_other_words_are_not(path, text):
    assert not list(breaches(path, text, SAMPLE))


@pytest.mark.parametrize(
    ("path", "text", "count"),
    [
        ("umiak/x.py", '"""What this is."""\n', 1),
        ("umiak/x.py", 'def f():\n    """Whether it is."""\n', 1),
        ("umiak/x.py", 'class A:\n    """A thing."""\n\n    def f(self):\n        """How it goes."""\n', 1),
        ("umiak/x.py", 'def f():\n    """Return whether it is."""\n', 0),
        ("umiak/x.py", 'def f():\n    """Whatever it is."""\n', 0),
        ("umiak/x.pyx", '"""What this is."""\ncdef int f():\n    """Who it is."""\n', 2),
        ("umiak/x.pyx", '"""A thing."""\n', 0),
    ],
)
def test_a_summary_that_is_a_clause_is_found(path, text, count):
    assert len(questions(path, text)) == count
