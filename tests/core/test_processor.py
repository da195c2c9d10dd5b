"""Processors that are too old are told so."""

import ast
from pathlib import Path

import pytest

import umiak
from umiak.core import processor


def test_this_processor_fits():
    assert processor.lacking() == ""
    processor.check("")


def test_an_old_processor_is_refused():
    with pytest.raises(ImportError, match=r"requires a processor of the level x86-64-v2 .*, got one without SSE4\.2$"):
        processor.check("SSE4.2")


def test_it_is_looked_at_before_numpy_is_imported():
    """The first thing of the assembler; what the module imports before it is the standard library's."""
    body = ast.parse(Path(umiak.__file__).read_text()).body
    outside = {n.module for n in body if isinstance(n, ast.ImportFrom)}
    assert outside <= {"__future__", "importlib", "typing"} and not any(isinstance(n, ast.Import) for n in body)
    (assemble,) = (n for n in body if isinstance(n, ast.FunctionDef) and n.name == "_assemble")
    assert [ast.unparse(n) for n in assemble.body[:2]] == [
        "from umiak.core import processor",
        "processor.check(processor.lacking())",
    ]
