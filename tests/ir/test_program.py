"""Text, JSON and copies of programs give equal programs; the verifier accepts the good and names the bad."""

from __future__ import annotations

import json

import pytest
from toy_ops import F32, Add, Matmul, Neg, Send
from toy_programs import REGISTRY, linear_program, random_program, rich_program

from umiak.ir import passes, serialise
from umiak.ir.builder import Builder
from umiak.ir.meta import Meta
from umiak.ir.parser import parse
from umiak.ir.program import Operation, Program, Write
from umiak.ir.rewrite import Table, operand_of, rewrite
from umiak.ir.text import TextError
from umiak.ir.verifier import VerifyError, verify


def everything() -> list[Program]:
    return [linear_program(), rich_program(), *(random_program(seed) for seed in range(40))]


def test_text_reads_as_expected() -> None:
    expected = """program(%0: f32[s0, 8], %1: f32[8, 4] = "linear.w", %2: f32[4]; s0: int in [2, inf) hint 6) {
  %3 = matmul(%0, %1) {transpose_x=False} : f32[s0, 4]
  %4 = add(%3, %2) : f32[s0, 4]
  return %4, %3
  write %2 <- %2
}"""
    assert repr(linear_program()) == expected


def test_text_and_json_round_trip() -> None:
    for program in everything():
        verify(program)
        again = parse(repr(program), REGISTRY)
        assert again.canonical() == program.canonical() and again.same_as(program)
        assert [o.op for o in again.walk()] == [o.op for o in program.walk()]
        assert all(a is b for a, b in zip(again.symbols, program.symbols, strict=True))
        verify(again)
        loaded = serialise.loads(serialise.dumps(program), REGISTRY)
        assert loaded.same_as(program)


def test_copies_are_equal_and_independent() -> None:
    for program in everything():
        before = program.canonical()
        copy = program.copy()
        assert copy.same_as(program)
        verify(copy)
        rewrite(copy, Table([("add", lambda op, build: build(Neg(), op.values[:1]))]))
        passes.tidy(copy)
        assert program.canonical() == before


def test_symbols_can_be_fixed() -> None:
    program = rich_program()
    n, m, _ = program.symbols
    fixed = program.substitute({n: 6, m: 8})
    verify(fixed)
    assert [str(s) for s in fixed.symbols] == ["p"] and not fixed.checks
    assert fixed.inputs[0].meta == Meta((6, 8), F32) and program.inputs[0].meta.shape[0] is n


def test_sources_say_where_a_size_is_read() -> None:
    program = rich_program()
    assert list(program.sources().values()) == [(0, 0), (0, 1), None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected 'program'"),
        ("program() { %0 = add(%1) : f32[] return }", "%1 is used before it is defined"),
        ("program(%0: f32[]) { %0 = neg(%0) : f32[] return }", "%0 is defined twice"),
        ("program(%0: f32[]) { %1 = launch_missiles(%0) : f32[] return }", "unknown op 'launch_missiles'"),
        ("program(%0: f32[]) { %1 = neg(%0) {axis=1} : f32[] return }", "refuses its attributes"),
        ("program(%0: f32[]) { %1 = neg(%0) : f32[], f32[] return }", "1 results and 2 types"),
        ("program(%0: f32[n]) { return }", "unknown symbol"),
        ("program(%0: f32[1.5]) { return }", "expected an integer size"),
        ("program(%0: quux[1]) { return }", "expected a dtype"),
        ("program(; n: int in [3, 1]) { return }", "empty range"),
        ("program(; n: text) { return }", "int, float or bool"),
        ('program() { check 1, "m" return }', "expected a condition"),
        ("program() { return } trailing", "expected the end"),
        ("program() { return __import__ }", "unknown symbol"),
        ("program() { return 1 // 0 }", "division|modulo"),
        ("program() { return " + "(" * 500 + "1" + ")" * 500 + "}", "nested too deeply"),
        ("program() { return " + "9" * 5000 + "}", "at most 40 digits"),
        ("program() { return 9 ** 999999999 }", "power is too large"),
        ("program() { return (9 ** 60) ** 60 }", "power is too large"),
        ('program() { return "open }', "unexpected character"),
        ("program(%0: f32[]) { %1 = neg(%0", "expected"),
        ("program(%0: f32[]", "expected|closed"),
    ],
)
def test_malformed_text_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(TextError, match=message) as caught:
        parse(text, REGISTRY)
    assert "line 1" in str(caught.value)


