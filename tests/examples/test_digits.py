"""The digits example learns."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = Path(__file__).parents[2] / "examples" / "digits" / "train.py"


@pytest.mark.slow
def test_digits():
    done = subprocess.run([sys.executable, str(TRAIN), "--epochs", "3"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"test accuracy ([\d.]+)%\s*$", done.stdout)[1]) > 93
