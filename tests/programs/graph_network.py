"""Papers of a synthetic citation graph are classified by their neighbours; whole graphs by pooled nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill

import paddle
import paddle.nn.functional as F
from paddle import geometric, nn

CASES = ("convolution", "attention", "sampled")
PAPERS, TOPICS, FEATURES = 60, 3, 12


def citations() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of papers, edges ``[2, E]`` that mostly stay within a topic, and topics."""
    rng = np.random.RandomState(0)
    topics = rng.randint(0, TOPICS, PAPERS)
    chance = np.where(topics[:, None] == topics, 0.15, 0.01)
    edges = np.stack(np.nonzero(rng.uniform(size=chance.shape) < chance))
    edges = np.concatenate([edges, edges[::-1], np.tile(np.arange(PAPERS), (2, 1))], axis=1)
    words = rng.uniform(size=(PAPERS, FEATURES)) < 0.2 + 0.3 * (np.arange(FEATURES) % TOPICS == topics[:, None])
    return words.astype("float32"), np.unique(edges, axis=1), topics


class Convolution(nn.Layer):
    """Means of neighbours, weighted by the degrees of both ends."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, out)

    def forward(self, x: Any, source: Any, target: Any) -> Any:
        ones = paddle.ones([len(source), 1])
        degree = geometric.send_ue_recv(paddle.zeros([len(x), 1]), ones, source, target, "add", "sum")
        scaled = self.linear(x) * degree.rsqrt()
        return geometric.send_u_recv(scaled, source, target, "sum", out_size=len(x)) * degree.rsqrt()


class Attention(nn.Layer):
    """Neighbours weighted by a softmax over the edges that enter a node."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, out, bias_attr=False)
        self.source, self.target = nn.Linear(out, 1), nn.Linear(out, 1)

    def forward(self, x: Any, source: Any, target: Any) -> Any:
        hidden = self.linear(x)
        scores = F.leaky_relu(geometric.send_uv(self.source(hidden), self.target(hidden), source, target), 0.2)
        order = paddle.argsort(target, stable=True)
        highest = geometric.segment_max(scores[order], target[order])
        weights = paddle.exp(scores - paddle.gather(highest, target).detach())
        total = geometric.segment_sum(weights[order], target[order])
        received = geometric.send_ue_recv(hidden, weights, source, target, message_op="mul", reduce_op="sum")
        return received / total


class Sage(nn.Layer):
    """A node beside the mean and the greatest of its neighbours."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(3 * width, out)

    def forward(self, x: Any, source: Any, target: Any) -> Any:
        mean = geometric.send_u_recv(x, source, target, reduce_op="mean", out_size=len(x))
        highest = geometric.send_u_recv(x, source, target, reduce_op="max", out_size=len(x))
        return self.linear(paddle.concat([x, mean, highest], axis=1))


LAYERS = {"convolution": Convolution, "attention": Attention, "sampled": Sage}


class Network(nn.Layer):
    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layers = nn.LayerList([layer(FEATURES, 16), layer(16, TOPICS)])

    def forward(self, x: Any, source: Any, target: Any) -> Any:
        return self.layers[1](F.elu(self.layers[0](x, source, target)), source, target)


def neighbourhood(edges: np.ndarray, wanted: np.ndarray) -> tuple[Any, Any, Any]:
    """The nodes that reach ``wanted`` by one edge, and the edges between them, numbered anew."""
    order = np.lexsort((edges[0], edges[1]))
    starts = np.concatenate([[0], np.cumsum(np.bincount(edges[1], minlength=PAPERS))])
    nodes = paddle.to_tensor(wanted)
    found, counts = geometric.sample_neighbors(
        paddle.to_tensor(edges[0][order]), paddle.to_tensor(starts), nodes, sample_size=PAPERS
    )
    source, target, every = geometric.reindex_graph(nodes, found, counts)
    return source, target, every


def run(case: str) -> dict[str, Any]:
    words, edges, topics = citations()
    x, y = paddle.to_tensor(words), paddle.to_tensor(topics)
    source, target = paddle.to_tensor(edges[0]), paddle.to_tensor(edges[1])
    known = paddle.to_tensor(np.arange(0, PAPERS, 2))
    model = fill(Network(LAYERS[case]))
    optimizer = paddle.optimizer.AdamW(0.02, parameters=model.parameters(), weight_decay=0.01)
    losses = []
    for step in range(20):
        if case == "sampled":
            wanted = np.arange(step % 4, PAPERS, 4)
            sources, targets, nodes = neighbourhood(edges, wanted)
            loss = F.cross_entropy(model(x[nodes], sources, targets)[: len(wanted)], y[paddle.to_tensor(wanted)])
        else:
            loss = F.cross_entropy(model(x, source, target)[known], y[known])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    model.eval()
    with paddle.no_grad():
        logits = model(x, source, target)
        unknown = paddle.arange(1, PAPERS, 2)
        right = (logits.argmax(axis=1) == y).astype("float32")[unknown].mean()
        graphs = paddle.arange(PAPERS) // 20
        pools = {name: getattr(geometric, f"segment_{name}")(logits, graphs) for name in ("sum", "mean", "min", "max")}
    return {"losses": losses, "right": right, "logits": logits[:6], **pools}
