"""Predictors give what eager mode gives, for all sizes, from clones and threads, with every form of optimisation."""

from __future__ import annotations

import gc
import json
import resource
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import paddle
from paddle import inference, nn
from paddle.inference.loading import files_of
from paddle.inference.preparing import Prepared
from tests.support import inference_nets
from umiak.compiler import statistics
from umiak.runtime import parallel

CLOSE = {"rtol": 1e-5, "atol": 1e-6}


KERNELS = (3, 3), (16, 1), (16, 3), (16, 3), (16, 1)  # channels of the image, and taps


def outputs(predictor, arrays):
    """The outputs of one run, through handles."""
    for name, x in zip(predictor.get_input_names(), arrays, strict=True):
        predictor.get_input_handle(name).copy_from_cpu(x)
    assert predictor.run() is None
    return [predictor.get_output_handle(name).copy_to_cpu() for name in predictor.get_output_names()]


def same(got, want, **close):
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, **(close or CLOSE))


def test_inputs_that_have_the_names_of_all_may_come_in_any_order(tmp_path):
    """As in the reference: "b" and "a" are taken by name, "b" and anything else in order."""
    spec = [paddle.static.InputSpec([None], name=name) for name in "ab"]
    paddle.jit.save(lambda a, b: a - 2 * b, str(tmp_path / "m"), spec)
    files = inference.Config(str(tmp_path / "m.json"), str(tmp_path / "m.pdiparams"))
    predictor = inference.create_predictor(files)
    for names, wanted in (((), 8), ("ab", 8), ("ba", -19), (("b",), 8), (("b", "c"), 8), ("bb", 8)):
        inputs = [paddle.to_tensor([10.0]), paddle.to_tensor([1.0])]
        for x, name in zip(inputs, names, strict=False):
            x.name = name
        assert predictor.run(inputs)[0].tolist() == [wanted]


@pytest.mark.parametrize("name", inference_nets.NETS)
def test_as_in_eager_mode(saved, config, name):
    net, _ = saved(name)
    predictor = inference.create_predictor(config(name))
    assert predictor.get_input_names() == [n for n, _, _ in net.inputs]
    for seed, size in enumerate((3, 1, 3, 6, 3, 3)):
        arrays = net.arrays(seed, size)
        same(outputs(predictor, arrays), net.expected(arrays))
        got = predictor.run([paddle.to_tensor(x) for x in arrays])
        same([y.numpy() for y in got], net.expected(arrays))


@pytest.mark.parametrize("name", ["convolutions", "attention"])
@pytest.mark.parametrize("change", ["switch_ir_optim", "set_optimization_level"])
def test_without_passes(saved, config, name, change):
    net, _ = saved(name)
    settings = config(name)
    getattr(settings, change)(0)
    arrays = net.arrays(1)
    same(outputs(inference.create_predictor(settings), arrays), net.expected(arrays))


def operations(settings):
    return [o.name for o in Prepared(settings).run.program.walk()]


def test_batch_norms_and_weights_are_folded(config):
    settings = config("convolutions")
    optimised = operations(settings)
    settings.switch_ir_optim(False)
    assert "batch_norm_infer" in operations(settings)
    assert "batch_norm_infer" not in optimised
    assert "dropout" not in optimised


