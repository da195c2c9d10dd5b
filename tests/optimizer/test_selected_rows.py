"""Gradients of tables of which few rows were used."""

import functools

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle import optimizer as O
from paddle.jit.sot.psdb import breakgraph
from paddle.nn import functional as F
from umiak.core.optimizer_step import write_rows
from umiak.runtime.selected_rows import SelectedRows


def table(rows=5, width=2, dtype="float32", **options):
    layer = nn.Embedding(rows, width, sparse=True, **options)
    layer.weight.set_value(paddle.to_tensor(np.linspace(-1, 1, rows * width, dtype="float32").reshape(rows, width)))
    return layer if dtype == "float32" else layer.to(dtype=dtype)


def look_up(layer, *ids):
    weights = paddle.to_tensor(np.linspace(1.0, 2.0, layer.weight.shape[1], dtype="float32"))
    return (layer(paddle.to_tensor(ids)).astype("float32") * weights).sum()


def test_what_a_gradient_is():
    layer = table()
    look_up(layer, 1, 1, 3).backward()
    g = layer.weight.grad
    assert g.is_selected_rows() and not g.is_dense() and not g.is_sparse() and g.stop_gradient
    assert g.shape == [3, 2] and g.rows() == [1, 1, 3] and g.get_selected_rows().height() == 5
    np.testing.assert_array_equal(g.numpy(), [[1, 2]] * 3)
    assert not g.value().is_selected_rows()
    np.testing.assert_array_equal(g.get_tensor().numpy(), g.numpy())
    merged = g.merged()
    assert merged.rows() == [1, 3]
    np.testing.assert_array_equal(merged.numpy(), [[2, 4], [1, 2]])
    np.testing.assert_array_equal(g.to_dense().numpy(), [[0, 0], [2, 4], [0, 0], [1, 2], [0, 0]])
    assert "rows=[1, 1, 3]" in repr(g)
    half = g / 2
    assert half.rows() == g.rows() and half.numpy()[0].tolist() == [0.5, 1.0]
    assert (2 * g.astype("float64")).dtype == paddle.float64 and (-g).numpy()[0, 0] == -1
    assert g.clone().rows() == [1, 1, 3] and g.detach().is_selected_rows()
    for wrong in (lambda: paddle.exp(g), lambda: g * paddle.ones([3, 2]), lambda: 1.0 / g, lambda: g + 1.0):
        with pytest.raises(TypeError, match="to_dense"):
            wrong()


def test_accumulation():
    layer = table()
    look_up(layer, 1, 3).backward()
    look_up(layer, 3, 0).backward()
    assert layer.weight.grad.rows() == [1, 3, 3, 0]
    sparse = layer.weight.grad.to_dense().numpy()
    (layer.weight * 2).sum().backward()
    assert not layer.weight.grad.is_selected_rows()
    np.testing.assert_array_equal(layer.weight.grad.numpy(), sparse + 2)
    look_up(layer, 4).backward()  # sparse onto dense
    np.testing.assert_array_equal(layer.weight.grad.numpy()[4], [3, 4])
    layer.weight.clear_grad()
    (look_up(layer, 1) + look_up(layer, 2) + layer.weight.sum()).backward()
    np.testing.assert_array_equal(layer.weight.grad.numpy(), [[1, 1], [2, 3], [2, 3], [1, 1], [1, 1]])
    layer.clear_gradients()
    assert not layer.weight.grad.numpy().any()
    layer.clear_gradients(False)
    look_up(layer, 1).backward()
    layer.clear_gradients()
    assert layer.weight.grad is None


