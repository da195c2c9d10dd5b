"""Quantised weights in files of the reference, which stores them in the order of a GPU's tiles."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.inference import Config, create_predictor
from paddle.nn import quant
from paddle.static.formats import parameters, pir
from paddle.static.formats.graph import DATA, FETCH, PARAMETER, Attribute, Block, Module, Operation, Result, TensorType
from paddle.static.formats.operators.table import TABLE
from paddle.static.formats.operators.weight_tiles import to_tiles

# By PaddlePaddle 3.3.1 on a processor (tests/support/weight_tiles.py): weight_quantize(weight, algo, arch), and the
# numbers [inputs, outputs] in it.
STORED = np.load(Path(__file__).parents[2] / "data" / "weight_tiles.npz")
CASES = sorted({name.rsplit(",", 1)[0] for name in STORED.files})


def called(name, operands, **attributes):
    kinds = {int: "i32", str: "str"}
    o = Operation(f"pd_op.{name}", attributes={k: Attribute(kinds[type(v)], v) for k, v in attributes.items()})
    return TABLE[o.name].call(o, operands)


def parts(case):
    kind, arch, _ = case.split(",")
    levels = STORED[f"{case},levels"].astype("float32")
    return kind, int(arch), levels, paddle.to_tensor(STORED[f"{case},stored"])


@pytest.mark.parametrize("case", CASES)
def test_numbers_of_the_reference(case):
    kind, arch, levels, stored = parts(case)
    scale = paddle.linspace(0.5, 2.0, levels.shape[1])
    x = paddle.to_tensor(np.random.RandomState(0).standard_normal((3, levels.shape[0])).astype("float32"))
    y = called("weight_only_linear", [x, stored, None, scale], weight_dtype=kind, arch=arch, group_size=-1)
    np.testing.assert_allclose(y.numpy(), x.numpy() @ (levels * scale.numpy()), rtol=1e-4, atol=1e-2)
    if arch >= 75:
        w = called("weight_dequantize", [stored, scale], algo=f"weight_only_{kind}", group_size=-1)
        np.testing.assert_allclose(w.numpy(), levels * scale.numpy(), rtol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_quantising_stores_as_the_reference(case):
    kind, arch, levels, stored = parts(case)
    assert (np.abs(levels).max(0) == {"int8": 127, "int4": 7}[kind]).all()  # so that scales are 1
    found, scale = called(
        "weight_quantize", [paddle.to_tensor(levels)], algo=f"weight_only_{kind}", arch=arch, group_size=-1
    )
    np.testing.assert_array_equal(found.numpy(), stored.numpy())
    np.testing.assert_array_equal(scale.numpy(), np.ones(levels.shape[1]))


def test_llm_int8_has_one_order():
    w = paddle.to_tensor(np.random.RandomState(0).standard_normal((32, 16)).astype("float32"))
    found, scale = called("weight_quantize", [w], algo="llm.int8", arch=80, group_size=-1)
    np.testing.assert_array_equal(found.numpy(), quant.weight_quantize(w, "llm.int8")[0].numpy())
    again = called("weight_dequantize", [found, scale], algo="llm.int8", group_size=-1)
    np.testing.assert_allclose(again.numpy(), w.numpy(), atol=0.02)


def test_inputs_without_tiles_are_refused():
    stored = paddle.zeros([16, 32], "int8")
    with pytest.raises(ValueError, match=r"arch=80 requires inputs divisible by 64, .*got 32"):
        called("weight_only_linear", [paddle.ones([1, 32]), stored, None, paddle.ones([16])], arch=80)


INPUTS, OUTPUTS = 64, 32


def written(path, kind, weight, scale, also_fetched=False, again=False):
    """A model of one such product, as the reference writes it on a GPU; a processor of it has no kernel to record."""
    types = [TensorType(x.dtype.name, tuple(x.shape)) for x in (weight, scale)]
    x, y = TensorType("float32", (-1, INPUTS)), TensorType("float32", (-1, OUTPUTS))
    place = Attribute("place", (0, 0, ""))
    facts = {name: Attribute("bool", False) for name in ("is_distributed", "is_parameter", "need_clip")}
    kept = {"persistable": [True], "stop_gradient": [True], "trainable": [False]}
    operations = [
        Operation(PARAMETER, [], {**facts, "parameter_name": Attribute("str", name)}, [Result(n, t)], [], kept)
        for n, (name, t) in enumerate(zip(("w", "s"), types, strict=True), 1)
    ]
    if again:  # a second value of the same name, which is what is fetched
        operations.append(replace(operations[0], results=[Result(10, types[0])]))
    given = {
        "name": Attribute("str", "x"), "shape": Attribute("intarray", x.shape), "dtype": Attribute("dtype", "float32"),
        "place": place,
    }  # fmt: skip
    said = {"weight_dtype": Attribute("str", kind), "arch": Attribute("i32", 80), "group_size": Attribute("i32", -1)}
    operations.append(Operation(DATA, [], given, [Result(3, x)], [], {"stop_gradient": [True]}))
    operations.append(Operation("pd_op.weight_only_linear", [3, 1, None, 2], said, [Result(4, y)]))
    for i, n in enumerate([4, 10 if again else 1] if also_fetched else [4]):
        named = {"name": Attribute("str", f"y{i}"), "col": Attribute("i32", i)}
        operations.append(Operation(FETCH, [n], named, [Result(5 + i, y if n == 4 else types[0])]))
    (path / "m.json").write_text(json.dumps(pir.write(Module(Block([], operations)))))
    (path / "m.pdiparams").write_bytes(parameters.write({"s": scale, "w": weight}))
    return str(path / "m")


@pytest.mark.parametrize("also_fetched", [False, True])
@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_models_reorder_once(kind, also_fetched, tmp_path):
    """Predictors and loaded layers have such a weight in rows, unless something else reads it."""
    rows, scale = quant.weight_quantize(paddle.randn([INPUTS, OUTPUTS]), f"weight_only_{kind}")
    stored = to_tiles(rows, int(kind[3:]), 80)
    prefix = written(tmp_path, kind, stored, scale, also_fetched)
    x = paddle.randn([3, INPUTS])
    want = quant.weight_only_linear(x, rows, None, scale, kind).numpy()
    predictor, layer = create_predictor(Config(prefix + ".json", prefix + ".pdiparams")), paddle.jit.load(prefix)
    for found in (predictor.run([x]), layer(x)):
        found = found if isinstance(found, list) else [found]
        np.testing.assert_array_equal(found[0].numpy(), want)
        assert not also_fetched or (found[1].numpy() == stored.numpy()).all()
    if not also_fetched:
        assert [o.name() for o in layer.program().global_block().ops] == ["weight_only_matmul"]
    with paddle.static.scope_guard(paddle.static.Scope()):
        paddle.enable_static()
        try:  # whose values are the program's user's, so they stay as they are in the file
            executor = paddle.static.Executor()
            program, feeds, fetches = paddle.static.load_inference_model(prefix, executor)
            found = executor.run(program, feed={feeds[0]: x.numpy()}, fetch_list=fetches)[0]
        finally:
            paddle.disable_static()
    np.testing.assert_array_equal(found, want)


def test_a_weight_of_other_sizes_is_refused(tmp_path):
    weight, scale = paddle.zeros([OUTPUTS, 48], "int8"), paddle.ones([OUTPUTS])
    prefix = written(tmp_path, "int8", weight, scale)
    with pytest.raises(ValueError, match="64"):
        create_predictor(Config(prefix + ".json", prefix + ".pdiparams"))


def test_a_name_that_a_file_has_twice(tmp_path):
    """What reads a weight under its other number reads it as it is in the file."""
    rows, scale = quant.weight_quantize(paddle.randn([INPUTS, OUTPUTS]), "weight_only_int8")
    stored = to_tiles(rows, 8, 80)
    layer = paddle.jit.load(written(tmp_path, "int8", stored, scale, also_fetched=True, again=True))
    x = paddle.randn([3, INPUTS])
    found = layer(x)
    np.testing.assert_array_equal(found[0].numpy(), quant.weight_only_linear(x, rows, None, scale, "int8").numpy())
    np.testing.assert_array_equal(found[1].numpy(), stored.numpy())


@pytest.mark.parametrize(
    ("kind", "weight"),
    [
        ("int8", paddle.zeros([OUTPUTS * INPUTS], "int8")),
        ("int8", paddle.zeros([1, OUTPUTS, INPUTS], "int8")),
        ("int8", paddle.zeros([OUTPUTS, INPUTS])),
        ("int3", paddle.zeros([OUTPUTS, INPUTS], "int8")),
    ],
    ids=["vector", "three dims", "float32", "3 bits"],
)
def test_what_is_no_such_weight_is_refused(kind, weight, tmp_path):
    prefix = written(tmp_path, kind, weight, paddle.ones([OUTPUTS]))
    for load in (
        lambda: create_predictor(Config(prefix + ".json", prefix + ".pdiparams")),
        lambda: paddle.jit.load(prefix)(paddle.ones([1, INPUTS])),
    ):
        with pytest.raises(ValueError, match=r"a weight of 4 or 8 bits, int8 of \[rows, inputs\], is required, got"):
            load()
