"""Layers: buffers, modes, containers, hooks, attributes that change."""

from __future__ import annotations

import copy

import paddle
import paddle.nn.functional as F
from paddle import nn
from tests.jit.corpus.reasons import ZEROS
from tests.jit.corpus.registry import driver, factory, given


class MLP(nn.Layer):
    def __init__(self, width=4):
        super().__init__()
        self.first = nn.Linear(3, width)
        self.second = nn.Linear(width, 2)
        self.calls = 0

    def forward(self, x, scale=1.0):
        self.calls += 1
        h = F.relu(self.first(x))
        if x.shape[0] > 2:
            h = h * scale
        return self.second(h)


@factory(
    lambda t: t(2, 3),
    lambda t: given(t(3, 3), scale=2.0),
    lambda t: given(t(4, 3), scale=3.0),
    lambda t: t(0, 3),
)
def small_network():
    return MLP()


@factory(lambda t: t(4, 3), lambda t: t(2, 3), lambda t: t(5, 3))
def batch_norm_in_training():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1D(4), nn.ReLU())


@driver(
    lambda t: given(t(4, 3), True),
    lambda t: given(t(4, 3), False),
    lambda t: given(t(3, 3), True),
    lambda t: given(t(3, 3), False),
)
def training_and_evaluation_by_turns(capture):
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1D(4), nn.Dropout(0.5))
    run = capture(net)

    def call(x, training):
        net.train() if training else net.eval()
        return run(x), net.training

    return call


class Averaged(nn.Layer):
    """Keeps statistics in buffers, one of which is replaced instead of written."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", paddle.zeros([3]))
        self.register_buffer("steps", paddle.zeros([], "int64"))
        self.last = None

    def forward(self, x):
        if self.training:
            self.mean.set_value(self.mean * 0.9 + x.detach().mean(axis=0) * 0.1)
            self.steps += 1
            self.last = x.detach().sum()
        return (x - self.mean) * self.steps.astype("float32")


@factory(lambda t: t(2, 3), lambda t: t(2, 3), lambda t: t(4, 3))
def buffers_written_inside():
    return Averaged()


class Branching(nn.Layer):
    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([2], default_initializer=nn.initializer.Constant(0.5))
        self.left = nn.Linear(2, 2)
        self.right = nn.Linear(2, 2)

    def forward(self, x):
        if (x * self.weight).sum() > 0:
            return self.left(x)
        return self.right(x) + self.weight


@factory(
    lambda t: t.of([[1.0, 2.0]]),
    lambda t: t.of([[-1.0, -2.0]]),
    lambda t: t.of([[3.0, 2.0], [1.0, 1.0]]),
    allowed=ZEROS,
)
def layer_that_branches_on_a_tensor():
    return Branching()


class Containers(nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = nn.LayerList([nn.Linear(2, 2) for _ in range(3)])
        self.heads = nn.LayerDict({"a": nn.Linear(2, 1), "b": nn.Tanh()})
        self.scales = nn.ParameterList([self.create_parameter([2]) for _ in range(2)])
        self.last = nn.Sequential(("one", nn.Linear(2, 2)), ("two", nn.ReLU()))

    def forward(self, x, depth=3):
        for i, block in enumerate(self.blocks):
            if i == depth:
                break
            x = block(x) + x
        for scale in self.scales:
            x = x * scale
        outs = {name: head(x) for name, head in self.heads.items()}
        for layer in self.last:
            x = layer(x)
        return x, outs, len(self.blocks), self.blocks[-1](x), self.last[0](x), "a" in self.heads


@factory(lambda t: t(2, 2), lambda t: given(t(2, 2), 1), lambda t: given(t(3, 2), depth=0))
def containers_of_layers():
    return Containers()


class Tied(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.again = self.embedding
        self.project = nn.Linear(3, 3)

    def forward(self, ids):
        h = self.project(self.embedding(ids))
        return h @ self.again.weight.T


@factory(lambda t: t.ids(5, 2), lambda t: t.ids(5, 4), lambda t: t.ids(5, 2, 3))
def layers_that_share_weights():
    return Tied()


@driver(lambda t: given(t(3), 2.0), lambda t: given(t(3), 0.5), lambda t: given(t(3), 2.0))
def attributes_of_a_layer_change(capture):
    class Scaled(nn.Layer):
        def __init__(self):
            super().__init__()
            self.k = 1.0
            self.names = []
            self.act = nn.ReLU()

        def forward(self, x):
            y = self.act(x) * self.k
            for name in self.names:
                y = y + len(name)
            return y

    layer = Scaled()
    run = capture(layer)

    def call(x, k):
        layer.k = k
        layer.names.append("n" * int(k + 1))
        if k < 1:
            layer.act = nn.Tanh()
        return run(x)

    return call


@driver(
    lambda t: given(t(2, 2), 0), lambda t: given(t(2, 2), 1), lambda t: given(t(2, 2), 0), lambda t: given(t(2, 2), 2)
)
def sublayers_swapped_between_calls(capture):
    bodies = [nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU()), nn.Identity()]
    net = nn.Sequential(bodies[0], nn.Linear(2, 1))
    run = capture(net)

    def call(x, which):
        net[0] = bodies[which]
        return run(x)

    return call


@driver(lambda t: given(t(2, 2), False), lambda t: given(t(2, 2), True), lambda t: given(t(2, 2), False))
def parameters_frozen_between_calls(capture):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    run = capture(net)

    def call(x, frozen):
        for p in net[0].parameters():
            p.stop_gradient = frozen
        return run(x)

    return call


@driver(lambda t: t(2, 2), lambda t: t(2, 2), lambda t: t(2, 2))
def parameters_replaced_between_calls(capture):
    net = nn.Linear(2, 2)
    run = capture(net)
    calls = [0]

    def call(x):
        calls[0] += 1
        if calls[0] == 2:
            net.weight = paddle.create_parameter([2, 2], "float32", default_initializer=nn.initializer.Constant(2.0))
        if calls[0] == 3:
            net.set_state_dict({"weight": paddle.ones([2, 2]), "bias": paddle.zeros([2])})
        return run(x)

    return call


@factory(lambda t: t(2, 2), lambda t: t(3, 2))
def hooks_before_and_after_a_layer():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    log = []
    net[0].register_forward_pre_hook(lambda layer, inputs: (inputs[0] * 2,))
    net[0].register_forward_post_hook(lambda layer, inputs, output: output + len(log))
    net.register_forward_post_hook(lambda layer, inputs, output: log.append(output.shape[0]))
    net.log = log
    return net


@driver(lambda t: t(2, 2), lambda t: t(2, 2), lambda t: t(2, 2))
def hook_removed_between_calls(capture):
    net = nn.Linear(2, 2)
    handle = net.register_forward_post_hook(lambda layer, inputs, output: output * 10)
    run = capture(net)
    calls = [0]

    def call(x):
        calls[0] += 1
        if calls[0] == 2:
            handle.remove()
        return run(x)

    return call


@driver(lambda t: t(2, 3), lambda t: t(2, 3), lambda t: t(3, 3))
def copy_of_a_captured_layer(capture):
    net = MLP()
    run = capture(net)

    def call(x):
        a = run(x)
        twin = copy.deepcopy(net)
        twin.second.weight.set_value(twin.second.weight * 2)
        return a, twin(x), run(x), twin.calls, net.calls

    return call


@driver(lambda t: t(2, 3), lambda t: t(3, 3))
def method_besides_forward(capture):
    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(3, 2)

        def forward(self, x):
            return self.loss(x) + 1

        @capture
        def loss(self, x):
            y = self.body(x)
            if y.shape[0] > 2:
                y = y * 2
            return y.mean()

    model = Model()
    return lambda x: (model(x), model.loss(x))


class Iterates(nn.Layer):
    """Looks at itself: its parameters, sublayers and names."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2, bias_attr=False)

    def forward(self, x):
        penalty = sum((p * p).sum() for p in self.parameters())
        names = [name for name, _ in self.named_parameters()]
        for layer in self.children():
            x = layer(x)
        count = sum(isinstance(m, nn.Linear) for m in self.sublayers())
        return x * penalty, names, count, sorted(self.state_dict())


