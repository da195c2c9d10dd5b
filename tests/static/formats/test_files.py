"""Models in files: what a program is known by, where values are, what has other names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.static.formats import files, parameters, pir
from paddle.static.formats.graph import Module
from paddle.static.formats.record import input_types, missing_operators, output_names, parameter_names, program_of
from umiak.ir.serialise import FormatError

FOLDER = Path(__file__).parents[2] / "data" / "saved_layers"
RECORDED = dict(np.load(FOLDER / "results.npz"))


def document(name="methods"):
    return json.loads((FOLDER / f"{name}.json").read_bytes())


def test_what_a_module_has():
    module = files.read_program(FOLDER / "methods.scaled.json", "f")
    assert isinstance(module, Module)
    assert {n: (t.dtype, t.shape) for n, t in input_types(module).items()} == {
        "x": ("float32", (-1, 3)), "by": ("float32", (1,)),
    }  # fmt: skip
    assert output_names(module) == ["fetch_name_0"]
    assert sorted(parameter_names(module)) == ["linear_0.b_0", "linear_0.w_0"]
    assert missing_operators(module) == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", r"bytes of a program in \['JSON'.* are required, got b''"),
        (b"\x80\x04N.", "bytes of a program in"),
        (b"{", "a JSON document is required, got a damaged one"),
        (b"[1]", "a program in a format of .*'pir', 'umiak.static_program'.* is required, got 'list'"),
        (b'{"format": "x"}', "got 'x'"),
        (b'{"base_code": {"magic": "pir", "version": 99}}', "a version up to 4 is required, got 99"),
        (b"[" * 100_000, "a JSON document is required, got a damaged one"),
    ],
)
def test_what_is_no_program_is_refused(data, words):
    with pytest.raises(ValueError, match=words):
        files.read_program(data, "f")


def test_the_error_names_the_file(tmp_path):
    (tmp_path / "m.json").write_bytes(b"{}")
    with pytest.raises(ValueError, match=r"a program in .*m\.json that is whole"):
        files.read_program(tmp_path / "m.json", "f")


def test_where_the_files_of_a_model_are(tmp_path):
    prefix = str(tmp_path / "m")
    assert files.paths_of(prefix) == (prefix + ".json", None)
    (tmp_path / "m.pdmodel").touch()
    (tmp_path / "m.pdiparams").touch()
    assert files.paths_of(prefix) == (prefix + ".pdmodel", prefix + ".pdiparams")
    (tmp_path / "m.json").touch()
    assert files.paths_of(prefix)[0] == prefix + ".json"
    folder = str(tmp_path)
    assert files.paths_of(folder, "a", "b") == (str(tmp_path / "a"), str(tmp_path / "b"))
    assert files.paths_of(folder, "a") == (str(tmp_path / "a"), folder)
    (tmp_path / "__model__").touch()
    assert files.paths_of(folder) == (str(tmp_path / "__model__"), folder)
    (tmp_path / "__params__").touch()
    assert files.paths_of(folder) == (str(tmp_path / "__model__"), str(tmp_path / "__params__"))


def run(program, feeds, fetched, name="methods"):
    given = [v for k, v in RECORDED.items() if k.startswith(f"{name}:in:")]
    return paddle.static.Executor().run(program, dict(zip(feeds, given, strict=True)), fetched)[0]


def test_a_model_of_other_names_of_bytes_and_of_a_folder(tmp_path, programs):
    exe = paddle.static.Executor()
    program, values = ((FOLDER / f"methods.{end}").read_bytes() for end in ("json", "pdiparams"))
    expected = RECORDED["methods:out:0"]
    (tmp_path / "p").write_bytes(program)
    (tmp_path / "v").write_bytes(values)
    load = paddle.static.load_inference_model
    np.testing.assert_allclose(
        run(*load(str(tmp_path), exe, model_filename="p", params_filename="v")), expected, rtol=1e-5
    )
    np.testing.assert_allclose(run(*load(None, exe, model_filename=program, params_filename=values)), expected, 1e-5)
    names = parameter_names(files.read_program(program, "f"))
    for name, value in parameters.read(values, names).items():
        (tmp_path / name).write_bytes(parameters.write_one(value))
    np.testing.assert_allclose(run(*load(str(tmp_path), exe, model_filename="p")), expected, rtol=1e-5)


def test_values_come_later(programs):
    program = paddle.static.deserialize_program((FOLDER / "methods.json").read_bytes())
    exe = paddle.static.Executor()
    values = (FOLDER / "methods.pdiparams").read_bytes()
    with pytest.raises(RuntimeError, match=r"requires a value for '.*' in the scope|requires a value, got none"):
        run(program, ["x"], ["fetch_name_0"])
    paddle.static.deserialize_persistables(program, values, exe)
    np.testing.assert_allclose(run(program, ["x"], ["fetch_name_0"]), RECORDED["methods:out:0"], rtol=1e-5)
    with pytest.raises(ValueError, match="3 values are required"):
        paddle.static.deserialize_persistables(program, values[:32], exe)


def test_sizes_that_data_decide(tmp_path):
    made = document()
    ops = made["program"]["regions"][0]["blocks"][0]["ops"]
    ops[4:7] = [{"#": "1.nonzero", "I": [{"%": 4}], "O": [{"%": 7, "TT": ops[6]["O"][0]["TT"]}]}]
    (tmp_path / "m.json").write_text(json.dumps(made))
    (tmp_path / "m.pdiparams").write_bytes((FOLDER / "methods.pdiparams").read_bytes())
    prefix = str(tmp_path / "m")
    exe = paddle.static.Executor()
    loaded, feeds, fetched = paddle.static.load_inference_model(prefix, exe)
    found = exe.run(loaded, {feeds[0]: np.eye(2, 3, dtype="float32")}, fetched)
    assert found[0].tolist() == [[0, 0], [1, 1]]
    assert paddle.jit.load(prefix)(np.eye(2, 3, dtype="float32")).tolist() == [[0, 0], [1, 1]]


def test_two_models_in_scopes_of_their_own():
    model = files.read_model(FOLDER / "methods.json", FOLDER / "methods.pdiparams", "f")
    scopes = [paddle.static.Scope() for _ in range(2)]
    made = [program_of(model.program, {k: v * n for k, v in model.values.items()}, s) for n, s in enumerate(scopes)]
    for n, (s, (program, feeds, fetched)) in enumerate(zip(scopes, made, strict=True)):
        with paddle.static.scope_guard(s):
            np.testing.assert_allclose(run(program, feeds, fetched), RECORDED["methods:out:0"] * n, rtol=1e-5)


# Programs that were converted to a narrow type: their parameters are of it, and so is what they compute.
NARROW = {"float16": ("f16", 2e-2), "bfloat16": ("bf16", 1e-1)}


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", ["convolutions", "methods", "recurrent", "transformer"])
def test_narrow_types(name, dtype):
    short, tolerance = NARROW[dtype]
    module = pir.read(json.loads(json.dumps(document(name)).replace("0.t_f32", f"0.t_{short}").replace(
        '"D": "float32"', f'"D": "{dtype}"')))  # fmt: skip
    wide = parameters.read((FOLDER / f"{name}.pdiparams").read_bytes(), parameter_names(module))
    values = {k: paddle.to_tensor(v).astype(dtype) if v.dtype == "float32" else v for k, v in wide.items()}
    program, feeds, fetched = program_of(module, values)
    given = [v for k, v in RECORDED.items() if k.startswith(f"{name}:in:")]
    given = [paddle.to_tensor(v).astype(dtype) if v.dtype == "float32" else v for v in given]
    results = paddle.static.Executor().run(program, dict(zip(feeds, given, strict=True)), fetched, return_numpy=False)
    for k, y in enumerate(results):
        assert y.dtype.name == dtype
        expected = RECORDED[f"{name}:out:{k}"]
        np.testing.assert_allclose(y.astype("float32").numpy(), expected, tolerance, tolerance * np.abs(expected).max())


def changed(change):
    made = document()
    change(made["program"]["regions"][0]["blocks"][0]["ops"])
    return pir.read(made)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda ops: ops[-1]["I"][0].update({"%": 99}), r"operation \d+, pd_op.fetch: the value %99 is required"),
        (lambda ops: ops[0]["A"].__setitem__(3, "other"), "a value for 'other' is required, got those of"),
        (lambda ops: ops.append(json.loads(json.dumps(ops[3]))), "inputs with a name and a type each"),
        (lambda ops: ops[4]["I"].pop(), r"operation 4, pd_op.matmul: an operand 'y' is required, got none"),
        (lambda ops: ops[4]["I"].append({"%": 3}), "operation 4, pd_op.matmul: at most 2 operands are required, got 3"),
        (lambda ops: ops[4].update({"#": "1.slice"}), "operation 4, pd_op.slice: "),
        (lambda ops: ops[4]["I"].reverse(), r"operation 5, pd_op.add: .* requires shapes that broadcast"),
        (
            lambda ops: ops[-1]["A"][0]["AT"].update({"#": "0.a_i32", "D": 5}),
            r"names of results are required, got \[5\]",
        ),
    ],
)
def test_a_program_that_does_not_go_together_is_refused(change, words):
    values = files.read_model(FOLDER / "methods.json", FOLDER / "methods.pdiparams", "f").values
    with pytest.raises(FormatError, match=words):
        program_of(changed(change), values)
