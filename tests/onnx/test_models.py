"""Models of all kinds give our results in ONNX Runtime, for batches of several sizes."""

from __future__ import annotations

import pytest

from tests.onnx import models
from tests.support import saved_models

# More than a second here, or near it.
SLOW = {*saved_models.VISION} - {"LeNet"} | {"vision transformer"}
NAMES = [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in saved_models.CASES]


@pytest.mark.parametrize("opset", [9, models.NEWEST])
@pytest.mark.parametrize("name", NAMES)
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
