"""What the interface in C has beside runs: settings, hooks, packed sequences, conversions; and programs in C++."""

import gc
import json
import subprocess
import sys
from ctypes import byref, c_size_t

import numpy as np
import pytest

from paddle import inference
from paddle.inference.native import settings
from tests.inference.test_cut import RECORDED as CUT
from tests.inference.test_packed_sequences import RECORDED, arrays, offsets
from tests.support import native_libraries as native
from tests.support.native_libraries import Native, NativeError, expected, program, started

PROGRAMS = native.ROOT / "tests/inference/native/programs"
needs_cxx = pytest.mark.skipif(native.CXX is None, reason="needs a C++ compiler")


@pytest.fixture(scope="module")
def library(embedded):
    return Native(embedded)


@pytest.fixture
def image(rng):
    return rng.standard_normal((2, 3, 8, 8)).astype("float32")


def in_python(prefix, pairs, x):
    """What a predictor in Python gives with the same settings."""
    config = inference.Config(f"{prefix}.json", f"{prefix}.pdiparams")
    settings.apply(config, [(name, value or "") for name, value in pairs])
    predictor = inference.create_predictor(config)
    (y,) = predictor.run([paddle_tensor(x)])
    return y.numpy()


def paddle_tensor(x):
    import paddle

    return paddle.to_tensor(x)


BFLOAT16 = ("enable_onednn_bfloat16", None)


@pytest.mark.parametrize(
    ("pairs", "exact"),
    [
        ([], True),
        ([("switch_ir_optim", "0")], True),
        ([("set_optimization_level", "1")], True),
        ([("delete_pass", "conv2d_bn_fuse_pass")], True),
        ([("set_passes", "")], True),
        ([("disable_onednn", None)], None),
        ([BFLOAT16], False),
        ([BFLOAT16, ("exp_disable_mixed_precision_ops", "conv2d")], True),
        ([("set_bfloat16_op", "matmul")], True),
        ([("set_trt_dynamic_shape_info", "x:1x3x8x8:4x3x8x8:2x3x8x8")], True),
    ],
)
def test_a_setting_does_what_it_does_in_python(library, plain_model, image, pairs, exact):
    if exact is None:
        with pytest.raises(NativeError, match="requires one of the settings"):
            library.create(plain_model, settings=pairs)
        return
    p = library.create(plain_model, settings=pairs)
    (y,) = p.run(image)
    p.close()
    np.testing.assert_array_equal(y, in_python(plain_model, pairs, image))
    (plain,) = expected(plain_model, image)
    assert np.abs(y - plain).max() < (1e-5 if exact else 0.1)
    assert exact or np.abs(y - plain).max() > 1e-5


def test_inputs_and_outputs_of_a_narrow_type(library, plain_model, image):
    p = library.create(plain_model, settings=[BFLOAT16, ("enable_low_precision_io", "1")])
    assert [p.info(what, 0)[1] for what in ("input", "output")] == ["uint16", "uint16"]  # bfloat16, in NumPy
    with pytest.raises(NativeError, match="requires 'x' as bfloat16, got float32"):
        p.set(0, image)
    p.close()


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (("no_setting", None), r"requires one of the settings enable_onednn_bfloat16, .*, got 'no_setting'"),
        (("switch_ir_optim", "yes"), "setting switch_ir_optim to 'yes': .* requires 0 or 1"),
        (("enable_profile", "1"), "setting enable_profile to '1': .* requires no value"),
        (("set_optimization_level", "7"), "requires 0, 1, 2 or 3, got 7"),
        (("set_optimization_level", "x"), "setting set_optimization_level to 'x'"),
        (("append_pass", "none"), "setting append_pass to 'none'"),
        (("insert_pass", "99,dead_code_elimination_pass"), "a place from 0 to"),
        (("set_trt_dynamic_shape_info", "x:1x3"), "requires name:1x3:8x3:2x3"),
        (("enable_tuned_tensorrt_dynamic_shape", "1:/no/such"), "/no/such"),
    ],
)
def test_settings_that_are_refused(library, plain_model, pair, words):
    with pytest.raises(NativeError, match=words) as error:
        library.create(plain_model, settings=[pair])
    assert error.value.status == native.INVALID_ARGUMENT


