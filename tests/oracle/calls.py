"""The calls, read from `calls/*.txt`.

A file is a family. A line is a call; `#` begins a comment. A block

    each sin cos
        P.{}(N(2, 3))
        P.{}(N(2, 3, dtype="float64"))

is its lines for each of the names. A line that begins with `~` draws random numbers: only shapes and dtypes are
compared. A call `P.f(x, ...)` of a function that is a method, too, is also made as `x.f(...)`, and, where tensors have
`f_`, in place; `no methods` at the beginning of a file turns this off, and `!` at the beginning of a line. Where the
call of the function is a listed difference (`known.txt`), its methods would say the same again, and are not made; nor
are methods that a line lists that has listed another one.
"""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import filterfalse
from pathlib import Path

FOLDER = Path(__file__).with_name("calls")


@dataclass(frozen=True)
class Call:
    family: str
    text: str
    random: bool = False


def written_lines(text: str) -> list[str]:
    """The lines of a file, blocks expanded."""
    lines: list[str] = []
    names: list[str] = []
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.startswith("each "):
            names = line.split()[1:]
        elif line.startswith(" "):
            lines += [line.strip().replace("{}", name) for name in names]
        else:
            lines.append(line.strip())
    return lines


def as_method(call: str, methods: set[str]) -> list[str]:
    """The call through a method of its first operand, and in place; nothing where it is no plain `P.f(x, ...)`."""
    *before, last = ast.parse(call).body
    if not (isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)):
        return []
    function, args = last.value.func, last.value.args
    # A function of the modules `linalg`, `fft` and so on may be a method as well; those of `nn.functional` are not.
    if not (
        isinstance(function, ast.Attribute) and ast.unparse(function.value) in ("P", "P.linalg", "P.signal") and args
    ):
        return []
    if not isinstance(args[0], (ast.Call, ast.Name)) or (
        isinstance(args[0], ast.Call) and ast.unparse(args[0].func) not in ("N", "U", "I", "B", "S", "C", "T")
    ):
        return []
    first, name = ast.unparse(args[0]), function.attr
    rest = ", ".join([ast.unparse(arg) for arg in args[1:]] + [ast.unparse(keyword) for keyword in last.value.keywords])
    start = "".join(ast.unparse(part) + "; " for part in before)
    made = [f"{start}{first}.{name}({rest})"] if name in methods else []
    if name + "_" in methods and "out=" not in rest:
        made.append(f"{start}x = {first}.clone(); y = x.{name}_({rest}); (x, y)")
    return made


def fits(text: str, pattern: str) -> bool:
    """Whether a line of `known.txt` is about a call: it is the call, or a pattern of it."""
    return text == pattern or fnmatch.fnmatchcase(text, pattern)


def all_calls(methods: set[str], listed: Sequence[str] = ()) -> list[Call]:
    """Every call once. ``methods``: names of the methods of tensors; ``listed``: patterns of calls that differ."""
    found: dict[str, Call] = {}
    shown: set[str] = set()
    # One expression for all patterns: thousands of calls meet hundreds of these.
    is_listed = re.compile("|".join(f"{fnmatch.translate(p)}|{re.escape(p)}\\Z" for p in listed) or "(?!)").match

    def repeated(call: str) -> bool:
        lines = {pattern for pattern in listed if fits(call, pattern)} if is_listed(call) else set()
        seen = bool(lines & shown)
        shown.update(lines)
        return seen

    for file in sorted(FOLDER.glob("*.txt")):
        text = file.read_text()
        derive = not text.startswith("no methods\n")
        for line in written_lines(text.removeprefix("no methods\n")):
            random, alone = line.startswith("~"), line.startswith("!")
            line = line.lstrip("~!").strip()
            found.setdefault(line, Call(file.stem, line, random))
            if not derive or alone or is_listed(line):
                continue
            for other in filterfalse(repeated, as_method(line, methods)):
                found.setdefault(other, Call(file.stem, other, random))
    return list(found.values())
