"""Programs and values as bytes and files: what comes back computes the same, and what is damaged is refused."""

from __future__ import annotations

import hashlib
import json
import os

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import static
from paddle.static import Executor, data
from paddle.static.extract import extracted
from paddle.static.program_file import dumps, loads

X = np.random.RandomState(0).standard_normal((4, 3)).astype("float32")


def network():
    x = data("x", [None, 3])
    hidden = paddle.nn.BatchNorm1D(5)(paddle.nn.Linear(3, 5)(x))
    y = paddle.nn.Linear(5, 2)(F.dropout(F.relu(hidden), 0.5)) + paddle.to_tensor([1.0, 2.0])
    return x, y


def in_another_scope(prefix, feed):
    exe = Executor()
    with static.scope_guard(static.Scope()):
        program, names, fetches = static.load_inference_model(prefix, exe)
        assert sorted(names) == sorted(feed)
        return exe.run(program, feed, fetches)


def test_a_model_for_inference_computes_the_same_for_all_sizes(programs, tmp_path):
    main, startup = programs
    x, y = network()
    paddle.optimizer.Adam(0.1).minimize(y.mean())
    exe = Executor()
    exe.run(startup)
    for _ in range(2):
        exe.run(main, {"x": X})
    expected = exe.run(main.clone(for_test=True), {"x": X}, [y])
    prefix = str(tmp_path / "folder" / "model")
    static.save_inference_model(prefix, [x], [y], exe)
    assert sorted(os.listdir(tmp_path / "folder")) == ["model.json", "model.pdiparams"]
    np.testing.assert_allclose(in_another_scope(prefix, {"x": X})[0], expected[0], rtol=1e-6)
    np.testing.assert_allclose(in_another_scope(prefix, {"x": X[:1]})[0], expected[0][:1], rtol=1e-5)


@pytest.mark.parametrize(
    "order", [["x", "unread"], ["unread", "x"], ["label", "x"], ["x", "label", "unread"], ["x", "x"]]
)
def test_inputs_are_those_that_are_named_also_where_no_result_needs_them(order, programs, tmp_path):
    """PaddlePaddle refuses them; a model without them would have other inputs than it was asked for."""
    main, _ = programs
    x, _, label = data("x", [None, 3]), data("unread", [None, 2, None]), data("label", [None, 1], "int64")
    y = x * 2.0
    F.cross_entropy(y, label)  # which requires as many labels as rows
    inputs, kept = [main.global_block().var(n) for n in order], list(dict.fromkeys(order))
    values = {"x": X, "unread": np.zeros((7, 2, 1), "float32"), "label": np.zeros((5, 1), "int64")}
    feed, exe, prefix = {n: values[n] for n in kept}, Executor(), str(tmp_path / "m")
    for _ in range(2):  # what was loaded is saved again
        static.save_inference_model(prefix, inputs, [y], exe, program=main)
        np.testing.assert_array_equal(in_another_scope(prefix, feed)[0], X * 2)
        main, names, (y,) = static.load_inference_model(prefix, exe)
        assert names == kept
        assert [n for n, _ in main._tracer.feeds] == kept
        inputs = [main.global_block().var(n) for n in order]
    read = static.deserialize_program(static.serialize_program(inputs, [y], program=main))
    assert [n for n, _ in read._tracer.feeds] == kept
    assert [n for n, _ in static.normalize_program(main, inputs, [y])._tracer.feeds] == kept
    contents, _ = extracted("test", main._tracer, inputs, [y])
    assert loads("test", dumps(contents)).feeds == kept  # in our own format
    with pytest.raises(ValueError, match=r"\['x'\] among feed_vars"):
        static.save_inference_model(prefix, [v for v in inputs if v.name != "x"], [y], exe, program=main)
    with pytest.raises(ValueError, match=f"inputs of the program as feed_vars, got .*{y.name}"):
        static.save_inference_model(prefix, [*inputs, y], [y], exe, program=main)


def test_branches_loops_and_numbers_come_back(programs, tmp_path):
    x, n = data("x", [None]), data("n", [1], "int64")
    y = static.nn.cond(x.sum() > 0, lambda: x * x, lambda: -x)
    _, z = static.nn.while_loop(lambda i, v: i < n, lambda i, v: [i + 1, v * 2 + x], [paddle.zeros([1], "int64"), y])
    exe, prefix = Executor(), str(tmp_path / "m")
    static.save_inference_model(prefix, [n, x], [z, y], exe)
    for values in ([1.0, 2.0, 3.0], [-5.0, 1.0]):
        feed = {"x": np.array(values, "float32"), "n": np.array([3])}
        for a, b in zip(in_another_scope(prefix, feed), exe.run(feed=feed, fetch_list=[z, y]), strict=True):
            np.testing.assert_array_equal(a, b)
    assert static.load_inference_model(prefix, exe)[1] == ["n", "x"]