def test_names_of_settings_and_passes(library):
    names = library.names("setting")
    assert names == [*settings.SETTINGS, *settings.PASSES]
    builder = inference.Config().pass_builder()
    assert all(hasattr(inference.Config, n) or hasattr(builder, n) for n in names)
    assert library.names("pass", None) == builder.all_passes()
    given = native.options(settings=[("delete_pass", builder.all_passes()[0])])
    assert library.names("pass", byref(given)) == builder.all_passes()[1:]


def test_sizes_are_collected(library, plain_model, image, tmp_path):
    p = library.create(plain_model, settings=[("collect_shape_range_info", str(tmp_path / "shapes"))])
    clone = p.clone()
    p.run(image)
    p.run(image[:1])
    clone.run(image)
    p.close()
    clone.close()
    gc.collect()
    found = json.loads((tmp_path / "shapes").read_text())
    assert found == {"x": {"min": [1, 3, 8, 8], "max": [2, 3, 8, 8], "usual": [2, 3, 8, 8]}}


PROFILED = """
import sys
from pathlib import Path
import numpy as np
from tests.support.native_libraries import Native
p = Native(Path(sys.argv[1])).create(sys.argv[2], settings=[("enable_profile", None)])
p.run(np.zeros((2, 3, 8, 8), "float32"))
p.close()
"""


