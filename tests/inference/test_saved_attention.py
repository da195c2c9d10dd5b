"""Attention in the operators of PaddlePaddle, as files have it, is attention again where it is read: no scores of all
queries and keys are kept.
"""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.inference import Config, create_predictor
from paddle.inference.loading import files_of
from paddle.nn.functional.flash_attention import flash_attention, flash_attn_unpadded
from paddle.static import InputSpec
from umiak.runtime import capture, captured_function

HEADS, DIM, ROWS = 4, 8, 160  # more rows than a tile of keys has
ENDS = np.array([0, 40, 41, 150, ROWS], "int32")
NUMBERS = np.repeat(np.arange(4), np.diff(ENDS)).astype("int32")
BY_DOCUMENT = NUMBERS[:, None] == NUMBERS
FAR = float("-inf")


def packed(q, k, v, ends, **options):
    q, k, v = (x.flatten(0, 1) for x in (q, k, v))
    return flash_attn_unpadded(q, k, v, ends, ends, ROWS, ROWS, DIM**-0.5, training=False, **options)[0].unsqueeze(0)


def spelt(q, k, v, numbers):
    seen = numbers.unsqueeze(1) == numbers.unsqueeze(0)
    q, k, v = (x.transpose([0, 2, 1, 3]) for x in (q, k, v))
    scores = paddle.where(seen, paddle.matmul(q * DIM**-0.5, k, transpose_y=True), FAR)
    return paddle.matmul(F.softmax(scores, -1), v).transpose([0, 2, 1, 3])


def guarded(q, k, v, numbers):
    """Softmax by hand; documents of negative numbers are padding, which sees nothing."""
    i, j = numbers.unsqueeze(1), numbers.unsqueeze(0)
    q, k, v = (x.transpose([0, 2, 1, 3]) for x in (q, k, v))
    scores = paddle.where((i == j) & (j >= 0), paddle.matmul(q, k, transpose_y=True) / DIM**0.5, FAR)
    top = scores.max(-1, keepdim=True)
    weights = paddle.exp(scores - paddle.where(top == FAR, 0.0, top))
    total = weights.sum(-1, keepdim=True)
    return paddle.matmul(weights / paddle.where(total == 0, 1.0, total), v).transpose([0, 2, 1, 3])


def calls(mask, **options):
    return lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, mask(m), training=False, **options)


def same(m):
    return m


def columns(*numbers):
    return np.broadcast_to(np.array(numbers, "int32"), (1, 1, ROWS, len(numbers))).copy()


def causal_columns():
    return (ENDS[1:][NUMBERS])[None, None, :, None].astype("int32")


def both_columns():
    begin, end = ENDS[1:][NUMBERS], ENDS[:-1][NUMBERS]
    return np.stack([begin, end], -1)[None, None].astype("int32")


# name: (call of query, key, value and one more, what that is, whether a run may choose the dense form, key heads)
CASES = {
    "documents": (packed, ENDS, False, HEADS),
    "documents, causal": (lambda *xs: packed(*xs, causal=True), ENDS, False, HEADS),
    "documents, grouped heads": (packed, ENDS, False, 2),
    "flash": (lambda q, k, v, m: flash_attention(q, k, v, training=False)[0], None, False, HEADS),
    "flash, causal": (lambda q, k, v, m: flash_attention(q, k, v, causal=True, training=False)[0], None, False, HEADS),
    "flash, grouped": (lambda q, k, v, m: flash_attention(q, k, v, causal=True, training=False)[0], None, False, 2),
    "one key head": (lambda q, k, v, m: flash_attention(q, k, v, training=False)[0], None, False, 1),
    "causal": (calls(lambda m: None, is_causal=True), None, False, HEADS),
    "added": (calls(same), np.where(BY_DOCUMENT, 0.5, -1e4)[None, None].astype("float32"), False, HEADS),
    "added, of keys": (calls(same), np.where(NUMBERS == 1, 0, FAR)[None, None, None].astype("float32"), False, HEADS),
    "flags": (calls(same), (BY_DOCUMENT & (NUMBERS > 0))[None, None], False, HEADS),
    "flags of keys": (calls(lambda m: m.unsqueeze([0, 1, 2]) > 0), NUMBERS, False, HEADS),
    "document numbers": (calls(lambda m: m.unsqueeze([0, 1, 3]) == m.unsqueeze([0, 1, 2])), NUMBERS, True, HEADS),
    "columns, causal": (lambda q, k, v, m: F.flashmask_attention(q, k, v, m, causal=True), causal_columns(), False, 4),
    "columns, causal, an interval": (
        lambda q, k, v, m: F.flashmask_attention(q, k, v, m, causal=True), columns(30, 90), False, HEADS,
    ),
    "columns": (lambda q, k, v, m: F.flashmask_attention(q, k, v, m, causal=False), both_columns(), False, HEADS),
    "columns, two intervals": (
        lambda q, k, v, m: F.flashmask_attention(q, k, v, m, causal=False), columns(100, 150, 3, 20), False, HEADS,
    ),
    "columns, grouped": (
        lambda q, k, v, m: F.flashmask_attention(q, k, v, m, causal=True),
        np.concatenate([causal_columns(), columns(17)], 1), False, 2,
    ),
    "spelt out": (spelt, NUMBERS, True, HEADS),
    "guarded": (guarded, NUMBERS - 1, True, HEADS),
}  # fmt: skip


