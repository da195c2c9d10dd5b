"""Texts that share steps and blocks: each is what it would be alone."""

from __future__ import annotations

import dataclasses
import itertools
import threading

import numpy as np
import pytest

import paddle


def engine(llm, model, blocks=64, block_size=4, capture=False, **options):
    return llm.engine.Engine(llm.runner.Runner(model, blocks, block_size, capture), blocks, **options)


def alone(llm, model, tokens):
    """Logits [vocab_size] of what follows, without a cache."""
    with paddle.no_grad():
        x = model(paddle.to_tensor([tokens]), paddle.arange(len(tokens)), llm.model.causal)
        return model.logits(x[:, -1]).numpy()[0]


def greedy(llm, model, prompt, count):
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(alone(llm, model, tokens).argmax()))
    return tokens[len(prompt) :]


@pytest.fixture(scope="module")
def prompts():
    rng = np.random.default_rng(1)
    return [rng.integers(1, 288, n).tolist() for n in (3, 17, 1, 40, 9, 5)]


@pytest.fixture(scope="module")
def expected(llm, model, prompts):
    return [greedy(llm, model, p, 6) for p in prompts]


OPTIONS = {
    "room for all": {},
    "captured": {"capture": True, "chunk": 8},
    "few blocks": {"blocks": 14, "chunk": 16},
    "one at a time": {"texts": 1},
    "blocks of one token": {"block_size": 1, "blocks": 128},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_texts_that_come_and_go_are_those_of_each_alone(llm, model, prompts, expected, options):
    served = engine(llm, model, **options)
    requests = [llm.continuations.Sampled(p, 6) for p in prompts]
    for request in requests[:3]:
        served.submit(request)
    for _ in range(3):
        served.step()
    for request in requests[3:]:
        served.submit(request)
    served.drain()
    assert [r.output for r in requests] == expected
    assert all(r.reason == "length" for r in requests)
    assert served.pool.free == served.pool.count
    assert served.statistics.tokens == 36
    if "blocks" in options and options["blocks"] == 14:
        assert served.statistics.preemptions > 0


def test_lengths_that_grow_are_not_captured_again(llm, model, prompts):
    served = engine(llm, model, capture=True)
    for round, prompt in enumerate((*prompts, *prompts)):
        for tokens in (prompt, prompt[::-1]):
            served.submit(llm.continuations.Sampled(tokens, 12))
        served.drain()
        if round == 5:
            before = served.runner.step.get_traced_count()
    assert served.runner.step.get_traced_count() == before <= 6
    assert served.runner.step.graph_breaks == []


# --- texts that begin alike -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"capture": True, "chunk": 8}, {"blocks": 14, "chunk": 16}, {"block_size": 1, "blocks": 128}]
)
def test_texts_that_begin_alike_compute_their_beginning_once(llm, model, prompts, options):
    """Beside each other and one after the other; tokens are those of each alone."""
    begin = prompts[3][:21]
    texts = [[*begin, *p] for p in (prompts[0], prompts[2], [])] + [begin[:9]]
    want = [greedy(llm, model, p, 6) for p in texts]
    reused = {}
    for reuse in (True, False):
        served = engine(llm, model, **options, reuse=reuse)
        for _ in range(2):
            requests = [llm.continuations.Sampled(p, 6) for p in texts]
            served.submit(requests[0])
            for _ in range(4):
                served.step()
            for request in requests[1:]:
                served.submit(request)
            served.drain()
            assert [r.output for r in requests] == want
            assert served.pool.free == served.pool.count
        reused[reuse] = served.statistics.reused_tokens
        computed = served.statistics.prompt_tokens + served.statistics.reused_tokens
        assert computed >= 2 * sum(len(p) for p in texts) - 8
    assert reused[True] > 60 and reused[False] == 0


def test_known_blocks_are_taken_when_no_others_are_left(llm):
    pool = llm.paging.Pool(4, 2)
    table, tokens = llm.paging.Table(pool), [5, 6, 7, 8, 9]
    table.reserve(5)
    table.length = 5
    table.tell(tokens, 0)
    blocks = list(table.blocks)
    other = llm.paging.Table(pool)
    assert other.known_blocks(tokens) == blocks[:2] == other.known_blocks([5, 6, 7, 8, 1])
    assert other.known_blocks([5, 6, 7, 8]) == blocks[:1]  # one token is left
    assert other.known_blocks([5, 6, 8, 8, 9]) == blocks[:1] and not other.known_blocks([6, 6, 7, 8, 9])
    other.take_over(blocks[:2])
    table.clear()
    assert pool.free == 2 and (other.blocks, other.length) == (blocks[:2], 4)
    other.clear()
    assert pool.free == 4 and all(map(pool.is_idle, blocks[:2]))
    table.reserve(8)  # all blocks
    assert pool.free == 0 and not other.known_blocks(tokens)
    table.clear()
    assert pool.free == 4


