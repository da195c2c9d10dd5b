"""Networks that PaddlePaddle saved are layers here: their results, their gradients, and training on."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import paddle
from tests.support.static_mode import programs  # noqa: F401  a fixture

DATA = Path(__file__).parents[1] / "data"
FOLDER = DATA / "saved_layers"
RECORDED = dict(np.load(FOLDER / "results.npz"))
NETWORKS = sorted({key.partition(":")[0] for key in RECORDED})


ONE = paddle.static.InputSpec([], "int64", "n")


def parts(name, kind):
    return {k.rpartition(":")[2]: v for k, v in RECORDED.items() if k.startswith(f"{name}:{kind}:")}


def loaded(name):
    return paddle.jit.load(str(FOLDER / name))


def results(y):
    return y if isinstance(y, list) else [y]


@pytest.mark.parametrize("name", NETWORKS)
def test_results_and_gradients_are_those_of_the_reference(name):
    layer = loaded(name)
    ys = results(layer(*parts(name, "in").values()))
    for y, expected in zip(ys, parts(name, "out").values(), strict=True):
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-6)
    gradients = parts(name, "grad")
    assert gradients or name == "narrow"
    (ys[0] ** 2).mean().backward()
    by_name = {p.name.rpartition("_")[0]: p for p in layer.parameters()}
    for key, expected in gradients.items():
        np.testing.assert_allclose(by_name[key].grad.numpy(), expected, rtol=1e-4, atol=1e-6, err_msg=key)
    if name == "stopped":
        assert {key for key, p in by_name.items() if p.grad is not None} == gradients.keys()
    forward = layer._methods["forward"].captured
    assert not forward.graph_breaks
    assert not forward.fallbacks


@pytest.mark.parametrize("name", NETWORKS)
def test_a_program_gives_the_same(name, programs):  # noqa: F811
    exe = paddle.static.Executor()
    program, feeds, fetched = paddle.static.load_inference_model(str(FOLDER / name), exe)
    got = exe.run(program, dict(zip(feeds, parts(name, "in").values(), strict=True)), fetched)
    for y, expected in zip(got, parts(name, "out").values(), strict=True):
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["convolutions", "transformer", "recurrent", "control", "stopped"])
def test_a_program_has_gradients(name, programs):  # noqa: F811
    exe = paddle.static.Executor()
    program, feeds, fetched = paddle.static.load_inference_model(str(FOLDER / name), exe)
    with paddle.static.program_guard(program, paddle.static.Program()):
        pairs = paddle.static.append_backward((fetched[0] ** 2).mean())
    feed = dict(zip(feeds, parts(name, "in").values(), strict=True))
    got = exe.run(program, feed, [g for _, g in pairs])
    expected = parts(name, "grad")
    assert {p.name for p, _ in pairs} >= expected.keys()
    for (p, _), g in zip(pairs, got, strict=True):
        np.testing.assert_allclose(g, expected[p.name], rtol=1e-4, atol=1e-6, err_msg=p.name)


@pytest.mark.parametrize("name", ["convolutions", "transformer", "recurrent"])
def test_batches_of_any_size(name):
    layer = loaded(name)
    (x,) = parts(name, "in").values()
    whole = results(layer(np.concatenate([x, x, x[:1]])))[0].numpy()
    assert len(whole) == 7
    np.testing.assert_allclose(results(layer(x[:1]))[0].numpy(), whole[:1], rtol=1e-5, atol=1e-6)
    if name != "recurrent":
        assert results(layer(x[:0]))[0].shape == [0, *whole.shape[1:]]
    np.testing.assert_allclose(results(layer(x))[0].numpy(), whole[:3], rtol=1e-5, atol=1e-6)
    assert len(layer._methods["forward"].captured.program_cache) <= 3


def test_training_goes_on():
    layer = loaded("convolutions")
    (x,) = map(paddle.to_tensor, parts("convolutions", "in").values())
    before = {k: v.numpy().copy() for k, v in layer.state_dict().items()}
    optimizer = paddle.optimizer.Adam(0.01, parameters=layer.parameters())
    losses = []
    for _ in range(5):
        loss = (layer(x)[0] ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    assert losses == sorted(losses, reverse=True)
    changed = [k for k, v in layer.state_dict().items() if not np.array_equal(v.numpy(), before[k])]
    trained = [k for k, v in layer.state_dict().items() if not v.stop_gradient]
    # The upsampling has no part in the first result.
    assert len(changed) == len(trained) - 2
    assert set(changed) < set(trained)


def gradients_of(layer, xs):
    """The gradients of a loss, by the names that parameters and inputs have in the layer."""
    xs = [x.detach() for x in xs]
    for x in xs:
        x.stop_gradient = not x.is_floating_point()
    (results(layer(*xs))[0] ** 2).mean().backward()
    found = {**layer.state_dict(), **{f"input {i}": x for i, x in enumerate(xs)}}
    return {key: x.grad.numpy() for key, x in found.items() if x.grad is not None}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_trained_layer_is_saved_again(name, tmp_path):
    layer = loaded(name)
    xs = [paddle.to_tensor(x) for x in parts(name, "in").values()]
    if name != "narrow":
        optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
        gradients_of(layer, xs)
        optimizer.step()
    paddle.jit.save(layer, str(tmp_path / "again"))
    again = paddle.jit.load(str(tmp_path / "again"))
    for a, b, recorded in zip(results(layer(*xs)), results(again(*xs)), parts(name, "out").values(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6, atol=1e-7)
        assert a.shape == list(recorded.shape)
    if name != "narrow":
        optimizer.clear_grad()
        expected, got = gradients_of(layer, xs), gradients_of(again, xs)
        assert got.keys() == expected.keys()
        for key, g in got.items():
            np.testing.assert_allclose(g, expected[key], rtol=1e-4, atol=1e-6, err_msg=key)
    if name == "methods":
        by = paddle.to_tensor([3.0])
        np.testing.assert_allclose(again.scaled(*xs, by).numpy(), layer.scaled(*xs, by).numpy(), rtol=1e-6)


class Chosen(paddle.nn.Layer):
    """The rows that data name, and those behind a number of data."""

    def forward(self, x, n):
        return x[n:], x[x[:, 0] > 0], x.reshape([-1]) * 2


@pytest.mark.parametrize("specs", [None, [paddle.static.InputSpec([3, 2], "float32", "rows"), ONE]])
def test_what_data_decide_is_saved_again(specs, tmp_path):
    paddle.jit.save(Chosen(), str(tmp_path / "m"), [paddle.static.InputSpec([None, 2]), ONE])
    layer = paddle.jit.load(str(tmp_path / "m"))
    paddle.jit.save(layer, str(tmp_path / "again"), specs)
    again = paddle.jit.load(str(tmp_path / "again"))
    x = paddle.to_tensor([[1.0, 2.0], [-3.0, 4.0], [5.0, 6.0]])
    for n in (0, 1, 3):
        for a, b in zip(again(x, paddle.to_tensor(n)), layer(x, paddle.to_tensor(n)), strict=True):
            assert (a.tolist(), a.shape) == (b.tolist(), b.shape)


@pytest.mark.parametrize("rank", [2, 3, 4, 5])
def test_groups_of_any_rank(rank, tmp_path):
    x = paddle.to_tensor(np.arange(3 * 4 * 2 ** (rank - 2), dtype="float32").reshape([3, 4] + [2] * (rank - 2)) ** 2)
    for form in ("NCHW", "NHWC"):
        layer = paddle.nn.GroupNorm(2, 4 if form == "NCHW" or rank == 2 else 2, data_format=form)
        paddle.jit.save(layer, str(tmp_path / "m"), [paddle.static.InputSpec([None, *x.shape[1:]])])
        np.testing.assert_allclose(paddle.jit.load(str(tmp_path / "m"))(x), layer(x), rtol=1e-5, atol=1e-6)


def test_methods_with_one_file_of_values(tmp_path):
    layer = loaded("methods")
    paddle.jit.save(layer, str(tmp_path / "m"), combine_params=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.json", "m.pdiparams", "m.scaled.json"]
    again = paddle.jit.load(str(tmp_path / "m"))
    x, by = paddle.ones([2, 3]), paddle.to_tensor([3.0])
    assert again(x).tolist() == layer(x).tolist()
    assert again.scaled(x, by).tolist() == layer.scaled(x, by).tolist()
    assert len(again.parameters()) == 3


def test_a_method_without_values_beside_those_of_others(tmp_path):
    class Several(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.a, self.b = paddle.nn.Linear(2, 3), paddle.nn.Linear(2, 3)

        def forward(self, x):
            return self.a(x)

        def both(self, x):
            return self.a(x) + self.b(x)

        def doubled(self, x):
            return x * 2

    layer, x = Several(), paddle.rand([4, 2])
    for name in ("forward", "both", "doubled"):
        setattr(layer, name, paddle.jit.to_static(getattr(layer, name), full_graph=True))
    wanted = {name: getattr(layer, name)(x) for name in ("forward", "both", "doubled")}
    for combine in (False, True):
        paddle.jit.save(layer, str(tmp_path / f"{combine}"), combine_params=combine)
        again = paddle.jit.load(str(tmp_path / f"{combine}"))
        for name, y in wanted.items():
            np.testing.assert_allclose(getattr(again, name)(x), y, rtol=1e-6)


def test_specs_of_methods(tmp_path):
    paddle.jit.save(paddle.nn.Linear(2, 3), str(tmp_path / "m"), [paddle.static.InputSpec([None, 2], name="x")])
    layer = paddle.jit.load(str(tmp_path / "m"))
    assert [(s.name, s.shape) for s in layer._input_spec()] == [("x", (-1, 2))]
    assert [(s.dtype, s.shape) for s in layer._output_spec("forward")] == [(paddle.float32, [-1, 3])]


@pytest.mark.parametrize("low", ["float16", "bfloat16"])
def test_parameters_of_mixed_precision(low, tmp_path):
    """``save_dtype`` says what is saved; a loaded layer whose parameters are cast computes as it was saved."""
    layer, x = paddle.nn.Linear(8, 3), paddle.rand([4, 8])
    paddle.amp.decorate(layer, level="O2", dtype=low, save_dtype="float32")
    paddle.jit.save(layer, str(tmp_path / "m"), [paddle.static.InputSpec([None, 8])])
    assert layer.weight.dtype == getattr(paddle, low)
    wanted = x @ layer.weight.astype("float32") + layer.bias.astype("float32")
    loaded = paddle.jit.load(str(tmp_path / "m"))
    assert {p.dtype for p in loaded.parameters()} == {paddle.float32}
    np.testing.assert_allclose(loaded(x), wanted, rtol=1e-6)
    paddle.amp.decorate(loaded, level="O2", dtype=low)
    assert {p.dtype for p in loaded.parameters()} == {getattr(paddle, low)}
    loaded(x).sum().backward()
    assert {p.grad.dtype for p in loaded.parameters()} == {getattr(paddle, low)}
    np.testing.assert_allclose(loaded(x), wanted, rtol=1e-6)


def test_a_model_without_forward(tmp_path):
    for end in ("json", "pdiparams"):
        (tmp_path / f"m.scaled.{end}").write_bytes((FOLDER / f"methods.scaled.{end}").read_bytes())
    layer = paddle.jit.load(str(tmp_path / "m"))
    assert layer.scaled(np.ones([2, 3], "float32"), np.ones(1, "float32")).shape == [2, 2]
    with pytest.raises(ValueError, match=r"a method that was saved: \['scaled'\], got forward"):
        layer(np.ones([2, 3], "float32"))
    (tmp_path / "m.train.json").write_bytes(b"no program: the name is one of every layer's own methods")
    (tmp_path / "m.settings.json").write_bytes(b'{"size": 3}')
    assert paddle.jit.load(str(tmp_path / "m")).train().training


def test_saving_again_with_inputs_that_the_program_lacks(tmp_path):
    class First(paddle.nn.Layer):
        def forward(self, x, y):
            return x * 2

    specs = [paddle.static.InputSpec([None, 2], "float32", name) for name in "xy"]
    paddle.jit.save(First(), str(tmp_path / "a"), specs, input_names_after_prune=["x"])
    loaded = paddle.jit.load(str(tmp_path / "a"))
    with pytest.raises(TypeError, match=r"requires the inputs \['x'\], got \['2 by position'\]"):
        paddle.jit.save(loaded, str(tmp_path / "b"), specs)
    paddle.jit.save(loaded, str(tmp_path / "b"), specs[:1])
    assert paddle.jit.load(str(tmp_path / "b"))(paddle.ones([1, 2])).tolist() == [[2.0, 2.0]]


def test_names_and_states():
    layer = loaded("methods")
    assert list(layer.state_dict()) == ["param_0", "param_1", "param_2"]
    names = [p.name for p in layer.parameters()]
    assert [n.rpartition("_")[0] for n in names] == ["linear_0.b_0", "linear_0.w_0", "offset"]
    assert [p.stop_gradient for p in layer.parameters()] == [False, False, True]
    assert set(names).isdisjoint(p.name for p in loaded("methods").parameters())
    assert not layer.training
    layer.train()
    assert layer.training


def test_methods_share_their_parameters():
    layer = loaded("methods")
    x = paddle.ones([2, 3])
    twice = layer.scaled(x, paddle.to_tensor([2.0]))
    np.testing.assert_allclose((twice / 2.0).numpy(), (layer(x) - layer.param_2).numpy(), rtol=1e-6)
    with paddle.no_grad():
        layer.param_0.set_value(layer.param_0 + 1.0)
    np.testing.assert_allclose((layer.scaled(x=x, by=paddle.to_tensor([2.0])) - twice).numpy(), 2.0, rtol=1e-5)


def test_copies_have_parameters_of_their_own():
    layer = loaded("methods")
    copied = copy.deepcopy(layer)
    with paddle.no_grad():
        copied.param_0.set_value(copied.param_0 + 1.0)
    x = paddle.ones([1, 3])
    np.testing.assert_allclose((copied(x) - layer(x)).numpy(), 1.0, rtol=1e-5)
    np.testing.assert_allclose((copied.scaled(x, x[0, :1]) - layer.scaled(x, x[0, :1])).numpy(), 1.0, rtol=1e-5)


def test_the_program_of_a_method_is_over_the_same_parameters():
    layer = loaded("methods")
    program = layer.program("scaled")
    feed = {"x": np.ones([1, 3], "float32"), "by": np.ones(1, "float32")}
    (before,) = paddle.static.Executor().run(program, feed, ["fetch_name_0"])
    with paddle.no_grad():
        layer.param_0.set_value(layer.param_0 + 1.0)
    (after,) = paddle.static.Executor().run(program, feed, ["fetch_name_0"])
    np.testing.assert_allclose(after - before, 1.0, rtol=1e-5)
    with pytest.raises(ValueError, match="a method that was saved"):
        layer.program("other")


def test_operations_whose_sizes_depend_on_data_run_at_once(tmp_path):
    rows = gzip.decompress((DATA / "saved_operators.jsonl.gz").read_bytes()).splitlines()
    row = next(r for r in map(json.loads, rows) if r["name"] == "eager nonzero")
    (tmp_path / "m.json").write_text(json.dumps(row["program"]))
    layer = paddle.jit.load(str(tmp_path / "m"))
    expected = np.frombuffer(base64.b64decode(row["results"][0]["data"]), "int64").reshape(row["results"][0]["shape"])
    for _ in range(2):
        assert layer(paddle.to_tensor([0.0, 2.0, 0.0, 2.0, -1.0]))[0].tolist() == expected.tolist()


@pytest.mark.slow
def test_another_process_needs_no_class():
    code = (
        "import numpy, paddle\n"
        f"layer = paddle.jit.load({str(FOLDER / 'methods')!r})\n"
        "print(layer(numpy.ones([1, 3], 'float32')).tolist())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str(loaded("methods")(np.ones([1, 3], "float32")).tolist())


def test_calls_that_do_not_fit_are_refused():
    layer = loaded("methods")
    x = paddle.ones([1, 3])
    with pytest.raises(TypeError, match=r"requires the inputs \['x'\], got \['2 by position'\]"):
        layer(x, x)
    with pytest.raises(TypeError, match=r"requires the inputs \['x', 'by'\], got \['1 by position', 'z'\]"):
        layer.scaled(x, z=x)
    with pytest.raises(TypeError, match="requires a tensor or an array as 'x', got int"):
        layer(1)
    with pytest.raises(ValueError, match=r"requires a tensor of shape \[-1, 3\]"):
        layer(paddle.ones([1, 4]))


def test_files_that_are_not_there_or_no_models(tmp_path):
    for kind in (FileNotFoundError, ValueError):  # the latter as in the reference
        with pytest.raises(kind, match=r"requires a model '.*none', got no file '.*none\.json'"):
            paddle.jit.load(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="requires options of"):
        paddle.jit.load("x", keep_name_table=True)
    with pytest.raises(ValueError, match="requires names of files, got empty params_filename"):
        paddle.jit.load("x", params_filename="")
    (tmp_path / "m.json").write_bytes((FOLDER / "methods.json").read_bytes())
    with pytest.raises(ValueError, match=r"requires values of .* in .*m\.pdiparams, got no such file"):
        paddle.jit.load(str(tmp_path / "m"))
    (tmp_path / "m.pdiparams").write_bytes(b"")
    with pytest.raises(ValueError, match="3 values are required, got 0"):
        paddle.jit.load(str(tmp_path / "m"))
    (tmp_path / "m.json").write_bytes(b"[]")
    with pytest.raises(
        ValueError, match=r"a program in .*m\.json that is whole, got another one: a program in a format"
    ):
        paddle.jit.load(str(tmp_path / "m"))


def test_files_may_have_other_names(tmp_path):
    (tmp_path / "program").write_bytes((FOLDER / "narrow.json").read_bytes())
    (tmp_path / "values").write_bytes((FOLDER / "narrow.pdiparams").read_bytes())
    layer = paddle.jit.load(str(tmp_path), model_filename="program", params_filename="values")
    assert {p.dtype for p in layer.parameters()} == {paddle.bfloat16}
    (x,) = parts("narrow", "in").values()
    np.testing.assert_allclose(layer(x).numpy(), parts("narrow", "out")["0"], rtol=1e-5)


@pytest.mark.parametrize("names", [{"model_filename": "m.json"}, {"model_filename": "no", "params_filename": "no"}])
def test_names_of_files_are_for_folders(tmp_path, names):
    """With the beginning of the names of files they mean nothing, as in the reference, which warns too."""
    layer = paddle.nn.Linear(2, 1)
    paddle.jit.save(layer, str(tmp_path / "m"), [paddle.static.InputSpec([None, 2])])
    x = paddle.ones([3, 2])
    with pytest.warns(UserWarning, match=r"takes the files of '.*m': \['model_filename'.* name files in folders"):
        loaded = paddle.jit.load(str(tmp_path / "m"), **names)
    assert loaded(x).tolist() == layer(x).tolist()
    loaded = paddle.jit.load(str(tmp_path), model_filename="m.json", params_filename="m.pdiparams")
    assert loaded(x).tolist() == layer(x).tolist()
