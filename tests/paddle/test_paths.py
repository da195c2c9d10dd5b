"""Old and private module paths of the reference lead to what they name, or say that it is not here."""

from __future__ import annotations

import importlib
import logging
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import paddle
from paddle._paths import PATHS, homes_of
from paddle.framework import checks


@pytest.mark.parametrize("path", PATHS)
def test_every_name_of_a_path_is_there(path):
    module = importlib.import_module(path)
    row = PATHS[path]
    if isinstance(row, str):
        assert module is importlib.import_module(row)
        return
    for name, (home, there) in homes_of(path).items():
        source = importlib.import_module(home)
        assert getattr(module, name) is (getattr(source, there) if there else source), name
        assert name in dir(module)


def test_a_path_that_stands_for_a_module_is_that_module():
    import paddle.base.core
    import paddle.base.core.eager
    import paddle.framework.base.framework
    from paddle.base import unique_name

    assert paddle.base.core is paddle.framework.core is paddle.core
    assert paddle.framework.base is paddle.base
    assert sys.modules["paddle.framework.base.framework"] is paddle.base.framework
    assert unique_name is paddle.utils.unique_name
    assert unique_name.__spec__.name == unique_name.__name__ == "paddle.framework.unique_name"


def test_anything_else_of_a_path_says_that_it_is_not_here():
    from paddle.base import core

    assert not hasattr(core, "ProgramDesc")
    with pytest.raises(AttributeError, match=r"^paddle\.framework\.core\.ProgramDesc is not in Umiak yet$"):
        core.ProgramDesc  # noqa: B018
    with pytest.raises(ImportError, match=r"^paddle\.base\.framework\.Operator is not in Umiak yet$"):
        from paddle.base.framework import Operator  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match=r"^paddle\.base\.device_worker is not in Umiak yet$"):
        import paddle.base.device_worker
    with pytest.raises(AttributeError, match="has no attribute '__version__'"):
        core.__version__  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'paddle\.framework\.nothing'"):
        import paddle.framework.nothing  # noqa: F401


def test_paths_are_made_when_they_are_asked_for():
    code = "import sys, paddle; print([m for m in sys.modules if m.startswith('paddle.base')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_star_imports_take_what_is_there():
    code = "from paddle.common_ops_import import *; print(check_type.__module__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{checks.check_type.__module__}\n"