def test_random_numbers_are_drawn_anew(programs, tmp_path):
    x = data("x", [None])
    y = x + paddle.rand([x.shape[0]])
    exe, prefix = Executor(), str(tmp_path / "m")
    static.save_inference_model(prefix, [x], [y], exe)
    program, _, fetches = static.load_inference_model(prefix, exe)
    feed = {"x": np.zeros(3, "float32")}
    drawn = [exe.run(program, feed, fetches)[0] for _ in range(2)]
    assert not np.array_equal(*drawn)
    paddle.seed(5)
    first = exe.run(program, feed, fetches)[0]
    paddle.seed(5)
    np.testing.assert_array_equal(exe.run(feed=feed, fetch_list=[y])[0], first)


def test_a_loaded_program_can_be_trained_further(programs, tmp_path):
    main, startup = programs
    x = data("x", [None, 3])
    y = paddle.nn.Linear(3, 1)(x)
    exe, prefix = Executor(), str(tmp_path / "m")
    exe.run(startup)
    static.save_inference_model(prefix, [x], [y], exe)
    with static.scope_guard(static.Scope()):
        program, _, (out,) = static.load_inference_model(prefix, exe)
        begin = static.Program()
        with static.program_guard(program, begin):
            loss = (out**2).mean()
            paddle.optimizer.SGD(0.1).minimize(loss)
        exe.run(begin)
        losses = [exe.run(program, {"x": X}, [loss])[0].item() for _ in range(3)]
    assert losses[0] > losses[1] > losses[2]


def test_bytes_and_values_apart(programs):
    main, startup = programs
    x, y = network()
    exe = Executor()
    exe.run(startup)
    program_bytes, values = static.serialize_program([x], [y]), static.serialize_persistables([x], [y], exe)
    assert b"moment" not in values
    loaded = static.deserialize_program(program_bytes)
    with static.scope_guard(static.Scope()):
        with pytest.raises(RuntimeError, match="in the scope, got none"):
            exe.run(loaded, {"x": X}, ["fetch_name_0"])
        static.deserialize_persistables(loaded, values, exe)
        got = exe.run(loaded, {"x": X}, ["fetch_name_0"])
    np.testing.assert_allclose(got[0], exe.run(main.clone(for_test=True), {"x": X}, [y])[0], rtol=1e-6)
    assert sorted(p.trainable for p in loaded.all_parameters()) == [False] * 2 + [True] * 6  # statistics are not


def test_what_is_pruned(programs):
    main, startup = programs
    x, y = network()
    loss = F.cross_entropy(y, data("label", [None, 1], "int64"))
    paddle.optimizer.SGD(0.1).minimize(loss)
    kept = static.normalize_program(main, [x], [y])
    assert [o.name() for o in kept.global_block().ops].count("dropout") == 0
    assert set(kept.global_block().vars) >= {"x", y.name} and not kept.global_block().has_var("label")
    exe = static.Executor()
    exe.run(startup)
    (by_name,), (by_variable,) = (exe.run(kept, {"x": X}, [fetched]) for fetched in (y.name, y))
    np.testing.assert_array_equal(by_name, by_variable)
    with pytest.raises(ValueError, match="belongs to another program or to none"):
        exe.run(kept, {"x": X}, [loss])
    with pytest.raises(ValueError, match=r"\['label'\] among feed_vars"):
        static.normalize_program(main, [x], [loss])
    with pytest.raises(ValueError, match="fetch_vars of the program"):
        static.normalize_program(static.Program(), [x], [y])


def test_predictions_need_no_labels(programs, tmp_path):
    """A loss requires labels for each sample; that is nothing to what is saved without them."""
    main, startup = programs
    x, label = data("x", [None, 4]), data("label", [None, 1])
    y = F.sigmoid(static.nn.fc(x, 1))
    loss = F.log_loss(y, label).mean()
    paddle.optimizer.SGD(0.1).minimize(loss)
    exe = static.Executor()
    exe.run(startup)
    prefix = str(tmp_path / "model")
    static.save_inference_model(prefix, [x], [y], exe)
    loaded, feeds, fetched = static.load_inference_model(prefix, exe)
    given = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
    (got,) = exe.run(loaded, {feeds[0]: given}, fetched)
    feed = {"x": given, "label": np.ones([3, 1], "float32")}
    (want,) = exe.run(main.clone(for_test=True), feed, [y])
    np.testing.assert_allclose(got, want, rtol=1e-6)
    static.save_inference_model(prefix, [x, label], [loss], exe)  # what needs both still requires as many
    loaded, _, fetched = static.load_inference_model(prefix, exe)
    with pytest.raises(ValueError, match="label_0 == x_0"):
        exe.run(loaded, {**feed, "label": feed["label"][:2]}, fetched)


