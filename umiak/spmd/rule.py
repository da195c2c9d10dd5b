"""Sharding rules of ops, parsed from their ``shard`` strings: ``i k, k j -> i j ; k=sum``.

A *factor* is a name that dims share; dims of one factor are sharded alike. ``docs/design/spmd.md`` has the grammar.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops import Op
from umiak.spmd.placement import KINDS, divides_evenly

REPLICATED = "replicated"
SAME = "same"
NONEMPTY = "nonempty"
FIXED = "1"
NAME = re.compile(r"1|[a-z]\w*")


@dataclass(frozen=True)
class Factor:
    """A factor and the dims that have it.

    Attributes:
        operands, results: the dims, as (index of the tensor, dim).
        reduction: how partial results combine in the results that lack the factor; ``same`` where these do not depend
            on it; ``replicated`` where it must not be sharded; None where every result has it, or where no operand has
            it (the op creates such a dim).
        nonempty: no shard may be empty.
    """

    name: str
    operands: tuple[tuple[int, int], ...]
    results: tuple[tuple[int, int], ...]
    reduction: str | None
    nonempty: bool

    @property
    def is_new(self) -> bool:
        return not self.operands


@dataclass(frozen=True)
class Rule:
    """The factors of each dim of the operands and results of a call; ``1`` for a dim that is not sharded."""

    op: str
    operands: tuple[tuple[str, ...], ...]
    results: tuple[tuple[str, ...], ...]
    reduction: tuple[tuple[str, str], ...]
    nonempty: frozenset[str] = frozenset()

    @functools.cached_property
    def factors(self) -> dict[str, Factor]:
        """Factors by name, in the order in which the string mentions them."""
        reduction = dict(self.reduction)
        places: dict[str, tuple[list, list]] = {}
        for side, tensors in enumerate((self.operands, self.results)):
            for i, names in enumerate(tensors):
                for d, name in enumerate(names):
                    if name != FIXED:
                        places.setdefault(name, ([], []))[side].append((i, d))
        return {f: Factor(f, tuple(a), tuple(b), reduction.get(f), f in self.nonempty) for f, (a, b) in places.items()}

    def lacking(self, factor: str) -> tuple[int, ...]:
        """The results that a factor is reduced in."""
        return tuple(i for i, names in enumerate(self.results) if factor not in names)


def refuse(op: str, required: str, text: str, hint: str = "") -> Any:
    raise ValueError(f"[{op}] requires a shard string {required}, got {text!r}" + (f". {hint}" if hint else ""))


@functools.lru_cache(4096)
def parse(op: str, text: str, operands: int) -> Rule:
    """Parse the shard string of an op that takes ``operands`` operands."""
    head, _, tail = text.partition(";")
    left, arrow, right = head.partition("->")
    if not arrow or "->" in right:
        refuse(op, "with one arrow between operands and results", text)
    sides = []
    for side, part in (("operands", left), ("results", right)):
        names = tuple(tuple(one.split()) for one in part.split(","))
        odd = [n for one in names for n in one if not NAME.fullmatch(n)]
        if odd:
            refuse(op, f"of factors named like a or k0, or 1, for its {side}", text, f"Odd: {', '.join(odd)}.")
        sides.append(names)
    lists = () if not operands and sides[0] == ((),) else sides[0]
    if len(lists) != operands:
        refuse(op, f"for {operands} operands", text)
    reduction: dict[str, str] = {}
    nonempty = set()
    words = (*KINDS, SAME, REPLICATED)
    for word in tail.split():
        name, equals, kinds = word.partition("=")
        for kind in kinds.split(","):
            if kind == NONEMPTY:
                nonempty.add(name)
                continue
            if not equals or kind not in words:
                refuse(op, "that ends in words like k=sum", text, f"Words are {', '.join((*words, NONEMPTY))}.")
            if name in reduction:
                refuse(op, f"that says once how {name} is reduced", text)
            reduction[name] = kind
    rule = Rule(op, lists, sides[1], tuple(reduction.items()), frozenset(nonempty))
    _check(rule, text)
    return rule


def _check(rule: Rule, text: str) -> None:
    for name in (*dict(rule.reduction), *sorted(rule.nonempty)):
        if name not in rule.factors:
            refuse(rule.op, f"that names {name} among its dims", text)
    for f in rule.factors.values():
        lacking = rule.lacking(f.name)
        if f.reduction is None and f.operands and lacking:
            refuse(rule.op, f"that says how {f.name} is reduced, which result {lacking[0]} lacks", text)
        if f.reduction not in (None, REPLICATED) and not (f.operands and lacking):
            refuse(rule.op, f"that reduces a factor which operands have and a result lacks, unlike {f.name}", text)
        if f.reduction != REPLICATED:
            for names in (*rule.operands, *rule.results):
                if names.count(f.name) > 1:
                    refuse(rule.op, f"whose factors that stand twice in a tensor are replicated, unlike {f.name}", text)


def unsharded(op: str, operands: Sequence[Meta | None], results: Sequence[Meta]) -> Rule:
    """Return the rule of an op without ``shard``: all dims are replicated."""
    shapes = [() if m is None else tuple(m.shape) for m in operands]
    return Rule(op, tuple((FIXED,) * len(s) for s in shapes), tuple((FIXED,) * len(m.shape) for m in results), ())


@dataclass(frozen=True)
class Call:
    """An op's rule bound to the sizes of one call: decides into how many shards each factor may be split."""

    op: Op
    params: tuple
    rule: Rule
    operands: tuple[Meta | None, ...]
    results: tuple[Meta, ...]

    @functools.cached_property
    def sizes(self) -> dict[str, tuple]:
        """The sizes of the dims of each factor: one, as a rule; multiples of each other where heads are grouped, or
        elements repeated."""
        extents: dict[str, list] = {f: [] for f in self.rule.factors}
        for names, one in [*zip(self.rule.operands, self.operands), *zip(self.rule.results, self.results)]:
            for name, n in zip(names, () if one is None else one.shape, strict=True):
                if name != FIXED and not any(dim.same(n, m) for m in extents[name]):
                    extents[name].append(n)
        return {f: tuple(sizes) for f, sizes in extents.items()}

    def allows(self, factor: str, *parts: int) -> bool:
        """Return whether a factor may be split into ``parts`` shards, one number per mesh axis, the outermost first."""
        f, sizes, total = self.rule.factors[factor], self.sizes[factor], 1
        if f.reduction == REPLICATED:
            return False
        for n in parts:
            total *= n
        if len(sizes) > 1 or f.reduction == "avg":
            return all(divides_evenly(n, total) for n in sizes) and not (f.nonempty and 0 in sizes)
        # An extremum or a product of nothing is refused, or says nothing that combines with the others.
        return (f.reduction in (None, SAME, "sum") and not f.nonempty) or all(_nonempty(n, parts) for n in sizes)


