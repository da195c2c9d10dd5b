"""Tables of models: counts that are exact, and those that the reference framework gives for its standard layers."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

import paddle
from paddle import nn

# What the reference framework says of layers and of two nets.
REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "flops.json").read_text())


class Block(nn.Layer):
    def __init__(self, c):
        super().__init__()
        self.conv = nn.Conv2D(c, c, 3, padding=1)
        self.bn = nn.BatchNorm2D(c)
        self.act = nn.ReLU()
        self.scale = self.create_parameter([c, 1, 1])

    def forward(self, x):
        return self.act(self.bn(self.conv(x))) * self.scale + x


class Convolutions(nn.Layer):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2D(1, 4, 3)
        self.blocks = nn.LayerList([Block(4), Block(4)])
        self.pool = nn.AdaptiveAvgPool2D(1)
        self.shared = nn.Linear(4, 4)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = paddle.flatten(self.pool(x), 1)
        return self.head(self.shared(self.shared(x))), x


# --- flops -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", REFERENCE["layers"], ids=lambda r: f"{r['layer']}{r['args']}{r['kwargs'] or ''}")
def test_standard_layers_count_as_in_the_reference(row):
    layer = getattr(nn, row["layer"])(*row["args"], **row["kwargs"])
    assert paddle.flops(layer, row["shape"]) == row["flops"]


def test_a_net_of_convolutions(capsys):
    want = REFERENCE["nets"]["convolutions"]
    net = Convolutions()
    assert paddle.flops(net, [2, 1, 10, 10], print_detail=True) == want["flops"]
    lines = capsys.readouterr().out.splitlines()
    rows = [re.split(r"\s{2,}", line.strip("| ")) for line in lines if line.startswith("| ") and "block" not in line]
    assert rows[0] == ["Layer Name", "Input Shape", "Output Shape", "Params", "Flops"]
    assert [int(row[-1]) for row in rows[1:]] == want["rows"]
    assert [row[0] for row in rows[1:3]] == [net.stem.full_name(), net.blocks[0].conv.full_name()]
    assert rows[1][1:4] == ["[2, 1, 10, 10]", "[2, 4, 8, 8]", "40"]
    assert lines[-1] == f"Total Flops: {want['flops']}     Total Params: 411"


def test_an_encoder():
    # The reference leaves out attention: per layer, batch and head, two products of 3 × 4 × 3.
    attention = 2 * 2 * 2 * (2 * 3 * 4 * 3)
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    assert paddle.flops(net, [2, 3, 8]) == REFERENCE["nets"]["encoder"]["flops"] + attention


def test_functions_count():
    def net(x, w):
        y = nn.functional.conv2d(x, w, paddle.ones([6]))
        return y.flatten(1) @ paddle.ones([6 * 49, 5]) + y.sum()

    assert paddle.flops(net, [[2, 4, 9, 9], [6, 4, 3, 3]]) == 2 * 6 * 49 * 37 + 2 * 5 * 6 * 49
    assert paddle.flops(lambda x: paddle.matmul(x, x, transpose_x=True), [4, 3]) == 3 * 3 * 4
    assert paddle.flops(lambda x: x.T @ x, [4, 3]) == 3 * 3 * 4


def test_custom_counts(capsys):
    seen = []

    def count(layer, inputs, outputs):
        seen.append((type(layer), inputs[0].shape, outputs.shape))
        layer.total_ops += 7

    net = Convolutions()
    want = REFERENCE["nets"]["convolutions"]["flops"] - 64 - 24 + 3 * 7
    assert paddle.flops(net, [2, 1, 10, 10], custom_ops={nn.Linear: count}) == want
    assert seen == [(nn.Linear, [2, 4], [2, 4])] * 2 + [(nn.Linear, [2, 4], [2, 3])]
    assert not hasattr(net.head, "total_ops")

    def blocks(layer, inputs, outputs):
        layer.total_ops = paddle.to_tensor(100)

    # A layer with layers inside: what they run is not counted.
    assert paddle.flops(net, [2, 1, 10, 10], custom_ops={Block: blocks}) == 5120 + 520 + 88 + 200


def test_counting_leaves_the_net_as_it_was():
    net = Convolutions()
    net.blocks[1].eval()
    paddle.flops(net, [2, 1, 10, 10])
    paddle.summary(net, (2, 1, 10, 10))
    assert net.training
    assert net.blocks[0].bn.training
    assert not net.blocks[1].bn.training
    assert not net.head._forward_post_hooks
    assert not net.head._forward_pre_hooks
    with pytest.raises(ValueError, match="requires"):
        paddle.flops(net, [2, 3, 10, 10])
    assert not net.head._forward_pre_hooks
    assert net.training


def test_wrong_calls():
    with pytest.raises(TypeError, match=r"\[flops\] requires a layer or a function, got int"):
        paddle.flops(3, [2])
    with pytest.raises(TypeError, match=r"\[flops\] requires shapes as input_size, got 'x'"):
        paddle.flops(nn.ReLU(), "x")
    with pytest.raises(ValueError, match=r"\[summary\] requires sizes of at least 1, -1 or None, got \(0, 2\)"):
        paddle.summary(nn.ReLU(), (0, 2))
    with pytest.raises(ValueError, match=r"\[summary\] requires input_size or input, got neither"):
        paddle.summary(nn.ReLU())
    with pytest.raises(TypeError, match=r"\[summary\] requires a layer, got function"):
        paddle.summary(lambda x: x, (2,))
    with pytest.raises(ValueError, match="a dtype for each of 2 inputs, got 1"):
        paddle.summary(nn.ReLU(), [(1,), (2,)], dtypes=["float32"])


# --- summary ---------------------------------------------------------------------------------------------------------


def rows_of(text):
    lines = text.splitlines()
    thick = [i for i, line in enumerate(lines) if line.startswith("===")]
    return [re.split(r"\s{2,}", line.strip()) for line in lines[thick[0] + 1 : thick[1]]]


def test_rows_and_totals(capsys):
    assert paddle.summary(Convolutions(), (2, 1, 10, 10)) == {"total_params": 411, "trainable_params": 395}
    text = capsys.readouterr().out
    rows = rows_of(text)
    assert [row[0] for row in rows] == (
        "Conv2D-1 Conv2D-2 BatchNorm2D-1 ReLU-1 Block-1 Conv2D-3 BatchNorm2D-2 ReLU-2 Block-2 "
        "AdaptiveAvgPool2D-1 Linear-1 Linear-2"
    ).split()
    assert [row[3] for row in rows] == "40 148 16 0 4 148 16 0 4 0 20 15".split()
    assert rows[0] == ["Conv2D-1", "[[2, 1, 10, 10]]", "[2, 4, 8, 8]", "40"]
    for line in ("Total params: 411", "Trainable params: 395", "Non-trainable params: 16"):
        assert line in text


def test_sizes_are_exact(capsys):
    net = nn.Sequential(nn.Linear(1024, 512, bias_attr=False), nn.ReLU())
    paddle.summary(net, (256, 1024))
    text = capsys.readouterr().out
    for name, n in (("Input", 1.0), ("Forward/backward pass", 2.0), ("Params", 2.0), ("Estimated total", 5.0)):
        assert f"{name} size (MB): {n:.2f}" in text


def test_every_parameter_counts_once(capsys):
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 4)
            self.head = nn.Linear(4, 4)
            self.unused = nn.Linear(7, 7)
            self.own = self.create_parameter([3])
            self.head.weight.stop_gradient = True
            self.tied = nn.Linear(4, 4)
            self.tied.weight = self.head.weight

        def forward(self, ids, z):
            return self.tied(self.head(self.embedding(ids))).sum() + self.own.sum() + z.sum()

    net = Net()
    found = paddle.summary(net, [(2, 7), (3,)], dtypes=["int64", "float32"])
    total = sum(math.prod(p.shape) for p in net.parameters())
    assert found == {"total_params": total, "trainable_params": total - 16}
    rows = {row[0]: row for row in rows_of(capsys.readouterr().out)}
    assert rows["Linear-1"][3] == "20"
    assert rows["Linear-2"][3] == "4"
    assert rows["Net-1"] == ["Net-1", "[[2, 7], [3]]", "[]", "3"]
    assert rows["Linear-3"][1:] == ["-", "-", "56"]
    assert sum(int(row[3]) for row in rows.values()) == total


@pytest.mark.parametrize("size", [(None, 4), (-1, 4), [(1, 4)], [1, 4], [[None, 4]]])
def test_forms_of_sizes(size, capsys):
    paddle.summary(nn.Linear(4, 3), size)
    assert rows_of(capsys.readouterr().out) == [["Linear-1", "[[1, 4]]", "[1, 3]", "15"]]


def test_forms_of_inputs(capsys):
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 4)

        def forward(self, d, k=None):
            return {"y": self.l(d["a"])}

    x = paddle.ones([2, 3])
    for given in ({"a": x}, [{"a": x}], ({"a": x}, None)):
        assert paddle.summary(Net(), input=given)["total_params"] == 16
        assert rows_of(capsys.readouterr().out) == [["Linear-1", "[[2, 3]]", "[2, 4]", "16"]]
    assert paddle.summary(nn.Linear(3, 4), input=x)["total_params"] == 16


def test_summary_of_inputs_in_lists():
    class Pair(nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 4)

        def forward(self, xs):
            return self.linear(xs[0]) + self.linear(xs[1])

    assert paddle.summary(Pair(), input=[paddle.ones([2, 3]), paddle.ones([2, 3])])["total_params"] == 16
    lstm = nn.LSTM(4, 3, 2)
    expected = sum(p.size for p in lstm.parameters())
    assert paddle.summary(lstm, [(-1, 5, 4), ((2, None, 3), (2, -1, 3))])["total_params"] == expected
    assert paddle.summary(nn.Linear(3, 4), 3)["total_params"] == 16
    with pytest.raises(TypeError, match=r"requires sizes that are integers, -1 or None, got \(1, 1, '2'\)"):
        paddle.summary(nn.GRU(2, 3), (1, 1, "2"))


@pytest.mark.parametrize("kind", [nn.SimpleRNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("direction", ["forward", "bidirect"])
def test_summary_of_recurrent_layers_has_their_sizes_and_no_cells(kind, direction, capsys):
    net = kind(3, 4, 2, direction=direction)
    ways = 2 if direction == "bidirect" else 1
    state = [2 * ways, 2, 4]
    result = [[2, 5, 4 * ways], [state, state] if kind is nn.LSTM else state]
    count = f"{sum(p.size for p in net.parameters()):,}"
    for outer, rows in ((net, 1), (nn.Sequential(nn.Linear(3, 3), net), 2)):
        paddle.summary(outer, (2, 5, 3))
        table = capsys.readouterr().out.split("===\n")[1].splitlines()[:-1]
        assert len(table) == rows
        assert table[-1].split() == f"{kind.__name__}-1 [[2, 5, 3]] {result} {count}".split()
