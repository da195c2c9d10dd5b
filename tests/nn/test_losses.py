"""Every loss against PyTorch, or a formula written with it, and against results recorded from the reference framework
(tests/data/losses.jsonl: results of the calls of loss_cases.py, and of each gradient its sum with two sets of weights).
"""

from __future__ import annotations

import inspect
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import loss_cases
import numpy as np
import pytest
import torch
import torch.nn.functional as T
from harness import run_traced
from loss_cases import ROWS, Case, cases

import api_surface
import paddle
import paddle.nn.functional as F

RECORDED = [json.loads(line) for line in (Path(__file__).parents[1] / "data" / "losses.jsonl").read_text().splitlines()]
SURFACE = api_surface.read()

# --- the peers -------------------------------------------------------------------------------------------------------

PEERS: dict[str, Callable] = {}


def peer(make: Callable) -> Callable:
    PEERS[make.__name__] = make
    return make


def reduced(loss: Any, reduction: str) -> Any:
    return {"mean": loss.mean, "sum": loss.sum, "none": lambda: loss}[reduction]()


@peer
def cross_entropy(
    input, label, weight=None, ignore_index=-100, reduction="mean", soft_label=False, axis=-1, use_softmax=True,
    label_smoothing=0.0,
):  # fmt: skip
    axis %= input.ndim
    x = input.movedim(axis, -1)
    column = not soft_label and label.ndim == input.ndim
    logp = T.log_softmax(x, -1) if use_softmax else torch.log(x)
    if not soft_label and not label_smoothing:
        rows = (label.squeeze(axis) if column else label).long()
        if reduction == "mean" and bool((rows == ignore_index).all()):
            return logp.sum() * 0
        flat, wanted = logp.reshape(-1, logp.shape[-1]), rows.reshape(-1)
        loss = T.nll_loss(flat, wanted, weight, ignore_index=ignore_index, reduction=reduction)
        loss = loss.reshape(rows.shape) if reduction == "none" else loss
        return loss.unsqueeze(axis) if column and reduction == "none" else loss
    # A weighted soft label counts as much as its classes weigh together, also in the mean.
    ignored = None
    if soft_label:
        q = label.movedim(axis, -1)
    else:
        rows = label.squeeze(axis) if column else label
        ignored = rows == ignore_index
        q = T.one_hot(rows.clamp(min=0), x.shape[-1]).to(x.dtype)
    q = q * (1 - label_smoothing) + label_smoothing / x.shape[-1]
    counts = torch.ones_like(logp[..., 0]) if weight is None else (q * weight).sum(-1)
    if ignored is not None:
        counts = torch.where(ignored, 0, counts)
    loss = -(q * logp).sum(-1) * counts
    if reduction == "mean":
        return loss.sum() / counts.sum()
    return loss.sum() if reduction == "sum" else loss.unsqueeze(axis)


@peer
def softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100, axis=-1):
    return cross_entropy(logits, label, None, ignore_index, "none", soft_label, axis).reshape(
        [1 if i == axis % logits.ndim else n for i, n in enumerate(logits.shape)]
    )


@peer
def nll_loss(input, label, weight=None, ignore_index=-100, reduction="mean"):
    return T.nll_loss(input, label, weight, ignore_index=ignore_index, reduction=reduction)


@peer
def margin_cross_entropy(logits, label, margin1, margin2, margin3, scale, reduction):
    own = T.one_hot(label, logits.shape[1]).bool()
    moved = torch.where(own, torch.cos(margin1 * torch.acos(logits) + margin2) - margin3, logits)
    loss = T.cross_entropy(moved * scale, label, reduction="none").unsqueeze(1)
    return reduced(loss, reduction)


@peer
def hsigmoid_loss(input, label, num_classes, weight, bias=None, path_table=None, path_code=None):
    depth = (num_classes - 1).bit_length()
    losses = []
    for i, x in enumerate(input):
        if path_table is None:
            leaf = int(label[i]) + num_classes
            way = [((leaf >> j + 1) - 1, leaf >> j & 1) for j in range(depth) if leaf >> j + 1]
        else:
            way = [(int(n), int(c)) for n, c in zip(path_table[i], path_code[i], strict=True) if n >= 0]
            depth = path_table.shape[1]
        loss = torch.tensor((depth - len(way)) * np.log(2), dtype=x.dtype)
        for node, turn in way:
            z = weight[node] @ x + (0 if bias is None else bias[node, 0])
            # Clipped in the loss alone.
            z = z + (z.clamp(-40, 40) - z).detach()
            loss = loss + torch.logaddexp(z, torch.zeros_like(z)) - turn * z
        losses.append(loss)
    return torch.stack(losses).unsqueeze(1)


