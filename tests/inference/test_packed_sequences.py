"""Models of PaddlePaddle 2.6 over packed sequences, and in its older operators, give what they gave there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import paddle
from paddle import inference
from paddle.inference.serve.application import Limits, Model, takes_batches
from paddle.static.formats.legacy import program as legacy
from paddle.static.formats.legacy.translate import module_of as legacy_module
from tests.support.older_models import Recorded

RECORDED = Recorded("sequence_programs")
arrays, offsets, predictor = RECORDED.arrays, RECORDED.offsets, RECORDED.predictor

# A result of one row for each sequence, which still has the offsets of the items in PaddlePaddle.
_NOT_OF_ROWS = {"fused_over_sequences": frozenset({4})}


@pytest.mark.parametrize("name", RECORDED.names)
def test_a_program(tmp_path: Path, name: str) -> None:
    made = predictor(tmp_path, name)
    assert sorted(made.get_input_names()) == sorted(arrays(f"{name}/in"))
    for _ in range(2):
        made.run()
        RECORDED.check(name, made, _NOT_OF_ROWS.get(name, frozenset()))


def test_offsets_that_are_none(tmp_path: Path) -> None:
    handle = predictor(tmp_path, "pooled").get_input_handle("x")
    assert handle.lod() == [[0, 3, 4, 8]]
    for wrong in ([[1, 8]], [[0, 5, 3, 8]], [[]]):
        with pytest.raises(ValueError, match="offsets that begin with 0, grow, and end with the number"):
            handle.set_lod(wrong)
    with pytest.raises(ValueError, match="1 levels of offsets of 'x'"):
        handle.set_lod([[0, 1], [0, 8]])


def test_two_levels_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="offsets that begin with 0"):
        predictor(tmp_path, "pooled_twice").get_input_handle("x").set_lod([[0, 2], [0, 3, 4, 8]])


def test_offsets_have_to_be_there_and_to_fit_the_rows(tmp_path: Path) -> None:
    made = predictor(tmp_path, "pooled")
    handle = made.get_input_handle("x")
    handle.set_lod([[0, 7]])
    with pytest.raises(ValueError, match="offsets of 'x' that end with its 8 rows"):
        made.run()
    handle.set_lod([])
    with pytest.raises(RuntimeError, match=r"offsets for the input 'x', got none.*set_lod"):
        made.run()


def test_tensors_in_and_out_and_clones(tmp_path: Path) -> None:
    made = predictor(tmp_path, "concatenated")
    given = [paddle.to_tensor(RECORDED[f"concatenated/in/{k}"]) for k in made.get_input_names()]
    found = made.run(given)
    assert len(found) == 2
    other = made.clone()
    for k in made.get_input_names():
        other.get_input_handle(k).set_lod(offsets("concatenated", f"lod/{k}"))
    for y, z in zip(found, other.run(given), strict=True):
        np.testing.assert_array_equal(y.numpy(), z.numpy())
    np.testing.assert_allclose(found[0].numpy(), RECORDED["concatenated/out/0"], rtol=1e-6)


def test_other_sequences_in_the_next_run(tmp_path: Path) -> None:
    made = predictor(tmp_path, "tagger")
    handle = made.get_input_handle("ids")
    handle.set_lod([[0, 8]])
    made.run()
    whole = made.get_output_handle(made.get_output_names()[0])
    assert whole.lod() == [[0, 8]]
    handle.copy_from_cpu(np.array([[1], [4]], "int64"))
    handle.set_lod([[0, 0, 2]])
    made.run()
    assert whole.shape() == [2, 1]
    assert whole.lod() == [[0, 0, 2]]


def test_executors_and_loaded_layers_take_offsets_as_inputs(tmp_path: Path) -> None:
    predictor(tmp_path, "pooled")
    x, levels = RECORDED["pooled/in/x"], RECORDED["pooled/lod/x/0"]
    layer = paddle.jit.load(str(tmp_path / "m"))
    (first, *_) = layer(paddle.to_tensor(x), paddle.to_tensor(levels))
    np.testing.assert_allclose(first.numpy(), RECORDED["pooled/out/0"], rtol=1e-6)
    paddle.enable_static()
    try:
        executor = paddle.static.Executor()
        made, feeds, fetched = paddle.static.load_inference_model(str(tmp_path / "m"), executor)
        assert feeds == ["x", "x@LOD@0"]
        first = executor.run(made, feed={"x": x, "x@LOD@0": levels}, fetch_list=fetched)[0]
    finally:
        paddle.disable_static()
    np.testing.assert_allclose(first, RECORDED["pooled/out/0"], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "outer", "inner"),
    [
        ("pooled", None, [0, 3, 4, 7]), ("pooled", None, [0, 3, 100]), ("pooled", None, [1, 8]), ("gru", None, []),
        ("softmax_of_sequences", None, [0, 5, 4, 8]), ("convolved", None, [0, 2**62, 8]), ("pooled", None, [8]),
        ("pooled_twice", [0, 2], [0, 3, 4, 8]), ("pooled_twice", [0, 2, 3], [0, 3, 4, 9]),
    ],
)  # fmt: skip
def test_offsets_that_are_fed_have_to_fit(tmp_path: Path, name: str, outer: list[int] | None, inner: list[int]) -> None:
    """Results of other offsets would be of rows that no sequence has."""
    predictor(tmp_path, name)
    layer = paddle.jit.load(str(tmp_path / "m"))
    levels = [np.array(level, "int64") for level in (outer, inner) if level is not None]
    given = {"x": RECORDED[f"{name}/in/x"]} | {f"x@LOD@{i}": level for i, level in enumerate(levels)}
    others = {k: v for k, v in arrays(f"{name}/in").items() if k != "x"}
    with pytest.raises(
        ValueError, match=r"requires offsets 'x@LOD@\d' that begin with 0, grow, and end with the number"
    ):
        layer(**given, **others)


def test_parts_have_to_lie_within_their_sequences(tmp_path: Path) -> None:
    """They would be rows of other sequences."""
    made = predictor(tmp_path, "sliced")
    made.get_input_handle("length").copy_from_cpu(RECORDED["sliced/in/length"] + 3)
    with pytest.raises(ValueError, match=r"\[sequence_slice\] requires parts that lie within their sequences"):
        made.run()


def test_offsets_of_other_tensors_have_to_fit(tmp_path: Path) -> None:
    made = predictor(tmp_path, "packed_anew")
    handle = made.get_input_handle("y")
    rows = handle.shape()
    handle.copy_from_cpu(np.ones([5, *rows[1:]], "float32"))
    handle.set_lod([[0, 2, 5]])
    with pytest.raises(ValueError, match="offsets 'y' that begin with 0, grow, and end with the number of rows"):
        made.run()


def test_results_that_are_sequences_are_not_saved_optimised(tmp_path: Path) -> None:
    predictor(tmp_path, "pooled_twice")
    config = inference.Config(str(tmp_path / "m.pdmodel"), "")
    config.set_optim_cache_dir(str(tmp_path / "kept"))
    config.enable_save_optim_model(True)
    with pytest.raises(ValueError, match="requires results that are no packed sequences, to save a model optimised"):
        inference.create_predictor(config)


def recolumned(folder: Path, name: str, columns: list[int]) -> Any:
    read = legacy.read(RECORDED[f"{name}/program"].tobytes())
    fetches = [o for o in read.blocks[0].operators if o.type == "fetch"]
    for o, column in zip(fetches, columns, strict=True):
        o.attributes["col"] = column
    (folder / "m.pdmodel").write_bytes(legacy.write(read))
    return inference.create_predictor(inference.Config(str(folder / "m.pdmodel"), ""))


def test_columns_of_results_need_not_follow_each_other(tmp_path: Path) -> None:
    """Offsets of results are fetched behind all of them."""
    made = recolumned(tmp_path, "suppressed", [1])
    for key, x in arrays("suppressed/in").items():
        made.get_input_handle(key).copy_from_cpu(x)
    made.run()
    handle = made.get_output_handle(made.get_output_names()[0])
    np.testing.assert_allclose(handle.copy_to_cpu(), RECORDED["suppressed/out/0"], rtol=1e-5)
    assert handle.lod() == offsets("suppressed", "outlod/0")


def test_two_results_of_one_column(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"results at different places are required, got columns \[0, 0, 1"):
        recolumned(tmp_path, "pooled", [0, 0, 1, 2, 3, 4])


def test_servers_do_not_join_requests_over_sequences(tmp_path: Path) -> None:
    made = predictor(tmp_path, "row_convolution")
    assert not takes_batches(made)


def test_servers_take_offsets_as_inputs_of_requests(tmp_path: Path) -> None:
    served = Model(predictor(tmp_path, "pooled_twice"), Limits(predictors=2))
    rows, levels = RECORDED["pooled_twice/in/x"], [RECORDED[f"pooled_twice/lod/x/{i}"] for i in range(2)]
    assert list(served.inputs) == ["x", "x@LOD@0", "x@LOD@1"]
    try:
        for _ in range(3):
            *found, pooled = asyncio.run(served.predict([rows, *levels]))
            for i, y in enumerate(found):
                np.testing.assert_allclose(y, RECORDED[f"pooled_twice/out/{i}"], rtol=1e-6)
            assert pooled.tolist() == offsets("pooled_twice", "outlod/0")[0]
        with pytest.raises(ValueError, match="offsets of 'x' that end with its 8 rows"):
            asyncio.run(served.predict([rows, levels[0], levels[1] + np.array([0, 0, 0, 1])]))
    finally:
        served.close()


@pytest.mark.parametrize("name", ["tagger", "suppressed"])
def test_servers_give_offsets_of_results(tmp_path: Path, name: str) -> None:
    made = predictor(tmp_path, name)
    served = Model(made, Limits())
    given = dict(arrays(f"{name}/in"))
    levels = {f"{k}@LOD@{i}": np.array(x) for k in given for i, x in enumerate(offsets(name, f"lod/{k}"))}
    try:
        found = asyncio.run(served.predict([(given | levels)[k] for k in served.inputs]))
    finally:
        served.close()
    results = dict(zip(served.outputs, found, strict=True))
    for i, key in enumerate(made.get_output_names()):
        np.testing.assert_allclose(results[key], RECORDED[f"{name}/out/{i}"], rtol=1e-5)
        assert results[f"{key}@LOD@0"].tolist() == offsets(name, f"outlod/{i}")[0]


def attributed(folder: Path, name: str, type: str, attribute: str, value: Any) -> Any:
    """A predictor of a program with another attribute of its operators of a type."""
    (path, values), read = RECORDED.write(folder, name), legacy.read(RECORDED[f"{name}/program"].tobytes())
    for o in read.walk():
        if o.type == type:
            o.attributes[attribute] = value
    (folder / "m.pdmodel").write_bytes(legacy.write(read))
    made = inference.create_predictor(inference.Config(path, values))
    for key, x in arrays(f"{name}/in").items():
        made.get_input_handle(key).copy_from_cpu(x)
        made.get_input_handle(key).set_lod(offsets(name, f"lod/{key}"))
    return made


def test_paddings_below_the_longest_sequence(tmp_path: Path) -> None:
    """It was cut, which PaddlePaddle refuses."""
    made = attributed(tmp_path, "reversed_and_padded", "sequence_pad", "padded_length", 3)
    with pytest.raises(ValueError, match=r"\[sequence_pad\] requires a padded_length of at least .* the longest"):
        made.run()


def test_distances_between_other_numbers_of_sequences(tmp_path: Path) -> None:
    made = predictor(tmp_path, "distances")
    handle = made.get_input_handle(made.get_input_names()[0])
    handle.set_lod([[0, handle.shape()[0]]])
    with pytest.raises(ValueError, match="requires as many hypotheses as references"):
        made.run()


def test_words_that_are_pooled_stand_in_one_column(tmp_path: Path) -> None:
    read = legacy.read(RECORDED["fused_over_sequences/program"].tobytes())
    (o,) = (o for o in read.walk() if o.type == "fused_embedding_seq_pool")
    v = read.blocks[0].variables[o.reads("Ids")]
    assert v.type is not None
    v.type = v.type._replace(shape=(-1, 2))
    with pytest.raises(ValueError, match=r"words in one column as its input 'Ids' are required, got sizes \[-1, 2\]"):
        legacy_module(read)
