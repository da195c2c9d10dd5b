"""Layers of random training, each beside what it means to the judge.

``forward`` is the layer in paddle; ``judged`` computes the same of PyTorch's tensors, which it finds by the layer's
parameters and buffers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as T

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.distributed.fleet.utils import recompute

WIDTH, TIME, WORDS = 4, 3, 6


class Values:
    """The judge's tensors, by parameter or buffer of a layer that only says what there is."""

    def __init__(self) -> None:
        self._of: dict[int, torch.Tensor] = {}

    def __getitem__(self, held: Any) -> torch.Tensor:
        return self._of[id(held)]

    def __setitem__(self, held: Any, value: torch.Tensor) -> None:
        self._of[id(held)] = value


@dataclass(frozen=True)
class Batch:
    """Rows of a data set. ``keep``: which places of a sequence count."""

    x: Any
    ids: Any
    keep: Any
    y: Any


class Part(nn.Layer, ABC):
    """A layer from ``[rows, TIME, WIDTH]`` to the same, and its judge."""

    @abstractmethod
    def forward(self, x: Any, ids: Any, keep: Any) -> Any: ...

    @abstractmethod
    def judged(self, v: Values, x: torch.Tensor, batch: Batch) -> torch.Tensor: ...


def _linear(v: Values, layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    return x @ v[layer.weight] + v[layer.bias]


class Linear(Part):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, ids, keep):
        return paddle.tanh(self.linear(x))

    def judged(self, v, x, batch):
        return torch.tanh(_linear(v, self.linear, x))


class Shared(Part):
    """One layer called twice, and one value that is several operands."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, ids, keep):
        y = paddle.tanh(self.linear(F.silu(self.linear(x))))
        return paddle.einsum("bti,bti->bti", y, y) + paddle.stack([y, y]).mean(0)

    def judged(self, v, x, batch):
        y = torch.tanh(_linear(v, self.linear, T.silu(_linear(v, self.linear, x))))
        return y * y + y


class Embedding(Part):
    """Words with a padding, whose table may be the weight of scores, too."""

    def __init__(self, tied: bool, padding: int | None) -> None:
        super().__init__()
        self.tied, self.padding = tied, padding
        self.table = nn.Embedding(WORDS, WIDTH, padding_idx=padding)

    def forward(self, x, ids, keep):
        y = x + self.table(ids)
        if self.tied:
            y = y + paddle.matmul(F.softmax(paddle.matmul(y, self.table.weight, transpose_y=True)), self.table.weight)
        return y

    def judged(self, v, x, batch):
        table = v[self.table.weight]
        y = x + T.embedding(batch.ids, table, self.padding)
        if self.padding is not None:  # a padding's rows are zeros, whatever the table has
            y = torch.where((batch.ids == self.padding % WORDS).unsqueeze(-1), x, y)
        if self.tied:
            y = y + torch.softmax(y @ table.T, -1) @ table
        return y


class BatchNorm(Part):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1D(WIDTH, momentum=0.8, data_format="NLC")

    def forward(self, x, ids, keep):
        return self.norm(x)

    def judged(self, v, x, batch):
        n = self.norm
        mean, variance = v[n._mean], v[n._variance]
        if n.training:
            mean = x.mean((0, 1))
            variance = ((x - mean) ** 2).mean((0, 1))
            v[n._mean] = 0.8 * v[n._mean] + 0.2 * mean.detach()
            v[n._variance] = 0.8 * v[n._variance] + 0.2 * variance.detach()
        return (x - mean) / torch.sqrt(variance + 1e-5) * v[n.weight] + v[n.bias]


class Norms(Part):
    """Norms of rows, without statistics that stay."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.groups = nn.LayerNorm(WIDTH), nn.GroupNorm(2, WIDTH)

    def forward(self, x, ids, keep):
        return self.groups(self.norm(x).transpose([0, 2, 1])).transpose([0, 2, 1])

    def judged(self, v, x, batch):
        y = T.layer_norm(x, [WIDTH], v[self.norm.weight], v[self.norm.bias], 1e-5)
        return T.group_norm(y.mT, 2, v[self.groups.weight], v[self.groups.bias], 1e-5).mT


