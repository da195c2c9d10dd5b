"""The ambient scope of symbolic code: its assumptions, which are: guards on hints, and checks left to run time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, product
from types import MappingProxyType
from typing import Any

from umiak.ir import expr
from umiak.ir.expr import Bool, ConditionUnknown, DimError, Sym
from umiak.util.errors import Line, shown


@dataclass(frozen=True, eq=False)
class Check:
    """A condition that the running program must test before it computes.

    ``lines``: the place in the user's source that needs it, as tracebacks show it, where that is noted.
    """

    condition: Sym
    message: str
    lines: Sequence[str] = ()

    @property
    def steers(self) -> bool:
        """Has code made it by a branch on a size? The program is another one, or none, where it does not hold."""
        return self.message.startswith((RECORDED_FOR, RAISES))

    def failure(self, values: Mapping[Sym, Any]) -> str:
        """The text of an error where it does not hold for these values of symbols."""
        return failure(self.message, [f"{s.name} = {values[s]}" for s in symbols_of(self.condition)], self.lines)


def failure(message: str, got: Sequence[str], lines: Sequence[str]) -> str:
    """The text of an error for a condition that does not hold."""
    text = f"{message}; got {', '.join(got)}" if got else message
    return "\n".join([f"{text}. The line that needs it:", *lines]) if lines else text


def specialise_zero_one(hint: int) -> bool:
    """Only 0 and 1 become constants: they change broadcasting and emptiness; any other size is one size of many."""
    return hint in (0, 1)


# How messages begin of checks that code has made by a branch on a size.
RECORDED_FOR = "the program was recorded for sizes with"
# ... and of those of sizes for which the code raises an exception.
RAISES = "the code raises"


class Scope:
    """Symbols, guards and checks of one trace.

    ``guards`` are conditions that were true for the hints: a captured program is valid where they hold. ``checks`` are
    conditions on unhinted symbols: the program tests them. ``specialise(hint)`` says which hints become constants.

    ``by_example``: a condition on unhinted symbols which the code branches on is settled as it is for usual sizes, and
    the program tests that it is so. Otherwise such a branch is an error.
    """

    def __init__(
        self,
        prefix: str = "s",
        specialise: Callable[[int], bool] = specialise_zero_one,
        by_example: bool = False,
    ) -> None:
        self.prefix = prefix
        self.specialise = specialise
        self.by_example = by_example
        self.narrows = False  # of a program that was recorded by example: see `_narrowed`
        self.of_plan = False  # of eager calls, which can ask anew what depends on sizes
        self.symbols: list[Sym] = []
        self.guards: list[Sym] = []
        self.checks: list[Check] = []
        self.bound: set[Sym] = set()  # symbols that operations give their values to while the program runs
        self.steered = 0  # how often code has branched on one of these as it is for usual sizes
        self.locate: Callable[[], Line | None] | None = None  # says where the user's source is now
        # Where a condition holds in a part of the program alone: tests it there, and says so.
        self.local: Callable[[Sym, str], bool] | None = None
        # The conditions on sizes under which the part runs that is being recorded: see `within`.
        self.ways: tuple[Sym, ...] = ()
        self._facts: set[Sym] = set()
        self._equal: dict[Sym, Any] = {}
        # By symbol, what is known of it: a symbol of a smaller range, or, there, what it is equal to. It serves to
        # decide conditions alone, so that both ways of a branch have one shape where they can.
        self._narrowed: dict[Sym, Any] = {}
        self._outer: list[Scope | None] = []

    def __enter__(self) -> Scope:
        self._outer.append(get_scope())
        set_scope(self)
        return self

    def __exit__(self, *_: Any) -> None:
        set_scope(self._outer.pop())

    def size(self, hint: int | None = None, lo: int = 0, hi: int | None = None, name: str | None = None) -> Sym | int:
        """A size: the constant itself when the policy specialises the hint, otherwise a new symbol."""
        if hint is not None:
            if self.specialise(hint):
                return hint
            # The specialised values are ruled out for the others, so that `size == 1` needs no guard.
            while lo < hint and self.specialise(lo):
                lo += 1
        return self.symbol("int", hint, lo, hi, name)

    def symbol(
        self,
        kind: str = "int",
        hint: Any = None,
        lo: int | None = None,
        hi: int | None = None,
        name: str | None = None,
    ) -> Sym:
        """A new symbol of this scope; a number that is not a size has no lower bound."""
        out = expr.symbol(name or self._fresh_name(), hint, lo, hi, kind)
        self.symbols.append(out)
        return out

    def number(self, lo: int | None = 0, hi: int | None = None) -> Sym:
        """A new number that an operation gives its value to while the program runs."""
        out = self.symbol("int", lo=lo, hi=hi)
        self.bound.add(out)
        return out

    def _fresh_name(self) -> str:
        taken = {s.name for s in self.symbols}
        n = len(self.symbols)
        while f"{self.prefix}{n}" in taken:
            n += 1
        return f"{self.prefix}{n}"

    def simplify(self, x: Any) -> Any:
        """``x`` under the equalities recorded so far."""
        return substitute(x, self._equal) if self._equal else x

    def decide(self, condition: Bool) -> bool | None:
        """Evaluate a condition as far as it is known, without recording anything."""
        condition = self.simplify(condition)
        if type(condition) is not Sym:
            return bool(condition)
        if condition in self._facts:
            return True
        opposite = expr.negate(condition)
        if type(opposite) is Sym and opposite in self._facts:
            return False
        if condition.op == "or" and any(self.decide(c) for c in condition.args):
            return True
        if condition.op == "and" and all(self.decide(c) for c in condition.args):
            return True
        narrow = self._here(condition)
        return None if type(narrow) is Sym else bool(narrow)

    def known_number(self, value: Sym) -> int | float | None:
        """Return the number or the truth of a value where the part runs that is being recorded; None where it is
        open."""
        known = self._here(self.simplify(value))
        return None if type(known) is Sym else known

    def _here(self, value: Any) -> Any:
        """A simplified value, of symbols as they are known to be where the part runs."""
        if type(value) is not Sym or not self._narrowed:
            return value
        return substitute(substitute(value, self._narrowed), self._narrowed)

    def guard(self, condition: Sym) -> bool:
        """Settle a hinted condition by its hint, and record that the program relies on it."""
        condition = self.simplify(condition)
        value = bool(condition.hint)
        held = condition if value else expr.negate(condition)
        self.guards.append(held)  # type: ignore[arg-type]
        self._assume(held)
        return value

    def check(self, condition: Sym, message: str, lines: Sequence[str] = ()) -> None:
        """Leave a condition to run time. ``lines``: as of :class:`Check`; none: where the user's source is now."""
        condition = self.simplify(condition)
        if self.local is not None and self.local(condition, message):
            self._assume(condition)
            return
        if not lines and self.locate is not None:
            lines = shown(self.locate())
        required = expr.disjunction(*map(expr.negate, self.ways), condition)
        self.checks.append(Check(required, message, lines))  # type: ignore[arg-type]
        self._assume(condition)

    @contextmanager
    def within(self, condition: Sym) -> Iterator[None]:
        """A part of the program that runs where a condition holds, which is known there; what it requires is required
        of sizes for which the condition holds."""
        before = self.ways, set(self._facts), dict(self._equal), dict(self._narrowed), len(self.checks)
        self.ways = (*self.ways, condition)
        self._assume(self.simplify(condition))
        try:
            yield
        finally:
            self.ways, self._facts, self._equal, self._narrowed, n = before
            for check in self.checks[n:]:
                self._assume(check.condition)

    @contextmanager
    def part(self, local: Callable[[Sym, str], bool]) -> Iterator[None]:
        """A part of the program, which may not run: conditions that ``local`` tests there hold nowhere else."""
        before = self.local, set(self._facts), dict(self._equal), dict(self._narrowed), len(self.checks)
        self.local = local
        try:
            yield
        finally:
            self.local, self._facts, self._equal, self._narrowed, n = before
            for check in self.checks[n:]:
                self._assume(check.condition)

    def met(self) -> Callable[[], None]:
        """Note the conditions met so far; a call of the result forgets those met since."""
        guards, checks = len(self.guards), len(self.checks)
        before = self.steered, set(self._facts), dict(self._equal), dict(self._narrowed)

        def back() -> None:
            del self.guards[guards:], self.checks[checks:]
            self.steered, self._facts, self._equal, self._narrowed = before

        return back

    def assume_as_example(self, condition: Sym) -> bool:
        """Settle a condition as it is for the example, and have the program test that it is so."""
        condition = self.simplify(condition)
        value = self._as_example(condition)
        held = condition if value else expr.negate(condition)
        # Sizes may be declared; what data decide may not.
        other = (
            "Declare the size, write the condition as an if statement of the function itself, of which both ways are "
            "recorded, as they are not of one in a comprehension of a dict or in a library, or record another program"
        )
        if not self.bound.isdisjoint(symbols_of(condition)):
            self.steered += 1
            other = "Data decide it: write the branch as paddle.static.nn.cond, the loop as while_loop"
        self.check(held, f"{RECORDED_FOR} {held}. {other}")  # type: ignore[arg-type]
        return bool(value)

    def _as_example(self, condition: Sym) -> bool:
        """Return what a condition is for usual sizes out of those for which the part runs that is being recorded."""
        steering = symbols_of(self.ways)
        if steering.keys().isdisjoint(symbols_of(condition)):
            return as_example(condition)
        choices = [_candidates(self._narrowed.get(s, s)) for s in steering]
        for sizes in islice(product(*choices), _MOST_EXAMPLES):
            given = dict(zip(steering, sizes, strict=True))
            if all(as_example(w, given) for w in self.ways):
                return as_example(condition, given)
        return as_example(condition)

    def know(self, condition: Bool) -> None:
        """Take for granted what holds by the way the program is made: nothing tests it."""
        self._assume(self.simplify(condition))

    def assume_guard(self, condition: Sym) -> None:
        """Take over a guard that was recorded before."""
        self.guards.append(condition)
        self._assume(condition)

    def assume_check(self, check: Check) -> None:
        """Take over a check that was recorded before."""
        self.checks.append(check)
        self._assume(check.condition)

    def _assume(self, condition: Any) -> None:
        if type(condition) is not Sym:
            return
        self._facts.add(condition)
        if self.ways:
            for fact in [f for f in self._facts if f.op == "or"]:
                self._conclude(fact)
        if condition.op == "or":
            self._conclude(condition)
        if condition.op == "and":
            for part in condition.args:
                self._assume(self.simplify(part))  # the parts before it may have been equalities
        if self.ways or self.by_example or self.narrows:
            self._narrow(condition)
        if self.ways:
            return
        if condition.op != "eq" or any(expr.kind_of(a) == "float" for a in condition.args):
            return
        left, right = condition.args
        # The later symbol gives way to the earlier one, and any symbol to a number.
        for old, new in ((right, left), (left, right)):
            if type(old) is Sym and old.op == "symbol" and old not in symbols_of(new):
                self._equal = {k: substitute(v, {old: new}) for k, v in self._equal.items()}
                self._equal[old] = new
                self._facts |= {f for fact in self._facts if type(f := substitute(fact, {old: new})) is Sym}
                return
        for wide, size in ((right, left), (left, right)):
            parts = wide.args if type(wide) is Sym and wide.op == "broadcast" else ()
            others = [n for n in parts if n is not size]
            if len(parts) == 2 and len(others) == 1:
                self._equal[wide] = size
                self._assume(expr.disjunction(expr.compare_eq(others[0], size), expr.compare_eq(others[0], 1)))

    def _conclude(self, fact: Sym) -> None:
        """Of several conditions one holds: assume it where the others are known not to."""
        left = [c for c in fact.args if expr.negate(c) not in self._facts]
        if len(left) == 1 and left[0] not in self._facts:
            self._assume(self.simplify(left[0]))

    def _narrow(self, condition: Sym) -> None:
        """Note what a condition says of a symbol."""
        if condition.op not in ("le", "ne", "eq") or not any(_is_size(a) for a in condition.args):
            return
        a, b = condition.args
        if condition.op == "eq":
            if not self.ways:
                return  # all is written with what is equal
            old, new = (b, a) if _is_size(b) else (a, b)
            if old not in symbols_of(new) and expr.kind_of(new) == "int":
                self._narrowed[old] = new
            return
        symbol, n = (a, b) if _is_size(a) else (b, a)
        now = self._narrowed.get(symbol, symbol)
        if type(n) is not int or not _is_size(now):
            return
        lo, hi = now.lo, now.hi
        if condition.op == "ne":
            lo, hi = lo + (lo == n), hi - (hi == n)
        else:
            lo, hi = (lo, min(hi, n)) if symbol is a else (max(lo, n), hi)
        if lo <= hi:
            bounds = (None if lo == -expr.INF else int(lo)), (None if hi == expr.INF else int(hi))
            self._narrowed[symbol] = expr.symbol(now.name, now.hint, *bounds)


