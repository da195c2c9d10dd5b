"""Parser of statements: tokens, then frozen dataclasses. Nothing here knows which tensors there are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from umiak.checkpoint.aoa.errors import (
    AOAAssertionError,
    AOACharacterError,
    AOAError,
    AOASyntaxError,
    AOATypeError,
)

# A name may begin with digits if a dot follows them: sub-layers of a Sequential are called 0, 1, 2…
TOKEN = re.compile(
    r"""(?P<skip>[ \t\r]+|\#.*)
      | (?P<arrow>->)
      | (?P<name>(?:[A-Za-z_$*]|[0-9]+\.)[A-Za-z0-9_.$*]*)
      | (?P<number>-?[0-9]+)
      | (?P<string>"[^"]*"|'[^']*')
      | (?P<mark>\^T|[=:\[\],])""",
    re.VERBOSE,
)
SLOT = re.compile(r"\$LAYER_ID_OFFSET|\$LAYER_ID|\$EXPERT_ID|\*")
LAYER, OFFSET, EXPERT, STAR = "$LAYER_ID", "$LAYER_ID_OFFSET", "$EXPERT_ID", "*"
FUSED = ("fused_qkv", "fused_qkv_old", "fused_ffn")
FLAGS = (*FUSED, "equal")
# What kind of value each attribute takes.
ATTRIBUTES = {
    "axis": int,
    "permute": str,
    "dtype": str,
    "src_dtype": str,
    "dst_dtype": str,
    "num_heads": int,
    "num_key_value_groups": int,
}
CAST_DTYPES = ("float16", "float32", "bfloat16")
LONGEST = 1 << 20  # characters of a statement
LONGEST_TEXT = 64 << 20  # of all
LONGEST_VALUE = 256  # of a quoted string
MOST_DIGITS = 18
MOST_NAMES = 1 << 14  # that NAME[a:b] stands for
PERMUTATION = re.compile(r"\s*\[\s*((?:-?\d+\s*,\s*)*-?\d+\s*,?)?\s*\]\s*")


@dataclass(frozen=True)
class Pattern:
    """A name with places for numbers: ``parts`` are the texts around them, ``slots`` what each place is called."""

    parts: tuple[str, ...]
    slots: tuple[str, ...]

    def fill(self, values: Sequence[str]) -> str:
        """The name with a number in each place."""
        out = [self.parts[0]]
        for value, part in zip(values, self.parts[1:]):
            out += (value, part)
        return "".join(out)


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it stands in a statement; ``span`` is set for ``NAME[a:b]``."""

    text: str
    transposed: bool = False
    span: tuple[int, int] | None = None

    @property
    def void(self) -> bool:
        """Return whether this is ``_``."""
        return self.text == "_"

    def __str__(self) -> str:
        span = f"[{self.span[0]}:{self.span[1]}]" if self.span else ""
        return f"{self.text}{span}{'^T' if self.transposed else ''}"


@dataclass(frozen=True)
class Statement:
    """One statement. ``attrs`` holds values by name; a flag's value is True."""

    number: int
    text: str
    left: tuple[Name, ...]
    right: tuple[Name, ...]
    attrs: dict[str, int | str | bool]

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """The placeholders, those that stand for the same number in every name; empty for most statements."""
        return tuple(sorted({s for n in self.left + self.right for s in SLOT.findall(n.text) if s != STAR}))

    @cached_property
    def plain(self) -> bool:
        """Return whether there is nothing to expand."""
        return not any("$" in n.text or "*" in n.text or n.span for n in self.left + self.right)

    @cached_property
    def patterns(self) -> tuple[tuple[Pattern, ...], tuple[Pattern, ...]]:
        """The names of both sides as patterns."""
        return tuple(map(_pattern, self.left)), tuple(map(_pattern, self.right))

    @property
    def fused(self) -> str:
        """The fuse macro that this is, or "" """
        return next((f for f in FUSED if f in self.attrs), "")

    @property
    def parsed(self) -> str:
        """The statement as it was understood."""
        return shown(list(map(str, self.left)), list(map(str, self.right)), self.attrs)

    @property
    def chain(self) -> list[tuple[str, str]]:
        """Return the first lines of an error's trace."""
        chain = [(f"statement {self.number}", self.text)]
        return chain if self.parsed == self.text else [*chain, ("parsed", self.parsed)]


def shown(left: Sequence[str], right: Sequence[str], attrs: dict[str, int | str | bool]) -> str:
    """Names and attributes as a statement."""
    written = [k if v is True else f"{k}={v!r}" for k, v in attrs.items()]
    return f"{', '.join(left)} -> {', '.join([*right, *written])}"


def _pattern(name: Name) -> Pattern:
    return Pattern(tuple(SLOT.split(name.text)), tuple(SLOT.findall(name.text)))


def lines(statements: str | Sequence[str]) -> Iterator[str]:
    """The statements one by one, comments and empty lines left out."""
    total = 0
    for entry in [statements] if isinstance(statements, str) else statements:
        if not isinstance(entry, str):
            raise AOATypeError(f"a statement is text, got {entry!r}")
        total += len(entry)
        if total > LONGEST_TEXT:
            raise AOAError(f"statements have at most {LONGEST_TEXT} characters")
        for line in entry.split("\n"):
            if line.strip() and not line.lstrip().startswith("#"):
                yield line.strip()


def parse(statements: str | Sequence[str]) -> list[Statement]:
    """Read statements.

    Raises:
        AOAError: with the number and text of the statement in its chain.
    """
    out = []
    for number, text in enumerate(lines(statements), 1):
        try:
            out.append(_Reader(text).statement(number))
        except AOAError as error:
            raise type(error)(error.problem, [(f"statement {number}", text), *error.chain]) from None
    return out


class _Reader:
    """The words of one statement, and how far they are read."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise AOAError(f"a statement has at most {LONGEST} characters, got {len(text)}")
        self.text = text
        self.words: list[tuple[str, str]] = []
        at = 0
        for match in TOKEN.finditer(text):
            if match.start() != at:
                break
            at = match.end()
            if match.lastgroup != "skip":
                word = match.group()
                self.words.append((word if match.lastgroup in ("mark", "arrow") else match.lastgroup or "", word))
        if at != len(text):
            raise AOACharacterError(f"Unexpected character {text[at]!r} at column {at + 1}")
        self.words.append(("end", "the end of the statement"))
        self.at = 0

    def next_is(self, kind: str, offset: int = 0) -> bool:
        at = self.at + offset
        return at < len(self.words) and self.words[at][0] == kind

    def take(self, kind: str, wanted: str) -> str:
        got, word = self.words[self.at]
        if got != kind:
            raise AOASyntaxError(f"expected {wanted}, got {word!r} as word {self.at + 1}")
        self.at += 1
        return word

    def skip(self, kind: str) -> bool:
        is_next = self.next_is(kind)
        self.at += is_next
        return is_next

    def statement(self, number: int) -> Statement:
        left = [self.name("a name on the left")]
        while self.skip(","):
            left.append(self.name("a name"))
        self.take("->", "',' or '->'")
        right = [self.name("a name on the right")]
        attrs: dict[str, int | str | bool] = {}
        while self.skip(","):
            if self.next_is("name") and (self.next_is("=", 1) or self.words[self.at][1] in FLAGS):
                key, value = self.attribute()
                if key in attrs:
                    raise AOASyntaxError(f"{key} is given twice")
                attrs[key] = value
            elif attrs:
                raise AOASyntaxError(f"expected an attribute after {list(attrs)[-1]}, got {self.words[self.at][1]!r}")
            else:
                right.append(self.name("a name or an attribute"))
        self.take("end", "',' or the end")
        statement = Statement(number, self.text, tuple(left), tuple(right), attrs)
        _check(statement)
        return statement

    def name(self, wanted: str) -> Name:
        text = self.take("name", wanted)
        span = None
        if self.skip("["):
            try:
                first = _integer(self.take("number", "a number"))
                self.take(":", "':'")
                span = first, _integer(self.take("number", "a number"))
                self.take("]", "']'")
            except AOASyntaxError as error:
                raise AOAAssertionError(f"a list of names is written {text}[START:END]; {error.problem}") from None
            if not 0 <= span[0] < span[1]:
                raise AOAAssertionError(f"{text}[START:END] requires 0 <= START < END, got {span[0]} and {span[1]}")
            if span[1] - span[0] > MOST_NAMES:
                raise AOAAssertionError(
                    f"{text}[START:END] stands for at most {MOST_NAMES} names, got {span[1] - span[0]}"
                )
        return Name(text, self.skip("^T"), span)

    def attribute(self) -> tuple[str, int | str | bool]:
        key = self.take("name", "an attribute")
        if not self.skip("="):
            return key, True
        if key in FLAGS:
            raise AOASyntaxError(f"{key} takes no value")
        if key not in ATTRIBUTES:
            raise AOAError(f"unknown attribute {key}; there are {', '.join((*ATTRIBUTES, *FLAGS))}")
        kind, word = self.words[self.at]
        if kind not in ("number", "string"):
            raise AOASyntaxError(f"expected a number or a quoted string for {key}, got {word!r}")
        self.at += 1
        value = _integer(word) if kind == "number" else word[1:-1]
        if len(word) > LONGEST_VALUE:
            raise AOAError(f"{key} takes a string of at most {LONGEST_VALUE} characters, got {len(word)}")
        if not isinstance(value, ATTRIBUTES[key]):
            wanted = "a number without quotes" if ATTRIBUTES[key] is int else "a quoted string"
            raise AOATypeError(f"{key} takes {wanted}, got {word}")
        return key, value


def _integer(word: str) -> int:
    if len(word) > MOST_DIGITS:
        raise AOASyntaxError(f"a number has at most {MOST_DIGITS} digits, got {len(word)}")
    return int(word)


def _check(s: Statement) -> None:
    """Check all that can be checked before the tensors are known."""
    names = s.left + s.right
    for n in s.right:
        if n.transposed:
            raise AOAError(f"only a name on the left can be transposed; write 'A -> {n.text}' and transpose A: 'A^T'")
    for n in names:
        if n.void and (n.span or n.transposed):
            raise AOASyntaxError("'_' stands for no tensor and has neither ^T nor [a:b]")
        stars = n.text.count("*")
        if stars > 1:
            raise AOAError(f"a name has at most one '*', got {n.text}")
        unknown = re.search(r"\$\w*", SLOT.sub("", n.text))
        if unknown:
            raise AOAError(f"unknown placeholder {unknown.group()} in {n.text}; there are {LAYER}, {OFFSET}, {EXPERT}")
        if s.slots and not n.void and set(SLOT.findall(n.text)) - {STAR} != set(s.slots):
            raise AOAAssertionError(
                f"every name needs the same placeholders, {', '.join(s.slots)}; {n.text} has others"
            )
        if not s.plain and re.search(rf"[0-9](?:{SLOT.pattern})|(?:{SLOT.pattern})(?:[0-9]|{SLOT.pattern})", n.text):
            raise AOAError(f"a placeholder stands for a whole number, it cannot touch a digit or another one: {n.text}")
    if s.left.count(Name("_")) + s.right.count(Name("_")):
        if len(names) != 2 or s.attrs or s.left == s.right:
            raise AOAAssertionError("'_' stands alone on its side: 'a -> _' or '_ -> b', without attributes")
    fused = [f for f in FUSED if f in s.attrs]
    if len(fused) > 1:
        raise AOAAssertionError(f"a statement is one macro, got {' and '.join(fused)}")
    for key in ("dtype", "src_dtype", "dst_dtype"):
        if s.attrs.get(key, "float32") not in CAST_DTYPES:
            raise AOAAssertionError(f"{key} is one of {', '.join(CAST_DTYPES)}, got {s.attrs[key]!r}")
    permute = s.attrs.get("permute")
    if permute is not None and not PERMUTATION.fullmatch(str(permute)):
        raise AOAError(f"permute is written '[1,0]' (or '[]' to reverse all axes), got {permute!r}")
    if "equal" in s.attrs and (fused or "axis" not in s.attrs):
        raise AOAError("equal is said of the parts of a concatenation or a split, beside axis=…")
    if not fused:
        for key in ("num_heads", "num_key_value_groups"):
            if key in s.attrs:
                raise AOAError(f"{key} belongs to fused_qkv and fused_qkv_old")
        pair = {"src_dtype", "dst_dtype"} & set(s.attrs)
        if len(pair) == 1:
            raise AOAError(f"src_dtype and dst_dtype come together, got {pair.pop()} alone")
        if len(set(s.attrs) - {"equal"} - pair) + bool(pair) > 1:
            raise AOAAssertionError(f"at most one attribute, or src_dtype with dst_dtype; got {', '.join(s.attrs)}")


def permutation(text: str) -> tuple[int, ...]:
    """The axes of a ``permute`` attribute."""
    return tuple(int(p) for p in text.strip().strip("[]").split(",") if p.strip())
