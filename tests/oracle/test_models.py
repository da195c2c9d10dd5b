"""The comparison of models that load weights of the reference sees what differs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.oracle.models import difference

SCORES = np.linspace(-3, 3, 8, dtype="float32").reshape(2, 4)


@pytest.mark.parametrize(
    ("ours", "said", "words"),
    [
        ([SCORES], [[], []], None),
        ([SCORES * np.float32(1 + 1e-5)], [[], []], None),
        ([SCORES + 1], [[], []], "scores 1 apart, of 3"),
        ([SCORES[:1]], [[], []], "float32 (2, 4) here float32 (1, 4)"),
        ([SCORES.astype("float64")], [[], []], "float32 (2, 4) here float64 (2, 4)"),
        ([SCORES, SCORES], [[], []], "1 results here 2"),
        ([SCORES], [["fc.bias"], []], "missing ['fc.bias'], unexpected []"),
    ],
)
def test_what_differs(tmp_path, ours, said, words):
    np.savez(tmp_path / "net.save.npz", SCORES, said=json.dumps([]))
    np.savez(tmp_path / "net.load.npz", *ours, said=json.dumps(said))
    assert difference(tmp_path, "net") == words
