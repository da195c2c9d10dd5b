"""LookAhead and averages of parameters, against values that the reference framework gives."""

import numpy as np
import pytest

import paddle
from paddle import optimizer as O
from paddle.incubate.optimizer import ExponentialMovingAverage, LookAhead, ModelAverage


def parameter(values, name=None, dtype="float64"):
    p = paddle.create_parameter(
        [len(values)], dtype, attr=paddle.ParamAttr(name=name), default_initializer=paddle.nn.initializer.Constant(0.0)
    )
    p.set_value(paddle.to_tensor(values, dtype=dtype))
    return p


def test_look_ahead():
    p = parameter([1.0, 2.0], "la")
    inner = O.SGD(0.1, parameters=[p])
    opt = LookAhead(inner, alpha=0.3, k=3)
    seen = []
    for i in range(8):
        (p * paddle.to_tensor([1.0, 2.0], dtype="float64") * (i + 1)).sum().backward()
        opt.step()
        opt.clear_grad()
        seen.append(p.numpy()[0])
    assert seen == pytest.approx([0.9, 0.7, 0.75, 0.35, -0.15, 0.3, -0.4, -1.2])
    assert list(opt.state_dict()) == ["la_slow_0"]
    assert opt.state_dict()["la_slow_0"].tolist() == pytest.approx([0.3, 0.6])
    assert opt.get_lr() == 0.1
    other = LookAhead(O.SGD(0.1, parameters=[p]), alpha=0.3, k=1)
    other.set_state_dict(opt.state_dict())
    other.step()
    assert p.tolist() == pytest.approx([0.3 + 0.3 * (-1.2 - 0.3), 0.6 + 0.3 * (-2.4 - 0.6)])
    for bad in ((3,), (inner, 1.5), (inner, 0.5, 0)):
        with pytest.raises((TypeError, ValueError), match="LookAhead"):
            LookAhead(*bad)


# The mean after each step, as recorded.
MEANS = [0.9, 0.85, 0.8, 0.65, 0.6, 0.55, 0.4, 0.35, 0.3, 0.25, 0.05, 0.0]


def test_model_average():
    p = parameter([1.0, 2.0], "ma")
    sgd = O.SGD(0.1, parameters=[p])
    average = ModelAverage(0.5, [p], min_average_window=2, max_average_window=4)
    with pytest.raises(RuntimeError, match="step"), average.apply():
        pass
    for i, mean in enumerate(MEANS):
        (p * paddle.to_tensor([1.0, 2.0], dtype="float64")).sum().backward()
        sgd.step()
        average.step()
        sgd.clear_grad()
        before = p.tolist()
        assert before[0] == pytest.approx(0.9 - 0.1 * i)
        with average.apply():
            assert p.tolist() == pytest.approx([mean, 2 * mean], abs=1e-7)
        assert p.tolist() == before
    state = average.state_dict()
    assert sorted(k[3:] for k in state) == [
        "num_accumulates_0", "num_updates_0", "old_num_accumulates_0", "sum_1_0", "sum_2_0", "sum_3_0",
    ]  # fmt: skip
    assert [state[f"ma_{n}_0"].item() for n in ("num_accumulates", "old_num_accumulates", "num_updates")] == [1, 4, 12]
    assert state["ma_sum_3_0"].tolist() == pytest.approx([0.2, 0.4])
    other = ModelAverage(0.5, [p])
    other.set_state_dict(state)
    with other.apply(need_restore=False):
        pass
    assert p.tolist() == pytest.approx([0.0, 0.0], abs=1e-7)
    other.restore()
    assert p.tolist() == before


def test_exponential_moving_average():
    p, q = parameter([1.0, 2.0]), parameter([4.0], dtype="bfloat16")
    ema = ExponentialMovingAverage(0.9, parameters=[p, q])
    value, left = 0.0, 1.0
    for i in range(5):
        p.set_value(paddle.to_tensor([float(i), 2.0], dtype="float64"))
        ema.update()
        value, left = 0.9 * value + 0.1 * i, left * 0.9
    with ema.apply():
        assert p.tolist() == pytest.approx([value / (1 - left), 2.0]) and q.item() == 4.0
        assert q.dtype == paddle.bfloat16
    assert p.tolist() == [4.0, 2.0]
    steps = paddle.to_tensor(0.0)
    slow = ExponentialMovingAverage(0.9, thres_steps=steps, parameters=[p])
    slow.update()
    with slow.apply():
        assert p.tolist() == pytest.approx([4.0, 2.0])
    assert slow._left == pytest.approx(0.1)
    with pytest.raises(ValueError, match="parameters"):
        ExponentialMovingAverage()


@pytest.mark.parametrize("name", ["LookAhead", "ModelAverage"])
def test_what_counts_steps_in_python_counts_them_in_captured_functions(name):
    """It runs between graphs, and one graph refuses it."""

    def trained(capture):
        layer = paddle.nn.Linear(2, 1)
        layer.weight.set_value(np.array([[1.0], [2.0]], "float32"))
        inner = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
        other = (
            paddle.incubate.LookAhead(inner, 0.25, 2)
            if name == "LookAhead"
            else paddle.incubate.ModelAverage(0.5, layer.parameters(), 2, 4)
        )

        def step(x):
            (layer(x) ** 2).mean().backward()
            if name == "ModelAverage":
                inner.step()
            other.step()
            inner.clear_grad()

        function, found = capture(step), []
        for i in range(6):
            function(paddle.to_tensor([[1.0, 0.3 * i]]))
            found.append(layer.weight.numpy())
            if name == "ModelAverage":
                with other.apply():
                    found.append(layer.weight.numpy())
        return found

    np.testing.assert_allclose(trained(paddle.jit.to_static), trained(lambda f: f), rtol=1e-6)
    with pytest.raises(RuntimeError, match=rf"{name}\.step.*counts steps in Python"):
        trained(lambda f: paddle.jit.to_static(f, full_graph=True))
