"""Small models and algorithms as they are written in practice."""

from __future__ import annotations

import math

import paddle
import paddle.nn.functional as F
from paddle import nn
from tests.jit.corpus.reasons import ITEMS, NUMBERS, READS, ZEROS
from tests.jit.corpus.registry import driver, factory, given, program


class CachedAttention(nn.Layer):
    """Attention over all tokens so far, which a cache keeps."""

    def __init__(self, width=8, heads=2):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, cache=None):
        b, n, width = x.shape
        q, k, v = self.qkv(x).reshape([b, n, 3, self.heads, self.size]).transpose([2, 0, 3, 1, 4]).unbind(0)
        past = 0
        if cache is not None:
            past = cache["k"].shape[2] if "k" in cache else 0
            if past:
                k, v = paddle.concat([cache["k"], k], axis=2), paddle.concat([cache["v"], v], axis=2)
            cache["k"], cache["v"] = k, v
        scores = q @ k.transpose([0, 1, 3, 2]) / math.sqrt(self.size)
        if n > 1:
            rows = paddle.arange(n).unsqueeze(1) + past
            scores = paddle.where(paddle.arange(past + n) <= rows, scores, paddle.full([], -1e9))
        y = F.softmax(scores, axis=-1) @ v
        return self.out(y.transpose([0, 2, 1, 3]).reshape([b, n, width]))


@driver(lambda t: t(1, 3, 8), lambda t: t(2, 2, 8))
def attention_with_a_cache(capture):
    layer = CachedAttention()
    step = capture(layer)

    def call(x):
        cache = {}
        outs = [step(x, cache)]
        for k in range(3):
            outs.append(step(outs[-1][:, -1:] + k, cache))
        return outs, cache["k"].shape

    return call


@factory(
    lambda t: given(t.of([[9.0, 1.0, 5.0], [8.0, 2.0, 3.0]]), t.ids(3, 2, 3)),
    lambda t: given(t(3, 6), t.ids(6, 3, 1)),
    allowed=NUMBERS,
)
def beam_search_step():
    def step(logits, beams, width=2):
        scores = F.log_softmax(logits, axis=-1).reshape([-1])
        values, flat = paddle.topk(scores, width)
        rows, tokens = flat // logits.shape[-1], flat % logits.shape[-1]
        grown = paddle.concat([paddle.index_select(beams, rows, axis=0), tokens.unsqueeze(1)], axis=1)
        finished = []
        for i in range(width):
            if tokens[i] == 0:
                finished.append(i)
        return values, grown, finished

    return step


@factory(*(lambda t: given(t(4, 3, grad=False)) for _ in range(3)), backward=False, tolerance=10.0)
def gan_step():
    generator = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3))
    critic = nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
    for_generator = paddle.optimizer.Adam(1e-2, parameters=generator.parameters())
    for_critic = paddle.optimizer.Adam(1e-2, parameters=critic.parameters())

    def step(real):
        fake = generator(paddle.randn([real.shape[0], 2]))
        wrong = F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(real)).mean()
        wrong.backward()
        for_critic.step()
        for_critic.clear_grad()
        fooled = F.softplus(-critic(fake)).mean()
        fooled.backward()
        for_generator.step()
        for_generator.clear_grad()
        for_critic.clear_grad()
        return wrong.detach(), fooled.detach()

    step.watched = generator, critic
    return step


class EarlyStop(nn.Layer):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 3)
        self.halt = nn.Linear(3, 1)

    def forward(self, x, threshold=0.5):
        h = paddle.zeros([x.shape[0], 3])
        outs = []
        for t in range(x.shape[1]):
            _, h = self.cell(x[:, t], h)
            outs.append(h)
            if F.sigmoid(self.halt(h)).mean() > threshold:
                break
        return paddle.stack(outs, axis=1), len(outs)


@factory(
    lambda t: given(t(2, 4, 3)),
    lambda t: given(t(1, 6, 3), 0.1),
    lambda t: given(t(2, 3, 3), threshold=0.9),
    allowed=ZEROS,
)
def recurrent_loop_with_an_early_stop():
    return EarlyStop()


