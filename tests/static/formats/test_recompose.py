"""Ops of ours that a file has as what they mean: programs that are read run them again."""

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

import paddle
from paddle import inference
from paddle.nn import quant
from paddle.static.formats.files import read_program
from paddle.static.formats.graph import Attribute, Block, Module, Operation, Result, TensorType
from paddle.static.formats.recompose import Recomposed, recomposed

INPUTS, OUTPUTS = 128, 32
ONE, TWO = ["weight_only_matmul"], ["int8_matmul", "weight_only_matmul"]
FORMS = {
    "int8": ("weight_only_int8", -1, ONE),
    "int8, groups": ("weight_only_int8", 64, ONE),
    "int4": ("weight_only_int4", -1, ONE),
    "int4, groups": ("weight_only_int4", 64, ONE),
    "int4, one group": ("weight_only_int4", 128, ONE),
    "llm.int8": ("llm.int8", -1, TWO),
}


class Quantised(paddle.nn.Layer):
    def __init__(self, form, dtype="float32", bias=True):
        super().__init__()
        self.algo, self.group, _ = FORMS[form]
        weight = paddle.randn([INPUTS, OUTPUTS], dtype)
        weight, scale = quant.weight_quantize(weight, self.algo, group_size=self.group)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale.astype(dtype))
        self.bias = self.create_parameter([OUTPUTS], dtype=dtype) if bias else None

    def forward(self, x):
        if self.algo == "llm.int8":
            return quant.llm_int8_linear(x, self.weight, self.bias, self.scale)
        kind = self.algo.removeprefix("weight_only_")
        return quant.weight_only_linear(x, self.weight, self.bias, self.scale, kind, group_size=self.group)


class Net(paddle.nn.Layer):
    """Two calls of one weight, with what passes fold around it."""

    def __init__(self, form):
        super().__init__()
        self.first = paddle.nn.Linear(16, INPUTS)
        self.quantised = Quantised(form)
        self.norm = paddle.nn.LayerNorm(OUTPUTS)
        self.second = paddle.nn.Linear(OUTPUTS, INPUTS)

    def forward(self, x):
        y = self.norm(self.quantised(paddle.nn.functional.silu(self.first(x))))
        return self.quantised(self.second(y))


def saved(layer, path, shape, dtype="float32"):
    layer.eval()
    prefix = str(path / "model")
    paddle.jit.save(layer, prefix, input_spec=[paddle.static.InputSpec(shape, dtype, "x")])
    return prefix


def calls(prefix):
    """Names of the ops of few bits in the program of a file."""
    paddle.enable_static()
    try:
        with paddle.static.scope_guard(paddle.static.Scope()):
            program = paddle.static.load_inference_model(prefix, paddle.static.Executor())[0]
        return [o.name() for o in program.global_block().ops if o.name() in TWO]
    finally:
        paddle.disable_static()


@pytest.fixture(autouse=True)
def seeded():
    paddle.seed(3)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [[3, INPUTS], [None, INPUTS], [None, None, INPUTS]], ids=str)
def test_loaded(form, dtype, shape, tmp_path):
    layer = Quantised(form, dtype)
    prefix = saved(layer, tmp_path, shape, dtype)
    assert calls(prefix) == FORMS[form][2]
    x = paddle.randn([3 if n is None else n for n in shape], dtype)
    want = layer(x).astype("float32").numpy()
    np.testing.assert_array_equal(paddle.jit.load(prefix)(x).astype("float32").numpy(), want)
    predictor = inference.create_predictor(inference.Config(prefix + ".json", prefix + ".pdiparams"))
    np.testing.assert_array_equal(predictor.run([x])[0].astype("float32").numpy(), want)


