"""Models from files, folders and bytes; damaged ones are refused; failures show the user's line."""

from __future__ import annotations

import json
import random
import shutil

import numpy as np
import pytest

import paddle
from paddle import inference
from paddle.inference import blame
from paddle.inference.loading import ModelNotFound, files_in, files_of


def works(config, saved, name="linear"):
    net, _ = saved(name)
    arrays = net.arrays(0)
    got = inference.create_predictor(config).run([paddle.to_tensor(x) for x in arrays])
    for a, b in zip(got, net.expected(arrays), strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-5, atol=1e-6)


@pytest.fixture
def copied(saved, tmp_path):
    """The files of a network under another name."""

    def copy(stem, name="linear"):
        for path in files_of(str(saved(name)[1])):
            if path:
                shutil.copy(path, tmp_path / (stem + path[path.rindex(".") :]))
        return tmp_path

    return copy


def test_by_two_files(saved):
    _, prefix = saved("linear")
    config = inference.Config()
    config.set_prog_file(f"{prefix}.json")
    config.set_params_file(f"{prefix}.pdiparams")
    assert (config.prog_file(), config.params_file()) == (f"{prefix}.json", f"{prefix}.pdiparams")
    works(config, saved)
    config = inference.Config()
    config.set_model(f"{prefix}.json", f"{prefix}.pdiparams")
    works(config, saved)


def test_a_file_of_parameters_that_is_not_there(saved, tmp_path):
    """Models without parameters are saved without one; all others need theirs."""
    paddle.jit.save(paddle.nn.ReLU(), str(tmp_path / "relu"), [paddle.static.InputSpec([None, 2], "float32", "x")])
    assert not (tmp_path / "relu.pdiparams").exists()
    config = inference.Config(str(tmp_path / "relu.json"), str(tmp_path / "relu.pdiparams"))
    (y,) = inference.create_predictor(config).run([paddle.to_tensor([[-1.0, 2.0]])])
    assert y.tolist() == [[0.0, 2.0]]
    config = inference.Config(f"{saved('linear')[1]}.json", str(tmp_path / "none"))
    with pytest.raises(ModelNotFound, match=r"\[Config\] requires a file '.*none' with the values of \d+ parameters"):
        inference.create_predictor(config)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_by_bytes(saved, kind):
    _, prefix = saved("linear")
    program, values = (prefix.with_suffix(end).read_bytes() for end in (".json", ".pdiparams"))
    config = inference.Config()
    config.set_model_buffer(kind(program), len(program), kind(values + b"more"), len(values))
    assert config.model_from_memory()
    works(config, saved)
    config = inference.Config()
    config.set_model_buffer(program.decode(), len(program), values, len(values))
    works(config, saved)


def test_without_parameters(saved):
    assert files_of(str(saved("branches")[1]))[1] == ""
    works(inference.Config(*files_of(str(saved("branches")[1]))), saved, "branches")
    program = saved("branches")[1].with_suffix(".json").read_bytes()
    config = inference.Config()
    config.set_model_buffer(program, len(program), b"", 0)
    works(config, saved, "branches")


def test_by_a_folder(saved, copied):
    folder = copied("some")
    works(inference.Config(str(folder)), saved)
    copied("inference")  # the usual name, beside another model
    assert files_in(str(folder))[0] == str(folder / "inference.json")
    (folder / "_optimized.json").write_text("{}")  # is no model of its own
    works(inference.Config(str(folder)), saved)


def test_folders_of_no_model_or_of_several(copied, tmp_path):
    with pytest.raises(ModelNotFound, match=r"one model in '.*': <name>.json or <name>.pdmodel, got \[\]"):
        inference.create_predictor(inference.Config(str(tmp_path)))
    copied("one")
    copied("two")
    with pytest.raises(ModelNotFound, match=r"got \['one.json', 'two.json'\]"):
        inference.create_predictor(inference.Config(str(tmp_path)))


@pytest.mark.parametrize("form", ["{0}", "{0}/some.json", "{0}/some"])
def test_what_a_path_stands_for(copied, form):
    folder = copied("some")
    assert files_of(form.format(folder)) == (str(folder / "some.json"), str(folder / "some.pdiparams"))


def test_a_path_that_stands_for_nothing(tmp_path):
    with pytest.raises(ModelNotFound, match=r"requires a model '.*nothing', got no file of"):
        files_of(str(tmp_path / "nothing"))


