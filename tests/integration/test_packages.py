"""Packages written for the reference, unchanged: their programs give what ``tests/data/packages.json`` has of it."""

from __future__ import annotations

import sys

import pytest

from tests.integration.packages.__main__ import FOLDER, TOLERANCES, kept, run
from tests.support.results import differences

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="packages are not installed: `make test` does")


@pytest.mark.parametrize("name", sorted(TOLERANCES))
def test_a_package_gives_what_it_gives_with_the_reference(name, tmp_path):
    if name == "rapidocr" and not (FOLDER / "rapidocr_paddle").exists():
        pytest.skip("rapidocr-paddle has a wheel for Python before 3.13")
    assert not differences(run(sys.executable, name, tmp_path), kept()[name], TOLERANCES[name])