@pytest.mark.parametrize("form", FORMS)
def test_written_again(form, tmp_path):
    """Narrow, optimised, and loaded and saved: each file has the ops again, and integers as weights."""
    layer = Net(form)
    prefix = saved(layer, tmp_path, [None, 16])
    files = prefix + ".json", prefix + ".pdiparams"
    x = paddle.randn([2, 16])
    want = layer(x).numpy()
    found = {}
    for precision in (inference.PrecisionType.Bfloat16, inference.PrecisionType.Half):
        to = f"{prefix}_{precision.name}"
        kinds = precision, inference.PlaceType.CPU
        inference.convert_to_mixed_precision(*files, to + ".json", to + ".pdiparams", *kinds)
        found[to] = 0.05
    config = inference.Config(*files)
    config.set_optim_cache_dir(str(tmp_path / "kept"))
    config.enable_save_optim_model(True)
    inference.create_predictor(config)
    (kept,) = (tmp_path / "kept").glob("*.json")
    found[str(kept.with_suffix(""))] = 1e-5
    again = saved(paddle.jit.load(prefix), tmp_path / "again", [None, 16])
    found[again] = 1e-5
    stored = (tmp_path / "model.pdiparams").stat().st_size
    for name, error in found.items():
        assert calls(name) == FORMS[form][2] * 2, name
        predictor = inference.create_predictor(inference.Config(name + ".json", name + ".pdiparams"))
        np.testing.assert_allclose(predictor.run([x])[0].numpy(), want, rtol=error, atol=error * np.abs(want).max())
        assert sum(p.stat().st_size for p in [(tmp_path / name).with_suffix(".pdiparams")]) <= stored


