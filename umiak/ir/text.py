"""Tokens and grammar of symbolic expressions as text. Reading runs no code."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from umiak.ir import expr
from umiak.ir.expr import Sym


class TextError(ValueError):
    """Text that does not follow the grammar; says where."""


@dataclass(frozen=True)
class Token:
    kind: str  # "number", "name", "string", "value" (%…), "punctuation", "end"
    text: str
    line: int
    column: int


_TOKENS = re.compile(
    r"""(?P<space>[ \t\r]+|\#[^\n]*)
      | (?P<newline>\n)
      | (?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[A-Za-z_][A-Za-z_0-9]*(?:(?:\.|::)[A-Za-z_][A-Za-z_0-9]*)*)
      | (?P<value>[%@][A-Za-z_0-9]+)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<punctuation><-|->|\*\*|//|==|!=|<=|>=|[-+*/%<>=(){}\[\],:;])
    """,
    re.VERBOSE | re.ASCII,
)


def tokens(source: str) -> list[Token]:
    """Return the tokens of a program's text, the last of kind ``end``.

    Raises:
        TextError: the text has a character that begins no token.
    """
    out, at, line, start = [], 0, 1, 0
    while at < len(source):
        match = _TOKENS.match(source, at)
        if match is None:
            raise TextError(f"line {line}, column {at - start + 1}: unexpected character {source[at]!r}")
        kind = match.lastgroup
        if kind == "newline":
            line, start = line + 1, match.end()
        elif kind != "space":
            out.append(Token(kind or "", match.group(), line, at - start + 1))
        at = match.end()
    out.append(Token("end", "", line, at - start + 1))
    return out


class Reader:
    """A cursor over tokens with the expression grammar; the program parser builds on it."""

    MAX_DIGITS = 40  # of an integer
    MAX_POWER = 256  # bits of an integer, or factors
    MAX_DEPTH = 50  # deeper input is refused rather than left to overflow the stack

    def __init__(self, source: str, symbols: Mapping[str, Sym] | None = None) -> None:
        self.tokens = tokens(source)
        self.at = 0
        self.depth = 0
        self.symbols: dict[str, Sym] = dict(symbols or {})

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def fail(self, message: str) -> Any:
        token = self.token
        raise TextError(f"line {token.line}, column {token.column}: {message}, got {token.text or 'the end'!r}")

    def peek(self, text: str, offset: int = 0) -> bool:
        at = self.at + offset
        return at < len(self.tokens) and self.tokens[at].text == text and self.tokens[at].kind != "string"

    def take(self, text: str) -> bool:
        if self.peek(text):
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.take(text):
            self.fail(f"expected {text!r}")

    def expect_kind(self, kind: str) -> str:
        if self.token.kind != kind:
            self.fail(f"expected a {kind}")
        self.at += 1
        return self.tokens[self.at - 1].text

    def integer(self) -> int:
        sign = -1 if self.take("-") else 1
        text = self.expect_kind("number")
        if not text.isdigit():
            self.at -= 1
            self.fail("expected an integer")
        return sign * self.limited_int(text)

    def limited_int(self, digits: str) -> int:
        """An int, of digits that were read."""
        if len(digits) > self.MAX_DIGITS:
            self.at -= 1
            self.fail(f"expected an integer of at most {self.MAX_DIGITS} digits")
        return int(digits)

    # expression := and ("or" and)*, tightest last: not, comparison, sum, term, unary, power, atom

    def expression(self) -> Any:
        self.depth += 1
        if self.depth > self.MAX_DEPTH:
            self.fail("the expression is nested too deeply")
        out = self._chain("or", lambda: self._chain("and", self._negation, expr.conjunction), expr.disjunction)
        self.depth -= 1
        return out

    def _chain(self, word: str, part: Callable[[], Any], join: Callable[..., Any]) -> Any:
        parts = [part()]
        while self.take(word):
            parts.append(part())
        return join(*parts) if len(parts) > 1 else parts[0]

    def _negation(self) -> Any:
        odd = False
        while self.take("not"):
            odd = not odd
        out = self._comparison()
        return expr.negate(out) if odd else out

    def _comparison(self) -> Any:
        left = self._sum()
        for text, function in _COMPARISONS.items():
            if self.take(text):
                return function(left, self._sum())
        return left

    def _sum(self) -> Any:
        return self._left(("+", "-"), self._term)

    def _term(self) -> Any:
        return self._left(("*", "//", "/", "%"), self._unary)

    def _left(self, operators: tuple[str, ...], part: Callable[[], Any]) -> Any:
        out = part()
        while self.token.kind == "punctuation" and self.token.text in operators:
            operator = _ARITHMETIC[self.expect_kind("punctuation")]
            out = self.arithmetic(operator, out, part())
        return out

    def arithmetic(self, operator: Callable[..., Any], *args: Any) -> Any:
        for arg in args:
            if not expr.is_number(arg):
                self.fail(f"arithmetic on {arg!r}")
        try:
            return operator(*args)
        except (ArithmeticError, TypeError, ValueError) as error:
            return self.fail(str(error))

    def _unary(self) -> Any:
        odd = False
        while self.take("-"):
            odd = not odd
        out = self._power()
        if not odd:
            return out
        return -out if type(out) in (int, float) else self.arithmetic(expr.neg, out)

    def _power(self) -> Any:
        base = self.atom()
        if not self.take("**"):
            return base
        exponent = self._exponent()
        bits = max(1, base.bit_length()) if type(base) is int else 1
        if type(exponent) is int and bits * exponent > self.MAX_POWER:
            self.fail("the power is too large")
        return self.arithmetic(expr.power, base, exponent)

    def _exponent(self) -> Any:
        return self.arithmetic(expr.neg, self.atom()) if self.take("-") else self.atom()

    def atom(self) -> Any:
        token = self.token
        if token.kind == "number":
            self.at += 1
            return self.limited_int(token.text) if token.text.isdigit() else float(token.text)
        if self.take("("):
            out = self.expression()
            self.expect(")")
            return out
        if token.kind == "name":
            self.at += 1
            if token.text in CONSTANTS:
                return CONSTANTS[token.text]
            if self.peek("(") and token.text in _FUNCTIONS:
                arguments = self._arguments()
                try:
                    return _FUNCTIONS[token.text](*arguments)
                except (ArithmeticError, TypeError, ValueError) as error:
                    return self.fail(f"{token.text}: {error}")
            symbol = self.symbols.get(token.text)
            if symbol is not None:
                return symbol
            self.at -= 1
            self.fail("unknown symbol")
        return self.fail("expected an expression")

    def _arguments(self) -> list[Any]:
        self.expect("(")
        out: list[Any] = []
        while not self.take(")"):
            out.append(self.expression())
            if not self.peek(")"):
                self.expect(",")
        return out


def parse_expression(source: str, symbols: Mapping[str, Sym]) -> Any:
    """Read an expression; ``symbols`` maps the names that may occur."""
    reader = Reader(source, symbols)
    out = reader.expression()
    if reader.token.kind != "end":
        reader.fail("expected the end of the expression")
    return out


CONSTANTS: dict[str, Any] = {"inf": math.inf, "nan": math.nan, "True": True, "False": False}

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": expr.compare_eq,
    "!=": expr.ne,
    "<=": expr.compare_le,
    "<": expr.compare_lt,
    ">=": lambda a, b: expr.compare_le(b, a),
    ">": lambda a, b: expr.compare_lt(b, a),
}

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": expr.add,
    "-": expr.sub,
    "*": expr.mul,
    "/": expr.truediv,
    "//": expr.floordiv,
    "%": expr.mod,
}


def _fold(op: str) -> Callable[..., Any]:
    return lambda *args: expr.rebuild(op, args)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": _fold("min"),
    "max": _fold("max"),
    "broadcast": _fold("broadcast"),
    "cdiv": expr.cdiv,
    "where": expr.where,
    "float": expr.to_float,
    "int": expr.to_int,
}