@peer
def adaptive_log_softmax_with_loss(input, label, head_weight, tail_weights, cutoffs, head_bias=None):
    module = torch.nn.AdaptiveLogSoftmaxWithLoss(
        input.shape[1], cutoffs[-1], cutoffs[:-1], div_value=2.0, head_bias=head_bias is not None
    )
    own = {"head.weight": head_weight.T}
    if head_bias is not None:
        own["head.bias"] = head_bias
    for i, (down, up) in enumerate(tail_weights):
        own |= {f"tail.{i}.0.weight": down.T, f"tail.{i}.1.weight": up.T}
    return torch.func.functional_call(module, own, (input, label))


@peer
def binary_cross_entropy(input, label, weight=None, reduction="mean"):
    return T.binary_cross_entropy(input, label, weight, reduction=reduction)


@peer
def binary_cross_entropy_with_logits(logit, label, weight=None, reduction="mean", pos_weight=None):
    return T.binary_cross_entropy_with_logits(logit, label, weight, reduction=reduction, pos_weight=pos_weight)


@peer
def sigmoid_focal_loss(logit, label, normalizer=None, alpha=0.25, gamma=2.0, reduction="sum"):
    p = torch.sigmoid(logit)
    hit = p * label + (1 - p) * (1 - label)
    loss = T.binary_cross_entropy_with_logits(logit, label, reduction="none")
    loss = loss * (alpha * label + (1 - alpha) * (1 - label)) * (1 - hit) ** gamma
    return reduced(loss if normalizer is None else loss / normalizer, reduction)


@peer
def log_loss(input, label, epsilon=1e-4):
    return -label * torch.log(input + epsilon) - (1 - label) * torch.log(1 - input + epsilon)


@peer
def dice_loss(input, label, epsilon=1e-5):
    hot = T.one_hot(label[..., 0], input.shape[-1]).to(input.dtype).flatten(1)
    x = input.flatten(1)
    return (1 - 2 * (x * hot).sum(1) / (x.sum(1) + hot.sum(1) + epsilon)).mean()


@peer
def npair_loss(anchor, positive, labels, l2_reg=0.002):
    same = (labels[:, None] == labels[None]).to(anchor.dtype)
    loss = T.cross_entropy(anchor @ positive.T, same / same.sum(1, keepdim=True), reduction="none")
    return (same / same.sum(1, keepdim=True) * loss[:, None]).sum(0).mean() + 0.25 * l2_reg * (
        (anchor**2).sum(1).mean() + (positive**2).sum(1).mean()
    )


@peer
def mse_loss(input, label, reduction):
    return T.mse_loss(input, label, reduction=reduction)


@peer
def l1_loss(input, label, reduction):
    return T.l1_loss(input, label, reduction=reduction)


@peer
def square_error_cost(input, label):
    return T.mse_loss(input, label, reduction="none")


@peer
def smooth_l1_loss(input, label, reduction, delta, is_huber):
    if is_huber:
        return T.huber_loss(input, label, reduction=reduction, delta=delta)
    return T.smooth_l1_loss(input, label, reduction=reduction, beta=delta)


@peer
def soft_margin_loss(input, label, reduction):
    return T.soft_margin_loss(input, label, reduction=reduction)


@peer
def poisson_nll_loss(input, label, reduction, log_input, full):
    return T.poisson_nll_loss(input, label, log_input, full, reduction=reduction)


@peer
def kl_div(input, label, reduction, log_target):
    loss = T.kl_div(input, label, reduction="none", log_target=log_target)
    return loss.sum() / len(input) if reduction == "batchmean" else reduced(loss, reduction)


@peer
def gaussian_nll_loss(input, label, variance, full, reduction):
    return T.gaussian_nll_loss(input, label, variance, full, reduction=reduction)


@peer
def margin_ranking_loss(input, other, label, margin, reduction):
    return T.margin_ranking_loss(input, other, label, margin, reduction=reduction)


@peer
def hinge_embedding_loss(input, label, margin, reduction):
    return T.hinge_embedding_loss(input, label, margin, reduction=reduction)


@peer
def cosine_embedding_loss(input1, input2, label, margin, reduction):
    one = input1.ndim == 1
    loss = T.cosine_embedding_loss(input1, input2, label[0] if one else label, margin, reduction=reduction)
    return loss.reshape(1) if one and reduction == "none" else loss


@peer
def multi_label_soft_margin_loss(input, label, weight=None, reduction="mean"):
    return T.multilabel_soft_margin_loss(input, label, weight, reduction=reduction)