def test_a_profile_is_printed_in_the_end(embedded, plain_model):
    run = subprocess.run(
        [sys.executable, "-c", PROFILED, embedded, plain_model],
        cwd=native.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Operator Summary" in run.stdout


def test_what_is_kept_between_runs_is_let_go(library, plain_model, image):
    p = library.create(plain_model)
    (wanted,) = p.run(image)
    p.clear()
    with pytest.raises(NativeError, match="has no data before a run"):
        p.copy(0, 8)
    assert p.shrink() >= 0
    np.testing.assert_array_equal(p.run()[0], wanted)  # of the input that was set
    p.close()


# --- hooks


def test_hooks_are_told_what_they_are_told_in_python(library, plain_model, image):
    p = library.create(plain_model)
    (wanted,) = p.run(image)
    got, in_python_too = ([], []), ([], [])
    predictor = inference.create_predictor(inference.Config(f"{plain_model}.json", f"{plain_model}.pdiparams"))
    for kind, register in enumerate((predictor.register_input_hook, predictor.register_output_hook)):
        p.add_hook(kind, lambda op, *x, kind=kind: got[kind].append((op, *x)) or 0)
        register(
            lambda op, name, x, kind=kind: in_python_too[kind].append(
                (op, name, x.dtype.name, list(x.shape), x.numpy().tobytes())
            )
        )
    np.testing.assert_allclose(p.run()[0], wanted, atol=1e-5)
    predictor.run([paddle_tensor(image)])
    assert got[1]
    assert got == in_python_too
    p.close()


def test_a_hook_ends_a_run(library, plain_model, image):
    p = library.create(plain_model)
    stop = [1]
    p.add_hook(1, lambda *_: stop[0])
    with pytest.raises(NativeError, match=r"a hook has ended the run at .* of ") as error:
        p.run(image)
    assert error.value.status == native.RUN_FAILED
    stop[0] = 0
    p.run()
    clone = p.clone()
    stop[0] = 1
    clone.run(image)  # has none
    p.close()
    clone.close()


# --- packed sequences


@pytest.mark.parametrize("name", ["pooled", "pooled_twice", "concatenated"])
def test_packed_sequences(library, tmp_path, name):
    (tmp_path / "m.pdmodel").write_bytes(RECORDED[f"{name}/program"].tobytes())
    if RECORDED[f"{name}/values"].size:
        (tmp_path / "m.pdiparams").write_bytes(RECORDED[f"{name}/values"].tobytes())
    p = library.create(tmp_path / "m.pdmodel")
    for i in range(p.count("input")):
        key = p.info("input", i)[0]
        p.set(i, arrays(f"{name}/in")[key])
        p.set_lod(i, offsets(name, f"lod/{key}"))
    for i, y in enumerate(p.run()):
        np.testing.assert_allclose(y, RECORDED[f"{name}/out/{i}"], rtol=1e-5, atol=1e-5)
        assert p.lod(i) == offsets(name, f"outlod/{i}")
    rows = p.info("output", 0)[2][0]
    for wrong in ([[1, rows]], [[0, 5, 3]]):
        with pytest.raises(NativeError, match=r"offsets that begin with 0|levels of offsets") as error:
            p.set_lod(0, wrong)
        assert error.value.status == native.INVALID_INPUT
    p.close()


def test_offsets_that_do_not_fit_the_rows(library, tmp_path):
    (tmp_path / "m.pdmodel").write_bytes(RECORDED["pooled/program"].tobytes())
    p = library.create(tmp_path / "m.pdmodel")
    p.set_lod(0, [[0, 7]])
    with pytest.raises(NativeError, match="offsets of 'x' that end with its 8 rows") as error:
        p.run(arrays("pooled/in")["x"])
    assert error.value.status == native.INVALID_INPUT
    p.set_lod(0, [[0, 8]])
    p.run()
    with pytest.raises(NativeError, match="outputs, got index 99"):
        p.lod(99)
    p.close()


def test_models_without_sequences_take_none(library, plain_model, image):
    p = library.create(plain_model)
    with pytest.raises(NativeError, match="has no offsets before a run"):
        p.lod(0)
    with pytest.raises(NativeError, match="sequences are padded here"):
        p.set_lod(0, [[0, 2]])
    p.set_lod(0, [])
    p.run(image)
    assert p.lod(0) == []
    assert p.c.umiak_set_lod(p.p, c_size_t(0), c_size_t(99), None, None) == native.INVALID_ARGUMENT
    assert p.c.umiak_set_lod(p.p, c_size_t(0), c_size_t(1), None, None) == native.INVALID_ARGUMENT
    assert p.c.umiak_set_lod(p.p, c_size_t(0), c_size_t(1), byref(c_size_t(1 << 62)), None) == native.INVALID_ARGUMENT
    p.close()


# --- conversions


@pytest.mark.parametrize("keep", ["1", "0"])
def test_a_model_is_converted(library, plain_model, image, tmp_path, keep):
    library.convert(plain_model, tmp_path / "mixed.json", native.DTYPES.index("uint16"), [("keep_io_types", keep)])
    wanted = tmp_path / "wanted.json"
    inference.convert_to_mixed_precision(
        f"{plain_model}.json", f"{plain_model}.pdiparams", str(wanted), "", inference.PrecisionType.Bfloat16,
        inference.PlaceType.CPU, keep_io_types=keep == "1",
    )  # fmt: skip
    for end in (".json", ".pdiparams"):
        assert (tmp_path / f"mixed{end}").read_bytes() == (tmp_path / f"wanted{end}").read_bytes()


def test_conversions_that_are_refused(library, plain_model, tmp_path):
    for dtype, pairs, words, status in (
        (0, [], "UMIAK_FLOAT16 or UMIAK_BFLOAT16, got 0", native.INVALID_ARGUMENT),
        (5, [("threads", "1")], "one of the settings keep_io_types", native.INVALID_ARGUMENT),
        (5, [("keep_io_types", "no")], "setting keep_io_types to 'no'", native.INVALID_ARGUMENT),
    ):
        with pytest.raises(NativeError, match=words) as error:
            library.convert(plain_model, tmp_path / "m.json", dtype, pairs)
        assert error.value.status == status
    with pytest.raises(NativeError, match="requires a model") as error:
        library.convert(tmp_path / "none", tmp_path / "m.json", 5)
    assert error.value.status == native.INVALID_MODEL
    assert not list(tmp_path.iterdir())


# --- models whose data decide


@pytest.mark.parametrize("name", ["detection", "proposals", "decoder"])
def test_models_in_which_data_decide_what_is_called(library, tmp_path, name):
    """What is computed behind the compiled part has dtypes and dims of its own, which a run tells."""
    (tmp_path / "m.pdmodel").write_bytes(CUT[f"{name}/program"].tobytes())
    (tmp_path / "m.pdiparams").write_bytes(CUT[f"{name}/values"].tobytes())
    p = library.create(tmp_path / "m")
    assert [p.info("output", i)[1:] for i in range(p.count("output"))] == [("float32", [])] * p.count("output")
    for i in range(p.count("input")):
        p.set(i, CUT[f"{name}/in/0/{p.info('input', i)[0]}"])
    for i, y in enumerate(p.run()):
        z = CUT[f"{name}/out/0/{i}"]
        assert (y.dtype, y.shape) == (z.dtype, z.shape)
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-4)
    p.close()