def test_the_state_of_training_goes_on(programs, tmp_path):
    main, startup = programs
    x = data("x", [None, 3])
    loss = (paddle.nn.Linear(3, 1)(x) ** 2).mean()
    paddle.optimizer.Adam(0.1).minimize(loss)
    exe, path = Executor(), str(tmp_path / "state")
    exe.run(startup)
    for _ in range(3):
        exe.run(main, {"x": X})
    static.save(main, path)
    with open(path + ".json", "rb") as file:
        assert isinstance(static.deserialize_program(file.read()), static.Program)
    expected = [exe.run(main, {"x": X}, [loss])[0].item() for _ in range(3)]
    exe.run(startup)
    static.load(main, path + ".pdparams", exe)
    assert [exe.run(main, {"x": X}, [loss])[0].item() for _ in range(3)] == expected
    chosen = static.load_program_state(path, ["linear_0.b_0"])
    assert list(chosen) == ["linear_0.b_0"]
    with pytest.raises(ValueError, match="values of"):
        static.load_program_state(path, ["unknown"])
    with pytest.warns(UserWarning, match="unknown"):
        static.set_program_state(main, {"unknown": np.zeros(1)})
    with pytest.raises(ValueError, match="shape"):
        static.set_program_state(main, {"linear_0.b_0": np.zeros(2, "float32")})
    with (
        static.program_guard(static.Program(), static.Program()) as _,
        pytest.raises(ValueError, match=r"\[load\] requires values of \['another'\] in .*pdparams, got those of"),
    ):
        (data("x", [None, 3]) @ static.create_parameter([3, 1], "float32", name="another")).mean()
        static.load(static.default_main_program(), path, exe)
    # What eager programs load is the same.
    assert set(paddle.load(path + ".pdparams")) == {"linear_0.w_0", "linear_0.b_0"}


def test_low_precision_values_come_back(programs, tmp_path):
    _, startup = programs
    x = data("x", [None, 2], "bfloat16")
    w = static.create_parameter([2, 2], "bfloat16", default_initializer=paddle.nn.initializer.Constant(0.5))
    y = paddle.matmul(x, w).astype("float32")
    exe, prefix = Executor(), str(tmp_path / "m")
    exe.run(startup)
    static.save_inference_model(prefix, [x], [y], exe)
    with paddle.base.dygraph.guard():
        ones = paddle.ones([1, 2], "bfloat16")
    np.testing.assert_array_equal(in_another_scope(prefix, {"x": ones})[0], [[1.0, 1.0]])


def changed(document, **kwargs):
    return json.dumps({**document, **kwargs}).encode()


def with_text(document, old, new):
    inner = dict(document["program"])
    inner["program"] = inner["program"].replace(old, new)
    assert inner["program"] != document["program"]["program"]
    inner["sha256"] = hashlib.sha256(inner["program"].encode()).hexdigest()
    return changed(document, program=inner)


DAMAGED = {
    "no JSON": lambda d: b"\x80\x04.",
    "cut short": lambda d: json.dumps(d).encode()[:-20],
    "deep": lambda d: b"[" * 100_000,
    "a list": lambda d: b"[]",
    "another format": lambda d: changed(d, format="pir"),
    "a newer version": lambda d: changed(d, version=99),
    "no program": lambda d: changed(d, program=None),
    "another text": lambda d: changed(d, program={**d["program"], "program": "program() {\n  return\n}\n"}),
    "names of inputs": lambda d: changed(d, feeds=["x", "y"]),
    "equal names": lambda d: changed(d, feeds=["x", "x"], fetched=[]),
    "no names": lambda d: changed(d, feeds=[1]),
    "names of results": lambda d: changed(d, fetched=[]),
    "kept": lambda d: changed(d, kept={}),
    "a kind": lambda d: changed(d, kept={k: [v[0], "code", v[2]] for k, v in d["kept"].items()}),
    "flags": lambda d: changed(d, kept={k: [v[0], v[1], 1] for k, v in d["kept"].items()}),
    "draws": lambda d: changed(d, draws=True),
    "an unknown op": lambda d: with_text(d, "matmul(", "os.system("),
    "attributes": lambda d: with_text(d, "transpose_x=False", "transpose_x=False, code=1"),
    "types": lambda d: with_text(d, ": f32[x_0, 2]", ": f32[x_0, 3]"),
    "an operand": lambda d: with_text(d, "matmul(%0", "matmul(%9"),
    "a large size": lambda d: with_text(d, "f32[3, 2]", f"f32[{'9' * 5000}, 2]"),
}  # fmt: skip


