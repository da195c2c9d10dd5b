"""What catches every error raises it, hands it on, or says why it is dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
BROAD = re.compile(r"( *)except(?: *\(?[^:#]*\b(?:Exception|BaseException)\b[^:#]*?)?(?: as (\w+))? *:(.*)")


def silent(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each handler of all errors that neither raises, nor uses the error, nor has a comment."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        match = BROAD.fullmatch(line)
        if match is None:
            continue
        block = [match[3]]
        for inner in lines[number:]:
            if inner.strip() and len(inner) - len(inner.lstrip()) <= len(match[1]):
                break
            block.append(inner)
        if not re.search(rf"\braise\b|#|\b{match[2]}\b" if match[2] else r"\braise\b|#", "\n".join(block)):
            yield number, line.strip()


def test_handlers_of_all_errors_give_a_reason():
    found = []
    for package in ("umiak", "paddle"):
        for path in sorted((ROOT / package).rglob("*.py*")):
            if path.suffix in (".py", ".pyx", ".pxd"):
                found += [f"{path.relative_to(ROOT)}:{n}: {line}" for n, line in silent(path.read_text())]
    assert not found, "narrow, raise again, or say in a comment why the error may be dropped:\n" + "\n".join(found)


def test_the_check_sees_handlers():
    fine = "try:\n    f()\nexcept Exception:\n    g()\n    raise\n"
    told = "try:\n    f()\nexcept BaseException as e:\n    keep(e)\n"
    dropped = "try:\n    f()\nexcept Exception:  # what is cached may be lost\n    pass\n"
    narrow = "try:\n    f()\nexcept (KeyError, ValueError):\n    pass\n"
    assert not [*silent(fine), *silent(told), *silent(dropped), *silent(narrow)]
    for what in (" Exception", " BaseException as e", "", " (KeyError, Exception)"):
        assert [n for n, _ in silent(f"try:\n    f()\nexcept{what}:\n    pass\nraise x\n")] == [3]