def _is_size(x: Any) -> bool:
    return type(x) is Sym and x.op == "symbol" and x.kind == "int"


class _Slot(threading.local):
    scope: Scope | None = None


_slot = _Slot()


def _get() -> Scope | None:
    return _slot.scope


def _set(scope: Scope | None) -> None:
    _slot.scope = scope


# Slots: the engine keeps its ambient state in one context object and installs its own pair at start-up.
_getter: Callable[[], Scope | None] = _get
_setter: Callable[[Scope | None], None] = _set


def install(getter: Callable[[], Scope | None], setter: Callable[[Scope | None], None]) -> None:
    """Say where the current scope is kept."""
    global _getter, _setter
    _getter, _setter = getter, setter


def get_scope() -> Scope | None:
    """The current scope, or None outside of any trace."""
    return _getter()


def set_scope(scope: Scope | None) -> None:
    _setter(scope)


def require_scope(condition: Any) -> Scope:
    """Return the scope of the trace that is running.

    Raises:
        RuntimeError: nothing is being traced.
    """
    scope = get_scope()
    if scope is None:
        raise RuntimeError(
            f"the condition {condition} on symbolic sizes was met outside of any trace: nothing can hold it"
        )
    return scope


def symbols_of(x: Any) -> dict[Sym, None]:
    """The symbols in an expression or a nested tuple, in order of first occurrence."""
    symbols: dict[Sym, None] = {}
    seen: set[int] = set()

    def visit(node: Any) -> None:
        if isinstance(node, (tuple, list)):
            for item in node:
                visit(item)
        elif type(node) is Sym and id(node) not in seen:
            seen.add(id(node))
            if node.op == "symbol":
                symbols[node] = None
            else:
                for arg in node.args:
                    visit(arg)

    visit(x)
    return symbols