@pytest.mark.parametrize("shape", [[1, 3, 40, 40], [None, 3, None, None]], ids=["known", "open"])
def test_convolutions_take_factors_and_strips_whatever_is_open(tmp_path, shape):
    """What the first convolution requires of sizes is known to what takes the place of those behind it."""

    class Scaled(nn.Layer):
        def __init__(self):
            super().__init__()
            self.layers = nn.LayerList([nn.Conv2D(c, 16, k, 2 if k == 3 else 1, k // 2) for c, k in KERNELS])
            self.scale, self.shift = (self.create_parameter([1]) for _ in range(2))

        def forward(self, x):
            for layer in self.layers:
                x = nn.functional.hardswish(layer(x) * self.scale + self.shift) * 1.5 - 0.125
            return x

    net = Scaled()
    net.eval()
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=[paddle.static.InputSpec(shape, "float32")])
    names = operations(inference.Config(f"{tmp_path}/net.json", f"{tmp_path}/net.pdiparams"))
    assert names.count("strip_conv") == len(KERNELS)
    assert names.count("mul") == len(KERNELS)  # behind the activation; those before it are in the kernels


def test_a_deleted_pass_is_not_run(config):
    settings = config("convolutions")
    settings.delete_pass("conv_bn_fuse_pass")  # as the reference calls it
    settings.delete_pass("a_pass_that_nobody_has")
    assert "batch_norm_infer" in operations(settings)


def test_quantised_weights_are_dequantised_once(config):
    settings = config("quantised")
    settings.enable_mkldnn_int8()
    program = Prepared(settings).run.program
    assert all(v.meta.dtype.name == "float32" for v in program.constants.values())


def test_sizes_do_not_compile_anew(saved, config):
    """What was compiled for some sizes serves others."""
    net, _ = saved("convolutions")
    predictor = inference.create_predictor(config("convolutions"))
    outputs(predictor, net.arrays(0, 3))
    lowered = dict(predictor._run.executor._lowered)
    for size in (2, 5, 9):
        outputs(predictor, net.arrays(0, size))
    assert predictor._run.executor._lowered == lowered


def test_values_inside_lie_in_one_arena(saved, config):
    """A run is a list of launches, however large its values are, over memory that can be given back."""
    layers = [paddle.nn.Linear(n, 512) for n in (8, 512, 512)]

    def call(x):
        for layer in layers:
            x = paddle.tanh(layer(x))
        return x.sum(1)

    net = inference_nets.Net([("x", [None, 8], "float32")], call)
    prefix = inference_nets.save(net, saved("linear")[1].with_name("large"))
    settings = inference.Config(*files_of(str(prefix)))
    rows = 3000  # of 512 floats: more than captured functions keep
    settings.set_trt_dynamic_shape_info({"x": [1, 8]}, {"x": [4000, 8]}, {"x": [rows, 8]})
    predictor = inference.create_predictor(settings)
    binding = predictor._run.executor.binding()
    assert len(binding.frozen()) == 1  # before the first call
    arrays = net.arrays(0, rows)
    for _ in range(3):
        outputs(predictor, arrays)
    assert len(binding.frozen()) == 1
    same(outputs(predictor, arrays), net.expected(arrays), rtol=1e-4, atol=1e-4)
    assert predictor._run.executor.shrink() > 4 << 20
    assert binding.frozen() == []
    same(outputs(predictor, arrays), net.expected(arrays), rtol=1e-4, atol=1e-4)


# --- clones and threads ----------------------------------------------------------------------------------------------


def test_clones_share_weights_and_nothing_else(saved, config):
    net, _ = saved("convolutions")
    first = inference.create_predictor(config("convolutions"))
    second = first.clone()
    mine, theirs = net.arrays(1, 2), net.arrays(2, 4)
    got = outputs(first, mine)
    same(outputs(second, theirs), net.expected(theirs))
    same([first.get_output_handle(n).copy_to_cpu() for n in first.get_output_names()], got)
    shared = list(second._run.program.captured.values())
    assert shared
    assert all(a is b for a, b in zip(shared, first._run.program.captured.values(), strict=True))
    assert second._run.executor._lowered is first._run.executor._lowered


@pytest.mark.parametrize("name", ["convolutions", "recurrent", "branches"])
def test_threads_with_clones(saved, config, name):
    net, _ = saved(name)
    pool = inference.PredictorPool(config(name), 4)
    arrays = [net.arrays(i, 1 + i % 3) for i in range(16)]
    wanted = [net.expected(x) for x in arrays]
    meeting = threading.Barrier(4)

    def work(i):
        predictor = pool.retrieve(i)
        meeting.wait(60)
        return [outputs(predictor, x) for x in arrays]

    with ThreadPoolExecutor(4) as threads:
        for got in threads.map(work, range(4)):
            for a, b in zip(got, wanted, strict=True):
                same(a, b)


def test_a_run_has_its_number_of_threads(config):
    settings = config("linear")
    settings.set_cpu_math_library_num_threads(3)
    predictor = inference.create_predictor(settings)
    seen, before = [], parallel.get_num_threads()
    predictor.register_output_hook(lambda *_: seen.append(parallel.get_num_threads()))
    predictor.run([paddle.ones([1, 8])])
    assert set(seen) == {3}
    assert parallel.get_num_threads() == before


@pytest.mark.parametrize("index", [-1, 2])
def test_pools(config, index):
    pool = inference.PredictorPool(config("linear"), 2)
    assert pool.retrieve(0) is not pool.retrieve(1)
    with pytest.raises(ValueError, match=r"\[retrieve\] requires a number from 0 to 1"):
        pool.retrieve(index)


# --- precision -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["convolutions", "attention"])
def test_bfloat16(saved, config, name):
    net, _ = saved(name)
    settings = config(name)
    settings.enable_mkldnn_bfloat16()
    predictor = inference.create_predictor(settings)
    assert "bfloat16" in {v.meta.dtype.name for v in predictor._run.program.constants.values()}
    arrays = net.arrays(1)
    got, want = outputs(predictor, arrays), net.expected(arrays)
    same(got, want, rtol=0.1, atol=0.05)
    assert not np.array_equal(got[0], want[0])


def narrow_operations(settings):
    return {
        getattr(o.op, "inner", o.op).name for o in Prepared(settings).run.program.walk()
        for r in o.results if r.meta.dtype is not None and r.meta.dtype.name == "bfloat16" and o.name != "cast"
    }  # fmt: skip


def test_operators_in_bfloat16_can_be_chosen(config):
    settings = config("convolutions")
    settings.enable_mkldnn_bfloat16()
    assert narrow_operations(settings) == {"conv", "add", "matmul"}
    settings.exp_disable_mixed_precision_ops({"conv2d", "depthwise_conv2d"})
    assert narrow_operations(settings) == {"matmul"}
    settings = config("convolutions")
    settings.enable_mkldnn_bfloat16()
    settings.set_bfloat16_op({"pd_op.conv2d"})
    assert narrow_operations(settings) == {"conv"}
    settings.exp_enable_mixed_precision_ops({"softmax"})
    assert narrow_operations(settings) == {"conv", "softmax"}


def test_inputs_and_outputs_in_the_narrow_type(saved, config):
    net, _ = saved("linear")
    settings = config("linear")
    settings.enable_mkldnn_bfloat16()
    settings.enable_low_precision_io()
    predictor = inference.create_predictor(settings)
    handle = predictor.get_input_handle("x")
    assert handle.type() is inference.DataType.BFLOAT16
    x = paddle.to_tensor(net.arrays(1)[0]).astype("bfloat16")
    handle.share_external_data(x)
    predictor.run()
    output = predictor.get_output_handle(predictor.get_output_names()[0])
    assert output.type() is inference.DataType.BFLOAT16
    want = net.expected([x.astype("float32").numpy()])[0]
    np.testing.assert_allclose(output.copy_to_cpu().astype("float32"), want, rtol=0.05, atol=0.02)


def test_mixed_precision_as_files(saved, tmp_path):
    net, prefix = saved("convolutions")
    new = [str(tmp_path / "new" / "mixed.json"), str(tmp_path / "new" / "mixed.pdiparams")]
    kinds = inference.PrecisionType.Bfloat16, inference.PlaceType.CPU
    inference.convert_to_mixed_precision(f"{prefix}.json", f"{prefix}.pdiparams", *new, *kinds)
    assert (tmp_path / "new" / "mixed.pdiparams").stat().st_size < 0.8 * prefix.with_suffix(".pdiparams").stat().st_size
    arrays = net.arrays(1)
    same(outputs(inference.create_predictor(inference.Config(*new)), arrays), net.expected(arrays), rtol=0.1, atol=0.05)


@pytest.mark.parametrize("precision", [inference.PrecisionType.Half, inference.PrecisionType.Bfloat16])
@pytest.mark.parametrize("name", ["convolutions", "branches", "two_inputs"])
def test_files_with_inputs_and_outputs_in_the_narrow_type(saved, tmp_path, name, precision):
    net, prefix = saved(name)
    new = [str(tmp_path / "mixed.json"), str(tmp_path / "mixed.pdiparams")]
    kinds = precision, inference.PlaceType.CPU
    files = files_of(str(prefix))
    inference.convert_to_mixed_precision(*files, *new, *kinds, keep_io_types=False)
    predictor = inference.create_predictor(inference.Config(*new))
    narrow = {"Half": "float16", "Bfloat16": "bfloat16"}[precision.name]
    arrays = net.arrays(1)
    given = [paddle.to_tensor(x).astype(narrow) if x.dtype == "float32" else paddle.to_tensor(x) for x in arrays]
    rounded = [x.astype("float32").numpy() if x.dtype.name == narrow else x.numpy() for x in given]
    wanted = net.expected(rounded)
    for y, want in zip(predictor.run(given), wanted, strict=True):
        assert y.dtype.name == (narrow if want.dtype == "float32" else want.dtype.name)
        np.testing.assert_allclose(y.astype("float32").numpy(), want, rtol=0.1, atol=0.05)
    with pytest.raises(ValueError, match=f"as {narrow}, as the model declares it, got float32"):
        predictor.run([paddle.to_tensor(x) for x in arrays])


def test_a_converted_model_without_parameters_has_the_file_that_was_named(tmp_path):
    layer = paddle.nn.ReLU()
    prefix, new = str(tmp_path / "relu"), [str(tmp_path / "new.json"), str(tmp_path / "new.pdiparams")]
    paddle.jit.save(layer, prefix, [paddle.static.InputSpec([None, 2], "float32", "x")])
    kinds = inference.PrecisionType.Half, inference.PlaceType.CPU
    inference.convert_to_mixed_precision(prefix + ".json", prefix + ".pdiparams", *new, *kinds)
    assert (tmp_path / "new.pdiparams").stat().st_size == 0
    (y,) = inference.create_predictor(inference.Config(*new)).run([paddle.to_tensor([[-1.0, 2.0]])])
    assert y.tolist() == [[0.0, 2.0]]


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"mixed_precision": inference.PrecisionType.Int8}, ValueError, "PrecisionType.Half or"),
        ({"mixed_precision": "half"}, TypeError, "a member of PrecisionType"),
        ({"backend": 0}, TypeError, "a member of PlaceType"),
        ({"grey_list": set()}, TypeError, "the keyword white_list"),
        ({"model_file": "/nowhere"}, FileNotFoundError, r"\[convert_to_mixed_precision\] requires a file '/nowhere'"),
    ],
)
def test_conversions_that_are_refused(saved, tmp_path, change, kind, message):
    _, prefix = saved("linear")
    given = {
        "model_file": f"{prefix}.json", "params_file": "", "mixed_model_file": str(tmp_path / "m"),
        "mixed_params_file": "", "mixed_precision": inference.PrecisionType.Half, "backend": inference.PlaceType.CPU,
    }  # fmt: skip
    with pytest.raises(kind, match=message):
        inference.convert_to_mixed_precision(**{**given, **change})
    assert list(tmp_path.iterdir()) == []


