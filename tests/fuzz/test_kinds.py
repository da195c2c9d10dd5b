"""Random programs of other kinds: over complex numbers, over narrow dtypes, on devices, on the ranks of a mesh, of
parts of language models, of what plain ones leave out, of gradients that are written to.

``docs/design/fuzzing.md`` has the counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import paddle
from tests.fuzz.programs import devices
from tests.fuzz.programs.check import Failure
from tests.fuzz.programs.kinds import check, generate
from tests.fuzz.programs.ops.table import COMPLEX, OPS, PLACED, WRITTEN
from tests.fuzz.programs.record import Input, Program, Statement
from tests.fuzz.programs.shrink import script, shrink
from tests.fuzz.programs.storage import model
from tests.fuzz.programs.storage.statements import family as storage
from umiak import ops as F
from umiak.ops import _common

pytestmark = pytest.mark.usefixtures("fake", "slow_kept_nowhere")

# Programs of each kind in `make test`, and beyond these in `make test-all`.
SAMPLES = {
    "complex": (6, 4_000),
    "storage": (6, 5_000),
    "devices": (6, 4_000),
    "sharded": (6, 3_000),
    "language": (1, 3_000),
    "rare": (2, 3_000),
    "broad": (2, 3_000),
    "gradients": (2, 3_000),
}
EACH, CHUNK = 6, 50


def holds(kind: str, seeds: range) -> Counter[str]:
    tally: Counter[str] = Counter()
    for seed in seeds:
        program = generate(seed, kind)
        try:
            check(program, tally)
        except Failure as failure:
            pytest.fail(script(*shrink(program, failure)), pytrace=False)
    return tally


@pytest.mark.parametrize(
    ("kind", "first", "stop"),
    [(k, i, min(i + EACH, n)) for k, (n, _) in SAMPLES.items() for i in range(0, n, EACH)],
)
def test_a_sample(kind, first, stop):
    tally = holds(kind, range(first, stop))
    assert sum(n for what, n in tally.items() if what != "programs" and not what.startswith("refused")) >= stop - first


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "first"), [(k, i) for k, (n, more) in SAMPLES.items() for i in range(n, n + more, CHUNK)]
)
def test_all(kind, first):
    assert holds(kind, range(first, first + CHUNK))


# --- the net itself --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_seed_is_a_program(kind):
    for seed in range(3):
        a, b = generate(seed, kind), generate(seed, kind)
        assert (a.ours(), a.judge(), a.inputs, a.sizes) == (b.ours(), b.judge(), b.inputs, b.sizes)
    assert len({generate(seed, kind).ours() for seed in range(20)}) == 20


def of(kind: str, dtype: str, *statements: Statement, outputs=("v2",), fill="normal") -> Program:
    grad = dtype in ("float64", "complex128")
    inputs = tuple(Input(f"a{i}", ("n", 3), dtype, grad, fill, i) for i in range(2))
    return Program(0, inputs, statements, outputs, (3, 1), kind=kind)


def reduced(program: Program, mode: str) -> Program:
    """What is left of a program that fails in a mode; its script is one."""
    with pytest.raises(Failure) as found:
        check(program, only=mode)
    small, failure = shrink(program, found.value)
    compile(script(small, failure), "repro", "exec")
    return small


@pytest.mark.parametrize(
    ("kind", "mode", "dtype", "table"),
    [
        ("complex", "eager", "complex128", COMPLEX),
        ("complex", "captured", "complex128", COMPLEX),
        ("devices", "late", "float64", PLACED),
        ("devices", "captured step", "float64", PLACED),
    ],
)
def test_a_defect_is_found_and_reduced(kind, mode, dtype, table):
    wrong = replace(table["sin"], ours="paddle.sin({0}) * 1.000001")
    program = of(
        kind,
        dtype,
        Statement(table["exp"], ("v0",), ("a0",)),
        Statement(wrong, ("v1",), ("v0",)),
        Statement(table["add"], ("v2",), ("v1", "a1")),
    )
    assert [s.op.name for s in reduced(program, mode).statements] == ["sin"]


def test_the_convention_of_gradients_counts():
    """A gradient that is the conjugate of what it should be; values are right."""
    conjugated = replace(COMPLEX["real_hook"], judge="{0}.t")
    program = of(
        "complex",
        "complex128",
        Statement(COMPLEX["exp"], ("v2",), ("a0",)),
        Statement(conjugated, (), ("v2",), (("s", "1.0"),)),
    )
    for mode in ("eager", "captured", "captured step"):
        with pytest.raises(Failure, match="gradient of input 0"):
            check(program, only=mode)


@pytest.mark.parametrize("mode", ["eager", "captured", "captured step"])
def test_what_is_written_to_a_gradient_counts(mode):
    """A gradient that the judge leaves as it is; values are right."""
    ignored = replace(WRITTEN["written_hook"], judge="{0}.t")
    program = of(
        "gradients",
        "float64",
        Statement(WRITTEN["exp"], ("v2",), ("a0",)),
        Statement(ignored, (), ("v2",), (("s", "2.0"), ("how", "'rows'"))),
    )
    with pytest.raises(Failure, match="gradient of input 0") as found:
        check(program, only=mode)
    compile(script(program, found.value), "repro", "exec")


def test_gradients_of_complex_numbers_are_those_by_differences():
    program = of("complex", "complex128", Statement(COMPLEX["abs"], ("v2",), ("a0",)))
    tally: Counter[str] = Counter()
    check(program, tally, only="differences")
    assert tally["differences"] == 1


@pytest.mark.parametrize("mode", ["eager", "captured"])
@pytest.mark.parametrize("dtype", ["int4", "float8_e4m3fn"])
def test_elements_in_a_wrong_place_are_found_and_reduced(mode, dtype):
    wrong = replace(storage.ops["roll"], ours="paddle.roll({0}, {k} + 1, {axis})")
    program = of(
        "storage",
        dtype,
        Statement(storage.ops["clone"], ("v0",), ("a0",)),
        Statement(wrong, ("v1",), ("v0",), (("k", "1"), ("axis", "-1"))),
        Statement(storage.ops["stack"], ("v2",), ("v1", "a1"), (("axis", "0"),)),
        fill="codes",
    )
    assert [s.op.name for s in reduced(program, mode).statements] == ["roll"]


def test_the_model_shares_memory_as_tensors_do():
    """Views of whole bytes reach the whole; of packed elements only reshapes do."""
    for name in model.NARROW:
        x = model.zeros((2, 3), name, 1)
        part, flat = model.view(x, lambda x: x[1]), model.reshape(x, lambda x: x.reshape(-1))
        model.put(part, ..., 2)
        assert (model.wide(x)[1] == 2).all() == (name not in model.PACKED)
        model.put(flat, ..., 4)
        assert (model.wide(x) == 4).all()


def test_elements_of_the_model_may_overflow():
    """Three times the largest power of two of ``float8_e8m0fnu`` is beyond float32."""
    product = Statement(storage.ops["scaled"], ("v2",), ("a0",), (("s", "3.0"), ("dtype", "'float8_e8m0fnu'")))
    program = replace(of("storage", "float8_e8m0fnu", product, fill="codes"), sizes=(400,))
    assert 2.0**127 in model.wide(program.inputs[0].array(400))
    check(program)


def test_a_failure_that_is_not_told_is_found(monkeypatch):
    program = of("devices", "float64", Statement(PLACED["exp"], ("v2",), ("a0",)))
    tally: Counter[str] = Counter()
    check(program, tally, only="failing")
    assert tally["failing: told"] == 1
    in_range = replace(devices.out_of_range, ours=devices.out_of_range.ours.replace("99", "0"))
    monkeypatch.setattr(devices, "out_of_range", in_range)
    with pytest.raises(Failure, match=r"this was told: \[\]"):
        check(program, only="failing")


def test_a_mistake_in_a_declaration_is_found(monkeypatch):
    """Running sums over parts are not parts of running sums."""
    program = of("sharded", "float64", Statement(OPS["cumsum"], ("v2",), ("a0",), (("axis", "1"),)))
    seeds = [replace(program, seed=seed) for seed in range(8)]
    for one in seeds:
        check(one, only="sharded")
    monkeypatch.setattr(F.Cumsum, "shard", lambda self, x: _common.shard_pointwise(x))
    with pytest.raises(Failure, match="output 0"):
        for one in seeds:
            check(one, only="sharded")


def test_late_devices_wait_for_somebody(fake):
    """In ``lazy`` nothing runs before it is waited for."""
    with fake.lazy():
        x = paddle.to_tensor(np.ones(3)).to("fake:0") + 1.0
        device = fake.device(x.place)
        ticket = device.queue(0).jobs[-1][0]
        assert device.completed(0) < ticket
        np.testing.assert_array_equal(x.numpy(), [2.0] * 3)
        assert device.completed(0) >= ticket