class Net(nn.Layer):
    def __init__(self, name):
        super().__init__()
        self.call, self.more, self.may_choose, self.heads = CASES[name]
        self.qkv = nn.Linear(16, (HEADS + 2 * self.heads) * DIM)

    def forward(self, x, more=None):
        rows = self.qkv(x).reshape([x.shape[0], -1, HEADS + 2 * self.heads, DIM])
        q, k, v = paddle.split(rows, [HEADS, self.heads, self.heads], 2)
        return self.call(q, k, v, more)


@pytest.fixture(params=CASES)
def saved(request, tmp_path):
    """A network of one attention, in a file with open sizes, and its operands."""
    paddle.seed(1)
    net = Net(request.param)
    net.eval()
    specs, given = [InputSpec([None, None, 16], "float32", "x")], [paddle.randn([1, ROWS, 16])]
    if net.more is not None:
        open_sizes = [None if n > 4 or i == 0 else n for i, n in enumerate(net.more.shape)]
        specs.append(InputSpec(open_sizes, str(net.more.dtype), "more"))
        given.append(paddle.to_tensor(net.more))
    path = str(tmp_path / "m")
    paddle.jit.save(net, path, specs)
    return net, path, given


def operations(program):
    """Operations that run whatever data say, and those of the branch that a run takes if it can."""
    found = list(program.ops)
    for o in program.ops:
        found += o.regions[0].operations if o.name == "cond" else []
    return found


def check_attention(program, net):
    """One attention, and no value with a number for each query and key but masks that are given."""
    found = operations(program)
    names = [o.name for o in found]
    assert names.count("attention") == 1 and names.count("cond") == net.may_choose, names
    assert not {"softmax", "exp"} & set(names), names
    if net.more is None or np.shape(net.more)[-2:] != (ROWS, ROWS):
        for o in found:
            for x in o.results:
                sizes = [n for n in x.meta.shape if type(n) is not int or n >= ROWS]
                assert len(sizes) == len(set(sizes)), (o, x.meta)


def test_predictor(saved):
    net, path, given = saved
    predictor = create_predictor(Config(*files_of(path)))
    with paddle.no_grad():
        expected = net(*given).numpy()
    for _ in range(3):
        (found,) = predictor.run(given)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)
    check_attention(predictor._run.program, net)


def test_loaded_layer(saved, monkeypatch):
    """Results and gradients of a layer that is trained on."""
    net, path, given = saved
    counts = []
    fuse = capture.fuse_plain_attention
    for module in (capture, captured_function):
        monkeypatch.setattr(module, "fuse_plain_attention", lambda *xs, **more: counts.append(fuse(*xs, **more)))
    loaded = paddle.jit.load(path)
    results = []
    for layer in (net, loaded):
        x = given[0].detach()
        x.stop_gradient = False
        y = layer(x, *given[1:])
        (y * paddle.cos(y)).sum().backward()
        grads = sorted((p.grad for p in layer.parameters()), key=lambda g: g.ndim)
        results.append([y, x.grad, *grads])
    assert counts == [1]
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-4)


