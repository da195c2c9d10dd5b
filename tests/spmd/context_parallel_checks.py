"""Attention on several ranks against attention on one: values, gradients, captured steps, refusals, what is sent."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from tests.support.ranks import processes_only
from umiak import comm, masks
from umiak.spmd import context_parallel
from umiak.spmd.context_parallel import Assignment, ContextPlan, Link, TileTimes, exchange, kernels, simulate

TOKENS = 96
FORMS = ("ring", "all_gather")


def families(n):
    """A mask of each family, over documents of ragged lengths."""
    parts = [n // 3 + 7, n // 4 - 3]
    parts.append(n - sum(parts))
    evicted = np.minimum(np.arange(n) + 1 + np.random.default_rng(3).integers(0, n, n), n)
    return {
        "full": masks.full(n),
        "causal": masks.causal(n),
        "window": masks.sliding_window(n, n // 10),
        "two-sided window": masks.sliding_window(n, n // 10, n // 12),
        "causal document": masks.causal_document(parts),
        "document": masks.document(parts),
        "shared question": masks.share_question([(parts[0], parts[1:])]),
        "global and sliding": masks.global_sliding(n, 5, n // 16, n // 20),
        "causal blockwise": masks.causal_blockwise(parts),
        "prefix": masks.prefix(n, n // 2),
        "prefix document": masks.prefix_document(parts, [p // 2 for p in parts]),
        "QK-sparse": masks.qk_sparse(n, [(n // 4, n // 8)]),
        "hash-sparse": masks.hash_sparse([parts, parts[::-1]]),
        "random eviction": masks.random_eviction(evicted),
    }


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def values(attend, arrays, gradient):
    """The result and the gradients of query, key and value."""
    operands = [paddle.to_tensor(x) for x in arrays]
    for x in operands:
        x.stop_gradient = False
    out = attend(*operands)
    out.backward(paddle.to_tensor(gradient).astype(out.dtype))
    return [x.astype("float32").numpy() for x in (out, *(x.grad for x in operands))]


def compare(mask, plan, form, heads=4, key_heads=2, batch=2, dims=(8, 8), dtype="float32", tolerance=2e-5, scale=None):
    rank, n = comm.world().rank, mask.keys
    shapes = [(n, heads, dims[0]), (n, key_heads, dims[0]), (n, key_heads, dims[1]), (n, heads, dims[1])]
    *arrays, gradient = (draw(i, batch, *shape) for i, shape in enumerate(shapes))
    rows = paddle.to_tensor(mask.indices)

    def alone(*x):
        return F.flashmask_attention(*(t.astype(dtype) for t in x), rows, causal=mask.causal, softmax_scale=scale)

    def together(*x):
        return context_parallel.attention(*(t.astype(dtype) for t in x), plan, form=form, softmax_scale=scale)

    expected = [plan.part(x, rank) for x in values(alone, arrays, gradient)]
    results = values(together, [plan.part(x, rank) for x in arrays], plan.part(gradient, rank))
    for a, b in zip(results, expected, strict=True):
        np.testing.assert_allclose(a, b, tolerance, tolerance)


def assigned(mask, chunks):
    """A plan with given chunks of each rank."""
    return ContextPlan(mask, Assignment(tuple(map(tuple, chunks)), (1.0,) * len(chunks), 1.0, False))


def check_families(rank, size):
    """Every family, with grouped heads, in both forms by turns."""
    for i, mask in enumerate(families(TOKENS).values()):
        compare(mask, context_parallel.plan(mask, size), FORMS[i % 2])


def check_shapes_and_dtypes(rank, size):
    mask = families(TOKENS)["causal document"]
    plan = context_parallel.plan(mask, size, chunks=4)
    for form in FORMS:
        compare(mask, plan, form, heads=2, key_heads=2, batch=1, dims=(16, 5), scale=0.3)
        compare(mask, plan, form, heads=3, key_heads=1, batch=3, dtype="float64")
        compare(mask, plan, form, dtype="bfloat16", tolerance=4e-2)


def check_any_assignment(rank, size):
    """Chunks as somebody else has assigned them, of one token, too."""
    for seed, each in enumerate((1, 2, TOKENS // size)):
        order = np.random.default_rng(seed).permutation(size * each).reshape(size, each)
        chunks = np.sort(order, 1).tolist()
        for mask in (families(TOKENS)["global and sliding"], families(TOKENS)["shared question"]):
            compare(mask, assigned(mask, chunks), FORMS[seed % 2])


def check_random_masks(rank, size):
    """Any intervals, over one batch entry or each, one head or several; any chunks."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        causal, columns = [(True, 1), (True, 2), (False, 2), (False, 4)][seed % 4]
        shape = (int(rng.choice([1, 2])), int(rng.choice([1, 2, 4])), TOKENS, columns)
        mask = masks.ColumnMask(rng.integers(-5, TOKENS + 5, shape).astype(np.int32), causal, TOKENS)
        each = int(rng.choice([n for n in (1, 2, 4, 8) if TOKENS % (n * size) == 0]))
        order = np.sort(rng.permutation(size * each).reshape(size, each), 1)
        compare(mask, assigned(mask, order.tolist()), str(rng.choice(FORMS)))