def without_zero_divisors(x: Any) -> Any:
    """The same number where it is one: integers are divided by 1 in place of 0."""
    if type(x) is not Sym or x.op == "symbol":
        return x
    args = tuple(map(without_zero_divisors, x.args))
    if x.op in ("floordiv", "mod", "cdiv"):
        divisor = args[1]
        if type(divisor) is Sym and divisor.lo <= 0 <= divisor.hi:
            args = args[0], expr.where(expr.compare_eq(divisor, 0), 1, divisor)
    return x if all(a is b for a, b in zip(args, x.args, strict=True)) else expr.rebuild(x.op, args)


def substitute(x: Any, mapping: dict[Sym, Any]) -> Any:
    """Replace symbols, or whole nodes (all at once) in an expression or a nested tuple, simplifying again."""
    memo: dict[int, Any] = {}

    def visit(node: Any) -> Any:
        if type(node) is tuple:
            return tuple(visit(item) for item in node)
        if type(node) is not Sym:
            return node
        done = memo.get(id(node))
        if done is None:
            if (done := mapping.get(node)) is not None:
                pass
            elif node.op == "symbol":
                done = node
            else:
                args = tuple(visit(a) for a in node.args)
                same = all(a is b for a, b in zip(args, node.args, strict=True))
                done = node if same else expr.rebuild(node.op, args)
            memo[id(node)] = done
        return done

    return visit(x)