def test_text_cut_anywhere_is_refused() -> None:
    text = repr(rich_program())
    for end in range(0, len(text) - 1, 7):
        with pytest.raises(TextError):
            parse(text[:end], REGISTRY)


def test_malformed_documents_are_refused() -> None:
    good = serialise.to_document(linear_program())
    for change, message in [
        ({"format": "other"}, "format"),
        ({"version": 99}, "reads up to"),
        ({"version": None}, "version"),
        ({"program": None}, "no program text"),
        ({"sha256": ""}, "checksum"),
        ({"constants": []}, "constants"),
    ]:
        with pytest.raises(serialise.FormatError, match=message):
            serialise.loads(json.dumps(good | change), REGISTRY)
    with pytest.raises(serialise.FormatError, match="unknown op"):
        serialise.from_document(good, {})
    for text in ("", "[", "[]", "3"):
        with pytest.raises(serialise.FormatError):
            serialise.loads(text, REGISTRY)


# --- the verifier


def broken(change: str) -> Program:
    b = Builder()
    n = b.scope.size()
    x = b.input(Meta((n, 4), F32))
    (y,) = b.append(Neg(), (x,))
    (z,) = b.append(Add(), (y, x))
    b.append(Send(group=0), (z,))
    b.append(Send(group=0), (y,))
    program = b.finish([z])
    ops = program.ops
    if change == "not defined":
        ops[0], ops[1] = ops[1], ops[0]
    elif change == "changed places":
        ops[2], ops[3] = ops[3], ops[2]
    elif change == "recorded is":
        y.meta = Meta((n, 5), F32)
    elif change == "defined twice":
        ops.append(ops[0])
    elif change == "not declared":
        program.symbols.clear()
    elif change == "infer refuses":
        operation = Operation(Matmul(transpose_x=False), (x, x), (), [x.meta])
        b.program.checks.clear()
        operation.operands = (x,)
        ops.append(operation)
    elif change == "not an input":
        program.effects.append(Write(y, z))
    elif change == "two writes":
        program.effects += [Write(x, z), Write(x, y)]
    elif change == "does not name":
        y.producer = ops[1]
    return program


@pytest.mark.parametrize(
    "fault",
    [
        "not defined",
        "changed places",
        "recorded is",
        "defined twice",
        "not declared",
        "infer refuses",
        "not an input",
        "two writes",
        "does not name",
    ],
)
def test_the_verifier_names_the_fault(fault: str) -> None:
    verify(broken("nothing"))
    with pytest.raises(VerifyError, match=fault):
        verify(broken(fault))


def test_values_of_a_region_stay_inside() -> None:
    program = rich_program()
    cond = next(o for o in program.ops if o.name == "cond")
    program.outputs = [cond.regions[0].outputs[0]]
    with pytest.raises(VerifyError, match="not defined"):
        verify(program)


# --- rewriting and passes


def test_an_exchanged_call_keeps_what_is_not_named() -> None:
    program = rich_program()
    for o in program.ops:
        o.recompute = 3
        made = o.replace()
        assert made is not o and repr(made) == repr(o)
        assert (made.regions, made.order, made.recompute) == (o.regions, o.order, 3)
        assert [r.stop for r in made.results] == [r.stop for r in o.results]
        assert all(r.producer is made for r in made.results)
        assert o.over(o.operands) is o
        if o.operands:
            other = o.over([*o.operands[:-1], 7])
            assert other.operands == (*o.operands[:-1], 7)
            assert (other.regions, other.order, other.recompute) == (o.regions, o.order, 3)
    cond = next(o for o in program.ops if o.regions)
    assert cond.replace(regions=cond.regions[::-1]).regions == cond.regions[::-1]