def check_groups(rank, size):
    """A group whose ranks stand in another order, as either API has it; mixed precision."""
    mask = families(TOKENS)["causal document"]
    plan = context_parallel.plan(mask, size)
    ranks = list(range(size))[::-1]
    public = paddle.distributed.new_group(ranks)
    x = draw(0, 1, TOKENS, 2, 8)
    whole = F.flashmask_attention(*[paddle.to_tensor(x)] * 3, paddle.to_tensor(mask.indices), causal=True).numpy()
    own = paddle.to_tensor(plan.part(x, ranks.index(rank)))
    for group in (public, public.process_group):
        out = context_parallel.attention(own, own, own, plan, group=group)
        np.testing.assert_allclose(out.numpy(), plan.part(whole, ranks.index(rank)), 2e-5, 2e-5)
    with paddle.amp.auto_cast(dtype="bfloat16"):
        out = context_parallel.attention(own, own, own, plan, group=public)
    assert out.dtype == paddle.bfloat16
    np.testing.assert_allclose(out.astype("float32").numpy(), plan.part(whole, ranks.index(rank)), 4e-2, 4e-2)


def check_queries_that_see_nothing(rank, size):
    """Results of 0, and no gradient; a chunk whose queries and keys meet nothing."""
    indices = np.zeros((1, 1, TOKENS, 2), np.int32)
    indices[..., 0], indices[..., 1] = TOKENS, TOKENS // 2
    mask = masks.ColumnMask(indices, False, TOKENS)
    for form in FORMS:
        compare(mask, context_parallel.plan(mask, size), form)


def check_batches_and_heads_of_masks(rank, size):
    """Other documents in each sequence; a mask for each key head and for each query head."""
    of_batch = [masks.causal_document(x).indices for x in ([40, 56], [11, 60, 25])]
    of_heads = [masks.causal_document(x).indices for x in ([96], [50, 46], [5, 91], [30, 30, 36])]
    for indices in (np.concatenate(of_batch), np.concatenate(of_heads[:2], 1), np.concatenate(of_heads, 1)):
        mask = masks.ColumnMask(indices, True, TOKENS)
        compare(mask, context_parallel.plan(mask, size), "ring")


WORD = 8  # bytes in which ranks tell each other that they have the same plan