# A size that stands for most: neither 0 nor 1, and divided by what sizes are usually divided by.
EXAMPLE = 5040


_MOST_EXAMPLES = 4096  # combinations of sizes that are tried


def _candidates(size: Any) -> list[int]:
    """Sizes in the range of a symbol, from the usual ones to those that are none; a number alone."""
    if type(size) is int:
        return [size]
    ends = [int(n) + i for n in (size.lo, size.hi) if abs(n) != expr.INF for i in (0, 1, -1, 2, -2)]
    those = [EXAMPLE, *range(EXAMPLE + 1, EXAMPLE + 4), 7, 6, 5, 4, 3, 2, *ends, 1, 0]
    return [n for n in dict.fromkeys(those) if size.lo <= n <= size.hi]


def as_example(condition: Bool, given: Mapping[Sym, int] = MappingProxyType({})) -> bool:
    """Return what a condition is where all sizes are the example, but those that are ``given``."""
    value = substitute(condition, {**dict.fromkeys(symbols_of(condition), EXAMPLE), **given})
    if type(value) is Sym:
        raise TypeError(f"the condition {condition} is not known while the program is built")
    return bool(value)


def usually(condition: Bool) -> bool:
    """A condition as far as it is known, guarded by hints, or as it is for usual sizes: for what only sizes that are
    out of the ordinary change, and harmlessly. Nothing is left to run time."""
    if type(condition) is not Sym:
        return bool(condition)
    scope = get_scope()
    known = None if scope is None else scope.decide(condition)
    if known is None and condition.hinted:
        return require_scope(condition).guard(condition)
    return as_example(condition) if known is None else known


