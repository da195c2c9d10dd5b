"""Best paths against all paths, captured and in all layouts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

import paddle
from paddle.text import ViterbiDecoder, viterbi_decode


def best(potentials: np.ndarray, transitions: np.ndarray, length: int, ends: bool) -> tuple[float, list[int]]:
    """The best of all paths."""

    def score(path: tuple) -> float:
        total = sum(potentials[t, tag] for t, tag in enumerate(path))
        total += sum(transitions[a, b] for a, b in itertools.pairwise(path))
        return total + (transitions[-1, path[0]] + transitions[-2, path[-1]] if ends else 0)

    path = max(itertools.product(range(len(transitions)), repeat=length), key=score)
    return score(path), list(path)


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_the_best_of_all_paths(rng, ends, dtype):
    potentials = paddle.to_tensor(rng.standard_normal((4, 5, 3)).astype("float32")).astype(dtype)
    transitions = paddle.to_tensor(rng.standard_normal((3, 3)).astype("float32")).astype(dtype)
    lengths = [5, 3, 1, 4]
    scores, paths = viterbi_decode(potentials, transitions, paddle.to_tensor(lengths), ends)
    assert (scores.dtype, paths.dtype, paths.shape) == (potentials.dtype, paddle.int64, [4, 5])
    wide = [x.astype("float64").numpy() for x in (potentials, transitions)]
    for b, n in enumerate(lengths):
        score, path = best(wide[0][b], wide[1], n, ends)
        assert_allclose(float(scores[b]), score, rtol=1e-2 if dtype == "bfloat16" else 1e-5)
        assert paths[b].tolist() == path + [0] * (5 - n)


def test_captured_with_other_lengths(rng):
    def decode(potentials, transitions, lengths):
        scores, paths = viterbi_decode(potentials * 2, transitions, lengths)
        return scores + 1, paths

    captured = paddle.jit.to_static(decode)
    for batch, time, lengths in ((2, 5, [5, 4]), (3, 6, [6, 2, 6]), (3, 6, [4, 2, 1])):
        call = (
            paddle.to_tensor(rng.standard_normal((batch, time, 4)).astype("float32")),
            paddle.to_tensor(rng.standard_normal((4, 4)).astype("float32")),
            paddle.to_tensor(lengths),
        )
        scores, paths = decode(*call)
        made = captured(*call)
        assert_allclose(made[0].numpy(), scores.numpy(), rtol=1e-6)
        assert made[1].tolist() == paths.tolist()


def test_layouts_precision_and_gradients(rng):
    potentials = paddle.to_tensor(rng.standard_normal((4, 6, 9)).astype("float32"), stop_gradient=False)
    transitions = paddle.to_tensor(rng.standard_normal((4, 4)).astype("float32"))
    lengths = paddle.to_tensor([6, 5] * 9)[::2]
    strided = potentials.transpose([2, 1, 0])
    scores, paths = viterbi_decode(strided, transitions.T, lengths)
    again = viterbi_decode(strided.contiguous(), transitions.T.contiguous(), lengths.contiguous())
    assert_allclose(scores.numpy(), again[0].numpy())
    assert paths.tolist() == again[1].tolist()
    assert scores.stop_gradient
    with paddle.amp.auto_cast(level="O2", dtype="bfloat16"):
        mixed = viterbi_decode(strided.astype("bfloat16"), transitions.T, lengths)
    assert mixed[0].dtype == paddle.float32


def test_many_sequences_on_several_threads(rng, threads):
    potentials = paddle.to_tensor(rng.standard_normal((40, 30, 12)).astype("float32"))
    transitions = paddle.to_tensor(rng.standard_normal((12, 12)).astype("float32"))
    lengths = paddle.to_tensor(rng.integers(1, 31, 40))
    scores, paths = ViterbiDecoder(transitions)(potentials, lengths)
    for b in range(40):
        one = viterbi_decode(potentials[b : b + 1], transitions, lengths[b : b + 1])
        assert_allclose(float(scores[b]), float(one[0]))
        assert paths[b, : one[1].shape[1]].tolist() == one[1][0].tolist()


def test_no_sequences_and_none_that_has_steps():
    transitions = paddle.zeros([4, 4])
    scores, paths = viterbi_decode(paddle.zeros([0, 3, 4]), transitions, paddle.zeros([0], "int64"))
    assert (scores.shape, paths.shape) == ([0], [0, 0])
    scores, paths = viterbi_decode(paddle.ones([2, 3, 4]), transitions, paddle.to_tensor([0, -1]))
    assert (scores.tolist(), paths.shape) == ([1.0, 1.0], [2, 0])


@pytest.mark.parametrize("ends", [False, True])
def test_saved_for_any_sizes(ends, tmp_path, rng):
    """Of any number of sequences, none as well, and of any length."""
    spec = paddle.static.InputSpec

    def decode(*given):
        return viterbi_decode(*given, ends)

    specs = [spec([None, None, 4]), spec([4, 4]), spec([None], "int64")]
    paddle.jit.save(paddle.jit.to_static(decode, specs), str(tmp_path / "m"))
    for lengths, time in (([3, 2], 4), ([1], 1), ([], 3), ([0, 0], 2), ([2, 0, 2], 2)):
        call = [
            paddle.to_tensor(rng.standard_normal((len(lengths), time, 4)).astype("float32")),
            paddle.to_tensor(rng.standard_normal((4, 4)).astype("float32")),
            paddle.to_tensor(np.array(lengths, "int64")),
        ]
        for form in (paddle.jit.to_static(decode, full_graph=True), paddle.jit.load(str(tmp_path / "m"))):
            for found, want in zip(form(*call), decode(*call), strict=True):
                assert found.shape == want.shape
                assert_allclose(found.numpy(), want.numpy(), rtol=1e-6)


P, T, L = paddle.zeros([2, 3, 4]), paddle.zeros([4, 4]), paddle.to_tensor([3, 3])


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (IndexError, (P, T, paddle.to_tensor([4, 3]))), (ValueError, (P, T, L[:1])), (ValueError, (P, T[:3, :3], L)),
        (ValueError, (P[0], T, L)), (ValueError, (P, T, L.astype("float32"))), (ValueError, (P[:, :0], T, L)),
        (ValueError, (P[..., :1], T[:1, :1], L)), (TypeError, (P, T.astype("float64"), L)),
        (TypeError, (P.numpy(), T, L)),
    ],
)  # fmt: skip
def test_wrong_operands_are_refused(kind, call):
    with pytest.raises(kind, match="viterbi_decode"):
        viterbi_decode(*call)