def test_rules_apply_inside_of_regions() -> None:
    program = rich_program()
    rewrite(program, Table([("neg", lambda op, build: op.operands[0])]), verify=True)
    cond = next(o for o in program.ops if o.regions)
    assert cond.regions[0].operations == [] and cond.regions[0].outputs == cond.regions[0].arguments


def test_rules_run_to_a_fixpoint_and_tables_add() -> None:
    b = Builder()
    x = b.input(Meta((4,), F32))
    y = x
    for _ in range(6):
        (y,) = b.append(Neg(), (y,))
    (y,) = b.append(Add(), (y, 0))
    program = b.finish([y])
    negations, sums = Table(), Table()

    @negations.on("neg")
    def double_negation(op, build):
        inner = operand_of(op.operands[0], "neg")
        return inner.operands[0] if inner is not None else None

    @sums.on("add")
    def add_zero(op, build):
        return op.operands[0] if op.operands[1] == 0 else None

    log: list = []
    rewrite(program, negations + sums, verify=True, log=log)
    passes.remove_dead(program)
    assert program.ops == [] and program.outputs == [x]
    assert log[-1] == ("add_zero", "%7 = add(%0, 0) : f32[4]")


def test_a_rule_without_an_end_is_reported() -> None:
    def flip(op, build):
        return build(Neg(), op.operands)

    b = Builder()
    (y,) = b.append(Neg(), (b.input(Meta((), F32)),))
    program = b.finish([y])
    with pytest.raises(RuntimeError, match="no fixpoint after 5 sweeps of the rules flip"):
        rewrite(program, Table([("neg", flip)]), limit=5)


def test_a_rule_that_gives_up_leaves_nothing() -> None:
    def attempt(op, build):
        build(Neg(), op.operands)

    program = linear_program()
    before = program.canonical()
    rewrite(program, Table([("*", lambda op, build: attempt(op, build) if op.name == "add" else None)]))
    assert program.canonical() == before


def test_passes_keep_what_matters() -> None:
    for program in everything():
        sends = [(o.op, o.order) for o in program.walk() if o.name == "send"]
        outputs = [getattr(x, "meta", x) for x in program.outputs]
        passes.tidy(program)
        verify(program)
        assert [(o.op, o.order) for o in program.walk() if o.name == "send"] == sends
        assert [getattr(x, "meta", x) for x in program.outputs] == outputs
        before = program.canonical()
        assert passes.tidy(program).canonical() == before


def test_equal_calls_merge_but_draws_do_not() -> None:
    from toy_ops import Uniform

    b = Builder()
    x = b.input(Meta((4,), F32))
    calls = [(Neg(), (x,), ())] * 2 + [(Uniform(), (1,), (4,))] * 2 + [(Add(), (x, 1), ()), (Add(), (x, 1.0), ())]
    made = [v for call in calls for v in b.append(*call)]
    (total,) = b.append(Add(), (made[0], made[1]))
    program = b.finish([total, *made[2:]])
    passes.merge_common(program)
    assert [o.name for o in program.ops] == ["neg", "uniform", "uniform", "add", "add", "add"]
    assert total.operation is not None and total.operation.operands == (made[0], made[0])


def test_equal_outputs_remain_two() -> None:
    b = Builder()
    x = b.input(Meta((4,), F32))
    program = b.finish([*b.append(Neg(), (x,)), *b.append(Neg(), (x,))])
    passes.merge_common(program)
    assert program.outputs[0] is not program.outputs[1]


def test_known_sizes_are_put_in() -> None:
    b = Builder()
    n, m = b.scope.size(), b.scope.size(hint=8)
    x, w = b.input(Meta((n, m), F32)), b.input(Meta((8, 4), F32))
    (y,) = b.append(Matmul(transpose_x=False), (x, w))
    (z,) = b.append(Neg(), (x,))
    program = passes.fold_sizes(b.finish([y, z]))
    verify(program)
    assert z.meta.shape == (n, 8) and str(program.guards) == "[s1 == 8]" and x.meta.shape[1] is m