def _nonempty(size: Any, parts: Sequence[int]) -> bool:
    """Return whether no shard is empty: it suffices that the last ones, which are the smallest, are not."""
    if not isinstance(size, int):
        return False
    for n in parts:
        each = -(-size // n)
        size -= (n - 1) * each
    return size > 0


def call(op: Op, operands: Sequence[Meta | None], params: Sequence[Any] = ()) -> Call:
    """Bind the rule of ``op`` to the sizes of ``operands``."""
    inferred = op.infer(*operands, *params)
    results = inferred if isinstance(inferred, tuple) else (inferred,)
    if op.shard is None:
        return Call(op, tuple(params), unsharded(op.name, operands, results), tuple(operands), results)
    text = op.shard(*operands, *params)
    rule = parse(op.name, text, len(operands))
    if len(rule.results) != len(results):
        refuse(op.name, f"for {len(results)} results", text)
    for side, lists, metas in (("operand", rule.operands, operands), ("result", rule.results, results)):
        for i, (names, m) in enumerate(zip(lists, metas, strict=True)):
            rank = 0 if m is None else len(m.shape)
            if len(names) != rank:
                refuse(op.name, f"with {rank} factors for {side} {i}, of shape {() if m is None else m.shape}", text)
    bound = Call(op, tuple(params), rule, tuple(operands), results)
    for name, sizes in bound.sizes.items():
        known = [n for n in sizes if isinstance(n, int)]
        if rule.factors[name].reduction != REPLICATED and len(known) > 1 and max(known) % max(min(known), 1):
            refuse(op.name, f"whose dims of one factor have sizes that divide each other, unlike {name}: {known}", text)
    return bound