# --- what is seen of runs ---------------------------------------------------------------------------------------------


def test_hooks_see_every_operation(saved, config):
    net, _ = saved("two_inputs")
    predictor = inference.create_predictor(config("two_inputs"))
    before, after = [], []
    predictor.register_input_hook(lambda op, name, x: before.append((op, name, x.numpy())))
    predictor.register_output_hook(lambda op, name, x: after.append((op, name, x.numpy())))
    arrays = net.arrays(1)
    want = net.expected(arrays)
    same(outputs(predictor, arrays), want)
    made = {name: value for _, name, value in after}
    assert len(made) == len(after)
    assert {op for op, _, _ in after} == {o.name for o in predictor._run.program.walk()}
    assert any(np.array_equal(value, arrays[0]) for _, _, value in before)
    np.testing.assert_array_equal(after[-1][2] if after[-1][2].dtype.kind == "i" else after[-2][2], want[1])


def test_hooks_of_branches(saved, config):
    net, _ = saved("branches")
    predictor = inference.create_predictor(config("branches"))
    seen = []
    predictor.register_output_hook(lambda op, name, x: seen.append(op))
    for seed in range(4):
        arrays = net.arrays(seed)
        same(outputs(predictor, arrays), net.expected(arrays))
    assert seen


@pytest.mark.parametrize("register", ["register_input_hook", "register_output_hook"])
def test_hooks_are_functions(config, register):
    predictor = inference.create_predictor(config("linear"))
    with pytest.raises(TypeError, match=rf"\[{register}\] requires a function, got int"):
        getattr(predictor, register)(3)


