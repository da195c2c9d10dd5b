"""Models of all kinds give our results in ONNX Runtime, for batches of several sizes."""

from __future__ import annotations

import pytest

from tests.onnx import models
from tests.support import saved_models
from tests.support.draw import sampled

# More than a second here, or near it.
SLOW = {*saved_models.VISION} - {"LeNet"} | {"vision transformer"}


# The others at one of the two in the quick suite.
@pytest.mark.parametrize(
    ("name", "opset"),
    [
        row
        for name in saved_models.CASES
        for row in sampled([(name, opset) for opset in (9, models.NEWEST)], 0 if name in SLOW else 1)
    ],
)
def test_a_model_gives_our_results(name, opset, tmp_path):
    version, error = models.error(name, str(tmp_path), opset)
    assert 11 <= version <= models.NEWEST
    assert error < models.MOST


def test_all_models_are_in_the_table():
    (rows,) = [m[0] for m in models.ROWS.finditer(models.PAGE.read_text())]
    cells = [line.strip("| ").split(" | ") for line in rows.splitlines()]
    assert [row[0] for row in cells] == list(saved_models.CASES)
    assert all(11 <= int(row[1]) <= models.NEWEST for row in cells)
    assert all(float(x) < models.MOST for row in cells for x in row[2:])
