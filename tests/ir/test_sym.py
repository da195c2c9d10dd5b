"""Symbolic scalars: every simplification keeps the value, text and lowered code agree with the node."""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
import random
from typing import Any

import pytest

from umiak.ir import expr
from umiak.ir import sym as dim
from umiak.ir.sym import Scope, Sym
from umiak.ir.text import parse_expression

NAMES = "abc"


def symbols(lo: int = 0) -> dict[str, Sym]:
    return {n: dim.symbol(n, lo=lo) for n in NAMES}


def random_int(rng: random.Random, env: dict[str, Sym], depth: int):
    """A node and the same expression as a Python function of the values."""
    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.3:
            c = rng.choice([0, 1, 2, 3, 4, 8, -1, -3])
            return c, lambda v: c
        n = rng.choice(list(env))
        return env[n], lambda v: v[n]
    (x, fx), (y, fy) = random_int(rng, env, depth - 1), random_int(rng, env, depth - 1)
    d = rng.choice([1, 2, 3, 4, 8])
    choices = [
        (lambda: x + y, lambda v: fx(v) + fy(v)),
        (lambda: x - y, lambda v: fx(v) - fy(v)),
        (lambda: x * y, lambda v: fx(v) * fy(v)),
        (lambda: x * d, lambda v: fx(v) * d),
        (lambda: x // d, lambda v: fx(v) // d),
        (lambda: x % d, lambda v: fx(v) % d),
        (lambda: dim.cdiv(x, d), lambda v: -(-fx(v) // d)),
        (lambda: dim.cdiv(x, dim.maximum(y, 1)), lambda v: -(-fx(v) // max(fy(v), 1))),
        (lambda: x // dim.maximum(y, 1), lambda v: fx(v) // max(fy(v), 1)),
        (lambda: x % dim.maximum(y, 2), lambda v: fx(v) % max(fy(v), 2)),
        (lambda: dim.maximum(x, y), lambda v: max(fx(v), fy(v))),
        (lambda: dim.minimum(x, y), lambda v: min(fx(v), fy(v))),
        (lambda: dim.where(x < y, x, d), lambda v: fx(v) if fx(v) < fy(v) else d),
        (lambda: dim.where(expr.compare_eq(x, y), d, y), lambda v: d if fx(v) == fy(v) else fy(v)),
        (lambda: -x, lambda v: -fx(v)),
        (lambda: x**2, lambda v: fx(v) ** 2),
    ]
    build, meaning = rng.choice(choices)
    return build(), meaning


def all_values(limit: int = 4):
    return [dict(zip(NAMES, v, strict=True)) for v in itertools.product(range(limit), repeat=len(NAMES))]


@pytest.mark.parametrize("seed", range(120))
def test_simplification_keeps_the_value(seed: int) -> None:
    rng, env = random.Random(seed), symbols()
    x, meaning = random_int(rng, env, 4)
    linear = dim.linearise([x], list(env.values()))
    for v in all_values():
        assert dim.evaluate(x, v) == meaning(v), x
        assert linear.run([v[n] for n in NAMES]) == (meaning(v),), x
        lo, hi = expr.bounds(x)
        assert lo <= meaning(v) <= hi, x


@pytest.mark.parametrize("seed", range(120))
def test_text_and_pickle_give_the_same_object(seed: int) -> None:
    rng, env = random.Random(seed), symbols()
    x, _ = random_int(rng, env, 4)
    assert parse_expression(repr(x), env) is x or (x == parse_expression(repr(x), env) and type(x) is int)
    assert pickle.loads(pickle.dumps(x)) is x or type(x) is int
    assert copy.deepcopy(x) is x or type(x) is int


@pytest.mark.parametrize("seed", range(80))
def test_conditions_keep_their_truth_value(seed: int) -> None:
    rng, env = random.Random(seed), symbols()
    (x, fx), (y, fy) = random_int(rng, env, 3), random_int(rng, env, 3)
    pairs = [
        (expr.compare_eq(x, y), lambda v: fx(v) == fy(v)),
        (expr.ne(x, y), lambda v: fx(v) != fy(v)),
        (expr.compare_le(x, y), lambda v: fx(v) <= fy(v)),
        (expr.compare_lt(x, y), lambda v: fx(v) < fy(v)),
    ]
    pairs += [(expr.negate(c), lambda v, f=f: not f(v)) for c, f in pairs]
    pairs.append((expr.disjunction(pairs[0][0], pairs[3][0]), lambda v: fx(v) <= fy(v)))
    pairs.append((expr.conjunction(pairs[1][0], pairs[2][0]), lambda v: fx(v) < fy(v)))
    for condition, meaning in pairs:
        linear = dim.linearise([condition], list(env.values()))
        for v in all_values():
            assert dim.evaluate(condition, v) == meaning(v), condition
            assert linear.run([v[n] for n in NAMES]) == (meaning(v),)
        if type(condition) is Sym:
            assert parse_expression(repr(condition), env) is condition


@pytest.mark.parametrize("seed", range(60))
def test_float_expressions_give_the_bits_of_the_written_order(seed: int) -> None:
    rng = random.Random(seed)
    p, q = dim.symbol("p", kind="float"), dim.symbol("q", kind="float")

    def build(x, y, depth):
        if depth == 0:
            return rng.choice([x, y, 0.5, 1, 2.0, -3])
        a, b = build(x, y, depth - 1), build(x, y, depth - 1)
        return rng.choice([lambda: a + b, lambda: a - b, lambda: a * b, lambda: -a])()

    state = rng.getstate()
    x = build(p, q, 4)
    linear = dim.linearise([x], [p, q])
    for vp, vq in [(0.1, 0.7), (-1e300, 3.0), (0.0, -0.0)]:
        rng.setstate(state)
        expected = build(vp, vq, 4)
        assert repr(float(dim.evaluate(x, {p: vp, q: vq}))) == repr(float(expected))
        assert repr(float(linear.run([vp, vq])[0])) == repr(float(expected))
    assert parse_expression(repr(x), {"p": p, "q": q}) is x or type(x) is not Sym


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor])
def test_bits_of_integers_are_those_of_numbers(op: Any) -> None:
    n = dim.symbol("n", lo=None)
    for mask in (0, 1, 3, 5, 12, 170, -1, -2, -6, -256, True):
        for expression, swapped in ((op(n, mask), False), (op(mask, n), True)):
            for value in (0, 1, 2, 7, 12345, -1, -7, -100, 2**40 + 5):
                expected = op(mask, value) if swapped else op(value, mask)
                assert dim.evaluate(expression, {n: value}) == expected
    with pytest.raises(TypeError, match="requires a number on one side"):
        op(n, n + 1)


def test_shifts_and_complements_are_those_of_numbers() -> None:
    n = dim.symbol("n", lo=None)
    for value in (0, 1, 77, -5):
        env = {n: value}
        assert dim.evaluate((~n, n << 5, n >> 3), env) == (~value, value << 5, value >> 3)
        assert dim.evaluate((n / 2).is_integer(), env) == (value / 2).is_integer()
    with pytest.raises(ValueError, match="negative shift count"):
        n << -1
    for shift in (lambda: 1 << n, lambda: 8 >> n, lambda: n << n):
        with pytest.raises(TypeError, match=r"a shift of \S+ requires a count that is a number, got n, which depends"):
            shift()


def test_equal_sizes_are_one_object() -> None:
    a, b, c = symbols().values()
    assert a + b is b + a and a * b * c is c * (b * a)
    assert (a * b) // b is a and (a * b) // a is b
    assert ((a + b) * 8 * c) // (8 * (a + b)) is c
    assert (a - b) * (c - a) is (b - a) * (a - c)
    assert 8 * a + 8 * b is 8 * (a + b) and (8 * a + 8 * b) // 8 is a + b
    assert a - b + b is a and a * 1 is a and a + 0 is a and a // 1 is a
    assert a * 0 == 0 and type(a * 0) is int
    assert (16 * a + 3) // 8 is 2 * a and (16 * a + 3) % 8 == 3
    assert dim.cdiv(8 * a, 8) is a and (a // 2) // 3 is a // 6
    assert dim.maximum(a, a) is a and dim.maximum(a, 0) is a and dim.minimum(a, a + 1) is a
    assert dim.maximum(dim.maximum(a, b), a) is dim.maximum(b, a)
    assert dim.same((a + b) * c, a * c + b * c)


def test_names_of_equal_numbers_are_several_sizes() -> None:
    """Keys of sums and of remembered results: where two are taken for equal, comparing them does not end."""
    names = ["x1", "x01", "x001", "x1_0", "x01_0"]
    sizes = [dim.symbol(name) for name in names]
    assert len({s.order for s in sizes}) == len({hash(s) for s in sizes}) == len(names)
    assert [str(-s) for s in sizes] == [f"-{name}" for name in names]
    assert sizes[0] + sizes[1] is sizes[1] + sizes[0]


def test_ranges_decide_without_a_scope() -> None:
    a = dim.symbol("a", lo=2, hi=7)
    assert (a >= 2) is True and (a < 2) is False and expr.compare_eq(a, 9) is False
    assert (2 * a == 7) is False and a % 8 is a and a // 8 == 0
    assert a != "text" and (a == None) is False  # noqa: E711


def test_symbolic_values_refuse_to_become_numbers() -> None:
    a = dim.symbol("a")
    with pytest.raises(TypeError, match="no fixed number"):
        range(a)
    with pytest.raises(TypeError, match="no fixed number"):
        float(a)
    assert dim.known(a) is None and dim.known(3) == 3


def test_concrete_sizes_evaluate() -> None:
    assert dim.eq(3, 3) and not dim.eq(3, 4) and dim.le(3, 3) and not dim.lt(3, 3)
    assert dim.broadcast(1, 5) == 5 and dim.broadcast(5, 1) == 5 and dim.broadcast(0, 1) == 0
    with pytest.raises(dim.DimError, match="2 and 3 do not broadcast"):
        dim.broadcast(2, 3)
    with pytest.raises(dim.DimError, match="rows"):
        dim.require(3 < 2, "rows")
    assert dim.product((2, 3, 4)) == 24 and dim.product(()) == 1


def test_hints_record_guards() -> None:
    scope = Scope()
    x, y, one = scope.size(hint=5), scope.size(hint=7), scope.size(hint=1)
    assert one == 1 and len(scope.symbols) == 2
    with scope:
        assert not dim.eq(x, 1) and not scope.guards  # ruled out by the range
        assert not dim.eq(x, y) and dim.le(x, y) and bool(x < y)
        assert [str(g) for g in scope.guards] == ["s0 != s1", "s0 <= s1", "s0 + 1 <= s1"]
        assert dim.broadcast(x, 1) is x and dim.broadcast(x, x) is x
        assert dim.eq(x, 5) and dim.known(x) == 5
        with pytest.raises(dim.DimError):
            dim.broadcast(x, y)
        with pytest.raises(dim.DimError, match="too long"):
            dim.require(y <= 6, "too long")
        assert not scope.checks


def test_without_hints_checks_are_left_to_run_time() -> None:
    scope = Scope()
    a, b, c = (scope.size() for _ in range(3))
    with scope:
        with pytest.raises(TypeError, match="no hint"):
            bool(expr.compare_eq(a, b))
        assert dim.eq(a, b) and dim.eq(b, a) and len(scope.checks) == 1
        assert bool(expr.compare_eq(a, b))  # now a fact
        assert dim.same(a * c, c * b) and not dim.same(a, c)
        out = dim.broadcast(b, c)
        dim.require(c <= 9, "c is small")
        assert not dim.eq(a, -1)
        assert all(c.lines == () for c in scope.checks)
    linear = dim.linearise([out], scope.symbols, scope.checks)
    assert linear.run([3, 3, 1]) == (3,) and linear.run([1, 1, 4]) == (4,) and linear.run([0, 0, 1]) == (0,)
    for values, message in [((3, 4, 1), "s0 == s1"), ((3, 3, 2), "do not broadcast"), ((1, 1, 10), "c is small")]:
        with pytest.raises(dim.DimError, match=message):
            linear.run(values)


def test_what_is_required_tells_sizes_that_broadcast() -> None:
    """A size that is 1 or another one gives the other; several equalities of one condition are one size."""
    scope = Scope()
    a, b, c, d = (scope.size() for _ in range(4))
    with scope:
        dim.require(expr.conjunction(expr.compare_eq(a, b), expr.compare_eq(b, c)), "one size")
        assert dim.same(a, c) and dim.same(b, c)
        assert not dim.expands(d, a) and not dim.same(dim.broadcast(d, 1), a)
        assert dim.one_of(d, c, 1)
        before = len(scope.checks)
        assert dim.expands(d, a) and not dim.expands(a, d)
        assert dim.same(dim.broadcast(d, b), a) and dim.same(dim.broadcast(b, d), a)
        assert len(scope.checks) == before
        e, f = scope.size(), scope.size()
        assert dim.where(e == 1, f, e).op == "select"  # they may not fit
        both = dim.broadcast(e, f)
        assert dim.where(e == 1, f, e) is dim.where(f == 1, e, f) is both and dim.where(e == 1, e, f) is not both


def test_a_size_that_broadcasts_to_one_of_two_is_that() -> None:
    scope = Scope()
    a, b, c = (scope.size() for _ in range(3))
    with scope:
        both = dim.broadcast(a, b)
        assert dim.eq(both, b)
        assert dim.same(both, b) and dim.same(both * c, c * b) and not dim.same(both, a)
        assert dim.expands(a, b) and not dim.expands(b, a)


def test_one_of_several_sizes_is_one_condition() -> None:
    assert dim.one_of(3, 1, 3) and not dim.one_of(2, 1, 3) and not dim.one_of(2)
    scope = Scope()
    x, y = scope.size(hint=5), scope.size(hint=7)
    with scope:
        assert dim.one_of(x, 1, x) and not scope.guards
        assert dim.one_of(x, y, 5) and not dim.one_of(x, 1, y)
    scope = Scope()
    scope.locate = lambda: ("net.py", 7, "forward")
    a, b = (scope.size() for _ in range(2))
    with scope:
        assert dim.one_of(a, 1, b) and dim.one_of(a, 1, b) and not dim.one_of(a, -1)
    (check,) = scope.checks
    assert [dim.evaluate(check.condition, {a: n, b: 4}) for n in (1, 4, 3)] == [True, True, False]
    text = check.failure({a: 3, b: 4})
    assert text.startswith("requires s0 to be 1 or s1; got s0 = 3, s1 = 4. The line that needs it:\n")
    assert 'File "net.py", line 7, in forward' in text


def test_a_condition_outside_of_any_scope_is_refused() -> None:
    a, b = dim.symbol("a"), dim.symbol("b")
    with pytest.raises(RuntimeError, match="outside of any trace"):
        dim.eq(a, b)


def test_scopes_nest_and_their_home_is_replaceable() -> None:
    outer, inner = Scope(), Scope()
    with outer:
        with inner:
            assert dim.get_scope() is inner
        assert dim.get_scope() is outer
    home: list = [None]
    dim.install(lambda: home[0], lambda scope: home.__setitem__(0, scope))
    try:
        with outer:
            assert home == [outer]
        assert home == [None]
    finally:
        from umiak.ir import scope as module

        dim.install(module._get, module._set)


def test_equal_work_is_lowered_once() -> None:
    a, b, _ = symbols().values()
    linear = dim.linearise([a * b + 1, a * b + 2, (a * b + 1) // (b + 1)], [a, b])
    assert [i.opcode.name for i in linear.code].count("MUL") == 1
    assert len(linear.code) == 5


def test_values_do_not_fill_the_table() -> None:
    p = dim.symbol("p", kind="float")
    before = len(expr._table)
    for i in range(1000):
        _ = (p - i) ** 2 + i
    assert len(expr._table) <= before + 5


def test_deep_text_is_refused() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_expression("(" * 10000 + "1" + ")" * 10000, {})
    with pytest.raises(ValueError, match="unknown symbol"):
        parse_expression("__import__", {})