@peer
def multi_label_margin_loss(input, label, reduction):
    return T.multilabel_margin_loss(input, label, reduction=reduction)


@peer
def multi_margin_loss(input, label, p, margin, reduction, weight=None):
    return T.multi_margin_loss(input, label, p, margin, weight, reduction=reduction)


@peer
def triplet_margin_loss(input, positive, negative, margin, p, swap, reduction):
    return T.triplet_margin_loss(input, positive, negative, margin, p, swap=swap, reduction=reduction)


@peer
def triplet_margin_with_distance_loss(input, positive, negative, margin, swap, reduction):
    return T.triplet_margin_with_distance_loss(
        input, positive, negative, distance_function=lambda a, b: (a - b).norm(dim=-1), margin=margin, swap=swap,
        reduction=reduction,
    )  # fmt: skip


@peer
def ctc_loss(log_probs, labels, input_lengths, label_lengths, blank, reduction, norm_by_times, zero_infinity):
    logp = T.log_softmax(log_probs, 2)
    loss = T.ctc_loss(logp, labels, input_lengths, label_lengths, blank, "none", zero_infinity=True)
    if norm_by_times:
        part = loss / input_lengths
        loss = part + (loss - part).detach()
    return (loss / label_lengths).mean() if reduction == "mean" else reduced(loss, reduction)


@peer
def rnnt_loss(input, label, input_lengths, label_lengths, fastemit_lambda, reduction):
    losses = []
    for x, y, time, count in zip(input, label, input_lengths.tolist(), label_lengths.tolist(), strict=True):
        ways = []
        for when in itertools.combinations(range(time - 1 + count), count):
            t = u = 0
            way = torch.zeros(())
            for step in range(time - 1 + count):
                if step in when:
                    arc = x[t, u, int(y[u])]
                    way, u = way + arc * (1 + fastemit_lambda) - (arc * fastemit_lambda).detach(), u + 1
                else:
                    way, t = way + x[t, u, 0], t + 1
            ways.append(way + x[t, u, 0])
        losses.append(-torch.logsumexp(torch.stack(ways), 0))
    return reduced(torch.stack(losses), reduction)


# --- calls -----------------------------------------------------------------------------------------------------------


def ours(a: np.ndarray, wanted: bool) -> Any:
    t = paddle.to_tensor(a)
    t.stop_gradient = not wanted
    return t


def made(case: Case) -> tuple[list, dict]:
    def weigh(y: Any, w: np.ndarray) -> Any:
        return (y * paddle.to_tensor(w).astype(y.dtype)).sum()

    results, gradients = loss_cases.run(case, getattr(F, case.name), ours, weigh)
    return [r.numpy() for r in results], {k: None if g is None else g.numpy() for k, g in gradients.items()}


def theirs(case: Case) -> tuple[list, dict]:
    def tensor(a: np.ndarray, wanted: bool) -> Any:
        return torch.from_numpy(np.array(a)).requires_grad_(wanted)

    def weigh(y: Any, w: np.ndarray) -> Any:
        return (y * torch.from_numpy(w).to(y.dtype)).sum()

    results, gradients = loss_cases.run(case, PEERS[case.name], tensor, weigh)
    return [r.detach().numpy() for r in results], {k: None if g is None else g.numpy() for k, g in gradients.items()}


def near(case: Case, got: Any, want: Any, what: str, rtol: float = 2e-5, atol: float = 2e-6) -> None:
    assert (got is None) == (want is None), f"{case}: {what} is {got}, expected {want}"
    if want is not None:
        got, want = np.asarray(got), np.asarray(want)
        assert got.shape == want.shape, f"{case}: {what} has shape {got.shape}, expected {want.shape}"
        scale = max(1.0, np.abs(want[np.isfinite(want)]).max(initial=0.0))
        np.testing.assert_allclose(got, want, rtol, atol * scale, err_msg=f"{case}: {what}")


@pytest.mark.parametrize("name", ROWS)
def test_as_the_peer_has_it(name: str) -> None:
    for case in cases(name):
        (results, gradients), (expected, slopes) = made(case), theirs(case)
        assert len(results) == len(expected)
        for i, (a, b) in enumerate(zip(results, expected, strict=True)):
            near(case, a, b, f"result {i}")
        for k, g in gradients.items():
            near(case, g, slopes[k], f"gradient of {k}")