class Causal(nn.Layer):
    def __init__(self, masked):
        super().__init__()
        self.masked = masked

    def forward(self, q, k, v, mask=None):
        return F.scaled_dot_product_attention(q, k, v, mask, is_causal=True, training=False)


@pytest.mark.parametrize("masked", [False, True])
def test_causal_attention_of_any_lengths(masked, rng, tmp_path):
    """Lengths of queries and keys are open and differ: query i sees keys up to i, as in eager calls."""
    net, path = Causal(masked), str(tmp_path / "m")
    specs = [InputSpec([None, None, h, DIM], "float32", name) for h, name in ((4, "q"), (2, "k"), (2, "v"))]
    if masked:
        specs.append(InputSpec([None, 1, None, None], "float32", "mask"))
    net.eval()
    paddle.jit.save(net, path, specs)
    predictor = create_predictor(Config(*files_of(path)))
    for queries, keys in ((5, 5), (ROWS, ROWS), (3, 7), (200, 150), (1, 9), (4, 1), (0, 3)):
        shapes = [(2, queries, 4, DIM), (2, keys, 2, DIM), (2, keys, 2, DIM), (2, 1, queries, keys)]
        given = [paddle.to_tensor(rng.standard_normal(s).astype("float32")) for s in shapes[: 3 + masked]]
        (found,) = predictor.run(given)
        q, k, v = (x.numpy().astype("float64").transpose(0, 2, 1, 3) for x in given[:3])
        scores = q @ np.repeat(k, 2, 1).swapaxes(-1, -2) / DIM**0.5 + (given[3].numpy() if masked else 0)
        scores = np.where(np.tri(queries, keys, dtype=bool), scores, FAR)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        expected = weights / weights.sum(-1, keepdims=True) @ np.repeat(v, 2, 1)
        np.testing.assert_allclose(found.numpy(), expected.transpose(0, 2, 1, 3), rtol=1e-4, atol=1e-5)
    assert [o.name for o in operations(predictor._run.program)].count("attention") == 1


@pytest.fixture
def fused(monkeypatch):
    """Programs that were captured, and how many fusions there were."""
    found = []
    fuse = captured_function.fuse_plain_attention

    def noted(program, **more):
        found.append((program, fuse(program, **more)))
        return found[-1][1]

    monkeypatch.setattr(captured_function, "fuse_plain_attention", noted)
    return found


class Masked(nn.Layer):
    def forward(self, q, k, v, mask=None):
        return F.scaled_dot_product_attention(q, k, v, mask, training=False)


def loaded(net, shapes, rng, path):
    """A layer that was saved and loaded, and operands, with which it gives what it gave."""
    given = [paddle.to_tensor(rng.standard_normal(s).astype("float32")) for s in shapes]
    net.eval()
    paddle.jit.save(net, path, [InputSpec(list(s), "float32", n) for s, n in zip(shapes, "qkvm", strict=False)])
    layer = paddle.jit.load(path)
    with paddle.no_grad():
        np.testing.assert_allclose(layer(*given).numpy(), net(*given).numpy(), rtol=1e-5, atol=1e-6)
    return layer, given


@pytest.mark.parametrize("rows", [64, 65])  # positions of the first are elements that are known, as those of sizes are
def test_positions_of_few_rows(rows, rng, tmp_path, fused):
    """A causal mask is known as such, so no branch on data chooses."""
    loaded(Causal(False), [(1, rows, 4, DIM)] * 3, rng, str(tmp_path / "m"))
    ((program, count),) = fused
    assert count == 1 and "cond" not in [o.name for o in program.ops]


@pytest.mark.parametrize("masks", [[], [(2, 1, 1, 9)]], ids=["all", "mask"])
def test_one_query(masks, rng, tmp_path, fused):
    """A step of a decoder is one operation with any number of keys, where no gradient is wanted."""
    shapes = [(2, 1, 4, DIM), (2, 9, 4, DIM), (2, 9, 4, DIM), *masks]
    layer, given = loaded(Masked(), shapes, rng, str(tmp_path / "m"))
    assert [count for _, count in fused] == [1]
    given[0].stop_gradient = False
    layer(*given).sum().backward()
    assert [count for _, count in fused] == [1, 0]