def test_sizes_of_inputs_are_written(saved, config, tmp_path):
    net, _ = saved("linear")
    settings, path = config("linear"), tmp_path / "shapes.json"
    settings.collect_shape_range_info(str(path))
    assert settings.shape_range_info_collected()
    predictor = inference.create_predictor(settings)
    for size in (2, 7, 2):
        outputs(predictor, net.arrays(0, size))
    outputs(predictor.clone(), net.arrays(0, 1))
    del predictor
    gc.collect()
    assert json.loads(path.read_text()) == {"x": {"min": [1, 8], "max": [7, 8], "usual": [2, 8]}}
    tuned = config("linear")
    tuned.enable_tuned_tensorrt_dynamic_shape(str(path))
    assert tuned.tensorrt_dynamic_shape_enabled()
    assert tuned.tuned_tensorrt_dynamic_shape()


def test_a_profile_is_printed(saved, config, capsys):
    net, _ = saved("convolutions")
    settings = config("convolutions")
    settings.enable_profile()
    predictor = inference.create_predictor(settings)
    outputs(predictor, net.arrays(0))
    del predictor
    gc.collect()
    assert "conv" in capsys.readouterr().out


def test_programs_are_printed(config, capsys):
    settings = config("convolutions")
    settings.switch_ir_debug(True, ["conv2d_bn_fuse_pass"])
    inference.create_predictor(settings)
    text = capsys.readouterr().out
    assert "before conv2d_bn_fuse_pass" in text
    assert "before identity" not in text
    settings.switch_ir_debug(False)
    settings.pass_builder().turn_on_debug()
    inference.create_predictor(settings)
    assert "before identity_op_clean_pass" in capsys.readouterr().out