# Where the reference means something else: with smoothed labels it counts ignored rows, and takes the size of the last
# dim for the number of classes; on the CPU no logit is more than 64 below the largest; it knows no such gradients.
def _otherwise(case: Case) -> bool:
    x, options = case.arrays["input"], case.options
    smoothed = options.get("label_smoothing", 0) > 0
    last = options.get("axis", -1) in (-1, x.ndim - 1)
    return (smoothed and ("ignore_index" in options or not last)) or np.ptp(x) > 64


NOT_THE_SAME = {"cross_entropy": _otherwise}
NO_GRADIENT = {"kl_div": "label", "gaussian_nll_loss": "variance"}


@pytest.mark.parametrize("name", ROWS)
def test_as_recorded(name: str) -> None:
    known = {line["index"]: line for line in RECORDED if line["loss"] == name}
    different = NOT_THE_SAME.get(name, lambda c: False)
    compared = 0
    for case in cases(name):
        line = known.get(case.index)
        if line is None or different(case):
            continue
        compared += 1
        assert line["inputs"] == loss_cases.digest(case), f"{case} is not the call that was recorded"
        results, gradients = made(case)
        for i, (a, shape, values) in enumerate(zip(results, line["shapes"], line["results"], strict=True)):
            near(case, a, np.array(values, float).reshape(shape), f"result {i}", 1e-4, 1e-5)
        for k, sums in line["gradients"].items():
            if sums is None:
                assert NO_GRADIENT[name] == k
            else:
                near(case, loss_cases.sums_of(gradients[k]), np.array(sums), f"gradient of {k}", 2e-4, 2e-5)
    # The reference has no margin_cross_entropy on the CPU.
    assert compared or name == "margin_cross_entropy"


def test_every_loss_is_here() -> None:
    functions = {
        n.name for n in SURFACE["paddle.nn.functional"] if re.search(r"loss|entropy|kl_div|error_cost", n.name)
    }
    assert functions == set(ROWS) == set(PEERS)


# --- precision, sizes, traces ----------------------------------------------------------------------------------------


def in_dtype(case: Case, dtype: str) -> Case:
    def low(v: Any) -> Any:
        if isinstance(v, list):
            return [low(x) for x in v]
        return v if v.dtype.kind != "f" else paddle.to_tensor(v).astype(dtype).astype("float32").numpy()

    return Case(case.name, {k: low(v) for k, v in case.arrays.items()}, case.options, case.frozen, case.index)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ROWS)
def test_low_precision(name: str, dtype: str) -> None:
    """The result is that of float32 for the same numbers, rounded once or twice on the way."""
    unit = {"float16": 2**-10, "bfloat16": 2**-7}[dtype]

    def call(case: Case, dtype: str) -> list:
        def tensor(v: Any) -> Any:
            if isinstance(v, list):
                return [tensor(x) for x in v]
            return paddle.to_tensor(v).astype(dtype) if v.dtype.kind == "f" else paddle.to_tensor(v)

        results = getattr(F, name)(**{k: tensor(v) for k, v in case.arrays.items()}, **case.options)
        return loss_cases.flat(results)

    for case in cases(name):
        low = in_dtype(case, dtype)
        for a, b in zip(call(low, dtype), call(low, "float32"), strict=True):
            assert a.dtype is getattr(paddle, dtype), case
            near(case, a.astype("float32").numpy(), b.numpy(), dtype, 6 * unit, 3 * unit)


def without_rows(case: Case) -> Case:
    """The call with no rows in its batch."""
    weights = ("weight", "bias", "pos_weight", "normalizer", "head_weight", "head_bias", "tail_weights")
    cut = {}
    for k, v in case.arrays.items():
        whole = k in weights and not (case.name.startswith("binary") and np.ndim(v) > 1)
        cut[k] = v if whole else np.take(v, np.arange(0), 1 if k == "log_probs" else 0)
    return Case(case.name, cut, case.options, case.frozen, case.index)


@pytest.mark.parametrize("name", [n for n in ROWS if n != "npair_loss"])
def test_no_rows(name: str) -> None:
    """No rows: no losses, a sum of 0, and no mean."""
    for case in cases(name)[:24]:
        if any(np.ndim(v) == 1 for k, v in case.arrays.items() if k == "input1"):
            continue  # one row without a dim for it
        results, gradients = made(without_rows(case))
        for k, g in gradients.items():
            full = case.arrays[k].shape
            assert (g is not None and g.shape[1:] == full[1:]) or k == "log_probs"
        if results[0].ndim:
            assert results[0].size == 0
        elif case.options.get("reduction") == "sum" or name == "nll_loss":
            assert results[0] == 0
        elif name != "sigmoid_focal_loss" or case.options["reduction"] == "mean":
            assert np.isnan(results[0]), case


