"""Models of PaddlePaddle 1.x that decode sentences, or recur over sequences and steps, give what 2.6 computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import paddle
from paddle import inference
from paddle.static.formats.legacy import program as legacy
from tests.support.older_models import Recorded

RECORDED = Recorded("decoding_programs")


@pytest.mark.parametrize("name", RECORDED.names)
def test_a_program(tmp_path: Path, name: str) -> None:
    made = RECORDED.predictor(tmp_path, name)
    assert sorted(made.get_input_names()) == sorted(RECORDED.arrays(f"{name}/in"))
    for _ in range(2):
        made.run()
        RECORDED.check(name, made)


@pytest.mark.parametrize("name", ["translation", "recurrence_over_ranks", "steps_backwards", "sequences_of_two_ways"])
def test_loaded_layers(tmp_path: Path, name: str) -> None:
    RECORDED.write(tmp_path, name)
    given = dict(RECORDED.arrays(f"{name}/in"))
    for k in list(given):
        given |= {f"{k}@LOD@{i}": np.array(x) for i, x in enumerate(RECORDED.offsets(name, f"lod/{k}"))}
    found = paddle.jit.load(str(tmp_path / "m"))(**given)
    for i, y in enumerate(found if isinstance(found, (list, tuple)) else [found]):
        np.testing.assert_allclose(y.numpy(), RECORDED[f"{name}/out/{i}"], rtol=1e-5, atol=1e-5)


def changed(folder: Path, name: str, change: Callable[[legacy.LegacyProgram], None]) -> Any:
    """A predictor of a program after a change."""
    path, values = RECORDED.write(folder, name)
    read = legacy.read(Path(path).read_bytes())
    change(read)
    Path(path).write_bytes(legacy.write(read))
    made = inference.create_predictor(inference.Config(path, values))
    for k in RECORDED.arrays(f"{name}/in"):
        made.get_input_handle(k).copy_from_cpu(RECORDED[f"{name}/in/{k}"])
        made.get_input_handle(k).set_lod(RECORDED.offsets(name, f"lod/{k}"))
    return made


def operators(read: legacy.LegacyProgram, type: str) -> list[legacy.Operator]:
    return [o for o in read.walk() if o.type == type]


@pytest.mark.parametrize("name", ["steps_of_one_length", "steps_backwards"])
def test_steps_whose_number_is_open(tmp_path: Path, name: str) -> None:
    def opened(read: legacy.LegacyProgram) -> None:
        for v in read.blocks[0].variables.values():
            if v.fed and v.type is not None and len(v.type.shape) == 3:
                v.type = v.type._replace(shape=(-1, *v.type.shape[1:]))

    made = changed(tmp_path, name, opened)
    made.run()
    RECORDED.check(name, made)
    for k, x in RECORDED.arrays(f"{name}/in").items():
        made.get_input_handle(k).copy_from_cpu(x[-1:] if x.ndim == 3 else x)  # a step alone is that one at the end
    made.run()
    found = made.get_output_handle(made.get_output_names()[0]).copy_to_cpu()
    assert len(found) == 1
    if name == "steps_backwards":
        np.testing.assert_allclose(found[0], RECORDED[f"{name}/out/0"][-1], rtol=1e-5)


def test_inputs_of_as_many_steps_are_required(tmp_path: Path) -> None:
    def opened(read: legacy.LegacyProgram) -> None:
        for k in ("x", "other"):
            v = read.blocks[0].variables[k]
            v.type = v.type._replace(shape=(-1, *v.type.shape[1:]))

    made = changed(tmp_path, "steps_backwards", opened)
    made.get_input_handle("other").copy_from_cpu(RECORDED["steps_backwards/in/other"][:3])
    with pytest.raises(ValueError, match=r"requires \w+_0 == \w+_0; got other_0 = 3, x_0 = 4"):
        made.run()


def test_levels_that_differ_around_a_loop(tmp_path: Path) -> None:
    """Nobody may read offsets that a value has in some iterations alone."""

    def reset(read: legacy.LegacyProgram) -> None:
        (loop,) = operators(read, "while")
        (assign,) = (o for o in read.blocks[loop.block].operators if o.type == "assign")
        assign.type, assign.attributes["pooltype"], assign.kinds["pooltype"] = "sequence_pool", "SUM", 2

    with pytest.raises(ValueError, match="sequences of as many levels are required on each way that a program may go"):
        changed(tmp_path, "branches_over_sequences", reset)


@pytest.mark.parametrize(
    ("name", "type", "attribute", "value", "message"),
    [
        ("selected", "beam_search", "beam_size", 0, "requires a beam_size of 1 to 65536, got 0"),
        ("selected", "beam_search", "beam_size", 1 << 30, "requires a beam_size of 1 to 65536"),
        ("selected", "beam_search", "level", 2, "a level of the sequences of its input 'scores' is required, got 2 of"),
        ("translation", "beam_search_decode", "beam_size", 2, r"at most 2 sentences of a source \(beam_size\), got 3"),
        ("rows_of_two_ways", "split_lod_tensor", "level", 1, "a level of 0 is required, got 1"),
        (
            "recurrence_over_ranks",
            "lod_rank_table",
            "level",
            1,
            "a level of the sequences of its input 'X' is required",
        ),
        ("steps_backwards", "recurrent", "states", [], "as many memories at each place are required, got 2 and 2 that"),
    ],
)
def test_attributes_that_do_not_fit(
    tmp_path: Path, name: str, type: str, attribute: str, value: Any, message: str
) -> None:
    def change(read: legacy.LegacyProgram) -> None:
        for o in operators(read, type):
            o.attributes[attribute] = value

    with pytest.raises((ValueError, RuntimeError), match=message):
        changed(tmp_path, name, change).run()


def test_ranks_of_other_sequences(tmp_path: Path) -> None:
    """Memories have a row for each sequence that was ranked."""

    def opened(read: legacy.LegacyProgram) -> None:
        v = read.blocks[0].variables["first"]
        v.type = v.type._replace(shape=(-1, *v.type.shape[1:]))

    made = changed(tmp_path, "recurrence_over_ranks", opened)
    made.get_input_handle("first").copy_from_cpu(RECORDED["recurrence_over_ranks/in/first"][:3])
    with pytest.raises(IndexError, match=r"\[sequence_by_rank\] requires an index from -3 to 2, got"):
        made.run()


@pytest.mark.parametrize(
    ("type", "slot", "other", "message"),
    [
        ("lod_tensor_to_array", "RankTable", "first", "requires ranks of sequences, as lod_rank_table makes them"),
        ("array_to_lod_tensor", "RankTable", "first", "requires ranks of sequences, as lod_rank_table makes them"),
        ("array_to_lod_tensor", "X", "first", r"requires steps of \[4, 3, 1, 1\] sequences, as its ranks have them"),
        (
            "array_to_lod_tensor",
            "RankTable",
            None,
            r"\[run\] requires a program whose .* together: operation \d+, pd_op",
        ),
    ],
)
def test_operands_that_are_no_ranks_and_no_lists(
    tmp_path: Path, type: str, slot: str, other: str | None, message: str
) -> None:
    def change(read: legacy.LegacyProgram) -> None:
        for o in operators(read, type):
            o.inputs[slot] = o.inputs["X"] if other is None else [other]

    with pytest.raises(ValueError, match=message):
        changed(tmp_path, "recurrence_over_ranks", change).run()


def test_a_place_behind_a_list(tmp_path: Path) -> None:
    def change(read: legacy.LegacyProgram) -> None:
        o = next(o for o in operators(read, "fill_constant") if o.attributes["dtype"] == 3)
        o.attributes["value"] = 7.0

    with pytest.raises((ValueError, IndexError), match=r"a place (of at most|below) "):
        changed(tmp_path, "translation", change).run()
