"""The digits example learns."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "digits"


def accuracy(*options: str, program: str = "train.py") -> float:
    command = [sys.executable, str(FOLDER / program), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return float(re.search(r"test accuracy ([\d.]+)%\s*$", done.stdout)[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "least"),
    [
        (("--epochs", "3"), 93),
        (("--epochs", "6", "--model", "resnet", "--compile"), 95),
        (("--epochs", "10", "--model", "lstm", "--compile", "--workers", "2"), 90),
    ],
    ids=lambda o: "-".join(o) if isinstance(o, tuple) else str(o),
)
def test_digits(options, least):
    assert accuracy(*options) > least


@pytest.mark.slow
def test_digits_by_fit(tmp_path):
    """LeNet by ``Model.fit``: at least 98 %; its log and its checkpoints are there."""
    options = ["--verbose", "2", "--save-dir", str(tmp_path / "saved")]
    assert accuracy(*options, program="fit.py") >= 98
    assert (tmp_path / "saved" / "best_model.pdparams").exists()
