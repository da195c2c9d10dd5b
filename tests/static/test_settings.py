"""Averages, seeds, places and switches of static programs; what static functions say in dynamic mode."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import static
from paddle.static import Executor, data

X = np.random.RandomState(0).standard_normal((4, 3)).astype("float32")


def averaged(programs, thres=False):
    """The parameter in each step, and the averages that are applied then."""
    main, startup = programs
    loss = static.nn.fc(data("x", [None, 3]), 1, bias_attr=False).mean()
    paddle.optimizer.SGD(0.5).minimize(loss)
    steps = static.create_global_var([1], 0, "int64", persistable=True) if thres else None
    if thres:
        paddle.increment(steps)
    ema = static.ExponentialMovingAverage(0.8, steps)
    ema.update()
    exe = Executor()
    exe.run(startup)
    scope, (p,) = static.global_scope(), main.all_parameters()
    values, averages = [], []
    for _ in range(4):
        exe.run(main, {"x": X})
        values.append(np.array(scope.find_var(p.name)))
        with ema.apply(exe):
            averages.append(np.array(scope.find_var(p.name)))
        np.testing.assert_array_equal(np.array(scope.find_var(p.name)), values[-1])
    with ema.apply(exe, need_restore=False):
        pass
    np.testing.assert_array_equal(np.array(scope.find_var(p.name)), averages[-1])
    ema.restore(exe)
    np.testing.assert_array_equal(np.array(scope.find_var(p.name)), values[-1])
    return values, averages


@pytest.mark.parametrize("thres", [False, True])
def test_averages_of_parameters(thres, programs):
    values, averages = averaged(programs, thres)
    average, product = np.zeros_like(values[0]), 1.0
    for t, (value, applied) in enumerate(zip(values, averages, strict=True), 1):
        decay = min(0.8, (t + 1) / (t + 10)) if thres else 0.8
        average, product = decay * average + (1 - decay) * value, product * decay
        np.testing.assert_allclose(applied, average / (1 - product), rtol=1e-5)


def test_averages_are_no_part_of_copies_for_evaluation(programs):
    main, _ = programs
    static.nn.fc(data("x", [None, 3]), 1)
    before = main.num_ops()
    static.ExponentialMovingAverage(0.5).update()
    assert main.num_ops() > before
    assert main.clone(for_test=True).num_ops() == before


def test_averages_are_recorded_before_they_are_applied(programs):
    with pytest.raises(RuntimeError, match=r"update\(\) records"), static.ExponentialMovingAverage().apply(Executor()):
        pass
    with pytest.raises(ValueError, match="a decay in"):
        static.ExponentialMovingAverage(1.0)


def test_a_program_with_a_seed_draws_the_same_in_every_run(programs):
    main, startup = programs
    main.random_seed = 3
    x = paddle.rand([4])
    w = static.create_parameter([8], "float32", default_initializer=paddle.nn.initializer.Normal())
    startup.random_seed = 4
    exe = Executor()
    found = []
    for seed in (0, 1):
        paddle.seed(seed)
        exe.run(startup)
        found.append([np.array(static.global_scope().find_var(w.name)), *exe.run(main, fetch_list=[x])])
        follows = paddle.get_rng_state() if hasattr(paddle, "get_rng_state") else None
        del follows
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)
    assert main.clone().random_seed == 3
    main.random_seed = 0
    assert not np.array_equal(exe.run(main, fetch_list=[x])[0], found[0][1])
    with pytest.raises(ValueError, match="an int of 0 or more"):
        main.random_seed = -1


def test_runs_with_a_seed_leave_other_streams_alone(programs):
    main, _ = programs
    x = paddle.rand([4])
    exe = Executor()
    drawn = []
    for seed in (0, 9):
        main.random_seed = seed
        with paddle.base.dygraph.guard():
            paddle.seed(1)
        if seed:
            exe.run(main, fetch_list=[x])
        with paddle.base.dygraph.guard():
            drawn.append(paddle.rand([4]).numpy())
    np.testing.assert_array_equal(*drawn)


def test_layers_of_one_name_share_a_parameter(programs):
    main, startup = programs
    x = data("x", [None, 3])
    ys = [static.nn.fc(x, 2, weight_attr="shared", bias_attr=False) for _ in range(2)]
    ys.append(paddle.nn.Linear(3, 2, weight_attr=paddle.ParamAttr(name="shared"), bias_attr=False)(x))
    assert [p.name for p in main.all_parameters()] == ["shared"]
    exe = Executor()
    exe.run(startup)
    first, *rest = exe.run(main, {"x": X}, ys)
    for y in rest:
        np.testing.assert_array_equal(y, first)
    with pytest.raises(ValueError, match="as the program has it"):
        static.nn.fc(x, 3, weight_attr="shared", bias_attr=False)


def test_weights_as_lengths_and_directions_are_of_static_layers(programs):
    x = data("x", [None, 3])
    normed = static.WeightNormParamAttr(dim=1)
    with pytest.raises(TypeError, match=r"Layers of paddle\.static\.nn"):
        paddle.nn.Linear(3, 2, weight_attr=normed)
    with pytest.raises(ValueError, match="a dim of the weight"):
        static.nn.fc(x, 2, weight_attr=static.WeightNormParamAttr(dim=2))
    with pytest.raises(TypeError, match="an int or None as dim"):
        static.WeightNormParamAttr(dim="0")


def test_programs_write_to_parameters(programs):
    main, startup = programs
    w = static.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
    (g,) = static.gradients((w * w).sum(), [w])
    paddle.assign(w - g * 0.25, w)
    assert not w.stop_gradient
    exe = Executor()
    exe.run(startup)
    assert [exe.run(main, fetch_list=[w])[0].tolist() for _ in range(2)] == [[0.5, 0.5], [0.25, 0.25]]
    w.set_value(np.full(2, 8.0, "float32"))
    assert exe.run(main, fetch_list=[w])[0].tolist() == [4.0, 4.0]


def second_order(build, value):
    """Values, first and second derivatives, in a program and eagerly."""

    def orders(x, gradient):
        y = build(x)
        (first,) = gradient(y, x)
        (second,) = gradient(first, x)
        return [y, first, second]

    x = data("x", [None])
    x.stop_gradient = False
    recorded = orders(x, lambda y, x: static.gradients(y, [x]))
    got = Executor().run(feed={"x": value}, fetch_list=recorded)
    with paddle.base.dygraph.guard():
        eager = paddle.to_tensor(value, stop_gradient=False)
        wanted = [y.numpy() for y in orders(eager, lambda y, x: paddle.grad(y, [x], create_graph=True))]
    return got, wanted


def loop(x):
    i = paddle.zeros([1], "int64")
    return static.nn.while_loop(lambda i, v: i < 3, lambda i, v: [i + 1, v * x + paddle.sin(x)], [i, x * x])[1].sum()


def branch_in_a_loop(x):
    def body(i, v):
        return [i + 1, static.nn.cond(v.sum() > 1, lambda: v * v * x, lambda: paddle.exp(v) + x)]

    return static.nn.while_loop(lambda i, v: i < 2, body, [paddle.zeros([1], "int64"), x * 0.5])[1].sum()


def loop_in_a_branch(x):
    return static.nn.cond(x.sum() > 0, lambda: loop(x), lambda: (x**4).sum())


def branch_in_a_second_branch(x):
    def inner():
        return static.nn.cond(x.max() > 1, lambda: (x * x).sum(), lambda: (x**3).sum())

    return static.nn.cond(x.sum() > 0, lambda: (x * 2).sum(), inner) + x.prod()


@pytest.mark.parametrize("build", [loop, branch_in_a_loop, loop_in_a_branch, branch_in_a_second_branch])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_second_derivatives_through_branches_and_loops(build, sign, programs):
    got, wanted = second_order(build, np.array([0.5, 0.8], "float32") * np.float32(sign))
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)


def test_places():
    assert static.cpu_places(2) == [paddle.CPUPlace()] * 2
    if not paddle.is_compiled_with_cuda():
        with pytest.raises(AssertionError, match="a backend for 'gpu'"):
            static.cuda_places()
    if not paddle.is_compiled_with_xpu():
        with pytest.raises(AssertionError, match="a backend for 'xpu'"):
            static.xpu_places()
    for device in ("tpu", "cpu:x", 3):
        with pytest.raises(ValueError, match="a device of"), static.device_guard(device):
            pass
    for prefix, error in (("a/b", ValueError), ("", ValueError), (1, TypeError)):
        with pytest.raises(error), static.name_scope(prefix):
            pass


def test_the_number_of_host_places_is_that_of_the_environment(monkeypatch):
    monkeypatch.setenv("CPU_NUM", "3")
    assert len(static.cpu_places()) == 3


@pytest.mark.parametrize("name", ["IpuStrategy", "IpuCompiledProgram", "ipu_shard_guard", "set_ipu_shard"])
def test_there_are_no_ipus(name):
    with pytest.raises((RuntimeError, ValueError), match="a backend for IPUs"):
        made = getattr(static, name)(*([print] if name == "set_ipu_shard" else []))
        with made:
            pass


def test_switches_of_builds_are_checked():
    strategy = static.BuildStrategy()
    strategy.memory_optimize = True
    strategy.reduce_strategy = static.BuildStrategy.ReduceStrategy.Reduce
    strategy.mkldnn_enabled_op_types.add("matmul")
    assert static.BuildStrategy().mkldnn_enabled_op_types == set()
    for name, value in (("fuse_bn_act_ops", 1), ("num_trainers", True), ("reduce_strategy", 1), ("trainer_id", "0")):
        with pytest.raises(TypeError, match=f"for {name}"):
            setattr(strategy, name, value)
    with pytest.raises(AttributeError, match="a switch of"):
        strategy.fuse_everything = True
    with pytest.raises(TypeError, match="a Program"):
        static.CompiledProgram(strategy)
    with pytest.raises(TypeError, match="a BuildStrategy or None"):
        static.CompiledProgram(static.Program(), build_strategy=True)


STATIC_ONLY = {
    "data": lambda: data("x", [1]),
    "fc": lambda: static.nn.fc(paddle.ones([1, 2]), 2),
    "append_backward": lambda: static.append_backward(paddle.ones([1])),
    "gradients": lambda: static.gradients(paddle.ones([1]), paddle.ones([1])),
    "create_global_var": lambda: static.create_global_var([1], 0.0, "float32"),
    "ExponentialMovingAverage": lambda: static.ExponentialMovingAverage(),
    "auc": lambda: static.auc(paddle.ones([1, 2]), paddle.ones([1, 1], "int64")),
    "ctr_metric_bundle": lambda: static.ctr_metric_bundle(paddle.ones([1, 1]), paddle.ones([1, 1])),
    "Print": lambda: static.Print(paddle.ones([1])),
    "static_pylayer": lambda: static.nn.static_pylayer(lambda x: x, [paddle.ones([1])]),
    "nce": lambda: static.nn.nce(paddle.ones([1, 2]), paddle.ones([1, 1], "int64"), 3),
    "row_conv": lambda: static.nn.row_conv(paddle.ones([1, 2, 2]), 1),
    "sequence_pool": lambda: static.nn.sequence_pool(paddle.ones([1, 2]), "sum"),
    "sequence_conv": lambda: static.nn.sequence_conv(paddle.ones([1, 2, 2]), 1),
    "serialize_program": lambda: static.serialize_program([paddle.ones([1])], [paddle.ones([1])]),
}


@pytest.mark.parametrize("name", STATIC_ONLY)
def test_static_functions_say_what_they_need(name):
    with pytest.raises(RuntimeError, match=rf"\[{name}\] requires static mode.*enable_static"):
        STATIC_ONLY[name]()
