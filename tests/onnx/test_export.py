"""``paddle.onnx.export``: what is exported, under which names and sizes, and what is refused."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import paddle
import paddle.nn.functional as F
from paddle.onnx import exporting
from paddle.onnx.table import RULES
from paddle.static import InputSpec
from tests.onnx.conftest import run
from tests.static.formats.test_operators import CASES, array

DATA = Path(__file__).parents[1] / "data"
X = np.random.RandomState(0).standard_normal((4, 3)).astype("float32")


class Network(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = paddle.nn.Linear(3, 5), paddle.nn.BatchNorm1D(5), paddle.nn.Linear(5, 2)
        self.register_buffer("shift", paddle.to_tensor([0.5, -0.5]))

    def forward(self, x):
        return self.b(F.dropout(F.relu(self.norm(self.a(x))), 0.5, training=self.training)) + self.shift


def spec(*sizes, dtype="float32", name="x"):
    return InputSpec(list(sizes), dtype, name)


def exported(layer, tmp_path, specs, opset=17, **configs):
    path = str(tmp_path / "folder" / "model")
    paddle.onnx.export(layer, path, specs, opset_version=opset, **configs)
    return path + ".onnx"


def sizes(values):
    return [[d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in values]


def test_a_layer_gives_its_results_for_batches_of_any_size(tmp_path):
    layer = Network()
    layer.eval()
    path = exported(layer, tmp_path, [spec(None, 3)])
    assert os.listdir(tmp_path / "folder") == ["model.onnx"]
    graph = onnx.load(path).graph
    assert [v.name for v in graph.input] == ["x"] and sizes(graph.input) == [["x_0", 3]]
    for n in (1, 3, 5):
        x = np.resize(X, (n, 3))
        np.testing.assert_allclose(run(path, {"x": x})[0], layer(paddle.to_tensor(x)).numpy(), rtol=1e-5, atol=1e-6)


def test_bools_are_chosen_like_numbers(tmp_path):
    """ONNX Runtime has no kernel that chooses between bools, which ONNX allows."""

    def function(x):
        above = x > 0
        return paddle.where(x < 1, above, x < -1), paddle.diag(x, 1, 0.5), paddle.masked_fill(above, x > 1, False)

    path = exported(function, tmp_path, [spec(None)])
    for x in (X[0], X.reshape(-1)):
        for got, wanted in zip(run(path, {"x": x}), function(paddle.to_tensor(x)), strict=True):
            np.testing.assert_array_equal(got, wanted.numpy(), strict=True)


def test_several_inputs_and_results_keep_their_order_and_names(tmp_path):
    def function(a, b, flag):
        return {"z": a + b, "y": [a - b, a if flag else b]}

    path = exported(function, tmp_path, [spec(2, name="left"), spec(2, name="right"), True])
    graph = onnx.load(path).graph
    assert [v.name for v in graph.input] == ["left", "right"]
    a, b = np.array([1, 2], "float32"), np.array([5, 7], "float32")
    got = run(path, {"left": a, "right": b})
    for x, y in zip(got, (a - b, a, a + b), strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_layer_in_float16_keeps_its_type(tmp_path):
    layer = paddle.nn.Sequential(
        paddle.nn.Conv1D(3, 4, 3), paddle.nn.BatchNorm1D(4), paddle.nn.GELU(), paddle.nn.LayerNorm(2)
    ).astype("float16")
    layer.eval()
    path = exported(layer, tmp_path, [spec(None, 3, 4, dtype="float16")])
    x = X.astype("float16").reshape([1, 3, 4])
    (y,) = run(path, {"x": x})
    assert y.dtype == np.float16
    np.testing.assert_allclose(y, layer(paddle.to_tensor(x)).numpy(), rtol=0, atol=5e-3)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_casts_to_8_bits_overflow_as_they_do_here(dtype, tmp_path):
    path = exported(lambda x: x.astype(dtype).astype("float32"), tmp_path, [spec(None)], opset=19)
    x = np.array([1e6, -1e6, 464, 465, 61439, 65536, np.inf, -np.inf, 0.3], "float32")
    np.testing.assert_array_equal(run(path, {"x": x})[0], paddle.to_tensor(x).astype(dtype).astype("float32").numpy())


def test_results_may_be_chosen(tmp_path):
    path = exported(lambda x: (x + 1, x * 2), tmp_path, [spec(2)], output_spec=[1])
    assert [y.tolist() for y in run(path, {"x": np.ones(2, "float32")})] == [[2, 2]]


def test_a_captured_layer_knows_its_specs(tmp_path):
    layer = paddle.jit.to_static(paddle.nn.Linear(3, 2), input_spec=[spec(None, 3)], full_graph=True)
    path = exported(paddle.DataParallel(layer), tmp_path, None)
    np.testing.assert_allclose(run(path, {"x": X})[0], layer(paddle.to_tensor(X)).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("high", [5.0, -5.0])
def test_both_branches_are_there(high, tmp_path):
    def function(x, n):
        y = x
        for _ in range(n):
            if y.sum() > 0:
                y = y - 1
            else:
                y = y * 0.5 + 3
        return y

    path = exported(function, tmp_path, [spec(None), spec(1, dtype="int64", name="n")])
    assert "Loop" in {node.op_type for node in onnx.load(path).graph.node}
    for n in (0, 1, 4):
        x = np.array([high, 1.0], "float32")
        wanted = function(paddle.to_tensor(x), n).numpy()
        np.testing.assert_allclose(run(path, {"x": x, "n": np.array([n])})[0], wanted, rtol=1e-6)


def test_a_loaded_model_is_exported_as_it_is(tmp_path):
    layer = Network()
    layer.eval()
    prefix = str(tmp_path / "saved")
    paddle.jit.save(layer, prefix, [spec(None, 3)])
    loaded = paddle.jit.load(prefix)
    path = exported(loaded, tmp_path, None)
    np.testing.assert_allclose(run(path, {"x": X})[0], layer(paddle.to_tensor(X)).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["control", "convolutions", "recurrent", "transformer"])
def test_layers_that_the_reference_saved(name, tmp_path):
    """An LSTM has a state among its parameters of which its files hold no value."""
    loaded = paddle.jit.load(str(DATA / "saved_layers" / name))
    path = exported(loaded, tmp_path, None)
    recorded = np.load(DATA / "saved_layers" / "results.npz")
    inputs, wanted = ([v for k, v in recorded.items() if k.startswith(f"{name}:{kind}:")] for kind in ("in", "out"))
    for y, want in zip(run(path, dict(zip(loaded._method("forward").types, inputs, strict=True))), wanted, strict=True):
        np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)


def test_a_loaded_model_is_exported_for_other_sizes_and_names(tmp_path):
    """Of several methods, ``forward``; another one by itself."""

    class Several(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = paddle.nn.Linear(3, 2)

        @paddle.jit.to_static(input_spec=[spec(None, 3)])
        def forward(self, x):
            return self.linear(x), x

        @paddle.jit.to_static(input_spec=[spec(None, 3)])
        def twice(self, x):
            return self.linear(x) * 2

    layer = Several()
    paddle.jit.save(layer, str(tmp_path / "saved"))
    loaded = paddle.jit.load(str(tmp_path / "saved"))
    wanted = layer(paddle.to_tensor(X))[0].numpy()
    n = len(X)
    for specs, wanted_sizes, name in (
        (None, ["x_0", 3], "x"),
        ([InputSpec([n, 3], "float32", "rows")], [n, 3], "rows"),
        ([InputSpec([None, 3], "float32", "rows")], ["rows_0", 3], "rows"),
    ):
        path = exported(loaded, tmp_path, specs, output_spec=[0])
        graph = onnx.load(path).graph
        assert sizes(graph.input) == [wanted_sizes]
        assert len(graph.output) == 1
        np.testing.assert_allclose(run(path, {name: X})[0], wanted, rtol=1e-5, atol=1e-6)
    (twice,) = run(exported(loaded.twice, tmp_path, None), {"x": X})
    np.testing.assert_allclose(twice, 2 * wanted, rtol=1e-5, atol=1e-6)


def version(path):
    return onnx.load(path).opset_import[0].version


def test_a_low_opset_asks_for_the_lowest_that_can_say_the_model(tmp_path):
    assert version(exported(lambda x: x + 1, tmp_path, [spec(2)], opset=9)) == 11
    declared, several = [spec(2, 8)], [spec(2, None)]
    assert version(exported(lambda x: paddle.fft.rfft(x).real(), tmp_path, declared, opset=9)) == 11
    assert version(exported(lambda x: paddle.fft.rfft(x).real(), tmp_path, several, opset=9)) == 17
    with pytest.raises(ValueError, match=r"pd_op.fft_r2c: needs ONNX operator DFT \(opset 17\)"):
        exported(lambda x: paddle.fft.rfft(x).real(), tmp_path, several, opset=13)
    path = exported(lambda x: paddle.fft.rfft(x).real(), tmp_path, several, opset=13, auto_update_opset=True)
    assert version(path) == 17


def test_an_operator_in_a_branch_needs_its_opset_alone(tmp_path):
    def function(x):
        if x.sum() > 0:
            y = F.grid_sample(x, x.transpose([0, 2, 3, 1]))
        else:
            y = x
        return y

    assert version(exported(function, tmp_path, [spec(1, 2, 4, 4)], opset=9)) == 16


def test_results_are_real(tmp_path):
    with pytest.raises(ValueError, match=r"results of real elements, as of paddle\.as_real, got complex64"):
        exported(lambda x: paddle.fft.rfft(x), tmp_path, [spec(2, 8)])


def test_all_operators_that_cannot_be_said_are_named(tmp_path):
    def function(x):
        return paddle.nextafter(x, x), F.grid_sample(x, x.transpose([0, 2, 3, 1])), paddle.linalg.eigvals(x).abs()

    with pytest.raises(ValueError, match="cannot") as caught:
        exported(function, tmp_path, [spec(1, 2, 4, 4)], opset=13)
    text = str(caught.value)
    assert text.startswith("[export] requires operators that ONNX can say at opset 13")
    assert "pd_op.nextafter: needs what ONNX has no operators for here (opset none)" in text
    assert "pd_op.eigvals:" in text and "pd_op.grid_sample: needs ONNX operator GridSample (opset 16)" in text
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize("size", [3, 4])
def test_places_of_maxima_of_uneven_windows(size, tmp_path):
    layer = paddle.nn.AdaptiveMaxPool2D([size, 3], return_mask=True)
    x = np.random.RandomState(1).randint(0, 9, (2, 2, 7, 8)).astype("float32")  # of equal ones the first counts
    path = exported(layer, tmp_path, [spec(None, 2, 7, 8)], opset=11)
    for y, wanted in zip(run(path, {"x": x}), layer(paddle.to_tensor(x)), strict=True):
        np.testing.assert_array_equal(y, wanted.numpy(), strict=True)


def test_weights_may_lie_in_a_file_of_their_own(tmp_path, monkeypatch):
    layer = paddle.nn.Linear(3, 400)
    wanted = layer(paddle.to_tensor(X)).numpy()
    path = exported(layer, tmp_path, [spec(None, 3)], external_filename="weights.bin")
    assert sorted(os.listdir(tmp_path / "folder")) == ["model.onnx", "weights.bin"]
    np.testing.assert_allclose(run(path, {"x": X})[0], wanted, rtol=1e-5)
    monkeypatch.setattr(exporting, "MOST_BYTES", 1000)  # as if a file could hold no more
    for _ in range(2):  # a second export replaces what was there
        path = exported(layer, tmp_path, [spec(None, 3)])
    assert os.path.getsize(path + ".data") <= 3 * 4096
    np.testing.assert_allclose(run(path, {"x": X})[0], wanted, rtol=1e-5)
    with pytest.raises(ValueError, match="external_filename without a folder"):
        exported(layer, tmp_path, [spec(None, 3)], external_filename="../w.bin")


def test_what_is_refused(tmp_path, monkeypatch):
    layer = paddle.nn.Linear(3, 2)
    with pytest.raises(ValueError, match="opset_version up to 21, got 22"):
        exported(layer, tmp_path, [spec(None, 3)], opset=22)
    with pytest.raises(ValueError, match="deploy_backend None or 'onnxruntime', got 'tensorrt'"):
        exported(layer, tmp_path, [spec(None, 3)], deploy_backend="tensorrt")
    with pytest.raises(ValueError, match=r"configs of .* got \['quantise'\]"):
        exported(layer, tmp_path, [spec(None, 3)], quantise=True)
    with pytest.raises(ValueError, match=r"\[export\] requires input_spec"):
        exported(layer, tmp_path, None)
    with pytest.raises(TypeError, match="a Layer or a function, got int"):
        exported(3, tmp_path, None)
    with pytest.raises(ValueError, match="a path that ends in a name"):
        paddle.onnx.export(layer, str(tmp_path) + os.sep, [spec(None, 3)])
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="requires the package onnx"):
        exported(layer, tmp_path, [spec(None, 3)])


SPECTRA = {
    "fft of a middle axis": lambda x: paddle.as_real(paddle.fft.fft(x, axis=1)),
    "ifft": lambda x: paddle.as_real(paddle.fft.ifft(paddle.fft.fft(x) * 2, norm="ortho")),
    "rfft of an odd number": lambda x: paddle.as_real(paddle.fft.rfft(x[..., :5], norm="forward")),
    "irfft of an odd number": lambda x: paddle.fft.irfft(paddle.fft.rfft(x), n=7),
    "irfft2": lambda x: paddle.fft.irfft2(paddle.fft.rfft2(x) * 0.5),
    "hfft": lambda x: paddle.fft.hfft(paddle.fft.ihfft(x)),
    "stft": lambda x: paddle.as_real(paddle.signal.stft(x.flatten(1), n_fft=8, hop_length=2, window=paddle.ones([8]))),
}


@pytest.mark.parametrize("opset", [11, 13, 16])
@pytest.mark.parametrize("name", SPECTRA)
def test_transforms_of_a_known_number_of_points_need_no_opset(name, opset, tmp_path):
    path = exported(SPECTRA[name], tmp_path, [spec(None, 4, 6)], opset=opset)
    assert version(path) == opset
    x = np.random.default_rng(0).standard_normal((3, 4, 6)).astype("float32")
    (found,) = run(path, {"x": x})
    np.testing.assert_allclose(found, SPECTRA[name](paddle.to_tensor(x)).numpy(), rtol=1e-5, atol=1e-5)


def test_configs_without_a_meaning_here_are_taken(tmp_path):
    path = exported(
        paddle.nn.Linear(3, 2), tmp_path, [spec(None, 3)], enable_onnx_checker=False, verbose=True, with_hook=True,
        deploy_backend="onnxruntime",
    )  # fmt: skip
    assert version(path) == 17


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
def test_lengths_and_pads_may_depend_on_sizes(mode, tmp_path):
    def function(x):
        first, last = paddle.split(x, [x.shape[0] // 2, -1], axis=0)
        image = x.reshape([1, 1, x.shape[0], 3])
        return first, last, paddle.nn.functional.pad(image, [0, 1, x.shape[0] % 3, x.shape[0] // 2], mode=mode)

    path = exported(function, tmp_path, [spec(None, 3)])
    for n in (4, 5, 8):
        x = np.arange(3.0 * n, dtype="float32").reshape(n, 3)
        for got, want in zip(run(path, {"x": x}), function(paddle.to_tensor(x)), strict=True):
            np.testing.assert_array_equal(got, want)


def test_the_end_of_the_name_is_added_to_what_is_given(tmp_path):
    """As in PaddlePaddle, whose paths are beginnings of names."""
    layer = paddle.nn.Linear(3, 2)
    for name in ("model", "model.v1", "model.onnx"):
        paddle.onnx.export(layer, str(tmp_path / name), [spec(None, 3)])
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "model.onnx.onnx", "model.v1.onnx"]


def test_results_may_be_renamed(tmp_path):
    def function(x):
        return x + 1, x * 2

    def names(path):
        return [v.name for v in onnx.load(path).graph.output]

    assert names(exported(function, tmp_path, [spec(2)], output_names=["more", "twice"])) == ["more", "twice"]
    path = exported(function, tmp_path, [spec(2)], output_names={"fetch_name_1": "twice"})
    assert names(path) == ["fetch_name_0", "twice"]
    assert [y.tolist() for y in run(path, {"x": np.ones(2, "float32")})] == [[2, 2], [2, 2]]
    for wrong in (["one"], ["a", "a"], {"other": "a"}):
        with pytest.raises(ValueError, match="output_names"):
            exported(function, tmp_path, [spec(2)], output_names=wrong)


def test_sizes_may_be_fixed_by_the_names_of_inputs(tmp_path):
    layer = Network()
    layer.eval()
    path = exported(layer, tmp_path, [spec(None, 3)], input_shape_dict={"x": [4, 3]})
    assert sizes(onnx.load(path).graph.input) == [[4, 3]]
    prefix = str(tmp_path / "saved")
    paddle.jit.save(layer, prefix, [spec(None, 3)])
    path = exported(paddle.jit.load(prefix), tmp_path, None, input_shape_dict={"x": [4, 3]})
    assert sizes(onnx.load(path).graph.input) == [[4, 3]]
    np.testing.assert_allclose(run(path, {"x": X})[0], layer(paddle.to_tensor(X)).numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match=r"input_shape_dict of shapes by names out of \['x'\]"):
        exported(layer, tmp_path, [spec(None, 3)], input_shape_dict={"y": [4, 3]})


def test_names_of_other_versions_of_the_converter(tmp_path):
    layer = paddle.nn.Linear(3, 400)
    path = exported(
        layer, tmp_path, [spec(None, 3)], external_file="weights.bin", auto_upgrade_opset=True, enable_optimize=True,
        enable_experimental_op=True, enable_dev_version=True, dist_prim_all=False,
    )  # fmt: skip
    assert sorted(os.listdir(tmp_path / "folder")) == ["model.onnx", "weights.bin"]
    np.testing.assert_allclose(run(path, {"x": X})[0], layer(paddle.to_tensor(X)).numpy(), rtol=1e-5, atol=1e-6)


class Tied(paddle.nn.Layer):
    """A table of words that is read by rows, and gives scores by columns."""

    def __init__(self, dtype):
        super().__init__()
        self.table, self.linear = paddle.nn.Embedding(2000, 16), paddle.nn.Linear(16, 16)
        self.to(dtype=dtype)

    def forward(self, words):
        x = self.linear(self.linear(self.table(words)))
        scores = paddle.matmul(x, self.table.weight, transpose_y=True)
        return scores.max(-1), self.table.weight.T.sum(1) + x.sum([0, 1])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_weight_that_several_operators_read_is_stored_once(dtype, tmp_path):
    layer = Tied(dtype)
    bytes_ = sum(p.size for p in layer.parameters()) * np.dtype(dtype).itemsize
    path = exported(layer, tmp_path, [spec(None, 4, dtype="int64", name="words")])
    assert bytes_ <= os.path.getsize(path) <= 1.1 * bytes_
    words = np.arange(8).reshape(2, 4)
    got = run(path, {"words": words})
    for y, wanted in zip(got, layer(paddle.to_tensor(words)), strict=True):
        np.testing.assert_allclose(y, wanted.numpy(), rtol=1e-2 if dtype == "float16" else 1e-4, atol=1e-3)
    names = {x.name for x in onnx.load(path).graph.initializer}
    assert {p.name for p in layer.parameters()} <= names


def test_an_operator_of_a_file_may_be_composed_of_others(tmp_path):
    """One that ONNX lacks is exported by what computes it here."""
    name = next(k for k, row in CASES.items() if "ctc_align" in json.dumps(row["program"]))
    assert "ctc_align" not in RULES
    (tmp_path / "saved.json").write_text(json.dumps(CASES[name]["program"]))
    loaded = paddle.jit.load(str(tmp_path / "saved"))
    path = exported(loaded, tmp_path, None)
    got = run(path, {k: array(v) for k, v in CASES[name]["feeds"].items()})
    for y, wanted in zip(got, CASES[name]["results"], strict=True):
        np.testing.assert_array_equal(y, array(wanted))