@pytest.mark.parametrize("name", ROWS)
def test_traced(name: str) -> None:
    """A program of the loss gives what the call gives: nothing asks for values on the way."""
    for case in (*cases(name)[:3], cases(name)[-1]):
        keys = [k for k in case.arrays if k != "tail_weights"]
        extra = {k: [[ours(x, False) for x in pair] for pair in v] for k, v in case.arrays.items() if k not in keys}
        flat_extra = [x for pair in extra.get("tail_weights", []) for x in pair]
        operands = [ours(case.arrays[k], False) for k in keys] + flat_extra

        def call(*xs: Any, case: Case = case, keys: list = keys) -> Any:
            named = dict(zip(keys, xs, strict=False))
            rest = xs[len(keys) :]
            if rest:
                named["tail_weights"] = [rest[i : i + 2] for i in range(0, len(rest), 2)]
            return getattr(F, case.name)(**named, **case.options)

        for a, b in zip(run_traced(call, *operands), loss_cases.flat(call(*operands)), strict=True):
            near(case, a.numpy(), b.numpy(), "traced")


# --- layers ----------------------------------------------------------------------------------------------------------

# Layers whose function has another name than theirs.
FUNCTIONS = {
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "CrossEntropyLoss": "cross_entropy",
    "CTCLoss": "ctc_loss",
    "KLDivLoss": "kl_div",
    "L1Loss": "l1_loss",
    "MSELoss": "mse_loss",
    "NLLLoss": "nll_loss",
    "RNNTLoss": "rnnt_loss",
    "HuberLoss": "smooth_l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "GaussianNLLLoss": "gaussian_nll_loss",
    "PoissonNLLLoss": "poisson_nll_loss",
}
OWN_PARAMETERS = {"HSigmoidLoss", "AdaptiveLogSoftmaxWithLoss"}  # tests of their own below
LAYERS = sorted(n.name for n in SURFACE["paddle.nn"] if n.name.endswith("Loss") and n.name not in OWN_PARAMETERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_is_its_function(layer: str) -> None:
    cls = getattr(paddle.nn, layer)
    name = FUNCTIONS.get(layer) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", layer).lower()
    own = set(inspect.signature(cls.__init__).parameters)
    for case in cases(name):
        tensors = {k: paddle.to_tensor(v) for k, v in case.arrays.items()}
        made_with = {k: v for k, v in {**tensors, **case.options}.items() if k in own}
        called_with = {k: v for k, v in {**tensors, **case.options}.items() if k not in own}
        got, want = cls(**made_with)(**called_with), getattr(F, name)(**tensors, **case.options)
        near(case, got.numpy(), want.numpy(), layer)


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_refuses_an_unknown_reduction(layer: str) -> None:
    with pytest.raises(ValueError, match="reduction"):
        getattr(paddle.nn, layer)(reduction="median")


def test_class_weights_are_one_a_class_in_the_scores_dtype() -> None:
    x, label = paddle.zeros([2, 3]), paddle.to_tensor([0, 1])
    soft = paddle.full([2, 3], 1 / 3)
    for shape in ([2], [4], [3, 1]):
        for y in (label, soft):
            with pytest.raises(ValueError, match="one weight for each of 3 classes"):
                F.cross_entropy(x, y, paddle.ones(shape), soft_label=y is soft)
    with pytest.raises(TypeError, match="float32"):
        F.nll_loss(x, label, paddle.ones([3], dtype="float64"))
    assert F.cross_entropy(x, label, paddle.ones([3], dtype="float64")).dtype is paddle.float64
    with pytest.raises(IndexError, match="axes"):
        F.cross_entropy(x, label, paddle.ones([3]), axis=2)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
def test_class_weights_under_autocast(loss: Callable, dtype: str) -> None:
    """The loss is computed in float32 there, and so is what its mean divides by."""
    x, label, weight = (
        paddle.to_tensor([[0.5, -1.0], [2.0, 0.25]]),
        paddle.to_tensor([0, 1]),
        paddle.to_tensor([1.0, 3.0]),
    )
    want = loss(x, label, weight)
    with paddle.amp.auto_cast(dtype="bfloat16"):
        got = loss(x.astype("bfloat16"), label, weight.astype(dtype))
    assert got.dtype is paddle.float32
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6)


def test_margin_losses_name_the_shapes_they_take() -> None:
    x, label = paddle.zeros([2, 3]), paddle.to_tensor([0, 1])
    with pytest.raises(ValueError, match=r"\[N, M\] or \[M\] of one shape"):
        F.cosine_embedding_loss(paddle.zeros([1, 2, 3]), paddle.zeros([1, 2, 3]), label)
    for scores, y in ((x[0], label), (x, label.unsqueeze(1))):
        with pytest.raises(ValueError, match=r"input \[N, C\] and label \[N\]"):
            F.multi_margin_loss(scores, y)
    for classes in (2, 4):
        with pytest.raises(ValueError, match="one weight for each of 3 classes"):
            F.multi_margin_loss(x, label, weight=paddle.ones([classes]))