@pytest.mark.parametrize("form", ["int8", "int4, groups"])
def test_gradients(form, tmp_path):
    layer = Quantised(form)
    prefix = saved(layer, tmp_path, [None, INPUTS])
    x, y = paddle.randn([2, INPUTS]), paddle.randn([2, OUTPUTS])
    found = []
    for model in (layer, paddle.jit.load(prefix)):
        given = x.clone().detach()
        given.stop_gradient = False
        (model(given) * y).sum().backward()
        found.append(given.grad.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_in_loops_and_branches(tmp_path):
    class Repeated(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = Quantised("int4")
            self.back = paddle.nn.Linear(OUTPUTS, INPUTS)

        def forward(self, x, times):
            i = paddle.zeros([], "int64")
            while i < times:
                x = paddle.tanh(self.back(self.inner(x)))
                i = i + 1
            if x.sum() > 0:
                return self.inner(x)
            return -self.inner(x)

    layer = Repeated()
    layer.eval()
    prefix = str(tmp_path / "model")
    specs = [paddle.static.InputSpec([2, INPUTS], "float32", "x"), paddle.static.InputSpec([], "int64", "times")]
    paddle.jit.save(layer, prefix, input_spec=specs)
    found = [o.name for o in recomposed(read_program(prefix + ".json", "test")).block.walk()]
    assert found.count("umiak.weight_only_matmul") == 3
    assert "pd_op.bitwise_and" not in found
    x = paddle.randn([2, INPUTS])
    for times in (0, 3):
        given = x, paddle.to_tensor(times)
        np.testing.assert_allclose(paddle.jit.load(prefix)(*given).numpy(), layer(*given).numpy(), rtol=1e-5, atol=1e-6)


# --- the search ------------------------------------------------------------------------------------------------------


def other(x):
    """An attribute that says something else."""
    if x.kind == "array":
        return replaced(x, tuple(other(i) for i in x.data))
    if x.kind == "intarray":
        return replaced(x, tuple(n + 1 for n in x.data)) if x.data else replaced(x, (1,))
    if x.kind == "bool":
        return replaced(x, not x.data)
    if x.kind == "dtype":
        return replaced(x, "float64" if x.data != "float64" else "float32")
    return replaced(x, x.data + 1)


def replaced(x, data):
    return Attribute(x.kind, data)


def of_calls(module):
    return [o.name for o in recomposed(module).block.walk() if isinstance(o, Recomposed)]


@pytest.mark.parametrize("form", FORMS)
def test_whatever_else_is_computed_stays(form, tmp_path):
    """A call is found only where all operators and attributes are those that are written for it."""
    prefix = saved(Quantised(form, bias=False), tmp_path, [None, INPUTS])
    module = read_program(prefix + ".json", "test")
    whole = of_calls(module)
    kept = {id(o) for o in recomposed(module).block.operations}
    gone = [i for i, o in enumerate(module.block.operations) if id(o) not in kept]
    assert len(gone) > 4
    tried = 0
    for i in gone:
        o = module.block.operations[i]
        unsaid = {"op_callstack", "place"} | ({"dtype"} if o.name == "pd_op.full_int_array" else set())
        for name in sorted(o.attributes.keys() - unsaid):
            changed = replace(o, attributes={**o.attributes, name: other(o.attributes[name])})
            operations = [changed if j == i else p for j, p in enumerate(module.block.operations)]
            assert len(of_calls(Module(Block([], operations)))) < len(whole), (o.name, name)
            tried += 1
    assert tried > 4


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_in_place_stays(form, tmp_path):
    """Any value between the operands and the result may have changed before it is read."""
    prefix = saved(Quantised(form, bias=False), tmp_path, [3, INPUTS])
    module = read_program(prefix + ".json", "test")
    whole = of_calls(module)
    kept = {id(o) for o in recomposed(module).block.operations}
    gone = [i for i, o in enumerate(module.block.operations) if id(o) not in kept]
    read = {n for o in module.block.operations for n in o.operands}
    for i in gone[:-1]:
        (made,) = module.block.operations[i].results
        if made.number not in read:
            continue
        writing = Operation("pd_op.relu_", [made.number], {}, [Result(9999, made.type)])
        operations = [*module.block.operations[: i + 1], writing, *module.block.operations[i + 1 :]]
        assert len(of_calls(Module(Block([], operations)))) < len(whole), module.block.operations[i].name


@pytest.mark.parametrize("times", [0, -1, 1 << 31, 1 << 62])
@pytest.mark.parametrize("form", FORMS)
def test_sizes_that_a_file_may_say(form, times, tmp_path):
    """Types of a damaged file end in no call, or in one; what they say is refused where the operators are called."""
    prefix = saved(Quantised(form, bias=False), tmp_path, [None, INPUTS])
    module = read_program(prefix + ".json", "test")

    def scaled(result):
        if not isinstance(result.type, TensorType):  # of a list
            return result
        shape = tuple(times if times <= 0 else n * times for n in result.type.shape)
        return replace(result, type=result.type._replace(shape=shape))

    operations = [replace(o, results=[scaled(r) for r in o.results]) for o in module.block.operations]
    found = of_calls(Module(Block([], operations)))
    assert len(found) <= len(FORMS[form][2])


def test_what_something_else_reads_stays(tmp_path):
    """The restored weight is a result as well."""

    class Both(Quantised):
        def forward(self, x):
            q = paddle.transpose(self.weight, [1, 0]).astype("float32")
            return paddle.nn.quant.weight_only_linear(x, self.weight, None, self.scale), q * 2.0

    layer = Both("int8")
    prefix = saved(layer, tmp_path, [None, INPUTS])
    assert calls(prefix) == ONE
    x = paddle.randn([2, INPUTS])
    for found, want in zip(paddle.jit.load(prefix)(x), layer(x), strict=True):
        np.testing.assert_array_equal(found.numpy(), want.numpy())


def test_files_have_no_such_operators(tmp_path):
    """The names of these calls mean nothing in a file."""
    prefix = saved(Quantised("int8"), tmp_path, [None, INPUTS])
    path = tmp_path / "model.json"
    path.write_text(path.read_text().replace('"1.matmul"', '"umiak.weight_only_matmul"'))
    with pytest.raises(ValueError, match="weight_only_matmul"):
        paddle.jit.load(prefix)


@pytest.mark.parametrize("form", ["int8", "int4", "llm.int8"])
def test_loaded_layers_are_exported(form, tmp_path):
    """ONNX has none of these calls, and gets what they mean."""
    layer = Quantised(form)
    loaded = paddle.jit.load(saved(layer, tmp_path, [None, INPUTS]))
    paddle.onnx.export(loaded, str(tmp_path / "exported"), opset_version=18)
    x = paddle.randn([3, INPUTS])
    session = onnxruntime.InferenceSession(str(tmp_path / "exported.onnx"), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"x": x.numpy()})[0], layer(x).numpy(), rtol=1e-4, atol=1e-4)