# --- windows ----------------------------------------------------------------------------------------------------------

WINDOW = 7


def windowed(layer, q, k, v):
    """Attention of whole texts in float64 NumPy, from the definition: a token sees itself and those just before it."""
    q, k, v = (x.astype("float64").numpy()[0].transpose(1, 0, 2) for x in (q, k, v))
    k, v = (np.repeat(x, len(q) // len(x), 0) for x in (k, v))
    i, j = np.arange(q.shape[1])[:, None], np.arange(q.shape[1])
    scores = np.where((j <= i) & (i - j < WINDOW), q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2]), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    out = weights / weights.sum(-1, keepdims=True) @ v
    return paddle.to_tensor(out.transpose(1, 0, 2)[None].astype("float32"))


@pytest.fixture(scope="module")
def narrow(llm, config):
    """A decoder with a window."""
    return llm.model.Decoder(dataclasses.replace(config, sliding_window=WINDOW), llm.sources.Random(5)).eval()


@pytest.mark.parametrize("options", [{"capture": True, "chunk": 8}, {"block_size": 1, "blocks": 128, "chunk": 5}])
def test_windows(llm, narrow, prompts, options):
    """Logits after prompts in chunks and after single tokens, side by side; blocks outside of the window come back."""
    served = engine(llm, narrow, **options)
    seen, run = [], served.runner.run

    def recorded(new, tables):
        rows = run(new, tables)
        seen.extend((table, table.length, row) for table, row in zip(tables, rows))
        assert all(len(t.blocks) <= -(-(WINDOW - 1) // served.pool.block_size) + 1 for t in tables if t.length > 45)
        return rows

    served.runner.run = recorded
    requests = [llm.continuations.Sampled(p, 12) for p in (prompts[3], prompts[4])]
    for request in requests:
        served.submit(request)
    tables = {id(text.table): request for request in requests for text in request.texts}
    served.drain()
    assert served.pool.free == served.pool.count
    texts = {id(request): [*request.prompt, *request.output] for request in requests}
    for table, length, row in seen:
        tokens = texts[id(tables[id(table)])][:length]
        with paddle.no_grad():
            x = narrow(paddle.to_tensor([tokens]), paddle.arange(length), windowed)
            np.testing.assert_allclose(row, narrow.logits(x[:, -1]).numpy()[0], atol=2e-5)


def test_a_window_of_blocks_is_room_for_longer_texts(llm, narrow, prompts):
    """Also for those that give their blocks back, and take their tokens through the window again."""
    texts = []
    for blocks in (64, 6):  # 13 hold a text, and 5 what it has at one time: 7 + 3 + 8 tokens
        served = engine(llm, narrow, blocks, chunk=8)
        requests = [llm.continuations.Sampled(p, 12) for p in (prompts[3], prompts[1])]
        for request in requests:
            served.submit(request)
        served.drain()
        texts.append([request.output for request in requests])
        assert served.pool.free == blocks
    assert texts[0] == texts[1] and served.statistics.preemptions
    with pytest.raises(llm.engine.Refused, match="16 tokens in the cache are required at most, got 1 × 18"):
        engine(llm, narrow, 4, chunk=8).submit(requests[0])


def test_beams_with_a_window_share_blocks(llm, narrow, prompts):
    texts = []
    for blocks in (64, 39):
        served = engine(llm, narrow, blocks)
        request = llm.continuations.Beams(prompts[3], 9, beams=3)
        served.submit(request)
        served.drain()
        texts.append(request.output)
        assert served.pool.free == blocks
    assert texts[0] == texts[1]


def test_stops_end_a_text_and_are_not_part_of_it(llm, model, prompts, expected):
    served = engine(llm, model)
    stop = expected[1][3]
    request = llm.continuations.Sampled(prompts[1], 6, [stop])
    served.submit(request)
    served.drain()
    assert (request.output, request.reason) == (expected[1][: expected[1].index(stop)], "stop")


def test_draws_depend_on_the_seed_alone(llm, model, prompts):
    def drawn(seeds, **options):
        served = engine(llm, model, **options)
        sampling = [llm.sampling.Sampling(temperature=1.0, top_k=50, top_p=0.9, seed=s) for s in seeds]
        requests = [llm.continuations.Sampled(prompts[0], 8, sampling=s) for s in sampling]
        for request in requests:
            served.submit(request)
        served.drain()
        return [r.output for r in requests]

    together = drawn([1, 2, 3])
    assert drawn([2], texts=1) == together[1:2]
    assert len(set(map(tuple, together))) == 3


def test_draws_have_the_probabilities_of_the_logits(llm, rng):
    logits = rng.normal(0, 2, 12).astype(np.float32)
    how = llm.sampling.Sampling(temperature=0.7, top_k=8, top_p=0.85)
    p = np.exp(logits.astype(float) / 0.7)
    order = np.argsort(-p)
    p[order[8:]] = 0
    p /= p.sum()
    kept = int(np.argmax(np.cumsum(p[order]) >= 0.85)) + 1
    p[order[kept:]] = 0
    p /= p.sum()
    draws = np.bincount([llm.sampling.choose(logits, how, rng) for _ in range(4000)], minlength=12) / 4000
    np.testing.assert_allclose(draws, p, atol=5 * np.sqrt(0.25 / 4000))
    assert (draws[p == 0] == 0).all()
    assert llm.sampling.choose(logits, llm.sampling.Sampling(), rng) == logits.argmax()


# --- beams ------------------------------------------------------------------------------------------------------------


class Letters:
    """A model of few tokens in the place of the runner: logits depend on the last two tokens of a text alone."""

    block_size = 2

    def __init__(self, config, table):
        self.model, self.table, self.copies = self, table, 0
        self.config, self.seen = config, {}

    def run(self, new, tables):
        out = []
        for tokens, table in zip(new, tables):
            for i, token in enumerate(tokens):
                at = table.length + i
                self.seen[table.blocks[at // 2], at % 2] = token
            table.length += len(tokens)
            last = [self.seen[table.blocks[at // 2], at % 2] for at in range(table.length)][-2:]
            out.append(self.table[tuple(([0, *last])[-2:])])
        return np.array(out)

    def copy(self, source, target):
        self.copies += 1
        for row in range(2):
            if (source, row) in self.seen:
                self.seen[target, row] = self.seen[source, row]


def best(table, prompt, count, stop, penalty):
    """The best score and text of all."""

    def score(text):
        tokens, total = [0, *prompt], 0.0
        for token in text:
            row = table[tuple(tokens[-2:])].astype(float)
            total += row[token] - np.log(np.exp(row).sum())
            tokens.append(token)
        return total / len(text) ** penalty

    texts = []
    for n in range(1, count + 1):
        for text in itertools.product(range(4), repeat=n):
            if stop not in text[:-1] and (text[-1] == stop or n == count):
                texts.append(text)
    text = max(texts, key=score)
    return score(text), [t for t in text if t != stop]


@pytest.mark.parametrize("penalty", [1.0, 0.0, 2.0, -1.0])
@pytest.mark.parametrize("seed", range(4))
def test_enough_beams_find_the_best_text(llm, config, seed, penalty):
    table = np.random.default_rng(seed).normal(0, 1.5, (4, 4, 4)).astype(np.float32)
    runner = Letters(config, table)
    served = llm.engine.Engine(runner, 400, texts=64)
    request = llm.continuations.Beams([1, 2, 1], 4, [3], beams=27, penalty=penalty)
    served.submit(request)
    served.drain()
    score, text = best(table, [1, 2, 1], 4, 3, penalty)
    assert request.output == text
    assert request.score == pytest.approx(score)
    assert served.pool.free == 400
    assert runner.copies > 0 or len(text) < 2


def test_one_beam_is_the_likeliest_token_each_time(llm, model, prompts, expected):
    served = engine(llm, model)
    request = llm.continuations.Beams(prompts[1], 6, beams=1)
    served.submit(request)
    served.drain()
    assert request.output == expected[1]


def test_beams_share_blocks_and_go_on_after_they_gave_them_back(llm, model, prompts):
    def found(blocks, *others):
        served = engine(llm, model, blocks)
        request = llm.continuations.Beams(prompts[1], 6, beams=3)
        for other in others:
            served.submit(llm.continuations.Sampled(other, 20))
        served.submit(request)
        least = blocks
        while served.running or served.waiting:
            served.step()
            least = min(least, served.pool.free)
        assert served.pool.free == blocks
        return request.output, blocks - least, served.statistics.preemptions

    text, used, _ = found(64)
    assert used < 3 * -(-23 // 4)  # less than three tables of their own
    again, _, preemptions = found(19, prompts[3], prompts[4])
    assert again == text and preemptions > 0


# --- what is refused, and what leaves ---------------------------------------------------------------------------------


def test_what_could_never_run_is_refused(llm, model):
    served = engine(llm, model, blocks=4, texts=2)
    sampled, beams = llm.continuations.Sampled, llm.continuations.Beams
    for request, message in (
        (sampled([], 4), "a prompt and 1 token or more"),
        (sampled([1], 0), "a prompt and 1 token or more"),
        (sampled([288], 4), "tokens from 0 to 287"),
        (sampled([-1], 4), "tokens from 0 to 287"),
        (sampled([1] * 200, 100), "256 tokens at most"),
        (sampled([1] * 16, 1), "16 tokens in the cache"),
        (beams([1] * 8, 1, beams=3), "1 to 2 beams"),
    ):
        with pytest.raises(llm.engine.Refused, match=message):
            served.submit(request)
    assert not served.waiting and served.pool.free == 4


def test_who_leaves_frees_its_blocks(llm, model, prompts):
    served = engine(llm, model)
    told = []
    requests = [llm.continuations.Sampled(p, 50, told=lambda *x: told.append(x)) for p in prompts[:3]]
    for request in requests:
        served.submit(request)
    served.step()
    requests[1].cancel()
    free = served.pool.free
    served.step()
    assert requests[1].reason == "cancelled" and served.pool.free > free
    assert [r.reason for r in requests] == [None, "cancelled", None]
    for request in (requests[0], requests[2]):
        request.cancel()
    served.drain()
    assert served.pool.free == 64 and [x for x in told if x[1]] == [([], "cancelled")] * 3


def test_who_leaves_the_queue_holds_no_place_in_it(llm, model, prompts):
    """Also behind a request for which there is no room yet."""
    served = engine(llm, model, blocks=12)
    requests = [llm.continuations.Sampled(prompts[i], 6) for i in (3, 1, 0, 5)]  # the first leaves no room
    for request in requests:
        served.submit(request)
    served.step()
    assert len(served.waiting) == 3
    requests[2].cancel()
    served.step()
    assert requests[2].reason == "cancelled" and list(served.waiting) == [requests[1], requests[3]]
    served.drain()
    assert [r.reason for r in requests] == ["length", "length", "cancelled", "length"] and served.pool.free == 12


def test_an_error_of_the_model_ends_those_who_asked_and_no_others(llm, model, prompts, expected):
    served = engine(llm, model)
    run, asked = served.runner.run, threading.Event()
    served.runner.run = lambda *args: 1 / 0
    first = llm.continuations.Sampled(prompts[0], 6, told=lambda tokens, reason: reason and asked.set())
    served.submit(first)
    thread = threading.Thread(target=served.serve)
    thread.start()
    assert asked.wait(30)
    served.runner.run = run
    second = llm.continuations.Sampled(prompts[0], 6)
    served.submit(second)
    served.close()
    thread.join(60)
    assert isinstance(first.reason, ZeroDivisionError)
    assert second.output == expected[0] and served.pool.free == 64


def test_tables_share_and_copy(llm):
    pool = llm.paging.Pool(4, 2)
    table = llm.paging.Table(pool)
    assert table.missing(3) == 2 and table.reserve(3) is None
    table.length = 3
    other = table.fork()
    assert other.missing(1) == 1 and pool.free == 2
    source, target = other.reserve(1)
    assert (source, target) == (table.blocks[1], other.blocks[1]) and other.blocks[0] == table.blocks[0]
    assert table.reserve(1) is None  # nobody else has it any more
    with pytest.raises(llm.paging.NoBlocks):
        other.reserve(8)
    assert pool.free == 1
    table.clear()
    other.clear()
    assert pool.free == 4