def test_no_path_takes_the_place_of_a_name():
    """A module that is imported becomes an attribute of its package: no function may have its name there."""
    code = (
        "import sys, paddle, importlib, types\n"
        "from paddle._paths import PATHS\n"
        "for path in PATHS:\n"
        "    package, _, leaf = path.rpartition('.')\n"
        "    found = vars(importlib.import_module(package)).get(leaf) if package else None\n"
        "    assert found is None or isinstance(found, types.ModuleType), path\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- what stands behind the paths ------------------------------------------------------------------------------------


def test_types_of_values():
    from paddle.framework.core import VarDesc, size_of_dtype

    kinds = VarDesc.VarType
    x = paddle.zeros([2], kinds.FP64)
    assert x.dtype == kinds.FP64 and x.astype(kinds.INT8).dtype is paddle.int8
    assert kinds.LOD_TENSOR is kinds.DENSE_TENSOR and kinds.LOD_TENSOR == 7 and kinds.RAW == 17
    assert [size_of_dtype(d) for d in ("bool", kinds.BF16, "complex128")] == [1, 2, 16]


def test_the_tracer_shows_the_state():
    from paddle.base.framework import _dygraph_tracer
    from paddle.framework import core

    tracer = _dygraph_tracer()
    assert (tracer._has_grad, tracer._amp_level, tracer._amp_dtype) == (True, core.AmpLevel.O0, "float32")
    with paddle.no_grad():
        assert not tracer._has_grad and not core._has_grad()
        tracer._has_grad = True
        assert paddle.is_grad_enabled()
        core._set_has_grad(False)
        assert not paddle.is_grad_enabled()
    with paddle.amp.auto_cast(level="O2", dtype="bfloat16"):
        assert (tracer._amp_level, tracer._amp_dtype) == (core.AmpLevel.O2, "bfloat16")
    assert tracer._expected_place == paddle.framework.current_place()


def test_switches_as_a_mapping():
    from paddle.base.core import globals as variables

    switches = variables()
    assert "FLAGS_log" in switches and "FLAGS_nothing" not in switches
    assert switches.get("FLAGS_nothing", 3) == 3 and switches.get_default("FLAGS_log") == "warning"
    before = switches["FLAGS_cpu_deterministic"]
    try:
        switches["FLAGS_cpu_deterministic"] = not before
        assert paddle.get_flags("FLAGS_cpu_deterministic") == {"FLAGS_cpu_deterministic": not before}
    finally:
        switches["FLAGS_cpu_deterministic"] = before
    with pytest.raises(ValueError, match="FLAGS_nothing"):
        switches["FLAGS_nothing"]


def test_places():
    from paddle.base.framework import _current_expected_place, _get_paddle_place
    from paddle.framework.core import Place

    assert _current_expected_place() == paddle.CPUPlace() and isinstance(paddle.CPUPlace(), Place)
    assert _get_paddle_place("cpu") == paddle.CPUPlace() and _get_paddle_place(None) is None
    with pytest.raises(ValueError, match="requires a device"):
        _get_paddle_place("nowhere")


@contextmanager
def static_mode():
    paddle.enable_static()
    try:
        yield
    finally:
        paddle.disable_static()


def test_modes():
    from paddle.base import dygraph

    @paddle.framework.dygraph_only
    def one():
        return 1

    assert one() == 1 and one.__name__ == "one" and not paddle.framework.in_pir_mode()
    with static_mode():
        assert paddle.framework.in_pir_mode() and paddle.base.framework._dygraph_tracer() is None
        with pytest.raises(AssertionError, match="requires dynamic mode, got static mode"):
            one()
        with dygraph.guard():
            assert one() == 1 and dygraph.enabled()
        assert not dygraph.enabled()


def test_checks_check_in_static_mode_alone():
    x = paddle.zeros([2])
    bad = [
        lambda: checks.check_type(3, "x", str, "op"),
        lambda: checks.check_dtype(x.dtype, "x", ["int32"], "op"),
        lambda: checks.check_variable_and_dtype(x, "x", ("int32", "int64"), "op"),
        lambda: checks.check_shape(3, "op"),
        lambda: checks.check_shape([1, "a"], "op"),
        lambda: checks.check_shape([1, x], "op"),
    ]
    for call in bad:
        call()
    with static_mode():
        for call in bad:
            with pytest.raises(TypeError, match=" requires "):
                call()
        checks.check_type(3, "x", (str, int), "op")
        checks.check_variable_and_dtype(x, "x", ["float32"], "op")
        for name in ("bfloat16", "uint16"):
            checks.check_dtype(paddle.bfloat16, "x", [name], "op")
        checks.check_shape([1, paddle.zeros([1], "int32")], "op")
        checks.check_shape(paddle.zeros([2], "int64"), "op")


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("float32", "float32"),
        (paddle.int8, "int8"),
        (bool, "bool"),
        (np.float64, "float64"),
        ("bfloat16", "uint16"),
        (paddle.bfloat16, "uint16"),
        ("uint16", "uint16"),
        ("float8_e4m3fn", "float8_e4m3fn"),
    ],
)
def test_names_of_dtypes_as_arrays_carry_them(dtype, name):
    assert checks.convert_dtype(dtype) == name


@pytest.mark.parametrize("dtype", [int, float, "int", None, "word"])
def test_what_names_no_dtype(dtype):
    with pytest.raises(TypeError, match=r"data type|a dtype"):
        checks.convert_dtype(dtype)


def test_loggers(capsys):
    from paddle.base.log_helper import get_logger

    logger = get_logger("tests.paths", logging.INFO, fmt="%(message)s!")
    assert get_logger("tests.paths", logging.WARNING) is logger and len(logger.handlers) == 1
    logger.handlers[0].setStream(sys.stderr)
    logger.info("not shown")
    logger.warning("shown")
    assert capsys.readouterr().err == "shown!\n"