# --- programs


@pytest.mark.skipif(native.CC is None, reason="needs a C compiler")
def test_programs_of_version_1_go_on(compiled_plain, embedded, plain_model, tmp_path):
    for library, arguments in ((compiled_plain, []), (embedded, [plain_model])):
        binary = program(tmp_path, native.CC, PROGRAMS / "earlier.c", library, "earlier")
        assert started(binary, *arguments) == f"{288 * 4}\n"


@pytest.fixture(scope="module")
def compiled_plain(plain_model):
    from paddle.inference.compile import compile_model

    sizes = ["x=2x3x8x8", "x=1x3x8x8"]
    return compile_model(str(plain_model), str(plain_model.parent / "libplain.so"), sizes=sizes)


@needs_cxx
def test_a_program_that_classifies(compiled_plain, embedded, plain_model, tmp_path):
    x = (np.arange(384) % 255 * np.float32(0.1)).astype("float32").reshape(2, 3, 8, 8)
    wanted = float(expected(plain_model, x)[0].sum(dtype="float64"))
    files = (f"{plain_model}.json", f"{plain_model}.pdiparams")
    for library, arguments in ((compiled_plain, ("-", "-")), (embedded, files)):
        binary = program(tmp_path, native.CXX, PROGRAMS / "classify.cc", library, "classify")
        assert float(started(binary, *arguments)) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.slow
@needs_cxx
def test_a_program_that_reads_text(embedded, plain_model, tmp_path):
    for end in (".json", ".pdiparams"):
        (tmp_path / f"inference{end}").write_bytes((plain_model.parent / f"plain{end}").read_bytes())
    binary = program(tmp_path, native.CXX, PROGRAMS / "read_text.cc", embedded, "read_text", "-std=c++14")
    wide, narrow = map(float, started(binary, tmp_path).split())
    x = np.full((1, 3, 8, 8), 0.5, "float32")
    assert wide == pytest.approx(float(expected(plain_model, x)[0].sum(dtype="float64")), rel=1e-4)
    assert narrow == pytest.approx(wide, rel=0.05)


@pytest.mark.slow
@needs_cxx
def test_a_program_that_detects(embedded, tmp_path):
    def build(image, scale):
        import paddle

        return image.mean([2, 3]) * scale.sum(), paddle.full([1], 3, "int32") * paddle.shape(image)[1]

    feeds = [("image", [None, 3, None, None], "float32"), ("scale_factor", [None, 2], "float32")]
    native.save(tmp_path / "model", build, feeds)
    binary = program(tmp_path, native.CXX, PROGRAMS / "detect.cc", embedded, "detect", "-std=c++11")
    assert started(binary, tmp_path) == "float 4.5\nint32 9\n"


@pytest.mark.slow
@needs_cxx
def test_the_face_in_cpp(embedded, plain_model, tmp_path):
    binary = program(tmp_path, native.CXX, PROGRAMS / "settings.cc", embedded, "settings")
    printed = started(binary, f"{plain_model}.json", f"{plain_model}.pdiparams", tmp_path)
    assert printed.endswith("done\n")
    assert "Operator Summary" in printed
