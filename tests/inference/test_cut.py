"""Models in which data decide what is called: a compiled part, and operations that are called one by one behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import paddle
from paddle.inference import Config, create_predictor
from paddle.static.formats.cut import cut
from paddle.static.formats.graph import DATA, FETCH, PARAMETER, TensorType
from paddle.static.formats.legacy import program
from paddle.static.formats.legacy.translate import module_of
from paddle.static.formats.parameters import write
from tests.support.legacy_calls import operator

RECORDED = np.load(Path(__file__).parents[1] / "data/legacy_programs.npz")
W, B = np.arange(6, dtype="float32").reshape(3, 2) - 2, np.array([0.5, -0.5], "float32")


def named(kind: str, inputs: dict[str, list[str]], out: str, **attributes: Any) -> program.Operator:
    made = operator(kind, inputs, **attributes)
    made.outputs = {"Out": [out]}
    return made


def rows_above_zero() -> program.LegacyProgram:
    """Those rows of ``x @ w + b`` whose first number is positive, times b; and all of them.

    b is expanded to as many rows as a number says, which might be -1: the size that is there.
    """
    variables = {
        name: program.Variable(name, program.DENSE, TensorType(dtype, shape), persistable=name in "wb")
        for name, dtype, shape in (
            ("x", "float32", (-1, 3)), ("w", "float32", (3, 2)), ("b", "float32", (2,)), ("y", "float32", (-1, 2)),
            ("z", "float32", (-1, 2)), ("first", "float32", (-1,)), ("zero", "float32", (1,)), ("mask", "bool", (-1,)),
            ("where", "int64", (-1, 1)), ("kept", "float32", (-1, 2)), ("out", "float32", (-1, 2)),
            ("ones", "int64", (-1,)), ("count", "int64", (1,)), ("two", "int64", (1,)), ("size", "int64", (2,)),
            ("rows", "float32", (-1, 2)),
        )
    }  # fmt: skip
    ops = [
        named("feed", {"X": ["feed"]}, "x", col=0),
        named("matmul_v2", {"X": ["x"], "Y": ["w"]}, "y"),
        named("elementwise_add", {"X": ["y"], "Y": ["b"]}, "z", axis=-1),
        named("slice", {"Input": ["z"]}, "first", axes=[1], starts=[0], ends=[1], decrease_axis=[1]),
        named("fill_constant", {}, "zero", shape=[1], dtype=5, value=0.0),
        named("greater_than", {"X": ["first"], "Y": ["zero"]}, "mask", axis=-1),
        named("where_index", {"Condition": ["mask"]}, "where"),
        named("gather_nd", {"X": ["z"], "Index": ["where"]}, "kept"),
        named("cast", {"X": ["mask"]}, "ones", in_dtype=0, out_dtype=3),
        named("reduce_sum", {"X": ["ones"]}, "count", dim=[0], keep_dim=True),
        named("fill_constant", {}, "two", shape=[1], dtype=3, value=2.0),
        named("concat", {"X": ["count", "two"]}, "size", axis=0),
        named("expand_v2", {"X": ["b"], "Shape": ["size"]}, "rows"),
        named("elementwise_mul", {"X": ["kept"], "Y": ["rows"]}, "out", axis=-1),
        named("fetch", {"X": ["out"]}, "fetch", col=0),
        named("fetch", {"X": ["z"]}, "fetch", col=1),
    ]
    return program.LegacyProgram([program.LegacyBlock(-1, variables, ops)])


def test_a_module_is_cut_where_data_decide_what_is_called() -> None:
    module = module_of(rows_above_zero())
    head, tail = cut(module, {"w": W, "b": B})
    names = [o.name for o in head.block.operations]
    assert names[-2:] == [FETCH, FETCH]
    assert "pd_op.greater_than" in names
    assert "pd_op.gather_nd" in names
    assert "pd_op.expand" not in names
    behind = [o.name for o in tail.module.block.operations]
    assert behind == [*[DATA] * 3, PARAMETER, "pd_op.expand", "pd_op.multiply", FETCH, FETCH]
    assert list(tail.values) == ["b"]
    assert tail.outputs == ["out", "z"]


def test_a_predictor(tmp_path: Path) -> None:
    (tmp_path / "m.pdmodel").write_bytes(program.write(rows_above_zero()))
    (tmp_path / "m.pdiparams").write_bytes(write({"w": W, "b": B}))
    predictor = create_predictor(Config(str(tmp_path / "m.pdmodel"), str(tmp_path / "m.pdiparams")))
    assert predictor.get_output_names() == ["out", "z"]
    for one in (predictor, predictor.clone()):
        for n in (4, 1, 0):
            x = np.random.RandomState(n).standard_normal((n, 3)).astype("float32")
            out, z = one.run([paddle.to_tensor(x)])
            expected = x @ W + B
            np.testing.assert_allclose(z.numpy(), expected, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(out.numpy(), (expected * B)[expected[:, 0] > 0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["detection", "proposals", "decoder"])
def test_models_of_the_reference(name: str, tmp_path: Path) -> None:
    """Its results: of suppressed boxes, and of a loop that ends when data say so."""
    (tmp_path / "m.pdmodel").write_bytes(RECORDED[f"{name}/program"].tobytes())
    (tmp_path / "m.pdiparams").write_bytes(RECORDED[f"{name}/values"].tobytes())
    predictor = create_predictor(Config(str(tmp_path / "m.pdmodel"), str(tmp_path / "m.pdiparams")))
    for run in range(2 if name == "decoder" else 1):
        for feed in predictor.get_input_names():
            predictor.get_input_handle(feed).copy_from_cpu(RECORDED[f"{name}/in/{run}/{feed}"])
        predictor.run()
        for j, fetched in enumerate(predictor.get_output_names()):
            found, expected = predictor.get_output_handle(fetched).copy_to_cpu(), RECORDED[f"{name}/out/{run}/{j}"]
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


def test_it_cannot_be_saved_optimised(tmp_path: Path) -> None:
    (tmp_path / "m.pdmodel").write_bytes(program.write(rows_above_zero()))
    (tmp_path / "m.pdiparams").write_bytes(write({"w": W, "b": B}))
    config = Config(str(tmp_path / "m.pdmodel"), str(tmp_path / "m.pdiparams"))
    config.set_optim_cache_dir(str(tmp_path))
    config.enable_save_optim_model(True)
    with pytest.raises(ValueError, match="sizes that are known before the model runs, to save it optimised"):
        create_predictor(config)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_what_has_no_value_before_a_loop_is_carried_as_a_number(count: int) -> None:
    """PaddlePaddle saved ``while k < n: y = x * 2; x = y + 1; k = k + 1``, in which y first has its dims inside."""
    prefix = str(Path(__file__).parents[1] / "data/saved_layers/first_in_a_loop")
    given = [paddle.to_tensor([[1.0, 2.0]]), paddle.to_tensor([count])]
    (y,) = create_predictor(Config(prefix + ".json", "")).run(given)
    want = (np.array([[1.0, 2.0]]) + 1) * 2**count - 1
    np.testing.assert_array_equal(y.numpy(), want)
    np.testing.assert_array_equal(paddle.jit.load(prefix)(*given).numpy(), want)
