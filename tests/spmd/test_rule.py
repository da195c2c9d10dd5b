"""The grammar of shard strings, and what a rule allows."""

from __future__ import annotations

import pytest
from samples import all_cases
from sharded import call_of

from umiak import spmd
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops import Op
from umiak.spmd.rule import parse


def f32(*shape: int) -> Meta:
    return Meta(shape, dt.float32)


def test_a_string_is_read():
    rule = parse("matmul", "b i k, b k j -> b i j ; k=sum", 2)
    assert rule.operands == (("b", "i", "k"), ("b", "k", "j"))
    assert rule.results == (("b", "i", "j"),)
    assert {f.name: f.reduction for f in rule.factors.values()} == {"b": None, "i": None, "k": "sum", "j": None}
    k = rule.factors["k"]
    assert (k.operands, k.results, k.is_new) == (((0, 2), (1, 1)), (), False)
    assert rule.lacking("k") == (0,)


def test_absent_operands_and_dims_that_are_made():
    rule = parse("f", "a 1, -> a 1 m, m ; a=same", 2)
    assert rule.operands == (("a", "1"), ())
    assert rule.factors["m"].is_new
    assert list(rule.factors) == ["a", "m"]


@pytest.mark.parametrize("text", ["-> a", " -> a"])
def test_no_operands(text):
    assert parse("f", text, 0).operands == ()


def test_results_that_do_not_depend_on_a_factor():
    call = spmd.call(Told("a b -> a b ; b=nonempty"), [f32(2, 3)])
    assert call.rule.factors["b"].nonempty
    assert not call.allows("b", 4)
    assert call.allows("b", 3)


def test_a_factor_may_be_reduced_in_one_result_only():
    rule = parse("f", "a b -> a b, b ; a=sum", 1)
    assert rule.lacking("a") == (1,)


@pytest.mark.parametrize(
    ("text", "operands", "message"),
    [
        ("a, b", 2, "with one arrow"),
        ("a -> a -> a", 1, "with one arrow"),
        ("A -> A", 1, "of factors named like a or k0"),
        ("a 2 -> a", 1, "of factors named like"),
        ("a, b -> a b", 1, "for 1 operands"),
        ("a -> a", 0, "for 0 operands"),
        ("a k -> a ; k=add", 1, "that ends in words like k=sum"),
        ("a k -> a ; k", 1, "that ends in words like k=sum"),
        ("a k -> a ; k=nonempty,bad", 1, "that ends in words like k=sum"),
        ("a k -> a ; k=sum,max", 1, "that says once how k is reduced"),
        ("a k -> a ; k=sum k=max", 1, "that says once how k is reduced"),
        ("a -> a ; k=sum", 1, "that names k among its dims"),
        ("a k -> a", 1, "that says how k is reduced, which result 0 lacks"),
        ("a b -> a b, a", 1, "that says how b is reduced, which result 1 lacks"),
        ("a -> a ; a=sum", 1, "that reduces a factor which operands have and a result lacks, unlike a"),
        ("-> m ; m=sum", 0, "that reduces a factor which operands have and a result lacks, unlike m"),
        ("a a -> a", 1, "whose factors that stand twice in a tensor are replicated, unlike a"),
    ],
)
def test_what_is_wrong_is_said(text, operands, message):
    with pytest.raises(ValueError, match=rf"^\[some_op\] requires a shard string {message}.*got '") as error:
        parse("some_op", text, operands)
    assert repr(text) in str(error.value)


class Told(Op):
    """One operand, one result of its shape, and the string it is given."""

    text: str

    def infer(self, x):
        return x

    def shard(self, x):
        return self.text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a -> a", r"with 2 factors for operand 0, of shape \(2, 6\)"),
        ("a b -> a", "that says how b is reduced"),
        ("a b -> a b 1", r"with 2 factors for result 0, of shape \(2, 6\)"),
        ("a b -> a b, a b", "for 1 results"),
        ("a b -> b a", r"unlike a: \[2, 6\]"),
    ],
)
def test_strings_that_do_not_fit_the_call(text, message):
    if text == "a b -> b a":
        assert spmd.call(Told(text), [f32(2, 6)]).sizes["a"] == (2, 6)
        with pytest.raises(ValueError, match=r"have sizes that divide each other, unlike a: \[4, 6\]"):
            spmd.call(Told(text), [f32(4, 6)])
        return
    with pytest.raises(ValueError, match=rf"^\[told\] requires a shard string {message}"):
        spmd.call(Told(text), [f32(2, 6)])


def test_an_op_that_says_nothing_is_whole():
    class Silent(Op):
        def infer(self, x):
            return x, Meta((), dt.int64)

    call = spmd.call(Silent(), [f32(2, 3)])
    assert (call.rule.operands, call.rule.results) == ((("1", "1"),), (("1", "1"), ()))
    assert spmd.forward(call, [spmd.Layout(((0,), ()))], (2,)).operands == (spmd.Layout(((), ())),)


@pytest.mark.parametrize(
    ("how", "size", "parts", "allowed"),
    [
        (None, 4, (2,), True), (None, 3, (2,), True), (None, 1, (2,), True), (None, 3, (2, 2), True),
        ("sum", 3, (2,), True), ("sum", 1, (2,), True), ("sum", 0, (2,), True),
        ("avg", 4, (2,), True), ("avg", 3, (2,), False), ("avg", 6, (2, 3), True), ("avg", 6, (2, 2), False),
        ("max", 3, (2,), True), ("max", 1, (2,), False), ("max", 4, (3,), False), ("max", 5, (3,), True),
        ("min", 3, (2, 2), False), ("prod", 5, (2, 2), True), ("any", 0, (2,), False), ("all", 2, (2,), True),
        ("replicated", 4, (2,), False),
        ("same", 1, (2,), True), ("same,nonempty", 1, (2,), False), ("sum,nonempty", 3, (2,), True),
        ("nonempty,sum", 3, (4,), False),
    ],
)  # fmt: skip
def test_into_how_many_parts(how, size, parts, allowed):
    class Reduce(Op):
        reduction: object

        def infer(self, x):
            return Meta((), dt.float32)

        def shard(self, x):
            return f"k -> ; k={self.reduction}"

    if how is None:
        call = spmd.call(Told("k -> k"), [f32(size)])
    else:
        call = spmd.call(Reduce(how), [f32(size)])
    assert call.allows("k", *parts) is allowed


def test_dims_of_one_factor_and_other_sizes_are_cut_evenly():
    """Two heads of keys serve four of queries."""
    call = spmd.call(Told("a b -> b a"), [f32(4, 8)])
    assert call.allows("a", 2)
    assert call.allows("a", 2, 2)
    assert not call.allows("a", 3)
    assert not call.allows("a", 8)


def test_every_op_has_a_rule_for_every_sample():
    """Names, ranks and sizes fit."""
    calls = {case.name: call_of(case).rule for case in all_cases()}
    assert len(calls) > 300
    assert all(rule.op == name for name, rule in calls.items())
