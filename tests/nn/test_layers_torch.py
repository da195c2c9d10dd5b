"""Every layer against its counterpart in PyTorch: results, gradients of inputs and parameters, running statistics."""

import inspect
import math

import numpy as np
import pytest
import torch
from layer_rows import BUFFERS, ROWS, renamed

import api_surface
import paddle
from paddle import nn

CASES = [pytest.param(row, id=f"{name}-{i}") for name, rows in ROWS.items() for i, row in enumerate(rows)]


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def seeded(results, weigh):
    """A number that depends on each element of the floating results differently."""
    total = 0.0
    for r in results:
        if r.dtype in (torch.float32, paddle.float32):
            total = (
                total
                + (r * weigh(np.cos(np.arange(math.prod(r.shape), dtype=np.float32)).reshape(tuple(r.shape)))).sum()
            )
    return total


def drawn(row, rng):
    """Parameters that differ from each other and from what they usually start as; running variances are positive."""
    layer = row.make()
    values = {}
    for name, p in layer.named_parameters():
        positive = name.endswith("_variance")
        values[name] = rng.uniform(0.5 if positive else -1.0, 1.5 if positive else 1.0, p.shape).astype(np.float32)
    values = row.prepare(values) if row.prepare else values
    for name, p in layer.named_parameters():
        p.set_value(paddle.to_tensor(values[name]))
    return layer


def of_peer(row, layer):
    """The peer's module or function, and its parameters by name, with the values of ours."""
    peer = row.peer()
    if not isinstance(peer, torch.nn.Module):
        mine = {name: torch.from_numpy(p.numpy().copy()) for name, p in layer.named_parameters()}
        for name, p in layer.named_parameters():
            mine[name].requires_grad_(not p.stop_gradient)
        return (lambda *inputs: peer(*inputs, **mine)), mine, mine
    if not row.train:
        peer.eval()
    theirs = {name.replace("inner.", ""): p for name, p in (*peer.named_parameters(), *peer.named_buffers())}
    values = renamed(layer, lambda p: p.numpy().copy())
    if isinstance(peer, torch.nn.Sequential) and not isinstance(layer, nn.Sequential):
        theirs = {name.split(".", 1)[-1]: p for name, p in theirs.items()}  # a step before the module itself
    theirs = {name: p for name, p in theirs.items() if name != "num_batches_tracked"}
    if set(theirs) - set(values):  # running values of a norm without parameters of its own
        assert set(theirs) - set(values) <= set(BUFFERS.values()), set(theirs) ^ set(values)
    assert set(values) <= set(theirs), set(theirs) ^ set(values)
    with torch.no_grad():
        for name, value in values.items():
            theirs[name].copy_(torch.from_numpy(value).reshape(theirs[name].shape))
    return peer, theirs, values


@pytest.mark.parametrize("row", CASES)
def test_layer(row, rng, close):
    layer = drawn(row, rng)
    layer.train() if row.train else layer.eval()
    peer, theirs, _ = of_peer(row, layer)
    mine, other = [], []
    for value in row.inputs:
        if isinstance(value, tuple):
            array = rng.uniform(row.low, row.high, value).astype(np.float32)
            mine.append(paddle.to_tensor(array, stop_gradient=False))
            other.append(torch.from_numpy(array.copy()).requires_grad_(True))
        elif isinstance(value, np.ndarray):
            mine.append(paddle.to_tensor(value))
            other.append(torch.from_numpy(value.astype(np.int64) if value.dtype == np.int32 else value.copy()))
        else:
            mine.append(value)
            other.append(value)
    masked = row.layer.startswith(("TransformerDecoder", "TransformerEncoder")) and len(mine) == 1
    results, expected = listed(layer(*mine)), listed(peer(*other))
    assert not masked or len(results) == 1
    assert len(results) == len(expected)
    for i, (r, e) in enumerate(zip(results, expected)):
        assert list(r.shape) == list(e.shape), f"result {i}"
        close(r.numpy(), e.detach().numpy(), row.rtol, row.atol, f"result {i}")
    ours, peers = seeded(results, paddle.to_tensor), seeded(expected, torch.from_numpy)
    if ours.stop_gradient:
        assert not peers.requires_grad
        return
    ours.backward()
    peers.backward()
    for part in peer.modules() if isinstance(peer, torch.nn.Module) else ():
        if hasattr(part, "settle"):
            part.settle()
    for i, (m, o) in enumerate(zip(mine, other)):
        if isinstance(o, torch.Tensor) and o.requires_grad:
            assert m.grad is not None, f"gradient of input {i}"
            close(m.grad.numpy(), o.grad.numpy(), row.rtol, row.atol, f"gradient of input {i}")
    gradients = renamed(layer, lambda p: np.zeros(p.shape, np.float32) if p.grad is None else p.grad.numpy())
    for name, gradient in gradients.items():
        if theirs[name].requires_grad:
            assert theirs[name].grad is not None or not gradient.any(), name
            if theirs[name].grad is not None:
                e = theirs[name].grad.numpy()
                close(gradient.reshape(e.shape), e, row.rtol, row.atol, f"gradient of {name}")
    after = renamed(layer, lambda p: p.numpy())
    for name, value in after.items():
        e = theirs[name].detach().numpy()
        close(value.reshape(e.shape), e, row.rtol, row.atol, f"{name} after the call")


# Families that stand in tests of their own, and bases.
ELSEWHERE = {
    "losses": lambda name: "Loss" in name,
    "recurrent layers": lambda name: name in RECURRENT,
    "bases": lambda name: name in ("Layer", "Module"),
}
RECURRENT = (
    "BeamSearchDecoder BiRNN GRU GRUCell LSTM LSTMCell RNN RNNCellBase SimpleRNN SimpleRNNCell dynamic_decode".split()
)
NO_LAYERS = "ClipGradByGlobalNorm ClipGradByNorm ClipGradByValue Parameter".split()


def test_every_layer_has_a_row():
    """Other names of a layer count with it."""
    compared = {getattr(nn, name) for name in ROWS}
    without = [
        entry.name
        for entry in api_surface.read()["paddle.nn"]
        if getattr(nn, entry.name, None) not in compared
        and entry.name not in NO_LAYERS
        and not any(belongs(entry.name) for belongs in ELSEWHERE.values())
    ]
    assert not without, f"no row for {without}"
    assert all(inspect.isclass(c) and issubclass(c, nn.Layer) for c in compared)