def test_the_log(config, caplog):
    settings = config("linear")
    with caplog.at_level("INFO", "paddle.inference"):
        inference.create_predictor(settings)
        assert "passes" in caplog.text
        caplog.clear()
        settings.disable_glog_info()
        inference.create_predictor(settings)
        assert caplog.text == ""


def test_the_optimised_model_is_kept(saved, config, tmp_path):
    net, prefix = saved("convolutions")
    settings = config("convolutions")
    settings.set_optim_cache_dir(tmp_path / "made")
    settings.enable_save_optim_model(True)
    inference.create_predictor(settings)
    assert sorted(p.name for p in (tmp_path / "made").iterdir()) == ["_optimized.json", "_optimized.pdiparams"]
    settings = inference.Config()  # without a model, so that the other one is loaded
    settings.set_optim_cache_dir(str(tmp_path / "made"))
    settings.use_optimized_model()
    arrays = net.arrays(3)
    same(outputs(inference.create_predictor(settings), arrays), net.expected(arrays))


def test_memory_is_given_back(saved, config):
    net, _ = saved("convolutions")
    predictor = inference.create_predictor(config("convolutions"))
    arrays = net.arrays(0)
    outputs(predictor, arrays)
    name = predictor.get_output_names()[0]
    predictor.clear_intermediate_tensor()
    with pytest.raises(RuntimeError, match=f"requires values of '{name}', got none"):
        predictor.get_output_handle(name).copy_to_cpu()
    predictor.run()  # over the inputs, which stay
    same([predictor.get_output_handle(name).copy_to_cpu()], net.expected(arrays)[:1])
    assert predictor.try_shrink_memory() >= 0
    same(outputs(predictor, arrays), net.expected(arrays))


