"""The examples in docstrings say what happens."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"^ *>>> ", re.MULTILINE)
TEMPLATES = {"paddle.vision.models._variants"}  # which docstrings elsewhere are made of
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def modules() -> dict[str, Path]:
    """Modules that have examples, by name. Those of ``paddle`` itself are of objects that other modules make."""
    found = {"paddle": ROOT / "paddle" / "__init__.py"}
    for path in sorted((ROOT / "paddle").rglob("*.py")):
        if path.stem != "__main__" and EXAMPLE.search(path.read_text()):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if path.stem == "__init__" else parts)] = path
    return {name: path for name, path in found.items() if name not in TEMPLATES}


MODULES = modules()


def written(text: str) -> int:
    """The number of examples in the docstrings of a source that are to run."""
    parser = doctest.DocTestParser()
    documents = (ast.get_docstring(node) for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED))
    return sum(
        doctest.SKIP not in example.options
        for document in documents
        if document
        for example in parser.get_examples(document)
    )


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert result.attempted >= max(written(MODULES[name].read_text()), 1)  # more where functions are made


def test_modules_are_found():
    assert len(MODULES) > 300
    assert "paddle.nn.layer.common" in MODULES