class Convolution(Part):
    """A convolution, and dropout that is kept in evaluation or drops nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1D(WIDTH, WIDTH, 3, padding=1)
        self.still, self.none = nn.Dropout(0.5), nn.Dropout(0.0)

    def forward(self, x, ids, keep):
        return self.none(paddle.tanh(self.still(self.conv(x.transpose([0, 2, 1]))))).transpose([0, 2, 1])

    def judged(self, v, x, batch):
        return torch.tanh(T.conv1d(x.mT, v[self.conv.weight], v[self.conv.bias], padding=1)).mT


class Selected(Part):
    """Places that a mask selects, by an index or by what has the shape of all."""

    WAYS = ("index", "written", "where", "masked_fill", "multiplied", "scatter", "gather_nd")

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, ids, keep):
        if self.way == "index":
            y = paddle.zeros_like(x)
            y[keep] = paddle.tanh(self.linear(x[keep]))
            return x + y
        if self.way == "written":
            y = x * 1.0
            y[keep] = 0.5
            return self.linear(y)
        if self.way == "scatter":
            at = paddle.nonzero(keep)
            return paddle.scatter_nd_add(x, at, paddle.tanh(self.linear(x[keep])))
        if self.way == "gather_nd":
            at = paddle.nonzero(keep)
            return x + paddle.tanh(self.linear(paddle.gather_nd(x, at))).sum(0)
        y = paddle.tanh(self.linear(x))
        at = keep.unsqueeze(-1)
        if self.way == "where":
            return x + paddle.where(at, y, paddle.zeros_like(y))
        if self.way == "masked_fill":
            return x + y.masked_fill(~at, 0.0)
        return x + y * at.astype(y.dtype)

    def judged(self, v, x, batch):
        at = batch.keep.unsqueeze(-1)
        if self.way == "written":
            return _linear(v, self.linear, torch.where(at, torch.full_like(x, 0.5), x))
        y = torch.where(at, torch.tanh(_linear(v, self.linear, x)), torch.zeros_like(x))
        return x + (y.sum((0, 1)) if self.way == "gather_nd" else y)


class Attention(Part):
    """Attention under a mask of what counts; the first place always does."""

    def __init__(self, spelt: bool) -> None:
        super().__init__()
        self.spelt = spelt
        self.projection = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x, ids, keep):
        q, k, u = self.projection(x).chunk(3, -1)
        seen = keep.unsqueeze(1) | (paddle.arange(TIME) == 0)
        if self.spelt:
            scores = paddle.matmul(q, k, transpose_y=True) / WIDTH**0.5
            return x + paddle.matmul(F.softmax(paddle.where(seen, scores, paddle.full_like(scores, -1e9))), u)
        mask = paddle.zeros(seen.shape, x.dtype).masked_fill(~seen, float("-inf")).unsqueeze(1)
        mask = mask.expand([x.shape[0], 1, TIME, TIME])
        return x + F.scaled_dot_product_attention(q.unsqueeze(2), k.unsqueeze(2), u.unsqueeze(2), mask).squeeze(2)

    def judged(self, v, x, batch):
        q, k, u = _linear(v, self.projection, x).chunk(3, -1)
        seen = batch.keep.unsqueeze(1) | (torch.arange(TIME) == 0)
        return x + torch.softmax((q @ k.mT / WIDTH**0.5).masked_fill(~seen, float("-inf")), -1) @ u


class Kept(Part):
    """Buffers that a call in training writes to, in several ways, and that it reads."""

    WAYS = ("assigned", "in place", "part", "set_value")

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way
        self.register_buffer("mean", paddle.zeros([WIDTH]))
        self.register_buffer("count", paddle.zeros([1]), persistable=True)

    def forward(self, x, ids, keep):
        if self.training:
            with paddle.no_grad():
                mean = x.mean([0, 1])
                if self.way == "assigned":
                    self.mean = self.mean * 0.75 + mean * 0.25
                    self.count = self.count + 1
                elif self.way == "in place":
                    self.mean.scale_(0.75)
                    self.mean.add_(mean * 0.25)
                    self.count += 1
                elif self.way == "part":
                    self.mean[:] = self.mean * 0.75 + mean * 0.25
                    self.count[0] += 1
                else:
                    self.mean.set_value(self.mean * 0.75 + mean * 0.25)
                    self.count.set_value(self.count + 1)
        return x - self.mean * 0.5 + 0.1 * self.count

    def judged(self, v, x, batch):
        if self.training:
            v[self.mean] = v[self.mean] * 0.75 + x.detach().mean((0, 1)) * 0.25
            v[self.count] = v[self.count] + 1
        return x - v[self.mean] * 0.5 + 0.1 * v[self.count]


class Written(Part):
    """Views that are written to, and are read before and after."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = self.create_parameter([WIDTH], default_initializer=nn.initializer.Constant(0.75))

    def forward(self, x, ids, keep):
        y = x * self.scale
        first, flat = y[:, 0], y.reshape([-1, WIDTH])
        flat[:, 1] = self.scale[0]
        y[:, 0, ::2] *= 0.5
        first.add_(self.scale)
        return y + first.unsqueeze(1)

    def judged(self, v, x, batch):
        scale = v[self.scale]
        y = x * scale
        columns = [y[..., i] for i in range(WIDTH)]
        columns[1] = torch.zeros_like(columns[1]) + scale[0]
        y = torch.stack(columns, -1)
        halves = torch.ones(WIDTH, dtype=x.dtype)
        halves[::2] = 0.5
        first = y[:, :1] * halves + scale
        y = torch.cat([first, y[:, 1:]], 1)
        return y + first