class Experts(nn.Layer):
    """A mixture whose tokens are routed by Python."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 3)
        self.experts = nn.LayerList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x):
        weights, chosen = paddle.topk(F.softmax(self.gate(x)), 1)
        out = paddle.zeros_like(x)
        load = []
        for e, expert in enumerate(self.experts):
            rows = paddle.nonzero(chosen[:, 0] == e).flatten()
            load.append(rows.shape[0])
            if rows.shape[0] == 0:
                continue
            part = expert(x[rows]) * weights[rows]
            out = paddle.scatter(out, rows, part)
        return out, load


@factory(lambda t: t(5, 4), lambda t: t(1, 4), lambda t: t(8, 4), allowed=NUMBERS)
def mixture_of_experts():
    return Experts()


@program(
    lambda t: given(t.of([[0, 0, 2, 2], [0, 0, 2, 1.9], [3, 3, 4, 4]], grad=False), t.of([0.9, 0.8, 0.7])),
    lambda t: given(t.of([[0, 0, 1, 1], [5, 5, 6, 6]], grad=False), t.of([0.1, 0.2])),
    refused=READS,
)
def suppression_of_boxes(boxes, scores, limit=0.5):
    order = paddle.argsort(scores, descending=True).tolist()
    kept = []
    while order:
        best = order.pop(0)
        kept.append(best)
        rest = []
        for other in order:
            low = paddle.maximum(boxes[best, :2], boxes[other, :2])
            high = paddle.minimum(boxes[best, 2:], boxes[other, 2:])
            overlap = paddle.clip(high - low, min=0.0).prod()
            areas = [((b[2] - b[0]) * (b[3] - b[1])) for b in (boxes[best], boxes[other])]
            if overlap / (areas[0] + areas[1] - overlap) <= limit:
                rest.append(other)
        order = rest
    return kept, scores[kept]


@factory(lambda t: t(3, 2), lambda t: t(3, 2), lambda t: t(4, 2), backward=False, tolerance=10.0)
def gradient_penalty():
    critic = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))

    def f(x):
        mixed = (x * 0.5).detach()
        mixed.stop_gradient = False
        (g,) = paddle.grad(critic(mixed).sum(), [mixed], create_graph=True)
        penalty = ((g.norm(axis=1) - 1) ** 2).mean()
        penalty.backward()
        return penalty.detach()

    f.critic = critic
    return f


@factory(*(lambda t: (t(4, 2, grad=False), t(4, 1, grad=False)) for _ in range(3)), backward=False)
def moving_average_of_weights():
    net, shadow = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    steps = {"count": 0}

    def f(x, y):
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        steps["count"] += 1
        decay = min(0.9, steps["count"] / (steps["count"] + 10))
        with paddle.no_grad():
            for average, p in zip(shadow.parameters(), net.parameters()):
                average.set_value(average * decay + p * (1 - decay))
        return loss.detach(), shadow(x).detach()

    f.nets = net, shadow
    return f


@program(lambda t: given(t(4, 3), t(4, 3)), lambda t: given(t(2, 3), t(2, 3)), lambda t: given(t(1, 3), t(1, 3)))
def contrastive_loss(a, b, temperature=0.5):
    a, b = F.normalize(a, axis=1), F.normalize(b, axis=1)
    logits = a @ b.T / temperature
    labels = paddle.arange(a.shape[0])
    loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2
    accuracy = (logits.argmax(axis=1) == labels).astype("float32").mean()
    return loss, accuracy


@factory(*(lambda t: t(2, 1, 4, 4) for _ in range(4)))
def augmentation_that_depends_on_data():
    def augment(images):
        outs = []
        for image in images:
            if image.mean() > 0:
                image = image.flip(axis=-1)
            if paddle.rand([1]) > 0.5:
                image = image + paddle.randn(image.shape) * 0.1
            bright = image.max().item()
            outs.append(image / bright if bright > 1 else image)
        return paddle.stack(outs)

    return augment


@factory(*(lambda t: (t(4, 2, grad=False), t.ids(2, 4)) for _ in range(5)), backward=False, differs=ITEMS)
def curriculum_with_counters():
    net = nn.Linear(2, 2)
    optimizer = paddle.optimizer.SGD(0.5, parameters=net.parameters())

    class Curriculum:
        level, seen = 1, 0

        def update(self, loss):
            self.seen += 1
            if loss < 0.8 or self.seen % 3 == 0:
                self.level = min(self.level * 2, 4)

    curriculum = Curriculum()

    def step(x, y):
        n = curriculum.level
        loss = F.cross_entropy(net(x[:n]), y[:n])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        curriculum.update(loss.item())
        return loss.detach(), curriculum.level

    step.net = net
    return step


class Ensemble(nn.Layer):
    def __init__(self):
        super().__init__()
        self.members = nn.LayerList([nn.Linear(3, 2), nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))])
        self.weights = [0.25, 0.75]

    def forward(self, x, vote=False):
        outs = [F.softmax(m(x), axis=-1) for m in self.members]
        if vote:
            votes = [int(o.sum(axis=0).argmax()) for o in outs]
            return outs[max(set(votes), key=votes.count)], votes
        return sum(w * o for w, o in zip(self.weights, outs, strict=True)), None


@factory(
    lambda t: t(2, 3),
    lambda t: given(t(2, 3), vote=True),
    lambda t: given(t(4, 3)),
    lambda t: given(t(4, 3), vote=True),
    refused=READS,
)
def ensemble_of_models():
    return Ensemble()


@factory(lambda t: given(t.ids(6, 1, 2), 3), lambda t: given(t.ids(6, 1, 1), 5))
def greedy_generation():
    embedding, head = nn.Embedding(6, 4), nn.Linear(4, 6)

    @paddle.no_grad()
    def generate(ids, length):
        for _ in range(length):
            hidden = embedding(ids).mean(axis=1)
            token = head(hidden).argmax(axis=-1)
            ids = paddle.concat([ids, token.unsqueeze(1)], axis=1)
            if int(token) == 5:
                break
        return ids

    return generate


@program(lambda t: t(3, 3), lambda t: t(2, 2), allowed=NUMBERS)
def power_iteration_until_it_converges(x):
    a = x @ x.T + paddle.eye(x.shape[0])
    v = paddle.ones([x.shape[0]]) / math.sqrt(x.shape[0])
    for n in range(1, 6):
        w = a @ v
        w = w / w.norm()
        if (w - v).abs().max() < 1e-3:
            break
        v = w
    return (v * (a @ v)).sum(), n


@factory(lambda t: given(t(5, 2), 2), lambda t: given(t(6, 2), 3))
def clusters_by_lloyd():
    def cluster(points, k, rounds=3):
        centers = points[:k]
        for _ in range(rounds):
            distances = ((points.unsqueeze(1) - centers.unsqueeze(0)) ** 2).sum(axis=-1)
            nearest = distances.argmin(axis=1)
            updated = []
            for c in range(k):
                members = points[nearest == c]
                updated.append(members.mean(axis=0) if members.shape[0] else centers[c])
            centers = paddle.stack(updated)
        return centers, nearest

    return cluster


@driver(*(lambda t: given(t(3, 2, grad=False), t(3, 1, grad=False)) for _ in range(2)), backward=False, tolerance=10.0)
def steps_of_an_inner_loop(capture):
    """Meta-learning: the gradient of a loss after a step of descent."""
    w = paddle.create_parameter([2, 1], "float32", default_initializer=nn.initializer.Constant(0.3))

    @capture
    def f(x, y):
        fast = w
        for _ in range(2):
            loss = F.mse_loss(x @ fast, y)
            (g,) = paddle.grad(loss, [fast], create_graph=True)
            fast = fast - 0.1 * g
        return F.mse_loss(x @ fast, y)

    def call(x, y):
        loss = f(x, y)
        loss.backward()
        return loss.detach(), w.grad

    return call


@factory(lambda t: given(t(2, 3), t(4, 3)), lambda t: given(t(1, 3), t(2, 3)))
def dynamic_programming_over_a_table():
    def alignment(a, b):
        cost = (a.unsqueeze(1) - b.unsqueeze(0)).abs().sum(axis=-1)
        n, m = cost.shape
        table = [[None] * m for _ in range(n)]
        for i in range(n):
            for j in range(m):
                before = [table[p][q] for p, q in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if p >= 0 and q >= 0]
                table[i][j] = cost[i, j] + (paddle.stack(before).min() if before else 0.0)
        return table[-1][-1]

    return alignment
