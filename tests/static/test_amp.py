"""Mixed precision of static programs."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.static import Executor, amp, data

X = np.random.RandomState(0).standard_normal((6, 4)).astype("float32")


def dtypes(program, name):
    """The dtypes of the results of all calls of an op."""
    return [o.results[0].meta.dtype.name for o in program._tracer.builder.program.ops if o.name == name]


def network(x):
    weights = paddle.nn.initializer.Constant(0.1)
    hidden = paddle.nn.functional.relu(paddle.nn.Linear(4, 8, weight_attr=weights)(x))
    return (paddle.nn.Linear(8, 1, weight_attr=weights)(hidden) ** 2).mean()


def trained(programs, optimizer, feeds):
    main, startup = programs
    loss = network(data("x", [None, 4]))
    decorated = amp.decorate(*optimizer[0], **optimizer[1])
    decorated.minimize(loss)
    exe = Executor()
    exe.run(startup)
    return [exe.run(main, {"x": x}, [loss])[0].item() for x in feeds], main.state_dict("param"), decorated


def test_a_step_that_is_left_out_changes_nothing_and_is_not_counted(programs):
    feeds = [X, X * 1e20, X, X]
    optimizer = paddle.optimizer.Adam(0.1)
    losses, weights, _ = trained(programs, ((optimizer,), {"init_loss_scaling": 64.0}), feeds)
    assert not np.isfinite(losses[1])
    assert {state.steps for state in optimizer._states.values()} == {3}
    with paddle.base.dygraph.guard():
        layers = [paddle.nn.Linear(4, 8), paddle.nn.Linear(8, 1)]
        for layer in layers:
            layer.weight.set_value(np.full(layer.weight.shape, 0.1, "float32"))
            layer.bias.set_value(np.zeros(layer.bias.shape, "float32"))
        eager = paddle.optimizer.Adam(0.1, parameters=[p for layer in layers for p in layer.parameters()])
        for x in (X, X, X):
            with paddle.amp.auto_cast(dtype="float16"):
                loss = (layers[1](paddle.nn.functional.relu(layers[0](paddle.to_tensor(x)))) ** 2).mean()
            (loss * 64.0).backward()
            for p in eager._parameter_list:
                p.grad = p.grad / 64.0
            eager.step()
            eager.clear_grad()
        expected = [p.numpy() for layer in layers for p in (layer.weight, layer.bias)]
    assert len(weights) == 4
    for a, b in zip(weights.values(), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)


def test_products_are_computed_in_the_narrow_type_and_variables_keep_theirs(programs):
    main, _ = programs
    x = data("x", [None, 4])
    y = paddle.matmul(x, x.transpose([1, 0]))
    z = paddle.exp(y)
    names = amp.cast_model_to_fp16(main, use_fp16_guard=False, dest_type="bfloat16", level="O1")
    assert names == set()
    assert dtypes(main, "matmul") == ["bfloat16"]
    assert dtypes(main, "exp") == ["float32"]
    assert y.dtype is paddle.float32
    got = Executor().run(main, {"x": X}, [y, z])
    assert [g.dtype for g in got] == ["float32", "float32"]
    with paddle.base.dygraph.guard():
        narrow = paddle.to_tensor(X).astype("bfloat16")
        expected = paddle.matmul(narrow, narrow.transpose([1, 0])).astype("float32").numpy()
    np.testing.assert_array_equal(got[0], expected)
    np.testing.assert_allclose(got[1], np.exp(expected), rtol=1e-5)


def test_casts_are_chosen_by_lists_guards_and_names(programs):
    main, _ = programs
    x = data("x", [4, 4])
    first = paddle.matmul(x, x)
    with amp.fp16_guard():
        second = paddle.matmul(first, x)
    second.name = "second"
    main._tracer.names["second"] = second
    paddle.matmul(second, x)

    def after(**kwargs):
        copied = main.clone()
        amp.cast_model_to_fp16(copied, dest_type="bfloat16", level="O1", **kwargs)
        return dtypes(copied, "matmul")

    assert after(use_fp16_guard=False) == ["bfloat16"] * 3
    lists = amp.AutoMixedPrecisionLists(custom_black_list=["matmul"], dtype="bfloat16")
    assert after(use_fp16_guard=False, amp_lists=lists) == ["float32"] * 3
    lists = amp.AutoMixedPrecisionLists(custom_black_varnames=["second"], dtype="bfloat16")
    assert after(use_fp16_guard=False, amp_lists=lists) == ["bfloat16", "bfloat16", "float32"]
    amp.cast_model_to_fp16(main, dest_type="bfloat16")
    assert dtypes(main, "matmul") == ["float32", "bfloat16", "float32"]


def test_level_o2_casts_what_is_on_no_list(programs):
    main, _ = programs
    x = data("x", [None, 4])
    for level, expected in (("O1", "float32"), ("O2", "bfloat16")):
        copied = main.clone()
        with paddle.static.program_guard(copied):
            paddle.static.data(f"x{level}", [None, 4]) * 3.0
        amp.cast_model_to_fp16(copied, use_fp16_guard=False, dest_type="bfloat16", level=level)
        assert dtypes(copied, "mul") == [expected]
    assert x.dtype is paddle.float32


def test_both_orders_of_arguments():
    sgd = paddle.optimizer.SGD(0.1, parameters=[paddle.create_parameter([1], "float32")])
    newer = amp.decorate(sgd, None, "O2", "bfloat16")
    assert newer._settings["level"] == "O2" and newer._settings["init_loss_scaling"] == 65536.0
    assert not newer._dynamic
    older = amp.decorate(sgd, None, 128.0, 10)
    assert older._settings["init_loss_scaling"] == 128.0 and older._settings["incr_every_n_steps"] == 10
    assert older._dynamic and older._settings["level"] == "O1"
    pure = amp.decorate(sgd, use_pure_fp16=True)
    assert pure._settings["level"] == "O2" and pure._settings["use_amp_guard"] is True
    assert newer.get_lr() == 0.1  # the optimizer's own


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (TypeError, "an optimizer", {}),
        (TypeError, "options of", {"speed": 1}),
        (ValueError, "level 'O0', 'O1'", {"level": "O7"}),
        (ValueError, "incr_ratio above 1", {"incr_ratio": 1.0}),
        (ValueError, "of at least 1", {"incr_every_n_steps": 0}),
        (TypeError, "AutoMixedPrecisionLists or None", {"amp_lists": {"matmul"}}),
    ],
)
def test_what_is_refused(error, message, arguments):
    sgd = paddle.optimizer.SGD(0.1, parameters=[paddle.create_parameter([1], "float32")])
    with pytest.raises(error, match=message):
        amp.decorate(*([sgd] if arguments else []), **arguments)


def test_lists_do_not_overlap():
    with pytest.raises(ValueError, match="do not overlap"):
        amp.CustomOpLists(custom_white_list=["exp"], custom_black_list=["exp"])


def test_parameters_are_rounded_in_their_scope(programs):
    main, startup = programs
    network(data("x", [None, 4]))
    Executor().run(startup)
    before = main.state_dict("param")
    name = next(k for k, v in before.items() if v.any())
    amp.cast_parameters_to_fp16(paddle.CPUPlace(), main, to_fp16_var_names={name}, dest_type="bfloat16")
    after = main.state_dict("param")
    for k, v in after.items():
        rounded = (before[k].view("uint32") + 0x8000 & 0xFFFF0000).view("float32") if k == name else before[k]
        np.testing.assert_array_equal(v, rounded)


def test_a_copy_for_evaluation_is_cast_if_it_is_asked_for(programs):
    main, startup = programs
    loss = network(data("x", [None, 4]))
    test = main.clone(for_test=True)
    decorated = amp.decorate(paddle.optimizer.SGD(0.1), level="O2", dtype="bfloat16")
    decorated.minimize(loss)
    exe = Executor()
    exe.run(startup)
    assert dtypes(test, "linear") == ["float32"] * 2
    decorated.amp_init(exe.place, test_program=test, use_fp16_test=True)
    assert dtypes(test, "linear") == ["bfloat16"] * 2
    wide = exe.run(main.clone(for_test=True), {"x": X}, [loss])[0]
    np.testing.assert_allclose(exe.run(test, {"x": X}, [loss])[0], wide, rtol=2e-2)


def test_level_o0_casts_nothing(programs):
    x = data("x", [None, 2])
    loss = paddle.nn.Linear(2, 1)(x).mean()
    optimizer = amp.decorate(paddle.optimizer.SGD(0.1), level="O0", init_loss_scaling=8.0)
    optimizer.minimize(loss)
    executor = Executor()
    executor.run(paddle.static.default_startup_program())
    optimizer.amp_init(paddle.CPUPlace())
    assert not any("float16" in str(op) for op in paddle.static.default_main_program().global_block().ops)
    feed = {"x": np.ones([2, 2], "float32")}
    first, second = (executor.run(feed=feed, fetch_list=[loss])[0] for _ in range(2))
    np.testing.assert_allclose(second, first - 0.1 * 3, rtol=1e-5)  # the gradient of each weight and the bias is 1
    assert executor.run(feed=feed, fetch_list=[optimizer.get_loss_scaling()])[0] == 8.0