def test_private_helpers_that_packages_import():
    from paddle.distributed.collective import _get_global_group
    from paddle.framework import _no_check_dy2st_diff, core
    from paddle.framework.io import _parse_every_object
    from paddle.nn.layer.conv import _ConvNd
    from paddle.nn.layer.layers import in_declarative_mode
    from paddle.nn.layer.transformer import _convert_attention_mask
    from paddle.utils.download import _get_unique_endpoints

    assert isinstance(paddle.nn.Conv2D(1, 1, 1), _ConvNd) and callable(_get_global_group)
    with _no_check_dy2st_diff():
        pass
    with pytest.raises(RuntimeError, match="get_custom_device_count"):
        core.get_custom_device_count("npu")
    captured = paddle.jit.to_static(lambda x: x * 2 if in_declarative_mode() else x)
    assert captured(paddle.ones([1])).tolist() == [2.0] and not in_declarative_mode()
    hidden = _convert_attention_mask(paddle.to_tensor([True, False]), "float32")
    assert hidden.tolist() == [0.0, -1e9] and _convert_attention_mask(None, "float32") is None
    assert _convert_attention_mask(paddle.to_tensor([-1.0]), "float64").dtype is paddle.float64
    found = _parse_every_object({"a": [1, (2,)], "b": {3}}, lambda x: isinstance(x, int), lambda x: x + 1)
    assert found == {"a": [2, (3,)], "b": {4}}
    assert _get_unique_endpoints(["a:1", "a:2", "b:1"]) == {"a:1", "b:1"}
    with pytest.raises(AttributeError, match="OpProtoHolder is not in Umiak yet"):
        paddle.common_ops_import.OpProtoHolder  # noqa: B018


def test_names_of_the_package():
    assert (paddle.int, paddle.long, paddle.short) == (paddle.int32, paddle.int64, paddle.int16)
    assert paddle.zeros([1], paddle.long).dtype is paddle.int64
    assert paddle.__git_commit__ == paddle.version.commit
    x, y = paddle.functional.split(paddle.arange(3), 2)
    assert (x.tolist(), y.tolist()) == ([0, 1], [2])  # the size of a part, as in PyTorch


def test_switches_of_decomposition_are_kept():
    from paddle.framework import core

    assert not core._is_eager_prim_enabled() and not core._is_all_prim_enabled()
    try:
        core.set_prim_eager_enabled(True)
        core._set_prim_all_enabled(True)
        assert core._is_eager_prim_enabled() and core._is_fwd_prim_enabled() and core._is_bwd_prim_enabled()
        core._set_prim_backward_enabled(False)
        assert core._is_fwd_prim_enabled() and not core._is_all_prim_enabled()
    finally:
        core.set_prim_eager_enabled(False)
        core._set_prim_all_enabled(False)


def test_hooks_of_saved_tensors_without_a_block():
    from paddle.framework.core import eager

    packed = []
    x = paddle.to_tensor([3.0], stop_gradient=False)
    eager.register_saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t)
    try:
        y = x * x
    finally:
        eager.reset_saved_tensors_hooks()
    n = len(packed)
    (y + x * x).backward()
    assert n and len(packed) == n and x.grad.item() == 12
    eager.reset_saved_tensors_hooks()  # none is left


def test_errors_after_which_a_job_starts_again():
    from paddle.framework import recall_error

    checked = [recall_error.check_naninf(paddle.to_tensor([1.0, v])) for v in (2.0, float("inf"), float("nan"))]
    assert checked == [None, recall_error.LOSS_INF_ERROR, recall_error.LOSS_NAN_ERROR]


def test_parameters_are_told_from_tensors():
    from paddle.framework import is_parameter

    assert is_parameter(paddle.nn.Linear(1, 1).weight) and not is_parameter(paddle.ones([1]))


def test_helpers_of_clipping():
    from paddle.nn import clip

    assert clip._squared_l2_norm(paddle.to_tensor([[3.0, 4.0]])).tolist() == [25.0]
    layer = paddle.nn.Embedding(4, 2, sparse=True)
    layer(paddle.to_tensor([1, 3, 1])).sum().backward()
    merged = clip.merge_selected_rows(layer.weight.grad)
    assert merged.rows() == [1, 3]
    assert clip.get_tensor_from_selected_rows(merged).tolist() == [[2.0, 2.0], [1.0, 1.0]]
    for helper in (clip.merge_selected_rows, clip.get_tensor_from_selected_rows):
        with pytest.raises(TypeError, match="requires SelectedRows, got Tensor"):
            helper(paddle.ones([1]))


def test_attributes_of_the_parts_of_transformers():
    from paddle.nn.layer.transformer import _convert_param_attr_to_list

    assert _convert_param_attr_to_list(False, 2) == [False, False]
    assert [a.name for a in _convert_param_attr_to_list("w", 2)] == ["w_0", "w_1"]
    first, second = _convert_param_attr_to_list((True, False), 2)
    assert isinstance(first, paddle.ParamAttr) and second is False
    with pytest.raises(ValueError, match="a list of 2, got 1"):
        _convert_param_attr_to_list([None], 2)
    layer = paddle.nn.TransformerEncoderLayer(4, 2, 8, weight_attr=paddle.ParamAttr(name="w"))
    assert (layer.self_attn.q_proj.weight.name, layer.linear1.weight.name) == ("w_0", "w_1")