class Stopped(Part):
    """Values without a history among others."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.gate = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, ids, keep):
        y = self.linear(x)
        with paddle.no_grad():
            gate = F.sigmoid(self.gate(y))
        return y * gate + self.gate(y.detach()) * 0.5 + F.sigmoid(y).detach()

    def judged(self, v, x, batch):
        y = _linear(v, self.linear, x)
        still = y.detach()
        gate = torch.sigmoid(_linear(v, self.gate, still)).detach()
        return y * gate + _linear(v, self.gate, still) * 0.5 + torch.sigmoid(still)


class Recomputed(Part):
    """A part that is recomputed in the backward pass."""

    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.reentrant = reentrant
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def _inner(self, x):
        return self.second(F.gelu(self.first(x)))

    def forward(self, x, ids, keep):
        return x + recompute(self._inner, x, use_reentrant=self.reentrant)

    def judged(self, v, x, batch):
        return x + _linear(v, self.second, T.gelu(_linear(v, self.first, x)))


class Normalised(Part):
    """A weight that a hook of the layer makes of its norm and direction before each call."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.utils.weight_norm(nn.Linear(WIDTH, WIDTH), dim=1)

    def forward(self, x, ids, keep):
        return paddle.tanh(self.linear(x))

    def judged(self, v, x, batch):
        direction, norm = v[self.linear.weight_v], v[self.linear.weight_g]
        weight = direction / direction.norm(dim=0, keepdim=True) * norm.reshape(1, -1)
        return torch.tanh(x @ weight + v[self.linear.bias])


class Recurrent(Part):
    """A cell that is called for each place."""

    def __init__(self, whole: bool) -> None:
        super().__init__()
        self.whole = whole
        self.cells = nn.GRU(WIDTH, WIDTH) if whole else nn.GRUCell(WIDTH, WIDTH)

    def forward(self, x, ids, keep):
        if self.whole:
            return self.cells(x)[0]
        state, found = paddle.zeros([x.shape[0], WIDTH], x.dtype), []
        for i in range(TIME):
            _, state = self.cells(x[:, i], state)
            found.append(state)
        return paddle.stack(found, 1)

    def judged(self, v, x, batch):
        wi, wh, bi, bh = (v[p] for p in self.cells.parameters())
        state, found = torch.zeros(len(x), WIDTH, dtype=x.dtype), []
        for i in range(TIME):
            given, kept = (x[:, i] @ wi.T + bi).chunk(3, -1), (state @ wh.T + bh).chunk(3, -1)
            r, z = torch.sigmoid(given[0] + kept[0]), torch.sigmoid(given[1] + kept[1])
            state = z * state + (1 - z) * torch.tanh(given[2] + r * kept[2])
            found.append(state)
        return torch.stack(found, 1)


class Counted(Part):
    """Python that goes another way at every third call of training, where a layer has no gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.linear = nn.Linear(WIDTH, WIDTH)

    def _skips(self) -> bool:
        self.calls += self.training
        return self.training and self.calls % 3 == 0

    def forward(self, x, ids, keep):
        return x if self._skips() else x + self.linear(x)

    def judged(self, v, x, batch):
        return x if self._skips() else x + _linear(v, self.linear, x)


PARTS: dict[str, Any] = {
    "linear": Linear,
    "shared": Shared,
    "embedding": lambda: Embedding(False, None),
    "embedding, padding": lambda: Embedding(False, 0),
    "embedding, padding at the end": lambda: Embedding(False, -1),
    "embedding, tied": lambda: Embedding(True, None),
    "embedding, tied, padding": lambda: Embedding(True, 0),
    "batch norm": BatchNorm,
    "norms": Norms,
    "convolution": Convolution,
    "written": Written,
    "stopped": Stopped,
    "recomputed": lambda: Recomputed(True),
    "recomputed, not reentrant": lambda: Recomputed(False),
    "weight norm": Normalised,
    "gru": lambda: Recurrent(True),
    "gru by cells": lambda: Recurrent(False),
    "counted": Counted,
    "attention": lambda: Attention(False),
    "attention, spelt out": lambda: Attention(True),
    **{f"selected: {way}": (lambda way=way: Selected(way)) for way in Selected.WAYS},
    **{f"kept: {way}": (lambda way=way: Kept(way)) for way in Kept.WAYS},
}


class Model(nn.Layer):
    """Parts in a row, of which one may be there twice, and a layer that makes scores of each place."""

    def __init__(self, names: tuple[str, ...], outputs: int) -> None:
        super().__init__()
        made: dict[str, nn.Layer] = {}
        self.parts = nn.LayerList()
        for name in names:
            if name.endswith(" again"):  # the very layer of before
                self.parts.append(made[name.removesuffix(" again")])
            else:
                made[name] = PARTS[name]()
                self.parts.append(made[name])
        self.last = nn.Linear(WIDTH, outputs)

    def forward(self, x: Any, ids: Any, keep: Any) -> Any:
        for part in self.parts:
            x = part(x, ids, keep)
        return self.last(x)

    def judged(self, v: Values, batch: Batch) -> torch.Tensor:
        x = batch.x
        for part in self.parts:
            x = part.judged(v, x, batch)
        return _linear(v, self.last, x)