# --- mistakes --------------------------------------------------------------------------------------------------------


def test_runs_that_are_refused(config):
    predictor = inference.create_predictor(config("two_inputs"))
    ones = paddle.ones([2, 4])
    for given, kind, message in (
        ([ones], ValueError, r"\[run\] requires 2 inputs: \['a', 'b'\], got 1"),
        ([ones, 3], TypeError, r"\[run\] requires a tensor as 'b', got int"),
        ([ones, ones.astype("float64")], ValueError, "'b' as float32, as the model declares it, got float64"),
        ([ones, paddle.ones([2, 3])], ValueError, r"'b' of shape \[-1, 4\], as the model declares it, got \[2, 3\]"),
        ([ones, paddle.ones([3, 4])], ValueError, "do not broadcast"),
    ):
        with pytest.raises(kind, match=message):
            predictor.run(given)
    same([y.numpy() for y in predictor.run([ones, ones])][1:], [np.zeros(2, "int64")])


@pytest.mark.parametrize("get", ["get_input_handle", "get_output_handle"])
def test_names_that_are_not_there(config, get):
    predictor = inference.create_predictor(config("linear"))
    with pytest.raises(RuntimeError, match=rf"\[{get}\] requires one of the .*, got 'y'"):
        getattr(predictor, get)("y")


def test_a_predictor_needs_a_config():
    with pytest.raises(TypeError, match=r"\[create_predictor\] requires a Config, got str"):
        inference.create_predictor("model")
    with pytest.raises(ValueError, match="requires a config with a model, got none"):
        inference.create_predictor(inference.Config())


def test_static_mode_is_left_alone(saved, config):
    net, _ = saved("linear")
    arrays = net.arrays(1)
    want = net.expected(arrays)
    paddle.enable_static()
    try:
        got = outputs(inference.create_predictor(config("linear")), arrays)
        assert not paddle.in_dynamic_mode()
    finally:
        paddle.disable_static()
    same(got, want)


@pytest.mark.parametrize("size", [None, 3])
def test_clones_are_as_warm_as_what_they_are_of(saved, config, size):
    """Launches of their first call are there before it: of the size that was guessed, or of the original's inputs."""
    net, _ = saved("linear")
    predictor = inference.create_predictor(config("linear"))
    arrays = net.arrays(0, 1 if size is None else size)
    if size is not None:
        outputs(predictor, arrays)
    pool = [predictor.clone(), predictor.clone().clone()] if size is None else [predictor.clone()]
    for clone in pool:
        before = clone._run.executor.binding().frozen()
        assert len(before) == 1
        same(outputs(clone, arrays), net.expected(arrays))
        assert clone._run.executor.binding().frozen() == before


def test_numbers_made_of_sizes_are_launches_too(saved):
    """Ranges, and kernels of transposed convolutions that are matmuls, do not keep a program from being launches."""
    first, second = paddle.nn.Conv2D(16, 16, 3, padding=1), paddle.nn.Conv2DTranspose(16, 16, 2, 2)

    def call(x):
        y = paddle.nn.functional.interpolate(paddle.nn.functional.relu(first(x)), scale_factor=2, mode="nearest")
        return paddle.nn.functional.sigmoid(second(paddle.concat([y, second(x)], 1)[:, :16]))

    net = inference_nets.Net([("x", [None, 16, None, None], "float32")], call)
    prefix = inference_nets.save(net, saved("linear")[1].with_name("sizes"))
    predictor = inference.create_predictor(inference.Config(*files_of(str(prefix))))
    arrays = net.arrays(0, 8)
    for _ in range(4):
        same(outputs(predictor, arrays), net.expected(arrays))
    assert len(predictor._run.executor.binding().frozen()) == 2  # of the size that was guessed, and of this one


