"""Programs as JSON text. Reading executes nothing: ops are looked up by name and refused when unknown.

The program itself is kept as printed text, so that there is one grammar to keep readable over versions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from umiak.ir.parser import parse
from umiak.ir.program import Program
from umiak.ir.text import TextError

FORMAT = "umiak.program"
VERSION = 1

# Version → function from the document of that version to the next one. Every released version keeps its entry.
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}


class FormatError(ValueError):
    """A document that is not a program, is damaged, or comes from a newer version."""


def to_document(program: Program) -> dict[str, Any]:
    """The program as a JSON-able dict. Captured tensors are named, not included."""
    text = program.canonical()
    return {
        "format": FORMAT,
        "version": VERSION,
        "constants": _constants(program),
        "program": text,
        "sha256": _digest(text),
    }


def from_document(document: Any, registry: Mapping[str, Any] | None = None) -> Program:
    """Read what :func:`to_document` made."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(f"a program document has the format {FORMAT!r}, got {_got(document)}")
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise FormatError(f"a program document has a version, got {version!r}")
    if version > VERSION:
        raise FormatError(f"the program has format version {version}; this release reads up to {VERSION}")
    while version < VERSION:
        document = MIGRATIONS[version](document)
        version += 1
    text = document.get("program")
    if not isinstance(text, str):
        raise FormatError("the document has no program text")
    if document.get("sha256") != _digest(text):
        raise FormatError("the program text does not match its checksum: the document is damaged or was edited")
    try:
        program = parse(text, registry)
    except TextError as error:
        raise FormatError(f"the program text is malformed: {error}") from error
    if document.get("constants") != _constants(program):
        raise FormatError(f"the constants {document.get('constants')!r} are not those of the program")
    return program


def dumps(program: Program) -> str:
    return json.dumps(to_document(program), indent=1)


def loads(text: str | bytes, registry: Mapping[str, Any] | None = None) -> Program:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}") from error
    return from_document(document, registry)


def _constants(program: Program) -> list[str]:
    """Names in the order of the inputs they bind."""
    names = {id(v): n for n, v in program.constants.items()}
    return [names[id(v)] for v in program.inputs if id(v) in names]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _got(document: Any) -> str:
    return repr(document.get("format")) if isinstance(document, dict) else type(document).__name__
