"""Every method of a config does what it says, is kept, or is refused."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest

import paddle
from paddle import inference
from paddle.inference import engines
from paddle.inference.loading import ModelNotFound
from umiak.compiler.passes.manager import INFERENCE

Half = inference.PrecisionType.Half

# Settings, and what they are asked for afterwards.
KEPT = [
    ("enable_memory_optim", (), None, None),
    ("enable_memory_optim", (False,), None, None),
    ("enable_mkldnn", (), "mkldnn_enabled", True),
    ("enable_onednn", (), "onednn_enabled", True),
    ("disable_mkldnn", (), "mkldnn_enabled", False),
    ("disable_onednn", (), "onednn_enabled", False),
    ("enable_mkldnn_bfloat16", (), "mkldnn_enabled", True),
    ("enable_onednn_bfloat16", (), "onednn_enabled", True),
    ("set_bfloat16_op", ({"conv2d"},), None, None),
    ("enable_mkldnn_int8", ({"conv2d"},), "mkldnn_int8_enabled", True),
    ("enable_onednn_int8", (), "onednn_int8_enabled", True),
    ("set_mkldnn_cache_capacity", (3,), None, None),
    ("set_onednn_cache_capacity", (3,), None, None),
    ("set_mkldnn_op", ({"conv2d"},), None, None),
    ("set_onednn_op", ({"conv2d"},), None, None),
    ("disable_mkldnn_fc_passes", (), None, None),
    ("disable_onednn_fc_passes", (), None, None),
    ("set_cpu_math_library_num_threads", (2,), "cpu_math_library_num_threads", 2),
    ("exp_enable_mixed_precision_ops", ({"conv2d"},), None, None),
    ("exp_disable_mixed_precision_ops", ({"conv2d"},), None, None),
    ("enable_low_precision_io", (), None, None),
    ("switch_ir_optim", (False,), "ir_optim", False),
    ("switch_ir_optim", (), "ir_optim", True),
    ("switch_ir_debug", (), None, None),
    ("set_optimization_level", (1,), None, None),
    ("set_optimization_level", (3,), None, None),
    ("set_params_file", ("looked for later",), None, None),
    ("enable_custom_passes", (["decompose_pass"],), None, None),
    ("delete_pass", ("dead_code_elimination_pass",), None, None),
    ("enable_cinn", (), None, None),
    ("enable_new_ir", (), "new_ir_enabled", True),
    ("enable_new_ir", (False,), "new_ir_enabled", False),
    ("enable_new_executor", (), None, None),
    ("enable_save_optim_model", (), None, None),
    ("use_optimized_model", (), None, None),
    ("collect_shape_range_info", ("shapes",), "shape_range_info_path", "shapes"),
    ("collect_shape_range_info", ("shapes",), "shape_range_info_collected", True),
    ("enable_profile", (), None, None),
    ("disable_glog_info", (), "glog_info_disabled", True),
    ("switch_specify_input_names", (), "specify_input_name", True),
    ("switch_use_feed_fetch_ops", (), "use_feed_fetch_ops_enabled", True),
    ("disable_gpu", (), "use_gpu", False),
    ("exp_enable_use_cutlass", (), None, None),
    ("exp_sparse_conv_using_buffer", ([[3]], [[1]]), None, None),
    ("set_xpu_device_id", (2,), "xpu_device_id", 2),
    ("set_tensorrt_optimization_level", (5,), "tensorrt_optimization_level", 5),
    ("set_trt_dynamic_shape_info", ({"x": [1]}, {"x": [3]}, {"x": [2]}, True), "tensorrt_dynamic_shape_enabled", True),
    ("enable_tuned_tensorrt_dynamic_shape", ("", False), "tuned_tensorrt_dynamic_shape", True),
    ("enable_tuned_tensorrt_dynamic_shape", (), "trt_allow_build_at_runtime", True),
    ("exp_disable_tensorrt_ops", (["conv2d"],), None, None),
    ("exp_disable_tensorrt_subgraph", (["x"],), None, None),
    ("exp_disable_tensorrt_dynamic_shape_ops", (True,), None, None),
    ("exp_specify_tensorrt_subgraph_precision", (["a"], ["b"], ["c"]), None, None),
    ("mark_trt_engine_outputs", (["x"],), None, None),
    ("enable_tensorrt_varseqlen", (), "tensorrt_varseqlen_enabled", True),
    ("enable_tensorrt_dla", (1,), "tensorrt_dla_enabled", True),
    ("enable_tensorrt_inspector", (True,), "tensorrt_inspector_enabled", True),
    ("enable_tensorrt_explicit_quantization", (), "tensorrt_explicit_quantization_enabled", True),
    ("enable_tensorrt_memory_optim", (True, 3), None, None),
    ("enable_ort_optimization", (), None, None),
    ("disable_onnxruntime", (), "onnxruntime_enabled", False),
]

REFUSED = [
    (
        "enable_use_gpu",
        (100, 0),
        RuntimeError,
        "requires a device of type 'gpu' and its backend, got none. disable_gpu",
    ),
    ("enable_use_gpu", (100, 0, "half"), TypeError, "a member of PrecisionType as precision_mode, got 'half'"),
    ("enable_xpu", (), RuntimeError, "requires a device of type 'xpu'"),
    ("enable_custom_device", ("npu",), RuntimeError, "requires a device of type 'npu'"),
    ("enable_custom_device", ("cpu", 3), RuntimeError, "got number 3 of"),
    ("enable_custom_device", ("cpu", 0, 1), TypeError, "a member of PrecisionType"),
    ("enable_ipu", (), RuntimeError, "requires an IPU and its backend, got none"),
    ("set_ipu_config", (), RuntimeError, "requires an IPU"),
    ("set_ipu_custom_info", (), RuntimeError, "requires an IPU"),
    ("load_ipu_config", ("file",), RuntimeError, "requires an IPU"),
    ("set_xpu_config", (3,), TypeError, "an XpuConfig, got int"),
    ("enable_tensorrt_engine", (), RuntimeError, "requires an engine 'tensorrt', got those of"),
    ("enable_openvino_engine", (), RuntimeError, "requires an engine 'openvino', got those of"),
    ("enable_openvino_engine", (1,), TypeError, "a member of PrecisionType"),
    ("set_cpu_math_library_num_threads", (0,), ValueError, "a number of 1 or more, got 0"),
    ("set_optimization_level", (4,), ValueError, "0, 1, 2 or 3, got 4"),
    ("set_tensorrt_optimization_level", (6,), ValueError, "a level from 0 to 5, got 6"),
    ("enable_custom_passes", (["no_pass"],), ValueError, "the name of a pass"),
    ("switch_ir_debug", (True, ["no_pass"]), ValueError, "the name of a pass"),
    ("set_trt_dynamic_shape_info", ({"x": [1]}, {}, {}), ValueError, "the same inputs in all three"),
    ("enable_tuned_tensorrt_dynamic_shape", ("/nowhere",), FileNotFoundError, "nowhere"),
    ("set_prog_file", ("/nowhere",), FileNotFoundError, r"\[set_prog_file\] requires a file '/nowhere', got none"),
    ("set_model", (), TypeError, "a folder, or the files of a program and of its parameters, got 0"),
    ("set_model", ("/nowhere", "/nowhere"), FileNotFoundError, "nowhere"),
    ("set_model", (os.path.dirname(__file__), "no_model"), FileNotFoundError, "a model '.*no_model', got no file of"),
    ("collect_shape_range_info", ("",), ValueError, "the name of a file, got ''"),
    ("set_model_buffer", (3, 1, b"", 0), TypeError, "requires bytes, got int"),
    ("set_model_buffer", (b"abc", 4, b"", 0), ValueError, "a size from 0 to the 3 bytes that are given, got 4"),
]

# Questions whose answer some setting above does not change, and what is tested by itself.
OTHERS = {
    "gpu_device_id", "memory_pool_init_size_mb", "fraction_of_gpu_memory_for_pool", "use_xpu", "xpu_config",
    "tensorrt_engine_enabled", "tensorrt_precision_mode", "openvino_engine_enabled", "enable_onnxruntime",
    "pass_builder", "summary", "to_native_config", "model_dir", "prog_file", "params_file", "model_from_memory",
    "set_optim_cache_dir",
}  # fmt: skip


@pytest.mark.parametrize(("name", "args", "ask", "answer"), KEPT)
def test_settings(name, args, ask, answer):
    config = inference.Config()
    assert getattr(config, name)(*args) is None
    if ask is not None:
        assert getattr(config, ask)() == answer


@pytest.mark.parametrize(("name", "args", "kind", "message"), REFUSED)
def test_refusals(name, args, kind, message):
    config = inference.Config()
    before = config.summary()
    with pytest.raises(kind, match=message):
        getattr(config, name)(*args)
    assert config.summary() == before


def test_every_method_is_called_here():
    methods = {n for n, _ in inspect.getmembers(inference.Config, callable) if not n.startswith("_")}
    methods -= {"Precision", "Float32", "Int8", "Half", "Bfloat16"}
    asked = {ask for _, _, ask, _ in KEPT if ask}
    called = {name for name, *_ in [*KEPT, *REFUSED]}
    assert methods == asked | called | OTHERS
    assert OTHERS.isdisjoint(asked | called)


def test_questions():
    config = inference.Config()
    assert (config.gpu_device_id(), config.memory_pool_init_size_mb(), config.use_xpu()) == (0, 100, False)
    assert config.fraction_of_gpu_memory_for_pool() == 0.0
    assert not (config.tensorrt_engine_enabled() or config.openvino_engine_enabled() or config.onnxruntime_enabled())
    assert config.tensorrt_precision_mode() is inference.Config.Float32 is inference.PrecisionType.Float32
    native = config.to_native_config()
    assert (native.model_dir, native.use_gpu, native.cpu_math_library_num_threads()) == ("", False, 1)
    native.set_cpu_math_library_num_threads(4)
    assert (native.threads, config.cpu_math_library_num_threads()) == (4, 1)


def first_argument(kind):
    """Settings whose first argument is of a kind, by name."""
    found = {}
    for name, method in inspect.getmembers(inference.Config, inspect.isfunction):
        parameters = list(inspect.signature(method).parameters.values())[1:]
        if not name.startswith("_") and parameters and parameters[0].annotation == kind:
            found[name] = len([p for p in parameters if p.default is inspect.Parameter.empty])
    return found


NAMES, SWITCHES = first_argument("Iterable[str]"), first_argument("bool")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("given", ["relu", [1], 3])
def test_a_text_is_no_list_of_names(name, given):
    with pytest.raises(TypeError, match=rf"\[{name.replace('mkldnn', '(mkl|one)dnn')}\] requires a list or set of"):
        getattr(inference.Config(), name)(*[given] * max(NAMES[name], 1))


@pytest.mark.parametrize("name", sorted(SWITCHES.keys() - {"set_ipu_config"}))
def test_a_text_is_no_switch(name):
    with pytest.raises(TypeError, match=rf"\[{name}\] requires True or False, got 'False'"):
        getattr(inference.Config(), name)("False")


def test_settings_of_these_kinds():
    assert len(NAMES) > 8 and len(SWITCHES) > 10


def test_copies_are_apart():
    config = inference.Config()
    config.exp_disable_mixed_precision_ops({"conv2d"})
    copied = inference.Config(config)
    copied.delete_pass(INFERENCE[0])
    copied.exp_disable_mixed_precision_ops({"matmul"})
    copied.disable_glog_info()
    assert INFERENCE[0] in config.pass_builder().all_passes()
    assert not config.glog_info_disabled()
    assert config._unmixed == {"conv2d"}


def test_a_custom_device_may_be_the_host(saved):
    config = inference.Config()
    config.enable_custom_device("cpu", 0, Half)
    assert not config.use_gpu()
    assert config._narrow() == "float16"


def test_xpu_settings():
    config = inference.Config()
    settings = inference.XpuConfig()
    settings.l3_size = 10
    settings.quant_post_static_gelu_out_threshold = 3
    config.set_xpu_config(settings)
    assert config.xpu_config() is settings
    with pytest.raises(AttributeError, match="requires a setting of"):
        settings.l4_size = 3
    for name, value in (("device_id", "one"), ("device_id", True), ("conv_autotune_file", 3)):
        with pytest.raises(TypeError, match=f"for {name}, got"):
            setattr(settings, name, value)
    assert inference.XpuConfig.gemm_compute_precision == 1


def test_the_table(saved):
    _, prefix = saved("linear")
    config = inference.Config(f"{prefix}.json", f"{prefix}.pdiparams")
    config.set_cpu_math_library_num_threads(12)
    lines = config.summary().splitlines()
    assert len({len(line) for line in lines}) == 1
    rows = dict([c.strip() for c in line.strip("|").split("|")] for line in lines if line.startswith("|"))
    assert rows["Option"] == "Value"
    assert (rows["model_file"], rows["cpu_math_thread"], rows["ir_optim"]) == (f"{prefix}.json", "12", "true")


# --- passes ----------------------------------------------------------------------------------------------------------


def test_the_list_of_passes():
    builder = inference.Config().pass_builder()
    assert builder.all_passes() == list(INFERENCE)
    builder.set_passes(["decompose_pass"])
    builder.append_pass("dead_code_elimination_pass")
    builder.insert_pass(0, "identity_op_clean_pass")
    builder.append_analysis_pass("inplace_pass")
    names = ["identity_op_clean_pass", "decompose_pass", "dead_code_elimination_pass"]
    assert builder.all_passes() == names
    assert builder.analysis_passes() == ["inplace_pass"]
    assert builder.debug_string().splitlines() == ["Passes to apply:", *(f"  - {n}" for n in ["inplace_pass", *names])]
    builder.delete_pass("inplace_pass")
    assert builder.analysis_passes() == []
    for call in (builder.append_pass, builder.append_analysis_pass, lambda n: builder.set_passes([n])):
        with pytest.raises(ValueError, match="the name of a pass"):
            call("no_pass")
    with pytest.raises(ValueError, match="a place from 0 to 3, got 9"):
        builder.insert_pass(9, "decompose_pass")
    assert builder.all_passes() == names


def test_custom_passes_come_first():
    config = inference.Config()
    config.enable_custom_passes(["decompose_pass"])
    assert config._passes() == ["decompose_pass", *INFERENCE]
    config.enable_custom_passes(["decompose_pass"], custom_pass_only=True)
    assert config._passes() == ["decompose_pass"]
    config.set_optimization_level(1)
    assert config._passes() == []


# --- engines ---------------------------------------------------------------------------------------------------------


class Fake:
    missing_part = ""

    def missing(self):
        return self.missing_part


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(engines, "ENGINES", {})
    for name in ("tensorrt", "openvino", "onnxruntime"):
        engines.register_engine(name, Fake())


@pytest.mark.usefixtures("registered")
def test_engines_that_are_there():
    config = inference.Config()
    config.enable_tensorrt_engine(1 << 20, 4, 5, Half)
    config.exp_disable_tensorrt_ops(["conv2d"])
    assert config.tensorrt_engine_enabled()
    assert config.tensorrt_precision_mode() is Half
    asked = config._request()
    assert (asked.engine, asked.precision, asked.smallest, asked.kept) == ("tensorrt", "float16", 5, {"pd_op.conv2d"})
    assert asked.settings["max_batch_size"] == 4
    config.enable_openvino_engine(inference.PrecisionType.Int8)
    assert config.openvino_engine_enabled()
    assert config._request().precision == "int8"
    config.enable_onnxruntime()
    assert config.onnxruntime_enabled()
    config.disable_onnxruntime()
    assert config._request() is None


@pytest.mark.usefixtures("registered")
def test_an_engine_that_lacks_something(monkeypatch):
    monkeypatch.setattr(Fake, "missing_part", "the package fake")
    with pytest.raises(RuntimeError, match=r"\[enable_openvino_engine\] requires the package fake, got none"):
        inference.Config().enable_openvino_engine()


# --- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"x": 3}', '{"x": {"min": [1], "max": [1]}}', '{"x": {"min": [1], "max": [1], "usual": [1, 2]}}',
     '{"x": {"min": [-1], "max": [1], "usual": [1]}}', '{"x": {"min": [1.5], "max": [1], "usual": [1]}}'],
)  # fmt: skip
def test_files_that_hold_no_sizes(tmp_path, text):
    path = tmp_path / "shapes"
    path.write_text(text)
    config = inference.Config()
    with pytest.raises(ValueError, match=r"\[enable_tuned_tensorrt_dynamic_shape\] requires"):
        config.enable_tuned_tensorrt_dynamic_shape(str(path))
    assert not config.tuned_tensorrt_dynamic_shape()


def test_a_model_that_is_not_there():
    assert issubclass(ModelNotFound, FileNotFoundError)
    assert issubclass(ModelNotFound, RuntimeError)
    config = inference.Config("/nowhere/model")
    assert config.model_dir() == "/nowhere/model"
    with pytest.raises(ModelNotFound, match=r"\[Config\] requires a folder '/nowhere/model', got none"):
        inference.create_predictor(config)


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_kinds():
    assert {k.name: int(k) for k in inference.DataType} == {
        "FLOAT32": 0, "INT64": 1, "INT32": 2, "UINT8": 3, "INT8": 4, "FLOAT16": 5, "BOOL": 6, "FLOAT64": 7,
        "BFLOAT16": 8,
    }  # fmt: skip
    assert {k.name: int(k) for k in inference.PlaceType} == {"UNK": -1, "CPU": 0, "GPU": 1, "XPU": 2, "CUSTOM": 4}
    sizes = [4, 8, 4, 1, 1, 2, 1, 8, 2]
    assert [inference.get_num_bytes_of_data_type(k) for k in inference.DataType] == sizes
    with pytest.raises(TypeError, match="a member of DataType"):
        inference.get_num_bytes_of_data_type(0)
    assert list("abc")[inference.PrecisionType.Int8] == "b"


def test_names_of_operators():
    assert inference._get_phi_kernel_name("reduce_mean") == "mean"
    assert inference._get_phi_kernel_name("no_such_op") == "no_such_op"
    with pytest.raises(TypeError, match="the name of an operator, got int"):
        inference._get_phi_kernel_name(3)


@pytest.mark.parametrize("name", [os.fspath, os.fsencode, Path], ids=["str", "bytes", "Path"])
def test_names_of_files_as_programs_have_them(name, tmp_path):
    prefix = str(tmp_path / "net")
    paddle.jit.save(paddle.nn.Linear(3, 2), prefix, input_spec=[paddle.static.InputSpec([None, 3], "float32")])
    files = [name(prefix + end) for end in (".json", ".pdiparams")]
    by_setters, by_model, by_folder = inference.Config(), inference.Config(), inference.Config(name(str(tmp_path)))
    by_setters.set_prog_file(files[0])
    by_setters.set_params_file(files[1])
    by_model.set_model(*files)
    begun = inference.Config(name(str(tmp_path)), name("net"))
    for config in (inference.Config(*files), by_setters, by_model, begun):
        assert (config.prog_file(), config.params_file()) == (prefix + ".json", prefix + ".pdiparams")
        assert inference.create_predictor(config).run([paddle.ones([4, 3])])[0].shape == [4, 2]
    assert by_folder.model_dir() == str(tmp_path)
    by_folder.set_optim_cache_dir(name(str(tmp_path / "kept")))
    by_folder.collect_shape_range_info(name(str(tmp_path / "shapes")))
    assert by_folder.shape_range_info_path() == str(tmp_path / "shapes")


@pytest.mark.parametrize("wrong", [3, None, ["a"], 2.5])
def test_what_is_no_name_of_a_file_is_refused(wrong):
    calls = {
        "Config": [
            lambda: inference.Config(wrong, "b"),
            lambda: inference.Config().set_model(wrong),
            lambda: inference.Config().set_model(wrong, ""),
        ],
        "set_prog_file": [lambda: inference.Config().set_prog_file(wrong)],
        "set_params_file": [lambda: inference.Config().set_params_file(wrong)],
        "set_optim_cache_dir": [lambda: inference.Config().set_optim_cache_dir(wrong)],
        "collect_shape_range_info": [lambda: inference.Config().collect_shape_range_info(wrong)],
    }
    for op, those in calls.items():
        for call in those:
            with pytest.raises(TypeError, match=rf"\[{op}\] requires the name of a file, got {type(wrong).__name__}"):
                call()