def test_the_first_run_touches_no_new_memory(tmp_path):
    """A predictor has run when it is made: what a run needs is there, down to the pages of values inside."""
    width, side = 16, 256
    net = nn.Sequential(
        nn.Conv2D(3, width, 1), nn.BatchNorm2D(width), nn.Hardswish(),
        nn.Conv2D(width, width, 1), nn.BatchNorm2D(width), nn.Hardswish(), nn.AdaptiveAvgPool2D(1), nn.Flatten(),
    )  # fmt: skip
    net.eval()
    prefix = str(tmp_path / "net")
    paddle.jit.save(net, prefix, [paddle.static.InputSpec([None, 3, side, side], "float32", "x")])
    predictor = inference.create_predictor(inference.Config(prefix + ".json", prefix + ".pdiparams"))
    predictor.get_input_handle("x").copy_from_cpu(np.ones([1, 3, side, side], "float32"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    predictor.run()
    pages = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert pages * resource.getpagesize() < width * side * side * 4 / 4


def test_first_calls_at_other_sizes_are_launches_already(saved, config):
    """No kernel is made for them, but variants for few and many rows; later calls give the same bits."""
    net, _ = saved("linear")
    predictor = inference.create_predictor(config("linear"))
    executor = predictor._run.executor
    outputs(predictor, net.arrays(0, 2))
    lowered = executor._lowered.copy()
    for size in range(3, 33):
        if size == 20:
            variants = {name: dict(kernel.counts) for name, kernel in statistics.kernels().items()}
        lists = executor.binding().frozen()
        got = outputs(predictor, net.arrays(0, size))
        same(got, net.expected(net.arrays(0, size)))
        kept = executor.binding().frozen()
        assert kept == [lists[0], *lists][: len(kept)]  # one of this size, in front
        assert len(kept) <= 8
        again = outputs(predictor, net.arrays(0, size))
        assert executor.binding().frozen() == kept
        assert all(np.array_equal(x, y) for x, y in zip(got, again, strict=True))
    assert executor._lowered == lowered
    assert {name: dict(kernel.counts) for name, kernel in statistics.kernels().items()} == variants
    largest = executor.shrink()
    outputs(predictor, net.arrays(0, 32))
    outputs(predictor, net.arrays(0, 32))
    assert largest <= 2 * executor.shrink()  # not as much again for each size


def test_finalizers_compute_while_a_first_call_is_prepared(tmp_path):
    """Cycles are found wherever objects are made: no launch of theirs is left out."""
    deep = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(8, 8), nn.Tanh())])
    prefix = str(tmp_path / "net")
    paddle.jit.save(deep, prefix, [paddle.static.InputSpec([None, 8], "float32", "x")])
    predictor = inference.create_predictor(inference.Config(prefix + ".json", prefix + ".pdiparams"))
    xs = {n: paddle.ones([n, 8]) for n in (2, 3)}
    results = []

    class Cycle:
        def __init__(self):
            self.itself = self

        def __del__(self):
            results.append((paddle.full([2], 3.0) + 1.0).tolist())

    Cycle().itself = None  # kernels are there
    before, thresholds = gc.get_threshold(), range(24, 400, 4)
    gc.collect()
    gc.freeze()
    try:
        for threshold in thresholds:
            predictor.clear_intermediate_tensor()
            for _ in range(2):
                predictor.run([xs[2]])
            gc.disable()
            gc.collect(0)
            gc.set_threshold(threshold)
            Cycle()
            gc.enable()
            predictor.run([xs[3]])
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
        gc.enable()
    gc.collect()
    assert results == [[4.0, 4.0]] * (1 + len(thresholds))


def test_calls_at_other_sizes_that_fail_say_so_and_spoil_nothing(tmp_path):
    """Whether an index is in range is seen by the kernel alone, which is not asked before sizes are known."""
    net = inference_nets.Net(
        [("x", [None, 4], "float32"), ("i", [None], "int64")], lambda x, i: paddle.gather(x, i, 0) * 2.0
    )
    predictor = inference.create_predictor(inference.Config(*files_of(str(inference_nets.save(net, tmp_path / "net")))))

    def run(rows, index):
        x = np.arange(rows * 4, dtype="float32").reshape(rows, 4)
        (y,) = predictor.run([paddle.to_tensor(x), paddle.to_tensor(np.array(index, "int64"))])
        assert np.array_equal(y.numpy(), x[index] * 2)

    run(3, [0, 2])
    run(3, [1, 2])
    for rows in (5, 6):
        with pytest.raises(IndexError, match="gather"):
            run(rows, [0, rows, 1])
        run(rows, [0, rows - 1, 1])


