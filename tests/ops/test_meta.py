"""What ``infer`` says of a call, against what the call does; and what ``shard`` says (see also tests/spmd)."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from references import MADE_INSIDE
from samples import ARRAYS, Case, ShowsNothing, all_cases, cases_of, over_samples, own_ops

from umiak import ops as F
from umiak import spmd
from umiak.compiler import plan as planner
from umiak.core import dtype as dt
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.sym import evaluate
from umiak.spmd.rule import parse


def as_tuple(x: Any) -> tuple:
    return x if isinstance(x, tuple) else (x,)


def describe(t: Any) -> tuple:
    return tuple(t.shape), t.dtype.name


@over_samples(quick=2)
def test_inferred_meta_is_the_actual_one(case: Case) -> None:
    """``infer`` on the concrete operands; no call falls back to Python for its sizes."""
    inferred = [(m.shape, m.dtype.name) for m in as_tuple(case.op.infer(*case.metas(), *case.params))]
    assert inferred == [describe(t) for t in case.call(*case.operands())]
    assert not {name: why for name, why in planner.PYTHON_INFER.items() if name in F.REGISTRY}


def environment(classes: Any, case: Case) -> dict[Sym, Any]:
    """The value of every symbol that stands for a size, a number or a param of the call."""
    env: dict[Sym, Any] = {}
    for x, meta, stand_in in zip(case.sample.inputs, classes.metas, classes.operands, strict=True):
        if isinstance(x, ARRAYS):
            env.update(zip(meta.shape, np.shape(x), strict=True))
        elif isinstance(stand_in, Sym):
            env[stand_in] = x
    for symbolic, value in zip(classes.params, case.params, strict=True):
        env.update(zip(as_tuple(symbolic), as_tuple(value), strict=True))
    return env


@over_samples(quick=1)  # ``tests/ir/test_every_op.py`` compares sizes of all samples
def test_symbolic_meta_is_the_actual_one(case: Case) -> None:
    """``infer`` on symbols, evaluated at the sizes of the call; its checks hold."""
    classes = planner.symbols_for(case.op, case.operands(), case.params)
    with classes.scope as scope:
        metas = as_tuple(case.op.infer(*classes.metas, *classes.params))
    env = environment(classes, case)
    found = [(tuple(evaluate(n, env) for n in m.shape), m.dtype.name) for m in metas]
    assert found == [describe(t) for t in case.call(*case.operands())]
    assert not scope.guards, f"guards on symbols without hints: {scope.guards}"
    failed = [c.message for c in scope.checks if not evaluate(c.condition, env)]
    assert not failed, f"checks that a right call fails: {failed}"


@over_samples(
    quick=2, never=dict.fromkeys(("index_get", "lu_unpack", "take"), "requires operands that do not go together")
)
def test_wrong_shapes_are_refused_in_words(case: Case) -> None:
    """An operand with an axis more, or one less element, is refused by ``infer`` or gives a result; nothing else."""
    refused = 0
    for i, x in enumerate(case.sample.inputs):
        if not isinstance(x, ARRAYS):
            continue
        for other in (np.asarray(x)[None], *((np.asarray(x)[1:],) if np.ndim(x) and len(x) else ())):
            inputs = (*case.sample.inputs[:i], other, *case.sample.inputs[i + 1 :])
            metas = case.with_inputs(inputs).metas()
            try:
                case.op.infer(*metas, *case.params)
            except (ValueError, TypeError, IndexError) as error:
                text = str(error)
            else:
                continue
            refused += 1
            # A composite may leave a check to the op it is made of.
            assert re.match(r"\[\w+\] requires .*, got ", text, re.S), f"operand {i}: {text}"
    if not refused and len(case.arrays) > 1:
        raise ShowsNothing("operands of any shapes go together")


# --- sharding --------------------------------------------------------------------------------------------------------

BROADCAST = [
    name
    for name, cls in own_ops().items()
    if cls.elementwise and len(cls.inputs) > 1 and not cls.static_fields and not cls.param_fields
    if name != "sgd_update"  # its rate has no dims
]


@pytest.mark.parametrize("name", sorted(BROADCAST))
def test_what_is_broadcast_is_not_cut(name: str) -> None:
    """A dim of one element that meets more of them is on all shards; names are those of the result, from the right."""
    cls = F.REGISTRY[name]

    def strings(first: tuple, others: tuple) -> tuple:
        shapes = (first, *(others for _ in cls.inputs[1:]))
        rule = parse(name, cls().shard(*(Meta(s, dt.float32) for s in shapes)), len(shapes))
        (x, *rest), (z,) = rule.operands, rule.results
        assert not rule.reduction
        assert all(y == rest[0] for y in rest)
        return x, rest[0], z

    x, y, z = strings((2, 3), (2, 3))
    assert x == y == z
    assert len({*z, "1"}) == 3
    a, b = z
    assert strings((2, 1), (1, 3)) == ((a, "1"), ("1", b), (a, b))
    assert strings((2, 3), (3,)) == ((a, b), (b,), (a, b))
    assert strings((1,), (2, 3)) == (("1",), (a, b), (a, b))
    assert strings((), (2, 1)) == ((), (a, "1"), (a, "1"))


# --- messages: a group of one sends none, so that they have no samples ------------------------------------------------

MESSAGES = {
    "send": lambda peer: F.REGISTRY["send"](group="g").infer(Meta((2, 3), dt.float32), 2, peer),
    "recv": lambda peer: F.REGISTRY["recv"](group="g", dtype=dt.float32).infer(None, 2, peer, (2, 3)),
}


@pytest.mark.parametrize(("name", "made"), [("send", (0,)), ("recv", (2, 3))])
def test_messages_go_to_ranks_of_the_group(name: str, made: tuple) -> None:
    for peer in (0, 1):
        assert MESSAGES[name](peer) == Meta(made, dt.float32)
    for peer in (-1, 2, 99):
        with pytest.raises(ValueError, match=rf"^\[{name}\] requires a rank below 2, got {peer}"):
            MESSAGES[name](peer)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2, 1)])
def test_messages_are_whole(shape: tuple) -> None:
    whole = ("1",) * len(shape)
    send, recv = F.REGISTRY["send"](group="g"), F.REGISTRY["recv"](group="g", dtype=dt.float32)
    for op, token, params, sides in (
        (send, Meta(shape, dt.float32), (2, 1), (whole, ("1",))),
        (recv, None, (2, 1, shape), ((), whole)),
        (recv, Meta((0,), dt.float32), (2, 1, shape), (("1",), whole)),
    ):
        rule = spmd.call(op, [token], params).rule
        assert (rule.operands, rule.results, rule.reduction) == ((sides[0],), (sides[1],), ())


# --- ops without a string ---------------------------------------------------------------------------------------------

WITHOUT_SHARD = MADE_INSIDE


def test_every_op_says_how_it_is_sharded() -> None:
    missing = {n for n, cls in own_ops().items() if cls.shard is None and cls.__module__ != "umiak.ops.collective"}
    assert sorted(missing) == sorted(WITHOUT_SHARD)


# --- records ---------------------------------------------------------------------------------------------------------


@over_samples(quick=100)
def test_records_survive_pickling(case: Case) -> None:
    """One record for each class and attributes: what comes back is the record itself, and attributes are frozen."""
    assert pickle.loads(pickle.dumps(case.op)) is case.op
    assert case.cls(*case.op.attributes.values()) is case.op
    for key, value in case.op.attributes.items():
        assert f"{key}={value!r}" in repr(case.op)
        with pytest.raises(AttributeError, match="is frozen"):
            setattr(case.op, key, value)


# --- samples ---------------------------------------------------------------------------------------------------------

WITHOUT_SAMPLES = MADE_INSIDE


@pytest.mark.parametrize("name", sorted(own_ops()))
def test_samples_are_there(name: str) -> None:
    cls = F.REGISTRY[name]
    cases = cases_of(name)
    if name in WITHOUT_SAMPLES:
        assert not cases, f"has samples, so it is no longer one that is {WITHOUT_SAMPLES[name]}"
        return
    if cls.__module__ == "umiak.ops.collective":
        return
    assert len(cases) >= 2, f"{len(cases)} samples"
    again = [c.sample for c in (Case(cls, i, s) for i, s in enumerate(cls.samples(np.random.default_rng(0))))]
    same = [c.sample for c in (Case(cls, i, s) for i, s in enumerate(cls.samples(np.random.default_rng(0))))]
    for a, b in zip(again, same, strict=True):
        for x, y in zip(a.inputs, b.inputs, strict=True):
            assert type(x) is type(y)
            if isinstance(x, ARRAYS):
                np.testing.assert_array_equal(np.asarray(x), np.asarray(y), err_msg="samples do not follow their seed")
    assert all(np.asarray(x).size <= 4096 for c in cases for x in c.arrays), "samples must be tiny"


def test_metas_of_samples_print() -> None:
    for case in all_cases():
        assert case.name in str(case)
        assert all(m is None or isinstance(m, Meta) for m in case.metas())
