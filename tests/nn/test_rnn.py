"""Recurrent layers: against PyTorch with gradients, and what the reference says where PyTorch has nothing alike."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from recurrent_facts import CELLS, FACTS, array, fill, tensor
from samples import assert_close, cases_of, usable

import paddle
from paddle import nn
from umiak import ops as F
from umiak.autodiff import graph
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ir.tracer import trace
from umiak.runtime.executor import Executor

MODES = {"LSTM": (4, 2), "GRU": (3, 1), "SimpleRNN": (1, 1)}  # gates, states


def close(got, want, atol=2e-6):
    if isinstance(got, (tuple, list)):
        assert len(got) == len(want)
        for a, b in zip(got, want):
            close(a, b, atol)
    else:
        np.testing.assert_allclose(got.numpy(), np.array(want), rtol=1e-4, atol=atol)


# --- against PyTorch -------------------------------------------------------------------------------------------------


def pair(name, inputs, hidden, layers, direction, time_major, proj, dtype="float64", activation="tanh"):
    """The same network here and there."""
    both, extra = direction != "forward", ({"proj_size": proj} if proj else {})
    kind = {"activation": activation} if name == "SimpleRNN" else {}
    ours = getattr(nn, name)(inputs, hidden, layers, direction, time_major=time_major, **kind, **extra)
    ours.to(dtype=dtype)
    peer = {"LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU, "SimpleRNN": torch.nn.RNN}[name]
    kind = {"nonlinearity": activation} if name == "SimpleRNN" else {}
    theirs = peer(inputs, hidden, layers, batch_first=not time_major, bidirectional=both, **kind, **extra)
    theirs.to(getattr(torch, dtype))
    with torch.no_grad():
        for (key, p), cell in zip(_peers(theirs), _of_cells(ours)):
            value = cell.numpy()
            p.copy_(torch.from_numpy(value.T if key.startswith("weight_hr") else value))
    return ours, theirs


def _peers(net):
    """Parameters by layer and direction, in the order of our cells'."""
    kinds = ["weight_ih", "weight_hh", "bias_ih", "bias_hh", *(["weight_hr"] if net.proj_size else [])]
    for i in range(net.num_layers):
        for end in ("", "_reverse")[: 2 if net.bidirectional else 1]:
            for kind in kinds:
                yield kind, getattr(net, f"{kind}_l{i}{end}")


def _of_cells(net):
    for row in net._cells:
        for cell in row:
            yield from (w for w in cell._weights if w is not None)


def run_peer(net, x, states, lengths, time_major):
    """PyTorch takes lengths as packed rows, none of them empty."""
    if lengths is None:
        return net(x, states)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        x, torch.tensor(lengths), batch_first=not time_major, enforce_sorted=False
    )
    out, last = net(packed, states)
    steps = x.shape[0 if time_major else 1]
    out, _ = torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=not time_major, total_length=steps)
    return out, last


def compare(name, batch, steps, inputs, hidden, layers, direction, time_major, proj, lengths, given, activation="tanh"):
    ours, theirs = pair(name, inputs, hidden, layers, direction, time_major, proj, activation=activation)
    rng = np.random.default_rng(batch * 31 + steps)
    x = rng.standard_normal((steps, batch, inputs) if time_major else (batch, steps, inputs))
    ways = layers * (1 if direction == "forward" else 2)
    sizes = [proj or hidden, hidden][: MODES[name][1]]
    first = [rng.standard_normal((ways, batch, n)) for n in sizes] if given else []
    mine, peers = ([f(v) for v in (x, *first)] for f in (paddle.to_tensor, torch.from_numpy))
    for v in mine:
        v.stop_gradient = False
    for v in peers:
        v.requires_grad_()
    states = [None if not given else tuple(v[1:]) if len(sizes) > 1 else v[1] for v in (mine, peers)]
    out, last = ours(mine[0], states[0], None if lengths is None else paddle.to_tensor(lengths))
    want, want_last = run_peer(theirs, peers[0], states[1], lengths, time_major)
    got = [out, *(last if isinstance(last, tuple) else (last,))]
    wanted = [want, *(want_last if isinstance(want_last, tuple) else (want_last,))]
    seeds = [rng.standard_normal(tuple(v.shape)) for v in wanted]
    sum((v * paddle.to_tensor(s)).sum() for v, s in zip(got, seeds)).backward()
    sum((v * torch.from_numpy(s)).sum() for v, s in zip(wanted, seeds)).backward()
    got += [v.grad for v in (*mine, *_of_cells(ours))]
    wanted += [v.grad for v in peers]
    wanted += [p.grad.T if key == "weight_hr" else p.grad for key, p in _peers(theirs)]
    assert len(got) == len(wanted)
    for i, (a, b) in enumerate(zip(got, wanted)):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-11, err_msg=f"value {i}")


