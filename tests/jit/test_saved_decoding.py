"""Decoders whose number of steps data decide: in saved models, in captured functions of one graph and in static
programs, beside eager calls."""

import numpy as np
import pytest

import paddle
from paddle import inference, nn
from paddle.static import InputSpec

VOCABULARY, WIDTH, BEAMS, END = 9, 6, 3, 1


class CellWithMemory(nn.RNNCellBase):
    """A cell that attends to the encoder's outputs, which a decoder hands to each step."""

    def __init__(self):
        super().__init__()
        self.cell, self.joined = nn.GRUCell(WIDTH, WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, inputs, states, memory):
        y, states = self.cell(inputs, states)
        weights = nn.functional.softmax(paddle.matmul(memory, y.unsqueeze(-1)), axis=1)
        return self.joined(paddle.concat([y, (memory * weights).sum(1)], -1)), states


class Translator(nn.Layer):
    """An encoder, and a beam search over a cell of a kind."""

    def __init__(self, kind, steps, **options):
        super().__init__()
        self.embed, self.project = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.encoder = nn.GRU(WIDTH, WIDTH)
        self.cell = {"lstm": nn.LSTMCell, "gru": nn.GRUCell, "attention": lambda *_: CellWithMemory()}[kind](
            WIDTH, WIDTH
        )
        self.decoder = nn.BeamSearchDecoder(self.cell, 0, END, BEAMS, self.embed, self.project)
        self.kind, self.options = kind, {"max_step_num": steps, **options}
        for p in self.parameters():
            p.set_value(p * 3)
        self.project.bias.set_value(paddle.to_tensor([0.0, 1.0] + [0.0] * (VOCABULARY - 2)))

    def forward(self, x):
        memory, last = self.encoder(self.embed(x))
        first, given = last[0], {}
        if self.kind == "lstm":
            first = (first, first * 0.5)
        if self.kind == "attention":
            given["memory"] = nn.BeamSearchDecoder.tile_beam_merge_with_batch(memory, BEAMS)
        made, states, lengths = nn.dynamic_decode(self.decoder, first, return_length=True, **self.options, **given)
        return made, states.log_probs, lengths


KINDS = {
    "lstm": ("lstm", 8, {}),
    "gru": ("gru", 12, {"output_time_major": True}),
    "attention": ("attention", 5, {}),
    "one step": ("gru", 0, {}),
}


def sentences(*sizes):
    return [paddle.to_tensor(np.random.default_rng(n).integers(0, VOCABULARY, [n, t])) for n, t in sizes]


def compare(given, net, *sizes):
    lengths = []
    for x in sentences(*sizes):
        expected, got = net(x), given(x)
        lengths.append(expected[0].shape)
        for a, b in zip(got, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(np.asarray(a), b.numpy(), rtol=1e-5)
    return lengths


@pytest.mark.parametrize("kind", KINDS)
def test_beam_searches(kind, tmp_path):
    cell, steps, options = KINDS[kind]
    net = Translator(cell, steps, **options)
    net.eval()
    prefix = str(tmp_path / "model")
    paddle.jit.save(net, prefix, [InputSpec([None, None], "int64", "x")])
    sizes = (2, 3), (1, 5), (4, 2), (3, 7)
    compare(paddle.jit.load(prefix), net, *sizes)
    predictor = inference.create_predictor(inference.Config(prefix + ".json", prefix + ".pdiparams"))
    compare(lambda x: predictor.run([x]), net, *sizes)
    captured = paddle.jit.to_static(net.forward, full_graph=True)
    compare(captured, net, *sizes)
    assert not captured.fallbacks and not captured.graph_breaks


def test_beams_that_end_early_end_the_search(tmp_path):
    """The numbers of steps differ, so that data decide them."""
    net = Translator("gru", 40)
    net.project.bias.set_value(paddle.to_tensor([0.0, 4.0] + [0.0] * (VOCABULARY - 2)))
    net.eval()
    paddle.jit.save(net, str(tmp_path / "model"), [InputSpec([None, 4], "int64", "x")])
    sizes = [(n, 4) for n in range(1, 9)]
    shapes = compare(paddle.jit.load(str(tmp_path / "model")), net, *sizes)
    assert len({shape[1] for shape in shapes}) > 1
    assert max(shape[1] for shape in shapes) < 41


class Counting(nn.Layer):
    """Adds a row of weights until the sums reach a limit; sequences finish for themselves."""

    tracks_own_finished = False

    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([1], default_initializer=nn.initializer.Constant(0.75))

    def initialize(self, inits):
        return inits, {"sum": inits}, inits >= 3

    def step(self, time, inputs, states, bonus=0.0):
        now = inputs + self.weight * (time.astype("float32") + 1)
        return {"value": now + bonus, "time": time}, {"sum": now}, now, now >= 3

    def finalize(self, outputs, states, lengths):
        return outputs, states


class Counted(nn.Layer):
    def __init__(self, **options):
        super().__init__()
        self.counting, self.options = Counting(), options

    def forward(self, x):
        made, states, lengths = nn.dynamic_decode(self.counting, x, return_length=True, bonus=10.0, **self.options)
        return made["value"], made["time"], states["sum"], lengths


@pytest.mark.parametrize("options", [{}, {"impute_finished": True}, {"max_step_num": 1}], ids=str)
def test_decoders_of_users(options, tmp_path):
    net = Counted(**options)
    paddle.jit.save(net, str(tmp_path / "model"), [InputSpec([None], "float32", "x")])
    captured = paddle.jit.to_static(net.forward, full_graph=True)
    loaded = paddle.jit.load(str(tmp_path / "model"))
    for first in ([0.0, 2.0], [2.5], [-4.0, 0.0, 2.9]):
        x = paddle.to_tensor(first)
        expected = [y.numpy() for y in net(x)]
        for given in (captured, loaded):
            for a, b in zip(given(x), expected, strict=True):
                np.testing.assert_allclose(a.numpy(), b, rtol=1e-6)
    assert not captured.fallbacks and not captured.graph_breaks


class Plain(Counting):
    def finalize(self, outputs, final_states, sequence_lengths):
        return nn.decode.Decoder.finalize(self, outputs, final_states, sequence_lengths)


def test_results_without_finalize_are_those_of_all_steps(tmp_path):
    """As in PaddlePaddle, a NotImplementedError there is no error."""
    net = Counted()
    net.counting, counting = Plain(), net.counting
    net.counting.set_state_dict(counting.state_dict())
    x = paddle.to_tensor([0.0, 2.0])
    paddle.jit.save(net, str(tmp_path / "model"), [InputSpec([None], "float32", "x")])
    results = [net(x), paddle.jit.load(str(tmp_path / "model"))(x)]
    net.counting = counting
    for wanted, *given in zip(net(x), *results, strict=True):
        for y in given:
            assert y.shape == wanted.shape
            np.testing.assert_allclose(y.numpy(), wanted.numpy(), rtol=1e-6)


def test_gradients_pass_through_all_steps():
    net = Counted()
    captured = paddle.jit.to_static(net.forward, full_graph=True)
    x = paddle.to_tensor([0.0, 1.0])
    gradients = []
    for f in (net, captured):
        net.clear_gradients()
        (f(x)[0] ** 2).sum().backward()
        gradients.append(net.counting.weight.grad.numpy())
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-6)


