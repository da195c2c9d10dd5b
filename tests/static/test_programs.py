"""Programs recorded in static mode: they compute what eager calls do, for all sizes, and train."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.static import Executor, data


def normal(*shape, seed=0):
    return np.random.RandomState(seed).standard_normal(shape).astype("float32")


X2, X4 = normal(3, 4), normal(2, 3, 8, 8)

# Functions of inputs whose sizes are all unknown while the program is recorded.
CALLS = {
    "reshape": (lambda x: paddle.reshape(x, [x.shape[0], -1]), X4),
    "reshape to a product": (lambda x: paddle.reshape(x, [0, x.shape[1] * 4, -1]), X4),
    "flatten": (lambda x: paddle.flatten(x, 1), X4),
    "made of sizes": (lambda x: paddle.ones([x.shape[0], 2]) * x[:, :2], X2),
    "transform to as many points": (lambda x: paddle.fft.irfft(paddle.fft.rfft(x), x.shape[-1], -1), X2),
    "transforms to as many points": (lambda x: paddle.fft.irfftn(paddle.fft.rfftn(x) * 2, x.shape), X4),
    "slices": (lambda x: [x[1:, ::2], x[-2:, 0:3:2], x[:-1, -3:]], X2),
    "slice by a size": (lambda x: x[: x.shape[0] - 1], X2),
    "slice backwards": (lambda x: x[::-1, -1], X2),
    "one index": (lambda x: x[1] + x[-1], X2),
    "expand": (lambda x: paddle.expand(x[:, :1], [x.shape[0], 5]), X2),
    "write to a view of what expand leaves as it is": (
        lambda x: [v := x.expand([x.shape[0], x.shape[1]]), v.reshape([1, -1]).scale_(-1.5, 0.5)],
        X2,
    ),
    "arange": (lambda x: paddle.arange(x.shape[0]).astype("float32").unsqueeze(1) * x, X2),
    "shape": (paddle.shape, X2),
    "split": (lambda x: paddle.split(x, 2, axis=1), X2),
    "concat": (lambda x: paddle.concat([x, x * 2], 0), X2),
    "topk": (lambda x: paddle.topk(x, 2)[0], X2),
    "median": (lambda x: paddle.median(x, 1), X2),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), X4),
    "adaptive": (lambda x: F.adaptive_avg_pool2d(x, 1), X4),
    "pad": (lambda x: F.pad(x, [1, 1, 2, 2]), X4),
    "unfold": (lambda x: [F.unfold(x, 3), F.unfold(x, [2, 3], [2, 1], [1, 0], [1, 2])], X4),
    "nearest": (lambda x: [F.interpolate(x, scale_factor=2), F.interpolate(x, size=[3, 11])], X4),
    "bilinear": (
        lambda x: [
            F.interpolate(x, mode="bilinear", **kw)
            for kw in (
                {"scale_factor": 2}, {"scale_factor": 1.5, "align_mode": 1}, {"size": [5, 1], "align_corners": True},
                {"scale_factor": [0.5, 3], "align_corners": True},
            )
        ],
        X4,
    ),
    "bicubic": (
        lambda x: [
            F.interpolate(x, mode="bicubic", **kw)
            for kw in ({"scale_factor": 2}, {"size": [5, 3], "align_corners": True}, {"size": [3, 11]})
        ],
        X4,
    ),
    "interpolated and joined": (lambda x: paddle.concat([F.interpolate(F.max_pool2d(x, 2), scale_factor=2), x], 1), X4),
    "batch_norm": (lambda x: F.batch_norm(x, paddle.zeros([3]), paddle.ones([3]), training=True), X4),
    "nothing, of a shape with a 0": (lambda x: x[:, :0].flatten().reshape([x.shape[0], 0, 2]), X2),
    "layer_norm": (lambda x: F.layer_norm(x, x.shape[-1:]), X2),
    "einsum": (lambda x: paddle.einsum("ij,kj->ik", x, x), X2),
    "cond": (lambda x: paddle.static.nn.cond(x.sum() > 0, lambda: x * 2, lambda: x - 1), X2),
    "while": (
        lambda x: paddle.static.nn.while_loop(
            lambda i, v: i < 3, lambda i, v: [i + 1, v * 2], [paddle.zeros([1], "int64"), x]
        )[1],
        X2,
    ),
}  # fmt: skip


def leaves(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


@pytest.mark.parametrize("case", CALLS)
def test_calls_over_unknown_sizes_are_those_of_eager_mode(case, programs):
    function, x = CALLS[case]
    main, _ = programs
    declared = data("x", [None] * x.ndim)
    fetched = leaves(function(declared))
    exe = Executor()
    for given in (x, np.concatenate([x, x])):
        got = exe.run(main, {"x": given}, fetched)
        with paddle.base.dygraph.guard():
            wanted = [y.numpy() for y in leaves(function(paddle.to_tensor(given)))]
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: F.interpolate(x, scale_factor=2, mode="bicubic", antialias=True),
            "sizes that are declared, for antialias",
        ),
        (lambda x: F.unfold(x, 0), "1 or more"),
    ],
)
def test_calls_that_unknown_sizes_do_not_allow(call, message, programs):
    with pytest.raises(ValueError, match=message):
        call(data("x", [None, 3, None, None]))


def test_a_window_that_does_not_fit_is_refused_in_the_run(programs):
    y = F.unfold(data("x", [1, 1, None, None]), 3)
    with pytest.raises(ValueError, match="a kernel that fits"):
        Executor().run(feed={"x": np.ones([1, 1, 2, 4], "float32")}, fetch_list=[y])


def network(x):
    hidden = paddle.nn.Linear(4, 8, weight_attr=paddle.nn.initializer.Constant(0.1))(x)
    hidden = paddle.nn.BatchNorm1D(8)(F.relu(hidden + normal(8)))
    return paddle.nn.Linear(8, 1, weight_attr=paddle.nn.initializer.Constant(0.2))(hidden)


OPTIMIZERS = {
    "sgd": lambda **kw: paddle.optimizer.SGD(0.1, **kw),
    "schedule": lambda **kw: paddle.optimizer.Momentum(paddle.optimizer.lr.StepDecay(0.1, 2), **kw),
    "clip": lambda **kw: paddle.optimizer.AdamW(0.1, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.5), **kw),
    "decay": lambda **kw: paddle.optimizer.Adam(0.1, weight_decay=0.1, **kw),
    "lamb": lambda **kw: paddle.optimizer.Lamb(0.1, **kw),
}  # fmt: skip
BATCHES = [(normal(n, 4, seed=n), normal(n, 1, seed=9)) for n in (3, 5, 3, 2, 4)]


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_training_is_that_of_eager_mode(kind, programs):
    main, startup = programs
    x, y = data("x", [None, 4]), data("y", [None, 1])
    loss = F.mse_loss(network(x), y)
    optimizer = OPTIMIZERS[kind]()
    operations, pairs = optimizer.minimize(loss)
    assert operations == [] and len(pairs) == 6
    exe = Executor()
    assert exe.run(startup) == []
    losses = []
    for a, b in BATCHES:
        losses.append(exe.run(main, {"x": a, "y": b}, [loss])[0].item())
        if kind == "schedule":
            optimizer._learning_rate.step()
    weights = [v for k, v in main.state_dict("param").items()]
    with paddle.base.dygraph.guard():
        layers = paddle.nn.Sequential(
            paddle.nn.Linear(4, 8, weight_attr=paddle.nn.initializer.Constant(0.1)),
            paddle.nn.BatchNorm1D(8),
            paddle.nn.Linear(8, 1, weight_attr=paddle.nn.initializer.Constant(0.2)),
        )
        eager = OPTIMIZERS[kind](parameters=layers.parameters())
        wanted = []
        for a, b in BATCHES:
            hidden = layers[1](F.relu(layers[0](paddle.to_tensor(a)) + normal(8)))
            eager_loss = F.mse_loss(layers[2](hidden), paddle.to_tensor(b))
            eager_loss.backward()
            eager.step()
            eager.clear_grad()
            wanted.append(float(eager_loss))
            if kind == "schedule":
                eager._learning_rate.step()
        expected = [v.numpy() for v in layers.state_dict().values()]
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    assert len(weights) == len(expected)
    for a, b in zip(
        sorted(weights, key=lambda v: (v.shape, v.sum())), sorted(expected, key=lambda v: (v.shape, v.sum()))
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_copy_for_evaluation_neither_trains_nor_draws(programs):
    main, startup = programs
    x, y = data("x", [None, 4]), data("y", [None, 1])
    out = F.dropout(network(x), 0.5)
    loss = F.mse_loss(out, y)
    early = main.clone(for_test=True)
    paddle.optimizer.Adam(0.1).minimize(loss)
    late, whole = main.clone(for_test=True), main.clone()
    exe = Executor()
    exe.run(startup)
    feed = {"x": BATCHES[0][0], "y": BATCHES[0][1]}
    before = {k: v.copy() for k, v in main.state_dict().items()}
    first = exe.run(early, {"x": feed["x"]}, [out])[0]  # labels are not needed
    np.testing.assert_array_equal(exe.run(late, feed, [out.name])[0], first)
    for k, v in main.state_dict().items():
        np.testing.assert_array_equal(v, before[k])
    weight = before["linear_0.w_0"]
    hidden = np.maximum(feed["x"] @ weight + normal(8), 0) / np.sqrt(np.float32(1 + 1e-5))
    np.testing.assert_allclose(first, hidden @ before["linear_1.w_0"], rtol=1e-5)
    exe.run(whole, feed, [loss])  # trains the same parameters
    assert not np.array_equal(main.state_dict()["linear_0.w_0"], weight)
    assert not np.array_equal(exe.run(early, feed, [out])[0], first)


def test_dropout_in_a_branch_is_not_copied_for_evaluation(programs):
    main, _ = programs
    x = data("x", [None])
    paddle.static.nn.cond(x.sum() > 0, lambda: F.dropout(x, 0.5), lambda: x)
    for program in (main, main.clone()):
        with pytest.raises(RuntimeError, match="inside of a branch or loop body"):
            program.clone(for_test=True)


def test_gradients_of_any_order(programs):
    main, _ = programs
    x = data("x", [None])
    x.stop_gradient = False
    orders = [x**4]
    for _ in range(4):
        orders.append(paddle.static.gradients(orders[-1], x)[0])
    (weighted,) = paddle.static.gradients([x**2, x**3], [x], target_gradients=[x * 0 + 2.0, None])
    unused = data("unused", [1])
    unused.stop_gradient = False
    assert paddle.static.gradients(orders[0], [unused]) == [None]
    v = np.array([1.0, 2.0, -3.0], "float32")
    got = Executor().run(main, {"x": v}, [*orders, weighted])
    for a, b in zip(got, [v**4, 4 * v**3, 12 * v**2, 24 * v, 24 + 0 * v, 4 * v + 3 * v**2], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_scopes_have_values_of_their_own_and_names_share_them(programs):
    main, startup = programs
    x = data("x", [None, 2])
    loss = paddle.nn.Linear(2, 1)(x).sum()
    paddle.optimizer.SGD(0.5).minimize(loss)
    exe, feed = Executor(), {"x": np.ones([1, 2], "float32")}
    with pytest.raises(
        RuntimeError, match=r"a value for 'linear_0.w_0' in the scope, got none. Run the startup program"
    ):
        exe.run(main, feed)
    paddle.seed(3)
    exe.run(startup)
    first = paddle.static.global_scope().find_var("linear_0.w_0")
    begin = np.array(first.get_tensor())
    other = paddle.static.Scope()
    paddle.seed(3)
    exe.run(startup, scope=other)
    exe.run(main, feed, scope=other)
    np.testing.assert_array_equal(np.array(first), begin)
    np.testing.assert_allclose(np.array(other.find_var("linear_0.w_0")), begin - 0.5)
    exe.run(startup, scope=other)  # draws anew
    assert not np.array_equal(np.array(other.find_var("linear_0.w_0")), begin)
    # A second program with parameters of the same names.
    again = paddle.static.Program()
    with paddle.utils.unique_name.guard(), paddle.static.program_guard(again, paddle.static.Program()):
        y = paddle.nn.Linear(2, 1, bias_attr=False)(data("x", [None, 2]))
    first.set(np.full([2, 1], 3.0, "float32"))
    assert exe.run(again, feed, [y])[0].item() == 6.0
    with pytest.raises(ValueError, match="an array of shape"):
        first.set(np.ones(3))
    clash = paddle.static.Program()
    with paddle.utils.unique_name.guard(), paddle.static.program_guard(clash, paddle.static.Program()):
        y = paddle.nn.Linear(3, 1)(data("x", [None, 3]))
    with pytest.raises(ValueError, match="of another program"):
        exe.run(clash, {"x": np.ones([1, 3], "float32")}, [y])


def test_a_startup_program_makes_values_of_names_that_another_program_has(programs):
    def network_of(n, dtype="float32"):
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.utils.unique_name.guard(), paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [None, 6], dtype)
            w = paddle.create_parameter([6, n], dtype, attr="w")
            return startup, main, x @ w, {"x": np.ones([2, 6], dtype)}

    exe = Executor()
    for scope in (paddle.static.global_scope(), paddle.static.Scope()):
        nets = [network_of(8), network_of(3), network_of(3, "float64")]
        for n in (0, 1, 2, 1, 0):
            startup, main, y, feed = nets[n]
            before = None if scope.find_var("w") is None else np.array(scope.find_var("w"))
            for _ in range(2):
                exe.run(startup, scope=scope)
                now = np.array(scope.find_var("w"))
                assert now.shape == (6, y.shape[1])
                assert before is None or before.shape != now.shape or not np.array_equal(before, now)
                (found,) = exe.run(main, feed, [y], scope=scope)
                np.testing.assert_allclose(found, feed["x"] @ now, rtol=1e-5)
                before = now
            for other in nets:
                if other is not nets[n]:
                    with pytest.raises(ValueError, match="of another program"):
                        exe.run(other[1], other[3], [other[2]], scope=scope)


def test_state_dicts_bring_values_back(programs):
    main, startup = programs
    x = data("x", [None, 4])
    loss = network(x).sum()
    paddle.optimizer.Adam(0.1).minimize(loss)
    exe, feed = Executor(), {"x": BATCHES[0][0]}
    exe.run(startup)
    exe.run(main, feed)
    kept = {k: v.copy() for k, v in main.state_dict().items()}
    assert set(main.state_dict("param")) | set(main.state_dict("opt")) == set(kept)
    assert "linear_0.w_0_moment1_0" in main.state_dict("opt")
    exe.run(main, feed)
    main.set_state_dict(kept)
    for k, v in main.state_dict().items():
        np.testing.assert_array_equal(v, kept[k])
    with pytest.raises(ValueError, match="'all', 'param' or 'opt'"):
        main.state_dict("weights")


def test_variables_that_are_kept(programs):
    main, startup = programs
    count = paddle.static.create_global_var([1], 2, "int64", persistable=True, name="count")
    paddle.assign(count + 1, count)
    exe = Executor()
    exe.run(startup)
    assert [exe.run(main, fetch_list=["count"])[0].item() for _ in range(3)] == [3, 4, 5]
    assert exe.run(main.clone(for_test=True), fetch_list=[count])[0].item() == 6
    exe.run(startup)
    assert exe.run(main, fetch_list=[count], return_numpy=False)[0].item() == 3


@pytest.mark.parametrize("shape", [[2], [None], [-1, 2], []])
def test_an_input_that_is_declared_again(shape, programs):
    main, _ = programs
    first, again = data("x", shape), data("x", [None if n == -1 else n for n in shape])
    x = np.ones([n if n and n > 0 else 3 for n in shape], "float32")
    np.testing.assert_array_equal(Executor().run(main, {"x": x}, [first + 2 * again])[0], 3 * x)
    for sizes, dtype in (([*shape, 1], "float32"), (shape, "int64")):
        with pytest.raises(ValueError, match="another name than that of the input 'x'"):
            data("x", sizes, dtype)
    paddle.assign(first + 1, first)
    with pytest.raises(ValueError, match="written to"):
        data("x", shape)


def test_the_spec_of_a_variable(programs):
    x = data("x", [None, 2, -1], "int64")
    for spec in (paddle.static.InputSpec.from_tensor(x), paddle.static.InputSpec(x.shape, "int64", "x")):
        assert (list(spec.shape), spec.dtype, spec.name) == ([-1, 2, -1], paddle.int64, "x")


CONSTANTS = {
    "numbers": (lambda: paddle.to_tensor([1.0, 2.0]), [1.0, 2.0]),
    "one number": (lambda: paddle.to_tensor(3), 3),
    "assign": (lambda: paddle.assign(np.eye(2, dtype="int64")), [[1, 0], [0, 1]]),
    "sizes": (lambda: paddle.shape(paddle.ones([2, 3])), [2, 3]),
    "no elements": (lambda: paddle.empty([3, 0]), [[], [], []]),
    "made by NumPy": (lambda: paddle.fft.rfftfreq(5), [0.0, 0.2, 0.4]),
    "indices": (lambda: paddle.tril_indices(2, 2, 0), [[0, 1, 1], [0, 0, 1]]),
}


@pytest.mark.parametrize("case", CONSTANTS)
def test_constants_that_no_call_reads_are_fetched(case, programs, tmp_path):
    main, _ = programs
    make, expected = CONSTANTS[case]
    x, constant = data("x", [2]), make()
    y = x * 2
    exe, feed = Executor(), {"x": np.ones(2, "float32")}
    for program in (main, main.clone(for_test=True)):
        found = exe.run(program, feed, [constant, y])
        np.testing.assert_allclose(found[0], expected, rtol=1e-6)
        np.testing.assert_array_equal(found[1], [2.0, 2.0])
    paddle.static.save_inference_model(str(tmp_path / "m"), [x], [y, constant], exe)
    loaded, names, fetched = paddle.static.load_inference_model(str(tmp_path / "m"), exe)
    np.testing.assert_allclose(exe.run(loaded, {names[0]: feed["x"]}, fetched)[1], expected, rtol=1e-6)


def test_a_parameter_of_another_program_is_not_fetched(programs):
    weight = paddle.create_parameter([2], "float32")
    Executor().run(programs[1])
    with pytest.raises(ValueError, match="belongs to another program"):
        Executor().run(paddle.static.Program(), fetch_list=[weight])


@pytest.mark.parametrize("shape", [[], [1], [None]])
def test_a_number_is_fed_for_one_element(shape, programs):
    x = data("x", shape)
    np.testing.assert_array_equal(Executor().run(programs[0], {"x": 2.5}, [x * 2])[0], np.full([1] * len(shape), 5.0))


def test_random_numbers_follow_the_seed(programs):
    main, _ = programs
    x = data("x", [None])
    y = F.dropout(x, 0.5) + paddle.rand([4])
    exe, feed = Executor(), {"x": np.ones(4, "float32")}
    paddle.seed(7)
    first, second = (exe.run(main, feed, [y])[0] for _ in range(2))
    paddle.seed(7)
    np.testing.assert_array_equal(exe.run(main, feed, [y])[0], first)
    assert not np.array_equal(first, second)


def test_mixed_precision_is_recorded(programs):
    main, startup = programs
    x = data("x", [None, 4])
    with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
        y = paddle.nn.Linear(4, 2)(x)
    assert y.dtype == paddle.bfloat16
    Executor().run(startup)
    assert [op.type for op in main.global_block().ops].count("cast") == 3
    assert Executor().run(main, {"x": X2}, [y.astype("float32")])[0].shape == (3, 2)


def test_a_program_grows_between_runs(programs):
    main, _ = programs
    x = data("x", [None])
    exe, feed = Executor(), {"x": np.array([1.0, 2.0], "float32")}
    y = x + 1
    assert exe.run(main, feed, [y])[0].tolist() == [2.0, 3.0]
    z = y * y
    y += 1  # in place
    assert [v.tolist() for v in exe.run(main, feed, [y, z, x])] == [[3.0, 4.0], [4.0, 9.0], [1.0, 2.0]]


def test_what_a_program_shows(programs):
    main, startup = programs
    x = data("x", [None, 4])
    layer = paddle.nn.Linear(4, 2)
    y = layer(x)
    y.name = "scores"
    block = main.global_block()
    assert [op.type for op in block.ops] == ["linear"] and block.ops[0].num_operands() == 3
    assert set(block.vars) == {"x", "linear_0.w_0", "linear_0.b_0", "scores"} and block.var("scores") is y
    assert [p.name for p in main.all_parameters()] == ["linear_0.w_0", "linear_0.b_0"]
    assert "linear(%0, %1, %2)" in str(main) and "uniform" in str(startup)
    assert "name='linear_0.w_0'" in repr(layer.weight)
    with pytest.raises(ValueError, match="the name of a variable"):
        block.var("nothing")
    with pytest.raises(IndexError, match="0: branches"):
        main.block(1)


BAD = {
    "feed missing": (KeyError, r"'y' to be fed, got only \['x'\]", lambda e, m, f, o: e.run(m, {"x": X2}, [o])),
    "feed shape": (
        ValueError, r"'x' fed with shape \[-1, 4\], as it was declared, got \[3, 5\]",
        lambda e, m, f, o: e.run(m, {**f, "x": normal(3, 5)}, [o]),
    ),
    "feed rank": (ValueError, "'x' fed with shape", lambda e, m, f, o: e.run(m, {**f, "x": normal(3)}, [o])),
    "feed dtype": (
        ValueError, "'x' fed as float32, as it was declared, got float64",
        lambda e, m, f, o: e.run(m, {**f, "x": X2.astype("float64")}, [o]),
    ),
    "sizes that do not go together": (
        ValueError, "do not broadcast", lambda e, m, f, o: e.run(m, {**f, "y": normal(2, 4)}, [o])
    ),
    "fetch name": (ValueError, "names of variables .* got 'nothing'", lambda e, m, f, o: e.run(m, f, ["nothing"])),
    "fetch of another program": (
        ValueError, "belongs to another program or to none", lambda e, m, f, o: e.run(paddle.static.Program(), f, [o])
    ),
    "fetch kind": (TypeError, "variables or names in fetch_list, got int", lambda e, m, f, o: e.run(m, f, [3])),
    "program": (TypeError, "a Program, got int", lambda e, m, f, o: e.run(3, f, [o])),
    "feed text": (TypeError, "'x' fed with numbers", lambda e, m, f, o: e.run(m, {**f, "x": "none"}, [o])),
    "feed None": (TypeError, "'x' fed with numbers", lambda e, m, f, o: e.run(m, {**f, "x": None}, [o])),
    "feed ragged": (ValueError, "'x' fed with an array", lambda e, m, f, o: e.run(m, {**f, "x": [[1.0], []]}, [o])),
    "first values": (
        ValueError, r"values of the parameter's shape \[4, 1\] in static mode, got \[4\]",
        lambda e, m, f, o: paddle.create_parameter(
            [4, 1], "float32", default_initializer=paddle.nn.initializer.Assign([1.0, 2.0, 3.0, 4.0])
        ),
    ),
    "feed kind": (TypeError, "a dict as feed", lambda e, m, f, o: e.run(m, [f, f], [o])),
    "branch on data": (TypeError, "known only while the program runs", lambda e, m, f, o: bool(o > 0)),
    "data as numbers": (TypeError, "known only while the program runs", lambda e, m, f, o: o.numpy()),
    "backward": (RuntimeError, "append_backward", lambda e, m, f, o: o.sum().backward()),
    "input twice": (ValueError, "another name than that of the input 'x'", lambda e, m, f, o: data("x", [1])),
    "input name": (TypeError, "a str as name", lambda e, m, f, o: data(3, [1])),
    "input size": (ValueError, "sizes that are ints of at least 0", lambda e, m, f, o: data("z", [-2])),
    "input lod": (ValueError, "lod_level 0", lambda e, m, f, o: data("z", [2], lod_level=1)),
    "target gradients": (
        ValueError, "1 target_gradients, as many as targets", lambda e, m, f, o: paddle.static.gradients(o, o, [o, o])
    ),
    "guard": (TypeError, "requires programs", lambda e, m, f, o: paddle.static.program_guard(3).__enter__()),
    "scope": (TypeError, "a Scope", lambda e, m, f, o: paddle.static.scope_guard(3).__enter__()),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused(case, programs):
    main, _ = programs
    x, y = data("x", [None, 4]), data("y", [None, 4])
    out = x + y
    error, message, call = BAD[case]
    feed = {"x": X2, "y": X2}
    with pytest.raises(error, match=message):
        call(Executor(), main, feed, out)
    np.testing.assert_array_equal(Executor().run(main, feed, [out])[0], X2 + X2)


def test_a_size_that_the_record_relied_on_is_tested(programs):
    main, _ = programs
    x = data("x", [None, 2])
    y = x * 2 if x.shape[0] > 1 else x
    assert Executor().run(main, {"x": np.ones([2, 2], "float32")}, [y])[0].sum() == 8
    with pytest.raises(ValueError, match=r"recorded for sizes with 2 <= x_0"):
        Executor().run(main, {"x": np.ones([1, 2], "float32")}, [y])


def test_data_are_declared_with_the_sizes_of_a_result(programs):
    y = data("x", [None, 4]) * 2.0
    for declared in (data("as", y.shape), data("listed", [*y.shape])):
        assert declared.shape[1] == 4
        (got,) = Executor().run(feed={declared.name: X2[:2]}, fetch_list=[declared + 1.0])
        np.testing.assert_array_equal(got, X2[:2] + 1)


def ones_run(program, y):
    return Executor().run(program, {"x": np.ones(2, "float32")}, [y])[0].tolist()


@pytest.mark.parametrize("depth", [1, 2])
def test_static_mode_is_left_and_entered_inside_of_guards(depth, programs):
    main, _ = programs
    guarded = [paddle.static.Program() for _ in range(depth)]
    with contextlib.ExitStack() as stack:
        for program in guarded:
            stack.enter_context(paddle.static.program_guard(program))
        y = data("x", [2]) * 2
        paddle.disable_static()
        assert (paddle.ones([1]) + 1).item() == 2
        with paddle.static.program_guard(paddle.static.Program()):
            assert (paddle.ones([1]) + 1).item() == 2
        paddle.enable_static()
        assert paddle.static.default_main_program() is guarded[-1]
        z = y + 1
    assert ones_run(guarded[-1], z) == [3.0, 3.0]
    assert paddle.static.default_main_program() is main
    assert ones_run(main, data("x", [2]) + 7) == [8.0, 8.0]


def test_a_guard_that_is_left_in_dynamic_mode(programs):
    program = paddle.static.Program()
    with pytest.raises(KeyError), paddle.static.program_guard(program):
        y = data("x", [2]) * 2
        paddle.disable_static()
        raise KeyError
    assert paddle.in_dynamic_mode()
    assert (paddle.ones([1]) + 1).item() == 2
    paddle.enable_static()
    assert ones_run(program, y) == [2.0, 2.0]


def test_modes_are_left_and_entered():
    assert paddle.in_dynamic_mode()
    paddle.enable_static()
    try:
        paddle.enable_static()  # again: nothing happens
        assert not paddle.in_dynamic_mode() and paddle.framework.in_pir_mode()
        with paddle.base.dygraph.guard():
            assert paddle.in_dynamic_mode() and float(paddle.ones([1])) == 1.0
        assert not paddle.in_dynamic_mode()
        with paddle.base.dygraph.guard(), pytest.raises(RuntimeError, match=r"outside of dygraph\.guard"):
            paddle.disable_static()
    finally:
        paddle.disable_static()
    assert paddle.in_dynamic_mode()
    with pytest.raises(RuntimeError, match="requires static mode"):
        data("x", [1])
    with pytest.raises(AttributeError, match="requires parameters"):
        paddle.optimizer.SGD(0.1)


def test_states_are_copies(programs):
    """Arrays of a state stay as they are when the program goes on training."""
    main, startup = programs
    loss = paddle.create_parameter([2], "float32").sum()
    paddle.optimizer.SGD(0.5).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(startup)
    (state,) = main.state_dict("param").values()
    before = state.tolist()
    exe.run(main)
    assert state.tolist() == before


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("wanted", ["x", "y", "xy"])
def test_paddle_grad_of_some_of_the_data(wanted, create_graph):
    """The others want a gradient as well, and have no part in what is asked for."""
    arrays = {name: np.random.default_rng(k).standard_normal((2, 2)) for k, name in enumerate("xy")}

    def function(x, y):
        v = paddle.matmul(x, y) * x
        named = {"x": x, "y": y}
        return paddle.grad([(v * v).sum()], [named[name] for name in wanted], create_graph=create_graph)

    eager = function(*(paddle.to_tensor(a, stop_gradient=False) for a in arrays.values()))
    main = paddle.static.Program()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(main, paddle.static.Program()):
            data = [paddle.static.data(name, [None, 2], "float64") for name in arrays]
            for x in data:
                x.stop_gradient = False
            found = function(*data)
        results = paddle.static.Executor().run(main, arrays, found)
    finally:
        paddle.disable_static()
    for a, b in zip(results, eager, strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-12)


def test_a_closed_executor_runs_nothing(programs):
    x = data("x", [2])
    executor = Executor()
    assert executor.run(feed={"x": X2[0, :2]}, fetch_list=[x + 1])[0].shape == (2,)
    executor.close()
    executor.close()
    with pytest.raises(RuntimeError, match=r"\[Executor.run\] requires an executor that is open"):
        executor.run(feed={"x": X2[0, :2]}, fetch_list=[x + 1])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "attend",
    [
        F.scaled_dot_product_attention,
        lambda *x, is_causal: F.flash_attention.flash_attention(*x, causal=is_causal)[0],
    ],
)
def test_attention_with_an_open_head_dim(attend, causal, programs):
    q, k = normal(2, 3, 2, 4), normal(2, 3, 2, 4, seed=1)
    open_q, open_k = (data(name, [None, 3, None, None]) for name in "qk")
    open_q.stop_gradient = False
    y = attend(open_q, open_k, open_k, is_causal=causal)
    (g,) = paddle.static.gradients([y.sum()], [open_q])
    found = Executor().run(feed={"q": q, "k": k}, fetch_list=[y, g])
    paddle.disable_static()
    x, z = paddle.to_tensor(q, stop_gradient=False), paddle.to_tensor(k)
    wanted = attend(x, z, z, is_causal=causal)
    wanted.sum().backward()
    np.testing.assert_allclose(found[0], wanted.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], x.grad.numpy(), rtol=1e-5, atol=1e-6)
