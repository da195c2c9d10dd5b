"""Engines compute parts of models: cut where what they take begins and ends, proved by ONNX Runtime."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import paddle
from paddle import inference
from paddle.inference import engines
from paddle.inference.find_engine import _find_engine
from paddle.inference.loading import files_of
from paddle.inference.onnx_runtime import OnnxRuntime
from paddle.inference.staged import parts_of
from paddle.static.formats.files import read_program
from tests.support import inference_nets


class Noting(OnnxRuntime):
    """ONNX Runtime for some operators; notes what it has compiled."""

    def __init__(self, leaves=(), refuses=()):
        self.leaves, self.refuses, self.compiled = set(leaves), set(refuses), []

    def takes(self, operation):
        return operation.name not in self.leaves and super().takes(operation)

    def compile(self, module, values, request):
        names = [o.name for o in module.block.operations]
        if self.refuses & set(names):
            raise engines.Refused("a test refuses it")
        self.compiled.append([n for n in names if n not in ("pd_op.data", "pd_op.fetch", "builtin.parameter")])
        return super().compile(module, values, request)


@pytest.fixture
def engine(monkeypatch):
    def use(*args):
        _find_engine("test", "onnxruntime")
        made = Noting(*args)
        monkeypatch.setitem(engines.ENGINES, "onnxruntime", made)
        return made

    return use


def predictor(config):
    config.enable_onnxruntime()
    assert config.onnxruntime_enabled()
    return inference.create_predictor(config)


def same(predictor, net, sizes=(3, 1, 5)):
    for seed, size in enumerate(sizes):
        arrays = net.arrays(seed, size)
        got = predictor.run([paddle.to_tensor(x) for x in arrays])
        for a, b in zip(got, net.expected(arrays), strict=True):
            assert a.numpy().dtype == b.dtype
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", inference_nets.NETS)
def test_whole_models(saved, config, engine, name):
    used = engine()
    same(predictor(config(name)), saved(name)[0])
    assert len(used.compiled) == 1


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("convolutions", {"pd_op.relu"}), ("convolutions", {"pd_op.batch_norm_", "pd_op.hardswish"}),
        ("attention", {"pd_op.layer_norm"}), ("attention", {"pd_op.reshape", "pd_op.transpose"}),
        ("recurrent", {"pd_op.rnn"}), ("branches", {"pd_op.while"}), ("quantised", {"pd_op.round"}),
        ("two_inputs", {"pd_op.argmax"}),
    ],
)  # fmt: skip
def test_parts_of_models(saved, config, engine, name, left):
    used = engine(left)
    made = predictor(config(name))
    same(made, saved(name)[0])
    assert used.compiled
    assert not left & {n for names in used.compiled for n in names}
    assert any(stage.run is not None for stage in made._run.stages)


def test_a_part_that_is_refused_after_all(saved, config, engine):
    used = engine({"pd_op.relu"}, {"pd_op.softmax"})
    made = predictor(config("convolutions"))
    same(made, saved("convolutions")[0])
    assert len(used.compiled) == 1
    assert [stage.run is None for stage in made._run.stages] == [True, False, False]


def test_small_parts_stay_here(saved):
    module = read_program(files_of(str(saved("convolutions")[1]))[0], "test")

    def takes(o):
        return o.name != "pd_op.hardswish"

    parts = parts_of(module, takes, 1)
    assert [p.engine for p in parts] == [True, False, True]
    first, _, last = [len([o for o in p.operations if not o.name.startswith("builtin.")]) for p in parts]
    assert first != last
    assert [p.engine for p in parts_of(module, takes, min(first, last) + 1)] in ([False, True], [True, False])
    assert [p.engine for p in parts_of(module, takes, 1000)] == [False]


def test_clones_in_threads(saved, config, engine):
    engine({"pd_op.relu"})
    first = predictor(config("convolutions"))
    clones = [first, first.clone(), first.clone()]
    net = saved("convolutions")[0]
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda p: same(p, net), clones))


def test_what_an_engine_has_not(saved, config, engine, tmp_path):
    engine()
    made = predictor(config("linear"))
    with pytest.raises(RuntimeError, match="a model that is computed here, got one of which an engine has parts"):
        made.register_output_hook(print)
    assert made.try_shrink_memory() >= 0
    made.clear_intermediate_tensor()
    same(made, saved("linear")[0])
    settings = config("linear")
    settings.set_optim_cache_dir(str(tmp_path))
    settings.enable_save_optim_model(True)
    with pytest.raises(ValueError, match="got one that is to be kept optimised"):
        predictor(settings)


def test_operators_in_our_own_format(saved, tmp_path):
    """A program that the operators of PaddlePaddle cannot say has no parts for an engine."""
    from paddle.static.program_file import dumps
    from paddle.static.saving import _contents

    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x = paddle.static.data("x", [None, 2])
            y = x * 2
            (tmp_path / "own.json").write_bytes(dumps(_contents("test", main, [x], [y])[0]))
    finally:
        paddle.disable_static()
    with pytest.raises(ValueError, match="a model in the operators of PaddlePaddle for onnxruntime"):
        predictor(inference.Config(str(tmp_path / "own.json"), ""))


def test_packages_that_are_missing(monkeypatch):
    _find_engine("test", "onnxruntime")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"\[enable_onnxruntime\] requires the packages onnx, onnxruntime, got none"):
        inference.Config().enable_onnxruntime()


def test_random_operators_stay_here():
    from paddle.static.formats.graph import Operation

    engine = OnnxRuntime()
    assert engine.takes(Operation("pd_op.relu"))
    for name in ("pd_op.uniform", "pd_op.dropout", "pd_op.no_such_operator", "custom_op.relu"):
        assert not engine.takes(Operation(name))


def test_mistakes_of_runs(config, engine):
    engine({"pd_op.argmax"})
    made = predictor(config("two_inputs"))
    with pytest.raises(ValueError, match="as the model declares it"):
        made.run([paddle.ones([2, 4]), paddle.ones([2, 5])])
