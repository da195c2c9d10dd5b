"""``jit.save``: which files there are, what their inputs and results are called, and what they compute."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.static import InputSpec
from paddle.static.formats import pir
from paddle.static.formats.graph import DATA, FETCH, PARAMETER

X = np.random.RandomState(0).standard_normal((4, 2)).astype("float32")


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear, self.drop = nn.Linear(2, 3), nn.Dropout(0.5)

    def forward(self, x, y=None):
        z = self.drop(self.linear(x))
        return z if y is None else z + y


class Several(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 3), nn.Linear(2, 2)

    @paddle.jit.to_static(full_graph=True)
    def forward(self, x):
        return self.a(x)

    @paddle.jit.to_static(input_spec=[InputSpec([None, 2])], full_graph=True)
    def extra(self, x):
        return self.b(x) + 1, {"b": x * 2, "a": [x]}


def spec(name=None, sizes=(None, 2)):
    return InputSpec(list(sizes), "float32", name)


def read(path):
    with open(path) as file:
        return pir.read(json.load(file))


def names(path):
    """Inputs, results and parameters of a file; the reference gave the same for these layers."""
    module = read(path)
    return (
        [(o.plain("name"), o.plain("shape")) for o in module.named(DATA)],
        [o.plain("name") for o in module.named(FETCH)],
        sorted(o.plain("parameter_name").rpartition(".")[2] for o in module.named(PARAMETER)),
    )


def test_a_layer_and_its_names(tmp_path):
    net, prefix = Net(), str(tmp_path / "folder" / "m")
    paddle.jit.save(net, prefix, [spec()])
    assert sorted(os.listdir(tmp_path / "folder")) == ["m.json", "m.pdiparams"]
    assert names(prefix + ".json") == ([("x", [-1, 2])], ["fetch_name_0"], ["b_0", "w_0"])
    assert net.training  # and the saved program is that of evaluation
    loaded = paddle.jit.load(prefix)
    net.eval()
    for rows in (X, X[:1]):
        np.testing.assert_allclose(loaded(paddle.to_tensor(rows)), net(paddle.to_tensor(rows)), rtol=1e-6)
    paddle.jit.save(net, prefix, [spec("image"), spec("other", [None, 3])])
    assert names(prefix + ".json")[0] == [("image", [-1, 2]), ("other", [-1, 3])]


def test_results_that_are_computed_of_open_sizes_are_tensors(tmp_path):
    """Other numbers, texts and None are left out, as the reference leaves them out."""
    prefix = str(tmp_path / "m")

    def sizes(x):
        n = x.shape[0]
        return {"b": [x + 1, 2 * n, 5, None], "a": n, "c": (n / 4, n > 2, "text", x.shape)}

    def number(x):
        return len(x) - 1

    for function in (sizes, number):
        paddle.jit.save(function, prefix, [spec("x")])
        loaded = paddle.jit.load(prefix)
        predictor = paddle.inference.create_predictor(paddle.inference.Config(prefix + ".json", ""))
        for n in (1, 4):
            x = paddle.to_tensor(X[:n])
            wanted = [n, x + 1, 2 * n, np.float32(n / 4), n > 2, n] if function is sizes else [n - 1]
            got = loaded(x)
            for results in (got if isinstance(got, list) else [got], predictor.run([x])):
                assert [(y.dtype, y.shape) for y in results if y.ndim == 0] == [
                    (paddle.to_tensor(w).dtype, []) for w in wanted if not isinstance(w, paddle.Tensor)
                ]
                for y, want in zip(results, wanted, strict=True):
                    np.testing.assert_array_equal(y, np.asarray(want))


def test_nested_arguments_and_results(tmp_path):
    class Nested(nn.Layer):
        def forward(self, d, items, power=3):
            return {"s": d["u"] + d["v"], "n": 3, "t": items[0] * items[1] ** power}

    prefix = str(tmp_path / "m")
    paddle.jit.save(Nested(), prefix, [{"v": spec("v"), "u": spec()}, [spec(), spec("q")], 2])
    inputs, results, _ = names(prefix + ".json")
    assert [n for n, _ in inputs] == ["u", "v", "items_0", "q"]
    assert results == ["fetch_name_0", "fetch_name_1"]
    assert os.listdir(tmp_path) == ["m.json"]  # there are no parameters
    two = paddle.full([1, 2], 2.0)
    assert [y.tolist() for y in paddle.jit.load(prefix)(two, two, two, two)] == [[[4.0, 4.0]], [[8.0, 8.0]]]


def test_several_methods(tmp_path):
    net, prefix = Several(), str(tmp_path / "m")
    net(paddle.to_tensor(X))
    paddle.jit.save(net, prefix)
    assert sorted(os.listdir(tmp_path)) == ["m.extra.json", "m.extra.pdiparams", "m.json", "m.pdiparams"]
    assert names(prefix + ".json")[0] == [("x", [4, 2])]  # as it was called
    inputs, results, _ = names(prefix + ".extra.json")
    assert inputs == [("x", [-1, 2])] and results == [f"fetch_name_{i}" for i in range(3)]
    loaded = paddle.jit.load(prefix)
    for a, b in zip(loaded.extra(paddle.to_tensor(X)), net.extra(paddle.to_tensor(X))[0:1], strict=False):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    with pytest.raises(ValueError, match=r"input_spec None where several .* got specs, and \['extra'\]"):
        paddle.jit.save(net, prefix, [spec()])
    paddle.jit.save(net, str(tmp_path / "only"), skip_forward=True)
    assert sorted(n for n in os.listdir(tmp_path) if "only" in n) == ["only.extra.json", "only.extra.pdiparams"]


def test_sizes_that_differed_between_calls_are_open(tmp_path):
    net = paddle.jit.to_static(Net(), full_graph=True)
    for n in (2, 4, 3):
        net(paddle.ones([n, 2]))
    paddle.jit.save(net, str(tmp_path / "m"))
    assert names(str(tmp_path / "m.json"))[0] == [("x", [-1, 2])]


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: paddle.jit.to_static(f, full_graph=True)])
def test_functions(wrap, tmp_path):
    layer = nn.Linear(2, 2)

    def function(x, n):
        while x.sum() < n:
            x = layer(x).abs() + x
        return x

    prefix = str(tmp_path / "f")
    paddle.jit.save(wrap(function), prefix, [spec(), InputSpec([1], "float32")])
    assert names(prefix + ".json")[2] == ["b_0", "w_0"]
    for n in (-5.0, 40.0):
        given = paddle.to_tensor(np.abs(X)), paddle.to_tensor([n])
        np.testing.assert_allclose(paddle.jit.load(prefix)(*given), function(*given), rtol=1e-5)


def test_functions_without_a_source(tmp_path):
    places: dict = {}
    exec("def double(x):\n    return x * 2.0\ndef branch(x):\n    return x if x.sum() > 0 else -x\n", places)
    paddle.jit.save(places["double"], str(tmp_path / "f"), [spec()])
    assert paddle.jit.load(str(tmp_path / "f"))(paddle.ones([1, 2])).tolist() == [[2.0, 2.0]]
    with pytest.raises(TypeError, match="known only while the program runs"):
        paddle.jit.save(places["branch"], str(tmp_path / "g"), [spec()])


def test_asserted_and_printed(tmp_path):
    def function(x):
        assert x.sum() > 0, "a positive sum is required"
        print("the sum is", x.sum())
        return x * 2

    paddle.jit.save(function, str(tmp_path / "f"), [spec()])
    names_of_operators = [o.name for o in read(str(tmp_path / "f.json")).block.operations]
    assert "pd_op.assert" in names_of_operators and "pd_op.print" not in names_of_operators
    assert paddle.jit.load(str(tmp_path / "f"))(paddle.ones([1, 2])).tolist() == [[2.0, 2.0]]


def test_a_branch_on_a_size_is_checked_in_the_file(tmp_path):
    @paddle.jit.not_to_static  # and so it goes one way
    def way(n):
        return 1 if n > 3 else 2

    def function(x):
        return x * way(x.shape[0])

    paddle.jit.save(function, str(tmp_path / "f"), [spec()])
    operations = read(str(tmp_path / "f.json")).block.operations
    asserted = next(o for o in operations if o.name == "pd_op.assert")
    made = {r.number: o for o in operations for r in o.results}
    condition = made[asserted.operands[0]]
    assert condition.name == "pd_op.less_equal" and made[condition.operands[0]].plain("value") == 4.0


def test_results_and_inputs_that_are_kept(tmp_path):
    class Three(nn.Layer):
        def forward(self, x, y):
            return x + 1, x * y, x * 3

    net, prefix = Three(), str(tmp_path / "m")
    both = [spec("x"), spec("y")]
    paddle.jit.save(net, prefix, both, output_spec=[2, 0], input_names_after_prune=["x"])
    assert [n for n, _ in names(prefix + ".json")[0]] == ["x"]
    assert [y.tolist() for y in paddle.jit.load(prefix)(paddle.ones([1, 2]))] == [[[3.0, 3.0]], [[2.0, 2.0]]]
    with pytest.raises(ValueError, match=r"\['y'\] among feed_vars"):
        paddle.jit.save(net, prefix, both, input_names_after_prune=["x"])
    with pytest.raises(ValueError, match="output_spec of one of 3 results each, got 3"):
        paddle.jit.save(net, prefix, both, output_spec=[3])
    paddle.jit.save(net, prefix, both, input_names_after_prune=["y", "x"])
    assert [n for n, _ in names(prefix + ".json")[0]] == ["x", "y"]
    captured = paddle.jit.to_static(Three(), input_spec=both, full_graph=True)
    paddle.jit.save(captured, prefix, output_spec=[captured.forward.outputs[1]])
    assert paddle.jit.load(prefix)(paddle.ones([1, 2]), paddle.full([1, 2], 5.0)).tolist() == [[5.0, 5.0]]


@pytest.mark.parametrize("captured", [True, False])
@pytest.mark.parametrize("loaded", [paddle.jit.load, "predictor"])
def test_inputs_that_no_result_needs_stay(captured, loaded, tmp_path):
    """A loaded layer is called as the one that was saved."""

    class Two(nn.Layer):
        def forward(self, unread, x, sizes, **others):
            return x * 2 + sizes.shape[0] + len(others)

    net, prefix = Two(), str(tmp_path / "m")
    specs = [spec("unread", [None, 7]), spec("x"), spec("sizes", [None])]
    if captured:
        net = paddle.jit.to_static(net, input_spec=specs, full_graph=True)
    paddle.jit.save(net, prefix, None if captured else specs)
    assert [n for n, _ in names(prefix + ".json")[0]] == ["unread", "x", "sizes"]
    arrays = [np.ones(shape, "float32") for shape in ([3, 7], [1, 2], [4])]
    if loaded == "predictor":
        predictor = paddle.inference.create_predictor(paddle.inference.Config(prefix + ".json", ""))
        assert predictor.get_input_names() == ["unread", "x", "sizes"]
        (found,) = predictor.run([paddle.to_tensor(x) for x in arrays])
    else:
        found = loaded(prefix)(*map(paddle.to_tensor, arrays))
        paddle.jit.save(loaded(prefix), prefix)  # again
        assert [n for n, _ in names(prefix + ".json")[0]] == ["unread", "x", "sizes"]
    np.testing.assert_array_equal(found.numpy(), [[6.0, 6.0]])


@pytest.mark.parametrize(
    ("given", "results", "config", "kept"),
    [
        (["x"], [0], {}, ["x"]),
        (["x"], [0], {"input_names_after_prune": ["x"]}, ["x"]),
        (["y"], [2], {}, ["y"]),
        (["x"], [1], {}, ["x", "y"]),  # which needs both
        (["y", "x"], [0, 1, 2], {}, ["x", "y"]),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_fewer_specs_choose_among_those_of_to_static(given, results, config, kept, named, tmp_path):
    class Three(nn.Layer):
        def forward(self, x, y=None):
            return x + 1, x - y, y * 3

    net = paddle.jit.to_static(Three(), input_spec=[spec("x" if named else None), spec("y" if named else None)])
    prefix, (x, y) = str(tmp_path / "m"), (paddle.ones([1, 2]), paddle.full([1, 2], 5.0))
    paddle.jit.save(net, prefix, [spec(name) for name in given], output_spec=results, **config)
    assert [n for n, _ in names(prefix + ".json")[0]] == kept
    found = paddle.jit.load(prefix)(*({"x": x, "y": y}[n] for n in kept))
    for got, place in zip([found] if len(results) == 1 else found, results, strict=True):
        np.testing.assert_array_equal(got.numpy(), (x + 1, x - y, y * 3)[place].numpy())


def test_specs_that_choose_are_those_of_to_static(tmp_path):
    net = paddle.jit.to_static(Net(), input_spec=[spec("x"), spec("y", [None, 3])])
    with pytest.raises(ValueError, match=r"\[save\] requires InputSpec\(shape=\(-1, 2\).*which to_static was told"):
        paddle.jit.save(net, str(tmp_path / "m"), [spec("x", [3, 2])])


def test_specs_fit_those_of_to_static_whose_sizes_stay(tmp_path):
    net = paddle.jit.to_static(Net(), input_spec=[spec("x"), None])
    for given, called in ((spec(sizes=[3, 2]), "x"), (spec("z", [-1, -1]), "z"), (paddle.ones([3, 2]), "x")):
        paddle.jit.save(net, str(tmp_path / "m"), [given, None])
        assert names(str(tmp_path / "m.json"))[0] == [(called, [-1, 2])]
    for other in (spec(sizes=[None, 3]), spec(sizes=[None, 2, 1]), InputSpec([None, 2], "float64"), True):
        with pytest.raises(ValueError, match=r"\[save\] requires an input_spec that fits InputSpec.* got"):
            paddle.jit.save(net, str(tmp_path / "m"), [other, None])


def test_threads_save_beside_each_other(tmp_path):
    x = paddle.to_tensor(X)

    def work(i):
        for j in range(3):
            net, prefix = nn.Linear(2, 2), str(tmp_path / f"{i}_{j}")
            paddle.jit.save(net, prefix, [spec()])
            np.testing.assert_allclose(paddle.jit.load(prefix)(x).numpy(), net(x).numpy(), rtol=1e-6)
        assert paddle.in_dynamic_mode()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))


def test_specs_in_dicts_fit_by_their_keys(tmp_path):
    net = paddle.jit.to_static(
        lambda d: d["p"].sum() + d["q"], input_spec=[{"q": spec("a", [None, 3]), "p": spec("b")}]
    )
    paddle.jit.save(net, str(tmp_path / "m"), [{"p": spec("d", [4, 2]), "q": spec("c", [4, 3])}])
    assert names(str(tmp_path / "m.json"))[0] == [("d", [-1, 2]), ("c", [-1, 3])]


@pytest.mark.parametrize(
    ("told", "given"), [(3, 4), (1, True), (None, spec("y")), ("a", "b"), ([1, 2], [2, 1])], ids=str
)
def test_arguments_that_are_no_tensors_are_those_of_to_static(told, given, tmp_path):
    net = paddle.jit.to_static(lambda x, k: x * 2, input_spec=[spec("x"), told])
    paddle.jit.save(net, str(tmp_path / "m"), [spec(sizes=[3, 2]), told])
    with pytest.raises(ValueError, match=r"\[save\] requires .*, which to_static was told, got"):
        paddle.jit.save(net, str(tmp_path / "m"), [spec(sizes=[3, 2]), given])


def test_results_of_calls_choose_where_they_are_alone(tmp_path):
    net = paddle.jit.to_static(lambda x: (x.mean(), x * 2, x - 1), full_graph=True)
    mean, doubled, _ = net(paddle.to_tensor(X))
    paddle.jit.save(net, str(tmp_path / "m"), [spec()], output_spec=[mean])
    assert paddle.jit.load(str(tmp_path / "m"))(paddle.to_tensor(X)).shape == []
    with pytest.raises(ValueError, match="output_spec of one of 3 results each"):
        paddle.jit.save(net, str(tmp_path / "m"), [spec()], output_spec=[doubled])


def test_dicts_of_specs_choose_too(tmp_path):
    class Loss(nn.Layer):
        def forward(self, images, labels):
            y = images["x"] * 2
            paddle.nn.functional.mse_loss(y, labels["y"])
            return y

    net = paddle.jit.to_static(Loss(), input_spec=[{"x": spec("x")}, {"y": spec("y")}], full_graph=True)
    paddle.jit.save(net, str(tmp_path / "m"), [{"x": spec("x")}])
    assert names(str(tmp_path / "m.json"))[0] == [("x", [-1, 2])]


def test_a_layer_is_left_as_it_was(tmp_path):
    class Kept(nn.Layer):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1D(2)
            self.register_buffer("steps", paddle.arange(40.0))

        def forward(self, x):
            self.steps += 1.0
            return self.norm(x) + self.steps[:2]

    net = Kept()
    before = {k: v.numpy().copy() for k, v in net.state_dict().items()}
    paddle.jit.save(net, str(tmp_path / "m"), [spec()])
    assert net.steps.name in [o.plain("parameter_name") for o in read(str(tmp_path / "m.json")).named(PARAMETER)]
    for k, v in net.state_dict().items():
        np.testing.assert_array_equal(v.numpy(), before[k])
    net.eval()
    loaded = paddle.jit.load(str(tmp_path / "m"))
    np.testing.assert_allclose(loaded(paddle.to_tensor(X)), net(paddle.to_tensor(X)), rtol=1e-5)


def test_operations_have_the_lines_of_the_user(tmp_path):
    class Lines(nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear, self.drop = nn.Linear(2, 2), nn.Dropout(0.5, mode="downscale_in_infer")

        def forward(self, x):
            x = self.linear(x)
            if x.sum() > 0:
                x = paddle.tanh(x)
            return self.drop(x)

    paddle.jit.save(Lines(), str(tmp_path / "m"), [spec()])
    lines = {o.name: o.plain("op_callstack") for o in read(str(tmp_path / "m.json")).block.walk()}
    first = Lines.forward.__code__.co_firstlineno
    for name, code, line in (
        ("matmul", "x = self.linear(x)", 1), ("if", "if x.sum() > 0:", 2), ("tanh", "x = paddle.tanh(x)", 3),
        ("multiply", "return self.drop(x)", 4),
    ):  # fmt: skip
        where, what = lines[f"pd_op.{name}"]
        assert where == f'  File "{__file__}", line {first + line}, in forward' and what == f"    {code}"


def test_hooks_and_data_parallel(tmp_path):
    net = Net()
    net.register_forward_post_hook(lambda layer, inputs, output: output * 7)
    paddle.jit.save(paddle.DataParallel(net), str(tmp_path / "m"), [spec()], with_hook=True)
    net.eval()
    loaded = paddle.jit.load(str(tmp_path / "m"))
    np.testing.assert_allclose(loaded(paddle.to_tensor(X)), net(paddle.to_tensor(X)), rtol=1e-6)


def test_files_of_values(tmp_path):
    net = Several()
    net(paddle.to_tensor(X))
    paddle.jit.save(net, str(tmp_path / "a" / "m"), combine_params=True)
    assert sorted(os.listdir(tmp_path / "a")) == ["m.extra.json", "m.json", "m.pdiparams"]
    loaded = paddle.jit.load(str(tmp_path / "a" / "m"))
    np.testing.assert_allclose(loaded(paddle.to_tensor(X)), net(paddle.to_tensor(X)), rtol=1e-6)
    np.testing.assert_allclose(loaded.extra(paddle.to_tensor(X))[0], net.extra(paddle.to_tensor(X))[0], rtol=1e-6)
    paddle.jit.save(Net(), str(tmp_path / "b" / "m"), [spec()], separate_parameters=True)
    program, *values = sorted(os.listdir(tmp_path / "b"))
    assert program == "__model__.json" and [n.rpartition(".")[2] for n in values] == ["b_0", "w_0"]
    for path in ("b", "b/m"):
        assert paddle.jit.load(str(tmp_path / path))(paddle.to_tensor(X)).shape == [4, 3]
    predictor = paddle.inference.create_predictor(paddle.inference.Config(str(tmp_path / "b")))
    assert predictor.run([paddle.to_tensor(X)])[0].shape == [4, 3]


def test_what_has_no_operator_is_written_in_our_own_format(tmp_path):
    with pytest.warns(UserWarning, match=r"\[jit.save\] writes .* own format, .* none for gcd"):
        paddle.jit.save(lambda x: paddle.gcd(x, 0.5), str(tmp_path / "m"), [InputSpec([3, 3])])
    assert json.loads((tmp_path / "m.json").read_text())["format"] == "umiak.static_program"


def test_what_is_refused(tmp_path):
    prefix = str(tmp_path / "m")
    with pytest.raises(ValueError, match=r"requires input_spec, or a call of forward by to_static before, got neither"):
        paddle.jit.save(Net(), prefix)
    with pytest.raises(TypeError, match="a Layer or a function, got int"):
        paddle.jit.save(3, prefix)
    with pytest.raises(ValueError, match="a path that ends in a name"):
        paddle.jit.save(Net(), str(tmp_path) + os.sep, [spec()])
    with pytest.raises(ValueError, match=r"configs of .* got \['wrong'\]"):
        paddle.jit.save(Net(), prefix, [spec()], wrong=1)
    with pytest.raises(ValueError, match="a tensor as a result of"):
        paddle.jit.save(lambda x: 3, prefix, [spec()])
    assert os.listdir(tmp_path) == []


def test_methods_that_give_plain_values_are_left_out(tmp_path):
    class Labelled(nn.Layer):
        @paddle.jit.to_static(input_spec=[spec("x")])
        def forward(self, x):
            return x * 2

        @paddle.jit.to_static(property=True)
        def labels(self):
            return ["cat", "dog"]

    layer = Labelled()
    assert layer.labels() == ["cat", "dog"]
    paddle.jit.save(layer, str(tmp_path / "m"))
    assert os.listdir(tmp_path) == ["m.json"]
    np.testing.assert_array_equal(paddle.jit.load(str(tmp_path / "m"))(X).numpy(), X * 2)