@factory(lambda t: t(2, 2), lambda t: t(1, 2))
def layer_that_looks_at_itself():
    return Iterates()


@factory(lambda t: t(2, 4, 3), lambda t: t(3, 2, 3), lambda t: t(1, 1, 3))
def recurrent_layers():
    lstm, gru = nn.LSTM(3, 4), nn.GRUCell(3, 2)

    def f(x):
        out, (h, c) = lstm(x)
        state = None
        for t in range(x.shape[1]):
            y, state = gru(x[:, t], state)
        return out, h, c, state

    return f


@factory(lambda t: t(2, 3, 8, 8), lambda t: t(1, 3, 8, 8))
def convolutions_and_norms():
    return nn.Sequential(
        nn.Conv2D(3, 4, 3, padding=1), nn.BatchNorm2D(4), nn.GELU(), nn.MaxPool2D(2), nn.Flatten(), nn.LayerNorm(64)
    )


@factory(lambda t: t(2, 3), lambda t: t(3, 3), lambda t: t(2, 3))
def spectral_norm_and_weight_norm():
    net = nn.Sequential(nn.utils.weight_norm(nn.Linear(3, 3)), nn.utils.spectral_norm(nn.Linear(3, 2)))

    def f(x):
        return net(x)

    return f


class Lazily(nn.Layer):
    """Makes a parameter at its first call."""

    def __init__(self):
        super().__init__()
        self.weight = None

    def forward(self, x):
        if self.weight is None:
            self.weight = self.create_parameter([x.shape[-1]], default_initializer=nn.initializer.Constant(3.0))
        return x * self.weight


@factory(lambda t: t(2, 3), lambda t: t(2, 3), lambda t: t(4, 3))
def parameter_made_at_the_first_call():
    return Lazily()


@factory(lambda t: t(2, 3), lambda t: t(2, 3))
def layer_made_inside():
    def f(x):
        layer = nn.Linear(3, 2, weight_attr=nn.initializer.Constant(0.5))
        return layer(x), len(layer.parameters())

    return f