def own_document(x, y):
    """A program in our own format."""
    contents, _ = extracted("test", static.default_main_program()._tracer, [x], [y])
    return json.loads(dumps(contents))


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_programs_are_refused(case, programs):
    x = data("x", [None, 3])
    document = own_document(x, paddle.matmul(x, static.create_parameter([3, 2], "float32")))
    assert static.deserialize_program(json.dumps(document).encode()).num_ops() == 1
    with pytest.raises(ValueError, match="deserialize_program"):
        static.deserialize_program(DAMAGED[case](document))


def test_large_parameters_are_not_made_before_their_values_are_read(programs):
    x = data("x", [None, 3])
    document = own_document(x, paddle.matmul(x, static.create_parameter([3, 2], "float32")))
    n = 10**9
    text = document["program"]["program"].replace("f32[3, 2]", f"f32[3, {n}]").replace("f32[x_0, 2]", f"f32[x_0, {n}]")
    inner = {**document["program"], "program": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    loaded = static.deserialize_program(changed(document, program=inner))
    assert loaded.all_parameters()[0].shape == [3, n]
    with pytest.raises(ValueError, match=f"shape \\[3, {n}\\]"):
        name = loaded.all_parameters()[0].name
        buffer = static.saving._as_bytes({name: np.zeros((3, 2), "float32")})
        static.deserialize_persistables(loaded, buffer, Executor())


def test_functions_are_not_saved(programs):
    x = data("x", [2])
    out = programs[0].global_block().create_var(name="out", shape=[2], dtype="float32")
    static.py_func(lambda a: a, x, out)
    with pytest.warns(UserWarning, match="own format, since .* none for python_call"):
        text = static.serialize_program([x], [out]).replace(b"number=", b"number=9")
    document = json.loads(text)
    inner = document["program"]
    inner["sha256"] = hashlib.sha256(inner["program"].encode()).hexdigest()
    loaded = static.deserialize_program(json.dumps(document).encode())
    with pytest.raises(RuntimeError, match="Functions are not saved"):
        Executor().run(loaded, {"x": np.ones(2, "float32")}, ["out"])


def test_values_are_data(programs, tmp_path):
    with pytest.raises(ValueError):
        static.deserialize_persistables(static.Program(), b"cos\nsystem\n(S'true'\ntR.", Executor())
    with pytest.raises(TypeError, match="requires bytes"):
        static.deserialize_program("text")
    with pytest.raises(ValueError, match="bytes as content"):
        static.save_to_file(str(tmp_path / "x"), "text")
    with pytest.raises(ValueError, match="beginning of names"):
        static.save(programs[0], str(tmp_path) + os.sep)
    with pytest.raises(FileNotFoundError):
        static.load_inference_model(str(tmp_path / "none"), Executor())


@pytest.mark.parametrize("kind", [TypeError, ValueError])
def test_what_is_no_variable_or_prefix_is_refused(kind, programs, tmp_path):
    """The reference raises a ValueError for a wrong type."""
    x, prefix = data("x", [2]), str(tmp_path / "m")
    for given in ((prefix, 1, [x]), (prefix, [x], ["y"]), (3, [x], [x])):
        with pytest.raises(kind, match=r"\[save_inference_model\] requires"):
            static.save_inference_model(*given, Executor())
    assert not os.listdir(tmp_path)


def test_models_by_other_names_and_as_bytes(programs, tmp_path):
    x = data("x", [None])
    w = static.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(2.0))
    exe = Executor()
    exe.run(programs[1])
    static.save_inference_model(str(tmp_path / "m"), [x], [x * w], exe)
    os.rename(tmp_path / "m.json", tmp_path / "model")
    os.rename(tmp_path / "m.pdiparams", tmp_path / "values")
    named = static.load_inference_model(str(tmp_path), exe, model_filename="model", params_filename="values")
    contents = {n: static.load_from_file(str(tmp_path / n)) for n in ("model", "values")}
    given = static.load_inference_model(None, exe, model_filename=contents["model"], params_filename=contents["values"])
    for program, feeds, fetches in (named, given):
        assert exe.run(program, {feeds[0]: np.ones(1, "float32")}, fetches)[0].tolist() == [2.0]