def test_a_search_of_nothing_is_refused(tmp_path):
    net = Counted()
    paddle.jit.save(net, str(tmp_path / "model"), [InputSpec([None], "float32", "x")])
    loaded = paddle.jit.load(str(tmp_path / "model"))
    for given in (net, loaded, paddle.jit.to_static(net.forward, full_graph=True)):
        with pytest.raises(ValueError, match=r"\[dynamic_decode\] requires sequences of which one"):
            given(paddle.to_tensor([5.0, 6.0]))


class Changing(Counting):
    steps = 0

    def step(self, time, inputs, states, bonus=0.0):
        outputs, states, inputs, finished = super().step(time, inputs, states, bonus)
        self.steps += 1
        return outputs, states if self.steps == 1 else [states["sum"]], inputs, finished


def test_steps_of_another_structure_are_refused(tmp_path):
    net = Counted()
    net.counting = Changing()
    with pytest.raises(TypeError, match=r"\[dynamic_decode\] requires steps that leave inputs"):
        paddle.jit.save(net, str(tmp_path / "model"), [InputSpec([None], "float32", "x")])


class Choosing(nn.Layer):
    """A user's decoder with a branch and a loop on data in its step."""

    tracks_own_finished = False

    def __init__(self):
        super().__init__()
        self.cell, self.embed = nn.GRUCell(WIDTH, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.project = nn.Linear(WIDTH, VOCABULARY)

    def initialize(self, first):
        n = first.shape[0]
        return paddle.full([n], 2, "int64"), first, paddle.zeros([n], "bool")

    def step(self, time, inputs, states, **kwargs):
        y, states = self.cell(self.embed(inputs), states)
        scores = self.project(y) * 3
        if scores.max() > 1:
            scores = scores * 0.5
        while scores.max() > 1:
            scores = scores - 0.25
        tokens = paddle.argmax(scores, -1)
        return (scores, tokens), states, tokens, tokens == END

    def finalize(self, outputs, states, lengths):
        return outputs, states


class Bounded(nn.Layer):
    def __init__(self):
        super().__init__()
        self.decoder = Choosing()

    def forward(self, first, most):
        (scores, tokens), states, lengths = nn.dynamic_decode(
            self.decoder, first, max_step_num=most, return_length=True
        )
        return scores, tokens, states, lengths


@pytest.mark.parametrize("shape", [[], [1]])
def test_steps_branch_on_data_and_end_behind_a_number_that_is_data(shape, tmp_path):
    paddle.seed(5)
    net, path = Bounded(), str(tmp_path / "m")
    net.eval()
    specs = [InputSpec([None, WIDTH], "float32", "first"), InputSpec(shape, "int64", "most")]
    paddle.jit.save(net, path, specs)
    loaded = paddle.jit.load(path)
    predictor = inference.create_predictor(inference.Config(path + ".json", path + ".pdiparams"))
    captured = paddle.jit.to_static(net.forward, full_graph=True)
    for n, most in ((3, 4), (1, 0), (2, 1), (5, 7)):
        given = paddle.randn([n, WIDTH]), paddle.full(shape, most, "int64")
        wanted = net(*given)
        for found in (loaded(*given), captured(*given), predictor.run(list(given))):
            for x, y in zip(found, wanted, strict=True):
                np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-4, atol=1e-5)
    assert not captured.fallbacks