@pytest.mark.slow
@settings(max_examples=40)
@given(data=st.data())
def test_networks_are_those_of_pytorch(data):
    name = data.draw(st.sampled_from(list(MODES)))
    batch, steps = data.draw(st.integers(1, 19)), data.draw(st.integers(1, 6))
    hidden = data.draw(st.integers(2, 35))
    lengths = data.draw(st.none() | st.lists(st.integers(1, steps), min_size=batch, max_size=batch))
    proj = data.draw(st.integers(0, hidden - 1)) if name == "LSTM" else 0
    compare(
        name,
        batch,
        steps,
        data.draw(st.integers(1, 20)),
        hidden,
        data.draw(st.integers(1, 2)),
        data.draw(st.sampled_from(["forward", "bidirect", "bidirectional"])),
        data.draw(st.booleans()),
        proj,
        lengths,
        data.draw(st.booleans()),
        data.draw(st.sampled_from(["tanh", "relu"])),
    )


@pytest.mark.parametrize(
    "case",
    [
        ("LSTM", 5, 4, 3, 17, 2, "bidirect", False, 6, [4, 1, 3, 4, 2], True),
        ("GRU", 3, 5, 4, 20, 2, "bidirectional", True, 0, [5, 2, 1], False),
        ("SimpleRNN", 9, 3, 7, 33, 1, "forward", False, 0, None, True, "relu"),
    ],
    ids=lambda case: case[0],
)
def test_a_network_of_each_kind(case):
    compare(*case)


@pytest.mark.parametrize("name", MODES)
def test_enough_work_for_threads(name, threads):
    compare(name, 33, 5, 40, 96, 1, "bidirect", True, 0, [5] * 20 + [2] * 13, True)


@pytest.mark.parametrize("name", MODES)
def test_results_do_not_depend_on_threads(name):
    from umiak.runtime import parallel

    net, x = getattr(nn, name)(64, 128), paddle.randn([19, 7, 64])
    found = []
    for count in (1, 2):
        before = parallel.get_num_threads()
        parallel.set_num_threads(count)
        out, _ = net(x)
        out.sum().backward()
        parallel.set_num_threads(before)
        found.append([out.numpy(), net.weight_hh_l0.grad.numpy()])
        net.clear_gradients(set_to_zero=False)
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("ours", "theirs", "states"),
    [
        (lambda: nn.LSTMCell(4, 3), torch.nn.LSTMCell, 2),
        (lambda: nn.GRUCell(4, 3), torch.nn.GRUCell, 1),
        (lambda: nn.SimpleRNNCell(4, 3), torch.nn.RNNCell, 1),
    ],
    ids=["lstm", "gru", "simple"],
)
def test_cells_are_those_of_pytorch(agree, ours, theirs, states):
    cell, peer = ours(), theirs(4, 3)
    with torch.no_grad():
        for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(peer, kind).copy_(torch.from_numpy(getattr(cell, kind).numpy()))

    def one(x, *h):
        out, new = cell(x, h if states == 2 else h[0])
        return (*new,) if states == 2 else (out, new)[1]

    def other(x, *h):
        return peer(x, h if states == 2 else h[0])

    agree(one, other, array(5, 4), *(array(5, 3, k=k) for k in range(states)), rtol=1e-4)


