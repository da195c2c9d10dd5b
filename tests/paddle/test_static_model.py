"""``paddle.Model`` in static mode, beside dynamic mode and the reference (``tests/support/static_model_facts.py``)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle import nn
from tests.support import static_model_facts
from tests.support.static_model_facts import SPEC, Samples, adam, array, batch, numbers, prepared

FACTS = json.loads((Path(__file__).parents[1] / "data" / "static_model.json").read_text())


@pytest.fixture
def static():
    """Static mode, in programs and a scope of the test's own."""
    paddle.enable_static()
    try:
        with (
            paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()),
            paddle.static.scope_guard(paddle.static.Scope()),
        ):
            yield
    finally:
        paddle.disable_static()


def in_static_mode(function):
    """What a function gives in static mode."""
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            return function()
    finally:
        paddle.disable_static()


def close(found, expected, tolerance):
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(close(found[k], expected[k], tolerance) for k in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(close(f, e, tolerance) for f, e in zip(found, expected))
    return found == expected if isinstance(expected, str) else abs(found - expected) <= tolerance


@pytest.mark.parametrize("name", static_model_facts.PROGRAMS)
def test_as_the_reference_and_as_dynamic_mode(name):
    program = static_model_facts.PROGRAMS[name]
    found = in_static_mode(program)
    assert close(found, FACTS[name], 2e-6)
    assert close(program(), found, 0.0)


def test_random_numbers_are_those_of_dynamic_mode():
    """First values and dropout."""

    def train():
        paddle.seed(5)
        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 3))
        model = paddle.Model(net, SPEC([None, 4], name="x"), SPEC([None, 1], "int64", "y"))
        model.prepare(adam(net.parameters()), nn.CrossEntropyLoss())
        return numbers([model.train_batch(*batch(6)) for _ in range(3)] + model.predict_batch(batch(6)[0]))

    assert in_static_mode(train) == train()