@pytest.mark.parametrize(
    ("columns", "tails", "message"),
    [(3, (), "each cluster"), (2, (4,), "3 columns"), (5, (4,), "3 columns"), (3, (3,), r"tail_weights with \[4\]")],
)
def test_adaptive_softmax_refuses_weights_of_other_clusters(columns: int, tails: tuple, message: str) -> None:
    pairs = [[paddle.zeros([3, 1]), paddle.zeros([1, n])] for n in tails]
    with pytest.raises(ValueError, match=message):
        F.adaptive_log_softmax_with_loss(
            paddle.zeros([2, 3]), paddle.to_tensor([0, 1]), paddle.zeros([3, columns]), pairs, [2, 6]
        )


def test_cross_entropy_needs_a_label() -> None:
    with pytest.raises(TypeError, match="missing required argument 'label'"):
        F.cross_entropy(paddle.zeros([2, 3]))


def test_hsigmoid_layer() -> None:
    layer = paddle.nn.HSigmoidLoss(3, 6)
    assert [(n, p.shape) for n, p in layer.named_parameters()] == [("weight", [5, 3]), ("bias", [5, 1])]
    x, label = paddle.randn([4, 3]), paddle.to_tensor([0, 1, 5, 4])
    np.testing.assert_array_equal(layer(x, label), F.hsigmoid_loss(x, label, 6, layer.weight, layer.bias))
    own = paddle.nn.HSigmoidLoss(3, 6, bias_attr=False, is_custom=True)
    assert [(n, p.shape) for n, p in own.named_parameters()] == [("weight", [6, 3])]
    table, code = paddle.to_tensor([[0, 1, -1]] * 4), paddle.to_tensor([[0, 1, -1]] * 4)
    assert own(x, label, table, code).shape == [4, 1]
    with pytest.raises(ValueError, match="path_table"):
        own(x, label)
    with pytest.raises(ValueError, match="together"):
        F.hsigmoid_loss(x, label, 6, layer.weight, path_table=table)
    with pytest.raises(ValueError, match="2 or more"):
        paddle.nn.HSigmoidLoss(3, 1)


