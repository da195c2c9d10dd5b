"""Attention whose keys go around a ring, as a layer of the program: kernels by name, messages in pairs."""

import numpy as np

import paddle
import paddle.distributed as dist
import paddle.nn.functional as F
from paddle import _C_ops
from paddle.autograd import PyLayer

TOKENS = 16  # of a half of a rank's


class Ring:
    """Two tensors of this rank, then those of the rank before, and so on."""

    def __init__(self, rank, size, *tensors):
        self.after, self.before = (rank + 1) % size, (rank - 1) % size
        self.now = [x.clone() for x in tensors]

    def turn(self):
        if self.after == self.before == dist.get_rank():
            return
        come = [paddle.zeros_like(x) for x in self.now]
        sends = [dist.P2POp(dist.isend, x, self.after) for x in self.now]
        receives = [dist.P2POp(dist.irecv, x, self.before) for x in come]
        for task in dist.batch_isend_irecv([*sends, *receives]):
            task.wait()
        self.now = come


def parts(step, rank, causal):
    """What meets at a step: queries from a place on, keys up to a place, and whether their order counts."""
    if not causal or step == 0:
        return 0, 2 * TOKENS, causal
    return (TOKENS, 2 * TOKENS, False) if step > rank else (0, TOKENS, False)


class RingAttention(PyLayer):
    @staticmethod
    def forward(ctx, q, k, v, causal):
        rank, size = dist.get_rank(), dist.get_world_size()
        ring, out, lse = Ring(rank, size, k, v), None, None
        for step in range(size):
            first, last, order = parts(step, rank, causal)
            key, value = (x[:, :last] for x in ring.now)
            one, _, sums, _ = _C_ops.flash_attn(q[:, first:], key, value, None, None, 0.0, order, False, False, "")
            sums = paddle.unsqueeze_(paddle.transpose_(sums[:, :, : 2 * TOKENS - first].clone(), [0, 2, 1]), axis=-1)
            if out is None:
                out, lse = one, sums
            else:
                old, old_sums = out[:, first:], lse[:, first:]
                out[:, first:] = old - (old - one) * F.sigmoid(sums - old_sums)
                lse[:, first:] = old_sums - F.log_sigmoid(old_sums - sums)
            ring.turn()
        ctx.causal = causal
        ctx.save_for_backward(q, k, v, out, lse.squeeze(-1).transpose([0, 2, 1]))
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, out, lse = ctx.saved_tensor()
        rank, size = dist.get_rank(), dist.get_world_size()
        of_query, ring = paddle.zeros_like(q), Ring(rank, size, k, v)
        grads = Ring(rank, size, paddle.zeros_like(k), paddle.zeros_like(v))
        for step in range(size):
            first, last, order = parts(step, rank, ctx.causal)
            key, value = (x[:, :last] for x in ring.now)
            a, b, c = _C_ops.flash_attn_grad(
                q[:, first:], key, value, out[:, first:], lse[:, :, first:], None, None, grad[:, first:], 0.0, order
            )
            of_query[:, first:].add_(a)
            for total, x in zip(grads.now, (b, c), strict=True):
                total[:, :last].add_(x)
            grads.turn()
            ring.turn()
        return of_query, *grads.now


def check_attention_around_a_ring(rank, size):
    """Each rank has the chunks of as many from the front and from the back, so that causal order is equal work."""
    rng = np.random.default_rng(size)

    def own(x):
        chunks = np.split(np.asarray(x), 2 * size, 1)
        return np.concatenate([chunks[rank], chunks[2 * size - 1 - rank]], 1)

    drawn = [rng.standard_normal((2, 2 * size * TOKENS, heads, 8)).astype("float32") for heads in (4, 2, 2, 4)]
    for causal in (False, True):
        every = [paddle.to_tensor(x, stop_gradient=False) for x in drawn[:3]]
        want = F.scaled_dot_product_attention(*every, is_causal=causal)
        wanted = paddle.grad([want], every, [paddle.to_tensor(drawn[3])])
        mine = [paddle.to_tensor(own(x), stop_gradient=False) for x in drawn[:3]]
        out = RingAttention.apply(*mine, causal)
        out.backward(paddle.to_tensor(own(drawn[3])))
        for x, y in zip([out, *(x.grad for x in mine)], [want, *wanted], strict=True):
            np.testing.assert_allclose(x.numpy(), own(y.numpy()), rtol=1e-5, atol=1e-5)
