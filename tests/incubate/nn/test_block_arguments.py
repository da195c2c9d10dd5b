"""What block_multihead_attention does around its attention: bias, rotation, masks, prefixes, levels."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.incubate.nn.functional import block_multihead_attention
from tests.support.attended import attended, ints

HEADS, KEY_HEADS, SIZE, ROWS = 4, 2, 8, 4
TABLE = np.array([[3, 7, 1, 8], [2, 0, 6, 5], [4, 9, 10, 11]], np.int32)
PARTS = slice(0, HEADS), slice(HEADS, HEADS + KEY_HEADS), slice(HEADS + KEY_HEADS, None)


def caches(dtype="float64"):
    return [paddle.zeros([12, KEY_HEADS, ROWS, SIZE], dtype) for _ in range(2)]


def step(x, pages, new, before, function=block_multihead_attention, **more):
    """A call with tokens ``[tokens, heads + 2 * key heads, size]``."""
    prompts = [n if not m else 0 for n, m in zip(new, before)]
    lengths = ints(prompts), ints(before), ints(new)
    qkv = x if isinstance(x, paddle.Tensor) else paddle.to_tensor(x.reshape(len(x), -1))
    return function(qkv, *pages, *lengths, None, None, None, None, ints(TABLE), block_size=ROWS, **more)


def draw(rng, tokens):
    return rng.standard_normal((tokens, HEADS + 2 * KEY_HEADS, SIZE))


def split(x, new):
    """By sequence: query, key, value."""
    ends = np.cumsum(new)
    return [[x[e - n : e, part] for part in PARTS] for n, e in zip(new, ends)]


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("neox", [False, True])
def test_bias_and_rotation(rng, captured, neox):
    """Query and key are rotated by their positions, and qkv then holds what was attended with."""
    function = paddle.jit.to_static(block_multihead_attention) if captured else block_multihead_attention
    angles, bias, pages = rng.standard_normal((1, 16, 1, SIZE // 2)), rng.standard_normal(8 * SIZE), caches()
    rope = paddle.to_tensor(np.stack([np.cos(angles), np.sin(angles)]).astype("float32"))
    history = [np.zeros((0, KEY_HEADS, SIZE))] * 3, [np.zeros((0, KEY_HEADS, SIZE))] * 3
    for new, before in (([5, 0, 3], [0, 0, 0]), ([1, 2, 1], [5, 0, 3])):
        x = draw(rng, sum(new))
        qkv = paddle.to_tensor(x.reshape(len(x), -1))
        out, same, *_ = step(
            qkv, pages, new, before, function, rope_emb=rope, use_neox_style=neox, qkv_bias=paddle.to_tensor(bias)
        )
        x = x + bias.reshape(-1, SIZE)
        position = np.concatenate([np.arange(m, m + n) for n, m in zip(new, before)])
        both = x[:, : HEADS + KEY_HEADS]
        z = both[..., : SIZE // 2] + 1j * both[..., SIZE // 2 :] if neox else both[..., ::2] + 1j * both[..., 1::2]
        z = z * np.exp(1j * angles[0, position])
        x[:, : HEADS + KEY_HEADS] = (
            np.concatenate([z.real, z.imag], -1) if neox else np.stack([z.real, z.imag], -1).reshape(both.shape)
        )
        want = []
        for b, (q, k, v) in enumerate(split(x, new)):
            history[0][b], history[1][b] = np.concatenate([history[0][b], k]), np.concatenate([history[1][b], v])
            want.append(attended(q, history[0][b], history[1][b]) if len(q) else np.zeros((0, HEADS * SIZE)))
        np.testing.assert_allclose(out.numpy(), np.concatenate(want), atol=1e-5)
        np.testing.assert_allclose(qkv.numpy(), x.reshape(len(x), -1), atol=1e-6)
        assert same is qkv


@pytest.mark.parametrize("given", ["mask", "tgt_mask", "both"])
def test_masks_of_prompts_and_of_the_others(rng, given):
    """A prompt with a mask sees all of its tokens but for it; the others see all before them."""
    pages, new, before = caches(), [5, 1, 1], [0, 6, 3]
    earlier = draw(rng, 9)
    step(earlier, pages, [0, 6, 3], [0, 0, 0])
    x, mask, other = draw(rng, 7), rng.standard_normal((3, 1, 6, 6)), rng.standard_normal((1, HEADS, 1, 8))
    more = {"mask": mask, "tgt_mask": other}
    more = {name: paddle.to_tensor(m) for name, m in more.items() if given in (name, "both")}
    out = step(x, pages, new, before, **more)[0].numpy()
    old, want = [[np.zeros((0, KEY_HEADS, SIZE))] * 3, *split(earlier, [6, 3])], []
    for b, (q, k, v) in enumerate(split(x, new)):
        keys, values = np.concatenate([old[b][1], k]), np.concatenate([old[b][2], v])
        if b:
            added = other[0, :, :, : len(keys)] if "tgt_mask" in more else None
        else:
            added = mask[0, :, :5, :5] if "mask" in more else None
        want.append(attended(q, keys, values, added))
    np.testing.assert_allclose(out, np.concatenate(want), atol=1e-6)


@pytest.mark.parametrize("masked", [False, True])
def test_a_prefix_comes_before_position_0(rng, masked):
    """It is written when a prompt begins, and seen by all later tokens."""
    pages, prefix = caches(), rng.standard_normal((2, 3, KEY_HEADS, 3, SIZE))
    more = dict(zip(("pre_key_cache", "pre_value_cache"), map(paddle.to_tensor, prefix)))
    history = [[prefix[i, b].transpose(1, 0, 2) for b in range(3)] for i in (0, 1)]
    mask = rng.standard_normal((3, 1, 5, 8))
    for new, before in (([5, 0, 2], [0, 0, 0]), ([1, 4, 1], [5, 0, 2])):
        x, want = draw(rng, sum(new)), []
        extra = {"mask": paddle.to_tensor(mask)} if masked and not any(before) else {}
        out = step(x, pages, new, before, **more, **extra)[0].numpy()
        for b, (q, k, v) in enumerate(split(x, new)):
            if len(q):
                history[0][b], history[1][b] = np.concatenate([history[0][b], k]), np.concatenate([history[1][b], v])
                added = mask[b, :, : len(q), : len(history[0][b])] if extra else None
                want.append(attended(q, history[0][b], history[1][b], added))
        np.testing.assert_allclose(out, np.concatenate(want), atol=1e-6)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 3e-2)])
@pytest.mark.parametrize("prefix", [0, 2])
def test_a_cache_of_bytes(rng, dynamic, dtype, tolerance, prefix):
    """Attention over what bytes stand for: levels of known scales, or of the largest number of each prompt and head."""
    pages = caches("uint8")
    shape = (3, KEY_HEADS) if dynamic else (KEY_HEADS,)
    scales = np.full((2, *shape), np.nan) if dynamic else rng.uniform(20, 40, (2, *shape))
    names = [f"cache_{x}_{kind}_scales" for kind in ("quant", "dequant") for x in "kv"]
    held = {n: paddle.to_tensor(s.astype("float32")) for n, s in zip(names, [*scales, *(1 / scales)])}
    more, first = dict(held), np.zeros((2, 3, prefix, KEY_HEADS, SIZE))
    if prefix:
        first = rng.standard_normal((2, 3, prefix, KEY_HEADS, SIZE))
        pair = [paddle.to_tensor(first[i].transpose(0, 2, 1, 3)).astype(dtype) for i in (0, 1)]
        more |= dict(zip(("pre_key_cache", "pre_value_cache"), pair))
        first = np.stack([p.astype("float64").numpy().transpose(0, 2, 1, 3) for p in pair])
    history = [[np.zeros((0, KEY_HEADS, SIZE))] * 3 for _ in (0, 1)]
    for new, before in (([5, 0, 2], [0, 0, 0]), ([1, 4, 1], [5, 0, 2]), ([1, 1, 1], [6, 4, 3])):
        x = paddle.to_tensor(draw(rng, sum(new)).reshape(sum(new), -1)).astype(dtype)
        out = step(x, pages, new, before, use_dynamic_cachekv_quant=dynamic, **more)[0]
        want = []
        for b, (q, *kv) in enumerate(split(x.astype("float64").numpy().reshape(sum(new), -1, SIZE), new)):
            if not len(q):
                continue
            for i in (0, 1):
                if dynamic and not before[b]:
                    scales[i, b] = 127 / np.abs(kv[i]).max((0, 2))
                scale = scales[i, b] if dynamic else scales[i]
                fresh = kv[i] if before[b] else np.concatenate([first[i, b], kv[i]])
                level = np.clip(np.trunc(fresh * scale[:, None] + np.copysign(0.5, fresh)), -127, 127)
                history[i][b] = np.concatenate([history[i][b], level / scale[:, None]])
            want.append(attended(q, history[0][b], history[1][b]))
        np.testing.assert_allclose(out.astype("float64").numpy(), np.concatenate(want), atol=tolerance)
    if dynamic:
        np.testing.assert_allclose(held["cache_v_quant_scales"].numpy(), scales[1], rtol=1e-6)
        np.testing.assert_allclose(held["cache_k_dequant_scales"].numpy(), 1 / scales[0], rtol=1e-6)


def test_levels_in_and_out(rng):
    """qkv of int32 with a factor for each feature, and an output of int8 after shift and factor."""
    x, factor = rng.integers(-40, 40, (4, 8, SIZE)), rng.uniform(0.02, 0.03, 8 * SIZE)
    shift, smooth = rng.standard_normal(HEADS * SIZE), rng.uniform(0.5, 1, HEADS * SIZE)
    out, same, *_ = step(
        paddle.to_tensor(x.reshape(4, -1).astype("int32")),
        caches("float32"),
        [3, 1, 0],
        [0, 0, 0],
        qkv_out_scale=paddle.to_tensor(factor.astype("float32")),
        compute_dtype="fp32",
        out_shift=paddle.to_tensor(shift.astype("float32")),
        out_smooth=paddle.to_tensor(smooth.astype("float32")),
        out_scale=0.4,
    )
    parts = split(x * factor.reshape(8, SIZE), [3, 1])
    level = 127 * 0.4 * (np.concatenate([attended(*p) for p in parts]) + shift) * smooth
    assert out.dtype == paddle.int8 and same.dtype == paddle.int32
    assert np.abs(out.numpy() - np.clip(level, -127, 127)).max() < 0.51
