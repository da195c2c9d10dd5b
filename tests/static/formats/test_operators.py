"""Operators of PaddlePaddle's programs mean what they mean there: small programs that it saved, and what it gave."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.static.formats import pir
from paddle.static.formats.graph import Attribute, Operation, TensorType
from paddle.static.formats.operators.known import Known
from paddle.static.formats.operators.table import TABLE
from paddle.static.formats.record import Values, program_of
from umiak.ir.serialise import FormatError

DATA = Path(__file__).parents[2] / "data" / "saved_operators.jsonl.gz"
CASES = {row["name"]: row for row in map(json.loads, gzip.decompress(DATA.read_bytes()).splitlines())}
AT_ONCE = [name for name in CASES if name.startswith("eager")]  # how much they give depends on data


def array(encoded):
    return np.frombuffer(base64.b64decode(encoded["data"]), encoded["dtype"]).reshape(encoded["shape"])


def at_once(module, feeds):
    return [y.numpy() for y in Values(module, {}, {n: paddle.to_tensor(x) for n, x in feeds.items()}).run()]


def compare(ours, theirs):
    assert [(a.dtype, a.shape) for a in ours] == [(b.dtype, b.shape) for b in theirs]
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.astype("float64"), b.astype("float64"), rtol=2e-5, atol=2e-6)


def test_the_data_have_many_operators():
    met = {o.name for row in CASES.values() for o in pir.read(row["program"]).block.walk()} & TABLE.keys()
    assert len(met) >= 300


@pytest.mark.parametrize("name", [n for n in CASES if n not in AT_ONCE])
def test_a_program_gives_what_it_gave(name):
    row = CASES[name]
    feeds = {n: array(x) for n, x in row["feeds"].items()}
    program, names, outputs = program_of(pir.read(row["program"]), {})
    assert sorted(names) == sorted(feeds)
    compare(paddle.static.Executor().run(program, feeds, outputs), [array(x) for x in row["results"]])


@pytest.mark.parametrize("name", AT_ONCE)
def test_operations_one_by_one_give_what_it_gave(name):
    row = CASES[name]
    feeds = {n: array(x) for n, x in row["feeds"].items()}
    compare(at_once(pir.read(row["program"]), feeds), [array(x) for x in row["results"]])


@pytest.mark.parametrize(
    "name",
    [
        "sizes",
        "sizes as tensors",
        "reshape by its sizes",
        "numel",
        "if on a size",
        "shape",
        "conv2d of unknown sizes",
        "pool2d of unknown sizes",
        "slice of unknown sizes",
    ],
)
@pytest.mark.parametrize("rows", [1, 7])
def test_sizes_that_are_not_declared_may_be_others(name, rows):
    """One program, for batches of other sizes, gives what its operations give one by one."""
    row = CASES[name]
    module = pir.read(row["program"])
    feeds = {n: array(x) for n, x in row["feeds"].items()}
    free = {o.plain("name") for o in module.named("pd_op.data") if o.results[0].type.shape[0] == -1}
    feeds = {n: np.resize(x, (rows, *x.shape[1:])) if n in free else x for n, x in feeds.items()}
    program, _, outputs = program_of(module, {})
    exe = paddle.static.Executor()
    first = {n: array(x) for n, x in row["feeds"].items()}
    compare(exe.run(program, first, outputs), [array(x) for x in row["results"]])
    compare(exe.run(program, feeds, outputs), at_once(module, feeds))


def test_an_empty_batch():
    row = CASES["sizes as tensors"]
    program, _, outputs = program_of(pir.read(row["program"]), {})
    (y,) = paddle.static.Executor().run(program, {"x": np.ones([0, 4], "float32")}, outputs)
    assert y.shape == (0, 2, 4)


@pytest.mark.parametrize(("name", "loops"), [("while growing", 0), ("while of rows", 1)])
def test_a_loop_is_unrolled_where_what_it_carries_grows(name, loops):
    program, _, _ = program_of(pir.read(CASES[name]["program"]), {})
    assert sum(o.type == "while_" for o in program.global_block().ops) == loops


class Checked(Values):
    """Operators give values of the dtypes and ranks that the program declares."""

    def _results(self, o):
        results = super()._results(o)
        for r, y in zip(o.results, results, strict=False):
            if isinstance(r.type, TensorType) and y is not None and o.name[6:] not in OTHERWISE.split():
                dtype, rank = (y.dtype, y.array.ndim) if isinstance(y, Known) else (y.dtype.name, y.ndim)
                assert (o.name, dtype, rank) == (o.name, r.type.dtype, len(r.type.shape))
        return results


# Results that the reference declares otherwise than what it computes.
OTHERWISE = (
    "accuracy crf_decoding ctc_align dequantize_log edit_distance equal_all fetch generate_proposals matrix_rank "
    "matrix_rank_tol norm slogdet unique unique_consecutive viterbi_decode"
)


@pytest.mark.parametrize("name", CASES)
def test_values_are_what_the_program_declares(name):
    module = pir.read(CASES[name]["program"])
    feeds = {n: paddle.to_tensor(array(x)) for n, x in CASES[name]["feeds"].items()}
    assert Checked(module, {}, feeds).run()


def test_unknown_operators_are_all_named():
    document = {"base_code": {"magic": "pir", "version": 1}, "program": {"regions": [{"blocks": [{"ops": [
        {"#": "1.no_such"}, {"#": "1.full", "A": [], "O": []}, {"#": "1.nor_this"},
    ]}]}]}}  # fmt: skip
    with pytest.raises(
        FormatError, match=r"operators that are known here are required, got pd_op.no_such, pd_op.nor_this"
    ):
        program_of(pir.read(document), {})


def test_a_part_of_a_list():
    document = json.loads(json.dumps(CASES["concat stack"]["program"]))
    ops = document["program"]["regions"][0]["blocks"][0]["ops"]
    combine = next(i for i, o in enumerate(ops) if o["#"] == "0.combine")
    x = ops[0]["O"][0]
    fetch = {**next(o for o in ops if o["#"] == "1.fetch"), "I": [{"%": 99}]}
    part = {"#": "0.slice", "A": [{"N": "index", "AT": {"#": "0.a_i32", "D": 1}}], "I": [ops[combine]["O"][0]]}
    ops[combine + 1 :] = [{**part, "O": [{**x, "%": 99}]}, fetch]
    feeds = {n: array(e) for n, e in CASES["concat stack"]["feeds"].items()}
    (y,) = at_once(pir.read(document), feeds)
    assert y.tolist() == feeds["y"].tolist()


# What version 1 to 3 of programs have otherwise: kinds of attributes, and attributes that were not there yet.
OLDER = {
    "pool2d": ("pd_op.pool2d", {"strides": "i32", "paddings": "i32"}, ()),
    "pool3d": ("pd_op.pool3d", {"kernel_size": "i32", "strides": "i32", "paddings": "i32"}, ()),
    "expand": ("pd_op.expand_as", {"target_shape": "i32"}, ()),
    "kthvalue mode": ("pd_op.kthvalue", {"k": "i32"}, ()),
    "repeat_interleave": ("pd_op.repeat_interleave", {}, ("output_size",)),
    "F.leaky_relu": ("pd_op.leaky_relu", {"negative_slope": "f32"}, ()),
    "F.softplus": ("pd_op.softplus", {"beta": "f32", "threshold": "f32"}, ()),
    "logit": ("pd_op.logit", {"eps": "f32"}, ()),
    "pad": ("pd_op.pad3d", {"pad_value": "f32"}, ()),
    "group_norm": ("pd_op.group_norm", {"epsilon": "f32"}, ()),
    "interpolate bilinear": ("pd_op.bilinear_interp", {"scale": "f32"}, ()),
    "interpolate nearest": ("pd_op.nearest_interp", {"scale": "f32"}, ()),
    "lp_pool2d": ("pd_op.lp_pool2d", {"strides": "i32", "paddings": "i32"}, ()),
}


@pytest.mark.parametrize("name", OLDER)
@pytest.mark.parametrize("version", [1, 3])
def test_older_versions_of_operators(name, version):
    operator, kinds, absent = OLDER[name]
    row = json.loads(json.dumps(CASES[name]))
    row["program"]["base_code"]["version"] = version
    changed = 0
    for o in row["program"]["program"]["regions"][0]["blocks"][0]["ops"]:
        if o["#"] == operator.replace("pd_op.", "1."):
            o["A"] = [a for a in o["A"] if a["N"] not in absent]
            for a in o["A"]:
                if kind := kinds.get(a["N"]):
                    for part in a["AT"]["D"] if a["AT"]["#"] == "0.a_array" else [a["AT"]]:
                        part["#"] = f"0.a_{kind}"
            changed += 1
    assert changed
    program, _, outputs = program_of(pir.read(row["program"]), {})
    feeds = {n: array(x) for n, x in row["feeds"].items()}
    compare(paddle.static.Executor().run(program, feeds, outputs), [array(x) for x in row["results"]])


@pytest.mark.parametrize(
    ("name", "count", "attributes", "message"),
    [
        ("scale", 2, {"bias": Attribute("str", "one")}, "a number as attribute 'bias'"),
        ("scale", 2, {"bias": Attribute("array", ())}, "a number as attribute 'bias'"),
        ("gelu", 1, {"approximate": Attribute("str", "no")}, "a number as attribute 'approximate'"),
        ("rnn", 3, {"mode": Attribute("str", "NET")}, "one of .*'LSTM'.* is required, got 'NET'"),
        ("rnn", 3, {"mode": Attribute("f32", 1.0)}, "a text as attribute 'mode'"),
    ],
)
def test_attributes_of_another_kind(name, count, attributes, message):
    operands = [paddle.ones([1, 1, 1]), paddle.ones([1, 1, 1]), [paddle.ones([1, 1])] * 4][:count]
    with pytest.raises(FormatError, match=message):
        TABLE[f"pd_op.{name}"].call(Operation(f"pd_op.{name}", operands, attributes), operands)


@pytest.mark.parametrize(
    ("name", "operands", "message"),
    [
        ("unsqueeze", [Known(np.array([2, 3], dtype=object), "int64")], "an operand 'axis' is required"),
        ("tile", [Known(np.array([2, 3], dtype=object), "int64")], "an operand 'repeat_times' is required"),
        ("moving_average_abs_max_scale", [paddle.ones([2])], "a state and a sum of scales are required"),
    ],
)
def test_operands_that_are_not_there(name, operands, message):
    with pytest.raises(FormatError, match=message):
        TABLE[f"pd_op.{name}"].call(Operation(f"pd_op.{name}"), operands)
