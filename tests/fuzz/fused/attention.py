"""Attention by every name, of queries by keys that are formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import paddle
import paddle.incubate.nn.functional as FF
import paddle.nn.functional as F
from paddle.nn.functional import flash_attention as flash
from tests.fuzz.fused.record import LOWEST, Call, chosen, log_sum_exp, normal, softmax

HEADS = ((1, 1), (2, 1), (2, 2), (6, 2), (3, 3))  # heads of queries, of keys
DIMS = (1, 5, 8, 16, 33)


@dataclass(frozen=True)
class Scored:
    """Of heads one after another: results ``[*, queries, dim]``, weights, log-sum-exp."""

    out: np.ndarray
    weights: np.ndarray
    lse: np.ndarray


def attend(q: Any, k: Any, v: Any, seen: Any, scale: float | None = None, added: Any = 0.0, cap: float = 0.0) -> Scored:
    """``[*, heads, rows, dim]``; key heads are repeated."""
    group = q.shape[-3] // k.shape[-3]
    k, v = (np.repeat(x, group, -3) for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if cap:
        scores = cap * np.tanh(scores / cap)
    scores = np.where(seen, scores + added, -np.inf)
    weights = softmax(scores)
    return Scored(weights @ v, weights, log_sum_exp(scores))


def transposed(*arrays: np.ndarray) -> list[np.ndarray]:
    """Heads before rows, or after them again."""
    return [np.swapaxes(x, -2, -3) for x in arrays]


def triangle(n: int, m: int, shift: int = 0) -> np.ndarray:
    return np.arange(m) <= np.arange(n)[:, None] + shift


def lengths(rng: np.random.Generator) -> int:
    return int(rng.choice([0, 1, 2, 3, 7, 17, 40, 129], p=[0.1, 0.15, 0.1, 0.15, 0.15, 0.15, 0.15, 0.05]))


def operands(fixed: np.random.Generator, rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, ...]:
    heads, key_heads = chosen(fixed, *HEADS)
    dim = chosen(fixed, *DIMS)
    batch = int(rng.choice([0, 1, 2, 3], p=[0.1, 0.4, 0.3, 0.2]))
    return (
        normal(rng, batch, n, heads, dim),
        normal(rng, batch, m, key_heads, dim),
        normal(rng, batch, m, key_heads, dim),
    )


def flash_attention(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    causal, scale, weights = bool(fixed.integers(2)), chosen(fixed, None, 0.3), bool(fixed.integers(2))
    n, m = lengths(rng), lengths(rng)

    def ours(q: Any, k: Any, v: Any) -> Any:
        found = F.flash_attention.flash_attention(q, k, v, 0.0, causal, weights, softmax_scale=scale)
        return found if weights else found[0]

    def judge(q: Any, k: Any, v: Any) -> Any:
        found = attend(*transposed(q, k, v), triangle(q.shape[1], k.shape[1]) if causal else True, scale)
        out = transposed(found.out)[0]
        return (out, found.weights) if weights else out

    text = f"flash_attention causal={causal} scale={scale} weights={weights}"
    return Call(text, ours, judge, operands(fixed, rng, n, m), (0, 1, 2), names=("flash_attention",))


def flash_attn_qkvpacked(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    causal = bool(fixed.integers(2))
    heads, key_heads = chosen(fixed, *HEADS)
    dim, batch = chosen(fixed, *DIMS), int(rng.integers(0, 3))

    def ours(qkv: Any) -> Any:
        return F.flash_attn_qkvpacked(qkv, 0.0, causal)[0]

    def judge(qkv: np.ndarray) -> np.ndarray:
        b, n, _, _, d = qkv.shape
        # Query heads of a key head follow each other in attention, and lie in groups of one of each here.
        q = qkv[:, :, :-2].reshape(b, n, heads, d)
        return transposed(attend(*transposed(q, qkv[:, :, -2], qkv[:, :, -1]), triangle(n, n) if causal else True).out)[
            0
        ]

    array = normal(rng, batch, lengths(rng), heads // key_heads + 2, key_heads, dim)
    return Call(f"flash_attn_qkvpacked causal={causal} {heads, key_heads}", ours, judge, (array,), (0,),
                names=("flash_attn_qkvpacked",))  # fmt: skip


def ends_of(rng: np.random.Generator, count: int, most: int) -> np.ndarray:
    """Where sequences begin, some of them empty."""
    return np.concatenate([[0], np.cumsum(rng.integers(0, most + 1, count))])


@dataclass(frozen=True)
class Varlen:
    """What calls of several sequences have in common."""

    most: int
    causal: bool
    window: tuple[int, int]
    cap: float
    scale: float

    def seen(self, n: int, m: int) -> np.ndarray:
        behind = np.arange(m) - np.arange(n)[:, None] - (m - n)  # how far behind its own place a key lies
        left, right = self.window[0], 0 if self.causal else self.window[1]
        return (behind <= right if right >= 0 else True) & (behind >= -left if left >= 0 else np.full((n, m), True))

    def judge(self, q: Any, k: Any, v: Any, q_ends: Any, k_ends: Any, used: Any = None) -> tuple[np.ndarray, ...]:
        """Results, log-sum-exp, weights, with zeros where no sequence is."""
        heads = q.shape[1]
        out = np.zeros((len(q), heads, v.shape[2]))
        lse = np.full((heads, len(q)), LOWEST)
        weights = np.zeros((len(q_ends) - 1, heads, self.most, self.most))
        for i in range(len(q_ends) - 1):
            n, m = (min(int(e[i + 1] - e[i]), self.most) for e in (q_ends, k_ends))
            if used is not None:
                n, m = min(n, int(used[0][i])), min(m, int(used[1][i]))
            rows, keys = (slice(int(e[i]), int(e[i]) + c) for e, c in ((q_ends, n), (k_ends, m)))
            found = attend(*transposed(q[rows], k[keys], v[keys]), self.seen(n, m), self.scale, cap=self.cap)
            out[rows] = transposed(found.out)[0]
            lse[:, rows], weights[i, :, :n, :m] = found.lse, found.weights
        return out, lse, weights


def varlen(fixed: np.random.Generator, rng: np.random.Generator, windowed: bool = False) -> Any:
    heads, key_heads = chosen(fixed, *HEADS)
    dim, count, alike = chosen(fixed, *DIMS), int(rng.integers(1, 5)), bool(fixed.integers(2))
    most = chosen(fixed, 3, 9, 40)
    window = (int(fixed.integers(-1, 4)), int(fixed.integers(-1, 3))) if windowed else (-1, -1)
    cap = float(chosen(fixed, 0.0, 0.0, 1.5)) if windowed else 0.0
    q_ends = ends_of(rng, count, most)
    k_ends = q_ends if alike else ends_of(rng, count, most)
    behind = int(rng.integers(0, 3))  # rows that no sequence has
    rows, keys = int(q_ends[-1]) + behind, int(k_ends[-1]) + behind
    arrays = (normal(rng, rows, heads, dim), normal(rng, keys, key_heads, dim), normal(rng, keys, key_heads, dim))
    kind = Varlen(most, bool(fixed.integers(2)), window, cap, chosen(fixed, 0.4, dim**-0.5))
    return kind, (*arrays, q_ends.astype("int32"), k_ends.astype("int32"))


def flash_attn_unpadded(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    kind, arrays = varlen(fixed, rng)
    weights = bool(fixed.integers(2))

    def ours(q: Any, k: Any, v: Any, a: Any, b: Any) -> Any:
        found = flash.flash_attn_unpadded(q, k, v, a, b, kind.most, kind.most, kind.scale, 0.0, kind.causal, weights)
        return found if weights else found[0]

    def judge(*given: Any) -> Any:
        out, _, formed = kind.judge(*given)
        return (out, formed) if weights else out

    text = f"flash_attn_unpadded {kind} weights={weights}"
    return Call(text, ours, judge, arrays, (0, 1, 2), names=("flash_attn_unpadded",))


def flash_attention_v3_varlen(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    kind, arrays = varlen(fixed, rng, windowed=True)
    name = chosen(fixed, "flash_attention_v3_varlen", "flash_attn_varlen_func")
    function = getattr(flash, name)
    some = bool(fixed.integers(2))
    if some:
        used = [rng.integers(0, np.minimum(np.diff(e), kind.most) + 1).astype("int32") for e in arrays[3:]]
        arrays = (*arrays, *used)

    def ours(q: Any, k: Any, v: Any, a: Any, b: Any, *used: Any) -> Any:
        out, lse = function(
            q, k, v, a, b, kind.most, kind.most, *(used or (None, None)), softmax_scale=kind.scale,
            causal=kind.causal, window_size=kind.window, softcap=kind.cap,
        )  # fmt: skip
        return out, paddle.clip(lse, LOWEST)

    def judge(*given: Any) -> Any:
        return kind.judge(*given[:5], used=given[5:] or None)[:2]

    return Call(f"{name} {kind} used={some}", ours, judge, arrays, (0, 1, 2), names=(name,))


def flash_attn_varlen_qkvpacked(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    kind, (q, k, v, ends, _) = varlen(fixed, rng)
    padded = bool(fixed.integers(2))
    heads, key_heads = q.shape[1], k.shape[1]
    rows = (len(ends) - 1) * kind.most if padded else len(q)
    array = normal(rng, rows, heads // key_heads + 2, key_heads, q.shape[2])

    def ours(qkv: Any, ends: Any) -> Any:
        return F.flash_attn_varlen_qkvpacked(
            qkv, ends, ends, kind.most, kind.most, kind.scale, 0.0, kind.causal, varlen_padded=padded
        )[0]

    def judge(qkv: Any, ends: Any) -> Any:
        q = qkv[:, :-2].reshape(len(qkv), heads, -1)
        if not padded:
            return kind.judge(q, qkv[:, -2], qkv[:, -1], ends, ends)[0]
        out = np.zeros(q.shape)
        for i, n in enumerate(np.diff(ends)):
            place = slice(i * kind.most, i * kind.most + int(n))
            one = np.array([0, n])
            out[place] = kind.judge(q[place], qkv[place, -2], qkv[place, -1], one, one)[0]
        return out

    text = f"flash_attn_varlen_qkvpacked {kind} {heads, key_heads} padded={padded}"
    return Call(text, ours, judge, (array, ends), (0,), names=("flash_attn_varlen_qkvpacked",))


def hidden(columns: np.ndarray, causal: bool, n: int) -> np.ndarray:
    """Of ``[batch, heads, keys, columns]``: ``[batch, heads, queries, keys]``."""
    i, at = np.arange(n)[:, None], [c[..., None, :] for c in np.moveaxis(columns, -1, 0)]
    if causal:
        below = (i >= at[0]) & (i < at[1]) if len(at) == 2 else i >= at[0]
        return below | ~triangle(n, columns.shape[2], columns.shape[2] - n)
    if len(at) == 2:
        return (i >= at[0]) | (i < at[1])
    return ((i >= at[0]) & (i < at[1])) | ((i >= at[2]) & (i < at[3]))


def flashmask_attention(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    """Indices anywhere, also outside of the queries and of intervals that end before they begin."""
    causal = bool(fixed.integers(2))
    width = chosen(fixed, 1, 2) if causal else chosen(fixed, 2, 4)
    heads, key_heads = chosen(fixed, *HEADS)
    mask_heads, dim = chosen(fixed, 1, key_heads, heads), chosen(fixed, *DIMS)
    blocks, scale = bool(fixed.random() < 0.3), chosen(fixed, None, 0.3)
    n, batch = lengths(rng), int(rng.integers(0, 3))
    m = n if rng.random() < 0.7 else max(lengths(rng), n if causal else 0)
    arrays = (normal(rng, batch, n, heads, dim), *(normal(rng, batch, m, key_heads, dim) for _ in range(2)),
              rng.integers(-2, n + 3, (batch, mask_heads, m, width)).astype("int32"))  # fmt: skip
    if blocks:
        arrays = (*arrays, rng.integers(0, 2, (batch, mask_heads, -(-n // 128), -(-m // 128))).astype("int32"))

    def ours(q: Any, k: Any, v: Any, columns: Any, *block: Any) -> Any:
        out, lse = F.flashmask_attention(
            q, k, v, columns, causal=causal, return_softmax_lse=True, softmax_scale=scale,
            block_mask=block[0] if block else None,
        )  # fmt: skip
        return out, paddle.clip(lse[:, :, : q.shape[1]], LOWEST)

    def judge(q: Any, k: Any, v: Any, columns: Any, *block: Any) -> Any:
        rows, keys = q.shape[1], k.shape[1]
        seen = ~hidden(columns, causal, rows)
        if block:
            seen &= np.repeat(np.repeat(block[0], 128, 2), 128, 3)[:, :, :rows, :keys] != 0
        found = attend(*transposed(q, k, v), np.repeat(seen, q.shape[2] // seen.shape[1], 1), scale)
        return transposed(found.out)[0], found.lse

    text = f"flashmask_attention {width} causal={causal} {heads, key_heads, mask_heads} blocks={blocks} scale={scale}"
    return Call(text, ours, judge, arrays, (0, 1, 2), names=("flashmask_attention",))


def windowed(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    causal, window = bool(fixed.integers(2)), chosen(fixed, 0, 2, (1, 3), (5, 0))
    n = lengths(rng)
    m = n + int(rng.integers(0, 3))

    def ours(q: Any, k: Any, v: Any) -> Any:
        return F.flashmask_attention(q, k, v, causal=causal, window_size=window)

    def judge(q: Any, k: Any, v: Any) -> Any:
        left, right = (window, window) if isinstance(window, int) else window
        rows, keys = q.shape[1], k.shape[1]
        behind = np.arange(keys) - np.arange(rows)[:, None]  # query i stands at key i, as indices have it
        seen = (behind >= -left) & (triangle(rows, keys, keys - rows) if causal else behind <= right)
        return transposed(attend(*transposed(q, k, v), seen).out)[0]

    arrays = operands(fixed, rng, n, m)
    return Call(f"flashmask_attention window={window} causal={causal}", ours, judge, arrays, (0, 1, 2))


def scaled_dot_product_attention(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    """Of rows before heads, and of heads before rows (``paddle.compat``)."""
    compat = bool(fixed.integers(2))
    mask, causal, scale = chosen(fixed, "none", "bool", "float"), bool(fixed.integers(2)), chosen(fixed, None, 0.3)
    causal = causal and not (compat and mask != "none")
    n, m = lengths(rng), lengths(rng)
    q, k, v = operands(fixed, rng, n, m)
    shape = (len(q), q.shape[2], n, m) if fixed.integers(2) else (n, m)
    masks = {"none": (), "bool": (rng.random(shape) < 0.7,), "float": (normal(rng, *shape),)}[mask]
    arrays = (*(transposed(q, k, v) if compat else (q, k, v)), *masks)

    def ours(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        if compat:
            return paddle.compat.nn.functional.scaled_dot_product_attention(
                q, k, v, mask, is_causal=causal, scale=scale, enable_gqa=True
            )
        return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale)

    def judge(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        q, k, v = (q, k, v) if compat else transposed(q, k, v)
        seen = triangle(q.shape[2], k.shape[2]) if causal else np.full((q.shape[2], k.shape[2]), True)
        added = 0.0
        if mask is not None and mask.dtype == bool:
            seen = seen & mask
        elif mask is not None:
            added = mask
        out = attend(q, k, v, seen, scale, added).out
        return out if compat else transposed(out)[0]

    text = f"scaled_dot_product_attention compat={compat} mask={mask} {len(shape)} causal={causal} scale={scale}"
    wanted = (0, 1, 2, 3) if mask == "float" else (0, 1, 2)
    return Call(text, ours, judge, arrays, wanted, names=("scaled_dot_product_attention",))


def sparse_attention(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    batch, heads, dim, n = int(rng.integers(1, 3)), int(fixed.integers(1, 3)), chosen(fixed, *DIMS), lengths(rng)
    padding, pairs = bool(fixed.integers(2)), bool(fixed.integers(2))
    listed = rng.random((heads, n, n)) < 0.4
    # As many positions for each head, in other rows.
    listed = np.stack([[listed[0][rng.permutation(n)] for _ in range(heads)] for _ in range(batch)])
    offset = np.concatenate([np.zeros((batch, heads, 1)), listed.sum(-1).cumsum(-1)], -1).astype("int32")
    columns = np.nonzero(listed)[3].reshape(batch, heads, -1).astype("int32")
    arrays = tuple(normal(rng, batch, heads, n, dim) for _ in range(3))
    masks = [rng.integers(0, 2, (batch, n)).astype("float64")] * padding + [
        rng.integers(0, 2, (n, n)).astype("float64")
    ] * pairs

    def split(masks: tuple) -> tuple:
        return masks[0] if padding else None, masks[-1] if pairs else None

    def ours(q: Any, k: Any, v: Any, offset: Any, columns: Any, *masks: Any) -> Any:
        return F.sparse_attention(q, k, v, offset, columns, *split(masks))

    def judge(q: Any, k: Any, v: Any, offset: Any, columns: Any, *masks: Any) -> Any:
        seen = np.zeros((*q.shape[:3], k.shape[2]), bool)
        for b, h, i in np.ndindex(*q.shape[:3]):
            seen[b, h, i, columns[b, h, offset[b, h, i] : offset[b, h, i + 1]]] = True
        keys, pair = split(masks)
        seen &= True if keys is None else (keys != 0)[:, None, None]
        seen &= True if pair is None else pair != 0
        return attend(q, k, v, seen).out

    text = f"sparse_attention padding={padding} pairs={pairs}"
    return Call(text, ours, judge, (*arrays, offset, columns, *masks), (0, 1, 2), names=("sparse_attention",))


def variable_length(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    heads, key_heads = chosen(fixed, *HEADS)
    dim, causal, prefix = chosen(fixed, *DIMS), bool(fixed.integers(2)), int(fixed.integers(0, 3))
    masked, scale = bool(fixed.integers(2)), chosen(fixed, None, 0.3)
    batch, n = int(rng.integers(1, 4)), lengths(rng)
    m = n if causal else lengths(rng)
    arrays = (normal(rng, batch, heads, n, dim), *(normal(rng, batch, key_heads, m + prefix, dim) for _ in range(2)),
              *(rng.integers(0, most + 1, (batch, 1)).astype("int32") for most in (n, m)))  # fmt: skip
    arrays = (*arrays, *[normal(rng, batch, 1, n, m + prefix)] * masked)

    def ours(q: Any, k: Any, v: Any, rows: Any, keys: Any, *mask: Any) -> Any:
        return FF.variable_length_memory_efficient_attention(
            q, k, v, rows, keys, mask[0] if mask else None, scale, causal, prefix
        )

    def judge(q: Any, k: Any, v: Any, rows: Any, keys: Any, *mask: Any) -> Any:
        i, j = np.arange(q.shape[2])[:, None], np.arange(k.shape[2])
        seen = (i < rows[:, :, None, None]) & (j < keys[:, :, None, None] + prefix)
        if causal:
            seen = seen & (j <= i + prefix)
        return attend(q, k, v, seen, scale, mask[0] if mask else 0.0).out

    text = f"variable_length_memory_efficient_attention {heads, key_heads} causal={causal} {prefix} mask={masked}"
    names = ("variable_length_memory_efficient_attention",)
    return Call(text, ours, judge, arrays, (0, 1, 2), names=names)


def calc_reduced_attention_scores(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    n, m = lengths(rng), lengths(rng)
    q, k, _ = operands(fixed, rng, n, m)

    def scores(q: Any, k: Any) -> np.ndarray:
        q, k = transposed(q, np.repeat(k, q.shape[2] // k.shape[2], 2))
        return q @ np.swapaxes(k, 2, 3) * q.shape[3] ** -0.5

    def ours(q: Any, k: Any, lse: Any) -> Any:
        return flash.calc_reduced_attention_scores(
            q, k, lse.astype("float64" if q.dtype == paddle.float64 else "float32")
        )

    def judge(q: Any, k: Any, lse: Any) -> Any:
        return np.exp(scores(q, k) - lse[..., None]).sum(2, keepdims=True)

    lse = np.round(log_sum_exp(scores(q, k)) * 32) / 32 + 1
    return Call("calc_reduced_attention_scores", ours, judge, (q, k, lse), other_dtype=True,
                names=("calc_reduced_attention_scores",))  # fmt: skip


FAMILIES = (
    flash_attention,
    flash_attn_qkvpacked,
    flash_attn_unpadded,
    flash_attention_v3_varlen,
    flash_attn_varlen_qkvpacked,
    flashmask_attention,
    windowed,
    scaled_dot_product_attention,
    sparse_attention,
    variable_length,
    calc_reduced_attention_scores,
)
