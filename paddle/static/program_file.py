"""Programs as bytes. Another format joins by a row in ``FORMATS``.

Reading looks names up and checks types: it runs no code, and makes nothing larger than what is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from umiak.ir.expr import Sym
from umiak.ir.program import Program, Value
from umiak.ir.serialise import FormatError, from_document, to_document
from umiak.ir.verifier import VerifyError, verify
from umiak.util.errors import op_error

KINDS = ("parameter", "variable", "constant")


@dataclass(frozen=True)
class Kept:
    """A tensor that the program reads and is not fed: ``kind`` is a parameter, another variable that is kept between
    runs, or a constant."""

    name: str
    kind: str
    trainable: bool


@dataclass
class Contents:
    """Parts of a file of a program.

    The outputs of ``program`` are the variables called ``fetched``, and then, if it draws random numbers, three
    numbers: seed, offset and count of words. ``feeds``: names of its arguments, in order; ``kept``: by the names of its
    constants.
    """

    program: Program
    feeds: list[str]
    fetched: list[str]
    kept: dict[str, Kept] = field(default_factory=dict)
    draws: bool = False

    def check(self) -> Contents:
        """Refuse what does not go together."""
        program = self.program
        if len(program.arguments()) != len(self.feeds) or len(set(self.feeds)) != len(self.feeds):
            raise FormatError(f"{len(program.arguments())} names of inputs are required, got {self.feeds}")
        if set(program.constants) != set(self.kept):
            raise FormatError(f"{sorted(program.constants)} are the variables that are kept, got {sorted(self.kept)}")
        names = [k.name for k in self.kept.values()]
        if len(set(names)) != len(names) or any(k.kind not in KINDS for k in self.kept.values()):
            raise FormatError(f"variables of {KINDS} with a name each are required, got {list(self.kept.values())}")
        numbers = program.outputs[len(self.fetched) :]
        if len(numbers) != (3 if self.draws else 0) or any(type(x) is Value for x in numbers):
            raise FormatError(f"{len(self.fetched)} outputs are required, got {len(program.outputs)}")
        if not all(type(x) is Value for x in program.outputs[: len(self.fetched)]):
            raise FormatError("outputs that are variables are required, got numbers")
        if self.draws and not all(type(x) is Sym and x.op == "symbol" for x in numbers[:2]):
            raise FormatError("seed and offset of random numbers are required as symbols")
        return self


class Format(NamedTuple):
    """A way to write programs."""

    name: str
    is_it: Callable[[Any], bool]  # of a JSON document
    read: Callable[[dict[str, Any]], Contents]
    write: Callable[[Contents], dict[str, Any]]


_NAME, _VERSION = "umiak.static_program", 1


def _write(contents: Contents) -> dict[str, Any]:
    return {
        "format": _NAME,
        "version": _VERSION,
        "feeds": contents.feeds,
        "fetched": contents.fetched,
        "kept": {k: [v.name, v.kind, v.trainable] for k, v in contents.kept.items()},
        "draws": contents.draws,
        "program": to_document(contents.program),
    }


# What ops raise for operands that they refuse, and the verifier.
_REFUSALS = VerifyError, TypeError, ValueError, LookupError, ArithmeticError, RuntimeError, AttributeError


def _read(document: dict[str, Any]) -> Contents:
    version = document.get("version")
    if version != _VERSION:
        raise FormatError(f"version {_VERSION} is required, got {version!r}")
    feeds, fetched = (_names(document, key) for key in ("feeds", "fetched"))
    kept = document.get("kept")
    if not isinstance(kept, dict) or not all(
        isinstance(v, list) and [type(x) for x in v] == [str, str, bool] for v in kept.values()
    ):
        raise FormatError("a name, a kind and a flag are required for each variable that is kept")
    draws = document.get("draws")
    if type(draws) is not bool:
        raise FormatError(f"a flag is required as draws, got {draws!r}")
    try:
        program = from_document(document.get("program"))
    except (LookupError, AttributeError) as error:  # of an op that refuses its attributes
        raise FormatError(f"the program is malformed: {error}") from error
    try:
        verify(program)
    except _REFUSALS as error:
        raise FormatError(f"the program is malformed: {error}") from error
    return Contents(program, feeds, fetched, {k: Kept(*v) for k, v in kept.items()}, draws)


def _names(document: dict[str, Any], key: str) -> list[str]:
    names = document.get(key)
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise FormatError(f"a list of names is required as {key}, got {names!r}")
    return names


FORMATS: Sequence[Format] = (Format(_NAME, lambda d: d.get("format") == _NAME, _read, _write),)


def dumps(contents: Contents, format: Format = FORMATS[0]) -> bytes:
    """A program as bytes."""
    return json.dumps(format.write(contents.check()), indent=1).encode()


def loads(op_name: str, data: Any) -> Contents:
    """Read what :func:`dumps` made, in any of the formats."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise op_error(TypeError, op_name, "bytes", type(data).__name__)
    try:
        document = json.loads(bytes(data))
    except (ValueError, RecursionError) as error:
        raise op_error(ValueError, op_name, "the bytes of a program", f"no JSON: {error}") from error
    known = next((f for f in FORMATS if isinstance(document, dict) and f.is_it(document)), None)
    if known is None:
        got = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise op_error(ValueError, op_name, f"a program in a format of {[f.name for f in FORMATS]}", repr(got))
    try:
        return known.read(document).check()
    except FormatError as error:
        raise op_error(
            ValueError, op_name, f"a program in the format {known.name}", f"a damaged one: {error}"
        ) from error
