import sys
from pathlib import Path

# Helper modules that several folders of tests share are imported by name.
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from fake import fake  # noqa: F401  the fixture