class Rates(paddle.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.seen = []

    def on_eval_end(self, logs=None):
        self.seen.append((self.model._optimizer.get_lr(), float(logs["loss"][0]), float(logs["acc"])))


def test_callbacks_see_the_same(tmp_path):
    def train(folder):
        rates = Rates()
        model = prepared(adam, metrics=paddle.metric.Accuracy())
        stop = paddle.callbacks.EarlyStopping("loss", patience=3, verbose=0, save_best_model=True)
        less = paddle.callbacks.ReduceLROnPlateau("loss", patience=1, min_delta=1.0, verbose=0)
        calls = [stop, less, rates]
        model.fit(
            Samples(), Samples(6), batch_size=4, epochs=6, verbose=0, shuffle=False, callbacks=calls,
            save_dir=str(folder),
        )  # fmt: skip
        return rates.seen, sorted(os.listdir(folder))

    paddle.seed(0)
    found = in_static_mode(lambda: train(tmp_path / "static"))
    paddle.seed(0)
    assert found == train(tmp_path / "dynamic")
    assert len({rate for rate, _, _ in found[0]}) > 1 and "best_model.pdparams" in found[1]


@pytest.mark.parametrize("first", ["static", "dynamic"])
def test_checkpoints_go_from_mode_to_mode(tmp_path, first):
    path = str(tmp_path / "m")

    def scheduled(parameters):
        rate = paddle.optimizer.lr.ExponentialDecay(0.05, 0.5)
        return paddle.optimizer.Adam(rate, parameters=parameters)

    def begin():
        model = prepared(scheduled)
        for k in range(3):
            model.train_batch(*batch(6, k))
            model._optimizer._learning_rate.step()
        model.save(path)
        return numbers([model.train_batch(*batch(6, k)) for k in range(2)])

    def go_on():
        nn.Linear(1, 1)  # names differ
        model = prepared(scheduled)
        model.load(path)
        return numbers([model.train_batch(*batch(6, k)) for k in range(2)])

    if first == "static":
        found, expected = go_on, in_static_mode(begin)
        assert found() == expected
    else:
        expected = begin()
        assert in_static_mode(go_on) == expected


def test_state_of_the_reference(tmp_path, static):
    """A checkpoint of its static mode has the rate as well, and no names of parameters by their place."""
    model = prepared(adam)
    names = [p.name for p in model.parameters()]
    state = {"learning_rate_0": np.float32(0.05)}
    for k, p in enumerate(model.parameters()):
        for name in ("moment1", "moment2"):
            state[f"{p.name}_{name}_0"] = np.full(p.shape, 0.25 + k, "float32")
        for name, beta in (("beta1", 0.9), ("beta2", 0.999)):
            state[f"{p.name}_{name}_pow_acc_0"] = np.full([1], beta**3, "float32")
    path = str(tmp_path / "m")
    model.save(path)
    paddle.save(state, path + ".pdopt")
    model.load(path)
    found = model._static.optimizer_state()
    assert np.asarray(found[f"{names[-1]}_moment2_0"]).ravel()[0] == 0.25 + len(names) - 1
    np.testing.assert_allclose(np.asarray(found[f"{names[0]}_beta1_pow_acc_0"]), [0.9**3], 1e-6)


def test_optimizer_state_of_another_optimizer_is_refused(tmp_path, static):
    path = str(tmp_path / "m")
    prepared(lambda ps: paddle.optimizer.Momentum(0.1, parameters=ps)).train_batch(*batch(4))
    model = prepared(lambda ps: paddle.optimizer.Momentum(0.1, parameters=ps))
    model.save(path)
    with pytest.raises(ValueError, match=r"Model.load.*the optimizer's states in the file, got none for .*moment1"):
        prepared(adam).load(path)


def test_form_for_inference(tmp_path, static):
    model = prepared(adam)
    model.train_batch(*batch(6))
    path = str(tmp_path / "m")
    model.save(path, training=False)
    expected = model.predict_batch(batch(5)[0])
    assert sorted(os.listdir(tmp_path)) == ["m.json", "m.pdiparams"]
    exe = paddle.static.Executor()
    with paddle.static.scope_guard(paddle.static.Scope()):
        program, feeds, fetches = paddle.static.load_inference_model(path, exe)
        found = exe.run(program, {feeds[0]: batch(5)[0][0]}, fetches)
    assert feeds == ["x"]
    np.testing.assert_allclose(found, expected, 1e-6)


def test_form_for_inference_in_both_modes(tmp_path):
    """Files of one network: read and called by ``jit.load``."""

    def save(path):
        prepared(adam).save(str(path), training=False)

    in_static_mode(lambda: save(tmp_path / "static"))
    save(tmp_path / "dynamic")
    x = paddle.to_tensor(array(3, 4))
    a, b = (paddle.jit.load(str(tmp_path / name))(x).numpy() for name in ("static", "dynamic"))
    np.testing.assert_array_equal(a, b)


def test_mixed_precision(static):
    """Matmuls are float16's, parameters stay float32; a step whose gradients overflow is left out."""
    config = {"level": "O1", "init_loss_scaling": 128.0, "use_dynamic_loss_scaling": True}
    model, plain = prepared(adam, amp_configs=config), prepared(adam)
    for k in range(2):
        (low,), (wide,) = model.train_batch(*batch(6, k)), plain.train_batch(*batch(6, k))
        assert 0 < abs(float(low) - float(wide)) < 5e-3
    before = {key: x.numpy().copy() for key, x in paddled(model).items()}
    x, y = batch(6)
    model.train_batch([x[0] * np.inf], y)
    after = paddled(model)
    assert all((before[key] == after[key].numpy()).all() for key in before if "weight" in key)
    assert {p.dtype for p in model.parameters()} == {paddle.float32}


def paddled(model):
    """Values of a model, read outside of the program."""
    with paddle.base.dygraph.guard():
        return {key: x.clone() for key, x in model._static.values().items()}


@pytest.mark.parametrize(
    ("config", "narrow"),
    [("O2", False), ({"level": "O2", "use_fp16_guard": False}, True)],
    ids=["what guards mark", "everything"],
)
def test_pure_float16(static, config, narrow):
    model, plain = prepared(adam, amp_configs=config), prepared(adam)
    found, expected = (numbers(m.predict_batch(batch(6)[0])) for m in (model, plain))
    assert (found != expected) == narrow
    np.testing.assert_allclose(found, expected, atol=5e-3)
    assert np.isfinite(numbers(model.train_batch(*batch(6)))).all()


def test_variables_that_stay_wide(static):
    """``custom_black_varnames``: what reads x computes in float32; the other matmul does not."""

    def narrow(config):
        model = prepared(adam, amp_configs=config)
        return str(model._static._of("train").program).count("f16")

    assert 0 < narrow({"level": "O1", "custom_black_varnames": {"x"}}) < narrow("O1")


def test_summary_records_nothing(static, capsys):
    model = prepared(adam)
    before = paddle.static.default_main_program().num_ops()
    assert model.summary()["total_params"] == 69
    assert "[1, 6]" in capsys.readouterr().out
    assert paddle.static.default_main_program().num_ops() == before


def test_what_is_trained_stays(static):
    """Another model of the same programs, a second ``prepare``, and values that were loaded before it."""
    model = prepared(adam)
    model.train_batch(*batch(6))
    trained = numbers(model.predict_batch(batch(6)[0]))
    prepared(adam)
    assert numbers(model.predict_batch(batch(6)[0])) == trained
    model.prepare(adam(model.parameters()), nn.CrossEntropyLoss())
    assert numbers(model.predict_batch(batch(6)[0])) == trained
    again = static_model_facts.fill(paddle.Model(static_model_facts.classes(), SPEC([None, 4], name="x")))
    loaded = numbers(again.predict_batch(batch(6)[0]))
    again.prepare()
    assert numbers(again.predict_batch(batch(6)[0])) == loaded


def test_names_of_inputs(static):
    """Without one, an input has that of the parameter of ``forward``, as in ``jit.save``."""
    net = static_model_facts.Pair()
    model = paddle.Model(net, [SPEC([None, 4]), SPEC([None, 3])])
    model.predict_batch([array(2, 4), array(2, 3)])
    assert [x.name for x in model._static._of("predict").inputs] == ["a", "b"]


def test_layers_see_the_mode(static):
    """Code that asks for ``training`` takes the way of each program, and batches may be tensors of a loader."""

    class Asks(nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(4, 3)

        def forward(self, x):
            return self.inner(x) * (2.0 if self.training else 1.0)

    model = prepared(adam, Asks())
    loader = paddle.io.DataLoader(Samples(4), batch_size=4)
    one = np.concatenate([p for (p,) in [model.predict_batch(batch(4)[0])]])
    trained = model.train_batch(*batch(4))[0]
    assert model.mode == "train" and model.evaluate(loader, verbose=0)["loss"][0] != trained
    with paddle.base.dygraph.guard():
        loss = nn.functional.cross_entropy(paddle.to_tensor(2 * one), paddle.to_tensor(batch(4)[1][0]))
        np.testing.assert_allclose(loss.numpy(), trained, 1e-6)


def test_dynamic_mode_again():
    """A model of static mode runs after ``disable_static``."""
    paddle.enable_static()
    with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        model = prepared(adam)
    paddle.disable_static()
    (first,) = model.train_batch(*batch(6))
    assert model.eval_batch(*batch(6))[0] != first
    assert paddle.in_dynamic_mode()


def test_refusals(static):
    with pytest.raises(ValueError, match=r"\[Model\] requires inputs in static mode, got None"):
        paddle.Model(nn.Linear(4, 3))
    model = prepared(adam)
    with pytest.raises(ValueError, match="requires a step for each batch in static mode, got update=False"):
        model.train_batch(*batch(4), update=False)
    with pytest.raises(ValueError, match="requires accumulate_grad_batches 1 in static mode, got 2"):
        model.fit(Samples(), verbose=0, accumulate_grad_batches=2)
    with pytest.raises(ValueError, match="requires 1 inputs, as it was told, got 2"):
        model.predict_batch([array(2, 4), array(2, 4)])
    with pytest.raises(ValueError, match="requires losses that are tensors of one element"):
        prepared(adam, loss=nn.CrossEntropyLoss(reduction="none"))
    with pytest.raises(RuntimeError, match="requires a model prepared with an optimizer and a loss"):
        paddle.Model(nn.Linear(4, 3), SPEC([None, 4])).train_batch(*batch(4))
