"""Sizes that data decide, in programs that run: values and gradients are those of eager calls, for all data."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.inference import Config, create_predictor
from paddle.static import Executor, data
from paddle.static.nn import cond, while_loop
from umiak.compiler.control_flow import Piece
from umiak.core.call_program import CallProgram

RNG = np.random.RandomState(0)
# Of several sizes; of the last nothing is above 0.
ROWS = [RNG.standard_normal((n, 3)).astype("float32") for n in (4, 2, 5)] + [-np.ones((3, 3), "float32")]


def lengths(x):
    return (x[:, 0].abs() * 3).astype("int64") + 1


def written(x):
    y = x * 1
    y[y > 0] = (y[y > 0] * 2).detach()
    return y


def in_a_loop(x):
    def step(i, total):
        number = i.astype("float32")
        return i + 1, total + ((x * (number + 1))[x > number - 1] ** 2).sum()

    return while_loop(lambda i, total: i < 3, step, [paddle.zeros([], "int64"), paddle.zeros([])])[1]


FAMILIES = {
    "nonzero": lambda x: paddle.nonzero(x > 0),
    "nonzero, by axis": lambda x: paddle.nonzero(x > 0, as_tuple=True),
    "mask": lambda x: x[x > 0] * 2,
    "mask of rows": lambda x: x[x.sum(1) > 0] @ x[0],
    "two masks": lambda x: x[x > 0] * x[x > 0],
    "masks that differ": lambda x: paddle.concat([x[x > 0], x[x < 0]]),
    "masked_select": lambda x: paddle.masked_select(x, x > 0).sum(),
    "gather at nonzero": lambda x: paddle.gather_nd(x, paddle.nonzero(x > 0)),
    "softmax of what is left": lambda x: F.softmax(x[x[:, 0] > 0], 1),
    "unique": lambda x: paddle.unique(x.round(), return_inverse=True, return_counts=True),
    "unique rows": lambda x: paddle.unique((x > 0).astype("int64"), axis=0),
    "unique_consecutive": lambda x: paddle.unique_consecutive((x > 0).astype("int32")),
    "sequence_mask": lambda x: F.sequence_mask(lengths(x)),
    "repeat_interleave": lambda x: paddle.repeat_interleave(x, lengths(x), 0),
    "bincount": lambda x: paddle.bincount(lengths(x)),
    "one_hot": lambda x: F.one_hot(lengths(x), lengths(x).max() + 1),
    "arange": lambda x: paddle.arange(lengths(x).max()),
    "range of floats": lambda x: paddle.arange(x.min(), x.max(), 0.25),
    "range down": lambda x: paddle.arange(x.max(), -3, -0.5),
    "range of floats, as integers": lambda x: paddle.arange(0, x.abs().max() * 3, dtype="int32"),
    "closed range of floats": lambda x: paddle.range(-2, x.max(), x.abs().max()),
    "linspace": lambda x: paddle.linspace(x.min(), x.max(), lengths(x).max()),
    "linspace of integers": lambda x: paddle.linspace(0, lengths(x).max(), 4, "int64"),
    "logspace": lambda x: paddle.logspace(x.min(), 1, 4, base=lengths(x).max()),
    "histogramdd": lambda x: paddle.histogramdd(x, 2)[0],
    "histogram_bin_edges": lambda x: paddle.histogram_bin_edges(x, 3),
    "full": lambda x: paddle.full([lengths(x).max(), 2], 3.0),
    "reshape": lambda x: paddle.reshape(x[x > 0], [(x > 0).sum(), 1]),
    "expand": lambda x: paddle.expand(x.sum(), [(x > 0).sum(), 2]),
    "slice": lambda x: x[: lengths(x).min()],
    "topk": lambda x: paddle.topk(x, paddle.minimum(lengths(x).min(), paddle.to_tensor(3)), 1)[0],
    "take_along_axis": lambda x: paddle.take_along_axis(x, (x[x[:, 0] > 0] > 0).astype("int64"), 1, False),
    "take_along_axis of all": lambda x: paddle.take_along_axis(x, (x[x[:, 0] < 9] > 0).astype("int64"), 1, False),
    "put_along_axis": lambda x: paddle.put_along_axis(
        x, (x[x[:, 0] > 0] > 0).astype("int64"), x * 2, 1, "add", broadcast=False
    ),
    "segments": lambda x: paddle.geometric.segment_sum(x, paddle.cumsum((x[:, 1] > 0).astype("int64"))),
    "matrix_rank": lambda x: paddle.linalg.matrix_rank(x),
    "multi_dot": lambda x: paddle.linalg.multi_dot([x[0], x.t(), x]),
    "out": lambda x: paddle.matmul(x[x[:, 0] > 0], x[0], out=paddle.zeros([2])),
    "out of several": lambda x: paddle.median(x, dim=1, out=(paddle.zeros([2]), paddle.zeros([2], "int64"))),
    "write at a mask": written,
    "cond": lambda x: cond(x.sum() > 0, lambda: (x[x > 0] ** 2).sum(), lambda: x.sum()),
    "cond, ways of other sizes": lambda x: cond(x.sum() > 0, lambda: x[x > 0] * 3, lambda: (x * x)[0]),
    "cond in a cond": lambda x: cond(
        x.sum() > 0, lambda: cond(x[0, 0] > 0, lambda: x[x > 0] * 2, lambda: x[0]) * 2, lambda: x[:, 0]
    ),
    "while_loop": in_a_loop,
}  # fmt: skip


def results(function, x):
    """Results of a function, and the gradient of the sum of their squares."""
    found = function(x)
    found = list(found) if isinstance(found, (list, tuple)) else [found]
    open_ends = [y for y in found if y.is_floating_point() and not y.stop_gradient]
    if not open_ends:
        return found
    loss = sum((y**2).sum() for y in open_ends)
    return found + (paddle.grad(loss, [x]) if paddle.in_dynamic_mode() else paddle.static.gradients(loss, [x]))


def eagerly(function, array):
    with paddle.base.dygraph.guard():
        x = paddle.to_tensor(array, stop_gradient=False)
        return [y.numpy() for y in results(function, x)]


def fed(shape=(None, 3)):
    x = data("x", list(shape))
    x.stop_gradient = False
    return x


@pytest.mark.parametrize("name", FAMILIES)
def test_eager_calls(programs, name):
    main, _ = programs
    made = results(FAMILIES[name], fed())
    for array in ROWS:
        for a, b in zip(eagerly(FAMILIES[name], array), Executor().run(main, {"x": array}, made), strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_second_derivatives_and_equal_numbers(programs):
    main, _ = programs
    x = fed()
    kept = x[x > 0]
    (first,) = paddle.static.gradients((kept**3).sum(), [x])
    (second,) = paddle.static.gradients((first * x[x > 0].sum()).sum(), [x])
    assert [o.type for o in main.global_block().ops].count("read_number") == 2  # of two masks, each read once
    (found,) = Executor().run(main, {"x": ROWS[0]}, [second])
    above = np.maximum(ROWS[0], 0)
    np.testing.assert_allclose(found, (6 * above * above.sum() + (3 * above**2).sum()) * (above > 0), rtol=1e-5)


def test_training(programs):
    main, startup = programs

    def loss_of(layer, x):
        y = F.relu(layer(x))
        return (F.dropout(y[y.sum(1) > 0.5], 0.25) ** 2).mean()

    batches = [np.random.standard_normal((n, 4)).astype("float32") for n in (8, 5, 9)]
    with paddle.utils.unique_name.guard():
        loss = loss_of(paddle.nn.Linear(4, 4), data("x", [None, 4]))
        paddle.optimizer.Adam(0.1).minimize(loss)
    exe = Executor()
    paddle.seed(3)
    exe.run(startup)
    found = [exe.run(main, {"x": x}, [loss])[0] for x in batches]
    with paddle.base.dygraph.guard(), paddle.utils.unique_name.guard():
        paddle.seed(3)
        layer = paddle.nn.Linear(4, 4)
        optimizer = paddle.optimizer.Adam(0.1, parameters=layer.parameters())
        for x, before in zip(batches, found, strict=True):
            loss = loss_of(layer, paddle.to_tensor(x))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            np.testing.assert_allclose(loss.numpy(), before, rtol=1e-5)


def test_copies_and_models(programs, tmp_path):
    main, _ = programs
    x = fed()
    made = [x[x > 0] * 2, cond(x.sum() > 0, lambda: x[x[:, 0] > 0], lambda: x[x[:, 1] < 0]), paddle.nonzero(x)]
    exe, prefix = Executor(), str(tmp_path / "m")
    paddle.static.save_inference_model(prefix, [x], made, exe, program=main)
    program, _, fetched = paddle.static.load_inference_model(prefix, exe)
    runs = [(main, made), (main.clone(), made), (main.clone(for_test=True), made), (program, fetched)]
    found = [[exe.run(p, {"x": array}, ys) for array in ROWS] for p, ys in runs]
    with paddle.base.dygraph.guard():
        predictor = create_predictor(Config(prefix + ".json", ""))
        found.append([[y.numpy() for y in predictor.run([paddle.to_tensor(array)])] for array in ROWS])
        seen = []
        predictor.register_output_hook(lambda op, name, x: seen.append(op))
        found.append([[y.numpy() for y in predictor.run([paddle.to_tensor(array)])] for array in ROWS])
    assert "read_number" in seen
    for other in found[1:]:
        for a, b in zip((y for ys in found[0] for y in ys), (y for ys in other for y in ys), strict=True):
            np.testing.assert_array_equal(a, b)


def rows_of_either_way(x):
    ends = x[1:] if x.max() > 1 else paddle.concat([x, x])
    total, rows = 0, x[x[:, 0] > 0]
    while total < len(rows):
        total += 1
    return paddle.concat([ends, rows]), x * total


@pytest.mark.parametrize("function", [rows_of_either_way, FAMILIES["bincount"], FAMILIES["segments"]])
def test_an_executor_runs_functions_that_were_saved(function, tmp_path):
    paddle.jit.save(function, str(tmp_path / "m"), [paddle.static.InputSpec([None, 3], "float32", "x")])
    paddle.enable_static()
    try:
        with paddle.static.scope_guard(paddle.static.Scope()):
            program, _, fetched = paddle.static.load_inference_model(str(tmp_path / "m"), Executor())
            found = [Executor().run(program, {"x": array}, fetched) for array in ROWS]
    finally:
        paddle.disable_static()
    for array, ys in zip(ROWS, found, strict=True):
        wanted = function(paddle.to_tensor(array))
        for a, b in zip(wanted if isinstance(wanted, tuple) else [wanted], ys, strict=True):
            np.testing.assert_allclose(b, a.numpy(), rtol=1e-5, strict=True)


def test_what_a_run_requires_of_data(programs):
    main, _ = programs
    x = fed()
    added, largest = x[x > 0] + x[0], x[x > 0].max()
    exe, feed = Executor(), {"x": np.array([[1, 2, -1], [-1, -1, 4]], "float32")}
    assert exe.run(main, feed, [added])[0].tolist() == [2.0, 4.0, 3.0]
    with pytest.raises(ValueError, match=r"do not broadcast; got s\d+ = 2.*(\n.*)*added, largest = x\[x > 0\]"):
        exe.run(main, {"x": np.eye(2, 3, dtype="float32")}, [added])
    with pytest.raises(ValueError, match=r"requires 1 <= s\d+; got s\d+ = 0.*(\n.*)*added, largest = x\[x > 0\]"):
        exe.run(main, {"x": ROWS[3]}, [largest])


def test_segments_of_rows_that_are_not_counted_yet(programs):
    main, _ = programs
    sums = paddle.geometric.segment_sum(fed(), paddle.to_tensor([0, 0, 1, 2]))
    assert Executor().run(main, {"x": ROWS[0]}, [sums])[0].shape == (3, 3)
    with pytest.raises(ValueError, match="requires x_0 == 4; got x_0 = 2"):
        Executor().run(main, {"x": ROWS[1]}, [sums])


def test_a_way_asks_what_it_needs(programs):
    main, _ = programs
    x = fed()
    y = cond(x.sum() > 0, lambda: x[x > 0] + x[0], lambda: x[0])
    exe = Executor()
    assert exe.run(main, {"x": ROWS[3]}, [y])[0].tolist() == [-1.0] * 3
    with pytest.raises(ValueError, match="do not broadcast"):
        exe.run(main, {"x": np.eye(2, 3, dtype="float32")}, [y])


def test_branches_in_python_on_data(programs):
    main, _ = programs
    x = fed()
    kept = x[x > 0]
    y = kept * 2 if kept.shape[0] > 0 else x
    (found,) = Executor().run(main, {"x": ROWS[0]}, [y])
    np.testing.assert_allclose(found, eagerly(lambda x: x[x > 0] * 2, ROWS[0])[0])
    with pytest.raises(ValueError, match=r"Data decide it: write the branch as paddle.static.nn.cond(.*\n)*.*y = kept"):
        Executor().run(main, {"x": ROWS[3]}, [y])
    with pytest.raises(TypeError, match="known only while the program runs"):
        range((x > 0).sum())


def test_other_programs_are_in_one_piece(programs):
    main, _ = programs
    x = fed()
    mask = x > 0
    for y, count in ((x * 2, 0), (x[mask] * 2, 2), (x[mask] * x[mask], 2), (paddle.unique(x)[:1] + x[mask], 3)):
        Executor().run(main, {"x": ROWS[0]}, [y])
        (prepared,) = main._runs.values()
        main._runs.clear()
        (lowered,) = prepared.run.executor._lowered.values()
        if count:
            assert sum(type(part) is Piece for part in lowered.calls.parts) == count
        else:
            assert type(lowered.calls) is CallProgram
