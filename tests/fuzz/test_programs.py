"""Random programs do the same in every mode, and what the judge says. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from tests.fuzz.programs import run
from tests.fuzz.programs.__main__ import main
from tests.fuzz.programs.check import Failure
from tests.fuzz.programs.generate import generate, leaf
from tests.fuzz.programs.kinds import CHECKS, check
from tests.fuzz.programs.memory import Judge, Unclear
from tests.fuzz.programs.ops.table import OPS
from tests.fuzz.programs.record import Input, Program, Statement
from tests.fuzz.programs.shrink import script, shrink
from tests.support.native_libraries import CC

SAMPLE, PARTS, AHEAD = 150, 8, 4
ALL, CHUNK = 20_150, 50


pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


def holds(programs: Iterable[tuple[Program, str | None]]) -> None:
    """``programs``: each with the one mode besides eager in which it runs, or None for all that it draws."""
    for program, mode in programs:
        try:
            check(program, only=mode)
        except Failure as failure:
            pytest.fail(script(*shrink(program, failure)), pytrace=False)


@cache
def covering() -> list[tuple[Program, str]]:
    """Of the first programs as many as it takes to call each op that these call, each with one of the modes that it
    draws: that which the fewest before it have."""
    programs = list(map(generate, range(SAMPLE)))
    ops = [{s.op.name for s in program.statements} for program in programs]
    missing, chosen = set().union(*ops), []
    modes: Counter[str] = Counter()
    while missing:
        at = max(range(SAMPLE), key=lambda i: len(ops[i] & missing))
        drawn = CHECKS[programs[at].kind](programs[at], Counter()).drawn_modes()
        mode = min(drawn or ["eager"], key=modes.__getitem__)
        modes[mode] += 1
        chosen.append((programs[at], mode))
        missing -= ops[at]
    return chosen


@pytest.mark.parametrize("part", range(PARTS))
def test_a_sample(part):
    programs = covering()[part::PARTS]
    assert programs
    holds(programs)


def test_the_sample_has_every_mode_that_is_drawn():
    modes = {mode for mode, share in CHECKS["plain"].modes.items() if share}
    assert {mode for _, mode in covering()} - {"eager"} == modes


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    holds((generate(seed), None) for seed in range(first, first + CHUNK))


def compiled(seeds: range) -> None:
    if CC is None:
        pytest.skip("needs a C compiler")
    for seed in seeds:
        mode = ("compiled", "compiled, mixed precision")[seed % 3 == 0]
        program = generate(seed)
        try:
            check(program, only=mode)
        except Failure as failure:
            pytest.fail(script(*shrink(program, failure)), pytrace=False)


def test_a_sample_compiled_ahead_of_time():
    compiled(range(AHEAD))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(AHEAD, AHEAD + 400, CHUNK))
def test_more_compiled_ahead_of_time(first):
    compiled(range(first, first + CHUNK))


# --- the net itself --------------------------------------------------------------------------------------------------


def test_a_seed_is_a_program():
    for seed in range(5):
        a, b = generate(seed), generate(seed)
        assert (a.ours(), a.judge(), a.inputs, a.sizes) == (b.ours(), b.judge(), b.inputs, b.sizes)
    assert len({generate(seed).ours() for seed in range(20)}) == 20


def of(statements: list[Statement], outputs: tuple[str, ...], *shapes: tuple[int | str, ...], sizes=(3, 1)) -> Program:
    inputs = tuple(Input(f"a{i}", s, "float64", True, "normal", i) for i, s in enumerate(shapes))
    return Program(0, inputs, tuple(statements), outputs, sizes)


def test_a_defect_is_found_and_reduced():
    """An op that is a little wrong, in the midst of others."""
    wrong = replace(OPS["sin"], ours="paddle.sin({0}) * 1.000001")
    program = of(
        [
            Statement(OPS["exp"], ("v0",), ("a0",)),
            Statement(wrong, ("v1",), ("v0",)),
            Statement(OPS["add"], ("v2",), ("v1", "a1")),
            Statement(OPS["cos"], ("v3",), ("v0",)),
        ],
        ("v2", "v3"),
        ("n", 2),
        (2,),
    )
    with pytest.raises(Failure, match="output 0") as found:
        check(program, only="eager")
    small, failure = shrink(program, found.value)
    assert [s.op.name for s in small.statements] == ["sin"]
    assert len(small.inputs) == len(small.outputs) == len(small.sizes) == 1
    text = script(small, failure)
    assert "1.000001" in text
    compile(text, "repro", "exec")


def test_a_wrong_gradient_is_found():
    detached = replace(OPS["add"], ours="{0} + {1}.detach()")
    program = of([Statement(detached, ("v0",), ("a0", "a1"))], ("v0",), ("n",), ("n",))
    for mode in ("eager", "captured", "captured step"):
        with pytest.raises(Failure, match="gradient of input 1"):
            check(program, only=mode)
    twice = replace(OPS["square"], ours="{0} * {0}.detach() * 2 - ({0} * {0}).detach()")
    program = of([Statement(twice, ("v0",), ("a0",))], ("v0",), ("n",))
    check(program, only="eager")
    with pytest.raises(Failure, match="gradient of input 0"):
        check(program, only="twice")


def test_results_that_a_later_call_reaches_are_found(monkeypatch):
    """A function that gives all results of one size in one memory."""
    held: dict[int, Any] = {}

    def to_static(function):
        def kept(*given):
            (y,) = function(*given)
            first = held.setdefault(y.shape[0], y)
            if first is not y:
                first.detach().copy_(y.detach())
            return (first,)

        return kept

    program = of([Statement(OPS["times"], ("v0",), ("a0",), (("s", "2.0"),))], ("v0",), ("n",))
    plain = [
        replace(program, seed=seed, inputs=tuple(replace(x, grad=False) for x in program.inputs)) for seed in range(5)
    ]
    monkeypatch.setattr("paddle.jit.to_static", lambda f: f)
    for one in plain:
        check(one, only="results kept")
    monkeypatch.setattr("paddle.jit.to_static", to_static)
    with pytest.raises(Failure, match="others after later calls"):
        for one in plain:
            check(one, only="results kept")


def test_what_is_refused_needs_a_reason():
    program = of([Statement(OPS["exp"], ("v0",), ("a0",)), Statement(OPS["scale_"], (), ("v0",), (("s", "2.0"),))],
                 ("v0",), ("n",))  # fmt: skip
    check(program, only="eager")  # the derivative of exp is its result, which is gone
    refused = replace(OPS["square"], ours="raised({0})")
    with pytest.raises(Failure, match="raises NameError"):
        check(of([Statement(refused, ("v0",), ("a0",))], ("v0",), ("n",)), only="eager")


def test_the_memory_of_the_judge():
    """Views, writes through them and what stays of a history are those of PyTorch, as far as that can say it."""
    x, y = (torch.from_numpy(np.arange(6.0).reshape(2, 3) + k).requires_grad_() for k in (0, 1))
    a, b = (
        leaf(Input(n, (2, 3), "float64", True, "normal", 0), t.detach().numpy().copy()) for n, t in zip("ab", (x, y))
    )
    names = {**Judge().names(), "a": a, "b": b}
    exec(
        "c = made(a.t * 2)\nd = c.view(lambda i: i[1:, ::2])\ne = c.view(lambda i: i.T)\n"
        "d.write(d.t * b.view(lambda i: i[:1, 1:]).t)\nf = made(e.t * e.t)",
        names,
    )
    c = x * 2
    e = c.T
    c[1:, ::2] *= y[:1, 1:]
    f = e * e
    np.testing.assert_array_equal(names["f"].n, f.detach().numpy())
    for mine, theirs in zip(torch.autograd.grad(names["f"].t.sum(), (a.t, b.t)), torch.autograd.grad(f.sum(), (x, y))):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    # What PyTorch cannot: steps below 0, and a new shape beside views of the old one.
    exec("g = c.view(lambda i: i[::-1])\nc.turn(lambda i: i.T)\ng.view(lambda i: i[0]).write(0.0)", names)
    assert (names["c"].n[:, 1] == 0).all()
    assert names["g"].shape == (2, 3)
    with pytest.raises(Unclear, match="share memory"):
        names["g"].view(lambda i: np.broadcast_to(i, (2, 2, 3))).write(1.0)


def test_numbers_drawn_are_given_to_the_judge():
    program = of([Statement(OPS["dropout"], ("v0",), ("a0",), (("p", "0.5"),))], ("v0",), ("n", 8), sizes=(4,))
    draws = run.Draws()
    found = run.ours(program, 4, run.function_of(program, draws))
    assert len(draws.kept) == 1
    assert 0 < draws.kept[0].mean() < 1
    np.testing.assert_array_equal(found.outputs[0] != 0, draws.kept[0] != 0)
    check(program)


@pytest.mark.parametrize("kind", CHECKS)
def test_modes_that_a_kind_does_not_have_are_refused_with_those_that_it_has(kind, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["programs", "0", "1", "--kind", kind, "--only", "WRONG"])
    with pytest.raises(SystemExit) as stopped:
        main()
    told = capsys.readouterr().err
    assert stopped.value.code == 2
    assert all(mode in told for mode in ("'WRONG'", *CHECKS[kind].modes))