# --- damaged files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [".json", ".pdiparams"])
def test_truncated_files(copied, end):
    folder = copied("some")
    path = folder / f"some{end}"
    whole = path.read_bytes()
    for size in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=f"some{end}"):
            inference.create_predictor(inference.Config(str(folder)))


def test_mutated_files(copied, tmp_path):
    """Bytes that were changed: the model loads, or one error says that it does not."""
    folder = copied("some", "convolutions")
    rng = random.Random(1)
    refused = 0
    for end in (".json", ".pdiparams"):
        path = folder / f"some{end}"
        whole = path.read_bytes()
        for _ in range(7):
            data = bytearray(whole)
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            path.write_bytes(data)
            try:
                inference.create_predictor(inference.Config(str(folder)))
            except ValueError:
                refused += 1
        path.write_bytes(whole)
    assert refused > 4


def test_parameters_of_another_model(saved):
    program = f"{saved('linear')[1]}.json"
    with pytest.raises(ValueError, match=r"attention\.pdiparams"):
        inference.create_predictor(inference.Config(program, f"{saved('attention')[1]}.pdiparams"))


def test_parameters_that_are_missing(saved):
    with pytest.raises(ValueError, match="a value for"):
        inference.create_predictor(inference.Config(f"{saved('linear')[1]}.json", ""))


# --- the user's line -------------------------------------------------------------------------------------------------


def with_lines(program: dict, name: str, lines: list[str]) -> int:
    """Add the lines where operations of a name were written to a program; the number of such operations."""
    found = 0
    for o in program["program"]["regions"][0]["blocks"][0]["ops"]:
        if o["#"] == name:
            texts = [{"#": "0.a_str", "D": line} for line in lines]
            o["A"] = [a for a in o["A"] if a["N"] != "op_callstack"]
            o["A"].append({"N": "op_callstack", "AT": {"#": "0.a_array", "D": texts}})
            found += 1
    return found


LINES = ['File "net.py", line 7, in forward', "    return self.layer(a) + b"]


def test_a_failure_shows_the_line_of_the_user(copied):
    folder = copied("some", "attention")
    path = folder / "some.json"
    program = json.loads(path.read_bytes())
    assert with_lines(program, "1.embedding", LINES)
    path.write_text(json.dumps(program))
    predictor = inference.create_predictor(inference.Config(str(folder)))
    words = paddle.full([2, 6], 1 << 20, "int64")
    with pytest.raises(IndexError) as failure:
        predictor.run([words])
    text = str(failure.value)
    assert "requires an index from" in text and LINES[0] in text
    for _ in range(blame.MOST):  # what this costs is bounded
        with pytest.raises(IndexError) as failure:
            predictor.run([words])
    assert LINES[0] not in str(failure.value)
    predictor.run([words * 0])


def test_sizes_that_do_not_fit_show_the_line_of_the_user(copied):
    """Each time, since the program knows it."""
    folder = copied("some", "two_inputs")
    path = folder / "some.json"
    program = json.loads(path.read_bytes())
    assert with_lines(program, "1.add", LINES)
    operations = program["program"]["regions"][0]["blocks"][0]
    operations["ops"] = [o for o in operations["ops"] if o["#"] != "1.assert"]  # as files of PaddlePaddle have none
    path.write_text(json.dumps(program))
    predictor = inference.create_predictor(inference.Config(str(folder)))
    given = [paddle.ones([2, 4]), paddle.ones([3, 4])]
    for _ in range(blame.MOST + 2):
        with pytest.raises(ValueError, match="sizes a_0 and b_0 do not broadcast; got a_0 = 2, b_0 = 3") as failure:
            predictor.run(given)
        assert LINES[0] in str(failure.value)
    predictor.run([given[0], given[0]])


def test_a_failure_of_a_model_without_lines(copied):
    folder = copied("some", "two_inputs")
    path = folder / "some.json"
    program = json.loads(path.read_bytes())
    for o in program["program"]["regions"][0]["blocks"][0]["ops"]:
        if "A" in o and o["#"] != "p":
            o["A"] = [a for a in o["A"] if a["N"] != "op_callstack"]
    path.write_text(json.dumps(program))
    predictor = inference.create_predictor(inference.Config(str(folder)))
    with pytest.raises(ValueError, match="do not broadcast") as failure:
        predictor.run([paddle.ones([2, 4]), paddle.ones([3, 4])])
    assert "was written here" not in str(failure.value)