def truth(condition: Sym) -> bool:
    """``bool(condition)``: known, or settled by a guard; without hints it is an error, not a guess."""
    scope = get_scope()
    if scope is not None and (known := scope.decide(condition)) is not None:
        return known
    if condition.hinted:
        return require_scope(condition).guard(condition)
    if scope is not None and scope.by_example:
        return scope.assume_as_example(condition)
    raise ConditionUnknown(
        f"the condition {condition} is not known while the program is built, because its sizes have no hint. "
        "Instead of `if a == b:` write sym.require(a == b, message) to test it at run time, "
        "or sym.where(a == b, x, y) to choose a value at run time",
        condition,
    )


def settle(condition: Bool, message: str, lines: Sequence[str] = ()) -> bool:
    """The three regimes of seam 8: evaluate, guard by hint, or leave a run-time check and go on.

    ``lines``: as of :class:`Check`.
    """
    if type(condition) is not Sym:
        return bool(condition)
    scope = require_scope(condition)
    known = scope.decide(condition)
    if known is not None:
        return known
    if condition.hinted:
        return scope.guard(condition)
    scope.check(condition, message, lines)
    return True


def require(condition: Bool, message: str) -> None:
    """Require a condition: raise now, guard, or check at run time."""
    if not settle(condition, message):
        raise DimError(message)


def _number_here(value: Sym) -> int | float | None:
    scope = get_scope()
    return None if scope is None else scope.known_number(value)


expr.decide_truth = truth
expr.number_here = _number_here