def test_first_calls_at_smaller_sizes_touch_no_new_memory(tmp_path):
    """Values inside lie where those of larger ones lay."""
    width, side = 16, 256
    net = nn.Sequential(
        nn.Conv2D(3, width, 1), nn.BatchNorm2D(width), nn.Hardswish(),
        nn.Conv2D(width, width, 1), nn.BatchNorm2D(width), nn.Hardswish(), nn.AdaptiveAvgPool2D(1), nn.Flatten(),
    )  # fmt: skip
    net.eval()
    prefix = str(tmp_path / "net")
    paddle.jit.save(net, prefix, [paddle.static.InputSpec([None, 3, None, None], "float32", "x")])
    settings = inference.Config(prefix + ".json", prefix + ".pdiparams")
    settings.set_trt_dynamic_shape_info({"x": [1, 3, 8, 8]}, {"x": [1, 3, side, side]}, {"x": [1, 3, side, side]})
    predictor = inference.create_predictor(settings)
    for less in (16, 32, 48):
        predictor.get_input_handle("x").copy_from_cpu(np.ones([1, 3, side - less, side], "float32"))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        predictor.run()
        pages = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        assert pages * resource.getpagesize() < width * side * side * 4 / 4


def test_branches_are_lowered_before_the_first_call(tmp_path):
    """Zeros take the way that other tensors of their sizes take. Where data decide, either way is tried; loops on data,
    which may have no end over zeros, are not."""

    def by_sizes(x, y):
        if x.shape[1] == y.shape[1] and x.shape[1] > 1:
            return x + y
        return x + y[:, :1]

    def by_data(x, y):
        return x + y if (x > 0).all() else x + y[:, :1]

    def loop(x, y):
        while (x < 0.5).all():
            x = x * 2
        return x + y

    specs = [paddle.static.InputSpec([2, None], "float32", name) for name in "xy"]
    for call, is_lowered, sizes in (
        (by_sizes, True, ((64, 64), (64, 3))),
        (by_data, True, ((64, 64), (3, 3))),
        (loop, False, ((64, 64),)),
    ):
        prefix = str(tmp_path / call.__name__)
        paddle.jit.save(paddle.jit.to_static(call, specs, full_graph=True), prefix)
        predictor = inference.create_predictor(inference.Config(prefix + ".json", prefix + ".pdiparams"))
        lowered = predictor._run.executor._lowered
        assert bool(lowered) == is_lowered
        before = lowered.copy()
        for n, m in sizes:
            x, y = np.full((2, n), 0.5, "float32"), np.full((2, m), 0.25, "float32")
            (got,) = predictor.run([paddle.to_tensor(x), paddle.to_tensor(y)])
            assert np.array_equal(got.numpy(), np.full((2, n), 0.75, "float32"))
        assert not is_lowered or lowered == before


def test_both_ways_of_a_branch_on_data_have_run_before_the_first_call(tmp_path):
    def call(x):
        return paddle.exp(x) * 3 if (x > 0).all() else paddle.tanh(x) + x * 5

    prefix = str(tmp_path / "model")
    paddle.jit.save(call, prefix, [paddle.static.InputSpec([None, 8], "float32", "x")])
    predictor = inference.create_predictor(inference.Config(prefix + ".json", prefix + ".pdiparams"))
    xs = [paddle.full([3, 8], value) for value in (2.0, -2.0)]
    before = {name: dict(kernel.counts) for name, kernel in statistics.kernels().items()}
    given = [predictor.run([x])[0].numpy() for x in xs]
    assert {name: dict(kernel.counts) for name, kernel in statistics.kernels().items()} == before
    for x, y in zip(xs, given, strict=True):
        np.testing.assert_allclose(y, call(x).numpy(), rtol=1e-6)