def test_shapes_paddings_and_dense_ways():
    layer, dense = table(padding_idx=1), nn.Embedding(5, 2, padding_idx=1)
    dense.weight.set_value(layer.weight.detach())
    ids = paddle.to_tensor(np.array([[1, 4], [0, 4]], np.int32))
    for net in (layer, dense):
        (net(ids) ** 2).sum().backward()
    np.testing.assert_array_equal(layer.weight.grad.to_dense().numpy(), dense.weight.grad.numpy())
    assert layer.weight.grad.shape == [4, 2]
    (found,) = paddle.grad(layer(ids).sum(), layer.weight)
    assert found.is_selected_rows()
    # Through a weight that is no leaf, and with history, gradients are dense.
    y = nn.functional.embedding(ids, layer.weight * 1.0, sparse=True)
    (found,) = paddle.grad(y.sum(), layer.weight)
    assert not found.is_selected_rows()
    (found,) = paddle.grad((layer(ids) ** 3).sum(), layer.weight, create_graph=True)
    (second,) = paddle.grad(found.sum(), layer.weight)
    expected = 6 * layer.weight.numpy() * np.array([1, 0, 0, 0, 2])[:, None]
    np.testing.assert_allclose(
        (second.to_dense() if second.is_selected_rows() else second).numpy(), expected, rtol=1e-6
    )
    with paddle.no_grad():
        assert layer(ids).stop_gradient


def test_the_index_may_change_before_the_gradient():
    layer, ids = table(), paddle.to_tensor([1, 3])
    y = layer(ids).sum()
    ids[0] = 0
    y.backward()
    assert layer.weight.grad.rows() == [1, 3]


def test_hooks_and_given_gradients():
    layer, seen = table(), []
    layer.weight.register_hook(lambda g: seen.append(g.is_selected_rows()))
    look_up(layer, 1).backward()
    assert seen == [True]
    g = layer.weight.grad
    layer.weight.grad = g * 3
    assert layer.weight.grad.numpy().tolist() == [[3.0, 6.0]]
    with pytest.raises(ValueError, match="shape"):
        nn.Embedding(4, 2).weight.grad = g


def run(make, sparse, steps=((1, 1, 3), (0, 3), (2,)), clip=None, **options):
    layer = table()
    layer._sparse = sparse
    opt = make(learning_rate=0.1, parameters=layer.parameters(), grad_clip=clip, **options)
    for ids in steps:
        look_up(layer, *ids).backward()
        assert layer.weight.grad.is_selected_rows() is sparse
        opt.step()
        opt.clear_grad()
        assert sparse == (layer.weight.grad is None)
    return layer.weight.numpy().copy(), {k: v.numpy() for k, v in opt.state_dict().items()}


EVERY = [
    "SGD",
    "Momentum",
    "Adam",
    "AdamW",
    "Adamax",
    "Adagrad",
    "Adadelta",
    "RMSProp",
    "Lamb",
    "NAdam",
    "RAdam",
    "ASGD",
    "Rprop",
]