def check_hidden_keys_are_never_sent(rank, size):
    """Of documents of a rank's own nothing is sent but that all ranks have the same plan; of others as much as the
    simulation says."""
    mask = masks.causal_document([TOKENS // size] * size)
    own = assigned(mask, [[r] for r in range(size)])
    group, sent = comm.world(), []
    send = group.channel.send
    group.channel.send = lambda x, peer, tag: (sent.append(x.size), send(x, peer, tag))[1]
    try:
        for form in FORMS:
            compare(mask, own, form)
            assert all(n == WORD for n in sent), sent
        for other in (masks.causal(TOKENS), families(TOKENS)["shared question"]):
            sent.clear()
            plan = context_parallel.plan(other, size)
            compare(other, plan, "ring", heads=4, key_heads=2, batch=2)
            step = simulate(plan, TileTimes(), Link(), heads=4, key_heads=2, dim=8, batch=2)
            assert sum(n for n in sent if n != WORD) == step.sent[rank]
            assert size == 1 or step.sent.sum() > 0
    finally:
        del group.channel.send


@processes_only
def check_later_steps_are_under_way_while_one_is_computed(rank, size):
    """In order: what is started before the first attention, and that large messages move meanwhile."""
    tokens, events, threads = 2048, [], []
    mask, group = masks.causal(tokens), comm.world()
    started, plain, look = group.all_to_all_sized, kernels.plain, exchange.Progress._look
    group.all_to_all_sized = lambda *args: (events.append("exchange"), started(*args))[1]
    kernels.plain = lambda name, *args, **rest: (events.append(name), plain(name, *args, **rest))[1]
    exchange.Progress._look = lambda self: (threads.append(len(self.tasks)), look(self))[1]
    try:
        compare(mask, context_parallel.plan(mask, size), "ring", heads=4, key_heads=4, batch=1, dims=(32, 32))
    finally:
        del group.all_to_all_sized
        kernels.plain, exchange.Progress._look = plain, look
    order = [e for e in events if e in ("exchange", "attention_train", "attention_grad")]
    first, last = order.index("attention_train"), order.index("attention_grad")
    assert order[:first] == ["exchange"] * 2 * min(size - 1, 4), order
    assert order[last - 1] == "exchange" and order.count("attention_train") == size == order.count("attention_grad")
    assert order.count("exchange") == 6 * (size - 1) and threads, "keys and values twice, their gradients once"


class Model(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        paddle.seed(5)
        self.table, self.qkv, self.out = paddle.nn.Embedding(32, 16), paddle.nn.Linear(16, 48), paddle.nn.Linear(16, 32)

    def forward(self, tokens, attend):
        x = self.table(tokens)
        q, k, v = (t.reshape([*x.shape[:2], 2, 8]) for t in self.qkv(x).split(3, axis=-1))
        return self.out(x + attend(q, k, v).reshape(x.shape))


def trained(step_of, batches, wrap=lambda f: f, parallel=False):
    """Parameters after steps, and the compiled step."""
    net = Model()
    optimizer = paddle.optimizer.Momentum(0.1, parameters=net.parameters())
    run = wrap(step_of(paddle.DataParallel(net) if parallel else net, optimizer))
    for batch in batches:
        run(*batch)
    return {name: p.numpy().copy() for name, p in net.named_parameters()}, run


def check_captured_steps(rank, size):
    """Training steps as one graph, on ranks, equal to steps on one; other documents are no reason to capture again."""
    documents = ([40, 56], [11, 60, 25], [90, 6], [96])
    plans = [context_parallel.plan(masks.causal_document(x), size, chunks=4) for x in documents]
    tokens = [np.random.default_rng(i).integers(0, 32, (1, TOKENS + 1)) for i in range(len(plans))]

    def alone(net, optimizer):
        def step(x, y, rows):
            logits = net(x, lambda q, k, v: F.flashmask_attention(q, k, v, rows, causal=True))
            loss = F.cross_entropy(logits, y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        return step

    def together(net, optimizer):
        def step(x, y, plan):
            loss = F.cross_entropy(net(x, lambda q, k, v: context_parallel.attention(q, k, v, plan)), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        return step

    inputs = [(paddle.to_tensor(t[:, :-1]), paddle.to_tensor(t[:, 1:])) for t in tokens]
    expected, _ = trained(alone, [(*xy, paddle.to_tensor(p.mask.indices)) for xy, p in zip(inputs, plans)])
    shares = [(*(p.part(x, rank) for x in xy), p.tensors()) for xy, p in zip(inputs, plans)]
    whole = functools.partial(paddle.jit.to_static, full_graph=True)
    for wrap in (lambda f: f, whole, paddle.jit.to_static):
        results, run = trained(together, shares, wrap, parallel=True)
        for name, value in expected.items():
            np.testing.assert_allclose(results[name], value, 2e-4, 2e-5, err_msg=name)
    assert run.graph_breaks == [] and run.fallbacks == [], (run.graph_breaks, run.fallbacks)
    assert len(run._captures()) == 1


def check_refusals(rank, size):
    """On every rank, before anything is sent; the next call is right."""
    mask = masks.causal(TOKENS)
    plan = context_parallel.plan(mask, size, chunks=2)
    rows, chunks, causal = plan.tensors()
    x = paddle.zeros([1, TOKENS // size, 2, 8])
    attend = context_parallel.attention

    def refused(message, *operands, kind=ValueError, **options):
        with pytest.raises(kind, match=message):
            attend(*operands, **options)

    refused(
        r"requires query heads that are a multiple of key heads", paddle.zeros([1, TOKENS // size, 3, 8]), x, x, plan
    )
    refused(r"\[context_attention\] requires query, key and value \[batch, tokens, heads, dim\]", x[0], x, x, plan)
    refused(r"of the same tokens", x, x[:, 1:], x[:, 1:], plan)
    longer = paddle.zeros([1, TOKENS // size + 2, 2, 8])
    refused(r"requires a mask of int32 of shape", longer, longer, longer, plan)
    refused(r"multiple of its 2 chunks", x[:, 1:], x[:, 1:], x[:, 1:], plan)
    refused(r"\[context_attention\] requires a form of", x, x, x, plan, form="star")
    refused(rf"chunks for each of the {size} ranks", x, x, x, (rows, paddle.concat([chunks, chunks]), causal))
    twice = paddle.to_tensor(np.zeros((size, 2), np.int64))
    refused(r"on one rank, rising", x, x, x, (rows, twice, causal))
    if size > 1:
        other = paddle.to_tensor(masks.causal_document([TOKENS - rank - 1, rank + 1]).indices)
        refused(r"requires the same mask, chunks, shapes", x, x, x, (other, chunks, causal), kind=comm.CommError)
        first, same = rank == 0, r"requires the same mask, chunks, shapes, dtypes and scale"
        heads, wide = paddle.zeros([1, TOKENS // size, 4, 8]), x.astype("float64")
        two = paddle.concat([rows, rows], axis=3)
        refused(same, x, x, x, plan, softmax_scale=0.5 if first else 0.25, kind=comm.CommError)
        refused(same, x, x, x, plan, form=FORMS[first], kind=comm.CommError)
        refused(same, x, x, x, (two, chunks, first), kind=comm.CommError)
        refused(same, *[wide if first else x] * 3, plan, kind=comm.CommError)
        refused(same, heads if first else x, x, x, plan, kind=comm.CommError)
        mine = twice if rank == 0 else chunks
        kind = ValueError if rank == 0 else comm.CommError
        refused(
            r"on one rank, rising" if rank == 0 else r"ranks \[0\] have refused",
            x,
            x,
            x,
            (rows, mine, causal),
            kind=kind,
        )
    compare(mask, plan, "ring")