def test_float32_against_pytorch(agree):
    ours, theirs = pair("LSTM", 20, 48, 2, "forward", False, 0, "float32")
    agree(lambda x: ours(x)[0], lambda x: theirs(x)[0], array(17, 9, 20), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_16_bits_are_computed_wider(dtype):
    net = nn.GRU(6, 8)
    want = net(tensor(2, 3, 6))[0].numpy()
    out, last = net.to(dtype=dtype)(tensor(2, 3, 6).astype(dtype))
    assert out.dtype == last.dtype == getattr(paddle, dtype)
    np.testing.assert_allclose(out.astype("float32").numpy(), want, atol=0.03)


def test_autocast_leaves_layers_in_float32():
    net = nn.LSTM(4, 3)
    with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
        out, _ = net(tensor(2, 3, 4))
        out.sum().backward()
    assert out.dtype == net.weight_hh_l0.grad.dtype == paddle.float32


# --- sizes, dropout, programs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODES)
def test_nothing_to_do(name):
    net = getattr(nn, name)(4, 3)
    out, last = net(paddle.zeros([0, 5, 4]))
    assert out.shape == [0, 5, 3]
    first = paddle.ones([1, 2, 3])
    out, last = net(paddle.zeros([2, 0, 4]), (first, first) if name == "LSTM" else first)
    assert out.shape == [2, 0, 3]
    h = last[0] if name == "LSTM" else last
    assert h.tolist() == first.tolist()
    h.sum().backward()
    assert not net.weight_hh_l0.grad.numpy().any()


def test_empty_sequences_leave_states_alone():
    net, first = nn.GRU(4, 3, direction="bidirect"), tensor(2, 3, 3)
    out, last = net(tensor(3, 5, 4), first, paddle.to_tensor([0, 5, 0]))
    assert not out.numpy()[[0, 2]].any()
    np.testing.assert_array_equal(last.numpy()[:, [0, 2]], first.numpy()[:, [0, 2]])


def test_strided_operands():
    net, wide = nn.LSTM(4, 3, time_major=True), tensor(5, 4, 6)
    transposed = wide.transpose([2, 0, 1])
    want = net(paddle.to_tensor(transposed.numpy().copy()))[0].numpy()
    np.testing.assert_array_equal(net(transposed)[0].numpy(), want)


def test_dropout_between_layers_while_training():
    net = nn.GRU(4, 8, num_layers=2, dropout=0.5)
    x = tensor(2, 3, 4)
    assert not np.array_equal(net(x)[0].numpy(), net(x)[0].numpy())
    net.eval()
    np.testing.assert_array_equal(net(x)[0].numpy(), net(x)[0].numpy())
    one = nn.GRU(4, 8, dropout=0.5)
    np.testing.assert_array_equal(one(x)[0].numpy(), one(x)[0].numpy())


@pytest.mark.parametrize("name", MODES)
def test_program_with_its_gradient(name):
    net = getattr(nn, name)(4, 3)
    lengths = paddle.to_tensor([5, 2])
    program = trace(lambda x: (net(x, None, lengths)[0] ** 2).sum(), [Meta((2, 5, 4), dt.float32)])
    program.outputs = [*program.outputs, *graph.backward(program, program.inputs[:1])]
    x = tensor(2, 5, 4)
    loss, grad = Executor(program)(x)
    x.stop_gradient = False
    want = (net(x, None, lengths)[0] ** 2).sum()
    want.backward()
    np.testing.assert_allclose(loss.numpy(), want.numpy(), rtol=1e-6)
    np.testing.assert_allclose(grad.numpy(), x.grad.numpy(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", MODES)
def test_program_is_the_eager_result(name):
    net = getattr(nn, name)(4, 3, direction="bidirect")
    lengths = paddle.to_tensor([5, 2])
    program = trace(lambda x: net(x, None, lengths)[0], [Meta((2, 5, 4), dt.float32)])
    (got,) = Executor(program)(tensor(2, 5, 4))
    np.testing.assert_allclose(got.numpy(), net(tensor(2, 5, 4), None, lengths)[0].numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", ["SimpleRNN", *(pytest.param(n, marks=pytest.mark.slow) for n in ("LSTM", "GRU"))])
def test_second_derivatives_are_those_of_pytorch(name):
    ours, theirs = pair(name, 3, 4, 1, "forward", True, 0)
    x, y = paddle.to_tensor(array(3, 2, 3).astype("float64")), torch.from_numpy(array(3, 2, 3).astype("float64"))
    x.stop_gradient = False
    y.requires_grad_()
    (g,) = paddle.grad((ours(x)[0] ** 2).sum(), [x], create_graph=True)
    (g**2).sum().backward()
    (e,) = torch.autograd.grad((theirs(y)[0] ** 2).sum(), [y], create_graph=True)
    (e**2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-9, atol=1e-12)
    for cell, (_, p) in zip(_of_cells(ours), _peers(theirs)):
        np.testing.assert_allclose(cell.grad.numpy(), p.grad.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize(
    "case", [c for c in cases_of("rnn_grad") if usable(c)], ids=lambda c: f"{c.op.mode} {c.sample.note}"
)
def test_decomposition_of_rnn_grad(case, reverse):
    """What second derivatives are made of, against the kernel."""
    mode, operands = case.op.mode, list(case.operands())
    out, _, *more = F.rnn_train(*operands[:9], mode=mode, reverse=reverse)
    kept = {"lstm": more[1:], "gru": [*more, None]}.get(mode, [None, None])
    operands[9:12] = [out, *kept]
    op = F.REGISTRY["rnn_grad"](mode, reverse)
    found = F.rnn_grad(*operands, mode=mode, reverse=reverse)
    for i, (a, b) in enumerate(zip(found, op.decompose(*operands), strict=True)):
        assert_close(a.numpy(), b.numpy(), f"result {i}", factor=4)


# --- against the reference -------------------------------------------------------------------------------------------

LENGTHS = [2, 4]


@pytest.mark.parametrize(("name", "reverse", "out", "last"), FACTS["wrappers"])
def test_wrapped_cells(name, reverse, out, last):
    net = fill(nn.RNN(CELLS[name](2), is_reverse=reverse))
    close(net(tensor(2, 4, 2), None, paddle.to_tensor(LENGTHS)), [out, last])


@pytest.mark.parametrize(("name", "reverse", "out", "last"), FACTS["wrappers"])
def test_cells_step_by_step(name, reverse, out, last):
    net = fill(nn.RNN(CELLS[name](2), is_reverse=reverse))
    seen = []
    net.cell.register_forward_post_hook(lambda *_: seen.append(0))
    close(net(tensor(2, 4, 2), None, paddle.to_tensor(LENGTHS)), [out, last])
    assert len(seen) == 4


def test_both_ways():
    net = fill(nn.BiRNN(nn.LSTMCell(2, 3), nn.LSTMCell(2, 3)))
    close(net(tensor(2, 4, 2), None, paddle.to_tensor(LENGTHS)), FACTS["birnn"])


@pytest.mark.parametrize(("name", "direction", "out", "last"), FACTS["networks"])
def test_networks(name, direction, out, last):
    kind = {"activation": "relu"} if name == "SimpleRNN" else {}
    net = fill(getattr(nn, name)(2, 3, 2, direction=direction, **kind))
    close(net(tensor(2, 4, 2), None, paddle.to_tensor(LENGTHS, dtype="int32")), [out, last])


def test_projection():
    net = fill(nn.LSTM(2, 3, 2, direction="bidirect", proj_size=2))
    close(net(tensor(2, 4, 2), (tensor(4, 2, 2, k=1), tensor(4, 2, 3, k=2))), FACTS["projected"])


NETWORKS = {
    "LSTM 2 bidirect": lambda: nn.LSTM(3, 4, 2, direction="bidirect"),
    "GRU": lambda: nn.GRU(3, 4),
    "SimpleRNN": lambda: nn.SimpleRNN(3, 4),
    "LSTM proj 2": lambda: nn.LSTM(3, 4, 2, proj_size=2),
    "GRU no bias": lambda: nn.GRU(3, 4, bias_ih_attr=False, bias_hh_attr=False),
    "LSTM no bias_ih": lambda: nn.LSTM(3, 4, weight_ih_attr=False, bias_ih_attr=False),
}


@pytest.mark.parametrize("label", NETWORKS)
def test_names_of_parameters(label):
    found = NETWORKS[label]().state_dict()
    got = [[k, v.name.rsplit(".", 1)[1], list(v.shape), v.stop_gradient] for k, v in found.items()]
    assert got == FACTS["keys"][label]


def test_state_round_trip(tmp_path):
    a, b = (nn.LSTM(3, 4, 2, direction="bidirect") for _ in range(2))
    paddle.save(a.state_dict(), str(tmp_path / "a.pdparams"))
    assert b.set_state_dict(paddle.load(str(tmp_path / "a.pdparams"))) == ([], [])
    c, x = copy.deepcopy(a), tensor(2, 3, 3)
    for other in (b, c):
        np.testing.assert_array_equal(a(x)[0].numpy(), other(x)[0].numpy())
    assert c.weight_ih_l0 is c[0].cell_fw.weight_ih
    assert len(a.parameters()) == 16


# --- cells of others, initial states, refusals -----------------------------------------------------------------------


class Leaky(nn.RNNCellBase):
    """Two states of different shapes, and a keyword."""

    state_shape = ((3,), (2, 2))

    def forward(self, inputs, states, rate=0.5):
        a, b = states
        a = a * rate + inputs
        return {"sum": a, "square": b * b}, (a, b + a[:, :2].unsqueeze(2))


def test_a_cell_of_nested_states():
    x = tensor(2, 4, 3)
    outputs, (a, b) = nn.RNN(Leaky())(x, None, paddle.to_tensor(LENGTHS), rate=0.25)
    assert outputs["sum"].shape == [2, 4, 3]
    assert b.shape == [2, 2, 2]
    v = x.numpy()
    np.testing.assert_allclose(a.numpy()[0], v[0, 0] * 0.25 + v[0, 1], rtol=1e-6)
    np.testing.assert_allclose(outputs["sum"].numpy()[:, 0], v[:, 0], rtol=1e-6)


def test_initial_states():
    cell, x = nn.LSTMCell(4, 3), tensor(2, 7, 4)
    assert [v.shape for v in cell.get_initial_states(x)] == [[2, 3], [2, 3]]
    one = cell.get_initial_states(x, shape=[-1, 5], dtype="float64", init_value=1.5, batch_dim_idx=1)
    assert (one.shape, one.dtype) == ([7, 5], paddle.float64)
    assert one.numpy().min() == 1.5
    many = cell.get_initial_states([x, x], shape=([5], [2, 3]), dtype=("int64", "float32"))
    assert [v.shape for v in many] == [[2, 5], [2, 2, 3]]
    assert many[0].dtype == paddle.int64
    assert (cell.state_shape, nn.GRUCell(4, 3).state_shape) == (((3,), (3,)), (3,))
    projected = nn.LSTMCell(4, 3, proj_size=2)
    assert [v.shape for v in projected(x[:, 0])[1]] == [[2, 2], [2, 3]]


def test_parameters_begin_within_the_bound():
    net = nn.LSTM(8, 100)
    for p in net.parameters():
        assert 0.09 < abs(p.numpy()).max() <= 0.1
    cell = nn.GRUCell(3, 4, weight_hh_attr=False, bias_ih_attr=False)
    assert cell.weight_hh.numpy().min() == 1
    assert cell.bias_ih.stop_gradient
    assert not cell.bias_ih.numpy().any()


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: nn.LSTM(3, 4, direction="left"), ValueError, "direction"),
        (lambda: nn.GRU(3, 0), ValueError, "hidden_size"),
        (lambda: nn.GRU(3, 2, num_layers=0), ValueError, "num_layers"),
        (lambda: nn.LSTMCell(3, 2)(tensor(2, 3), [tensor(2, 2)]), ValueError, "states \\(h, c\\), got 1"),
        (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "proj_size"),
        (lambda: nn.SimpleRNN(3, 4, activation="sigmoid"), ValueError, "activation"),
        (lambda: nn.BiRNN(nn.GRUCell(3, 2), nn.GRUCell(4, 2)), ValueError, "one input size"),
        (lambda: nn.GRU(3, 2)(tensor(2, 4, 3), None, [2, 4]), ValueError, "Tensor"),
        (lambda: nn.LSTM(3, 2)(tensor(2, 4, 3), tensor(1, 2, 2)), ValueError, "2 initial states"),
        (lambda: nn.GRU(3, 2)(tensor(2, 4, 3), tensor(2, 2, 2)), ValueError, "layers"),
        (lambda: nn.GRU(3, 2)(tensor(2, 4, 3), tensor(1, 3, 2)), ValueError, "h0"),
        (lambda: nn.GRU(4, 2)(tensor(2, 4, 3)), ValueError, "w_ih"),
        (lambda: nn.GRU(3, 2)(tensor(4, 3)), ValueError, "rank 3"),
        (lambda: nn.GRUCell(3, 2)(tensor(2, 4, 3)), ValueError, "rank 2"),
        (lambda: nn.RNNCellBase().get_initial_states(tensor(2, 3)), NotImplementedError, "state_shape"),
        (lambda: nn.RNN(Leaky())(paddle.zeros([2, 0, 3])), ValueError, "at least one step"),
    ],
)
def test_refusals(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
