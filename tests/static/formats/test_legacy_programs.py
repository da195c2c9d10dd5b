"""Programs that the reference saved as its version 2 did give what they gave there, in each form of files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import paddle
from paddle.static.formats import parameters, record
from paddle.static.formats.graph import TensorType
from paddle.static.formats.legacy import program
from paddle.static.formats.legacy.translate import read_pdmodel
from umiak.ir.serialise import FormatError

RECORDED = np.load(Path(__file__).parents[2] / "data/legacy_programs.npz")
NAMES = sorted({key.partition("/")[0] for key in RECORDED.files} - {"separate"})


def recorded(name: str) -> bytes:
    return RECORDED[name].tobytes()


def runs(name: str) -> list[tuple[dict[str, np.ndarray], list[np.ndarray]]]:
    """What a program was fed, and what it gave."""
    found: dict[int, tuple[dict[str, np.ndarray], list[np.ndarray]]] = {}
    for key in RECORDED.files:
        if part := re.fullmatch(rf"{name}/(in|out)/(\d+)/(.+)", key):
            fed, given = found.setdefault(int(part[2]), ({}, []))
            if part[1] == "in":
                fed[part[3]] = RECORDED[key]
            else:
                given.append(RECORDED[key])
    return [found[i] for i in sorted(found)]


def compare(given: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(given) == len(expected)
    for y, z in zip(given, expected, strict=True):
        assert y.shape == z.shape
        assert y.dtype == z.dtype
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-5)


def check(name: str, model: list[Any]) -> None:
    made, feeds, fetched = model
    executor = paddle.static.Executor()
    for fed, expected in runs(name):
        assert set(feeds) == set(fed)
        compare(executor.run(made, feed=fed, fetch_list=fetched), expected)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "detection"])
def test_a_program_and_its_values(programs: object, tmp_path: Path, name: str) -> None:
    (tmp_path / "m.pdmodel").write_bytes(recorded(f"{name}/program"))
    if values := recorded(f"{name}/values"):
        (tmp_path / "m.pdiparams").write_bytes(values)
    check(name, paddle.static.load_inference_model(str(tmp_path / "m"), paddle.static.Executor()))


def test_sizes_from_data() -> None:
    """How many boxes are left is known at run time: operations are called one by one."""
    module = read_pdmodel(recorded("detection/program"))
    values = parameters.read(recorded("detection/values"), record.parameter_names(module))
    given = {k: paddle.to_tensor(v) for k, v in values.items()}
    for fed, expected in runs("detection"):
        found = record.Values(module, given, {k: paddle.to_tensor(v) for k, v in fed.items()}).run()
        compare([y.numpy() for y in found], expected)


def test_a_folder_with_one_file_of_values(programs: object, tmp_path: Path) -> None:
    (tmp_path / "__model__").write_bytes(recorded("images/program"))
    (tmp_path / "__params__").write_bytes(recorded("images/values"))
    check("images", paddle.static.load_inference_model(str(tmp_path), paddle.static.Executor()))


def test_a_folder_with_a_file_for_each_parameter(programs: object, tmp_path: Path) -> None:
    (tmp_path / "__model__").write_bytes(recorded("fluid/program"))
    for key in RECORDED.files:
        if key.startswith("separate/"):
            (tmp_path / key.removeprefix("separate/")).write_bytes(recorded(key))
    check("fluid", paddle.static.load_inference_model(str(tmp_path), paddle.static.Executor()))


def test_other_names_in_a_folder(programs: object, tmp_path: Path) -> None:
    (tmp_path / "graph").write_bytes(recorded("attention/program"))
    (tmp_path / "weights").write_bytes(recorded("attention/values"))
    model = paddle.static.load_inference_model(
        str(tmp_path), paddle.static.Executor(), model_filename="graph", params_filename="weights"
    )
    check("attention", model)


def test_bytes(programs: object) -> None:
    model = paddle.static.load_inference_model(
        None,
        paddle.static.Executor(),
        model_filename=recorded("images/program"),
        params_filename=recorded("images/values"),
    )
    check("images", model)


# --- operators as they were


def version_of(o: program.Operator, **names: tuple[int, ...]) -> bytes:
    """A program of one operator: its inputs, float tensors of these sizes, are fed, and its first result is fetched."""
    feeds, variables = [], {}
    for i, (name, sizes) in enumerate(names.items()):
        variables[name] = program.Variable(name, program.DENSE, TensorType("float32", sizes))
        feeds.append(program.Operator("feed", {"X": ["feed"]}, {"Out": [name]}, {"col": i}, {"col": 0}))
    out = next(iter(o.outputs.values()))[0]
    variables[out] = program.Variable(out, program.DENSE, TensorType("float32", (-1,)))
    fetch = program.Operator("fetch", {"X": [out]}, {"Out": ["fetch"]}, {"col": 0}, {"col": 0})
    return program.write(
        program.LegacyProgram([program.LegacyBlock(-1, variables, [*feeds, o, fetch])], 1008005, {o.type: 0})
    )


def operator(kind: str, inputs: str, attributes: dict[str, tuple[int, Any]]) -> program.Operator:
    slots = dict(x.split("=") for x in inputs.split())
    return program.Operator(
        kind, {k: [v] for k, v in slots.items()}, {"Out": ["out"]}, {k: v for k, (_, v) in attributes.items()},
        {k: n for k, (n, _) in attributes.items()},
    )  # fmt: skip


X = np.arange(6, dtype="float32").reshape(2, 3) - 2
# Operators of versions before an attribute was added, or got its name, and what they give for X.
OLDER = {
    "roll, dims": (operator("roll", "X=x", {"shifts": (11, [1]), "dims": (11, [1])}), np.roll(X, 1, 1)),
    "roll, none": (operator("roll", "X=x", {"shifts": (11, [1])}), np.roll(X.ravel(), 1).reshape(2, 3)),
    "flip, dims": (operator("flip", "X=x", {"dims": (3, [0])}), X[::-1]),
    "trace, dim1": (operator("trace", "Input=x", {"offset": (0, 1), "dim1": (0, 1), "dim2": (0, 0)}), np.trace(X.T, 1)),
    "softplus without beta": (operator("softplus", "X=x", {}), np.log1p(np.exp(X))),
    "cumsum without flatten": (operator("cumsum", "X=x", {"axis": (0, 0)}), np.cumsum(X, 0)),
    "gather without axis": (operator("gather", "X=x Index=i", {}), X[[1, 0]]),
    "clip without tensors": (operator("clip", "X=x", {"min": (1, -1.0), "max": (1, 2.0)}), X.clip(-1, 2)),
    "lookup_table": (operator("lookup_table", "W=x Ids=j", {}), X[[1, 0]]),
    "top_k": (operator("top_k", "X=x", {"k": (0, 2)}), X[:, :0:-1]),
    "transpose": (operator("transpose", "X=x", {"axis": (3, [1, 0])}), X.T),
    "reshape": (operator("reshape", "X=x", {"shape": (3, [3, 2])}), X.reshape(3, 2)),
    "expand": (operator("expand", "X=x", {"expand_times": (3, [1, 2])}), np.tile(X, (1, 2))),
    "one_hot": (operator("one_hot", "X=j", {"depth": (0, 3)}), np.eye(3, dtype="float32")[[1, 0]]),
    "flatten": (operator("flatten", "X=x", {"axis": (0, 0)}), X.reshape(1, 6)),
    "isfinite": (operator("isfinite", "X=x", {}), True),
    "fc": (operator("fc", "Input=x W=w Bias=b", {"activation_type": (2, "relu")}), [[0, 0], [7, 7]]),
    "allclose, floats": (operator("allclose", "Input=x Other=x", {"rtol": (1, 0.0), "atol": (1, 0.0)}), True),
    "assign_value, by type": (
        operator("assign_value", "", {"shape": (3, [2]), "dtype": (0, 2), "int32_values": (3, [3, 4])}), [3, 4],
    ),
}  # fmt: skip
FED: dict[str, np.ndarray] = {
    "x": X, "i": np.array([1, 0]), "j": np.array([[1], [0]]), "w": np.ones((3, 2), "float32"),
    "b": np.ones(2, "float32"),
}  # fmt: skip


@pytest.mark.parametrize("name", OLDER)
def test_an_operator_as_it_was(name: str) -> None:
    o, expected = OLDER[name]
    names = {n for slot in o.inputs.values() for n in slot}
    module = read_pdmodel(version_of(o, **{n: FED[n].shape for n in FED if n in names}))
    assert module.version == 1008005
    (found,) = record.Values(module, {}, {n: paddle.to_tensor(FED[n]) for n in names}).run()
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_unknown_operators_are_named() -> None:
    """All of them, at once."""
    ops = [program.Operator(kind) for kind in ("relu", "made_up", "another")]
    data = program.write(program.LegacyProgram([program.LegacyBlock(-1, {}, ops)]))
    with pytest.raises(FormatError, match=r"another, made_up$"):
        read_pdmodel(data)


def test_an_error_names_the_operator_and_its_result(tmp_path: Path, programs: object) -> None:
    (tmp_path / "m.pdmodel").write_bytes(version_of(operator("concat", "", {}), x=(2, 3)))
    with pytest.raises(
        ValueError, match=r"m.pdmodel .*operator 'concat', which makes 'out': its input 'X' is required"
    ):
        paddle.static.load_inference_model(str(tmp_path / "m"), paddle.static.Executor())
