"""The digits example learns."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = Path(__file__).parents[2] / "examples" / "digits" / "train.py"


def accuracy(*options: str) -> float:
    done = subprocess.run([sys.executable, str(TRAIN), *options], capture_output=True, text=True, timeout=300)
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
