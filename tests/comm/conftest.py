import sys
from pathlib import Path

# Helper modules of these tests, and those that several folders share, are imported by name.
for folder in (Path(__file__).parent, Path(__file__).parents[1] / "support"):
    sys.path.insert(0, str(folder))

from fake import fake  # noqa: E402, F401  the fixture