def test_adaptive_softmax_layer() -> None:
    layer = paddle.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 6], div_value=2.0, head_bias=True)
    assert layer.head_weight.shape == [4, 5] and layer.head_bias.shape == [5]
    assert [[p.shape for p in pair] for pair in layer.tail_weights] == [[[4, 2], [2, 3]], [[4, 1], [1, 4]]]
    assert len(layer.parameters()) == 6
    x, label = paddle.randn([7, 4]), paddle.to_tensor([0, 2, 3, 5, 6, 9, 1])
    output, loss = layer(x, label)
    logp = layer.log_prob(x).numpy()
    np.testing.assert_allclose(np.exp(logp).sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(output, logp[np.arange(7), label.numpy()], rtol=1e-5)
    assert float(loss) == pytest.approx(-output.numpy().mean(), rel=1e-5)
    np.testing.assert_array_equal(layer.predict(x), logp.argmax(1))
    loss.backward()
    assert all(p.grad is not None for p in layer.parameters())
    one, _ = layer(x[0], label[0])
    assert one.shape == [] and float(one) == pytest.approx(float(output[0]), rel=1e-5)
    for bad in ([0, 10], [-1, 0]):
        with pytest.raises(ValueError, match="labels from 0 to 9"):
            layer(x[:2], paddle.to_tensor(bad))
    for bad in ([], [3, 3], [6, 3], [0, 3], [3, 10]):
        with pytest.raises(ValueError, match="rise"):
            paddle.nn.AdaptiveLogSoftmaxWithLoss(4, 10, bad)


# --- what only some have ---------------------------------------------------------------------------------------------


def ctc_operands(rng: Any, time: int = 6) -> list:
    arrays = (
        rng.standard_normal((time, 3, 4)), np.array([[1, 1], [2, 3], [3, 0]]), np.array([time, 4, 3]),
        np.array([2, 2, 1]),
    )  # fmt: skip
    return [paddle.to_tensor(a) for a in arrays]


def test_ctc_infinite_losses(rng) -> None:
    """Labels of probability 0 are infinitely bad, unless that is to be 0; rows that are too short are 0 anyway."""
    scores, *rest = ctc_operands(rng)
    walled = scores.clone()
    walled[:, 1, 2] = -float("inf")
    walled.stop_gradient = False
    assert np.isinf(F.ctc_loss(walled, *rest, reduction="none").numpy()).tolist() == [False, True, False]
    loss = F.ctc_loss(walled, *rest, reduction="none", zero_infinity=True)
    assert loss[1].item() == 0
    loss.sum().backward()
    assert np.isfinite(walled.grad.numpy()).all() and not walled.grad.numpy()[:, 1].any()
    short = paddle.to_tensor([2, 4, 1])  # equal labels need a blank between them
    loss = F.ctc_loss(scores, rest[0], short, rest[2], reduction="none").numpy()
    assert loss[0] == 0 and loss[1] > 0 and loss[2] > 0


def test_ctc_ignores_what_is_beyond_a_row(rng) -> None:
    scores, labels, times, lengths = ctc_operands(rng)
    plain = F.ctc_loss(scores, labels, times, lengths, reduction="none").numpy()
    padded = np.concatenate([scores.numpy(), np.full((2, 3, 4), np.nan)])
    padded[4:, 1], padded[3:, 2] = np.nan, np.nan
    x = paddle.to_tensor(padded)
    x.stop_gradient = False
    more = paddle.to_tensor(np.concatenate([labels.numpy(), np.full((3, 2), -7)], 1))
    loss = F.ctc_loss(x, more, times, lengths, reduction="none")
    np.testing.assert_allclose(loss.numpy(), plain, rtol=1e-12)
    loss.sum().backward()
    assert not np.isnan(x.grad.numpy()[:3]).any()


def test_ctc_second_derivatives(rng) -> None:
    scores, *rest = ctc_operands(rng, 5)
    scores.stop_gradient = False
    v = paddle.to_tensor(rng.standard_normal(scores.shape))

    def slope(x: Any) -> Any:
        return paddle.grad(F.ctc_loss(x, *rest, reduction="sum"), x, create_graph=True)[0]

    second = paddle.grad((slope(scores) * v).sum(), scores)[0].numpy()
    step = 1e-5
    ahead, behind = scores.detach() + step * v, scores.detach() - step * v
    ahead.stop_gradient = behind.stop_gradient = False
    np.testing.assert_allclose(second, (slope(ahead) - slope(behind)).numpy() / (2 * step), rtol=1e-5, atol=1e-7)


def test_ctc_of_long_sequences_against_the_peer(rng) -> None:
    """600 times and unlikely labels: nothing underflows."""
    x = (rng.standard_normal((600, 4, 30)) * 8).astype(np.float32)
    labels, times = rng.integers(1, 30, (4, 60)), np.array([600, 500, 400, 130])
    lengths = np.array([60, 50, 20, 60])
    mine, peers = paddle.to_tensor(x), torch.from_numpy(x).double().requires_grad_()
    mine.stop_gradient = False
    loss = F.ctc_loss(mine, *map(paddle.to_tensor, (labels, times, lengths)), reduction="none")
    want = T.ctc_loss(
        T.log_softmax(peers, 2), *map(torch.from_numpy, (labels, times, lengths)), reduction="none", zero_infinity=True
    )
    np.testing.assert_allclose(loss.numpy(), want.detach().numpy(), rtol=1e-5)
    loss.sum().backward()
    want.sum().backward()
    np.testing.assert_allclose(mine.grad.numpy(), peers.grad.numpy(), atol=2e-4)


def test_ctc_refuses(rng) -> None:
    scores, labels, times, lengths = ctc_operands(rng)
    with pytest.raises(ValueError, match="blank"):
        F.ctc_loss(scores, labels, times, lengths, blank=4)
    with pytest.raises(ValueError, match="one input length a row"):
        F.ctc_loss(scores, labels, times[:2], lengths)
    with pytest.raises(ValueError, match="time, batch, classes"):
        F.ctc_loss(scores[0], labels, times, lengths)
    with pytest.raises(TypeError, match="integer"):
        F.ctc_loss(scores, labels.astype("float32"), times, lengths)
    with pytest.raises(IndexError):
        F.ctc_loss(scores, labels + 4, times, lengths)


def test_rnnt_ignores_what_is_beyond_a_row(rng) -> None:
    x = np.log(loss_cases.probabilities(rng, (2, 4, 3, 5)))
    x[1, 2:], x[1, :, 2:] = np.nan, np.nan
    scores = paddle.to_tensor(x)
    scores.stop_gradient = False
    rest = [paddle.to_tensor(a) for a in ([[1, 2], [3, -1]], [4, 2], [2, 1])]
    loss = F.rnnt_loss(scores, *rest, fastemit_lambda=0.0, reduction="none")
    cut = [rest[0][1:, :1], rest[1][1:], rest[2][1:]]
    alone = F.rnnt_loss(paddle.to_tensor(x[1:, :2, :2]), *cut, reduction="none")
    np.testing.assert_allclose(loss.numpy()[1:], alone.numpy(), rtol=1e-6)
    loss.sum().backward()
    gradient = scores.grad.numpy()
    assert not np.isnan(gradient).any()
    # Every path has as many arcs as times and labels.
    np.testing.assert_allclose(gradient.sum((1, 2, 3)), [-6, -3], rtol=1e-5)


def test_margin_cross_entropy_forms(rng) -> None:
    logits = paddle.to_tensor(rng.uniform(-0.9, 0.9, (4, 5)).astype(np.float32))
    label = paddle.to_tensor([[0], [3], [4], [1]])
    loss, softmax = F.margin_cross_entropy(logits, label, return_softmax=True, reduction=None)
    assert loss.shape == [4, 1]
    np.testing.assert_allclose(softmax.numpy().sum(1), 1, rtol=1e-5)
    own = np.take_along_axis(softmax.numpy(), label.numpy(), 1)
    np.testing.assert_allclose(loss.numpy(), -np.log(own), rtol=1e-4, atol=1e-5)
    edge = paddle.to_tensor([[1.0, -1.0], [-1.0, 1.0]])
    edge.stop_gradient = False
    F.margin_cross_entropy(edge, paddle.to_tensor([0, 0])).backward()
    assert np.isfinite(edge.grad.numpy()).all()
    with pytest.raises(ValueError, match="one process"):
        F.margin_cross_entropy(logits, label, group=object())


def test_class_center_sample() -> None:
    label = paddle.to_tensor([11, 5, 1, 3, 12, 2, 15, 19, 18, 19])
    places, taken = F.class_center_sample(label, 20, 6)
    assert taken.tolist() == [1, 2, 3, 5, 11, 12, 15, 18, 19]
    assert places.tolist() == [4, 3, 0, 2, 5, 1, 6, 8, 7, 8]
    seen = set()
    for _ in range(20):
        places, taken = F.class_center_sample(paddle.to_tensor([7, 2, 7], dtype="int32"), 20, 6)
        assert places.tolist() == [1, 0, 1] and taken.tolist()[:2] == [2, 7]
        assert places.dtype is taken.dtype is paddle.int32
        assert len(set(taken.tolist())) == 6 and set(taken.tolist()) <= set(range(20))
        seen.update(taken.tolist())
    assert len(seen) > 12
    with pytest.raises(ValueError, match="at most 20"):
        F.class_center_sample(label, 20, 21)
    with pytest.raises(ValueError, match="integers"):
        F.class_center_sample(label.astype("float32"), 20, 6)
    with pytest.raises(ValueError, match="negative"):
        F.class_center_sample(label - 2, 20, 6)
    with pytest.raises(IndexError):
        F.class_center_sample(label, 19, 6)


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("label", [-1, -4, 4])
@pytest.mark.parametrize(
    "loss",
    [
        F.cross_entropy,
        lambda x, y: F.cross_entropy(x, y, weight=paddle.ones([4])),
        lambda x, y: F.cross_entropy(x, y, ignore_index=0),
        lambda x, y: F.nll_loss(F.log_softmax(x), y),
    ],
    ids="plain weighted ignoring nll".split(),
)
def test_a_label_is_no_index_from_the_end(loss: Callable, label: int, captured: bool) -> None:
    """A negative class has a loss, that of the last classes, and no gradient that belongs to it."""
    x, y = paddle.ones([3, 4]), paddle.to_tensor([0, label, 1])
    x.stop_gradient = False
    call = paddle.jit.to_static(lambda x, y: loss(x, y)) if captured else loss
    with pytest.raises(IndexError, match=rf"requires an index from 0 to 3, got {label}"):
        call(x, y).numpy()


@pytest.mark.parametrize(
    ("older", "instead"),
    [({"size_average": True}, "mean"), ({"size_average": False}, "sum"), ({"reduce": False}, "none")],
)
@pytest.mark.parametrize("layer", [paddle.nn.MSELoss, paddle.nn.CrossEntropyLoss, paddle.nn.TripletMarginLoss])
def test_older_flags_are_refused_with_advice(layer, older, instead):
    with pytest.raises(ValueError, match=rf"\[{layer.__name__}\] requires reduction='{instead}'"):
        layer(**older)
