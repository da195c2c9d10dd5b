"""Programs that the reference saved as its version 2 did give what they gave there, in each form of files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import paddle
from paddle.static.formats import parameters, record
from paddle.static.formats.legacy import program
from paddle.static.formats.legacy.translate import read_pdmodel
from tests.support.legacy_calls import file_of
from umiak.ir.serialise import FormatError

RECORDED = np.load(Path(__file__).parents[2] / "data/legacy_programs.npz")
NAMES = sorted({key.partition("/")[0] for key in RECORDED.files} - {"separate"})


FROM_DATA = "detection", "proposals", "decoder"  # data decide sizes, or how often a loop runs that fills a list


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


@pytest.mark.parametrize("name", [n for n in NAMES if n not in FROM_DATA])
def test_a_program_and_its_values(programs: object, tmp_path: Path, name: str) -> None:
    (tmp_path / "m.pdmodel").write_bytes(recorded(f"{name}/program"))
    if values := recorded(f"{name}/values"):
        (tmp_path / "m.pdiparams").write_bytes(values)
    check(name, paddle.static.load_inference_model(str(tmp_path / "m"), paddle.static.Executor()))


@pytest.mark.parametrize("name", FROM_DATA)
def test_sizes_from_data(name: str) -> None:
    """Operations are called one by one."""
    module = read_pdmodel(recorded(f"{name}/program"))
    values = parameters.read(recorded(f"{name}/values"), record.parameter_names(module))
    given = {k: paddle.to_tensor(v) for k, v in values.items()}
    for fed, expected in runs(name):
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


def test_unknown_operators_are_named() -> None:
    """All of them, at once."""
    ops = [program.Operator(kind) for kind in ("relu", "made_up", "another")]
    data = program.write(program.LegacyProgram([program.LegacyBlock(-1, {}, ops)]))
    with pytest.raises(FormatError, match=r"another, made_up$"):
        read_pdmodel(data)


def test_an_error_names_the_operator_and_its_result(tmp_path: Path, programs: object) -> None:
    (tmp_path / "m.pdmodel").write_bytes(file_of("concat", {}))
    with pytest.raises(
        ValueError, match=r"m.pdmodel .*operator 'concat', which makes 'Out': its input 'X' is required"
    ):
        paddle.static.load_inference_model(str(tmp_path / "m"), paddle.static.Executor())
