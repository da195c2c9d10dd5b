import sys
from pathlib import Path

import pytest

# Helper modules that several folders of tests share are imported by name.
for folder in (Path(__file__).parents[2] / "support", Path(__file__).parents[2] / "comm"):
    sys.path.insert(0, str(folder))

import plugin  # noqa: E402


@pytest.fixture(scope="package")
def loop(tmp_path_factory):
    """The plug-in with all that it has: two devices of the type `loop`."""
    if plugin.CC is None:
        pytest.skip("needs a C compiler")
    with plugin.loaded(tmp_path_factory.mktemp("loop"), "loop") as found:
        yield found
