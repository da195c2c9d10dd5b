"""Reads the text of a program. Nothing in the text is executed: ops come from a table of known classes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from umiak.ir.expr import Sym, is_number, symbol
from umiak.ir.meta import LONG, Meta
from umiak.ir.program import Block, Operand, Operation, Program, Value, Write, order_class
from umiak.ir.registry import REGISTRY, NotRegistered
from umiak.ir.scope import Check
from umiak.ir.text import CONSTANTS, Reader


class _Parser(Reader):
    def __init__(self, source: str, registry: Mapping[str, Any]) -> None:
        super().__init__(source)
        self.registry = registry
        self.values: dict[str, Value] = {}
        self.orders: dict[str, int] = {}

    # --- attributes, params, metas

    def string(self) -> str:
        text = self.expect_kind("string")
        try:
            return json.loads(text)
        except ValueError as error:
            return self.fail(f"malformed string: {error}")

    def op(self, name: str, attributes: dict[str, Any]) -> Any:
        cls: Any = self.registry.get(name)
        if cls is None:
            self.fail(f"unknown op {name!r}")
        try:
            return cls(**attributes)
        except (TypeError, ValueError) as error:
            return self.fail(f"op {name!r} refuses its attributes: {error}")

    def attribute(self) -> Any:
        token = self.token
        if token.kind == "string":
            return self.string()
        if self.peek("("):
            return self.tuple_of(self.attribute)
        if token.kind == "name" and token.text not in CONSTANTS:
            self.at += 1
            if token.text == "None":
                return None
            if token.text == "complex":
                return self.complex()
            if self.peek("("):
                return self.op(token.text, self.keywords("(", ")"))
            if token.text in LONG:
                return dtype(token.text)
            self.at -= 1
            self.fail("expected an attribute")
        sign = -1 if self.take("-") else 1
        value = self.atom()
        if type(value) is bool and sign == 1:
            return value
        if type(value) not in (int, float):
            self.fail("expected a number")
        return -value if sign < 0 else value

    def complex(self) -> complex:
        self.expect("(")
        real = self.attribute()
        self.expect(",")
        imag = self.attribute()
        self.expect(")")
        return complex(real, imag)

    def tuple_of(self, item: Any) -> tuple:
        self.expect("(")
        self.depth += 1
        if self.depth > self.MAX_DEPTH:
            self.fail("the tuple is nested too deeply")
        out = []
        while not self.take(")"):
            out.append(item())
            if not self.peek(")"):
                self.expect(",")
        self.depth -= 1
        return tuple(out)

    def keywords(self, opening: str, closing: str) -> dict[str, Any]:
        self.expect(opening)
        self.depth += 1
        if self.depth > self.MAX_DEPTH:
            self.fail("the attributes are nested too deeply")
        out: dict[str, Any] = {}
        while not self.take(closing):
            key = self.expect_kind("name")
            if key in out:
                self.fail(f"attribute {key!r} is given twice")
            self.expect("=")
            out[key] = self.attribute()
            if not self.peek(closing):
                self.expect(",")
        self.depth -= 1
        return out

    def is_tuple(self) -> bool:
        """Return whether the parenthesis here opens a tuple: it has a comma or nothing in it. Otherwise it groups."""
        depth = 0
        for at in range(self.at, len(self.tokens)):
            text = self.tokens[at].text if self.tokens[at].kind == "punctuation" else ""
            depth += (text == "(") - (text == ")")
            if depth == 1 and text == ",":
                return True
            if depth == 0:
                return at == self.at + 1
        return False

    def param(self) -> Any:
        token = self.token
        if token.kind == "string":
            return self.string()
        if token.kind == "name" and token.text == "None":
            self.at += 1
            return None
        if token.kind == "name" and token.text == "complex":
            self.at += 1
            return self.complex()
        if self.peek("(") and self.is_tuple():
            return self.tuple_of(self.param)
        value = self.expression()
        return value if is_number(value) else self.fail("expected a number")

    def meta(self) -> Meta:
        name = self.expect_kind("name")
        if name not in LONG:
            self.at -= 1
            self.fail("expected a dtype")
        self.expect("[")
        shape = []
        while not self.take("]"):
            size = self.expression()
            if type(size) is not int and not (type(size) is Sym and size.kind == "int"):
                self.fail("expected an integer size")
            shape.append(size)
            if not self.peek("]"):
                self.expect(",")
        return Meta(tuple(shape), dtype(name))

    # --- values and operations

    def declare(self, name: str, value: Value) -> None:
        if name in self.values:
            self.fail(f"value {name} is defined twice")
        self.values[name] = value

    def operand(self) -> Operand:
        if self.token.kind != "value":
            return self.param()
        name = self.expect_kind("value")
        value = self.values.get(name)
        return value if value is not None else self.fail(f"value {name} is used before it is defined")

    def operands(self, *ends: str) -> list[Operand]:
        out: list[Operand] = []
        while not any(map(self.peek, ends)):
            out.append(self.operand())
            if not any(map(self.peek, ends)):
                self.expect(",")
        return out

    def operation(self) -> Operation:
        names = []
        while self.token.kind == "value":
            names.append(self.expect_kind("value"))
            if not self.take(","):
                self.expect("=")
                break
        name = self.expect_kind("name")
        self.expect("(")
        operands = self.operands(";", ")")
        params = []
        if self.take(";"):
            while not self.peek(")"):
                if self.token.kind == "name" and self.peek("=", 1):
                    self.at += 2
                params.append(self.param())
                if not self.peek(")"):
                    self.expect(",")
        self.expect(")")
        op = self.op(name, self.keywords("{", "}") if self.peek("{") else {})
        metas: list[Meta] = []
        stops: list[bool] = []
        if self.take(":"):
            while not metas or self.take(","):
                metas.append(self.meta())
                # Followed by "stop" and not by an operation of that name.
                stops.append(self.peek("stop") and not self.peek("(", 1) and self.take("stop"))
        if len(metas) != len(names):
            self.fail(f"op {name!r} has {len(names)} results and {len(metas)} types")
        operation = Operation(op, operands, params, metas)
        if self.peek("recompute") and not self.peek("(", 1) and self.take("recompute"):
            operation.recompute = self.region_number()
        if self.take("["):
            operation.regions = tuple(self.regions())
        for value_name, value, stop in zip(names, operation.results, stops, strict=True):
            value.stop = stop
            self.declare(value_name, value)
        cls = order_class(op)
        if cls is not None:
            operation.order = self.orders.get(cls, 0)
            self.orders[cls] = operation.order + 1
        return operation

    def region_number(self) -> int:
        number = self.param()
        return number if type(number) is int and number else self.fail("expected the number of a region")

    def regions(self) -> list[Block]:
        self.depth += 1
        if self.depth > self.MAX_DEPTH:
            self.fail("regions are nested too deeply")
        out = []
        while not self.take("]"):
            if self.expect_kind("name") != "block":
                self.at -= 1
                self.fail("expected a block")
            # Names inside a region are unknown outside of it.
            outer, block = dict(self.values), Block()
            self.expect("(")
            while not self.take(")"):
                name = self.expect_kind("value")
                self.expect(":")
                self.declare(name, block.argument(self.meta()))
                if not self.peek(")"):
                    self.expect(",")
            self.expect("{")
            self.fill(block, "yield")
            self.expect("}")
            self.values = outer
            out.append(block)
        self.depth -= 1
        return out

    def fill(self, block: Block, end: str) -> None:
        while not (self.token.kind == "name" and self.token.text == end):
            block.operations.append(self.operation())
        line = self.token.line
        self.expect(end)
        if self.token.line == line and not self.peek("}"):
            block.outputs.append(self.operand())
            while self.take(","):
                block.outputs.append(self.operand())

    # --- the program

    def bound(self, infinity: str) -> int | None:
        if self.peek("-") and self.peek("inf", 1) and infinity == "-inf":
            self.at += 2
            return None
        if infinity == "inf" and self.take("inf"):
            return None
        return self.integer()

    def declare_symbol(self) -> Sym:
        name = self.expect_kind("name")
        self.expect(":")
        kind = self.expect_kind("name")
        if kind not in ("int", "float", "bool"):
            self.fail(f"a symbol is int, float or bool, not {kind}")
        lo: int | None = None
        hi: int | None = None
        if self.take("in"):
            opening = "(" if self.peek("(") else "["
            self.expect(opening)
            lo = self.bound("-inf")
            self.expect(",")
            hi = self.bound("inf")
            self.expect(")" if hi is None else "]")
        hint = self.attribute() if self.take("hint") else None
        if name in self.symbols:
            self.fail(f"symbol {name} is declared twice")
        try:
            sym = symbol(name, hint, lo, hi, kind)
        except (TypeError, ValueError) as error:
            self.fail(str(error))
        self.symbols[name] = sym
        return sym

    def header(self, program: Program) -> None:
        """Inputs and symbols. The symbols stand last but occur in the inputs' shapes, so they are read first."""
        self.expect("(")
        start, end = self.at, self.closing()
        at = self._semicolon(start, end)
        if at is not None:
            self.at = at + 1
            while self.at < end:
                program.symbols.append(self.declare_symbol())
                if self.at < end:
                    self.expect(",")
        self.at = start
        while self.at < (end if at is None else at):
            name = self.expect_kind("value")
            self.expect(":")
            value = program.body.argument(self.meta())
            self.declare(name, value)
            if self.take("="):
                constant = self.string()
                if constant in program.constants:
                    self.fail(f"constant {constant!r} is bound twice")
                program.constants[constant] = value
            if self.at < (end if at is None else at):
                self.expect(",")
        self.at = end
        self.expect(")")

    def closing(self) -> int:
        """Position of the parenthesis that closes the one just taken."""
        depth = 1
        for at in range(self.at, len(self.tokens)):
            if self.tokens[at].kind != "punctuation":
                continue
            # A range such as [0, inf) closes with a bracket of the other kind: both count as one.
            depth += (self.tokens[at].text in "([") - (self.tokens[at].text in ")]")
            if depth == 0:
                return at
        return self.fail("the header is not closed")

    def _semicolon(self, start: int, end: int) -> int | None:
        return next((i for i in range(start, end) if self.tokens[i].text == ";"), None)

    def program(self) -> Program:
        program = Program()
        self.expect("program")
        if self.token.kind == "string":
            program.name = self.string()
        self.header(program)
        self.expect("{")
        while self.peek("guard"):
            self.at += 1
            program.guards.append(self.condition())
        while self.peek("check"):
            self.at += 1
            condition = self.condition()
            self.expect(",")
            program.checks.append(Check(condition, self.string()))
        self.fill(program.body, "return")
        while self.peek("write"):
            self.at += 1
            target = self.operand()
            if type(target) is not Value:
                self.fail("expected a value to write to")
            self.expect("<-")
            program.effects.append(Write(target, self.operand()))  # type: ignore[arg-type]
        self.expect("}")
        if self.token.kind != "end":
            self.fail("expected the end of the program")
        return program.renumber()

    def condition(self) -> Sym:
        expression = self.expression()
        if type(expression) is not Sym or expression.kind != "bool":
            self.fail(f"expected a condition, read {expression!r}")
        return expression


def dtype(short: str) -> Any:
    from umiak.core.dtype import convert

    return convert(LONG[short])


def parse_attribute(source: str) -> Any:
    """Read the text of a static attribute.

    Raises:
        TextError: text that is none.
    """
    reader = _Parser(source, REGISTRY)
    value = reader.attribute()
    if reader.token.kind != "end":
        reader.fail("expected the end of the attribute")
    return value


def parse(source: str, registry: Mapping[str, Any] | None = None) -> Program:
    """Read a program. ``registry`` maps op names to classes; by default it is the engine's.

    Raises:
        TextError: text that is no program.
        NotRegistered: operators of users that are not in the registry.
    """
    reader = _Parser(source, REGISTRY if registry is None else registry)
    users = {t.text for t in reader.tokens if t.kind == "name" and "::" in t.text}
    if lacking := sorted(users - set(reader.registry)):
        raise NotRegistered(lacking)
    return reader.program()
