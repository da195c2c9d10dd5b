"""What a program requires of sizes and data is required in each form that it is saved in."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

import paddle
from paddle import inference, nn
from paddle.inference.compile import compile_model
from paddle.static import InputSpec
from tests.support.native_libraries import Native, NativeError
from umiak.backends.cpu.aot.errors import Uncompilable
from umiak.ir import sym as dim

SPECS = [InputSpec([None, 4], "float32", "x"), InputSpec([None, 4], "float32", "y")]


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([4, 4])

    def sum(self, x, y):
        return paddle.matmul(x, self.weight) + paddle.mean(y)


class ByLibrary(Net):
    """As code of the library requires sizes."""

    def forward(self, x, y):
        return self.sum(x, y) * (2 if dim.eq(x.shape[0], 1) else 3)


@paddle.jit.not_to_static
def factor(n):
    """Code that is called as it is goes one way."""
    return 2 if n > 1 else 3


class ByBranch(Net):
    def forward(self, x, y):
        return self.sum(x, y) * factor(x.shape[0])


class OfWhatNothingReads(Net):
    def forward(self, x, y):
        return self.sum(y, y) * factor(x.shape[0])


class OfTwo(Net):
    def forward(self, x, y):
        return self.sum(x, y) + (1 if dim.eq(x.shape[0], y.shape[0]) else 2)


class OfData(Net):
    def forward(self, x, y):
        assert paddle.sum(x) > 5, "a large sum"
        return self.sum(x, y)


class OfDataInABranch(Net):
    def forward(self, x, y):
        if paddle.sum(y) > 0:
            assert paddle.sum(x) > 5, "a large sum"
        return self.sum(x, y)


class OfDataInALoop(Net):
    def forward(self, x, y):
        while paddle.sum(y) < 20:
            assert paddle.sum(x) > 5, "a large sum"
            y = y + 1
        return self.sum(x, y)


class Case(NamedTuple):
    layer: type[Net]
    fits: tuple[int, int]  # rows of ones in x and y
    fails: tuple[int, int]
    message: str


CASES = {
    c.layer.__name__: c
    for c in [
        Case(ByLibrary, (1, 2), (3, 2), "requires x_0 == 1"),
        Case(ByBranch, (3, 2), (1, 2), "recorded for sizes with 2 <= x_0"),
        Case(OfWhatNothingReads, (3, 2), (1, 2), "recorded for sizes with 2 <= x_0"),
        Case(OfTwo, (3, 3), (3, 2), "requires x_0 == y_0"),
        Case(OfData, (3, 2), (1, 2), "a large sum"),
        Case(OfDataInABranch, (3, 2), (1, 2), "a large sum"),
        Case(OfDataInALoop, (3, 2), (1, 2), "a large sum"),
    ]
}

Run = Callable[[list[np.ndarray]], np.ndarray]


def rows(counts) -> list[np.ndarray]:
    return [np.ones((n, 4), "float32") for n in counts]


def loaded(path) -> Run:
    layer = paddle.jit.load(path)
    return lambda xs: layer(*xs).numpy()


def saved_again(path) -> Run:
    paddle.jit.save(paddle.jit.load(path), path + "_again", SPECS)
    return loaded(path + "_again")


def executor(path) -> Run:
    scope = paddle.static.Scope()
    paddle.enable_static()
    try:
        exe = paddle.static.Executor()
        with paddle.static.scope_guard(scope):
            program, _, fetched = paddle.static.load_inference_model(path, exe)
    finally:
        paddle.disable_static()
    return lambda xs: exe.run(program, dict(zip("xy", xs, strict=True)), fetched, scope=scope)[0]


def predictor(path, config=None) -> Run:
    config = config or inference.Config(path + ".json", path + ".pdiparams")
    config.disable_glog_info()
    made = inference.create_predictor(config)
    return lambda xs: made.run([paddle.to_tensor(x) for x in xs])[0].numpy()


def engine(path) -> Run:
    pytest.importorskip("onnxruntime").set_default_logger_severity(4)
    config = inference.Config(path + ".json", path + ".pdiparams")
    config.enable_onnxruntime()
    return predictor(path, config)


def onnx(path) -> Run:
    runtime = pytest.importorskip("onnxruntime")
    runtime.set_default_logger_severity(4)
    paddle.onnx.export(paddle.jit.load(path), path, opset_version=13)
    session = runtime.InferenceSession(path + ".onnx")
    return lambda xs: session.run(None, dict(zip("xy", xs, strict=True)))[0]


FORMS = {f.__name__: f for f in (loaded, saved_again, executor, predictor, engine, onnx)}


@pytest.mark.parametrize("name", CASES)
def test_a_condition_is_tested_in_each_form(name, tmp_path):
    case, path = CASES[name], str(tmp_path / "model")
    layer = case.layer()
    paddle.jit.save(layer, path, SPECS)
    wanted = layer(*map(paddle.to_tensor, rows(case.fits))).numpy()
    for form, made in FORMS.items():
        run = made(path)
        np.testing.assert_allclose(run(rows(case.fits)), wanted, rtol=1e-5, atol=1e-6, err_msg=form)
        with pytest.raises(Exception, match=case.message) as found:
            run(rows(case.fails))
        assert __file__ in str(found.value), form  # the line of the user's source
        np.testing.assert_allclose(run(rows(case.fits)), wanted, rtol=1e-5, atol=1e-6, err_msg=form)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("name", ["ByLibrary", "ByBranch", "OfTwo", "OfData"])
def test_a_condition_is_tested_ahead_of_time(name, tmp_path):
    case, path = CASES[name], str(tmp_path / "model")
    layer = case.layer()
    paddle.jit.save(layer, path, SPECS)
    sizes = ["x={}x4,y={}x4".format(*counts) for counts in (case.fits, case.fails)]
    if "Data" not in name:
        with pytest.raises(Uncompilable, match=case.message):
            compile_model(path + ".json", str(tmp_path / "libwrong.so"), sizes=sizes[1:])
        sizes = sizes[:1]
    p = Native(compile_model(path + ".json", str(tmp_path / "libmodel.so"), sizes=sizes)).create()
    wanted = layer(*map(paddle.to_tensor, rows(case.fits))).numpy()
    np.testing.assert_allclose(p.run(*rows(case.fits))[0], wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(NativeError, match=case.message if "Data" in name else "was .*compiled for"):
        p.run(*rows(case.fails))
    p.close()


def test_our_own_format_keeps_conditions(tmp_path):
    path = str(tmp_path / "model")
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            x = paddle.static.data("x", [None, 3, 3])
            y = paddle.gcd(x, 0.5) * (2 if dim.eq(x.shape[0], 1) else 3)
            exe = paddle.static.Executor()
            with pytest.warns(UserWarning, match="own format"):
                paddle.static.save_inference_model(path, [x], [y], exe)
        program, _, fetched = paddle.static.load_inference_model(path, exe)
        assert exe.run(program, {"x": np.zeros((1, 3, 3), "float32")}, fetched)[0].trace(axis1=1, axis2=2) == 3
        with pytest.raises(ValueError, match="requires x_0 == 1; got x_0 = 2"):
            exe.run(program, {"x": np.zeros((2, 3, 3), "float32")}, fetched)
    finally:
        paddle.disable_static()


def test_messages_name_sizes_and_lines(tmp_path):
    """Static programs say before they are saved what files say behind."""
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            x = paddle.static.data("rows", [None, 4])
            y = x * 2 if x.shape[0] > 1 else x
            wanted = r"2 <= rows_0.*; got rows_0 = 1\. The line .*\n  File .*\n.*if x\.shape"
            with pytest.raises(ValueError, match=wanted):
                paddle.static.Executor().run(feed={"rows": rows([1])[0]}, fetch_list=[y])
    finally:
        paddle.disable_static()