@pytest.mark.parametrize("clip", [None, nn.ClipGradByValue(1.5), nn.ClipGradByNorm(1.0), nn.ClipGradByGlobalNorm(1.0)])
@pytest.mark.parametrize("name", EVERY)
def test_as_with_dense_gradients(name, clip):
    make = getattr(O, name)
    (a, states), (b, others) = (run(make, sparse, clip=clip) for sparse in (True, False))
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
    for one, other in zip(states.values(), others.values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("decay", [0.1, paddle.regularizer.L1Decay(0.1)])
def test_penalties_reach_all_rows(decay):
    (a, _), (b, _) = (run(O.SGD, sparse, weight_decay=decay) for sparse in (True, False))
    np.testing.assert_allclose(a, b, rtol=1e-6)


# Recorded: what Adam(0.1, lazy_mode=True) of the reference framework makes of ones after three steps.
LAZY = [0.9361190795898438, 0.9255865812301636, 0.9418873190879822, 0.8397409319877625, 1.0]


def lazy(ahead):
    """Adam on single rows, with the corrections of a step that is so many ahead."""
    p, m, v = np.ones(5), np.zeros(5), np.zeros(5)
    for t, rows in enumerate(({1: 2.0, 3: 1.0}, {0: 1.0, 3: 1.0}, {2: 1.0}), 1 + ahead):
        for r, g in rows.items():
            m[r], v[r] = 0.9 * m[r] + 0.1 * g, 0.999 * v[r] + 0.001 * g * g
            p[r] -= 0.1 * m[r] / (1 - 0.9**t) / (np.sqrt(v[r] / (1 - 0.999**t)) + 1e-8)
    return p


@pytest.mark.parametrize("make", [O.Adam, O.AdamW])
def test_lazy_mode(make):
    layer = table()
    layer.weight.set_value(paddle.ones([5, 2]))
    options = {"weight_decay": 0.0} if make is O.AdamW else {}
    opt = make(0.1, parameters=layer.parameters(), lazy_mode=True, **options)
    for ids in ((1, 1, 3), (0, 3), (2,)):
        (layer(paddle.to_tensor(ids)) * paddle.to_tensor([1.0, 2.0])).sum().backward()
        opt.step()
        opt.clear_grad()
    np.testing.assert_allclose(layer.weight.numpy(), np.tile(lazy(0)[:, None], 2), rtol=1e-6)
    # The reference framework corrects such steps for one more than there were, unlike those of dense gradients.
    np.testing.assert_allclose(lazy(1), LAZY, rtol=1e-5)


def test_master_weights_of_rows():
    layer = table(dtype="bfloat16")
    opt = O.SGD(1e-3, layer.parameters(), multi_precision=True)
    before = layer.weight.astype("float32").numpy().copy()
    look_up(layer, 1, 1).backward()
    opt.step()
    master = opt._master_weights[layer.weight.name]
    np.testing.assert_allclose(master.numpy()[1], before[1] - 1e-3 * np.array([2.0, 4.0]), rtol=1e-5)
    np.testing.assert_array_equal(
        layer.weight.astype("float32").numpy(), master.astype("bfloat16").astype("float32").numpy()
    )


def test_a_table_and_other_parameters(rng):
    nets = []
    for sparse in (True, False):
        layer, rest = table(), paddle.create_parameter([2], "float32", default_initializer=nn.initializer.Constant(0.5))
        layer._sparse = sparse
        opt = O.AdamW(0.1, parameters=[layer.weight, rest], grad_clip=nn.ClipGradByGlobalNorm(0.7))
        for _ in range(2):
            (layer(paddle.to_tensor([0, 2, 2])) * rest).sum().backward()
            opt.step()
            opt.clear_grad(set_to_zero=False)
        nets.append((layer.weight.numpy(), rest.numpy()))
    for a, b in zip(*nets, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_loss_scaling_and_casts():
    layer = table()
    opt = O.SGD(0.1, layer.parameters())
    scaler = paddle.amp.GradScaler(init_loss_scaling=8.0)
    before = layer.weight.numpy().copy()
    with paddle.amp.auto_cast(dtype="bfloat16", level="O2"):
        loss = look_up(layer, 1)
    scaler.scale(loss).backward()
    assert layer.weight.grad.dtype == paddle.float32
    scaler.step(opt)
    scaler.update()
    np.testing.assert_allclose(layer.weight.numpy()[1], before[1] - 0.1 * np.array([1.0, 2.0]), rtol=1e-5)
    (layer(paddle.to_tensor([1])) * float("inf")).sum().backward()
    before = layer.weight.numpy().copy()
    scaler.step(opt)
    np.testing.assert_array_equal(layer.weight.numpy(), before)


def test_only_touched_rows_are_written():
    """A step of few rows makes nothing of the table's size."""
    layer = nn.Embedding(1000, 64, sparse=True)
    opt = O.Adam(0.1, parameters=layer.parameters(), lazy_mode=True)
    made = []
    for _ in range(2):
        look_up(layer, 1, 999).backward()
        with watched(made):
            opt.step()
        opt.clear_grad()
    assert made
    assert max(made[-8:]) < 1000


def watched(made):
    from umiak.runtime.observe import observe

    return observe(lambda op, operands, params, results: made.extend(int(np.prod(r.shape)) for r in results))


def test_write_rows():
    into, rows = paddle.zeros([4, 2, 3]), paddle.to_tensor([3, 1, 3])
    write_rows(into, rows, paddle.arange(18, dtype="float32").reshape([3, 2, 3]))
    assert (
        into[1].tolist() == [[6, 7, 8], [9, 10, 11]]
        and into[3, 0].tolist() == [12, 13, 14]
        and into[0].sum().item() == 0
    )
    for bad in (
        (into, paddle.to_tensor([4]), paddle.zeros([1, 2, 3])),
        (into, paddle.to_tensor([1]), paddle.zeros([1, 3, 2])),
        (into, paddle.to_tensor([1.0]), paddle.zeros([1, 2, 3])),
        (into.transpose([1, 0, 2]), paddle.to_tensor([1]), paddle.zeros([1, 4, 3])),
    ):
        with pytest.raises((ValueError, IndexError), match="write_rows"):
            write_rows(*bad)
    with pytest.raises(ValueError, match="SelectedRows"):
        SelectedRows(paddle.to_tensor([1]), paddle.zeros([2, 3]), [4, 3])


@pytest.mark.parametrize("full_graph", [False, True])
def test_captured_steps_leave_other_rows_alone(full_graph):
    """A graph has dense gradients; what a step does with rows, and what stays when they are cleared, is the same."""

    def weights(make, set_to_zero, captured):
        layer = table()
        opt = make(0.1, parameters=layer.parameters())

        def step(ids):
            (layer(ids) ** 2).sum().backward()
            (layer(ids + 1) ** 2).sum().backward()
            opt.step()
            opt.clear_grad(set_to_zero)

        run = paddle.jit.to_static(step, full_graph=full_graph) if captured else step
        for ids in ([0, 0], [2, 3], [1, 0]):
            run(paddle.to_tensor(ids))
            assert layer.weight.grad is None
        return layer.weight.numpy()

    for make in (functools.partial(O.AdamW, lazy_mode=True), functools.partial(O.Adam, lazy_mode=True), O.Adam, O.SGD):
        expected = weights(make, True, False)
        for set_to_zero in (True, False):
            np.testing.assert_allclose(weights(make, set_to_zero, True), expected, rtol=1e-6)


def _before_backward(net, opt, ids):
    loss = (net(ids) ** 2).sum()
    breakgraph()
    loss.backward()
    opt.step()
    opt.clear_grad()


def _before_the_step(net, opt, ids):
    ((net(ids) ** 2).sum() + (net(ids + 1) * 3).sum()).backward()
    breakgraph()
    opt.step()
    opt.clear_grad()


def _between_passes(net, opt, ids):
    (net(ids) ** 2).sum().backward()
    breakgraph()
    (net(ids + 1) ** 2).sum().backward()
    opt.step()
    opt.clear_grad(False)


def _with_a_dense_part(net, opt, ids):
    ((net(ids) @ net.weight.T).sum() + net(ids).sum()).backward()
    breakgraph()
    opt.step()
    opt.clear_grad()


@pytest.mark.parametrize("split", [_before_backward, _before_the_step, _between_passes, _with_a_dense_part])
@pytest.mark.parametrize(
    "make", [functools.partial(O.AdamW, lazy_mode=True), functools.partial(O.Adam, lazy_mode=True)]
)
def test_lazy_steps_across_graphs(split, make):
    """Rows that one graph has computed are rows to the next one, and to calls as they were written."""

    def weights(captured):
        layer = table()
        opt = make(0.1, parameters=layer.parameters(), grad_clip=nn.ClipGradByGlobalNorm(0.7))
        run = (
            paddle.jit.to_static(functools.partial(split, layer, opt))
            if captured
            else functools.partial(split, layer, opt)
        )
        for ids in ([0, 0], [2, 3], [1, 0, 2], [1, 0, 2, 2]):
            run(paddle.to_tensor(ids))
        return layer.weight.numpy()

    np.testing.assert_allclose(weights(True), weights(False), rtol=1e-6)


def test_gradients_of_a_captured_layer_are_rows():
    layer, plain = table(), table()
    run = paddle.jit.to_static(lambda ids: layer(ids).sum(-1))
    for ids in ([[4, 1]], [[1, 1]], [[2], [0], [1]]):
        for forward in (run, lambda ids: plain(ids).sum(-1)):
            (forward(paddle.to_tensor(ids)) ** 2).sum().backward()
        assert layer.weight.grad.is_selected_rows()
        assert layer.weight.grad.rows() == plain.weight.grad.rows()
        np.testing.assert_array_equal(layer.weight.grad.value().numpy(), plain.weight.grad.value().numpy())
    # What is no leaf has a history that rows cannot go on in.
    source = paddle.ones([5, 2])
    source.stop_gradient = False
    look_up_in = paddle.jit.to_static(lambda ids, weight: F.embedding(ids, weight, sparse=True))
    for weight in (source * 2, source):
        look_up_in(paddle.to_tensor([3, 3]), weight).sum().backward()
    np.testing.assert_array_equal(source.grad.numpy(), [[0, 0]] * 3 + [[6, 6]] + [[0, 0]])
